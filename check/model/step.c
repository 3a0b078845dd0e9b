/* One step of the model: what an instruction does to the masks of a warp of a few lanes. Written from the
 * resolved semantics (docs/spec-resolutions.md), apart from the machine in sim/.
 *
 * What the code does not tell is asked of an oracle, one digit a question. Without an answer the step is
 * given up (STEP_CHOICE) and the caller tries each answer on a copy of the state before.
 * SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static unsigned lowest(Lanes m) { return (unsigned)__builtin_ctz(m); }
static Lanes bit(unsigned lane) { return (Lanes)(1u << lane); }
#define EACH_LANE(i, m)                                                                                      \
    for (Lanes m_##i = (m); m_##i; m_##i &= (Lanes)(m_##i - 1))                                              \
        for (unsigned i = lowest(m_##i), once_##i = 1; once_##i; once_##i = 0)

/* The answer to a question with `radix` answers; false: there is none yet. */
static bool ask(Oracle *oracle, uint32_t radix, uint32_t *answer) {
    if (radix <= 1) {
        *answer = 0;
        return true;
    }
    if (oracle->used == oracle->n) {
        oracle->radix = radix;
        return false;
    }
    *answer = oracle->digit[oracle->used++];
    return true;
}

static void note(Stepper *stepper, uint32_t inst, ModelStepKind kind, Lanes active, Lanes chosen,
                 const uint32_t *target) {
    if (!stepper->log)
        return;
    ModelStep s = {.inst = inst, .kind = (uint8_t)kind, .active = active, .chosen = chosen};
    if (target)
        memcpy(s.target, target, sizeof s.target);
    VEC_ADD(stepper->arena, stepper->log, s);
}

static StepStatus bad(Stepper *stepper, uint32_t inst, const char *text) {
    stepper->bad_inst = inst;
    snprintf(stepper->bad, sizeof stepper->bad, "%s", text);
    return STEP_BAD;
}

static StepStatus leave_out(Stepper *stepper, const char *why) {
    stepper->left_out = why;
    return STEP_LEFT_OUT;
}

/* ---- where lanes are ---- */

static uint32_t here(const ModelState *state) { return state->pc[lowest(state->active)]; }
static void place_lanes(ModelState *state, Lanes m, uint32_t pc) {
    EACH_LANE(i, m)
        state->pc[i] = pc;
}
static Lanes parked(const ModelState *state) { return (Lanes)(state->valid & ~state->active); }
static Lanes waiting_at(const ModelState *state, uint32_t pc) {
    Lanes found = 0;
    EACH_LANE(i, parked(state))
        if (state->pc[i] == pc)
            found |= bit(i);
    return found;
}

/* ---- B registers: a set of lanes, or where BSSY sets its register a set for each lane, of those that it
 * waits for (docs/native.md) ---- */

static Lanes companions(const ModelState *state, unsigned breg, unsigned lane) {
    return state->b[breg] >> MODEL_MAX_LANES * lane & ((1u << MODEL_MAX_LANES) - 1);
}

static void set_companions(ModelState *state, unsigned breg, unsigned lane, Lanes lanes) {
    unsigned rest = state->b[breg] & ~(((1u << MODEL_MAX_LANES) - 1) << MODEL_MAX_LANES * lane);
    state->b[breg] = (uint16_t)(rest | (unsigned)lanes << MODEL_MAX_LANES * lane);
}

static Lanes b_value(const Stepper *stepper, const ModelState *state, unsigned breg, unsigned lane) {
    return stepper->bssy_assigns ? companions(state, breg, lane) : (Lanes)state->b[breg];
}

static void leave_b(const Stepper *stepper, ModelState *state, unsigned breg, Lanes lanes) {
    if (!stepper->bssy_assigns)
        state->b[breg] &= (Lanes)~lanes;
    else
        EACH_LANE(i, lanes) {
            EACH_LANE(k, companions(state, breg, i) & (Lanes)~lanes)
                set_companions(state, breg, k, companions(state, breg, k) & (Lanes)~bit(i));
            set_companions(state, breg, i, 0);
        }
}

static uint32_t calls_around(const Stepper *stepper, const ModelState *state, unsigned lane) {
    return state->stack[lane] ? stepper->stacks.at[state->stack[lane]].depth : 0;
}

