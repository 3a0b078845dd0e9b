#!/bin/sh
# heddle prove on a small sample and on mutants of it: run.sh HEDDLE SAMPLES
# The sample is proved at every level; a binary with a flipped predicate, swapped select operands, a hoisted store, a
# wrong truth table, a wrong offset or a lost copy is not, and most are refuted with status 4.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../../part.sh"
heddle=$1 samples=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAIL: $*"; failed=1; }

for level in 0 1 2 3; do
    for s in guards bfs carry bits irreducible collatz warpscan; do
        mine || continue
        "$heddle" prove -O$level "$samples/$s.ptx" > "$dir/out" || fail "$s -O$level: status $?"
        grep -q '^all .* 0 refuted 0 unknown' "$dir/out" || fail "$s -O$level: $(tail -3 "$dir/out")"
    done
done

# A parameter of more bytes than the old record of its size can say
cat > "$dir/large.ptx" <<'P'
.version 8.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .align 4 .b8 big[20000], .param .u32 last)
{
    .reg .b32 %r<3>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.param.u32 %r1, [big+19996]; ld.param.u32 %r2, [last];
    add.u32 %r1, %r1, %r2; st.global.u32 [%d], %r1; ret;
}
P
pick bru1 sm_80 sm_90
for target in $picked; do
    "$heddle" prove -t $target "$dir/large.ptx" > "$dir/out" || fail "large parameter, $target: $(tail -1 "$dir/out")"
done

# A loop that is followed: the low word of one round's product, 0, is the high word of another's, and the map is right
cat > "$dir/rows.ptx" <<'P'
.version 8.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [p]; mov.u32 %r1, 14;
L:  and.b32 %r2, %r1, 7; mul.wide.u32 %d2, %r2, 4; st.volatile.global.u64 [%d1], %d2;
    add.s32 %r1, %r1, -2; setp.ne.u32 %q, %r1, 0;
    @%q bra L;
    ret;
}
P
"$heddle" prove -t sm_80 --no-launches "$dir/rows.ptx" > "$dir/out" || fail "rows of rounds: $(tail -1 "$dir/out")"

# The division of f64 that the library computes, with the leading zeros of subnormal operands behind the branch that
# has found them not to be zero; and wrong ones
cat > "$dir/quotients.ptx" <<'P'
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .f64 %f<4>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.global.f64 %f1, [%d]; ld.global.f64 %f2, [%d+8];
    div.rn.f64 %f3, %f1, %f2; st.global.f64 [%d+16], %f3; ret;
}
P
pick bru1 sm_80 sm_90
for target in $picked; do
    "$heddle" prove -t $target --no-launches "$dir/quotients.ptx" > "$dir/out" && grep -q '^__heddle_div_f64: proved under assumptions' "$dir/out" ||
        fail "division of f64, $target: $(tail -1 "$dir/out")"
done
"$heddle" compile -t sm_80 "$dir/quotients.ptx" -o "$dir/quotients.cubin"
mutants=$("$heddle" mutate --list "$dir/quotients.cubin" | awk '/swap-select.*__heddle_div_f64/ { print $1 }')
[ -n "$mutants" ] || fail "no mutants of the division"
for mutant in $mutants; do
    "$heddle" mutate --apply=$mutant "$dir/quotients.cubin" -o "$dir/wrong.cubin" || fail "no $mutant of the division"
    "$heddle" prove --no-launches --time 2 --query-time 1 "$dir/quotients.ptx" "$dir/wrong.cubin" > "$dir/out" && fail "$mutant of the division is proved"
done

# Jump tables of a function lie in the bank of each kernel that calls, before the kernel's own
cat > "$dir/tables.ptx" <<'P'
.version 7.8
.target sm_75
.address_size 64
.func (.reg .b32 r) pick(.reg .b32 a)
{
    .reg .b32 %t; .reg .pred %p;
    and.b32 %t, a, 7;
    setp.gt.u32 %p, %t, 5;
    @%p bra D;
    first: .branchtargets A, B, C, D, B, C;
    brx.idx %t, first;
A:  mul.lo.u32 r, a, 3; ret;
B:  xor.b32 r, a, 77; ret;
C:  shr.u32 %t, a, 3;
    setp.gt.u32 %p, %t, 4;
    @%p bra D;
    second: .branchtargets D, A, E, D, B;
    brx.idx %t, second;
D:  mov.b32 r, 1; ret;
E:  mov.b32 r, 2; ret;
}
.visible .entry one(.param .u64 p, .param .u32 n)
{
    .reg .b32 %r<4>; .reg .b64 %d; .reg .pred %p;
    ld.param.u64 %d, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; xor.b32 %r1, %r1, %r2;
    call (%r3), pick, (%r1);
    setp.gt.u32 %p, %r3, 4;
    @%p bra X;
    own: .branchtargets X, Y, Z, Y, X;
    brx.idx %r3, own;
X:  mov.u32 %r3, 5; bra Z;
Y:  mov.u32 %r3, 6;
Z:  st.global.u32 [%d], %r3; ret;
}
.visible .entry two(.param .u64 p, .param .u32 n)
{
    .reg .b32 %r<4>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.param.u32 %r1, [n];
    call (%r3), pick, (%r1);
    st.global.u32 [%d], %r3; ret;
}
P
pick bru1 sm_75 sm_90
for target in $picked; do
    "$heddle" prove -t $target "$dir/tables.ptx" > "$dir/out" || fail "tables of a function, $target: $(tail -1 "$dir/out")"
