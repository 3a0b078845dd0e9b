/* ELF to loaded binary: functions, variables, constant banks, launch facts. All code is put into one address
 * space and calls are linked there. Own files and, as far as they go, files made by ptxas in both header
 * forms.
 * SPDX-License-Identifier: MIT */
#include "base/bitset.h"
#include "base/scope.h"
#include "emit/elf/map.h"
#include "emit/elf/names.h"
#include "emit/elf/nvinfo.h"
#include "emit/elf/reader.h"
#include "isa/machine/banks.h"
#include <stdlib.h>

enum { SECTION_SYMBOL = 0xffffff }; /* of the header of code; the rest is the number of registers */
enum { CODE_ALIGN = 128, MAX_FUNCS = 1 << 16 };

bool elf_bad_section(ElfReader *reader, uint32_t i, const char *what) {
    return diag(reader->d, elf_at(elf_sec(reader, i)->h.sh_offset), DIAG_E0405, i, elf_sec(reader, i)->name,
                what);
}

static bool starts(const char *name, const char *prefix) {
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* ---- symbols ---- */
static uint64_t symbol_offset(const ElfReader *reader, uint32_t i) {
    return elf_sec(reader, reader->symtab)->h.sh_offset + (uint64_t)i * sizeof(Elf64_Sym);
}

bool elf_read_symbol(ElfReader *reader, uint32_t i, ElfSymbol *out) {
    const uint8_t *p = elf_sec(reader, reader->symtab)->data + (size_t)i * sizeof(Elf64_Sym);
    *out = (ElfSymbol){.info = p[4],
                       .other = p[5],
                       .section = get_u16(p + 6),
                       .value = get_u64(p + 8),
                       .size = get_u64(p + 16)};
    out->name = elf_image_string(reader->e, elf_sec(reader, reader->symtab)->h.sh_link, get_u32(p));
    if (!out->name)
        return diag(reader->d, elf_at(symbol_offset(reader, i)), DIAG_E0406, i, "",
                    "its name is outside the string table");
    if (out->section < SHN_LORESERVE && out->section >= reader->e->sections.n)
        return diag(reader->d, elf_at(symbol_offset(reader, i)), DIAG_E0406, i, out->name,
                    "its section does not exist");
    return true;
}

static bool find_symtab(ElfReader *reader) {
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const Elf64_Shdr *header = &elf_sec(reader, i)->h;
        if (header->sh_type != SHT_SYMTAB)
            continue;
        if (reader->symtab)
            return elf_bad_section(reader, i, "a second symbol table");
        if (header->sh_entsize != sizeof(Elf64_Sym) || header->sh_size % sizeof(Elf64_Sym))
            return elf_bad_section(reader, i, "wrong entry size");
        reader->symtab = i;
        reader->nsyms = (uint32_t)(header->sh_size / sizeof(Elf64_Sym));
    }
    if (!reader->symtab)
        return diag(reader->d, elf_at(0), DIAG_E0401, "no symbol table");
    reader->var_of = ARENA_ARRAY(&reader->scratch, uint32_t, reader->nsyms + 1);
    return true;
}

/* ---- functions and code ---- */
static bool check_text(ElfReader *r, uint32_t i) {
    const Elf64_Shdr *header = &elf_sec(r, i)->h;
    if (header->sh_type != SHT_PROGBITS || ~header->sh_flags & (SHF_ALLOC | SHF_EXECINSTR))
        return elf_bad_section(r, i, "code must be of type PROGBITS, loaded and executable");
    if (header->sh_size == 0 || header->sh_size % INST_BYTES)
        return elf_bad_section(r, i, "the size is not a positive multiple of 16");
    return true;
}

/* Every .text.NAME section is a function; its symbol says whether it is a kernel. */
static bool find_functions(ElfReader *reader) {
    Binary *binary = reader->b;
    reader->func_of = ARENA_ARRAY(&reader->scratch, uint32_t, reader->e->sections.n);
    uint64_t total = 0;
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        if (!starts(elf_sec(reader, i)->name, ".text."))
            continue;
        if (!check_text(reader, i))
            return false;
        if (binary->nfuncs == MAX_FUNCS)
            return elf_bad_section(reader, i, "too many functions");
        reader->func_of[i] = ++binary->nfuncs;
        total += (elf_sec(reader, i)->h.sh_size + CODE_ALIGN - 1) & ~(uint64_t)(CODE_ALIGN - 1);
    }
    if (!binary->nfuncs)
        return diag(reader->d, elf_at(0), DIAG_E0413);
    binary->funcs = ARENA_ARRAY(&binary->arena, BinFunc, binary->nfuncs);
    binary->code_base = CODE_BASE;
    binary->ncode = (uint32_t)(total / INST_BYTES);
    binary->code = arena_alloc(&binary->arena, total);
    binary_keep_decoded(binary);
    uint64_t pos = 0;
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        if (!reader->func_of[i])
            continue;
        BinFunc *f = &binary->funcs[reader->func_of[i] - 1];
        const ElfSection *section = elf_sec(reader, i);
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

