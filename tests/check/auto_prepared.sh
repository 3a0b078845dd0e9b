#!/usr/bin/env bash
# Launches are found for kernels whose numbers the host prepares: a multiplier and shifts that divide, which must be those
# of the divisor, memory in which a kernel makes tensor maps of its own, tensor maps inside of a structure, and a function
# that one caller gives a shared variable and another a pointer.
#
#   auto_prepared.sh HEDDLE SCRATCH
# SPDX-License-Identifier: MIT
set -euo pipefail
heddle=$1 work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work"
fail() {
    echo "$*"
    exit 1
}

# the quotient is %q of %i by %d; what leaves a remainder that is none traps
divide() { # NAME STATEMENTS: 12 bytes `by`
    cat << EOF
.visible .entry $1(.param .u64 a, .param .align 4 .b8 by[12], .param .u32 n) {
.reg .b64 %a<3>, %o; .reg .b16 %h<3>; .reg .b32 %r<9>, %i, %n, %x, %t, %u, %v<4>, %q, %d, %m, %s; .reg .pred %p, %p1, %one;
ld.param.u64 %a1, [a]; ld.param.u32 %n, [n];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %i, %r2, %r3, %r1;
setp.ge.u32 %p, %i, %n; @%p ret;
$2
mul.lo.u32 %r4, %q, %d; sub.u32 %x, %i, %r4; setp.ge.u32 %p1, %x, %d; @%p1 trap;
mad.lo.u32 %r5, %x, 64, %q; mul.wide.u32 %o, %r5, 4; add.s64 %a2, %a1, %o; st.global.u32 [%a2], %i; ret; }
EOF
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    divide high 'ld.param.u32 %d, [by]; ld.param.u32 %m, [by+4]; ld.param.u32 %s, [by+8];
mul.hi.u32 %t, %i, %m; shr.u32 %u, %t, %s; setp.eq.u32 %one, %d, 1; selp.b32 %q, %i, %u, %one;'
    divide sum 'ld.param.u32 %m, [by]; ld.param.u32 %s, [by+4]; ld.param.u32 %d, [by+8];
mul.hi.u32 %t, %m, %i; add.u32 %u, %t, %i; shr.u32 %q, %u, %s;'
    divide half 'ld.param.u32 %d, [by]; ld.param.u32 %m, [by+4]; ld.param.v2.b8 {%h1, %h2}, [by+8]; cvt.u32.u16 %s, %h1;
cvt.u32.u16 %r6, %h2; mul.hi.u32 %t, %m, %i; sub.u32 %v1, %i, %t; shr.u32 %v2, %v1, %s; add.u32 %v3, %v2, %t; shr.u32 %q, %v3, %r6;'
} > divide.ptx

check() { # KERNEL B0 ... B11: are these bytes the numbers of their divisor?
    local name=$1
    shift
    local w0=$(($1 | $2 << 8 | $3 << 16 | $4 << 24)) w1=$(($5 | $6 << 8 | $7 << 16 | $8 << 24)) w2=$(($9 | ${10} << 8)) d m s i q t
    case $name in
        sum) m=$w0 s=$w1 d=$w2 ;;
        *) d=$w0 m=$w1 s=$w2 ;;
    esac
    for i in 0 1 $((d - 1)) $d $((d + 1)) $((7 * d - 1)) $((7 * d)) 511 2000 65537; do
        t=$((i * m >> 32))
        case $name in
            high) q=$((d == 1 ? i : t >> s)) ;;
            sum) q=$((t + i >> s)) ;;
            half) q=$(((i - t >> $9) + t >> ${10})) ;;
        esac
        [ $q = $((i / d)) ] || fail "$name: $i / $d is $q of the numbers $*"
    done
    [ $d -gt 1 ] && echo "$d" >> divisors
    return 0
}
for kernel in high sum half; do
    rm -f divisors
    "$heddle" validate divide.ptx --kernel $kernel --launch auto --show-launch=$kernel.json > out 2>&1 || fail "$kernel: $(head -3 out)"
    grep -q "^$kernel: equal: " out || fail "$kernel: $(head -3 out)"
    grep -o 'b8\[12\]:[0-9,]*' $kernel.json > numbers
    [ -s numbers ] || fail "$kernel: no numbers in the launch file"
    while IFS=: read -r _ bytes; do
        check $kernel ${bytes//,/ }
    done < numbers
    [ -s divisors ] || fail "$kernel: it divides by 1 only"
done

# A block makes the map of a row of floats in shared memory, moves it to its part of memory that the launch lends it, and
# copies by it: the row is that of the first parameter.
cat > maps.ptx << 'EOF'
.version 8.3
.target sm_90a
.address_size 64
.visible .entry maps(.param .u64 .ptr .global .align 16 rows, .param .u64 .ptr .global .align 128 lent, .param .u64 .ptr .global .align 4 out)
.reqntid 32
{
.reg .b64 %a, %l, %l1, %l2, %m, %o<3>; .reg .b32 %t, %b, %n, %i<4>, %z; .reg .f32 %f; .reg .pred %p, %done;
.shared .align 128 .b8 map[128]; .shared .align 128 .b8 row[128]; .shared .align 8 .b64 bar;
ld.param.u64 %a, [rows]; ld.param.u64 %l, [lent]; ld.param.u64 %o1, [out];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mul.wide.u32 %l1, %b, 384; add.s64 %l2, %l, %l1;
mov.u32 %n, map; mad.lo.u32 %i1, %t, 4, %n; st.shared.u32 [%i1], 0; bar.warp.sync -1;
setp.ne.u32 %p, %t, 0; cvt.u64.u32 %m, %n; @%p bra MADE;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%m], %a;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [%m], 0;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%m], 0, 32;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%m], 0, 4096;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%m], 0, 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%m], 7;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
MADE: bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%l2], [%m], 128;
fence.proxy.tensormap::generic.acquire.gpu [%l2], 128;
@%p bra WAIT;
mul.lo.u32 %i2, %b, 32; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [row], [%l2, {%i2}], [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
mov.u32 %z, row; mad.lo.u32 %i3, %t, 4, %z; ld.shared.f32 %f, [%i3];
mad.lo.u32 %i1, %b, 32, %t; mul.wide.u32 %o2, %i1, 4; add.s64 %o1, %o1, %o2; st.global.f32 [%o1], %f; ret; }
EOF
"$heddle" validate maps.ptx --launch auto > out 2>&1 || fail "maps: $(head -3 out)"
grep -q '^maps: equal: ' out || fail "maps: $(head -3 out)"

