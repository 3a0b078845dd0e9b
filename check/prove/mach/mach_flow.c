/* Control of the machine side: calls, exits, branches, regions, and what is known of a function before it
 * runs. SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "frontend/system.h"
#include "isa/machine/abi.h"
#include <stdio.h>
#include <string.h>

/* ---- control ---- */
enum { RETURN_REG = ABI_RETURN_REG };

/* The callee comes back to the next instruction: what a proof of both takes for granted. */
static void check_return_address(Mach *mach, unsigned reg) {
    Terms *ts = &mach->prover->ts;
    Term *address = t_pair(ts, mach->val[LOC_R + reg], mach->val[LOC_R + reg + 1]);
    if (t_under(ts, address, mach->full) != t_const(ts, 64, bin_address(mach->prover->flow, mach->at + 1)))
        mach_fault(mach, "the return address is not that of the instruction behind the call");
}

/* The callee's frame begins where this one ends, or it lies upon this one; and variables that a callee may be
 * told of are aligned. What no callee has a frame for it does not matter. */
static void check_frame(Mach *mach, uint32_t callee) {
    const Prover *prover = mach->prover;
    const Binary *bin = prover->flow->bin;
    bool any = callee == BINFLOW_NONE;
    for (uint32_t f = 0; f < bin->nfuncs && !any; f++)
        any = !bin->funcs[f].is_entry && bin->funcs[f].frame_bytes;
    Terms *ts = &mach->prover->ts;
    Term *end = t_sub(ts, prove_sp(mach->prover), t_const(ts, 32, prover->bf->frame_bytes));
    if (any && t_under(ts, mach->val[LOC_R + 1], mach->full) != t_under(ts, end, mach->full))
        mach_fault(mach, "a call does not leave the caller its frame");
    if (prover->misplaced)
        mach_fault(mach, "a call of a function whose variables are not aligned as they say");
}

/* What is known of an end is known of EXIT without a modifier; native calls count no depth. */
static void check_control(Mach *mach) {
    const MachInst *in = mach->in;
    bool counts = isa_target_info(mach->prover->flow->bin->target)->elf_form == ElfForm_BRU1;
    if (bin_kind(in) == BK_EXIT && (in->optype != OT_EXIT || in->mods))
        mach_fault(mach, "an end that is not a plain EXIT is not modelled");
    if (!counts && ((in->optype == OT_CALL && !MGET(CALL, noinc, in->mods)) ||
                    (in->optype == OT_RET && !MGET(RET, nodec, in->mods))))
        mach_fault(mach, "a call or return that counts its depth is not modelled");
}

/* A routine executed in place of a call of it comes back to behind the call. */
void mach_check_way_back(Mach *mach, uint32_t call) {
    Terms *ts = &mach->prover->ts;
    const MachInst *in = mach->in;
    check_control(mach);
    uint64_t base = isa_is_absolute(in->optype, in->mods) ? 0 : bin_address(mach->prover->flow, mach->at + 1);
    Term *to = t_add(ts, t_pair(ts, mach_word(mach, RET_ra, 0), mach_word(mach, RET_ra, 1)),
                     t_const(ts, 64, base + (uint64_t)in->wide));
    if (t_under(ts, to, mach->full) != t_const(ts, 64, bin_address(mach->prover->flow, call + 1)))
        mach_fault(mach, "a routine returns to another place than behind its call");
}

/* What a function writes may hold anything behind a call of it. */
void mach_clobber(Mach *mach, uint32_t func) {
    Terms *ts = &mach->prover->ts;
    const bool *written = mach->prover->clobbers + (size_t)func * LOC_SLOT;
    for (uint32_t l = 0; l < LOC_SLOT; l++)
        if (written[l])
            mach_set(mach, l, t_var(ts, prove_loc_width(l), term_name(ts, "~%u", l), 0xfff00000u + mach->at));
}

static void check_return(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    const MachInst *in = mach->in;
    if (mach->prover->pf->is_entry || mach->prover->in_routine)
        return;
    Term *to = t_add(ts, t_pair(ts, mach_word(mach, RET_ra, 0), mach_word(mach, RET_ra, 1)),
                     t_const(ts, 64, (uint64_t)in->wide));
    if (!isa_is_absolute(in->optype, in->mods) ||
        t_under(ts, to, mach->full) != t_pair(ts, mach->prover->entry_val[LOC_R + RETURN_REG],
                                              mach->prover->entry_val[LOC_R + RETURN_REG + 1]))
        mach_fault(mach, "the function may return to another place than its caller's");
}

