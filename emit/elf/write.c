/* Encoded module to ELF: sections, symbols, relocations and attribute records, as NVIDIA's tools arrange
 * them (docs/elf.md). First every section is made, so that indices are known, then symbols, then contents.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/relocatable.h"
#include "base/align.h"
#include "emit/elf/texture.h"
#include "emit/elf/map.h"
#include "emit/elf/nvinfo.h"
#include "frontend/ast.h"
#include "isa/machine/occupancy.h"
#include "isa/machine/banks.h"
#include "isa/machine/system.h"
#include <string.h>
#include <xxhash.h>

static bool write_error(ElfWriter *writer, const char *name, const char *what) {
    return diag(writer->d, (SrcLoc){0}, DIAG_E0412, name, what);
}

const char *elf_func_name(const ElfWriter *writer, uint32_t i) { return writer->parts[i].name; }

/* Each object has its own functions of the built-in library, compiled as its callers know them; with names of
 * their own, for who reads the joined file by names. */
static void name_functions(ElfWriter *writer) {
    const PtxModule *ptx = writer->code->ir->ptx;
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const CodeFunc *f = &writer->code->funcs[i];
        const char *name = str_text(writer->code->ir->strings, f->name);
        bool own = writer->opt->relocatable && !f->ir->ptx;
        writer->parts[i].name =
            own ? arena_printf(writer->a, "%s$%016llx", name,
                               (unsigned long long)XXH3_64bits(ptx->source.text, ptx->source.size_bytes))
                : name;
    }
}

/* ---- sections ---- */
uint32_t elf_add_section(ElfWriter *writer, const char *prefix, const char *name, uint32_t type,
                         uint64_t flags, uint64_t align) {
    ElfSection *section = VEC_PUSH(writer->a, &writer->elf->sections);
    section->name = arena_join(writer->a, prefix, name);
    section->h.sh_name = elf_bytes_string(writer->a, &writer->shstrtab, section->name);
    section->h.sh_type = type;
    section->h.sh_flags = flags;
    section->h.sh_addralign = align;
    return writer->elf->sections.n - 1;
}

Elf64_Shdr *elf_section_header(ElfWriter *writer, uint32_t section) {
    return &writer->elf->sections.at[section].h;
}

void elf_set_data(ElfWriter *writer, uint32_t section, Bytes b) {
    writer->elf->sections.at[section].data = b.n ? b.at : NULL;
    writer->elf->sections.at[section].h.sh_size = b.n;
}

void elf_add_debug_section(ElfWriter *writer, uint32_t section, const char *name, bool addends, Bytes data,
                           Bytes relocs) {
    if (!section)
        section = elf_add_section(writer, ".", name, SHT_PROGBITS, 0, 1);
    elf_set_data(writer, section, data);
    uint32_t table = elf_add_section(writer, addends ? ".rela." : ".rel.", name, addends ? SHT_RELA : SHT_REL,
                                     SHF_INFO_LINK, 8);
    elf_set_data(writer, table, relocs);
    Elf64_Shdr *header = elf_section_header(writer, table);
    header->sh_link = SYMTAB;
    header->sh_info = section;
    header->sh_entsize = addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
}

/* Types of sections: objects have NVIDIA's own. */
static uint32_t section_type(const ElfWriter *writer, uint32_t in_executable, uint32_t in_object) {
    return writer->opt->relocatable ? in_object : in_executable;
}

static uint64_t info_link(const ElfWriter *writer) { return writer->old_form ? 0 : SHF_INFO_LINK; }

static void make_rela_sections(ElfWriter *writer) {
    for (uint32_t i = 0; i < writer->code->nfuncs; i++)
        if (elf_code_relocs(&writer->code->funcs[i]))
            writer->parts[i].rela =
                elf_add_section(writer, ".rela.text.", elf_func_name(writer, i), SHT_RELA, SHF_INFO_LINK, 8);
}

/* Where the system keeps the start of shared memory for itself, a kernel that only uses what the launch gives
 * declares that part, as with ptxas. */
static bool declares_shared(const ElfWriter *writer, const CodeFunc *f) {
    bool any = f->shared_bytes != 0;
    for (uint32_t i = 0; writer->target->shared_base_bytes && i < writer->code->ir->vars.n; i++)
        any |= writer->code->ir->vars.at[i].is_extern_shared;
    return f->is_entry && any;
}

