/* .debug_frame: for each instruction, where the caller's frame begins, and where what it needs of its
 * registers lies, in DWARF 3 as ptxas writes it (docs/elf.md); cuda-gdb unwinds by it. CFA is the caller's
 * R1.
 *
 * A function is called with the return address in a pair of registers and may move it: to other registers,
 * and to its frame and back. So each block is entered with what all ways to it have in common: the distance
 * of R1 from the CFA, which register holds what some register had on entry, and which words of the frame do;
 * the rows say where that changes from one instruction to the next, in the order of the code:
 *
 *     IADD3 R1, R1, -0x10, RZ     CFA = R1 + 16 from the next instruction on
 *     STL [R1+0xc], R2            R2 still holds what it had
 *     CALL ...                    the callee changes R2: it lies at CFA - 4
 *     LDL R2, [R1+0xc]            R2 again
 *
 * What moves R1 and registers is known by name: those by which regalloc makes frames, spills and copies;
 * after any other operation a register holds nothing. An open function (isa/machine/abi.h) returns all
 * registers that the convention between objects keeps: they are told of, too.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/writer.h"
#include "isa/machine/abi.h"
#include <string.h>

/* NVIDIA's numbers of registers; DWARF 3, 7.23. A kernel has no caller: its return column is UINT32_MAX. */
enum { DWARF_R0 = 0x5000000, CODE_ALIGN = 4, DATA_ALIGN = -4, WORD_BYTES = 4, MAX_SLOTS = 64 };
enum {
    CFA_ADVANCE_LOC4 = 4,
    CFA_OFFSET_EXTENDED,
    CFA_RESTORE_EXTENDED,
    CFA_UNDEFINED,
    CFA_SAME_VALUE,
    CFA_REGISTER,
    CFA_DEF_CFA = 12
};

typedef struct {
    int32_t offset; /* of the word from the CFA */
    uint8_t reg;    /* whose value it holds: the register's on entry */
} Slot;

typedef struct {
    bool known;           /* there is a way here */
    int32_t cfa;          /* CFA = R1 + cfa */
    uint8_t held[REG_RZ]; /* register whose value on entry this one holds; REG_RZ: none that matters */
    uint32_t nslots;
    Slot slots[MAX_SLOTS]; /* further words are forgotten */
} FrameState;

typedef struct {
    ElfWriter *writer;
    const Function *f;
    uint8_t tracked[REG_RZ]; /* registers whose values on entry matter, ascending */
    unsigned ntracked;
    FrameState *in; /* by block */
    FrameState now, told;
    uint32_t told_pc_bytes;
    Bytes out, relocs;
} Frames;

/* ---- bytes ---- */

static void put_byte(Frames *frames, unsigned byte) {
    uint8_t value = (uint8_t)byte;
    elf_bytes_add(frames->writer->a, &frames->out, &value, 1);
}

static void put_leb(Frames *frames, uint32_t value) {
    for (; value >= 0x80; value >>= 7)
        put_byte(frames, (value & 0x7f) | 0x80);
    put_byte(frames, value);
}

static void put_reg(Frames *frames, unsigned reg) { put_leb(frames, DWARF_R0 + reg); }

static void put_rule(Frames *frames, unsigned rule, unsigned reg) {
    put_byte(frames, rule);
    put_reg(frames, reg);
}

/* An entry's length, 64 bits behind the mark that says so; its place. */
static uint32_t begin_entry(Frames *frames) {
    elf_bytes_u32(frames->writer->a, &frames->out, UINT32_MAX);
    elf_bytes_u64(frames->writer->a, &frames->out, 0);
    return frames->out.n;
}

static void end_entry(Frames *frames, uint32_t start) {
    while (frames->out.n % 8 != 0)
        put_byte(frames, 0);
    uint64_t size = frames->out.n - start;
    for (unsigned k = 0; k < 8; k++)
        frames->out.at[start - 8 + k] = (uint8_t)(size >> 8 * k);
}

/* ---- what instructions do ---- */

static void forget_words(FrameState *state, int32_t offset, uint32_t size_bytes) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < state->nslots; k++) {
        Slot slot = state->slots[k];
        if (slot.offset >= offset + (int32_t)size_bytes || slot.offset + WORD_BYTES <= offset)
            state->slots[n++] = slot;
    }
    state->nslots = n;
}

static void forget_regs(FrameState *state, Operand o) {
    for (unsigned c = 0; o.kind == OPK_REG && o.file == RF_R && c < o.count; c++)
        if (o.value + c < REG_RZ)
            state->held[o.value + c] = REG_RZ;
}

