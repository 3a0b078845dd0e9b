/* The short, hand-written form of assembly text (docs/elf.md):
 *     .target bru1
 *     .global table, 64, 8           zeroed variable: name, bytes, alignment
 *     .entry k                       or .func f
 *     .param 8                       size in bytes; placed at the next multiple of its size (at most 16)
 *     .branchtable L1, L2            one word a label, appended to constant bank 2 of the kernel: offsets in
 * the function .shared 128  .barriers 1  .frame 16  .regs 24       all optional; registers are counted label:
 *       [B------:R-:W-:-:S01] INSTRUCTION ;               the control field is optional
 * It becomes an encoded module as compilation makes it, and goes through the ELF writer.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_text.h"
#include "emit/code.h"
#include "emit/elf/facts.h"
#include "frontend/ast.h"
#include "isa/machine/banks.h"
#include <string.h>

typedef struct {
    StrId name;
    uint32_t func, offset;
} ShortLabel;

typedef struct {
    AsmText *text;
    Arena *a;
    const Target *target;
    IrModule *module;
    bool emit, homeless; /* there was code before the first function */
    uint32_t nfuncs;     /* seen in this walk */
    VEC(CodeFunc) funcs;
    VEC(ShortLabel) labels;
    uint32_t pc;  /* in the current function */
    uint32_t cap; /* words allocated for it */
    StrId called; /* set by resolve: a function of the file */
} ShortAsm;

static bool err(ShortAsm *shorts, const char *p, DiagCode code, const char *what) {
    return diag_in(shorts->text->d, shorts->text->source, asm_loc(shorts->text, p), code, what);
}

static CodeFunc *func(ShortAsm *shorts) { return &shorts->funcs.at[shorts->nfuncs - 1]; }

static CodeFunc *func_named(ShortAsm *shorts, StrId name) {
    for (uint32_t i = 0; i < shorts->funcs.n; i++)
        if (str_eq(shorts->funcs.at[i].name, name))
            return &shorts->funcs.at[i];
    return NULL;
}

static bool begin_func(ShortAsm *shorts, bool is_entry) {
    const char *start = shorts->text->p, *name;
    if (!asm_name(shorts->text, &name))
        return false;
    if (!shorts->target)
        return err(shorts, start, DIAG_E0350, ".target before the first function");
    StrId id = str_intern_z(&shorts->text->strings, name);
    shorts->nfuncs++;
    shorts->pc = shorts->cap = 0;
    if (shorts->emit)
        return true;
    if (func_named(shorts, id)) {
        shorts->nfuncs--; /* what follows belongs to no function of its own */
        return err(shorts, start, DIAG_E0353, name);
    }
    CodeFunc *f = VEC_PUSH(shorts->a, &shorts->funcs);
    f->name = id;
    f->is_entry = is_entry;
    f->ir = ir_function_new(shorts->module, id, is_entry);
    return true;
}

static bool target_directive(ShortAsm *shorts) {
    const char *start = shorts->text->p, *name = asm_word(shorts->text);
    const Target *t = name ? isa_target(name) : NULL;
    if (!t)
        return err(shorts, start, DIAG_E0357, asm_unknown_target(shorts->text, name));
    if (shorts->target && shorts->target != t)
        return err(shorts, start, DIAG_E0350, "the same .target as before");
    if (!shorts->target)
        shorts->module = ir_module_new(t, &shorts->text->strings);
    shorts->target = t;
    return true;
}

static bool param_directive(ShortAsm *shorts) {
    uint64_t size;
    if (!asm_number_max(shorts->text, 4096, &size))
        return false;
    if (shorts->emit)
        return true;
    CodeFunc *f = func(shorts);
    uint32_t align = size >= 16 ? 16 : size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
    uint32_t offset = (f->param_bytes + align - 1) / align * align;
    if (offset + size > 4096)
        return err(shorts, shorts->text->p, DIAG_E0356, "more than 4096 bytes of parameters");
    f->params = arena_grow(shorts->a, f->params, f->nparams * sizeof *f->params,
                           (f->nparams + 1) * sizeof *f->params);
    f->params[f->nparams++] = (struct CodeParam){offset, (uint32_t)size};
    f->param_bytes = offset + (uint32_t)size;
    return true;
}

