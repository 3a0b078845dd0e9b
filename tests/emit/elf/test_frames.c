/* .debug_frame: random programs with calls run on the machine, and at every instruction the whole stack of a
 * lane is unwound by an own reader of the section. What return addresses there must be is what the calls that
 * the lane executed say, and where the kernel's stack began. DWARF 3, 6.4; registers are numbered as NVIDIA
 * does. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/fuzz/fuzz.h"
#include "check/fuzz/internal.h"
#include "emit/elf/image.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANE = 3, MOST_CALLS = 200, STACK_BYTES = 1 << 16, DWARF_R0 = 0x5000000 };
#define NONE UINT32_MAX

typedef enum { SAME, IN_FRAME, IN_REGISTER, UNDEFINED } Kind;
typedef struct {
    Kind kind;
    int64_t value; /* from the CFA; register */
} Rule;
typedef struct {
    uint32_t cfa_reg, return_column;
    int64_t cfa_offset;
    Rule rules[256];
} Row;

typedef struct {
    const Binary *binary;
    const uint8_t *frames; /* .debug_frame */
    size_t frames_bytes;
    struct {
        const BinFunc *func;
        uint64_t cie, at, end, size_bytes; /* program of the entry */
    } entries[64];
    unsigned nentries;
    uint64_t called[MOST_CALLS]; /* return addresses of the calls that the lane is in */
    unsigned ncalled, deepest;
    uint8_t stack[STACK_BYTES]; /* what the lane stored, by the low bits of the address */
    uint64_t checked, moved;    /* frames unwound; those whose return address is elsewhere */
} Watch;

/* ---- the section ---- */

