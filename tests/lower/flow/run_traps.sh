#!/bin/sh
# run_traps.sh HEDDLE DIRECTORY LEVEL [TARGET]: both engines end at the same place of a wrong program, and say where.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 level=$3 target=${4:-bru1}
work=$2/traps_O$level$target
# a native machine has one instruction for trap, brkpt, an index outside its table, and an address that is no function
breakpoint="breakpoint" index="brx.idx index out of range" null="indirect call target is no function at 0x0"
inside="indirect call target is no function"
[ "$target" = bru1 ] || breakpoint="trap instruction: BPT"
[ "$target" = bru1 ] || index=$breakpoint null=$breakpoint inside=$breakpoint
mkdir -p "$work"

# trap NAME PTX-PATTERN MACHINE-PATTERN: the body is standard input, thread i of 64 runs it; line 11 is its first
trap_at() {
  name=$1
  {
    printf '.version 8.0\n.target sm_75\n.address_size 64\n.visible .func f1(.reg .u32 a) { ret; }\n'
    printf '.visible .entry k(.param .u64 o)\n{\n .reg .u32 i, x; .reg .u64 p; .reg .pred q;\n ld.param.u64 p, [o];\n'
    printf ' mov.u32 i, %%tid.x;\n setp.eq.u32 q, i, 37;\n'
    cat
    printf ' ret;\n}\n'
  } > "$work/$name.ptx"
  check "$@"
}
check() {
  status=0 # both trap alike
  "$heddle" validate "$work/$1.ptx" --kernel k --block 64 --arg "out:o:u32[64]" "-O$level" -t "$target" > "$work/$1.txt" || status=$?
  [ $status = 5 ] && grep -q "PTX *$2" "$work/$1.txt" && grep -q "machine *$3" "$work/$1.txt" || { cat "$work/$1.txt"; exit 1; }
}
at37='k: line 11, .*block (0,0,0), thread (37,0,0):'
at0='k: line 11, .*block (0,0,0), thread (0,0,0):'
echo ' @q trap;' | trap_at trap "$at37 trap instruction" "$at37 trap instruction"
echo ' @q brkpt;' | trap_at brkpt "$at37 breakpoint" "$at37 $breakpoint"
echo ' P: .callprototype _ (.reg .u32 _); mov.u64 p, 0; call p, (i), P;' |
  trap_at null "$at0 indirect call target is no function at 0x0" "$at0 $null"
echo ' P: .callprototype _ (.reg .u32 _); mov.u64 p, f1; add.u64 p, p, 4; @q call p, (i), P;' |
  trap_at inside "$at37 indirect call target is no function" "$at37 $inside"
echo ' T: .branchtargets A, B, C, A, B; sub.u32 i, i, 33; max.s32 i, i, 0; add.u32 i, i, 1; brx.idx i, T; A: ret; B: ret; C: ret;' |
  trap_at table "$at37 brx.idx index out of range at 0x5" "$at37 $index"
echo ' T: .branchtargets A, B, C; sub.u32 i, i, 35; max.s32 i, i, 0; add.u32 i, i, 1; brx.idx i, T; A: ret; B: ret; C: ret;' |
  trap_at index "$at37 brx.idx index out of range at 0x3" "$at37 $index"
echo ' mov.u32 x, 48; bar.sync 0, x;' | trap_at count "$at0 barrier misuse: .*thread count 48" "$at0 barrier misuse: .*count 48"
echo ' @q bra L; bar.sync 0; bra E; L: bar.sync 0; E:' |
  trap_at diverged "k: line 11, .*aligned barrier in divergent code" "k: line 11, .*aligned barrier in divergent code"

