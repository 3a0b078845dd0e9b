#!/bin/sh
# run_link.sh HEDDLE DIRECTORY LEVEL [TARGET]: two modules linked, as PTX and as objects, in both orders; errors of linking.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 level=$3 target=${4:-bru1} here=$(dirname "$0")/link
work=$2/link_O$level$target
mkdir -p "$work"
run="--kernel k --block 32 --arg out:o:u32[256] --expect o=$(cat "$here/expected.txt")"
"$heddle" validate "$here/main.ptx" "$here/lib.ptx" $run "-O$level" -t "$target"
"$heddle" validate "$here/lib.ptx" "$here/main.ptx" $run "-O$level" -t "$target"
for f in main lib; do
  "$heddle" compile -c -t "$target" "$here/$f.ptx" -o "$work/$f.o"
done
"$heddle" link "$work/main.o" "$work/lib.o" "-O$level" -o "$work/all.cubin"
"$heddle" run "$work/all.cubin" $run > "$work/run.txt"
"$heddle" validate "$work/main.o" "$here/lib.ptx" "$work/all.cubin" $run

# objects say which machine they are for
"$heddle" disasm --sections "$work/all.cubin" | grep -q "\.target.$target\$" || { echo "linked for another machine"; exit 1; }

refuse() { # TEXT FILE...: linking fails and says so
  text=$1
  shift
  if "$heddle" link "$@" -o "$work/bad.cubin" 2> "$work/errors.txt"; then
    echo "linking $* should have failed"
    exit 1
  fi
  grep -q -- "$text" "$work/errors.txt" || { cat "$work/errors.txt"; exit 1; }
}
refuse "scale is used in .*main.ptx, but no file defines it" "$here/main.ptx"
head=".version 8.0
.target sm_75
.address_size 64"
# the driver's functions, which several files declare, each with variables in front of the declaration
for n in 1 2 3 4; do
  printf '%s\n.extern .global .u64 a, b;\n.extern .func (.param .u32 r) vprintf(.param .u64 f, .param .u64 v);\n.visible .func f%s(.param .u64 in)
{ .param .u64 p<2>; .param .u32 r; .reg .u64 x; ld.param.u64 x, [in]; st.param.u64 [p0], x; st.param.u64 [p1], x; call (r), vprintf, (p0, p1); ret; }\n' \
    "$head" $n >"$work/prints$n.ptx"
done
printf '%s\n.global .u8 small<5>;\n.visible .global .u64 a, b;\n.visible .entry k() { ret; }\n' "$head" >"$work/prints.ptx"
"$heddle" link -t "$target" "$work"/prints*.ptx -o "$work/prints.cubin"
printf '%s\n.visible .func (.reg .u32 r) chosen(.reg .u32 a)\n{\n mov.u32 r, a;\n ret;\n}\n' "$head" > "$work/twice.ptx"
refuse "chosen is defined both in .*lib.ptx and in .*twice.ptx" "$here/main.ptx" "$here/lib.ptx" "$work/twice.ptx"
"$heddle" compile -c -t sm_86 "$here/lib.ptx" -o "$work/sm_86.o"
refuse "it was compiled for sm_86, another object for $target" "$work/main.o" "$work/sm_86.o"
printf '%s\n.extern .func (.reg .u64 r) chosen(.reg .u32 a);\n' "$head" > "$work/other.ptx"
refuse "chosen does not agree in .*: their parameters or results differ" "$here/main.ptx" "$here/lib.ptx" "$work/other.ptx"
printf '%s\n.extern .global .align 4 .b32 counter[2];\n' "$head" > "$work/size.ptx"
refuse "counter does not agree in .*: their sizes differ" "$here/main.ptx" "$here/lib.ptx" "$work/size.ptx"

# kernels and functions that two modules keep to themselves: of the second one they are renamed
for n in 1 2; do
  printf '%s\n.func (.reg .u32 r) f()\n{\n mov.u32 r, 3%s;\n ret;\n}\n' "$head" $n
  printf '.entry own(.param .u64 o)\n{\n .reg .u32 a; .reg .u64 p;\n ld.param.u64 p, [o];\n call (a), f;\n st.global.u32 [p], a;\n ret;\n}\n'
done > "$work/both.txt"
for n in 1 2; do
  awk -v n=$n '/^\.version/ { k++ } k == n' "$work/both.txt" > "$work/own$n.ptx"
  "$heddle" compile -c -t "$target" "$work/own$n.ptx" -o "$work/own$n.o"
done
"$heddle" link "$work/own1.o" "$work/own2.o" "-O$level" -o "$work/own.cubin"
"$heddle" run "$work/own.cubin" --kernel own --arg "out:o:u32[1]" --expect o=31 > "$work/run.txt"
"$heddle" run "$work/own.cubin" --kernel 'own$2' --arg "out:o:u32[1]" --expect o=32 > "$work/run.txt"

# parts of an address in constant memory, as initialisers
{
  printf '.version 8.0\n.target sm_75\n.address_size 64\n.const .align 4 .b8 before[0x1234] = {1};\n'
  printf '.const .align 4 .u32 table[2] = {1, 2};\n.const .u8 part[3] = {0xff(table), 0xff00(table), 0xff0000(table)};\n'
  printf '.visible .entry k(.param .u64 o)\n{\n .reg .u32 a, b, c; .reg .u64 p;\n ld.param.u64 p, [o];\n'
  printf ' ld.const.u8 a, [part]; ld.const.u8 b, [part + 1]; ld.const.u8 c, [part + 2];\n'
  printf ' st.global.u8 [p], a; st.global.u8 [p + 1], b; st.global.u8 [p + 2], c; mov.u32 a, table; st.global.u32 [p + 4], a;\n ret;\n}\n'
} > "$work/parts.ptx"
"$heddle" compile "$work/parts.ptx" "-O$level" -t "$target" -o "$work/parts.elf"
"$heddle" run "$work/parts.elf" --arg "out:o:u32[2]" --expect o=0x1234,0x1234
