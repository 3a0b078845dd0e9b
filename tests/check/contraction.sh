#!/bin/bash
# Differences that PTX leaves to the compiler, and differences that --tolerance allows, against wrong code. A binary without a
# map stands for another compiler's; with ptxas its own fused code is judged too.
#   contraction.sh HEDDLE SAMPLES SCRATCH
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 samples=$2 scratch=$3 here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0

store=f32
module() { # FILE OPERATION: h of the loaded f and g
    cat >"$1" <<P
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
{
  .reg .b64 %a, %b, %o; .reg .b32 %i, %x; .reg .f32 %f, %g, %h, %p; .reg .pred %z;
  mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; add.s64 %a, %a, %o; add.s64 %b, %b, %o;
  ld.global.f32 %f, [%a]; ld.global.f32 %g, [%a+1024];
  $2
  st.global.$store [%b], %h;
  ret;
}
P
}
cat >k.json <<'J'
{"buffers": {"a": {"type": "f32", "count": 512, "init": "random:5:-8:8"}, "b": {"type": "f32", "count": 64}},
 "launches": [{"kernel": "k", "grid": [1], "block": [64], "args": ["a", "b"]}]}
J
# judge STATUS VERDICT PTX BINARY [OPTIONS]: under inferred launches, a launch file, and that with coverage
judge() {
    local status=$1 verdict=$2 how
    module ptx.ptx "$3"
    module binary.ptx "$4"
    shift 4
    local options=("$@") map=--no-map
    [ "${1:-}" = map ] && options=("${@:2}") map=
    "$heddle" compile binary.ptx $map -o binary.cubin || { failed=1; return; }
    for how in "--launch auto" "--launch k.json" "--launch k.json --races"; do
        mine || continue
        "$heddle" validate ptx.ptx binary.cubin $how "${options[@]}" >out 2>&1
        [ $? = "$status" ] && grep -q "^k: $verdict" out && continue
        echo "FAILED: $(grep -A1 'ld.global.f32' ptx.ptx | tail -1) with $how ${options[*]}: not $verdict ($status):"
        head -4 out
        failed=1
    done
}
sum='mul.f32 %p, %f, %g; add.f32 %h, %p, %f;'
fused='fma.rn.f32 %h, %f, %g, %f;'
judge 0 contraction "$sum" "$fused"
judge 0 contraction 'mul.f32 %p, %f, %g; sub.f32 %h, %f, %p;' 'neg.f32 %p, %f; fma.rn.f32 %h, %p, %g, %f;'
judge 0 contraction 'mul.f32 %p, %f, %g; sub.f32 %h, %p, %g;' 'neg.f32 %p, %g; fma.rn.f32 %h, %f, %g, %p;'
judge 0 contraction 'mul.f32 %p, %f, %g; mul.f32 %h, %f, %f; add.f32 %h, %p, %h;' 'mul.rn.f32 %h, %f, %f; fma.rn.f32 %h, %f, %g, %h;'
judge 0 contraction 'mul.f32 %p, %f, %g; mul.f32 %h, %f, %f; add.f32 %h, %p, %h;' 'mul.rn.f32 %p, %f, %g; fma.rn.f32 %h, %f, %f, %p;'
judge 0 contraction 'ex2.approx.f32 %h, %f;' 'ex2.approx.f32 %h, %f; mul.rn.f32 %h, %h, 0f3F800001;'
judge 0 contraction 'div.full.f32 %h, %f, %g;' 'div.rn.f32 %h, %f, %g;'
# what becomes f32 need not be rounded to f16 first
half='.reg .b16 %s<3>; cvt.rn.f16.f32 %s1, %f; cvt.rn.f16.f32 %s2, %g;' wide='.reg .f32 %w<3>; cvt.f32.f16 %w1, %s1; cvt.f32.f16 %w2, %s2;'
judge 0 contraction "$half mul.f16 %s0, %s1, %s2; cvt.f32.f16 %h, %s0;" "$half $wide mul.rn.f32 %h, %w1, %w2;"
judge 0 contraction "$half sub.f16 %s0, %s1, %s2; cvt.f32.f16 %h, %s0;" "$half $wide sub.rn.f32 %h, %w1, %w2;"
judge 4 differs "$half mul.rn.f16 %s0, %s1, %s2; cvt.f32.f16 %h, %s0;" "$half $wide mul.rn.f32 %h, %w1, %w2;"
judge 4 differs "$half add.f16 %s0, %s1, %s2; cvt.f32.f16 %h, %s0;" "$half $wide sub.rn.f32 %h, %w1, %w2;"
# a number that is cleared as an integer is one of f32: what one of two sums moves is no other word
cleared='setp.gt.f32 %z, %f, 0f3F000000; @%z st.global.u32 [%b], 0; @%z ret;'
module ptx.ptx "$cleared mul.f32 %p, %f, %g; add.f32 %h, %p, %f; mul.f32 %p, %h, %g; add.f32 %h, %p, %f;"
module binary.ptx "$cleared mul.rn.f32 %p, %f, %g; add.rn.f32 %h, %p, %f; fma.rn.f32 %h, %h, %g, %f;"
"$heddle" compile binary.ptx --no-map -o binary.cubin || failed=1
"$heddle" validate ptx.ptx binary.cubin --launch auto >out 2>&1
[ $? = 5 ] && grep -q "^k: unknown" out || { echo "FAILED: cleared as integers"; head -3 out; failed=1; }
# numbers that round otherwise, added by atomics in another order
module ptx.ptx "mul.f32 %p, %f, %g; add.f32 %h, %p, %f; mul.f32 %p, %h, %g; add.f32 %h, %p, %f;"
module binary.ptx "mul.rn.f32 %p, %f, %g; add.rn.f32 %h, %p, %f; fma.rn.f32 %h, %h, %g, %f;"
sed -i 's/add.s64 %b, %b, %o;/and.b64 %o, %o, 12; &/; s/st.global.f32/red.global.add.f32/' ptx.ptx binary.ptx
"$heddle" compile binary.ptx --no-map -o binary.cubin || failed=1
"$heddle" validate ptx.ptx binary.cubin --launch auto >out 2>&1
[ $? = 0 ] && grep -q "^k: contraction" out || { echo "FAILED: sums in another order"; head -3 out; failed=1; }
# neg and abs make some NaN of a NaN (PTX ISA 9.7.3.10 and 11): ptxas makes a sign of a value that is chosen or moved
nan='sub.rn.f32 %p, %f, %f; div.rn.f32 %p, %p, %p;' flipped='mov.b32 %x, %p; xor.b32 %x, %x, 0x80000000; mov.b32 %h, %x;'
judge 0 contraction "$nan neg.f32 %h, %p;" "$nan $flipped"
judge 4 differs "$nan add.rn.f32 %h, %p, %p;" "$nan $flipped"
# a quotient is a product, too, so that what becomes of its bits is known; integers must be those of a run
sed -i.float 's/"f32", "count": 64/"u32", "count": 64/' k.json
bits='mov.b32 %x, %h; xor.b32 %x, %x, %i; and.b32 %x, %x, 15; cvt.rn.f32.u32 %h, %x;'
quotient='div.approx.f32 %p, %f, %g;' fused_quotient="rcp.approx.f32 %p, %g; fma.rn.f32 %h, %f, %p, %f; $bits"
judge 0 contraction "$quotient add.f32 %h, %p, %f; $bits" "$fused_quotient"
judge 0 contraction "$quotient sub.f32 %h, %f, %p; $bits" "rcp.approx.f32 %p, %g; neg.f32 %p, %p; fma.rn.f32 %h, %f, %p, %f; $bits"
full='div.full.f32 %p, %f, %g;'
judge 0 contraction "$full add.f32 %h, %p, %f; $bits" "$fused_quotient"
judge 0 contraction "$full sub.f32 %h, %f, %p; $bits" "rcp.approx.f32 %p, %g; neg.f32 %p, %p; fma.rn.f32 %h, %f, %p, %f; $bits"
judge 4 differs "$full add.rn.f32 %h, %p, %f; $bits" "$fused_quotient"
judge 4 differs "$full add.f32 %h, %p, %f; $bits" "rcp.approx.f32 %p, %g; fma.rn.f32 %h, %f, %p, %g; $bits"
judge 4 differs "$quotient add.rn.f32 %h, %p, %f; $bits" "$fused_quotient"
judge 4 differs "$quotient add.f32 %h, %p, %f; $bits" "rcp.approx.f32 %p, %g; fma.rn.f32 %h, %f, %p, %g; $bits"
judge 4 differs "div.rn.f32 %p, %f, %g; add.f32 %h, %p, %f; $bits" "$fused_quotient"
mv k.json.float k.json
# LLVM stores numbers without their type: what made them tells it
store=b32
judge 0 contraction "$sum" "$fused"
judge 0 contraction "$sum setp.lt.s32 %z, %i, 60; selp.b32 %h, %h, 0f3F800000, %z;" "$fused setp.lt.s32 %z, %i, 60; selp.b32 %h, %h, 0f3F800000, %z;"
judge 4 differs "$sum" 'fma.rn.f32 %h, %f, %f, %g;'
judge 4 differs 'mul.rn.f32 %p, %f, %g; add.rn.f32 %h, %p, %f;' "$fused"
store=f32
# not left to the compiler: roundings that are written, products that are no longer there, Heddle's own code
judge 4 differs 'mul.rn.f32 %p, %f, %g; add.rn.f32 %h, %p, %f;' "$fused"
judge 4 differs 'mul.f32 %p, %f, %g; mov.f32 %g, 0f40000000; add.f32 %h, %p, %g;' 'mov.f32 %p, 0f40000000; fma.rn.f32 %h, %f, %p, %p;'
judge 4 differs "$sum" "$fused" map
# wrong operations and constants
judge 4 differs "$sum" 'neg.f32 %p, %f; fma.rn.f32 %h, %f, %g, %p;'
judge 4 differs "$sum" 'fma.rn.f32 %h, %f, %f, %g;'
judge 4 differs "$sum" 'fma.rz.f32 %h, %f, %g, %g;'
judge 4 differs 'mul.f32 %p, %f, 0f40490FDB; add.f32 %h, %p, %g;' 'mov.f32 %p, 0f40490FD0; fma.rn.f32 %h, %f, %p, %g;'
judge 4 differs 'mul.f32 %p, %f, 0f3F000000; add.f32 %h, %p, %g;' 'mov.f32 %p, 0f3F000001; fma.rn.f32 %h, %f, %p, %g;'
judge 4 differs 'ex2.approx.f32 %h, %f;' 'ex2.approx.f32 %h, %f; mov.b32 %x, %h; add.u32 %x, %x, 64; mov.b32 %h, %x;'
judge 4 differs 'sin.approx.f32 %h, %f;' 'cos.approx.f32 %h, %f;'
# Of even threads 1 and the difference of two equal sums, which runs that fuse both or none do not move; one that fuses one of them
# moves it by less than they move the sums, which odd threads store: that shows nothing. A thousandth and more does.
steps=".reg .pred %e; .reg .f32 %q; mul.f32 %p, %f, %g; add.f32 %q, %p, %f; mul.f32 %p, %g, %f; add.f32 %h, %p, %f;"
rest() { echo "sub.rn.f32 %g, %q, %h; add.rn.f32 %g, %g, $1; and.b32 %x, %i, 1; setp.eq.u32 %e, %x, 0; selp.f32 %h, %g, %q, %e;"; }
mixed=".reg .pred %e; .reg .f32 %q; fma.rn.f32 %q, %f, %g, %f; mul.rn.f32 %p, %g, %f; add.rn.f32 %h, %p, %f;"
for case in "5 unknown 0f3F800000" "4 differs 0f3F804000"; do
    set -- $case
    module ptx.ptx "$steps $(rest 0f3F800000)"
    module binary.ptx "$mixed $(rest $3)"
    "$heddle" compile binary.ptx --no-map -o binary.cubin || failed=1
    for how in "" --races; do
        "$heddle" validate ptx.ptx binary.cubin --launch k.json $how >out 2>&1
        [ $? = $1 ] && grep -q "^k: $2" out || { echo "FAILED: one of two sums fused, $3 $how: not $2:"; head -4 out; failed=1; }
    done
