"""listing.py HEDDLE SAMPLES DIRECTORY [PTXAS NVDISASM]: the text of other disassemblers as assembly.

The words that nvdisasm shows beside instructions are those of the file that ptxas made; sections, symbols and relocations are
what readelf says of that file. The new file is read here, not by Heddle. With both tools the samples, too: what nvdisasm says
of the new file is the text it was made of, but for numbers of labels.
SPDX-License-Identifier: MIT
"""
import os, re, struct, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
HEDDLE, SAMPLES, DIR = sys.argv[1:4]
PTXAS, NVDISASM = (sys.argv[4:6] + ["", ""])[:2]
failed = 0
os.makedirs(DIR, exist_ok=True)
os.chdir(DIR)


def fail(*what):
    global failed
    failed = 1
    print("FAILED:", *what)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)


def assemble(text, name, *options):
    with open(name + ".sass", "w") as f:
        f.write(text)
    if os.path.exists(name + ".cubin"):
        os.remove(name + ".cubin")
    return run(HEDDLE, "asm", *options, name + ".sass", "-o", name + ".cubin")


class Elf:
    def __init__(self, path):
        data = open(path, "rb").read()
        shoff, = struct.unpack_from("<Q", data, 40)
        n, names = struct.unpack_from("<HH", data, 60)
        heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(n)]
        text = lambda table, at: data[table[4] + at:data.index(b"\0", table[4] + at)].decode()
        self.heads = {text(heads[names], h[0]): h for h in heads}
        self.order = [text(heads[names], h[0]) for h in heads]
        self.data = {name: data[h[4]:h[4] + h[5]] if h[1] != 8 else b"" for name, h in self.heads.items()}
        self.flags, = struct.unpack_from("<I", data, 48)
        self.kind, = struct.unpack_from("<H", data, 16)
        self.symbols, self.relocs, self.numbers = {}, set(), {}  # numbers: of the symbols of sections
        self.with_kinds = set()  # relocations with the type of their table
        table = [struct.unpack_from("<IBBHQQ", self.data[".symtab"], at)
                 for at in range(0, len(self.data[".symtab"]), 24)]
        strings = heads[self.order.index(".strtab")]
        name_of = [text(strings, s[0]) for s in table]
        for k, (s, name) in enumerate(zip(table, name_of)):
            if s[1] & 15 == 3:
                self.numbers[name] = k
            else:
                self.symbols[name] = (s[1] >> 4, s[1] & 15, s[2], self.order[s[3]], s[4], s[5])
        for name, h in self.heads.items():
            for at in range(0, len(self.data[name]), h[9] or 1) if h[1] in (4, 9) else []:
                place, kind, symbol, addend = (struct.unpack_from("<QII" + "q" * (h[1] == 4), self.data[name], at) + (0,))[:4]
                self.with_kinds.add((self.order[h[7]], place, kind, name_of[symbol], addend, h[1]))
                if h[1] == 4:
                    self.relocs.add((self.order[h[7]], place, kind, name_of[symbol], addend))
        self.named = sorted((n, *s[1:3], self.order[s[3]], *s[4:]) for s, n in zip(table, name_of) if s[1] & 15 != 3 and n)


def words_of(text):
    """What stands in comments: two a line pair, in the order of the text."""
    return [int(w, 16) for w in re.findall(r"/\* 0x([0-9a-f]{16}) \*/", text)]


def code_words(data):
    return list(struct.unpack(f"<{len(data) // 8}Q", data))


def check(what, got, expected):
    if got != expected:
        fail(f"{what}: {got}, expected {expected}")