done
# ... and one word of them that leads elsewhere, in the bank of the second kernel alone
"$heddle" compile -t sm_75 "$dir/tables.ptx" -o "$dir/tables.cubin"
at=$(readelf -SW "$dir/tables.cubin" 2> /dev/null | sed -n 's/.*nv.constant2.two *PROGBITS *[0-9a-f]* \([0-9a-f]*\).*/\1/p')
for entry in 0 1 2 7 10; do
    cp "$dir/tables.cubin" "$dir/wrong.cubin"
    dd if="$dir/tables.cubin" of="$dir/wrong.cubin" bs=1 count=4 conv=notrunc status=none \
        skip=$((0x$at + 4 * 3)) seek=$((0x$at + 4 * entry))
    "$heddle" prove --no-launches "$dir/tables.ptx" "$dir/wrong.cubin" > "$dir/out"
    status=$?
    [ $status -ne 0 ] && ! grep -q '^pick: proved' "$dir/out" || fail "entry $entry of a wrong table: status $status"
done

# Warps that come to different barriers: proved where all lanes of a warp execute them together, and not where one is
# the other's copy for all that can be seen
barriers() { # FIRST SECOND
    printf '.version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{ .reg .pred %%p; .reg .b32 %%t; .reg .b64 %%d;
ld.param.u64 %%d, [p]; mov.u32 %%t, %%tid.x; ld.global.u32 %%t, [%%d+8]; setp.lt.u32 %%p, %%t, 7; @%%p bra A;
%s; st.global.u32 [%%d], %%t; ret;\nA: %s; st.global.u32 [%%d+4], %%t; ret; }\n' "$1" "$2" > "$dir/barriers.ptx"
    "$heddle" prove -t sm_80 "$dir/barriers.ptx" > "$dir/out"
    echo $?
}
[ "$(barriers 'bar.sync 1' 'bar.sync 2')" = 0 ] || fail "two barriers: $(tail -1 "$dir/out")"
[ "$(barriers 'bar.arrive 1, 64' 'bar.sync 1, 64')" = 0 ] || fail "arrive and wait: $(tail -1 "$dir/out")"
[ "$(barriers 'bar.sync 1' 'bar.sync 1')" = 5 ] || fail "a barrier in two places: $(tail -1 "$dir/out")"
[ "$(barriers 'barrier.sync 1' 'barrier.sync 2')" = 5 ] || fail "lanes of a warp at two barriers: $(tail -1 "$dir/out")"

# A loop over the words of a parameter: the first one is read at a constant address
cat > "$dir/walk.ptx" <<'P'
.version 8.1
.target sm_80
.address_size 64
.visible .entry k(.param .align 4 .b8 words[400], .param .u64 p)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;
    mov.b64 %d1, words; mov.u32 %r1, 0; mov.u32 %r2, 0;
L:  ld.param.u32 %r3, [%d1]; add.u32 %r2, %r2, %r3; add.u64 %d1, %d1, 4; add.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 100; @%p bra L;
    ld.param.u64 %d2, [p]; st.global.u32 [%d2], %r2; ret;
}
P
pick bru1 sm_80 sm_90
for target in $picked; do
    "$heddle" prove -t $target "$dir/walk.ptx" > "$dir/out" || fail "words of a parameter, $target: $(tail -1 "$dir/out")"
done

# The time of a module is shared: what stands first and is never shown leaves enough for what a short query shows
cat > "$dir/heavy.ptx" <<'P'
.version 8.0
.target sm_80
.address_size 64
.visible .entry heavy(.param .u64 p)
{
    .reg .b64 %d<9>;
    ld.param.u64 %d1, [p]; ld.global.u64 %d2, [%d1]; ld.global.u64 %d3, [%d1+8]; ld.global.u64 %d4, [%d1+16];
    add.u64 %d5, %d3, %d4; mul.lo.u64 %d6, %d2, %d5; mul.lo.u64 %d6, %d6, %d5; st.global.u64 [%d1], %d6; ret;
}
.visible .entry light(.param .u64 p)
{
    .reg .b64 %d<3>; .reg .b32 %r<6>;
    ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [%d1+4];
    and.b32 %r3, %r1, %r2; or.b32 %r4, %r1, %r2; add.u32 %r3, %r3, %r4; st.global.u32 [%d1], %r3; ret;
}
P
square='mul.lo.u64 %d5, %d3, %d3; mul.lo.u64 %d6, %d4, %d4; add.u64 %d5, %d5, %d6;'
cross='mul.lo.u64 %d7, %d3, %d4; add.u64 %d5, %d5, %d7; add.u64 %d5, %d5, %d7;'
sed "s/add.u64 %d5.*/$square $cross mul.lo.u64 %d6, %d2, %d5; st.global.u64 [%d1], %d6; ret;/
    s/and.b32 %r3.*/add.u32 %r3, %r1, %r2; st.global.u32 [%d1], %r3; ret;/" "$dir/heavy.ptx" > "$dir/other.ptx"
