#!/usr/bin/env python3
"""edits.py HEDDLE SAMPLES WORK [PTXAS] [NVDISASM]: binaries edited by hand.

Fifteen edits of the text that `heddle disasm --sections` prints, on our binaries and on those of ptxas (-lineinfo, -g,
relocatable, with jump tables): the edited text is assembled and the binary is validated against the PTX of the unedited
one, or against PTX with the same change; or it is refused, with a reason. nvdisasm reads what is assembled.
SPDX-License-Identifier: MIT"""
import json
import os
import re
import subprocess
import sys

heddle, samples, work = sys.argv[1:4]
ptxas, nvdisasm = (sys.argv[4:] + ["", ""])[:2]
if os.environ.get("HEDDLE_BYTES_JUDGED"): # the files of another build, which are the same (tests/lower/same_code.sh)
    nvdisasm = ""
part, turn = int(os.environ.get("HEDDLE_PART", "1")), 0
judged = set() # contents that nvdisasm has read: it takes a fifth of a second for each
NOP = "    [B------:R-:W-:-:S05] NOP ;"
failures, counts = [], {}


def mine():
    """Of the cases that walk the same code, is this one to be tried?"""
    global turn
    turn += 1
    return turn % part == 0


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def is_code(line):
    return re.match(r"(\.\S+: )*\s*\[B", line) is not None


class Text:
    """The text of a binary, by lines; `code` finds the lines of the section of one function."""

    def __init__(self, binary, function):
        status, text = run(heddle, "disasm", "--sections", binary)
        if status:
            raise SystemExit(text)
        self.lines = text.split("\n")
        self.function = function

    def code(self):
        start = self.lines.index('\t.section\t".text.%s"' % self.function)
        end = next((i for i in range(start + 1, len(self.lines)) if self.lines[i].startswith("\t.section")), len(self.lines))
        return [i for i in range(start, end) if is_code(self.lines[i])]

    def find(self, pattern, last=False):
        found = [i for i in self.code() if re.search(pattern, self.lines[i])]
        return (found[-1] if last else found[0]) if found else None

    def assemble(self, name):
        text = os.path.join(work, name + ".sass")
        with open(text, "w") as out:
            out.write("\n".join(self.lines))
        return run(heddle, "asm", text, "-o", os.path.join(work, name + ".cubin"))


# ---- the edits: each changes the text, or says False where there is nothing of the kind ----
def nop_first(t):
    t.lines.insert(t.code()[0], NOP)


def nop_between(t):
    at = t.find(r"\bBRA `|BRX |BSSY ") or t.find(r"EXIT")
    t.lines.insert(at, NOP)


def nop_behind(t):
    t.lines.insert(t.find(r"EXIT", last=True) + 1, NOP)


def removed(t):
    """The stack pointer's MOV or LDC where nothing needs it, else a NOP of the padding: what is behind it moves down."""
    at = t.find(r"(MOV|LDC) R1, c\[0x0\]\[0x28\] ;")
    if at is None or t.lines[at].startswith(".") or sum(bool(re.search(r"\bR1\b", t.lines[i])) for i in t.code()) > 1:
        at = t.find(r"  NOP ;", last=True)
    if at is None:
        return False
    del t.lines[at]


def renumbered(t):
    """A register that is written and read in one block becomes R100: the register count follows."""
    at = t.find(r"\bEXIT")
    t.lines.insert(t.code()[0], "    [B------:R-:W-:-:S05] MOV R100, RZ ;")
    return at is not None


def moved(t):
    """The last block before the final branch to itself goes to the end: a jump leads there, one leads back."""
    at = t.find(r"S2R |S2UR ") or t.code()[1]
    if t.lines[at].startswith("."):
        return False
    line = t.lines[at]
    end = t.code()[-1]
    waits = "    [B012345:R-:W-:-:S05] "
    t.lines[at] = waits + "BRA `(.Lmoved) ;\n.Lback:"
    t.lines.insert(end + 1, ".Lmoved:\n" + line + "\n    [B012345:R-:W-:-:S05] BRA `(.Lback) ;")


