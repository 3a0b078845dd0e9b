#!/bin/sh
# setup.sh SOURCE DIR: what cmake/setup.sh does about packages, with stand-ins for the system's programs: on Debian as root, as a
# user with and without sudo; on Fedora and Arch. SPDX-License-Identifier: MIT
source=$1 dir=$2 failed=0
rm -rf "$dir"
mkdir -p "$dir/tree/cmake"
cp "$source/cmake/setup.sh" "$source/cmake/debian-packages.txt" "$dir/tree/cmake"
printf '. "$(dirname "$0")/cmake/setup.sh"\ninstall_packages\n' >"$dir/tree/quickstart"
# SYSTEM PROGRAM=BODY...: the only programs there are
asked() {
    rm -rf "$dir/bin"
    mkdir "$dir/bin"
    for real in sh bash grep dirname cat; do ln -s "$(command -v $real)" "$dir/bin/$real"; done
    for program; do
        printf '#!/bin/sh\n%s\n' "${program#*=}" >"$dir/bin/${program%%=*}"
        chmod +x "$dir/bin/${program%%=*}"
    done
    PATH=$dir/bin bash "$dir/tree/quickstart" </dev/null 2>&1
}
expect() { # WHAT PATTERN TEXT
    echo "$3" | grep -q "$2" && return
    echo "$1: '$2' is not in: $3"
    failed=1
}
query='dpkg-query=case $3 in libelf-dev|cmake) exit 1 ;; *) echo install ok installed ;; esac'
apt='apt-get=echo apt-get $*' cache='apt-cache=exit 0'
expect "root" "^Installing cmake libelf-dev$" "$(asked "$query" "$apt" "$cache" 'id=echo 0' 'env=shift; exec "$@"')"
expect "no sudo" "^As root, please:  apt-get install --no-install-recommends cmake libelf-dev$" \
    "$(asked "$query" "$apt" "$cache" 'id=echo 1000')"
expect "sudo asks" "^As root, please:" "$(asked "$query" "$apt" "$cache" 'id=echo 1000' 'sudo=exit 1')"
expect "sudo" "^Installing cmake libelf-dev$" "$(asked "$query" "$apt" "$cache" 'id=echo 1000' 'sudo=shift; exit 0')"
[ -z "$(asked 'dpkg-query=echo install ok installed')" ] || { echo "nothing is missing: it says something"; failed=1; }
expect "Fedora" "sudo dnf install .*elfutils-libelf-devel" "$(asked 'dnf=exit 0')"
expect "Arch" "sudo pacman -S --needed .*libelf" "$(asked 'pacman=exit 0')"
expect "other" "Not a Debian system" "$(asked)"
exit $failed
