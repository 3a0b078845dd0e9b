/* Encoded module to ELF: sections, symbols, relocations and attribute records, as NVIDIA's tools arrange
 * them (docs/elf.md). First every section is made, so that indices are known, then symbols, then contents.
 * SPDX-License-Identifier: MIT */
#include "emit/code.h"
#include "base/align.h"
#include "emit/elf/texture.h"
#include "emit/elf/map.h"
#include "emit/elf/nvinfo.h"
#include "frontend/ast.h"
#include "isa/machine/occupancy.h"
#include "isa/machine/banks.h"
#include "isa/machine/system.h"
#include <string.h>

enum { SHSTRTAB = 1, STRTAB, SYMTAB, NV_INFO, TOOLKIT_VERSION = 111 };
#define FILE_MAX_INIT ((uint64_t)1 << 30)

typedef VEC(uint32_t) Syms;
typedef struct { /* sections and symbols of one function; 0 = has none */
    uint32_t info, rela, const0, const2, text, shared;
    uint32_t sym, const0_sym;
    ElfTextures textures;
} FuncParts;

typedef struct {
    Arena *a;
    const CodeModule *c;
    const ElfOptions *opt;
    const TargetInfo *t;
    bool old_form; /* NVIDIA's header form before CUDA 12.8 */
    ElfImage *e;
    Bytes shstrtab, strtab, symtab;
    uint32_t nsyms, first_extern; /* from there on: the driver's functions */
    FuncParts *parts;
    StrMap symbols;       /* name -> symbol index */
    uint64_t *var_offset; /* for each IrVar */
    uint32_t const3, global_init, global;
    Bytes const3_data, init_data, const3_rela, init_rela;
    uint64_t global_bytes;
    uint64_t const3_align, init_align, global_align; /* at least that of each variable in it */
    Diags *d;
} Writer;

static bool write_error(Writer *writer, const char *name, const char *what) {
    return diag(writer->d, (SrcLoc){0}, DIAG_E0412, name, what);
}

static const char *func_name(const Writer *writer, uint32_t i) {
    return str_text(writer->c->ir->strings, writer->c->funcs[i].name);
}

/* ---- sections ---- */
static uint32_t add_section(Writer *writer, const char *prefix, const char *name, uint32_t type,
                            uint64_t flags, uint64_t align) {
    ElfSection *section = VEC_PUSH(writer->a, &writer->e->sections);
    section->name = arena_printf(writer->a, "%s%s", prefix, name);
    section->h.sh_name = elf_bytes_string(writer->a, &writer->shstrtab, section->name);
    section->h.sh_type = type;
    section->h.sh_flags = flags;
    section->h.sh_addralign = align;
    return writer->e->sections.n - 1;
}

static Elf64_Shdr *header(Writer *writer, uint32_t section) { return &writer->e->sections.at[section].h; }

static void set_data(Writer *writer, uint32_t section, Bytes b) {
    writer->e->sections.at[section].data = b.n ? b.at : NULL;
    writer->e->sections.at[section].h.sh_size = b.n;
}

static uint64_t info_link(const Writer *writer) { return writer->old_form ? 0 : SHF_INFO_LINK; }

static void make_rela_sections(Writer *writer) {
    for (uint32_t i = 0; i < writer->c->nfuncs; i++)
        if (elf_code_relocs(&writer->c->funcs[i]))
            writer->parts[i].rela =
                add_section(writer, ".rela.text.", func_name(writer, i), SHT_RELA, SHF_INFO_LINK, 8);
}

/* Where the system keeps the start of shared memory for itself, a kernel that only uses what the launch gives
 * declares that part, as with ptxas. */
static bool declares_shared(const Writer *writer, const CodeFunc *f) {
    bool any = f->shared_bytes != 0;
    for (uint32_t i = 0; writer->t->shared_base_bytes && i < writer->c->ir->vars.n; i++)
        any |= writer->c->ir->vars.at[i].is_extern_shared;
    return f->is_entry && any;
}

static void make_sections(Writer *writer) {
    const CodeModule *module = writer->c;
    VEC_PUSH(writer->a, &writer->e->sections)->name = "";
    elf_bytes_add(writer->a, &writer->shstrtab, "", 1);
    elf_bytes_add(writer->a, &writer->strtab, "", 1);
    add_section(writer, ".shstrtab", "", SHT_STRTAB, 0, 1);
    add_section(writer, ".strtab", "", SHT_STRTAB, 0, 1);
    add_section(writer, ".symtab", "", SHT_SYMTAB, 0, 8);
    add_section(writer, ".nv.info", "", SHT_NV_INFO, 0, 4);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        writer->parts[i].info =
            add_section(writer, ".nv.info.", func_name(writer, i), SHT_NV_INFO, info_link(writer), 4);
    make_rela_sections(writer);
    if (writer->const3_data.n)
        writer->const3 =
            add_section(writer, ".nv.constant3", "", SHT_PROGBITS, SHF_ALLOC, writer->const3_align);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].const2_bytes)
            writer->parts[i].const2 = add_section(writer, ".nv.constant2.", func_name(writer, i),
                                                  SHT_PROGBITS, SHF_ALLOC | info_link(writer), 8);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].is_entry)
            writer->parts[i].const0 = add_section(writer, ".nv.constant0.", func_name(writer, i),
                                                  SHT_PROGBITS, SHF_ALLOC | info_link(writer), 4);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        writer->parts[i].text =
            add_section(writer, ".text.", func_name(writer, i), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 128);
    if (writer->init_data.n)
        writer->global_init = add_section(writer, ".nv.global.init", "", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE,
                                          writer->init_align);
    if (writer->global_bytes)
        writer->global =
            add_section(writer, ".nv.global", "", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, writer->global_align);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (declares_shared(writer, &module->funcs[i]))
            writer->parts[i].shared = add_section(writer, ".nv.shared.", func_name(writer, i), SHT_NOBITS,
                                                  SHF_ALLOC | SHF_WRITE | info_link(writer), 16);
}

