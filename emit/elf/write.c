/* Encoded module to ELF: sections, symbols, relocations and attribute records, as NVIDIA's tools arrange
 * them (docs/elf.md). First every section is made, so that indices are known, then symbols, then contents.
 * SPDX-License-Identifier: MIT */
#include "emit/code.h"
#include "emit/elf/map.h"
#include "emit/elf/nvinfo.h"
#include "frontend/ast.h"
#include <string.h>

enum { SHSTRTAB = 1, STRTAB, SYMTAB, NV_INFO, TOOLKIT_VERSION = 111 };
enum { NO_SM = 0 }; /* not an NVIDIA machine */
#define FILE_MAX_INIT ((uint64_t)1 << 30)

typedef struct { /* sections and symbols of one function; 0 = has none */
    uint32_t info, rela, const0, const2, text, shared;
    uint32_t sym, const0_sym;
} FuncParts;

typedef struct {
    Arena *a;
    const CodeModule *c;
    const ElfOptions *opt;
    const TargetInfo *t;
    unsigned sm;
    bool old_form; /* NVIDIA's header form before CUDA 12.8 */
    ElfImage *e;
    Bytes shstrtab, strtab, symtab;
    uint32_t nsyms;
    FuncParts *parts;
    StrMap symbols;       /* name -> symbol index */
    uint64_t *var_offset; /* for each IrVar */
    uint32_t const3, global_init, global;
    Bytes const3_data, init_data, const3_rela, init_rela;
    uint64_t global_bytes;
    Diags *d;
} Writer;

static bool fail(Writer *w, const char *name, const char *what) {
    return diag(w->d, (SrcLoc){0}, DIAG_E0412, name, what);
}

static const char *func_name(const Writer *w, uint32_t i) {
    return str_text(w->c->ir->strings, w->c->funcs[i].name);
}

/* ---- sections ---- */
static uint32_t add_section(Writer *w, const char *prefix, const char *name, uint32_t type, uint64_t flags,
                            uint64_t align) {
    ElfSection *s = VEC_PUSH(w->a, &w->e->sections);
    s->name = arena_printf(w->a, "%s%s", prefix, name);
    s->h.sh_name = bytes_string(w->a, &w->shstrtab, s->name);
    s->h.sh_type = type;
    s->h.sh_flags = flags;
    s->h.sh_addralign = align;
    return w->e->sections.n - 1;
}

static Elf64_Shdr *header(Writer *w, uint32_t section) { return &w->e->sections.at[section].h; }

static void set_data(Writer *w, uint32_t section, Bytes b) {
    w->e->sections.at[section].data = b.n ? b.at : NULL;
    w->e->sections.at[section].h.sh_size = b.n;
}

static uint64_t info_link(const Writer *w) { return w->old_form ? 0 : SHF_INFO_LINK; }

static void make_rela_sections(Writer *w) {
    for (uint32_t i = 0; i < w->c->nfuncs; i++)
        if (w->c->funcs[i].relocs.n)
            w->parts[i].rela = add_section(w, ".rela.text.", func_name(w, i), SHT_RELA, SHF_INFO_LINK, 8);
}

