/* What the parser makes of declarations, constants, scopes, calls, debug information. Expected values are
 * from the PTX ISA document's rules, worked out by hand.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include <locale.h>

static void header(void **state) {
    (void)state;
    PtxModule *module = parse(".version 8.5\n.target sm_90a, debug\n.address_size 64\n");
    assert_int_equal(module->version_major, 8);
    assert_int_equal(module->version_minor, 5);
    assert_int_equal(module->sm, 90);
    assert_string_equal(text_of(module, module->target_text), "sm_90a, debug");
    assert_int_equal(module->address_bits, 64);
    ptx_free(module);
}

static void variables(void **state) {
    (void)state;
    PtxModule *m = parse(HEADER ".extern .shared .align 16 .b8 dyn[];\n"
                                ".visible .global .v4 .f32 quad[3];\n"
                                ".const .u16 small;\n"
                                ".global .align 256 .u8 big[4000000000];\n");
    const PtxVar *ptx_var = var(m, "dyn");
    assert_int_equal(ptx_var->linkage, LINK_EXTERN);
    assert_int_equal(ptx_var->space, SP_SHARED);
    assert_int_equal(ptx_var->align_bytes, 16);
    assert_true(ptx_var->is_array && ptx_var->unsized);
    assert_int_equal(ptx_var->size_bytes, 0);
    ptx_var = var(m, "quad");
    assert_int_equal(ptx_var->linkage, LINK_VISIBLE);
    assert_int_equal(ptx_var->vec, 4);
    assert_int_equal(ptx_var->nelems, 3);
    assert_int_equal(ptx_var->size_bytes, 48);
    assert_int_equal(ptx_var->align_bytes, 16);
    assert_int_equal(var(m, "small")->align_bytes, 2);
    assert_int_equal(var(m, "big")->size_bytes, 4000000000);
    ptx_free(m);
}

static void initialisers(void **state) {
    (void)state;
    PtxModule *m = parse(HEADER ".global .u32 g;\n.func f();\n"
                                ".global .u32 matrix[2][3] = {{1, 2}, {4, 5, 6}};\n"
                                ".global .u64 addr[3] = {g, generic(g)+8, f};\n"
                                ".global .u8 bytes[2] = {0xFF(g), 0xFF00(g+4)};\n"
                                ".global .f32 unsized[] = {1.0, -2.5, 0f40490FDB};\n"
                                ".global .s8 minus = -1;\n.global .f64 d = 0.1;\n"
                                ".global .b32 mixed[3] = {1.0, 2, 0d3ff8000000000000};\n"
                                ".global .b64 wide[2] = {1.5, 0f3f800000};\n");
    const PtxVar *ptx_var = var(m, "matrix");
    assert_int_equal(ptx_var->ninits, 5);
    assert_int_equal(ptx_var->inits[2].offset_bytes, 12); /* the second row starts at element 3 */
    assert_int_equal(ptx_var->inits[2].value, 4);
    ptx_var = var(m, "mixed"); /* what ptxas writes for it */
    assert_int_equal(ptx_var->inits[0].value, 0x3f800000);
    assert_int_equal(ptx_var->inits[1].value, 2);
    assert_int_equal(ptx_var->inits[2].value, 0x3fc00000);
    ptx_var = var(m, "wide");
    assert_int_equal(ptx_var->inits[0].value, 0x3ff8000000000000);
    assert_int_equal(ptx_var->inits[1].value, 0x3f800000);
    ptx_var = var(m, "addr");
    assert_int_equal(ptx_var->inits[0].sym, ptx_find_var(m, "g"));
    assert_false(ptx_var->inits[0].generic);
    assert_true(ptx_var->inits[1].generic);
    assert_int_equal(ptx_var->inits[1].value, 8);
    assert_int_equal(ptx_var->inits[2].sym, ptx_find_func(m, "f") | PTX_SYM_FUNC);
    ptx_var = var(m, "bytes");
    assert_int_equal(ptx_var->inits[1].shift, 8);
    assert_int_equal(ptx_var->inits[1].value, 4);
    assert_int_equal(ptx_var->inits[1].size_bytes, 1);
    ptx_var = var(m, "unsized");
    assert_int_equal(ptx_var->size_bytes, 12);
    assert_false(ptx_var->unsized);
    assert_int_equal(ptx_var->inits[0].value, 0x3F800000);
    assert_int_equal(ptx_var->inits[1].value, 0xC0200000);
    assert_int_equal(ptx_var->inits[2].value, 0x40490FDB);
    assert_int_equal(var(m, "minus")->inits[0].value, 0xFF);
    assert_true(var(m, "d")->inits[0].value == 0x3FB999999999999A);
    ptx_free(m);
}

