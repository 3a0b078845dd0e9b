/* Which branches of a binary take all lanes of a group the same way, and which instructions every lane of a
 * warp comes to. Registers that may differ between lanes spread forward through the code of all functions;
 * where the sides of a divergent branch meet again, what was written on them may differ too. Words: lanes are
 * compared at one dynamic instance of an instruction, as in the lowering's own analysis, of which nothing is
 * used here: what makes divergence is said by the rows of the operations and special registers, how it
 * spreads is worked out again. The operations of a test for one lane of a block it knows by name: what values
 * say is no column. SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include <stdlib.h>
#include <string.h>

enum { WORDS = 5, PRED_BIT = 256, NONE = -1 }; /* bits: R0..R254, P0..P6 */
typedef struct {
    uint64_t w[WORDS];
} RegSet;

/* The number of the warp in its block, (tid.x + ntid.x * (tid.y + ntid.y * tid.z)) >> 5, is the same for all
 * lanes though its parts are not; so is whether the thread's number is below a multiple of 32. Rows of the
 * block are taken to be whole warps, so that tid.x does for the number. What a register holds on all paths:
 */
enum { UNSEEN = 0xff };
typedef enum { IS_ANY, IS_TID_X, IS_TID_Y, IS_TID_Z, IS_NTID_X, IS_NTID_Y, IS_ROW, IS_FLAT, IS_WARP } Meaning;
typedef struct {
    uint8_t of[256];
} Meanings;

/* A function, or a subroutine inside a function's section: the blocks that its entry leads to. What one call
 * brings in is seen at all calls only in the registers that the routine writes. */
typedef struct {
    VEC(uint32_t) blocks;
    RegSet writes; /* with all that it calls */
    RegSet at_ret;
} Routine;

typedef struct {
    ModelProgram *program;
    const BinFlow *flow;
    Arena arena;
    Meanings *meant;              /* [block] at its start */
    RegSet *in, *forced, *writes; /* [block] */
    RegSet *at_entry;             /* [function] */
    Routine *routines;            /* what calls enter */
    uint32_t *routine_at;         /* [block] the routine that starts there, or BINFLOW_NONE */
    VEC(uint32_t) * returns_from; /* [block] routines that it is part of, if it ends in RET */
    uint32_t nroutines;
    bool *divergent;        /* [block] its last instruction parts lanes */
    bool *sometimes;        /* [block] some lanes may not come here */
    bool *called_sometimes; /* [function] */
    int *join;              /* [block] immediate post-dominator */
    uint32_t *walk, *stack; /* [block] */
    uint32_t round;
    bool changed;
} Uni;

static bool set_or(RegSet *set, const RegSet *reg_set) {
    bool more = false;
    for (unsigned i = 0; i < WORDS; i++) {
        more |= (reg_set->w[i] & ~set->w[i]) != 0;
        set->w[i] |= reg_set->w[i];
    }
    return more;
}
static bool set_has(const RegSet *set, unsigned bit) { return set->w[bit / 64] >> (bit % 64) & 1; }
static void set_put(RegSet *set, unsigned bit, bool on) {
    set->w[bit / 64] = (set->w[bit / 64] & ~(1ull << (bit % 64))) | (uint64_t)on << (bit % 64);
}

/* First bit of a register operand and how many; 0 if it is none that is followed. */
static unsigned bits_of(Operand o, unsigned *first) {
    if (o.kind != OPK_REG)
        return 0;
    if (o.file == RF_P && o.value < NUM_PREDS) {
        *first = PRED_BIT + o.value;
        return 1;
    }
    if (o.file != RF_R || o.value >= REG_RZ)
        return 0;
    *first = o.value;
    return o.value + (o.count ? o.count : 1u) <= REG_RZ ? (o.count ? o.count : 1u) : 1u;
}

