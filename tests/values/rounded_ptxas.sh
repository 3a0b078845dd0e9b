#!/bin/sh
# div, rcp and sqrt to nearest as ptxas compiles them, on the machine, against the host: rounded_ptxas.sh TEST_ROUNDED
# SPDX-License-Identifier: MIT
set -u
if ! ptxas=$("$(dirname "$0")/../find_nvidia.sh" ptxas); then
    echo "no ptxas"
    exit 77
fi
exec "$1" ptxas "$ptxas"
