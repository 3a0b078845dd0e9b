/* What an object for another linker (nvlink) has beside the parts of an executable, as ptxas 13.0's -c writes
 * it: undefined symbols of what other objects define, sections and symbols of shared memory, prototypes, and
 * in the call graph whose address is taken and who calls through addresses, from which the linker computes
 * each kernel's registers and stack. docs/elf.md "Relocatable objects".
 * SPDX-License-Identifier: MIT */
#include "base/align.h"
#include "emit/elf/relocatable.h"
#include "frontend/ast.h"
#include "frontend/named.h"
#include "isa/machine/system.h"

/* st_other of variables: their space. */
enum { STO_NV_GLOBAL = 0x20, STO_NV_SHARED = 0x40, STO_NV_CONST = 0x80 };

static bool is_undefined(const IrVar *var) { return var->is_extern_shared || var->linkage == LINK_EXTERN; }

/* ---- shared memory ---- */

/* Variables of a kernel lie in its section; others where the linker takes them from for each kernel. */
static uint32_t *section_of(ElfWriter *writer, const IrVar *var, uint32_t *common) {
    const PtxFunc *owner = var->ptx->func ? &writer->code->ir->ptx->funcs[var->ptx->func - 1] : NULL;
    for (uint32_t i = 0; owner && owner->is_entry && i < writer->code->nfuncs; i++)
        if (writer->code->funcs[i].ir->ptx == owner)
            return &writer->parts[i].shared;
    return common;
}

void elf_object_shared(ElfWriter *writer) {
    const IrModule *module = writer->code->ir;
    for (uint32_t k = 0; k < module->vars.n; k++) {
        const IrVar *var = &module->vars.at[k];
        if (var->space != SP_SHARED || is_undefined(var))
            continue;
        uint32_t *section = section_of(writer, var, &writer->shared);
        if (!*section && section == &writer->shared)
            *section =
                elf_add_section(writer, ".nv_debug.shared", "", SHT_NV_SHARED, SHF_ALLOC | SHF_WRITE, 4);
        for (uint32_t i = 0; !*section && i < writer->code->nfuncs; i++)
            if (section == &writer->parts[i].shared)
                *section = elf_add_section(writer, ".nv.shared.", elf_func_name(writer, i), SHT_NV_SHARED,
                                           SHF_ALLOC | SHF_WRITE | SHF_INFO_LINK, 4);
        Elf64_Shdr *header = elf_section_header(writer, *section);
        writer->var_offset[k] =
            var->align_bytes; /* as ptxas: the linker gives places, and asks for alignment */
        header->sh_size = align_up(header->sh_size, var->align_bytes) + var->size_bytes;
        if (header->sh_addralign < var->align_bytes)
            header->sh_addralign = var->align_bytes;
        writer->var_section[k] = *section;
    }
}

/* ---- symbols ---- */

unsigned elf_object_var_info(const IrVar *var, unsigned *other) {
    *other = var->space == SP_GLOBAL ? STO_NV_GLOBAL : var->space == SP_SHARED ? STO_NV_SHARED : STO_NV_CONST;
    return STT_NV_OBJECT;
}

static bool is_named(const ElfWriter *writer, const IrVar *var) {
    const IrModule *module = writer->code->ir;
    for (uint32_t i = 0; i < writer->code->nfuncs; i++)
        for (uint32_t k = 0; k < writer->code->funcs[i].relocs.n; k++)
            if (str_eq(writer->code->funcs[i].relocs.at[k].symbol, var->name))
                return true;
    for (uint32_t i = 0; i < module->vars.n; i++) {
        const PtxVar *other = module->vars.at[i].ptx;
        for (uint32_t k = 0; k < other->ninits; k++)
            if (other->inits[k].sym && !(other->inits[k].sym & PTX_SYM_FUNC) &&
                &module->ptx->vars[other->inits[k].sym - 1] == var->ptx)
                return true;
    }
    return false;
}

