/* The model checker on hand-made programs whose fate follows from the rules of the masks alone, and on
 * compiled random control flow, which must never be stuck under the resolved rules and sometimes is under
 * literal readings.
 * SPDX-License-Identifier: MIT */
#include "model_common.h"
#include "base/rng.h"
#include "tests/part.h"
#include <stdio.h>

#define HEAD ".target bru1\n.entry k\n S2R R0, SR_LANEID ;\n"
#define DECIDE(p) " ISETP.EQ.U32.AND " p ", PT, R0, 0x5, PT ;\n"

static ModelResult explore(const void *image, size_t size, const ModelOptions *o) {
    Diags d = {.sink = show};
    Binary *binary = binary_read("test", image, size, &d);
    assert_non_null(binary);
    BinFlow *g = bin_flow_new(binary);
    ModelProgram *p = model_program(g);
    uint32_t entry = 0;
    while (!binary->funcs[entry].is_entry)
        entry++;
    ModelResult r;
    model_check(p, entry, o, &r);
    char *text = model_text(g, &r);
    assert_non_null(text);
    free(text);
    for (uint32_t i = 0; i < r.nfindings; i++) {
        char *json = model_schedule_json(g, &r, &r.findings[i]);
        assert_non_null(strstr(json, "\"steps\""));
        free(json);
    }
    model_result_free(&r); /* verdict and numbers stay */
    model_program_free(p);
    bin_flow_free(g);
    binary_free(binary);
    return r;
}

static ModelVerdict verdict(const char *text, ModelOptions o) {
    size_t size;
    void *image = assembled(text, &size);
    ModelResult r = explore(image, size, &o);
    free(image);
    return r.verdict;
}

/* Under every policy that code must survive. */
static void always(const char *text, unsigned lanes, ModelVerdict want) {
    for (unsigned n = 0; n < MODEL_POLICY_COUNT; n++) {
        ModelOptions o = {.lanes = lanes};
        model_choose(&o, n);
        assert_int_equal(verdict(text, o), want);
    }
}

/* An if inside a loop that lanes leave at different times. */
static const char if_in_loop[] = HEAD " BSSY B1, `(out) ;\nloop:\n" DECIDE(
    "P0") " BSSY B0, `(behind) ;\n @P0 BRA `(join) ;\n NOP ;\njoin:\n "
          "BSYNC B0 ;\nbehind:\n" DECIDE("P1") " @P1 BRA `(loop) ;\n BSYNC B1 ;\nout:\n EXIT ;\n";
static void regions(void **state) {
    (void)state;
    always(if_in_loop, 3, MODEL_PROVED);
    assert_int_equal(verdict(if_in_loop, (ModelOptions){.bsync_clear = MACHINE_CLEAR_ACTIVE}), MODEL_STUCK);
}

#define LOCK(retry)                                                                                          \
    HEAD DECIDE("P0") " BSSY B0, `(behind) ;\n @P0 BRA `(join) ;\n BSSY B1, `(have) ;\nspin:\n" DECIDE(      \
        "P1") " @P1 BRA `(got) ;\n" retry                                                                    \
              " BRA `(spin) ;\ngot:\n BSYNC B1 ;\nhave:\n NOP ;\njoin:\n BSYNC B0 ;\nbehind:\n EXIT ;\n"
static void spin_locks(void **state) {
    (void)state;
    always(LOCK(" YIELD ;\n"), 3, MODEL_PROVED);
    assert_int_equal(verdict(LOCK(" YIELD ;\n"), (ModelOptions){.bsync_nb = MACHINE_NB_LITERAL}),
                     MODEL_STUCK);
    assert_int_equal(
        verdict(LOCK(" BREAK B1 ;\n BREAK B0 ;\n YIELD ;\n BSSY B0, `(behind) ;\n BSSY B1, `(have) ;\n"),
                (ModelOptions){.bsync_nb = MACHINE_NB_LITERAL}),
        MODEL_PROVED);
}

static void yield_pc(void **state) {
    (void)state;
    const char *text =
        HEAD DECIDE("P0") " @P0 BRA `(other) ;\n YIELD ;\n EXIT ;\nother:\n YIELD ;\n EXIT ;\n";
    always(text, 3, MODEL_PROVED);
    assert_int_equal(verdict(text, (ModelOptions){.yield_pc = MACHINE_YIELD_OWN}), MODEL_STUCK);
}

