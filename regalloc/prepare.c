/* What colouring takes for granted, made true: no unreachable block, no block twice among a block's
 * successors, no phi in a block with one predecessor, and every constrained operand (vector, tied) names
 * values that no other constraint of the instruction wants elsewhere. Also limits, callees and edge
 * positions.
 * SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"
#include "frontend/ast.h"
#include "ir/callgraph.h"
#include "isa/machine/occupancy.h"
#include <string.h>

const char *ra_file_name(RegFile file) {
    static const char *const names[] = {"R", "P", "UR", "UP", "B"};
    return file < RF_COUNT ? names[file] : "?";
}

SrcLoc ra_src_loc(const Function *f, const Inst *i) {
    return i && i->loc.i < f->locs.n ? f->locs.at[i->loc.i].src : (SrcLoc){0};
}

/* ---- limits ---- */

/* Registers a thread may have by the launch bounds of one kernel; 0 if it says nothing. */
static unsigned bound_of(const Function *f) {
    if (!f->ptx)
        return 0;
    unsigned limit = f->ptx->maxnreg;
    const uint32_t *ntid = f->ptx->reqntid[0] ? f->ptx->reqntid : f->ptx->maxntid;
    if (ntid[0]) {
        uint64_t threads = (uint64_t)ntid[0] * (ntid[1] ? ntid[1] : 1) * (ntid[2] ? ntid[2] : 1);
        threads = (threads + 31) / 32 * 32 * (f->ptx->minnctapersm ? f->ptx->minnctapersm : 1);
        uint32_t share = occupancy_regs(f->module->target, threads);
        if (share && share < 256 && (!limit || share < limit))
            limit = share;
    }
    return limit;
}

static unsigned smaller(unsigned a, unsigned b) { return !a ? b : !b || a < b ? a : b; }

/* The same for a function, whichever kernel calls it. */
static unsigned bound_of_all(IrModule *module) {
    if (module->bounded_funcs == module->funcs.n)
        return module->reg_bound;
    module->reg_bound = 0;
    for (unsigned k = 0; k < module->funcs.n; k++)
        if (module->funcs.at[k]->is_entry)
            module->reg_bound = smaller(module->reg_bound, bound_of(module->funcs.at[k]));
    module->bounded_funcs = module->funcs.n;
    return module->reg_bound;
}

unsigned ra_limit(const Function *f, RegFile file) {
    const TargetInfo *info = isa_target_info(f->module->target);
    unsigned n = info->num_regs[file];
    if (file != RF_R)
        return file == RF_UR && f->module->fixed_ur ? smaller(n, IR_FIXED_UR) : n;
    unsigned bound = f->is_entry ? bound_of(f) : bound_of_all(f->module);
    unsigned most = 255 - info->reserved_regs;
    if (bound)
        most = smaller(most, bound > info->reserved_regs + 16u ? bound - info->reserved_regs : 16u);
    most = smaller(most, smaller(f->module->reg_limit, f->reg_limit));
    if (most < ABI_REGS && f->module->funcs.n > 1)
        most = ABI_REGS; /* calls need their fixed registers, whatever the program asks for */
    return n < most ? n : most;
}

/* ---- calls ---- */

static const uint32_t file_size[RF_COUNT] = {REG_RZ, REG_PT, NUM_UR, REG_UPT, 16};

/* What a callee may change by the convention between objects, which is the driver's. */
static const Bitset *open_clobbers(IrModule *module) {
    for (unsigned file = 0; file < RF_COUNT && !module->open_clobbers[file].w; file++) {
        module->open_clobbers[file] = bs_new(&module->arena, file_size[file]);
        for (unsigned r = 0; r < file_size[file]; r++)
            if (file != RF_R || !abi_open_keeps(r))
                bs_add(&module->open_clobbers[file], r);
    }
    return module->open_clobbers;
}

