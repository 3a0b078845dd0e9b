/* The state of the prover for one function: see prove.c.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_CORE_H
#define HEDDLE_CHECK_PROVE_CORE_H
#include "check/prove/lane/answers.h"
#include "check/prove/lane/internal.h"
#include "ir/graph.h"
#include "check/static/check.h"

typedef struct { /* control passes from one cut point to another */
    uint32_t to;
    uint32_t ptx_at, mach_at;
    Term *cond;
    Term **pv, **lv, *mem[NMEM]; /* as seen under cond */
    Term **whole_pv, **whole_lv; /* the same, whatever cond is */
    Term **chosen; /* by word, two a value: of one that has no value here, what the machine has for it */
    Term **seen;   /* by what branches of the machine have seen: see guards.c; NULL: nothing is known */
    uint8_t *says; /* and what cond says of it */
} Edge;

/* The last two: of a predicate, as 1 or 0, or as 0 or 1. */
typedef enum {
    RL_SAME,
    RL_NOT,
    RL_LOW,
    RL_HIGH,
    RL_OFFSET,
    RL_SHORT,
    RL_ONE,
    RL_ZERO,
    RL_KINDS
} RelationKind;
typedef struct { /* what a location holds of a PTX value, or of what a branch has seen */
    uint32_t value;
    RelationKind how;
    Term *extra;
} Relation;

typedef enum { TWIN_SAME, TWIN_SIGNED, TWIN_UNSIGNED, TWIN_HOWS } TwinHow;
typedef struct { /* a value that is rest + scale * another one, extended so: see twins.c */
    uint32_t of; /* + 1; 0: none */
    TwinHow how;
    uint64_t scale;
    Term *rest;     /* NULL: it is the other one */
    uint8_t losses; /* how often one was found and did not stay */
} Twin;

enum {
    PHI_LOW = 1,
    PHI_ALL
}; /* a value of the PTX differs among ways: of 64 bits only the low word; all of it */
/* One term on all paths, seen under their conditions; whatever these are; part of a PTX value; what a
 * branch has seen; nothing known. */
enum { LV_SAME, LV_WHOLE, LV_RELATED, LV_SEEN, LV_FREE };
/* What a branch of the machine has seen has one value on all paths; is one term; is not known. */
enum { SEEN_DECIDED, SEEN_TERM, SEEN_LOST };
enum { SAYS_NOTHING, SAYS_NO, SAYS_YES };
enum { MOST_PASSES = 8, PASS_ALWAYS = UINT8_MAX };

typedef struct {
    uint32_t ptx, mach;          /* blocks */
    Term **pv, **lv, *mem[NMEM]; /* the relation: PTX values and locations as terms over the same variables */
    uint8_t *phi, *level;
    bool *whole; /* by value that does not differ: one term on all paths, whatever their conditions are */
    Twin *twin;  /* by value */
    bool mem_phi[NMEM];
    Relation *relation;
    Term **seen, *known; /* as in Edge; what holds whenever the place is come to */
    uint8_t *seen_level, *says;
    bool reached, dirty, stuck;
    unsigned watched;  /* see Prover */
    bool stale;        /* what arrives has changed since the relation was made of it */
    uint32_t restarts; /* of what stands below */
    /* Cut points that this region does not stop at, of the PTX how often it goes past them; PASS_ALWAYS. */
    uint8_t *pass_ptx;
    bool *pass_mach;
    bool round; /* a copy of a round begins here: see prove_pairing_rounds */
    Run ptx_run, mach_run;
    VEC(Edge) edges;
    Arena arena; /* of the last run that was made to find the relation, and its edges */
} Cut;

typedef struct ProveKept { /* Z3, opened for the first question, and what it said */
    struct ProveZ3 *z3;
    bool opened;
    ProveAnswers answers;
} ProveSolver;

