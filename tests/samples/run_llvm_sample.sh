#!/bin/sh
# run_llvm_sample.sh HEDDLE HOST SAMPLE LEVEL DIRECTORY: a sample in LLVM IR, OpenCL C or CUDA. SAMPLE.ll is read as it
# is; SAMPLE.cl and SAMPLE.cu become bitcode by a clang, and OpenCL's functions are linked. Skipped (77) where there is no
# libLLVM, or no clang that knows NVPTX.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 sample=$3 folder=$(dirname "$3")
work=$5/$(basename "$sample")_O$4_bitcode
rm -rf "$work"
mkdir -p "$work"
if ! "$heddle" compile "$folder/gcds.ll" --emit=ptx -o "$work/probe.ptx" 2>"$work/log"; then
    grep -q E0005 "$work/log" && echo "skipped: $(cat "$work/log")" && exit 77
fi
opencl="-x cl -cl-std=CL1.2 --target=nvptx64-nvidia-nvcl"
cuda="-x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_75"
for clang in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 none; do
    [ $clang = none ] && echo "skipped: no clang for NVPTX" && exit 77
    if "$clang" $opencl -O2 -emit-llvm -c "$folder/workitem.cl" -o "$work/workitem.bc" 2>"$work/log" &&
        "$heddle" compile "$folder/gcds.ll" --libdevice "$work/workitem.bc" --emit=ptx -o "$work/probe.ptx" 2>"$work/log"; then
        break # and libLLVM is not older than it
    fi
done
for source in "$sample.ll" "$sample.cl" "$sample.cu"; do
    case $source in
    *.ll) [ -e "$source" ] && module=$source ;;
    *.cl) [ -e "$source" ] && module=$work/module.bc && "$clang" $opencl -O2 -emit-llvm -c "$source" -o "$module" ;;
    *.cu) [ -e "$source" ] && module=$work/module.bc && "$clang" $cuda -O2 -emit-llvm -c "$source" -o "$module" 2>"$work/log" ;;
    esac || [ ! -e "$source" ]
done
MODULE=$module LIBDEVICE=$work/workitem.bc exec "$(dirname "$0")/run_sample.sh" "$@"
