/* Columns INFER and VALUES of frontend/ptx_ops.def, opcode by opcode: what a launch takes from a statement,
 * and which operands tell it from its neighbours. Expected is what docs/validate.md says ("How a launch is
 * inferred", "Value coverage"), applied to the statement by hand. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/validate/search/auto_flow.h"
#include "sim/interp/interp.h"
#include <stdio.h>
#include <string.h>

/* %d1, %d2, %d3 are the parameters a, b, c; %d4 the result, used as an address where it is one. */
typedef struct {
    const char *statement;
    const char *bases;   /* the parameters that reach the address by sums alone */
    bool compares;       /* %d1 with %d2: with a thread index there, a is a size of its axis */
    bool divides;        /* by %d2 */
    unsigned hint;       /* of a block index in %d1 and the constant 5 for %d2: so many threads has a block */
    const char *classes; /* of operands, in the order of sim/interp/values.def */
} Row;

static const Row rows[] = {
    {"add.u64 %d4,%d1,%d2;", "ab", false, false, 0, "common bits"},
    {"sub.u64 %d4,%d1,%d2;", "a", false, false, 0,
     "effect"}, /* a pointer less a number; never less a pointer */
    {"mul.lo.u64 %d4,%d1,%d2;", "", false, false, 5, "effect"},
    {"mul.hi.s64 %d4,%d1,%d2;", "", false, false, 5, "sign, effect"},
    {"mad.lo.u64 %d4,%d1,%d2,%d3;", "c", false, false, 5, "effect"},
    {"mad.hi.u64 %d4,%d1,%d2,%d3;", "c", false, false, 5, "sign, effect"},
    {"sad.u64 %d4,%d1,%d2,%d3;", "", false, false, 0, ""},
    {"div.u64 %d4,%d1,%d2;", "", false, true, 0, "sign, remainder"},
    {"div.s64 %d4,%d1,%d2;", "", false, true, 0, "sign, remainder"},
    {"rem.u64 %d4,%d1,%d2;", "", false, true, 0, "sign, remainder"},
    {"rem.s64 %d4,%d1,%d2;", "", false, true, 0, "sign, remainder"},
    {"abs.s64 %d4,%d1;", "", false, false, 0, "sign"},
    {"neg.s64 %d4,%d1;", "", false, false, 0, "sign"},
    {"min.u64 %d4,%d1,%d2;", "", true, false, 0, "less, greater, sign"},
    {"max.s64 %d4,%d1,%d2;", "", true, false, 0, "less, greater, sign"},
    {"popc.b64 %r4,%d1;", "", false, false, 0, ""},
    {"clz.b64 %r4,%d1;", "", false, false, 0, ""},
    {"bfind.u64 %r4,%d1;", "", false, false, 0, ""},
    {"brev.b64 %d4,%d1;", "", false, false, 0, ""},
    {"bfe.u64 %d4,%d1,%r1,%r2;", "", false, false, 0, ""},
    {"bfi.b64 %d4,%d1,%d2,%r1,%r2;", "", false, false, 0, ""},
    {"set.lt.u32.u64 %r4,%d1,%d2;", "", true, false, 0, "equal, less, greater, sign"},
    {"set.eq.u32.s64 %r4,%d1,%d2;", "", true, false, 0, "equal, less"},
    {"setp.ge.s64 %p1,%d1,%d2;", "", true, false, 0, "equal, less, greater, sign"},
    {"setp.ne.u64 %p1,%d1,%d2;", "", true, false, 0, "equal, less"},
    {"selp.b64 %d4,%d1,%d2,%p1;", "ab", false, false, 0, "true, false"},
    {"and.b64 %d4,%d1,%d2;", "a", false, false, 0, "common bits, own bits"}, /* rounded down */
    {"or.b64 %d4,%d1,%d2;", "ab", false, false, 0, "common bits, own bits"}, /* a sum without carries */
    {"xor.b64 %d4,%d1,%d2;", "", false, false, 0, "common bits, own bits"},
    {"not.b64 %d4,%d1;", "", false, false, 0, ""},
    {"cnot.b64 %d4,%d1;", "", false, false, 0, ""},
    {"shl.b64 %d4,%d1,%r2;", "", false, false, 0, "clamp, effect"},
    {"shl.b64 %d4,%d1,5;", "", false, false, 32, ""},
    {"shr.u64 %d4,%d1,%r2;", "", false, false, 0, "sign, clamp, effect"},
    {"shr.s64 %d4,%d1,5;", "", false, false, 0, "sign"},
    {"mov.u64 %d4,%d1;", "a", false, false, 0, ""},
    {"cvta.to.global.u64 %d4,%d1;", "a", false, false, 0, ""},
    {"cvt.u64.s64 %d4,%d1;", "a", false, false, 0, "sign"},
    {"cvt.u32.u64 %r4,%d1;", "", false, false, 0, "range"},
    /* of numbers: no comparison or division of these is one of sizes */
    {"add.f64 %d4,%d1,%d2;", NULL, false, false, 0, "NaN"},
    {"sub.f32 %r4,%r1,%r2;", NULL, false, false, 0, "NaN, subnormal"},
    {"mul.f32 %r4,%r1,%r2;", NULL, false, false, 0, "NaN, subnormal"},
    {"mul.sat.f32 %r4,%r1,%r2;", NULL, false, false, 0, "NaN, subnormal, clamp"},
    {"fma.rn.f64 %d4,%d1,%d2,%d3;", NULL, false, false, 0, "NaN"},
    {"div.rn.f64 %d4,%d1,%d2;", NULL, false, false, 0, "NaN"},
    {"rcp.rn.f64 %d4,%d1;", NULL, false, false, 0, "NaN"},
    {"sqrt.rn.f64 %d4,%d1;", NULL, false, false, 0, "NaN"},
    {"min.f64 %d4,%d1,%d2;", NULL, false, false, 0, "zeros, less, greater, NaN"},
    {"setp.lt.f64 %p1,%d1,%d2;", NULL, false, false, 0, "equal, zeros, less, greater, NaN"},
    {"set.eq.u32.f64 %r4,%d1,%d2;", NULL, false, false, 0, "equal, zeros, less, greater, NaN"},
    {"cvt.rzi.s32.f64 %r4,%d1;", NULL, false, false, 0, "sign, NaN, remainder, range"},
    {"cvt.rn.f64.s64 %d4,%d1;", "", false, false, 0, "sign"},
};
enum { NROWS = sizeof rows / sizeof *rows };

