/* Spilling until the pressure of every register file fits, after Braun and Hack: walk each block with the set
 * of values in registers, evict the one whose next use is farthest. Simplifications: a spilled value is
 * stored once, right behind its definition, so that its home is valid wherever it is live; a reload defines
 * the same value again. Homes: R lies in local memory (IR_SPILL, IR_RELOAD), P and UR in an R value, UP in a
 * UR value (IR_COPY). A value that a cheap instruction can make again has no home: the instruction is
 * repeated.
 * SPDX-License-Identifier: MIT */
#include "regalloc/spill.h"
#include <stdlib.h>
#include <string.h>

/* ---- the set in registers ---- */

static void w_add(Spill *s, uint32_t v) {
    s->nw += !bs_has(&s->w, v);
    bs_add(&s->w, v);
}

static void w_del(Spill *s, uint32_t v) {
    s->nw -= bs_has(&s->w, v);
    bs_del(&s->w, v);
}

/* Evict until at most `room` values are in registers; those in `keep` stay. */
static void evict(Spill *s, BlockId b, uint32_t at, unsigned room, const Bitset *keep) {
    while (s->nw > room) {
        uint32_t worst = 0, worst_use = 0;
        BS_EACH(v, &s->w) {
            if (bs_has(keep, v) || s->f->values.at[v].fixed_reg >= 0)
                continue;
            uint32_t use = spill_next_use(s, b, at, v);
            if (s->remat[v].i && use < SPILL_FAR)
                use = use * 4 + 64; /* making it again costs less than memory */
            if (!worst || use > worst_use) {
                worst = v;
                worst_use = use;
            }
        }
        if (!worst)
            return; /* colouring reports it if it matters */
        w_del(s, worst);
    }
}

/* ---- one block ---- */

static void queue_uses(Spill *s, BlockId b) {
    Function *f = s->f;
    const Block *blk = ir_block(f, b);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        for (unsigned n = 0; i->op != IR_PHI && n < ra_num_reads(i); n++) {
            ValId v[4];
            for (unsigned c = 0, k = ra_values(f, *ra_read(f, i, n), v); c < k; c++) {
                if (!spill_in_file(s, v[c]) || (s->uses[v[c].i] && s->uses[v[c].i]->at == p))
                    continue;
                UseNode *u = ARENA_NEW(s->a, UseNode);
                *u = (UseNode){s->uses[v[c].i], p};
                s->uses[v[c].i] = u;
            }
        }
    }
}

static unsigned rounded(unsigned count) { return count == 3 ? 4 : count; }

/* Registers that the operands of i need beside what lives through it, vectors rounded up, and how many of the
 * file's registers a CALL leaves alone. */
typedef struct {
    unsigned slack_before, slack_after, left_by_call;
} Demand;

static Demand demand(const Spill *s, const Inst *i) {
    Function *f = s->f;
    Demand d = {0, 0, s->room};
    bool vectors = false;
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand o = *ir_dst(f, i, k);
        if (o.kind == OPK_VAL && o.file == s->file && o.count > 1) {
            vectors = true;
            if (!(i->flags & IF_TIED) || ir_tied(f, i, k)->kind != OPK_VAL)
                d.slack_before += rounded(o.count); /* placed beside the sources */
            d.slack_after += rounded(o.count) - o.count;
        }
    }
    for (unsigned k = 0; k < i->nsrc; k++) {
        Operand o = *ir_src(f, i, k);
        if (o.kind == OPK_VAL && o.file == s->file && o.count > 1) {
            vectors = true;
            d.slack_before += rounded(o.count) - o.count;
        }
    }
    if (vectors && s->file == RF_R) /* R0 is no half of a pair, nor R0-R3 a quad */
        d.slack_before += 2, d.slack_after += 2;
    if (i->op == OT_CALL) {
        RaCallee c = ra_callee(f, i);
        d.left_by_call = 0;
        for (unsigned r = 0; r < s->limit; r++)
            d.left_by_call += ra_is_allocatable(s->file, r, s->limit) && !ra_clobbers(c, s->file, r);
        if (d.left_by_call > s->room)
            d.left_by_call = s->room;
        for (unsigned k = 0; k < i->nsrc; k++) { /* arguments are in the way */
            ValId v[4];
            for (unsigned n = 0, m = ra_values(f, *ir_src(f, i, k), v); n < m; n++)
                if (spill_in_file(s, v[n]) && d.left_by_call &&
                    (f->values.at[v[n].i].fixed_reg < 0 ||
                     !ra_clobbers(c, s->file, (unsigned)f->values.at[v[n].i].fixed_reg)))
                    d.left_by_call--;
        }
    }
    return d;
}

