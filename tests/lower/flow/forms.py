#!/usr/bin/env python3
"""forms.py FAMILY DIRECTORY: write FAMILY.ptx and FAMILY.json, one case for each form of an instruction family.

The expected values are computed here from the definitions of the PTX document, not by any part of Heddle.
SPDX-License-Identifier: MIT"""
import itertools
import json
import operator
import struct
import sys

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
SPECIAL = {"f32": [0x0, 0x80000000, 0x3f800000, 0xbf800000, 0x7fc00000, 0x7f800000, 0xff800000, 0x1],
           "f64": [0x0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff8000000000000, 0x7ff0000000000000,
                   0xfff0000000000000, 0x1]}
ORDERED = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
           "ge": operator.ge}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def write(directory, name, text, buffers, launches, checks):
    with open(f"{directory}/{name}.ptx", "w") as f:
        f.write(text)
    plan = {"module": name + ".ptx", "buffers": buffers, "launches": launches, "checks": checks}
    with open(f"{directory}/{name}.json", "w") as f:
        json.dump(plan, f)


def kernel(name, params, regs, body):
    return (f".visible .entry {name}({', '.join('.param .u64 ' + p for p in params)})\n{{\n{regs}\n{body}\n    ret;\n}}\n")


# ---- setp, set, selp, predicate logic ----

def value(t, bits):
    n = int(t[1:])
    bits &= (1 << n) - 1
    if t[0] == "f":
        return struct.unpack("<f" if n == 32 else "<d", struct.pack("<I" if n == 32 else "<Q", bits))[0]
    return bits - (1 << n) if t[0] == "s" and bits >> (n - 1) else bits


def compare(cmp, t, a, b):
    x, y = value(t, a), value(t, b)
    nan = x != x or y != y
    if cmp == "num":
        return not nan
    if cmp == "nan":
        return nan
    if t[0] == "f" and cmp.endswith("u"):
        return nan or ORDERED[cmp[:-1]](x, y)
    if t[0] == "f":
        return not nan and ORDERED[cmp](x, y)
    return ORDERED[UNSIGNED.get(cmp, cmp)](x, y)


def comparisons(t):
    if t[0] == "b":
        return ["eq", "ne"]
    if t[0] == "f":
        return list(ORDERED) + [c + "u" for c in ORDERED] + ["num", "nan"]
    return list(ORDERED) + (list(UNSIGNED) if t[0] == "u" else [])


def family_compare(directory):
    types = ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"]
    logic = {"and": lambda x, y: x and y, "or": lambda x, y: x or y, "xor": lambda x, y: x != y}
    text, buffers, launches, checks = HEAD, {}, [], []
    for t in types:
        n = int(t[1:])
        base = SPECIAL.get(t, [0, 1, 2, (1 << n) - 1, 1 << (n - 1), (1 << (n - 1)) - 1, 5, (1 << n) - 5])
        a = [base[i & 7] for i in range(64)]
        b = [base[i >> 3] for i in range(64)]
        c = [(i * 0x9e3779b9 >> 7) & 1 for i in range(64)]
        cases = []  # (statements that set p and q, expected p and q for element i)
        for cmp in comparisons(t):
            r = [compare(cmp, t, a[i], b[i]) for i in range(64)]
            cases.append((f"setp.{cmp}.{t} p, a, b; mov.pred q, p;", r, r))
            cases.append((f"setp.{cmp}.{t} p|q, a, b;", r, [not v for v in r]))
            for op, f in logic.items():
                for sign in ("", "!"):
                    cc = [bool(v) != bool(sign) for v in c]
                    cases.append((f"setp.{cmp}.{op}.{t} p|q, a, b, {sign}c;", [f(v, w) for v, w in zip(r, cc)],
                                  [f(not v, w) for v, w in zip(r, cc)]))
        body, out = [], []
        for k, (insn, p, q) in enumerate(cases):
            body.append(f"{insn} selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; add.u32 x, x, y; st.global.u32 [d+{k * 256}], x;")
            out += [int(bool(v)) + 2 * int(bool(w)) for v, w in zip(p, q)]
        for cmp in comparisons(t):
            r = [compare(cmp, t, a[i], b[i]) for i in range(64)]
            for dt in ("u32", "s32", "f32"):
                one = 0x3f800000 if dt == "f32" else 0xffffffff
                body.append(f"set.{cmp}.{dt}.{t} {'f' if dt == 'f32' else 'x'}, a, b; "
                            + ("mov.b32 x, f; " if dt == "f32" else "") + f"st.global.u32 [d+{len(out) * 4}], x;")
                out += [one if v else 0 for v in r]
                body.append(f"set.{cmp}.xor.{dt}.{t} {'f' if dt == 'f32' else 'x'}, a, b, c; "
                            + ("mov.b32 x, f; " if dt == "f32" else "") + f"st.global.u32 [d+{len(out) * 4}], x;")
                out += [one if v != bool(w) else 0 for v, w in zip(r, c)]
        regs = f"    .reg .{t} a, b;\n    .reg .u32 i, x, y, n;\n    .reg .f32 f;\n    .reg .u64 pa, pb, d;\n    .reg .pred p, q, c;"
        load = (f"    ld.param.u64 pa, [A_{t}]; ld.param.u64 pb, [B_{t}]; ld.param.u64 d, [D_{t}];\n"
                f"    mov.u32 i, %tid.x; mad.wide.u32 pa, i, {n // 8}, pa; mad.wide.u32 pb, i, {n // 8}, pb;\n"
                f"    mad.wide.u32 d, i, 4, d; ld.global.{t} a, [pa]; ld.global.{t} b, [pb];\n"
                "    mul.lo.u32 n, i, 0x9e3779b9; and.b32 n, n, 128; setp.ne.u32 c, n, 0;\n    ")
        text += kernel("k_" + t, [f"A_{t}", f"B_{t}", f"D_{t}"], regs, load + "\n    ".join(body))
        buffers["a_" + t] = {"type": f"b{n}", "values": a}
        buffers["b_" + t] = {"type": f"b{n}", "values": b}
        if n == 64:  # a JSON number is a double
            buffers["a_" + t] = {"type": "b32", "values": [v >> s & 0xffffffff for v in a for s in (0, 32)]}
            buffers["b_" + t] = {"type": "b32", "values": [v >> s & 0xffffffff for v in b for s in (0, 32)]}
        buffers["d_" + t] = {"type": "u32", "count": len(out)}
        launches.append({"kernel": "k_" + t, "grid": [1, 1, 1], "block": [64, 1, 1], "args": ["a_" + t, "b_" + t, "d_" + t]})
        checks.append({"buffer": "d_" + t, "values": out})
    write(directory, "compare", text, buffers, launches, checks)


