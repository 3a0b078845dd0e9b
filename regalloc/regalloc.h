/* Internals of register allocation. The pass `colour` runs, for each function:
 *   ra_prepare   unreachable blocks go, double edges are split, updates go behind the last use of what they
 * replace, constrained operands get values of their own
 *   ra_spill     until every file's pressure fits everywhere; reloads define the *same* value again, so from
 * here on a value may have several definitions, all with equal contents, and liveness is by path ra_colour
 * one scan in reverse postorder; values move between registers where constraints demand ra_check     each use
 * reads the value that the SSA form said then `copies` lowers IR_COPY and IR_PARCOPY, and `frame` resolves
 * stack accesses.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_REGALLOC_H
#define HEDDLE_REGALLOC_H
#include "ir/ir.h"
#include "isa/machine/abi.h"

enum { RA_MAX_REGS = 256, RA_NO_REG = 0xffff };

typedef struct { /* what analyses know of the control flow graph; index is the block number */
    uint32_t nblocks;
    BlockId *rpo; /* reachable blocks in reverse postorder */
    uint32_t nrpo;
    uint32_t *rpo_index; /* UINT32_MAX if unreachable */
    uint32_t *depth;     /* loop nesting */
    BlockId *header;     /* innermost loop's header, 0 none */
} RaCfg;
void ra_cfg(Function *f, Arena *arena, RaCfg *cfg);

typedef VEC(uint32_t) RaSet; /* values, ascending */
typedef struct { /* liveness over all files, by block; phi results are not live-in, phi operands are live-out
                    of preds */
    RaSet *in, *out;
    Bitset any; /* live into some block */
} RaLive;
uint32_t ra_set_find(const RaSet *set, uint32_t v); /* its index; set->n if it is not in the set */
static inline bool ra_set_has(const RaSet *set, uint32_t v) { return ra_set_find(set, v) < set->n; }
void ra_set_to_bits(const RaSet *set, Bitset *bits);
void ra_live(Function *f, const RaCfg *cfg, Arena *arena, RaLive *live);

/* Most values of each file that are live at one point. */
void ra_max_pressure(Function *f, const RaCfg *cfg, const RaLive *live, unsigned max[RF_COUNT]);
/* The same for each block: [block][file]. */
unsigned (*ra_pressures(Function *f, const RaCfg *cfg, const RaLive *live, Arena *a))[RF_COUNT];
/* Most values of one file live at one point of block b. */
unsigned ra_block_pressure(Function *f, const RaLive *live, BlockId b, RegFile file);

/* Values of an operand (holes of a vector are 0); returns how many, 0 if it is not a value. */
static inline unsigned ra_values(const Function *f, Operand o, ValId v[IR_MOST_VECTOR]) {
    if (o.kind != OPK_VAL)
        return 0;
    for (unsigned c = 0; c < o.count; c++)
        v[c] = ir_operand_value(f, o, c);
    return o.count;
}
/* What the first register of an operand is a multiple of. DMMA needs it of 8 and 16 (Group<NATURAL>);
 * products of warp groups take such numbers at multiples of 4, too. */
static inline unsigned ra_align(unsigned count) { return count < 3 || count == 8 || count == 16 ? count : 4; }
/* The n-th read of an instruction (ir_num_reads), to be changed. */
static inline Operand *ra_read(Function *f, Inst *i, unsigned n) {
    return n == ir_num_operands(i) - i->ndst ? &i->guard : &f->operands.at[i->operand + i->ndst + n];
}

/* Registers of `file` that the function may use: numbers 0 .. limit-1 less the stack pointer. */
unsigned ra_limit(const Function *f, RegFile file);
static inline bool ra_is_allocatable(RegFile file, unsigned reg, unsigned limit) {
    return reg < limit && !(file == RF_R && reg == ABI_STACK_REG);
}

/* Whether a CALL's callee clobbers a register, and how many allocatable registers it leaves. */
typedef struct {
    const Bitset *clobbers;
} RaCallee; /* NULL: everything */
RaCallee ra_callee(const Function *f, const Inst *call);
bool ra_clobbers(RaCallee c, RegFile file, unsigned reg);

void ra_separate_updates(Function *f); /* updates.c */
void ra_rotate(Function *f);           /* rotate.c */
/* Arithmetic that means the same wherever its operands are there. */
bool ra_may_move(Function *f, Inst *i);

/* Where code of the edge from -> to goes: *block and position before which to insert. Splits the edge if
 * neither end belongs to it alone. */
void ra_edge_point(Function *f, BlockId from, BlockId to, BlockId *block, unsigned *at);

typedef struct { /* a phi as it stood before colouring */
    BlockId block;
    InstId phi;
    bool in_memory; /* the incoming values lie in a spill slot */
    uint32_t slot;
} RaPhi;
typedef struct { /* a value's register at a block's start */
    uint32_t value;
    uint16_t reg;
    uint8_t file;
} RaPlace;
typedef struct {
    VEC(RaPlace) at;
} RaPlaces;

typedef struct {        /* what the checker compares the result with */
    Operand *ssa;       /* operands before colouring, same indices as Function.operands */
    Operand *ssa_guard; /* by instruction */
    uint32_t noperands, ninsts;
    VEC(RaPhi) phis;
    RaPlaces *entry; /* by block at colouring time */
    uint32_t nblocks;
    bool analysed; /* what follows still holds: nothing was spilled since */
    RaCfg g;
    RaLive live;
} RaRecord;

/* Operations that are cheap enough to be done again at each use of their result, where it is not a register
 * that they read; a definition that is, is needed no more. */
bool ra_may_repeat(unsigned op);

bool ra_prepare(Function *f, Diags *diags);
/* Adds the phis that went to memory to rec->phis (allocated in `a`). */
bool ra_spill(Function *f, Arena *a, RaRecord *rec, Diags *diags);
bool ra_colour(Function *f, Arena *arena, RaRecord *rec, Diags *diags);
/* Independent check of a colouring; reports E0702. */
bool ra_check(Function *f, const RaRecord *rec, Diags *diags);

/* FuncSummary.clobbers from the physical instructions and the callees. */
void ra_summarise(Function *f);
const char *ra_file_name(RegFile file);
SrcLoc ra_src_loc(const Function *f, const Inst *i);
#endif
