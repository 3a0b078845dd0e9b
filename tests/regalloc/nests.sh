#!/bin/bash
# Nests of more loops than there are registers: what lives through them is stored before liveness is known, and made
# again behind. Every 97th loop goes round two or three times, by lane or for all lanes alike; the others once, or
# it would not end.
#   nests.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0

nest() { # LOOPS BOUND: %most, the rounds of every 97th loop
    awk -v n="$1" -v bound="$2" 'BEGIN {
        print ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{"
        print ".reg .b64 %out; .reg .u32 %in, %n, %x, %y, %most, %r<" n + 1 ">; .reg .pred %q;"
        print "ld.param.u64 %out, [p]; ld.param.u32 %n, [n]; mov.u32 %in, %tid.x; mad.wide.u32 %out, %in, 4, %out;"
        print "mad.lo.u32 %x, %in, 3, 1;", bound
        for (k = 0; k < n; k++)
            print "mov.u32 %r" k ", 0; L" k ": mad.lo.u32 %x, %x, 5, %r" k ";"
        for (k = n - 1; k >= 0; k--)
            print "add.u32 %r" k ", %r" k ", 1; xor.b32 %x, %x, %r" k "; setp.lt.u32 %q, %r" k ", " \
                  (k % 97 ? 1 : "%most") "; @%q bra L" k ";"
        print "st.global.u32 [%out], %x; ret; }"
    }' >k.ptx
}

for bound in "mov.u32 %most, %n;" "and.b32 %y, %in, 1; add.u32 %most, %n, %y;"; do
    nest 400 "$bound"
    for target in bru1 sm_80; do
        "$heddle" compile k.ptx -t $target -o k.cubin && "$heddle" disasm k.cubin >k.sass || failed=1
        [ "$(grep -c LDL k.sass)" -gt 140 ] || { echo "FAIL: nothing is spilled for $target"; failed=1; }
        said=$("$heddle" validate k.ptx -t $target --grid 1 --block 32 --arg out:p:u32[32] --arg u32:2 2>&1)
        case $said in
        "k: equal: 1 launch, 128 bytes compared"*) ;;
        *) echo "FAIL: $target, '$bound': $said"; failed=1 ;;
        esac
    done
done
exit $failed
