/* ELF to loaded binary: functions, variables, constant banks, launch facts. All code is put into one address
 * space and calls are linked there. Own files and, as far as they go, files made by ptxas in both header
 * forms.
 * SPDX-License-Identifier: MIT */
#include "base/bitset.h"
#include "base/scope.h"
#include "emit/elf/texture.h"
#include "emit/elf/binary.h"
#include "emit/elf/image.h"
#include "emit/elf/map.h"
#include "emit/elf/names.h"
#include "emit/elf/nvinfo.h"
#include "isa/machine/banks.h"
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

static const ElfSection *sec(const Reader *reader, uint32_t i) { return &reader->e->sections.at[i]; }

static bool bad_section(Reader *reader, uint32_t i, const char *what) {
    return diag(reader->d, at(sec(reader, i)->h.sh_offset), DIAG_E0405, i, sec(reader, i)->name, what);
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

static uint64_t symbol_offset(const Reader *reader, uint32_t i) {
    return sec(reader, reader->symtab)->h.sh_offset + (uint64_t)i * sizeof(Elf64_Sym);
}

static bool get_symbol(Reader *reader, uint32_t i, Symbol *out) {
    const uint8_t *p = sec(reader, reader->symtab)->data + (size_t)i * sizeof(Elf64_Sym);
    *out = (Symbol){.info = p[4],
                    .other = p[5],
                    .section = get_u16(p + 6),
                    .value = get_u64(p + 8),
                    .size = get_u64(p + 16)};
    out->name = elf_image_string(reader->e, sec(reader, reader->symtab)->h.sh_link, get_u32(p));
    if (!out->name)
        return diag(reader->d, at(symbol_offset(reader, i)), DIAG_E0406, i, "",
                    "its name is outside the string table");
    if (out->section < SHN_LORESERVE && out->section >= reader->e->sections.n)
        return diag(reader->d, at(symbol_offset(reader, i)), DIAG_E0406, i, out->name,
                    "its section does not exist");
    return true;
}

static bool find_symtab(Reader *reader) {
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const Elf64_Shdr *header = &sec(reader, i)->h;
        if (header->sh_type != SHT_SYMTAB)
            continue;
        if (reader->symtab)
            return bad_section(reader, i, "a second symbol table");
        if (header->sh_entsize != sizeof(Elf64_Sym) || header->sh_size % sizeof(Elf64_Sym))
            return bad_section(reader, i, "wrong entry size");
        reader->symtab = i;
        reader->nsyms = (uint32_t)(header->sh_size / sizeof(Elf64_Sym));
    }
    if (!reader->symtab)
        return diag(reader->d, at(0), DIAG_E0401, "no symbol table");
    reader->var_of = ARENA_ARRAY(&reader->scratch, uint32_t, reader->nsyms + 1);
    return true;
}

/* ---- functions and code ---- */
static bool check_text(Reader *r, uint32_t i) {
    const Elf64_Shdr *header = &sec(r, i)->h;
    if (header->sh_type != SHT_PROGBITS || ~header->sh_flags & (SHF_ALLOC | SHF_EXECINSTR))
        return bad_section(r, i, "code must be of type PROGBITS, loaded and executable");
    if (header->sh_size == 0 || header->sh_size % INST_BYTES)
        return bad_section(r, i, "the size is not a positive multiple of 16");
    return true;
}

/* Every .text.NAME section is a function; its symbol says whether it is a kernel. */
static bool find_functions(Reader *reader) {
    Binary *binary = reader->b;
    reader->func_of = ARENA_ARRAY(&reader->scratch, uint32_t, reader->e->sections.n);
    uint64_t total = 0;
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        if (!starts(sec(reader, i)->name, ".text."))
            continue;
        if (!check_text(reader, i))
            return false;
        if (binary->nfuncs == MAX_FUNCS)
            return bad_section(reader, i, "too many functions");
        reader->func_of[i] = ++binary->nfuncs;
        total += (sec(reader, i)->h.sh_size + CODE_ALIGN - 1) & ~(uint64_t)(CODE_ALIGN - 1);
    }
    if (!binary->nfuncs)
        return diag(reader->d, at(0), DIAG_E0413);
    binary->funcs = ARENA_ARRAY(&binary->arena, BinFunc, binary->nfuncs);
    binary->code_base = CODE_BASE;
    binary->ncode = (uint32_t)(total / INST_BYTES);
    binary->code = arena_alloc(&binary->arena, total);
    uint64_t pos = 0;
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        if (!reader->func_of[i])
            continue;
        BinFunc *f = &binary->funcs[reader->func_of[i] - 1];
        const ElfSection *section = sec(reader, i);
        f->name = arena_printf(&binary->arena, "%s", section->name + strlen(".text."));
        f->address = CODE_BASE + pos;
        f->ninsts = (uint32_t)(section->h.sh_size / INST_BYTES);
        for (uint32_t k = 0; k < f->ninsts; k++) {
            binary->code[pos / INST_BYTES + k][0] = get_u64(section->data + k * INST_BYTES);
            binary->code[pos / INST_BYTES + k][1] = get_u64(section->data + k * INST_BYTES + 8);
        }
        pos += (section->h.sh_size + CODE_ALIGN - 1) & ~(uint64_t)(CODE_ALIGN - 1);
        if (binary->target && isa_target_info(binary->target)->elf_machine == EM_NV_CUDA) {
            f->nbarriers = (uint32_t)(section->h.sh_flags >> 20 & 0x7f);
            f->header_regs = section->h.sh_info >> 24;
        }
    }
    elf_names_apart(binary);
    return true;
}

