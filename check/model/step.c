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

typedef uint8_t Lanes;

static unsigned lowest(Lanes m) { return (unsigned)__builtin_ctz(m); }
static Lanes bit(unsigned lane) { return (Lanes)(1u << lane); }
#define EACH_LANE(i, m)                                                                                      \
    for (Lanes m_##i = (m); m_##i; m_##i &= (Lanes)(m_##i - 1))                                              \
        for (unsigned i = lowest(m_##i), once_##i = 1; once_##i; once_##i = 0)

/* The answer to a question with `radix` answers; false: there is none yet. */
static bool ask(Oracle *o, uint32_t radix, uint32_t *answer) {
    if (radix <= 1) {
        *answer = 0;
        return true;
    }
    if (o->used == o->n) {
        o->radix = radix;
        return false;
    }
    *answer = o->digit[o->used++];
    return true;
}

static void note(Stepper *x, uint32_t inst, ModelStepKind kind, Lanes active, Lanes chosen,
                 const uint32_t *target) {
    if (!x->log)
        return;
    ModelStep s = {.inst = inst, .kind = (uint8_t)kind, .active = active, .chosen = chosen};
    if (target)
        memcpy(s.target, target, sizeof s.target);
    VEC_ADD(x->arena, x->log, s);
}

static StepStatus bad(Stepper *x, uint32_t inst, const char *text) {
    x->bad_inst = inst;
    snprintf(x->bad, sizeof x->bad, "%s", text);
    return STEP_BAD;
}

static StepStatus leave_out(Stepper *x, const char *why) {
    x->left_out = why;
    return STEP_LEFT_OUT;
}

/* ---- where lanes are ---- */

static uint32_t here(const ModelState *s) { return s->pc[lowest(s->active)]; }
static void place(ModelState *s, Lanes m, uint32_t pc) { EACH_LANE(i, m) s->pc[i] = pc; }
static Lanes parked(const ModelState *s) { return (Lanes)(s->valid & ~s->active); }
static Lanes waiting_at(const ModelState *s, uint32_t pc) {
    Lanes found = 0;
    EACH_LANE(i, parked(s))
    if (s->pc[i] == pc)
        found |= bit(i);
    return found;
}

/* A parked lane of `from` becomes active, with all that wait at the same place. */
static bool resume(Stepper *x, ModelState *s, uint32_t inst, Lanes from, Oracle *o) {
    Lanes different = 0; /* one lane of each place */
    uint32_t seen[MODEL_MAX_LANES], n = 0, answer = 0;
    unsigned lane = lowest(from);
    if (x->opt.lane_choice == MACHINE_LANE_HIGHEST)
        lane = 31u - (unsigned)__builtin_clz(from);
    else if (x->opt.lane_choice != MACHINE_LANE_LOWEST) {
        EACH_LANE(i, from) {
            bool known = false;
            for (uint32_t k = 0; k < n; k++)
                known |= seen[k] == s->pc[i];
            if (!known) {
                seen[n++] = s->pc[i];
                different |= bit(i);
            }
        }
        if (!ask(o, n, &answer))
            return false;
        while (answer--)
            different &= (Lanes)(different - 1);
        lane = lowest(different);
        note(x, inst, MS_PICK, 0, bit(lane), NULL);
    }
    Lanes together = waiting_at(s, s->pc[lane]);
    s->active = x->opt.join_scope == MACHINE_JOIN_CANDIDATES ? together & from : together;
    s->blocked &= (Lanes)~s->active;
    return true;
}

static Lanes rather_not_yielded(const ModelState *s, Lanes m) {
    return m & ~s->yield ? (Lanes)(m & ~s->yield) : m;
}

/* ---- predicates ---- */

static uint8_t known_true(const ModelState *s, unsigned lane, uint8_t pred, bool not ) {
    return s->pknown[lane] >> pred & 1 && ((s->pvalue[lane] >> pred & 1) != (unsigned)not );
}
static uint8_t known_false(const ModelState *s, unsigned lane, uint8_t pred, bool not ) {
    return s->pknown[lane] >> pred & 1 && ((s->pvalue[lane] >> pred & 1) == (unsigned)not );
}
static void learn(ModelState *s, unsigned lane, uint8_t pred, bool value) {
    if (pred == NO_PRED)
        return;
    s->pknown[lane] |= (uint8_t)(1u << pred);
    s->pvalue[lane] = (uint8_t)((s->pvalue[lane] & ~(1u << pred)) | (unsigned)value << pred);
}

/* Lanes of `m` whose guard is certainly false, certainly true. */
static void guard_known(const Skel *k, const ModelState *s, Lanes m, Lanes *yes, Lanes *no) {
    *yes = *no = 0;
    EACH_LANE(i, m) {
        bool a = k->guard == NO_PRED || known_true(s, i, k->guard, k->guard_not);
        bool b = k->pp == NO_PRED || known_true(s, i, k->pp, k->pp_not);
        if (a && b && !k->unknown)
            *yes |= bit(i);
        if ((k->guard != NO_PRED && known_false(s, i, k->guard, k->guard_not)) ||
            (k->pp != NO_PRED && known_false(s, i, k->pp, k->pp_not)))
            *no |= bit(i);
    }
}

/* Active lanes whose guard is true. */
static bool guard(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Oracle *o, Lanes *out) {
    if (!k->maybe) {
        *out = k->never ? 0 : s->active;
        return true;
    }
    Lanes yes, no, open;
    uint32_t answer;
    guard_known(k, s, s->active, &yes, &no);
    open = (Lanes)(s->active & ~yes & ~no);
    if (k->uniform && open) {
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
        if (k->pp == NO_PRED || (taken && k->guard != NO_PRED) ||
            (k->pp != NO_PRED && known_true(s, i, k->pp, k->pp_not)))
            learn(s, i, k->guard, taken != k->guard_not);
        if (k->pp != NO_PRED && (taken || k->guard == NO_PRED || known_true(s, i, k->guard, k->guard_not)))
            learn(s, i, k->pp, taken != k->pp_not);
    }
    note(x, inst, MS_GUARD, s->active, yes, NULL);
    *out = yes;
    return true;
}

/* Predicates and mask registers that a data instruction writes. */
static void forget(Stepper *x, const Skel *k, ModelState *s) {
    Lanes yes = s->active, no = 0;
    if (k->never)
        return;
    if (k->maybe)
        guard_known(k, s, s->active, &yes, &no);
    EACH_LANE(i, (Lanes)(s->active & ~no)) {
        s->pknown[i] &= (uint8_t)~k->pred_defs;
        s->pvalue[i] &= s->pknown[i];
    }
    if (k->track_def == 0xff)
        return;
    EACH_LANE(i, (Lanes)(s->active & ~no)) {
        uint8_t v = 0;
        if (!(yes >> i & 1))
            v = 0; /* perhaps written */
        else if (k->track_kind == TD_COPY)
            v = s->track[i][k->track_from];
        else if (k->track_kind == TD_BARRIER)
            v = TRACK_KNOWN | s->b[k->barrier];
        else if (k->track_kind == TD_ACTIVE)
            v = TRACK_KNOWN | s->active;
        else if (k->track_kind == TD_CONST) {
            v = TRACK_KNOWN;
            for (unsigned l = 0; l < x->nlanes; l++)
                v |= k->imm >> x->lane_number[l] & 1 ? (uint8_t)bit(l) : 0;
        }
        s->track[i][k->track_def] = v;
    }
}

/* ---- the return stack ---- */

static uint32_t push_return(Stepper *x, uint32_t above, uint32_t pc) {
    if ((x->stacks.n + 1) * 2 > x->nstack_slots) {
        x->nstack_slots = x->nstack_slots ? x->nstack_slots * 2 : 64;
        x->stack_slots = ARENA_ARRAY(x->arena, uint32_t, x->nstack_slots);
        for (uint32_t i = 1; i < x->stacks.n; i++) {
            uint64_t key = (uint64_t)x->stacks.at[i].above << 32 | x->stacks.at[i].pc;
            uint32_t h = (uint32_t)XXH3_64bits(&key, 8) & (x->nstack_slots - 1);
            while (x->stack_slots[h])
                h = (h + 1) & (x->nstack_slots - 1);
            x->stack_slots[h] = i;
        }
    }
    uint64_t key = (uint64_t)above << 32 | pc;
    uint32_t h = (uint32_t)XXH3_64bits(&key, 8) & (x->nstack_slots - 1);
    for (; x->stack_slots[h]; h = (h + 1) & (x->nstack_slots - 1)) {
        const StackCell *c = &x->stacks.at[x->stack_slots[h]];
        if (c->above == above && c->pc == pc)
            return x->stack_slots[h];
    }
    StackCell c = {above, pc, above ? x->stacks.at[above].depth + 1 : 1};
    VEC_ADD(x->arena, &x->stacks, c);
    return x->stack_slots[h] = x->stacks.n - 1;
}

/* ---- control ---- */

static StepStatus go_on(Stepper *x, const Skel *k, ModelState *s, uint32_t inst) {
    if (k->last)
        return bad(x, inst, "control runs over the end of the function");
    place(s, s->active, inst + 1);
    return STEP_ON;
}

static StepStatus branch(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g, Oracle *o) {
    Lanes jump = g;
    uint32_t answer;
    if (k->cond == BRACond_U)
        jump = g == s->active ? g : 0;
    else if (k->cond != BRACond_NoCond && k->has_mask) {
        if (!ask(o, 2, &answer)) /* the mask is not known */
            return STEP_CHOICE;
        jump = g && answer ? s->active : 0;
    } else if (k->cond != BRACond_NoCond)
        jump = (g != s->valid) == (k->cond == BRACond_DIV) ? g : 0;
    if (!jump)
        return go_on(x, k, s, inst);
    if (k->target == BINFLOW_NONE)
        return bad(x, inst, "branch target outside the code");
    Lanes stay = (Lanes)(s->active & ~jump);
    place(s, jump, k->target);
    if (!stay)
        return STEP_ON;
    if (k->last)
        return bad(x, inst, "control runs over the end of the function");
    place(s, stay, inst + 1);
    s->active = x->opt.branch_order == MACHINE_TAKEN_FIRST ? jump : stay;
    return STEP_ON;
}

/* Lanes of g go to their own targets. */
static StepStatus scatter(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g,
                          const uint32_t *to, Oracle *o) {
    Lanes stay = (Lanes)(s->active & ~g);
    EACH_LANE(i, g) s->pc[i] = to[i];
    note(x, inst, MS_TARGET, s->active, g, to);
    if (stay) {
        s->active = stay;
        return go_on(x, k, s, inst);
    }
    Lanes first = g;
    s->active = 0;
    Lanes before = s->blocked;
    if (!resume(x, s, inst, first, o))
        return STEP_CHOICE;
    s->blocked = before;
    s->active &= g; /* lanes that were parked there before stay parked */
    return STEP_ON;
}

static StepStatus branch_indirect(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g,
                                  Oracle *o) {
    uint32_t to[MODEL_MAX_LANES] = {0}, answer, space = 1;
    if (!g)
        return go_on(x, k, s, inst);
    if (!k->ntargets)
        return leave_out(x, k->kind == BK_CALL ? "an indirect call of unknown functions"
                                               : "an indirect branch with unknown targets");
    if (k->uniform) {
        if (!ask(o, k->ntargets, &answer))
            return STEP_CHOICE;
        EACH_LANE(i, g) to[i] = k->targets[answer];
        return scatter(x, k, s, inst, g, to, o);
    }
    for (int n = __builtin_popcount(g); n && space <= 4096; n--)
        space *= k->ntargets;
    if (space > 4096)
        return leave_out(x, "an indirect branch with very many targets");
    if (!ask(o, space, &answer))
        return STEP_CHOICE;
    EACH_LANE(i, g) {
        to[i] = k->targets[answer % k->ntargets];
        answer /= k->ntargets;
    }
    return scatter(x, k, s, inst, g, to, o);
}

static StepStatus call(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g, Oracle *o) {
    if (!g)
        return go_on(x, k, s, inst);
    EACH_LANE(i, g) {
        if (s->stack[i] && x->stacks.at[s->stack[i]].depth >= x->opt.call_depth)
            return leave_out(x, "deeper calls");
        s->stack[i] = push_return(x, s->stack[i], inst + 1);
    }
    if (k->target == BINFLOW_NONE)
        return branch_indirect(x, k, s, inst, g, o);
    uint32_t to[MODEL_MAX_LANES];
    for (unsigned i = 0; i < MODEL_MAX_LANES; i++)
        to[i] = k->target;
    return scatter(x, k, s, inst, g, to, o);
}

static StepStatus ret(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g, Oracle *o) {
    uint32_t to[MODEL_MAX_LANES] = {0};
    if (!g)
        return go_on(x, k, s, inst);
    EACH_LANE(i, g) {
        if (!s->stack[i])
            return bad(x, inst, "return without a call");
        to[i] = x->stacks.at[s->stack[i]].pc;
        s->stack[i] = x->stacks.at[s->stack[i]].above;
    }
    return scatter(x, k, s, inst, g, to, o);
}

static StepStatus leave(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g, Oracle *o) {
    s->valid &= (Lanes)~g;
    s->active &= (Lanes)~g;
    EACH_LANE(i, g) {
        s->pc[i] = BINFLOW_NONE;
        s->stack[i] = 0;
        s->pknown[i] = s->pvalue[i] = 0;
        memset(s->track[i], 0, sizeof s->track[i]);
    }
    s->yield &= s->valid, s->blocked &= s->valid, s->switch_mask &= s->valid, s->tried &= s->valid;
    if (s->active)
        return go_on(x, k, s, inst);
    if (!s->valid)
        return STEP_DONE;
    return resume(x, s, inst, rather_not_yielded(s, s->valid), o) ? STEP_ON : STEP_CHOICE;
}

/* A guard that holds for some lanes only, at an instruction that waits: these stay at it, the others run on.
 */
static StepStatus split(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g) {
    s->active &= (Lanes)~g;
    if (k->kind == BK_BSYNC || k->kind == BK_WARPSYNC)
        s->blocked |= g;
    return go_on(x, k, s, inst);
}

static StepStatus bsync(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g, Oracle *o) {
    if (g != s->active)
        return split(x, k, s, inst, g);
    Lanes arrived = s->active | waiting_at(s, inst);
    Lanes cleared = x->opt.literal & MODEL_LITERAL_STALE ? s->active : arrived;
    s->b[k->barrier] &= (uint8_t)(s->valid & ~cleared);
    Lanes pending = s->b[k->barrier], may_run = (Lanes)(s->valid & ~arrived & ~s->yield), next = 0;
    if (pending & may_run)
        next = pending & may_run;
    else if (pending && x->opt.bsync_nb == MACHINE_NB_LITERAL)
        next = may_run;
    else if (pending && x->opt.bsync_nb == MACHINE_NB_BLOCKED)
        next = (Lanes)(may_run & ~s->blocked);
    if (next) {
        s->blocked |= s->active;
        s->active = 0;
        return resume(x, s, inst, next, o) ? STEP_ON : STEP_CHOICE;
    }
    s->active = arrived;
    s->yield &= (Lanes)~arrived;
    s->blocked &= (Lanes)~arrived;
    return go_on(x, k, s, inst);
}

static StepStatus yield(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g, Oracle *o) {
    if (g != s->active)
        return split(x, k, s, inst, g);
    Lanes old = s->active, others = parked(s);
    StepStatus status = go_on(x, k, s, inst);
    if (!others || status != STEP_ON)
        return status;
    if (x->opt.literal & MODEL_LITERAL_YIELD_PC)
        place(s, old, inst);
    s->switch_mask &= others;
    if (!s->switch_mask)
        s->switch_mask = others;
    Lanes from = rather_not_yielded(s, s->switch_mask);
    s->yield |= old;
    s->active = 0;
    if (!resume(x, s, inst, from, o))
        return STEP_CHOICE;
    s->switch_mask &= (Lanes)~s->active;
    if (!s->switch_mask)
        s->switch_mask = parked(s);
    return STEP_ON;
}

/* Does every lane of the warp come to where this lane is, on the way that it came? */
static bool surely(const Stepper *x, const Skel *k, const ModelState *s, unsigned lane) {
    if (!k->here)
        return false;
    for (uint32_t c = s->stack[lane]; c; c = x->stacks.at[c].above)
        if (!x->p->at[x->stacks.at[c].pc - 1].here)
            return false;
    return true;
}

/* The mask that each lane of `m` brings to a WARPSYNC; false: not known. */
static bool sync_masks(const Stepper *x, const Skel *k, const ModelState *s, Lanes m, Lanes *mask) {
    EACH_LANE(i, m) {
        Lanes v = 0;
        if (k->mask_is_imm) {
            for (unsigned l = 0; l < x->nlanes; l++)
                v |= k->imm >> x->lane_number[l] & 1 ? bit(l) : 0;
        } else if (k->mask_reg != 0xff && s->track[i][k->mask_reg] & TRACK_KNOWN)
            v = s->track[i][k->mask_reg] & x->all;
        else
            return false;
        mask[i] = k->mask_not ? (Lanes)(x->all & ~v) : v;
        /* A program that names some lanes keeps the others away by its data, which is not followed here. */
        if (mask[i] != x->all && !surely(x, k, s, i))
            return false;
    }
    return true;
}

static StepStatus warpsync(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Lanes g, Oracle *o) {
    if (g != s->active)
        return split(x, k, s, inst, g);
    Lanes arrived = s->active | waiting_at(s, inst), mask[MODEL_MAX_LANES] = {0}, wanted = 0, complete = 0;
    if (!sync_masks(x, k, s, arrived, mask)) {
        x->assumed_masks++;
        note(x, inst, MS_MASK, s->active, arrived, NULL);
        s->active = arrived;
        s->blocked &= (Lanes)~arrived;
        return go_on(x, k, s, inst);
    }
    EACH_LANE(i, s->active)
    if (!(mask[i] >> i & 1)) {
        char text[96];
        snprintf(text, sizeof text, "lane %u executes a WARPSYNC that does not name it", x->lane_number[i]);
        return bad(x, inst, text);
    }
    EACH_LANE(i, arrived) {
        Lanes named = mask[i] & s->valid;
        bool agree = !(named & ~arrived);
        wanted |= named;
        EACH_LANE(t, (Lanes)(named & arrived)) agree = agree && (mask[t] & s->valid) == named;
        complete |= agree ? bit(i) : 0;
    }
    if (!complete && !(wanted & ~arrived))
        return bad(x, inst, "lanes that name each other bring different masks to a WARPSYNC");
    if (!complete) {
        Lanes missing = (Lanes)(wanted & ~arrived), fresh = (Lanes)(missing & ~s->tried);
        if (!fresh) { /* all had their turn */
            s->tried &= (Lanes)~missing;
            fresh = missing;
        }
        s->blocked |= s->active;
        s->active = 0;
        if (!resume(x, s, inst, rather_not_yielded(s, fresh), o))
            return STEP_CHOICE;
        s->tried |= s->active;
        return STEP_ON;
    }
    s->tried = 0;
    Lanes group = mask[lowest(complete)] & s->valid;
    s->blocked |= (Lanes)(s->active & ~group);
    s->active = group;
    s->blocked &= (Lanes)~group;
    return go_on(x, k, s, inst);
}

static void b_register(Stepper *x, const Skel *k, ModelState *s, Lanes g) {
    uint8_t *b = &s->b[k->barrier];
    switch (k->kind) {
    case BK_BSSY: *b |= g; break;
    case BK_BREAK: *b &= (uint8_t)~g; break;
    case BK_BMOV_TO_B:
        if (g && k->mask_reg != 0xff && s->track[lowest(g)][k->mask_reg] & TRACK_KNOWN)
            *b = s->track[lowest(g)][k->mask_reg] & x->all;
        else if (g)
            *b = 0;
        break;
    default:
        if (g && k->clear)
            *b = 0;
        break;
    }
}

static StepStatus execute(Stepper *x, const Skel *k, ModelState *s, uint32_t inst, Oracle *o) {
    Lanes g = s->active;
    if (k->fails)
        return bad(x, inst, "control comes to a word that is no instruction");
    if (k->kind == BK_COLLECTIVE && k->needs_all && s->active != s->valid)
        return bad(x, inst, "a part of the warp executes a collective that every lane comes to");
    if (k->kind == BK_PLAIN || k->kind == BK_NOP || k->kind == BK_COLLECTIVE) {
        forget(x, k, s);
        return go_on(x, k, s, inst);
    }
    if (k->kind != BK_BAR && !guard(x, k, s, inst, o, &g))
        return STEP_CHOICE;
    switch (k->kind) {
    case BK_BRANCH: return branch(x, k, s, inst, g, o);
    case BK_BRANCH_INDIRECT: return branch_indirect(x, k, s, inst, g, o);
    case BK_CALL: return call(x, k, s, inst, g, o);
    case BK_RET: return ret(x, k, s, inst, g, o);
    case BK_EXIT: return g ? leave(x, k, s, inst, g, o) : go_on(x, k, s, inst);
    case BK_TRAP: /* the launch ends */ return g ? STEP_DONE : go_on(x, k, s, inst);
    case BK_BSYNC: return bsync(x, k, s, inst, g, o);
    case BK_YIELD:
    case BK_NANOSLEEP: return yield(x, k, s, inst, g, o);
    case BK_WARPSYNC: return warpsync(x, k, s, inst, g, o);
    case BK_BAR:
        if (s->active != s->valid)
            return bad(x, inst, "a part of the warp executes a barrier of the block");
        return go_on(x, k, s, inst);
    default:
        if (k->kind == BK_BMOV_FROM_B)
            forget(x, k, s);
        b_register(x, k, s, g);
        return go_on(x, k, s, inst);
    }
}

/* One form for each state: what no longer matters is zero. */
static void canonical(const Stepper *x, ModelState *s) {
    EACH_LANE(i, s->active) s->pc[i] = x->p->at[s->pc[i]].next; /* those that wait are where they are */
    EACH_LANE(i, s->valid) {
        uint16_t live = x->p->at[s->pc[i]].live;
        s->pknown[i] &= (uint8_t)(live & 0x7f);
        s->pvalue[i] &= s->pknown[i];
        for (unsigned t = 0; t < MODEL_TRACKED; t++)
            if (!(live >> (7 + t) & 1))
                s->track[i][t] = 0;
    }
    for (unsigned b = 0; b < 16; b++)
        s->b[b] &= s->valid;
}

StepStatus model_step(Stepper *x, ModelState *s, Oracle *o) {
    uint32_t inst = here(s);
    o->used = 0;
    unsigned logged = x->log ? x->log->n : 0;
    StepStatus status = execute(x, &x->p->at[inst], s, inst, o);
    if (status == STEP_CHOICE && x->log)
        x->log->n = logged;
    if (status == STEP_ON)
        canonical(x, s);
    return status;
}

void model_start(Stepper *x, uint32_t kernel_inst, ModelState *s) {
    memset(s, 0, sizeof *s);
    x->all = (uint8_t)((1u << x->nlanes) - 1);
    s->valid = s->active = x->all;
    for (unsigned i = 0; i < MODEL_MAX_LANES; i++)
        s->pc[i] = i < x->nlanes ? kernel_inst : BINFLOW_NONE;
    if (!x->stacks.n)
        VEC_ADD(x->arena, &x->stacks, ((StackCell){0}));
    canonical(x, s);
}
