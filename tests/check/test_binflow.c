/* Control flow of decoded binaries: blocks, edges, ends, calls and order of hand-written machine code. What
 * is expected is written down from the text.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/flow/binflow.h"
#include "emit/text/asm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Binary *b;
    BinFlow *g;
    void *image;
} Loaded;

static void show(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    print_message("%s", line);
}

static Loaded load(const char *text) {
    Loaded l;
    Diags d = {.sink = show};
    size_t size;
    Source s = {"k.sass", text, strlen(text)};
    assert_true(asm_assemble(&s, &l.image, &size, &d));
    l.b = binary_read("k.cubin", l.image, size, &d);
    assert_non_null(l.b);
    l.g = bin_flow_new(l.b);
    assert_non_null(l.g);
    return l;
}

static void unload(Loaded *loaded) {
    bin_flow_free(loaded->g);
    binary_free(loaded->b);
    free(loaded->image);
}

/* Block of instruction i of function f, with `ends` and edges "n3 t5 b7": kind and first instruction. */
static void expect(const Loaded *loaded, const char *func, uint32_t i, uint8_t ends, const char *edges) {
    const BinFunc *f = binary_find(loaded->b, func);
    assert_non_null(f);
    const BinFuncFlow *ff = &loaded->g->funcs[f - loaded->b->funcs];
    const BinBlock *b = &loaded->g->blocks[loaded->g->block_of[ff->first_inst + i]];
    char text[200] = "";
    for (uint32_t k = 0; k < b->nsuccs; k++) {
        const BinBlock *to = &loaded->g->blocks[b->succs[k].block];
        char one[24];
        snprintf(one, sizeof one, "%s%c%u", k ? " " : "", "ntb"[b->succs[k].kind],
                 to -> first - ff -> first_inst);
        strcat(text, one);
        bool back = false;
        for (uint32_t p = 0; p < to->npreds; p++)
            back |= to->preds[p].block == (uint32_t)(b - loaded->g->blocks) &&
                    to->preds[p].kind == b->succs[k].kind;
        assert_true(back);
    }
    assert_string_equal(text, edges);
    assert_int_equal(b->ends, ends);
}

static void test_branches(void **state) {
    (void)state;
    Loaded l = load(".target bru1\n.entry k\n"
                    "  S2R R0, SR_TID.X ;\n"       /* 0 */
                    "  BSSY B0, `(join) ;\n"       /* 1 */
                    "  @P0 BRA `(other) ;\n"       /* 2 */
                    "  BRA P1, `(join) ;\n"        /* 3: its second guard counts too */
                    "  @!PT EXIT ;\n"              /* 4: never */
                    "  @P2 EXIT ;\n"               /* 5 */
                    "other:\n  YIELD ;\n"          /* 6 */
                    "join:\n  BSYNC B0 ;\n"        /* 7 */
                    "loop:\n  @P3 BRA `(loop) ;\n" /* 8 */
                    "  BRA.DIV `(loop) ;\n"        /* 9: may fall through */
                    "  BRA `(loop) ;\n"            /* 10 */
                    "  TRAP 0x1 ;\n");             /* 11: unreachable */
    expect(&l, "k", 0, 0, "n3 t6");
    expect(&l, "k", 3, 0, "n4 t7");
    expect(&l, "k", 4, 0, "n5");
    expect(&l, "k", 5, BX_EXIT, "n6");
    expect(&l, "k", 6, 0, "n7");
    expect(&l, "k", 7, 0, "n8");
    expect(&l, "k", 8, 0, "n9 t8");
    expect(&l, "k", 9, 0, "n10 t8");
    expect(&l, "k", 10, 0, "t8");
    expect(&l, "k", 11, BX_TRAP, "");
    const BinFuncFlow *flow = &l.g->funcs[0];
    assert_false(l.g->blocks[l.g->block_of[11]].reachable);
    assert_int_equal(flow->nrpo, flow->nblocks - 1);
    assert_int_equal(flow->rpo[0], flow->first_block);
    uint32_t at[32];
    for (uint32_t k = 0; k < flow->nrpo; k++)
        at[flow->rpo[k] - flow->first_block] = k;
    for (uint32_t k = 0; k < flow->nblocks; k++) /* only the two edges of the loop go back */
        for (uint32_t s = 0; l.g->blocks[k].reachable && s < l.g->blocks[k].nsuccs; s++)
            if (at[l.g->blocks[k].succs[s].block] <= at[k])
                assert_int_equal(l.g->blocks[l.g->blocks[k].succs[s].block].first, 8);
    assert_int_equal(bin_target(l.g, 1), 7);
    assert_int_equal(bin_target(l.g, 2), 6);
    assert_int_equal(bin_target(l.g, 0), BINFLOW_NONE);
    char where[160];
    assert_string_equal(bin_where(l.g, 7, where), "k+0x70");
    unload(&l);
}

