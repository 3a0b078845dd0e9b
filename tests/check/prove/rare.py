#!/usr/bin/env python3
"""Errors on paths that hardly any data take: `heddle prove` makes the launch that shows them.

  rare.py HEDDLE RARE.PTX SCRATCH

Each row of ERRORS changes one statement of a kernel; the code of the changed PTX is proved against the PTX as it was. The launches
that `validate --launch auto` infers do not take these paths (status 0, asserted), so that "refuted" is what the directed search found.
SPDX-License-Identifier: MIT"""
import os
import pathlib
import subprocess
import sys

ERRORS = """
word | selp.u32 %r8, 5 | selp.u32 %r8, 6
word | 0x12345678 | 0x12345679
loop | add.u32 %r9, %r9, 100 | add.u32 %r9, %r9, 101
loop | mad.lo.u32 %r6, %r5, 3, %r3 | mad.lo.u32 %r6, %r5, 5, %r3
scalar | 0x00345678 | 0x00345679
scalar | 0x123456789abcdef0 | 0x123456789abcdef1
number | 0f7149F2CA | 0f7149F2CB
tile | selp.u32 %r8, 8 | selp.u32 %r8, 9
events | 0x77777777 | 0x77777776
events | 0x11111111 | 0x11111110
events | [%rd5+4], %r4 | [%rd5+4], %r5
chain | 16510; | 16511;
chain | mad.lo.u32 %r9, %r9, 5 | mad.lo.u32 %r9, %r9, 6
pack | selp.u32 %r3, 1, 2, %p1 | selp.u32 %r3, 3, 2, %p1
pack | 77777; | 77778;
lane | 0x0badcafe | 0x0badcaff
lane | 777; | 778;
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def main():
    heddle, ptx, scratch = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    scratch.mkdir(parents=True, exist_ok=True)
    text, failed, found = ptx.read_text(), 0, 0
    good = run(heddle, "prove", ptx)
    if good.returncode != 0:
        print(f"FAILED: as it is: status {good.returncode}\n{good.stdout}{good.stderr}")
        failed += 1
    for number, row in enumerate(ERRORS.strip().splitlines()):
        if number % int(os.environ.get("HEDDLE_PART", "1")):
            continue
        kernel, old, new = row.split(" | ")
        start = text.index(f".entry {kernel}(")
        at = text.index(old, start)
        bad, binary, target = scratch / "bad.ptx", scratch / "bad.cubin", ("bru1", "sm_80", "sm_90")[number % 3]
        bad.write_text(text[:at] + new + text[at + len(old) :])
        made = run(heddle, "compile", "-t", target, bad, "-o", binary)
        inferred = run(heddle, "validate", ptx, binary, "--launch", "auto", "--kernel", kernel)
        proof = run(heddle, "prove", ptx, binary, "--kernel", kernel)
        if made.returncode or proof.returncode != 4 or "a launch differs at block (" not in proof.stdout or inferred.returncode not in (0, 5):
            print(f"FAILED: {row}: status {proof.returncode}, inferred launches {inferred.returncode}\n{proof.stdout}{proof.stderr}")
            failed += 1
        else:
            found += 1
    print(f"{found} found")
    sys.exit(failed != 0)


main()
