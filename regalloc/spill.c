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

static SpillSet set_new(Arena *a, uint32_t nvals) {
    return (SpillSet){.at = ARENA_ARRAY(a, uint32_t, nvals), .place = ARENA_ARRAY(a, uint32_t, nvals)};
}

static bool set_has(const SpillSet *set, uint32_t v) { return set->place[v] != 0; }

static void set_add(SpillSet *set, uint32_t v) {
    if (set_has(set, v))
        return;
    set->at[set->n++] = v;
    set->place[v] = set->n;
}

static void set_del(SpillSet *set, uint32_t v) {
    if (!set_has(set, v))
        return;
    uint32_t last = set->at[--set->n];
    set->at[set->place[v] - 1] = last;
    set->place[last] = set->place[v];
    set->place[v] = 0;
}

static void set_clear(SpillSet *set) {
    while (set->n)
        set->place[set->at[--set->n]] = 0;
}

/* Operands of one instruction, in the order in which code for them is made. */
static void set_sort(SpillSet *set) {
    for (unsigned k = 1; k < set->n; k++) {
        uint32_t v = set->at[k];
        unsigned to = k;
        for (; to > 0 && set->at[to - 1] > v; to--)
            set->place[set->at[to] = set->at[to - 1]] = to + 1;
        set->place[set->at[to] = v] = to + 1;
    }
}

/* Evict until at most `room` values are in registers; those in `keep` stay. Of equals the first value goes.
 */
static void evict(Spill *spill, BlockId b, uint32_t at, unsigned room, const SpillSet *keep) {
    while (spill->w.n > room) {
        uint32_t worst = 0, worst_use = 0;
        for (unsigned k = 0; k < spill->w.n; k++) {
            uint32_t v = spill->w.at[k];
            spill->f->module->steps++;
            if (set_has(keep, v) || spill->f->values.at[v].fixed_reg >= 0)
                continue;
            uint32_t use = ra_spill_next_use(spill, b, at, v);
            if (spill->remat[v].i && use < SPILL_FAR)
                use = use * 4 + 64; /* making it again costs less than memory */
            if (!worst || use > worst_use || (use == worst_use && v < worst)) {
                worst = v;
                worst_use = use;
            }
        }
        if (!worst)
            return; /* colouring reports it if it matters */
        set_del(&spill->w, worst);
    }
}

/* ---- one block ---- */

static void queue_uses(Spill *spill, BlockId b) {
    Function *f = spill->f;
    const Block *blk = ir_block(f, b);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        if (i->op == IR_PHI)
            break;
        FOR_READS(f, i, read) {
            ValId v[IR_MOST_VECTOR];
            for (unsigned c = 0, k = ra_values(f, *read, v); c < k; c++) {
                if (!ra_spill_in_file(spill, v[c]) || (spill->uses[v[c].i] && spill->uses[v[c].i]->at == p))
                    continue;
                UseNode *u = ARENA_NEW(spill->a, UseNode);
                *u = (UseNode){spill->uses[v[c].i], p};
                spill->uses[v[c].i] = u;
            }
        }
    }
}

static unsigned rounded(unsigned count) {
    return (count + ra_align(count) - 1) / ra_align(count) * ra_align(count);
}

/* Registers that the operands of i need beside what lives through it, vectors rounded up, and how many of the
 * file's registers a CALL leaves alone. */
typedef struct {
    unsigned slack_before, slack_after, left_by_call;
} Demand;

