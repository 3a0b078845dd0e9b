#!/bin/sh
# objects.sh HEDDLE HEDDLE_PTXAS SOURCES DIRECTORY: two modules as objects of heddle-ptxas -c, heddle compile -c and ptxas -c, in
# every mixture joined by nvlink: the program does what the PTX of both does. nvdisasm and cuobjdump read the objects, heddle
# link takes ours as well. Skipped (77) without ptxas and nvlink.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 ours=$2 from=$3 work=$4
nvlink=$(dirname "$PTXAS")/nvlink
[ -x "$nvlink" ] || nvlink=$(command -v nvlink) || { echo "no nvlink was found" >&2; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cp "$from"/*.ptx "$work"
cd "$work"
equal() { # NAME BINARY: beside the reference of both modules
    "$heddle" validate one.ptx two.ptx "$2" --kernel _Z1kPiPKfi --grid 2 --block 64 --arg 'out:o:s32[3072]' \
        --arg 'buf:f32[256]=random:7' --arg s32:9 --shared 256 >out 2>&1 && grep -q ': equal' out || { echo "$1:"; cat out; exit 1; }
}
# each kernel uses its own of the module's shared variables
cat >apart.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.shared .align 4 .f32 one;
.shared .align 16 .f32 two;
.visible .entry k1() { .reg .f32 %f; ld.shared.f32 %f, [one]; st.shared.f32 [one], %f; ret; }
.visible .entry k2() { .reg .f32 %f; ld.shared.f32 %f, [one]; st.shared.f32 [two], %f; ret; }
END
"$ours" -arch=sm_80 -c apart.ptx -o apart.o
"$nvlink" --arch=sm_80 apart.o -o apart.cubin || { echo "nvlink does not take apart.o"; exit 1; }
# what a function keeps for its caller lies beside what it spills
{
    printf '.version 8.0\n.target sm_75\n.address_size 64\n.visible .func many(.param .b64 p)\n{ .reg .b32 %%r<280>; .reg .b64 %%d; ld.param.u64 %%d, [p];\n'
    seq 0 279 | awk '{ printf "ld.global.u32 %%r%d, [%%d+%d];\n", $1, 4 * $1 }'
    seq 0 279 | awk '{ printf "st.global.u32 [%%d+%d], %%r%d;\n", 4 * $1, 279 - $1 }'
    echo 'ret; }'
} >many.ptx
cat >keeps.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.extern .func many(.param .b64 p);
.visible .entry keeps(.param .u64 p)
{ .reg .b32 %r<4>; .reg .b64 %d; ld.param.u64 %d, [p]; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d+1120];
  { .param .b64 q; st.param.b64 [q], %d; call many, (q); } st.global.v4.u32 [%d+1136], {%r0, %r1, %r2, %r3}; ret; }
END
for name in many keeps; do "$ours" -arch=sm_80 -c $name.ptx -o $name.o; done
"$nvlink" --arch=sm_80 many.o keeps.o -o kept.cubin
"$heddle" validate keeps.ptx many.ptx kept.cubin --kernel keeps --block 1 --arg 'out:p:u32[288]=iota' >out 2>&1 || { cat out; exit 1; }
# of a kernel that calls a recursive function in two places nvlink says once, as of ptxas's object, that nobody knows its stack
cat >self.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.func down(.param .u32 n) { .reg .u32 a; .reg .pred q; ld.param.u32 a, [n]; setp.eq.u32 q, a, 0; @q ret; sub.u32 a, a, 1;
 { .param .u32 m; st.param.u32 [m], a; call down, (m); } { .param .u32 m; st.param.u32 [m], a; call down, (m); } ret; }
.visible .entry k() { { .param .u32 m; st.param.u32 [m], 3; call down, (m); } { .param .u32 m; st.param.u32 [m], 4; call down, (m); } ret; }
END
"$ours" -arch=sm_80 -c self.ptx -o self.o
"$nvlink" --arch=sm_80 self.o -o self.cubin >said 2>&1
[ "$(grep -c 'cannot be statically determined' said)" = 1 ] || { cat said; exit 1; }
# objects of ptxas that name shared and constant variables in addresses, c[..] among them, are read
cat >named.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.shared .align 4 .u32 s[8];
.const .align 4 .u32 c[4] = {1, 2, 3, 4};
.visible .func (.param .u32 r) f(.param .u32 a)
{ .reg .u32 %r<5>; ld.param.u32 %r1, [a]; ld.const.u32 %r2, [c+8]; st.shared.u32 [s+4], %r2;
  ld.shared.u32 %r3, [s+8]; add.u32 %r4, %r3, %r1; st.param.u32 [r], %r4; ret; }
.visible .entry k(.param .u64 p)
{ .reg .u32 %r<3>; .reg .u64 %d; ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d]; { .param .u32 a; .param .u32 r;
  st.param.u32 [a], %r1; call (r), f, (a); ld.param.u32 %r2, [r]; } st.global.u32 [%d], %r2; ret; }
END
# kernels of one name that two objects keep to themselves; a frame, whose stack nvlink says
for n in 1 2; do
    cat >hidden$n.ptx <<END
.version 8.0
.target sm_75
.address_size 64
.entry hidden(.param .u64 p) { .reg .u64 %d; .reg .u32 %r; ld.param.u64 %d, [p]; mov.u32 %r, 7$n; st.global.u32 [%d], %r; ret; }
.visible .entry seen$n(.param .u64 p, .param .u32 i) { .reg .u64 %d<3>; .reg .u32 %r; .local .align 4 .b8 l[64]; ld.param.u64 %d0, [p];
  ld.param.u32 %r, [i]; mul.wide.u32 %d1, %r, 4; mov.u64 %d2, l; add.u64 %d2, %d2, %d1; mov.u32 %r, 8$n; st.local.u32 [%d2], %r;
  ld.local.u32 %r, [l+8]; st.global.u32 [%d0], %r; ret; }
END
done
# a table of functions that the other object defines; a local function that calls itself, from an open one. A sum over the list 5, 6, 7
# by the table's second function
cat >list.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.extern .func add(.param .u64 at, .param .u32 x);
.extern .func twice(.param .u64 at, .param .u32 x);
.global .align 8 .u64 table[2] = {add, twice};
.func each(.param .u64 at, .param .u32 x, .param .u64 f)
{ .reg .u64 %p, %f; .reg .u32 %x; .reg .pred %q; ld.param.u64 %p, [at]; ld.param.u32 %x, [x]; ld.param.u64 %f, [f];
  setp.gt.u32 %q, %x, 7; @%q bra END;
  { P: .callprototype _ (.param .u64 _, .param .u32 _);
  .param .u64 a; .param .u32 b; st.param.u64 [a], %p; st.param.u32 [b], %x; call %f, (a, b), P; }
  add.u32 %x, %x, 1; { .param .u64 a; .param .u32 b; .param .u64 c; st.param.u64 [a], %p; st.param.u32 [b], %x; st.param.u64 [c], %f;
  call each, (a, b, c); }
END: ret; }
.visible .func all(.param .u64 at, .param .u32 first)
{ .reg .u64 %p, %f; .reg .u32 %x; ld.param.u64 %p, [at]; ld.param.u32 %x, [first]; ld.global.u64 %f, [table+8];
  { .param .u64 a; .param .u32 b; .param .u64 c; st.param.u64 [a], %p; st.param.u32 [b], %x; st.param.u64 [c], %f; call each, (a, b, c); }
  ret; }
END
cat >user.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.extern .func all(.param .u64 at, .param .u32 first);
.visible .func add(.param .u64 at, .param .u32 x)
{ .reg .u64 %p; .reg .u32 %x, %y; ld.param.u64 %p, [at]; ld.param.u32 %x, [x]; ld.u32 %y, [%p]; add.u32 %y, %y, %x; st.u32 [%p], %y; ret; }
.visible .func twice(.param .u64 at, .param .u32 x)
{ .reg .u64 %p; .reg .u32 %x, %y; ld.param.u64 %p, [at]; ld.param.u32 %x, [x]; ld.u32 %y, [%p]; mad.lo.u32 %y, %x, 2, %y; st.u32 [%p], %y; ret; }
.visible .entry sums(.param .u64 p) { .reg .u64 %d; .reg .u32 %r; ld.param.u64 %d, [p]; mov.u32 %r, 0; st.global.u32 [%d], %r; mov.u32 %r, 5;
  { .param .u64 a; .param .u32 b; st.param.u64 [a], %d; st.param.u32 [b], %r; call all, (a, b); } ret; }
END
written() { # BINARY KERNEL VALUE ARGUMENTS
    "$heddle" run "$1" --kernel "$2" --grid 1 --block 1 --arg out:o:u32[1] $4 >out 2>&1 && grep -qw "$3" out ||
        { echo "$1, $2: not $3:"; cat out; exit 1; }
}
for sm in 75 80 90; do
    for n in 1 2; do
        "$ours" -arch=sm_$sm -c hidden$n.ptx -o ours-$n.o
        "$PTXAS" -arch=sm_$sm -c hidden$n.ptx -o theirs-$n.o
        for object in ours-$n.o theirs-$n.o; do
            "$heddle" check $object >out 2>&1 || { echo "$object of hidden$n, sm_$sm:"; cat out; exit 1; }
        done
    done
    for mixture in ours:ours ours:theirs theirs:ours theirs:theirs; do
        "$nvlink" --arch=sm_$sm ${mixture%:*}-1.o ${mixture#*:}-2.o -o hidden.cubin || { echo "$mixture, sm_$sm: nvlink"; exit 1; }
        "$heddle" check hidden.cubin >out 2>&1 || { echo "$mixture, sm_$sm:"; cat out; exit 1; }
        written hidden.cubin hidden 71 ""
        written hidden.cubin 'hidden#1' 72 ""
        written hidden.cubin seen1 81 "--arg u32:2"
        written hidden.cubin seen2 82 "--arg u32:2"
    done
done
for sm in 75 80 90; do
    for n in list user; do
        "$ours" -arch=sm_$sm -c $n.ptx -o ours-$n.o
        "$PTXAS" -arch=sm_$sm -c $n.ptx -o theirs-$n.o
    done
    for mixture in ours:ours ours:theirs theirs:ours; do
        "$nvlink" --arch=sm_$sm ${mixture%:*}-list.o ${mixture#*:}-user.o -o sums.cubin || { echo "$mixture, sm_$sm: nvlink"; exit 1; }
        written sums.cubin sums 36 ""
    done
    "$heddle" link -t sm_$sm list.ptx user.ptx -o sums.cubin && written sums.cubin sums 36 "" || { echo "heddle link, sm_$sm"; exit 1; }
done
for sm in 75 80 90; do
    "$PTXAS" -arch=sm_$sm -c named.ptx -o named.o
    "$heddle" check named.o >out 2>&1 || { echo "named.o of sm_$sm:"; cat out; exit 1; }
done
# what only a linker places, constants of functions, functions of the driver, and YIELD that a linker may take back: at -g a shuffle
# and a sleep have it, of which nvlink leaves the word
cat >far.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .global .align 4 .u32 gx;
.extern .const .align 4 .u32 cx[4];
.extern .shared .align 16 .b8 dyn[];
.global .align 1 .b8 text[3] = {104, 105, 0};
.visible .func (.param .f64 r) f(.param .f64 a)
{ .reg .f64 %d<4>; ld.param.f64 %d1, [a]; fma.rn.f64 %d2, %d1, 0d3FE62E42FEFA39EF, 0d3C7ABC9E3B39803F; st.param.f64 [r], %d2; ret; }
.visible .entry k(.param .u64 p)
{ .reg .u32 %r<9>; .reg .u64 %d<3>; .reg .f64 %f<3>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [gx];
  ld.const.u32 %r3, [cx+8]; ld.shared.u32 %r4, [dyn]; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
  shfl.sync.bfly.b32 %r5, %r1, 1, 31, -1; nanosleep.u32 %r5; cvt.rn.f64.u32 %f1, %r5;
  { .param .f64 a; .param .f64 r; st.param.f64 [a], %f1; call (r), f, (a); ld.param.f64 %f2, [r]; }
  mov.u64 %d2, text; { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %d2; st.param.b64 [b], 0;
  call (r), vprintf, (a, b); ld.param.b32 %r6, [r]; } cvt.rzi.u32.f64 %r7, %f2; st.global.u32 [%d1], %r7; ret; }
END
for sm in 75 80 86 89 90; do
    for debug in "" -g; do
        "$PTXAS" -arch=sm_$sm $debug -c far.ptx -o far.o
        "$heddle" check far.o >out 2>&1 || { echo "far.o of sm_$sm $debug:"; cat out; exit 1; }
        ! grep -q R-18 out || { echo "far.o of sm_$sm $debug: a call that a linker fills in"; cat out; exit 1; }
        "$heddle" disasm --sections far.o -o far.sass
        "$heddle" asm far.sass -o far.again.o
        cmp far.o far.again.o
        [ "$sm$debug" != 75-g ] || grep -q ', 68, 0, 0x118' far.sass || { echo "no YIELD to take back in far.o"; exit 1; }
    done
done
for sm in 100 120; do # constants of the uniform data path have a relocation of their own there
    "$PTXAS" -arch=sm_$sm -c far.ptx -o far.o && "$PTXAS" -arch=sm_$sm -c named.ptx -o named.o || break
    for f in far named; do
        "$heddle" disasm $f.o >$f.txt
        "$heddle" disasm --sections $f.o -o $f.sass
        "$heddle" asm $f.sass -o again.o
        cmp $f.o again.o
    done
    grep -q ', 115, ' far.sass named.sass || { echo "no LDCU of a variable in objects of sm_$sm"; exit 1; }
done
# arguments that lie on the stack, where each file comes from another compiler
for f in sum call; do
    "$ours" -arch=sm_80 -c $f.ptx -o ours-$f.o && "$PTXAS" -arch=sm_80 -c $f.ptx -o theirs-$f.o
done
for mixture in ours:theirs theirs:ours; do
    "$nvlink" --arch=sm_80 ${mixture%:*}-sum.o ${mixture#*:}-call.o -o joined.cubin
    "$heddle" validate sum.ptx call.ptx joined.cubin --kernel k --block 32 --arg 'out:o:u64[32]=random:3' >out 2>&1 || { echo "$mixture:"; cat out; exit 1; }
done
joined=0
for sm in 75 80 86 89 90; do
    for f in one two; do
        "$ours" -arch=sm_$sm -c $f.ptx -o ours-$f.o
        "$PTXAS" -arch=sm_$sm -c $f.ptx -o theirs-$f.o
        "$heddle" compile -c --target sm_$sm $f.ptx -o with-text-$f.o
        "$heddle" compile -c -O0 --target sm_$sm $f.ptx -o slow-$f.o
    done
    for mixture in ours:ours ours:theirs theirs:ours with-text:with-text slow:theirs; do
        "$nvlink" --arch=sm_$sm ${mixture%:*}-one.o ${mixture#*:}-two.o -o joined.cubin >out 2>&1 || { cat out; exit 1; }
        equal "sm_$sm $mixture" joined.cubin
        joined=$((joined + 1))
    done
    "$heddle" link --target sm_$sm with-text-one.o with-text-two.o -o linked.cubin
    equal "sm_$sm heddle link" linked.cubin
    printf '.version 8.0\n.target sm_%s\n.address_size 64\n.entry _Z4ssel() { ret; }\n' $sm >whole.ptx
    "$ours" -arch=sm_$sm whole.ptx -o whole.cubin
    printf '.version 8.0\n.target sm_%s\n.address_size 64\n.global .u32 _Z4ssel = 4;\n' $sm >data.ptx # no code in it
    "$ours" -arch=sm_$sm data.ptx -o data.cubin
    for tool in cuobjdump nvdisasm; do
        reader=$(dirname "$PTXAS")/$tool
        [ -x "$reader" ] || reader=$(command -v $tool) || continue
        for file in ours-one.o whole.cubin data.cubin; do
            case $tool in
            cuobjdump) "$reader" -elf $file ;;
            nvdisasm) "$reader" $file ;;
            esac >read 2>&1 || { echo "$tool $file:"; head -n 3 read; exit 1; }
            grep -q '_Z4ssel' read
        done
    done
    # the linker puts the frames of both objects into one section: an entry for each function, of its size
    if [ -x "$(dirname "$PTXAS")/cuobjdump" ] || command -v cuobjdump >/dev/null; then
        reader=$(dirname "$PTXAS")/cuobjdump
        [ -x "$reader" ] || reader=cuobjdump
        "$nvlink" --arch=sm_$sm ours-one.o ours-two.o -o joined.cubin
        "$reader" -elf joined.cubin >read 2>&1
        awk '/address_range:/ { size = $2 } /^ *function: / && size { print $2, size; size = "" }' read | sort >framed
        readelf -sW joined.cubin 2>/dev/null | awk '$4 == "FUNC" && $7 != "UND" { printf "%s 0x%x\n", $NF, $3 }' | sort >functions
        cmp framed functions || { diff framed functions; exit 1; }
        grep -q 'return address register R20' read
    fi
done
echo "$joined programs"
[ $joined -eq 25 ]
