/* SSA construction on the fly (Braun, Buchwald, Hack, Leissa, Mallon, Zwinkau: "Simple and Efficient
 * Construction of Static Single Assignment Form", CC 2013). In: writes and reads of variables, block by
 * block; a block is sealed when all its predecessors are known. Out: phis in front of their blocks, operands
 * rewritten. Any control-flow graph. Phis that turn out redundant or unused are dropped in sel_ssa_finish.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "lower/select/isel.h"
#include <string.h>

enum { MAX_DEPTH = 1000 }; /* of the recursion through joins; beyond it phis are filled from a list */

static ValId ssa_find(Ssa *ssa, ValId v) {
    uint32_t root = v.i;
    while (root < ssa->replaced.n && ssa->replaced.at[root])
        root = ssa->replaced.at[root];
    while (v.i != root) { /* shorten the path */
        uint32_t next = ssa->replaced.at[v.i];
        ssa->replaced.at[v.i] = root;
        v.i = next;
    }
    return (ValId){root};
}

static void replace(Ssa *ssa, ValId old, ValId now) {
    while (ssa->replaced.n <= old.i)
        VEC_ADD(ssa->a, &ssa->replaced, 0);
    ssa->replaced.at[old.i] = now.i;
}

/* ---- map (block, variable) -> value ---- */

static uint32_t slot_of(const Ssa *ssa, uint64_t key) {
    uint64_t h = key * RNG_STEP;
    uint32_t i = (uint32_t)(h >> 32) & (ssa->nslots - 1);
    while (ssa->keys[i] && ssa->keys[i] != key)
        i = (i + 1) & (ssa->nslots - 1);
    return i;
}

static void grow_map(Ssa *ssa) {
    uint64_t *keys = ssa->keys;
    uint32_t *vals = ssa->vals, n = ssa->nslots;
    ssa->nslots = n ? n * 2 : 128;
    ssa->keys = ARENA_ARRAY(ssa->a, uint64_t, ssa->nslots);
    ssa->vals = ARENA_ARRAY(ssa->a, uint32_t, ssa->nslots);
    for (uint32_t k = 0; k < n; k++)
        if (keys[k]) {
            uint32_t i = slot_of(ssa, keys[k]);
            ssa->keys[i] = keys[k];
            ssa->vals[i] = vals[k];
        }
}

static uint64_t map_key(BlockId b, uint32_t var) { return (uint64_t)b.i << 32 | (var + 1); }

static ValId get(Ssa *ssa, BlockId b, uint32_t var) {
    uint32_t v = ssa->vals[slot_of(ssa, map_key(b, var))];
    return v ? ssa_find(ssa, (ValId){v}) : (ValId){0};
}

void sel_ssa_write(Ssa *ssa, uint32_t var, BlockId b, ValId v) {
    if (ssa->count * 2 >= ssa->nslots)
        grow_map(ssa);
    uint64_t key = map_key(b, var);
    uint32_t i = slot_of(ssa, key);
    if (!ssa->keys[i]) {
        ssa->keys[i] = key;
        ssa->count++;
    }
    ssa->vals[i] = v.i;
    Value *val = ir_value(ssa->f, v);
    if (!val->ptx_reg && val->fixed_reg < 0 && ssa->vars.at[var].ptx_reg) {
        val->ptx_reg = ssa->vars.at[var].ptx_reg;
        val->component = ssa->vars.at[var].component;
    }
}

static SsaBlock *block_of(Ssa *ssa, BlockId b) {
    while (ssa->blocks.n <= b.i)
        VEC_PUSH(ssa->a, &ssa->blocks);
    return &ssa->blocks.at[b.i];
}

void sel_ssa_place(Ssa *ssa, BlockId b, uint32_t loop) { block_of(ssa, b)->loop = loop; }

/* ---- loops that do not write a variable ---- */

