#!/bin/sh
# learn.sh HEDDLE SAMPLES HERE: heddle learn on code of Heddle's own, whose words are the .isa encoder's, and on dumps by hand.
# SPDX-License-Identifier: MIT
heddle=$1 samples=$2 here=$3 failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$here/../want.sh"
cd "$tmp" || exit 1

n=0
for f in "$samples"/*.ptx; do
    n=$((n + 1))
    "$heddle" compile "$f" -t sm_90 -o "$(basename "$f" .ptx).cubin" || failed=1
done
[ $n -ge 26 ] || { echo "FAIL: $n samples only"; failed=1; }
cubins=$(ls ./*.cubin | grep -v bfs)
want 0 'sm_90: [0-9]* instructions of [0-9]* keys' learn $cubins -o all.repo
want 0 ' 0 different, 0 refused' learn --verify -r all.repo $cubins
# what was not seen is the same or refused: bfs.cubin is left out above
"$heddle" learn --verify -r all.repo bfs.cubin >out 2>&1
case $? in 0 | 5) ;; *) echo "FAIL: held back"; cat out; failed=1 ;; esac
grep -q ' 0 different' out || { echo "FAIL: held back"; cat out; failed=1; }
# a repository, read and written, is itself; merged with itself too but for what was seen
want 0 '' learn -r all.repo -o again.repo
cmp all.repo again.repo || failed=1
want 0 '' learn -r all.repo -r all.repo -o twice.repo
sed 's/^\(key [^ ]*\) .*/\1/' all.repo >one && sed 's/^\(key [^ ]*\) .*/\1/' twice.repo | cmp - one || failed=1
"$heddle" learn -r all.repo -o - | cmp - all.repo || { echo "FAIL: a repository to standard output"; failed=1; }
want 2 'standard output' learn -r all.repo -o - --keys
# parts give what the whole gives
want 0 '' learn $(echo "$cubins" | head -n 12) -o part.repo
want 0 '' learn -r part.repo $(echo "$cubins" | tail -n +13) -o updated.repo
want 0 ' 0 different, 0 refused' learn --verify -r updated.repo $cubins
want 0 '"deficit"' learn -r all.repo --keys --json
want 0 '^FFMA_R_R_R_R ' learn -r all.repo --keys

# texts assemble to a dump, labels and all, that is read again
cat >t.sass <<'END'
    .section .text.k,"ax",@progbits
k:
    [B------:R-:W-:-:S02]  /*0000*/  ISETP.GE.U32.AND P0, PT, R2, R3, PT ;
    [B------:R-:W-:Y:S05]  /*0010*/  @P0 BRA `(.L_x_1) ;   // over
    [B01----:R-:W2:-:S01]  /*0020*/  FADD R1, R2, R3 ;
.L_x_1:
    [B------:R-:W-:-:S05]  /*0030*/  EXIT ;
END
want 0 '' learn --assemble -r all.repo --arch sm_90 t.sass -o t.dump
want 0 'sm_90: 4 instructions: 4 equal' learn --verify -r all.repo --arch sm_90 t.dump
# functions stay apart
sed 's/^k:/l:/;s/\.text\.k/.text.l/' t.sass | cat t.sass - >two.sass
want 0 '' learn --assemble -r all.repo --arch sm_90 two.sass -o two.dump
want 0 'sm_90: 8 instructions: 8 equal' learn --verify -r all.repo --arch sm_90 two.dump
# the same words as the assembler's, scheduling too
sed -e '/section/d;s/^k:/.target sm_90\n.entry k/;s/`(.L_x_1)/0x30/;s/^.L_x_1://' t.sass >s.sass
"$heddle" asm s.sass -o s.cubin || failed=1
for word in $(grep -o '0x[0-9a-f]\{16\}' t.dump | sed 's/^0x//'); do
    bytes=$(echo "$word" | sed 's/\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)/\8\7\6\5\4\3\2\1/')
    od -An -v -tx1 s.cubin | tr -d ' \n' | grep -q "$bytes" || { echo "FAIL: asm has no $word"; failed=1; }
