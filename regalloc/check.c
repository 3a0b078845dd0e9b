/* Independent check of a colouring: follows, for every register and spill slot, which SSA value it holds
 * along all paths, and compares each read with the value that the instruction named before colouring. Knows
 * nothing of how the allocator chose. A cell holds the value's number, a constant, or 0 for "unknown".
 * SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"
#include <string.h>

typedef struct {
    Function *f;
    const RaRecord *rec;
    Diags *d;
    Arena a;
    RaCfg g;
    uint32_t first[RF_B], size[RF_B], slots, ncells; /* cells of each file's registers in use, spill slots */
    uint64_t **out;                                  /* by block; NULL: not reached yet */
    uint32_t *first_phi, *next_phi;                  /* lists of rec->phis by block, numbers + 1 */
    uint64_t *now, *temp, *sum;
    uint32_t *born;       /* by value */
    bool report, ok, bad; /* bad: something was wrong in the block just done */
    bool *dirty;          /* by block: its start may have changed */
} Check;

static uint32_t cell_of(const Check *c, unsigned file, uint32_t reg) { return c->first[file] + reg; }

static bool is_tracked(Operand o) { return o.kind == OPK_REG && o.file < RF_B; }

/* What an operand that is not a value stands for. */
static uint64_t constant(Operand o) {
    return (uint64_t)1 << 63 | (uint64_t)o.kind << 48 | (uint64_t)o.file << 44 | (uint64_t)o.mods << 36 |
           o.value;
}

static bool is_constant_reg(Operand o) {
    static const uint32_t zero[RF_B] = {REG_RZ, REG_PT, REG_URZ, REG_UPT};
    return o.kind == OPK_REG && (o.file >= RF_B || o.value == zero[o.file]);
}

static void fail(Check *c, const Inst *i, unsigned file, uint32_t reg, uint32_t v) {
    if (c->report && c->ok)
        diag(c->d, ra_src_loc(c->f, i), DIAG_E0784, str_text(c->f->module->strings, c->f->name),
             ir_op_name(i->op), file < RF_B ? ra_file_name((RegFile)file) : "slot ", reg, v);
    if (c->report)
        c->ok = false;
    c->bad = true;
}

/* At the start of block b: whatever b defines anew is of an earlier round and no use of it can follow. A
 * reload or a repeated definition makes the same value again, so that older copies stay true. */
static void forget_own(Check *c, BlockId b) {
    for (uint32_t k = 0; k < c->ncells; k++)
        if (!(c->now[k] >> 63) && c->born[c->now[k]] == b.i)
            c->now[k] = 0;
}

/* The block of each value's first definition, which dominates all others. */
static void find_births(Check *c) {
    Function *f = c->f;
    c->born = ARENA_ARRAY(&c->a, uint32_t, f->values.n);
    for (uint32_t k = 0; k < c->rec->phis.n; k++)
        c->born[ir_dst(f, ir_inst(f, c->rec->phis.at[k].phi), 0)->value] = c->rec->phis.at[k].block.i;
    for (uint32_t k = 0; k < c->g.nrpo; k++) {
        const Block *b = ir_block(f, c->g.rpo[k]);
        for (unsigned p = 0; p < b->insts.n; p++) {
            const Inst *i = ir_inst(f, b->insts.at[p]);
            ValId v[4];
            for (unsigned d = 0; b->insts.at[p].i < c->rec->ninsts && d < i->ndst; d++)
                for (unsigned m = 0, n = ra_values(f, c->rec->ssa[i->operand + d], v); m < n; m++)
                    if (!c->born[v[m].i])
                        c->born[v[m].i] = c->g.rpo[k].i;
        }
    }
}

static void check_read(Check *c, const Inst *i, Operand ssa, Operand phys) {
    ValId v[4];
    unsigned n = ra_values(c->f, ssa, v);
    for (unsigned k = 0; k < n; k++) {
        if (!v[k].i)
            continue;
        bool right = is_tracked(phys) && phys.file == c->f->values.at[v[k].i].file && phys.count == n &&
                     phys.mods == ssa.mods && !is_constant_reg(phys) &&
                     c->now[cell_of(c, phys.file, phys.value + k)] == v[k].i;
        if (right && n > 1)
            right = phys.value % (n == 3 ? 4 : n) == 0;
        if (!right)
            fail(c, i, phys.file, phys.value + k, v[k].i);
    }
}

