/* Melding: which instructions of the two sides become one, and what that is expected to save.
 *
 * The instructions of a pair of blocks are aligned in their order (Needleman and Wunsch), a pair scoring what
 * it saves less the selects that its operands need; a value made by both sides is hoped to be one in the end.
 * Then what the whole region would issue is counted exactly, and pairs are given up one at a time where that
 * is cheaper. SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"
#include "lower/predicate/meld.h"
#include "lower/profile.h"
#include <string.h>

enum { ALU_SCORE = 8, MEMORY_SCORE = 10, SELECT_SCORE = 8, MOST_INSTS = 192 /* of both sides */ };
static const float BRANCH_COST = 3.5f;           /* BRA, BSSY, BSYNC once or twice */
static const float RISK = 3, RISK_SHARE = 0.25f; /* what may be lost where all lanes take the shorter side */
static const float P_DIVERGE = 0.5f, P_SIDE = 0.5f;
static const float LEAST_GAIN = 1; /* less is lost again where branches inside are others for predication */

unsigned pred_meld_edge(const Function *f, BlockId block, BlockId from) {
    const Block *b = &f->blocks.at[block.i];
    unsigned k = 0;
    while (b->preds.at[k].i != from.i)
        k++;
    return k;
}

static bool same_operand(Operand a, Operand b) { return memcmp(&a, &b, sizeof a) == 0; }

static bool is_constant(Operand o) {
    return !o.mods && (o.kind == OPK_IMM || o.kind == OPK_CMEM ||
                       (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ));
}

static bool is_predicate(Operand o) {
    return o.file == RF_P && (opt_scalar(o) || (o.kind == OPK_REG && o.value == REG_PT));
}

/* Is it one value for both kinds of lanes? 0: a constant. hope: or may it become one? */
static bool one_value(const Meld *meld, uint32_t zero, uint32_t one, bool hope) {
    if (zero == one || (zero && one && meld->mate[zero] == one))
        return true;
    if (!hope || !zero || !one)
        return false;
    const Value *left = &meld->f->values.at[zero], *right = &meld->f->values.at[one];
    return meld->side_of[left->block.i] == 1 && meld->side_of[right->block.i] == 2 &&
           meld->pair_of[left->block.i] == meld->pair_of[right->block.i] &&
           meld->f->insts.at[left->def.i].op == meld->f->insts.at[right->def.i].op;
}

static int differ(const Meld *meld, Operand zero, Operand one, bool hope) {
    if (same_operand(zero, one))
        return 0;
    if (is_predicate(zero) && is_predicate(one))
        return zero.mods == one.mods && one_value(meld, opt_scalar(zero), opt_scalar(one), hope) ? 0 : 1;
    if (zero.kind == OPK_VAL && one.kind == OPK_VAL) {
        if (zero.file != RF_R || one.file != RF_R || zero.mods != one.mods || zero.count != one.count)
            return -1;
        int n = 0;
        for (unsigned c = 0; c < zero.count; c++) {
            uint32_t x = ir_operand_value(meld->f, zero, c).i, y = ir_operand_value(meld->f, one, c).i;
            if (!x != !y)
                return -1;
            n += !one_value(meld, x, y, hope);
        }
        return n;
    }
    bool zero_fits =
        is_constant(zero) || (zero.kind == OPK_VAL && zero.file == RF_R && zero.count == 1 && !zero.mods);
    bool one_fits =
        is_constant(one) || (one.kind == OPK_VAL && one.file == RF_R && one.count == 1 && !one.mods);
    return zero_fits && one_fits ? (is_constant(zero) && is_constant(one) ? 2 : 1) : -1;
}

int pred_meld_differ(const Meld *meld, Operand zero, Operand one) { return differ(meld, zero, one, false); }

bool pred_meld_same(const Meld *meld, Operand zero, Operand one) {
    return differ(meld, zero, one, false) == 0;
}

bool pred_meld_phis(const Meld *meld, const MeldPair *pair, InstId zero, InstId one) {
    const Function *f = meld->f;
    const Inst *x = &f->insts.at[zero.i], *y = &f->insts.at[one.i];
    const Block *b = &f->blocks.at[pair->block[0].i];
    if (ir_dst(f, x, 0)->file != ir_dst(f, y, 0)->file)
        return false;
    for (unsigned k = 0; k < b->preds.n; k++) {
        BlockId mate = meld->pair[meld->pair_of[b->preds.at[k].i] - 1].block[1];
        if (!pred_meld_same(meld, *ir_src(f, x, k), *ir_src(f, y, pred_meld_edge(f, pair->block[1], mate))))
            return false;
    }
    return true;
}

