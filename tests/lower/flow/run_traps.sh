#!/bin/sh
# run_traps.sh HEDDLE DIRECTORY LEVEL: both engines end at the same place of a wrong program, and say where.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 level=$3
work=$2/traps_O$level
mkdir -p "$work"

# trap NAME PTX-PATTERN MACHINE-PATTERN: the body is standard input, thread i of 64 runs it; line 11 is its first
trap_at() {
  name=$1
  {
    printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .func f1(.reg .u32 a) { ret; }\n'
    printf '.visible .entry k(.param .u64 o)\n{\n .reg .u32 i, x; .reg .u64 p; .reg .pred q;\n ld.param.u64 p, [o];\n'
    printf ' mov.u32 i, %%tid.x;\n setp.eq.u32 q, i, 37;\n'
    cat
    printf ' ret;\n}\n'
  } > "$work/$name.ptx"
  check "$@"
}
check() {
  "$heddle" validate "$work/$1.ptx" --kernel k --block 64 --arg "out:o:u32[64]" "-O$level" > "$work/$1.txt" || {
    cat "$work/$1.txt"
    exit 1
  }
  grep -q "PTX *$2" "$work/$1.txt" && grep -q "machine *$3" "$work/$1.txt" || { cat "$work/$1.txt"; exit 1; }
}
at37='k: line 11, .*block (0,0,0), thread (37,0,0):'
at0='k: line 11, .*block (0,0,0), thread (0,0,0):'
echo ' @q trap;' | trap_at trap "$at37 trap instruction" "$at37 trap instruction"
echo ' @q brkpt;' | trap_at brkpt "$at37 breakpoint" "$at37 breakpoint"
echo ' P: .callprototype _ (.reg .u32 _); mov.u64 p, 0; call p, (i), P;' |
  trap_at null "$at0 indirect call target is no function at 0x0" "$at0 indirect call target is no function at 0x0"
echo ' P: .callprototype _ (.reg .u32 _); mov.u64 p, f1; add.u64 p, p, 4; @q call p, (i), P;' |
  trap_at inside "$at37 indirect call target is no function" "$at37 indirect call target is no function"
echo ' mov.u32 x, 16; bar.sync x;' | trap_at number "$at0 barrier misuse" "$at0 barrier misuse"
echo ' T: .branchtargets A, B, C; sub.u32 i, i, 35; max.s32 i, i, 0; add.u32 i, i, 1; brx.idx i, T; A: ret; B: ret; C: ret;' |
  trap_at index "$at37 brx.idx index out of range at 0x3" "$at37 brx.idx index out of range"
echo ' mov.u32 x, 48; bar.sync 0, x;' | trap_at count "$at0 barrier misuse: .*thread count 48" "$at0 barrier misuse: .*count 48"
echo ' @q bra L; bar.sync 0; bra E; L: bar.sync 0; E:' |
  trap_at diverged "k: line 11, .*aligned barrier in divergent code" "k: line 11, .*aligned barrier in divergent code"

cat > "$work/deep.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) down(.param .b32 n)
{
    .local .align 4 .b8 mine[64];
    .reg .u32 a, b;
    ld.param.u32 a, [n];
    st.local.u32 [mine], a;
    add.u32 b, a, 1;
    {
        .param .b32 x;
        .param .b32 y;
        st.param.u32 [x], b;
        call (y), down, (x);
        ld.param.u32 b, [y];
    }
    ld.local.u32 a, [mine];
    add.u32 a, a, b;
    st.param.u32 [r], a;
    ret;
}
.visible .entry k(.param .u64 o)
{
    .reg .u32 i, x;
    .reg .u64 p;
    ld.param.u64 p, [o];
    mov.u32 i, %tid.x;
    {
        .param .b32 n;
        .param .b32 s;
        st.param.u32 [n], i;
        call (s), down, (n);
        ld.param.u32 x, [s];
    }
    st.global.u32 [p], x;
    ret;
}
END
check deep "k: line 15, .*block (0,0,0), thread (0,0,0): stack exhausted" \
  "k: line [0-9]*, .*block (0,0,0), thread (0,0,0): stack exhausted.*in down"

# what the reference interpreter alone can see: promises of uniformity that do not hold
promise() {
  "$heddle" run "$work/$1.ptx" --kernel k --engine=ptx --undefined --block 64 --arg "out:o:u32[64]" > "$work/$1.txt" 2>&1 || true
  grep -q "$2" "$work/$1.txt" || { cat "$work/$1.txt"; exit 1; }
}
{ sed 's/ @q trap;/ @q bra.uni L; add.u32 i, i, 1; L:/' "$work/trap.ptx"; } > "$work/uni.ptx"
promise uni "line 11, .*thread (37,0,0): .uni instruction is not uniform: bra.uni"
sed 's/ @q trap;/ @q bar.sync 0;/' "$work/trap.ptx" > "$work/guarded.ptx"
promise guarded "line 11, .*thread (37,0,0): .uni instruction is not uniform: bar.sync"
