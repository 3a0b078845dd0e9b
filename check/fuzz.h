/* Differential testing with random programs: PTX reference interpreter against the machine on the compiled binary,
 * at every optimisation level, with few registers, under every policy of the machine; also text form against binary
 * (assemble(disassemble(x)) == x). A failing program is reduced as long as it fails in the same way.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_H
#define HEDDLE_CHECK_FUZZ_H
#include "base/diag.h"
#include "check/gen.h"
#include "sim/machine.h"

typedef enum {
    FUZZ_EQUAL,
    FUZZ_UNSUPPORTED, /* lowering or the interpreter does not take an instruction: no failure */
    /* failures of the generator */
    FUZZ_REJECTED,    /* the front end refuses the program */
    FUZZ_PTX_TRAP,    /* the interpreter traps, or reads what was never written */
    /* failures of what is tested */
    FUZZ_COMPILE,     /* lowering, a pass, the verifier, the encoder, the ELF writer */
    FUZZ_BINARY,      /* the ELF file cannot be read again */
    FUZZ_TEXT,        /* assemble(disassemble(x)) differs from x */
    FUZZ_LAUNCH,      /* an engine cannot start */
    FUZZ_TRAP,        /* the machine traps */
    FUZZ_MEMORY,      /* memory differs */
    FUZZ_FINDING,     /* the machine reports a hazard, a partial barrier, a collective without a partner */
    FUZZ_CRASH, FUZZ_HANG,
    FUZZ_CLASSES
} FuzzClass;
const char *fuzz_class_name(FuzzClass c);
static inline bool fuzz_is_failure(FuzzClass c) { return c > FUZZ_UNSUPPORTED; }

typedef struct {
    FuzzClass cls;
    char detail[24];   /* part of the class: diagnostic code, trap, finding */
    char text[400];    /* what happened */
    char config[120];  /* under which level, limit and policy */
} FuzzVerdict;

/* One way to compile and run. */
typedef struct {
    const Target *target;          /* NULL: the default */
    unsigned opt_level, reg_limit; /* 0: no limit */
    MachineOptions machine;
    bool text;                     /* compare the text form too */
    uint64_t ptx_seed;             /* order of the interpreter's threads */
} FuzzConfig;

typedef enum { FUZZ_POLICIES_SAMPLED, FUZZ_POLICIES_ALL, FUZZ_POLICIES_DEFAULT } FuzzPolicies;
enum { FUZZ_NPOLICIES = 32, FUZZ_ALL_LEVELS = -1 };
void fuzz_policy(unsigned n, MachineOptions *m); /* combination n of the machine's policies */

/* Check a program under `n` configurations that share their compilation: level, limit, text and ptx_seed are the first
 * one's. `failed`: index of the configuration of the verdict, or NULL. */
FuzzVerdict fuzz_check(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed);
/* The same in a child process, so that a crash or a hang is a verdict too. */
FuzzVerdict fuzz_check_apart(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed);
/* A file with the generator's header line, under all levels, register limits and policies. */
FuzzVerdict fuzz_check_everywhere(const GenProgram *p, const Target *target);

/* Make `p` smaller while it fails as `v` under this configuration, for at most `seconds`. */
void fuzz_reduce(GenProgram *p, const FuzzConfig *c, const FuzzVerdict *v, double seconds);

typedef struct {
    GenKind kind;
    uint64_t index;
    FuzzVerdict verdict;
    char path[200], reduced_path[200]; /* "" if not kept */
    uint32_t statements;               /* of the reduced program */
} FuzzFailure;

typedef struct {
    bool kinds[GEN_KINDS];
    uint64_t count, seed;         /* programs of each kind */
    uint64_t first;               /* number of the first program of each kind */
    const Target *target;         /* NULL: the default */
    int opt_level;                /* FUZZ_ALL_LEVELS: sampled */
    FuzzPolicies policies;
    const char *keep_dir;         /* where failures are saved, or NULL */
    const char *state_file;       /* read at the start if it exists, written while running; or NULL */
    double reduce_seconds;        /* of one failure */
    unsigned max_failures;        /* stop after these many, 0: go on */
    void (*on_progress)(void *user, GenKind kind, uint64_t done, uint64_t total, double per_second, uint64_t failures);
    void (*on_failure)(void *user, const FuzzFailure *f);
    void *user;
} FuzzOptions;

typedef struct {
    uint64_t programs, unsupported, failures, runs; /* runs: machine launches compared */
    uint64_t ptx_insns, machine_issues;
    double seconds;
} FuzzCounts;
typedef struct {
    FuzzCounts kind[GEN_KINDS];
    uint64_t failures;
} FuzzReport;

/* False: could not run at all (reported). */
bool fuzz_campaign(const FuzzOptions *opt, FuzzReport *r, Diags *d);
#endif
