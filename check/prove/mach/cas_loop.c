/* Loops around compare-and-swap that no PTX has: an atomic operation for which the machine has none
 * (lower/select/atom.c). One round computes what is to be stored from what is believed to be there, and
 * compares and swaps; another follows unless the belief was right. A round that fails stores nothing, so that
 * of all rounds the last one alone matters: in it, what compare-and-swap gave is what was believed.
 *
 * That round is executed with anything in what the loop writes, the belief being the old words of an event
 * (prove_old_word). Shown are that the loop is left where what was given is what was believed, and only there
 * (a round more would store again); that another round believes what was given; and that nothing else in the
 * loop has an effect or reads memory. Behind it, the belief and what was given are the event's result, and
 * whatever else the loop has written is unknown. That the loop ends is taken for granted: a round fails only
 * where another thread's has not.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"

enum { MOST_BLOCKS = 4 };
static const uint32_t mark = 0xfff00000u; /* of variables that no cut point has */

const char *prove_loop_name(Prover *prover, unsigned bytes, unsigned order) {
    return term_name(&prover->ts, "atom.loop.%u.o%u", bytes, order);
}
Term *prove_old_word(Prover *prover, unsigned word) {
    return t_var(&prover->ts, 32, term_name(&prover->ts, "old word %u", word), mark);
}

Term *prove_atom_did(Prover *prover, Refusal where, Term *address) {
    Terms *ts = &prover->ts;
    if (where == REFUSED_NOWHERE)
        return ts->truth;
    if (where == REFUSED_LOCAL)
        return t_not(ts, prove_space(prover, QspcSpace_L, address));
    return prove_uf(prover, 1, term_name(ts, "atom.did.%u", where), &address, 1);
}

typedef struct {
    const BinBlock *block, *retry[MOST_BLOCKS]; /* the round; the ways back to it */
    uint32_t nretry;
    uint32_t exit; /* where the loop is left to */
    bool retry_taken;
    uint32_t cas; /* instruction */
    unsigned space, order, words;
    bool *written; /* by location */
} CasLoop;

static bool is_swap(const MachInst *in, CasLoop *loop) {
    uint32_t bits = 0;
    unsigned space = isa_traits(in->optype)->space, type = isa_modifier(in, "type", &bits);
    if (!isa_has_effect(in->optype, ISA_EFFECT_SWAP))
        return false;
    loop->space = space == ISA_SPACE_GLOBAL ? MEM_GLOBAL : space == ISA_SPACE_SHARED ? MEM_SHARED : NMEM;
    loop->order = isa_modifier(in, "order", &bits);
    loop->words = type == CasType_U64 ? 2 : type == CasType_U32 ? 1 : 0;
    return loop->words != 0;
}

/* Instructions of the loop but for its branches: registers from registers, and one compare-and-swap. */
static bool read_block(Mach *mach, const BinBlock *block, CasLoop *loop, bool first) {
    const BinFlow *flow = mach->prover->flow;
    FOR_BIN_INSTS(block, i) {
        const MachInst *in = &flow->insts[i];
        BinKind kind = bin_kind(in);
        bool last = i + 1 == block->first + block->ninsts;
        if (!flow->decoded[i])
            return false;
        if (kind == BK_NOP || (!first && kind == BK_YIELD) || (kind == BK_BRANCH && last))
            continue;
        if (kind != BK_PLAIN)
            return false;
        if (isa_traits(in->optype)->space) {
            if (!first || loop->cas != BINFLOW_NONE || bin_guard(in) != BG_ALWAYS || !is_swap(in, loop))
                return false;
            loop->cas = i;
        }
        mach_writes(flow, in, loop->written);
    }
    return true;
}

/* Is this block the head of such a loop? */
static bool read_loop(Mach *mach, uint32_t head, CasLoop *loop) {
    const BinFlow *flow = mach->prover->flow;
    const BinBlock *block = &flow->blocks[head];
    *loop = (CasLoop){.block = block, .cas = BINFLOW_NONE};
    loop->written = ARENA_ARRAY(mach->prover->run_arena, bool, LOC_SLOT);
    const MachInst *last = &flow->insts[block->first + block->ninsts - 1];
    if (block->nsuccs != 2 || block->ends || bin_kind(last) != BK_BRANCH || last->optype != OT_BRA ||
        MGET(BRA, cond, last->mods) != BRACond_NoCond || !read_block(mach, block, loop, true) ||
        loop->cas == BINFLOW_NONE)
        return false;
    for (unsigned way = 0; way < 2; way++) { /* one leads back, through straight code */
        uint32_t at = block->succs[way].block;
        bool back = true;
        loop->nretry = 0;
        for (; at != head && back; at = flow->blocks[at].succs[0].block) {
            const BinBlock *next = &flow->blocks[at];
            back = next->nsuccs == 1 && next->npreds == 1 && !next->ends && loop->nretry < MOST_BLOCKS &&
                   read_block(mach, next, loop, false);
            if (!back)
                break;
            loop->retry[loop->nretry++] = next;
        }
        if (!back)
            continue;
        loop->exit = block->succs[1 - way].block;
        loop->retry_taken = block->succs[way].kind == BE_TAKEN;
        return loop->exit != head && block->succs[0].kind != block->succs[1].kind;
    }
    return false;
}

