#!/bin/sh
# keep_going.sh HEDDLE DIRECTORY SAMPLES: what does not compile is left out under --keep-going, and named; the rest is as it is alone.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../want.sh"
heddle=$1 work=$2
failed=0
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

head='.version 7.0
.target sm_80
.address_size 64
'
good() { # NAME NUMBER: a kernel that stores the number
    printf '.visible .entry %s(.param .u64 o)\n{\n .reg .b64 %%d; .reg .b32 %%r;\n ld.param.u64 %%d, [o];\n' "$1"
    printf ' mov.u32 %%r, %s;\n st.global.u32 [%%d], %%r;\n ret;\n}\n' "$2"
}
runs() { # FILE KERNEL NUMBER
    "$heddle" run "$1" --kernel "$2" --arg out:o:u32[1] --print o >run.txt 2>&1 || { cat run.txt; failed=1; }
    grep -q "\[0\] $3 " run.txt || { echo "FAIL: $2 in $1 gives another number than $3"; cat run.txt; failed=1; }
}
absent() { # FILE NAME
    "$heddle" disasm --sections "$1" | grep -q "\.text\.$2\"" && { echo "FAIL: $2 is in $1"; failed=1; }
}

# errors of syntax, of types, of selection (a call without a body), one of each; a function that calls a bad one
{
    printf '%s' "$head"
    good first 11
    printf '.visible .entry syntax(.param .u64 o)\n{\n .reg .b32 %%r;\n mov.u32 %%r 1;\n nonsense %%r;\n { }\n ret;\n}\n'
    good second 22
    printf '.visible .entry types()\n{\n .reg .f32 %%f;\n add.s32 %%f, %%f, 1;\n ret;\n}\n'
    printf '.extern .func nowhere();\n.func helper()\n{\n call nowhere;\n ret;\n}\n'
    printf '.visible .entry calls()\n{\n call helper;\n ret;\n}\n'
    printf '.func fine(.param .b32 x)\n{\n ret;\n}\n'
    printf '.visible .entry third(.param .u64 o)\n{\n .reg .b64 %%d; .reg .b32 %%r;\n ld.param.u64 %%d, [o]; mov.u32 %%r, 33;\n'
    printf ' { .param .b32 x; st.param.b32 [x], %%r; call fine, (x); }\n st.global.u32 [%%d], %%r;\n ret;\n}\n'
} >k.ptx

want 1 'E0' compile k.ptx -o none.cubin
[ -e none.cubin ] && { echo 'FAIL: a file without --keep-going'; failed=1; }
for target in bru1 sm_80; do
    want 1 '' compile --keep-going -t $target k.ptx -o k.cubin
    for name in syntax types calls helper; do
        grep -q "W0009: $name is left out" out || { echo "FAIL: $name is not named"; cat out; failed=1; }
        absent k.cubin $name
    done
    [ "$(grep -c W0009 out)" = 4 ] || { echo 'FAIL: others are named'; cat out; failed=1; }
    for code in E0702 'nowhere, which it calls,' k.ptx:15 k.ptx:16 k.ptx:31; do
        grep -q "$code" out || { echo "FAIL: $code is not reported"; cat out; failed=1; }
    done
    runs k.cubin first 11
    runs k.cubin second 22
    runs k.cubin third 33
done

# nothing wrong: the same bytes, status 0; nothing right: no file; wrong outside of bodies: as ever
{ printf '%s' "$head"; good first 11; } >right.ptx
want 0 '' compile right.ptx -o plain.cubin
want 0 '' compile --keep-going right.ptx -o kept.cubin
cmp -s plain.cubin kept.cubin || { echo 'FAIL: --keep-going changes a module that compiles'; failed=1; }
{ printf '%s' "$head"; printf '.visible .entry bad()\n{\n nonsense;\n}\n'; } >wrong.ptx
want 1 'bad is left out' compile --keep-going wrong.ptx -o wrong.cubin
[ -e wrong.cubin ] && { echo 'FAIL: a file without functions'; failed=1; }
{ printf '%s' "$head"; printf '.nonsense;\n'; good first 11; } >outside.ptx
want 1 'E0' compile --keep-going outside.ptx -o outside.cubin
[ -e outside.cubin ] && { echo 'FAIL: a file of a module that is wrong'; failed=1; }
{ printf '%s' "$head"; good first 11; printf '.visible .entry open()\n{\n ret;\n'; } >open.ptx
want 1 'E0113' compile --keep-going open.ptx -o open.cubin