def moved_block(t):
    """Three instructions go to the end with their labels, the places that others name. Line tables go in the order of the code."""
    code = t.code()
    for at in range(1, len(code) - 3):
        block = t.lines[code[at] : code[at + 3]]
        if not any(re.search(r"CALL|RET|BRX|LEPC|NOP|CUASM", line) for line in block):
            break
    else:
        return False
    jump = "    [B012345:R-:W-:Y:S15] BRA `(%s) ;"
    t.lines[code[-1] + 1 : code[-1] + 1] = [".Lblock:", *block, jump % ".Lbehind"]
    t.lines[code[at] : code[at + 3]] = [jump % ".Lblock", ".Lbehind:"]
    t.refused_for = r"error E0358: (rows of a line table come in|this distance is below zero)"


def doubled(t):
    """An instruction that may be done twice is: R = R & R."""
    t.lines.insert(t.code()[0] + 1, "    [B012345:R-:W-:Y:S15] LOP3.LUT R1, R1, R1, RZ, 0xc0, !PT ;\n" * 2 + NOP)


def constant(t):
    """An immediate is written in another way: through an expression."""
    for i in t.code():
        found = re.search(r"(?<=, )0x([0-9a-f]+)(?= ;|,)", t.lines[i])
        if found and not t.lines[i].startswith(".") and re.search(r"IMAD|IADD3|ISETP|SHF|LOP3", t.lines[i]):
            v = int(found.group(1), 16)
            if v and v < 1 << 30:
                t.lines[i] = t.lines[i][: found.start()] + "(0x%x + 1)" % (v - 1) + t.lines[i][found.end() :]
                return None
    return False


def grown(t):
    """The symbol of the function is that of a longer one."""
    end = t.code()[-1]
    t.lines.insert(end + 1, (NOP + "\n") * 8 + NOP)


def barrier(t):
    """One more named barrier, which all threads reach: none are waited for but those of the block."""
    t.lines.insert(t.code()[0] + 1, "    [B012345:R-:W-:Y:S15] BAR.SYNC 0x3 ;")
    t.barriers = 4


def reuse(t):
    at = t.find(r"\.reuse")
    if at is None:
        return False
    t.lines[at] = t.lines[at].replace(".reuse", "")


def scoreboard(t):
    """Wait for all scoreboards everywhere."""
    for i in t.code():
        t.lines[i] = re.sub(r"\[B[0-5-]{6}:", "[B012345:", t.lines[i])


EDITS = [nop_first, nop_between, nop_behind, removed, renumbered, moved, moved_block, doubled, constant, grown, barrier, reuse, scoreboard]


def count(what):
    counts[what] = counts.get(what, 0) + 1


def looks_right(name, binary, t):
    """What nvdisasm and our own reader make of it."""
    if ".rel." not in name:  # those are shown, not loaded
        status, text = run(heddle, "check", "--no-hazards", binary)
        if status not in (0, 1) or "error E04" in text:
            failures.append("%s: not read: %s" % (name, text[:300]))
    with open(binary, "rb") as f:
        content = f.read()
    if nvdisasm and "bru1" not in name and content in judged:
        count("read by nvdisasm")
    elif nvdisasm and "bru1" not in name:
        status, text = run(nvdisasm, binary)
        if status or "fatal" in text or "error" in text.lower().split("\n")[0]:
            failures.append("%s: nvdisasm: %s" % (name, text[:200]))
        else:
            judged.add(content)
            count("read by nvdisasm")


def try_edit(edit, name, binary, function, ptx, launch, refused_for):
    t = Text(binary, function)
    if edit(t) is False:
        count("nothing to edit")
        return
    name = "%s.%s" % (name, edit.__name__)
    status, text = t.assemble(name)
    out = os.path.join(work, name + ".cubin")
    if status:
        reasons = [refused_for, getattr(t, "refused_for", None) if re.search("lineinfo|debug", name) else None]
        if any(reason and re.search(reason, text) for reason in reasons):
            count("refused")
        else:
            failures.append("%s: refused: %s" % (name, text[:400]))
        return
    count("assembled")
    looks_right(name, out, t)
    if launch:
        status, text = run(heddle, "validate", ptx, out, "--launch", launch)
        if status:
            failures.append("%s: %s" % (name, text[:600]))
        else:
            count("ran as before")


