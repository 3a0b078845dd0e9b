/* Marks of instructions: where branches lead, where an indirect branch counts from, and the return addresses
 * that stand in registers.
 *
 * A caller of ptxas 13.0 has `MOV R6, 0x2a0` before `CALL.REL.NOINC` at 0x290, and the callee ends in
 * `RET.REL.NODEC R6`: the immediate is a place. It is taken for one if it is the address behind the call and
 * goes into a register that the callee returns by (marks_return.c); where none is found, the call must stay.
 * SPDX-License-Identifier: MIT */
#include "emit/text/marks.h"
#include "emit/text/disasm.h"
#include "emit/elf/facts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_BACK = 64 };

typedef struct {
    Marks *marks;
    uint32_t section, ninsts;
    const uint8_t *data;
    CodeText text;
    Bitset relocated; /* places that an addend means */
    CallCode calls;
} CodeMarks;

static bool decode(const CodeMarks *code, uint32_t i, MachInst *in) {
    char error[ISA_ERROR_BYTES];
    uint64_t word[2] = {get_u64(code->data + (size_t)i * INST_BYTES),
                        get_u64(code->data + (size_t)i * INST_BYTES + 8)};
    return isa_decode(code->marks->target, word, in, error);
}

static void mark_targets(CodeMarks *code) {
    for (uint32_t i = 0; i < code->ninsts; i++)
        if (bs_has(&code->text.targets, i))
            disasm_marks_add(code->marks, code->section, (uint64_t)i * INST_BYTES, false);
}

/* ---- operands that are places ---- */
static bool resolve_here(void *user, const char *name, size_t size_bytes, int64_t *value) {
    const Operands *operand = user;
    char label[MARK_LABEL_BYTES];
    disasm_marks_label(operand->section, operand->place, false, label);
    *value = (int64_t)operand->place;
    return strlen(label) == size_bytes && memcmp(label, name, size_bytes) == 0;
}

bool disasm_marks_operand_text(const Operands *operand, const char *text, char *out, size_t out_bytes) {
    char number[16], label[MARK_LABEL_BYTES];
    disasm_marks_label(operand->section, operand->place, false, label);
    static const char *const behind[] = {"", " - . - 0x10", " - ."};
    bool minus = operand->from != OPERAND_PLACE && (int32_t)operand->number < 0;
    snprintf(number, sizeof number, "%s0x%x", minus ? "-" : "",
             minus ? 0 - operand->number : operand->number);
    const char *found = NULL;
    for (const char *p = text; (p = strstr(p, number)); p++)
        if (!strchr("0123456789abcdefABCDEFx", p[strlen(number)]) || !p[strlen(number)])
            found = p;
    if (!found)
        return false;
    int n = snprintf(out, out_bytes, "%.*s(%s%s)%s", (int)(found - text), text, label, behind[operand->from],
                     found + strlen(number));
    return n > 0 && (size_t)n < out_bytes;
}

/* The operand as a place, if the text with it means the same word. */
static bool add_operand(CodeMarks *code, uint32_t i, uint32_t number, OperandFrom from, uint64_t place) {
    Operands operand = {code->section, (uint64_t)i * INST_BYTES, number, from, place};
    char text[ISA_TEXT_BYTES], changed[ISA_TEXT_BYTES + MARK_LABEL_BYTES], error[ISA_ERROR_BYTES] = "";
    const uint8_t *p = code->data + (size_t)i * INST_BYTES;
    uint64_t back[2];
    MachInst in;
    const char *end;
    Control ctrl;
    IsaParseOptions parse = {resolve_here, &operand};
    if (!disasm_text_line(&code->text, i, text, &ctrl) ||
        !disasm_marks_operand_text(&operand, text, changed, sizeof changed) ||
        !isa_parse(code->marks->target, changed, operand.offset, &parse, &in, &end, error))
        return false;
    in.ctrl = ctrl;
    if (!isa_encode(code->marks->target, &in, back, error) || back[0] != get_u64(p) ||
        back[1] != get_u64(p + 8))
        return false;
    VEC_ADD(code->marks->a, &code->marks->operands, operand);
    disasm_marks_add(code->marks, code->section, place, false);
    return true;
}