/* ---- alignment ---- */

static bool dsts_agree(const Function *f, const Inst *x, const Inst *y) {
    FOR_DSTS(f, x, dst) {
        Operand a = *dst, b = *ir_dst(f, y, AT(dst));
        if (a.kind == OPK_VAL && b.kind == OPK_VAL && (a.file != b.file || a.count != b.count))
            return false;
        for (unsigned c = 0; a.kind == OPK_VAL && b.kind == OPK_VAL && c < a.count; c++)
            if (!ir_operand_value(f, a, c).i != !ir_operand_value(f, b, c).i)
                return false;
    }
    return true;
}

/* What melding two instructions scores; 0: they cannot be melded. */
static int score(const Meld *meld, InstId zero, InstId one) {
    const Function *f = meld->f;
    const Inst *left = &f->insts.at[zero.i], *right = &f->insts.at[one.i];
    if (left->op != right->op || left->mods != right->mods || left->flags != right->flags ||
        left->ndst != right->ndst || left->nsrc != right->nsrc || ir_is_pseudo(left->op) ||
        left->flags & IF_TIED || !dsts_agree(f, left, right) ||
        op_is_always(left->guard) != op_is_always(right->guard))
        return 0;
    int selects = op_is_always(left->guard) ? 0 : differ(meld, left->guard, right->guard, true);
    MachInst m = opt_mach(f, left);
    bool other = false;
    for (unsigned k = 0; selects >= 0 && k < left->nsrc; k++) {
        Operand a = *ir_src(f, left, k), b = *ir_src(f, right, k);
        int n = differ(meld, a, b, true);
        if (n < 0)
            return 0;
        selects += n;
        if (same_operand(a, b))
            continue;
        if (!opt_own_src(left, k))
            return 0;
        if (a.kind != OPK_VAL || b.kind != OPK_VAL) {
            other = true;
            m.src[k] =
                (Operand){.kind = OPK_VAL, .file = is_predicate(a) ? RF_P : RF_R, .count = 1, .value = 1};
        }
    }
    if (selects < 0 || (other && !isa_select_opcode(f->module->target, &m)))
        return 0;
    int good = (left->flags & IF_MEMORY ? MEMORY_SCORE : ALU_SCORE) - selects * SELECT_SCORE +
               1; /* what costs as much may save selects later */
    return good > 0 ? good : 0;
}

static unsigned body(const Function *f, BlockId b, InstId out[MELD_MOST_INSTS]) {
    const Block *blk = &f->blocks.at[b.i];
    unsigned n = 0;
    for (unsigned k = 0; k < blk->insts.n - (blk->succs.n == 2 ? 2 : 1); k++) {
        if (f->insts.at[blk->insts.at[k].i].op == IR_PHI && blk->preds.n > 1)
            continue;
        if (n == MELD_MOST_INSTS)
            return MELD_MOST_INSTS + 1;
        out[n++] = blk->insts.at[k];
    }
    return n;
}

static void align_pair(Meld *meld, MeldPair *pair, const InstId *x, unsigned nx, const InstId *y,
                       unsigned ny) {
    uint16_t best[MELD_MOST_INSTS + 1][MELD_MOST_INSTS + 1];
    uint8_t gain[MELD_MOST_INSTS][MELD_MOST_INSTS];
    memset(best[nx], 0, sizeof best[nx]);
    for (unsigned a = nx; a-- > 0;) {
        best[a][ny] = 0;
        for (unsigned b = ny; b-- > 0;) {
            meld->f->module->steps++;
            gain[a][b] = (uint8_t)score(meld, x[a], y[b]);
            unsigned skip = best[a + 1][b] > best[a][b + 1] ? best[a + 1][b] : best[a][b + 1];
            unsigned take = gain[a][b] ? best[a + 1][b + 1] + gain[a][b] : 0;
            best[a][b] = (uint16_t)(take > skip ? take : skip);
        }
    }
    for (unsigned a = 0, b = 0; a < nx || b < ny;) {
        MeldStep step = {{{0}, {0}}, false};
        if (a < nx && b < ny && gain[a][b] && best[a][b] == best[a + 1][b + 1] + gain[a][b])
            step.inst[0] = x[a++], step.inst[1] = y[b++];
        else if (b == ny || (a < nx && best[a][b] == best[a + 1][b]))
            step.inst[0] = x[a++];
        else
            step.inst[1] = y[b++];
        VEC_ADD(&meld->a, &pair->steps, step);
    }
}