done
# a tolerance holds for all code; what it does not cover differs
judge 0 'equal within tolerance' 'mul.rn.f32 %h, %f, %g;' 'mul.rn.f32 %h, %f, %g; mul.rn.f32 %h, %h, 0f3F800001;' \
    --tolerance=ulp:2
judge 0 'equal within tolerance' 'mul.rn.f32 %h, %f, %g;' 'mul.rz.f32 %h, %f, %g;' map --tolerance=rel:1e-6,abs:1e-44
judge 4 differs 'mul.rn.f32 %h, %f, %g;' 'mul.rn.f32 %h, %f, %f;' --tolerance=ulp:8,rel:1e-3
# fields of records have types of their own
module ptx.ptx 'mul.rn.f32 %h, %f, %g;'
module binary.ptx 'mul.rn.f32 %h, %f, %g; mul.rn.f32 %h, %h, 0f3F800001;'
"$heddle" compile binary.ptx --no-map -o binary.cubin || failed=1
for case in "0 f32 f32" "4 f32 u32" "4 u32 f32"; do
    set -- $case
    sed "s/\"f32\", \"count\": 64/\"u64\", \"count\": 32, \"init\": \"records:8,0:$2:zero,4:$3:zero\"/" k.json >records.json
    for how in "" --races; do
        "$heddle" validate ptx.ptx binary.cubin --launch records.json --tolerance=ulp:2 $how >out 2>&1
        [ $? = $1 ] || { echo "FAILED: records of $2 and $3 $how: not $1:"; head -4 out; failed=1; }
    done
