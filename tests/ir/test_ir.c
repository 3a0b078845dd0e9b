/* Machine IR: building, the verifier's refusals, and its text. Round trip on hand-written and random
 * functions; damaged text is refused with a position and never crashes.
 * SPDX-License-Identifier: MIT */
#include "ir/pass.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    StrTab strings;
    Diags d;
    char last[4000]; /* all reports */
    IrModule *m;
} Fixture;

static void keep_report(void *user, Severity sev, const char *line) {
    Fixture *fixture = user;
    (void)sev;
    size_t n = strlen(fixture->last);
    snprintf(fixture->last + n, sizeof fixture->last - n, "%s", line);
}

static void start(Fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    fixture->d = (Diags){.sink = keep_report, .user = fixture};
}

static IrModule *load(Fixture *fixture, const char *text) {
    Source s = {"t.mir", text, strlen(text)};
    return ir_load(&s, &fixture->strings, &fixture->d);
}

static const char *const sample =
    "module bru1 opt=2 const=8\n"
    "var @tab linkage=2 space=3 align=4 size=8 offset=0\n"
    "var @\"odd name\" linkage=0 space=7 align=16 size=64 offset=0 extern_shared ; comment\n"
    "func @helper ssa noreturn var=0 spill=0 barriers=0 bbase=2 start=bb1 {\n"
    "summary frame=16 stack=32 maxb=3 R(0 4 5) P(0)\n"
    "bb1: preds() succs()\n"
    "  %r1{fixed=4}, %r2{fixed=20}, %r3{fixed=21} = entry\n"
    "  EXIT _\n"
    "}\n"
    "func @k entry ssa uniform_entry shared=64 var=8 spill=4 barriers=1 bbase=0 start=bb1 {\n"
    "bb1: preds() succs(bb3 bb2) label=4\n"
    "  %r1{ptx=3.1,u} = S2R SR[ctaid.x] loc(1 20 0)\n"
    "  [%r2 %r3], _ = IMAD_WIDE(sign=U32) %r1, 0x4, [%r1 _], _ ; a hole\n"
    "  %r4 = MOV abs32_lo(@tab 4)\n"
    "  %r5, _, _ = IADD3 %r4, -%r1, RZ, !PT, !PT\n"
    "  %p6, _ = ISETP(cmp=GE) %r5, c[0x0][0x160], PT, _\n"
    "  %r7, _ = LDG(e=E) [%r2 %r3].64, _, 0xfffffffc, _ flags[observing memory]\n"
    "  @!%p6 %r8 = MOV 0x5 tied(%r7)\n"
    "  @%p6 BRA _, _, bb3\n"
    "  BRA _, _, bb2\n"
    "bb2: preds(bb1) succs(bb3)\n"
    "  %r9 = FADD |%r8|, -%r7.h0h0 ctrl(4 1 7 0 0x21)\n"
    "  BRA _, _, bb3\n"
    "bb3: preds(bb1 bb2) succs() depth=1 uniform\n"
    "  %r11 = phi %r8, %r9\n"
    "  EXIT _\n"
    "}\n";

static char *replaced(const char *text, const char *old, const char *now) {
    const char *at = strstr(text, old);
    assert_non_null(at);
    char *out = malloc(strlen(text) + strlen(now) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, now, at + strlen(old));
    return out;
}

