#!/usr/bin/env bash
# Cooperative launches: run.sh HEDDLE. Sums over blocks that wait for each other twice, in the interpreter and on the machine, with own code
# and with ptxas's where that is found, are those that are computed here. SPDX-License-Identifier: MIT
set -u
heddle=$1
. "$(dirname "$0")/../../part.sh"
. "$(dirname "$0")/../begin.sh"

# words NUMBERS: little-endian words of 4 bytes
words() {
    local text
    printf -v text '\\x%02x\\x%02x\\x%02x\\x%02x' $(for x; do echo $((x & 255)) $((x >> 8 & 255)) $((x >> 16 & 255)) $((x >> 24 & 255)); done)
    printf "$text"
}

# expect X Y THREADS: $launch runs it so twice; parts begin at 0, and at three times the first sum
expect() {
    local blocks=$(($1 * $2)) n=$(($1 * $2 * $3)) i sum=0 total in=() parts=() sums=()
    for ((i = 0; i < n; i++)); do in[i]=$(((i + 1) * 2654435761 & 0xffffffff)) sum=$(((sum + in[i]) & 0xffffffff)); done
    total=$((sum + 3 * sum * blocks)) # of the second launch
    for ((i = 0; i < n; i++)); do sums[i]=$((total + i & 0xffffffff)); done
    for ((i = 0; i < blocks; i++)); do parts[i]=$((3 * total & 0xffffffff)); done
    words "${in[@]}" > "$dir/in.bin"
    words "${parts[@]}" > "$dir/parts.bin"
    words "${sums[@]}" > "$dir/sums.bin"
    cat > "$dir/launch.json" << END
{"buffers": {"in": {"type": "u32", "count": $n, "init": "@in.bin"}, "parts": {"type": "u32", "count": $blocks, "init": "zero"},
             "sums": {"type": "u32", "count": $n, "init": "zero"}},
 "launches": [{"kernel": "meet", "grid": [$1, $2], "block": [$3], "cooperative": true, "repeat": 2, "args": ["in", "parts", "sums"]}],
 "checks": [{"buffer": "parts", "equals": "@parts.bin"}, {"buffer": "sums", "equals": "@sums.bin"}]}
END
}

for shape in '1 1 1' '5 1 96' '3 7 33' '40 1 32' '200 2 1'; do
    expect $shape
    for engine in ptx interp stencil; do
        mine || continue
        "$heddle" run meet.ptx --engine $engine --launch "$dir/launch.json" > "$dir/out" 2>&1 || fail "$shape, engine $engine"
    done
done
expect 9 2 40
for target in bru1 sm_80 sm_86 sm_89 sm_90; do
    for level in 0 2; do
        "$heddle" compile meet.ptx -t $target -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "meet.ptx for $target, -O$level"
        mine || continue
        "$heddle" validate meet.ptx "$dir/own.cubin" --launch "$dir/launch.json" > "$dir/out" 2>&1 || fail "own code for $target, -O$level"
    done
    if mine; then
        "$heddle" validate meet.ptx "$dir/own.cubin" --launch auto > "$dir/out" 2>&1 && grep -q '^meet: equal: ' "$dir/out" || fail "inferred launches, own code for $target"
    fi
    [ $target != bru1 ] && [ -n "${PTXAS:-}" ] || continue
    for level in 0 3; do
        "$PTXAS" -arch $target -O$level meet.ptx -o "$dir/ptxas.cubin" > "$dir/out" 2>&1 || fail "ptxas, $target, -O$level"
        "$heddle" validate meet.ptx "$dir/ptxas.cubin" --launch "$dir/launch.json" > "$dir/out" 2>&1 || fail "ptxas's code for $target, -O$level"
    done
    "$heddle" validate meet.ptx "$dir/ptxas.cubin" --launch auto > "$dir/out" 2>&1 && grep -q '^meet: equal: ' "$dir/out" || fail "inferred launches, ptxas's code for $target"
done

# without, there is no workspace; a grid that cannot be there at once is refused; what the inferred launches are is written
few=(--kernel meet --block 1 --arg 'buf:u32[2048]=zero' --arg 'buf:u32[2048]=zero' --arg 'out:out:u32[2048]=zero')
for engine in ptx interp; do
    "$heddle" run meet.ptx --engine $engine "${few[@]}" --grid 2 --cooperative > "$dir/out" 2>&1 || fail "--cooperative, engine $engine"
    "$heddle" run meet.ptx --engine $engine "${few[@]}" --grid 2 > "$dir/out" 2>&1
    [ $? = 1 ] && grep -q 'trap' "$dir/out" || fail "a workspace without --cooperative, engine $engine"
    "$heddle" run meet.ptx --engine $engine "${few[@]}" --grid 1025 --cooperative > "$dir/out" 2>&1
    [ $? != 0 ] && grep -q 'cooperative launch of more than 1024 blocks' "$dir/out" || fail "1025 blocks, engine $engine"
done
"$heddle" validate meet.ptx --launch auto --show-launch "$dir/shown.json" > "$dir/out" 2>&1 && grep -q '"cooperative":[[:space:]]*true' "$dir/shown.json" ||
    fail "the inferred launches do not say that they are cooperative"
"$heddle" validate meet.ptx --launch "$dir/shown.json" > "$dir/out" 2>&1 || fail "the inferred launches, read again"
sed 's/"cooperative": true/"cooperative": 1/' "$dir/launch.json" > "$dir/wrong.json"
"$heddle" run meet.ptx --launch "$dir/wrong.json" > "$dir/out" 2>&1
[ $? != 0 ] && grep -q '"cooperative" must be true or false' "$dir/out" || fail '"cooperative": 1'
exit $bad
