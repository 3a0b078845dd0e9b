#!/usr/bin/env bash
# mbarrier objects: run.sh HEDDLE. The interpreter and the code of every target must give the numbers below.
# A wait for what never comes is a hang that is found.
# SPDX-License-Identifier: MIT
set -u
heddle=$1
. "$(dirname "$0")/../begin.sh"
# What ops.ptx and bytes.ptx say of each statement, by the rules of PTX ISA 9.7.13.15: the count of a token is what was pending
# before the arrival; a test is of the phase whose parity (or token) it is given.
ops=3,0,0,1,2,1,1,1,1,0,3,2,1,1,0,2,5,3,1,3,2,1,0,0,1,1,524287,524288,1048575
bytes=2,1,0,1,2,1,1,2,1,0,1,1,1,1,6,5,5,4,0,1
pipeline=$(for warp in 1 2; do for lane in $(seq 0 31); do printf '%d,' $((warp * (8 * lane + 32 * 28))); done; done)
bulk=$(for i in $(seq 0 63); do printf '%d,' $((2 * i)); done)
# 64 threads arrive one after the other or together at an object of 128, without completing it; the last finds how many are missing.
tokens=$(for i in $(seq 0 63); do printf '%d,' $((i < 32 ? 64 : 0)); done)
sums=$(for i in $(seq 0 63); do printf '%d,' $((1000 + i)); done)
generic=$(for i in $(seq 0 63); do printf '%d,' $((i < 32 ? 64 * 65536 + 64 * 256 + 32 : 64 * 256)); done)
launch() { # PROGRAM: options of validate
    case $1 in
    ops | bytes)
        n=$(tr , '\n' <<< "${!1}" | wc -l)
        echo "--grid 1 --block 1 --arg out:out:u32[$n]=iota --expect out=${!1}" ;;
    bulk) echo "--grid 1 --block 64 --arg buf:u32[64]=iota --arg out:out:u32[64]=zero --arg u32:256 --expect out=${bulk%,}" ;;
    tokens) echo "--grid 1 --block 64 --arg buf:u32[64]=iota --arg out:out:u32[64]=zero --arg out:sum:u32[64]=zero --arg u32:256 --expect out=${tokens%,} --expect sum=${sums%,}" ;;
    generic) echo "--grid 1 --block 64 --arg out:out:u32[64]=zero --expect out=${generic%,}" ;;
    pipeline) echo "--grid 2 --block 96 --arg buf:u32[256]=iota --arg out:out:u32[64]=zero --expect out=${pipeline%,}" ;;
    esac
}
# ptxas's code for sm_90, which has instructions for all of it; below it has some for objects at generic addresses.
if [ -x "${PTXAS:-}" ]; then # and no more
    for program in ops pipeline bytes bulk tokens generic generic:80 generic:86 generic:89; do
        sm=90
        [ $program = ${program%:*} ] || sm=${program#*:} program=${program%:*}
        for level in 0 1 3; do
            "$PTXAS" -arch=sm_$sm -O$level -o "$dir/theirs.cubin" $program.ptx > "$dir/out" 2>&1 &&
                "$heddle" validate $program.ptx "$dir/theirs.cubin" $(launch $program) > "$dir/out" 2>&1 || fail "ptxas's $program for sm_$sm, -O$level"
            "$heddle" disasm --sections "$dir/theirs.cubin" > "$dir/theirs.sass" 2> "$dir/out" && ! grep -q W0420 "$dir/out" &&
                "$heddle" asm "$dir/theirs.sass" -o "$dir/again.cubin" > "$dir/out" 2>&1 && cmp "$dir/theirs.cubin" "$dir/again.cubin" > "$dir/out" 2>&1 ||
                fail "the text of ptxas's $program, -O$level"
        done
    done
    exit $bad
fi
for program in ops pipeline bytes bulk tokens generic; do
    lowest=80
    [ $program = tokens ] || [ $program = bytes ] || [ $program = bulk ] && lowest=90
    for level in 0 1 2 3; do
        "$heddle" validate $program.ptx -O$level $(launch $program) > "$dir/out" 2>&1 || fail "$program, -O$level"
    done
    for sm in 80 86 89 90; do
        [ $sm -lt $lowest ] && continue
        "$heddle" compile $program.ptx -t sm_$sm -o "$dir/own.cubin" > "$dir/out" 2>&1 &&
            "$heddle" check "$dir/own.cubin" > "$dir/out" 2>&1 &&
            "$heddle" validate $program.ptx "$dir/own.cubin" --check-control $(launch $program) > "$dir/out" 2>&1 ||
            fail "$program for sm_$sm"
    done
done
"$heddle" validate ops.ptx $(launch ops | sed 's/=3,0/=3,1/') > "$dir/out" 2>&1 && fail "a wrong number was not seen"
"$heddle" validate hang.ptx --grid 1 --block 32 --budget 2000000 --arg out:out:u32[1]=zero > "$dir/out" 2>&1
[ $? = 5 ] && grep -q 'both trap' "$dir/out" || fail "a missing arrival"
sed 's/^\.visible .entry bulk(.*/& .reqnctapercluster 2/' bulk.ptx > "$dir/two.ptx"
"$heddle" compile "$dir/two.ptx" -o "$dir/two.cubin" > "$dir/out" 2>&1 || fail "a cluster of two blocks"
"$heddle" run "$dir/two.cubin" $(launch bulk | sed "s/grid 1/grid 2/") > "$dir/out" 2>&1
grep -q 'the machine has no clusters' "$dir/out" || fail "the reason of a refusal"
exit $bad
