/* Distances between instructions from the tables of latency.def: see latency.h. Unit, queue, pace, and in
 * what ptxas treats an operation otherwise than others of its unit (Timing), are columns of its row; the
 * kernel that shows it stands here. SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"

enum {
    ROW_ALU,
    ROW_FMA,
    ROW_WIDE_AB,
    ROW_WIDE_CLO,
    ROW_WIDE_CHI,
    ROW_HALF,
    ROW_HALF_ALU,
    ROW_DBL,
    ROW_MMA,
    ROW_XU,
    ROW_AGU,
    NROWS
};
enum {
    COL_ALU,
    COL_FMA,
    COL_WLO,
    COL_WHI,
    COL_DISP64,
    COL_HALF,
    COL_HALF_ALU,
    COL_HALF_MMA,
    COL_DBL,
    COL_IMMA88,
    COL_MMA1,
    COL_MMA2,
    COL_DMMA,
    NCOLS
};

#define LATENCY_FAMILY(family, ...) +1
enum {
    NFAMILIES =
#include "isa/machine/latency.def"
};
#define LATENCY_GPR(family, row, ...) +1
_Static_assert(NFAMILIES *NROWS ==
#include "isa/machine/latency.def"
               , "latency.def: LATENCY_GPR has not every reader row of every family, once");

static const uint8_t gpr_raw[NFAMILIES][NROWS][NCOLS] = {
#define LATENCY_GPR(family, row, ...) [Latency_##family][ROW_##row] = {__VA_ARGS__},
#include "isa/machine/latency.def"
};

#define LATENCY_PACE(family, word, ...) +1
_Static_assert(NFAMILIES *ISA_PACE_COUNT ==
#include "isa/machine/latency.def"
               , "latency.def: LATENCY_PACE has not every word of Pace of every family, once");

typedef struct {
    uint8_t own, least, guarded, hold;
} Pace;
static const Pace paces[NFAMILIES][ISA_PACE_COUNT] = {
#define LATENCY_PACE(family, word, ...) [Latency_##family][ISA_PACE_##word] = {__VA_ARGS__},
#include "isa/machine/latency.def"
};

enum { NTIMINGS = __builtin_popcount(ISA_TIMING_ALL) };
#define LATENCY_TIMING(family, word, ...) +1
_Static_assert(NFAMILIES *NTIMINGS ==
#include "isa/machine/latency.def"
               , "latency.def: LATENCY_TIMING has not every word of Timing of every family, once");
static const uint8_t timings[NFAMILIES][NTIMINGS] = {
#define LATENCY_TIMING(family, word, ...) [Latency_##family][__builtin_ctz(ISA_TIMING_##word)] = __VA_ARGS__,
#include "isa/machine/latency.def"
};

typedef struct {
    uint8_t guard, half_guard, dbl_guard, half_pred, dbl_pred, wide_pred, uguard, uguard_own, ubranch;
    bool dbl_sb, mma_sb;
    uint8_t waw_late, result_least, zero_yields, zero_product;
} FamilyData;
static const FamilyData families[NFAMILIES] = {
#define LATENCY_FAMILY(family, ...) [Latency_##family] = {__VA_ARGS__},
#include "isa/machine/latency.def"
};

#pragma GCC diagnostic error "-Wswitch" /* a unit or family without its row, column or number */
static enum Latency family_of(const Target *t) {
    enum Latency family = isa_target_info(t)->latency;
    /* an enumerator named by the compiler here: give it its rows in latency.def */
    switch (family) {
        // clang-format off
#define LATENCY_FAMILY(name, ...) case Latency_##name: break;
        // clang-format on
#include "isa/machine/latency.def"
    }
    return family;
}

static unsigned timing_number(enum Latency family, enum IsaTiming word) {
    return timings[family][__builtin_ctz(word)];
}
/* The word's number in the family, of an operation whose row says it in Timing; 0. */
static unsigned timing(enum Latency family, const MachInst *i, enum IsaTiming word) {
    return isa_traits(i->optype)->timing & word ? timing_number(family, word) : 0;
}

enum IsaUnit latency_unit(const MachInst *i) {
    if (!i->optype)
        return ISA_UNIT_AGU; /* not decoded: the slowest */
    enum IsaUnit unit = (enum IsaUnit)isa_traits(i->optype)->unit;
    /* A product takes a second pass over as much of k again as its first one: A has four registers then. */
    _Static_assert((int)HMMA_ra == (int)IMMA_ra, "matrix A");
    return unit == ISA_UNIT_MMA2 && i->src[HMMA_ra].count < 4 ? ISA_UNIT_MMA1 : unit;
}

