#!/usr/bin/env bash
# Shared memory that the system lends: run.sh HEDDLE. The interpreter and the machine, with own code and with ptxas's where that
# is found, give the numbers that are computed here; the bytes around are out of range. Behind it: where dynamic memory begins.
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
# Where dynamic shared memory begins: behind what is static, at a multiple of what its variable asks for and of 16 at least,
# in both executions and in ptxas's code. (From sm_90 on the system's part lies before both.)
begins() { # ALIGNMENT SIZE, of the static variable; ALIGNMENT of the dynamic one
    local least=$(($3 > 16 ? $3 : 16)) file
    cat > "$dir/begins.ptx" << END
.version 7.0
.target sm_75
.address_size 64
.extern .shared .align $3 .b8 dynamic[];
.visible .entry begins(.param .u64 out) {
.shared .align $1 .b8 own[$2];
.reg .b64 %o; .reg .b32 %r<4>;
ld.param.u64 %o, [out]; mov.u32 %r1, dynamic; mov.u32 %r2, own; st.shared.u32 [%r2], %r1; ld.shared.u32 %r3, [%r2];
st.global.v2.u32 [%o], {%r1, %r3}; ret; }
END
    local at=$((($2 + least - 1) / least * least))
    for target in bru1 sm_75; do
        "$heddle" compile "$dir/begins.ptx" -t $target -o "$dir/begins.$target" > "$dir/out" 2>&1 || fail "begins.ptx for $target"
    done
    [ ! -x "${PTXAS:-}" ] || "$PTXAS" -arch=sm_75 "$dir/begins.ptx" -o "$dir/begins.theirs" > "$dir/out" 2>&1 || fail "begins.ptx, ptxas"
    for file in "$dir"/begins.bru1 "$dir"/begins.sm_75 ${PTXAS:+"$dir/begins.theirs"}; do
        "$heddle" validate "$dir/begins.ptx" "$file" --grid 1 --block 1 --shared 4096 --arg out:o:u32[2]=zero --expect o=$at,$at > "$dir/out" 2>&1 ||
            fail "dynamic memory aligned to $3 behind $2 bytes aligned to $1, $file: not at $at"
    done
}
begins 4 4 4
begins 4 36 1
begins 8 20 8
begins 16 48 32
begins 16 48 1024
exit $bad