/* Lanes join those in calls as deep: of others nothing would tell who is further in. */
static void join_b(const Stepper *stepper, ModelState *state, unsigned breg, Lanes lanes) {
    if (!stepper->bssy_assigns) {
        state->b[breg] |= lanes;
        return;
    }
    state->yield &= (Lanes)~lanes; /* what they left by YIELD before is no matter of this region */
    leave_b(stepper, state, breg, lanes);
    EACH_LANE(i, lanes) {
        Lanes alike = 0;
        EACH_LANE(k, lanes)
            alike |= calls_around(stepper, state, k) == calls_around(stepper, state, i) ? bit(k) : 0;
        set_companions(state, breg, i, alike);
    }
}

/* BMOV.CLEAR: lanes that keep the value come back, the others leave. */
static void clear_b(const Stepper *stepper, ModelState *state, unsigned breg, Lanes lanes, bool kept) {
    if (!stepper->bssy_assigns)
        state->b[breg] = lanes ? 0 : state->b[breg];
    else if (!kept)
        leave_b(stepper, state, breg, lanes);
    else
        EACH_LANE(i, lanes)
            set_companions(state, breg, i, 0);
}

/* A parked lane of `from` becomes active, with all that wait at the same place. */
static bool resume(Stepper *stepper, ModelState *state, uint32_t inst, Lanes from, Oracle *o) {
    Lanes different = 0; /* one lane of each place */
    uint32_t seen[MODEL_MAX_LANES], n = 0, answer = 0;
    unsigned lane = lowest(from);
    if (stepper->opt.lane_choice == MACHINE_LANE_HIGHEST)
        lane = 31u - (unsigned)__builtin_clz(from);
    else if (stepper->opt.lane_choice != MACHINE_LANE_LOWEST) {
        EACH_LANE(i, from) {
            bool known = false;
            for (uint32_t k = 0; k < n; k++)
                known |= seen[k] == state->pc[i];
            if (!known) {
                seen[n++] = state->pc[i];
                different |= bit(i);
            }
        }
        if (!ask(o, n, &answer))
            return false;
        while (answer--)
            different &= (Lanes)(different - 1);
        lane = lowest(different);
        note(stepper, inst, MS_PICK, 0, bit(lane), NULL);
    }
    Lanes together = waiting_at(state, state->pc[lane]);
    state->active = stepper->opt.join_scope == MACHINE_JOIN_CANDIDATES ? together & from : together;
    state->blocked &= (Lanes)~state->active;
    return true;
}

static Lanes rather_not_yielded(const ModelState *state, Lanes m) {
    return m & ~state->yield ? (Lanes)(m & ~state->yield) : m;
}

/* ---- predicates ---- */

static uint8_t known_true(const ModelState *state, unsigned lane, uint8_t pred, bool not ) {
    return state->pknown[lane] >> pred & 1 && ((state->pvalue[lane] >> pred & 1) != (unsigned)not );
}
static uint8_t known_false(const ModelState *state, unsigned lane, uint8_t pred, bool not ) {
    return state->pknown[lane] >> pred & 1 && ((state->pvalue[lane] >> pred & 1) == (unsigned)not );
}
static void learn(ModelState *state, unsigned lane, uint8_t pred, bool value) {
    if (pred == NO_PRED)
        return;
    state->pknown[lane] |= (uint8_t)(1u << pred);
    state->pvalue[lane] = (uint8_t)((state->pvalue[lane] & ~(1u << pred)) | (unsigned)value << pred);
}

/* Lanes of `m` whose guard is certainly false, certainly true. */
static void guard_known(const Skel *skel, const ModelState *s, Lanes m, Lanes *yes, Lanes *no) {
    *yes = *no = 0;
    EACH_LANE(i, m) {
        bool a = skel->guard == NO_PRED || known_true(s, i, skel->guard, skel->guard_not);
        bool b = skel->pp == NO_PRED || known_true(s, i, skel->pp, skel->pp_not);
        if (a && b && !skel->unknown)
            *yes |= bit(i);
        if ((skel->guard != NO_PRED && known_false(s, i, skel->guard, skel->guard_not)) ||
            (skel->pp != NO_PRED && known_false(s, i, skel->pp, skel->pp_not)))
            *no |= bit(i);
    }
}

