/* Relocatable objects: see object.h.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/object.h"
#include "emit/elf/image.h"
#include "frontend/ast.h"
#include <string.h>

enum { SEC_SHSTRTAB = 1, SEC_STRTAB, SEC_SYMTAB, SEC_PTX };

typedef struct {
    Arena *a;
    ElfImage *e;
    Bytes shstrtab, strtab, symtab;
    uint32_t nsyms;
} Writer;

static void add_section(Writer *w, const char *name, uint32_t type, uint64_t align) {
    ElfSection *s = VEC_PUSH(w->a, &w->e->sections);
    s->name = name;
    s->h.sh_name = bytes_string(w->a, &w->shstrtab, name);
    s->h.sh_type = type;
    s->h.sh_addralign = align;
}

static void set_data(Writer *w, uint32_t section, const uint8_t *data, size_t size) {
    w->e->sections.at[section].data = size ? data : NULL;
    w->e->sections.at[section].h.sh_size = size;
}

static void add_symbol(Writer *w, const char *name, unsigned info, unsigned other, uint32_t section,
                       uint64_t size) {
    bytes_u32(w->a, &w->symtab, bytes_string(w->a, &w->strtab, name));
    uint8_t *p = bytes_add(w->a, &w->symtab, NULL, sizeof(Elf64_Sym) - 4);
    p[0] = (uint8_t)info;
    p[1] = (uint8_t)other;
    put_u16(p + 2, (uint16_t)section);
    put_u64(p + 12, size);
    w->nsyms++;
}

static unsigned binding(unsigned linkage, bool is_entry) {
    if (linkage == LINK_WEAK || linkage == LINK_COMMON)
        return STB_WEAK;
    return linkage == LINK_NONE && !is_entry ? STB_LOCAL : STB_GLOBAL;
}

/* Functions and module-level variables of one binding class; what is only declared is undefined. */
static void add_symbols(Writer *w, const PtxModule *m, bool local) {
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        const PtxFunc *f = &m->funcs[i];
        unsigned bind = binding(f->linkage, f->is_entry);
        if ((bind == STB_LOCAL) == local)
            add_symbol(w, str_text(&m->strings, f->name), ELF64_ST_INFO(bind, STT_FUNC),
                       f->is_entry ? STO_NV_ENTRY : 0, f->has_body || f->alias_of ? SEC_PTX : SHN_UNDEF, 0);
    }
    for (uint32_t i = 0; i < m->nvars; i++) {
        const PtxVar *v = &m->vars[i];
        unsigned bind = binding(v->linkage, false);
        bool placed = v->space == SP_GLOBAL || v->space == SP_CONST || v->space == SP_SHARED;
        if (!v->func && placed && (bind == STB_LOCAL) == local)
            add_symbol(w, str_text(&m->strings, v->name), ELF64_ST_INFO(bind, STT_OBJECT), 0,
                       v->linkage == LINK_EXTERN ? SHN_UNDEF : SEC_PTX, v->size_bytes);
    }
}

static void make_header(Writer *w, const TargetInfo *t) {
    Elf64_Ehdr *h = &w->e->h;
    memcpy(h->e_ident, ELFMAG, SELFMAG);
    h->e_ident[EI_CLASS] = ELFCLASS64;
    h->e_ident[EI_DATA] = ELFDATA2LSB;
    h->e_ident[EI_VERSION] = EV_CURRENT;
    h->e_ident[EI_OSABI] = t->elf_osabi;
    h->e_ident[EI_ABIVERSION] = t->elf_abiversion;
    h->e_type = ET_REL;
    h->e_machine = t->elf_machine;
    h->e_version = EV_CURRENT;
    h->e_flags = t->elf_flags;
    h->e_ehsize = sizeof(Elf64_Ehdr);
    h->e_shentsize = sizeof(Elf64_Shdr);
    h->e_shstrndx = SEC_SHSTRTAB;
}

bool object_write(const PtxModule *m, const Target *t, void **image, size_t *size_bytes, Diags *d) {
    Arena arena = {0};
    Writer w = {.a = &arena};
    w.e = ARENA_NEW(&arena, ElfImage);
    VEC_PUSH(w.a, &w.e->sections)->name = "";
    bytes_add(w.a, &w.shstrtab, "", 1);
    bytes_add(w.a, &w.strtab, "", 1);
    add_section(&w, ".shstrtab", SHT_STRTAB, 1);
    add_section(&w, ".strtab", SHT_STRTAB, 1);
    add_section(&w, ".symtab", SHT_SYMTAB, 8);
    add_section(&w, ".heddle.ptx", SHT_HD_PTX, 1);
    add_symbol(&w, "", 0, 0, SHN_UNDEF, 0);
    add_symbol(&w, m->source.name, ELF64_ST_INFO(STB_LOCAL, STT_FILE), 0, SHN_ABS, 0);
    add_symbols(&w, m, true);
    Elf64_Shdr *symtab = &w.e->sections.at[SEC_SYMTAB].h;
    symtab->sh_info = w.nsyms;
    symtab->sh_link = SEC_STRTAB;
    symtab->sh_entsize = sizeof(Elf64_Sym);
    add_symbols(&w, m, false);
    set_data(&w, SEC_SHSTRTAB, w.shstrtab.at, w.shstrtab.n);
    set_data(&w, SEC_STRTAB, w.strtab.at, w.strtab.n);
    set_data(&w, SEC_SYMTAB, w.symtab.at, w.symtab.n);
    set_data(&w, SEC_PTX, (const uint8_t *)m->source.text, m->source.size_bytes);
    make_header(&w, isa_target_info(t));
    elfimg_layout(w.e, false);
    bool good = elfimg_write(w.e, image, size_bytes, d);
    arena_free(&arena);
    return good;
}

bool object_is(const void *image, size_t size_bytes) {
    const uint8_t *p = image;
    return size_bytes > sizeof(Elf64_Ehdr) && memcmp(p, ELFMAG, SELFMAG) == 0 &&
           get_u16(p + EI_NIDENT) == ET_REL;
}

const Target *object_target(const void *image) {
    Elf64_Ehdr h;
    memcpy(&h, image, sizeof h);
    return elfimg_target(&h);
}

/* The name of the first STT_FILE symbol. */
static const char *source_name(const ElfImage *e) {
    uint32_t symtab = elfimg_find(e, ".symtab");
    const ElfSection *s = symtab ? &e->sections.at[symtab] : NULL;
    for (uint64_t at = 0; s && s->data && at + sizeof(Elf64_Sym) <= s->h.sh_size; at += sizeof(Elf64_Sym))
        if (ELF64_ST_TYPE(s->data[at + 4]) == STT_FILE)
            return elfimg_string(e, s->h.sh_link, get_u32(s->data + at));
    return NULL;
}

bool object_read(Arena *a, const char *path, const void *image, size_t size_bytes, const char **name,
                 const char **text, size_t *text_bytes, Diags *d) {
    Source source = {path, NULL, size_bytes};
    const Source *old = d->source;
    d->source = &source;
    ElfImage *e = elfimg_read(a, image, size_bytes, d);
    uint32_t ptx = e ? elfimg_find(e, ".heddle.ptx") : 0;
    bool good = e && ptx && e->sections.at[ptx].data;
    if (e && !good)
        diag(d, (SrcLoc){0}, DIAG_E0412, path, "a relocatable object without PTX text cannot be linked");
    if (good) {
        *text = (const char *)e->sections.at[ptx].data;
        *text_bytes = e->sections.at[ptx].h.sh_size;
        *name = source_name(e);
        if (!*name)
            *name = path;
    }
    d->source = old;
    return good;
}
