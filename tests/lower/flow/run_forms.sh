#!/bin/sh
# run_forms.sh HEDDLE PYTHON FAMILY LEVEL DIRECTORY [TARGET [OPTION]]: every form of the family, against values computed by
# forms.py.
# SPDX-License-Identifier: MIT
set -eu
target=${6:-bru1}
work=$5/forms_$3_O$4_$target${7:-}
mkdir -p "$work"
"$2" "$(dirname "$0")/forms.py" "$3" "$work"
exec "$1" validate "$work/$3.ptx" --launch "$work/$3.json" "-O$4" -t "$target" ${7:+"$7"}
