#!/usr/bin/env python3
"""Functions that other files call begin with a prefix of their folder (the table of docs/names.md), and no static name
is defined in more than three files. Finds definitions as clang-format writes them: in the first column, with their brace
on the last line of the head. SPDX-License-Identifier: MIT"""
import collections
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
MOST = 3
prefixes = {}
for line in (top / "docs/names.md").read_text().splitlines():
    row = re.match(r"\| `([\w/]+)` \| ((?:`\w+` ?)+)\|", line)
    if row:
        prefixes[row.group(1)] = tuple(re.findall(r"`(\w+)`", row.group(2)))

comment_or_text = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
directive = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
function = re.compile(r"^((?:\w+[ *]+)+)(\w+)\([^;{}]*\) (?:\{|__attribute)", re.M)
level = re.compile(r"\bLV\((\w+)\)")  # sim/ops: a name for each vector level
variable = re.compile(r"^(static (?:\w+[ *]+)+)(\w+)(?:\[[^\n;=]*\])* ?[=;]", re.M)
errors = functions = 0
static = collections.defaultdict(set)
for folder, allowed in prefixes.items():
    for file in sorted((top / folder).glob("*.c")):
        blank = lambda found: re.sub(r"[^\n]", " ", found.group(0))
        text = directive.sub(blank, comment_or_text.sub(blank, file.read_text()))
        text = level.sub(r"\1", text)
        for found in [*function.finditer(text), *variable.finditer(text)]:
            head, name = found.groups()
            if head.startswith(("static", "INLINE")):
                static[name].add(file.relative_to(top).as_posix())
                continue
            functions += 1
            if name != "main" and not name.startswith(allowed + ("pass_", "__lsan_")):
                line = text.count("\n", 0, found.start(2)) + 1
                print(f"{file.relative_to(top)}:{line}: {name} has no prefix of {folder}: {' '.join(allowed)}")
                errors += 1
for name, files in sorted(static.items()):
    if len(files) > MOST:
        print(f"static {name} in {len(files)} files: {' '.join(sorted(files))}")
        errors += 1
print(f"{functions} functions, {len(static)} static names, {errors} errors")
sys.exit(errors != 0 or functions < 500 or len(static) < 1500)
