#!/bin/sh
# select_chain.sh HEDDLE: selects, each by a comparison of the one before, that a loop's phi takes and a divergent branch compares.
# Following a number through them asks twice at each, so 60 of them must not take 2^60 steps.
# SPDX-License-Identifier: MIT
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
{
    echo '.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<4>;
 ld.param.u64 %d1,[p]; ld.param.u32 %r1,[n]; cvta.to.global.u64 %d1,%d1;
 mov.u32 %r2,0; mov.u32 %r3,0; mov.u32 %r9,%tid.x;
L: mov.u32 %r10,%r2; and.b32 %r11,%r9,3; setp.eq.u32 %p1,%r11,1; selp.b32 %r2,7,%r2,%p1;'
    k=0
    while [ $k -lt 60 ]; do
        echo " setp.eq.s32 %p2,%r2,$((100 + k)); selp.b32 %r2,$((k + 1)),%r2,%p2;"
        k=$((k + 1))
    done
    echo ' setp.eq.s32 %p3,%r10,7; @%p3 bra X;
 ld.global.u32 %r5,[%d1]; mov.u32 %r6,0;
M: ld.global.u32 %r7,[%d1+16]; add.u32 %r3,%r3,%r7; st.global.u32 [%d1+4],%r3;
 add.u32 %r6,%r6,1; setp.lt.u32 %p4,%r6,%r5; @%p4 bra M;
 bra Y;
X: ld.global.u32 %r5,[%d1+8]; mul.lo.u32 %r3,%r3,%r5; st.global.u32 [%d1+12],%r3;
Y: add.u32 %r9,%r9,1; setp.lt.u32 %p5,%r9,%r1; @%p5 bra L;
 st.global.u32 [%d1],%r3; ret;
}'
} >"$work/chain.ptx"
timeout 60 "$1" compile -t sm_80 -O2 "$work/chain.ptx" -o "$work/chain.cubin"
status=$?
[ $status = 0 ] && [ -s "$work/chain.cubin" ] && exit 0
echo "compile ended with $status (124: after 60 seconds)"
exit 1
