#!/bin/sh
# parted_headers.sh HEDDLE: loops one behind the other, each with a loop inside that has the same header, so that each gets a block
# of its own before it. Blocks made for the first ones are none of those that the loops are known by.
# SPDX-License-Identifier: MIT
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
loops() {
    echo '.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
 .reg .pred %p<8>; .reg .b32 %r<8>; .reg .b64 %d<4>;
 ld.param.u64 %d1,[p]; ld.param.u32 %r1,[n]; mov.u32 %r2,%tid.x; mov.u32 %r3,0;'
    k=0
    while [ $k -lt "$1" ]; do
        echo "H$k: add.u32 %r3,%r3,%r2; and.b32 %r4,%r3,3; setp.eq.u32 %p1,%r4,0; @%p1 bra O$k;
 xor.b32 %r3,%r3,%r2; st.global.u32 [%d1],%r3; and.b32 %r4,%r3,5; setp.eq.u32 %p1,%r4,0; @%p1 bra H$k;
 st.global.u32 [%d1],%r4; setp.lt.u32 %p2,%r3,%r1; @%p2 bra H$k;
O$k:"
        k=$((k + 1))
    done
    echo ' st.global.u32 [%d1],%r3; ret;
}'
}
# Numbers of loops at which what lay behind the list of blocks was taken for the number of a loop.
for n in 54 55 56 57 58 59; do
    loops $n >"$work/k.ptx"
    "$1" compile -O0 "$work/k.ptx" -o "$work/k.cubin" || {
        echo "$n loops: compile ended with $?"
        exit 1
    }
done
