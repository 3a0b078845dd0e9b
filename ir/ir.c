/* Building and editing machine IR: see ir.h. In: calls of instruction selection and the passes. Invariant
 * kept here: an instruction's operands lie together in Function.operands (destinations, sources, tied
 * sources); succs, preds and the operands of phis agree after each call that changes an edge.
 * SPDX-License-Identifier: MIT */
#include "ir/ir.h"
#include "base/scope.h"
#include "isa/machine/abi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules and functions ---- */

IrModule *ir_module_new(const Target *t, StrTab *strings) {
    Arena arena = {0};
    IrModule *module = ARENA_NEW(&arena, IrModule);
    module->arena = arena;
    module->strings = strings;
    module->target = t;
    return module;
}

void ir_module_free(IrModule *module) {
    if (!module)
        return;
    for (unsigned i = 0; i < module->funcs.n; i++)
        arena_free(module->funcs.at[i]->arena);
    Arena arena = module->arena; /* the module itself lies in its arena */
    arena_free(&arena);
}

Function *ir_function_new(IrModule *ir_module, StrId name, bool is_entry) {
    Function *f = ARENA_NEW(&ir_module->arena, Function);
    f->arena = ARENA_NEW(&ir_module->arena, Arena);
    f->module = ir_module;
    f->name = name;
    f->index = ir_module->funcs.n;
    f->is_entry = is_entry;
    f->is_ssa = true;
    f->uniform_entry = is_entry;
    VEC_PUSH(f->arena, &f->blocks);
    VEC_PUSH(f->arena, &f->insts);
    VEC_PUSH(f->arena, &f->values);
    VEC_PUSH(f->arena, &f->locs);
    VEC_ADD(&ir_module->arena, &ir_module->funcs, f);
    VEC_ADD(&ir_module->arena, &ir_module->named, f);
    if (name.i && !strmap_get(&ir_module->by_name, name))
        strmap_put(&ir_module->by_name, &ir_module->arena, name, ir_module->named.n);
    return f;
}

Function *ir_find_function(const IrModule *module, StrId name) {
    uint32_t at = strmap_get(&module->by_name, name);
    return at ? module->named.at[at - 1] : NULL;
}

BlockId ir_block_new(Function *f) {
    BlockId id = {f->blocks.n};
    VEC_PUSH(f->arena, &f->blocks)->order = f->layout.n;
    VEC_ADD(f->arena, &f->layout, id);
    if (!f->entry.i)
        f->entry = id;
    return id;
}

/* ---- operands ---- */

ValId ir_value_new(Function *f, RegFile file) {
    ValId id = {f->values.n};
    Value *value = VEC_PUSH(f->arena, &f->values);
    value->file = (uint8_t)file;
    value->fixed_reg = -1;
    return id;
}

Operand ir_val(const Function *f, ValId v) { return (Operand){OPK_VAL, f->values.at[v.i].file, 1, 0, v.i}; }

Operand ir_vec(Function *f, const ValId *v, unsigned count) {
    if (count == 1)
        return ir_val(f, v[0]);
    uint32_t first = f->vectors.n;
    for (unsigned i = 0; i < count; i++)
        VEC_ADD(f->arena, &f->vectors, v[i].i);
    unsigned any = 0; /* holes (0) have no file */
    while (any + 1 < count && !v[any].i)
        any++;
    return (Operand){OPK_VAL, f->values.at[v[any].i].file, (uint8_t)count, 0, first};
}

Operand ir_imm64(Function *f, uint64_t bits) {
    VEC_ADD(f->arena, &f->consts, bits);
    return (Operand){OPK_IMM64, 0, 0, 0, f->consts.n - 1};
}

Operand ir_sym(Function *f, StrId symbol, int64_t addend, RelocKind kind) {
    *VEC_PUSH(f->arena, &f->symrefs) = (SymRef){symbol, addend, kind};
    return (Operand){OPK_SYM, 0, 0, 0, f->symrefs.n - 1};
}

Operand ir_target(BlockId b) { return (Operand){OPK_BLOCK, 0, 0, 0, b.i}; }

/* ---- instructions ---- */