static Exit *mach_leave(Mach *mach, ExitKind kind, uint32_t target, Term *cond) {
    Exit e = {kind, target, mach->at, cond, NULL};
    e.val = arena_copy(mach->prover->run_arena, mach->val, mach->prover->nloc * sizeof *mach->val);
    VEC_ADD(mach->prover->run_arena, &mach->run->exits, e);
    return &mach->run->exits.at[mach->run->exits.n - 1];
}

/* A function that is not in the file may write all registers but those that the calling convention keeps. */
static void clobber_all(Mach *mach) {
    for (uint32_t l = 0; l < LOC_SLOT; l++)
        if (!(l < LOC_P ? abi_open_keeps(l - LOC_R)
                        : l >= LOC_UR && l < LOC_UP && abi_open_keeps_uniform(l - LOC_UR)))
            mach_set(mach, l,
                     t_var(&mach->prover->ts, prove_loc_width(l), term_name(&mach->prover->ts, "~%u", l),
                           0xfff00000u + mach->at));
}

/* A function of the PTX; callee: in the file, or BINFLOW_NONE, one of the driver's. */
static void call_user(Mach *mach, uint32_t user, uint32_t callee) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    const PtxFunc *f = &prover->module->funcs[user - 1];
    const char *name = str_text(&prover->module->strings, f->name);
    Term *arg[24], *what;
    uint32_t n = 0, w = 0;
    AbiPlan in = {0}, out = {0};
    prove_abi(prover, f->params, f->nparams, &in);
    prove_abi(prover, f->rets, f->nrets, &out);
    if (in.stack || out.stack) {
        mach_fault(mach, "a call passes arguments on the stack");
        return;
    }
    check_frame(mach, callee);
    for (uint32_t k = 0; k < in.n; k++) {
        uint64_t bytes = prover->module->vars[in.at[k].value].size_bytes; /* bits above do not matter */
        for (unsigned c = 0; c < in.at[k].words && n < 24; c++) {
            Term *word = mach_get(mach, LOC_R + (uint32_t)in.at[k].reg + c);
            arg[n++] =
                !in.at[k].pred && bytes && bytes < 4 ? t_zext_from(ts, word, 8 * (unsigned)bytes) : word;
        }
    }
    what = mach_event(mach, 15, term_name(ts, "call %s", name), arg, n);
    mach->together = t_ite(ts, mach->full, prover->anyone, mach->together);
    if (callee == BINFLOW_NONE)
        clobber_all(mach);
    else
        mach_clobber(mach, callee);
    for (uint32_t k = 0; k < out.n; k++)
        for (unsigned c = 0; c < out.at[k].words; c++, w++)
            mach_set(mach, LOC_R + (uint32_t)out.at[k].reg + c, t_app(ts, TO_RESULT, 32, w, NULL, &what, 1));
}

static void call_builtin(Mach *mach, uint32_t callee, const AbiPlan *in, const AbiPlan *out) {
    Terms *ts = &mach->prover->ts;
    Term *arg[24];
    uint32_t n = 0, w = 0;
    for (uint32_t k = 0; k < in->n; k++)
        for (unsigned c = 0; c < in->at[k].words; c++)
            arg[n++] = mach_get(mach, LOC_R + (uint32_t)in->at[k].reg + c);
    check_frame(mach, callee);
    mach_clobber(mach, callee);
    const char *name = term_name(ts, "%s", mach->prover->flow->bin->funcs[callee].name);
    for (uint32_t k = 0; k < out->n; k++)
        for (unsigned c = 0; c < out->at[k].words; c++, w++)
            mach_set(mach, LOC_R + (uint32_t)out->at[k].reg + c, t_app(ts, TO_UF, 32, w << 8, name, arg, n));
}

/* The statement of an indirect call that the map names for this instruction: it proposes the functions, and a
 * call of any other fits nothing. */
static const PtxInsn *statement_of(const Mach *mach) {
    const Prover *prover = mach->prover;
    uint32_t line = prover->bf->locs ? prover->bf->locs[mach->at - prover->ff->first_inst].ptx_line : 0;
    for (uint32_t i = 0; line && i < prover->pf->ninsns; i++) {
        const PtxInsn *in = &prover->pf->insns[i];
        if (in->op == PTX_CALL && !in->callee && ptx_line(prover->module, in) == line)
            return in;
    }
    return NULL;
}

/* The driver's function whose address this is, + 1; 0: of none. */
static uint32_t driver_function(Mach *mach, Term *address) {
    const PtxModule *module = mach->prover->module;
    for (uint32_t f = 0; f < module->nfuncs; f++)
        if (ptx_system_func(module, &module->funcs[f]) != SYSTEM_COUNT &&
            address == prove_function_address(mach->prover, f))
            return f + 1;
    return 0;
}