/* Active lanes whose guard is true. */
static bool guard(Stepper *x, const Skel *skel, ModelState *state, uint32_t inst, Oracle *o, Lanes *out) {
    if (!skel->maybe) {
        *out = skel->never ? 0 : state->active;
        return true;
    }
    Lanes yes, no, open;
    uint32_t answer;
    guard_known(skel, state, state->active, &yes, &no);
    open = (Lanes)(state->active & ~yes & ~no);
    if (skel->uniform && open) {
        if (yes | no)
            answer = yes != 0;
        else if (!ask(o, 2, &answer))
            return false;
        yes |= answer ? open : 0;
    } else {
        if (!ask(o, 1u << __builtin_popcount(open), &answer))
            return false;
        EACH_LANE(i, open) {
            yes |= answer & 1 ? bit(i) : 0;
            answer >>= 1;
        }
    }
    EACH_LANE(i, open) {
        bool taken = yes >> i & 1;
        if (skel->pp == NO_PRED || (taken && skel->guard != NO_PRED) ||
            (skel->pp != NO_PRED && known_true(state, i, skel->pp, skel->pp_not)))
            learn(state, i, skel->guard, taken != skel->guard_not);
        if (skel->pp != NO_PRED &&
            (taken || skel->guard == NO_PRED || known_true(state, i, skel->guard, skel->guard_not)))
            learn(state, i, skel->pp, taken != skel->pp_not);
    }
    note(x, inst, MS_GUARD, state->active, yes, NULL);
    *out = yes;
    return true;
}

/* Predicates and mask registers that a data instruction writes. */
static void forget(Stepper *stepper, const Skel *skel, ModelState *state) {
    Lanes yes = state->active, no = 0;
    if (skel->never)
        return;
    if (skel->maybe)
        guard_known(skel, state, state->active, &yes, &no);
    EACH_LANE(i, (Lanes)(state->active & ~no)) {
        state->pknown[i] &= (uint8_t)~skel->pred_defs;
        state->pvalue[i] &= state->pknown[i];
    }
    if (skel->lacks)
        model_answer_question(stepper, skel, state);
    if (skel->track_def == 0xff)
        return;
    EACH_LANE(i, (Lanes)(state->active & ~no)) {
        uint8_t v = 0;
        if (!(yes >> i & 1))
            v = 0; /* perhaps written */
        else if (skel->track_kind == TD_COPY)
            v = state->track[i][skel->track_from];
        else if (skel->track_kind == TD_BARRIER)
            v = (uint8_t)(TRACK_KNOWN | b_value(stepper, state, skel->barrier, i));
        else if (skel->track_kind == TD_ACTIVE)
            v = TRACK_KNOWN | state->active;
        else if (skel->track_kind == TD_CONST) {
            v = (uint8_t)(TRACK_KNOWN | model_lanes_of(stepper, skel->imm));
        }
        state->track[i][skel->track_def] = v;
    }
}

/* ---- the return stack ---- */

/* The vote: each call keeps who was asked last. */
static void note_entered(Stepper *stepper, ModelState *state) {
    EACH_LANE(i, state->active)
        if (state->stack[i]) {
            StackCell cell = stepper->stacks.at[state->stack[i]];
            state->stack[i] = model_push_return(stepper, cell.above, cell.pc, state->active);
        }
}

/* ---- control ---- */

static StepStatus go_on(Stepper *x, const Skel *skel, ModelState *state, uint32_t inst) {
    if (skel->last)
        return bad(x, inst, "control runs over the end of the function");
    place_lanes(state, state->active, inst + 1);
    return STEP_ON;
}

static StepStatus step_branch(Stepper *stepper, const Skel *skel, ModelState *state, uint32_t inst, Lanes g,
                              Oracle *o) {
    Lanes jump = g;
    uint32_t answer;
    if (skel->cond == BRACond_U && skel->any)
        jump = g ? state->active : 0;
    else if (skel->cond == BRACond_U)
        jump = g == state->active ? g : 0;
    else if (skel->cond != BRACond_NoCond && skel->has_mask) {
        if (!ask(o, 2, &answer)) /* the mask is not known */
            return STEP_CHOICE;
        jump = g && answer ? state->active : 0;
    } else if (skel->cond != BRACond_NoCond)
        jump = (g != state->valid) == (skel->cond == BRACond_DIV) ? g : 0;
    if (!jump)
        return go_on(stepper, skel, state, inst);
    if (skel->target == BINFLOW_NONE)
        return bad(stepper, inst, "branch target outside the code");
    Lanes stay = (Lanes)(state->active & ~jump);
    place_lanes(state, jump, skel->target);
    if (!stay)
        return STEP_ON;
    if (skel->last)
        return bad(stepper, inst, "control runs over the end of the function");
    place_lanes(state, stay, inst + 1);
    state->active = stepper->opt.branch_order == MACHINE_TAKEN_FIRST ? jump : stay;
    return STEP_ON;
}