/* A note of NVIDIA's. */
static uint32_t add_note(ElfWriter *writer, const char *name, uint32_t type, uint32_t flags, Bytes desc) {
    static const char owner[] = "NVIDIA Corp";
    Bytes note = {0};
    elf_bytes_u32(writer->a, &note, sizeof owner);
    elf_bytes_u32(writer->a, &note, (uint32_t)desc.n);
    elf_bytes_u32(writer->a, &note, type);
    elf_bytes_add(writer->a, &note, owner, sizeof owner);
    elf_bytes_add(writer->a, &note, desc.at, desc.n);
    uint32_t section = elf_add_section(writer, name, "", SHT_NOTE, flags, 4);
    elf_set_data(writer, section, note);
    return section;
}

/* Who made the file, which nvlink asks objects for: five texts (file, tool, version, branch, options). */
static uint32_t tool_note(ElfWriter *writer) {
    enum { NOTE_TKINFO = 2000, TKINFO_FLAGS = 0x2000000, NOTE_VERSION = 2 };
    static const char *const words[] = {"", "heddle", HEDDLE_VERSION, "", ""};
    Bytes desc = {0}, names = {0};
    elf_bytes_u32(writer->a, &desc, NOTE_VERSION);
    elf_bytes_add(writer->a, &names, "", 1);
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
        elf_bytes_u32(writer->a, &desc, elf_bytes_string(writer->a, &names, words[k]));
    elf_bytes_add(writer->a, &desc, names.at, names.n);
    elf_bytes_add(writer->a, &desc, NULL, (4 - desc.n % 4) % 4);
    return add_note(writer, ".note.nv.tkinfo", NOTE_TKINFO, TKINFO_FLAGS, desc);
}

/* Records of what loads the file, which are these for every module that ptxas 13.0 was given. */
static uint32_t compat_section(ElfWriter *writer) {
    enum { ISA_VERSION_90 = 0x101 };
    const struct {
        uint8_t form, code;
        uint16_t value;
    } compat[] = {{NVF_BYTE, COMPAT_OWN_FORM, (writer->target->elf_flags & ELF_OWN_FORM) != 0},
                  {NVF_BYTE, 2, 1},
                  {NVF_BYTE, 5, 5},
                  {NVF_HALF, 7, ISA_VERSION_90},
                  {NVF_BYTE, 3, 0},
                  {NVF_BYTE, 6, 1}};
    Bytes records = {0};
    for (unsigned k = 0; k < sizeof compat / sizeof *compat; k++)
        elf_bytes_u32(writer->a, &records,
                      compat[k].form | (uint32_t)compat[k].code << 8 | (uint32_t)compat[k].value << 16);
    elf_bytes_u32(writer->a, &records, NVF_SIZED | 0xbu << 8 | 8u << 16);
    elf_bytes_u64(writer->a, &records, 0);
    uint32_t section = elf_add_section(writer, ".nv.compat", "", SHT_NV_COMPAT, 0, 4);
    elf_set_data(writer, section, records);
    return section;
}

/* What NVIDIA's tools ask for in a file of the new form: a note with the .target and the toolkit's version,
 * one that names the maker, and from sm_90 on the records of what loads it. They stand before the code:
 * nvlink reads the sections of objects in their order, and the header has eight bits for the first one's
 * number. */
static void compatibility_sections(ElfWriter *writer) {
    enum { NOTE_CUINFO = 1000, NOTE_VERSION = 2, CUINFO_FLAGS = 0x1000000 };
    const PtxModule *ptx = writer->code->ir->ptx;
    uint32_t made_for = ptx ? ptx->sm : writer->target->elf_flags & 0xff;
    uint32_t tool = tool_note(writer);
    Bytes desc = {0};
    elf_bytes_u32(writer->a, &desc, NOTE_VERSION | made_for << 16);
    elf_bytes_u32(writer->a, &desc, NEW_TOOLKIT_VERSION);
    uint32_t note = add_note(writer, ELF_LOADER_NOTE, NOTE_CUINFO, CUINFO_FLAGS, desc);
    uint32_t compat = elf_since_sm_90(writer) ? compat_section(writer) : 0;
    elf_section_header(writer, note)->sh_link = tool;
    if (compat) {
        elf_section_header(writer, note)->sh_info = compat;
        elf_section_header(writer, note)->sh_flags |= SHF_INFO_LINK;
    }
}

