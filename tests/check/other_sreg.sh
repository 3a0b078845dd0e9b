#!/bin/bash
# heddle validate --launch auto against code that reads another special register than its PTX: each register of each kernel
# below is taken for others, and the launches must tell them apart. Tried is each fifth pair, or with EVERY=1 each one; under a
# sanitizer fewer (HEDDLE_PART).
#   [EVERY=N] other_sreg.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0 pairs=0 planted=0 every=$((${EVERY:-5} * ${HEDDLE_PART:-1}))
all='tid.x tid.y tid.z ctaid.x ctaid.y ctaid.z ntid.x ntid.y ntid.z nctaid.x nctaid.y nctaid.z laneid'

# kernel NAME REGISTERS BODY: %a and %b are buffers, %n a size; the registers are those of which others are taken
kernel() {
    local from to
    cat >"$1.ptx" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry $1(.param .u64 a, .param .u64 b, .param .u32 n)
{
  .reg .b64 %a, %b, %o; .reg .b32 %i, %j, %k, %n, %x, %y, %z; .reg .pred %p; .shared .b32 tile[1024];
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u32 %n, [n];
  $3
  END: ret;
}
P
    "$heddle" validate "$1.ptx" --launch auto >out 2>&1 || { echo "FAILED: $1 is not equal to itself"; cat out; failed=1; }
    for from in $2; do
        grep -q "%$from;" "$1.ptx" || { echo "FAILED: $1 does not read $from"; failed=1; }
        for to in $all; do
            [ "$from" = "$to" ] && continue
            pairs=$((pairs + 1))
            [ $((pairs % every)) = 0 ] || continue
            planted=$((planted + 1))
            sed "s/%$from;/%$to;/" "$1.ptx" >wrong.ptx
            "$heddle" compile wrong.ptx -t sm_80 -o wrong.cubin || { failed=1; continue; }
            "$heddle" validate "$1.ptx" wrong.cubin --launch auto >out 2>&1
            [ $? = 4 ] || { echo "FAILED: $1: $to for $from is not found: $(head -1 out)"; failed=1; }
        done
    done
}
at() { echo "mul.wide.u32 %o, $1, 4; add.s64 %a, %a, %o; add.s64 %b, %b, %o; ld.global.u32 %x, [%a];"; }
line='mov.u32 %i, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %k, %ntid.x; mad.lo.u32 %i, %j, %k, %i;'
plane="$line mov.u32 %x, %tid.y; mov.u32 %y, %ctaid.y; mov.u32 %z, %ntid.y; mad.lo.u32 %x, %y, %z, %x;"
kernel one 'tid.x ctaid.x ntid.x' "$line setp.ge.u32 %p, %i, %n; @%p bra END; $(at %i) st.global.u32 [%b], %x;"
kernel stride 'tid.x ctaid.x ntid.x nctaid.x' "$line mov.u32 %j, %nctaid.x; mul.lo.u32 %k, %k, %j;
  LOOP: setp.ge.u32 %p, %i, %n; @%p bra END; mul.wide.u32 %o, %i, 4; add.s64 %o, %o, %b; st.global.u32 [%o], %i; st.global.u32 [%o+16384], %k;
  add.u32 %i, %i, %k; bra LOOP;"
kernel rows 'tid.x tid.y ctaid.x ctaid.y ntid.x ntid.y' "$plane setp.ge.u32 %p, %i, %n; @%p bra END; mad.lo.u32 %i, %x, %n, %i; $(at %i) st.global.u32 [%b], %x;"
kernel sized 'tid.x tid.y ctaid.x ctaid.y ntid.x ntid.y nctaid.x nctaid.y' "$plane mov.u32 %y, %nctaid.x; mul.lo.u32 %k, %k, %y; mov.u32 %y, %nctaid.y; mul.lo.u32 %z, %z, %y;
  mad.lo.u32 %i, %x, %k, %i; $(at %i) add.u32 %x, %x, %z; st.global.u32 [%b], %x;"
kernel space 'tid.x tid.y tid.z ctaid.x ctaid.y ctaid.z ntid.x ntid.y ntid.z' "$plane mad.lo.u32 %i, %x, 512, %i; mov.u32 %x, %tid.z; mov.u32 %y, %ctaid.z; mov.u32 %z, %ntid.z;
  mad.lo.u32 %x, %y, %z, %x; mad.lo.u32 %i, %x, 65536, %i; $(at %i) st.global.u32 [%b], %i;"
kernel blocks 'ctaid.x ctaid.y nctaid.x tid.x' "mov.u32 %i, %ctaid.x; mov.u32 %j, %ctaid.y; mov.u32 %k, %nctaid.x; mad.lo.u32 %i, %j, %k, %i; mov.u32 %x, %tid.x; shl.b32 %i, %i, 10; add.u32 %i, %i, %x;
  $(at %i) add.u32 %x, %x, %i; st.global.u32 [%b], %x;"
kernel numbered 'tid.x tid.y tid.z ntid.x ntid.y' "mov.u32 %i, %tid.z; mov.u32 %j, %ntid.y; mov.u32 %k, %tid.y; mad.lo.u32 %i, %i, %j, %k; mov.u32 %j, %ntid.x; mov.u32 %k, %tid.x; mad.lo.u32 %i, %i, %j, %k;
  $(at %i) add.u32 %x, %x, %i; st.global.u32 [%b], %x;"
kernel sizes 'ntid.x ntid.y ntid.z nctaid.x nctaid.y nctaid.z' "mov.u32 %i, %ntid.x; mov.u32 %j, %ntid.y; mov.u32 %k, %ntid.z; st.global.v4.u32 [%b], {%i, %j, %k, %n}; mov.u32 %i, %nctaid.x; mov.u32 %j, %nctaid.y;
  mov.u32 %k, %nctaid.z; st.global.v4.u32 [%b+16], {%i, %j, %k, %n};"
kernel lanes 'laneid tid.x' "mov.u32 %i, %tid.x; mov.u32 %j, %laneid; $(at %i) add.u32 %x, %x, %j; st.global.u32 [%b], %x;"
kernel last 'ctaid.y nctaid.y tid.x' "mov.u32 %i, %tid.x; mov.u32 %j, %ctaid.y; mov.u32 %k, %nctaid.y; sub.u32 %k, %k, 1; setp.ne.u32 %p, %j, %k; @%p bra END; $(at %i) add.u32 %x, %x, %j; st.global.u32 [%b], %x;"
kernel turned 'tid.x tid.y ntid.x' "mov.u32 %i, %tid.x; mov.u32 %j, %tid.y; mov.u32 %k, %ntid.x; mad.lo.u32 %x, %j, %k, %i; mad.lo.u32 %i, %i, 64, %j;
  shl.b32 %x, %x, 2; mov.u32 %y, tile; add.u32 %x, %x, %y; st.shared.u32 [%x], %i; bar.sync 0; ld.shared.u32 %x, [%x]; mul.wide.u32 %o, %i, 4; add.s64 %b, %b, %o; st.global.u32 [%b], %x;"
echo "$planted other registers"
[ "$planted" -gt $((600 / every)) ] || failed=1
exit $failed
