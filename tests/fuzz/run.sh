#!/bin/sh
# run.sh PROGRAM CORPUS TARGET SECONDS [INPUT...]: the inputs that once failed, then SECONDS of libFuzzer from the corpus.
# What fails is kept as CORPUS/TARGET-crash-*. One input may take 60 s and 1 GiB: far more than any needs, on any machine.
# SPDX-License-Identifier: MIT
set -eu
program=$1 corpus=$2 target=$3 seconds=$4
shift 4
[ $# = 0 ] || "$program" -timeout=60 "$@"
words=
case $target in ptx | diff) words="-dict=$corpus/ptx.dict" ;; esac
# one seed, so that a failure can be had again; campaigns give another
exec "$program" -seed="${SEED:-1}" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="$corpus/$target-" $words "$corpus/$target"