static bool is_memory_class(enum IsaUnit c) { return c == ISA_UNIT_AGU || c == ISA_UNIT_TEX; }

static bool is_late_class(enum IsaUnit c) {
    return c == ISA_UNIT_XU || c == ISA_UNIT_SPECIAL || c == ISA_UNIT_CONST || is_memory_class(c) ||
           c == ISA_UNIT_DMMA;
}

bool latency_is_variable(const Target *t, const MachInst *i) {
    const FamilyData *data = &families[family_of(t)];
    enum IsaUnit c = latency_unit(i);
    if (c == ISA_UNIT_DBL)
        return data->dbl_sb;
    if (c == ISA_UNIT_MMA1 || c == ISA_UNIT_MMA2)
        return data->mma_sb;
    if (c == ISA_UNIT_UVAR)
        return !timing(family_of(t), i, ISA_TIMING_CROSSES);
    return is_late_class(c);
}

bool latency_reads_late(const Target *t, const MachInst *i) { return latency_is_variable(t, i); }

/* Evidence: ptxas 13.0 gives LDS, POPC, F2I, I2F, DFMA ... no scoreboard where a later one of the same kind
 * has one that is waited for before the result is used (bitonic LDS LDS.W0 ISETP; bits POPC POPC.W2 IMAD;
 * convert F2F.F32.F64, F2I.NTZ.W1, STG), and lets DMUL overwrite a source of the DFMA before it. Never so
 * with LDG, LDL, LDC or S2R. A matrix product whose sums the next product of them reads has no scoreboard
 * where a later one's is waited for between the two: on sm_75 548 pairs of HMMA, 208 of IMMA, 24 of BMMA, on
 * sm_80 60 of DMMA, in loops over 1 to 8 fragments, and none without such a wait. Textures: TEX R22
 * overwrites a source of the TEX before it, and the scoreboards of the last of a row do for all (boxFilter,
 * convolutionTexture; sm_75 to sm_90). S2UR: on sm_90 15 of 511 in public kernels have no scoreboard, a later
 * one's is waited for (invkin, black, topk), on the others none of 222. B2R.RESULT: 3 of 35 in generated
 * programs for sm_90, on the others none of 133. */
enum IsaQueue latency_queue(const Target *t, const MachInst *i) {
    enum IsaUnit unit = latency_unit(i);
    bool fixed = (unit == ISA_UNIT_DBL && !families[family_of(t)].dbl_sb) ||
                 ((unit == ISA_UNIT_MMA1 || unit == ISA_UNIT_MMA2) && !families[family_of(t)].mma_sb);
    enum IsaQueue queue = (enum IsaQueue)isa_traits(i->optype)->queue;
    bool apart = (queue == ISA_QUEUE_S2UR || queue == ISA_QUEUE_B2R) &&
                 !timing_number(family_of(t), ISA_TIMING_CROSSES);
    return fixed || apart ? ISA_QUEUE_NONE : queue;
}

/* Evidence: ptxas 13.0 gives LDS and LDSM no scoreboard where that of a later SHFL is waited for before the
 * result is used (attention by matrix products, sm_75 to sm_89: LDSM R52; SHFL.W0; B0; HMMA R52), and lets a
 * SHFL's wait free the result's register. So with SHFL before LDS: SHFL.UP R7; LDS.128.W0; B0; FSETP R7
 * (CUB's DeviceScan of maxima, sm_75 to sm_90). */
bool latency_comes_behind(enum IsaQueue later, enum IsaQueue earlier) {
    bool both = (later == ISA_QUEUE_SHFL || later == ISA_QUEUE_SHARED) &&
                (earlier == ISA_QUEUE_SHFL || earlier == ISA_QUEUE_SHARED);
    return later != ISA_QUEUE_NONE && (later == earlier || both);
}

/* Evidence: of a row of STG, STL or STS ptxas gives only the last a read scoreboard, and overwrites registers
 * of all of them after waiting for that one (samples calls, pressure). SHFL goes the same way: STG R12;
 * SHFL.W0; a wait for 0; SEL R14 with no scoreboard of the STG (generated programs for sm_75, sm_86, sm_89;
 * for sm_75 by the scoreboard of SHFL's operands, too). */
bool latency_reads_in_order(const Target *t, const MachInst *i) {
    bool memory = isa_has_effect(i->optype, ISA_EFFECT_READ | ISA_EFFECT_WRITE) ||
                  latency_queue(t, i) == ISA_QUEUE_SHFL;
    return is_memory_class(latency_unit(i)) && memory && latency_reads_late(t, i);
}

