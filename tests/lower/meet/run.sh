#!/bin/sh
# run.sh HEDDLE FILE.ptx WORK: one program of lanes that meet, in every mode, under the machine's policies.
# The PTX reference interpreter, which knows no warps, says what is right; it and the machine must agree, and
# compile -v checks the barrier rules after insertion.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 ptx=$2 work=$3
name=$(basename "$ptx" .ptx)
mkdir -p "$work"
lanes=32 native=sm_80
args='--arg out:o:u32[128]=zero'
case $name in
lock) args="$args --arg out:l:u32[2]=zero" ;;
retry | sums) args="$args --arg out:l:u32[4]=zero" ;;
bars) lanes=128 ;;
shuffle) lanes=64 ;;
groups | mixed) lanes=128 native=sm_90a args='--arg out:o:u32[512]=zero' ;;
esac
validate() {
    "$heddle" validate "$ptx" --block $lanes,1,1 $args --budget 2000000 "$@" >"$work/$name.log" 2>&1 || {
        echo "$name: $*"
        cat "$work/$name.log"
        exit 1
    }
}
for mode in ipdom frontier frontier-all none auto; do
    for how in plain break; do
        "$heddle" compile "$ptx" -v -O2 --reconverge=$mode --yield=$how -o "$work/$name.cubin" 2>"$work/$name.log" || {
            cat "$work/$name.log"
            exit 1
        }
        for level in 0 2; do
            validate -O$level --reconverge=$mode --yield=$how
        done
        validate --reconverge=$mode --yield=$how --policy branch=taken --policy lane=highest
        validate --reconverge=$mode --yield=$how --policy bsync-nb=blocked --policy join=candidates
    done
    # the literal reading of BSYNC works where lanes leave all barriers before YIELD
    validate --reconverge=$mode --yield=break --policy bsync-nb=literal
done
validate -t $native

# More places than are compared two by two: .aligned ones need no stub there either.
if [ $name = groups ]; then
    product=$(grep -m1 'wgmma\.mma_async' "$ptx")
    awk -v product="$product" '{ print } $0 == product && !done { for (i = 0; i < 1600; i++) print product; done = 1 }' "$ptx" >"$work/groups_many.ptx"
    "$heddle" compile -t $native "$work/groups_many.ptx" -o "$work/groups_many.cubin"
    "$heddle" disasm "$work/groups_many.cubin" >"$work/groups_many.sass"
    [ "$(grep -c HGMMA "$work/groups_many.sass")" -gt 1600 ] || { echo "products are missing"; exit 1; }
    ! grep 'sync\$' "$work/groups_many.sass" || exit 1
fi

# Products stand at their places beside another WARPSYNC, too, and their descriptors are those of all lanes.
case $name in
groups | mixed)
    "$heddle" compile "$ptx" -o "$work/$name.cubin"
    "$heddle" disasm "$work/$name.cubin" >"$work/$name.sass"
    [ "$(grep -c HGMMA "$work/$name.sass")" -ge 3 ] || { echo "products are missing"; exit 1; }
    ! grep 'sync\$' "$work/$name.sass" || exit 1
    "$heddle" check "$work/$name.cubin" >"$work/$name.log" || { cat "$work/$name.log"; exit 1; }
    ;;
esac

# Tiles that are all here ask, and go on together: without that each tile is alone from its first vote on.
if [ $name = whole_tiles ]; then
    for how in "-t bru1" "-t $native" "-t $native -O0"; do
        "$heddle" compile $how "$ptx" -o "$work/$name.cubin"
        "$heddle" check "$work/$name.cubin" >"$work/$name.log" || { cat "$work/$name.log"; exit 1; }
        "$heddle" run "$work/$name.cubin" --grid 1 --block 32 $args --stats --json >"$work/$name.json"
        efficiency=$(sed -n 's/.*"simt_efficiency":[^0-9]*\([0-9.]*\).*/\1/p' "$work/$name.json" | head -1)
        awk -v e="$efficiency" 'BEGIN { exit !(e > 0.5) }' || { echo "$how: tiles are apart, $efficiency"; exit 1; }
    done
fi

# Who asks which lanes are active waits for nobody.
if [ $name = active ]; then
    for target in bru1 $native; do
        "$heddle" compile -t $target "$ptx" -o "$work/$name.cubin"
        "$heddle" disasm "$work/$name.cubin" >"$work/$name.sass"
        "$heddle" check "$work/$name.cubin" >"$work/$name.log" || { cat "$work/$name.log"; exit 1; }
        [ "$(grep -c 'MATCH\|VOTE' "$work/$name.sass")" -ge 5 ] || { echo "collectives are missing"; exit 1; }
        ! grep 'sync\$\|gather\$\|WARPSYNC\|YIELD' "$work/$name.sass" || exit 1
    done
fi

# No way leads back, and the proof follows the rounds.
if [ $name = unrolled ]; then
    "$heddle" compile -t $native "$ptx" -o "$work/$name.cubin"
    "$heddle" disasm --json "$work/$name.cubin" >"$work/$name.json"
    "$heddle" compile -t $native --dump=layout "$ptx" -o "$work/$name.cubin" >"$work/$name.mir" 2>&1
    ! grep -q 'depth=' "$work/$name.mir" || { echo "loops are left"; exit 1; }
    "$heddle" prove -t $native "$ptx" >"$work/$name.log" || { cat "$work/$name.log"; exit 1; }
fi

# No place of one half may be met at one of the other, nor one of a ballot at another.
case $name in
halves | ballots)
    "$heddle" disasm "$work/$name.cubin" >"$work/$name.sass"
    [ "$(grep -c 'SHFL\|VOTE' "$work/$name.sass")" -ge 6 ] || { echo "collectives are missing"; exit 1; }
    ! grep 'sync\$\|gather\$' "$work/$name.sass" || exit 1
    ;;
esac