static bool differs(const RegSet *s, Operand o) {
    unsigned first, n = bits_of(o, &first);
    for (unsigned i = 0; i < n; i++)
        if (set_has(s, first + i))
            return true;
    return false;
}

static bool sreg_same(const Target *t, unsigned number) {
    enum IsaVaries varies = isa_sreg_varies(t, number);
    return varies == ISA_VARIES_WARP || varies == ISA_VARIES_MOVES;
}

static bool sources_differ(const RegSet *s, const MachInst *inst) {
    for (unsigned k = 0; k < inst->nsrc; k++)
        if (differs(s, inst->src[k]))
            return true;
    RegFile file;
    uint32_t read =
        isa_has_effect(inst->optype, ISA_EFFECT_READS_ALL_P) ? isa_named_predicates(inst, &file) : 0;
    for (unsigned p = 0; read && file == RF_P && p < NUM_PREDS; p++)
        if (read >> p & 1 && set_has(s, PRED_BIT + p))
            return true;
    return false;
}

/* May the results differ between lanes? `together`: all lanes of the warp execute it at once. */
static bool makes_different(const Uni *uni, const RegSet *s, const MachInst *inst, bool together) {
    switch ((enum IsaUniform)isa_traits(inst->optype)->uniform) {
    case ISA_UNIFORM_BY_SREG:
        return inst->src[0].kind != OPK_SREG || !sreg_same(uni->flow->bin->target, inst->src[0].value);
    case ISA_UNIFORM_TOGETHER: return !together;
    case ISA_UNIFORM_ALWAYS: return false;
    case ISA_UNIFORM_NEVER: return true;
    case ISA_UNIFORM_NO_RESULT:
    case ISA_UNIFORM_BY_DATA:
    case ISA_UNIFORM_COUNT: break;
    }
    return sources_differ(s, inst);
}

static Meaning meaning(const Uni *uni, const Meanings *meanings, Operand o) {
    if (o.mods & (OPM_NEG | OPM_NOT | OPM_ABS))
        return IS_ANY;
    uint32_t ntid = isa_target_info(uni->flow->bin->target)->ntid_offset_bytes;
    if (o.kind == OPK_CMEM)
        return o.value == ntid ? IS_NTID_X : o.value == ntid + 4 ? IS_NTID_Y : IS_ANY;
    return o.kind == OPK_REG && o.file == RF_R && o.value < REG_RZ ? (Meaning)meanings->of[o.value] : IS_ANY;
}

static Meaning product(Meaning a, Meaning b, Meaning c) {
    if ((a == IS_NTID_Y && b == IS_TID_Z && c == IS_TID_Y) ||
        (b == IS_NTID_Y && a == IS_TID_Z && c == IS_TID_Y))
        return IS_ROW;
    if ((a == IS_NTID_X && b == IS_ROW && c == IS_TID_X) || (b == IS_NTID_X && a == IS_ROW && c == IS_TID_X))
        return IS_FLAT;
    return IS_ANY;
}

static Meaning result_meaning(const Uni *uni, const Meanings *t, const MachInst *inst) {
    const char *name;
    switch (inst->optype) {
    case OT_S2R:
        name =
            inst->src[0].kind == OPK_SREG ? isa_sreg_name(uni->flow->bin->target, inst->src[0].value) : NULL;
        return !name                        ? IS_ANY
               : strcmp(name, "tid.x") == 0 ? IS_TID_X
               : strcmp(name, "tid.y") == 0 ? IS_TID_Y
               : strcmp(name, "tid.z") == 0 ? IS_TID_Z
                                            : IS_ANY;
    case OT_MOV: return meaning(uni, t, inst->src[0]);
    case OT_IMAD:
        return product(meaning(uni, t, inst->src[IMAD_ra]), meaning(uni, t, inst->src[IMAD_rb]),
                       meaning(uni, t, inst->src[IMAD_rc]));
    case OT_SHF: { /* .R.U32.HI RZ, 5, flat */
        Operand lo = inst->src[SHF_ra], by = inst->src[SHF_rb];
        bool right = lo.kind == OPK_REG && lo.value == REG_RZ && by.kind == OPK_IMM && by.value == 5 &&
                     MGET(SHF, dir, inst->mods) == ShfDir_R && MGET(SHF, hi, inst->mods);
        Meaning is = meaning(uni, t, inst->src[SHF_rc]);
        return right && (is == IS_FLAT || is == IS_TID_X) ? IS_WARP : IS_ANY;
    }
    default: return IS_ANY;
    }
}