/* ---- symbols ---- */
static uint32_t add_symbol(Writer *writer, const char *name, uint64_t value, uint64_t size, unsigned info,
                           unsigned other, uint32_t section) {
    elf_bytes_u32(writer->a, &writer->symtab, elf_bytes_string(writer->a, &writer->strtab, name));
    uint8_t *p = elf_bytes_add(writer->a, &writer->symtab, NULL, sizeof(Elf64_Sym) - 4);
    p[0] = (uint8_t)info;
    p[1] = (uint8_t)other;
    put_u16(p + 2, (uint16_t)section);
    put_u64(p + 4, value);
    put_u64(p + 12, size);
    return writer->nsyms++;
}

static bool var_is_global(const IrVar *var) { return var->linkage != LINK_NONE; }

static void add_var_symbols(Writer *writer, bool global) {
    const IrModule *module = writer->c->ir;
    for (uint32_t i = 0; i < module->vars.n; i++) {
        const IrVar *var = &module->vars.at[i];
        bool is_const = var->space == SP_CONST;
        if (var_is_global(var) != global || (!is_const && var->space != SP_GLOBAL) ||
            var->linkage == LINK_EXTERN)
            continue;
        bool init = var->ptx && var->ptx->ninits;
        uint32_t section = is_const ? writer->const3 : init ? writer->global_init : writer->global;
        unsigned bind = !global                                                    ? STB_LOCAL
                        : var->linkage == LINK_WEAK || var->linkage == LINK_COMMON ? STB_WEAK
                                                                                   : STB_GLOBAL;
        uint32_t sym = add_symbol(writer, str_text(module->strings, var->name), writer->var_offset[i],
                                  var->size_bytes, ELF64_ST_INFO(bind, STT_OBJECT), 0, section);
        strmap_put(&writer->symbols, writer->a, var->name, sym);
    }
}

static bool func_is_global(const CodeFunc *f) {
    return f->is_entry || !f->ir || !f->ir->ptx || f->ir->ptx->linkage != LINK_NONE;
}

static void add_func_symbols(Writer *writer, bool global) {
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        const CodeFunc *f = &writer->c->funcs[i];
        if (func_is_global(f) != global)
            continue;
        unsigned bind = !global                                                   ? STB_LOCAL
                        : f->ir && f->ir->ptx && f->ir->ptx->linkage == LINK_WEAK ? STB_WEAK
                                                                                  : STB_GLOBAL;
        writer->parts[i].sym =
            add_symbol(writer, func_name(writer, i), 0, (uint64_t)f->ninsts * INST_BYTES,
                       ELF64_ST_INFO(bind, STT_FUNC), f->is_entry ? STO_NV_ENTRY : 0, writer->parts[i].text);
        strmap_put(&writer->symbols, writer->a, f->name, writer->parts[i].sym);
    }
}

/* The driver's functions, which code names and nobody defines. */
static void add_extern_symbols(Writer *writer) {
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        const CodeFunc *f = &writer->c->funcs[i];
        for (uint32_t k = 0; k < f->relocs.n; k++) {
            StrId symbol = f->relocs.at[k].symbol;
            const char *name = str_text(writer->c->ir->strings, symbol);
            if (strmap_get(&writer->symbols, symbol) || system_find(name) == SYSTEM_COUNT)
                continue;
            uint32_t at = add_symbol(writer, name, 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF);
            strmap_put(&writer->symbols, writer->a, symbol, at);
        }
    }
}

static void add_texture_symbols(Writer *writer) {
    for (uint32_t i = 0; i < writer->c->nfuncs; i++)
        for (uint32_t k = 0; k < writer->parts[i].textures.n; k++) {
            StrId name = writer->parts[i].textures.at[k];
            unsigned type = elf_is_surface(writer->c, name) ? STT_NV_SURFACE : STT_NV_TEXTURE;
            if (!strmap_get(&writer->symbols, name))
                strmap_put(&writer->symbols, writer->a, name,
                           add_symbol(writer, str_text(writer->c->ir->strings, name), 0, 0,
                                      ELF64_ST_INFO(STB_GLOBAL, type), 0, SHN_UNDEF));
        }
}