"$heddle" compile -t sm_80 "$dir/other.ptx" -o "$dir/other.cubin" || fail "products written otherwise"
if "$heddle" prove --kernel light "$dir/heavy.ptx" "$dir/other.cubin" > "$dir/out"; then # Z3 is there
    "$heddle" prove --no-launches --time 2 "$dir/heavy.ptx" "$dir/other.cubin" > "$dir/out"
    grep -q '^heavy: unknown' "$dir/out" && grep -q '^light: proved' "$dir/out" || fail "shared time: $(tail -2 "$dir/out")"
fi

# Sums of 16 bits in a loop: the machine's registers hold anything above them
cat > "$dir/short.ptx" <<'P'
.version 8.1
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .reg .pred %p; .reg .b16 %h<5>; .reg .b32 %r<3>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.param.u32 %r1, [n]; mov.u16 %h1, 0; mov.u32 %r2, 0;
L:  ld.global.u16 %h2, [%d]; ld.global.u16 %h3, [%d+2]; mul.lo.s16 %h4, %h2, %h3; sub.s16 %h4, %h4, %h2;
    add.s16 %h1, %h4, %h1; add.u32 %r2, %r2, 1;
    setp.lt.u32 %p, %r2, %r1; @%p bra L;
    st.global.u16 [%d+4], %h1; ret;
}
P
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    mine || continue
    "$heddle" prove -t $target "$dir/short.ptx" > "$dir/out" || fail "short sums, $target: $(tail -1 "$dir/out")"
done

# Compilers guard a division of 64 bits by one of 32 for small operands: one value, whichever way it came, on both sides
cat > "$dir/wide.ptx" <<'P'
.version 8.1
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 b, .param .u64 n)
{
    .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %d<12>;
    ld.param.u64 %d1, [p]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [n];
L:  ld.global.u64 %d4, [%d1];
    or.b64 %d5, %d4, %d2; and.b64 %d5, %d5, -4294967296; setp.eq.s64 %p1, %d5, 0; @%p1 bra A;
    OPERATION.s64 %d6, %d4, %d2; bra.uni B;
A:  cvt.u32.u64 %r1, %d2; cvt.u32.u64 %r2, %d4; OPERATION.u32 %r3, %r2, %r1; cvt.u64.u32 %d6, %r3;
B:  xor.b64 %d7, %d6, %d2; st.global.u64 [%d1], %d7; add.s64 %d1, %d1, 8; add.s64 %d3, %d3, -1;
    setp.gt.s64 %p2, %d3, 0; @%p2 bra L; ret;
}
P
for operation in rem div; do
    mine || continue
    sed "s/OPERATION/$operation/" "$dir/wide.ptx" > "$dir/same.ptx"
    pick bru1 sm_75 sm_80 sm_90
    for target in $picked; do
        "$heddle" compile -t $target "$dir/same.ptx" -o "$dir/same.cubin" || fail "$operation by small operands does not compile"
        "$heddle" prove "$dir/same.ptx" "$dir/same.cubin" > "$dir/out" || fail "$operation by small operands, $target: $(tail -1 "$dir/out")"
        # the other operand is not looked at; the operands of 32 bits are exchanged; the high word is another
        for edit in 's/or.b64 %d5, %d4, %d2/mov.b64 %d5, %d2/' 's/%r3, %r2, %r1/%r3, %r1, %r2/' 's/cvt.u64.u32 %d6/cvt.s64.s32 %d6/'; do
            sed "$edit" "$dir/same.ptx" > "$dir/other.ptx"
            "$heddle" prove --no-launches "$dir/other.ptx" "$dir/same.cubin" > "$dir/out" && fail "$operation, $target: proved after $edit"
            "$heddle" compile -t $target "$dir/other.ptx" -o "$dir/other.cubin" || fail "$operation after $edit does not compile"
            "$heddle" prove --no-launches "$dir/same.ptx" "$dir/other.cubin" > "$dir/out" && fail "$operation, $target: the code of $edit is proved"
        done
    done
done

