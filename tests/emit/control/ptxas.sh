#!/bin/sh
# ptxas.sh HEDDLE SAMPLES HOSTS WORK: what ptxas makes of the samples runs without a finding of control-code mode
# (ptxas is right, so a finding is a fault of our model). Skipped (77) without ptxas. A sample that uses an
# instruction which the machine does not simulate is named and left out. With HEDDLE_PART each sample is made for one machine.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/../../part.sh"
heddle=$1 ptxas=$PTXAS samples=$2 hosts=$3 work=$4/ptxas
rm -rf "$work"
mkdir -p "$work"
ran=0 bad=0
for f in "$samples"/*.ptx; do
    name=$(basename "$f" .ptx)
    mkdir -p "$work/$name"
    "$hosts/sample_$name" "$work/$name" >/dev/null
    pick 75 80 86 89
    for sm in $picked; do
        sed "s/^\.target.*/.target sm_$sm/" "$f" >"$work/x.ptx"
        "$ptxas" -O3 -arch "sm_$sm" "$work/x.ptx" -o "$work/x.cubin" 2>/dev/null || continue
        status=0
        "$heddle" run "$work/x.cubin" --launch "$samples/$name.json" --data-dir "$work/$name" --check-control \
            >"$work/out" 2>&1 || status=$?
        if grep -q 'too early' "$work/out"; then
            grep 'too early' "$work/out" | head -3
            bad=$((bad + 1))
        elif [ "$status" -ne 0 ]; then
            echo "left out: $name sm_$sm: $(head -1 "$work/out")"
        else
            ran=$((ran + 1))
        fi
    done
done
echo "$ran binaries of ptxas without findings, $bad with"
set -- $picked
[ "$bad" -eq 0 ] && [ "$ran" -ge $((20 * $#)) ]
