#!/bin/sh
# heddle prove of binaries without a map: foreign.sh HEDDLE SAMPLES
# Our own, without the map, are proved as they are with it. The certificate of a proof is enough to repeat it, and one that
# says less, or something else, is not. What ptxas makes, where there is one, is proved for the samples of the list; a
# binary of other PTX is not.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../../part.sh"
heddle=$1 samples=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAIL: $*"; failed=1; }
last() { tail -1 "$dir/out"; }

for level in 0 2; do
    for s in bitonic bfs carry collatz guards histogram matmul reduce scan sha256 spmv stencil tokens warpscan; do
        mine || continue
        "$heddle" prove -t sm_80 -O$level --no-map --certificate "$dir/c" "$samples/$s.ptx" > "$dir/out" ||
            fail "$s -O$level without a map: $(last)"
        "$heddle" prove -t sm_80 -O$level --no-map --check "$dir/c" "$samples/$s.ptx" > "$dir/again" ||
            fail "$s -O$level, its certificate: $(tail -1 "$dir/again")"
    done
done

# A certificate with a line less, or a number that is another
"$heddle" compile -t sm_80 --no-map "$samples/spmv.ptx" -o "$dir/k.cubin" || fail "spmv is not compiled"
"$heddle" prove --certificate "$dir/c" "$samples/spmv.ptx" "$dir/k.cubin" > "$dir/out" || fail "spmv: $(last)"
"$heddle" prove --check "$dir/c" "$samples/spmv.ptx" "$dir/k.cubin" > "$dir/out" || fail "spmv's certificate: $(last)"
altered() { # NAME FILE
    mine || return 0
    "$heddle" prove --no-launches --check "$2" "$samples/spmv.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
    [ $? -eq 5 ] || fail "a certificate that is wrong, $1: $(last)"
}
lines=$(wc -l < "$dir/c")
number=1
while [ "$number" -le "$lines" ]; do
    line=$(sed -n "${number}p" "$dir/c")
    case $line in
    function* | at* | differ* | memory*)
        sed "${number}d" "$dir/c" > "$dir/less"
        altered "without line $number: $line" "$dir/less" ;;
    holds*)
        sed "${number}s/^holds \([0-9]*\) \([0-9]*\)/holds \1 1\2/" "$dir/c" > "$dir/other"
        altered "line $number of another value: $line" "$dir/other" ;;
    esac
    number=$((number + 1))
done
echo "function spmv" > "$dir/empty"
altered "with nothing in it" "$dir/empty"
echo "at 0 0" >> "$dir/empty"
altered "of the entry alone" "$dir/empty"
for value in 1 10 20 30 40; do
    printf 'function spmv\nat 0 0\ndiffer-low %s\n' $value > "$dir/low"
    altered "with a low word at the entry" "$dir/low"
done
"$heddle" prove --no-launches --check "$dir/c" "$samples/collatz.ptx" > "$dir/out" 2>&1
[ $? -eq 5 ] || fail "the certificate of another program: $(last)"

# One that says of a value that it is another multiple of another one, or of another one extended otherwise
twins=$(dirname "$0")/planted/twins.ptx
"$heddle" prove -t sm_80 --no-launches --certificate "$dir/c" "$twins" > "$dir/out" || fail "twins: $(last)"
grep -q '^twin' "$dir/c" || fail "twins: there is none"
for edit in 's/^\(twin .*\) 4$/\1 8/' 's/^\(twin .*\) 1 4$/\1 2 4/' 's/^\(twin .*\) [0-9]*$/\1 3/' 's/^twin 8 7/twin 8 5/' '/^twin/d'; do
    mine || continue
    sed "$edit" "$dir/c" > "$dir/other"
    "$heddle" prove -t sm_80 --no-launches --check "$dir/other" "$twins" > "$dir/out" 2>&1
    [ $? -eq 5 ] || fail "twins after $edit: $(last)"
done

