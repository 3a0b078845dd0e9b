#!/bin/sh
# python.sh BUILD SOURCE DIR PYTHON: `pip install .` into an empty virtual environment, with nothing to download, then what a user
# does there. The libraries are those of BUILD. 77: Python cannot make virtual environments here.
# SPDX-License-Identifier: MIT
build=$1 source=$2 dir=$3 python=$4
rm -rf "$dir"
"$python" -m venv "$dir/venv" >/dev/null 2>&1 && "$dir/venv/bin/pip" --version >/dev/null 2>&1 || {
    echo "no virtual environments here" >&2
    exit 77
}
cd "$dir" || exit 1
HEDDLE_BUILD=$build "$dir/venv/bin/pip" install --no-index "$source" >log 2>&1 || { cat log; exit 1; }
PYTHONPATH= "$dir/venv/bin/python" "$source/tests/package/test_python.py" || exit 1
# numpy, where Python has it
! "$python" -c 'import numpy' 2>/dev/null ||
    PYTHONPATH=$(echo "$dir"/venv/lib/python3*/site-packages) "$python" "$source/tests/package/test_python.py"
