/* What the parts of the prover share: states, runs of a region, cut points.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_INTERNAL_H
#define HEDDLE_CHECK_PROVE_INTERNAL_H
#include "check/flow/binflow.h"
#include "check/prove/prove.h"
#include "check/prove/terms/term.h"
#include "frontend/shared_layout.h"
#include "ir/loops.h"

enum {
    MEM_GLOBAL,
    MEM_SHARED,
    MEM_LOCAL,
    NGENERIC, /* those before it a generic address may lead to */
    MEM_WARP = NGENERIC,
    NMEM,             /* separate lists of events; generic ones are in all */
    MEM_CONST = NMEM, /* of accesses alone */
    MEM_PARAM,
    MEM_GENERIC,
    MEM_TABLE,     /* of jumps; its offset in the bank is no part of the address */
    MEM_READ_ONLY, /* loads of global memory by the cache that stores do not reach, besides */
    MEM_TEXTURE    /* fetches; the address is what is found, so that none but an equal one is there */
};
enum { MOST_STACK_MULTIPLE = 16 };                              /* what a kernel's stack begins at */
enum { LISTS_OF_A_WARP = 1u << MEM_GLOBAL | 1u << MEM_SHARED }; /* what bar.warp.sync orders */
/* Machine locations, numbered through. */
enum { LOC_R = 0, LOC_P = 256, LOC_UR = 264, LOC_UP = 328, LOC_SLOT = 336, MAX_SLOTS = 1024 };

typedef struct { /* a load or store: where it may fault */
    Term *guard, *addr;
    uint32_t space, bytes, at;
    bool store;
} Access;

typedef struct { /* lanes that are to execute something together */
    Term *guard, *mask;
    uint32_t at;
    bool gather; /* of the machine: waits before the WARPSYNC that is the next of the list */
} Sync;

/* EX_ANY: of the PTX, which says nothing of what happens then. EX_WILD: of the machine, a call of no function
 * that the PTX calls there; it fits only that. */
typedef enum { EX_CUT, EX_END, EX_TRAP, EX_RET, EX_ANY, EX_WILD } ExitKind;
typedef struct { /* one way out of a region */
    ExitKind kind;
    uint32_t target; /* EX_CUT: PTX block, or machine block */
    uint32_t at;     /* statement or instruction that leaves */
    Term *cond;
    Term **val; /* registers or locations there */
} Exit;

typedef struct RowTerms { /* of a row of the map: what its register had where it begins; NULL: not come to */
    Term *held;
    const struct RowTerms *before; /* likewise in the round before; NULL: there was none */
} RowTerms;

typedef struct {    /* symbolic execution of one region on one side */
    RowTerms *rows; /* by row of the map, or NULL */
    Term **seen;    /* of the machine, by branch that was executed: see guards.c; or NULL */
    Term *mem[NMEM];
    VEC(Access) accesses;
    VEC(Sync) syncs; /* in order; of the machine WARPSYNCs whose mask is in a register */
    VEC(Sync) asked; /* of the machine: who is there, asked in order; mask: of the WARPSYNC before */
    VEC(Exit) exits;
    bool guarded;      /* a guard, a select, or paths that meet inside */
    const char *fault; /* NULL, or why it could not be executed */
    uint32_t fault_at;
    uint32_t first, last; /* lowest and highest statement or instruction executed; first > last: none */
} Run;

typedef struct {           /* one basic block of the PTX */
    uint32_t first, end;   /* statements */
    uint32_t *succ, nsucc; /* of brx.idx by entry of its table */
    uint32_t rpo;          /* UINT32_MAX: unreachable */
    bool header;           /* a back edge leads here */
    uint64_t *live;        /* by value, bits: see live.c */
} PtxBlock;

typedef struct { /* an input whose value is known */
    const char *name;
    uint32_t value;
} Given;

typedef VEC(Term *) TermList;

typedef struct { /* rows of the map by what they begin behind: row + 1, then the next of the same; value: PTX
                    register, 0 */
    uint32_t *value, *of_inst, *next_of_inst, *of_statement, *next_of_statement;
} MapRows;

