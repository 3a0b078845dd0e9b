#!/bin/sh
# documented.sh ROOT BUILD: docs/spec-resolutions.md lists 01 to 45, each with a resolution and with tests that
# exist: `name` LETTER is a cmocka test of the file that the letter stands for, `name` t one of ctest's.
# SPDX-License-Identifier: MIT
set -eu
root=$1 doc=$1/docs/spec-resolutions.md build=$2 failed=0 tests=0
names=$(mktemp)
trap 'rm -f "$names"' EXIT
ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p' >"$names"
file_of() {
    case $1 in
    r) echo sim/resolutions/test_resolutions.c ;; p) echo sim/resolutions/test_policies.c ;; k) echo sim/resolutions/test_checks.c ;;
    m) echo sim/machine/test_masks.c ;; c) echo sim/machine/test_cta.c ;;
    u) echo sim/units/test_branch_unit.c ;; b) echo sim/units/test_barrier_unit.c ;;
    i) echo isa/test_bru1.c ;; a) echo tools/test_api.c ;;
    esac
}
complain() { echo "$1"; failed=1; }
rows=$(grep -cE '^\| [0-9]{2} \|' "$doc")
[ "$rows" = 45 ] || complain "$rows rows, expected 45"
for n in $(seq -w 1 45); do
    row=$(grep -E "^\| $n \|" "$doc") || { complain "$n is missing"; continue; }
    # number, where, text, resolution, policy, test; a | inside `code` is not counted
    cells=$(printf '%s' "$row" | sed 's/`[^`]*`/code/g' | awk -F'|' '{print NF - 2}')
    [ "$cells" = 6 ] || complain "$n: $cells columns"
    last=$(printf '%s' "$row" | awk -F'|' '{print $(NF - 1)}')
    case $last in *'`'*) ;; *) complain "$n has no test" ;; esac
done
for pair in $(grep -E '^\| ' "$doc" | awk -F'|' '{print $(NF - 1)}' | grep -oE '`[a-z0-9_]+` [a-z]\b' | sed 's/`//g; s/ /:/'); do
    name=${pair%:*} letter=${pair#*:}
    tests=$((tests + 1))
    if [ "$letter" = t ]; then
        grep -qx "$name" "$names" || complain "ctest has no $name"
    else
        file=$(file_of "$letter")
        [ -n "$file" ] && grep -q "cmocka_unit_test($name)" "$root/tests/$file" || complain "$name is not in tests/${file:-?}"
    fi
done
if grep -E '^\| [0-9]{2} \|' "$doc" | awk -F'|' '{print $(NF - 1)}' | sed -E 's/`[a-z0-9_]+` [a-z]\b//g; s/[ ,;]//g' | grep -q .; then
    complain "a test column holds something else"
fi
[ "$tests" -gt 45 ] || complain "only $tests tests named"
echo "45 resolutions, $tests tests named"
exit $failed
