/* Random PTX programs for differential testing. Every program is legal PTX, free of races, terminates, and
 * its result depends on nothing but its input: each thread writes memory that only it reads, or exchanges
 * values under barriers; nothing reads a register or a byte before it was written.
 *
 * All programs have one kernel, `.visible .entry fuzz(.param .u64 in, .param .u64 out)`. `in` is read only.
 * Every kind but arith logs events in its output: at each data block a thread stores a number of the block,
 * or a hash of its path, and the value of a register, behind one another (the last GEN_LOG_EVENTS of them).
 * So comparing memory compares the threads' traces. A program and its input follow from kind, seed and index
 * alone.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_GEN_H
#define HEDDLE_CHECK_FUZZ_GEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* KIND(constant, name and function) */
#define GEN_EACH_KIND(KIND)                                                                                  \
    KIND(ARITH, arith)                                                                                       \
    KIND(CFG, cfg)                                                                                           \
    KIND(STRUCTURED, structured)                                                                             \
    KIND(CALLS, calls)                                                                                       \
    KIND(COLLECTIVES, collectives)                                                                           \
    KIND(BARRIERS, barriers)                                                                                 \
    KIND(PREDICATION, predication)
typedef enum {
#define GEN_KIND(constant, name) GEN_##constant,
    GEN_EACH_KIND(GEN_KIND)
#undef GEN_KIND
        GEN_KINDS
} GenKind;
const char *gen_kind_name(GenKind k);
extern const char gen_kind_names[]; /* " arith cfg ..." */
bool gen_kind_find(const char *name, size_t size_bytes, GenKind *kind);

/* The graph of a cfg program. Block `n` is the common end; a block without successors exits. A warp of such a
 * program decides for each lane by a hash of the lane, the block and its visits, and writes what it visits
 * into its log. */
enum { GEN_MAX_BLOCKS = 64, GEN_MAX_WAYS = 8 };
typedef struct {
    bool measured; /* D.4's shape, one full warp, every branch decided for each lane: block issues mean
                      something */
    uint8_t n, nsucc[GEN_MAX_BLOCKS], succ[GEN_MAX_BLOCKS][GEN_MAX_WAYS];
} GenGraph;

typedef struct {
    char *text; /* malloc'ed, NUL-terminated; one statement a line, so that a reducer can drop lines */
    size_t size_bytes, cap;
    uint32_t block[3], grid[3];
    uint32_t in_bytes, out_bytes;
    uint64_t data_seed; /* of the bytes of `in` */
    GenGraph graph;     /* kind cfg */
} GenProgram;

/* Which spellings ("add.sat.s32") can be used: asked once for each. The generator leaves out those that are
 * not. */
typedef struct {
    struct GenSpelling *slots;
    uint32_t nslots, count;
    /* Do front end, lowering and interpreter take the module? It is a kernel with the one instruction. */
    bool (*usable)(void *user, const char *module, size_t size_bytes);
    void *user;
    unsigned sm; /* the programs are PTX of .target sm_N; 0: of the highest that is known */
} GenForms;
void gen_forms_free(GenForms *forms);

/* Make program `index`; p->text is reused. */
void gen_program(GenKind kind, uint64_t seed, uint64_t index, GenForms *forms, GenProgram *p);
enum {
    GEN_IN_BYTES = 256,   /* input of a thread */
    GEN_AREA_BYTES = 64,  /* of a thread: shared, local, and the start of its output, for loads and stores */
    GEN_REG_BYTES = 1024, /* its output behind that: final registers */
    GEN_LOG_EVENTS = 128, /* and its log behind those: 8 bytes an event */
    GEN_LOG_OFFSET = GEN_AREA_BYTES + GEN_REG_BYTES,
    GEN_OUT_BYTES = GEN_LOG_OFFSET + 8 * GEN_LOG_EVENTS
};
void gen_program_free(GenProgram *program);
/* The bytes of `in`: edge cases of every type among random ones. */
void gen_data(uint64_t data_seed, uint8_t *out, size_t size_bytes);
/* The first line of the text: launch and data. False if it is not such a line. */
bool gen_read_header(GenProgram *program);
#endif
