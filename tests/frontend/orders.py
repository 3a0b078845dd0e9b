#!/usr/bin/env python3
"""orders.py TEST_GATES LIST: the modifiers of every statement of the list (gates.txt) in other orders: the front end
(TEST_GATES ask) takes those that ptxas 13.0 takes, and no others. Forms that nothing implements take any words.
Exit status 77 (skip) where that ptxas is not found.
SPDX-License-Identifier: MIT"""
import itertools
import random
import re
import subprocess
import sys
import tempfile

from gates import HEAD, find_ptxas

OPEN = re.compile(r"(mma|wmma|tcgen05|wgmma|multimem|tensormap|clusterlaunchcontrol|vshl|vshr|tex|tld4|txq|suq|suld|sust|sured)\.|cvt\.pack|cp\.(async\.bulk|reduce)")
ELSEWHERE = re.compile(r"\[(pp|qq|tt|sf)|%q")  # needs declarations


def refused(ptxas, directory, target, statements):
    """Numbers of the statements that ptxas refuses. After a fatal error it reads no further: the rest is asked again."""
    wrong, start = set(), 0
    while start < len(statements):
        head = HEAD.format(version="9.0", target=target, declarations="", params="", extra="")
        path, first = f"{directory}/k.ptx", head.count("\n") + 1
        with open(path, "w") as file:
            file.write(head + "\n".join(statements[start:]) + "\nbogus;\nret; }\n")
        out = subprocess.run([ptxas, "-arch", "sm_" + target, path, "-o", "/dev/null"], capture_output=True, text=True)
        said = [(int(line) - first, kind) for line, kind in re.findall(r", line (\d+); (error|fatal)", out.stdout + out.stderr)]
        wrong |= {start + at for at, _ in said}
        ends = [at for at, kind in said if kind == "fatal"]
        if not ends and len(statements) not in wrong:
            sys.exit(f"ptxas did not read the module to its end: {out.stdout}{out.stderr}")
        start = start + min(ends) + 1 if ends else len(statements)
    return wrong


def orders(words):
    if len(words) <= 4:
        return set(itertools.permutations(words))
    swaps = [words[:k] + [words[k + 1], words[k]] + words[k + 2:] for k in range(len(words) - 1)]
    return {tuple(order) for order in swaps + [random.sample(words, len(words)) for _ in range(40)]}


def main():
    ptxas, groups, differ, both = find_ptxas(), {}, [], 0
    random.seed(1)
    for line in open(sys.argv[2]):
        if line.startswith(("#", "until")):
            continue
        _, target, statement = line.rstrip(";\n").split(" ", 2)
        name, _, operands = statement.partition(" ")
        opcode, *words = name.split(".")
        if len(words) > 1 and not OPEN.match(name) and not ELSEWHERE.search(operands):
            group = groups.setdefault(target if target == "90a" else "100a", {})
            group.update((f"{'.'.join((opcode, *order))} {operands};", None) for order in orders(words))
    with tempfile.TemporaryDirectory() as directory:
        for target, group in groups.items():
            statements = list(group)
            ours = subprocess.run([sys.argv[1], "ask"], input="".join(f"9.0 {target} {s}\n" for s in statements),
                                  capture_output=True, text=True, check=True).stdout.split()
            theirs = refused(ptxas, directory, target, statements)
            for n, statement in enumerate(statements):
                both += n not in theirs
                if (ours[n] == "1") == (n in theirs):
                    differ.append(f"{'refused' if ours[n] != '1' else 'taken'}, not by ptxas: {statement}")
    print(*differ[:40], sep="\n")
    print(f"{sum(map(len, groups.values()))} orders, {both} legal, {len(differ)} differ")
    sys.exit(bool(differ) or both < 1000)


if __name__ == "__main__":
    main()