static void make_sections(ElfWriter *writer) {
    const CodeModule *module = writer->code;
    VEC_PUSH(writer->a, &writer->elf->sections)->name = "";
    elf_bytes_add(writer->a, &writer->shstrtab, "", 1);
    elf_bytes_add(writer->a, &writer->strtab, "", 1);
    elf_add_section(writer, ".shstrtab", "", SHT_STRTAB, 0, 1);
    elf_add_section(writer, ".strtab", "", SHT_STRTAB, 0, 1);
    elf_add_section(writer, ".symtab", "", SHT_SYMTAB, 0, 8);
    elf_add_section(writer, ".nv.info", "", SHT_NV_INFO, 0, 4);
    if (elf_is_native(writer) && !writer->old_form)
        compatibility_sections(writer);
    if (writer->opt->relocatable) {
        writer->frames = elf_add_section(writer, ".debug_frame", "", SHT_PROGBITS, 0, 1);
    }
    for (uint32_t i = 0; i < module->nfuncs; i++)
        writer->parts[i].info =
            elf_add_section(writer, ".nv.info.", elf_func_name(writer, i), SHT_NV_INFO, info_link(writer), 4);
    make_rela_sections(writer);
    if (writer->const3_data.n)
        writer->const3 = elf_add_section(writer, ".nv.constant3", "",
                                         section_type(writer, SHT_PROGBITS, SHT_NV_CONSTANT_B0 + 3),
                                         SHF_ALLOC, writer->const3_align);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].const2_bytes)
            writer->parts[i].const2 = elf_add_section(writer, ".nv.constant2.", elf_func_name(writer, i),
                                                      SHT_PROGBITS, SHF_ALLOC | info_link(writer), 8);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].is_entry)
            writer->parts[i].const0 = elf_add_section(writer, ".nv.constant0.", elf_func_name(writer, i),
                                                      section_type(writer, SHT_PROGBITS, SHT_NV_CONSTANT_B0),
                                                      SHF_ALLOC | info_link(writer), 4);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        writer->parts[i].text = elf_add_section(writer, ".text.", elf_func_name(writer, i), SHT_PROGBITS,
                                                SHF_ALLOC | SHF_EXECINSTR, 128);
    if (writer->init_data.n)
        writer->global_init = elf_add_section(writer, ".nv.global.init", "",
                                              section_type(writer, SHT_PROGBITS, SHT_NV_GLOBAL_INIT),
                                              SHF_ALLOC | SHF_WRITE, writer->init_align);
    if (writer->global_bytes)
        writer->global =
            elf_add_section(writer, ".nv.global", "", section_type(writer, SHT_NOBITS, SHT_NV_GLOBAL),
                            SHF_ALLOC | SHF_WRITE, writer->global_align);
    if (writer->opt->relocatable)
        elf_object_shared(writer);
    for (uint32_t i = 0; i < module->nfuncs && !writer->opt->relocatable; i++)
        if (declares_shared(writer, &module->funcs[i]))
            writer->parts[i].shared =
                elf_add_section(writer, ".nv.shared.", elf_func_name(writer, i), SHT_NOBITS,
                                SHF_ALLOC | SHF_WRITE | info_link(writer), 16);
}

