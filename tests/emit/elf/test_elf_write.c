/* The writer, from an encoded module made by hand: variables with initialisers and addresses, relocations in
 * code, launch bounds, the map to PTX; on bru1 and on native targets in both header forms.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include "emit/code.h"
#include "emit/elf/image.h"
#include "emit/elf/nvinfo.h"
#include "frontend/ast.h"

static const char ptx_text[] = ".version 7.0\n"
                               ".target sm_80\n"
                               ".address_size 64\n"
                               ".global .align 4 .u32 table[4] = {1, 2, 0x30000, 4};\n"
                               ".global .align 8 .u64 zeros[2];\n"
                               ".global .align 8 .u64 link = table;\n"
                               ".const .align 4 .u32 bank[2] = {7, 8};\n"
                               ".visible .entry k(.param .u64 p, .param .u16 n)\n"
                               ".maxntid 256, 1, 1\n"
                               ".minnctapersm 2\n"
                               "{\n"
                               "  .reg .u64 %rd<3>;\n"
                               "  ld.param.u64 %rd1, [p];\n"
                               "  ret;\n"
                               "}\n";

typedef struct {
    Messages m;
    Diags d;
    Arena a;
    StrTab strings;
    PtxModule *ptx;
    IrModule *ir;
    CodeModule code;
    CodeFunc f;
    LocId locs[4];
    struct CodeVarRow row;
} Made;

static void add_var(Made *x, const char *name, PtxSpace space, uint64_t offset) {
    uint32_t index = ptx_find_var(x->ptx, name);
    assert_int_not_equal(index, 0);
    const PtxVar *v = &x->ptx->vars[index - 1];
    VEC_ADD(&x->ir->arena, &x->ir->vars,
            ((IrVar){.name = str_intern_z(&x->strings, name),
                     .linkage = v->linkage,
                     .space = (uint8_t)space,
                     .align_bytes = v->align_bytes,
                     .size_bytes = v->size_bytes,
                     .offset_bytes = offset,
                     .ptx = v}));
}

static void add_inst(Made *x, const char *text) {
    MachInst in;
    char error[ISA_ERROR_BYTES] = "";
    const char *end;
    IsaParseOptions opt = {0};
    if (!isa_parse(x->ir->target, text, x->f.ninsts * 16u, &opt, &in, &end, error) ||
        !isa_encode(x->ir->target, &in, x->f.words[x->f.ninsts++], error))
        fail_msg("%s: %s", text, error);
}

static void make(Made *x, const char *target) {
    *x = (Made){.d = {.sink = collect}};
    x->d.user = &x->m;
    x->ptx = ptx_parse("k.ptx", ptx_text, sizeof ptx_text - 1, &x->d);
    if (!x->ptx)
        fail_msg("%s", x->m.text);
    x->ir = ir_module_new(isa_target(target), &x->strings);
    x->ir->ptx = x->ptx;
    add_var(x, "table", SP_GLOBAL, 0);
    add_var(x, "zeros", SP_GLOBAL, 0);
    add_var(x, "link", SP_GLOBAL, 0);
    add_var(x, "bank", SP_CONST, 8);
    x->ir->const_bytes = 16;
    Function *f = ir_function_new(x->ir, str_intern_z(&x->strings, "k"), true);
    f->ptx = &x->ptx->funcs[ptx_find_func(x->ptx, "k") - 1];
    VEC_ADD(f->arena, &f->locs, ((Loc){1, f->ptx->insns[0].loc, 0}));
    x->f = (CodeFunc){.name = f->name,
                      .ir = f,
                      .is_entry = true,
                      .nregs = 10,
                      .param_bytes = 10,
                      .frame_bytes = 16,
                      .stack_bytes = 48,
                      .nbarriers = 2};
    x->f.words = arena_alloc(&x->a, 4 * sizeof *x->f.words);
    add_inst(x, "MOV R4, 0x0");
    add_inst(x, "MOV R5, 0x0");
    add_inst(x, "EXIT");
    x->locs[0].i = f->locs.n - 1;
    x->f.locs = x->locs;
    uint32_t rd1 = 0;
    for (uint32_t i = 1; i < f->ptx->nregs; i++)
        if (strcmp(str_text(&x->ptx->strings, f->ptx->regs[i].name), "%rd1") == 0)
            rd1 = i;
    x->row = (struct CodeVarRow){16, 48, rd1, 1, RF_R, 5};
    x->f.var_rows = &x->row;
    x->f.nvar_rows = 1;
    StrId zeros = str_intern_z(&x->strings, "zeros");
    VEC_ADD(&x->a, &x->f.relocs, ((CodeReloc){0, RELOC_ABS32_LO, zeros, 8}));
    VEC_ADD(&x->a, &x->f.relocs, ((CodeReloc){16, RELOC_ABS32_HI, zeros, 8}));
    x->code = (CodeModule){.ir = x->ir, .funcs = &x->f, .nfuncs = 1};
}

static void unmake(Made *x) {
    ir_module_free(x->ir);
    ptx_free(x->ptx);
    str_free(&x->strings);
    arena_free(&x->a);
}

static Binary *write_and_read(Made *x, const ElfOptions *opt) {
    void *image;
    size_t size;
    if (!elf_write_with(&x->code, opt, &image, &size, &x->d))
        fail_msg("%s", x->m.text);
    Binary *b = binary_read("k.cubin", image, size, &x->d);
    free(image);
    if (!b)
        fail_msg("%s", x->m.text);
    return b;
}

static uint32_t var_index(const Binary *b, const char *name) {
    for (uint32_t i = 0; i < b->nvars; i++)
        if (strcmp(b->vars[i].name, name) == 0)
            return i;
    fail_msg("no variable %s", name);
    return 0;
}

static void test_variables(void **state) {
    (void)state;
    Made x;
    make(&x, "bru1");
    Binary *b = write_and_read(&x, &(ElfOptions){0});
    const BinVar *table = &b->vars[var_index(b, "table")], *bank = &b->vars[var_index(b, "bank")];
    static const uint8_t table_bytes[16] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0};
    assert_int_equal(table->size_bytes, 16);
    assert_memory_equal(table->init, table_bytes, 16);
    assert_null(b->vars[var_index(b, "zeros")].init);
    assert_int_equal(bank->space, 1);
    assert_int_equal(bank->offset_bytes, 8);
    assert_int_equal(b->const_bank3_bytes, 16);
    assert_int_equal(b->const_bank3[8], 7);
    assert_int_equal(b->const_bank3[12], 8);
    binary_free(b);
    unmake(&x);
}

static void test_fixups(void **state) {
    (void)state;
    Made x;
    make(&x, "bru1");
    Binary *b = write_and_read(&x, &(ElfOptions){0});
    unsigned code = 0, data = 0;
    for (uint32_t i = 0; i < b->nfixups; i++) {
        const BinFixup *f = &b->fixups[i];
        if (f->in_code) {
            code++;
            assert_int_equal(f->kind, f->offset_bytes == 0 ? RELOC_ABS32_LO : RELOC_ABS32_HI);
            assert_int_equal(f->target, var_index(b, "zeros"));
            assert_int_equal(f->addend, 8);
        } else {
            data++;
            assert_int_equal(f->kind, RELOC_ABS64);
            assert_int_equal(f->var, var_index(b, "link"));
            assert_int_equal(f->offset_bytes, 0);
            assert_int_equal(f->target, var_index(b, "table"));
        }
    }
    assert_int_equal(code, 2);
    assert_int_equal(data, 1);
    binary_free(b);
    unmake(&x);
}

static void test_kernel_facts(void **state) {
    (void)state;
    static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets * 2; i++) {
        Made x;
        make(&x, targets[i / 2]);
        Binary *b = write_and_read(&x, &(ElfOptions){.new_form = i % 2});
        const BinFunc *k = binary_find(b, "k");
        uint32_t base = strcmp(targets[i / 2], "sm_90") == 0 ? 0x210 : 0x160;
        assert_string_equal(isa_target_name(b->target), targets[i / 2]);
        assert_true(k->is_entry);
        assert_int_equal(k->nregs, 10);
        assert_int_equal(k->frame_bytes, 16);
        assert_int_equal(k->stack_bytes, 48);
        assert_int_equal(k->nbarriers, 2);
        assert_int_equal(k->param_base, base);
        assert_int_equal(k->param_bytes, 10);
        assert_int_equal(k->nparams, 2);
        assert_int_equal(k->params[1].offset_bytes, 8);
        assert_int_equal(k->params[1].size_bytes, 2);
        assert_int_equal(k->maxntid[0], 256);
        assert_int_equal(k->maxntid[1], 1);
        binary_free(b);
        unmake(&x);
    }
}

/* Fields that NVIDIA's tools look at; numbers from the format description. */
static void test_native_header(void **state) {
    (void)state;
    for (int new_form = 0; new_form < 2; new_form++) {
        Made x;
        void *image;
        size_t size;
        make(&x, "sm_86");
        assert_true(elf_write_with(&x.code, &(ElfOptions){.new_form = new_form}, &image, &size, &x.d));
        Arena a = {0};
        ElfImage *e = elfimg_read(&a, image, size, &x.d);
        assert_non_null(e);
        assert_int_equal(e->h.e_machine, 190);
        assert_int_equal(e->h.e_ident[EI_OSABI], new_form ? 0x41 : 0x33);
        assert_int_equal(e->h.e_ident[EI_ABIVERSION], new_form ? 8 : 7);
        assert_int_equal(e->h.e_flags, new_form ? 0x06005604 : 0x00560556);
        assert_int_equal(e->h.e_version, new_form ? 1 : 111);
        const ElfSection *text = &e->sections.at[elfimg_find(e, ".text.k")];
        assert_int_equal(text->h.sh_info >> 24, 10);
        assert_int_equal(text->h.sh_flags, new_form ? 6 : 0x200006); /* barriers << 20 */
        assert_int_equal(text->h.sh_addralign, 128);
        const ElfSection *info = &e->sections.at[elfimg_find(e, ".nv.info.k")];
        size_t pos = 0;
        NvAttr n;
        bool cap = false;
        while (nvinfo_next(info->data, info->h.sh_size, &pos, &n))
            cap |= n.code == NV_MAXREG_COUNT && n.value == 0x80; /* maxntid 256, minnctapersm 2 */
        assert_true(cap);
        arena_free(&a);
        free(image);
        unmake(&x);
    }
}