# How ptxas converts a half to 32 bits: added to -0. Not to +0, nor the other half, flushed, or without its sign
cat > "$dir/half.ptx" <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d; .reg .b16 %h; .reg .f32 %f;
    ld.param.u64 %d, [p]; ld.global.b16 %h, [%d]; cvt.f32.f16 %f, %h; st.global.f32 [%d+4], %f; ret;
}
P
"$heddle" compile -t sm_80 --no-map "$dir/half.ptx" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" > "$dir/k.sass"
for sum in ' \2, -RZ, \3.H0_H0' ' \2, RZ, \3.H0_H0' ' \2, -RZ, \3.H1_H1' '.FTZ \2, -RZ, \3.H0_H0' ' \2, -RZ, |\3|.H0_H0'; do
    mine || continue
    sed "s/B0-----:R-:W1:-:S02\(.*\)F2F.F32.F16 \(R[0-9]*\), \(R[0-9]*\)/B0-----:R-:W-:-:S05\1HADD2.F32$sum/; s/B-1----:R5/B------:R5/" "$dir/k.sass" > "$dir/other.sass"
    grep -q HADD2 "$dir/other.sass" || fail "half: nothing to edit"
    "$heddle" asm "$dir/other.sass" -o "$dir/other.cubin" || fail "half: HADD2.F32$sum does not assemble"
    "$heddle" prove --no-launches "$dir/half.ptx" "$dir/other.cubin" > "$dir/out"
    status=$?
    case $sum in
    ' \2, -RZ, \3.H0_H0') [ $status -eq 0 ] || fail "half: $(last)" ;;
    *) [ $status -ne 0 ] || fail "half: proved with HADD2.F32$sum" ;;
    esac
done

# ptxas loads from shared memory by LDS.U on sm_75, which bears addresses that are not aligned
cat > "$dir/lds.ptx" <<'P'
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .shared .b32 s[64]; .reg .b64 %d; .reg .b32 %i, %a, %x;
    ld.param.u64 %d, [p]; ld.param.u32 %i, [n]; shl.b32 %i, %i, 2; mov.u32 %a, s; add.u32 %a, %a, %i;
    ld.shared.b32 %x, [%a]; st.global.b32 [%d], %x; ret;
}
P
"$heddle" compile -t sm_75 --no-map "$dir/lds.ptx" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" > "$dir/k.sass"
for edit in 's/ LDS / LDS.U /' 's/ LDS / LDS.U.U16 /'; do
    mine || continue
    sed "$edit" "$dir/k.sass" > "$dir/other.sass"
    "$heddle" asm "$dir/other.sass" -o "$dir/other.cubin" || fail "LDS: $edit does not assemble"
    "$heddle" prove --no-launches "$dir/lds.ptx" "$dir/other.cubin" > "$dir/out"
    status=$?
    case $edit in
    *U16*) [ $status -ne 0 ] || fail "LDS: proved after $edit" ;;
    *) [ $status -eq 0 ] || fail "LDS: $(last)" ;;
    esac
done

# A sum of halves is a product with 1 and a sum, a product one and -0, rounded once; -1, or +0, are other ones
cat > "$dir/halves.ptx" <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d; .reg .b32 %a, %b, %c, %e;
    ld.param.u64 %d, [p]; ld.global.b32 %a, [%d]; ld.global.b32 %b, [%d+4];
    add.f16x2 %c, %a, %b; mul.f16x2 %e, %a, %b; st.global.b32 [%d+8], %c; st.global.b32 [%d+12], %e; ret;
}
P
edited() { # EXPECTED-STATUS NAME EDIT: of NAME.ptx as Heddle compiles it
    mine || return 0
    "$heddle" compile -t sm_80 --no-map --predicate=off "$dir/$2.ptx" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" > "$dir/k.sass"
    sed "$3" "$dir/k.sass" > "$dir/other.sass"
    cmp -s "$dir/k.sass" "$dir/other.sass" && fail "$2, $3: nothing to edit"
    "$heddle" asm "$dir/other.sass" -o "$dir/other.cubin" || fail "$2, $3: not assembled"
    "$heddle" prove --no-launches "$dir/$2.ptx" "$dir/other.cubin" > "$dir/out"
    [ $? -eq "$1" ] || fail "$2, $3: $(last)"
}
three='\(R[0-9]*\), \(R[0-9]*\), \(R[0-9]*\)'
edited 0 halves "s/HADD2 $three/HFMA2 \\1, \\2, 1, 1, \\3/"
edited 0 halves "s/HMUL2 $three/HFMA2 \\1, \\2, \\3, -RZ/"
edited 5 halves "s/HADD2 $three/HFMA2 \\1, \\2, -1, 1, \\3/"
edited 5 halves "s/HADD2 $three/HFMA2 \\1, \\2, 1, 2, \\3/"
edited 5 halves "s/HMUL2 $three/HFMA2 \\1, \\2, \\3, RZ/"