/* Evidence: STS R5; BAR.SYNC; SHF R5 without any scoreboard on sm_75 (sample reduce), and STS [R3.X4];
 * BAR.SYNC; HFMA2.MMA R3 on sm_80 (MC_EstimatePiP). Behind BAR.SYNC.DEFER_BLOCKING ptxas waits for the STS as
 * ever. On sm_75 BAR.RED does as BAR.SYNC (STG [R14], R26; BAR.RED; IMAD.MOV R14: six generated programs). */
bool latency_drains_reads(const Target *t, const MachInst *i) {
    uint32_t bits = 0;
    bool now = isa_target_info(t)->branch_unit_bytes == 4 && !isa_modifier(i, "defer", &bits);
    return timing(family_of(t), i, ISA_TIMING_DRAINS) ||
           (now && timing(family_of(t), i, ISA_TIMING_DRAINS_NOW));
}

/* Evidence: ATOM.E.CAS P2, R12 with both scoreboards on sm_90; the branch on P2 waits for that of the
 * operands, who reads R12 for that of the result (every ATOM with a predicate in 330 generated programs). */
bool latency_comes_with_operands(const Target *t, const MachInst *i, unsigned dst) {
    return timing(family_of(t), i, ISA_TIMING_P_WITH_READS) && i->dst[dst].kind == OPK_REG &&
           i->dst[dst].file == RF_P;
}

/* The addend of a 64-bit multiply-add is read late. ptxas relies on it in IMAD.HI on sm_90 only (calls:
 * IMAD.WIDE.U32 R20; IMAD.HI.U32 R20, P2, R25, R17, R20 after 4 cycles). */
static bool is_wide_addend(enum Latency family, const MachInst *reader, unsigned src) {
    _Static_assert((int)IMAD_WIDE_rc == (int)IMAD_HI_rc, "addend");
    return src == IMAD_WIDE_rc &&
           (timing(family, reader, ISA_TIMING_PAIR) || timing(family, reader, ISA_TIMING_ADDEND));
}

static unsigned reader_row(enum Latency family, enum IsaUnit c, const MachInst *reader, unsigned src,
                           unsigned part) {
    switch (c) {
    case ISA_UNIT_ALU:
    case ISA_UNIT_DISP64: return ROW_ALU;
    case ISA_UNIT_FMA: return ROW_FMA;
    case ISA_UNIT_WIDE:
        if (!is_wide_addend(family, reader, src))
            return ROW_WIDE_AB;
        return part ? ROW_WIDE_CHI : ROW_WIDE_CLO;
    case ISA_UNIT_HALF: return ROW_HALF;
    case ISA_UNIT_HALF_ALU: return ROW_HALF_ALU;
    case ISA_UNIT_HALF_MMA:
    case ISA_UNIT_DBL: return ROW_DBL;
    case ISA_UNIT_MMA1:
    case ISA_UNIT_MMA2:
    case ISA_UNIT_DMMA: return timing(family, reader, ISA_TIMING_STEPS) ? ROW_XU : ROW_MMA;
    case ISA_UNIT_AGU: return ROW_AGU;
    case ISA_UNIT_TEX: /* a cycle sooner than other memory operations (ptxas 13.0, fetches of all geometries)
                        */
    case ISA_UNIT_XU:
    case ISA_UNIT_SPECIAL:
    case ISA_UNIT_CONST:
    case ISA_UNIT_CTRL:
    case ISA_UNIT_UDP: /* and other uniform ones: what they read of R crosses over */
    case ISA_UNIT_UMOVE:
    case ISA_UNIT_ULDC:
    case ISA_UNIT_COUNT: break;
    case ISA_UNIT_UVAR: /* R2UR, where its time is known: IMAD.WIDE R12; LDC; R2UR R12 after 3 cycles, R13
                           after 5; IADD3, LEA 4, IMAD 5 and never less (sm_90, NCCL and XGBoost by ptxas 12)
                         */
        return timing(family, reader, ISA_TIMING_CROSSES) ? ROW_ALU : ROW_XU;
    }
    return ROW_XU;
}