static BinFunc *func_of_section(Reader *reader, uint32_t section) {
    if (section >= reader->e->sections.n || !reader->func_of[section])
        return NULL;
    return &reader->b->funcs[reader->func_of[section] - 1];
}

/* Of which function a section PREFIX.NAME is: of several with that name the one that its header names. */
static BinFunc *owner_of(Reader *reader, uint32_t section, const char *prefix) {
    const ElfSection *own = sec(reader, section);
    if (!starts(own->name, prefix))
        return NULL;
    BinFunc *f = elf_image_names_owner(reader->e, section) ? func_of_section(reader, own->h.sh_info) : NULL;
    for (uint32_t i = 0; i < reader->b->nfuncs && !f; i++)
        if (strcmp(reader->b->funcs[i].name, own->name + strlen(prefix)) == 0)
            f = &reader->b->funcs[i];
    return f;
}

/* Does the symbol name the function of its section, not a place in it? */
static bool names_function(Reader *reader, const Symbol *symbol) {
    return strcmp(sec(reader, symbol->section)->name + strlen(".text."), symbol->name) == 0;
}

/* ---- symbols: kernels and variables ---- */
/* What several of the joined objects keep to themselves may have one name: memory goes by it. */
static const char *variable_name(const Reader *reader, uint32_t index, const Symbol *symbol) {
    Binary *binary = reader->b;
    bool twice = false;
    for (uint32_t i = 0; i < binary->nvars && ELF64_ST_BIND(symbol->info) == STB_LOCAL; i++)
        twice |= strcmp(binary->vars[i].name, symbol->name) == 0;
    return arena_printf(&binary->arena, twice ? "%s#%u" : "%s", symbol->name, index);
}

static bool add_variable(Reader *reader, uint32_t index, const Symbol *symbol, uint8_t space) {
    const ElfSection *section = sec(reader, symbol->section);
    if (symbol->value > section->h.sh_size || symbol->size > section->h.sh_size - symbol->value)
        return diag(reader->d, at(symbol_offset(reader, index)), DIAG_E0406, index, symbol->name,
                    "lies outside its section");
    Binary *binary = reader->b;
    const char *name = variable_name(reader, index, symbol);
    BinVar *var = &binary->vars[binary->nvars++];
    *var = (BinVar){.name = name,
                    .size_bytes = symbol->size,
                    .offset_bytes = symbol->value,
                    .space = space,
                    .align_bytes = section->h.sh_addralign ? section->h.sh_addralign : 1};
    if (section->data && symbol->size)
        var->init = arena_copy(&binary->arena, section->data + symbol->value, symbol->size);
    reader->var_of[index] = binary->nvars;
    return true;
}

static bool read_symbols(Reader *reader) {
    reader->b->vars = ARENA_ARRAY(&reader->b->arena, BinVar, reader->nsyms + 1);
    for (uint32_t i = 1; i < reader->nsyms; i++) {
        Symbol s;
        if (!get_symbol(reader, i, &s))
            return false;
        if (s.section == SHN_UNDEF || s.section >= SHN_LORESERVE)
            continue;
        const char *section = sec(reader, s.section)->name;
        BinFunc *f = func_of_section(reader, s.section);
        unsigned type = ELF64_ST_TYPE(s.info);
        if (f && type == STT_FUNC && names_function(reader, &s)) {
            f->is_entry = (s.other & STO_NV_ENTRY) != 0;
            if (s.value != 0)
                return diag(reader->d, at(symbol_offset(reader, i)), DIAG_E0406, i, s.name,
                            "a function must start its section");
        } else if (type == STT_OBJECT) {
            bool global = strcmp(section, ".nv.global") == 0 || strcmp(section, ".nv.global.init") == 0;
            bool constant = strcmp(section, ".nv.constant3") == 0;
            if ((global || constant) && !add_variable(reader, i, &s, constant ? SPACE_CONST : SPACE_GLOBAL))
                return false;
        }
    }
    return true;
}

/* ---- banks and shared memory ---- */
static bool bank_of(Reader *reader, uint32_t i, const uint8_t **data, uint32_t *size) {
    const ElfSection *section = sec(reader, i);
    if (section->h.sh_size > CONST_BANK_BYTES)
        return bad_section(reader, i, "larger than a constant bank");
    if (section->h.sh_size && !section->data)
        return bad_section(reader, i, "holds no bytes");
    *data = section->data ? arena_copy(&reader->b->arena, section->data, section->h.sh_size) : NULL;
    *size = (uint32_t)section->h.sh_size;
    return true;
}