# A call of a place from which no way returns is a branch
cat > "$dir/jump.ptx" <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .reg .b64 %d; .reg .b32 %a, %b, %n; .reg .pred %q;
    ld.param.u64 %d, [p]; ld.param.u32 %n, [n]; ld.global.u32 %a, [%d]; setp.gt.u32 %q, %a, %n; @%q bra L;
    ld.global.u32 %b, [%d+4]; st.global.u32 [%d+8], %b; ret;
L:  ld.global.u32 %b, [%d+12]; st.global.u32 [%d+16], %b; ret;
}
P
edited 0 jump 's/@P0 BRA/@P0 CALL.REL.NOINC/'
edited 5 jump 's/@P0 BRA/@!P0 CALL.REL.NOINC/'

# An end of another kind, a call that counts its depth: nothing is known of them
for end in EXIT.PREEMPTED EXIT.KEEPREFCOUNT KILL; do
    edited 5 jump "s/ EXIT *;/ $end ;/"
done
edited 5 jump 's/@P0 BRA/@P0 CALL.REL/'

# A binary that stands alone is proved itself, not what its PTX would be compiled to
"$heddle" compile -t sm_80 "$samples/guards.ptx" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" > "$dir/k.sass" || fail "guards"
sed '0,/ISETP\.[GL]E/s//ISETP.EQ/; 0,/ISETP\.[GL]T/s//ISETP.EQ/' "$dir/k.sass" > "$dir/wrong.sass"
! cmp -s "$dir/k.sass" "$dir/wrong.sass" && "$heddle" asm "$dir/wrong.sass" -o "$dir/wrong.cubin" || fail "guards is not made wrong"
"$heddle" prove "$dir/k.cubin" > "$dir/out" || fail "guards alone: $(last)"
"$heddle" prove --no-launches "$dir/wrong.cubin" > "$dir/out" && fail "guards made wrong: $(last)"

# Another program's code: what is proved is of this PTX
for pair in "guards carry" "reduce scan"; do
    "$heddle" compile -t sm_80 --no-map "$samples/${pair% *}.ptx" -o "$dir/k.cubin" || fail "$pair"
    "$heddle" prove --no-launches "$samples/${pair#* }.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
    [ $? -ne 0 ] || fail "$pair: $(last)"
done

ptxas=$("$(dirname "$0")/../../find_nvidia.sh" ptxas 2> "$dir/why")
if [ -z "$ptxas" ]; then
    echo "no binaries of ptxas: $(cat "$dir/why")"
    exit $failed
fi
foreign() { # EXPECTED-STATUS NAME PTX LEVEL TARGET
    "$ptxas" -arch="$5" -O"$4" "$3" -o "$dir/k.cubin" > "$dir/log" 2>&1 || { fail "$2: $(head -1 "$dir/log")"; return; }
    mine || return 0
    "$heddle" prove --no-launches "$3" "$dir/k.cubin" > "$dir/out" 2>&1
    [ $? -eq "$1" ] || fail "ptxas's $2 -O$4: $(last)"
}
for level in 1 3; do
    for s in carry collatz guards pressure reduce spinlock; do
        foreign 0 $s "$samples/$s.ptx" $level sm_80
    done
done
foreign 0 scan "$samples/scan.ptx" 1 sm_80
for level in 1 3; do
    foreign 0 quotients "$(dirname "$0")/quotients.ptx" $level sm_80
done
for op in div.u32 div.s32 rem.u32 rem.s32; do
    cat > "$dir/d.ptx" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<4>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d]; ld.global.u32 %r2, [%d+4];
    $op %r3, %r1, %r2; st.global.u32 [%d+8], %r3; ret;
}
P
    foreign 0 "$op" "$dir/d.ptx" 3 sm_80
done

