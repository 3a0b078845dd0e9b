#!/bin/sh
# engine.sh HEDDLE FAKE DIRECTORY: the engine against a driver in FAKE whose card is the SIMT machine: addresses,
# variables, traps, refusals, processes.
# SPDX-License-Identifier: MIT
set -u
heddle=$1 work=$3 here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failed=0

# want CARD STATUS TEXT ARGS...: the status, and TEXT somewhere in the output
want() {
    FAKE_CARD=$1 status=$2 text=$3
    export FAKE_CARD
    shift 3
    "$heddle" "$@" >out 2>&1
    got=$?
    if [ $got -ne "$status" ] || ! grep -qe "$text" out; then
        echo "FAIL: $FAKE_CARD: heddle $*: status $got, expected $status and '$text'"
        cat out
        failed=1
    fi
}

cat >k.ptx <<'P'
.version 7.8
.target sm_75
.address_size 64
.global .u32 counter = 5;
.global .u32 other = 9;
.global .u64 cells[2] = { counter, other };
.const .u32 scale[2] = { 3, 7 };
.global .u64 kept;
.func (.reg .u32 %y) twice(.reg .u32 %x) { add.u32 %y, %x, %x; ret; }
.global .u64 functions[1] = { twice };
// out[tid] = list[tid]->value * scale + *cells[0]; where[tid] = list[tid]; kept = out
.visible .entry k(.param .u64 out, .param .u64 list, .param .u64 where)
{
  .reg .u64 %rd<12>;
  .reg .u32 %r<12>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [list];
  ld.param.u64 %rd3, [where];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 8;
  add.u64 %rd2, %rd2, %rd4;
  add.u64 %rd3, %rd3, %rd4;
  ld.global.u64 %rd5, [%rd2];
  ld.global.u32 %r2, [%rd5];
  ld.const.u32 %r3, [scale+4];
  ld.global.u64 %rd6, [cells];
  ld.global.u32 %r4, [%rd6];
  mad.lo.u32 %r2, %r2, %r3, %r4;
  mul.wide.u32 %rd7, %r1, 4;
  add.u64 %rd8, %rd1, %rd7;
  st.global.u32 [%rd8], %r2;
  st.global.u64 [%rd3], %rd5;
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra done;
  st.global.u64 [kept], %rd1;
  add.u32 %r5, %r4, 1;
  st.global.u32 [counter], %r5;
  st.global.u64 [cells+8], %rd6;
done:
  ret;
}
P
cat >k.json <<'J'
{"buffers": {"values": {"type": "u32", "count": 64, "init": "random:3"},
             "list": {"type": "u64", "count": 32, "init": "pointers:values:8"},
             "where": {"type": "u64", "count": 32},
             "out": {"type": "u32", "count": 32}},
 "launches": [{"kernel": "k", "grid": [1], "block": [32], "args": ["out", "list", "where"], "repeat": 3}]}
J

# ---- no card, wrong card
want none 1 "error E0560: .*no CUDA-capable device" run --engine gpu k.ptx --launch k.json
want none 5 "^k: not run" validate --engine gpu k.ptx --launch k.json
"$heddle" compile k.ptx -t sm_80 -o 80.cubin && "$heddle" compile k.ptx -o bru1.cubin
want 9.0 1 "error E0561: 80.cubin is code for sm_80; the card, Fake card 0, has compute capability 9.0" \
    run --engine gpu 80.cubin --launch k.json
want 8.9 0 "equal" validate --engine gpu k.ptx 80.cubin --launch k.json
want 7.5 1 "error E0561" run --engine gpu 80.cubin --launch k.json
want 9.0 1 "error E0561: bru1.cubin is code for bru1" run --engine gpu bru1.cubin --launch k.json
want 12.0 5 "error E0561" validate --engine gpu k.ptx --launch k.json
want 9.0 2 "engine" validate --engine ptx k.ptx --launch k.json

# ---- the same launch on both: variables, addresses in parameters, in memory, in initialisers, stored ones
want 9.0 0 "^[a-z]*: equal: 3 launches, .* on a card" validate --engine gpu k.ptx --launch k.json
want 9.0 0 "^[a-z]*: equal: 3 launches" validate --engine gpu-ptx k.ptx --launch k.json
want 8.6 0 "^[a-z]*: equal: 3 launches" validate --engine gpu k.ptx --launch k.json
want 9.0 0 '"engine":	"gpu"' run --engine gpu --json k.ptx --launch k.json
"$heddle" run --engine ptx k.ptx --launch k.json --print where --print out >expected
want 9.0 0 "where: u64" run --engine gpu k.ptx --launch k.json --print where --print out
cmp -s out expected || { echo "FAIL: buffers of the run differ"; diff out expected | head; failed=1; }