# ---- warp operations ----

def shuffle(mode, lane, b, c):
    seg, cval, bval = c >> 8 & 31, c & 31, b & 31
    top, low = (lane & seg) | (cval & ~seg & 31), lane & seg
    j = {"up": lane - bval, "down": lane + bval, "bfly": lane ^ bval, "idx": low | (bval & ~seg & 31)}[mode]
    ok = j >= top if mode == "up" else j <= top
    return (j if ok else lane), ok


def family_warp(directory):
    data = [(i * 2654435761) & 0xffffffff for i in range(64)]
    data[5] = data[9] = data[40]
    few = [i * i % 5 for i in range(64)]
    odd = [bool(v >> 9 & 1) for v in data]
    body, out = [], []

    def case(insn, values):
        body.append(f"{insn} st.global.u32 [d+{len(out) * 4}], x;")
        assert len(values) == 64
        out.extend(v & 0xffffffff for v in values)

    def warps(f):
        return [f(w, lane) for w in (0, 32) for lane in range(32)]

    flag = "selp.u32 x, 1, 0, q;"
    for src, bits in (("p", odd), ("!p", [not v for v in odd]), ("yes", [True] * 64), ("!yes", [False] * 64)):
        case(f"vote.sync.all.pred q, {src}, -1; {flag}", warps(lambda w, l, b=bits: all(b[w:w + 32])))
        case(f"vote.sync.any.pred q, {src}, -1; {flag}", warps(lambda w, l, b=bits: any(b[w:w + 32])))
        case(f"vote.sync.uni.pred q, {src}, -1; {flag}", warps(lambda w, l, b=bits: all(b[w:w + 32]) or not any(b[w:w + 32])))
        case(f"vote.sync.ballot.b32 x, {src}, -1;", warps(lambda w, l, b=bits: sum(1 << k for k in range(32) if b[w + k])))
    case("activemask.b32 x;", [0xffffffff] * 64)
    for b, src in ((32, "e"), (64, "e64")):
        case(f"match.any.sync.b{b} x, {src}, -1;",
             warps(lambda w, l: sum(1 << k for k in range(32) if few[w + k] == few[w + l])))
        case(f"match.all.sync.b{b} x|q, {src}, -1; @q xor.b32 x, x, 0x55;", [0] * 64)
        case(f"mov.u32 y, 7; match.all.sync.b{b} x|q, {'y' if b == 32 else 'z64'}, -1; @q xor.b32 x, x, 0x55;",
             [0xffffffaa] * 64)
        case(f"match.all.sync.b{b} x, {'y' if b == 32 else 'z64'}, -1;", [0xffffffff] * 64)
    for mode in ("up", "down", "bfly", "idx"):
        for b in (0, 1, 5, 16, 31):
            for c in (0x1f, 0x0, 0x181f, 0x1c1f, 0x1800, 0x7, 0x1e1f):
                r = warps(lambda w, l, m=mode, b=b, c=c: data[w + shuffle(m, l, b, c)[0]])
                q = warps(lambda w, l, m=mode, b=b, c=c: int(shuffle(m, l, b, c)[1]))
                case(f"shfl.sync.{mode}.b32 x|q, v, {b}, {c}, -1;", r)
                case(flag, q)
                case(f"mov.u32 s, {b}; mov.u32 t, {c}; shfl.sync.{mode}.b32 x, v, s, t, -1;", r)
    # the source differs from lane to lane
    case("mul.lo.u32 s, lane, 7; and.b32 s, s, 31; shfl.sync.idx.b32 x, v, s, 31, -1;",
         warps(lambda w, l: data[w + shuffle("idx", l, l * 7 & 31, 0x1f)[0]]))
    signed = lambda v: v - (1 << 32) if v >> 31 else v
    fold = {"add.u32": lambda v: sum(v), "add.s32": lambda v: sum(v), "min.u32": min, "max.u32": max,
            "min.s32": lambda v: min(v, key=signed), "max.s32": lambda v: max(v, key=signed)}
    for op in ("and", "or", "xor"):
        def logic(v, op=op):
            r = v[0]
            for k in v[1:]:
                r = {"and": r & k, "or": r | k, "xor": r ^ k}[op]
            return r
        fold[op + ".b32"] = logic
    for op, f in fold.items():
        case(f"redux.sync.{op} x, v, -1;", warps(lambda w, l, f=f: f(data[w:w + 32])))
    # members that meet in different branches of a divergent if
    low = warps(lambda w, l: sum(data[w + k] for k in range(32) if (k % 3 == 0) == (l % 3 == 0)))
    body.append("@!third bra OTHER; redux.sync.add.u32 x, v, 0x49249249; bra.uni JOIN;\n"
                "OTHER: redux.sync.add.u32 x, v, 0xb6db6db6;\nJOIN: bar.warp.sync -1; "
                f"st.global.u32 [d+{len(out) * 4}], x;")
    out.extend(v & 0xffffffff for v in low)
    regs = ("    .reg .u32 i, x, y, v, e, s, t, lane;\n    .reg .b64 e64, z64;\n    .reg .u64 pv, d;\n"
            "    .reg .pred p, q, yes, third;")
    load = ("    ld.param.u64 pv, [V]; ld.param.u64 d, [D];\n    mov.u32 i, %tid.x; mov.u32 lane, %laneid;\n"
            "    mad.wide.u32 pv, i, 4, pv; mad.wide.u32 d, i, 4, d; ld.global.u32 v, [pv];\n"
            "    and.b32 s, v, 512; setp.ne.u32 p, s, 0; setp.eq.u32 yes, i, i;\n"
            "    mul.lo.u32 e, i, i; rem.u32 e, e, 5; cvt.u64.u32 e64, e; shl.b64 e64, e64, 33; mov.u64 z64, 0x100000001;\n"
            "    rem.u32 s, lane, 3; setp.eq.u32 third, s, 0;\n    ")
    text = HEAD.replace("sm_75", "sm_80") + kernel("k", ["V", "D"], regs, load + "\n    ".join(body))
    write(directory, "warp", text, {"v": {"type": "u32", "values": data}, "d": {"type": "u32", "count": len(out)}},
          [{"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": ["v", "d"]}], [{"buffer": "d", "values": out}])


# ---- barriers ----

