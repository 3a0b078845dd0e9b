/* Spilling until the pressure of every register file fits, after Braun and Hack: walk each block with the set
 * of values in registers, evict the one whose next use is farthest. Simplifications: a spilled value is
 * stored once, right behind its definition, so that its home is valid wherever it is live; a reload defines
 * the same value again. Homes: R lies in local memory (IR_SPILL, IR_RELOAD), P and UR in an R value, UP in a
 * UR value (IR_COPY). A value that a cheap instruction can make again has no home: the instruction is
 * repeated. SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"
#include <stdlib.h>
#include <string.h>

enum { FAR = 1u << 30, LOOP_EXIT = 100000, EDGE = 10, MAX_TABLE = 1 << 26 };

typedef struct UseNode {
    struct UseNode *next;
    uint32_t at;
} UseNode;
typedef struct {
    VEC(uint32_t) at;
} Values;

typedef struct {
    Function *f;
    RegFile file;
    unsigned limit; /* allocatable registers of the file */
    unsigned room;  /* the same, less one for reloads on edges */
    Arena *a;
    RaCfg g;
    RaLive live;
    uint32_t nvals;   /* values before spilling */
    uint32_t *global; /* value -> column of dist + 1 */
    uint32_t ncolumns;
    uint32_t *dist;       /* by block and column: distance from the block's start to the next use */
    UseNode **uses;       /* by value: uses in the current block still to come */
    Values *w_in, *w_out; /* by block: values in registers */
    bool *done;           /* by block */
    Bitset w;             /* values in registers now */
    unsigned nw;
    Bitset spilled;      /* has, or will get, a home */
    Bitset in_memory;    /* phi results whose operands arrive in the home */
    ValId *home_value;   /* P, UR, UP: value of another file */
    uint32_t *home_slot; /* R: offset + 1 in the spill area */
    InstId *remat;       /* instruction to repeat, 0 if none */
} Spill;

static bool in_file(const Spill *s, ValId v) {
    return v.i && s->f->values.at[v.i].file == s->file;
}

/* ---- next uses ---- */

static uint32_t *dist_at(const Spill *s, uint32_t block, uint32_t v) {
    return s->global[v] && s->dist ? &s->dist[(size_t)block * s->ncolumns + s->global[v] - 1] : NULL;
}

static uint32_t dist_out(const Spill *s, BlockId b, uint32_t v) {
    const Block *blk = ir_block(s->f, b);
    uint32_t best = FAR;
    for (unsigned k = 0; k < blk->succs.n; k++) {
        BlockId t = blk->succs.at[k];
        uint32_t *d = dist_at(s, t.i, v), here = d ? *d : bs_has(&s->live.in[t.i], v) ? EDGE : FAR;
        if (here < FAR && s->g.depth[t.i] < s->g.depth[b.i])
            here += LOOP_EXIT;
        if (here < best)
            best = here;
    }
    return best;
}

/* One round of the data flow over block b; true if a distance shrank. */
static bool refine(Spill *s, BlockId b, uint32_t *first_use, uint32_t *touched) {
    Function *f = s->f;
    Block *blk = ir_block(f, b);
    unsigned ntouched = 0;
    bool changed = false;
    for (unsigned p = 0; p < blk->insts.n; p++) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        for (unsigned n = 0; i->op != IR_PHI && n < ra_num_reads(i); n++) {
            ValId v[4];
            for (unsigned c = 0, k = ra_values(f, *ra_read(f, i, n), v); c < k; c++)
                if (v[c].i && s->global[v[c].i] && !first_use[v[c].i]) {
                    first_use[v[c].i] = p + 1;
                    touched[ntouched++] = v[c].i;
                }
        }
    }
    BS_EACH(v, &s->live.in[b.i]) {
        uint32_t *d = dist_at(s, b.i, v);
        if (!d)
            continue;
        uint32_t now;
        if (first_use[v])
            now = first_use[v] - 1;
        else {
            now = dist_out(s, b, v);
            now = now < FAR ? now + blk->insts.n : EDGE + blk->insts.n; /* live: a phi uses it at least */
        }
        if (now < *d) {
            *d = now;
            changed = true;
        }
    }
    for (unsigned k = 0; k < ntouched; k++)
        first_use[touched[k]] = 0;
    return changed;
}

