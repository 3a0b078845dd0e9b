/* Which way lanes go at branches that compare one value with several numbers: a switch as a tree of
 * comparisons, a chain of `if (x == 1) .. else if (x == 2)`. Drawn one by one, such branches would send lanes
 * to places that no value leads to from there, and from several leaves of the tree to the default case.
 *
 * So for each lane the value itself is drawn, anew whenever the lane comes to its definition: one of the
 * numbers that it is compared with, or the next above one of them, or the next below the least. These are one
 * for each part that the comparisons can tell apart. Nothing is below a least number of 0: what is told apart
 * so counts from there. A value that one branch alone compares, or that is compared with one number alone, is
 * not drawn.
 *
 * Nor is one that the way itself decides: a phi of numbers, as the state of a lexer or of a machine of cases,
 * has the number of the edge by which the lane came (`switch (state) { case 2: ... state = 0; continue;`).
 * Such phis are followed along the way, through copies, selects and guarded moves, of which unknown
 * predicates are drawn; they decide branches that leave loops, too. A counter is known only where it begins,
 * but where there is a profile: with counts a loop has as many rounds either way, and that all lanes have six
 * decides where they wait for each other. What goes up and down, as the depth of a search, stays unknown.
 *
 * Operations are asked for by name: how a number goes from an operand to a result is no column of the rows.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "lower/opt/opt.h"
#include "lower/reconverge/expect.h"
#include <stdlib.h>

enum {
    DEEPEST = 8,          /* comparisons that one predicate combines; selects that make a number */
    MOST_FOLLOWED = 1024, /* phis of one function */
    MOST_STEPS = 256      /* that look for one number: selects by comparisons of selects are trees */
};

typedef enum { NO, YES, UNKNOWN } Truth;

typedef struct {
    uint32_t value, block; /* block: of the branch that it decides, or NO_NODE */
    int32_t number;
} Comparison;

typedef VEC(Comparison) Comparisons;

typedef struct {
    uint32_t first, n; /* in `numbers`; n 0: the value is not drawn */
} Numbers;

typedef struct {
    InstId phi;
    bool known, next_known;
    uint8_t steps; /* that may lead to it from itself */
    int32_t number, next;
} Followed;
enum { UP = 1, DOWN = 2 };

/* What was found of a value where a way is. */
typedef struct {
    uint32_t way, visit; /* when: of the block that defines it; way 0: never */
    int32_t number;
    uint16_t steps;
    bool yes; /* of a predicate: it decides so; of a number: it is known */
    bool draws;
} Found;

struct Compared {
    const Function *f;
    Numbers *of_value;
    VEC(int32_t) numbers;
    uint32_t *followed_at;  /* [value] place in `followed` + 1 */
    uint32_t *first_of;     /* [block] first phi of the block in `followed` + 1; they stand together */
    VEC(Followed) followed; /* of the lane whose way is drawn */
    unsigned steps;         /* made for the number that is looked for */
    Found *found;           /* [value], where any phi is followed */
    uint32_t way;           /* number of the way that is drawn, from 1 */
    bool draws;             /* numbers that are not known */
    bool counts;            /* follows what a phi and numbers add up to, too */
    uint8_t *alike;         /* [block] 0: not asked; VARIES; else the branch's slot for all lanes + 2 */
};
enum { VARIES = 1, ALIKE = 2, ALIKE_NONE = 4 };

/* A number for the lane, as it comes to something for the nth time: those of a warp's lanes are spread
 * evenly, each in its own 32nd part of all. Drawn one by one, of two dozen cases five would not be come to.
 */
static uint64_t draw(uint32_t what, uint32_t visits, uint64_t lane) {
    uint64_t hash = rng_mix(((uint64_t)what << 32 | visits) + RNG_STEP), part = lane % LANES,
             turn = rng_mix(hash + (lane / LANES + 1) * RNG_STEP);
    for (unsigned k = 0; k < 3; k++, turn >>= 10) { /* a permutation of the parts */
        part = (part * (turn | 1) + (turn >> 5)) % LANES;
        part ^= part >> 2;
    }
    return part << 59 | rng_mix(turn) >> 5;
}