/* Compares the thread's number with a multiple of the warp's size. */
static bool splits_between_warps(const Uni *u, const Meanings *t, const MachInst *inst) {
    if (inst->optype != OT_ISETP || inst->src[ISETP_rb].kind != OPK_IMM)
        return false;
    Meaning is = meaning(u, t, inst->src[ISETP_ra]);
    uint32_t cmp = MGET(ISETP, cmp, inst->mods), limit = inst->src[ISETP_rb].value;
    bool first = cmp == ICmp_GE || cmp == ICmp_LT, last = cmp == ICmp_GT || cmp == ICmp_LE;
    return (is == IS_FLAT || is == IS_TID_X) && ((first && limit % 32 == 0) || (last && limit % 32 == 31));
}

static bool others_differ(const RegSet *s, const MachInst *inst) {
    for (unsigned k = 0; k < inst->nsrc; k++)
        if (inst->src[k].kind == OPK_REG && inst->src[k].file == RF_P && differs(s, inst->src[k]))
            return true;
    return false;
}

static void define_results(const Uni *u, RegSet *s, Meanings *meanings, const MachInst *inst, bool together) {
    bool always = op_is_always(inst->guard),
         different = makes_different(u, s, inst, together) || differs(s, inst->guard);
    Meaning is = always ? result_meaning(u, meanings, inst) : IS_ANY;
    if (is == IS_WARP || (splits_between_warps(u, meanings, inst) && !others_differ(s, inst)))
        different = differs(s, inst->guard);
    for (unsigned k = 0; k < inst->ndst; k++)
        for (unsigned c = 0; inst->dst[k].kind == OPK_REG && inst->dst[k].file == RF_R &&
                             c < (inst->dst[k].count ? inst->dst[k].count : 1u);
             c++)
            if (inst->dst[k].value + c < REG_RZ)
                meanings->of[inst->dst[k].value + c] =
                    (uint8_t)(inst->dst[k].count <= 1 && k == 0 ? is : IS_ANY);
    for (unsigned k = 0; k < inst->ndst; k++) {
        unsigned first, n = bits_of(inst->dst[k], &first);
        for (unsigned i = 0; i < n; i++)
            set_put(s, first + i, different || (!always && set_has(s, first + i)));
    }
    RegFile file;
    isa_named_predicates(inst, &file);
    bool predicates = isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P) && file == RF_P;
    for (unsigned i = 0; predicates && i < NUM_PREDS; i++)
        set_put(s, PRED_BIT + i, different || set_has(s, PRED_BIT + i));
}

static bool decision_differs(const RegSet *s, const MachInst *inst) {
    if (differs(s, inst->guard))
        return true;
    for (unsigned k = 0; k < inst->nsrc; k++)
        if (differs(s, inst->src[k]))
            return true;
    return false;
}

/* A branch to another function's entry, which returns for this one. */
static bool is_tail(const Uni *uni, uint32_t i) {
    const Skel *skel = &uni->program->at[i];
    uint32_t to = skel->kind == BK_BRANCH && skel->target != BINFLOW_NONE ? uni->flow->block_of[skel->target]
                                                                          : BINFLOW_NONE;
    return to != BINFLOW_NONE && uni->flow->block_of[i] != BINFLOW_NONE &&
           uni->flow->blocks[to].func != uni->flow->blocks[uni->flow->block_of[i]].func;
}
static bool enters(const Uni *uni, uint32_t i) {
    return uni->program->at[i].kind == BK_CALL || is_tail(uni, i);
}

