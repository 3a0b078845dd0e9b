/* What selection and SSA construction build, on small modules: structure that the verifier accepts, guards,
 * blocks with very many predecessors, irreducible loops, calls, placement of variables, refusals with their
 * section.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/abi.h"
#include "lower/lower.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    PtxModule *ptx;
    StrTab strings;
    IrModule *ir;
    char errors[4096];
} Test;

static void keep(void *user, Severity severity, const char *line) {
    Test *test = user;
    if (severity == SEV_ERROR)
        strncat(test->errors, line, sizeof test->errors - strlen(test->errors) - 1);
}

#define HEAD ".version 8.8\n.target sm_100a\n.address_size 64\n"

/* Lower at -O1 and verify every function; t->ir is NULL if lowering refused. */
static void lower_for(Test *test, const char *target, const char *text) {
    *test = (Test){0};
    Diags d = {.sink = keep, .user = test};
    test->ptx = ptx_parse("test.ptx", text, strlen(text), &d);
    if (!test->ptx)
        fail_msg("%s", test->errors);
    d.source = &test->ptx->source;
    test->ir = lower_module(test->ptx, &test->strings, isa_target(target), 1, &d);
    for (unsigned k = 0; test->ir && k < test->ir->funcs.n; k++)
        if (!ir_verify(test->ir->funcs.at[k], &d, "isel"))
            fail_msg("%s", test->errors);
}

static void lower(Test *test, const char *text) { lower_for(test, "bru1", text); }

static void done(Test *test) {
    ir_module_free(test->ir);
    ptx_free(test->ptx);
    str_free(&test->strings);
}

static void lower_body(Test *t, const char *body) {
    char text[4096];
    snprintf(text, sizeof text,
             HEAD
             ".visible .entry k(.param .u64 p) {\n.reg .b32 %%r<9>; .reg .b64 %%l<9>; .reg .pred %%p<9>;\n"
             ".reg .f32 %%f<9>;\n%s\n}\n",
             body);
    lower(t, text);
}

static unsigned count(const Test *test, unsigned op) {
    unsigned n = 0;
    for (unsigned k = 0; k < test->ir->funcs.n; k++) {
        const Function *f = test->ir->funcs.at[k];
        for (unsigned b = 0; b < f->layout.n; b++) {
            const Block *blk = &f->blocks.at[f->layout.at[b].i];
            for (unsigned i = 0; i < blk->insts.n; i++)
                n += f->insts.at[blk->insts.at[i].i].op == op;
        }
    }
    return n;
}

static const Inst *first(const Test *test, unsigned op) {
    const Function *f = test->ir->funcs.at[0];
    for (unsigned i = 1; i < f->insts.n; i++)
        if (f->insts.at[i].op == op)
            return &f->insts.at[i];
    fail_msg("no %s", ir_op_name(op));
    return NULL;
}

static void test_guard(void **state) {
    (void)state;
    Test t;
    lower_body(&t, "ld.param.u64 %l1, [p]; ld.global.u32 %r1, [%l1]; ld.global.u32 %r2, [%l1+4];\n"
                   "setp.ne.u32 %p1, %r1, 0; @%p1 add.u32 %r2, %r2, %r1; st.global.u32 [%l1], %r2; ret;");
    const Function *f = t.ir->funcs.at[0];
    const Inst *add = first(&t, OT_IADD3);
    assert_int_equal(add->guard.kind, OPK_VAL); /* one guarded instruction, no copy */
    assert_true(add->flags & IF_TIED);
    Operand old = f->operands.at[add->operand + add->ndst + add->nsrc];
    assert_int_equal(old.value, f->operands.at[add->operand + add->ndst].value); /* keeps %r2 */
    assert_int_equal(f->layout.n, 1);
    done(&t);
}