typedef struct Prover {
    Arena arena;      /* of this function */
    Arena *run_arena; /* of what runs: exits, accesses and what they point to */
    Terms ts;
    const PtxModule *module;
    const PtxFunc *pf;
    const SharedLayout *shared; /* of m; NULL: m is a file of the built-in library */
    uint64_t *const_at;         /* by variable of m: where the .const ones lie in their bank */
    uint32_t const_bytes;       /* all of them */
    const BinFlow *flow;
    const BinFunc *bf;
    const BinFuncFlow *ff;
    const ProveOptions *opt;
    uint32_t func; /* index in Binary.funcs */
    /* PTX */
    PtxBlock *blocks;
    uint32_t nblocks;
    uint32_t *block_of; /* by statement, ninsns + 1 entries */
    LoopForest ptx_loops;
    uint32_t *rpo; /* reachable blocks in order */
    uint32_t nrpo;
    uint32_t nptx; /* values of a state: registers, then the carry flag, then words of .param variables */
    uint32_t carry, *param_word; /* param_word: by variable, first value + 1 */
    uint32_t *upper,
        first_upper;        /* of registers of 128 bits, the value that is the upper half: by register, + 1 */
    uint32_t *frame_offset; /* by variable, offset + 1 of .local ones in the frame */
    uint32_t var_bytes;
    /* machine */
    uint32_t stack_multiple; /* of so many bytes is the stack pointer one where the function begins */
    bool misplaced;          /* a .local variable is not where its .align wants it */
    uint32_t nloc;
    uint32_t *rpo_of;           /* by machine block */
    uint32_t nseen, *branch_of; /* PROVE_SEEN for each of its branches; by instruction, + 1 */
    const BinFixup **fixup;     /* by instruction: its immediate is an address */
    bool joins_masks;           /* somewhere lanes of several masks in registers go on together */
    bool *orders;               /* by instruction: a WARPSYNC that stands for a bar.warp.sync */
    const bool *entered;        /* by instruction: as in BinCheckReport; they do nothing to a lane's values */
    Term **entry_val;           /* locations when the function is entered */
    bool *clobbers;             /* nfuncs * LOC_SLOT: what a function writes */
    const Run *machine;         /* of the region whose PTX is executed, or NULL */
    Term *anyone;               /* the lanes that execute a collective where no WARPSYNC names them */
    /* noted by the machine side: first steps of divisions, sums with a product that is not rounded; by the
     * PTX side: products that may be part of one (check/prove/lane/idiom.c) */
    TermList estimates, fused, products;
    uint32_t nuf;     /* uninterpreted functions made so far */
    uint8_t *assumed; /* by statement: bits of ProveAssumed that its execution noted */
    /* Bits of MEM_GLOBAL and MEM_SHARED: the PTX of the region has a load or store there that is volatile or
     * stronger, or an atomic operation. Of several that find or leave the same, each counts. In shared memory
     * no instruction says that it is one, so all of the region are events; in global memory none is where the
     * PTX has none: an access that is stronger than the PTX asks for (ld.ca, st.cg) is as good as a weak one.
     */
    unsigned watched;
    Given given[128]; /* of a launch: no variables */
    uint32_t ngiven;
    /* behind every machine instruction that is no control flow: locations before and after, and two words of
     * each source; exact: no result of it is an uninterpreted function */
    void (*watch)(void *user, const MachInst *in, uint32_t at, bool exact, Term *full, Term *const *before,
                  Term *const *after, Term *const *words);
    void *watch_user;
    MapRows rows;
    /* routines inside the function (check/prove/mach/subroutine.c); files of those that are known */
    VEC(struct ProveRoutine *) routines;
    PtxModule **foreign;
    bool in_routine;    /* one of them is being executed */
    bool foreign_steps; /* steps of another compiler were taken for an operation of floats */
} Prover;

void prove_foreign_free(Prover *prover);

/* The map's register rows (check/prove/lane/rows.c): noted as both sides run, and compared. NULL: none is
 * wrong.
 */