static unsigned less(unsigned a, unsigned b) { return a > b ? a - b : 0; }

static void walk_inst(Spill *s, BlockId b, uint32_t at, InstId id, Bitset *keep, RaInsts *out) {
    Function *f = s->f;
    Demand need = demand(s, ir_inst(f, id));
    LocId loc = ir_inst(f, id)->loc;
    ValId v[4];
    bs_clear(keep);
    for (unsigned n = 0; n < ra_num_reads(ir_inst(f, id)); n++)
        for (unsigned c = 0, k = ra_values(f, *ra_read(f, ir_inst(f, id), n), v); c < k; c++)
            if (spill_in_file(s, v[c]))
                bs_add(keep, v[c].i);
    unsigned missing = 0;
    BS_EACH(k, keep)
    missing += !bs_has(&s->w, k);
    evict(s, b, at, less(s->room, need.slack_before + missing), keep);
    BS_EACH(k, keep) {
        if (!bs_has(&s->w, k)) {
            spill_reload(s, k, out, loc);
            w_add(s, k);
        }
        if (s->uses[k] && s->uses[k]->at == at)
            s->uses[k] = s->uses[k]->next;
        if (!s->uses[k] && !ra_set_has(&s->live.out[b.i], k))
            w_del(s, k); /* last use */
    }
    bs_clear(keep);
    unsigned made = 0;
    for (unsigned k = 0; k < ir_inst(f, id)->ndst; k++)
        for (unsigned c = 0, n = ra_values(f, *ir_dst(f, ir_inst(f, id), k), v); c < n; c++)
            if (spill_in_file(s, v[c])) {
                made++;
                bs_add(keep, v[c].i);
            }
    unsigned through = less(s->room, made + need.slack_after);
    if (ir_inst(f, id)->op == OT_CALL && need.left_by_call < through)
        through = need.left_by_call;
    evict(s, b, at + 1, through, keep); /* what lives through */
    VEC_ADD(f->arena, out, id);
    BS_EACH(k, keep)
    if (s->uses[k] || ra_set_has(&s->live.out[b.i], k))
        w_add(s, k);
}

static void keep_values(Spill *s, Values *to) {
    BS_EACH(v, &s->w)
    VEC_ADD(s->a, &to->at, v);
}

static void walk_block(Spill *s, BlockId b, Bitset *keep) {
    Function *f = s->f;
    bs_clear(&s->w);
    s->nw = 0;
    for (unsigned k = 0; k < s->w_in[b.i].at.n; k++)
        w_add(s, s->w_in[b.i].at.at[k]);
    RaInsts out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        if (ir_inst(f, id)->op == IR_PHI)
            VEC_ADD(f->arena, &out, id);
        else
            walk_inst(s, b, p, id, keep, &out);
    }
    BS_EACH(v, &s->w)
    if (!ra_set_has(&s->live.out[b.i], v))
        w_del(s, v);
    keep_values(s, &s->w_out[b.i]);
    memcpy(&ir_block(f, b)->insts, &out, sizeof out);
    s->done[b.i] = true;
}

/* ---- what is in registers where a block starts ---- */

typedef struct {
    uint32_t value, rank;
} Candidate;

