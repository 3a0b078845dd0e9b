#!/bin/bash
# Functions whose stack grows (alloca) and that call others which have a frame: what alloca gave, the frame of the
# caller and that of the callee are three places. The expected numbers are computed here.
#   grows.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0

cat >k.ptx <<'PTX'
.version 8.3
.target sm_75
.address_size 64
.func (.reg .b32 r) deep(.reg .b32 n)
{ // 3 (n & 15) + n, by way of 64 bytes
    .local .align 4 .b8 mine[64]; .reg .pred %p; .reg .b32 %i, %a, %v, %m;
    mov.u32 %m, mine; mov.u32 %i, 0;
fill: shl.b32 %a, %i, 2; add.u32 %a, %a, %m; mad.lo.u32 %v, %i, 3, n; st.local.u32 [%a], %v;
    add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 16; @%p bra fill;
    and.b32 %a, n, 15; shl.b32 %a, %a, 2; add.u32 %a, %a, %m; ld.local.u32 r, [%a]; ret;
}
.func (.reg .b32 r) grow(.reg .b32 n)
{
    .local .align 8 .b8 mine[16]; .reg .b64 %s, %a, %z; .reg .b32 %v, %w; .reg .pred %p;
    st.local.u32 [mine], n; stacksave.u64 %s;
    mad.lo.u32 %v, n, 4, 4; cvt.u64.u32 %z, %v; alloca.u64 %a, %z, 32; st.local.u32 [%a], 77;
    setp.lt.u32 %p, n, 20; @%p call (%v), deep, (n); @!%p mov.u32 %v, 5;
    ld.local.u32 %w, [%a]; add.u32 %v, %v, %w;
    stackrestore.u64 %s; call (%w), deep, (%v); add.u32 %v, %v, %w;
    ld.local.u32 %w, [mine]; add.u32 r, %v, %w; ret;
}
.visible .entry k(.param .u64 p)
{
    .reg .b64 %p, %s, %z, %a; .reg .b32 %t, %n, %sum, %v, %i; .reg .pred %q; .local .align 4 .b8 own[24];
    ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %p, %t, 4, %p;
    st.local.u32 [own+4], %t; mov.u32 %sum, 0; mov.u32 %i, 0; stacksave.u64 %s;
again: mad.lo.u32 %n, %t, 4, 4; cvt.u64.u32 %z, %n; alloca.u64 %a, %z; st.local.u32 [%a], %i;
    call (%v), grow, (%t); add.u32 %sum, %sum, %v; ld.local.u32 %v, [%a]; add.u32 %sum, %sum, %v;
    add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 3; @%q bra again;
    stackrestore.u64 %s; ld.local.u32 %v, [own+4]; mad.lo.u32 %sum, %v, 1000, %sum;
    st.global.u32 [%p], %sum; ret;
}
PTX
deep() { echo $((($1 & 15) * 3 + $1)); }
for t in $(seq 0 31); do
    v=$((t < 20 ? $(deep $t) + 77 : 5 + 77))
    echo "  [$t] $((3 * (v + $(deep $v) + t) + 3 + 1000 * t))"
done >want

shows() { # FILE WHAT: prints the numbers that are wanted
    "$heddle" run "$1" --kernel=k --block=32 --arg='out:o:u32[32]=zero' --print=o 2>err | sed -n 's/ (0x.*//; /^  \[/p' >got
    cmp -s got want || { echo "FAIL: $2"; cat err; diff got want | head -5; failed=1; }
}
for target in bru1 sm_75 sm_80 sm_90; do
    for level in 0 1 2 3; do
        "$heddle" compile k.ptx -t $target -O$level -o k.cubin && "$heddle" check k.cubin >checked || failed=1
        shows k.cubin "$target -O$level"
    done
done
said=$("$heddle" validate k.ptx --grid 1 --block 32 --arg 'out:o:u32[32]' 2>&1)
case $said in
"k: equal: 1 launch, 128 bytes compared"*) ;;
*) echo "FAIL: $said"; failed=1 ;;
esac
"$heddle" disasm k.cubin | grep -q 'LDL R1, \[R1' || { echo "FAIL: R1 does not follow a link"; failed=1; }
if [ -n "${PTXAS:-}" ]; then
    "$PTXAS" -arch=sm_80 k.ptx -o p.cubin && shows p.cubin "ptxas's code"
fi
exit $failed