static void next_uses(Spill *s) {
    Function *f = s->f;
    s->global = ARENA_ARRAY(s->a, uint32_t, s->nvals);
    BS_EACH(v, &s->live.any)
    if (f->values.at[v].file == s->file)
        s->global[v] = ++s->ncolumns;
    if (!s->ncolumns || (size_t)s->ncolumns * s->g.nblocks > MAX_TABLE)
        return; /* huge: only uses in the same block count */
    size_t n = (size_t)s->ncolumns * s->g.nblocks;
    s->dist = ARENA_ARRAY(s->a, uint32_t, n);
    for (size_t k = 0; k < n; k++)
        s->dist[k] = FAR;
    uint32_t *first = ARENA_ARRAY(s->a, uint32_t, s->nvals), *touched = ARENA_ARRAY(s->a, uint32_t, s->nvals);
    bool changed = true;
    for (unsigned round = 0; changed && round < 20; round++) {
        changed = false;
        for (uint32_t k = s->g.nrpo; k-- > 0;)
            changed |= refine(s, s->g.rpo[k], first, touched);
    }
}

static uint32_t next_use(const Spill *s, BlockId b, uint32_t at, uint32_t v) {
    if (ir_value(s->f, (ValId){v})->fixed_reg >= 0)
        return 0; /* stays where the ABI wants it */
    if (s->uses[v])
        return s->uses[v]->at - at;
    uint32_t left = ir_block(s->f, b)->insts.n - at;
    if (!bs_has(&s->live.out[b.i], v))
        return FAR;
    uint32_t out = dist_out(s, b, v);
    return left + (out < FAR ? out : EDGE);
}

/* ---- homes ---- */

static bool repeatable(Function *f, InstId id) {
    const Inst *i = ir_inst(f, id);
    if (i->op == IR_UNDEF || i->op == IR_FRAME_ADDR)
        return true;
    if (i->guard.kind != OPK_NONE && !op_is_always(i->guard))
        return false;
    if (i->op == OT_S2R) {
        const char *name = isa_sreg_name(f->module->target, ir_src(f, i, 0)->value);
        static const char *const constant[] = {"tid.", "ctaid.", "laneid", "lanemask_", "ntid.", "nctaid."};
        for (unsigned k = 0; name && k < sizeof constant / sizeof *constant; k++)
            if (strncmp(name, constant[k], strlen(constant[k])) == 0)
                return true;
        return false;
    }
    if (i->op != OT_MOV && i->op != OT_UMOV && i->op != IR_COPY)
        return false;
    uint8_t kind = ir_src(f, i, 0)->kind;
    return ir_dst(f, i, 0)->kind == OPK_VAL && ir_dst(f, i, 0)->count == 1 &&
           (kind == OPK_IMM || kind == OPK_CMEM || kind == OPK_SYM ||
            (kind == OPK_REG && (ir_src(f, i, 0)->value == REG_RZ || ir_src(f, i, 0)->file == RF_P)));
}

static void find_repeatable(Spill *s) {
    Function *f = s->f;
    for (uint32_t k = 0; k < s->g.nrpo; k++) {
        const Block *b = ir_block(f, s->g.rpo[k]);
        for (unsigned p = 0; p < b->insts.n; p++) {
            Inst *i = ir_inst(f, b->insts.at[p]);
            ValId v[4];
            if (i->ndst == 1 && ra_values(f, *ir_dst(f, i, 0), v) == 1 && v[0].i &&
                f->values.at[v[0].i].file == s->file && f->values.at[v[0].i].fixed_reg < 0 &&
                repeatable(f, b->insts.at[p]))
                s->remat[v[0].i] = b->insts.at[p];
        }
    }
}

