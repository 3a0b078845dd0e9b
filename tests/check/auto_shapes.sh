#!/bin/bash
# heddle validate --launch auto of kernels that are made for blocks of one shape, for rows that lie apart, or for much dynamic
# shared memory: a launch is found in which they do what their authors meant. One that races whatever its shape is racy.
#   auto_shapes.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/auto.sh"

# kernel NAME VARIABLES PARAMETERS BODY VERDICT: its verdict begins with VERDICT
kernel() {
    mine || return 0
    begin "$1" "$2" "$3" '.reg .b64 %a, %o; .reg .b32 %i, %j, %n, %x, %y; .reg .pred %p;'
    printf '%s\nret;\n}\n' "$4" >>"$1.ptx"
    verdict "$1" "$5"
}
# the launches of kernel NAME have blocks of so many threads in x, at least one of them
has_block() { ! tried "$1" || tr -d ' \t\n' <"$1.json" | grep -q "\"block\":.$2,1,1." || fail "$1: no block of $2 threads"; }
index='mov.u32 %x, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.s32 %i, %j, %n, %x; mul.wide.u32 %o, %i, 4;
ld.param.u64 %a, [a]; add.s64 %a, %a, %o;'
put='shl.b32 %j, %x, 2; mov.u32 %y, s; add.s32 %j, %y, %j; st.shared.u32 [%j], %i; bar.sync 0;'
get='shl.b32 %j, %x, 2; add.s32 %j, %y, %j; ld.shared.u32 %x, [%j]; st.global.u32 [%a], %x;'

