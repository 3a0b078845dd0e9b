#!/usr/bin/env python3
"""Chains of mad.lo.cc and madc.hi.cc, as long numbers are multiplied by: two rows of products are added to a number of 256
bits. The result is Python's on every target, each pair of a chain is one IMAD.WIDE with carries, the code keeps what `check`
asks, and is proved; without a carry it is not.

    long_products.py HEDDLE SCRATCH
SPDX-License-Identifier: MIT
"""
import os, random, struct, subprocess, sys

heddle, scratch = sys.argv[1:]
os.makedirs(scratch, exist_ok=True)
os.chdir(scratch)
DIGITS, THREADS = 4, 64  # of 64 bits; x has one word for each, y two words, then comes the number that is added to
IN, OUT = DIGITS + 2 + 2 * DIGITS, 2 * DIGITS + 1
EDGES = [0, 1, 2**32 - 1, 2**32 - 2, 2**31]


def run(*command):
    return subprocess.run([heddle, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def kernel(target):
    rows = []
    for y in range(2):
        for k in range(DIGITS):
            rows += [f"mad{'c' if k else ''}.lo.cc.u32 e{2 * k}, x{k}, y{y}, e{2 * k};", f"madc.hi.cc.u32 e{2 * k + 1}, x{k}, y{y}, e{2 * k + 1};"]
        rows.append(f"addc.u32 c, {'c' if y else 0}, 0;")
    names = [f"x{k}" for k in range(DIGITS)] + ["y0", "y1"] + [f"e{k}" for k in range(2 * DIGITS)]
    return "\n".join([
        ".version 8.0", f".target {target}", ".address_size 64", ".visible .entry k(.param .u64 in, .param .u64 out)", "{",
        f".reg .b32 x<{DIGITS}>, y<2>, e<{2 * DIGITS}>, c, t; .reg .b64 a, b, s;",
        "ld.param.u64 a, [in]; ld.param.u64 b, [out]; mov.u32 t, %tid.x;",
        f"mul.wide.u32 s, t, {4 * IN}; add.u64 a, a, s; mul.wide.u32 s, t, {4 * OUT}; add.u64 b, b, s;",
        *(f"ld.global.u32 {name}, [a + {4 * k}];" for k, name in enumerate(names)), *rows,
        *(f"st.global.u32 [b + {4 * k}], e{k};" for k in range(2 * DIGITS)), f"st.global.u32 [b + {8 * DIGITS}], c;", "ret;", "}", ""])


def expected(words):
    x = sum(w << 64 * k for k, w in enumerate(words[:DIGITS]))
    y, e = words[DIGITS:DIGITS + 2], sum(w << 32 * k for k, w in enumerate(words[DIGITS + 2:]))
    carries = 0
    for row in y:
        e += x * row
        carries, e = carries + (e >> 64 * DIGITS), e % 2 ** (64 * DIGITS)
    return [e >> 32 * k & 0xFFFFFFFF for k in range(2 * DIGITS)] + [carries]


random.seed(5)
threads = [[random.choice(EDGES) if random.random() < 0.6 else random.getrandbits(32) for _ in range(IN)] for _ in range(THREADS)]
threads[0] = [2**32 - 1] * IN
want = [w for t in threads for w in expected(t)]
assert {t[-1] for t in zip(*[iter(want)] * OUT)} >= {0, 1, 2}  # no carry, one, and one of each row
open("in.bin", "wb").write(struct.pack(f"<{THREADS * IN}I", *(w for t in threads for w in t)))
open("want.bin", "wb").write(struct.pack(f"<{THREADS * OUT}I", *want))
failed = []
for target in ("bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"):
    open("k.ptx", "w").write(kernel("sm_75"))
    for level in "0", "2", "3":
        what = f"{target} -O{level}"
        if run("compile", "k.ptx", "-t", target, "-O", level, "-o", "k.cubin").returncode:
            failed.append(f"{what}: not compiled")
            continue
        out = run("run", "k.cubin", "--block", str(THREADS), "--arg", f"buf:u32[{THREADS * IN}]=@in.bin",
                  "--arg", f"out:o:u32[{THREADS * OUT}]=zero", "--expect", "o=@want.bin", "--check-control")
        if out.returncode:
            failed.append(f"{what}: {out.stdout}")
        text = run("disasm", "--sections", "k.cubin").stdout
        chained = text.count("IMAD.WIDE.U32.X")
        if level != "0" and (chained != 2 * (DIGITS - 1) or "IADD3" in text.split("IMAD.WIDE.U32.X", 1)[1].split("IMAD.WIDE.U32.X", 1)[0]):
            failed.append(f"{what}: {chained} chained products")
        for command in ("check", "k.cubin"), ("prove", "--no-launches", "k.ptx", "k.cubin"):
            if run(*command).returncode:
                failed.append(f"{what}: {run(*command).stdout}")
        if level == "2":
            open("wrong.sass", "w").write(text.replace("IMAD.WIDE.U32.X", "IMAD.WIDE.U32", 1).replace(", P0 ;", " ;", 1))
            if run("asm", "wrong.sass", "-o", "wrong.cubin").returncode or run("prove", "--no-launches", "k.ptx", "wrong.cubin").returncode == 0:
                failed.append(f"{what}: proved without a carry, or not assembled")
print("\n".join(failed))
sys.exit(bool(failed))
