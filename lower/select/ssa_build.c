/* SSA construction on the fly (Braun, Buchwald, Hack, Leissa, Mallon, Zwinkau: "Simple and Efficient
 * Construction of Static Single Assignment Form", CC 2013). In: writes and reads of variables, block by
 * block; a block is sealed when all its predecessors are known. Out: phis in front of their blocks, operands
 * rewritten. Any control-flow graph. Phis that turn out redundant or unused are dropped in ssa_finish.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"
#include <string.h>

enum { MAX_DEPTH = 1000 }; /* of the recursion through joins; beyond it phis are filled from a list */

static ValId find(Ssa *s, ValId v) {
    uint32_t root = v.i;
    while (root < s->replaced.n && s->replaced.at[root])
        root = s->replaced.at[root];
    while (v.i != root) { /* shorten the path */
        uint32_t next = s->replaced.at[v.i];
        s->replaced.at[v.i] = root;
        v.i = next;
    }
    return (ValId){root};
}

static void replace(Ssa *s, ValId old, ValId now) {
    while (s->replaced.n <= old.i)
        VEC_ADD(s->a, &s->replaced, 0);
    s->replaced.at[old.i] = now.i;
}

/* ---- map (block, variable) -> value ---- */

static uint32_t slot_of(const Ssa *s, uint64_t key) {
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(h >> 32) & (s->nslots - 1);
    while (s->keys[i] && s->keys[i] != key)
        i = (i + 1) & (s->nslots - 1);
    return i;
}

static void grow_map(Ssa *s) {
    uint64_t *keys = s->keys;
    uint32_t *vals = s->vals, n = s->nslots;
    s->nslots = n ? n * 2 : 1024;
    s->keys = ARENA_ARRAY(s->a, uint64_t, s->nslots);
    s->vals = ARENA_ARRAY(s->a, uint32_t, s->nslots);
    for (uint32_t k = 0; k < n; k++)
        if (keys[k]) {
            uint32_t i = slot_of(s, keys[k]);
            s->keys[i] = keys[k];
            s->vals[i] = vals[k];
        }
}

static uint64_t map_key(BlockId b, uint32_t var) { return (uint64_t)b.i << 32 | (var + 1); }

static ValId get(Ssa *s, BlockId b, uint32_t var) {
    uint32_t v = s->vals[slot_of(s, map_key(b, var))];
    return v ? find(s, (ValId){v}) : (ValId){0};
}

void ssa_write(Ssa *s, uint32_t var, BlockId b, ValId v) {
    if (s->count * 2 >= s->nslots)
        grow_map(s);
    uint64_t key = map_key(b, var);
    uint32_t i = slot_of(s, key);
    if (!s->keys[i]) {
        s->keys[i] = key;
        s->count++;
    }
    s->vals[i] = v.i;
    Value *val = ir_value(s->f, v);
    if (!val->ptx_reg && val->fixed_reg < 0 && s->vars.at[var].ptx_reg) {
        val->ptx_reg = s->vars.at[var].ptx_reg;
        val->component = s->vars.at[var].component;
    }
}

static SsaBlock *block_of(Ssa *s, BlockId b) {
    while (s->blocks.n <= b.i)
        VEC_PUSH(s->a, &s->blocks);
    return &s->blocks.at[b.i];
}

/* ---- phis ---- */

static uint32_t new_phi(Ssa *s, uint32_t var, BlockId b) {
    ValId v = ir_value_new(s->f, (RegFile)s->vars.at[var].file);
    ir_value(s->f, v)->ptx_reg = s->vars.at[var].ptx_reg;
    ir_value(s->f, v)->component = s->vars.at[var].component;
    *VEC_PUSH(s->a, &s->phis) = (SsaPhi){.block = b, .var = var, .value = v};
    ssa_write(s, var, b, v);
    return s->phis.n - 1;
}

static ValId undef(Ssa *s, uint32_t var) {
    BlockId entry = s->f->entry;
    InstId id = ir_inst_new(s->f, IR_UNDEF, 1, 0);
    ValId v = ir_value_new(s->f, (RegFile)s->vars.at[var].file);
    ir_set_dst(s->f, id, 0, ir_val(s->f, v));
    VEC_ADD(s->a, &s->entry_undefs, id);
    ssa_write(s, var, entry, v);
    return v;
}

static ValId read_here(Ssa *s, uint32_t var, BlockId b);