/* The symbols of the driver's functions that a function names, each once. */
static void find_externs(const Writer *writer, const CodeFunc *f, Syms *out) {
    for (uint32_t k = 0; k < f->relocs.n; k++) {
        uint32_t sym = strmap_get(&writer->symbols, f->relocs.at[k].symbol), n = 0;
        if (sym < writer->first_extern)
            continue;
        while (n < out->n && out->at[n] != sym)
            n++;
        if (n == out->n)
            VEC_ADD(writer->a, out, sym);
    }
}

static void make_symbols(Writer *writer) {
    add_symbol(writer, "", 0, 0, 0, 0, 0);
    const unsigned section = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        FuncParts *func_parts = &writer->parts[i];
        add_symbol(writer, writer->e->sections.at[func_parts->text].name, 0, 0, section, 0, func_parts->text);
        if (func_parts->const0)
            func_parts->const0_sym = add_symbol(writer, writer->e->sections.at[func_parts->const0].name, 0, 0,
                                                section, 0, func_parts->const0);
        if (func_parts->shared)
            add_symbol(writer, writer->e->sections.at[func_parts->shared].name, 0, 0, section, 0,
                       func_parts->shared);
    }
    add_var_symbols(writer, false);
    add_func_symbols(writer, false);
    header(writer, SYMTAB)->sh_info = writer->nsyms;
    add_var_symbols(writer, true);
    add_func_symbols(writer, true);
    add_texture_symbols(writer);
    writer->first_extern = writer->nsyms;
    add_extern_symbols(writer);
    header(writer, SYMTAB)->sh_link = STRTAB;
    header(writer, SYMTAB)->sh_entsize = sizeof(Elf64_Sym);
}

/* ---- variables ---- */
/* A .const variable whose address in its space is meant, which is a number; NULL: the item is something else.
 */
static const IrVar *const_offset_of(const Writer *writer, const PtxInit *init) {
    const IrModule *module = writer->c->ir;
    const PtxVar *target =
        init->sym && !(init->sym & PTX_SYM_FUNC) ? &module->ptx->vars[init->sym - 1] : NULL;
    if (!target || target->space != SP_CONST || init->generic)
        return NULL;
    for (uint32_t i = 0; i < module->vars.n; i++)
        if (module->vars.at[i].ptx == target)
            return &module->vars.at[i];
    return NULL;
}

/* Constants of an initialiser. Other addresses become relocations later, when symbols exist. */
static bool put_inits(Writer *writer, const IrVar *var, uint8_t *at) {
    for (uint32_t i = 0; i < var->ptx->ninits; i++) {
        const PtxInit *in = &var->ptx->inits[i];
        if (in->size_bytes > 8 || in->offset_bytes + (uint64_t)in->size_bytes > var->size_bytes)
            return write_error(writer, str_text(writer->c->ir->strings, var->name),
                               "an initialiser lies outside the variable");
        const IrVar *target = const_offset_of(writer, in);
        uint64_t value = ((uint64_t)in->value + (target ? target->offset_bytes : 0)) >> in->shift;
        for (unsigned k = 0; (!in->sym || target) && k < in->size_bytes; k++)
            at[in->offset_bytes + k] = (uint8_t)(value >> (8 * k));
    }
    return true;
}

static void raise_align(uint64_t *section, uint64_t var) { *section = var > *section ? var : *section; }

static bool lay_out_vars(Writer *writer) {
    const IrModule *module = writer->c->ir;
    writer->const3_align = 16;
    writer->init_align = writer->global_align = 256;
    writer->var_offset = ARENA_ARRAY(writer->a, uint64_t, module->vars.n + 1);
    elf_bytes_add(writer->a, &writer->const3_data, NULL, module->const_bytes);
    for (uint32_t i = 0; i < module->vars.n; i++) {
        const IrVar *var = &module->vars.at[i];
        bool init = var->ptx && var->ptx->ninits;
        if (var->linkage == LINK_EXTERN || (var->space != SP_GLOBAL && var->space != SP_CONST))
            continue;
        uint8_t *at = NULL;
        if (var->space == SP_CONST) {
            writer->var_offset[i] = var->offset_bytes;
            if (var->offset_bytes + var->size_bytes > module->const_bytes)
                return write_error(writer, str_text(module->strings, var->name),
                                   "does not fit its constant bank");
            at = writer->const3_data.at + var->offset_bytes;
            raise_align(&writer->const3_align, var->align_bytes);
        } else if (init) {
            if (var->size_bytes > FILE_MAX_INIT || writer->init_data.n + var->size_bytes > FILE_MAX_INIT)
                return diag(writer->d, var->ptx->loc, DIAG_E0412, str_text(module->strings, var->name),
                            "initialised variables of more than 1 GiB");
            uint64_t offset = align_up(writer->init_data.n, var->align_bytes);
            elf_bytes_add(writer->a, &writer->init_data, NULL,
                          offset - writer->init_data.n + var->size_bytes);
            writer->var_offset[i] = offset;
            at = writer->init_data.at + offset;
            raise_align(&writer->init_align, var->align_bytes);
        } else {
            raise_align(&writer->global_align, var->align_bytes);
            writer->var_offset[i] = align_up(writer->global_bytes, var->align_bytes);
            writer->global_bytes = writer->var_offset[i] + var->size_bytes;
        }
        if (init && !put_inits(writer, var, at))
            return false;
    }
    return true;
}