/* ---- symbols ---- */
uint32_t elf_add_symbol(ElfWriter *writer, const char *name, uint64_t value, uint64_t size, unsigned info,
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

static void add_var_symbols(ElfWriter *writer, bool global) {
    const IrModule *module = writer->code->ir;
    for (uint32_t i = 0; i < module->vars.n; i++) {
        const IrVar *var = &module->vars.at[i];
        bool is_const = var->space == SP_CONST;
        bool shared = writer->opt->relocatable && var->space == SP_SHARED && !var->is_extern_shared;
        if (var_is_global(var) != global || (!is_const && var->space != SP_GLOBAL && !shared) ||
            var->linkage == LINK_EXTERN)
            continue;
        bool init = var->ptx && var->ptx->ninits;
        uint32_t section = shared     ? writer->var_section[i]
                           : is_const ? writer->const3
                           : init     ? writer->global_init
                                      : writer->global;
        unsigned other = 0, type = STT_OBJECT;
        if (writer->opt->relocatable)
            type = elf_object_var_info(var, &other);
        unsigned bind = !global                                                    ? STB_LOCAL
                        : var->linkage == LINK_WEAK || var->linkage == LINK_COMMON ? STB_WEAK
                                                                                   : STB_GLOBAL;
        uint32_t sym = elf_add_symbol(writer, str_text(module->strings, var->name), writer->var_offset[i],
                                      var->size_bytes, ELF64_ST_INFO(bind, type), other, section);
        strmap_put(&writer->symbols, writer->a, var->name, sym);
    }
}

/* Of objects, the built-in library's functions are each one's own. */
static bool func_is_global(const ElfWriter *writer, const CodeFunc *f) {
    if (writer->opt->relocatable && !f->ir->ptx)
        return false;
    return !f->ir || !f->ir->ptx || f->ir->ptx->linkage != LINK_NONE;
}

static void add_func_symbols(ElfWriter *writer, bool global) {
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const CodeFunc *f = &writer->code->funcs[i];
        if (func_is_global(writer, f) != global)
            continue;
        unsigned bind = !global                                                   ? STB_LOCAL
                        : f->ir && f->ir->ptx && f->ir->ptx->linkage == LINK_WEAK ? STB_WEAK
                                                                                  : STB_GLOBAL;
        writer->parts[i].sym = elf_add_symbol(writer, elf_func_name(writer, i), 0,
                                              (uint64_t)f->ninsts * INST_BYTES, ELF64_ST_INFO(bind, STT_FUNC),
                                              f->is_entry ? STO_NV_ENTRY : 0, writer->parts[i].text);
        strmap_put(&writer->symbols, writer->a, f->name, writer->parts[i].sym);
    }
}

/* Name, in the module's strings, of what an initialiser takes the address of; 0 if it has no symbol. */
static StrId init_symbol(const ElfWriter *writer, uint32_t sym) {
    const IrModule *module = writer->code->ir;
    uint32_t index = (sym & ~PTX_SYM_FUNC) - 1;
    if (sym & PTX_SYM_FUNC) {
        if (module->ptx->funcs[index].alias_of)
            index = module->ptx->funcs[index].alias_of - 1;
        const char *name = str_text(&module->ptx->strings, module->ptx->funcs[index].name);
        return str_intern_z(module->strings, name);
    }
    for (uint32_t i = 0; i < module->vars.n; i++)
        if (module->vars.at[i].ptx == &module->ptx->vars[index])
            return module->vars.at[i].name;
    return (StrId){0};
}

static void add_extern_symbol(ElfWriter *writer, StrId symbol) {
    const char *name = str_text(writer->code->ir->strings, symbol);
    if (strmap_get(&writer->symbols, symbol) ||
        (system_find(name) == SYSTEM_COUNT && !writer->opt->relocatable))
        return;
    uint32_t at = elf_add_symbol(writer, name, 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF);
    strmap_put(&writer->symbols, writer->a, symbol, at);
}

/* The driver's functions, which code names and nobody defines; in objects, also what others define, which
 * initialisers may name, too. */
static void add_extern_symbols(ElfWriter *writer) {
    const IrModule *module = writer->code->ir;
    for (uint32_t i = 0; i < writer->code->nfuncs; i++)
        for (uint32_t k = 0; k < writer->code->funcs[i].relocs.n; k++)
            add_extern_symbol(writer, writer->code->funcs[i].relocs.at[k].symbol);
    for (uint32_t i = 0; i < module->vars.n && writer->opt->relocatable; i++) {
        const PtxVar *var = module->vars.at[i].ptx;
        for (uint32_t k = 0; var && k < var->ninits; k++)
            if (var->inits[k].sym & PTX_SYM_FUNC)
                add_extern_symbol(writer, init_symbol(writer, var->inits[k].sym));
    }
}

/* What code asks of textures is in a table of the driver's, of which only loaders know how it is laid out. */
static void add_table_symbol(ElfWriter *writer, StrId symbol) {
    const char *name = str_text(writer->code->ir->strings, symbol);
    if (strcmp(name, IR_TEXTURE_BYTES) == 0 && !strmap_get(&writer->symbols, symbol))
        strmap_put(&writer->symbols, writer->a, symbol,
                   elf_add_symbol(writer, name, 0, sizeof(uint32_t), ELF64_ST_INFO(STB_WEAK, STT_OBJECT), 0,
                                  SHN_UNDEF));
}

