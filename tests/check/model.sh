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
[ $failed -eq 0 ] && echo "all good"
exit $failed