static bool module_bank(Reader *reader, uint32_t i, const uint8_t **data, uint32_t *size) {
    const ElfSection *section = sec(reader, i);
    if (section->h.sh_size > CONST_BANK_BYTES)
        return bad_section(reader, i, "larger than a constant bank");
    if (!section->data)
        return true;
    *data = arena_copy(&reader->b->arena, section->data, section->h.sh_size);
    *size = (uint32_t)section->h.sh_size;
    return true;
}

/* Kernels of several joined objects may have one name, which they keep to themselves: nvlink 13.0 leaves them
 * one bank 0 of that name. */
static void share_launch_bank(Reader *reader, uint32_t section) {
    BinFunc *f = func_of_section(reader, section);
    for (uint32_t i = 1; f && f->is_entry && !f->const_bank0 && i < reader->e->sections.n; i++) {
        const BinFunc *other = func_of_section(reader, i);
        if (!other || !other->const_bank0 || strcmp(sec(reader, i)->name, sec(reader, section)->name) != 0)
            continue;
        f->const_bank0 = arena_copy(&reader->b->arena, other->const_bank0, other->const_bank0_bytes);
        f->const_bank0_bytes = other->const_bank0_bytes;
    }
}

static bool read_banks(Reader *reader) {
    Binary *binary = reader->b;
    static const char c0[] = ".nv.constant0.", c2[] = ".nv.constant2.", shared[] = ".nv.shared.";
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const char *name = sec(reader, i)->name;
        BinFunc *f;
        bool good = true;
        if (!elf_image_names_owner(reader->e, i))
            return bad_section(reader, i, "its header names other code than its own name");
        if ((f = owner_of(reader, i, c0)))
            good = bank_of(reader, i, &f->const_bank0, &f->const_bank0_bytes);
        else if ((f = owner_of(reader, i, c2)))
            good = bank_of(reader, i, &f->const_bank2, &f->const_bank2_bytes);
        else if (strcmp(name, ".nv.constant3") == 0)
            good = module_bank(reader, i, &binary->const_bank3, &binary->const_bank3_bytes);
        else if (strcmp(name, ".nv.constant4") == 0)
            good = module_bank(reader, i, &binary->const_bank4, &binary->const_bank4_bytes);
        else if ((f = owner_of(reader, i, shared))) {
            if (sec(reader, i)->h.sh_size > 1u << 20)
                return bad_section(reader, i, "more shared memory than any machine has");
            bool object = sec(reader, i)->h.sh_type == SHT_NV_SHARED; /* what the system keeps is not in it */
            uint32_t base = object ? 0 : isa_target_info(binary->target)->shared_base_bytes;
            if (sec(reader, i)->h.sh_size < base)
                return bad_section(reader, i, "less shared memory than the system keeps for itself");
            f->shared_bytes = (uint32_t)sec(reader, i)->h.sh_size - base;
        }
        if (!good)
            return false;
    }
    for (uint32_t i = 1; i < reader->e->sections.n; i++)
        share_launch_bank(reader, i);
    return true;
}

/* ---- attribute records ---- */
static bool bad_record(Reader *reader, uint32_t section, size_t pos, const char *what) {
    return diag(reader->d, at(sec(reader, section)->h.sh_offset + pos), DIAG_E0408,
                sec(reader, section)->name, what);
}

/* The function that symbol `sym` of a module record names; NULL if it is another kind of symbol. */
static bool record_func(Reader *reader, uint32_t section, const NvAttr *attr, BinFunc **f) {
    Symbol s;
    *f = NULL;
    if (attr->size_bytes < 8)
        return bad_record(reader, section, attr->offset, "too short");
    uint32_t index = get_u32(attr->data);
    if (index >= reader->nsyms)
        return bad_record(reader, section, attr->offset, "names a symbol that does not exist");
    if (!get_symbol(reader, index, &s))
        return false;
    if (s.section < SHN_LORESERVE && ELF64_ST_TYPE(s.info) == STT_FUNC)
        *f = func_of_section(reader, s.section);
    if (*f && !names_function(reader, &s))
        *f = NULL; /* a function inside a kernel's section */
    return true;
}

static bool module_record(Reader *r, uint32_t section, const NvAttr *attr) {
    BinFunc *f;
    if (attr->code != NV_REGCOUNT && attr->code != NV_FRAME_SIZE && attr->code != NV_MIN_STACK_SIZE)
        return true;
    if (attr->format != NVF_SIZED || !record_func(r, section, attr, &f))
        return attr->format != NVF_SIZED ? bad_record(r, section, attr->offset, "wrong format") : false;
    if (!f)
        return true;
    uint32_t value = get_u32(attr->data + 4);
    if (attr->code == NV_MIN_STACK_SIZE && value == UINT32_MAX)
        return true; /* nvlink's word for "not known": the kernel recurs */
    if (attr->code == NV_REGCOUNT && value > 256)
        return bad_record(r, section, attr->offset, "register count above 256");
    *(attr->code == NV_REGCOUNT     ? &f->nregs
      : attr->code == NV_FRAME_SIZE ? &f->frame_bytes
                                    : &f->stack_bytes) = value;
    return true;
}