BinFunc *elf_func_of_section(ElfReader *reader, uint32_t section) {
    if (section >= reader->e->sections.n || !reader->func_of[section])
        return NULL;
    return &reader->b->funcs[reader->func_of[section] - 1];
}

BinFunc *elf_owner_of(ElfReader *reader, uint32_t section, const char *prefix) {
    const ElfSection *own = elf_sec(reader, section);
    if (!starts(own->name, prefix))
        return NULL;
    BinFunc *f =
        elf_image_names_owner(reader->e, section) ? elf_func_of_section(reader, own->h.sh_info) : NULL;
    for (uint32_t i = 0; i < reader->b->nfuncs && !f; i++)
        if (strcmp(reader->b->funcs[i].name, own->name + strlen(prefix)) == 0)
            f = &reader->b->funcs[i];
    return f;
}

/* Does the symbol name the function of its section, not a place in it? */
static bool names_function(ElfReader *reader, const ElfSymbol *symbol) {
    return strcmp(elf_sec(reader, symbol->section)->name + strlen(".text."), symbol->name) == 0;
}

/* ---- symbols: kernels and variables ---- */
/* What several of the joined objects keep to themselves may have one name: memory goes by it. */
static const char *variable_name(const ElfReader *reader, uint32_t index, const ElfSymbol *symbol) {
    Binary *binary = reader->b;
    bool twice = false;
    for (uint32_t i = 0; i < binary->nvars && ELF64_ST_BIND(symbol->info) == STB_LOCAL; i++)
        twice |= strcmp(binary->vars[i].name, symbol->name) == 0;
    return arena_printf(&binary->arena, twice ? "%s#%u" : "%s", symbol->name, index);
}

static void add_inner(ElfReader *reader, BinFunc *f, const ElfSymbol *symbol) {
    size_t n = strlen(f->name);
    if (symbol->name[0] != '$' || strncmp(symbol->name + 1, f->name, n) != 0 || symbol->name[n + 1] != '$')
        return;
    struct BinInner *inner = (struct BinInner *)(uintptr_t)f->inner;
    if ((f->ninner & (f->ninner - 1)) == 0)
        inner = arena_grow(&reader->b->arena, inner, f->ninner * sizeof *inner,
                           (f->ninner ? f->ninner * 2u : 1u) * sizeof *inner);
    inner[f->ninner++] = (struct BinInner){arena_printf(&reader->b->arena, "%s", symbol->name + n + 2),
                                           (uint32_t)symbol->value};
    f->inner = inner;
}

