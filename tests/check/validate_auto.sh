#!/bin/bash
# heddle validate --launch auto, on directories, and the first difference: kernels whose verdicts are known by construction.
#   validate_auto.sh HEDDLE SAMPLES SCRATCH
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 samples=$2 scratch=$3 here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch" && mkdir -p "$scratch/dir/sub" && cd "$scratch" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# kernel NAME, parameters, body: appended to the file FILE
module() { printf '.version 8.0\n.target sm_80\n.address_size 64\n' >"$1"; }
kernel() {
    printf '.visible .entry %s(%s)\n{\n.reg .b64 %%a, %%b, %%o;\n.reg .b32 %%i, %%j, %%n, %%x;\n.reg .f32 %%f;\n.reg .pred %%p;\n' "$2" "$3" >>"$1"
    printf '%s\nret;\n}\n' "$4" >>"$1"
}
index='mov.u32 %i, %tid.x; mov.u32 %j, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.s32 %i, %j, %n, %i; mul.wide.u32 %o, %i, 4;'

module dir/good.ptx
kernel dir/good.ptx sized '.param .u64 a, .param .u64 b, .param .u32 n' "$index
ld.param.u32 %n, [n]; setp.ge.s32 %p, %i, %n; @%p bra END; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; add.s64 %a, %a, %o;
add.s64 %b, %b, %o; ld.global.u32 %x, [%a]; add.s32 %x, %x, 5; st.global.u32 [%b], %x; END:"
kernel dir/good.ptx indirect '.param .u64 a, .param .u64 b, .param .u64 c' "$index
ld.param.u64 %a, [a]; add.s64 %a, %a, %o; ld.global.u32 %x, [%a]; ld.param.u64 %b, [b]; mul.wide.s32 %a, %x, 4; add.s64 %b, %b, %a;
ld.global.f32 %f, [%b]; ld.param.u64 %b, [c]; add.s64 %b, %b, %o; add.f32 %f, %f, 0f3F800000; st.global.f32 [%b], %f;"
kernel dir/good.ptx pointers '.param .u64 a' "$index
ld.param.u64 %a, [a]; mul.wide.u32 %o, %i, 8; add.s64 %a, %a, %o; ld.global.u64 %b, [%a]; ld.global.u32 %x, [%b]; st.global.u32 [%b+4], %x;"
kernel dir/good.ptx nothing '' 'mov.u32 %i, %tid.x; setp.gt.u32 %p, %i, 1023; @%p trap;'
kernel dir/good.ptx blind '.param .u64 a' "$index
ld.param.u64 %a, [a]; add.s64 %a, %a, %o; ld.global.u32 %x, [%a]; and.b32 %x, %x, 0; and.b32 %j, %x, 1; setp.lt.s32 %p, %x, %j; @%p add.s32 %x, %x, %j;
min.s32 %x, %x, %j; shr.s32 %x, %x, %j; mul.lo.s32 %n, %x, %j; max.s32 %n, %n, %x; st.global.u32 [%a], %n;"
kernel dir/good.ptx unreached '.param .u64 a, .param .u32 n' "$index
ld.param.u32 %n, [n]; xor.b32 %x, %n, 0x12345678; setp.eq.s32 %p, %x, 0x5a5a5a5a; ld.param.u64 %a, [a]; add.s64 %a, %a, %o;
@%p bra B; st.global.u32 [%a], %i; ret; B: st.global.u32 [%a], 1; @%p bra C; ret; C: st.global.u32 [%a], 2; @%p bra D; ret; D:"
module dir/sub/other.ptx
kernel dir/sub/other.ptx ordered '.param .u64 a' "$index
ld.param.u64 %a, [a]; atom.global.add.u32 %x, [%a], 1; add.s64 %a, %a, %o; st.global.u32 [%a+4096], %x;"
kernel dir/sub/other.ptx racing '.param .u64 a' "$index
ld.param.u64 %a, [a]; st.global.u32 [%a], %i;"
kernel dir/sub/other.ptx trapping '.param .u64 a' 'mov.u32 %i, %tid.x; setp.ge.u32 %p, %i, 0; @%p trap;'
kernel dir/sub/other.ptx stub '.param .u64 a' 'mov.u32 %i, 1; ld.param.u64 %a, [a]; st.global.u32 [%a], %i; trap;'
module dir/sub/endless.ptx
kernel dir/sub/endless.ptx endless '.param .u64 a' 'ld.param.u64 %a, [a]; L: ld.volatile.global.u32 %x, [%a]; bra L;'
module dir/sub/wrong.ptx
kernel dir/sub/wrong.ptx unknown '.param .u64 a' 'frobnicate.b32 %x, %i;'
module dir/printing.ptx
printf '.extern .func (.param .b32 r) elsewhere(.param .b64 x);\n' >>dir/printing.ptx
kernel dir/printing.ptx calls '.param .u64 a' '{ .param .b64 q; .param .b32 r; ld.param.u64 %a, [a]; st.param.b64 [q], %a; call (r), elsewhere, (q); }'
kernel dir/printing.ptx beside '.param .u64 a' "$index ld.param.u64 %a, [a]; add.s64 %a, %a, %o; st.global.u32 [%a], %i;"

