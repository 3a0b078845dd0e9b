/* Follows what some instructions write (a vote's mask, the lanes of a barrier register) through moves, the
 * frame and calls: a forward flow of the places in which it surely is, and of which source.
 *
 *     BMOV.32.CLEAR R2, B0 ;     source 0: {R2: 0}
 *     STL [R1+0xec], R2 ;        {R2: 0, frame+0xec: 0}
 *     MOV R2, R9 ;               {frame+0xec: 0}
 *     LDL R0, [R1+0xec] ;        {R0: 0, frame+0xec: 0}
 *
 * Where ways meet a place stays that has a source on both, of either. A source that is executed again makes
 * what was kept of it an earlier one's. Stores through pointers are an array's elements: what is saved is no
 * element. R1 may be lowered by constants; where it is something else nothing in the frame is known.
 * Operations that keep a value it knows by name: those that compilers write there.
 * SPDX-License-Identifier: MIT */
#include "check/static/kept.h"
#include "isa/machine/abi.h"
#include "isa/machine/banks.h"

typedef struct KeptRegs { /* a bit for each of R0 to R254 */
    uint64_t w[4];
} Regs;
/* Places below FRAME are registers; it plus bytes from R1 at the entry is a word of the frame. */
enum {
    FRAME = 1 << 30,
    FARTHEST =
        1 << 28, /* what stands farther from R1 at the entry is no frame: local memory has 2^24 bytes */
    WORD_BYTES = 4
};
typedef struct {
    int32_t place;
    uint32_t only; /* the one source, an instruction; NONE: there are several */
    uint64_t from; /* as KeptUse.from */
} Cell;
typedef struct {
    bool reached, lost; /* lost: where R1 stands is not known */
    int32_t stack;      /* R1 less what it was at the entry, in a kernel the top of the stack */
    VEC(Cell) cells;    /* in no order */
} Places;

typedef struct {
    Checker *checker;
    const KeptSources *sources;
    const Regs *writes; /* by procedure: what it and its callees write */
    Places *in;         /* by block of the function */
    uint32_t base;
    bool *is_source; /* by instruction of the function */
    uint32_t first_inst;
} Kept;

/* What is kept there; from: 0: nothing. */
static Cell cell_at(const Places *places, int32_t place) {
    for (uint32_t k = 0; k < places->cells.n; k++)
        if (places->cells.at[k].place == place)
            return places->cells.at[k];
    return (Cell){.only = NONE};
}

/* One or the other. */
static Cell either_cell(Cell one, Cell other) {
    return (Cell){one.place, one.only == other.only ? one.only : NONE, one.from | other.from};
}

static void drop_cell(Places *places, uint32_t k) {
    places->cells.at[k] = places->cells.at[--places->cells.n];
}

/* What is at the place, and of a word of the frame at those that share bytes with it, is something else. */
static void set_place(Kept *kept, Places *places, int32_t place, Cell what) {
    int32_t reach = place >= FRAME / 2 ? WORD_BYTES : 1;
    if (place == REG_RZ) /* keeps nothing */
        return;
    for (uint32_t k = places->cells.n; k-- > 0;)
        if (places->cells.at[k].place > place - reach && places->cells.at[k].place < place + reach)
            drop_cell(places, k);
    what.place = place;
    if (what.from)
        VEC_ADD(&kept->checker->a, &places->cells, what);
}

static void forget_frame(Places *places, int32_t below) {
    for (uint32_t k = places->cells.n; k-- > 0;)
        if (places->cells.at[k].place >= FRAME / 2 && places->cells.at[k].place < below)
            drop_cell(places, k);
}

static void copy_places(Kept *kept, Places *to, const Places *from) {
    to->cells.n = 0;
    for (uint32_t k = 0; k < from->cells.n; k++)
        VEC_ADD(&kept->checker->a, &to->cells, from->cells.at[k]);
    to->reached = from->reached;
    to->lost = from->lost;
    to->stack = from->stack;
}

