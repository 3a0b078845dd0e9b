#!/usr/bin/env bash
# Copies of tensors and bulk copies of clusters: run.sh HEDDLE CASES. The interpreter, Heddle's code and, where it is found,
# ptxas's code must give the numbers of CASES (cases.c) and those that are computed here.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 cases=$2
. "$(dirname "$0")/../begin.sh"
# of our own code; where ptxas is found, another test has it
levels="0 1 2 3"
[ ! -x "${PTXAS:-}" ] || levels=
mkdir "$dir/launch" && "$cases" "$dir/launch" > "$dir/cases" || fail "the cases"
n=$(wc -l < "$dir/cases")
[ "$n" -ge 17 ] || fail "$n cases only"
copies() { # WHAT PROGRAM...
    local what=$1 file kernel
    shift
    while read -r file kernel; do
        "$heddle" "$@" --launch "$file" > "$dir/out" 2>&1 || fail "$what, $(basename "$file") $kernel"
    done < "$dir/cases"
}
# Clusters of N of 2 * N blocks: what bulk.ptx gives.
bulk() { # N WHAT PROGRAM...
    local n=$1 what=$2 b t many= rows= sums= most= next=
    local blocks=$((2 * n))
    shift 2
    for ((b = 0; b < blocks; b++)); do
        local before=$((b / n * n + (b % n + n - 1) % n))
        for ((t = 0; t < 32; t++)); do
            many+="$((t + b)),"
            case $t in 3 | 4 | 17) rows+="$((4 * t + 2))," ;; *) rows+="$t," ;; esac
            next+="$((7 + 100 * before + t)),"
        done
    done
    for ((t = 0; t < 32; t++)); do
        sums+="$((100 * blocks * (blocks - 1) / 2 + blocks * t)),"
        most+="$((100 * (blocks - 1) + t)),"
    done
    local shape="--grid $blocks --block 32"
    [ $n = 1 ] || shape+=" --cluster $n"
    "$heddle" "$@" --kernel many $shape --arg 'buf:u32[32]=iota' --arg "out:out:u32[$((32 * blocks))]=zero" --expect "out=${many%,}" > "$dir/out" 2>&1 ||
        fail "$what, a copy to $n blocks"
    "$heddle" "$@" --kernel reduce $shape --arg "out:out:u32[$((64 + 32 * blocks))]=zero" --expect "out=$sums$most${next%,}" > "$dir/out" 2>&1 ||
        fail "$what, reductions in clusters of $n"
    cat > "$dir/rows.json" << END
{"buffers": {"t": {"type": "u32", "count": 128, "init": "iota"}, "out": {"type": "u32", "count": $((32 * blocks)), "init": "zero"}},
 "tensormaps": {"map": {"buffer": "t", "type": "u32", "size": [4, 32], "box": [4, 1]}},
 "launches": [{"kernel": "rows", "grid": [$blocks], "block": [32], "cluster": [$n], "args": ["tmap:map", "out"]}],
 "checks": [{"buffer": "out", "values": [${rows%,}]}]}
END
    [ $n != 1 ] || sed -i 's/"cluster": \[1\], //' "$dir/rows.json"
    "$heddle" "$@" --launch "$dir/rows.json" > "$dir/out" 2>&1 || fail "$what, rows to $n blocks"
}
# One map made into another: nothing is left of the difference, and the copy is of the tensor that it is then.
cat > "$dir/replace.json" << END
{"buffers": {"t": {"type": "u32", "count": 1024, "init": "iota"}, "maps": {"type": "u32", "count": 32, "init": "ones"}, "out": {"type": "u32", "count": 40, "init": "ones"}},
 "tensormaps": {"from": {"buffer": "t", "type": "f16", "size": [32, 3, 7], "strides": [128, 512], "box": [32, 3, 5], "steps": [1, 2, 4], "swizzle": "64B", "fill": "nan"},
                "like": {"buffer": "t", "type": "u32", "size": [12, 9], "box": [4, 2]}},
 "launches": [{"kernel": "replace", "grid": [1], "block": [32], "args": ["tmap:from", "tmap:like", "maps", "out"]}],
 "checks": [{"buffer": "out", "values": [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,28,29,30,31,40,41,42,43]}]}
END
# And one made of zeros, which lacks only the number (0x4d544448) by which a card's engine knows Heddle's maps.
sed 's/"maps":/"zeros": {"type": "u32", "count": 32}, &/; s/"tmap:from"/"zeros"/; s/\(values": \[\(0,\)\{16\}\)0/\11297368136/' "$dir/replace.json" > "$dir/fresh.json"
replace() { # WHAT PROGRAM...
    local what=$1
    shift
    "$heddle" "$@" --launch "$dir/replace.json" > "$dir/out" 2>&1 || fail "$what, a map made into another"
    "$heddle" "$@" --launch "$dir/fresh.json" > "$dir/out" 2>&1 || fail "$what, a map made of zeros"
}
halves() { # WHAT PROGRAM...
    local what=$1
    shift
    "$heddle" "$@" --launch halves.json > "$dir/out" 2>&1 || fail "$what, the least and the greatest of halves"
}
copies "the interpreter" run copy.ptx --engine ptx
halves "the interpreter" run halves.ptx --engine ptx
replace "the interpreter" run replace.ptx --engine ptx
for n in 1 2 4; do bulk $n "the interpreter" run bulk.ptx --engine ptx; done
for target in bru1 sm_90; do
    for level in $levels; do
        "$heddle" compile copy.ptx -t $target -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "copy.ptx for $target, -O$level"
        copies "own code for $target, -O$level" validate copy.ptx "$dir/own.cubin" --check-control
        "$heddle" compile replace.ptx -t ${target/sm_90/sm_90a} -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "replace.ptx for $target, -O$level"
        replace "own code for $target, -O$level" validate replace.ptx "$dir/own.cubin"
        "$heddle" compile halves.ptx -t $target -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "halves.ptx for $target, -O$level"
        halves "own code for $target, -O$level" validate halves.ptx "$dir/own.cubin"
        "$heddle" compile bulk.ptx -t $target -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "bulk.ptx for $target, -O$level"
        for n in 1 2 4; do
            [ $target = bru1 ] && [ $n != 1 ] || bulk $n "own code for $target, -O$level" validate bulk.ptx "$dir/own.cubin"
        done
    done