static bool has_wide(const MachInst *in) {
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_IMM64)
            return true;
    return false;
}

/* BRX: its register counts from a place. */
static void mark_base(CodeMarks *code, uint32_t i, const MachInst *in) {
    uint64_t place = (uint64_t)i * INST_BYTES + INST_BYTES + (uint64_t)in->wide;
    if (!has_wide(in))
        return;
    if (!disasm_marks_is_place(code->marks, code->section, place) || (int32_t)in->wide != in->wide ||
        !add_operand(code, i, (uint32_t)in->wide, OPERAND_FROM_NEXT, place))
        disasm_marks_stuck(code->marks, code->section, code->section, UINT64_MAX);
}

/* LEPC whose operand is a distance from itself. Where it is printed as a label there is nothing to do. */
static void mark_address(CodeMarks *code, uint32_t i, const MachInst *in) {
    uint64_t place = (uint64_t)i * INST_BYTES + (uint64_t)in->wide;
    if (has_wide(in) && (int32_t)in->wide == in->wide &&
        disasm_marks_is_place(code->marks, code->section, place))
        add_operand(code, i, (uint32_t)in->wide, OPERAND_FROM_HERE, place);
}

/* ---- calls ---- */
static bool loads(const MachInst *in, uint32_t number, const Bitset *regs) {
    if (!in->ndst || in->dst[0].kind != OPK_REG || in->dst[0].file != RF_R ||
        (regs && !bs_has(regs, in->dst[0].value)))
        return false;
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_IMM && in->src[k].value == number)
            return true;
    return false;
}

static const Returns *returns_of(CodeMarks *code, uint64_t entry) {
    if (!code->calls.insts) {
        code->calls.a = code->marks->a;
        code->calls.ninsts = code->ninsts;
        code->calls.insts = ARENA_ARRAY(code->marks->a, MachInst, code->ninsts);
        for (uint32_t i = 0; i < code->ninsts; i++)
            if (!decode(code, i, &code->calls.insts[i]))
                code->calls.insts[i] = (MachInst){.optype = OT_NONE};
    }
    return disasm_marks_returns(&code->calls, (uint32_t)(entry / INST_BYTES));
}

/* Where the call comes back to must be known by a label: LEPC, a relocation, or an immediate here. */
static void mark_return(CodeMarks *code, uint32_t call, const MachInst *in) {
    uint32_t back = (call + 1) * INST_BYTES;
    if (bs_has(&code->relocated, call + 1))
        return;
    uint64_t entry = (uint64_t)back + (uint64_t)in->wide;
    bool here = has_wide(in) && disasm_marks_is_place(code->marks, code->section, entry) && entry != back;
    const Returns *returns = here ? returns_of(code, entry) : NULL;
    if (returns && !returns->may_return)
        return;
    const Bitset *regs = returns && returns->is_known ? &returns->regs : NULL;
    for (uint32_t k = 1; k <= LOOK_BACK && k <= call; k++) {
        MachInst load;
        if (!decode(code, call - k, &load))
            continue;
        bool label = load.optype == OT_LEPC && has_wide(&load) &&
                     (uint64_t)load.wide + (call - k) * (uint64_t)INST_BYTES == back;
        if (label || (loads(&load, back, regs) && add_operand(code, call - k, back, OPERAND_PLACE, back)))
            return;
    }
    disasm_marks_stuck(code->marks, code->section, code->section, back);
}

static bool has_register(const MachInst *in) {
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_REG && ((in->src[k].file == RF_R && in->src[k].value != REG_RZ) ||
                                           (in->src[k].file == RF_UR && in->src[k].value != REG_URZ)))
            return true;
    return false;
}

/* A call through a register that counts from a place here: addresses of functions are distances within this
 * section then, and stand as numbers in variables (ptxas 13.0, whole programs), so that its code must stay.
 */