static Demand demand(const Spill *spill, const Inst *i) {
    Function *f = spill->f;
    Demand d = {0, 0, spill->room};
    bool vectors = false;
    FOR_DSTS(f, i, o) {
        if (o->kind == OPK_VAL && o->file == spill->file && o->count > 1) {
            vectors = true;
            if (!(i->flags & IF_TIED) || ir_tied(f, i, AT(o))->kind != OPK_VAL)
                d.slack_before += rounded(o->count); /* placed beside the sources */
            d.slack_after += rounded(o->count) - o->count;
        }
    }
    FOR_SRCS(f, i, o) {
        if (o->kind == OPK_VAL && o->file == spill->file && o->count > 1) {
            vectors = true;
            d.slack_before += rounded(o->count) - o->count;
        }
    }
    if (vectors && spill->file == RF_R) /* R0 is no half of a pair, nor R0-R3 a quad */
        d.slack_before += 2, d.slack_after += 2;
    if (i->op == OT_CALL) {
        RaCallee c = ra_callee(f, i);
        d.left_by_call = 0;
        for (unsigned r = 0; r < spill->limit; r++)
            d.left_by_call +=
                ra_is_allocatable(spill->file, r, spill->limit) && !ra_clobbers(c, spill->file, r);
        if (d.left_by_call > spill->room)
            d.left_by_call = spill->room;
        FOR_SRCS(f, i, src) { /* arguments are in the way */
            ValId v[IR_MOST_VECTOR];
            for (unsigned n = 0, m = ra_values(f, *src, v); n < m; n++)
                if (ra_spill_in_file(spill, v[n]) && d.left_by_call &&
                    (f->values.at[v[n].i].fixed_reg < 0 ||
                     !ra_clobbers(c, spill->file, (unsigned)f->values.at[v[n].i].fixed_reg)))
                    d.left_by_call--;
        }
    }
    return d;
}

static unsigned less(unsigned a, unsigned b) { return a > b ? a - b : 0; }

static void walk_inst(Spill *spill, BlockId b, uint32_t at, InstId id, SpillSet *keep, InstIds *out) {
    Function *f = spill->f;
    Demand need = demand(spill, ir_inst(f, id));
    LocId loc = ir_inst(f, id)->loc;
    ValId v[IR_MOST_VECTOR];
    set_clear(keep);
    FOR_READS(f, ir_inst(f, id), read)
        for (unsigned c = 0, k = ra_values(f, *read, v); c < k; c++)
            if (ra_spill_in_file(spill, v[c]))
                set_add(keep, v[c].i);
    set_sort(keep);
    unsigned missing = 0;
    for (unsigned n = 0; n < keep->n; n++)
        missing += !set_has(&spill->w, keep->at[n]);
    evict(spill, b, at, less(spill->room, need.slack_before + missing), keep);
    for (unsigned n = 0; n < keep->n; n++) {
        uint32_t k = keep->at[n];
        if (!set_has(&spill->w, k)) {
            ra_spill_reload(spill, k, out, loc);
            set_add(&spill->w, k);
        }
        if (spill->uses[k] && spill->uses[k]->at == at)
            spill->uses[k] = spill->uses[k]->next;
        if (!spill->uses[k] && !ra_set_has(&spill->live.out[b.i], k))
            set_del(&spill->w, k); /* last use */
    }
    set_clear(keep);
    unsigned made = 0;
    FOR_DSTS(f, ir_inst(f, id), dst)
        for (unsigned c = 0, n = ra_values(f, *dst, v); c < n; c++)
            if (ra_spill_in_file(spill, v[c])) {
                made++;
                set_add(keep, v[c].i);
            }
    unsigned through = less(spill->room, made + need.slack_after);
    if (ir_inst(f, id)->op == OT_CALL && need.left_by_call < through)
        through = need.left_by_call;
    evict(spill, b, at + 1, through, keep); /* what lives through */
    VEC_ADD(f->arena, out, id);
    for (unsigned k = 0; k < keep->n; k++)
        if (spill->uses[keep->at[k]] || ra_set_has(&spill->live.out[b.i], keep->at[k]))
            set_add(&spill->w, keep->at[k]);
}

static void walk_block(Spill *spill, BlockId b, SpillSet *keep) {
    Function *f = spill->f;
    set_clear(&spill->w);
    for (unsigned k = 0; k < spill->w_in[b.i].at.n; k++)
        set_add(&spill->w, spill->w_in[b.i].at.at[k]);
    InstIds out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        if (ir_inst(f, id)->op == IR_PHI)
            VEC_ADD(f->arena, &out, id);
        else
            walk_inst(spill, b, p, id, keep, &out);
    }
    for (unsigned k = 0; k < spill->w.n; k++)
        if (ra_set_has(&spill->live.out[b.i], spill->w.at[k]))
            VEC_ADD(spill->a, &spill->w_out[b.i].at, spill->w.at[k]);
    ir_block(f, b)->insts = out;
    spill->done[b.i] = true;
}

/* ---- what is in registers where a block starts ---- */

static int by_rank(const void *a, const void *b) {
    const SpillCandidate *candidate = a, *y = b;
    if (candidate->rank != y->rank)
        return candidate->rank < y->rank ? -1 : 1;
    return candidate->value < y->value ? -1 : candidate->value > y->value;
}

