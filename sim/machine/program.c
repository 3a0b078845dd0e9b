/* A launch's program: a place for each instruction of the binary, decoded when it is first issued (bind.c),
 * and what calls through addresses find. They cost what the whole module costs, so they stay with the binary:
 * a launch takes those that nobody uses, notes which places it decodes, and leaves these as they were, for
 * the next one. So does the memory of a block, where the next launch has blocks of the same shape: rows that
 * no instruction named are 0 in it, as they were. A launch of a small kernel costs what the kernel costs.
 * SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "sim/machine/internal.h"
#include "sim/system.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT_BYTES = 4 << 20 }; /* of a block */
typedef struct {                    /* what its memory depends on */
    uint32_t threads[3], shared_bytes, local_bytes;
} BlockShape;

struct Program {
    BinKept kept;
    uint32_t ncode, nfuncs;
    bool clash;       /* two functions have one address */
    FuncPlace *funcs; /* behind the places */
    Cta *block;       /* memory of one; NULL */
    BlockShape shape; /* of it */
    RowSet used;      /* rows of its warps that are not 0 */
    _Alignas(ROW_BYTES) uint32_t zero_rows[MOST_ROWS * 32];
    Dec places[]; /* ncode, and one behind the last instruction, where what runs off the code ends */
};

/* Not decoded, and no run. */
static const Dec fresh = {.go_all = machine_run_ends,
                          .go_full = machine_run_ends,
                          .go_part = machine_run_ends,
                          .full = bind_decode,
                          .part = bind_decode,
                          .guard = REG_PT,
                          .always = 1,
                          .cls = CLS_OTHER};

static int by_address(const void *a, const void *b) {
    const FuncPlace *place = a, *func_place = b;
    return place->address < func_place->address ? -1 : place->address > func_place->address;
}

/* Where the code of each function lies that may be called through its address. */
static void find_functions(Program *program, const Binary *binary) {
    for (uint32_t i = 0; i < binary->nfuncs; i++)
        program->funcs[program->nfuncs++] =
            (FuncPlace){sim_func_address(binary->funcs[i].name),
                        (uint32_t)((binary->funcs[i].address - binary->code_base) / INST_BYTES), NULL};
    for (uint32_t i = 0; i < binary->nexterns; i++)
        program->funcs[program->nfuncs++] =
            (FuncPlace){sim_func_address(binary->externs[i]), 0, binary->externs[i]};
    qsort(program->funcs, program->nfuncs, sizeof *program->funcs, by_address);
    for (uint32_t i = 0; i + 1 < program->nfuncs; i++)
        program->clash |= program->funcs[i].address == program->funcs[i + 1].address;
}

static void release_program(void *block) {
    Program *program = block;
    machine_cta_free(program->block);
    mem_free(program);
}

static Program *new_program(const Binary *binary) {
    size_t places = (binary->ncode + (size_t)1) * sizeof(Dec),
           funcs = (binary->nfuncs + (size_t)binary->nexterns) * sizeof(FuncPlace);
    Program *program = mem_aligned(ROW_BYTES, sizeof *program + places + funcs);
    *program = (Program){.kept = {.release = release_program},
                         .ncode = binary->ncode,
                         .funcs = (FuncPlace *)(void *)((char *)program + sizeof *program + places)};
    for (uint32_t i = 0; i <= binary->ncode; i++)
        program->places[i] = fresh;
    find_functions(program, binary);
    return program;
}

bool machine_take_program(Run *run, Diags *diags) {
    Program *program = (Program *)(void *)binary_take(run->bin);
    if (program && program->ncode != run->ncode) {
        release_program(program);
        program = NULL;
    }
    if (!program)
        program = new_program(run->bin);
    run->program = program;
    run->prog = program->places;
    run->zero_rows = program->zero_rows;
    run->func_places = program->funcs;
    run->nfunc_places = program->nfuncs;
    return !program->clash ||
           diag(diags, (SrcLoc){0}, DIAG_E0513, run->kernel->name, "two functions' names give one address");
}

void machine_give_program(Run *run) {
    if (!run->program)
        return;
    for (uint32_t i = 0; i < run->decoded.n; i++)
        run->prog[run->decoded.at[i]] = fresh;
    binary_give(run->bin, &run->program->kept);
    run->program = NULL;
    run->prog = NULL;
}

static BlockShape block_shape(const Run *run) {
    const uint32_t *block = run->launch->block;
    return (BlockShape){{block[0], block[1], block[2]}, run->all_shared, run->local_bytes};
}

static void release_block(void *block) { machine_cta_free(block); }
static bool has_more_memory(const Run *run) { return run->slow || run->opt.unwritten; }

Cta *machine_take_block(Run *run) {
    Program *program = run->program;
    BlockShape shape = block_shape(run);
    Cta *cta = program->block;
    if (has_more_memory(run))
        return NULL;
    program->block = NULL;
    if (cta && memcmp(&shape, &program->shape, sizeof shape) != 0) {
        machine_cta_free(cta);
        cta = NULL;
    }
    if (!cta)
        return NULL;
    scope_guard(cta, release_block);
    for (Warp *warp = cta->warps, *end = warp + cta->nwarps; warp < end; warp++) {
        warp->run = run;
        run->level->clear(warp, &program->used);
    }
    return cta;
}

void machine_give_block(Run *run, Cta *cta) {
    Program *program = run->program;
    uint64_t bytes = run->all_shared;
    bool kept = !has_more_memory(run) && !program->block;
    for (uint32_t i = 0; cta && i < cta->nwarps; i++) {
        bytes += ROW_COUNT * ROW_BYTES + (uint64_t)run->local_bytes * 32;
        kept &= !cta->warps[i].copies;
    }
    if (!cta || !kept || bytes > MOST_KEPT_BYTES) {
        machine_cta_free(cta);
        return;
    }
    scope_unguard(cta); /* as the program, which has it from now on */
    scope_unguard(cta->warps);
    scope_unguard(cta->shared);
    for (uint32_t i = 0; i < cta->nwarps; i++) {
        scope_unguard(cta->warps[i].rows);
        scope_unguard(cta->warps[i].local_block);
    }
    program->block = cta;
    program->shape = block_shape(run);
    program->used = run->named;
}

/* Every instruction by itself again, for the checked modes. */
void machine_forget_runs(Run *run) {
    for (uint32_t i = 0; i < run->decoded.n; i++) {
        Dec *dec = &run->prog[run->decoded.at[i]];
        dec_go(dec, machine_run_ends);
        dec->run = 0;
    }
}

void machine_mark_reached(const Run *run) {
    for (uint32_t i = 0; run->opt.reached && i < run->decoded.n; i++)
        if (run->prog[run->decoded.at[i]].full != bind_decode)
            run->opt.reached[run->decoded.at[i]] = 1;
}