def checked_in():
    text = open(os.path.join(HERE, "listing.sm_80.sass")).read()
    out = assemble(text, "listing")
    if out.returncode:
        return fail("listing.sm_80.sass", out.stderr)
    elf = Elf("listing.cubin")
    check("words", code_words(elf.data[".text.listing"]), words_of(text))
    check("flags of the file", elf.flags, 0x5004 | elf.order.index(".note.nv.cuinfo") << 24)
    local, global_ = 0, 1
    check("symbols", elf.symbols, {
        "": (0, 0, 0, "", 0, 0),
        "$listing$twice": (local, 2, 0, ".text.listing", 0x170, 272),
        "listing": (global_, 2, 0x10, ".text.listing", 0, 640),
        "counter": (global_, 1, 0, ".nv.global.init", 16, 4),
        "table": (global_, 1, 0, ".nv.global.init", 0, 16),
        "scale": (global_, 1, 0, ".nv.constant3", 0, 16)})
    check("relocations", elf.relocs, {
        (".nv.constant4", 8, 2, "table", 0), (".nv.constant4", 0, 2, "counter", 0),
        (".nv.global.init", 8, 4, "counter", 0), (".debug_frame", 0xcc, 2, "listing", 0x170),
        (".debug_frame", 0x44, 2, "listing", 0), (".debug_frame", 0xa8, 2, "listing", 0)})
    registers = int(re.search(r"SHI_REGISTERS=(\d+)", text).group(1))
    check("registers", elf.heads[".text.listing"][7] >> 24, registers)
    check("bank of parameters", len(elf.data[".nv.constant0.listing"]), 0x16c)
    check("shared memory", elf.heads[".nv.shared.listing"][5], 256)
    check("contents", elf.data[".nv.global.init"], struct.pack("<QQI", 5, 0, 7))
    check("constants", elf.data[".nv.constant3"], struct.pack("<4I", 1, 2, 3, 4))
    note = elf.data[".note.nv.tkinfo"]
    owner, size, kind = struct.unpack_from("<III", note)
    check("note", (owner, size, kind, note[12:24]), (12, len(note) - 24, 2000, b"NVIDIA Corp\0"))
    places = struct.unpack_from("<5I", note, 28)
    check("texts", [note[48 + p:].split(b"\0")[0] for p in places[:2]], [b"", b"ptxas"])
    out = run(HEDDLE, "validate", "--launch", "auto", os.path.join(HERE, "listing.ptx"), "listing.cubin")
    if out.returncode or "equal" not in out.stdout:
        fail("listing.sm_80.sass is another program:", out.stdout, out.stderr)
    # without the words: the same instructions, each waiting for those before
    out = assemble(re.sub(r"/\* 0x[0-9a-f]{16} \*/", "", text), "plain")
    if out.returncode:
        return fail("listing.sm_80.sass without words", out.stderr)
    for command in (["check", "plain.cubin"],
                    ["validate", "--launch", "auto", os.path.join(HERE, "listing.ptx"), "plain.cubin"]):
        out = run(HEDDLE, *command)
        if out.returncode:
            fail(*command, out.stdout, out.stderr)
    # an instruction more: labels, sizes and records follow; it has no word, and says so itself
    nop = text.replace("                   S2R R", "                   NOP ;\n        /*0000*/                   S2R R", 1)
    check("a NOP is put in", nop != text, True)
    out = assemble(nop, "nop")
    if out.returncode:
        return fail("a NOP", out.stderr)
    more = Elf("nop.cubin")
    check("size with a NOP", more.symbols["listing"][5], 656)
    check("place behind a NOP", more.symbols["$listing$twice"][4:], (0x180, 272))


BARE = """	.target	sm_80
	.section	.text.k,"ax",@progbits
	.align	128
	.global	k
	.type	k,@function
	.size	k,(.L_end - k)
	.other	k,@"STO_CUDA_ENTRY STV_DEFAULT"
k:
	S2R R0, SR_TID.X ;
	ISETP.GE.U32.AND P0, PT, R0, 0x10, PT ;
.CUASM_OFFSET_LABEL.k.EIATTR_COOP_GROUP_INSTR_OFFSETS.#:
	SHFL.UP PT, R7, R0, 0x1, RZ ;
	@P0 BRA `(.L_out) ;
	IADD3 R7, R0, 0x1, RZ ;
.L_out:
	EXIT ;
.L_end:
"""


