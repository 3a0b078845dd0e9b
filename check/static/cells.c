/* What one instruction makes of values that may differ among lanes: see cells.h. SHFL, LDL, STL, PRMT and
 * LOP3 are asked for by name: whose value it is, which place of the frame and which bytes are no columns.
 * SPDX-License-Identifier: MIT */
#include "check/static/cells.h"

/* First cell and number of cells of an operand; 0 if it has none. */
static unsigned cells_of(Operand o, unsigned *first) {
    if (o.kind != OPK_REG || (o.file != RF_R && o.file != RF_P))
        return 0;
    unsigned zero = o.file == RF_R ? REG_RZ : REG_PT, n = o.count ? o.count : 1;
    if (o.value >= zero)
        return 0;
    *first = o.value + (o.file == RF_P ? CELL_P : 0);
    return o.value + n > zero ? zero - o.value : n;
}

bool check_operand_divergent(const Cells *s, Operand o) {
    unsigned first = 0, n = cells_of(o, &first);
    for (unsigned k = 0; k < n; k++)
        if (has(s, first + k))
            return true;
    return false;
}

/* ---- one instruction ---- */

static bool lane_register(const BinFlow *flow, const MachInst *inst) {
    Operand o = inst->src[0];
    enum IsaVaries varies =
        o.kind == OPK_SREG ? isa_sreg_varies(flow->bin->target, o.value) : ISA_VARIES_TIME;
    return (varies == ISA_VARIES_LANE &&
            !check_sreg_of_warp(flow, (uint32_t)(inst - flow->insts), o.value)) ||
           varies == ISA_VARIES_TIME;
}

typedef enum { MAKES_UNIFORM, MAKES_DIVERGENT, MAKES_BY_DATA } Makes;
/* First word and number of words that a local access with base R1 touches; 0 if it is another access. */
static unsigned frame_words(const MachInst *inst, unsigned *first) {
    bool load = inst->optype == OT_LDL;
    Operand base = inst->src[load ? LDL_ra : STL_ra], urb = inst->src[load ? LDL_urb : STL_urb],
            off = inst->src[load ? LDL_offset : STL_offset];
    Operand data = load ? inst->dst[LDL_rd] : inst->src[STL_rb];
    int64_t offset = off.kind == OPK_IMM64 ? inst->wide : off.kind == OPK_IMM ? (int32_t)off.value : 0;
    bool plain = base.kind == OPK_REG && base.file == RF_R && base.value == 1 &&
                 (urb.kind == OPK_NONE || urb.value == REG_URZ);
    unsigned n = data.count ? data.count : 1;
    if (!plain || offset < 0 || offset / 4 + n > FRAME_WORDS)
        return 0;
    *first = (unsigned)(offset / 4);
    return n;
}

static bool load_divergent(const Cells *s, const MachInst *m) {
    unsigned first = 0, n = frame_words(m, &first);
    bool divergent = n == 0;
    for (unsigned k = 0; k < n; k++)
        divergent |= has(s, CELL_FRAME + first + k);
    return divergent;
}

/* Global memory that nobody writes while the kernel runs (ld.global.nc): one address holds one value. */
static bool loads_constant(const MachInst *inst) {
    uint32_t bits = 0;
    return isa_has_effect(inst->optype, ISA_EFFECT_READ) &&
           isa_modifier(inst, "order", &bits) == MemOrder_CONSTANT;
}

/* Lanes that load together read once: what they find at one address is one value, whoever else writes. ptxas
 * 13.0 counts on it: behind a loop that waits for ld.volatile or mbarrier.try_wait at one address it gives
 * SHFL no WARPSYNC, and it does where each lane has an address of its own. */
static bool reads_once(const Checker *checker, const MachInst *inst, bool together) {
    return checker->native && together && isa_has_effect(inst->optype, ISA_EFFECT_READ) &&
           !isa_has_effect(inst->optype, ISA_EFFECT_WRITE) &&
           !isa_has_effect(inst->optype, ISA_EFFECT_ATOMIC) &&
           isa_traits(inst->optype)->lanes == ISA_LANES_EACH;
}

/* The value of one lane of the warp, which ptxas moves to uniform registers (CUTLASS's number of the warp).
 */
static bool takes_one_lane(const Cells *s, const MachInst *inst, bool together) {
    enum { WHOLE_WARP = 0x1f };
    return inst->optype == OT_SHFL && together && MGET(SHFL, mode, inst->mods) == ShflMode_IDX &&
           inst->src[SHFL_rc].kind == OPK_IMM && inst->src[SHFL_rc].value == WHOLE_WARP &&
           !check_operand_divergent(s, inst->src[SHFL_rb]);
}