static bool param_record(Reader *r, uint32_t section, const NvAttr *attr, BinFunc *f, BinParam *params) {
    if (attr->size_bytes != 12)
        return bad_record(r, section, attr->offset, "wrong size");
    uint32_t place = get_u32(attr->data + 4), shape = get_u32(attr->data + 8);
    BinParam p = {place & 0xffff, place >> 16, attr->code == NV_KPARAM_INFO ? shape >> 18 : shape & 0xffff};
    if (f->nparams == 4096 || p.offset_bytes + p.size_bytes > CONST_BANK_BYTES)
        return bad_record(r, section, attr->offset, "the parameter is out of range");
    uint32_t i = f->nparams++; /* kept in ascending order of their ordinals */
    while (i > 0 && params[i - 1].ordinal > p.ordinal)
        params[i] = params[i - 1], i--;
    params[i] = p;
    return true;
}

static bool three_words(const NvAttr *attr, uint32_t out[3]) {
    if (attr->format != NVF_SIZED || attr->size_bytes != 12)
        return false;
    for (int i = 0; i < 3; i++)
        out[i] = get_u32(attr->data + i * 4);
    return true;
}

static bool code_offset(const BinFunc *f, uint32_t offset) {
    return offset % INST_BYTES == 0 && offset / INST_BYTES < f->ninsts;
}

/* `count` offsets, without repeats. `seen` is empty before and after. */
static bool branch_targets(const uint8_t *data, uint32_t count, const BinFunc *f, Bitset *seen,
                           BinBranchTable *table, uint32_t *out) {
    bool good = true;
    for (uint32_t e = 0; good && e < count; e++) {
        uint32_t to = get_u32(data + 4 * e);
        good = code_offset(f, to);
        if (!good || bs_has(seen, to / INST_BYTES))
            continue;
        bs_add(seen, to / INST_BYTES);
        out[table->ntargets++] = to;
    }
    for (uint32_t e = 0; e < table->ntargets; e++)
        bs_del(seen, out[e] / INST_BYTES);
    table->targets = out;
    return good;
}

/* {branch, 0, count, targets...}, as often as the record is long. */
static bool branch_record(Reader *reader, uint32_t section, const NvAttr *attr, BinFunc *f) {
    Arena *a = &reader->b->arena;
    uint32_t words = attr->size_bytes / 4, count;
    if (attr->format != NVF_SIZED || attr->size_bytes % 4)
        return bad_record(reader, section, attr->offset, "wrong size");
    Bitset seen = bs_new(&reader->scratch, f->ninsts);
    for (uint32_t k = 0; k < words; k += 3 + count) {
        if (words - k < 3 || (count = get_u32(attr->data + 4 * k + 8)) > words - k - 3)
            return bad_record(reader, section, attr->offset,
                              "a list of branch targets is longer than the record");
        BinBranchTable t = {.pc_bytes = get_u32(attr->data + 4 * k)};
        if (!code_offset(f, t.pc_bytes))
            return bad_record(reader, section, attr->offset, "the indirect branch is outside the function");
        if (!branch_targets(attr->data + 4 * (k + 3), count, f, &seen, &t,
                            ARENA_ARRAY(a, uint32_t, count + 1)))
            return bad_record(reader, section, attr->offset, "a branch target is outside the function");
        BinBranchTable *all = (BinBranchTable *)(uintptr_t)f->tables;
        if ((f->ntables & (f->ntables - 1)) == 0) /* full: capacity is the next power of two */
            f->tables = all =
                arena_grow(a, all, f->ntables * sizeof t, (f->ntables ? f->ntables * 2u : 1u) * sizeof t);
        all[f->ntables++] = t;
    }
    return true;
}

static int by_branch(const void *a, const void *b) {
    const BinBranchTable *table = a, *bin_branch_table = b;
    return (table->pc_bytes > bin_branch_table->pc_bytes) - (table->pc_bytes < bin_branch_table->pc_bytes);
}

static bool sort_tables(Reader *r, uint32_t section, BinFunc *f) {
    if (f->ntables)
        qsort((BinBranchTable *)(uintptr_t)f->tables, f->ntables, sizeof *f->tables, by_branch);
    for (uint32_t k = 1; k < f->ntables; k++)
        if (f->tables[k].pc_bytes == f->tables[k - 1].pc_bytes)
            return bad_record(r, section, 0, "two lists of targets for one indirect branch");
    return true;
}