# ---- generic addresses: windows that the driver tells, and the system's part of shared memory
for o in 0 3; do
    for t in sm_75:7.5 sm_80:8.0 sm_89:8.9 sm_90:9.0; do
        want "${t#*:}" 0 "^[a-z]*: equal: 1 launch, 1024 bytes" validate --engine gpu -t "${t%:*}" -O$o "$here/windows.ptx" \
            --launch "$here/windows.json"
    done
done
want - 0 "^[a-z]*: equal" validate "$here/windows.ptx" --launch "$here/windows.json"
text() { # TARGET TEXT: in the disassembly
    "$heddle" compile "$here/windows.ptx" -t "$1" -o windows.cubin && "$heddle" disasm --sections windows.cubin >out
    grep -qe "$2" out || { echo "FAIL: no '$2' in windows.ptx for $1"; failed=1; }
}
text sm_80 'c\[0x0\]\[0x18\]'
text sm_80 'c\[0x0\]\[0x20\]'
text sm_80 'c\[0x0\]\[0x40\]'
text sm_90 'SR_SWINHI'
text sm_90 'c\[0x0\]\[0x20\]'
text sm_90 'c\[0x0\]\[0x198\]'
text sm_90 '__section_size.*0x480$' # of .nv.shared.k: 0x400 and 128 bytes
# ptxas's own code is the judge of where these addresses are
ptxas=$("$here/../../find_nvidia.sh" ptxas)
for t in 80 90; do
    [ -n "$ptxas" ] && "$ptxas" -arch=sm_$t -o ptxas.cubin "$here/windows.ptx" || continue
    want - 0 "^[a-z]*: equal" validate "$here/windows.ptx" ptxas.cubin --launch "$here/windows.json"
done

# ---- a binary that means something else is found, and the machine's opinion told
sed 's/add.u32 %r5, %r4, 1/add.u32 %r5, %r4, 2/' k.ptx >other.ptx
"$heddle" compile other.ptx -t sm_90 -o other.cubin
want 9.0 4 "machine  makes of the binary what the card does" validate --engine gpu k.ptx other.cubin --launch k.json
want 9.0 4 "buffer counter" validate --engine gpu k.ptx other.cubin --launch k.json

# ---- traps
trap_kernel() { # NAME STATEMENT
    cat >"$1.ptx" <<P
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .u64 %rd<4>;
  .reg .u32 %r<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, 7;
  $2
  ret;
}
P
}
trap_kernel gap 'st.global.u32 [%rd1+512], %r1;'
trap_kernel before 'st.global.u32 [%rd1+-4], %r1;'
trap_kernel far 'mov.u64 %rd2, 64; st.global.u32 [%rd2], %r1;'
trap_kernel odd 'st.global.u32 [%rd1+2], %r1;'
trap_kernel stop 'trap;'
buffer="--grid 1 --block 1 --arg out:p:u32[4]"
for t in "gap access out of range at .*in no buffer" "before access out of range at .*in no buffer" \
    "far access out of range: the card: CUDA_ERROR" "odd misaligned address" "stop trap instruction"; do
    # shellcheck disable=SC2086
    want 9.0 1 "error E0551: k: .*${t#* }" run --engine gpu "${t%% *}.ptx" $buffer
    # shellcheck disable=SC2086
    want 9.0 5 "both trap alike" validate --engine gpu "${t%% *}.ptx" $buffer
done

# ---- inferred launches, directories
trap_kernel own 'mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2;'
mkdir -p dir && cp own.ptx k.ptx k.json dir
want 9.0 0 "k: equal: 1 of 1 basic blocks" validate --engine gpu own.ptx --launch auto --grid 1
want 9.0 0 "2 kernels: 2 equal" validate --engine gpu dir

