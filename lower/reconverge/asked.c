/* R-09 of collectives that have a fast way (lower/reconverge/ask.c), checked on the instructions: no WARPSYNC
 * stands before these, so what their lanes rely on is the question. It is read anew from its words, without
 * what made it (operations are asked for by name: these words are the meaning).
 *
 * The branch goes where its predicate is false, which a LOP3 made that asks whether a lane of the mask is not
 * among those here: of all that a VOTE found, where the mask is a number, or of those that a MATCH found with
 * the same mask, and then a VOTE lets all lanes go one way. Nothing between changes who is here.
 *
 * Only the question leads to the block of the fast way, which switches no lanes. Each of its collectives is
 * one of those of the slow way: the same operation of the same statement, with the question's mask, each of
 * these once. Where lanes of several masks may be there together, each takes from a collective what its own
 * mask names: what SHFL gives, or the part of a word that a LOP3 with the mask leaves.
 *
 * No other collective without WARPSYNC is new: all that were not there before the pass are questions, fast
 * ways, or ask who is here. SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/reconverge/ask.h"
#include <stdio.h>
#include <string.h>

typedef struct {
    const IrModule *m;
    const SyncNotes *notes;
    Function *f;
    Arena a;
    bool *known;  /* [inst] a collective that is accounted for */
    bool *served; /* [site] has its copy on the fast way */
    bool good;
    Diags *d;
} Asked;

typedef struct {
    Operand mask;
    uint32_t fast, slow; /* blocks */
} Question;

static void refuse_way(Asked *asked, const Inst *i, const char *what) {
    asked->good = false;
    diag(asked->d, asked->f->locs.at[i->loc.i].src, DIAG_E0773, "R-09", what,
         str_text(asked->m->strings, asked->f->name));
}

static bool same_words(Operand a, Operand b) { return !memcmp(&a, &b, sizeof a); }

static bool is_one_value(Operand o) { return o.kind == OPK_VAL && !o.mods && o.count <= 1; }

static bool is_collective(const Inst *i) {
    return !ir_is_pseudo(i->op) && isa_traits(i->op)->lanes == ISA_LANES_COLLECTIVE;
}

/* The instruction before position *at of the block whose result is `value`; *at becomes its position. NULL:
 * there is none, it has a guard, or between them lanes may become others. */
static const Inst *made_before(const Asked *asked, BlockId block, unsigned *at, Operand value) {
    Function *f = asked->f;
    while (is_one_value(value) && (*at)-- > 0) {
        const Inst *i = ir_inst(f, ir_inst_at(f, block, *at));
        FOR_DSTS(f, i, dst)
            if (is_one_value(*dst) && dst->value == value.value)
                return op_is_always(i->guard) && !ir_is_pseudo(i->op) ? i : NULL;
        if (!ir_is_pseudo(i->op) && (reconv_changes_active(i) || reconv_is_collective(i)))
            return NULL;
    }
    return NULL;
}

static bool is_vote_any(const Function *f, const Inst *i, unsigned result, Operand value) {
    return i->op == OT_VOTE && MGET(VOTE, op, i->mods) == VoteOp_ANY &&
           same_words(*ir_dst(f, i, result), value);
}

static bool read_question(Asked *asked, BlockId block, Question *question) {
    Function *f = asked->f;
    unsigned at = 0;
    while (!ir_is_terminator(f, ir_inst(f, ir_inst_at(f, block, at))))
        at++;
    const Inst *branch = ir_inst(f, ir_inst_at(f, block, at)), *lacks, *who;
    const Block *b = ir_block(f, block);
    Operand says = branch->guard;
    if (branch->op != OT_BRA || says.kind != OPK_VAL || says.mods != OPM_NOT || b->succs.n != 2)
        return false;
    says.mods = 0;
    lacks = made_before(asked, block, &at, says);
    InstId votes = {0}, asks;
    if (lacks && is_vote_any(f, lacks, VOTE_pu, says)) {
        votes = ir_inst_at(f, block, at);
        says = *ir_src(f, lacks, VOTE_pp);
        lacks = made_before(asked, block, &at, says);
    }
    if (!lacks || lacks->op != OT_LOP3 || MGET(LOP3, lut, lacks->mods) != LUT_LACKS ||
        !same_words(*ir_dst(f, lacks, LOP3_pu), says) ||
        !same_words(*ir_src(f, lacks, LOP3_pp), op_with(op_pt(), OPM_NOT)))
        return false;
    Operand here = *ir_src(f, lacks, LOP3_ra);
    question->mask = *ir_src(f, lacks, LOP3_rb);
    who = made_before(asked, block, &at, here);
    asks = who ? ir_inst_at(f, block, at) : (InstId){0};
    bool of_number = who && !votes.i && question->mask.kind == OPK_IMM &&
                     is_vote_any(f, who, VOTE_rd, here) && op_is_always(*ir_src(f, who, VOTE_pp)) &&
                     !ir_src(f, who, VOTE_pp)->mods,
         of_mask = who && votes.i && is_one_value(question->mask) && who->op == OT_MATCH &&
                   MGET(MATCH, op, who->mods) == MatchOp_ANY &&
                   MGET(MATCH, type, who->mods) == MatchType_U32 &&
                   same_words(*ir_dst(f, who, MATCH_rd), here) &&
                   same_words(*ir_src(f, who, MATCH_ra), question->mask);
    asked->known[votes.i] = asked->known[asks.i] = true;
    question->fast = ir_src(f, branch, BRA_offset)->value;
    question->slow = b->succs.at[b->succs.at[0].i == question->fast].i;
    return of_number || of_mask;
}

