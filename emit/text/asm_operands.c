/* Operands of instructions that relocations fill in: the word has 0 there.
 *
 *   - in every text 32@lo(symbol), 32@hi(symbol + label@srel): the halves of an address;
 *   - in that of a relocatable file [R2+`(s)]: an address in shared memory;
 *   - c[`((v + 0x4))]: bank and offset of a constant;
 *   - MOV R2, `(v): the offset of a shared or constant variable, as a number;
 *   - CALL.ABS.NOINC `(f): a call;
 *   - CALL.ABS.NOINC R2 `(__UFT_OFFSET): one by way of sm_90's table of functions;
 *   - 32@lo(fun@unified(f)): the halves of an address in that table.
 *
 * The text does not name the relocation: it is the one for the bits that this operand of this instruction
 * has, which its encoding tells. SPDX-License-Identifier: MIT */
#include "emit/text/asm_doc.h"
#include "ir/ir.h"
#include <stdlib.h>
#include <string.h>

/* Relocations without a kind of their own; docs/elf.md. */
enum {
    NV_BANK_WORDS = 64,
    NV_BANK_BYTES = 66,
    NV_ADDRESS24 = 74,
    NV_UNIFIED_LO = 112,
    NV_UNIFIED_HI,
    NV_UNIFIED_CALL,
    NV_BANK_UNIFORM
};
enum { IMMEDIATE_BIT = 32, BANK_UNIFORM_BIT = 37, BANK_BIT, ADDRESS_BIT = 40 }; /* lowest bits of fields */
static const char unified[] = "fun@unified";

/* Where the closing parenthesis of the one at `p` is. */
static char *closing(char *p) {
    int depth = 0;
    for (; *p; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (depth == 0)
            return p;
    }
    return NULL;
}

/* What stands between the parenthesis at `open` and `end`: a symbol and what is added to it. */
static bool address_in(AsmDoc *doc, const char *open, char *end, DocReloc *reloc) {
    const char *saved = doc->text->p;
    char behind = end[1];
    DocValue value;
    doc->text->p = open;
    end[1] = 0;
    bool good = asm_doc_expression(doc, &value), whole = doc->text->p == end + 1;
    end[1] = behind;
    doc->text->p = saved;
    if (!good)
        return false;
    if (whole && !value.addresses) /* a distance, known here */
        return true;
    if (value.addresses != 1 || !value.symbol.i || !whole)
        return asm_doc_error(doc, open, DIAG_E0350, "the address of a symbol");
    const DocLabel *label = asm_doc_label(doc, str_text(&doc->text->strings, value.symbol),
                                          str_size(&doc->text->strings, value.symbol));
    reloc->symbol = value.symbol;
    reloc->addend = (int64_t)(value.value - (label ? label->offset : 0));
    return true;
}

/* Since sm_90 the word has the bank: that of the variable's section, of variables of elsewhere the third. */
void asm_doc_put_bank(AsmDoc *doc, const DocReloc *reloc) {
    enum { BANK_OF_VARIABLES = 3 };
    if (reloc->needs != DOC_NEEDS_CONST || isa_target_info(doc->target)->elf_form != ElfForm_SM90)
        return;
    const char *name = str_text(&doc->text->strings, reloc->symbol);
    const DocLabel *label = asm_doc_label(doc, name, strlen(name));
    uint64_t bank = label ? doc->sections.at[label->section].type - SHT_NV_CONSTANT_B0 : BANK_OF_VARIABLES;
    uint8_t *p = (uint8_t *)doc->image->sections.at[reloc->section].data + reloc->offset;
    put_u64(p, (get_u64(p) & ~ASM_BANK_BITS) | (bank << ASM_BANK_SHIFT & ASM_BANK_BITS));
}

/* `text` instead of what stands from `at` to `end`, where it has room. */
static void replace(char *at, const char *end, const char *text) {
    memset(at, ' ', (size_t)(end - at));
    memcpy(at, text, strlen(text));
}