static Makes makes(const Checker *checker, const Cells *s, const MachInst *inst, bool together) {
    if (inst->optype == OT_LDL) /* its address says more than the row can */
        return load_divergent(s, inst) ? MAKES_DIVERGENT : MAKES_UNIFORM;
    if (loads_constant(inst) || reads_once(checker, inst, together))
        return MAKES_BY_DATA;
    if (takes_one_lane(s, inst, together))
        return MAKES_UNIFORM;
    switch ((enum IsaUniform)isa_traits(inst->optype)->uniform) {
    case ISA_UNIFORM_BY_SREG: return lane_register(checker->flow, inst) ? MAKES_DIVERGENT : MAKES_UNIFORM;
    case ISA_UNIFORM_TOGETHER: return together ? MAKES_UNIFORM : MAKES_DIVERGENT;
    case ISA_UNIFORM_NEVER: return MAKES_DIVERGENT;
    case ISA_UNIFORM_ALWAYS: return MAKES_UNIFORM;
    case ISA_UNIFORM_NO_RESULT:
    case ISA_UNIFORM_BY_DATA:
    case ISA_UNIFORM_COUNT: break;
    }
    return MAKES_BY_DATA;
}

static bool any_named_predicate(const Cells *cells, const MachInst *inst) {
    RegFile file;
    uint32_t named = isa_named_predicates(inst, &file);
    return file == RF_P && (cells->w[CELL_P / 64] >> (CELL_P % 64) & named) != 0;
}

/* ---- halves ---- */

/* The side of a guard that is a predicate of one value for all lanes; 0: of another. */
static unsigned side_of(const Cells *s, Operand guard) {
    if (guard.kind != OPK_REG || guard.file != RF_P || guard.value >= REG_PT ||
        check_operand_divergent(s, guard))
        return 0;
    return 1 + 2 * guard.value + ((guard.mods & OPM_NOT) != 0);
}

static unsigned other_side(unsigned side) { return ((side - 1) ^ 1) + 1; }

static bool cell_divergent(const Cells *s, const Halves *halves, unsigned cell, unsigned side) {
    return has(s, cell) && !(side && halves->side[cell] == side);
}

/* May lanes find several values where this side executes? */
static bool divergent_on(const Cells *s, const Halves *halves, Operand o, unsigned side) {
    unsigned first = 0, n = cells_of(o, &first);
    for (unsigned k = 0; k < n; k++)
        if (cell_divergent(s, halves, first + k, side))
            return true;
    return false;
}
static bool low_divergent_on(const Cells *s, const Halves *halves, Operand o, unsigned side) {
    unsigned first = 0, n = cells_of(o, &first);
    return n == 1 && first < CELL_P ? cell_divergent(s, halves, CELL_LOW + first, side)
                                    : divergent_on(s, halves, o, side);
}

/* Does a LOP3 read nothing but the low halves of its registers: R & 0xff? */
static bool reads_low(const MachInst *inst) {
    enum { AND = 0xc0 };
    return inst->optype == OT_LOP3 && MGET(LOP3, lut, inst->mods) == AND &&
           inst->src[LOP3_rb].kind == OPK_IMM && inst->src[LOP3_rb].value <= UINT16_MAX;
}

/* Of a PRMT with a number: does what it puts into the low half differ? */
static bool prmt_low_divergent(const Cells *s, const Halves *halves, const MachInst *inst, unsigned side) {
    bool divergent = false;
    for (unsigned k = 0; k < 2; k++) {
        unsigned byte = inst->src[PRMT_rb].value >> 4 * k & 7;
        Operand from = inst->src[byte < 4 ? PRMT_ra : PRMT_rc];
        divergent |= (byte & 2 ? divergent_on : low_divergent_on)(s, halves, from, side);
    }
    return divergent;
}

/* Predicates have other values from now on. */
static void forget_predicates(Halves *halves, Operand written) {
    unsigned first = 0, n = written.file == RF_P ? cells_of(written, &first) : 0;
    for (unsigned k = 0; n && k < CELL_FRAME; k++) {
        unsigned cell = halves->side[k] ? CELL_P + (halves->side[k] - 1u) / 2 : CELLS;
        if (cell >= first && cell < first + n)
            halves->side[k] = 0;
    }
}

typedef struct { /* of what is written */
    bool divergent, low, keeps;
    unsigned side;
} Written;

