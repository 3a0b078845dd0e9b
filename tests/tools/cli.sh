#!/bin/sh
# cli.sh HEDDLE DIRECTORY: exit statuses, messages, output files of the heddle program.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../want.sh"
heddle=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failed=0

check() { # what, command...
    what=$1
    shift
    "$@" || { echo "FAIL: $what"; failed=1; }
}

cat >k.ptx <<'P'
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
  .reg .u64 %rd<4>;
  .reg .u32 %r<4>;
  .reg .pred %q;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r3, [n];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %q, %r1, %r3;
  @%q bra done;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  add.u32 %r2, %r1, 100;
  st.global.u32 [%rd3], %r2;
done:
  ret;
}
P
sed 's/add.u32 %r2, %r1, 100/add.u32 %r2, %r1/' k.ptx >bad.ptx
sed 's/^{/.maxntid 128\n{/' k.ptx >k128.ptx
printf 'no elf file' >text.cubin

# ---- output files
"$heddle" compile k.ptx -o plain.cubin || failed=1
same() { # what FILE
    check "$1: the bytes of the file" cmp -s plain.cubin "$2"
}
"$heddle" compile - <k.ptx >stdin.cubin || failed=1
check 'compile - writes to standard output' test -s stdin.cubin
check 'compile - leaves no file' test ! -e ./-.cubin
"$heddle" compile - -o named.cubin <k.ptx || failed=1
check 'compile - -o FILE' cmp -s stdin.cubin named.cubin
"$heddle" compile k.ptx -o - >dash.cubin || failed=1
same 'compile -o -' dash.cubin
"$heddle" compile k.ptx -o /dev/stdout >out.cubin || failed=1
same '-o /dev/stdout into a file' out.cubin
{ echo first; "$heddle" compile k.ptx -o /dev/stdout; echo last; } >mixed
{ echo first; cat plain.cubin; echo last; } >mixed.wanted
check '-o /dev/stdout behind other output' cmp -s mixed.wanted mixed
"$heddle" compile k.ptx -o /dev/stdout | cat >piped.cubin
same '-o /dev/stdout into a pipe' piped.cubin
mkfifo fifo
cat fifo >from_fifo.cubin &
"$heddle" compile k.ptx -o fifo || failed=1
wait $!
same 'a FIFO' from_fifo.cubin
check 'a FIFO stays one' test -p fifo
mkdir -p sub
echo old >sub/target.cubin
chmod 640 sub/target.cubin
ln -s sub/target.cubin link.cubin
ln -s link.cubin link2.cubin
"$heddle" compile k.ptx -o link2.cubin || failed=1
check 'a symbolic link stays one' test -h link2.cubin -a -h link.cubin
same 'the target of a symbolic link' sub/target.cubin
check 'an existing file keeps its mode' test "$(stat -c %a sub/target.cubin)" = 640
ln -s sub/new.cubin dangling.cubin
"$heddle" compile k.ptx -o dangling.cubin || failed=1
same 'the target of a dangling link' sub/new.cubin
(umask 027 && "$heddle" compile k.ptx -o umask.cubin)
check 'a new file has the mode of the umask' test "$(stat -c %a umask.cubin)" = 640
ln -s loop loop
want 1 'cannot write loop' compile k.ptx -o loop
want 1 'directory' compile k.ptx -o sub
(ulimit -f 1; trap '' XFSZ; "$heddle" compile k.ptx -o link.cubin 2>/dev/null) && { echo 'FAIL: a file too large'; failed=1; }
same 'after a failure the old file' sub/target.cubin
check 'no half file is left' test -z "$(ls -A . sub | grep tmp)"

# ---- JSON, whatever a file is called
if command -v python3 >/dev/null; then
    odd=$(printf 'a"\\\001\n\377b.cubin')
    cp plain.cubin "$odd"
    for command in 'check --json' 'check --sarif' 'check --model --json' 'disasm --json'; do
        "$heddle" $command "$odd" >odd.json 2>odd.err
        check "$command: JSON of a file with an odd name" python3 -c '
import json, sys
json.load(open("odd.json", encoding="utf-8", errors="strict"))'
    done
    cp k.ptx "$odd.ptx"
    for command in 'report --json' 'validate --launch auto --json'; do
        "$heddle" $command "$odd.ptx" >odd.json 2>odd.err
        check "$command: JSON of a file with an odd name" python3 -c '
import json, sys
json.load(open("odd.json", encoding="utf-8", errors="strict"))'
    done
fi

