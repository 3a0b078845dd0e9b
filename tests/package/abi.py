#!/usr/bin/env python3
"""abi.py HEADER TABLE CC DIR: the public header's structs (size; place, size and type of each member), enumerations and functions are
those of TABLE. UPDATE=1 writes TABLE, which then needs a new minor version. The numbers are the compiler's: a program made of the
header's own declarations prints them.
SPDX-License-Identifier: MIT"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

header, table, cc, folder = map(pathlib.Path, sys.argv[1:5])
text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S)
version = ".".join(re.search(rf"HEDDLE_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR"))
lines = []
for body, name in re.findall(r"typedef struct\s*\{(.*?)\}\s*(\w+);", text, re.S):
    lines.append(f'printf("struct {name}: %zu bytes, aligned to %zu\\n", sizeof({name}), _Alignof({name}));')
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        declaration = re.sub(r"\s+", " ", declaration)
        first, *more = [part.strip() for part in declaration.split(",")] if not pointer else [declaration]
        type_of = re.match(r"(.*?)\**\w+(\[[^]]*\])*$", first)[1].strip() if not pointer else ""
        for part in (first, *more):
            member = pointer[1] if pointer else re.search(r"\w+", part.removeprefix(type_of))[0]
            said = part if part == first else f"{type_of} {part}"
            lines.append(f'printf("  {member}: at %zu, %zu bytes, {said}\\n", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));')
for body, name in re.findall(r"typedef enum\s*\{(.*?)\}\s*(\w+);", text, re.S):
    for constant in re.findall(r"\w+", body):
        lines.append(f'printf("enum {name}: {constant} = %d\\n", {constant});')
for function in re.findall(r"(?m)^HD_API\s+([^;]*);", text):
    lines.append('puts("' + re.sub(r"\s+", " ", function) + '");')
for function in re.findall(r"typedef (\w+ Hd\w+Fn\([^;]*\));", text):
    lines.append('puts("callback ' + re.sub(r"\s+", " ", function) + '");')
folder.mkdir(parents=True, exist_ok=True)
(folder / "abi.c").write_text(f'#include "{header}"\n#include <stdio.h>\nint main(void) {{\n' + "\n".join(lines) + "\n}\n")
subprocess.run([cc, "-w", folder / "abi.c", "-o", folder / "abi"], check=True)
now = f"version {version}\n" + subprocess.run([folder / "abi"], check=True, capture_output=True, text=True).stdout
if os.environ.get("UPDATE"):
    table.write_text(now)
then = table.read_text()
if now != then:
    print("The binary interface is not what it was (-). A change needs another HEDDLE_VERSION_MINOR, SONAME and table (UPDATE=1):")
    print("\n".join(difflib.unified_diff(then.splitlines(), now.splitlines(), lineterm="", n=1)))
    sys.exit(1)
if len(now.splitlines()) < 100:
    sys.exit("too little was found in the header")
