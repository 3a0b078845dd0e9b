#!/bin/sh
# memory_orders.sh HEDDLE DIRECTORY: the order and scope of loads, stores, atomic operations and fences in our code are those
# of ptxas's, for every semantics and scope; a simulator that interleaves cannot tell. Skipped (77) without ptxas.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 ptxas=$PTXAS work=$2/memory_orders
rm -rf "$work"
mkdir -p "$work"

# One kernel for each access: what precedes and follows it is a store to another address, so that fences stay.
kernels() { # TARGET
  printf '.version 8.0\n.target %s\n.address_size 64\n' "$1"
  n=0
  { cat "$work/statements"; [ $1 != sm_90 ] || cat "$work/objects"; } | while read -r statement; do
    n=$((n + 1))
    printf '.visible .entry k%03d(.param .u64 p, .param .u64 q)\n{\n .reg .u32 x, y; .reg .u64 p0, q0, w; .reg .pred t;\n' $n
    printf ' ld.param.u64 p0, [p]; ld.param.u64 q0, [q]; st.global.u32 [q0], 1; mov.u32 x, %%tid.x; mul.wide.u32 w, x, 8; add.u64 p0, p0, w; mov.u32 y, 9;\n'
    printf ' %s\n st.global.u32 [q0 + 8], x; st.global.u64 [q0 + 16], w;\n ret;\n}\n' "$statement"
  done
}
for scope in cta gpu sys; do
  for space in .global ''; do
    for sem in relaxed acquire; do
      echo "ld.$sem.$scope$space.u32 x, [p0];"
      echo "ld.$sem.$scope$space.u64 w, [p0];"
    done
    for sem in relaxed release; do
      echo "st.$sem.$scope$space.u32 [p0], y;"
    done
    for sem in relaxed acquire release acq_rel; do
      echo "atom.$sem.$scope$space.add.u32 x, [p0], y;"
      echo "atom.$sem.$scope$space.max.u64 w, [p0], w;"
      echo "atom.$sem.$scope$space.cas.b32 x, [p0], x, y;"
      [ $sem = acquire ] || [ $sem = acq_rel ] || echo "red.$sem.$scope$space.add.u32 [p0], y;"
    done
    echo "atom.$scope$space.exch.b32 x, [p0], y;"
    echo "red.$scope$space.or.b32 [p0], y;"
  done
  echo "fence.sc.$scope;"
  echo "fence.acq_rel.$scope;"
done > "$work/statements"
{
  echo 'ld.volatile.global.u32 x, [p0];'
  echo 'st.volatile.global.u32 [p0], y;'
  echo 'ld.weak.global.u32 x, [p0];'
  echo 'ld.global.cv.u32 x, [p0];'
  echo 'ld.global.nc.u32 x, [p0];'
  echo 'ld.global.cs.u32 x, [p0];'
  echo 'ld.global.lu.u32 x, [p0];'
  echo 'st.global.cs.u32 [p0], y;'
  echo 'membar.cta;'
  echo 'membar.gl;'
  echo 'membar.sys;'
} >> "$work/statements"

for scope in cta cluster; do # of mbarriers, which sm_90 has a unit for
  echo "mbarrier.arrive.release.$scope.shared::cta.b64 w, [y];"
  echo "mbarrier.arrive_drop.release.$scope.shared::cta.b64 w, [y], x;"
  echo "mbarrier.arrive.expect_tx.release.$scope.shared::cluster.b64 _, [y], x;"
  echo "mbarrier.test_wait.acquire.$scope.shared::cta.b64 t, [y], w;"
  echo "mbarrier.try_wait.parity.acquire.$scope.shared::cta.b64 t, [y], x;"
done > "$work/objects"