# ---- general
want 2 "Usage"
want 0 "compile" --help
want 0 "heddle [0-9]" --version
want 2 "no command 'frob'" frob
want 0 "\.SH COMMANDS" --man
# every option that --help names has its case, or argp calls it a program error; its value may be wrong
options=0
for c in $("$heddle" --help | sed -n 's/^  \([a-z]*\)   *[^ ].*[A-Z].*/\1/p'); do
    want 0 "Usage: heddle $c" $c --help
    want 0 "\.SH" --man $c
    for o in $("$heddle" $c --help | sed -n 's/^  \(-.,\|   \) --\([a-z-]*\)\(=*\).*/\2\3/p'); do
        options=$((options + 1))
        case $o in help | usage | version) continue ;; *=) o=${o}1 ;; esac
        "$heddle" "$c" "--$o" --usage >out 2>&1
        case $? in 0 | 2) ;; *) echo "FAIL: heddle $c --$o: status" && failed=1 ;; esac
        if grep -e 'PROGRAM ERROR' -e 'unrecognized' -e 'ambiguous' out; then failed=1; fi
    done
done
[ $options -gt 150 ] || { echo "FAIL: only $options options seen"; failed=1; }
want 2 "" --man frob

# ---- kernels by their names in C++, as disasm takes them; where a demangler is
sed 's/ k(/ _Z5scalePfj(/' k.ptx >plain.ptx
if "$heddle" disasm -c --demangle plain.cubin >out 2>&1 && "$heddle" compile plain.ptx -o named.cubin && "$heddle" disasm -c --kernel scale named.cubin >out 2>&1; then
    for file in plain.ptx named.cubin; do
        want 0 "" run $file --kernel scale --block 2 --arg buf:u32[2]=zero --arg u32:2
    done
    want 0 "^_Z5scalePfj: equal" validate plain.ptx --launch auto --kernel scale
    want 0 "_Z5scalePfj" prove plain.ptx --kernel scale
    want 0 "digraph" report plain.ptx --emit=dot --kernel scale
fi
want 1 "E0802: nothing to prove: .*no function nosuch; its kernels are _Z5scalePfj" prove plain.ptx --kernel nosuch
want 1 "has no function nosuch, it has _Z5scalePfj" validate plain.ptx --launch auto --kernel nosuch

# ---- usage: status 2
want 2 "no input file" compile
want 2 "too many files" compile k.ptx k.ptx
want 2 "unrecognized option" compile --frob k.ptx
want 2 "there is no machine 'sm_10', there are bru1, sm_75, sm_80" compile --target sm_10 k.ptx
sed 's/sm_75/sm_90/' k.ptx | sed 's/version 7.0/version 8.0/' >k90.ptx
sed 's/sm_90/sm_90a/' k90.ptx > k90a.ptx
want 0 "" compile k90a.ptx -t sm_90a
want 1 "error E0710: PTX of .target sm_90a cannot be compiled for sm_90: it is of one architecture" compile k90a.ptx -t sm_90
want 1 "error E0710: PTX of .target sm_90 cannot be compiled for sm_75: it is higher" compile k90.ptx -t sm_75
want 0 "" compile k90.ptx -t sm_90
want 0 "" compile k90.ptx -t bru1
sed 's/sm_90/sm_90a/' k90.ptx >k90a.ptx
want 1 "PTX of .target sm_90a cannot be compiled for sm_90: it is of one architecture" compile k90a.ptx -t sm_90
want 0 "" compile k90a.ptx
sed 's/sm_75/sm_30/' k.ptx >k30.ptx
want 0 "" compile k30.ptx -t sm_90
sed 's/version 7.0/version 9.9/' k.ptx >k99.ptx
want 0 "warning W0141" compile k99.ptx -t sm_75
want 0 "Machine, by default the first of: bru1" compile --help
want 0 "the first of: bru1, sm_75, sm_80" --man fuzz
want 2 "not a number" compile -O4 k.ptx
want 2 "--emit" compile --emit=exe k.ptx
want 2 "--grid" run --grid 0 k.ptx
want 2 "--grid" run --grid 1,2,3,4 k.ptx
want 2 "--block" run --block x k.ptx
want 2 "--policy" run --policy lane=left k.ptx
want 2 "'lane-choice=left' is unknown" run --policy branch-order=taken,lane-choice=left k.ptx
want 2 "is unknown" run --policy lane-choice=lowest:4 k.ptx
want 2 "is unknown" run --policy lane-choice=random: k.ptx
want 2 "is unknown" validate --policy bsync-nb k.ptx
want 2 "--engine" run --engine gnu k.ptx
want 2 "this host has no 'v9' of base" fuzz --count 1 --host-level v9
want 2 "compiled code needs the host's level v3 or v4, not base" fuzz --count 1 --host-level base --engine stencil
want 2 "exclude each other" run --launch l.json --grid 1 k.ptx