static uint64_t leb(const uint8_t *data, uint64_t *at) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = data[(*at)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static unsigned reg_at(const uint8_t *data, uint64_t *at) {
    uint64_t number = leb(data, at);
    assert_true(number >= DWARF_R0 && number < DWARF_R0 + 256);
    return (unsigned)(number - DWARF_R0);
}

/* Execute a program up to the row of `offset`. */
static void run_program(const uint8_t *data, uint64_t at, uint64_t end, uint64_t offset, Row *row,
                        const Row *first) {
    uint64_t now = 0;
    while (at < end) {
        uint8_t op = data[at++];
        if (op == 0)
            continue;
        if (op == 4) { /* advance_loc4, in units of 4 bytes */
            now += 4ull * get_u32(data + at);
            at += 4;
            if (now > offset)
                return;
            continue;
        }
        unsigned reg = reg_at(data, &at);
        switch (op) {
        case 5: row->rules[reg] = (Rule){IN_FRAME, -4 * (int64_t)leb(data, &at)}; break;
        case 6: row->rules[reg] = first->rules[reg]; break;
        case 7: row->rules[reg] = (Rule){UNDEFINED, 0}; break;
        case 8: row->rules[reg] = (Rule){SAME, 0}; break;
        case 9: row->rules[reg] = (Rule){IN_REGISTER, reg_at(data, &at)}; break;
        case 12:
            row->cfa_reg = reg;
            row->cfa_offset = (int64_t)leb(data, &at);
            break;
        default: fail_msg("operation %u", op);
        }
    }
}

static void find_row(const Watch *watch, const BinFunc *func, uint64_t offset, Row *row) {
    for (unsigned k = 0; k < watch->nentries; k++) {
        if (watch->entries[k].func != func)
            continue;
        const uint8_t *data = watch->frames;
        uint64_t at = watch->entries[k].cie + 4, end = at + 8 + get_u64(data + at);
        assert_true(get_u64(data + at + 8) == UINT64_MAX);
        at += 16;
        assert_int_equal(data[at], 3);        /* version */
        assert_int_equal(data[at + 1], 0);    /* augmentation */
        assert_int_equal(data[at + 2], 4);    /* code */
        assert_int_equal(data[at + 3], 0x7c); /* data: -4 */
        at += 4;
        *row = (Row){.return_column = (uint32_t)leb(data, &at)};
        run_program(data, at, end, UINT64_MAX, row, row);
        Row first = *row;
        assert_true(offset < watch->entries[k].size_bytes);
        run_program(data, watch->entries[k].at, watch->entries[k].end, offset, row, &first);
        return;
    }
    fail_msg("%s has no entry", func->name);
}

static const BinFunc *func_of_symbol(const Binary *binary, const ElfImage *image, uint32_t number) {
    Elf64_Sym symbol;
    const ElfSection *symtab = &image->sections.at[3];
    memcpy(&symbol, (const uint8_t *)symtab->data + number * sizeof symbol, sizeof symbol);
    return binary_find(binary, (const char *)image->sections.at[symtab->h.sh_link].data + symbol.st_name);
}

static void read_frames(Watch *watch, const ElfImage *image) {
    for (uint32_t k = 0; k < image->sections.n; k++) {
        const ElfSection *section = &image->sections.at[k];
        if (strcmp(section->name, ".debug_frame") == 0) {
            watch->frames = section->data;
            watch->frames_bytes = section->h.sh_size;
        }
        if (strcmp(section->name, ".rel.debug_frame") != 0 && strcmp(section->name, ".rela.debug_frame") != 0)
            continue;
        for (uint64_t at = 0; at < section->h.sh_size; at += section->h.sh_entsize) {
            uint64_t place = get_u64((const uint8_t *)section->data + at),
                     info = get_u64((const uint8_t *)section->data + at + 8);
            const uint8_t *data = watch->frames;
            assert_int_equal(info & 0xffffffff, 2);
            uint64_t entry = place - 8;
            watch->entries[watch->nentries].func =
                func_of_symbol(watch->binary, image, (uint32_t)(info >> 32));
            watch->entries[watch->nentries].cie = get_u64(data + entry);
            watch->entries[watch->nentries].size_bytes = get_u64(data + place + 8);
            watch->entries[watch->nentries].at = place + 16;
            watch->entries[watch->nentries++].end = entry + get_u64(data + entry - 8);
        }
    }
}

/* ---- a lane's stack ---- */

static uint32_t stack_word(const Watch *watch, uint64_t address) {
    return get_u32(watch->stack + address % STACK_BYTES);
}

/* Registers become those of the caller; its place, or NONE. */
static uint64_t unwind(Watch *watch, const BinFunc *func, uint64_t offset, uint32_t regs[256]) {
    Row row;
    uint32_t before[256];
    find_row(watch, func, offset, &row);
    memcpy(before, regs, sizeof before);
    assert_int_equal(row.cfa_reg, 1);
    uint64_t cfa = (uint64_t)(before[1] + row.cfa_offset);
    bool undefined = row.return_column == NONE;
    for (unsigned r = 0; r < 255; r++) {
        Rule rule = row.rules[r];
        bool returns =
            !undefined && (r == row.return_column - DWARF_R0 || r == row.return_column + 1 - DWARF_R0);
        regs[r] = rule.kind == IN_FRAME      ? stack_word(watch, cfa + (uint64_t)rule.value)
                  : rule.kind == IN_REGISTER ? before[rule.value]
                                             : before[r];
        if (returns && rule.kind == UNDEFINED)
            fail_msg("%s+0x%x: the return address is nowhere", func->name, (unsigned)offset);
        watch->moved += returns && rule.kind != SAME;
    }
    regs[1] = (uint32_t)cfa;
    watch->checked++;
    if (undefined)
        return NONE;
    unsigned r = row.return_column - DWARF_R0;
    return regs[r] | (uint64_t)regs[r + 1] << 32;
}

static void check_stack(Watch *watch, const MachineTrace *trace) {
    uint32_t regs[256] = {0};
    for (unsigned r = 0; r < 255; r++)
        regs[r] = machine_trace_reg(trace, RF_R, r, LANE);
    const BinFunc *func = trace->func;
    uint64_t offset = trace->func_pc_bytes;
    for (unsigned level = watch->ncalled; level; level--) {
        uint64_t back = unwind(watch, func, offset, regs), wanted = watch->called[level - 1];
        if (back != wanted)
            fail_msg("%s+0x%x: returns to 0x%llx, not 0x%llx", func->name, (unsigned)offset,
                     (unsigned long long)back, (unsigned long long)wanted);
        func = binary_func_at(watch->binary, back - INST_BYTES);
        assert_non_null(func);
        offset = back - 1 - func->address;
    }
    assert_true(func->is_entry);
    assert_true(unwind(watch, func, offset, regs) == NONE);
}

static void watch_one(void *user, const MachineTrace *trace) {
    Watch *watch = user;
    MachineAccess access;
    if (trace->warp || trace->block[0] || !(trace->active >> LANE & 1) || !trace->func)
        return;
    check_stack(watch, trace);
    if (!(trace->executed >> LANE & 1))
        return;
    if (trace->inst->optype == OT_STL && machine_trace_access(trace, LANE, &access))
        for (uint32_t k = 0; k < access.size_bytes; k++)
            watch->stack[(access.address + k) % STACK_BYTES] = access.data[k];
    if (trace->inst->optype == OT_CALL) {
        assert_true(watch->ncalled < MOST_CALLS);
        watch->called[watch->ncalled++] = trace->pc_bytes + INST_BYTES;
        if (watch->ncalled > watch->deepest)
            watch->deepest = watch->ncalled;
    } else if (trace->inst->optype == OT_RET) {
        assert_true(watch->ncalled-- > 0);
    }
}

/* ---- programs ---- */

static void run(const Binary *binary, const GenProgram *program, Watch *watch) {
    SimMemory *memory = simmem_create();
    uint64_t params[2] = {simmem_alloc(memory, "in", program->in_bytes),
                          simmem_alloc(memory, "out", program->out_bytes)};
    uint8_t *in = malloc(program->in_bytes);
    assert_non_null(in);
    gen_data(program->data_seed, in, program->in_bytes);
    simmem_write(memory, params[0], in, program->in_bytes);
    Launch launch = {.grid = {program->grid[0], program->grid[1], program->grid[2]},
                     .block = {program->block[0], program->block[1], program->block[2]},
                     .params = (const uint8_t *)params,
                     .param_bytes = sizeof params};
    MachineOptions options = {.trace = watch_one, .trace_user = watch, .trace_no_text = true};
    MachineResult result;
    Diags quiet = {0};
    assert_true(machine_run(binary, "fuzz", &launch, memory, &options, &result, &quiet));
    assert_int_equal(result.trap.kind, TRAP_NONE);
    assert_int_equal(watch->ncalled, 0);
    machine_result_free(&result);
    simmem_free(memory);
    free(in);
}

static void unwinds_everywhere(void **state) {
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90"};
    (void)state;
    uint64_t checked = 0, moved = 0;
    unsigned deepest = 0;
    for (unsigned k = 0; k < 72; k++) {
        const Target *target = isa_target(targets[k % 3]);
        GenForms forms = {.usable = fuzz_usable, .user = (void *)(uintptr_t)target, .sm = 75};
        GenProgram program = {0};
        Diags diags = {0};
        gen_program(GEN_CALLS, 11, k, &forms, &program);
        PtxModule *ptx = ptx_parse("fuzz.ptx", program.text, program.size_bytes, &diags);
        Compilation compilation;
        assert_non_null(ptx);
        assert_true(driver_compile(&compilation, ptx,
                                   &(DriverOptions){.target = target, .opt_level = k / 3 % 4}, &diags));
        Watch *watch = calloc(1, sizeof *watch);
        Arena arena = {0};
        assert_non_null(watch);
        Binary *binary = binary_read("k", compilation.image, compilation.image_bytes, &diags);
        watch->binary = binary;
        ElfImage *image = elf_image_read(&arena, compilation.image, compilation.image_bytes, &diags);
        assert_non_null(image);
        read_frames(watch, image);
        assert_int_equal(watch->nentries, binary->nfuncs);
        run(binary, &program, watch);
        checked += watch->checked;
        moved += watch->moved;
        deepest = watch->deepest > deepest ? watch->deepest : deepest;
        free(watch);
        arena_free(&arena);
        binary_free(binary);
        driver_free(&compilation);
        ptx_free(ptx);
        gen_program_free(&program);
        gen_forms_free(&forms);
    }
    printf("%llu frames unwound, %llu words of return addresses elsewhere, %u calls deep\n",
           (unsigned long long)checked, (unsigned long long)moved, deepest);
    assert_true(checked > 100000 && moved > 10000 && deepest > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unwinds_everywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