static bool global_directive(ShortAsm *shorts) {
    const char *start = shorts->text->p, *name;
    uint64_t size, align;
    if (!asm_name(shorts->text, &name))
        return false;
    if (!asm_accept(shorts->text, ',') || !asm_number_max(shorts->text, 1u << 30, &size) ||
        !asm_accept(shorts->text, ',') || !asm_number_max(shorts->text, 4096, &align))
        return err(shorts, shorts->text->p, DIAG_E0350, "name, bytes, alignment");
    if (!shorts->module)
        return err(shorts, start, DIAG_E0350, ".target before it");
    if (!align || (align & (align - 1)))
        return err(shorts, start, DIAG_E0350, "an alignment that is a power of two");
    if (!shorts->emit)
        VEC_ADD(&shorts->module->arena, &shorts->module->vars,
                ((IrVar){.name = str_intern_z(&shorts->text->strings, name),
                         .linkage = LINK_VISIBLE,
                         .space = SP_GLOBAL,
                         .align_bytes = (uint32_t)align,
                         .size_bytes = size}));
    return true;
}

static bool resolve(void *user, const char *name, size_t size_bytes, int64_t *value);

static bool branchtable_directive(ShortAsm *shorts) {
    CodeFunc *f = func(shorts);
    do {
        const char *start = shorts->text->p, *name = asm_word(shorts->text);
        int64_t to = 0;
        if (!name)
            return err(shorts, start, DIAG_E0350, "a label");
        if (f->const2_bytes >= CONST_BANK_BYTES)
            return err(shorts, start, DIAG_E0356, "a constant bank has 65536 bytes");
        if (!shorts->emit)
            continue; /* labels may follow */
        if (!resolve(shorts, name, strlen(name), &to))
            return err(shorts, start, DIAG_E0355, name);
        f->const2 = arena_grow(shorts->a, f->const2, f->const2_bytes, f->const2_bytes + 4);
        memcpy(f->const2 + f->const2_bytes, &(uint32_t){(uint32_t)to}, 4);
        f->const2_bytes += 4;
    } while (asm_accept(shorts->text, ','));
    return true;
}

/* Facts for the attribute records. */
static void note_facts(ShortAsm *shorts, CodeFunc *f, const uint64_t word[2]) {
    CodeFacts facts = {0};
    elf_facts_add(shorts->a, shorts->target, word, shorts->pc, &facts);
    f->nregs = facts.nregs > f->nregs ? facts.nregs : f->nregs;
    f->nbarriers = facts.nbarriers > f->nbarriers ? facts.nbarriers : f->nbarriers;
    f->uses_ctaid_z |= facts.uses_ctaid_z;
    f->uses_bssy |= facts.uses_bssy;
}

/* One more instruction at shorts->pc. */
static void append_word(ShortAsm *shorts, const uint64_t word[2]) {
    CodeFunc *f = func(shorts);
    if (f->ninsts == shorts->cap) {
        uint32_t cap = shorts->cap ? shorts->cap * 2 : 64;
        f->words = arena_grow(shorts->a, f->words, shorts->cap * sizeof *f->words, cap * sizeof *f->words);
        shorts->cap = cap;
    }
    memcpy(f->words[f->ninsts++], word, 2 * sizeof *word);
    note_facts(shorts, f, word);
    shorts->pc += INST_BYTES;
}

/* An instruction as its two words, low one first, which is what the disassembler prints of what it cannot
 * read. */
