/* Loads of adjacent words become one load of 64 or 128 bits, and stores likewise.
 *
 *   r2 = SHF.L r1, 4                     r2 = SHF.L r1, 4
 *   r3 = LDS [r2 + 0x20]                 {r3, r5} = LDS.64 [r2 + 0x20]
 *   r4 = FMUL r3, r3                     r4 = FMUL r3, r3
 *   r5 = LDS [r2 + 0x24]
 *
 * Which: unguarded ones of the same block and space, from one base value, at offsets that follow each other.
 * The joined address must be a multiple of its width, which the low bits of the base prove (lowbits.h).
 * Nothing more is read or written than before: what lies between variables stays untouched, and an access
 * that traps did so. Shared, local and constant memory, as ptxas 13.0 -O3 does; of addresses in global memory
 * no low bits are known (ptxas joins none there either, not even from a pointer that `.ptr .align 16` speaks
 * of).
 *
 * A joined load stands where its first one stood, a joined store where its last one did. So no store that may
 * reach the same memory lies between the loads, and nothing that may reach it between the stores but these
 * themselves. What else has an effect or orders memory ends all groups, and so does an access that is to stay
 * as it is (IF_ALONE); a function with such accesses to shared memory talks to other lanes there
 * without a barrier, and all its accesses to it stay. Loads that move up, and what is stored later, hold
 * their registers longer: at most MOST_EARLY words at a time, and no more than the occupancy of the function
 * as it was has room for (room.h). In and out: SSA, before accesses scale their indices.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "lower/opt/lowbits.h"
#include "lower/opt/opt.h"
#include "lower/opt/room.h"
#include "lower/passes.h"
#include <stdlib.h>

enum { MOST_WORDS = 4, WORD_BYTES = 4, MOST_EARLY = 24, NO_SLOT = ISA_NO_SLOT };

typedef struct {
    uint16_t op;
    uint8_t base, uniform, offset, data; /* sources; `data` of a store */
    uint8_t most_words;
    uint32_t size_mask;
    uint32_t sizes[MOST_WORDS + 1]; /* [words] the modifier; 3 words are no size */
} Kind;

#define SIZES(op)                                                                                            \
    op##_sz_MASK << op##_sz_LO, {                                                                            \
        [1] = MSET(op, sz, MemSz_32), [2] = MSET(op, sz, MemSz_64), [4] = MSET(op, sz, MemSz_128)            \
    }
static const Kind kinds[] = {
    {OT_LDS, LDS_ra, LDS_urb, LDS_offset, NO_SLOT, 4, SIZES(LDS)},
    {OT_LDL, LDL_ra, LDL_urb, LDL_offset, NO_SLOT, 4, SIZES(LDL)},
    {OT_LDC, LDC_ra, NO_SLOT, LDC_cb, NO_SLOT, 2, SIZES(LDC)}, /* no card has more */
    {OT_STS, STS_ra, STS_urb, STS_offset, STS_rb, 4, SIZES(STS)},
    {OT_STL, STL_ra, STL_urb, STL_offset, STL_rb, 4, SIZES(STL)},
};
#undef SIZES
enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

typedef struct {      /* an access that may be joined */
    uint32_t at;      /* in its block */
    uint32_t ordinal; /* among the accesses of its kind */
    uint32_t base /* value, 0: none */, rest /* what else must be equal: other modifiers, the bank */;
    int32_t offset;
    unsigned words;
} Access;
typedef VEC(Access) Accesses;

typedef struct {
    Function *f;
    Arena a;
    const LowBits *low; /* NULL until an access asks */
    Room room;          /* of the function as it was; most 0 until a group asks */
    uint32_t frame;     /* a value that is an address in the frame, the base of all others; 0: none yet */
    BlockId block;
    Accesses open[NUM_KINDS]; /* in the block, since what last ended them */
    uint8_t *early;           /* [place in the block] words that are held there and were not before */
    bool removed;
    bool watched; /* shared memory is, by accesses that stay as they are */
} Join;

/* ---- groups ---- */