static RegFile home_file(RegFile file) {
    return file == RF_UP ? RF_UR : RF_R;
}

static ValId home_value(Spill *s, uint32_t v) {
    if (!s->home_value[v].i) {
        ValId h = ir_value_new(s->f, home_file(s->file));
        *ir_value(s->f, h) = (Value){
            .file = (uint8_t)home_file(s->file), .fixed_reg = -1, .uniform = s->f->values.at[v].uniform};
        s->home_value[v] = h;
    }
    return s->home_value[v];
}

static uint32_t home_slot(Spill *s, uint32_t v) {
    if (!s->home_slot[v]) {
        s->home_slot[v] = s->f->spill_bytes + 1;
        s->f->spill_bytes += 4;
    }
    return s->home_slot[v] - 1;
}

static InstId make(Function *f, unsigned op, unsigned ndst, unsigned nsrc, Operand first, Operand second) {
    InstId id = ir_inst_new(f, op, ndst, nsrc);
    Operand *o = &f->operands.at[ir_inst(f, id)->operand];
    if (ndst + nsrc > 0)
        o[0] = first;
    if (ndst + nsrc > 1)
        o[1] = second;
    return id;
}

static InstId make_copy(Function *f, Operand dst, Operand src) {
    return make(f, IR_COPY, 1, 1, dst, src);
}

static void add(Spill *s, RaInsts *out, InstId id, LocId loc) {
    ir_inst(s->f, id)->loc = loc;
    VEC_ADD(s->f->arena, out, id);
}

static void store_home(Spill *s, uint32_t v, RaInsts *out, LocId loc) {
    Operand val = ir_val(s->f, (ValId){v});
    if (s->file == RF_R)
        add(s, out, make(s->f, IR_SPILL, 0, 2, val, op_imm(home_slot(s, v))), loc);
    else {
        Operand home = ir_val(s->f, home_value(s, v));
        add(s, out, make_copy(s->f, home, val), loc);
    }
}

static void reload(Spill *s, uint32_t v, RaInsts *out, LocId loc) {
    Function *f = s->f;
    Operand val = ir_val(f, (ValId){v});
    if (s->remat[v].i) {
        InstId id = ir_inst_new(f, ir_inst(f, s->remat[v])->op, 1, ir_inst(f, s->remat[v])->nsrc);
        Inst *now = ir_inst(f, id), *old = ir_inst(f, s->remat[v]);
        now->mods = old->mods;
        now->flags = old->flags & (uint16_t)~IF_TIED;
        memcpy(&f->operands.at[now->operand], &f->operands.at[old->operand],
               sizeof(Operand) * (1u + old->nsrc));
        add(s, out, id, loc);
        return;
    }
    bs_add(&s->spilled, v);
    if (s->file == RF_R)
        add(s, out, make(f, IR_RELOAD, 1, 1, val, op_imm(home_slot(s, v))), loc);
    else {
        Operand home = ir_val(f, home_value(s, v));
        add(s, out, make_copy(f, val, home), loc);
    }
}

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
            uint32_t use = next_use(s, b, at, v);
            if (s->remat[v].i && use < FAR)
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
                if (!in_file(s, v[c]) || (s->uses[v[c].i] && s->uses[v[c].i]->at == p))
                    continue;
                UseNode *u = ARENA_NEW(s->a, UseNode);
                *u = (UseNode){s->uses[v[c].i], p};
                s->uses[v[c].i] = u;
            }
        }
    }
}

