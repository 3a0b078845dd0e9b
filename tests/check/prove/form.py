#!/usr/bin/env python3
"""Files whose code is right and whose form is not: loaders find something else, or nothing. None may be called proved or equal, and `heddle check` says M-06.

  form.py HEDDLE CASES SCRATCH

Each edit changes bytes of a compiled file: ours in both forms or, where PTXAS names it, that of ptxas. With HEDDLE_PART=N every N-th edit,
other ones of each file. SPDX-License-Identifier: MIT"""
import os
import pathlib
import struct
import subprocess
import sys

heddle, cases, scratch = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
ptxas = os.environ.get("PTXAS")
part = int(os.environ.get("HEDDLE_PART", "1"))
PROVED, REFUTED, UNKNOWN, REFUSED = 0, 4, 5, 1
EQUAL, DIFFERS, NOTHING_SHOWN = 0, 4, 5
FIELDS = {"name": (0, "<I"), "type": (4, "<I"), "flags": (8, "<Q"), "addr": (16, "<Q"), "size": (32, "<Q"), "link": (40, "<I"), "info": (44, "<I"), "align": (48, "<Q"), "entry": (56, "<Q")}


class Image(bytearray):
    def sections(self):
        (start,), (count, strings) = struct.unpack_from("<Q", self, 40), struct.unpack_from("<HH", self, 60)
        (names,) = struct.unpack_from("<Q", self, start + 64 * strings + 24)
        for at in range(start, start + 64 * count, 64):
            text = names + struct.unpack_from("<I", self, at)[0]
            yield at, self[text : self.index(0, text)].decode()

    def header(self, name):
        return next((at for at, other in self.sections() if other == name), None)

    def section(self, name):
        at = self.header(name)
        return struct.unpack_from("<QQ", self, at + 24)

    def field(self, name, field, change):
        offset, form = FIELDS[field]
        at = self.header(name)
        if at is None:
            return False
        (old,) = struct.unpack_from(form, self, at + offset)
        struct.pack_into(form, self, at + offset, change(old))
        return True

    def record(self, section, code):
        """where the record begins"""
        offset, size = self.section(section)
        at = offset
        while at < offset + size:
            if self[at + 1] == code:
                return at
            at += 4 + (struct.unpack_from("<H", self, at + 2)[0] if self[at] == 4 else 0)
        return None

    def symbol(self, name):
        (offset, size), (text, _) = self.section(".symtab"), self.section(".strtab")
        for at in range(offset, offset + size, 24):
            (start,) = struct.unpack_from("<I", self, at)
            if self[text + start : self.index(0, text + start)].decode() == name:
                return at
        return None


def flip(image, at, bit):
    if at is None:
        return False
    image[at] ^= 1 << bit
    return True


def drop(image, section, code):
    at = image.record(section, code)
    if at is None:
        return False
    size = 4 + (struct.unpack_from("<H", image, at + 2)[0] if image[at] == 4 else 0)
    offset, length = image.section(section)
    image[at : offset + length] = image[at + size : offset + length] + bytes(size)
    return image.field(section, "size", lambda old: old - size)


def twice(image):
    """the first record of registers stands where that of the frame was"""
    registers, frame = image.record(".nv.info", 0x2F), image.record(".nv.info", 0x11)
    image[frame : frame + 12] = image[registers : registers + 12]
    return True


def shorten(image):
    """the segment that loads the code"""
    (start,), (count,) = struct.unpack_from("<Q", image, 32), struct.unpack_from("<H", image, 56)
    code = image.section(".text.k")[0]
    for at in range(start, start + 56 * count, 56):
        (kind, _, offset), (size,) = struct.unpack_from("<IIQ", image, at), struct.unpack_from("<Q", image, at + 32)
        if kind == 1 and offset <= code < offset + size:
            struct.pack_into("<Q", image, at + 32, code - offset)
            return True
    return False


