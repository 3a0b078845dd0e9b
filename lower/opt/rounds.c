/* How often a loop goes round, found by running what decides it: the operations between the header's phis and
 * the condition of a branch that each round comes to, with the lane functions of the machine, round by round.
 * So it does not matter how the loop counts (up, down, by shifts, signed or not, in 64 bits, past zero), only
 * that the phis begin with numbers and that nothing else has a part in it.
 *
 *   bb2: r1 = phi(0, r2)             rounds:  0    1    2    3
 *        ...                             r1:  0    4    8    12
 *        r2 = IADD3 r1, 4                r2:  4    8    12   16
 *        p3 = ISETP.NE r2, 16            p3:  T    T    T    F       leaves in round 3
 *        @p3 BRA bb2; BRA bb4
 *
 * SPDX-License-Identifier: MIT */
#include "lower/opt/loops.h"

enum { MOST_SLICE = 32 }; /* operations that decide one branch */

typedef struct {
    Fold *fold; /* what values hold in the round that is run */
    Arena a;
    const OptLoop *loop;
    InstIds slice, phis;  /* of the header; what they read stands before what reads it */
    uint8_t *state;       /* [value] */
    VEC(uint32_t) values; /* with a state */
} Rounds;
enum { UNSEEN, OPEN, DONE };

static bool goes_round(const Rounds *rounds, BlockId b) { return rounds->loop->inside[b.i]; }

static void mark_value(Rounds *rounds, uint32_t v, uint8_t state) {
    if (!rounds->state[v])
        VEC_ADD(&rounds->a, &rounds->values, v);
    rounds->state[v] = state;
}

/* What a phi of the header gets from behind (`back`) or from in front of the loop, if it is one value. */
static uint32_t phi_value(const Rounds *rounds, InstId phi, bool back) {
    Function *f = rounds->fold->f;
    const Block *header = ir_block(f, rounds->loop->blocks.at[0]);
    uint32_t one = 0;
    for (unsigned e = 0; e < header->preds.n; e++) {
        Operand o = *ir_src(f, ir_inst(f, phi), e);
        if (goes_round(rounds, header->preds.at[e]) != back)
            continue;
        if (!opt_scalar(o) || o.mods || (one && one != o.value))
            return 0;
        one = o.value;
    }
    return one;
}

static bool slice_of(Rounds *rounds, uint32_t v);

static bool slice_operands(Rounds *rounds, const Inst *i) {
    bool good = true;
    FOR_USES(rounds->fold->f, i, o)
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count && good; c++)
            good = o->count == 1 && slice_of(rounds, o->value);
    return good;
}

/* Puts what makes value v into the slice; false: it is not known what it is. */
static bool slice_of(Rounds *rounds, uint32_t v) {
    Function *f = rounds->fold->f;
    const Value *value = &f->values.at[v];
    InstId def = value->def;
    if (rounds->state[v] == DONE)
        return true;
    if (rounds->state[v] == OPEN || !def.i || value->fixed_reg >= 0 || rounds->slice.n >= MOST_SLICE)
        return false;
    mark_value(rounds, v, OPEN);
    const Inst *i = ir_inst(f, def);
    if (!goes_round(rounds, value->block)) { /* a number in a register */
        opt_fold_learn(rounds->fold, def);
        if (rounds->fold->known[v].kind == OPK_NONE)
            return false;
    } else if (i->op == IR_PHI) {
        if (value->block.i != rounds->loop->blocks.at[0].i)
            return false;
        VEC_ADD(&rounds->a, &rounds->phis, def);
    } else {
        if (!opt_only_computes(f, i) || !slice_operands(rounds, i))
            return false;
        FOR_DSTS(f, i, o) /* all of one instruction are there when one is */
            for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
                mark_value(rounds, ir_operand_value(f, *o, c).i, DONE);
        VEC_ADD(&rounds->a, &rounds->slice, def);
    }
    mark_value(rounds, v, DONE);
    return true;
}

/* The slice of a condition, and of what its phis get. */
static bool whole_slice(Rounds *rounds, uint32_t condition) {
    bool good = slice_of(rounds, condition);
    for (unsigned k = 0; k < rounds->phis.n && good; k++) {
        uint32_t first = phi_value(rounds, rounds->phis.at[k], false),
                 next = phi_value(rounds, rounds->phis.at[k], true);
        good = first && next && !goes_round(rounds, ir_value(rounds->fold->f, (ValId){first})->block) &&
               slice_of(rounds, first) && slice_of(rounds, next);
    }
    return good;
}

/* Begins a round in which the phis have these numbers. */
static void begin_round(Rounds *rounds, const Operand *phi) {
    Fold *fold = rounds->fold;
    Function *f = fold->f;
    for (unsigned k = 0; k < rounds->slice.n; k++)
        FOR_DSTS(f, ir_inst(f, rounds->slice.at[k]), o)
            if (opt_scalar(*o)) {
                fold->known[o->value] = (Operand){0};
                fold->repl[o->value] = fold->zero[o->value] = 0;
            }
    for (unsigned k = 0; k < rounds->phis.n; k++)
        fold->known[ir_dst(f, ir_inst(f, rounds->phis.at[k]), 0)->value] = phi[k];
    for (unsigned k = 0; k < rounds->slice.n; k++)
        opt_fold_learn(fold, rounds->slice.at[k]);
}

