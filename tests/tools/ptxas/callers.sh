#!/bin/sh
# callers.sh HEDDLE_PTXAS DIR HEDDLE CMAKE NAMES: compilers that call a ptxas take heddle-ptxas for it. nvcc builds a program for three machines and
# with line tables, clang a kernel, where there is one that makes PTX; NVDISASM, where it is set, reads the code and the lines. NVCC is where
# nvcc is; NAMES is the folder for clang's -B.
# SPDX-License-Identifier: MIT
ptxas=$1 dir=$2 heddle=$3 cmake=$4 names=$5
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
# the same by CMake, and by heddle nvcc; what is made of CUDA C++ by heddle itself
mkdir project
cp add.cu project/
cat >project/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(add LANGUAGES CUDA)
add_executable(add add.cu)
set_target_properties(add PROPERTIES CUDA_ARCHITECTURES "75;80")
EOF
CUDACXX=$NVCC "$cmake" -S project -B made >err 2>&1 && "$cmake" --build made >err 2>&1 || fail "CMake: $(cat err)"
[ -x made/add ] || fail "CMake made no program"
unset NVCC_PREPEND_FLAGS
export NVCC
"$heddle" nvcc -arch=sm_80 -Xptxas -V -cubin add.cu -o none.cubin >said 2>&1
grep -q heddle-ptxas said || fail "heddle nvcc runs another ptxas: $(cat said)"
"$heddle" nvcc -arch=sm_80 add.cu -o add2 2>err && [ -x add2 ] || fail "heddle nvcc: $(cat err)"
"$heddle" nvcc -arch=sm_80 nowhere.cu -o add3 >/dev/null 2>&1 && fail "heddle nvcc: a file that there is not"
"$heddle" compile -t sm_80 add.cu -o own.cubin 2>err || fail "heddle compile add.cu: $(cat err)"
"$heddle" disasm own.cubin | grep -q "BAR.SYNC" || fail "heddle compile add.cu: no barrier"
"$heddle" run add.cu --block 32 --arg buf:f32[32]=iota --arg buf:f32[32]=ones --arg out:c:f32[32] --arg u32:32 --print c >said 2>err ||
    fail "heddle run add.cu: $(cat err)"
# of the PTX of several machines in one program the latest up to --target; bru1, which is the default, takes what there is
"$NVCC" -gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=compute_80 -gencode arch=compute_100,code=compute_100 \
    -c add.cu -o many.o 2>err || fail "nvcc, three texts: $(cat err)"
for wanted in bru1:sm_80 sm_75:sm_75 sm_86:sm_80; do
    "$heddle" compile many.o -t ${wanted%:*} --emit=ptx -o many.ptx 2>err && grep -q "target ${wanted#*:}" many.ptx ||
        fail "of several texts for ${wanted%:*}: $(cat err)"
done
echo '__global__ void k() { nothing(); }' >wrong.cu
"$heddle" compile wrong.cu -o wrong.cubin >said 2>&1
[ $? = 1 ] && grep -q "E0011: wrong.cu is CUDA C++: .*nvcc makes no PTX" said && grep -q '"nothing" is undefined' said && [ ! -e wrong.cubin ] ||
    fail "wrong CUDA: $(cat said)"