def all_edits(name, binary, function, ptx, launch, refused_for=None):
    for edit in filter(lambda edit: mine(), EDITS):
        try_edit(edit, name, binary, function, ptx, launch, refused_for)


JUMPS = """.version 7.8
.target sm_75
.address_size 64
.visible .entry jumps(.param .u64 p, .param .u32 n)
{ .reg .b32 %r<9>; .reg .b64 %d<4>;
 ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r5, %tid.x; mul.wide.u32 %d2, %r5, 4;
 add.s64 %d1, %d1, %d2; ld.global.u32 %r2, [%d1]; and.b32 %r3, %r2, 3;
 ts: .branchtargets A, B, C, A;
 brx.idx %r3, ts;
A: add.u32 %r4, %r2, %r1; bra.uni E;
B: mul.lo.u32 %r4, %r2, %r1; bra.uni E;
C: div.u32 %r4, %r2, %r1;
E: st.global.u32 [%d1], %r4; ret; }
"""
JUMPS_LAUNCH = """{"module": "jumps.ptx",
 "buffers": {"v": {"type": "u32", "count": 64, "init": "iota"}},
 "launches": [{"kernel": "jumps", "grid": [1, 1, 1], "block": [64, 1, 1], "args": ["v", "u32:7"]}]}
"""


def ways(n):
    """An indirect branch to so many places, each of which computes another thing."""
    labels = ["W%d" % i for i in range(n)]
    blocks = "".join("%s: %s %%r4, %%r2, %d; bra.uni E;\n" % (label, "mul.lo.u32" if i % 2 else "xor.b32", 11 + 5 * i)
                     for i, label in enumerate(labels))
    head, rest = JUMPS.replace("jumps", "ways").split(" ts:")
    return "%s ts: .branchtargets %s;\n brx.idx %%r3, ts;\n%sE:%s" % (
        head.replace("%r2, 3", "%%r2, %d" % (n - 1)), ", ".join(labels), blocks, rest.split("\nE:")[1])


# Functions whose addresses stand in a variable.
POINTERS = """.version 7.8
.target sm_75
.address_size 64
.func (.param .u32 r) one(.param .u32 a)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r2, %r1, 5; st.param.u32 [r], %r2; ret; }
.func (.param .u32 r) two(.param .u32 a)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [a]; mul.lo.u32 %r2, %r1, 7; st.param.u32 [r], %r2; ret; }
.global .align 8 .u64 table[2] = {one, two};
.visible .entry pointers(.param .u64 p, .param .u32 n)
{ .reg .b32 %r<9>; .reg .b64 %d<6>;
 ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; and.b32 %r1, %r1, 1; mov.u32 %r5, %tid.x; mul.wide.u32 %d2, %r5, 4;
 add.s64 %d1, %d1, %d2; mul.wide.u32 %d3, %r1, 8; mov.u64 %d4, table; add.s64 %d4, %d4, %d3; ld.global.u64 %d5, [%d4];
 ld.global.u32 %r2, [%d1];
 { .param .u32 a; .param .u32 r; st.param.u32 [a], %r2;
 proto: .callprototype (.param .u32 _) _ (.param .u32 _);
 call (r), %d5, (a), proto;
 ld.param.u32 %r3, [r]; }
 st.global.u32 [%d1], %r3; ret; }
"""


# Of a kernel that does nothing ptxas's frame goes from its end back to its start.
EMPTY = """.version 7.8
.target sm_75
.address_size 64
.visible .entry empty() { ret; }
"""


