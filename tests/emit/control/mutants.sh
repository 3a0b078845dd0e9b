#!/bin/sh
# mutants.sh HEDDLE HOST SAMPLE TARGET STEP LEAST WORK: is control-code mode sharp?
# Compiles a sample and makes mutants of its control codes, each with one change to an instruction that the launch
# executes for some lane: a stall one cycle shorter, or one scoreboard wait dropped. Every STEP-th
# possible mutant is run. At least LEAST % must be reported as a hazard. Not every mutant is wrong on the
# path that was taken (a stall may serve another path), so not all can be.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 host=$2 sample=$3 target=$4 step=$5 least=$6
work=$7/$(basename "$sample")_$target
rm -rf "$work"
mkdir -p "$work"
"$host" "$work" >/dev/null
run() { "$heddle" run "$1" --launch "$sample.json" --data-dir "$work" --check-control --budget 3000000; } # a poisoned loop counter never ends
"$heddle" compile "$sample.ptx" --target "$target" -o "$work/k.cubin"
"$heddle" disasm --sections "$work/k.cubin" -o "$work/k.sass"
run "$work/k.cubin" >/dev/null # without a mutation nothing is reported
"$heddle" run "$work/k.cubin" --launch "$sample.json" --data-dir "$work" --trace "$work/trace" >/dev/null

# Lines of k.sass whose instruction ran for some lane, and what to change there: "LINE stall" or "LINE COLUMN". A stall
# of 5 and more on control flow is the price of the instruction itself; nothing is wrong with one less. Nor with one of
# 3 and more where a scoreboard is set, for which who needs the result waits: it spares the scheduler a turn.
awk '
    FNR == NR { if ($0 !~ /executed 00000000/) { sub(/.* warp [0-9]+ /, ""); ran[$1] = 1 } next }
    $1 == ".section" { func_name = $2; gsub(/"|\.text\./, "", func_name); sub(/,.*/, "", func_name) }
    match($0, /\[B......:R.:W.:.:S[0-9][0-9]\]/) {
        code = substr($0, RSTART, RLENGTH)
        match($0, /\/\*[0-9a-f]+\*\//)
        pc = "+0x" substr($0, RSTART + 2, RLENGTH - 4)
        if (!((func_name pc) in ran)) next
        for (k = 1; k <= 6; k++) if (substr(code, 2 + k, 1) != "-") print FNR, k
        stall = substr(code, length(code) - 2, 2) + 0
        if (stall > 2 && code ~ /W[0-5]/) next
        if (stall > 1 && $0 !~ /BRA|BRX|CALL|RET|EXIT|BSYNC|BREAK|WARPSYNC|YIELD|NOP|BAR|MEMBAR|NANOSLEEP|CCTL|KILL|BPT/)
            print FNR, "stall"
    }' "$work/trace" "$work/k.sass" | awk -v step="$step" 'NR % step == 1 || step == 1' >"$work/mutants"

tried=0 killed=0
while read -r line what; do
    awk -v line="$line" -v what="$what" '
        FNR == line && what == "stall" {
            at = match($0, /:S[0-9][0-9]\]/)
            $0 = substr($0, 1, at + 1) sprintf("%02d", substr($0, at + 2, 2) - 1) substr($0, at + 4)
        }
        FNR == line && what != "stall" {
            at = match($0, /\[B/) + 1 + what
            $0 = substr($0, 1, at - 1) "-" substr($0, at + 1)
        }
        { print }' "$work/k.sass" >"$work/m.sass"
    "$heddle" asm "$work/m.sass" -o "$work/m.cubin"
    tried=$((tried + 1))
    if run "$work/m.cubin" 2>&1 | grep -q 'too early'; then
        killed=$((killed + 1))
    else
        sed -n "${line}p" "$work/k.sass" | sed "s/^/not reported ($what): /"
    fi
done <"$work/mutants"
echo "$(basename "$sample") $target: $killed of $tried mutants reported"
[ "$tried" -ge 10 ] && [ $((killed * 100)) -ge $((tried * least)) ]
