#!/bin/sh
# driver_calls.sh HEDDLE DIRECTORY: functions of the driver may use B0 to B5, so R-16 objects where lanes wait in one of these
# while others call one that returns, in the caller's function or above it.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 work=$2 failed=0
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

# Lanes from n on wait for those that call: `inner` stands in the kernel, or in a function that the kernel calls.
kernel() { # DECLARATION INNER [FUNCTION]
    cat <<P
.version 7.0
.target sm_75
.address_size 64
$1
${3:-}
.visible .entry k(.param .u32 n, .param .u64 p)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u32 %r1, [n];
    ld.param.u64 %rd1, [p];
    mov.u64 %rd2, 16;
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra out;
    $2
    ld.global.u32 %r3, [%rd1];
    add.u32 %r2, %r2, %r3;
out:
    sin.approx.f32 %r4, %r2;
    sin.approx.f32 %r4, %r4;
    sin.approx.f32 %r4, %r4;
    sin.approx.f32 %r4, %r4;
    st.global.u32 [%rd1], %r4;
    ret;
}
P
}
print='{ .param .b64 a; .param .b64 b; .param .b32 q; st.param.b64 [a], %rd2; st.param.b64 [b], %rd2;
    call.uni (q), vprintf, (a, b); }'
make='{ .param .b64 a; .param .b64 q; st.param.b64 [a], %rd2; call.uni (q), malloc, (a); ld.param.b64 %rd1, [q]; }'
give='{ .param .b64 a; st.param.b64 [a], %rd1; call.uni free, (a); }'
declared='.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);'
kernel "$declared" "$print" >vprintf.ptx
kernel '.extern .func (.param .b64 r) malloc (.param .b64 a);' "$make" >malloc.ptx
kernel '.extern .func free (.param .b64 a);' "$give" >free.ptx
kernel "$declared" 'call.uni say;' ".func say() { .reg .b64 %rd<3>; mov.u64 %rd2, 16; $print ret; }" >above.ptx

for name in vprintf malloc free above; do
    for target in bru1 sm_80; do
        "$heddle" compile $name.ptx -t $target -o good.cubin && "$heddle" disasm --sections good.cubin >good.sass || exit 1
        grep -q 'BSYNC B6' good.sass || { echo "$name, $target: nobody waits in B6"; failed=1; }
        "$heddle" check good.cubin >out || { echo "$name, $target: an alarm"; cat out; failed=1; }
        sed 's/\bB6\b/B5/' good.sass >bad.sass && "$heddle" asm bad.sass -o bad.cubin || exit 1
        "$heddle" check bad.cubin >out
        [ $? -eq 4 ] && [ "$(grep -c error out)" -eq 2 ] &&
            grep -q "error R-16: the driver's [a-z]* may use B0 to B5, and a lane may be pending in B5" out ||
            { echo "$name, $target: no word of B5"; cat out; failed=1; }
    done
done
exit $failed
