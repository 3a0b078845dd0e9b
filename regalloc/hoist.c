/* The pass `hoist`: what a loop computes alike in each round moves in front of it, as far as registers that
 * the function needs anyway, or few, can hold it. In: SSA, legal; so the moves of literals that no
 * instruction takes are seen too. Out: the same values, defined on the edge that leads into the loop.
 *
 *   loop: MOV r1 = 0x3c8efa35           edge: MOV r1, MOV r2
 *         MOV r2 = 0x3f91df46           loop: d2 = DMUL d1, r1:r2
 *         d2 = DMUL d1, r1:r2                 ...
 *
 * Moved is what only computes, from constants and from values of outside the loop, in a block that every
 * round executes, and is not what a guarded definition or a phi overwrites (that would be copied in each
 * round). Inner loops come first: what leaves one may leave the loop around it too. A literal moved once
 * serves all that ask for it in the loop; the pair of an f64 literal as a pair only, as a value stands beside
 * one neighbour.
 *
 * A value that is held over a loop takes one register of each block of it, so pressure is counted by block.
 * Loops with calls are left alone (what lives over a call may cost a store and a load), but for calls where
 * lanes hardly ever come, as of the slow part of a division. So are loops with more than MAX_LEVELS levels
 * inside and functions with loops deeper than MAX_DEPTH (what is live in n loops has n * n entries), which
 * bounds the work by a multiple of the function's size.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "ir/pass.h"
#include "lower/opt/opt.h"
#include "regalloc/regalloc.h"

/* FREE_REGS: up to here a kernel may use R whatever it needed before (colouring spreads values over as many);
 * PREDICATES: all but two. */
enum { MAX_LEVELS = 4, MAX_DEPTH = 32, FREE_REGS = 18, PREDICATES = 5 };

typedef struct {
    VEC(uint32_t) blocks;
    uint32_t levels; /* of loops inside */
    bool calls;
} Body;

typedef struct { /* a literal, or the two words of one, that is held over the loop */
    Operand word[2];
    ValId value[2];
    unsigned n;
} Literal;

typedef struct {
    Function *f;
    Arena a;
    LoopForest forest;
    DomTree tree;
    Body *bodies;                   /* [loop] */
    unsigned (*pressure)[RF_COUNT]; /* [block] */
    unsigned most[RF_COUNT];        /* a block's pressure may grow up to here */
    uint32_t *uses;                 /* [value] by which it may be held */
    uint32_t *members;              /* [value] those of them that are of a vector */
    bool *stays;                    /* [value] a phi, a tied source or a branch reads it */
    bool *gone;                     /* [inst] it has left its block */
    uint32_t *repl;                 /* [value] */
    uint32_t nblocks;               /* those made here come behind */
    VEC(uint32_t) edges;            /* by those: where the edge that each splits comes from */
    uint32_t loop;                  /* the one that is looked at */
    BlockId header, to;             /* of the loop; from where it is entered */
    VEC(InstId) out;                /* what leaves the loop, in order */
    VEC(Literal) literals;
    bool renamed;
} Hoist;

/* ---- what is known ---- */

static void count_uses(Hoist *hoist) {
    Function *f = hoist->f;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            bool held = i->op != IR_PHI && i->op != IR_COPY && i->op != IR_PARCOPY;
            FOR_READS(f, i, read) {
                bool tied = AT(read) >= i->nsrc && AT(read) + 1 < ir_num_reads(i);
                for (unsigned c = 0; read->kind == OPK_VAL && c < read->count; c++) {
                    uint32_t v = ir_operand_value(f, *read, c).i;
                    hoist->uses[v]++;
                    hoist->members[v] += read->count > 1;
                    hoist->stays[v] |= tied || !held || (read->file == RF_P && ir_is_terminator(f, i));
                }
            }
        }
}

/* Loops with their blocks, those of loops inside included; loops that are too deep get none. */
static void find_bodies(Hoist *hoist) {
    Function *f = hoist->f;
    for (uint32_t l = hoist->forest.n; l-- > 0;) {
        uint32_t parent = hoist->forest.at[l].parent, levels = hoist->bodies[l].levels + 1;
        if (parent != NO_NODE && hoist->bodies[parent].levels < levels)
            hoist->bodies[parent].levels = levels;
    }
    bool *rare = ARENA_ARRAY(&hoist->a, bool, f->blocks.n);
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (i->op == OT_BRA && i->flags & IF_RARE)
                rare[ir_src(f, i, BRA_offset)->value] = true;
    FOR_BLOCKS(f, b) {
        bool calls = false;
        FOR_INSTS(f, b, i)
            calls |= i->op == OT_CALL && !rare[b.i];
        for (uint32_t l = hoist->forest.innermost[b.i]; l != NO_NODE && hoist->bodies[l].levels <= MAX_LEVELS;
             l = hoist->forest.at[l].parent) {
            VEC_ADD(&hoist->a, &hoist->bodies[l].blocks, b.i);
            hoist->bodies[l].calls |= calls;
        }
    }
}

