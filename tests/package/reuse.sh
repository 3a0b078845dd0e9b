#!/bin/bash
# reuse.sh BUILD PART SOURCES COMPILER ARGUMENTS...: the compiler of a sub-project that is made in PART of SOURCES, which are
# those that BUILD was made of. It reads a source and its headers as the sub-project has them, and then takes BUILD's object
# where what was generated is the same, too: the whole project compiled again would be the longest test.
# SPDX-License-Identifier: MIT
build=$1 part=$2 sources=$3
shift 3
words=() object= compiles=
for word in "$@"; do
    [ "$last" = -o ] && object=$word
    [ "$word" = -c ] && compiles=1
    case $last in -o | -MF | -MT) last=$word && continue ;; esac
    last=$word
    case $word in -o | -MF | -MT | -MD | -c) ;; *) words+=("$word") ;; esac
done
made=$(realpath -m "${object:-none}")
theirs=$build/${made#"$part"/}
if [ -z "$compiles" ] || [ "$theirs" = "$build/$made" ] || [ ! -f "$theirs" ]; then
    exec "$@"
fi
files=$("${words[@]}" -M -MT x) || exit 1
for file in $files; do
    case $file in
    "$part"/*) cmp -s "$file" "$build/${file#"$part"/}" || exec "$@" ;;
    "$sources"*) [ "$theirs" -nt "$file" ] || exec "$@" ;;
    esac
done
cp "$theirs" "$object"
