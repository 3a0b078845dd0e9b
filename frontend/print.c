/* Module to PTX text that parses to an equal module. Blocks were resolved while parsing, so a function is
 * printed flat: registers, labels and variables get unique names, `name` or `name_N` with their number
 * where a name is used twice. Instructions keep the modifiers as they were written.
 * SPDX-License-Identifier: MIT */
#include "frontend/ast.h"
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

static const char *text(const Printer *p, StrId id) { return str_text(&p->m->strings, id); }

static const char *const spaces[SP_COUNT] = {
    [SP_CONST] = ".const",     [SP_GLOBAL] = ".global",
    [SP_LOCAL] = ".local",     [SP_PARAM] = ".param",
    [SP_SHARED] = ".shared",   [SP_TEX] = ".tex",
    [SP_REG] = ".reg",         [SP_NONE] = "",
    [SP_SREG] = ".sreg",       [SP_SHARED_CLUSTER] = ".shared::cluster",
    [SP_PARAM_FUNC] = ".param"};

/* unique names */

static bool take(Printer *p, const char *name) {
    StrId id = str_intern_z(&p->names, name);
    if (id.i >= p->taken_cap) {
        uint32_t cap = id.i * 2 + 64;
        p->taken = arena_grow(&p->tmp, p->taken, p->taken_cap, cap);
        memset(p->taken + p->taken_cap, 0, cap - p->taken_cap);
        p->taken_cap = cap;
    }
    bool free_name = !p->taken[id.i];
    p->taken[id.i] = true;
    return free_name;
}

/* Components of vector registers (`v.x`) become scalar registers (`v_x`). */
static bool is_global(const Printer *p, const char *name) {
    StrId id = str_find(&p->m->strings, name, strlen(name));
    return id.i && p->global[id.i];
}

static const char *unique(Printer *p, StrId id, uint32_t number) {
    char *name = arena_printf(&p->tmp, "%s", text(p, id));
    for (char *c = name; *c; c++)
        if (*c == '.')
            *c = '_';
    const char *result = name;
    for (uint32_t n = number; is_global(p, result) || !take(p, result); n++)
        result = arena_printf(&p->tmp, "%s_%" PRIu32, name, n);
    return result;
}

static void name_vars(Printer *p, const uint32_t *index, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!p->var[index[i]])
            p->var[index[i]] = unique(p, p->m->vars[index[i]].name, index[i]);
}

static void name_all(Printer *p) {
    const PtxFunc *f = p->f;
    p->reg = ARENA_ARRAY(&p->tmp, const char *, f->nregs + f->nparams + f->nrets + 1);
    p->label = ARENA_ARRAY(&p->tmp, const char *, f->nlabels + 1);
    p->branches = ARENA_ARRAY(&p->tmp, const char *, f->nbranch_tables + 1);
    p->calls = ARENA_ARRAY(&p->tmp, const char *, f->ncall_tables + 1);
    name_vars(p, f->rets, f->nrets);
    name_vars(p, f->params, f->nparams);
    name_vars(p, f->vars, f->nvars);
    for (uint32_t i = 0; i < f->nparams + f->nrets; i++) {
        bool ret = i >= f->nparams;
        uint32_t k = ret ? i - f->nparams : i, reg = ret ? f->ret_regs[k] : f->param_regs[k];
        if (reg)
            p->reg[reg] = p->var[ret ? f->rets[k] : f->params[k]];
    }
    for (uint32_t i = 1; i < f->nregs; i++)
        if (!p->reg[i])
            p->reg[i] = unique(p, f->regs[i].name, i);
    for (uint32_t i = 0; i < f->nlabels; i++)
        p->label[i] = unique(p, f->labels[i].name, i);
    for (uint32_t i = 0; i < f->nbranch_tables; i++)
        p->branches[i] = unique(p, f->branch_tables[i].name, i);
    for (uint32_t i = 0; i < f->ncall_tables; i++)
        p->calls[i] = unique(p, f->call_tables[i].name, i);
}

static const char *sym_name(const Printer *p, uint32_t sym) {
    if (sym & PTX_SYM_FUNC)
        return text(p, p->m->funcs[(sym & ~PTX_SYM_FUNC) - 1].name);
    const char *local = p->var ? p->var[sym - 1] : NULL;
    return local ? local : text(p, p->m->vars[sym - 1].name);
}