static void add_texture_symbols(ElfWriter *writer) {
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        for (uint32_t k = 0; k < writer->code->funcs[i].relocs.n; k++)
            add_table_symbol(writer, writer->code->funcs[i].relocs.at[k].symbol);
        for (uint32_t k = 0; k < writer->parts[i].textures.n; k++) {
            StrId name = writer->parts[i].textures.at[k];
            unsigned type = elf_is_surface(writer->code, name) ? STT_NV_SURFACE : STT_NV_TEXTURE;
            if (!strmap_get(&writer->symbols, name))
                strmap_put(&writer->symbols, writer->a, name,
                           elf_add_symbol(writer, str_text(writer->code->ir->strings, name), 0, 0,
                                          ELF64_ST_INFO(STB_GLOBAL, type), 0, SHN_UNDEF));
        }
    }
}

void elf_find_externs(const ElfWriter *writer, const CodeFunc *f, ElfSyms *out) {
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

static void make_symbols(ElfWriter *writer) {
    elf_add_symbol(writer, "", 0, 0, 0, 0, 0);
    const unsigned section = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
    if (writer->opt->relocatable && !writer->opt->no_ptx &&
        writer->code->ir->ptx) /* of the text's messages */
        elf_add_symbol(writer, writer->code->ir->ptx->source.name, 0, 0, ELF64_ST_INFO(STB_LOCAL, STT_FILE),
                       0, SHN_ABS);
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        ElfParts *func_parts = &writer->parts[i];
        elf_add_symbol(writer, writer->elf->sections.at[func_parts->text].name, 0, 0, section, 0,
                       func_parts->text);
        if (func_parts->const0)
            func_parts->const0_sym = elf_add_symbol(writer, writer->elf->sections.at[func_parts->const0].name,
                                                    0, 0, section, 0, func_parts->const0);
        if (func_parts->shared)
            elf_add_symbol(writer, writer->elf->sections.at[func_parts->shared].name, 0, 0, section, 0,
                           func_parts->shared);
    }
    if (writer->frames)
        writer->frames_sym = elf_add_symbol(writer, ".debug_frame", 0, 0, section, 0, writer->frames);
    add_var_symbols(writer, false);
    add_func_symbols(writer, false);
    elf_section_header(writer, SYMTAB)->sh_info = writer->nsyms;
    add_var_symbols(writer, true);
    add_func_symbols(writer, true);
    add_texture_symbols(writer);
    if (writer->opt->relocatable)
        elf_object_extern_vars(writer);
    writer->first_extern = writer->nsyms;
    add_extern_symbols(writer);
    elf_section_header(writer, SYMTAB)->sh_link = STRTAB;
    elf_section_header(writer, SYMTAB)->sh_entsize = sizeof(Elf64_Sym);
}

/* ---- variables ---- */
/* A .const variable whose address in its space is meant, which is a number; NULL: the item is something else.
 */
