#!/bin/sh
# same_code.sh BUILD OTHER: two builds of Heddle, by two compilers, must write the same code: for every sample at every level for
# every target, and for every statement of test_form_sweep. C leaves the order in which arguments are evaluated open, so two
# emissions in one argument list differ between compilers; what Heddle makes may depend on its input only.
# SPDX-License-Identifier: MIT
lower=$(dirname "$0")
if [ "$1" = --list ]; then # PROGRAM BUILD FOLDER: what the program of that build writes
    samples=
    [ "$2" = test_form_sweep ] || samples=$(echo "$lower"/../../ptx-samples/*.ptx)
    exec "$3/tests/lower/$2" "$4/$2.$(basename "$3")" $samples >/dev/null
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for program in sample_code test_form_sweep; do
    echo "$program $2 $work"
    echo "$program $1 $work"
done | xargs -P "$(nproc)" -L 1 "$0" --list || exit 1
for program in sample_code test_form_sweep; do
    diff "$work/$program.$(basename "$1")" "$work/$program.$(basename "$2")"
done >"$work/diff"
grep '^[<>]' "$work/diff" | cut -d' ' -f3- | sort -u >"$work/differ"
sed 's/^/differs /' "$work/differ" | head -20
first=$(basename "$1")
same=$(grep -vc '^refused' "$work/sample_code.$first")
echo "$same binaries and $(wc -l <"$work/test_form_sweep.$first") statements, $(wc -l <"$work/differ") differ"
[ ! -s "$work/differ" ] && [ "$same" -gt 300 ]
