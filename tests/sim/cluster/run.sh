#!/usr/bin/env bash
# Clusters: run.sh HEDDLE. The interpreter, and the machine with ptxas's code where that is found, must give the
# numbers that are computed here from what each block does.
# SPDX-License-Identifier: MIT
set -u
heddle=$1
. "$(dirname "$0")/../begin.sh"
# of our own code; where ptxas is found, another test has it
levels="0 1 2 3"
[ ! -x "${PTXAS:-}" ] || levels=
# Numbers of ring.ptx for a grid GX GY of clusters CX CY: words of `out`, of `ids`; explicit: 1 if the launch has clusters.
numbers() {
    local gx=$1 gy=$2 cx=$3 cy=$4 explicit=$5 x y i
    local n=$((cx * cy))
    out= ids= words=
    block_of() { # RANK: number of the block of that rank in the cluster of block x, y
        echo $(((y / cy * cy + $1 / cx) * gx + x / cx * cx + $1 % cx))
    }
    for ((y = 0; y < gy; y++)); do
        for ((x = 0; x < gx; x++)); do
            local rank=$((y % cy * cx + x % cx)) sum=1000
            local next=$(((rank + 1) % n)) prev=$(((rank + n - 1) % n))
            for ((i = 0; i < n; i++)); do sum=$((sum + $(block_of $i))); done
            local from=$(block_of $next)
            out+="$from,$(block_of $prev),$sum,$((from + 500)),$((from + 600)),$from,$prev,$next,"
            local place="$((x / cx)),$((y / cy)),$((gx / cx)),$((gy / cy)),$((x % cx)),$((y % cy)),$cx,$cy,$rank,$n,$explicit,"
            words+="${place}0,0,0,0,0,"
            ids+="$place$((n > 1 ? 1 : 3)),0,0,0,0,"
        done
    done
}
try() { # WHAT GRID CLUSTER BLOCK PROGRAM...
    local what=$1 grid=($2) cluster=($3) block=$4
    shift 4
    numbers ${grid[*]} ${cluster[*]:-1 1} $((${#cluster[*]} ? 1 : 0))
    local blocks=$((grid[0] * grid[1])) option=
    [ ${#cluster[*]} = 0 ] || option=--cluster=${cluster[0]},${cluster[1]},1
    "$heddle" "$@" --kernel ring --grid ${grid[0]},${grid[1]} $option --block $block --arg "out:out:u32[$((blocks * 8))]=zero" \
        --arg "out:ids:u32[$((blocks * 16))]=zero" --expect out=${out%,} --expect ids=${ids%,} > "$dir/out" 2>&1 ||
        fail "$what, clusters of ${cluster[*]:-none}"
}
all() {
    try "$1" "4 2" "2 2" 32 "${@:2}"
    try "$1" "6 4" "3 4" 64 "${@:2}"
    try "$1" "16 1" "16 1" 32 "${@:2}"
    try "$1" "5 1" "1 1" 32 "${@:2}"
    try "$1" "3 1" "" 32 "${@:2}"
}
all "the interpreter" run ring.ptx --engine ptx
for seed in 1 2; do try "the interpreter, seed $seed" "4 4" "2 4" 32 run ring.ptx --engine ptx --seed $seed; done
"$heddle" run ring.ptx --engine ptx --kernel gone --grid 2 --cluster 2 --block 1 --arg 'out:out:u32[1]=zero' > "$dir/out" 2>&1
[ $? != 0 ] && grep -q 'block of the cluster that has ended' "$dir/out" || fail "an access to a block that has ended"
"$heddle" run ring.ptx --engine ptx --kernel ring --grid 5 --cluster 2 --block 1 --arg 'out:out:u32[40]=zero' --arg 'out:ids:u32[80]=zero' > "$dir/out" 2>&1
[ $? = 1 ] && grep -q 'whole clusters' "$dir/out" || fail "a grid of no whole clusters"
# what was done before the arrival is known behind the wait: it releases, unless it is .relaxed, which wants a fence before it
cat > "$dir/known.ptx" << 'END'
.version 8.3
.target sm_90
.address_size 64
.visible .entry known(.param .u64 out)
{
.reg .b64 %a<3>; .reg .b32 %t, %v; .reg .pred %p; .shared .b32 word;
ld.param.u64 %a1, [out]; mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0; @%p bra ARRIVE;
st.shared.u32 [word], 7;
ARRIVE: barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ld.shared.u32 %v, [word]; mul.wide.u32 %a2, %t, 4; add.s64 %a1, %a1, %a2; st.global.u32 [%a1], %v; ret; }
END
sed 's/arrive.aligned/arrive.relaxed.aligned/' "$dir/known.ptx" > "$dir/relaxed.ptx"
sed 's/^ARRIVE: /fence.mbarrier_init.release.cluster; &/' "$dir/relaxed.ptx" > "$dir/fenced.ptx"
for way in known relaxed fenced; do
    "$heddle" run "$dir/$way.ptx" --engine ptx --races --grid 1 --block 64 --arg 'out:out:u32[64]=zero' > "$dir/out" 2>&1
    races=$(grep -c '^race at shared word' "$dir/out")
    [ $races = $([ $way = relaxed ] && echo 1 || echo 0) ] || fail "$way: $races races at the cluster's barrier"
done
sed 's/^\(\.visible .entry ring(.*\)/\1 .reqnctapercluster 2, 2/' ring.ptx > "$dir/required.ptx"
numbers 4 2 2 2 1
required=(--kernel ring --grid 4,2 --block 32 --arg 'out:out:u32[64]=zero' --arg 'out:ids:u32[128]=zero' --expect "out=${out%,}" --expect "ids=${ids%,}")
"$heddle" run "$dir/required.ptx" --engine ptx "${required[@]}" > "$dir/out" 2>&1 || fail ".reqnctapercluster"
"$heddle" run "$dir/required.ptx" --engine ptx "${required[@]}" --cluster 4,2 > "$dir/out" 2>&1
grep -q 'differs from .reqnctapercluster' "$dir/out" || fail "another cluster than the kernel's"
"$heddle" compile ring.ptx -t sm_80 -o "$dir/own.cubin" > "$dir/out" 2>&1 && fail "ring.ptx compiles for sm_80"
for level in $levels; do
    "$heddle" compile ring.ptx -t sm_90 -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "ring.ptx, -O$level"
    all "own code, -O$level" validate ring.ptx "$dir/own.cubin"
    "$heddle" compile "$dir/required.ptx" -t sm_90 -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "required.ptx, -O$level"
    "$heddle" validate "$dir/required.ptx" "$dir/own.cubin" "${required[@]}" > "$dir/out" 2>&1 || fail "own .reqnctapercluster, -O$level"
    # a machine without clusters: each block is one
    "$heddle" compile ring.ptx -t bru1 -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "ring.ptx for bru1, -O$level"
    try "own code for bru1, -O$level" "3 1" "" 32 validate ring.ptx "$dir/own.cubin"
done
# Words of forms.ptx for clusters of N of 2 * N blocks: the one before has rank r and gives r + 7.
sums() { # N
    local b v
    words=
    for ((b = 0; b < 2 * $1; b++)); do
        v=$(((b % $1 + $1 - 1) % $1 + 7))
        words+="$((100 + v)),$v,$v,0,$((0xff & v)),$((0x100 | v)),$((0xff ^ v)),1,$((v - 1)),1,$v,$((v - 7)),$v,0,5,6,$v,0,$v,0,"
    done
}
reduces() { # WHAT PROGRAM...
    local what=$1 n
    shift
    for n in 1 2 8; do
        sums $n
        "$heddle" "$@" --kernel reduce --grid $((2 * n)) --cluster $n --block 64 --arg "out:out:u32[$((40 * n))]=zero" --expect "out=${words%,}" > "$dir/out" 2>&1 ||
            fail "$what, reductions in clusters of $n"
    done
}
reduces "the interpreter" run forms.ptx --engine ptx
for level in $levels; do
    "$heddle" compile forms.ptx -t sm_90 -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "forms.ptx, -O$level"
    reduces "own code, -O$level" validate forms.ptx "$dir/own.cubin"
done
"$heddle" compile forms.ptx -t bru1 -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "forms.ptx for bru1"
sums 1
"$heddle" validate forms.ptx "$dir/own.cubin" --kernel reduce --grid 2 --block 64 --arg "out:out:u32[40]=zero" --expect "out=${words%,}" > "$dir/out" 2>&1 || fail "own code for bru1"
# Special registers of clusters are compiled: for sm_90 they are what the launch says, other machines have no clusters.
registers() { # OPTION... of compile: the words of blocks of (3, 4) in (6, 8), (16, 1) in (32, 1), and without clusters
    "$heddle" compile registers.ptx "$@" -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "registers.ptx, $*"
    while read -r gx gy cx cy explicit option; do
        numbers $gx $gy $cx $cy $explicit
        "$heddle" validate registers.ptx "$dir/own.cubin" --grid $gx,$gy --block 1 $option --arg "out:ids:u32[$((gx * gy * 16))]=zero" \
            --expect "ids=${words%,}" > "$dir/out" 2>&1 || fail "registers, clusters of $cx $cy, $*"
    done
}
for level in $levels; do
    registers -t sm_90 -O$level << END
6 8 3 4 1 --cluster=3,4
32 1 16 1 1 --cluster=16
5 2 1 1 0
END
done
# one block is no cluster there, be it the launch that asks for it or the kernel, which then has one
registers -t bru1 << END
5 2 1 1 0
5 2 1 1 0 --cluster=1
END
sed 's/^\(\.visible .entry registers(.*)\)/\1 .reqnctapercluster 1/' registers.ptx > "$dir/one.ptx"
grep -q 'reqnctapercluster 1' "$dir/one.ptx" || fail "the kernel of registers.ptx is written in another way"
numbers 5 2 1 1 1
for target in bru1 sm_90; do
    "$heddle" compile "$dir/one.ptx" -t $target -o "$dir/one.cubin" > "$dir/out" 2>&1 || fail "one.ptx for $target"
    "$heddle" validate "$dir/one.ptx" "$dir/one.cubin" --grid 5,2 --block 1 --arg 'out:ids:u32[160]=zero' --expect "ids=${words%,}" > "$dir/out" 2>&1 ||
        fail ".reqnctapercluster 1 for $target"
done
"$heddle" run "$dir/own.cubin" --grid 4 --cluster 2 --block 1 --arg 'out:ids:u32[64]=zero' > "$dir/out" 2>&1
grep -q 'the machine has no clusters' "$dir/out" || fail "clusters of a machine that has none"
if [ -x "${PTXAS:-}" ]; then
    for level in 0 1 3; do
        "$PTXAS" -arch=sm_90 -O$level -o "$dir/theirs.cubin" ring.ptx > "$dir/out" 2>&1 || fail "ptxas, -O$level"
        all "ptxas's code, -O$level" validate ring.ptx "$dir/theirs.cubin"
        "$PTXAS" -arch=sm_90 -O$level -o "$dir/their_forms.cubin" forms.ptx > "$dir/out" 2>&1 || fail "ptxas, forms.ptx, -O$level"
        reduces "ptxas's code, -O$level" validate forms.ptx "$dir/their_forms.cubin"
        "$PTXAS" -arch=sm_90 -O$level -o "$dir/required.cubin" "$dir/required.ptx" > "$dir/out" 2>&1 &&
            "$heddle" validate "$dir/required.ptx" "$dir/required.cubin" "${required[@]}" > "$dir/out" 2>&1 || fail "ptxas's .reqnctapercluster"
        for kernel in gone stuck; do
            "$heddle" validate ring.ptx "$dir/theirs.cubin" --kernel $kernel --grid 2 --cluster 2 --block 1 --budget 2000000 --arg 'out:out:u32[1]=zero' > "$dir/out" 2>&1
            [ $? = 5 ] && grep -q 'both trap' "$dir/out" || fail "$kernel, -O$level"
        done
        "$heddle" run "$dir/theirs.cubin" --kernel gone --grid 2 --cluster 2 --block 1 --arg 'out:out:u32[1]=zero' > "$dir/out" 2>&1
        grep -q 'block 1 of the cluster has ended' "$dir/out" || fail "the machine's word for a block that has ended"
        "$heddle" disasm --sections "$dir/theirs.cubin" > "$dir/theirs.sass" 2> "$dir/out" && "$heddle" asm "$dir/theirs.sass" -o "$dir/again.cubin" > "$dir/out" 2>&1 &&
            cmp "$dir/theirs.cubin" "$dir/again.cubin" > "$dir/out" 2>&1 || fail "the text of ptxas's code, -O$level"
    done
fi
exit $bad