/* Lanes of g go to their own targets. */
static StepStatus scatter(Stepper *x, const Skel *k, ModelState *state, uint32_t inst, Lanes g,
                          const uint32_t *to, Oracle *o) {
    Lanes stay = (Lanes)(state->active & ~g);
    EACH_LANE(i, g)
        state->pc[i] = to[i];
    note(x, inst, MS_TARGET, state->active, g, to);
    if (stay) {
        state->active = stay;
        return go_on(x, k, state, inst);
    }
    Lanes first = g;
    state->active = 0;
    Lanes before = state->blocked;
    if (!resume(x, state, inst, first, o))
        return STEP_CHOICE;
    state->blocked = before;
    state->active &= g; /* lanes that were parked there before stay parked */
    return STEP_ON;
}

static StepStatus branch_indirect(Stepper *x, const Skel *skel, ModelState *s, uint32_t inst, Lanes g,
                                  Oracle *o) {
    uint32_t to[MODEL_MAX_LANES] = {0}, answer, space = 1;
    if (!g)
        return go_on(x, skel, s, inst);
    if (!skel->ntargets)
        return leave_out(x, skel->kind == BK_CALL ? "an indirect call of unknown functions"
                                                  : "an indirect branch with unknown targets");
    if (skel->uniform) {
        if (!ask(o, skel->ntargets, &answer))
            return STEP_CHOICE;
        EACH_LANE(i, g)
            to[i] = skel->targets[answer];
        return scatter(x, skel, s, inst, g, to, o);
    }
    for (int n = __builtin_popcount(g); n && space <= 4096; n--)
        space *= skel->ntargets;
    if (space > 4096)
        return leave_out(x, "an indirect branch with very many targets");
    if (!ask(o, space, &answer))
        return STEP_CHOICE;
    EACH_LANE(i, g) {
        to[i] = skel->targets[answer % skel->ntargets];
        answer /= skel->ntargets;
    }
    return scatter(x, skel, s, inst, g, to, o);
}

static StepStatus step_call(Stepper *stepper, const Skel *skel, ModelState *state, uint32_t inst, Lanes g,
                            Oracle *o) {
    if (!g)
        return go_on(stepper, skel, state, inst);
    if (skel->system) { /* one that does not return ends the launch */
        if (!model_system_call(stepper, skel, state, g))
            return leave_out(stepper, "a call of the driver with barriers set that it may use");
        return system_info((SystemFunc)(skel->system - 1))->returns ? go_on(stepper, skel, state, inst)
                                                                    : STEP_DONE;
    }
    EACH_LANE(i, g) {
        if (state->stack[i] && stepper->stacks.at[state->stack[i]].depth >= stepper->opt.call_depth)
            return leave_out(stepper, "deeper calls");
        state->stack[i] = model_push_return(stepper, state->stack[i], inst + 1, 0);
    }
    if (skel->target == BINFLOW_NONE)
        return branch_indirect(stepper, skel, state, inst, g, o);
    uint32_t to[MODEL_MAX_LANES];
    for (unsigned i = 0; i < MODEL_MAX_LANES; i++)
        to[i] = skel->target;
    return scatter(stepper, skel, state, inst, g, to, o);
}

static StepStatus ret(Stepper *stepper, const Skel *k, ModelState *state, uint32_t inst, Lanes g, Oracle *o) {
    uint32_t to[MODEL_MAX_LANES] = {0};
    if (!g)
        return go_on(stepper, k, state, inst);
    EACH_LANE(i, g) {
        if (!state->stack[i])
            return bad(stepper, inst, "return without a call");
        to[i] = stepper->stacks.at[state->stack[i]].pc;
        state->stack[i] = stepper->stacks.at[state->stack[i]].above;
    }
    return scatter(stepper, k, state, inst, g, to, o);
}

static StepStatus lanes_leave(Stepper *x, const Skel *k, ModelState *state, uint32_t inst, Lanes g,
                              Oracle *o) {
    state->valid &= (Lanes)~g;
    state->active &= (Lanes)~g;
    EACH_LANE(i, g) {
        state->pc[i] = BINFLOW_NONE;
        state->stack[i] = 0;
        state->pknown[i] = state->pvalue[i] = 0;
        memset(state->track[i], 0, sizeof state->track[i]);
    }
    state->yield &= state->valid, state->blocked &= state->valid, state->switch_mask &= state->valid,
        state->tried &= state->valid;
    if (state->active)
        return go_on(x, k, state, inst);
    if (!state->valid)
        return STEP_DONE;
    return resume(x, state, inst, rather_not_yielded(state, state->valid), o) ? STEP_ON : STEP_CHOICE;
}

