/* What the parts of reconvergence insertion share: reconverge.c (the module, calls, reports),
 * lower/reconverge/join.c (which joins, where lanes are pending in them, register numbers),
 * lower/reconverge/place.c, lower/reconverge/order.c, lower/reconverge/expect.c and
 * lower/reconverge/compared.c, lower/reconverge/heads.c (auto mode: candidates, sets of them, what they would
 * cost, values that branches have in common, loops with one header), lower/reconverge/insert.c (the
 * instructions), lower/reconverge/together.c, lower/reconverge/sync.c, lower/reconverge/stub.c and
 * lower/reconverge/gather.c, lower/reconverge/ballot.c, lower/reconverge/fast.c, lower/reconverge/ask.c,
 * lower/reconverge/votes.c (collectives), lower/reconverge/yield.c,
 * lower/reconverge/retry.c (progress),
 * lower/reconverge/check.c and lower/reconverge/meet.c (the rules, checked on the result).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_RECONVERGE_RECONVERGE_H
#define HEDDLE_LOWER_RECONVERGE_RECONVERGE_H
#include "ir/callgraph.h"
#include "isa/machine/abi.h"
#include "isa/machine/system.h"
#include "ir/cfg.h"
#include "ir/loops.h"
#include "lower/passes.h"

enum {
    NUM_B = 16,
    GATHER_B = 2 /* of the function in which lanes gather */,
    RECONV_MOST_PLACED = 4096 /* blocks of a function in auto mode */
};
#define NO_JOIN UINT32_MAX

typedef struct {
    uint32_t block;
    uint32_t meet; /* where its BSYNC is, once put in: `block`, or before the loop that it heads */
    uint8_t reg;   /* NUM_B: none */
    bool ipdom;    /* it is the immediate post-dominator of a divergent branch */
    bool scoped;   /* lanes wait for those that come to it within one round of `loop`; BREAK for the others */
    bool dropped;
    bool rounds; /* it is in a loop inside `loop`, and lanes wait for those that come in a later round of that
                  */
    uint32_t loop;         /* if scoped: index, or NO_NODE for the whole function */
    uint32_t number;       /* in auto mode: of the candidate */
    ReconvReason why;      /* if dropped */
    int64_t profit;        /* of its early branches, or in auto mode of the join, in instructions */
    VEC(uint32_t) places;  /* blocks at whose end its BSSY stands, for post-dominated branches */
    VEC(uint32_t) early;   /* the same for branches that it does not post-dominate; empty when given up */
    VEC(GraphEdge) breaks; /* edges with a BREAK */
    VEC(uint32_t) in, out; /* blocks at whose beginning or end a lane may be pending */
} Join;

typedef struct Search Search; /* lower/reconverge/place.h */
typedef struct {
    Arena a;
    Function *f;
    Graph g;
    PostDom pd;
    LoopForest loops;
    GraphOrder order;
    uint32_t *join_at; /* [block] join that it carries, or NO_JOIN */
    bool *recurs;      /* [block] it has a call that may lead back to the function; NULL: none has */
    bool *may_join;    /* [block] auto mode: it is a candidate */
    int64_t *refused;  /* [block] auto mode: profit of a join there that was refused; NULL: not asked for */
    uint32_t first_parted; /* blocks from here on are such headers */
    Search *search; /* auto mode: what has not yet told the joins' profits; NULL: nothing is left to tell */
    VEC(Join) joins;
    unsigned num_b;                /* registers from here on are not for joins */
    uint16_t *used_in, *used_out;  /* [block] registers that may be pending at its beginning, its end */
    uint32_t *stack, *mark, round; /* for walks: mark[n] == round */
    uint64_t entries;              /* in all lists of all joins */
    uint8_t *depth; /* [block] joins of the lists so far that may be pending at its end, up to MOST_PENDING */
    bool *apart;    /* [block] the warp need not be together at its beginning */
    bool no_early;  /* ipdom mode */
    bool all_early; /* no profit test */
    bool automatic; /* auto mode: every join has a profit and may be given up */
    bool yield_breaks;
} Reconv;

static inline bool join_is_live(const Join *join) { return !join->dropped && join->reg < NUM_B; }
/* Live join of a block, or NULL. */
static inline Join *live_join(const Reconv *reconv, uint32_t block) {
    uint32_t j = reconv->join_at[block];
    return j != NO_JOIN && join_is_live(&reconv->joins.at[j]) ? &reconv->joins.at[j] : NULL;
}
/* Registers in which lanes may be pending inside the block, its own join passed. */
static inline uint16_t pending_inside(const Reconv *reconv, uint32_t block) {
    const Join *join = live_join(reconv, block);
    return (uint16_t)(reconv->used_in[block] & ~(join ? 1u << join->reg : 0));
}
static inline unsigned above(uint16_t pending) {
    return pending ? 32u - (unsigned)__builtin_clz(pending) : 0;
}