# a kernel that traps beside one that does not compile: nothing is said of the file
module partial.ptx
printf '.extern .func elsewhere();\n' >>partial.ptx
kernel partial.ptx trapping '.param .u64 a' 'trap;'
kernel partial.ptx unknown '.param .u64 a' 'call elsewhere;'
kernel partial.ptx another '.param .u64 a' 'trap;'
"$heddle" validate partial.ptx --launch auto >table 2>err
grep -q '^trapping: .*trap instruction' table && grep -q '^unknown: not compiled' table || { fail "partial.ptx"; cat table err; }
grep -q 'the file' table && { fail "kernels that were compiled alone differ from the file"; cat table; }

"$heddle" validate dir --jobs 2 --state state >table 2>err
[ $? -eq 4 ] || fail "a race is exit status 4"
want() { grep -Eq "$1" table || { fail "no row $1"; cat table; }; }
want '^good.ptx:sized +equal .*100 %'
want '^good.ptx:indirect +equal .*100 %'
want '^good.ptx:pointers +equal .*100 %'
want '^good.ptx:nothing +little covered .*nothing is stored'
want '^good.ptx:unreached +little covered'
want '^good.ptx:blind +little covered'
want '^other.ptx:ordered +order-dependent'
want '^other.ptx:racing +racy'
want '^other.ptx:trapping +both trap alike .*trap instruction'
want '^other.ptx:stub +equal .*trap instruction'
want '^endless.ptx:endless +not run .*no launch was found'
want '^wrong.ptx:unknown +not compiled .*wrong.ptx:'
want '^printing.ptx:calls +not compiled .*printing.ptx:'
want '^printing.ptx:beside +equal .*100 %'
want '^5 files, 14 kernels:'
[ "$(wc -l <state)" = 5 ] || fail "the state file has a line for each file"

# resumed: nothing is run again, the table is the same
cp table before
sed -i 's/"verdict":"racy"/"verdict":"order-dependent"/' state
"$heddle" validate dir --state state >table 2>&1
[ $? -eq 1 ] || fail "what the state file holds is not used" # the worst of what is left: not compiled
want '^other.ptx:racing +order-dependent'
echo '// changed' >>dir/sub/other.ptx
"$heddle" validate dir --state state >table 2>&1
cmp -s table before || fail "a changed file is not run again"
rm dir/sub/endless.ptx # which takes as long as all others, and has been seen

# the state is of these options, of this launch file and its data, of this build: a result that is marked in the state
# file is not used again once one of them is another
module dir2.ptx
mkdir dir2 && module dir2/one.ptx
kernel dir2/one.ptx one '.param .u64 a, .param .u64 b' "$index ld.param.u64 %a, [a]; add.s64 %a, %a, %o; ld.global.u32 %x, [%a];
ld.param.u64 %b, [b]; add.s64 %b, %b, %o; st.global.u32 [%b], %x;"
printf '{"buffers": {"a": {"type": "u32", "count": 8, "init": "@data.bin"}, "b": {"type": "u32", "count": 8}},
 "launches": [{"grid": [1], "block": [8], "args": ["a", "b"]}], "checks": [{"buffer": "b", "equals": "@want.bin"}]}\n' >dir2/one.json
head -c 32 /dev/zero >dir2/data.bin
cp dir2/data.bin dir2/want.bin
used() { # NAME, then a command and its options: does it take the marked result?
    local name=$1
    shift
    cp marked state2
    "$@" validate dir2 --state state2 >table 2>&1
    grep -q 'one.json  *racy' table
}
"$heddle" validate dir2 --state marked >table 2>&1 || { fail "one.json is not equal"; cat table; }
sed -i 's/"verdict":"equal"/"verdict":"racy"/' marked
used same "$heddle" || fail "the state is not used"
again() { used "$@" && fail "the state is used although another is $1"; }
options() { # options behind the command
    cp marked state2
    "$heddle" validate dir2 --state state2 "$@" >table 2>&1
    grep -q 'one.json  *racy' table
}
options --jobs 2 || fail "--jobs changes no verdict"
for o in --predicate=max --yield=break --seed=4 --policy=lane-choice=highest -O0 --reconverge=none --target=sm_80 --no-trace \
    --undefined --time-limit=9 --no-map; do
    options $o && fail "the state is used with $o"