static bool dword_directive(ShortAsm *shorts) {
    uint64_t word[2];
    if (!asm_number_max(shorts->text, UINT64_MAX, &word[0]))
        return false;
    if (!asm_accept(shorts->text, ','))
        return err(shorts, shorts->text->p, DIAG_E0350, "',' and the upper half of the instruction");
    if (!asm_number_max(shorts->text, UINT64_MAX, &word[1]))
        return false;
    if (shorts->emit)
        append_word(shorts, word);
    else
        shorts->pc += INST_BYTES;
    return true;
}

static bool directive(ShortAsm *shorts, const char *start, const char *w) {
    if (strcmp(w, ".target") == 0)
        return target_directive(shorts);
    if (strcmp(w, ".global") == 0)
        return global_directive(shorts);
    if (strcmp(w, ".entry") == 0 || strcmp(w, ".func") == 0)
        return begin_func(shorts, w[1] == 'e');
    if (!shorts->nfuncs)
        return err(shorts, start, DIAG_E0351, w);
    if (strcmp(w, ".param") == 0)
        return param_directive(shorts);
    if (strcmp(w, ".branchtable") == 0)
        return branchtable_directive(shorts);
    if (strcmp(w, ".dword") == 0)
        return dword_directive(shorts);
    const TargetInfo *info = isa_target_info(shorts->target);
    const struct {
        const char *name;
        uint16_t offset;
        uint32_t max;
    } counts[] = {{".shared", offsetof(CodeFunc, shared_bytes), info->max_shared_bytes},
                  {".barriers", offsetof(CodeFunc, nbarriers), info->num_cta_barriers},
                  {".frame", offsetof(CodeFunc, frame_bytes), 1 << 20},
                  {".regs", offsetof(CodeFunc, nregs), info->num_regs[RF_R]}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t v;
        if (strcmp(w, counts[i].name) != 0)
            continue;
        if (!asm_number_max(shorts->text, counts[i].max, &v))
            return false;
        memcpy((char *)func(shorts) + counts[i].offset, &(uint32_t){(uint32_t)v}, 4);
        return true;
    }
    return err(shorts, start, DIAG_E0351, w);
}

/* ---- code ---- */
static bool resolve(void *user, const char *name, size_t size_bytes, int64_t *value) {
    ShortAsm *shorts = user;
    StrId id = str_find(&shorts->text->strings, name, size_bytes);
    for (uint32_t i = 0; id.i && i < shorts->labels.n; i++)
        if (str_eq(shorts->labels.at[i].name, id) && shorts->labels.at[i].func == shorts->nfuncs) {
            *value = shorts->labels.at[i].offset;
            return true;
        }
    if (!id.i || !func_named(shorts, id))
        return false;
    shorts->called = id;
    *value = shorts->pc + INST_BYTES; /* distance 0; the relocation says the rest */
    return true;
}

/* Said once; a listing has nothing else. */
static bool no_function(ShortAsm *shorts, const char *start, const char *what) {
    bool first = !shorts->homeless;
    shorts->homeless = true;
    return first &&
           err(shorts, start, DIAG_E0350,
               arena_printf(shorts->a,
                            ".entry or .func before the first %s (what asm takes of a binary is printed by "
                            "disasm --sections)",
                            what));
}

