#!/bin/sh
# profile.sh HEDDLE DIRECTORY: what heddle run --profile counts decides how branches are compiled; files that are no
# profile, or one of another text. SPDX-License-Identifier: MIT
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
run() { # STATUS TEXT ARGS...
    status=$1 text=$2
    shift 2
    "$heddle" "$@" >out 2>&1
    got=$?
    [ $got -eq "$status" ] || { fail "heddle $*: status $got, expected $status"; cat out; }
    [ -z "$text" ] || grep -qe "$text" out || { fail "heddle $*: no '$text'"; cat out; }
}

# Lane t does the work if t & mask is 0: mask 0 all lanes, mask 1 every other.
cat >k.ptx <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 mask)
{
  .reg .u64 %rd<4>;
  .reg .u32 %r<9>;
  .reg .pred %q;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r3, [mask];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  and.b32 %r2, %r1, %r3;
  mov.u32 %r4, %r1;
  setp.ne.u32 %q, %r2, 0;
  @%q bra done;
  mul.lo.u32 %r4, %r4, %r1;
  add.u32 %r4, %r4, 3;
  xor.b32 %r4, %r4, %r1;
  mul.lo.u32 %r4, %r4, %r4;
  add.u32 %r4, %r4, 5;
  xor.b32 %r4, %r4, %r3;
  mul.lo.u32 %r4, %r4, %r1;
done:
  st.global.u32 [%rd3], %r4;
  ret;
}
P
launch() { echo "--block 64,1,1 --arg out:c:u32[64]=zero --arg u32:$1"; }
# What the work is worth to whom is known: where lanes always part, guards cost nothing; where they never come there,
# guards cost all of it.
run 0 '' run k.ptx --profile parted.json $(launch 1)
run 0 '' run k.ptx --profile all.json $(launch 0)
grep -q '"divergent":	2' parted.json || fail "two warps part"
grep -q '"divergent":	0' all.json || fail "no warp parts"
run 0 'converted' report k.ptx --profile parted.json
# All lanes go around it: what was the second way's is the first way's.
awk '/"lanes":/ { $0 = ++n == 1 ? "\"lanes\": 64," : "\"lanes\": 0," }
     /"together":/ { $0 = n == 1 ? "\"together\": 2," : "\"together\": 0," } { print }' all.json >skip.json
run 0 '' report k.ptx --json --profile skip.json
grep -q '"converted":	false' out || fail "guards where nobody does the work"
run 0 '' report k.ptx --json --profile parted.json
grep -q '"converted":	true' out || fail "no guards where lanes always part"

# Counts of several launches and files add up.
cat >two.json <<'J'
{"module": "k.ptx", "buffers": {"c": {"type": "u32", "count": 64}},
 "launches": [{"grid": [1], "block": [64], "args": ["c", "u32:1"]}, {"grid": [1], "block": [64], "args": ["c", "u32:0"]}]}
J
run 0 '' run --launch two.json --profile both.json
grep -q '"warps":	4' both.json || { fail "four warps"; cat both.json; }
grep -q '"divergent":	2' both.json || fail "two of them part"

# Two loops with one header: the inner one skips, the outer one has six rounds in every lane. How often lanes leave it is
# counted in rounds of both; that its counter decides this must be seen.
cat >six.ptx <<'P'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q)
{
  .reg .u64 %rd<8>;
  .reg .u32 %r<20>;
  .reg .pred %q<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [q];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
  mov.u32 %r4, %r1;
again:
  and.b32 %r5, %r4, 255;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd4, %rd1, %rd3;
  ld.global.u32 %r6, [%rd4];
  add.u32 %r4, %r4, 1;
  and.b32 %r7, %r6, 31;
  setp.gt.u32 %q1, %r7, 24;
  @%q1 bra again;
  mov.u32 %r8, %r6;
work:
  shr.u32 %r9, %r8, 3;
  xor.b32 %r3, %r3, %r9;
  mul.lo.u32 %r3, %r3, 77;
  shr.u32 %r10, %r3, 7;
  add.u32 %r3, %r3, %r10;
  mul.lo.u32 %r3, %r3, %r8;
  xor.b32 %r3, %r3, %r4;
  shr.u32 %r8, %r8, 7;
  setp.ne.u32 %q1, %r8, 0;
  @%q1 bra work;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %q2, %r2, 6;
  @%q2 bra again;
  mul.wide.u32 %rd5, %r1, 4;
  add.u64 %rd6, %rd2, %rd5;
  st.global.u32 [%rd6], %r3;
  ret;
}
P
six="--block 256,1,1 --arg buf:u32[256]=random:1 --arg out:c:u32[256]"
warps() { sed -n 's/.*"warp_instructions":[^0-9]*\([0-9]*\).*/\1/p' "$1"; }
run 0 '' run six.ptx --profile six.json $six
run 0 '' compile six.ptx -t sm_80 -o six.cubin
run 0 '' compile six.ptx -t sm_80 --profile six.json -o counted.cubin
"$heddle" run six.cubin $six --stats --json >six.out
"$heddle" run counted.cubin $six --stats --json >counted.out
[ "$(warps counted.out)" -le "$(warps six.out)" ] || fail "counts of six rounds: $(warps six.out), $(warps counted.out)"

# Code of a profile is right, in every mode.
"$heddle" run k.ptx $(launch 1) --save c=right.bin >/dev/null || fail "no result"
for mode in ipdom frontier auto; do
    for p in parted all skip both; do
        run 0 '' compile k.ptx --reconverge=$mode --profile $p.json -o k.cubin
        run 0 '' run k.cubin $(launch 1) --expect c=@right.bin
    done
done

# Not a profile; of another text; of another module.
echo '{' >bad.json
echo '[1, 2]' >list.json
run 1 'E0505' compile k.ptx --profile bad.json -o x.cubin
run 1 'it is no profile' compile k.ptx --profile list.json -o x.cubin
run 1 'E0001' compile k.ptx --profile missing.json -o x.cubin
[ ! -e x.cubin ] || fail "a file without a profile"
sed 's/add.u32 %r4, %r4, 3;/sub.u32 %r4, %r4, 3;/' k.ptx >changed.ptx
run 0 'W0506.*another text' compile changed.ptx --profile parted.json -o x.cubin
sed 's/entry k(/entry other(/' k.ptx >other.ptx
run 0 'W0506.*not in this module' compile other.ptx --profile parted.json -o x.cubin
run 2 'engine=ptx' run k.ptx --engine=interp --profile x.json $(launch 1)
run 1 'E0002' run k.ptx --profile /nowhere/x.json $(launch 1)
exit $failed