uint16_t ir_op_flags(unsigned op) {
    if (ir_is_pseudo(op))
        return op == IR_ENTRY || op == IR_SPILL ? IF_SIDE_EFFECT : 0;
    const OpTraits *traits = isa_traits(op);
    const uint32_t memory = ISA_EFFECT_READ | ISA_EFFECT_WRITE | ISA_EFFECT_ORDER;
    const uint32_t meets = ISA_EFFECT_CTA_BARRIER | ISA_EFFECT_CALL;
    const uint32_t looks = ISA_EFFECT_READ | ISA_EFFECT_READS_ALL_P; /* and leaves no trace */
    bool observes = traits->effects & ISA_EFFECT_ATOMIC && traits->effects & ISA_EFFECT_READ;
    return (uint16_t)((traits->effects & memory ? IF_MEMORY : 0) |
                      (traits->effects & ~looks ? IF_SIDE_EFFECT : 0) | (observes ? IF_OBSERVING : 0) |
                      (traits->lanes == ISA_LANES_COLLECTIVE || traits->effects & meets ? IF_CONVERGENT : 0));
}

InstId ir_inst_new(Function *f, unsigned op, unsigned ndst, unsigned nsrc) {
    if (ndst > 255 ||
        nsrc > 255) /* no optype comes near; makers of wide phis and parallel copies split them */
        scope_give_up(SCOPE_INTERNAL, "an instruction with too many operands");
    InstId id = {f->insts.n};
    Inst *i = VEC_PUSH(f->arena, &f->insts);
    i->op = (uint16_t)op;
    i->ndst = (uint8_t)ndst;
    i->nsrc = (uint8_t)nsrc;
    i->flags = ir_op_flags(op);
    i->operand = f->operands.n;
    for (unsigned k = 0; k < ndst + nsrc; k++)
        VEC_PUSH(f->arena, &f->operands);
    return id;
}

static void set_defs(Function *f, InstId id, Operand o, BlockId b) {
    if (o.kind != OPK_VAL)
        return;
    for (unsigned c = 0; c < o.count; c++) {
        ValId n = ir_operand_value(f, o, c);
        Value *value = ir_value(f, n);
        if (!n.i) /* a hole */
            continue;
        value->def = id;
        if (b.i)
            value->block = b;
    }
}

void ir_set_dst(Function *f, InstId id, unsigned n, Operand o) {
    Operand *slot = ir_dst(f, ir_inst(f, id), n);
    BlockId b = {0}; /* of an instruction that is already in a block */
    if (slot->kind == OPK_VAL && slot->count)
        b = ir_value(f, ir_operand_value(f, *slot, 0))->block;
    *slot = o;
    set_defs(f, id, o, b);
}

void ir_set_src(Function *f, InstId id, unsigned n, Operand o) { *ir_src(f, ir_inst(f, id), n) = o; }

/* Make room for `total` operands of an instruction that has fewer; the new ones are OPK_NONE. */
static void grow_operands(Function *f, Inst *i, unsigned total) {
    unsigned have = ir_num_operands(i);
    if (i->operand + have != f->operands.n) { /* not the last one: move it to the end */
        uint32_t to = f->operands.n;
        for (unsigned k = 0; k < have; k++) {
            Operand o = f->operands.at[i->operand + k];
            VEC_ADD(f->arena, &f->operands, o);
        }
        i->operand = to;
    }
    for (unsigned k = have; k < total; k++)
        VEC_PUSH(f->arena, &f->operands);
}

void ir_tie(Function *f, InstId id) {
    Inst *i = ir_inst(f, id);
    if (i->ndst && !(i->flags & IF_TIED)) {
        grow_operands(f, i, i->ndst * 2u + i->nsrc);
        i->flags |= IF_TIED;
    }
}

void ir_set_guard(Function *f, InstId id, Operand guard) {
    Inst *i = ir_inst(f, id);
    if (op_is_always(guard)) {
        i->guard = (Operand){0};
        i->flags &= (uint16_t)~IF_TIED;
        return;
    }
    i->guard = guard;
    ir_tie(f, id);
}

void ir_add_src(Function *f, InstId id, Operand o) {
    Inst *i = ir_inst(f, id);
    if (i->nsrc == 255)
        scope_give_up(SCOPE_INTERNAL, "an instruction with more than 255 sources");
    unsigned have = ir_num_operands(i), at = i->ndst + (unsigned)i->nsrc;
    grow_operands(f, i, have + 1);
    Operand *p = ir_operands(f, i);
    memmove(p + at + 1, p + at, (have - at) * sizeof *p);
    p[at] = o;
    i->nsrc++;
}

