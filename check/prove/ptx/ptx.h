/* Internals of the PTX side of the prover.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_PTX_H
#define HEDDLE_CHECK_PROVE_PTX_H
#include "check/prove/lane/internal.h"

typedef struct {
    Prover *prover;
    Run *run;
    uint8_t *stop; /* by block */
    Term **val, **mem;
    Term *const *first_mem; /* where the region begins: what never changes may be read from there */
    Term **reach;
    Term ***in_val;
    Term **entered;  /* by block: when it was executed last, or NULL */
    uint32_t rounds; /* of loops without counterpart */
    uint32_t rpo, at;
    const PtxInsn *in;
    Term *pc, *guard, *full;
    bool flow; /* the statement was control flow: it dealt with its guard itself */
    bool gone; /* nothing comes to the next statement */
    /* The membermask of the last collective; Prover.anyone: there was none since the region began, or a call
     * came in between. Whether all of them are there, the checkers say. */
    Term *together;
    bool *asked; /* by one of Prover.machine: it belongs to an earlier statement */
} Ptx;

void pv_leave(Ptx *ptx, ExitKind kind, uint32_t target, Term *cond);
void pv_fault(Ptx *ptx, const char *why);
Term *pv_value(Ptx *ptx, uint32_t index);          /* of the state, as seen under the guard */
void pv_set(Ptx *ptx, uint32_t index, Term *term); /* under the guard */
Term *pv_src(Ptx *ptx, const PtxOperand *operand,
             PtxType t); /* width 1, 32 or 64; narrow types zero-extended */
Term *pv_src_ext(Ptx *ptx, const PtxOperand *operand,
                 PtxType t); /* narrow types extended as their sign says */
void pv_dst(Ptx *ptx, const PtxOperand *operand, PtxType t,
            Term *term); /* to the register, extended as t says */
/* Half of a register of 128 bits: 64 bits each. */
Term *pv_half_src(Ptx *ptx, const PtxOperand *operand, unsigned half);
void pv_half_dst(Ptx *ptx, const PtxOperand *operand, unsigned half, Term *term);
Term *pv_event(Ptx *ptx, unsigned lists, const char *name, Term *const *args, uint32_t n);
/* The membermask of a collective, all without one; noted, as what the lanes behind it are. */
Term *pv_together(Ptx *ptx, unsigned operand);
Term *pv_address(Ptx *ptx, const PtxOperand *operand, unsigned width);
/* Words of memory to a destination or the elements of it; those of what is to be written, at most 4: how many
 * bytes they are. */
void pv_give(Ptx *ptx, const PtxOperand *operand, PtxType t, Term *const *w);
unsigned pv_take(Ptx *ptx, const PtxOperand *operand, PtxType t, Term **w);
Term *pv_symbol(Ptx *ptx, const PtxOperand *operand); /* address of a symbol plus offset, 64 bits */
/* x + -0 of one half: a NaN becomes the canonical one. */
/* The value of a texture's, sampler's or surface's name, 64 bits. */
Term *pv_named_handle(Ptx *ptx, const PtxOperand *operand);
Term *pv_half_canonical(Ptx *ptx, bool bf16, const char *mods, Term *half);
Term *pv_half_sums(Ptx *ptx, bool bf16, Term *a, Term *b); /* of both halves of two words */
/* Half h of two operands of type t compared; outcomes as t_fcmp. */
Term *pv_half_compare(Ptx *ptx, unsigned outcomes, PtxType t, const PtxOperand *a, const PtxOperand *b,
                      unsigned h);
PtxSpace pv_space(const Ptx *ptx, const PtxOperand *operand); /* of an access */
unsigned pv_order(const PtxInsn *in);                         /* MemOrder of an access */
bool pv_acquires(const PtxInsn *in);
bool pv_releases(const PtxInsn *in);
void pv_fence(Ptx *ptx, bool wanted);                  /* of the statement's scope */
void pv_acquire(Ptx *ptx, bool wanted);                /* the fence behind an acquire */
Term *prove_sreg(Ptx *ptx, const PtxOperand *operand); /* special register */
/* What frontend/ptx_forms.def names for a form: its meaning for one thread; false: not modelled with these
 * operands or modifiers. (prove_ptx_absent does not exist.) */
typedef bool ProvePtx(Ptx *ptx);
#define PROVE(name) prove_ptx_##name
#define prove_ptx_ABSENT(reason) prove_ptx_absent
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    ProvePtx prove;
#include "frontend/ptx_forms.def"
#undef PROVE
#undef prove_ptx_ABSENT
static inline PtxType pv_type(const Ptx *ptx) { return (PtxType)ptx->in->type[0]; }
static inline const PtxOperand *pv_operand(const Ptx *ptx, unsigned i) { return &ptx->in->operands[i]; }
static inline Term *pv_k32(Ptx *ptx, uint64_t v) { return t_const(&ptx->prover->ts, 32, v); }
static inline unsigned pv_bytes(PtxType t) { return ptx_type_bytes(t); }
static inline bool pv_signed(PtxType t) { return ptx_type_class(t) == TC_SIGNED; }
#endif
