#!/bin/sh
# callers.sh HEDDLE_PTXAS DIR: compilers that call a ptxas take heddle-ptxas for it. nvcc builds a program for three machines and
# with line tables, clang a kernel, where there is one that makes PTX; NVDISASM, where it is set, reads the code and the lines. NVCC is where
# nvcc is.
# SPDX-License-Identifier: MIT
ptxas=$1 dir=$2
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 1
fail() { echo "$*"; exit 1; }
cat >add.cu <<'EOF'
__constant__ float table[8];
__device__ int calls;
__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float s[256];
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n)
        c[i] = s[255 - threadIdx.x] + b[i] * table[i & 7];
    if (i == 0)
        calls++;
}
int main() {
    add<<<1, 256>>>(0, 0, 0, 0);
    return 0;
}
EOF
# FILE: the machine code has the kernel's barrier and ends in the lines of the source
reads() {
    [ -n "$NVDISASM" ] || return 0
    "$NVDISASM" -g "$1" >sass 2>&1 || fail "nvdisasm does not read $1: $(cat sass)"
    grep -q 'BAR\.' sass || fail "$1: no barrier in the code"
    [ -z "$2" ] || grep -q "add.cu\", line $2" sass || fail "$1: no code of line $2"
}
export NVCC_PREPEND_FLAGS="--ptxas-prefix=$ptxas"
for sm in 75 80 90; do
    "$NVCC" -arch=sm_$sm -lineinfo -cubin add.cu -o add.$sm.cubin 2>err || fail "nvcc -arch=sm_$sm: $(cat err)"
    reads add.$sm.cubin 9
done
"$NVCC" -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=[sm_80,compute_80] -Xptxas -v -t 2 \
    add.cu -o add 2>err >&2 || fail "nvcc: $(cat err)"
[ "$(grep -c "^ptxas info    : Compiling entry function '_Z3add" err)" = 2 ] || fail "nvcc -Xptxas -v: $(cat err)"
echo '.version 8.0 .target sm_75 .address_size 64 .entry k() { foo; }' >bad.ptx
"$NVCC" -arch=sm_80 -cubin bad.ptx -o bad.cubin >err 2>&1 && fail "nvcc: wrong PTX is taken"
[ $? = 255 ] && grep -q "ptxas bad.ptx, line 1; error   : Not a name of any known instruction: 'foo'" err ||
    fail "nvcc: wrong PTX: $(cat err)"
cat >scale.cu <<'EOF'
__attribute__((global)) void scale(float *p, int n) {
    int i = __nvvm_read_ptx_sreg_tid_x();
    if (i < n)
        p[i] *= 2.0f;
}
EOF
cuda=$(dirname "$(dirname "$(readlink -f "$NVCC")")")
for clang in clang clang-14 clang-19; do
    command -v $clang >/dev/null 2>&1 && [ -d "$cuda/nvvm" ] || continue
    $clang -x cuda --cuda-path="$cuda" -nocudainc -nocudalib --cuda-gpu-arch=sm_80 --cuda-device-only -S scale.cu \
        -o scale.ptx 2>/dev/null || continue
    $clang -x cuda --cuda-path="$cuda" -nocudainc -nocudalib --cuda-gpu-arch=sm_80 --cuda-device-only -O2 \
        --ptxas-path="$ptxas" -Xcuda-ptxas -v -c scale.cu -o scale.o 2>err || fail "$clang: $(cat err)"
    grep -q "Used [0-9]* registers, used 0 barriers, 364 bytes cmem" err || fail "$clang: $(cat err)"
    [ -z "$NVDISASM" ] || "$NVDISASM" scale.o | grep -q FMUL || [ -n "$("$NVDISASM" scale.o | grep FADD)" ] ||
        fail "$clang: no product in the code"
done