/* A block made here lies on an edge into an inner loop, which is in the loops around that one. */
static bool in_loop(const Hoist *hoist, BlockId b) {
    uint32_t at = b.i < hoist->nblocks ? b.i : hoist->edges.at[b.i - hoist->nblocks];
    return loop_contains(&hoist->forest, hoist->loop, at);
}

static bool outside(const Hoist *hoist, ValId v) {
    const Value *value = ir_value(hoist->f, v);
    return value->block.i && value->fixed_reg < 0 && !in_loop(hoist, value->block);
}

/* The only block outside from which the loop is entered; 0 if there are several. */
static BlockId entered_from(const Hoist *hoist, BlockId header) {
    const Block *block = ir_block(hoist->f, header);
    BlockId from = {0};
    for (unsigned k = 0; k < block->preds.n; k++) {
        BlockId pred = block->preds.at[k];
        if (in_loop(hoist, pred))
            continue;
        if (from.i)
            return (BlockId){0};
        from = pred;
    }
    return from;
}

/* Does each round that ends execute b? */
static bool in_each_round(const Hoist *hoist, BlockId b, BlockId header) {
    const Block *block = ir_block(hoist->f, header);
    for (unsigned k = 0; k < block->preds.n; k++) {
        BlockId pred = block->preds.at[k];
        if (pred.i < hoist->nblocks && loop_contains(&hoist->forest, hoist->loop, pred.i) &&
            !dom_contains(&hoist->tree, b.i, pred.i))
            return false;
    }
    return true;
}

/* ---- room ---- */

static bool has_room(const Hoist *hoist, RegFile file, unsigned count) {
    const Body *body = &hoist->bodies[hoist->loop];
    for (unsigned k = 0; k < body->blocks.n; k++)
        if (hoist->pressure[body->blocks.at[k]][file] + count > hoist->most[file])
            return false;
    return true;
}

static void take_room(Hoist *hoist, RegFile file, unsigned count) {
    const Body *body = &hoist->bodies[hoist->loop];
    for (unsigned k = 0; k < body->blocks.n; k++)
        hoist->pressure[body->blocks.at[k]][file] += count;
}

/* ---- what may move ---- */

static bool source_is_outside(const Hoist *hoist, Operand o) {
    switch (o.kind) {
    case OPK_NONE:
    case OPK_IMM:
    case OPK_CMEM: return true;
    case OPK_REG: return (o.file == RF_R && o.value == REG_RZ) || (o.file == RF_P && o.value == REG_PT);
    case OPK_VAL:
        for (unsigned c = 0; c < o.count; c++) {
            ValId v = ir_operand_value(hoist->f, o, c);
            if ((o.file != RF_R && o.file != RF_P) || !v.i || !outside(hoist, v))
                return false;
        }
        return true;
    default: return false;
    }
}

static bool only_computes(const Inst *i) {
    const unsigned does_more = IF_SYNC | IF_OBSERVING | IF_MEMORY | IF_SIDE_EFFECT | IF_CONVERGENT | IF_TIED;
    return !ir_is_pseudo(i->op) && i->ndst && op_is_always(i->guard) && !(i->flags & does_more) &&
           !isa_traits(i->op)->effects && isa_traits(i->op)->uniform != ISA_UNIFORM_BY_SREG &&
           isa_traits(i->op)->lanes != ISA_LANES_COLLECTIVE;
}

/* Registers of each file that the results take; false if they must stay. */
static bool results_may_move(const Hoist *hoist, const Inst *i, unsigned count[RF_COUNT]) {
    FOR_DSTS(hoist->f, i, o) {
        if (o->kind == OPK_NONE || o->kind == OPK_REG)
            continue;
        for (unsigned c = 0; c < o->count; c++) {
            ValId v = ir_operand_value(hoist->f, *o, c);
            const Value *value = ir_value(hoist->f, v);
            if ((o->file != RF_R && o->file != RF_P) || !v.i || value->fixed_reg >= 0 || hoist->stays[v.i])
                return false;
            count[o->file]++;
        }
    }
    return count[RF_R] + count[RF_P] > 0;
}

static bool may_move(const Hoist *hoist, const Inst *i, unsigned count[RF_COUNT]) {
    if (!only_computes(i) || !results_may_move(hoist, i, count))
        return false;
    FOR_SRCS(hoist->f, i, o)
        if (!source_is_outside(hoist, *o))
            return false;
    for (unsigned k = 0; k < RF_COUNT; k++)
        if (count[k] && !has_room(hoist, (RegFile)k, count[k]))
            return false;
    return true;
}