# ---- clusters, tensor maps, pointers in structures; what a card does not give back
ring="--kernel ring --grid 4,2 --cluster 2,2 --block 32 --arg out:out:u32[64]=zero --arg out:ids:u32[128]=zero"
# shellcheck disable=SC2086
want 9.0 0 "^ring: equal: 1 launch" validate --engine gpu -t sm_90 "$here/../cluster/ring.ptx" $ring
cat >copy.json <<'J'
{"buffers": {"t": {"type": "u32", "count": 1024, "init": "iota"}, "maps": {"type": "u32", "count": 32, "init": "ones"},
             "out": {"type": "u32", "count": 40, "init": "ones"}},
 "tensormaps": {"from": {"buffer": "t", "type": "f16", "size": [32, 3, 7], "strides": [128, 512], "box": [32, 3, 5],
                         "steps": [1, 2, 4], "swizzle": "64B", "fill": "nan"},
                "like": {"buffer": "t", "type": "u32", "size": [12, 9], "box": [4, 2]}},
 "launches": [{"kernel": "replace", "grid": [1], "block": [32], "args": ["tmap:from", "tmap:like", "maps", "out"]}]}
J
want 9.0 0 "^replace: equal: 1 launch" validate --engine gpu -t sm_90a "$here/../tensor/replace.ptx" --launch copy.json
# by value: in the constant bank it is aligned, in the parameter block it is not
cat >value.ptx <<'P'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
{
  .shared .align 128 .b8 buf[128];
  .shared .align 8 .b64 bar;
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  .reg .pred %p;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd1, %rd1;
  mov.u32 %r1, buf;
  mov.u32 %r2, bar;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;
  mov.u32 %r3, 0;
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3}], [%r2];
W: mbarrier.try_wait.parity.shared::cta.b64 %p, [%r2], 0;
  @!%p bra W;
  ld.shared.u32 %r4, [buf+20];
  ld.param.u64 %rd2, [out];
  st.global.u32 [%rd2], %r4;
  ret;
}
P
cat >value.json <<'J'
{"buffers": {"t": {"type": "u32", "count": 64, "init": "iota"}, "out": {"type": "u32", "count": 1, "init": "zero"}},
 "tensormaps": {"m": {"buffer": "t", "type": "u32", "size": [64], "box": [32]}},
 "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["tmap:m", "out"]}]}
J
export FAKE_CONTEXTS=$work/contexts
want 9.0 0 "^k: equal" validate --engine gpu -t sm_90 value.ptx --launch value.json
[ "$(grep -c map contexts)" = 2 ] || { echo "FAIL: the maps that the driver encoded: $(cat contexts)"; failed=1; }
rm -f contexts
unset FAKE_CONTEXTS
cat >held.ptx <<'P'
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .align 8 .b8 both[16])
{
  .reg .u64 %rd<4>;
  .reg .u32 %r<4>;
  ld.param.u64 %rd1, [both];
  ld.param.u64 %rd2, [both+8];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd2], %r1;
  ret;
}
P
want 9.0 0 "^k: equal" validate --engine gpu held.ptx --launch auto
cat >says.ptx <<'P'
.version 7.8
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[3] = {104, 105, 0};
.visible .entry k()
{
  .reg .u64 %rd<4>;
  mov.u64 %rd1, text;
  cvta.global.u64 %rd1, %rd1;
  mov.u64 %rd2, 0;
  { .param .b64 f; .param .b64 a; .param .b32 r;
    st.param.b64 [f], %rd1; st.param.b64 [a], %rd2; call.uni (r), vprintf, (f, a); }
  ret;
}
P
want 9.0 0 "^k: equal" validate --engine gpu says.ptx --grid 1 --block 32