static void make_sections(Writer *w) {
    const CodeModule *c = w->c;
    VEC_PUSH(w->a, &w->e->sections)->name = "";
    bytes_add(w->a, &w->shstrtab, "", 1);
    bytes_add(w->a, &w->strtab, "", 1);
    add_section(w, ".shstrtab", "", SHT_STRTAB, 0, 1);
    add_section(w, ".strtab", "", SHT_STRTAB, 0, 1);
    add_section(w, ".symtab", "", SHT_SYMTAB, 0, 8);
    add_section(w, ".nv.info", "", SHT_NV_INFO, 0, 4);
    for (uint32_t i = 0; i < c->nfuncs; i++)
        w->parts[i].info = add_section(w, ".nv.info.", func_name(w, i), SHT_NV_INFO, info_link(w), 4);
    make_rela_sections(w);
    if (w->const3_data.n)
        w->const3 = add_section(w, ".nv.constant3", "", SHT_PROGBITS, SHF_ALLOC, 16);
    for (uint32_t i = 0; i < c->nfuncs; i++)
        if (c->funcs[i].const2_bytes)
            w->parts[i].const2 =
                add_section(w, ".nv.constant2.", func_name(w, i), SHT_PROGBITS, SHF_ALLOC | info_link(w), 8);
    for (uint32_t i = 0; i < c->nfuncs; i++)
        if (c->funcs[i].is_entry)
            w->parts[i].const0 =
                add_section(w, ".nv.constant0.", func_name(w, i), SHT_PROGBITS, SHF_ALLOC | info_link(w), 4);
    for (uint32_t i = 0; i < c->nfuncs; i++)
        w->parts[i].text =
            add_section(w, ".text.", func_name(w, i), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 128);
    if (w->init_data.n)
        w->global_init = add_section(w, ".nv.global.init", "", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 256);
    if (w->global_bytes)
        w->global = add_section(w, ".nv.global", "", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 256);
    for (uint32_t i = 0; i < c->nfuncs; i++)
        if (c->funcs[i].is_entry && c->funcs[i].shared_bytes)
            w->parts[i].shared = add_section(w, ".nv.shared.", func_name(w, i), SHT_NOBITS,
                                             SHF_ALLOC | SHF_WRITE | info_link(w), 16);
}

/* ---- symbols ---- */
static uint32_t add_symbol(Writer *w, const char *name, uint64_t value, uint64_t size, unsigned info,
                           unsigned other, uint32_t section) {
    bytes_u32(w->a, &w->symtab, bytes_string(w->a, &w->strtab, name));
    uint8_t *p = bytes_add(w->a, &w->symtab, NULL, sizeof(Elf64_Sym) - 4);
    p[0] = (uint8_t)info;
    p[1] = (uint8_t)other;
    put_u16(p + 2, (uint16_t)section);
    put_u64(p + 4, value);
    put_u64(p + 12, size);
    return w->nsyms++;
}

static bool var_is_global(const IrVar *v) { return v->linkage != LINK_NONE; }

static void add_var_symbols(Writer *w, bool global) {
    const IrModule *m = w->c->ir;
    for (uint32_t i = 0; i < m->vars.n; i++) {
        const IrVar *v = &m->vars.at[i];
        bool is_const = v->space == SP_CONST;
        if (var_is_global(v) != global || (!is_const && v->space != SP_GLOBAL) || v->linkage == LINK_EXTERN)
            continue;
        bool init = v->ptx && v->ptx->ninits;
        uint32_t section = is_const ? w->const3 : init ? w->global_init : w->global;
        unsigned bind = !global                                                ? STB_LOCAL
                        : v->linkage == LINK_WEAK || v->linkage == LINK_COMMON ? STB_WEAK
                                                                               : STB_GLOBAL;
        uint32_t sym = add_symbol(w, str_text(m->strings, v->name), w->var_offset[i], v->size_bytes,
                                  ELF64_ST_INFO(bind, STT_OBJECT), 0, section);
        strmap_put(&w->symbols, w->a, v->name, sym);
    }
}

static bool func_is_global(const CodeFunc *f) {
    return f->is_entry || !f->ir || !f->ir->ptx || f->ir->ptx->linkage != LINK_NONE;
}

static void add_func_symbols(Writer *w, bool global) {
    for (uint32_t i = 0; i < w->c->nfuncs; i++) {
        const CodeFunc *f = &w->c->funcs[i];
        if (func_is_global(f) != global)
            continue;
        unsigned bind = !global                                                   ? STB_LOCAL
                        : f->ir && f->ir->ptx && f->ir->ptx->linkage == LINK_WEAK ? STB_WEAK
                                                                                  : STB_GLOBAL;
        w->parts[i].sym =
            add_symbol(w, func_name(w, i), 0, (uint64_t)f->ninsts * INST_BYTES, ELF64_ST_INFO(bind, STT_FUNC),
                       f->is_entry ? STO_NV_ENTRY : 0, w->parts[i].text);
        strmap_put(&w->symbols, w->a, f->name, w->parts[i].sym);
    }
}