static unsigned writer_column(enum Latency family, enum IsaUnit c, const MachInst *writer, unsigned part) {
    switch (c) {
    case ISA_UNIT_ALU: return COL_ALU;
    case ISA_UNIT_FMA: return COL_FMA;
    case ISA_UNIT_WIDE: return timing(family, writer, ISA_TIMING_PAIR) && part == 0 ? COL_WLO : COL_WHI;
    case ISA_UNIT_DISP64: /* CS2R.32 R0; IADD3 R0, R0 after 4 cycles (simpleHyperQ, sm_80) */
        return writer->dst[0].count == 1 ? COL_ALU : COL_DISP64;
    case ISA_UNIT_HALF: return COL_HALF;
    case ISA_UNIT_HALF_ALU: return COL_HALF_ALU;
    case ISA_UNIT_HALF_MMA: return COL_HALF_MMA;
    case ISA_UNIT_DBL: return COL_DBL;
    case ISA_UNIT_MMA1: return writer->src[HMMA_ra].count == 1 ? COL_IMMA88 : COL_MMA1;
    case ISA_UNIT_MMA2: return COL_MMA2;
    case ISA_UNIT_DMMA:
    case ISA_UNIT_XU: /* this and what follows: latency_raw_part has answered before */
    case ISA_UNIT_SPECIAL:
    case ISA_UNIT_CONST:
    case ISA_UNIT_AGU:
    case ISA_UNIT_TEX:
    case ISA_UNIT_CTRL:
    case ISA_UNIT_UDP:
    case ISA_UNIT_UMOVE:
    case ISA_UNIT_ULDC:
    case ISA_UNIT_UVAR:
    case ISA_UNIT_COUNT: break;
    }
    return COL_DMMA;
}

static bool is_fma_side(enum IsaUnit c) { return c == ISA_UNIT_FMA || c == ISA_UNIT_WIDE; }

static bool is_uniform_class(enum IsaUnit c) {
    return c == ISA_UNIT_UDP || c == ISA_UNIT_UMOVE || c == ISA_UNIT_ULDC || c == ISA_UNIT_UVAR;
}

/* as_guard: the reader is not coupled with the writer's side, or reads the predicate where guards are read */
static unsigned pred_raw(const FamilyData *data, enum IsaUnit w, enum IsaUnit r, bool as_guard) {
    bool coupled_reader = r == ISA_UNIT_ALU || r == ISA_UNIT_FMA || r == ISA_UNIT_WIDE ||
                          r == ISA_UNIT_HALF || r == ISA_UNIT_HALF_ALU || r == ISA_UNIT_HALF_MMA ||
                          r == ISA_UNIT_DBL;
    if (as_guard || !coupled_reader)
        return w == ISA_UNIT_DBL                              ? data->dbl_guard
               : w == ISA_UNIT_HALF || w == ISA_UNIT_HALF_ALU ? data->half_guard
                                                              : data->guard;
    if (w == ISA_UNIT_DBL) /* DSETP; DSETP .. !P0 after 8 cycles on sm_75 (HeCBench's mcmd) */
        return r == ISA_UNIT_DBL && data->dbl_pred > 8 ? 8 : data->dbl_pred;
    if (w == ISA_UNIT_HALF || w == ISA_UNIT_HALF_ALU)
        return data->half_pred;
    if (is_uniform_class(w)) /* ELECT P0; USHF; ISETP P0 after 4 cycles (sm_90, a product by warp groups) */
        return r == ISA_UNIT_ALU ? 4 : 6;
    if (w == ISA_UNIT_WIDE && r == ISA_UNIT_WIDE)
        return data->wide_pred;
    return is_fma_side(w) == is_fma_side(r) ? 4 : 5;
}

/* sm_90: ptxas lets LD, LDG, ST, STG, ATOM, ATOMG and REDG read the descriptor 2 cycles behind ULDC where
 * their address has been there for longer (EXIT; ULDC; ST), as on sm_75 and sm_80. UMOV; UTMALDG, UTMASTG or
 * UTMAREDG: 2 (CUTLASS). 5 for what was seen nowhere. */
static unsigned ugpr_to_memory(enum Latency family, const MachInst *reader) {
    unsigned load = reader ? timing(family, reader, ISA_TIMING_UR_OF_LOAD) : 0,
             store = reader ? timing(family, reader, ISA_TIMING_UR_OF_STORE) : 0;
    return load ? load : store ? store : 5;
}

