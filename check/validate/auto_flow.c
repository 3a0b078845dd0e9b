/* The flow of parameters through a kernel and the functions it calls: see auto_flow.h.
 *
 * In a basic block a register has the value of its last definition there. Between blocks there is no order:
 * what a register brings into a block is the join of what it has at the ends of all blocks that define it,
 * found by going over the statements until nothing changes. `is` are the slots whose value it is, sums
 * included (the bases of an address); `from` all that it is computed from. Variables in memory are cells of
 * the same kind, one for a variable.
 * SPDX-License-Identifier: MIT */
#include "check/validate/auto_flow.h"

enum { CTAID_MIXED = 255 };
typedef struct {
    uint64_t is, from; /* bit sets of slots */
    uint32_t var;      /* index + 1 of a variable whose address it is */
    uint8_t tid;       /* bit i: depends on the thread or block index of axis i */
    uint8_t ctaid;     /* axis + 1: it is that block index; or CTAID_MIXED */
    bool entry_param;  /* var is a parameter of the kernel; offset is known */
    uint32_t offset;
} Val;

typedef struct {
    const PtxModule *m;
    const PtxFunc *kernel;
    AutoFlow *out;
    Val **regs;            /* by function: what comes into blocks */
    Val *now;              /* in this block */
    uint32_t *block_of;    /* by register: the block that now[] is of */
    uint32_t block;        /* number of the present block */
    bool guarded;          /* the statement may not be executed */
    VEC(uint32_t) defined; /* registers that the block has defined */
    Arena *arena;
    Val *cells; /* by variable */
    uint8_t *funcs;
    uint8_t **leaders; /* by function: labels */
    bool changed;
    const char *reason;
} Flow;

/* ---- slots and values ---- */

static bool fail(Flow *w, const char *reason) {
    w->reason = reason;
    return false;
}

static uint32_t add_slot(Flow *w, AutoSlot s) {
    AutoFlow *o = w->out;
    if (o->nslots == AUTO_MAX_SLOTS) {
        fail(w, "more than 64 parameters and buffers");
        return 0;
    }
    o->slots[o->nslots] = s;
    w->changed = true;
    return o->nslots++;
}

static uint32_t param_slot(Flow *w, uint32_t param, uint32_t offset, uint32_t size) {
    for (uint32_t i = 0; i < w->out->nslots; i++) {
        AutoSlot *s = &w->out->slots[i];
        if (!s->parent && s->param == param && s->offset_bytes == offset) {
            s->size_bytes = size > s->size_bytes ? size : s->size_bytes;
            return i;
        }
    }
    return add_slot(w, (AutoSlot){.param = param, .offset_bytes = offset, .size_bytes = size});
}

static void use(Flow *w, uint64_t slots, uint32_t uses, PtxType float_type) {
    for (; slots; slots &= slots - 1) {
        AutoSlot *s = &w->out->slots[__builtin_ctzll(slots)];
        w->changed |= (s->uses | uses) != s->uses;
        s->uses |= uses;
        if (float_type)
            s->float_type = float_type;
    }
}

static void join(Flow *w, Val *to, Val v) {
    Val old = *to;
    to->is |= v.is;
    to->from |= v.from | v.is;
    to->tid |= v.tid;
    if (!to->var)
        to->var = v.var, to->entry_param = v.entry_param, to->offset = v.offset;
    if (v.ctaid)
        to->ctaid = to->ctaid && to->ctaid != v.ctaid ? CTAID_MIXED : v.ctaid;
    w->changed |= old.is != to->is || old.from != to->from || old.tid != to->tid || old.var != to->var ||
                  old.ctaid != to->ctaid;
}

static bool is_kernel_param(const Flow *w, uint32_t var, uint32_t *param) {
    for (uint32_t i = 0; i < w->kernel->nparams; i++)
        if (w->kernel->params[i] == var) {
            *param = i;
            return true;
        }
    return false;
}