static void make_symbols(Writer *w) {
    add_symbol(w, "", 0, 0, 0, 0, 0);
    const unsigned section = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
    for (uint32_t i = 0; i < w->c->nfuncs; i++) {
        FuncParts *p = &w->parts[i];
        add_symbol(w, w->e->sections.at[p->text].name, 0, 0, section, 0, p->text);
        if (p->const0)
            p->const0_sym = add_symbol(w, w->e->sections.at[p->const0].name, 0, 0, section, 0, p->const0);
        if (p->shared)
            add_symbol(w, w->e->sections.at[p->shared].name, 0, 0, section, 0, p->shared);
    }
    add_var_symbols(w, false);
    add_func_symbols(w, false);
    header(w, SYMTAB)->sh_info = w->nsyms;
    add_var_symbols(w, true);
    add_func_symbols(w, true);
    header(w, SYMTAB)->sh_link = STRTAB;
    header(w, SYMTAB)->sh_entsize = sizeof(Elf64_Sym);
}

/* ---- variables ---- */
static uint64_t align_up(uint64_t v, uint64_t align) {
    return align > 1 ? (v + align - 1) & ~(align - 1) : v;
}

/* Constants of an initialiser. Addresses become relocations later, when symbols exist. */
static bool put_inits(Writer *w, const IrVar *v, uint8_t *at) {
    for (uint32_t i = 0; i < v->ptx->ninits; i++) {
        const PtxInit *in = &v->ptx->inits[i];
        if (in->size_bytes > 8 || in->offset_bytes + (uint64_t)in->size_bytes > v->size_bytes)
            return fail(w, str_text(w->c->ir->strings, v->name), "an initialiser lies outside the variable");
        for (unsigned k = 0; !in->sym && k < in->size_bytes; k++)
            at[in->offset_bytes + k] = (uint8_t)((uint64_t)in->value >> (8 * k));
    }
    return true;
}

static bool lay_out_vars(Writer *w) {
    const IrModule *m = w->c->ir;
    w->var_offset = ARENA_ARRAY(w->a, uint64_t, m->vars.n + 1);
    bytes_add(w->a, &w->const3_data, NULL, m->const_bytes);
    for (uint32_t i = 0; i < m->vars.n; i++) {
        const IrVar *v = &m->vars.at[i];
        bool init = v->ptx && v->ptx->ninits;
        if (v->linkage == LINK_EXTERN || (v->space != SP_GLOBAL && v->space != SP_CONST))
            continue;
        uint8_t *at = NULL;
        if (v->space == SP_CONST) {
            w->var_offset[i] = v->offset_bytes;
            if (v->offset_bytes + v->size_bytes > m->const_bytes)
                return fail(w, str_text(m->strings, v->name), "does not fit its constant bank");
            at = w->const3_data.at + v->offset_bytes;
        } else if (init) {
            if (v->size_bytes > FILE_MAX_INIT || w->init_data.n + v->size_bytes > FILE_MAX_INIT)
                return diag(w->d, v->ptx->loc, DIAG_E0412, str_text(m->strings, v->name),
                            "initialised variables of more than 1 GiB");
            uint64_t offset = align_up(w->init_data.n, v->align_bytes);
            bytes_add(w->a, &w->init_data, NULL, offset - w->init_data.n + v->size_bytes);
            w->var_offset[i] = offset;
            at = w->init_data.at + offset;
        } else {
            w->var_offset[i] = align_up(w->global_bytes, v->align_bytes);
            w->global_bytes = w->var_offset[i] + v->size_bytes;
        }
        if (init && !put_inits(w, v, at))
            return false;
    }
    return true;
}

/* ---- relocations ---- */
/* NVIDIA's numbers; 0 where there is none. bru1 numbers relocations as RelocKind does. */
static uint32_t reloc_type(const Writer *w, RelocKind kind) {
    static const uint8_t native[RELOC_KIND_COUNT] = {[RELOC_ABS32_LO] = 56,
                                                     [RELOC_ABS32_HI] = 57,
                                                     [RELOC_CALL_REL] = 58,
                                                     [RELOC_SHARED_OFFSET32] = 55,
                                                     [RELOC_ABS64] = 2};
    if (w->sm == NO_SM)
        return (uint32_t)kind;
    return kind == RELOC_CALL_REL && w->sm >= 90 ? 75 : native[kind];
}

