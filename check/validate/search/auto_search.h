/* The search for launches, inside: an attempt, how it is guessed, how it is mended. Not for other folders.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_AUTO_SEARCH_H
#define HEDDLE_CHECK_VALIDATE_AUTO_SEARCH_H
#include "check/validate/search/auto_flow.h"
#include "check/validate/search/auto_launch.h"

enum {
    ATTEMPTS = 24,
    MOST_BLOCK_LAUNCHES = 6, /* of those that reach blocks; the others have other data */
    MOST_CLIMBED = 9,        /* ... with those that steps from them find */
    MOST_STEERED = 13,       /* ... with those of contents that lead branches the other way */
    MOST_WITH_EDGES = 12,    /* ... with those on other data; the rest is for few classes of operands */
    REPAIRS = 16,            /* changes of one attempt that leaves its buffers or does not end */
    ATTEMPT_BUDGET = 1000000,
    MOST_BUDGET = 12000000,
    MOST_WAITED = 2,       /* attempts that get that before they are made smaller: they come far */
    EDGES_BUDGET = 500000, /* with other scalars; but */
    EDGES_TIMES = 2, /* not much more than the launch that they vary took: most that take more never end */
    EDGES_MORE = 1 << 14,
    MOST_SPENT = 40000000,         /* thread instructions of all attempts */
    MOST_FOR_ONE = 2 * MOST_SPENT, /* ... until one is kept: brief ones behind MOST_SPENT */
    STEPS = 240,                   /* towards blocks that attempts did not reach */
    FIRST_BYTES = 1 << 16,         /* of a buffer */
    MOST_BYTES = 1 << 24,
    LARGEST_BYTES = 1 << 26, /* where nothing else makes the kernel stay in it: rows of constant length */
    POINTER_BYTES = 1 << 15, /* of a buffer of pointers */
    POINTEE_STRIDE = 1 << 12,
    MARGIN_BYTES = 1 << 12, /* before the address that a kernel gets, when it reads there */
    DYNAMIC_SHARED = 16 << 10,
    BOX_BYTES = 2048,    /* of a tensor's box, where the kernel does not say */
    SMALL_CONSTANT = 32, /* bound of such that a variable holds */
    RARE_EDGES = 37,     /* one element in so many has an edge value */
    APART = 64,          /* from one index to the next where they are apart */
    SMALL = 8            /* bound of integers that are indices, once larger ones left the buffers */
};

/* Floating-point data that show more operands of long chains of arithmetic than edge values do. */
typedef enum {
    DATA_USUAL,
    DATA_NAN,      /* scalars; the data are as usual */
    DATA_NAN_EVEN, /* those of even slots, and data of these */
    DATA_NAN_ODD,
    DATA_TINY, /* subnormal numbers, and behind it numbers of which products of 2, 3 and 4 are subnormal */
    DATA_TINY_LAST = DATA_TINY + 3,
    DATA_ZERO,
    DATA_ONE,
    DATA_KINDS
} AutoData;

enum { AUTO_MAX_PUTS = 24 };
typedef struct { /* a value at a place of a slot's buffer, over what it holds */
    uint32_t slot, size_bytes;
    uint64_t offset_bytes, value;
    uint32_t into; /* index + 1 of the slot into whose buffer it points, `value` bytes behind its begin; 0: a
                      number */
} AutoPut;

typedef struct { /* one launch */
    uint32_t grid[3], block[3], shared_bytes;
    uint64_t value[AUTO_MAX_SLOTS];  /* integers */
    double number[AUTO_MAX_SLOTS];   /* floating point */
    uint64_t bytes[AUTO_MAX_SLOTS];  /* size of the buffer that a slot points to */
    uint64_t margin[AUTO_MAX_SLOTS]; /* offset of the address in it */
    AutoSet null;                    /* the pointers that are 0 */
    uint8_t same[AUTO_MAX_SLOTS];    /* 1 + the slot whose buffer a parameter points to, too; 0: its own */
    uint8_t
        into[AUTO_MAX_SLOTS]; /* 1 + the slot whose buffer has the byte `value`, to which a number points */
    uint64_t budget;          /* thread instructions */
    uint64_t cost;            /* those that it took */
    bool whole_warps;         /* less than a warp traps: all its lanes must take part in something */
    bool fitted;              /* the kernel traps unless numbers are multiples: they stay such */
    uint32_t index_bound;     /* contents of index buffers are below */
    uint64_t bound[AUTO_MAX_SLOTS]; /* ... or of this slot, not 0 */
    AutoSet below; /* contents that may be less than 0, where the kernel asks for such a number */
    bool cleared;  /* memory that atomic operations add to is zero */
    bool whole;    /* floating-point data are -1, 0 and 1: some are equal */
    bool apart;    /* numbers in memory that are indices rise: no two of them are the same place */
    uint8_t boxes; /* of tensors: 0, or which others (auto_other_boxes) */
    uint64_t seed;
    bool edges; /* data are values that tell operations apart, not only such as lead through every block */
    bool edges_in_indices; /* ... contents of index buffers, too */
    uint32_t one_in;       /* ... one element in so many; 0: each */
    AutoData data;
    bool mixed; /* some scalars and buffers are as usual */
    AutoPut puts[AUTO_MAX_PUTS];
    unsigned nputs;
} AutoAttempt;

