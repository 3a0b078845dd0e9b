#!/bin/sh
# two_severities.sh HEDDLE DIRECTORY: R-09 warns of a mask that leaves out lanes where a block may be smaller than a warp, and
# calls one wrong that is not its statement's. Of an instruction that breaks the rule both ways the error is reported.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 work=$2 failed=0
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
cat >k.ptx <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<3>;
    .reg .pred %p;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p, %r1, 5;
    vote.sync.ballot.b32 %r2, %p, 0xffff;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
P
said() { # STATUS TEXT FILE
    "$heddle" check "$3" >out 2>&1
    status=$?
    if [ $status -ne "$1" ] || ! grep -q "$2" out; then
        echo "$3: status $status, and not: $2" && cat out && failed=1
    fi
}
for target in bru1 sm_80; do
    "$heddle" compile k.ptx -t $target -o k.cubin || exit 1
    said 0 'warning R-09: WARPSYNC mask 0x0000ffff leaves out lanes' k.cubin
    "$heddle" disasm --sections k.cubin | sed 's/WARPSYNC 0xffff /WARPSYNC 0xff /' >edited.sass
    "$heddle" asm edited.sass -o edited.cubin || exit 1
    said 4 'error R-09: WARPSYNC mask 0x000000ff is not that of PTX line 12' edited.cubin
    grep -q '^1 error, 0 warnings' out || { cat out && failed=1; }
done
exit $failed