/* Registers that values which only live through the loop may keep. */
static unsigned spare_in_loop(Spill *spill, BlockId header) {
    unsigned most = 0, through = 0;
    for (uint32_t k = 0; k < spill->g.nrpo; k++) {
        BlockId m = spill->g.rpo[k], h = spill->g.header[m.i];
        if (h.i != header.i && spill->g.rpo_index[m.i] < spill->g.rpo_index[header.i])
            continue;
        if (h.i != header.i && spill->g.depth[m.i] <= spill->g.depth[header.i])
            continue;
        if (!spill->pressure[m.i]) /* asked for by every loop around it, before it is rewritten */
            spill->pressure[m.i] = 1 + ra_block_pressure(spill->f, &spill->live, m, spill->file);
        unsigned here = spill->pressure[m.i] - 1;
        most = here > most ? here : most;
    }
    for (uint32_t k = 0; k < spill->live.in[header.i].n; k++) {
        uint32_t v = spill->live.in[header.i].at[k], *d = ra_spill_dist_at(spill, header.i, v);
        through += ra_spill_in_file(spill, (ValId){v}) && d && *d >= SPILL_LOOP_EXIT;
    }
    unsigned used = less(most, through);
    return less(spill->room, used);
}

static void choose_entry(Spill *spill, BlockId b) {
    Function *f = spill->f;
    const Block *blk = ir_block(f, b);
    bool header = false;
    for (unsigned p = 0; p < blk->preds.n; p++)
        header |= !spill->done[blk->preds.at[p].i];
    spill->candidates.n = 0;
    for (uint32_t k = 0; k < spill->live.in[b.i].n; k++) {
        uint32_t v = spill->live.in[b.i].at[k];
        if (!ra_spill_in_file(spill, (ValId){v}))
            continue;
        unsigned have = 0;
        for (unsigned p = 0; p < blk->preds.n; p++)
            have +=
                spill->done[blk->preds.at[p].i] && ra_spill_has_value(&spill->w_out[blk->preds.at[p].i], v);
        uint32_t *d = ra_spill_dist_at(spill, b.i, v), rank = d ? *d : SPILL_EDGE;
        if (!header && have == 0 && blk->preds.n)
            continue; /* in no register: reload at its use */
        if (f->values.at[v].fixed_reg >= 0)
            rank = 0;
        else if (!header && have < blk->preds.n)
            rank += SPILL_LOOP_EXIT / 2;
        VEC_ADD(spill->a, &spill->candidates, ((SpillCandidate){v, rank}));
    }
    FOR_PHIS(f, b, inst) {
        ValId v = ir_operand_value(f, *ir_dst(f, inst, 0), 0);
        if (ra_spill_in_file(spill, v))
            VEC_ADD(spill->a, &spill->candidates,
                    ((SpillCandidate){v.i, ra_spill_next_use(spill, b, 0, v.i)}));
    }
    SpillCandidate *list = spill->candidates.at;
    unsigned n = spill->candidates.n;
    if (n)
        qsort(list, n, sizeof *list, by_rank);
    unsigned spare = header && n > spill->room ? spare_in_loop(spill, b) : spill->room;
    for (unsigned k = 0; k < n && spill->w_in[b.i].at.n < spill->room; k++) {
        if (header && list[k].rank >= SPILL_LOOP_EXIT) {
            if (!spare)
                break;
            spare--;
        }
        VEC_ADD(spill->a, &spill->w_in[b.i].at, list[k].value);
    }
}

/* What the files' checks share, until something is spilled. */
typedef struct {
    unsigned max[RF_COUNT]; /* pressure */
    unsigned slack;         /* no instruction needs more registers than this for the sake of its vectors */
    bool calls;
} Facts;

/* Not less than what a vector needs beside its values. */
static unsigned slack_of(unsigned count) { return count > 4 ? count : count > 1 ? 4 : 0; }

static Facts analyse(Function *f, Arena *a, RaRecord *rec) {
    Facts x = {.slack = 0};
    ra_live(f, &rec->g, a, &rec->live);
    ra_max_pressure(f, &rec->g, &rec->live, x.max);
    for (uint32_t k = 0; k < rec->g.nrpo; k++) {
        FOR_INSTS(f, rec->g.rpo[k], i) {
            unsigned n = 2;
            x.calls |= i->op == OT_CALL;
            FOR_DSTS(f, i, dst)
                n += slack_of(dst->count);
            FOR_SRCS(f, i, src)
                n += slack_of(src->count);
            x.slack = n > x.slack ? n : x.slack;
        }
    }
    rec->analysed = true;
    return x;
}