static bool exit_record(Reader *r, uint32_t section, const NvAttr *attr, BinFunc *f) {
    if (attr->format != NVF_SIZED || attr->size_bytes % 4)
        return bad_record(r, section, attr->offset, "wrong size");
    uint32_t *exits = ARENA_ARRAY(&r->b->arena, uint32_t, attr->size_bytes / 4 + 1);
    for (uint32_t k = 0; k < attr->size_bytes / 4; k++)
        exits[k] = get_u32(attr->data + (size_t)4 * k);
    f->exits = exits;
    f->nexits = attr->size_bytes / 4;
    return true;
}

static bool func_record(Reader *r, uint32_t section, const NvAttr *attr, BinFunc *f, BinParam *params) {
    switch (attr->code) {
    case NV_KPARAM_INFO:
    case NV_KPARAM_INFO_V2: return param_record(r, section, attr, f, params);
    case NV_PARAM_CBANK:
        if (attr->size_bytes != 8)
            return bad_record(r, section, attr->offset, "wrong size");
        f->param_base = get_u16(attr->data + 4);
        f->param_bytes = get_u16(attr->data + 6);
        return true;
    case NV_CBANK_PARAM_SIZE:
        if (attr->format != NVF_HALF)
            return bad_record(r, section, attr->offset, "wrong format");
        f->param_bytes = attr->value;
        return true;
    case NV_NUM_BARRIERS:
        if (attr->format != NVF_BYTE)
            return bad_record(r, section, attr->offset, "wrong format");
        f->nbarriers = attr->value & 0xff;
        return true;
    case NV_INDIRECT_BRANCH_TARGETS: return branch_record(r, section, attr, f);
    case NV_MAXREG_COUNT: f->max_regs = attr->value; return true;
    case NV_CTAIDZ_USED: f->uses_ctaid_z = true; return true;
    case NV_EXIT_INSTR_OFFSETS: return exit_record(r, section, attr, f);
    case NV_MAX_THREADS:
        return three_words(attr, f->maxntid) || bad_record(r, section, attr->offset, "wrong size");
    case NV_REQNTID:
        return three_words(attr, f->reqntid) || bad_record(r, section, attr->offset, "wrong size");
    case NV_CTA_PER_CLUSTER:
        return three_words(attr, f->cluster) || bad_record(r, section, attr->offset, "wrong size");
    default: return true;
    }
}

static bool read_records(Reader *reader, uint32_t section, BinFunc *f) {
    const ElfSection *elf_section = sec(reader, section);
    BinParam *params = f ? ARENA_ARRAY(&reader->b->arena, BinParam, elf_section->h.sh_size / 16 + 1) : NULL;
    size_t pos = 0;
    NvAttr n;
    while (elf_section->data && elf_nvinfo_next(elf_section->data, elf_section->h.sh_size, &pos, &n))
        if (!(f ? func_record(reader, section, &n, f, params) : module_record(reader, section, &n)))
            return false;
    if (elf_section->data && pos != elf_section->h.sh_size)
        return bad_record(reader, section, pos, "unknown format or beyond the section");
    if (!f)
        return true;
    if (!sort_tables(reader, section, f))
        return false;
    f->params = params;
    const TargetInfo *info = isa_target_info(reader->b->target);
    if (!f->param_base)
        f->param_base = info->param_base_bytes;
    if (f->is_entry && f->param_base + f->param_bytes > f->const_bank0_bytes)
        return bad_record(reader, section, 0, "the parameters do not fit constant bank 0");
    for (uint32_t i = 0; i < f->nparams; i++)
        if (params[i].offset_bytes + params[i].size_bytes > f->param_bytes)
            return bad_record(reader, section, 0, "a parameter lies outside the parameter block");
    return true;
}

static bool read_infos(Reader *reader) {
    static const char prefix[] = ".nv.info.";
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const ElfSection *section = sec(reader, i);
        if (section->h.sh_type != SHT_NV_INFO)
            continue;
        BinFunc *f = owner_of(reader, i, prefix);
        if ((f || strcmp(section->name, ".nv.info") == 0) && !read_records(reader, i, f))
            return false;
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

static bool bad_reloc(Reader *reader, const Reloc *reloc, const char *what) {
    const Elf64_Shdr *header = &sec(reader, reloc->section)->h;
    return diag(reader->d, at(header->sh_offset + reloc->index * header->sh_entsize), DIAG_E0407,
                reloc->index, sec(reader, reloc->section)->name, what);
}

static void set_imm32(uint64_t word[2], uint32_t value) {
    word[0] = (word[0] & 0xffffffffu) | (uint64_t)value << 32;
}

static bool link_call(Reader *reader, const Reloc *reloc, uint64_t word[2], uint64_t pc, uint64_t target) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    if (!isa_decode(reader->b->target, word, &in, error))
        return bad_reloc(reader, reloc, arena_printf(&reader->scratch, "not a call: %s", error));
    bool has_target = false;
    for (unsigned k = 0; k < in.nsrc; k++)
        has_target |= in.src[k].kind == OPK_IMM64;
    if (!has_target)
        return bad_reloc(reader, reloc, "the instruction has no target");
    bool absolute = in.optype == OT_CALL && MGET(CALL, mode, in.mods) == BasePCMode_ABS;
    in.wide = (int64_t)(target - (absolute ? 0 : pc + INST_BYTES)) + reloc->addend;
    if (!isa_encode(reader->b->target, &in, word, error))
        return bad_reloc(reader, reloc, arena_printf(&reader->scratch, "%s", error));
    return true;
}

