#!/bin/sh
# seed_lines.sh SEED_LINES TEST SPEC-DIR: every assembly line of the source texts, accepted or rejected as seed_lines.txt
# says. Where the source texts are at hand their lines are read again and compared with the table.
# SPDX-License-Identifier: MIT
set -eu
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
lines=$1 test=$2
set -- "$3"/000_*.txt "$3"/001_*.txt
if [ -f "$1" ] && [ -f "$2" ]; then
    "$lines" "$1" "$2" >"$tmp/lines"
    "$test" "$here/seed_lines.txt" "$here/seed_fields.txt" "$tmp/lines"
else
    "$test" "$here/seed_lines.txt" "$here/seed_fields.txt"
fi