static void sync_at_two_places(void **state) {
    (void)state;
    always(HEAD DECIDE("P0") " @P0 BRA `(other) ;\n WARPSYNC 0xffffffff ;\n EXIT ;\nother:\n WARPSYNC "
                             "0xffffffff ;\n EXIT ;\n",
           3, MODEL_STUCK);
    /* the same branch on a value that is the warp's */
    always(".target bru1\n.entry k\n S2R R0, SR_CTAID.X ;\n" DECIDE(
               "P0") " @P0 BRA `(other) ;\n WARPSYNC 0xffffffff ;\n EXIT ;\nother:\n WARPSYNC 0xffffffff ;\n "
                     "EXIT ;\n",
           3, MODEL_PROVED);
}

#define MEET(first)                                                                                          \
    HEAD DECIDE("P0") " BSSY B0, `(behind) ;\n @P0 BRA `(join) ;\n" first                                    \
                      " LEPC R[20:21], 0x20 ;\n CALL.REL `(meet) ;\njoin:\n BSYNC B0 ;\nbehind:\n @!P0 BRA " \
                      "`(end) ;\n"                                                                           \
                      " LEPC R[20:21], 0x20 ;\n CALL.REL `(meet) ;\nend:\n EXIT ;\n.func meet\n WARPSYNC "   \
                      "0xffffffff ;\n RET.ABS R[20:21] ;\n"
static void sync_inside_region(void **state) {
    (void)state;
    for (unsigned n = 0; n < MODEL_POLICY_COUNT;
         n++) { /* where BSSY sets, BSYNC does not wait for WARPSYNC */
        ModelOptions o = {.lanes = 3};
        model_choose(&o, n);
        assert_int_equal(verdict(MEET(""), o), o.bssy == MACHINE_BSSY_OTHER ? MODEL_PROVED : MODEL_STUCK);
    }
    always(MEET(" YIELD ;\n"), 3, MODEL_PROVED);
    always(MEET(" BREAK B0 ;\n"), 3, MODEL_PROVED);
}

static void saved_barrier(void **state) {
    (void)state;
#define SAVE(save, restore)                                                                                  \
    HEAD DECIDE("P0") DECIDE("P1") " BSSY B0, `(behind) ;\n @P0 BRA `(join) ;\n" save                        \
                                   " YIELD ;\n NOP ;\n" restore                                              \
                                   "join:\n BSYNC B0 ;\nbehind:\n WARPSYNC 0xffffffff ;\n EXIT ;\n"
    assert_int_equal(verdict(SAVE(" BMOV.CLEAR R4, B0 ;\n", " BMOV B0, R4 ;\n"), (ModelOptions){.lanes = 3}),
                     MODEL_STUCK);
    assert_int_equal(verdict(SAVE("", ""), (ModelOptions){.lanes = 3}), MODEL_PROVED);
}

static void bypass(void **state) {
    (void)state;
#define BYPASS(leave)                                                                                        \
    HEAD DECIDE("P0")                                                                                        \
        DECIDE("P1") " BSSY B0, `(out) ;\n @P0 BRA `(around) ;\n @P1 BRA `(join) ;\n NOP ;\njoin:\n"         \
                     " BSYNC B0 ;\n BRA `(out) ;\naround:\n" leave "out:\n WARPSYNC 0xffffffff ;\n EXIT ;\n"
    assert_int_equal(verdict(BYPASS(""), (ModelOptions){.lanes = 3}), MODEL_STUCK);
    always(BYPASS(" BREAK B0 ;\n"), 3, MODEL_PROVED);
}

static void violations(void **state) {
    (void)state;
    const char *barrier = HEAD DECIDE("P0") " @P0 BRA `(other) ;\n BAR.SYNC 0x0 ;\nother:\n EXIT ;\n";
    assert_int_equal(verdict(barrier, (ModelOptions){.lanes = 3}), MODEL_VIOLATION);
    /* where the others go first and exit, all that are left execute it */
    assert_int_equal(verdict(barrier, (ModelOptions){.branch_order = MACHINE_TAKEN_FIRST}), MODEL_PROVED);
    always(HEAD " WARPSYNC 0xffffffdf ;\n EXIT ;\n", 3, MODEL_VIOLATION);
    always(HEAD " WARPSYNC 0xffffffff ;\n BAR.SYNC 0x0 ;\n EXIT ;\n", 3, MODEL_PROVED);
}

