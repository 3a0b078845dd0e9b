#!/bin/sh
# check_samples.sh HEDDLE SAMPLES WORK: the static checker finds no error in what Heddle makes of the samples, at all levels and
# modes on bru1 and at -O2 elsewhere; nor, where there is ptxas, in what ptxas makes of them (each sample for one target).
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 samples=$2 work=$3
mkdir -p "$work"
failed=0 checked=0

look() {
    checked=$((checked + 1))
    "$heddle" check "$@" >"$work/out" 2>&1 && return
    echo "FAIL: heddle check $*"
    grep ' error ' "$work/out" | head -5
    failed=1
}

for s in "$samples"/*.ptx; do
    mine || continue
    for o in 0 1 2 3; do
        look "$s" -O$o
        look "$s" -O$o --reconverge=frontier-all --yield=break --predicate=max
    done
    look "$s" --reconverge=frontier
    look "$s" --reconverge=none --predicate=off
    for t in sm_75 sm_80 sm_86 sm_89 sm_90; do
        look "$s" -t $t
    done
done
echo "$checked binaries of Heddle"

ptxas=$("$(dirname "$0")/../find_nvidia.sh" ptxas)
if [ -z "$ptxas" ]; then
    echo "no ptxas: its code is not checked"
    exit $failed
fi
checked=0 n=0
for s in "$samples"/*.ptx; do
    n=$((n + 1))
    mine || continue
    case $((n % 5)) in 0) t=75 ;; 1) t=80 ;; 2) t=86 ;; 3) t=89 ;; *) t=90 ;; esac
    sed "s/^\.target sm_[0-9a-z]*/.target sm_$t/" "$s" >"$work/s.ptx"
    "$ptxas" -arch=sm_$t "$work/s.ptx" -o "$work/s.cubin" 2>/dev/null && look "$work/s.cubin"
done
echo "$checked binaries of ptxas"
exit $failed
