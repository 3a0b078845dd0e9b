/* Module to PTX text that parses to an equal module. Blocks were resolved while parsing, so a function is
 * printed flat: registers, labels and variables get unique names, `name` or `name_N` with their number
 * where a name is used twice. Instructions keep the modifiers as they were written.
 * SPDX-License-Identifier: MIT */
#include "frontend/ast.h"
#include "frontend/sregs.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INIT_BYTES = 1 << 26 };

typedef struct {
    const PtxModule *m;
    const PtxFunc *f;
    FILE *out;
    StrTab names; /* printed names of the function, for uniqueness */
    uint32_t taken_cap;
    bool *taken;  /* by StrId of `names` */
    bool *global; /* by StrId of the module: the name of a variable or function */
    bool failed;
    Arena tmp;
    const char **reg, **label, **var, **branches, **calls; /* printed names */
} Printer;

static const char *text(const Printer *printer, StrId id) { return str_text(&printer->m->strings, id); }

static const char *const spaces[SP_COUNT] = {
    [SP_CONST] = ".const",      [SP_GLOBAL] = ".global",
    [SP_LOCAL] = ".local",      [SP_PARAM] = ".param",
    [SP_SHARED] = ".shared",    [SP_TEX] = ".tex",
    [SP_REG] = ".reg",          [SP_NONE] = "",
    [SP_SREG] = ".sreg",        [SP_SHARED_CLUSTER] = ".shared::cluster",
    [SP_PARAM_FUNC] = ".param", [SP_PARAM_ENTRY] = ".param"};

/* unique names */

static bool take(Printer *printer, const char *name) {
    StrId id = str_intern_z(&printer->names, name);
    if (id.i >= printer->taken_cap) {
        uint32_t cap = id.i * 2 + 64;
        printer->taken = arena_grow(&printer->tmp, printer->taken, printer->taken_cap, cap);
        memset(printer->taken + printer->taken_cap, 0, cap - printer->taken_cap);
        printer->taken_cap = cap;
    }
    bool free_name = !printer->taken[id.i];
    printer->taken[id.i] = true;
    return free_name;
}

/* Components of vector registers (`v.x`) become scalar registers (`v_x`). */
static bool is_global(const Printer *printer, const char *name) {
    StrId id = str_find(&printer->m->strings, name, strlen(name));
    return id.i && printer->global[id.i];
}

static const char *unique(Printer *printer, StrId id, uint32_t number) {
    char *name = arena_printf(&printer->tmp, "%s", text(printer, id));
    for (char *c = name; *c; c++)
        if (*c == '.')
            *c = '_';
    const char *result = name;
    for (uint32_t n = number; is_global(printer, result) || !take(printer, result); n++)
        result = arena_printf(&printer->tmp, "%s_%" PRIu32, name, n);
    return result;
}

static void name_vars(Printer *printer, const uint32_t *index, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!printer->var[index[i]])
            printer->var[index[i]] = unique(printer, printer->m->vars[index[i]].name, index[i]);
}

static void name_all(Printer *printer) {
    const PtxFunc *f = printer->f;
    printer->reg = ARENA_ARRAY(&printer->tmp, const char *, f->nregs + f->nparams + f->nrets + 1);
    printer->label = ARENA_ARRAY(&printer->tmp, const char *, f->nlabels + 1);
    printer->branches = ARENA_ARRAY(&printer->tmp, const char *, f->nbranch_tables + 1);
    printer->calls = ARENA_ARRAY(&printer->tmp, const char *, f->ncall_tables + 1);
    name_vars(printer, f->rets, f->nrets);
    name_vars(printer, f->params, f->nparams);
    name_vars(printer, f->vars, f->nvars);
    for (uint32_t i = 0; i < f->nparams + f->nrets; i++) {
        bool ret = i >= f->nparams;
        uint32_t k = ret ? i - f->nparams : i, reg = ret ? f->ret_regs[k] : f->param_regs[k];
        if (reg)
            printer->reg[reg] = printer->var[ret ? f->rets[k] : f->params[k]];
    }
    for (uint32_t i = 1; i < f->nregs; i++)
        if (!printer->reg[i])
            printer->reg[i] = unique(printer, f->regs[i].name, i);
    for (uint32_t i = 0; i < f->nlabels; i++)
        printer->label[i] = unique(printer, f->labels[i].name, i);
    for (uint32_t i = 0; i < f->nbranch_tables; i++)
        printer->branches[i] = unique(printer, f->branch_tables[i].name, i);
    for (uint32_t i = 0; i < f->ncall_tables; i++)
        printer->calls[i] = unique(printer, f->call_tables[i].name, i);
}