/* declarations */

static const char *linkage(unsigned l) {
    static const char *const names[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
    return names[l];
}

static void print_init(const Printer *p, const PtxVar *v, const PtxInit *i) {
    if (i->sym) {
        if (i->size_bytes == 1)
            fprintf(p->out, "0x%" PRIx64 "(", (uint64_t)0xff << i->shift);
        fprintf(p->out, i->generic ? "generic(%s)" : "%s", sym_name(p, i->sym));
        if (i->value)
            fprintf(p->out, "+%" PRId64, i->value);
        if (i->size_bytes == 1)
            fputc(')', p->out);
    } else if (v->type == TY_F32) {
        fprintf(p->out, "0f%08" PRIX32, (uint32_t)i->value);
    } else if (v->type == TY_F64) {
        fprintf(p->out, "0d%016" PRIX64, (uint64_t)i->value);
    } else {
        fprintf(p->out, "%" PRId64, i->value);
    }
}

static void print_zero(const Printer *p, const PtxVar *v) {
    fputs(v->type == TY_F32 ? "0f00000000" : v->type == TY_F64 ? "0d0000000000000000" : "0", p->out);
}

/* All dimensions become one; elements between the initialisers given are zero. */
static void print_inits(Printer *p, const PtxVar *v) {
    unsigned bytes = ptx_type_bytes(v->type);
    uint64_t element = 0;
    if (v->inits[v->ninits - 1].offset_bytes > MAX_INIT_BYTES) { /* text of that size helps nobody */
        p->failed = true;
        return;
    }
    if (!v->is_array && v->vec == 1) {
        fputs(" = ", p->out);
        print_init(p, v, v->inits);
        return;
    }
    fputs(" = {", p->out);
    for (uint32_t i = 0; i < v->ninits; i++)
        for (bool done = false; !done; element++) {
            if (v->vec > 1 && v->is_array)
                fputs(element % v->vec ? ", " : element ? "}, {" : "{", p->out);
            else if (element)
                fputs(", ", p->out);
            done = element >= v->inits[i].offset_bytes / bytes;
            if (done)
                print_init(p, v, &v->inits[i]);
            else
                print_zero(p, v);
        }
    fputs(v->vec > 1 && v->is_array && element ? "}}" : "}", p->out);
}

static void print_var(Printer *p, const PtxVar *v, const char *name) {
    fputs(spaces[v->space], p->out);
    if (v->managed)
        fputs(" .attribute(.managed)", p->out);
    if (v->space != SP_REG && ptx_type_class(v->type) != TC_OPAQUE)
        fprintf(p->out, " .align %" PRIu32, v->align_bytes);
    if (v->vec > 1)
        fprintf(p->out, " .v%u", v->vec);
    fprintf(p->out, " .%s", ptx_type_name(v->type));
    if (v->is_pointer)
        fprintf(p->out, " .ptr%s%s", v->pointee_space ? " " : "", spaces[v->pointee_space]);
    fprintf(p->out, " %s", name);
    if (v->is_array && v->unsized)
        fputs("[]", p->out);
    else if (v->is_array)
        fprintf(p->out, "[%" PRIu32 "]", v->nelems);
    if (v->ninits)
        print_inits(p, v);
}

/* operands */

static void print_operand(const Printer *p, const PtxOperand *o);
static void print_list(const Printer *p, const PtxOperand *at, unsigned n, char open, char close) {
    fputc(open, p->out);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            fputs(", ", p->out);
        print_operand(p, &at[i]);
    }
    fputc(close, p->out);
}

static void print_sreg(const Printer *p, const PtxOperand *o) {
    static const char *const smem[] = {"offset_begin", "offset_end", "offset_cap", "offset_0", "offset_1"};
    const char *name = ptx_sreg_name((PtxSreg)o->sreg);
    switch (o->sreg) {
    case SR_ENVREG: fprintf(p->out, "%%%s%u", name, o->component); break;
    case SR_PM: fprintf(p->out, o->component < 8 ? "%%%s%u" : "%%%s%u_64", name, o->component % 8u); break;
    case SR_RESERVED_SMEM: fprintf(p->out, "%%%s_%s", name, smem[o->component]); break;
    case SR_TID:
    case SR_NTID:
    case SR_CTAID:
    case SR_NCTAID:
    case SR_CLUSTERID:
    case SR_NCLUSTERID:
    case SR_CLUSTER_CTAID:
    case SR_CLUSTER_NCTAID: fprintf(p->out, "%%%s.%c", name, "xyzw"[o->component]); break;
    default: fprintf(p->out, "%%%s", name);
    }
}

