/* The data flow over joins that the rules on barrier registers share: barriers.c makes it, leaving.c looks
 * for ways out of regions. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_BARRIERS_H
#define HEDDLE_CHECK_STATIC_BARRIERS_H
#include "check/static/kept.h"

enum { NUM_B = 16 };

typedef struct {
    uint8_t reg;
    uint32_t target; /* encoded syncpoint */
    uint32_t sync;   /* the BSYNC that it names, or NONE */
    uint32_t bssy;   /* first BSSY of it */
    Bitset before;   /* joins that may be pending at its BSYNC */
    uint32_t at;     /* such a BSYNC */
    uint64_t saved;  /* bit k % 64 of each of Barriers.saves that keeps it while its register has others */
    uint32_t by;     /* the one of them; NONE: there are several */
    uint32_t moved;  /* the join that it is once another barrier register takes it back + 1 */
    Bitset near;     /* see check_is_gone, made when first asked for */
} Join;

typedef uint16_t
    Literals; /* predicates that hold together: bit p, negated p bit p + 8; 0: nothing is known */

typedef struct {
    Bitset pend, must, saved, saved_must; /* the last two: not in its register, and will come back */
    uint16_t held, kept, lost; /* kept: of the caller, and saved; lost: kept, and overwritten since */
    Literals left[NUM_B];      /* lanes for which these hold have left the register */
    bool reached;
} State;

typedef struct {
    Checker *checker;
    const Proc *proc;
    uint32_t base; /* first block of the function */
    VEC(Join) joins;
    Bitset of_reg[NUM_B];        /* joins, when all are known */
    Bitset open;                 /* joins that may be pending at another BSSY of their register */
    uint32_t first_inst, ninsts; /* of the function */
    uint32_t *join_at;           /* [inst - first_inst] join of the BSSY + 1 */
    uint32_t *by_target;         /* [target - first_inst, the last for others] last join of the place + 1 */
    VEC(uint32_t) previous;      /* [join] the one before of the same place + 1 */
    State *in;                   /* by block - base */
    VEC(uint32_t) saves;         /* BMOVs that save a barrier register */
    VEC(KeptUse) restores;       /* BMOVs that write one, and of which save that is */
    bool moved;                  /* a join was found to be saved by another one */
} Barriers;

/* Is instruction i of the function a BSYNC of the register? */
bool check_is_sync_of(const Checker *checker, uint32_t i, unsigned reg, uint32_t func);
State check_new_state(Barriers *barriers); /* nothing is pending, not reached */
void check_copy_state(State *to, const State *from);
void check_barrier_step(Barriers *barriers, State *state, uint32_t i);
/* Lanes that take this edge and are known to have left some registers. */
void check_leave_on_edge(Barriers *barriers, State *state, uint32_t last, BinEdgeKind kind);
uint32_t check_join_of(Barriers *barriers, uint32_t bssy);
/* The predicates under which an instruction is executed; 0 if there are none, or others than P registers. */
Literals check_guard_literals(const MachInst *inst);
Literals check_written_literals(const MachInst *inst); /* of which it changes the values */
void check_again(Barriers *barriers);                  /* R-08, of joins that are pending on some ways */
void check_leaving(Barriers *barriers);                /* for endless loops */
/* Do lanes of join j that come to this block never meet those again that pass its BSYNC? */
bool check_is_gone(Barriers *barriers, uint32_t j, uint32_t block);
#endif
