#!/bin/sh
# rules.sh ROOT: docs/ptx-threads.md has a row for every rule of the thread-level semantics, and every function that it
# names is defined in the interpreter.
# SPDX-License-Identifier: MIT
set -eu
root=$1 doc=$1/docs/ptx-threads.md failed=0 functions=0
complain() { echo "$1"; failed=1; }
for rule in dop bra call return exit 'ssy, preBrk, preRet, sync, break' vote membar bar.sync bar.arrive bar.red atom st ld mov setp; do
    row=$(grep -F "| $rule |" "$doc") || { complain "no row for $rule"; continue; }
    case $rule in ssy*) continue ;; esac
    # the third column names who does it, or says "the same" as the row above
    printf '%s' "$row" | awk -F'|' '{print $4}' | grep -qE '`|the same' || complain "$rule: no function named"
done
for name in $(sed -n '/^| rule/,/^$/p' "$doc" | awk -F'|' '{print $4 $5}' | grep -oE '`[a-z_]+`' | tr -d '`' | sort -u); do
    case $name in
    shfl | match | redux | elect | activemask | barrier | bar | fence | red) continue ;; # instructions
    esac
    functions=$((functions + 1))
    grep -qE "^[A-Za-z].*[ *]$name\(|^#define $name\(" "$root"/sim/interp/*.[ch] "$root"/sim/launch.[ch] "$root"/frontend/link.c ||
        complain "$name is not defined in sim/"
done
[ $functions -gt 25 ] || complain "only $functions functions named"
echo "16 rules, $functions functions"
exit $failed
