# Sourced by auto_*.sh HEDDLE SCRATCH: an empty folder to work in, and what a kernel's verdict under inferred launches must be.
# SPDX-License-Identifier: MIT
set -u
. "$(dirname "$0")/../part.sh"
heddle=$1 scratch=$2
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# was the kernel NAME one of those of this part?
tried() { [ -e "$1.ptx" ]; }
# begin NAME VARIABLES PARAMETERS REGISTERS: the file NAME.ptx up to the kernel's statements
begin() { printf '.version 8.0\n.target sm_80\n.address_size 64\n%s\n.visible .entry %s(%s)\n{\n%s\n' "$2" "$1" "$3" "$4" >"$1.ptx"; }
# verdict NAME WANTED: that of the kernel in NAME.ptx begins with WANTED; NAME.json gets the launch
verdict() {
    "$heddle" validate "$1.ptx" --kernel "$1" --launch auto --show-launch "$1.json" >"$1.report"
    grep -q "^$1: $2" "$1.report" || fail "$1 is not '$2': $(head -3 "$1.report")"
}
