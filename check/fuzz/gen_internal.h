/* What the generators share: random numbers, the text being made, register pools, single statements.
 *
 * Register pools: %h (16 bits), %r (32), %d (64), %p (predicates) hold values; all are initialised. Others
 * have fixed roles: %t 32-bit and %x 64-bit scratch of one statement, %gi and %go this thread's input and
 * output in global memory, %sb its shared memory (32 bits), %lb its local memory (32 bits), %ga[3] generic
 * addresses of output, shared and local memory, %id the thread's number in the grid, %gl its log, %lc the
 * bytes logged so far.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_GEN_INTERNAL_H
#define HEDDLE_CHECK_FUZZ_GEN_INTERNAL_H
#include "check/fuzz/gen.h"
#include "frontend/ast.h"

typedef enum { POOL_H, POOL_R, POOL_D, POOL_P, POOL_COUNT } GenPool;

typedef struct {
    uint64_t rng;
    GenProgram *p;
    GenForms *forms;
    GenKind kind;
    unsigned npool[POOL_COUNT];
    unsigned recent[POOL_COUNT]; /* written last */
    unsigned nlabels, nlogs, depth;
    unsigned guard_percent;
    unsigned constant_percent; /* pool registers that start as constants, for folding */
    bool slow_ops;             /* division and roots too */
    bool has_areas;            /* shared, local and output memory of a thread may be used */
    uint32_t nthreads;
    struct {
        size_t at, size_bytes; /* in the text */
    } past[8];                 /* statements, to be repeated */
    unsigned npast;
} Gen;

enum { GEN_MOST_SM = 90 };
static inline unsigned gen_sm(const Gen *g) { return g->forms && g->forms->sm ? g->forms->sm : GEN_MOST_SM; }

uint64_t gen_u64(Gen *gen);
static inline unsigned gen_below(Gen *g, unsigned n) { return (unsigned)((gen_u64(g) >> 32) * n >> 32); }
static inline unsigned gen_range(Gen *g, unsigned lo, unsigned hi) { return lo + gen_below(g, hi - lo + 1); }
static inline bool gen_chance(Gen *g, unsigned percent) { return gen_below(g, 100) < percent; }

void gen_text(GenProgram *program, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define OUT(g, ...) gen_text((g)->p, __VA_ARGS__)

unsigned gen_src(Gen *gen, GenPool pool); /* number of a register to read, recent ones more often */
unsigned gen_dst(Gen *gen, GenPool pool); /* to write */
GenPool gen_pool_of(unsigned bytes);
char gen_letter(GenPool pool);
/* A constant of `t` as text; integer types, bits, f32 and f64. */
void gen_constant(Gen *gen, PtxType t, char out[40]);
void gen_guard(Gen *gen); /* "@%p1 " or nothing */

/* Module head, kernel head with declarations, thread numbers and addresses; pools loaded from the input. */
void gen_module_head(Gen *gen);
void gen_declare_pools(Gen *gen);
void gen_kernel_head(Gen *gen, const char *more_declarations);
void gen_load_pools(Gen *gen, const char *base);
/* Stores of all pool registers behind the area; `ret` and the closing brace. */
void gen_store_pools(Gen *gen);

/* One event of the log: `number` and a register. `%s` as the number's text: a register. On one line. */
void gen_log(Gen *gen, const char *number);
void gen_log_block(Gen *gen); /* numbered by itself */

bool gen_form_insn(Gen *gen);   /* one instruction out of the table of forms */
void gen_memory_insn(Gen *gen); /* a load, store, or atomic on the thread's own memory */
void gen_data_insn(Gen *gen);   /* either, or a mov of vectors */

void gen_arith(Gen *gen);
void gen_cfg(Gen *gen);
void gen_structured(Gen *gen);
void gen_calls(Gen *gen);
void gen_collectives(Gen *gen);
void gen_barriers(Gen *gen);
void gen_predication(Gen *gen);
#endif
