#!/usr/bin/env python3
"""spellings.py TEST_GATES: what of every spelling of cvt, set and setp, of the hints of ld and st, and of the registers
that cvt takes is legal, is the same for the front end (TEST_GATES ask) and for ptxas 13.0.
Exit status 77 (skip) where that ptxas is not found.
SPDX-License-Identifier: MIT"""
import itertools
import subprocess
import sys
import tempfile

from gates import find_ptxas, refused

INTEGERS = "u8 u16 u32 u64 s8 s16 s32 s64".split()
TYPES = INTEGERS + "b16 b32 b64 f16 bf16 f32 f64 f16x2 bf16x2 tf32 f32x2 e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2".split()
LETTERS = {"64": "%d", "32": "%r", "tf32": "%r", "f16x2": "%r", "bf16x2": "%r", "f32x2": "%d", "e2m1x2": "%c"}


def register(name, n):
    return f"{LETTERS.get(name, LETTERS.get(name[-2:] if name[-3] not in 'xmt' else '', '%h')) if len(name) > 2 else '%h'}{n}"


def join(*words):
    return ".".join(word for word in words if word)


def conversions():
    flags = ["", "ftz", "sat", "relu", "satfinite", "ftz.sat", "relu.satfinite", "ftz.satfinite"]
    for rounding, flag, to, of in itertools.product(["", *"rn rz rm rp rni rzi rmi rpi rna rs".split()], flags, TYPES, TYPES):
        opcode, a, b = join("cvt", rounding, flag, to, of), register(to, 1), register(of, 2)
        yield f"{opcode} {a},{b};"
        if to.endswith("x2") and of == "f32":
            yield f"{opcode} {a},{b},%r3;"
            yield f"{opcode} {a},{b},%r3,%r4;"


def narrow_operands():
    """Sources and destinations of other sizes, constants, special registers, addresses."""
    for to, of in itertools.product(INTEGERS + ["f16", "bf16", "f32", "f64"], repeat=2):
        rounding = "" if to in INTEGERS and of in INTEGERS else "rni" if to in INTEGERS else "rn"
        for rounding, flag in itertools.product({rounding, ""}, ["", "relu"]):
            opcode, a, b = join("cvt", rounding, flag, to, of), register(to, 1), register(of, 2)
            for other in ["%h5", "%r5", "%d5", "%c5", "5", "5.0", "%tid.x", "%clock64", "%gridid", "LL"]:
                yield f"{opcode} {a},{other};"
                if other[0] == "%" and other[-1] == "5":
                    yield f"{opcode} {other},{b};"


def comparisons():
    types = "u16 s16 u32 s32 u64 s64 b16 b32 b64 f16 bf16 f16x2 bf16x2 f32 f64".split()
    for compare, boolean, flag, of in itertools.product("eq lt lo nan geu".split(), ["", "and"], ["", "ftz"], types):
        sources = f"{register(of, 2)},{register(of, 3)}{',%p1' if boolean else ''};"
        for to in types:
            yield f"{join('set', compare, boolean, flag, to, of)} {register(to, 1)},{sources}"
        for to in "%p1", "%p1|%p2":
            yield f"{join('setp', compare, boolean, flag, of)} {to},{sources}"


def hints():
    vectors = [("b32", "%r1"), ("v4.b32", "{%r1,%r2,%r3,%r4}"), ("v4.u64", "{%d1,%d2,%d3,%d4}"), ("v2.b64", "{%d1,%d2}"),
               ("v8.f32", "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}")]
    for order, space, cache, first, second, policy, fetch, (kind, value) in itertools.product(
            ["", "volatile", "relaxed.gpu", "nc"], ["", "global", "shared", "local"], ["", "ca", "wb"],
            ["", "L1::evict_first", "L1::no_allocate"], ["", "L2::evict_last", "L2::evict_unchanged"], ["", "L2::cache_hint"],
            ["", "L2::128B"], vectors):
        words = join(order, space, cache, first, second, policy, fetch, kind)
        last = ",%d11" if policy else ""
        yield f"ld.{words} {value},[%d9]{last};"
        yield f"st.{words} [%d9],{value}{last};"


def main():
    ptxas, differ, legal = find_ptxas(), [], 0
    asked = [*conversions(), *narrow_operands(), *comparisons(), *hints()]
    with tempfile.TemporaryDirectory() as directory:
        for version, target in ("9.0", "100a"), ("7.8", "90"):
            ours = subprocess.run([sys.argv[1], "ask"], input="".join(f"{version} {target} {s}\n" for s in asked),
                                  capture_output=True, text=True, check=True).stdout.split()
            theirs = set()
            for first in range(0, len(asked), 20000):
                bad = refused(ptxas, directory, version, target, asked[first:first + 20000])
                theirs |= {first + n for n in bad if n < 20000}
            legal += len(asked) - len(theirs)
            differ += [f"{version} sm_{target} {s} is {'refused' if n in theirs else 'taken'} by ptxas only"
                       for n, s in enumerate(asked) if (ours[n] == "1") == (n in theirs)]
    print("\n".join(differ[:100]))
    print(f"{2 * len(asked)} questions, {legal} legal, {len(differ)} answers differ")
    sys.exit(bool(differ) or legal < 4000)


if __name__ == "__main__":
    main()