# ---- wrong input: status 1, nothing left behind
want 1 "cannot read nothing.ptx" compile nothing.ptx
want 1 "is empty" compile /dev/null
{ echo '// fuzz block=32,1,1 grid=1,1,1 in=64 out=64 data=1 kind=arith seed=1 index=1'; echo '// memory it with -O2 auto engine=stencil'; cat k.ptx; } >saved.ptx
want 1 "saved.ptx: .*its engine compiles code" fuzz --host-level base saved.ptx
want 1 "bad.ptx:16" compile bad.ptx -o bad.cubin
check "no output of a failed compilation" test ! -e bad.cubin
want 1 "E0401" disasm text.cubin -o bad.sass
check "no output of a failed disassembly" test ! -e bad.sass
want 1 "error E03" asm text.cubin -o bad.cubin
check "no output of a failed assembly" test ! -e bad.cubin
want 1 "cannot write" compile k.ptx -o nowhere/k.cubin
want 1 "there is no pass" compile k.ptx --stop-after=frob -o bad.cubin
want 1 "nothing is compiled without pass colour" compile k.ptx --without=colour -o bad.cubin
want 1 "no input file" run
check "no temporary files" sh -c '! ls *.tmp* 2>/dev/null'

# ---- a failed run keeps what was there
want 1 "is the input file" compile k.ptx -o k.ptx
want 1 "is the input file" compile k.ptx -o ./k.ptx --emit=asm
check "the source is still there" grep -q "visible .entry k" k.ptx
echo old >keep.cubin
want 1 "" compile bad.ptx -o keep.cubin
check "an old output survives a failure" grep -q old keep.cubin

# ---- limits of the machine: a kernel's own shared variables count, as with ptxas ("0xc350 bytes, 0xc000 max")
cat >shared.ptx <<'P'
.version 8.0
.target sm_75
.address_size 64
.shared .b8 a[30000];
.shared .b8 b[30000];
.shared .b8 c[20000];
.func f() { .reg .u32 %r; mov.u32 %r, c; st.shared.u32 [%r], %r; ret; }
.entry one() { .reg .u32 %r; mov.u32 %r, a; st.shared.u32 [%r], %r; ret; }
P
want 0 "" compile shared.ptx -t sm_80
want 0 "" compile shared.ptx -t sm_75
sed 's/c\[20000\]/c[70000]/' shared.ptx >wide.ptx
want 1 "wide.ptx:6:13: error E0704: variable c does not fit into shared memory of 65536 bytes" compile wide.ptx -t sm_75
sed '/^.func/d; s/c\[20000\]/c[70000]/' shared.ptx >unnamed.ptx # as for ptxas, it takes no room
want 0 "" compile unnamed.ptx -t sm_75
echo '.entry two() { .reg .u32 %r; mov.u32 %r, b; st.shared.u32 [b], %r; call f; ret; }' >>shared.ptx
want 0 "" compile shared.ptx -t bru1
cat >own.ptx <<'P'
.version 7.5
.target sm_75
.address_size 64
.visible .entry k() { .shared .align 4 .b8 own[49153]; ret; }
P
want 1 "error E0707: kernel k declares 49153 bytes of shared memory, on sm_75 it may declare 49152 (PTX ISA 5.1.7 shared state space; function k)" \
    compile -t sm_75 own.ptx -o own.cubin
sed 's/49153/49152/' own.ptx >own2.ptx
want 0 "" compile -t sm_75 own2.ptx -o own.cubin
cat >param.ptx <<'P'
.version 8.0
.target sm_80
.address_size 64
.func f(.param .b8 a[65540]) { .reg .b32 %r; ld.param.u8 %r, [a]; st.shared.u8 [%r], %r; ret; }
.func (.param .b8 r[65540]) g() { ret; }
.entry k() { ret; }
P
want 1 "param.ptx:4:7: error E0705: a parameter of f is too large (PTX ISA 5.1.6 parameter state space; function f)" \
    compile -t sm_80 param.ptx -o own.cubin
sed 4d param.ptx >result.ptx
want 1 "result.ptx:4:29: error E0705: a parameter of g is too large (PTX ISA 5.1.6 parameter state space; function g)" \
    compile -t sm_80 result.ptx -o own.cubin
sed 's/65540/65536/' param.ptx >largest.ptx
want 0 "" compile -t sm_80 largest.ptx -o own.cubin
printf '.version 8.0\n.target sm_80\n.address_size 64\n.global .b32 y;\n.global .b32 x = y;\n.entry k() { ret; }\n' >init.ptx
want 1 "init.ptx:5:14: error E0711: x is not compiled: an address in its initialiser does not fill 8 bytes (PTX ISA 5.4.4 initializers)" \
    compile -t sm_80 init.ptx -o own.cubin
want 1 "shared.ptx:9:8: error E0707: kernel two declares 50000 bytes of shared memory, on sm_86 it may declare 49152" \
    compile shared.ptx -t sm_86
printf '.target sm_86\n.entry k\n.shared 101377\nEXIT ;\n' >shared.sass
want 1 "shared.sass:3:" asm shared.sass
want 0 "64 of 64 warps in blocks of 128" compile -v k128.ptx -t sm_80