static void print_address(const Printer *p, const PtxOperand *o) {
    fputc('[', p->out);
    if (o->reg || o->sym)
        fputs(o->reg ? p->reg[o->reg] : sym_name(p, o->sym), p->out);
    if (o->imm || !(o->reg || o->sym))
        fprintf(p->out, o->reg || o->sym ? "+%" PRId64 : "%" PRId64, o->imm); /* ptxas wants a+-4, not a-4 */
    for (unsigned i = 0; i < o->nvec; i++) {
        fputs(", ", p->out);
        print_operand(p, &o->vec[i]);
    }
    fputc(']', p->out);
}

static void print_imm(const Printer *p, const PtxOperand *o) {
    if (o->imm_kind == IMM_F32)
        fprintf(p->out, "0f%08" PRIX32, (uint32_t)o->imm);
    else if (o->imm_kind == IMM_F64)
        fprintf(p->out, "0d%016" PRIX64, (uint64_t)o->imm);
    else
        fprintf(p->out, "%" PRId64, o->imm);
}

static void print_operand(const Printer *p, const PtxOperand *o) {
    static const char *const selectors[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
    if (o->neg || o->not_)
        fputc(o->neg ? '-' : '!', p->out);
    switch (o->kind) {
    case PO_REG:
        fprintf(p->out, "%s%s", p->reg[o->reg],
                o->selector < 7 ? selectors[o->selector] : text(p, (StrId){o->sym}));
        break;
    case PO_IMM: print_imm(p, o); break;
    case PO_SREG: print_sreg(p, o); break;
    case PO_SYM:
        fputs(sym_name(p, o->sym), p->out);
        if (o->imm)
            fprintf(p->out, "+%" PRId64, o->imm);
        break;
    case PO_ADDR: print_address(p, o); break;
    case PO_VEC: print_list(p, o->vec, o->nvec, '{', '}'); break;
    case PO_LABEL: fputs(p->label[o->label], p->out); break;
    default: fputc('_', p->out);
    }
}

/* instructions */

static void print_call(const Printer *p, const PtxInsn *i) {
    fputc(' ', p->out);
    if (i->nrets) {
        print_list(p, i->rets, i->nrets, '(', ')');
        fputs(", ", p->out);
    }
    if (i->callee)
        fputs(text(p, p->m->funcs[i->callee - 1].name), p->out);
    else
        print_operand(p, &i->operands[0]);
    if (i->nargs) {
        fputs(", ", p->out);
        print_list(p, i->args, i->nargs, '(', ')');
    }
    if (i->table)
        fprintf(p->out, ", %s", p->calls[i->table - 1]);
}

static void print_insn(const Printer *p, const PtxInsn *i) {
    fputc('\t', p->out);
    if (i->guard_reg)
        fprintf(p->out, "@%s%s ", i->guard_not ? "!" : "", p->reg[i->guard_reg]);
    fprintf(p->out, "%s%s", ptx_op_name((PtxOp)i->op), text(p, i->mods_text));
    if (i->op == PTX_CALL)
        print_call(p, i);
    for (unsigned k = 0; i->op != PTX_CALL && k < i->noperands; k++) {
        fputs(k == 0 ? " " : k == 1 && i->ndst == 2 ? "|" : ", ", p->out);
        if (i->op == PTX_BRX && k == 1)
            fputs(p->branches[i->table - 1], p->out);
        else
            print_operand(p, &i->operands[k]);
        if (i->operands[k].kind == PO_ADDR && i->flags & PF_UNIFIED)
            fputs(".unified", p->out);
    }
    fputs(";\n", p->out);
}

static void print_line(const Printer *p, uint32_t index) {
    const PtxLine *l = &p->f->lines[index - 1];
    fprintf(p->out, "\t.loc %" PRIu32 " %" PRIu32 " %" PRIu32, l->file, l->line, l->column);
    if (l->inlined_at) {
        const PtxLine *o = &p->f->lines[l->inlined_at - 1];
        fprintf(p->out, ", function_name %s, inlined_at %" PRIu32 " %" PRIu32 " %" PRIu32,
                text(p, l->function_name), o->file, o->line, o->column);
    }
    fputc('\n', p->out);
}

/* functions */

static void print_params(Printer *p, const uint32_t *vars, uint32_t n) {
    fputc('(', p->out);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = p->var[vars[i]];
        if (i)
            fputs(", ", p->out);
        print_var(p, &p->m->vars[vars[i]], name ? name : "_");
    }
    fputc(')', p->out);
}