/* Has the register an entry with a number in in..out-1? */
static bool has_write(const Ssa *ssa, uint32_t reg, uint32_t in, uint32_t out) {
    uint32_t lo = ssa->loops.writes_at[reg], end = ssa->loops.writes_at[reg + 1], hi = end;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (ssa->loops.writes[mid] < in)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < end && ssa->loops.writes[lo] < out;
}

static bool is_quiet(Ssa *ssa, uint32_t reg, uint32_t loop) {
    ssa->f->module->steps++;
    return loop && !has_write(ssa, reg, ssa->loops.at[loop].in, ssa->loops.at[loop].out);
}

/* The outermost loop around the block that does not write the variable, 0 if all do. Where a loop does not,
 * those inside it do not either. */
static uint32_t quiet_loop(Ssa *ssa, uint32_t var, BlockId b) {
    uint32_t reg = ssa->vars.at[var].ptx_reg, loop = block_of(ssa, b)->loop;
    if (!loop || !reg || !is_quiet(ssa, reg, loop))
        return 0;
    for (const SsaLoop *l = &ssa->loops.at[loop]; is_quiet(ssa, reg, l->parent); l = &ssa->loops.at[loop])
        loop = is_quiet(ssa, reg, l->jump) ? l->jump : l->parent;
    return loop;
}

static bool is_inside(Ssa *ssa, uint32_t loop, BlockId b) {
    uint32_t at = block_of(ssa, b)->loop;
    const SsaLoop *l = &ssa->loops.at[loop];
    return at && l->in <= ssa->loops.at[at].in && ssa->loops.at[at].in < l->out;
}

/* The one block that leads to the loop's header from outside; 0 if there are several or not all are known. */
static BlockId only_way_in(Ssa *ssa, uint32_t loop) {
    const SsaLoop *l = &ssa->loops.at[loop];
    const Block *header = ir_block(ssa->f, l->header);
    BlockId way = {0};
    if (!block_of(ssa, l->header)->sealed && l->ways_in != 1)
        return way;
    for (uint32_t k = 0; k < header->preds.n; k++) {
        ssa->f->module->steps++;
        if (is_inside(ssa, loop, header->preds.at[k]))
            continue;
        if (way.i)
            return (BlockId){0};
        way = header->preds.at[k];
    }
    return way;
}

/* ---- phis ---- */

static uint32_t new_phi(Ssa *ssa, uint32_t var, BlockId b) {
    ValId v = ir_value_new(ssa->f, (RegFile)ssa->vars.at[var].file);
    ir_value(ssa->f, v)->ptx_reg = ssa->vars.at[var].ptx_reg;
    ir_value(ssa->f, v)->component = ssa->vars.at[var].component;
    *VEC_PUSH(ssa->a, &ssa->phis) = (SsaPhi){.block = b, .var = var, .value = v};
    sel_ssa_write(ssa, var, b, v);
    return ssa->phis.n - 1;
}

/* What is read in `b` and was written on no way to it, or on which there is no way. Defined at the entry,
 * which dominates all uses. */
static ValId undef(Ssa *ssa, uint32_t var, BlockId b) {
    InstId id = ir_inst_new(ssa->f, IR_UNDEF, 1, 0);
    ValId v = ir_value_new(ssa->f, (RegFile)ssa->vars.at[var].file);
    ir_set_dst(ssa->f, id, 0, ir_val(ssa->f, v));
    VEC_ADD(ssa->a, &ssa->entry_undefs, id);
    sel_ssa_write(ssa, var, b, v);
    return v;
}

static ValId read_here(Ssa *ssa, uint32_t var, BlockId b);

/* The one value that all operands have besides the phi itself, or 0. */
static ValId unique_operand(Ssa *s, const SsaPhi *phi) {
    uint32_t one = 0;
    for (uint32_t k = 0; k < phi->nops; k++) {
        uint32_t v = ssa_find(s, (ValId){phi->ops[k]}).i;
        if (v == phi->value.i || v == one)
            continue;
        if (one)
            return (ValId){0};
        one = v;
    }
    return (ValId){one};
}

