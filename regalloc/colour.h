/* State of the colouring scan (colour.c) and its hints (hints.c).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_REGALLOC_COLOUR_H
#define HEDDLE_REGALLOC_COLOUR_H
#include "regalloc/regalloc.h"

/* Values and pairs of R are spread over this many registers. More would cost no occupancy up to those that a
 * multiprocessor has for each thread it can hold, and save one stall cycle in a hundred, but a kernel with
 * seven live values would claim 30 (bench/quality, 27 samples: spread over 29, 20, 16, 12, 0 the sums of
 * stalls over ptxas's are 0.716, 0.719, 0.723, 0.727, 0.738, the registers 1.209, 1.128, 1.077, 1.003,
 * 0.895). */
enum { RA_SPREAD = 16 };

typedef struct {    /* a vector operand that wants a value as component `component` */
    uint32_t first; /* index into Function.vectors */
    uint8_t count, component;
} VecUse;

typedef struct {                    /* registers that must be consecutive, or one that is fixed */
    uint32_t value[IR_MOST_VECTOR]; /* 0 is a hole */
    uint32_t
        result[IR_MOST_VECTOR]; /* what the registers hold after the instruction, if that is defined by it */
    unsigned count;
    RegFile file;
    bool before, after; /* sources hold them before the instruction; results after it */
    int forced;         /* first register demanded, -1 free to choose */
    unsigned base;      /* chosen */
} Tuple;

enum { RA_UNKNOWN = 0x7fffffff };

typedef VEC(uint32_t) Kills;

typedef struct {
    Function *f;
    Arena *a, *block_arena;
    Diags *d;
    RaRecord *rec;
    RaCfg g;
    RaLive live;
    unsigned limit[RF_COUNT], high_water[RF_COUNT];
    uint16_t *reg;                             /* by value: where it is now */
    uint32_t occupant[RF_COUNT][RA_MAX_REGS];  /* the inverse */
    uint64_t used[RF_COUNT][RA_MAX_REGS / 64]; /* bits of occupied registers */
    RaPlaces *exit;                            /* by block: where values are at its end */
    uint32_t *first_phi, *first_row;           /* by block: index into rec->phis, Function.var_rows */
    bool *done;
    uint32_t
        *web; /* union-find over values that copies, phis and tied operands relate (webs.c): a hint only */
    uint16_t *web_reg;                      /* register last given to a member */
    uint32_t *pending;                      /* by web: members that have had no register yet */
    bool *placed;                           /* by value */
    uint32_t wished[RF_COUNT][RA_MAX_REGS]; /* webs with pending members whose register it is */
    VecUse *vec;                            /* by value, and by web for members without a use of their own */
    uint32_t *crosses; /* by value: a CALL (instruction number) that it lives through, or 0 */
    uint32_t freed_at[RF_COUNT][RA_MAX_REGS]; /* when the register was last released */
    uint32_t clock;
    BlockId block;                    /* being coloured */
    uint32_t *start;                  /* by value: instruction behind which it is in its register, 0 since
                                         the block's start, RA_UNKNOWN */
    uint32_t *last_ref;               /* by value: last instruction of the block that read or made it */
    unsigned spread, wide_spread;     /* registers of R that may be used for the sake of scheduling, by
                                           vectors of more than two for members that need not move */
    Bitset dying, dead, scratch_live; /* of the current instruction; of the current block */
    Kills *dying_at, *dead_at;        /* by position in the current block */
    uint8_t taken[RF_COUNT][RA_MAX_REGS];
    VEC(RaPlace) moved; /* where values were before this instruction's moves */
    VEC(uint32_t) homeless;
    VEC(Tuple) tuples;
} Colour;

/* Register for value v, which has none; RA_NO_REG if none is free. May be one that is taken if the value's is
 * fixed. */
unsigned ra_choose(const Colour *colour, uint32_t v); /* choose.c */
static inline uint32_t ra_web(const Colour *colour, uint32_t v) {
    while (colour->web[v] != v)
        v = colour->web[v] = colour->web[colour->web[v]]; /* halves the path */
    return v;
}
/* Register of value v at the end of block b, RA_NO_REG if it is in none. */
uint16_t ra_exit_reg(const Colour *colour, BlockId b, uint32_t v);
typedef struct { /* registers that hold nothing around a parallel copy: at most one R and one P */
    Operand reg[2];
    unsigned n;
} RaScratch;
/* A parallel copy of n registers, to be filled in; a cycle among them may use the scratch registers. */
InstId ra_parallel_copy(Function *f, unsigned n, const RaScratch *scratch, LocId loc);
bool ra_connect_edges(Colour *colour); /* edges.c */
/* Reports at i that there is no register for v, and of which PTX register it is a part; returns false. */
bool ra_no_register(Colour *colour, uint32_t v, const Inst *i);
/* The register map: value v gets a register, or loses it. */
void ra_occupy(Colour *colour, uint32_t v, unsigned reg);
void ra_lift(Colour *colour, uint32_t v);
/* Value v was in its register up to and with instruction `to` (0: the block's end). */
void ra_note_row(Colour *colour, uint32_t v, uint32_t to);
static inline bool ra_is_free(const Colour *colour, RegFile file, unsigned reg) {
    return ra_is_allocatable(file, reg, colour->limit[file]) && !colour->occupant[file][reg];
}
/* No call that v lives through overwrites the register. */
static inline bool ra_is_safe(const Colour *colour, uint32_t v, unsigned reg) {
    return !colour->crosses[v] ||
           !ra_clobbers(ra_callee(colour->f, ir_inst(colour->f, (InstId){colour->crosses[v]})),
                        (RegFile)colour->f->values.at[v].file, reg);
}
bool ra_dies(const Colour *colour, uint32_t v); /* at the current instruction */
Tuple ra_tuple_of(const Colour *colour, Operand o);
/* Bring everything to where instruction i needs it; the moves are added to `out`. room.c */
bool ra_make_room(Colour *colour, const Inst *i, InstIds *out);
/* Fill web and pending; web_reg holds fixed registers. */
void ra_webs(Colour *colour); /* webs.c */
/* Fill web, web_reg, vec and crosses. */
void ra_hints(Colour *colour);
#endif