# ---- compile, disassemble, assemble
want 0 "" compile k.ptx
check "the default output name" test -s k.cubin
for t in bru1 sm_75 sm_80 sm_86 sm_89; do
    want 0 "" compile k.ptx --target $t -o $t.cubin
    want 0 "" disasm --sections $t.cubin -o $t.sass
    want 0 "" asm $t.sass -o again.cubin
    check "$t comes back" cmp $t.cubin again.cubin
    want 0 "EXIT" disasm $t.cubin
    if command -v readelf >/dev/null; then
        readelf -aW $t.cubin >readelf.out 2>readelf.err
        if [ $t = bru1 ]; then
            check "readelf is silent" test ! -s readelf.err
        else # it knows no use of sh_info in a code section; ptxas' own files get the same two lines
            check "readelf finds nothing else" sh -c '! grep -v "in info field" readelf.err'
        fi
    fi
done
want 0 '"instructions"' disasm bru1.cubin --json

# ---- one function of several
{ cat k.ptx; sed -n '/entry k/,$p' k.ptx | sed 's/entry k/entry other/'; } >both.ptx
want 0 "" compile both.ptx
want 0 "^other:" disasm both.cubin --kernel other
check "only this function" sh -c '! grep -q "section\|k:" out'
check "with its control fields and lines" grep -q '\[B.*:S[0-9]*\]  /\*0000\*/ .* ;.*// line 28$' out
sed 1d out >other.code
sed 's,^\.visible .entry k,.file 1 "/x/k.cu"\n&,; s/^ *ret;/.loc 1 7 2\n&/' k.ptx >made.ptx
want 0 "" compile made.ptx
want 0 "EXIT ;.*// line [0-9]* (k.cu:7)$" disasm made.cubin
want 0 "EXIT ;.*// line [0-9]* (k.cu:7)$" disasm --sections made.cubin -o -
want 0 "" disasm both.cubin
check "as in the whole file" sh -c 'sed -n "/^other:/,/^$/p" out | grep "^    \[\|^\.L" | cmp - other.code'
want 0 '"name":.*".text.other"' disasm both.cubin --kernel other --json
check "JSON of it alone" test "$(grep -c '"instructions"' out)" = 1
want 1 "^both.cubin: error E0414: the file has no function frob, it has k, other$" disasm both.cubin --kernel frob -o bad.sass
check "no output of an unknown function" test ! -e bad.sass
want 1 "E0414" disasm both.cubin --kernel frob --json
sed 's/^\(.*\.section.*"\.strtab"\)$/\1\n\t.__section_name\t0x2/' bru1.sass >name.sass
want 1 "name.sass:[0-9]*:[0-9]*: error E0356: section" asm name.sass -o bad.cubin
check "no output of a failed assembly" test ! -e bad.cubin
want 0 "func" compile k.ptx --emit=mir -o -
want 0 "\.entry k" compile k.ptx --emit=ptx -o -
want 0 "EXIT" compile k.ptx --emit=asm
want 0 "; after fold" compile k.ptx --dump=fold -o k.cubin
want 0 "pass colour" compile k.ptx --time-passes -o k.cubin

# ---- run
want 0 "\[3\] 103" run k.cubin --block 8 --arg out:c:u32[8] --arg u32:8
want 0 "\[3\] 103" run k.ptx --block 8 --arg out:c:u32[8] --arg u32:8
want 0 "\[3\] 103" run k.cubin --engine ptx --block 8 --arg out:c:u32[8] --arg u32:8
want 0 "warp instructions" run k.cubin --stats --block 8 --arg out:c:u32[8] --arg u32:8
want 0 '"thread_instructions"' run k.cubin --json --block 8 --arg out:c:u32[8] --arg u32:8
want 0 "STG" run k.cubin --trace - --block 8 --arg out:c:u32[8] --arg u32:8
want 0 "line 17 st" run k.ptx --engine ptx --trace - --block 8 --arg out:c:u32[8] --arg u32:8
want 0 "" run k.cubin --block 4 --arg out:c:u32[4] --arg u32:4 --expect c=100,101,102,103 --save c=c.bin
check "the saved buffer" test "$(od -An -tu4 c.bin | tr -s ' ')" = " 100 101 102 103"
want 4 "element 2 is 102" run k.cubin --block 4 --arg out:c:u32[4] --arg u32:4 --expect c=100,101,99,103
want 1 "out of range" run k.cubin --block 8 --arg out:c:u32[4] --arg u32:8
want 0 "^  \[2\] 9 .*" run k.cubin --block 2 --arg out:c:u32=7,0x8,9 --arg u32:2
check "those before are the kernel's" grep -q "\[1\] 101" out
want 1 "buffer c: 2 values for 3 elements" run k.cubin --arg out:c:u32[3]=7,8 --arg u32:1
want 1 "buffer c: '7,1.5' has a value that is no u32" run k.cubin --arg out:c:u32=7,1.5 --arg u32:1
want 1 "k.ptx:0x0: error E0401: not a usable ELF file: it is text; heddle compile" disasm k.ptx
# accesses outside a constant bank, by number and by register; operands of bfe and bfi above 255
cat >bank.ptx <<'P'
.version 7.0
.target sm_75
.address_size 64
.const .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry number(.param .u64 p)
{ .reg .u64 %p; .reg .b32 %r; ld.param.u64 %p, [p]; ld.const.b32 %r, [table+4096]; st.global.b32 [%p], %r; ret; }
.visible .entry register(.param .u64 p)
{ .reg .u64 %p, %c; .reg .b32 %r; ld.param.u64 %p, [p]; ld.global.u32 %r, [%p]; cvt.u64.u32 %c, %r; ld.const.b32 %r, [%c+65532]; st.global.b32 [%p], %r; ret; }
.visible .entry field(.param .u64 p)
{ .reg .u64 %p; .reg .b32 %r<4>; ld.param.u64 %p, [p]; mov.u32 %r1, 256; ld.global.u32 %r2, [%p];
  bfe.u32 %r3, 5, %r1, 3; bfi.b32 %r3, 5, %r3, 3, %r2; st.global.b32 [%p], %r3; ret; }
