#!/bin/bash
# reuse.sh BUILD PART SOURCES COMPILER ARGUMENTS...: the compiler of a sub-project that is made in PART of SOURCES, which are
# those that BUILD was made of. Where SOURCES have all that BUILD's object was made of, and what was generated is the same, too, it takes
# that object: the whole project compiled again would be the longest test. PART.deps (package.sh writes it) has the files of each object
# as the sub-project has them; of an object without, the compiler says them.
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
case $object in /*) made=$object ;; *) made=$PWD/$object ;; esac
name=${made#"$part"/}
theirs=$build/$name
if [ -z "$compiles" ] || [ "$name" = "$made" ] || [ ! -f "$theirs" ]; then
    exec "$@"
fi
if [ -f "$part.deps/$name" ]; then
    files=$(<"$part.deps/$name")
else
    files=$("${words[@]}" -M -MT x) || exit 1
fi
for file in $files; do
    case $file in
    "$part"/*) cmp -s "$file" "$build/${file#"$part"/}" || exec "$@" ;;
    "$sources"*) [ -f "$file" ] && [ "$theirs" -nt "$file" ] || exec "$@" ;;
    esac
done
exec cp "$theirs" "$object"