static Truth truth(Compared *compared, Operand predicate, uint64_t lane, const uint32_t *visits,
                   unsigned depth);

/* The comparison of a value with a number that makes the predicate, alone or with another one; or NULL. */
static const Inst *comparison(const Function *f, Operand predicate) {
    uint32_t v = opt_scalar(predicate);
    const Inst *i = v && f->values.at[v].def.i ? &f->insts.at[f->values.at[v].def.i] : NULL;
    return i && i->op == OT_ISETP && op_is_always(i->guard) && !MGET(ISETP, ex, i->mods) ? i : NULL;
}

/* The value that it compares with *number, or 0. */
static uint32_t compared_value(const Function *f, const Inst *test, int32_t *number) {
    Operand x = *ir_src(f, test, ISETP_ra), y = *ir_src(f, test, ISETP_rb);
    bool zero = y.kind == OPK_NONE || (y.kind == OPK_REG && y.file == RF_R && y.value == REG_RZ);
    if (x.mods || y.mods || (!zero && y.kind != OPK_IMM))
        return 0;
    *number = zero ? 0 : (int32_t)y.value;
    return opt_scalar(x);
}

static const Inst *condition_of(const Function *f, uint32_t block) {
    const Inst *branch = reconv_branch(f, &f->blocks.at[block]);
    if (branch->op != OT_BRA)
        return NULL;
    for (unsigned s = 0; s < BRA_offset; s++)
        if (ir_src(f, branch, s)->kind != OPK_NONE)
            return NULL;
    return branch;
}

static int by_value(const void *x, const void *y) {
    const Comparison *a = x, *b = y;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->number != b->number ? (a->number < b->number ? -1 : 1) : 0;
}

/* One value's comparisons, sorted by number. */
static void take_numbers(Compared *compared, Arena *a, const Comparison *at, uint32_t n) {
    Numbers *of_value = &compared->of_value[at->value];
    const Comparison *first = NULL;
    bool several = false, differ = false;
    for (uint32_t k = 0; k < n; k++) {
        if (at[k].block == NO_NODE)
            continue;
        first = first ? first : &at[k];
        several |= at[k].block != first->block;
        differ |= at[k].number != first->number;
    }
    if (!several || !differ)
        return;
    of_value->first = compared->numbers.n;
    if (at->number != 0 && at->number != INT32_MIN)
        VEC_ADD(a, &compared->numbers, at->number - 1);
    for (uint32_t k = 0; k < n; k++) {
        if (k && at[k].number == at[k - 1].number)
            continue;
        if (compared->numbers.n == of_value->first ||
            compared->numbers.at[compared->numbers.n - 1] != at[k].number)
            VEC_ADD(a, &compared->numbers, at[k].number);
        if (at[k].number != INT32_MAX)
            VEC_ADD(a, &compared->numbers, at[k].number + 1);
    }
    of_value->n = compared->numbers.n - of_value->first;
}

/* ---- numbers that phis choose ---- */

static const Inst *followed_phi(const Function *f, uint32_t value) {
    const Inst *i = value && f->values.at[value].def.i ? &f->insts.at[f->values.at[value].def.i] : NULL;
    return i && i->op == IR_PHI && f->values.at[value].file == RF_R ? i : NULL;
}

static bool is_number(Operand o, int32_t *number) {
    bool zero = o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ;
    if (o.mods || (!zero && o.kind != OPK_IMM))
        return false;
    *number = zero ? 0 : (int32_t)o.value;
    return true;
}

static bool is_false(Operand o) {
    return o.kind == OPK_NONE || (o.kind == OPK_REG && o.value == REG_PT && o.mods & OPM_NOT);
}

