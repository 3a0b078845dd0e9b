#!/bin/bash
# heddle validate --launch auto keeps a launch that has a race only where those without one reach less than 80 % of the blocks and it
# reaches a tenth more than they do: what a size that contradicts the shape adds at the edge is no reason to call a kernel racy. Nor
# is what one thread alone reaches, which no other races with.
#   auto_races.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/auto.sh"

# steps NAME N: N basic blocks, one behind the other
steps() { for k in $(seq "$2"); do echo "bra $1$k; $1$k: add.s32 %y, %y, $k;"; done; }
# Blocks that no launch reaches, for no step finds that number
hidden='mul.lo.s32 %y, %n, 0x9e3779b1; xor.b32 %y, %y, 0x12345678; setp.ne.s32 %p, %y, 0x5a5a5a5a; @%p bra SEEN;'
# kernel NAME UNSEEN ALWAYS RACING VERDICT [several]: each thread stores to its place; where n is 4,711 all (of several) store to one,
# behind so many blocks
kernel() {
    {
        printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry %s(.param .u64 a, .param .u32 n)\n{\n' "$1"
        echo '.reg .b64 %a, %o; .reg .b32 %i, %j, %n, %x, %y; .reg .pred %p;
mov.u32 %x, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %y, %ntid.x; mad.lo.s32 %i, %j, %y, %x; mul.wide.u32 %o, %i, 4;
ld.param.u64 %a, [a]; add.s64 %a, %a, %o; ld.param.u32 %n, [n];'
        [ "$2" -gt 0 ] && echo "$hidden" && steps H "$2"
        echo 'SEEN: ld.global.u32 %y, [%a]; mad.lo.s32 %y, %y, 3, %i; xor.b32 %y, %y, 85; shl.b32 %y, %y, 1; st.global.u32 [%a], %y;'
        steps S "$3"
        echo 'setp.ne.s32 %p, %n, 4711; @%p bra END;'
        [ -z "${6:-}" ] || echo 'mov.u32 %j, %ntid.x; setp.eq.u32 %p, %j, 1; @%p bra END;'
        echo 'ld.param.u64 %a, [a]; st.global.u32 [%a], %x;'
        steps R "$4"
        printf 'st.global.u32 [%%a+4], %%y;\nEND: ret;\n}\n'
    } >"$1.ptx"
    "$heddle" validate "$1.ptx" --launch auto >"$1.report"
    grep -q "^$1: $5" "$1.report" || fail "$1 is not '$5': $(head -3 "$1.report")"
    # the launches were there, and the search has seen what they do
    [ "$5" = racy ] || grep -q "^$1: .*launches tried have races" "$1.report" || fail "$1: no launch with a race was tried: $(head -1 "$1.report")"
}

kernel further 6 12 3 racy several     # 20 blocks of 27, and 16 without the race
kernel alone 6 12 3 'little covered'   # 19 blocks of 26 by one thread
kernel little 6 12 0 'little covered'  # 16 blocks of 23, and 15 without the race
kernel enough 0 16 3 equal             # 22 blocks, and 18 without the race: more than 80 %
[ $failed = 0 ] && echo "all as expected"
exit $failed
