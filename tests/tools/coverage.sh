#!/bin/sh
# coverage.sh HEDDLE DIRECTORY: heddle coverage counts kernels, files and what is missing as they were written here.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 work=$2
failed=0
rm -rf "$work"
mkdir -p "$work/d/e"
cd "$work" || exit 1
head='.version 7.0\n.target %s\n.address_size 64\n'
body='{\n .reg .b32 %%r<3>;\n .reg .f32 %%f<3>;\n .reg .b64 %%d;\n ld.param.u64 %%d, [o];\n %s\n ret;\n}\n'
entry() { # NAME STATEMENT
    printf ".visible .entry $1(.param .u64 o)\n$body" "$2"
}
{ printf "$head" sm_80; entry one 'mov.u32 %r1, 1;'; entry two 'mov.u32 %r1, 2;'; } >d/good.ptx
{ # in each of three kernels what no machine has; one of them twice, one calls a function that has it
    printf "$head" sm_80
    printf '.func f(.param .b64 o)\n'"$body" 'frobnicate.u32 %r1, %r2;'
    entry three 'frobnicate.u32 %r1, %r2; frobnicate.u32 %r2, %r1;'
    entry four 'grind.u32 %r1, %r2;'
    entry five 'mov.u32 %r1, 5;'
    entry seven '{ .param .b64 p; st.param.b64 [p], %d; call f, (p); }'
} >d/e/bad.ptx
printf '.version 7.0\n.target sm_80\n.address_size 64\nnonsense\n' >d/broken.ptx
{ printf "$head" sm_90 | sed 's/7\.0/7.8/'; entry six 'mov.u32 %r1, %cluster_ctarank;'; } >d/new.ptx
"$heddle" coverage d >out
status=$?
[ $status -eq 1 ] || { echo "FAIL: status $status"; failed=1; }
says() { grep -q -e "$1" out || { echo "FAIL: nothing says '$1'"; cat out; failed=1; }; }
says '^good.ptx:one  *compiles *$'
says '^good.ptx:two  *compiles *$'
says "^bad.ptx:three  *not compiled  *E0105: unknown opcode 'frobnicate'"
says "^bad.ptx:four  *not compiled  *E0105: unknown opcode 'grind'"
says '^bad.ptx:five  *compiles *$'
says '^broken.ptx:  *not compiled  *E0'
says "^bad.ptx:seven  *not compiled  *E0105: unknown opcode 'frobnicate'"
says " 2        1  E0105: unknown opcode 'frobnicate'"
says " 1        1  E0105: unknown opcode 'grind'"
says '^4 of 7 kernels compile (57.1 %), all of 2 of 4 files'
"$heddle" coverage d --own-target --json >out
says '"kernels_compiled":.4'
says '"files_compiled":.2'
says '"compiles":.4'
"$heddle" coverage d/good.ptx >out || { echo "FAIL: what compiles gives another status than 0"; failed=1; }
says '^2 of 2 kernels compile (100.0 %), all of 1 of 1 files'
says_not() { ! grep -q -e "$1" out || { echo "FAIL: something says '$1'"; failed=1; }; }
says_not missing
# a .target that no machine has is none of bru1's
{ printf "$head" sm_100 | sed 's/7\.0/8.6/'; entry eight 'mov.u32 %r1, 1;'; } >newer.ptx
"$heddle" coverage newer.ptx --own-target >out && { echo "FAIL: sm_100 compiles"; failed=1; }
says '^newer.ptx:eight  *not compiled  *E0710'
# more than 20 errors, which other commands do not show, are all counted
{ printf "$head" sm_80; for i in a b c d e f g h i j k l m n o p q r s t u v w x y z; do entry "k$i" "frob$i.u32 %r1, %r2;"; done; } >d/many.ptx
"$heddle" coverage d/many.ptx >out
[ "$(grep -c "unknown opcode 'frob.'" out)" -eq 52 ] || { echo "FAIL: not every kernel and every opcode"; cat out; failed=1; }
# a kernel is tried without the tables of functions that others name
{ printf "$head" sm_80; printf '.func h()\n{\n ret;\n}\n.global .align 8 .u64 t[1] = {h};\n'; entry ten 'mov.u32 %r1, 1;'; entry nine 'frobnicate.u32 %r1, %r2;'; } >table.ptx
"$heddle" coverage table.ptx >out
says '^table.ptx:ten  *compiles *$'
exit $failed