/* Is it the sum of a value and a number, as of a counter? */
static bool is_step(const Function *f, const Inst *i, Operand *of, int32_t *step) {
    bool found = false;
    *step = 0;
    if (i->op != OT_IADD3 || !is_false(*ir_src(f, i, IADD3_pp)) || !is_false(*ir_src(f, i, IADD3_pq)))
        return false;
    for (unsigned k = IADD3_ra; k <= IADD3_rc; k++) {
        Operand o = *ir_src(f, i, k);
        int32_t number;
        if (is_number(o, &number))
            *step = (int32_t)((uint32_t)*step + (uint32_t)number);
        else if (found || o.mods || !opt_scalar(o))
            return false;
        else
            *of = o, found = true;
    }
    return found;
}

/* The value that steps lead to it from. */
static uint32_t counted_from(const Compared *compared, uint32_t v) {
    const Function *f = compared->f;
    for (unsigned depth = 0; depth < DEEPEST && compared->counts && v; depth++) {
        Operand of;
        int32_t step;
        if (!f->values.at[v].def.i || !is_step(f, &f->insts.at[f->values.at[v].def.i], &of, &step))
            break;
        v = of.value;
    }
    return v;
}

/* Which steps make the operand of phis; those of the phis among them, if they are wanted. */
static unsigned steps_of(const Compared *compared, Operand o, bool of_phis, unsigned depth) {
    const Function *f = compared->f;
    uint32_t v = o.mods ? 0 : opt_scalar(o);
    const Inst *i = v && f->values.at[v].def.i ? &f->insts.at[f->values.at[v].def.i] : NULL;
    Operand of;
    int32_t step;
    if (!i || depth >= DEEPEST)
        return 0;
    unsigned steps = !op_is_always(i->guard) && i->flags & IF_TIED
                         ? steps_of(compared, *ir_tied(f, i, 0), of_phis, depth + 1)
                         : 0;
    if (i->op == IR_PHI)
        return of_phis && compared->followed_at[v] ? compared->followed.at[compared->followed_at[v] - 1].steps
                                                   : 0;
    if (i->op == IR_COPY || i->op == OT_MOV)
        return steps | steps_of(compared, *ir_src(f, i, 0), of_phis, depth + 1);
    if (i->op == OT_SEL)
        return steps | steps_of(compared, *ir_src(f, i, SEL_ra), of_phis, depth + 1) |
               steps_of(compared, *ir_src(f, i, SEL_rb), of_phis, depth + 1);
    return is_step(f, i, &of, &step)
               ? steps | (step < 0 ? DOWN : UP) | steps_of(compared, of, of_phis, depth + 1)
               : steps;
}

static void find_steps(Compared *compared) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < compared->followed.n; k++) {
            Followed *followed = &compared->followed.at[k];
            const Inst *phi = &compared->f->insts.at[followed->phi.i];
            unsigned steps = followed->steps;
            for (unsigned s = 0; s < phi->nsrc && steps != (UP | DOWN); s++)
                steps |= steps_of(compared, *ir_src(compared->f, phi, s), true, 0);
            changed |= steps != followed->steps;
            followed->steps = (uint8_t)steps;
        }
    }
}

static int by_block(const void *x, const void *y) {
    const Comparison *a = x, *b = y;
    return a->block != b->block ? (a->block < b->block ? -1 : 1)
                                : (a->value > b->value) - (a->value < b->value);
}

