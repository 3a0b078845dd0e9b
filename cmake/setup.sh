# Sourced by quickstart and run-tests: installs the packages of debian-packages.txt that are missing and
# defines `build DIRECTORY [cmake options]`. SPDX-License-Identifier: MIT
set -eu
top=$(cd "$(dirname "$0")" && pwd)
cd "$top"

# What each package of cmake/debian-packages.txt is called elsewhere, as far as the build and quickstart need it.
FEDORA_PACKAGES="gcc cmake ninja-build pkgconf-pkg-config elfutils-libelf-devel xxhash-devel cjson-devel z3-devel flint-devel libcmocka-devel mpfr-devel binutils python3 clang"
ARCH_PACKAGES="gcc cmake ninja pkgconf libelf xxhash cjson z3 flint cmocka mpfr binutils python clang"

# What cannot be installed is said; build, and cmake, then say what they cannot do without.
install_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        if command -v dnf >/dev/null 2>&1; then
            echo "If something is missing:  sudo dnf install $FEDORA_PACKAGES"
        elif command -v pacman >/dev/null 2>&1; then
            echo "If something is missing:  sudo pacman -S --needed $ARCH_PACKAGES"
        else
            echo "Not a Debian system: please install what the packages of cmake/debian-packages.txt are there"
        fi
        return 0
    fi
    missing= sudo=
    for p in $(grep -v '^#' cmake/debian-packages.txt); do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" != 0 ]; then
        # without a terminal nobody can give sudo a password
        if ! command -v sudo >/dev/null 2>&1 || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
            echo "As root, please:  apt-get install --no-install-recommends$missing"
            return 0
        fi
        sudo=sudo
    fi
    echo "Installing$missing"
    $sudo apt-get update -qq || true
    known=
    for p in $missing; do
        if apt-cache show "$p" >/dev/null 2>&1; then known="$known $p"; else echo "There is no package $p here"; fi
    done
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $known >/dev/null ||
        echo "Could not install:$known"
}

build() {
    dir=$1
    shift
    if ! command -v cmake >/dev/null 2>&1; then
        echo "There is no cmake here: nothing was built" >&2
        return 1
    fi
    cmake -S . -B "$dir" -G Ninja "$@" >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
    ninja -C "$dir" >>"$dir.log" 2>&1 || { tail -n 60 "$dir.log"; return 1; }
}

# Can clang make libFuzzer programs here?
has_libfuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const char *p, long n); int LLVMFuzzerTestOneInput(const char *p, long n) { return !p && n; }' |
        clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null >/dev/null 2>&1
}