# The driver's functions: events, after which no register is what it was; one that does not return says nothing of what is behind it
cat > "$dir/driver.ptx" <<'P'
.version 8.1
.target sm_75
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;
.global .align 1 .b8 text[2] = {65, 0};
.visible .entry k(.param .u64 p, .param .u64 n)
{
    .reg .pred %q; .reg .b64 %d<9>; .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; .param .b64 r;
    ld.param.u64 %d1, [p]; ld.param.u64 %d2, [n]; ld.global.u64 %d3, [%d1]; setp.ne.u64 %q, %d3, 0; @%q bra L;
    mov.u64 %d4, text; cvta.global.u64 %d4, %d4;
    st.param.b64 [a], %d4; st.param.b64 [b], %d4; st.param.b32 [c], 7; st.param.b64 [d], %d4; st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
L:  st.param.b64 [a], %d2; call.uni (r), malloc, (a); ld.param.b64 %d5, [r]; st.global.u64 [%d1], %d5;
    add.u64 %d6, %d3, %d2; st.param.b64 [a], %d6; call.uni free, (a); ret;
}
P
pick sm_75 sm_80 sm_90
for target in $picked; do
    "$heddle" compile -t $target "$dir/driver.ptx" -o "$dir/driver.cubin" || fail "calls of the driver do not compile"
    "$heddle" prove --no-launches "$dir/driver.ptx" "$dir/driver.cubin" > "$dir/out"
    grep -q '^all .* 0 refuted 0 unknown' "$dir/out" || fail "calls of the driver, $target: $(tail -3 "$dir/out")"
    # nvcc leaves the word out, and who calls it knows the function
    sed 's/ \.noreturn;/;/' "$dir/driver.ptx" > "$dir/plain.ptx"
    "$heddle" compile -t $target "$dir/plain.ptx" -o "$dir/plain.cubin" || fail "calls of the driver do not compile"
    "$heddle" disasm "$dir/driver.cubin" > "$dir/driver.sass" && "$heddle" disasm "$dir/plain.cubin" | cmp -s - "$dir/driver.sass" || fail "calls of the driver, $target: other code without .noreturn"
    for edit in 's/\[c\], 7/[c], 8/' 's/call.uni free, (a)/call.uni (r), malloc, (a)/' 's/\[a\], %d6/[a], %d3/' 's/, %d5;$/, %d2;/'; do
        sed "$edit" "$dir/driver.ptx" > "$dir/other.ptx"
        "$heddle" compile -t $target "$dir/other.ptx" -o "$dir/other.cubin" || fail "calls of the driver after $edit do not compile"
        "$heddle" prove --no-launches "$dir/driver.ptx" "$dir/other.cubin" > "$dir/out"
        grep -q '^all .* 0 refuted 0 unknown' "$dir/out" && fail "calls of the driver, $target: proved after $edit"
    done
    # nothing is stored around a call: its callee keeps R16 to R31, and what was in others is not there any more
    grep -q STL "$dir/driver.sass" && fail "calls of the driver, $target: registers are saved"
    "$heddle" disasm --sections "$dir/driver.cubin" > "$dir/driver.sass" && sed 's/R16\([^0-9]\)/R12\1/g; s/R17/R13/g' "$dir/driver.sass" > "$dir/other.sass"
    cmp -s "$dir/driver.sass" "$dir/other.sass" && fail "calls of the driver, $target: nothing to edit"
    "$heddle" asm "$dir/other.sass" -o "$dir/other.cubin" || fail "calls of the driver, $target: does not assemble"
    "$heddle" prove --no-launches "$dir/driver.ptx" "$dir/other.cubin" > "$dir/out"
    grep -q '^all .* 0 refuted 0 unknown' "$dir/out" && fail "calls of the driver, $target: proved with what registers had before"
done

# Inside two loops an address that only the outer one moves: the same in all rounds of the inner one
cat > "$dir/nested.ptx" <<'P'
.version 8.1
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n, .param .u32 m)
{
    .reg .pred %p<3>; .reg .f32 %f<3>; .reg .b32 %r<6>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m]; mov.u32 %r3, %tid.x; mov.f32 %f1, 0f00000000;
A:  mov.u32 %r4, %r1; mul.wide.s32 %d2, %r3, 2; mov.u64 %d3, %d1;
B:  add.s64 %d4, %d3, %d2; ld.global.f32 %f2, [%d4]; add.f32 %f1, %f1, %f2; ld.global.f32 %f2, [%d4+4];
    add.f32 %f1, %f1, %f2; add.s64 %d3, %d3, 8; add.s32 %r4, %r4, -4; setp.ne.s32 %p1, %r4, 0; @%p1 bra B;
    add.s32 %r3, %r3, 128; setp.lt.s32 %p2, %r3, %r2; @%p2 bra A;
    st.global.f32 [%d1+4096], %f1; ret;
}
P
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    "$heddle" prove -t $target "$dir/nested.ptx" > "$dir/out" || fail "nested loops, $target: $(tail -1 "$dir/out")"
done

# What holds inside loops: proved, and not when a predicate, an operand of a select or a store is another
loops=$(dirname "$0")/loops.ptx
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    for level in 0 2; do
        "$heddle" prove -t $target -O$level "$loops" > "$dir/out" || fail "loops, $target -O$level: $(tail -3 "$dir/out")"
    done
done
"$heddle" compile -t sm_80 "$loops" -o "$dir/k.cubin" || fail "loops"
for site in $("$heddle" mutate "$dir/k.cubin" --list --class=flip-predicate,swap-select,hoist-store | sed 's/ .*//' | grep :); do
    mine || continue
    "$heddle" mutate "$dir/k.cubin" --apply "$site" -o "$dir/m.cubin" > /dev/null || fail "loops: cannot make $site"
    "$heddle" prove --no-launches "$loops" "$dir/m.cubin" > "$dir/out" && fail "loops, $site: proved"
done

