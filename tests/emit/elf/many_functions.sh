#!/bin/bash
# A module of many kernels is one file, each of them found in it; where the file has no numbers left for its sections, that is said.
#   many_functions.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

kernels() { # N: kernel k of them stores k
    awk -v n="$1" 'BEGIN { print ".version 8.0\n.target sm_80\n.address_size 64"
        for (k = 0; k < n; k++) print ".visible .entry k" k "(.param .u64 a) { .reg .b64 %a; ld.param.u64 %a, [a]; st.global.u32 [%a], " k "; ret; }" }'
}
kernels 8100 >many.ptx
"$heddle" compile many.ptx -o many.cubin || fail "8,100 kernels"
for k in 0 8099; do
    "$heddle" run many.cubin --kernel k$k --arg 'out:o:u32[1]' >out || fail "kernel $k"
    grep -q "\[0\] $k " out || fail "kernel $k: $(cat out)"
done
kernels 22000 >more.ptx
"$heddle" compile more.ptx -o more.cubin 2>err && fail "more sections than a file can have"
[ -f more.cubin ] && fail "a file was written"
grep -q 'E0412: module: more than 65279 sections' err || fail "$(head -3 err)"

[ $failed = 0 ] && echo "all as expected"
exit $failed
