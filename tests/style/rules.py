#!/usr/bin/env python3
"""Rules of the house that hold for each file or folder: a comment with the licence at the head; files of at most 800
lines and functions of at most 100, but for flat tables and flat switches; pointers with words for names. tests/ may be
longer. A table says of itself "flat table" in its head; a switch is flat where most lines of the function are its cases.
A refusal of PTX has a section of the PTX ISA document. A file that a page names exists.
What is true of an operation stands in its row: a file that asks for four or more operations of the
machine, or eight or more of PTX, by name says in its head why. Operations with a word of column Flow to themselves are not
counted: to ask for BSYNC is to ask for ISA_FLOW_BSYNC.
SPDX-License-Identifier: MIT"""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
FILE_LINES, FUNCTION_LINES, DEREFERENCES = 800, 100, 75  # the last: one-letter ones in 1,000 lines of a folder
errors = []


def sources():
    for path in sorted(top.rglob("*")):
        parts = path.relative_to(top).parts
        if not path.is_file() or any(part.startswith((".", "build")) for part in parts):
            continue
        if path.suffix in (".c", ".h", ".def", ".isa", ".py", ".sh", ".cmake"):
            yield path.relative_to(top), path.read_text(errors="replace").split("\n")[:-1]


def head(lines):
    """The comment that a file begins with, or ''. A script's first line names its interpreter."""
    text = "\n".join(lines[1:60] if lines[0].startswith("#!") else lines[:60])
    found = re.match(r'\s*(/\*.*?\*/|""".*?"""|(?:(?:#|//).*\n)+)', text + "\n", re.S)
    return found.group(1) if found else ""


def arguments(code, at):
    """Of the call whose parenthesis opens before `at`."""
    depth, quote, out = 0, "", [""]
    while at < len(code) and (depth or quote or code[at] != ")"):
        if quote:
            if code[at] == "\\":
                out[-1] += code[at]
                at += 1
            elif code[at] == quote:
                quote = ""
        elif code[at] in "\"'":
            quote = code[at]
        elif code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
        elif code[at] == "," and not depth:
            out.append("")
            at += 1
            continue
        out[-1] += code[at]
        at += 1
    return [word.strip() for word in out]


def functions(lines):
    """First and last line of each function: clang-format leaves only its first line and brace in the first column."""
    first = 0
    for number, line in enumerate(lines):
        if re.match(r"[A-Za-z_].*[^:]$", line):
            first = number
        elif line == "}":
            yield first, number


def is_flat(lines):
    """A switch whose cases are most of the function."""
    cases = [n for n, line in enumerate(lines) if re.match(r"\s+(case |default:)", line)]
    return len(cases) >= len(lines) / 5


# What the library does with memory: base/scope.h. sim/gpu works in a child process of its own, and the rest of these is of
# the program only; base/demangle.c frees what another library gave it.
OWN_MEMORY = ("base/scope.c", "isa/gen", "sim/gpu", "check/prove", "check/mutate", "check/fuzz", "tools")
allocates = re.compile(r"(?<![\w.>])(?:malloc|calloc|realloc|free|strdup|strndup|asprintf|open_memstream|posix_memalign|"
                       r"aligned_alloc|abort|exit|assert|cJSON_Print\w*|cJSON_Create\w*|cJSON_Add\w*)\(")
# What a file asks for by name: `case OT_IADD3`, `op == OT_IADD3`, `[OT_IADD3] =`; to make one is no question.
NAMED = {"OT_": 4, "PTX_": 8}
flows = re.search(r"static const Word flows\[\] = \{(.*?)\n\};", (top / "isa/gen/traits.c").read_text(), re.S).group(1)
OWN_FLOW = {"OT_BRA", "OT_BRX"} | {f"OT_{word}" for word in re.findall(r'\{"(\w+)"', flows)}
ptx_ops = re.findall(r"PTX_OP\(\s*(\w+)", (top / "frontend/ptx_ops.def").read_text())
asks = re.compile(r"(?:[=!]= ?|case |\[)(OT_\w+|PTX_(?:" + "|".join(ptx_ops) + r")\b)")
lists = []
# Who reads PTX says of what it refuses where the PTX ISA document has it (PTX_DIAG of diag.def); E00xx is of files, E05xx
# of launches, and what is "internal" is no refusal.
READERS = ("frontend", "lower", "regalloc", "sim/interp")
diags = {code: (kind, text) for kind, code, text in
         re.findall(r'^(PTX_DIAG|DIAG)\((E\d+), \w+,(?: "[^"]*",)? "(.*)"\)$', (top / "base/diag.def").read_text(), re.M)}