static void mark_indirect(CodeMarks *code, uint32_t call, const MachInst *in) {
    uint64_t place = (call + 1ull) * INST_BYTES + (uint64_t)in->wide;
    if (!isa_is_absolute(in->optype, in->mods) && has_register(in) && has_wide(in) &&
        disasm_marks_is_place(code->marks, code->section, place))
        disasm_marks_stuck(code->marks, code->section, code->section, UINT64_MAX);
}

static int operand_order(const void *x, const void *y) {
    const Operands *a = x, *b = y;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

const Operands *disasm_marks_operand(const Marks *marks, uint32_t section, uint64_t offset) {
    Operands key = {.section = section, .offset = offset};
    return marks->operands.n ? bsearch(&key, marks->operands.at, marks->operands.n, sizeof key, operand_order)
                             : NULL;
}

/* ---- facts ---- */
/* Would the assembler state something else of this code than the file does? */
static void compare_facts(CodeMarks *code) {
    Marks *marks = code->marks;
    CodeFacts facts = {0};
    FactsChange change;
    for (uint32_t i = 0; i < code->ninsts; i++) {
        const uint8_t *p = code->data + (size_t)i * INST_BYTES;
        elf_facts_add(marks->a, marks->target, (uint64_t[]){get_u64(p), get_u64(p + 8)}, i * INST_BYTES,
                      &facts);
    }
    marks->as_stated[code->section] = !elf_facts_follow(marks->a, &marks->trial, marks->target, code->section,
                                                        &facts, &marks->records, &change) ||
                                      change.changed;
    const char *own = arena_printf(marks->a, ".nv.info.%s",
                                   marks->image->sections.at[code->section].name + strlen(".text."));
    uint32_t touched[] = {code->section, elf_image_find(marks->image, ".nv.info"),
                          elf_image_find(marks->image, own)};
    for (unsigned i = 0; change.changed && i < 3; i++) /* the next function is asked of the same image */
        marks->trial.sections.at[touched[i]] = marks->image->sections.at[touched[i]];
}

static void mark_relocated(CodeMarks *code) {
    Marks *marks = code->marks;
    code->relocated = bs_new(marks->a, code->ninsts + 1);
    for (uint32_t i = 1; i < marks->image->sections.n; i++) {
        const ElfSection *table = &marks->image->sections.at[i];
        if (table->h.sh_type != SHT_RELA || table->h.sh_info != code->section || !table->data)
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table->h.sh_size; at += sizeof(Elf64_Rela)) {
            MarksSymbol symbol = disasm_marks_symbol(marks, get_u32(table->data + at + 12));
            uint64_t place = symbol.value + get_u64(table->data + at + 16);
            if (symbol.section == code->section && disasm_marks_is_place(marks, code->section, place))
                bs_add(&code->relocated, (uint32_t)(place / INST_BYTES));
        }
    }
}

static void mark_section(Marks *marks, uint32_t section) {
    const ElfSection *s = &marks->image->sections.at[section];
    CodeMarks code = {
        .marks = marks, .section = section, .ninsts = (uint32_t)(s->h.sh_size / INST_BYTES), .data = s->data};
    disasm_text_open(&code.text, marks->a, marks->target, s, section);
    mark_relocated(&code);
    mark_targets(&code);
    for (uint32_t i = 0; i < code.ninsts; i++) {
        MachInst in;
        if (!decode(&code, i, &in))
            continue;
        if (in.optype == OT_BRX)
            mark_base(&code, i, &in);
        else if (in.optype == OT_LEPC)
            mark_address(&code, i, &in);
        else if (in.optype == OT_CALL && i + 1 < code.ninsts) {
            mark_return(&code, i, &in);
            mark_indirect(&code, i, &in);
        }
    }
    compare_facts(&code);
}

void disasm_marks_code(Marks *marks) {
    const ElfImage *image = marks->image;
    marks->trial = *image;
    marks->trial.sections.at =
        arena_copy(marks->a, image->sections.at, image->sections.n * sizeof *image->sections.at);
    for (uint32_t i = 1; i < marks->image->sections.n; i++)
        if (disasm_is_code(&marks->image->sections.at[i]))
            mark_section(marks, i);
    if (marks->operands.n)
        qsort(marks->operands.at, marks->operands.n, sizeof *marks->operands.at, operand_order);
}
