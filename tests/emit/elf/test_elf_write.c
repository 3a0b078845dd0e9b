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

static void add_var(Made *made, const char *name, PtxSpace space, uint64_t offset) {
    uint32_t index = ptx_find_var(made->ptx, name);
    assert_int_not_equal(index, 0);
    const PtxVar *var = &made->ptx->vars[index - 1];
    VEC_ADD(&made->ir->arena, &made->ir->vars,
            ((IrVar){.name = str_intern_z(&made->strings, name),
                     .linkage = var->linkage,
                     .space = (uint8_t)space,
                     .align_bytes = var->align_bytes,
                     .size_bytes = var->size_bytes,
                     .offset_bytes = offset,
                     .ptx = var}));
}

static void add_inst(Made *made, const char *text) {
    MachInst in;
    char error[ISA_ERROR_BYTES] = "";
    const char *end;
    IsaParseOptions opt = {0};
    if (!isa_parse(made->ir->target, text, made->f.ninsts * 16u, &opt, &in, &end, error) ||
        !isa_encode(made->ir->target, &in, made->f.words[made->f.ninsts++], error))
        fail_msg("%s: %s", text, error);
}

static void make(Made *made, const char *target) {
    *made = (Made){.d = {.sink = collect}};
    made->d.user = &made->m;
    made->ptx = ptx_parse("k.ptx", ptx_text, sizeof ptx_text - 1, &made->d);
    if (!made->ptx)
        fail_msg("%s", made->m.text);
    made->ir = ir_module_new(isa_target(target), &made->strings);
    made->ir->ptx = made->ptx;
    add_var(made, "table", SP_GLOBAL, 0);
    add_var(made, "zeros", SP_GLOBAL, 0);
    add_var(made, "link", SP_GLOBAL, 0);
    add_var(made, "bank", SP_CONST, 8);
    made->ir->const_bytes = 16;
    Function *f = ir_function_new(made->ir, str_intern_z(&made->strings, "k"), true);
    f->ptx = &made->ptx->funcs[ptx_find_func(made->ptx, "k") - 1];
    VEC_ADD(f->arena, &f->locs, ((Loc){.ptx_insn = 1, .src = f->ptx->insns[0].loc}));
    made->f = (CodeFunc){.name = f->name,
                         .ir = f,
                         .is_entry = true,
                         .nregs = 10,
                         .param_bytes = 10,
                         .frame_bytes = 16,
                         .stack_bytes = 48,
                         .nbarriers = 2};
    made->f.words = arena_alloc(&made->a, 4 * sizeof *made->f.words);
    add_inst(made, "MOV R4, 0x0");
    add_inst(made, "MOV R5, 0x0");
    add_inst(made, "EXIT");
    made->locs[0].i = f->locs.n - 1;
    made->f.locs = made->locs;
    uint32_t rd1 = 0;
    for (uint32_t i = 1; i < f->ptx->nregs; i++)
        if (strcmp(str_text(&made->ptx->strings, f->ptx->regs[i].name), "%rd1") == 0)
            rd1 = i;
    made->row = (struct CodeVarRow){16, 48, rd1, 1, RF_R, 5};
    made->f.var_rows = &made->row;
    made->f.nvar_rows = 1;
    StrId zeros = str_intern_z(&made->strings, "zeros");
    VEC_ADD(&made->a, &made->f.relocs, ((CodeReloc){0, RELOC_ABS32_LO, zeros, 8}));
    VEC_ADD(&made->a, &made->f.relocs, ((CodeReloc){16, RELOC_ABS32_HI, zeros, 8}));
    made->code = (CodeModule){.ir = made->ir, .funcs = &made->f, .nfuncs = 1};
}

static void unmake(Made *made) {
    ir_module_free(made->ir);
    ptx_free(made->ptx);
    str_free(&made->strings);
    arena_free(&made->a);
}

static Binary *write_and_read(Made *made, const ElfOptions *opt) {
    void *image;
    size_t size;
    if (!elf_write_with(&made->code, opt, &image, &size, &made->d))
        fail_msg("%s", made->m.text);
    Binary *b = binary_read("k.cubin", image, size, &made->d);
    free(image);
    if (!b)
        fail_msg("%s", made->m.text);
    return b;
}

static uint32_t var_index(const Binary *binary, const char *name) {
    for (uint32_t i = 0; i < binary->nvars; i++)
        if (strcmp(binary->vars[i].name, name) == 0)
            return i;
    fail_msg("no variable %s", name);
    return 0;
}

