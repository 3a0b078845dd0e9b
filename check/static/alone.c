/* Loops around a compare-and-swap that end without another lane's help, for R-13:
 *
 *     loop:  FADD R4, R2, R6 ;  ATOMS.CAS R5, [R7], R6, R4 ;  ISETP.NE P0, R5, R6 ;  @!P0 BRA out ;
 *            MOV R6, R5 ;  BRA loop ;
 *
 * A lane that runs alone sees in the second round what it expects, and leaves. One round is followed from the
 * swap to the swap: each register may hold a word of the address, of what was expected or of what was seen,
 * each predicate what it is where the last two are equal. The round must leave there, and come back with the
 * same address, expecting what was seen. Only loops without branches inside, calls, stores and other
 * instructions that watch memory. The compiler finds them on its own (lower/reconverge/retry.c).
 * MOV, ISETP and the three ATOM*.CAS are asked for by name: that one copies, another compares and the last
 * ones expect a value is no column.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

typedef enum { NO, YES, UNKNOWN } Truth;
enum { NOTHING = 0, ADDRESS = 1, EXPECTED = 3, SEEN = 5 }; /* and the next one: the high word */

typedef struct {
    const BinFlow *flow;
    uint32_t swap;
    unsigned rd, ra, rb; /* its operands */
    uint8_t holds[256];  /* R0.. */
    uint8_t equal[8];    /* P0..: a Truth */
    bool leaves;
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
    return true;
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

static void note_comparison(Round *round, const MachInst *test) {
    uint8_t x = held(round, test->src[ISETP_ra]), y = held(round, test->src[ISETP_rb]);
    unsigned cmp = MGET(ISETP, cmp, test->mods), bop = MGET(ISETP, bop, test->mods);
    bool same = (x >= SEEN && y >= EXPECTED && y == x - SEEN + EXPECTED) ||
                (y >= SEEN && x >= EXPECTED && x == y - SEEN + EXPECTED);
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

static void step_round(Round *round, uint32_t i) {
    const MachInst *inst = &round->flow->insts[i];
    bool always = bin_guard(inst) == BG_ALWAYS;
    uint8_t moved = inst->optype == OT_MOV && always ? held(round, inst->src[MOV_rb]) : (uint8_t)NOTHING;
    if (inst->optype == OT_ISETP && always) {
        note_comparison(round, inst);
        return;
    }
    forget_results(round, inst);
    if (moved)
        put_words(round, inst->dst[MOV_rd], 1, moved);
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
    for (uint32_t k = 0; uniform.kind == OPK_REG && uniform.value != REG_URZ && k < 2; k++)
        if (check_writes_reg(flow->bin->target, inst, RF_UR, uniform.value + k))
            return false;
    return i == round->swap || (!check_observes(checker, i) && !check_is_call(checker, i) &&
                                stays_alone(inst) && !isa_has_effect(inst->optype, ISA_EFFECT_WRITE));
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

bool check_ends_alone(const Checker *checker, uint32_t swap, uint32_t base, const uint32_t *comp,
                      uint32_t nblocks) {
    const BinFlow *flow = checker->flow;
    Round round = {.flow = flow, .swap = swap};
    uint32_t home = flow->block_of[swap], which = comp[home - base], block = home, i = swap + 1;
    if (!find_operands(&round))
        return false;
    const MachInst *inst = &flow->insts[swap];
    unsigned words = isa_dst_regs(flow->bin->target, inst, round.rd),
             address = isa_src_regs(flow->bin->target, inst, round.ra);
    memset(round.equal, UNKNOWN, sizeof round.equal);
    put_words(&round, inst->src[round.ra], address, ADDRESS);
    put_words(&round, inst->src[round.rb], words, EXPECTED);
    forget_results(&round, inst);
    put_words(&round, inst->dst[round.rd], words, SEEN);
    for (uint32_t n = 0; n <= nblocks; n++) {
        uint32_t end = flow->blocks[block].first + flow->blocks[block].ninsts;
        for (; i < end; i++) {
            if (!may_stand(checker, &round, i))
                return false;
            if (i == swap)
                return n == nblocks && round.leaves &&
                       still_holds(&round, inst->src[round.ra], address, ADDRESS) &&
                       still_holds(&round, inst->src[round.rb], words, SEEN);
            step_round(&round, i);
        }
        block = next_block(&round, checker, block, base, comp, which);
        if (block == NONE)
            return false;
        i = flow->blocks[block].first;
    }
    return false;
}