# Two kernels, of which one is taken out, and which come from two files.
TWO = """.version 7.8
.target sm_75
.address_size 64
.visible .entry adds(.param .u64 p, .param .u32 n)
{ .reg .b32 %r<9>; .reg .b64 %d<4>; .shared .align 4 .b8 kept[256];
 ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r5, %tid.x; mul.wide.u32 %d2, %r5, 4;
 add.s64 %d1, %d1, %d2; ld.global.u32 %r2, [%d1]; mov.u32 %r6, kept; shl.b32 %r7, %r5, 2; add.u32 %r6, %r6, %r7;
 st.shared.u32 [%r6], %r2; bar.sync 0; ld.shared.u32 %r2, [%r6]; add.u32 %r4, %r2, %r1; st.global.u32 [%d1], %r4; ret; }
.visible .entry muls(.param .u64 p, .param .u32 n)
{ .reg .b32 %r<9>; .reg .b64 %d<4>;
 ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r5, %tid.x; mul.wide.u32 %d2, %r5, 4;
 add.s64 %d1, %d1, %d2; ld.global.u32 %r2, [%d1]; mul.lo.u32 %r4, %r2, %r1; st.global.u32 [%d1], %r4; ret; }
"""
KERNELS = ("adds", "muls")


def sections(text):
    """The lines before the first section, and a list of (name, lines)."""
    head, found = [], []
    lines = head
    for line in text.split("\n"):
        comment = re.match(r"//\t-+ section \d+\t// (.*)", line)
        if comment:
            lines = []
            found.append((comment.group(1), lines))
        lines.append(line)
    return head, found


def own_sections(text, kernel):
    return {name for name, _ in sections(text)[1] if name.endswith("." + kernel)}


def without_kernel(text, kernel):
    """Its sections, symbols and records are gone, and what describes the code for debuggers, of both."""
    head, found = sections(text)
    gone = own_sections(text, kernel)
    gone |= {name for name, _ in found if re.match(r"(\.rela?)?\.(nv_)?debug_|\.heddle\.", name)}
    out = list(head)
    for name, lines in found:
        for line in lines if name not in gone else ():
            named = re.findall(r'(?:index|section)@\(([^)]*)\)|\.__(?:symbol|stays)\t"([^"]*)"', line)
            if not any(a in gone | {kernel} or b in gone | {kernel} for a, b in named):
                out.append(line)
    return "\n".join(out)


def with_kernel(text, other, kernel, segments=False):
    """The kernel of another file's text: its sections behind the others, its symbols, its records of all functions. The
    segments of both go, for they are of places in the two files; with `segments` they stay."""
    other = re.sub(r"\.L_(?=\d)", ".Lother_", other)
    theirs, names = dict(sections(other)[1]), own_sections(other, kernel)
    symbols = [line for line in theirs[".symtab"] if re.match(r'\t\.__symbol\t"', line)
               and any("section@(%s)" % n in line for n in names)]
    head, found = sections(text)
    out = list(head)
    for name, lines in found:
        if name == ".symtab": # local ones are first
            last = max(i for i, line in enumerate(lines) if ".__symbol" in line)
            first = min([i for i, line in enumerate(lines) if re.search(r'\.__symbol.*, 0x[12][0-9a-f], 0x', line)] + [last + 1])
            glob = [line for line in symbols if re.search(r', 0x[12][0-9a-f], 0x', line)]
            lines = lines[:first] + [x for x in symbols if x not in glob] + lines[first:last + 1] + glob + lines[last + 1:]
        elif name == ".nv.info":
            lines = [x for x in lines if x] + [x for x in theirs[".nv.info"] if "index@(%s)" % kernel in x] + [""]
        out += lines
    out += [line for name in theirs if name in names for line in theirs[name]]
    return "\n".join(line for line in out if segments or ".__segment" not in line)


def kernels_launch(names):
    path = os.path.join(work, "+".join(names) + ".launch.json")
    with open(path, "w") as f:
        json.dump({"buffers": {"v": {"type": "u32", "count": 64, "init": "iota"}},
                   "launches": [{"kernel": k, "grid": [1, 1, 1], "block": [64, 1, 1], "args": ["v", "u32:7"]} for k in names]}, f)
    return path


def alone_ptx(ptx, kernel):
    """The module with this kernel only."""
    path = "%s.%s.ptx" % (ptx[:-4], kernel)
    with open(ptx) as f:
        head, *entries = f.read().split(".visible")
    with open(path, "w") as f:
        f.write(head + "".join(".visible" + e for e in entries if "entry %s(" % kernel in e))
    return path


