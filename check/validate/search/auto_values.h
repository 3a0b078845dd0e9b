/* What the flow of parameters knows of a register or a field of memory. Inside of auto_flow.c.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_AUTO_VALUES_H
#define HEDDLE_CHECK_VALIDATE_AUTO_VALUES_H
#include "check/validate/search/auto_flow.h"

/* Val.names: axis + 1 of a block index, and behind these of the block's and the grid's size, and a thread's.
 */
enum {
    NAMES_NOTHING,
    NAMES_CTAID,
    NAMES_NTID = NAMES_CTAID + 3,
    NAMES_NCTAID = NAMES_NTID + 3,
    NAMES_TID = NAMES_NCTAID + 3,
    NAMES_MANY = 255
};
typedef struct {
    AutoSet is, from;
    AutoSet strides;          /* those of `from` that were multiplied by what depends on a thread index */
    AutoSet summed;           /* those of `is` of which others may only be what is added to them */
    int64_t beside;           /* what is added to the slots of `is`, */
    uint32_t step;            /* and to that a multiple of this; 0: nothing more, 1: anything */
    uint32_t var;             /* index + 1 of a variable whose address it is */
    bool apart;               /* ... or it is of no variable but of what the slots are: not the sum of both */
    uint8_t tid;              /* bit i: depends on the thread or block index of axis i */
    bool mixed;               /* ... by its bits, as hashes do: it is no index */
    uint16_t row;             /* it is the thread's number in y or z times that; 0: it is not */
    uint8_t names;            /* NAMES_* + axis: it is that special register */
    bool entry_param;         /* var is a parameter of the kernel; offset is known */
    bool placed;              /* the address is var + offset, no other */
    bool loaded;              /* what memory or another function gave is part of it */
    uint32_t multiple, times; /* it is the slot `multiple` - 1 times that; 0: nobody knows */
    bool given; /* what the launch or memory gave is part of it, and no integer made a floating-point number
                   of it, nor sums and products of its bits another one */
    PtxType number; /* what floating-point arithmetic has made of such numbers, or TY_NONE */
    uint32_t offset;
} Val;

typedef struct {
    uint32_t offset, size_bytes;
    uint32_t next; /* index + 1 of the variable's next field */
    Val value;
} Field;

typedef struct {
    Val anywhere;
    uint32_t fields, nfields; /* the first one's index + 1 */
} Cell;

enum { AUTO_MAX_KNOWN = 4 * AUTO_MAX_SLOTS };
/* What a pass over the kernel has found out about a slot, for the next one; slots are numbered anew then. */
typedef struct {
    uint64_t path; /* AutoSlot.path */
    bool record, alone;
    uint32_t record_bytes;
} AutoKnown;

typedef struct { /* the product or the last shift of AutoFlow.quotients[quotient] */
    const PtxInsn *insn;
    uint32_t quotient;
} QuotientStep;

typedef struct {
    const PtxModule *m;
    const PtxFunc *kernel;
    AutoFlow *out;
    Val **regs;            /* by function: what comes into blocks */
    Val *now;              /* in this block */
    uint32_t *block_of;    /* by register: the block that now[] is of */
    uint32_t block;        /* number of the present block */
    uint32_t piece;        /* ... and of its part between two branches */
    uint32_t *piece_of;    /* by register: the part that has it in `defined` */
    bool guarded;          /* the statement may not be executed */
    bool names_shared;     /* variables in shared memory are named */
    bool uses_shared;      /* statements with .shared */
    VEC(uint32_t) defined; /* registers that this part has defined */
    VEC(QuotientStep) steps;
    Arena *arena;
    Cell *cells; /* by variable */
    VEC(Field) fields;
    uint8_t *funcs;
    uint8_t **leaders; /* by function: labels */
    bool changed;
    bool ambiguous; /* there are sums of which nobody knows which part is the pointer */
    AutoKnown *known;
    uint32_t nknown;
    bool *written; /* by variable: it is not only loaded from by name; NULL until one asks */
    bool full;     /* there are more slots than there is room for */
} Flow;