# what the thread at the other end of 1,024 stored: in a smaller block nobody did
kernel mirror '.shared .b32 s[1024];' '.param .u64 a' "$index $put xor.b32 %x, %x, 1023; $get" equal
has_block mirror 1024
# a block of 2 * 4 threads at most, which the block index tells; that of the results has 4 bytes and tells nothing
kernel narrow '.shared .b32 s[1024];' '.param .u64 a' "$index mul.lo.s32 %i, %j, 8; add.s32 %i, %i, %x; setp.gt.u32 %p, %x, 7; @%p trap;
$put xor.b32 %x, %x, 7; shl.b32 %j, %x, 2; add.s32 %j, %y, %j; ld.shared.u32 %x, [%j]; mov.u32 %j, %ctaid.x; ld.param.u64 %a, [a];
mul.wide.u32 %o, %j, 4; add.s64 %a, %a, %o; mov.u32 %j, %tid.x; setp.eq.u32 %p, %j, 0; @%p st.global.u32 [%a], %x;" equal
has_block narrow 8
# rows of a pitch in bytes, of elements of 16 bytes
kernel rows '' '.param .u64 a, .param .u32 pitch' "$index mul.lo.u64 %o, %o, 3; add.s64 %a, %a, %o; ld.param.u32 %n, [pitch]; mov.u32 %x, 0;
L: st.global.u32 [%a], %i; st.global.u32 [%a+4], %i; st.global.u32 [%a+8], %i; st.global.u32 [%a+12], %i; cvt.u64.u32 %o, %n; add.s64 %a, %a, %o; add.s64 %a, %a, 16; add.s32 %x, %x, 1; xor.b32 %i, %i, %x; setp.lt.u32 %p, %x, 4; @%p bra L;" equal
# 100 KiB of dynamic shared memory
kernel large '.extern .shared .align 4 .b32 s[];' '.param .u64 a' "$index $put ld.shared.u32 %y, [%j]; st.shared.u32 [%j+100000], %y;
ld.shared.u32 %x, [%j+100000]; st.global.u32 [%a], %x;" equal
# shared memory without a variable, from address 0 on, as Halide has it
kernel nameless '' '.param .u64 a' "$index shl.b32 %j, %x, 2; st.shared.u32 [%j], %i; bar.sync 0; xor.b32 %j, %j, 4; ld.shared.u32 %x, [%j]; st.global.u32 [%a], %x;" equal
# threads have a number in y, which they do not number themselves by: they are meant to lie in a row, and blocks too
kernel row '' '.param .u64 a' "$index mov.u32 %y, %tid.y; mov.u32 %n, %ctaid.y; add.s32 %y, %y, %n; mad.lo.s32 %y, %y, 3, %i; st.global.u32 [%a], %y;" equal
has_block row 128
! tried row || grep -q 'launches tried have races, all in blocks of several rows' row.report || fail "row: who races is not said: $(head -1 row.report)"
# so many threads as a table in shared memory has words, which is less than a warp
kernel few '.shared .b32 s[16];' '.param .u64 a' "$index $put xor.b32 %x, %x, 15; $get" equal
has_block few 16
# of a block of 64 x N rows of 64 are what the kernel asks for, however many there are
kernel asked '.shared .b32 s[256];' '.param .u64 a' "mov.u32 %x, %ntid.x; setp.ne.u32 %p, %x, 64; @%p trap; mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; shl.b32 %i, %y, 6; add.u32 %i, %i, %x; mov.u32 %n, %ctaid.x; mov.u32 %j, %ntid.y; mul.lo.u32 %j, %j, %n; shl.b32 %j, %j, 6; shl.b32 %n, %i, 2; mov.u32 %y, s; add.u32 %y, %y, %n; st.shared.u32 [%y], %i; add.u32 %i, %i, %j; bar.sync 0; ld.shared.u32 %n, [%y];
ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %n;" equal
# neighbours exchange without a barrier, in blocks of any shape
kernel racing '.shared .b32 s[1024];' '.param .u64 a' "$index shl.b32 %j, %x, 2; mov.u32 %y, s; add.s32 %j, %y, %j; st.shared.u32 [%j], %i;
xor.b32 %x, %x, 1; $get" racy
# every thread stores its number at one place
kernel one_place '' '.param .u64 a' 'mov.u32 %i, %tid.x; ld.param.u64 %a, [a]; st.global.u32 [%a], %i;' racy
# a matrix product's tile of 32 x 32: one block of it, whose rows are as long as the block
kernel square '.shared .b32 s[1024];' '.param .u64 a, .param .u32 pitch' "mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %j, %ctaid.x; shl.b32 %j, %j, 5; add.s32 %i, %x, %j;
mov.u32 %j, %ctaid.y; shl.b32 %j, %j, 5; add.s32 %j, %j, %y; ld.param.u32 %n, [pitch]; mad.lo.s32 %i, %j, %n, %i; mul.wide.u32 %o, %i, 4; ld.param.u64 %a, [a]; add.s64 %a, %a, %o;
shl.b32 %j, %y, 5; add.s32 %j, %j, %x; shl.b32 %j, %j, 2; mov.u32 %n, s; add.s32 %j, %n, %j; st.shared.u32 [%j], %i; bar.sync 0;
shl.b32 %j, %x, 5; add.s32 %j, %j, %y; shl.b32 %j, %j, 2; add.s32 %j, %n, %j; ld.shared.u32 %x, [%j]; st.global.u32 [%a], %x;" equal
# the first warp hands numbers over to the rest of a row, turn by turn: in a smaller block there is no rest, and an mbarrier waits
# for nobody, which PTX leaves undefined; many turns take longer than is waited for
kernel handed '.shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .b32 s[32];' '.param .u64 a, .param .u32 turns' ".reg .b32 %w, %h, %t; .reg .b64 %z; .reg .pred %q;
mov.u32 %i, %tid.x; mov.u32 %j, %ntid.x; mov.u32 %y, %tid.y; mov.u32 %t, %ntid.y; mad.lo.s32 %y, %y, %j, %i; mul.lo.s32 %t, %t, %j;
ld.param.u64 %a, [a]; ld.param.u32 %n, [turns]; min.u32 %x, %t, 32; sub.u32 %t, %t, %x;
setp.ne.u32 %p, %y, 0; @%p bra M; mbarrier.init.shared.b64 [full], %x; mbarrier.init.shared.b64 [empty], %t; M: bar.sync 0;
mov.u32 %x, 0; mov.u32 %t, 0; setp.gt.u32 %p, %i, 31; @%p bra C;
P: setp.ge.u32 %p, %x, %n; @%p bra END; mov.u32 %w, 0;
D: add.u32 %w, %w, 1; setp.lt.u32 %q, %w, 200; @%q bra D; and.b32 %h, %x, 1; xor.b32 %h, %h, 1;
E: mbarrier.test_wait.parity.shared.b64 %q, [empty], %h; @!%q bra E;
shl.b32 %w, %i, 2; mov.u32 %j, s; add.u32 %j, %j, %w; mad.lo.u32 %w, %x, 3, %i; st.shared.u32 [%j], %w; mbarrier.arrive.shared.b64 %z, [full]; add.u32 %x, %x, 1; bra P;
C: setp.ge.u32 %p, %x, %n; @%p bra F; and.b32 %h, %x, 1;
G: mbarrier.test_wait.parity.shared.b64 %q, [full], %h; @!%q bra G;
and.b32 %w, %i, 31; shl.b32 %w, %w, 2; mov.u32 %j, s; add.u32 %j, %j, %w; ld.shared.u32 %w, [%j]; add.u32 %t, %t, %w; mbarrier.arrive.shared.b64 %z, [empty]; add.u32 %x, %x, 1; bra C;
F: mul.wide.u32 %o, %y, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %t; END:" equal
# two warps copy a half each of what an mbarrier object waits for: as boxes of all of it the copies race, or leave the variable
halves() { # NAME BYTES: of the variable
    printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry %s(.param .align 64 .b8 map[128], .param .u64 a)\n.reqntid 64\n' "$1"
    printf '{ .shared .align 128 .b8 tile[%s];\n' "$2"
    cat <<'P'
.reg .b64 %a, %o, %m; .reg .b32 %i, %w, %l, %s, %x, %b, %y; .reg .pred %p, %q; .shared .align 8 .b64 full;
mov.u32 %i, %tid.x; shr.u32 %w, %i, 5; and.b32 %l, %i, 31; mov.u32 %b, full; mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %a, [a];
setp.eq.u32 %p, %i, 0; @%p mbarrier.init.shared.b64 [%b], 1; bar.sync 0; @%p mbarrier.arrive.expect_tx.shared.b64 _, [%b], 4096; bar.sync 0;
mov.u32 %s, tile; shl.b32 %x, %w, 11; add.u32 %s, %s, %x; shl.b32 %x, %w, 4; mov.u32 %y, 0; setp.eq.u32 %q, %l, 0;
@%q cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%m, {%x, %y}], [%b];
L: mbarrier.try_wait.parity.shared.b64 %q, [%b], 0; @!%q bra L;
mov.u32 %s, tile; shl.b32 %x, %i, 6; add.u32 %s, %s, %x; ld.shared.u32 %x, [%s+4]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %x;
ret; }
P
}
for bytes in 8192 4096; do
    halves "halves$bytes" $bytes >halves$bytes.ptx
    verdict "halves$bytes" equal
