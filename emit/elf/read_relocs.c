/* Relocations of a file that is read. Calls are linked here, and what names a place inside a function; what
 * only a launch knows, the addresses of variables and of functions as values, becomes a fixup.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/reader.h"
#include "emit/elf/texture.h"
#include "ir/ir.h"

typedef struct {
    uint32_t section, index, target; /* target: section that is relocated */
    uint64_t offset;
    uint32_t type, sym;
    int64_t addend;
    ElfSymbol s;
} Reloc;

static bool bad_reloc(ElfReader *reader, const Reloc *reloc, const char *what) {
    const Elf64_Shdr *header = &elf_sec(reader, reloc->section)->h;
    return diag(reader->d, elf_at(header->sh_offset + reloc->index * header->sh_entsize), DIAG_E0407,
                reloc->index, elf_sec(reader, reloc->section)->name, what);
}

static void set_imm32(uint64_t word[2], uint32_t value) {
    word[0] = (word[0] & 0xffffffffu) | (uint64_t)value << 32;
}

static bool link_call(ElfReader *reader, const Reloc *reloc, uint64_t word[2], uint64_t pc, uint64_t target) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    if (!isa_decode(reader->b->target, word, &in, error))
        return bad_reloc(reader, reloc, arena_printf(&reader->scratch, "not a call: %s", error));
    bool has_target = false;
    for (unsigned k = 0; k < in.nsrc; k++)
        has_target |= in.src[k].kind == OPK_IMM64;
    if (!has_target)
        return bad_reloc(reader, reloc, "the instruction has no target");
    bool absolute = isa_is_absolute(in.optype, in.mods);
    if (!absolute && isa_target_info(reader->b->target)->elf_machine == EM_NV_CUDA)
        return bad_reloc(reader, reloc, "a loader fills in an address, and the instruction takes a distance");
    in.wide = (int64_t)(target - (absolute ? 0 : pc + INST_BYTES)) + reloc->addend;
    if (!isa_encode(reader->b->target, &in, word, error))
        return bad_reloc(reader, reloc, arena_printf(&reader->scratch, "%s", error));
    return true;
}

static void add_fixup(ElfReader *reader, BinFixup f) {
    uint32_t n = reader->b->nfixups;
    if ((n & (n - 1)) == 0) /* full: capacity is the next power of two */
        reader->b->fixups =
            arena_grow(&reader->b->arena, reader->b->fixups, n * sizeof f, (n ? n * 2u : 1u) * sizeof f);
    reader->b->fixups[reader->b->nfixups++] = f;
}

static uint32_t extern_named(ElfReader *reader, const char *name) {
    Binary *binary = reader->b;
    uint32_t i = 0;
    while (i < binary->nexterns && strcmp(binary->externs[i], name) != 0)
        i++;
    if (i == binary->nexterns) {
        if (!binary->externs)
            binary->externs = ARENA_ARRAY(&binary->arena, const char *, reader->nsyms);
        binary->externs[binary->nexterns++] = arena_printf(&binary->arena, "%s", name);
    }
    return i;
}

/* Whom a relocation names, as a fixup has it; false, and reported, if the file does not know it. */
static bool reloc_target(ElfReader *reader, const Reloc *reloc, const BinFunc *callee, BinFixup *fixup) {
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
    bool absent = reader->b->is_object && elf_is_variable(&reloc->s);
    if (reloc->s.section != SHN_UNDEF || !*reloc->s.name ||
        (!absent && ELF64_ST_TYPE(reloc->s.info) != STT_FUNC))
        return bad_reloc(
            reader, reloc,
            arena_printf(&reader->scratch, "address of %s, which the file does not define", reloc->s.name));
    fixup->to = absent ? BIN_TO_ABSENT : BIN_TO_EXTERN;
    fixup->target = extern_named(reader, reloc->s.name);
    return true;
}

/* The constant bank whose section that is, by its type in files for a linker; BANK_VARIABLES elsewhere if it
 * is that of variables; -1: none. */
