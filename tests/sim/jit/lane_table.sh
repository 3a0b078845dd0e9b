#!/bin/sh
# Is sim/jit/lane_table.inc what clang 19 makes of isa/lane/lanes.def? UPDATE=1 writes it.
#   lane_table.sh SOURCE-DIR LANE_TABLE
# SPDX-License-Identifier: MIT
set -eu
top=$1 tool=$2
clang=$(command -v clang-19) || { echo "no clang-19"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# One lane, one block: no vectors, no loops, conditions as selects.
"$clang" -O1 -emit-llvm -c -I "$top" -o "$work/lanes.bc" "$top/sim/jit/lane_ir.c" --target=x86_64-linux-gnu \
    -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -ffp-contract=off -fno-strict-aliasing -fno-math-errno \
    -mllvm -two-entry-phi-node-folding-threshold=200 -mllvm -phi-node-folding-threshold=200 \
    -mllvm -bonus-inst-threshold=100
"$tool" "$work/lanes.bc" > "$work/lane_table.inc"
if [ "${UPDATE:-}" ]; then
    cp "$work/lane_table.inc" "$top/sim/jit/lane_table.inc"
else
    diff -u "$top/sim/jit/lane_table.inc" "$work/lane_table.inc"
fi
