#!/bin/sh
# edits.sh PYTHON HEDDLE SAMPLES DIRECTORY: edits.py with ptxas and nvdisasm where they are found.
# SPDX-License-Identifier: MIT
here=$(dirname "$0")
exec "$1" "$here/edits.py" "$2" "$3" "$4" "$("$here/../../find_nvidia.sh" ptxas)" "$("$here/../../find_nvidia.sh" nvdisasm)"