done
for bad in ulp ulp: frob:3 ulp:1,x abs:-1 abs:nan; do
    "$heddle" validate ptx.ptx --launch auto --tolerance=$bad >out 2>&1
    [ $? = 2 ] || { echo "FAILED: --tolerance=$bad"; failed=1; }
done

ptxas=$("$here/../find_nvidia.sh" ptxas)
if [ -z "$ptxas" ]; then
    echo "no ptxas: its fused code is not judged"
else
    for s in nbody matmul cholesky approx; do
        sed 's/\(add\|mul\|sub\)\.rn\./\1./' "$samples/$s.ptx" >$s.ptx
        mine || continue
        "$ptxas" -arch=sm_80 -fmad=true $s.ptx -o $s.cubin || { echo "FAILED: ptxas of $s"; failed=1; }
        verdict=contraction
        [ $s != approx ] || verdict=equal # it fuses nothing there
        "$heddle" validate $s.ptx $s.cubin --launch auto >out 2>&1 && grep -q "^$s: $verdict: " out ||
            { echo "FAILED: ptxas's $s"; head -4 out; failed=1; }
    done
    constants='mov.f32 %h, 0f447A0000; div.approx.f32 %p, %f, %h; add.f32 %h, %p, 0fC1200000; div.approx.f32 %p, %g, %h;'
    constants+="add.f32 %h, %p, %f; div.full.f32 %p, %h, %g; sub.f32 %h, %f, %p; $bits"
    module constants.ptx "$constants"
    sed -i 's/"f32", "count": 64/"u32", "count": 64/' k.json
    for level in -O0 -O3; do
        "$ptxas" -arch=sm_80 $level constants.ptx -o constants.cubin
        "$heddle" validate constants.ptx constants.cubin --launch k.json >out 2>&1 && grep -Eq '^k: (contraction|equal)' out ||
            { echo "FAILED: ptxas $level's quotients"; head -4 out; failed=1; }
    done
    for edit in s/0fC1200000/0fC1200001/ s/0f447A0000/0f44800000/ '0,/add\.f32/s//sub.f32/'; do
        sed "$edit" constants.ptx >wrong.ptx
        "$ptxas" -arch=sm_80 wrong.ptx -o wrong.cubin
        "$heddle" validate constants.ptx wrong.cubin --launch k.json >out 2>&1
        [ $? = 4 ] || { echo "FAILED: wrong quotients: $edit"; head -4 out; failed=1; }
    done
    # all bits of a root by ptxas's steps
    root='cvt.f64.f32 %d, %f; abs.f64 %d, %d; rsqrt.approx.f64 %d, %d; mov.b64 {%i, %x}, %d; mov.b32 %h, %i;'
    module root.ptx ".reg .f64 %d; $root"
    "$ptxas" -arch=sm_80 root.ptx -o root.cubin
    "$heddle" validate root.ptx root.cubin --launch k.json >out 2>&1
    [ $? = 0 ] && grep -q ' 0 near to that' out || { echo "FAILED: ptxas's root"; head -4 out; failed=1; }
    # the same with one operation, or one constant, of the PTX wrong
    wrong() { # SAMPLE SED-EXPRESSION
        mine || return
        sed "$2" $1.ptx >wrong.ptx
        cmp -s $1.ptx wrong.ptx && { echo "FAILED: $1: nothing is wrong"; failed=1; }
        "$ptxas" -arch=sm_80 -fmad=true wrong.ptx -o wrong.cubin
        "$heddle" validate $1.ptx wrong.cubin --launch auto >out 2>&1
        [ $? = 4 ] && grep -q "^$1: differs" out || { echo "FAILED: wrong $1: $2"; head -4 out; failed=1; }
    }
    wrong matmul '0,/add\.f32/s//sub.f32/'
    wrong matmul '0,/mul\.f32/s//add.f32/'
    wrong nbody '0,/sub\.f32/s//add.f32/'
    wrong nbody 's/0f3C23D70A/0f3C23D80A/'
    wrong approx '0,/sin\.approx/s//cos.approx/'
fi
[ $failed = 0 ] && echo "all as expected"
exit $failed