static int by_rank(const void *a, const void *b) {
    const Candidate *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Registers that values which only live through the loop may keep. */
static unsigned spare_in_loop(Spill *s, BlockId header) {
    unsigned most = 0, through = 0;
    for (uint32_t k = 0; k < s->g.nrpo; k++) {
        BlockId m = s->g.rpo[k], h = s->g.header[m.i];
        if (h.i != header.i && s->g.rpo_index[m.i] < s->g.rpo_index[header.i])
            continue;
        if (h.i != header.i && s->g.depth[m.i] <= s->g.depth[header.i])
            continue;
        unsigned here = ra_block_pressure(s->f, &s->live, m, s->file);
        most = here > most ? here : most;
    }
    for (uint32_t k = 0; k < s->live.in[header.i].n; k++) {
        uint32_t v = s->live.in[header.i].at[k], *d = spill_dist_at(s, header.i, v);
        through += spill_in_file(s, (ValId){v}) && d && *d >= SPILL_LOOP_EXIT;
    }
    unsigned used = less(most, through);
    return less(s->room, used);
}

static void choose_entry(Spill *s, BlockId b) {
    Function *f = s->f;
    const Block *blk = ir_block(f, b);
    bool header = false;
    for (unsigned p = 0; p < blk->preds.n; p++)
        header |= !s->done[blk->preds.at[p].i];
    VEC(Candidate) list = {0};
    for (uint32_t k = 0; k < s->live.in[b.i].n; k++) {
        uint32_t v = s->live.in[b.i].at[k];
        if (!spill_in_file(s, (ValId){v}))
            continue;
        unsigned have = 0;
        for (unsigned p = 0; p < blk->preds.n; p++)
            have += s->done[blk->preds.at[p].i] && spill_has_value(&s->w_out[blk->preds.at[p].i], v);
        uint32_t *d = spill_dist_at(s, b.i, v), rank = d ? *d : SPILL_EDGE;
        if (!header && have == 0 && blk->preds.n)
            continue; /* in no register: reload at its use */
        if (f->values.at[v].fixed_reg >= 0)
            rank = 0;
        else if (!header && have < blk->preds.n)
            rank += SPILL_LOOP_EXIT / 2;
        VEC_ADD(s->a, &list, ((Candidate){v, rank}));
    }
    for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++) {
        ValId v = ir_operand_value(f, *ir_dst(f, ir_inst(f, blk->insts.at[p]), 0), 0);
        if (spill_in_file(s, v))
            VEC_ADD(s->a, &list, ((Candidate){v.i, spill_next_use(s, b, 0, v.i)}));
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_rank);
    unsigned spare = header && list.n > s->room ? spare_in_loop(s, b) : s->room;
    for (unsigned k = 0; k < list.n && s->w_in[b.i].at.n < s->room; k++) {
        if (header && list.at[k].rank >= SPILL_LOOP_EXIT) {
            if (!spare)
                break;
            spare--;
        }
        VEC_ADD(s->a, &s->w_in[b.i].at, list.at[k].value);
    }
}

/* What the files' checks share, until something is spilled. */
typedef struct {
    unsigned max[RF_COUNT]; /* pressure */
    unsigned slack;         /* no instruction needs more registers than this for the sake of its vectors */
    bool calls;
} Facts;

static Facts analyse(Function *f, Arena *a, RaRecord *rec) {
    Facts x = {.slack = 0};
    ra_cfg(f, a, &rec->g);
    ra_live(f, &rec->g, a, &rec->live);
    ra_max_pressure(f, &rec->g, &rec->live, x.max);
    for (uint32_t k = 0; k < rec->g.nrpo; k++) {
        const Block *blk = ir_block(f, rec->g.rpo[k]);
        for (unsigned p = 0; p < blk->insts.n; p++) {
            Inst *i = ir_inst(f, blk->insts.at[p]);
            unsigned n = 2;
            x.calls |= i->op == OT_CALL;
            for (unsigned o = 0; o < (unsigned)i->ndst + i->nsrc; o++)
                n += f->operands.at[i->operand + o].count > 1 ? 4 : 0;
            x.slack = n > x.slack ? n : x.slack;
        }
    }
    rec->analysed = true;
    return x;
}

