/* Module variables in the ELF file, for random declarations: symbols are aligned as PTX says, lie apart and
 * within their sections, have the binding of their linkage, and sections hold the bytes of the initialisers.
 * What is expected comes from the generator and the tables of PTX ISA, 5.1 to 5.4. The file is read by
 * libelf. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "tools/jobs/driver.h"
#include <libelf.h>
#include <stdio.h>
#include <string.h>

enum { NVARS = 12, MOST_BYTES = 4096 };

typedef struct {
    char name[8];
    unsigned element, align, binding;
    uint64_t size;
    bool init, constant, found;
    uint8_t bytes[MOST_BYTES];
    Elf64_Sym symbol;
} Var;

typedef struct {
    uint64_t rng;
    char text[1 << 16];
    size_t used;
    Var vars[NVARS];
} Module;

static unsigned below(Module *m, unsigned n) { return (unsigned)(rng_next(&m->rng) % n); }

__attribute__((format(printf, 2, 3))) static void say(Module *m, const char *format, ...) {
    va_list list;
    va_start(list, format);
    m->used += (size_t)vsnprintf(m->text + m->used, sizeof m->text - m->used, format, list);
    va_end(list);
}

static void number(Module *m, Var *var, uint64_t at) {
    uint64_t v = rng_next(&m->rng) >> (64 - 8 * var->element);
    for (unsigned k = 0; k < var->element; k++)
        var->bytes[at + k] = (uint8_t)(v >> 8 * k);
    say(m, "0x%llxU", (unsigned long long)v);
}

static void declare(Module *m, unsigned k) {
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"u8", 1}, {"s16", 2}, {"b16", 2}, {"u32", 4}, {"s32", 4}, {"u64", 8}, {"b64", 8}};
    static const struct {
        const char *text;
        unsigned binding;
    } linkages[] = {{"", STB_LOCAL}, {".visible ", STB_GLOBAL}, {".weak ", STB_WEAK}};
    Var *var = &m->vars[k];
    unsigned t = below(m, sizeof types / sizeof *types), l = below(m, 3), shape = below(m, 4);
    unsigned vector = shape != 3 ? 1 : types[t].bytes < 8 ? 2u << below(m, 2) : 2;
    uint64_t count = shape == 1 || shape == 2 ? 1 + below(m, 40) : 1, given = vector;
    var->element = types[t].bytes;
    var->size = count * vector * var->element;
    var->align = vector * var->element;
    var->binding = linkages[l].binding;
    var->constant = below(m, 3) == 0;
    var->init = below(m, 2);
    snprintf(var->name, sizeof var->name, "v%u", k);
    say(m, "%s.%s ", linkages[l].text, var->constant ? "const" : "global");
    if (below(m, 2))
        say(m, ".align %u ", var->align = 1u << below(m, 11));
    if (vector > 1)
        say(m, ".v%u ", vector);
    say(m, ".%s %s", types[t].name, var->name);
    if (shape == 1 || shape == 2) {
        say(m, "[%u]", (unsigned)count);
        given = 1 + below(m, (unsigned)count); /* the others are zero */
    }
    for (uint64_t n = 0; var->init && n < given; n++) {
        say(m, n ? ", " : shape ? " = {" : " = ");
        number(m, var, n * var->element);
    }
    say(m, "%s;\n", var->init && shape ? "}" : "");
}

static void look(Elf *elf, Module *m) {
    for (Elf_Scn *table = elf_nextscn(elf, NULL); table; table = elf_nextscn(elf, table)) {
        const Elf64_Shdr *header = elf64_getshdr(table);
        const Elf_Data *data = elf_rawdata(table, NULL);
        for (size_t n = 0; header->sh_type == SHT_SYMTAB && n < data->d_size / sizeof(Elf64_Sym); n++) {
            const Elf64_Sym *symbol = (const Elf64_Sym *)data->d_buf + n;
            const char *name = elf_strptr(elf, header->sh_link, symbol->st_name);
            for (unsigned k = 0; k < NVARS; k++)
                if (name && strcmp(name, m->vars[k].name) == 0) {
                    assert_false(m->vars[k].found);
                    m->vars[k].found = true;
                    m->vars[k].symbol = *symbol;
                }
        }
    }
}

static void check_var(Elf *elf, const Module *m, unsigned k) {
    const Var *var = &m->vars[k];
    const Elf64_Sym *symbol = &var->symbol;
    assert_true(var->found);
    assert_int_equal(ELF64_ST_TYPE(symbol->st_info), STT_OBJECT);
    assert_int_equal(ELF64_ST_BIND(symbol->st_info), var->binding);
    assert_int_equal(symbol->st_size, var->size);
    assert_int_equal(symbol->st_value % var->align, 0);
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    assert_non_null(section);
    const Elf64_Shdr *header = elf64_getshdr(section);
    assert_true(header->sh_addralign % var->align == 0);
    assert_true(symbol->st_value + var->size <= header->sh_size);
    if (header->sh_type == SHT_NOBITS) {
        assert_false(var->init || var->constant);
    } else {
        const Elf_Data *data = elf_rawdata(section, NULL);
        assert_memory_equal((const uint8_t *)data->d_buf + symbol->st_value, var->bytes, var->size);
    }
    for (unsigned n = 0; n < k; n++) {
        const Elf64_Sym *other = &m->vars[n].symbol;
        assert_true(other->st_shndx != symbol->st_shndx ||
                    other->st_value + other->st_size <= symbol->st_value ||
                    symbol->st_value + symbol->st_size <= other->st_value);
    }
}

static void print_diag(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    print_error("%s\n", line);
}

static void random_modules(void **state) {
    (void)state;
    static Module m;
    static const char *const targets[] = {"bru1", "sm_75", "sm_90"};
    assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
    for (unsigned round = 0; round < 120; round++) {
        m = (Module){.rng = round};
        say(&m, ".version 8.0\n.target sm_75\n.address_size 64\n");
        for (unsigned k = 0; k < NVARS; k++)
            declare(&m, k);
        say(&m, ".visible .entry k()\n{\n ret;\n}\n");
        Diags d = {.sink = print_diag};
        PtxModule *ptx = ptx_parse("k.ptx", m.text, m.used, &d);
        Compilation c = {0};
        DriverOptions options = {.target = isa_target(targets[round % 3])};
        if (!ptx || !driver_compile(&c, ptx, &options, &d))
            fail_msg("not compiled:\n%s", m.text);
        Elf *elf = elf_memory(c.image, c.image_bytes);
        assert_non_null(elf);
        look(elf, &m);
        for (unsigned k = 0; k < NVARS; k++)
            check_var(elf, &m, k);
        elf_end(elf);
        driver_free(&c);
        ptx_free(ptx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_modules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
