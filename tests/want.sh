# Sourced by tests of the program, which set heddle and failed: what a command says, and its status.
# SPDX-License-Identifier: MIT
# want STATUS TEXT ARGS...: the status, and TEXT (if any) somewhere in the output
want() {
    status=$1 text=$2
    shift 2
    "$heddle" "$@" >out 2>&1
    got=$?
    if [ $got -ne "$status" ]; then
        echo "FAIL: heddle $*: status $got, expected $status"
        cat out
        failed=1
    elif [ -n "$text" ] && ! grep -qe "$text" out; then
        echo "FAIL: heddle $*: no '$text' in:"
        cat out
        failed=1
    fi
}
