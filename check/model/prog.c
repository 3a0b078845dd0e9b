/* The skeleton of a binary: what the model checker needs of each instruction, which predicates and mask
 * registers still matter at each place. Moves and votes it knows by name: those by which code keeps masks;
 * of what another operation makes, it takes any value. SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include "check/flow/question.h"
#include "base/scope.h"
#include "check/static/check.h"
#include <stdlib.h>

/* ---- registers that hold masks ---- */

static int tracked_index(const ModelProgram *program, Operand o) {
    for (uint32_t i = 0; o.kind == OPK_REG && o.file == RF_R && i < program->ntracked; i++)
        if (program->tracked[i] == o.value)
            return (int)i;
    return -1;
}

static bool track(ModelProgram *program, Operand o) {
    if (o.kind != OPK_REG || o.file != RF_R || o.value == REG_RZ || tracked_index(program, o) >= 0 ||
        program->ntracked == MODEL_TRACKED)
        return false;
    program->tracked[program->ntracked++] = o.value;
    return true;
}

/* The one register or immediate that an instruction copies; false if it computes. */
static bool copied(const MachInst *inst, Operand *from) {
    if (inst->optype == OT_MOV) {
        *from = inst->src[0];
        return true;
    }
    return false;
}

static Operand mask_operand(const MachInst *inst) {
    for (unsigned k = 0; k < inst->nsrc; k++)
        if ((inst->src[k].kind == OPK_REG && (inst->src[k].file == RF_R || inst->src[k].file == RF_UR)) ||
            inst->src[k].kind == OPK_IMM || inst->src[k].kind == OPK_CMEM)
            return inst->src[k];
    return (Operand){0};
}

static void find_tracked(ModelProgram *program) {
    const BinFlow *flow = program->g;
    for (uint32_t i = 0; i < program->n; i++) {
        BinKind k = flow->decoded[i] ? bin_kind(&flow->insts[i]) : BK_PLAIN;
        BinQuestion question;
        if (k == BK_WARPSYNC || k == BK_BMOV_TO_B)
            track(program, mask_operand(&flow->insts[i]));
        if (k == BK_BRANCH && flow->block_of[i] != BINFLOW_NONE && bin_question(flow, i, &question))
            track(program, question.mask);
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < program->n; i++) {
            Operand from;
            if (flow->decoded[i] && flow->insts[i].ndst &&
                tracked_index(program, flow->insts[i].dst[0]) >= 0 && copied(&flow->insts[i], &from))
                more |= track(program, from);
        }
    }
}

/* ---- instructions ---- */

static uint8_t followed(Operand o, bool * not ) {
    *not = (o.mods & OPM_NOT) != 0;
    return o.kind == OPK_REG && o.file == RF_P && o.value < NUM_PREDS ? (uint8_t)o.value : NO_PRED;
}

static Operand second_guard(const MachInst *inst) {
    BinKind k = bin_kind(inst);
    if (k == BK_PLAIN || k == BK_COLLECTIVE || k == BK_BAR || k == BK_NOP)
        return (Operand){0};
    for (unsigned i = 0; i < inst->nsrc; i++)
        if (inst->src[i].kind == OPK_REG && (inst->src[i].file == RF_P || inst->src[i].file == RF_UP))
            return inst->src[i];
    return (Operand){0};
}

static void set_track_def(const ModelProgram *p, const MachInst *inst, Skel *skel) {
    skel->track_def = 0xff;
    for (unsigned k = 0; k < inst->ndst; k++)
        for (unsigned c = 0;
             inst->dst[k].kind == OPK_REG && c < (inst->dst[k].count ? inst->dst[k].count : 1u); c++) {
            Operand part = inst->dst[k];
            part.value += c;
            int t = tracked_index(p, part);
            if (t >= 0)
                skel->track_def = (uint8_t)t;
        }
    if (skel->track_def == 0xff)
        return;
    Operand from;
    skel->track_kind = TD_UNKNOWN;
    if (copied(inst, &from) && from.kind == OPK_IMM) {
        skel->track_kind = TD_CONST;
        skel->imm = from.value;
    } else if (copied(inst, &from) && tracked_index(p, from) >= 0) {
        skel->track_kind = TD_COPY;
        skel->track_from = (uint8_t)tracked_index(p, from);
    } else if (skel->kind == BK_BMOV_FROM_B)
        skel->track_kind = TD_BARRIER;
    else if (inst->optype == OT_VOTE && MGET(VOTE, op, inst->mods) == VoteOp_ANY &&
             op_is_always(inst->src[VOTE_pp]))
        skel->track_kind = TD_ACTIVE;
}

