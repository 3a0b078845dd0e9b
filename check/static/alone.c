/* Loops around a compare-and-swap that end without another lane's help, for R-13:
 *
 *     loop:  FADD R4, R2, R6 ;  ATOMS.CAS R5, [R7], R6, R4 ;  ISETP.NE P0, R5, R6 ;  @!P0 BRA out ;
 *            MOV R6, R5 ;  BRA loop ;
 *
 * A lane that runs alone sees in the second round what it expects, and leaves. One round is followed from the
 * swap to the swap: each register may hold a word of the address, of what was expected or of what was seen,
 * each predicate what it is where the last two are equal; words that were spilled are followed, too. The
 * round must leave there, and come back with the same address, expecting what was seen. ATOMS.CAST.SPIN,
 * which ptxas has for what shared memory cannot do, says 1 where it has stored:
 *
 *     loop:  LDS R4, [R7] ;  FADD R5, R2, R4 ;  ATOMS.CAST.SPIN R5, [R7], R4, R5 ;  ISETP.EQ P0, R5, 1 ;
 *            @!P0 BRA loop ;
 *
 * It finds what LDS has just read at its address, and the round must leave where it says 1; so does sm_90's
 * ATOM.CAST.SPIN of what LD has read. Only loops without branches inside, calls, stores and other
 * instructions that watch memory. The compiler finds them on its own (lower/reconverge/retry.c). MOV, IMAD,
 * STL, LDL, LDS, LD, ISETP and the three ATOM*.CAS are asked for by name: what copies, spills, compares and
 * that the last ones expect a value is no column. SPDX-License-Identifier: MIT
 */
#include "check/static/internal.h"
#include <string.h>

typedef enum { NO, YES, UNKNOWN } Truth;
enum {
    NOTHING = 0,
    ADDRESS = 1, /* and the next one: the high word */
    EXPECTED = 3,
    SEEN = 5,
    OUTCOME = 7, /* what CAST.SPIN says where it has stored: 1 */
    SPILLED = 9, /* and those behind it: what is in a word of the stack when the loop begins */
    MOST_SPILLED = 64,
    UNIFORM = 128 /* and those behind it: what UR0.. hold, which the round leaves alone */
};

typedef struct {
    const BinFlow *flow;
    uint32_t swap;
    unsigned rd, ra, rb;         /* its operands */
    uint8_t holds[256];          /* R0.. */
    uint8_t stack[MOST_SPILLED]; /* words above R1 */
    uint8_t address[2];
    uint8_t equal[8]; /* P0..: a Truth */
    bool leaves;
    bool spins;       /* CAST.SPIN */
    bool has_swapped; /* and what is read counts */
} Round;

static bool find_operands(Round *round) {
    const MachInst *swap = &round->flow->insts[round->swap];
    if (bin_guard(swap) != BG_ALWAYS)
        return false;
    switch (swap->optype) {
    case OT_ATOM_CAS: round->rd = ATOM_CAS_rd, round->ra = ATOM_CAS_ra, round->rb = ATOM_CAS_rb; break;
    case OT_ATOMG_CAS: round->rd = ATOMG_CAS_rd, round->ra = ATOMG_CAS_ra, round->rb = ATOMG_CAS_rb; break;
    case OT_ATOMS_CAS: round->rd = ATOMS_CAS_rd, round->ra = ATOMS_CAS_ra, round->rb = ATOMS_CAS_rb; break;
    default: return false;
    }
    unsigned mode = swap->optype == OT_ATOM_CAS    ? MGET(ATOM_CAS, mode, swap->mods)
                    : swap->optype == OT_ATOMS_CAS ? MGET(ATOMS_CAS, mode, swap->mods)
                                                   : (unsigned)CasMode_CAS;
    round->spins = mode == CasMode_CAST_SPIN;
    return round->spins || mode == CasMode_CAS;
}

static bool in_register(Operand o) { return o.kind == OPK_REG && o.file == RF_R && o.value != REG_RZ; }