# Elements of tf32: the product does not read the bits below them, which ptxas leaves, and a minus is neg.f32 of a factor
{
    echo '.version 8.0'; echo '.target sm_80'; echo '.address_size 64'
    echo '.visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %r<10>; ld.param.u64 %d, [p];'
    for i in 0 1 2 3 4 5 6 7 8 9; do echo "ld.global.u32 %r$i, [%d+$((4 * i))];"; done
    for i in 0 1 2 3 4 5; do echo "cvt.rna.tf32.f32 %r$i, %r$i;"; done
    for i in 0 1 2 3; do echo "neg.f32 %r$i, %r$i;"; done
    echo 'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r6, %r7, %r8, %r9}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9};'
    for i in 6 7 8 9; do echo "st.global.u32 [%d+$((4 * i))], %r$i;"; done
    echo 'ret; }'
} > "$dir/tf32.ptx"
foreign 0 tf32 "$dir/tf32.ptx" 3 sm_80
"$heddle" disasm --sections "$dir/k.cubin" > "$dir/k.sass" && sed 's/\(HMMA[^,]*,\) -/\1 /' "$dir/k.sass" > "$dir/other.sass"
cmp -s "$dir/k.sass" "$dir/other.sass" && fail "tf32: no minus"
"$heddle" asm "$dir/other.sass" -o "$dir/other.cubin" && "$heddle" prove --no-launches "$dir/tf32.ptx" "$dir/other.cubin" > "$dir/out"
[ $? -eq 5 ] || fail "tf32 without its minus: $(last)"

# Routines behind the kernel: its operands, one that is a parameter, and what another operation's is not
wide() { # FILE OP TYPE OPERANDS
    cat > "$1" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .$3 n)
{
    .reg .$3 %a, %b, %c, %n; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.param.$3 %n, [n]; ld.global.$3 %a, [%d]; ld.global.$3 %b, [%d+8];
    $2.$3 %c, $4; st.global.$3 [%d+16], %c; ret;
}
P
}
for form in "rcp.rn f64 %a" "sqrt.rn f64 %a" "div.rn f64 %a,%b" "div.rn f64 %a,%n" "div.rn f64 %n,%b" "div u64 %a,%b" "div s64 %a,%b" "rem u64 %a,%b" "rem s64 %a,%b" "rem u64 %a,%n" "div s64 %n,%b"; do
    # shellcheck disable=SC2086 # three words
    set -- $form
    wide "$dir/d.ptx" "$1" "$2" "$3"
    for level in 1 3; do
        foreign 0 "$form" "$dir/d.ptx" $level sm_80
    done
    for other in "rcp.rn f64 %b" "sqrt.rn f64 %b" "div.rn f64 %b,%a" "rcp.rz f64 %a" "sqrt.rp f64 %a" "div.rm f64 %a,%n" "div u64 %b,%a" "div s64 %a,%n" "rem s64 %b,%a" "div u64 %a,%a"; do
        # shellcheck disable=SC2086
        set -- $other
        wide "$dir/other.ptx" "$1" "$2" "$3"
        mine || continue
        "$heddle" prove --no-launches "$dir/other.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
        [ $? -eq 5 ] || fail "ptxas's $form for $other: $(last)"
    done
done

# A loop that ptxas unrolls entirely; two halves that are rounded together; a sum that is clamped as it is made
cat > "$dir/rounds.ptx" <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d, %e; .reg .b32 %i, %x, %y; .reg .pred %q;
    ld.param.u64 %d, [p]; mov.u32 %i, 0; mov.u32 %y, 1;
L:  mul.wide.u32 %e, %i, 4; add.u64 %e, %e, %d; ld.global.u32 %x, [%e]; mad.lo.u32 %y, %y, 31, %x; st.global.u32 [%e+64], %y;
    add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 11; @%q bra L; st.global.u32 [%d+256], %y; ret;
}
P
cat > "$dir/clamp.ptx" <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d; .reg .f32 %a, %b, %c; .reg .b32 %x, %y, %z; .reg .b16 %h, %l;
    ld.param.u64 %d, [p]; ld.global.f32 %a, [%d]; ld.global.f32 %b, [%d+4];
    fma.rn.f32 %c, %a, %b, 0f3F000000; cvt.sat.f32.f32 %c, %c; st.global.f32 [%d+8], %c;
    cvt.rn.bf16.f32 %h, %a; cvt.rn.bf16.f32 %l, %b; mov.b32 %x, {%l, %h}; st.global.b32 [%d+12], %x; ret;
}
P
not_for() { # NAME EDIT: a program that does something else
    sed "$2" "$dir/$1.ptx" > "$dir/other.ptx"
    cmp -s "$dir/$1.ptx" "$dir/other.ptx" && fail "$1, $2: nothing to edit"
    mine || return 0
    "$heddle" prove --no-launches "$dir/other.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
    [ $? -eq 5 ] || fail "ptxas's $1 for $2: $(last)"
}
for level in 1 3; do
    foreign 0 rounds "$dir/rounds.ptx" $level sm_80
    not_for rounds 's/%i, 11/%i, 12/'
    not_for rounds 's/%i, 11/%i, 10/'
    not_for rounds 's/%y, 31/%y, 33/'
    not_for rounds 's/+64/+68/'
    foreign 0 clamp "$dir/clamp.ptx" $level sm_80
    not_for clamp 's/{%l, %h}/{%h, %l}/'
    not_for clamp 's/cvt.sat.f32.f32 %c, %c;//'
    not_for clamp 's/cvt.rn.bf16.f32 %h/cvt.rz.bf16.f32 %h/'