void elf_object_extern_vars(ElfWriter *writer) {
    const IrModule *module = writer->code->ir;
    for (uint32_t i = 0; i < module->vars.n; i++) {
        const IrVar *var = &module->vars.at[i];
        unsigned other, type = elf_object_var_info(var, &other);
        if (!is_undefined(var) || strmap_get(&writer->symbols, var->name) || !is_named(writer, var))
            continue;
        uint32_t size = var->is_extern_shared ? 0 : (uint32_t)var->size_bytes;
        strmap_put(&writer->symbols, writer->a, var->name,
                   elf_add_symbol(writer, str_text(module->strings, var->name), 0, size,
                                  ELF64_ST_INFO(STB_GLOBAL, type), other, SHN_UNDEF));
    }
}

/* ---- prototypes ---- */

static const char *param_text(ElfWriter *writer, uint32_t index) {
    const PtxVar *var = &writer->code->ir->ptx->vars[index];
    if (var->is_array)
        return arena_printf(writer->a, "b%llu", (unsigned long long)var->size_bytes);
    return var->size_bytes > 8 ? "b16" : var->size_bytes > 4 ? "l" : "i";
}

/* "#" and a letter for the result and each parameter; its place among the names. */
static uint32_t prototype(ElfWriter *writer, const uint32_t *rets, uint32_t nrets, const uint32_t *params,
                          uint32_t nparams) {
    char *text = arena_printf(writer->a, "#%s", nrets ? param_text(writer, rets[0]) : "v");
    for (uint32_t k = 0; k < nparams; k++)
        text = arena_printf(writer->a, "%s%s", text, param_text(writer, params[k]));
    return elf_bytes_string(writer->a, &writer->strtab, text);
}

static uint32_t prototype_of(ElfWriter *writer, const PtxFunc *f) {
    return prototype(writer, f->rets, f->nrets, f->params, f->nparams);
}

static uint32_t symbol_of(const ElfWriter *writer, const PtxFunc *f) {
    const IrModule *module = writer->code->ir;
    const char *name = str_text(&module->ptx->strings, f->name);
    return strmap_get(&writer->symbols,
                      str_find(module->strings, name, str_size(&module->ptx->strings, f->name)));
}

static void put_pair(ElfWriter *writer, Bytes *b, uint32_t first, uint32_t second) {
    elf_bytes_u64(writer->a, b, first | (uint64_t)second << 32);
}

void elf_object_prototypes(ElfWriter *writer) {
    const PtxModule *ptx = writer->code->ir->ptx;
    Bytes b = {0};
    for (uint32_t k = 0; k < ptx->nfuncs; k++) {
        uint32_t sym = ptx->funcs[k].is_entry ? 0 : symbol_of(writer, &ptx->funcs[k]);
        if (sym)
            put_pair(writer, &b, sym, prototype_of(writer, &ptx->funcs[k]));
    }
    uint32_t s = elf_add_section(writer, ".nv.prototype", "", SHT_NV_PROTOTYPE, 0, 4);
    elf_set_data(writer, s, b);
    elf_section_header(writer, s)->sh_link = SYMTAB;
    elf_section_header(writer, s)->sh_entsize = 8;
}

void elf_object_taken(ElfWriter *writer, Bytes *b) {
    const PtxModule *ptx = writer->code->ir->ptx;
    bool *taken = ptx_address_taken(ptx, writer->a);
    for (uint32_t k = 0; k < ptx->nfuncs; k++) {
        uint32_t sym = taken[k] && !ptx->funcs[k].is_entry ? symbol_of(writer, &ptx->funcs[k]) : 0;
        if (sym)
            put_pair(writer, b, sym, prototype_of(writer, &ptx->funcs[k]));
    }
}

void elf_object_indirect(ElfWriter *writer, Bytes *b) {
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const PtxFunc *f = writer->code->funcs[i].ir->ptx;
        for (uint32_t k = 0; f && k < f->ninsns; k++) {
            const PtxInsn *in = &f->insns[k];
            if (in->op != PTX_CALL || in->callee || !in->table)
                continue;
            const PtxCallTable *table = &f->call_tables[in->table - 1];
            put_pair(writer, b, writer->parts[i].sym,
                     table->n ? prototype_of(writer, &writer->code->ir->ptx->funcs[table->funcs[0]])
                              : prototype(writer, table->rets, table->nrets, table->params, table->nparams));
        }
    }
}
