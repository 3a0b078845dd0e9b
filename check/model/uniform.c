/* Which branches of a binary take all lanes of a group the same way, and which instructions every lane of a
 * warp comes to. Registers that may differ between lanes spread forward through the code of all functions;
 * where the sides of a divergent branch meet again, what was written on them may differ too. Words: lanes are
 * compared at one dynamic instance of an instruction, as in the lowering's own analysis, of which nothing is
 * used here.
 * SPDX-License-Identifier: MIT */
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

typedef struct {
    ModelProgram *p;
    const BinFlow *g;
    Arena arena;
    Meanings *meant;              /* [block] at its start */
    RegSet *in, *forced, *writes; /* [block] */
    RegSet *at_entry, *at_ret;    /* [function] */
    RegSet *func_writes;          /* [function] with all that it calls */
    bool *divergent;              /* [block] its last instruction parts lanes */
    bool *sometimes;              /* [block] some lanes may not come here */
    bool *called_sometimes;       /* [function] */
    int *join;                    /* [block] immediate post-dominator */
    uint32_t *walk, *stack;       /* [block] */
    uint32_t round;
    bool changed;
} Uni;

static bool set_or(RegSet *a, const RegSet *b) {
    bool more = false;
    for (unsigned i = 0; i < WORDS; i++) {
        more |= (b->w[i] & ~a->w[i]) != 0;
        a->w[i] |= b->w[i];
    }
    return more;
}
static bool set_has(const RegSet *s, unsigned bit) { return s->w[bit / 64] >> (bit % 64) & 1; }
static void set_put(RegSet *s, unsigned bit, bool on) {
    s->w[bit / 64] = (s->w[bit / 64] & ~(1ull << (bit % 64))) | (uint64_t)on << (bit % 64);
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
    static const char *const same[] = {"ctaid.x",  "ctaid.y", "ctaid.z", "nctaid.x", "nctaid.y",
                                       "nctaid.z", "ntid.x",  "ntid.y",  "ntid.z",   "smid",
                                       "nsmid",    "warpid",  "nwarpid", "gridid",   "zero"};
    const char *name = isa_sreg_name(t, number);
    for (unsigned i = 0; name && i < sizeof same / sizeof *same; i++)
        if (strcmp(name, same[i]) == 0)
            return true;
    return false;
}

/* May the results differ between lanes? `together`: all lanes of the warp execute it at once. */
static bool makes_different(const Uni *u, const RegSet *s, const MachInst *m, bool together) {
    switch (m->optype) {
    case OT_S2R:
    case OT_CS2R:
    case OT_S2UR: return m->src[0].kind != OPK_SREG || !sreg_same(u->g->bin->target, m->src[0].value);
    case OT_VOTE:
    case OT_VOTEU:
    case OT_REDUX: return !together;
    case OT_B2R_RESULT:
    case OT_LEPC: return false;
    case OT_LDG:
    case OT_LD:
    case OT_LDS:
    case OT_LDL:
    case OT_ATOM:
    case OT_ATOMG:
    case OT_ATOMS:
    case OT_ATOM_CAS:
    case OT_ATOMG_CAS:
    case OT_ATOMS_CAS:
    case OT_SHFL:
    case OT_MATCH:
    case OT_B2R:
    case OT_ELECT:
    case OT_HMMA:
    case OT_IMMA:
    case OT_BMOV: return true;
    default:
        for (unsigned k = 0; k < m->nsrc; k++)
            if (differs(s, m->src[k]))
                return true;
        return false;
    }
}

static Meaning meaning(const Uni *u, const Meanings *t, Operand o) {
    if (o.mods & (OPM_NEG | OPM_NOT | OPM_ABS))
        return IS_ANY;
    uint32_t ntid = isa_target_info(u->g->bin->target)->ntid_offset_bytes;
    if (o.kind == OPK_CMEM)
        return o.value == ntid ? IS_NTID_X : o.value == ntid + 4 ? IS_NTID_Y : IS_ANY;
    return o.kind == OPK_REG && o.file == RF_R && o.value < REG_RZ ? (Meaning)t->of[o.value] : IS_ANY;
}

static Meaning product(Meaning a, Meaning b, Meaning c) {
    if ((a == IS_NTID_Y && b == IS_TID_Z && c == IS_TID_Y) ||
        (b == IS_NTID_Y && a == IS_TID_Z && c == IS_TID_Y))
        return IS_ROW;
    if ((a == IS_NTID_X && b == IS_ROW && c == IS_TID_X) || (b == IS_NTID_X && a == IS_ROW && c == IS_TID_X))
        return IS_FLAT;
    return IS_ANY;
}

