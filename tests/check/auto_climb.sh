#!/bin/bash
# heddle validate --launch auto of kernels that do nothing unless their sizes fit together: steps from the first launches find some
# that do. What no step finds stays little covered, and wrong code behind such a size is found.
#   auto_climb.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/auto.sh"

# kernel NAME PARAMETERS BODY VERDICT: its verdict begins with VERDICT; its file has the $variables
kernel() {
    begin "$1" "${variables-}" "$2" '.reg .b64 %a, %b, %o; .reg .b32 %i, %j, %k, %m, %n, %t, %x, %y; .reg .pred %p, %q;'
    printf '%s\nEND: ret;\n}\n' "$3" >>"$1.ptx"
    verdict "$1" "$4"
}
index='mov.u32 %x, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %y, %ntid.x; mad.lo.s32 %i, %j, %y, %x; mul.wide.u32 %o, %i, 4;
ld.param.u64 %a, [a]; add.s64 %a, %a, %o; ld.param.u32 %n, [n];'
put='ld.global.u32 %y, [%a]; mad.lo.s32 %y, %y, 3, %i; xor.b32 %y, %y, 85; shl.b32 %y, %y, 1; st.global.u32 [%a], %y;'

# the work of tiles of 4,096 keys and 16 rows is dealt to the blocks; who begins within a tile has something to add
kernel tiles '.param .u64 a, .param .u32 n, .param .u32 m' "$index ld.param.u32 %m, [m]; add.s32 %m, %m, 15; shr.s32 %m, %m, 4;
shr.s32 %t, %n, 31; shr.u32 %t, %t, 20; add.s32 %t, %n, %t; shr.s32 %t, %t, 12; mul.lo.s32 %m, %m, %t; mul.lo.s32 %k, %m, %j;
mov.u32 %y, %nctaid.x; div.u32 %k, %k, %y; rem.s32 %y, %k, %t; setp.eq.s32 %p, %y, 0; @%p bra END; $put" equal
# a size that is a multiple of 1,024, but more than 10,000
kernel multiple '.param .u64 a, .param .u32 n' "$index and.b32 %y, %n, 1023; setp.ne.s32 %p, %y, 0; @%p bra END;
setp.lt.s32 %p, %n, 10001; @%p bra END; $put" equal
# two sizes of which one is the other
kernel square '.param .u64 a, .param .u32 n, .param .u32 m' "$index ld.param.u32 %m, [m]; setp.lt.s32 %p, %n, 70; @%p bra END;
setp.ne.s32 %p, %n, %m; @%p bra END; $put" equal
# an assertion of the size
kernel asserted '.param .u64 a, .param .u32 n' "$index rem.u32 %y, %n, 48; setp.eq.s32 %p, %y, 0; @%p bra GO; trap; GO: setp.lt.u32 %p, %i, %n; @%p bra ON; bra END; ON: setp.gt.u32 %q, %i, 9; @%q bra AT; st.global.u32 [%a], %n; bra END; AT: $put" equal
# a pointer that is 0, and one that is aligned to less
kernel absent '.param .u64 a, .param .u32 n, .param .u64 b' "$index ld.param.u64 %o, [b]; setp.ne.u64 %p, %o, 0; @%p bra END; $put" equal
kernel aligned '.param .u64 a, .param .u32 n, .param .u64 b' "$index ld.param.u64 %a, [b]; and.b64 %o, %a, 15; setp.eq.u64 %p, %o, 0; @%p bra END;
mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; $put" equal
# code without optimisation: all is on the stack, in one variable
kernel stack '.param .u64 a, .param .u32 n' ".local .align 8 .b8 d[40]; ld.param.u64 %a, [a]; ld.param.u32 %n, [n]; st.local.u32 [d+20], %n; st.local.u64 [d+8], %a;
mov.u64 %o, d; mov.u32 %x, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %y, %ntid.x; mad.lo.s32 %i, %j, %y, %x; st.local.u32 [%o+16], %i; ld.local.u32 %j, [d+16];
ld.local.u32 %n, [%o+20]; setp.ge.s32 %p, %j, %n; @%p bra END; ld.local.u64 %a, [d+8]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.local.u64 [d+24], %a;
ld.local.u64 %a, [d+24]; $put" equal
# the key that a word of memory leads to is found there, not by chance; so is the mark behind it, and the second word that leads on
kernel tree '.param .u64 a, .param .u32 n' "$index ld.param.u64 %b, [a]; ld.global.u64 %o, [%b+696]; and.b64 %o, %o, -8;
add.s64 %o, %b, %o; ld.global.u32 %k, [%o+16]; mad.lo.s32 %m, %n, 77, 123456; setp.ne.s32 %p, %k, %m; @%p bra END;
ld.global.u32 %t, [%o+20]; shl.b32 %m, 1, 21; and.b32 %t, %t, %m; setp.eq.s32 %p, %t, 0; @%p bra END;
ld.global.u64 %o, [%o+24]; setp.ne.s64 %p, %o, 987654321012; @%p bra END; $put" equal
grep -q ',@[0-9]*:u64:value:987654321012' tree.json || fail "tree.json has no such word"
"$heddle" validate tree.ptx --launch tree.json >tree.again || fail "tree.json: $(head -3 tree.again)"
# nothing can be stored, whatever guards say
kernel silent '.param .u32 n' ".shared .u32 s; mov.u32 %x, %tid.x; ld.param.u32 %n, [n]; setp.ge.u32 %p, %x, %n; @%p bra END; add.s32 %x, %x, %n;" \
    'equal.*nothing is stored'