P
want 1 "access out of range at 0x1000: outside constant bank 3 of 16 bytes" run bank.ptx --kernel number --arg buf:u32[1]=zero
want 1 "access out of range at 0xfffc: outside constant bank 3 of 16 bytes" run bank.ptx --kernel register --arg buf:u32[1]=zero
want 4 "bfe.u32, position 256, above 255" run bank.ptx --kernel field --engine ptx --undefined --arg buf:u32[1]=zero
want 4 "" run bank.ptx --kernel field --engine ptx --undefined --arg buf:u32[1]=zero
check "a length that is no more than 255 is nothing to report" test "$(grep -c 'above 255' out)" = 1
cat >arrivals.ptx <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n)
{ .reg .b32 %n; .shared .align 8 .b64 m; ld.param.u32 %n, [n]; mbarrier.init.shared.b64 [m], %n; ret; }
P
want 4 "undefined behaviour: mbarrier.init.shared.b64, count 0, not from 1 to 1048575" run arrivals.ptx --engine ptx --undefined --arg u32:0
want 4 "count 1048576, not" run arrivals.ptx --engine ptx --undefined --arg u32:1048576
want 0 "" run arrivals.ptx --engine ptx --undefined --arg u32:1048575
# the offset of LDC is signed: one above 0x7fff is no part of it
{
    printf '.version 7.0\n.target sm_75\n.address_size 64\n.const .align 4 .b32 big[12000] = {0'
    seq -f ', %.0f' 1 11999 | tr -d '\n'
    cat <<'P'
};
.visible .entry far(.param .u64 p)
{ .reg .u64 %p, %c; .reg .b32 %r; ld.param.u64 %p, [p]; ld.global.u32 %r, [%p]; mul.wide.u32 %c, %r, 4;
  { .reg .u64 %b; mov.u64 %b, big; add.u64 %c, %c, %b; } ld.const.b32 %r, [%c+40000]; st.global.b32 [%p], %r;
  ld.const.b32 %r, [big+44000]; st.global.b32 [%p+4], %r; ret; }
P
} >far.ptx
want 0 "0. 10001 " run far.ptx --arg out:c:u32[2]=ones --print c
want 0 "1. 11000 " run far.ptx --arg out:c:u32[2]=ones --print c
want 0 "1. 11000 " run far.ptx --engine ptx --arg out:c:u32[2]=ones --print c
# a launch that no budget suffices for
want 1 "instruction budget exceeded: 9223090559730712575 blocks" run k.cubin --grid 2147483647,65535,65535 --block 8 --arg u64:0 --arg u32:8
want 1 "instruction budget exceeded: 9223090559730712575 blocks" run k.ptx --engine ptx --grid 2147483647,65535,65535 --block 8 --arg u64:0 --arg u32:8
want 1 "out of range" run k.ptx --engine ptx --block 8 --arg out:c:u32[4] --arg u32:8
want 1 "E0503" run k.cubin --block 8 --arg out:c:u32[4]
want 1 "has no kernel z; it has k" run k.cubin --kernel z --arg u32:1
want 1 "zero, ones" run k.cubin --arg buf:u32[4]=two --arg u32:1

# ---- recursion: the stack is named as it is, and a trap in the first instruction of a function has a line
cat >rec.ptx <<'P'
.version 7.0
.target sm_80
.address_size 64
.func f()
{
  call f;
  ret;
}
.visible .entry k() { call f; ret; }
P
want 0 "bytes stack a call, recursive" compile rec.ptx -v -o rec.cubin
want 1 "line 6" run rec.cubin
want 1 "stack exhausted" run rec.ptx --engine ptx

# ---- policies: a lock inside an if hangs under the literal BSYNC
cat >lock.ptx <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry lock(.param .u64 m)
{
  .reg .pred %p;
  .reg .b32 %a, %t;
  .reg .b64 %m;
  ld.param.u64 %m, [m];
  mov.u32 %t, %tid.x;
  setp.eq.u32 %p, %t, 0;
  @%p bra SKIP;
SPIN:
  atom.global.cas.b32 %a, [%m], 0, 1;
  setp.ne.u32 %p, %a, 0;
  @%p bra SPIN;
  ld.volatile.global.u32 %a, [%m+4];
  add.u32 %a, %a, 1;
  st.volatile.global.u32 [%m+4], %a;
  atom.global.exch.b32 %a, [%m], 0;
SKIP:
  st.global.u32 [%m+8], 5;
  ret;
}
P
want 0 "equal" validate lock.ptx --block 4 --arg out:c:u32[3]=zero
want 0 "equal" validate lock.ptx --block 4 --arg out:c:u32[3]=zero \
  --policy bsync-nb=blocked,branch-order=taken,join-scope=candidates,lane-choice=random:7
