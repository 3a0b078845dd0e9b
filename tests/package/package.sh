#!/usr/bin/env bash
# package.sh BUILD SOURCE DIR CMAKE: installs BUILD under DIR, and builds a user's C and C++ program against that by pkg-config
# (shared and static) and by find_package (both), from an installation that was moved; then with Heddle as a sub-project, its
# sources unpacked from the source archive, where there is no git. Looks at what is installed, too: symbols, man pages,
# completion, the Debian package.
# SPDX-License-Identifier: MIT
set -u
build=$1 source=$2 dir=$3 cmake=$4 version=
here=$(cd "$(dirname "$0")" && pwd)
export CMAKE_GENERATOR="$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")" # there may be no make
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 1
fail() { echo "FAILED: $*"; [ ! -f log ] || tail -n 30 log; exit 1; }
runs() { # PROGRAM TEXT
    [ "$("$1")" = "$2" ] || fail "$1 does not print '$2'"
}

DESTDIR=$dir/staged "$cmake" --install "$build" --prefix /opt/heddle >log 2>&1 || fail install
mv staged/opt/heddle moved
prefix=$dir/moved
lib=$(dirname "$(find "$prefix" -name libheddle.a)")
for file in bin/heddle bin/heddle-learn bin/heddle-ptxas bin/heddle-fatbinary libexec/heddle/clang/ptxas libexec/heddle/clang/fatbinary include/heddle.h \
    share/man/man1/heddle.1 share/man/man1/heddle-ptxas.1 share/man/man1/heddle-fatbinary.1 \
    share/man/man1/heddle-compile.1 share/doc/heddle/errors.md share/doc/heddle/docs/gallery.md share/heddle/compiler-explorer/heddle-objdump share/doc/heddle/ptx.md share/doc/heddle/isa.md share/bash-completion/completions/heddle share/zsh/site-functions/_heddle \
    share/fish/vendor_completions.d/heddle.fish $(basename "$lib")/libheddle-ptxrun.so; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
[ ! -e "$build/tools/heddle-full" ] || [ -s "$prefix/bin/heddle-full" ] || fail "bin/heddle-full is not installed"
# what loads many libraries is not for those who compile a kernel
for program in heddle heddle-ptxas; do
    ldd "$prefix/bin/$program" | grep -E 'flint|LLVM|stdc' && fail "$program loads what it seldom needs"
done
"$prefix/bin/heddle" learn --keys /dev/null >log 2>&1; [ $? -le 5 ] || fail "heddle learn does not start: $(cat log)"
for page in "$prefix"/share/man/man1/*.1; do # every line is read as text, or as a request that there is
    ! command -v groff >/dev/null 2>&1 || [ -z "$(groff -man -ww -z "$page" 2>&1)" ] || fail "$page: $(groff -man -ww -z "$page" 2>&1)"
    ! grep -n "^[.'][^A-Z\\\"]" "$page" >log || fail "$page has lines that are no requests"
done
"$prefix/bin/heddle" --version >log || fail "the installed heddle does not run"

nm -D --defined-only "$lib/libheddle.so" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -v '^HEDDLE_' | sort >seen
sed -n 's/^HD_API .*[ *]\(hd_[a-z_]*\)(.*/\1/p' "$prefix/include/heddle.h" | sort >declared
diff declared seen || fail "libheddle.so shows (>) other names than heddle.h declares (<)"
readelf -dW "$lib/libheddle.so" | grep -q 'SONAME.*\[libheddle\.so\.0\.1\]' || fail "the SONAME"

# the reference has each function, and where README.md leads there is a page
doc=$prefix/share/doc/heddle
sed -n 's/^### //p' "$doc/api.md" | tr -d ' ' | tr , '\n' | grep '^hd_' | sort >told
diff declared told || fail "api.md has other functions (>) than heddle.h (<)"
for page in $(grep -o '](docs/[a-z-]*\.md' "$doc/README.md" | cut -c3-); do
    [ -s "$doc/$page" ] || fail "README.md leads to $page, which is not installed"
done

# pkg-config; the installation is not where it was configured for, and was moved
config() { PKG_CONFIG_PATH=$lib/pkgconfig pkg-config "$@" heddle; }
cc $here/consumer/main.c $(config --cflags --libs) -Wl,-rpath,"$lib" -o shared 2>log || fail "cc, shared"
runs ./shared "32 numbers doubled"
c++ $here/consumer/main.cpp $(config --cflags --libs) -Wl,-rpath,"$lib" -o shared_cpp 2>log || fail "c++, shared"
runs ./shared_cpp "one kernel"
cc $here/consumer/main.c $(config --cflags) "$lib/libheddle.a" $(config --static --libs | sed 's/-lheddle//') -o static 2>log ||
    fail "cc, static"
runs ./static "32 numbers doubled"
ldd ./static | grep -q libheddle && fail "the static program needs libheddle.so"

