#!/bin/sh
# with_real_ptxas.sh HEDDLE SAMPLES DIR: ptxas's code of the samples, at -O0 and -O3, does what their PTX says. PTXAS is
# where it is.
# SPDX-License-Identifier: MIT
rm -rf "$3"
mkdir -p "$3"
"$1" validate "$2" --launch auto --with-ptxas=-O0,-O3 --bundles "$3" >"$3/out"
awk '/^(heddle|ptxas)/ && / (differs|not run|not compiled|crashed|time limit) / { print; bad = 1 }
    /^ptxas -O[03].* equal / { n++ }
    END { if (n < 40) { print "only", n, "results of ptxas are equal"; bad = 1 }
          exit bad }' "$3/out"