/* A function of the driver: false: it is none. */
static bool call_driver(Mach *mach) {
    if (mach->in->wide || !isa_is_absolute(mach->in->optype, mach->in->mods))
        return false;
    uint32_t user =
        driver_function(mach, t_under(&mach->prover->ts, mach_pair(mach, CALL_ra, OPM_WIDE64), mach->full));
    if (!user)
        return false;
    check_return_address(mach, ABI_SYSTEM_RETURN_REG);
    call_user(mach, user, BINFLOW_NONE);
    return true;
}

/* Calls the function whose address a register holds. */
static void call_one_of(Mach *mach) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    const PtxInsn *statement = statement_of(mach);
    uint32_t func[PROVE_MOST_CALLEES], n = 0;
    if (mach->in->wide || !isa_is_absolute(mach->in->optype, mach->in->mods) || !statement ||
        !prove_ptx_callees(prover, statement, func, &n)) {
        mach_fault(mach, "this indirect call is not modelled");
        return;
    }
    check_return_address(mach, RETURN_REG);
    Term *guard = mach->guard, *full = mach->full, *left = full,
         *target = mach_pair(mach, CALL_ra, OPM_WIDE64);
    for (uint32_t k = 0; k < n && !mach->run->fault; k++) {
        const char *name = str_text(&prover->module->strings, prover->module->funcs[func[k]].name);
        uint32_t callee = 0;
        while (callee < prover->flow->bin->nfuncs && strcmp(prover->flow->bin->funcs[callee].name, name) != 0)
            callee++;
        Term *is = t_eq(ts, target, prove_function_address(prover, func[k]));
        mach->full = t_and(ts, left, is);
        mach->guard = t_under(ts, mach->full, mach->pc);
        left = t_and(ts, left, t_not(ts, is));
        if (callee == prover->flow->bin->nfuncs)
            mach_fault(mach, "a function that is called is not in the file");
        else
            call_user(mach, func[k] + 1, callee);
    }
    mach->guard = guard;
    mach->full = full;
    if (left != ts->falsity)
        mach_leave(mach, EX_WILD, 0, left);
    mach->pc = t_and(ts, mach->pc, t_not(ts, left));
}

static void mach_call(Mach *mach) {
    Prover *prover = mach->prover;
    uint32_t callee = BINFLOW_NONE, target = BINFLOW_NONE;
    for (uint32_t i = 0; i < prover->ff->ncalls; i++)
        if (prover->ff->calls[i].inst == mach->at) {
            callee = prover->ff->calls[i].callee;
            target = prover->ff->calls[i].target;
        }
    if (callee == BINFLOW_NONE) {
        if (!call_driver(mach))
            call_one_of(mach);
        return;
    }
    if (target != prover->flow->funcs[callee].first_inst) {
        if (callee != prover->func || !mach_subroutine(mach, target))
            mach_fault(mach, "a call of a place inside a function is not modelled");
        return;
    }
    check_return_address(mach, RETURN_REG);
    const char *name = prover->flow->bin->funcs[callee].name;
    uint32_t user = ptx_find_func(prover->module, name);
    AbiPlan in = {0}, out = {0};
    if (user)
        call_user(mach, user, callee);
    else if (prove_builtin(name, &in, &out))
        call_builtin(mach, callee, &in, &out);
    else if (!mach_routine(mach, callee))
        mach_fault(mach, "a function that is not in the PTX is called");
}

static void warpsync(Mach *mach) {
    Run *run = mach->run;
    Term *mask = mach_word(mach, WARPSYNC_rb, 0);
    if (mach->prover->entered[mach->at])
        return;
    mach->together = t_ite(&mach->prover->ts, mach->full, mask, mach->together);
    if (mach->prover->orders[mach->at])
        mach_event(mach, LISTS_OF_A_WARP, "warpsync", &mask, 1);
    bool gathered = run->syncs.n && run->syncs.at[run->syncs.n - 1].gather;
    Operand operand = mach->in->src[WARPSYNC_rb];
    bool all = operand.kind == OPK_IMM && operand.value == UINT32_MAX; /* whatever PTX says: the checkers' */
    if (!all || gathered)
        VEC_ADD(mach->prover->run_arena, &run->syncs,
                ((Sync){.guard = mach->full, .mask = mask, .at = mach->at}));
}

