#!/bin/sh
# native.sh ROUNDTRIP SAMPLES DIRECTORY: cubins that ptxas makes of the samples come back byte for byte.
# Skipped (77) without ptxas.
# SPDX-License-Identifier: MIT
set -eu
roundtrip=$1 ptxas=$PTXAS samples=$2 work=$3/native
rm -rf "$work"
mkdir -p "$work"
for f in "$samples"/collatz.ptx "$samples"/matmul.ptx "$samples"/scan.ptx "$samples"/calls.ptx "$samples"/histogram.ptx; do
    for sm in 75 80 86 89 90; do
        sed "s/^\.target.*/.target sm_$sm/" "$f" >"$work/x.ptx"
        name=$work/$(basename "$f" .ptx).$sm
        "$ptxas" -arch "sm_$sm" "$work/x.ptx" -o "$name.cubin" 2>/dev/null || continue
        "$ptxas" -c -arch "sm_$sm" "$work/x.ptx" -o "$name.o.cubin" 2>/dev/null || rm -f "$name.o.cubin"
    done
done
# relocatable files are not loaded, only shown: they stay out of the load test
set -- "$work"/*[0-9].cubin
[ $# -ge 10 ] || { echo "ptxas made only $# files"; exit 1; }
"$roundtrip" "$@"
