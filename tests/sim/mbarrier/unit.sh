#!/usr/bin/env bash
# What our code for sm_90 has for statements about objects of mbarrier: unit.sh HEDDLE. Instructions of the unit at which its copies
# complete bytes, as unit.ptx says; ptxas, where it is found, says so too. Earlier targets have no such unit.
# SPDX-License-Identifier: MIT
set -u
heddle=$1
. "$(dirname "$0")/../begin.sh"
said() { # WHOSE: what unit.ptx says
    sed -n "s/.*\/\/ .*\(both\|$1\): \([A-Z0-9. ]*[A-Z0-9]\).*/\2/p" unit.ptx | tr ' ' '\n' | sort
}
found() { # FILE
    "$heddle" disasm "$1" | grep -o '\(SYNCS\|ARRIVES\|STAS\|REDAS\|UBLKCP\|ATOMS\|ATOM\|LDS\|STS\)\>[.A-Z0-9]*' | sort
}
[ "$(said own | wc -l)" = 41 ] || { : > "$dir/out"; fail "what unit.ptx says"; }
for level in 0 1 2 3; do
    "$heddle" compile unit.ptx -t sm_90 -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 && found "$dir/own.cubin" > "$dir/found" &&
        diff <(said own) "$dir/found" > "$dir/out" 2>&1 && "$heddle" check "$dir/own.cubin" > "$dir/out" 2>&1 || fail "own code, -O$level"
done
# What comes behind an init waits for it.
"$heddle" disasm -c "$dir/own.cubin" | grep -A1 'SYNCS.EXCH' > "$dir/out"
[ "$(grep -c 'W[0-5].*SYNCS.EXCH' "$dir/out")" = 2 ] || fail "an init that nothing waits for"
for program in pipeline bulk ../tensor/copy ../tensor/bulk ../cluster/ring ../cluster/forms; do
    "$heddle" compile $program.ptx -t sm_90 -o "$dir/own.cubin" > "$dir/out" 2>&1 && found "$dir/own.cubin" > "$dir/out" && grep -q SYNCS "$dir/out" && ! grep -q 'ATOMS.CAS' "$dir/out" || fail "$program"
done
"$heddle" compile pipeline.ptx -t sm_89 -o "$dir/own.cubin" > "$dir/out" 2>&1 && found "$dir/own.cubin" > "$dir/out" && ! grep -q SYNCS "$dir/out" && grep -q 'ATOMS.CAS' "$dir/out" || fail "sm_89"
if [ -x "${PTXAS:-}" ]; then
    for level in 1 3; do
        "$PTXAS" -arch=sm_90 -O$level -o "$dir/theirs.cubin" unit.ptx > "$dir/out" 2>&1 && found "$dir/theirs.cubin" > "$dir/found" &&
            diff <(said ptxas) "$dir/found" > "$dir/out" 2>&1 || fail "ptxas's code, -O$level"
    done
fi
exit $bad