# of a racy kernel, a right one and some that do not compile: the worst verdict's status, and a verdict for each
samples=$3
sed '1,2d' "$samples/bad/race.ptx" >racy.ptx
printf '.extern .func nowhere();\n.visible .entry calls()\n{\n call nowhere;\n ret;\n}\n' >>racy.ptx
printf '.visible .entry types()\n{\n .reg .f32 %%f;\n add.s32 %%f, %%f, 1;\n ret;\n}\n' >>racy.ptx
says() { # PATTERN...: each in what the last command wrote
    for pattern; do
        grep -q "$pattern" out || { echo "FAIL: not said: $pattern"; cat out; failed=1; }
    done
}
want 4 '^race: racy' validate --launch auto --races racy.ptx
says '^calls: not compiled' '^types: not compiled'
want 4 '^race: racy' validate --launch "$samples/bad/race.json" --races racy.ptx
want 1 '^race: proved' prove racy.ptx
says '^calls: not compiled' '^types: not compiled'
want 1 '"verdict":.*"not compiled"' prove --json racy.ptx
want 0 '^race: proved' prove --kernel race racy.ptx
want 1 '^race: no rule is broken' check racy.ptx
says '^calls: not compiled' '^types: not compiled'
mkdir several
cp racy.ptx several
want 4 'racy.ptx:race .*racy' validate --races several
says 'racy.ptx:calls .*not compiled' 'racy.ptx:types .*not compiled'
want 1 'racy.ptx:race .*proved' prove several
says 'racy.ptx:calls .*not compiled' 'racy.ptx:types .*not compiled'
{ printf '%s' "$head"; good first 11; printf '.visible .entry bad()\n{\n nonsense;\n}\n'; } >half.ptx
want 1 '^first: equal' validate --launch auto half.ptx
says '^bad: not compiled'

# what reads a table that has lost its functions has no code
{
    printf '%s' "$head"
    printf '.visible .func two()\n{\n nonsense;\n}\n.global .align 8 .u64 lost[1] = {two};\n'
    good first 11
    printf '.visible .entry reads(.param .u64 o)\n{\n .reg .b64 %%d, %%t;\n ld.param.u64 %%d, [o];\n'
    printf ' ld.global.u64 %%t, [lost];\n st.global.u64 [%%d], %%t;\n ret;\n}\n'
} >lost.ptx
want 1 'reads is left out' compile --keep-going lost.ptx -o lost.cubin
absent lost.cubin reads
runs lost.cubin first 11

# many errors in one body do not hide the functions behind it
{
    printf '%s' "$head"
    printf '.visible .entry many()\n{\n'
    i=0
    while [ $i -lt 40 ]; do
        printf ' nonsense;\n'
        i=$((i + 1))
    done
    printf '}\n'
    good first 11
} >many.ptx
want 1 'many is left out' compile --keep-going many.ptx -o many.cubin
runs many.cubin first 11

# tables of functions: of good ones kept, of a bad one without its initial value, which is named
{
    printf '%s' "$head"
    printf '.func one()\n{\n ret;\n}\n.visible .func two()\n{\n nonsense;\n}\n'
    printf '.global .align 8 .u64 table[1] = {one};\n.global .align 8 .u64 worse[2] = {one, two};\n'
    good first 11
    printf '.visible .entry named(.param .u64 o)\n{\n .reg .b64 %%d, %%t;\n ld.param.u64 %%d, [o];\n'
    printf ' mov.u64 %%t, table;\n ld.global.u64 %%t, [%%t];\n setp.ne.s64 %%p, %%t, 0;\n' | sed 's/setp/.reg .pred %p;\n setp/'
    printf ' selp.u32 %%r, 7, 0, %%p;\n st.global.u32 [%%d], %%r;\n ret;\n}\n' | sed '1s/^/ .reg .b32 %r;\n/'
} >table.ptx
want 1 'two is left out' compile --keep-going table.ptx -o table.cubin
grep -q 'the initial value of worse is left out' out || { echo 'FAIL: the table is not named'; cat out; failed=1; }
grep -q 'value of table' out && { echo 'FAIL: a good table is left out'; failed=1; }
runs table.cubin first 11
runs table.cubin named 7
exit $failed
