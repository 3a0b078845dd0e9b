#!/bin/sh
# same_code.sh BUILD OTHER: two builds of Heddle, by two compilers, must write the same code: for every sample at every level for
# every target, and for every statement of test_form_sweep. C leaves the order in which arguments are evaluated open, so two
# emissions in one argument list differ between compilers; what Heddle makes may depend on its input only.
# SPDX-License-Identifier: MIT
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
samples=$(dirname "$0")/../../ptx-samples
compared=0
differ=0
targets=$("$1/tools/heddle" compile -t '?' "$0" 2>&1 | sed -n 's/.*there are //p' | tr -d ,)
for target in $targets; do
    for level in 0 1 2 3; do
        for file in "$samples"/*.ptx; do
            "$1/tools/heddle" compile -t "$target" -O$level "$file" -o "$work/first" >/dev/null 2>&1
            first=$?
            "$2/tools/heddle" compile -t "$target" -O$level "$file" -o "$work/second" >/dev/null 2>&1
            [ $? = $first ] || first=statuses
            case $first in
            0)
                compared=$((compared + 1))
                cmp -s "$work/first" "$work/second" && continue ;;
            1) continue ;;
            esac
            echo "$file -t $target -O$level: the builds' codes differ"
            differ=$((differ + 1))
        done
    done
done
for build in "$1" "$2"; do
    "$build/tests/lower/test_form_sweep" "$work/forms.$differ" >/dev/null || exit 1
    mv "$work/forms.$differ" "$work/forms.$(basename "$build")"
done
diff "$work/forms.$(basename "$1")" "$work/forms.$(basename "$2")" >"$work/diff" || {
    sed -n 's/^< [0-9a-f]* /differs: /p' "$work/diff" | head -20
    differ=$((differ + 1))
}
echo "$compared binaries and $(wc -l <"$work/forms.$(basename "$1")") statements compared, $differ differences"
[ $differ = 0 ] && [ $compared -gt 300 ]
