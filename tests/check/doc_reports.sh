#!/bin/bash
# Run every command that a document shows behind "$ " and compare what it prints with the lines below it.
#   doc_reports.sh HEDDLE DOCUMENT SAMPLES SCRATCH      UPDATE=1 writes the document anew
# SPDX-License-Identifier: MIT
set -u
heddle=$1 document=$2 samples=$3 scratch=$4
rm -rf "$scratch" && mkdir -p "$scratch" || exit 1
cp "$samples"/bad/* "$samples"/mandelbrot.ptx "$scratch" || exit 1
heddle() { "$heddle" "$@"; }
now=$scratch/now.md
: >"$now"
fence=0 shown=0 commands=0
while IFS= read -r line; do
    if [ "${line:0:3}" = '```' ]; then
        fence=$((1 - fence)) shown=0
    elif [ $fence = 1 ] && [ "${line:0:2}" = '$ ' ]; then
        printf '%s\n' "$line" >>"$now"
        (cd "$scratch" && eval "${line:2}") >>"$now" 2>&1
        shown=1 commands=$((commands + 1))
        continue
    elif [ $shown = 1 ]; then
        [ -n "$line" ] && continue # output of before; a blank line goes to the next command
    fi
    printf '%s\n' "$line" >>"$now"
done <"$document"
[ $commands -ge 5 ] || { echo "only $commands commands found"; exit 1; }
if [ -n "${UPDATE:-}" ]; then
    cp "$now" "$document"
elif ! diff -u "$document" "$now"; then
    echo "the document shows other reports; UPDATE=1 writes it anew"
    exit 1
fi