RaCallee ra_callee(const Function *f, const Inst *call) {
    if (ir_call_is_open(f, call))
        return (RaCallee){open_clobbers(f->module)};
    const Function *callee = ir_callee(f, call); /* callees come first; others are not known yet */
    if (callee && callee->index < f->index && callee->summary.clobbers[RF_R].w)
        return (RaCallee){callee->summary.clobbers};
    return (RaCallee){NULL};
}

bool ra_clobbers(RaCallee c, RegFile file, unsigned reg) {
    if (!c.clobbers)
        return !(file == RF_R && reg == ABI_STACK_REG);
    return reg < c.clobbers[file].nbits && bs_has(&c.clobbers[file], reg);
}

static void note_write(FuncSummary *summary, Operand o) {
    if (o.kind != OPK_REG)
        return;
    for (unsigned c = 0; c < o.count; c++)
        if (o.value + c < summary->clobbers[o.file].nbits)
            bs_add(&summary->clobbers[o.file], o.value + c);
}

static void note_callee(FuncSummary *summary, RaCallee callee) {
    for (unsigned file = 0; file < RF_COUNT; file++)
        for (unsigned r = 0; r < file_size[file]; r++)
            if (ra_clobbers(callee, (RegFile)file, r))
                bs_add(&summary->clobbers[file], r);
}

static bool same_component(const CallGraph *calls, const Function *f, const Function *g) {
    return calls->comp[f->index] == calls->comp[g->index];
}

/* What f and its callees write; with `calls`, but for the callees of f's own component. */
static void note_writes(const Function *f, FuncSummary *summary, const CallGraph *calls) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            FOR_DSTS(f, i, dst)
                note_write(summary, *dst);
            for (unsigned k = i->ndst; i->op == IR_PARCOPY && k < i->nsrc; k++) /* scratch registers */
                note_write(summary, *ir_src(f, i, k));
            if (i->op != OT_CALL)
                continue;
            const Function *callee = calls ? ir_callee(f, i) : NULL;
            if (!callee || !same_component(calls, f, callee))
                note_callee(summary, ra_callee(f, i));
        }
    bs_del(&summary->clobbers[RF_R], ABI_STACK_REG);
}

static void new_summary(FuncSummary *summary, Arena *a) {
    for (unsigned file = 0; file < RF_COUNT; file++)
        summary->clobbers[file] = bs_new(a, file_size[file]);
}

static bool calls_itself_or_later(const Function *f) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            const Function *callee = ir_callee(f, i);
            if (callee && callee->index >= f->index)
                return true;
        }
    return false;
}

/* While the functions of a cycle are coloured, a call of one that has no registers yet clobbers all. Behind
 * the last of them it is known that each clobbers what all of them write: callers outside of the cycle keep
 * values in the others. Calls do not change while registers are given, so one call graph serves them all. */
static void close_cycle(Function *f) {
    IrModule *m = f->module;
    if (!m->calls && calls_itself_or_later(f)) {
        CallGraph *calls = ARENA_NEW(&m->arena, CallGraph);
        *calls = call_graph(&m->arena, m);
        m->calls = calls;
    }
    if (!m->calls || !m->calls->recursive[f->index])
        return;
    const CallGraph *calls = m->calls;
    const uint32_t *member = calls->members + calls->member_at[calls->comp[f->index]],
                   *end = calls->members + calls->member_at[calls->comp[f->index] + 1];
    if (end[-1] != f->index)
        return;
    FuncSummary all = {0};
    new_summary(&all, f->arena);
    for (const uint32_t *n = member; n < end; n++)
        note_writes(m->funcs.at[*n], &all, calls);
    for (const uint32_t *n = member; n < end; n++)
        memcpy(m->funcs.at[*n]->summary.clobbers, all.clobbers, sizeof all.clobbers);
}

void ra_summarise(Function *f) {
    new_summary(&f->summary, f->arena);
    note_writes(f, &f->summary, NULL);
    close_cycle(f);
}

/* ---- edges ---- */

static bool ends_plainly(Function *f, const Block *b) {
    if (b->succs.n != 1)
        return false;
    if (!b->insts.n)
        return true;
    const Inst *last = ir_inst(f, b->insts.at[b->insts.n - 1]);
    return !ir_is_terminator(f, last) || (last->op == OT_BRA && op_is_always(last->guard));
}

