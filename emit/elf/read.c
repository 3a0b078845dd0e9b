/* ELF to loaded binary: functions, variables, constant banks, launch facts. All code is put into one address
 * space and calls are linked there. Own files and, as far as they go, files made by ptxas in both header
 * forms.
 * SPDX-License-Identifier: MIT */
#include "base/bitset.h"
#include "emit/elf/binary.h"
#include "emit/elf/image.h"
#include "emit/elf/map.h"
#include "emit/elf/nvinfo.h"
#include <stdlib.h>
#include <string.h>

#define CODE_BASE 0x1000u /* so that address 0 is never code */
enum { CODE_ALIGN = 128, MAX_FUNCS = 1 << 16, SPACE_GLOBAL = 0, SPACE_CONST = 1 };

typedef struct {
    Binary *b;
    ElfImage *e;
    Arena scratch;
    uint32_t *func_of; /* text section -> function index + 1 */
    uint32_t *var_of;  /* symbol -> variable index + 1 */
    uint32_t symtab, nsyms;
    Diags *d;
} Reader;

static SrcLoc at(uint64_t offset) { return (SrcLoc){offset < UINT32_MAX ? (uint32_t)offset + 1 : 0}; }

static const ElfSection *sec(const Reader *r, uint32_t i) { return &r->e->sections.at[i]; }

static bool bad_section(Reader *r, uint32_t i, const char *what) {
    return diag(r->d, at(sec(r, i)->h.sh_offset), DIAG_E0405, i, sec(r, i)->name, what);
}

