/* Words live at each place of a function before anything is coloured, and how many may be: see room.h. A
 * value is live from its definition to its uses on every way between, found from each use backwards; a phi
 * uses at the end of the block that it comes from. Registers are given out in steps: as many as leave as many
 * warps on a multiprocessor as the function does where most is live. SPDX-License-Identifier: MIT */
#include "lower/opt/room.h"
#include "base/bitset.h"
#include "isa/machine/occupancy.h"

/* MOST_BITS: a larger function is not looked at. STACK: R1. SPARE: what vectors of four leave between them,
 * and copies; beyond full occupancy, where steps are of eight registers, LEAST_SPARE. (Of 709 kernels, most
 * made to be joined, 102 crossed a step for it before; 41, 35, 29 with 3, 5, 7.) */
enum { MOST_BITS = 1 << 24, STACK = 1, SPARE = 7, LEAST_SPARE = 3, MOST_REGS = 255 };

typedef struct {
    Function *f;
    Arena *a;
    Bitset *in; /* [block] values that are live where it begins */
    VEC(BlockId) todo;
} Live;

static bool room_counts(const Function *f, ValId v) { return v.i && f->values.at[v.i].file == RF_R; }

/* The value is used in the block, above all that it defines, or at the end of a block that does not define
 * it. */
static void room_reach(Live *live, ValId v, BlockId b) {
    const BlockId home = live->f->values.at[v.i].block;
    VEC_ADD(live->a, &live->todo, b);
    while (live->todo.n) {
        BlockId at = live->todo.at[--live->todo.n];
        if (at.i == home.i || bs_has(&live->in[at.i], v.i))
            continue;
        bs_add(&live->in[at.i], v.i);
        const Block *block = ir_block(live->f, at);
        for (unsigned p = 0; p < block->preds.n; p++)
            VEC_ADD(live->a, &live->todo, block->preds.at[p]);
    }
}

static void room_reach_all(Live *live) {
    Function *f = live->f;
    FOR_BLOCKS(f, b) {
        const Block *block = ir_block(f, b);
        FOR_INSTS(f, b, i)
            for (unsigned n = 0; n < ir_num_reads(i); n++) {
                Operand o = *ir_read(f, i, n);
                for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
                    if (room_counts(f, ir_operand_value(f, o, c)) && (i->op != IR_PHI || n < block->preds.n))
                        room_reach(live, ir_operand_value(f, o, c), i->op == IR_PHI ? block->preds.at[n] : b);
            }
    }
}

static unsigned step_over(const Function *f, const Inst *i, Bitset *now, unsigned count) {
    for (unsigned n = 0; n <= ir_num_operands(i); n++) {
        bool dst = n < i->ndst;
        Operand o = n == ir_num_operands(i) ? i->guard : f->operands.at[i->operand + n];
        for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
            ValId v = ir_operand_value(f, o, c);
            if (!room_counts(f, v) || bs_has(now, v.i) != dst || (i->op == IR_PHI && !dst))
                continue;
            count = dst ? count - 1 : count + 1;
            dst ? bs_del(now, v.i) : bs_add(now, v.i);
        }
    }
    return count;
}

/* From the end of the block to its beginning; the most that are live at a place. */
static unsigned count_block(const Live *live, BlockId b, Bitset *now, uint16_t *behind) {
    const Function *f = live->f;
    const Block *block = ir_block(live->f, b);
    bs_clear(now);
    for (unsigned s = 0; s < block->succs.n; s++) {
        const Block *to = ir_block(live->f, block->succs.at[s]);
        bs_or(now, &live->in[block->succs.at[s].i]);
        FOR_PHIS(live->f, block->succs.at[s], phi)
            for (unsigned e = 0; e < to->preds.n; e++) {
                Operand o = *ir_src(f, phi, e);
                for (unsigned c = 0; o.kind == OPK_VAL && c < o.count && to->preds.at[e].i == b.i; c++)
                    if (room_counts(f, ir_operand_value(f, o, c)))
                        bs_add(now, ir_operand_value(f, o, c).i);
            }
    }
    unsigned count = bs_count(now), most = count;
    for (unsigned k = block->insts.n; k-- > 0;) {
        behind[k] = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
        count = step_over(f, &f->insts.at[block->insts.at[k].i], now, count);
        most = count > most ? count : most;
    }
    return most;
}

/* The most words, vectors among them, with which as many warps have room as with so many now. */
static unsigned words_of_step(const Target *target, unsigned words) {
    unsigned beside = isa_target_info(target)->reserved_regs + STACK, regs = words + beside;
    uint32_t warps = occupancy_warps(target, regs, 0, 0);
    unsigned spare = warps == isa_target_info(target)->sm_warps ? SPARE : LEAST_SPARE;
    while (regs < MOST_REGS && occupancy_warps(target, regs + 1, 0, 0) == warps)
        regs++;
    return regs > beside + spare ? regs - beside - spare : 1;
}

Room opt_room(Arena *a, Function *f) {
    Room room = {.most = UINT16_MAX};
    Live live = {.f = f, .a = a};
    if ((uint64_t)f->blocks.n * f->values.n > MOST_BITS)
        return room;
    live.in = ARENA_ARRAY(a, Bitset, f->blocks.n);
    for (uint32_t b = 0; b < f->blocks.n; b++)
        live.in[b] = bs_new(a, f->values.n);
    room_reach_all(&live);
    uint32_t places = 0;
    room.first = ARENA_ARRAY(a, uint32_t, f->blocks.n);
    FOR_BLOCKS(f, b) {
        room.first[b.i] = places;
        places += ir_num_insts(f, b);
    }
    room.live = ARENA_ARRAY(a, uint16_t, places + 1);
    Bitset now = bs_new(a, f->values.n);
    unsigned most = 0;
    FOR_BLOCKS(f, b) {
        unsigned here = count_block(&live, b, &now, &room.live[room.first[b.i]]);
        most = here > most ? here : most;
    }
    room.most = words_of_step(f->module->target, most);
    return room;
}
