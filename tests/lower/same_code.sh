#!/bin/sh
# same_code.sh BUILD OTHER: two builds of Heddle, by two compilers, must write the same code: for every sample at every level for
# every target, and for every statement of test_form_sweep. C leaves the order in which arguments are evaluated open, so two
# emissions in one argument list differ between compilers; what Heddle makes may depend on its input only.
# SPDX-License-Identifier: MIT
samples=$(dirname "$0")/../../ptx-samples
if [ "$1" = --samples ]; then # TARGET LEVEL BUILD OTHER WORK: a line for each sample, with "same", "refused" or "differs"
    target=$2 level=$3 first=$4 second=$5 work=$6/$2.$3
    for file in "$samples"/*.ptx; do
        rm -f "$work.first" "$work.second"
        "$first/tools/heddle" compile -t "$target" -O"$level" "$file" -o "$work.first" >/dev/null 2>&1
        status=$?
        "$second/tools/heddle" compile -t "$target" -O"$level" "$file" -o "$work.second" >/dev/null 2>&1
        [ $? = $status ] || status=2
        case $status in
        0) cmp -s "$work.first" "$work.second" && answer=same || answer=differs ;;
        1) answer=refused ;;
        *) answer=differs ;;
        esac
        echo "$answer $file -t $target -O$level"
    done
    exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
targets=$("$1/tools/heddle" compile -t '?' "$0" 2>&1 | sed -n 's/.*there are //p' | tr -d ,)
for target in $targets; do
    for level in 0 1 2 3; do
        echo "$target $level $1 $2 $work"
    done
done | xargs -P "$(nproc)" -L 1 "$0" --samples >"$work/answers"
for build in "$1" "$2"; do
    "$build/tests/lower/test_form_sweep" "$work/forms.$(basename "$build")" >/dev/null || exit 1
done
diff "$work/forms.$(basename "$1")" "$work/forms.$(basename "$2")" >"$work/diff"
{ grep '^differs' "$work/answers"; sed -n 's/^[<>] [0-9a-f]* /differs /p' "$work/diff"; } >"$work/differ"
head -20 "$work/differ"
same=$(grep -c '^same' "$work/answers")
echo "$same binaries and $(wc -l <"$work/forms.$(basename "$1")") statements are the same, $(wc -l <"$work/differ") differ"
[ ! -s "$work/differ" ] && [ "$same" -gt 300 ]
