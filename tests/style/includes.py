#!/usr/bin/env python3
"""A folder includes only what stands before it. The order is that of add_subdirectory in CMakeLists.txt, of the whole
and of each folder; files that lie in a folder beside its rooms come before the rooms. The reference interpreter and the
machine share nothing: no include between sim/interp and sim/machine, sim/ops or isa/lane, in either direction; nor
do the two sides of the prover.
SPDX-License-Identifier: MIT"""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])


def rooms(folder):
    """Folders below `folder` in the order in which they are built, each after its own files."""
    yield folder
    text = (folder / "CMakeLists.txt").read_text()
    for name in re.findall(r"^\s*add_subdirectory\((\w+)\)", text, re.M):
        yield from rooms(folder / name)


parts = [p.relative_to(top).as_posix() for p in rooms(top) if p != top]
rank = {p: n for n, p in enumerate(parts) if p.split("/")[0] != "tests"}
twins = {"sim/interp": ("sim/machine", "sim/ops", "isa/lane"), "sim/machine": ("sim/interp",), "sim/ops": ("sim/interp",),
         "check/prove/ptx": ("check/prove/mach",), "check/prove/mach": ("check/prove/ptx",)}
errors = files = 0
for room in rank:
    for file in sorted((top / room).glob("*.[ch]")):
        files += 1
        for line, text in enumerate(file.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include "([\w/]+)/[\w.]+"', text)
            if not found or found.group(1) not in rank:
                continue
            other = found.group(1)
            why = None
            if rank[other] > rank[room]:
                why = "comes later in CMakeLists.txt"
            if other in twins.get(room, ()):
                why = "is the other execution: they share nothing"
            if why:
                print(f"{file.relative_to(top)}:{line}: {room} includes {other}, which {why}")
                errors += 1
print(f"{files} files of {len(rank)} folders, {errors} errors")
sys.exit(errors != 0 or files < 100)