/* The one value that all operands have besides the phi itself, or 0. */
static ValId unique_operand(Ssa *s, const SsaPhi *p) {
    uint32_t one = 0;
    for (uint32_t k = 0; k < p->nops; k++) {
        uint32_t v = find(s, (ValId){p->ops[k]}).i;
        if (v == p->value.i || v == one)
            continue;
        if (one)
            return (ValId){0};
        one = v;
    }
    return (ValId){one};
}

static void drop_if_redundant(Ssa *s, uint32_t n, bool *dropped) {
    SsaPhi *p = &s->phis.at[n];
    if (p->dead || !p->ops)
        return;
    ValId one = unique_operand(s, p);
    if (!one.i)
        return;
    p->dead = true;
    replace(s, p->value, one);
    *dropped = true;
}

static void fill(Ssa *s, uint32_t n) {
    BlockId b = s->phis.at[n].block;
    uint32_t var = s->phis.at[n].var, npreds = ir_block(s->f, b)->preds.n;
    uint32_t *ops = ARENA_ARRAY(s->a, uint32_t, npreds + 1);
    for (uint32_t k = 0; k < npreds; k++) {
        BlockId pred = ir_block(s->f, b)->preds.at[k];
        ops[k] = read_here(s, var, pred).i;
    }
    s->phis.at[n].ops = ops;
    s->phis.at[n].nops = npreds;
    bool dropped = false;
    drop_if_redundant(s, n, &dropped);
}

static ValId read_join(Ssa *s, uint32_t var, BlockId b) {
    uint32_t n = new_phi(s, var, b);
    if (!block_of(s, b)->sealed)
        VEC_ADD(s->a, &block_of(s, b)->incomplete, n);
    else if (s->depth < MAX_DEPTH) {
        s->depth++;
        fill(s, n);
        s->depth--;
    } else
        VEC_ADD(s->a, &s->pending, n);
    return find(s, s->phis.at[n].value);
}

/* Walks up chains of single predecessors without recursion. */
static ValId read_here(Ssa *s, uint32_t var, BlockId b) {
    BlockId at = b;
    ValId v;
    for (;;) {
        v = get(s, at, var);
        if (v.i)
            break;
        Block *blk = ir_block(s->f, at);
        if (block_of(s, at)->sealed && blk->preds.n == 0)
            v = undef(s, var);
        else if (!block_of(s, at)->sealed || blk->preds.n != 1)
            v = read_join(s, var, at);
        if (v.i)
            break;
        at = blk->preds.at[0];
    }
    for (BlockId c = b; c.i != at.i; c = ir_block(s->f, c)->preds.at[0])
        ssa_write(s, var, c, v);
    return v;
}

static void drain(Ssa *s) {
    while (s->pending.n) {
        uint32_t n = s->pending.at[--s->pending.n];
        s->depth = 0;
        fill(s, n);
    }
}

ValId ssa_read(Ssa *s, uint32_t var, BlockId b) {
    ValId v = read_here(s, var, b);
    drain(s);
    return find(s, v);
}

void ssa_seal(Ssa *s, BlockId b) {
    SsaBlock *blk = block_of(s, b);
    if (blk->sealed)
        return;
    blk->sealed = true;
    for (uint32_t k = 0; k < block_of(s, b)->incomplete.n; k++) {
        fill(s, block_of(s, b)->incomplete.at[k]);
        drain(s);
    }
}

/* ---- set-up and end ---- */

void ssa_init(Ssa *s, Function *f, Arena *a) {
    *s = (Ssa){.f = f, .a = a};
    grow_map(s);
}

uint32_t ssa_var_new(Ssa *s, RegFile file, uint32_t ptx_reg, unsigned component) {
    *VEC_PUSH(s->a, &s->vars) = (SsaVar){(uint8_t)file, (uint8_t)component, ptx_reg};
    return s->vars.n - 1;
}

static void drop_redundant(Ssa *s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < s->phis.n; n++)
            drop_if_redundant(s, n, &changed);
    }
}

static void rewrite_operands(Ssa *s) {
    Function *f = s->f;
    for (uint32_t k = 0; k < f->operands.n; k++)
        if (f->operands.at[k].kind == OPK_VAL && f->operands.at[k].count == 1)
            f->operands.at[k].value = find(s, (ValId){f->operands.at[k].value}).i;
    for (uint32_t k = 0; k < f->vectors.n; k++)
        f->vectors.at[k] = find(s, (ValId){f->vectors.at[k]}).i;
    for (uint32_t k = 1; k < f->insts.n; k++)
        if (f->insts.at[k].guard.kind == OPK_VAL)
            f->insts.at[k].guard.value = find(s, (ValId){f->insts.at[k].guard.value}).i;
}