# Two maps lie in a structure, one of them behind the numbers that libraries hand over with them.
cat > inside.ptx << 'EOF'
.version 8.3
.target sm_90a
.address_size 64
.visible .entry inside(.param .align 64 .b8 all[448], .param .u64 .ptr .global .align 4 out)
.reqntid 32
{
.reg .b64 %m<5>, %o<3>; .reg .b32 %t, %b, %i<4>, %z, %k; .reg .f32 %f<3>; .reg .pred %p, %done;
.shared .align 128 .b8 row[256]; .shared .align 8 .b64 bar;
mov.b64 %m0, all; add.s64 %m1, %m0, 64; add.s64 %m2, %m0, 256; cvta.param.u64 %m3, %m1; cvta.param.u64 %m4, %m2;
ld.param.u32 %k, [all+16]; ld.param.u64 %o1, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; setp.ne.u32 %p, %t, 0; @%p bra WAIT;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; mul.lo.u32 %i2, %b, 32;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [row], [%m3, {%i2}], [bar];
cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [row+128], [%m4, {%i2}], [bar];
WAIT: bar.warp.sync -1; mbarrier.try_wait.parity.shared.b64 %done, [bar], 0; @!%done bra WAIT;
mov.u32 %z, row; mad.lo.u32 %i3, %t, 4, %z; ld.shared.f32 %f1, [%i3]; ld.shared.f32 %f2, [%i3+128]; sub.f32 %f1, %f1, %f2;
setp.eq.u32 %p, %k, 3; @%p neg.f32 %f1, %f1;
mad.lo.u32 %i1, %b, 32, %t; mul.wide.u32 %o2, %i1, 4; add.s64 %o1, %o1, %o2; st.global.f32 [%o1], %f1; ret; }
EOF
"$heddle" validate inside.ptx --launch auto --show-launch=inside.json > out 2>&1 || fail "inside: $(head -3 out)"
grep -q '^inside: equal: ' out || fail "inside: $(head -3 out)"
"$heddle" validate inside.ptx --launch inside.json > out 2>&1 || fail "inside, its own launches: $(head -3 out)"

# a function adds to what its callers give it: to a shared variable, and to what the parameter points to
cat > apart.ptx << 'EOF'
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 r) count(.param .b64 at, .param .b32 by) {
.reg .b64 %a; .reg .b32 %x<3>;
ld.param.u64 %a, [at]; ld.param.u32 %x1, [by]; atom.add.u32 %x2, [%a], %x1; st.param.b32 [r], %x2; ret; }
.visible .entry apart(.param .u64 out) {
.shared .align 4 .b8 h[256];
.reg .b64 %a<4>, %o; .reg .b32 %r<9>, %t; .reg .pred %p;
ld.param.u64 %a1, [out]; mov.u32 %t, %tid.x; and.b32 %r1, %t, 63; mov.u32 %r2, h; cvt.u64.u32 %a2, %r2; cvta.shared.u64 %a2, %a2;
mul.wide.u32 %o, %r1, 4; add.s64 %a2, %a2, %o; st.u32 [%a2], 0; bar.sync 0;
{ .param .b64 p0; .param .b32 p1; .param .b32 q; st.param.b64 [p0], %a2; st.param.b32 [p1], 3; call (q), count, (p0, p1); }
bar.sync 0; setp.gt.u32 %p, %t, 63; @%p ret;
ld.u32 %r3, [%a2]; add.s64 %a3, %a1, %o;
{ .param .b64 p0; .param .b32 p1; .param .b32 q; st.param.b64 [p0], %a3; st.param.b32 [p1], %r3; call (q), count, (p0, p1); }
ret; }
EOF
"$heddle" validate apart.ptx --launch auto > out 2>&1 || fail "apart: $(head -3 out)"
grep -q '^apart: equal: 3 of 3' out || fail "apart: $(head -3 out)"
