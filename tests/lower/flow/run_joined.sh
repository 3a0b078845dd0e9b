#!/bin/sh
# run_joined.sh HEDDLE PARTITION.ptx TARGET DIRECTORY: with a WARPSYNC that lets lanes of several masks go on together, as cards
# do without EXCLUSIVE, the votes and sums of partition.ptx are wrong; the machine shows it, and prove does not say proved.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 ptx=$2 target=$3
out=$4/joined_$target
"$heddle" compile "$ptx" -t "$target" -o "$out.cubin"
"$heddle" disasm --sections "$out.cubin" -o "$out.sass"
grep -q 'WARPSYNC\.EXCLUSIVE' "$out.sass"
sed 's/WARPSYNC\.EXCLUSIVE/WARPSYNC/' "$out.sass" >"$out.plain.sass"
"$heddle" asm "$out.plain.sass" -o "$out.plain.cubin"
status=0
"$heddle" validate "$ptx" "$out.plain.cubin" --launch "${ptx%.ptx}.json" >"$out.log" 2>&1 || status=$?
[ $status = 4 ] || { cat "$out.log"; exit 1; }
status=0
"$heddle" prove "$ptx" "$out.plain.cubin" >"$out.log" 2>&1 || status=$?
grep 'lanes of other masks' "$out.log" && [ $status = 5 ] || { cat "$out.log"; exit 1; }