static void add_fixup(Reader *reader, BinFixup f) {
    uint32_t n = reader->b->nfixups;
    if ((n & (n - 1)) == 0) /* full: capacity is the next power of two */
        reader->b->fixups =
            arena_grow(&reader->b->arena, reader->b->fixups, n * sizeof f, (n ? n * 2u : 1u) * sizeof f);
    reader->b->fixups[reader->b->nfixups++] = f;
}

/* Whom a relocation names, as a fixup has it; false, and reported, if the file does not know it. */
static bool reloc_target(Reader *reader, const Reloc *reloc, const BinFunc *callee, BinFixup *fixup) {
    Binary *binary = reader->b;
    fixup->addend = reloc->addend;
    if (callee) {
        fixup->to = BIN_TO_FUNC;
        fixup->target = (uint32_t)(callee - binary->funcs);
        return true;
    }
    if (reader->var_of[reloc->sym]) {
        fixup->to = BIN_TO_VAR;
        fixup->target = reader->var_of[reloc->sym] - 1;
        return true;
    }
    if (reloc->s.section != SHN_UNDEF || ELF64_ST_TYPE(reloc->s.info) != STT_FUNC || !*reloc->s.name)
        return bad_reloc(
            reader, reloc,
            arena_printf(&reader->scratch, "address of %s, which the file does not define", reloc->s.name));
    fixup->to = BIN_TO_EXTERN;
    fixup->target = 0;
    while (fixup->target < binary->nexterns && strcmp(binary->externs[fixup->target], reloc->s.name) != 0)
        fixup->target++;
    if (fixup->target == binary->nexterns) {
        if (!binary->externs)
            binary->externs = ARENA_ARRAY(&binary->arena, const char *, reader->nsyms);
        binary->externs[binary->nexterns++] = arena_printf(&binary->arena, "%s", reloc->s.name);
    }
    return true;
}

/* NVIDIA's of a part of a word: a shared variable in an address, one of bank 3 in c[..][..]. */
static bool set_address(const Reader *reader, const Reloc *reloc, uint64_t word[2]) {
    enum { SHARED_24_40 = 74, CONSTANT_19_40 = 64, CONSTANT_22_37 = 66 };
    uint64_t value = reloc->s.value + (uint64_t)reloc->addend, bits = (uint64_t)0x1fffff << 38;
    bool defined = reloc->s.section && reloc->s.section < reader->e->sections.n;
    bool shared = reloc->type == SHARED_24_40 && defined;
    bool constant = (reloc->type == CONSTANT_19_40 || reloc->type == CONSTANT_22_37) && defined &&
                    strcmp(sec(reader, reloc->s.section)->name, ".nv.constant3") == 0;
    if (shared)
        word[0] = (word[0] & (((uint64_t)1 << 40) - 1)) | value << 40;
    else if (constant)
        word[0] = (word[0] & ~bits) | (value & 0xffff) << 38 | (uint64_t)3 << 54;
    return (shared || constant) && isa_target_info(reader->b->target)->elf_machine == EM_NV_CUDA;
}

static bool reloc_code(Reader *reader, const Reloc *reloc, RelocKind kind, const BinFunc *f) {
    if (reloc->offset % INST_BYTES || reloc->offset / INST_BYTES >= f->ninsts)
        return bad_reloc(reader, reloc, "its place is no instruction of the function");
    uint64_t pc = f->address + reloc->offset;
    uint64_t *word = reader->b->code[(pc - CODE_BASE) / INST_BYTES];
    const BinFunc *callee =
        reloc->s.section < SHN_LORESERVE ? func_of_section(reader, reloc->s.section) : NULL;
    bool whole = callee && reloc->s.value + (uint64_t)reloc->addend == 0;
    uint64_t target = callee ? callee->address + reloc->s.value + (uint64_t)reloc->addend : 0;
    BinFixup fixup = {.in_code = true, .offset_bytes = pc - CODE_BASE, .kind = (uint8_t)kind};
    switch (kind) {
    case RELOC_CALL_REL:
        fixup.kind = RELOC_CALL_ABS; /* of the driver's functions: CALL.ABS, or the loader will refuse it */
        if (!callee && reloc_target(reader, reloc, NULL, &fixup) && fixup.to == BIN_TO_EXTERN) {
            add_fixup(reader, fixup);
            return true;
        }
        if (!callee)
            return bad_reloc(
                reader, reloc,
                arena_printf(&reader->scratch, "call of %s, which the file does not define", reloc->s.name));
        return link_call(reader, reloc, word, pc, callee->address + reloc->s.value);
    case RELOC_ABS32_LO:
    case RELOC_ABS32_HI:
        if (callee && !whole) { /* a place inside, as return addresses are */
            set_imm32(word, (uint32_t)(kind == RELOC_ABS32_LO ? target : target >> 32));
            return true;
        }
        if (!reloc_target(reader, reloc, callee, &fixup))
            return false;
        add_fixup(reader, fixup);
        return true;
    case RELOC_SHARED_OFFSET32:
    case RELOC_CONST_OFFSET32:
        set_imm32(word, (uint32_t)(reloc->s.value + (uint64_t)reloc->addend));
        return true;
    default:
        return set_address(reader, reloc, word) ||
               bad_reloc(reader, reloc,
                         arena_printf(&reader->scratch, "type %u in code is not known", reloc->type));
    }
}