static bool is_native(const Writer *writer) { return writer->t->elf_form != ElfForm_BRU1; }
static bool since_sm_90(const Writer *writer) { return writer->t->elf_form == ElfForm_SM90; }

/* ---- relocations ---- */
/* NVIDIA's numbers; 0 where there is none. bru1 numbers relocations as RelocKind does. */
static uint32_t reloc_type(const Writer *writer, RelocKind kind) {
    static const uint8_t native[RELOC_KIND_COUNT] = {
        [RELOC_ABS32_LO] = 56,        [RELOC_ABS32_HI] = 57, [RELOC_CALL_REL] = 58,
        [RELOC_SHARED_OFFSET32] = 55, [RELOC_ABS64] = 2,     [RELOC_GENERIC64] = 4};
    if (!is_native(writer))
        return (uint32_t)kind;
    return kind == RELOC_CALL_REL && since_sm_90(writer) ? 75 : native[kind];
}

static bool add_rela(Writer *writer, Bytes *out, uint64_t offset, RelocKind kind, StrId symbol,
                     int64_t addend, const char *where) {
    uint32_t type = reloc_type(writer, kind), sym = strmap_get(&writer->symbols, symbol);
    const char *name = str_text(writer->c->ir->strings, symbol);
    if (!sym)
        return write_error(writer, where, arena_printf(writer->a, "undefined symbol %s", name));
    if (!type)
        return write_error(writer, where,
                           arena_printf(writer->a, "no relocation of this target for the use of %s", name));
    elf_bytes_u64(writer->a, out, offset);
    elf_bytes_u64(writer->a, out, ELF64_R_INFO((uint64_t)sym, type));
    elf_bytes_u64(writer->a, out, (uint64_t)addend);
    return true;
}

static void set_rela(Writer *w, uint32_t section, Bytes b, uint32_t target) {
    set_data(w, section, b);
    header(w, section)->sh_link = SYMTAB;
    header(w, section)->sh_info = target;
    header(w, section)->sh_entsize = sizeof(Elf64_Rela);
}

static bool code_relocs(Writer *writer) {
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        const CodeFunc *f = &writer->c->funcs[i];
        Bytes b = {0};
        for (uint32_t k = 0; k < f->relocs.n; k++) {
            const CodeReloc *reloc = &f->relocs.at[k];
            if (reloc->kind == RELOC_TEXTURE)
                continue;
            if (!add_rela(writer, &b, reloc->offset_bytes, reloc->kind, reloc->symbol, reloc->addend,
                          func_name(writer, i)))
                return false;
        }
        if (writer->parts[i].rela)
            set_rela(writer, writer->parts[i].rela, b, writer->parts[i].text);
    }
    return true;
}

/* The words of constant memory that hold handles; without addends, as ptxas writes them. */
static void texture_relocs(Writer *writer) {
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        const ElfTextures *all = &writer->parts[i].textures;
        uint32_t base = elf_texture_base(writer->c, &writer->c->funcs[i]);
        Bytes b = {0};
        for (uint32_t k = 0; k < all->n; k++) {
            uint32_t type = elf_is_surface(writer->c, all->at[k]) ? RELOC_NV_SURFACE : RELOC_NV_TEXTURE;
            elf_bytes_u64(writer->a, &b, base + 4 * k);
            elf_bytes_u64(writer->a, &b,
                          ELF64_R_INFO((uint64_t)strmap_get(&writer->symbols, all->at[k]),
                                       is_native(writer) ? type : (uint32_t)RELOC_TEXTURE));
        }
        if (!all->n)
            continue;
        uint32_t section =
            add_section(writer, ".rel.nv.constant0.", func_name(writer, i), SHT_REL, SHF_INFO_LINK, 8);
        set_rela(writer, section, b, writer->parts[i].const0);
        header(writer, section)->sh_entsize = sizeof(Elf64_Rel);
    }
}

/* Name, in the module's strings, of what an initialiser takes the address of; 0 if it has no symbol. */
static StrId init_symbol(const Writer *writer, uint32_t sym) {
    const IrModule *module = writer->c->ir;
    uint32_t index = (sym & ~PTX_SYM_FUNC) - 1;
    if (sym & PTX_SYM_FUNC) {
        if (module->ptx->funcs[index].alias_of)
            index = module->ptx->funcs[index].alias_of - 1;
        const char *name = str_text(&module->ptx->strings, module->ptx->funcs[index].name);
        return str_find(module->strings, name, strlen(name));
    }
    for (uint32_t i = 0; i < module->vars.n; i++)
        if (module->vars.at[i].ptx == &module->ptx->vars[index])
            return module->vars.at[i].name;
    return (StrId){0};
}

