#!/usr/bin/env bash
# multimem on a multicast object of three replicas: run.sh HEDDLE. The interpreter, Heddle's code on every engine and, where it
# is found, ptxas's code must leave what is written here, which was worked out by hand: in halves 2048 + 1 is 2048, in
# f32 2050; of bf16 256 + 1 is 256, in f32 258; f32 has no 2^24 + 1.
# SPDX-License-Identifier: MIT
set -u
heddle=$1
. "$(dirname "$0")/../begin.sh"
first=5,0x4b800000,0,0x41700000,0x5c006800,0x5c006800,0x5c006800,0x5c006800,0x3f804380,0x3f804380,0x3f804380,0x3f804380,1,0x4b800000,0x3f800000,0
second=7,0x3f800000,0,0x3ff00000,0x3c003c00,0x3c003c00,0x3c003c00,0x3c003c00,0x3f803f80,0x3f803f80,0x3f803f80,0x3f803f80,1,0x3f800000,0x3f800000,0
third=0xffffffff,${second#7,}
rest=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0xffffffff,0xffffffff
numbers() { printf '"%s"' "${1//,/\",\"}"; }
launch() { # KERNEL ARGS CHECKS
    cat > "$dir/launch.json" << END
{"buffers": {"a": {"type": "u32", "values": [$(numbers "$first,$rest")]}, "b": {"type": "u32", "values": [$(numbers "$second,$rest")]},
             "c": {"type": "u32", "values": [$(numbers "$third,$rest")]}, "out": {"type": "u32", "count": 48}},
 "multicasts": {"all": ["a", "b", "c"]},
 "launches": [{"kernel": "$1", "grid": [1], "block": [32], "args": [$2]}], "checks": [$3]}
END
}
check() { printf '{"buffer": "%s", "values": [%s]}' "$1" "$(numbers "$2")"; }
reduced=11,11,5,0xffffffff,0xffffffff,7,5,0xffffffff,0xfffffffd,0x4b800000
reduced+=,0x20000000,0x41700000,0,0xc1500000,0,0x3ff00000,0,0x41700000,0,0x01700000,0,0x7ff00000,0,0x41700000
reduced+=,0x5c086800,0x5c086801,0x3c003c00,0x5c006800,0x40404380,0x40404380,0x40404380,0x40404380
reduced+=,0x40404381,0x40404381,0x3f803f80,0x3f803f80,0x5c086801,0x5c086801,0x5c086801,0x5c086801
reduced+=,0x3f804380,0x3f804380,0x5c086800,0x3f803f80,3,0x4b800000,0x40400000,0
# 37, 39 and 31; 2^24 + 1 and 2; 2049 is 2048; of 1 and a subnormal number the latter is lost, as in red.global
stored=0x12345678,0,0,0,0x3f800000,0x40000000,0x40400000,0x40800000,0x3c003c00,0x3c003c00,0x55667788,0x11223344,31,0,0x55667788,0x11223344
after_a=37,0x4b800000,0x10000000,0x41700000,0x5c046800,0x3c003c00,0x5c006800,0x5c006800,0x40004380,0x40004380,0x40004380,0x40004380,0x3f800000,0x4b800001,0x40800000,0x40800000,$stored
tail=0x3f800000,0,0x40000000,0x40004000,0x3c003c00,0x3c003c00,0x3c003c00,0x40004000,0x40004000,0x40004000,0x40004000,0x3f800000,0x40400000,0x40800000,0x40800000,$stored
both() { # WHAT PROGRAM...
    local what=$1
    shift
    launch reduce '"multi:all", "out"' "$(check out "$reduced"), $(check a "$first,$rest")"
    "$heddle" "$@" --launch "$dir/launch.json" > "$dir/out" 2>&1 || fail "$what, reduce"
    launch spread '"multi:all"' "$(check a "$after_a"), $(check b "39,$tail"), $(check c "31,$tail")"
    "$heddle" "$@" --launch "$dir/launch.json" > "$dir/out" 2>&1 || fail "$what, spread"
}
both "the interpreter" run --engine ptx forms.ptx
for level in 0 1 2 3; do
    for target in bru1 sm_90; do
        both "$target at -O$level" validate -O$level -t $target forms.ptx
    done
done
"$heddle" compile -t sm_90 forms.ptx -o "$dir/own.cubin" || fail "compile"
for engine in interp stencil jit; do
    both "$engine" run --engine $engine "$dir/own.cubin"
done
launch wrong '"a"' ''
"$heddle" validate forms.ptx --launch "$dir/launch.json" > "$dir/out" 2>&1
[ $? = 5 ] && grep -q 'no multicast object' "$dir/out" || fail "a reduction at a buffer"
launch plain '"multi:all", "out"' ''
"$heddle" validate forms.ptx --launch "$dir/launch.json" > "$dir/out" 2>&1
[ $? = 5 ] && grep -q 'both trap' "$dir/out" || fail "a load at a multicast object"
refused() { # MEMBERS WORDS
    launch plain '"multi:all", "out"' ''
    sed -i "s/\"multicasts\": {[^}]*}/\"multicasts\": {$1}/" "$dir/launch.json"
    "$heddle" run forms.ptx --launch "$dir/launch.json" > "$dir/out" 2>&1
    [ $? = 1 ] && grep -q "E0502.*$2" "$dir/out" || fail "not refused: $1"
}
refused '"all": ["a", "out"]' 'of one size'
refused '"all": ["a", "a"]' 'there twice'
refused '"all": []' 'a list of buffers'
refused '"all": ["nobody"]' 'a list of buffers'
refused '"some": ["a"]' 'no multicast object of that name'
if [ -x "${PTXAS:-}" ]; then
    "$PTXAS" -arch=sm_90 forms.ptx -o "$dir/theirs.cubin" || fail "ptxas"
    both "ptxas's code" validate forms.ptx "$dir/theirs.cubin"
fi
exit $bad
