#!/bin/bash
# heddle check: bra.uni promises that the lanes of a warp go one way, so WARPSYNCs on both sides do not wait for each other (R-12).
# The machine code says nothing of it, so the rule is broken where the PTX text beside it does not either.
#   promised.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2 failed=0
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
cat >rows.ptx <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 out)
{
  .reg .b64 %o; .reg .b32 %x, %y, %v; .reg .pred %p, %q, %z; .shared .b32 tile[4];
  ld.param.u64 %o, [out];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  setp.ne.u32 %p, %y, 0;
  setp.ne.u32 %q, %x, 0;
  mov.u32 %v, 5;
  @%p bra.uni FIRST_END;
  @%q bra FIRST_SYNC;
  ld.global.u32 %v, [%o];
FIRST_SYNC:
  bar.warp.sync -1;
FIRST_END:
  bra ENTER;
MORE:
  @%p bra.uni SECOND_END;
  @%q bra SECOND_SYNC;
  add.u32 %v, %v, 3;
SECOND_SYNC:
  bar.warp.sync -1;
SECOND_END:
ENTER:
  @%p bra.uni THIRD_END;
  @%q bra THIRD_SYNC;
  st.shared.u32 [tile], %v;
THIRD_SYNC:
  bar.warp.sync -1;
THIRD_END:
  barrier.sync.aligned 0;
  ld.shared.u32 %v, [tile];
  setp.lt.u32 %z, %v, 100;
  barrier.sync.aligned 0;
  @%z bra.uni MORE;
  st.global.u32 [%o+4], %v;
  ret;
}
P
"$heddle" compile rows.ptx -t bru1 -o rows.cubin || failed=1
"$heddle" check rows.cubin >out 2>&1 || { echo "FAILED: promised lanes are taken for parted"; cat out; failed=1; }
LC_ALL=C sed 's/bra\.uni/bra    /' rows.cubin >bare.cubin
cmp -s rows.cubin bare.cubin && { echo "FAILED: the binary has no PTX text"; failed=1; }
"$heddle" check bare.cubin >out 2>&1
[ $? = 4 ] && grep -q "R-12" out || { echo "FAILED: lanes part here where nobody promises anything"; cat out; failed=1; }

# .aligned promises that all lanes of a warp come to one product: the others wait for nobody elsewhere
cat >products.ptx <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry products(.param .u64 out)
{
  .reg .b64 %o; .reg .b32 %x, %a, %b, %c<5>; .reg .pred %p, %q;
  ld.param.u64 %o, [out];
  ld.global.u32 %a, [%o];
  ld.global.u32 %b, [%o+4];
  mov.u32 %x, %tid.x;
  mov.u32 %c1, 0;
  mov.u32 %c2, 0;
  setp.gt.u32 %p, %a, %x;
  @%p bra NEXT;
  mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%c1, %c2}, {%a}, {%b}, {%c1, %c2};
NEXT:
  setp.gt.u32 %q, %b, %x;
  @%q bra LAST;
  mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32
    {%c1, %c2}, {%b}, {%a}, {%c1, %c2};
LAST:
  st.global.v2.u32 [%o], {%c1, %c2};
  ret;
}
P
"$heddle" compile products.ptx -t bru1 -o products.cubin || failed=1
"$heddle" check products.cubin >out 2>&1 || { echo "FAILED: lanes wait at two products"; cat out; failed=1; }
LC_ALL=C sed 's/\.aligned/.a.....d/' products.cubin >bare.cubin
cmp -s products.cubin bare.cubin && { echo "FAILED: the binary has no PTX text"; failed=1; }
"$heddle" check bare.cubin >out 2>&1
[ $? = 4 ] && grep -q "R-12" out || { echo "FAILED: nobody promises that all lanes come to a product"; cat out; failed=1; }
exit $failed
