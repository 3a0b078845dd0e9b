#!/bin/sh
# run_pages.sh ISAGEN: a page of ok_features.isa says what the description says in words; only files that change are
# written again.
# SPDX-License-Identifier: MIT
set -eu
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
make() { "$1" -o "$tmp/g.h" "$tmp/t.c" -d "$tmp" "$tmp/machine.isa"; }
cp "$here/ok_features.isa" "$tmp/machine.isa"
make "$1"
sed -n '/^\*\*Description/,/^### MIX/{/^### MIX/d;p}' "$tmp/isa-one.md" | diff - "$here/ok_features.md"
grep -q '^| sm_warps | 48 |' "$tmp/isa-newer.md"

# newer FILE...: exactly these are newer than they were made
outputs="g.h t.c isa-one.md isa-two.md isa-side.md isa-newer.md isa-alone.md"
age() { for f in $outputs; do touch -d 2001-01-01 "$tmp/$f"; done; touch -d 2001-01-02 "$tmp/mark"; }
newer() {
    for f in $outputs; do
        if [ "$tmp/$f" -nt "$tmp/mark" ]; then echo "$f"; fi
    done | tr '\n' ' ' >"$tmp/written"
    if [ "$(cat "$tmp/written")" != "$1" ]; then
        echo "$2: written '$(cat "$tmp/written")', expected '$1'"
        exit 1
    fi
}
age
echo '// a comment' >>"$tmp/machine.isa"
make "$1"
newer "" "a comment"
sed -i 's/Prose is text/Prose is prose/' "$tmp/machine.isa"
make "$1"
newer "isa-one.md isa-two.md isa-side.md isa-newer.md " "prose"
age
sed -i 's/sm_warps = 48/sm_warps = 47/' "$tmp/machine.isa"
make "$1"
newer "t.c isa-two.md isa-newer.md " "a property"
