#!/bin/sh
# run_err.sh ISAGEN NAME: isagen refuses NAME.isa with exactly the message in NAME.err and exit status 1.
# SPDX-License-Identifier: MIT
out=$("$1" "$2.isa" 2>&1)
status=$?
if [ $status -ne 1 ]; then
    echo "exit status $status, expected 1: $out"
    exit 1
fi
printf '%s\n' "$out" | diff "$2.err" -