static void leave(Hoist *hoist, InstId id) {
    FOR_DSTS(hoist->f, ir_inst(hoist->f, id), o)
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++) {
            Value *value = ir_value(hoist->f, ir_operand_value(hoist->f, *o, c));
            value->block = hoist->to;
            value->ptx_reg = 0; /* there the PTX register still holds something else */
        }
    hoist->gone[id.i] = true;
    VEC_ADD(&hoist->a, &hoist->out, id);
}

/* ---- literals ---- */

static bool same_word(Operand a, Operand b) {
    return a.kind == b.kind && a.value == b.value && a.mods == b.mods;
}

/* The literal that a MOV within the loop brings. */
static bool literal_of(const Hoist *hoist, ValId v, Operand *word) {
    const Value *value = ir_value(hoist->f, v);
    if (!v.i || !value->def.i || value->fixed_reg >= 0 || outside(hoist, v) || hoist->stays[v.i])
        return false;
    const Inst *i = ir_inst(hoist->f, value->def);
    if (i->op != OT_MOV || !only_computes(i) || hoist->gone[value->def.i])
        return false;
    *word = *ir_src(hoist->f, i, MOV_rb);
    return (word->kind == OPK_IMM || word->kind == OPK_CMEM) &&
           in_each_round(hoist, value->block, hoist->header);
}

static const Literal *find_literal(const Hoist *hoist, const Operand *word, unsigned n) {
    for (unsigned k = 0; k < hoist->literals.n; k++) {
        const Literal *literal = &hoist->literals.at[k];
        if (literal->n == n && same_word(literal->word[0], word[0]) &&
            (n == 1 || same_word(literal->word[1], word[1])))
            return literal;
    }
    return NULL;
}

/* A MOV of a literal that no vector has. */
static void hoist_word(Hoist *hoist, InstId id) {
    ValId v = {opt_scalar(*ir_dst(hoist->f, ir_inst(hoist->f, id), 0))};
    Operand word[2];
    if (!literal_of(hoist, v, &word[0]) || hoist->members[v.i])
        return;
    const Literal *same = find_literal(hoist, word, 1);
    if (same) {
        hoist->repl[v.i] = same->value[0].i;
        hoist->gone[id.i] = hoist->renamed = true;
    } else if (has_room(hoist, RF_R, 1)) {
        take_room(hoist, RF_R, 1);
        leave(hoist, id);
        *VEC_PUSH(&hoist->a, &hoist->literals) = (Literal){{word[0], word[0]}, {v, v}, 1};
    }
}

/* Source k of the instruction, if it is a pair of literals that nothing else has. */
static void hoist_pair(Hoist *hoist, InstId id, unsigned k) {
    Operand o = *ir_src(hoist->f, ir_inst(hoist->f, id), k), word[2];
    if (o.kind != OPK_VAL || o.count != 2 || o.file != RF_R)
        return;
    ValId v[2] = {ir_operand_value(hoist->f, o, 0), ir_operand_value(hoist->f, o, 1)};
    for (unsigned c = 0; c < 2; c++)
        if (!literal_of(hoist, v[c], &word[c]) || hoist->uses[v[c].i] != 1)
            return;
    InstId def[2] = {ir_value(hoist->f, v[0])->def, ir_value(hoist->f, v[1])->def};
    const Literal *same = find_literal(hoist, word, 2);
    if (same) {
        Operand pair = ir_vec(hoist->f, same->value, 2);
        pair.mods = o.mods;
        *ir_src(hoist->f, ir_inst(hoist->f, id), k) = pair;
        for (unsigned c = 0; c < 2; c++) { /* what an inner loop left has more readers */
            hoist->repl[v[c].i] = same->value[c].i;
            hoist->gone[def[c].i] = hoist->renamed = true;
        }
    } else if (has_room(hoist, RF_R, 2)) {
        take_room(hoist, RF_R, 2);
        leave(hoist, def[0]);
        leave(hoist, def[1]);
        *VEC_PUSH(&hoist->a, &hoist->literals) = (Literal){{word[0], word[1]}, {v[0], v[1]}, 2};
    }
}

/* ---- loops ---- */

static void hoist_inst(Hoist *hoist, InstId id) {
    unsigned count[RF_COUNT] = {0}, op = ir_inst(hoist->f, id)->op;
    if (hoist->gone[id.i])
        return;
    for (unsigned k = 0; !ir_is_pseudo(op) && k < ir_inst(hoist->f, id)->nsrc; k++)
        hoist_pair(hoist, id, k);
    if (op == OT_MOV) {
        hoist_word(hoist, id);
        return;
    }
    if (!may_move(hoist, ir_inst(hoist->f, id), count))
        return;
    for (unsigned k = 0; k < RF_COUNT; k++)
        if (count[k])
            take_room(hoist, (RegFile)k, count[k]);
    leave(hoist, id);
}

