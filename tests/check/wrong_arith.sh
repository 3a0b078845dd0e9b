#!/bin/bash
# heddle validate --launch auto against wrong arithmetic: each kernel below is compared with the binary of the same kernel in
# which one operation is another. The pairs are written down here, so that what is wrong is known by construction; all
# must be found, and no right binary may be called wrong.
#   wrong_arith.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0 found=0 wrong=0

# module FILE OPERATION: x = OPERATION of two loaded values x and y (u32), f and g (f32), and the scalar s
module() {
    cat >"$1" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, .param .s32 s)
{
  .reg .b64 %a, %b, %c, %o, %w, %v; .reg .b32 %i, %j, %n, %x, %y, %z, %s; .reg .f32 %f, %g, %h; .reg .pred %p, %q;
  .reg .b16 %k;
  mov.u32 %i, %ctaid.x; mov.u32 %j, %tid.x; mov.u32 %n, %ntid.x; mad.lo.s32 %i, %i, %n, %j;
  ld.param.u32 %n, [n]; ld.param.s32 %s, [s];
  BOUND
  @%p bra END;
  mul.wide.u32 %o, %i, 4; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c];
  add.s64 %a, %a, %o; add.s64 %b, %b, %o; add.s64 %c, %c, %o;
  ld.global.u32 %x, [%a]; ld.global.u32 %y, [%b]; mov.b32 %f, %x; mov.b32 %g, %y; mov.u32 %z, 0; mov.f32 %h, 0f00000000;
  cvt.s64.s32 %w, %x; cvt.s64.s32 %v, %y;
  $2
  mov.b32 %j, %h; xor.b32 %z, %z, %j;
  st.global.u32 [%c], %z;