static bool add_variable(ElfReader *reader, uint32_t index, const ElfSymbol *symbol, uint8_t space) {
    const ElfSection *section = elf_sec(reader, symbol->section);
    if (symbol->value > section->h.sh_size || symbol->size > section->h.sh_size - symbol->value)
        return diag(reader->d, elf_at(symbol_offset(reader, index)), DIAG_E0406, index, symbol->name,
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

static bool read_symbols(ElfReader *reader) {
    reader->b->vars = ARENA_ARRAY(&reader->b->arena, BinVar, reader->nsyms + 1);
    for (uint32_t i = 1; i < reader->nsyms; i++) {
        ElfSymbol s;
        if (!elf_read_symbol(reader, i, &s))
            return false;
        if (s.section == SHN_UNDEF || s.section >= SHN_LORESERVE)
            continue;
        const char *section = elf_sec(reader, s.section)->name;
        BinFunc *f = elf_func_of_section(reader, s.section);
        if (f && ELF64_ST_TYPE(s.info) == STT_FUNC && names_function(reader, &s)) {
            f->is_entry = (s.other & STO_NV_ENTRY) != 0;
            if (s.value != 0)
                return diag(reader->d, elf_at(symbol_offset(reader, i)), DIAG_E0406, i, s.name,
                            "a function must start its section");
            uint32_t header = elf_sec(reader, s.section)->h.sh_info & SECTION_SYMBOL;
            if (header && header != i && isa_target_info(reader->b->target)->elf_machine == EM_NV_CUDA)
                return elf_bad_section(reader, s.section,
                                       "its header names another symbol than its function's");
        } else if (f && ELF64_ST_TYPE(s.info) == STT_FUNC) {
            add_inner(reader, f, &s);
        } else if (elf_is_variable(&s)) {
            bool global = strcmp(section, ".nv.global") == 0 || strcmp(section, ".nv.global.init") == 0;
            bool constant = strcmp(section, ".nv.constant3") == 0;
            if ((global || constant) && !add_variable(reader, i, &s, constant ? SPACE_CONST : SPACE_GLOBAL))
                return false;
        }
    }
    return true;
}

/* ---- banks and shared memory ---- */
static bool bank_of(ElfReader *reader, uint32_t i, const uint8_t **data, uint32_t *size) {
    const ElfSection *section = elf_sec(reader, i);
    if (section->h.sh_size > CONST_BANK_BYTES)
        return elf_bad_section(reader, i, "larger than a constant bank");
    if (section->h.sh_size && !section->data)
        return elf_bad_section(reader, i, "holds no bytes");
    *data = section->data ? arena_copy(&reader->b->arena, section->data, section->h.sh_size) : NULL;
    *size = (uint32_t)section->h.sh_size;
    return true;
}

static bool module_bank(ElfReader *reader, uint32_t i, const uint8_t **data, uint32_t *size) {
    const ElfSection *section = elf_sec(reader, i);
    if (section->h.sh_size > CONST_BANK_BYTES)
        return elf_bad_section(reader, i, "larger than a constant bank");
    if (!section->data)
        return true;
    *data = arena_copy(&reader->b->arena, section->data, section->h.sh_size);
    *size = (uint32_t)section->h.sh_size;
    return true;
}

/* Kernels of several joined objects may have one name, which they keep to themselves: nvlink 13.0 leaves them
 * one bank 0 of that name. */
static void share_launch_bank(ElfReader *reader, uint32_t section) {
    BinFunc *f = elf_func_of_section(reader, section);
    for (uint32_t i = 1; f && f->is_entry && !f->const_bank0 && i < reader->e->sections.n; i++) {
        const BinFunc *other = elf_func_of_section(reader, i);
        if (!other || !other->const_bank0 ||
            strcmp(elf_sec(reader, i)->name, elf_sec(reader, section)->name) != 0)
            continue;
        f->const_bank0 = arena_copy(&reader->b->arena, other->const_bank0, other->const_bank0_bytes);
        f->const_bank0_bytes = other->const_bank0_bytes;
    }
}

static bool read_banks(ElfReader *reader) {
    Binary *binary = reader->b;
    static const char c0[] = ".nv.constant0.", c2[] = ".nv.constant2.", shared[] = ".nv.shared.";
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const char *name = elf_sec(reader, i)->name;
        BinFunc *f;
        bool good = true;
        if (!elf_image_names_owner(reader->e, i))
            return elf_bad_section(reader, i, "its header names other code than its own name");
        if ((f = elf_owner_of(reader, i, c0)))
            good = bank_of(reader, i, &f->const_bank0, &f->const_bank0_bytes);
        else if ((f = elf_owner_of(reader, i, c2)))
            good = bank_of(reader, i, &f->const_bank2, &f->const_bank2_bytes);
        else if (strcmp(name, ".nv.constant3") == 0)
            good = module_bank(reader, i, &binary->const_bank3, &binary->const_bank3_bytes);
        else if (strcmp(name, ".nv.constant4") == 0)
            good = module_bank(reader, i, &binary->const_bank4, &binary->const_bank4_bytes);
        else if ((f = elf_owner_of(reader, i, shared))) {
            if (elf_sec(reader, i)->h.sh_size > 1u << 20)
                return elf_bad_section(reader, i, "more shared memory than any machine has");
            bool object =
                elf_sec(reader, i)->h.sh_type == SHT_NV_SHARED; /* what the system keeps is not in it */
            uint32_t base = object ? 0 : isa_target_info(binary->target)->shared_base_bytes;
            if (elf_sec(reader, i)->h.sh_size < base)
                return elf_bad_section(reader, i, "less shared memory than the system keeps for itself");
            f->shared_bytes = (uint32_t)elf_sec(reader, i)->h.sh_size - base;
        }
        if (!good)
            return false;
    }
    for (uint32_t i = 1; i < reader->e->sections.n; i++)
        share_launch_bank(reader, i);
    return true;
}

/* ---- attribute records ---- */
static bool bad_record(ElfReader *reader, uint32_t section, size_t pos, const char *what) {
    return diag(reader->d, elf_at(elf_sec(reader, section)->h.sh_offset + pos), DIAG_E0408,
                elf_sec(reader, section)->name, what);
}

/* The function that symbol `sym` of a module record names; NULL if it is another kind of symbol. */
static bool record_func(ElfReader *reader, uint32_t section, const NvAttr *attr, BinFunc **f) {
    ElfSymbol s;
    *f = NULL;
    if (attr->size_bytes < 8)
        return bad_record(reader, section, attr->offset, "too short");
    uint32_t index = get_u32(attr->data);
    if (index >= reader->nsyms)
        return bad_record(reader, section, attr->offset, "names a symbol that does not exist");
    if (!elf_read_symbol(reader, index, &s))
        return false;
    if (s.section < SHN_LORESERVE && ELF64_ST_TYPE(s.info) == STT_FUNC)
        *f = elf_func_of_section(reader, s.section);
    if (*f && !names_function(reader, &s))
        *f = NULL; /* a function inside a kernel's section */
    return true;
}

static bool module_record(ElfReader *r, uint32_t section, const NvAttr *attr) {
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

static bool param_record(ElfReader *r, uint32_t section, const NvAttr *attr, BinFunc *f, BinParam *params) {
    if (attr->size_bytes != 12)
        return bad_record(r, section, attr->offset, "wrong size");
    uint32_t place = get_u32(attr->data + 4), shape = get_u32(attr->data + 8);
    BinParam p = {place & 0xffff, place >> 16, attr->code == NV_KPARAM_INFO ? shape >> 18 : shape & 0xffff,
                  NULL};
    ElfSymbol symbol;
    if (p.offset_bytes == 0xffff && !p.size_bytes) { /* ptxas's .texref: the first word is its symbol */
        if (get_u32(attr->data) >= r->nsyms)
            return bad_record(r, section, attr->offset, "names a symbol that does not exist");
        if (!elf_read_symbol(r, get_u32(attr->data), &symbol))
            return false;
        p.handle = arena_printf(&r->b->arena, "%s", symbol.name);
    }
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
static bool branch_record(ElfReader *reader, uint32_t section, const NvAttr *attr, BinFunc *f) {
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

static bool sort_tables(ElfReader *r, uint32_t section, BinFunc *f) {
    if (f->ntables)
        qsort((BinBranchTable *)(uintptr_t)f->tables, f->ntables, sizeof *f->tables, by_branch);
    for (uint32_t k = 1; k < f->ntables; k++)
        if (f->tables[k].pc_bytes == f->tables[k - 1].pc_bytes)
            return bad_record(r, section, 0, "two lists of targets for one indirect branch");
    return true;
}

static bool exit_record(ElfReader *r, uint32_t section, const NvAttr *attr, BinFunc *f) {
    if (attr->format != NVF_SIZED || attr->size_bytes % 4)
        return bad_record(r, section, attr->offset, "wrong size");
    uint32_t *exits = ARENA_ARRAY(&r->b->arena, uint32_t, attr->size_bytes / 4 + 1);
    for (uint32_t k = 0; k < attr->size_bytes / 4; k++)
        exits[k] = get_u32(attr->data + (size_t)4 * k);
    f->exits = exits;
    f->nexits = attr->size_bytes / 4;
    return true;
}

/* Two records say it, the driver reads either. */
static bool params_size(ElfReader *r, uint32_t section, const NvAttr *attr, BinFunc *f, uint32_t bytes) {
    if (f->param_bytes && f->param_bytes != bytes)
        return bad_record(r, section, attr->offset,
                          "another size of the parameter block than an earlier record");
    f->param_bytes = bytes;
    return true;
}

static int by_offset(const void *a, const void *b) {
    const BinParam *x = a, *y = b;
    return x->offset_bytes != y->offset_bytes
               ? (x->offset_bytes < y->offset_bytes ? -1 : 1)
               : (x->size_bytes > y->size_bytes) - (x->size_bytes < y->size_bytes);
}

/* `params` are in the order of their ordinals. */
static bool check_params(ElfReader *reader, uint32_t section, const BinFunc *f, const BinParam *params) {
    BinParam *sorted = ARENA_ARRAY(&reader->scratch, BinParam, f->nparams + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->nparams; i++) {
        if (i && params[i].ordinal == params[i - 1].ordinal)
            return bad_record(reader, section, 0, "two parameters have one place");
        if (params[i].handle)
            continue;
        if (params[i].offset_bytes + params[i].size_bytes > f->param_bytes)
            return bad_record(reader, section, 0, "a parameter lies outside the parameter block");
        sorted[n++] = params[i];
    }
    qsort(sorted, n, sizeof *sorted, by_offset);
    for (uint32_t i = 1; i < n; i++)
        if (sorted[i].offset_bytes < sorted[i - 1].offset_bytes + sorted[i - 1].size_bytes)
            return bad_record(reader, section, 0, "two parameters have one place");
    return true;
}

static bool func_record(ElfReader *r, uint32_t section, const NvAttr *attr, BinFunc *f, BinParam *params) {
    switch (attr->code) {
    case NV_KPARAM_INFO:
    case NV_KPARAM_INFO_V2: return param_record(r, section, attr, f, params);
    case NV_PARAM_CBANK:
        if (attr->size_bytes != 8)
            return bad_record(r, section, attr->offset, "wrong size");
        f->param_base = get_u16(attr->data + 4);
        return params_size(r, section, attr, f, get_u16(attr->data + 6));
    case NV_CBANK_PARAM_SIZE:
        if (attr->format != NVF_HALF)
            return bad_record(r, section, attr->offset, "wrong format");
        return params_size(r, section, attr, f, attr->value);
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
    case NV_MAX_CLUSTER_RANK:
        if (attr->size_bytes != 4)
            return bad_record(r, section, attr->offset, "wrong size");
        f->most_cluster_blocks = get_u32(attr->data);
        return true;
    case NV_EXPLICIT_CLUSTER: f->says_cluster = 1; return true;
    case NV_CTA_PER_CLUSTER:
        return three_words(attr, f->cluster) || bad_record(r, section, attr->offset, "wrong size");
    default: return true;
    }
}

static bool read_records(ElfReader *reader, uint32_t section, BinFunc *f) {
    const ElfSection *elf_section = elf_sec(reader, section);
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
    return check_params(reader, section, f, params);
}

static bool read_infos(ElfReader *reader) {
    static const char prefix[] = ".nv.info.";
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const ElfSection *section = elf_sec(reader, i);
        if (section->h.sh_type != SHT_NV_INFO)
            continue;
        BinFunc *f = elf_owner_of(reader, i, prefix);
        if ((f || strcmp(section->name, ".nv.info") == 0) && !read_records(reader, i, f))
            return false;
    }
    return true;
}

/* ---- entry ---- */
static bool read_own_sections(ElfReader *reader) {
    uint32_t map = elf_image_find(reader->e, ".heddle.map"), ptx = elf_image_find(reader->e, ".heddle.ptx");
    Binary *binary = reader->b;
    if (ptx && elf_sec(reader, ptx)->data) {
        size_t size = elf_sec(reader, ptx)->h.sh_size;
        char *text = arena_alloc(&binary->arena, size + 1);
        memcpy(text, elf_sec(reader, ptx)->data, size);
        binary->ptx_text = text;
        binary->ptx_text_bytes = size;
    }
    if (!map || !elf_sec(reader, map)->data)
        return true;
    binary->has_map = true;
    size_t size = elf_sec(reader, map)->h.sh_size;
    const uint8_t *data = arena_copy(&binary->arena, elf_sec(reader, map)->data, size);
    return elf_map_read(binary, data, size, elf_sec(reader, map)->h.sh_offset, reader->d);
}

static bool read_all(ElfReader *reader, const void *image, size_t size_bytes) {
    reader->e = elf_image_read(&reader->scratch, image, size_bytes, reader->d);
    if (!reader->e)
        return false;
    const Elf64_Ehdr *header = &reader->e->h;
    reader->b->target = elf_file_target(image, size_bytes);
    reader->b->is_object = header->e_type == ET_REL;
    if (!reader->b->target)
        return diag(reader->d, elf_at(offsetof(Elf64_Ehdr, e_machine)), DIAG_E0403, header->e_machine,
                    header->e_flags, header->e_ident[EI_OSABI], header->e_ident[EI_ABIVERSION]);
    return find_symtab(reader) && find_functions(reader) && read_symbols(reader) && read_banks(reader) &&
           read_infos(reader) && elf_read_relocs(reader) && read_own_sections(reader);
}

Binary *binary_read_any(const char *path, const void *image, size_t size_bytes, Diags *diags) {
    Binary *binary = mem_zeroed(1, sizeof *binary);
    Source source = {path, NULL, size_bytes};
    const Source *old = diags->source;
    diags->source = &source;
    ElfReader r = {.b = binary, .d = diags};
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
