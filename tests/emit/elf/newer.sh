#!/bin/sh
# newer.sh HEDDLE WORDS DIRECTORY: files of machines whose code is read and written, but not run. The code is ptxas's words with
# nvdisasm's texts (tests/isa/words_100.txt): the texts are assembled, the file is shown, and commands that would run it say no.
# SPDX-License-Identifier: MIT
heddle=$1 words=$2 work=$3 failed=0
. "$(dirname "$0")/../../want.sh"
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
for sm in 100 120; do
    # branches aside: their places are those of other kernels
    grep "^sm_$sm " "$words" | grep -v -e 'BRA' -e BSSY >lines
    [ "$(wc -l <lines)" -gt 80 ] || { echo "FAIL: few words of sm_$sm"; failed=1; }
    {
        printf '\t.target sm_%s\n\t.section .text.k,"ax",@progbits\n\t.align 128\n' $sm
        printf '\t.global k\n\t.type k,@function\n\t.other k,@"STO_CUDA_ENTRY STV_DEFAULT"\nk:\n.text.k:\n'
        sed 's/.* \(0x[0-9a-f]*\) \(0x[0-9a-f]*\) | \(.*\)/        \3 ; \/* \1 *\/\n    \/* \2 *\//' lines
    } >k.sass
    want 0 '' asm k.sass -o k.cubin
    cp k.cubin k$sm.cubin
    # every word is in the file, in the order of the text
    sed 's/.* 0x\([0-9a-f]*\) 0x\([0-9a-f]*\) |.*/\1\2/' lines | tr -d '\n' >expected
    "$heddle" disasm --json k.cubin >k.json || failed=1
    od -An -v -tx8 k.cubin | tr -d ' \n' | grep -qF "$(head -c 4000 expected)" || { echo "FAIL: words of sm_$sm"; failed=1; }
    "$heddle" disasm -c k.cubin | grep -q '\.dword' && { echo "FAIL: sm_$sm has words that are not shown"; failed=1; }
    want 0 'LDCU' disasm k.cubin
    "$heddle" disasm --sections k.cubin >s.sass && "$heddle" asm s.sass -o s.cubin && cmp k.cubin s.cubin || failed=1
    # a section and its copy, .nv.merc.NAME, have the same bytes of the file, as in ptxas's
    awk '/section\t"\.nv\.constant0\.k"/ { p = 1 } p && !/^\.L/ { print } p && /^$/ { exit }' s.sass |
        sed 's/"\.nv\.constant0\.k"/".nv.merc.nv.constant0.k"/' >copy
    cat s.sass copy >m.sass
    want 0 '' asm m.sass -o m.cubin
    "$heddle" disasm --sections m.cubin >n.sass && "$heddle" asm n.sass -o n.cubin && cmp m.cubin n.cubin || failed=1
    [ "$(awk '/section\t".*nv\.constant0\.k"/ { p = 1 } p && /section_offset/ { print $2; p = 0 }' n.sass | sort -u | wc -l)" = 1 ] ||
        { echo "FAIL: the copy has bytes of its own"; failed=1; }
    for command in "run k.cubin --kernel k --grid 1 --block 1" "check k.cubin" "check --model k.cubin"; do
        want 1 "k.cubin: error E0419: code of sm_$sm is decoded, printed and assembled only" $command
    done
done
# of an archive with one of each the machine is asked for
member() { printf '%-16s%-12s%-6s%-6s%-8s%-10s`\n' "$1/" 0 0 0 644 "$(wc -c <"$1")" && cat "$1"; }
{ printf '!<arch>\n' && member k100.cubin && member k120.cubin; } >both.a
want 0 'both.a:k120.cubin: ELF for sm_120' disasm both.a
want 1 'error E0417: both.a: say which .*ELF for sm_100 (both.a:k100.cubin), ELF for sm_120' disasm --kernel k both.a
for sm in 100 120; do
    "$heddle" disasm -c --kernel k -t sm_$sm both.a >of_both.sass && "$heddle" disasm -c --kernel k k$sm.cubin >alone.sass &&
        cmp of_both.sass alone.sass || failed=1
done
want 2 "there is no machine 'sm_121', there are .*sm_100, sm_120" disasm -t sm_121 both.a
printf '.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n' >k.ptx
want 1 "k.cubin: error E0419" validate k.ptx k.cubin
want 2 "there is no machine 'sm_100'" compile -t sm_100 k.ptx -o none.cubin
exit $failed
