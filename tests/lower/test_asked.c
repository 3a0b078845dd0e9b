/* Fast ways of collectives in functions written by hand: the check of finished instructions takes what was
 * made, and nothing that differs from it. SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include "lower/passes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    StrTab strings;
    Diags d;
    IrModule *m;
    SyncNotes notes;
    Function *f;
} Made;

/* A collective of the lanes of a mask behind a branch that parts lanes, and what reads its result. */
#define KERNEL(collective, reads)                                                                            \
    "module sm_80 opt=2 const=0\nfunc @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"           \
    "bb1: preds() succs(bb3 bb2)\n  %r1 = S2R SR[tid.x]\n  %r7 = S2R SR[laneid]\n"                           \
    "  %p2, _ = ISETP:0x0 %r1, 0x5, _, _\n  @%p2 BRA _, _, bb3\n  BRA _, _, bb2\n"                           \
    "bb2: preds(bb1) succs(bb3)\n  " collective " flags[sync convergent]\n  " reads "  BRA _, _, bb3\n"      \
    "bb3: preds(bb1 bb2) succs()\n  NOP\n  EXIT _\n}\n"
static const char number[] = KERNEL("%r4, _ = VOTE(op=ANY) %p2, 0xff", "STG _, _, 0x0, %r4\n"),
                  several[] = KERNEL("%r4, _ = VOTE(op=ANY) %p2, %r7", "STG _, _, 0x0, %r4\n");

/* A vote whose parts cannot be told, and which nobody reads. */
static const char unread[] = KERNEL("_, _ = VOTE(op=EQ) %p2, %r7", "STG _, _, 0x0, %r1\n");

static void make(Made *made, const char *text) {
    Source s = {"test.mir", text, strlen(text)};
    Function *gather;
    memset(made, 0, sizeof *made);
    made->d = (Diags){.source = NULL, .sink = diag_print_sink, .user = stderr};
    made->m = ir_load(&s, &made->strings, &made->d);
    assert_non_null(made->m);
    assert_true(pass_uniformity(made->m, &made->d));
    made->f = made->m->funcs.at[0];
    reconv_note_sites(&made->notes, made->m);
    (void)reconv_make_stubs(made->m, &made->notes, &gather);
    assert_true(reconv_check_asked(made->m, &made->notes, &made->d));
    made->d.sink = NULL;
}

static void unmake(Made *made) {
    arena_free(&made->notes.a);
    ir_module_free(made->m);
    str_free(&made->strings);
}

/* The branch that asks. */
static Inst *question(Made *made) {
    FOR_BLOCKS(made->f, b)
        FOR_INST_IDS(made->f, b, id)
            if (ir_inst(made->f, id)->flags & IF_ASKS)
                return ir_inst(made->f, id);
    fail_msg("no question");
    return NULL;
}

static BlockId fast_block(Made *made) {
    return (BlockId){ir_src(made->f, question(made), BRA_offset)->value};
}

static InstId vote_of(Made *made) { /* of the fast way */
    FOR_INST_IDS(made->f, fast_block(made), id)
        if (ir_inst(made->f, id)->op == OT_VOTE)
            return id;
    fail_msg("no vote");
    return (InstId){0};
}

/* The first instruction of this operation: in the fast way, or anywhere else. */
static Inst *first(Made *made, unsigned op, bool fast) {
    BlockId way = fast_block(made);
    FOR_BLOCKS(made->f, b)
        FOR_INST_IDS(made->f, b, id)
            if ((b.i == way.i) == fast && ir_inst(made->f, id)->op == op)
                return ir_inst(made->f, id);
    fail_msg("no such operation");
    return NULL;
}

