#!/bin/sh
# run_tables.sh HEDDLE PYTHON DIRECTORY: jump tables in files. The record of targets is read back and printed, text
# assembles to the same bytes, and where ptxas and nvdisasm are found: our tables are theirs to read, and theirs run here.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/../../part.sh"
heddle=$1 here=$(dirname "$0") work=$3/tables
mkdir -p "$work"
"$2" "$here/forms.py" brx "$work"
ptxas=$("$here/../../find_nvidia.sh" ptxas || true)
nvdisasm=$("$here/../../find_nvidia.sh" nvdisasm || true)
fail() {
  echo "$1"
  exit 1
}
same_again() { # FILE: every indirect branch has its targets, and the text gives the file back
  "$heddle" disasm --sections "$1" -o "$1.sass"
  branches=$(grep -c ' BRXU* ' "$1.sass")
  noted=$(grep -c ' BRXU* .*(\*"BRANCH_TARGETS \.L_' "$1.sass")
  [ "$branches" -ge 20 ] && [ "$branches" = "$noted" ] || fail "$1: $noted of $branches indirect branches have targets"
  "$heddle" asm "$1.sass" -o "$1.again"
  cmp "$1" "$1.again"
}
for target in bru1 sm_75 sm_80 sm_86 sm_89 sm_90; do
  mine || continue
  "$heddle" compile -t "$target" "$work/brx.ptx" -o "$work/$target.cubin"
  same_again "$work/$target.cubin"
  "$heddle" check "$work/$target.cubin" > "$work/check.txt" || { cat "$work/check.txt"; exit 1; }
  [ "$target" = bru1 ] && continue
  if [ -n "$nvdisasm" ]; then
    "$nvdisasm" -c "$work/$target.cubin" > "$work/$target.nv" 2> /dev/null || fail "nvdisasm refuses $target.cubin"
    [ "$(grep -c BRANCH_TARGETS "$work/$target.nv")" = "$branches" ] || fail "nvdisasm finds other targets in $target.cubin"
  fi
  [ -n "$ptxas" ] || continue
  sed "s/^.target .*/.target $target/" "$work/brx.ptx" > "$work/$target.ptx"
  "$ptxas" -arch="$target" "$work/$target.ptx" -o "$work/$target.nv.cubin" || continue
  same_again "$work/$target.nv.cubin"
  "$heddle" validate "$work/$target.ptx" "$work/$target.nv.cubin" --launch "$work/brx.json"
done
