/* What memory holds is not loaded again while a register has it:
 *
 *   r2 = LDG [r1]            r2 = LDG [r1]
 *   STG [r1 + 4], r3         STG [r1 + 4], r3
 *   r4 = LDG [r1]            r5 = FADD r2, r3
 *   r6 = LDG [r1 + 4]
 *   r5 = FADD r4, r6
 *
 * A load finds what an earlier one of the same bytes found, or what a store has put there, if nothing in
 * between may have changed it: a store to the same space, unless it is to other bytes behind the same base.
 * Other threads are heard of behind what orders memory, and no weak load needs to see more; such operations,
 * accesses that stay as they are (IF_ALONE), calls and all that lanes do together end everything that is
 * known. A function that has accesses of the latter kind to shared memory talks to other lanes there
 * without a barrier, and all its accesses to it stay. What is known at the end of a block goes on in those
 * that follow it alone. A value that waits for another load holds its registers for longer: no more are held
 * than the occupancy of the function as it was has room for (room.h). In and out: SSA.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "lower/opt/opt.h"
#include "lower/opt/room.h"
#include "lower/passes.h"
#include <stdlib.h>

enum { MOST_KNOWN = 16, MOST_BLOCKS = 8 };

/* A load and the store of the same space, whose operands that make the address mean the same. */
static const struct {
    uint16_t load, store;
    uint8_t data; /* source of the store */
} pairs[] = {
    {OT_LDG, OT_STG, STG_rb}, {OT_LD, OT_ST, ST_rb}, {OT_LDS, OT_STS, STS_rb}, {OT_LDL, OT_STL, STL_rb}};
enum { NUM_PAIRS = sizeof pairs / sizeof *pairs };

typedef struct { /* words in memory that registers hold */
    Operand base, uniform, data;
    int32_t offset;
    unsigned bytes, pair;
    uint32_t mods; /* of the load but for hints; of a store 0 */
    bool stored, constant /* ld.global.nc: no store reaches it while the kernel runs */;
    uint32_t block, at; /* where */
} Known;
typedef VEC(Known) KnownWords;

typedef struct {
    KnownWords known;
    uint32_t places; /* that the block had before any went */
} BlockEnd;

typedef struct {
    Function *f;
    Arena a;
    uint32_t *repl; /* [value] */
    BlockEnd *end;  /* [block] */
    Room room;      /* of the function as it was; most 0 until a load asks */
    bool watched;   /* shared memory is, by accesses that stay as they are */
    bool any;
} Reload;

static uint32_t held_in(const Reload *reload, uint32_t v) {
    while (reload->repl[v])
        v = reload->repl[v];
    return v;
}

static bool same_parts(const Reload *reload, Operand a, Operand b) {
    if (a.kind != b.kind || a.file != b.file || a.mods != b.mods || a.count != b.count)
        return false;
    if (a.kind != OPK_VAL)
        return a.kind != OPK_IMM64 && a.kind != OPK_SYM && a.value == b.value; /* not the pools' indices */
    for (unsigned c = 0; c < a.count; c++)
        if (held_in(reload, ir_operand_value(reload->f, a, c).i) !=
            held_in(reload, ir_operand_value(reload->f, b, c).i))
            return false;
    return true;
}

/* Values that no register is demanded for. */
static bool free_words(const Function *f, Operand o) {
    if (o.kind != OPK_VAL || o.file != RF_R || o.mods)
        return false;
    for (unsigned c = 0; c < o.count; c++) {
        uint32_t v = ir_operand_value(f, o, c).i;
        if (!v || f->values.at[v].fixed_reg >= 0)
            return false;
    }
    return true;
}

static bool is_nothing(Operand o) { return op_is_always(o); }

