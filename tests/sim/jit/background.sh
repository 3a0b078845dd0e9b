#!/bin/sh
# background.sh HEDDLE KERNELS DIRECTORY: what another thread compiles. Launches that end before it has opened libLLVM, while
# it compiles, and long after: results, statistics and exit status are the interpreter's. A short launch never opens libLLVM.
# Skipped (77) where there is no libLLVM of version 19 or later, or no host level for compiled code.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/../../part.sh"
heddle=$1 kernels=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
export XDG_CACHE_HOME="$work/cache"
machine() { # FILE OPTIONS...
    out=$1
    shift
    "$heddle" run "$work/k.cubin" --launch "$work/launch.json" --stats "$@" > "$work/$out.all"
    grep -v -e ' M/s' -e '^compiled' "$work/$out.all" > "$work/$out"
}
pick ffma64 rb8
for kernel in $picked; do
    sed "s/\"repeat\": 20/\"repeat\": $((20 / part))/" "$kernels/$kernel.json" > "$work/launch.json"
    "$heddle" compile "$kernels/$kernel.ptx" -o "$work/k.cubin"
    machine interp --engine=interp
    for after in 1 100000 3000000; do
        machine auto --engine=auto --jit-after=$after
        cmp "$work/interp" "$work/auto"
        compiled=$(grep '^compiled' "$work/auto.all")
        case $compiled in
        *"no libLLVM of version"* | *"not on this host"*) echo "skipped: $compiled" && exit 77 ;;
        *failed*) echo "$compiled" && exit 1 ;;
        esac
    done
    machine default
    cmp "$work/interp" "$work/default"
done
sed -e 's/\[1024, 1, 1\]/[1, 1, 1]/' -e 's/"repeat": 20/"repeat": 1/' "$kernels/ffma64.json" > "$work/short.json"
"$heddle" compile "$kernels/ffma64.ptx" -o "$work/k.cubin"
loads() { LD_DEBUG=files "$heddle" run "$work/k.cubin" --launch "$work/short.json" "$@" 2>&1 >/dev/null | grep -q 'libLLVM'; }
loads --engine=jit --jit-after=1 || { echo "what is loaded is not seen" && exit 1; }
! loads || { echo "libLLVM was opened for a short launch" && exit 1; }