void ir_remove_src(Function *f, InstId id, unsigned n) {
    Inst *i = ir_inst(f, id);
    unsigned have = ir_num_operands(i), at = i->ndst + n;
    Operand *p = ir_operands(f, i);
    memmove(p + at, p + at + 1, (have - at - 1) * sizeof *p);
    i->nsrc--;
}

void ir_insert(Function *f, BlockId b, unsigned at, InstId id) {
    Block *blk = ir_block(f, b);
    VEC_ADD(f->arena, &blk->insts, id);
    memmove(blk->insts.at + at + 1, blk->insts.at + at, (blk->insts.n - 1 - at) * sizeof *blk->insts.at);
    blk->insts.at[at] = id;
    Inst *i = ir_inst(f, id);
    FOR_DSTS(f, i, dst)
        set_defs(f, id, *dst, b);
}

void ir_replace_at(Function *f, BlockId b, unsigned at, InstId id) {
    ir_block(f, b)->insts.at[at] = id;
    const Inst *i = ir_inst(f, id);
    FOR_DSTS(f, i, dst)
        set_defs(f, id, *dst, b);
}

const BranchTable *ir_branch_table(const Function *f, const Inst *i) {
    if (i->op != OT_BRX || i->nsrc <= BRX_offset)
        return NULL;
    Operand o = f->operands.at[i->operand + i->ndst + BRX_offset];
    if (o.kind != OPK_IMM64 || o.value >= f->consts.n || f->consts.at[o.value] >= f->tables.n)
        return NULL;
    return &f->tables.at[f->consts.at[o.value]];
}

void ir_append(Function *f, BlockId b, InstId id) { ir_insert(f, b, ir_block(f, b)->insts.n, id); }

void ir_remove_at(Function *f, BlockId b, unsigned at) {
    Block *blk = ir_block(f, b);
    memmove(blk->insts.at + at, blk->insts.at + at + 1, (blk->insts.n - at - 1) * sizeof *blk->insts.at);
    blk->insts.n--;
}

/* ---- edges ---- */

void ir_add_edge(Function *f, BlockId from, BlockId to) {
    VEC_ADD(f->arena, &ir_block(f, from)->succs, to);
    VEC_ADD(f->arena, &ir_block(f, to)->preds, from);
}

/* Position of `b` among `n` ids, or n. */
static unsigned find_block(const BlockId *at, unsigned n, BlockId b) {
    unsigned k = 0;
    while (k < n && at[k].i != b.i)
        k++;
    return k;
}

static void drop_pred(Function *f, BlockId block, BlockId pred) {
    Block *b = ir_block(f, block);
    unsigned k = find_block(b->preds.at, b->preds.n, pred);
    if (k == b->preds.n)
        return;
    memmove(b->preds.at + k, b->preds.at + k + 1, (b->preds.n - k - 1) * sizeof *b->preds.at);
    b->preds.n--;
    FOR_PHI_IDS(f, block, phi)
        ir_remove_src(f, phi, k);
}

/* The first branch operand that names `old` becomes `now`. BRX has none: its targets are the succs. */
static void retarget(Function *f, BlockId from, BlockId old, BlockId now) {
    Block *b = ir_block(f, from);
    unsigned k = find_block(b->succs.at, b->succs.n, old);
    if (k < b->succs.n)
        b->succs.at[k] = now;
    for (unsigned p = b->insts.n > 2 ? b->insts.n - 2 : 0; p < b->insts.n; p++) {
        Inst *i = ir_inst(f, b->insts.at[p]);
        for (unsigned s = 0; i->op == OT_BRA && s < i->nsrc; s++) {
            Operand *operand = ir_src(f, i, s);
            if (operand->kind == OPK_BLOCK && operand->value == old.i) {
                operand->value = now.i;
                return;
            }
        }
    }
}

void ir_replace_edge(Function *f, BlockId from, BlockId old, BlockId now) {
    retarget(f, from, old, now);
    drop_pred(f, old, from);
    VEC_ADD(f->arena, &ir_block(f, now)->preds, from);
}

void ir_remove_edge(Function *f, BlockId from, BlockId to) {
    Block *b = ir_block(f, from);
    unsigned k = find_block(b->succs.at, b->succs.n, to);
    if (k < b->succs.n) {
        memmove(b->succs.at + k, b->succs.at + k + 1, (b->succs.n - k - 1) * sizeof *b->succs.at);
        b->succs.n--;
    }
    drop_pred(f, to, from);
}

