#!/bin/sh
# report.sh HEDDLE DIRECTORY: what heddle report tells of branches: what their joins save, loops with several exits, the
# counts of a profile; and how the code compares with another binary's. SPDX-License-Identifier: MIT
set -u
heddle=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failed=0
fail() {
    echo "FAIL: $*"
    failed=1
}
# A loop (line 17) with a way to its next round before the end of its body, and two exits. Long names are no matter.
name=a_kernel_with_a_name_that_is_longer_than_any_column_of_the_table_could_be_made_for_it
cat >k.ptx <<P
.version 7.0
.target sm_80
.address_size 64
.visible .entry $name(.param .u64 p, .param .u32 mask)
{
  .reg .u64 %rd<4>;
  .reg .u32 %r<9>;
  .reg .pred %q;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r3, [mask];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  mov.u32 %r4, %r1;
  mov.u32 %r5, 0; .pragma "nounroll";
round:
  add.u32 %r5, %r5, 1;
  xor.b32 %r6, %r4, %r5;
  and.b32 %r6, %r6, %r3;
  setp.ne.u32 %q, %r6, 0;
  @%q bra next;
  mul.hi.u32 %r6, %r4, -1640531535;
  xor.b32 %r4, %r4, %r6;
  mul.hi.u32 %r6, %r4, -1640531535;
  xor.b32 %r4, %r4, %r6;
  mul.hi.u32 %r6, %r4, -1640531535;
  xor.b32 %r4, %r4, %r6;
  setp.gt.u32 %q, %r4, 4000000000;
  @%q bra done;
next:
  mul.lo.u32 %r4, %r4, 17;
  xor.b32 %r6, %r4, 21;
  mul.hi.u32 %r6, %r6, -1640531535;
  add.u32 %r4, %r4, %r6;
  setp.lt.u32 %q, %r5, 20;
  @%q bra round;
done:
  st.global.u32 [%rd3], %r4;
  ret;
}
P
"$heddle" report k.ptx --predicate=off >table || fail "report"
"$heddle" report k.ptx --predicate=off --json >json || fail "report --json"
grep -q "^$name: divergent branches\$" table || fail "the name has no line of its own"
# Branch of line 21: joins in every round at line 31; the loop leaves at lines 29 and 36.
grep -Eq '^ +[0-9a-f]{4} +21 +B[0-9]+ +31 +[0-9.]+  joins early, in every round of the loop of line 17 with 2 exits$' table ||
    fail "the join of every round"
grep -q '"loop_exits":	2' json || fail "exits in JSON"
grep -q '"saves":	[0-9]' json || fail "savings in JSON"
grep -q 'warps' table && fail "counts without a profile"
# With .loc the line of the source stands beside that of the PTX, of what joins and of what is guarded, on pages too.
sed -e 's,^\.visible,.file 1 "/made of/k.cu"\n&,' -e 's/^  xor.b32 %r6, %r4, %r5;/  .loc 1 7 3\n&/' k.ptx >made.ptx
"$heddle" report made.ptx --predicate=off >table || fail "report of made.ptx"
[ "$(grep -c '(k.cu:7)$' table)" -gt 1 ] && grep -Eq '^ +[0-9a-f]{4} +23 .* with 2 exits \(k.cu:7\)$' table || fail "lines of the source"
"$heddle" report made.ptx --json | grep -q '"source":	"k.cu:7"' || fail "lines of the source in JSON"
"$heddle" report made.ptx --html made.html && grep -q '<td[^>]*>k.cu:7</td>' made.html || fail "lines of the source in the page"
# The same loop without the pragma becomes 20 copies, whose branches have a row for each statement; JSON has all.
sed 's/ .pragma.*//' k.ptx >copies.ptx
"$heddle" report copies.ptx --predicate=off >table && "$heddle" report copies.ptx --predicate=off --json >json || fail "report of copies.ptx"
awk '$2 == 21 && / copies$/ { n += $(NF - 1) } $2 == 21 && !/ copies$/ { n++ } $2 == 21 { rows++ } END { exit n < 20 || rows > 4 }' table ||
    fail "copies of a branch"
