#!/bin/sh
# seed_fields.sh ISAGEN EXTRACT SPEC-DIR: every field of the source texts (opcode, name, position, width, default)
# is in the tables of bru1 and no other. Where the source texts are at hand they are read again.
# SPDX-License-Identifier: MIT
set -eu
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$1" -f bru1 targets.isa common.isa bru.isa bcu.isa | sort >"$tmp/tables"
sort "$here/seed_fields.txt" >"$tmp/source"
test "$(wc -l <"$tmp/source")" -gt 300
diff "$tmp/source" "$tmp/tables"
set -- "$1" "$2" "$3"/000_*.txt "$3"/001_*.txt
if [ -f "$3" ] && [ -f "$4" ]; then
    "$2" "$3" "$4" | sort | diff "$tmp/source" -
    echo "compared with the source texts"
else
    echo "source texts not found; compared with seed_fields.txt"
fi