bool pred_meld_align(Meld *meld, PredicateReason *why) {
    Function *f = meld->f;
    unsigned sum = 0;
    for (unsigned k = 0; k < meld->npairs; k++) {
        InstId inst[2][MELD_MOST_INSTS];
        unsigned n[2];
        for (unsigned s = 0; s < 2; s++) {
            n[s] = body(f, meld->pair[k].block[s], inst[s]);
            if (n[s] > MELD_MOST_INSTS) {
                *why = PR_LONG;
                return false;
            }
            for (unsigned m = 0; m < n[s]; m++)
                if (pred_kind(f, ir_inst(f, inst[s][m]), why) == PK_NONE)
                    return false;
        }
        if ((sum += n[0] + n[1]) > MOST_INSTS) {
            *why = PR_LONG;
            return false;
        }
        meld->pair[k].steps.n = 0;
        align_pair(meld, &meld->pair[k], inst[0], n[0], inst[1], n[1]);
    }
    return true;
}

/* ---- cost ---- */

void pred_meld_forget(Meld *meld) {
    for (unsigned k = 0; k < meld->noted.n; k++) {
        uint32_t v = meld->noted.at[k];
        meld->mate[v] = meld->now[v] = meld->wanted[v] = 0;
    }
    meld->noted.n = meld->choices.n = 0;
}

static void note_mates(Meld *meld, Operand zero, Operand one) {
    for (unsigned c = 0; zero.kind == OPK_VAL && one.kind == OPK_VAL && c < zero.count; c++) {
        uint32_t x = ir_operand_value(meld->f, zero, c).i;
        if (!x)
            continue;
        meld->mate[x] = ir_operand_value(meld->f, one, c).i;
        VEC_ADD(&meld->a, &meld->noted, x);
    }
}

static void want(Meld *meld, Operand o) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        uint32_t v = ir_operand_value(meld->f, o, c).i;
        if (v && !meld->wanted[v]) {
            meld->wanted[v] = 1;
            VEC_ADD(&meld->a, &meld->noted, v);
        }
    }
}

/* What is alone and without effects, and wanted by nothing but the join, comes last. */
static void find_late(Meld *meld, MeldPair *pair) {
    const Function *f = meld->f;
    for (unsigned k = pair->steps.n; k-- > 0;) {
        MeldStep *step = &pair->steps.at[k];
        const Inst *i = &f->insts.at[step->inst[step->inst[0].i ? 0 : 1].i];
        PredicateReason why;
        step->late = pair->ends && (!step->inst[0].i || !step->inst[1].i) && op_is_always(i->guard) &&
                     (pred_kind(f, i, &why) == PK_PLAIN || ir_is_pseudo(i->op));
        for (unsigned n = 0; n < i->ndst && step->late; n++)
            for (unsigned c = 0; ir_dst(f, i, n)->kind == OPK_VAL && c < ir_dst(f, i, n)->count; c++)
                step->late &= !meld->wanted[ir_operand_value(f, *ir_dst(f, i, n), c).i];
        for (unsigned s = 0; s < 2 && !step->late; s++) {
            if (!step->inst[s].i)
                continue;
            const Inst *user = &f->insts.at[step->inst[s].i];
            FOR_READS(f, user, read)
                want(meld, *read);
        }
    }
}

static bool is_late(const MeldPair *pair, const Function *f, Operand o) {
    InstId def = opt_scalar(o) ? f->values.at[o.value].def : (InstId){0};
    for (unsigned k = 0; def.i && k < pair->steps.n; k++)
        if (pair->steps.at[k].late &&
            (pair->steps.at[k].inst[0].i == def.i || pair->steps.at[k].inst[1].i == def.i))
            return true;
    return false;
}

