#!/usr/bin/env python3
"""gates.py LIST TARGETS: ask ptxas 13.0 for every line of the list (`8.6 100a statement;`): it must take the statement
with that .version and .target, and refuse it with the .version or the .target before. TARGETS is ptx_targets.def.
Exit status 77 (skip) where that ptxas is not found.
SPDX-License-Identifier: MIT"""
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict

HEAD = """.version {version}
.target sm_{target}
{declarations}
.entry k{params} {{ .reg .b64 %d<40>; .reg .b32 %r<40>; .reg .b16 %h<40>; .reg .b8 %c<40>; .reg .pred %p<40>; {extra}
LL:
"""
VERSIONS = "1.0 1.1 1.2 1.3 1.4 1.5 2.0 2.1 2.2 2.3 3.0 3.1 3.2 4.0 4.1 4.2 4.3 5.0 6.0 6.1 6.2 6.3 6.4 6.5 7.0 7.1 7.2 7.3 " \
           "7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0".split()


def number(target):
    return int(re.match(r"\d+", target).group())


def find_ptxas():
    finder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "find_nvidia.sh")
    ptxas = subprocess.run([finder, "ptxas"], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not ptxas or "release 13.0" not in subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout:
        print("skipped: ptxas 13.0 not found")
        sys.exit(77)
    return ptxas


def refused(ptxas, directory, version, target, statements):
    """Numbers of the statements that ptxas refuses. The last line is always wrong, so that it generates no code."""
    all_text = " ".join(statements)
    declarations = (".global .texref tt; " if "[tt" in all_text else "") + (".global .surfref sf;" if "[sf" in all_text else "")
    text = HEAD.format(version=version, target=target, declarations=declarations, params="(.param .b64 pp)" if any("[pp]" in s for s in statements) else "",
                       extra=".param .b64 qq; .reg .b128 %q<9>;" if any("[qq]" in s or "%q" in s for s in statements) else "")
    first = text.count("\n") + 1
    path = f"{directory}/k.ptx"
    with open(path, "w") as file:
        file.write(text + "\n".join(statements) + "\nbogus;\nret; }\n")
    arch = target if number(target) >= 75 else "75"
    out = subprocess.run([ptxas, "-arch", "sm_" + arch, path, "-o", "/dev/null"], capture_output=True, text=True)
    wrong = {int(line) - first for line in re.findall(r", line (\d+); (?:error|fatal)", out.stdout + out.stderr)}
    if len(statements) not in wrong and not any(n < 0 for n in wrong):
        sys.exit(f"ptxas did not read the module to its end: {out.stdout}{out.stderr}")
    if any(n < 0 for n in wrong):  # the head itself, for .b128 and parameters, or the pair of .version and .target
        return set(range(len(statements))) if "b128" not in out.stdout + out.stderr else wrong
    return wrong


def main():
    ptxas = find_ptxas()
    plain = re.findall(r"^PTX_TARGET\((\w+), VERSION\((\d),(\d)\)\)", open(sys.argv[2]).read(), re.M)
    came = {name: f"{major}.{minor}" for name, major, minor in plain}
    groups, ends = defaultdict(list), []
    for line in open(sys.argv[1]):
        if line.startswith("until "):
            ends.append(line.rstrip("\n").split(" ", 3)[1:])
        elif not line.startswith("#"):
            version, target, statement = line.rstrip("\n").split(" ", 2)
            kind = ["%q" in statement, "[pp]" in statement, "[tt" in statement, "[sf" in statement]
            groups[version, target, str(kind)].append(statement)
    failures, asked = [], 0
    with tempfile.TemporaryDirectory() as directory:
        for (version, target, _), statements in groups.items():
            target = target if number(target) >= 30 else "30"  # before, f64 and state spaces were others
            index = max(VERSIONS.index(version), VERSIONS.index(came[target]))
            bad = refused(ptxas, directory, VERSIONS[index], target, statements)
            failures += [(s, f"ptxas refuses it at {VERSIONS[index]}, sm_{target}")
                         for n, s in enumerate(statements) if n in bad]
            lower = [t for t in came if number(t) < number(target) and t.isdigit() and number(t) >= 30]
            tries = [("9.0", lower[-1])] if lower else []
            tries += [("9.0", target[:-1])] if not target.isdigit() else []
            older = VERSIONS.index(version) - 1
            if older >= VERSIONS.index(came[target]):
                tries.append((VERSIONS[older], target))
            for v, t in tries:
                bad = refused(ptxas, directory, v, t, statements)
                failures += [(s, f"ptxas takes it at {v}, sm_{t}") for n, s in enumerate(statements) if n not in bad]
                asked += len(statements)
            asked += len(statements)
        for version, target, statement in ends:
            if 0 in refused(ptxas, directory, version, target, [statement]):
                failures.append((statement, f"ptxas refuses it at {version}, sm_{target}"))
            later = VERSIONS[VERSIONS.index(version) + 1]
            if 0 not in refused(ptxas, directory, later, target, [statement]):
                failures.append((statement, f"ptxas takes it at {later}, sm_{target}"))
            asked += 2
    for statement, why in failures:
        print(f"{statement} {why}")
    print(f"{asked} questions to ptxas, {len(failures)} answers differ")
    sys.exit(bool(failures) or not asked)


if __name__ == "__main__":
    main()