done

# The signs of an FFMA's operands are in the instruction: those of one program are not those of another
signs() { # FILE NEG OR MOV, ABS OR MOV
    cat > "$1" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .f32 %f<7>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.global.f32 %f1, [%d]; ld.global.f32 %f2, [%d+4];
    abs.f32 %f3, %f1; $2.f32 %f4, %f3; $3.f32 %f5, %f2;
    fma.rn.f32 %f6, %f4, %f5, 0f3F800000; st.global.f32 [%d+8], %f6; ret;
}
P
}
for kind in "neg abs" "neg mov" "mov abs" "mov mov"; do
    signs "$dir/signs.ptx" $kind
    foreign 0 "signs, $kind" "$dir/signs.ptx" 3 sm_80
    for other in "neg abs" "neg mov" "mov abs" "mov mov"; do
        [ "$kind" != "$other" ] || continue
        signs "$dir/other.ptx" $other
        "$heddle" prove --no-launches "$dir/other.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
        [ $? -ne 0 ] || fail "signs, $kind for $other: $(last)"
    done
done

# Addresses of variables come from constant bank 4; another variable's, or another place in it, is another program
tables() { # FILE VARIABLE DISPLACEMENT
    cat > "$1" <<P
.version 8.0
.target sm_80
.address_size 64
.global .align 8 .b8 a[64];
.global .align 8 .b8 b[64];
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<4>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;
    mov.u64 %d3, a; add.s64 %d3, %d3, %d2; ld.global.u32 %r2, [%d3];
    mov.u64 %d4, $2; add.s64 %d4, %d4, %d2; st.global.u32 [%d4+$3], %r2; ret;
}
P
}
tables "$dir/t.ptx" b 8
for level in 1 3; do
    foreign 0 "addresses of variables" "$dir/t.ptx" $level sm_80
    for other in "a 8" "b 12"; do
        tables "$dir/other.ptx" ${other% *} ${other#* }
        "$heddle" prove --no-launches "$dir/other.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
        [ $? -ne 0 ] || fail "the store of another place, $other: $(last)"
    done
done

# The relocations of bank 4 have no addend of their own: what stands in the bank is added to the address
"$heddle" disasm --sections "$dir/k.cubin" |
    awk '/\.section\t"\.nv\.constant4"/ { bank = 1 } bank && sub(/\.zero\t8/, ".dword\t4") { bank = 0 } { print }' > "$dir/offset.sass"
"$heddle" asm "$dir/offset.sass" -o "$dir/offset.cubin" || fail "an address and an offset are not assembled"
cmp -s "$dir/k.cubin" "$dir/offset.cubin" && fail "no offset was put into the bank"
"$heddle" prove --no-launches "$dir/t.ptx" "$dir/offset.cubin" > "$dir/out" 2>&1
[ $? -eq 5 ] || fail "an address and an offset: $(last)"

# A product and a sum may be rounded once, unless one of them says .rn
a_sum() { # FILE MUL ADD
    cat > "$1" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .f32 %f<6>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.global.f32 %f1, [%d]; ld.global.f32 %f2, [%d+4]; ld.global.f32 %f3, [%d+8];
    $2 %f4, %f1, %f2; $3 %f5, %f4, %f3; st.global.f32 [%d+12], %f5; ret;
}
P
}
a_sum "$dir/loose.ptx" mul.f32 add.f32
"$ptxas" -arch=sm_80 -fmad=true "$dir/loose.ptx" -o "$dir/k.cubin" || fail "a sum is not compiled"
sums() { # EXPECTED-STATUS MUL ADD: may it be that code?
    a_sum "$dir/sum.ptx" "$2" "$3"
    "$heddle" prove --no-launches "$dir/sum.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
    [ $? -eq "$1" ] || fail "$2, $3: $(last)"
}
sums 0 mul.f32 add.f32
sums 5 mul.rn.f32 add.f32
sums 5 mul.f32 add.rn.f32

