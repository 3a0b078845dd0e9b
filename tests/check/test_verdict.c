/* The table of verdicts: one order for verdicts and statuses, one name for each.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/flow/verdict.h"

/* Of several kernels the first that occurs of 3, 4, 1, 5, 0 is the status: the worst verdict has it. */
static void test_order(void **state) {
    (void)state;
    static const ExitStatus order[] = {STATUS_DONE, STATUS_NOTHING, STATUS_INPUT, STATUS_DIFFERS,
                                       STATUS_INTERNAL};
    unsigned at = 0;
    for (unsigned i = 0; i < VERDICT_COUNT; i++) {
        while (at < 5 && order[at] != verdict_status((Verdict)i))
            at++;
        assert_true(at < 5);
    }
    assert_int_equal(order[at], STATUS_INTERNAL);
}

/* What the text and docs/validate.md say. */
static void test_statuses(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int status;
    } known[] = {{"equal", 0},
                 {"proved", 0},
                 {"proved under assumptions", 0},
                 {"order-dependent", 0},
                 {"differs", 4},
                 {"refuted", 4},
                 {"racy", 4},
                 {"a rule is broken", 4},
                 {"not run", 5},
                 {"unknown", 5},
                 {"time limit", 5},
                 {"both trap alike", 5},
                 {"little covered", 5},
                 {"not compiled", 1},
                 {"crashed", 3}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        Verdict verdict;
        assert_true(verdict_find(known[i].name, &verdict));
        assert_string_equal(verdict_name(verdict), known[i].name);
        assert_int_equal(verdict_status(verdict), known[i].status);
        assert_true(*verdict_meaning(verdict));
    }
    assert_int_equal(verdict_worse(VERDICT_EQUAL, VERDICT_NOT_RUN), VERDICT_NOT_RUN);
    assert_int_equal(verdict_worse(VERDICT_DIFFERS, VERDICT_NOT_COMPILED), VERDICT_DIFFERS);
}

static void test_names(void **state) {
    (void)state;
    char names[300];
    verdict_names(STATUS_INPUT, names, sizeof names);
    assert_string_equal(names, "not compiled");
    verdict_names(STATUS_USAGE, names, sizeof names);
    assert_string_equal(names, "");
    for (unsigned i = 0; i < VERDICT_COUNT; i++) {
        Verdict found;
        assert_true(verdict_find(verdict_name((Verdict)i), &found));
        assert_int_equal(found, i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_statuses),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