static Routine *routine_of(const Uni *uni, uint32_t block) { return &uni->routines[uni->routine_at[block]]; }

/* `parts`: lanes may differ in whether they call, or whom. */
static void uniform_call(Uni *uni, RegSet *s, uint32_t i, bool parts) {
    const Skel *skel = &uni->program->at[i];
    uint32_t n = skel->target != BINFLOW_NONE ? 1 : skel->ntargets;
    RegSet before = *s, written = {0}, kept;
    memset(&kept, n && !skel->maybe ? 0 : 0xff, sizeof kept);
    for (uint32_t t = 0; t < n; t++) {
        uint32_t entry = skel->target != BINFLOW_NONE ? skel->target : skel->targets[t],
                 block = uni->flow->block_of[entry];
        if (block == BINFLOW_NONE)
            continue;
        uint32_t f = uni->flow->blocks[block].func;
        uni->changed |=
            set_or(uni->flow->funcs[f].first_inst == entry ? &uni->at_entry[f] : &uni->forced[block], s);
        const Routine *routine = routine_of(uni, block);
        for (unsigned w = 0; w < WORDS; w++) {
            kept.w[w] |= ~routine->writes.w[w];
            written.w[w] |= routine->at_ret.w[w] & routine->writes.w[w];
            if (parts && (skel->maybe || n > 1)) /* lanes take different ways */
                written.w[w] |= routine->writes.w[w];
        }
    }
    for (unsigned w = 0; w < WORDS; w++)
        s->w[w] = (before.w[w] & kept.w[w]) | written.w[w];
    if (!n)
        memset(s, 0xff, sizeof *s);
}

/* Behind a call: what the called function may have written means nothing. */
static void forget_written(const Uni *uni, uint32_t inst, Meanings *meanings) {
    uint32_t to = uni->program->at[inst].target,
             block = to != BINFLOW_NONE ? uni->flow->block_of[to] : BINFLOW_NONE;
    for (unsigned r = 0; r < 256; r++)
        if (block == BINFLOW_NONE || set_has(&routine_of(uni, block)->writes, r))
            meanings->of[r] = IS_ANY;
}

static void meet_meanings(Uni *uni, uint32_t block, const Meanings *meanings) {
    Meanings *in = &uni->meant[block];
    for (unsigned r = 0; r < 256; r++) {
        uint8_t met = in->of[r] == UNSEEN || in->of[r] == meanings->of[r] ? meanings->of[r] : (uint8_t)IS_ANY;
        uni->changed |= met != in->of[r];
        in->of[r] = met;
    }
}

/* Through a block; with `note` the decisions in it are written down. */
static void through(Uni *uni, uint32_t block, RegSet *s, bool note) {
    const BinBlock *b = &uni->flow->blocks[block];
    bool together = false;
    Meanings t = uni->meant[block];
    for (unsigned r = 0; r < 256; r++)
        t.of[r] = t.of[r] == UNSEEN ? IS_ANY : t.of[r];
    FOR_BIN_INSTS(b, i) {
        if (!uni->flow->decoded[i])
            return;
        const MachInst *m = &uni->flow->insts[i];
        Skel *skel = &uni->program->at[i];
        if (skel->kind != BK_PLAIN && skel->kind != BK_COLLECTIVE && skel->kind != BK_NOP) {
            bool parts = decision_differs(s, m);
            together =
                skel->kind == BK_WARPSYNC && skel->mask_is_imm && skel->imm == UINT32_MAX && !skel->maybe;
            if (note)
                skel->uniform = !parts;
            if (i + 1 == b->first + b->ninsts && skel->maybe && parts && !uni->divergent[block])
                uni->divergent[block] = uni->changed = true;
            if (i + 1 == b->first + b->ninsts && skel->kind == BK_BRANCH_INDIRECT && parts &&
                !uni->divergent[block])
                uni->divergent[block] = uni->changed = true;
            if (skel->kind == BK_CALL) {
                uniform_call(uni, s, i, parts);
                forget_written(uni, i, &t);
            }
            RegSet returned = *s;
            if (is_tail(uni, i))
                uniform_call(uni, &returned, i, parts);
            if (skel->kind == BK_RET || is_tail(uni, i))
                for (uint32_t k = 0; k < uni->returns_from[block].n; k++)
                    uni->changed |= set_or(&uni->routines[uni->returns_from[block].at[k]].at_ret, &returned);
        }
        define_results(uni, s, &t, m, together);
    }
    for (uint32_t e = 0; e < b->nsuccs; e++)
        meet_meanings(uni, b->succs[e].block, &t);
}