static Meaning result_meaning(const Uni *u, const Meanings *t, const MachInst *m) {
    const char *name;
    switch (m->optype) {
    case OT_S2R:
        name = m->src[0].kind == OPK_SREG ? isa_sreg_name(u->g->bin->target, m->src[0].value) : NULL;
        return !name                        ? IS_ANY
               : strcmp(name, "tid.x") == 0 ? IS_TID_X
               : strcmp(name, "tid.y") == 0 ? IS_TID_Y
               : strcmp(name, "tid.z") == 0 ? IS_TID_Z
                                            : IS_ANY;
    case OT_MOV: return meaning(u, t, m->src[0]);
    case OT_IMAD:
        return product(meaning(u, t, m->src[IMAD_ra]), meaning(u, t, m->src[IMAD_rb]),
                       meaning(u, t, m->src[IMAD_rc]));
    case OT_SHF: { /* .R.U32.HI RZ, 5, flat */
        Operand lo = m->src[SHF_ra], by = m->src[SHF_rb];
        bool right = lo.kind == OPK_REG && lo.value == REG_RZ && by.kind == OPK_IMM && by.value == 5 &&
                     MGET(SHF, dir, m->mods) == ShfDir_R && MGET(SHF, hi, m->mods);
        Meaning is = meaning(u, t, m->src[SHF_rc]);
        return right && (is == IS_FLAT || is == IS_TID_X) ? IS_WARP : IS_ANY;
    }
    default: return IS_ANY;
    }
}

/* Compares the thread's number with a multiple of the warp's size. */
static bool splits_between_warps(const Uni *u, const Meanings *t, const MachInst *m) {
    if (m->optype != OT_ISETP || m->src[ISETP_rb].kind != OPK_IMM)
        return false;
    Meaning is = meaning(u, t, m->src[ISETP_ra]);
    uint32_t cmp = MGET(ISETP, cmp, m->mods), limit = m->src[ISETP_rb].value;
    bool first = cmp == ICmp_GE || cmp == ICmp_LT, last = cmp == ICmp_GT || cmp == ICmp_LE;
    return (is == IS_FLAT || is == IS_TID_X) && ((first && limit % 32 == 0) || (last && limit % 32 == 31));
}

static bool others_differ(const RegSet *s, const MachInst *m) {
    for (unsigned k = 0; k < m->nsrc; k++)
        if (m->src[k].kind == OPK_REG && m->src[k].file == RF_P && differs(s, m->src[k]))
            return true;
    return false;
}

static void define(const Uni *u, RegSet *s, Meanings *t, const MachInst *m, bool together) {
    bool always = op_is_always(m->guard),
         different = makes_different(u, s, m, together) || differs(s, m->guard);
    Meaning is = always ? result_meaning(u, t, m) : IS_ANY;
    if (is == IS_WARP || (splits_between_warps(u, t, m) && !others_differ(s, m)))
        different = differs(s, m->guard);
    for (unsigned k = 0; k < m->ndst; k++)
        for (unsigned c = 0; m->dst[k].kind == OPK_REG && m->dst[k].file == RF_R &&
                             c < (m->dst[k].count ? m->dst[k].count : 1u);
             c++)
            if (m->dst[k].value + c < REG_RZ)
                t->of[m->dst[k].value + c] = (uint8_t)(m->dst[k].count <= 1 && k == 0 ? is : IS_ANY);
    for (unsigned k = 0; k < m->ndst; k++) {
        unsigned first, n = bits_of(m->dst[k], &first);
        for (unsigned i = 0; i < n; i++)
            set_put(s, first + i, different || (!always && set_has(s, first + i)));
    }
    for (unsigned i = 0; m->optype == OT_R2P && i < NUM_PREDS; i++)
        set_put(s, PRED_BIT + i, different || set_has(s, PRED_BIT + i));
}

static bool decision_differs(const RegSet *s, const MachInst *m) {
    if (differs(s, m->guard))
        return true;
    for (unsigned k = 0; k < m->nsrc; k++)
        if (differs(s, m->src[k]))
            return true;
    return false;
}

static void call(Uni *u, RegSet *s, uint32_t i) {
    const Skel *k = &u->p->at[i];
    uint32_t n = k->target != BINFLOW_NONE ? 1 : k->ntargets;
    for (uint32_t t = 0; t < n; t++) {
        uint32_t entry = k->target != BINFLOW_NONE ? k->target : k->targets[t], block = u->g->block_of[entry];
        if (block == BINFLOW_NONE)
            continue;
        uint32_t f = u->g->blocks[block].func;
        u->changed |= set_or(u->g->funcs[f].first_inst == entry ? &u->at_entry[f] : &u->forced[block], s);
        set_or(s, &u->at_ret[f]);
    }
    if (!n)
        memset(s, 0xff, sizeof *s);
}

