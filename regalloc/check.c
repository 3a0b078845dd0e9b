/* Independent check of a colouring: follows, for every register and spill slot, which SSA value it holds
 * along all paths, and compares each read with the value that the instruction named before colouring. Knows
 * nothing of how the allocator chose. A cell holds the value's number, a constant, or 0 for "unknown".
 *
 * A slot that one store writes, in the block where its value is born, needs no cell: whoever runs the
 * definition again runs the store again, so the slot holds the value wherever the store dominates. A function
 * that spills n values in n blocks would else have n * n cells to follow. SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "regalloc/regalloc.h"
#include <string.h>

typedef struct {
    uint32_t value, block; /* of the only store */
    unsigned at;           /* its position in the block */
    uint32_t stores, cell; /* stores: two for many; cell: 0 if one store says all */
} Slot;

typedef struct {
    Function *f;
    const RaRecord *rec;
    Diags *d;
    Arena a;
    RaCfg g;
    uint32_t first[RF_B], size[RF_B],
        ncells;    /* cells of each file's registers in use; of these and of slots */
    Slot *slot;    /* by slot */
    DomTree dom;   /* where there are slots */
    BlockId block; /* being run, and the position in it */
    unsigned at;
    uint64_t **out;                 /* by block; NULL: not reached yet */
    uint32_t *first_phi, *next_phi; /* lists of rec->phis by block, numbers + 1 */
    uint64_t *now, *temp, *sum;
    uint32_t *born;       /* by value */
    bool report, ok, bad; /* bad: something was wrong in the block just done */
    bool *dirty;          /* by block: its start may have changed */
} Check;

static uint32_t cell_of(const Check *check, unsigned file, uint32_t reg) { return check->first[file] + reg; }

static bool is_tracked(Operand o) { return o.kind == OPK_REG && o.file < RF_B; }

/* What an operand that is not a value stands for. */
static uint64_t constant_value(Operand o) {
    return (uint64_t)1 << 63 | (uint64_t)o.kind << 48 | (uint64_t)o.file << 44 | (uint64_t)o.mods << 36 |
           o.value;
}

static bool is_constant_reg(Operand o) {
    static const uint32_t zero[RF_B] = {REG_RZ, REG_PT, REG_URZ, REG_UPT};
    return o.kind == OPK_REG && (o.file >= RF_B || o.value == zero[o.file]);
}

static void wrong_value(Check *check, const Inst *i, unsigned file, uint32_t reg, uint32_t v) {
    if (check->report && check->ok)
        diag(check->d, ra_src_loc(check->f, i), DIAG_E0784,
             str_text(check->f->module->strings, check->f->name), ir_op_name(i->op),
             file < RF_B ? ra_file_name((RegFile)file) : "slot ", reg, v);
    if (check->report)
        check->ok = false;
    check->bad = true;
}

/* At the start of block b: whatever b defines anew is of an earlier round and no use of it can follow. A
 * reload or a repeated definition makes the same value again, so that older copies stay true. */
static void forget_own(Check *check, BlockId b) {
    for (uint32_t k = 0; k < check->ncells; k++)
        if (!(check->now[k] >> 63) && check->born[check->now[k]] == b.i)
            check->now[k] = 0;
}

/* The block of each value's first definition, which dominates all others. */
static void find_births(Check *check) {
    Function *f = check->f;
    check->born = ARENA_ARRAY(&check->a, uint32_t, f->values.n);
    for (uint32_t k = 0; k < check->rec->phis.n; k++)
        check->born[ir_dst(f, ir_inst(f, check->rec->phis.at[k].phi), 0)->value] =
            check->rec->phis.at[k].block.i;
    for (uint32_t k = 0; k < check->g.nrpo; k++) {
        FOR_INST_IDS(f, check->g.rpo[k], id) {
            Inst *i = ir_inst(f, id);
            ValId v[IR_MOST_VECTOR];
            for (unsigned d = 0; id.i < check->rec->ninsts && d < i->ndst; d++)
                for (unsigned m = 0, n = ra_values(f, check->rec->ssa[i->operand + d], v); m < n; m++)
                    if (!check->born[v[m].i])
                        check->born[v[m].i] = check->g.rpo[k].i;
        }
    }
}