/* A predicate has one value until it is written again. */
static void correlation(void **state) {
    (void)state;
#define TWICE(again)                                                                                         \
    HEAD DECIDE("P0") " @P0 BRA `(a) ;\n NOP ;\na:\n" again " @!P0 BRA `(b) ;\n BRA `(c) ;\nb:\n NOP ;\n"    \
                      "c:\n WARPSYNC 0xffffffff ;\n EXIT ;\n"
    always(TWICE(""), 3, MODEL_PROVED);
    const char *contradiction =
        HEAD DECIDE("P0") " @P0 BRA `(a) ;\n @P0 BRA `(bad) ;\na:\n EXIT ;\nbad:\n BRA `(bad) ;\n";
    always(contradiction, 3, MODEL_PROVED);
    always(HEAD DECIDE("P0") " @P0 BRA `(a) ;\n" DECIDE(
               "P0") " @P0 BRA `(bad) ;\na:\n EXIT ;\nbad:\n BRA `(bad) ;\n",
           3, MODEL_STUCK);
    /* written under a guard: perhaps another */
    always(HEAD DECIDE("P0") DECIDE("P1") " @P0 BRA `(a) ;\n @P1" DECIDE(
               "P0") " @P0 BRA `(bad) ;\na:\n EXIT ;\nbad:\n BRA `(bad) ;\n",
           3, MODEL_STUCK);
}

static void random_flow(void **state) {
    (void)state;
    GenForms forms = {.usable = fuzz_usable};
    unsigned stuck[5] = {0}, looked = 0;
    static const ModelOptions ways[5] = {
        {.max_states = 4000},
        {.max_states = 4000, .bsync_nb = MACHINE_NB_BLOCKED, .branch_order = MACHINE_TAKEN_FIRST},
        {.max_states = 4000, .bsync_clear = MACHINE_CLEAR_ACTIVE},
        {.max_states = 4000, .bsync_nb = MACHINE_NB_LITERAL},
        {.max_states = 4000, .yield_pc = MACHINE_YIELD_OWN}};
    for (uint64_t i = 0; i < 60; i++) {
        size_t size = 0;
        void *image = random_image(GEN_CFG, i, &forms, i & 3, &size);
        if (!image)
            continue;
        looked++;
        for (unsigned k = 0; k < 5; k++)
            stuck[k] += explore(image, size, &ways[k]).verdict >= MODEL_STUCK;
        free(image);
    }
    gen_forms_free(&forms);
    assert_true(looked > 50);
    assert_int_equal(stuck[0], 0);
    assert_int_equal(stuck[1], 0);
    assert_true(stuck[2] + stuck[3] + stuck[4] > 0);
}

/* What one call brings in is seen behind another only in registers that the routine writes; where lanes
 * differ in whether they call, in all that it writes. */
#define CALLS(guard, body)                                                                                   \
    ".target bru1\n.entry k\n S2R R0, SR_TID.X ;\n ISETP.EQ.U32.AND P1, PT, R0, RZ, PT ;\n"                  \
    " S2R R5, SR_TID.X ;\n MOV R6, RZ ;\n LEPC R[20:21], 0x20 ;\n CALL.REL `(f) ;\n"                         \
    " MOV R5, RZ ;\n WARPSYNC 0xffffffff ;\n LEPC R[20:21], 0x20 ;\n" guard "CALL.REL `(f) ;\n"              \
    " WARPSYNC 0xffffffff ;\n IADD3 R7, R5, R6, RZ ;\n ISETP.EQ.U32.AND P0, PT, R7, RZ, PT ;\n"              \
    " @P0 BRA `(end) ;\n BAR.SYNC 0x0 ;\nend:\n EXIT ;\n.func f\n" body " RET.ABS R[20:21] ;\n"