/* Phis that are compared with numbers, and those that are their sources. */
static void find_followed(Compared *compared, Arena *a, const Comparison *all, uint32_t n) {
    const Function *f = compared->f;
    VEC(Comparison) phis = {0};
    compared->followed_at = ARENA_ARRAY(a, uint32_t, f->values.n);
    compared->first_of = ARENA_ARRAY(a, uint32_t, f->blocks.n);
    for (uint32_t next = 0, k = 0; k < n || next < phis.n;) {
        uint32_t v = k < n ? all[k++].value : 0;
        const Inst *sources = NULL;
        if (!v)
            sources = followed_phi(f, phis.at[next++].value);
        for (unsigned s = 0; s < (sources ? sources->nsrc : 1u); s++) {
            v = counted_from(compared, sources ? opt_scalar(*ir_src(f, sources, s)) : v);
            const Inst *phi = followed_phi(f, v);
            if (!phi || compared->followed_at[v] || phis.n >= MOST_FOLLOWED)
                continue;
            compared->followed_at[v] = 1;
            VEC_ADD(a, &phis, ((Comparison){.value = v, .block = f->values.at[v].block.i}));
        }
    }
    if (phis.n)
        qsort(phis.at, phis.n, sizeof *phis.at, by_block);
    if (phis.n)
        compared->found = ARENA_ARRAY(a, Found, f->values.n);
    for (uint32_t k = 0; k < phis.n; k++) {
        Followed *followed = VEC_PUSH(a, &compared->followed);
        *followed = (Followed){.phi = f->values.at[phis.at[k].value].def};
        compared->followed_at[phis.at[k].value] = k + 1;
        if (!k || phis.at[k].block != phis.at[k - 1].block)
            compared->first_of[phis.at[k].block] = k + 1;
    }
    if (compared->counts)
        find_steps(compared);
}

/* What was found of the value, which holds until the lane comes to its definition again: by then it has come
 * to none of the definitions that it is made of, since wherever the value is used its own is the last. Steps
 * are counted each time, and it is looked for again where they might not be enough: what is found does not
 * depend on what is remembered. NULL: nothing yet. */
static const Found *find_again(Compared *compared, uint32_t v, const uint32_t *visits) {
    const Found *found = compared->found && v ? &compared->found[v] : NULL;
    if (!found || found->way != compared->way || found->visit != visits[compared->f->values.at[v].block.i] ||
        found->draws != compared->draws || compared->steps + found->steps > MOST_STEPS)
        return NULL;
    compared->steps += found->steps;
    return found;
}

/* steps: before it was looked for */
static void remember(Compared *compared, uint32_t v, const uint32_t *visits, unsigned steps, bool yes,
                     int32_t number) {
    if (compared->found && v && compared->steps <= MOST_STEPS)
        compared->found[v] = (Found){compared->way, visits[compared->f->values.at[v].block.i],
                                     number,        (uint16_t)(compared->steps - steps),
                                     yes,           compared->draws};
}

/* Of a predicate that decides between two numbers; what is unknown is drawn for each visit. */
static bool decided(Compared *compared, Operand predicate, uint64_t lane, const uint32_t *visits,
                    bool *drawn) {
    const Function *f = compared->f;
    bool negated = predicate.mods & OPM_NOT;
    uint32_t v = opt_scalar(predicate);
    const Found *found = find_again(compared, v, visits);
    *drawn = false;
    if (found) {
        *drawn = found->number;
        return found->yes != negated;
    }
    unsigned steps = compared->steps;
    Truth known = truth(compared, predicate, lane, visits, 0);
    if (!v)
        return known == YES;
    const Value *value = &f->values.at[v];
    bool yes = known == YES;
    if (known == UNKNOWN) {
        bool second = value->def.i && opt_scalar(*ir_dst(f, &f->insts.at[value->def.i], 0)) != v;
        uint64_t number = draw(value->def.i, visits[value->block.i], value->uniform ? 0 : lane);
        yes = (number >> 63) != (second != negated);
        *drawn = true;
    }
    remember(compared, v, visits, steps, yes != negated, *drawn);
    return yes;
}

static bool number_of(Compared *compared, Operand o, uint64_t lane, const uint32_t *visits, int32_t *number);

/* The number that the operand is where the way has come to; false: not known. What a profile's counts may
 * decide is not known by a choice that was drawn where the other number would not be: half of all lanes would
 * count on from what an exception sets. */