static bool half_operator(AsmDoc *doc, char *line, DocReloc *reloc, bool *found) {
    static const struct {
        const char *text;
        RelocKind kind;
        uint32_t unified;
    } operators[] = {{"32@lo(", RELOC_ABS32_LO, NV_UNIFIED_LO}, {"32@hi(", RELOC_ABS32_HI, NV_UNIFIED_HI}};
    for (unsigned i = 0; i < 2 && !*found; i++) {
        char *at = strstr(line, operators[i].text), *open = at ? at + 5 : NULL;
        char *end = at ? closing(open) : NULL;
        if (!at)
            continue;
        if (!end)
            return asm_doc_error(doc, at, DIAG_E0350, "')'");
        bool table = doc->is_relocatable && strncmp(open + 1, unified, strlen(unified)) == 0;
        char *inner = table ? open + 1 + strlen(unified) : open, *inner_end = table ? closing(inner) : end;
        if (!inner_end)
            return asm_doc_error(doc, at, DIAG_E0350, "')'");
        if (!address_in(doc, inner, inner_end, reloc))
            return false;
        if (!reloc->symbol.i)
            return asm_doc_error(doc, at, DIAG_E0350, "the address of a symbol");
        reloc->type = table ? operators[i].unified : elf_reloc_number(doc->target, operators[i].kind);
        replace(at, end + 1, "0");
        *found = true;
    }
    return true;
}

/* ---- relocatable files ---- */
/* Behind the control field and the guard. */
static const char *after_guard(const char *p) {
    for (;;) {
        p += strspn(p, " \t");
        if (*p == '@')
            p += strcspn(p, " \t");
        else if (strncmp(p, "[B", 2) == 0)
            p += strcspn(p, "]") + (strchr(p, ']') != NULL);
        else
            return p;
    }
}

/* The instruction's lowest bit that differs where the operand is not '0' but '1'; -1: there is no such
 * instruction. */
static int differing_bit(AsmDoc *doc, const char *line, char *digit, MachInst *in) {
    uint64_t word[2][2];
    bool good = true;
    for (int i = 0; i < 2 && good; i++) {
        const char *end;
        char error[ISA_ERROR_BYTES];
        *digit = (char)('0' + i);
        good = isa_parse(doc->target, after_guard(line), doc->data.n, &(IsaParseOptions){0}, in, &end, error);
        in->ctrl = CONTROL_DEFAULT;
        good = good && isa_encode(doc->target, in, word[i], error);
    }
    *digit = '0';
    for (int bit = 0; good && bit < INST_BYTES * 8; bit++)
        if ((word[0][bit / 64] ^ word[1][bit / 64]) >> bit % 64 & 1)
            return bit;
    return -1;
}

/* "c[" before the operand at `at`, with a register between or not; NULL: it is no constant. */
static char *bank_start(char *line, const char *at) {
    char *p = line + (at - line);
    while (p > line && p[-1] != '[' && p[-1] != ' ' && p[-1] != ',')
        p--;
    return p - line >= 2 && p[-1] == '[' && p[-2] == 'c' ? p - 2 : NULL;
}

/* `end` is behind the operand: "c[`(v)]" becomes "c[0][0]", "c[R2+`(v)]" "c[0][R2+0]", which is not
 * longer. */
static bool bank_operand(AsmDoc *doc, char *line, char *at, char *end, DocReloc *reloc) {
    char *open = bank_start(line, at) + 1;
    const char *text = arena_printf(doc->a, "[0][%.*s0]", (int)(at - open - 1), open + 1);
    if (*end != ']')
        return asm_doc_error(doc, end, DIAG_E0350, "']'");
    replace(open, end + 1, text);
    char *digit = open + strlen(text) - 2;
    MachInst in;
    reloc->needs = DOC_NEEDS_CONST;
    int bit = differing_bit(doc, line, digit, &in);
    if (bit == BANK_UNIFORM_BIT)
        reloc->type = NV_BANK_UNIFORM;
    else if (bit == BANK_BIT) /* loads have bytes there, others words */
        reloc->type = isa_traits(in.optype)->space & ISA_SPACE_CONSTANT ? NV_BANK_BYTES : NV_BANK_WORDS;
    return true;
}

static bool inside_brackets(const char *line, const char *at) {
    int depth = 0;
    for (; line < at; line++)
        depth += *line == '[' ? 1 : *line == ']' ? -1 : 0;
    return depth > 0;
}

static void number_operand(AsmDoc *doc, const char *line, char *at, const char *end, DocReloc *reloc) {
    bool address = inside_brackets(line, at);
    replace(at, end, "0");
    MachInst in;
    int bit = differing_bit(doc, line, at, &in);
    reloc->needs = address ? DOC_NEEDS_SHARED : DOC_NEEDS_VARIABLE;
    if (bit == (address ? ADDRESS_BIT : IMMEDIATE_BIT))
        reloc->type = address ? NV_ADDRESS24 : elf_reloc_number(doc->target, RELOC_SHARED_OFFSET32);
}