/* Behind a call: what the called function may have written means nothing. */
static void forget_written(const Uni *u, uint32_t inst, Meanings *t) {
    uint32_t to = u->p->at[inst].target, block = to != BINFLOW_NONE ? u->g->block_of[to] : BINFLOW_NONE;
    for (unsigned r = 0; r < 256; r++)
        if (block == BINFLOW_NONE || set_has(&u->func_writes[u->g->blocks[block].func], r))
            t->of[r] = IS_ANY;
}

static void meet_meanings(Uni *u, uint32_t block, const Meanings *t) {
    Meanings *in = &u->meant[block];
    for (unsigned r = 0; r < 256; r++) {
        uint8_t met = in->of[r] == UNSEEN || in->of[r] == t->of[r] ? t->of[r] : (uint8_t)IS_ANY;
        u->changed |= met != in->of[r];
        in->of[r] = met;
    }
}

/* Through a block; with `note` the decisions in it are written down. */
static void through(Uni *u, uint32_t block, RegSet *s, bool note) {
    const BinBlock *b = &u->g->blocks[block];
    bool together = false;
    Meanings t = u->meant[block];
    for (unsigned r = 0; r < 256; r++)
        t.of[r] = t.of[r] == UNSEEN ? IS_ANY : t.of[r];
    for (uint32_t i = b->first; i < b->first + b->ninsts; i++) {
        if (!u->g->decoded[i])
            return;
        const MachInst *m = &u->g->insts[i];
        Skel *k = &u->p->at[i];
        if (k->kind != BK_PLAIN && k->kind != BK_COLLECTIVE && k->kind != BK_NOP) {
            bool parts = decision_differs(s, m);
            together = k->kind == BK_WARPSYNC && k->mask_is_imm && k->imm == UINT32_MAX && !k->maybe;
            if (note)
                k->uniform = !parts;
            if (i + 1 == b->first + b->ninsts && k->maybe && parts && !u->divergent[block])
                u->divergent[block] = u->changed = true;
            if (i + 1 == b->first + b->ninsts && k->kind == BK_BRANCH_INDIRECT && parts &&
                !u->divergent[block])
                u->divergent[block] = u->changed = true;
            if (k->kind == BK_CALL) {
                call(u, s, i);
                forget_written(u, i, &t);
            }
            if (k->kind == BK_RET)
                u->changed |= set_or(&u->at_ret[b->func], s);
        }
        define(u, s, &t, m, together);
    }
    for (uint32_t e = 0; e < b->nsuccs; e++)
        meet_meanings(u, b->succs[e].block, &t);
}

/* ---- where paths meet ---- */

static int meet(const Uni *u, const uint32_t *order, int a, int b) {
    while (a != b) {
        while (a != NONE && b != NONE && order[a] < order[b])
            a = u->join[a] == a ? NONE : u->join[a];
        while (a != NONE && b != NONE && order[b] < order[a])
            b = u->join[b] == b ? NONE : u->join[b];
        if (a == NONE || b == NONE)
            return NONE;
    }
    return a;
}

/* Blocks from which `sink` can be reached, numbered so that a block comes after those behind it. Returns how
 * many. */