static const char *sym_name(const Printer *printer, uint32_t sym) {
    if (sym & PTX_SYM_FUNC)
        return text(printer, printer->m->funcs[(sym & ~PTX_SYM_FUNC) - 1].name);
    const char *local = printer->var ? printer->var[sym - 1] : NULL;
    return local ? local : text(printer, printer->m->vars[sym - 1].name);
}

/* declarations */

static const char *linkage(unsigned l) {
    static const char *const names[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
    return names[l];
}

static void print_init(const Printer *printer, const PtxVar *var, const PtxInit *init) {
    if (init->sym) {
        if (init->size_bytes == 1)
            fprintf(printer->out, "0x%" PRIx64 "(", (uint64_t)0xff << init->shift);
        fprintf(printer->out, init->generic ? "generic(%s)" : "%s", sym_name(printer, init->sym));
        if (init->value)
            fprintf(printer->out, "+%" PRId64, init->value);
        if (init->size_bytes == 1)
            fputc(')', printer->out);
    } else if (var->type == TY_F32) {
        fprintf(printer->out, "0f%08" PRIX32, (uint32_t)init->value);
    } else if (var->type == TY_F64) {
        fprintf(printer->out, "0d%016" PRIX64, (uint64_t)init->value);
    } else {
        fprintf(printer->out, "%" PRId64, init->value);
    }
}

static void print_zero(const Printer *printer, const PtxVar *var) {
    fputs(var->type == TY_F32   ? "0f00000000"
          : var->type == TY_F64 ? "0d0000000000000000"
                                : "0",
          printer->out);
}

/* All dimensions become one; elements between the initialisers given are zero. */
static void print_inits(Printer *printer, const PtxVar *var) {
    unsigned bytes = ptx_type_bytes(var->type);
    uint64_t element = 0;
    if (var->inits[var->ninits - 1].offset_bytes > MAX_INIT_BYTES) { /* text of that size helps nobody */
        printer->failed = true;
        return;
    }
    if (!var->is_array && var->vec == 1) {
        fputs(" = ", printer->out);
        print_init(printer, var, var->inits);
        return;
    }
    fputs(" = {", printer->out);
    for (uint32_t i = 0; i < var->ninits; i++)
        for (bool done = false; !done; element++) {
            if (var->vec > 1 && var->is_array)
                fputs(element % var->vec ? ", " : element ? "}, {" : "{", printer->out);
            else if (element)
                fputs(", ", printer->out);
            done = element >= var->inits[i].offset_bytes / bytes;
            if (done)
                print_init(printer, var, &var->inits[i]);
            else
                print_zero(printer, var);
        }
    fputs(var->vec > 1 && var->is_array && element ? "}}" : "}", printer->out);
}

static void print_var(Printer *printer, const PtxVar *var, const char *name) {
    fputs(spaces[var->space], printer->out);
    if (var->managed || var->unified)
        fprintf(printer->out, " .attribute(%s%s", var->managed ? ".managed" : "",
                var->managed && var->unified ? ", " : "");
    if (var->unified)
        fprintf(printer->out, ".unified(%llu, %llu)", (unsigned long long)var->uuid[0],
                (unsigned long long)var->uuid[1]);
    if (var->managed || var->unified)
        fputs(")", printer->out);
    if (var->space != SP_REG && ptx_type_class(var->type) != TC_OPAQUE)
        fprintf(printer->out, " .align %" PRIu32, var->align_bytes);
    if (var->vec > 1)
        fprintf(printer->out, " .v%u", var->vec);
    fprintf(printer->out, " .%s", ptx_type_name(var->type));
    if (var->is_pointer)
        fprintf(printer->out, " .ptr%s%s%s%s", var->pointee_space ? " " : "", spaces[var->pointee_space],
                var->pointee_type ? " ." : "", var->pointee_type ? ptx_type_name(var->pointee_type) : "");
    if (var->is_pointer && var->pointee_align_bytes)
        fprintf(printer->out, " .align %" PRIu32, var->pointee_align_bytes);
    fprintf(printer->out, " %s", name);
    if (var->is_array && var->unsized)
        fputs("[]", printer->out);
    else if (var->is_array)
        fprintf(printer->out, "[%" PRIu32 "]", var->nelems);
    if (var->ninits)
        print_inits(printer, var);
}

/* operands */

static void print_operand(const Printer *printer, const PtxOperand *operand);
static void print_list(const Printer *printer, const PtxOperand *at, unsigned n, char open, char close) {
    fputc(open, printer->out);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            fputs(", ", printer->out);
        print_operand(printer, &at[i]);
    }
    fputc(close, printer->out);
}

