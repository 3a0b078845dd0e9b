/* What the two halves of the uniformity analysis share: lower/uniform.c (data, calls) and lower/diverge.c
 * (control).
 *
 * The control half knows the shape of one function. Asked for the consequences of a divergent branch, it says
 * which blocks' phis, which blocks' flow and which values are divergent now: each once, in the queues below.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_UNIFORM_H
#define HEDDLE_LOWER_UNIFORM_H
#include "ir/cfg.h"

typedef VEC(uint32_t) UniQueue;

typedef struct {               /* who uses what, where: made once, for both halves */
    uint32_t *inst_block;      /* [inst] */
    uint32_t *user_at, *users; /* instructions that use value v: users[user_at[v] .. user_at[v + 1] - 1] */
} UniUses;

typedef struct { /* a value that is used outside the innermost loop around its definition */
    uint32_t value;
    uint32_t depth; /* of the innermost loop that holds the definition and all uses, 0: none does */
} Leaving;

typedef struct { /* what a branch's sides reach before its join was looked at, for values that leave `loop`
                    there */
    uint32_t join, loop;
} UniWalk;

typedef struct {
    Arena *a;
    Function *f;
    const UniUses *uses;
    Graph g;
    PostDom pd;
    LoopForest loops;
    uint64_t *steps; /* counts blocks, edges and values looked at */
    /* ---- what was found: the caller empties these ---- */
    UniQueue joins;  /* blocks where lanes of one instance come over different edges */
    UniQueue flows;  /* blocks to which some lanes may not come */
    UniQueue leaves; /* values that leave a loop in different iterations */
    /* ---- how far it has got; [block] where not said otherwise ---- */
    bool *branch_done, *joined, *flow;
    uint32_t
        *sweep; /* union-find: the nearest post-dominator, itself included, that no branch has swept over */
    uint32_t *beyond; /* in the inner part of a branch (see lower/diverge.c): what post-dominates that; or
                         NO_NODE */
    bool *behind_return;
    bool *is_candidate;        /* its phis, if it has any, tell apart where lanes come from */
    uint32_t *owner, *seen_in; /* the side that came here, in the round `seen_in` */
    uint32_t round;
    uint32_t *todo;    /* stacks of the sides and of what they close; also for whole walks */
    uint32_t *by_loop; /* reachable blocks, those of each loop together, outer loops first */
    uint32_t *loop_at; /* [loops.n + 2] blocks of the loop numbered k (Loop.in) start here in by_loop */
    uint32_t *irreducible_next; /* [position in by_loop] union-find: the next one not in a loop given up */
    uint32_t *unflagged; /* [loop] union-find: the next one outwards whose values may leave it uniform */
    uint32_t *unspoilt;  /* [loop] union-find: the next one outwards that is not given up as irreducible */
    uint32_t *outermost; /* [loop] the loop around it that is in no other, or itself */
    VEC(UniWalk) walks;
    uint32_t *walked; /* one of them that has come here, + 1; 0: none has */
    uint32_t *path,
        depth; /* [depth] of 1 to `depth`: the loops around the last one of `walks`, itself included */
    DomTree dom;
    uint32_t *latch_dom; /* [loop] dominates all ways back to the header */
    bool *round_exit, *odd_exit, *odd_use, *irreducible_above; /* [loop] see lower/diverge.c */
    Leaving *leaving;                                          /* in the order of by_loop */
    uint32_t *leaving_at;                                      /* [position in by_loop + 1] */
    uint32_t nleaving,
        *lowest; /* a segment tree over `leaving`: the smallest depth, UINT32_MAX where taken out */
} Divergence;

/* Everything about the control flow of f that does not depend on what is divergent. */
void uniform_control_start(Divergence *control, Arena *a, Function *f, const UniUses *uses, uint64_t *steps);
/* The end of `block` sends lanes different ways. */
void uniform_diverge(Divergence *control, uint32_t block);
/* Some lanes leave the function in `block`, others go on. */
void uniform_return_early(Divergence *control, uint32_t block);
/* Has the phi two different sources? If not, it does not matter from where a lane comes. */
bool uniform_phi_chooses(Function *f, const Inst *phi);
#endif