# Stores and barriers of both sides of a branch, in one order or the other
cat > "$dir/sides.ptx" <<'P'
.version 8.1
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u8 q) {
  .reg .b32 %r<40>; .reg .b64 %rd<15>; .reg .b16 %rs<3>; .reg .pred %p<5>;
  .shared .align 4 .b8 tmp[512];
 ld.param.s8  %rs1, [q];
 ld.param.u64  %rd3, [a];
 ld.param.u64  %rd2, [o];
 mov.u32  %r1, %tid.x;
 cvta.to.global.u64  %rd4, %rd3;
 ld.global.v2.u32  {%r33, %r30}, [%rd4];
 shl.b32  %r26, %r1, 2;
 mov.u32  %r27, tmp;
 add.s32  %r6, %r27, %r26;
 setp.eq.s16  %p1, %rs1, 0;
 @%p1 bra  $L__BB0_3;

 st.shared.u32  [%r6+256], %r30;
 bar.sync  0;
 setp.eq.s32  %p2, %r1, 0;
 @%p2 bra  $L__BB0_5;

 ld.shared.u32  %r28, [%r6+252];
 sub.s32  %r33, %r33, %r28;
 bra.uni  $L__BB0_5;

$L__BB0_3:
 st.shared.u32  [%r6], %r33;
 bar.sync  0;
 setp.eq.s32  %p3, %r1, 63;
 @%p3 bra  $L__BB0_5;
 ld.shared.u32  %r29, [%r6+4];
 sub.s32  %r30, %r30, %r29;
$L__BB0_5:
 cvta.to.global.u64  %rd7, %rd2;
 st.global.v2.u32  [%rd7], {%r33, %r30};
 ret;
}
P
pick bru1 sm_75 sm_80 sm_90
for target in $picked; do
    "$heddle" prove -t $target "$dir/sides.ptx" > "$dir/out" || fail "two sides, $target: $(tail -1 "$dir/out")"
    sed 's/%r6+256/%r6/' "$dir/sides.ptx" > "$dir/other.ptx" # another place on one side
    "$heddle" compile --no-ptx -t $target "$dir/other.ptx" -o "$dir/other.cubin" || fail "two sides: not compiled"
    "$heddle" prove --no-launches "$dir/sides.ptx" "$dir/other.cubin" > "$dir/out" && fail "two sides, $target: a wrong store is proved"
done

# min and max of f64: which zero, which NaN
cat > "$dir/wide.ptx" <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .f64 a, .param .f64 b)
{
    .reg .f64 %f<5>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.param.f64 %f1, [a]; ld.param.f64 %f2, [b];
    max.f64 %f3, %f1, %f2; st.global.f64 [%d], %f3; min.f64 %f4, %f1, %f2; st.global.f64 [%d+8], %f4; ret;
}
P
for level in 0 2; do
    "$heddle" prove -O$level "$dir/wide.ptx" > "$dir/out" || fail "min and max of f64, -O$level: $(tail -1 "$dir/out")"
done
"$heddle" compile -t sm_80 "$dir/wide.ptx" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" -o "$dir/k.sass" || fail "wide"
for wrong in 's/DSETP.GT/DSETP.LT/' 's/DSETP.GT/DSETP.GTU/' 's/DSETP.LT/DSETP.GT/' 's/DSETP.NAN/DSETP.NUM/' 's/DSETP.EQ/DSETP.NE/' \
    's/RZ, 0xc0/RZ, 0xfc/' 's/RZ, 0xfc/RZ, 0xc0/' 's/DADD \(R[0-9]*\), \(R[0-9]*\), -0.0/DADD \1, \2, 0.0/'; do
    sed "$wrong" "$dir/k.sass" > "$dir/e.sass"
    cmp -s "$dir/k.sass" "$dir/e.sass" && fail "$wrong: nothing to edit"
    "$heddle" asm "$dir/e.sass" -o "$dir/e.cubin" || fail "$wrong: does not assemble"
    "$heddle" prove "$dir/wide.ptx" "$dir/e.cubin" > "$dir/out" && fail "$wrong: proved"
done

"$heddle" compile "$samples/guards.ptx" -o "$dir/k.cubin" || exit 1
refuted=0 mutants=0 all=0
for site in $("$heddle" mutate "$dir/k.cubin" --list --class=flip-predicate,swap-select,hoist-store | sed 's/ .*//' | grep :); do
    all=$((all + 1))
    mine || continue
    "$heddle" mutate "$dir/k.cubin" --apply "$site" -o "$dir/m.cubin" > /dev/null || fail "cannot make $site"
    "$heddle" prove "$samples/guards.ptx" "$dir/m.cubin" > "$dir/out"
    status=$?
    mutants=$((mutants + 1))
    [ $status = 4 ] && refuted=$((refuted + 1))
    grep -q '^all .* 0 refuted 0 unknown' "$dir/out" && fail "$site: proved"
done
echo "$refuted of $mutants mutants refuted"
# of all, also where only a part is tried: one of seven is not a share
[ $(((mutants - refuted) * 100)) -le $((all * 5)) ] || fail "less than 95 % of the mutants are refuted"

# edits of the assembly text: a wrong table, a wrong offset, a dropped copy
"$heddle" disasm --sections "$dir/k.cubin" -o "$dir/k.sass" || exit 1
subject=$samples/guards.ptx
edit() { # name, sed script; of the last disassembly, which came from $subject
    sed "$2" "$dir/k.sass" > "$dir/e.sass"
    cmp -s "$dir/k.sass" "$dir/e.sass" && fail "$1: nothing to edit"
    "$heddle" asm "$dir/e.sass" -o "$dir/e.cubin" || fail "$1: does not assemble"
    "$heddle" prove "$subject" "$dir/e.cubin" > "$dir/out"
    status=$?
    [ $status = 4 ] || fail "$1: status $status: $(tail -3 "$dir/out")"
}
edit "wrong table" 's/0x5a5a, RZ, 0x3c/0x5a5a, RZ, 0xfc/'
edit "wrong offset" 's/\(\[R[0-9]*\.64+0x\)4\]/\18]/'
edit "lost constant" 's/MOV \(R[0-9]*\), 0x11 /MOV \1, 0x12 /'

