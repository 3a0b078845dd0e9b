#!/bin/bash
# What ptxas makes of the programs beside this, at -O0 and -O3 for every native machine, runs on the machine as the PTX does on
# the reference interpreter; and a machine that is not as silicon is would show it.
#   ptxas.sh HEDDLE SCRATCH
# With HEDDLE_PART each program on one of the machines.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 scratch=$2 here=$(cd "$(dirname "$0")" && pwd)
ptxas=$("$here/../find_nvidia.sh" ptxas) || exit $?
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0

# run STATUS NAME LEVEL MACHINE [OPTIONS]
run() {
    local status=$1 source=$here/ptxas/$2.ptx name=$(basename "$2") level=$3 sm=$4
    shift 4
    sed "s/^\.target .*/.target sm_$sm/" "$source" >"$name.ptx"
    "$ptxas" "$level" -fmad=false "-arch=sm_$sm" "$name.ptx" -o "$name.cubin" || { failed=1; return; }
    "$heddle" validate "$name.ptx" "$name.cubin" "$@" >out 2>&1
    [ $? = "$status" ] || { echo "$name, ptxas $level for sm_$sm, $*: not status $status"; head -5 out; failed=1; }
}
# model VERDICT NAME LEVEL MACHINE: of the file that `run` made last
model() {
    "$heddle" check --model "$2.cubin" 2>&1 | grep -q "^[^ ]*: $1, " || { echo "$2, ptxas $3 for sm_$4: the model checker does not say $1"; failed=1; }
}
pick 75 80 86 89 90
for sm in $picked; do
    for level in -O0 -O3; do
        run 0 windows $level $sm --grid 1 --block 48 --arg out:o:'u64[192]'=zero
        run 0 subnormal $level $sm --grid 3 --block 256 --arg out:o:'u32[12288]'=zero
    done
done
run 4 subnormal -O3 80 --grid 3 --block 256 --arg out:o:'u32[12288]'=zero --policy mufu-subnormal=keep
run 4 subnormal -O3 80 --grid 3 --block 256 --arg out:o:'u32[12288]'=zero --policy mufu-subnormal=keep --no-trace
grep 'buffer o' out >/dev/null && ! grep 'never changed' out || { echo "--no-trace says who stored what"; failed=1; }
pick 75 80 86 89 90
for sm in $picked; do
    for level in -O0 -O3; do
        run 0 operands $level $sm --grid 1 --block 64 --arg 'buf:u32[128]=random:6' --arg out:o:'u32[768]'=zero --arg s32:-90 --arg s32:1000
    done
done
pick 75 80 86 89 90
for sm in $picked; do
    for level in -O0 -O3; do
        run 0 address $level $sm --block 4 --arg 'out:o:u64[4]=zero'
        sed 's/%d2, %d3,/%d3, %d2,/' address.ptx >swapped.ptx
        "$heddle" validate swapped.ptx address.cubin --block 4 --arg 'out:o:u64[4]=zero' >out 2>&1
        [ $? = 4 ] && grep -q '^k: differs' out || { echo "address, ptxas $level for sm_$sm: the other function's"; head -5 out; failed=1; }
    done
done
cp "$here/ptxas/kept.json" .
pick 75 80 90
for sm in $picked; do
    sed "s/^\.target .*/.target sm_$sm/" "$here/ptxas/kept.ptx" >kept.ptx
    "$ptxas" -arch=sm_$sm kept.ptx -o kept.cubin 2>err || { echo "kept, sm_$sm:"; cat err; failed=1; continue; }
    "$heddle" validate kept.ptx kept.cubin --launch kept.json >out 2>&1 || { echo "kept, ptxas for sm_$sm"; head -5 out; failed=1; }
    sed 's/%d, %e, %p/%e, %d, %p/' kept.ptx >swapped.ptx
    "$heddle" validate swapped.ptx kept.cubin --launch kept.json >out 2>&1
    [ $? = 4 ] && grep -q 'differs' out || { echo "kept, ptxas for sm_$sm: the other function's"; head -5 out; failed=1; }
done
regions=(--grid 1 --block 32 --arg 'buf:u8[8192]=random:3' --arg out:o:'u8[67584]'=zero)
pick 75 80 86 89 90
for sm in $picked; do
    run 0 regions -O0 $sm "${regions[@]}"
done
pick 75 80 86 89 90
for sm in $picked; do
    for level in -O0 -O3; do
        for policy in lane-choice=lowest lane-choice=highest,branch-order=taken bsync-nb=blocked,join-scope=candidates; do
            run 0 recursion $level $sm --grid 1 --block 32 --arg 'buf:u32[64]=random:3' --arg 'out:o:u32[32]=zero' --arg s32:64 --policy $policy
        done
    done
done
pick 80 86 89 90
for sm in $picked; do
    for level in -O0 -O3; do
        run 0 policies $level $sm --grid 1 --block 64 --arg 'out:p:u32[256]=iota' --arg f32:0.5
    done
done
pick 80 86 89 90
for sm in $picked; do
    for level in -O0 -O3; do
        run 0 copies $level $sm --grid 1 --block 64 --arg 'buf:u8[2048]=random:9' --arg out:o:'u32[576]'=zero
        run 0 ignored $level $sm --grid 1 --block 64 --arg 'buf:u8[2048]=random:9' --arg out:o:'u32[512]'=zero
    done
