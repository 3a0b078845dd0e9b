#!/usr/bin/env bash
# Textures and surfaces: run.sh HEDDLE CASES FIND_NVIDIA PROGRAM... (k, levels, steps: made by CASES; surface, params, moved). Both executions must give the values that CASES computes, code of
# every target those of the interpreter, and so must what ptxas makes of the same text, where it is found (of steps, instructions that are not modelled).
# SPDX-License-Identifier: MIT
set -u
heddle=$1 cases=$2 ptxas=$("$3" ptxas 2> /dev/null)
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
. "$here/../../part.sh"
trap 'rm -rf "$dir"' EXIT
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}
shift 3
for program in "$@"; do
    [ -f "$here/$program.ptx" ] || "$cases" "$dir" "$program" || fail "$cases $program"
done
cp "$here"/*.ptx "$here"/*.json "$dir"
cd "$dir" || exit 1
for program in "$@"; do
    for engine in ptx interp; do
        "$heddle" run $program.ptx --launch $program.json --engine $engine > out 2>&1 || { fail "$program, $engine"; tail -3 out; }
    done
    "$heddle" validate $program.ptx --launch $program.json > out 2>&1 || { fail "validate $program"; tail -3 out; }
    for target in sm_75 sm_80 sm_86 sm_89 sm_90; do
        mine || continue
        "$heddle" compile $program.ptx -t $target -o own.cubin && "$heddle" check own.cubin > out 2>&1 &&
            "$heddle" validate $program.ptx own.cubin --launch $program.json > out 2>&1 ||
            { fail "$program for $target"; tail -3 out; }
    done
    for sm in 75 80 86 89 90; do
        [ $program != steps ] && [ -n "$ptxas" ] && [ -x "$ptxas" ] && mine || continue
        sed "s/^.target sm_75/.target sm_$sm/; s/^.version 7../.version 8.0/" $program.ptx > theirs.ptx
        for level in 3 0; do
            [ $level = 3 ] || [ $program = moved ] || continue
            "$ptxas" -O$level -arch sm_$sm theirs.ptx -o theirs.cubin > out 2>&1 || continue # a ptxas without this target
            "$heddle" validate theirs.ptx theirs.cubin --launch $program.json > out 2>&1 ||
                { fail "$program by ptxas -O$level for sm_$sm"; tail -3 out; }
        done
    done
done
[ "$1" = levels ] && exit $bad
# a place outside of a surface stops the thread
sed 's/^"launches.*/"launches": [{"kernel": "outside", "grid": [1], "block": [1], "args": ["tex:from"]}]}/; /^"checks/,/^ .*\],$/d' \
    surface.json > outside.json
for engine in ptx interp; do
    "$heddle" run surface.ptx --launch outside.json --engine $engine > out 2>&1 && fail "outside of a surface: no trap"
    grep -q 'outside of the surface' out || fail "outside of a surface, $engine: $(tail -1 out)"
done
# a fetch for two dimensions from a texture of one is none, in both executions
cat > two.ptx << 'END'
.version 7.0
.target sm_75
.address_size 64
.visible .entry two(.param .u64 line, .param .u64 out) {
.reg .b64 %d<3>; .reg .b32 %r<2>; .reg .f32 %f<6>;
ld.param.u64 %d1, [line]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f5, %r1;
tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f5}];
st.global.f32 [%d2], %f1;
ret; }
END
echo '{"buffers": {"b": {"type": "f32", "count": 8}}, "textures": {"t": {"buffer": "b", "size": [8], "texel": "f32"}},
"launches": [{"grid": [1], "block": [2], "args": ["tex:t", "b"]}]}' > two.json
for engine in ptx interp; do
    "$heddle" run two.ptx --launch two.json --engine $engine > out 2>&1 && fail "two dimensions of one: no trap"
    grep -q 'another number of dimensions' out || fail "two dimensions of one, $engine: $(tail -1 out)"