static void calls(void **state) {
    (void)state;
    ModelOptions three = {.lanes = 3};
    assert_int_equal(verdict(CALLS(" ", " IADD3 R6, R6, 0x1, RZ ;\n"), three), MODEL_PROVED);
    assert_int_equal(verdict(CALLS(" ", " IADD3 R6, R5, 0x1, RZ ;\n"), three), MODEL_VIOLATION);
    assert_int_equal(verdict(CALLS(" ", " S2R R6, SR_TID.X ;\n"), three), MODEL_VIOLATION);
    assert_int_equal(verdict(CALLS(" @P1 ", " IADD3 R6, R6, 0x1, RZ ;\n"), three), MODEL_VIOLATION);
}

/* Random programs of branches that lead forward, with barriers where they belong and where they do not: the
 * model has something against one exactly if the machine comes to a trap for some values of the predicates,
 * under the same policy. Three lanes, three predicates; block b of the grid has the b'th of their 512 values.
 * The two share no code; that the machine keeps to the rules is tested in tests/sim. */
enum { BLOCKS = 7, JOINS = 2, WAYS = 6, PROGRAMS = 250 };

static char *random_program(uint64_t *seed) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    unsigned join[JOINS];
    fprintf(f, ".target bru1\n.entry k\n S2R R0, SR_TID.X ;\n S2R R4, SR_CTAID.X ;\n IMAD R0, R0, 0x3, RZ ;\n"
               " SHF.R.U32.HI R4, RZ, R0, R4 ;\n");
    for (unsigned p = 0; p < 3; p++)
        fprintf(f, " LOP3.LUT R5, R4, 0x%x, RZ, 0xc0, !PT ;\n ISETP.NE.U32.AND P%u, PT, R5, RZ, PT ;\n",
                1u << p, p);
    for (unsigned j = 0; j < JOINS; j++)
        join[j] = BLOCKS - 1 - (unsigned)(rng_next(seed) % 3) - j;
    for (unsigned b = 0; b < BLOCKS; b++) {
        fprintf(f, "L%u:\n", b);
        for (unsigned j = 0; j < JOINS; j++)
            if (join[j] == b)
                fprintf(f, " BSYNC B%u ;\nJ%u:\n", j, j);
        if (rng_next(seed) % 6 == 0)
            fprintf(f, " YIELD ;\n");
        if (rng_next(seed) % 9 == 0)
            fprintf(f, " WARPSYNC 0xffffffff ;\n");
        if (rng_next(seed) % 9 == 0)
            fprintf(f, " BAR.SYNC 0x0 ;\n");
        if (rng_next(seed) % 12 == 0)
            fprintf(f, " @P%u EXIT ;\n", (unsigned)(rng_next(seed) % 3));
        for (unsigned j = 0; j < JOINS; j++)
            if (join[j] > b && rng_next(seed) % 3 == 0)
                fprintf(f, " BSSY B%u, `(J%u) ;\n", j, j);
        if (rng_next(seed) % 12 == 0)
            fprintf(f, " BREAK B%u ;\n", (unsigned)(rng_next(seed) % JOINS));
        if (b + 1 < BLOCKS && rng_next(seed) % 4)
            fprintf(f, " @%sP%u BRA `(L%u) ;\n", rng_next(seed) % 2 ? "!" : "",
                    (unsigned)(rng_next(seed) % 3), b + 1 + (unsigned)(rng_next(seed) % (BLOCKS - 1 - b)));
    }
    fprintf(f, " EXIT ;\n");
    fclose(f);
    return text;
}

static bool machine_objects(const void *image, size_t size, const MachinePolicies *policies) {
    Diags d = {0};
    Binary *binary = binary_read("test", image, size, &d);
    assert_non_null(binary);
    SimMemory *mem = simmem_create();
    Launch l = {.grid = {512, 1, 1}, .block = {3, 1, 1}};
    MachineOptions o = {.policies = *policies,
                        .report_undefined = true, /* and other findings */
                        .max_issues = 1 << 16};
    MachineResult r = {0};
    bool ok = machine_run(binary, "k", &l, mem, &o, &r, &d) && r.trap.kind == TRAP_NONE;
    for (uint32_t k = 0; k < r.nfindings; k++)
        ok &= r.findings[k].kind != MF_PARTIAL_BARRIER;
    machine_result_free(&r);
    simmem_free(mem);
    binary_free(binary);
    return !ok;
}