static void drop_if_redundant(Ssa *ssa, uint32_t n, bool *dropped) {
    SsaPhi *phi = &ssa->phis.at[n];
    if (phi->dead || !phi->ops)
        return;
    ValId one = unique_operand(ssa, phi);
    if (!one.i)
        return;
    phi->dead = true;
    replace(ssa, phi->value, one);
    *dropped = true;
}

static void fill(Ssa *ssa, uint32_t n) {
    BlockId b = ssa->phis.at[n].block;
    uint32_t var = ssa->phis.at[n].var, npreds = ir_block(ssa->f, b)->preds.n;
    uint32_t *ops = ARENA_ARRAY(ssa->a, uint32_t, npreds + 1);
    uint32_t loop = quiet_loop(ssa, var, b); /* its header, if any */
    for (uint32_t k = 0; k < npreds; k++) {
        BlockId pred = ir_block(ssa->f, b)->preds.at[k];
        ops[k] = loop && is_inside(ssa, loop, pred) ? ssa->phis.at[n].value.i : read_here(ssa, var, pred).i;
    }
    ssa->phis.at[n].ops = ops;
    ssa->phis.at[n].nops = npreds;
    bool dropped = false;
    drop_if_redundant(ssa, n, &dropped);
}

static ValId read_join(Ssa *ssa, uint32_t var, BlockId b) {
    uint32_t n = new_phi(ssa, var, b);
    if (!block_of(ssa, b)->sealed)
        VEC_ADD(ssa->a, &block_of(ssa, b)->incomplete, n);
    else if (ssa->depth < MAX_DEPTH) {
        ssa->depth++;
        fill(ssa, n);
        ssa->depth--;
    } else
        VEC_ADD(ssa->a, &ssa->pending, n);
    return ssa_find(ssa, ssa->phis.at[n].value);
}

/* Walks up chains of single predecessors without recursion, and past loops that do not write the variable: at
 * their headers is what came in. */
static ValId read_here(Ssa *ssa, uint32_t var, BlockId b) {
    uint32_t base = ssa->path.n;
    ValId v;
    for (BlockId at = b;;) {
        ssa->f->module->steps++;
        v = get(ssa, at, var);
        if (v.i)
            break;
        uint32_t loop = quiet_loop(ssa, var, at);
        BlockId header = ssa->loops.n ? ssa->loops.at[loop].header : at, way = {0};
        if (loop && header.i != at.i) {
            VEC_ADD(ssa->a, &ssa->path, at);
            at = header;
            continue;
        }
        const Block *blk = ir_block(ssa->f, at);
        bool sealed = block_of(ssa, at)->sealed;
        if (loop)
            way = only_way_in(ssa, loop);
        else if (sealed && blk->preds.n == 0)
            v = undef(ssa, var, at);
        else if (sealed && blk->preds.n == 1)
            way = blk->preds.at[0];
        if (!way.i) {
            v = v.i ? v : read_join(ssa, var, at);
            break;
        }
        VEC_ADD(ssa->a, &ssa->path, at);
        at = way;
    }
    while (ssa->path.n > base)
        sel_ssa_write(ssa, var, ssa->path.at[--ssa->path.n], v);
    return v;
}

static void drain(Ssa *ssa) {
    while (ssa->pending.n) {
        uint32_t n = ssa->pending.at[--ssa->pending.n];
        ssa->depth = 0;
        fill(ssa, n);
    }
}

ValId sel_ssa_read(Ssa *s, uint32_t var, BlockId b) {
    ValId v = read_here(s, var, b);
    drain(s);
    return ssa_find(s, v);
}