static bool starts(const char *name, const char *prefix) {
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* ---- symbols ---- */
typedef struct {
    const char *name;
    uint64_t value, size;
    uint8_t info, other;
    uint16_t section;
} Symbol;

static uint64_t symbol_offset(const Reader *r, uint32_t i) {
    return sec(r, r->symtab)->h.sh_offset + (uint64_t)i * sizeof(Elf64_Sym);
}

static bool get_symbol(Reader *r, uint32_t i, Symbol *out) {
    const uint8_t *p = sec(r, r->symtab)->data + (size_t)i * sizeof(Elf64_Sym);
    *out = (Symbol){.info = p[4],
                    .other = p[5],
                    .section = get_u16(p + 6),
                    .value = get_u64(p + 8),
                    .size = get_u64(p + 16)};
    out->name = elfimg_string(r->e, sec(r, r->symtab)->h.sh_link, get_u32(p));
    if (!out->name)
        return diag(r->d, at(symbol_offset(r, i)), DIAG_E0406, i, "", "its name is outside the string table");
    if (out->section < SHN_LORESERVE && out->section >= r->e->sections.n)
        return diag(r->d, at(symbol_offset(r, i)), DIAG_E0406, i, out->name, "its section does not exist");
    return true;
}

static bool find_symtab(Reader *r) {
    for (uint32_t i = 1; i < r->e->sections.n; i++) {
        const Elf64_Shdr *h = &sec(r, i)->h;
        if (h->sh_type != SHT_SYMTAB)
            continue;
        if (r->symtab)
            return bad_section(r, i, "a second symbol table");
        if (h->sh_entsize != sizeof(Elf64_Sym) || h->sh_size % sizeof(Elf64_Sym))
            return bad_section(r, i, "wrong entry size");
        r->symtab = i;
        r->nsyms = (uint32_t)(h->sh_size / sizeof(Elf64_Sym));
    }
    if (!r->symtab)
        return diag(r->d, at(0), DIAG_E0401, "no symbol table");
    r->var_of = ARENA_ARRAY(&r->scratch, uint32_t, r->nsyms + 1);
    return true;
}

/* ---- functions and code ---- */
static bool check_text(Reader *r, uint32_t i) {
    const Elf64_Shdr *h = &sec(r, i)->h;
    if (h->sh_type != SHT_PROGBITS)
        return bad_section(r, i, "code must be of type PROGBITS");
    if (h->sh_size == 0 || h->sh_size % INST_BYTES)
        return bad_section(r, i, "the size is not a positive multiple of 16");
    return true;
}

/* Every .text.NAME section is a function; its symbol says whether it is a kernel. */
static bool find_functions(Reader *r) {
    Binary *b = r->b;
    r->func_of = ARENA_ARRAY(&r->scratch, uint32_t, r->e->sections.n);
    uint64_t total = 0;
    for (uint32_t i = 1; i < r->e->sections.n; i++) {
        if (!starts(sec(r, i)->name, ".text."))
            continue;
        if (!check_text(r, i))
            return false;
        if (b->nfuncs == MAX_FUNCS)
            return bad_section(r, i, "too many functions");
        r->func_of[i] = ++b->nfuncs;
        total += (sec(r, i)->h.sh_size + CODE_ALIGN - 1) & ~(uint64_t)(CODE_ALIGN - 1);
    }
    if (!b->nfuncs)
        return diag(r->d, at(0), DIAG_E0413);
    b->funcs = ARENA_ARRAY(&b->arena, BinFunc, b->nfuncs);
    b->code_base = CODE_BASE;
    b->ncode = (uint32_t)(total / INST_BYTES);
    b->code = arena_alloc(&b->arena, total);
    uint64_t pos = 0;
    for (uint32_t i = 1; i < r->e->sections.n; i++) {
        if (!r->func_of[i])
            continue;
        BinFunc *f = &b->funcs[r->func_of[i] - 1];
        const ElfSection *s = sec(r, i);
        f->name = arena_printf(&b->arena, "%s", s->name + strlen(".text."));
        f->address = CODE_BASE + pos;
        f->ninsts = (uint32_t)(s->h.sh_size / INST_BYTES);
        for (uint32_t k = 0; k < f->ninsts; k++) {
            b->code[pos / INST_BYTES + k][0] = get_u64(s->data + k * INST_BYTES);
            b->code[pos / INST_BYTES + k][1] = get_u64(s->data + k * INST_BYTES + 8);
        }
        pos += (s->h.sh_size + CODE_ALIGN - 1) & ~(uint64_t)(CODE_ALIGN - 1);
        if (b->target && isa_target_info(b->target)->elf_machine == EM_NV_CUDA)
            f->nbarriers = (uint32_t)(s->h.sh_flags >> 20 & 0x7f);
    }
    return true;
}

static BinFunc *func_of_section(Reader *r, uint32_t section) {
    if (section >= r->e->sections.n || !r->func_of[section])
        return NULL;
    return &r->b->funcs[r->func_of[section] - 1];
}

static BinFunc *func_named(Reader *r, const char *name) {
    for (uint32_t i = 0; i < r->b->nfuncs; i++)
        if (strcmp(r->b->funcs[i].name, name) == 0)
            return &r->b->funcs[i];
    return NULL;
}

/* ---- symbols: kernels and variables ---- */
static bool add_variable(Reader *r, uint32_t index, const Symbol *s, uint8_t space) {
    const ElfSection *section = sec(r, s->section);
    if (s->value > section->h.sh_size || s->size > section->h.sh_size - s->value)
        return diag(r->d, at(symbol_offset(r, index)), DIAG_E0406, index, s->name,
                    "lies outside its section");
    Binary *b = r->b;
    BinVar *v = &b->vars[b->nvars++];
    *v = (BinVar){.name = arena_printf(&b->arena, "%s", s->name),
                  .size_bytes = s->size,
                  .offset_bytes = s->value,
                  .space = space,
                  .align_bytes = section->h.sh_addralign ? section->h.sh_addralign : 1};
    if (section->data && s->size)
        v->init = arena_copy(&b->arena, section->data + s->value, s->size);
    r->var_of[index] = b->nvars;
    return true;
}

static bool read_symbols(Reader *r) {
    r->b->vars = ARENA_ARRAY(&r->b->arena, BinVar, r->nsyms + 1);
    for (uint32_t i = 1; i < r->nsyms; i++) {
        Symbol s;
        if (!get_symbol(r, i, &s))
            return false;
        if (s.section == SHN_UNDEF || s.section >= SHN_LORESERVE)
            continue;
        const char *section = sec(r, s.section)->name;
        BinFunc *f = func_of_section(r, s.section);
        unsigned type = ELF64_ST_TYPE(s.info);
        if (f && type == STT_FUNC && strcmp(f->name, s.name) == 0) {
            f->is_entry = (s.other & STO_NV_ENTRY) != 0;
            if (s.value != 0)
                return diag(r->d, at(symbol_offset(r, i)), DIAG_E0406, i, s.name,
                            "a function must start its section");
        } else if (type == STT_OBJECT) {
            bool global = strcmp(section, ".nv.global") == 0 || strcmp(section, ".nv.global.init") == 0;
            bool constant = strcmp(section, ".nv.constant3") == 0;
            if ((global || constant) && !add_variable(r, i, &s, constant ? SPACE_CONST : SPACE_GLOBAL))
                return false;
        }
    }
    return true;
}

/* ---- banks and shared memory ---- */
static bool bank_of(Reader *r, uint32_t i, const char *prefix, const uint8_t **data, uint32_t *size) {
    const ElfSection *s = sec(r, i);
    if (s->h.sh_size > 0x10000)
        return bad_section(r, i, "larger than a constant bank");
    if (!func_named(r, s->name + strlen(prefix)))
        return bad_section(r, i, "belongs to no function");
    if (s->h.sh_size && !s->data)
        return bad_section(r, i, "holds no bytes");
    *data = s->data ? arena_copy(&r->b->arena, s->data, s->h.sh_size) : NULL;
    *size = (uint32_t)s->h.sh_size;
    return true;
}

static bool module_bank(Reader *r, uint32_t i, const uint8_t **data, uint32_t *size) {
    const ElfSection *s = sec(r, i);
    if (s->h.sh_size > 0x10000)
        return bad_section(r, i, "larger than a constant bank");
    if (!s->data)
        return true;
    *data = arena_copy(&r->b->arena, s->data, s->h.sh_size);
    *size = (uint32_t)s->h.sh_size;
    return true;
}

static bool read_banks(Reader *r) {
    Binary *b = r->b;
    static const char c0[] = ".nv.constant0.", c2[] = ".nv.constant2.", shared[] = ".nv.shared.";
    for (uint32_t i = 1; i < r->e->sections.n; i++) {
        const char *name = sec(r, i)->name;
        BinFunc *f;
        bool good = true;
        if (starts(name, c0) && (f = func_named(r, name + strlen(c0))))
            good = bank_of(r, i, c0, &f->const_bank0, &f->const_bank0_bytes);
        else if (starts(name, c2) && (f = func_named(r, name + strlen(c2))))
            good = bank_of(r, i, c2, &f->const_bank2, &f->const_bank2_bytes);
        else if (strcmp(name, ".nv.constant3") == 0)
            good = module_bank(r, i, &b->const_bank3, &b->const_bank3_bytes);
        else if (strcmp(name, ".nv.constant4") == 0)
            good = module_bank(r, i, &b->const_bank4, &b->const_bank4_bytes);
        else if (starts(name, shared) && (f = func_named(r, name + strlen(shared)))) {
            if (sec(r, i)->h.sh_size > 1u << 20)
                return bad_section(r, i, "more shared memory than any machine has");
            f->shared_bytes = (uint32_t)sec(r, i)->h.sh_size;
        }
        if (!good)
            return false;
    }
    return true;
}

/* ---- attribute records ---- */
static bool bad_record(Reader *r, uint32_t section, size_t pos, const char *what) {
    return diag(r->d, at(sec(r, section)->h.sh_offset + pos), DIAG_E0408, sec(r, section)->name, what);
}

/* The function that symbol `sym` of a module record names; NULL if it is another kind of symbol. */
static bool record_func(Reader *r, uint32_t section, const NvAttr *n, BinFunc **f) {
    Symbol s;
    *f = NULL;
    if (n->size_bytes < 8)
        return bad_record(r, section, n->offset, "too short");
    uint32_t index = get_u32(n->data);
    if (index >= r->nsyms)
        return bad_record(r, section, n->offset, "names a symbol that does not exist");
    if (!get_symbol(r, index, &s))
        return false;
    if (s.section < SHN_LORESERVE && ELF64_ST_TYPE(s.info) == STT_FUNC)
        *f = func_of_section(r, s.section);
    if (*f && strcmp((*f)->name, s.name) != 0)
        *f = NULL; /* a function inside a kernel's section */
    return true;
}

static bool module_record(Reader *r, uint32_t section, const NvAttr *n) {
    BinFunc *f;
    if (n->code != NV_REGCOUNT && n->code != NV_FRAME_SIZE && n->code != NV_MIN_STACK_SIZE)
        return true;
    if (n->format != NVF_SIZED || !record_func(r, section, n, &f))
        return n->format != NVF_SIZED ? bad_record(r, section, n->offset, "wrong format") : false;
    if (!f)
        return true;
    uint32_t value = get_u32(n->data + 4);
    if (n->code == NV_REGCOUNT && value > 256)
        return bad_record(r, section, n->offset, "register count above 256");
    *(n->code == NV_REGCOUNT     ? &f->nregs
      : n->code == NV_FRAME_SIZE ? &f->frame_bytes
                                 : &f->stack_bytes) = value;
    return true;
}

static bool param_record(Reader *r, uint32_t section, const NvAttr *n, BinFunc *f, BinParam *params) {
    if (n->size_bytes != 12)
        return bad_record(r, section, n->offset, "wrong size");
    uint32_t place = get_u32(n->data + 4), shape = get_u32(n->data + 8);
    BinParam p = {place & 0xffff, place >> 16, shape >> 18};
    if (f->nparams == 4096 || p.offset_bytes + p.size_bytes > 0x10000)
        return bad_record(r, section, n->offset, "the parameter is out of range");
    uint32_t i = f->nparams++; /* kept in ascending order of their ordinals */
    while (i > 0 && params[i - 1].ordinal > p.ordinal)
        params[i] = params[i - 1], i--;
    params[i] = p;
    return true;
}

static bool three_words(const NvAttr *n, uint32_t out[3]) {
    if (n->format != NVF_SIZED || n->size_bytes != 12)
        return false;
    for (int i = 0; i < 3; i++)
        out[i] = get_u32(n->data + i * 4);
    return true;
}

static bool code_offset(const BinFunc *f, uint32_t offset) {
    return offset % INST_BYTES == 0 && offset / INST_BYTES < f->ninsts;
}

/* `count` offsets, without repeats. `seen` is empty before and after. */
static bool branch_targets(const uint8_t *data, uint32_t count, const BinFunc *f, Bitset *seen,
                           BinBranchTable *t, uint32_t *out) {
    bool good = true;
    for (uint32_t e = 0; good && e < count; e++) {
        uint32_t to = get_u32(data + 4 * e);
        good = code_offset(f, to);
        if (!good || bs_has(seen, to / INST_BYTES))
            continue;
        bs_add(seen, to / INST_BYTES);
        out[t->ntargets++] = to;
    }
    for (uint32_t e = 0; e < t->ntargets; e++)
        bs_del(seen, out[e] / INST_BYTES);
    t->targets = out;
    return good;
}

/* {branch, 0, count, targets...}, as often as the record is long. */
static bool branch_record(Reader *r, uint32_t section, const NvAttr *n, BinFunc *f) {
    Arena *a = &r->b->arena;
    uint32_t words = n->size_bytes / 4, count;
    if (n->format != NVF_SIZED || n->size_bytes % 4)
        return bad_record(r, section, n->offset, "wrong size");
    Bitset seen = bs_new(&r->scratch, f->ninsts);
    for (uint32_t k = 0; k < words; k += 3 + count) {
        if (words - k < 3 || (count = get_u32(n->data + 4 * k + 8)) > words - k - 3)
            return bad_record(r, section, n->offset, "a list of branch targets is longer than the record");
        BinBranchTable t = {.pc_bytes = get_u32(n->data + 4 * k)};
        if (!code_offset(f, t.pc_bytes))
            return bad_record(r, section, n->offset, "the indirect branch is outside the function");
        if (!branch_targets(n->data + 4 * (k + 3), count, f, &seen, &t, ARENA_ARRAY(a, uint32_t, count + 1)))
            return bad_record(r, section, n->offset, "a branch target is outside the function");
        BinBranchTable *all = (BinBranchTable *)(uintptr_t)f->tables;
        if ((f->ntables & (f->ntables - 1)) == 0) /* full: capacity is the next power of two */
            f->tables = all =
                arena_grow(a, all, f->ntables * sizeof t, (f->ntables ? f->ntables * 2u : 1u) * sizeof t);
        all[f->ntables++] = t;
    }
    return true;
}

static int by_branch(const void *a, const void *b) {
    const BinBranchTable *x = a, *y = b;
    return (x->pc_bytes > y->pc_bytes) - (x->pc_bytes < y->pc_bytes);
}

static bool sort_tables(Reader *r, uint32_t section, BinFunc *f) {
    if (f->ntables)
        qsort((BinBranchTable *)(uintptr_t)f->tables, f->ntables, sizeof *f->tables, by_branch);
    for (uint32_t k = 1; k < f->ntables; k++)
        if (f->tables[k].pc_bytes == f->tables[k - 1].pc_bytes)
            return bad_record(r, section, 0, "two lists of targets for one indirect branch");
    return true;
}

static bool func_record(Reader *r, uint32_t section, const NvAttr *n, BinFunc *f, BinParam *params) {
    switch (n->code) {
    case NV_KPARAM_INFO: return param_record(r, section, n, f, params);
    case NV_PARAM_CBANK:
        if (n->size_bytes != 8)
            return bad_record(r, section, n->offset, "wrong size");
        f->param_base = get_u16(n->data + 4);
        f->param_bytes = get_u16(n->data + 6);
        return true;
    case NV_CBANK_PARAM_SIZE:
        if (n->format != NVF_HALF)
            return bad_record(r, section, n->offset, "wrong format");
        f->param_bytes = n->value;
        return true;
    case NV_NUM_BARRIERS:
        if (n->format != NVF_BYTE)
            return bad_record(r, section, n->offset, "wrong format");
        f->nbarriers = n->value & 0xff;
        return true;
    case NV_INDIRECT_BRANCH_TARGETS: return branch_record(r, section, n, f);
    case NV_MAX_THREADS: return three_words(n, f->maxntid) || bad_record(r, section, n->offset, "wrong size");
    case NV_REQNTID: return three_words(n, f->reqntid) || bad_record(r, section, n->offset, "wrong size");
    default: return true;
    }
}

static bool read_records(Reader *r, uint32_t section, BinFunc *f) {
    const ElfSection *s = sec(r, section);
    BinParam *params = f ? ARENA_ARRAY(&r->b->arena, BinParam, s->h.sh_size / 16 + 1) : NULL;
    size_t pos = 0;
    NvAttr n;
    while (s->data && nvinfo_next(s->data, s->h.sh_size, &pos, &n))
        if (!(f ? func_record(r, section, &n, f, params) : module_record(r, section, &n)))
            return false;
    if (s->data && pos != s->h.sh_size)
        return bad_record(r, section, pos, "unknown format or beyond the section");
    if (!f)
        return true;
    if (!sort_tables(r, section, f))
        return false;
    f->params = params;
    const TargetInfo *t = isa_target_info(r->b->target);
    if (!f->param_base)
        f->param_base = t->param_base_bytes;
    if (f->is_entry && f->param_base + f->param_bytes > f->const_bank0_bytes)
        return bad_record(r, section, 0, "the parameters do not fit constant bank 0");
    for (uint32_t i = 0; i < f->nparams; i++)
        if (params[i].offset_bytes + params[i].size_bytes > f->param_bytes)
            return bad_record(r, section, 0, "a parameter lies outside the parameter block");
    return true;
}

static bool read_infos(Reader *r) {
    static const char prefix[] = ".nv.info.";
    for (uint32_t i = 1; i < r->e->sections.n; i++) {
        const ElfSection *s = sec(r, i);
        if (s->h.sh_type != SHT_NV_INFO)
            continue;
        if (strcmp(s->name, ".nv.info") == 0) {
            if (!read_records(r, i, NULL))
                return false;
        } else if (starts(s->name, prefix)) {
            BinFunc *f = func_named(r, s->name + strlen(prefix));
            if (f && !read_records(r, i, f))
                return false;
        }
    }
    return true;
}

/* ---- relocations ---- */
typedef struct {
    uint32_t section, index, target; /* target: section that is relocated */
    uint64_t offset;
    uint32_t type, sym;
    int64_t addend;
    Symbol s;
} Reloc;

static bool bad_reloc(Reader *r, const Reloc *x, const char *what) {
    const Elf64_Shdr *h = &sec(r, x->section)->h;
    return diag(r->d, at(h->sh_offset + x->index * h->sh_entsize), DIAG_E0407, x->index,
                sec(r, x->section)->name, what);
}

/* NVIDIA's numbers to ours; see docs/elf.md. */
static RelocKind reloc_kind(const Reader *r, uint32_t type) {
    if (isa_target_info(r->b->target)->elf_machine != EM_NV_CUDA)
        return type < RELOC_KIND_COUNT ? (RelocKind)type : RELOC_NONE;
    switch (type) {
    case 2:
    case 4: return RELOC_ABS64;
    case 55: return RELOC_SHARED_OFFSET32;
    case 56: return RELOC_ABS32_LO;
    case 57: return RELOC_ABS32_HI;
    case 58:
    case 75: return RELOC_CALL_REL;
    default: return RELOC_NONE;
    }
}

static void set_imm32(uint64_t word[2], uint32_t value) {
    word[0] = (word[0] & 0xffffffffu) | (uint64_t)value << 32;
}

static bool link_call(Reader *r, const Reloc *x, uint64_t word[2], uint64_t pc, uint64_t target) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    if (!isa_decode(r->b->target, word, &in, error))
        return bad_reloc(r, x, arena_printf(&r->scratch, "not a call: %s", error));
    bool has_target = false;
    for (unsigned k = 0; k < in.nsrc; k++)
        has_target |= in.src[k].kind == OPK_IMM64;
    if (!has_target)
        return bad_reloc(r, x, "the instruction has no target");
    in.wide = (int64_t)(target - (pc + INST_BYTES)) + x->addend;
    if (!isa_encode(r->b->target, &in, word, error))
        return bad_reloc(r, x, arena_printf(&r->scratch, "%s", error));
    return true;
}