static void print_sreg(const Printer *printer, const PtxOperand *operand) {
    char name[64];
    sreg_text(operand, name, sizeof name);
    fprintf(printer->out, "%%%s", name);
}

static void print_address(const Printer *printer, const PtxOperand *operand) {
    fputc('[', printer->out);
    if (operand->reg || operand->sym)
        fputs(operand->reg ? printer->reg[operand->reg] : sym_name(printer, operand->sym), printer->out);
    if (operand->imm || !(operand->reg || operand->sym))
        fprintf(printer->out, operand->reg || operand->sym ? "+%" PRId64 : "%" PRId64,
                operand->imm); /* ptxas wants a+-4, not a-4 */
    for (unsigned i = 0; i < operand->nvec; i++) {
        fputs(", ", printer->out);
        print_operand(printer, &operand->vec[i]);
    }
    fputc(']', printer->out);
}

static void print_imm(const Printer *printer, const PtxOperand *operand) {
    if (operand->imm_kind == IMM_F32)
        fprintf(printer->out, "0f%08" PRIX32, (uint32_t)operand->imm);
    else if (operand->imm_kind == IMM_F64)
        fprintf(printer->out, "0d%016" PRIX64, (uint64_t)operand->imm);
    else
        fprintf(printer->out, "%" PRId64, operand->imm);
}

static void print_operand(const Printer *printer, const PtxOperand *operand) {
    if (operand->neg || operand->not_)
        fputc(operand->neg ? '-' : '!', printer->out);
    if (operand->in_braces)
        fputc('{', printer->out);
    switch (operand->kind) {
    case PO_REG:
        fputs(printer->reg[operand->reg], printer->out);
        if (operand->selector)
            fputs(text(printer, (StrId){operand->sym}), printer->out);
        break;
    case PO_IMM: print_imm(printer, operand); break;
    case PO_SREG: print_sreg(printer, operand); break;
    case PO_SYM:
        fputs(sym_name(printer, operand->sym), printer->out);
        if (operand->imm)
            fprintf(printer->out, "+%" PRId64, operand->imm);
        break;
    case PO_ADDR: print_address(printer, operand); break;
    case PO_VEC: print_list(printer, operand->vec, operand->nvec, '{', '}'); break;
    case PO_LABEL: fputs(printer->label[operand->label], printer->out); break;
    default: fputc('_', printer->out);
    }
    if (operand->in_braces)
        fputc('}', printer->out);
}

/* instructions */

static void print_call(const Printer *printer, const PtxInsn *i) {
    fputc(' ', printer->out);
    if (i->nrets) {
        print_list(printer, i->rets, i->nrets, '(', ')');
        fputs(", ", printer->out);
    }
    if (i->callee)
        fputs(text(printer, printer->m->funcs[i->callee - 1].name), printer->out);
    else
        print_operand(printer, &i->operands[0]);
    if (i->nargs) {
        fputs(", ", printer->out);
        print_list(printer, i->args, i->nargs, '(', ')');
    }
    if (i->table)
        fprintf(printer->out, ", %s", printer->calls[i->table - 1]);
}

static void print_insn(const Printer *printer, const PtxInsn *i) {
    fputc('\t', printer->out);
    if (i->guard_reg)
        fprintf(printer->out, "@%s%s ", i->guard_not ? "!" : "", printer->reg[i->guard_reg]);
    fprintf(printer->out, "%s%s", ptx_op_name((PtxOp)i->op), text(printer, i->mods_text));
    if (i->op == PTX_CALL)
        print_call(printer, i);
    for (unsigned k = 0; i->op != PTX_CALL && k < i->noperands; k++) {
        fputs(k == 0 ? " " : k == 1 && i->ndst == 2 ? "|" : ", ", printer->out);
        if (i->op == PTX_BRX && k == 1)
            fputs(printer->branches[i->table - 1], printer->out);
        else
            print_operand(printer, &i->operands[k]);
        if (i->operands[k].kind == PO_ADDR && i->flags & PF_UNIFIED)
            fputs(".unified", printer->out);
    }
    fputs(";\n", printer->out);
}