want 0 "\[1\] 3" run lock.ptx --block 4 --arg out:c:u32[3]=zero --policy lane=rotate --policy join=candidates
want 1 "livelock" run lock.ptx --block 4 --arg out:c:u32[3]=zero --policy bsync-nb=literal

# ---- validate
cat >l.json <<'J'
{"module": "k.ptx", "buffers": {"c": {"type": "u32", "count": 70}},
 "launches": [{"kernel": "k", "grid": [1], "block": [70], "args": ["c", "u32:65"]}],
 "checks": [{"buffer": "c", "hash": "0"}]}
J
want 4 "the hash is" validate --launch l.json
sed 's/,$/,/; /"checks"/d; s/\["c", "u32:65"\]}\],/["c", "u32:65"]}]}/' l.json >l2.json
want 0 "equal: 1 launch" validate --launch l2.json
want 0 "equal: 1 launch" validate k.ptx k.cubin --launch l2.json
want 0 '"equal":.true' validate k.ptx --launch l2.json --json
sed 's/0x64, RZ/0x65, RZ/' bru1.sass >wrong.sass
check "the mutation" sh -c '! cmp -s bru1.sass wrong.sass'
want 0 "" asm wrong.sass -o wrong.cubin
want 4 "last stored by line 17" validate k.ptx wrong.cubin --launch l2.json
want 4 "machine  101" validate k.ptx wrong.cubin --launch l2.json
# A binary that stands alone is what is looked at, not what its PTX would be compiled to; where many are compiled it is none.
want 4 "machine  101" validate wrong.cubin --launch l2.json
want 4 "^k: differs" validate wrong.cubin --launch auto
# a load from before a parameter, of which PTX says nothing, and which nobody needs: undefined, and nothing is written there
cat >before.ptx <<'END'
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .align 8 .b8 s[416], .param .u64 out)
{
 .reg .b64 %out, %at, %off, %x; .reg .b32 %i;
 ld.param.u64 %out, [out];
 mov.u64 %at, s; mov.u32 %i, %tid.x; mul.wide.u32 %off, %i, 8; add.u64 %at, %at, %off;
 ld.param.u64 %x, [%at+-8];
 ld.param.u64 %x, [%at+8];
 st.global.u64 [%out], %x;
 ret;
}
END
want 4 "^k: undefined.*access outside of the parameters" validate before.ptx --launch auto
# without a map: a wrong sum whose right value is that of another register
cat >held.ptx <<'END'
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
 .reg .b64 %out, %in; .reg .b32 %x, %n;
 ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; ld.param.u32 %n, [n];
 ld.global.u32 %x, [%in];
 add.u32 %x, %x, 7;
 st.global.u32 [%out], %x;
 add.u32 %n, %n, 1;
 st.global.u32 [%out+4], %n;
 ret;
}
END
want 0 "" compile --no-map --no-ptx -t sm_80 held.ptx -o held.cubin
"$heddle" disasm --sections held.cubin | sed 's/0x7, RZ/0x6, RZ/' >held.sass
want 0 "" asm held.sass -o held.wrong.cubin
want 4 "machine  R[0-9]* = 0x7, by k pc .*IADD3 .*0x6" validate held.ptx held.wrong.cubin --block 1 --arg out:o:u32[2]=zero --arg buf:u32[1]=ones --arg u32:7
grep -q "first difference: line 9: add.u32" out || { echo "FAIL: the sum is not named"; cat out; failed=1; }
# what is equal where little of the code was run says so
{
    printf '.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{\n'
    printf ' .reg .b64 %%out; .reg .b32 %%n, %%x; .reg .pred %%p;\n ld.param.u64 %%out, [out]; ld.param.u32 %%n, [n]; mov.u32 %%x, 1;\n'
    for k in 1 2 3 4 5 6 7 8 9 10; do
        printf ' setp.le.u32 %%p, %%n, %s; @%%p bra DONE;\n ld.volatile.global.u32 %%x, [%%out]; add.u32 %%x, %%x, %s; st.volatile.global.u32 [%%out], %%x;\n' $k $k
    done
    printf 'DONE: st.global.u32 [%%out], %%x;\n ret;\n}\n'
} >steps.ptx
want 0 "equal: 1 launch.* [1-4] of 1[0-9] machine blocks$" validate steps.ptx --block 1 --arg out:o:u32[1]=zero --arg u32:1
want 0 "equal: 1 launch.* \([0-9]*\) of \1 machine blocks$" validate steps.ptx --block 1 --arg out:o:u32[1]=zero --arg u32:99
want 0 '"machine_blocks_executed":.*[1-4],' validate steps.ptx --block 1 --arg out:o:u32[1]=zero --arg u32:1 --json
want 0 "equal: 1 launch" validate k.cubin --launch l2.json
want 1 "wrong.cubin: it is machine code" validate k.ptx wrong.cubin --with-ptxas --ptxas /bin/true --launch auto
mkdir -p many
want 1 "wrong.cubin: it is machine code" coverage many wrong.cubin
# Nothing that was asked for is left out in silence
want 2 "is for one module" validate k.ptx --with-ptxas --ptxas /bin/true --launch auto --show-launch shown.json
want 2 "is for one module" validate k.ptx k.ptx --with-ptxas --ptxas /bin/true --launch l2.json
want 2 "is for --with-ptxas" validate k.ptx --launch l2.json --bundles many
want 1 "cannot read absent.json" validate k.ptx --with-ptxas --ptxas /bin/true --launch absent.json
want 2 "of one module" prove many --check absent
want 2 "of one module" prove many --certificate absent
want 4 '"equal":.false' validate k.ptx wrong.cubin --launch l2.json --json

