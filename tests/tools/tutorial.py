#!/usr/bin/env python3
"""tutorial.py HEDDLE DOCUMENT DIR FIND_NVIDIA: does what a document says, from an empty folder (but for a link to ptx-samples). A fence that begins with ```file NAME
is a file; in the others the lines behind "$ " are commands, run one after the other, and what they print stands below
them. Fences ```ptxas are run only where there is a ptxas, and numbers in their output are not compared: they change with
ptxas. Pictures that the document shows are the files that its commands write. UPDATE=1 writes the document and these anew. SPDX-License-Identifier: MIT"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys

heddle, document, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
(folder / "ptx-samples").symlink_to(document.parent.parent / "ptx-samples")
found = subprocess.run([sys.argv[4], "ptxas"], capture_output=True, text=True)
ptxas = found.stdout.strip() if found.returncode == 0 else None
tools = folder.parent / (folder.name + "-tools")
tools.mkdir(exist_ok=True)
for name, program in (("heddle", heddle), ("ptxas", ptxas)):
    (tools / name).unlink(missing_ok=True)
    if program:
        (tools / name).symlink_to(program)
path = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "80", "LC_ALL": "C"}
commands = files = skipped = 0
now = []


def run(command):
    global commands
    commands += 1
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=200)
    return done.stdout.rstrip("\n").split("\n") if done.stdout else []


def same(kind, line):
    return re.sub(r"[\d.]+|0x[0-9a-f]+", "N", line) if kind == "ptxas" else line


lines = iter(document.read_text().split("\n"))
for line in lines:
    now.append(line)
    if not line.startswith("```"):
        continue
    kind, *name = line[3:].split() or [""]
    inside = []
    for line in lines:
        if line == "```":
            break
        inside.append(line)
    if kind == "file":
        (folder / name[0]).write_text("\n".join(inside) + "\n")
        files += 1
    elif kind == "ptxas" and not ptxas:
        skipped += 1
    else:
        printed = []
        for inner in inside:
            if inner.startswith("$ "):
                printed += ([""] if printed else []) + [inner] + run(inner[2:])
            elif not printed:
                printed = [inner]
        if any(inner.startswith("$ ") for inner in inside) and [same(kind, x) for x in printed] != [same(kind, x) for x in inside]:
            inside = printed
    now += inside + [line]
if "UPDATE" in os.environ:
    document.write_text("\n".join(now))
difference = list(difflib.unified_diff(document.read_text().split("\n"), now, "the document", "now", lineterm=""))
for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", "\n".join(now)):
    kept, made = document.parent / picture, folder / pathlib.Path(picture).name
    if "UPDATE" in os.environ:
        kept.parent.mkdir(exist_ok=True)
        shutil.copy(made, kept)
    if not kept.exists() or kept.read_bytes() != made.read_bytes():
        difference.append(f"{picture} is not what the commands make")
print("\n".join(difference))
print(f"{commands} commands, {files} files" + (f"; skipped: {skipped} fences that need ptxas" if skipped else ""))
sys.exit(bool(difference) or commands < 4)