static void print_dims(const Printer *p, const char *name, const uint32_t *d, unsigned n) {
    if (!d[0])
        return;
    fprintf(p->out, " %s %" PRIu32, name, d[0]);
    for (unsigned i = 1; i < n; i++)
        fprintf(p->out, ", %" PRIu32, d[i]);
}

static void print_head(Printer *p, const PtxFunc *f) {
    fprintf(p->out, "%s%s ", linkage(f->linkage), f->is_entry ? ".entry" : ".func");
    if (f->nrets) {
        print_params(p, f->rets, f->nrets);
        fputc(' ', p->out);
    }
    fputs(text(p, f->name), p->out);
    print_params(p, f->params, f->nparams);
    print_dims(p, ".maxntid", f->maxntid, 3);
    print_dims(p, ".reqntid", f->reqntid, 3);
    print_dims(p, ".maxnreg", &f->maxnreg, 1);
    print_dims(p, ".minnctapersm", &f->minnctapersm, 1);
    print_dims(p, ".maxnctapersm", &f->maxnctapersm, 1);
    print_dims(p, ".reqnctapercluster", f->reqnctapercluster, 3);
    print_dims(p, ".maxclusterrank", &f->maxclusterrank, 1);
    fprintf(p->out, "%s%s%s", f->explicit_cluster ? " .explicitcluster" : "",
            f->blocks_are_clusters ? " .blocksareclusters" : "", f->noreturn ? " .noreturn" : "");
}

static void print_tables(Printer *p) {
    for (uint32_t i = 0; i < p->f->nbranch_tables; i++) {
        const PtxBranchTable *t = &p->f->branch_tables[i];
        fprintf(p->out, "%s: .branchtargets ", p->branches[i]);
        for (uint32_t k = 0; k < t->n; k++)
            fprintf(p->out, "%s%s", k ? ", " : "", p->label[t->labels[k]]);
        fputs(";\n", p->out);
    }
    for (uint32_t i = 0; i < p->f->ncall_tables; i++) {
        const PtxCallTable *t = &p->f->call_tables[i];
        fprintf(p->out, "%s: ", p->calls[i]);
        fputs(t->n ? ".calltargets " : ".callprototype ", p->out);
        for (uint32_t k = 0; k < t->n; k++)
            fprintf(p->out, "%s%s", k ? ", " : "", text(p, p->m->funcs[t->funcs[k]].name));
        if (!t->n) {
            print_params(p, t->rets, t->nrets);
            fputs(" _ ", p->out);
            print_params(p, t->params, t->nparams);
            fputs(t->noreturn ? " .noreturn" : "", p->out);
        }
        fputs(";\n", p->out);
    }
}

static void print_body(Printer *p) {
    const PtxFunc *f = p->f;
    uint32_t label = 0, line = 0, pragma = 0, nparam_regs = 0;
    fputs("\n{\n", p->out);
    for (uint32_t i = 0; i < f->nparams + f->nrets; i++)
        nparam_regs += (i < f->nparams ? f->param_regs[i] : f->ret_regs[i - f->nparams]) != 0;
    for (uint32_t i = 1 + nparam_regs; i < f->nregs; i++) /* those of parameters come first */
        fprintf(p->out, "\t.reg .%s %s;\n", ptx_type_name(f->regs[i].type), p->reg[i]);
    for (uint32_t i = 0; i < f->nvars; i++) {
        fputc('\t', p->out);
        print_var(p, &p->m->vars[f->vars[i]], p->var[f->vars[i]]);
        fputs(";\n", p->out);
    }
    print_tables(p);
    for (uint32_t i = 0; i <= f->ninsns; i++) {
        for (; label < f->nlabels && f->labels[label].insn <= i; label++)
            fprintf(p->out, "%s:\n", p->label[label]);
        for (; pragma < f->npragmas && f->pragma_insns[pragma] <= i; pragma++)
            fprintf(p->out, "\t.pragma \"%s\";\n", text(p, f->pragmas[pragma]));
        if (i == f->ninsns)
            break;
        while (line < f->insns[i].line) /* those in between are where others are inlined */
            print_line(p, ++line);
        print_insn(p, &f->insns[i]);
    }
    fputs("}\n", p->out);
}