# with .loc the line of the source language is named, too: of what traps, of who stored last, of both sides of a race
{
  printf '.version 8.0\n.target sm_75\n.address_size 64\n.file 3 "/a folder/k.cu"\n.visible .entry k(.param .u64 o)\n{\n'
  printf ' .reg .u32 i; .reg .u64 p; .reg .pred q; .shared .u32 s;\n .loc 3 70 1\n mov.u32 i, %%tid.x;\n ld.param.u64 p, [o];\n'
  printf ' .loc 3 71 5\n st.shared.u32 [s], i;\n .loc 3 0 0\n setp.eq.u32 q, i, 37;\n .loc 3 72 5\n @q trap;\n ret;\n}\n'
} > "$work/lines.ptx"
status=0
"$heddle" validate "$work/lines.ptx" --kernel k --block 64 --arg "out:o:u32[64]" "-O$level" -t "$target" > "$work/lines.txt" || status=$?
lines="k: line 16 (k.cu:72), pc .*thread (37,0,0): trap instruction"
[ $status = 5 ] && grep -q "PTX *$lines" "$work/lines.txt" && grep -q "machine *$lines" "$work/lines.txt" || { cat "$work/lines.txt"; exit 1; }
"$heddle" run "$work/lines.ptx" --engine ptx --races --block 64 --arg "out:o:u32[64]" 2> "$work/lines.txt" && exit 1
grep -q "line 12 (k.cu:71), st.shared.u32" "$work/lines.txt" && grep -q "^trap: $lines" "$work/lines.txt" || { cat "$work/lines.txt"; exit 1; }

cat > "$work/deep.ptx" <<'END'
.version 8.0
.target sm_75
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

# recursion that fits one engine fits the other
sed -e 's/ add.u32 b, a, 1;/ add.u32 b, a, 1;\n .reg .pred stop; setp.eq.u32 stop, a, 4000; st.param.u32 [r], a; @stop ret;/' \
  "$work/deep.ptx" > "$work/fits.ptx"
"$heddle" validate "$work/fits.ptx" --kernel k --block 1 --arg "out:o:u32[64]" "-O$level" -t "$target" > "$work/fits.txt" ||
  { cat "$work/fits.txt"; exit 1; }
# what does not is no difference, but cannot be compared
sed -e 's/ 4000; st/ 4200; st/' "$work/fits.ptx" > "$work/over.ptx"
status=0
"$heddle" validate "$work/over.ptx" --kernel k --block 1 --arg "out:o:u32[64]" "-O$level" -t "$target" > "$work/over.txt" 2>&1 ||
  status=$?
[ $status = 5 ] && grep -q "^k: not run" "$work/over.txt" && grep -q "stack is too small .*: stack exhausted" "$work/over.txt" || { cat "$work/over.txt"; exit 1; }

# What PTX leaves undefined and both engines may run alike: reported with line and lanes, exit status 4.
undefined() { # NAME PATTERN [TARGET]: the body is standard input; PATTERN empty: no alarm
  {
    sed -n "s/sm_75/${3:-sm_75}/;1,/setp.eq.u32/p" "$work/trap.ptx"
    cat
    printf ' ret;\n}\n'
  } > "$work/$1.ptx"
  status=0
  "$heddle" validate "$work/$1.ptx" --kernel k --block 64 --arg "out:o:u32[64]" "-O$level" -t "$target" > "$work/$1.txt" || status=$?
  if [ -z "$2" ]; then
    [ $status = 0 ] && ! grep -q undefined "$work/$1.txt" && return
  else
    [ $status = 4 ] && grep -q "PTX $2" "$work/$1.txt" && return
  fi
  echo "$1: status $status"
  cat "$work/$1.txt"
  exit 1
}
warp1='0x00000020 of warp 1'
others=0xffffffdf
uni=".uni instruction is not uniform"
div="aligned barrier in divergent code"
echo ' @q bra.uni L; add.u32 i, i, 1; L:' | undefined uni "k: line 11, .*$uni: bra.uni, lanes $warp1 go another way than $others"
echo ' @q bar.sync 0;' | undefined guarded "k: line 11, .*thread (37,0,0): $uni: bar.sync, lanes $warp1"
echo ' @!q bar.red.popc.u32 x, 0, q;' | undefined red "k: line 11, .*$uni: bar.red"
echo ' @q barrier.sync.aligned 1, 64; @!q barrier.sync.aligned 1, 64;' | undefined aligned "k: line 11, .*$uni: barrier.sync.aligned"
echo ' @q bra L; bar.sync 0; L: red.global.max.u32 [p], i;' |
  undefined around "k: line 11, .*$div: bar.sync, executed by lanes $others of warp 1 more often than by 0x00000020"