static uint32_t number_back(Uni *u, uint32_t sink, uint32_t *order, uint32_t *list) {
    uint32_t top = 0, n = 0, round = ++u->round;
    uint32_t *next = ARENA_ARRAY(&u->arena, uint32_t, u->g->nblocks + 1u);
    u->stack[top++] = sink;
    u->walk[sink] = round;
    while (top) { /* depth first over predecessors, numbered on leaving */
        uint32_t b = u->stack[top - 1];
        if (next[b] < u->g->blocks[b].npreds) {
            uint32_t pred = u->g->blocks[b].preds[next[b]++].block;
            if (u->walk[pred] != round) {
                u->walk[pred] = round;
                u->stack[top++] = pred;
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
static void joins(Uni *u, uint32_t f) {
    const BinFuncFlow *ff = &u->g->funcs[f];
    ArenaMark mark = arena_mark(&u->arena);
    uint32_t *order = ARENA_ARRAY(&u->arena, uint32_t, u->g->nblocks + 1u);
    uint32_t *list = ARENA_ARRAY(&u->arena, uint32_t, u->g->nblocks + 1u), best = 0, sink = BINFLOW_NONE;
    for (uint32_t b = ff->first_block; b < ff->first_block + ff->nblocks; b++) {
        if (u->g->blocks[b].nsuccs || !u->g->blocks[b].reachable)
            continue;
        ArenaMark inner = arena_mark(&u->arena);
        uint32_t n = number_back(u, b, order, list);
        arena_release(&u->arena, inner);
        if (n >= best) {
            best = n;
            sink = b;
        }
    }
    for (uint32_t b = ff->first_block; b < ff->first_block + ff->nblocks; b++)
        u->join[b] = NONE;
    if (sink != BINFLOW_NONE) {
        memset(order, 0, (u->g->nblocks + 1u) * sizeof *order);
        uint32_t n = number_back(u, sink, order, list);
        u->join[sink] = (int)sink;
        for (bool more = true; more;) {
            more = false;
            for (uint32_t k = n - 1; k-- > 0;) { /* the sink has the highest number */
                uint32_t b = list[k];
                int j = NONE;
                bool first = true;
                for (uint32_t e = 0; e < u->g->blocks[b].nsuccs; e++) {
                    uint32_t to = u->g->blocks[b].succs[e].block;
                    if (!order[to] || u->join[to] == NONE)
                        continue;
                    j = first ? (int)to : meet(u, order, j, (int)to);
                    first = false;
                }
                more |= j != u->join[b];
                u->join[b] = j;
            }
        }
        u->join[sink] = NONE;
    }
    arena_release(&u->arena, mark);
}

/* The sides of a divergent branch: what they write may differ where two of them meet. */
static void spread(Uni *u, uint32_t block) {
    const BinBlock *b = &u->g->blocks[block];
    const BinFuncFlow *ff = &u->g->funcs[b->func];
    ArenaMark mark = arena_mark(&u->arena);
    uint8_t *sides = ARENA_ARRAY(&u->arena, uint8_t, ff->nblocks + 1u);
    RegSet written = {0};
    bool exits = (b->ends & (BX_EXIT | BX_TRAP | BX_RET)) != 0;
    for (uint32_t e = 0; e < b->nsuccs; e++) {
        uint32_t top = 0, round = ++u->round;
        u->stack[top++] = b->succs[e].block;
        u->walk[b->succs[e].block] = round;
        while (top) {
            uint32_t n = u->stack[--top];
            if (sides[n - ff->first_block] < 2)
                sides[n - ff->first_block]++;
            if ((int)n == u->join[block])
                continue;
            set_or(&written, &u->writes[n]);
            exits |= (u->g->blocks[n].ends & (BX_EXIT | BX_TRAP | BX_RET)) != 0;
            for (uint32_t s = 0; s < u->g->blocks[n].nsuccs; s++) {
                uint32_t to = u->g->blocks[n].succs[s].block;
                if (u->walk[to] != round) {
                    u->walk[to] = round;
                    u->stack[top++] = to;
                }
            }
        }
    }
    uint32_t top = 0;
    for (uint32_t n = 0; n < ff->nblocks; n++) {
        uint32_t at = ff->first_block + n;
        if (sides[n] > 1)
            u->changed |= set_or(&u->forced[at], &written);
        if (sides[n] && ((int)at != u->join[block] || exits)) {
            u->sometimes[at] = true;
            if (exits)
                u->stack[top++] = at;
        }
    }
    while (top) { /* somebody left: nothing behind is sure */
        uint32_t n = u->stack[--top];
        for (uint32_t s = 0; s < u->g->blocks[n].nsuccs; s++) {
            uint32_t to = u->g->blocks[n].succs[s].block;
            if (!u->sometimes[to]) {
                u->sometimes[to] = true;
                u->stack[top++] = to;
            }
        }
    }
    arena_release(&u->arena, mark);
}

static void one_round(Uni *u) {
    for (uint32_t f = 0; f < u->g->bin->nfuncs; f++) {
        const BinFuncFlow *ff = &u->g->funcs[f];
        for (uint32_t k = 0; k < ff->nrpo; k++) {
            uint32_t block = ff->rpo[k];
            RegSet s = u->forced[block];
            if (block == ff->first_block)
                set_or(&s, &u->at_entry[f]);
            set_or(&s, &u->in[block]);
            through(u, block, &s, false);
            for (uint32_t e = 0; e < u->g->blocks[block].nsuccs; e++)
                u->changed |= set_or(&u->in[u->g->blocks[block].succs[e].block], &s);
        }
        for (uint32_t b = ff->first_block; b < ff->first_block + ff->nblocks; b++)
            if (u->divergent[b])
                spread(u, b);
    }
}

static void note_calls(Uni *u) {
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < u->p->n; i++) {
            const Skel *k = &u->p->at[i];
            uint32_t block = u->g->block_of[i];
            if (k->kind != BK_CALL || k->fails || block == BINFLOW_NONE)
                continue;
            bool sometimes = u->sometimes[block] || u->called_sometimes[u->g->blocks[block].func] ||
                             k->target == BINFLOW_NONE;
            for (uint32_t t = 0; t < (k->target != BINFLOW_NONE ? 1 : k->ntargets); t++) {
                uint32_t to = u->g->block_of[k->target != BINFLOW_NONE ? k->target : k->targets[t]];
                if (to == BINFLOW_NONE || !sometimes || u->called_sometimes[u->g->blocks[to].func])
                    continue;
                u->called_sometimes[u->g->blocks[to].func] = more = true;
            }
        }
    }
}

/* Registers written in each block, those of called functions included. */
static void find_writes(Uni *u) {
    const BinFlow *g = u->g;
    RegSet *of_func = u->func_writes = ARENA_ARRAY(&u->arena, RegSet, g->bin->nfuncs + 1u);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t b = 0; b < g->nblocks; b++) {
            RegSet *w = &u->writes[b];
            for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].ninsts; i++) {
                const Skel *k = &u->p->at[i];
                for (unsigned d = 0; g->decoded[i] && d < g->insts[i].ndst; d++) {
                    unsigned first, n = bits_of(g->insts[i].dst[d], &first);
                    for (unsigned c = 0; c < n; c++)
                        set_put(w, first + c, true);
                }
                uint32_t to =
                    k->kind == BK_CALL && k->target != BINFLOW_NONE ? g->block_of[k->target] : BINFLOW_NONE;
                if (to != BINFLOW_NONE)
                    set_or(w, &of_func[g->blocks[to].func]);
                else if (k->kind == BK_CALL)
                    memset(w, 0xff, sizeof *w);
            }
            more |= set_or(&of_func[g->blocks[b].func], w);
        }
    }
}