static bool code_line(ShortAsm *shorts) {
    const char *start = shorts->text->p;
    if (!shorts->nfuncs)
        return no_function(shorts, start, "instruction");
    if (!shorts->emit) {
        shorts->pc += INST_BYTES;
        return true;
    }
    CodeFunc *f = func(shorts);
    uint64_t word[2];
    IsaParseOptions opt = {resolve, shorts};
    shorts->called = (StrId){0};
    MachInst in;
    char error[ISA_ERROR_BYTES] = "";
    unsigned kind = RELOC_NONE;
    bool good = asm_parse_instruction(shorts->text, shorts->target, shorts->pc, &opt, &in);
    bool absolute = good && isa_is_absolute(in.optype, in.mods);
    if (good && shorts->called.i && !absolute && str_eq(shorts->called, f->name))
        in.wide = -(int64_t)(shorts->pc + INST_BYTES); /* the start of this very function */
    else if (good && shorts->called.i) {
        kind = asm_call_reloc(shorts->text, shorts->target, &in, start);
        good = kind != RELOC_NONE;
    }
    if (good && !isa_encode(shorts->target, &in, word, error))
        good = err(shorts, start, DIAG_E0354, error);
    if (!good) {
        shorts->pc += INST_BYTES;
        return false;
    }
    if (shorts->text->targets.n)
        VEC_ADD(shorts->a, &f->tables,
                ((CodeTable){.pc_bytes = shorts->pc,
                             .targets = shorts->text->targets.at,
                             .n = shorts->text->targets.n}));
    shorts->text->targets.at = NULL; /* the table keeps them */
    shorts->text->targets.n = shorts->text->targets.cap = 0;
    if (kind != RELOC_NONE)
        VEC_ADD(shorts->a, &f->relocs,
                ((CodeReloc){.offset_bytes = shorts->pc, .kind = (RelocKind)kind, .symbol = shorts->called}));
    append_word(shorts, word);
    return true;
}

static bool statement(ShortAsm *shorts) {
    const char *start = shorts->text->p;
    const char *w = *start == '[' ? NULL : asm_word(shorts->text);
    if (w && asm_accept(shorts->text, ':')) {
        if (!shorts->nfuncs)
            return no_function(shorts, start, "label");
        StrId id = str_intern_z(&shorts->text->strings, w);
        for (uint32_t i = 0; !shorts->emit && i < shorts->labels.n; i++)
            if (str_eq(shorts->labels.at[i].name, id) && shorts->labels.at[i].func == shorts->nfuncs)
                return err(shorts, start, DIAG_E0353, w);
        if (!shorts->emit)
            VEC_ADD(shorts->a, &shorts->labels, ((ShortLabel){id, shorts->nfuncs, shorts->pc}));
        return asm_at_end(shorts->text) || statement(shorts);
    }
    if (w && *w == '.')
        return directive(shorts, start, w) && asm_expect_end(shorts->text);
    shorts->text->p = start;
    return code_line(shorts);
}

static bool walk_short(ShortAsm *shorts, bool emit) {
    shorts->emit = emit;
    shorts->nfuncs = 0;
    asm_rewind(shorts->text);
    bool good = true;
    while (asm_next_line(shorts->text))
        good &= statement(shorts);
    return good;
}

static bool close_functions(ShortAsm *shorts) {
    uint32_t reserved = isa_target_info(shorts->target)->reserved_regs;
    for (uint32_t i = 0; i < shorts->funcs.n; i++) {
        CodeFunc *f = &shorts->funcs.at[i];
        if (!f->ninsts)
            return diag_in(
                shorts->text->d, shorts->text->source, (SrcLoc){0}, DIAG_E0356,
                arena_printf(shorts->a, "%s has no instruction", str_text(&shorts->text->strings, f->name)));
        f->nregs = f->nregs + reserved > 255 ? 255 : f->nregs + reserved;
        f->stack_bytes = f->frame_bytes;
    }
    return true;
}

bool asm_read_short(AsmText *text, void **image, size_t *size_bytes) {
    ShortAsm s = {.text = text, .a = text->a};
    bool good = walk_short(&s, false) && walk_short(&s, true);
    if (good && !s.funcs.n)
        good = diag_in(text->d, text->source, (SrcLoc){0}, DIAG_E0413);
    good = good && close_functions(&s);
    CodeModule c = {.ir = s.module, .funcs = s.funcs.at, .nfuncs = s.funcs.n};
    good = good && elf_write(&c, image, size_bytes, text->d);
    if (s.module)
        ir_module_free(s.module);
    return good;
}
