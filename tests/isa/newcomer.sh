#!/bin/sh
# newcomer.sh HEDDLE SAMPLES HEADER NEW-HEADER: a program whose tables have one more target, sm_87, by one entry of
# targets.isa. It compiles every sample for it as for sm_86, stall for stall: the files differ in e_flags alone. No C code
# sees the entry: the generated header is the same.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 samples=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
fail() { echo "FAIL: $*"; status=1; }

cmp "$3" "$4" || fail "the header of the tables changed"
"$heddle" compile --help | grep -q 'sm_87' || fail "help does not name the newcomer"
# e_flags are the bytes 49 to 52: 0x06005604 and 0x06005704
printf '50 126 127\n' >"$tmp/flags"
n=0
for f in "$samples"/*.ptx; do
    n=$((n + 1))
    name=$(basename "$f" .ptx)
    for target in sm_86 sm_87; do
        "$heddle" compile "$f" -t $target -o "$tmp/$target" || fail "$name: -t $target"
    done
    cmp -l "$tmp/sm_86" "$tmp/sm_87" | tr -s ' ' | sed 's/^ //' | cmp -s - "$tmp/flags" ||
        fail "$name: more than e_flags differs from sm_86"
    "$heddle" check "$tmp/sm_87" >"$tmp/out" || { fail "$name: check"; cat "$tmp/out"; }
done
[ $n -ge 26 ] || fail "$n samples only"
# the rest of the program knows it too: text back and forth, its own limits
"$heddle" disasm --sections "$tmp/sm_87" -o "$tmp/k.sass" && grep -q '\.target[[:space:]]sm_87' "$tmp/k.sass" || fail "disasm"
"$heddle" asm "$tmp/k.sass" -o "$tmp/again" && cmp "$tmp/sm_87" "$tmp/again" || fail "asm"
printf '.target sm_87\n.entry k\n.shared 166912\nEXIT ;\n' >"$tmp/s.sass"
"$heddle" asm "$tmp/s.sass" -o "$tmp/s" || fail "163 KiB of shared memory on sm_87"
sed -i 's/sm_87/sm_86/' "$tmp/s.sass"
"$heddle" asm "$tmp/s.sass" -o "$tmp/s" 2>"$tmp/out" && fail "163 KiB of shared memory on sm_86"
"$heddle" validate "$samples/collatz.ptx" -t sm_87 --launch auto >"$tmp/out" 2>&1 || { fail "validate"; cat "$tmp/out"; }
exit $status