def bare():
    """Code alone: records are made of it."""
    out = assemble(BARE, "bare")
    if out.returncode:
        return fail("code alone", out.stderr)
    elf = Elf("bare.cubin")
    check("symbols of code alone", elf.symbols,
          {"": (0, 0, 0, "", 0, 0), "k": (1, 2, 0x10, ".text.k", 0, 96)})
    info = elf.data[".nv.info.k"]
    check("COOP_GROUP", info.find(struct.pack("<BBHI", 4, 0x28, 4, 0x20)) >= 0, True)
    check("EXIT", info.find(struct.pack("<BBHI", 4, 0x1c, 4, 0x50)) >= 0, True)
    count = elf.data[".nv.info"].find(struct.pack("<BBH", 4, 0x2f, 8))
    check("REGCOUNT", struct.unpack_from("<I", elf.data[".nv.info"], count + 8)[0] if count >= 0 else None, 10)  # R0 to R7, and two as ptxas counts them
    out = run(HEDDLE, "check", "bare.cubin")
    if out.returncode:
        fail("check of code alone", out.stdout, out.stderr)
    out = assemble(BARE.replace("	IADD3 R7, R0, 0x1, RZ ;", "	UMOV UR4, 32@lo(Elsewhere) ;\n	UMOV UR5, 32@hi(Elsewhere) ;"), "outside")
    if out.returncode:
        return fail("a symbol of elsewhere", out.stderr)
    elf = Elf("outside.cubin")
    check("a symbol of elsewhere", elf.symbols["Elsewhere"], (1, 0, 0, "", 0, 0))
    check("its relocations", elf.relocs, {(".text.k", 0x40, 56, "Elsewhere", 0), (".text.k", 0x50, 57, "Elsewhere", 0)})
    # PTX of sm_75 for sm_80, as nvdisasm writes it of files of the older and of the newer form
    for form in ("VIRTUAL", "PTX"):
        out = assemble(BARE.replace("	.target	sm_80", f"""	.headerflags	@"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM80 EF_CUDA_{form}_SM(EF_CUDA_SM75)\""""), "flags")
        if out.returncode:
            return fail("header flags", out.stderr)
        check("header flags, " + form, Elf("flags.cubin").flags >> 16 & 0xff, 75)


def data():
    """Sections are meant by the symbols that they have; a note keeps its bytes; tables of relocations grow in place."""
    note = bytes([8, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0]) + b"NVIDIA\0\0" + bytes(range(20))
    many = 20000
    text = (BARE + "	.section	.note.x,\"\",@\"SHT_NOTE\"\n	.byte	" + ",".join(map(str, note)) + "\n"
            "	.section	.data,\"aw\",@progbits\n	.dword	.plain\n" + "	.dword	k\n" * many +
            "	.section	.plain,\"aw\",@progbits\n	.word	index@(.data)\n")
    try:
        out = assemble(text, "data")
    except subprocess.TimeoutExpired:
        return fail("relocations take long")
    if out.returncode:
        return fail("data", out.stderr)
    elf = Elf("data.cubin")
    check("note", elf.data[".note.x"], note)
    check("symbols", set(elf.symbols), {"", "k"})
    check("relocations", (len(elf.relocs), (".data", 0, 2, ".plain", 0) in elf.relocs), (many + 1, True))
    check("number of a section", struct.unpack_from("<I", elf.data[".plain"])[0], elf.numbers[".data"])


def bank():
    """The section types of relocatable files, which older listings have everywhere."""
    out = assemble(BARE + "	.section	.nv.constant2.k,\"a\",@\"SHT_CUDA_CONSTANT_B2\"\n	.align	4\n	.word	(.L_out - .text.k)\n"
                   .replace(".text.k)", "k)"), "bank")
    if out.returncode:
        return fail("a bank", out.stderr)
    elf = Elf("bank.cubin")
    check("the type of a bank", elf.heads[".nv.constant2.k"][1], 0x70000066)
    check("a distance", elf.data[".nv.constant2.k"], struct.pack("<I", 0x50))


