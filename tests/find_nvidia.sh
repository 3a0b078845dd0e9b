#!/bin/sh
# find_nvidia.sh TOOL [COMMAND...]: where a ptxas, nvdisasm or nvcc is that the tests can use, or status 77 and a line on standard
# error that says why there is none: it is not found ($PTXAS, $NVDISASM or $NVCC, PATH, CUDA's folder, Triton's), does not run
# here, or is too old for the machines and the PTX of the tests. With COMMAND, runs it with PTXAS, NVDISASM or NVCC set.
# SPDX-License-Identifier: MIT
tool=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
works() { # PATH: what the tests ask of it, of the newest version and the machines at both ends
    case $tool in
    ptxas)
        for sm in 75 90; do
            printf '.version 9.0\n.target sm_%s\n.address_size 64\n.entry k() { ret; }\n' $sm >"$work/k.ptx"
            "$1" -arch=sm_$sm "$work/k.ptx" -o "$work/k.cubin" >"$work/out" 2>&1 || return 1
        done ;;
    nvcc)
        echo '__global__ void k() {}' >"$work/k.cu"
        "$1" -arch=sm_80 -ptx "$work/k.cu" -o "$work/k.ptx" >"$work/out" 2>&1 ;;
    nvdisasm)
        printf '\030\171\0\0\0\0\0\0\0\0\0\0\0\300\017\0' >"$work/nop"
        for sm in 75 90; do
            "$1" -b SM$sm "$work/nop" 2>&1 | tee "$work/out" | grep -q 'NOP' || return 1
        done ;;
    esac
}
case $tool in
ptxas) told=$PTXAS ;;
nvdisasm) told=$NVDISASM ;;
nvcc) told=$NVCC ;;
*) echo "find_nvidia.sh: $tool is none of ptxas, nvdisasm, nvcc" >&2; exit 1 ;;
esac
found=$told
[ -n "$told" ] || found=$(command -v "$tool")
if [ -z "$found" ]; then
    triton=$(python3 -c 'import os, triton; print(os.path.dirname(triton.__file__))' 2>/dev/null)
    for folder in /usr/local/cuda/bin "$triton/backends/nvidia/bin"; do
        [ ! -x "$folder/$tool" ] || { found=$folder/$tool; break; }
    done
fi
if [ -z "$found" ]; then
    echo "no $tool was found" >&2
    exit 77
elif ! works "$found"; then
    echo "$found is not used: it does not do what the tests ask: $(head -n 1 "$work/out")" >&2
    exit 77
elif [ $# -eq 0 ]; then
    echo "$found"
else
    case $tool in
    ptxas) PTXAS=$found "$@" ;;
    nvdisasm) NVDISASM=$found "$@" ;;
    nvcc) NVCC=$found "$@" ;;
    esac
fi