# ... and none of it is waited for to take both ways
kernel inert '' 'mov.u32 %x, %tid.x; setp.eq.u32 %p, %x, 1025; @%p add.s32 %x, %x, 1;' 'equal.*nothing is stored'
# ... but this has a statement that might
kernel mute '.param .u64 a, .param .u32 n' "$index setp.le.u32 %p, %i, 100000; @%p bra END; $put" 'little covered'
# floating-point numbers that are bytes: none of them is a NaN or subnormal
blend=
for bit in 0 4 8 12 16 20 24 28; do
    blend+="shr.u32 %x, %t, $bit; and.b32 %x, %x, 15; cvt.rn.f32.u32 %g, %x; mul.f32 %g, %g, 0f3D888889; fma.rn.f32 %f, %f, 0f3F000000, %g;"
done
kernel bytes '.param .u64 a, .param .u32 n' ".reg .f32 %f, %g; $index setp.ge.s32 %p, %i, %n; @%p bra END; ld.global.u32 %t, [%a]; mov.f32 %f, 0f3F800000;
$blend st.global.f32 [%a], %f;" equal
# numbers whose exponents are sums of integers, as logarithms have them: no NaN and no subnormal one
mantissa=
for k in 1 2 3 4 5 6 7 8; do
    mantissa+="add.s32 %x, %t, -1060439283; and.b32 %x, %x, -8388608; sub.s32 %y, %t, %x; mov.b32 %g, %y; fma.rn.f32 %f, %g, 0f3F000000, 0f3F800000; mov.b32 %y, %f; add.s32 %t, %t, %y;"
done
kernel exponents '.param .u64 a, .param .u32 n' ".reg .f32 %f, %g; $index setp.ge.s32 %p, %i, %n; @%p bra END; ld.global.u32 %t, [%a];
$mantissa st.global.u32 [%a], %t;" equal
# no neighbour, which is -1, and one of the edge, which is -2
walls=
for k in 1 2 3 4 5 6; do walls+="setp.gt.s32 %p, %i, $k; @%p bra W$k; add.s32 %y, %y, $k; W$k: "; done
kernel walls '.param .u64 a, .param .u32 n, .param .u64 b' "$index setp.ge.s32 %p, %i, %n; @%p bra END; ld.global.u32 %t, [%a]; ld.param.u64 %b, [b]; mul.wide.u32 %o, %i, 4;
add.s64 %o, %b, %o; mov.u32 %y, 0; setp.eq.s32 %p, %t, -1; @%p bra END; setp.ne.s32 %p, %t, -2; @%p bra INNER; $walls bra PUT;
INNER: mul.wide.s32 %a, %t, 4; add.s64 %b, %b, %a; ld.global.u32 %y, [%b+262144]; PUT: st.global.u32 [%o], %y;" equal
# two halves in a register: of either of them a NaN and a subnormal number are seen; and the kernel asks whether its divisor is 0
for type in f16x2 bf16x2; do
    kernel $type '.param .u64 a, .param .u32 n, .param .u64 b' "$index setp.ge.s32 %p, %i, %n; @%p bra END; mul.lo.s32 %x, %i, 68; cvt.u64.u32 %o, %x;