echo ' L: bar.sync 0; add.u32 i, i, 1; setp.lt.u32 q, i, 38; @q bra L; red.global.max.u32 [p], i;' |
  undefined loop "k: line 11, .*$div: bar.sync, executed by lanes 0x"
echo ' P: .branchtargets A, B; selp.u32 x, 1, 0, q; brx.idx.uni x, P; A: add.u32 i, i, 1; B: red.global.max.u32 [p], i;' |
  undefined brx_uni "k: line 11, .*$uni: brx.idx.uni"
echo ' @q barrier.sync 0; red.global.max.u32 [p], i;' | undefined unaligned ''
echo ' @q bra L; barrier.sync 0; L: red.global.max.u32 [p], i;' | undefined unaligned_around ''
echo ' @q exit; bar.sync 0; red.global.max.u32 [p], i;' | undefined exited ''
echo ' @q bra L; bar.sync 0; red.global.max.u32 [p], i; L:' | undefined left ''
echo ' and.b32 x, i, 32; setp.ne.u32 q, x, 0; @q bar.sync 1, 32; @q bra L; bar.sync 2, 32; L: red.global.max.u32 [p], i;' |
  undefined warps ''
echo ' mov.u32 x, 0; L: @q bra M; add.u32 i, i, 1; M: bar.sync 0; add.u32 x, x, 1; setp.lt.u32 q, x, 5; @q bra.uni L;' |
  undefined uniform_loop ''
# lanes that come to a .uni branch in different rounds of a loop
echo ' mov.u32 x, 0; L: xor.b32 i, i, 1; and.b32 i, i, 1; setp.ne.u32 q, i, 0; @q bra M; setp.gt.u32 q, x, 2; @q bra.uni M; add.u32 x, x, 1; M: add.u32 x, x, 1; setp.lt.u32 q, x, 9; @q bra L;' |
  undefined rounds ''
# a phase that warp 1 completes while lanes of warp 0 look, in loops of unequal many rounds, with barriers behind them
if [ "$target" != sm_75 ]; then
  echo ' .shared .b64 m; .reg .b64 d; mov.u32 x, %tid.x; setp.ne.u32 q, x, 0; @q bra I; mbarrier.init.shared.b64 [m], 64; I: bar.sync 0; mbarrier.arrive.shared.b64 d, [m]; W: mbarrier.test_wait.parity.shared.b64 q, [m], 0; @q bra.uni D; bra.uni W; D: mov.u32 x, 0; A: bar.sync 0; add.u32 x, x, 1; setp.gt.u32 q, x, 40; @q bra.uni E; bra.uni A; E: red.global.max.u32 [p], i;' |
    undefined waiting '' sm_80
  echo ' .shared .b64 m; .reg .b64 d; mov.u32 x, %tid.x; setp.ne.u32 q, x, 0; @q bra I; mbarrier.init.shared.b64 [m], 64; I: bar.sync 0; mbarrier.arrive.shared.b64 d, [m]; W: mbarrier.test_wait.parity.shared.b64 q, [m], 0; @q bra.uni D; bra.uni W; D: bar.sync 0; setp.eq.u32 q, i, 37; @q bra.uni E; add.u32 i, i, 1; E: red.global.max.u32 [p], i;' |
    undefined waited "k: line 11, .*$uni: bra.uni, lanes $warp1" sm_80
fi
# a flag that warp 1 sets while lanes of warp 0 look at it; and lanes that look at two places
echo ' .shared .b32 m; setp.eq.u32 q, i, 0; @q st.shared.u32 [m], 0; bar.sync 0; setp.eq.u32 q, i, 63; @q st.release.cta.shared.u32 [m], 1; W: ld.acquire.cta.shared.u32 x, [m]; setp.ne.u32 q, x, 0; @q bra.uni D; bra.uni W; D: red.global.max.u32 [p], i;' |
  undefined flag ''