/* The inferred launches of the kernels above a function, each tried once. */
typedef struct {
    const PtxModule *module;
    const BinFlow *flow;
    const char *
        *shown;   /* by function of the binary: where a launch differs; "" no launch does; NULL: not tried */
    Arena *arena; /* of those texts */
    bool none;    /* nothing is run */
} ProveTrials;

typedef struct { /* a collective of the PTX whose mask is not all lanes for certain */
    uint32_t func, statement;
    uint32_t reg; /* the PTX register that holds it; 0: no register, or one with several definitions */
    bool again;   /* its definition is in a loop */
} ProveMask;
typedef struct { /* a WARPSYNC with its mask in a register that lanes come to without having gathered */
    uint32_t func, inst, ptx_line;
} ProveWait;
typedef struct { /* of all functions of a module: see check/prove/core/masks.c */
    Arena arena;
    VEC(ProveMask) masks;
    VEC(ProveWait) waits;
    VEC(uint32_t) watching; /* loads of shared memory in regions where others may change it */
} ProveMasks;

typedef struct {
    Prover p;
    VEC(Cut) cuts;
    uint32_t *cut_of; /* by machine block: cut + 1 */
    bool *mach_stop, *ptx_stop;
    Edge entry;
    ProveSolver *solver;
    ProveTrials *trials;
    ProveMasks *masks;
    struct ProveMultiples *multiples; /* NULL: no address has asked */
    double deadline;                  /* of clock_cpu_seconds; 0: none */
    const char *gave_up;
    bool by_rounds; /* each round of an unrolled loop is a region */
} Core;

/* Fill report->facts: what the file says beside its code; that lanes meet, by the static and the model check.
 */
void prove_contents(const PtxModule *module, const SharedLayout *shared, const BinFlow *flow,
                    const ProveOptions *opt, ProveReport *report);
/* What the function's proof rests on, into report->assumptions; `func` is its name in the report. */
void prove_assumptions(const Prover *prover, ProveReport *report, const char *func);
void prove_meeting(const PtxModule *module, const BinFlow *flow, const ProveMasks *masks,
                   const ProveOptions *opt, ProveReport *report);
/* What a region says of masks goes into core->masks; what all of them together leave open. */
void prove_masks_note(Core *core, const Cut *cut);
bool prove_masks_may_differ(const BinFlow *flow, const BinCheckReport *checked, const ProveMasks *masks,
                            const ProveWait *wait);
/* Is the mask a ballot about the branch that leads there (check/prove/core/ballots.c)? */
bool prove_ballot_leads(const BinFlow *flow, const BinCheckReport *checked, const ProveWait *wait);
/* Functions that belong to the kernel asked for: itself and what it can call; all if it is NULL. */
bool *prove_functions_below(const BinFlow *flow, const char *kernel, Arena *arena);
/* The PTX block that each machine block of the function is to be compared with, as a proposal (see
 * pairing.c). */
uint32_t *prove_pairing(Prover *prover);
/* Adds where copies of the rounds of a loop begin, each to be compared with the loop's head; false: none. */
bool prove_pairing_rounds(const Prover *prover, uint32_t *partner);
/* Nothing in the block that one lane could notice, and one way on. */
bool prove_only_control(const BinFlow *flow, const BinBlock *block);
typedef VEC(const Edge *) Arrivals; /* at one place */
/* What branches have seen (guards.c): what an edge brings of it; what the place has of what all edges bring,
 * or of what is said of it and the first one (false: not that); whether an edge brings what the place has. */
void prove_guards_leave(Core *core, const Cut *cut, Edge *edge);
void prove_guards_relate(Core *core, Cut *cut, const Arrivals *in);
bool prove_guards_enter(Core *core, Cut *cut, const Edge *edge);
bool prove_guards_hold(const Core *core, const Cut *cut, const Edge *edge);
/* Does an edge bring in a location what the relation says of what a branch has seen? Find one that all bring.
 */