# ---- textures and surfaces: by argument and by name, one array for what has one place, back after the launch
cat >tex.ptx <<'P'
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 t, .param .u64 out)
{
  .reg .u64 %rd<4>;
  .reg .f32 %f<8>;
  ld.param.u64 %rd1, [t];
  ld.param.u64 %rd2, [out];
  mov.f32 %f1, 0f3F000000;
  tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];
  st.global.f32 [%rd2], %f2;
  ret;
}
P
want 9.0 0 "^k: equal" validate --engine gpu tex.ptx --launch auto
cat >images.ptx <<'P'
.version 7.8
.target sm_75
.address_size 64
.global .texref image;
.global .surfref marks;
// from the surface into the one by name; a texture of the same place sees what was there before
.visible .entry move(.param .u64 from, .param .u64 to, .param .u64 seen)
{
  .reg .u64 %rd<6>;
  .reg .u32 %r<8>;
  .reg .f32 %f<8>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  ld.param.u64 %rd3, [seen];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  cvt.rn.f32.u32 %f5, %r1;
  cvt.rn.f32.u32 %f6, %r2;
  mul.f32 %f5, %f5, 0f3E800000;
  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [image, {%f5, %f6}];
  tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd1, {%r1, %r2}];
  cvt.rzi.u32.f32 %r3, %f1;
  add.u32 %r4, %r4, %r3;
  shl.b32 %r3, %r1, 2;
  sust.b.2d.b32.trap [%rd2, {%r3, %r2}], %r4;
  sured.b.add.1d.u32.trap [marks, {%r3}], %r4;
  mad.lo.u32 %r5, %r2, 8, %r1;
  mul.wide.u32 %rd4, %r5, 4;
  add.u64 %rd4, %rd3, %rd4;
  tex.level.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd1, {%r1, %r2}], 1;
  st.global.u32 [%rd4], %r4;
  ret;
}
P
cat >images.json <<'J'
{"buffers": {"a": {"type": "u32", "count": 43, "init": "iota"}, "b": {"type": "u32", "count": 33, "init": "ones"},
             "seen": {"type": "u32", "count": 32}, "m": {"type": "u32", "count": 8}, "i": {"type": "f32", "count": 8, "init": "random:3:0:99"}},
 "textures": {"from": {"buffer": "a", "size": [8, 4], "texel": "u32", "levels": 3, "clamp": [0, 1]}, "to": {"buffer": "b", "size": [8, 4], "texel": "u32"},
              "other": {"buffer": "b", "size": [8, 4], "texel": "u32"}, "marks": {"buffer": "m", "size": [8], "texel": "u32"},
              "image": {"buffer": "i", "size": [4, 2], "texel": "f32", "filter": "linear", "normalized": true, "address": ["mirror", "wrap"]}},
 "launches": [{"grid": [1], "block": [8, 4], "args": ["tex:from", "tex:to", "seen"], "repeat": 2},
              {"grid": [1], "block": [8, 4], "args": ["tex:other", "tex:to", "seen"]}]}
J
export FAKE_CONTEXTS=$work/contexts
for engine in gpu gpu-ptx; do
    want 9.0 0 "^move: equal: 3 launches" validate --engine $engine images.ptx --launch images.json
    # a mipmap, the surface, the two variables; of the last launch texture and surface share one
    for made in "array 11" "texture 3" "surface 3"; do
        [ "$(grep -c "${made% *}" contexts)" = "${made#* }" ] || { echo "FAIL: not $made: $(sort contexts | uniq -c)"; failed=1; }
    done
    rm -f contexts
done
unset FAKE_CONTEXTS
want 9.0 0 "equal" validate --engine gpu "$here/../texture/surface.ptx" --launch auto --kernel move
# what only the PTX says, and what CUDA has no handle for
"$heddle" compile images.ptx -t sm_90 -o images.cubin
want 9.0 1 "error E0562: .*known of its PTX only" run --engine gpu images.cubin --launch images.json
want 9.0 5 "not run" validate --engine gpu "$here/../texture/surface.ptx" --launch "$here/../texture/surface.json"
want 9.0 1 "error E0562: .*one handle for fetches" run --engine gpu "$here/../texture/surface.ptx" --launch "$here/../texture/surface.json"

# ---- launches share a context; after a trap there is another
contexts() { # NUMBER WHAT
    [ "$(wc -l <contexts)" = "$1" ] || { echo "FAIL: $(wc -l <contexts) contexts for $2, not $1"; failed=1; }
    rm -f contexts
}
export FAKE_CONTEXTS=$work/contexts
want 9.0 0 "^[a-z]*: equal: 3 launches" validate --engine gpu k.ptx --launch k.json
contexts 1 "three launches"
{ sed 's/entry k/entry first/' stop.ptx; sed -n '/entry/,$s/entry k/entry second/;/entry/,$p' own.ptx; } >both.ptx
want 9.0 0 "second: equal" validate --engine gpu both.ptx --launch auto --grid 1
grep -q "first: equal.*trap instruction" out || { echo "FAIL: the trap before it"; cat out; failed=1; }
[ "$(wc -l <contexts)" -gt 1 ] || { echo "FAIL: a context after a trap"; failed=1; }
unset FAKE_CONTEXTS

# ---- processes: an endless kernel, one that takes the driver's process with it
trap_kernel fine 'st.global.u32 [%rd1+4], %r1;'
# shellcheck disable=SC2086
want 9.0 0 "\[1\] 7" run --engine gpu fine.ptx $buffer
# shellcheck disable=SC2086
want hangs 1 "not at its end after 1 s" run --engine gpu --time-limit 1 fine.ptx $buffer
# shellcheck disable=SC2086
want dies 1 "error E0562: .*ended by itself" run --engine gpu fine.ptx $buffer
exit $failed