def family_barrier(directory):
    """Four warps pass a value on through shared memory, one form of barrier after the other."""
    threads = 128
    body, out = [], []

    def exchange(wait):
        k = len(out) // threads
        body.append(f"add.u32 w, i, {k}; st.shared.u32 [own], w; {wait} ld.shared.u32 x, [other]; "
                    f"st.global.u32 [d+{len(out) * 4}], x; bar.sync 0;")
        out.extend((i ^ 96) + k for i in range(threads))

    for number in range(16):
        for name in ("bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync", "barrier.sync.aligned",
                     "barrier.cta.sync.aligned"):
            if number < 2 or number == 15 or name == "bar.sync":
                exchange(f"{name} {number};")
                exchange(f"{name} {number}, {threads};")
                exchange(f"mov.u32 n, {number}; {name} n;")
                exchange(f"mov.u32 n, {number}; mov.u32 c, {threads}; {name} n, c;")
                exchange(f"mov.u32 c, {threads}; {name} {number}, c;")
    # a pair of warps at a time: threads 0..63 at barrier 1, the others at barrier 2
    k = len(out) // threads
    body.append(f"add.u32 w, i, {k}; st.shared.u32 [own], w; shr.u32 n, i, 6; add.u32 n, n, 1; bar.sync n, 64; "
                f"ld.shared.u32 x, [pair]; st.global.u32 [d+{len(out) * 4}], x; bar.sync 0;")
    out.extend((i ^ 32) + k for i in range(threads))
    # producer and consumer: the upper half only arrives
    for arrive in ("bar.arrive", "bar.cta.arrive", "barrier.arrive", "barrier.cta.arrive", "barrier.arrive.aligned"):
        k = len(out) // threads
        sync = "bar.sync" if arrive.startswith("bar.") else "barrier.sync"
        label = f"C{k}"
        body.append(f"add.u32 w, i, {k}; st.shared.u32 [own], w; mov.u32 x, 7; @lower bra {label}; {arrive} 3, 128; bra {label}E;\n"
                    f"{label}: {sync} 3, 128; ld.shared.u32 x, [other];\n"
                    f"{label}E: st.global.u32 [d+{len(out) * 4}], x; bar.sync 0;")
        out.extend((i ^ 96) + k if i < 64 else 7 for i in range(threads))
    preds = {"third": [i % 3 == 0 for i in range(threads)], "all": [True] * threads, "none": [False] * threads}
    setup = {"third": "rem.u32 w, i, 3; setp.eq.u32 p, w, 0;", "all": "setp.eq.u32 p, i, i;", "none": "setp.ne.u32 p, i, i;"}
    for which, v in preds.items():
        for sign in ("", "!"):
            vals = [x != bool(sign) for x in v]
            for name in ("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red", "barrier.red.aligned"):
                head, _, tail = name.partition(".red")
                for op, r in (("popc.u32", sum(vals)), ("and.pred", all(vals)), ("or.pred", any(vals))):
                    o, t = op.split(".")
                    dst = "x" if t == "u32" else "q"
                    after = "" if t == "u32" else " selp.u32 x, 1, 0, q;"
                    for ops in ("4,", f"5, {threads},", "n,", "n, c,"):
                        opname = f"{head}.red.{o}{tail}.{t}"
                        body.append(f"{setup[which]} mov.u32 n, 6; mov.u32 c, {threads}; {opname} {dst}, {ops} {sign}p;{after} "
                                    f"st.global.u32 [d+{len(out) * 4}], x;")
                        out.extend([int(r)] * threads)
    regs = "    .reg .u32 i, x, w, n, c, own, other, pair;\n    .reg .u64 d;\n    .reg .pred p, q, lower;\n    .shared .u32 cell[128];"
    load = ("    ld.param.u64 d, [D];\n    mov.u32 i, %tid.x; mad.wide.u32 d, i, 4, d; mov.u32 w, cell; mad.lo.u32 own, i, 4, w;\n"
            "    xor.b32 x, i, 96; mad.lo.u32 other, x, 4, w; xor.b32 x, i, 32; mad.lo.u32 pair, x, 4, w;\n"
            "    setp.lt.u32 lower, i, 64;\n    ")
    text = HEAD + kernel("k", ["D"], regs, load + "\n    ".join(body))
    write(directory, "barrier", text, {"d": {"type": "u32", "count": len(out)}},
          [{"kernel": "k", "grid": [1, 1, 1], "block": [threads, 1, 1], "args": ["d"]}], [{"buffer": "d", "values": out}])


# ---- brx.idx ----

M32 = 0xffffffff


def spread(v, n):  # without a division
    return (v * 0x9e3779b1 & M32) * n >> 32


def brx_kernel(name, n, targets, uniform, guarded):
    """Three rounds of one table in a loop; every third target falls into the next one instead of leaving."""
    table = [targets[k % len(targets)] for k in range(n)]
    labels = sorted(set(table))
    falls = {t for t in labels if t % 3 == 1 and t != labels[-1]}
    uni = ".uni" if uniform else ""
    index = "mad.lo.u32 t, r, 5, 1;" if uniform else "mul.lo.u32 t, i, 7; mad.lo.u32 t, r, 5, t;"
    body = [f"mov.u32 x, 1; mov.u32 r, 0;\nLOOP: {index} mul.lo.u32 t, t, 0x9e3779b1; mul.hi.u32 t, t, {n};"]
    if guarded:  # lanes whose guard is false go on behind the branch
        body.append("and.b32 b, i, 3; setp.ne.u32 p, b, 2;")
    body.append(f"T: .branchtargets {', '.join(f'L{t}' for t in table)};\n{'@p ' if guarded else ''}brx.idx{uni} t, T;")
    if guarded:
        body.append("add.u32 x, x, 12345; bra JOIN;")
    for t in labels:
        body.append(f"L{t}: mad.lo.u32 x, x, 3, {t * 17 + 1};" + ("" if t in falls else " bra JOIN;"))
    body.append("JOIN: add.u32 r, r, 1; setp.lt.u32 p, r, 3; @p bra LOOP; st.global.u32 [d], x;")

    def run(i):
        x = 1
        for r in range(3):
            k = spread(r * 5 + 1 if uniform else i * 7 + r * 5, n)
            if guarded and i & 3 == 2:
                x = x + 12345 & M32
                continue
            at = labels.index(table[k])
            while True:
                x = x * 3 + labels[at] * 17 + 1 & M32
                if labels[at] not in falls:
                    break
                at += 1
        return x

    return "\n    ".join(body), [run(i) for i in range(64)]