void prove_rows_setup(Prover *prover);
void prove_rows_after_statement(Prover *prover, Run *run, uint32_t statement, Term *const *val);
void prove_rows_after_inst(Prover *prover, Run *run, uint32_t inst, Term *const *val);
const char *prove_rows_wrong(Prover *prover, const Run *ptx, const Run *mach, uint32_t *statement,
                             uint32_t *inst);

Term *prove_input(Prover *prover, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));                            /* 32-bit input variable */
uint64_t prove_param_offset(const Prover *prover, const PtxVar *var); /* of a kernel, in its block */
Term *prove_param(Prover *prover, uint64_t offset,
                  unsigned bytes);     /* kernel parameter bytes, zero-extended word */
bool prove_is_param(const Term *term); /* is it such a word? */
/* The same at an address that is not known, counted as the constant bank does. */
Term *prove_param_at(Prover *prover, Term *addr, unsigned bytes);
Term *prove_sp(Prover *prover); /* stack pointer at entry */
Term *prove_const3(Prover *prover, Term *addr, unsigned bytes, bool sign);
Term *prove_address(Prover *prover, uint32_t var); /* of a global variable, 64 bits */
/* UF of 32-bit or 64-bit results. */
Term *prove_uf(Prover *prover, unsigned width, const char *name, Term *const *a, uint32_t n);
Term *prove_uf_sorted(Prover *prover, unsigned width, const char *name, Term *term, Term *y);
Term *prove_tf32_factor(Terms *ts, Term *word); /* of a product of matrices, as such a product sees it */

/* The proof of `statement` rests on `kind`. */
void prove_assume(Prover *prover, uint32_t statement, ProveAssumed kind);

/* A loop around compare-and-swap is one event of this name: its arguments are the address and what is stored,
 * as a function of the old value, whose words these are (in arguments of such events only). */
const char *prove_loop_name(Prover *prover, unsigned bytes, unsigned order);
Term *prove_old_word(Prover *prover, unsigned word);

/* Is a generic address in a space (QspcSpace)? A function of it, of which nothing is known. */
Term *prove_space(Prover *prover, unsigned space, Term *address);
/* Where the machine may refuse an atomic operation at a generic address; when it does it: as little is known
 * of that, but where local memory is all that is refused. */
typedef enum { REFUSED_NOWHERE, REFUSED_LOCAL, REFUSED_SHARED, REFUSED_CLUSTER } Refusal;
Term *prove_atom_did(Prover *prover, Refusal where, Term *address);

void prove_note(Prover *prover, TermList *list, Term *term);
/* a / b or a % b of 32 bits as the machine computes it; NULL: it does not. */
Term *prove_division(Prover *prover, bool rem, bool sign, Term *a, Term *b);
/* What our own steps compute for unsigned operands, b not zero where it is a quotient. */
Term *prove_divided(Prover *prover, bool rem, Term *a, Term *b);
/* a + b or a - b, of which one is a product, rounded once as the machine did it; NULL: it did not. */
Term *prove_contracted(Prover *prover, Term *a, Term *b, bool subtract, bool ftz);
/* Where two ways meet with `both`: x if `first`, else y; known sequences are their operation
 * (check/prove/mach/rounded.c). */
Term *prove_merged(Prover *prover, Term *first, Term *both, Term *x, Term *y);

/* What a weak generic load finds: what a store left there, or a function of its address and of all memory. */
Term *prove_generic(Prover *prover, Term *const *mem, Term *guard, Term *addr, unsigned bytes);
void prove_generic_store(Prover *prover, Term **mem, Term *guard, Term *addr, unsigned bytes,
                         Term *const *words);

