#!/usr/bin/env python3
"""types.py LIST GATES [write]: which types each opcode takes, for every spelling of its modifiers in GATES (gates.txt):
ask ptxas 13.0 (.version 9.0, sm_100a) whether LIST (types.txt) is still what it says; `write` makes LIST anew.
Exit status 77 (skip) where that ptxas is not found.
SPDX-License-Identifier: MIT"""
import re
import sys
import tempfile

from gates import find_ptxas
from orders import ELSEWHERE, OPEN, refused

# What is taken with any words, besides OPEN, because nothing implements it.
ANY_WORDS = re.compile(r"v(add|sub|min|max|absdiff|avrg|set|mad)[24]?\.|stmatrix\.|(red|st)\.async|ldmatrix")
# What ptxas takes and the front end refuses: types that PTX ISA's own text does not have there, and addresses of 32 bits.
REFUSED = re.compile(r"fma\.rp\.bf16|(getctarank|mapa)\.s|(madc\.hi|subc)\.[us]16|rcp\.rm\.ftz\.f64|setmaxnreg\S*\.s32|cvta\.\S*\.u32")

# The registers that a type is tried with: those of its size, as test_gates.c has them.
LETTERS = {**{t: "h" for t in "b8 u8 s8 b16 u16 s16 f16 bf16".split()},
           **{t: "r" for t in "b32 u32 s32 f32 f16x2 bf16x2 u16x2 s16x2".split()},
           **{t: "d" for t in "b64 u64 s64 f64 f32x2".split()}, "pred": "p"}
HEAD = """# What ptxas 13.0 takes (.version 9.0, sm_100a): a statement, `|`, the types that it takes for @, of those in types.py; %@
# is a register of the type's size. In parentheses: the front end refuses it, as REFUSED of types.py says.
# Written by types.py from the statements of gates.txt: types.py types.txt gates.txt write
"""


def templates(gates):
    """Statements with the last of their types left open, and so the registers of its size outside addresses."""
    found = {}
    for line in open(gates):
        if line.startswith(("#", "until")):
            continue
        name, _, operands = line.rstrip("\n").split(" ", 2)[2].partition(" ")
        words = name.split(".")
        places = [k for k, word in enumerate(words) if k and word in LETTERS]
        if places and not OPEN.match(name) and not ANY_WORDS.match(name) and not ELSEWHERE.search(operands):
            letter = LETTERS[words[places[-1]]]
            words[places[-1]] = "@"
            found[f"{'.'.join(words)} {re.sub('%' + letter + '(?=[0-9]+(?![0-9]*[]+]))', '%@', operands)}"] = None
    return list(found)


def main():
    ptxas, shapes = find_ptxas(), templates(sys.argv[2])
    asked = [(shape, kind, re.sub("%@", "%" + letter, shape).replace("@", kind, 1)) for shape in shapes for kind, letter in LETTERS.items()]
    with tempfile.TemporaryDirectory() as directory:
        wrong = refused(ptxas, directory, "100a", [text for _, _, text in asked])
    taken = {shape: [] for shape in shapes}
    for n, (shape, kind, _) in enumerate(asked):
        if n not in wrong:
            taken[shape].append(f"({kind})" if REFUSED.match(asked[n][2]) else kind)
    text = HEAD + "".join(f"{shape} | {' '.join(kinds)}\n" for shape, kinds in sorted(taken.items()) if kinds)
    if sys.argv[3:] == ["write"]:
        open(sys.argv[1], "w").write(text)
    same = text == open(sys.argv[1]).read()
    print(f"{len(asked)} questions to ptxas, {len(asked) - len(wrong)} taken, the list is {'the same' if same else 'another'}")
    sys.exit(not same)


main()