def caller(image):
    """a section's symbol calls"""
    (graph, _), (symbols, _) = image.section(".nv.callgraph"), image.section(".symtab")
    struct.pack_into("<II", image, graph, (image.symbol(".nv.constant0.k") - symbols) // 24, 0)
    return True


EDITS = {
    "type of code's bank": lambda i: i.field(".nv.constant0.k", "type", lambda old: 3),
    "flags of the bank": lambda i: i.field(".nv.constant0.k", "flags", lambda old: old & ~2),
    "bank that may be written": lambda i: i.field(".nv.constant0.k", "flags", lambda old: old | 1),
    "alignment of code": lambda i: i.field(".text.k", "align", lambda old: 16),
    "address of code": lambda i: i.field(".text.k", "addr", lambda old: 0x1000),
    "link of records": lambda i: i.field(".nv.info.k", "link", lambda old: old + 1),
    "owner of the bank is left out": lambda i: i.field(".nv.constant0.k", "info", lambda old: 0),
    "variables with bytes": lambda i: i.field(".nv.global", "flags", lambda old: old & ~1),
    "a byte of the launch's bank": lambda i: flip(i, i.section(".nv.constant0.k")[0] + 8, 3),
    "segment without rights": lambda i: flip(i, struct.unpack_from("<Q", i, 32)[0] + 56 + 4, 2),
    "segment too short": shorten,
    "symbol of the bank": lambda i: flip(i, i.symbol(".nv.constant0.k") + 16, 2),
    "name of the bank's symbol": lambda i: flip(i, i.symbol(".nv.constant0.k"), 1),
    "graph of calls": lambda i: flip(i, i.section(".nv.callgraph")[0], 6),
    "caller of a call": caller,
    "version of the interface": lambda i: flip(i, 8, 1),
    "architecture's other word": lambda i: flip(i, 48 + 2, 0),
    "entry": lambda i: flip(i, 24, 4),
    "size of the function": lambda i: flip(i, i.symbol("k") + 16, 4),
    "visibility of the function": lambda i: flip(i, i.symbol("k") + 5, 1),
    "no frame": lambda i: drop(i, ".nv.info", 0x11),
    "no stack": lambda i: drop(i, ".nv.info", 0x12),
    "registers twice": twice,
    "no list of EXITs": lambda i: drop(i, ".nv.info.k", 0x1C),
    "no size of parameters": lambda i: drop(i, ".nv.info.k", 0x19),
    "no bank of parameters": lambda i: drop(i, ".nv.info.k", 0x0A),
    "no workaround of the target": lambda i: drop(i, ".nv.info.k", 0x36),
    "bank of parameters by another symbol": lambda i: flip(i, i.record(".nv.info.k", 0x0A) + 4, 0),
    "shape of a parameter": lambda i: flip(i, i.record(".nv.info.k", 0x17) + 4 + 9, 4),
    "format of a limit": lambda i: flip(i, i.record(".nv.info.k", 0x1B), 0),
    "an unknown record": lambda i: flip(i, i.record(".nv.info.k", 0x1B) + 1, 7),
}


def older(file):
    """as ptxas 12.1 has it of PTX for sm_75: its links are two too high"""
    image = Image(file.read_bytes())
    struct.pack_into("<I", image, 20, 121)
    image[48 + 2] = 75
    symbols = next(k for k, (_, name) in enumerate(image.sections()) if name == ".symtab")
    for at, name in list(image.sections()):
        if struct.unpack_from("<I", image, at + 40)[0] == symbols:
            image.field(name, "link", lambda old: old + 2)
    file.write_bytes(image)


def nameless(file):
    """as ptxas 11.8 -g has it: the kernel calls what has lost its symbol, by a number that a variable's symbol has, or behind all"""
    image = Image(file.read_bytes())
    (graph, _), (symbols, size) = image.section(".nv.callgraph"), image.section(".symtab")
    number = lambda name: (image.symbol(name) - symbols) // 24
    variable = next(at for at in range(symbols, symbols + size, 24) if image[at + 4] & 15 == 1)
    for pair, callee in enumerate(((variable - symbols) // 24, size // 24 + 189)):
        struct.pack_into("<II", image, graph + 8 * pair, number("k"), callee)
    file.write_bytes(image)


def is_given_back(file, text, again):
    """disassembled and assembled"""
    subprocess.run([heddle, "disasm", "--sections", file, "-o", text], check=True)
    subprocess.run([heddle, "asm", text, "-o", again], check=True)
    return file.read_bytes() == again.read_bytes()


def status(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout + done.stderr


def main():
    scratch.mkdir(parents=True, exist_ok=True)
    ptx, good, bad = cases / "form.ptx", scratch / "good.cubin", scratch / "bad.cubin"
    makers = {
        "old form": [heddle, "compile", "-t", "sm_80", "--old-form", ptx, "-o", good],
        "callees without names": [heddle, "compile", "-t", "sm_80", "--old-form", ptx, "-o", good],
        "older toolkit": [heddle, "compile", "-t", "sm_80", "--old-form", ptx, "-o", good],
        "new form": [heddle, "compile", "-t", "sm_90", ptx, "-o", good],
        "sm_75": [heddle, "compile", "-t", "sm_75", "-O0", ptx, "-o", good],
    }
    if ptxas:
        makers = {"ptxas": [ptxas, "-arch=sm_90", ptx, "-o", good]}
    validate, given = ([heddle, "validate", f"--launch={launch}", ptx] for launch in ("auto", ptx.with_suffix(".json")))
    failed, done = 0, {name: 0 for name in EDITS}
    for turn, (maker, command) in enumerate(makers.items()):
        subprocess.run(command, check=True)
        if maker == "older toolkit":
            older(good)
            if not is_given_back(good, scratch / "good.sass", scratch / "again.cubin"):
                print(f"FAILED: {maker}: assembled again it is another file")
                failed += 1
        if maker == "callees without names":
            nameless(good)
        if status([heddle, "prove", ptx, good])[0] != PROVED or "M-06" in status([heddle, "check", good])[1]:
            print(f"FAILED: {maker}: not proved, or M-06, as it is")
            failed += 1
        if status(validate + [good])[0] != EQUAL or status(given + [good])[0] != EQUAL:
            print(f"FAILED: {maker}: not equal as it is")
            failed += 1
        for name, edit in list(EDITS.items())[turn % part :: part]:
            image = Image(good.read_bytes())
            if not edit(image) or image == good.read_bytes():
                continue
            done[name] += 1
            bad.write_bytes(image)
            (proved, text), (_, said) = status([heddle, "prove", "--no-launches", ptx, bad]), status([heddle, "check", bad])
            if proved not in (UNKNOWN, REFUTED, REFUSED) or (proved == UNKNOWN and "M-06" not in said + text):
                print(f"FAILED: {maker}, {name}: status {proved}\n{text}{said}")
                failed += 1
            for launches in (validate, given):
                equal, text = status(launches + [bad])
                if equal not in (NOTHING_SHOWN, DIFFERS, REFUSED) or ("the file" not in text and equal != REFUSED):
                    print(f"FAILED: {maker}, {name}: validate: status {equal}\n{text}")
                    failed += 1
    for name in [name for name, count in done.items() if not count and part == 1 and not ptxas]:
        print(f"FAILED: {name}: nothing to edit")
        failed += 1
    print(f"{sum(done.values())} edits")
    return failed != 0 or not any(done.values())


sys.exit(main())