def text_edit(name, text, ptx, names, loaded):
    path = os.path.join(work, name)
    with open(path + ".sass", "w") as f:
        f.write(text)
    status, said = run(heddle, "asm", path + ".sass", "-o", path + ".cubin")
    if status:
        failures.append("%s: refused: %s" % (name, said[:400]))
        return False
    count("assembled")
    looks_right(name, path + ".cubin", None)
    status, said = run(heddle, "disasm", path + ".cubin")
    for kernel in KERNELS:
        if (kernel in names) != bool(re.search(r"(?m)^\S*\.?%s:|\b%s\b" % (kernel, kernel), said)):
            failures.append("%s: kernels are not %s" % (name, names))
    if loaded:
        status, said = run(heddle, "validate", ptx, path + ".cubin", "--launch", kernels_launch(names))
        failures.append("%s: %s" % (name, said[:600])) if status else count("ran as before")
    return True


def refused(name, text, reason):
    path = os.path.join(work, name)
    with open(path + ".sass", "w") as f:
        f.write(text)
    status, said = run(heddle, "asm", path + ".sass", "-o", path + ".cubin")
    if status == 0 or os.path.exists(path + ".cubin") or not re.search(reason, said):
        failures.append("%s: not refused: %s" % (name, said[:400]))
    else:
        count("refused")


def kernel_edits(name, binary, ptx, loaded):
    """Each kernel taken out of the file; then both put together again."""
    if not mine():
        return
    text = run(heddle, "disasm", "--sections", binary)[1]
    alone = []
    for kernel, other in (KERNELS, KERNELS[::-1]):
        if not text_edit("%s.without_%s" % (name, other), without_kernel(text, other), alone_ptx(ptx, kernel), [kernel], loaded):
            return
        made = os.path.join(work, "%s.without_%s.cubin" % (name, other))
        alone.append(run(heddle, "disasm", "--sections", made)[1])
    text_edit(name + ".merged", with_kernel(alone[0], alone[1], KERNELS[1]), ptx, list(KERNELS), loaded)
    if name == "two.ptxas90.debug": # that file is longer than this one
        refused(name + ".segments", with_kernel(alone[0], alone[1], KERNELS[1], True), "E0356.*segment 4, .* does not end in the file")


def all_kernel_edits():
    ptx = os.path.join(work, "two.ptx")
    with open(ptx, "w") as f:
        f.write(TWO)
    for target, form in (("bru1", []), ("sm_75", ["--old-form"]), ("sm_90", [])):
        binary = os.path.join(work, "two.%s.cubin" % target)
        status, text = run(heddle, "compile", "-t", target, *form, ptx, "-o", binary)
        if status:
            raise SystemExit(text)
        kernel_edits("two." + target, binary, ptx, True)
    for sm in (75, 90) if ptxas else ():
        made = os.path.join(work, "two.sm_%d.ptx" % sm)
        retarget(ptx, sm, made)
        for form, options in (("lineinfo", ["-lineinfo"]), ("rel", ["-c"]), ("debug", ["-g"])):
            binary = os.path.join(work, "two.ptxas%d.%s.cubin" % (sm, form))
            status, text = run(ptxas, "-arch=sm_%d" % sm, *options, made, "-o", binary)
            if status:
                raise SystemExit(text)
            kernel_edits("two.ptxas%d.%s" % (sm, form), binary, made, form != "rel")


def retarget(ptx, sm, out):
    with open(ptx) as source, open(out, "w") as f:
        f.write(re.sub(r"(?m)^\.target.*", ".target sm_%d" % sm, source.read()))


def launch_without_files(sample):
    """The sample's launch without what it says of files: they are made by other tests."""
    with open(os.path.join(samples, sample + ".json")) as f:
        launch = json.load(f)
    launch.pop("checks", None)
    launch["module"] = os.path.join(samples, sample + ".ptx")
    if "@" in json.dumps(launch):
        return "auto"
    out = os.path.join(work, sample + ".json")
    with open(out, "w") as f:
        json.dump(launch, f)
    return out