enum { BANK_VARIABLES = 3 };
static int bank_of_section(ElfReader *reader, uint32_t section) {
    if (!section || section >= reader->e->sections.n)
        return -1;
    uint32_t type = elf_sec(reader, section)->h.sh_type;
    if (type >= SHT_NV_CONSTANT_B0 && type < SHT_NV_CONSTANT_B0 + NUM_BANKS)
        return (int)(type - SHT_NV_CONSTANT_B0);
    return strcmp(elf_sec(reader, section)->name, ".nv.constant3") == 0 ? BANK_VARIABLES : -1;
}

/* Is it a linker that gives the variable its place? Of an object: what another one defines, shared variables,
 * whose symbols tell an alignment, and constants of functions, which go to the banks of kernels. */
static bool placed_by_linker(ElfReader *reader, const Reloc *reloc) {
    enum { SPACE = 0xe0, SHARED = 0x40 };
    const ElfSymbol *symbol = &reloc->s;
    if (!reader->b->is_object || !elf_is_variable(symbol) || !*symbol->name)
        return false;
    static const char bank2[] = ".nv.constant2.";
    const BinFunc *owner = symbol->section && symbol->section < reader->e->sections.n
                               ? elf_owner_of(reader, symbol->section, bank2)
                               : NULL;
    return symbol->section == SHN_UNDEF || (symbol->other & SPACE) == SHARED || (owner && !owner->is_entry);
}

/* NVIDIA's of a part of a word: a shared variable in an address, a constant in c[..][..]. */
static bool set_address(ElfReader *reader, const Reloc *reloc, uint64_t word[2]) {
    enum {
        SHARED_24_40 = 74,
        CONSTANT_WORDS = 64,
        CONSTANT_BYTES = 66,
        CONSTANT_UNIFORM = 115,
        BANK_BIT = 54
    };
    unsigned from = reloc->type == CONSTANT_UNIFORM ? 37 : 38;
    uint64_t value = reloc->s.value + (uint64_t)reloc->addend,
             bits = ((uint64_t)1 << 59) - ((uint64_t)1 << from);
    int bank = bank_of_section(reader, reloc->s.section);
    bool linked = placed_by_linker(reader, reloc);
    bool defined = reloc->s.section && reloc->s.section < reader->e->sections.n;
    bool shared = reloc->type == SHARED_24_40 && (linked || defined);
    bool constant =
        (reloc->type == CONSTANT_WORDS || reloc->type == CONSTANT_BYTES || reloc->type == CONSTANT_UNIFORM) &&
        (linked || bank >= 0);
    if (shared && !linked)
        word[0] = (word[0] & (((uint64_t)1 << 40) - 1)) | value << 40;
    else if (constant && !linked)
        word[0] = (word[0] & ~bits) | (value & 0xffff) << from | (uint64_t)bank << BANK_BIT;
    return (shared || constant) && isa_target_info(reader->b->target)->elf_machine == EM_NV_CUDA;
}

/* How long what the driver's tables say of a texture, a sampler or a surface is: ptxas's name for a number
 * that a loader knows. That of textures is ours; the others are left open, and such code is not run. */
static bool take_table(ElfReader *reader, const Reloc *reloc, uint64_t word[2], BinFixup *fixup) {
    static const char texture[] = IR_TEXTURE_BYTES, end[] = "DescSize";
    size_t n = strlen(reloc->s.name);
    if (reloc->s.section != SHN_UNDEF || n < sizeof end ||
        strcmp(reloc->s.name + n - (sizeof end - 1), end) != 0)
        return false;
    if (strcmp(reloc->s.name, texture) == 0) {
        reader->b->asks_textures = true;
        set_imm32(word, BIN_TEXTURE_BYTES);
        return true;
    }
    fixup->to = BIN_TO_ABSENT;
    fixup->target = extern_named(reader, reloc->s.name);
    add_fixup(reader, *fixup);
    return true;
}