static bool too_high(Function *f, Spill *spill, const Facts *facts) {
    spill->nvals = f->values.n;
    if (facts->max[spill->file] > spill->room)
        return true;
    bool vectors = spill->file == RF_R || spill->file == RF_UR;
    if (!facts->max[spill->file] ||
        (!facts->calls && (!vectors || facts->max[spill->file] + facts->slack <= spill->room)))
        return false;
    /* Vectors and calls may need more than the sum says. */
    Bitset now = bs_new(spill->a, f->values.n);
    for (uint32_t k = 0; k < spill->g.nrpo; k++) {
        BlockId b = spill->g.rpo[k];
        ra_set_to_bits(&spill->live.out[b.i], &now);
        unsigned n = 0;
        BS_EACH(v, &now)
            n += ra_spill_in_file(spill, (ValId){v});
        Block *blk = ir_block(f, b);
        for (unsigned p = blk->insts.n; p-- > 0;) {
            Inst *i = ir_inst(f, blk->insts.at[p]);
            ValId v[IR_MOST_VECTOR];
            unsigned made = 0;
            if (i->op == IR_PHI)
                break;
            FOR_DSTS(f, i, dst)
                for (unsigned c = 0, m = ra_values(f, *dst, v); c < m; c++)
                    if (ra_spill_in_file(spill, v[c])) {
                        made++;
                        n -= bs_has(&now, v[c].i);
                        bs_del(&now, v[c].i);
                    }
            Demand need = demand(spill, i);
            if (n + made + need.slack_after > spill->room || (i->op == OT_CALL && n > need.left_by_call))
                return true;
            FOR_READS(f, i, read)
                for (unsigned c = 0, m = ra_values(f, *read, v); c < m; c++)
                    if (ra_spill_in_file(spill, v[c])) {
                        n += !bs_has(&now, v[c].i);
                        bs_add(&now, v[c].i);
                    }
            if (n + need.slack_before > spill->room)
                return true;
        }
    }
    return false;
}

static void spill_file(Function *f, RegFile file, Arena *keep_arena, RaRecord *rec, Facts *facts) {
    Arena a = {0};
    if (!rec->analysed) {
        ra_cfg(f, keep_arena, &rec->g);
        *facts = analyse(f, keep_arena, rec);
    }
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
    s.pressure = ARENA_ARRAY(&a, unsigned, nblocks);
    s.home_value = ARENA_ARRAY(&a, ValId, nvals);
    s.home_slot = ARENA_ARRAY(&a, uint32_t, nvals);
    s.remat = ARENA_ARRAY(&a, InstId, nvals);
    uint32_t *phi_slot = ARENA_ARRAY(&a, uint32_t, nvals);
    s.w = set_new(&a, nvals);
    s.spilled = bs_new(&a, nvals);
    s.in_memory = bs_new(&a, nvals);
    SpillSet keep = set_new(&a, nvals);
    ra_spill_find_repeatable(&s);
    ra_spill_next_uses(&s);
    for (uint32_t k = 0; k < s.g.nrpo; k++) {
        queue_uses(&s, s.g.rpo[k]);
        choose_entry(&s, s.g.rpo[k]);
        walk_block(&s, s.g.rpo[k], &keep);
    }
    ra_spill_place_phis(&s, phi_slot, keep_arena, rec);
    ra_spill_connect_edges(&s, phi_slot);
    for (uint32_t k = 0; k < s.g.nrpo; k++)
        ra_spill_finish_block(&s, s.g.rpo[k], phi_slot, ninsts);
    arena_free(&a);
}

const RegFile ra_spill_order[RA_SPILL_FILES] = {RF_UP, RF_P, RF_UR, RF_R};

bool ra_spill(Function *f, Arena *a, RaRecord *rec, Diags *d) {
    (void)d;
    ra_cfg(f, a, &rec->g);
    ra_spill_nests(f, a, &rec->g);
    Facts facts = analyse(f, a, rec);
    for (unsigned k = 0; k < RA_SPILL_FILES; k++)
        spill_file(f, ra_spill_order[k], a, rec, &facts);
    return true;
}