static unsigned before_terminator(Function *f, const Block *b) {
    unsigned n = b->insts.n;
    return n && ir_is_terminator(f, ir_inst(f, b->insts.at[n - 1])) ? n - 1 : n;
}

void ra_edge_point(Function *f, BlockId from, BlockId to, BlockId *block, unsigned *at) {
    const Block *p = ir_block(f, from), *s = ir_block(f, to);
    if (ends_plainly(f, p)) {
        *block = from;
        *at = before_terminator(f, p);
        return;
    }
    if (s->preds.n == 1 && (!s->insts.n || ir_inst(f, s->insts.at[0])->op != OT_BSYNC)) {
        *block = to;
        *at = 0;
        return;
    }
    *block = ir_split_edge(f, from, to);
    *at = 0;
}

/* ---- preparation ---- */

static void drop_unreachable(Function *f, const RaCfg *cfg) {
    FOR_BLOCKS(f, b) {
        if (cfg->rpo_index[b.i] != UINT32_MAX)
            continue;
        while (ir_block(f, b)->succs.n)
            ir_remove_edge(f, b, ir_block(f, b)->succs.at[0]);
        ir_block(f, b)->dead = true;
        ir_block(f, b)->insts.n = 0;
    }
    ir_renumber(f);
}

static void split_double_edges(Function *f) {
    for (unsigned k = 0; k < f->layout.n; k++) {
        BlockId b = f->layout.at[k];
        for (unsigned s = 1; s < ir_block(f, b)->succs.n; s++)
            for (unsigned r = 0; r < s; r++)
                if (ir_block(f, b)->succs.at[r].i == ir_block(f, b)->succs.at[s].i) {
                    ir_split_edge(f, b, ir_block(f, b)->succs.at[r]);
                    break;
                }
    }
}

static InstId new_copy(Function *f, Operand dst, Operand src, LocId loc) {
    InstId id = ir_inst_new(f, IR_COPY, 1, 1);
    *ir_dst(f, ir_inst(f, id), 0) = dst;
    *ir_src(f, ir_inst(f, id), 0) = src;
    ir_inst(f, id)->loc = loc;
    return id;
}

/* A phi with one operand is a copy; several are one parallel copy, taken apart in a harmless order because
 * none reads another's result. */
static void lower_single_phis(Function *f, BlockId b) {
    if (ir_block(f, b)->preds.n != 1)
        return;
    FOR_INSTS(f, b, i) {
        if (i->op != IR_PHI)
            break;
        i->op = IR_COPY;
    }
}

typedef struct { /* values that some constraint of the instruction has claimed */
    ValId v[2 * IR_MOST_VECTOR];
    unsigned n;
} Claims;

static bool claimed(const Claims *claims, ValId v) {
    for (unsigned k = 0; k < claims->n; k++)
        if (claims->v[k].i == v.i)
            return true;
    return false;
}

static bool same_tuple(const Function *f, Operand a, Operand b) {
    if (a.kind != OPK_VAL || a.count != b.count || b.kind != OPK_VAL)
        return false;
    for (unsigned c = 0; c < a.count; c++)
        if (ir_operand_value(f, a, c).i != ir_operand_value(f, b, c).i)
            return false;
    return true;
}

static void claim(Claims *claims, ValId v) {
    if (v.i && claims->n < sizeof claims->v / sizeof *claims->v)
        claims->v[claims->n++] = v;
}

/* Replace component c of read n by a copy made just before. */
static void give_copy(Function *f, InstId id, unsigned n, unsigned comp, InstIds *out) {
    Operand o = *ra_read(f, ir_inst(f, id), n);
    ValId old = ir_operand_value(f, o, comp), now = ir_value_new(f, (RegFile)o.file);
    Value *nv = ir_value(f, now), *ov = ir_value(f, old);
    nv->ptx_reg = ov->ptx_reg;
    nv->component = ov->component;
    nv->uniform = ov->uniform;
    LocId loc = ir_inst(f, id)->loc;
    InstId copy = new_copy(f, ir_val(f, now), ir_val(f, old), loc);
    VEC_ADD(f->arena, out, copy);
    Operand fresh;
    if (o.count == 1) {
        fresh = ir_val(f, now);
    } else {
        ValId v[IR_MOST_VECTOR];
        ra_values(f, o, v);
        v[comp] = now;
        fresh = ir_vec(f, v, o.count);
    }
    fresh.mods = o.mods;
    *ra_read(f, ir_inst(f, id), n) = fresh;
}