static void step_ssa(Check *c, InstId id) {
    Function *f = c->f;
    Inst *i = ir_inst(f, id);
    const Operand *ssa = &c->rec->ssa[i->operand];
    unsigned nreads = ra_num_reads(i);
    for (unsigned n = 0; n < nreads; n++)
        check_read(c, i, n + 1 == nreads ? c->rec->ssa_guard[id.i] : ssa[i->ndst + n], *ra_read(f, i, n));
    if (i->op == IR_SPILL)
        c->now[c->slots + ssa[1].value / 4] = ssa[0].value;
    if (i->op == IR_RELOAD && c->now[c->slots + ssa[1].value / 4] != ssa[0].value)
        fail(c, i, RF_B, ssa[1].value, ssa[0].value);
    if (i->op == OT_CALL) {
        RaCallee callee = ra_callee(f, i);
        for (unsigned file = 0; file < RF_B; file++)
            for (uint32_t r = 0; r < c->size[file]; r++)
                if (ra_clobbers(callee, (RegFile)file, r))
                    c->now[cell_of(c, file, r)] = 0;
    }
    for (unsigned k = 0; k < i->ndst; k++) {
        ValId v[4];
        unsigned n = ra_values(f, ssa[k], v);
        Operand phys = *ir_dst(f, i, k);
        if (i->flags & IF_TIED) { /* what it keeps is what it overwrites */
            Operand tied = *ir_tied(f, i, k);
            if (is_tracked(tied) && !is_constant_reg(tied) && n &&
                (tied.value != phys.value || tied.file != phys.file))
                fail(c, i, phys.file, phys.value, v[0].i);
        }
        for (unsigned m = 0; m < phys.count && is_tracked(phys) && !is_constant_reg(phys); m++) {
            int fixed = m < n && v[m].i ? f->values.at[v[m].i].fixed_reg : -1;
            if ((fixed >= 0 && (uint32_t)fixed != phys.value + m) || (n > 1 && phys.value % (n == 3 ? 4 : n)))
                fail(c, i, phys.file, phys.value + m, v[m].i);
            c->now[cell_of(c, phys.file, phys.value + m)] = m < n ? v[m].i : 0;
        }
    }
}

/* A parallel copy that the allocator put in. */
static void step_moves(Check *c, const Inst *i) {
    Function *f = c->f;
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand s = *ir_src(f, i, k);
        c->temp[k] = is_tracked(s) && !is_constant_reg(s) ? c->now[cell_of(c, s.file, s.value)] : constant(s);
    }
    for (unsigned s = 0; s < 2; s++) {
        unsigned scratch = i->mods >> (16 * s) & 0xffff;
        if (scratch)
            c->now[cell_of(c, s ? RF_P : RF_R, scratch - 1)] = 0;
    }
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand o = *ir_dst(f, i, k);
        c->now[cell_of(c, o.file, o.value)] = c->temp[k];
    }
}

static uint32_t phi_cell(const Check *c, const RaPhi *p, uint32_t v) {
    if (p->in_memory)
        return c->slots + p->slot / 4;
    const RaPlaces *e = &c->rec->entry[p->block.i];
    for (unsigned k = 0; k < e->at.n; k++)
        if (e->at.at[k].value == v)
            return cell_of(c, e->at.at[k].file, e->at.at[k].reg);
    return 0;
}

/* What enters block b from its predecessor number `pred`, in c->now. */
static void take_edge(Check *c, BlockId b, unsigned pred) {
    Function *f = c->f;
    memcpy(c->now, c->out[ir_block(f, b)->preds.at[pred].i], sizeof *c->now * c->ncells);
    for (uint32_t k = c->first_phi[b.i]; k; k = c->next_phi[k - 1]) {
        const RaPhi *p = &c->rec->phis.at[k - 1];
        const Inst *i = ir_inst(f, p->phi);
        Operand s = *ir_src(f, i, pred);
        uint64_t expected = s.kind == OPK_VAL ? s.value : constant(s);
        uint32_t v = ir_dst(f, i, 0)->value, cell = phi_cell(c, p, v);
        /* A constant that was stored came through a register of its own: only its presence is known. */
        if (c->now[cell] != expected && !(p->in_memory && s.kind != OPK_VAL && c->now[cell]))
            fail(c, i, p->in_memory ? RF_B : f->values.at[v].file, cell, (uint32_t)expected);
    }
    forget_own(c, b);
    for (uint32_t k = c->first_phi[b.i]; k; k = c->next_phi[k - 1]) {
        uint32_t v = ir_dst(f, ir_inst(f, c->rec->phis.at[k - 1].phi), 0)->value;
        c->now[phi_cell(c, &c->rec->phis.at[k - 1], v)] = v;
    }
}

static void meet(uint64_t *into, const uint64_t *with, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (into[k] != with[k])
            into[k] = 0;
}

/* State at b's start from what is known of its predecessors; false if none is reached. */
static bool enter(Check *c, BlockId b) {
    const Block *blk = ir_block(c->f, b);
    size_t size = sizeof *c->now * c->ncells;
    bool any = b.i == c->f->entry.i;
    if (any)
        memset(c->sum, 0, size);
    for (unsigned p = 0; p < blk->preds.n; p++) {
        if (!c->out[blk->preds.at[p].i])
            continue;
        take_edge(c, b, p);
        if (any)
            meet(c->sum, c->now, c->ncells);
        else if (blk->preds.n > 1)
            memcpy(c->sum, c->now, size);
        any = true;
    }
    if (blk->preds.n > 1 || b.i == c->f->entry.i)
        memcpy(c->now, c->sum, size);
    return any;
}