static void test_round_trip(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    IrModule *module = load(&x, sample);
    if (!module)
        print_message("%s\n", x.last);
    assert_non_null(module);
    assert_int_equal(module->funcs.n, 2);
    assert_int_equal(module->vars.n, 2);
    Function *function = module->funcs.at[1];
    assert_true(function->is_entry && function->uniform_entry);
    assert_int_equal(function->var_bytes, 8);
    const Inst *setp = ir_inst(function, ir_block(function, (BlockId){1})->insts.at[4]);
    assert_int_equal(setp->op, OT_ISETP);
    assert_int_equal(MGET(ISETP, cmp, setp->mods), ICmp_GE);
    assert_int_equal(ir_src(function, setp, 1)->kind, OPK_CMEM);
    assert_int_equal(ir_src(function, setp, 1)->value, 0x160);
    const Inst *ld = ir_inst(function, ir_block(function, (BlockId){1})->insts.at[5]);
    assert_int_equal(ld->flags, IF_OBSERVING | IF_MEMORY);
    assert_int_equal(ir_src(function, ld, 0)->count, 2);
    char *once = ir_print(module, NULL);
    IrModule *m2 = load(&x, once);
    if (!m2)
        print_message("%s\n%s", x.last, once);
    assert_non_null(m2);
    char *twice = ir_print(m2, NULL);
    assert_string_equal(once, twice);
    assert_non_null(strstr(once, "ISETP(cmp=GE)"));
    free(once);
    free(twice);
    ir_module_free(module);
    ir_module_free(m2);
    str_free(&x.strings);
}

static void refuse(const char *old, const char *now, const char *place, const char *what) {
    Fixture x;
    start(&x);
    char *bad = replaced(sample, old, now);
    IrModule *m = load(&x, bad);
    assert_null(m);
    if (!strstr(x.last, what) || (place && !strstr(x.last, place)))
        print_message("got: %s\n", x.last);
    assert_non_null(strstr(x.last, what));
    if (place)
        assert_non_null(strstr(x.last, place));
    free(bad);
    str_free(&x.strings);
}

/* Jump tables: entries are positions in the successors, and stay when edges are split or led elsewhere. */
static const char *const table_sample = "module bru1 opt=2 const=0\n"
                                        "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
                                        "table 0 (0)\n"
                                        "table 4 (1 0 1)\n"
                                        "bb1: preds() succs(bb2 bb3)\n"
                                        "  %r1 = S2R SR[tid.x]\n"
                                        "  %r2 = LDC %r1, c[0x2][0x4]\n"
                                        "  BRX _, %r2, 0x1L\n"
                                        "bb2: preds(bb1) succs(bb3)\n"
                                        "  BRA _, _, bb3\n"
                                        "bb3: preds(bb1 bb2) succs()\n"
                                        "  EXIT _\n"
                                        "}\n";

static void test_tables(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    IrModule *module = load(&x, table_sample);
    if (!module)
        print_message("%s\n", x.last);
    assert_non_null(module);
    char *once = ir_print(module, NULL);
    assert_non_null(strstr(once, "table 4 (1 0 1)\n"));
    IrModule *m2 = load(&x, once);
    assert_non_null(m2);
    char *twice = ir_print(m2, NULL);
    assert_string_equal(once, twice);
    Function *f = module->funcs.at[0];
    Block *b = ir_block(f, (BlockId){1});
    const BranchTable *table = ir_branch_table(f, ir_inst(f, b->insts.at[2]));
    assert_non_null(table);
    assert_int_equal(table->offset_bytes, 4);
    assert_int_equal(table->entries.n, 3);
    BlockId mid = ir_split_edge(f, (BlockId){1}, (BlockId){3});
    ir_renumber(f);
    assert_true(ir_verify(f, &x.d, "test"));
    b = ir_block(f, (BlockId){1});
    table = ir_branch_table(f, ir_inst(f, b->insts.at[2]));
    assert_int_equal(b->succs.at[table->entries.at[0]].i, mid.i);
    assert_int_equal(b->succs.at[table->entries.at[1]].i, 2);
    free(once);
    free(twice);
    ir_module_free(module);
    ir_module_free(m2);
    static const char *const wrong[][3] = {{"(1 0 1)", "(1 0 2)", "is no successor"},
                                           {"0x1L", "0x2L", "names no jump table"},
                                           {"table 4 (", "table 3 (", "constant bank"},
                                           {"table 4 (", "table 65532 (", "constant bank"},
                                           {"(1 0 1)", "(1 0", NULL}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char *bad = replaced(table_sample, wrong[k][0], wrong[k][1]);
        assert_null(load(&x, bad));
        if (wrong[k][2] && !strstr(x.last, wrong[k][2]))
            fail_msg("expected '%s', got: %s", wrong[k][2], x.last);
        free(bad);
    }
    str_free(&x.strings);
}