/* Do the values of a vector of fixed registers stand where the vector needs them? */
static bool fixed_tuple(const Function *f, Operand o) {
    int base = f->values.at[ir_operand_value(f, o, 0).i].fixed_reg;
    if (base < 0 || base % (int)ra_align(o.count))
        return false;
    for (unsigned c = 1; c < o.count; c++)
        if (f->values.at[ir_operand_value(f, o, c).i].fixed_reg != base + (int)c)
            return false;
    return true;
}

/* Vector sources: each value in one tuple of the instruction only. A value with a fixed register cannot be
 * gathered either. */
static void separate_vectors(Function *f, InstId id, unsigned first_tied, Claims *claims, InstIds *out) {
    for (unsigned n = 0; n < first_tied; n++) {
        Operand o = *ra_read(f, ir_inst(f, id), n);
        if (o.kind != OPK_VAL || o.count < 2)
            continue;
        bool seen = false;
        for (unsigned m = 0; m < n && !seen; m++)
            seen = same_tuple(f, o, *ra_read(f, ir_inst(f, id), m));
        if (seen)
            continue;
        bool in_place = fixed_tuple(f, o);
        for (unsigned c = 0; c < o.count; c++) {
            ValId v = ir_operand_value(f, *ra_read(f, ir_inst(f, id), n), c);
            if (v.i && !in_place && (claimed(claims, v) || ir_value(f, v)->fixed_reg >= 0))
                give_copy(f, id, n, c, out);
            claim(claims, ir_operand_value(f, *ra_read(f, ir_inst(f, id), n), c));
        }
    }
}

/* Moves take their vectors apart, so that no component is bound to its neighbour. */
static void scalar_moves(Function *f, InstId id) {
    unsigned nd = 0, ns = 0;
    bool vectors = false;
    if (ir_inst(f, id)->flags & IF_TIED)
        return;
    for (unsigned k = 0; k < ir_inst(f, id)->ndst; k++) {
        Operand d = *ir_dst(f, ir_inst(f, id), k), s = *ir_src(f, ir_inst(f, id), k);
        vectors |= d.count > 1 || s.count > 1;
        nd += d.count ? d.count : 1u;
        ns += s.count ? s.count : 1u;
    }
    if (!vectors || nd != ns)
        return;
    InstId now = ir_inst_new(f, IR_PARCOPY, nd, ns);
    for (unsigned k = 0, d = 0, s = 0; k < ir_inst(f, id)->ndst; k++) {
        ValId v[IR_MOST_VECTOR];
        for (unsigned m = 0, n = ra_values(f, *ir_dst(f, ir_inst(f, id), k), v); m < n; m++)
            *ir_dst(f, ir_inst(f, now), d++) = ir_val(f, v[m]);
        Operand src = *ir_src(f, ir_inst(f, id), k);
        unsigned n = ra_values(f, src, v);
        for (unsigned m = 0; m < n; m++)
            *ir_src(f, ir_inst(f, now), s++) = ir_val(f, v[m]);
        if (!n)
            *ir_src(f, ir_inst(f, now), s++) = src;
    }
    Inst *to = ir_inst(f, id), *from = ir_inst(f, now);
    to->op = from->op;
    to->ndst = from->ndst;
    to->nsrc = from->nsrc;
    to->operand = from->operand;
}

/* Sources and the guard that read `old` take the copy too: it holds the same, and the old value may end at
 * the copy. */