/* reader: NULL for any of unit r */
static unsigned ugpr_raw(enum Latency family, enum IsaUnit w, enum IsaUnit r, const MachInst *reader) {
    unsigned crosses = timing_number(family, ISA_TIMING_CROSSES);
    if (w == ISA_UNIT_UVAR)
        return crosses ? crosses : 2;
    if (w == ISA_UNIT_UMOVE || w == ISA_UNIT_ULDC)
        return r == ISA_UNIT_ULDC              ? 5
               : r == ISA_UNIT_CTRL            ? 3
               : r == ISA_UNIT_TEX             ? 2 /* UMOV UR5; IADD3; TEX UR4 on sm_90 (boxFilter) */
               : crosses && is_memory_class(r) ? ugpr_to_memory(family, reader)
                                               : 2;
    if (r == ISA_UNIT_UDP)
        return 4;
    if (r == ISA_UNIT_UMOVE)
        return 7;
    if (r == ISA_UNIT_ULDC)
        return 12;
    unsigned jump = reader ? timing(family, reader, ISA_TIMING_UR_OF_JUMP) : 0;
    if (jump) /* USHF UR5; BRXU UR4 after 9 cycles on sm_75, 10 on the others (every BRXU of Warp's kernels)
               */
        return jump;
    if (r == ISA_UNIT_CTRL)
        return 10;
    return is_late_class(r) || r == ISA_UNIT_UVAR ? 9 : 6;
}

/* sooner: how soon the reader takes one as guard if not as its unit does; 0: as its unit */
static unsigned upred_raw(const FamilyData *data, enum IsaUnit w, enum IsaUnit r, unsigned src,
                          unsigned sooner) {
    if (w == ISA_UNIT_UMOVE)
        return src == LATENCY_GUARD || r == ISA_UNIT_CTRL ? 5 : 1;
    if (src == LATENCY_GUARD && sooner)
        return sooner;
    if (src == LATENCY_GUARD && is_uniform_class(r)) /* UISETP UP0; @!UP0 UIADD3 (sm_90, nbody of Numba) */
        return data->uguard_own;
    if (src != LATENCY_GUARD && r == ISA_UNIT_CTRL)
        return data->ubranch;
    if (src == LATENCY_GUARD || r == ISA_UNIT_ULDC)
        return data->uguard;
    return r == ISA_UNIT_UDP || r == ISA_UNIT_UMOVE ? 4 : 6;
}

/* Do two products in steps make sums of one type of addends of one type? */
static bool same_steps(const MachInst *a, const MachInst *b) {
    return MGET(HMMA_884, acc, a->mods) == MGET(HMMA_884, acc, b->mods) &&
           MGET(HMMA_884, from, a->mods) == MGET(HMMA_884, from, b->mods);
}

/* Vector register that `writer` wrote, in the row of who reads or overwrites it. */
static unsigned gpr(enum Latency family, unsigned row, enum IsaUnit w, const MachInst *writer,
                    unsigned part) {
    enum { TO_HALVES = 3 };
    unsigned steps = timing(family, writer, ISA_TIMING_STEPS);
    if (steps)
        return MGET(HMMA_884, acc, writer->mods) == HmmaHalfAcc_F16 ? steps + TO_HALVES : steps;
    return gpr_raw[family][row][writer_column(family, w, writer, part)];
}

/* Units whose results have a fixed time besides their scoreboard. */
static bool is_also_fixed(enum IsaUnit c) {
    return c == ISA_UNIT_DBL || c == ISA_UNIT_MMA1 || c == ISA_UNIT_MMA2;
}

unsigned latency_raw_part(const Target *t, const MachInst *writer, unsigned dst, unsigned dst_part,
                          const MachInst *reader, unsigned src, unsigned src_part) {
    enum Latency family = family_of(t);
    const FamilyData *f = &families[family];
    enum IsaUnit w = latency_unit(writer), r = latency_unit(reader);
    unsigned file = writer->dst[dst].file;
    if (latency_is_variable(t, writer) && !is_also_fixed(w))
        return LATENCY_SB_TO_WAIT;
    if (file == RF_UP)
        return upred_raw(f, w, r, src, timing(family, reader, ISA_TIMING_UP_SOONER));
    if (file == RF_P)
        return pred_raw(f, w, r, src == LATENCY_GUARD || timing(family, reader, ISA_TIMING_P_AS_GUARD));
    if (file == RF_UR || is_uniform_class(w))
        return ugpr_raw(family, w, r, reader);
    if (file == RF_B || w == ISA_UNIT_CTRL)
        return 1;
    /* SHF R5, IMAD R5; SYNCS.PHASECHK R5 and PRMT R0, LEA R0; SYNCS.ARRIVE [R0] after 4 cycles (sm_90) */
    unsigned sooner =
        w == ISA_UNIT_ALU || w == ISA_UNIT_FMA ? timing(family, reader, ISA_TIMING_R_SOONER) : 0;
    if (sooner)
        return sooner;
    unsigned later = timing(family, reader, ISA_TIMING_R_LATER);
    if (later && w != ISA_UNIT_HALF_MMA) /* WARPSYNC.COLLECTIVE: IMAD, MOV; never less in 387 */
        return later;
    /* PRMT, VIMNMX3: 4 cycles either way (two of the generated programs, sm_90), where LOP3 and IMAD keep 5
     */
    unsigned near = timing(family, reader, ISA_TIMING_BOTH_SIDES);
    if (near && timing(family, writer, ISA_TIMING_BOTH_SIDES))
        return near;
    bool sums = src == HMMA_884_rc && timing(family, writer, ISA_TIMING_STEPS) &&
                timing(family, reader, ISA_TIMING_STEPS);
    if (sums && same_steps(writer, reader)) /* HMMA.884.F16.F16.STEP0 R32; STEP1; STEP0 R32 */
        return 8;
    return gpr(family, reader_row(family, r, reader, src, src_part), w, writer, dst_part);
}