static void test_guarded_store_is_not_speculated(void **state) {
    (void)state;
    Test t;
    lower_body(&t, "ld.param.u64 %l1, [p]; ld.global.u32 %r1, [%l1]; setp.ne.u32 %p1, %r1, 0;\n"
                   "@%p1 st.global.u32 [%l1], 5; @!%p1 ld.global.v2.u32 {%r2,%r3}, [%l1+8]; st.global.u32 "
                   "[%l1], %r2; ret;");
    assert_int_equal(first(&t, OT_STG)->guard.kind, OPK_VAL);
    unsigned guarded = 0;
    const Function *f = t.ir->funcs.at[0];
    for (unsigned i = 1; i < f->insts.n; i++)
        guarded += f->insts.at[i].op == OT_LDG && f->insts.at[i].guard.kind == OPK_VAL;
    assert_int_equal(guarded, 1);
    done(&t);
}

static bool reads_bank0(const Test *test, uint32_t offset_bytes) {
    const Function *f = test->ir->funcs.at[0];
    for (unsigned i = 1; i < f->insts.n; i++)
        for (unsigned k = 0; k < f->insts.at[i].nsrc; k++) {
            const Operand *source = &f->operands.at[f->insts.at[i].operand + f->insts.at[i].ndst + k];
            if (source->kind == OPK_CMEM && source->value == offset_bytes)
                return true;
        }
    return false;
}