static void add_fixup(Reader *r, BinFixup f) {
    uint32_t n = r->b->nfixups;
    if ((n & (n - 1)) == 0) /* full: capacity is the next power of two */
        r->b->fixups = arena_grow(&r->b->arena, r->b->fixups, n * sizeof f, (n ? n * 2u : 1u) * sizeof f);
    r->b->fixups[r->b->nfixups++] = f;
}

static bool reloc_code(Reader *r, const Reloc *x, RelocKind kind, const BinFunc *f) {
    if (x->offset % INST_BYTES || x->offset / INST_BYTES >= f->ninsts)
        return bad_reloc(r, x, "its place is no instruction of the function");
    uint64_t pc = f->address + x->offset;
    uint64_t *word = r->b->code[(pc - CODE_BASE) / INST_BYTES];
    const BinFunc *callee = x->s.section < SHN_LORESERVE ? func_of_section(r, x->s.section) : NULL;
    bool whole = callee && x->s.value + (uint64_t)x->addend == 0;
    uint64_t target = callee ? callee->address + x->s.value + (uint64_t)x->addend : 0;
    switch (kind) {
    case RELOC_CALL_REL:
        if (!callee)
            return bad_reloc(
                r, x, arena_printf(&r->scratch, "call of %s, which the file does not define", x->s.name));
        return link_call(r, x, word, pc, callee->address + x->s.value);
    case RELOC_ABS32_LO:
    case RELOC_ABS32_HI:
        if (callee && !whole) { /* a place inside, as return addresses are */
            set_imm32(word, (uint32_t)(kind == RELOC_ABS32_LO ? target : target >> 32));
            return true;
        }
        if (!callee && !r->var_of[x->sym])
            return bad_reloc(
                r, x, arena_printf(&r->scratch, "address of %s, which the file does not define", x->s.name));
        add_fixup(r, (BinFixup){.in_code = true,
                                .offset_bytes = pc - CODE_BASE,
                                .kind = (uint8_t)kind,
                                .to_func = callee != NULL,
                                .target = callee ? (uint32_t)(callee - r->b->funcs) : r->var_of[x->sym] - 1,
                                .addend = x->addend});
        return true;
    case RELOC_SHARED_OFFSET32: set_imm32(word, (uint32_t)(x->s.value + (uint64_t)x->addend)); return true;
    default: return bad_reloc(r, x, arena_printf(&r->scratch, "type %u in code is not known", x->type));
    }
}