static void print_line(const Printer *printer, uint32_t index) {
    const PtxLine *ptx_line = &printer->f->lines[index - 1];
    fprintf(printer->out, "\t.loc %" PRIu32 " %" PRIu32 " %" PRIu32, ptx_line->file, ptx_line->line,
            ptx_line->column);
    if (ptx_line->inlined_at) {
        const PtxLine *o = &printer->f->lines[ptx_line->inlined_at - 1];
        fprintf(printer->out, ", function_name %s, inlined_at %" PRIu32 " %" PRIu32 " %" PRIu32,
                text(printer, ptx_line->function_name), o->file, o->line, o->column);
    }
    fputc('\n', printer->out);
}

/* functions */

static void print_params(Printer *printer, const uint32_t *vars, uint32_t n) {
    fputc('(', printer->out);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = printer->var[vars[i]];
        if (i)
            fputs(", ", printer->out);
        print_var(printer, &printer->m->vars[vars[i]], name ? name : "_");
    }
    fputc(')', printer->out);
}

static void print_dims(const Printer *printer, const char *name, const uint32_t *d, unsigned n) {
    if (!d[0])
        return;
    fprintf(printer->out, " %s %" PRIu32, name, d[0]);
    for (unsigned i = 1; i < n; i++)
        fprintf(printer->out, ", %" PRIu32, d[i]);
}

static void print_head(Printer *printer, const PtxFunc *f) {
    fprintf(printer->out, "%s%s ", linkage(f->linkage), f->is_entry ? ".entry" : ".func");
    if (f->nrets) {
        print_params(printer, f->rets, f->nrets);
        fputc(' ', printer->out);
    }
    fputs(text(printer, f->name), printer->out);
    print_params(printer, f->params, f->nparams);
    print_dims(printer, ".maxntid", f->maxntid, 3);
    print_dims(printer, ".reqntid", f->reqntid, 3);
    print_dims(printer, ".maxnreg", &f->maxnreg, 1);
    print_dims(printer, ".minnctapersm", &f->minnctapersm, 1);
    print_dims(printer, ".maxnctapersm", &f->maxnctapersm, 1);
    print_dims(printer, ".reqnctapercluster", f->reqnctapercluster, 3);
    print_dims(printer, ".maxclusterrank", &f->maxclusterrank, 1);
    fprintf(printer->out, "%s%s%s", f->explicit_cluster ? " .explicitcluster" : "",
            f->blocks_are_clusters ? " .blocksareclusters" : "", f->noreturn ? " .noreturn" : "");
}

static void print_tables(Printer *printer) {
    for (uint32_t i = 0; i < printer->f->nbranch_tables; i++) {
        const PtxBranchTable *table = &printer->f->branch_tables[i];
        fprintf(printer->out, "%s: .branchtargets ", printer->branches[i]);
        for (uint32_t k = 0; k < table->n; k++)
            fprintf(printer->out, "%s%s", k ? ", " : "", printer->label[table->labels[k]]);
        fputs(";\n", printer->out);
    }
    for (uint32_t i = 0; i < printer->f->ncall_tables; i++) {
        const PtxCallTable *table = &printer->f->call_tables[i];
        fprintf(printer->out, "%s: ", printer->calls[i]);
        fputs(table->n ? ".calltargets " : ".callprototype ", printer->out);
        for (uint32_t k = 0; k < table->n; k++)
            fprintf(printer->out, "%s%s", k ? ", " : "",
                    text(printer, printer->m->funcs[table->funcs[k]].name));
        if (!table->n) {
            print_params(printer, table->rets, table->nrets);
            fputs(" _ ", printer->out);
            print_params(printer, table->params, table->nparams);
            fputs(table->noreturn ? " .noreturn" : "", printer->out);
        }
        fputs(";\n", printer->out);
    }
}