static void put_words(Round *round, Operand o, unsigned words, uint8_t what) {
    for (unsigned k = 0; in_register(o) && k < words && k < 2; k++)
        round->holds[o.value + k] = (uint8_t)(what + k);
}

static bool still_holds(const Round *round, Operand o, unsigned words, uint8_t what) {
    for (unsigned k = 0; in_register(o) && k < words; k++)
        if (round->holds[o.value + k] != what + k)
            return false;
    return words <= 2;
}

static uint8_t held(const Round *round, Operand o) {
    return in_register(o) && !(o.mods & ~OPM_REUSE) ? round->holds[o.value] : (uint8_t)NOTHING;
}

static Truth opposite(Truth t) { return t == UNKNOWN ? t : t == YES ? NO : YES; }

static Truth predicate(const Round *round, Operand o) {
    if (o.kind != OPK_REG || o.file != RF_P)
        return UNKNOWN;
    Truth t = o.value == REG_PT ? YES : (Truth)round->equal[o.value];
    return o.mods & OPM_NOT ? opposite(t) : t;
}

static Truth combined(unsigned bop, Truth x, Truth y) {
    if (bop == BoolOp_XOR)
        return x == UNKNOWN || y == UNKNOWN ? UNKNOWN : x == y ? NO : YES;
    Truth decides = bop == BoolOp_AND ? NO : YES;
    return x == decides || y == decides   ? decides
           : x == UNKNOWN || y == UNKNOWN ? UNKNOWN
                                          : opposite(decides);
}

/* Is a word of the outcome compared with what it is where the swap has stored? */
static bool is_outcome(uint8_t held_there, Operand o) {
    bool is_zero =
        (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ) || (o.kind == OPK_IMM && !o.value);
    return (held_there == OUTCOME && o.kind == OPK_IMM && o.value == 1) ||
           (held_there == OUTCOME + 1 && is_zero);
}

static void note_comparison(Round *round, const MachInst *test) {
    uint8_t x = held(round, test->src[ISETP_ra]), y = held(round, test->src[ISETP_rb]);
    unsigned cmp = MGET(ISETP, cmp, test->mods), bop = MGET(ISETP, bop, test->mods);
    bool same = ((x == SEEN || x == SEEN + 1) && y == x - SEEN + EXPECTED) ||
                ((y == SEEN || y == SEEN + 1) && x == y - SEEN + EXPECTED) ||
                is_outcome(x, test->src[ISETP_rb]) || is_outcome(y, test->src[ISETP_ra]);
    Truth result = !same            ? UNKNOWN
                   : cmp == ICmp_EQ ? YES
                   : cmp == ICmp_NE ? NO
                                    : UNKNOWN,
          other = predicate(round, test->src[ISETP_pp]);
    if (MGET(ISETP, ex, test->mods) && predicate(round, test->src[ISETP_pq]) != result)
        result = UNKNOWN; /* of the low words */
    Truth two[2] = {combined(bop, result, other), combined(bop, opposite(result), other)};
    const Operand *to[2] = {&test->dst[ISETP_pu], &test->dst[ISETP_pv]};
    for (unsigned k = 0; k < 2; k++)
        if (to[k]->kind == OPK_REG && to[k]->value != REG_PT)
            round->equal[to[k]->value] = (uint8_t)two[k];
}

static void forget_results(Round *round, const MachInst *inst) {
    for (unsigned d = 0; d < inst->ndst; d++) {
        Operand o = inst->dst[d];
        unsigned words = isa_dst_regs(round->flow->bin->target, inst, d);
        if (o.kind == OPK_REG && o.file == RF_P && o.value != REG_PT)
            round->equal[o.value] = UNKNOWN;
        for (unsigned k = 0; in_register(o) && k < (words ? words : 1) && o.value + k < 256; k++)
            round->holds[o.value + k] = NOTHING;
    }
}

