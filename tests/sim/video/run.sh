#!/usr/bin/env bash
# Video instructions: run.sh HEDDLE CASES FIND_NVIDIA. The interpreter, and code for each target at two levels, must give
# the values that CASES computes; so must ptxas's code, where it is found, of the statements on which it follows the text.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../../part.sh"
heddle=$1 cases=$2 ptxas=$("$3" ptxas 2> /dev/null)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}
"$cases" "$dir" || fail "$cases"
cd "$dir" || exit 1
"$heddle" run all.ptx --launch all.json --engine ptx > out 2>&1 || { fail "the interpreter"; tail -3 out; }
for level in 0 2; do
    for target in bru1 sm_75 sm_90; do
        "$heddle" compile all.ptx -O$level -t $target -o own.cubin > out 2>&1 &&
            "$heddle" run own.cubin --launch all.json > out 2>&1 || { fail "$target, -O$level"; tail -3 out; }
    done
done
"$heddle" compile all.ptx --emit=ptx -o printed.ptx && "$heddle" run printed.ptx --launch all.json --engine ptx > out 2>&1 ||
    { fail "as printed"; tail -3 out; }
pick 75 80 90
for sm in $picked; do
    [ -n "$ptxas" ] && [ -x "$ptxas" ] || continue
    sed "s/^.target sm_75/.target sm_$sm/; s/^.version 7.0/.version 8.0/" agreed.ptx > theirs.ptx
    "$ptxas" -arch sm_$sm theirs.ptx -o theirs.cubin > out 2>&1 || continue # a ptxas without this target
    "$heddle" run theirs.cubin --launch agreed.json > out 2>&1 || { fail "ptxas for sm_$sm"; tail -3 out; }
done
exit $bad