static bool var_relocs(Writer *writer) {
    const IrModule *module = writer->c->ir;
    for (uint32_t i = 0; i < module->vars.n; i++) {
        const IrVar *var = &module->vars.at[i];
        const char *name = str_text(module->strings, var->name);
        if (!var->ptx || (var->space != SP_CONST && var->space != SP_GLOBAL))
            continue;
        for (uint32_t k = 0; k < var->ptx->ninits; k++) {
            const PtxInit *in = &var->ptx->inits[k];
            if (!in->sym || const_offset_of(writer, in))
                continue;
            if (in->size_bytes != 8 || in->shift)
                return write_error(writer, name, "an address in an initialiser must fill 8 bytes");
            Bytes *b = var->space == SP_CONST ? &writer->const3_rela : &writer->init_rela;
            if (!add_rela(writer, b, writer->var_offset[i] + in->offset_bytes,
                          in->generic && !(in->sym & PTX_SYM_FUNC) ? RELOC_GENERIC64 : RELOC_ABS64,
                          init_symbol(writer, in->sym), in->value, name))
                return false;
        }
    }
    if (writer->const3_rela.n) /* added last: indices of the others are in use already */
        set_rela(writer, add_section(writer, ".rela.nv.constant3", "", SHT_RELA, SHF_INFO_LINK, 8),
                 writer->const3_rela, writer->const3);
    if (writer->init_rela.n)
        set_rela(writer, add_section(writer, ".rela.nv.global.init", "", SHT_RELA, SHF_INFO_LINK, 8),
                 writer->init_rela, writer->global_init);
    return true;
}

/* ---- attribute records ---- */
typedef struct {
    VEC(uint32_t) exits, system, coop, coop_masks;
} Sites;

/* Offsets of the instructions that records list, found in the words as a loader would. */
static void find_nvinfo_sites(Writer *writer, uint32_t index, Sites *out) {
    const CodeFunc *f = &writer->c->funcs[index];
    for (uint32_t i = 0; i < f->ninsts; i++) {
        MachInst in;
        char error[ISA_ERROR_BYTES];
        if (!isa_decode(writer->c->ir->target, f->words[i], &in, error))
            continue; /* data between instructions, from assembly text */
        uint32_t pc = i * INST_BYTES;
        if (in.optype == OT_EXIT)
            VEC_ADD(writer->a, &out->exits, pc);
        if (is_native(writer) && in.optype == OT_CALL && MGET(CALL, mode, in.mods) == BasePCMode_ABS)
            VEC_ADD(writer->a, &out->system, pc); /* nothing else is called by its address */
        if (isa_traits(in.optype)->lanes == ISA_LANES_COLLECTIVE && in.optype != OT_WARPSYNC) {
            VEC_ADD(writer->a, &out->coop, pc);
            VEC_ADD(writer->a, &out->coop_masks, UINT32_MAX);
        }
    }
}

static uint32_t register_cap(const Target *t, const PtxFunc *func) {
    if (!func)
        return 0xff;
    uint64_t threads = (uint64_t)func->maxntid[0] * (func->maxntid[1] ? func->maxntid[1] : 1) *
                       (func->maxntid[2] ? func->maxntid[2] : 1);
    uint32_t cap = 0xff;
    if (threads && func->minnctapersm) {
        uint32_t share = occupancy_regs(t, threads * func->minnctapersm);
        cap = share < cap ? share : cap;
    }
    return func->maxnreg && func->maxnreg < cap ? func->maxnreg : cap;
}

/* Up to here ptxas 13.0 writes KPARAM_INFO, which has 14 bits for a size. */
enum { MOST_SMALL_PARAM_BYTES = 4352 };

static void param_records(Writer *writer, Bytes *b, uint32_t index) {
    const CodeFunc *f = &writer->c->funcs[index];
    const PtxFunc *func = f->ir ? f->ir->ptx : NULL;
    if (!f->is_entry || !f->param_bytes)
        return;
    uint32_t cbank[2] = {writer->parts[index].const0_sym, writer->t->param_base_bytes | f->param_bytes << 16};
    elf_nvinfo_words(writer->a, b, NV_PARAM_CBANK, cbank, 2);
    elf_nvinfo_value(writer->a, b, NVF_HALF, NV_CBANK_PARAM_SIZE, f->param_bytes);
    uint32_t n = func ? func->nparams : f->nparams;
    bool wide = f->param_bytes > MOST_SMALL_PARAM_BYTES; /* then sizes have a word for themselves */
    for (uint32_t i = n; i-- > 0;) {
        const PtxVar *var = func ? &writer->c->ir->ptx->vars[func->params[i]] : NULL;
        uint32_t offset = var ? (uint32_t)var->param_offset_bytes : f->params[i].offset_bytes;
        uint32_t size = var ? (uint32_t)var->size_bytes : f->params[i].size_bytes;
        uint32_t words[3] = {0, i | offset << 16, wide ? size : 0x1f000u | size << 18};
        elf_nvinfo_words(writer->a, b, wide ? NV_KPARAM_INFO_V2 : NV_KPARAM_INFO, words, 3);
    }
}