/* Numbers in all spellings between others, which are read in one go: the host's compiler says what they are.
 */
static void lists(void **state) {
    (void)state;
#define ITEMS                                                                                                \
    0, 1, 010, 9, 0x1f, 127, 128, 255, (4), 5 + 6, 7, 3U, 12, -1, 2, 0x7F, 8 > 7, 99, ~1, 1 << 3, 100, 0,    \
        00, 6 ? 7 : 8, 1, 2
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)
    static const int64_t items[] = {ITEMS};
    enum { COUNT = sizeof items / sizeof *items };
    static const struct {
        const char *type;
        unsigned bytes;
    } types[] = {{"u8", 1}, {"s8", 1}, {"b16", 2}, {"s32", 4}, {"u32", 4}, {"b64", 8}, {"s64", 8}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        char text[512];
        snprintf(text, sizeof text, HEADER ".global .%s x[2][%d] = {{7, 8}, {\n\t" TEXT(ITEMS) "}};\n",
                 types[t].type, COUNT);
        PtxModule *m = parse(text);
        const PtxVar *x = var(m, "x");
        assert_int_equal(x->ninits, 2 + COUNT);
        for (unsigned k = 0; k < COUNT; k++) {
            const PtxInit *init = &x->inits[2 + k];
            assert_int_equal(init->offset_bytes, (COUNT + k) * types[t].bytes);
            assert_int_equal(init->size_bytes, types[t].bytes);
            assert_int_equal(init->sym, 0);
            if (memcmp(&init->value, &items[k], types[t].bytes) !=
                0) /* the host has its lower bytes first, too */
                fail_msg("%s, item %u: %lld", types[t].type, k, (long long)init->value);
        }
        ptx_free(m);
    }
}

/* C's precedences and the conversions of PTX ISA 4.5.6. */
static void expressions(void **state) {
    (void)state;
    static const struct {
        const char *type, *text;
        uint64_t value;
    } cases[] = {
#define EXPRESSION(type, text, value) {#type, text, value},
#include "expressions.def"
#undef EXPRESSION
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, HEADER ".global .%s x = %s;\n", cases[i].type, cases[i].text);
        PtxModule *m = parse(text);
        if ((uint64_t)var(m, "x")->inits[0].value != cases[i].value)
            fail_msg("%s is %lld", cases[i].text, (long long)var(m, "x")->inits[0].value);
        ptx_free(m);
    }
}

