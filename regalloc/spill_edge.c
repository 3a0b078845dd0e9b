/* Spilling: code on edges between blocks that disagree on what is in registers, phis that stay in memory, and
 * the stores of spilled values.
 * SPDX-License-Identifier: MIT */
#include "regalloc/spill.h"
#include <string.h>

static bool is_phi_of(Function *f, BlockId b, uint32_t v) {
    FOR_PHIS(f, b, i)
        if (ir_dst(f, i, 0)->value == v)
            return true;
    return false;
}

/* A result of b's phis that is another phi's operand too: its home must not be overwritten on the edge. */
static bool read_by_phis(Function *f, BlockId b, uint32_t v) {
    FOR_PHIS(f, b, i) {
        for (unsigned k = 0; k < i->nsrc && ir_dst(f, i, 0)->value != v; k++)
            if (ir_src(f, i, k)->kind == OPK_VAL && ir_src(f, i, k)->value == v)
                return true;
    }
    return false;
}

/* R phi in memory: bring operand `src` into the slot. */
static void store_operand(Spill *spill, Operand src, uint32_t slot, Values *have, InstIds *out, LocId loc) {
    Function *f = spill->f;
    if (src.kind != OPK_VAL) {
        Operand temp = ir_val(f, ir_value_new(f, RF_R));
        ra_spill_add(spill, out, ra_spill_make_copy(f, temp, src), loc);
        src = temp;
    } else if (!ra_spill_has_value(have, src.value)) {
        ra_spill_reload(spill, src.value, out, loc);
    }
    ra_spill_add(spill, out, ra_spill_make(f, IR_SPILL, 0, 2, src, op_imm(slot)), loc);
}

/* The other files: the phi becomes one of home values; its operand from this edge. */
static Operand home_operand(Spill *spill, Operand src, Values *have, InstIds *out, LocId loc) {
    Function *f = spill->f;
    if (src.kind == OPK_VAL && !ra_spill_has_value(have, src.value) && !spill->remat[src.value].i) {
        bs_add(&spill->spilled, src.value);
        return ir_val(f, ra_spill_home_value(spill, src.value));
    }
    if (src.kind == OPK_VAL && !ra_spill_has_value(have, src.value))
        ra_spill_reload(spill, src.value, out, loc);
    Operand temp = ir_val(f, ir_value_new(f, ra_spill_home_file(spill->file)));
    ra_spill_add(spill, out, ra_spill_make_copy(f, temp, src), loc);
    return temp;
}

static void edge_code(Spill *spill, BlockId from, BlockId to, unsigned pred, uint32_t *phi_slot,
                      InstIds *out) {
    Function *f = spill->f;
    Values *have = &spill->w_out[from.i], *want = &spill->w_in[to.i];
    const Block *fb = ir_block(f, from);
    LocId loc = fb->insts.n ? ir_inst(f, fb->insts.at[fb->insts.n - 1])->loc : (LocId){0};
    FOR_INST_IDS(f, to, id) {
        if (ir_inst(f, id)->op != IR_PHI)
            break;
        uint32_t v = ir_dst(f, ir_inst(f, id), 0)->value;
        if (!bs_has(&spill->in_memory, v))
            continue;
        Operand src = *ir_src(f, ir_inst(f, id), pred);
        if (spill->file == RF_R)
            store_operand(spill, src, phi_slot[v] - 1, have, out, loc);
        else {
            Operand now = home_operand(spill, src, have, out, loc);
            *ir_src(f, ir_inst(f, id), pred) = now; /* the phi itself changes its file later */
        }
    }
    for (unsigned k = 0; k < want->at.n; k++)
        if (!is_phi_of(f, to, want->at.at[k]) && !ra_spill_has_value(have, want->at.at[k]))
            ra_spill_reload(spill, want->at.at[k], out, loc);
    FOR_INSTS(f, to, i) {
        if (i->op != IR_PHI)
            break;
        Operand dst = *ir_dst(f, i, 0), src = *ir_src(f, i, pred);
        if (dst.file != spill->file || bs_has(&spill->in_memory, dst.value) || src.kind != OPK_VAL)
            continue;
        bool twice = false; /* loaded for another phi, or as a value that lives on */
        for (unsigned q = 0; q < AT(i); q++) {
            const Inst *j = ir_inst(f, ir_block(f, to)->insts.at[q]);
            uint32_t jv = ir_dst(f, j, 0)->value;
            twice |= !bs_has(&spill->in_memory, jv) && ir_src(f, j, pred)->kind == OPK_VAL &&
                     ir_src(f, j, pred)->value == src.value;
        }
        bool lives_on = ra_spill_has_value(want, src.value) && !is_phi_of(f, to, src.value);
        if (!twice && !lives_on && !ra_spill_has_value(have, src.value))
            ra_spill_reload(spill, src.value, out, loc);
    }
}