static void bound_records(Writer *writer, Bytes *b, const PtxFunc *func) {
    if (func && func->maxntid[0]) {
        uint32_t n[3] = {func->maxntid[0], func->maxntid[1] ? func->maxntid[1] : 1,
                         func->maxntid[2] ? func->maxntid[2] : 1};
        elf_nvinfo_words(writer->a, b, NV_MAX_THREADS, n, 3);
    }
    if (func && func->reqntid[0]) {
        uint32_t n[3] = {func->reqntid[0], func->reqntid[1] ? func->reqntid[1] : 1,
                         func->reqntid[2] ? func->reqntid[2] : 1};
        elf_nvinfo_words(writer->a, b, NV_REQNTID, n, 3);
    }
}

/* {BRX, 0, entries, targets...} for each; the size of a record has 16 bits. */
static void branch_records(Writer *writer, Bytes *b, const CodeFunc *f) {
    enum { MAX_WORDS = 0xffff / 4 };
    VEC(uint32_t) words = {0};
    for (unsigned k = 0; k < f->tables.n; k++) {
        const CodeTable *table = &f->tables.at[k];
        if (words.n + 3 + table->n > MAX_WORDS) {
            elf_nvinfo_words(writer->a, b, NV_INDIRECT_BRANCH_TARGETS, words.at, words.n);
            words.n = 0;
        }
        VEC_ADD(writer->a, &words, table->pc_bytes);
        VEC_ADD(writer->a, &words, 0);
        VEC_ADD(writer->a, &words, table->n);
        for (uint32_t e = 0; e < table->n; e++)
            VEC_ADD(writer->a, &words, table->targets[e]);
    }
    if (words.n)
        elf_nvinfo_words(writer->a, b, NV_INDIRECT_BRANCH_TARGETS, words.at, words.n);
}

static void func_records(Writer *writer, uint32_t index) {
    const CodeFunc *f = &writer->c->funcs[index];
    const PtxFunc *p = f->ir && f->is_entry ? f->ir->ptx : NULL;
    Bytes b = {0};
    Sites sites = {0};
    Syms externs = {0};
    find_nvinfo_sites(writer, index, &sites);
    if (writer->t->elf_sw_war)
        elf_nvinfo_words(writer->a, &b, NV_SW_WAR, &writer->t->elf_sw_war, 1);
    if (is_native(writer))
        elf_nvinfo_words(writer->a, &b, NV_CUDA_API_VERSION,
                         &(uint32_t){writer->old_form ? TOOLKIT_VERSION : 130}, 1);
    if (writer->t->elf_sw2861232_war)
        elf_nvinfo_value(writer->a, &b, NVF_NONE, NV_SW2861232_WAR, 0);
    param_records(writer, &b, index);
    if (since_sm_90(writer))
        elf_nvinfo_value(writer->a, &b, NVF_HALF, NV_SPARSE_MMA_MASK, 0);
    elf_nvinfo_value(writer->a, &b, NVF_HALF, NV_MAXREG_COUNT, register_cap(writer->c->ir->target, p));
    find_externs(writer, f, &externs);
    if (externs.n)
        elf_nvinfo_words(writer->a, &b, NV_EXTERNS, externs.at, externs.n);
    if (f->nbarriers && !writer->old_form)
        elf_nvinfo_value(writer->a, &b, NVF_BYTE, NV_NUM_BARRIERS, f->nbarriers);
    if (is_native(writer) && !writer->old_form)
        elf_nvinfo_value(writer->a, &b, NVF_HALF, NV_ISA_VERSION, since_sm_90(writer) ? 0x101 : 0);
    if (sites.system.n)
        elf_nvinfo_words(writer->a, &b, NV_SYSCALL_OFFSETS, sites.system.at, sites.system.n);
    if (sites.coop.n) {
        elf_nvinfo_words(writer->a, &b, NV_COOP_GROUP_MASK_REGIDS, sites.coop_masks.at, sites.coop_masks.n);
        elf_nvinfo_words(writer->a, &b, NV_COOP_GROUP_INSTR_OFFSETS, sites.coop.at, sites.coop.n);
    }
    if (sites.exits.n)
        elf_nvinfo_words(writer->a, &b, NV_EXIT_INSTR_OFFSETS, sites.exits.at, sites.exits.n);
    branch_records(writer, &b, f);
    if (f->uses_ctaid_z && !since_sm_90(writer))
        elf_nvinfo_value(writer->a, &b, NVF_NONE, NV_CTAIDZ_USED, 0);
    bound_records(writer, &b, p);
    if (f->uses_bssy)
        elf_nvinfo_words(writer->a, &b, NV_CRS_STACK_SIZE, &(uint32_t){0}, 1);
    uint32_t section = writer->parts[index].info;
    set_data(writer, section, b);
    header(writer, section)->sh_link = SYMTAB;
    header(writer, section)->sh_info = writer->parts[index].text;
}