/* An access whose address is known as a sum; false: it is another. `data` is set where it may be reused. */
static bool known_access(const Function *f, const Inst *i, Known *known) {
    const OpTraits *traits = isa_traits(i->op);
    *known = (Known){0};
    while (known->pair < NUM_PAIRS && i->op != pairs[known->pair].load && i->op != pairs[known->pair].store)
        known->pair++;
    if (known->pair == NUM_PAIRS || traits->address[0] == ISA_NO_SLOT || traits->address[2] == ISA_NO_SLOT)
        return false;
    known->stored = i->op == pairs[known->pair].store;
    Operand offset = *ir_src(f, i, traits->address[2]);
    if (offset.mods || (offset.kind != OPK_IMM && offset.kind != OPK_NONE))
        return false;
    known->offset = offset.kind == OPK_IMM ? (int32_t)offset.value : 0;
    known->base = *ir_src(f, i, traits->address[0]);
    known->uniform = traits->address[1] == ISA_NO_SLOT ? (Operand){0} : *ir_src(f, i, traits->address[1]);
    MachInst m = {.optype = i->op, .mods = i->mods};
    known->bytes = isa_access_bytes(&m);
    known->mods = known->stored ? 0 : i->mods & ~traits->hints;
    known->constant = i->op == OT_LDG && MGET(LDG, order, i->mods) == MemOrder_CONSTANT;
    if (!known->bytes)
        return false;
    if (!op_is_always(i->guard) || i->flags != ir_op_flags(i->op))
        return true;
    for (unsigned k = 0; k < i->nsrc; k++)
        if (k != traits->address[0] && k != traits->address[1] && k != traits->address[2] &&
            !(known->stored && k == pairs[known->pair].data) && !is_nothing(*ir_src(f, i, k)))
            return true;
    for (unsigned k = 1; k < i->ndst; k++)
        if (!is_nothing(*ir_dst(f, i, k)))
            return true;
    Operand data = known->stored ? *ir_src(f, i, pairs[known->pair].data) : *ir_dst(f, i, 0);
    if (free_words(f, data) && (!known->stored || known->bytes == 4u * data.count))
        known->data = data;
    return true;
}

static bool same_address(const Reload *reload, const Known *a, const Known *b) {
    return a->pair == b->pair && same_parts(reload, a->base, b->base) &&
           same_parts(reload, a->uniform, b->uniform);
}

/* What a store may change is not known any longer. access: NULL if nothing is known of its address */
static void forget_reached(const Reload *reload, KnownWords *words, uint32_t spaces, const Known *access) {
    unsigned kept = 0;
    for (unsigned k = 0; k < words->n; k++) {
        const Known *w = &words->at[k];
        bool apart = w->constant || !(isa_traits(pairs[w->pair].load)->space & spaces) ||
                     (access && same_address(reload, w, access) &&
                      (w->offset + (int64_t)w->bytes <= access->offset ||
                       access->offset + (int64_t)access->bytes <= w->offset));
        if (apart)
            words->at[kept++] = *w;
    }
    words->n = kept;
}

static void note_known(Reload *reload, KnownWords *words, const Known *access) {
    if (words->n == MOST_KNOWN) {
        for (unsigned k = 1; k < words->n; k++)
            words->at[k - 1] = words->at[k];
        words->n--;
    }
    VEC_ADD(&reload->a, words, *access);
}

/* Is there room for its words from where they are known to this place, not too many blocks behind? */
static bool has_room(Reload *reload, const Known *known, BlockId b, uint32_t at) {
    if (!reload->room.most)
        reload->room = opt_room(&reload->a, reload->f);
    for (unsigned step = 0; step < MOST_BLOCKS; step++) {
        uint32_t from = known->block == b.i ? known->at : 0;
        for (uint32_t place = from; place < at; place++)
            if (room_behind(&reload->room, b, place) < known->data.count)
                return false;
        if (known->block == b.i)
            return true;
        b = ir_block(reload->f, b)->preds.at[0];
        at = reload->end[b.i].places;
    }
    return false;
}

