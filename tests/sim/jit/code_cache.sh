#!/bin/sh
# code_cache.sh HEDDLE KERNELS DIRECTORY: compiled code on disk. A second run of a kernel finds it and does not open libLLVM;
# memory and statistics are the interpreter's both times. Files that are damaged, cut or not the user's alone are compiled
# again; there is a bound to the folder, and an off switch. Skipped (77) where there is no libLLVM of version 19 or later,
# or no host level for compiled code.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/../../part.sh"
heddle=$1 kernels=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
export XDG_CACHE_HOME="$work/xdg"
cache=$work/xdg/heddle
"$heddle" compile "$kernels/xorsh.ptx" -o "$work/k.cubin"
sed 's/"repeat": 10/"repeat": 1/' "$kernels/xorsh.json" > "$work/short.json"
fail() { echo "$*" && exit 1; }
machine() { # FILE OPTIONS...
    out=$1
    shift
    "$heddle" run "$work/k.cubin" --launch "$work/short.json" --print out --stats "$@" > "$work/$out.all"
    grep -v -e ' M/s' -e '^compiled' "$work/$out.all" > "$work/$out"
}
expect() { # FOUND COMPILED WHAT OPTIONS...: runs it
    found=$1 compiled=$2 what=$3
    shift 3
    machine jit --engine=jit "$@"
    cmp "$work/interp" "$work/jit"
    grep -q "^compiled *$compiled regions.* $found found on disk" "$work/jit.all" || fail "$what: $(grep '^compiled' "$work/jit.all")"
}
machine interp --engine=interp
machine jit --engine=jit --jit-cache=none
case $(grep '^compiled' "$work/jit.all") in
*"no libLLVM of version"* | *"not on this host"*) grep '^compiled' "$work/jit.all" && exit 77 ;;
esac
[ ! -e "$cache" ] || fail "none made a folder"
readelf -n "$heddle" | grep -q 'Build ID' || { echo "skipped: this build has no build-id" && exit 77; }

expect 0 1 "the first run"
expect 1 0 "the second run"
# With auto stencils come before, so it is the region that they have which is compiled, by another thread. A launch may end
# before that thread has done its work, whatever the host gives it: the next one has twice as much to do.
finds() { # REPEAT: code on disk, without libLLVM
    sed "s/\"repeat\": 10/\"repeat\": $1/" "$kernels/xorsh.json" > "$work/long.json"
    LD_DEBUG=files "$heddle" run "$work/k.cubin" --launch "$work/long.json" --stats --jit-cache="$work/auto" 2> "$work/loaded" > "$work/auto.all"
    grep -q 'file=' "$work/loaded" || fail "what is loaded is not seen"
    ! grep -q 'libLLVM' "$work/loaded" && grep -q '^compiled *0 regions.* 1 found on disk' "$work/auto.all"
}
repeat=10
until finds $repeat; do
    repeat=$((2 * repeat))
    [ $repeat -le 1280 ] || fail "libLLVM was opened, or nothing found: $(grep '^compiled' "$work/auto.all")"
done
# Where the host is busy, a launch is too short for LLVM; what it executed is kept, and a later run of it is compiled. The
# processor that the launch has is made busy here; whether it was so to the launch, its files say.
sed "s/\"repeat\": 10/\"repeat\": 5/" "$kernels/xorsh.json" > "$work/again.json"
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
taskset -c "$cpu" sh -c 'while :; do :; done' &
busy=$!
trap 'kill $busy' EXIT
again() { taskset -c "$cpu" "$heddle" run "$work/k.cubin" --launch "$work/again.json" --stats --jit-cache="$work/again" > "$work/again.all"; }
try=0
while ! ls "$work"/again/*.heat > /dev/null 2>&1 || ls "$work"/again/*.code > /dev/null 2>&1; do
    rm -rf "$work/again"
    [ $((try += 1)) -le 8 ] || fail "nothing is kept of what was executed: $(grep '^compiled' "$work/again.all")"
    again
done
try=0
until ls "$work"/again/*.code > /dev/null 2>&1; do
    [ $((try += 1)) -le 8 ] || fail "what is run again and again is not compiled: $(grep '^compiled' "$work/again.all")"
    again
done
again
grep -q '^compiled *0 regions.* 1 found on disk' "$work/again.all" || fail "$(grep '^compiled' "$work/again.all")"
kill $busy
trap - EXIT
# Where warps come for a few instructions at a time stencils are faster, whatever is on disk.
samples=$kernels/../../ptx-samples
"$heddle" compile "$samples/nqueens.ptx" -o "$work/nqueens.cubin"
sed -e 's/"args"/"repeat": 40, "args"/' -e '/"checks"/d' -e 's/]}],$/]}]}/' "$samples/nqueens.json" > "$work/nqueens.json"
brief() { "$heddle" run "$work/nqueens.cubin" --launch "$work/nqueens.json" --stats --jit-cache="$work/brief" "$@" > "$work/brief.all"; }
brief --engine=jit --jit-after=20000
brief --engine=auto
grep -q '^compiled *0 regions.* 0 found on disk' "$work/brief.all" || fail "brief: $(grep '^compiled' "$work/brief.all")"
ls "$work"/brief/*.code > /dev/null || fail "nothing was on disk"
expect 0 1 "the off switch" --jit-cache=none
expect 0 1 "another folder" --jit-cache="$work/other/place"
expect 1 0 "another folder again" --jit-cache="$work/other/place"
expect 0 1 "no folder can be" --jit-cache=/proc/self/no/place

file=$(echo "$cache"/*.code)
[ -f "$file" ] && [ "$(stat -c %a "$cache")" = 700 ] && [ "$(stat -c %a "$file")" = 600 ] || fail "files: $(ls -l "$cache")"
cp "$file" "$work/good"
size=$(stat -c %s "$file")
for at in 0 9 30 40 100 $((size - 1)); do # magic, digest, size, entry, library, code
    mine || continue
    cp "$work/good" "$file"
    printf '\351' | dd of="$file" bs=1 seek=$at conv=notrunc 2>/dev/null
    expect 0 1 "byte $at changed"
    expect 1 0 "replaced after byte $at"
done
head -c $((size - 1)) "$work/good" > "$file"
expect 0 1 "cut"
: > "$file"
expect 0 1 "empty"
chmod 666 "$file"
expect 0 1 "anybody writes"
mv "$file" "$work/away" && ln -s "$work/away" "$file"
expect 0 1 "a link"
rm -rf "$file" && mkdir "$file"
expect 0 1 "a folder in its place"
rmdir "$file"
mkfifo "$file"
expect 0 1 "a pipe in its place"
rm "$file"

i=0
while [ $i -lt 70 ]; do
    i=$((i + 1))
    truncate -s 1M "$cache/$i.code"
    touch -d "2020-01-01 00:00:$((i % 60))" "$cache/$i.code"
done
truncate -s 1M "$cache/new-dead" && touch -d 2020-01-01 "$cache/new-dead" && echo kept > "$cache/mine"
expect 0 1 "a full folder"
left=$(cat "$cache"/*.code | wc -c)
[ "$left" -le $((48 << 20)) ] && [ -f "$file" ] && [ -f "$cache/mine" ] && [ ! -e "$cache/new-dead" ] || fail "$left bytes are left"
expect 1 0 "its file was the newest"