static const IrVar *const_offset_of(const ElfWriter *writer, const PtxInit *init) {
    const IrModule *module = writer->code->ir;
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
static bool put_inits(ElfWriter *writer, const IrVar *var, uint8_t *at) {
    for (uint32_t i = 0; i < var->ptx->ninits; i++) {
        const PtxInit *in = &var->ptx->inits[i];
        if (in->size_bytes > 8 || in->offset_bytes + (uint64_t)in->size_bytes > var->size_bytes)
            return write_error(writer, str_text(writer->code->ir->strings, var->name),
                               "an initialiser lies outside the variable");
        const IrVar *target = const_offset_of(writer, in);
        if (target && writer->opt->relocatable)
            return write_error(writer, str_text(writer->code->ir->strings, var->name),
                               "an offset in constant memory, which only the linker knows, as initial value");
        uint64_t value = ((uint64_t)in->value + (target ? target->offset_bytes : 0)) >> in->shift;
        for (unsigned k = 0; (!in->sym || target) && k < in->size_bytes; k++)
            at[in->offset_bytes + k] = (uint8_t)(value >> (8 * k));
    }
    return true;
}

static void raise_align(uint64_t *section, uint64_t var) { *section = var > *section ? var : *section; }

static bool lay_out_vars(ElfWriter *writer) {
    const IrModule *module = writer->code->ir;
    bool joined = writer->opt->relocatable; /* with other objects' sections */
    writer->const3_align = joined ? 4 : 16;
    writer->init_align = writer->global_align = joined ? 4 : 256;
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
                return diag(writer->d, var->ptx->loc, DIAG_E0704, str_text(module->strings, var->name),
                            "the initialised variables of a file", (unsigned long long)FILE_MAX_INIT);
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

/* ---- relocations ---- */
uint32_t elf_reloc_type(const ElfWriter *writer, RelocKind kind) {
    return elf_reloc_number(writer->code->ir->target, kind);
}

static bool add_rela(ElfWriter *writer, Bytes *out, uint64_t offset, RelocKind kind, StrId symbol,
                     int64_t addend, const char *where) {
    uint32_t type = elf_reloc_type(writer, kind), sym = strmap_get(&writer->symbols, symbol);
    const char *name = str_text(writer->code->ir->strings, symbol);
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

static void set_rela(ElfWriter *writer, uint32_t section, Bytes b, uint32_t target) {
    elf_set_data(writer, section, b);
    elf_section_header(writer, section)->sh_link = SYMTAB;
    elf_section_header(writer, section)->sh_info = target;
    elf_section_header(writer, section)->sh_entsize = sizeof(Elf64_Rela);
}

static bool code_relocs(ElfWriter *writer) {
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const CodeFunc *f = &writer->code->funcs[i];
        Bytes b = {0};
        for (uint32_t k = 0; k < f->relocs.n; k++) {
            const CodeReloc *reloc = &f->relocs.at[k];
            if (reloc->kind == RELOC_TEXTURE)
                continue;
            if (!add_rela(writer, &b, reloc->offset_bytes, reloc->kind, reloc->symbol, reloc->addend,
                          elf_func_name(writer, i)))
                return false;
        }
        if (writer->parts[i].rela)
            set_rela(writer, writer->parts[i].rela, b, writer->parts[i].text);
    }
    return true;
}

/* The words of constant memory that hold handles; without addends, as ptxas writes them. */
static void texture_relocs(ElfWriter *writer) {
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const ElfTextures *all = &writer->parts[i].textures;
        uint32_t base = elf_texture_base(writer->code, &writer->code->funcs[i]);
        Bytes b = {0};
        for (uint32_t k = 0; k < all->n; k++) {
            uint32_t type = elf_is_surface(writer->code, all->at[k]) ? RELOC_NV_SURFACE : RELOC_NV_TEXTURE;
            elf_bytes_u64(writer->a, &b, base + 4 * k);
            elf_bytes_u64(writer->a, &b,
                          ELF64_R_INFO((uint64_t)strmap_get(&writer->symbols, all->at[k]),
                                       elf_is_native(writer) ? type : (uint32_t)RELOC_TEXTURE));
        }
        if (!all->n)
            continue;
        uint32_t section = elf_add_section(writer, ".rel.nv.constant0.", elf_func_name(writer, i), SHT_REL,
                                           SHF_INFO_LINK, 8);
        set_rela(writer, section, b, writer->parts[i].const0);
        elf_section_header(writer, section)->sh_entsize = sizeof(Elf64_Rel);
    }
}

static bool var_relocs(ElfWriter *writer) {
    const IrModule *module = writer->code->ir;
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
                return diag(writer->d, var->ptx->loc, DIAG_E0711, name);
            Bytes *b = var->space == SP_CONST ? &writer->const3_rela : &writer->init_rela;
            if (!add_rela(writer, b, writer->var_offset[i] + in->offset_bytes,
                          in->generic && !(in->sym & PTX_SYM_FUNC) ? RELOC_GENERIC64 : RELOC_ABS64,
                          init_symbol(writer, in->sym), in->value, name))
                return false;
        }
    }
    if (writer->const3_rela.n) /* added last: indices of the others are in use already */
        set_rela(writer, elf_add_section(writer, ".rela.nv.constant3", "", SHT_RELA, SHF_INFO_LINK, 8),
                 writer->const3_rela, writer->const3);
    if (writer->init_rela.n)
        set_rela(writer, elf_add_section(writer, ".rela.nv.global.init", "", SHT_RELA, SHF_INFO_LINK, 8),
                 writer->init_rela, writer->global_init);
    return true;
}

