#!/usr/bin/env python3
"""json_documented.py HEDDLE DOC SAMPLES DIR: what `--json` prints is what docs/json.md says. Every command of its headings runs; each
member that is printed stands in the table with its type, and each of the table is printed unless it is optional.
SPDX-License-Identifier: MIT"""
import json
import pathlib
import re
import subprocess
import sys

heddle, doc, samples, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
folder.mkdir(parents=True, exist_ok=True)
STORE = """.version 7.0
.target sm_75
.address_size 64
.entry k(.param .u64 p) {
    .reg .u64 %a<3>; .reg .u32 %r<3>; .reg .pred %q;
    ld.param.u64 %a1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %a2, %r1, 4;
    add.u64 %a1, %a1, %a2;
    setp.ge.u32 %q, %r1, 32;
    @%q bra DONE;
    st.global.u32 [%a1], %r1;
DONE:
    ret;
}
"""
(folder / "store.ptx").write_text(STORE)
loop, tests = samples / "mandelbrot.ptx", samples.parent / "tests"
subprocess.run([heddle, "compile", loop, "-o", folder / "good.cubin"], check=True)
subprocess.run([heddle, "mutate", folder / "good.cubin", "--apply", "drop-bsync:0", "-o", folder / "bad.cubin"], check=True)


def kind(value):
    return {dict: "object", list: "list", str: "text", bool: "boolean"}.get(type(value), "number")


def matches(pattern, name):
    """`*` is any one member, at the end of a pattern also what is in it."""
    middle, end = re.escape(pattern[:-1]).replace(r"\*", "[^.]*"), ".*" if pattern.endswith("*") else re.escape(pattern[-1])
    return re.fullmatch(middle + end, name)


def members(value, path, out):
    if path:
        out.setdefault(path, set()).add(kind(value))
    inner = value.items() if isinstance(value, dict) else (("[]", x) for x in value) if isinstance(value, list) else ()
    for name, x in inner:
        members(x, path + name if name == "[]" or not path else f"{path}.{name}", out)


subprocess.run([heddle, "compile", "-t", "sm_80", str(folder / "store.ptx"), "-o", str(folder / "k.cubin")], check=True)
subprocess.run([heddle, "learn", str(folder / "k.cubin"), "-o", str(folder / "k.repo")], check=True, stdout=subprocess.DEVNULL)
subprocess.run([heddle, "disasm", "--sections", str(folder / "k.cubin"), "-o", str(folder / "k.sass")], check=True)
(folder / "dir").mkdir(exist_ok=True)
(folder / "dir" / "store.ptx").write_text(STORE)
failed = seen = 0
sections = re.split(r"(?m)^## ", doc.read_text())[1:]
also = re.compile(r"(?m)^Also: (.*)")
runs = [(command, s) for s in sections for command in [s.split("\n")[0], *re.findall("`([^`]+)`", "".join(also.findall(s)))]]
for command, section in runs:
    words = command.split()[1:]
    file = folder / "store.ptx" if "--arg" in words else loop
    named = {"K.ptx": file, "STUCK.ptx": tests / "litmus/lock_inside.ptx", "SAVED.ptx": tests / "check/regress/cvt_s8_nan.ptx"}
    words = [str(folder / w.lower()) if w.endswith((".cubin", ".repo", ".sass")) or w == "DIR" else str(named.get(w, w)) for w in words]
    done = subprocess.run([heddle, *words], capture_output=True, text=True, timeout=120)
    try:
        printed = {}
        members(json.loads(done.stdout), "", printed)
    except ValueError:
        print(f"{command}: no JSON: {done.stdout[:200]}{done.stderr[:200]}")
        failed = 1
        continue
    told = {}
    for names, said in re.findall(r"(?m)^\| (`[^|]*) \| ([a-z]+(?: \(optional\))?) \|", section):
        for name in re.findall(r"`([^`]+)`", names):
            told[name] = said.split()
    for name, kinds in printed.items():
        seen += 1
        match = [told[pattern] for pattern in sorted(told, key=len, reverse=True) if matches(pattern, name)]
        if not match or kinds != {match[0][0]}:
            print(f"{command}: {name} is {'/'.join(kinds)}, the table says {match[0][0] if match else 'nothing'}")
            failed = 1
    for name, row in told.items():
        if "*" not in name and name not in printed and len(row) == 1:
            print(f"{command}: {name} is not printed")
            failed = 1
sys.exit(1 if failed or seen < 90 else 0)
