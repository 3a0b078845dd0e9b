#!/bin/sh
# A program that links the library sees the functions of heddle.h and nothing else; and the library ends no process,
# writes to no stream of the program, and keeps no state of its own, which threads would share.
# usage: symbols.sh NM libheddle.a READELF, or no READELF in sanitized builds. SPDX-License-Identifier: MIT
nm=$1 archive=$2 readelf=${3-} errors=0
header=$(dirname "$0")/../../include/heddle.h
"$nm" -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort >symbols.found
sed -n 's/^HD_API .*[ *]\(hd_[a-z_]*\)(.*/\1/p' "$header" | sort >symbols.declared
if ! diff symbols.declared symbols.found; then
    echo "the archive's symbols (>) are not what heddle.h declares (<)"
    errors=1
fi
[ "$(wc -l <symbols.declared)" -ge 16 ] || errors=1
# _exit is of the child process that has a card, in sim/gpu.
for name in abort exit quick_exit __assert_fail printf puts putchar perror err errx stdout stderr; do
    if "$nm" -u "$archive" | grep -qw "U $name"; then
        echo "the library refers to $name"
        errors=1
    fi
done
# Variables have sections of their own (-fdata-sections). What may be written: found once, behind pthread_once (sim/machine/levels.c);
# the process that has a card, behind a lock (sim/gpu/gpu.c); what only such a process, or the one that has LLVM, writes.
if [ -n "$readelf" ]; then
    "$readelf" -SW "$archive" | sed -n 's/^ *\[ *[0-9]*\] *\(\.\(data\|bss\)\.[^ ]*\) *[A-Z]* *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1 \3/p' |
        grep -v '^\.data\.rel\.ro\| 0*$' | sed 's/ .*//; s/\.[0-9]*$//; s/.*\.//' | sort >symbols.written
    for name in answer card found once records server; do echo $name; done >symbols.expected
    if ! diff symbols.expected symbols.written; then
        echo "variables of the library that are written (>) are not those that no two threads write at once (<)"
        errors=1
    fi
    rm -f symbols.expected symbols.written
fi
rm -f symbols.found symbols.declared
exit $errors