/* Special registers of constant bank 0, where ptxas 13.0 reads them. */
static void test_bank0_registers(void **state) {
    (void)state;
    static const struct {
        const char *target;
        uint32_t nsmid, envreg0, envreg31;
    } cases[] = {{"sm_75", 0x10c, 0x88, 0x104},
                 {"sm_80", 0x10c, 0x88, 0x104},
                 {"sm_86", 0x10c, 0x88, 0x104},
                 {"sm_89", 0x10c, 0x88, 0x104},
                 {"sm_90", 0x10c, 0x40, 0xbc}};
    static const char *const names[] = {"nsmid", "envreg0", "envreg31"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (unsigned n = 0; n < 3; n++) {
            const uint32_t offsets[] = {cases[k].nsmid, cases[k].envreg0, cases[k].envreg31};
            char text[512];
            Test t;
            snprintf(text, sizeof text,
                     ".version 7.0\n.target sm_75\n.address_size 64\n.entry k(.param .u64 p) {\n"
                     ".reg .b32 %%r; .reg .b64 %%l; ld.param.u64 %%l, [p]; mov.u32 %%r, %%%s;\n"
                     "st.global.u32 [%%l], %%r; ret;\n}\n",
                     names[n]);
            lower_for(&t, cases[k].target, text);
            if (!t.ir)
                fail_msg("%s: %s", cases[k].target, t.errors);
            for (unsigned other = 0; other < 3; other++)
                assert_int_equal(reads_bank0(&t, offsets[other]), other == n);
            done(&t);
        }
}

static void test_loop_phi(void **state) {
    (void)state;
    Test t;
    lower_body(
        &t, "ld.param.u64 %l1, [p]; mov.u32 %r1, 0; mov.u32 %r2, 7;\n"
            "L: add.u32 %r1, %r1, %r2; setp.lt.u32 %p1, %r1, 99; @%p1 bra L; st.global.u32 [%l1], %r1; ret;");
    assert_int_equal(count(&t, IR_PHI), 1); /* %r1 only: %r2 and %l1 do not change */
    done(&t);
}

static void test_irreducible(void **state) {
    (void)state;
    Test t;
    lower_body(&t, "ld.param.u64 %l1, [p]; ld.global.u32 %r1, [%l1]; setp.gt.u32 %p1, %r1, 9; @%p1 bra B;\n"
                   "A: add.u32 %r1, %r1, 3; and.b32 %r2, %r1, 8; setp.ne.u32 %p2, %r2, 0; @%p2 bra E;\n"
                   "B: add.u32 %r1, %r1, 5; setp.lt.u32 %p2, %r1, 64; @%p2 bra A; bra E;\n"
                   "add.u32 %r1, %r1, 1;\n" /* cannot be reached */
                   "E: st.global.u32 [%l1], %r1; ret;");
    assert_true(count(&t, IR_PHI) >= 2);
    done(&t);
}

/* More edges into one statement than a phi has sources. */
static void test_many_predecessors(void **state) {
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(f, HEAD
            ".visible .entry k(.param .u64 p) {\n.reg .b32 %%r<9>; .reg .b64 %%l<9>; .reg .pred %%p<9>;\n"
            "ld.param.u64 %%l1, [p]; ld.global.u32 %%r1, [%%l1]; mov.u32 %%r2, 0;\n");
    for (unsigned k = 0; k < 700; k++)
        fprintf(f, "setp.eq.u32 %%p1, %%r1, %u; @%%p1 bra E; add.u32 %%r2, %%r2, %%r1;\n", k);
    fprintf(f, "E: st.global.u32 [%%l1], %%r2; ret; }\n");
    fclose(f);
    Test t;
    lower(&t, text);
    const Function *fn = t.ir->funcs.at[0];
    for (unsigned b = 0; b < fn->layout.n; b++)
        assert_true(fn->blocks.at[fn->layout.at[b].i].preds.n < 255);
    done(&t);
    free(text);
}

static void test_undefined_register(void **state) {
    (void)state;
    Test t;
    lower_body(&t, "ld.param.u64 %l1, [p]; st.global.u32 [%l1], %r5; ret;");
    assert_int_equal(count(&t, IR_UNDEF), 1);
    done(&t);
}

static void test_calls(void **state) {
    (void)state;
    Test t;
    lower(
        &t, HEAD
        ".func (.reg .b32 r) f (.reg .b32 a);\n"
        ".visible .entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %l<2>; ld.param.u64 %l1, [p];\n"
        "ld.global.u32 %r1, [%l1]; call (%r2), f, (%r1); fns.b32 %r3, %r2, 0, %r1; st.global.u32 [%l1], %r3; "
        "ret; }\n"
        ".func (.reg .b32 r) f (.reg .b32 a) { .reg .pred q; add.u32 r, a, 1; setp.lt.u32 q, r, 5; @q ret;\n"
        "call (r), f, (r); ret; }\n");
    const IrModule *module = t.ir;
    assert_int_equal(module->funcs.n, 3); /* k, f and the library's fns */
    assert_string_equal(str_text(&t.strings, module->funcs.at[2]->name), "k"); /* callees first */
    for (unsigned k = 0; k < module->funcs.n; k++)
        assert_int_equal(module->funcs.at[k]->index, k);
    assert_int_equal(count(&t, OT_CALL), 3);
    assert_int_equal(count(&t, OT_LEPC), 3);
    const Function *k = module->funcs.at[2];
    for (unsigned i = 1; i < k->insts.n; i++)
        if (k->insts.at[i].op == OT_CALL) { /* R4 in, R4 out, return address where abi.h says */
            const Inst *call = &k->insts.at[i];
            const Operand *o = &k->operands.at[call->operand];
            assert_int_equal(k->values.at[o[0].value].fixed_reg, 4);
            assert_int_equal(k->values.at[o[call->ndst + CALL_nsrc].value].fixed_reg, 4);
            Operand ra = o[call->ndst + call->nsrc - 1];
            assert_int_equal(ra.count, 2);
            assert_int_equal(k->values.at[ir_operand_value(k, ra, 0).i].fixed_reg, ABI_RETURN_REG);
        }
    done(&t);
}

static void test_variables(void **state) {
    (void)state;
    Test t;
    lower(&t, HEAD
          ".global .align 4 .u32 g[4] = {1, 2};\n.shared .align 1 .b8 s0[3];\n.shared .align 16 .b8 s1[40];\n"
          ".const .align 8 .f64 c0[2];\n.const .align 2 .u16 c1;\n.extern .shared .align 32 .b8 dyn[];\n"
          ".visible .entry k() { .local .align 8 .b8 buf[24]; .reg .b64 %l<2>; .reg .b32 %r<3>;\n"
          "mov.u64 %l1, buf; ld.local.u32 %r1, [%l1]; ld.shared.u32 %r2, [s1+4]; st.shared.u32 [dyn], %r2; "
          "st.shared.u32 [s1], %r1;\n"
          "ret; }\n");
    const IrModule *module = t.ir;
    assert_int_equal(module->vars.n, 6);
    assert_int_equal(module->funcs.at[0]->shared_bytes, 64); /* s1 alone is named; dyn lies behind it */
    assert_int_equal(module->vars.at[4].offset_bytes, 16);
    assert_int_equal(module->const_bytes, 18);
    assert_true(module->vars.at[5].is_extern_shared);
    assert_int_equal(module->funcs.at[0]->var_bytes, 24);
    done(&t);
}

static void test_retry_loop_observes(void **state) {
    (void)state;
    Test t;
    lower_body(&t, ".shared .align 8 .b8 s[8]; .reg .f64 %d<3>; mov.f64 %d1, 0d3FF0000000000000;\n"
                   "atom.shared.add.f64 %d2, [s], %d1; ret;");
    assert_true(first(&t, OT_ATOMS_CAS)->flags & IF_OBSERVING);
    assert_true(first(&t, OT_ATOMS_CAS)->flags & IF_SIDE_EFFECT);
    assert_int_equal(t.ir->funcs.at[0]->layout.n, 3); /* before, loop, behind */
    done(&t);
}

static void test_collective_carries_its_mask(void **state) {
    (void)state;
    Test t;
    lower_body(&t, "mov.u32 %r1, %tid.x; shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffff; bar.sync 3;\n"
                   "ld.param.u64 %l1, [p]; st.global.u32 [%l1], %r2; ret;");
    const Function *f = t.ir->funcs.at[0];
    const Inst *shfl = first(&t, OT_SHFL), *bar = first(&t, OT_BAR);
    assert_true(shfl->flags & IF_SYNC);
    assert_int_equal(f->operands.at[shfl->operand + shfl->ndst + SHFL_nsrc].value, 0xffff);
    assert_true(bar->flags & IF_SYNC);
    assert_int_equal(f->nbarriers_used, 4);
    assert_true(f->uses_sync);
    done(&t);
}

/* A dot product is one instruction, whatever its operands. */
static void test_dot_product(void **state) {
    (void)state;
    Test t;
    lower_body(&t, "mov.u32 %r1, %tid.x; dp4a.s32.u32 %r2, %r1, %r1, 5; dp2a.hi.u32.s32 %r3, 7, %r2, %r1;\n"
                   "ld.param.u64 %l1, [p]; st.global.u32 [%l1], %r3; ret;");
    assert_int_equal(count(&t, OT_IDP), 2);
    assert_int_equal(count(&t, OT_IMAD) + count(&t, OT_PRMT), 0);
    uint32_t mods = first(&t, OT_IDP)->mods;
    assert_int_equal(MGET(IDP, mode, mods), IdpMode_D4A_S8);
    assert_int_equal(MGET(IDP, bsign, mods), IdpSign_U8);
    done(&t);
}

/* F2FP rounds to nearest or to zero only; nvdisasm refuses the word with another rounding. */
static void test_conversions_towards_infinity(void **state) {
    (void)state;
    Test t;
    lower_body(
        &t, ".reg .b16 %h<4>; cvt.rp.bf16.f32 %h1, %f1; cvt.rm.f16.f32 %h2, %f1; cvt.rz.bf16.f32 %h3, %f1;\n"
            "ld.param.u64 %l1, [p]; st.global.v4.u16 [%l1], {%h1, %h2, %h3, %h3}; ret;");
    assert_int_equal(count(&t, OT_F2F), 2);
    assert_int_equal(count(&t, OT_F2FP), 1);
    assert_int_equal(MGET(F2F, dst, first(&t, OT_F2F)->mods), FSize_BF16);
    assert_int_equal(MGET(F2F, rnd, first(&t, OT_F2F)->mods), Rnd_RP);
    done(&t);
}

/* A statement that other lanes or memory notice is not executed where its guard is false (PTX ISA 9.3),
 * whatever its results are: nothing that concerns more than one lane's registers stands unguarded in the
 * block that all execute. */
static void test_guarded_effects(void **state) {
    (void)state;
    static const char *const statements[] = {
        "shfl.sync.idx.b32 %r1,%r2,%r3,31,-1;",
        "shfl.sync.down.b32 %r1|%p2,%r2,1,31,%r4;",
        "vote.sync.any.pred %p2,%p3,-1;",
        "vote.sync.ballot.b32 %r1,%p3,%r4;",
        "match.any.sync.b32 %r1,%r2,-1;",
        "match.all.sync.b64 %r1|%p2,%l2,-1;",
        "redux.sync.add.s32 %r1,%r2,-1;",
        "activemask.b32 %r1;",
        "elect.sync %r1|%p2,-1;",
        "bar.sync 0;",
        "barrier.sync 1,64;",
        "bar.red.popc.u32 %r1,0,%p3;",
        "bar.red.and.pred %p2,0,%p3;",
        "bar.warp.sync -1;",
        "ld.global.u32 %r1,[%l2];",
        "ld.volatile.shared.v2.u32 {%r1,%r2},[%l2];",
        "ld.acquire.gpu.u32 %r1,[%l2];",
        "st.global.u32 [%l2],%r1;",
        "atom.global.add.u32 %r1,[%l2],%r2;",
        "atom.shared.cas.b64 %l1,[%l2],%l3,%l4;",
        "red.global.max.s32 [%l2],%r2;",
        "membar.gl;",
        "fence.sc.sys;",
        "nanosleep.u32 %r2;",
        "trap;",
    };
    for (unsigned k = 0; k < sizeof statements / sizeof *statements; k++) {
        char body[400];
        Test t;
        snprintf(body, sizeof body, "@%%p1 %s\nret;", statements[k]);
        lower_body(&t, body);
        assert_non_null(t.ir);
        Function *f = t.ir->funcs.at[0];
        const Block *entry = ir_block(f, f->entry);
        for (unsigned n = 0; n < entry->insts.n; n++) {
            const Inst *i = ir_inst(f, entry->insts.at[n]);
            const OpTraits *traits = isa_traits(i->op);
            bool alone = traits->lanes == ISA_LANES_EACH && !(i->flags & (IF_SIDE_EFFECT | IF_MEMORY)) &&
                         !traits->effects;
            if (i->op >= OT_COUNT || i->op == OT_CCTL) /* of the IR alone; drops copies, for whomever */
                continue;
            if (!alone && op_is_always(i->guard) && i->op != OT_BRA && i->op != OT_EXIT)
                fail_msg("%s: %s is executed by all", statements[k], isa_optype_name(i->op));
        }
        done(&t);
    }
}

static void refused(const char *body, const char *text) {
    Test t;
    lower_body(&t, body);
    assert_null(t.ir);
    if (!strstr(t.errors, text))
        fail_msg("no '%s' in: %s", text, t.errors);
    done(&t);
}

static void test_refusals(void **state) {
    (void)state;
    refused(
        "mov.u64 %l1, %current_graph_exec; ret;",
        "error E0702: mov.u64: this special register is not available (PTX ISA 9.7.9.3 mov; register %l1; "
        "function k)");
    refused("min.f32 %f1, %f2, %f3, %f4; ret;", "9.7.3.11 min");
    Test t;
    /* what cannot be reached is not compiled */
    lower_body(&t,
               "ret; mov.u64 %l1, %current_graph_exec;\nL: @%p1 bra L; mov.u64 %l1, %current_graph_exec;");
    assert_non_null(t.ir);
    done(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guard),
                                       cmocka_unit_test(test_guarded_store_is_not_speculated),
                                       cmocka_unit_test(test_bank0_registers),
                                       cmocka_unit_test(test_loop_phi),
                                       cmocka_unit_test(test_irreducible),
                                       cmocka_unit_test(test_many_predecessors),
                                       cmocka_unit_test(test_undefined_register),
                                       cmocka_unit_test(test_calls),
                                       cmocka_unit_test(test_variables),
                                       cmocka_unit_test(test_retry_loop_observes),
                                       cmocka_unit_test(test_collective_carries_its_mask),
                                       cmocka_unit_test(test_dot_product),
                                       cmocka_unit_test(test_conversions_towards_infinity),
                                       cmocka_unit_test(test_guarded_effects),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