# names and sizes are wrong before anything runs; errors of a launch file say where
want 1 'buffer zz: is no buffer' run k.ptx --block 32 --arg out:o:u32[32] --arg u32:32 --print zz
want 1 'buffer o: is no buffer; --save wants NAME=FILE' run k.ptx --block 32 --arg out:o:u32[32] --arg u32:32 --save o
want 1 'has 128 bytes, what is expected has 8' run k.ptx --block 32 --arg out:o:u32[32] --arg u32:32 --expect o=1,2
printf '{"module": "k.ptx",\n "buffers": {"o": {"type": "u32", "count": 32}},\n "launches": [%s,\n  %s]}\n' \
    '{"grid": [1], "block": [32], "args": ["o", "u32:32"]}' '{"grid": [1], "block": [32], "args": ["o", "\"x"]}' >l.json
want 1 'l.json:4:46: error E0502' run --launch l.json
sed 's/, "."x"//' l.json >l2.json
want 1 'l2.json:4:3: error E0503: arguments of k: 1 given, the kernel takes 2, of .* bytes' run --launch l2.json
sed 's/"count"/"cont"/' l.json >l3.json
want 1 'l3.json:2:19: error E0502' run --launch l3.json

# calls to the host: printed, or the end of the launch
printf '.target bru1\n.entry k\nTRAP 0x5;\nSYSCALL;\nEXIT;\n' >call.sass
want 0 "" asm call.sass -o call.cubin
want 0 'TRAP 0x5: k+0x0, block (0,0,0), warp 0, lanes 000000ff' run call.cubin --block 8 --host-calls
want 0 'SYSCALL: k+0x10' run call.cubin --block 8 --host-calls
want 1 'trap instruction: TRAP 0x5' run call.cubin --block 8

# what is not simulated is an error that names it, no difference
printf '.version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n' >empty.ptx
printf '.target sm_80\n.entry k\nHMMA.1684.F32 R8, R8, R10, R12;\nEXIT;\n' >absent.sass
want 0 "" asm absent.sass -o absent.cubin
want 1 'HMMA is not simulated' run absent.cubin --block 32
want 5 'HMMA is not simulated' validate empty.ptx absent.cubin --block 32
want 5 '^k: not run' validate empty.ptx absent.cubin --block 32
want 5 '"verdict":."not run"' validate empty.ptx absent.cubin --launch auto --json

