#!/usr/bin/env python3
"""expressions.py EXPRESSIONS: ask ptxas 13.0 for the value of every constant expression of expressions.def, as the initial
value of a variable. Exit status 77 (skip) where that ptxas is not found.
SPDX-License-Identifier: MIT"""
import re
import struct
import subprocess
import sys
import tempfile

from gates import find_ptxas

NAMES = {"UINT64_MAX": 2**64 - 1, "INT64_MAX": 2**63 - 1}


def value(text):
    text = text.replace("(uint64_t)", "")
    return NAMES[text] if text in NAMES else int(text, 0) % 2**64


def initial_bytes(path):
    """The section .nv.global.init of an ELF64 file."""
    file = open(path, "rb").read()
    table, = struct.unpack_from("<Q", file, 40)
    size, count, names = struct.unpack_from("<HHH", file, 58)
    sections = [struct.unpack_from("<IIQQQQ", file, table + i * size) for i in range(count)]
    for name, _, _, _, offset, length in sections:
        start = sections[names][4] + name
        if file[start:file.index(b"\0", start)] == b".nv.global.init":
            return file[offset:offset + length]
    sys.exit("no .nv.global.init")


def main():
    ptxas = find_ptxas()
    cases = re.findall(r'^EXPRESSION\((\w+), "(.*)", (.*)\)$', open(sys.argv[1]).read(), re.M)
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        for kind, text, expected in cases:
            initial = text.replace("%", " % ")  # `%3` is a name to ptxas
            second = "1.0" if kind == "f64" else "1"  # so that there is something to initialise
            with open(directory + "/k.ptx", "w") as file:
                file.write(".version 8.0\n.target sm_75\n.address_size 64\n"
                           f".visible .global .{kind} x[2] = {{{initial}, {second}}};\n")
            made = subprocess.run([ptxas, "-arch", "sm_75", directory + "/k.ptx", "-o", directory + "/k.cubin"],
                                  capture_output=True, text=True)
            got, = struct.unpack_from("<Q", initial_bytes(directory + "/k.cubin")) if not made.returncode else (None,)
            if got != value(expected):
                wrong += 1
                print(f"{text}: {value(expected):#x} here, ptxas", f"{got:#x}" if got is not None else made.stdout + made.stderr)
    print(f"{len(cases)} expressions, {wrong} wrong")
    sys.exit(wrong != 0 or len(cases) < 50)


main()