# a WARPSYNC that waits for the lanes of another register; the right one those that a ballot found
cat > "$dir/mask.ptx" <<'P'
.version 8.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;
    mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4;
    ld.param.u64 %d2, [in]; add.u64 %d2, %d2, %d1; ld.global.u32 %r2, [%d2];
    ld.param.u64 %d3, [out]; add.u64 %d3, %d3, %d1;
    setp.gt.s32 %p, %r2, 0; vote.sync.ballot.b32 %r3, %p, -1;
    @!%p bra NONE;
    shfl.sync.bfly.b32 %r4, %r2, 1, 31, %r3; st.global.u32 [%d3], %r4;
NONE: ret;
}
P
subject=$dir/mask.ptx
pick bru1 sm_80 sm_90
for target in $picked; do
    "$heddle" compile -t $target "$subject" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" -o "$dir/k.sass" || fail "mask -t $target"
    "$heddle" prove "$subject" "$dir/k.cubin" > "$dir/out" && grep -q '^all .* 0 refuted 0 unknown' "$dir/out" ||
        fail "mask -t $target: $(tail -3 "$dir/out")"
    edit "mask of a WARPSYNC, -t $target" 's/\(WARPSYNC[.A-Z]*\) R[0-9]* /\1 R0 /'
done

# forms of several instructions: proved, and not when one of them is another
forms=$(dirname "$0")/forms.ptx
for level in 0 1 2 3; do
    "$heddle" prove -O$level "$forms" > "$dir/out" && grep -q '^all .* 0 refuted 0 unknown' "$dir/out" ||
        fail "forms -O$level: $(tail -3 "$dir/out")"
done
"$heddle" compile "$forms" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" -o "$dir/k.sass" || fail "forms"
subject=$forms
edit "sign of the sum" 's/0x80000000, \(R[0-9]*\), 0x48/0x80000000, \1, 0xc8/'
edit "no sign of a NaN" 's/FSETP.NAN/FSETP.NUM/'
edit "no number of multiprocessors" 's/c.0x0..0x10c./c[0x0][0x110]/'
edit "the number of multiprocessors for an environment register" 's/c.0x0..0x88./c[0x0][0x10c]/'
edit "another rounding constant" 's/0x1000, RZ/0x1000000, RZ/'
edit "32 bits of a counter of 64" 's/CS2R \(R[0-9]*\), SR_PM5/CS2R.32 \1, SR_PM5/'

# another counter: not proved, nor refuted, since counters are 0 here
sed 's/SR_PM7/SR_PM6/' "$dir/k.sass" > "$dir/e.sass"
cmp -s "$dir/k.sass" "$dir/e.sass" && fail "another counter: nothing to edit"
"$heddle" asm "$dir/e.sass" -o "$dir/e.cubin" || fail "another counter: does not assemble"
"$heddle" prove "$forms" "$dir/e.cubin" > "$dir/out"
[ $? = 5 ] && grep -q '^counters: unknown' "$dir/out" || fail "another counter: $(tail -3 "$dir/out")"

# a jump table with two entries swapped
for target in bru1 sm_90; do
    sed 's/first: .branchtargets A0, A1, A2, A1/first: .branchtargets A0, A2, A1, A1/' "$forms" > "$dir/e.ptx"
    "$heddle" compile -t $target "$dir/e.ptx" -o "$dir/e.cubin" || fail "table"
    "$heddle" prove "$forms" "$dir/e.cubin" --kernel tables > "$dir/out"
    [ $? = 4 ] || fail "table -t $target: $(tail -3 "$dir/out")"
done

# halves: proved, and not when a half, a sign or a modifier is another
halves=$(dirname "$0")/halves.ptx
pick bru1 sm_80 sm_90
for target in $picked; do
    for level in 0 2; do
        "$heddle" prove -t $target -O$level "$halves" > "$dir/out" && grep -q '^all .* 0 refuted 0 unknown' "$dir/out" ||
            fail "halves -t $target -O$level: $(tail -3 "$dir/out")"
    done
done
"$heddle" compile -t sm_80 "$halves" -o "$dir/k.cubin" && "$heddle" disasm --sections "$dir/k.cubin" -o "$dir/k.sass" || fail "halves"
subject=$halves
edit "sum for a difference" 's/HADD2 \(R[0-9]*\), \(R[0-9]*\), -/HADD2 \1, \2, /'
edit "not flushed" 's/HMUL2.FTZ/HMUL2/'
edit "f16 for bf16" 's/HFMA2.BF16_V2.RELU/HFMA2.RELU/'
edit "negative results kept" 's/HFMA2.BF16_V2.RELU/HFMA2.BF16_V2/'
edit "low half twice" 's/HFMA2 \(R[0-9]*\), \(R[0-9]*\), /HFMA2 \1, \2.H0_H0, /'
edit "minimum for maximum" 's/\(HMNMX2.BF16_V2 .*\), !PT/\1, PT/'
edit "a NaN dropped" 's/HMNMX2.NAN/HMNMX2/'
edit "not saturated" 's/HADD2.SAT/HADD2/'
edit "ordered comparison" 's/HSETP2.GTU/HSETP2.GT/'