/* 8 bytes of a variable or of bank 4. Places inside functions are final now, the rest is known at load. */
static bool reloc_data(Reader *r, const Reloc *x, RelocKind kind) {
    Binary *b = r->b;
    const char *name = sec(r, x->target)->name;
    bool bank4 = strcmp(name, ".nv.constant4") == 0, constant = strcmp(name, ".nv.constant3") == 0;
    if (!bank4 && !constant && strcmp(name, ".nv.global.init") != 0)
        return true; /* debug information and the like */
    if (kind != RELOC_ABS64)
        return bad_reloc(r, x, arena_printf(&r->scratch, "type %u in data is not known", x->type));
    if (sec(r, x->target)->h.sh_size < 8 || x->offset > sec(r, x->target)->h.sh_size - 8)
        return bad_reloc(r, x, "its place is outside the section");
    const BinFunc *callee = x->s.section < SHN_LORESERVE ? func_of_section(r, x->s.section) : NULL;
    if (!callee && !r->var_of[x->sym])
        return bad_reloc(
            r, x, arena_printf(&r->scratch, "address of %s, which the file does not define", x->s.name));
    BinFixup f = {.in_bank4 = bank4, .offset_bytes = x->offset, .kind = RELOC_ABS64, .addend = x->addend};
    uint8_t *place = bank4 ? (uint8_t *)(uintptr_t)b->const_bank4 + x->offset : NULL;
    for (uint32_t i = 0; !bank4 && i < b->nvars; i++) {
        const BinVar *v = &b->vars[i];
        bool here = (v->space == SPACE_CONST) == constant && v->init && x->offset >= v->offset_bytes &&
                    x->offset - v->offset_bytes + 8 <= v->size_bytes;
        if (here && !place) {
            place = (uint8_t *)(uintptr_t)v->init + (x->offset - v->offset_bytes);
            f.var = i;
            f.offset_bytes = x->offset - v->offset_bytes;
        }
    }
    if (!place)
        return bad_reloc(r, x, "its place is in no variable");
    if (callee && x->s.value + (uint64_t)x->addend != 0) {
        put_u64(place, callee->address + x->s.value + (uint64_t)x->addend);
        if (constant)
            put_u64((uint8_t *)(uintptr_t)b->const_bank3 + x->offset, get_u64(place));
        return true;
    }
    f.to_func = callee != NULL;
    f.target = callee ? (uint32_t)(callee - b->funcs) : r->var_of[x->sym] - 1;
    add_fixup(r, f);
    return true;
}

