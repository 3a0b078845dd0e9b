#!/bin/sh
# model.sh HEDDLE SOURCE DIRECTORY: what the model checker finds is shown by the machine when it follows the schedule; a small
# mutation campaign.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failed=0
fail() { echo "FAIL: $*"; failed=1; }

# replay NAME FILE OPTIONS...: it is stuck, and the machine shows it
replay() {
    name=$1 file=$2
    shift 2
    "$heddle" check --model "$@" --schedule=s.json "$file" >out 2>&1
    [ $? -eq 4 ] || { fail "$name: nothing found"; cat out; return; }
    "$heddle" run --replay s.json "$file" >out 2>&1
    [ $? -eq 4 ] && grep -q '^replayed' out || { fail "$name: not replayed"; cat out; }
}

cat >two_places.sass <<'S'
.target bru1
.entry k
    S2R R0, SR_LANEID ;
    ISETP.EQ.U32.AND P0, PT, R0, 0x5, PT ;
    @P0 BRA `(other) ;
    WARPSYNC 0xffffffff ;
    EXIT ;
other:
    WARPSYNC 0xffffffff ;
    EXIT ;
S
sed 's/WARPSYNC 0xffffffff/BAR.SYNC 0x0/' two_places.sass >barrier.sass
for f in two_places barrier; do
    "$heddle" asm $f.sass -o $f.cubin || fail "$f does not assemble"
    replay $f $f.cubin
done
replay lock_inside "$source/tests/litmus/lock_inside.ptx" --policy=bsync-nb=literal
"$heddle" check --model "$source/tests/litmus/lock_inside.ptx" >out 2>&1 || { fail "lock_inside is found stuck"; cat out; }

for s in bfs calls bitonic scan; do
    mine || continue
    "$heddle" check --model --policy=all "$source/ptx-samples/$s.ptx" >out 2>&1 || { fail "$s is found wrong"; cat out; }
done

# every mutant that the model objects to is shown
"$heddle" compile "$source/ptx-samples/calls.ptx" -o calls.cubin
rm -f s.json
for site in drop-bsync:0 drop-bsync:3 swap-b:0 swap-b:2 guard-bsync:1 guard-bsync:4; do
    mine || continue
    "$heddle" mutate calls.cubin --apply $site -o mutant.cubin || continue
    "$heddle" check --model --policy=all --no-hazards --schedule=s.json mutant.cubin >out 2>&1
    [ -f s.json ] || continue
    "$heddle" run --replay s.json mutant.cubin >out 2>&1
    grep -q '^replayed' out || { fail "calls $site is not replayed"; cat out; }
    rm -f s.json
done
echo '{}' >s.json
"$heddle" run --replay s.json calls.cubin >out 2>&1
[ $? -eq 1 ] || fail "an empty schedule is taken"

"$heddle" mutate --campaign --kind=cfg,collectives --programs=2 --count=4 --prove-time=0 --class=reconvergence,control --json >report.json ||
    fail "the campaign fails"
grep -q '"drop-bsync"' report.json || fail "no mutants"
# what a kernel reads of the clock is no difference, and all else that a mutant changes is one to validate
cat >clock.ptx <<'END'
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 pout, .param .u64 pin, .param .u64 pticks) {
 .reg .b32 %i, %x, %y, %c, %d; .reg .b64 %off, %out, %in, %ticks; .reg .pred %p;
 ld.param.u64 %out, [pout]; ld.param.u64 %in, [pin]; ld.param.u64 %ticks, [pticks];
 mov.u32 %i, %tid.x; mul.wide.u32 %off, %i, 4;
 add.s64 %out, %out, %off; add.s64 %in, %in, %off; add.s64 %ticks, %ticks, %off;
 mov.u32 %c, %clock;
 ld.global.u32 %x, [%in];
 mul.lo.u32 %y, %x, 3; add.u32 %y, %y, 17; xor.b32 %y, %y, %i; setp.gt.s32 %p, %y, 100; selp.u32 %y, %y, %x, %p;
 st.global.u32 [%out], %y;
 mov.u32 %d, %clock; sub.u32 %d, %d, %c;
 st.global.u32 [%ticks], %d;
 ret; }
END
"$heddle" mutate --campaign clock.ptx --block 64 --arg buf:u32[64]=zero --arg buf:u32[64]=random:3 --arg buf:u32[64]=zero --class=arithmetic \
    --prove-time=0 --count=20 >clock.txt
awk '$1 == "arithmetic" && $3 > $4 && $4 > 15 && $4 == $(NF-5) { found = 1 } END { exit !found }' clock.txt ||
    { fail "a kernel that reads a clock"; cat clock.txt; }
[ $failed -eq 0 ] && echo "all good"
exit $failed