/* The word on the stack that is stored or loaded; NULL: another one, or which is not known. */
static uint8_t *stack_word(Round *round, Operand base, Operand offset, unsigned k) {
    uint32_t at = offset.kind == OPK_IMM ? offset.value / 4 + k : k;
    bool known = base.kind == OPK_REG && base.file == RF_R && base.value == 1 && offset.kind == OPK_IMM &&
                 offset.value % 4 == 0 && at < MOST_SPILLED;
    return known ? &round->stack[at] : NULL;
}

static void spill(Round *round, const MachInst *store) {
    unsigned words = isa_src_regs(round->flow->bin->target, store, STL_rb);
    for (unsigned k = 0; k < words; k++) {
        uint8_t *word = stack_word(round, store->src[STL_ra], store->src[STL_offset], k);
        Operand from = store->src[STL_rb];
        from.value += k;
        if (word)
            *word = bin_guard(store) == BG_ALWAYS && words <= 2 ? held(round, from) : (uint8_t)NOTHING;
        else
            memset(round->stack, NOTHING, sizeof round->stack);
    }
}

static void reload(Round *round, const MachInst *load) {
    unsigned words = isa_dst_regs(round->flow->bin->target, load, LDL_rd);
    forget_results(round, load);
    for (unsigned k = 0; k < words && bin_guard(load) == BG_ALWAYS; k++) {
        const uint8_t *word = stack_word(round, load->src[LDL_ra], load->src[LDL_offset], k);
        if (word && in_register(load->dst[LDL_rd]))
            round->holds[load->dst[LDL_rd].value + k] = *word;
    }
}

/* What an instruction copies to its result: MOV's source, or ptxas's IMAD.MOV, which adds 0 times 0 to it. */
static Operand copied(const MachInst *inst) {
    static const Operand none = {.kind = OPK_NONE};
    const Operand *src = inst->src;
    if (bin_guard(inst) != BG_ALWAYS)
        return none;
    if (inst->optype == OT_MOV)
        return src[MOV_rb];
    bool adds = inst->optype == OT_IMAD && !MGET(IMAD, x, inst->mods) && src[IMAD_ra].kind == OPK_REG &&
                src[IMAD_ra].file == RF_R && src[IMAD_ra].value == REG_RZ;
    return adds ? src[IMAD_rc] : none;
}

static bool operands_alike(Operand x, Operand y) {
    return x.kind == y.kind && (x.kind != OPK_REG || x.file == y.file) && x.value == y.value &&
           !((x.mods ^ y.mods) & ~OPM_REUSE);
}

static bool is_no_uniform(Operand o) { return o.kind != OPK_REG || o.value == REG_URZ; }

/* Does LD read the words that the swap will compare, at its address? */
static bool reads_swapped_generic(const Round *round, const MachInst *load) {
    const MachInst *swap = &round->flow->insts[round->swap];
    if (swap->optype != OT_ATOM_CAS || load->optype != OT_LD || !round->spins || !round->has_swapped ||
        bin_guard(load) != BG_ALWAYS || !op_is_always(load->src[LD_pp]))
        return false;
    Operand at = load->src[LD_ra];
    unsigned words = isa_dst_regs(round->flow->bin->target, swap, round->rd),
             address = isa_src_regs(round->flow->bin->target, swap, round->ra);
    for (unsigned k = 0; in_register(at) && k < address; k++)
        if (round->holds[at.value + k] != round->address[k])
            return false;
    return isa_access_bytes(load) == 4 * words && operands_alike(at, swap->src[ATOM_CAS_ra]) &&
           MGET(LD, e, load->mods) == MGET(ATOM_CAS, e, swap->mods) &&
           operands_alike(load->src[LD_offset], swap->src[ATOM_CAS_offset]) &&
           is_no_uniform(load->src[LD_urb]) && is_no_uniform(swap->src[ATOM_CAS_urb]);
}