static int by_place_in_memory(const void *left, const void *right) {
    const Access *a = left, *b = right;
    if (a->base != b->base)
        return a->base < b->base ? -1 : 1;
    if (a->rest != b->rest)
        return a->rest < b->rest ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static bool follows(const Access *a, const Access *b) {
    return a->base == b->base && a->rest == b->rest &&
           b->offset == a->offset + WORD_BYTES * (int32_t)a->words;
}

/* How many of them, from the first on, are `words` words without a gap at a multiple of these; 0: they are
 * not. */
static unsigned members(Join *join, const Access *first, unsigned n, unsigned words) {
    unsigned have = first->words, count = 1;
    for (; have < words && count < n && follows(&first[count - 1], &first[count]); count++)
        have += first[count].words;
    if (have != words || count < 2)
        return 0;
    if (!join->low)
        join->low = opt_low_bits(&join->a, join->f);
    LowBits base = first->base ? join->low[first->base] : (LowBits){true, LOW_MASK, 0};
    unsigned bytes = WORD_BYTES * words;
    bool is_multiple = !((base.bits + (unsigned)first->offset) % bytes);
    return 1u << low_run(base) >= bytes && is_multiple ? count : 0;
}

/* Is none of the others between them? The machine's stores are those of the program, in its order. */
static bool stand_together(const Access *group, unsigned count) {
    uint32_t least = group->ordinal, most = group->ordinal;
    for (unsigned k = 1; k < count; k++) {
        least = group[k].ordinal < least ? group[k].ordinal : least;
        most = group[k].ordinal > most ? group[k].ordinal : most;
    }
    return most - least + 1 == count;
}

/* Holds the words of a load from place `first` on, of a store to place `last`; false: that is too many. */
static bool hold_words(Join *join, const Access *group, unsigned count, bool store, uint32_t first,
                       uint32_t last) {
    if (!join->room.most)
        join->room = opt_room(&join->a, join->f);
    if (!join->early)
        join->early = ARENA_ARRAY(&join->a, uint8_t, ir_num_insts(join->f, join->block));
    bool fits = true;
    for (unsigned undo = 0; undo < 2 && (!undo || !fits); undo++)
        for (unsigned k = 0; k < count; k++) {
            uint32_t from = store ? group[k].at : first, to = store ? last : group[k].at;
            for (uint32_t at = from; at < to; at++) {
                unsigned held = undo ? join->early[at] - group[k].words : join->early[at] + group[k].words;
                fits &= undo || (held <= MOST_EARLY && held <= room_behind(&join->room, join->block, at));
                join->early[at] = (uint8_t)held;
            }
        }
    return fits;
}

static InstId inst_of(const Join *join, const Access *access) {
    return ir_block(join->f, join->block)->insts.at[access->at];
}

static Operand *data_of(Function *f, const Kind *kind, InstId id) {
    return kind->data == NO_SLOT ? ir_dst(f, ir_inst(f, id), 0) : ir_src(f, ir_inst(f, id), kind->data);
}

/* A register with zero, in the place of an access that goes. */
static ValId zero_at(Join *join, uint32_t at, LocId loc) {
    Function *f = join->f;
    InstId id = ir_inst_new(f, OT_MOV, isa_num_dst(OT_MOV), isa_num_src(OT_MOV));
    ValId v = ir_value_new(f, RF_R);
    ir_set_dst(f, id, 0, ir_val(f, v));
    ir_set_src(f, id, MOV_rb, op_imm(0));
    ir_inst(f, id)->loc = loc;
    ir_block(f, join->block)->insts.at[at] = id;
    return v;
}

/* The words of all members in order; false: it does not pay, as registers have to be filled for it. */
static bool joined_words(Join *join, const Kind *kind, const Access *group, unsigned count, ValId *out) {
    Function *f = join->f;
    unsigned n = 0, made = 0;
    for (unsigned k = 0; k < count; k++) {
        Operand o = *data_of(f, kind, inst_of(join, &group[k]));
        for (unsigned c = 0; c < group[k].words; c++)
            out[n++] = o.kind == OPK_VAL ? ir_operand_value(f, o, c) : (ValId){0};
    }
    for (unsigned k = 0; k < n; k++) {
        bool again = !out[k].i;
        for (unsigned c = 0; c < k; c++)
            again |= out[c].i == out[k].i;
        made += again;
    }
    bool zero = true; /* which RZ is, for all words at once */
    for (unsigned k = 0; k < n; k++)
        zero = zero && !out[k].i;
    return zero || made + 1 < count;
}

/* The instruction at `place`, as wide as all and from where the lowest is, without its data. */
static InstId widened(Join *join, const Kind *kind, const Access *lowest, const Access *place,
                      unsigned words) {
    Function *f = join->f;
    InstId from = inst_of(join, place);
    InstId id = ir_inst_new(f, kind->op, ir_inst(f, from)->ndst, ir_inst(f, from)->nsrc);
    Inst *now = ir_inst(f, id);
    const Inst *was = ir_inst(f, from);
    now->loc = was->loc;
    now->mods = (was->mods & ~kind->size_mask) | kind->sizes[words];
    for (unsigned k = 0; k < was->nsrc; k++)
        *ir_src(f, now, k) = *ir_src(f, was, k);
    Operand *offset = ir_src(f, now, kind->offset);
    uint32_t less = (uint32_t)(lowest->offset - place->offset);
    *offset = offset->kind == OPK_CMEM ? op_cmem(op_cmem_bank(*offset), op_cmem_offset(*offset) + less)
                                       : op_imm((offset->kind == OPK_IMM ? offset->value : 0) + less);
    return id;
}

/* Makes the group, ordered by address, one access; false: it stays as it is. */
static bool join_group(Join *join, const Kind *kind, const Access *group, unsigned count, unsigned words) {
    Function *f = join->f;
    bool store = kind->data != NO_SLOT;
    const Access *first = group, *last = group;
    for (unsigned k = 1; k < count; k++) {
        first = group[k].at < first->at ? &group[k] : first;
        last = group[k].at > last->at ? &group[k] : last;
    }
    ValId value[MOST_WORDS];
    if ((store && !stand_together(group, count)) || !joined_words(join, kind, group, count, value) ||
        !hold_words(join, group, count, store, first->at, last->at))
        return false;
    const Access *place = store ? last : first;
    InstId id = widened(join, kind, group, place, words);
    LocId loc = ir_inst(f, id)->loc;
    uint32_t empty[MOST_WORDS];
    unsigned n_empty = 0;
    for (unsigned k = 0; k < count; k++) {
        if (&group[k] == place)
            continue;
        if (store)
            VEC_ADD(&f->module->arena, &f->module->melded_pairs,
                    ((MeldedPair){f, {loc, ir_inst(f, inst_of(join, &group[k]))->loc}}));
        ir_block(f, join->block)->insts.at[group[k].at] = (InstId){0};
        empty[n_empty++] = group[k].at;
    }
    bool zero = true;
    for (unsigned n = 0; n < words; n++)
        zero = zero && !value[n].i;
    for (unsigned n = 0; n < words && !zero; n++)
        if (!value[n].i)
            value[n] = zero_at(join, empty[--n_empty], loc);
    Operand all = zero ? op_rz() : ir_vec(f, value, words);
    if (store)
        *ir_src(f, ir_inst(f, id), kind->data) = all;
    else
        ir_set_dst(f, id, 0, all);
    ir_block(f, join->block)->insts.at[place->at] = id;
    join->removed = true;
    return true;
}

/* Joins what it can of the accesses of a kind and forgets them. */
static void close_kind(Join *join, unsigned k) {
    Accesses *open = &join->open[k];
    if (open->n > 1)
        qsort(open->at, open->n, sizeof *open->at, by_place_in_memory);
    for (unsigned n = 0; n + 1 < open->n;) {
        unsigned count = 0;
        for (unsigned words = kinds[k].most_words; words > 1 && !count; words /= 2) {
            count = members(join, &open->at[n], open->n - n, words);
            if (count && !join_group(join, &kinds[k], &open->at[n], count, words))
                count = 0;
        }
        n += count ? count : 1;
    }
    open->n = 0;
}

/* ---- the walk ---- */

static void close_those(Join *join, uint32_t spaces, bool loads, bool stores) {
    for (unsigned k = 0; k < NUM_KINDS; k++)
        if (isa_traits(kinds[k].op)->space & spaces && (kinds[k].data == NO_SLOT ? loads : stores))
            close_kind(join, k);
}

/* The place in the frame whose address a value is, or -1. */
static int32_t frame_place(const Function *f, uint32_t v) {
    InstId def = f->values.at[v].def;
    const Inst *i = v && def.i ? &f->insts.at[def.i] : NULL;
    if (!i || i->op != IR_FRAME_ADDR || ir_src(f, i, 0)->value & IR_FRAME_INCOMING)
        return -1;
    return (int32_t)ir_src(f, i, 0)->value;
}

/* Each address in the frame comes from an operation of its own: they count from one of them. */
static void rebase(Join *join, Access *access) {
    int32_t place = frame_place(join->f, access->base);
    if (place < 0)
        return;
    join->frame = join->frame ? join->frame : access->base;
    access->base = join->frame;
    access->offset += place - frame_place(join->f, join->frame);
}

/* The access as one that may be joined; false: it is not. */
static bool candidate(Join *join, const Kind *kind, const Inst *i, uint32_t at, Access *access) {
    const Function *f = join->f;
    Operand base = *ir_src(f, i, kind->base), offset = *ir_src(f, i, kind->offset);
    uint32_t size = i->mods & kind->size_mask;
    bool is_none =
        base.kind == OPK_NONE || (base.kind == OPK_REG && base.file == RF_R && base.value == REG_RZ);
    if (!op_is_always(i->guard) || i->flags != ir_op_flags(i->op) || base.mods ||
        !(is_none || (opt_scalar(base) && base.file == RF_R)) ||
        (kind->uniform != NO_SLOT && ir_src(f, i, kind->uniform)->kind != OPK_NONE) || offset.mods)
        return false;
    *access = (Access){.at = at, .base = is_none ? 0 : base.value, .rest = i->mods & ~kind->size_mask};
    if (offset.kind == OPK_CMEM &&
        offset.value == op_cmem(op_cmem_bank(offset), op_cmem_offset(offset)).value) {
        access->rest |= op_cmem_bank(offset) << 24;
        access->offset = (int32_t)op_cmem_offset(offset);
    } else if (offset.kind == OPK_IMM || offset.kind == OPK_NONE)
        access->offset = offset.kind == OPK_IMM ? (int32_t)offset.value : 0;
    else
        return false;
    for (unsigned words = 1; words < kind->most_words; words *= 2)
        if (size == kind->sizes[words])
            access->words = words;
    Operand data = kind->data == NO_SLOT ? *ir_dst(f, i, 0) : *ir_src(f, i, kind->data);
    bool zero = data.kind == OPK_REG && data.file == RF_R && data.value == REG_RZ && kind->data != NO_SLOT;
    if (!access->words || data.mods ||
        !(zero || (data.kind == OPK_VAL && data.file == RF_R && data.count == access->words)))
        return false;
    for (unsigned c = 0; !zero && c < data.count; c++) {
        uint32_t v = ir_operand_value(f, data, c).i;
        if (!v || f->values.at[v].fixed_reg >= 0)
            return false;
    }
    rebase(join, access);
    return true;
}

/* A store from another base may reach what those before it reach. */
static bool is_of_group(const Accesses *open, const Access *access) {
    const Access *last = open->n ? &open->at[open->n - 1] : NULL;
    return last && last->base == access->base && last->rest == access->rest;
}

static void join_inst(Join *join, uint32_t at) {
    const Inst *i = ir_inst(join->f, ir_block(join->f, join->block)->insts.at[at]);
    const OpTraits *traits = isa_traits(i->op);
    const unsigned does_more = IF_SYNC | IF_OBSERVING | IF_CONVERGENT | IF_ALONE;
    bool load = traits->effects == ISA_EFFECT_READ || i->op == OT_LDC,
         store = traits->effects == ISA_EFFECT_WRITE;
    if (i->flags & does_more || (i->flags & (IF_SIDE_EFFECT | IF_MEMORY) && !load && !store)) {
        close_those(join, ISA_SPACE_ALL, true, true);
        return;
    }
    if (!load && !store)
        return;
    unsigned k = 0;
    while (k < NUM_KINDS && kinds[k].op != i->op)
        k++;
    Access access;
    bool stays = join->watched && traits->space == ISA_SPACE_SHARED,
         may_be = k < NUM_KINDS && !stays && candidate(join, &kinds[k], i, at, &access);
    if (store) {
        close_those(join, traits->space, true, false);
        if (!may_be || !is_of_group(&join->open[k], &access))
            close_those(join, traits->space, false, true);
    } else
        close_those(join, traits->space, false, true);
    if (may_be) {
        access.ordinal = join->open[k].n;
        VEC_ADD(&join->a, &join->open[k], access);
    }
}

static void compact(Function *f, BlockId b) {
    Block *block = ir_block(f, b);
    unsigned kept = 0;
    for (unsigned k = 0; k < block->insts.n; k++)
        if (block->insts.at[k].i)
            block->insts.at[kept++] = block->insts.at[k];
    block->insts.n = kept;
}

static bool watches_shared_memory(const Function *f) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (i->flags & IF_ALONE && isa_traits(i->op)->space == ISA_SPACE_SHARED)
                return true;
    return false;
}

bool pass_join(Function *f, Diags *d) {
    (void)d;
    Join join = {.f = f, .watched = watches_shared_memory(f)};
    FOR_BLOCKS(f, b) {
        unsigned n = ir_num_insts(f, b);
        join.block = b;
        join.removed = false;
        join.early = NULL;
        for (uint32_t at = 0; at < n; at++)
            join_inst(&join, at);
        close_those(&join, ISA_SPACE_ALL, true, true);
        if (join.removed)
            compact(f, b);
    }
    arena_free(&join.a);
    return true;
}