static bool add_rela(Writer *w, Bytes *out, uint64_t offset, RelocKind kind, StrId symbol, int64_t addend,
                     const char *where) {
    uint32_t type = reloc_type(w, kind), sym = strmap_get(&w->symbols, symbol);
    const char *name = str_text(w->c->ir->strings, symbol);
    if (!sym)
        return fail(w, where, arena_printf(w->a, "undefined symbol %s", name));
    if (!type)
        return fail(w, where, arena_printf(w->a, "no relocation of this target for the use of %s", name));
    bytes_u64(w->a, out, offset);
    bytes_u64(w->a, out, ELF64_R_INFO((uint64_t)sym, type));
    bytes_u64(w->a, out, (uint64_t)addend);
    return true;
}

static void set_rela(Writer *w, uint32_t section, Bytes b, uint32_t target) {
    set_data(w, section, b);
    header(w, section)->sh_link = SYMTAB;
    header(w, section)->sh_info = target;
    header(w, section)->sh_entsize = sizeof(Elf64_Rela);
}

static bool code_relocs(Writer *w) {
    for (uint32_t i = 0; i < w->c->nfuncs; i++) {
        const CodeFunc *f = &w->c->funcs[i];
        Bytes b = {0};
        for (uint32_t k = 0; k < f->relocs.n; k++) {
            const CodeReloc *r = &f->relocs.at[k];
            if (!add_rela(w, &b, r->offset_bytes, r->kind, r->symbol, r->addend, func_name(w, i)))
                return false;
        }
        if (w->parts[i].rela)
            set_rela(w, w->parts[i].rela, b, w->parts[i].text);
    }
    return true;
}

/* Name, in the module's strings, of what an initialiser takes the address of; 0 if it has no symbol. */
static StrId init_symbol(const Writer *w, uint32_t sym) {
    const IrModule *m = w->c->ir;
    uint32_t index = (sym & ~PTX_SYM_FUNC) - 1;
    if (sym & PTX_SYM_FUNC) {
        if (m->ptx->funcs[index].alias_of)
            index = m->ptx->funcs[index].alias_of - 1;
        const char *name = str_text(&m->ptx->strings, m->ptx->funcs[index].name);
        return str_find(m->strings, name, strlen(name));
    }
    for (uint32_t i = 0; i < m->vars.n; i++)
        if (m->vars.at[i].ptx == &m->ptx->vars[index])
            return m->vars.at[i].name;
    return (StrId){0};
}

static bool var_relocs(Writer *w) {
    const IrModule *m = w->c->ir;
    for (uint32_t i = 0; i < m->vars.n; i++) {
        const IrVar *v = &m->vars.at[i];
        const char *name = str_text(m->strings, v->name);
        if (!v->ptx || (v->space != SP_CONST && v->space != SP_GLOBAL))
            continue;
        for (uint32_t k = 0; k < v->ptx->ninits; k++) {
            const PtxInit *in = &v->ptx->inits[k];
            if (!in->sym)
                continue;
            if (in->size_bytes != 8 || in->shift)
                return fail(w, name, "an address in an initialiser must fill 8 bytes");
            Bytes *b = v->space == SP_CONST ? &w->const3_rela : &w->init_rela;
            if (!add_rela(w, b, w->var_offset[i] + in->offset_bytes, RELOC_ABS64, init_symbol(w, in->sym),
                          in->value, name))
                return false;
        }
    }
    if (w->const3_rela.n) /* added last: indices of the others are in use already */
        set_rela(w, add_section(w, ".rela.nv.constant3", "", SHT_RELA, SHF_INFO_LINK, 8), w->const3_rela,
                 w->const3);
    if (w->init_rela.n)
        set_rela(w, add_section(w, ".rela.nv.global.init", "", SHT_RELA, SHF_INFO_LINK, 8), w->init_rela,
                 w->global_init);
    return true;
}

/* ---- attribute records ---- */
typedef struct {
    VEC(uint32_t) exits, coop, coop_masks;
} Sites;

