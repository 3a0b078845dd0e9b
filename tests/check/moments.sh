#!/bin/bash
# Code that has lost a barrier, or a wait for asynchronous copies, which the order in which the machine runs at first hides: it differs
# from its PTX, under a given launch and under inferred ones, and the verdict says when; as it was compiled it is equal. Where the PTX
# has no end in that order either, code that hangs in it is no difference; where it has one, it is.
#   moments.sh HEDDLE CASES SCRATCH [copies]
# With `copies` the code is ptxas's: only that has LDGSTS.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 cases=$2 scratch=$3 what=${4:-barriers} failed=0
rm -rf "$scratch" && mkdir -p "$scratch" || exit 1
if [ "$what" = copies ]; then
    ptxas=$("$(dirname "$0")/../find_nvidia.sh" ptxas) || exit $?
fi
cd "$scratch" || exit 1
fail() { echo "FAILED: $*"; cat out; failed=1; }
given=(--block 96 --arg "buf:u32[1024]=random:3" --arg "out:o:u32[96]=zero")

# judge KERNEL EXPECTED WHAT: binary.cubin under both kinds of launches
judge() {
    local options
    for options in auto given; do
        if [ $options = auto ]; then set -- "$1" "$2" "$3" --launch auto; else set -- "$1" "$2" "$3" "${given[@]}"; fi
        "$heddle" validate "$cases/$1.ptx" binary.cubin "${@:4}" >out 2>&1
        [ $? = "$2" ] || fail "$1, $3, $options: not status $2"
        [ "$2" = 0 ] || grep -q 'when warps run in descending order' out || fail "$1, $3, $options: it does not say when"
    done
}

# edit KERNEL PATTERN: a NOP in the place of the first that matches
edit() {
    "$heddle" disasm --sections good.cubin | sed "0,/$2/s//NOP/" >wrong.sass
    "$heddle" asm wrong.sass -o binary.cubin && ! cmp -s binary.cubin good.cubin || fail "$1: nothing to edit with $2"
    judge "$1" 4 "without $2"
}

# hangs PROGRAM STATUS TEXT OPTION...: phases.cubin, or late.cubin, against the program of this name
hangs() {
    local program=$1 status=$2 text=$3
    [ -e "$cases/$program.ptx" ] && program=$cases/$program
    "$heddle" validate "$program.ptx" "${text%%:*}.cubin" "${@:4}" >out 2>&1
    [ $? = "$status" ] && grep -q "^$text" out || fail "$1, $target, ${*:4}: not status $status with $text"
}

if [ "$what" = copies ]; then
    given=(--block 64 --arg "buf:u32[1024]=random:3" --arg "out:o:u32[64]=zero" --arg u32:5)
    for target in sm_80 sm_90; do
        "$ptxas" -arch=$target "$cases/staged.ptx" -o good.cubin && cp good.cubin binary.cubin || exit 1
        judge staged 0 "as compiled for $target"
        for pattern in 'DEPBAR\.LE SB0, 0x1' 'DEPBAR\.LE SB0, 0x0' LDGDEPBAR; do edit staged "$pattern"; done
    done
else
    pick bru1 sm_75 sm_80 sm_90
    for target in $picked; do
        "$heddle" compile -t $target "$cases/relay.ptx" -o good.cubin && cp good.cubin binary.cubin || exit 1
        judge relay 0 "as compiled for $target"
        edit relay 'BAR\.SYNC[A-Z_.]* 0x0'
    done
    # The second program is the first one whose third warp looks at nothing: it ends in every order.
    sed 's/^FREE:/  @%q ret;\nFREE:/' "$cases/phases.ptx" >ends.ptx
    cmp -s ends.ptx "$cases/phases.ptx" && fail "phases: nothing was edited"
    pick bru1 sm_80 sm_90
    for target in $picked; do
        "$heddle" compile -t $target "$cases/phases.ptx" -o phases.cubin || exit 1
        "$heddle" compile -t $target ends.ptx -o ends.cubin || exit 1
        launches=("--launch auto")
        [ $target = bru1 ] && launches+=("${given[*]}")
        for options in "${launches[@]}"; do
            # shellcheck disable=SC2086 # words
            hangs phases 0 'phases: order-dependent: .*the PTX finishes, but not in every order of threads; machine, when warps run' $options
            hangs ends 4 'phases: differs: .*when warps run in descending order.*PTX: finishes, machine: ' $options
            "$heddle" validate ends.ptx ends.cubin $options >out 2>&1 && grep -q '^phases: equal' out || fail "ends, $target: not equal"
        done
        # the same where one warp must come late, and no warp that multiplies ahead of others
        if [ $target = sm_90 ]; then
            sed 's/^FREE:/  @%q ret;\nFREE:/' "$cases/late.ptx" >soon.ptx
            "$heddle" compile -t sm_90a "$cases/late.ptx" -o late.cubin || exit 1
            hangs late 0 'late: order-dependent: .*the PTX finishes, but not in every order of threads; machine, when warps run' --launch auto
            hangs soon 4 'late: differs: .*when warps run in descending order.*PTX: finishes, machine: ' --launch auto
        fi
        # Lanes of a warp that wait for a lock may not keep the one that has it from going on, in no order of PTX: without YIELD it hangs.
        "$heddle" compile -t $target "$cases/../../../ptx-samples/spinlock.ptx" -o lock.cubin || exit 1
        "$heddle" mutate lock.cubin --apply drop-yield:0 -o hung.cubin || exit 1
        "$heddle" validate "$cases/../../../ptx-samples/spinlock.ptx" hung.cubin --launch auto >out 2>&1
        [ $? = 4 ] && grep -q '^spinlock: differs: .*PTX: finishes, machine: ' out || fail "a lock without YIELD, $target: no difference"
    done
fi
exit $failed
