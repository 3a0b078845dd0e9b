#!/bin/sh
# with_real_ptxas.sh HEDDLE SAMPLES DIR: ptxas's code of the samples, at -O0 and -O3, does what their PTX says. PTXAS is
# where it is.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/../part.sh"
rm -rf "$3"
mkdir -p "$3/samples"
for s in "$2"/*.ptx; do
    ! mine || cp "$s" "${s%.ptx}.json" "$3/samples"
done
"$1" validate "$3/samples" --launch auto --with-ptxas=-O0,-O3 --bundles "$3" >"$3/out"
awk -v least=$((40 / part)) '/^(heddle|ptxas -O[03]) +[^ ]+ +(differs|not run|not compiled|crashed|time limit) / { print; bad = 1 }
    /^ptxas -O[03].* equal / { n++ }
    END { if (n < least) { print "only", n, "results of ptxas are equal"; bad = 1 }
          exit bad }' "$3/out"