static Arena arena;
static PtxModule *module;
static void print(void *user, Severity severity, const char *line) {
    (void)user, (void)severity;
    print_error("%s", line);
}

/* Parameters, `before`, the statement, a store to the result if it can be an address. */
static const PtxInsn *parse(const char *before, const char *statement, AutoFlow *flow) {
    static char text[2000];
    Diags diags = {.sink = print};
    int n = snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 a,.param .u64 b,.param .u64 c) {\n.reg .b64 %%d<9>; .reg .b32 "
        "%%r<9>; .reg .pred %%p<9>;\nld.param.u64 %%d1,[a];\nld.param.u64 %%d2,[b];\nld.param.u64 "
        "%%d3,[c];\nmov.u32 %%r1,%%tid.x;\n%s%s\n%sret;\n}\n",
        before, statement, strstr(statement, "%d4") ? "st.global.u32 [%d4],%r1;\n" : "");
    ptx_free(module);
    module = ptx_parse("k.ptx", text, (size_t)n, &diags);
    if (!module)
        fail_msg("%s", statement);
    auto_flow(module, 0, &arena, flow);
    const PtxInsn *insns = module->funcs[0].insns;
    return &insns[module->funcs[0].ninsns - (strstr(statement, "%d4") ? 3 : 2)];
}

static uint32_t uses(const AutoFlow *flow, uint32_t param) {
    for (uint32_t k = 0; k < flow->nslots; k++)
        if (!flow->slots[k].parent && flow->slots[k].param == param)
            return flow->slots[k].uses;
    return 0;
}

static void pointers_and_sizes(void **state) {
    (void)state;
    for (unsigned i = 0; i < NROWS; i++) {
        const Row *row = &rows[i];
        AutoFlow flow;
        parse("", row->statement, &flow);
        for (uint32_t p = 0; row->bases && p < 3; p++)
            if ((uses(&flow, p) & AU_ADDRESS) / AU_ADDRESS != (strchr(row->bases, "abc"[p]) != NULL))
                fail_msg("%s: parameter %c is %sa pointer", row->statement, "abc"[p],
                         uses(&flow, p) & AU_ADDRESS ? "" : "not ");
        if ((uses(&flow, 1) & AU_DIVISOR) / AU_DIVISOR != row->divides)
            fail_msg("%s: divides?", row->statement);
        if (!row->bases && strstr(row->statement, "%d1") && !(uses(&flow, 0) & AU_FLOAT))
            fail_msg("%s: no number", row->statement);
        parse("cvt.u64.u32 %d2,%r1;\n", row->statement, &flow);
        if ((uses(&flow, 0) & AU_CMP_X) / AU_CMP_X != row->compares)
            fail_msg("%s: compares?", row->statement);
    }
}

static void blocks(void **state) {
    (void)state;
    for (unsigned i = 0; i < NROWS; i++) {
        AutoFlow flow;
        char text[200];
        const char *by = strstr(rows[i].statement, ",%d2");
        if (!rows[i].bases)
            continue;
        snprintf(text, sizeof text, "%.*s%s%s", by ? (int)(by - rows[i].statement) : 200, rows[i].statement,
                 by ? ",5" : "", by ? by + 4 : "");
        parse("mov.u32 %r2,%ctaid.x;\ncvt.u64.u32 %d1,%r2;\n", text, &flow);
        if (flow.block_hint[0] != rows[i].hint)
            fail_msg("%s: blocks of %u", text, flow.block_hint[0]);
    }
}

static void classes(void **state) {
    (void)state;
    for (unsigned i = 0; i < NROWS; i++) {
        AutoFlow flow;
        char text[200] = "";
        uint32_t has = interp_value_classes(parse("", rows[i].statement, &flow));
        for (unsigned k = 0; k < PTX_VALUE_COUNT; k++)
            if (has >> k & 1)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "",
                         interp_value_name((PtxValue)k));
        if (strcmp(text, rows[i].classes) != 0)
            fail_msg("%s: %s", rows[i].statement, text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pointers_and_sizes), cmocka_unit_test(blocks),
                                       cmocka_unit_test(classes)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptx_free(module);
    arena_free(&arena);
    return failed;
}
