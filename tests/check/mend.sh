#!/bin/sh
# mend.sh HEDDLE DIRECTORY K.ptx...: what R-24 says would mend a lost join, done to binaries in which joins are lost
# (none, ipdom, frontier): the checker agrees with the result, it computes what the PTX interpreter computes, and it
# executes fewer warp instructions. Every entry takes a pointer to 256 numbers and one to where it writes 256.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 work=$2 here=$(cd "$(dirname "$0")" && pwd)
shift 2
. "$here/../part.sh"
rm -rf "$work"
mkdir -p "$work"
failed=0 mended=0 less=0
fail() {
    echo "FAIL: $*"
    failed=1
}
execute() { # PROGRAM KERNEL ENGINE RESULT: prints warp instructions
    "$heddle" run "$1" --kernel "$2" --grid 1 --block 256 --engine "$3" --arg 'buf:u32[256]=random:1' --arg 'out:r:u32[256]' \
        --save "r=$4" --stats --json | sed -n 's/.*"warp_instructions":[^0-9]*\([0-9]*\).*/\1/p'
}
mend() { # PTX MODE
    mine || return
    ptx=$1 cubin=$work/$2.cubin
    "$heddle" compile "$ptx" --reconverge="$2" -o "$cubin" || fail "compile $ptx"
    "$heddle" disasm --sections "$cubin" >"$work/d.sass"
    "$heddle" check --rules R-24 "$cubin" >"$work/d.txt"
    for kernel in $(sed -n 's/.*: \([a-z_0-9]*\)+0x[0-9a-f]*: note R-24: .*/\1/p' "$work/d.txt" | uniq); do
        awk -v FUNC="$kernel" -v NAME=".text.$kernel" -f "$here/mend.awk" "$work/d.txt" "$work/d.sass" >"$work/m.sass"
        case $? in
        0) ;;
        2 | 3) echo "$kernel, $2: nothing to do, or no room" && continue ;;
        *) fail "mend.awk: $kernel" && continue ;;
        esac
        "$heddle" asm "$work/m.sass" -o "$work/m.cubin" || { fail "asm: $kernel" && continue; }
        "$heddle" check "$work/m.cubin" >"$work/m.txt" || { fail "check: $kernel" && grep error "$work/m.txt" && continue; }
        execute "$ptx" "$kernel" ptx "$work/want" >/dev/null
        before=$(execute "$cubin" "$kernel" interp "$work/got")
        after=$(execute "$work/m.cubin" "$kernel" interp "$work/got")
        cmp -s "$work/want" "$work/got" || fail "$kernel, $2 computes something else"
        echo "$kernel, $2: $before, mended $after"
        mended=$((mended + 1))
        [ "$after" -lt "$before" ] && less=$((less + 1))
    done
}
for ptx in "$@"; do
    for mode in none ipdom frontier; do
        mend "$ptx" $mode
    done
done
echo "$mended mended, $less of them with fewer warp instructions"
# a part is of one mode, whose few kernels say nothing of all
[ "$mended" -ge $((part == 1 ? 30 : 1)) ] || fail "hardly any"
[ "$part" != 1 ] || [ $((less * 10)) -ge $((mended * 9)) ] || fail "that does not help"
exit $failed