static bool find_number(Compared *compared, Operand o, uint64_t lane, const uint32_t *visits,
                        int32_t *number) {
    const Function *f = compared->f;
    uint32_t plus = 0;
    for (unsigned depth = 0; depth < DEEPEST && compared->steps++ < MOST_STEPS; depth++) {
        int32_t step;
        if (is_number(o, number)) {
            *number = (int32_t)((uint32_t)*number + plus);
            return true;
        }
        uint32_t v = o.mods ? 0 : opt_scalar(o);
        const Inst *i = v && f->values.at[v].def.i ? &f->insts.at[f->values.at[v].def.i] : NULL;
        if (!i || f->values.at[v].file != RF_R)
            return false;
        if (i->op == IR_PHI) {
            const Followed *followed =
                compared->followed_at[v] ? &compared->followed.at[compared->followed_at[v] - 1] : NULL;
            *number = (int32_t)((followed ? (uint32_t)followed->number : 0) + plus);
            return followed && followed->known;
        }
        bool guarded = !op_is_always(i->guard) && i->flags & IF_TIED, drawn = false;
        Operand kept = guarded ? *ir_tied(f, i, 0) : (Operand){0}, other = kept;
        if (guarded && !decided(compared, i->guard, lane, visits, &drawn)) {
            if (drawn && compared->counts)
                return false;
            o = kept;
            continue;
        }
        if (i->op == IR_COPY || i->op == OT_MOV) {
            o = *ir_src(f, i, 0);
        } else if (i->op == OT_SEL) {
            bool first = decided(compared, *ir_src(f, i, SEL_pp), lane, visits, &drawn);
            o = *ir_src(f, i, first ? SEL_ra : SEL_rb);
            other = *ir_src(f, i, first ? SEL_rb : SEL_ra);
        } else if (compared->counts && is_step(f, i, &o, &step)) {
            plus += (uint32_t)step;
        } else {
            return false;
        }
        if (drawn && compared->counts && !number_of(compared, other, lane, visits, &step))
            return false;
    }
    return false;
}

static bool number_of(Compared *compared, Operand o, uint64_t lane, const uint32_t *visits, int32_t *number) {
    uint32_t v = o.mods ? 0 : opt_scalar(o);
    const Found *found = find_again(compared, v, visits);
    if (found) {
        *number = found->number;
        return found->yes;
    }
    unsigned steps = compared->steps;
    *number = 0;
    bool known = find_number(compared, o, lane, visits, number);
    remember(compared, v, visits, steps, known, *number);
    return known;
}

void reconv_compared_start(Compared *compared) {
    compared->way++;
    for (uint32_t k = 0; k < compared->followed.n; k++)
        compared->followed.at[k].known = false;
}

const uint32_t *reconv_compared_blocks(const Compared *compared) { return compared->first_of; }

void reconv_compared_edge(Compared *compared, uint32_t from, uint32_t to, uint64_t lane,
                          const uint32_t *visits) {
    const Function *f = compared->f;
    const Block *block = &f->blocks.at[to];
    uint32_t first = compared->first_of[to], end = first - 1, pred = 0;
    compared->draws = true;
    while (pred < block->preds.n && block->preds.at[pred].i != from)
        pred++;
    for (; end < compared->followed.n; end++) { /* all of them read what was before */
        Followed *followed = &compared->followed.at[end];
        const Inst *phi = &f->insts.at[followed->phi.i];
        if (f->values.at[ir_dst(f, phi, 0)->value].block.i != to)
            break;
        compared->steps = 0;
        followed->next_known =
            pred < phi->nsrc && number_of(compared, *ir_src(f, phi, pred), lane, visits, &followed->next) &&
            (followed->steps != (UP | DOWN) || !steps_of(compared, *ir_src(f, phi, pred), false, 0));
    }
    for (uint32_t k = first - 1; k < end; k++) {
        compared->followed.at[k].known = compared->followed.at[k].next_known;
        compared->followed.at[k].number = compared->followed.at[k].next;
    }
}

/* ---- values that branches compare ---- */

/* Comparisons that decide no branch, of values that branches compare: what they tell apart is drawn, too.
 * Else `if (c == 1) state = 2;`, which is a select, would never be true of a character that branches compare
 * with other numbers. */
