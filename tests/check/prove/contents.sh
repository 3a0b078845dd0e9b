#!/bin/sh
# Wrong files that run like right ones, or whose wrong place no launch needs to read: none may be called proved or equal.
#   contents.sh HEDDLE CASES SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 cases=$2 scratch=$3
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# status NAME EXPECTED COMMAND...
status() {
    name=$1 expected=$2
    shift 2
    "$@" >out 2>&1
    got=$?
    [ $got = "$expected" ] || { fail "$name: status $got, not $expected"; cat out; }
}

# edit NAME TARGET SED EXPECTED: one line of the assembly changed; prove must end with EXPECTED (4 or 5)
edit() {
    "$heddle" compile -t "$2" "$cases/$1.ptx" -o good.cubin || { fail "$1 does not compile"; return; }
    status "$1, unchanged" 0 "$heddle" prove "$cases/$1.ptx" good.cubin
    "$heddle" disasm --sections good.cubin -o good.sass && sed "$3" good.sass >bad.sass
    cmp -s good.sass bad.sass && fail "$1: nothing to edit with $3"
    "$heddle" asm bad.sass -o bad.cubin || { fail "$1: $3 does not assemble"; return; }
    status "$1: $3" "$4" "$heddle" prove "$cases/$1.ptx" bad.cubin
}

# data BYTES: one bit of the first place in the file that holds these bytes
data() {
    "$heddle" compile "$cases/data.ptx" -o good.cubin || fail "data does not compile"
    status "data, unchanged" 0 "$heddle" prove "$cases/data.ptx" good.cubin
    python3 - "$1" <<'PY' || fail "data: $1 not found"
import sys
image = bytearray(open("good.cubin", "rb").read())
place = image.index(bytes.fromhex(sys.argv[1]))
image[place] ^= 0x10
open("bad.cubin", "wb").write(image)
PY
    status "data $1: prove" 4 "$heddle" prove "$cases/data.ptx" bad.cubin
    status "data $1: validate" 4 "$heddle" validate "$cases/data.ptx" bad.cubin --launch auto
    status "data $1: check" 4 "$heddle" check bad.cubin
    grep -q M-07 out || fail "data $1: check does not say M-07"
}

data 0400000005000000   # elements of .global tab that no code reads
data 0700000008000000   # .const pair
edit data sm_80 's/"spare"/"spars"/' 5 # no code names it, and compilers may leave it out
edit data sm_80 's/\(__symbol.\)"spare"/\1"tab"/' 5
edit misaligned bru1 's/c\[0x0\]\[0x168\]/c[0x0][0x169]/' 5
# a word that nobody uses: a parameter, behind the parameters, far behind them
for word in 160:0 168:5 7ff8:5; do
    edit behind sm_80 "s/R-:W-:-:S..\(.*\)EXIT ;/R-:W0:-:S01\1LDC R0, c[0x0][0x${word%:*}] ;/; s/R-:W-:[-Y]:S..\(.*\)BRA .*;/R-:W-:-:S05\1EXIT ;/" "${word#*:}"
done
edit address sm_80 's/\(LDG.E [^[]*\)\[R\([0-9]*\).64\]/\1[R\2.U32+URZ]/' 4
edit widened bru1 's/STG.E \(.*\), R\([0-9]*\) ;/STG.E.64 \1, R\2 ;/' 4
# the kernel's frame ends where the callee's variables are not aligned any more
edit stack sm_80 '/MOV R1, c/,$s/\(IADD3 R1, R1, -0x\)20/\118/; /index@(k), 0x20/s/0x20/0x18/; /index@(k), 0x40/s/0x40/0x38/' 5
# the callee's frame lies upon the kernel's variables
edit stack sm_80 '/MOV R1, c/,$s/\(IADD3 R1, R1, -0x\)20/\110/; /MOV R1, c/,$s/R1, 0x0, RZ/R1, -0x10, RZ/' 5
edit parts sm_80 's/\(I2F.U8 .*\).B1 ;/\1.B2 ;/' 4
edit parts sm_80 's/\(I2F.U16 .*\).H1 ;/\1 ;/' 4
edit parts sm_80 's/I2F.S8/I2F.U8/' 4
edit meet bru1 's/WARPSYNC 0xffffffff/WARPSYNC 0xffffff7f/' 4
edit meet bru1 's/BSYNC B0/BSYNC B1/' 5
edit meet sm_80 's/IADD3 \(R[0-9]*\), \1,/IADD3 \1, \1.reuse,/' 5 # the next instruction may read the old value
for target in bru1 sm_80 sm_90; do # %total_smem_size: more shared memory is another number
    edit total $target '/"\.nv\.shared\.k"$/,/size/s/\(__section_size\t0x\)\([0-9a-f]*\)00$/\1a00/' 5