void model_uniformity(ModelProgram *p) {
    uint32_t nb = p->g->nblocks + 1u, nf = p->g->bin->nfuncs + 1u;
    Uni u = {.p = p, .g = p->g};
    Arena *a = &u.arena;
    u.in = ARENA_ARRAY(a, RegSet, nb), u.forced = ARENA_ARRAY(a, RegSet, nb),
    u.writes = ARENA_ARRAY(a, RegSet, nb);
    u.at_entry = ARENA_ARRAY(a, RegSet, nf), u.at_ret = ARENA_ARRAY(a, RegSet, nf);
    u.meant = ARENA_ARRAY(a, Meanings, nb);
    memset(u.meant, UNSEEN, nb * sizeof *u.meant);
    for (uint32_t f = 0; f + 1 < nf; f++) {
        if (p->g->funcs[f].nblocks)
            memset(&u.meant[p->g->funcs[f].first_block], 0, sizeof *u.meant);
        for (uint32_t k = 0; k < p->g->funcs[f].nentries; k++)
            memset(&u.meant[p->g->funcs[f].entries[k]], 0, sizeof *u.meant);
    }
    u.divergent = ARENA_ARRAY(a, bool, nb), u.sometimes = ARENA_ARRAY(a, bool, nb);
    u.called_sometimes = ARENA_ARRAY(a, bool, nf);
    u.join = ARENA_ARRAY(a, int, nb);
    u.walk = ARENA_ARRAY(a, uint32_t, nb), u.stack = ARENA_ARRAY(a, uint32_t, 2 * nb);
    find_writes(&u);
    for (uint32_t f = 0; f + 1 < nf; f++)
        joins(&u, f);
    do {
        u.changed = false;
        one_round(&u);
    } while (u.changed);
    note_calls(&u);
    for (uint32_t b = 0; b + 1 < nb; b++) {
        const BinBlock *block = &p->g->blocks[b];
        RegSet s = u.forced[b];
        if (b == p->g->funcs[block->func].first_block)
            set_or(&s, &u.at_entry[block->func]);
        set_or(&s, &u.in[b]);
        through(&u, b, &s, true);
        for (uint32_t i = block->first; i < block->first + block->ninsts; i++) {
            p->at[i].here = !u.sometimes[b];
            p->at[i].always_here = !u.sometimes[b] && !u.called_sometimes[block->func];
        }
    }
    arena_free(a);
}