"$cmake" -S "$here/consumer" -B found -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 && "$cmake" --build found >log 2>&1 ||
    fail find_package
for kind in heddle heddle_static; do
    runs found/consumer_$kind "32 numbers doubled"
    runs found/consumer_cpp_$kind "one kernel"
done
"$cmake" -S "$here/consumer" -B newer -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 || fail "find_package, again"
sed 's/find_package(Heddle 0.1 /find_package(Heddle 0.2 /' "$here/consumer/CMakeLists.txt" >CMakeLists.txt
cp "$here"/consumer/main.c* .
"$cmake" -S . -B newer2 -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 && fail "version 0.2 was found"

# completion, as bash asks for it
complete() { # WORDS...: the last is completed
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _heddle
    echo "${COMPREPLY[*]}"
}
. "$prefix/share/bash-completion/completions/heddle" || fail "bash does not take the completion"
[ "$(complete heddle dis)" = disasm ] || fail "bash: heddle dis"
[ "$(complete heddle compile --reconverge-o)" = --reconverge-opt= ] || fail "bash: --reconverge-o"
[ "$(complete heddle compile --target = sm_8)" = "sm_80 sm_86 sm_89" ] || fail "bash: --target=sm_8"
[ -z "$(complete heddle asm --reconverge-o)" ] || fail "bash: asm has no --reconverge-opt"
for shell in zsh fish; do
    command -v $shell >/dev/null 2>&1 || continue
    file=$(find "$prefix/share/$shell" -type f)
    $shell -n "$file" 2>log || fail "$shell does not take its completion"
done

# packages
"${cmake%/*}/cpack" --config "$build/CPackSourceConfig.cmake" -B "$dir" >log 2>&1 || fail "the source archive"
tar xzf heddle-*.tar.gz || fail "the source archive does not unpack"
sources=$(echo "$dir"/heddle-*/)
[ ! -e "$sources/.git" ] && [ -x "$sources/quickstart" ] && ! ls -d "$sources"/build* >/dev/null 2>&1 || fail "what the source archive has"
# (by gzip: what others compress with takes longer than all of this test)
if command -v dpkg-deb >/dev/null 2>&1 && command -v dpkg-shlibdeps >/dev/null 2>&1; then
    "${cmake%/*}/cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$dir" \
        -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >log 2>&1 || fail "the Debian package"
    dpkg-deb --info heddle_*.deb >log && grep -q 'Depends:.*libelf' log || fail "what the Debian package depends on"
    dpkg-deb --contents heddle_*.deb >log && grep -q ' \./usr/bin/heddle-ptxas$' log || fail "what the Debian package has"
fi

# sub-project
diff -rq "$sources" "$source" | grep -v "^Only in $source[/:]" >log 2>&1
[ ! -s log ] || fail "what the source archive has is not what the sources have"
launcher=
# what each object of BUILD was made of, as the sub-project has it: reuse.sh
if ninja -C "$build" -t deps >deps 2>log; then
    awk -v build="$build/" -v source="$source/" -v part="$dir/part/heddle/" -v sources="$sources" '
        function within(file, folder) { return substr(file, 1, length(folder)) == folder }
        / #deps .*\(VALID\)$/ { sub(/:$/, "", $1); print "O", $1; next }
        NF { file = $1 ~ /^\// ? $1 : build $1
             if (within(file, build)) print "F", part substr(file, length(build) + 1)
             else if (within(file, source)) print "F", sources substr(file, length(source) + 1) }' deps >made_of
    while read -r kind file; do
        case $kind in
        O) out=part/heddle.deps/$file && mkdir -p "${out%/*}" && : >"$out" ;;
        F) echo "$file" >>"$out" ;;
        esac
    done <made_of
fi
grep -Eq '^HEDDLE_(SANITIZE|THREADS|FUZZ):BOOL=ON' "$build/CMakeCache.txt" ||
    launcher="-DCMAKE_C_COMPILER_LAUNCHER=$here/reuse.sh;$build;$dir/part/heddle;$sources"
"$cmake" -S "$here/consumer" -B part -DHEDDLE_SOURCE="$sources" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 ${launcher:+"$launcher"} >log 2>&1 &&
    "$cmake" --build part -j 2 --target consumer_heddle consumer_cpp_heddle >log 2>&1 || fail add_subdirectory
runs part/consumer_heddle "32 numbers doubled"
runs part/consumer_cpp_heddle "one kernel"
# the same of the archive by FetchContent, as far as the targets that it gives
"$cmake" -S "$here/consumer" -B fetched -DHEDDLE_ARCHIVE="$(echo "$dir"/heddle-*.tar.gz)" >log 2>&1 &&
    cp fetched/CMakeFiles/TargetDirectories.txt log && grep -q '/consumer_heddle\.dir$' log && grep -q '/heddle-ptxas\.dir$' log || fail FetchContent
! grep -q '/test_' log || fail "FetchContent: Heddle's tests are in a user's project"