def machine_kernel():
    """A state machine: one table at the head of a loop whose targets include the head itself and hold another table."""
    body = """mov.u32 x, i; mov.u32 r, 0; and.b32 t, i, 7;
HEAD: add.u32 r, r, 1; setp.gt.u32 p, r, 60; @p bra DONE;
S: .branchtargets S0, S1, S2, HEAD2, S4, S0, S6, DONE;
    brx.idx t, S;
S0: mad.lo.u32 x, x, 5, 3; and.b32 t, x, 7; bra HEAD;
S1: xor.b32 x, x, 0x55; shr.u32 t, x, 2; and.b32 t, t, 7; bra HEAD;
S2: and.b32 b, x, 3;
I: .branchtargets I0, I1, I0, HEAD2, I4;
    brx.idx b, I;
I0: add.u32 x, x, 9; mov.u32 t, 4; bra HEAD;
I1: add.u32 x, x, 2; mov.u32 t, 6; bra HEAD;
I4: trap;
HEAD2: add.u32 x, x, 1; mov.u32 t, 1; bra HEAD;
S4: shr.u32 x, x, 1; mov.u32 t, 2; bra HEAD;
S6: call (x), twist, (x); add.u32 t, t, 1; bra HEAD;
DONE: mad.lo.u32 x, r, 65536, x; st.global.u32 [d], x;"""

    def twist(v):
        k = spread(v, 6)
        return {0: v + 7, 1: v * 3, 2: v ^ 0xff, 3: v + 7, 4: v >> 1, 5: v}[k] & M32

    def run(i):
        x, r, t = i, 0, i & 7
        while True:
            r += 1
            if r > 60 or t == 7:
                return (r * 65536 + x) & M32
            if t in (0, 5):
                x = x * 5 + 3 & M32
                t = x & 7
            elif t == 1:
                x ^= 0x55
                t = x >> 2 & 7
            elif t == 2:
                b = x & 3
                x, t = [(x + 9, 4), (x + 2, 6), (x + 9, 4), (x + 1, 1)][b]
            elif t == 3:
                x, t = x + 1, 1
            elif t == 4:
                x, t = x >> 1, 2
            elif t == 6:
                x, t = twist(x), 7

    func = """.visible .func (.reg .u32 o) twist(.reg .u32 a)
{
    .reg .u32 t;
    mul.lo.u32 t, a, 0x9e3779b1;
    mul.hi.u32 t, t, 6;
T: .branchtargets A, B, C, A, E, F;
    brx.idx t, T;
A: add.u32 o, a, 7; ret;
B: mul.lo.u32 o, a, 3; ret;
C: xor.b32 o, a, 0xff; bra R;
E: shr.u32 o, a, 1; bra R;
F: mov.u32 o, a;
R: ret;
}
"""
    return func, body, [run(i) for i in range(64)]


def family_brx(directory):
    regs = "    .reg .u32 i, x, r, t, b;\n    .reg .u64 d;\n    .reg .pred p;"
    load = "    ld.param.u64 d, [D]; mov.u32 i, %tid.x; mad.wide.u32 d, i, 4, d;\n    "
    func, body, want = machine_kernel()
    text = HEAD + func + kernel("machine", ["D"], regs, load + body)
    cases = [("machine", want)]
    for n in (1, 2, 3, 4, 5, 8, 40, 300):
        for uniform in (False, True):
            for what, targets in (("each", list(range(n))), ("few", [2, 0, 2, 1, 0][:n]), ("one", [4])):
                for guarded in (False, True) if not uniform and n in (3, 5, 40) else (False,):
                    name = f"k{n}_{what}{'_uni' if uniform else ''}{'_if' if guarded else ''}"
                    body, want = brx_kernel(name, n, targets, uniform, guarded)
                    text += kernel(name, ["D"], regs, load + body)
                    cases.append((name, want))
    write(directory, "brx", text, {f"d_{k}": {"type": "u32", "count": 64} for k, _ in cases},
          [{"kernel": k, "grid": [1, 1, 1], "block": [64, 1, 1], "args": ["d_" + k]} for k, _ in cases],
          [{"buffer": "d_" + k, "values": want} for k, want in cases])


# ---- predicates: guards, logic, selections, 16-bit comparisons, flushed operands ----