# the static checker
printf '.target bru1\n.entry k\n  @P0 YIELD ;\n  EXIT ;\n' >yield.sass
want 0 "" asm yield.sass -o yield.cubin
want 4 'yield.cubin: k+0x0: error R-07: predicated YIELD' check yield.cubin
want 4 '"rule":' check --json yield.cubin
want 4 '"version":.*"2.1.0"' check --sarif yield.cubin
want 0 '0 errors' check --rules=R-01,H-01 yield.cubin
want 2 "no rule 'R-77'" check --rules=R-01,R-77 yield.cubin
# severities, and what an earlier report has: once each, whatever stands around it
want 0 'warning R-07' check --severity=R-07=warning yield.cubin
want 0 'R-07: .*note\|note R-07' check --severity=r7=note,H-01=off yield.cubin
want 0 '0 errors, 0 warnings' check --no-hazards --severity=R-07=off yield.cubin
want 2 "'R-07=bad' is not a rule" check --severity=R-01=off,R-07=bad yield.cubin
want 2 "'R-07' is not a rule" check --severity=R-07 yield.cubin
"$heddle" check --json --no-hazards yield.cubin >base.json
want 0 '1 known finding left out' check --no-hazards --baseline=base.json yield.cubin
want 0 '"known":.*1' check --json --no-hazards --baseline=base.json yield.cubin
"$heddle" check --json --no-hazards --model --time 1 yield.cubin >both.json
want 0 '1 known finding left out' check --baseline=both.json yield.cubin
sed 's/"R-07"/"R-06"/' base.json >other.json
want 4 'error R-07' check --baseline=other.json yield.cubin
want 1 'E0412.*a baseline is what heddle check --json prints' check --baseline=yield.cubin yield.cubin
want 1 'E0001' check --baseline=nowhere.json yield.cubin
want 1 '' check missing.cubin
want 0 'R-07 (error)' explain r-07
want 0 'E-BAR-PARTIAL' explain E-BAR-PARTIAL
want 0 'There are R-01 .*E0104, operations as BSSY, and the lists errors ptx isa' explain
want 0 'BSSY (operation): Registers the active lanes' explain bssy
want 0 '^A barrier of the block' explain BAR.SYNC
want 0 '^Of bru1, sm_75' explain ffma
want 0 'E0104 (error): operand N of X must be' explain e0104
want 0 '| E0701 | error | .* | 9.7 instructions |' explain errors
want 0 '| `fma{.rn .rz .rm .rp}.f64` | 9.7.3.6 fma | 1.0 | sm_10 | yes | yes | yes |' explain ptx
want 0 '| `REDUX` | yes | | yes | yes | yes | yes | yes | yes |' explain isa
want 2 'no rule, message or operation .BSNYC.; did you mean .BSYNC.?$' explain BSNYC
want 2 'there is no rule, message or operation .R-77.; there are R-01 .* M-06 .*H-08 and E-' explain R-77

[ $failed -eq 0 ] && echo "all as expected"
# a barrier keeps the lanes together that came to it: -v found a collective without WARPSYNC behind it
cat >behind.ptx <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .u64 %a;
  .reg .u32 %x, %y;
  ld.param.u64 %a, [p];
  mov.u32 %x, %tid.x;
  bar.sync 0;
  shfl.sync.bfly.b32 %y, %x, 1, 31, -1;
  st.global.u32 [%a], %y;
  ret;
}
P
want 0 '' compile behind.ptx -v -o behind.cubin
want 0 '' check behind.cubin

# names that are nearly right, and lists of what there is
want 2 "no command 'compil'; did you mean 'compile'?" compil k.ptx
want 2 "no option '--tarmet'; did you mean '--target'?" compile --tarmet=sm_80 k.ptx
want 2 "no option '--optimise'; did you mean '--optimize'?" compile --optimise 2 k.ptx
want 2 "no option '-arch'; did you mean '--target'?" compile -arch=sm_80 k.ptx
want 2 "no option '-target'; did you mean '--target'?" compile -target sm_80 k.ptx
want 2 "no option '--gpu-name'; did you mean '--target'?" compile --gpu-name sm_80 k.ptx
want 2 "'--stats' is an option of heddle run$" compile --stats k.ptx
want 1 "argument '7' is neither TYPE:VALUE nor a buffer (as u32:7, f32:0.5)" run k.cubin --arg 7
want 0 '' compile --output --outptu k.ptx # a value, not an option
want 2 "'xx' is none of auto, interp, stencil, jit, ptx, gpu, gpu-ptx" run --engine xx k.ptx
want 1 "types are u8 to u64" run k.ptx --arg foo:3

# values stand apart from what is said of the option; asm does not take the listing that disasm prints by default
want 0 'text names none: one of bru1, sm_75' --man asm
want 0 'Takes what disasm .*sections prints' --man asm
want 0 'host programs, libraries, objects and archives' --man disasm

# files that hold programs, and none that is asked for
printf '!<arch>\n' >none.a
want 1 'error E0417: none.a: it holds no program for GPUs' disasm none.a
want 1 'it holds no program for GPUs' disasm "$heddle"
want 1 'it holds no program for GPUs' disasm --json none.a

# a file with variables only is none that is wrong; nothing is shown of it
printf '.version 7.0\n.target sm_75\n.address_size 64\n.global .u32 x;\n' >data.ptx
want 0 '' compile data.ptx -o data.cubin
want 5 'E0413: .*no code to look at' check data.cubin
want 5 'E0413: .*no code to look at' prove data.ptx data.cubin
want 5 'E0413: .*no code to look at' prove data.ptx
head -c 100 data.cubin >cut.cubin
want 1 'E04' check cut.cubin

# colour is for terminals, and not where NO_COLOR is set; `script` makes a terminal
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    printf 'hello' >colour.ptx
    TERM=xterm NO_COLOR= script -qec "$heddle compile colour.ptx" /dev/null >coloured </dev/null
    TERM=xterm NO_COLOR=1 script -qec "$heddle compile colour.ptx" /dev/null >plain </dev/null
    check 'errors have a colour' grep -q "$(printf '\033')\[1;31merror E0117$(printf '\033')\[0m: " coloured
    check 'but not with NO_COLOR' sh -c "grep -q 'error E0117: ' plain && ! grep -q '$(printf '\033')' plain"
fi
exit $failed