/* A word of a kernel's constant bank 0 that becomes a handle. */
static bool reloc_texture(Reader *reader, const Reloc *reloc, const BinFunc *f) {
    Binary *binary = reader->b;
    uint32_t n = binary->ntextures;
    unsigned type = ELF64_ST_TYPE(reloc->s.info);
    if ((type != STT_NV_TEXTURE && type != STT_NV_SURFACE) || !*reloc->s.name)
        return bad_reloc(reader, reloc, "its symbol is no texture or surface");
    if (reloc->offset % 4 || f->const_bank0_bytes < 4 || reloc->offset > f->const_bank0_bytes - 4)
        return bad_reloc(reader, reloc, "its place is outside the section");
    if ((n & (n - 1)) == 0)
        binary->textures = arena_grow(&binary->arena, binary->textures, n * sizeof *binary->textures,
                                      (n ? n * 2u : 1u) * sizeof *binary->textures);
    binary->textures[binary->ntextures++] =
        (struct BinTexture){.func = (uint32_t)(f - binary->funcs),
                            .offset_bytes = (uint32_t)reloc->offset,
                            .name = arena_printf(&binary->arena, "%s", reloc->s.name)};
    return true;
}

/* 8 bytes of a variable or of bank 4. Places inside functions are final now, the rest is known at load. */
static bool reloc_data(Reader *reader, const Reloc *reloc, RelocKind kind) {
    Binary *binary = reader->b;
    const char *name = sec(reader, reloc->target)->name;
    static const char launch_bank[] = ".nv.constant0.";
    const BinFunc *kernel = owner_of(reader, reloc->target, launch_bank);
    if (kernel && kind == RELOC_TEXTURE)
        return reloc_texture(reader, reloc, kernel);
    bool bank4 = strcmp(name, ".nv.constant4") == 0, constant = strcmp(name, ".nv.constant3") == 0;
    if (!bank4 && !constant && strcmp(name, ".nv.global.init") != 0)
        return true; /* debug information and the like */
    if (kind != RELOC_ABS64 && kind != RELOC_GENERIC64)
        return bad_reloc(reader, reloc,
                         arena_printf(&reader->scratch, "type %u in data is not known", reloc->type));
    if (sec(reader, reloc->target)->h.sh_size < 8 ||
        reloc->offset > sec(reader, reloc->target)->h.sh_size - 8)
        return bad_reloc(reader, reloc, "its place is outside the section");
    const BinFunc *callee =
        reloc->s.section < SHN_LORESERVE ? func_of_section(reader, reloc->s.section) : NULL;
    BinFixup f = {.in_bank4 = bank4, .offset_bytes = reloc->offset, .kind = (uint8_t)kind};
    if (!reloc_target(reader, reloc, callee, &f))
        return false;
    uint8_t *place = bank4 ? (uint8_t *)(uintptr_t)binary->const_bank4 + reloc->offset : NULL;
    for (uint32_t i = 0; !bank4 && i < binary->nvars; i++) {
        const BinVar *bin_var = &binary->vars[i];
        bool here = (bin_var->space == SPACE_CONST) == constant && bin_var->init &&
                    reloc->offset >= bin_var->offset_bytes &&
                    reloc->offset - bin_var->offset_bytes + 8 <= bin_var->size_bytes;
        if (here && !place) {
            place = (uint8_t *)(uintptr_t)bin_var->init + (reloc->offset - bin_var->offset_bytes);
            f.var = i;
            f.offset_bytes = reloc->offset - bin_var->offset_bytes;
        }
    }
    if (!place)
        return bad_reloc(reader, reloc, "its place is in no variable");
    const BinVar *target = f.to == BIN_TO_VAR ? &binary->vars[f.target] : NULL;
    bool offset = target && target->space == SPACE_CONST && kind == RELOC_ABS64; /* in the bank */
    if (offset || (callee && reloc->s.value + (uint64_t)reloc->addend != 0)) {
        put_u64(place, (callee ? callee->address : 0) + reloc->s.value + (uint64_t)reloc->addend);
        if (constant)
            put_u64((uint8_t *)(uintptr_t)binary->const_bank3 + reloc->offset, get_u64(place));
        return true;
    }
    add_fixup(reader, f);
    return true;
}