done
want 0 'values     7 1 2 3' learn --show --arch sm_90 t.sass
want 0 'modifiers  0_ISETP 0_GE 0_U32 0_AND' learn --show --arch sm_90 t.sass

# names may be of any length
long=$(printf 'L%.0s' $(seq 700))
sed "s/\.L_x_1/$long/" t.sass >long.sass
want 0 '' learn --assemble -r all.repo --arch sm_90 long.sass -o long.dump
grep -o '/\* 0x.*' t.dump >words && grep -o '/\* 0x.*' long.dump | cmp - words || { echo "FAIL: a long name"; failed=1; }

# PTX to compile and learn from: a kernel a line, all of them another statement, of the architecture asked for
want 0 ' kernels in [0-9]* modules' learn --forms forms --arch sm_123
said=$(sed -n 's/^\([0-9]*\) kernels in .*/\1/p' out)
[ "$(sed 1,4d forms/0000.ptx | grep -c '^.visible .entry k[0-9]*(.*ret; }$')" = 16 ] || { echo "FAIL: kernels of forms"; failed=1; }
[ "$(cat forms/*.ptx | grep -c '^.visible .entry')" = "$said" ] || { echo "FAIL: not $said kernels of forms"; failed=1; }
[ "$(grep -h '^.target' forms/*.ptx | sort -u)" = '.target sm_123' ] || { echo "FAIL: target of forms"; failed=1; }
for form in 'mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 ' '@%p3 atom.global.cas.b64 .*\[%da+16\]' \
    'ld.param.u64 %d9, \[pp+8\]; add.rn.f64 ' 'ld.shared.u32 %r1, \[%ra+-16\]'; do
    grep -qe "$form" forms/*.ptx || { echo "FAIL: no form $form"; failed=1; }
done
want 2 'needs --arch' learn --forms forms
want 2 'needs --arch, and reads no file' learn --forms forms --arch sm_90 t.dump
want 2 'exclude each other' learn --forms forms --verify --arch sm_90
want 2 '--forms reads nothing' learn --forms forms --arch sm_90 -r all.repo
want 1 'E0002' learn --forms t.dump/forms --arch sm_90

# two NaNs with one text: what was seen is assembled, and the other one is refused, not wrong; where there are tables they
# tell them apart
nan() { # NAME WORD ARCH
    printf '.target %s\n/*0000*/ FSEL R9, R9, -QNAN, P1 ; /* 0x%s */\n /* 0x000fe40000800000 */\n' "$3" "$2" >"$1"
}
nan nan1.sass fff0000009097808 sm_110
nan nan2.sass fff8000009097808 sm_110
want 0 '' learn nan1.sass --arch sm_110 -o nan.repo
want 0 '1 equal' learn --verify -r nan.repo nan1.sass
want 5 ' 0 different, 1 refused' learn --verify -r nan.repo nan2.sass
nan nan1.sass fff0000009097808 sm_80
nan nan2.sass fff8000009097808 sm_80
want 0 '' learn nan1.sass nan2.sass -o nan.repo
want 0 '2 equal' learn --verify -r nan.repo nan1.sass nan2.sass
# so they do for the bits of TEX that nvdisasm does not print
tex() { # WORDS...
    printf '.target sm_75\n'
    for word in "$@"; do
        printf '/*%04x*/ TEX.SCR.LL R24, R22, R2, R46, 0x0, 0x5e, 2D ; /* 0x30005e2e02167b60 */\n /* 0x%s */\n' $at $word
        at=$((at + 16))
    done
}
at=0
tex 041f4200019e0f18 000f6200019e0f18 101f4200019e0f18 >tex.sass
want 0 '' learn tex.sass -o tex.repo
want 0 '3 equal' learn --verify -r tex.repo tex.sass
want 0 'TEX.SCR.LL.T4 R24' learn --show tex.sass

# and for the cache policy of a descriptor (words of ptxas 13.0's code of Marlin and CUTLASS)
cat >policy.sass <<'END'
.target sm_80
/*0000*/ LDGSTS.E.BYPASS.LTC128B.128 [R3+0x8000], desc[UR4][R222.64] ; /* 0x08000000de037fae */
 /* 0x0007e8200b901d44 */
