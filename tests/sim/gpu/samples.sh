#!/bin/sh
# samples.sh HEDDLE SAMPLES HOSTS DIRECTORY LEVEL: every sample with a launch on the card: its memory must be the
# PTX reference interpreter's and the host program's. LEVEL is an optimisation level, or "driver": the CUDA driver
# compiles the PTX. Exit status 77 (skip) where there is no card.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 samples=$2 hosts=$3 work=$4 level=$5
engine="--engine=gpu -O$level"
[ "$level" = driver ] && engine=--engine=gpu-ptx
rm -rf "$work"
mkdir -p "$work"
n=0 bad=0
for ptx in "$samples"/*.ptx; do
    name=$(basename "$ptx" .ptx)
    [ -f "$samples/$name.json" ] || continue
    mkdir "$work/$name"
    "$hosts/sample_$name" "$work/$name" || exit 1
    # shellcheck disable=SC2086
    "$heddle" validate $engine "$ptx" --launch "$samples/$name.json" --data-dir "$work/$name" >"$work/out" 2>&1
    status=$?
    if grep -q "error E0560" "$work/out"; then
        cat "$work/out"
        exit 77
    fi
    n=$((n + 1))
    if [ $status -ne 0 ]; then
        bad=$((bad + 1))
        echo "FAIL: $name"
        cat "$work/out"
    fi
done
echo "$n samples on the card, $bad failed"
[ $n -ge 20 ] && [ $bad -eq 0 ]
