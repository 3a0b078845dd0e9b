#!/bin/sh
# run_sample.sh HEDDLE HOST SAMPLE LEVEL DIRECTORY [OPTIONS...]: one sample at one level, with more options of compile.
# MODULE in the environment is compiled instead of SAMPLE.ptx.
#   1. the host program writes inputs and expected output
#   2. validate: PTX reference interpreter and machine agree, and both equal the host's output
#   3. the binary runs with control-code checking and reports nothing
#   4. disassembled and assembled again it is the same file
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 host=$2 sample=$3 level=$4 work=$5/$(basename "$3")_O$4
shift 5
module=${MODULE:-$sample.ptx}
[ $# -eq 0 ] || work=$work$(printf %s "$1" | tr -c 'a-z=-' _)
rm -rf "$work"
mkdir -p "$work"
"$host" "$work"
"$heddle" compile "$module" "-O$level" "$@" -o "$work/k.cubin"
"$heddle" validate "$module" "$work/k.cubin" "-O$level" "$@" --launch "$sample.json" --data-dir "$work"
"$heddle" run "$work/k.cubin" --launch "$sample.json" --data-dir "$work" --check-control
"$heddle" disasm "$work/k.cubin" -o "$work/k.sass"
"$heddle" asm "$work/k.sass" -o "$work/k2.cubin"
cmp "$work/k.cubin" "$work/k2.cubin"