static void set_mask(const ModelProgram *p, const MachInst *m, Skel *skel) {
    skel->mask_reg = 0xff;
    if (skel->kind != BK_WARPSYNC && skel->kind != BK_BMOV_TO_B)
        return;
    Operand o = mask_operand(m);
    int t = tracked_index(p, o);
    skel->mask_not = (o.mods & OPM_NOT) != 0;
    skel->joins = m->optype == OT_WARPSYNC && !MGET(WARPSYNC, exclusive, m->mods) &&
                  isa_target_info(p->g->bin->target)->warpsync_joins;
    if (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ)
        o = op_imm(0);
    if (o.kind == OPK_IMM) {
        skel->mask_is_imm = true;
        skel->imm = o.value;
    } else if (t >= 0)
        skel->mask_reg = (uint8_t)t;
}

static void set_targets(ModelProgram *program, uint32_t i, Skel *skel) {
    const BinFlow *flow = program->g;
    skel->target = BINFLOW_NONE;
    if (skel->kind == BK_BRANCH || skel->kind == BK_CALL)
        skel->target = bin_target(flow, i);
    const BinBlock *b = flow->block_of[i] != BINFLOW_NONE ? &flow->blocks[flow->block_of[i]] : NULL;
    if (skel->kind == BK_BRANCH_INDIRECT && b) {
        uint32_t *t = ARENA_ARRAY(&program->arena, uint32_t, b->nsuccs + 1u);
        for (uint32_t k = 0; k < b->nsuccs; k++)
            if (b->succs[k].kind == BE_TABLE)
                t[skel->ntargets++] = flow->blocks[b->succs[k].block].first;
        skel->targets = t;
    } else if (skel->kind == BK_CALL && skel->target == BINFLOW_NONE) {
        skel->targets = program->addressed;
        skel->ntargets = program->naddressed;
    }
}

static void set_inst(ModelProgram *program, uint32_t i) {
    const BinFlow *flow = program->g;
    Skel *skel = &program->at[i];
    skel->last = i + 1 == program->n || flow->block_of[i + 1] == BINFLOW_NONE ||
                 flow->block_of[i] == BINFLOW_NONE ||
                 flow->blocks[flow->block_of[i + 1]].func != flow->blocks[flow->block_of[i]].func;
    skel->fails = !flow->decoded[i];
    skel->track_def = skel->mask_reg = 0xff;
    skel->guard = skel->pp = NO_PRED;
    if (skel->fails)
        return;
    const MachInst *inst = &flow->insts[i];
    skel->kind = (uint8_t)bin_kind(inst);
    BinGuard guard = bin_guard(inst);
    skel->never = guard == BG_NEVER;
    skel->maybe = guard == BG_MAYBE;
    skel->guard = followed(inst->guard, &skel->guard_not);
    skel->pp = followed(second_guard(inst), &skel->pp_not);
    skel->unknown = (inst->guard.kind == OPK_REG && inst->guard.file == RF_UP) ||
                    (second_guard(inst).kind == OPK_REG && second_guard(inst).file == RF_UP && skel->maybe);
    skel->barrier = (uint8_t)bin_barrier(inst);
    skel->cond = inst->optype == OT_BRA ? (uint8_t)MGET(BRA, cond, inst->mods) : 0;
    skel->any = inst->optype == OT_BRA && MGET(BRA, any, inst->mods) == BraAny_ANY;
    skel->clear = skel->kind == BK_BMOV_FROM_B && MGET(BMOV, clear, inst->mods) == BRClear_CLEAR;
    skel->drops = skel->clear && inst->dst[0].value == REG_RZ;
    for (unsigned k = 0; skel->kind == BK_BRANCH && k < inst->nsrc; k++)
        skel->has_mask |=
            inst->src[k].kind == OPK_REG && inst->src[k].file == RF_UR && inst->src[k].value != REG_URZ;
    for (unsigned k = 0; k < inst->ndst; k++)
        if (inst->dst[k].kind == OPK_REG && inst->dst[k].file == RF_P && inst->dst[k].value < NUM_PREDS)
            skel->pred_defs |= (uint8_t)(1u << inst->dst[k].value);
    RegFile file;
    uint32_t named =
        isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P) ? isa_named_predicates(inst, &file) : 0;
    if (named && file == RF_P)
        skel->pred_defs |= (uint8_t)named;
    set_track_def(program, inst, skel);
    set_mask(program, inst, skel);
    set_targets(program, i, skel);
}

/* ---- what still matters where ---- */

static bool decides(const Skel *skel) {
    switch (skel->kind) {
    case BK_PLAIN:
    case BK_NOP:
    case BK_COLLECTIVE: return skel->track_def != 0xff;
    case BK_BAR: return false;
    default: return true;
    }
}

