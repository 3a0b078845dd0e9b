#!/bin/sh
# judged.sh HEDDLE SAMPLES: code of ptxas as nvdisasm prints it, of a target with tables and of one without. All that was
# seen is assembled again; of what was not, nothing is another word.
# SPDX-License-Identifier: MIT
heddle=$1 samples=$2 status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAIL: $*"; status=1; }
for sm in 80 120; do
    n=0
    for f in "$samples"/*.ptx; do
        "$PTXAS" -arch=sm_$sm "$f" -o "$tmp/k.cubin" 2>/dev/null || continue
        "$NVDISASM" -hex -c "$tmp/k.cubin" >"$tmp/$(basename "$f").$sm" || fail "$f: nvdisasm"
        n=$((n + 1))
    done
    if [ $n = 0 ]; then
        echo "this ptxas knows no sm_$sm"
        continue
    fi
    [ $n -ge 20 ] || fail "sm_$sm: $n samples only"
    held="$tmp/nbody.ptx.$sm $tmp/scan.ptx.$sm $tmp/matmul.ptx.$sm"
    seen=$(ls "$tmp"/*.$sm | grep -v -e nbody -e scan -e matmul)
    "$heddle" learn $seen -o "$tmp/repo" || fail "sm_$sm: learn"
    "$heddle" learn --verify -r "$tmp/repo" $seen || fail "sm_$sm: not all is assembled again"
    "$heddle" learn --verify -r "$tmp/repo" --json $held >"$tmp/out" 2>"$tmp/err"
    case $? in 0 | 5) ;; *) fail "sm_$sm: held back"; head -n 5 "$tmp/err" ;; esac
    grep -q '"different":[[:space:]]*0,' "$tmp/out" || { fail "sm_$sm: held back"; cat "$tmp/out"; }
done
exit $status
