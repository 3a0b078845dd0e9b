/* WARPSYNCs with their mask in a register. The machine lets lanes run that are missing for any of the lanes
 * which wait at one place; where those wait for different lanes, some may never have their turn
 * (lower/reconverge/gather.c has an example). The proof of one lane takes for granted that lanes meet, so one
 * of these must hold of each such WARPSYNC:
 *
 * Gathered: its lanes have gathered before it, as routine.c recognises.
 *
 * One value: all lanes of the warp come to it, with one value. Then it names all of them.
 *
 * One side: its mask is a ballot about the branch that leads to it (check/prove/core/ballots.c).
 *
 * One division: all lanes of the warp come to every WARPSYNC of the kernel, and the masks that do not name
 * all of them are one PTX register, defined once. Whom a lane waits for is of its part, as is whom that one
 * waits for, so parts do not depend on each other. Where the definition is executed again the parts may
 * change: then there must be only one such place, in the PTX and in the machine code. Lanes of different
 * rounds do not wait for each other there, because no lane leaves a round before all of its part have come.
 *
 * The first is seen in the regions, the others are of the whole file or of the code: regions note what they
 * have, and the static checker says where lanes are apart and what is the same for all of them.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include <string.h>

static bool is_defined_by(const PtxOperand *operand, uint32_t reg) {
    if (operand->kind != PO_VEC)
        return operand->kind == PO_REG && operand->reg == reg;
    for (unsigned k = 0; k < operand->nvec; k++)
        if (operand->vec[k].reg == reg)
            return true;
    return false;
}

/* The one statement that writes the register; ninsns: there are none or several. */
static uint32_t definition_of(const PtxFunc *f, uint32_t reg) {
    uint32_t found = f->ninsns, n = 0;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        const PtxInsn *in = &f->insns[i];
        bool writes = false;
        for (unsigned k = 0; k < in->ndst; k++)
            writes |= is_defined_by(&in->operands[k], reg);
        for (unsigned k = 0; in->op == PTX_CALL && k < in->nrets; k++)
            writes |= is_defined_by(&in->rets[k], reg);
        if (writes) {
            found = i;
            n++;
        }
    }
    return n == 1 && !f->insns[found].guard_reg ? found : f->ninsns;
}

static bool is_in_loop(Prover *prover, uint32_t block) {
    ArenaMark mark = arena_mark(&prover->arena);
    bool *seen = ARENA_ARRAY(&prover->arena, bool, prover->nblocks + 1);
    uint32_t *stack = ARENA_ARRAY(&prover->arena, uint32_t, prover->nblocks + 1), top = 0;
    stack[top++] = block;
    while (top) {
        const PtxBlock *b = &prover->blocks[stack[--top]];
        for (uint32_t k = 0; k < b->nsucc; k++)
            if (b->succ[k] < prover->nblocks && !seen[b->succ[k]]) {
                seen[b->succ[k]] = true;
                stack[top++] = b->succ[k];
            }
    }
    bool found = seen[block];
    arena_release(&prover->arena, mark);
    return found;
}

static void note_mask(Core *core, uint32_t statement) {
    Prover *prover = &core->p;
    const PtxInsn *in = &prover->pf->insns[statement];
    const PtxOperand *operand = &in->operands[in->noperands - 1]; /* membermasks come last */
    ProveMask mask = {.func = prover->func, .statement = statement};
    uint32_t at = operand->kind == PO_REG ? definition_of(prover->pf, operand->reg) : prover->pf->ninsns;
    if (at < prover->pf->ninsns) {
        mask.reg = operand->reg;
        mask.again = is_in_loop(prover, prover->block_of[at]);
    }
    VEC_ADD(&core->masks->arena, &core->masks->masks, mask);
}

void prove_masks_note(Core *core, const Cut *cut) {
    Prover *prover = &core->p;
    const Run *ptx = &cut->ptx_run, *machine = &cut->mach_run;
    for (uint32_t k = 0; k < machine->accesses.n && cut->watched >> MEM_SHARED & 1; k++)
        if (machine->accesses.at[k].space == MEM_SHARED && !machine->accesses.at[k].store)
            VEC_ADD(&core->masks->arena, &core->masks->watching, machine->accesses.at[k].at);
    for (uint32_t k = 0; k < ptx->syncs.n; k++) {
        const Sync *sync = &ptx->syncs.at[k];
        bool all = t_is_const(sync->mask) && sync->mask->k == UINT32_MAX;
        if (!all && sync->guard != prover->ts.falsity)
            note_mask(core, sync->at);
    }
    for (uint32_t k = 0; k < machine->syncs.n; k++) {
        const Sync *sync = &machine->syncs.at[k];
        bool gathered = k && machine->syncs.at[k - 1].gather;
        if (sync->gather || gathered || t_is_const(sync->mask) || sync->guard == prover->ts.falsity)
            continue;
        uint32_t line = prover->bf->locs && sync->at >= prover->ff->first_inst &&
                                sync->at - prover->ff->first_inst < prover->ff->ninsts
                            ? prover->bf->locs[sync->at - prover->ff->first_inst].ptx_line
                            : 0;
        VEC_ADD(&core->masks->arena, &core->masks->waits, ((ProveWait){prover->func, sync->at, line}));
    }
}

static bool is_one_division(const BinFlow *flow, const BinCheckReport *checked, const ProveMasks *masks,
                            uint32_t kernel, const bool *below) {
    const ProveMask *first = NULL;
    uint32_t place = BINFLOW_NONE;
    bool one = true, again = false, several = false;
    for (uint32_t k = 0; k < masks->masks.n; k++) {
        const ProveMask *mask = &masks->masks.at[k];
        if (!below[mask->func])
            continue;
        first = first ? first : mask;
        one &= mask->func == kernel && mask->reg && mask->reg == first->reg;
        several |= mask->statement != first->statement;
        again |= mask->again;
    }
    for (uint32_t k = 0; k < masks->waits.n; k++)
        if (below[masks->waits.at[k].func]) {
            several |= place != BINFLOW_NONE && place != masks->waits.at[k].inst;
            place = masks->waits.at[k].inst;
        }
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        for (uint32_t i = flow->funcs[f].first_inst;
             below[f] && i < flow->funcs[f].first_inst + flow->funcs[f].ninsts; i++)
            one &= !flow->decoded[i] || bin_kind(&flow->insts[i]) != BK_WARPSYNC ||
                   (!checked->apart[i] && bin_guard(&flow->insts[i]) == BG_ALWAYS);
    return one && !(again && several);
}

bool prove_masks_may_differ(const BinFlow *flow, const BinCheckReport *checked, const ProveMasks *masks,
                            const ProveWait *wait) {
    if ((!checked->apart[wait->inst] && !checked->masks_vary[wait->inst]) ||
        prove_ballot_leads(flow, checked, wait))
        return false;
    bool differ = false, called = false;
    for (uint32_t f = 0; f < flow->bin->nfuncs && !differ; f++) {
        if (!flow->bin->funcs[f].is_entry)
            continue;
        Arena scratch = {0};
        const bool *below = prove_functions_below(flow, flow->bin->funcs[f].name, &scratch);
        if (below[wait->func]) {
            called = true;
            differ = !is_one_division(flow, checked, masks, f, below);
        }
        arena_free(&scratch);
    }
    return differ || !called;
}