/* ---- contents ---- */
/* A row {caller, callee}, once: of a kernel that calls a recursive function nvlink says for each row that its
 * stack's size is not known. `first`: where the caller's rows begin. */
static void add_call(ElfWriter *writer, Bytes *b, uint32_t first, uint32_t caller, uint32_t callee) {
    uint64_t row = caller | (uint64_t)callee << 32, other;
    for (uint32_t at = first; at < b->n; at += (uint32_t)sizeof row) {
        memcpy(&other, b->at + at, sizeof other);
        if (other == row)
            return;
    }
    elf_bytes_u64(writer->a, b, row);
}

/* {caller, callee} rows between the markers that ptxas writes. */
static void call_graph(ElfWriter *writer) {
    Bytes b = {0};
    elf_bytes_u64(writer->a, &b, 0xffffffffull << 32);
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const CodeFunc *f = &writer->code->funcs[i];
        uint32_t first = b.n, caller = writer->parts[i].sym;
        for (uint32_t k = 0; k < f->relocs.n; k++) {
            RelocKind kind = f->relocs.at[k].kind;
            if (kind == RELOC_CALL_REL || kind == RELOC_CALL_ABS)
                add_call(writer, &b, first, caller, strmap_get(&writer->symbols, f->relocs.at[k].symbol));
        }
        ElfSyms externs = {0};
        elf_find_externs(writer, f, &externs);
        for (uint32_t k = 0; k < externs.n; k++)
            add_call(writer, &b, first, caller, externs.at[k]);
    }
    for (uint64_t marker = 0xfffffffe; marker >= 0xfffffffc; marker--) {
        elf_bytes_u64(writer->a, &b, marker << 32);
        if (writer->opt->relocatable && marker == 0xfffffffe)
            elf_object_taken(writer, &b);
        if (writer->opt->relocatable && marker == 0xfffffffd)
            elf_object_indirect(writer, &b);
    }
    uint32_t s = elf_add_section(writer, ".nv.callgraph", "", SHT_NV_CALLGRAPH, 0, 4);
    elf_set_data(writer, s, b);
    elf_section_header(writer, s)->sh_link = SYMTAB;
    elf_section_header(writer, s)->sh_entsize = 8;
}

static void func_contents(ElfWriter *writer, uint32_t i) {
    const CodeFunc *f = &writer->code->funcs[i];
    const ElfParts *func_parts = &writer->parts[i];
    Bytes code = {0};
    for (uint32_t k = 0; k < f->ninsts; k++) {
        elf_bytes_u64(writer->a, &code, f->words[k][0]);
        elf_bytes_u64(writer->a, &code, f->words[k][1]);
    }
    elf_set_data(writer, func_parts->text, code);
    Elf64_Shdr *text = elf_section_header(writer, func_parts->text);
    text->sh_link = SYMTAB;
    if (elf_is_native(writer))
        text->sh_info = func_parts->sym | (elf_since_sm_90(writer) ? 0 : f->nregs << 24);
    if (writer->old_form)
        text->sh_flags |= (uint64_t)f->nbarriers << 20;
    if (func_parts->const0) {
        Bytes bank = {0};
        elf_bytes_add(writer->a, &bank, NULL,
                      func_parts->textures.n ? elf_texture_base(writer->code, f) + 4 * func_parts->textures.n
                                             : writer->target->param_base_bytes + f->param_bytes);
        elf_set_data(writer, func_parts->const0, bank);
        elf_section_header(writer, func_parts->const0)->sh_info = func_parts->text;
    }
    if (func_parts->const2) {
        Bytes bank = {0};
        elf_bytes_add(writer->a, &bank, f->const2, f->const2_bytes);
        elf_set_data(writer, func_parts->const2, bank);
        elf_section_header(writer, func_parts->const2)->sh_info = func_parts->text;
    }
    if (func_parts->shared) {
        if (!writer->opt->relocatable)
            elf_section_header(writer, func_parts->shared)->sh_size =
                writer->target->shared_base_bytes + f->shared_bytes;
        elf_section_header(writer, func_parts->shared)->sh_info = func_parts->text;
    }
}

