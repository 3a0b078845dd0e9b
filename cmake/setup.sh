# Sourced by quickstart and run-tests: installs the packages of debian-packages.txt that are missing and
# defines `build DIRECTORY [cmake options]`. SPDX-License-Identifier: MIT
set -eu
top=$(cd "$(dirname "$0")" && pwd)
cd "$top"

install_packages() {
    command -v dpkg-query >/dev/null 2>&1 || { echo "Not a Debian system: please install the packages of cmake/debian-packages.txt"; return 0; }
    missing=
    for p in $(grep -v '^#' cmake/debian-packages.txt); do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "Installing$missing"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

build() {
    dir=$1
    shift
    cmake -S . -B "$dir" -G Ninja "$@" >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
    ninja -C "$dir" >>"$dir.log" 2>&1 || { tail -n 60 "$dir.log"; return 1; }
}
