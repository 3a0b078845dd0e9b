#!/bin/bash
# A value that comes to a phi, and only behind it lives through a call, is where the callee does not write at once: between
# registers only the call's argument is moved, whose value is read behind it, too.
#   webs.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1

cat >k.ptx <<'PTX'
.version 7.0
.target sm_80
.address_size 64
.func (.reg .f32 r) far(.reg .f32 x, .reg .u64 p)
{
 .reg .f32 y;
 ld.global.f32 y, [p]; div.rn.f32 r, x, y; ret;
}
.visible .entry k(.param .u64 out, .param .f32 first, .param .f32 second)
{
 .reg .pred p<3>; .reg .u32 t; .reg .u64 o; .reg .f32 a, b, c, x;
 ld.param.u64 o, [out]; ld.param.f32 a, [first]; ld.param.f32 b, [second]; mov.u32 t, %tid.x;
 setp.lt.u32 p1, t, 7; @p1 bra L1; ld.global.f32 x, [o]; mul.f32 a, x, a;
L1: setp.lt.u32 p2, t, 9; @p2 bra L2; ld.global.f32 x, [o+4]; mul.f32 b, x, b;
L2: ld.global.f32 c, [o+8]; call (x), far, (c, o); fma.rn.f32 x, x, a, b; st.global.f32 [o], x; ret;
}
PTX
"$heddle" compile k.ptx -t sm_80 -o k.cubin && "$heddle" disasm k.cubin >k.sass || exit 1
moved=$(sed -n '/^k:/,$p' k.sass | grep -cE 'MOV R[0-9]+, R[0-9]+ ;')
grep -q CALL k.sass && [ "$moved" = 2 ] && exit 0 # both words of o
echo "$moved moves from register to register, not 2:"
cat k.sass
exit 1