static void heddle_sections(ElfWriter *writer) {
    const PtxModule *ptx = writer->code->ir->ptx;
    if (!writer->opt->no_map)
        elf_set_data(writer, elf_add_section(writer, ".heddle.map", "", SHT_HD_MAP, 0, 4),
                     elf_map_build(writer->a, writer->code));
    if (!writer->opt->no_ptx && ptx && ptx->source.size_bytes) {
        Bytes b = {0};
        elf_bytes_add(writer->a, &b, ptx->source.text, ptx->source.size_bytes);
        elf_set_data(writer, elf_add_section(writer, ".heddle.ptx", "", SHT_HD_PTX, 0, 1), b);
    }
}

static bool fill(ElfWriter *writer) {
    make_symbols(writer);
    call_graph(writer);
    if (writer->opt->relocatable)
        elf_object_prototypes(writer);
    for (uint32_t i = 0; i < writer->code->nfuncs; i++)
        func_contents(writer, i);
    if (writer->const3)
        elf_set_data(writer, writer->const3, writer->const3_data);
    if (writer->global_init)
        elf_set_data(writer, writer->global_init, writer->init_data);
    if (writer->global)
        elf_section_header(writer, writer->global)->sh_size = writer->global_bytes;
    elf_write_records(writer);
    if (!code_relocs(writer) || !var_relocs(writer))
        return false;
    texture_relocs(writer);
    if (elf_is_native(writer))
        elf_write_frames(writer);
    if (writer->opt->lines)
        elf_write_lines(writer);
    heddle_sections(writer);
    if (writer->elf->sections.n >= SHN_LORESERVE) /* the header and the symbols count them in 16 bits */
        return write_error(writer, "module", "more than 65279 sections; a function has three or four");
    elf_set_data(writer, STRTAB, writer->strtab);
    elf_set_data(writer, SYMTAB, writer->symtab);
    elf_set_data(writer, SHSTRTAB, writer->shstrtab);
    return true;
}

static bool check_limits(ElfWriter *writer) {
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const CodeFunc *f = &writer->code->funcs[i];
        if (f->is_entry && f->param_bytes >= CONST_BANK_BYTES - writer->target->param_base_bytes)
            return write_error(writer, elf_func_name(writer, i),
                               "more parameter bytes than a constant bank holds");
        if (f->nregs > 255 || f->nbarriers > 16)
            return write_error(writer, elf_func_name(writer, i),
                               "more registers or barriers than the format can say");
    }
    return true;
}

static bool bind_textures(ElfWriter *writer) {
    char error[ISA_ERROR_BYTES];
    for (uint32_t i = 0; i < writer->code->nfuncs; i++)
        if (!elf_bind_textures(writer->code, &writer->code->funcs[i], writer->a, &writer->parts[i].textures,
                               error))
            return write_error(writer, elf_func_name(writer, i), arena_printf(writer->a, "%s", error));
    return true;
}

bool elf_write_with(const CodeModule *module, const ElfOptions *opt, void **image, size_t *size_bytes,
                    Diags *diags) {
    Arena arena = {0};
    ElfWriter w = {
        .a = &arena, .code = module, .opt = opt, .target = isa_target_info(module->ir->target), .d = diags};
    w.old_form = elf_is_native(&w) && opt->old_form && !opt->relocatable;
    w.elf = ARENA_NEW(&arena, ElfImage);
    w.var_section = ARENA_ARRAY(&arena, uint32_t, module->ir->vars.n + 1);
    w.parts = ARENA_ARRAY(&arena, ElfParts, module->nfuncs + 1);
    name_functions(&w);
    bool good = check_limits(&w) && lay_out_vars(&w) && bind_textures(&w);
    if (good) {
        make_sections(&w);
        good = fill(&w);
    }
    if (good) {
        elf_image_header(w.elf, module->ir->target, w.old_form, elf_image_find(w.elf, ELF_LOADER_NOTE));
        w.elf->h.e_type = opt->relocatable ? ET_REL : ET_EXEC;
        w.elf->h.e_shstrndx = SHSTRTAB;
        if (opt->relocatable)
            elf_image_layout(w.elf, false);
        else
            elf_image_segments(&arena, w.elf);
        good = elf_image_write(w.elf, image, size_bytes, diags);
    }
    arena_free(&arena);
    return good;
}

bool elf_write(const CodeModule *code, void **image, size_t *size_bytes, Diags *diags) {
    return elf_write_with(code, &(ElfOptions){0}, image, size_bytes, diags);
}