static void test_variables(void **state) {
    (void)state;
    Made x;
    make(&x, "bru1");
    Binary *binary = write_and_read(&x, &(ElfOptions){0});
    const BinVar *table = &binary->vars[var_index(binary, "table")],
                 *bank = &binary->vars[var_index(binary, "bank")];
    static const uint8_t table_bytes[16] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0};
    assert_int_equal(table->size_bytes, 16);
    assert_memory_equal(table->init, table_bytes, 16);
    assert_null(binary->vars[var_index(binary, "zeros")].init);
    assert_int_equal(bank->space, 1);
    assert_int_equal(bank->offset_bytes, 8);
    assert_int_equal(binary->const_bank3_bytes, 16);
    assert_int_equal(binary->const_bank3[8], 7);
    assert_int_equal(binary->const_bank3[12], 8);
    binary_free(binary);
    unmake(&x);
}

static void test_fixups(void **state) {
    (void)state;
    Made x;
    make(&x, "bru1");
    Binary *binary = write_and_read(&x, &(ElfOptions){0});
    unsigned code = 0, data = 0;
    for (uint32_t i = 0; i < binary->nfixups; i++) {
        const BinFixup *fixup = &binary->fixups[i];
        if (fixup->in_code) {
            code++;
            assert_int_equal(fixup->kind, fixup->offset_bytes == 0 ? RELOC_ABS32_LO : RELOC_ABS32_HI);
            assert_int_equal(fixup->target, var_index(binary, "zeros"));
            assert_int_equal(fixup->addend, 8);
        } else {
            data++;
            assert_int_equal(fixup->kind, RELOC_ABS64);
            assert_int_equal(fixup->var, var_index(binary, "link"));
            assert_int_equal(fixup->offset_bytes, 0);
            assert_int_equal(fixup->target, var_index(binary, "table"));
        }
    }
    assert_int_equal(code, 2);
    assert_int_equal(data, 1);
    binary_free(binary);
    unmake(&x);
}

static void test_kernel_facts(void **state) {
    (void)state;
    static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets * 2; i++) {
        Made x;
        make(&x, targets[i / 2]);
        Binary *binary = write_and_read(&x, &(ElfOptions){.old_form = i % 2});
        const BinFunc *func = binary_find(binary, "k");
        uint32_t base = strncmp(targets[i / 2], "sm_90", 5) == 0 ? 0x210 : 0x160;
        assert_string_equal(isa_target_name(binary->target), targets[i / 2]);
        assert_true(func->is_entry);
        assert_int_equal(func->nregs, 10);
        assert_int_equal(func->frame_bytes, 16);
        assert_int_equal(func->stack_bytes, 48);
        assert_int_equal(func->nbarriers, 2);
        assert_int_equal(func->param_base, base);
        assert_int_equal(func->param_bytes, 10);
        assert_int_equal(func->nparams, 2);
        assert_int_equal(func->params[1].offset_bytes, 8);
        assert_int_equal(func->params[1].size_bytes, 2);
        assert_int_equal(func->maxntid[0], 256);
        assert_int_equal(func->maxntid[1], 1);
        binary_free(binary);
        unmake(&x);
    }
}