done
# threads in one axis, blocks in three: sixteen threads do not do the same
kernel thin '' '.param .u64 a' "mov.u32 %x, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %n, %ctaid.z; shl.b32 %n, %n, 8; shl.b32 %y, %y, 7; add.s32 %y, %y, %n; shl.b32 %j, %j, 9;
add.s32 %i, %x, %y; add.s32 %i, %i, %j; ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %i;" equal
has_block thin 512
# eight bits of what memory holds are an index of a table: the words have all their bits
kernel table '.global .b32 t[256];' '.param .u64 a, .param .u64 b' "$index ld.param.u64 %o, [b]; mul.wide.u32 %a, %i, 8; add.s64 %o, %o, %a; ld.global.u32 %x, [%o]; ld.global.u32 %y, [%o+4]; shr.u32 %j, %x, 24;
mul.wide.u32 %o, %j, 4; mov.u64 %a, t; add.s64 %a, %a, %o; ld.global.u32 %j, [%a]; and.b32 %n, %y, 255; mul.wide.u32 %o, %n, 4; mov.u64 %a, t; add.s64 %a, %a, %o; ld.global.u32 %n, [%a]; add.s32 %j, %j, %n;
mul.hi.s32 %x, %x, %y; add.s32 %x, %x, %j; ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %x;" equal
tried table && tr -d ' \t\n' <table.json | grep -q '"random:[0-9]*:0:' && fail "table: numbers that are small"
# more turns than an attempt may take with a warp, which must be whole: it gets more of them, not fewer lanes
kernel whole '' '.param .u64 a' "$index mov.u32 %n, 0; L: add.s32 %n, %n, 1; setp.lt.u32 %p, %n, 12000; @%p bra L; movmatrix.sync.aligned.m8n8.trans.b16 %y, %i;
add.s32 %y, %y, %n; st.global.u32 [%a], %y;" equal
# the handles of a texture and a surface in registers, as LLVM has them
kernel handles '.global .texref t; .global .surfref s;' '.param .u64 a' "$index .reg .b64 %h<2>; mov.u64 %h0, t; tex.1d.v4.u32.s32 {%x, %y, %n, %j}, [%h0, {%i}]; mov.u64 %h1, s; suld.b.1d.b32.zero {%y}, [%h1, {0}];
add.s32 %x, %x, %y; st.global.u32 [%a], %x;" equal
# blocks of 4 x 8 threads, which the kernel asserts; 64 times the block's number are no threads
kernel asserted '' '.param .u64 a' "mov.u32 %x, %ntid.x; setp.ne.u32 %p, %x, 4; @%p trap; mov.u32 %y, %ntid.y; setp.ne.u32 %p, %y, 8; @%p trap;
mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mad.lo.s32 %i, %y, 4, %x; mov.u32 %j, %ctaid.x; mad.lo.s32 %i, %j, 64, %i; ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %i;" equal
# four rows of 256 threads, 1,024 results of a block: in rows of another length threads store to the same places
kernel long_rows '.shared .b32 s[1024];' '.param .u64 a' "mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; shl.b32 %i, %y, 8; add.s32 %x, %i, %x; mov.u32 %j, %ctaid.x; shl.b32 %j, %j, 10; add.s32 %i, %x, %j;
ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; shl.b32 %j, %x, 2; mov.u32 %y, s; add.s32 %j, %y, %j; st.shared.u32 [%j], %i; bar.sync 0; xor.b32 %x, %x, 768; $get" equal
! tried long_rows || tr -d ' \t\n' <long_rows.json | grep -q '"block":.256,4,1.' || fail "long_rows: no rows of 256 threads"
# the block that counts to the last one goes on, and the count lies behind sums of floating-point numbers: who adds begins with 0
kernel last '.shared .b32 s;' '.param .u64 a, .param .u64 b' "$index .reg .f32 %f; cvt.rn.f32.u32 %f, %x; red.global.add.f32 [%a], %f; fence.acq_rel.gpu; bar.sync 0; setp.ne.u32 %p, %x, 0; @%p bra ALL;
ld.param.u64 %o, [a]; atom.global.add.u32 %j, [%o+32768], 1; st.shared.u32 [s], %j; ALL: bar.sync 0; ld.shared.u32 %j, [s]; mov.u32 %y, %nctaid.x; sub.s32 %y, %y, 1; setp.ne.u32 %p, %j, %y; @%p bra END;
ld.param.u64 %a, [b]; mul.wide.u32 %o, %x, 4; add.s64 %a, %a, %o; ld.global.u32 %y, [%a]; setp.gt.s32 %p, %y, 70; @%p bra MORE; add.s32 %y, %y, 5; MORE: shl.b32 %y, %y, 1; st.global.u32 [%a], %y; END:" equal
! tried last || tr -d ' \t\n' <last.json | grep -q '"init":"zero"' || fail "last: no sums that begin with 0"
# more numbers than there are in a set of 64; the last one counts
parameters= sum=
for k in $(seq 100); do
    parameters+=", .param .u32 p$k" sum+="ld.param.u32 %y, [p$k]; add.s32 %i, %i, %y;"
