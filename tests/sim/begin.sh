# Sourced by the tests of this folder that run Heddle on programs beside them: the script's own folder is the current one, $dir a scratch folder
# that goes when the script ends; fail TEXT says what is wrong, with the end of $dir/out, and makes $bad 1. SPDX-License-Identifier: MIT
cd "$(dirname "$0")" || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0
fail() {
    echo "FAILED: $*"
    tail -3 "$dir/out" | cut -c1-300
    bad=1
}