/* Phis whose value reaches an instruction. by_value: phi number + 1 of each value. */
static void mark_live(Ssa *s, const uint32_t *by_value) {
    Function *f = s->f;
    VEC(uint32_t) work = {0};
#define TOUCH(v)                                                                                             \
    do {                                                                                                     \
        uint32_t phi_ = by_value[v];                                                                         \
        if (phi_ && !s->phis.at[phi_ - 1].live) {                                                            \
            s->phis.at[phi_ - 1].live = true;                                                                \
            VEC_ADD(s->a, &work, phi_ - 1);                                                                  \
        }                                                                                                    \
    } while (0)
    for (uint32_t n = 0; n < f->layout.n; n++) {
        const Block *b = ir_block(f, f->layout.at[n]);
        for (uint32_t p = 0; p < b->insts.n; p++) {
            const Inst *i = ir_inst(f, b->insts.at[p]);
            if (i->guard.kind == OPK_VAL)
                TOUCH(i->guard.value);
            for (unsigned k = i->ndst; k < ir_num_operands(i); k++) {
                Operand o = f->operands.at[i->operand + k];
                for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
                    TOUCH(ir_operand_value(f, o, c).i);
            }
        }
    }
    while (work.n) {
        const SsaPhi *p = &s->phis.at[work.at[--work.n]];
        for (uint32_t k = 0; k < p->nops; k++) {
            uint32_t v = find(s, (ValId){p->ops[k]}).i;
            TOUCH(v);
        }
    }
#undef TOUCH
}

/* Blocks whose instruction list gets `front` put before it. */
static void prepend(Ssa *s, BlockId b, const InstId *front, uint32_t n, uint32_t at) {
    Function *f = s->f;
    for (uint32_t k = 0; k < n; k++)
        VEC_PUSH(f->arena, &ir_block(f, b)->insts);
    Block *blk = ir_block(f, b);
    memmove(blk->insts.at + at + n, blk->insts.at + at, (blk->insts.n - n - at) * sizeof *blk->insts.at);
    for (uint32_t k = 0; k < n; k++) {
        blk->insts.at[at + k] = front[k];
        Operand d = *ir_dst(f, ir_inst(f, front[k]), 0);
        ir_value(f, ir_operand_value(f, d, 0))->block = b;
    }
}

static InstId make_phi(Ssa *s, const SsaPhi *p) {
    Function *f = s->f;
    InstId id = ir_inst_new(f, IR_PHI, 1, p->nops);
    ir_set_dst(f, id, 0, ir_val(f, p->value));
    for (uint32_t k = 0; k < p->nops; k++)
        ir_set_src(f, id, k, ir_val(f, find(s, (ValId){p->ops[k]})));
    return id;
}

void ssa_finish(Ssa *s) {
    Function *f = s->f;
    drop_redundant(s);
    rewrite_operands(s);
    uint32_t *by_value = ARENA_ARRAY(s->a, uint32_t, f->values.n + 1);
    for (uint32_t n = 0; n < s->phis.n; n++)
        if (!s->phis.at[n].dead)
            by_value[s->phis.at[n].value.i] = n + 1;
    mark_live(s, by_value);
    /* bucket the phis by block: next[n] chains them */
    uint32_t *head = ARENA_ARRAY(s->a, uint32_t, f->blocks.n + 1);
    uint32_t *next = ARENA_ARRAY(s->a, uint32_t, s->phis.n + 1);
    for (uint32_t n = s->phis.n; n-- > 0;)
        if (!s->phis.at[n].dead && s->phis.at[n].live) {
            next[n] = head[s->phis.at[n].block.i];
            head[s->phis.at[n].block.i] = n + 1;
        }
    VEC(InstId) front = {0};
    for (uint32_t b = 1; b < f->blocks.n; b++) {
        front.n = 0;
        for (uint32_t n = head[b]; n; n = next[n - 1])
            VEC_ADD(s->a, &front, make_phi(s, &s->phis.at[n - 1]));
        if (front.n)
            prepend(s, (BlockId){b}, front.at, front.n, 0);
    }
    if (s->entry_undefs.n) /* behind IR_ENTRY, which is first */
        prepend(s, f->entry, s->entry_undefs.at, s->entry_undefs.n, 1);
}