/* Executes one instruction that is no branch; false: control does not go on. */
static bool mach_step(Mach *mach) {
    const MachInst *in = mach->in;
    Terms *ts = &mach->prover->ts;
    switch (bin_kind(in)) {
    case BK_NOP:
    case BK_BSSY:
    case BK_BSYNC:
    case BK_BREAK:
    case BK_YIELD:
    case BK_BMOV_TO_B: return true;
    case BK_WARPSYNC: warpsync(mach); return true;
    case BK_NANOSLEEP: return true;
    case BK_BMOV_FROM_B:
        mach_put(mach, 0, 0, t_var(ts, 32, term_name(ts, "B"), 0xfff00000u + mach->at));
        return true;
    case BK_EXIT:
    case BK_RET:
    case BK_TRAP: {
        Term *cond = mach->full;
        if (bin_kind(in) == BK_RET && cond != ts->falsity)
            check_return(mach);
        if (cond != ts->falsity)
            mach_leave(mach,
                       bin_kind(in) == BK_EXIT  ? EX_END
                       : bin_kind(in) == BK_RET ? EX_RET
                                                : EX_TRAP,
                       0, cond);
        mach->pc = t_and(ts, mach->pc, t_not(ts, mach->guard));
        return mach->pc != ts->falsity;
    }
    case BK_CALL: mach_call(mach); return true;
    default: mach_data(mach); return true;
    }
}

static void mach_arrive(Mach *mach, uint32_t b, Term *cond) {
    Terms *ts = &mach->prover->ts;
    if (cond == ts->falsity)
        return;
    uint32_t k = b - mach->prover->ff->first_block;
    if (mach->stop[k] || mach->prover->rpo_of[k] <= mach->rpo) {
        if (!mach->stop[k])
            mach_fault(mach, "a loop has no counterpart in the PTX");
        else
            mach_leave(mach, EX_CUT, b, cond);
        return;
    }
    if (!mach->reach[k]) {
        mach->reach[k] = cond;
        mach->in_val[k] =
            arena_copy(mach->prover->run_arena, mach->val, mach->prover->nloc * sizeof *mach->val);
        return;
    }
    Term *both = t_or(ts, mach->reach[k], cond), *first = t_under(ts, cond, both);
    mach->run->guarded = true;
    mach->reach[k] = both;
    for (uint32_t l = 0; l < mach->prover->nloc; l++)
        mach->in_val[k][l] = prove_merged(mach->prover, first, both, mach->val[l], mach->in_val[k][l]);
}

/* Where an indirect branch leads, for each value that its operand may have: constants, from a table. */
static void table_leaves(Mach *mach, const BinBlock *b, Term *value, Term *cond, Term **reached) {
    Terms *ts = &mach->prover->ts;
    if (cond == ts->falsity)
        return;
    if (value->kind == TK_ITE) {
        Term *yes = term_decision(ts, value->a[0]);
        table_leaves(mach, b, value->a[1], t_and(ts, cond, yes), reached);
        table_leaves(mach, b, value->a[2], t_and(ts, cond, t_not(ts, yes)), reached);
        return;
    }
    uint64_t base = bin_address(mach->prover->flow, mach->at) + INST_BYTES + (uint64_t)mach->in->wide;
    uint64_t address = base + (uint64_t)(int64_t)(int32_t)(uint32_t)value->k;
    for (uint32_t i = 0; i < b->nsuccs && t_is_const(value); i++)
        if (b->succs[i].kind == BE_TABLE &&
            bin_address(mach->prover->flow, mach->prover->flow->blocks[b->succs[i].block].first) == address) {
            reached[i] = t_or(ts, reached[i], cond);
            return;
        }
    mach_fault(mach, "an indirect branch that leads elsewhere than its table of targets says");
}

static void indirect_branch(Mach *mach, const BinBlock *b) {
    Terms *ts = &mach->prover->ts;
    unsigned words = isa_src_regs(mach->prover->flow->bin->target, mach->in, BRX_ra);
    Term *taken = mach->guard, *value = t_under(ts, mach_word(mach, BRX_ra, 0), taken);
    Term **reached = ARENA_ARRAY(mach->prover->run_arena, Term *, b->nsuccs + 1);
    for (uint32_t i = 0; i < b->nsuccs; i++)
        reached[i] = b->succs[i].kind == BE_TABLE ? ts->falsity : t_and(ts, mach->pc, t_not(ts, taken));
    if (words == 2 && mach_word(mach, BRX_ra, 1) != ts->zero)
        mach_fault(mach, "an indirect branch by 64 bits is not modelled");
    table_leaves(mach, b, value, t_and(ts, mach->pc, taken), reached);
    for (uint32_t i = 0; i < b->nsuccs && !mach->run->fault; i++)
        mach_arrive(mach, b->succs[i].block, reached[i]);
}