add.s64 %a, %a, %o; ld.param.u64 %o, [b]; mul.wide.u32 %b, %i, 4; add.s64 %b, %o, %b; ld.global.u32 %x, [%b+8192];
$(for k in $(seq 4 4 64); do echo "ld.global.u32 %y, [%b+$k]; fma.rn.$type %t, %x, %y, %y; st.global.u32 [%a+$k], %t;"; done)" equal
done
kernel divisor '.param .u64 a, .param .u32 n' "$index setp.eq.s32 %p, %n, 0; @%p bra ON; rem.u32 %y, %i, %n; bra END; ON: $put" equal
# a way for rows that lie side by side
kernel rows '.param .u64 a, .param .u32 n, .param .u32 m, .param .u32 k, .param .u32 l' "$index ld.param.u32 %m, [m]; ld.param.u32 %k, [k]; ld.param.u32 %t, [l];
shl.b32 %y, %n, 2; setp.ne.s32 %p, %m, %y; @%p bra END; setp.ne.s32 %p, %k, 12; @%p bra END; mul.lo.s32 %y, %t, 8; setp.ne.s32 %p, %y, %m; @%p bra END; $put" equal
# what a branch takes past another value of the register is one of its values: the first pointer is one
kernel past '.param .u64 a, .param .u32 n, .param .u64 b' "$index ld.param.u64 %b, [a]; setp.lt.u32 %p, %x, 40; @%p bra ON; ld.param.u64 %b, [b];
ON: add.s64 %b, %b, %o; ld.global.u32 %t, [%b+64]; mad.lo.s32 %t, %t, 5, %i; ld.param.u64 %b, [b]; add.s64 %b, %b, %o; st.global.u32 [%b+65536], %t;" equal
# four numbers none of which is small
kernel large '.param .u64 a, .param .u32 n, .param .f32 c, .param .f32 d, .param .f32 e, .param .f32 f' ".reg .f32 %f; $index
$(for k in c d e f; do echo "ld.param.f32 %f, [$k]; abs.f32 %f, %f; setp.leu.f32 %p, %f, 0f4CBEBC20; @%p bra END;"; done) $put" equal
# a word of memory that is 0 for all threads
kernel flag '.param .u64 a, .param .u32 n, .param .u64 b' "mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; ld.param.u64 %a, [a]; add.s64 %a, %a, %o;
ld.param.u64 %b, [b]; ld.global.u32 %t, [%b]; setp.ne.s32 %p, %t, 0; @%p bra END; setp.gt.s32 %p, %i, 9; @%p bra ON; add.s32 %i, %i, 3; ON: $put" equal
# what no thread of the launch writes is waited for: no attempt ends until memory holds it
kernel waits '.param .u64 a, .param .u32 n, .param .u64 b' "$index ld.param.u64 %b, [b];
AGAIN: ld.volatile.global.u32 %t, [%b+64]; setp.ne.u32 %p, %t, 777; @%p bra AGAIN; $put" equal
# pairs of a table that is a parameter, for each of so many neighbours; rows of sums that must not overlap
kernel pairs '.param .u64 a, .param .u32 n, .param .u64 b, .param .u64 c, .param .align 4 .b8 t[400]' "$index ld.param.u64 %b, [b]; add.s64 %b, %b, %o; ld.global.u32 %t, [%b];
setp.le.s32 %p, %t, 0; @%p bra END; ld.param.u64 %b, [c]; add.s64 %o, %b, %o; ld.global.u32 %k, [%o]; ld.global.u32 %m, [%b]; mul.wide.s32 %o, %k, 40; mov.b64 %b, t;
add.s64 %o, %b, %o; mul.wide.s32 %b, %m, 4; add.s64 %b, %b, %o; ld.param.u32 %m, [%b]; setp.gt.s32 %p, %m, 9; @%p bra ON; add.s32 %i, %i, 3; ON: add.s32 %i, %i, %m; $put
mul.wide.s32 %o, %n, 4; add.s64 %a, %a, %o; ld.global.u32 %y, [%a]; add.s32 %y, %y, %i; st.global.u32 [%a], %y;" equal
# the one way is for two names of one buffer, another for two buffers
kernel inplace '.param .u64 a, .param .u32 n, .param .u64 b' "$index ld.param.u64 %b, [b]; add.s64 %b, %b, %o; ld.global.u32 %t, [%b+4096];
setp.ne.s64 %p, %a, %b; @%p bra APART; setp.gt.s32 %p, %i, 9; @%p bra ON; add.s32 %i, %i, 3; ON: add.s32 %i, %i, %t; $put bra END;
APART: ld.global.u32 %y, [%b]; mad.lo.s32 %y, %y, 5, %i; st.global.u32 [%a], %y;" equal
# a byte that counts
kernel byte '.param .u64 a, .param .u32 n, .param .u8 c' "$index ld.param.u8 %t, [c]; setp.le.u32 %p, %t, 2; @%p bra END; mul.wide.u32 %b, %t, 4; add.s64 %a, %a, %b;
setp.gt.s32 %p, %i, 9; @%p bra ON; add.s32 %i, %i, 3; ON: $put" equal
# shared memory of n times n times n rows, by whatever threads
variables='.extern .shared .b8 s[];'
kernel cube '.param .u64 a, .param .u32 n' "$index mul.lo.s32 %t, %n, %n; mul.lo.s32 %t, %t, %n; shl.b32 %t, %t, 8; and.b32 %y, %x, 15; shl.b32 %y, %y, 2; add.s32 %t, %t, %y;
mov.u32 %y, s; add.s32 %t, %t, %y; st.shared.u32 [%t], %i; ld.shared.u32 %k, [%t]; add.s32 %i, %i, 7; $put" equal
variables=
# numbers that are no NaN behind a comparison, and are not subnormal: operands of either kind do not count. Those of the sums in front do.
steps=$(for k in $(seq 24); do echo 'fma.rn.f32 %f, %f, %f, 0f3F800000;'; done)
kernel positive '.param .u64 a, .param .u32 n' ".reg .f32 %f; $index setp.ge.s32 %p, %i, %n; @%p bra END; ld.global.f32 %f, [%a];
setp.leu.f32 %p, %f, 0f00000000; @%p bra END; add.f32 %f, %f, 0f3F800000; $steps st.global.f32 [%a], %f;" equal
# a limit that digests must be below, a number or in memory that the host fills
digest='mov.u32 %t, %i;'
for k in $(seq 60); do digest+="mul.lo.u32 %t, %t, 0x9e3779b1; shr.u32 %y, %t, 15; xor.b32 %t, %t, %y; add.u32 %t, %t, $k;"; done
found="setp.gt.s32 %p, %i, 9; @%p bra ON; add.s32 %i, %i, 3; ON: $put"
kernel digest '.param .u64 a, .param .u32 n' "$index $digest setp.ge.u32 %p, %t, %n; @%p bra END; $found" equal
variables='.const .align 4 .b8 limit[4];'
kernel target '.param .u64 a, .param .u32 n' "$index $digest ld.const.u32 %k, [limit]; setp.ge.u32 %p, %t, %k; @%p bra END; $found" equal
variables=
# no constant of the kernel tells that
kernel hidden '.param .u64 a, .param .u32 n' "$index mul.lo.s32 %y, %n, 0x9e3779b1; xor.b32 %y, %y, 0x12345678; setp.ne.s32 %p, %y, 0x5a5a5a5a;
@%p bra END; $put" 'little covered'
# a word that is mixed of indices alone: of the ways back from it, of which there are 2^40, some are gone
mixed=$(for k in $(seq 20); do echo 'xor.b32 %t, %t, %y; add.u32 %y, %y, %t;'; done)
kernel mixed '.param .u64 a, .param .u32 n' "$index mov.u32 %t, %i; $mixed setp.ne.u32 %p, %y, 0x5a5a5a5a; @%p bra END; $put" 'little covered'