OBJECT = BARE.replace("	.section", "	.elftype	@\"ET_REL\"\n	.section", 1).replace("	EXIT ;\n", """	MOV R0, 32@lo((k + .L_end@srel)) ;
	STS [R0+`((s + 0x4))], R7 ;
	LDS R7, [`(s)] ;
	MOV R2, `(s) ;
	MOV R3, `(c) ;
	IADD3 R2, R2, c[`((c + 0x8))], RZ ;
	LDC R2, c[R0+`(c)] ;
	CALL.ABS.NOINC `(f) ;
	YIELD (*"RELOCATOR OPCODE,YIELD,280"*) ;
	EXIT ;
""") + """	.section	.nv.constant3,"a",@"SHT_CUDA_CONSTANT_B3"
	.align	4
	.type	c,@"STT_CUDA_OBJECT"
	.size	c,(.L_c - c)
	.other	c,@"STO_CUDA_CONSTANT STV_DEFAULT"
c:
	.word	1,2,3,4
.L_c:
	.section	.nv.prototype,"",@"SHT_CUDA_PROTOTYPE"
	.word	index@(f)
	.word	str_index@("#ii")
	.section	.nv_debug.shared,"aw",@"SHT_CUDA_SHARED"
	.align	16
	.type	s,@"STT_CUDA_OBJECT"
	.size	s, 32, 16
	.other	s,@"STO_CUDA_SHARED STV_DEFAULT"
s:
	.zero	32
	.section	.data,"",@progbits
	.dword	fun@R_CUDA_UNUSED_CLEAR64(k)
	.dword	fun@R_CUDA_G64(c)
	.word	c
	.type	f,@function
"""


def object_():
    """Operands of a relocatable file: relocations by docs/elf.md, as ptxas has them for these instructions."""
    REL, RELA = 9, 4
    for sm, call, bank in (("sm_75", 58, 0), ("sm_80", 58, 0), ("sm_90", 75, 3)):
        out = assemble(OBJECT.replace("sm_80", sm), "object")
        if out.returncode:
            return fail("an object", sm, out.stderr)
        elf = Elf("object.cubin")
        plain = RELA if sm == "sm_90" else REL
        of = ".text.k"
        check(f"relocations of {sm}", elf.with_kinds, {
            (of, 0x50, 56, "k", 0xf0, RELA), (of, 0x60, 74, "s", 4, RELA), (of, 0x70, 74, "s", 0, plain), (of, 0x80, 55, "s", 0, plain),
            (of, 0x90, 59, "c", 0, plain), (of, 0xa0, 64, "c", 8, RELA), (of, 0xb0, 66, "c", 0, plain), (of, 0xc0, call, "f", 0, plain),
            (of, 0xd0, 68, "", 280, RELA), (of, 0xd0, 69, "", 0, plain),
            (".data", 0, 73, "k", 0, RELA), (".data", 8, 4, "c", 0, plain), (".data", 16, 1, "c", 0, RELA)})
        check("symbols of an object", {n: elf.symbols[n] for n in "kscf"}, {
            "k": (1, 2, 0x10, ".text.k", 0, 0xf0), "s": (0, 13, 0x40, ".nv_debug.shared", 16, 32),
            "c": (0, 13, 0x80, ".nv.constant3", 0, 16), "f": (1, 2, 0, "", 0, 0)})
        check("kind of file", elf.kind, 1)
        words = code_words(elf.data[of])
        check("bank in the word", words[2 * 10] >> 54 & 31, bank)
        place, = struct.unpack_from("<I", elf.data[".nv.prototype"], 4)
        check("prototype", elf.data[".strtab"][place:place + 4], b"#ii\0")
        check("size of a frame", elf.data[".data"], struct.pack("<QQI", 0xf0, 0, 0))


def segments():
    """The program headers as CuAssembler writes them: a directive for each field. The file is the same."""
    path = os.path.join(SAMPLES, "collatz.ptx")
    run(HEDDLE, "compile", "-t", "sm_90", path, "-o", "segments.cubin")
    run(HEDDLE, "disasm", "--sections", "segments.cubin", "-o", "segments.text")
    names = {"0x6": '"PT_PHDR"', "0x1": '"PT_LOAD"'}
    def spread(line):
        kind, flags, *rest = line.group(1).split(", ")
        fields = "offset vaddr paddr filesz memsz align".split()
        return "\t.__segment\t%s, %s\n" % (names[kind], flags) + "\t.__segment_startsection\t.x\n" + \
            "".join("\t.__segment_%s\t%s\n" % pair for pair in zip(fields, rest))
    text, n = re.subn(r"\t\.__segment\t(.*)\n", spread, open("segments.text").read())
    check("segments", n > 2, True)
    check("assembling them", assemble(text, "spread").stderr, "")
    check("their file", open("spread.cubin", "rb").read(), open("segments.cubin", "rb").read())
    bad = assemble(text.replace('"PT_PHDR"', "PT_ODD"), "refused")
    check("a type that is none", "error E0350: expected a type: a number, or PT_LOAD" in bad.stderr, True)


