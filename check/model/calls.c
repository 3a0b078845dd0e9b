/* The model checker's calls: return addresses, and the driver's functions, whose code is not there. What
 * these leave in registers and barriers that they need not keep is not known behind them.
 * SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include "isa/machine/abi.h"
#include <xxhash.h>

/* ---- the return stack ---- */

static uint32_t stack_slot(const Stepper *stepper, StackCell cell) {
    const uint32_t key[3] = {cell.above, cell.pc, cell.entered};
    uint32_t h = (uint32_t)XXH3_64bits(key, sizeof key) & (stepper->nstack_slots - 1);
    for (; stepper->stack_slots[h]; h = (h + 1) & (stepper->nstack_slots - 1)) {
        const StackCell *c = &stepper->stacks.at[stepper->stack_slots[h]];
        if (c->above == cell.above && c->pc == cell.pc && c->entered == cell.entered)
            break;
    }
    return h;
}

uint32_t model_push_return(Stepper *stepper, uint32_t above, uint32_t pc, Lanes entered) {
    StackCell cell = {above, pc, above ? stepper->stacks.at[above].depth + 1 : 1, entered};
    if ((stepper->stacks.n + 1) * 2 > stepper->nstack_slots) {
        stepper->nstack_slots = stepper->nstack_slots ? stepper->nstack_slots * 2 : 64;
        stepper->stack_slots = ARENA_ARRAY(stepper->arena, uint32_t, stepper->nstack_slots);
        for (uint32_t i = 1; i < stepper->stacks.n; i++)
            stepper->stack_slots[stack_slot(stepper, stepper->stacks.at[i])] = i;
    }
    uint32_t slot = stack_slot(stepper, cell);
    if (!stepper->stack_slots[slot]) {
        VEC_ADD(stepper->arena, &stepper->stacks, cell);
        stepper->stack_slots[slot] = stepper->stacks.n - 1;
    }
    return stepper->stack_slots[slot];
}

/* ---- the driver's functions ---- */

void model_find_system_calls(ModelProgram *program) {
    for (uint32_t f = 0; f < program->g->bin->nfuncs; f++)
        for (uint32_t c = 0; c < program->g->funcs[f].ncalls; c++) {
            const BinCall *call = &program->g->funcs[f].calls[c];
            if (call->system == SYSTEM_COUNT)
                continue;
            program->at[call->inst].system = (uint8_t)(1 + call->system);
            program->at[call->inst].ntargets = 0;
        }
}

bool model_system_call(const Stepper *stepper, const Skel *skel, ModelState *state, Lanes lanes) {
    if (!system_info((SystemFunc)(skel->system - 1))->returns)
        return true;
    for (unsigned b = 0; b < ABI_OPEN_BARRIERS; b++)
        if (state->b[b])
            return false;
    for (unsigned i = 0; i < MODEL_MAX_LANES; i++) {
        if (!(lanes >> i & 1))
            continue;
        state->pknown[i] = state->pvalue[i] = 0;
        for (uint32_t t = 0; t < stepper->p->ntracked; t++)
            if (!abi_open_keeps(stepper->p->tracked[t]))
                state->track[i][t] = 0;
    }
    return true;
}