done
for target in bru1 sm_80 sm_90; do # lanes with different masks come to a WARPSYNC without having gathered
    edit gather $target 's/      CALL/ @!PT CALL/' 5
    grep -q 'lanes with different masks may wait' out || fail "gather, $target: $(cat out)"
done

# a kernel is missing
sed '/entry second/,$d' "$cases/two.ptx" >one.ptx
"$heddle" compile one.ptx -o bad.cubin && status "missing kernel: prove" 4 "$heddle" prove "$cases/two.ptx" bad.cubin
grep -q 'second: refuted: the file lacks this kernel' out || fail "the missing kernel is not named"
status "missing kernel: validate" 4 "$heddle" validate "$cases/two.ptx" bad.cubin --launch auto --kernel second

# two functions of which the first 300 letters are the same: the other one is called
long=_Z$(printf '%0300d' 0)
module() { # the letter of the function that is called
    for letter in A B; do
        echo ".visible .func (.param .b32 r) $long$letter(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; add.u32 %r, %r, '$letter'; st.param.b32 [r], %r; ret; }"
    done | sed "s/'A'/1/; s/'B'/2/; 1i .version 7.0\n.target sm_75\n.address_size 64"
    echo ".visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; { .param .b32 a; .param .b32 r;"
    echo "st.param.b32 [a], %r; call (r), $long$1, (a); ld.param.b32 %r, [r]; } st.global.u32 [%d], %r; ret; }"
}
module A >a.ptx && module B >b.ptx && "$heddle" compile -t sm_80 b.ptx -o b.cubin || fail "long names"
status "long names" 0 "$heddle" prove b.ptx b.cubin
status "long names, the other function" 4 "$heddle" prove a.ptx b.cubin

# a file linked of two objects keeps both texts: functions that each has for itself have one name in them
for file in one two; do
    "$heddle" compile -c -t sm_80 "$cases/linked_$file.ptx" -o "$file.o" || fail "linked_$file"
done
"$heddle" link one.o two.o -o linked.cubin || fail "linked"
status "linked: prove" 0 "$heddle" prove linked.cubin -v
grep -q '^all  *5 regions  *5 proved' out && grep -q 'lines 38-43' out || { fail "linked, lines of the second text:"; cat out; }
status "linked: validate" 0 "$heddle" validate linked.cubin --launch auto
"$heddle" disasm --sections linked.cubin -o good.sass && sed 's/\(\(IMAD\|MOV\).*\)0x13/\10x17/' good.sass >bad.sass && ! cmp -s good.sass bad.sass &&
    "$heddle" asm bad.sass -o bad.cubin || fail "linked: no constant to change"
status "linked, changed: prove" 4 "$heddle" prove bad.cubin
status "linked, changed: validate" 4 "$heddle" validate bad.cubin --launch auto

