/* Differential testing with random programs: PTX reference interpreter against the machine on the compiled
 * binary, at every optimisation level, reconvergence mode, with few registers, under every policy of the
 * machine; also text form against binary (asm_assemble(disassemble(x)) == x). A failing program is reduced as
 * long as it fails in the same way.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_FUZZ_H
#define HEDDLE_CHECK_FUZZ_FUZZ_H
#include "base/diag.h"
#include "check/fuzz/gen.h"
#include "ir/ir.h"
#include "sim/machine/machine.h"

typedef enum {
    FUZZ_EQUAL,
    FUZZ_UNSUPPORTED, /* lowering or the interpreter does not take an instruction: no failure */
    /* failures of the generator */
    FUZZ_REJECTED, /* the front end refuses the program */
    FUZZ_PTX_TRAP, /* the interpreter traps, or reads what was never written */
    /* failures of what is tested */
    FUZZ_COMPILE, /* lowering, a pass, the verifier, the encoder, the ELF writer */
    FUZZ_BINARY,  /* the ELF file cannot be read again */
    FUZZ_TEXT,    /* asm_assemble(disassemble(x)) differs from x */
    FUZZ_LAUNCH,  /* an engine cannot start */
    FUZZ_TRAP,    /* the machine traps */
    FUZZ_MEMORY,  /* memory differs, the threads' logs included */
    FUZZ_TRACE,   /* a lane's stores and atomics differ from its thread's */
    FUZZ_STATIC,  /* the static checker finds an error in the machine code */
    FUZZ_ENGINE,  /* the compiling engine does something else than the interpreting one */
    FUZZ_FINDING, /* the machine reports a hazard, a partial barrier, a collective without a partner */
    FUZZ_CRASH,
    FUZZ_HANG,
    FUZZ_CLASSES
} FuzzClass;
const char *fuzz_class_name(FuzzClass c);
static inline bool fuzz_is_failure(FuzzClass c) { return c > FUZZ_UNSUPPORTED; }

enum { FUZZ_CONFIG_BYTES = 512 };
typedef struct {
    FuzzClass cls;
    char detail[24];                /* part of the class: diagnostic code, trap, finding */
    char text[400];                 /* what happened */
    char config[FUZZ_CONFIG_BYTES]; /* under which level, limit, mode and policy: fuzz_describe_config */
} FuzzVerdict;

/* FUZZ_JIT: the launch waits for what is compiled; FUZZ_AUTO: another thread compiles, and there are several
 * launches, each with what has been compiled by then. */
typedef enum { FUZZ_INTERP, FUZZ_STENCIL, FUZZ_JIT, FUZZ_AUTO } FuzzEngine;

/* One way to compile and run. */
typedef struct {
    const Target *target;          /* NULL: the default */
    unsigned opt_level, reg_limit; /* 0: no limit */
    ReconvMode reconverge;
    PredicateMode predicate;
    unsigned reconv_opts; /* RO_*; 0: the default */
    bool yield_breaks;
    unsigned yield_percent; /* of the blocks get a YIELD, before uniformity analysis */
    bool verify;            /* the IR after every pass */
    bool text;              /* compare the text form too */
    bool check, check_only; /* the machine code by the static checker; nothing else */
    FuzzEngine engine;      /* run it with this one too */
    unsigned jit_after;     /* what so many instructions have run is compiled */
    bool jit_quick;         /* as MachineJitOptions.quick */
    /* and where it ends early, in thousandths, 0: not; of its instructions, of the output's bytes */
    unsigned cut_budget, cut_memory;
    const char *jit_cache; /* a folder for code, from which it is run once more, or NULL */
    bool traces;           /* compare each lane's stores and atomics in order */
    uint64_t ptx_seed;     /* order of the interpreter's threads */
    MachineOptions machine;
} FuzzConfig;

/* All are those that code must survive (sim/machine/policy.def); the 16 literal ones may hang. SAMPLED takes
 * four in turn, ONE draws one for each program. */
typedef enum {
    FUZZ_POLICIES_SAMPLED,
    FUZZ_POLICIES_ALL,
    FUZZ_POLICIES_DEFAULT,
    FUZZ_POLICIES_LITERAL,
    FUZZ_POLICIES_ONE
} FuzzPolicies;
enum {
    FUZZ_NPOLICIES = 128,
    FUZZ_NLITERAL = 16,
    FUZZ_SAMPLED = 4,
    FUZZ_ALL_LEVELS = -1,
    FUZZ_MAX_CONFIGS = FUZZ_NPOLICIES + 2
};
void fuzz_policy(
    unsigned n,
    MachineOptions *options); /* combination n of the machine's policies; from 128 on literal ones */

/* Check a program under `n` configurations that share their compilation: everything but machine and traces is
 * the first one's. `failed`: index of the configuration of the verdict, or NULL. */
FuzzVerdict fuzz_check(const GenProgram *program, const FuzzConfig *configs, unsigned n, unsigned *failed);
/* The same in a child process, so that a crash or a hang is a verdict too. */
FuzzVerdict fuzz_check_apart(const GenProgram *program, const FuzzConfig *configs, unsigned n,
                             unsigned *failed);
/* A file with the generator's header line, under all levels, register limits, modes and policies; how: the
 * target, and the engine that does it again. */
FuzzVerdict fuzz_check_everywhere(const GenProgram *program, const FuzzConfig *how);

