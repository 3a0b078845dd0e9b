#!/bin/sh
# engines_fuzz.sh HEDDLE: random programs of all kinds, interpreted and compiled at their first execution, by a launch
# that waits and by launches beside which another thread compiles, and once more from the disk. Compiled code is
# executed in each kind.
# SPDX-License-Identifier: MIT
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for engine in jit auto; do
    out=$("$1" fuzz --engine=$engine --count 1 --seed 11 --policies=default --jobs 1 --jit-cache="$folder/$engine") || {
        case $out in *"no libLLVM of version"* | *"not on this host"*) echo "skipped: $out" && exit 77 ;; esac
        echo "$out" && exit 1
    }
    echo "$out"
    kinds=$(echo "$out" | grep -c 'per CPU second')
    [ "$(echo "$out" | grep -c 'compiled code executed in [1-9]')" = "$kinds" ]
    [ "$(echo "$out" | grep -c '[1-9][0-9]* regions were executed from disk')" = "$kinds" ]
done
