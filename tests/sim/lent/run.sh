#!/usr/bin/env bash
# Shared memory that the system lends: run.sh HEDDLE. The interpreter and the machine, with own code and with ptxas's where that
# is found, give the numbers that are computed here; the bytes around are out of range.
# SPDX-License-Identifier: MIT
set -u
heddle=$1
. "$(dirname "$0")/../begin.sh"
in= out=
for ((block = 0; block < 3; block++)); do
    sum=() mix=()
    for ((i = 0; i < 96; i++)); do
        x=$(((block * 96 + i + 1) * 2654435761 & 0xffffffff)) k=$((i % 18))
        printf -v byte '\\x%02x' $((x & 255)) $((x >> 8 & 255)) $((x >> 16 & 255)) $((x >> 24))
        in+=$byte
        sum[k]=$((${sum[k]:-0} + x & 0xffffffff)) mix[k]=$((${mix[k]:-0} ^ x))
    done
    for ((i = 0; i < 96; i++)); do out+="$((0xffffffff)),${sum[i % 18]},${mix[i % 18]},$((0x120)),"; done
done
printf "$in" > "$dir/in.bin"
launch=(--kernel lent --grid 3 --block 96 --shared 384 --arg "buf:u32[288]=@$dir/in.bin" --arg "out:out:u32[1152]=zero" --expect "out=${out%,}")
"$heddle" run lent.ptx --engine ptx "${launch[@]}" > "$dir/out" 2>&1 || fail "the interpreter"
# 4 bytes before what is lent, and behind it
for edge in offset_1:-4 offset_end:0; do
    printf '.version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 %%a; mov.u32 %%a, %%reserved_smem_%s; st.shared.u32 [%%a+%s], 1; ret; }\n' \
        "${edge%:*}" "${edge#*:}" > "$dir/edge.ptx"
    for engine in ptx interp; do
        "$heddle" run "$dir/edge.ptx" --engine $engine --kernel k --grid 1 --block 1 > "$dir/out" 2>&1
        [ $? = 1 ] && grep -q 'shared memory' "$dir/out" || fail "$edge is in range, engine $engine"
    done
done
# %aggr_smem_size: 16 + 48 bytes, and the system's 1024
printf '.version 8.1\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[10];\n.entry k(.param .u64 o) { .reg .b32 %%a; .reg .b64 %%o; ld.param.u64 %%o, [o];
mov.u32 %%a, %%aggr_smem_size; st.global.u32 [%%o], %%a; mov.u32 %%a, %%total_smem_size; st.global.u32 [%%o+4], %%a; mov.u32 %%a, s; st.shared.u32 [%%a], %%a; ret; }\n' > "$dir/all.ptx"
all=(--kernel k --shared 48 --arg 'out:o:u32[2]=zero' --expect o=1088,64)
"$heddle" run "$dir/all.ptx" --engine ptx "${all[@]}" > "$dir/out" 2>&1 || fail "all shared memory, the interpreter"
for level in 0 3; do
    "$heddle" run "$dir/all.ptx" -t sm_90 -O$level "${all[@]}" > "$dir/out" 2>&1 || fail "all shared memory, own code, -O$level"
    "$heddle" prove "$dir/all.ptx" -t sm_90 -O$level --no-launches > "$dir/out" 2>&1 || fail "all shared memory, own code, -O$level: no proof"
    [ -n "${PTXAS:-}" ] || continue
    "$PTXAS" -arch sm_90 -O$level "$dir/all.ptx" -o "$dir/ptxas.cubin" > "$dir/out" 2>&1 || fail "all shared memory, ptxas -O$level"
    "$heddle" run "$dir/ptxas.cubin" "${all[@]}" > "$dir/out" 2>&1 || fail "all shared memory, ptxas's code, -O$level"
done
for target in bru1 sm_80 sm_86 sm_89 sm_90; do
    for level in 0 2; do
        "$heddle" compile lent.ptx -t $target -O$level -o "$dir/own.cubin" > "$dir/out" 2>&1 || fail "lent.ptx for $target, -O$level"
        "$heddle" validate lent.ptx "$dir/own.cubin" "${launch[@]}" > "$dir/out" 2>&1 || fail "own code for $target, -O$level"
    done
    [ $target != bru1 ] && [ -n "${PTXAS:-}" ] || continue
    for level in 0 3; do
        "$PTXAS" -arch $target -O$level lent.ptx -o "$dir/ptxas.cubin" > "$dir/out" 2>&1 || fail "ptxas, $target, -O$level"
        "$heddle" validate lent.ptx "$dir/ptxas.cubin" "${launch[@]}" > "$dir/out" 2>&1 || fail "ptxas's code for $target, -O$level"
    done
done
exit $bad