static void drop_gone(Hoist *hoist) {
    const Body *body = &hoist->bodies[hoist->loop];
    for (unsigned k = 0; k < body->blocks.n; k++) {
        Block *block = ir_block(hoist->f, (BlockId){body->blocks.at[k]});
        unsigned to = 0;
        for (unsigned p = 0; p < block->insts.n; p++)
            if (!hoist->gone[block->insts.at[p].i])
                block->insts.at[to++] = block->insts.at[p];
        block->insts.n = to;
    }
}

static void put_on_edge(Hoist *hoist, BlockId from) {
    Function *f = hoist->f;
    BlockId block;
    unsigned at;
    ra_edge_point(f, from, hoist->header, &block, &at);
    if (block.i >= hoist->nblocks)
        VEC_ADD(&hoist->a, &hoist->edges, from.i);
    for (unsigned k = 0; k < hoist->out.n; k++) {
        InstId id = hoist->out.at[k];
        ir_insert(f, block, at++, id);
        hoist->gone[id.i] = false; /* it may leave the loop around this one too */
        FOR_DSTS(f, ir_inst(f, id), o)
            for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
                ir_value(f, ir_operand_value(f, *o, c))->block = block;
    }
}

static void hoist_loop(Hoist *hoist, uint32_t loop) {
    const Body *body = &hoist->bodies[loop];
    hoist->loop = loop;
    hoist->header = (BlockId){hoist->forest.at[loop].header};
    BlockId from = entered_from(hoist, hoist->header);
    if (!from.i || hoist->forest.at[loop].irreducible || body->calls || body->levels > MAX_LEVELS)
        return;
    hoist->to = from;
    hoist->out.n = hoist->literals.n = 0;
    bool any = false;
    for (unsigned k = 0; k < body->blocks.n; k++) {
        BlockId b = {body->blocks.at[k]};
        if (!in_each_round(hoist, b, hoist->header))
            continue;
        FOR_INST_IDS(hoist->f, b, id) {
            hoist_inst(hoist, id);
            any = true;
        }
    }
    if (!any)
        return;
    drop_gone(hoist);
    if (hoist->out.n)
        put_on_edge(hoist, from);
}

static void measure(Hoist *hoist) {
    Function *f = hoist->f;
    RaCfg cfg;
    RaLive live;
    ra_cfg(f, &hoist->a, &cfg);
    ra_live(f, &cfg, &hoist->a, &live);
    hoist->pressure = ra_pressures(f, &cfg, &live, &hoist->a);
    hoist->most[RF_R] = FREE_REGS;
    hoist->most[RF_P] = PREDICATES;
    FOR_BLOCKS(f, b)
        if (hoist->pressure[b.i][RF_R] > hoist->most[RF_R])
            hoist->most[RF_R] = hoist->pressure[b.i][RF_R];
    unsigned limit = ra_limit(f, RF_R);
    if (hoist->most[RF_R] + 4 > limit) /* no spilling for this */
        hoist->most[RF_R] = limit > 4 ? limit - 4 : 0;
}

static uint32_t deepest(const LoopForest *forest) {
    uint32_t most = 0;
    for (uint32_t l = 0; l < forest->n; l++)
        if (forest->at[l].depth > most)
            most = forest->at[l].depth;
    return most;
}

bool pass_hoist(Function *f, Diags *d) {
    (void)d;
    Hoist hoist = {.f = f, .nblocks = f->blocks.n};
    if (!f->entry.i)
        return true;
    ir_renumber(f);
    Graph graph = cfg_graph(&hoist.a, f);
    hoist.forest = loop_forest(&hoist.a, &graph, f->entry.i);
    if (hoist.forest.n && deepest(&hoist.forest) <= MAX_DEPTH) {
        hoist.tree = dom_tree(&hoist.a, &graph, GRAPH_FORWARD, f->entry.i);
        hoist.bodies = ARENA_ARRAY(&hoist.a, Body, hoist.forest.n);
        hoist.uses = ARENA_ARRAY(&hoist.a, uint32_t, f->values.n);
        hoist.members = ARENA_ARRAY(&hoist.a, uint32_t, f->values.n);
        hoist.repl = ARENA_ARRAY(&hoist.a, uint32_t, f->values.n);
        hoist.stays = ARENA_ARRAY(&hoist.a, bool, f->values.n);
        hoist.gone = ARENA_ARRAY(&hoist.a, bool, f->insts.n);
        count_uses(&hoist);
        find_bodies(&hoist);
        measure(&hoist);
        for (uint32_t l = hoist.forest.n; l-- > 0;)
            hoist_loop(&hoist, l);
        if (hoist.renamed)
            opt_rename(f, hoist.repl);
    }
    arena_free(&hoist.a);
    return true;
}