/* Whoever reads the value takes of it what the mask names; phis hand it on. */
static bool only_masked(Asked *asked, uint32_t value, Operand mask, unsigned hops) {
    Function *f = asked->f;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            bool reads = false;
            FOR_READS(f, i, read)
                reads |= read->kind == OPK_VAL && read->count <= 1 && read->value == value;
            FOR_READS(f, i, read)
                for (unsigned c = 0; read->kind == OPK_VAL && read->count > 1 && c < read->count; c++)
                    if (ir_operand_value(f, *read, c).i == value)
                        return false;
            if (!reads)
                continue;
            bool takes_part =
                i->op == OT_LOP3 && MGET(LOP3, lut, i->mods) == LUT_AND &&
                ((is_one_value(*ir_src(f, i, LOP3_ra)) && same_words(*ir_src(f, i, LOP3_rb), mask)) ||
                 (is_one_value(*ir_src(f, i, LOP3_rb)) && same_words(*ir_src(f, i, LOP3_ra), mask)));
            if (!takes_part &&
                (i->op != IR_PHI || !hops || !only_masked(asked, ir_dst(f, i, 0)->value, mask, hops - 1)))
                return false;
        }
    return true;
}

static bool takes_its_part(Asked *asked, const Inst *i, Operand mask) {
    enum { HOPS = 2 };
    Function *f = asked->f;
    if (mask.kind == OPK_IMM || i->op == OT_SHFL)
        return true;
    bool has_parts = i->op == OT_VOTE    ? MGET(VOTE, op, i->mods) != VoteOp_EQ
                     : i->op == OT_MATCH ? MGET(MATCH, op, i->mods) == MatchOp_ANY
                                         : false;
    FOR_DSTS(f, i, dst) /* one without a result asks nothing */
        if (dst->kind == OPK_VAL &&
            (!has_parts || dst->file != RF_R || !only_masked(asked, dst->value, mask, HOPS)))
            return false;
    return true;
}

/* Marks the collective of the slow way that this one is on the fast way. */
static bool serve(Asked *asked, const Inst *i, const Question *question) {
    for (uint32_t k = 0; k < asked->notes->sites.n; k++) {
        const SyncSite *site = &asked->notes->sites.at[k];
        if (site->f == asked->f && site->stands == question->slow && !asked->served[k] && site->op == i->op &&
            site->loc.i == i->loc.i &&
            (site->mask.kind == OPK_NONE ||
             same_words(site->mask, question->mask))) { /* none: not known, as in check.c */
            asked->served[k] = true;
            return true;
        }
    }
    return false;
}

static void check_fast_way(Asked *asked, const Question *question, const Inst *branch) {
    Function *f = asked->f;
    const Block *fast = &f->blocks.at[question->fast];
    if (fast->preds.n != 1)
        refuse_way(asked, branch, "not only the question leads to a fast way");
    FOR_INST_IDS(f, (BlockId){question->fast}, id) {
        const Inst *i = ir_inst(f, id);
        if (ir_is_pseudo(i->op) || ir_is_terminator(f, i))
            continue;
        if (i->flags & IF_SYNC || reconv_changes_active(i) || i->op == OT_BSSY)
            refuse_way(asked, i, "a fast way switches lanes");
        if (!is_collective(i))
            continue;
        asked->known[id.i] = true;
        if (!op_is_always(i->guard) || !serve(asked, i, question))
            refuse_way(asked, i,
                       "a collective of a fast way that is none of the slow way's, or of another mask");
        else if (!takes_its_part(asked, i, question->mask))
            refuse_way(asked, i, "a collective of a fast way whose result depends on lanes of other masks");
    }
}

static void check_function(Asked *asked, Function *f, uint32_t ninsts_before) {
    ArenaMark mark = arena_mark(&asked->a);
    asked->f = f;
    asked->known = ARENA_ARRAY(&asked->a, bool, f->insts.n + 1);
    FOR_BLOCKS(f, b) {
        Question question;
        const Inst *branch = ir_block(f, b)->succs.n == 2 ? reconv_branch(f, ir_block(f, b)) : NULL;
        if (!branch || !(branch->flags & IF_ASKS))
            continue;
        if (read_question(asked, b, &question))
            check_fast_way(asked, &question, branch);
        else
            refuse_way(asked, branch, "a branch that should ask for the lanes of a mask does not");
    }
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id) {
            const Inst *i = ir_inst(f, id);
            bool who = i->op == OT_VOTE && op_is_always(*ir_src(f, i, VOTE_pp));
            if (id.i >= ninsts_before && is_collective(i) && !(i->flags & IF_SYNC) && !who &&
                !asked->known[id.i] && isa_traits(i->op)->flow == ISA_FLOW_NONE)
                refuse_way(asked, i, "a new collective without WARPSYNC");
        }
    arena_release(&asked->a, mark);
}

bool reconv_check_asked(const IrModule *module, const SyncNotes *notes, Diags *d) {
    Asked asked = {.m = module, .notes = notes, .good = true, .d = d};
    asked.served = ARENA_ARRAY(&asked.a, bool, notes->sites.n + 1u);
    for (unsigned k = 0; k < module->funcs.n; k++) {
        Function *f = module->funcs.at[k];
        uint32_t before = UINT32_MAX; /* of functions that the pass made nothing is asked */
        for (uint32_t n = 0; n < notes->funcs.n; n++)
            if (notes->funcs.at[n].f == f)
                before = notes->funcs.at[n].ninsts;
        if (before != UINT32_MAX && f->blocks.n > 1)
            check_function(&asked, f, before);
    }
    arena_free(&asked.a);
    return asked.good;
}
