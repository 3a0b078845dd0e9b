#!/bin/sh
# run.sh HEDDLE FILE.ptx WORK: 64 threads, out[64] words; the file's line "// expect E" is a formula of i for out[i], its lines
# "// report TEXT" must each be in the report of mode max. With predication or without, the machine must store what the formula
# says, must not trap, and must agree with the PTX interpreter.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 ptx=$2 work=$3
name=$(basename "$ptx" .ptx)
sed -n 's/^.. report //p' "$ptx" >"$work/$name.want"
"$heddle" report --predicate=max "$ptx" >"$work/$name.report"
while read -r text; do
    grep -qF -- "$text" "$work/$name.report" || {
        echo "$name: the report lacks: $text"
        cat "$work/$name.report"
        exit 1
    }
done <"$work/$name.want"
formula=$(sed -n 's/^.. expect //p' "$ptx")
expected=$(i=0; while [ $i -lt 64 ]; do printf '%s%d' "${sep:-}" "$(eval "echo \$(($formula))")"; sep=,; i=$((i + 1)); done)
for target in bru1 sm_75 sm_80 sm_90; do
    for mode in off auto max; do
        for level in 1 2 3; do
            how="-t $target -O$level --predicate=$mode"
            "$heddle" compile "$ptx" -v $how -o "$work/$name.cubin" 2>"$work/$name.log" &&
                "$heddle" run "$work/$name.cubin" --block 64 --arg out:o:u32[64]=zero --arg u64:0 --expect "o=$expected" \
                    --undefined >"$work/$name.log" 2>&1 &&
                ! grep -qi undefined "$work/$name.log" &&
                "$heddle" validate "$ptx" --block 64 --arg out:o:u32[64]=zero --arg u64:0 $how >"$work/$name.log" 2>&1 || {
                echo "$name: $how"
                cat "$work/$name.log"
                exit 1
            }
        done
    done
done
