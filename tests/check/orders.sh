#!/bin/sh
# orders.sh HEDDLE DATA DIR: sums whose last bits follow from the order of threads are order-dependent and no difference, also
# where the machine's order is none of those that are tried; a wrong factor in one of two sums is a difference.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/../part.sh"
heddle=$1 data=$2
mkdir -p "$3" && cd "$3" || exit 1
failed=0
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    "$heddle" compile "$data/sums.ptx" -t $target -o sums.cubin || exit 1
    for option in --races --seed=0; do # also where only a difference asks for other orders
        "$heddle" validate "$data/sums.ptx" sums.cubin --launch "$data/sums.json" $option >out
        [ $? -eq 0 ] && grep -q '^sums: order-dependent' out || { echo "FAIL: $target $option"; cat out; failed=1; }
    done
    "$heddle" disasm --sections sums.cubin | sed 's/2\.71828174[0-9]*/2.7182/' >wrong.sass
    "$heddle" asm wrong.sass -o wrong.cubin && ! cmp -s wrong.cubin sums.cubin || { echo "FAIL: $target: nothing was edited"; failed=1; }
    for option in --races --seed=0; do
        "$heddle" validate "$data/sums.ptx" wrong.cubin --launch "$data/sums.json" $option >out
        [ $? -eq 4 ] && grep -q '^sums: differs' out || { echo "FAIL: $target $option, a wrong factor"; cat out; failed=1; }
    done
done
# Sums that lanes lose where they execute together.
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    for option in --races --seed=0; do
        "$heddle" validate "$data/lost.ptx" -t $target --launch "$data/lost.json" $option >out
        [ $? -eq 0 ] && grep -q '^lost: order-dependent.*that of one of them' out || { echo "FAIL: lost, $target $option"; cat out; failed=1; }
    done
done
# Whether infinities of both signs meet in a sum follows from the order, too: of the same numbers an infinity for a NaN is the order, of
# others, and a number for it, it is a difference.
"$heddle" compile "$data/overflow.ptx" -t sm_80 -o overflow.cubin || exit 1
sed 's/0f7f000000/0f3f800000/; s/0fff800000/0f3f800000/' "$data/overflow.ptx" >wrong.ptx && "$heddle" compile wrong.ptx -t sm_80 -o wrong.cubin || exit 1
sed 's/0f7f000000/0f7f000001/' "$data/overflow.ptx" >others.ptx && "$heddle" compile others.ptx -t sm_80 -o others.cubin || exit 1
for option in --races --seed=0; do
    "$heddle" validate "$data/overflow.ptx" overflow.cubin --policy branch-order=taken --launch "$data/overflow.json" $option >out
    [ $? -eq 0 ] && grep -q '^overflow: order-dependent.*other sums of the same numbers' out || { echo "FAIL: overflow, $option"; cat out; failed=1; }
    "$heddle" validate "$data/overflow.ptx" others.cubin --policy branch-order=taken --launch "$data/overflow.json" $option >out
    [ $? -eq 4 ] && grep -q '^overflow: differs' out || { echo "FAIL: overflow, $option, other numbers"; cat out; failed=1; }
    "$heddle" validate "$data/overflow.ptx" wrong.cubin --policy branch-order=taken --launch "$data/overflow.json" $option >out
    [ $? -eq 4 ] && grep -q '^overflow: differs' out || { echo "FAIL: overflow, $option, a number"; cat out; failed=1; }
done
# What only an order gives that is not tried is left open; what no order changes, of the PTX or the binary, is a difference.
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    "$heddle" compile "$data/turns.ptx" -t $target -o turns.cubin || exit 1
    sed 's/%r1, 3, 7/%r1, 3, 8/' "$data/turns.ptx" >wrong.ptx && "$heddle" compile wrong.ptx -t $target -o wrong.cubin || exit 1
    for option in --races --seed=0; do
        "$heddle" validate "$data/turns.ptx" turns.cubin --policy warp-order=descending --launch "$data/turns.json" $option >out
        [ $? -eq 5 ] && grep -q '^turns: unknown.*another may give it' out || { echo "FAIL: turns, $target $option"; cat out; failed=1; }
        for policy in ascending descending; do
            "$heddle" validate "$data/turns.ptx" wrong.cubin --policy warp-order=$policy --launch "$data/turns.json" $option >out
            [ $? -eq 4 ] && grep -q '^turns: differs' out || { echo "FAIL: turns, $target $option, a wrong number"; cat out; failed=1; }
        done
    done