static void print_body(Printer *printer) {
    const PtxFunc *f = printer->f;
    uint32_t label = 0, line = 0, pragma = 0, nparam_regs = 0;
    fputs("\n{\n", printer->out);
    for (uint32_t i = 0; i < f->nparams + f->nrets; i++)
        nparam_regs += (i < f->nparams ? f->param_regs[i] : f->ret_regs[i - f->nparams]) != 0;
    for (uint32_t i = 1 + nparam_regs; i < f->nregs; i++) /* those of parameters come first */
        fprintf(printer->out, "\t.reg .%s %s;\n", ptx_type_name(f->regs[i].type), printer->reg[i]);
    for (uint32_t i = 0; i < f->nvars; i++) {
        fputc('\t', printer->out);
        print_var(printer, &printer->m->vars[f->vars[i]], printer->var[f->vars[i]]);
        fputs(";\n", printer->out);
    }
    print_tables(printer);
    for (uint32_t i = 0; i <= f->ninsns; i++) {
        for (; label < f->nlabels && f->labels[label].insn <= i; label++)
            fprintf(printer->out, "%s:\n", printer->label[label]);
        for (; pragma < f->npragmas && f->pragma_insns[pragma] <= i; pragma++)
            fprintf(printer->out, "\t.pragma \"%s\";\n", text(printer, f->pragmas[pragma]));
        if (i == f->ninsns)
            break;
        while (line < f->insns[i].line) /* those in between are where others are inlined */
            print_line(printer, ++line);
        print_insn(printer, &f->insns[i]);
    }
    fputs("}\n", printer->out);
}

static void forget_vars(Printer *printer, const uint32_t *index, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        printer->var[index[i]] = NULL;
}

static void print_function(Printer *printer, const PtxFunc *f, bool declaration) {
    printer->f = f;
    printer->names = (StrTab){0};
    printer->taken = NULL;
    printer->taken_cap = 0;
    ArenaMark mark = arena_mark(&printer->tmp);
    name_all(printer);
    print_head(printer, f);
    if (f->has_body && !declaration)
        print_body(printer);
    else
        fputs(";\n", printer->out);
    str_free(&printer->names);
    forget_vars(printer, f->rets, f->nrets);
    forget_vars(printer, f->params, f->nparams);
    forget_vars(printer, f->vars, f->nvars);
    arena_release(&printer->tmp, mark);
}

static void print_header(const Printer *printer) {
    const PtxModule *module = printer->m;
    fprintf(printer->out, ".version %" PRIu32 ".%" PRIu32 "\n.target %s\n.address_size 64\n",
            module->version_major, module->version_minor, text(printer, module->target_text));
    for (uint32_t i = 0; i < module->nfiles; i++)
        if (module->files[i].i)
            fprintf(printer->out, ".file %" PRIu32 " \"%s\"\n", i, text(printer, module->files[i]));
    if (module->nounroll)
        fprintf(printer->out, ".pragma \"nounroll\";\n");
}

static void print_globals(Printer *printer) {
    const PtxModule *module = printer->m;
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].alias_of)
            fprintf(printer->out, ".alias %s, %s;\n", text(printer, module->funcs[i].name),
                    text(printer, module->funcs[module->funcs[i].alias_of - 1].name));
    for (uint32_t i = 0; i < module->nvars; i++)
        if (!module->vars[i].func) {
            fputs(linkage(module->vars[i].linkage), printer->out);
            print_var(printer, &module->vars[i], text(printer, module->vars[i].name));
            fputs(";\n", printer->out);
        }
}

/* Functions are declared first, since variables and calls may name any of them; then come variables,
 * bodies of functions, entries. */
static void print_module(Printer *printer) {
    const PtxModule *module = printer->m;
    print_header(printer);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (!module->funcs[i].is_entry)
            print_function(printer, &module->funcs[i], true);
    print_globals(printer);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].has_body && !module->funcs[i].is_entry)
            print_function(printer, &module->funcs[i], false);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        if (module->funcs[i].is_entry)
            print_function(printer, &module->funcs[i], !module->funcs[i].has_body);
    for (uint32_t i = 0; i < module->nsections; i++) {
        fprintf(printer->out, ".section %s {", text(printer, module->sections[i].name));
        fwrite(module->sections[i].text, 1, module->sections[i].size_bytes, printer->out);
        fputs("}\n", printer->out);
    }
}

static void mark_globals(Printer *printer) {
    const PtxModule *module = printer->m;
    printer->global = ARENA_ARRAY(&printer->tmp, bool, module->strings.count + 1);
    printer->var = ARENA_ARRAY(&printer->tmp, const char *, module->nvars + 1);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        printer->global[module->funcs[i].name.i] = true;
    for (uint32_t i = 0; i < module->nvars; i++)
        if (!module->vars[i].func)
            printer->global[module->vars[i].name.i] = true;
}

bool ptx_print(const PtxModule *m, char **out, size_t *size_bytes) {
    TextStream *stream = text_open();
    Printer p = {.m = m, .out = stream->out};
    mark_globals(&p);
    print_module(&p);
    arena_free(&p.tmp);
    *out = NULL;
    if (p.failed)
        text_drop(stream);
    else
        *out = text_close(stream, size_bytes);
    return !p.failed;
}