static unsigned rounded(unsigned count) {
    return count == 3 ? 4 : count;
}

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
                if (in_file(s, v[n]) && d.left_by_call &&
                    (f->values.at[v[n].i].fixed_reg < 0 ||
                     !ra_clobbers(c, s->file, (unsigned)f->values.at[v[n].i].fixed_reg)))
                    d.left_by_call--;
        }
    }
    return d;
}

static unsigned less(unsigned a, unsigned b) {
    return a > b ? a - b : 0;
}

static void walk_inst(Spill *s, BlockId b, uint32_t at, InstId id, Bitset *keep, RaInsts *out) {
    Function *f = s->f;
    Demand need = demand(s, ir_inst(f, id));
    LocId loc = ir_inst(f, id)->loc;
    ValId v[4];
    bs_clear(keep);
    for (unsigned n = 0; n < ra_num_reads(ir_inst(f, id)); n++)
        for (unsigned c = 0, k = ra_values(f, *ra_read(f, ir_inst(f, id), n), v); c < k; c++)
            if (in_file(s, v[c]))
                bs_add(keep, v[c].i);
    unsigned missing = 0;
    BS_EACH(k, keep)
    missing += !bs_has(&s->w, k);
    evict(s, b, at, less(s->room, need.slack_before + missing), keep);
    BS_EACH(k, keep) {
        if (!bs_has(&s->w, k)) {
            reload(s, k, out, loc);
            w_add(s, k);
        }
        if (s->uses[k] && s->uses[k]->at == at)
            s->uses[k] = s->uses[k]->next;
        if (!s->uses[k] && !bs_has(&s->live.out[b.i], k))
            w_del(s, k); /* last use */
    }
    bs_clear(keep);
    unsigned made = 0;
    for (unsigned k = 0; k < ir_inst(f, id)->ndst; k++)
        for (unsigned c = 0, n = ra_values(f, *ir_dst(f, ir_inst(f, id), k), v); c < n; c++)
            if (in_file(s, v[c])) {
                made++;
                bs_add(keep, v[c].i);
            }
    unsigned through = less(s->room, made + need.slack_after);
    if (ir_inst(f, id)->op == OT_CALL && need.left_by_call < through)
        through = need.left_by_call;
    evict(s, b, at + 1, through, keep); /* what lives through */
    VEC_ADD(f->arena, out, id);
    BS_EACH(k, keep)
    if (s->uses[k] || bs_has(&s->live.out[b.i], k))
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
    if (!bs_has(&s->live.out[b.i], v))
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

static bool has_value(const Values *v, uint32_t x) {
    for (unsigned k = 0; k < v->at.n; k++)
        if (v->at.at[k] == x)
            return true;
    return false;
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
    BS_EACH(v, &s->live.in[header.i])
    through += in_file(s, (ValId){v}) && dist_at(s, header.i, v) && *dist_at(s, header.i, v) >= LOOP_EXIT;
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
    BS_EACH(v, &s->live.in[b.i]) {
        if (!in_file(s, (ValId){v}))
            continue;
        unsigned have = 0;
        for (unsigned p = 0; p < blk->preds.n; p++)
            have += s->done[blk->preds.at[p].i] && has_value(&s->w_out[blk->preds.at[p].i], v);
        uint32_t *d = dist_at(s, b.i, v), rank = d ? *d : EDGE;
        if (!header && have == 0 && blk->preds.n)
            continue; /* in no register: reload at its use */
        if (f->values.at[v].fixed_reg >= 0)
            rank = 0;
        else if (!header && have < blk->preds.n)
            rank += LOOP_EXIT / 2;
        VEC_ADD(s->a, &list, ((Candidate){v, rank}));
    }
    for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++) {
        ValId v = ir_operand_value(f, *ir_dst(f, ir_inst(f, blk->insts.at[p]), 0), 0);
        if (in_file(s, v))
            VEC_ADD(s->a, &list, ((Candidate){v.i, next_use(s, b, 0, v.i)}));
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_rank);
    unsigned spare = header && list.n > s->room ? spare_in_loop(s, b) : s->room;
    for (unsigned k = 0; k < list.n && s->w_in[b.i].at.n < s->room; k++) {
        if (header && list.at[k].rank >= LOOP_EXIT) {
            if (!spare)
                break;
            spare--;
        }
        VEC_ADD(s->a, &s->w_in[b.i].at, list.at[k].value);
    }
}