void sel_ssa_seal(Ssa *s, BlockId b) {
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

void sel_ssa_init(Ssa *s, Function *f, Arena *a) {
    *s = (Ssa){.f = f, .a = a};
    grow_map(s);
}

uint32_t sel_ssa_var_new(Ssa *ssa, RegFile file, uint32_t ptx_reg, unsigned component) {
    *VEC_PUSH(ssa->a, &ssa->vars) = (SsaVar){(uint8_t)file, (uint8_t)component, ptx_reg};
    return ssa->vars.n - 1;
}

static void drop_redundant(Ssa *ssa) {
    for (bool changed = true; changed;) {
        changed = false;
        ssa->f->module->steps += ssa->phis.n;
        for (uint32_t n = 0; n < ssa->phis.n; n++)
            drop_if_redundant(ssa, n, &changed);
    }
}

static void rewrite_operands(Ssa *ssa) {
    Function *f = ssa->f;
    for (uint32_t k = 0; k < f->operands.n; k++)
        if (f->operands.at[k].kind == OPK_VAL && f->operands.at[k].count == 1)
            f->operands.at[k].value = ssa_find(ssa, (ValId){f->operands.at[k].value}).i;
    for (uint32_t k = 0; k < f->vectors.n; k++)
        f->vectors.at[k] = ssa_find(ssa, (ValId){f->vectors.at[k]}).i;
    for (uint32_t k = 1; k < f->insts.n; k++)
        if (f->insts.at[k].guard.kind == OPK_VAL)
            f->insts.at[k].guard.value = ssa_find(ssa, (ValId){f->insts.at[k].guard.value}).i;
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
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            if (i->guard.kind == OPK_VAL)
                TOUCH(i->guard.value);
            FOR_USES(f, i, o) {
                for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
                    TOUCH(ir_operand_value(f, *o, c).i);
            }
        }
    while (work.n) {
        const SsaPhi *p = &s->phis.at[work.at[--work.n]];
        for (uint32_t k = 0; k < p->nops; k++) {
            uint32_t v = ssa_find(s, (ValId){p->ops[k]}).i;
            TOUCH(v);
        }
    }
#undef TOUCH
}

/* Blocks whose instruction list gets `front` put before it. */
static void prepend(Ssa *ssa, BlockId b, const InstId *front, uint32_t n, uint32_t at) {
    Function *f = ssa->f;
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

static InstId make_phi(Ssa *ssa, const SsaPhi *phi) {
    Function *f = ssa->f;
    InstId id = ir_inst_new(f, IR_PHI, 1, phi->nops);
    ir_set_dst(f, id, 0, ir_val(f, phi->value));
    for (uint32_t k = 0; k < phi->nops; k++)
        ir_set_src(f, id, k, ir_val(f, ssa_find(ssa, (ValId){phi->ops[k]})));
    return id;
}

void sel_ssa_finish(Ssa *ssa) {
    Function *f = ssa->f;
    drop_redundant(ssa);
    rewrite_operands(ssa);
    uint32_t *by_value = ARENA_ARRAY(ssa->a, uint32_t, f->values.n + 1);
    for (uint32_t n = 0; n < ssa->phis.n; n++)
        if (!ssa->phis.at[n].dead)
            by_value[ssa->phis.at[n].value.i] = n + 1;
    mark_live(ssa, by_value);
    /* bucket the phis by block: next[n] chains them */
    uint32_t *head = ARENA_ARRAY(ssa->a, uint32_t, f->blocks.n + 1);
    uint32_t *next = ARENA_ARRAY(ssa->a, uint32_t, ssa->phis.n + 1);
    for (uint32_t n = ssa->phis.n; n-- > 0;)
        if (!ssa->phis.at[n].dead && ssa->phis.at[n].live) {
            next[n] = head[ssa->phis.at[n].block.i];
            head[ssa->phis.at[n].block.i] = n + 1;
        }
    InstIds front = {0};
    for (uint32_t b = 1; b < f->blocks.n; b++) {
        front.n = 0;
        for (uint32_t n = head[b]; n; n = next[n - 1])
            VEC_ADD(ssa->a, &front, make_phi(ssa, &ssa->phis.at[n - 1]));
        if (front.n)
            prepend(ssa, (BlockId){b}, front.at, front.n, 0);
    }
    if (ssa->entry_undefs.n) /* behind IR_ENTRY, which is first */
        prepend(ssa, f->entry, ssa->entry_undefs.at, ssa->entry_undefs.n, 1);
}