/* Does the block end with a call that is a branch: one to a place from which no way returns (binflow.h)? */
static bool jumps_away(const BinBlock *b, const MachInst *in) {
    bool taken = false;
    for (uint32_t i = 0; i < b->nsuccs; i++)
        taken |= b->succs[i].kind == BE_TAKEN;
    return bin_kind(in) == BK_CALL && taken;
}

static void edges(Mach *mach, const BinBlock *b) {
    Terms *ts = &mach->prover->ts;
    const MachInst *in = mach->in;
    if (bin_kind(in) == BK_BRANCH_INDIRECT) {
        indirect_branch(mach, b);
        return;
    }
    Term *taken = jumps_away(b, in) || bin_kind(in) == BK_BRANCH ? mach->guard : ts->falsity;
    if (bin_kind(in) == BK_BRANCH) {
        if (MGET(BRA, cond, in->mods) != BRACond_NoCond && in->optype == OT_BRA) {
            uint32_t join;
            if ((MGET(BRA, cond, in->mods) != BRACond_DIV && MGET(BRA, cond, in->mods) != BRACond_CONV) ||
                !mach_apart(mach, b, t_and(ts, mach->pc, taken), NULL, &join))
                mach_fault(mach, "a branch that looks at other lanes is not modelled");
            else if (!mach->run->fault)
                mach_arrive(mach, join, mach->pc);
            return;
        }
        BinQuestion question;
        if (bin_question(mach->prover->flow, mach->at, &question)) {
            uint32_t join;
            if (!mach_apart(mach, b, mach->pc, &question, &join))
                mach_fault(mach, "a branch that asks for lanes, whose ways do not meet");
            else if (!mach->run->fault)
                mach_arrive(mach, join, mach->pc);
            return;
        }
        prove_guards_note(mach->prover, mach->run, mach->at,
                          t_and(ts, mach_plain_pred(mach, in->guard), mach_plain_pred(mach, in->src[0])),
                          mach->val);
    }
    for (uint32_t i = 0; i < b->nsuccs; i++)
        mach_arrive(mach, b->succs[i].block,
                    t_and(ts, mach->pc, b->succs[i].kind == BE_TAKEN ? taken : t_not(ts, taken)));
    if (b->ends & (BX_OFF_END | BX_BAD_TARGET | BX_UNKNOWN))
        mach_fault(mach, "control flow that is not known");
}

static void watched(Mach *mach) {
    Prover *prover = mach->prover;
    const MachInst *in = mach->in;
    Term **before = arena_copy(prover->run_arena, mach->val, prover->nloc * sizeof *before),
         *words[2 * MACH_MAX_SRC] = {0};
    for (unsigned i = 0; i < in->nsrc; i++)
        if (in->src[i].kind == OPK_CMEM || (in->src[i].kind == OPK_IMM && prover->fixup[mach->at]))
            for (unsigned c = 0; c < (isa_src_regs(prover->flow->bin->target, in, i) == 2 ? 2u : 1u); c++)
                words[2 * i + c] = mach_plain(mach, i, c, ~0u); /* its modifiers are the simulator's */
    uint32_t nuf = prover->nuf;
    mach_data(mach);
    prover->watch(prover->watch_user, mach->in, mach->at, prover->nuf == nuf, mach->full, before, mach->val,
                  words);
}

void mach_at(Mach *mach, uint32_t at) {
    mach->at = at;
    mach->in = &mach->prover->flow->insts[at];
    mach->full = mach->pc;
    mach->guard = mach_pred(mach, mach->in->guard);
    mach->full = t_and(&mach->prover->ts, mach->pc, mach->guard);
    unsigned second = isa_traits(mach->in->optype)->second_guard;
    if (second != ISA_NO_SLOT && mach->in->src[second].kind == OPK_REG) {
        mach->guard = t_and(&mach->prover->ts, mach->guard, mach_pred(mach, mach->in->src[second]));
        mach->full = t_and(&mach->prover->ts, mach->pc, mach->guard);
    }
}

static const char fixed_elsewhere[] = "a relocation of an instruction that takes no address there";