static void layout_after(Function *f, BlockId before, BlockId b) {
    unsigned n = f->layout.n - 1; /* ir_block_new has put it last */
    unsigned k = find_block(f->layout.at, n, before);
    if (k >= n)
        return;
    memmove(f->layout.at + k + 2, f->layout.at + k + 1, (n - k - 1) * sizeof *f->layout.at);
    f->layout.at[k + 1] = b;
}

InstId ir_branch_new(Function *f, BlockId to) {
    InstId id = ir_inst_new(f, OT_BRA, isa_num_dst(OT_BRA), isa_num_src(OT_BRA));
    ir_set_src(f, id, IR_BRA_TARGET_SLOT, ir_target(to));
    return id;
}

BlockId ir_split_edge(Function *f, BlockId from, BlockId to) {
    BlockId mid = ir_block_new(f);
    layout_after(f, from, mid);
    retarget(f, from, to, mid);
    VEC_ADD(f->arena, &ir_block(f, mid)->preds, from);
    VEC_ADD(f->arena, &ir_block(f, mid)->succs, to);
    Block *block = ir_block(f, to);
    unsigned k = find_block(block->preds.at, block->preds.n, from);
    if (k < block->preds.n)
        block->preds.at[k] = mid;
    InstId bra = ir_branch_new(f, to);
    const Block *fb = ir_block(f, from);
    if (fb->insts.n)
        ir_inst(f, bra)->loc = ir_inst(f, fb->insts.at[fb->insts.n - 1])->loc;
    ir_append(f, mid, bra);
    return mid;
}

void ir_renumber(Function *f) {
    unsigned n = 0;
    FOR_BLOCKS(f, b) {
        if (ir_block(f, b)->dead)
            continue;
        ir_block(f, b)->order = n;
        f->layout.at[n++] = b;
    }
    f->layout.n = n;
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id)
            FOR_DSTS(f, ir_inst(f, id), dst)
                set_defs(f, id, *dst, b);
}

/* ---- queries ---- */

const Function *ir_callee(const Function *f, const Inst *i) {
    if (i->op != OT_CALL)
        return NULL;
    FOR_SRCS(f, i, o)
        if (o->kind == OPK_SYM) {
            const Function *callee = ir_find_function(f->module, f->symrefs.at[o->value].symbol);
            return callee && !callee->is_open ? callee : NULL; /* another object may define it instead */
        }
    return NULL;
}

bool ir_call_is_open(const Function *f, const Inst *i) {
    if (i->op != OT_CALL || !isa_is_absolute(i->op, i->mods))
        return false;
    const Operand *back = ir_src(f, i, i->nsrc - 1u);
    int reg =
        back->kind == OPK_REG ? (int)back->value : f->values.at[ir_operand_value(f, *back, 0).i].fixed_reg;
    return reg == ABI_OPEN_RETURN_REG;
}

bool ir_is_terminator(const Function *f, const Inst *i) {
    if (ir_is_pseudo(i->op))
        return false;
    switch (isa_traits(i->op)->flow) {
    case ISA_FLOW_BRANCH:
    case ISA_FLOW_INDIRECT: return true;
    case ISA_FLOW_EXIT:
    case ISA_FLOW_RET:
    case ISA_FLOW_BPT:
    case ISA_FLOW_TRAP: return op_is_always(i->guard);
    case ISA_FLOW_CALL: {
        const Function *callee = ir_callee(f, i);
        return callee && callee->noreturn && op_is_always(i->guard);
    }
    default: return false;
    }
}

const char *ir_op_name(unsigned op) {
    static const char *const names[] = {"phi",   "copy",  "parcopy", "undef",
                                        "entry", "spill", "reload",  "frame_addr"};
    _Static_assert(sizeof names / sizeof *names == (unsigned)IR_OP_COUNT - (unsigned)OT_COUNT,
                   "one name an operation");
    if (op < OT_COUNT)
        return isa_optype_name(op);
    return op < IR_OP_COUNT ? names[op - OT_COUNT] : "?";
}

const char *ir_reconv_reason(ReconvReason r) {
    static const char *const texts[RJ_COUNT] = {"joins at a convergence barrier",
                                                "uniform branch",
                                                "branch promised uniform (.uni)",
                                                "its paths never join",
                                                "its paths join only to exit",
                                                "more than 16 nested joins",
                                                "in a recursive function",
                                                "joins early",
                                                "joins lanes of several rounds",
                                                "joins by a mask, in a recursive function",
                                                "switched off",
                                                "its join would wait for another in a circle",
                                                "its join does not pay"};
    return r < RJ_COUNT ? texts[r] : "?";
}

