#!/bin/sh
# damaged.sh HEDDLE SAMPLES DIR: texts of binaries with something taken out or changed. What is assembled is printed
# again, and that is the same file; or the text is refused, with its line. (Run with sanitizers, too.)
# SPDX-License-Identifier: MIT
heddle=$1 samples=$2 dir=$3 failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 1
bad() { echo "FAILED: $*"; failed=1; }
again() { # NAME: of NAME.sass
    "$heddle" asm "$1.sass" -o "$1.cubin" 2>err || { bad "$1 is refused: $(cat err)"; return; }
    "$heddle" disasm --sections "$1.cubin" -o "$1.again.sass" 2>err &&
        "$heddle" asm "$1.again.sass" -o "$1.again.cubin" 2>err && cmp "$1.cubin" "$1.again.cubin" ||
        bad "$1 is another file when it is printed and assembled again: $(cat err)"
}
refused() { # NAME PATTERN
    "$heddle" asm "$1.sass" -o "$1.cubin" 2>err
    [ $? = 1 ] && grep -q "$2" err || bad "$1: expected '$2': $(cat err)"
}

for target in bru1 sm_80; do
    "$heddle" compile -t $target "$samples/calls.ptx" -o whole.cubin || exit 1
    "$heddle" disasm --sections whole.cubin -o whole.sass || exit 1
    again whole
    cmp whole.cubin whole.again.cubin || bad "whole.sass"

    # a section of code in which there is none, and nothing that names a place in it
    cat >empty.$target.sass <<EOF
	.target	$target
$(grep '^	\.__elf_[a-z]*' whole.sass | grep -v 'shstrndx\|size\|note')
	.__elf_phentsize	56
	.__elf_shstrndx	1
	.section	""
	.section	".shstrtab"
	.__section_type	3
	.string	""
	.string	".shstrtab"
	.string	".text.k"
	.section	".text.k"
	.__section_type	1
	.__section_flags	6
EOF
    again empty.$target

    # a table of relocations whose name is that of code: it may mean places in data
    sed 's/"\.text\.k"$/"data"/' empty.$target.sass >table.$target.sass
    cat >>table.$target.sass <<EOF
.L_2_0000:
	.word	0
	.section	".text.k"
	.__section_type	4
	.__section_info	2
	.__rela	.L_2_0000, 0, 0, 0x0
EOF
    again table.$target

    # places in the map that lie within others: in a number, in the positions
    words=$(sed -n '/"\.heddle\.map"$/,$s/^	\.word	\.\(L_[0-9]*_[0-9a-f]*\)$/\1/p' whole.sass)
    positions=$(echo "$words" | sed -n 2p) rows=$(echo "$words" | sed -n 3p)
    [ -n "$positions" ] && [ -n "$rows" ] || bad "no places in the map"
    for by in 1 4 0x15; do
        awk -v last="	.word	.$rows" -v with="	.word	.$positions + $by" '$0 == last && !done { $0 = with; done = 1 } { print }' \
            whole.sass >within.$by.$target.sass
        cmp -s whole.sass within.$by.$target.sass && bad "nothing was changed"
        again within.$by.$target
    done
done

# an entry whose name is a number has no name to be found by, although a symbol's name ends the string there
sed '0,/^	\.__symbol	0x0/s//	.__symbol	0x7/' whole.sass >number.sass
cmp -s number.sass whole.sass && bad "no entry has a number"
again number
[ "$(cmp -l whole.cubin number.cubin | wc -l)" = 1 ] || bad "number.sass: more than the name of one entry is another"

# positions that nothing ends: before another section, before others, at the end of the text
grep -n '^	\.__positions_end' whole.sass >/dev/null || bad "no positions"
awk '/^\t\.__positions\t/ { print; print "\t.section\t\"more\""; next } { print }' whole.sass >open.section.sass
refused open.section 'open.section.sass:[0-9]*:[0-9]*: error E0350: expected .__positions_end'
grep -v '^	\.__positions_end' whole.sass >open.next.sass
refused open.next 'open.next.sass:[0-9]*:[0-9]*: error E0350: expected .__positions_end'
sed '/^	\.__positions_end/,$d' whole.sass >open.end.sass
refused open.end 'open.end.sass:[0-9]*:[0-9]*: error E0350: expected .__positions_end'

# more aligned than it was: moved to such a place
sed 's/^	\.align	4$/	.align	1024/' whole.sass >align.sass
cmp -s align.sass whole.sass && bad "nothing is aligned"
again align
sed 's/^	\.align	4$/.align	0x40000000/' whole.sass >far.sass
refused far 'far.sass:[0-9]*:[0-9]*: error E0356: an offset beyond 256 MiB'
[ ! -s far.cubin ] || bad "far.cubin was written"

# the header and the instructions are of the same machine
sed 's/^	\.target	sm_80$/	.target	sm_86/' whole.sass >other.sass
refused other 'other.sass:2:9: error E0356: the instructions are of sm_86, the ELF header is of sm_80'
sed '/__elf_flags/d' whole.sass >none.sass
refused none 'none.sass:2:9: error E0356: the instructions are of sm_80, the ELF header is of no known machine'

# a distance where the driver's loader fills in an address: a card refuses it or runs elsewhere
sed 's/CALL\.ABS\.NOINC/CALL.REL.NOINC/' whole.sass >distance.sass
cmp -s distance.sass whole.sass && bad "nothing is called"
"$heddle" asm distance.sass -o distance.cubin 2>err || bad "distance: $(cat err)"
"$heddle" check distance.cubin >out 2>err
[ $? = 1 ] && grep -q 'E0407.*a loader fills in an address, and the instruction takes a distance' err ||
    bad "distance.cubin is taken: $(cat out err)"
printf '.target sm_80\n.entry k\n  CALL.REL.NOINC `(f) ;\n  EXIT ;\n.func f\n  RET.ABS.NODEC R20 0x0 ;\n' >short.sass
refused short 'short.sass:3:3: error E0356: a loader tells the address of a function elsewhere'

# the listing for people is no text to assemble, and says so once
"$heddle" disasm whole.cubin -o listing.sass || bad listing
refused listing 'listing.sass:[0-9]*:[0-9]*: error E0350: expected .entry.*--sections'
[ "$(grep -c error err)" = 1 ] || bad "several errors for a listing: $(cat err)"
exit $failed
