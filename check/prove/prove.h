/* Translation validation: the machine code of a binary means what its PTX means, for one symbolic lane and
 * so, as every data instruction works lane by lane, for all masks. docs/prove.md has the method and what is
 * trusted.
 *
 * A region is an acyclic piece of code with one entry, between cut points: function entry, merge points and
 * loop headers that both programs have. PTX and machine code of a region are executed symbolically, by two
 * executors that share the terms they build and nothing else. At each cut point the relation says which
 * machine location holds which term over PTX values; the compiler's map only tells which points to compare,
 * the relation is found and checked here.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_PROVE_H
#define HEDDLE_CHECK_PROVE_PROVE_H
#include "check/flow/verdict.h"
#include "emit/elf/binary.h"
#include "frontend/ast.h"

typedef enum {
    PROVE_SYNTACTIC, /* both sides gave the same terms */
    PROVE_UF,        /* Z3, with multiplication and the like uninterpreted */
    PROVE_BITS,      /* Z3, bit-precise */
    PROVE_REFUTED,   /* concrete lane values show a difference */
    PROVE_UNKNOWN,
    PROVE_NSTATUS
} ProveStatus;
const char *prove_status_name(ProveStatus s);

typedef struct {
    double query_seconds;  /* CPU time of one query, 0 = 9 */
    double search_seconds; /* CPU time of the search for a launch that shows a difference, of one kernel, 0 =
                              8 */
    double total_seconds;  /* CPU time of one module, 0 = no limit; what is left counts as unknown */
    uint32_t max_terms;    /* that one function may make; 0 = 4 million. What is left counts as unknown */
    uint64_t max_steps;    /* of diagrams, that one region may take; 0 = 4 million. Likewise */
    size_t max_bytes;      /* of terms and states of one function; 0 = 512 MiB */
    bool no_launches;      /* look for no launch that shows a difference: nothing is refuted by a run */
    const char
        *certificate;   /* check this one and search for nothing; NULL: search, then check what was found */
    bool no_map;        /* find out what belongs together without the binary's map */
    const char *kernel; /* only this function and what it calls, NULL = all that the PTX defines */
    /* Only whether all is proved: end at the first thing that is not, look for no refutation (the verdict is
     * then VERDICT_UNKNOWN unless a fact of the file refutes). `first`: the function to begin with, NULL =
     * any. */
    bool only_whether;
    const char *first;
    /* What one proof may leave for the next ones, of whatever files: Z3 and what it said. NULL: nothing. */
    struct ProveKept *kept;
    void (*progress)(void *user, const char *func, uint32_t done, uint32_t total);
    void *user;
} ProveOptions;
struct ProveKept *prove_kept_new(void);
void prove_kept_free(struct ProveKept *kept);

typedef struct {      /* one lane's value in a counterexample */
    const char *what; /* "%r3" or "R7" or "load of 4 bytes" */
    uint64_t value;
} ProveValue;

typedef struct {
    uint32_t ptx_first, ptx_last; /* lines of the PTX text, 0 unknown */
    uint64_t pc_first, pc_last;   /* bytes in the function */
    ProveStatus status;
    bool predicated;          /* has a guard, a select or an if-conversion */
    bool candidate;           /* unknown: `reason` names a difference that a launch may show */
    bool replayed;            /* a refutation that the simulator confirmed */
    const char *reason;       /* what differs or why it is unknown; "" */
    uint32_t bad_line;        /* PTX line of what differs, 0 unknown */
    uint64_t bad_pc;          /* machine instruction of what differs */
    const ProveValue *values; /* refuted: inputs, then both results */
    uint32_t nvalues;
    double seconds, slowest_query;
} ProveRegion;

typedef struct {
    const char *name;
    ProveRegion *regions;
    uint32_t nregions;
    uint32_t count[PROVE_NSTATUS], predicated[PROVE_NSTATUS];
    const char *certificate; /* what the search found, as lines of text; NULL: it did not find a proof */
    const char *skipped;     /* why nothing was tried (one region counts as unknown), NULL */
    bool not_compiled;       /* there is no code to prove (prove_report_left_out) */
    const char *shown;       /* where a launch shows a difference: block, thread, place and values; NULL */
} ProveFunc;

/* What the regions cannot show of a file: its contents (check/flow/contents.h), and that lanes meet as the
 * proof of one lane takes for granted (the static checker, the model checker). */
typedef struct {
    const char *func; /* NULL: the module */
    const char *text;
    uint32_t ptx_line;  /* 0 unknown */
    ProveStatus status; /* PROVE_REFUTED: a fact of the file; PROVE_UNKNOWN: not shown */
} ProveFact;

/* What a proof rests on without showing it (check/prove/assume.def). */
typedef enum {
#define ASSUME(id, name, whose, text) ASSUME_##id,
#include "check/prove/assume.def"
#undef ASSUME
    ASSUME_COUNT
} ProveAssumed;
const char *prove_assumed_name(ProveAssumed kind); /* "whole warp" */
const char *prove_assumed_text(ProveAssumed kind);
bool prove_assumed_of_compiler(ProveAssumed kind); /* else PTX demands it of the program */

typedef struct { /* one for each operation of a function */
    const char *func;
    const char *op; /* "mma" */
    ProveAssumed kind;
    uint32_t ptx_line; /* of its first statement */
} ProveAssumption;

typedef struct {
    Arena arena;
    VEC(ProveAssumption) assumptions;
    VEC(ProveFact) facts; /* what is in the way; none for a file that is right */
    ProveFunc *funcs;
    uint32_t nfuncs;
    uint32_t count[PROVE_NSTATUS], predicated[PROVE_NSTATUS];
    uint32_t queries;
    double seconds, slowest_query;
    bool lacks_z3; /* it was to be asked, and its library was not found */
} ProveReport;

/* Prove all functions of `m` that have a body and a counterpart in `b`. False only if nothing could be done
 * (reported). Free the report in any case. */
bool prove_module(const PtxModule *m, const Binary *b, const ProveOptions *opt, ProveReport *report,
                  Diags *diags);
void prove_report_free(ProveReport *report);
/* Add functions of the PTX of which there is no code, as it does not compile. */
void prove_report_left_out(ProveReport *report, const char *const *names, uint32_t n);
/* VERDICT_NOT_COMPILED or VERDICT_PROVED, _ASSUMING (proved, if what is assumed of the compiler holds),
 * _REFUTED or _UNKNOWN. */
Verdict prove_verdict(const ProveReport *report);
/* Of one function; what concerns the whole module counts for each. */
Verdict prove_verdict_of(const ProveReport *report, const char *func);
/* Texts, malloc'ed. The certificate has the functions of which one was found. */
char *prove_report_certificate(const ProveReport *report);
char *prove_report_text(const ProveReport *report, bool verbose);
char *prove_report_json(const ProveReport *report);
#endif
