#!/bin/sh
# run_sample.sh HEDDLE HOST SAMPLE LEVEL DIRECTORY [OPTIONS...]: one sample at one level, with more options of compile.
# MODULE in the environment is compiled instead of SAMPLE.ptx, with the functions of LIBDEVICE.
#   1. the host program writes inputs and expected output
#   2. validate: PTX reference interpreter and machine agree, and both equal the host's output
#   3. the binary runs with control-code checking and reports nothing
#   4. it is one machine: the checked mode, one thread and several give the same memory and statistics; where blocks go
#      by what an atomic operation on global memory gave them, several threads give the same memory only
#   5. disassembled and assembled again it is the same file
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 host=$2 sample=$3 level=$4 work=$5/$(basename "$3")_O$4
shift 5
module=${MODULE:-$sample.ptx}
[ $# -eq 0 ] || work=$work$(printf %s "$1" | tr -c 'a-z=-' _)
rm -rf "$work"
mkdir -p "$work"
"$host" "$work"
"$heddle" compile "$module" "-O$level" ${LIBDEVICE:+--libdevice "$LIBDEVICE"} "$@" -o "$work/k.cubin"
"$heddle" validate "$module" "$work/k.cubin" ${LIBDEVICE:+--libdevice "$LIBDEVICE"} --launch "$sample.json" --data-dir "$work"
machine() { # FILE OPTIONS...
    out=$1
    shift
    "$heddle" run "$work/k.cubin" --launch "$sample.json" --data-dir "$work" --stats "$@" > "$work/$out.all"
    grep -v -e ' M/s' -e '^compiled ' "$work/$out.all" > "$work/$out" # how long it took, and what of it was compiled
}
machine checked --check-control
machine fast
machine threads --jobs 3
cmp "$work/fast" "$work/checked"
if ! "$heddle" disasm -c "$work/k.cubin" | grep -Eq ' ATOMG?\.'; then
    grep -v '^blocks resident' "$work/fast" > "$work/fast.blocks"
    grep -v '^blocks resident' "$work/threads" | cmp "$work/fast.blocks" -
fi
"$heddle" disasm --sections "$work/k.cubin" -o "$work/k.sass"
"$heddle" asm "$work/k.sass" -o "$work/k2.cubin"
cmp "$work/k.cubin" "$work/k2.cubin"
