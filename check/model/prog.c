/* The skeleton of a binary: what the model checker needs of each instruction, which predicates and mask
 * registers still matter at each place.
 * SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include <stdlib.h>

/* ---- registers that hold masks ---- */

static int tracked_index(const ModelProgram *p, Operand o) {
    for (uint32_t i = 0; o.kind == OPK_REG && o.file == RF_R && i < p->ntracked; i++)
        if (p->tracked[i] == o.value)
            return (int)i;
    return -1;
}

static bool track(ModelProgram *p, Operand o) {
    if (o.kind != OPK_REG || o.file != RF_R || o.value == REG_RZ || tracked_index(p, o) >= 0 ||
        p->ntracked == MODEL_TRACKED)
        return false;
    p->tracked[p->ntracked++] = o.value;
    return true;
}

/* The one register or immediate that an instruction copies; false if it computes. */
static bool copied(const MachInst *m, Operand *from) {
    if (m->optype == OT_MOV) {
        *from = m->src[0];
        return true;
    }
    return false;
}

static Operand mask_operand(const MachInst *m) {
    for (unsigned k = 0; k < m->nsrc; k++)
        if ((m->src[k].kind == OPK_REG && (m->src[k].file == RF_R || m->src[k].file == RF_UR)) ||
            m->src[k].kind == OPK_IMM || m->src[k].kind == OPK_CMEM)
            return m->src[k];
    return (Operand){0};
}

static void find_tracked(ModelProgram *p) {
    const BinFlow *g = p->g;
    for (uint32_t i = 0; i < p->n; i++) {
        BinKind k = g->decoded[i] ? bin_kind(&g->insts[i]) : BK_PLAIN;
        if (k == BK_WARPSYNC || k == BK_BMOV_TO_B)
            track(p, mask_operand(&g->insts[i]));
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < p->n; i++) {
            Operand from;
            if (g->decoded[i] && g->insts[i].ndst && tracked_index(p, g->insts[i].dst[0]) >= 0 &&
                copied(&g->insts[i], &from))
                more |= track(p, from);
        }
    }
}

/* ---- instructions ---- */

static uint8_t followed(Operand o, bool * not ) {
    *not = (o.mods & OPM_NOT) != 0;
    return o.kind == OPK_REG && o.file == RF_P && o.value < NUM_PREDS ? (uint8_t)o.value : NO_PRED;
}

static Operand second_guard(const MachInst *m) {
    BinKind k = bin_kind(m);
    if (k == BK_PLAIN || k == BK_COLLECTIVE || k == BK_BAR || k == BK_NOP)
        return (Operand){0};
    for (unsigned i = 0; i < m->nsrc; i++)
        if (m->src[i].kind == OPK_REG && (m->src[i].file == RF_P || m->src[i].file == RF_UP))
            return m->src[i];
    return (Operand){0};
}

static void set_track_def(const ModelProgram *p, const MachInst *m, Skel *s) {
    s->track_def = 0xff;
    for (unsigned k = 0; k < m->ndst; k++)
        for (unsigned c = 0; m->dst[k].kind == OPK_REG && c < (m->dst[k].count ? m->dst[k].count : 1u); c++) {
            Operand part = m->dst[k];
            part.value += c;
            int t = tracked_index(p, part);
            if (t >= 0)
                s->track_def = (uint8_t)t;
        }
    if (s->track_def == 0xff)
        return;
    Operand from;
    s->track_kind = TD_UNKNOWN;
    if (copied(m, &from) && from.kind == OPK_IMM) {
        s->track_kind = TD_CONST;
        s->imm = from.value;
    } else if (copied(m, &from) && tracked_index(p, from) >= 0) {
        s->track_kind = TD_COPY;
        s->track_from = (uint8_t)tracked_index(p, from);
    } else if (s->kind == BK_BMOV_FROM_B)
        s->track_kind = TD_BARRIER;
    else if (m->optype == OT_VOTE && MGET(VOTE, op, m->mods) == VoteOp_ANY && op_is_always(m->src[VOTE_pp]))
        s->track_kind = TD_ACTIVE;
}