def refused():
    def one(what, text, message):
        out = assemble(text, "refused")
        if out.returncode != 1 or message not in out.stderr or os.path.exists("refused.cubin"):
            fail(what, out.returncode, out.stderr)
    one("no target", "	.section	\"a\"\n	.byte	1\n", "expected .target")
    one("no symbol", "	.target	sm_80\n	.section	\"a\"\n	.byte	1\n", "expected a symbol")
    one("no relocation", BARE + "	.section	\"a\"\n	.dword	fun@R_CUDA_NO(k)\n", ":19:9: error E0350: expected the name of a relocation")
    one("no such symbol", BARE + "	.section	\"a\"\n	.word	index@(l)\n", ":19:8: error E0359: no symbol l")
    one("a handle that does not end", BARE + "	.section	\"a\"\n	.word	[20@lo(0x0)=k\n", ":19:21: error E0350: expected ']'")
    one("six texts", BARE + "	.section	.note.nv.tkinfo,\"\",@\"SHT_NOTE\"\n	.sectionflags	@\"SHF_NOTE_NV_TKINFO\"\n"
        "	.tkinfo\n	.word	2\n" + "	.string	\"a\"\n" * 6, ":27:9: error E0350: expected five texts at most")
    one("a word that is no instruction", BARE.replace("S2R R0, SR_TID.X ;", "S2R R0, SR_TID.X ; /* 0xffffffffffffffff */\n/* 0xffffffffffffffff */"),
        ":9:2: error E0350")
    one("a header of a text without tables", "	.__elf_shstrndx	60000\n" + BARE, ":1:2: error E0350: expected no header")
    one("a section twice", BARE + "	.section	.text.k,\"ax\",@progbits\n", ":18:10: error E0350: expected another name")
    one("65536 sections", BARE + "".join(f"	.section	.text.k{i},\"ax\",@progbits\n	.type	k{i},@function\n" for i in range(32768)),
        "error E0356: too many sections")
    listing = open(os.path.join(HERE, "listing.sm_80.sass")).read()
    lower = listing.index("S2R R2, SR_TID.X ;")
    upper = listing.index("\n", lower)
    one("half of a word, behind it the next instruction", listing[:upper] + listing[listing.index("\n", upper + 1):],
        ":278:36: error E0350: expected a control field before the instruction")
    def operand(what, instruction, message):
        one(what, OBJECT.replace("	STS [R0+`((s + 0x4))], R7 ;", "	" + instruction), message)
    unknown = ":18:%d: error E0356: a relocation of this operand of this instruction is not known"
    operand("a branch to elsewhere", "BRA `(f) ;", unknown % 6)
    operand("a relative call to elsewhere", "CALL.REL.NOINC `(f) ;", unknown % 17)
    operand("a call through a register by a function", "CALL.ABS.NOINC R2 `(f) ;", unknown % 20)
    operand("shared memory by a constant", "STS [R0+`(c)], R7 ;", ":18:2: error E0350: expected the name of a shared variable")
    operand("a bank by a shared variable", "LDC R0, c[`(s)] ;", ":18:2: error E0350: expected the name of a constant variable")
    operand("the offset of a function", "MOV R0, `(f) ;", ":18:2: error E0350: expected the name of a shared or constant variable")
    operand("a difference", "MOV R0, `((s - c)) ;", ":18:17: error E0354: unknown symbol")
    operand("an address of a kind that nobody knows", "MOV R0, 32@lo(fun@other(f)) ;", ":18:25: error E0350: expected ')'")
    operand("no end of a name", "MOV R0, `((s ;", ":18:10: error E0350: expected ')'")
    operand("another note", "YIELD (*\"RELOCATOR OPCODE,BRA,280\"*) ;", ":18:8: error E0356: the relocations of this note")
    words = """	.target	sm_80
	.elftype	@"ET_REL"
	.section	.text.k,"ax",@progbits
	.global	k
	.type	k,@function
k:
	MOV R0, `(s) ; /* 0x%s00007802 */
	/* 0x000fe20000000f00 */
	.other	s,@"STO_CUDA_SHARED STV_DEFAULT"
"""
    nan = (words % "0").replace("MOV R0, `(s) ; /* 0x000007802 */", "HFMA2.MMA R9, -RZ, RZ, 0, +QNAN ; /* 0x00007fffff097435 */").replace("fe20000000f00", "fe200000001ff")
    check("the bits of a NaN of 16 bits", assemble(nan, "nan").stderr or code_words(Elf("nan.cubin").data[".text.k"]), [0x7fffff097435, 0xfe200000001ff])
    check("words of this instruction", assemble(words % "00000000", "words").stderr, "")
    one("words of another instruction", words % "00000001", ":7:2: error E0356: the words beside this instruction are others")
    one("tables in a relocatable file", OBJECT + "	.section	.symtab,\"\",@\"SHT_SYMTAB\"\n", "error E0356: tables of names or symbols in a text")
    one("a kind of file behind the sections", BARE + "	.elftype	@\"ET_REL\"\n", ":18:10: error E0350: expected .elftype before")
    one("a relocation of no bytes", OBJECT + "	.section	.x,\"\",@nobits\n	.dword	fun@R_CUDA_UNUSED_CLEAR64(k)\n", "expected no relocation in a section without bytes")
    one("a bank in code without bytes", OBJECT.replace("@progbits", "@nobits", 1), "expected no relocation in a section without bytes")
    one("a bank that there is not", BARE + "	.section	c,\"a\",@\"SHT_CUDA_CONSTANT_B18\"\n", ":18:17: error E0350: expected a section type")
    one("control of some", BARE.replace("S2R R0", "[B------:R-:W0:-:S01] S2R R0"), ":10:2: error E0350: expected a control field")