def main():
    os.makedirs(work, exist_ok=True)
    jumps = os.path.join(work, "jumps.ptx")
    with open(jumps, "w") as f:
        f.write(JUMPS)
    with open(os.path.join(work, "jumps.json"), "w") as f:
        f.write(JUMPS_LAUNCH)
    sixteen = os.path.join(work, "ways.ptx")
    with open(sixteen, "w") as f:
        f.write(ways(16))
    with open(os.path.join(work, "ways.json"), "w") as f:
        f.write(JUMPS_LAUNCH.replace("jumps", "ways"))
    pointers = os.path.join(work, "pointers.ptx")
    with open(pointers, "w") as f:
        f.write(POINTERS)
    with open(os.path.join(work, "pointers.json"), "w") as f:
        f.write(JUMPS_LAUNCH.replace("jumps", "pointers"))
    all_kernel_edits()
    own = {"jumps": jumps, "ways": sixteen, "pointers": pointers}
    programs = [(name, ptx, os.path.join(work, name + ".json"), name) for name, ptx in own.items()]
    for sample, function in (("collatz", None), ("warpscan", None), ("calls", None)):
        ptx = os.path.join(samples, sample + ".ptx")
        with open(ptx) as f:
            names = re.findall(r"\.entry\s+(\w+)", f.read())
        programs.append((sample, ptx, launch_without_files(sample), function or names[0]))
    for sample, ptx, launch, function in programs:
        for target in ("bru1", "sm_90"):
            name = "%s.%s" % (sample, target)
            binary = os.path.join(work, name + ".cubin")
            status, text = run(heddle, "compile", "-t", target, ptx, "-o", binary)
            if status:
                raise SystemExit(text)
            all_edits(name, binary, function, ptx, launch)
        for sm in (75, 90) if ptxas else ():
            made = os.path.join(work, "%s.sm_%d.ptx" % (sample, sm))
            retarget(ptx, sm, made)
            why = {"pointers": r"error E0358: numbers here mean places"}.get(sample)
            forms = [("lineinfo", ["-lineinfo"], why), ("rel", ["-c"], why)]
            forms.append(("debug", ["-g"], why) if sm == 75 else ("debug.rel", ["-g", "-c"], why))
            for form, options, refused_for in forms:
                name = "%s.ptxas%d.%s" % (sample, sm, form)
                binary = os.path.join(work, name + ".cubin")
                status, text = run(ptxas, "-arch=sm_%d" % sm, *options, made, "-o", binary)
                if status:
                    continue
                all_edits(name, binary, function, made, None if "rel" in form else launch, refused_for)
    for sm in (75, 89) if ptxas else ():
        # return addresses that are copied behind the call, and calls that do not come back
        made, binary = os.path.join(work, "nbody.sm_%d.ptx" % sm), os.path.join(work, "nbody.ptxas%d.cubin" % sm)
        retarget(os.path.join(samples, "nbody.ptx"), sm, made)
        status, text = run(ptxas, "-arch=sm_%d" % sm, made, "-o", binary)
        if status:
            raise SystemExit(text)
        for edit in (nop_first, nop_behind):
            try_edit(edit, "nbody.ptxas%d" % sm, binary, "nbody", made, launch_without_files("nbody"), None)
    for sm in (75, 90) if ptxas else ():
        made, binary = os.path.join(work, "empty.sm_%d.ptx" % sm), os.path.join(work, "empty.ptxas%d.cubin" % sm)
        with open(made, "w") as f:
            f.write(EMPTY.replace("sm_75", "sm_%d" % sm))
        status, text = run(ptxas, "-arch=sm_%d" % sm, made, "-o", binary)
        if status:
            raise SystemExit(text)
        all_edits("empty.ptxas%d" % sm, binary, "empty", made, None)
    print(", ".join("%d %s" % (n, what) for what, n in sorted(counts.items())))
    for line in failures:
        print("FAIL:", line[:400])
    sys.exit(1 if failures else 0)


main()