/* What is in both, of either; does that change `to`? */
static bool merge_places(Kept *kept, Places *to, const Places *from) {
    if (!to->reached) {
        copy_places(kept, to, from);
        return true;
    }
    bool lost = to->lost || from->lost || to->stack != from->stack, changed = lost != to->lost;
    to->lost = lost;
    for (uint32_t k = to->cells.n; k-- > 0;) {
        Cell *cell = &to->cells.at[k], other = cell_at(from, cell->place), either = either_cell(*cell, other);
        changed |= !other.from || either.from != cell->from || either.only != cell->only;
        *cell = either;
        if (!other.from)
            drop_cell(to, k);
    }
    if (lost)
        forget_frame(to, INT32_MAX);
    return changed;
}

static bool is_plain_reg(Operand o, uint32_t reg) {
    return o.kind == OPK_REG && o.file == RF_R && o.value == reg && !(o.mods & ~OPM_REUSE);
}

/* Is it an access to the frame, and which place is its first word? */
static bool in_frame(const Places *places, const MachInst *inst, int32_t *place) {
    bool load = inst->optype == OT_LDL;
    Operand base = inst->src[load ? LDL_ra : STL_ra], urb = inst->src[load ? LDL_urb : STL_urb],
            offset = inst->src[load ? LDL_offset : STL_offset];
    int64_t bytes = offset.kind == OPK_IMM64 ? (int64_t)inst->wide
                    : offset.kind == OPK_IMM ? (int32_t)offset.value
                                             : 0;
    bool near = bytes > -FARTHEST && bytes < FARTHEST;
    *place = FRAME + places->stack + (near ? (int32_t)bytes : 0);
    return near && !places->lost && is_plain_reg(base, ABI_STACK_REG) &&
           (urb.kind == OPK_NONE || urb.value == REG_URZ);
}

static void store(Kept *kept, Places *places, const MachInst *inst) {
    Operand data = inst->src[STL_rb];
    int32_t first;
    if (!in_frame(places, inst, &first))
        return;
    for (uint32_t k = 0; k < (data.count ? data.count : 1u); k++) {
        int32_t place = first + (int32_t)(WORD_BYTES * k);
        /* not a callee's; nor the caller's, but a part of a function that others call has the frame in common
         * with them (sm_90, kernels of NCCL) */
        bool own = place >= FRAME + places->stack && (place < FRAME || kept->sources->convention),
             some = own && data.kind == OPK_REG && data.file == RF_R && isa_access_bytes(inst) >= WORD_BYTES;
        Cell none = {.only = NONE}, now = some ? cell_at(places, (int32_t)(data.value + k)) : none,
             old = cell_at(places, place);
        if (!op_is_always(inst->guard))
            now = now.from && old.from ? either_cell(now, old) : none;
        set_place(kept, places, place, now);
    }
}

/* An instruction that writes R1. */
static void move_stack(const Kept *kept, Places *places, const MachInst *inst) {
    const Target *target = kept->checker->flow->bin->target;
    bool adds = op_is_always(inst->guard) && (inst->optype == OT_IADD3 || inst->optype == OT_VIADD),
         base = false;
    int64_t sum = 0;
    for (unsigned k = 0; k < inst->nsrc; k++) {
        Operand o = inst->src[k];
        bool top = o.kind == OPK_CMEM && op_cmem_bank(o) == CONST_BANK_LAUNCH &&
                   op_cmem_offset(o) == isa_target_info(target)->stack_top_offset_bytes;
        if (top && op_is_always(inst->guard) && inst->optype != OT_IADD3) {
            forget_frame(places, INT32_MAX);
            places->lost = false;
            places->stack = 0;
            return;
        }
        if (o.kind == OPK_IMM)
            sum += (int32_t)o.value;
        else if (is_plain_reg(o, ABI_STACK_REG) && !base)
            base = true;
        else
            adds &= o.kind != OPK_CMEM && (o.kind != OPK_REG || o.file != RF_R || o.value == REG_RZ);
    }
    sum += places->stack;
    if (adds && base && sum > -FARTHEST && sum < FARTHEST) {
        places->stack = (int32_t)sum;
        return;
    }
    places->lost = true;
    forget_frame(places, INT32_MAX);
}