/* Does LDS read the words that the swap will compare, at its address? */
static bool reads_swapped(const Round *round, const MachInst *load) {
    const MachInst *swap = &round->flow->insts[round->swap];
    unsigned words = isa_dst_regs(round->flow->bin->target, swap, round->rd);
    Operand at = load->src[LDS_ra];
    bool by_uniform = round->address[0] >= UNIFORM; /* sm_90: LDS [UR6], IMAD.U32 R7 of UR6, the swap at R7 */
    const Operand *base = &swap->src[ATOMS_CAS_ra], *urb = &load->src[LDS_urb];
    bool same_base = operands_alike(at, *base) && operands_alike(*urb, swap->src[ATOMS_CAS_urb]) &&
                     (!in_register(at) || held(round, at) == round->address[0]),
         same_uniform =
             by_uniform && !in_register(at) && urb->kind == OPK_REG && urb->file == RF_UR &&
             urb->value == round->address[0] - (unsigned)UNIFORM &&
             MGET(ATOMS_CAS, stride, swap->mods) == Stride_X1 &&
             (swap->src[ATOMS_CAS_urb].kind != OPK_REG || swap->src[ATOMS_CAS_urb].value == REG_URZ);
    return swap->optype == OT_ATOMS_CAS && round->spins && round->has_swapped &&
           bin_guard(load) == BG_ALWAYS && isa_access_bytes(load) == 4 * words &&
           MGET(LDS, stride, load->mods) == MGET(ATOMS_CAS, stride, swap->mods) &&
           operands_alike(load->src[LDS_offset], swap->src[ATOMS_CAS_offset]) && (same_base || same_uniform);
}

static void step_round(Round *round, uint32_t i) {
    const MachInst *inst = &round->flow->insts[i];
    bool always = bin_guard(inst) == BG_ALWAYS;
    Operand from = copied(inst);
    bool is_uniform = from.kind == OPK_REG && from.file == RF_UR && !from.mods && from.value < REG_URZ;
    uint8_t moved = is_uniform ? (uint8_t)(UNIFORM + from.value) : held(round, from);
    if (inst->optype == OT_ISETP && always) {
        note_comparison(round, inst);
        return;
    }
    if (inst->optype == OT_STL)
        spill(round, inst);
    if (inst->optype == OT_LDL) {
        reload(round, inst);
        return;
    }
    bool reads = inst->optype == OT_LDS && reads_swapped(round, inst),
         reads_generic = reads_swapped_generic(round, inst);
    unsigned rd = inst->optype == OT_LDS ? (unsigned)LDS_rd : (unsigned)LD_rd;
    forget_results(round, inst);
    if (reads || reads_generic)
        put_words(round, inst->dst[rd], isa_dst_regs(round->flow->bin->target, inst, rd), SEEN);
    if (moved)
        put_words(round, inst->dst[0], 1, moved);
}

static bool stays_alone(const MachInst *inst) {
    BinKind kind = bin_kind(inst);
    return kind == BK_PLAIN || kind == BK_NOP || kind == BK_BRANCH || kind == BK_EXIT;
}

/* Nothing but the swap may watch or write memory, or wait for lanes. */
static bool may_stand(const Checker *checker, const Round *round, uint32_t i) {
    const BinFlow *flow = checker->flow;
    if (!flow->decoded[i])
        return false;
    const MachInst *inst = &flow->insts[i], *swap = &flow->insts[round->swap];
    Operand uniform = swap->optype == OT_ATOM_CAS    ? swap->src[ATOM_CAS_urb]
                      : swap->optype == OT_ATOMG_CAS ? swap->src[ATOMG_CAS_urb]
                                                     : swap->src[ATOMS_CAS_urb];
    if (round->address[0] >= UNIFORM &&
        bin_writes_reg(flow->bin->target, inst, RF_UR, round->address[0] - UNIFORM))
        return false;
    for (uint32_t k = 0; uniform.kind == OPK_REG && uniform.value != REG_URZ && k < 2; k++)
        if (bin_writes_reg(flow->bin->target, inst, RF_UR, uniform.value + k))
            return false;
    return i == round->swap ||
           (!check_observes(checker, i) && !check_is_call(checker, i) && stays_alone(inst) &&
            (inst->optype == OT_STL || !isa_has_effect(inst->optype, ISA_EFFECT_WRITE)) &&
            !bin_writes_reg(flow->bin->target, inst, RF_R, 1));
}

