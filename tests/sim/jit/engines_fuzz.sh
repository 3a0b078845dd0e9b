#!/bin/sh
# engines_fuzz.sh HEDDLE: random programs of all kinds, interpreted and compiled at their first execution.
# SPDX-License-Identifier: MIT
set -eu
out=$("$1" fuzz --jit-after=1 --count 3 --seed 11 --policies=default --jobs 1) || {
    case $out in *"no libLLVM of version"* | *"not on this host"*) echo "skipped: $out" && exit 77 ;; esac
    echo "$out" && exit 1
}
echo "$out"