/* ---- edges ---- */

static bool is_phi_of(Function *f, BlockId b, uint32_t v) {
    const Block *blk = ir_block(f, b);
    for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++)
        if (ir_dst(f, ir_inst(f, blk->insts.at[p]), 0)->value == v)
            return true;
    return false;
}

/* A result of b's phis that is another phi's operand too: its home must not be overwritten on the edge. */
static bool read_by_phis(Function *f, BlockId b, uint32_t v) {
    const Block *blk = ir_block(f, b);
    for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++) {
        const Inst *i = ir_inst(f, blk->insts.at[p]);
        for (unsigned k = 0; k < i->nsrc && ir_dst(f, i, 0)->value != v; k++)
            if (ir_src(f, i, k)->kind == OPK_VAL && ir_src(f, i, k)->value == v)
                return true;
    }
    return false;
}

/* R phi in memory: bring operand `src` into the slot. */
static void store_operand(Spill *s, Operand src, uint32_t slot, Values *have, RaInsts *out, LocId loc) {
    Function *f = s->f;
    if (src.kind != OPK_VAL) {
        Operand temp = ir_val(f, ir_value_new(f, RF_R));
        add(s, out, make_copy(f, temp, src), loc);
        src = temp;
    } else if (!has_value(have, src.value)) {
        reload(s, src.value, out, loc);
    }
    add(s, out, make(f, IR_SPILL, 0, 2, src, op_imm(slot)), loc);
}

/* The other files: the phi becomes one of home values; its operand from this edge. */
static Operand home_operand(Spill *s, Operand src, Values *have, RaInsts *out, LocId loc) {
    Function *f = s->f;
    if (src.kind == OPK_VAL && !has_value(have, src.value) && !s->remat[src.value].i) {
        bs_add(&s->spilled, src.value);
        return ir_val(f, home_value(s, src.value));
    }
    if (src.kind == OPK_VAL && !has_value(have, src.value))
        reload(s, src.value, out, loc);
    Operand temp = ir_val(f, ir_value_new(f, home_file(s->file)));
    add(s, out, make_copy(f, temp, src), loc);
    return temp;
}

static void edge_code(Spill *s, BlockId from, BlockId to, unsigned pred, uint32_t *phi_slot, RaInsts *out) {
    Function *f = s->f;
    Values *have = &s->w_out[from.i], *want = &s->w_in[to.i];
    const Block *fb = ir_block(f, from);
    LocId loc = fb->insts.n ? ir_inst(f, fb->insts.at[fb->insts.n - 1])->loc : (LocId){0};
    for (unsigned p = 0; p < ir_block(f, to)->insts.n; p++) { /* phis in memory first */
        InstId id = ir_block(f, to)->insts.at[p];
        if (ir_inst(f, id)->op != IR_PHI)
            break;
        uint32_t v = ir_dst(f, ir_inst(f, id), 0)->value;
        if (!bs_has(&s->in_memory, v))
            continue;
        Operand src = *ir_src(f, ir_inst(f, id), pred);
        if (s->file == RF_R)
            store_operand(s, src, phi_slot[v] - 1, have, out, loc);
        else {
            Operand now = home_operand(s, src, have, out, loc);
            *ir_src(f, ir_inst(f, id), pred) = now; /* the phi itself changes its file later */
        }
    }
    for (unsigned k = 0; k < want->at.n; k++)
        if (!is_phi_of(f, to, want->at.at[k]) && !has_value(have, want->at.at[k]))
            reload(s, want->at.at[k], out, loc);
    for (unsigned p = 0; p < ir_block(f, to)->insts.n; p++) {
        const Inst *i = ir_inst(f, ir_block(f, to)->insts.at[p]);
        if (i->op != IR_PHI)
            break;
        Operand dst = *ir_dst(f, i, 0), src = *ir_src(f, i, pred);
        if (dst.file != s->file || bs_has(&s->in_memory, dst.value) || src.kind != OPK_VAL)
            continue;
        bool twice = false; /* loaded for another phi, or as a value that lives on */
        for (unsigned q = 0; q < p; q++) {
            const Inst *j = ir_inst(f, ir_block(f, to)->insts.at[q]);
            uint32_t jv = ir_dst(f, j, 0)->value;
            twice |= !bs_has(&s->in_memory, jv) && ir_src(f, j, pred)->kind == OPK_VAL &&
                     ir_src(f, j, pred)->value == src.value;
        }
        bool lives_on = has_value(want, src.value) && !is_phi_of(f, to, src.value);
        if (!twice && !lives_on && !has_value(have, src.value))
            reload(s, src.value, out, loc);
    }
}

