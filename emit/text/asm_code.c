/* Instructions of the file form. An operand may name a symbol of another section, `(f), 32@lo(v), 32@hi(v):
 * the word then has 0 there, and a relocation says the rest. Where a whole section has no control fields, as
 * in the output of other disassemblers, each instruction waits for everything before it.
 * SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "emit/text/asm_doc.h"
#include "ir/ir.h"
#include "isa/machine/latency.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static DocSection *code_section(const AsmDoc *doc) { return &doc->sections.at[doc->section]; }

bool asm_doc_is_instruction(const char *p) {
    return *p == '[' || *p == '@' ||
           (isupper((unsigned char)*p) && (isupper((unsigned char)p[1]) || isdigit((unsigned char)p[1])));
}

static bool resolve(void *user, const char *name, size_t size_bytes, int64_t *value) {
    AsmDoc *doc = user;
    const DocLabel *label = asm_doc_label(doc, name, size_bytes);
    if (label && label->section == doc->section) {
        *value = (int64_t)label->offset;
        return true;
    }
    const char *before = name; /* a symbol of elsewhere stands as `(name): any word is tried as a number */
    while (before > doc->text->text && (before[-1] == '(' || before[-1] == ' '))
        before--;
    if (before == doc->text->text || before[-1] != '`')
        return false;
    StrId id = str_intern(&doc->text->strings, name, size_bytes);
    if (strncmp(name, ".L", 2) == 0 || (doc->has_tables && asm_doc_symbol_index(doc, id, 1) < 0))
        return false;
    doc->called = id;
    *value = (int64_t)doc->data.n + INST_BYTES; /* distance 0; the relocation says the rest */
    return true;
}

static bool add_call(AsmDoc *doc, const char *start, const MachInst *in) {
    if (doc->is_relocatable)
        return asm_doc_error(doc, start, DIAG_E0356,
                             "a relocation of this operand of this instruction is not known");
    unsigned kind = asm_call_reloc(doc->text, doc->target, in, start);
    if (kind == RELOC_NONE)
        return false;
    const DocLabel *label = asm_doc_label(doc, str_text(&doc->text->strings, doc->called),
                                          str_size(&doc->text->strings, doc->called));
    VEC_ADD(doc->a, &doc->relocs,
            ((DocReloc){doc->section, elf_reloc_number(doc->target, kind), doc->data.n, 0, doc->called,
                        asm_loc(doc->text, start), DOC_NEEDS_SYMBOL}));
    return !label || label->offset == 0 ||
           asm_doc_error(doc, start, DIAG_E0350, "the start of a function, in another section");
}

/* ---- control ---- */
/* Waits for everything, and is waited for. False: 15 cycles are not enough, or it counts scoreboards. */
static bool safe_control(const AsmDoc *doc, MachInst *in) {
    const Target *t = doc->target;
    in->ctrl =
        (Control){.stall_cycles = LATENCY_MAX_STALL, .yield = 1, .write_sb = 7, .read_sb = 7, .wait_mask = 3};
    bool fits = in->optype != OT_DEPBAR && latency_issue(t, in) <= LATENCY_MAX_STALL, late_reads = false;
    CellRef refs[MAX_CELL_REFS];
    unsigned nreads = emit_reads(in, refs);
    for (unsigned k = 0; k < nreads; k++)
        late_reads |= refs[k].operand != LATENCY_GUARD;
    if (latency_is_variable(t, in) && emit_writes(in, refs))
        in->ctrl.write_sb = 0;
    else if (latency_reads_late(t, in) && late_reads)
        in->ctrl.read_sb = 1;
    for (unsigned d = 0; d < in->ndst && !latency_is_variable(t, in); d++)
        fits &= in->dst[d].kind != OPK_REG || latency_worst(t, in, d) <= LATENCY_MAX_STALL;
    return fits;
}

static bool has_field(const char *p) {
    while (*p == ' ' || *p == '\t')
        p++;
    return *p == '[' && p[1] == 'B';
}

static bool is_nop(const char *p) { return strncmp(p, "NOP", 3) == 0 && !isalnum((unsigned char)p[3]); }

/* "0x" and 16 digits in a comment that ends the line, which has nothing else if it is `alone`; `p` moves
 * behind the line. */
static bool word_comment(const char **p, const char *end, bool alone, uint64_t *word) {
    const char *next = memchr(*p, '\n', (size_t)(end - *p)), *line_end = next ? next : end, *at = NULL;
    for (const char *q = *p; q + 6 < line_end && !(alone && at); q++) {
        at = strncmp(q, "/* 0x", 5) == 0 ? q + 3 : at;
        if (alone && !at && *q != ' ' && *q != '\t')
            return false;
    }
    *p = next ? next + 1 : end;
    if (!at || line_end - at < 21 || strncmp(at + 18, " */", 3) != 0)
        return false;
    char *stop;
    *word = strtoull(at, &stop, 16);
    return stop == at + 18;
}

/* The words that nvdisasm -hex and cuobjdump show beside the instruction at `p` and on the next line: the
 * only place of their text with what controls it. */