static void test_calls(void **state) {
    (void)state;
    Loaded l = load(".target bru1\n"
                    ".entry k\n  CALL.REL `(f) ;\n  IADD3 R0, R0, 0x1, RZ ;\n  CALL.REL `(stop) ;\n  NOP ;\n"
                    "  CALL.REL R[2:3], 0x0 ;\n  EXIT ;\n"
                    ".func f\n  @P0 BRA `(g) ;\n  RET.ABS R[20:21] ;\n"
                    ".func g\n  RET.ABS R[20:21] ;\n"
                    ".func stop\n  CALL.REL `(stop2) ;\n  RET.ABS R[20:21] ;\n"
                    ".func stop2\n  @P0 BRA `(stop) ;\n  EXIT ;\n");
    const Binary *binary = l.b;
    const BinFuncFlow *bin_func_flow = &l.g->funcs[binary_find(binary, "k") - binary->funcs],
                      *flow = &l.g->funcs[binary_find(binary, "f") - binary->funcs];
    expect(&l, "k", 0, BX_NORETURN, ""); /* f returns, stop does not */
    assert_int_equal(l.g->blocks[l.g->block_of[bin_func_flow->first_inst]].ninsts, 3);
    expect(&l, "k", 3, BX_EXIT, "");
    assert_false(l.g->blocks[l.g->block_of[bin_func_flow->first_inst + 3]].reachable);
    assert_int_equal(bin_func_flow->ncalls, 3);
    assert_string_equal(binary->funcs[bin_func_flow->calls[0].callee].name, "f");
    assert_string_equal(binary->funcs[bin_func_flow->calls[1].callee].name, "stop");
    assert_int_equal(bin_func_flow->calls[2].callee, BINFLOW_NONE);
    expect(&l, "f", 0, BX_RET, "n1"); /* branches to another function, which returns in its place */
    assert_int_equal(flow->ncalls, 1);
    assert_string_equal(binary->funcs[flow->calls[0].callee].name, "g");
    expect(&l, "stop", 0, BX_NORETURN, "");
    expect(&l, "stop2", 0, BX_NORETURN, "n1");
    expect(&l, "stop2", 1, BX_EXIT, "");
    unload(&l);
}

static void test_facts(void **state) {
    (void)state;
    Loaded l = load(".target bru1\n.entry k\n"
                    "  @P0 BRX R4, 0x0 ;\n" /* 0 */
                    "  @P1 BRA 0x10000 ;\n" /* 1 */
                    "  NOP ;\n"             /* 2 */
                    "  @P1 EXIT ;\n"        /* 3 */
                    "  NOP ;\n");           /* 4 */
    expect(&l, "k", 0, BX_UNKNOWN, "n1");
    expect(&l, "k", 1, BX_BAD_TARGET, "n2");
    expect(&l, "k", 4, BX_OFF_END, "");
    unload(&l);
    l = load(".target bru1\n.entry k\n  @P0 BRX R4, 0x0 ;\n  NOP ;\n  EXIT ;\n");
    l.b->funcs[0].tables = &(BinBranchTable){0, (const uint32_t[]){0x10, 0x20, 0x28, 0x1000}, 4};
    l.b->funcs[0].ntables = 1;
    l.b->code[1][0] = 0xfff; /* no instruction */
    bin_flow_free(l.g);
    l.g = bin_flow_new(l.b);
    expect(&l, "k", 0, BX_OFF_END | BX_BAD_TARGET, "b2");
    assert_false(l.g->decoded[1]);
    expect(&l, "k", 1, BX_OFF_END, "");
    unload(&l);
}

/* ptxas puts division and the like behind a kernel's code and calls them there. */
static void test_subroutine(void **state) {
    (void)state;
    Loaded l = load(".target sm_80\n.entry k\n"
                    "  MOV R4, 0x30 ;\n"         /* 0 */
                    "  CALL.REL.NOINC 0x50 ;\n"  /* 1 */
                    "  NOP ;\n"                  /* 2 */
                    "  EXIT ;\n"                 /* 3 */
                    "end:\n  BRA `(end) ;\n"     /* 4 */
                    "  MOV R5, 0x0 ;\n"          /* 5 */
                    "  RET.REL.NODEC R4 0x0 ;\n" /* 6 */
                    "  NOP ;\n");                /* 7 */
    const BinFuncFlow *flow = &l.g->funcs[0];
    expect(&l, "k", 0, BX_EXIT, "");
    expect(&l, "k", 4, 0, "t4");
    expect(&l, "k", 5, BX_RET, "");
    assert_int_equal(flow->ncalls, 1);
    assert_int_equal(flow->calls[0].callee, 0);
    assert_int_equal(flow->calls[0].target, 5);
    assert_int_equal(flow->nentries, 1);
    assert_int_equal(l.g->blocks[flow->entries[0]].first, 5);
    assert_true(l.g->blocks[flow->entries[0]].reachable);
    assert_false(l.g->blocks[l.g->block_of[4]].reachable);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_branches), cmocka_unit_test(test_calls),
                                       cmocka_unit_test(test_facts), cmocka_unit_test(test_subroutine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
