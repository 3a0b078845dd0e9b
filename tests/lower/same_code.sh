#!/bin/sh
# same_code.sh BUILD OTHER: two builds of Heddle, by two compilers, must write the same code: for every sample at every level for
# every target, and for every statement of test_form_sweep. C leaves the order in which arguments are evaluated open, so two
# emissions in one argument list differ between compilers; what Heddle makes may depend on its input only.
# SPDX-License-Identifier: MIT
lower=$(dirname "$0")
if [ "$1" = --list ]; then # FOLDER PROGRAM BUILD [PART OF]: what the program of that build writes
    list=$2/$3.$(basename "$4") program=$4/tests/lower/$3
    [ "$3" != sample_code ] || exec "$program" "$list" "$lower"/../../ptx-samples/*.ptx >/dev/null
    exec "$program" "$list.$5" "$5" "$6" >/dev/null
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
parts=$(($(nproc) < 4 ? $(nproc) : 4)) part=0
while [ $part -lt $parts ]; do # the longest first
    for build in "$2" "$1"; do
        echo "$work test_form_sweep $build $part $parts"
    done
    part=$((part + 1))
done >"$work/lists"
for build in "$2" "$1"; do
    echo "$work sample_code $build"
done >>"$work/lists"
xargs -P "$(nproc)" -L 1 "$0" --list <"$work/lists" || exit 1
first=$(basename "$1") second=$(basename "$2")
for build in $first $second; do
    cat "$work/test_form_sweep.$build".* >"$work/test_form_sweep.$build"
done
for program in sample_code test_form_sweep; do
    diff "$work/$program.$first" "$work/$program.$second"
done >"$work/diff"
grep '^[<>]' "$work/diff" | cut -d' ' -f3- | sort -u >"$work/differ"
sed 's/^/differs /' "$work/differ" | head -20
same=$(grep -vc '^refused' "$work/sample_code.$first")
echo "$same binaries and $(wc -l <"$work/test_form_sweep.$first") statements, $(wc -l <"$work/differ") differ"
[ ! -s "$work/differ" ] && [ "$same" -gt 300 ]