static bool is_stack(Operand o) { return o.kind == OPK_REG && o.file == RF_R && o.value == ABI_STACK_REG; }

static bool is_plain(Operand o) { return o.kind == OPK_REG && o.file == RF_R && !o.mods && o.count == 1; }

static void store(const Function *f, const Inst *i, FrameState *state) {
    if (!is_stack(*ir_src(f, i, STL_ra)))
        return; /* a variable's own address: words that hold registers are no variable's */
    Operand reg = *ir_src(f, i, STL_rb);
    int32_t at = (int32_t)ir_src(f, i, STL_offset)->value - state->cfa;
    forget_words(state, at, WORD_BYTES * (reg.count ? reg.count : 1u));
    uint8_t value = is_plain(reg) && reg.value < REG_RZ ? state->held[reg.value] : REG_RZ;
    bool whole = MGET(STL, sz, i->mods) == MemSz_32 && op_is_always(i->guard);
    if (whole && value != REG_RZ && state->nslots < MAX_SLOTS)
        state->slots[state->nslots++] = (Slot){at, value};
}

static uint8_t loaded(const Function *f, const Inst *i, const FrameState *state) {
    int32_t at = (int32_t)ir_src(f, i, LDL_offset)->value - state->cfa;
    for (uint32_t k = 0; is_stack(*ir_src(f, i, LDL_ra)) && k < state->nslots; k++)
        if (state->slots[k].offset == at && MGET(LDL, sz, i->mods) == MemSz_32)
            return state->slots[k].reg;
    return REG_RZ;
}

/* The value on entry that the instruction puts into its destination; REG_RZ: none. */
static uint8_t copied(const Function *f, const Inst *i, const FrameState *state) {
    if (!op_is_always(i->guard) || (i->op != OT_MOV && i->op != OT_LDL) || !is_plain(*ir_dst(f, i, 0)))
        return REG_RZ;
    if (i->op == OT_LDL)
        return loaded(f, i, state);
    Operand from = *ir_src(f, i, MOV_rb);
    return is_plain(from) && from.value < REG_RZ ? state->held[from.value] : REG_RZ;
}

static void call(const Function *f, const Inst *i, FrameState *state) {
    const Function *callee = ir_callee(f, i);
    bool open = ir_call_is_open(f, i);
    for (unsigned r = 0; r < REG_RZ; r++) {
        bool keeps = open ? abi_open_keeps(r) : callee && !bs_has(&callee->summary.clobbers[RF_R], r);
        if (!keeps)
            state->held[r] = REG_RZ;
    }
}

static bool moves_stack(const Function *f, const Inst *i) {
    return i->op == OT_IADD3 && is_stack(*ir_dst(f, i, IADD3_rd)) && is_stack(*ir_src(f, i, IADD3_ra)) &&
           ir_src(f, i, IADD3_rb)->kind == OPK_IMM;
}

static void execute(const Function *f, const Inst *i, FrameState *state) {
    if (moves_stack(f, i)) { /* under a guard it is for those lanes that return at once */
        if (op_is_always(i->guard))
            state->cfa -= (int32_t)ir_src(f, i, IADD3_rb)->value;
        return;
    }
    uint8_t value = copied(f, i, state);
    if (i->op == OT_STL)
        store(f, i, state);
    if (i->op == OT_CALL)
        call(f, i, state);
    FOR_DSTS(f, i, dst)
        forget_regs(state, *dst);
    if (value != REG_RZ)
        state->held[ir_dst(f, i, 0)->value] = value;
}

/* ---- blocks ---- */

/* What both have in common; true: that is less than `to` had. */
static bool take_common(FrameState *to, const FrameState *from) {
    bool changed = false;
    if (!to->known) {
        *to = *from;
        return true;
    }
    bool same = memcmp(to->held, from->held, sizeof to->held) == 0; /* mostly */
    for (unsigned r = 0; r < REG_RZ && !same; r++)
        if (to->held[r] != from->held[r] && to->held[r] != REG_RZ) {
            to->held[r] = REG_RZ;
            changed = true;
        }
    uint32_t n = 0;
    for (uint32_t k = 0; k < to->nslots; k++) {
        bool both = false;
        for (uint32_t j = 0; j < from->nslots; j++)
            both |= from->slots[j].offset == to->slots[k].offset && from->slots[j].reg == to->slots[k].reg;
        if (both)
            to->slots[n++] = to->slots[k];
    }
    changed |= n != to->nslots;
    to->nslots = n;
    return changed;
}