static void check_read(Check *check, const Inst *i, Operand ssa, Operand phys) {
    ValId v[IR_MOST_VECTOR];
    unsigned n = ra_values(check->f, ssa, v);
    for (unsigned k = 0; k < n; k++) {
        if (!v[k].i)
            continue;
        bool right = is_tracked(phys) && phys.file == check->f->values.at[v[k].i].file && phys.count == n &&
                     phys.mods == ssa.mods && !is_constant_reg(phys) &&
                     check->now[cell_of(check, phys.file, phys.value + k)] == v[k].i;
        if (right && n > 1)
            right = phys.value % ra_align(n) == 0;
        if (!right)
            wrong_value(check, i, phys.file, phys.value + k, v[k].i);
    }
}

/* Does the slot hold the value where the check stands? */
static bool slot_holds(const Check *check, const Slot *slot, uint32_t value) {
    if (slot->cell)
        return check->now[slot->cell] == value;
    return slot->stores && slot->value == value &&
           (slot->block == check->block.i ? slot->at < check->at
                                          : dom_contains(&check->dom, slot->block, check->block.i));
}

static void step_ssa(Check *check, InstId id) {
    Function *f = check->f;
    Inst *i = ir_inst(f, id);
    const Operand *ssa = &check->rec->ssa[i->operand];
    unsigned nreads = ir_num_reads(i);
    for (unsigned n = 0; n < nreads; n++)
        check_read(check, i, n + 1 == nreads ? check->rec->ssa_guard[id.i] : ssa[i->ndst + n],
                   *ra_read(f, i, n));
    if (i->op == IR_SPILL && check->slot[ssa[1].value / 4].cell)
        check->now[check->slot[ssa[1].value / 4].cell] = ssa[0].value;
    if (i->op == IR_RELOAD && !slot_holds(check, &check->slot[ssa[1].value / 4], ssa[0].value))
        wrong_value(check, i, RF_B, ssa[1].value, ssa[0].value);
    if (i->op == OT_CALL) {
        RaCallee callee = ra_callee(f, i);
        for (unsigned file = 0; file < RF_B; file++)
            for (uint32_t r = 0; r < check->size[file]; r++)
                if (ra_clobbers(callee, (RegFile)file, r))
                    check->now[cell_of(check, file, r)] = 0;
    }
    FOR_DSTS(f, i, dst) {
        ValId v[IR_MOST_VECTOR];
        unsigned n = ra_values(f, ssa[AT(dst)], v);
        Operand phys = *dst;
        if (i->flags & IF_TIED) { /* what it keeps is what it overwrites */
            Operand tied = *ir_tied(f, i, AT(dst));
            if (is_tracked(tied) && !is_constant_reg(tied) && n &&
                (tied.value != phys.value || tied.file != phys.file))
                wrong_value(check, i, phys.file, phys.value, v[0].i);
        }
        for (unsigned m = 0; m < phys.count && is_tracked(phys) && !is_constant_reg(phys); m++) {
            int fixed = m < n && v[m].i ? f->values.at[v[m].i].fixed_reg : -1;
            if ((fixed >= 0 && (uint32_t)fixed != phys.value + m) || (n > 1 && phys.value % ra_align(n)))
                wrong_value(check, i, phys.file, phys.value + m, v[m].i);
            check->now[cell_of(check, phys.file, phys.value + m)] = m < n ? v[m].i : 0;
        }
    }
}

/* A parallel copy that the allocator put in. */
static void step_moves(Check *check, const Inst *i) {
    Function *f = check->f;
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand s = *ir_src(f, i, k);
        check->temp[k] = is_tracked(s) && !is_constant_reg(s) ? check->now[cell_of(check, s.file, s.value)]
                                                              : constant_value(s);
    }
    for (unsigned k = i->ndst; k < i->nsrc; k++)
        check->now[cell_of(check, ir_src(f, i, k)->file, ir_src(f, i, k)->value)] = 0;
    FOR_DSTS(f, i, o) {
        check->now[cell_of(check, o->file, o->value)] = check->temp[AT(o)];
    }
}

