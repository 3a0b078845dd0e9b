#!/usr/bin/env python3
"""options.py HEDDLE SAMPLES DIR NEEDS: options that would do nothing are usage errors that name what is missing: every row of
option_needs.def is met by a command line here, of which each is taken, or fails otherwise, with the second words beside it; and options
that shape what is printed or written change it.
SPDX-License-Identifier: MIT"""
import pathlib
import re
import shutil
import subprocess
import sys

heddle, samples, folder, needs = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
shutil.copy(samples / "mandelbrot.ptx", folder / "k.ptx")
(folder / "a.ll").write_text('target triple = "nvptx64-nvidia-cuda"\ndefine void @k(ptr %p) {\n store i32 1, ptr %p\n ret void\n}\n')


def run(*words):
    done = subprocess.run([heddle, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def read(name):
    return (folder / name).read_bytes()


for target in "bru1", "sm_80":
    assert run("compile", "-t", target, "k.ptx", "-o", target + ".cubin") == (0, ""), target
failed = 0
# command, option as in --help, its value, command line beside which it does nothing, words with which it does something
rows = [
    ("check", "lanes", "2", "bru1.cubin", "--model"), ("check", "states", "9", "bru1.cubin", "--model"),
    ("check", "time", "9", "bru1.cubin", "--model"), ("check", "schedule", "s", "bru1.cubin", "--model"),
    ("check", "policy", "all", "bru1.cubin", "--model"),
    ("mutate", "count", "1", "bru1.cubin", None), ("mutate", "kind", "arith", "bru1.cubin", None),
    ("mutate", "programs", "1", "bru1.cubin", None), ("mutate", "prove-time", "0", "bru1.cubin", None),
    ("mutate", "states", "1", "bru1.cubin", None), ("mutate", "with-ptxas", "-O3", "k.ptx", None),
    ("mutate", "seed", "1", "bru1.cubin", None), ("mutate", "no-ptx", None, "k.ptx", "--apply drop-bsync:0 -o out"),
    ("mutate", "new-form", None, "k.ptx", "-t sm_80 --apply drop-bsync:0 -o out"), ("mutate", "ptxas", "p", "k.ptx", None),
    ("validate", "ptxas", "p", "k.ptx --launch auto", None),
    ("validate", "show-launch", "s", "k.ptx --block 32", "--launch auto"), ("run", "jit-after", "9", "k.ptx", "--engine=jit"),
    ("run", "time-limit", "9", "k.ptx", "--engine=gpu"), ("validate", "time-limit", "9", "k.ptx", "--engine=gpu"),
    ("validate", "memory-limit", "900", "k.ptx --launch auto", "."), ("validate", "state", "s", "k.ptx --launch auto", "."),
    ("validate", "jobs", "2", "k.ptx --launch auto", "."), ("prove", "state", "s", "k.ptx", None),
    ("prove", "jobs", "2", "k.ptx", None), ("prove", "time-limit", "9", "k.ptx", None),
    ("disasm", "cfg", None, "bru1.cubin --json", None), ("disasm", "live-registers", None, "bru1.cubin --cfg", None),
    ("disasm", "code-only", None, "bru1.cubin --json", None), ("disasm", "demangle", None, "bru1.cubin --sections", None),
    ("disasm", "json", None, "bru1.cubin --sections", None),
]
compiling = [("optimize", "1"), ("reconverge", "none"), ("predicate", "off"), ("reconverge-opt", "all"), ("yield", "break"),
             ("no-map", None), ("time-passes", None), ("keep-going", None), ("mcpu", "sm_80"), ("libdevice", "l.bc"),
             ("llvm-passes", "none"), ("llvm", "l.so")]
rows += [(command, option, value, "bru1.cubin", None) for command in ("check", "run", "mutate") for option, value in compiling]
rows.append(("run", "optimize", "3", "k.ptx --engine=ptx", None))

for command, option, value, beside, acting in rows:
    given = f"--{option}" + ("" if value is None else f"={value}")
    status, said = run(command, *beside.split(), given)
    if status != 2 or f"heddle {command}: --{option} needs " not in said:
        failed += 1
        print(f"heddle {command} {beside} {given}: status {status}\n{said}")
    if acting is None:
        continue
    status, said = run(command, *beside.split(), given, *acting.split())
    if status == 2 and " needs " in said:
        failed += 1
        print(f"heddle {command} {beside} {given} {acting}: {said}")

# every row of the table has one above; KEY_X or a letter stands for a long name
text = pathlib.Path(needs).read_text()
keys = {"KEY_PROVE_SECONDS": "prove-time", "KEY_LIVE": "live-registers", "'c'": "code-only", "'O'": "optimize"}
tried = {(command, option) for command, option, *_ in rows}
in_table = re.findall(r"^\s*NEEDS\((KEY_\w+|'\w'), (\w+), ", text, re.M)
for command in re.findall(r"^COMPILES\((\w+)\)", text, re.M):
    in_table += [(key, command) for key, of in in_table if of == "command"]
for key, command in in_table:
    name = keys.get(key, key.removeprefix("KEY_").lower().replace("_", "-"))
    commands = {c for c, o in tried if o == name}
    if command != "command" and not ({command} <= commands or (command == "ALL" and commands)):
        failed += 1
        print(f"{name} of {command} is in option_needs.def and not tried")

# what shapes the text or the file does so
plain = {command: run(command, *words) for command, words in
         {"check": ["k.ptx", "--json"], "report": ["k.ptx"], "prove": ["k.ptx"], "mutate": ["k.ptx"]}.items()}
for command, words in [("check", "-O0"), ("check", "--target=sm_80"), ("report", "--predicate=off"), ("report", "-O0"),
                       ("report", "--json"), ("prove", "--json"), ("prove", "-O0"), ("mutate", "--reconverge=none"), ("mutate", "--class=drop-bsync")]:
    if run(command, "k.ptx", *(["--json"] if command == "check" else []), words) == plain[command]:
        failed += 1
        print(f"heddle {command} k.ptx {words} is as without")
run("compile", "-t", "sm_80", "k.ptx", "-o", "plain")
for words in "--no-map", "--no-ptx", "--new-form", "-O0", "--reconverge=none", "-c", "--emit=asm", "--emit=mir", "--emit=ptx":
    run("compile", "-t", "sm_80", "k.ptx", "-o", "other", words)
    if read("other") == read("plain"):
        failed += 1
        print(f"heddle compile {words} writes what it writes without")
for command, option in [("coverage", "--keep-going"), ("coverage", "--no-map"), ("check", "--new-form"), ("run", "--no-ptx"),
                        ("prove", "--new-form"), ("explain", "--json"), ("asm", "--optimize=2")]:
    if run(command, "k.ptx", option)[0] != 2:
        failed += 1
        print(f"heddle {command} takes {option}")
print(f"{len(rows)} options that would do nothing, {failed} failures")
sys.exit(1 if failed else 0)