/* ---- where paths meet ---- */

static int meet(const Uni *uni, const uint32_t *order, int a, int b) {
    while (a != b) {
        while (a != NONE && b != NONE && order[a] < order[b])
            a = uni->join[a] == a ? NONE : uni->join[a];
        while (a != NONE && b != NONE && order[b] < order[a])
            b = uni->join[b] == b ? NONE : uni->join[b];
        if (a == NONE || b == NONE)
            return NONE;
    }
    return a;
}

/* Blocks from which `sink` can be reached, numbered so that a block comes after those behind it. Returns how
 * many. */
static uint32_t number_back(Uni *uni, uint32_t sink, uint32_t *order, uint32_t *list) {
    uint32_t top = 0, n = 0, round = ++uni->round;
    uint32_t *next = ARENA_ARRAY(&uni->arena, uint32_t, uni->flow->nblocks + 1u);
    uni->stack[top++] = sink;
    uni->walk[sink] = round;
    while (top) { /* depth first over predecessors, numbered on leaving */
        uint32_t b = uni->stack[top - 1];
        if (next[b] < uni->flow->blocks[b].npreds) {
            uint32_t pred = uni->flow->blocks[b].preds[next[b]++].block;
            if (uni->walk[pred] != round) {
                uni->walk[pred] = round;
                uni->stack[top++] = pred;
            }
            continue;
        }
        list[n++] = b;
        order[b] = n;
        top--;
    }
    return n;
}

/* Immediate post-dominators of one function. The sink is the last block that most others lead to; what cannot
 * reach it (early exits, traps) does not hinder lanes from meeting. */
static void joins(Uni *uni, uint32_t f) {
    const BinFuncFlow *ff = &uni->flow->funcs[f];
    ArenaMark mark = arena_mark(&uni->arena);
    uint32_t *order = ARENA_ARRAY(&uni->arena, uint32_t, uni->flow->nblocks + 1u);
    uint32_t *list = ARENA_ARRAY(&uni->arena, uint32_t, uni->flow->nblocks + 1u), best = 0,
             sink = BINFLOW_NONE;
    for (uint32_t b = ff->first_block; b < ff->first_block + ff->nblocks; b++) {
        if (uni->flow->blocks[b].nsuccs || !uni->flow->blocks[b].reachable)
            continue;
        ArenaMark inner = arena_mark(&uni->arena);
        uint32_t n = number_back(uni, b, order, list);
        arena_release(&uni->arena, inner);
        if (n >= best) {
            best = n;
            sink = b;
        }
    }
    for (uint32_t b = ff->first_block; b < ff->first_block + ff->nblocks; b++)
        uni->join[b] = NONE;
    if (sink != BINFLOW_NONE) {
        memset(order, 0, (uni->flow->nblocks + 1u) * sizeof *order);
        uint32_t n = number_back(uni, sink, order, list);
        uni->join[sink] = (int)sink;
        for (bool more = true; more;) {
            more = false;
            for (uint32_t k = n - 1; k-- > 0;) { /* the sink has the highest number */
                uint32_t b = list[k];
                int j = NONE;
                bool first = true;
                for (uint32_t e = 0; e < uni->flow->blocks[b].nsuccs; e++) {
                    uint32_t to = uni->flow->blocks[b].succs[e].block;
                    if (!order[to] || uni->join[to] == NONE)
                        continue;
                    j = first ? (int)to : meet(uni, order, j, (int)to);
                    first = false;
                }
                more |= j != uni->join[b];
                uni->join[b] = j;
            }
        }
        uni->join[sink] = NONE;
    }
    arena_release(&uni->arena, mark);
}

