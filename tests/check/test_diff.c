/* Differential validation must see differences: hand-written machine code against PTX, right and with one
 * thing wrong (a value, a store left out, a store too many, a trap on one side only).
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/validate/compare/diff.h"
#include "emit/text/asm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n" /* lines 1-3 */
                          ".visible .entry k(.param .u64 p)\n{\n"           /* 4, 5 */
                          "  .reg .u64 %rd<4>;\n  .reg .u32 %r<4>;\n"       /* 6, 7 */
                          "  ld.param.u64 %rd1, [p];\n"                     /* 8 */
                          "  mov.u32 %r1, %tid.x;\n"                        /* 9 */
                          "  mul.wide.u32 %rd2, %r1, 4;\n"                  /* 10 */
                          "  add.u64 %rd3, %rd1, %rd2;\n"                   /* 11 */
                          "  add.u32 %r2, %r1, 100;\n"                      /* 12 */
                          "  st.global.u32 [%rd3], %r2;\n"                  /* 13 */
                          "  ret;\n}\n";

/* %s: the value, guard and address of the store. */
static const char sass[] = ".target bru1\n.entry k\n.param 8\n"
                           "  [B------:R-:W0:-:S01] S2R R0, SR_TID.X ;\n"
                           "  [B------:R-:W-:-:S05] MOV R6, 0x4 ;\n"
                           "  [B0-----:R-:W-:-:S05] IMAD.WIDE.U32 R4, R0, R6, c[0x0][0x160] ;\n"
                           "  [B------:R-:W-:-:S05] IADD3 R2, R0, %s, RZ ;\n"
                           "  [B------:R-:W-:-:S13] ISETP.NE.U32.AND P0, PT, R0, 0x5, PT ;\n"
                           "  [B------:R-:W-:-:S01] %s STG.E [%s], R2 ;\n"
                           "  [B------:R-:W-:-:S05] EXIT ;\n";

static void show(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    print_message("%s", line);
}

/* Names in the report live as long as the plan, the binary and the module. */
typedef struct {
    Plan plan;
    Binary *binary;
    PtxModule *module;
    DiffReport report;
} Comparison;

static void compare(Comparison *comparison, const char *value, const char *guard, const char *address) {
    char text[1024];
    Diags d = {.sink = show};
    void *image;
    size_t size;
    snprintf(text, sizeof text, sass, value, guard, address);
    Source s = {"k.sass", text, strlen(text)};
    assert_true(asm_assemble(&s, &image, &size, &d));
    *comparison = (Comparison){.binary = binary_read("k.cubin", image, size, &d),
                               .module = ptx_parse("k.ptx", ptx, sizeof ptx - 1, &d)};
    free(image);
    assert_non_null(comparison->binary);
    assert_non_null(comparison->module);
    VEC_ADD(&comparison->plan.arena, &comparison->plan.launches,
            ((PlanLaunch){.grid = {1, 1, 1}, .block = {40, 1, 1}, .repeat = 1}));
    assert_true(plan_add_arg(&comparison->plan, "out:c:u32[40]", &d));
    assert_true(diff_validate(&comparison->plan, comparison->module, comparison->binary, &(DiffOptions){0},
                              &comparison->report, &d));
}

static void comparison_free(Comparison *comparison) {
    binary_free(comparison->binary);
    ptx_free(comparison->module);
    plan_free(&comparison->plan);
}

static void test_equal(void **state) {
    (void)state;
    Comparison c;
    compare(&c, "0x64", "@PT", "R4.64");
    DiffReport r = c.report;
    assert_true(r.equal);
    assert_int_equal(r.nlaunches, 1);
    assert_int_equal(r.compared_bytes, 160);
    assert_int_equal(r.ptx_insns, 40 * 7);
    char *text = diff_report_text(&r, &c.plan);
    assert_non_null(strstr(text, "equal: 1 launch, 160 bytes"));
    free(text);
    comparison_free(&c);
}

static void test_wrong_value(void **state) {
    (void)state;
    Comparison c;
    compare(&c, "0x65", "@PT", "R4.64");
    DiffReport r = c.report;
    assert_false(r.equal);
    assert_true(r.memory_differs);
    assert_string_equal(r.buffer, "c");
    assert_int_equal(r.element, 0);
    assert_int_equal(r.ptx_value[0], 100);
    assert_int_equal(r.machine_value[0], 101);
    assert_true(r.has_ptx_store);
    assert_int_equal(r.ptx_store_line, 13);
    assert_true(r.has_machine_store);
    assert_string_equal(r.machine_func, "k");
    assert_int_equal(r.machine_pc_bytes, 0x50);
    assert_non_null(strstr(r.machine_text, "STG.E"));
    char *text = diff_report_text(&r, &c.plan), *json = diff_report_json(&r, &c.plan);
    assert_non_null(strstr(text, "PTX      100 (0x00000064)"));
    assert_non_null(strstr(text, "line 13"));
    assert_non_null(strstr(json, "\"pc\":\t80"));
    free(text);
    free(json);
    comparison_free(&c);
}

static void test_missing_store(void **state) {
    (void)state;
    Comparison c;
    compare(&c, "0x64", "@P0", "R4.64");
    DiffReport r = c.report;
    assert_false(r.equal);
    assert_int_equal(r.element, 5); /* the lane whose guard is false */
    assert_int_equal(r.ptx_value[0], 105);
    assert_int_equal(r.machine_value[0], 0);
    assert_true(r.has_ptx_store);
    assert_int_equal(r.ptx_store_thread[0], 5);
    assert_false(r.has_machine_store);
    comparison_free(&c);
}

static void test_trap_on_one_side(void **state) {
    (void)state;
    Comparison c;
    compare(&c, "0x64", "@PT", "R4.64+0x4");
    DiffReport r = c.report; /* the last lane stores behind the buffer */
    assert_false(r.equal);
    assert_int_equal(r.ptx_trap.kind, TRAP_NONE);
    assert_int_equal(r.machine_trap.kind, TRAP_OUT_OF_RANGE);
    char *text = diff_report_text(&r, &c.plan);
    assert_non_null(strstr(text, "out of range"));
    free(text);
    comparison_free(&c);
}

static void test_memory(void **state) {
    (void)state;
    SimMemory *a = simmem_create();
    uint64_t x = simmem_alloc(a, "x", 100), y = simmem_alloc(a, "y", 10);
    SimMemory *b = simmem_clone(a);
    MemDiff d;
    bool skip[2] = {false, true};
    assert_true(diff_memory(a, b, NULL, &d));
    uint8_t one = 1;
    simmem_write(b, y + 3, &one, 1);
    assert_false(diff_memory(a, b, NULL, &d));
    assert_int_equal(d.alloc, 1);
    assert_int_equal(d.offset_bytes, 3);
    assert_int_equal(d.ndiffering, 1);
    assert_true(diff_memory(a, b, skip, &d));
    simmem_write(b, x + 99, &one, 1);
    assert_false(diff_memory(a, b, skip, &d));
    assert_int_equal(d.alloc, 0);
    assert_int_equal(d.offset_bytes, 99);
    simmem_free(a);
    simmem_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal), cmocka_unit_test(test_wrong_value),
                                       cmocka_unit_test(test_missing_store),
                                       cmocka_unit_test(test_trap_on_one_side),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