static void forget_vars(Printer *p, const uint32_t *index, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        p->var[index[i]] = NULL;
}

static void print_function(Printer *p, const PtxFunc *f, bool declaration) {
    p->f = f;
    p->names = (StrTab){0};
    p->taken = NULL;
    p->taken_cap = 0;
    ArenaMark mark = arena_mark(&p->tmp);
    name_all(p);
    print_head(p, f);
    if (f->has_body && !declaration)
        print_body(p);
    else
        fputs(";\n", p->out);
    str_free(&p->names);
    forget_vars(p, f->rets, f->nrets);
    forget_vars(p, f->params, f->nparams);
    forget_vars(p, f->vars, f->nvars);
    arena_release(&p->tmp, mark);
}

static void print_header(const Printer *p) {
    const PtxModule *m = p->m;
    fprintf(p->out, ".version %" PRIu32 ".%" PRIu32 "\n.target %s\n.address_size 64\n", m->version_major,
            m->version_minor, text(p, m->target_text));
    for (uint32_t i = 0; i < m->nfiles; i++)
        if (m->files[i].i)
            fprintf(p->out, ".file %" PRIu32 " \"%s\"\n", i, text(p, m->files[i]));
}

static void print_globals(Printer *p) {
    const PtxModule *m = p->m;
    for (uint32_t i = 0; i < m->nfuncs; i++)
        if (m->funcs[i].alias_of)
            fprintf(p->out, ".alias %s, %s;\n", text(p, m->funcs[i].name),
                    text(p, m->funcs[m->funcs[i].alias_of - 1].name));
    for (uint32_t i = 0; i < m->nvars; i++)
        if (!m->vars[i].func) {
            fputs(linkage(m->vars[i].linkage), p->out);
            print_var(p, &m->vars[i], text(p, m->vars[i].name));
            fputs(";\n", p->out);
        }
}

/* Functions are declared first, since variables and calls may name any of them; then come variables,
 * bodies of functions, entries. */
static void print_module(Printer *p) {
    const PtxModule *m = p->m;
    print_header(p);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        if (!m->funcs[i].is_entry)
            print_function(p, &m->funcs[i], true);
    print_globals(p);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        if (m->funcs[i].has_body && !m->funcs[i].is_entry)
            print_function(p, &m->funcs[i], false);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        if (m->funcs[i].is_entry)
            print_function(p, &m->funcs[i], !m->funcs[i].has_body);
    for (uint32_t i = 0; i < m->nsections; i++) {
        fprintf(p->out, ".section %s {", text(p, m->sections[i].name));
        fwrite(m->sections[i].text, 1, m->sections[i].size_bytes, p->out);
        fputs("}\n", p->out);
    }
}

static void mark_globals(Printer *p) {
    const PtxModule *m = p->m;
    p->global = ARENA_ARRAY(&p->tmp, bool, m->strings.count + 1);
    p->var = ARENA_ARRAY(&p->tmp, const char *, m->nvars + 1);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        p->global[m->funcs[i].name.i] = true;
    for (uint32_t i = 0; i < m->nvars; i++)
        if (!m->vars[i].func)
            p->global[m->vars[i].name.i] = true;
}

bool ptx_print(const PtxModule *m, char **out, size_t *size_bytes) {
    *out = NULL;
    FILE *file = open_memstream(out, size_bytes);
    if (!file)
        return false;
    Printer p = {.m = m, .out = file};
    mark_globals(&p);
    print_module(&p);
    arena_free(&p.tmp);
    bool ok = fclose(file) == 0 && *out && !p.failed;
    if (!ok) {
        free(*out);
        *out = NULL;
    }
    return ok;
}