static Val sreg_value(Flow *w, const PtxOperand *o) {
    bool axis = o->sreg == SR_TID || o->sreg == SR_CTAID;
    unsigned a = axis && o->component < 3 ? o->component : 0;
    if (axis)
        w->out->axes |= 1u << a;
    bool thread = axis || o->sreg == SR_LANEID || o->sreg == SR_WARPID ||
                  (o->sreg >= SR_LANEMASK_EQ && o->sreg <= SR_LANEMASK_GT);
    return (Val){.tid = (uint8_t)(thread ? 1u << a : 0), .ctaid = (uint8_t)(o->sreg == SR_CTAID ? a + 1 : 0)};
}

static Val symbol_value(Flow *w, const PtxOperand *o) {
    uint32_t param, var = (o->sym & ~PTX_SYM_FUNC) - 1;
    if (!o->sym || o->sym & PTX_SYM_FUNC)
        return (Val){0};
    const PtxVar *v = &w->m->vars[var];
    if (v->space == SP_SHARED && (v->unsized || !v->size_bytes))
        w->out->dynamic_shared = true;
    return (Val){.var = var + 1, .entry_param = is_kernel_param(w, var, &param), .offset = (uint32_t)o->imm};
}

static const Val *reg_value(const Flow *w, uint32_t func, uint32_t reg) {
    return w->block_of[reg] == w->block ? &w->now[reg] : &w->regs[func][reg];
}

static Val operand(Flow *w, uint32_t func, const PtxOperand *o) {
    Val v = {0};
    switch (o->kind) {
    case PO_REG: return *reg_value(w, func, o->reg);
    case PO_SREG: return sreg_value(w, o);
    case PO_SYM: return symbol_value(w, o);
    case PO_ADDR:
        v = o->reg ? *reg_value(w, func, o->reg) : o->sym ? symbol_value(w, o) : v;
        v.offset = o->reg ? v.offset + (uint32_t)o->imm : v.offset;
        return v;
    case PO_VEC:
        for (unsigned i = 0; i < o->nvec; i++) {
            Val e = operand(w, func, &o->vec[i]);
            v.from |= e.from | e.is;
            v.tid |= e.tid;
        }
        return v;
    default: return v;
    }
}

static void define(Flow *w, uint32_t func, const PtxOperand *o, Val v) {
    if (o->kind == PO_REG) {
        if (w->block_of[o->reg] != w->block)
            VEC_ADD(w->arena, &w->defined, o->reg);
        bool changed = w->changed;
        Val old = w->guarded ? *reg_value(w, func, o->reg) : (Val){0};
        join(w, &old, v);
        w->changed = changed; /* only what leaves the block matters */
        w->now[o->reg] = old;
        w->block_of[o->reg] = w->block;
    }
    for (unsigned i = 0; o->kind == PO_VEC && i < o->nvec; i++)
        define(w, func, &o->vec[i], v);
}

/* ---- memory ---- */

static Val contents(Flow *w, uint64_t bases, unsigned bytes) {
    Val v = {0};
    for (; bases; bases &= bases - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(bases), c = w->out->slots[i].content;
        if (!c) {
            unsigned depth = 0;
            for (uint32_t p = i + 1; p; p = w->out->slots[p - 1].parent)
                depth++;
            if (depth > 4)
                continue; /* a list or a tree: more of the same */
            c = add_slot(w, (AutoSlot){.parent = i + 1, .size_bytes = bytes}) + 1;
            w->out->slots[i].content = c;
        }
        AutoSlot *s = &w->out->slots[c - 1];
        s->size_bytes = bytes > s->size_bytes ? bytes : s->size_bytes;
        v.is |= 1ull << (c - 1);
    }
    v.from = v.is;
    return v;
}

/* The slots that can be bases of this address: eight bytes, and certain pointers rather than others. */
static uint64_t bases_of(const Flow *w, uint64_t is) {
    uint64_t wide = 0, sure = 0;
    for (; is; is &= is - 1) {
        uint64_t bit = is & -is;
        const AutoSlot *s = &w->out->slots[__builtin_ctzll(is)];
        const PtxVar *v = s->parent ? NULL : &w->m->vars[w->kernel->params[s->param]];
        if (s->size_bytes != 8)
            continue;
        wide |= bit;
        if (s->uses & AU_CVTA || (v && v->is_pointer))
            sure |= bit;
    }
    return sure ? sure : wide;
}