done
kernel many '' ".param .u64 a$parameters" "$index $sum ld.param.u32 %y, [p100]; setp.ge.u32 %p, %x, %y; @%p bra END; st.global.u32 [%a], %i; END:" equal
# ... and more than there is room for
for k in $(seq 101 140); do
    parameters+=", .param .u32 p$k"
done
kernel too_many '' ".param .u64 a$parameters" "$index $sum ld.param.u32 %y, [p140]; add.s32 %i, %i, %y; st.global.u32 [%a], %i;" equal
# what a thread prints that the next one stored, eight to a tile: in a block that is no whole tile nobody has stored it
kernel prints '.shared .b32 s[1040]; .global .align 4 .b8 format[4] = {37, 117, 10, 0}; .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);' '' "
.local .align 8 .b32 v; mov.u32 %i, %tid.x; shl.b32 %j, %i, 2; mov.u32 %y, s; add.s32 %j, %y, %j; st.shared.u32 [%j], %i; bar.sync 0; and.b32 %x, %i, 7; setp.eq.u32 %p, %x, 7; @%p bra END;
ld.shared.u32 %n, [%j+4]; st.local.u32 [v], %n; mov.u64 %a, v; cvta.local.u64 %a, %a; mov.u64 %o, format; cvta.global.u64 %o, %o;
{ .param .b64 f; .param .b64 w; .param .b32 r; st.param.b64 [f], %o; st.param.b64 [w], %a; call.uni (r), vprintf, (f, w); } END:" equal
# all that it does is to trap
kernel stub '' '' 'trap;' 'equal: .*trap instruction'
# ... and to print before; the file has functions that another kernel calls, and whose address nobody takes
kernel loud '.global .align 4 .b8 format[4] = {104, 105, 10, 0}; .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);
.visible .entry other(.param .u64 a) { .reg .b64 %a; .reg .f32 %f<3>; ld.param.u64 %a, [a]; ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%a+4]; div.rn.f32 %f1, %f1, %f2; st.global.f32 [%a], %f1; ret; }' '' \
    'mov.u64 %o, format; cvta.global.u64 %o, %o; mov.u64 %a, 0; { .param .b64 f; .param .b64 w; .param .b32 r; st.param.b64 [f], %o; st.param.b64 [w], %a; call.uni (r), vprintf, (f, w); } trap;' 'equal: .*trap instruction'