/* Offsets of the instructions that records list, found in the words as a loader would. */
static void find_sites(Writer *w, uint32_t index, Sites *out) {
    const CodeFunc *f = &w->c->funcs[index];
    for (uint32_t i = 0; i < f->ninsts; i++) {
        MachInst in;
        char error[ISA_ERROR_BYTES];
        if (!isa_decode(w->c->ir->target, f->words[i], &in, error))
            continue; /* data between instructions, from assembly text */
        uint32_t pc = i * INST_BYTES;
        switch (in.optype) {
        case OT_EXIT: VEC_ADD(w->a, &out->exits, pc); break;
        case OT_SHFL:
        case OT_VOTE:
        case OT_MATCH:
        case OT_REDUX:
            VEC_ADD(w->a, &out->coop, pc);
            VEC_ADD(w->a, &out->coop_masks, UINT32_MAX);
            break;
        default: break;
        }
    }
}

static uint32_t register_cap(const PtxFunc *p) {
    if (!p)
        return 0xff;
    uint64_t threads =
        (uint64_t)p->maxntid[0] * (p->maxntid[1] ? p->maxntid[1] : 1) * (p->maxntid[2] ? p->maxntid[2] : 1);
    uint32_t cap = 0xff;
    if (threads && p->minnctapersm) { /* registers of an SM over the threads that must fit, in eighths */
        uint64_t share = 65536 / (threads * p->minnctapersm) & ~7ull;
        cap = share < cap ? (uint32_t)share : cap;
    }
    return p->maxnreg && p->maxnreg < cap ? p->maxnreg : cap;
}

static void param_records(Writer *w, Bytes *b, uint32_t index) {
    const CodeFunc *f = &w->c->funcs[index];
    const PtxFunc *p = f->ir ? f->ir->ptx : NULL;
    if (!f->is_entry || !f->param_bytes)
        return;
    uint32_t cbank[2] = {w->parts[index].const0_sym, w->t->param_base_bytes | f->param_bytes << 16};
    nvinfo_words(w->a, b, NV_PARAM_CBANK, cbank, 2);
    nvinfo_value(w->a, b, NVF_HALF, NV_CBANK_PARAM_SIZE, f->param_bytes);
    uint32_t n = p ? p->nparams : f->nparams;
    for (uint32_t i = n; i-- > 0;) {
        const PtxVar *v = p ? &w->c->ir->ptx->vars[p->params[i]] : NULL;
        uint32_t offset = v ? (uint32_t)v->param_offset_bytes : f->params[i].offset_bytes;
        uint32_t size = v ? (uint32_t)v->size_bytes : f->params[i].size_bytes;
        uint32_t words[3] = {0, i | offset << 16, 0x1f000u | size << 18};
        nvinfo_words(w->a, b, NV_KPARAM_INFO, words, 3);
    }
}

static void bound_records(Writer *w, Bytes *b, const PtxFunc *p) {
    if (p && p->maxntid[0]) {
        uint32_t n[3] = {p->maxntid[0], p->maxntid[1] ? p->maxntid[1] : 1, p->maxntid[2] ? p->maxntid[2] : 1};
        nvinfo_words(w->a, b, NV_MAX_THREADS, n, 3);
    }
    if (p && p->reqntid[0]) {
        uint32_t n[3] = {p->reqntid[0], p->reqntid[1] ? p->reqntid[1] : 1, p->reqntid[2] ? p->reqntid[2] : 1};
        nvinfo_words(w->a, b, NV_REQNTID, n, 3);
    }
}

/* {BRX, 0, entries, targets...} for each; the size of a record has 16 bits. */
static void branch_records(Writer *w, Bytes *b, const CodeFunc *f) {
    enum { MAX_WORDS = 0xffff / 4 };
    VEC(uint32_t) words = {0};
    for (unsigned k = 0; k < f->tables.n; k++) {
        const CodeTable *t = &f->tables.at[k];
        if (words.n + 3 + t->n > MAX_WORDS) {
            nvinfo_words(w->a, b, NV_INDIRECT_BRANCH_TARGETS, words.at, words.n);
            words.n = 0;
        }
        VEC_ADD(w->a, &words, t->pc_bytes);
        VEC_ADD(w->a, &words, 0);
        VEC_ADD(w->a, &words, t->n);
        for (uint32_t e = 0; e < t->n; e++)
            VEC_ADD(w->a, &words, t->targets[e]);
    }
    if (words.n)
        nvinfo_words(w->a, b, NV_INDIRECT_BRANCH_TARGETS, words.at, words.n);
}