static void set_mask(const ModelProgram *p, const MachInst *m, Skel *s) {
    s->mask_reg = 0xff;
    if (s->kind != BK_WARPSYNC && s->kind != BK_BMOV_TO_B)
        return;
    Operand o = mask_operand(m);
    int t = tracked_index(p, o);
    s->mask_not = (o.mods & OPM_NOT) != 0;
    if (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ)
        o = op_imm(0);
    if (o.kind == OPK_IMM) {
        s->mask_is_imm = true;
        s->imm = o.value;
    } else if (t >= 0)
        s->mask_reg = (uint8_t)t;
}

static void set_targets(ModelProgram *p, uint32_t i, Skel *s) {
    const BinFlow *g = p->g;
    s->target = BINFLOW_NONE;
    if (s->kind == BK_BRANCH || s->kind == BK_CALL)
        s->target = bin_target(g, i);
    const BinBlock *b = g->block_of[i] != BINFLOW_NONE ? &g->blocks[g->block_of[i]] : NULL;
    if (s->kind == BK_BRANCH_INDIRECT && b) {
        uint32_t *t = ARENA_ARRAY(&p->arena, uint32_t, b->nsuccs + 1u);
        for (uint32_t k = 0; k < b->nsuccs; k++)
            if (b->succs[k].kind == BE_TABLE)
                t[s->ntargets++] = g->blocks[b->succs[k].block].first;
        s->targets = t;
    } else if (s->kind == BK_CALL && s->target == BINFLOW_NONE) {
        s->targets = p->addressed;
        s->ntargets = p->naddressed;
    }
}

static void set_inst(ModelProgram *p, uint32_t i) {
    const BinFlow *g = p->g;
    Skel *s = &p->at[i];
    s->last = i + 1 == p->n || g->block_of[i + 1] == BINFLOW_NONE || g->block_of[i] == BINFLOW_NONE ||
              g->blocks[g->block_of[i + 1]].func != g->blocks[g->block_of[i]].func;
    s->fails = !g->decoded[i];
    s->track_def = s->mask_reg = 0xff;
    s->guard = s->pp = NO_PRED;
    if (s->fails)
        return;
    const MachInst *m = &g->insts[i];
    s->kind = (uint8_t)bin_kind(m);
    BinGuard guard = bin_guard(m);
    s->never = guard == BG_NEVER;
    s->maybe = guard == BG_MAYBE;
    s->guard = followed(m->guard, &s->guard_not);
    s->pp = followed(second_guard(m), &s->pp_not);
    s->unknown = (m->guard.kind == OPK_REG && m->guard.file == RF_UP) ||
                 (second_guard(m).kind == OPK_REG && second_guard(m).file == RF_UP && s->maybe);
    s->barrier = (uint8_t)bin_barrier(m);
    s->cond = m->optype == OT_BRA ? (uint8_t)MGET(BRA, cond, m->mods) : 0;
    s->clear = s->kind == BK_BMOV_FROM_B && MGET(BMOV, clear, m->mods) == BRClear_CLEAR;
    for (unsigned k = 0; s->kind == BK_BRANCH && k < m->nsrc; k++)
        s->has_mask |= m->src[k].kind == OPK_REG && m->src[k].file == RF_UR && m->src[k].value != REG_URZ;
    for (unsigned k = 0; k < m->ndst; k++)
        if (m->dst[k].kind == OPK_REG && m->dst[k].file == RF_P && m->dst[k].value < NUM_PREDS)
            s->pred_defs |= (uint8_t)(1u << m->dst[k].value);
    if (m->optype == OT_R2P)
        s->pred_defs = 0x7f;
    set_track_def(p, m, s);
    set_mask(p, m, s);
    set_targets(p, i, s);
}

/* ---- what still matters where ---- */

static bool decides(const Skel *s) {
    switch (s->kind) {
    case BK_PLAIN:
    case BK_NOP:
    case BK_COLLECTIVE: return s->track_def != 0xff;
    case BK_BAR: return false;
    default: return true;
    }
}

