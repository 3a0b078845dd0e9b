#!/usr/bin/env python3
"""Atomic operations at generic addresses, which native machines do in part by ATOM and in part by what stands behind it
(docs/native.md): each operation and type gives what the PTX reference interpreter gives, in the code of Heddle, and of ptxas
where there is one. Lanes of one statement are in global, shared and local memory, each at a place of its own (also with
subnormal numbers, which shared memory keeps), and all at two places that they share. Code that does not ask whether ATOM did
what it should is found out: by a run, and it is not proved.

    generic_atoms.py HEDDLE SCRATCH
SPDX-License-Identifier: MIT
"""
import json, os, re, subprocess, sys

heddle, scratch = sys.argv[1:]
find = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../find_nvidia.sh")
ptxas = subprocess.run([find, "ptxas"], stdout=subprocess.PIPE, text=True).stdout.strip()
os.makedirs(scratch, exist_ok=True)
os.chdir(scratch)
WORDS = ["add.u32", "min.s32", "max.u32", "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32", "exch.b32", "cas.b32",
         "add.f32", "add.noftz.f16x2"]
LONGS = ["add.u64", "min.s64", "max.s64", "min.u64", "max.u64", "and.b64", "or.b64", "xor.b64", "exch.b64", "cas.b64", "add.f64"]
HALVES = ["add.noftz.f16", "cas.b16"]
SM90 = ["add.noftz.bf16", "add.noftz.bf16x2"]
ORDERED = {"exch", "cas", "inc", "dec"}  # what is left depends on who comes last
# what is there, and what the thread brings: %0 for a third of the threads, %1 for the others
START = {"f32": (0x00000031, 0x40400000), "f64": (0x31, 0x4008000000000000), "f16": (0x0031, 0x4200), "bf16": (0x0031, 0x4040)}
BRING = {"f32": (0x80000022, 0x3F800000), "f64": (0x22, 0x3FF0000000000000), "f16": (0x0022, 0x3C00), "bf16": (0x0022, 0x3F80)}


def kernel(form, local):
    op, kind = form.split(".")[0], form.split(".")[-1]
    width = 64 if "64" in kind else 16 if kind in ("f16", "bf16", "b16") else 32
    reg, bits = {16: "h", 32: "w", 64: "x"}[width], f"{{0x%0{width // 4}x}}".replace("{", "").replace("}", "")

    def number(table, k):
        if kind in ("f16x2", "bf16x2"):
            half = table[kind[:-2]]
            return bits % (half[k] | half[1] << 16)
        return bits % table.get(kind, (0x55, 0x1234))[k]

    third = f", {reg}2" if op == "cas" else ""
    statement = f"{form} {reg}3, [a], {reg}1{third};"
    lines = [f".visible .entry {name_of(form)}(.param .u64 out)", "{",
             " .reg .pred p, q, r; .reg .b16 h<8>; .reg .b32 t, u, w<8>; .reg .b64 x<8>, a, o, s, l, k;",
             " .shared .align 8 .b8 own[1032]; .local .align 8 .b8 mine[16];",
             " mov.u32 t, %tid.x; ld.param.u64 o, [out]; cvta.to.global.u64 o, o; mul.wide.u32 k, t, 8;",
             " mov.u64 s, own; cvta.shared.u64 s, s; mov.u64 l, mine; cvta.local.u64 l, l;",
             " rem.u32 u, t, 3; setp.eq.u32 p, u, 0; setp.eq.u32 q, u, 1;",
             # one place each: global, shared, local; its old value is what the thread's number says
             " add.u64 x0, o, k; add.u64 x1, s, k; selp.b64 a, x0, x1, p;" + (" selp.b64 a, l, a, q;" if local else ""),
             " and.b32 u, t, 8; setp.eq.u32 r, u, 0;",
             f" mov.b{width} {reg}0, {number(START, 0)}; mov.b{width} {reg}1, {number(START, 1)};",
             f" selp.b{width} {reg}0, {reg}0, {reg}1, r; st.b{width} [a], {reg}0; mov.b{width} {reg}2, {reg}0;",
             f" mov.b{width} {reg}1, {number(BRING, 0)}; mov.b{width} {reg}4, {number(BRING, 1)}; and.b32 u, t, 4;",
             f" setp.eq.u32 r, u, 0; selp.b{width} {reg}1, {reg}1, {reg}4, r;"]
    if op == "cas":  # every second thread expects what is there
        lines += [" and.b32 u, t, 1; setp.eq.u32 r, u, 0;", f" mov.b{width} {reg}4, {reg}1; mov.b{width} {reg}2, {reg}1;",
                  f" selp.b{width} {reg}1, {reg}0, {reg}4, r;"]
    lines += [f" mov.b{width} {reg}3, 0; setp.ne.u32 r, t, 21;", f" @r atom.{statement}",
              f" ld.b{width} {reg}5, [a]; add.u64 x7, o, k;", f" st.global.b{width} [x7 + 1024], {reg}3; st.global.b{width} [x7 + 2048], {reg}5;"]
    if op not in ORDERED:  # red too, where it is
        lines += [f" red.{form} [a], {reg}1;", f" ld.b{width} {reg}5, [a];", f" st.global.b{width} [x7 + 3072], {reg}5;",
                  # all at one of two places
                  f" setp.eq.u32 r, t, 0; mov.b{width} {reg}0, {number(START, 1)}; @r st.shared.b{width} [own + 1024], {reg}0; bar.sync 0;",
                  " and.b32 u, t, 1; setp.eq.u32 r, u, 0; add.u64 x0, o, 4096; add.u64 x1, s, 1024; selp.b64 a, x0, x1, r;",
                  f" mov.b{width} {reg}1, {number(BRING, 1)}; mov.b{width} {reg}2, {reg}1;", f" atom.{statement}", f" red.{form} [a], {reg}1;",
                  f" bar.sync 0; ld.shared.b{width} {reg}5, [own + 1024]; setp.eq.u32 r, t, 0; @r st.global.b{width} [o + 4104], {reg}5;"]
    return "\n".join(lines + [" ret;", "}", ""])