static bool too_high(Function *f, Spill *s, const Facts *x) {
    s->nvals = f->values.n;
    if (x->max[s->file] > s->room)
        return true;
    bool vectors = s->file == RF_R || s->file == RF_UR;
    if (!x->max[s->file] || (!x->calls && (!vectors || x->max[s->file] + x->slack <= s->room)))
        return false;
    /* Vectors and calls may need more than the sum says. */
    Bitset now = bs_new(s->a, f->values.n);
    for (uint32_t k = 0; k < s->g.nrpo; k++) {
        BlockId b = s->g.rpo[k];
        ra_set_to_bits(&s->live.out[b.i], &now);
        unsigned n = 0;
        BS_EACH(v, &now)
        n += spill_in_file(s, (ValId){v});
        Block *blk = ir_block(f, b);
        for (unsigned p = blk->insts.n; p-- > 0;) {
            Inst *i = ir_inst(f, blk->insts.at[p]);
            ValId v[4];
            unsigned made = 0;
            if (i->op == IR_PHI)
                break;
            for (unsigned d = 0; d < i->ndst; d++)
                for (unsigned c = 0, m = ra_values(f, *ir_dst(f, i, d), v); c < m; c++)
                    if (spill_in_file(s, v[c])) {
                        made++;
                        n -= bs_has(&now, v[c].i);
                        bs_del(&now, v[c].i);
                    }
            Demand need = demand(s, i);
            if (n + made + need.slack_after > s->room || (i->op == OT_CALL && n > need.left_by_call))
                return true;
            for (unsigned r = 0; r < ra_num_reads(i); r++)
                for (unsigned c = 0, m = ra_values(f, *ra_read(f, i, r), v); c < m; c++)
                    if (spill_in_file(s, v[c])) {
                        n += !bs_has(&now, v[c].i);
                        bs_add(&now, v[c].i);
                    }
            if (n + need.slack_before > s->room)
                return true;
        }
    }
    return false;
}

static void spill_file(Function *f, RegFile file, Arena *keep_arena, RaRecord *rec, Facts *facts) {
    Arena a = {0};
    if (!rec->analysed)
        *facts = analyse(f, keep_arena, rec);
    Spill s = {.f = f, .file = file, .a = &a, .g = rec->g, .live = rec->live};
    s.limit = ra_limit(f, file);
    s.room = file == RF_R ? s.limit - 1 : s.limit; /* R1 is not to be had */
    if (!too_high(f, &s, facts)) {
        arena_free(&a);
        return;
    }
    rec->analysed = false;
    s.room--;
    uint32_t nvals = s.nvals, nblocks = f->blocks.n, ninsts = f->insts.n;
    s.uses = ARENA_ARRAY(&a, UseNode *, nvals);
    s.w_in = ARENA_ARRAY(&a, Values, nblocks);
    s.w_out = ARENA_ARRAY(&a, Values, nblocks);
    s.done = ARENA_ARRAY(&a, bool, nblocks);
    s.home_value = ARENA_ARRAY(&a, ValId, nvals);
    s.home_slot = ARENA_ARRAY(&a, uint32_t, nvals);
    s.remat = ARENA_ARRAY(&a, InstId, nvals);
    uint32_t *phi_slot = ARENA_ARRAY(&a, uint32_t, nvals);
    s.w = bs_new(&a, nvals);
    s.spilled = bs_new(&a, nvals);
    s.in_memory = bs_new(&a, nvals);
    Bitset keep = bs_new(&a, nvals);
    spill_find_repeatable(&s);
    spill_next_uses(&s);
    for (uint32_t k = 0; k < s.g.nrpo; k++) {
        queue_uses(&s, s.g.rpo[k]);
        choose_entry(&s, s.g.rpo[k]);
        walk_block(&s, s.g.rpo[k], &keep);
    }
    spill_place_phis(&s, phi_slot, keep_arena, rec);
    spill_connect_edges(&s, phi_slot);
    for (uint32_t k = 0; k < s.g.nrpo; k++)
        spill_finish_block(&s, s.g.rpo[k], phi_slot, ninsts);
    arena_free(&a);
}

bool ra_spill(Function *f, Arena *a, RaRecord *rec, Diags *d) {
    static const RegFile order[] = {RF_UP, RF_P, RF_UR, RF_R}; /* each may spill into a later one */
    Facts facts;
    (void)d;
    for (unsigned k = 0; k < sizeof order / sizeof *order; k++)
        spill_file(f, order[k], a, rec, &facts);
    return true;
}