echo ' .shared .b32 m[2]; .reg .b32 y; setp.eq.u32 q, i, 0; @q st.shared.u32 [m], 1; @q st.shared.u32 [m+4], 0; bar.sync 0; setp.eq.u32 q, i, 37; selp.u32 x, 4, 0, q; mov.u32 y, m; add.u32 x, x, y; ld.acquire.cta.shared.u32 x, [x]; setp.ne.u32 q, x, 0; @q bra.uni D; add.u32 i, i, 1; D: red.global.max.u32 [p], i;' |
  undefined flags "k: line 11, .*$uni: bra.uni, lanes $warp1"
# The machine says the same of code in which a barrier's word tells whether it needs the whole warp (sm_80), ours and
# ptxas's, and of ours where the PTX in the file tells it. LANES empty: no alarm
ptxas=$("$(dirname "$0")/../../find_nvidia.sh" ptxas || true)
on_machine() { # NAME LANES [ours]: ptxas's code is not run
  files=
  for machine in sm_80 bru1; do
    "$heddle" compile "$work/$1.ptx" "-O$level" -t $machine -o "$work/$1.$machine.cubin"
    files="$files $work/$1.$machine.cubin"
  done
  [ -n "${3:-}" ] || ! [ -x "$ptxas" ] || ! "$ptxas" -arch=sm_80 "-O$level" "$work/$1.ptx" -o "$work/$1.ptxas.cubin" || files="$files $work/$1.ptxas.cubin"
  for file in $files; do
    status=0
    "$heddle" run "$file" --kernel k --block 64 --arg "out:o:u32[64]" > "$work/run.txt" 2>&1 || status=$?
    if [ -z "$2" ]; then
      [ $status = 0 ] && continue
    else
      [ $status = 4 ] && grep -q "E-BAR-PARTIAL.* k pc 0x.*, warp 1, .* lanes $2 went around it" "$work/run.txt" && continue
    fi
    echo "$file: status $status"
    cat "$work/run.txt"
    exit 1
  done
}
on_machine around 0x00000020
on_machine loop 0xffffffe0
# (ptxas has the other lanes wait for the end of the region first, for ever)
on_machine unaligned '' ours
on_machine unaligned_around '' ours
for name in exited left warps uniform_loop rounds; do
  on_machine $name ''
done
"$heddle" run "$work/around.ptx" --kernel k --engine=ptx --block 64 --arg "out:o:u32[64]" > "$work/run.txt" 2>&1 && exit 1
grep -q "line 11, .*$div" "$work/run.txt" || { cat "$work/run.txt"; exit 1; }
# the machine, of assembly that has no WARPSYNC
cat > "$work/part.sass" <<'END'
.target bru1
.entry k
.barriers 1
  [B------:R-:W0:-:S01] S2R R0, SR_TID.X ;
  [B0-----:R-:W-:-:S13] ISETP.GE.U32.AND P0, PT, R0, 0x7, PT ;
  [B------:R-:W-:-:S05] @P0 BRA `(around) ;
  [B------:R-:W-:-:S05] BAR.SYNC 0x0 ;
around:
  [B------:R-:W-:-:S05] EXIT ;
END
"$heddle" asm "$work/part.sass" -o "$work/part.cubin"
status=0
"$heddle" run "$work/part.cubin" --block 32 > "$work/run.txt" 2>&1 || status=$?
[ $status = 4 ] && grep -q "E-BAR-PARTIAL.*pc 0x30, .*lanes 0000007f" "$work/run.txt" || { cat "$work/run.txt"; exit 1; }
# what the machine does not simulate is no difference: not run, exit status 5 (run: 1)
sed -e 's/ BAR.SYNC 0x0 ;/ RTT ;/' "$work/part.sass" > "$work/rtt.sass"
"$heddle" asm "$work/rtt.sass" -o "$work/rtt.cubin"
printf '.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n' > "$work/rtt.ptx"
for command in "1 run $work/rtt.cubin" "5 validate $work/rtt.ptx $work/rtt.cubin"; do
  status=0
  "$heddle" ${command#? } --block 32 > "$work/rtt.txt" 2>&1 || status=$?
  [ $status = "${command%% *}" ] && grep -q "not simulated: RTT" "$work/rtt.txt" || { echo "$command: $status"; cat "$work/rtt.txt"; exit 1; }
done
