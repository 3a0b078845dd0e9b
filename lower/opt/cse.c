/* Common subexpressions: a pure operation that a dominating block has computed already is not computed again,
 * and phis of one block that are handed the same values are one: apart, each would have its own copies on all
 * edges. One walk over the dominator tree with a scoped hash table. Moves of constants are left alone: a
 * register held for long costs more than a MOV.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "ir/cfg.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"
#include <string.h>

typedef struct {
    InstId inst;
    BlockId block;
    uint32_t next; /* entry of the same slot, + 1 */
} Entry;

typedef struct {
    Function *f;
    Arena a;
    uint32_t *slots, nslots;
    VEC(Entry) entries; /* a stack: entries of finished subtrees are popped */
    VEC(uint32_t) slot_of;
    uint32_t *repl;
} Cse;

static bool is_pure(const Function *f, const Inst *i) {
    return i->op != OT_MOV && i->op != OT_NOP && i->op != OT_CS2R /* of zero: a constant */ &&
           opt_only_computes(f, i);
}

static uint32_t value_of(const Cse *cse, uint32_t v) {
    while (cse->repl[v])
        v = cse->repl[v];
    return v;
}

/* One word that stands for part c of an operand. */
static uint64_t part(const Cse *cse, Operand o, unsigned c) {
    uint64_t head =
        (uint64_t)o.kind << 56 | (uint64_t)o.file << 48 | (uint64_t)o.mods << 40 | (uint64_t)o.count << 36;
    if (o.kind == OPK_VAL)
        return head | value_of(cse, ir_operand_value(cse->f, o, c).i);
    return head | o.value;
}

static unsigned parts(Operand o) { return o.kind == OPK_VAL ? o.count : 1; }

static uint32_t hash_inst(const Cse *cse, const Inst *i) {
    uint64_t h = i->op * RNG_STEP ^ i->mods;
    FOR_USES(cse->f, i, o) {
        for (unsigned c = 0; c < parts(*o); c++)
            h = (h ^ part(cse, *o, c)) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    }
    return (uint32_t)h;
}

static bool same_source(const Cse *s, Operand a, Operand b) {
    if (a.kind == OPK_IMM64 || a.kind == OPK_SYM) /* pool indices: leave these alone */
        return false;
    if (a.kind != b.kind || parts(a) != parts(b))
        return false;
    for (unsigned c = 0; c < parts(a); c++)
        if (part(s, a, c) != part(s, b, c))
            return false;
    return true;
}

static bool same_inst(const Cse *cse, const Inst *inst, const Inst *b) {
    if (inst->op != b->op || inst->mods != b->mods || inst->ndst != b->ndst || inst->nsrc != b->nsrc ||
        inst->flags != b->flags)
        return false;
    const Operand *x = &cse->f->operands.at[inst->operand], *y = &cse->f->operands.at[b->operand];
    for (unsigned k = 0; k < inst->ndst; k++) /* what the later one defines the earlier must define too */
        if (y[k].kind == OPK_VAL &&
            (x[k].kind != OPK_VAL || x[k].count != y[k].count || x[k].file != y[k].file))
            return false;
    for (unsigned k = inst->ndst; k < ir_num_operands(inst); k++)
        if (!same_source(cse, x[k], y[k]))
            return false;
    return true;
}

static void replace(Cse *cse, const Inst *by, const Inst *i) {
    FOR_DSTS(cse->f, i, dst) {
        Operand o = *dst, n = *ir_dst(cse->f, by, AT(dst));
        for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
            cse->repl[ir_operand_value(cse->f, o, c).i] = ir_operand_value(cse->f, n, c).i;
    }
}

/* The entry, + 1, of what computes the same; 0: nothing does. A phi is the same only in its own block. */
static uint32_t find_same(const Cse *cse, uint32_t slot, const Inst *i, BlockId b) {
    for (uint32_t e = cse->slots[slot]; e; e = cse->entries.at[e - 1].next) {
        const Entry *entry = &cse->entries.at[e - 1];
        if ((i->op != IR_PHI || entry->block.i == b.i) && same_inst(cse, ir_inst(cse->f, entry->inst), i))
            return e;
    }
    return 0;
}

static void visit_block(Cse *cse, BlockId b) {
    Block *blk = ir_block(cse->f, b);
    unsigned to = 0;
    FOR_INST_IDS(cse->f, b, id) {
        const Inst *i = ir_inst(cse->f, id);
        if (is_pure(cse->f, i) || i->op == IR_PHI) {
            uint32_t slot = hash_inst(cse, i) & (cse->nslots - 1), e = find_same(cse, slot, i, b);
            if (e) {
                replace(cse, ir_inst(cse->f, cse->entries.at[e - 1].inst), i);
                continue;
            }
            *VEC_PUSH(&cse->a, &cse->entries) = (Entry){id, b, cse->slots[slot]};
            VEC_ADD(&cse->a, &cse->slot_of, slot);
            cse->slots[slot] = cse->entries.n;
        }
        blk->insts.at[to++] = id;
    }
    blk->insts.n = to;
}

static void pop_to(Cse *cse, uint32_t mark) {
    while (cse->entries.n > mark) {
        uint32_t k = --cse->entries.n;
        cse->slots[cse->slot_of.at[--cse->slot_of.n]] = cse->entries.at[k].next;
    }
}

static void walk_dominators(Cse *cse, const Graph *graph, const DomTree *tree) {
    uint32_t *child = ARENA_ARRAY(&cse->a, uint32_t, graph->n),
             *sibling = ARENA_ARRAY(&cse->a, uint32_t, graph->n);
    uint32_t *stack = ARENA_ARRAY(&cse->a, uint32_t, graph->n + 1),
             *mark = ARENA_ARRAY(&cse->a, uint32_t, graph->n + 1), top = 0;
    for (uint32_t k = tree->order.count; k-- > 1;) { /* node 0 is the virtual exit, so 0 ends the lists */
        uint32_t b = tree->order.order[k];
        sibling[b] = child[tree->idom[b]];
        child[tree->idom[b]] = b;
    }
    stack[top] = cse->f->entry.i;
    mark[top++] = 0;
    visit_block(cse, cse->f->entry);
    while (top) {
        uint32_t b = stack[top - 1], c = child[b];
        if (!c) {
            pop_to(cse, mark[--top]);
            continue;
        }
        child[b] = sibling[c];
        stack[top] = c;
        mark[top++] = cse->entries.n;
        if (c)
            visit_block(cse, (BlockId){c});
    }
}

bool pass_cse(Function *f, Diags *d) {
    (void)d;
    if (f->blocks.n <= 1)
        return true;
    Cse s = {.f = f};
    Graph g = cfg_graph(&s.a, f);
    DomTree t = dom_tree(&s.a, &g, GRAPH_FORWARD, f->entry.i);
    s.repl = ARENA_ARRAY(&s.a, uint32_t, f->values.n);
    for (s.nslots = 64; s.nslots < f->insts.n; s.nslots *= 2)
        ;
    s.slots = ARENA_ARRAY(&s.a, uint32_t, s.nslots);
    walk_dominators(&s, &g, &t);
    opt_rename(f, s.repl);
    arena_free(&s.a);
    return true;
}
