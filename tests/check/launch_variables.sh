#!/bin/bash
# Variables of a module in launch files: a buffer of a variable's name is its memory, on the interpreter and the machine; validate
# --launch auto fills constants that have no values. Expected values are worked out by hand.
#   launch_variables.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -u
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

cat >k.ptx <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 weights[16];
.const .u32 limit;
.global .u32 shift = 1000;
.visible .entry k(.param .u64 out)
{
.reg .b64 %a, %o, %c;
.reg .b32 %i, %n, %x, %y;
.reg .pred %p;
mov.u32 %i, %tid.x; ld.const.u32 %n, [limit]; setp.ge.u32 %p, %i, %n; @%p bra END;
and.b32 %x, %i, 3; mul.wide.u32 %o, %x, 4; mov.u64 %c, weights; add.s64 %c, %c, %o; ld.const.u32 %x, [%c];
mul.lo.s32 %x, %x, %i; ld.global.u32 %y, [shift]; add.s32 %x, %x, %y;
ld.param.u64 %a, [out]; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; st.global.u32 [%a], %x;
END: ret;
}
PTX
# launch FILE SHIFT VALUES: of the variable shift, if there is one, and of out
launch() {
    cat >"$1" <<JSON
{"module": "k.ptx",
 "buffers": {"out": {"type": "u32", "count": 8}, "weights": {"type": "u32", "values": [2, 3, 5, 7]},
             "limit": {"type": "u32", "values": [6]}$2},
 "launches": [{"kernel": "k", "grid": [1], "block": [32], "args": ["out"]}],
 "checks": [{"buffer": "out", "values": [$3]}]}
JSON
}
launch own.json '' '1000, 1003, 1010, 1021, 1008, 1015, 0, 0'
launch given.json ', "shift": {"type": "u32", "values": [4]}' '4, 7, 14, 25, 12, 19, 0, 0'
launch wrong.json '' '1000, 1003, 1010, 1021, 1008, 1015, 1, 0'
launch small.json ', "shift": {"type": "u16", "values": [4]}' '0, 0, 0, 0, 0, 0, 0, 0'
"$heddle" compile k.ptx -o k.cubin || fail "k.ptx does not compile"
for file in own given; do
    for what in "run k.ptx" "run k.cubin" "validate k.ptx k.cubin"; do
        "$heddle" $what --launch $file.json >report 2>&1 || { fail "$what --launch $file.json"; cat report; }
    done
done
"$heddle" run k.ptx --launch wrong.json >report 2>&1
[ $? -eq 4 ] || fail "a check that does not hold"
for what in "run k.ptx" "run k.cubin" "validate k.ptx k.cubin"; do
    "$heddle" $what --launch small.json >report 2>&1
    [ $? -eq 1 ] && grep -q "E0515.*shift.*smaller" report || { fail "$what: memory that is too small"; cat report; }
done
# between launches constants get other values: 2 * 0 + 1000 ... and then 11 * 0 + 1000 ...; five and three threads
cat >copy.json <<'JSON'
{"buffers": {"out": {"type": "u32", "count": 8}, "weights": {"type": "u32", "values": [2, 3, 5, 7]}, "limit": {"type": "u32", "values": [5]},
             "first": {"type": "u32", "count": 8}, "others": {"type": "u32", "values": [11, 13, 17, 19, 23]}, "less": {"type": "u32", "values": [3]}},
 "launches": [{"grid": [1], "block": [32], "args": ["out"]},
              {"grid": [1], "block": [32], "args": ["out"], "copy": {"first": "out", "weights": "others", "limit": "less"}}],
 "checks": [{"buffer": "first", "values": [1000, 1003, 1010, 1021, 1008, 0, 0, 0]},
            {"buffer": "out", "values": [1000, 1013, 1034, 1021, 1008, 0, 0, 0]}]}
JSON
for what in "run k.ptx" "run k.cubin" "validate k.ptx k.cubin"; do
    "$heddle" $what --launch copy.json >report 2>&1 || { fail "$what --launch copy.json"; cat report; }
done
for wrong in '"limit": "none"' '"none": "less"' '"limit": 3' '"limit": "limit"'; do
    sed "s/\"limit\": \"less\"/$wrong/" copy.json >copied.json
    "$heddle" run k.ptx --launch copied.json >report 2>&1
    [ $? -eq 1 ] && grep -q '"copy" must be an object of buffers' report || { fail "copy of $wrong"; cat report; }
done
# without constants it would do nothing, in every launch
"$heddle" validate k.ptx --launch auto --show-launch auto.json >report
grep -q "^k: equal" report || { fail "k is not equal"; cat report; }
"$heddle" validate k.ptx --launch auto.json >report || { fail "the launches shown"; cat report; }
# ... and they are not the same in all of them
tr -d ' \t\n' <auto.json | grep -q '"copy":{"[a-z]*":"k.[0-9]*.[a-z]*"' || fail "constants are the same in all launches"
# what nobody defines is a variable of a whole program, with a warning where it is named; an object leaves it to a linker
sed 's/^.const .u32 limit;/.extern .const .u32 limit; .extern .global .u32 unnamed[4];/; s/^.global .u32 shift = 1000;/.extern .global .u32 shift;/' k.ptx >extern.ptx
for target in bru1 sm_80; do
    "$heddle" compile -t $target extern.ptx -o extern.cubin 2>err && [ "$(grep -c 'warning W0709' err)" = 2 ] || { fail "extern.ptx"; cat err; }
    grep -q 'W0709.*unnamed' err && fail "a warning of a variable that nobody names"
    for what in "run extern.cubin --launch given.json" "validate extern.ptx extern.cubin --launch given.json" "validate extern.ptx extern.cubin --launch auto"; do
        "$heddle" $what >report 2>&1 || { fail "$target: $what"; cat report; }
    done
done
"$heddle" compile -c extern.ptx -o extern.o 2>err && ! grep -q W0709 err || { fail "compile -c"; cat err; }
sed 's/shift;/shift[];/' extern.ptx >unsized.ptx
"$heddle" compile unsized.ptx -o unsized.cubin 2>err
[ $? -eq 1 ] && grep -q 'shift' err || { fail "an array without a size that nobody defines"; cat err; }
# a parameter of the name of a variable is not the variable
sed 's/.param .u64 out/.param .u64 shift/; s/\[out\]/[shift]/; /.global .u32 shift/d; s/\[shift\]; add.s32/[other]; add.s32/; s/^.const .u32 limit;/.const .u32 limit; .global .u32 other = 1000; .global .b8 shift[100000];/' k.ptx >named.ptx
"$heddle" validate named.ptx --launch auto >report
grep -q "^k: equal" report || { fail "a parameter of a variable's name"; cat report; }
exit $failed