static void func_records(Writer *w, uint32_t index) {
    const CodeFunc *f = &w->c->funcs[index];
    const PtxFunc *p = f->ir && f->is_entry ? f->ir->ptx : NULL;
    Bytes b = {0};
    Sites sites = {0};
    find_sites(w, index, &sites);
    if (w->sm == 75 || w->sm >= 90)
        nvinfo_words(w->a, &b, NV_SW_WAR, &(uint32_t){w->sm == 75 ? 1 : 8}, 1);
    if (w->sm != NO_SM)
        nvinfo_words(w->a, &b, NV_CUDA_API_VERSION, &(uint32_t){w->old_form ? TOOLKIT_VERSION : 130}, 1);
    if (w->sm >= 80 && w->sm < 89)
        nvinfo_value(w->a, &b, NVF_NONE, NV_SW2861232_WAR, 0);
    param_records(w, &b, index);
    if (w->sm >= 90)
        nvinfo_value(w->a, &b, NVF_HALF, NV_SPARSE_MMA_MASK, 0);
    nvinfo_value(w->a, &b, NVF_HALF, NV_MAXREG_COUNT, register_cap(p));
    if (f->nbarriers && !w->old_form)
        nvinfo_value(w->a, &b, NVF_BYTE, NV_NUM_BARRIERS, f->nbarriers);
    if (w->sm != NO_SM && !w->old_form)
        nvinfo_value(w->a, &b, NVF_HALF, NV_ISA_VERSION, w->sm >= 90 ? 0x101 : 0);
    if (sites.coop.n) {
        nvinfo_words(w->a, &b, NV_COOP_GROUP_MASK_REGIDS, sites.coop_masks.at, sites.coop_masks.n);
        nvinfo_words(w->a, &b, NV_COOP_GROUP_INSTR_OFFSETS, sites.coop.at, sites.coop.n);
    }
    if (sites.exits.n)
        nvinfo_words(w->a, &b, NV_EXIT_INSTR_OFFSETS, sites.exits.at, sites.exits.n);
    branch_records(w, &b, f);
    if (f->uses_ctaid_z && w->sm < 90)
        nvinfo_value(w->a, &b, NVF_NONE, NV_CTAIDZ_USED, 0);
    bound_records(w, &b, p);
    if (f->uses_bssy)
        nvinfo_words(w->a, &b, NV_CRS_STACK_SIZE, &(uint32_t){0}, 1);
    uint32_t section = w->parts[index].info;
    set_data(w, section, b);
    header(w, section)->sh_link = SYMTAB;
    header(w, section)->sh_info = w->parts[index].text;
}

static void module_records(Writer *w) {
    Bytes b = {0};
    for (uint32_t i = 0; i < w->c->nfuncs; i++) {
        const CodeFunc *f = &w->c->funcs[i];
        uint32_t sym = w->parts[i].sym;
        bool recursive = f->stack_bytes == UINT32_MAX;
        nvinfo_words(w->a, &b, NV_REGCOUNT, (uint32_t[]){sym, f->nregs}, 2);
        if (w->old_form && f->is_entry && !recursive)
            nvinfo_words(w->a, &b, NV_MAX_STACK_SIZE, (uint32_t[]){sym, f->stack_bytes}, 2);
        nvinfo_words(w->a, &b, NV_FRAME_SIZE, (uint32_t[]){sym, f->frame_bytes}, 2);
        nvinfo_words(w->a, &b, NV_MIN_STACK_SIZE,
                     (uint32_t[]){sym, recursive ? f->frame_bytes : f->stack_bytes}, 2);
    }
    set_data(w, NV_INFO, b);
    header(w, NV_INFO)->sh_link = SYMTAB;
    for (uint32_t i = 0; i < w->c->nfuncs; i++)
        func_records(w, i);
}