static void test_map(void **state) {
    (void)state;
    Made x;
    make(&x, "bru1");
    Binary *b = write_and_read(&x, &(ElfOptions){0});
    const BinFunc *k = binary_find(b, "k");
    assert_string_equal(b->ptx_name, "k.ptx");
    assert_int_equal(b->ptx_text_bytes, sizeof ptx_text - 1);
    assert_memory_equal(b->ptx_text, ptx_text, sizeof ptx_text - 1);
    assert_non_null(k->locs);
    assert_int_equal(k->locs[0].ptx_insn, 1);
    assert_int_equal(k->locs[0].ptx_line, 13); /* ld.param */
    assert_int_equal(k->locs[0].ptx_column, 3);
    assert_int_equal(k->locs[1].ptx_line, 0);
    assert_int_equal(k->nvars, 1);
    assert_string_equal(k->vars[0].ptx_name, "%rd1");
    assert_int_equal(k->vars[0].lo_bytes, 16);
    assert_int_equal(k->vars[0].reg, 5);
    assert_int_equal(k->vars[0].component, 1);
    binary_free(b);
    b = write_and_read(&x, &(ElfOptions){.no_map = true, .no_ptx = true});
    assert_null(b->ptx_name);
    assert_null(b->ptx_text);
    assert_null(binary_find(b, "k")->locs);
    binary_free(b);
    unmake(&x);
}

static void test_errors(void **state) {
    (void)state;
    Made x;
    void *image;
    size_t size;
    make(&x, "bru1");
    VEC_ADD(&x.a, &x.f.relocs, ((CodeReloc){32, RELOC_CALL_REL, str_intern_z(&x.strings, "vprintf"), 0}));
    assert_false(elf_write(&x.code, &image, &size, &x.d));
    assert_non_null(strstr(x.m.text, "E0412"));
    assert_non_null(strstr(x.m.text, "vprintf"));
    unmake(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),    cmocka_unit_test(test_fixups),
        cmocka_unit_test(test_kernel_facts), cmocka_unit_test(test_native_header),
        cmocka_unit_test(test_map),          cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
