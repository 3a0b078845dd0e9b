#!/usr/bin/env python3
"""Start of a corpus, cut from what the repository has: corpus.py HEDDLE TOP OUT makes OUT/ptx, OUT/ir, ... and a
dictionary of PTX's words, OUT/ptx.dict. CORPUS_HEDDLE: another build of HEDDLE, which makes the same bytes sooner.
SPDX-License-Identifier: MIT"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

heddle, top, out = (pathlib.Path(argument).resolve() for argument in [os.environ.get("CORPUS_HEDDLE", sys.argv[1]), *sys.argv[2:4]])
MOST_BYTES = {"ptx": 2500, "diff": 2500}  # small inputs find more in a minute


def folder(name):
    path = out / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def compiled(source, *options):
    """What `heddle compile` writes, None where it refuses the program. Paths are relative: files keep them, and the inputs must be the same wherever the tree is."""
    command = [heddle, "compile", source.relative_to(top), "-o", "-", *options]
    done = subprocess.run(command, cwd=top, capture_output=True)
    return done.stdout if done.returncode == 0 else None


def store(path, data):
    if data and len(data) <= MOST_BYTES.get(path.parent.name, 12000):
        path.write_bytes(data)


ptx, ir, asm, elf, words, launch, diff, learn = map(folder, ("ptx", "ir", "asm", "elf", "words", "launch", "diff", "learn"))
programs = [*top.glob("ptx-samples/*.ptx"), *top.glob("tests/*/*.ptx"), *top.glob("tests/*/*/*.ptx")]
targets = ("bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
passes = ("returns", "uniformity", "reconverge", "copies", "control")
for number, program in enumerate(sorted(programs)):
    name, target, level = f"{number:03}_{program.stem}", targets[number % 6], f"-O{number % 4}"
    store(ptx / name, program.read_bytes())
    cubin = compiled(program, "-t", target, level)
    if cubin is None:
        continue
    store(diff / name, program.read_bytes())
    store(elf / name, cubin)
    store(asm / name, compiled(program, "-t", target, level, "--emit=asm"))
    store(ir / name, compiled(program, "-t", target, level, "--emit=mir", f"--stop-after={passes[number % 5]}"))
for file in sorted(top.glob("ptx-samples/*.json")) + sorted(top.glob("tests/*/*/*.json")):
    store(launch / file.stem, file.read_bytes())
for file in sorted(top.glob("tests/check/rules/*.sass")):
    store(asm / file.stem, file.read_bytes())
lines = [line.split() for line in (top / "tests/isa/words.txt").read_text().splitlines() if line.startswith("sm_")]
for number, line in enumerate(lines):
    store(words / f"{number:04}", struct.pack("<QQ", int(line[2], 16), int(line[3], 16)))
# dumps and repositories of a few instructions each
for start in range(0, len(lines), 8):
    some = [line for line in lines[start:start + 8] if line[0] == lines[start][0]]
    rows = [(line[2], line[3], " ".join(line[5:])) for line in some]
    dump = [f"/*{16 * n:04x}*/ {text} ; /* {low} */\n/* {high} */\n" for n, (low, high, text) in enumerate(rows)]
    dump = f"code for {lines[start][0]}\n{''.join(dump)}".encode()
    store(learn / f"dump_{start:04}", dump)
    repository = out / "some.repo"
    (out / "some.sass").write_bytes(dump)
    if subprocess.run([heddle, "learn", "--keep-going", out / "some.sass", "-o", repository], capture_output=True).returncode == 0:
        store(learn / f"repository_{start:04}", repository.read_bytes())

spelled = set()
for file in ("ptx_ops.def", "ptx_forms.def"):
    spelled |= set(re.findall(r'"([\w.]+)"', (top / "frontend" / file).read_text()))
for program in programs:
    spelled |= set(re.findall(r"[.%]?[a-z]\w*(?:\.\w+)*", program.read_text(errors="replace")))
(out / "ptx.dict").write_text("".join(f'"{word}"\n' for word in sorted(spelled)
                                   if len(word) < 40 and not re.search(r"\d\d$|%[a-z]+\d", word)))
for path in (ptx, ir, asm, elf, words, launch, diff, learn):
    inputs = sorted(path.iterdir())
    if not inputs:
        sys.exit(f"no inputs for {path.name}")
    # the order in which libFuzzer takes them; that of a folder is the file system's
    (out / f"{path.name}.inputs").write_text(",".join(map(str, inputs)))