[ "$(tr -d ' \t\n' <json | grep -o '"line":21,"join' | wc -l)" -ge 20 ] || fail "copies of a branch in JSON"
# Only auto mode estimates.
"$heddle" report k.ptx --predicate=off --reconverge=ipdom >ipdom || fail "report of ipdom"
awk '$2 == 21 && $3 ~ /^B/ && $4 == 38 { n++ } END { exit n != 1 }' ipdom ||
    fail "the join behind the loop in ipdom mode"
grep -q saves ipdom && fail "savings that nobody estimated"

# Counts: lanes t with (t ^ round) & mask are not there for the work. Mask 1: in every round half of the 64, so that both
# warps part each time they come; the launch is small enough to count by hand only for mask 0, where nobody goes around.
"$heddle" run k.ptx --profile parted.json --block 64,1,1 --arg out:c:u32[64]=zero --arg u32:1 >/dev/null || fail "run"
"$heddle" run k.ptx --profile all.json --block 64,1,1 --arg out:c:u32[64]=zero --arg u32:0 >/dev/null || fail "run"
"$heddle" report k.ptx --predicate=off --profile parted.json >parted || fail "report of a profile"
"$heddle" report k.ptx --predicate=off --profile all.json >all || fail "report of a profile"
grep -Eq ' saves +warps +parted +lanes  why$' parted || fail "columns of a profile"
grep -Eq '^ +[0-9a-f]{4} +21 .* 0\.0% ' all || fail "a branch that nobody parts at"
# The join behind the loop is refused where nobody parts, and would lose something.
grep -Eq '^ +[0-9a-f]{4} +21 +- +38 +-[0-9.]+ .*  its join does not pay$' all || fail "what a refused join would lose"
awk '$2 == 21 && $0 ~ /%/ { for (k = 1; k <= NF; k++) if ($k ~ /%$/ && $k + 0 < 90) bad = 1; n++ } END { exit bad || !n }' parted ||
    fail "a branch where lanes part"

# Beside another binary: what is counted is what the disassembly shows, of that compiled and of the other.
"$heddle" compile k.ptx --predicate=off -o auto.cubin || fail "compile"
"$heddle" compile k.ptx --predicate=off --reconverge=none -o none.cubin || fail "compile --reconverge=none"
"$heddle" report k.ptx --predicate=off --against none.cubin >beside || fail "report --against"
for binary in auto none; do
    "$heddle" disasm --kernel $name $binary.cubin >$binary.sass
done
for word in BSSY BSYNC BREAK; do
    awk -v word=$word -v a="$(grep -c "  $word B" auto.sass)" -v b="$(grep -c "  $word B" none.sass)" \
        '$1 == word { n++; if ($2 != a || $3 != b) bad = 1 } END { exit bad || n != 1 }' beside || fail "$word beside another"
done
[ "$(grep -c '^ *B[0-9].* insts' beside)" -eq "$(grep -c '  BSSY B' auto.sass)" ] || fail "regions beside another"
grep -Eq '^  lost joins \(R-24\) +0 +[1-9]' beside || fail "lost joins beside another"
"$heddle" report k.ptx --predicate=off --json --against none.cubin | grep -q '"lost_joins":	[1-9]' || fail "JSON beside another"
"$heddle" report k.ptx --against nothing.cubin 2>/dev/null && fail "a binary that is not there"
# One kernel of several, with what it calls; the text of one is that of the file that holds it alone.
cat >calls.ptx <<P
.version 7.0
.target sm_80
.address_size 64
.func (.reg .u32 r) helper(.reg .u32 a)
{
  .reg .pred %q;
  mov.u32 r, a;
  setp.gt.u32 %q, a, 5;
  @%q bra out;
  add.u32 r, a, 3;
out:
  ret;
}
.visible .entry other(.param .u64 p)
{
  .reg .u64 %rd1;
  .reg .u32 %r<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  call (%r2), helper, (%r1);
  st.global.u32 [%rd1], %r2;
  ret;
}
P
sed 1,3d k.ptx >>calls.ptx
"$heddle" report calls.ptx --predicate=off --kernel other >one && grep -q '^helper: ' one && ! grep -q "^$name" one || fail "a kernel and what it calls: $(cat one)"
"$heddle" report calls.ptx --predicate=off --kernel $name >one && grep -q "^$name: " one && ! grep -q '^helper' one || fail "a kernel that calls nothing: $(cat one)"
"$heddle" report calls.ptx --predicate=off --kernel $name --json | grep -q '"helper"' && fail "JSON of one kernel"
"$heddle" compile calls.ptx -t sm_80 -o calls.cubin && "$heddle" report calls.ptx --kernel other --against calls.cubin >one &&
    grep -q '^other$' one && ! grep -q "^$name" one || fail "one kernel beside another binary: $(cat one)"
"$heddle" report calls.ptx --kernel nothing >one 2>&1 && fail "no such kernel"
grep -q 'E0414.*nothing' one || fail "no such kernel: $(cat one)"
"$heddle" report calls.ptx --html pages/ && grep -q '<html' pages/$name.html && grep -q '<html' pages/other.html ||
    fail "pages in a folder that is not there yet"
"$heddle" report calls.ptx --html one/ >log 2>&1 && fail "pages in a file"
grep -q 'E0002.*one/' log || fail "pages in a file: $(cat log)"
[ $failed = 0 ] || { cat table parted all; exit 1; }
