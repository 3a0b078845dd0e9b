#!/usr/bin/env python3
"""options.py HEDDLE SAMPLES DIR NEEDS DOCS: options that would do nothing are usage errors that name what is missing: every row of
option_needs.def is met by a command line here, of which each is taken, or fails otherwise, with the second words beside it; options
that shape what is printed or written change it; and DOCS has each option of fuzz and learn.
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
    return done.returncode, done.stderr + done.stdout


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
    ("mutate", "old-form", None, "k.ptx", "-t sm_80 --apply drop-bsync:0 -o out"), ("mutate", "ptxas", "p", "k.ptx", None),
    ("mutate", "json", None, "k.ptx --apply drop-bsync:0 -o out", None),
    ("validate", "ptxas", "p", "k.ptx --launch auto", None),
    ("validate", "show-launch", "s", "k.ptx --block 32", "--launch auto"), ("run", "jit-after", "9", "k.ptx --engine=interp", "--engine=jit"),
    ("run", "jit-cache", "d", "k.ptx --engine=interp", "--engine=jit"),
    ("run", "host-level", "base", "k.ptx --engine=ptx", "--engine=interp"), ("fuzz", "host-level", "base", "--count 1 --check-only", None),
    ("run", "time-limit", "9", "k.ptx", "--engine=gpu"), ("validate", "time-limit", "9", "k.ptx", "--engine=gpu"),
    ("validate", "memory-limit", "900", "k.ptx --launch auto", "."), ("validate", "state", "s", "k.ptx --launch auto", "."),
    ("validate", "jobs", "2", "k.ptx --launch auto", "."), ("prove", "state", "s", "k.ptx", None),
    ("prove", "jobs", "2", "k.ptx", None), ("prove", "time-limit", "9", "k.ptx", None),
    ("disasm", "cfg", None, "bru1.cubin --json", None), ("disasm", "live-registers", None, "bru1.cubin --cfg", None),
    ("disasm", "code-only", None, "bru1.cubin --json", None), ("disasm", "demangle", None, "bru1.cubin --sections", None),
    ("disasm", "json", None, "bru1.cubin --sections", None),
]
# ptxas's code stands for that of another compiler: it holds no PTX
assert run("compile", "-t", "sm_80", "--no-ptx", "k.ptx", "-o", "foreign.cubin") == (0, "")
compiling = [("optimize", "1"), ("reconverge", "none"), ("predicate", "off"), ("reconverge-opt", "all"), ("yield", "break"), ("time-passes", None)]
llvm = [("mcpu", "sm_80"), ("libdevice", "l.bc"), ("llvm-passes", "none"), ("llvm", "l.so")]
code = {"check": "bru1.cubin", "run": "bru1.cubin", "mutate": "bru1.cubin", "report": "foreign.cubin", "validate": "k.ptx bru1.cubin --block 32",
        "prove": "k.ptx bru1.cubin"}
rows += [(command, option, value, beside, None) for command, beside in code.items() for option, value in compiling + llvm]
rows += [(command, "target", "sm_75", "sm_80.cubin", None) for command in code]
rows += [("prove", "optimize", "1", "bru1.cubin", None), ("validate", "optimize", "1", "bru1.cubin --block 32", None),
         ("report", "optimize", "1", "bru1.cubin --against sm_80.cubin", None), ("report", "profile", "p", "foreign.cubin", None)]
rows += [(command, "no-map", None, beside, None) for command, beside in code.items() if command != "prove"]
rows += [(command, "keep-going", None, "bru1.cubin", None) for command in ("check", "run", "mutate")]
rows += [(command, option, value, "k.ptx", None) for command in ("compile", "link", "coverage", "validate") for option, value in llvm]
rows += [("run", "optimize", "3", "k.ptx --engine=ptx", None), ("run", "yield", "break", "k.ptx --engine=gpu-ptx", None)]
rows += [(command, "json", None, beside, "-o out") for command, beside in
         [("compile", "k.ptx --emit=asm"), ("compile", "k.ptx -o -"), ("link", "k.ptx -o -"), ("asm", "k.sass -o -")]]
rows.append(("check", "model", None, "bru1.cubin --sarif", None))
made = [("kind", "arith"), ("count", "1"), ("seed", "1"), ("first", "1"), ("resume", "s"), ("keep", "d"), ("optimize", "1"), ("max-failures", "1"),
        ("jobs", "1"), ("check-only", None), ("policies", "all"), ("engine", "jit"), ("jit-after", "9"), ("metrics", None)]
rows += [("fuzz", option, value, "k.ptx", None) for option, value in made if option not in ("engine", "jit-after")]
rows += [("fuzz", option, value, "--count 1 --check-only", None) for option, value in made[-4:]]
rows += [("fuzz", "jit-cache", "d", beside, None) for beside in ("--count 1", "--count 1 --engine=interp", "k.ptx")]
rows.append(("fuzz", "reduce", "9", "--count 1 --jobs 1 --kind arith", "--keep kept"))
run("learn", "sm_80.cubin", "-o", "r.repo")
for action in "--verify", "--assemble", "--show", "--against-isa":
    rows += [("learn", option, value, f"sm_80.cubin -r r.repo {action}", None) for option, value in
             [("transfer", "r.repo"), ("keys", None), ("keep-going", None)]]
rows += [("learn", option, value, "--forms=d --arch=sm_80", None) for option, value in [("repository", "r.repo"), ("transfer", "r.repo"), ("keys", None)]]
rows += [("learn", "transfer", "r.repo", "-r r.repo", None), ("learn", "keep-going", None, "-r r.repo", None),
         ("learn", "output", "o", "sm_80.cubin -r r.repo --verify", None), ("learn", "json", None, "sm_80.cubin --show", None),
         ("learn", "json", None, "sm_80.cubin -o -", None), ("learn", "keys", None, "sm_80.cubin -o -", None)]

for command, option, value, beside, acting in rows:
    given = f"--{option}" + ("" if value is None else f"={value}")
    status, said = run(command, *beside.split(), given)
    if status != 2 or f"heddle {command}: --{option} needs " not in said:
        failed += 1
        print(f"heddle {command} {beside} {given}: status {status}\n{said[:200]}")
    if acting is None:
        continue
    status, said = run(command, *beside.split(), given, *acting.split())
    if status == 2 and " needs " in said:
        failed += 1
        print(f"heddle {command} {beside} {given} {acting}: {said}")

# every row of the table has one above; KEY_X or a letter stands for a long name
text = pathlib.Path(needs).read_text()
keys = {"KEY_PROVE_SECONDS": "prove-time", "KEY_LIVE": "live-registers", "'c'": "code-only", "'O'": "optimize", "'t'": "target", "'o'": "output", "'r'": "repository",
        "KEY_FUZZ_JOBS": "jobs", "KEY_LEARN_GOING": "keep-going"}
tried = {(command, option) for command, option, *_ in rows}
in_table = re.findall(r"^\s*NEEDS\((KEY_\w+|'\w'), (\w+), ", text, re.M)
for command in re.findall(r"^COMPILES\((\w+), ", text, re.M):
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
for words in "--no-map", "--no-ptx", "--old-form", "-O0", "--reconverge=none", "-c", "--emit=asm", "--emit=mir", "--emit=ptx":
    run("compile", "-t", "sm_80", "k.ptx", "-o", "other", words)
    if read("other") == read("plain"):
        failed += 1
        print(f"heddle compile {words} writes what it writes without")
for command, option in [("coverage", "--keep-going"), ("coverage", "--no-map"), ("check", "--old-form"), ("run", "--no-ptx"),
                        ("prove", "--old-form"), ("asm", "--optimize=2")]:
    if run(command, "k.ptx", option)[0] != 2:
        failed += 1
        print(f"heddle {command} takes {option}")
# an option that acts is taken: LLVM's level is --optimize, a binary's decisions are told if its PTX compiles to the same
run("compile", "-O1", "k.ptx", "-o", "o1.cubin")
for words in ["check -t bru1 bru1.cubin", "report -O1 o1.cubin", "report o1.cubin -t bru1", "prove --no-map bru1.cubin", "run -O1 --engine=ptx a.ll", "compile --mcpu=sm_80 a.ll"]:
    status, said = run(*words.split())
    if status == 2:
        failed += 1
        print(f"heddle {words}: {said}")
if run("report", "o1.cubin", "--json") == run("report", "-O1", "o1.cubin", "--json"):
    failed += 1
    print("heddle report -O1 of a binary tells what it tells without")
# wrong values, each with its words
wrong = [("fuzz --kind=frob", "some of arith cfg structured calls collectives barriers predication"), ("fuzz --engine=ptx", "none of interp, stencil, jit, auto"), ("fuzz --policies=some", "none of sampled, all, default, literal, one"),
         ("fuzz -O9", "from 0 to 3"), ("fuzz --count=-1", "not a number"), ("fuzz --jobs=65", "from 0 to 64"), ("fuzz --target=sm_1", "there is no machine"),
         ("fuzz --kind=arith --metrics", "measures cfg"), ("learn --arch=80 sm_80.cubin", "no architecture"), ("learn --verify --show sm_80.cubin", "exclude each other"),
         ("learn --verify sm_80.cubin", "need a --repository"), ("learn", "no input file"), ("check --rules=R-99 bru1.cubin", "there are R-01, R-02"),
         ("check --no-hazards --rules=H-02 bru1.cubin", "leaves none"), ("check --severity=R-24=loud bru1.cubin", "R-24=loud")]
for words, text in wrong:
    status, said = run(*words.split())
    if status != 2 or text not in said:
        failed += 1
        print(f"heddle {words}: status {status}, {said}")
(folder / "file").write_text("")
for words, text in [("fuzz --count=1 --keep=file", "file: Not a directory"), ("fuzz --count=1 --keep=no/where", "No such file"),
                    ("learn --transfer=none sm_80.cubin", "cannot read none"), ("learn -r k.ptx", "E0903")]:
    status, said = run(*words.split())
    if status != 1 or text not in said:
        failed += 1
        print(f"heddle {words}: status {status}, {said}")
# documented as --help has them
for command, page in ("fuzz", "fuzzing.md"), ("learn", "learn.md"):
    text = (pathlib.Path(sys.argv[5]) / page).read_text()
    for option in re.findall(r"^  (?:-\S, |    )--([a-z-]+)", run(command, "--help")[1], re.M):
        if f"--{option}" not in text and option not in ("help", "usage", "version"):
            failed += 1
            print(f"docs/{page} says nothing of --{option}")
# a campaign goes on as what it was
campaign = "fuzz --kind=arith --count=4 --jobs=1 --check-only --resume=state".split()
run(*campaign)
if run(*campaign)[0] != 0 or run(*campaign, "-O1")[0] != 1 or run(*campaign, "--target=sm_80")[0] != 1:
    failed += 1
    print("heddle fuzz --resume goes on as another campaign")
print(f"{len(rows)} options that would do nothing, {failed} failures")
sys.exit(1 if failed else 0)
