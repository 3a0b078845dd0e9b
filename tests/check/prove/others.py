#!/usr/bin/env python3
"""Code of a program that means something else: it may not be called proved of the first one.

  others.py HEDDLE WHETHER CASES SCRATCH [ptxas]

CASES (others.txt) has programs, each a block of statements between HEAD and TAIL:
  == KIND: NAME
  statements
  --
  statements of a program that does something else; several of these
Each program is compiled by Heddle at -O0 and -O2, or by $PTXAS at -O1 and -O3, which may put right what "(ptxas moves it
back)" is about. The first one's own code must be proved where Heddle made it. WHETHER is the program of whether.c.
With HEDDLE_PART=N it is every N-th case.
SPDX-License-Identifier: MIT"""
import collections
import os
import pathlib
import re
import subprocess
import sys

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn, .param .u32 pm)
{
    .reg .pred %p<16>;
    .reg .b16 %h<20>;
    .reg .b32 %r<40>;
    .reg .b64 %d<40>;
    .reg .f32 %f<40>;
    .reg .f64 %e<20>;
    .shared .align 16 .b8 sh[1024];
    .local .align 16 .b8 lo[64];
    ld.param.u64 %d0, [pa];
    ld.param.u64 %d1, [pb];
    ld.param.u64 %d2, [pc];
    ld.param.u32 %r0, [pn];
    ld.param.u32 %r1, [pm];
    cvta.to.global.u64 %d0, %d0;
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d3, %r2, 4;
    add.s64 %d4, %d0, %d3;
    add.s64 %d5, %d1, %d3;
    add.s64 %d6, %d2, %d3;
    shl.b32 %r3, %r2, 2;
    and.b32 %r3, %r3, 0x3ff;
    mov.u32 %r4, sh;
    add.u32 %r3, %r3, %r4;
    setp.lt.u32 %p0, %r2, %r0;
    setp.lt.u32 %p1, %r2, %r1;
"""
TAIL = "    ret;\n}\n"
MOVES_BACK = " (ptxas moves it back)"


def programs(path):
    """Of each case its name and the text of its programs."""
    for case in re.split(r"^== ", path.read_text(), flags=re.M)[1:]:
        name, body = case.split("\n", 1)
        yield name, [HEAD + text + TAIL for text in re.split(r"^--\n", body, flags=re.M)]


def compiled(heddle, ptxas, folder, number, text):
    """The files of a program."""
    source = folder / f"{number}.ptx"
    source.write_text(text)
    files = []
    for level in ("-O1", "-O3") if ptxas else ("-O0", "-O2"):
        out = folder / f"{number}{level}.cubin"
        command = [ptxas, "-arch=sm_80"] if ptxas else [heddle, "compile", "-t", "sm_80"]
        made = subprocess.run([*command, level, source, "-o", out], capture_output=True, text=True)
        if made.returncode:
            sys.exit(f"FAILED: {source}: {made.stderr}")
        files.append(out)
    return source, files


def main():
    heddle, whether, cases, scratch = sys.argv[1], sys.argv[2], *map(pathlib.Path, sys.argv[3:5])
    ptxas = os.environ["PTXAS"] if sys.argv[5:] == ["ptxas"] else None
    scratch.mkdir(parents=True, exist_ok=True)
    table, failures = collections.Counter(), []
    for name, texts in list(programs(cases))[:: int(os.environ.get("HEDDLE_PART", "1"))]:
        if ptxas and name.endswith(MOVES_BACK):
            continue
        made = [compiled(heddle, ptxas, scratch, number, text) for number, text in enumerate(texts)]
        source, own = made[0]
        others = [file for _, files in made[1:] for file in files]
        asked = subprocess.run([whether, source, "k", "all", *own, *others], capture_output=True, text=True)
        answers = asked.stdout.splitlines()
        if len(answers) != len(own + others):
            failures.append(f"{name}: status {asked.returncode}, {asked.stderr}")
            continue
        failures += [f"{name}: as it is: {answer}" for answer in answers[: len(own)] if answer != "proved" and not ptxas]
        failures += [f"{name}: {file.name}: {answer}" for file, answer in zip(others, answers[len(own) :])
                     if answer != "not proved"]
        table["programs"] += 1
        table["others"] += len(texts) - 1
        table["own proved"] += answers[: len(own)].count("proved")
    for failure in failures:
        print(f"FAILED: {failure}")
    print(", ".join(f"{n} {what}" for what, n in table.items()))
    sys.exit(bool(failures) or not table["others"])


main()