# What no compiler sees: a diagnostic's format stands in a table, so its arguments are counted here.
formats = dict(re.findall(r'^(?:PTX_DIAG|DIAG)\(([EWN]\d+), \w+,(?: "[^"]*",)? "(.*)"\)$', (top / "base/diag.def").read_text(), re.M))
conversion = re.compile(r"%[-0# +]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j)?([a-zA-Z%])")
reports = refusals = 0
counts = {}  # folder: lines, dereferences of a one-letter name
for path, lines in sources():
    part = path.parts[0]
    if "SPDX-License-Identifier: MIT" not in head(lines):
        errors.append(f"{path}:1: begins with no comment that ends with SPDX-License-Identifier: MIT")
    if path.suffix not in (".c", ".h") or part in ("tests", "ptx-samples"):
        continue
    if len(lines) > FILE_LINES and "flat table" not in head(lines):
        errors.append(f"{path}: {len(lines)} lines, at most {FILE_LINES}")
    for first, last in functions(lines):
        if last - first + 1 > FUNCTION_LINES and not is_flat(lines[first:last]):
            errors.append(f"{path}:{first + 1}: a function of {last - first + 1} lines, at most {FUNCTION_LINES}")
    if not path.as_posix().startswith(OWN_MEMORY + ("base/json.c", "base/demangle.c")):
        for number, line in enumerate(lines):
            if allocates.search(re.sub(r"/\*.*?\*/|//.*", "", line)):
                errors.append(f"{path}:{number + 1}: the library takes memory and gives up through base/scope.h: {line.strip()}")
    code = "\n".join(lines)
    named = set(asks.findall(re.sub(r"/\*.*?\*/|//[^\n]*", "", code, flags=re.S)))
    named -= OWN_FLOW
    if any(sum(name.startswith(table) for name in named) >= least for table, least in NAMED.items()):
        lists.append(f"{path} ({len(named)})")
        if not re.search(r"\bby name\b", re.sub(r"\s*\n \*\s*", " ", head(lines))):
            errors.append(f"{path}: asks for {len(named)} operations by name, and its head does not say why no column of the "
                          f"row does: {' '.join(sorted(named)[:8])} ...")
    for call in re.finditer(r"\bOUT\((.*?)\);", code, re.S):  # a call's arguments have no order: compilers would make other programs
        if len(re.findall(r"\bgen_(?:below|chance|range|src|dst|u64)\(", call[1])) > 1:
            line = code[:call.start()].count("\n") + 1
            errors.append(f"{path}:{line}: two random draws in the arguments of one call")
    for call in re.finditer(r"\bdiag(?:_in)?\(", code):
        given = arguments(code, call.end())
        row = next((k for k, word in enumerate(given) if re.fullmatch(r"DIAG_[EWN]\d+", word)), None)
        if row is None:
            continue
        reports += 1
        wanted = sum((width == "*") + (precision == "*") + (kind != "%")
                     for width, precision, kind in conversion.findall(formats[given[row][5:]]))
        if wanted != len(given) - row - 1:
            line = code[:call.start()].count("\n") + 1
            errors.append(f"{path}:{line}: {given[row]} takes {wanted} arguments in base/diag.def, {len(given) - row - 1} are given")
    if path.as_posix().startswith(READERS):
        for found in re.finditer(r"\bDIAG_(E\d+)", code):
            kind, text = diags[found[1]]
            refusals += kind == "PTX_DIAG"
            if kind != "PTX_DIAG" and not text.startswith("internal") and not found[1].startswith(("E00", "E05")):
                line = code[:found.start()].count("\n") + 1
                errors.append(f"{path}:{line}: {found[1]} refuses PTX and its row of diag.def has no section")
    total = counts.setdefault(path.parent.as_posix(), [0, 0])
    total[0] += len(lines)
    total[1] += len(re.findall(r"\b[a-eg-hj-z]->", code)) - len(re.findall(r"\bb->", code))

# An option that nobody reads does nothing: what the keys set is read in another file.
keys = (top / "tools/options/options.c").read_text()
others = "\n".join(path.read_text() for folder in ("tools", "check", "emit", "sim", "lower", "learn") for path in (top / folder).rglob("*.c")
                   if path.name != "options.c" or path.parent.name != "tools")
fields = {found[1]: found.start() for found in re.finditer(r"\bsettings->(?:\w+\.)*(\w+) \|?= ", keys)}
for name, at in fields.items():
    if not re.search(rf"(?:\.|->){name}\b", others):
        line = keys[:at].count("\n") + 1
        errors.append(f"tools/options/options.c:{line}: {name} is set, and no other file reads it")
if len(fields) < 60:
    errors.append("the fields that options set are not found")

# What a page names there is. Names of tests stand for their sources; words in capitals are for the reader to fill in.
named = 0
for page in [top / "README.md", top / "bench/README.md", *sorted((top / "docs").glob("*.md"))]:
    for line, text in enumerate(page.read_text().splitlines(), 1):
        for name in re.findall(r"`([a-z][\w-]*/[\w./*{},-]+)`", text):
            choice = re.search(r"\{([^}]*)\}", name)
            for path in [name.replace(choice[0], one) for one in choice[1].split(",")] if choice else [name]:
                if (top / path.split("/")[0]).is_dir() and not path.startswith("build") and not re.search(r"[A-Z]{4}", path):
                    named += 1
                    if not list(top.glob(path)) and not list(top.glob(path + ".c")):
                        errors.append(f"{page.relative_to(top)}:{line}: there is no {path}")
if named < 100:
    errors.append("the paths that pages name are not found")

for folder, (total, found) in counts.items():
    if found * 1000 > DEREFERENCES * max(total, 500):
        errors.append(f"{folder}: {found} dereferences of one-letter names in {total} lines, at most {DEREFERENCES} in 1,000")
total, found = (sum(count[n] for count in counts.values()) for n in (0, 1))
if reports < 300:
    errors.append("the reports are not found")
if refusals < 100:
    errors.append("the refusals are not found")
if len(ptx_ops) < 100 or not lists:
    errors.append("the names of operations are not found")
print("\n".join(errors))
print("operations by name:", ", ".join(lists))
print(f"{len(counts)} folders, {total} lines, {found * 1000 / total:.0f} one-letter dereferences in 1,000; {len(errors)} errors")
sys.exit(bool(errors) or len(counts) < 20)