static void insert_list(Function *f, BlockId b, unsigned at, const RaInsts *list) {
    RaInsts now = {0};
    const Block *blk = ir_block(f, b);
    for (unsigned p = 0; p < blk->insts.n + list->n; p++)
        VEC_ADD(f->arena, &now,
                p < at             ? blk->insts.at[p]
                : p < at + list->n ? list->at[p - at]
                                   : blk->insts.at[p - list->n]);
    memcpy(&ir_block(f, b)->insts, &now, sizeof now);
}

static void connect_edges(Spill *s, uint32_t *phi_slot) {
    Function *f = s->f;
    for (uint32_t k = 0; k < s->g.nrpo; k++) {
        BlockId to = s->g.rpo[k];
        for (unsigned p = 0; p < ir_block(f, to)->preds.n; p++) {
            BlockId from = ir_block(f, to)->preds.at[p];
            RaInsts out = {0};
            edge_code(s, from, to, p, phi_slot, &out);
            if (!out.n)
                continue;
            BlockId at;
            unsigned pos;
            ra_edge_point(f, from, to, &at, &pos);
            insert_list(f, at, pos, &out);
        }
    }
}

/* ---- stores and phis, at the end ---- */

/* A phi whose operands arrive in `slot` but whose home is another: move it there. */
static void move_home(Spill *s, uint32_t v, uint32_t slot, RaInsts *out, LocId loc) {
    Operand val = ir_val(s->f, (ValId){v});
    add(s, out, make(s->f, IR_RELOAD, 1, 1, val, op_imm(slot)), loc);
    add(s, out, make(s->f, IR_SPILL, 0, 2, val, op_imm(home_slot(s, v))), loc);
}

static void store_results(Spill *s, InstId id, RaInsts *out) {
    Function *f = s->f;
    LocId loc = ir_inst(f, id)->loc;
    for (unsigned k = 0; k < ir_inst(f, id)->ndst; k++) {
        ValId v[4];
        for (unsigned c = 0, n = ra_values(f, *ir_dst(f, ir_inst(f, id), k), v); c < n; c++)
            if (in_file(s, v[c]) && v[c].i < s->nvals && bs_has(&s->spilled, v[c].i) && !s->remat[v[c].i].i)
                store_home(s, v[c].i, out, loc);
    }
}