unsigned latency_raw(const Target *t, const MachInst *writer, unsigned dst, const MachInst *reader,
                     unsigned src) {
    unsigned worst = 0;
    for (unsigned a = 0; a < 2; a++)
        for (unsigned b = 0; b < 2; b++) {
            unsigned n = latency_raw_part(t, writer, dst, a, reader, src, b);
            worst = n > worst ? n : worst;
        }
    return worst;
}

unsigned latency_worst(const Target *t, const MachInst *writer, unsigned dst) {
    enum Latency family = family_of(t);
    const FamilyData *data = &families[family];
    enum IsaUnit w = latency_unit(writer);
    unsigned file = writer->dst[dst].file, worst = 0;
    uint32_t units = isa_target_units(t);
    if (latency_is_variable(t, writer) && !is_also_fixed(w))
        return LATENCY_SB_TO_WAIT;
    if (file == RF_P || file == RF_UP || file == RF_UR || is_uniform_class(w)) {
        for (unsigned r = 0; r < ISA_UNIT_COUNT; r++)
            for (unsigned guard = 0; guard < 2 && units >> r & 1; guard++) {
                unsigned n = file == RF_P    ? pred_raw(data, w, r, guard)
                             : file == RF_UP ? upred_raw(data, w, r, guard ? LATENCY_GUARD : 0, 0)
                                             : ugpr_raw(family, w, r, NULL);
                worst = n > worst ? n : worst;
            }
        return worst;
    }
    if (file == RF_B || w == ISA_UNIT_CTRL)
        return 1;
    const MachInst wide = isa_inst(OT_IMAD_WIDE); /* whose sources are read at different times */
    for (unsigned k = 0; k < 4 * ISA_UNIT_COUNT; k++) {
        unsigned r = k / 4, part = k & 1, src = k & 2 ? IMAD_WIDE_rc : IMAD_WIDE_ra;
        for (unsigned half = 0; half < 2 && units >> r & 1; half++) {
            unsigned n = gpr(family, reader_row(family, r, &wide, src, part), w, writer, half);
            worst = n > worst ? n : worst;
        }
    }
    return worst;
}

