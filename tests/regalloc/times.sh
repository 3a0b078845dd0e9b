#!/bin/bash
# What a special register said is kept where there are too few registers, unless it says the same whenever it is asked:
# a time is read once and where the PTX reads it, before the loop, a lane's number may be read again.
#   times.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0
awk 'BEGIN {
    print ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) .maxnreg 24\n{"
    print ".reg .b64 %p, %o; .reg .b32 %lane, %low, %high, %ns, %t, %i, %x<40>; .reg .pred %q;"
    print "ld.param.u64 %p, [p]; mov.u32 %lane, %laneid; mov.u32 %t, %tid.x; mad.wide.u32 %p, %t, 640, %p;"
    print "mov.u32 %low, %clock; mov.u32 %high, %clock_hi; mov.u32 %ns, %globaltimer_lo; mov.u32 %i, 0;"
    for (k = 0; k < 40; k++) print "ld.global.u32 %x" k ", [%p+" 4 * k "];"
    print "round:"
    for (k = 0; k < 40; k++) print "mad.lo.u32 %x" k ", %x" k ", 5, %x" (k + 7) % 40 ";"
    print "add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 9; @%q bra round;"
    for (k = 0; k < 40; k++) print "st.global.u32 [%p+" 4 * k "], %x" k ";"
    print "st.global.u32 [%p+160], %low; st.global.u32 [%p+164], %high; st.global.u32 [%p+168], %ns;"
    print "st.global.u32 [%p+172], %lane; ret; }"
}' >k.ptx
for target in bru1 sm_75 sm_80 sm_90; do
    for level in 0 2; do
        "$heddle" compile k.ptx -t $target -O$level -o k.cubin && "$heddle" disasm k.cubin >k.sass || { failed=1; continue; }
        grep -q STL k.sass || { echo "$target -O$level: no store of a register, so nothing is shown"; failed=1; }
        for time in CLOCKLO CLOCKHI GLOBALTIMERLO; do
            n=$(grep -c "SR_$time" k.sass) early=$(sed '/ BRA /q' k.sass | grep -c "SR_$time")
            [ "$n $early" = "1 1" ] || { echo "$target -O$level: $n reads of $time, $early before the loop"; failed=1; }
        done
    done
done
exit $failed