static void kernel_parameters(void **state) {
    (void)state;
    PtxModule *module =
        parse(HEADER ".visible .entry k(.param .u32 a, .param .u64 .ptr .global .align 8 b, .param .u8 c,\n"
                     " .param .align 16 .b8 d[20], .param .u16 e)\n"
                     ".maxntid 128, 2 .maxnreg 40 .minnctapersm 3 { ret; }\n"
                     ".visible .entry r() .reqntid 64 { ret; }\n");
    const PtxFunc *f = func(module, "k");
    static const uint64_t offsets[] = {0, 8, 16, 32, 52};
    assert_int_equal(f->nparams, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(module->vars[f->params[i]].param_offset_bytes, offsets[i]);
    assert_true(module->vars[f->params[1]].is_pointer);
    assert_int_equal(module->vars[f->params[1]].pointee_space, SP_GLOBAL);
    assert_true(f->is_entry && f->has_body);
    assert_int_equal(f->linkage, LINK_VISIBLE);
    assert_int_equal(f->maxntid[0], 128);
    assert_int_equal(f->maxntid[1], 2);
    assert_int_equal(f->maxntid[2], 1);
    assert_int_equal(func(module, "r")->reqntid[0], 64);
    assert_int_equal(f->maxnreg, 40);
    assert_int_equal(f->minnctapersm, 3);
    ptx_free(module);
}

/* Ranges make registers when they are named; ids start at 1; inner scopes shadow. */
static void registers(void **state) {
    (void)state;
    PtxModule *m = parse(KERNEL(".reg .b32 %r<4294967295>, x; .reg .v2 .f32 v;\n"
                                "mov.u32 %r4000000000, 1;\nmov.u32 %r7, 2;\nmov.u32 %r4000000000, 3;\n"
                                "{ .reg .f64 %r<9>; mov.f64 %r7, 1.0; { mov.f64 %r7, 2.0; } }\n"
                                "mov.u32 %r7, x;\nadd.f32 v.y, v.x, v.y;"));
    const PtxFunc *f = func(m, "k");
    assert_int_equal(f->nregs, 7); /* 0, x, v.x, v.y, %r4000000000, %r7, inner %r7 */
    uint32_t outer = f->insns[1].operands[0].reg, inner = f->insns[3].operands[0].reg;
    assert_int_equal(f->insns[0].operands[0].reg, f->insns[2].operands[0].reg);
    assert_int_not_equal(outer, inner);
    assert_int_equal(f->insns[4].operands[0].reg, inner);
    assert_int_equal(f->insns[5].operands[0].reg, outer);
    assert_int_equal(f->regs[inner].type, TY_F64);
    assert_int_equal(f->regs[outer].type, TY_B32);
    assert_string_equal(text_of(m, f->regs[f->insns[6].operands[0].reg].name), "v.y");
    assert_int_equal(f->insns[6].operands[1].reg + 1, f->insns[6].operands[2].reg);
    ptx_free(m);
}

/* They are declared around everything, wherever they are named first: inner scopes shadow them as well. */
static void special_registers(void **state) {
    (void)state;
    PtxModule *m =
        parse(KERNEL("{ .reg .b32 %laneid; mov.u32 %laneid, 7; }\n.reg .b32 %r<3>;\nmov.u32 %r1, %laneid;\n"
                     "mov.u32 %r2, %envreg31;\n{ .reg .b32 %envreg31; mov.u32 %envreg31, 8; }"));
    const PtxInsn *in = func(m, "k")->insns;
    assert_int_equal(in[0].operands[0].kind, PO_REG);
    assert_int_equal(in[1].operands[1].kind, PO_SREG);
    assert_int_equal(in[1].operands[1].sreg, SR_LANEID);
    assert_int_equal(in[2].operands[1].sreg, SR_ENVREG);
    assert_int_equal(in[2].operands[1].component, 31);
    assert_int_equal(in[3].operands[0].kind, PO_REG);
    ptx_free(m);
}

static void labels(void **state) {
    (void)state;
    PtxModule *m = parse(KERNEL(".reg .pred %p; .reg .b32 %i;\nL: @%p bra L;\n{ bra L; L: @!%p bra.uni L; }\n"
                                "T: .branchtargets L, M;\nbrx.idx %i, T;\nM:"));
    const PtxFunc *f = func(m, "k");
    assert_int_equal(f->nlabels, 3);
    uint32_t outer = f->insns[0].operands[0].label, inner = f->insns[1].operands[0].label;
    assert_int_equal(f->labels[outer].insn, 0);
    assert_int_equal(f->labels[inner].insn, 2);
    assert_int_equal(f->insns[2].operands[0].label, inner);
    assert_true(f->insns[2].guard_not && f->insns[2].flags & PF_UNI);
    assert_int_equal(f->insns[3].table, 1);
    assert_int_equal(f->branch_tables[0].n, 2);
    assert_int_equal(f->branch_tables[0].labels[0], outer);
    assert_int_equal(f->labels[f->branch_tables[0].labels[1]].insn, 4);
    ptx_free(m);
}

static void calls(void **state) {
    (void)state;
    PtxModule *module = parse(
        HEADER ".func (.param .b32 r) f(.param .b32 a, .param .b8 s[4]);\n.func g(.reg .u32 x) { ret; }\n"
               ".entry k()\n{ .reg .b64 %d; .param .b32 a, r; .param .b8 s[4];\n"
               "call (r), f, (a, s);\ncall.uni (_), f, (5, s);\n"
               "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b8 _[4]);\n"
               "call (r), %d, (a, s), P;\nQ: .calltargets f;\ncall (r), %d, (a, s), Q; ret; }\n");
    const PtxFunc *k = func(module, "k");
    assert_int_equal(k->insns[0].callee, ptx_find_func(module, "f"));
    assert_int_equal(k->insns[0].nrets, 1);
    assert_int_equal(k->insns[0].nargs, 2);
    assert_int_equal(k->insns[0].args[1].kind, PO_SYM);
    assert_int_equal(module->vars[k->insns[0].args[1].sym - 1].size_bytes, 4);
    assert_int_equal(k->insns[1].rets[0].kind, PO_SINK);
    assert_int_equal(k->insns[1].args[0].imm, 5);
    assert_int_equal(k->insns[2].callee, 0);
    assert_int_equal(k->insns[2].table, 1);
    assert_int_equal(k->insns[2].operands[0].kind, PO_REG);
    assert_int_equal(k->call_tables[0].nparams, 2);
    assert_int_equal(k->insns[3].table, 2);
    assert_int_equal(k->call_tables[1].funcs[0], ptx_find_func(module, "f") - 1);
    const PtxFunc *ptx_func = func(module, "g");
    assert_int_equal(module->vars[ptx_func->params[0]].space, SP_REG);
    assert_int_equal(ptx_func->param_regs[0], 1);
    assert_int_equal(ptx_func->regs[1].type, TY_U32);
    ptx_free(module);
}

static void prototype_then_definition(void **state) {
    (void)state;
    PtxModule *module =
        parse(HEADER ".visible .func f(.param .b32 a);\n.func g() { .param .b32 x; call f, (x); ret; }\n"
                     ".func f(.param .b32 b) { .reg .b32 %r; ld.param.b32 %r, [b]; ret; }\n");
    assert_int_equal(module->nfuncs, 2);
    const PtxFunc *f = func(module, "f");
    assert_true(f->has_body);
    assert_int_equal(f->linkage, LINK_VISIBLE);
    assert_string_equal(text_of(module, module->vars[f->params[0]].name), "b");
    assert_int_equal(f->insns[0].operands[1].sym, f->params[0] + 1);
    ptx_free(module);
}

static void debug_information(void **state) {
    (void)state;
    PtxModule *module =
        parse(HEADER ".file 1 \"a.cu\"\n.file 3 \"b.h\", 1, 2\n.func f() {\n.loc 1 10 5\ntrap;\ntrap;\n"
                     ".loc 3 20 1, function_name name, inlined_at 1 10 5\nret;\n}\n"
                     ".section .debug_str { name: .b8 1, 2 /* } */\n}\n");
    const PtxFunc *f = func(module, "f");
    assert_int_equal(module->nfiles, 4);
    assert_string_equal(text_of(module, module->files[3]), "b.h");
    assert_int_equal(module->files[2].i, 0);
    assert_int_equal(f->insns[0].line, f->insns[1].line);
    const PtxLine *l = &f->lines[f->insns[2].line - 1];
    assert_int_equal(l->file, 3);
    assert_int_equal(l->line, 20);
    assert_int_equal(l->inlined_at, f->insns[0].line);
    assert_string_equal(text_of(module, l->function_name), "name");
    assert_int_equal(ptx_line(module, &f->insns[1]), 9);
    assert_int_equal(module->nsections, 1);
    assert_non_null(memmem(module->sections[0].text, module->sections[0].size_bytes, ".b8 1, 2", 8));
    ptx_free(module);
}

/* A decimal fraction is read the same wherever the program runs. */
static void foreign_locale(void **state) {
    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where it is not installed this changes nothing */
    PtxModule *m = parse(HEADER ".global .f32 x = 1.5;\n");
    assert_int_equal(var(m, "x")->inits[0].value, 0x3FC00000);
    setlocale(LC_ALL, "C");
    ptx_free(m);
}

/* The message of the design document, to the letter. */
static void message(void **state) {
    (void)state;
    Said said = {0};
    Diags d = {.sink = hear, .user = &said};
    const char *text =
        HEADER ".entry k()\n{\n\t.reg .s32 %r<3>; .reg .f32 %f<3>;\n\n    add.s32 %r1, %f1, %r2;\n}\n";
    assert_null(ptx_parse("k.ptx", text, strlen(text), &d));
    assert_string_equal(said.text, "k.ptx:8:18: error E0104: operand 2 of add.s32 must be .s32, %f1 is .f32 "
                                   "(PTX ISA 9.7.1.1 add; register %f1; function k)\n"
                                   "    add.s32 %r1, %f1, %r2;\n                 ^\n");
    assert_int_equal(d.nerrors, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header),
        cmocka_unit_test(variables),
        cmocka_unit_test(initialisers),
        cmocka_unit_test(lists),
        cmocka_unit_test(expressions),
        cmocka_unit_test(kernel_parameters),
        cmocka_unit_test(registers),
        cmocka_unit_test(special_registers),
        cmocka_unit_test(labels),
        cmocka_unit_test(calls),
        cmocka_unit_test(prototype_then_definition),
        cmocka_unit_test(debug_information),
        cmocka_unit_test(message),
        cmocka_unit_test(foreign_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