# Of each kernel: space, scope and eviction of its accesses (1 block, 2 card, 3 system), and its fences.
facts() { # FILE
  "$heddle" disasm --sections "$1" 2> "$work/log" | awk '
    / MEMBAR\.ALL\.CTA/ { weak = $0; next } # in front of a wider one it says nothing
    weak != "" { if (!/ MEMBAR/) print weak; weak = "" }
    { print }' | awk '
    BEGIN { rank["CTA"] = rank["SM"] = 1; rank["GPU"] = 2; rank["SYS"] = 3 }
    match($0, /\.text\.k[0-9]+/) { kernel = substr($0, RSTART + 6, RLENGTH - 6); strong_seen = 0 }
    / CCTL\.IVALL/ { print kernel, "empties" }
    / (MEMBAR|CCTL\.IVALL)/ && strong_seen { print kernel, "behind"; strong_seen = 0 }
    match($0, / (LDG?|STG?|ATOMG?|REDG?|MEMBAR)\.[A-Z0-9.]*/) {
      n = split(substr($0, RSTART + 1, RLENGTH - 1), part, ".")
      strong = 0; scope = 0; words = ""
      for (k = 2; k <= n; k++) {
        if (part[k] == "STRONG") strong = 1
        if (part[k] in rank) scope = rank[part[k]]
        if (part[k] ~ /^(EF|LU|CONSTANT|MMIO)$/) words = words " " part[k]
        if (part[k] == "SC") words = " SC"
      }
      if (part[1] == "MEMBAR") print kernel, "fence", scope words
      else if (strong || words != "") print kernel, part[1] ~ /G$|RED/ ? "global" : "generic", "access", (strong ? scope : 0) words
      strong_seen = strong_seen || strong
    }' | sort
}
# Accesses are the same (once for each kernel: what 64-bit ATOM refuses is done in a loop, ptxas's in shared memory); for each fence of ptxas there is one of ours that is as strong, and where it waits behind an
# access, or empties the cache that weak loads go by, so do we. Ours may be more.
compare() { # THEIRS OURS
  grep access "$1" | sort -u > "$work/a"
  grep access "$2" | sort -u | diff "$work/a" - || return 1
  grep behind "$1" > "$work/a"
  grep behind "$2" > "$work/b"
  missing=$(comm -23 "$work/a" "$work/b")
  [ -z "$missing" ] || { echo "no fence behind the access: $missing"; return 1; }
  grep empties "$1" | sort -u > "$work/a"
  grep empties "$2" | sort -u > "$work/b"
  [ -s "$work/a" ] || { echo "ptxas empties no cache"; return 1; }
  missing=$(comm -23 "$work/a" "$work/b")
  [ -z "$missing" ] || { echo "weak loads may find old copies: $missing"; return 1; }
  awk '
    $2 == "fence" && FNR == NR { theirs[$1, $3, $4]++; next }
    $2 == "fence" { for (s = 1; s <= $3; s++) { ours[$1, s, ""]++; if ($4 != "") ours[$1, s, $4]++ } }
    END {
      for (x in theirs) {
        split(x, at, SUBSEP)
        for (s = 1; s <= at[2]; s++) { wanted[at[1], s, ""] += theirs[x]; if (at[3] != "") wanted[at[1], s, at[3]] += theirs[x] }
      }
      for (x in wanted) if (ours[x] < wanted[x]) { split(x, at, SUBSEP); print at[1] ": a fence is missing or weaker, scope", at[2], at[3]; bad = 1 }
      exit bad
    }' "$1" "$2"
}
for target in sm_75 sm_80 sm_90; do
  kernels $target > "$work/k.ptx"
  "$ptxas" -arch $target "$work/k.ptx" -o "$work/theirs.cubin" || { echo "this ptxas takes no $target"; continue; }
  "$heddle" compile -t $target "$work/k.ptx" -o "$work/ours.cubin"
  facts "$work/theirs.cubin" > "$work/theirs"
  facts "$work/ours.cubin" > "$work/ours"
  [ "$(grep -c access "$work/theirs")" -gt 60 ] || { echo "$target: ptxas's accesses are not seen"; exit 1; }
  compare "$work/theirs" "$work/ours" || { echo "$target: ptxas's <, ours >"; exit 1; }
done
