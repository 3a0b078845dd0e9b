#!/bin/sh
# open_values.sh HEDDLE DIRECTORY: what activemask and clocks give is open; a result that depends on it is no difference, and
# any other one is.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 work=$2
mkdir -p "$work"

kernel() { # NAME STEP: the body is standard input; thread i of 64 has p = o + 4 * i
  {
    printf '.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 o)\n{\n'
    printf ' .reg .u32 i, x, y, n, t; .reg .u64 p, w; .reg .pred q;\n ld.param.u64 p, [o];\n'
    printf ' mov.u32 i, %%tid.x; mul.wide.u32 w, i, 4; add.u64 p, p, w; mov.u32 n, 0;\n'
    sed "s/STEP/$2/"
    printf ' ret;\n}\n'
  } > "$work/$1.ptx"
}
want() { # STATUS VERDICT ARGUMENT...
  status=$1 verdict=$2
  shift 2
  code=0
  "$heddle" validate "$@" --kernel k > "$work/out.txt" 2>&1 || code=$?
  [ $code = "$status" ] && grep -q "^k: $verdict" "$work/out.txt" && return
  echo "validate $*: status $code, wanted $status and $verdict"
  cat "$work/out.txt"
  exit 1
}
given='--block 64 --arg out:o:u32[1024]'
# lanes leave a loop one after the other; without convergence each group sees itself only
loop=' and.b32 x, i, 3; L: ld.global.u32 y, [p]; add.u32 y, y, STEP; st.global.u32 [p], y; setp.eq.u32 q, x, n; @q bra A;
 add.u32 n, n, 1; bra L; A: activemask.b32 t; st.global.u32 [p + 1024], t; st.global.u32 [p + 2048], y;'
echo "$loop" | kernel mask 7
echo "$loop" | kernel wrong 8
# the machine's lanes meet at B, where PTX run by itself has those of A come later
merged=' and.b32 x, i, 3; setp.eq.u32 q, x, 0; @q bra A; setp.eq.u32 q, x, 1; @q bra B; bra C; A: activemask.b32 n;
 st.global.u32 [p + 1024], n; B: activemask.b32 t; popc.b32 t, t; add.u32 t, t, STEP; st.global.u32 [p], t; C:'
echo "$merged" | kernel merged 7
echo "$merged" | kernel merging 8
# sums of those that are here
sums=' activemask.b32 t; shfl.sync.up.b32 x, i, 1, 0, t; add.u32 x, x, STEP; st.global.u32 [p], x; st.global.u32 [p + 1024], t;'
echo "$sums" | kernel sums 1
echo "$sums" | kernel summed 2
# turns until 100 ticks of the clock have passed
spin=' mov.u32 x, %clock; L: add.u32 n, n, 1; mov.u32 y, %clock; sub.u32 y, y, x; setp.lt.u32 q, y, 100; @q bra L;
 add.u32 i, i, STEP; st.global.u32 [p], n; st.global.u32 [p + 1024], i;'
echo "$spin" | kernel spin 1
echo "$spin" | kernel spun 2
for launch in "$given" '--launch auto'; do
  want 0 equal "$work/mask.ptx" --reconverge=ipdom $launch
  want 0 order-dependent "$work/mask.ptx" --reconverge=none $launch
done
want 0 order-dependent "$work/spin.ptx" $given
for launch in "$given" '--launch auto'; do
  want 0 order-dependent "$work/merged.ptx" $launch
  want 0 equal "$work/sums.ptx" $launch
done
for pair in mask:wrong spin:spun merged:merging sums:summed; do
  "$heddle" compile "$work/${pair#*:}.ptx" --reconverge=none -t bru1 -o "$work/wrong.cubin"
  want 4 differs "$work/${pair%:*}.ptx" "$work/wrong.cubin" $given
  want 4 differs "$work/${pair%:*}.ptx" "$work/wrong.cubin" --launch auto