done
if [ -x "${PTXAS:-}" ]; then
    for level in 0 1 3; do
        "$PTXAS" -arch=sm_90 -O$level -o "$dir/theirs.cubin" copy.ptx > "$dir/out" 2>&1 || fail "ptxas, copy.ptx, -O$level"
        copies "ptxas's code, -O$level" validate copy.ptx "$dir/theirs.cubin"
        "$PTXAS" -arch=sm_90a -O$level -o "$dir/theirs.cubin" replace.ptx > "$dir/out" 2>&1 || fail "ptxas, replace.ptx, -O$level"
        replace "ptxas's code, -O$level" validate replace.ptx "$dir/theirs.cubin"
        "$PTXAS" -arch=sm_90 -O$level -o "$dir/theirs.cubin" halves.ptx > "$dir/out" 2>&1 || fail "ptxas, halves.ptx, -O$level"
        halves "ptxas's code, -O$level" validate halves.ptx "$dir/theirs.cubin"
        "$PTXAS" -arch=sm_90 -O$level -o "$dir/theirs.cubin" bulk.ptx > "$dir/out" 2>&1 || fail "ptxas, bulk.ptx, -O$level"
        for n in 1 2 4; do bulk $n "ptxas's code, -O$level" validate bulk.ptx "$dir/theirs.cubin"; done
    done
fi
# A number that is not right is seen.
head -1 "$dir/cases" | while read -r file _; do sed 's/"checks": \[{"buffer": "out", "values": \[[0-9]*/&1/' "$file" > "$dir/wrong.json"; done
"$heddle" validate copy.ptx --launch "$dir/wrong.json" > "$dir/out" 2>&1 && fail "a wrong number was not seen"
# Two blocks that store the same are named.
while read -r file _; do
    sed 's/"grid": \[1/"grid": [2/' "$file" > "$dir/twice.json"
    "$heddle" validate copy.ptx -t sm_90 --launch "$dir/twice.json" --races > "$dir/out" 2>&1 &&
        grep -q "unordered stores of the same value at" "$dir/out" && grep -q 'cp.async.bulk.tensor.2d' "$dir/out" || fail "two blocks that store, $file"
done < <(grep ' store2' "$dir/cases")
# What is no map, or another one, is a trap of both; what no driver encodes is refused.
"$heddle" validate copy.ptx -t sm_90 --kernel load2 --grid 1 --block 32 --arg "b8[128]:$(printf '1,%.0s' {1..127})1" --arg 'out:out:u8[64]=zero' --arg s32:0 --arg s32:0 --arg u32:64 > "$dir/out" 2>&1
[ $? = 5 ] && grep -q 'both trap' "$dir/out" || fail "what is no tensor map"
# Where no copy of a card begins (all tried on an H100, which has such copies for illegal instructions).
trap_of_both() { # CASE ARGUMENT OTHER TEXT
    sed "s/\"$2\"/\"$3\"/" "$dir/launch/$1.json" > "$dir/bad.json"
    "$heddle" validate copy.ptx -t sm_90 --launch "$dir/bad.json" > "$dir/out" 2>&1
    [ $? = 5 ] && [ "$(grep -c "$4" "$dir/out")" -ge 2 ] || fail "a copy that begins at $3"
}
trap_of_both 02 s32:16 s32:17 'no multiple of 16 bytes'
trap_of_both 01 s32:-16 s32:-8 'no multiple of 16 bytes'
trap_of_both 14 s32:5 s32:-1 'store is negative'
trap_of_both 16 s32:16 s32:-16 'store is negative'
trap_of_both 10 s32:-1 s32:-2 'pixel is not in the box'
trap_of_both 10 s32:-1 s32:8 'pixel is not in the box'
refuse() { # WHAT PART WITH
    sed "s/$2/$3/" "$dir/launch/02.json" > "$dir/bad.json"
    "$heddle" run copy.ptx --engine ptx --launch "$dir/bad.json" > "$dir/out" 2>&1
    [ $? = 1 ] && grep -q 'E0502.*tensor map map' "$dir/out" || fail "not refused: $1"
}
refuse "a box of 257" '"box": \[32' '"box": [257'
refuse "a stride that is no multiple of 16" '"strides": \[128' '"strides": [120'
refuse "a row of another length than is swizzled" '"swizzle": "64B"' '"swizzle": "128B"'
refuse "NaN of integers" '"type": "f16", "size": \[64, 20\]\(.*\)"fill": "zero"' '"type": "u16", "size": [64, 20]\1"fill": "nan"'
refuse "more than the buffer" '"size": \[64, 20' '"size": [64, 21'
refuse "interleaving" '"fill"' '"interleave": "16B", "fill"'
exit $bad
