# Sourced by tests whose cases walk the same code: `mine` holds for every N-th case (heddle_test_part in cmake/heddle.cmake).
# SPDX-License-Identifier: MIT
part=${HEDDLE_PART:-1} turn=0
mine() {
    turn=$((turn + 1))
    [ $((turn % part)) = 0 ]
}
