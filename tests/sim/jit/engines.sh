#!/bin/sh
# engines.sh HEDDLE HOST SAMPLE LEVEL DIRECTORY [ENGINE]: one machine. A sample interpreted, and with all that it
# executes compiled at once: statistics, traps, findings and what the sample's checks say must be the same. ENGINE: jit,
# or stencil. Skipped (77) where there is no libLLVM of version 19 or later, or no host level for compiled code.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1 host=$2 sample=$3 level=$4 work=$5/$(basename "$3")_O$4 engine=${6:-jit}
rm -rf "$work"
mkdir -p "$work"
"$host" "$work"
"$heddle" compile "$sample.ptx" "-O$level" -o "$work/k.cubin"
machine() { # FILE OPTIONS...
    out=$1
    shift
    "$heddle" run "$work/k.cubin" --launch "$sample.json" --data-dir "$work" --stats "$@" > "$work/$out.all"
    grep -v -e ' M/s' -e '^compiled' "$work/$out.all" > "$work/$out"
}
machine interp --engine=interp
for after in 1 300; do
    machine jit --engine=$engine --jit-after=$after
    compiled=$(grep '^compiled' "$work/jit.all")
    case $compiled in
    *"no libLLVM of version"*) echo "skipped: $compiled" && exit 77 ;;
    *"not on this host"*) echo "skipped: $compiled" && exit 77 ;;
    *"no executable memory"*) echo "skipped: $compiled" && exit 77 ;;
    *failed*) echo "$compiled" && exit 1 ;;
    esac
    cmp "$work/interp" "$work/jit"
    [ $after -ne 1 ] || ! echo "$compiled" | grep -q ' 0 regions.* 0 of stencils' || { echo "nothing was compiled" && exit 1; }
done