/* Fields that NVIDIA's tools look at; numbers from the format description. */
static void test_native_header(void **state) {
    (void)state;
    for (int old_form = 0; old_form < 2; old_form++) {
        Made x;
        void *image;
        size_t size;
        make(&x, "sm_86");
        assert_true(elf_write_with(&x.code, &(ElfOptions){.old_form = old_form}, &image, &size, &x.d));
        Arena a = {0};
        ElfImage *elf_image = elf_image_read(&a, image, size, &x.d);
        assert_non_null(elf_image);
        assert_int_equal(elf_image->h.e_machine, 190);
        assert_int_equal(elf_image->h.e_ident[EI_OSABI], old_form ? 0x33 : 0x41);
        assert_int_equal(elf_image->h.e_ident[EI_ABIVERSION], old_form ? 7 : 8);
        assert_int_equal(elf_image->h.e_flags, old_form ? 0x00560556 : 0x06005604);
        assert_int_equal(elf_image->h.e_version, old_form ? 111 : 1);
        const ElfSection *text = &elf_image->sections.at[elf_image_find(elf_image, ".text.k")];
        assert_int_equal(text->h.sh_info >> 24, 10);
        assert_int_equal(text->h.sh_flags, old_form ? 0x200006 : 6); /* barriers << 20 */
        assert_int_equal(text->h.sh_addralign, 128);
        const ElfSection *info = &elf_image->sections.at[elf_image_find(elf_image, ".nv.info.k")];
        size_t pos = 0;
        NvAttr n;
        bool cap = false;
        while (elf_nvinfo_next(info->data, info->h.sh_size, &pos, &n))
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
    Binary *binary = write_and_read(&x, &(ElfOptions){0});
    const BinFunc *func = binary_find(binary, "k");
    assert_string_equal(binary->ptx_name, "k.ptx");
    assert_int_equal(binary->ptx_text_bytes, sizeof ptx_text - 1);
    assert_memory_equal(binary->ptx_text, ptx_text, sizeof ptx_text - 1);
    assert_non_null(func->locs);
    assert_int_equal(func->locs[0].ptx_insn, 1);
    assert_int_equal(func->locs[0].ptx_line, 13); /* ld.param */
    assert_int_equal(func->locs[0].ptx_column, 3);
    assert_int_equal(func->locs[1].ptx_line, 0);
    assert_int_equal(func->nvars, 1);
    assert_string_equal(func->vars[0].ptx_name, "%rd1");
    assert_int_equal(func->vars[0].lo_bytes, 16);
    assert_int_equal(func->vars[0].reg, 5);
    assert_int_equal(func->vars[0].component, 1);
    binary_free(binary);
    binary = write_and_read(&x, &(ElfOptions){.no_map = true, .no_ptx = true});
    assert_null(binary->ptx_name);
    assert_null(binary->ptx_text);
    assert_null(binary_find(binary, "k")->locs);
    binary_free(binary);
    unmake(&x);
}

/* A kernel that the PTX does not show is the file's own, in front of what others see (as of ptxas 13.0). */
static void test_hidden_kernel(void **state) {
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++)
        for (int relocatable = 0; relocatable < 2; relocatable++) {
            Made x;
            void *image;
            size_t size;
            make(&x, "sm_86");
            PtxFunc *kernel = &x.ptx->funcs[ptx_find_func(x.ptx, "k") - 1];
            kernel->linkage = hidden ? LINK_NONE : LINK_VISIBLE;
            assert_true(
                elf_write_with(&x.code, &(ElfOptions){.relocatable = relocatable}, &image, &size, &x.d));
            Arena a = {0};
            ElfImage *elf = elf_image_read(&a, image, size, &x.d);
            assert_non_null(elf);
            const ElfSection *text = &elf->sections.at[elf_image_find(elf, ".text.k")];
            const ElfSection *symbols = &elf->sections.at[elf_image_find(elf, ".symtab")];
            uint32_t number = text->h.sh_info & 0xffffff;
            Elf64_Sym symbol;
            assert_true((number + 1) * sizeof symbol <= symbols->h.sh_size);
            memcpy(&symbol, symbols->data + number * sizeof symbol, sizeof symbol);
            assert_int_equal(ELF64_ST_TYPE(symbol.st_info), STT_FUNC);
            assert_int_equal(ELF64_ST_BIND(symbol.st_info), hidden ? STB_LOCAL : STB_GLOBAL);
            assert_int_equal(number < symbols->h.sh_info, hidden);
            arena_free(&a);
            free(image);
            unmake(&x);
        }
    Made x;
    make(&x, "sm_86");
    x.ptx->funcs[ptx_find_func(x.ptx, "k") - 1].linkage = LINK_NONE;
    Binary *binary = write_and_read(&x, &(ElfOptions){0});
    const BinFunc *f = binary_find(binary, "k");
    assert_true(f && f->is_entry && f->nparams == 2);
    binary_free(binary);
    unmake(&x);
}

static void test_errors(void **state) {
    (void)state;
    Made x;
    void *image;
    size_t size;
    make(&x, "bru1");
    VEC_ADD(&x.a, &x.f.relocs, ((CodeReloc){32, RELOC_CALL_REL, str_intern_z(&x.strings, "nowhere"), 0}));
    assert_false(elf_write(&x.code, &image, &size, &x.d));
    assert_non_null(strstr(x.m.text, "E0412"));
    assert_non_null(strstr(x.m.text, "nowhere"));
    unmake(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),    cmocka_unit_test(test_fixups),
        cmocka_unit_test(test_kernel_facts), cmocka_unit_test(test_native_header),
        cmocka_unit_test(test_map),          cmocka_unit_test(test_errors),
        cmocka_unit_test(test_hidden_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