static void read_copy(Function *f, InstId id, ValId old, ValId now) {
    Inst *i = ir_inst(f, id);
    for (unsigned n = 0; n < ir_num_reads(i); n++) {
        Operand *operand = ra_read(f, i, n);
        bool tied = n >= i->nsrc && n + 1 < ir_num_reads(i);
        if (!tied && operand->kind == OPK_VAL && operand->count == 1 && operand->value == old.i)
            operand->value = now.i;
    }
}

/* A result that is computed in place (InPlace of the operation's table) is tied to that source, or, where it
 * begins with zero, to registers that hold nothing: the machine writes it while it reads other sources. */
static bool tie_in_place(Function *f, InstId id, InstIds *out) {
    unsigned slot = isa_traits(ir_inst(f, id)->op)->in_place;
    if (slot == ISA_NO_SLOT || ir_dst(f, ir_inst(f, id), 0)->kind != OPK_VAL)
        return false;
    Operand result = *ir_dst(f, ir_inst(f, id), 0), old = *ir_src(f, ir_inst(f, id), slot);
    bool begins_with_zero = old.kind != OPK_VAL;
    ValId now[IR_MOST_VECTOR];
    for (unsigned c = 0; c < result.count; c++) {
        now[c] = ir_value_new(f, (RegFile)result.file);
        Operand dst = ir_val(f, now[c]);
        InstId made = begins_with_zero
                          ? ir_inst_new(f, IR_UNDEF, 1, 0)
                          : new_copy(f, dst, ir_val(f, ir_operand_value(f, old, c)), ir_inst(f, id)->loc);
        *ir_dst(f, ir_inst(f, made), 0) = dst;
        VEC_ADD(f->arena, out, made);
    }
    Operand tied = ir_vec(f, now, result.count);
    ir_tie(f, id);
    *ir_tied(f, ir_inst(f, id), 0) = tied;
    tied.mods = old.mods;
    if (!begins_with_zero)
        *ir_src(f, ir_inst(f, id), slot) = tied;
    return true;
}

static void constrain(Function *f, InstId id, InstIds *out) {
    if (ir_inst(f, id)->op == IR_COPY || ir_inst(f, id)->op == IR_PARCOPY)
        scalar_moves(f, id);
    Inst *i = ir_inst(f, id);
    if (i->op == IR_PHI || ((i->op == IR_COPY || i->op == IR_PARCOPY) && !(i->flags & IF_TIED)))
        return;
    Claims claims = {.n = 0};
    bool in_place = tie_in_place(f, id, out);
    i = ir_inst(f, id);
    unsigned first_tied = i->nsrc;
    separate_vectors(f, id, first_tied, &claims, out);
    i = ir_inst(f, id);
    for (unsigned t = 0; !in_place && (i->flags & IF_TIED) && t < i->ndst; t++) {
        /* The destination overwrites it: always a value of its own. Colouring makes the copy vanish if the
         * old value ends here. */
        unsigned count = ir_tied(f, i, t)->kind == OPK_VAL ? ir_tied(f, i, t)->count : 0;
        for (unsigned c = 0; c < count; c++) {
            ValId old = ir_operand_value(f, *ir_tied(f, i, t), c);
            if (!old.i)
                continue;
            give_copy(f, id, first_tied + t, c, out);
            i = ir_inst(f, id);
            read_copy(f, id, old, ir_operand_value(f, *ir_tied(f, i, t), c));
        }
    }
}

static void constrain_block(Function *f, BlockId b) {
    InstIds out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        constrain(f, id, &out);
        VEC_ADD(f->arena, &out, id);
    }
    if (out.n != n)
        ir_block(f, b)->insts = out;
}

bool ra_prepare(Function *f, Diags *d) {
    (void)d;
    Arena a = {0};
    RaCfg g;
    ra_cfg(f, &a, &g);
    drop_unreachable(f, &g);
    split_double_edges(f);
    FOR_BLOCKS(f, b)
        lower_single_phis(f, b);
    ra_rotate(f);
    ra_separate_updates(f);
    FOR_BLOCKS(f, b)
        constrain_block(f, b);
    arena_free(&a);
    return true;
}