# all threads store one value, as long as what nobody wrote is zero
kernel zeros '.extern .shared .align 4 .b8 s[];' '.param .u64 a' 'ld.param.u64 %a, [a]; mov.u32 %x, %tid.x; shl.b32 %j, %x, 2; mov.u32 %y, s; add.s32 %j, %y, %j; mov.u32 %n, 0;
st.shared.u32 [%j], %n; bar.sync 0; ld.shared.u32 %i, [%j+88]; st.global.u32 [%a], %i;' 'undefined: .*the result depends on what nobody wrote'
# all was executed, and nothing of it stores; a store that is not executed may be wrong
kernel empty '' '' '' 'equal: .*nothing is stored'
kernel guarded '' '.param .u64 a' 'mov.u32 %i, %tid.x; ld.param.u64 %a, [a]; setp.eq.u32 %p, %i, 0xffffffff; @%p st.global.u32 [%a], %i;' \
    'little covered: .*nothing is stored'
# a sum by halves whose rounds lack a barrier: of one warp or two it is right all the same
if mine; then
    sum=$(dirname "$0")/../../ptx-samples/reduce.ptx
    "$heddle" compile -t sm_80 "$sum" -o sum.cubin && "$heddle" disasm --sections sum.cubin >sum.sass
    [ "$(grep -c 'BAR.SYNC' sum.sass)" = 2 ] || fail "reduce has other barriers"
    for line in $(grep -n 'BAR.SYNC' sum.sass | cut -d: -f1); do
        sed "${line}s/BAR.SYNC[^;]*;/NOP ;/" sum.sass >less.sass
        "$heddle" asm less.sass -o less.cubin || fail "reduce less a barrier does not assemble"
        "$heddle" validate "$sum" less.cubin --launch auto --no-trace >less.report
        [ $? = 4 ] && grep -q '^reduce: differs' less.report || { fail "reduce less a barrier"; head -1 less.report; }
    done
fi
[ $failed = 0 ] && echo "all as expected"
exit $failed
