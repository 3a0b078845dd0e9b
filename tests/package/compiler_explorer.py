#!/usr/bin/env python3
"""compiler_explorer.py FOLDER HEDDLE HEDDLE_PTXAS SAMPLES DIR: what Compiler Explorer does with the files of FOLDER. Its compiler of type
ptxas runs the configured program with -o, then the configured objdumper with -c -g -hex, and reads that by its filter
for SASS: every instruction that heddle disasm shows must stand in a line of that form, with the same words, and lines of the source. The
documentation of operations is a module of its asm-docs format; with node it is run. SPDX-License-Identifier: MIT"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

folder, heddle, ptxas, samples, work = (pathlib.Path(word).resolve() for word in sys.argv[1:6])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
# what its filter for SASS wants of a line: the address in a comment, the text up to a semicolon, the word in a comment; a place; a label
OPCODE = re.compile(r"[ \t]*/\*(?P<address>[0-9a-f]{4,})\*/ *(?P<disasm>[^;{}*]+);[ \t]*/\* 0x(?P<opcodes>[0-9a-f]{16}) \*/$")
LINE = re.compile(r'[ \t]*//## File "[^"]+", line [0-9]+$')
LABEL = re.compile(r"([.$\w]+):$")
settings = dict(line.split("=", 1) for line in (folder / "heddle.properties").read_text().splitlines() if "=" in line and line[0] != "#")
for key in ("compilers", "group.heddle.compilers", "group.heddle.compilerType", "group.heddle.objdumper", "compiler.heddle01.exe"):
    assert settings[key], key
assert settings["group.heddle.compilerType"] == "ptxas"
assert (folder / pathlib.Path(settings["group.heddle.objdumper"]).name).exists()
version = subprocess.run([ptxas, settings["group.heddle.versionFlag"]], capture_output=True, text=True, check=True).stdout
assert re.search(settings["group.heddle.versionRe"].replace("\\\\", "\\"), version), version
total = lines = 0
for name in ("mandelbrot", "nqueens", "bitonic", "calls"):
    cubin = work / f"{name}.cubin"
    subprocess.run([ptxas, *settings["group.heddle.options"].split(), samples / f"{name}.ptx", "-o", cubin], check=True)
    shown = subprocess.run([sys.executable, folder / "heddle-objdump", "-c", "-g", "-hex", cubin], capture_output=True, text=True, check=True,
                           env={**os.environ, "HEDDLE": str(heddle)}).stdout.splitlines()
    found = [match for match in map(OPCODE.match, shown) if match]
    listed = json.loads(subprocess.run([heddle, "disasm", "--json", cubin], capture_output=True, text=True, check=True).stdout)
    expected = [(insn["pc"], int(insn["low"], 16), insn["text"], insn["control"]) for section in listed["sections"]
                if section["name"].startswith(".text.") for insn in section.get("instructions", [])]
    assert len(found) == len(expected) > 20, (name, len(found), len(expected))
    for match, (pc, low, text, control) in zip(found, expected):
        # what the text names by number the listing names by label
        word = re.sub(r"^@\S+ ", "", text).split()[0]
        assert int(match["address"], 16) == pc and int(match["opcodes"], 16) == low, (name, match[0])
        assert word in match["disasm"].split() and control in match["disasm"], (name, match[0], text)
    lines += sum(bool(LINE.match(line)) for line in shown)
    labels = {match[1] for match in map(LABEL.match, shown) if match}
    targets = set(re.findall(r"`\((\.L\w+)\)", "\n".join(shown)))
    assert targets <= labels, targets - labels
    total += len(found)
assert total > 300 and lines > 200, (total, lines)
docs = (folder / "asm-docs-heddle.ts").read_text()
names = re.findall(r'case "(\w+)":', docs)
known = set(re.findall(r"^\| `(\w+)", subprocess.run([heddle, "explain", "isa"], capture_output=True, text=True, check=True).stdout, re.M))
assert len(names) >= 9 and set(names) <= known, set(names) - known
told = []
for body in re.findall(r"return (\{.*?\});", docs, re.S):
    entry = json.loads(body)
    said = subprocess.run([heddle, "explain", names[len(told)]], capture_output=True, text=True, check=True).stdout
    assert entry["tooltip"] in said and entry["html"] in said, (entry, said)  # one text in two places
    told.append(said)
    assert set(entry) == {"html", "tooltip", "url"} and all(entry.values()) and len(entry["tooltip"]) < 100, entry
node = shutil.which("node")
if node:
    plain = re.sub(r"(?m)^import type .*$", "", docs).replace("(opcode: string | undefined): AssemblyInstructionInfo | undefined", "(opcode)")
    (work / "docs.mjs").write_text(plain + '\nconsole.log([getAsmOpcode("bssy").tooltip, getAsmOpcode("BAR.SYNC").tooltip, getAsmOpcode("NOPE"), getAsmOpcode(undefined)]'
                                   '.map(String).join("|"));\n')
    said = subprocess.run([node, work / "docs.mjs"], capture_output=True, text=True, check=True).stdout.strip()
    assert said == "Registers the active lanes at a convergence barrier.|Warps of a block wait for each other.|undefined|undefined", said
print(f"{total} instructions, {lines} lines, {len(names)} operations" + ("" if node else "; without node"))
