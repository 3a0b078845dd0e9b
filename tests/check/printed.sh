#!/bin/sh
# printed.sh HEDDLE DIRECTORY: validate compares what each thread prints, whatever the order of threads; run prints it.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../want.sh"
heddle=$1 work=$2
failed=0
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

# thread i of an odd number prints "i f(i)\n" once before and once behind a barrier; f(i) = 3 i + 1
cat >k.ptx <<'P'
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[7] = {37, 100, 32, 37, 100, 10, 0};
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 b[8];
  .reg .b64 %d<5>;
  .reg .b32 %r<9>;
  .reg .pred %p, %q;
  mov.u32 %r1, %tid.x;
  mov.u32 %r7, 0;
again:
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p, %r2, 0;
  @%p bra quiet;
  mad.lo.u32 %r3, %r1, 3, 1;
  mov.u64 %d1, b;
  cvta.local.u64 %d2, %d1;
  st.local.u32 [%d1], %r1;
  st.local.u32 [%d1+4], %r3;
  mov.u64 %d3, format;
  cvta.global.u64 %d3, %d3;
  {
  .param .b64 f;
  .param .b64 a;
  .param .b32 r;
  st.param.b64 [f], %d3;
  st.param.b64 [a], %d2;
  call (r), vprintf, (f, a);
  ld.param.b32 %r4, [r];
  }
quiet:
  bar.sync 0;
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %q, %r7, 2;
  @%q bra again;
  ret;
}
P
launch='--block 70 --arg out:o:u32[1]'
i=1
: >expected
while [ $i -lt 70 ]; do
    echo "$i $((3 * i + 1))" >>expected
    echo "$i $((3 * i + 1))" >>expected
    i=$((i + 2))
done
sort -n expected >expected.sorted

for target in bru1 sm_75 sm_80 sm_90; do
    "$heddle" compile -t $target k.ptx -o k.$target.cubin || failed=1
    # shellcheck disable=SC2086
    "$heddle" run k.$target.cubin $launch 2>/dev/null | grep '^[0-9]* [0-9]*$' | sort -n | cmp -s - expected.sorted ||
        { echo "FAIL: run on $target prints something else"; failed=1; }
    # shellcheck disable=SC2086
    want 0 'k: equal' validate k.ptx k.$target.cubin $launch
    # an operand: another number printed; a product: other ones behind the first
    "$heddle" disasm --sections k.$target.cubin >k.sass || failed=1
    for edit in 's/\(IMAD[.A-Z0-9]* R[0-9]*, R[0-9]*, \)0x3, /\10x5, /' 's/STL \[\(R[0-9]*\)+0x4\], R[0-9]*/STL [\1+0x4], RZ/' \
        's/STL\.64 \[\(R[0-9]*\)\], R[0-9]*/STL.64 [\1], RZ/'; do
        sed "$edit" k.sass >bad.sass
        cmp -s k.sass bad.sass && continue
        "$heddle" asm bad.sass -o bad.cubin || failed=1
        # shellcheck disable=SC2086
        want 4 'prints another text' validate k.ptx bad.cubin $launch
        grep -q 'PTX      "1 4\\n"' out || { echo "FAIL: $target: the text is not shown"; cat out; failed=1; }
        echo "$target" >>edited
    done
done
for target in bru1 sm_75 sm_80 sm_90; do
    grep -q "^$target\$" edited || { echo "FAIL: no wrong code was made for $target"; failed=1; }
done

# the PTX itself; a launch that is found; a kernel that only prints has a result
# shellcheck disable=SC2086
"$heddle" run k.ptx $launch 2>/dev/null | grep '^[0-9]* [0-9]*$' | sort -n | cmp -s - expected.sorted ||
    { echo 'FAIL: run of the PTX prints something else'; failed=1; }
want 0 'k: equal' validate k.ptx --launch auto

# --json prints JSON alone, with the text in it; a NUL is no text
for k in k.ptx k.bru1.cubin; do
    # shellcheck disable=SC2086
    "$heddle" run $k $launch --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["printed"], end="")' |
        sort -n | cmp -s - expected.sorted || { echo "FAIL: run --json $k tells another text"; failed=1; }
done
sed 's/{37, 100, 32, 37, 100, 10, 0}/{37, 99, 46, 46, 46, 10, 0}/' k.ptx >nul.ptx
sed -i 's/st.local.u32 \[%d1\], %r1/st.local.u32 [%d1], 0/' nul.ptx
# shellcheck disable=SC2086
"$heddle" run nul.ptx $launch --json 2>/dev/null |
    python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["printed"] != 70 * "\ufffd...\n")' ||
    { echo 'FAIL: a NUL that is printed'; failed=1; }

# who prints what depends on the order of threads, and is no difference
sed 's/mad.lo.u32 %r3, %r1, 3, 1;/ld.param.u64 %d4, [out]; atom.global.add.u32 %r3, [%d4], 1;/' k.ptx >order.ptx
# shellcheck disable=SC2086
want 0 'k: order-dependent' validate order.ptx $launch --races
# a declaration without the result that nobody reads
sed 's/(.param .b32 r) vprintf/vprintf/; s/call (r), vprintf/call vprintf/; /ld.param.b32 %r4/d; /^  .param .b32 r;/d' k.ptx >less.ptx
for target in bru1 sm_80 sm_90; do
    "$heddle" compile -t $target less.ptx -o less.cubin || failed=1
    # shellcheck disable=SC2086
    "$heddle" run less.cubin $launch 2>/dev/null | grep '^[0-9]* [0-9]*$' | sort -n | cmp -s - expected.sorted ||
        { echo "FAIL: without a result $target prints something else"; failed=1; }
    # shellcheck disable=SC2086
    want 0 'k: equal' validate less.ptx less.cubin $launch
done
# a declaration that is not the driver's, and an unknown function
sed 's/(.param .b64 f, .param .b64 a);/(.param .b64 f, .param .b32 a);/; s/  .param .b64 a;/  .param .b32 a;/; s/st.param.b64 \[a\], %d2/st.param.b32 [a], %r1/' \
    k.ptx >signature.ptx
want 1 'E0702' compile signature.ptx -o x.cubin
sed 's/vprintf/wprintf/' k.ptx >name.ptx
want 1 'E0702' compile name.ptx -o x.cubin
exit $failed