done
# What orders change is something that they make of it: the same entries of a queue, a sum within its rounding. Policies stand for orders
# of threads that the PTX side does not try.
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    "$heddle" compile "$data/shuffled.ptx" -t $target -o shuffled.cubin || exit 1
    for policy in warp-order=ascending warp-order=descending,branch-order=taken; do
        "$heddle" validate "$data/shuffled.ptx" shuffled.cubin --policy $policy --races --launch "$data/shuffled.json" >out
        [ $? -eq 0 ] && grep -q '^shuffled: order-dependent' out || { echo "FAIL: shuffled, $target $policy"; cat out; failed=1; }
        for edit in 's/%r1, 3, 7/%r1, 3, 8/' 's/%r1, 3, 7/%r1, 5, 7/' 's/0f3e800000/0f3e851eb8/' 's/0f3dcccccd/0f3e4ccccd/'; do
            sed "$edit" "$data/shuffled.ptx" >wrong.ptx && "$heddle" compile wrong.ptx -t $target -o wrong.cubin || exit 1
            "$heddle" validate "$data/shuffled.ptx" wrong.cubin --policy $policy --launch "$data/shuffled.json" >out
            [ $? -eq 4 ] && grep -q '^shuffled: differs' out || { echo "FAIL: shuffled, $target $policy, $edit"; cat out; failed=1; }
        done
        # one number that any of many threads may have stored: what none of the orders tried gives shows nothing
        sed 's/%r1, 5;/%r1, 2000;/' "$data/shuffled.ptx" >wrong.ptx && "$heddle" compile wrong.ptx -t $target -o wrong.cubin || exit 1
        "$heddle" validate "$data/shuffled.ptx" wrong.cubin --policy $policy --launch "$data/shuffled.json" >out
        [ $? -eq 5 ] && grep -q '^shuffled: unknown.*another may give it' out || { echo "FAIL: shuffled, $target $policy, the last"; cat out; failed=1; }
    done
done
# Several launches: what that says which gave the verdict stands first, once.
{ cat "$data/sums.ptx"; sed '/^\.\(version\|target\|address_size\)/d' "$data/turns.ptx"; } >both.ptx
cat >both.json <<'J'
{"buffers": {"in": {"type": "f32", "count": 1536, "init": "random:3"}, "out": {"type": "f32", "count": 1024}, "tickets": {"type": "u32", "count": 1},
             "drawn": {"type": "u32", "count": 128}, "first": {"type": "u32", "count": 64}, "sure": {"type": "u32", "count": 64}},
 "launches": [{"kernel": "sums", "grid": [1], "block": [64], "args": ["in", "out"], "repeat": 3},
              {"kernel": "turns", "grid": [1], "block": [64], "args": ["tickets", "drawn", "first", "sure"]}]}
J
"$heddle" compile both.ptx -o both.cubin && "$heddle" validate both.ptx both.cubin --policy warp-order=descending --races --launch both.json >out
grep -q ': unknown: .*es: [0-9]* orders of threads give another result; the machine.s is none of them, and another may give it; of an earlier launch: the machine has other sums of the same numbers$' out ||
    { echo "FAIL: notes of several launches"; cat out; failed=1; }
# A base below its window, brought into it by the displacement: the PTX does what both kinds of code do.
pick bru1 sm_75 sm_90
for target in $picked; do
    "$heddle" validate "$data/below.ptx" -t $target --launch "$data/below.json" >out
    [ $? -eq 0 ] || { echo "FAIL: below, $target"; cat out; failed=1; }
done
exit $failed