bool mach_inst(Mach *mach) {
    BinKind kind = bin_kind(mach->in);
    if (mach->prover->fixup[mach->at] && kind != BK_PLAIN)
        mach_fault(mach, fixed_elsewhere);
    check_control(mach);
    mach->fixed = false;
    if (mach->prover->watch && kind == BK_PLAIN)
        watched(mach);
    else if (!mach_step(mach))
        return false;
    if (mach->prover->fixup[mach->at] && !mach->fixed)
        mach_fault(mach, fixed_elsewhere);
    return true;
}

/* Control comes back to the block without a cut point: a loop that no PTX has. */
static bool is_own_loop(Mach *mach, uint32_t block) {
    const BinBlock *b = &mach->prover->flow->blocks[block];
    for (uint32_t i = 0; i < b->npreds; i++) {
        uint32_t from = b->preds[i].block;
        if (mach->prover->flow->blocks[from].reachable &&
            mach->prover->rpo_of[from - mach->prover->ff->first_block] >= mach->rpo)
            return true;
    }
    return false;
}

static void mach_block(Mach *mach, uint32_t block) {
    const BinBlock *b = &mach->prover->flow->blocks[block];
    uint32_t exit = block;
    if (!mach->stop[block - mach->prover->ff->first_block] && is_own_loop(mach, block) &&
        mach_cas_loop(mach, block, &exit)) {
        mach->run->last =
            b->first + b->ninsts - 1 > mach->run->last ? b->first + b->ninsts - 1 : mach->run->last;
        if (!mach->run->fault)
            mach_arrive(mach, exit, mach->pc);
        return;
    }
    for (uint32_t i = 0; i < b->ninsts && !mach->run->fault; i++) {
        mach_at(mach, b->first + i);
        if (mach->at < mach->run->first)
            mach->run->first = mach->at;
        if (mach->at > mach->run->last)
            mach->run->last = mach->at;
        BinKind kind = bin_kind(mach->in);
        if (mach->guard != mach->prover->ts.truth && kind != BK_BRANCH)
            mach->run->guarded = true;
        if (i + 1 == b->ninsts &&
            (kind == BK_BRANCH || kind == BK_BRANCH_INDIRECT || jumps_away(b, mach->in))) {
            if (mach->prover->fixup[mach->at])
                mach_fault(mach, fixed_elsewhere);
            check_control(mach);
            edges(mach, b);
            return;
        }
        if (!mach_inst(mach))
            return;
        prove_rows_after_inst(mach->prover, mach->run, mach->at - mach->prover->ff->first_inst, mach->val);
    }
    if (b->ends & (BX_OFF_END | BX_BAD_TARGET | BX_UNKNOWN))
        mach_fault(mach, "control runs into a word that is no instruction, or off the function's end");
    if (!mach->run->fault)
        for (uint32_t i = 0; i < b->nsuccs; i++)
            mach_arrive(mach, b->succs[i].block, mach->pc);
}

void prove_mach_run(Prover *prover, uint32_t block, Term *const *val, Term *const *mem, const bool *stop,
                    Run *run) {
    uint32_t nb = prover->ff->nblocks;
    bool entry =
        prover->pf->is_entry && block == prover->ff->first_block && !prover->flow->blocks[block].npreds;
    Mach x = {.prover = prover,
              .run = run,
              .stop = stop,
              .together = entry ? t_const(&prover->ts, 32, UINT32_MAX) : prover->anyone};
    *run = (Run){.first = UINT32_MAX};
    x.mem = run->mem;
    x.first_mem = mem;
    memcpy(run->mem, mem, sizeof run->mem);
    x.reach = ARENA_ARRAY(prover->run_arena, Term *, nb);
    x.in_val = ARENA_ARRAY(prover->run_arena, Term **, nb);
    uint32_t start = block - prover->ff->first_block;
    x.reach[start] = prover->ts.truth;
    x.in_val[start] = arena_copy(prover->run_arena, val, prover->nloc * sizeof *val);
    for (uint32_t k = prover->rpo_of[start]; k < prover->ff->nrpo && !run->fault && !prover->ts.overflow;
         k++) {
        uint32_t b = prover->ff->rpo[k] - prover->ff->first_block;
        if (!x.reach[b])
            continue;
        x.rpo = k;
        x.reduced = NULL;
        x.pc = x.reach[b];
        x.val = x.in_val[b];
        mach_block(&x, prover->ff->rpo[k]);
    }
}