static uint16_t live_before(const Skel *skel, uint16_t after) {
    uint16_t live = after, use = 0;
    if (!skel->maybe) {
        live &= (uint16_t)~skel->pred_defs;
        if (skel->track_def != 0xff)
            live &= (uint16_t) ~(1u << (7 + skel->track_def));
    }
    if (decides(skel)) {
        use |= (uint16_t)(skel->guard != NO_PRED ? 1u << skel->guard : 0);
        use |= (uint16_t)(skel->pp != NO_PRED ? 1u << skel->pp : 0);
    }
    if (skel->mask_reg != 0xff)
        use |= (uint16_t)(1u << (7 + skel->mask_reg));
    if (skel->track_def != 0xff && skel->track_kind == TD_COPY)
        use |= (uint16_t)(1u << (7 + skel->track_from));
    return live | use;
}

static uint16_t live_after(const ModelProgram *program, uint32_t i) {
    const Skel *skel = &program->at[i];
    uint16_t live = skel->last ? 0 : program->at[i + 1].live;
    if (skel->fails || skel->kind == BK_RET)
        return 0;
    if (skel->target != BINFLOW_NONE && (skel->kind == BK_BRANCH || skel->kind == BK_CALL))
        live |= program->at[skel->target].live;
    for (uint32_t k = 0; k < skel->ntargets; k++)
        live |= program->at[skel->targets[k]].live;
    return live;
}

static void liveness(ModelProgram *program) {
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = program->n; i-- > 0;) {
            uint16_t live = program->at[i].fails ? 0 : live_before(&program->at[i], live_after(program, i));
            more |= live != program->at[i].live;
            program->at[i].live = live;
        }
    }
}

static bool jumped_over(const Skel *skel) {
    if (skel->fails || skel->last || skel->pred_defs || skel->track_def != 0xff)
        return false;
    return skel->kind == BK_PLAIN || skel->kind == BK_NOP ||
           (skel->never && skel->kind != BK_BRANCH_INDIRECT);
}

/* ---- WARPSYNC.COLLECTIVE: lanes meet there from several places ---- */

/* Straight code to ENDCOLLECTIVE that any lanes may execute, behind a WARPSYNC that every lane executes? */
static bool is_meeting_place(const ModelProgram *program, uint32_t i) {
    const BinFlow *flow = program->g;
    const Skel *skel = &program->at[i];
    uint32_t end = flow->decoded[i] && flow->insts[i].optype == OT_WARPSYNC_COLLECTIVE ? bin_target(flow, i)
                                                                                       : BINFLOW_NONE;
    if (end == BINFLOW_NONE || end < i + 2 || skel->maybe || skel->never || skel->unknown ||
        skel->guard != NO_PRED || skel->pp != NO_PRED)
        return false;
    for (uint32_t k = i + 1; k < end; k++) {
        BinKind kind = flow->decoded[k] ? bin_kind(&flow->insts[k]) : BK_TRAP;
        if (k == end - 1 ? !flow->decoded[k] || flow->insts[k].optype != OT_ENDCOLLECTIVE
                         : kind != BK_PLAIN && kind != BK_NOP && kind != BK_COLLECTIVE)
            return false;
    }
    return true;
}

static bool is_fence(const BinFlow *flow, uint32_t i) {
    return isa_traits(flow->insts[i].optype)->effects ==
               (ISA_EFFECT_READ | ISA_EFFECT_WRITE | ISA_EFFECT_ORDER) &&
           flow->insts[i].ndst == 0;
}

/* The same instructions, control bits (102 and up) and fences aside: a relaxed arrival has none. */
static bool meet_there(const ModelProgram *program, uint32_t a, uint32_t b) {
    const BinFlow *flow = program->g;
    uint64_t(*code)[2] = flow->bin->code;
    uint32_t end_a = program->at[a].target, end_b = program->at[b].target;
    for (a++, b++; a < end_a && b < end_b;) {
        if (code[a][0] == code[b][0] && (code[a][1] ^ code[b][1]) << (128 - 102) == 0)
            a++, b++;
        else if (is_fence(flow, a))
            a++;
        else if (is_fence(flow, b))
            b++;
        else
            return false;
    }
    return a == end_a && b == end_b;
}

static void find_meetings(ModelProgram *program) {
    for (uint32_t i = 0; i < program->n; i++) {
        if (!is_meeting_place(program, i))
            continue;
        program->at[i].target = bin_target(program->g, i);
        program->at[i].meets = i + 1;
        for (uint32_t k = 0; k < i; k++)
            if (program->at[k].meets == k + 1 && meet_there(program, i, k))
                program->at[i].meets = k + 1;
    }
}

/* Collectives that rely on the warp being together: no WARPSYNC in front of them. VOTE of a constant asks who
 * is there, which any group may. */