static void flow(Frames *frames) {
    const Function *f = frames->f;
    for (bool changed = true; changed;) {
        changed = false;
        FOR_BLOCKS(f, b) {
            if (!frames->in[b.i].known)
                continue;
            FrameState state = frames->in[b.i];
            FOR_INSTS(f, b, i)
                execute(f, i, &state);
            const Block *block = &f->blocks.at[b.i];
            for (uint32_t k = 0; k < block->succs.n; k++)
                changed |= take_common(&frames->in[block->succs.at[k].i], &state);
        }
    }
}

/* ---- rows ---- */

typedef enum { LIES_THERE, LIES_IN_REG, LIES_IN_FRAME, LIES_NOWHERE } Lies;

/* Where the value that `reg` had on entry lies: there still, in another register, in a word of the frame. */
static Lies find_value(const FrameState *state, uint8_t reg, uint32_t *where) {
    if (state->held[reg] == reg)
        return LIES_THERE;
    for (*where = 0; *where < REG_RZ; ++*where)
        if (state->held[*where] == reg)
            return LIES_IN_REG;
    for (uint32_t k = 0; k < state->nslots; k++)
        if (state->slots[k].reg == reg && state->slots[k].offset < 0) {
            *where = (uint32_t)(state->slots[k].offset / DATA_ALIGN);
            return LIES_IN_FRAME;
        }
    return LIES_NOWHERE;
}

static void put_value(Frames *frames, uint8_t reg, Lies lies, uint32_t where) {
    static const uint8_t rules[] = {[LIES_THERE] = CFA_RESTORE_EXTENDED,
                                    [LIES_IN_REG] = CFA_REGISTER,
                                    [LIES_IN_FRAME] = CFA_OFFSET_EXTENDED,
                                    [LIES_NOWHERE] = CFA_UNDEFINED};
    put_rule(frames, rules[lies], reg);
    if (lies == LIES_IN_REG)
        put_reg(frames, where);
    if (lies == LIES_IN_FRAME)
        put_leb(frames, where);
}

static void advance_to(Frames *frames, uint32_t pc_bytes) {
    if (pc_bytes == frames->told_pc_bytes)
        return;
    put_byte(frames, CFA_ADVANCE_LOC4);
    elf_bytes_u32(frames->writer->a, &frames->out, (pc_bytes - frames->told_pc_bytes) / CODE_ALIGN);
    frames->told_pc_bytes = pc_bytes;
}

/* What is different now from what was told last holds from `pc_bytes` on. */
static void tell(Frames *frames, uint32_t pc_bytes) {
    FrameState *now = &frames->now;
    if (now->cfa != frames->told.cfa) {
        advance_to(frames, pc_bytes);
        put_rule(frames, CFA_DEF_CFA, ABI_STACK_REG);
        put_leb(frames, (uint32_t)now->cfa);
    }
    for (unsigned k = 0; k < frames->ntracked; k++) {
        uint8_t reg = frames->tracked[k];
        uint32_t was = 0, is = 0;
        Lies before = find_value(&frames->told, reg, &was), after = find_value(now, reg, &is);
        if (before == after && (after == LIES_THERE || after == LIES_NOWHERE || was == is))
            continue;
        advance_to(frames, pc_bytes);
        put_value(frames, reg, after, is);
    }
    frames->told = *now;
}

/* Before each instruction what was so before it; before a call what is so behind it, for as long as it lasts
 * the callee's frame says nothing of the registers that it changes. */
static void put_rows(Frames *frames) {
    const Function *f = frames->f;
    uint32_t pc_bytes = 0;
    FOR_BLOCKS(f, b) {
        bool known = frames->in[b.i].known;
        frames->now = frames->in[b.i];
        FOR_INSTS(f, b, i) {
            bool calls = i->op == OT_CALL;
            if (known && !calls)
                tell(frames, pc_bytes);
            execute(f, i, &frames->now);
            if (known && calls)
                tell(frames, pc_bytes);
            pc_bytes += INST_BYTES;
        }
    }
}

/* ---- entries ---- */

/* Relocations of objects have addends here: places in the section are theirs. */
static bool has_addends(const ElfWriter *writer) {
    return elf_since_sm_90(writer) || writer->opt->relocatable;
}

/* Registers that the caller finds again, the return address before all. */
static void choose_tracked(Frames *frames, unsigned return_reg) {
    frames->ntracked = 0;
    for (unsigned r = 0; r < REG_RZ && !frames->f->is_entry; r++)
        if (r == return_reg || r == return_reg + 1 ||
            (frames->f->is_open && abi_open_keeps(r) && r != ABI_STACK_REG))
            frames->tracked[frames->ntracked++] = (uint8_t)r;
}