/* The sides of a divergent branch: what they write may differ where two of them meet. */
static void spread(Uni *uni, uint32_t block) {
    const BinBlock *b = &uni->flow->blocks[block];
    const BinFuncFlow *ff = &uni->flow->funcs[b->func];
    ArenaMark mark = arena_mark(&uni->arena);
    uint8_t *sides = ARENA_ARRAY(&uni->arena, uint8_t, ff->nblocks + 1u);
    RegSet written = {0};
    bool exits = (b->ends & (BX_EXIT | BX_TRAP | BX_RET)) != 0;
    for (uint32_t e = 0; e < b->nsuccs; e++) {
        uint32_t top = 0, round = ++uni->round;
        uni->stack[top++] = b->succs[e].block;
        uni->walk[b->succs[e].block] = round;
        while (top) {
            uint32_t n = uni->stack[--top];
            if (sides[n - ff->first_block] < 2)
                sides[n - ff->first_block]++;
            if ((int)n == uni->join[block])
                continue;
            set_or(&written, &uni->writes[n]);
            exits |= (uni->flow->blocks[n].ends & (BX_EXIT | BX_TRAP | BX_RET)) != 0;
            for (uint32_t s = 0; s < uni->flow->blocks[n].nsuccs; s++) {
                uint32_t to = uni->flow->blocks[n].succs[s].block;
                if (uni->walk[to] != round) {
                    uni->walk[to] = round;
                    uni->stack[top++] = to;
                }
            }
        }
    }
    uint32_t top = 0;
    for (uint32_t n = 0; n < ff->nblocks; n++) {
        uint32_t at = ff->first_block + n;
        if (sides[n] > 1)
            uni->changed |= set_or(&uni->forced[at], &written);
        if (sides[n] && ((int)at != uni->join[block] || exits)) {
            uni->sometimes[at] = true;
            if (exits)
                uni->stack[top++] = at;
        }
    }
    while (top) { /* somebody left: nothing behind is sure */
        uint32_t n = uni->stack[--top];
        for (uint32_t s = 0; s < uni->flow->blocks[n].nsuccs; s++) {
            uint32_t to = uni->flow->blocks[n].succs[s].block;
            if (!uni->sometimes[to]) {
                uni->sometimes[to] = true;
                uni->stack[top++] = to;
            }
        }
    }
    arena_release(&uni->arena, mark);
}

static void one_round(Uni *uni) {
    for (uint32_t f = 0; f < uni->flow->bin->nfuncs; f++) {
        const BinFuncFlow *ff = &uni->flow->funcs[f];
        for (uint32_t k = 0; k < ff->nrpo; k++) {
            uint32_t block = ff->rpo[k];
            RegSet s = uni->forced[block];
            if (block == ff->first_block)
                set_or(&s, &uni->at_entry[f]);
            set_or(&s, &uni->in[block]);
            through(uni, block, &s, false);
            for (uint32_t e = 0; e < uni->flow->blocks[block].nsuccs; e++)
                uni->changed |= set_or(&uni->in[uni->flow->blocks[block].succs[e].block], &s);
        }
        for (uint32_t b = ff->first_block; b < ff->first_block + ff->nblocks; b++)
            if (uni->divergent[b])
                spread(uni, b);
    }
}