void ra_spill_insert(Function *f, BlockId b, unsigned at, const InstIds *list) {
    InstIds now = {0};
    const Block *blk = ir_block(f, b);
    for (unsigned p = 0; p < blk->insts.n + list->n; p++)
        VEC_ADD(f->arena, &now,
                p < at             ? blk->insts.at[p]
                : p < at + list->n ? list->at[p - at]
                                   : blk->insts.at[p - list->n]);
    ir_block(f, b)->insts = now;
}

void ra_spill_connect_edges(Spill *spill, uint32_t *phi_slot) {
    Function *f = spill->f;
    for (uint32_t k = 0; k < spill->g.nrpo; k++) {
        BlockId to = spill->g.rpo[k];
        for (unsigned p = 0; p < ir_block(f, to)->preds.n; p++) {
            BlockId from = ir_block(f, to)->preds.at[p];
            InstIds out = {0};
            edge_code(spill, from, to, p, phi_slot, &out);
            if (!out.n)
                continue;
            BlockId at;
            unsigned pos;
            ra_edge_point(f, from, to, &at, &pos);
            ra_spill_insert(f, at, pos, &out);
        }
    }
}

/* ---- stores and phis, at the end ---- */

/* A phi whose operands arrive in `slot` but whose home is another: move it there. */
static void move_home(Spill *spill, uint32_t v, uint32_t slot, InstIds *out, LocId loc) {
    Operand val = ir_val(spill->f, (ValId){v});
    ra_spill_add(spill, out, ra_spill_make(spill->f, IR_RELOAD, 1, 1, val, op_imm(slot)), loc);
    ra_spill_add(spill, out,
                 ra_spill_make(spill->f, IR_SPILL, 0, 2, val, op_imm(ra_spill_home_slot(spill, v))), loc);
}

static void store_results(Spill *spill, InstId id, InstIds *out) {
    Function *f = spill->f;
    LocId loc = ir_inst(f, id)->loc;
    for (unsigned k = 0; k < ir_inst(f, id)->ndst; k++) {
        ValId v[IR_MOST_VECTOR];
        for (unsigned c = 0, n = ra_values(f, *ir_dst(f, ir_inst(f, id), k), v); c < n; c++)
            if (ra_spill_in_file(spill, v[c]) && v[c].i < spill->nvals && bs_has(&spill->spilled, v[c].i) &&
                !spill->remat[v[c].i].i)
                ra_spill_store_home(spill, v[c].i, out, loc);
    }
}

/* What the block's phis need goes behind a leading BSYNC, so that a join keeps its shape. */
void ra_spill_finish_block(Spill *spill, BlockId b, const uint32_t *phi_slot, uint32_t ninsts_before) {
    Function *f = spill->f;
    InstIds now = {0}, head = {0};
    bool flushed = false;
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        LocId loc = ir_inst(f, id)->loc;
        unsigned op = ir_inst(f, id)->op;
        if (op == IR_PHI) {
            uint32_t v = ir_dst(f, ir_inst(f, id), 0)->value;
            if (ir_dst(f, ir_inst(f, id), 0)->file != spill->file || !bs_has(&spill->in_memory, v)) {
                VEC_ADD(f->arena, &now, id);
                store_results(spill, id, &head);
            } else if (spill->file != RF_R) {
                Operand home = ir_val(f, ra_spill_home_value(spill, v));
                *ir_dst(f, ir_inst(f, id), 0) = home;
                VEC_ADD(f->arena, &now, id);
            } else if (phi_slot[v] != spill->home_slot[v]) {
                move_home(spill, v, phi_slot[v] - 1, &head, loc);
            }
            continue;
        }
        for (unsigned k = 0; !flushed && op != OT_BSYNC && k < head.n; k++)
            VEC_ADD(f->arena, &now, head.at[k]);
        flushed |= op != OT_BSYNC;
        VEC_ADD(f->arena, &now, id);
        if (id.i < ninsts_before)
            store_results(spill, id, &now);
    }
    ir_block(f, b)->insts = now;
}

/* Decide which phis stay in memory; gives those of R the slot in which their operands arrive. */
void ra_spill_place_phis(Spill *spill, uint32_t *phi_slot, Arena *a, RaRecord *rec) {
    Function *f = spill->f;
    for (uint32_t k = 0; k < spill->g.nrpo; k++) {
        BlockId b = spill->g.rpo[k];
        FOR_PHI_IDS(f, b, phi) {
            Operand dst = *ir_dst(f, ir_inst(f, phi), 0);
            if (dst.file != spill->file || ra_spill_has_value(&spill->w_in[b.i], dst.value))
                continue;
            bs_add(&spill->in_memory, dst.value);
            bs_add(&spill->spilled, dst.value);
            if (spill->file != RF_R)
                continue;
            uint32_t home = ra_spill_home_slot(spill, dst.value);
            if (read_by_phis(f, b, dst.value)) {
                home = f->spill_bytes;
                f->spill_bytes += 4;
            }
            phi_slot[dst.value] = home + 1;
            VEC_ADD(a, &rec->phis, ((RaPhi){b, phi, true, home}));
        }
    }
}