# a directory: every kernel of it, and what is known is not proved again unless an option or the file changed
mkdir "$dir/many" && cp "$samples/guards.ptx" "$samples/bits.ptx" "$dir/many/"
many() { # expected status, a text of the table, options
    expected=$1 text=$2
    shift 2
    "$heddle" prove "$dir/many" --jobs 2 --state "$dir/state" "$@" > "$dir/out" 2>&1
    status=$?
    [ $status = "$expected" ] && grep -q "$text" "$dir/out" || fail "directory $*: status $status: $(cat "$dir/out")"
}
many 0 '2 files, 2 kernels: 2 proved'
sed -i 's/"proved"/"refuted"/' "$dir/state"
many 4 '2 kernels: 2 refuted' # from the file of results
many 0 '2 kernels: 2 proved' -O1
many 5 '2 kernels: 2 unknown' --budget 20
grep -q 'the budget of a function' "$dir/out" || fail "the budget is not named: $(cat "$dir/out")"
"$heddle" validate "$dir/many" --launch auto --state "$dir/state" > "$dir/out" 2>&1
grep -q 'refuted' "$dir/out" && fail "validate takes what prove found"
"$heddle" prove "$samples/sha256.ptx" --memory-limit 1 > "$dir/out"
[ $? = 5 ] && grep -q 'the memory limit of a function' "$dir/out" || fail "memory limit: $(cat "$dir/out")"

# every kernel has a layout of its shared memory of its own; a function of both finds its variables in both
shared=$(dirname "$0")/shared.ptx
pick bru1 sm_80 sm_90
for target in $picked; do
    "$heddle" compile -t $target "$shared" -o "$dir/k.cubin" || fail "shared memory of kernels, $target"
    "$heddle" prove "$shared" "$dir/k.cubin" > "$dir/out" || fail "shared, $target: $(tail -3 "$dir/out")"
    "$heddle" validate --launch auto "$shared" "$dir/k.cubin" > "$dir/out" || fail "shared: $(cat "$dir/out")"
done
ptxas=$("$(dirname "$0")/../../find_nvidia.sh" ptxas)
if [ -x "$ptxas" ]; then
    "$ptxas" -arch=sm_75 "$shared" -o "$dir/k.cubin" || fail "ptxas"
    "$heddle" validate --launch auto "$shared" "$dir/k.cubin" > "$dir/out" || fail "ptxas's: $(cat "$dir/out")"
fi

# what a proof rests on is named, for the operations that need it and for no other
cat > "$dir/rests.ptx" <<'P'
.version 8.1
.target sm_80
.address_size 64
.visible .entry plain(.param .u64 p)
{
    .reg .b32 %r<3>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d]; add.u32 %r2, %r1, 5; st.global.u32 [%d], %r2; ret;
}
.visible .entry lanes(.param .u64 p)
{
    .reg .b32 %r<12>; .reg .b64 %d;
    ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d]; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;
    mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r4, %r5}, {%r1, %r2, %r1, %r2}, {%r1, %r2}, {%r1, %r2};
    bar.warp.sync -1; st.global.u32 [%d], %r4; ret;
}
.visible .entry steps(.param .u64 p)
{
    .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .f64 %g; .reg .b64 %d; .shared .align 8 .f64 sum;
    ld.param.u64 %d, [p]; ld.global.u32 %r1, [%d]; ld.global.f32 %f1, [%d+4]; ld.global.f64 %g, [%d+8];
    ld.global.u32 %r2, [%d+16]; rem.u32 %r3, %r1, %r2; sqrt.rn.f32 %f2, %f1; sin.approx.f32 %f3, %f1;
    sqrt.rn.f64 %g, %g; red.shared.add.f64 [sum], %g; st.global.u32 [%d], %r3; st.global.f32 [%d+4], %f2; st.global.f32 [%d+8], %f3; ret;
}
P
"$heddle" prove "$dir/rests.ptx" > "$dir/out" || fail "rests: status $?: $(tail -5 "$dir/out")"
sed -n 's/^\([a-z]*: \(proved\|assumes\).*\)/\1/p' "$dir/out" | sed 's/\(: [a-z -]*\): [^:]*$/\1/' > "$dir/says"
diff - "$dir/says" << 'P' || fail "rests: not what it rests on"
lanes: assumes of the program, shfl (PTX line 12): lanes of the mask
lanes: assumes of the program, mma (PTX line 13): whole warp
lanes: assumes of the program, bar (PTX line 14): lanes of the mask
steps: assumes, rem (PTX line 20): library
steps: assumes, sqrt (PTX line 20): library
steps: assumes, sin (PTX line 20): approximation
steps: assumes, red (PTX line 21): compare-and-swap ends
plain: proved
lanes: proved
steps: proved under assumptions
P
"$heddle" prove "$dir/rests.ptx" --kernel steps --json | tr -d '\t\n' > "$dir/out" && grep -q '"of":"compiler","name":"library","operation":"rem","line":20' "$dir/out" &&
    grep -q '"verdict":"proved under assumptions"' "$dir/out" || fail "rests, --json"