static bool shown_words(const AsmDoc *doc, const char *p, uint64_t word[2]) {
    const char *source = doc->text->source->text, *end = source + doc->text->source->size_bytes;
    const char *at = source + (p - doc->text->text);
    return word_comment(&at, end, false, &word[0]) && word_comment(&at, end, true, &word[1]);
}

static bool has_control(const AsmDoc *doc, const char *p) {
    uint64_t word[2];
    return has_field(p) || shown_words(doc, p, word);
}

/* Are the two the same, but for what nvdisasm does not print: the memory descriptor before sm_90 and that it
 * is a policy, the bits of a NaN? */
static bool has_more(const AsmDoc *doc, const MachInst *shown, const MachInst *in) {
    enum { LONGEST = 512 };
    char with[LONGEST], without[LONGEST];
    isa_print(doc->target, shown, doc->data.n, &(IsaPrintOptions){0}, with, sizeof with);
    isa_print(doc->target, in, doc->data.n, &(IsaPrintOptions){0}, without, sizeof without);
    const char *left = with, *right = without;
    while (*left || *right) {
        const char *close = strncmp(left, "desc[", 5) == 0 ? strchr(left, ']') : NULL;
        if (close && strncmp(right, "desc[", 5) != 0)
            left = close + 1;
        else if (strncmp(left, ".POLICY", 7) == 0 && strncmp(right, ".POLICY", 7) != 0)
            left += 7;
        else if (strncmp(left, "(0x", 3) == 0 && *right != '(' && strchr(left, ')'))
            left = strchr(left, ')') + 1; /* behind the name of a NaN */
        else if (*left++ != *right++)
            return false;
    }
    return true;
}

static bool set_control(const AsmDoc *doc, const char *start, MachInst *in) {
    uint64_t word[2];
    MachInst shown;
    char error[ISA_ERROR_BYTES];
    if (has_field(start))
        return true;
    if (!shown_words(doc, start, word)) {
        if (!code_section(doc)->has_control)
            return safe_control(doc, in);
        in->ctrl.stall_cycles = 1; /* a NOP, put in between others */
        return true;
    }
    if (!isa_decode(doc->target, word, &shown, error))
        return false;
    in->ctrl = shown.ctrl;
    if (has_more(doc, &shown, in))
        *in = shown;
    return true;
}

/* Where the text has words and a relocation, too, they are one instruction. */
static bool is_as_shown(const AsmDoc *doc, const char *start, const DocReloc *reloc, const uint64_t word[2]) {
    uint64_t shown[2], later = reloc->needs == DOC_NEEDS_CONST ? ASM_BANK_BITS : 0;
    return has_field(start) || !shown_words(doc, start, shown) ||
           (((shown[0] ^ word[0]) & ~later) == 0 && shown[1] == word[1]);
}

/* ---- lines ---- */
static void scan_line(AsmDoc *doc) {
    DocSection *section = code_section(doc);
    if (has_control(doc, doc->text->p))
        section->has_control = true;
    else if (!is_nop(doc->text->p))
        section->lacks_control = true;
    elf_bytes_add(doc->a, &doc->data, NULL, INST_BYTES);
}

static bool encode_line(AsmDoc *doc, uint64_t word[2]) {
    const char *start = doc->text->p;
    bool found, control = has_control(doc, start);
    DocReloc reloc;
    MachInst in;
    char error[ISA_ERROR_BYTES] = "";
    char *line = doc->text->text + (start - doc->text->text);
    IsaParseOptions opt = {resolve, doc};
    doc->called = (StrId){0};
    if (!control && code_section(doc)->has_control && !is_nop(start))
        return asm_doc_error(doc, start, DIAG_E0350, "a control field before the instruction");
    if (!asm_doc_take_operand(doc, line, &reloc, &found) ||
        !asm_parse_instruction(doc->text, doc->target, doc->data.n, &opt, &in))
        return false;
    if (found) {
        asm_doc_mean_symbol(doc, reloc.symbol);
        VEC_ADD(doc->a, &doc->relocs, reloc);
    }
    if (doc->called.i && !add_call(doc, start, &in))
        return false;
    if (!set_control(doc, start, &in))
        return asm_doc_error(
            doc, start, DIAG_E0350,
            "a control field: this instruction counts what others wait for, or no wait is long enough");
    if (!isa_encode(doc->target, &in, word, error))
        return asm_doc_error(doc, start, DIAG_E0354, error);
    return !found || !doc->is_relocatable || is_as_shown(doc, start, &reloc, word) ||
           asm_doc_error(
               doc, start, DIAG_E0356,
               "the words beside this instruction are others than it has where a relocation fills in 0");
}

bool asm_doc_code_line(AsmDoc *doc) {
    uint64_t word[2] = {0, 0};
    const char *start = doc->text->p;
    if (!doc->target)
        return asm_doc_error(doc, start, DIAG_E0350, ".target before the first instruction");
    if (doc->stage == DOC_SCAN) {
        scan_line(doc);
        return true;
    }
    bool good = encode_line(doc, word);
    elf_bytes_u64(doc->a, &doc->data, word[0]);
    elf_bytes_u64(doc->a, &doc->data, word[1]);
    return good;
}
