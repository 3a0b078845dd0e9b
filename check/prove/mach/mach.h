/* Internals of the machine side of the prover.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_MACH_H
#define HEDDLE_CHECK_PROVE_MACH_H
#include "check/flow/question.h"
#include "check/prove/lane/internal.h"

typedef struct {
    Prover *prover;
    Run *run;
    const bool *stop; /* by block of the function */
    Term **val;       /* locations, now */
    Term **mem;
    Term *const *first_mem; /* where the region begins: what never changes may be read from there */
    Term **reach;           /* by block: when it is reached */
    Term ***in_val;         /* by block: locations at its start */
    uint32_t rpo;           /* of the block that runs */
    uint32_t at;
    const MachInst *in;
    Term *pc, *guard, *full; /* path condition, the instruction's guard, both */
    Term *care;              /* NULL, or when what registers hold matters to the instruction */
    /* of the instruction: bits of its modifiers, sources and destinations that its model has used */
    uint32_t looked;
    uint32_t looked_src, written;
    bool fixed;                   /* its relocation was read */
    Term *reduced, *reduced_when; /* the last BAR.RED of the block, and its condition; NULL: none */
    Term *together;               /* the lanes of the last WARPSYNC, as Ptx.together */
    Term *active;                 /* what the VOTE at active_at said: who is active; NULL: none */
    uint32_t active_at;
    bool with_others; /* between a question for the lanes of a mask in R and where its ways meet */
} Mach;

/* A modifier of the instruction. What nobody looks at must have its default: see mach_data. */
#define MOD(OP, field) MGET(OP, field, mach_mods(mach, (uint32_t)OP##_##field##_MASK << OP##_##field##_LO))

static inline Term *mach_k32(Mach *mach, uint64_t v) { return t_const(&mach->prover->ts, 32, v); }
uint32_t mach_mods(Mach *mach, uint32_t looked);
Term *mach_pred_at(Mach *mach, unsigned i); /* source i */
/* A comparison's result with source 2; source 2 says where the others matter. */
Term *mach_bool_op(Mach *mach, unsigned bop, Term *r, Term *pp);
void mach_cares(Mach *mach, unsigned bop);
void mach_put_compare(Mach *mach, unsigned bop, Term *r, Term *pp); /* both results */
bool mach_integer(Mach *mach);        /* words from words; false: another instruction */
bool mach_halves(Mach *mach);         /* packed half precision; false: not modelled */
bool mach_bits(Mach *mach);           /* dot products, permutations, spaces; false: not modelled */
void mach_data(Mach *mach);           /* all that is no control flow */
void mach_check_unlooked(Mach *mach); /* what nobody looked at must have its default, else unknown */
void mach_fault(Mach *mach, const char *why);
Term *mach_get(Mach *mach, uint32_t loc);
void mach_set(Mach *mach, uint32_t loc, Term *v);                             /* under the guard */
bool mach_jump_word(const Mach *mach, uint32_t offset_bytes, uint32_t *word); /* of constant bank 2 */
Term *mach_cmem(Mach *mach, uint32_t bank, uint32_t offset_bytes);            /* a word of a constant bank */
void mach_in_launch_bank(Mach *mach, uint32_t offset_bytes);                  /* else unknown */
Term *mach_pred(Mach *mach, Operand o);
Term *mach_shared_size(Mach *mach);                  /* of a block, the system's part included */
Term *mach_plain_pred(Mach *mach, Operand o);        /* the same, whatever the path */
Term *mach_word(Mach *mach, unsigned i, unsigned c); /* it has no modifier but .reuse */
Term *mach_plain(Mach *mach, unsigned i, unsigned c, unsigned mods); /* `mods` are the caller's */
Term *mach_int(Mach *mach, unsigned i, bool complement);
Term *mach_f32(Mach *mach, unsigned i);
Term *mach_f64(Mach *mach, unsigned i);
Term *mach_pair(Mach *mach, unsigned i, unsigned mods);
void mach_put(Mach *mach, unsigned i, unsigned c, Term *term);
void mach_put64(Mach *mach, unsigned i, Term *term);
void mach_put_pred(Mach *mach, unsigned i, Term *term);
Term *mach_address(Mach *mach, bool wide, unsigned stride);
bool mach_memory(Mach *mach);  /* loads, stores, atomic operations; false: another instruction */
bool mach_matrix(Mach *mach);  /* likewise */
bool mach_texture(Mach *mach); /* likewise, or not modelled */
void mach_note_access(Mach *mach, Term *addr, unsigned bytes, unsigned space, bool store);
unsigned mach_order(const Mach *mach, unsigned order); /* of an access as the proof takes it */
void mach_load(Mach *mach, unsigned space, Term *addr, unsigned sz, unsigned order);
void mach_store(Mach *mach, unsigned space, Term *addr, unsigned sz, unsigned order);
Term *mach_event(Mach *mach, unsigned lists, const char *name, Term *const *args, uint32_t n);
unsigned mach_size(const Mach *mach, unsigned sz, bool *sign); /* bytes; sz: its MemSz */
void mach_at(Mach *mach, uint32_t at); /* comes to an instruction: its guard is evaluated */
bool mach_inst(Mach *mach);            /* executes one that is no branch; false: control does not go on */
void mach_clobber(Mach *mach, uint32_t func);
void mach_check_way_back(Mach *mach, uint32_t call);
void mach_writes(const BinFlow *flow, const MachInst *in, bool *written); /* by location */
/* A loop around compare-and-swap (check/prove/mach/cas_loop.c), up to where it is left to; false: it is none.
 */
bool mach_cas_loop(Mach *mach, uint32_t head, uint32_t *exit);
/* The address and the words to store of a compare-and-swap, in arg; false: it expects other words than these.
 */
bool mach_swap(Mach *mach, unsigned words, Term **arg, Term *const *expected);
/* Where ATOM may refuse an operation (AtomOp, AtomType); a compare-and-swap of 64 bits is as EXCH is. */
Refusal mach_refusal(const Mach *mach, unsigned op, unsigned type);
/* A call of a function that no PTX has (check/prove/mach/routine.c); false: it is none that is known. */
bool mach_routine(Mach *mach, uint32_t func);
/* A call of a place inside the function, an instruction (check/prove/mach/subroutine.c); false: of no routine
 * that is known. */
bool mach_subroutine(Mach *mach, uint32_t target);
/* Behind a BRA.DIV at the end of `block`, or a branch that asks (or NULL), which some lanes take for reasons
 * of others: both ways, up to where they meet again; false: it is nothing of that form. */
bool mach_apart(Mach *mach, const BinBlock *block, Term *taken, const BinQuestion *question, uint32_t *join);
bool prove_joins_masks(const BinFlow *flow,
                       uint32_t at); /* does WARPSYNC let lanes of several go on together? */
/* Straight code inside the function, to its RET, as if it stood where it is called; false: it is none. */
bool mach_straight(Mach *mach, uint32_t target);
Term *prove_fchk(Prover *prover, Term *a, Term *b); /* does a / b need the slow way? */
bool prove_builtin(const char *name, AbiPlan *in, AbiPlan *out);
#endif
