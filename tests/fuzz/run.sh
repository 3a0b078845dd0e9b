#!/bin/sh
# run.sh PROGRAM CORPUS TARGET RUNS [INPUT...]: the inputs that once failed, then RUNS inputs of libFuzzer from the corpus, the same ones
# whenever the same build runs, in any folder: one seed, the corpus in a written order, addresses that do not change, no table of comparisons (it would hold addresses).
#   SEED=7 SECONDS_EACH=600 ctest --preset fuzz    a campaign: other inputs, for so long
# What fails is kept as CORPUS/TARGET-crash-*. One input may take 10 minutes and 2 GiB: far more than any needs, on any machine.
# SPDX-License-Identifier: MIT
set -eu
program=$1 corpus=$2 target=$3 runs=$4
shift 4
[ $# = 0 ] || "$program" -timeout=600 "$@"
words= choice=
case $target in ptx | diff) words="-dict=$corpus/ptx.dict" ;; esac
# libFuzzer weighs inputs by their rare features, which takes most of the time where there are tens of thousands: fewer are rare, or all inputs are alike
case $target in ptx | diff) choice=-entropic_feature_frequency_threshold=4 ;; asm | elf) choice=-entropic=0 ;; esac
work="-runs=$runs -use_cmp=0"
[ -z "${SECONDS_EACH:-}" ] || work="-max_total_time=$SECONDS_EACH"
fixed=
! setarch -R true 2>/dev/null || fixed="setarch -R" # (not allowed in every container)
exec $fixed "$program" -seed="${SEED:-1}" $work -timeout=600 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="$corpus/$target-" $words $choice -seed_inputs="@$corpus/$target.inputs"