/* ---- set-up ---- */
uint32_t prove_loc_width(uint32_t loc) {
    return (loc >= LOC_P && loc < LOC_UR) || (loc >= LOC_UP && loc < LOC_SLOT) ? 1 : 32;
}
void prove_loc_name(uint32_t loc, char out[24]) {
    if (loc < LOC_P)
        snprintf(out, 24, "R%u", loc);
    else if (loc < LOC_UR)
        snprintf(out, 24, "P%u", loc - LOC_P);
    else if (loc < LOC_UP)
        snprintf(out, 24, "UR%u", loc - LOC_UR);
    else if (loc < LOC_SLOT)
        snprintf(out, 24, "UP%u", loc - LOC_UP);
    else
        snprintf(out, 24, "[frame slot %u]", loc - LOC_SLOT);
}

void mach_writes(const BinFlow *flow, const MachInst *in, bool *w) {
    static const uint32_t base[] = {[RF_R] = LOC_R, [RF_P] = LOC_P, [RF_UR] = LOC_UR, [RF_UP] = LOC_UP};
    static const uint32_t size[] = {[RF_R] = 255, [RF_P] = 7, [RF_UR] = NUM_UR, [RF_UP] = 7};
    if (isa_has_effect(in->optype, ISA_EFFECT_WRITES_ALL_P))
        for (uint32_t l = 0; l < 7; l++)
            w[(isa_traits(in->optype)->lanes == ISA_LANES_WARP ? LOC_UP : LOC_P) + l] = true;
    for (unsigned d = 0; d < in->ndst; d++) {
        Operand o = in->dst[d];
        unsigned n = isa_dst_regs(flow->bin->target, in, d);
        if (o.kind == OPK_REG && o.file < RF_B)
            for (unsigned c = 0; c < (n ? n : 1); c++)
                if (o.value + c < size[o.file])
                    w[base[o.file] + o.value + c] = true;
    }
}

static void writes_of(const BinFlow *flow, uint32_t func, bool *w) {
    const BinFuncFlow *ff = &flow->funcs[func];
    for (uint32_t i = ff->first_inst; i < ff->first_inst + ff->ninsts; i++)
        if (flow->decoded[i])
            mach_writes(flow, &flow->insts[i], w);
}

/* A WARPSYNC that no collective follows before memory is accessed orders memory, as bar.warp.sync does. (Any
 * choice would be sound: only one that makes the events of both sides equal proves anything.) */
static void find_orders(Prover *prover) {
    const BinFlow *flow = prover->flow;
    prover->orders = ARENA_ARRAY(&prover->arena, bool, flow->bin->ncode + 1);
    if (!prove_ptx_orders_warps(prover))
        return;
    for (uint32_t b = 0; b < flow->nblocks; b++) { /* of routines that it calls, too */
        const BinBlock *block = &flow->blocks[b];
        FOR_BIN_INSTS(block, i) {
            if (bin_kind(&flow->insts[i]) != BK_WARPSYNC)
                continue;
            prover->orders[i] = !prover->entered[i];
            for (uint32_t k = i + 1; k < block->first + block->ninsts; k++) {
                BinKind kind = bin_kind(&flow->insts[k]);
                if (kind == BK_WARPSYNC || (kind == BK_PLAIN && isa_traits(flow->insts[k].optype)->space))
                    break;
                if (kind == BK_COLLECTIVE || kind == BK_BAR) {
                    prover->orders[i] = false;
                    break;
                }
            }
        }
    }
}

bool prove_joins_masks(const BinFlow *flow, uint32_t at) {
    const MachInst *in = &flow->insts[at];
    return in->optype == OT_WARPSYNC && isa_target_info(flow->bin->target)->warpsync_joins &&
           in->src[WARPSYNC_rb].kind != OPK_IMM && !MGET(WARPSYNC, exclusive, in->mods);
}

/* Is there a place behind which lanes of several masks go on together? */
static bool joins_masks(const BinFlow *flow) {
    BinQuestion question;
    for (uint32_t i = 0; i < flow->bin->ncode; i++)
        if (flow->decoded[i] && flow->block_of[i] != BINFLOW_NONE &&
            (prove_joins_masks(flow, i) ||
             (bin_kind(&flow->insts[i]) == BK_BRANCH && bin_question(flow, i, &question) &&
              question.mask.kind != OPK_IMM)))
            return true;
    return false;
}

/* Who is together where no WARPSYNC says so: all lanes, if nothing in the file brings a part of them
 * together.
 */
static Term *anyone(Prover *prover) {
    const BinFlow *flow = prover->flow;
    for (uint32_t i = 0; i < flow->bin->ncode; i++) {
        Operand mask = flow->insts[i].src[WARPSYNC_rb];
        if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_WARPSYNC && !prover->entered[i] &&
            (mask.kind != OPK_IMM || mask.value != UINT32_MAX))
            return t_var(&prover->ts, 32, "~lanes", 0);
    }
    return t_const(&prover->ts, 32, UINT32_MAX);
}