/* A relocation without an addend of its own has it where it applies: that of data. */
static int64_t addend_in_place(Reader *reader, const Reloc *reloc) {
    const ElfSection *section = sec(reader, reloc->target);
    RelocKind kind = (RelocKind)elf_reloc_kind(reader->b->target, reloc->type);
    if ((kind != RELOC_ABS64 && kind != RELOC_GENERIC64) || func_of_section(reader, reloc->target) ||
        !section->data || section->h.sh_size < 8 || reloc->offset > section->h.sh_size - 8)
        return 0;
    return (int64_t)get_u64(section->data + reloc->offset);
}

static bool read_reloc(Reader *reader, Reloc *reloc) {
    const ElfSection *elf_section = sec(reader, reloc->section);
    const uint8_t *p = elf_section->data + reloc->index * elf_section->h.sh_entsize;
    uint64_t info = get_u64(p + 8);
    reloc->offset = get_u64(p);
    reloc->sym = (uint32_t)ELF64_R_SYM(info);
    reloc->type = (uint32_t)ELF64_R_TYPE(info);
    reloc->addend =
        elf_section->h.sh_type == SHT_RELA ? (int64_t)get_u64(p + 16) : addend_in_place(reader, reloc);
    if (reloc->sym >= reader->nsyms)
        return bad_reloc(reader, reloc, "its symbol does not exist");
    if (!get_symbol(reader, reloc->sym, &reloc->s))
        return false;
    const BinFunc *f = func_of_section(reader, reloc->target);
    RelocKind kind = (RelocKind)elf_reloc_kind(reader->b->target, reloc->type);
    return f ? reloc_code(reader, reloc, kind, f) : reloc_data(reader, reloc, kind);
}

static bool read_relocs(Reader *reader) {
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const ElfSection *elf_section = sec(reader, i);
        if (elf_section->h.sh_type != SHT_REL && elf_section->h.sh_type != SHT_RELA)
            continue;
        uint64_t each = elf_section->h.sh_type == SHT_REL ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
        if (elf_section->h.sh_entsize != each || elf_section->h.sh_size % each)
            return bad_section(reader, i, "wrong entry size");
        if (elf_section->h.sh_info == 0 || elf_section->h.sh_info >= reader->e->sections.n ||
            elf_section->h.sh_link != reader->symtab)
            return bad_section(reader, i, "relocates no section, or not through the symbol table");
        for (uint32_t k = 0; k < elf_section->h.sh_size / each; k++) {
            Reloc x = {.section = i, .index = k, .target = elf_section->h.sh_info};
            if (!read_reloc(reader, &x))
                return false;
        }
    }
    return true;
}

/* ---- entry ---- */
static bool read_own_sections(Reader *reader) {
    uint32_t map = elf_image_find(reader->e, ".heddle.map"), ptx = elf_image_find(reader->e, ".heddle.ptx");
    Binary *binary = reader->b;
    if (ptx && sec(reader, ptx)->data) {
        size_t size = sec(reader, ptx)->h.sh_size;
        char *text = arena_alloc(&binary->arena, size + 1);
        memcpy(text, sec(reader, ptx)->data, size);
        binary->ptx_text = text;
        binary->ptx_text_bytes = size;
    }
    if (!map || !sec(reader, map)->data)
        return true;
    binary->has_map = true;
    size_t size = sec(reader, map)->h.sh_size;
    const uint8_t *data = arena_copy(&binary->arena, sec(reader, map)->data, size);
    return elf_map_read(binary, data, size, sec(reader, map)->h.sh_offset, reader->d);
}

static bool read_all(Reader *reader, const void *image, size_t size_bytes) {
    reader->e = elf_image_read(&reader->scratch, image, size_bytes, reader->d);
    if (!reader->e)
        return false;
    const Elf64_Ehdr *header = &reader->e->h;
    reader->b->target = elf_file_target(image, size_bytes);
    reader->b->is_object = header->e_type == ET_REL;
    if (!reader->b->target)
        return diag(reader->d, at(offsetof(Elf64_Ehdr, e_machine)), DIAG_E0403, header->e_machine,
                    header->e_flags, header->e_ident[EI_OSABI], header->e_ident[EI_ABIVERSION]);
    return find_symtab(reader) && find_functions(reader) && read_symbols(reader) && read_banks(reader) &&
           read_infos(reader) && read_relocs(reader) && read_own_sections(reader);
}

Binary *binary_read_any(const char *path, const void *image, size_t size_bytes, Diags *diags) {
    Binary *binary = mem_zeroed(1, sizeof *binary);
    Source source = {path, NULL, size_bytes};
    const Source *old = diags->source;
    diags->source = &source;
    Reader r = {.b = binary, .d = diags};
    binary->path = arena_printf(&binary->arena, "%s", path);
    bool good = read_all(&r, image, size_bytes);
    if (good) {
        binary->image = arena_copy(&binary->arena, image, size_bytes);
        binary->image_bytes = size_bytes;
    }
    diags->source = old;
    arena_free(&r.scratch);
    if (good)
        return binary;
    binary_free(binary);
    return NULL;
}