static void write_cell(Cells *s, Halves *halves, Cells *writes, unsigned k, bool divergent,
                       const Written *how) {
    bool half = how->side && !divergent && has(s, k),
         whole = half && halves->side[k] == other_side(how->side);
    set(s, k, divergent || (how->keeps && !whole && has(s, k)));
    if (divergent || !has(s, k))
        halves->side[k] = 0;
    else if (half)
        halves->side[k] = (uint8_t)how->side;
    if (writes)
        set(writes, k, true);
}

static void write_cells(Cells *s, Halves *halves, Cells *writes, Operand o, const Written *how) {
    unsigned first = 0, n = cells_of(o, &first);
    for (unsigned k = first; k < first + n; k++) {
        write_cell(s, halves, writes, k, how->divergent, how);
        if (k < CELL_P)
            write_cell(s, halves, writes, CELL_LOW + k, how->low, how);
    }
}

void check_cells_step(const Checker *checker, Cells *s, Halves *halves, Cells *writes, const MachInst *inst,
                      bool together) {
    bool guarded = !op_is_always(inst->guard), divergent = false;
    unsigned side = side_of(s, inst->guard);
    Makes how = makes(checker, s, inst, together);
    if (how == MAKES_BY_DATA) {
        bool of_warp = check_is_of_warp(checker->flow, (uint32_t)(inst - checker->flow->insts));
        for (unsigned k = 0; k < inst->nsrc; k++) /* predicates that ISETP and LOP3 combine with count */
            divergent |= (!of_warp || inst->src[k].file == RF_P) &&
                         (reads_low(inst) && k == LOP3_ra ? low_divergent_on
                                                          : divergent_on)(s, halves, inst->src[k], side);
        if (isa_has_effect(inst->optype, ISA_EFFECT_READS_ALL_P))
            divergent |= any_named_predicate(s, inst);
    }
    bool parted = guarded && check_operand_divergent(s, inst->guard);
    divergent |= how == MAKES_DIVERGENT || parted;
    Written written = {divergent, divergent, guarded, side};
    if (divergent && !parted && inst->optype == OT_PRMT && inst->src[PRMT_rb].kind == OPK_IMM &&
        MGET(PRMT, mode, inst->mods) == PrmtMode_IDX)
        written.low = prmt_low_divergent(s, halves, inst, side);
    for (unsigned k = 0; k < inst->ndst; k++)
        write_cells(s, halves, writes, inst->dst[k], &written);
    for (unsigned k = 0; k < inst->ndst; k++)
        forget_predicates(halves, inst->dst[k]);
    unsigned first = 0, words = inst->optype == OT_STL ? frame_words(inst, &first) : 0;
    bool keeps = guarded || (words && isa_access_bytes(inst) < 4); /* another part of the word, say */
    for (unsigned k = 0; k < words; k++) {
        set(s, CELL_FRAME + first + k, divergent || (keeps && has(s, CELL_FRAME + first + k)));
        if (writes)
            set(writes, CELL_FRAME + first + k, true);
    }
    RegFile file;
    isa_named_predicates(inst, &file);
    written = (Written){divergent, divergent, true, 0};
    for (unsigned p = 0; isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P) && p < REG_PT; p++) {
        write_cells(s, halves, writes, op_reg(file, p, 1), &written);
        forget_predicates(halves, op_reg(file, p, 1));
    }
}

/* A branch that all lanes of the group take or none: .U, and .DIV and .CONV, which ask who is here, of lanes
 * whose mask is named, whatever the guard. */
static bool goes_as_one(const MachInst *inst) {
    unsigned cond = MGET(BRA, cond, inst->mods);
    bool masked = false;
    for (unsigned n = 0; n < inst->nsrc; n++)
        masked |= inst->src[n].kind == OPK_REG && inst->src[n].file == RF_UR;
    return cond != BRACond_NoCond && (cond == BRACond_U || masked || bin_guard(inst) == BG_ALWAYS);
}

bool check_parts_lanes(const Cells *s, const MachInst *inst) {
    BinKind k = bin_kind(inst);
    if (k != BK_BRANCH && k != BK_BRANCH_INDIRECT && k != BK_CALL && k != BK_EXIT && k != BK_RET)
        return false;
    if (k == BK_BRANCH && goes_as_one(inst))
        return false;
    bool d = check_operand_divergent(s, inst->guard);
    for (unsigned n = 0; n < inst->nsrc && k != BK_RET;
         n++) /* a return address is as uniform as the call was */
        d |= check_operand_divergent(s, inst->src[n]);
    return d;
}