# A number made a whole one and cut off is converted by that mode; functions of the driver are called by addresses in constant bank 4
statements() { # FILE DECLARATION STATEMENTS
    cat > "$1" <<P
.version 8.0
.target sm_80
.address_size 64
$2
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d, %n; .reg .f32 %a, %c; .reg .b32 %e;
    ld.param.u64 %d, [p]; $3 ret;
}
P
}
floor() { # FILE MODE
    statements "$1" "" "ld.global.f32 %a, [%d]; cvt.$2.f32.f32 %c, %a; cvt.rzi.s32.f32 %e, %c; st.global.b32 [%d+8], %e;"
}
floor "$dir/f.ptx" rmi
foreign 0 "a floor" "$dir/f.ptx" 3 sm_80
for mode in rpi rni rzi; do
    floor "$dir/other.ptx" $mode
    "$heddle" prove --no-launches "$dir/other.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
    [ $? -eq 5 ] || fail "a floor for $mode: $(last)"
done
freed() { # FILE FUNCTION OTHER
    statements "$1" ".extern .func free (.param .b64 p); .extern .func (.param .b64 r) malloc (.param .b64 n);" \
        "mov.u64 %n, 16; { .param .b64 a; .param .b64 r; st.param.b64 [a], %n; call.uni $2, (a); }
         { .param .b64 a; .param .b64 r; st.param.b64 [a], %n; call.uni $3, (a); }"
}
freed "$dir/f.ptx" free "(r), malloc"
foreign 0 "functions of the driver" "$dir/f.ptx" 3 sm_80
freed "$dir/other.ptx" "(r), malloc" free
"$heddle" prove --no-launches "$dir/other.ptx" "$dir/k.cubin" > "$dir/out" 2>&1
[ $? -eq 5 ] || fail "another function of the driver: $(last)"