static uint64_t note_access(Flow *w, Val address, unsigned bytes) {
    uint64_t bases = bases_of(w, address.is);
    use(w, bases, AU_ADDRESS | AU_MEMORY, TY_NONE);
    use(w, address.from & ~bases, AU_INDEX, TY_NONE);
    for (uint64_t b = bases; b; b &= b - 1) {
        AutoSlot *s = &w->out->slots[__builtin_ctzll(b)];
        if (!s->elem_bytes || bytes < s->elem_bytes)
            s->elem_bytes = (uint8_t)bytes;
    }
    return bases;
}

static void do_load(Flow *w, uint32_t func, const PtxInsn *in) {
    const PtxOperand *o = &in->operands[in->ndst];
    Val a = operand(w, func, o);
    unsigned bytes = ptx_type_bytes((PtxType)in->type[0]);
    uint32_t param;
    if (a.var && a.entry_param && is_kernel_param(w, a.var - 1, &param)) {
        for (unsigned i = 0; i < (in->vec ? in->vec : 1u); i++) {
            const PtxOperand *d = in->operands[0].kind == PO_VEC ? &in->operands[0].vec[i] : &in->operands[0];
            uint32_t s = param_slot(w, param, a.offset + i * bytes, bytes);
            define(w, func, d, (Val){.is = 1ull << s, .from = 1ull << s});
            if (ptx_type_class((PtxType)in->type[0]) == TC_FLOAT)
                use(w, 1ull << s, AU_FLOAT, (PtxType)in->type[0]);
        }
        return;
    }
    if (a.var) {
        Val v = w->cells[a.var - 1];
        v.tid |= a.tid;
        v.from |= a.from;
        define(w, func, &in->operands[0], v);
        use(w, a.from, AU_INDEX, TY_NONE);
        return;
    }
    Val v = contents(w, note_access(w, a, bytes), bytes);
    if (ptx_type_class((PtxType)in->type[0]) == TC_FLOAT)
        use(w, v.is, AU_FLOAT, (PtxType)in->type[0]);
    define(w, func, &in->operands[0], v);
}

static void do_store(Flow *w, uint32_t func, const PtxInsn *in) {
    Val a = operand(w, func, &in->operands[0]), v = operand(w, func, &in->operands[1]);
    if (a.var) {
        join(w, &w->cells[a.var - 1], v);
        use(w, a.from, AU_INDEX, TY_NONE);
    } else {
        note_access(w, a, ptx_type_bytes((PtxType)in->type[0]));
    }
}

static void do_atomic(Flow *w, uint32_t func, const PtxInsn *in) {
    Val a = operand(w, func, &in->operands[in->ndst]);
    unsigned bytes = ptx_type_bytes((PtxType)in->type[0]);
    Val v = a.var ? w->cells[a.var - 1] : contents(w, note_access(w, a, bytes), bytes);
    if (ptx_type_class((PtxType)in->type[0]) == TC_FLOAT)
        use(w, v.is, AU_FLOAT, (PtxType)in->type[0]);
    v.tid |= 1;
    if (in->ndst)
        define(w, func, &in->operands[0], v);
}

/* ---- arithmetic ---- */

static void hint_block(Flow *w, const PtxInsn *in, Val a, const PtxOperand *factor) {
    if (!a.ctaid || a.ctaid == CTAID_MIXED || factor->kind != PO_IMM)
        return;
    uint64_t n = in->op == PTX_SHL ? (factor->imm < 11 ? 1ull << factor->imm : 0) : (uint64_t)factor->imm;
    if (n >= 1 && n <= 1024)
        w->out->block_hint[a.ctaid - 1] = (uint32_t)n;
}

static void do_compare(Flow *w, uint32_t func, const PtxInsn *in) {
    Val a = operand(w, func, &in->operands[in->ndst]), b = operand(w, func, &in->operands[in->ndst + 1]);
    for (int side = 0; side < 2; side++) {
        Val x = side ? b : a, y = side ? a : b;
        uint64_t slots = x.is | x.from;
        use(w, slots, y.tid ? (uint32_t)AU_CMP_X * (y.tid & 7u) : AU_CMP, TY_NONE);
    }
}

