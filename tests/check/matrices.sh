#!/usr/bin/env bash
# Products of matrices whose sums are f16: equal on every target, also where each 8 of k are rounded, and another
# product differs; its result is none that was never written.
#
#   matrices.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -euo pipefail
heddle=$1 work=$2
mkdir -p "$work"
regs() { printf '%%%s0,%%%s1,%%%s2,%%%s3' "$1" "$1" "$1" "$1"; }
product() { # LAYOUT of A
  cat << EOF
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b64 %p, %q;
  .reg .b32 %a<8>, %b<8>, %c<4>;
  ld.param.u64 %p, [in];
  ld.param.u64 %q, [out];
  wmma.load.a.sync.aligned.$1.m16n16k16.global.f16 {$(regs a),%a4,%a5,%a6,%a7}, [%p];
  wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {$(regs b),%b4,%b5,%b6,%b7}, [%p+512];
  wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {$(regs c)}, [%p+1024];
  wmma.mma.sync.aligned.$1.col.m16n16k16.f16.f16 {$(regs c)}, {$(regs a),%a4,%a5,%a6,%a7}, {$(regs b),%b4,%b5,%b6,%b7}, {$(regs c)};
  wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%q], {$(regs c)};
  ret;
}
EOF
}
want() { # STATUS VERDICT ARGUMENT...
  status=$1 verdict=$2
  shift 2
  code=0
  "$heddle" validate "$@" --block 32 --arg buf:u32[384]=random:42 --arg out:o:u32[128] > "$work/out.txt" 2>&1 || code=$?
  [ $code = "$status" ] && grep -q "^k: $verdict" "$work/out.txt" && return
  echo "validate $*: status $code, wanted $status and $verdict"
  head -20 "$work/out.txt"
  exit 1
}
product row > "$work/right.ptx"
product col > "$work/wrong.ptx"
for target in bru1 sm_75 sm_80 sm_90; do
  want 0 equal "$work/right.ptx" -t $target
  "$heddle" compile "$work/wrong.ptx" -t $target -o "$work/wrong.cubin"
  want 4 differs "$work/right.ptx" "$work/wrong.cubin"
done

# rows 24 bytes apart, or behind 8 bytes: PTX leaves open what is loaded
"$heddle" compile "$work/right.ptx" -t sm_80 -o "$work/right.cubin"
for place in '[%p], 12' '[%p+8]'; do
  sed "s/\(load.a.*\), \[%p\];/\1, $place;/" "$work/right.ptx" > "$work/apart.ptx"
  want 4 undefined "$work/apart.ptx" "$work/right.cubin"
done
