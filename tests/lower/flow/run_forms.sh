#!/bin/sh
# run_forms.sh HEDDLE PYTHON FAMILY LEVEL DIRECTORY: every form of the family, against values computed by forms.py.
# SPDX-License-Identifier: MIT
set -eu
work=$5/forms_$3_O$4
mkdir -p "$work"
"$2" "$(dirname "$0")/forms.py" "$3" "$work"
exec "$1" validate "$work/$3.ptx" --launch "$work/$3.json" "-O$4"