static void module_records(Writer *writer) {
    Bytes b = {0};
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        const CodeFunc *f = &writer->c->funcs[i];
        uint32_t sym = writer->parts[i].sym;
        bool recursive = f->stack_bytes == UINT32_MAX;
        elf_nvinfo_words(writer->a, &b, NV_REGCOUNT, (uint32_t[]){sym, f->nregs}, 2);
        if (writer->old_form && f->is_entry && !recursive)
            elf_nvinfo_words(writer->a, &b, NV_MAX_STACK_SIZE, (uint32_t[]){sym, f->stack_bytes}, 2);
        elf_nvinfo_words(writer->a, &b, NV_FRAME_SIZE, (uint32_t[]){sym, f->frame_bytes}, 2);
        elf_nvinfo_words(writer->a, &b, NV_MIN_STACK_SIZE,
                         (uint32_t[]){sym, recursive ? f->frame_bytes : f->stack_bytes}, 2);
    }
    set_data(writer, NV_INFO, b);
    header(writer, NV_INFO)->sh_link = SYMTAB;
    for (uint32_t i = 0; i < writer->c->nfuncs; i++)
        func_records(writer, i);
}

/* ---- contents ---- */
/* {caller, callee} rows between the markers that ptxas writes. */
static void call_graph(Writer *writer) {
    Bytes b = {0};
    elf_bytes_u64(writer->a, &b, 0xffffffffull << 32);
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        const CodeFunc *f = &writer->c->funcs[i];
        for (uint32_t k = 0; k < f->relocs.n; k++) {
            RelocKind kind = f->relocs.at[k].kind;
            if (kind == RELOC_CALL_REL || kind == RELOC_CALL_ABS)
                elf_bytes_u64(writer->a, &b,
                              writer->parts[i].sym |
                                  (uint64_t)strmap_get(&writer->symbols, f->relocs.at[k].symbol) << 32);
        }
        Syms externs = {0};
        find_externs(writer, f, &externs);
        for (uint32_t k = 0; k < externs.n; k++)
            elf_bytes_u64(writer->a, &b, writer->parts[i].sym | (uint64_t)externs.at[k] << 32);
    }
    for (uint64_t marker = 0xfffffffe; marker >= 0xfffffffc; marker--)
        elf_bytes_u64(writer->a, &b, marker << 32);
    uint32_t s = add_section(writer, ".nv.callgraph", "", SHT_NV_CALLGRAPH, 0, 4);
    set_data(writer, s, b);
    header(writer, s)->sh_link = SYMTAB;
    header(writer, s)->sh_entsize = 8;
}

static void func_contents(Writer *writer, uint32_t i) {
    const CodeFunc *f = &writer->c->funcs[i];
    const FuncParts *func_parts = &writer->parts[i];
    Bytes code = {0};
    for (uint32_t k = 0; k < f->ninsts; k++) {
        elf_bytes_u64(writer->a, &code, f->words[k][0]);
        elf_bytes_u64(writer->a, &code, f->words[k][1]);
    }
    set_data(writer, func_parts->text, code);
    Elf64_Shdr *text = header(writer, func_parts->text);
    text->sh_link = SYMTAB;
    if (is_native(writer))
        text->sh_info = func_parts->sym | (since_sm_90(writer) ? 0 : f->nregs << 24);
    if (writer->old_form)
        text->sh_flags |= (uint64_t)f->nbarriers << 20;
    if (func_parts->const0) {
        Bytes bank = {0};
        elf_bytes_add(writer->a, &bank, NULL,
                      func_parts->textures.n ? elf_texture_base(writer->c, f) + 4 * func_parts->textures.n
                                             : writer->t->param_base_bytes + f->param_bytes);
        set_data(writer, func_parts->const0, bank);
        header(writer, func_parts->const0)->sh_info = func_parts->text;
    }
    if (func_parts->const2) {
        Bytes bank = {0};
        elf_bytes_add(writer->a, &bank, f->const2, f->const2_bytes);
        set_data(writer, func_parts->const2, bank);
        header(writer, func_parts->const2)->sh_info = func_parts->text;
    }
    if (func_parts->shared) {
        header(writer, func_parts->shared)->sh_size = writer->t->shared_base_bytes + f->shared_bytes;
        header(writer, func_parts->shared)->sh_info = func_parts->text;
    }
}

static void heddle_sections(Writer *writer) {
    const PtxModule *ptx = writer->c->ir->ptx;
    if (!writer->opt->no_map)
        set_data(writer, add_section(writer, ".heddle.map", "", SHT_HD_MAP, 0, 4),
                 elf_map_build(writer->a, writer->c));
    if (!writer->opt->no_ptx && ptx && ptx->source.size_bytes) {
        Bytes b = {0};
        elf_bytes_add(writer->a, &b, ptx->source.text, ptx->source.size_bytes);
        set_data(writer, add_section(writer, ".heddle.ptx", "", SHT_HD_PTX, 0, 1), b);
    }
}

/* ---- header and segments ---- */
static void make_header(Writer *writer) {
    Elf64_Ehdr *header = &writer->e->h;
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    bool new_form = is_native(writer) && !writer->old_form;
    header->e_ident[EI_OSABI] = new_form ? 0x41 : writer->t->elf_osabi;
    header->e_ident[EI_ABIVERSION] = new_form ? 8 : writer->t->elf_abiversion;
    header->e_type = ET_EXEC;
    header->e_machine = writer->t->elf_machine;
    header->e_version = writer->old_form ? TOOLKIT_VERSION : EV_CURRENT;
    header->e_flags = new_form ? 0x06000004u | (writer->t->elf_flags & 0xff) << 8 : writer->t->elf_flags;
    header->e_ehsize = sizeof(Elf64_Ehdr);
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_phentsize = sizeof(Elf64_Phdr);
    header->e_shstrndx = SHSTRTAB;
}