/* A kernel begins with the whole stack, 16 bytes aligned; a function with what the frames of all that call
 * leave of that, or callers of other objects, by the convention. */
static uint32_t stack_multiple(const Prover *prover) {
    enum { OF_OTHERS = 8 };
    const BinFlow *flow = prover->flow;
    uint32_t multiple = flow->bin->is_object && !prover->bf->is_entry ? OF_OTHERS : MOST_STACK_MULTIPLE;
    for (uint32_t f = 0; f < flow->bin->nfuncs && !prover->bf->is_entry; f++)
        while (flow->funcs[f].ncalls && flow->bin->funcs[f].frame_bytes % multiple)
            multiple /= 2;
    return multiple;
}

static bool is_misplaced(const Prover *prover) {
    bool misplaced = false;
    for (uint32_t k = 0; k < prover->pf->nvars; k++) {
        const PtxVar *var = &prover->module->vars[prover->pf->vars[k]];
        uint32_t offset = prover->frame_offset[prover->pf->vars[k]], align = var->align_bytes;
        align = align < MOST_STACK_MULTIPLE ? align : MOST_STACK_MULTIPLE; /* no access wants more */
        bool in_frame = offset && prover->bf->frame_bytes >= prover->var_bytes;
        misplaced |= in_frame && align > 1 &&
                     (align > prover->stack_multiple || (prover->bf->frame_bytes - (offset - 1)) % align);
    }
    return misplaced;
}

bool prove_mach_setup(Prover *prover) {
    const BinFlow *flow = prover->flow;
    uint32_t nf = flow->bin->nfuncs, slots = prover->bf->frame_bytes > prover->var_bytes
                                                 ? (prover->bf->frame_bytes - prover->var_bytes) / 4
                                                 : 0;
    prover->stack_multiple = stack_multiple(prover);
    prover->misplaced = is_misplaced(prover);
    prover->joins_masks = joins_masks(flow);
    prover->nloc = LOC_SLOT + (slots < MAX_SLOTS ? slots : MAX_SLOTS);
    prover->rpo_of = ARENA_ARRAY(&prover->arena, uint32_t, prover->ff->nblocks + 1);
    memset(prover->rpo_of, 0xff, prover->ff->nblocks * sizeof *prover->rpo_of);
    for (uint32_t k = 0; k < prover->ff->nrpo; k++)
        prover->rpo_of[prover->ff->rpo[k] - prover->ff->first_block] = k;
    prover->clobbers = ARENA_ARRAY(&prover->arena, bool, (size_t)nf *LOC_SLOT);
    for (uint32_t f = 0; f < nf; f++)
        writes_of(flow, f, prover->clobbers + (size_t)f * LOC_SLOT);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < nf; f++)
            for (uint32_t c = 0; c < flow->funcs[f].ncalls; c++) {
                uint32_t callee = flow->funcs[f].calls[c].callee;
                for (uint32_t l = 0; l < LOC_SLOT && callee != BINFLOW_NONE; l++)
                    if (prover->clobbers[(size_t)callee * LOC_SLOT + l] &&
                        !prover->clobbers[(size_t)f * LOC_SLOT + l])
                        changed = prover->clobbers[(size_t)f * LOC_SLOT + l] = true;
            }
    }
    /* R1 is lowered on entry and raised before every RET; the frame pass makes that so and a function's own
     * proof shows it */
    for (uint32_t f = 0; f < nf; f++)
        prover->clobbers[(size_t)f * LOC_SLOT + LOC_R + 1] = false;
    find_orders(prover);
    prover->anyone = anyone(prover);
    prove_guards_setup(prover);
    return true;
}

void prove_mach_entry(Prover *prover, Term **val) {
    Terms *ts = &prover->ts;
    prover->entry_val = val;
    for (uint32_t l = 0; l < prover->nloc; l++) {
        char name[24];
        prove_loc_name(l, name);
        val[l] = t_var(ts, prove_loc_width(l), term_name(ts, "initial %s", name), 0);
    }
    if (prover->pf->is_entry)
        return;
    val[LOC_R + 1] = prove_sp(prover);
    AbiPlan in;
    prove_abi(prover, prover->pf->params, prover->pf->nparams, &in);
    for (uint32_t k = 0; k < in.n; k++)
        for (unsigned c = 0; c < in.at[k].words && in.at[k].reg >= 0; c++)
            val[LOC_R + (uint32_t)in.at[k].reg + c] = prove_input(prover, "arg%u.%u", k, c);
}