/*0010*/ @P1 LDGSTS.E.BYPASS.LTC128B.128 [R163], [R156.64] ; /* 0x000000009ca31fae */
 /* 0x0005ee000b901d6e */
/*0020*/ @P1 LDGSTS.E.BYPASS.LTC128B.128 [R3+0x8000], [R222.64] ; /* 0x08000000de031fae */
 /* 0x0007e8000b901d44 */
END
want 0 '' learn policy.sass -o policy.repo
want 0 '3 equal' learn --verify -r policy.repo policy.sass
want 0 'desc\[UR4.POLICY\]' learn --show policy.sass
want 0 ' 0 read as another word' learn --against-isa policy.sass

# cubins in a fat binary: those of machines with tables, not those without code
le() { # NUMBER BYTES: little endian
    n=$1
    for _ in $(seq "$2"); do
        printf "\\$(printf %03o $((n % 256)))"
        n=$((n / 256))
    done
}
entry() { # MACHINE FILE
    size=$(wc -c <"$2")
    padded=$(((size + 7) / 8 * 8))
    le 2 2; le 257 2; le 64 4; le $padded 8; le 0 12; le "$1" 4; le 0 32
    cat "$2"
    le 0 $((padded - size))
}
entry 110 t.dump >entries # no table: left out
entry 90 bfs.cubin >>entries
{ le 3126193488 4; le 1 2; le 16 2; le "$(wc -c <entries)" 8; cat entries; } >both.fatbin
want 0 '' learn bfs.cubin -o bfs.repo
want 0 '' learn both.fatbin -o fat.repo
cmp bfs.repo fat.repo || failed=1
entry 110 bfs.cubin >entries
{ le 3126193488 4; le 1 2; le 16 2; le "$(wc -c <entries)" 8; cat entries; } >none.fatbin
want 1 'none.fatbin: error E0416: no program of a machine with tables' learn none.fatbin
head -c 2000 both.fatbin >cut.fatbin
want 1 'cut.fatbin:.*error E0416' learn cut.fatbin

# a dump beside the tables: Heddle's own code is what they say, and another word is not
want 0 ' 0 not decoded, 0 not read, 0 read as another word, 0 spelt otherwise' learn --against-isa $cubins
want 0 '4 instructions: 0 not decoded' learn --against-isa --arch sm_90 t.dump
sed 's/FADD R1, R2, R3/FADD R1, R2, R4/' t.dump >u.sass
want 4 ' 1 read as another word' learn --against-isa --arch sm_90 u.sass
sed 's/FADD R1/FADDX R1/' t.dump >u.sass
want 4 ' 1 not read' learn --against-isa --arch sm_90 u.sass
sed 's/0x0000000302017221/0x0000000302017fff/' t.dump >u.sass
want 4 ' 1 not decoded' learn --against-isa --arch sm_90 u.sass
want 1 'there are no tables for this architecture' learn --against-isa --arch sm_110 t.dump
{ cat t.dump; printf '.section .text.k\n/*0000*/ FADD R1, R2, R3 ; /* 0x0000000302017221 */\n'; } >u.sass # with what was seen before
want 1 'error E0901: the upper half of the word' learn --against-isa --arch sm_90 u.sass

# what is wrong is said with its place
want 2 'exclude each other' learn --verify --assemble -r all.repo t.dump
want 2 'json needs a report on standard output' learn --show --json t.dump
want 2 'need a --repository' learn --verify t.dump
want 2 'no input file' learn
want 2 'no input file' learn --verify -r all.repo
want 2 'keys needs learning: no --verify' learn --verify --keys -r all.repo t.dump
sed '1i .target sm_80' t.dump >u.sass
for command in "learn --verify -r all.repo" "learn --assemble -r all.repo" "learn -r all.repo" "learn --arch sm_90 --show" \
    "learn --arch sm_90 --against-isa"; do
    want 1 'E0905: u.sass is of sm_80, not of sm_90' $command u.sass