/* Its index + 1; 0: there are too many. */
uint32_t auto_add_slot(Flow *flow, AutoSlot slot);
/* The slot of a field of the kernel's parameter, as above. */
uint32_t auto_param_slot(Flow *flow, uint32_t param, uint32_t offset, uint32_t size);
/* Slots are used so; float_type TY_NONE: not as floating-point numbers. */
void auto_use(Flow *flow, AutoSet slots, uint32_t uses, PtxType float_type);
/* Is one the address of a variable and the other what slots are? */
bool auto_are_apart(Val a, Val b);
/* `to` is what it was or v. */
void auto_join(Flow *flow, Val *to, Val v);
/* Val.number of what is one or the other; a constant may be either. */
PtxType auto_number_of_either(Val a, Val b);
/* Put a value into a variable: its field, or anywhere in it. */
void auto_put_cell(Flow *flow, Val address, unsigned bytes, Val v);
/* What a variable holds in so many bytes there, or if nobody knows where, anywhere. */
Val auto_get_cell(Flow *flow, Val address, unsigned bytes);
/* A variable gets all that another one holds, field for field: an argument. */
void auto_copy_cell(Flow *flow, uint32_t to, uint32_t from);
/* ---- constants beside slots (auto_values.c) ---- */
uint32_t auto_common_divisor(uint64_t a, uint64_t b);
void auto_beside_sum(Val *out, Val a, Val b);
void auto_beside_either(Val *out, Val a, Val b);
Val auto_beside_product(Val v, int64_t factor);

/* Is it 0, as far as anything is known of it? */
bool auto_is_zero(Val v);

/* ---- what constants tell (auto_hints.c) ---- */
/* A block's number, or a thread's in y or z, times n: so large may the block, or a row, be. */
void auto_hint_block(Flow *flow, Val a, uint64_t n);
/* `row`, which may be a multiple of a thread's number in y or z, and v are added. */
void auto_hint_sum(Flow *flow, Val row, Val v);
/* Val.row of a times n. */
uint16_t auto_row_of(Val a, int64_t n);
/* n is added to a. */
void auto_hint_step(Flow *flow, Val a, int64_t n);
/* a, which may be a size of the block or the grid, is asked whether it is n. */
void auto_hint_size(Flow *flow, Val a, uint64_t n);
/* v is divided by n, or must be a multiple of it. */
void auto_hint_unit(Flow *flow, Val v, uint64_t n);
/* v is compared with a constant, x is asked whether it is that, or whether it is y. */
void auto_hint_word(Flow *flow, Val v, int64_t word);
void auto_hint_equal(Flow *flow, Val x, int64_t word);
void auto_hint_twin(Flow *flow, Val x, Val y);

/* ---- quotients by prepared numbers (auto_quotient.c) ---- */
/* A product of a and b, and a shift. */
void auto_hint_multiplier(Flow *flow, uint32_t func, const PtxInsn *in, Val a, Val b);
void auto_hint_shift(Flow *flow, uint32_t func, const PtxInsn *in, Val by);

/* ---- memory that slots point to (auto_memory.c) ---- */
/* What is loaded from there: the slots' contents. bases: the slots that point there */
Val auto_contents(Flow *flow, Val address, AutoSet bases, unsigned bytes);
/* v, what a variable holds there, or what the slots point to where the address may be either. */
Val auto_beside_variable(Flow *flow, Val v, Val address, unsigned bytes);
/* So many bytes are accessed there, through the slots that this returns. */
AutoSet auto_note_access(Flow *flow, Val address, unsigned bytes);
/* The slot, + 1, that points to a variable without initial values of which the host gives them: of constants,
 * or global ones that may be pointers and are only read. 0: it is none, or there are slots enough. */
uint32_t auto_constants_slot(Flow *flow, uint32_t index);
/* After a pass. Is there more to find out in another one, with what is known now? */
bool auto_learn(Flow *flow);
/* Slots of the last pass are complete. */
void auto_finish_records(Flow *flow);
#endif