/* PTX side. `stop[b]`: leave the region where block b starts. */
bool prove_ptx_graph(Prover *prover);
/* What a vote or match gives of the lanes of its mask: a bit of each. what: the event */
Term *prove_voted(Terms *ts, Term *what, Term *lanes);
/* Has nobody of those here another value than this lane? alike: the answer of match.any, here: of a vote */
Term *prove_all_alike(Terms *ts, Term *alike, Term *here);
#define PROVE_NO_BLOCK UINT32_MAX
void prove_ptx_live(Prover *prover); /* part of it */
/* May the value still be read where the block begins? */
bool prove_ptx_wanted(const Prover *prover, uint32_t block, uint32_t value);
/* May its term become another with each round of a loop, but for a number? */
bool prove_ptx_grows(const Prover *prover, uint32_t header, uint32_t value);
bool prove_ptx_orders_warps(const Prover *prover); /* a bar.warp.sync is in the function */
/* Is there a load or store of shared memory that is not weak from this block on, up to where `stop` says? */
unsigned prove_ptx_watched(Prover *prover, uint32_t block, const uint8_t *stop); /* see Prover */
/* Entries that the jump table at this place would have if the function's long tables lay one after the other;
 * 0: there is none. */
uint32_t prove_ptx_table_entries(const Prover *prover, uint32_t offset_bytes);
enum { PROVE_MOST_CALLEES = 64 };
/* Functions that an indirect call may reach: those of its list, or all of its prototype's form whose address
 * is taken. False: not modelled. */
bool prove_ptx_callees(Prover *prover, const PtxInsn *call, uint32_t *out, uint32_t *n);
Term *prove_function_address(Prover *prover, uint32_t func);    /* its address, by index in the module */
uint32_t prove_ptx_width(const Prover *prover, uint32_t value); /* 1, 32 or 64 */
bool prove_ptx_short(const Prover *prover, uint32_t value);     /* kept as 16 bits, zero-extended */
const char *prove_ptx_name(const Prover *prover, uint32_t value);
void prove_ptx_entry(Prover *prover, Term **val);
/* Up to blocks that end the region when they are come to; STOP_HERE + n: after n times. */
enum { STOP_NOT, STOP_HERE };
void prove_ptx_run(Prover *prover, uint32_t block, Term *const *val, Term *const *mem, const uint8_t *stop,
                   Run *run);

/* The same without a step: the region is left as it is entered. */
void prove_ptx_stay(Prover *prover, uint32_t block, Term *const *val, Term *const *mem, Run *run);

/* Machine side. */
bool prove_mach_setup(Prover *prover);
void prove_guards_setup(Prover *prover); /* part of it */
enum { PROVE_SEEN = 8 };                 /* of each branch: its guard, P0 to P6 */
void prove_guards_note(Prover *prover, Run *run, uint32_t at, Term *guard, Term *const *val);
uint32_t prove_loc_width(uint32_t loc);
void prove_loc_name(uint32_t loc, char out[24]);
void prove_mach_entry(Prover *prover, Term **val);
void prove_mach_run(Prover *prover, uint32_t block, Term *const *val, Term *const *mem, const bool *stop,
                    Run *run);

/* Calling convention, for device functions. */
typedef struct {
    uint32_t value;
    unsigned words;
    int reg;
    bool pred;
} AbiSlot; /* value: variable index */
typedef struct {
    AbiSlot at[16];
    uint32_t n;
    bool stack;
} AbiPlan;
void prove_abi(const Prover *prover, const uint32_t *vars, uint32_t n, AbiPlan *out);

/* Z3, loaded on demand. */
typedef enum { ZQ_VALID, ZQ_INVALID, ZQ_UNKNOWN } ZqResult;
struct ProveZ3 *prove_z3_open(void); /* NULL: the library is not there */
void prove_z3_close(struct ProveZ3 *z3);
/* Is `x == y` wherever `cond` holds? */
ZqResult prove_z3_equal(struct ProveZ3 *z3, Terms *ts, Term *cond, Term *x, Term *y, bool bit_precise,
                        double seconds);
typedef struct {
    const Term *term;
    uint64_t value;
} ZqValue;
/* Values of terms under which all of `holds` are true and x and y differ (NULL: no more); floating-point
 * arithmetic as it is. ZQ_INVALID: they were found. */
ZqResult prove_z3_values(struct ProveZ3 *z3, Terms *ts, Term *const *holds, uint32_t nholds, Term *x, Term *y,
                         ZqValue *values, uint32_t nvalues, double seconds);
#endif