static uint32_t phi_cell(const Check *check, const RaPhi *phi, uint32_t v) {
    if (phi->in_memory)
        return check->slot[phi->slot / 4].cell;
    const RaPlaces *places = &check->rec->entry[phi->block.i];
    for (unsigned k = 0; k < places->at.n; k++)
        if (places->at.at[k].value == v)
            return cell_of(check, places->at.at[k].file, places->at.at[k].reg);
    return 0;
}

/* What enters block b from its predecessor number `pred`, in c->now. */
static void take_edge(Check *check, BlockId b, unsigned pred) {
    Function *f = check->f;
    memcpy(check->now, check->out[ir_block(f, b)->preds.at[pred].i], sizeof *check->now * check->ncells);
    for (uint32_t k = check->first_phi[b.i]; k; k = check->next_phi[k - 1]) {
        const RaPhi *ra_phi = &check->rec->phis.at[k - 1];
        const Inst *i = ir_inst(f, ra_phi->phi);
        Operand s = *ir_src(f, i, pred);
        uint64_t expected = s.kind == OPK_VAL ? s.value : constant_value(s);
        uint32_t v = ir_dst(f, i, 0)->value, cell = phi_cell(check, ra_phi, v);
        /* A constant that was stored came through a register of its own: only its presence is known. */
        if (check->now[cell] != expected && !(ra_phi->in_memory && s.kind != OPK_VAL && check->now[cell]))
            wrong_value(check, i, ra_phi->in_memory ? RF_B : f->values.at[v].file, cell, (uint32_t)expected);
    }
    forget_own(check, b);
    for (uint32_t k = check->first_phi[b.i]; k; k = check->next_phi[k - 1]) {
        uint32_t v = ir_dst(f, ir_inst(f, check->rec->phis.at[k - 1].phi), 0)->value;
        check->now[phi_cell(check, &check->rec->phis.at[k - 1], v)] = v;
    }
}

static void meet(uint64_t *into, const uint64_t *with, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (into[k] != with[k])
            into[k] = 0;
}

/* State at b's start from what is known of its predecessors; false if none is reached. */
static bool enter(Check *check, BlockId b) {
    const Block *blk = ir_block(check->f, b);
    size_t size = sizeof *check->now * check->ncells;
    bool any = b.i == check->f->entry.i;
    if (any)
        memset(check->sum, 0, size);
    for (unsigned p = 0; p < blk->preds.n; p++) {
        if (!check->out[blk->preds.at[p].i])
            continue;
        take_edge(check, b, p);
        if (any)
            meet(check->sum, check->now, check->ncells);
        else if (blk->preds.n > 1)
            memcpy(check->sum, check->now, size);
        any = true;
    }
    if (blk->preds.n > 1 || b.i == check->f->entry.i)
        memcpy(check->now, check->sum, size);
    return any;
}

static bool check_block(Check *check, BlockId b) {
    Function *f = check->f;
    check->bad = false;
    if (!enter(check, b))
        return false;
    check->block = b;
    FOR_INST_IDS(f, b, id) {
        check->at = AT(id);
        if (id.i < check->rec->ninsts)
            step_ssa(check, id);
        else if (ir_inst(f, id)->op == IR_PARCOPY)
            step_moves(check, ir_inst(f, id));
    }
    size_t size = sizeof *check->now * check->ncells;
    if (!check->out[b.i])
        check->out[b.i] = arena_copy(&check->a, check->now, size);
    else if (memcmp(check->out[b.i], check->now, size) == 0)
        return false;
    else
        memcpy(check->out[b.i], check->now, size);
    return true;
}