static bool read_reloc(Reader *r, Reloc *x) {
    const ElfSection *s = sec(r, x->section);
    const uint8_t *p = s->data + x->index * s->h.sh_entsize;
    uint64_t info = get_u64(p + 8);
    x->offset = get_u64(p);
    x->sym = (uint32_t)ELF64_R_SYM(info);
    x->type = (uint32_t)ELF64_R_TYPE(info);
    x->addend = s->h.sh_type == SHT_RELA ? (int64_t)get_u64(p + 16) : 0;
    if (x->sym >= r->nsyms)
        return bad_reloc(r, x, "its symbol does not exist");
    if (!get_symbol(r, x->sym, &x->s))
        return false;
    const BinFunc *f = func_of_section(r, x->target);
    RelocKind kind = reloc_kind(r, x->type);
    return f ? reloc_code(r, x, kind, f) : reloc_data(r, x, kind);
}

static bool read_relocs(Reader *r) {
    for (uint32_t i = 1; i < r->e->sections.n; i++) {
        const ElfSection *s = sec(r, i);
        if (s->h.sh_type != SHT_REL && s->h.sh_type != SHT_RELA)
            continue;
        uint64_t each = s->h.sh_type == SHT_REL ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
        if (s->h.sh_entsize != each || s->h.sh_size % each)
            return bad_section(r, i, "wrong entry size");
        if (s->h.sh_info == 0 || s->h.sh_info >= r->e->sections.n || s->h.sh_link != r->symtab)
            return bad_section(r, i, "relocates no section, or not through the symbol table");
        for (uint32_t k = 0; k < s->h.sh_size / each; k++) {
            Reloc x = {.section = i, .index = k, .target = s->h.sh_info};
            if (!read_reloc(r, &x))
                return false;
        }
    }
    return true;
}