/* by procedure: what it and its callees write */
static Regs *find_writes(Checker *checker) {
    const BinFlow *flow = checker->flow;
    Regs *writes = ARENA_ARRAY(&checker->a, Regs, checker->nprocs + 2);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        for (uint32_t n = 0; n < checker->procs[p].nrpo; n++)
            FOR_BIN_INSTS(&flow->blocks[checker->procs[p].rpo[n]], i) {
                const MachInst *inst = &flow->insts[i];
                for (unsigned d = 0; flow->decoded[i] && d < inst->ndst; d++) {
                    unsigned regs = isa_dst_regs(flow->bin->target, inst, d);
                    for (unsigned k = 0; inst->dst[d].kind == OPK_REG && inst->dst[d].file == RF_R &&
                                         k < (regs ? regs : 1) && inst->dst[d].value + k < REG_RZ;
                         k++)
                        writes[p].w[(inst->dst[d].value + k) / 64] |= (uint64_t)1
                                                                      << (inst->dst[d].value + k) % 64;
                }
            }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p <= checker->nprocs; p++)
            GRAPH_SUCCS(&checker->calls, p, to)
                for (unsigned k = 0; k < 4; k++) {
                    checker->steps++;
                    changed |= (writes[*to].w[k] & ~writes[p].w[k]) != 0;
                    writes[p].w[k] |= writes[*to].w[k];
                }
    }
    return writes;
}

/* A call keeps the frame, and the registers that it does not write. */
static void pass_call(const Kept *kept, Places *places, uint32_t i) {
    Callees to = check_callees(kept->checker, i);
    forget_frame(places, FRAME + places->stack);
    for (uint32_t k = places->cells.n; k-- > 0;) {
        int32_t reg = places->cells.at[k].place;
        bool written = reg < FRAME / 2 && !to.n;
        for (uint32_t t = 0; t < to.n && reg < FRAME / 2; t++)
            written |= kept->writes[to.proc[t]].w[reg / 64] >> (reg % 64) & 1;
        if (written && !(kept->sources->convention && abi_open_keeps((unsigned)reg)))
            drop_cell(places, k);
    }
}

/* The register whose value the instruction moves to another; none: REG_RZ. */
static uint32_t moved_reg(const MachInst *inst) {
    Operand from = {0};
    if (inst->optype == OT_MOV)
        from = inst->src[MOV_rb];
    else if (inst->optype == OT_IMAD && !MGET(IMAD, x, inst->mods) &&
             is_plain_reg(inst->src[IMAD_ra], REG_RZ))
        from = inst->src[IMAD_rc];
    return from.kind == OPK_REG && from.file == RF_R && is_plain_reg(from, from.value) ? from.value : REG_RZ;
}

static void start_source(Kept *kept, Places *places, uint32_t i) {
    const KeptSources *sources = kept->sources;
    uint64_t bit = 0;
    for (uint32_t k = 0; k < sources->nsources; k++)
        bit |= sources->sources[k] == i ? (uint64_t)1 << k % 64 : 0;
    for (uint32_t k = places->cells.n; k-- > 0;) {
        const Cell *cell = &places->cells.at[k];
        if (cell->only == NONE ? cell->from & bit : cell->only == i)
            drop_cell(places, k);
    }
    set_place(kept, places, (int32_t)kept->checker->flow->insts[i].dst[0].value,
              (Cell){.only = i, .from = bit});
}