static void add_others(Compared *compared, Arena *a, Comparisons *all) {
    const Function *f = compared->f;
    Bitset branches = bs_new(a, f->values.n);
    for (uint32_t k = 0; k < all->n; k++)
        bs_add(&branches, all->at[k].value);
    for (uint32_t v = 0; v < f->values.n && all->n; v++) {
        const Inst *i = f->values.at[v].def.i ? &f->insts.at[f->values.at[v].def.i] : NULL;
        Comparison one = {.block = NO_NODE};
        if (!i || i->op != OT_ISETP || MGET(ISETP, ex, i->mods))
            continue;
        one.value = compared_value(f, i, &one.number);
        if (one.value && bs_has(&branches, one.value))
            VEC_ADD(a, all, one);
    }
}

Compared *reconv_find_compared(Reconv *reconv, const bool *divergent, bool counts) {
    Arena *a = &reconv->a;
    Function *f = reconv->f;
    Compared *compared = ARENA_NEW(a, Compared);
    Comparisons all = {0};
    compared->f = f;
    compared->counts = counts;
    compared->of_value = ARENA_ARRAY(a, Numbers, f->values.n);
    compared->alike = ARENA_ARRAY(a, uint8_t, f->blocks.n);
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        const Inst *branch = b && divergent[b] ? condition_of(f, b) : NULL, *test;
        Operand predicate = branch ? branch->guard : (Operand){0};
        for (unsigned depth = 0; depth < DEEPEST && (test = comparison(f, predicate)); depth++) {
            Comparison one = {.block = b};
            one.value = compared_value(f, test, &one.number);
            if (one.value)
                VEC_ADD(a, &all, one);
            predicate = *ir_src(f, test, ISETP_pp);
        }
    }
    find_followed(compared, a, all.at, all.n);
    add_others(compared, a, &all);
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, by_value);
    for (uint32_t k = 0, end; k < all.n; k = end) {
        for (end = k + 1; end < all.n && all.at[end].value == all.at[k].value; end++)
            ;
        take_numbers(compared, a, &all.at[k], end - k);
    }
    return compared;
}

static Truth opposite(Truth t) { return t == UNKNOWN ? t : t == YES ? NO : YES; }

static Truth combined(unsigned bop, Truth x, Truth y) {
    if (bop == BoolOp_XOR)
        return x == UNKNOWN || y == UNKNOWN ? UNKNOWN : x == y ? NO : YES;
    Truth decides = bop == BoolOp_AND ? NO : YES;
    return x == decides || y == decides   ? decides
           : x == UNKNOWN || y == UNKNOWN ? UNKNOWN
                                          : opposite(decides);
}

static Truth compare(const Inst *test, int32_t x, int32_t y) {
    bool less = MGET(ISETP, sign, test->mods) == ISign_U32 ? (uint32_t)x < (uint32_t)y : x < y;
    switch (MGET(ISETP, cmp, test->mods)) {
    case ICmp_F: return NO;
    case ICmp_LT: return less ? YES : NO;
    case ICmp_EQ: return x == y ? YES : NO;
    case ICmp_LE: return less || x == y ? YES : NO;
    case ICmp_GT: return less || x == y ? NO : YES;
    case ICmp_NE: return x == y ? NO : YES;
    case ICmp_GE: return less ? NO : YES;
    default: return YES;
    }
}

static Truth test_truth(Compared *compared, const Inst *test, uint64_t lane, const uint32_t *visits) {
    const Function *f = compared->f;
    int32_t number, is;
    uint32_t v = compared_value(f, test, &number);
    if (v && number_of(compared, *ir_src(f, test, ISETP_ra), lane, visits, &is))
        return compare(test, is, number);
    if (!v || !compared->draws || !compared->of_value[v].n)
        return UNKNOWN;
    const Value *value = &f->values.at[v];
    const Numbers *among = &compared->of_value[v];
    uint64_t drawn = draw(v, visits[value->block.i], value->uniform ? 0 : lane);
    return compare(test, compared->numbers.at[among->first + ((drawn >> 32) * among->n >> 32)], number);
}