/* Run blocks until nothing changes. Blocks run last with their final start: true if none of them was bad. */
static bool settle(Check *check) {
    Function *f = check->f;
    bool *bad = ARENA_ARRAY(&check->a, bool, f->blocks.n), good = true;
    for (uint32_t k = 0; k < check->g.nrpo; k++)
        check->dirty[check->g.rpo[k].i] = true;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t k = 0; k < check->g.nrpo; k++) {
            BlockId b = check->g.rpo[k];
            if (!check->dirty[b.i])
                continue;
            again = true;
            check->dirty[b.i] = false;
            bool changed = check_block(check, b);
            bad[b.i] = check->bad;
            const Block *blk = ir_block(f, b);
            for (unsigned s = 0; changed && s < blk->succs.n; s++)
                check->dirty[blk->succs.at[s].i] = true;
        }
    }
    for (uint32_t k = 0; k < check->g.nrpo; k++)
        good &= !bad[check->g.rpo[k].i];
    return good;
}

static void in_use(Check *check, unsigned file, uint32_t end) {
    if (file < RF_B && end > check->size[file])
        check->size[file] = end;
}

static void find_stores(Check *check) {
    Function *f = check->f;
    Graph graph = cfg_graph(&check->a, f);
    check->dom = dom_tree(&check->a, &graph, GRAPH_FORWARD, f->entry.i);
    for (uint32_t k = 0; k < check->g.nrpo; k++)
        FOR_INST_IDS(f, check->g.rpo[k], id) {
            const Inst *i = ir_inst(f, id);
            if (i->op != IR_SPILL || id.i >= check->rec->ninsts)
                continue;
            const Operand *ssa = &check->rec->ssa[i->operand];
            uint32_t stores = check->slot[ssa[1].value / 4].stores;
            check->slot[ssa[1].value / 4] = (Slot){
                .value = ssa[0].value, .block = check->g.rpo[k].i, .at = AT(id), .stores = stores ? 2 : 1};
        }
    for (uint32_t k = 0; k < check->rec->phis.n; k++)
        if (check->rec->phis.at[k].in_memory)
            check->slot[check->rec->phis.at[k].slot / 4].stores = 2;
}

/* Cells for the registers that occur, and behind them for the spill slots that need one. */
static void number_cells(Check *check) {
    Function *f = check->f;
    for (uint32_t k = 0; k < f->operands.n; k++) {
        Operand o = f->operands.at[k];
        if (o.kind == OPK_REG)
            in_use(check, o.file, o.value + (o.count ? o.count : 1u));
    }
    for (uint32_t k = 0; k < f->insts.n; k++) {
        const Inst *i = &f->insts.at[k];
        if (i->guard.kind == OPK_REG)
            in_use(check, i->guard.file, i->guard.value + 1);
    }
    for (uint32_t b = 0; b < check->rec->nblocks; b++)
        for (unsigned k = 0; k < check->rec->entry[b].at.n; k++)
            in_use(check, check->rec->entry[b].at.at[k].file, check->rec->entry[b].at.at[k].reg + 1u);
    for (unsigned file = 0; file < RF_B; file++) {
        check->first[file] = check->ncells;
        check->ncells += check->size[file];
    }
    check->ncells++; /* no slot's cell is 0 */
    check->slot = ARENA_ARRAY(&check->a, Slot, f->spill_bytes / 4 + 1);
    if (f->spill_bytes)
        find_stores(check);
    for (uint32_t k = 0; k < f->spill_bytes / 4; k++) {
        Slot *slot = &check->slot[k];
        if (slot->stores > 1 || (slot->stores && check->born[slot->value] != slot->block))
            slot->cell = check->ncells++;
    }
}

bool ra_check(Function *f, const RaRecord *rec, Diags *d) {
    Check c = {.f = f, .rec = rec, .d = d, .ok = true};
    ra_cfg(f, &c.a, &c.g);
    c.out = ARENA_ARRAY(&c.a, uint64_t *, f->blocks.n);
    find_births(&c);
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
    if (!settle(&c)) { /* once more, to say what is wrong first */
        c.report = true;
        for (uint32_t k = 0; k < c.g.nrpo; k++)
            check_block(&c, c.g.rpo[k]);
    }
    bool ok = c.ok;
    arena_free(&c.a);
    return ok;
}