# Division, reciprocal and root with the routines that ptxas puts behind the kernel; with another step, sign, constant, range
# in line or in the routine, another way back, or one that counts depths of calls, they are none; nor is a cache policy the memory descriptor
rounded() { # FILE TYPE STATEMENT
    cat > "$1" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .$2 %a, %b, %d; .reg .b64 %p;
    ld.param.u64 %p, [p]; ld.global.$2 %a, [%p]; ld.global.$2 %b, [%p+8]; $3; st.global.$2 [%p+16], %d; ret;
}
P
}
planted() { # NAME EDIT: of the binary that was made last; every second one of each level
    edits=$((edits + 1))
    [ $((edits % 2)) = $((level / 2)) ] && mine || return 0
    "$heddle" disasm --sections "$dir/k.cubin" > "$dir/k.sass"
    sed "$2" "$dir/k.sass" > "$dir/wrong.sass"
    cmp -s "$dir/k.sass" "$dir/wrong.sass" && { fail "$1, $2: nothing to edit"; return; }
    "$heddle" asm "$dir/wrong.sass" -o "$dir/wrong.cubin" > "$dir/out" 2>&1 || { fail "$1, $2: $(last)"; return; }
    "$heddle" prove --no-launches "$dir/r.ptx" "$dir/wrong.cubin" > "$dir/out" 2>&1
    [ $? -eq 5 ] || fail "$1, $2: $(last)"
}
for level in 1 3; do
    edits=0
    rounded "$dir/r.ptx" f32 "div.rn.f32 %d, %a, %b"
    rm -f "$dir/out" # unless it is this case's turn
    foreign 0 "div.rn.f32" "$dir/r.ptx" $level sm_80
    [ ! -e "$dir/out" ] || grep -q "div .*MUFU as NVIDIA's" "$dir/out" || fail "div.rn.f32 -O$level is not said to rest on MUFU"
    for edit in '0,/FCHK P\([0-9]\), \(R[0-9]*\), \(R[0-9]*\)/s//FCHK P\1, \3, \2/' '0,/FFMA/s//FFMA.RM/' 's/FFMA.RP/FFMA.RM/' \
        's/FFMA.RZ/FFMA/' 's/0x7fffffff, /0x7ffffffe, /' 's/0xfd,/0xfc,/' 's/-0x18,/-0x17,/' 's/-0x40/-0x41/' 's/, 0x20, RZ/, 0x1f, RZ/' \
        's/1.84467440737095516160e+19/1.84467440737095516160e+18/' 's/, 0x48, /, 0x88, /' '0,/, 0xc8, /s//, 0xc0, /' \
        's/ MOV \(R[0-9]*\), (\(\.L[_0-9a-f]*\)) ;/ MOV \1, (\2+0x20) ;/'; do
        planted "div.rn.f32 -O$level" "$edit"
    done
    rounded "$dir/r.ptx" f32 "rcp.rn.f32 %d, %a"
    foreign 0 "rcp.rn.f32" "$dir/r.ptx" $level sm_80
    for edit in 's/0x1ffffff/0xffffff/' 's/-0xfd/-0xfc/' 's/FFMA.RM/FFMA/' 's/0xe0/0xf0/' 's/CALL.REL.NOINC/CALL.REL/' 's/RET.REL.NODEC/RET.REL/' \
        's/desc\[UR4\]/desc[UR4.POLICY]/'; do
        planted "rcp.rn.f32 -O$level" "$edit"
    done
    rounded "$dir/r.ptx" f32 "sqrt.rn.f32 %d, %a"
    foreign 0 "sqrt.rn.f32" "$dir/r.ptx" $level sm_80
    for edit in 's/0x727fffff/0x7f7fffff/' 's/0x727fffff/0x717fffff/' 's/0x7fffffff *;/0xffffffff ;/' 's/MUFU.RSQ/MUFU.RCP/'; do
        planted "sqrt.rn.f32 -O$level" "$edit"
    done
    rounded "$dir/r.ptx" f64 "div.rn.f64 %d, %a, %b"
    foreign 0 "div.rn.f64" "$dir/r.ptx" $level sm_80
    for edit in 's/0x7feffffe/0x7feffffd/' 's/DMUL.RP/DMUL/' 's/0x46a00000/0x46b00000/' 's/0x80000,/0x40000,/' 's/0x1ca00000/0x1cb00000/' \
        's/0x63400000/0x63500000/' 's/-0x43300000/-0x43200000/'; do
        planted "div.rn.f64 -O$level" "$edit"
    done
done

# A collective for lanes that may be apart: in line, or around it in straight code behind the kernel. Both ways do the same, and
# the lanes that are asked for are those that are waited for
cat > "$dir/r.ptx" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d; .reg .b32 %t, %a, %b; .reg .pred %q;
    ld.param.u64 %d, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %d, %t, 4, %d;
    ld.global.u32 %a, [%d]; setp.gt.u32 %q, %t, 31; @%q bra E;
    shfl.sync.down.b32 %b, %a, 16, 31, -1; add.u32 %a, %a, %b;
    shfl.sync.down.b32 %b, %a, 8, 31, -1; add.u32 %a, %a, %b;
E:  bar.sync 0; st.global.u32 [%d], %a; ret;
}
P
foreign 0 "lanes apart" "$dir/r.ptx" 3 sm_80
foreign 0 "lanes apart" "$dir/r.ptx" 1 sm_80
for edit in 's/BRA.DIV ~URZ/BRA.DIV URZ/' 's/BRA.DIV ~URZ/BRA.DIV UR4/' 's/BRA.DIV/BRA.CONV/' 's/BRA.DIV ~URZ, .* ;/NOP ;/' \
    's/BRA.DIV/@P0 BRA.DIV/' 's/WARPSYNC R[0-9]*/NOP/' 's/-0x1 ;/0xffff ;/' 's/RZ, 0x8 ;/RZ, 0x4 ;/' 's/MOV R0, 0x1f/MOV R2, 0x1f/' \
    's/SHFL.DOWN PT, \(R[0-9]*, R[0-9]*, R\)/SHFL.UP PT, \1/' 's/WARPSYNC 0xffffffff/NOP/' '/IMAD.IADD/!s/IADD3 R6, R7, R0, RZ/IADD3 R6, R7, R7, RZ/'; do
    planted "lanes apart" "$edit"
done
exit $failed