/* Which operands pass their value on, for sums that are addresses. */
static bool passes_value(const PtxInsn *in, unsigned source) {
    switch (in->op) {
    case PTX_MOV:
    case PTX_CVTA:
    case PTX_CVT:
    case PTX_ADD:
    case PTX_SHFL:
    case PTX_OR: return source < 2;
    case PTX_SUB: return source == 0;
    case PTX_SELP: return source < 2;
    case PTX_MAD: return source == 2;
    case PTX_AND: return source == 0; /* alignment */
    default: return false;
    }
}

static void do_other(Flow *w, uint32_t func, const PtxInsn *in) {
    Val out = {0}, first = {0};
    unsigned from = in->op == PTX_CVT || in->op == PTX_SET ? (in->ntypes > 1) : 0;
    PtxType type = (PtxType)in->type[from];
    bool is_float = ptx_type_class(type) == TC_FLOAT;
    unsigned n = 0;
    for (unsigned i = in->ndst; i < in->noperands; i++, n++) {
        const PtxOperand *o = &in->operands[i];
        Val v = operand(w, func, o);
        first = n ? first : v;
        out.from |= v.from | v.is;
        out.tid |= v.tid;
        if (passes_value(in, n)) {
            out.is |= v.is;
            if (v.var && !out.var) {
                const PtxOperand *other = in->op == PTX_ADD ? &in->operands[in->ndst + (n ? 0 : 1)] : NULL;
                out.var = v.var, out.entry_param = v.entry_param;
                out.offset = v.offset + (other && other->kind == PO_IMM ? (uint32_t)other->imm : 0);
            }
        }
        if (is_float)
            use(w, v.is, AU_FLOAT, type);
    }
    if (in->op == PTX_MOV || in->op == PTX_CVT)
        out.ctaid = first.ctaid;
    if (in->op == PTX_CVTA)
        use(w, out.is, AU_CVTA, TY_NONE);
    if ((in->op == PTX_DIV || in->op == PTX_REM) && !is_float)
        use(w, operand(w, func, &in->operands[in->ndst + 1]).from, AU_DIVISOR, TY_NONE);
    if (in->op == PTX_MUL || in->op == PTX_MAD || in->op == PTX_SHL)
        hint_block(w, in, first, &in->operands[in->ndst + 1]);
    for (unsigned i = 0; i < in->ndst; i++)
        define(w, func, &in->operands[i], out);
}

static bool do_call(Flow *w, uint32_t func, const PtxInsn *in) {
    if (!in->callee) {
        use(w, operand(w, func, &in->operands[0]).from, AU_CALL, TY_NONE);
        return true;
    }
    uint32_t callee = in->callee - 1;
    while (w->m->funcs[callee].alias_of)
        callee = w->m->funcs[callee].alias_of - 1;
    const PtxFunc *f = &w->m->funcs[callee];
    if (!w->funcs[callee]) {
        w->funcs[callee] = 1;
        w->changed = true;
    }
    for (unsigned i = 0; f->has_body && i < in->nargs && i < f->nparams; i++) {
        const PtxOperand *o = &in->args[i];
        bool memory = o->kind == PO_SYM && o->sym && !(o->sym & PTX_SYM_FUNC);
        Val v = memory ? w->cells[o->sym - 1] : operand(w, func, o);
        uint32_t reg = f->param_regs ? f->param_regs[i] : 0;
        join(w, reg ? &w->regs[callee][reg] : &w->cells[f->params[i]], v);
    }
    for (unsigned i = 0; f->has_body && i < in->nrets && i < f->nrets; i++) {
        const PtxOperand *o = &in->rets[i];
        uint32_t reg = f->ret_regs ? f->ret_regs[i] : 0;
        Val v = reg ? w->regs[callee][reg] : w->cells[f->rets[i]]; /* as at the ends of its blocks */
        if (o->kind == PO_SYM && o->sym && !(o->sym & PTX_SYM_FUNC))
            join(w, &w->cells[o->sym - 1], v);
        else
            define(w, func, o, v);
    }
    return true;
}