/* A guard that holds for some lanes only, at an instruction that waits: these stay at it, the others run on.
 */
static StepStatus split(Stepper *x, const Skel *skel, ModelState *state, uint32_t inst, Lanes g) {
    state->active &= (Lanes)~g;
    if (skel->kind == BK_BSYNC || skel->kind == BK_WARPSYNC)
        state->blocked |= g;
    return go_on(x, skel, state, inst);
}

/* Who runs instead of lanes that wait for `pending`; none: nobody, let them pass. */
static Lanes bsync_candidates(const Stepper *stepper, const ModelState *state, Lanes come, Lanes pending) {
    Lanes may_run = (Lanes)(state->valid & ~come & ~state->yield);
    if (pending & may_run)
        return pending & may_run;
    if (pending && stepper->opt.bsync_nb == MACHINE_NB_LITERAL)
        return may_run;
    return pending && stepper->opt.bsync_nb == MACHINE_NB_BLOCKED ? (Lanes)(may_run & ~state->blocked) : 0;
}

static StepStatus bsync_waits(Stepper *stepper, ModelState *state, uint32_t inst, Lanes next, Oracle *o) {
    state->blocked |= state->active;
    state->active = 0;
    return resume(stepper, state, inst, next, o) ? STEP_ON : STEP_CHOICE;
}

static StepStatus bsync_passes(Stepper *stepper, const Skel *skel, ModelState *state, uint32_t inst,
                               Lanes lanes) {
    state->blocked |= (Lanes)(state->active & ~lanes);
    state->active = lanes;
    state->yield &= (Lanes)~lanes;
    state->blocked &= (Lanes)~lanes;
    return go_on(stepper, skel, state, inst);
}

/* Of a B register whose sets are one for each lane, as in sim/machine/members.c: whom the lane waits for. */
static Lanes missing_for(const Stepper *stepper, const ModelState *state, unsigned breg, unsigned lane,
                         Lanes there) {
    Lanes named = companions(state, breg, lane) & state->valid, missing = 0;
    EACH_LANE(i, named & bit(lane) ? named : 0) {
        uint32_t its = calls_around(stepper, state, i), own = calls_around(stepper, state, lane);
        if (its == own ? (companions(state, breg, i) & bit(lane)) && !(there & bit(i)) : its > own)
            missing |= bit(i);
    }
    return missing;
}

/* Does every lane of the warp come to where this lane is, on the way that it came? */
static bool surely(const Stepper *stepper, const Skel *skel, const ModelState *state, unsigned lane) {
    if (!skel->here)
        return false;
    for (uint32_t c = state->stack[lane]; c; c = stepper->stacks.at[c].above)
        if (!stepper->p->at[stepper->stacks.at[c].pc - 1].here)
            return false;
    return true;
}

/* The mask that each lane of `m` brings to a WARPSYNC; false: not known. */
static bool sync_masks(const Stepper *stepper, uint32_t inst, const ModelState *state, Lanes m, Lanes *mask) {
    EACH_LANE(i, m) {
        const Skel *skel = &stepper->p->at[state->active & bit(i) ? inst : state->pc[i]];
        Lanes v = 0;
        if (skel->entered && stepper->stacks.at[state->stack[i]].entered) {
            mask[i] = (Lanes)stepper->stacks.at[state->stack[i]].entered;
            continue;
        }
        if (skel->mask_is_imm) {
            for (unsigned l = 0; l < stepper->nlanes; l++)
                v |= skel->imm >> stepper->lane_number[l] & 1 ? bit(l) : 0;
        } else if (skel->mask_reg != 0xff && state->track[i][skel->mask_reg] & TRACK_KNOWN)
            v = state->track[i][skel->mask_reg] & stepper->all;
        else
            return false;
        mask[i] = skel->mask_not ? (Lanes)(stepper->all & ~v) : v;
        /* A program that names some lanes keeps the others away by its data, which is not followed here. */
        if (mask[i] != stepper->all && !surely(stepper, skel, state, i))
            return false;
    }
    return true;
}

static Lanes at_bsync(const Stepper *stepper, const ModelState *state, unsigned breg, uint32_t inst) {
    Lanes there = 0;
    EACH_LANE(i, state->valid) {
        const Skel *at = &stepper->p->at[state->active & bit(i) ? inst : state->pc[i]];
        there |= at->kind == BK_BSYNC && at->barrier == breg ? bit(i) : 0;
    }
    return there;
}