def name_of(form):
    return form.replace(".", "_")


def module(target, forms, local):
    return f".version 8.0\n.target {target}\n.address_size 64\n" + "".join(kernel(form, local or "16x2" not in form) for form in forms)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def launches(forms):
    return {"buffers": {form: {"type": "u32", "count": 1040} for form in forms},
            "launches": [{"kernel": name_of(form), "grid": [1], "block": [96], "args": [form]} for form in forms]}


failed = False
for target in ["bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"]:
    machine = "sm_80" if target == "bru1" else target
    forms = WORDS + LONGS + HALVES + (SM90 if target == "sm_90" else [])
    with open(f"{target}.json", "w") as out:
        json.dump(launches(forms), out)
    codes = [("-O0", None), ("-O2", None)] + ([("-O0", ptxas), ("-O3", ptxas)] if ptxas and target != "bru1" else [])
    for level, maker in codes:
        file, binary = f"{target}{level}{'p' if maker else ''}.ptx", f"{target}{level}{'p' if maker else ''}.cubin"
        with open(file, "w") as out:  # two halves at once, in local memory, ptxas 13.0 adds as one integer
            out.write(module(machine, forms, not maker))
        made = (run(maker, level, f"-arch={machine}", file, "-o", binary) if maker else
                run(heddle, "compile", level, "-t", target, file, "-o", binary))
        if made.returncode:
            sys.exit(f"{target} {level}: not compiled: {made.stderr}")
        if not maker:  # pairs are added by the operation that ptxas tries, too, not by a loop alone
            code = run(heddle, "disasm", binary).stdout
            for pair in ["F16x2"] + (["BF16x2"] if target == "sm_90" else []):
                if f"ATOM.E.ADD.{pair}.RN" not in code:
                    print(f"{target} {level}: no ATOM.E.ADD.{pair}")
                    failed = True
        out = run(heddle, "validate", file, binary, "--launch", f"{target}.json")
        if out.returncode or " equal: " not in out.stdout or "order-dependent" in out.stdout:
            print(f"{target} {level} by {maker or 'heddle'}: status {out.returncode}\n{out.stdout[:2000]}{out.stderr[:800]}")
            failed = True