/* Selects for one operand, those that there are already left out. */
static unsigned count_choice(Meld *meld, unsigned k, Operand zero, Operand one) {
    int n = pred_meld_differ(meld, zero, one);
    if (n <= 0)
        return 0;
    if (zero.count == 1 || zero.kind != OPK_VAL) {
        for (unsigned m = 0; m < meld->choices.n; m++)
            if (same_operand(meld->choices.at[m].of[0], zero) &&
                same_operand(meld->choices.at[m].of[1], one) &&
                (meld->choices.at[m].pair == k || !meld->choices.at[m].pair))
                return 0;
        VEC_ADD(&meld->a, &meld->choices, ((MeldChoice){.of = {zero, one}, .pair = k}));
        return (unsigned)n;
    }
    unsigned sum = 0;
    for (unsigned c = 0; c < zero.count; c++)
        if (ir_operand_value(meld->f, zero, c).i)
            sum += count_choice(meld, k, ir_val(meld->f, ir_operand_value(meld->f, zero, c)),
                                ir_val(meld->f, ir_operand_value(meld->f, one, c)));
    return sum;
}

static void pair_phis(Meld *meld, const MeldPair *pair) {
    const Block *left = ir_block(meld->f, pair->block[0]), *right = ir_block(meld->f, pair->block[1]);
    for (unsigned k = 0; left->preds.n > 1 && k < left->insts.n && k < right->insts.n; k++) {
        if (ir_inst(meld->f, left->insts.at[k])->op != IR_PHI ||
            ir_inst(meld->f, right->insts.at[k])->op != IR_PHI)
            break;
        if (pred_meld_phis(meld, pair, left->insts.at[k], right->insts.at[k]))
            note_mates(meld, *ir_dst(meld->f, ir_inst(meld->f, left->insts.at[k]), 0),
                       *ir_dst(meld->f, ir_inst(meld->f, right->insts.at[k]), 0));
    }
}

static const Inst *branch_of(const Function *f, BlockId b) {
    const Block *blk = &f->blocks.at[b.i];
    return &f->insts.at[blk->insts.at[blk->insts.n - 2].i];
}

/* Selects where the edges to the join become one. */
static unsigned join_selects(Meld *meld, unsigned k) {
    const Function *f = meld->f;
    const MeldPair *pair = &meld->pair[k];
    const Block *b = &f->blocks.at[pair->block[0].i];
    unsigned sum = 0;
    bool joins = false;
    for (unsigned s = 0; s < b->succs.n; s++)
        joins |= b->succs.at[s].i == meld->join.i;
    if (!joins)
        return 0;
    FOR_PHIS(meld->f, meld->join, phi) {
        Operand zero = *ir_src(f, phi, pred_meld_edge(f, meld->join, pair->block[0])),
                one = *ir_src(f, phi, pred_meld_edge(f, meld->join, pair->block[1]));
        int n = pred_meld_differ(meld, zero, one);
        sum += n > 0 && !is_late(pair, f, zero) && !is_late(pair, f, one);
    }
    return sum;
}

typedef struct {
    float issues;
    unsigned melded, alone, selects;
} MeldCost;

static MeldCost count_all(Meld *meld) {
    const Function *f = meld->f;
    MeldCost cost = {0};
    pred_meld_forget(meld);
    for (unsigned k = 0; k < meld->npairs; k++) {
        MeldPair *pair = &meld->pair[k];
        unsigned here = 0, selects = 0;
        find_late(meld, pair);
        pair_phis(meld, pair);
        for (unsigned n = 0; n < pair->steps.n; n++) {
            const MeldStep *step = &pair->steps.at[n];
            const Inst *left = &f->insts.at[step->inst[0].i], *right = &f->insts.at[step->inst[1].i];
            if (!step->inst[0].i || !step->inst[1].i) {
                bool real = !ir_is_pseudo(step->inst[0].i ? left->op : right->op);
                here += real;
                cost.alone += real;
                continue;
            }
            for (unsigned s = 0; s < left->nsrc; s++)
                selects += count_choice(meld, k, *ir_src(f, left, s), *ir_src(f, right, s));
            if (!op_is_always(left->guard))
                selects += count_choice(meld, k, left->guard, right->guard);
            for (unsigned d = 0; d < left->ndst; d++)
                note_mates(meld, *ir_dst(f, left, d), *ir_dst(f, right, d));
            here++;
            cost.melded++;
        }
        selects += join_selects(meld, k);
        cost.selects += selects;
        cost.issues += pair->often * (float)(here + selects);
        if (f->blocks.at[pair->block[0].i].succs.n == 2) {
            Operand one = branch_of(f, pair->block[1])->guard;
            one.mods ^= pair->crossed ? OPM_NOT : 0;
            cost.issues +=
                pair->often *
                (BRANCH_COST + (float)count_choice(meld, k, branch_of(f, pair->block[0])->guard, one));
        }
    }
    return cost;
}

