#!/bin/bash
# heddle validate against code that has lost the value that something begins with: of each kernel below, every instruction that
# makes a zero (a register's, a predicate's, of shared or local memory) becomes a NOP, one at a time. Each begins a sum or a
# flag that is stored, so every such binary is wrong wherever registers and memory do not happen to be zero. (Loops stay:
# of straight code the zero goes.)
#   lost_start.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0 lost=0

# kernel NAME PATTERN BODY: %i is the thread, %a and %b the addresses of its word in two buffers; the zeros are what PATTERN matches
kernel() {
    local line target n=0
    cat >"$1.ptx" <<P
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 at) malloc(.param .b64 bytes);
.visible .entry $1(.param .u64 a, .param .u64 b)
.maxntid 64
{
  .reg .b64 %a, %b, %o; .reg .b32 %i, %n, %x, %y, %s; .reg .f32 %f, %g; .reg .f64 %d, %e; .reg .b64 %w; .reg .pred %p, %q;
  .shared .b32 tile[64]; .local .b32 own[4];
  mov.u32 %i, %tid.x; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mul.wide.u32 %o, %i, 8; add.s64 %a, %a, %o; add.s64 %b, %b, %o;
  mov.u32 %n, 5;
  $3
  ret;
}
P
    for target in bru1 sm_80 sm_90; do
        "$heddle" compile "$1.ptx" --without=unroll --target="$target" -o right.cubin && "$heddle" disasm --sections right.cubin >right.sass || { failed=1; return; }
        "$heddle" validate "$1.ptx" right.cubin --launch auto >out 2>&1 || { echo "FAILED: $1: not equal to itself"; cat out; failed=1; }
        for line in $(grep -nE "\*/ +($2)" right.sass | cut -d: -f1); do
            n=$((n + 1)) lost=$((lost + 1))
            mine || continue
            sed -E "${line}s#(\*/ +).* ;#\\1NOP ;#" right.sass >wrong.sass
            "$heddle" asm wrong.sass -o wrong.cubin || { failed=1; continue; }
            "$heddle" validate "$1.ptx" wrong.cubin --launch auto >out 2>&1
            [ $? = 4 ] || { echo "FAILED: $1: not found: $(sed -n "${line}p" right.sass): $(head -1 out)"; failed=1; }
        done
    done
    [ "$n" -gt 2 ] || { echo "FAILED: $1 has no such instruction"; grep " ;" right.sass; failed=1; }
}
more='add.u32 %n, %n, -1; setp.ne.u32 %p, %n, 0; @%p bra MORE;'
kernel integers 'MOV R[0-9]+, RZ' "mov.u32 %y, 0;
    MORE: ld.global.u32 %x, [%a]; xor.b32 %x, %x, %n; add.u32 %y, %y, %x; $more st.global.u32 [%b], %y;"
kernel floats 'MOV R[0-9]+, RZ' "mov.f32 %f, 0f00000000;
    MORE: ld.global.f32 %g, [%a]; fma.rn.f32 %f, %g, %g, %f; $more st.global.f32 [%b], %f;"
kernel doubles 'MOV R[0-9]+, RZ' "mov.f64 %d, 0d0000000000000000;
    MORE: ld.global.f64 %e, [%a]; fma.rn.f64 %d, %e, %e, %d; $more st.global.f64 [%b], %d;"
kernel flags 'ISETP\.NE\S* P[0-6], PT, R[0-9]+, 0x5' "setp.ne.u32 %q, %n, %n;
    MORE: ld.global.u32 %x, [%a]; setp.eq.or.u32 %q, %x, %n, %q; $more selp.u32 %y, 3, 4, %q; st.global.u32 [%b], %y;"
kernel tiles 'STS \[[^]]+\], RZ' "mov.u32 %s, tile; mad.lo.u32 %s, %i, 4, %s; mov.u32 %y, 0; st.shared.u32 [%s], %y; bar.sync 0;
    and.b32 %x, %i, 31; mov.u32 %s, tile; mad.lo.u32 %s, %x, 4, %s; red.shared.add.u32 [%s], %n; bar.sync 0;
    ld.shared.u32 %y, [%s]; st.global.u32 [%b], %y;"
kernel frames 'STL\S* \[[^]]+\], RZ' "mov.u32 %y, 0; st.local.u32 [own], %y; st.local.u32 [own+4], %y; st.local.u32 [own+8], %y;
    MORE: mul.hi.u32 %x, %n, 0x60000000; and.b32 %x, %x, 1; shl.b32 %x, %x, 2; mov.u32 %s, own; add.u32 %s, %s, %x; ld.local.u32 %x, [%s]; add.u32 %x, %x, %n; st.local.u32 [%s], %x; $more
    ld.local.u32 %x, [own]; ld.local.u32 %y, [own+4]; ld.local.u32 %s, [own+8]; mad.lo.u32 %x, %y, 7, %x; add.u32 %x, %x, %s; st.global.u32 [%b], %x;"
kernel pieces 'ST\.E\S* \[[^]]+\], RZ' "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 16; call (r), malloc, (n); ld.param.b64 %o, [r]; }
    mov.u32 %y, 0; st.u32 [%o], %y; st.u32 [%o+8], %y; and.b32 %x, %i, 1; mul.wide.u32 %w, %x, 8; add.s64 %w, %o, %w; ld.u32 %x, [%w]; add.u32 %x, %x, %i; st.u32 [%w], %x;
    ld.u32 %x, [%o]; ld.u32 %y, [%o+8]; mad.lo.u32 %x, %y, 7, %x; st.global.u32 [%b], %x;"
# What is read and does not change the result is no difference: registers, a predicate, shared and local memory nobody wrote.
kernel unused 'MOV R[0-9]+, RZ' "ld.shared.u32 %x, [tile+4]; and.b32 %x, %x, 0; ld.local.u32 %s, [own]; shr.u32 %s, %s, 16; shr.u32 %s, %s, 16;
    selp.u32 %y, 1, 2, %q; min.u32 %y, %y, 1; or.b32 %y, %y, %x; add.u32 %y, %y, %s; mul.f32 %f, %f, %g; mov.u32 %s, 0;
    MORE: ld.global.u32 %x, [%a]; add.u32 %s, %s, %x; $more add.u32 %y, %y, %s; st.global.u32 [%b], %y;"
# A register that nobody wrote before: zero as long as the policy says so.
"$heddle" compile tiles.ptx -t sm_80 -o right.cubin && "$heddle" disasm --sections right.cubin | sed -E 's#(\*/ +)STS \[[^]]+\], RZ ;#\1NOP ;#' >wrong.sass
"$heddle" asm wrong.sass -o wrong.cubin && "$heddle" validate tiles.ptx wrong.cubin --launch auto --policy=unwritten=zero >out 2>&1 ||
    { echo "FAILED: tiles: differs though shared memory is zero"; cat out; failed=1; }
echo "$lost lost zeros"
[ "$lost" -gt 32 ] || failed=1
exit $failed
