#!/bin/sh
# stencils_fuzz.sh HEDDLE SAVED...: random programs of all kinds, interpreted and as stencils at their first execution,
# and where a part has been interpreted before; saved ones, under everything. Copied code is executed in each kind, and
# some launches are cut short so that they trap.
# SPDX-License-Identifier: MIT
set -eu
heddle=$1
shift
"$heddle" fuzz --engine=stencil "$@"
for after in 1 200; do
    out=$("$heddle" fuzz --engine=stencil --jit-after=$after --count 4 --seed 1$after --policies=default --jobs 1) || {
        case $out in *"not on this host"* | *"no executable memory"*) echo "skipped: $out" && exit 77 ;; esac
        echo "$out" && exit 1
    }
    echo "$out"
    echo "$out" | grep -q '[1-9][0-9]* launches were cut short'
    [ $after -ne 1 ] || [ "$(echo "$out" | grep -c 'compiled code executed in [1-9]')" = "$(echo "$out" | grep -c 'per CPU second')" ]
done
