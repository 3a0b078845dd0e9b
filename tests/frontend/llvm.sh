#!/bin/sh
# llvm.sh HEDDLE DIRECTORY: LLVM IR as input: messages with positions, libraries, targets, damaged files, directories.
# Skipped (77) but for the first part where there is no libLLVM.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../want.sh"
heddle=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failed=0

cat >k.ll <<'P'
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @seven(i32)
define i32 @own() noinline { ret i32 30 }
define void @k(ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s = call i32 @seven(i32 %t)
  %o = call i32 @own()
  %v = add i32 %s, %o
  %p = getelementptr i32, ptr %out, i32 %t
  store i32 %v, ptr %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
P
cat >library.ll <<'P'
declare i32 @__nvvm_reflect(ptr)
@arch = private addrspace(1) constant [11 x i8] c"__CUDA_FTZ\00"
@step = internal addrspace(4) constant i32 7
define i32 @seven(i32 %t) {
  %f = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @arch to ptr))
  %s = load i32, ptr addrspace(4) @step
  %m = mul i32 %t, %s
  %v = add i32 %m, %f
  ret i32 %v
}
define i32 @own() { ret i32 99 }
define i32 @unused(i32 %t) {
  %v = call i32 @nowhere(i32 %t)
  ret i32 %v
}
declare i32 @nowhere(i32)
P
sed 's/add i32 %s, %o/add i32 %s, nought/' k.ll >bad.ll
sed 's/nvptx64-nvidia-cuda/x86_64-pc-linux-gnu/' k.ll >host.ll
sed '/target triple/d' k.ll >bare.ll
printf 'BC\300\336\065\024\000\000' >short.bc

# a library that is none: said, whatever else is here
want 1 'error E0005: k.ll is LLVM IR; to read it needs libLLVM.*cannot open' compile k.ll --llvm ./absent.so
want 1 'error E0005: k.ll.*has no LLVM' compile k.ll --llvm libc.so.6

if ! "$heddle" compile k.ll --libdevice library.ll --emit=ptx -o k.ptx 2>out; then
    if grep -q -e 'E0005.*none was found' -e 'LLVM: expected type' out; then
        [ $failed = 0 ] && echo "skipped: no libLLVM, or one that reads no ptr (14)" && exit 77
        exit 1
    fi
    cat out
    exit 1
fi

# what is wrong with a text stands at its place there, not in PTX
want 1 '^bad.ll:9:20: error E0006: LLVM: ' compile bad.ll
grep -q '^  %v = add i32 %s, nought$' out && grep -q '^                   ^$' out || { echo "FAIL: no line and caret:"; cat out; failed=1; }
want 1 "host.ll: error E0006: LLVM: the module is for target 'x86_64" compile host.ll
want 1 'short.bc: error E0006: LLVM: ' compile short.bc
want 1 "k.ll: error E0006: LLVM: unknown pass name 'nonsense'" compile k.ll --libdevice library.ll --llvm-passes nonsense
want 1 'k.ll: error E0006: LLVM: .*sm_3000.* is not a recognized processor' compile k.ll --libdevice library.ll --mcpu sm_3000
want 1 'bad.ll:9:20: error E0006' compile k.ll --libdevice bad.ll
want 1 'cannot read absent.bc' compile k.ll --libdevice absent.bc
want 1 'k.ll: warning W0008: seven is used but defined nowhere; --libdevice' compile k.ll
want 1 'error E0702' compile k.ll
# the driver's functions are no library's
cat >print.ll <<'L'
target triple = "nvptx64-nvidia-cuda"
@format = internal addrspace(1) constant [7 x i8] c"hi %d\0A\00"
declare i32 @vprintf(ptr, ptr)
define void @k(i32 %n) {
  %b = alloca i32
  store i32 %n, ptr %b
  %r = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @format to ptr), ptr %b)
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
L
want 0 '' compile print.ll
grep -q W0008 out && echo 'FAIL: vprintf is said to be undefined' && failed=1
want 0 '^hi 7$' run print.cubin --block 2 --arg s32:7
for file in k.cubin bad.cubin host.cubin short.cubin; do
    [ -e $file ] && echo "FAIL: $file was written" && failed=1
done

# what is used of a library is linked, the module's own functions stay its own, at every level, with passes and without
for options in -O0 -O1 -O2 -O3 '-O2 --llvm-passes none' '-O2 --llvm-passes default<O1>'; do
    want 0 '' run k.ll --libdevice library.ll $options --block 5 --arg out:o:u32[5]=zero --print o --expect o=30,37,44,51,58
    want 0 '' compile k.ll --libdevice library.ll $options --emit=ptx -o -
    grep -q 'unused\|nowhere\|reflect' out && echo "FAIL: $options: functions that nobody calls" && failed=1
done
want 0 '^k: equal' validate k.ll --libdevice library.ll --launch auto
want 0 '' prove k.ll --libdevice library.ll

# targets: the option's, the machine's, the module's, else sm_80
want 0 '^.target sm_80' compile k.ll --libdevice library.ll --emit=ptx -o -
want 0 '^.target sm_75' compile k.ll --libdevice library.ll --emit=ptx -o - -t sm_75
want 0 '^.target sm_70' compile k.ll --libdevice library.ll --emit=ptx -o - -t sm_75 --mcpu sm_70
want 0 '^.target sm_80' compile bare.ll --libdevice library.ll --emit=ptx -o -
sed 's/define void @k(ptr %out) {/define void @k(ptr %out) "target-cpu"="sm_70" "target-features"="+ptx64,+sm_70" {/' k.ll >own.ll
want 0 '^.target sm_70' compile own.ll --libdevice library.ll --emit=ptx -o -
"$heddle" compile - --libdevice library.ll --emit=ptx <k.ll >out 2>&1 || { echo "FAIL: standard input"; cat out; failed=1; }
want 0 '' compile k.ll -c -o k.o # of an object, other files define what is missing
grep -q W0008 out && echo "FAIL: an object may name what it has not" && failed=1

# directories; a result is kept for as long as what it came from is the same
mkdir tree && cp k.ll k.ptx tree
sed 's/, i32 7$/, i32 7/' library.ll >l.ll
want 0 '2 kernels' validate tree --libdevice l.ll --state state
cp state before
want 0 '' validate tree --libdevice l.ll --state state
cmp -s state before || { echo "FAIL: validated again although nothing changed"; failed=1; }
sed 's/constant i32 7/constant i32 8/' library.ll >l.ll
want 0 '' validate tree --libdevice l.ll --state state
cmp -s state before && echo "FAIL: another library, and the old results" && failed=1

# the launch file is that of the whole name
mkdir beside && cp k.ll beside/ab.ll && echo '{' >beside/a.json
want 0 'ab.ll:k  *equal' validate beside --libdevice library.ll

# not LLVM IR: PTX that is wrong is told so by our own parser
printf '// a comment\n.version 7\n' >p.ptx
want 1 'p.ptx:2:' compile p.ptx
printf 'hello' >p.ptx
want 1 'p.ptx:1:1: error E0117' compile p.ptx
exit $failed