static Truth truth(Compared *compared, Operand predicate, uint64_t lane, const uint32_t *visits,
                   unsigned depth) {
    bool negated = predicate.mods & OPM_NOT;
    predicate.mods = 0;
    if (op_is_always(predicate))
        return negated ? NO : YES;
    const Inst *test = depth < DEEPEST ? comparison(compared->f, predicate) : NULL;
    if (!test)
        return UNKNOWN;
    unsigned bop = MGET(ISETP, bop, test->mods);
    Truth x = test_truth(compared, test, lane, visits);
    if (opt_scalar(*ir_dst(compared->f, test, ISETP_pv)) == predicate.value)
        x = opposite(x);
    if (bop == BoolOp_XOR || x != (bop == BoolOp_AND ? NO : YES)) /* else the other one does not matter */
        x = combined(bop, x, truth(compared, *ir_src(compared->f, test, ISETP_pp), lane, visits, depth + 1));
    return negated ? opposite(x) : x;
}

/* May the lane's way decide the number? As number_of. */
static bool may_be_known(const Compared *compared, Operand o) {
    const Function *f = compared->f;
    uint32_t v = o.mods ? 0 : opt_scalar(o);
    const Inst *i = v && f->values.at[v].def.i ? &f->insts.at[f->values.at[v].def.i] : NULL;
    if (!i || f->values.at[v].file != RF_R)
        return false;
    return i->op == IR_PHI ? compared->followed_at[v] != 0
                           : !op_is_always(i->guard) || i->op == IR_COPY || i->op == OT_MOV ||
                                 i->op == OT_SEL || (compared->counts && i->op == OT_IADD3);
}

/* Do lanes, or their visits, differ in what is known of the predicate? */
static bool varies(const Compared *compared, Operand predicate) {
    const Inst *test;
    for (unsigned depth = 0; depth < DEEPEST; depth++) {
        predicate.mods = 0;
        test = comparison(compared->f, predicate);
        if (!test)
            return false;
        int32_t number;
        uint32_t v = compared_value(compared->f, test, &number);
        if (v && (compared->of_value[v].n || may_be_known(compared, *ir_src(compared->f, test, ISETP_ra))))
            return true;
        predicate = *ir_src(compared->f, test, ISETP_pp);
    }
    return false;
}

static uint32_t branch_slot(Compared *compared, const Reconv *reconv, uint32_t b, uint64_t lane,
                            const uint32_t *visits, bool draws) {
    const Inst *branch = condition_of(compared->f, b);
    if (!branch || reconv->g.succ_at[b + 1] - reconv->g.succ_at[b] != 2)
        return NO_NODE;
    if (!compared->alike[b] && varies(compared, branch->guard))
        compared->alike[b] = VARIES;
    compared->draws = draws;
    compared->steps = 0;
    Truth taken = truth(compared, branch->guard, lane, visits, 0);
    if (taken == UNKNOWN)
        return NO_NODE;
    bool first = reconv->g.succ[reconv->g.succ_at[b]] == ir_src(compared->f, branch, BRA_offset)->value;
    return first == (taken == YES) ? 0 : 1;
}

uint32_t reconv_compared_slot(Compared *compared, const Reconv *reconv, uint32_t b, uint64_t lane,
                              const uint32_t *visits, bool draws) {
    if (compared->alike[b] < ALIKE) {
        uint32_t slot = branch_slot(compared, reconv, b, lane, visits, draws);
        if (compared->alike[b] == VARIES)
            return slot;
        compared->alike[b] = slot == NO_NODE ? ALIKE_NONE : (uint8_t)(ALIKE + slot);
    }
    return compared->alike[b] == ALIKE_NONE ? NO_NODE : (uint32_t)compared->alike[b] - ALIKE;
}