static void other_table(Made *made) { first(made, OT_LOP3, false)->mods = MSET(LOP3, lut, 0x30); }
static void other_side(Made *made) { question(made)->guard.mods ^= OPM_NOT; }
static void other_mask(Made *made) {
    *ir_src(made->f, first(made, OT_LOP3, false), LOP3_rb) = op_imm(0xffff);
}
static void all_say(Made *made) { first(made, OT_VOTE, false)->mods = MSET(VOTE, op, VoteOp_ALL); }
static void some_are_asked(Made *made) {
    *ir_src(made->f, first(made, OT_VOTE, false), VOTE_pp) = op_with(op_pt(), OPM_NOT);
}
static void all_match(Made *made) {
    first(made, OT_MATCH, false)->mods = MSET(MATCH, op, MatchOp_ALL) | MSET(MATCH, type, MatchType_U32);
}
static void another_matches(Made *made) {
    FOR_BLOCKS(made->f, b)
        FOR_INSTS(made->f, b, i)
            if (i->op == OT_S2R) {
                *ir_src(made->f, first(made, OT_MATCH, false), MATCH_ra) = *ir_dst(made->f, i, 0);
                return;
            }
}
static void each_goes_alone(Made *made) { /* by what its own lane said */
    FOR_BLOCKS(made->f, b)
        FOR_INSTS(made->f, b, i)
            if (i->op == OT_VOTE && ir_dst(made->f, i, VOTE_pu)->kind == OPK_VAL) {
                question(made)->guard.value = ir_src(made->f, i, VOTE_pp)->value;
                return;
            }
}
static void other_operation(Made *made) { first(made, OT_VOTE, true)->op = OT_SHFL; }
static void waits(Made *made) { first(made, OT_VOTE, true)->flags |= IF_SYNC; }
static void twice(Made *made) {
    BlockId way = fast_block(made);
    FOR_INST_IDS(made->f, way, id)
        if (ir_inst(made->f, id)->op == OT_VOTE) {
            ir_insert(made->f, way, 0, id);
            return;
        }
}
static void yields(Made *made) {
    InstId id = ir_inst_new(made->f, OT_YIELD, isa_num_dst(OT_YIELD), isa_num_src(OT_YIELD));
    ir_insert(made->f, fast_block(made), 0, id);
}
static void between(Made *made) { /* the question's halves */
    InstId id = ir_inst_new(made->f, OT_YIELD, isa_num_dst(OT_YIELD), isa_num_src(OT_YIELD));
    const Inst *branch = question(made);
    FOR_BLOCKS(made->f, b)
        FOR_INSTS(made->f, b, i)
            if (i == branch) {
                ir_insert(made->f, b, AT(i), id);
                return;
            }
}
static void elsewhere(Made *made) {
    const Inst *copied = first(made, OT_VOTE, true);
    InstId id = ir_inst_new(made->f, OT_VOTE, copied->ndst, copied->nsrc);
    ir_inst(made->f, id)->mods = copied->mods;
    for (unsigned k = 0; k < copied->nsrc; k++)
        ir_set_src(made->f, id, k, *ir_src(made->f, copied, k));
    ir_insert(made->f, (BlockId){3}, 0, id);
}
static void is_read(Made *made) { ir_set_dst(made->f, vote_of(made), VOTE_pu, reconv_value(made->f, RF_P)); }
static void whole_word(Made *made) {
    FOR_BLOCKS(made->f, b)
        FOR_INSTS(made->f, b, i)
            if (i->op == OT_LOP3 && MGET(LOP3, lut, i->mods) == 0xc0)
                i->mods = MSET(LOP3, lut, 0xfc);
}

static void test_asked(void **state) {
    (void)state;
    static const struct {
        const char *text;
        void (*change)(Made *made);
        const char *what;
    } rows[] = {{number, other_table, "table"},
                {number, other_side, "side"},
                {number, other_mask, "mask"},
                {number, all_say, "vote"},
                {number, some_are_asked, "asked"},
                {number, other_operation, "operation"},
                {number, waits, "waits"},
                {number, twice, "twice"},
                {number, yields, "yields"},
                {number, between, "between"},
                {number, elsewhere, "elsewhere"},
                {several, other_table, "table, of masks"},
                {several, other_side, "side"},
                {several, other_mask, "a number"},
                {several, all_match, "match"},
                {several, another_matches, "another matches"},
                {several, each_goes_alone, "alone"},
                {several, whole_word, "whole word"},
                {several, other_operation, "a shuffle of lanes"},
                {several, twice, "twice, of masks"},
                {unread, is_read, "a vote that is read"}};
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        Made made;
        make(&made, rows[k].text);
        rows[k].change(&made);
        if (reconv_check_asked(made.m, &made.notes, &made.d))
            fail_msg("taken: %s", rows[k].what);
        unmake(&made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