static void call_operand(AsmDoc *doc, const char *operands, char *at, const char *end, DocReloc *reloc) {
    static const char offset[] = "__UFT_OFFSET";
    bool table = strcmp(str_text(&doc->text->strings, reloc->symbol), offset) == 0;
    bool has_register = operands + strspn(operands, " \t") != at;
    replace(at, end, "0");
    if (table == has_register)
        reloc->type = table ? NV_UNIFIED_CALL : elf_reloc_number(doc->target, RELOC_CALL_ABS);
}

static bool named_operand(AsmDoc *doc, char *line, DocReloc *reloc, bool *found) {
    const char *op = after_guard(line);
    char *at = strstr(line, "`("), *end = at ? closing(at + 1) : NULL;
    bool call = strncmp(op, "CALL.ABS", 8) == 0;
    if (!at)
        return true;
    if (!end)
        return asm_doc_error(doc, at, DIAG_E0350, "')'");
    if (!address_in(doc, at + 1, end, reloc))
        return false;
    if (!reloc->symbol.i)
        return true;
    const char *name = str_text(&doc->text->strings, reloc->symbol);
    const DocLabel *label = asm_doc_label(doc, name, strlen(name));
    if (!call && label && label->section == doc->section)
        return true; /* a branch: the distance is known */
    *found = true;
    if (call)
        call_operand(doc, op + strcspn(op, " \t"), at, end + 1, reloc);
    else if (bank_start(line, at)) {
        if (!bank_operand(doc, line, at, end + 1, reloc))
            return false;
    } else
        number_operand(doc, line, at, end + 1, reloc);
    return reloc->type != 0 || asm_doc_error(doc, at, DIAG_E0356,
                                             "a relocation of this operand of this instruction is not known");
}

/* (*"RELOCATOR OPCODE,YIELD,280"*) behind an instruction: two relocations without a symbol, by which a linker
 * may change the operation. The text proper has no notes: they are in its source. */
static bool opcode_note(AsmDoc *doc, const char *line) {
    static const char start[] = "(*\"RELOCATOR", known[] = "(*\"RELOCATOR OPCODE,YIELD,";
    const Source *source = doc->text->source;
    const char *from = source->text + (line - doc->text->text);
    const char *end = memchr(from, '\n', (size_t)(source->text + source->size_bytes - from));
    size_t size = (size_t)((end ? end : source->text + source->size_bytes) - from);
    const char *at = memmem(from, size, start, strlen(start));
    const char *number = at && strncmp(at, known, strlen(known)) == 0 ? at + strlen(known) : NULL;
    if (!at)
        return true;
    size_t digits = number ? strspn(number, "0123456789") : 0;
    if (!digits || digits > 9 || strncmp(number + digits, "\"*)", 3) != 0)
        return asm_doc_error(doc, line + (at - from), DIAG_E0356,
                             "the relocations of this note are not known");
    DocReloc reloc = {.section = doc->section, .offset = doc->data.n, .loc = asm_loc(doc->text, line)};
    reloc.type = RELOC_NV_YIELD_OPCODE;
    reloc.addend = strtol(number, NULL, 10);
    VEC_ADD(doc->a, &doc->relocs, reloc);
    reloc.type = RELOC_NV_YIELD_PRED;
    reloc.addend = 0;
    VEC_ADD(doc->a, &doc->relocs, reloc);
    return true;
}

bool asm_doc_take_operand(AsmDoc *doc, char *line, DocReloc *reloc, bool *found) {
    *found = false;
    *reloc = (DocReloc){.section = doc->section, .offset = doc->data.n, .loc = asm_loc(doc->text, line)};
    return half_operator(doc, line, reloc, found) && (!doc->is_relocatable || opcode_note(doc, line)) &&
           (*found || !doc->is_relocatable || named_operand(doc, line, reloc, found));
}

/* Of variables it is their space that the relocation is for. */
const char *asm_doc_fit_reloc(const AsmDoc *doc, DocReloc *reloc) {
    enum { SPACE = 0xe0, SHARED = 0x40, CONST = 0x80 };
    uint32_t symbol = strmap_get(&doc->symbol_of, reloc->symbol);
    unsigned space = symbol ? doc->symbols.at[symbol - 1].other & SPACE : 0;
    bool shared = space == SHARED, constant = space == CONST;
    switch (reloc->needs) {
    case DOC_NEEDS_SHARED: return shared ? NULL : "the name of a shared variable";
    case DOC_NEEDS_CONST: return constant ? NULL : "the name of a constant variable";
    case DOC_NEEDS_VARIABLE:
        if (constant)
            reloc->type = elf_reloc_number(doc->target, RELOC_CONST_OFFSET32);
        return shared || constant ? NULL : "the name of a shared or constant variable";
    default: return NULL;
    }
}