done
mkdir -p other # of heddle linked alone, the build is heddle-full
cp "$heddle" "$(dirname "$heddle")"/heddle-full other 2>/dev/null
for program in other/*; do printf x >>"$program"; done
again build other/heddle
printf '\1' | dd of=dir2/want.bin conv=notrunc 2>/dev/null && again "file of results" "$heddle"
cp dir2/data.bin dir2/want.bin
printf '\1' | dd of=dir2/data.bin conv=notrunc 2>/dev/null && again "data file" "$heddle"
head -c 32 /dev/zero >dir2/data.bin
used restored "$heddle" || fail "the state is not used with the old data"
sed -i 's/"block": .8./"block": [4]/' dir2/one.json && again "launch file" "$heddle"

# limits; the shadow of AddressSanitizer lives in the same address space, so there is none with it
if ! grep -q __asan_init "$heddle"; then
    mkdir large # more than the program has before it knows of the limit
    printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .b8 bytes[100000000];\n.visible .entry k() {
.reg .b32 %%x; ld.global.u32 %%x, [bytes]; add.u32 %%x, %%x, 1; st.global.u32 [bytes+4], %%x; ret; }\n' >large/large.ptx
    "$heddle" validate large --memory-limit 1 >table 2>&1
    want 'crashed'
    "$heddle" validate large >table 2>&1
    want 'equal'
fi
"$heddle" validate dir --json >json 2>/dev/null
grep -q '"racy":.1' json || fail "totals in JSON"

# a launch file beside a module is used, unless launches are to be inferred
cat >dir/good.json <<'J'
{"buffers": {"a": {"type": "u32", "count": 8}, "b": {"type": "u32", "count": 8}},
 "launches": [{"kernel": "sized", "grid": [1], "block": [8], "args": ["a", "b", "u32:8"]}]}
J
"$heddle" validate dir >table 2>&1
want '^good.ptx:good.json +equal '
"$heddle" validate dir --launch auto >table 2>&1
want '^good.ptx:sized +equal '

# launches written as a file give the same result
"$heddle" validate dir/good.ptx --launch auto --show-launch shown.json >auto
[ $? -eq 5 ] || fail "--show-launch: some kernels are little covered"
"$heddle" validate dir/good.ptx --launch shown.json >given || fail "the launches written are not taken"
grep -q '^sized, indirect, pointers, nothing, blind, unreached: equal: ' given || fail "the launches written do not give equal memory"
"$heddle" validate dir/good.ptx --launch auto >again
cmp -s auto again || fail "--launch auto is not deterministic"
"$heddle" validate dir/good.ptx --launch auto --kernel sized | grep -q '^sized: equal' || fail "--kernel"
"$heddle" validate dir/good.ptx --launch auto --kernel none 2>/dev/null && fail "an unknown kernel"

# launches that were not found: a size that is the bound of a loop and a float; sizes that are immediates; blocks that do
# not know their number, which do the same all of them
module shapes.ptx
kernel shapes.ptx mean '.param .u64 a, .param .u64 b, .param .u32 n' 'ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u32 %n, [n];
{ .reg .f32 %s, %d; mov.u32 %i, %tid.x; mov.f32 %s, 0f00000000; mul.wide.u32 %o, %i, 4; add.s64 %b, %b, %o;
L: setp.ge.s32 %p, %i, %n; @%p bra D; mul.wide.s32 %o, %i, 4; add.s64 %o, %a, %o; ld.global.f32 %f, [%o]; add.rn.f32 %s, %s, %f;
add.s32 %i, %i, 256; bra L; D: cvt.rn.f32.s32 %d, %n; div.rn.f32 %s, %s, %d; st.global.f32 [%b], %s; }'
rows=$((1024 / part))
kernel shapes.ptx fixed '.param .u64 a, .param .u64 b' 'ld.param.u64 %a, [a]; ld.param.u64 %b, [b];
{ .reg .f32 %s; .reg .b32 %k, %row; mov.u32 %j, %tid.x; mov.u32 %i, %ctaid.x; mad.lo.s32 %i, %i, 128, %j; setp.gt.s32 %p, %i, 1023;
@%p bra E; mov.f32 %s, 0f00000000; mov.u32 %j, 0; R: mov.u32 %k, 0; mul.lo.s32 %row, %j, 1024;
K: add.s32 %x, %row, %k; mul.wide.s32 %o, %x, 4; add.s64 %o, %a, %o; ld.global.f32 %f, [%o]; add.rn.f32 %s, %s, %f; add.s32 %k, %k, 4;
setp.lt.s32 %p, %k, 1024; @%p bra K; add.s32 %j, %j, 1; setp.lt.s32 %p, %j, '$rows'; @%p bra R; mul.wide.s32 %o, %i, 4;
add.s64 %o, %b, %o; st.global.f32 [%o], %s; E: }'
"$heddle" validate shapes.ptx --launch auto --show-launch shown.json >auto
grep -q '^mean: equal: ' auto || { fail "a size that is a float too"; cat auto; }
grep -q '^fixed: equal: ' auto || { fail "sizes that are immediates"; cat auto; }
tr -d ' \t\n' <shown.json | grep -o '"kernel":"mean","grid":.[0-9,]*' | grep -qv '.1,1,1$\|.1$' && fail "more than one block of a kernel that reads no block index"
grep -q 'operand classes, ' auto || fail "no value coverage"
"$heddle" validate shapes.ptx --launch auto --json >json
tr -d ' \t\n' <json | grep -q '"instruction":"setp.gt.s32","classes":."equal","greater".' || fail "what operands were not seen"

# a budget: PTX that does not end says nothing of a binary that does; where neither ends they are alike
cat >long.ptx <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry long(.param .u64 a) { .reg .b32 %i; .reg .b64 %a; .reg .pred %p; mov.u32 %i, 0;
L: add.s32 %i, %i, 1; setp.lt.s32 %p, %i, 100; @%p bra L; ld.param.u64 %a, [a]; st.global.u32 [%a], %i; ret; }
P
sed 's/@%p bra L/bra L/' long.ptx >endless.ptx
echo '{"buffers": {"a": {"type": "u32", "count": 1}}, "launches": [{"grid": [1], "block": [32], "args": ["a"]}]}' >long.json
for races in "" --races; do
    "$heddle" validate long.ptx --launch long.json $races >/dev/null || fail "a loop that ends $races"
    "$heddle" validate long.ptx --launch long.json --budget 1000 $races >out 2>&1
    [ $? -eq 5 ] && grep -q 'does not end within 1[0-9]* thread instructions' out || { fail "PTX beyond its budget $races"; cat out; }
    "$heddle" validate endless.ptx --launch long.json --budget 100000 $races >out 2>&1
    [ $? -eq 5 ] && grep -q 'both trap alike' out || { fail "PTX without end $races"; cat out; }
done

# a .local array that is left at its lower or upper end, into the caller's frame: both executions may agree by chance
cat >overrun.ptx <<'P'
.version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 %r) callee(.reg .u32 %i)
{
  .local .align 4 .b8 array[16];
  .reg .b32 %a, %x;
  mov.u32 %a, array; shl.b32 %x, %i, 2; add.u32 %a, %a, %x;
  st.local.u32 [%a], 7;
  ld.local.u32 %r, [%a];
  ret;
}
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .local .align 4 .b8 mine[16];
  .reg .b64 %o, %d; .reg .b32 %i, %x, %y, %n;
  ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %i, %tid.x; st.local.u32 [mine+12], 5; st.local.u32 [mine], 5;
  sub.u32 %x, %i, %n;
  call (%y), callee, (%x);
  ld.local.u32 %x, [mine+12]; add.u32 %y, %y, %x; ld.local.u32 %x, [mine]; add.u32 %y, %y, %x;
  mul.wide.u32 %d, %i, 4; add.s64 %o, %o, %d; st.global.u32 [%o], %y;
  ret;
}
P
overrun() { "$heddle" validate overrun.ptx --block 4 --arg out:o:u32[4] --arg u32:$1 "${@:2}" >out 2>&1; }
overrun 0 || { fail "indices inside the array"; cat out; }
for n in 1 4 -1; do
    overrun $((n & 0xffffffff))
    [ $? = 4 ] && grep -q '^k: undefined' out && grep -q 'line 9, .*local memory that belongs to no variable' out ||
        { fail "overrun by $n"; cat out; }
done
overrun 1 --races
[ $? = 4 ] && grep -q '^k: undefined.*local memory that belongs to no variable' out || { fail "overrun with --races"; cat out; }

# a binary that does not end is stopped after a multiple of what the PTX took, under given launches too
cat >ends.ptx <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
  .reg .b64 %a; .reg .b32 %i; .reg .pred %p;
  ld.param.u64 %a, [a]; mov.u32 %i, 0;
L: add.u32 %i, %i, 2; st.global.u32 [%a], %i; setp.lt.u32 %p, %i, 10; @%p bra L;
  st.global.u32 [%a], %i; ret;
}
P
sed 's/setp.lt.u32 %p, %i, 10/setp.ne.u32 %p, %i, 0x80000001/' ends.ptx >endless.ptx
"$heddle" compile endless.ptx -o endless.cubin
for how in "--arg out:a:u32[4]" "--arg out:a:u32[4] --races" "--launch auto"; do
    mine || continue
    "$heddle" validate ends.ptx endless.cubin $how >out
    [ $? = 4 ] && grep -q 'instruction budget exceeded: 419[0-9]* warp instructions' out || { fail "endless: $how"; cat out; }
done

# of several kernels the first that occurs of 4, 1, 5, 0 is the status; each has its line
status() { # EXPECTED KERNELS...: of a module with these
    mine || return
    local expected=$1 got
    shift
    module several.ptx
    for k in "$@"; do
        case $k in
        fine) kernel several.ptx fine '.param .u64 a' "$index ld.param.u64 %a, [a]; add.s64 %a, %a, %o; st.global.u32 [%a], %i;" ;;
        nothing) kernel several.ptx nothing '' 'mov.u32 %i, %tid.x; setp.gt.u32 %p, %i, 1023; @%p trap;' ;;
        trapping) kernel several.ptx trapping '.param .u64 a' 'mov.u32 %i, %tid.x; setp.ge.u32 %p, %i, 0; @%p trap;' ;;
        endless) kernel several.ptx endless '.param .u64 a' 'ld.param.u64 %a, [a]; L: ld.volatile.global.u32 %x, [%a]; bra L;' ;;
        refused) kernel several.ptx refused '.param .u64 a' '{ .reg .b64 %q; sured.b.add.p.u32.1d.zero [%q, {%i}], %x; }' ;;
        racing) kernel several.ptx racing '.param .u64 a' "$index ld.param.u64 %a, [a]; st.global.u32 [%a], %i;" ;;
        esac
    done
    "$heddle" validate several.ptx --launch auto >out 2>err
    got=$?
    [ $got = "$expected" ] || { fail "$*: status $got, not $expected"; cat out err; }
    for k in "$@"; do
        grep -q "^$k: " out || { fail "$*: no verdict of $k"; cat out err; }
    done
    "$heddle" validate several.ptx --launch auto --json >out 2>err
    for k in "$@"; do
        grep -q "\"kernel\":.\"$k\"" out || fail "$*: JSON does not name $k"
    done
}
status 0 fine
status 5 fine nothing
status 5 trapping fine
status 5 endless fine
status 1 fine refused nothing
status 4 fine refused racing nothing

# the first difference names the statement that was damaged: line, pc
damaged() { # sample line sed-expression
    mine || return
    "$heddle" compile "$samples/$1.ptx" -o d.cubin && "$heddle" disasm --sections d.cubin >d.sass || fail "$1 does not compile"
    sed "/line $2\$/$3" d.sass >e.sass
    cmp -s d.sass e.sass && { echo "skipped: $1 has no such instruction at line $2"; return; }
    "$heddle" asm e.sass -o e.cubin || fail "$1: assembler"
    "$heddle" validate "$samples/$1.ptx" e.cubin --launch auto >report
    [ $? -eq 4 ] || fail "$1, line $2: not found to differ"
    grep -q "first difference: line $2:" report || { fail "$1, line $2"; head -20 report; }
    grep -A2 "first difference" report | grep -q "machine .* pc 0x" || fail "$1, line $2: no machine register"
    [ "$(grep -c 'events, ' report)" = 2 ] || fail "$1: no events"
}
damaged mandelbrot 71 's/FMUL/FADD/'
damaged mandelbrot 69 's/0x1, RZ/0x2, RZ/'
damaged mandelbrot 68 's/FADD/FMUL/'
damaged reduce 42 's/0x3, RZ/0x5, RZ/'
damaged reduce 70 's/0x1, RZ/0x3, RZ/'
damaged collatz 53 's/0x1, RZ/0x2, RZ/'
damaged collatz 48 's/0x3, RZ/0x5, RZ/'
damaged spmv 79 's/DMUL/DADD/'
damaged spmv 56 's/0x1, RZ/0x2, RZ/'
# what the last instruction of a remainder writes under a guard is executed, where the guard is false, too
cat >remainder.ptx <<'END'
.version 7.8
.target sm_80
.address_size 64
.visible .entry remainder(.param .u64 out)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    rem.s32 %r2, 100, %r1;
    add.s32 %r3, %r2, 3;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;
}
END
samples=. damaged remainder 11 's/0x3, RZ/0x5, RZ/'

# the same without a map, as of another compiler: the statement is found by the values that both have
foreign() { # sample line sed-expression, of the PTX that the binary is made from
    mine || return
    sed "$2$3" "$samples/$1.ptx" >foreign.ptx
    cmp -s foreign.ptx "$samples/$1.ptx" && fail "foreign $1, line $2: nothing is wrong"
    "$heddle" compile foreign.ptx --no-map --target sm_80 -o foreign.cubin || fail "foreign $1 does not compile"
    "$heddle" validate "$samples/$1.ptx" foreign.cubin --launch auto >report
    [ $? -eq 4 ] || fail "foreign $1, line $2: not found to differ"
    grep -q "first difference: line $2:" report || { fail "foreign $1, line $2"; head -20 report; }
    grep -q 'last in common: 0x.* by .* pc 0x' report || { fail "foreign $1, line $2: no relation"; head -20 report; }
}
foreign mandelbrot 71 's/mul/add/'
foreign mandelbrot 68 's/add/sub/'
foreign spmv 79 's/mul/add/'
foreign sha256 144 's/xor/or/'
foreign nbody 99 's/sub/add/'

# addresses of constants; the words of c by hand: 22 22 11 11 1 0 1 for thread 0, and so on, as decimal digits
printf '\x3d\x3f\x7b\x2c\x9d\xa4\x93\x85\xed\x71\x07\x59' >table.bin
ptxas=$("$here/../find_nvidia.sh" ptxas)
grep -v 'isspacep.global' "$here/const_table.ptx" >table.ptx
"$heddle" run "$here/const_table.ptx" --engine=ptx --block 3 --arg 'out:c:u32[3]' --expect c=@table.bin >report ||
    fail "const_table, interpreter: $(cat report)"
for target in bru1 sm_75 sm_80 sm_90; do
    "$heddle" compile -t $target "$here/const_table.ptx" -o table.cubin || fail "const_table, $target"
    "$heddle" run table.cubin --block 3 --arg 'out:c:u32[3]' --expect c=@table.bin >report || fail "const_table: $(cat report)"
    "$heddle" validate --launch auto "$here/const_table.ptx" table.cubin >report || fail "const_table: $(cat report)"
    [ -x "$ptxas" ] && [ $target != bru1 ] || continue
    "$ptxas" -arch=$target table.ptx -o table.cubin || fail "const_table: ptxas"
    "$heddle" validate --launch auto table.ptx table.cubin >report || fail "const_table of ptxas, $target: $(cat report)"
done
# nothing is stored through such an address, nothing read behind the constants
for access in 'st.u32 [q], v' 'atom.add.u32 v, [q], 1' 'ld.u32 v, [q+64]'; do
    sed "s/^ ld.u32 w, \[q\];/ $access;/" "$here/const_table.ptx" >trap.ptx
    for engine in ptx interp; do
        "$heddle" run trap.ptx --engine=$engine --block 3 --arg 'out:c:u32[3]' >report 2>&1 && fail "$access, $engine: no trap"
        grep -q 'constant memory\|t0\|t1' report || fail "$access, $engine: $(cat report)"
    done
done

# a table of functions: ptxas's file holds numbers of its own and no symbols; two of them exchanged are a difference
"$heddle" compile -t sm_80 "$here/function_table.ptx" -o table.cubin || fail "function_table"
"$heddle" validate "$here/function_table.ptx" table.cubin --block 32 --arg 'out:o:u32[32]' >report || fail "function_table: $(cat report)"
if [ -x "$ptxas" ]; then
    "$ptxas" -arch=sm_80 "$here/function_table.ptx" -o table.cubin || fail "function_table: ptxas"
    "$heddle" validate "$here/function_table.ptx" table.cubin --block 32 --arg 'out:o:u32[32]' >report || fail "ptxas's function_table: $(cat report)"
    python3 - <<'PYTHON' || fail "function_table: the table is not found"
data = bytearray(open("table.cubin", "rb").read())
words = [data[at:at + 8] for at in range(0, len(data) - 24)]
found = [at for at in range(len(data) - 24) if words[at] == data[at + 16:at + 24] != words[at + 8]
         and 0 < int.from_bytes(words[at], "little") < 4096 and 0 < int.from_bytes(data[at + 8:at + 16], "little") < 4096
         and at % 8 == 0]
first, second = data[found[-1]:found[-1] + 8], data[found[-1] + 8:found[-1] + 16]
data[found[-1]:found[-1] + 24] = second + first + second
open("swapped.cubin", "wb").write(data)
PYTHON
    "$heddle" validate "$here/function_table.ptx" swapped.cubin --block 32 --arg 'out:o:u32[32]' >report
    [ $? -eq 4 ] || fail "exchanged functions are not found: $(cat report)"
fi

# a call under a register limit: values trade places with arguments that end at it
for level in 1 2; do
    "$heddle" compile -t sm_75 -O$level "$here/maxnreg_calls.ptx" -o calls.cubin || fail "maxnreg_calls -O$level"
    "$heddle" validate "$here/maxnreg_calls.ptx" calls.cubin --arg buf:u32[4]=iota --arg out:o:u32[16] --arg u64:0 --arg u64:0 --policy=unwritten=zero >report || fail "maxnreg_calls: $(cat report)"
done

# parameters that point into shared memory (OpenCL's __local): each has a piece of it, behind what the kernel declares;
# what overlaps would race
module pieces.ptx
kernel pieces.ptx pieces '.param .u64 .ptr .global out, .param .u64 .ptr .shared .align 4 s, .param .u64 .ptr .shared t' ".shared .b32 own[128];
$index ld.param.u64 %b, [s]; mov.u32 %x, %tid.x; mul.wide.u32 %a, %x, 4; add.s64 %b, %b, %a; st.shared.u32 [%b], %x;
ld.param.u64 %b, [t]; add.s64 %b, %b, %a; st.shared.u32 [%b], %i; mov.u64 %b, own; add.s64 %b, %b, %a; st.shared.u32 [%b], %n; bar.sync 0;
xor.b32 %x, %x, 1; mul.wide.u32 %a, %x, 4; ld.param.u64 %b, [s]; add.s64 %b, %b, %a; ld.shared.u32 %j, [%b]; ld.param.u64 %b, [t];
add.s64 %b, %b, %a; ld.shared.u32 %x, [%b]; add.s32 %j, %j, %x; ld.param.u64 %b, [out]; add.s64 %b, %b, %o; st.global.u32 [%b], %j;"
sed 's/.ptr .shared t/.ptr .const t/' pieces.ptx >constants.ptx # which no buffer is in
"$heddle" validate constants.ptx --launch auto >report
grep -q '^pieces: not run: t points into constant memory' report || fail "a pointer to constants: $(cat report)"
for target in bru1 sm_90; do # there the system has the first 1,024 bytes
    "$heddle" validate pieces.ptx -t $target --launch auto >report
    grep -q '^pieces: equal: 1 of 1 basic blocks' report || fail "pieces of shared memory, $target: $(cat report)"
done

# what nobody wrote, and where variables lie: a result that depends on it is no result, one that does not is one
module open.ptx
cat >>open.ptx <<'P'
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 r) silent() { ret; }
.func (.reg .b32 %r) first() { .global .b32 own[2] = {5, 6}; ld.global.u32 %r, [own+4]; ret; }
.func (.reg .b32 %r) second() { .global .b32 own[2] = {1, 2}; ld.global.u32 %r, [own+4]; ret; }
P
module heap.ptx # for itself: each launch has a heap of megabytes
echo '.extern .func (.param .b64 r) malloc(.param .b64 n);' >>heap.ptx
file=open.ptx names=
open_kernel() { mine || return; names="$names $1 "; kernel $file "$1" '.param .u64 a' "{ .reg .b32 %u; .reg .pred %v; $index ld.param.u64 %a, [a]; add.s64 %a, %a, %o; $2
st.global.u32 [%a], %x; }"; }
open_kernel register 'add.s32 %x, %u, %i;'
open_kernel guard 'mov.u32 %x, %i; @%v add.s32 %x, %x, 4;'
open_kernel branch 'mov.u32 %x, 3; @%v bra E; mov.u32 %x, 5; E: add.s32 %x, %x, %i;'
open_kernel half '{ .reg .b16 %h, %l; cvt.u16.u32 %l, %i; mov.b32 %x, {%l, %h}; }'
open_kernel shared '.shared .b32 s[4]; ld.shared.u32 %x, [s+4]; xor.b32 %x, %x, %i;'
open_kernel dynamic_shared 'mov.u32 %x, dynamic; ld.shared.u32 %x, [%x]; xor.b32 %x, %x, %i;'
open_kernel local '.local .b32 l[4]; st.local.u32 [l], %i; and.b32 %x, %i, 3; shl.b32 %x, %x, 2; mov.u32 %j, l; add.s32 %x, %x, %j; ld.local.u32 %x, [%x];'
open_kernel returned '{ .param .b32 r; call (r), silent, (); ld.param.b32 %x, [r]; } add.s32 %x, %x, %i;'
open_kernel lane 'and.b32 %x, %i, 1; setp.eq.s32 %p, %x, 0; @%p bra E; shfl.sync.idx.b32 %x, %i, 0, 31, 0xaaaaaaaa; E:'
open_kernel local_place '.local .b32 l[4]; mov.u32 %x, l; add.s32 %x, %x, %i;'
open_kernel shared_place '.shared .b32 s[4]; mov.u32 %x, s; add.s32 %x, %x, %i;'
open_kernel unused 'add.s32 %x, %u, %i; and.b32 %x, %x, 0; add.s32 %x, %x, %i; @%v add.s32 %x, %x, 0;'
open_kernel written '.local .b32 l[4]; .shared .b32 s[256]; st.local.u32 [l+8], %i; mov.u32 %x, l; ld.local.u32 %x, [%x+8];
mov.u32 %j, %tid.x; shl.b32 %j, %j, 2; mov.u32 %n, s; add.s32 %j, %j, %n; st.shared.u32 [%j], %x; bar.sync 0; ld.shared.u32 %x, [%j];'
open_kernel variables 'call (%x), first, (); call (%j), second, (); mad.lo.s32 %x, %j, 0, %j;'
file=heap.ptx
open_kernel heap '{ .param .b64 n; .param .b64 r; st.param.b64 [n], 16; call (r), malloc, (n); ld.param.b64 %b, [r]; } ld.u32 %x, [%b]; add.s32 %x, %x, %i;'
"$heddle" validate open.ptx --launch auto >report
"$heddle" validate heap.ptx --launch auto >>report
for name in register guard branch half shared dynamic_shared local heap returned lane local_place shared_place; do
    case $names in *" $name "*) ;; *) continue ;; esac
    grep -q "^$name: undefined: .*the result depends on what nobody wrote" report || fail "open: $name: $(grep "^$name:" report)"
done
for name in unused written variables; do
    case $names in *" $name "*) ;; *) continue ;; esac
    grep -q "^$name: \(equal\|little covered\): " report || fail "not open: $name: $(grep "^$name:" report)"
done

# sizes that the kernel insists on; whole clusters
cat >asserts.ptx <<'P'
.version 8.0
.target sm_90
.address_size 64
.visible .entry asserts(.param .u64 out)
{
  .reg .b64 %a, %o; .reg .b32 %n, %i, %g; .reg .pred %p;
  mov.u32 %n, %ntid.x; setp.ne.s32 %p, %n, 96; mov.u32 %g, %nctaid.x; @%p bra FAIL; setp.eq.s32 %p, %g, 3; @%p bra GOOD;
FAIL: trap;
GOOD: mov.u32 %i, %ctaid.x; mov.u32 %g, %tid.x; mad.lo.s32 %i, %i, %n, %g;
  ld.param.u64 %a, [out]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %i; ret;
}
.visible .entry clusters(.param .u64 out) .reqnctapercluster 2, 1, 1
{
  .reg .b64 %a, %o; .reg .b32 %i; .reg .pred %p;
  mov.u32 %i, %tid.x; ld.param.u64 %a, [out]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %i; ret;
}
P
"$heddle" validate asserts.ptx -t sm_90 --launch auto --show-launch shown.json >report
grep -q '^asserts: \(equal\|little covered\): 3 of 4 basic blocks' report || fail "a size that is asserted: $(grep ^asserts: report)"
tr -d ' \t\n' <shown.json | grep -q '"kernel":"asserts","grid":.3,1,1.,"block":.96,1,1.' || fail "the size that is asserted: $(head -40 shown.json)"
grep -q '^clusters: \(equal\|little covered\): 1 of 1 basic blocks' report || fail "a grid of clusters: $(grep ^clusters: report)"

# threads that only number themselves through in y and z lie in x, as many as the constants say
module linear.ptx
kernel linear.ptx linear '.param .u64 a' "$index ld.param.u64 %a, [a]; add.s64 %a, %a, %o; .shared .b32 s[256]; mov.u32 %j, %tid.y; mov.u32 %x, %tid.z;
mad.lo.s32 %j, %x, %n, %j; mov.u32 %x, %tid.x; mad.lo.s32 %j, %j, %n, %x; shl.b32 %j, %j, 2; mov.u32 %x, s; add.s32 %x, %x, %j; st.shared.u32 [%x], %i; bar.sync 0;
mov.u32 %j, %tid.x; xor.b32 %j, %j, 127; shl.b32 %j, %j, 2; mov.u32 %x, s; add.s32 %x, %x, %j; ld.shared.u32 %x, [%x]; st.global.u32 [%a], %x;"
"$heddle" validate linear.ptx --launch auto >report
grep -q '^linear: equal: ' report || fail "threads in one axis: $(cat report)"

# a variable of shared memory with as many elements as no larger block may have: who runs over its end meets another one, or nothing
module overrun.ptx
printf '.shared .align 4 .b8 s[384];\n.shared .align 4 .b8 t[8192];\n' >>overrun.ptx
kernel overrun.ptx overrun '.param .u64 a' "$index
mov.u32 %j, %tid.x; shl.b32 %j, %j, 2; mov.u32 %x, s; add.s32 %x, %x, %j; st.shared.u32 [%x], %i; mov.u32 %x, t; and.b32 %j, %j, 255; add.s32 %x, %x, %j; st.shared.u32 [%x], %i;
ld.param.u64 %a, [a]; add.s64 %a, %a, %o; st.global.u32 [%a], %i;"
"$heddle" validate overrun.ptx --launch auto --show-launch shown.json >report
grep -q '^overrun: equal: 1 of 1 basic blocks' report || fail "a variable that ends: $(cat report)"
tr -d ' \t\n' <shown.json | grep -q '"block":.\(128\|192\|256\|512\),' && fail "blocks that run over the end of a variable: $(cat shown.json)"

# matrices are loaded from addresses and stored to them
module wmma.ptx
kernel wmma.ptx wmma '.param .u64 a, .param .u64 b, .param .u64 d' '.reg .f32 %d<8>; .reg .b32 %f<4>, %g<4>; .reg .pred %q;
ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %o, [d]; mov.u32 %n, 16; mov.u32 %i, %ctaid.x; setp.ne.u32 %q, %i, 0; @%q bra END;
wmma.load.a.sync.aligned.row.m16n16k8.tf32 {%f0, %f1, %f2, %f3}, [%a], %n; wmma.load.b.sync.aligned.col.m16n16k8.tf32 {%g0, %g1, %g2, %g3}, [%b], %n;
wmma.load.c.sync.aligned.row.m16n16k8.f32 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, [%o], %n;
wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, {%f0, %f1, %f2, %f3}, {%g0, %g1, %g2, %g3}, {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7};
wmma.store.d.sync.aligned.row.m16n16k8.f32 [%o], {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, %n; END:'
"$heddle" validate wmma.ptx --launch auto >report
grep -q '^wmma: equal: 3 of 3 basic blocks' report || fail "matrices: $(cat report)"

# strides that a structure of an array has: of two axes, so that no thread meets another one's element; and a row in a quotient
module strides.ptx
kernel strides.ptx two '.param .align 8 .b8 a[24]' 'mov.u32 %i, %tid.x; mov.u32 %j, %tid.y; mov.u32 %n, %ctaid.x; mov.u32 %x, %ntid.x; mad.lo.s32 %i, %n, %x, %i;
ld.param.u64 %a, [a]; ld.param.u32 %n, [a+16]; ld.param.u32 %x, [a+20]; mul.wide.s32 %o, %i, %n; add.s64 %a, %a, %o; mul.wide.s32 %o, %j, %x; add.s64 %a, %a, %o;
ld.global.u32 %x, [%a]; add.s32 %x, %x, 1; st.global.u32 [%a], %x; ld.global.u32 %x, [%a+8]; add.s32 %x, %x, 3; st.global.u32 [%a+8], %x;'
kernel strides.ptx quotient '.param .align 8 .b8 a[24]' "$index
ld.param.u64 %a, [a]; ld.param.u32 %n, [a+16]; ld.param.u32 %x, [a+20]; div.u32 %i, %i, %x; mul.wide.s32 %o, %i, %n; add.s64 %a, %a, %o;
ld.global.u32 %x, [%a]; add.s32 %x, %x, 1; st.global.u32 [%a], %x;"
"$heddle" validate strides.ptx --launch auto >report
for name in two quotient; do
    grep -q "^$name: equal: 1 of 1 basic blocks" report || fail "strides: $(grep "^$name:" report)"
done
grep -q '^two: .* races' report && fail "strides of a buffer that threads meet by: $(grep '^two:' report)"

# tensor maps: the box has as many bytes as the barrier waits for
if mine; then
    "$heddle" validate "$here/../sim/tensor/copy.ptx" --launch auto >report
    for name in load1 load2 load3 load4 load5 im2col3 im2col4 im2col5; do
        grep -q "^$name: equal: 8 of 8 basic blocks" report || fail "tensors: $name: $(grep "^$name:" report)"
    done
fi

# what it waits for is said behind two copies of 1024 and 512 bytes
cat >behind.ptx <<'END'
.version 8.6
.target sm_90
.address_size 64
.visible .entry behind(.param .align 64 .b8 m[128], .param .align 64 .b8 n[128], .param .u64 out) {
    .reg .b64 %m, %n, %o, %d<3>;
    .reg .b32 %r<9>, %t, %at;
    .reg .pred %p, %q;
    .shared .align 128 .b8 room[1536];
    .shared .align 8 .b64 object;
    mov.b64 %m, m;
    mov.b64 %n, n;
    cvta.param.u64 %m, %m;
    cvta.param.u64 %n, %n;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %r1, object;
    mov.u32 %r2, room;
    add.s32 %r3, %r2, 1024;
    mov.u32 %r4, 0;
    setp.ne.u32 %p, %t, 0;
    @%p bra WAIT;
    mbarrier.init.shared.b64 [%r1], 1;
    fence.proxy.async.shared::cta;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%m, {%r4, %r4}], [%r1];
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%n, {%r4, %r4}], [%r1];
    mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1], 1536;
WAIT:
    bar.sync 0;
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %q, [%r1], 0;
    @!%q bra AGAIN;
    shl.b32 %at, %t, 2;
    add.s32 %at, %at, %r2;
    ld.shared.u32 %r5, [%at];
    ld.shared.u32 %r6, [%at + 1024];
    add.s32 %r5, %r5, %r6;
    mul.wide.u32 %d2, %t, 4;
    add.s64 %o, %o, %d2;
    st.global.u32 [%o], %r5;
    ret;
}
END
"$heddle" validate behind.ptx -t sm_90 --launch auto --show-launch=behind.json >report
grep -q '^behind: equal: 5 of 5 basic blocks' report || fail "tensors: $(grep '^behind:' report)"
[ "$(tr -d ' \n\t' <behind.json | grep -o '"box":\[[0-9,]*\]' | sort -u | tr -d '\n')" = '"box":[32,4]"box":[32,8]' ] || fail "tensors: boxes"

[ $failed = 0 ] && echo "all as expected"
exit $failed