/* The settings as words, with a space between; `out` of FUZZ_CONFIG_BYTES holds any. */
void fuzz_describe_config(const FuzzConfig *config, char *out, size_t out_bytes);
/* Those that a saved program failed under: the words behind the last "with" of its second line. NONE: it has
 * no such line. UNKNOWN: a word of it is no setting; the others are set then. Defaults where nothing is said.
 */
typedef enum { FUZZ_SAVED_NONE, FUZZ_SAVED_KNOWN, FUZZ_SAVED_UNKNOWN } FuzzSaved;
FuzzSaved fuzz_saved_config(const char *text, FuzzConfig *config);

/* Make `p` smaller while it fails as `v` under this configuration, for at most `seconds` of CPU time. */
void fuzz_reduce(GenProgram *p, const FuzzConfig *config, const FuzzVerdict *v, double seconds);
/* Does this text (NUL-terminated) still fail as the whole did? */
typedef bool ReduceFails(void *user, const char *text, size_t size_bytes);
/* Any text of PTX with a statement a line: a smaller one that still fails, malloc'ed. Its first line stays.
 */
char *fuzz_reduce_text(const char *text, size_t *size_bytes, ReduceFails *fails, void *user, double seconds);

typedef struct {
    GenKind kind;
    uint64_t index;
    FuzzVerdict verdict;
    char path[200], reduced_path[200]; /* "" if not kept */
    uint32_t statements;               /* of the reduced program */
} FuzzFailure;

/* What the machine did in the programs of D.4's shape, for one way of placing convergence barriers. */
enum {
    FUZZ_MODES = RECONV_COUNT,
    FUZZ_METRICS = 2 * FUZZ_MODES
}; /* ReconvMode; from FUZZ_MODES on with YIELDs */
#define FUZZ_METRIC_FIELDS(X)                                                                                \
    X(programs)                                                                                              \
    X(block_issues)                                                                                          \
    X(stack_issues) /* of the oracle with a stack of masks */                                                \
    X(issues) X(lane_issues) X(data_issues) X(data_lane_issues) X(b_issues) X(switches) X(hops) X(releases)
typedef struct {
#define FIELD(name) uint64_t name;
    FUZZ_METRIC_FIELDS(FIELD)
} FuzzMetric;

#define FUZZ_COUNT_FIELDS(X)                                                                                 \
    X(programs)                                                                                              \
    X(unsupported)                                                                                           \
    X(failures)                                                                                              \
    X(runs)    /* machine launches compared */                                                               \
    X(traces)  /* of those with every lane's stores compared in order */                                     \
    X(checked) /* binaries that the static checker looked at */                                              \
    X(ptx_insns)                                                                                             \
    X(machine_issues)                                                                                        \
    X(compiled_runs)   /* launches that were repeated with the other engine, */                              \
    X(compiled_some)   /* of them those that executed compiled code, */                                      \
    X(compiled_issues) /* warp instructions of them all, */                                                  \
    X(compiled_own)    /* those by compiled code, */                                                         \
    X(compiled_found)  /* and regions of which code on disk was executed; */                                 \
    X(compiled_traps)  /* launches that were cut short, and trapped */                                       \
    X(literal_runs)                                                                                          \
    X(literal_hangs) /* under literal policies, code as it is by default */                                  \
    X(break_runs)                                                                                            \
    X(break_hangs) /* the same of code made with yield_breaks */                                             \
    X(blocks) X(data_insns) X(branches) X(calls) X(with_loop) X(with_irreducible) X(with_early_exit) X(cpu_us)
typedef struct {
    FUZZ_COUNT_FIELDS(FIELD)
#undef FIELD
    FuzzMetric metric[FUZZ_METRICS];
} FuzzCounts;

typedef struct {
    bool kinds[GEN_KINDS];
    uint64_t count, seed; /* programs of each kind */
    uint64_t first;       /* number of the first program of each kind */
    unsigned jobs;        /* processes, 0: one for each core */
    const Target *target; /* NULL: the default */
    int opt_level;        /* FUZZ_ALL_LEVELS: sampled */
    FuzzPolicies policies;
    bool check_only;        /* compile and check statically, run nothing */
    FuzzEngine engine;      /* this one too */
    unsigned jit_after;     /* what so many instructions have run is compiled */
    const char *jit_cache;  /* and run from this folder, or NULL */
    const char *host_level; /* as MachineOptions.host_level */
    bool metrics;           /* measure the cfg programs of D.4's shape */
    const char *keep_dir;   /* where failures are saved, or NULL */
    const char *state_file; /* read at the start if it exists, written while running; or NULL */
    double reduce_seconds;  /* of one failure */
    unsigned max_failures;  /* stop after these many, 0: go on */
    void (*on_progress)(void *user, GenKind kind, uint64_t done, uint64_t total, double per_second,
                        uint64_t failures);
    void (*on_failure)(void *user, const FuzzFailure *f);
    void *user;
} FuzzOptions;

typedef struct {
    FuzzCounts kind[GEN_KINDS];
    uint64_t failures;
    double seconds; /* of this run, by the clock */
    unsigned jobs;
} FuzzReport;

/* False: could not run at all (reported). */
bool fuzz_campaign(const FuzzOptions *opt, FuzzReport *report, Diags *diags);
#endif