/* Does a register hold what the load would find? */
static bool reuse(Reload *reload, const KnownWords *words, const Known *load, BlockId b, uint32_t at) {
    Function *f = reload->f;
    for (unsigned k = words->n; k-- > 0;) {
        const Known *w = &words->at[k];
        if (!w->data.kind || !same_address(reload, w, load) || w->offset != load->offset ||
            w->bytes != load->bytes || w->data.count != load->data.count ||
            (w->stored ? load->bytes < 4 : w->mods != load->mods) || !has_room(reload, w, b, at))
            continue;
        for (unsigned c = 0; c < load->data.count; c++)
            reload->repl[ir_operand_value(f, load->data, c).i] =
                held_in(reload, ir_operand_value(f, w->data, c).i);
        return reload->any = true;
    }
    return false;
}

/* Whether the instruction goes, as all that it finds is known. */
static bool reload_inst(Reload *reload, KnownWords *words, const Inst *i, BlockId b, uint32_t at) {
    const OpTraits *traits = isa_traits(i->op);
    const unsigned ends_all = IF_SYNC | IF_OBSERVING | IF_CONVERGENT | IF_ALONE;
    bool load = traits->effects == ISA_EFFECT_READ, store = traits->effects == ISA_EFFECT_WRITE;
    if (i->flags & ends_all || (i->flags & (IF_SIDE_EFFECT | IF_MEMORY) && !load && !store)) {
        if (!ir_is_terminator(reload->f, i))
            words->n = 0;
        return false;
    }
    if (!load && !store)
        return false;
    Known access;
    bool is_known = known_access(reload->f, i, &access);
    if (store)
        forget_reached(reload, words, traits->space, is_known ? &access : NULL);
    access.block = b.i;
    access.at = at;
    if (!is_known || !access.data.kind || (reload->watched && traits->space & ISA_SPACE_SHARED))
        return false;
    if (load && reuse(reload, words, &access, b, at))
        return true;
    note_known(reload, words, &access);
    return false;
}

/* Looks through a block that is known to begin with what is known behind the one before it. */
static void reload_block(Reload *reload, BlockId b) {
    Function *f = reload->f;
    Block *block = ir_block(f, b);
    KnownWords words = {0};
    if (block->preds.n == 1 && b.i != f->entry.i)
        for (unsigned k = 0; k < reload->end[block->preds.at[0].i].known.n; k++)
            VEC_ADD(&reload->a, &words, reload->end[block->preds.at[0].i].known.at[k]);
    unsigned kept = 0;
    reload->end[b.i].places = block->insts.n;
    for (unsigned k = 0; k < block->insts.n; k++)
        if (!reload_inst(reload, &words, ir_inst(f, block->insts.at[k]), b, k))
            block->insts.at[kept++] = block->insts.at[k];
    block->insts.n = kept;
    reload->end[b.i].known = words;
}

static bool accesses(Function *f, bool *watched) {
    bool any = false;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            any |= isa_traits(i->op)->effects == ISA_EFFECT_READ;
            *watched |= i->flags & IF_ALONE && isa_traits(i->op)->space & ISA_SPACE_SHARED;
        }
    return any;
}

bool pass_reload(Function *f, Diags *d) {
    (void)d;
    Reload reload = {.f = f};
    if (!accesses(f, &reload.watched))
        return true;
    reload.repl = ARENA_ARRAY(&reload.a, uint32_t, f->values.n);
    reload.end = ARENA_ARRAY(&reload.a, BlockEnd, f->blocks.n);
    VEC(BlockId) open = {0};
    FOR_BLOCKS(f, b)
        if (b.i == f->entry.i || ir_block(f, b)->preds.n != 1)
            VEC_ADD(&reload.a, &open, b);
    while (open.n) {
        BlockId b = open.at[--open.n];
        reload_block(&reload, b);
        const Block *block = ir_block(f, b);
        for (unsigned k = 0; k < block->succs.n; k++)
            if (ir_block(f, block->succs.at[k])->preds.n == 1 && block->succs.at[k].i != f->entry.i)
                VEC_ADD(&reload.a, &open, block->succs.at[k]);
    }
    if (reload.any)
        opt_rename(f, reload.repl);
    arena_free(&reload.a);
    return true;
}
