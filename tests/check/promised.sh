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
exit $failed