bool prove_guards_tell(Core *core, const Cut *cut, const Edge *edge, uint32_t loc, const Relation *relation);
bool prove_guards_find(Core *core, Cut *cut, const Arrivals *in, uint32_t loc);
void prove_guards_trim(Core *core);
/* Is an address a multiple of so many bytes, a power of two up to 16, whenever it is come to? By its own
 * form, or by what all edges bring of its variables: asked when the edges are final. */
bool prove_is_multiple(Core *core, const Term *address, unsigned bytes);
/* Values of the PTX that others are made of (twins.c): find them in what all edges bring; what the place has
 * of what is said of it and the first edge (false: not that); whether an edge brings it. */
void prove_twins_find(Core *core, Cut *cut, const Arrivals *in);
bool prove_twins_enter(Core *core, Cut *cut, const Edge *edge);
bool prove_twins_hold(Core *core, const Cut *cut, const Edge *edge);
Graph prove_mach_graph(Prover *prover); /* of the machine blocks of the function, its first one 0 */
void prove_core_no_cuts(Core *core);
/* As pairing.c proposes; with the rounds of unrolled loops, if asked for: false, there are none. */
bool prove_core_find_cuts(Core *core, bool with_rounds);
void prove_core_add_cut(Core *core, uint32_t ptx, uint32_t mach); /* of a block on each side */
/* What a place has where ways bring different things: a value of the PTX (of 64 bits with this high word, or
 * NULL), a location of which a part of a value is known, or nothing. */
Term *prove_core_variable(Core *core, uint32_t cut, uint32_t value, Term *high);
Term *prove_core_held(Core *core, uint32_t cut, uint32_t loc);
Term *prove_core_unknown(Core *core, uint32_t cut, uint32_t loc);
Term *prove_core_part(Terms *ts, Term *value, const Relation *relation);
/* Does an edge bring in a location what the relation says? A value that the PTX has not given its register is
 * what the first location has that is to hold it, word by word: prove_core_choose notes that. */
bool prove_core_brings(Core *core, const Edge *edge, uint32_t loc, const Relation *relation);
void prove_core_choose(const Edge *edge, uint32_t loc, const Relation *relation);
void prove_core_run_once(Core *core, Cut *cut);
/* The PTX of a region whose machine code was run; the machine chooses what registers hold that nobody wrote
 * (undefined.c). */
void prove_core_run_ptx(Core *core, Cut *cut, const uint8_t *stop);
void prove_core_run(Core *core, Cut *cut);   /* both sides, until their exits fit together */
void prove_core_edges(Core *core, Cut *cut); /* from the exits */
void prove_judge(Core *core, ProveReport *report, ProveFunc *out); /* what each region shows */
/* Has the function used up what it may; why, or NULL. */
const char *prove_core_exhausted(const Core *core);
void prove_core_start(Core *core);             /* the state at the function's entry, in core->entry */
struct ProveZ3 *prove_core_solver(Core *core); /* opened when it is first wanted; NULL: not there */

typedef struct {      /* a launch showed a difference */
    const char *what; /* NULL: none did */
    const char *where;
    uint32_t cut, ptx_at, mach_at;
    const ProveValue *values;
    uint32_t nvalues;
} ProveFinding;
typedef struct ProveSearch ProveSearch;
/* Of a kernel with differences that no inferred launch shows (check/prove/core/search.c). */
bool prove_search(Core *core, ProveReport *report, ProveFinding *found);
struct Judgement;
/* Where machine and PTX differ: block, thread, place and values. NULL: they do not. */
const char *prove_launch_shows(Arena *arena, const struct Judgement *judgement);
const char *prove_trials_show(ProveTrials *trials, uint32_t func); /* likewise */
void prove_trials_shown(ProveTrials *trials, uint32_t func,
                        const char *where); /* something else has shown it */
/* Keeps as refuted only what a launch shows, machine and reference interpreter both started at a kernel's
 * entry. */
void prove_confirm(ProveTrials *trials, ProveReport *report);
void prove_skip(ProveReport *report, ProveFunc *out, const char *why);
#endif