const char *ir_predicate_reason(PredicateReason r) {
    static const char *const texts[PR_COUNT] = {"converted",
                                                "a side leads back: a loop",
                                                "its sides are entered from elsewhere",
                                                "a side holds a branch that stays",
                                                "a side ends in a return, trap or call",
                                                "its sides go to different places",
                                                "too long",
                                                "a call inside",
                                                "a barrier, collective or yield inside",
                                                "an operation that takes no guard",
                                                "in a loop that waits for other threads",
                                                "too many predicates",
                                                "does not pay",
                                                "sides of different shapes"};
    return r < PR_COUNT ? texts[r] : "?";
}

const char *ir_predicate_shape(PredicateShape s) {
    static const char *const texts[PD_COUNT] = {"-", "triangle", "diamond", "exit", "branch", "leave"};
    return s < PD_COUNT ? texts[s] : "?";
}

static const char *const reconv_modes[RECONV_COUNT] = {"auto", "ipdom", "frontier", "frontier-all", "none"};

const char *ir_reconv_mode_name(ReconvMode m) { return reconv_modes[m]; }

bool ir_reconv_mode(const char *name, ReconvMode *m) {
    for (unsigned k = 0; k < RECONV_COUNT; k++)
        if (strcmp(name, reconv_modes[k]) == 0) {
            *m = (ReconvMode)k;
            return true;
        }
    return false;
}

enum { RO_DEFAULT = 0 }; /* heddle prove does not follow what they do */
static const struct {
    const char *name;
    unsigned bits;
} reconv_opts[] = {{"meld", RO_MELD},
                   {"speculate", RO_SPECULATE},
                   {"gather-rounds", RO_GATHER_ROUNDS},
                   {"all", RO_MELD | RO_SPECULATE | RO_GATHER_ROUNDS | RO_MEASURED},
                   {"none", 0}};

bool ir_reconv_opt(unsigned opts, unsigned which) {
    return ((opts & RO_GIVEN ? opts : RO_DEFAULT) & which) != 0;
}

bool ir_reconv_opts(const char *names, unsigned *opts) {
    *opts = RO_GIVEN;
    for (size_t n = strcspn(names, ",");; names += n + 1, n = strcspn(names, ",")) {
        unsigned k = 0, count = sizeof reconv_opts / sizeof *reconv_opts;
        while (k < count && (strlen(reconv_opts[k].name) != n || strncmp(names, reconv_opts[k].name, n) != 0))
            k++;
        if (k == count)
            return false;
        *opts |= reconv_opts[k].bits;
        if (!names[n])
            return true;
    }
}

static const char *const predicate_modes[] = {"auto", "off", "max"};

const char *ir_predicate_mode_name(PredicateMode m) { return predicate_modes[m]; }

bool ir_predicate_mode(const char *name, PredicateMode *m) {
    for (unsigned k = 0; k < sizeof predicate_modes / sizeof *predicate_modes; k++)
        if (strcmp(name, predicate_modes[k]) == 0) {
            *m = (PredicateMode)k;
            return true;
        }
    return false;
}

/* sched bits: stall 0-3, yield 4, write_sb 5-7, read_sb 8-10, wait 11-16, valid 31. */
void ir_mach_operands(const Function *f, const Inst *i, MachInst *out) {
    const Operand *o = ir_operands(f, i);
    for (unsigned k = 0; k < out->ndst && k < i->ndst; k++)
        if (o[k].kind != OPK_NONE)
            out->dst[k] = o[k];
    for (unsigned k = 0; k < out->nsrc && k < i->nsrc; k++) {
        out->src[k] = o[i->ndst + k];
        if (out->src[k].kind == OPK_IMM64)
            out->wide = (int64_t)f->consts.at[out->src[k].value];
    }
}

Control ir_control(uint32_t sched) {
    if (!sched)
        return CONTROL_DEFAULT;
    return (Control){.stall_cycles = sched & 15,
                     .yield = sched >> 4 & 1,
                     .write_sb = sched >> 5 & 7,
                     .read_sb = sched >> 8 & 7,
                     .wait_mask = sched >> 11 & 63};
}

uint32_t ir_control_pack(Control c) {
    return (c.stall_cycles & 15u) | (c.yield & 1u) << 4 | (c.write_sb & 7u) << 5 | (c.read_sb & 7u) << 8 |
           (c.wait_mask & 63u) << 11 | 1u << 31;
}