/* What holds at the first instruction; where it begins. */
static uint32_t put_common(Frames *frames, unsigned return_reg) {
    enum { VERSION = 3, NO_AUGMENTATION = 0 };
    uint32_t entry = frames->out.n, start = begin_entry(frames);
    elf_bytes_u64(frames->writer->a, &frames->out, UINT64_MAX);
    put_byte(frames, VERSION);
    put_byte(frames, NO_AUGMENTATION);
    put_leb(frames, CODE_ALIGN);
    put_byte(frames, DATA_ALIGN & 0x7f);
    put_leb(frames, frames->f->is_entry ? UINT32_MAX : DWARF_R0 + return_reg);
    put_rule(frames, CFA_DEF_CFA, ABI_STACK_REG);
    put_leb(frames, 0);
    put_rule(frames, CFA_SAME_VALUE, REG_RZ);
    put_rule(frames, CFA_SAME_VALUE, ABI_STACK_REG);
    for (unsigned k = 0; k < 2 && !frames->f->is_entry; k++)
        put_rule(frames, CFA_SAME_VALUE, return_reg + k); /* so are the others of which nothing is said */
    end_entry(frames, start);
    return entry;
}

static void put_reloc(Frames *frames, uint32_t place, uint32_t symbol, uint32_t type, uint64_t addend) {
    Arena *a = frames->writer->a;
    elf_bytes_u64(a, &frames->relocs, place);
    elf_bytes_u64(a, &frames->relocs, ELF64_R_INFO((uint64_t)symbol, type));
    if (has_addends(frames->writer))
        elf_bytes_u64(a, &frames->relocs, addend);
}

/* Where the common part begins, where the function does and how long it is: of an object the linker says so.
 */
static void put_place(Frames *frames, uint32_t common, uint32_t symbol, uint32_t size_bytes) {
    enum { RELOC_NV_FUNCTION_SIZE = 73 };
    ElfWriter *writer = frames->writer;
    uint32_t address = elf_reloc_type(writer, RELOC_ABS64);
    if (writer->opt->relocatable)
        put_reloc(frames, frames->out.n, writer->frames_sym, address, common);
    elf_bytes_u64(writer->a, &frames->out, writer->opt->relocatable ? 0 : common);
    put_reloc(frames, frames->out.n, symbol, address, 0);
    elf_bytes_u64(writer->a, &frames->out, 0);
    if (writer->opt->relocatable)
        put_reloc(frames, frames->out.n, symbol, RELOC_NV_FUNCTION_SIZE, 0);
    elf_bytes_u64(writer->a, &frames->out, size_bytes);
}

static void put_function(Frames *frames, uint32_t index) {
    ElfWriter *writer = frames->writer;
    const CodeFunc *code = &writer->code->funcs[index];
    const Function *f = frames->f = code->ir;
    unsigned return_reg = f->is_open ? ABI_OPEN_RETURN_REG : ABI_RETURN_REG;
    choose_tracked(frames, return_reg);
    uint32_t common = put_common(frames, return_reg), start = begin_entry(frames);
    put_place(frames, common, writer->parts[index].sym, code->ninsts * INST_BYTES);
    Arena arena = {0};
    frames->in = ARENA_ARRAY(&arena, FrameState, f->blocks.n + 1);
    FrameState first = {.known = true};
    memset(first.held, REG_RZ, sizeof first.held);
    for (unsigned k = 0; k < frames->ntracked; k++)
        first.held[frames->tracked[k]] = frames->tracked[k];
    frames->now = frames->told = first;
    frames->told_pc_bytes = 0;
    frames->in[f->entry.i] = first;
    flow(frames);
    put_rows(frames);
    arena_free(&arena);
    end_entry(frames, start);
}

/* Where R1 is at a call of a function with a link, a word in memory says: no row can. */
static bool is_told(const Function *f) { return f && f->entry.i && !f->link_at; }

void elf_write_frames(ElfWriter *writer) {
    Frames *frames = ARENA_NEW(writer->a, Frames);
    frames->writer = writer;
    for (uint32_t k = 0; k < writer->code->nfuncs; k++)
        if (is_told(writer->code->funcs[k].ir))
            put_function(frames, k);
    if (frames->out.n)
        elf_add_debug_section(writer, writer->frames, "debug_frame", has_addends(writer), frames->out,
                              frames->relocs);
}