KERNEL = """.visible .entry k%d(.param .u64 p) { .reg .b32 %%r<2>; .reg .b64 %%d<2>; ld.param.u64 %%d1, [p];
 mov.u32 %%r1, %%tid.x; st.global.u32 [%%d1], %%r1; ret; }
"""


def many():
    """Text of many kernels, and back: the same bytes. (How time follows the number of kernels: bench/shapes.)"""
    with open("many.ptx", "w") as f:
        f.write(".version 7.8\n.target sm_80\n.address_size 64\n" + "".join(KERNEL % i for i in range(1000)))
    run(HEDDLE, "compile", "-t", "sm_80", "many.ptx", "-o", "many.cubin")
    for command in (("disasm", "--sections", "many.cubin", "-o", "many.sass"), ("asm", "many.sass", "-o", "again.cubin"),
                    ("disasm", "many.cubin", "-o", "read.sass")):
        out = run(HEDDLE, *command)
        if out.returncode:
            fail("many kernels", command, out.stderr[:300])
    check("many kernels", open("again.cubin", "rb").read() == open("many.cubin", "rb").read(), True)


def frames():
    """A frame table that counts in units of 0 bytes, of more than there are, or of nobody knows what (it has no head): shown
    as text, the file is made again."""
    for unit in ("0x00", "0x04", "0xff,0xff,0xff,0xff,0xff,0xff,0xff,0xff,0xff,0x01", None):
        cie = 17 + unit.count(",") if unit else 0
        head = (f"	.word	0xffffffff,{cie},0,0xffffffff,0xffffffff\n	.byte	3,0,{unit},0x7c,0xff,0xff,0xff,0xff,0x0f\n"
                if unit else "")
        out = assemble(BARE + "	.section	.debug_frame,\"\",@progbits\n"
                       + head + "	.word	0xffffffff,29,0,0,0\n	.dword	k\n	.word	0x50,0\n	.byte	4,0x10,0,0,0\n", "frames")
        if out.returncode:
            return fail("frames", unit, out.stderr)
        for command in (("disasm", "--sections", "frames.cubin", "-o", "again.sass"), ("asm", "again.sass", "-o", "again.cubin")):
            out = run(HEDDLE, *command)
            if out.returncode:
                return fail("frames in units of", unit, out.stderr)
        check(f"frames in units of {unit}", open("again.cubin", "rb").read() == open("frames.cubin", "rb").read(), True)