static bool reloc_code(ElfReader *reader, const Reloc *reloc, RelocKind kind, const BinFunc *f) {
    if (reloc->offset % INST_BYTES || reloc->offset / INST_BYTES >= f->ninsts)
        return bad_reloc(reader, reloc, "its place is no instruction of the function");
    uint64_t pc = f->address + reloc->offset;
    uint64_t *word = reader->b->code[(pc - CODE_BASE) / INST_BYTES];
    const BinFunc *callee =
        reloc->s.section < SHN_LORESERVE ? elf_func_of_section(reader, reloc->s.section) : NULL;
    bool whole = callee && reloc->s.value + (uint64_t)reloc->addend == 0;
    uint64_t target = callee ? callee->address + reloc->s.value + (uint64_t)reloc->addend : 0;
    BinFixup fixup = {.in_code = true, .offset_bytes = pc - CODE_BASE, .kind = (uint8_t)kind};
    if (placed_by_linker(reader, reloc)) { /* with this the file is shown and checked, not run */
        fixup.to = BIN_TO_ABSENT;
        fixup.target = extern_named(reader, reloc->s.name);
        fixup.addend = reloc->addend;
        add_fixup(reader, fixup);
    }
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
        if (fixup.to == BIN_TO_ABSENT)
            return true;
        if (!reloc_target(reader, reloc, callee, &fixup))
            return false;
        add_fixup(reader, fixup);
        return true;
    case RELOC_SHARED_OFFSET32:
    case RELOC_CONST_OFFSET32:
        if (fixup.to != BIN_TO_ABSENT && take_table(reader, reloc, word, &fixup))
            return true;
        if (fixup.to != BIN_TO_ABSENT)
            set_imm32(word, (uint32_t)(reloc->s.value + (uint64_t)reloc->addend));
        return true;
    default:
        if (reloc->type == RELOC_NV_YIELD_OPCODE || reloc->type == RELOC_NV_YIELD_PRED)
            return true; /* the word is a YIELD, and may be one */
        return set_address(reader, reloc, word) ||
               bad_reloc(reader, reloc,
                         arena_printf(&reader->scratch, "type %u in code is not known", reloc->type));
    }
}

static BinParam *param_of_handle(const BinFunc *f, const char *name) {
    BinParam *params = (BinParam *)(uintptr_t)f->params;
    for (uint32_t k = 0; k < f->nparams; k++)
        if (params[k].handle && strcmp(params[k].handle, name) == 0)
            return &params[k];
    return NULL;
}

/* A word of a kernel's constant bank 0 that becomes a handle. */
static bool reloc_texture(ElfReader *reader, const Reloc *reloc, const BinFunc *f) {
    Binary *binary = reader->b;
    uint32_t n = binary->ntextures;
    unsigned type = ELF64_ST_TYPE(reloc->s.info);
    if ((type != STT_NV_TEXTURE && type != STT_NV_SURFACE) || !*reloc->s.name)
        return bad_reloc(reader, reloc, "its symbol is no texture or surface");
    if (reloc->offset % 4 || f->const_bank0_bytes < 4 || reloc->offset > f->const_bank0_bytes - 4)
        return bad_reloc(reader, reloc, "its place is outside the section");
    BinParam *param = param_of_handle(f, reloc->s.name);
    if (param) {
        if (param->size_bytes || reloc->offset < f->param_base + f->param_bytes)
            return bad_reloc(reader, reloc, "a parameter has its handle in one word behind the block");
        param->offset_bytes = (uint32_t)reloc->offset - f->param_base;
        param->size_bytes = 4;
    }
    if ((n & (n - 1)) == 0)
        binary->textures = arena_grow(&binary->arena, binary->textures, n * sizeof *binary->textures,
                                      (n ? n * 2u : 1u) * sizeof *binary->textures);
    binary->textures[binary->ntextures++] =
        (struct BinTexture){.func = (uint32_t)(f - binary->funcs),
                            .offset_bytes = (uint32_t)reloc->offset,
                            .is_surface = type == STT_NV_SURFACE,
                            .is_param = param != NULL,
                            .name = arena_printf(&binary->arena, "%s", reloc->s.name)};
    return true;
}

