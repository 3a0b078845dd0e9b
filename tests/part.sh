# Sourced by tests whose cases walk the same code: `mine` holds for every N-th case (heddle_test_part in cmake/heddle.cmake).
# `pick A B C` leaves all of them in $picked or, of a part, one, the next one each time: machines that one program is tried on.
# SPDX-License-Identifier: MIT
part=${HEDDLE_PART:-1} turn=0
mine() {
    turn=$((turn + 1))
    [ $((turn % part)) = 0 ]
}
pick() {
    picked=$*
    [ "$part" = 1 ] && return
    turn=$((turn + 1))
    shift $((turn % $#))
    picked=$1
}