# a number for which something is left out, and nothing else is executed
kernel around '.param .u64 a, .param .u32 n' "$index mad.lo.s32 %y, %n, 3, 5; setp.eq.s32 %p, %y, 236; @%p bra OUT; mad.lo.s32 %i, %i, 3, 7; OUT: ${put/85/83}" equal

# rows of constant length that take more than other buffers have
kernel distant '.param .u64 a, .param .u32 n' "$index ld.global.u32 %k, [%a+18000000]; add.s32 %i, %i, %k; $put" equal
# a place that nobody has claimed: a compare-and-swap that swaps nothing is no result, and what it found leads on
kernel claim '.param .u64 a, .param .u32 n' "$index setp.ge.s32 %p, %i, %n; @%p bra END; atom.global.cas.b32 %k, [%a], 0xdeadbeef, %i; setp.ne.s32 %p, %k, 0xdeadbeef;
@%p bra END; $put" equal

# other code behind the same conditions
for name in tiles multiple square asserted absent aligned stack large flag inplace byte cube digest target around claim distant; do
    sed 's/xor.b32 %y, %y, 85/xor.b32 %y, %y, 84/; s/%y, 236;/%y, 239;/' $name.ptx >$name.wrong.ptx
    "$heddle" compile $name.wrong.ptx -o $name.wrong.cubin || fail "$name.wrong.ptx"
    "$heddle" validate $name.ptx $name.wrong.cubin --launch auto >$name.wrong.report
    [ $? -eq 4 ] || fail "$name: wrong code is not found: $(head -3 $name.wrong.report)"
done
exit $failed