static void test_refused_text(void **state) {
    (void)state;
    refuse("module bru1", "module gcn5", "t.mir:1:8", "unknown target");
    refuse("ISETP(cmp=GE)", "ISETQ", "t.mir:16:", "no such operation");
    refuse("cmp=GE", "cmp=GEZ", "t.mir:16:", "no such value");
    refuse("cmp=GE", "cmq=GE", "t.mir:16:", "no such modifier");
    refuse("SR[ctaid.x]", "SR[nonsense]", "t.mir:12:", "special register");
    refuse("%p6, _", "%p4000000000, _", "t.mir:16:", "too large");
    refuse("%p6, _", "%r6, _", NULL, "register file");
    refuse("bb2: preds(bb1)", "bb7: preds(bb1)", NULL, "not defined");
    refuse("bb2: preds(bb1)", "bb1: preds(bb1)", NULL, "defined twice");
    refuse("ctrl(4", "ctrl(44", "t.mir:22:", "too large");
    refuse("tied(%r7)", "tied(%r7, %r7)", "t.mir:18:", "tied source");
    refuse("@helper ssa", "@k ssa", "t.mir:10:", "function is defined twice");
    refuse("0x5 tied", "0x555555555 tied", NULL, "too large");
    refuse("@\"odd name\"", "@\"odd\n", "t.mir:3:", "unterminated");
}

/* A function whose only instruction has no operands. */
static void without_operands(void) {
    Fixture x;
    start(&x);
    assert_null(load(&x, "module bru1 opt=0 const=0\n"
                         "func @k entry ssa uniform_entry var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
                         "bb1: preds() succs() uniform\n  entry\n}\n"));
    assert_non_null(strstr(x.last, "does not end"));
    str_free(&x.strings);
}

/* What the verifier must find. */
static void test_verifier(void **state) {
    (void)state;
    without_operands();
    refuse("%r11 = phi %r8, %r9", "%r11 = phi %r8", NULL, "phi has 1 sources");
    refuse("%r11 = phi %r8, %r9", "%r11 = phi %r9, %r8", NULL, "not dominated");
    refuse("%r4 = MOV", "%r1 = MOV", NULL, "defined twice");
    refuse("%r9 = FADD |%r8|", "%r9 = FADD |%r99|", NULL, "not defined");
    refuse("  @%p6 BRA _, _, bb3\n", "", NULL, "successor");
    refuse("BRA _, _, bb2\nbb2", "BRA _, _, bb3\nbb2", NULL, "not successor");
    refuse("succs(bb3 bb2)", "succs(bb3)", NULL, "both lists");
    refuse("@!%p6 %r8 = MOV 0x5 tied(%r7)", "@!%p6 %r8 = MOV 0x5", NULL, "no tied sources");
    refuse("%r9 = FADD |%r8|, -%r7.h0h0", "%r9 = FADD |%r8|, %p6", NULL, "wrong register file");
    refuse("  %r11 = phi %r8, %r9\n", "  NOP\n  %r11 = phi %r8, %r9\n", NULL, "phi behind");
    refuse("BRA _, _, bb3\nbb3", "NOP\nbb3", NULL, "does not end");
    refuse("%r11 = phi %r8, %r9\n", "%r11 = phi %r8, %r9\n  %p12 = MOV 0x1\n", NULL, "wrong register file");
}