done
# the number of levels (ptxas reads it from a table of the driver), of a texture by argument and by name
cat > many.ptx << 'END'
.version 7.0
.target sm_75
.address_size 64
.global .texref one;
.visible .entry many(.param .u64 mips, .param .u64 out) {
.reg .b64 %d<3>; .reg .b32 %r<3>;
ld.param.u64 %d1, [mips]; ld.param.u64 %d2, [out];
txq.num_mipmap_levels.b32 %r1, [%d1]; txq.num_mipmap_levels.b32 %r2, [one];
st.global.v2.u32 [%d2], {%r1, %r2};
ret; }
END
echo '{"buffers": {"b": {"type": "f32", "count": 15}, "o": {"type": "u32", "count": 2}}, "textures": {"t": {"buffer": "b", "size": [8],
"texel": "f32", "levels": 3}, "one": {"buffer": "b", "size": [8], "texel": "f32"}}, "launches": [{"grid": [1], "block": [1],
"args": ["tex:t", "o"]}], "checks": [{"buffer": "o", "values": [3, 1]}]}' > many.json
for engine in ptx interp; do
    "$heddle" run many.ptx --launch many.json --engine $engine > out 2>&1 || fail "levels, $engine: $(tail -1 out)"
done
for target in sm_75 sm_90; do
    "$heddle" compile many.ptx -t $target -o own.cubin && "$heddle" validate many.ptx own.cubin --launch many.json > out 2>&1 ||
        fail "levels for $target: $(tail -1 out)"
done
# how a texture is read: code looks into a table of the driver, as ptxas's does, which the machine lays. The numbers
# are places in the lists of PTX ISA 5.3 (wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border; nearest, linear)
cat > modes.ptx << 'END'
.version 7.0
.target sm_75
.address_size 64
.global .texref wrapped;
.visible .entry modes(.param .u64 seen, .param .u64 out) {
.reg .b64 %d<3>; .reg .b32 %r<9>;
ld.param.u64 %d1, [seen]; ld.param.u64 %d2, [out];
txq.addr_mode_0.b32 %r0, [%d1]; txq.addr_mode_1.b32 %r1, [%d1]; txq.addr_mode_2.b32 %r2, [%d1];
txq.filter_mode.b32 %r3, [%d1]; txq.normalized_coords.b32 %r4, [%d1];
txq.addr_mode_0.b32 %r5, [wrapped]; txq.addr_mode_1.b32 %r6, [wrapped];
txq.filter_mode.b32 %r7, [wrapped]; txq.normalized_coords.b32 %r8, [wrapped];
st.global.v4.u32 [%d2], {%r0, %r1, %r2, %r3}; st.global.v4.u32 [%d2+16], {%r4, %r5, %r6, %r7};
st.global.u32 [%d2+32], %r8;
ret; }
END
echo '{"buffers": {"b": {"type": "f32", "count": 16}, "o": {"type": "u32", "count": 9}}, "textures": {
"t": {"buffer": "b", "size": [4, 2, 2], "texel": "f32", "filter": "linear", "normalized": true, "address": ["mirror", "border", "wrap"]},
"wrapped": {"buffer": "b", "size": [4, 4], "texel": "f32", "normalized": true, "address": ["wrap", "clamp"]}},
"launches": [{"grid": [1], "block": [1], "args": ["tex:t", "o"]}], "checks": [{"buffer": "o", "values": [1, 4, 0, 1, 1, 0, 3, 0, 1]}]}' > modes.json
"$heddle" run modes.ptx --launch modes.json --engine ptx > out 2>&1 || fail "modes: $(tail -1 out)"
for target in bru1 sm_75 sm_80 sm_90; do
    "$heddle" run modes.ptx -t $target --launch modes.json > out 2>&1 || fail "modes for $target: $(tail -1 out)"
