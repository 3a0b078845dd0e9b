#!/bin/sh
# with_ptxas.sh HEDDLE DIR: heddle validate --with-ptxas, with programs that stand for ptxas: they take its arguments and
# let HEDDLE make the code, right, wrong, or none. What is reported, which status, and what a bundle holds.
# SPDX-License-Identifier: MIT
heddle=$1
dir=$2
rm -rf "$dir"
mkdir -p "$dir/k" && cd "$dir" || exit 1
fail() {
    echo "with_ptxas.sh: $*" >&2
    exit 1
}

# Arguments as of ptxas; EDIT is a sed script for the disassembly.
stand_in() { # NAME EDIT
    cat >"$1" <<END
#!/bin/sh
[ "\$1" != --version ] || { echo "Build 1"; exit 0; }
arch=\${1#-arch=}
while [ "\$1" != -o ]; do in=\$last; last=\$1; shift; done
work=\$(mktemp -d)
trap 'rm -rf "\$work"' EXIT
$heddle compile -t "\$arch" --no-map --no-ptx "\$last" -o "\$work/a.cubin" || exit 255
$heddle disasm --sections "\$work/a.cubin" | sed '$2' >"\$work/a.sass" && $heddle asm "\$work/a.sass" -o "\$work/b.cubin" || exit 255
cat "\$work/b.cubin" >"\$2"
END
    chmod +x "$1"
}
stand_in right ''
stand_in wrong '/ISETP\.LT/s/ISETP\.LT/ISETP.LE/'
printf '#!/bin/sh\necho "ptxas $3, line 7; error   : Arguments mismatch for instruction '"'add'"'" >&2\nexit 255\n' >refuses
printf '#!/bin/sh\nkill -SEGV $$\n' >dies
printf '#!/bin/sh\nexit 0\n' >silent
printf '#!/bin/sh\nprintf "error: \\\\001\\\\377x" >&2\nexit 255\n' >garbles
printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ntruncate -s 100G "$2"\n' >floods
chmod +x refuses dies silent garbles floods

# less: 1 where x < 7, and much that has nothing to do with it.
cat >k/less.ptx <<'END'
.version 7.0
.target sm_80
.address_size 64
.visible .entry less(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<9>;
    .reg .b64 %d<6>;
    .reg .pred %p<3>;
    ld.param.u64 %d0, [in];
    ld.param.u64 %d1, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d2, %r0, 8;
    mul.wide.u32 %d3, %r0, 4;
    add.s64 %d0, %d0, %d3;
    add.s64 %d1, %d1, %d2;
    ld.global.u32 %r1, [%d0];
    mul.lo.u32 %r2, %r1, 77;
    xor.b32 %r2, %r2, 12345;
    st.global.u32 [%d1+4], %r2;
    and.b32 %r1, %r1, 15;
    setp.lt.s32 %p0, %r1, 7;
    selp.u32 %r3, 1, 0, %p0;
    st.global.u32 [%d1], %r3;
    ret;
}
END
cat >k/less.json <<'END'
{"buffers": {"in": {"type": "u32", "values": [6, 7, 8, 23]}, "out": {"type": "u32", "count": 8}},
 "launches": [{"grid": [1], "block": [4], "args": ["in", "out"]}]}
END

run() { # WANTED STATUS, ARGUMENTS
    wanted=$1
    shift
    "$heddle" validate "$@" >out 2>err
    status=$?
    [ $status -eq "$wanted" ] || { cat out err; fail "status $status, not $wanted: validate $*"; }
}
says() { grep -q -e "$1" out || { cat out; fail "nothing says '$1'"; }; }

run 0 k --with-ptxas=-O1,-O3 --ptxas ./right
says '^heddle  *less.ptx:less.json  *equal'
says '^ptxas -O1  *less.ptx:less.json  *equal'
says '^1 files, 3 results: 3 equal'
run 0 k/less.ptx --launch auto --with-ptxas --ptxas ./right
says '^ptxas -O3  *less.ptx:less  *equal'
PTXAS=$PWD/right run 0 k/less.ptx --launch k/less.json --with-ptxas --json
says '"binary":.*"ptxas -O3"'
# a folder in $PATH of that name is no program
mkdir -p first/ptxas second && ln -s ../right second/ptxas
PTXAS= PATH=$PWD/first:$PWD/second:$PATH run 0 k --with-ptxas
says '^ptxas -O3  *less.ptx:less.json  *equal'

# A launch file without its data.
sed 's/"values": \[.*23\]/"count": 4, "init": "@in.bin"/' k/less.json >less.json
cp k/less.ptx less.ptx
run 0 less.ptx --with-ptxas --ptxas ./right
says 'equal .*less.json lacks in.bin: launches inferred'

# Wrong code: the bundle shows it without what it does without.
run 4 k --with-ptxas --ptxas ./wrong --bundles bundles
says '^heddle  *less.ptx:less.json  *equal'
says '^ptxas -O3  *less.ptx:less.json  *differs .*bundle bundles/less-less.json-ptxas-O3'
says '^k/less.ptx: ptxas -O3: less.json: differs'
cd bundles/less-less.json-ptxas-O3 || exit 1
cmp -s original.ptx ../../k/less.ptx || fail "original.ptx is another file"
grep -q 'setp.lt' kernel.ptx || fail "kernel.ptx lost what differs"
! grep -q 'mul.lo\|xor' kernel.ptx || fail "kernel.ptx has what the difference does without"
grep -q 'last stored by' report.txt && grep -q 'ptxas -arch=sm_80 -O3 kernel.ptx (Build 1)' report.txt ||
    fail "report.txt says too little"
"$heddle" validate kernel.ptx ptxas-O3.cubin --launch launch.json >out
[ $? -eq 4 ] || fail "the bundle does not show the difference"
"$heddle" validate kernel.ptx heddle.cubin --launch launch.json >out || fail "Heddle's own code in the bundle differs"
cd ../..

# Results of a state file have no bundles: with --bundles they are looked for again.
run 4 k --with-ptxas --ptxas ./wrong --state state
run 4 k --with-ptxas --ptxas ./wrong --state state --bundles later
says 'bundle later/less-less.json-ptxas-O3'
# Two files of one name have a folder each; without one the note says why.
mkdir -p two/x two/y && cp k/less.* two/x && cp k/less.* two/y
run 4 two --with-ptxas --ptxas ./wrong --bundles both
[ -f both/less-less.json-ptxas-O3/report.txt ] && [ -f both/less-less.json-ptxas-O3-2/report.txt ] ||
    fail "two files of one name: $(ls both)"
run 4 k --with-ptxas --ptxas ./wrong --bundles out
says '  no bundle in out: Not a directory$'

# Without a result there is a reason.
run 1 k --with-ptxas --ptxas ./refuses
says "not compiled .*ptxas: line 7: Arguments mismatch for instruction 'add'"
run 1 k --with-ptxas --ptxas ./dies
says 'not compiled .*ptxas ended by signal 11'
run 1 k --with-ptxas --ptxas ./silent
says 'not compiled '
run 1 k --with-ptxas --ptxas ./garbles
says 'not compiled .*error: ??x$'
run 1 k --with-ptxas --ptxas ./floods
says 'not compiled '
run 5 k --with-ptxas --ptxas ./missing
grep -q 'there is no ptxas ./missing' err || fail "a missing ptxas is not named"

# As many lists as there is room for, and one more; many words in one.
run 0 k --with-ptxas=-O0,-O1,-O2,-O3,-O0,-O1,-O2,-O3 --ptxas ./right
says '^1 files, 9 results: 9 equal'
run 2 k --with-ptxas=-O0,-O1,-O2,-O3,-O0,-O1,-O2,-O3,-O0 --ptxas ./right
words=$(for i in 1 2 3 4 5 6 7 8 9; do printf -- '-a%s -b%s -c%s -d%s -e%s ' $i $i $i $i $i; done)
run 0 k --with-ptxas="$words-O3" --ptxas ./right
says '^ptxas -a1 .*-e9 -O3  *less.ptx:less.json  *equal'

# A .target that no machine here has: refused by all, with the reason. No code of ptxas's for bru1, no input.
sed 's/version 7.0/version 8.6/; s/sm_80/sm_100/' k/less.ptx >new.ptx
run 1 new.ptx --with-ptxas --ptxas ./right
says '^heddle  *new.ptx:less  *not compiled  *.*PTX of .target sm_100 cannot be compiled for sm_90'
says '^ptxas -O3  *new.ptx:less  *not compiled'
run 2 k -t bru1 --with-ptxas --ptxas ./right
run 1 --with-ptxas --ptxas ./right
grep -q 'no input file' err || fail "a missing input is not named"

# What PTX leaves open excuses a difference of another compiler's where it shows in what differs: bits of position above 255, what was
# never written; and nothing beside it. An mbarrier that waits for nobody leaves everything open.
open() { # VERDICT NAME STATEMENT
    sed "s/setp.lt.s32 %p0, %r1, 7;/$3 setp.lt.s32 %p0, %r1, 7;/; s/less(/$2(/" k/less.ptx >$2.ptx
    cp k/less.json $2.json
    run 4 $2.ptx --with-ptxas --ptxas ./wrong
    says "^ptxas -O3  *$2.ptx:$2.json  *$1 "
}
field='mov.u32 %r4, 4096; bfe.u32 %r4, %r1, %r4, 3; not.b32 %r4, %r4; and.b32 %r4, %r4, 1;' none='and.b32 %r4, %r5, 1;'
open undefined position "$field sub.u32 %r1, %r1, %r4;"
says 'memory differs, but PTX leaves it open'
open differs beside_position "$field add.u32 %r1, %r1, %r4; sub.u32 %r1, %r1, %r4;"
open undefined unwritten "$none sub.u32 %r1, %r1, %r4;"
open differs beside_unwritten "$none add.u32 %r1, %r1, %r4; sub.u32 %r1, %r1, %r4;"
open undefined arrivals '.shared .align 8 .b64 m; mbarrier.init.shared.b64 [m], 0;'
exit 0