def half(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def bfloat(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def compare_floats(cmp, x, y):
    nan = x != x or y != y
    if cmp in ("num", "nan"):
        return nan == (cmp == "nan")
    if cmp.endswith("u"):
        return nan or ORDERED[cmp[:-1]](x, y)
    return not nan and ORDERED[cmp](x, y)


def family_predicate(directory):
    data = {"f16": [0, 0x8000, 0x3c00, 0xbc00, 0x7e00, 0x7c00, 0xfc00, 1], "bf16": [0, 0x8000, 0x3f80, 0xbf80, 0x7fc0, 0x7f80, 0xff80, 1],
            "f32": [0, 1, 0x80000001, 0x3f800000, 0x7fc00000, 0x00800000, 0x807fffff, 0xff800000]}
    number = {"f16": half, "bf16": bfloat, "f32": lambda v: value("f32", v)}
    floats = list(ORDERED) + [c + "u" for c in ORDERED] + ["num", "nan"]
    logic = {"and": lambda x, y: x and y, "or": lambda x, y: x or y, "xor": lambda x, y: x != y}
    c = [bool(i * 0x9e3779b9 >> 7 & 1) for i in range(64)]
    g = [bool(i * 0x85ebca6b >> 9 & 1) for i in range(64)]
    text, buffers, launches, checks = HEAD.replace("sm_75", "sm_90"), {}, [], []

    def finish(name, regs, load, body, out, params, args):
        nonlocal text
        text += kernel(name, params + ["D"], regs + "\n    .reg .u32 i, x, y, n;\n    .reg .u64 d;\n    .reg .pred p, q, c, g;",
                       "    ld.param.u64 d, [D]; mov.u32 i, %tid.x; mad.wide.u32 d, i, 4, d;\n"
                       "    mul.lo.u32 n, i, 0x9e3779b9; and.b32 n, n, 128; setp.ne.u32 c, n, 0;\n"
                       "    mul.lo.u32 n, i, 0x85ebca6b; and.b32 n, n, 512; setp.ne.u32 g, n, 0;\n    " + load + "\n    ".join(body))
        buffers["d_" + name] = {"type": "u32", "count": len(out)}
        launches.append({"kernel": name, "grid": [1, 1, 1], "block": [64, 1, 1], "args": args + ["d_" + name]})
        checks.append({"buffer": "d_" + name, "values": out})

    show = "selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; add.u32 x, x, y;"
    # comparisons of halves, scalar and packed, and of f32 with subnormals flushed
    for t in ("f16", "bf16", "f32"):
        a, b = [data[t][i & 7] for i in range(64)], [data[t][i >> 3] for i in range(64)]
        reg = "b32" if t == "f32" else "b16"
        body, out = [], []

        def case(insn, p, q):
            body.append(f"{insn} {show} st.global.u32 [d+{len(out) * 4}], x;")
            out.extend(int(bool(v)) + 2 * int(bool(w)) for v, w in zip(p, q))

        for ftz in ((False, True) if t == "f32" else (False,)):
            def at(v):
                small = ftz and v & 0x7f800000 == 0
                return number[t](v & 0x80000000 if small else v)
            for cmp in floats:
                r = [compare_floats(cmp, at(x), at(y)) for x, y in zip(a, b)]
                name = f"{'ftz.' if ftz else ''}{t}"
                for op, f in logic.items():
                    u = [f(v, not w) for v, w in zip(r, c)]
                    if t == "f32":
                        case(f"setp.{cmp}.{op}.{name} p|q, a, b, !c;", u, [f(not v, not w) for v, w in zip(r, c)])
                    else:  # scalar halves have one result
                        case(f"setp.{cmp}.{op}.{name} p, a, b, !c; mov.pred q, p;", u, u)
                if t == "f32":
                    case(f"setp.{cmp}.{name} p|q, a, b;", r, [not v for v in r])
                else:
                    case(f"setp.{cmp}.{name} p, a, b; mov.pred q, p;", r, r)
                if t != "f32":  # packed: the first destination is the low half's result, the second the high half's
                    s = [compare_floats(cmp, at(y), at(x)) for x, y in zip(a, b)]
                    case(f"setp.{cmp}.{t}x2 p|q, ab, ba;", r, s)
                    for op, f in logic.items():
                        case(f"setp.{cmp}.{op}.{t}x2 p|q, ab, ba, c;", [f(v, w) for v, w in zip(r, c)],
                             [f(v, w) for v, w in zip(s, c)])
        regs = f"    .reg .{reg} a, b;" + ("" if t == "f32" else "\n    .reg .b32 ab, ba;") + "\n    .reg .u64 pa, pb;"
        n = 4 if t == "f32" else 2
        load = (f"ld.param.u64 pa, [A]; ld.param.u64 pb, [B]; mad.wide.u32 pa, i, {n}, pa; mad.wide.u32 pb, i, {n}, pb;\n"
                f"    ld.global.{reg} a, [pa]; ld.global.{reg} b, [pb];" +
                ("" if t == "f32" else " mov.b32 ab, {a, b}; mov.b32 ba, {b, a};") + "\n    ")
        for k, v in (("a", a), ("b", b)):
            buffers[f"{k}_{t}"] = {"type": reg, "values": v}
        finish(t, regs, load, body, out, ["A", "B"], ["a_" + t, "b_" + t])

    # predicate logic under guards; destinations that are sources; results thrown away; immediates
    body, out = [], []

    def step(insn, p, q):
        body.append(f"mov.pred p, c; not.pred q, c; {insn} {show} st.global.u32 [d+{len(out) * 4}], x;")
        out.extend(int(bool(v)) + 2 * int(bool(w)) for v, w in zip(p, q))

    nc = [not v for v in c]
    below = [i < 20 for i in range(64)]
    for guard, on in (("", [True] * 64), ("@g ", g), ("@!g ", [not v for v in g]), ("@p ", c), ("@!q ", c), ("@q ", nc)):
        def keep(new, old, on=on):
            return [n if o else v for n, v, o in zip(new, old, on)]
        for op, f in logic.items():
            for s1 in ("", "!"):
                for s2 in ("", "!"):
                    r = [f(v != bool(s1), w != bool(s2)) for v, w in zip(c, g)]
                    step(f"{guard}{op}.pred p, {s1}c, {s2}g;", keep(r, c), nc)
                    step(f"{guard}{op}.pred q, {s1}q, {s2}g;", c, keep([f(v != bool(s1), w != bool(s2)) for v, w in zip(nc, g)], nc))
            r = [f(v, w) for v, w in zip(below, c)]
            rn = [f(not v, w) for v, w in zip(below, c)]
            step(f"{guard}setp.lt.{op}.u32 p|q, i, 20, p;", keep(r, c), keep(rn, nc))
            step(f"{guard}setp.gt.{op}.u32 q|p, 20, i, c;", keep(rn, c), keep(r, nc))
            step(f"{guard}setp.lt.{op}.s32 p|_, i, 20, c;", keep(r, c), nc)
            step(f"{guard}setp.lt.{op}.s32 _|q, i, 20, c;", c, keep(rn, nc))
        step(f"{guard}not.pred p, g;", keep([not v for v in g], c), nc)
        step(f"{guard}mov.pred p, !g;", keep([not v for v in g], c), nc)
        step(f"{guard}mov.pred q, p;", c, keep(c, nc))
        step(f"{guard}setp.lo.u32 p|q, i, 20;", keep(below, c), keep([not v for v in below], nc))
    finish("logic", "", "", body, out, [], [])

    # selp and slct
    body, out = [], []
    for t in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"):
        n = int(t[1:])
        one, two = (1 << n) - 0x1235, 0x4321
        narrow = {16: "cvt.u32.u16 x, r16;", 32: "mov.b32 x, r32;", 64: "cvt.u32.u64 x, r64; shr.u64 r64, r64, 32; cvt.u32.u64 y, r64; xor.b32 x, x, y;"}[n]
        suffix = f"mov.b{n} s{n}, {one:#x}; mov.b{n} t{n}, {two:#x};"
        if t[0] == "f":
            suffix += f" mov.b{n} e{n}, s{n}; mov.b{n} h{n}, t{n};"
        one32 = one & M32 if n <= 32 else (one ^ one >> 32) & M32

        def emit(insn, pick):
            back = f" mov.b{n} r{n}, w{n};" if t[0] == "f" else ""
            body.append(f"{suffix} {insn}{back} {narrow} st.global.u32 [d+{len(out) * 4}], x;")
            out.extend(one32 if v else two for v in pick)

        r, u, v = (f"w{n}", f"e{n}", f"h{n}") if t[0] == "f" else (f"r{n}", f"s{n}", f"t{n}")
        emit(f"selp.{t} {r}, {u}, {v}, c;", c)
        emit(f"selp.{t} {r}, {u}, {v}, !c;", nc)
        emit(f"sub.s32 y, i, 20; slct.{t}.s32 {r}, {u}, {v}, y;", [i >= 20 for i in range(64)])
        emit(f"cvt.rn.f32.u32 z, i; sub.f32 z, z, 0f41A00000; slct.{t}.f32 {r}, {u}, {v}, z;", [i >= 20 for i in range(64)])
        emit(f"and.b32 y, i, 7; or.b32 y, y, 0x80000000; mov.b32 z, y; slct.ftz.{t}.f32 {r}, {u}, {v}, z;", [True] * 64)
        emit(f"and.b32 y, i, 7; or.b32 y, y, 0x80000000; mov.b32 z, y; slct.{t}.f32 {r}, {u}, {v}, z;", [i & 7 == 0 for i in range(64)])
    finish("select", "    .reg .b16 r16, s16, t16;\n    .reg .b32 r32, s32, t32;\n    .reg .b64 r64, s64, t64;\n"
           "    .reg .f32 w32, e32, h32, z;\n    .reg .f64 w64, e64, h64;", "", body, out, [], [])
    write(directory, "predicate", text, buffers, launches, checks)


# ---- displacements: where an instruction's field for them ends, in each space ----

ENDS = [0, 4, 0x7fc, 0x800, 0x7ffc, 0x8000, 0xfffc, 0x10000, 0x3ffffc, 0x400000, 0x7ffffc, 0x800000, 0xfffffc, 0x1000000, 0x7ffffffc,
        -4, -0x800, -0x8000, -0x8004, -0x10000, -0x800000, -0x800004, -0x1000000, -0x7f000000]
READS = ["ld.{}.u32 r, {};", "ld.{}.u8 r, {};", "ld.{}.v2.u32 {{y, r}}, {};", "ld.{}.v4.u32 {{y, y, y, r}}, {};",
         "ld.{}.u64 z, {}; shr.u64 z, z, 32; cvt.u32.u64 r, z;"]
WRITES = ["st.{}.u32 {}, {}; mov.u32 r, 0;", "st.{}.v2.u32 {}, {{{}, 9}}; mov.u32 r, 0;", "atom.{}.add.u32 r, {}, {};"]


def word(k):
    return (k * 0x9e3779b9 ^ k >> 3) & 0xffffffff


def family_address(directory):
    """Each access at a base from memory plus a displacement; the sum is word 4 k of what the access is to."""
    text, buffers, launches, checks = HEAD, {}, [], []
    for space in ("global", "shared", "local", "const"):
        kinds = READS + ([] if space == "const" else WRITES if space != "local" else WRITES[:2])
        cases = [(kind, end) for kind in kinds for end in ENDS]
        size = 16384 if space == "const" else 4 * len(cases)
        places = [(0, 8188, 8192, 16380)[k % 4] if space == "const" else 4 * k for k in range(len(cases))]
        memory, out = [word(k) for k in range(size)], []
        decl, base = f"    .{space} .align 16 .b32 m[{size}];\n", "m"
        copy = "    mov.u32 y, 0;\n{0}: mul.wide.u32 b, y, 4; {1}\n    add.u32 y, y, 1; setp.lt.u32 p, y, " + str(size) + "; @p bra {0};\n"
        fill = copy.format("FILL", f"add.u64 x, b, g; add.u64 b, b, a; ld.global.u32 r, [x]; st.{space}.u32 [b], r;")
        back = copy.format("BACK", f"add.u64 x, b, g; add.u64 b, b, a; ld.{space}.u32 r, [b]; st.global.u32 [x], r;")
        if space == "global":
            decl = fill = back = ""
            base = "g"
        elif space == "const":
            text += f".const .align 16 .b32 m[{size}] = {{{', '.join(map(str, memory))}}};\n"
            decl = fill = back = ""
        body = f"    ld.param.u64 g, [G]; ld.param.u64 t, [T]; ld.param.u64 d, [D]; mov.u64 a, {base};\n" + fill
        for k, (kind, end) in enumerate(cases):
            at, value = places[k], 77 + k
            body += (f"    ld.global.s32 b, [t+{4 * k}]; add.s64 b, a, b; "
                     + kind.format(space, f"[b+{end}]", value) + f" st.global.u32 [d+{4 * k}], r;\n")
            out.append(memory[at] & 255 if ".u8" in kind else memory[at + (3 if "v4" in kind else 1 if "v2" in kind or "u64" in kind else 0)]
                       if kind in READS else memory[at] if "atom" in kind else 0)
            if kind in WRITES:
                memory[at] = memory[at] + value & 0xffffffff if "atom" in kind else value
                memory[at + 1] = 9 if "v2" in kind else memory[at + 1]
        regs = decl + "    .reg .u32 r, y;\n    .reg .u64 a, b, d, g, t, x, z;\n    .reg .pred p;"
        text += kernel(space, ["G", "T", "D"], regs, body + back)
        buffers[f"g_{space}"] = {"type": "u32", "values": [word(k) for k in range(size)]}
        buffers[f"t_{space}"] = {"type": "s32", "values": [4 * at - end for at, (_, end) in zip(places, cases)]}
        buffers[f"d_{space}"] = {"type": "u32", "count": len(cases)}
        launches.append({"kernel": space, "grid": [1, 1, 1], "block": [1, 1, 1], "args": [f"{b}_{space}" for b in "gtd"]})
        checks += [{"buffer": f"d_{space}", "values": out}, {"buffer": f"g_{space}", "values": memory}]
    write(directory, "address", text, buffers, launches, checks)


# ---- calls under pressure: arguments in registers and on the stack, values that live through, few registers ----

def family_pressure(directory):
    """Kernel nA_vL_sS_mM: L values live through a call with A arguments, S of them among those values, under .maxnreg M."""
    text, buffers, launches, checks = HEAD, {}, [], []
    counts = (1, 4, 12)
    for n in counts:
        params = ", ".join(f".param .b32 p{k}" for k in range(n))
        text += f".func (.param .b32 z) f{n}({params})\n{{\n    .reg .u32 a, b, c<{n}>;\n    mov.u32 a, 0;\n"
        text += "".join(f"    ld.param.u32 c{k}, [p{k}];\n" for k in range(n))
        text += "".join(f"    mad.lo.u32 a, a, 5, c{k};\n" for k in range(n)) + "    st.param.b32 [z], a;\n    ret;\n}\n"
    for limit in (24, 32):
        for n in counts:
            for live in (3, 8, 14, 24):
                for shared, indirect in itertools.product(sorted({0, min(n, live)}), (False, True)):
                    name = f"n{n}_v{live}_s{shared}_m{limit}{'_by_address' if indirect else ''}"
                    values = [word(k + n) for k in range(live + n - shared)]
                    args = list(range(shared)) + list(range(live, live + n - shared))
                    r = 0
                    for k in args:
                        r = (r * 5 + values[k]) & 0xffffffff
                    total = r
                    for k in range(live):
                        total = (total * 3 + values[k]) & 0xffffffff
                    slots = "".join(f".param .b32 q{k}; " for k in range(n))
                    callee, proto = f"f{n}", ""
                    if indirect: # the address is in registers up to the call
                        callee, proto = "t", ", P"
                        slots = f"P: .callprototype (.param .b32 _) _ ({', '.join(['.param .b32 _'] * n)}); " + slots
                    stores = " ".join(f"st.param.b32 [q{k}], v{v};" for k, v in enumerate(args))
                    body = (f"    ld.param.u64 g, [G]; ld.param.u64 d, [D]; mov.u64 t, f{n};\n"
                            + "".join(f"    ld.global.u32 v{k}, [g+{4 * k}];\n" for k in range(len(values)))
                            + f"    {{ .param .b32 y; {slots}{stores} call (y), {callee}, ({', '.join(f'q{k}' for k in range(n))}){proto}; ld.param.b32 r, [y]; }}\n"
                            + "".join(f"    mad.lo.u32 r, r, 3, v{k};\n" for k in range(live)) + "    st.global.u32 [d], r;")
                    regs = f"    .reg .u32 r, v<{len(values)}>;\n    .reg .u64 g, d, t;"
                    text += kernel(name, ["G", "D"], regs, body).replace(")\n{", f") .maxnreg {limit}\n{{", 1)
                    buffers["g_" + name] = {"type": "u32", "values": values}
                    buffers["d_" + name] = {"type": "u32", "count": 1}
                    launches.append({"kernel": name, "grid": [1, 1, 1], "block": [1, 1, 1], "args": ["g_" + name, "d_" + name]})
                    checks.append({"buffer": "d_" + name, "values": [total]})
    write(directory, "pressure", text, buffers, launches, checks)


# ---- structures as parameters and results: fields of each width at each offset ----

def family_fields(directory):
    """Eight bytes that are passed and returned: one field, or a vector of them, is changed between others that stay."""
    places = [(n, bits, at) for bits in (8, 16, 32, 64) for n in (1, 2, 4) if n * bits <= 64 for at in range(0, 8, n * bits // 8)]

    def access(what, kind, place, base, regs):
        n, bits, at = place
        names = ", ".join(("x" if bits == 64 else "w") + str(regs + k) for k in range(n))
        vec, names = (f".v{n}", "{" + names + "}") if n > 1 else ("", names)
        address = f"[{base}+{at}]"
        return f"{what}.param{vec}.{kind}{bits} " + (f"{names}, {address};" if what == "ld" else f"{address}, {names};")

    text, out = HEAD, []
    regs = "    .reg .b32 a, b, c, w<8>;\n    .reg .b64 d, g, h, x<8>;\n"
    text += f".func (.param .b64 r) mix(.param .align 8 .b8 s[8])\n{{\n{regs}    mov.u64 h, 0;\n"
    for place in places:
        for kind in "us":
            text += "    " + access("ld", kind, place, "s", 0) + "\n"
            for k in range(place[0]):
                wide = f"mov.b64 x7, x{k};" if place[1] == 64 else f"cvt.{kind}64.{kind}32 x7, w{k};"
                text += f"    {wide} mad.lo.u64 h, h, 31, x7;\n"
    text += "    st.param.b64 [r], h;\n    ret;\n}\n"
    two = "{{ .param .align 8 .b8 p[8]; .param .align 8 .b8 q[8]; .param .align 8 .b8 z[8]; .param .b64 y; st.param.b32 [p], a; st.param.b32 [p+4], b; "
    body = "    ld.param.u64 g, [G]; ld.param.u64 d, [D];\n"
    for i, place in enumerate(places):
        n, bits, at = place
        text += (f".func (.param .align 8 .b8 r[8]) put{i}(.param .align 8 .b8 s[8], .param .align 8 .b8 v[8])\n{{\n{regs}"
                 "    ld.param.b32 a, [s]; ld.param.b32 b, [s+4]; ld.param.b32 w0, [v]; ld.param.b32 w1, [v+4]; ld.param.b64 x0, [v];\n"
                 "    add.u32 w2, w0, 1; add.u32 w3, w1, 1; st.param.b32 [r], a; st.param.b32 [r+4], b;\n    "
                 + access("st", "b", place, "r", 0) + "\n    ret;\n}\n")
        body += (f"    ld.global.b32 a, [g+{16 * i}]; ld.global.b32 b, [g+{16 * i + 4}]; ld.global.b32 w0, [g+{16 * i + 8}]; ld.global.b32 w1, [g+{16 * i + 12}];\n"
                 "    ld.global.b64 x0, [g+%d]; add.u32 w2, w0, 1; add.u32 w3, w1, 1;\n    " % (16 * i + 8)
                 + two.format() + access("st", "b", place, "p", 0) + " call (y), mix, (p); ld.param.b64 h, [y]; }\n    "
                 + two.format() + f"st.param.b32 [q], w0; st.param.b32 [q+4], w1; call (z), put{i}, (p, q); ld.param.b32 b, [z+4]; ld.param.b32 a, [z]; }}\n"
                 f"    st.global.b64 [d+{16 * i}], h; st.global.b32 [d+{16 * i + 8}], a; st.global.b32 [d+{16 * i + 12}], b;\n")
        given = [word(4 * i + k + 1) for k in range(4)]
        value = given[2:] + [given[2] + 1 & 0xffffffff, given[3] + 1 & 0xffffffff]
        have = bytearray(struct.pack("<II", *given[:2]))
        for k in range(n):
            new = value[0] | value[1] << 32 if bits == 64 else value[k]
            have[at + k * bits // 8:at + (k + 1) * bits // 8] = (new & (1 << bits) - 1).to_bytes(bits // 8, "little")
        h = 0
        for m, width, first in places:
            for signed in (False, True):
                for k in range(m):
                    part = have[first + k * width // 8:first + (k + 1) * width // 8]
                    h = h * 31 + int.from_bytes(part, "little", signed=signed) & (1 << 64) - 1
        out += [h & 0xffffffff, h >> 32, *struct.unpack("<II", have)]
    text += kernel("fields", ["G", "D"], regs, body)
    write(directory, "fields", text,
          {"g": {"type": "u32", "values": [word(k + 1) for k in range(4 * len(places))]}, "d": {"type": "u32", "count": len(out)}},
          [{"kernel": "fields", "grid": [1, 1, 1], "block": [1, 1, 1], "args": ["g", "d"]}], [{"buffer": "d", "values": out}])


# ---- two accesses to the same bytes, of which the first one's address comes late ----

def family_order(directory):
    """Both in one block: the second, whose operands are all there, must not be executed before the first."""
    kinds = [("ld", n) for n in (1, 4, 8)] + [("st", n) for n in (1, 4, 8)] + [("atom", 4)]
    text, buffers, launches, checks = HEAD, {}, [], []
    given = [word(k + 9) for k in range(6)]
    for space in ("global", "shared", "local"):
        for one, two in ((space, space), ("", space), (space, "")):
            for (first, m), (second, n) in itertools.product(kinds, kinds):
                if space == "local" and "atom" in (first, second) or (first == second == "ld"):
                    continue
                name = f"{space}_{one}{first}{m}_{two}{second}{n}"
                memory, out, body = bytearray(struct.pack("<II", *given[:2])), [], []
                for what, size, where, address, k in ((first, m, one, "late", 0), (second, n, two, "a", 1)):
                    at = f"{what}.{where + '.' if where else ''}"
                    if what == "ld":
                        body.append(f"{at}u{8 * size} x{k}, [{address}];")
                        out += struct.unpack("<II", memory[:size] + bytes(8 - size))
                        continue
                    value = struct.pack("<II", *given[2 + 2 * k:4 + 2 * k])
                    if what == "atom":
                        body.append(f"{at}add.u32 w, [{address}], v{k}; cvt.u64.u32 x{k}, w;")
                        out += [struct.unpack("<I", memory[:4])[0], 0]
                        value = struct.pack("<I", struct.unpack("<I", memory[:4])[0] + given[2 + 2 * k] & 0xffffffff)
                    else:
                        body.append(f"{at}u{8 * size} [{address}], y{k};")
                        out += [0, 0]
                    memory[:size] = value[:size]
                out += struct.unpack("<II", memory)
                regs = f"    .{space} .align 8 .b32 m[2];\n    .reg .b32 t, w, v0, v1;\n    .reg .b64 g, d, p, q, a, late, x0, x1, y0, y1, z;"
                own = "mov.u64 p, g;" if space == "global" else f"mov.u64 p, m; ld.global.u64 z, [g]; st.{space}.u64 [p], z;"
                if space == "global":
                    regs = regs.split("\n", 1)[1]
                to_generic = "mov.u64 q, p;" if space == "global" else f"cvta.{space}.u64 q, p;"
                body = ("    ld.param.u64 g, [G]; ld.param.u64 d, [D]; mov.u64 x0, 0; mov.u64 x1, 0;\n"
                        f"    {own} {to_generic} mov.u64 a, {'p' if two else 'q'};\n"
                        "    ld.global.u64 y0, [g+8]; ld.global.u64 y1, [g+16]; cvt.u32.u64 v0, y0; cvt.u32.u64 v1, y1; bar.sync 0;\n"
                        "    ld.global.u32 t, [g+24]; mul.lo.u32 t, t, t; mul.lo.u32 t, t, t; mul.lo.u32 t, t, t; cvt.u64.u32 z, t;\n"
                        f"    add.u64 late, {'p' if one else 'q'}, z;\n    " + "\n    ".join(body) +
                        f"\n    ld.{space}.u64 z, [p]; st.global.u64 [d], x0; st.global.u64 [d+8], x1; st.global.u64 [d+16], z;")
                text += kernel(name, ["G", "D"], regs, body)
                buffers["g_" + name] = {"type": "u32", "values": given + [0]}
                buffers["d_" + name] = {"type": "u32", "count": 6}
                launches.append({"kernel": name, "grid": [1, 1, 1], "block": [1, 1, 1], "args": ["g_" + name, "d_" + name]})
                checks.append({"buffer": "d_" + name, "values": out})
    write(directory, "order", text, buffers, launches, checks)


# ---- similar sides of a divergent branch, of sizes about those at which they are no longer executed together ----

def family_sides(directory):
    """Kernel bB_iI: two sides, each of B times (I instructions, and one more that half of the lanes leave out)."""
    text, buffers, launches, checks = HEAD, {}, [], []
    for blocks, insts in ((1, 62), (1, 64), (1, 66), (2, 46), (2, 48), (2, 50), (3, 30), (3, 32), (3, 34), (4, 20), (4, 22), (4, 24),
                          (5, 16), (6, 12)):
        name = f"b{blocks}_i{insts}"
        lanes = [word(i) for i in range(64)]
        x, body = list(lanes), "    ld.param.u64 d, [D]; mov.u32 i, %tid.x; mad.wide.u32 d, i, 4, d; ld.global.u32 x, [d];\n" \
            "    and.b32 y, i, 5; setp.eq.u32 p, y, 1; @p bra OTHER;\n"
        for side in (0, 1):
            mine = [k for k in range(64) if (k & 5 == 1) == (side == 1)]
            for b in range(blocks):
                for n in range(insts):
                    c = word(1000 * (side if n == 1 else 0) + 100 * b + n) | 1
                    body += f"    mad.lo.u32 x, x, {c}, i;\n"
                    for k in mine:
                        x[k] = (x[k] * c + k) & 0xffffffff
                body += f"    and.b32 y, i, {2 << b % 5}; setp.eq.u32 q, y, 0; @q bra N{side}_{b}; xor.b32 x, x, {b + 3 + side};\n"
                body += f"N{side}_{b}: add.u32 x, x, 7;\n"
                for k in mine:
                    x[k] = ((x[k] ^ b + 3 + side if k & (2 << b % 5) else x[k]) + 7) & 0xffffffff
            body += "    bra JOIN;\nOTHER:\n" if not side else "JOIN:\n"
        text += kernel(name, ["D"], "    .reg .u32 i, x, y;\n    .reg .u64 d;\n    .reg .pred p, q;", body + "    st.global.u32 [d], x;")
        buffers["d_" + name] = {"type": "u32", "values": lanes}
        launches.append({"kernel": name, "grid": [1, 1, 1], "block": [64, 1, 1], "args": ["d_" + name]})
        checks.append({"buffer": "d_" + name, "values": x})
    write(directory, "sides", text, buffers, launches, checks)


if __name__ == "__main__":
    {"compare": family_compare, "warp": family_warp, "barrier": family_barrier, "brx": family_brx,
     "predicate": family_predicate, "address": family_address,
     "pressure": family_pressure, "fields": family_fields, "order": family_order, "sides": family_sides}[sys.argv[1]](sys.argv[2])
