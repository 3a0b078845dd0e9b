#!/bin/sh
# run_flow.sh HEDDLE FILE.ptx LEVEL TARGET: reference interpreter and machine agree on the launch file beside FILE,
# and both with the values written there.
# SPDX-License-Identifier: MIT
set -eu
exec "$1" validate "$2" --launch "${2%.ptx}.json" "-O$3" -t "$4" --check-control