END:
  ret;
}
P
    sed -i "s/BOUND/${3:-setp.ge.s32 %p, %i, %n;}/" "$1"
}
validate() { "$heddle" validate "$@" --launch auto >out 2>&1; }
pair() { # RIGHT WRONG [RIGHT BOUND] [WRONG BOUND]
    mine || return 0
    module right.ptx "$1" "${3:-}"
    module wrong.ptx "$2" "${4:-${3:-}}"
    validate right.ptx || { echo "FAILED: $1: not equal to itself"; cat out; failed=1; }
    "$heddle" compile wrong.ptx -o wrong.cubin || { failed=1; return; }
    wrong=$((wrong + 1))
    validate right.ptx wrong.cubin
    case $? in
    4) found=$((found + 1)) ;;
    *) echo "not found: $1 as $2 ${4:-}: $(head -1 out)" ;;
    esac
}
sel='selp.u32 %z, 1, 2, %q;'
pair "setp.lt.s32 %q, %x, %y; $sel" "setp.le.s32 %q, %x, %y; $sel"
pair "setp.lt.s32 %q, %x, %y; $sel" "setp.lt.u32 %q, %x, %y; $sel"
pair "setp.gt.u32 %q, %x, %s; $sel" "setp.ge.u32 %q, %x, %s; $sel"
pair "setp.gt.s32 %q, %x, 100; $sel" "setp.gt.u32 %q, %x, 100; $sel"
pair "setp.lt.s64 %q, %w, %v; $sel" "setp.lt.u64 %q, %w, %v; $sel"
pair "setp.eq.s32 %q, %x, %y; $sel" "setp.ge.s32 %q, %x, %y; $sel"
pair "setp.lt.f32 %q, %f, %g; $sel" "setp.ltu.f32 %q, %f, %g; $sel"
pair "setp.lt.f32 %q, %f, %g; $sel" "setp.le.f32 %q, %f, %g; $sel"
pair "setp.eq.f32 %q, %f, %g; $sel" "setp.eq.u32 %q, %x, %y; $sel"
pair "setp.neu.f32 %q, %f, %g; $sel" "setp.ne.u32 %q, %x, %y; $sel"
pair "setp.le.f32 %q, %f, %g; $sel" "setp.le.s32 %q, %x, %y; $sel"
pair "setp.ltu.f32 %q, %f, %g; $sel" "setp.lt.f32 %q, %f, %g; $sel"
pair 'min.f32 %h, %f, %g;' 'setp.lt.f32 %q, %f, %g; selp.f32 %h, %f, %g, %q;'
pair 'add.rn.f32 %h, %f, 0f00000000;' 'add.rn.f32 %h, %f, 0f80000000;'
pair 'sub.rn.f32 %h, %f, %g;' 'sub.rn.f32 %h, %g, %f; neg.f32 %h, %h;'
pair 'shr.s32 %z, %x, 3;' 'shr.u32 %z, %x, 3;'
pair 'shl.b32 %z, %x, %y;' 'and.b32 %y, %y, 31; shl.b32 %z, %x, %y;'
pair 'shr.u32 %z, %x, %y;' 'and.b32 %y, %y, 31; shr.u32 %z, %x, %y;'
pair 'min.s32 %z, %x, %y;' 'min.u32 %z, %x, %y;'
pair 'max.s32 %z, %x, %s;' 'max.u32 %z, %x, %s;'
pair 'or.b32 %y, %y, 1; div.s32 %z, %x, %y;' 'or.b32 %y, %y, 1; div.u32 %z, %x, %y;'
pair 'or.b32 %y, %y, 1; rem.s32 %z, %x, %y;' 'or.b32 %y, %y, 1; rem.u32 %z, %x, %y;'
pair 'rem.s32 %z, %x, 8;' 'and.b32 %z, %x, 7;'
pair 'div.s32 %z, %x, 8;' 'shr.s32 %z, %x, 3;'
pair 'add.s32 %z, %x, %y;' 'or.b32 %z, %x, %y;'
pair 'xor.b32 %z, %x, %y;' 'or.b32 %z, %x, %y;'
pair 'add.sat.s32 %z, %x, %y;' 'add.s32 %z, %x, %y;'
pair 'sub.sat.s32 %z, %x, %y;' 'sub.s32 %z, %x, %y;'
pair 'mul.hi.s32 %z, %x, %y;' 'mul.hi.u32 %z, %x, %y;'
pair 'mul.lo.s32 %z, %x, %s;' 'mul24.lo.s32 %z, %x, %s;'
pair 'mad.lo.s32 %z, %x, %y, 7;' 'mad.lo.s32 %z, %x, %y, 6;'
pair 'abs.s32 %z, %x;' 'mov.b32 %z, %x;'
pair 'bfe.s32 %z, %x, 4, 8;' 'bfe.u32 %z, %x, 4, 8;'
pair 'bfe.u32 %z, %x, %y, 8;' 'and.b32 %y, %y, 31; bfe.u32 %z, %x, %y, 8;'
pair 'clz.b32 %z, %x;' 'bfind.u32 %z, %x; sub.s32 %z, 31, %z; min.u32 %z, %z, 31;'
pair 'cvt.s32.s8 %z, %x;' 'cvt.u32.u8 %z, %x;'
pair 'cvt.u16.u32 %k, %x; cvt.u32.u16 %z, %k;' 'cvt.sat.u16.u32 %k, %x; cvt.u32.u16 %z, %k;'
pair 'cvt.rni.s32.f32 %z, %f;' 'cvt.rzi.s32.f32 %z, %f;'
pair 'cvt.rzi.s32.f32 %z, %f;' 'cvt.rzi.u32.f32 %z, %f;'
pair 'cvt.rn.f32.s32 %h, %x;' 'cvt.rn.f32.u32 %h, %x;'
pair 'add.rn.f32 %h, %f, %g;' 'add.rn.ftz.f32 %h, %f, %g;'
pair 'add.rn.f32 %h, %f, %g;' 'add.rz.f32 %h, %f, %g;'
pair 'mul.rn.sat.f32 %h, %f, %g;' 'mul.rn.f32 %h, %f, %g;'
pair 'min.f32 %h, %f, %g;' 'min.NaN.f32 %h, %f, %g;'
pair 'max.f32 %h, %f, %g;' 'setp.gt.f32 %q, %f, %g; selp.f32 %h, %f, %g, %q;'
pair 'fma.rn.f32 %h, %f, %g, %f;' 'mul.rn.f32 %h, %f, %g; add.rn.f32 %h, %h, %f;'
pair 'div.rn.f32 %h, %f, %g;' 'rcp.rn.f32 %h, %g; mul.rn.f32 %h, %f, %h;'
pair 'neg.f32 %h, %f;' 'sub.rn.f32 %h, 0f00000000, %f;'
pair 'mov.u32 %z, %x;' 'mov.u32 %z, %x;' 'setp.ge.s32 %p, %i, %n;' 'setp.gt.s32 %p, %i, %n;'
pair 'mov.u32 %z, %x;' 'mov.u32 %z, %x;' 'setp.ge.s32 %p, %i, %n;' 'setp.ge.u32 %p, %i, %n;'
# Numbers of lanes are an index, what the lanes were asked about is none.
lanes() {
    echo "$1 %y, %x, 3; setp.eq.s32 %q, %y, 0; vote.sync.ballot.b32 %y, %q, -1; popc.b32 %y, %y; mul.wide.u32 %o, %y, 4;
  ld.param.u64 %b, [b]; add.s64 %b, %b, %o; ld.global.u32 %z, [%b];"
}
pair "$(lanes rem.s32)" "$(lanes rem.u32)"
echo "$found of $wrong wrong kernels found"
[ "$found" -eq "$wrong" ] || { echo "FAILED: not all of them"; failed=1; }
exit $failed