unsigned latency_war(const Target *t, const MachInst *first, unsigned src, const MachInst *second) {
    enum IsaUnit r = latency_unit(first), w = latency_unit(second);
    /* A predicate is read when its reader is issued: SEL R9, R6, R3, P3; MATCH.ALL P3 in the next cycle (two
     * of the generated programs, sm_86, sm_89). */
    if (src != LATENCY_GUARD && first->src[src].file == RF_P)
        return 1;
    /* UIADD3.X UR9, UP0; VOTEU.ALL UP0 after 2 cycles (sm_90, CUTLASS's products of 8-bit floats) */
    if (src != LATENCY_GUARD && first->src[src].file == RF_UP && r == ISA_UNIT_UDP && w == ISA_UNIT_UMOVE)
        return 2;
    /* ptxas overwrites a factor of HMMA by LDSM in the next cycle: what comes at an unknown time comes later
     */
    bool comes_late = latency_is_variable(t, second) && !is_also_fixed(w);
    if (r == ISA_UNIT_MMA1)
        return comes_late || family_of(t) != Latency_F75 ? 1 : 6;
    /* HMMA R32, R40; HMMA R40 after 6 cycles (sm_90, attention by matrix products) */
    bool next = family_of(t) == Latency_F90 && w == r;
    if (r == ISA_UNIT_MMA2 || r == ISA_UNIT_DMMA)
        return comes_late ? 1 : family_of(t) == Latency_F75 ? 14 : next ? 6 : 7;
    /* UMOV UR4, UR9; ULDC.64 UR8 after 2 cycles (conv1d, sm_80), UMOV UR6, UR11; ULDC.64 UR10 in the next one
     * (conv1d, sm_90) */
    if (r == ISA_UNIT_UMOVE && w == ISA_UNIT_ULDC && family_of(t) != Latency_F75)
        return family_of(t) == Latency_F90 ? 1 : 2;
    /* ULDC.64 UR14, c[0x0][UR10+0x220]; UMOV; UMOV UR10 (sm_90, NCCL) */
    if (r == ISA_UNIT_ULDC && w == ISA_UNIT_UMOVE && family_of(t) == Latency_F90)
        return 2;
    if (is_uniform_class(
            r)) /* UMOV UR4, UR5; UMOV UR5 after 2 cycles (generated, sm_75): one pipe, one order */
        return r == w ? 1 : w == ISA_UNIT_UMOVE || w == ISA_UNIT_ULDC ? 3 : 1;
    /* sm_90: ptxas overwrites a source of DFMA by LDG in the next cycle (spmv) */
    return family_of(t) != Latency_F90 && (is_late_class(w) || w == ISA_UNIT_MMA1 || w == ISA_UNIT_MMA2) ? 2
                                                                                                         : 1;
}

unsigned latency_waw(const Target *t, const MachInst *first, unsigned dst, const MachInst *second) {
    const FamilyData *data = &families[family_of(t)];
    enum IsaUnit a = latency_unit(first), b = latency_unit(second);
    bool guarded = !op_is_always(second->guard),
         late = is_late_class(b) || (b == ISA_UNIT_UVAR && latency_is_variable(t, second));
    if (latency_is_variable(t, first) && a != ISA_UNIT_DBL && a != ISA_UNIT_MMA1 && a != ISA_UNIT_MMA2)
        return LATENCY_SB_TO_WAIT;
    if (first->dst[dst].file == RF_P)
        return late ? data->guard - 1u : 2;
    if (a == ISA_UNIT_UVAR) {
        /* R2UR UR36, R14; R2UR UR36, R10 after 2 cycles (sm_90, dead code of a Warp kernel): one order; and
         * R2UR UR5, R5; USHF UR5 after 9 (sm_90, dead code in NCCL): the later result is read 4 cycles behind
         * it at the earliest, and then the other one has come */
        unsigned crosses = timing_number(family_of(t), ISA_TIMING_CROSSES),
                 own = ugpr_raw(family_of(t), b, b, NULL);
        if (!crosses)
            return 1;
        return first->optype == second->optype && crosses > 2 ? 2
               : b == ISA_UNIT_UDP && crosses > own           ? crosses - own
                                                              : crosses;
    }
    if (is_uniform_class(a)) /* the short pipe may overtake the long one, not the other way round */
        return a == ISA_UNIT_UDP && (b == ISA_UNIT_ULDC || b == ISA_UNIT_UMOVE) ? 7 : 1;
    if (a == ISA_UNIT_MMA1 || a == ISA_UNIT_MMA2 || a == ISA_UNIT_DMMA)
        /* IMMA R8; I2F R9, R9 after 15 of 16 cycles, which may read it after 14 (sm_80, forms with what
         * follows) */
        return gpr(family_of(t), b == ISA_UNIT_XU ? ROW_XU : ROW_ALU, a, first, 0);
    if (a == ISA_UNIT_DBL && a == b)
        return 2; /* DFMA R4; @P0 DFMA R4 (sm_90: gabor, pow and sin of Numba) */
    if (a == ISA_UNIT_DBL || a == ISA_UNIT_HALF_MMA)
        return late ? 9 : guarded ? 6 : 3;
    if (late || b == ISA_UNIT_MMA1 || b == ISA_UNIT_MMA2)
        return data->waw_late;
    /* ptxas issues IADD3 R14; @P0 IMAD R14 and IMAD.WIDE R2; MOV R2 back to back (bits, matmul), on sm_90
     * CS2R R16; @!P0 DMUL R16 (a Warp kernel), and from sm_80 on CS2R R14; @P0 HADD2.F32 R15 (products with
     * numbers of 4 bits in bitsandbytes, ptxas 12.8 to 13.2): no half comes earlier than what CS2R writes */
    if (a == ISA_UNIT_DISP64)
        return (b == ISA_UNIT_DBL && family_of(t) == Latency_F90) ||
                       (b == ISA_UNIT_HALF && family_of(t) != Latency_F75)
                   ? 1
                   : 2;
    /* HFMA2.BF16_V2 R27; @!P2 PRMT R27 and HMNMX2 R3; @P1 IMAD.MOV R3 in the next cycle (generated, sm_86,
     * sm_89, sm_90) */
    bool next = guarded && family_of(t) != Latency_F75;
    return !next && (a == ISA_UNIT_HALF || a == ISA_UNIT_HALF_ALU) ? 3 : 1;
}