# Both blocks of a cluster add to the first one's shared memory.
FAR = ["add.f32", "add.f64", "add.u64", "max.s64", "xor.b64", "add.noftz.f16x2", "add.u32"]
body = "".join(f" red.{form} [a + {8 * k}], {'x' if '64' in form else 'w'}1;\n" for k, form in enumerate(FAR))
with open("far.ptx", "w") as out:
    out.write(f""".version 8.0
.target sm_90
.address_size 64
.visible .entry far(.param .u64 out) .reqnctapercluster 2, 1, 1
{{
 .reg .pred p; .reg .b32 t, c, w<4>; .reg .b64 x<4>, a, s, o, k;
 .shared .align 8 .b8 own[64];
 mov.u32 t, %tid.x; mov.u32 c, %ctaid.x; ld.param.u64 o, [out]; cvta.to.global.u64 o, o; setp.lt.u32 p, t, 8;
 mul.wide.u32 k, t, 8; mov.u64 s, own; add.u64 s, s, k; mov.b64 x0, 0; @p st.shared.b64 [s], x0;
 barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
 mov.u64 a, own; cvta.shared.u64 a, a; mapa.u64 a, a, 0;
 mov.b32 w1, 0x3c003c00; mov.b64 x1, 0x4008000000000000;
{body} barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
 mad.lo.u32 c, c, 8, t; mul.wide.u32 k, c, 8; add.u64 o, o, k; @p ld.shared.b64 x0, [s]; @p st.global.b64 [o], x0;
 ret;
}}
""")
for level, maker in [("-O0", None), ("-O2", None)] + ([("-O0", ptxas), ("-O3", ptxas)] if ptxas else []):
    made = (run(maker, level, "-arch=sm_90", "far.ptx", "-o", "far.cubin") if maker else
            run(heddle, "compile", level, "-t", "sm_90", "far.ptx", "-o", "far.cubin"))
    out = run(heddle, "validate", "far.ptx", "far.cubin", "--grid", "4", "--block", "64", "--arg", "out:o:u64[32]=zero")
    if made.returncode or out.returncode or " equal: " not in out.stdout:
        print(f"in a cluster, {level} by {maker or 'heddle'}: {made.stderr}{out.stdout[:800]}{out.stderr[:800]}")
        failed = True

for form, place in [("add.f32", "shared"), ("max.u64", "shared"), ("cas.b64", "local"), ("exch.b64", "local"), ("add.f64", "local")]:
    width, reg = (32, "w") if "32" in form else (64, "x")
    third = f", {reg}1" if form == "cas.b64" else ""
    with open("asks.ptx", "w") as out:
        out.write(f""".version 8.0
.target sm_80
.address_size 64
.visible .entry asks(.param .u64 out) {{
 .reg .b32 w<4>; .reg .b64 x<4>, a, o;
 .{place} .align 8 .b8 place[8];
 ld.param.u64 o, [out]; cvta.to.global.u64 o, o; mov.u64 a, place; cvta.{place}.u64 a, a;
 mov.b{width} {reg}0, 0; st.{place}.b{width} [place], {reg}0; mov.b{width} {reg}1, 0x3f800001;
 atom.{form} {reg}2, [a], {reg}1{third}; ld.{place}.b{width} {reg}3, [place];
 st.global.b{width} [o], {reg}2; st.global.b{width} [o + 8], {reg}3; ret;
}}
""")
    run(heddle, "compile", "-t", "sm_80", "--emit=asm", "asks.ptx", "-o", "asks.sass")
    head, atom, rest = re.split(r"(ATOM\.E[^\n]*\n)", open("asks.sass").read(), maxsplit=1)
    with open("wrong.sass", "w") as out:
        out.write(head + atom + re.sub(r"@(!?)P\d ", r"@\1PT ", rest))
    if run(heddle, "asm", "wrong.sass", "-o", "wrong.cubin").returncode:
        sys.exit(f"{form}: the edited code is not assembled")
    ran = run(heddle, "validate", "asks.ptx", "wrong.cubin", "--grid", "1", "--block", "1", "--arg", "out:o:u32[4]=zero")
    shown = run(heddle, "prove", "--query-time", "1", "--search-time", "2", "asks.ptx", "wrong.cubin")
    right = run(heddle, "prove", "--query-time", "1", "--search-time", "2", "asks.ptx", "-t", "sm_80")
    if ran.returncode != 4 or shown.returncode not in (4, 5) or right.returncode:
        print(f"{form} in {place} memory, whose predicate nobody asks: validate {ran.returncode}, prove {shown.returncode}, "
              f"of the right code {right.returncode}\n{ran.stdout[:800]}{shown.stdout[:800]}{right.stdout[:800]}")
        failed = True
sys.exit(failed)