/* One byte changed, removed or doubled anywhere: either it loads and prints, or it is refused. */
static void test_damaged_text(void **state) {
    (void)state;
    const char *text = sample;
    size_t n = strlen(text);
    uint64_t s = 12345;
    unsigned loaded = 0, refused = 0;
    for (unsigned k = 0; k < 20000; k++) {
        Fixture x;
        start(&x);
        char *bad = malloc(n + 2);
        size_t size = n;
        memcpy(bad, text, n);
        for (unsigned e = 0; e <= k % 3; e++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(s >> 33) % size;
            unsigned how = (unsigned)(s >> 20) % 3;
            if (how == 0)
                bad[at] = "0123456789abcdefr%[](){}=,._@;\n BpRPx"[(s >> 40) % 38];
            else if (how == 1)
                size = at + 1;
            else if (size > 1)
                memmove(bad + at, bad + at + 1, size - at - 1), size--;
        }
        Source src = {"bad.mir", bad, size};
        IrModule *m = ir_load(&src, &x.strings, &x.d);
        if (m) {
            char *once = ir_print(m, NULL);
            IrModule *m2 = load(&x, once);
            assert_non_null(m2);
            char *twice = ir_print(m2, NULL);
            assert_string_equal(once, twice);
            free(once);
            free(twice);
            ir_module_free(m);
            ir_module_free(m2);
            loaded++;
        } else {
            assert_true(x.d.nerrors > 0);
            refused++;
        }
        free(bad);
        str_free(&x.strings);
    }
    assert_true(loaded > 100 && refused > 1000);
}

/* Edges, guards and splits made through the building calls keep the function valid. */
static void test_building(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    IrModule *m = ir_module_new(isa_targets[0], &x.strings);
    Function *f = ir_function_new(m, str_intern_z(&x.strings, "k"), true);
    BlockId a = ir_block_new(f), b = ir_block_new(f), c = ir_block_new(f);
    ValId one = ir_value_new(f, RF_R), p = ir_value_new(f, RF_P), two = ir_value_new(f, RF_R);
    ValId guarded = ir_value_new(f, RF_R), phi = ir_value_new(f, RF_R);
    InstId i = ir_inst_new(f, OT_MOV, 1, 1);
    ir_set_dst(f, i, 0, ir_val(f, one));
    ir_set_src(f, i, 0, op_imm(7));
    ir_append(f, a, i);
    i = ir_inst_new(f, OT_ISETP, ISETP_ndst, ISETP_nsrc);
    ir_set_dst(f, i, 0, ir_val(f, p));
    ir_set_src(f, i, 0, ir_val(f, one));
    ir_append(f, a, i);
    i = ir_branch_new(f, c);
    ir_append(f, a, i);
    ir_append(f, a, ir_branch_new(f, b));
    ir_set_guard(f, i, ir_val(f, p)); /* after another instruction: the operands move */
    ir_add_edge(f, a, c);
    ir_add_edge(f, a, b);
    i = ir_inst_new(f, OT_MOV, 1, 1);
    ir_set_dst(f, i, 0, ir_val(f, two));
    ir_set_src(f, i, 0, op_imm(8));
    ir_append(f, b, i);
    i = ir_inst_new(f, OT_MOV, 1, 1);
    ir_set_dst(f, i, 0, ir_val(f, guarded));
    ir_set_src(f, i, 0, op_imm(9));
    ir_append(f, b, i);
    ir_append(f, b, ir_branch_new(f, c));
    ir_set_guard(f, i, ir_val(f, p));
    *ir_tied(f, ir_inst(f, i), 0) = ir_val(f, two);
    ir_add_edge(f, b, c);
    i = ir_inst_new(f, IR_PHI, 1, 2);
    ir_set_dst(f, i, 0, ir_val(f, phi));
    ir_set_src(f, i, 0, ir_val(f, one));
    ir_set_src(f, i, 1, ir_val(f, guarded));
    ir_append(f, c, i);
    ir_append(f, c, ir_inst_new(f, OT_EXIT, 0, EXIT_nsrc));
    assert_true(ir_verify(f, &x.d, "build"));
    assert_int_equal(ir_src(f, ir_inst(f, i), 1)->value, guarded.i);
    assert_int_equal(ir_inst(f, ir_value(f, guarded)->def)->op, OT_MOV);
    BlockId mid = ir_split_edge(f, a, c);
    assert_true(ir_verify(f, &x.d, "split"));
    assert_int_equal(ir_block(f, c)->preds.at[0].i, mid.i);
    assert_int_equal(ir_block(f, a)->succs.at[0].i, mid.i);
    assert_int_equal(f->layout.at[1].i, mid.i);
    /* drop the edge through mid: the phi loses its first source */
    ir_remove_edge(f, mid, c);
    assert_int_equal(ir_inst(f, i)->nsrc, 1);
    assert_int_equal(ir_src(f, ir_inst(f, i), 0)->value, guarded.i);
    Control ctl = {.stall_cycles = 5, .yield = 1, .write_sb = 2, .read_sb = 7, .wait_mask = 9}, back;
    back = ir_control(ir_control_pack(ctl));
    assert_memory_equal(&ctl, &back, sizeof ctl);
    ir_module_free(m);
    str_free(&x.strings);
}

