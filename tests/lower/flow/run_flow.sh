#!/bin/sh
# run_flow.sh HEDDLE FILE.ptx LEVEL TARGET DIRECTORY: reference interpreter and machine agree on the launch file beside FILE,
# and both with the values written there; the binary keeps the rules of `heddle check`.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 ptx=$2 level=$3 target=$4
out=$5/$(basename "$ptx" .ptx)_O$level$target.cubin
"$heddle" validate "$ptx" --launch "${ptx%.ptx}.json" "-O$level" -t "$target" --check-control
"$heddle" compile "$ptx" "-O$level" -t "$target" -o "$out"
exec "$heddle" check "$out"
