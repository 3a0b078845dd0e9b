#!/bin/bash
# heddle validate against code that loses a carry into the high word of an address: of each kernel below, every instruction
# that takes a carry gets none, one at a time. Addresses are the only sums of 64 bits, and each kernel goes far enough into its
# buffers, so by construction every such binary is wrong for buffers that lie across a border of 4 GiB.
#   lost_carry.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0 lost=0 kernels=0

# kernel NAME TARGET PARAMETERS BODY: %i is the number of the thread
kernel() {
    cat >"$1.ptx" <<P
.version 8.0
.target $2
.address_size 64
.global .b32 table[512];
.visible .entry $1($3)
{
  .reg .b64 %a, %b, %o; .reg .b32 %i, %j, %n, %x, %y; .reg .pred %p;
  mov.u32 %i, %ctaid.x; mov.u32 %j, %tid.x; mov.u32 %n, %ntid.x; mad.lo.s32 %i, %i, %n, %j;
  $4
  ret;
}
P
}
# check NAME [LAUNCH]: the binaries of both levels are equal, and differ without any of their carries
check() {
    local name=$1 launch=${2:-auto} line level n=0
    kernels=$((kernels + 1))
    for level in 0 2; do
        "$heddle" compile "$name.ptx" -O$level --target="$target" -o right.cubin && "$heddle" disasm --sections right.cubin >right.sass || { failed=1; return; }
        "$heddle" validate "$name.ptx" right.cubin --launch "$launch" >out 2>&1 || { echo "FAILED: $name: not equal to itself"; cat out; failed=1; }
        for line in $(grep -nE ' (IADD3|LEA\.HI)\.X .*, P[0-6](, !PT)? ;' right.sass | cut -d: -f1); do
            n=$((n + 1)) lost=$((lost + 1))
            mine || continue
            sed -E "${line}s/, P[0-6](, !PT)? ;/, !PT\\1 ;/" right.sass >wrong.sass
            "$heddle" asm wrong.sass -o wrong.cubin || { failed=1; continue; }
            "$heddle" validate "$name.ptx" wrong.cubin --launch "$launch" >out 2>&1
            [ $? = 4 ] || { echo "FAILED: $name: not found: $(sed -n "${line}p" right.sass): $(head -1 out)"; failed=1; }
        done
    done
    [ "$n" -gt 0 ] || { echo "FAILED: $name has no carry"; grep " ;" right.sass; failed=1; }
}
cat >list.json <<'J'
{"module": "index.ptx",
 "buffers": {"a": {"type": "u32", "count": 65, "init": "random:1"}, "b": {"type": "u32", "count": 65, "init": "zero"}},
 "launches": [{"kernel": "index", "grid": [1], "block": [65], "args": ["a", "b"]}]}
J
two='.param .u64 a, .param .u64 b'
for target in bru1 sm_80; do
    of=sm_80
    kernel index $of "$two" 'ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; add.s64 %b, %b, %o;
      ld.global.u32 %x, [%a]; st.global.u32 [%b], %x;'
    kernel bytes $of "$two" 'ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; shl.b32 %i, %i, 2; cvt.u64.u32 %o, %i; add.s64 %b, %b, %o;
      mul.lo.u32 %i, %i, 3; and.b32 %i, %i, 0x1ffc; cvt.u64.u32 %o, %i; add.s64 %a, %o, %a; ld.global.u32 %x, [%a]; st.global.u32 [%b], %x;'
    kernel steps $of "$two" 'ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; mul.wide.u32 %o, %i, 4; add.s64 %b, %b, %o; mov.u32 %y, 0; mov.u32 %n, 0;
      .pragma "nounroll";
    MORE: ld.global.u32 %x, [%a]; add.u32 %y, %y, %x; add.s64 %a, %a, 4; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 100; @%p bra MORE;
      st.global.u32 [%b], %y;'
    kernel static_table $of '.param .u64 b' 'ld.param.u64 %b, [b]; and.b32 %j, %i, 511; cvt.u64.u32 %o, %j; shl.b64 %o, %o, 2; mov.u64 %a, table;
      add.s64 %a, %a, %o; atom.global.add.u32 %x, [%a], 1; cvt.u64.u32 %o, %i; shl.b64 %o, %o, 2; add.s64 %b, %b, %o; st.global.u32 [%b], %j;'
    for name in index bytes steps static_table; do
        check $name
    done
    check index list.json
done
echo "$kernels kernels, $lost lost carries"
exit $failed