/* The branch that ends the block; its last instruction if there is none. */
const Inst *reconv_branch(const Function *f, const Block *b);
/* Nothing is left to do together where a block only leads to EXIT. */
bool reconv_only_exits(const Function *f, uint32_t block);

/* Joins, where lanes are pending, register numbers from `base`. join_of: [block] immediate post-dominator at
 * which the block's divergent branch joins, 0 none. divergent: [block] */
void reconv_find_joins(Reconv *reconv, const uint32_t *join_of, const bool *divergent, unsigned base);
/* The block's join, made where there is none. */
Join *reconv_add_join(Reconv *reconv, uint32_t block);
/* Where lanes are pending in the join (in, out) and its breaks, by its places. False, and nothing filled: a
 * return could not be kept out, or the lists of all joins get too long. state: [block] all 0, and so again
 * afterwards */
bool reconv_solve_join(Reconv *reconv, Join *join, uint8_t *state);
/* needed[b] becomes 1 for those of the join's places (solved) where BSSY adds anything: not where lanes are
 * pending on every way there. must, needed: [block] all 0; must is so again afterwards */
void reconv_mark_needed(const Reconv *reconv, const Join *join, uint8_t *must, uint8_t *needed);
/* Marks the blocks from which lanes that are pending in the join can come to it: mark[n] == the result. */
uint32_t reconv_mark_reaching(Reconv *reconv, const Join *join);
/* A block from which BSSY serves all iterations of the loops that hold `block` but not the join; else
 * `block`. */
uint32_t reconv_hoisted(const Reconv *reconv, uint32_t block, uint32_t join);
/* Joins where sides of a divergent branch meet first, with those branches in `early`. divergent: [block] */
void reconv_find_early(Reconv *reconv, const bool *divergent);
/* auto mode: fills joins (lower/reconverge/place.c). */
void reconv_place(Reconv *reconv, const uint32_t *join_of, const bool *divergent, unsigned base,
                  uint8_t *state);
/* auto mode: what each join of reconv_place is worth, should registers run out. To be called before a profit
 * is read, and before joins are added. */
void reconv_find_profits(Reconv *reconv);

/* auto mode: gives the outer one of two loops with one header a header of its own (lower/reconverge/heads.c).
 * Returns Reconv.first_parted. */
uint32_t reconv_part_headers(Function *f);
/* Takes those away that no BSSY or BSYNC was put into. */
void reconv_drop_headers(const Reconv *reconv);
/* The header of the inner loop, of a block that was made so; else 0. */
uint32_t reconv_parted_header(const Reconv *reconv, uint32_t block);
/* Does the join (solved) stand at a loop's header, for lanes from outside of the loop alone?
 */
bool reconv_waits_outside(const Reconv *reconv, const Join *join);
/* The block that those come through, and from which they go on to the header alone; put there if there is
 * none. After it blocks' orders have to be numbered again. */
BlockId reconv_part_entry(Reconv *reconv, uint32_t header);

/* ---- loops around a compare-and-swap that end without other lanes (lower/reconverge/retry.c) ---- */
typedef struct {
    LoopForest loops;
    uint32_t *alone; /* [block] 1 + the loop that waits for nobody, of all that observes there; 0: none */
} Retries;
Retries reconv_find_retries(Arena *a, const Function *f, const Graph *graph);
/* May a lane that goes from the observing block by the other one and back wait for others? */
bool reconv_may_wait_on_way(const Retries *retries, uint32_t block, uint32_t by);

/* ---- values that several branches compare with numbers (lower/reconverge/compared.c) ---- */
typedef struct Compared Compared;
/* divergent: [block] */
Compared *reconv_find_compared(Reconv *reconv, const bool *divergent, bool counts);
/* [block] not 0: phis there are of those that an edge decides. */
const uint32_t *reconv_compared_blocks(const Compared *compared);
/* A lane's way begins, and goes along an edge to such a block: what phis choose by it is known then. lane:
 * those of the next warp follow; visits: [block] how often the lane came to it so far */
void reconv_compared_start(Compared *compared);
void reconv_compared_edge(Compared *compared, uint32_t from, uint32_t to, uint64_t lane,
                          const uint32_t *visits);