/* ---- entry ---- */
static bool read_own_sections(Reader *r) {
    uint32_t map = elfimg_find(r->e, ".heddle.map"), ptx = elfimg_find(r->e, ".heddle.ptx");
    Binary *b = r->b;
    if (ptx && sec(r, ptx)->data) {
        size_t size = sec(r, ptx)->h.sh_size;
        char *text = arena_alloc(&b->arena, size + 1);
        memcpy(text, sec(r, ptx)->data, size);
        b->ptx_text = text;
        b->ptx_text_bytes = size;
    }
    if (!map || !sec(r, map)->data)
        return true;
    size_t size = sec(r, map)->h.sh_size;
    const uint8_t *data = arena_copy(&b->arena, sec(r, map)->data, size);
    return map_read(b, data, size, sec(r, map)->h.sh_offset, r->d);
}

static bool read_all(Reader *r, const void *image, size_t size_bytes) {
    r->e = elfimg_read(&r->scratch, image, size_bytes, r->d);
    if (!r->e)
        return false;
    const Elf64_Ehdr *h = &r->e->h;
    r->b->target = elfimg_target(h);
    if (!r->b->target)
        return diag(r->d, at(offsetof(Elf64_Ehdr, e_machine)), DIAG_E0403, h->e_machine, h->e_flags,
                    h->e_ident[EI_OSABI], h->e_ident[EI_ABIVERSION]);
    return find_symtab(r) && find_functions(r) && read_symbols(r) && read_banks(r) && read_infos(r) &&
           read_relocs(r) && read_own_sections(r);
}

Binary *binary_read(const char *path, const void *image, size_t size_bytes, Diags *d) {
    Binary *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    Source source = {path, NULL, size_bytes};
    const Source *old = d->source;
    d->source = &source;
    Reader r = {.b = b, .d = d};
    b->path = arena_printf(&b->arena, "%s", path);
    bool good = read_all(&r, image, size_bytes);
    d->source = old;
    arena_free(&r.scratch);
    if (good)
        return b;
    binary_free(b);
    return NULL;
}

void binary_free(Binary *b) {
    if (!b)
        return;
    arena_free(&b->arena);
    free(b);
}

const BinFunc *binary_find(const Binary *b, const char *name) {
    for (uint32_t i = 0; i < b->nfuncs; i++)
        if (strcmp(b->funcs[i].name, name) == 0)
            return &b->funcs[i];
    return NULL;
}

const BinFunc *binary_func_at(const Binary *b, uint64_t address) {
    for (uint32_t i = 0; i < b->nfuncs; i++) {
        const BinFunc *f = &b->funcs[i];
        if (address >= f->address && address - f->address < (uint64_t)f->ninsts * INST_BYTES)
            return f;
    }
    return NULL;
}
