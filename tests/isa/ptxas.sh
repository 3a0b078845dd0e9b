#!/bin/sh
# ptxas.sh TOOL SAMPLES: compile the samples with ptxas, compare our text with nvdisasm's and our words with ptxas's.
# Exit status 77 (skip) where ptxas or nvdisasm is not found.
# SPDX-License-Identifier: MIT
set -u
ptxas=$PTXAS nvdisasm=$NVDISASM
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
for sm in 75 80 86 89 90; do
    : >"$tmp/words"
    n=0
    for f in "$2"/*.ptx; do
        n=$((n + 1)) # all samples for two targets, a third of them for the rest: ptxas takes its time
        [ $sm = 80 ] || [ $sm = 90 ] || [ $((n % 3)) = 0 ] || continue
        sed "s/^\(\.target *\)sm_[0-9]*/\1sm_$sm/" "$f" >"$tmp/k.ptx"
        "$ptxas" -arch=sm_$sm -o "$tmp/k.cubin" "$tmp/k.ptx" 2>/dev/null || continue
        "$1" extract "$tmp/k.cubin" >>"$tmp/words"
    done
    [ -s "$tmp/words" ] || continue
    "$nvdisasm" -b SM$sm "$tmp/words" >"$tmp/text" 2>"$tmp/err" || { cat "$tmp/err"; status=1; continue; }
    "$1" compare sm_$sm "$tmp/words" "$tmp/text" || status=1
done
exit $status