/* Those that wait at this WARPSYNC, or at one with which it meets. */
static Lanes gathered(const Stepper *stepper, const ModelState *state, uint32_t inst) {
    uint32_t meets = stepper->p->at[inst].meets;
    Lanes found = waiting_at(state, inst);
    EACH_LANE(i, meets ? parked(state) : 0)
        found |= stepper->p->at[state->pc[i]].meets == meets ? bit(i) : 0;
    return found;
}

/* Whom a lane waits for at WARPSYNC. */
static Lanes warpsync_lacks(const Stepper *stepper, const ModelState *state, unsigned lane) {
    const Skel *at = &stepper->p->at[state->pc[lane]];
    Lanes mask[MODEL_MAX_LANES] = {0};
    if (state->active & bit(lane) || at->kind != BK_WARPSYNC)
        return 0;
    Lanes with = gathered(stepper, state, state->pc[lane]);
    return sync_masks(stepper, state->pc[lane], state, with, mask)
               ? (Lanes)(mask[lane] & state->valid & ~with)
               : 0;
}

/* Those of `lanes` that wait at WARPSYNC for one of `here`, or for lanes that do in turn: as in members.c. */
static Lanes stuck_behind(const Stepper *stepper, const ModelState *state, uint32_t inst, Lanes lanes,
                          Lanes here) {
    Lanes stuck = 0;
    EACH_LANE(lane, lanes) {
        Lanes todo = warpsync_lacks(stepper, state, lane), seen = todo;
        while (todo && !(seen & here)) {
            unsigned i = lowest(todo);
            const Skel *at = &stepper->p->at[state->pc[i]];
            Lanes more = at->kind == BK_BSYNC ? missing_for(stepper, state, at->barrier, i,
                                                            at_bsync(stepper, state, at->barrier, inst))
                                              : warpsync_lacks(stepper, state, i);
            todo = (Lanes)((todo & ~bit(i)) | (more & ~seen));
            seen |= more;
        }
        stuck |= seen & here ? bit(lane) : 0;
    }
    return stuck;
}

static StepStatus bsync_of_members(Stepper *stepper, const Skel *skel, ModelState *state, uint32_t inst,
                                   Oracle *o) {
    Lanes there = at_bsync(stepper, state, skel->barrier, inst), missing = 0, pass = 0,
          here = state->active | waiting_at(state, inst);
    uint32_t deepest = 0;
    EACH_LANE(i, here) {
        Lanes lacks = missing_for(stepper, state, skel->barrier, i, there);
        pass |= lacks ? 0 : bit(i);
        if (lacks && calls_around(stepper, state, i) > deepest) { /* those further out wait for these */
            deepest = calls_around(stepper, state, i);
            missing = 0;
        }
        missing |= calls_around(stepper, state, i) == deepest ? lacks : 0;
    }
    missing &= (Lanes)~here;
    Lanes come = missing & (Lanes)~stuck_behind(stepper, state, inst, missing, here);
    Lanes next = pass ? 0 : bsync_candidates(stepper, state, there & ~missing, come);
    if (next)
        return bsync_waits(stepper, state, inst, next, o);
    pass = pass ? pass : here;
    leave_b(stepper, state, skel->barrier, pass);
    return bsync_passes(stepper, skel, state, inst, pass);
}

static StepStatus bsync(Stepper *stepper, const Skel *skel, ModelState *state, uint32_t inst, Lanes g,
                        Oracle *o) {
    if (g != state->active)
        return split(stepper, skel, state, inst, g);
    if (stepper->bssy_assigns)
        return bsync_of_members(stepper, skel, state, inst, o);
    Lanes arrived = state->active | waiting_at(state, inst);
    Lanes cleared = stepper->opt.bsync_clear == MACHINE_CLEAR_ACTIVE ? state->active : arrived;
    state->b[skel->barrier] &= (Lanes)(state->valid & ~cleared);
    Lanes next = bsync_candidates(stepper, state, arrived, (Lanes)state->b[skel->barrier]);
    return next ? bsync_waits(stepper, state, inst, next, o)
                : bsync_passes(stepper, skel, state, inst, arrived);
}

