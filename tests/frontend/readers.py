#!/usr/bin/env python3
"""readers.py TOP: a flag that a form may have or not (ptx_modifiers.def: MEANS of class f or h; ptx_forms.def: an
optional element, or one with a choice) is read by what compiles the form, and by what executes it. A flag that nobody
reads would be lost without a word. SPDX-License-Identifier: MIT"""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
table = (top / "frontend/ptx_modifiers.def").read_text()
flags = dict(re.findall(r'^PTX_MODIFIER\([fh], "([^"]+)", MEANS\((PF_\w+)\)\)', table, re.M))
text = (top / "frontend/ptx_forms.def").read_text()
shorthands = dict(re.findall(r'^#define (\w+) "([^"]*)"$', text, re.M))
code = {name: "".join(path.read_text() for path in sorted((top / name).glob("*.c"))) for name in ("lower/select", "sim/interp")}
errors, asked = [], set()
for absent, op, mods, rest in re.findall(r'^PTX_FORM(_ABSENT)?\((\w+), ("[^\n]*?"), "[^"]*",(.*?\)\))$', text, re.M | re.S):
    mods = re.sub(r'"\s*(\w+)\s*"', lambda m: shorthands.get(m.group(1), m.group(0)), mods)
    for optional, words in re.findall(r"(\?)?[fh]\(([^)]*)\)", mods):
        words = words.split("|")
        for word in words if optional or len(words) > 1 else []:
            for column, folder in (("SELECT", "lower/select"), ("INTERP", "sim/interp")):
                if word in flags and not absent and f"{column}(ABSENT" not in rest:
                    asked.add((word, folder))
                    if flags[word] not in code[folder]:
                        errors.append(f"{op} takes .{word}, {flags[word]} is read nowhere in {folder}")
print("\n".join(sorted(set(errors))))
print(f"{len(asked)} flags and readers, {len(errors)} errors")
sys.exit(bool(errors) or len(asked) < 15)
