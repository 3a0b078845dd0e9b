#!/bin/sh
# A program that links the library sees the functions of heddle.h and nothing else; and the library ends no process and
# writes to no stream of the program. usage: symbols.sh NM libheddle.a. SPDX-License-Identifier: MIT
nm=$1 archive=$2 errors=0
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
rm -f symbols.found symbols.declared
exit $errors