done
want 2 'no architecture' learn --arch sm80 t.dump
want 1 'E0001' learn none.sass
want 1 't.sass:3:1: error E0901: the word is missing' learn --arch sm_90 t.sass
want 1 't.dump:1:1: error E0901: .* does not say of which architecture' learn t.dump
want 1 'all.repo is of sm_90, not of sm_80' learn -r all.repo --arch sm_80 t.dump
printf 'FADD R1, R2, Q9 ;\nTHIS.IS R1 ;\n' >u.sass
want 1 'u.sass:2:1: error E0906: not assembled: no instruction of key THIS_R' learn --assemble -r all.repo --arch sm_90 u.sass
printf 'FADD R1, [R2 ;\n' >u.sass
want 1 "u.sass:1:13: error E0906: not assembled: '+' or ']'" learn --assemble -r all.repo --arch sm_90 u.sass
echo 'no dump at all' >u.sass
want 1 'E0904: u.sass has no instruction' learn --arch sm_90 u.sass
printf '\t.target\tsm_90\n' >h.sass && : >e.sass
want 0 'W0908: h.sass has no instruction' learn --arch sm_90 h.sass t.dump e.sass -o u.repo
want 0 ': 4 equal' learn --verify -r u.repo --arch sm_90 e.sass t.dump
for action in '' --verify --assemble --show --against-isa; do
    want 1 'E0904: e.sass has no instruction' learn $action -r all.repo e.sass h.sass # nothing at all
done
rm -f u.repo
want 1 'sm_90: 4 instructions' learn --arch sm_90 --keep-going u.sass t.dump -o u.repo # what is no dump is left out
want 0 ': 4 equal' learn --verify -r u.repo --arch sm_90 t.dump
head -n 5 t.dump >u.sass
want 1 'E0901: the upper half of the word before' learn --arch sm_90 u.sass
sed 's/0020/0024/' t.dump >u.sass
want 1 'u.sass:5:1: error E0901: the address is not 16 behind' learn --arch sm_90 u.sass
sed 's/0x0000000302017221/0x000000030201722/' t.dump >u.sass
want 1 'E0901: a word as in' learn --arch sm_90 u.sass
sed 's/0x0000000302017221/0x0000000302017222/' t.dump >u.sass
want 1 'u.sass:5:1: error E0902: the dump contradicts itself: t.dump:5' learn --arch sm_90 t.dump u.sass
want 4 'E0907: assembled it is 0x0000000302017221' learn --verify -r all.repo --arch sm_90 u.sass
sed 's/^\(key [^ ]*\) .*/\1 -5/' all.repo >u.repo
want 1 'u.repo:3:[0-9]*: error E0903: a number was expected' learn -r u.repo t.dump
sed 's/^\(key [^ ]*\) .*/\1 99999999999999999999/' all.repo >u.repo
want 1 'u.repo:3:[0-9]*: error E0903: a number was expected' learn -r u.repo t.dump
printf 'heddle-learn 1\narch sm_80\nkey BRA_T 1\nsm_80 0x7ffffffffffffff0 0x0 0x0 BRA 0x0\nend 1 1\n' >u.repo
want 0 'sm_80: 1 instructions' learn -r u.repo
head -c 3000 all.repo >u.repo
want 1 'u.repo:[0-9]*:[0-9]*: error E0903' learn -r u.repo t.dump
sed '$d' all.repo >u.repo
want 1 'cut off: its end is missing' learn -r u.repo t.dump
sed "$(($(wc -l <all.repo) - 1))d" all.repo >u.repo
want 1 'are missing before the end' learn -r u.repo t.dump

# the next architecture, from a little of it
"$heddle" compile "$samples/bfs.ptx" -t sm_89 -o small.cubin || failed=1
want 0 'sm_90: [0-9]* keys taken over, [1-9][0-9]* are different' learn small.cubin --transfer all.repo -o sm_89.repo
for f in "$samples"/*.ptx; do
    "$heddle" compile "$f" -t sm_89 -o next.cubin || failed=1
    "$heddle" learn --verify -r sm_89.repo next.cubin >out 2>&1
    grep -q ' 0 different' out || { echo "FAIL: $f after the transfer"; head -n 3 out; failed=1; }
done
exit $failed