static void end_block(Flow *w, uint32_t func) {
    for (uint32_t i = 0; i < w->defined.n; i++)
        join(w, &w->regs[func][w->defined.at[i]], w->now[w->defined.at[i]]);
    w->defined.n = 0;
    w->block++;
}

static void do_insn(Flow *w, uint32_t func, const PtxInsn *in) {
    switch (in->op) {
    case PTX_LD:
    case PTX_LDU: do_load(w, func, in); break;
    case PTX_ST: do_store(w, func, in); break;
    case PTX_ATOM:
    case PTX_RED: do_atomic(w, func, in); break;
    case PTX_CALL: do_call(w, func, in); break;
    case PTX_BRX: use(w, operand(w, func, &in->operands[0]).from, AU_BRANCH, TY_NONE); break;
    case PTX_SETP:
    case PTX_SET:
    case PTX_MIN:
    case PTX_MAX:
        if (in->noperands >= in->ndst + 2u &&
            ptx_type_class((PtxType)in->type[in->op == PTX_SET && in->ntypes > 1]) != TC_FLOAT)
            do_compare(w, func, in);
        do_other(w, func, in);
        break;
    case PTX_CP:
        for (unsigned i = 0; i < 2 && i < in->noperands; i++) {
            Val a = operand(w, func, &in->operands[i]);
            if (!a.var)
                note_access(w, a, 4);
        }
        break;
    default: do_other(w, func, in);
    }
}

static void do_function(Flow *w, uint32_t func) {
    const PtxFunc *f = &w->m->funcs[func];
    uint8_t *leader = w->leaders[func];
    for (uint32_t i = 0; i < f->nlabels; i++)
        leader[f->labels[i].insn] = 1;
    for (uint32_t i = 0; !w->reason && i < f->ninsns; i++) {
        if (leader[i])
            end_block(w, func);
        w->guarded = f->insns[i].guard_reg != 0;
        do_insn(w, func, &f->insns[i]);
    }
    end_block(w, func);
}

static void address_taken(Flow *w) { /* with indirect calls anything may be called */
    for (uint32_t f = 0; f < w->m->nfuncs; f++)
        for (uint32_t i = 0; w->funcs[f] && i < w->m->funcs[f].ninsns; i++) {
            const PtxInsn *in = &w->m->funcs[f].insns[i];
            for (unsigned k = 0; in->op != PTX_CALL && k < in->noperands; k++)
                if (in->operands[k].kind == PO_SYM && in->operands[k].sym & PTX_SYM_FUNC) {
                    uint8_t *known = &w->funcs[(in->operands[k].sym & ~PTX_SYM_FUNC) - 1];
                    w->changed |= !*known;
                    *known = 1;
                }
        }
}

bool auto_flow(const PtxModule *m, uint32_t kernel, Arena *arena, AutoFlow *out, const char **reason) {
    *out = (AutoFlow){0};
    Flow w = {.m = m, .kernel = &m->funcs[kernel], .out = out, .arena = arena, .block = 1};
    uint32_t most = 0;
    w.regs = ARENA_ARRAY(arena, Val *, m->nfuncs + 1);
    w.cells = ARENA_ARRAY(arena, Val, m->nvars + 1);
    w.funcs = ARENA_ARRAY(arena, uint8_t, m->nfuncs + 1);
    w.leaders = ARENA_ARRAY(arena, uint8_t *, m->nfuncs + 1);
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        w.regs[i] = ARENA_ARRAY(arena, Val, m->funcs[i].nregs + 1);
        w.leaders[i] = ARENA_ARRAY(arena, uint8_t, m->funcs[i].ninsns + 1);
        most = m->funcs[i].nregs > most ? m->funcs[i].nregs : most;
    }
    w.now = ARENA_ARRAY(arena, Val, most + 1);
    w.block_of = ARENA_ARRAY(arena, uint32_t, most + 1);
    out->funcs = w.funcs;
    w.funcs[kernel] = 1;
    for (bool again = true; again && !w.reason;) {
        w.changed = false;
        for (uint32_t f = 0; f < m->nfuncs; f++)
            if (w.funcs[f] && !w.reason)
                do_function(&w, f);
        address_taken(&w);
        again = w.changed;
    }
    *reason = w.reason;
    return !w.reason;
}