static void kept_step(Kept *kept, Places *places, uint32_t i) {
    const Target *target = kept->checker->flow->bin->target;
    const MachInst *inst = &kept->checker->flow->insts[i];
    bool always = op_is_always(inst->guard);
    int32_t place;
    if (check_is_call(kept->checker, i)) {
        pass_call(kept, places, i);
        return;
    }
    if (inst->optype == OT_STL)
        store(kept, places, inst);
    if (bin_writes_reg(target, inst, RF_R, ABI_STACK_REG))
        move_stack(kept, places, inst);
    Cell loaded[8] = {{0}}, moved = cell_at(places, (int32_t)moved_reg(inst));
    bool loads = inst->optype == OT_LDL && always && isa_access_bytes(inst) >= WORD_BYTES &&
                 in_frame(places, inst, &place);
    uint32_t n = !loads ? 0 : inst->dst[LDL_rd].count ? inst->dst[LDL_rd].count : 1;
    for (uint32_t k = 0; k < n && k < 8; k++)
        loaded[k] = cell_at(places, place + (int32_t)(WORD_BYTES * k));
    for (uint32_t k = places->cells.n; k-- > 0;)
        if (places->cells.at[k].place < FRAME / 2 &&
            bin_writes_reg(target, inst, RF_R, (uint32_t)places->cells.at[k].place))
            drop_cell(places, k);
    if (always && moved.from)
        set_place(kept, places, (int32_t)inst->dst[0].value, moved);
    for (uint32_t k = 0; k < n && k < 8; k++)
        if (loaded[k].from)
            set_place(kept, places, (int32_t)(inst->dst[LDL_rd].value + k), loaded[k]);
    if (kept->is_source[i - kept->first_inst])
        start_source(kept, places, i);
}

/* One block; `uses` (NULL: none) are answered on the way. */
static void kept_block(Kept *kept, Places *now, const BinBlock *block, KeptUse *uses, uint32_t nuses) {
    FOR_BIN_INSTS(block, i) {
        for (uint32_t u = 0; u < nuses; u++)
            if (uses[u].inst == i) {
                Cell cell = cell_at(now, (int32_t)uses[u].reg);
                uses[u].from = cell.from;
                uses[u].only = cell.only;
                uses[u].frame_known = !now->lost;
            }
        if (kept->checker->flow->decoded[i])
            kept_step(kept, now, i);
    }
}

void check_kept(Checker *checker, const KeptSources *sources, KeptUse *uses, uint32_t nuses) {
    const BinFlow *flow = checker->flow;
    const Proc *proc = sources->proc;
    const BinFuncFlow *func = &flow->funcs[proc->func];
    if (!checker->proc_writes)
        checker->proc_writes = find_writes(checker);
    ArenaMark mark = arena_mark(&checker->a);
    Kept kept = {.checker = checker,
                 .sources = sources,
                 .writes = checker->proc_writes,
                 .in = ARENA_ARRAY(&checker->a, Places, func->nblocks + 1),
                 .base = func->first_block,
                 .is_source = ARENA_ARRAY(&checker->a, bool, func->ninsts + 1),
                 .first_inst = func->first_inst};
    bool *dirty = ARENA_ARRAY(&checker->a, bool, func->nblocks + 1);
    for (uint32_t k = 0; k < sources->nsources; k++)
        kept.is_source[sources->sources[k] - func->first_inst] = true;
    Places now = {0}, *entry = &kept.in[proc->entry_block - kept.base];
    *entry = (Places){.reached = true, .lost = proc->is_kernel};
    dirty[proc->entry_block - kept.base] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            const BinBlock *block = &flow->blocks[proc->rpo[n]];
            if (!dirty[proc->rpo[n] - kept.base])
                continue;
            dirty[proc->rpo[n] - kept.base] = false;
            copy_places(&kept, &now, &kept.in[proc->rpo[n] - kept.base]);
            checker->steps += 1 + now.cells.n;
            kept_block(&kept, &now, block, NULL, 0);
            for (uint32_t s = 0; s < block->nsuccs; s++)
                if (merge_places(&kept, &kept.in[block->succs[s].block - kept.base], &now))
                    dirty[block->succs[s].block - kept.base] = changed = true;
        }
    }
    for (uint32_t u = 0; u < nuses; u++) {
        uint32_t block = flow->block_of[uses[u].inst];
        copy_places(&kept, &now, &kept.in[block - kept.base]);
        if (now.reached)
            kept_block(&kept, &now, &flow->blocks[block], uses, nuses);
    }
    arena_release(&checker->a, mark);
}
