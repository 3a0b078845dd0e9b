/* Jump tables: where they lie in constant bank 2, and the bank of each kernel. An entry is the offset of a
 * block from the start of its function, which needs no relocation: BRX adds it to that start. Device
 * functions are shared by kernels, and their code names fixed places in the bank. So their tables come first,
 * one behind the other, the same in every kernel that makes calls; nvlink does it in the same way.
 * SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "emit/elf/image.h"
#include "frontend/ast.h"
#include "isa/machine/banks.h"

static uint32_t own_bytes(const Function *f) {
    uint32_t end = 0;
    for (unsigned k = 0; k < f->tables.n; k++) {
        uint32_t e = f->tables.at[k].offset_bytes + 4 * f->tables.at[k].entries.n;
        end = e > end ? e : end;
    }
    return end;
}

static bool makes_calls(const Function *f) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, inst)
            if (inst->op == OT_CALL)
                return true;
    return false;
}

static bool tables_fit(const IrModule *module, const Function *f, uint32_t at, Diags *d) {
    uint64_t end = (uint64_t)at + own_bytes(f);
    return end <= CONST_BANK_BYTES ||
           diag(d, f->ptx ? f->ptx->loc : (SrcLoc){0}, DIAG_E0302, str_text(module->strings, f->name),
                (unsigned long long)end, (unsigned)CONST_BANK_BYTES);
}

bool elf_place_tables(const IrModule *module, uint32_t *base_bytes, Diags *d) {
    uint32_t shared = 0;
    bool ok = true;
    for (unsigned k = 0; ok && k < module->funcs.n; k++) {
        const Function *f = module->funcs.at[k];
        if (f->is_entry)
            continue;
        base_bytes[k] = shared;
        ok = tables_fit(module, f, shared, d);
        shared += own_bytes(f);
    }
    for (unsigned k = 0; ok && k < module->funcs.n; k++) {
        const Function *f = module->funcs.at[k];
        if (!f->is_entry || !f->tables.n)
            continue;
        base_bytes[k] = makes_calls(f) ? shared : 0;
        ok = tables_fit(module, f, base_bytes[k], d);
    }
    return ok;
}

static uint32_t bank_end(const CodeFunc *f) {
    uint32_t end = 0;
    for (unsigned k = 0; k < f->tables.n; k++) {
        uint32_t e = f->tables.at[k].bank_bytes + 4 * f->tables.at[k].n;
        end = e > end ? e : end;
    }
    return end;
}

static void copy_tables(CodeFunc *kernel, const CodeFunc *f) {
    for (unsigned k = 0; k < f->tables.n; k++)
        for (uint32_t e = 0; e < f->tables.at[k].n; e++)
            put_u32(kernel->const2 + f->tables.at[k].bank_bytes + 4 * e, f->tables.at[k].targets[e]);
}

void elf_fill_banks(CodeModule *module) {
    for (uint32_t k = 0; k < module->nfuncs; k++) {
        CodeFunc *kernel = &module->funcs[k];
        if (!kernel->is_entry)
            continue;
        bool calls = makes_calls(kernel->ir);
        uint32_t end = bank_end(kernel);
        for (uint32_t n = 0; calls && n < module->nfuncs; n++)
            if (!module->funcs[n].is_entry && bank_end(&module->funcs[n]) > end)
                end = bank_end(&module->funcs[n]);
        if (!end)
            continue;
        kernel->const2_bytes = end;
        kernel->const2 = ARENA_ARRAY(&module->arena, uint8_t, end);
        copy_tables(kernel, kernel);
        for (uint32_t n = 0; calls && n < module->nfuncs; n++)
            if (!module->funcs[n].is_entry)
                copy_tables(kernel, &module->funcs[n]);
    }
}