# A mask that is a ballot about the branch needs no gathering; about another one, or on the other side, it does
cat > "$dir/ballot.ptx" <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<3>;
    mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 11; and.b32 %r2, %r1, 2; setp.eq.u32 %p2, %r2, 0;
    vote.sync.ballot.b32 %r3, %p1, 0xffffffff;
    @%p1 bra A;
    not.b32 %r4, %r3; vote.sync.ballot.b32 %r5, %p2, %r4; add.u32 %r5, %r5, 1; bra B;
A:  vote.sync.ballot.b32 %r5, !%p2, %r3;
B:  ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r5; exit;
}
P
"$heddle" prove -t sm_80 "$dir/ballot.ptx" > "$dir/out" || fail "ballot: $(tail -1 "$dir/out")"
"$heddle" compile -t sm_80 --emit=asm "$dir/ballot.ptx" -o "$dir/ballot.sass"
for other in p2:P1 !p1:!P0; do
    sed "s/@%p1 bra/@$(echo "${other%:*}" | sed 's/p/%p/') bra/" "$dir/ballot.ptx" > "$dir/other.ptx"
    sed "s/@P0 BRA/@${other#*:} BRA/" "$dir/ballot.sass" > "$dir/other.sass"
    "$heddle" asm "$dir/other.sass" -o "$dir/other.cubin" && "$heddle" prove -t sm_80 "$dir/other.ptx" "$dir/other.cubin" > "$dir/out"
    [ $? = 5 ] && grep -q 'different masks may wait' "$dir/out" || fail "ballot for $other: $(tail -1 "$dir/out")"
done

# Lanes that wait for others which print do so in a barrier that the driver's functions keep; one of the first six they may use
cat > "$dir/driver.ptx" <<'P'
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[4] = {104, 105, 10, 0};
.visible .entry k(.param .u64 out)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 11; mov.u32 %r2, 7;
    @%p bra B;
    mov.u64 %d2, format; cvta.global.u64 %d2, %d2; mov.u64 %d3, 0;
    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d2; st.param.b64 [a], %d3; call (r), vprintf, (f, a);
      ld.param.b32 %r2, [r]; }
B:  mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
L:  atom.global.add.u32 %r3, [%d1], %r2; setp.lt.u32 %p, %r3, 1000; @%p bra L; ret;
}
P
pick bru1 sm_75 sm_90
for target in $picked; do
    "$heddle" prove -t $target "$dir/driver.ptx" > "$dir/out" || fail "print in a branch, $target: $(tail -1 "$dir/out")"
    "$heddle" compile -t $target --emit=asm "$dir/driver.ptx" -o "$dir/driver.out"
    sed 's/ B6/ B2/' "$dir/driver.out" > "$dir/driver.sass"
    "$heddle" asm "$dir/driver.sass" -o "$dir/driver.cubin" && "$heddle" prove "$dir/driver.ptx" "$dir/driver.cubin" > "$dir/out"
    [ $? = 5 ] && grep -q 'barriers set that it may use' "$dir/out" || fail "print with B2, $target: $(tail -1 "$dir/out")"
done

# Accesses that are stronger than the PTX's weak ones are as good, in any order; not where the PTX has strong ones, too
cat > "$dir/strong.ptx" <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<8>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 16;
    add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;
    ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; add.u32 %r4, %r2, %r3; ld.u32 %r5, [%d1+4];
    add.u32 %r4, %r4, %r5; st.global.u32 [%d2+8], %r4; ret;
}
P
for target in sm_75 sm_80; do
    sed "s/target sm_80/target $target/; s/ld.global.u32 %r2/ld.volatile.global.u32 %r2/" "$dir/strong.ptx" > "$dir/watched.ptx"
    sed -i "s/target sm_80/target $target/" "$dir/strong.ptx"
    swap='/ld.*global.u32 %r2/s/\(ld.*%r2, .%d1.;\) \(ld.*%r3, .%d1+4.;\)/\2 \1/'
    sed "s/ld\.global/ld.relaxed.gpu.global/g; s/ld\.u32/ld.relaxed.gpu.u32/; s/st\.global/st.relaxed.gpu.global/; $swap" \
        "$dir/strong.ptx" > "$dir/stronger.ptx"
    "$heddle" compile -t $target "$dir/stronger.ptx" -o "$dir/stronger.cubin" && "$heddle" disasm "$dir/stronger.cubin" > "$dir/out"
    [ "$(grep -c STRONG "$dir/out")" = 4 ] && "$heddle" prove --no-map "$dir/strong.ptx" "$dir/stronger.cubin" > "$dir/out" ||
        fail "stronger accesses, $target: $(tail -1 "$dir/out")"
    "$heddle" prove --no-map "$dir/watched.ptx" "$dir/stronger.cubin" > "$dir/out"
    [ $? = 5 ] || fail "stronger accesses beside a volatile one, $target: $(tail -1 "$dir/out")"
    "$heddle" compile -t $target "$dir/strong.ptx" -o "$dir/weak.cubin" && "$heddle" prove --no-map "$dir/stronger.ptx" "$dir/weak.cubin" > "$dir/out"
    [ $? = 5 ] || fail "weaker accesses, $target: $(tail -1 "$dir/out")"
done

"$heddle" prove "$samples/guards.ptx" --json > "$dir/out" && grep -q '"proved"' "$dir/out" || fail "--json"
"$heddle" prove "$samples/guards.ptx" --kernel none > "$dir/out" 2>&1
[ $? = 1 ] || fail "an unknown kernel"
exit $failed