static StepStatus yield(Stepper *stepper, const Skel *k, ModelState *state, uint32_t inst, Lanes g,
                        Oracle *o) {
    if (g != state->active)
        return split(stepper, k, state, inst, g);
    Lanes old = state->active, others = parked(state);
    StepStatus status = go_on(stepper, k, state, inst);
    if (!others || status != STEP_ON)
        return status;
    if (k->kind == BK_YIELD ? stepper->opt.yield_pc == MACHINE_YIELD_OWN
                            : stepper->opt.nanosleep == MACHINE_NANOSLEEP_LITERAL)
        place_lanes(state, old, inst);
    state->switch_mask &= others;
    if (!state->switch_mask)
        state->switch_mask = others;
    Lanes from = rather_not_yielded(state, state->switch_mask);
    state->yield |= old;
    state->active = 0;
    if (!resume(stepper, state, inst, from, o))
        return STEP_CHOICE;
    state->switch_mask &= (Lanes)~state->active;
    if (!state->switch_mask)
        state->switch_mask = parked(state);
    return STEP_ON;
}

/* Lanes that have met go on, those from elsewhere behind their own collective, which they are done with. */
static StepStatus warpsync_passes(Stepper *stepper, ModelState *state, uint32_t inst, Lanes group) {
    const Skel *at = stepper->p->at;
    Lanes old = state->active;
    uint32_t place = old & group ? inst : state->pc[lowest(group)];
    state->tried = 0;
    state->blocked = (Lanes)((state->blocked | old) & ~group);
    EACH_LANE(i, group & (Lanes)~old)
        if (state->pc[i] != place) {
            state->active = bit(i);
            for (uint32_t k = state->pc[i] + 1; k < at[state->pc[i]].target; k++)
                forget(stepper, &at[k], state);
            state->pc[i] = at[state->pc[i]].target;
            group &= (Lanes)~bit(i);
        }
    state->active = group;
    return go_on(stepper, &at[place], state, place);
}

static StepStatus warpsync(Stepper *stepper, const Skel *k, ModelState *state, uint32_t inst, Lanes g,
                           Oracle *o) {
    if (g != state->active)
        return split(stepper, k, state, inst, g);
    Lanes arrived = state->active | gathered(stepper, state, inst), mask[MODEL_MAX_LANES] = {0}, wanted = 0,
          complete = 0;
    if (!sync_masks(stepper, inst, state, arrived, mask)) {
        stepper->assumed_masks++;
        note(stepper, inst, MS_MASK, state->active, arrived, NULL);
        return warpsync_passes(stepper, state, inst, arrived);
    }
    EACH_LANE(i, state->active)
        if (!(mask[i] >> i & 1)) {
            char text[96];
            snprintf(text, sizeof text, "lane %u executes a WARPSYNC that does not name it",
                     stepper->lane_number[i]);
            return bad(stepper, inst, text);
        }
    EACH_LANE(i, arrived) {
        Lanes named = mask[i] & state->valid;
        bool agree = !(named & ~arrived);
        wanted |= named;
        EACH_LANE(t, (Lanes)(named & arrived)) {
            if ((mask[t] & state->valid) != named && stepper->opt.warpsync_agree == MACHINE_AGREE_ASSERT)
                return bad(stepper, inst, "lanes that name each other bring different masks to a WARPSYNC");
            agree = agree && (mask[t] & state->valid) == named;
        }
        complete |= agree ? bit(i) : 0;
    }
    if (!complete && !(wanted & ~arrived))
        return bad(stepper, inst, "lanes that name each other bring different masks to a WARPSYNC");
    if (!complete) {
        bool turns = stepper->warpsync_turns;
        Lanes missing = (Lanes)(wanted & ~arrived), fresh = (Lanes)(missing & ~state->tried);
        if (!fresh) { /* all had their turn */
            state->tried &= (Lanes)~missing;
            fresh = missing;
        }
        state->blocked |= state->active;
        state->active = 0;
        if (!resume(stepper, state, inst, rather_not_yielded(state, fresh), o))
            return STEP_CHOICE;
        state->tried |= turns ? state->active : 0;
        return STEP_ON;
    }
    Lanes group = mask[lowest(complete)] & state->valid;
    EACH_LANE(i, k->joins ? complete : 0)
        group |= mask[i] & state->valid;
    return warpsync_passes(stepper, state, inst, group);
}

static void b_register(Stepper *stepper, const Skel *skel, ModelState *state, Lanes g) {
    unsigned breg = skel->barrier;
    switch (skel->kind) {
    case BK_BSSY: join_b(stepper, state, breg, g); break;
    case BK_BREAK: leave_b(stepper, state, breg, g); break;
    case BK_BMOV_TO_B:
        EACH_LANE(i, g) {
            uint8_t v = skel->mask_reg != 0xff ? state->track[i][skel->mask_reg] : 0;
            Lanes lanes = v & TRACK_KNOWN ? v & stepper->all : 0;
            if (stepper->bssy_assigns)
                set_companions(state, breg, i, lanes);
            else if (i == lowest(g))
                state->b[breg] = lanes;
        }
        break;
    default:
        if (skel->clear)
            clear_b(stepper, state, breg, g, !skel->drops);
        break;
    }
}