/* 8 bytes of a variable or of bank 4. Places inside functions are final now, the rest is known at load. */
static bool reloc_data(ElfReader *reader, const Reloc *reloc, RelocKind kind) {
    Binary *binary = reader->b;
    const char *name = elf_sec(reader, reloc->target)->name;
    static const char launch_bank[] = ".nv.constant0.";
    const BinFunc *kernel = elf_owner_of(reader, reloc->target, launch_bank);
    if (kernel && kind == RELOC_TEXTURE)
        return reloc_texture(reader, reloc, kernel);
    bool bank4 = strcmp(name, ".nv.constant4") == 0, constant = strcmp(name, ".nv.constant3") == 0;
    if (!bank4 && !constant && strcmp(name, ".nv.global.init") != 0)
        return true; /* debug information and the like */
    if (kind != RELOC_ABS64 && kind != RELOC_GENERIC64)
        return bad_reloc(reader, reloc,
                         arena_printf(&reader->scratch, "type %u in data is not known", reloc->type));
    if (elf_sec(reader, reloc->target)->h.sh_size < 8 ||
        reloc->offset > elf_sec(reader, reloc->target)->h.sh_size - 8)
        return bad_reloc(reader, reloc, "its place is outside the section");
    const BinFunc *callee =
        reloc->s.section < SHN_LORESERVE ? elf_func_of_section(reader, reloc->s.section) : NULL;
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
static int64_t addend_in_place(ElfReader *reader, const Reloc *reloc) {
    const ElfSection *section = elf_sec(reader, reloc->target);
    RelocKind kind = (RelocKind)elf_reloc_kind(reader->b->target, reloc->type);
    if ((kind != RELOC_ABS64 && kind != RELOC_GENERIC64) || elf_func_of_section(reader, reloc->target) ||
        !section->data || section->h.sh_size < 8 || reloc->offset > section->h.sh_size - 8)
        return 0;
    return (int64_t)get_u64(section->data + reloc->offset);
}

static bool read_reloc(ElfReader *reader, Reloc *reloc) {
    const ElfSection *elf_section = elf_sec(reader, reloc->section);
    const uint8_t *p = elf_section->data + reloc->index * elf_section->h.sh_entsize;
    uint64_t info = get_u64(p + 8);
    reloc->offset = get_u64(p);
    reloc->sym = (uint32_t)ELF64_R_SYM(info);
    reloc->type = (uint32_t)ELF64_R_TYPE(info);
    reloc->addend =
        elf_section->h.sh_type == SHT_RELA ? (int64_t)get_u64(p + 16) : addend_in_place(reader, reloc);
    if (reloc->sym >= reader->nsyms)
        return bad_reloc(reader, reloc, "its symbol does not exist");
    if (!elf_read_symbol(reader, reloc->sym, &reloc->s))
        return false;
    const BinFunc *f = elf_func_of_section(reader, reloc->target);
    RelocKind kind = (RelocKind)elf_reloc_kind(reader->b->target, reloc->type);
    return f ? reloc_code(reader, reloc, kind, f) : reloc_data(reader, reloc, kind);
}

bool elf_read_relocs(ElfReader *reader) {
    for (uint32_t i = 1; i < reader->e->sections.n; i++) {
        const ElfSection *elf_section = elf_sec(reader, i);
        if (elf_section->h.sh_type != SHT_REL && elf_section->h.sh_type != SHT_RELA)
            continue;
        uint64_t each = elf_section->h.sh_type == SHT_REL ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
        if (elf_section->h.sh_entsize != each || elf_section->h.sh_size % each)
            return elf_bad_section(reader, i, "wrong entry size");
        if (elf_section->h.sh_info == 0 || elf_section->h.sh_info >= reader->e->sections.n ||
            elf_image_symbols(reader->e, elf_section->h.sh_link) != reader->symtab)
            return elf_bad_section(reader, i, "relocates no section, or not through the symbol table");
        for (uint32_t k = 0; k < elf_section->h.sh_size / each; k++) {
            Reloc x = {.section = i, .index = k, .target = elf_section->h.sh_info};
            if (!read_reloc(reader, &x))
                return false;
        }
    }
    return true;
}