/* Does the branch, or EXIT, at a block's end part with what follows? */
static Truth goes(const Round *round, const MachInst *last) {
    BinKind kind = bin_kind(last);
    unsigned second = kind == BK_EXIT ? EXIT_pp : 0;
    if (kind != BK_EXIT && last->optype != OT_BRA)
        return UNKNOWN;
    for (; second < (kind == BK_EXIT ? EXIT_pp + 1u : (unsigned)BRA_offset); second++)
        if (!op_is_always(last->src[second]))
            return UNKNOWN;
    return bin_guard(last) == BG_ALWAYS ? YES : predicate(round, last->guard);
}

/* The next block of the cycle; NONE: there are several. */
static uint32_t next_block(Round *round, const Checker *checker, uint32_t block, uint32_t base,
                           const uint32_t *comp, uint32_t which) {
    const BinBlock *b = &checker->flow->blocks[block];
    uint32_t next = NONE;
    Truth taken = goes(round, &checker->flow->insts[b->first + b->ninsts - 1]);
    for (uint32_t s = 0; s < b->nsuccs; s++) {
        uint32_t to = b->succs[s].block;
        if (to < base || comp[to - base] != which)
            continue;
        if (next != NONE)
            return NONE;
        next = to;
        round->leaves |= b->succs[s].kind == BE_TAKEN ? taken == NO : taken == YES;
    }
    return next;
}

/* One round, from behind the swap to it. False: something stands on the way that may not. */
static bool go_round(Round *round, const Checker *checker, uint32_t base, const uint32_t *comp,
                     uint32_t nblocks) {
    const BinFlow *flow = checker->flow;
    uint32_t block = flow->block_of[round->swap], which = comp[block - base], i = round->swap + 1;
    round->leaves = false;
    for (uint32_t n = 0; n <= nblocks; n++) {
        uint32_t end = flow->blocks[block].first + flow->blocks[block].ninsts;
        for (; i < end; i++) {
            if (!may_stand(checker, round, i))
                return false;
            if (i == round->swap)
                return n == nblocks;
            step_round(round, i);
        }
        block = next_block(round, checker, block, base, comp, which);
        if (block == NONE)
            return false;
        i = flow->blocks[block].first;
    }
    return false;
}

bool check_ends_alone(const Checker *checker, uint32_t swap, uint32_t base, const uint32_t *comp,
                      uint32_t nblocks) {
    const BinFlow *flow = checker->flow;
    Round round = {.flow = flow, .swap = swap};
    const MachInst *inst = &flow->insts[swap];
    memset(round.equal, UNKNOWN, sizeof round.equal);
    for (unsigned k = 0; k < MOST_SPILLED; k++)
        round.stack[k] = (uint8_t)(SPILLED + k);
    if (!find_operands(&round) || !go_round(&round, checker, base, comp, nblocks))
        return false; /* the first round finds what comes from the stack */
    unsigned words = isa_dst_regs(flow->bin->target, inst, round.rd),
             address = isa_src_regs(flow->bin->target, inst, round.ra);
    Operand at = inst->src[round.ra];
    if (words > 2 || address > 2 || !in_register(inst->src[round.rb]))
        return false;
    for (unsigned k = 0; in_register(at) && k < address; k++) {
        uint8_t *held_there = &round.holds[at.value + k];
        *held_there = round.address[k] = *held_there >= SPILLED ? *held_there : (uint8_t)(ADDRESS + k);
    }
    if (!round.spins)
        put_words(&round, inst->src[round.rb], words, EXPECTED);
    forget_results(&round, inst);
    put_words(&round, inst->dst[round.rd], words, round.spins ? OUTCOME : SEEN);
    round.has_swapped = true;
    if (!go_round(&round, checker, base, comp, nblocks) || !round.leaves)
        return false;
    for (unsigned k = 0; in_register(at) && k < address; k++)
        if (round.holds[at.value + k] != round.address[k])
            return false;
    return still_holds(&round, inst->src[round.rb], words, SEEN);
}