static void against_the_machine(void **state) {
    (void)state;
    uint64_t seed = 3;
    unsigned count[2] = {0}, differ = 0; /* by what the policy does */
    for (unsigned n = 0; n < PROGRAMS / test_part(); n++) {
        char *text = random_program(&seed);
        size_t size;
        void *image = assembled(text, &size);
        unsigned bad = 0;
        for (unsigned way = 0; way < WAYS; way++) {
            uint64_t x = rng_next(&seed) >> 16;
            ModelOptions o = {.lanes = 3};
            o.lane_choice = x & 1 ? MACHINE_LANE_HIGHEST : MACHINE_LANE_LOWEST;
            o.branch_order = x & 2 ? MACHINE_TAKEN_FIRST : MACHINE_FALLTHROUGH_FIRST;
            o.join_scope = x & 4 ? MACHINE_JOIN_CANDIDATES : MACHINE_JOIN_ALL;
            o.bsync_clear = x & 8 ? MACHINE_CLEAR_ACTIVE : MACHINE_CLEAR_ARRIVED;
            o.bsync_nb = (MachineBsyncNb)((x >> 4) % 3);
            ModelResult r = explore(image, size, &o);
            assert_int_not_equal(r.verdict, MODEL_LIMIT);
            bool objects = machine_objects(image, size, &o.policies);
            if ((r.verdict != MODEL_PROVED) != objects)
                fail_msg(
                    "lane %u, order %u, scope %u, clear %u, nb %u: the model says %s, the machine %s\n%s",
                    o.lane_choice, o.branch_order, o.join_scope, o.bsync_clear, o.bsync_nb,
                    model_verdict_name(r.verdict), objects ? "traps" : "does not trap", text);
            count[objects]++;
            bad += objects;
        }
        differ += bad && bad < WAYS;
        free(image);
        free(text);
    }
    print_message("%u runs without a trap, %u with one; %u programs by the policy\n", count[0], count[1],
                  differ);
    assert_true(count[0] > 100 && count[1] > 100 && differ > 5);
}

/* Lanes of a warp that gather for two barriers of the block: of other numbers, or one arrives, no program
 * brings them there; where both are alike one may be a copy, and they hang. */
#define TWO_BARRIERS(one, other)                                                                             \
    HEAD DECIDE("P0") " @P0 BRA `(second) ;\n WARPSYNC 0xffffffff ;\n " one                                  \
                      " ;\n EXIT ;\nsecond:\n WARPSYNC 0xffffffff ;\n " other " ;\n EXIT ;\n"
static void parted_barriers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        ModelVerdict taken, followed; /* as the program is taken, and with .parted_barriers */
    } rows[] = {
        {TWO_BARRIERS("BAR.SYNC 0x1", "BAR.SYNC 0x2"), MODEL_PROVED, MODEL_STUCK},
        {TWO_BARRIERS("BAR.SYNC 0x1, 0x40", "BAR.ARV 0x1, 0x40"), MODEL_PROVED, MODEL_STUCK},
        {TWO_BARRIERS("BAR.SYNC 0x1", "BAR.SYNC 0x1"), MODEL_STUCK, MODEL_STUCK},
        {TWO_BARRIERS("NOP", "BAR.SYNC 0x1"), MODEL_STUCK, MODEL_STUCK},
        {TWO_BARRIERS("@P1 BAR.SYNC 0x1", "BAR.SYNC 0x2"), MODEL_STUCK, MODEL_STUCK},
    };
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        assert_int_equal(verdict(rows[k].text, (ModelOptions){.lanes = 3}), rows[k].taken);
        assert_int_equal(verdict(rows[k].text, (ModelOptions){.lanes = 3, .parted_barriers = true}),
                         rows[k].followed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parted_barriers),     cmocka_unit_test(regions),
        cmocka_unit_test(spin_locks),          cmocka_unit_test(yield_pc),
        cmocka_unit_test(sync_at_two_places),  cmocka_unit_test(sync_inside_region),
        cmocka_unit_test(saved_barrier),       cmocka_unit_test(bypass),
        cmocka_unit_test(violations),          cmocka_unit_test(calls),
        cmocka_unit_test(correlation),         cmocka_unit_test(random_flow),
        cmocka_unit_test(against_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
