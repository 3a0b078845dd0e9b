#!/bin/sh
# tools.sh PYTHON SCRIPT HEDDLE SAMPLES DIRECTORY: a script of this folder, with ptxas and nvdisasm where they are found.
# SPDX-License-Identifier: MIT
here=$(dirname "$0")
exec "$1" "$here/$2" "$3" "$4" "$5" "$("$here/../../find_nvidia.sh" ptxas)" "$("$here/../../find_nvidia.sh" nvdisasm)"