static StepStatus execute(Stepper *x, const Skel *skel, ModelState *state, uint32_t inst, Oracle *o) {
    Lanes g = state->active;
    if (skel->fails) /* of other compilers' code it may be an instruction that is not known here */
        return x->p->native ? leave_out(x, "what follows a word that is not decoded")
                            : bad(x, inst, "control comes to a word that is no instruction");
    if (skel->kind == BK_COLLECTIVE && skel->needs_all && state->active != state->valid)
        return bad(x, inst, "a part of the warp executes a collective that every lane comes to");
    if (skel->kind == BK_PLAIN || skel->kind == BK_NOP || skel->kind == BK_COLLECTIVE) {
        forget(x, skel, state);
        if (skel->entered)
            note_entered(x, state);
        return go_on(x, skel, state, inst);
    }
    if (skel->kind != BK_BAR && !guard(x, skel, state, inst, o, &g))
        return STEP_CHOICE;
    switch (skel->kind) {
    case BK_BRANCH: return step_branch(x, skel, state, inst, g, o);
    case BK_BRANCH_INDIRECT: return branch_indirect(x, skel, state, inst, g, o);
    case BK_CALL: return step_call(x, skel, state, inst, g, o);
    case BK_RET: return ret(x, skel, state, inst, g, o);
    case BK_EXIT: return g ? lanes_leave(x, skel, state, inst, g, o) : go_on(x, skel, state, inst);
    case BK_TRAP: /* the launch ends */ return g ? STEP_DONE : go_on(x, skel, state, inst);
    case BK_BSYNC: return bsync(x, skel, state, inst, g, o);
    case BK_YIELD:
    case BK_NANOSLEEP: return yield(x, skel, state, inst, g, o);
    case BK_WARPSYNC: return warpsync(x, skel, state, inst, g, o);
    case BK_BAR:
        if (state->active != state->valid)
            return bad(x, inst, "a part of the warp executes a barrier of the block");
        return go_on(x, skel, state, inst);
    default:
        if (skel->kind == BK_BMOV_FROM_B)
            forget(x, skel, state);
        b_register(x, skel, state, g);
        return go_on(x, skel, state, inst);
    }
}

/* One form for each state: what no longer matters is zero. */
static void canonical(const Stepper *stepper, ModelState *state) {
    EACH_LANE(i, state->active)
        state->pc[i] = stepper->p->at[state->pc[i]].next; /* those that wait are where they are */
    EACH_LANE(i, state->valid) {
        uint16_t live = stepper->p->at[state->pc[i]].live;
        state->pknown[i] &= (uint8_t)(live & 0x7f);
        state->pvalue[i] &= state->pknown[i];
        for (unsigned t = 0; t < MODEL_TRACKED; t++)
            if (!(live >> (7 + t) & 1))
                state->track[i][t] = 0;
    }
    uint16_t valid = stepper->bssy_assigns ? 0 : state->valid;
    if (stepper->bssy_assigns)
        EACH_LANE(i, state->valid)
            valid |= (uint16_t)(state->valid << MODEL_MAX_LANES * i);
    for (unsigned b = 0; b < 16; b++)
        state->b[b] &= valid;
}

StepStatus model_step(Stepper *stepper, ModelState *s, Oracle *oracle) {
    uint32_t inst = here(s);
    oracle->used = 0;
    unsigned logged = stepper->log ? stepper->log->n : 0;
    StepStatus status = execute(stepper, &stepper->p->at[inst], s, inst, oracle);
    if (status == STEP_CHOICE && stepper->log)
        stepper->log->n = logged;
    if (status == STEP_ON)
        canonical(stepper, s);
    return status;
}

void model_start(Stepper *stepper, uint32_t kernel_inst, ModelState *state) {
    memset(state, 0, sizeof *state);
    stepper->all = (uint8_t)((1u << stepper->nlanes) - 1);
    state->valid = state->active = stepper->all;
    for (unsigned i = 0; i < MODEL_MAX_LANES; i++)
        state->pc[i] = i < stepper->nlanes ? kernel_inst : BINFLOW_NONE;
    if (!stepper->stacks.n)
        VEC_ADD(stepper->arena, &stepper->stacks, ((StackCell){0}));
    canonical(stepper, state);
}