static bool run_block(Check *c, BlockId b) {
    Function *f = c->f;
    c->bad = false;
    if (!enter(c, b))
        return false;
    const Block *blk = ir_block(f, b);
    for (unsigned p = 0; p < blk->insts.n; p++) {
        InstId id = blk->insts.at[p];
        if (id.i < c->rec->ninsts)
            step_ssa(c, id);
        else if (ir_inst(f, id)->op == IR_PARCOPY)
            step_moves(c, ir_inst(f, id));
    }
    size_t size = sizeof *c->now * c->ncells;
    if (!c->out[b.i])
        c->out[b.i] = arena_copy(&c->a, c->now, size);
    else if (memcmp(c->out[b.i], c->now, size) == 0)
        return false;
    else
        memcpy(c->out[b.i], c->now, size);
    return true;
}

/* Run blocks until nothing changes. Blocks run last with their final start: true if none of them was bad. */
static bool settle(Check *c) {
    Function *f = c->f;
    bool *bad = ARENA_ARRAY(&c->a, bool, f->blocks.n), good = true;
    for (uint32_t k = 0; k < c->g.nrpo; k++)
        c->dirty[c->g.rpo[k].i] = true;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t k = 0; k < c->g.nrpo; k++) {
            BlockId b = c->g.rpo[k];
            if (!c->dirty[b.i])
                continue;
            again = true;
            c->dirty[b.i] = false;
            bool changed = run_block(c, b);
            bad[b.i] = c->bad;
            const Block *blk = ir_block(f, b);
            for (unsigned s = 0; changed && s < blk->succs.n; s++)
                c->dirty[blk->succs.at[s].i] = true;
        }
    }
    for (uint32_t k = 0; k < c->g.nrpo; k++)
        good &= !bad[c->g.rpo[k].i];
    return good;
}

static void in_use(Check *c, unsigned file, uint32_t end) {
    if (file < RF_B && end > c->size[file])
        c->size[file] = end;
}

/* Cells for the registers that occur, and the spill slots behind them. */
static void number_cells(Check *c) {
    Function *f = c->f;
    for (uint32_t k = 0; k < f->operands.n; k++) {
        Operand o = f->operands.at[k];
        if (o.kind == OPK_REG)
            in_use(c, o.file, o.value + (o.count ? o.count : 1u));
    }
    for (uint32_t k = 0; k < f->insts.n; k++) {
        const Inst *i = &f->insts.at[k];
        if (i->guard.kind == OPK_REG)
            in_use(c, i->guard.file, i->guard.value + 1);
        if (i->op == IR_PARCOPY) {
            in_use(c, RF_R, i->mods & 0xffff);
            in_use(c, RF_P, i->mods >> 16 & 0xffff);
        }
    }
    for (uint32_t b = 0; b < c->rec->nblocks; b++)
        for (unsigned k = 0; k < c->rec->entry[b].at.n; k++)
            in_use(c, c->rec->entry[b].at.at[k].file, c->rec->entry[b].at.at[k].reg + 1u);
    for (unsigned file = 0; file < RF_B; file++) {
        c->first[file] = c->slots;
        c->slots += c->size[file];
    }
    c->ncells = c->slots + f->spill_bytes / 4 + 1;
}

bool ra_check(Function *f, const RaRecord *rec, Diags *d) {
    Check c = {.f = f, .rec = rec, .d = d, .ok = true};
    ra_cfg(f, &c.a, &c.g);
    c.out = ARENA_ARRAY(&c.a, uint64_t *, f->blocks.n);
    number_cells(&c);
    c.sum = ARENA_ARRAY(&c.a, uint64_t, c.ncells);
    c.dirty = ARENA_ARRAY(&c.a, bool, f->blocks.n);
    c.now = ARENA_ARRAY(&c.a, uint64_t, c.ncells);
    c.temp = ARENA_ARRAY(&c.a, uint64_t, 256);
    c.first_phi = ARENA_ARRAY(&c.a, uint32_t, f->blocks.n);
    c.next_phi = ARENA_ARRAY(&c.a, uint32_t, rec->phis.n + 1);
    for (uint32_t k = 0; k < rec->phis.n; k++) {
        c.next_phi[k] = c.first_phi[rec->phis.at[k].block.i];
        c.first_phi[rec->phis.at[k].block.i] = k + 1;
    }
    find_births(&c);
    if (!settle(&c)) { /* once more, to say what is wrong first */
        c.report = true;
        for (uint32_t k = 0; k < c.g.nrpo; k++)
            run_block(&c, c.g.rpo[k]);
    }
    bool ok = c.ok;
    arena_free(&c.a);
    return ok;
}
