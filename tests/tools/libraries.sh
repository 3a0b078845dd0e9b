#!/bin/sh
# To compile, heddle loads no library beside the C library, and where that has an archive none at all: alone in its
# folder it writes what heddle-full writes. All else is done by heddle-full, which nobody sees.
# usage: libraries.sh HEDDLE SAMPLES READELF DIRECTORY. SPDX-License-Identifier: MIT
heddle=$1 samples=$2 readelf=$3 dir=$4 errors=0
full=$(dirname "$heddle")/heddle-full
fail() { echo "$*"; errors=1; }
rm -rf "$dir" && mkdir -p "$dir/alone" && cd "$dir" || exit 1

"$readelf" -dW "$heddle" | grep 'NEEDED.*lib[^]]*' | grep -v 'libc\.so\|ld-linux' && fail "heddle loads a library"
[ -x "$full" ] || exit $errors
"$readelf" -dW "$heddle" | grep NEEDED && fail "heddle is not alone, and heddle-full is there"

# alone: what compiles does so, what is more says what it misses
cp "$heddle" alone/heddle
for sample in bfs nbody calls wmma_gemm approx; do
    for words in "" "-O0" "-O 1 -tsm_80" "-O3 --target=sm_90a" "--target sm_75" "-t sm_86"; do
        rm -f ours.cubin theirs.cubin
        alone/heddle compile "$samples/$sample.ptx" $words -o ours.cubin || fail "alone, $sample $words"
        "$full" compile "$samples/$sample.ptx" $words -o theirs.cubin || fail "$sample $words"
        cmp ours.cubin theirs.cubin || fail "$sample $words: other bytes"
    done
done
for words in --version "check ours.cubin" "compile - -o x.cubin" "compile $samples/bfs.ptx --json -o x.cubin"; do
    alone/heddle $words <"$samples/bfs.ptx" >log 2>&1
    [ $? = 3 ] && grep -q 'cannot start .*/alone/heddle-full: No such file' log || fail "alone, $words: $(cat log)"
done
[ ! -e x.cubin ] || fail "x.cubin is written by a program that could not go on"

# beside another build's
mkdir other
cp "$heddle" other/heddle
build=$("$readelf" -p .note.heddle "$full" | grep -o '[0-9a-f]\{16\}')
[ "$build" = "$("$readelf" -p .note.heddle "$heddle" | grep -o '[0-9a-f]\{16\}')" ] || fail "the builds: '$build'"
LC_ALL=C sed "s/$build/0123456789abcdef/" "$full" >other/heddle-full
chmod +x other/heddle-full
other/heddle-full --version | grep -q '^heddle ' || fail "the other build does not run"
printf '#!/bin/sh\n' >other/heddle-learn
chmod +x other/heddle-learn
for words in --version "check ours.cubin"; do
    other/heddle $words >log 2>&1
    [ $? = 3 ] && grep -q 'cannot start .*/other/heddle-full: it is of another build' log || fail "another build, $words: $(cat log)"
done
cp "$full" other/heddle-full
other/heddle --version | grep -q '^heddle ' || fail "its own build is not started"
other/heddle learn x >log 2>&1
[ $? = 3 ] && grep -q 'cannot start .*/other/heddle-learn: it is of another build' log || fail "another heddle-learn: $(cat log)"

# both: the same words, statuses and bytes
printf 'target triple = "nvptx64-nvidia-cuda"\ndefine void @f() {\n  ret void\n}\n' >ir.ptx # LLVM IR: found when it is read
printf '.version 7.0\n.target sm_80\nnonsense\n' >wrong.ptx
mkfifo pipe.ptx
same() { # FEED WORDS...
    feed=$1
    shift
    rm -f out.cubin
    case " $* " in *pipe.ptx*) (cat "$feed" >pipe.ptx &) ;; esac
    "$heddle" "$@" <"$feed" >ours 2>&1
    echo $? >>ours
    cat out.cubin >>ours 2>/dev/null
    rm -f out.cubin
    case " $* " in *pipe.ptx*) (cat "$feed" >pipe.ptx &) ;; esac
    "$full" "$@" <"$feed" >theirs 2>&1
    echo $? >>theirs
    cat out.cubin >>theirs 2>/dev/null
    cmp ours theirs || fail "$*: $(diff -a ours theirs | head -5)"
}
bfs=$samples/bfs.ptx
same "$bfs" compile - -o out.cubin
same "$bfs" compile pipe.ptx -o out.cubin
same "$bfs" compile "$bfs" -o out.cubin --json
same "$bfs" compile "$bfs" -o out.cubin -v
same "$bfs" compile "$bfs" --emit=asm
same "$bfs" compile ir.ptx -o out.cubin
same "$bfs" compile wrong.ptx -o out.cubin
same "$bfs" compile missing.ptx -o out.cubin
same "$bfs" compile "$bfs" -o out.cubin --target=nothing
same "$bfs" compile "$bfs" -o
same "$bfs" compile
same "$bfs" --help
same "$bfs" nonsense
exit $errors