static Operand held_by(const Rounds *rounds, uint32_t v) {
    return rounds->fold->known[opt_fold_same_as(rounds->fold, v)];
}

/* Runs rounds until the branch with this guard leaves; false: it does not, or nothing is known. */
static bool run_rounds(Rounds *rounds, Operand guard, bool leaves_if_taken, unsigned most, unsigned *last) {
    Operand *phi = ARENA_ARRAY(&rounds->a, Operand, rounds->phis.n);
    for (unsigned k = 0; k < rounds->phis.n; k++)
        phi[k] = held_by(rounds, phi_value(rounds, rounds->phis.at[k], false));
    for (unsigned round = 0; round <= most; round++) {
        begin_round(rounds, phi);
        Operand is = held_by(rounds, guard.value);
        if (is.kind != OPK_REG)
            return false;
        if (!((is.mods ^ guard.mods) & OPM_NOT) == leaves_if_taken) {
            *last = round;
            return true;
        }
        for (unsigned k = 0; k < rounds->phis.n; k++) {
            phi[k] = held_by(rounds, phi_value(rounds, rounds->phis.at[k], true));
            if (phi[k].kind == OPK_NONE)
                return false;
        }
    }
    return false;
}

static void forget(Rounds *rounds) {
    for (unsigned k = 0; k < rounds->values.n; k++) {
        uint32_t v = rounds->values.at[k];
        rounds->fold->known[v] = (Operand){0};
        rounds->fold->repl[v] = rounds->fold->zero[v] = 0;
        rounds->state[v] = UNSEEN;
    }
    rounds->values.n = rounds->slice.n = rounds->phis.n = 0;
}

/* Does no way lead through the loop around block b? */
static bool in_every_round(Rounds *rounds, BlockId b) {
    Function *f = rounds->fold->f;
    BlockId header = rounds->loop->blocks.at[0];
    Bitset seen = bs_new(&rounds->a, f->blocks.n);
    BlockIds todo = {0};
    if (b.i != header.i)
        VEC_ADD(&rounds->a, &todo, header);
    while (todo.n) {
        BlockId at = todo.at[--todo.n];
        for (unsigned s = 0; s < ir_block(f, at)->succs.n; s++) {
            BlockId to = ir_block(f, at)->succs.at[s];
            if (to.i == header.i)
                return false;
            if (to.i == b.i || !goes_round(rounds, to) || bs_has(&seen, to.i))
                continue;
            bs_add(&seen, to.i);
            VEC_ADD(&rounds->a, &todo, to);
        }
    }
    return true;
}

/* The branch that ends the block, if one of its ways leads out of the loop. */
static const Inst *leaving(Function *f, const OptLoop *loop, BlockId b) {
    const Block *block = ir_block(f, b);
    const Inst *branch = block->insts.n > 1 ? ir_inst(f, block->insts.at[block->insts.n - 2]) : NULL;
    return block->succs.n == 2 && branch && branch->op == OT_BRA && opt_scalar(branch->guard) &&
                   loop->inside[block->succs.at[0].i] != loop->inside[block->succs.at[1].i]
               ? branch
               : NULL;
}

static void make_room(Function *f, OptRounds *all) {
    all->fold.f = f;
    if (all->nvalues >= f->values.n)
        return;
    all->nvalues = f->values.n;
    all->fold.repl = ARENA_ARRAY(&all->fold.a, uint32_t, all->nvalues);
    all->fold.known = ARENA_ARRAY(&all->fold.a, Operand, all->nvalues);
    all->fold.zero = ARENA_ARRAY(&all->fold.a, uint32_t, all->nvalues);
    all->state = ARENA_ARRAY(&all->fold.a, uint8_t, all->nvalues);
}

bool opt_last_round(Function *f, OptRounds *all, const OptLoop *loop, unsigned most, OptExit *exit) {
    Rounds rounds = {.loop = loop};
    bool found = false;
    for (unsigned k = 0; k < loop->blocks.n; k++) {
        BlockId b = loop->blocks.at[k];
        const Inst *branch = leaving(f, loop, b);
        if (!branch)
            continue;
        make_room(f, all);
        rounds.fold = &all->fold;
        rounds.state = all->state;
        bool leaves_if_taken = !loop->inside[ir_block(f, b)->succs.at[0].i];
        unsigned round;
        if (whole_slice(&rounds, branch->guard.value) &&
            run_rounds(&rounds, branch->guard, leaves_if_taken, found ? exit->round : most, &round) &&
            (!found || round < exit->round) && in_every_round(&rounds, b)) {
            *exit = (OptExit){b, leaves_if_taken, round};
            found = true;
        }
        forget(&rounds);
    }
    arena_free(&rounds.a);
    return found;
}