/* ---- pass driver ---- */

static bool pass_ok(Function *f, Diags *d) {
    (void)d;
    f->var_bytes++;
    return true;
}
static bool pass_breaks(IrModule *module, Diags *d) {
    (void)d;
    ir_block(module->funcs.at[0], (BlockId){1})->insts.n = 0;
    return true;
}

static void count_dump(void *user, const char *pass, const char *text) {
    (void)pass;
    assert_non_null(strstr(text, "module bru1"));
    ++*(int *)user;
}

static void test_driver(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    IrModule *ir_module = load(&x, sample);
    assert_non_null(ir_module);
    const PassDesc table[] = {
        {.name = "one", .what = "", .func = pass_ok, .gives = IRS_UNIFORM},
        {.name = "two", .what = "", .func = pass_ok, .min_opt_level = 3, .needs = IRS_UNIFORM},
        {.name = "three",
         .what = "",
         .func = pass_ok,
         .needs = IRS_UNIFORM | IRS_SSA,
         .gives = IRS_DROPS(IRS_SSA)},
        {.name = "four", .what = "", .func = pass_ok, .needs = IRS_SSA},
        {.name = "breaks", .what = "", .module = pass_breaks},
    };
    int dumps = 0;
    PassOptions o = {
        .dump = "all", .stop_after = "three", .verify = true, .on_dump = count_dump, .user = &dumps};
    assert_true(ir_run_pass_table(ir_module, table, 5, &o, &x.d));
    assert_int_equal(ir_module->funcs.at[1]->var_bytes, 10); /* one and three; two needs -O3 */
    assert_int_equal(dumps, 3);                              /* isel, one, three */
    ir_module->opt_level = 3;
    o.stop_after = o.without = "two";
    assert_true(ir_run_pass_table(ir_module, table, 5, &o, &x.d));
    assert_int_equal(ir_module->funcs.at[1]->var_bytes, 11); /* one */
    o.without = NULL;
    assert_true(ir_run_pass_table(ir_module, table, 5, &o, &x.d));
    assert_int_equal(ir_module->funcs.at[1]->var_bytes, 13); /* one and two */
    o.without = "one";
    assert_false(ir_run_pass_table(ir_module, table, 5, &o, &x.d));
    assert_non_null(strstr(x.last, "E0692")); /* -O0 runs it */
    o.without = NULL;
    ir_module->opt_level = 0;
    o.stop_after = NULL;
    assert_false(ir_run_pass_table(ir_module, table, 5, &o, &x.d));
    assert_non_null(strstr(x.last, "E0691")); /* four needs what three dropped */
    assert_false(ir_run_pass_table(ir_module, table + 4, 1, &o, &x.d));
    assert_non_null(strstr(x.last, "after breaks"));
    o.stop_after = "five";
    assert_false(ir_run_pass_table(ir_module, table, 5, &o, &x.d));
    assert_non_null(strstr(x.last, "E0690"));
    ir_module_free(ir_module);
    str_free(&x.strings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_refused_text),
        cmocka_unit_test(test_tables),       cmocka_unit_test(test_verifier),
        cmocka_unit_test(test_damaged_text), cmocka_unit_test(test_building),
        cmocka_unit_test(test_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