unsigned latency_result_lasts(const Target *t, const MachInst *first, unsigned dst) {
    enum { MOST_OVERWRITTEN = 9, MOST_BUT_R = 16 };
    enum Latency family = family_of(t);
    enum IsaUnit unit = latency_unit(first);
    unsigned most = MOST_OVERWRITTEN;
    if (unit == ISA_UNIT_MMA1 || unit == ISA_UNIT_MMA2 || unit == ISA_UNIT_DMMA)
        return LATENCY_WINDOW;
    if (latency_is_variable(t, first) && !is_also_fixed(unit))
        return LATENCY_SB_TO_WAIT;
    if (first->dst[dst].file != RF_R || is_uniform_class(unit))
        return MOST_BUT_R;
    for (unsigned row = 0; row < NROWS; row++)
        for (unsigned half = 0; half < 2; half++) {
            unsigned n = gpr(family, row, unit, first, half);
            most = n > most ? n : most;
        }
    return most;
}

unsigned latency_operands_last(const MachInst *first) {
    enum IsaUnit unit = latency_unit(first);
    return unit == ISA_UNIT_MMA1 || unit == ISA_UNIT_MMA2 || unit == ISA_UNIT_DMMA ? 14
           : is_uniform_class(unit)                                                ? 3
                                                                                   : 2;
}

static const Pace *pace_of(const Target *t, const MachInst *i) {
    return &paces[family_of(t)][isa_traits(i->optype)->pace];
}

unsigned latency_issue(const Target *t, const MachInst *i) { return pace_of(t, i)->own; }

unsigned latency_issue_least(const Target *t, const MachInst *i) {
    const Pace *pace = pace_of(t, i);
    return op_is_always(i->guard) ? pace->least : pace->guarded;
}

unsigned latency_stall(const Target *t, const MachInst *i) {
    const FamilyData *data = &families[family_of(t)];
    enum IsaUnit unit = latency_unit(i);
    bool product = unit == ISA_UNIT_MMA1 || unit == ISA_UNIT_MMA2 || latency_queue(t, i) == ISA_QUEUE_DMMA;
    if (!i->ctrl.yield || i->ctrl.stall_cycles)
        return i->ctrl.stall_cycles;
    return product ? data->zero_product : data->zero_yields;
}

unsigned latency_next(const Target *t, const MachInst *i) {
    unsigned least = latency_issue_least(t, i), hold = pace_of(t, i)->hold, stall = latency_stall(t, i);
    least = hold > least ? hold : least;
    return stall > least ? stall : least;
}

unsigned latency_result_least(const Target *t) { return families[family_of(t)].result_least; }

unsigned latency_estimate(const Target *t, const MachInst *i) {
    unsigned shorter = timing(family_of(t), i, ISA_TIMING_SHORT);
    switch (latency_unit(i)) {
    case ISA_UNIT_XU:
    case ISA_UNIT_UVAR: return 15;
    case ISA_UNIT_DBL: return shorter ? shorter : 54;
    case ISA_UNIT_TEX:
    case ISA_UNIT_AGU: return isa_traits(i->optype)->queue == ISA_QUEUE_SHFL ? 15 : 32;
    case ISA_UNIT_CONST: return 4;
    case ISA_UNIT_SPECIAL: return 16;
    case ISA_UNIT_ALU:
    case ISA_UNIT_FMA:
    case ISA_UNIT_WIDE:
    case ISA_UNIT_DISP64:
    case ISA_UNIT_HALF:
    case ISA_UNIT_HALF_ALU:
    case ISA_UNIT_HALF_MMA:
    case ISA_UNIT_MMA1:
    case ISA_UNIT_MMA2:
    case ISA_UNIT_DMMA:
    case ISA_UNIT_CTRL:
    case ISA_UNIT_UDP:
    case ISA_UNIT_UMOVE:
    case ISA_UNIT_ULDC:
    case ISA_UNIT_COUNT: break;
    }
    return 6;
}