static void find_uncovered(ModelProgram *program) {
    bool covered = false;
    uint32_t block = BINFLOW_NONE;
    for (uint32_t i = 0; i < program->n; i++) {
        Skel *skel = &program->at[i];
        const MachInst *inst = &program->g->insts[i];
        covered = covered && block == program->g->block_of[i];
        block = program->g->block_of[i];
        if (skel->kind == BK_COLLECTIVE && !skel->fails) {
            bool asks = (inst->optype == OT_VOTE && skel->track_kind == TD_ACTIVE) ||
                        ((inst->optype == OT_VOTE || inst->optype == OT_VOTEU) && op_is_always(inst->src[0]));
            skel->needs_all = !covered && !asks && !skel->asks && skel->always_here;
        } else if (skel->kind != BK_PLAIN && skel->kind != BK_NOP && skel->kind != BK_BAR)
            covered = skel->kind == BK_WARPSYNC;
    }
}

static bool same_guard(const ModelProgram *program, uint32_t a, uint32_t b) {
    Operand guard = program->g->insts[a].guard, other = program->g->insts[b].guard;
    return guard.kind == other.kind && guard.file == other.file && guard.value == other.value &&
           guard.mods == other.mods;
}

/* WARPSYNCs of all lanes whose warp then executes a barrier of the block, under the same guard. */
static void find_gatherings(ModelProgram *program) {
    for (uint32_t i = 0; i < program->n; i++) {
        Skel *skel = &program->at[i];
        uint32_t to = i + 1;
        if (skel->kind != BK_WARPSYNC || !skel->mask_is_imm || skel->imm != UINT32_MAX)
            continue;
        while (to < program->n && program->g->block_of[to] == program->g->block_of[i] &&
               (program->at[to].kind == BK_PLAIN || program->at[to].kind == BK_NOP) &&
               !(program->at[to].pred_defs & (skel->guard < NUM_PREDS ? 1u << skel->guard : 0)))
            to++;
        if (to < program->n && program->g->block_of[to] == program->g->block_of[i] &&
            program->at[to].kind == BK_BAR && same_guard(program, to, i))
            skel->gathers = to;
    }
}

/* Branches that ask for the lanes of a mask: what they ask is followed as far as masks are. */
static void find_questions(ModelProgram *program) {
    for (uint32_t i = 0; i < program->n; i++) {
        BinQuestion question;
        if (program->at[i].kind != BK_BRANCH || program->g->block_of[i] == BINFLOW_NONE ||
            !bin_question(program->g, i, &question))
            continue;
        Skel *skel = &program->at[question.answer];
        int t = tracked_index(program, question.mask);
        skel->lacks = skel->asks = program->at[question.who].asks = program->at[i].asks = true;
        skel->mask_is_imm = question.mask.kind == OPK_IMM;
        skel->mask_reg = t >= 0 ? (uint8_t)t : 0xff;
        if (skel->mask_is_imm)
            skel->imm = question.mask.value;
    }
}

static void find_addressed(ModelProgram *program) {
    const Binary *binary = program->g->bin;
    uint32_t *t = ARENA_ARRAY(&program->arena, uint32_t, binary->nfuncs + 1u);
    for (uint32_t f = 0; f < binary->nfuncs; f++) {
        bool taken = false;
        for (uint32_t i = 0; i < binary->nfixups; i++)
            taken |= binary->fixups[i].to == BIN_TO_FUNC && binary->fixups[i].target == f;
        if (taken && binary->funcs[f].ninsts)
            t[program->naddressed++] = program->g->funcs[f].first_inst;
    }
    program->addressed = t;
}

ModelProgram *model_program(const BinFlow *flow) {
    ModelProgram *program = mem_zeroed(1, sizeof *program);
    if (!program)
        return NULL;
    program->g = flow;
    program->native = !isa_target_info(flow->bin->target)->has_yield_fairness;
    program->n = flow->bin->ncode;
    program->at = ARENA_ARRAY(&program->arena, Skel, program->n + 1u);
    find_addressed(program);
    find_tracked(program);
    for (uint32_t i = 0; i < program->n; i++)
        set_inst(program, i);
    model_find_system_calls(program);
    find_questions(program);
    find_meetings(program);
    liveness(program);
    for (uint32_t i = program->n; i-- > 0;)
        program->at[i].next = jumped_over(&program->at[i]) ? program->at[i + 1].next : i;
    const bool *entered = check_entered_lanes(flow, &program->arena);
    for (uint32_t i = 0; i < program->n; i++)
        program->at[i].entered = entered[i];
    model_uniformity(program);
    for (uint32_t i = 0; i < program->n; i++) /* all lanes have one answer */
        program->at[i].uniform |= program->at[i].kind == BK_BRANCH && program->at[i].asks;
    find_uncovered(program);
    find_gatherings(program);
    return program;
}

void model_program_free(ModelProgram *program) {
    if (program) {
        arena_free(&program->arena);
        mem_free(program);
    }
}