def normal(text):
    return re.sub(r"\.L_(x_)?\d+", ".L", text)


def samples():
    if not PTXAS or not NVDISASM:
        print("samples are left out: no ptxas, or no nvdisasm")
        return
    compared = 0
    for sm in (75, 80, 90):
        for name in ("calls", "tokens", "histogram", "matmul", "nbody", "spinlock"):
            source = os.path.join(SAMPLES, name + ".ptx")
            if run(PTXAS, f"-arch=sm_{sm}", source, "-o", "theirs.cubin").returncode:
                continue
            for options in (["-hex"], []):
                text = run(NVDISASM, *options, "theirs.cubin").stdout
                out = assemble(text, "ours")
                if out.returncode:
                    fail(name, sm, options, out.stderr)
                    continue
                if options:
                    check(f"{name} sm_{sm}", normal(run(NVDISASM, *options, "ours.cubin").stdout) == normal(text), True)
                out = run(HEDDLE, "check", "ours.cubin")
                if out.returncode:
                    fail("check of", name, sm, options, out.stdout)
                compared += 1
    check("texts compared", compared >= 30, True)


NOT_FILLED = (8, 0x70000007, 0x70000009, 0x7000000a)  # types of sections without bytes in the file


def same_object(what, theirs, ours):
    """All that a linker reads: numbers of symbols and places of names differ, so sections that hold them are compared by text."""
    check(f"{what}: file", (ours.kind, ours.flags), (theirs.kind, theirs.flags))
    check(f"{what}: relocations", ours.with_kinds ^ theirs.with_kinds, set())
    check(f"{what}: symbols", set(ours.named) ^ {s for s in theirs.named if s[0] in ours.symbols}, set())
    check(f"{what}: symbols left out", [s for s in theirs.named if s[0] not in ours.symbols and s[3]], [])
    for name, h in theirs.heads.items():
        if h[1] in (2, 3, 4, 9) or not h[1]:
            continue
        mine = ours.heads.get(name)
        check(f"{what}: {name}", mine and (mine[1:3], mine[5], mine[8:]), (h[1:3], h[5], h[8:]))
        if mine and h[1] not in NOT_FILLED and not name.startswith((".nv.info", ".nv.callgraph", ".nv.prototype")):
            check(f"{what}: {name}", ours.data[name] == theirs.data[name], True)


def objects():
    if not PTXAS or not NVDISASM:
        print("objects are left out: no ptxas, or no nvdisasm")
        return
    compared = 0
    sources = [os.path.join(HERE, "listing_object.ptx")] + [os.path.join(HERE, "objects", n + ".ptx") for n in ("one", "two")]
    sources += [os.path.join(SAMPLES, n + ".ptx") for n in ("calls", "tokens", "histogram", "matmul", "nbody", "spinlock", "hashtable")]
    for sm in (75, 80, 90):
        for source in sources:
            with open(source) as f, open("theirs.ptx", "w") as g:
                g.write(re.sub(r"(?m)^\.target sm_\w+", f".target sm_{sm}", f.read()))
            if run(PTXAS, "-c", f"-arch=sm_{sm}", "theirs.ptx", "-o", "theirs.o").returncode:
                continue
            text = run(NVDISASM, "-hex", "theirs.o").stdout
            out = assemble(text, "ours")
            what = f"object {os.path.basename(source)} sm_{sm}"
            if out.returncode:
                fail(what, out.stderr)
                continue
            same_object(what, Elf("theirs.o"), Elf("ours.cubin"))
            check(f"{what}: text", sorted(normal(run(NVDISASM, "-hex", "ours.cubin").stdout).split("\n"))
                  == sorted(normal(text).split("\n")), True)
            compared += 1
    check("objects compared", compared >= 20, True)


checked_in()
bare()
data()
object_()
segments()
refused()
frames()
many()
samples()
objects()
sys.exit(failed)
