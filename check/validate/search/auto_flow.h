/* What a kernel does with its parameters: which are addresses, of elements of which size and kind, which are
 * compared with thread indices, which divide. A launch is inferred from it (auto_launch.h).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_AUTO_FLOW_H
#define HEDDLE_CHECK_VALIDATE_AUTO_FLOW_H
#include "frontend/ast.h"

enum {                      /* uses of a slot's value */
       AU_ADDRESS = 1 << 0, /* base of an address */
       AU_CVTA = 1 << 1,    /* ... and converted from or to a generic one: certainly a pointer */
       AU_INDEX = 1 << 2,   /* part of the arithmetic of an address */
       AU_CMP_X = 1 << 3,   /* compared with what depends on an x thread index; Y, Z follow */
       AU_CMP_Y = 1 << 4,
       AU_CMP_Z = 1 << 5,
       AU_CMP = 1 << 6,   /* compared with something else */
       AU_FLOAT = 1 << 7, /* operand of floating-point arithmetic */
       AU_DIVISOR = 1 << 8,
       AU_BRANCH = 1 << 9,  /* brx.idx */
       AU_CALL = 1 << 10,   /* called */
       AU_MEMORY = 1 << 11, /* slot of an address: it was loaded from or stored to */
       AU_BYTES = 1 << 12,  /* that an mbarrier object expects */
       AU_STRIDE = 1 << 13  /* part of an address, times what depends on a thread index */
};

/* AUTO_ANYWHERE: offset of the field that stands for all of which nobody knows where in a record they are. */
enum { AUTO_WORDS = 6 };
#define AUTO_ANYWHERE UINT32_MAX
/* A value that the launch gives: a parameter, or a field of one, or what a buffer holds. */
typedef struct {
    uint32_t param, offset_bytes, size_bytes; /* parameter, field of it or of the parent's records */
    uint32_t parent;                          /* index + 1 of the slot that points to it; 0: a parameter */
    uint32_t variable;     /* index + 1: no parameter, it points to this .const or .global variable, which the
                              host     fills */
    uint32_t content;      /* index + 1 of what it points to; of records of their first field */
    uint32_t next;         /* index + 1 of the next field of the same records */
    uint32_t record_bytes; /* it points to records of so many bytes, one behind the other; 0: all is alike */
    bool record;           /* ... or of a size that only their fields tell */
    uint32_t apart_bytes;  /* of a parameter: one of an array that is indexed, so far apart; 0: alone */
    bool alone;            /* of the parts of some address only this one can be the pointer */
    bool dense;            /* elements of less than LEAST_RECORD bytes are accessed, or others in a record */
    uint32_t spacing;      /* of what is accessed through it: largest common divisor; 0: one place only */
    uint32_t far_bytes;    /* so far from its begin is something accessed that has no index */
    uint64_t path;         /* names it by its parameter, and the fields that lead to it */
    uint32_t uses;         /* AU_* */
    uint32_t stride_of;    /* AU_STRIDE: index + 1 of the slot that is the base */
    uint8_t elem_bytes;    /* narrowest access through it; 0 none */
    PtxType float_type;    /* of AU_FLOAT */
    PtxType stored;        /* through it: the floating-point type, or TY_NONE */
    bool stored_other;     /* ... and what has none, or may have */
    uint32_t shared_piece; /* parameter declared .ptr .shared: gets this piece of dynamic memory, from 1; 0:
                              none */
    uint32_t unit; /* the largest number that it is divided by, or of which it must be a multiple; 0 none */
    int64_t words[AUTO_WORDS]; /* constants that it is compared with, alone or in sums */
    uint32_t nwords;
    /* It is asked whether its value is `equals`, or that of slot `twin` - 1 times twin_times / twin_by. */
    uint32_t twin, twin_times, twin_by;
    bool has_equal;
    int64_t equals;
    bool free_lock;          /* memory that compare-and-swap takes if it is 0 */
    bool added_to;           /* ... that atomic operations add to: who counts, or sums, begins with 0 */
    bool mapped, holds_maps; /* memory of which the kernel makes a tensor map, and where it puts some */
} AutoSlot;

typedef struct { /* a copy of a tensor whose map is a parameter, or in one, or in memory that one points to */
    const PtxFunc *func;
    const PtxInsn *insn;
    uint32_t param, offset_bytes; /* of the map in the parameter */
} AutoCopy;

/* A quotient by a number that the host has prepared (auto_quotient.c): index + 1 of the slots that have the
 * multiplier, the counts of the shifts, and the divisor; 0: there is none, or nobody knows. */
typedef enum { AUTO_WAY_NONE, AUTO_WAY_HIGH, AUTO_WAY_SUM, AUTO_WAY_HALF } AutoWay;
typedef struct {
    uint32_t multiplier, half, shift, divisor;
    AutoWay way;
} AutoQuotient;

enum {
    AUTO_MAX_SLOTS = 128,
    AUTO_MAX_QUOTIENTS = 32,
    AUTO_MAX_COPIES = 64,
    AUTO_ROWS = 4,
    AUTO_DEPTH = 4 /* of pointers to pointers */
};
/* A set of slots. */
__extension__ typedef unsigned __int128 AutoSet;
static inline AutoSet auto_set_of(uint32_t slot) { return (AutoSet)1 << slot; }
/* The slot of the lowest number in a set that is not empty. */
static inline uint32_t auto_first(AutoSet set) {
    return (uint32_t)((uint64_t)set ? __builtin_ctzll((uint64_t)set)
                                    : 64 + __builtin_ctzll((uint64_t)(set >> 64)));
}
static inline unsigned auto_count(AutoSet set) {
    return (unsigned)(__builtin_popcountll((uint64_t)set) + __builtin_popcountll((uint64_t)(set >> 64)));
}

typedef struct {
    AutoSlot slots[AUTO_MAX_SLOTS];
    uint32_t nslots;
    uint32_t axes;            /* bit i: tid or ctaid of axis i is read */
    uint32_t block_axes;      /* bit i: ctaid of axis i is read */
    uint32_t thread_axes;     /* bit i: tid of axis i is read */
    bool reads_workspace;     /* where its address is in a cooperative launch */
    uint32_t size_axes[2];    /* bit i: ntid, and nctaid, of axis i is read */
    uint32_t block_hint[3];   /* ctaid times this constant is computed, or ntid is compared with it; 0 none */
    uint32_t rows[AUTO_ROWS]; /* numbers of threads in y or z times this constant are computed */
    uint32_t nrows;
    uint32_t block_asked[3]; /* ntid is, or is not, this constant; 0 none */
    uint32_t grid_hint[3];   /* nctaid is compared with it */
    uint32_t step_hint[3]; /* multiples of this are added to tid: the next elements of a block of that size */
    AutoCopy copies[AUTO_MAX_COPIES];
    uint32_t ncopies;
    AutoQuotient quotients[AUTO_MAX_QUOTIENTS];
    uint32_t nquotients;
    bool dynamic_shared;
    bool numbered_shared;         /* which has no name: its addresses are numbers */
    uint32_t shared_pieces;       /* parameters that point into dynamic shared memory */
    uint64_t static_shared_bytes; /* before it */
    const uint8_t *funcs;         /* by function: reachable from the kernel */
    AutoSet **steers; /* by function and statement: the slots that a branch's guard follows from */
    uint8_t **fixed;  /* by function and statement: COVERAGE_* */
} AutoFlow;

/* Of more slots than there is room for the later ones are left out. */
void auto_flow(const PtxModule *module, uint32_t kernel, Arena *arena, AutoFlow *out);
#endif