/* ---- contents ---- */
/* {caller, callee} rows between the markers that ptxas writes. */
static void call_graph(Writer *w) {
    Bytes b = {0};
    bytes_u64(w->a, &b, 0xffffffffull << 32);
    for (uint32_t i = 0; i < w->c->nfuncs; i++) {
        const CodeFunc *f = &w->c->funcs[i];
        for (uint32_t k = 0; k < f->relocs.n; k++) {
            RelocKind kind = f->relocs.at[k].kind;
            if (kind == RELOC_CALL_REL || kind == RELOC_CALL_ABS)
                bytes_u64(w->a, &b,
                          w->parts[i].sym | (uint64_t)strmap_get(&w->symbols, f->relocs.at[k].symbol) << 32);
        }
    }
    for (uint64_t marker = 0xfffffffe; marker >= 0xfffffffc; marker--)
        bytes_u64(w->a, &b, marker << 32);
    uint32_t s = add_section(w, ".nv.callgraph", "", SHT_NV_CALLGRAPH, 0, 4);
    set_data(w, s, b);
    header(w, s)->sh_link = SYMTAB;
    header(w, s)->sh_entsize = 8;
}

static void func_contents(Writer *w, uint32_t i) {
    const CodeFunc *f = &w->c->funcs[i];
    const FuncParts *p = &w->parts[i];
    Bytes code = {0};
    for (uint32_t k = 0; k < f->ninsts; k++) {
        bytes_u64(w->a, &code, f->words[k][0]);
        bytes_u64(w->a, &code, f->words[k][1]);
    }
    set_data(w, p->text, code);
    Elf64_Shdr *text = header(w, p->text);
    text->sh_link = SYMTAB;
    if (w->sm != NO_SM)
        text->sh_info = p->sym | (w->sm < 90 ? f->nregs << 24 : 0);
    if (w->old_form)
        text->sh_flags |= (uint64_t)f->nbarriers << 20;
    if (p->const0) {
        Bytes bank = {0};
        bytes_add(w->a, &bank, NULL, w->t->param_base_bytes + f->param_bytes);
        set_data(w, p->const0, bank);
        header(w, p->const0)->sh_info = p->text;
    }
    if (p->const2) {
        Bytes bank = {0};
        bytes_add(w->a, &bank, f->const2, f->const2_bytes);
        set_data(w, p->const2, bank);
        header(w, p->const2)->sh_info = p->text;
    }
    if (p->shared) {
        header(w, p->shared)->sh_size = f->shared_bytes;
        header(w, p->shared)->sh_info = p->text;
    }
}

static void heddle_sections(Writer *w) {
    const PtxModule *ptx = w->c->ir->ptx;
    if (!w->opt->no_map)
        set_data(w, add_section(w, ".heddle.map", "", SHT_HD_MAP, 0, 4), map_build(w->a, w->c));
    if (!w->opt->no_ptx && ptx && ptx->source.size_bytes) {
        Bytes b = {0};
        bytes_add(w->a, &b, ptx->source.text, ptx->source.size_bytes);
        set_data(w, add_section(w, ".heddle.ptx", "", SHT_HD_PTX, 0, 1), b);
    }
}

/* ---- header and segments ---- */
static void make_header(Writer *w) {
    Elf64_Ehdr *h = &w->e->h;
    memcpy(h->e_ident, ELFMAG, SELFMAG);
    h->e_ident[EI_CLASS] = ELFCLASS64;
    h->e_ident[EI_DATA] = ELFDATA2LSB;
    h->e_ident[EI_VERSION] = EV_CURRENT;
    bool new_form = w->sm != NO_SM && !w->old_form;
    h->e_ident[EI_OSABI] = new_form ? 0x41 : w->t->elf_osabi;
    h->e_ident[EI_ABIVERSION] = new_form ? 8 : w->t->elf_abiversion;
    h->e_type = ET_EXEC;
    h->e_machine = w->t->elf_machine;
    h->e_version = w->old_form ? TOOLKIT_VERSION : EV_CURRENT;
    h->e_flags = new_form ? 0x06000004u | w->sm << 8 : w->t->elf_flags;
    h->e_ehsize = sizeof(Elf64_Ehdr);
    h->e_shentsize = sizeof(Elf64_Shdr);
    h->e_phentsize = sizeof(Elf64_Phdr);
    h->e_shstrndx = SHSTRTAB;
}

