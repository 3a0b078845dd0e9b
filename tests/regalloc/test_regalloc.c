/* Register allocation on random programs: the internal checker must accept it (pass_colour runs it), and
 * the evaluator must see the same stores before and after, for limits from tight to loose.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "random_ir.h"
#include "regalloc/regalloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pass_colour(Function *f, Diags *d);
bool pass_copies(Function *f, Diags *d);
bool pass_frame(Function *f, Diags *d);

static void print_diag(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    fprintf(stderr, "%s", line);
}

static unsigned highest_r(Function *f) {
    unsigned most = 0;
    for (unsigned l = 0; l < f->layout.n; l++) {
        const Block *b = ir_block(f, f->layout.at[l]);
        for (unsigned p = 0; p < b->insts.n; p++) {
            const Inst *i = ir_inst(f, b->insts.at[p]);
            for (unsigned k = 0; k < ir_num_operands(i); k++) {
                Operand o = f->operands.at[i->operand + k];
                if (o.kind == OPK_REG && o.file == RF_R && o.value != REG_RZ && o.value + o.count - 1u > most)
                    most = o.value + o.count - 1u;
            }
        }
    }
    return most;
}

static void print_stats(Function *f, RandomShape s, unsigned limit, unsigned nstores) {
    unsigned all = 0, moves = 0, stack = 0;
    for (unsigned l = 0; l < f->layout.n; l++) {
        const Block *b = ir_block(f, f->layout.at[l]);
        all += b->insts.n;
        for (unsigned p = 0; p < b->insts.n; p++) {
            const Inst *i = ir_inst(f, b->insts.at[p]);
            moves += i->op == OT_MOV && ir_src(f, i, 0)->kind == OPK_REG;
            stack += i->op == OT_STL || i->op == OT_LDL;
        }
    }
    fprintf(stderr, "seed %llu limit %u: %u instructions, %u moves, %u stack accesses, %u registers, %u stores seen\n",
            (unsigned long long)s.seed, limit, all, moves, stack, highest_r(f) + 1, nstores);
}

static void compare_logs(const StoreLog *a, const StoreLog *b, RandomShape s, unsigned limit) {
    if (a->at.n != b->at.n || (a->at.n && memcmp(a->at.at, b->at.at, a->at.n * 8))) {
        for (unsigned k = 0; k < a->at.n && k < b->at.n; k++)
            if (a->at.at[k] != b->at.at[k]) {
                fprintf(stderr, "store %u: %llx, was %llx\n", k, (unsigned long long)b->at.at[k],
                        (unsigned long long)a->at.at[k]);
                break;
            }
        fail_msg("seed %llu limit %u: %u stores before, %u after", (unsigned long long)s.seed, limit, a->at.n, b->at.n);
    }
}

static void run_one(const char *target, RandomShape shape, unsigned limit) {
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    IrModule *m = random_module(isa_target(target), &strings, shape);
    Function *f = m->funcs.at[m->funcs.n - 1];
    f->reg_limit = limit;
    if (!ir_verify(f, &d, "generator"))
        fail_msg("seed %llu: the generated program is wrong", (unsigned long long)shape.seed);
    StoreLog before = {0}, after = {0};
    uint32_t nblocks = f->blocks.n;
    assert_true(eval_function(f, nblocks, 100, &before));
    if (!pass_colour(f, &d) || !pass_copies(f, &d) || !pass_frame(f, &d))
        fail_msg("seed %llu limit %u: not allocated", (unsigned long long)shape.seed, limit);
    if (!ir_verify(f, &d, "frame"))
        fail_msg("seed %llu limit %u: not valid afterwards", (unsigned long long)shape.seed, limit);
    assert_true(highest_r(f) < (limit ? limit : 255));
    assert_true(eval_function(f, nblocks, 100, &after));
    compare_logs(&before, &after, shape, limit);
    if (getenv("HEDDLE_TEST_STATS"))
        print_stats(f, shape, limit, after.at.n);
    arena_free(&before.a);
    arena_free(&after.a);
    ir_module_free(m);
    str_free(&strings);
}

static unsigned rounds(void) {
    const char *n = getenv("HEDDLE_TEST_ROUNDS");
    return n ? (unsigned)atoi(n) : 60;
}

static void run_many(RandomShape shape, const unsigned *limits, unsigned nlimits) {
    for (unsigned k = 0; k < rounds(); k++)
        for (unsigned l = 0; l < nlimits; l++) {
            shape.seed = k * 1000 + l;
            run_one(k % 4 == 3 ? "sm_90" : "bru1", shape, limits[l]);
        }
}

static void scalars(void **state) {
    (void)state;
    static const unsigned limits[] = {16, 20, 0};
    run_many((RandomShape){.blocks = 8, .insts = 10, .vars = 12, .preds = 3}, limits, 3);
    run_many((RandomShape){.blocks = 5, .insts = 20, .vars = 40, .preds = 6, .guards = true}, limits, 3);
}

static void predicates(void **state) {
    (void)state;
    static const unsigned limits[] = {24, 0};
    run_many((RandomShape){.blocks = 6, .insts = 15, .vars = 8, .preds = 12, .guards = true}, limits, 2);
}

static void vectors(void **state) {
    (void)state;
    static const unsigned limits[] = {24, 32, 64, 0};
    run_many((RandomShape){.blocks = 6, .insts = 15, .vars = 16, .preds = 4, .vectors = true, .guards = true}, limits, 4);
    run_many((RandomShape){.blocks = 4, .insts = 30, .vars = 60, .preds = 8, .vectors = true, .guards = true}, limits, 4);
}

static void calls(void **state) {
    (void)state;
    static const unsigned limits[] = {48, 64, 0};
    run_many((RandomShape){.blocks = 6, .insts = 15, .vars = 20, .preds = 5, .vectors = true, .guards = true,
                           .calls = true}, limits, 3);
}

static void tight_calls(void **state) { /* the callee leaves no register: everything is in memory across it */
    (void)state;
    static const unsigned limits[] = {40, 28};
    run_many((RandomShape){.blocks = 5, .insts = 15, .vars = 20, .preds = 5, .calls = true}, limits, 2);
}

static void large(void **state) {
    (void)state;
    static const unsigned limits[] = {64, 0};
    for (unsigned k = 0; k < 3; k++)
        for (unsigned l = 0; l < 2; l++)
            run_one("bru1", (RandomShape){.seed = 77 + k, .blocks = 60, .insts = 40, .vars = 100, .preds = 10,
                                          .vectors = true, .guards = true, .calls = true}, limits[l]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars), cmocka_unit_test(predicates), cmocka_unit_test(vectors),
        cmocka_unit_test(calls), cmocka_unit_test(tight_calls), cmocka_unit_test(large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