/* A LOAD segment around the sections that have `want` of the flags `mask`. They are neighbours. */
static Elf64_Phdr segment(const Writer *writer, uint64_t mask, uint64_t want, uint32_t flags) {
    Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = flags, .p_align = 8};
    uint64_t end = 0, memory = 0;
    bool any = false;
    for (uint32_t i = 1; i < writer->e->sections.n; i++) {
        const Elf64_Shdr *header = &writer->e->sections.at[i].h;
        if ((header->sh_flags & mask) != want)
            continue;
        if (!any)
            p.p_offset = end = header->sh_offset;
        any = true;
        if (header->sh_type == SHT_NOBITS)
            memory += header->sh_size;
        else
            end = header->sh_offset + header->sh_size;
    }
    p.p_filesz = end - p.p_offset;
    p.p_memsz = p.p_filesz + memory;
    return p;
}

static void make_segments(Writer *writer) {
    uint64_t size = 4 * sizeof(Elf64_Phdr);
    for (int i = 0; i < 4; i++)
        VEC_PUSH(writer->a, &writer->e->segments);
    elf_image_layout(writer->e, false);
    Elf64_Phdr self = {.p_type = PT_PHDR,
                       .p_flags = PF_R | PF_X,
                       .p_offset = writer->e->h.e_phoff,
                       .p_filesz = size,
                       .p_memsz = size,
                       .p_align = 8};
    writer->e->segments.at[0] = self;
    writer->e->segments.at[1] = segment(writer, SHF_ALLOC | SHF_WRITE, SHF_ALLOC, PF_R | PF_X);
    writer->e->segments.at[2] = segment(writer, SHF_ALLOC | SHF_WRITE, SHF_ALLOC | SHF_WRITE, PF_R | PF_W);
    self.p_type = PT_LOAD;
    writer->e->segments.at[3] = self;
}

static bool fill(Writer *writer) {
    make_symbols(writer);
    call_graph(writer);
    for (uint32_t i = 0; i < writer->c->nfuncs; i++)
        func_contents(writer, i);
    if (writer->const3)
        set_data(writer, writer->const3, writer->const3_data);
    if (writer->global_init)
        set_data(writer, writer->global_init, writer->init_data);
    if (writer->global)
        header(writer, writer->global)->sh_size = writer->global_bytes;
    module_records(writer);
    if (!code_relocs(writer) || !var_relocs(writer))
        return false;
    texture_relocs(writer);
    heddle_sections(writer);
    set_data(writer, STRTAB, writer->strtab);
    set_data(writer, SYMTAB, writer->symtab);
    set_data(writer, SHSTRTAB, writer->shstrtab);
    return true;
}

static bool check_limits(Writer *writer) {
    if (writer->c->nfuncs > 8000)
        return write_error(writer, "module", "more than 8000 functions");
    for (uint32_t i = 0; i < writer->c->nfuncs; i++) {
        const CodeFunc *f = &writer->c->funcs[i];
        if (f->is_entry && f->param_bytes >= CONST_BANK_BYTES - writer->t->param_base_bytes)
            return write_error(writer, func_name(writer, i),
                               "more parameter bytes than a constant bank holds");
        if (f->nregs > 255 || f->nbarriers > 16)
            return write_error(writer, func_name(writer, i),
                               "more registers or barriers than the format can say");
    }
    return true;
}

static bool bind_textures(Writer *writer) {
    char error[ISA_ERROR_BYTES];
    for (uint32_t i = 0; i < writer->c->nfuncs; i++)
        if (!elf_bind_textures(writer->c, &writer->c->funcs[i], writer->a, &writer->parts[i].textures, error))
            return write_error(writer, func_name(writer, i), arena_printf(writer->a, "%s", error));
    return true;
}

bool elf_write_with(const CodeModule *module, const ElfOptions *opt, void **image, size_t *size_bytes,
                    Diags *d) {
    Arena arena = {0};
    Writer w = {.a = &arena, .c = module, .opt = opt, .t = isa_target_info(module->ir->target), .d = d};
    w.old_form = is_native(&w) && !opt->new_form;
    w.e = ARENA_NEW(&arena, ElfImage);
    w.parts = ARENA_ARRAY(&arena, FuncParts, module->nfuncs + 1);
    bool good = check_limits(&w) && lay_out_vars(&w) && bind_textures(&w);
    if (good) {
        make_sections(&w);
        good = fill(&w);
    }
    if (good) {
        make_header(&w);
        make_segments(&w);
        good = elf_image_write(w.e, image, size_bytes, d);
    }
    arena_free(&arena);
    return good;
}

bool elf_write(const CodeModule *c, void **image, size_t *size_bytes, Diags *d) {
    return elf_write_with(c, &(ElfOptions){0}, image, size_bytes, d);
}
