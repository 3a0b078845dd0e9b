#!/bin/bash
# heddle validate --launch auto of kernels whose data lie behind pointers in memory, in records of fields of several kinds, or in
# blocks of a size that only their loops tell; and of wrong binaries of each of them.
#   auto_records.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/auto.sh"

# kernel NAME PARAMETERS BODY VERDICT [RIGHT WRONG]: its verdict begins with VERDICT; of a binary of the kernel with WRONG in place of
# RIGHT it is "differs"; its file has the $variables
kernel() {
    mine || return 0
    begin "$1" "${variables-}" "$2" '.reg .b64 %a, %b, %c, %o; .reg .b32 %i, %j, %k, %n, %x, %y; .reg .f32 %f, %g; .reg .f64 %d; .reg .pred %p, %q;'
    printf '%s\nEND: ret;\n}\n' "$3" >>"$1.ptx"
    verdict "$1" "$4"
    [ $# -lt 6 ] && return
    sed "s/$5/$6/" "$1.ptx" >"$1.wrong.ptx"
    cmp -s "$1.ptx" "$1.wrong.ptx" && fail "$1: nothing to edit"
    "$heddle" compile "$1.wrong.ptx" -o "$1.wrong.cubin" || fail "$1.wrong.ptx"
    "$heddle" validate "$1.ptx" "$1.wrong.cubin" --launch auto >"$1.wrong.report"
    grep -q "^$1: differs" "$1.wrong.report" || fail "$1: wrong code is not found: $(head -3 "$1.wrong.report")"
}
# the launch of a kernel says so of a buffer, and is read again
holds() {
    tried "$1" || return 0
    grep -q "$2" "$1.json" || fail "$1 has no $2: $(grep init "$1.json" | head -3)"
    # addresses follow from names: a buffer before the others moves them all
    sed '0,/"buffers"[^{]*{/s//&"before": {"type": "u8", "count": 70000},/' "$1.json" >"$1.moved.json"
    "$heddle" validate "$1.ptx" --launch "$1.moved.json" >"$1.again" || fail "$1.json: $(head -3 "$1.again")"
}
thread='mov.u32 %x, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %y, %ntid.x; mad.lo.s32 %i, %j, %y, %x;'
out='ld.param.u64 %b, [b]; mul.wide.u32 %o, %i, 4; add.s64 %b, %b, %o;'
sum='mov.u32 %k, 0; L: setp.ge.u32 %p, %k, %n; @%p bra ON; mul.wide.u32 %o, %k, 4; add.s64 %o, %c, %o; ld.global.f32 %g, [%o];
fma.rn.f32 %f, %g, 0f3FC00000, %f; add.u32 %k, %k, 1; bra L; ON: st.global.f32 [%b], %f;'

# struct { float *data; unsigned n; float first; } of each thread
kernel structs '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 24; add.s64 %a, %a, %o;
ld.global.u64 %c, [%a+8]; ld.global.u32 %n, [%a+16]; ld.global.f32 %f, [%a+20]; $sum" equal 'a+20' 'a+4'
holds structs 'records:24,8:u64:pointers:.*16:u32:random:[0-9]*:0:[0-9]*,20:f32:random'
# struct { unsigned n; ... half first; } of each thread: what is smaller than the number that is made of it
kernel halves '.param .u64 a, .param .u64 b, .param .u64 c' "$thread $out .reg .b16 %h; ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 36;
add.s64 %a, %a, %o; ld.param.u64 %c, [c]; ld.global.u32 %n, [%a]; ld.global.u16 %h, [%a+34]; cvt.f32.f16 %f, %h; $sum" equal 'a+34' 'a+32'
# one struct that a parameter points to, with a pointer to another, by a pointer into the middle and negative offsets
kernel nested '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; add.s64 %a, %a, 32; ld.global.u64 %c, [%a+-24];
ld.global.v2.u32 {%n, %k}, [%a+-8]; setp.ge.u32 %p, %i, %k; @%p bra END; ld.global.u64 %c, [%c+16]; ld.global.f32 %f, [%a]; $sum" equal \
    'f32 %f, \[%a\]' 'f32 %f, [%a+4]'
holds nested 'pointers:.*\*a.8.16'
# a pointer in a record is 0
kernel absent '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; ld.global.u64 %c, [%a+8]; setp.ne.u64 %p, %c, 0; @%p bra END;
ld.global.f32 %f, [%a+16]; add.f32 %f, %f, 0f3FC00000; st.global.f32 [%b], %f;" equal 'a+16' 'a+20'
# a size and numbers, no pointer: one record, read by constant offsets alone
kernel mixed '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; ld.global.u32 %n, [%a+12]; setp.ge.s32 %p, %i, %n; @%p bra END;
ld.global.f32 %f, [%a+4]; ld.global.f32 %g, [%a+20]; cvt.rn.f32.s32 %f, %n; fma.rn.f32 %f, %f, %g, %g; st.global.f32 [%b], %f;" equal \
    'a+20' 'a+24'
# a list, which ends
kernel list '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; mov.f32 %f, 0f00000000;
L: ld.global.f32 %g, [%a]; add.f32 %f, %f, %g; ld.global.u64 %a, [%a+8]; setp.ne.u64 %p, %a, 0; @%p bra L; st.global.f32 [%b], %f;" equal \
    'add.f32 %f, %f, %g' 'sub.f32 %f, %f, %g'
# a distance of 8 bytes that is added to a pointer is none
kernel distance '.param .u64 a, .param .u64 b, .param .u64 c' "$thread $out ld.param.u64 %a, [a]; ld.param.u64 %c, [c]; mul.wide.u32 %o, %i, 64;
add.s64 %a, %a, %o; add.s64 %o, %a, %c; add.s64 %o, %o, %c; ld.global.f64 %d, [%a]; cvt.rn.f32.f64 %f, %d; ld.global.f64 %d, [%o];
cvt.rn.f32.f64 %g, %d; fma.rn.f32 %f, %f, %f, %g; st.global.f32 [%b], %f;" equal 'fma.rn.f32 %f, %f, %f, %g' 'fma.rn.f32 %f, %f, %g, %g'
# blocks of 96 threads, which only the loop tells: others leave words that somebody reads as nobody wrote them
kernel steps '.param .u64 a, .param .u64 b' ".shared .b32 s[384]; $thread $out ld.param.u64 %a, [a]; mov.u32 %k, %x;
L: mul.wide.u32 %o, %k, 4; add.s64 %o, %a, %o; ld.global.u32 %n, [%o]; shl.b32 %y, %k, 2; mov.u32 %j, s; add.u32 %y, %y, %j;
st.shared.u32 [%y], %n; add.u32 %k, %k, 96; setp.lt.u32 %p, %k, 384; @%p bra L; bar.sync 0; xor.b32 %k, %x, 351; sub.u32 %k, 383, %x;
shl.b32 %y, %k, 2; add.u32 %y, %y, %j; ld.shared.u32 %n, [%y]; st.global.u32 [%b], %n;" equal '383, %x' '382, %x'
# a shuffle from lanes that take no part, whose value is not used; and one whose value is
lanes='and.b32 %j, %x, 15; setp.ge.u32 %p, %j, 5; @%p bra END; shfl.sync.down.b32 %n, %j, 1, 31, 0x001f001f; setp.ge.u32 %q, %j, 4;'
kernel spared '.param .u64 b' ".reg .b32 %z; $thread $out $lanes add.u32 %z, %i, %n; selp.u32 %z, %i, %z, %q; st.global.u32 [%b], %z;" equal \
    'add.u32 %z, %i' 'add.u32 %z, %j'
kernel taken '.param .u64 b' ".reg .b32 %z; $thread $out $lanes add.u32 %z, %i, %n; st.global.u32 [%b], %z;" undefined
kernel numbers '.param .u64 b' "$thread $out and.b32 %j, %x, 15; setp.ge.u32 %p, %j, 5; @%p bra END; mov.b32 %f, %j; shfl.sync.down.b32 %g, %f, 1, 31, 0x001f001f;
setp.nan.f32 %q, %g, %g; selp.u32 %y, 1, %i, %q; st.global.u32 [%b], %y;" undefined
# more than a million instructions of one warp
kernel long '.param .u64 b' "$thread $out mov.u32 %k, 0; mov.u32 %n, %i; L: mad.lo.u32 %n, %n, 1664525, %k; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 20000;
@%p bra L; setp.gt.u32 %q, %n, %i; @%q bra G; add.u32 %n, %n, 1; G: st.global.u32 [%b], %n;" equal 1664525 1664524
# a size that must be a multiple, or the kernel traps
kernel refused '.param .u64 b, .param .u32 n' "$thread $out ld.param.u32 %n, [n]; and.b32 %y, %n, 255; setp.ne.s32 %p, %y, 0; @%p bra BAD; mad.lo.u32 %y, %i, %n, %n;
setp.gt.u32 %q, %i, 9; @%q bra G; add.u32 %y, %y, 1; G: st.global.u32 [%b], %y; bra END; BAD: trap;" equal '%n, %n' '%n, %i'
# ... and whose warps have so much to do that few attempts end; less than one warp does the same row again and again
kernel busy '.param .u64 b, .param .u32 n, .param .u32 c, .param .u32 d, .param .u32 e, .param .u32 f, .param .u32 g' ".reg .b32 %w, %z; $thread $out
ld.param.u32 %n, [n]; and.b32 %y, %n, 255; setp.ne.s32 %p, %y, 0; @%p bra BAD; ld.param.u32 %k, [c];
$(for size in d e f g; do echo "ld.param.u32 %y, [$size]; mul.lo.u32 %k, %k, %y;"; done) mov.u32 %j, %ntid.x; shr.u32 %j, %j, 5; mov.u32 %y, %i; mov.u32 %z, 0;
ROW: mov.u32 %w, 0; L: mad.lo.u32 %y, %y, 1664525, %w; add.u32 %w, %w, 64; setp.lt.s32 %p, %w, %n; @%p bra L; add.u32 %z, %z, %j; setp.lt.s32 %p, %z, %k; @%p bra ROW;
st.global.u32 [%b], %y; bra END; BAD: trap;" equal 1664525 1664524
# a lock, which must be free at the beginning
kernel lock '.param .u64 a, .param .u64 b' ".reg .b32 %z; $thread ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; setp.ne.u32 %p, %x, 0; @%p bra END; mov.u32 %z, 0;
L: atom.acquire.gpu.global.cas.b32 %n, [%a], %z, 1; setp.ne.u32 %p, %n, 0; @%p bra L; ld.global.u32 %k, [%b]; add.u32 %k, %k, 5;
st.global.u32 [%b], %k; atom.release.gpu.global.exch.b32 %n, [%a], 0;" equal '%k, 5' '%k, 6'
# a way for tiles whose rows lie side by side and are multiples of 16 bytes; and the loop that a block of 256 never enters
kernel tile '.param .u64 a, .param .u64 b, .param .u32 n, .param .u32 m' "$thread $out ld.param.u64 %a, [a]; ld.param.u32 %n, [n]; ld.param.u32 %k, [m];
shl.b32 %y, %n, 3; setp.eq.s32 %p, %k, %y; and.b32 %y, %k, 15; setp.eq.s32 %q, %y, 0; and.pred %p, %p, %q; @!%p bra END;
mul.wide.u32 %o, %x, 8; add.s64 %a, %a, %o; ld.global.u32 %k, [%a]; max.s32 %y, %x, -248; add.s32 %y, %y, 255; sub.s32 %y, %y, %x;
setp.lt.u32 %p, %y, 768; @%p bra ON; L: add.s32 %k, %k, 3; setp.lt.s32 %q, %k, 9; @%q bra L; ON: mad.lo.u32 %k, %k, 5, %n;
add.s32 %x, %x, 256; setp.lt.u32 %p, %x, 256; @%p bra END; st.global.u32 [%b], %k;" equal '5, %n' '5, %x'
# an array of pointers inside of a parameter, of which the thread chooses one; and one of sizes behind it
kernel choice '.param .align 8 .b8 a[96], .param .u64 b' "$thread $out mov.b64 %c, a; and.b32 %k, %x, 7; mul.wide.u32 %o, %k, 8; add.s64 %a, %c, %o; ld.param.u64 %a, [%a];
mul.wide.u32 %o, %k, 4; add.s64 %o, %c, %o; ld.param.u32 %n, [%o+64]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; ld.global.u32 %y, [%a];
mad.lo.u32 %y, %n, 5, %y; st.global.u32 [%b], %y;" equal '%n, 5' '%n, 6'
holds choice '\[ *"choice.1.a",'
# a large structure, of which a field points to an array of pointers with fields behind it
kernel far '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; ld.global.u64 %c, [%a+36000]; ld.global.f32 %f, [%a+36008]; ld.global.u32 %n, [%c+65536];
and.b32 %k, %x, 7; mul.wide.u32 %o, %k, 8; add.s64 %o, %c, %o; ld.global.u64 %a, [%o]; ld.global.u64 %c, [%c+65544]; $sum ld.global.u32 %y, [%a]; add.s32 %y, %y, %i;
st.global.u32 [%b], %y;" equal "add.s32 %y, %y, %i" "add.s32 %y, %y, %n"
holds far 'records:65552,\*:u64:pointers:[^,]*,65536:u32:random'
# a word of memory that is to be the address of another buffer
kernel self '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.global.u64 %c, [%a+8]; setp.ne.u64 %p, %c, %b; @%p bra END;
ld.global.u32 %n, [%a]; add.s64 %b, %b, %o; setp.gt.u32 %p, %n, %i; @%p bra G; add.u32 %n, %n, 7; G: st.global.u32 [%b], %n;" equal '%n, 7' '%n, 6'
holds self '@8:u64:pointers:self.[0-9].b+0:0'
# a double whose upper word is in a narrow range, as libraries ask for an exponent; and one that is put together of words
kernel exponent '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 8; add.s64 %a, %a, %o; ld.global.f64 %d, [%a]; mov.b64 {%n, %k}, %d;
and.b32 %k, %k, 0x7fffffff; setp.lt.u32 %p, %k, 0x4086232b; @%p bra END; setp.gt.u32 %p, %k, 0x40862330; @%p bra END; mov.b64 %d, {%n, %k}; mul.f64 %d, %d, 0d3FE0000000000000;
setp.lt.f64 %p, %d, 0d40761195B0000000; @%p bra G; add.u32 %n, %n, 7; G: st.global.u32 [%b], %n;" equal '%n, 7' '%n, 6'
# numbers of 64 bits that are read by words, as vectors are: random words are no numbers
kernel words '.param .u64 a, .param .u64 b' ".shared .b64 s[256]; $thread $out ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 8; add.s64 %a, %a, %o; ld.global.v2.u32 {%k, %n}, [%a];
shl.b32 %j, %x, 3; mov.u32 %y, s; add.u32 %j, %j, %y; st.shared.v2.u32 [%j], {%k, %n}; ld.shared.f64 %d, [%j]; fma.rn.f64 %d, %d, %d, %d; cvt.rn.f32.f64 %f, %d; st.global.f32 [%b], %f;" equal \
    'fma.rn.f64 %d, %d, %d, %d' 'add.rn.f64 %d, %d, %d'
holds words '"f64"'
# what threads store at places that memory holds: no two are the same. Positions of bits, 32 of which are a word
kernel scatter '.param .u64 a, .param .u64 b' "$thread ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; ld.global.u32 %k, [%a];
shr.u32 %n, %k, 5; mul.wide.u32 %o, %n, 4; add.s64 %b, %b, %o; add.u32 %y, %i, %k; st.global.u32 [%b], %y;" equal 'add.u32 %y, %i' 'sub.u32 %y, %i'
holds scatter 'iota:0:64'
# a number that equals its neighbour
kernel edge '.param .u64 a, .param .u64 b' "$thread $out ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; ld.global.f32 %f, [%a]; ld.global.f32 %g, [%a+4];
setp.neu.f32 %p, %f, %g; @%p bra END; ld.global.f32 %g, [%a+64]; setp.neu.f32 %p, %f, %g; @%p bra END; setp.eq.f32 %p, %f, 0f00000000; @%p bra N; add.u32 %i, %i, 7; setp.gt.f32 %p, %f, 0f00000000; @%p bra N; add.u32 %i, %i, 9;
N: st.global.u32 [%b], %i;" equal '%i, 9' '%i, 8'
# bytes of what memory holds, chosen by permutation or as a field, are an index: the words have all their bits
kernel bytes '.param .u64 a, .param .u64 b' ".shared .b32 s[256]; $thread $out ld.param.u64 %a, [a]; shl.b32 %j, %x, 2; mov.u32 %y, s; add.u32 %j, %j, %y; st.shared.u32 [%j], %x; st.shared.u32 [%j+512], %i; bar.sync 0; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; ld.global.u32 %k, [%a];
mov.u32 %n, 0; prmt.b32 %j, %k, %n, 0x4442; and.b32 %j, %j, 127; shl.b32 %j, %j, 2; add.u32 %j, %j, %y; ld.shared.u32 %x, [%j]; bfe.u32 %j, %k, 9, 7; shl.b32 %j, %j, 2; add.u32 %j, %j, %y; ld.shared.u32 %n, [%j];
xor.b32 %x, %x, %k; add.u32 %x, %x, %n; st.global.u32 [%b], %x;" equal 'xor.b32 %x' 'or.b32 %x'
tried bytes && grep -q '"random:[0-9]*:0:' bytes.json && fail "bytes: numbers that are small"
# sums of products see few subnormal operands and NaNs unless the data are made for that
chain=
for k in $(seq 0 4 124); do chain+="ld.global.f32 %g, [%a+$k]; mul.f32 %g, %g, %g; mul.f32 %g, %g, 0f3F400000; fma.rn.f32 %f, %g, %f, %f; add.f32 %f, %f, 0f00000000;"; done
kernel chain '.param .u64 a, .param .u64 b, .param .f32 c' "$thread $out ld.param.u64 %a, [a]; ld.param.f32 %f, [c]; $chain st.global.f32 [%b], %f;" equal \
    '3F400000' '3F000000'
# the least number of all, and the last of each, that compare-and-swap and exchange put where memory has 64 bits
kernel least '.param .u64 a, .param .u64 b' ".reg .f64 %e; $thread ld.param.u64 %b, [b]; and.b32 %k, %i, 3; mul.wide.u32 %o, %k, 8; add.s64 %b, %b, %o; ld.param.u64 %a, [a];
mul.wide.u32 %o, %i, 8; add.s64 %a, %a, %o; ld.global.f64 %d, [%a]; ld.volatile.global.u64 %a, [%b]; L: mov.b64 %e, %a; min.f64 %e, %e, %d; mov.b64 %c, %e;
atom.global.cas.b64 %o, [%b], %a, %c; setp.ne.s64 %p, %o, %a; mov.u64 %a, %o; @%p bra L;" equal min.f64 max.f64
kernel last '.param .u64 a, .param .u64 b' "$thread ld.param.u64 %b, [b]; ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 8; add.s64 %a, %a, %o; add.s64 %b, %b, %o;
ld.global.f64 %d, [%a]; add.f64 %d, %d, %d; mov.b64 %c, %d; atom.global.exch.b64 %o, [%b], %c;" equal 'add.f64 %d' 'mul.f64 %d'
for k in least last; do
    holds $k '"f64"'
    grep -q '"u64"' $k.json && fail "$k: numbers of 64 bits are integers"
done
# a pointer that the host puts into a variable, which nobody else writes
for space in global const; do
    variables=".$space .u64 table;"
    kernel ${space}_pointer '.param .u64 b, .param .u32 n' "$thread $out ld.param.u32 %n, [n]; setp.ge.s32 %p, %i, %n; @%p bra END; ld.$space.u64 %c, [table];
add.s64 %c, %c, %o; ld.global.f32 %f, [%c]; add.f32 %f, %f, 0f3F800000; st.global.f32 [%b], %f;" equal 0f3F800000 0f3F800001
done
variables=
exit $failed