typedef struct AutoSearch {
    const PtxModule *m;
    uint32_t kernel;
    const PtxFunc *f;
    const char *name;
    const AutoOptions *opt;
    AutoFlow flow;
    Arena *arena;
    Fills fills;
    Coverage cover; /* of the attempt */
    Coverage sum;   /* of the launches kept */
    SimTrap trap;
    uint64_t stores, spent, cost; /* thread instructions of all attempts, of the attempt */
    bool warned;                  /* the interpreter warned of something */
    bool undefined;               /* PTX says nothing of a value: a shuffle from a lane that is not there */
    bool lenient; /* ... which does no harm where the result does not depend on it: nothing better is known */
    bool from_nowhere;         /* ... the shuffle */
    bool open;                 /* with LOOK_RACES: another result, where PTX lets nobody rely on one */
    uint32_t races, unordered; /* harmful ones; all */
    bool strong;               /* operations that may meet memory in any order were executed */
    bool sees_order;           /* statements that tell the order of threads without memory */
    const uint32_t *block;     /* the shape to try; NULL: as guessed */
    bool brief;                /* attempts that do not end become small at once, and get no more time */
    bool both_ways;  /* a branch is to go the way that it has not gone so far, be it to where others came, too
                      */
    unsigned waited; /* attempts that got more time because they reached more */
    AutoAttempt kept[AUTO_MAX_LAUNCHES];
    unsigned nkept;
    unsigned most_climbed, most_with_edges; /* MOST_*, and more where steps led to many */
    /* By function and statement, attempts that executed it: with NaNs in the data, with subnormal numbers. */
    uint8_t **met_nan, **met_subnormal;
} AutoSearch;

/* To a buffer: one that points into shared memory is a number. */
static inline bool auto_is_pointer(const AutoSlot *slot) {
    return slot->size_bytes == 8 && slot->uses & AU_ADDRESS && !slot->shared_piece;
}

/* A byte that is no number of anything: it is 0 or 1. */
static inline bool auto_is_flag(const AutoSlot *slot) {
    const uint32_t counts = AU_INDEX | AU_STRIDE | AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_DIVISOR;
    return slot->size_bytes == 1 && !(slot->uses & counts);
}

/* Attempt number n: 0 follows from what the kernel does with its parameters, later ones are random. */
void auto_guess(const AutoSearch *search, unsigned n, AutoAttempt *attempt);
/* The blocks that kernels are made for, one after the other, k from 0; NULL: that was the last one. None has
 * less than a warp, lest a race goes unseen. */
const uint32_t *auto_shape(const AutoSearch *search, unsigned k);
/* Are all special registers of axes that the kernel reads told from each other by such a launch? A size that
 * is another one's, or 1 as that of an axis that nobody reads, hides that the binary reads the wrong one. */
bool auto_tells_sizes(const AutoSearch *search, const AutoAttempt *attempt);
/* A grid, and with `block` NULL a block, that do as far as the kernel's limits let them; else that block. */
void auto_guess_sizes(const AutoSearch *search, const uint32_t *block, AutoAttempt *attempt);
/* Numbers that are divided, or must be multiples of something, are small multiples of it; false: they were.
 */
bool auto_fit_units(const AutoSearch *search, AutoAttempt *attempt, uint64_t *random);
/* Factors of addresses so large that rows do not overlap; false: they were. */
bool auto_spread(const AutoSearch *search, AutoAttempt *attempt);
/* Indices that memory holds no longer are the same place; false: there are none, or they are apart. */
bool auto_part_indices(const AutoSearch *search, AutoAttempt *attempt);
/* Boxes of tensors with shorter rows, then also with fewer bytes. False: there are no others. */
bool auto_other_boxes(const AutoSearch *search, AutoAttempt *attempt);
/* One thread, which no other races with; false: it was one, or the kernel wants more. */
bool auto_alone(const AutoSearch *search, AutoAttempt *attempt);
/* One block of one warp or of one thread, or of as many threads as the kernel wants, and no more than one
 * element for each. */
void auto_one_warp(const AutoSearch *search, AutoAttempt *attempt, bool one_thread);
/* The scalars as values that tell operations apart: extremes, 0, 1, -1, sizes next to the number of threads.
 * Those that lead out of a buffer or into a long loop make a launch that is not kept. */