static void note_calls(Uni *uni) {
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < uni->program->n; i++) {
            const Skel *skel = &uni->program->at[i];
            uint32_t block = uni->flow->block_of[i];
            if (skel->kind != BK_CALL || skel->fails || block == BINFLOW_NONE)
                continue;
            bool sometimes = uni->sometimes[block] || uni->called_sometimes[uni->flow->blocks[block].func] ||
                             skel->target == BINFLOW_NONE;
            for (uint32_t t = 0; t < (skel->target != BINFLOW_NONE ? 1 : skel->ntargets); t++) {
                uint32_t to =
                    uni->flow->block_of[skel->target != BINFLOW_NONE ? skel->target : skel->targets[t]];
                if (to == BINFLOW_NONE || !sometimes || uni->called_sometimes[uni->flow->blocks[to].func])
                    continue;
                uni->called_sometimes[uni->flow->blocks[to].func] = more = true;
            }
        }
    }
}

static void add_routine(Uni *uni, uint32_t entry) {
    if (uni->routine_at[entry] != BINFLOW_NONE)
        return;
    const BinFlow *flow = uni->flow;
    Routine *routine = &uni->routines[uni->nroutines];
    uint32_t round = ++uni->round, number = uni->routine_at[entry] = uni->nroutines++;
    VEC_ADD(&uni->arena, &routine->blocks, entry);
    uni->walk[entry] = round;
    for (uint32_t k = 0; k < routine->blocks.n; k++) {
        const BinBlock *block = &flow->blocks[routine->blocks.at[k]];
        if (block->ends & BX_RET)
            VEC_ADD(&uni->arena, &uni->returns_from[routine->blocks.at[k]], number);
        for (uint32_t s = 0; s < block->nsuccs; s++)
            if (uni->walk[block->succs[s].block] != round) {
                uni->walk[block->succs[s].block] = round;
                VEC_ADD(&uni->arena, &routine->blocks, block->succs[s].block);
            }
    }
}

/* Entries of functions, and wherever a call may lead. */
static void find_routines(Uni *uni) {
    const BinFlow *flow = uni->flow;
    uint32_t ncalls = 0;
    for (uint32_t i = 0; i < uni->program->n; i++)
        ncalls += enters(uni, i) ? 1 + uni->program->at[i].ntargets : 0;
    uni->routines = ARENA_ARRAY(&uni->arena, Routine, flow->bin->nfuncs + ncalls + 1u);
    uni->routine_at = ARENA_ARRAY(&uni->arena, uint32_t, flow->nblocks + 1u);
    uni->returns_from = arena_alloc(&uni->arena, (flow->nblocks + 1u) * sizeof *uni->returns_from);
    memset(uni->returns_from, 0, (flow->nblocks + 1u) * sizeof *uni->returns_from);
    memset(uni->routine_at, 0xff, (flow->nblocks + 1u) * sizeof *uni->routine_at);
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        if (flow->funcs[f].nblocks)
            add_routine(uni, flow->funcs[f].first_block);
    for (uint32_t i = 0; i < uni->program->n; i++) {
        const Skel *skel = &uni->program->at[i];
        for (uint32_t t = 0; enters(uni, i) && t < skel->ntargets + 1u; t++) {
            uint32_t to = t < skel->ntargets ? skel->targets[t] : skel->target;
            uint32_t block = to == BINFLOW_NONE ? BINFLOW_NONE : flow->block_of[to];
            if (block != BINFLOW_NONE)
                add_routine(uni, block);
        }
    }
}