/* Pairs are given up while the region gets no dearer. */
static MeldCost improve(Meld *meld) {
    MeldCost best = count_all(meld);
    for (unsigned k = 0; k < meld->npairs; k++) {
        MeldPair *pair = &meld->pair[k];
        for (unsigned n = pair->steps.n; n-- > 0;) {
            MeldStep both = pair->steps.at[n];
            if (!both.inst[0].i || !both.inst[1].i)
                continue;
            VEC_ADD(&meld->a, &pair->steps, both); /* room for one more */
            memmove(&pair->steps.at[n + 1], &pair->steps.at[n], (pair->steps.n - n - 1) * sizeof both);
            pair->steps.at[n].inst[1].i = pair->steps.at[n + 1].inst[0].i = 0;
            MeldCost now = count_all(meld);
            meld->f->module->steps += pair->steps.n;
            if (now.issues < best.issues) {
                best = now;
                continue;
            }
            pair->steps.at[n] = both;
            memmove(&pair->steps.at[n + 1], &pair->steps.at[n + 2], (pair->steps.n - n - 2) * sizeof both);
            pair->steps.n--;
        }
    }
    return count_all(meld);
}

/* One side as it stands, and its instructions. */
static float side_cost(const Meld *meld, unsigned s, unsigned *insts) {
    const Function *f = meld->f;
    float sum = 0;
    for (unsigned k = 0; k < meld->npairs; k++) {
        const MeldPair *pair = &meld->pair[k];
        for (unsigned n = 0; n < pair->steps.n; n++) {
            uint32_t i = pair->steps.at[n].inst[s].i;
            bool real = i && !ir_is_pseudo(f->insts.at[i].op);
            sum += real ? pair->often : 0;
            *insts += real;
        }
        sum += f->blocks.at[pair->block[s].i].succs.n == 2 ? pair->often * BRANCH_COST : 0;
    }
    return sum;
}

/* Selects of the join that predication would need. */
static unsigned selects_without(const Meld *meld) {
    const Function *f = meld->f;
    unsigned n = 0;
    FOR_PHIS(meld->f, meld->join, phi) {
        Operand o[2];
        bool made = false;
        for (unsigned s = 0; s < 2; s++) {
            o[s] = *ir_src(f, phi, pred_meld_edge(f, meld->join, meld->pair[0].block[s]));
            made |= opt_scalar(o[s]) && meld->side_of[f->values.at[o[s].value].block.i];
        }
        n += !made && !same_operand(o[0], o[1]);
    }
    return n;
}

bool pred_meld_worth(Meld *meld, MeldReport *report) {
    unsigned insts = 0;
    MeldCost cost = improve(meld);
    float side[2], odds = P_SIDE, apart = P_DIVERGE;
    for (unsigned s = 0; s < 2; s++)
        side[s] = side_cost(meld, s, &insts);
    const PtxBranch *counts = lower_branch_counts(meld->f, meld->head);
    if (counts) {
        uint64_t together = counts->warps - counts->divergent;
        apart = (float)counts->divergent / (float)counts->warps;
        odds = together ? (float)counts->ways[0].together / (float)together : P_SIDE;
    }
    float branch =
        BRANCH_COST + (apart + (1 - apart) * odds) * side[0] + (apart + (1 - apart) * (1 - odds)) * side[1];
    float cheapest = 3 + (side[0] < side[1] ? side[0] : side[1]);
    float before = branch;
    bool guards = false;
    if (meld->npairs == 1 && meld->predicate != PREDICATE_OFF) {
        float guarded = side[0] + side[1] + (float)selects_without(meld);
        guards = meld->predicate == PREDICATE_MAX ? insts <= PRED_MAX_INSTS
                                                  : insts <= PRED_AUTO_INSTS && guarded <= branch &&
                                                        (counts || guarded <= cheapest + RISK);
        before = guards ? guarded : branch;
    }
    report->melded = cost.melded;
    report->alone = cost.alone;
    report->selects = cost.selects;
    report->branch_issues = before;
    report->melded_issues = cost.issues;
    return cost.melded > 0 && cost.issues + LEAST_GAIN <= before &&
           (counts || guards || cost.issues <= cheapest * (1 + RISK_SHARE) + RISK);
}