void auto_guess_edges(const AutoSearch *search, AutoAttempt *attempt, uint64_t *random);
/* The scalars as `kind` has floating-point data. */
void auto_guess_data(const AutoSearch *search, AutoData kind, AutoAttempt *attempt, uint64_t *random);
/* Are numbers of that slot NaN then? */
bool auto_becomes_nan(AutoData kind, uint32_t slot);
/* So large are numbers of which a product of `factors` is subnormal. */
double auto_tiny(PtxType type, unsigned factors);
/* A last warp that is not full, and more than one row of it where the kernel reads y or z; sizes a little
 * smaller, so that unrolled loops have something left over. */
void auto_guess_ragged(const AutoSearch *search, AutoAttempt *attempt, uint64_t *random);
typedef struct {
    AutoSet slots; /* from which branches follow that were executed, and not both ways */
    bool shape;    /* ... or which follow from no number: what may change them is the launch's shape */
} AutoFrontier;
AutoFrontier auto_frontier(const AutoSearch *search, const Coverage *coverage);
/* The least number less than 0 that what a buffer holds is compared with: 0 if there is none. */
int64_t auto_least_word(const AutoSlot *slot);
/* A few numbers changed, of these slots as a rule, or the shape. */
void auto_step(const AutoSearch *search, AutoFrontier frontier, AutoAttempt *attempt, uint64_t *random);
/* All numbers as the kernel asks whether they are: ways for data that lie side by side want several at once.
 */
void auto_agree(const AutoSearch *search, AutoAttempt *attempt);
/* Contents and numbers that lead a branch of the attempt the way that nobody took (auto_steer.c);
 * search->cover is that of the attempt. False: none was found. */
bool auto_steer(AutoSearch *search, AutoAttempt *attempt, uint64_t *random);
/* ... or an address by which it trapped, out of range, back into the buffer that it was meant for; or a
 * thread out of the loop in which it has used up the budget. */
bool auto_steer_back(AutoSearch *search, AutoAttempt *attempt, uint64_t *random);
/* Does a branch go one way only, so far? Which one it is to go (auto_trace.c). */
bool auto_wants_taken(const AutoSearch *search, uint32_t func, uint32_t insn, bool *taken);
/* Run the attempt for its events alone (auto_launch.c); false: it cannot be run. */
bool auto_run(AutoSearch *search, const AutoAttempt *attempt,
              void (*on_event)(void *user, const PtxEvent *event), void *user);
/* Change what made it trap, which is search->trap; false: no idea. */
bool auto_repair(AutoSearch *search, AutoAttempt *attempt);

/* Append the attempt's buffers and its launch (auto_buffers.c); `number` tells names of several launches
 * apart. */
void auto_add_to_plan(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number);
/* The buffers alone: their indices in the plan, by slot; UINT32_MAX: no pointer. */
void auto_add_buffers(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number,
                      uint32_t buffer[AUTO_MAX_SLOTS]);
/* Textures for what the kernel fetches from (auto_texture.c); of_param[i], zeros at first: number of the
 * plan's texture that parameter i is a handle of, from 1. */
void auto_add_textures(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number,
                       uint32_t *of_param);
/* Tensor maps for what the kernel copies tensors by (auto_tensor.c); of_copy[i], zeros at first: number of
 * the plan's tensor of copy i, from 1. */
void auto_add_tensors(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number,
                      uint32_t *of_copy);
/* Is the parameter a map, or a pointer to one? Then it is the argument. */
bool auto_whole_tensor(const AutoSearch *search, uint32_t param, const uint32_t *of_copy, PlanArg *arg);
/* The maps that lie in the parameter, a structure. */
void auto_put_tensors(const AutoSearch *search, uint32_t param, Plan *plan, const uint32_t *of_copy,
                      PlanArg *whole);
/* What a structure holds at that place, unless something lies there. */
void auto_add_part(Plan *plan, PlanArg *whole, uint64_t at_bytes, PlanArg arg);
/* The number of a slot by which the kernel divides with what the host prepares; false: it is another one. */
bool auto_prepared(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot, uint64_t *value);
/* The type of elements that the kernel itself makes tensor maps of. */
const char *auto_mapped_type(const AutoSearch *search);
/* The statement that gives a register its only value; NULL: there are several (auto_texture.c). */
const PtxInsn *auto_only_writer(const PtxFunc *f, uint32_t reg);
/* Index + 1 of the kernel's parameter that the register holds, 0: another value. */
uint32_t auto_param_in(const PtxFunc *f, uint32_t reg);
/* A grid of whole clusters. */
void auto_fit_clusters(const AutoSearch *search, AutoAttempt *attempt);
/* Of the buffers that slots point to; 0: none. Variables have others. */
void auto_slot_addresses(const AutoSearch *search, const AutoAttempt *attempt,
                         uint64_t address[AUTO_MAX_SLOTS]);
/* Addresses that plan_memory will give: they depend on the sizes only. */
bool auto_find_addresses(Plan *plan, uint64_t *address);
#endif
