#!/bin/sh
# judged.sh HEDDLE SAMPLES: code of ptxas as nvdisasm prints it, of a target with tables and of one without. All that was
# seen is assembled again; of what was not, nothing is another word. What of the held-back samples only one has, its matrix products,
# is known from the forms that --forms writes.
# SPDX-License-Identifier: MIT
heddle=$1 samples=$2 status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAIL: $*"; status=1; }
# A module of forms, compiled without what ptxas refuses (docs/learn.md).
form_dump() { # FILE ARCH
    until "$PTXAS" -arch="$2" "$1" -o "$tmp/form.cubin" >"$tmp/err" 2>&1; do
        sed -n 's/.*line \([0-9]*\); error.*/\1d/p' "$tmp/err" | sort -u >"$tmp/refused"
        [ -s "$tmp/refused" ] || return 1
        sed -i -f "$tmp/refused" "$1"
    done
    "$NVDISASM" -hex -c "$tmp/form.cubin" >"$1.sass"
}
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
    product=$tmp/wmma_gemm.ptx.$sm
    "$heddle" learn $(echo "$seen" | grep -v wmma_gemm) -o "$tmp/repo" || fail "sm_$sm: learn"
    "$heddle" learn --verify -v -r "$tmp/repo" "$product" 2>&1 | grep -q '^ *HMMA' || fail "sm_$sm: products in other samples"
    "$heddle" learn --forms "$tmp/forms" --arch sm_$sm >/dev/null || fail "sm_$sm: forms"
    for f in $(grep -l 'wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 ' "$tmp"/forms/*.ptx); do
        form_dump "$f" sm_$sm || fail "sm_$sm: $f"
    done
    "$heddle" learn -r "$tmp/repo" "$tmp"/forms/*.sass -o "$tmp/repo" || fail "sm_$sm: learn forms"
    "$heddle" learn --verify -v -r "$tmp/repo" "$product" >"$tmp/out" 2>&1
    grep -q '^ *HMMA' "$tmp/out" && { fail "sm_$sm: products are not learned from forms"; cat "$tmp/out"; }
    grep -q ' 0 different' "$tmp/out" || { fail "sm_$sm: forms"; cat "$tmp/out"; }
    rm -rf "$tmp/forms"
done
exit $status