/* What the block's phis need goes behind a leading BSYNC, so that a join keeps its shape. */
static void finish_block(Spill *s, BlockId b, const uint32_t *phi_slot, uint32_t ninsts_before) {
    Function *f = s->f;
    RaInsts now = {0}, head = {0};
    bool flushed = false;
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        LocId loc = ir_inst(f, id)->loc;
        unsigned op = ir_inst(f, id)->op;
        if (op == IR_PHI) {
            uint32_t v = ir_dst(f, ir_inst(f, id), 0)->value;
            if (ir_dst(f, ir_inst(f, id), 0)->file != s->file || !bs_has(&s->in_memory, v)) {
                VEC_ADD(f->arena, &now, id);
                store_results(s, id, &head);
            } else if (s->file != RF_R) {
                Operand home = ir_val(f, home_value(s, v));
                *ir_dst(f, ir_inst(f, id), 0) = home;
                VEC_ADD(f->arena, &now, id);
            } else if (phi_slot[v] != s->home_slot[v]) {
                move_home(s, v, phi_slot[v] - 1, &head, loc);
            }
            continue;
        }
        for (unsigned k = 0; !flushed && op != OT_BSYNC && k < head.n; k++)
            VEC_ADD(f->arena, &now, head.at[k]);
        flushed |= op != OT_BSYNC;
        VEC_ADD(f->arena, &now, id);
        if (id.i < ninsts_before)
            store_results(s, id, &now);
    }
    memcpy(&ir_block(f, b)->insts, &now, sizeof now);
}

/* Decide which phis stay in memory; gives those of R the slot in which their operands arrive. */
static void place_phis(Spill *s, uint32_t *phi_slot, Arena *a, RaRecord *rec) {
    Function *f = s->f;
    for (uint32_t k = 0; k < s->g.nrpo; k++) {
        BlockId b = s->g.rpo[k];
        const Block *blk = ir_block(f, b);
        for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++) {
            Operand dst = *ir_dst(f, ir_inst(f, blk->insts.at[p]), 0);
            if (dst.file != s->file || has_value(&s->w_in[b.i], dst.value))
                continue;
            bs_add(&s->in_memory, dst.value);
            bs_add(&s->spilled, dst.value);
            if (s->file != RF_R)
                continue;
            uint32_t home = home_slot(s, dst.value);
            if (read_by_phis(f, b, dst.value)) {
                home = f->spill_bytes;
                f->spill_bytes += 4;
            }
            phi_slot[dst.value] = home + 1;
            VEC_ADD(a, &rec->phis, ((RaPhi){b, blk->insts.at[p], true, home}));
        }
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
        bs_copy(&now, &s->live.out[b.i]);
        unsigned n = 0;
        BS_EACH(v, &now)
        n += in_file(s, (ValId){v});
        Block *blk = ir_block(f, b);
        for (unsigned p = blk->insts.n; p-- > 0;) {
            Inst *i = ir_inst(f, blk->insts.at[p]);
            ValId v[4];
            unsigned made = 0;
            if (i->op == IR_PHI)
                break;
            for (unsigned d = 0; d < i->ndst; d++)
                for (unsigned c = 0, m = ra_values(f, *ir_dst(f, i, d), v); c < m; c++)
                    if (in_file(s, v[c])) {
                        made++;
                        n -= bs_has(&now, v[c].i);
                        bs_del(&now, v[c].i);
                    }
            Demand need = demand(s, i);
            if (n + made + need.slack_after > s->room || (i->op == OT_CALL && n > need.left_by_call))
                return true;
            for (unsigned r = 0; r < ra_num_reads(i); r++)
                for (unsigned c = 0, m = ra_values(f, *ra_read(f, i, r), v); c < m; c++)
                    if (in_file(s, v[c])) {
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
    find_repeatable(&s);
    next_uses(&s);
    for (uint32_t k = 0; k < s.g.nrpo; k++) {
        queue_uses(&s, s.g.rpo[k]);
        choose_entry(&s, s.g.rpo[k]);
        walk_block(&s, s.g.rpo[k], &keep);
    }
    place_phis(&s, phi_slot, keep_arena, rec);
    connect_edges(&s, phi_slot);
    for (uint32_t k = 0; k < s.g.nrpo; k++)
        finish_block(&s, s.g.rpo[k], phi_slot, ninsts);
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