static Term *new_value(Mach *mach, const char *name, uint32_t loc, uint32_t at) {
    Terms *ts = &mach->prover->ts;
    return t_var(ts, prove_loc_width(loc), term_name(ts, "%s%u", name, loc), mark + at);
}

static uint32_t register_of(const MachInst *in, bool dst, unsigned slot, unsigned words) {
    Operand o = dst ? in->dst[slot] : in->src[slot];
    return o.kind == OPK_REG && o.file == RF_R && o.value + words <= REG_RZ && !(o.mods & ~OPM_REUSE)
               ? LOC_R + o.value
               : UINT32_MAX;
}

/* What may be there is what was believed: of each word. */
static Term *as_believed(Mach *mach, const CasLoop *loop, Term *const *given, Term *const *believed) {
    Terms *ts = &mach->prover->ts;
    Term *all = ts->truth;
    for (unsigned c = 0; c < loop->words; c++)
        all = t_and(ts, all, t_eq(ts, given[c], believed[c]));
    return all;
}

/* Another round believes what was given: otherwise it might fail for ever. */
static bool goes_on(Mach *mach, const CasLoop *loop, uint32_t expected, Term *const *given) {
    const Prover *prover = mach->prover;
    Term **left = mach->val;
    bool good = true;
    mach->val = arena_copy(mach->prover->run_arena, left, prover->nloc * sizeof *left);
    for (uint32_t k = 0; k < loop->nretry; k++)
        FOR_BIN_INSTS(loop->retry[k], i)
            if (bin_kind(&prover->flow->insts[i]) == BK_PLAIN && !mach->run->fault) {
                mach_at(mach, i);
                mach_inst(mach);
            }
    for (unsigned c = 0; c < loop->words; c++)
        good &= mach->val[expected + c] == given[c];
    mach->val = left;
    return good;
}

bool mach_cas_loop(Mach *mach, uint32_t head, uint32_t *exit) {
    enum { ADDRESS, DESCRIPTOR, OFFSET, EXPECTED, DESIRED };
    CasLoop loop;
    if (!read_loop(mach, head, &loop))
        return false;
    Terms *ts = &mach->prover->ts;
    const MachInst *swap = &mach->prover->flow->insts[loop.cas];
    uint32_t expected = register_of(swap, false, EXPECTED, loop.words),
             got = register_of(swap, true, 0, loop.words);
    Term *believed[2], *given[2], *arg[3] = {0};
    if (expected == UINT32_MAX || got == UINT32_MAX)
        return false;
    for (uint32_t l = 0; l < LOC_SLOT; l++)
        if (loop.written[l])
            mach->val[l] = new_value(mach, "in a loop ", l, loop.cas);
    for (unsigned c = 0; c < loop.words; c++) {
        if (!loop.written[expected + c]) /* the belief never changes: no loop of ours */
            return false;
        mach->val[expected + c] = believed[c] = prove_old_word(mach->prover, c);
        given[c] = t_var(ts, 32, term_name(ts, "given %u", c), mark + loop.cas);
    }
    FOR_BIN_INSTS(loop.block, i) {
        bool last = i + 1 == loop.block->first + loop.block->ninsts;
        mach_at(mach, i);
        if (i == loop.cas) {
            if (!mach_swap(mach, loop.words, arg, believed))
                mach_fault(mach, "a loop around compare-and-swap of another value than it goes on with");
            for (unsigned c = 0; c < loop.words; c++)
                mach->val[got + c] = given[c];
        } else if (!last && !mach_inst(mach))
            mach_fault(mach, "a loop has no counterpart in the PTX");
        if (mach->run->fault)
            return true;
    }
    Term *leaves = loop.retry_taken ? t_not(ts, mach->guard) : mach->guard;
    if (leaves != as_believed(mach, &loop, given, believed))
        mach_fault(mach, "a loop around compare-and-swap is not left just where it did not fail");
    if (!goes_on(mach, &loop, expected, given))
        mach_fault(mach, "a loop around compare-and-swap may fail for ever");
    mach_at(mach, loop.cas);
    if (loop.space == NMEM && loop.words == 2) /* what was refused has stored nothing */
        mach->full =
            t_and(ts, mach->full,
                  prove_atom_did(mach->prover, mach_refusal(mach, AtomOp_EXCH, AtomType_U64), arg[0]));
    Term *what = mach_event(mach, loop.space == NMEM ? 7u : 1u << loop.space,
                            prove_loop_name(mach->prover, 4 * loop.words, loop.order), arg, 1 + loop.words);
    for (uint32_t l = 0; l < LOC_SLOT; l++) {
        Term *v = mach->val[l];
        if (!loop.written[l])
            continue;
        mach->val[l] = new_value(mach, "behind a loop ", l, loop.cas);
        for (unsigned c = 0; c < loop.words; c++)
            if (v == given[c] || v == believed[c])
                mach->val[l] = t_app(ts, TO_RESULT, 32, c, NULL, &what, 1);
    }
    *exit = loop.exit;
    return true;
}
