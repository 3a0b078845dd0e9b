/* Replay of a counterexample: every integer, logic, comparison, select and move instruction on the concrete
 * path is executed by the simulator's own functions, on the registers that the assignment gives, and must
 * compute what the prover believes; only then a region is called refuted. What loads, calls and uninterpreted
 * float operations return is part of the assignment. The PTX side is evaluated by term_eval.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include "check/prove/core/judge.h"
#include "sim/machine/lane.h"
#include <string.h>

typedef struct {
    Prover *p;
    LaneMachine *lane;
    TermEval *e;
    Term *base;
    bool agrees;
    uint32_t steps;
} Replay;

/* Computes on registers alone what one lane can compute, bit for bit. */
static bool is_exact(unsigned optype) {
    const OpTraits *traits = isa_traits(optype);
    return traits->exact == ISA_EXACT_BITS && traits->uniform == ISA_UNIFORM_BY_DATA && !traits->effects &&
           !traits->space && traits->lanes != ISA_LANES_COLLECTIVE &&
           traits->simulated != ISA_SIMULATED_ABSENT;
}

static uint32_t location(Operand o, unsigned c) {
    static const uint32_t base[] = {[RF_R] = LOC_R, [RF_P] = LOC_P, [RF_UR] = LOC_UR, [RF_UP] = LOC_UP};
    static const uint32_t none[] = {[RF_R] = REG_RZ, [RF_P] = REG_PT, [RF_UR] = NUM_UR, [RF_UP] = REG_UPT};
    if (o.kind != OPK_REG || o.file >= RF_B || o.value + c >= none[o.file])
        return UINT32_MAX;
    return base[o.file] + o.value + c;
}

static void give(Replay *replay, Operand o, unsigned words, Term *const *val) {
    for (unsigned c = 0; c < words; c++) {
        uint32_t l = location(o, c);
        if (l != UINT32_MAX)
            machine_lane_set(replay->lane, (RegFile)o.file, o.value + c,
                             (uint32_t)term_eval(replay->e, val[l]));
    }
}

/* Called behind every instruction of the symbolic run. */
static void watch_inst(void *user, const MachInst *in, uint32_t at, bool exact, Term *full,
                       Term *const *before, Term *const *after, Term *const *words) {
    Replay *replay = user;
    Prover *prover = replay->p;
    if (!replay->agrees || !exact || !is_exact(in->optype) || !term_eval(replay->e, full) ||
        !term_eval(replay->e, replay->base))
        return;
    const Target *t = prover->flow->bin->target;
    MachInst i = *in;
    i.guard = op_pt();
    for (unsigned s = 0; s < i.nsrc; s++) {
        unsigned n = isa_src_regs(t, &i, s);
        give(replay, i.src[s], n ? n : 1, before);
        bool address = i.src[s].kind == OPK_IMM && prover->fixup[at];
        if (i.src[s].kind != OPK_CMEM && !address)
            continue;
        /* its value through registers that nobody uses */
        uint8_t mods = i.src[s].mods;
        for (unsigned c = 0; c < 2; c++)
            if (words[2 * s + c])
                machine_lane_set(replay->lane, RF_R, 240 + 2 * s + c,
                                 (uint32_t)term_eval(replay->e, words[2 * s + c]));
        i.src[s] = op_with(op_reg(RF_R, 240 + 2 * s, n == 2 ? 2 : 1), mods);
    }
    if (!machine_lane_step(replay->lane, &i)) {
        replay->agrees = false;
        return;
    }
    replay->steps++;
    for (unsigned d = 0; d < i.ndst; d++) {
        unsigned n = isa_dst_regs(t, &i, d);
        for (unsigned c = 0; c < (n ? n : 1); c++) {
            uint32_t l = location(i.dst[d], c);
            if (l != UINT32_MAX &&
                machine_lane_get(replay->lane, (RegFile)i.dst[d].file, i.dst[d].value + c) !=
                    (uint32_t)term_eval(replay->e, after[l]))
                replay->agrees = false;
        }
    }
}

bool prove_judge_replay(Judge *judge, uint64_t seed) {
    Prover *prover = &judge->core->p;
    Cut *cut = judge->q;
    Replay r = {.p = prover,
                .lane = machine_lane_new(prover->flow->bin),
                .base = judge->base ? judge->base : prover->ts.truth,
                .agrees = true};
    if (!r.lane)
        return false;
    bool *stop = ARENA_ARRAY(&prover->arena, bool, prover->ff->nblocks + 1);
    for (uint32_t b = 0; b < prover->ff->nblocks; b++)
        stop[b] = judge->core->mach_stop[b] && !cut->pass_mach[b];
    r.e = term_eval_new(&prover->ts, seed);
    prover->watch = watch_inst;
    prover->watch_user = &r;
    prover->watched = cut->watched;
    Run again;
    prove_mach_run(prover, cut->mach, cut->lv, cut->mem, stop, &again);
    prover->watch = NULL;
    term_eval_free(r.e);
    machine_lane_free(r.lane);
    return r.agrees && !again.fault;
}