/* The successor slot that the lane takes at the end of block b, as follows from the numbers that are known of
 * it, and (draws) from those drawn for it; NO_NODE where they do not tell. */
uint32_t reconv_compared_slot(Compared *compared, const Reconv *reconv, uint32_t b, uint64_t lane,
                              const uint32_t *visits, bool draws);

/* [edge] copies that phis are expected to cost there (lower/reconverge/copies.c). */
uint8_t *reconv_expected_copies(Reconv *reconv, const DomTree *dom);

/* ---- expected issues (lower/reconverge/expect.c) ---- */
typedef struct Expect Expect;
/* Lanes of warps with their ways through the function, drawn once. dom: dominators; divergent: [block] */
Expect *reconv_expect(Reconv *reconv, const DomTree *dom, const bool *divergent);
/* What the warp issues with these joins (of which places, breaks and block count), in units of its own; more
 * than `limit` means no more than that it is more. */
uint64_t reconv_expected_issues(Expect *expect, const Join *const *joins, unsigned n, uint64_t limit);
/* [block] how often each is issued with these joins; until the next run */
const uint32_t *reconv_count_issues(Expect *expect, const Join *const *joins, unsigned n);
/* Of a block's issues, in units, what is above those of the lanes that come there most often. */
uint64_t reconv_expect_spare(const Expect *expect, const uint32_t *issued, uint32_t block);
/* Do lanes come by any place of this join? Without it the warp does the same if none does. */
bool reconv_expect_meets(const Expect *expect, const Join *join);
/* Of all lanes of one warp at most so many come by a place of the join. */
unsigned reconv_expect_lanes(Expect *expect, const Join *join);
/* Does the warp do the same with one join as with the other of the same block? */
bool reconv_expect_alike(const Expect *expect, const Join *one, const Join *other);
/* Such units as warp instructions, of one warp. */
double reconv_expected_instructions(int64_t units);
/* So many times as many warps as without a profile: times the cost. */
unsigned reconv_expect_times(const Expect *expect);
/* And so many times the steps, as ways are longer, too. */
unsigned reconv_expect_length(const Expect *expect);
uint64_t
reconv_expect_steps(const Expect *expect);        /* of all calls so far: groups of lanes that ran a block */
uint64_t reconv_expect_ran(const Expect *expect); /* of them those that were not remembered */
/* So many steps as the run before that gave the same. */
void reconv_expect_repeat(Expect *expect, uint64_t steps);

/* ---- joins in recursive functions (lower/reconverge/entered.c) ---- */
typedef struct {      /* a function of those that call each other */
    Reconv reconv;    /* the joins have their registers */
    bool *divergent;  /* [block] its branch parts lanes */
    uint32_t reports; /* the first of IrModule.reconv that speaks of it */
} ReconvMember;
typedef struct {
    Function *in;        /* NULL: there is none */
    uint32_t from, join; /* blocks: in which lanes are asked, and where they meet */
    bool at_entry;       /* at the beginning of `from`, the function's entry; else before its branch */
} ReconvEntered;
/* Where lanes meet for which a call back parts them: one place for all functions that call each other. */
ReconvEntered reconv_find_entered(const CallGraph *calls, ReconvMember *members, uint32_t n);
void reconv_insert_entered(ReconvEntered pair);
/* [func] a call of it may wait for lanes elsewhere, or at a collective */
bool *reconv_waiting_functions(Arena *a, const CallGraph *calls, const IrModule *module,
                               const bool *observes);

/* BSSY, BSYNC, BREAK of the live joins. */
void reconv_insert(Reconv *reconv);
/* Where the warp may be apart, before instructions are inserted (lower/reconverge/together.c). */
void reconv_find_together(Reconv *reconv);
/* A barrier or collective of all lanes. */
bool reconv_of_all_lanes(const Function *f, const Inst *i);
/* Is the warp together behind it, those that it takes out left aside? together: it is before */
bool reconv_step_together(const Function *f, const Inst *i, bool together);
/* Is the instruction a collective of the lanes that are active, because its mask is *active, the answer of a
 * VOTE (activemask) since which the machine has changed none of them? It waits for nobody. *active: in a
 * block, from before the instruction to behind it; OPK_NONE: nothing was asked. */
bool reconv_step_active(Function *f, const Inst *i, Operand *active);
/* WARPSYNC (and YIELD) before collectives; BREAK and BSSY around YIELD if asked for. base: see Module. */
bool reconv_cover(Reconv *reconv, unsigned base, Diags *diags);
/* May other lanes be active behind it than before it? */
bool reconv_changes_active(const Inst *i);

