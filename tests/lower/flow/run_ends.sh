#!/bin/sh
# run_ends.sh HEDDLE DIRECTORY TARGET: an access of the last bytes of a buffer is one of no other byte: the machine computes what
# the interpreter does, and both trap when the buffer ends one element earlier.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 target=$3
work=$2/ends_$target
mkdir -p "$work"

# access BYTES SIZE: the body is standard input; it accesses BYTES bytes at a, the SIZE of a cp.async is n
access() {
  bytes=$1 size=$2
  {
    printf '.version 8.0\n.target %s\n.address_size 64\n' "$([ "$target" = bru1 ] && echo sm_90 || echo "$target")"
    printf '.visible .entry k(.param .u64 b, .param .u64 o, .param .u64 at, .param .u32 size) {\n'
    printf '.reg .b64 a, p, x, y; .reg .b32 n, u, v, w, z; .reg .b16 h; .reg .f32 f; .shared .align 16 .b8 area[16];\n'
    printf 'ld.param.u64 a, [b]; ld.param.u64 p, [o]; ld.param.u64 x, [at]; ld.param.u32 n, [size]; add.u64 a, a, x;\n'
    printf 'mov.u64 x, 1; mov.u64 y, 2; mov.u32 u, 3; mov.u32 v, 4; mov.u32 w, 5; mov.u32 z, 6; mov.u16 h, 7; mov.f32 f, 0f3f800000;\n'
    cat
    printf 'cvt.u32.u16 n, h; add.u32 u, u, n; mov.b32 n, f; xor.b32 u, u, n;\n'
    printf 'st.global.v4.u32 [p], {u, v, w, z}; st.global.v2.u64 [p+16], {x, y}; ret; }\n'
  } >"$work/k.ptx"
  for level in 0 3; do
    for short in 0 1; do
      # the access begins at 64, so that it is aligned, and the buffer ends with it, or before its last element
      length=$((64 + bytes)) want=0
      [ $short = 0 ] || { length=$((64 + bytes - (bytes > 4 ? 4 : bytes))) want=5; }
      [ $length -gt 64 ] || [ $short = 0 ] || length=64
      [ "$bytes" -gt 0 ] || [ $short = 0 ] || continue
      status=0
      "$heddle" validate "$work/k.ptx" --kernel k --block 1 -t "$target" -O$level --arg "out:b:u8[$length]=iota" \
        --arg "out:o:u32[8]=zero" --arg u64:64 --arg "u32:$size" >"$work/k.txt" 2>&1 || status=$?
      [ $status = $want ] && { [ $want = 0 ] || grep -q 'out of bounds\|out of range\|outside' "$work/k.txt"; } || {
        echo "-O$level, a buffer of $length bytes: status $status, not $want"
        cat "$work/k.ptx" "$work/k.txt"
        exit 1
      }
    done
  done
}

for row in '1 ld.global.u8 h' '1 ld.global.s8 u' '2 ld.global.u16 h' '4 ld.global.u32 u' '4 ld.global.nc.f32 f' '8 ld.global.u64 x' \
  '2 ld.global.v2.u8 {u,v}' '4 ld.global.v4.u8 {u,v,w,z}' '4 ld.global.v2.u16 {u,v}' '8 ld.global.v2.u32 {u,v}' \
  '16 ld.global.v4.u32 {u,v,w,z}' '16 ld.global.v2.u64 {x,y}' '8 ld.acquire.gpu.global.u64 x' '4 ld.volatile.u32 u' '8 ld.u64 x'; do
  set -- $row
  echo "$2 $3, [a];" | access "$1" 0
done
for row in '1 st.global.u8 u' '2 st.global.u16 h' '4 st.global.f32 f' '8 st.global.u64 x' '4 st.global.v4.u8 {u,v,w,z}' \
  '8 st.global.v2.u32 {u,v}' '16 st.global.v4.u32 {u,v,w,z}' '4 red.global.add.u32 u' '8 red.global.add.u64 x' '8 st.release.gpu.u64 y'; do
  set -- $row
  echo "$2 [a], $3;" | access "$1" 0
done
for row in '4 atom.global.add.u32_u,[a],v' '8 atom.global.add.u64_x,[a],y' '8 atom.global.cas.b64_x,[a],x,y' '4 atom.exch.b32_u,[a],v' \
  '4 atom.global.max.s32_u,[a],v' '4 atom.global.add.f32_f,[a],f'; do
  set -- $row
  echo "$(echo "$2" | tr _ ' ');" | access "$1" 0
done
if [ "$target" != sm_75 ]; then
  for bytes in 4 8 16; do
    size=0
    echo "st.shared.v4.u32 [area], {u,v,w,z}; cp.async.ca.shared.global [area], [a], $bytes; cp.async.wait_all; ld.shared.v4.u32 {u,v,w,z}, [area];" | access $bytes 0
    while [ $size -le $bytes ]; do # a part of a word is read with its word
      echo "st.shared.v4.u32 [area], {u,v,w,z}; cp.async.ca.shared.global [area], [a], $bytes, n; cp.async.wait_all;" \
        "ld.shared.v4.u32 {u,v,w,z}, [area];" | access $(((size + 3) / 4 * 4)) $size
      size=$((size + 1))
    done
  done
fi