static uint16_t live_before(const Skel *s, uint16_t after) {
    uint16_t live = after, use = 0;
    if (!s->maybe) {
        live &= (uint16_t)~s->pred_defs;
        if (s->track_def != 0xff)
            live &= (uint16_t) ~(1u << (7 + s->track_def));
    }
    if (decides(s)) {
        use |= s->guard != NO_PRED ? (uint16_t)(1u << s->guard) : 0;
        use |= s->pp != NO_PRED ? (uint16_t)(1u << s->pp) : 0;
    }
    if (s->mask_reg != 0xff)
        use |= (uint16_t)(1u << (7 + s->mask_reg));
    if (s->track_def != 0xff && s->track_kind == TD_COPY)
        use |= (uint16_t)(1u << (7 + s->track_from));
    return live | use;
}

static uint16_t live_after(const ModelProgram *p, uint32_t i) {
    const Skel *s = &p->at[i];
    uint16_t live = s->last ? 0 : p->at[i + 1].live;
    if (s->fails || s->kind == BK_RET)
        return 0;
    if (s->target != BINFLOW_NONE && (s->kind == BK_BRANCH || s->kind == BK_CALL))
        live |= p->at[s->target].live;
    for (uint32_t k = 0; k < s->ntargets; k++)
        live |= p->at[s->targets[k]].live;
    return live;
}

static void liveness(ModelProgram *p) {
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = p->n; i-- > 0;) {
            uint16_t live = p->at[i].fails ? 0 : live_before(&p->at[i], live_after(p, i));
            more |= live != p->at[i].live;
            p->at[i].live = live;
        }
    }
}

static bool jumped_over(const Skel *s) {
    if (s->fails || s->last || s->pred_defs || s->track_def != 0xff)
        return false;
    return s->kind == BK_PLAIN || s->kind == BK_NOP || (s->never && s->kind != BK_BRANCH_INDIRECT);
}

/* Collectives that rely on the warp being together: no WARPSYNC in front of them. VOTE of a constant asks who
 * is there, which any group may. */
static void find_uncovered(ModelProgram *p) {
    bool covered = false;
    uint32_t block = BINFLOW_NONE;
    for (uint32_t i = 0; i < p->n; i++) {
        Skel *s = &p->at[i];
        const MachInst *m = &p->g->insts[i];
        covered = covered && block == p->g->block_of[i];
        block = p->g->block_of[i];
        if (s->kind == BK_COLLECTIVE && !s->fails) {
            bool asks = (m->optype == OT_VOTE && s->track_kind == TD_ACTIVE) ||
                        ((m->optype == OT_VOTE || m->optype == OT_VOTEU) && op_is_always(m->src[0]));
            s->needs_all = !covered && !asks && s->always_here;
        } else if (s->kind != BK_PLAIN && s->kind != BK_NOP && s->kind != BK_BAR)
            covered = s->kind == BK_WARPSYNC;
    }
}

static void find_addressed(ModelProgram *p) {
    const Binary *b = p->g->bin;
    uint32_t *t = ARENA_ARRAY(&p->arena, uint32_t, b->nfuncs + 1u);
    for (uint32_t f = 0; f < b->nfuncs; f++) {
        bool taken = false;
        for (uint32_t i = 0; i < b->nfixups; i++)
            taken |= b->fixups[i].to_func && b->fixups[i].target == f;
        if (taken && b->funcs[f].ninsts)
            t[p->naddressed++] = p->g->funcs[f].first_inst;
    }
    p->addressed = t;
}

ModelProgram *model_program(const BinFlow *g) {
    ModelProgram *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->g = g;
    p->n = g->bin->ncode;
    p->at = ARENA_ARRAY(&p->arena, Skel, p->n + 1u);
    find_addressed(p);
    find_tracked(p);
    for (uint32_t i = 0; i < p->n; i++)
        set_inst(p, i);
    liveness(p);
    for (uint32_t i = p->n; i-- > 0;)
        p->at[i].next = jumped_over(&p->at[i]) ? p->at[i + 1].next : i;
    model_uniformity(p);
    find_uncovered(p);
    return p;
}

void model_program_free(ModelProgram *p) {
    if (p) {
        arena_free(&p->arena);
        free(p);
    }
}