/* Making functions and calls: instructions go before position `at`. */
typedef struct {
    Function *f;
    BlockId block;
    unsigned at;
    LocId loc;
} ReconvPlace;
InstId reconv_place_inst(ReconvPlace *place, unsigned op, unsigned ndst, unsigned nsrc);
InstId reconv_place_op(ReconvPlace *place, unsigned op); /* with the operands of the optype */
/* LOP3 of two masks of lanes; slot: LOP3_rd for the word, or LOP3_pu for whether it names any lane. lut: of
 * isa/machine/luts.h. */
void reconv_place_masks(ReconvPlace *place, unsigned lut, unsigned slot, Operand to, Operand a, Operand b);
Operand reconv_value(Function *f, RegFile file);  /* a new one */
Operand reconv_fixed_value(Function *f, int reg); /* in register R`reg` */

/* The function in which lanes wait until all of their mask are there (lower/reconverge/gather.c). */
Function *reconv_make_gather(IrModule *module);
/* A call of it; mask: an immediate or a value in R. */
void reconv_call_gather(ReconvPlace *place, const Function *gather, Operand mask);
/* Gives it its barrier registers, `first` and the one behind, which no other function of the module uses. */
void reconv_number_gather(Function *gather, unsigned first);
/* A mask that names exactly the lanes of one side of a branch (lower/reconverge/ballot.c). */
typedef struct {
    InstId vote; /* 0: it is none that is known */
    bool complement;
} ReconvBallot;
/* block: where the mask is used; dom: dominators */
ReconvBallot reconv_ballot_of(const Function *f, const DomTree *dom, uint32_t block, Operand mask);
/* Of different votes or sides of one, in one function? Then lanes at them never wait for each other. */
bool reconv_other_ballot(ReconvBallot one, ReconvBallot other);

/* Has each lane take from a vote the part of its mask, where that can be: the vote is IF_MASKED then, and may
 * be one with lanes of other masks (lower/reconverge/votes.c). */
void reconv_mask_vote(Function *f, BlockId block, InstId vote, Operand mask);
/* Makes two votes of each vote.uni and match.all whose mask may be another for each lane, of which each can
 * be divided so. Before sites are noted. */
void reconv_divide_votes(IrModule *module);

/* A collective as it was before stubs were made and masks were taken away, for the checks of the result. */
typedef struct {
    Function *f;
    uint32_t block;  /* that every lane passes on its way to it */
    uint32_t stands; /* the block in which it is, or the call of its stub */
    InstId inst;
    uint16_t op;
    uint32_t mods;
    Operand mask, id; /* id: of a BAR */
    LocId loc;
    bool uniform, aligned, of_active;
    ReconvBallot ballot;
} SyncSite;
typedef struct { /* a function that is no stub, and its instructions so far */
    const Function *f;
    uint32_t ninsts;
} SyncFunction;
typedef struct {
    Arena a;
    VEC(SyncSite) sites; /* sorted */
    VEC(SyncFunction) funcs;
} SyncNotes;
/* Collectives that may meet each other from several places go through stubs, which become the module's first
 * functions. Returns how many. notes: those of the module, whose blocks are kept right; or NULL. *gather:
 * NULL, or the function in which lanes gather, one of them. */
unsigned reconv_make_stubs(IrModule *module, SyncNotes *notes, Function **gather);
void reconv_note_sites(SyncNotes *notes, const IrModule *module);
SyncSite *reconv_noted(const SyncNotes *notes, const Function *f, InstId inst); /* NULL if there is none */
bool reconv_is_collective(const Inst *i);
/* Does PTX's promise of one place or the other, that all lanes of a warp are there (.aligned), say that lanes
 * are never at both? Lanes at the one wait for all, and those at the other would have to come there first. Of
 * barriers both must be promised: they count lanes, and some programs have lanes at different ones. */
bool reconv_promised_apart(unsigned op, bool aligned, bool other_aligned);
/* The rules (lower/reconverge/check.c) on the result; false: reported as internal error. notes: made before
 * the stubs, or NULL where there are none: then the result itself is noted. */
bool reconv_check(const IrModule *module, const SyncNotes *notes, Diags *diags);
bool reconv_check_asked(const IrModule *module, const SyncNotes *notes, Diags *d); /* R-09 of fast ways */
bool reconv_check_meetings(const IrModule *module, const CallGraph *calls, const SyncNotes *notes,
                           Diags *diags); /* */
#endif