done
sed 's/txq.addr_mode_0.b32 %r0/txq.channel_order.b32 %r0/' modes.ptx > order.ptx
"$heddle" compile order.ptx -t sm_90 -o own.cubin > out 2>&1 && fail "formats are compiled"
grep -q 'a table of the driver has it' out || fail "formats are refused without a reason: $(tail -1 out)"
for sm in 75 80 86 89 90; do
    [ -n "$ptxas" ] && [ -x "$ptxas" ] || continue
    sed "s/^.target sm_75/.target sm_$sm/; s/^.version 7../.version 8.0/" modes.ptx > theirs.ptx
    "$ptxas" -arch sm_$sm theirs.ptx -o theirs.cubin > out 2>&1 || continue
    "$heddle" validate theirs.ptx theirs.cubin --launch modes.json > out 2>&1 || fail "modes by ptxas for sm_$sm: $(tail -1 out)"
    # of surfaces nothing is in a table: such code is refused, not run with an entry of no bytes
    sed 's/txq.addr_mode_0.b32 %r0/suq.channel_order.b32 %r0/; s/, \[wrapped\]/, [%d1]/g' theirs.ptx > surfaces.ptx
    "$ptxas" -arch sm_$sm surfaces.ptx -o theirs.cubin > out 2>&1 || continue
    "$heddle" run theirs.cubin --launch modes.json > out 2>&1 && fail "formats of surfaces, sm_$sm: run"
    grep -q 'nv.surfrefDescSize' out || fail "formats of surfaces, sm_$sm: $(tail -1 out)"
done
# no place and no level is RZ: of TXQ that is an illegal instruction on a card
cat > zero.ptx << 'END'
.version 7.0
.target sm_75
.address_size 64
.visible .entry zero(.param .u64 t, .param .u64 out) {
.reg .b64 %d<3>; .reg .b32 %r<3>; .reg .f32 %f<5>;
ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];
mov.u32 %r1, 0; mov.f32 %f0, 0f00000000;
txq.width.b32 %r2, [%d1]; st.global.u32 [%d2], %r2;
txq.level.width.b32 %r2, [%d1], %r1; st.global.u32 [%d2+4], %r2;
tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1}]; st.global.f32 [%d2+8], %f1;
tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f0, %f0}], %f0; st.global.f32 [%d2+12], %f1;
ret; }
END
for target in sm_75 sm_90; do
    for level in 0 2; do
        "$heddle" compile zero.ptx -t $target -O$level -o own.cubin && "$heddle" disasm own.cubin > zero.sass || fail "zero.ptx for $target"
        [ "$(grep -cE '(TXQ|TEX|TLD)[.A-Z]* ' zero.sass)" -ge 4 ] || fail "textures are missing, $target"
        grep -E '(TXQ|TEX|TLD)[.A-Z]* R[Z0-9]+, R[0-9]+, RZ,' zero.sass && fail "RZ for a place or a level, $target"
    done
done
# borders that the format does not have, and a bias of less than nothing: both executions alike
cat > edge.ptx << 'END'
.version 7.0
.target sm_75
.address_size 64
.visible .entry edge(.param .u64 t, .param .u64 out) {
.reg .b64 %d<4>; .reg .b32 %r; .reg .f32 %f<6>;
ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];
mov.u32 %r, %tid.x; cvt.rn.f32.u32 %f0, %r; fma.rn.f32 %f0, %f0, 0f3e8147ae, 0fbf000000;
tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f0, %f0}], %f0;
mul.wide.u32 %d3, %r, 4; add.u64 %d2, %d2, %d3; st.global.f32 [%d2], %f1;
ret; }
END
for texel in f16 f32 u8 s16; do
    for border in 0.1 1e30 -65519 65520 -3e-9 1e-40; do
        values='"read": "float", '
        case $texel in f*) values= ;; esac
        echo '{"buffers": {"b": {"type": "'$texel'", "count": 20, "init": "random:3"}, "o": {"type": "u32", "count": 32}}, "textures": {"t": {"buffer": "b", "size": [4, 4], "levels": 2,
"texel": "'$texel'", "filter": "linear", "mipfilter": "linear", '"$values"'"bias": -0.3, "clamp": [0, 0.5], "address": "border", "border": ['$border']}}, "launches": [{"grid": [1], "block": [32], "args": ["tex:t", "o"]}]}' > edge.json
        "$heddle" validate edge.ptx -t sm_75 --launch edge.json > out 2>&1 || fail "a border of $border, $texel: $(head -3 out)"
    done
done
exit $bad
