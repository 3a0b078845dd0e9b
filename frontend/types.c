/* Facts about PTX types, opcodes and special registers, and look-ups in a finished module.
 * SPDX-License-Identifier: MIT */
#include "frontend/ast.h"
#include "base/file.h"
#include "base/scope.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t bytes, cls;
} type_table[TY_COUNT] = {
#define BYTES(n) n
#define CLASS(c) TC_##c
#define PTX_TYPE(name, text, bytes, class) {text, bytes, class},
#include "frontend/ptx_types.def"
#undef PTX_TYPE
#undef BYTES
#undef CLASS
};

unsigned ptx_type_bytes(PtxType t) { return (unsigned)t < TY_COUNT ? type_table[t].bytes : 0; }
PtxTypeClass ptx_type_class(PtxType t) {
    return (unsigned)t < TY_COUNT ? (PtxTypeClass)type_table[t].cls : TC_NONE;
}
const char *ptx_type_name(PtxType t) { return (unsigned)t < TY_COUNT ? type_table[t].name : "?"; }

static const struct {
    const char *name;
    PtxGoes goes;
} ops[PTX_OP_COUNT] = {
    [PTX_NOP_NONE] = {"none", PTX_GOES_ON},
#define GOES(where) PTX_GOES_##where
#define PTX_OP(name, text, goes, ...) [PTX_##name] = {text, goes},
#include "frontend/ptx_ops.def"
};

const char *ptx_op_name(PtxOp op) { return (unsigned)op < PTX_OP_COUNT ? ops[op].name : "?"; }
PtxOp ptx_op_named(const char *text, size_t size) {
    for (unsigned op = 1; size && op < PTX_OP_COUNT; op++)
        if (ops[op].name[0] == text[0] && !strncmp(ops[op].name, text, size) && !ops[op].name[size])
            return (PtxOp)op;
    return PTX_NOP_NONE;
}
PtxGoes ptx_goes(const PtxInsn *i) { return i->op < PTX_OP_COUNT ? ops[i->op].goes : PTX_GOES_ON; }
bool ptx_leaves(const PtxInsn *i) { return ptx_goes(i) > PTX_GOES_CALL; }

bool ptx_has_ignore(const PtxFunc *f, const PtxInsn *i) {
    return i->op == PTX_CP && i->noperands > 3 && i->operands[3].kind == PO_REG &&
           f->regs[i->operands[3].reg].type == TY_PRED;
}

uint32_t ptx_find_func(const PtxModule *module, const char *name) {
    StrId id = str_find(&module->strings, name, __builtin_strlen(name));
    for (uint32_t i = 0; id.i && i < module->nfuncs; i++)
        if (str_eq(module->funcs[i].name, id))
            return i + 1;
    return 0;
}

uint32_t ptx_find_var(const PtxModule *module, const char *name) {
    StrId id = str_find(&module->strings, name, __builtin_strlen(name));
    for (uint32_t i = 0; id.i && i < module->nvars; i++)
        if (str_eq(module->vars[i].name, id) && !module->vars[i].func)
            return i + 1;
    return 0;
}

const char *ptx_var_symbol(const PtxModule *module, const PtxVar *var, Arena *arena) {
    const char *name = str_text(&module->strings, var->name);
    return !var->func ? name
                      : arena_printf(arena, "%s$%s",
                                     str_text(&module->strings, module->funcs[var->func - 1].name), name);
}

uint32_t ptx_loc_line(const PtxModule *module, SrcLoc loc) {
    uint32_t at = loc.i ? loc.i - 1 : 0, lo = 0, hi = module->nsource_lines;
    while (hi - lo > 1) { /* line lo starts at or before `at`, line hi behind it */
        uint32_t mid = lo + (hi - lo) / 2;
        if (module->line_starts[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

void ptx_source(const PtxModule *module, const PtxFunc *f, const PtxInsn *i, char *out, size_t out_bytes) {
    const PtxLine *at = i->line && i->line <= f->nlines ? &f->lines[i->line - 1] : NULL;
    file_place(at && at->file < module->nfiles ? str_text(&module->strings, module->files[at->file]) : NULL,
               at ? at->line : 0, out, out_bytes);
}

const char *ptx_register_in(const PtxModule *module, const PtxFunc *f, const PtxOperand *operand) {
    if (operand->reg && operand->reg < f->nregs)
        return str_text(&module->strings, f->regs[operand->reg].name);
    const char *name = NULL;
    for (unsigned k = 0; k < operand->nvec && !name; k++)
        name = ptx_register_in(module, f, &operand->vec[k]);
    return name;
}

DiagPlace ptx_place(const PtxModule *module, const PtxFunc *f, const PtxInsn *i) {
    DiagPlace place = {.section = ptx_section(i),
                       .opcode = ptx_op_name((PtxOp)i->op),
                       .modifiers = str_text(&module->strings, i->mods_text),
                       .function = str_text(&module->strings, f->name)};
    for (unsigned k = 0; k < i->noperands && !place.reg; k++)
        place.reg = ptx_register_in(module, f, &i->operands[k]);
    for (unsigned k = 0; k < i->nrets && !place.reg; k++)
        place.reg = ptx_register_in(module, f, &i->rets[k]);
    for (unsigned k = 0; k < i->nargs && !place.reg; k++)
        place.reg = ptx_register_in(module, f, &i->args[k]);
    if (!place.reg && i->guard_reg)
        place.reg = str_text(&module->strings, f->regs[i->guard_reg].name);
    return place;
}

uint32_t ptx_line(const PtxModule *module, const PtxInsn *i) { return ptx_loc_line(module, i->loc); }

void ptx_free(PtxModule *module) {
    if (!module)
        return;
    for (uint32_t i = 0; i < module->nparts; i++)
        ptx_free(module->parts[i]);
    arena_free(&module->arena);
    str_free(&module->strings);
    mem_free(module);
}

unsigned ptx_video_parts(unsigned op) {
    const char *name = ptx_op_name((PtxOp)op);
    unsigned last = (unsigned char)name[strlen(name) - 1];
    return last == '2' || last == '4' ? last - '0' : 1;
}