/* A LOAD segment around the sections that have `want` of the flags `mask`. They are neighbours. */
static Elf64_Phdr segment(const Writer *w, uint64_t mask, uint64_t want, uint32_t flags) {
    Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = flags, .p_align = 8};
    uint64_t end = 0, memory = 0;
    bool any = false;
    for (uint32_t i = 1; i < w->e->sections.n; i++) {
        const Elf64_Shdr *h = &w->e->sections.at[i].h;
        if ((h->sh_flags & mask) != want)
            continue;
        if (!any)
            p.p_offset = end = h->sh_offset;
        any = true;
        if (h->sh_type == SHT_NOBITS)
            memory += h->sh_size;
        else
            end = h->sh_offset + h->sh_size;
    }
    p.p_filesz = end - p.p_offset;
    p.p_memsz = p.p_filesz + memory;
    return p;
}

static void make_segments(Writer *w) {
    uint64_t size = 4 * sizeof(Elf64_Phdr);
    for (int i = 0; i < 4; i++)
        VEC_PUSH(w->a, &w->e->segments);
    elfimg_layout(w->e, false);
    Elf64_Phdr self = {.p_type = PT_PHDR,
                       .p_flags = PF_R | PF_X,
                       .p_offset = w->e->h.e_phoff,
                       .p_filesz = size,
                       .p_memsz = size,
                       .p_align = 8};
    w->e->segments.at[0] = self;
    w->e->segments.at[1] = segment(w, SHF_ALLOC | SHF_WRITE, SHF_ALLOC, PF_R | PF_X);
    w->e->segments.at[2] = segment(w, SHF_ALLOC | SHF_WRITE, SHF_ALLOC | SHF_WRITE, PF_R | PF_W);
    self.p_type = PT_LOAD;
    w->e->segments.at[3] = self;
}

static bool fill(Writer *w) {
    make_symbols(w);
    call_graph(w);
    for (uint32_t i = 0; i < w->c->nfuncs; i++)
        func_contents(w, i);
    if (w->const3)
        set_data(w, w->const3, w->const3_data);
    if (w->global_init)
        set_data(w, w->global_init, w->init_data);
    if (w->global)
        header(w, w->global)->sh_size = w->global_bytes;
    module_records(w);
    if (!code_relocs(w) || !var_relocs(w))
        return false;
    heddle_sections(w);
    set_data(w, STRTAB, w->strtab);
    set_data(w, SYMTAB, w->symtab);
    set_data(w, SHSTRTAB, w->shstrtab);
    return true;
}

static bool check_limits(Writer *w) {
    if (w->c->nfuncs > 8000)
        return fail(w, "module", "more than 8000 functions");
    for (uint32_t i = 0; i < w->c->nfuncs; i++) {
        const CodeFunc *f = &w->c->funcs[i];
        if (f->is_entry && f->param_bytes > 0xffff - w->t->param_base_bytes)
            return fail(w, func_name(w, i), "more parameter bytes than a constant bank holds");
        if (f->nregs > 255 || f->nbarriers > 16)
            return fail(w, func_name(w, i), "more registers or barriers than the format can say");
    }
    return true;
}

bool elf_write_with(const CodeModule *c, const ElfOptions *opt, void **image, size_t *size_bytes, Diags *d) {
    Arena arena = {0};
    Writer w = {.a = &arena, .c = c, .opt = opt, .t = isa_target_info(c->ir->target), .d = d};
    w.sm = w.t->elf_machine == EM_NV_CUDA ? w.t->elf_flags & 0xff : NO_SM;
    w.old_form = w.sm != NO_SM && !opt->new_form;
    w.e = ARENA_NEW(&arena, ElfImage);
    w.parts = ARENA_ARRAY(&arena, FuncParts, c->nfuncs + 1);
    bool good = check_limits(&w) && lay_out_vars(&w);
    if (good) {
        make_sections(&w);
        good = fill(&w);
    }
    if (good) {
        make_header(&w);
        make_segments(&w);
        good = elfimg_write(w.e, image, size_bytes, d);
    }
    arena_free(&arena);
    return good;
}

bool elf_write(const CodeModule *c, void **image, size_t *size_bytes, Diags *d) {
    return elf_write_with(c, &(ElfOptions){0}, image, size_bytes, d);
}