/* What the instructions of a block write themselves. */
static void written_in(const Uni *uni, const BinBlock *block, RegSet *out) {
    FOR_BIN_INSTS(block, i)
        for (unsigned d = 0; uni->flow->decoded[i] && d < uni->flow->insts[i].ndst; d++) {
            unsigned first, n = bits_of(uni->flow->insts[i].dst[d], &first);
            for (unsigned c = 0; c < n; c++)
                set_put(out, first + c, true);
        }
    FOR_BIN_INSTS(block, i)
        for (unsigned p = 0; p < NUM_PREDS && uni->flow->decoded[i] &&
                             isa_has_effect(uni->flow->insts[i].optype, ISA_EFFECT_WRITES_ALL_P);
             p++)
            set_put(out, PRED_BIT + p, true);
}

/* Registers written in each block, those of called routines included. */
static void find_writes(Uni *uni) {
    const BinFlow *flow = uni->flow;
    for (uint32_t b = 0; b < flow->nblocks; b++)
        written_in(uni, &flow->blocks[b], &uni->writes[b]);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t b = 0; b < flow->nblocks; b++)
            FOR_BIN_INSTS(&flow->blocks[b], i) {
                const Skel *skel = &uni->program->at[i];
                if (!enters(uni, i))
                    continue;
                uint32_t to = skel->target != BINFLOW_NONE ? flow->block_of[skel->target] : BINFLOW_NONE;
                if (to != BINFLOW_NONE)
                    set_or(&uni->writes[b], &routine_of(uni, to)->writes);
                else
                    memset(&uni->writes[b], 0xff, sizeof uni->writes[b]);
            }
        for (uint32_t r = 0; r < uni->nroutines; r++)
            for (uint32_t k = 0; k < uni->routines[r].blocks.n; k++)
                more |= set_or(&uni->routines[r].writes, &uni->writes[uni->routines[r].blocks.at[k]]);
    }
}

void model_uniformity(ModelProgram *program) {
    uint32_t nb = program->g->nblocks + 1u, nf = program->g->bin->nfuncs + 1u;
    Uni u = {.program = program, .flow = program->g};
    Arena *a = &u.arena;
    u.in = ARENA_ARRAY(a, RegSet, nb), u.forced = ARENA_ARRAY(a, RegSet, nb),
    u.writes = ARENA_ARRAY(a, RegSet, nb);
    u.at_entry = ARENA_ARRAY(a, RegSet, nf);
    u.meant = ARENA_ARRAY(a, Meanings, nb);
    memset(u.meant, UNSEEN, nb * sizeof *u.meant);
    for (uint32_t f = 0; f + 1 < nf; f++) {
        if (program->g->funcs[f].nblocks)
            memset(&u.meant[program->g->funcs[f].first_block], 0, sizeof *u.meant);
        for (uint32_t k = 0; k < program->g->funcs[f].nentries; k++)
            memset(&u.meant[program->g->funcs[f].entries[k]], 0, sizeof *u.meant);
    }
    u.divergent = ARENA_ARRAY(a, bool, nb), u.sometimes = ARENA_ARRAY(a, bool, nb);
    u.called_sometimes = ARENA_ARRAY(a, bool, nf);
    u.join = ARENA_ARRAY(a, int, nb);
    u.walk = ARENA_ARRAY(a, uint32_t, nb), u.stack = ARENA_ARRAY(a, uint32_t, 2 * nb);
    find_routines(&u);
    find_writes(&u);
    for (uint32_t f = 0; f + 1 < nf; f++)
        joins(&u, f);
    do {
        u.changed = false;
        one_round(&u);
    } while (u.changed);
    note_calls(&u);
    for (uint32_t b = 0; b + 1 < nb; b++) {
        const BinBlock *block = &program->g->blocks[b];
        RegSet s = u.forced[b];
        if (b == program->g->funcs[block->func].first_block)
            set_or(&s, &u.at_entry[block->func]);
        set_or(&s, &u.in[b]);
        through(&u, b, &s, true);
        FOR_BIN_INSTS(block, i) {
            program->at[i].here = !u.sometimes[b];
            program->at[i].always_here = !u.sometimes[b] && !u.called_sometimes[block->func];
        }
    }
    arena_free(a);
}