NVCC=/nowhere "$heddle" nvcc >said 2>&1
[ $? = 1 ] && grep -q "there is no nvcc" said || fail "without nvcc: $(cat said)"
cat >scale.cu <<'EOF'
__attribute__((global)) void scale(float *p, int n) {
    int i = __nvvm_read_ptx_sreg_tid_x();
    if (i < n)
        p[i] *= 2.0f;
}
EOF
# heddle with clang alone: kernels as CUDA's users write them, but for its headers
cat >words.cu <<'EOF'
__constant__ float table[8];
__device__ __forceinline__ float twice(float x) { return x * 2.0f; }
__global__ void __launch_bounds__(128) words(float *p, int n) {
    __shared__ float s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? p[i] : 0;
    __syncthreads();
    if (i < n)
        p[i] = twice(s[blockDim.x - 1 - threadIdx.x]) + table[i & 7];
}
EOF
for clang in clang clang-14 clang-16 clang-19; do
    command -v $clang >/dev/null 2>&1 && $clang -print-targets 2>/dev/null | grep -q nvptx64 || continue
    rm -rf only
    mkdir only
    ln -s "$(command -v $clang)" only/
    NVCC=/nowhere PATH=$dir/only "$heddle" run words.cu --block 32 --arg out:p:f32[32]=iota --arg u32:32 --print p >said 2>err ||
        fail "heddle run words.cu by $clang: $(cat err)"
    [ ! -s err ] && [ "$(sed -n '2p;$p' said | tr -s ' ' | cut -d' ' -f 2,3 | tr '\n' ' ')" = "[0] 62 [31] 0 " ] ||
        fail "heddle run words.cu by $clang: $(cat said err)"
done
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
    # a host object: its fat binary has the machine code of two machines, and the PTX
    cat - scale.cu >host.cu <<'EOF'
struct dim3 { unsigned x, y, z; };
extern "C" int cudaLaunchKernel(const void *, dim3, dim3, void **, unsigned long, struct CUstream_st *);
extern "C" int __cudaPopCallConfiguration(dim3 *, dim3 *, unsigned long *, struct CUstream_st **);
EOF
    echo 'int main() { return 0; }' >>host.cu
    $clang -x cuda --cuda-path="$cuda" -nocudainc -nocudalib --cuda-gpu-arch=sm_75 --cuda-gpu-arch=sm_80 -O2 -B"$names" \
        -Wno-unknown-cuda-version -c host.cu -o host.o 2>err || fail "$clang -B: $(cat err)"
    for sm in 75 80; do
        "$heddle" disasm host.o -t sm_$sm >said 2>&1 && grep -q 'scale' said || fail "$clang -B: no code of sm_$sm: $(cat said)"
    done
    "$heddle" compile host.o -t sm_86 --emit=ptx -o ptx.out 2>err && grep -q "target sm_80" ptx.out || fail "$clang -B: no PTX in the host object: $(cat err)"
    cuobjdump=${NVDISASM:+$(dirname "$NVDISASM")/cuobjdump}
    [ ! -x "$cuobjdump" ] || [ "$("$cuobjdump" -lelf -lptx host.o | grep -c ' file ')" = 4 ] ||
        fail "$clang -B: cuobjdump reads $("$cuobjdump" -lelf -lptx host.o 2>&1)"
done
# what it says of a wrong command line, and of files that are not what they are said to be
refused() { # TEXT WORDS...
    text=$1
    shift
    "$names/fatbinary" "$@" >said 2>&1
    [ $? = 1 ] && [ "$(cat said)" = "fatbinary fatal   : $text" ] || fail "fatbinary $*: $(cat said)"
}
refused "Unknown option '-nonsense'" -64 --nonsense
refused "Could not open input file 'none.cubin'" -64 --create f --image3=kind=elf,sm=80,file=none.cubin
refused "Value 'sm=8x' is not defined for option 'image3'" --create f --image3=kind=elf,sm=8x,file=own.cubin
refused "Value 'sm=4294967376' is not defined for option 'image3'" --create f --image3=kind=elf,sm=4294967376,file=own.cubin
refused "Option 'image' lacks the kind, the machine or the file: 'profile=sm_80'" --create f --image=profile=sm_80
refused "'own.cubin' is for sm_80, not for sm_75" --create f --image=profile=sm_75,file=own.cubin
refused "'add.cu' is no PTX: it does not start with .version" --create f --image=profile=compute_75,file=add.cu
[ ! -e f ] || fail "fatbinary wrote a file that it refused"
"$names/fatbinary" -64 --create f --image3=kind=elf,sm=80,file=own.cubin --cmdline "-v" --compress-all &&
    "$heddle" disasm f >said && grep -q BAR.SYNC said || fail "fatbinary --image3"