done
for level in -O0 -O3; do
    run 0 registers $level 90a --grid 1 --block 128 --arg out:o:'u32[128]'=zero
    grep -q 'USETMAXREG.TRY_ALLOC' <("$heddle" disasm -c registers.cubin) || { echo "registers, ptxas $level: nothing is asked for"; failed=1; }
    "$heddle" check registers.cubin >out 2>&1 || { echo "registers, ptxas $level: check"; head -5 out; failed=1; }
    run 0 packs $level 90 --grid 1 --block 128 --arg 'buf:u32[512]=random:4' --arg out:o:'u32[1024]'=zero
done
pick 80 86 89 90
for sm in $picked; do
    run 0 products -O3 $sm --grid 1 --block 32 --arg 'buf:f64[128]=random:8' --arg out:o:'f64[384]'=zero
    [ "$(grep -c 'DMMA.*-R' <("$heddle" disasm -c products.cubin))" -ge 3 ] && [ "$(grep -c 'HMMA.* -R' <("$heddle" disasm -c products.cubin))" = 2 ] ||
        { echo "products, sm_$sm: nothing is negated in the product"; failed=1; }
    run 0 signs -O3 $sm --grid 1 --block 256 --arg 'buf:u32[768]=random:6' --arg out:o:'u32[1024]'=zero
    [ $sm = 80 ] || grep -q 'H0_NH1' <("$heddle" disasm -c signs.cubin) || { echo "signs, sm_$sm: no half is negated in the product"; failed=1; }
done
run 0 alloca -O3 80 --grid 1 --block 16 --arg out:o:'u32[16]'=zero
"$heddle" check alloca.cubin >out || { echo "alloca: check"; head -5 out; failed=1; }
masks=(--grid 1 --block 32 --arg 'buf:u32[32]=random:5' --arg out:o:'u32[128]'=zero)
for level in -O0 -O3; do
    pick 75 80 86 89 90
    for sm in $picked; do
        run 0 votes $level $sm "${masks[@]}"
    done
    pick 75 80 86 89
    for sm in $picked; do
        run 4 two_forms $level $sm "${masks[@]}"
        grep -q 'livelock: .* at 0x[0-9a-f]* WARPSYNC' out || { echo "two_forms $level sm_$sm: where?"; failed=1; }
        model stuck two_forms $level $sm
    done
    run 0 two_forms $level 90 "${masks[@]}"
    model proved two_forms $level 90
    pick 75 80 86 89 90
    for sm in $picked; do
        run 0 later $level $sm --grid 1 --block 32 --arg out:o:'u32[34]'=zero
        model proved later $level $sm
        [ $sm = 75 ] || run 0 ../../lower/meet/turns $level $sm --grid 1 --block 32 --arg out:o:'u32[32]'=zero
    done
done
run 0 arrive -O0 90 --grid 2 --block 64 --arg out:o:'u32[128]'=zero
model proved arrive -O0 90
run 4 arrive -O3 90 --grid 2 --block 64 --arg out:o:'u32[128]'=zero
grep -q 'livelock: .* at 0x[0-9a-f]* WARPSYNC' out || { echo "arrive -O3: where?"; failed=1; }
model stuck arrive -O3 90
run 4 regions -O0 89 "${regions[@]}" --policy bssy=or
# -O0 has stall count 0 with YIELD where a product takes longer than the greatest count
pick 80 86 89 90
for sm in $picked; do
    "$ptxas" -O0 -arch=sm_$sm -o wmma.cubin "$here/../../ptx-samples/wmma_gemm.ptx" || failed=1
    "$heddle" check wmma.cubin >out || { echo "wmma_gemm -O0 sm_$sm"; cat out; failed=1; }
    "$heddle" disasm --sections wmma.cubin | sed 's/Y:S00\(.*MMA\)/Y:S15\1/' >wmma.sass
    "$heddle" asm wmma.sass -o edited.cubin && "$heddle" check edited.cubin | grep -q 'H-01' || { echo "wmma_gemm sm_$sm with stall 15"; failed=1; }
    sed 's/Y:S15\(.*MMA\)/-:S01\1/' wmma.sass >quick.sass
    "$heddle" asm quick.sass -o edited.cubin && "$heddle" check edited.cubin | grep -q 'H-01' || { echo "wmma_gemm sm_$sm with stall 1"; failed=1; }
done
# the fewest cycles between ULDC and a generic store are those of stores to global memory
pick 75 80 86 89 90
for sm in $picked; do
    "$ptxas" -arch=sm_$sm -o generic.cubin <(sed "s/^\.target .*/.target sm_$sm/" "$here/ptxas/generic.ptx") || failed=1
    "$heddle" check generic.cubin >out || { echo "generic sm_$sm"; cat out; failed=1; }
    case $sm in 8?) continue ;; esac # another instruction stands between
    "$heddle" disasm --sections generic.cubin | sed 's/S0[2-4]\(.* ULDC.64\)/S01\1/' >generic.sass
    "$heddle" asm generic.sass -o edited.cubin && "$heddle" check edited.cubin | grep -q 'H-01' || { echo "generic sm_$sm with stall 1"; failed=1; }
done
exit $failed