done
# copies in the background: what is read before they are waited for is open, what is read behind is not
copies=' .shared .b32 s[128]; mov.u32 t, s; shl.b32 x, i, 2; add.u32 t, t, x; st.shared.u32 [t], 5; st.shared.u32 [t+256], 5;
 cp.async.ca.shared.global [t], [p + 1024], 4; cp.async.commit_group; cp.async.ca.shared.global [t+256], [p + 2048], 4;
 cp.async.commit_group; cp.async.wait_group STEP; ld.shared.u32 x, [t]; st.global.u32 [p], x; cp.async.wait_all;
 ld.shared.u32 y, [t+256]; st.global.u32 [p + 3072], y;'
for step in 0 1 2; do echo "$copies" | kernel copies$step $step; sed -i 's/sm_75/sm_80/' "$work/copies$step.ptx"; done
copied='--block 64 --arg out:o:u32[1024]=random:3'
for option in '' --races; do
  want 0 equal "$work/copies0.ptx" -t sm_80 $copied $option
  want 0 equal "$work/copies1.ptx" -t sm_80 $copied $option
done
want 4 undefined "$work/copies2.ptx" -t sm_80 $copied --races
# where the ISA says "behavior is undefined" no binary is wrong; where the PTX says `trap`, one that goes on is
apart=' and.b32 x, i, 1; setp.eq.u32 q, x, 0; @q bra A; mov.u32 y, 7; bar.sync 0; bra B; A: mov.u32 y, 3; bar.sync 0; B:'
left=' mov.u32 y, 7; shfl.sync.idx.b32 y, y, 0, 31, STEP;'
odd=' ld.global.u32 y, [p + STEP];'
far=' mov.u32 y, STEP; ts: .branchtargets A, B; brx.idx y, ts; A: B:'
stop=' mov.u32 x, STEP; setp.eq.u32 q, x, 0; @q trap;'
unset=' STEP setp.eq.u32 q, t, 1; @q trap;'
store=' st.global.u32 [p], i;'
echo "$apart $store" | kernel apart 0
echo "bar.sync 0; $store" | kernel apart_ok 0
for pair in left:1:-1 odd:1:0 far:2:1 stop:0:1; do
  name=${pair%%:*} steps=${pair#*:}
  eval "body=\$$name"
  echo "$body $store" | kernel "$name" "${steps%:*}"
  echo "$body $store" | kernel "${name}_ok" "${steps#*:}"
done
echo "$unset $store" | kernel unset ''
echo "$unset $store" | kernel unset_ok 'mov.u32 t, 1;'
for name in apart left odd far unset stop; do
  verdict=undefined
  [ $name = stop ] && verdict=differs
  "$heddle" compile "$work/${name}_ok.ptx" -t bru1 -o "$work/ok.cubin"
  for launch in "$given" "$given --races" "$given --no-trace"; do
    want 4 $verdict "$work/$name.ptx" "$work/ok.cubin" $launch
  done
done
# PTX has no atomics on local memory: what one leaves there excuses, what one leaves in shared memory does not
atomic=' .local .b32 v; .shared .b32 u[64]; .reg .u64 a; mov.u64 a, ROOM; cvta.WHERE.u64 a, a; st.u32 [a], i; atom.add.u32 x, [a], STEP;
 ld.u32 y, [a]; st.global.u32 [p], y;'
for where in local:v:undefined shared:u:differs; do
  rest=${where#*:}
  for step in 1 2; do
    echo "$atomic" | sed "s/WHERE/${where%%:*}/; s/ROOM/${rest%:*}/" | kernel atomic$step $step
  done
  "$heddle" compile "$work/atomic2.ptx" -t sm_80 -o "$work/atomic.cubin"
  want 4 "${where##*:}" "$work/atomic1.ptx" "$work/atomic.cubin" --block 1 --arg 'out:o:u32[64]'
  want 0 equal "$work/atomic2.ptx" "$work/atomic.cubin" --block 1 --arg 'out:o:u32[64]'
done
# the address of a variable is each compiler's own, what is stored beside it is not
places=' .local .b32 v; .reg .u64 a; mov.u64 a, v; cvt.u32.u64 x, a; st.local.u32 [a], i; ld.local.u32 y, [a]; add.u32 y, y, STEP;
 add.u32 x, x, 77; st.global.u32 [p], x; st.global.u32 [p + 1024], y;'
for step in 0 1; do echo "$places" | kernel places$step $step; done
"$heddle" compile "$work/places1.ptx" -t bru1 -o "$work/places1.cubin"
want 4 undefined "$work/places0.ptx" -t bru1 $given
want 4 differs "$work/places0.ptx" "$work/places1.cubin" $given
# lanes that part where `.uni` and `.aligned` say that they do not are shown of equal results too
uni=' and.b32 x, i, 1; setp.eq.u32 q, x, STEP; mov.u32 y, 3; @q bra.uni A; mov.u32 y, 7; A: st.global.u32 [p], y;'
around=' and.b32 x, i, 1; setp.eq.u32 q, x, STEP; mov.u32 y, 3; @q bra A; bar.sync 0; mov.u32 y, 7; A: st.global.u32 [p], y;'
for name in uni around; do
  eval "body=\$$name"
  echo "$body" | kernel $name 0
  echo "$body" | kernel ${name}_ok 2
  for launch in "$given" "$given --races" '--launch auto'; do
    want 4 undefined "$work/$name.ptx" $launch
  done
  want 0 equal "$work/${name}_ok.ptx" $given --races
done
# a second arrival at the cluster's barrier, an mbarrier object outside of shared memory
twice=' STEP barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [p], i;'
outside=' STEP mbarrier.init.b64 [o_m], 1; st.global.u32 [p], i;'
for one in 'twice:barrier.cluster.arrive;:' 'outside:mov.u64 o_m, p;:cvta.shared.u64 o_m, m;'; do
  name=${one%%:*} steps=${one#*:}
  eval "body=\$$name"
  for kind in "$name=${steps%:*}" "${name}_ok=${steps#*:}"; do
    echo ".shared .b64 m; .reg .b64 o_m; $body" | kernel "${kind%%=*}" "${kind#*=}"
    sed 's/sm_75/sm_90/' "$work/${kind%%=*}.ptx" > "$work/moved.ptx"
    mv "$work/moved.ptx" "$work/${kind%%=*}.ptx"
  done
  "$heddle" compile "$work/${name}_ok.ptx" -t bru1 -o "$work/ok.cubin"
  want 0 equal "$work/${name}_ok.ptx" "$work/ok.cubin" --block 1 --arg 'out:o:u32[64]'
  want 4 undefined "$work/$name.ptx" "$work/ok.cubin" --block 1 --arg 'out:o:u32[64]'
done

# a register that nobody wrote, or a field beyond 255, excuses what it shows in, and nothing else
unwritten=' add.u32 y, x, STEP; st.global.u32 [p], y; st.global.u32 [p + 1024], i;'
beside=' st.global.u32 [p], x; add.u32 y, i, STEP; st.global.u32 [p + 1024], y;'
field=' add.u32 x, i, 0x100; bfe.u32 y, i, x, 4; add.u32 y, y, STEP; st.global.u32 [p], y; st.global.u32 [p + 1024], i;'
fields=' add.u32 x, i, 0x100; bfe.u32 y, i, x, 4; st.global.u32 [p], y; add.u32 y, i, STEP; st.global.u32 [p + 1024], y;'
open_to() { # VERDICT KERNEL
  for step in 1 2; do echo "$2" | kernel open$step $step; done
  "$heddle" compile "$work/open2.ptx" -t bru1 -o "$work/open2.cubin" > "$work/out.txt" 2>&1
  want 4 "$1" "$work/open1.ptx" "$work/open2.cubin" $given
}
open_to undefined "$unwritten"
open_to differs "$beside"
open_to undefined "$field"
open_to differs "$fields"
# an address that hangs on it may be any one of the buffer
index=' and.b32 x, x, 31; mul.wide.u32 w, x, 4; add.u64 p, p, w; add.u32 i, i, STEP; st.global.u32 [p], i;'
open_to undefined "$index"