# attributes: parameters, registers, stack
"$heddle" compile "$cases/two.ptx" -o good.cubin && "$heddle" disasm --sections good.cubin -o good.sass || fail "two.ptx"
attribute() { # NAME, SED, EXPECTED
    sed "$2" good.sass >bad.sass
    cmp -s good.sass bad.sass && fail "$1: nothing to edit"
    "$heddle" asm bad.sass -o bad.cubin || fail "$1 does not assemble"
    status "$1" "$3" "$heddle" prove "$cases/two.ptx" bad.cubin
}
python3 - <<'PY' || fail "no record of registers" # in the bytes: the assembler finds what the code needs
image = bytearray(open("good.cubin", "rb").read())
place = image.index(bytes.fromhex("042f0800")) # EIATTR_REGCOUNT of the first symbol, 8 bytes
image[place + 8] = 2
open("bad.cubin", "wb").write(image)
PY
status registers 4 "$heddle" prove "$cases/two.ptx" bad.cubin
status "registers: validate" 4 "$heddle" validate "$cases/two.ptx" bad.cubin --launch auto
# records that contradict each other, and a header that names another function: the driver may go by either
contradiction() { # NAME, PYTHON that changes image
    python3 - "$2" <<'PY' || fail "$1: nothing to edit"
import struct, sys
image = bytearray(open("native.cubin", "rb").read())
def record(code, size): # of the first function that has it
    return image.index(bytes([4, code, size, 0])) + 4
def header(name): # of the section
    (start,), (count, strings) = struct.unpack_from("<Q", image, 40), struct.unpack_from("<HH", image, 60)
    names = struct.unpack_from("<Q", image, start + 64 * strings + 24)[0]
    for at in range(start, start + 64 * count, 64):
        text = names + struct.unpack_from("<I", image, at)[0]
        if image[text : image.index(0, text)].decode() == name:
            return at
exec(sys.argv[1])
open("bad.cubin", "wb").write(image)
PY
    status "$1: prove" 1 "$heddle" prove "$cases/$module.ptx" bad.cubin
    status "$1: validate" 1 "$heddle" validate "$cases/$module.ptx" bad.cubin --launch auto
    status "$1: check" 1 "$heddle" check bad.cubin
}
module=two
"$heddle" compile -t sm_80 "$cases/two.ptx" -o native.cubin && status "two, native" 0 "$heddle" prove "$cases/two.ptx" native.cubin
contradiction "size of the parameter block" 'at = record(0x0a, 8); image[at + 6] -= 4'
contradiction "header of another function" 'at = header(".text.first"); image[at + 44] = image[header(".text.second") + 44]'

head -c 3000 native.cubin >bad.cubin
status "half a file" 1 "$heddle" validate "$cases/two.ptx" bad.cubin --launch auto
"$heddle" compile -t sm_80 "$cases/three.ptx" -o native.cubin && status "three, native" 0 "$heddle" prove "$cases/three.ptx" native.cubin
module=three
contradiction "two parameters with one ordinal" 'at = record(0x17, 12); image[at + 4] = 0 if image[at + 4] else 1'
contradiction "overlapping parameters" 'at = record(0x17, 12); image[at + 6] = 4'

attribute stack 's/\(EIATTR_MIN_STACK_SIZE, [^,]*\), 0x[0-9a-f]*/\1, 0x1000000/' 4
attribute parameters 's/\(EIATTR_KPARAM_INFO, [^,]*\), 0x[0-9a-f]*,/\1, 0x80000,/' 1 # outside the parameter block

# Limits of a launch: more and less than the PTX has, none, and others; as many in all, in other axes, are the same
for change in 's/\(MAX_THREADS\), 0x20/\1, 0x40/' 's/\(MAX_THREADS\), 0x20/\1, 0x10/' 's/.*MAX_THREADS.*//' \
    's/\(MAX_CLUSTER_RANK\), 0x4/\1, 0x8/' 's/\(MAX_CLUSTER_RANK\), 0x4/\1, 0x2/' 's/.*MAX_CLUSTER_RANK.*//' 's/.*EXPLICIT_CLUSTER.*//' \
    's/\(REQNTID\), 0x40, 0x2/\1, 0x20, 0x4/' 's/.*REQNTID.*//' 's/EIATTR_REQNTID/EIATTR_MAX_THREADS/' \
    's/\(CTA_PER_CLUSTER\), 0x2/\1, 0x1/' 's/.*CTA_PER_CLUSTER.*//'; do
    edit limits sm_90 "$change" 4
done
sed 's/\(MAX_THREADS\), 0x20, 0x4/\1, 0x40, 0x2/' good.sass >bad.sass && cmp -s good.sass bad.sass && fail "limits: nothing to edit"
"$heddle" asm bad.sass -o bad.cubin || fail "limits of other axes do not assemble"
status "limits, as many threads in all" 0 "$heddle" prove "$cases/limits.ptx" bad.cubin
exit $failed
