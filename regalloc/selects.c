/* Of a select one side is made under its predicate, in the register of the other:
 *     y = x * 3 + 1       r = p ? y : k                  ->  @p r = x * 3 + 1 tied(k)
 * One instruction less, where nobody else reads y, and k ends here: then r takes k's register (webs.c). A
 * result of several registers, each of which one select of the same predicate reads, goes with all of them.
 * What is guarded waits longer for its predicate than SEL does, so only instructions of fixed latency go,
 * which add nothing to that. Each moves down to its select, where predicate and k are there, if that is near
 * and registers are left for its operands, which live longer. In: SSA form, operands as the opcodes take
 * them. SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"
#include "lower/opt/opt.h"
#include "regalloc/regalloc.h"

enum { MOST_CROSSED = 64, SPARE_REGS = 8 };

typedef struct {
    Function *f;
    Arena a;
    RaCfg g;
    RaLive live;
    uint32_t *uses;   /* [value] reads of it */
    uint32_t *reader; /* [value] an instruction that reads it */
    uint32_t *last;   /* [value] position of its last reader in the block at hand */
    uint32_t *place;  /* [inst] position in the block at hand */
} Selects;

/* r = p ? y : k for each register of y. */
typedef struct {
    InstId select[IR_MOST_VECTOR];
    ValId result[IR_MOST_VECTOR], kept[IR_MOST_VECTOR];
    unsigned count;
    Operand when; /* y is wanted */
} Choice;

static void count_reads(Selects *selects) {
    Function *f = selects->f;
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id)
            FOR_READS(f, ir_inst(f, id), read) {
                ValId v[IR_MOST_VECTOR];
                for (unsigned m = 0, n = ra_values(f, *read, v); m < n; m++)
                    selects->uses[v[m].i]++, selects->reader[v[m].i] = id.i;
            }
}

static void note_reads(Selects *selects, const Inst *i, uint32_t at) {
    ValId v[IR_MOST_VECTOR];
    FOR_READS(selects->f, i, read)
        for (unsigned m = 0, n = ra_values(selects->f, *read, v); m < n; m++)
            selects->last[v[m].i] = at;
}

/* A select of one register for all lanes, by a predicate that is a value. */
static bool is_select(const Function *f, const Inst *i) {
    return i->op == OT_SEL && op_is_always(i->guard) && ir_src(f, i, SEL_pp)->kind == OPK_VAL &&
           opt_scalar(*ir_dst(f, i, SEL_rd)) && f->values.at[ir_dst(f, i, SEL_rd)->value].fixed_reg < 0;
}

/* The unguarded arithmetic of fixed latency whose only result, shortly before position `at`, v belongs to. */
static Inst *made_near(const Selects *selects, BlockId b, unsigned at, uint32_t v) {
    Function *f = selects->f;
    const Value *value = &f->values.at[v];
    if (!v || value->file != RF_R || value->block.i != b.i || !value->def.i)
        return NULL;
    Inst *i = ir_inst(f, value->def);
    uint32_t from = selects->place[value->def.i];
    if (!op_is_always(i->guard) || i->flags & IF_TIED || !ra_may_move(f, i) || at - from > MOST_CROSSED)
        return NULL;
    FOR_DSTS(f, i, dst)
        if (dst->kind != OPK_NONE && AT(dst))
            return NULL;
    for (uint32_t p = from; p < at; p++)
        if (ir_inst_at(f, b, p).i && ir_inst(f, ir_inst_at(f, b, p))->op == OT_CALL)
            return NULL;
    MachInst mach = opt_mach(f, i);
    return latency_is_variable(f->module->target, &mach) ? NULL : i;
}

/* Does k end at the select at `at`? */
static bool ends_here(const Selects *selects, BlockId b, unsigned at, Operand k) {
    uint32_t v = opt_scalar(k);
    return v && !k.mods && k.file == RF_R && selects->f->values.at[v].fixed_reg < 0 &&
           selects->last[v] <= at && !ra_set_has(&selects->live.out[b.i], v);
}

/* Whether source `slot` of the select at position `at`, the last select that reads its maker's results, can
 * be made under the predicate. */
static bool find_choice(const Selects *selects, BlockId b, unsigned at, unsigned slot, Choice *choice) {
    Function *f = selects->f;
    InstId here = ir_inst_at(f, b, at);
    Operand y = *ir_src(f, ir_inst(f, here), slot), p = *ir_src(f, ir_inst(f, here), SEL_pp);
    const Inst *maker = y.mods ? NULL : made_near(selects, b, at, opt_scalar(y));
    if (!maker)
        return false;
    *choice = (Choice){.when = p};
    choice->when.mods ^= slot == SEL_rb ? OPM_NOT : 0;
    ValId part[IR_MOST_VECTOR];
    choice->count = ra_values(f, *ir_dst(f, maker, 0), part);
    for (unsigned c = 0; c < choice->count; c++) {
        InstId id = {selects->reader[part[c].i]};
        const Inst *select = ir_inst(f, id);
        if (!part[c].i || selects->uses[part[c].i] != 1 || !is_select(f, select) ||
            f->values.at[part[c].i].fixed_reg >= 0 || selects->place[id.i] > at ||
            ir_inst_at(f, b, selects->place[id.i]).i != id.i)
            return false;
        const Operand *by = ir_src(f, select, SEL_pp),
                      *k = ir_src(f, select, slot == SEL_ra ? SEL_rb : SEL_ra);
        if (opt_scalar(*ir_src(f, select, slot)) != part[c].i || by->value != p.value || by->mods != p.mods ||
            !ends_here(selects, b, at, *k))
            return false;
        choice->select[c] = id;
        choice->kept[c] = (ValId){k->value};
        choice->result[c] = (ValId){ir_dst(f, select, SEL_rd)->value};
    }
    return true;
}

/* The first of several selects gives its result where the last one stands; nobody may read it before. */
static bool are_read_behind(const Selects *selects, BlockId b, unsigned at, const Choice *choice) {
    Function *f = selects->f;
    for (unsigned c = 0; c < choice->count; c++)
        for (uint32_t p = selects->place[choice->select[c].i]; p < at; p++) {
            ValId v[IR_MOST_VECTOR];
            InstId id = ir_inst_at(f, b, p);
            if (id.i)
                FOR_READS(f, ir_inst(f, id), read)
                    for (unsigned m = 0, n = ra_values(f, *read, v); m < n; m++)
                        if (v[m].i == choice->result[c].i)
                            return false;
        }
    return true;
}

static void make_under(Selects *selects, BlockId b, unsigned at, unsigned slot, const Choice *choice) {
    Function *f = selects->f;
    InstIds *insts = &ir_block(f, b)->insts;
    InstId id = f->values.at[ir_src(f, ir_inst(f, insts->at[at]), slot)->value].def;
    Operand result = ir_vec(f, choice->result, choice->count), kept = ir_vec(f, choice->kept, choice->count);
    for (unsigned c = 0; c < choice->count; c++)
        insts->at[selects->place[choice->select[c].i]] = (InstId){0};
    insts->at[selects->place[id.i]] = (InstId){0};
    insts->at[at] = id;
    selects->place[id.i] = at;
    ir_set_dst(f, id, 0, result);
    ir_set_guard(f, id, choice->when);
    *ir_tied(f, ir_inst(f, id), 0) = kept;
    note_reads(selects, ir_inst(f, id), at);
}

static void choose_in_block(Selects *selects, BlockId b) {
    Function *f = selects->f;
    InstIds *insts = &ir_block(f, b)->insts;
    bool any = false;
    FOR_INST_IDS(f, b, id) {
        selects->place[id.i] = AT(id);
        note_reads(selects, ir_inst(f, id), AT(id));
        any |= is_select(f, ir_inst(f, id));
    }
    if (!any || ra_block_pressure(f, &selects->live, b, RF_R) + SPARE_REGS > ra_limit(f, RF_R))
        return;
    for (unsigned at = 0; at < insts->n; at++) {
        if (!insts->at[at].i || !is_select(f, ir_inst(f, insts->at[at])))
            continue;
        static const unsigned sides[] = {SEL_ra, SEL_rb};
        Choice choice;
        for (unsigned k = 0; k < 2; k++)
            if (find_choice(selects, b, at, sides[k], &choice) && are_read_behind(selects, b, at, &choice)) {
                make_under(selects, b, at, sides[k], &choice);
                break;
            }
    }
    unsigned to = 0;
    for (unsigned at = 0; at < insts->n; at++)
        if (insts->at[at].i)
            insts->at[to++] = insts->at[at];
    insts->n = to;
}

static bool has_selects(const Function *f) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (is_select(f, i))
                return true;
    return false;
}

bool pass_selects(Function *f, Diags *d) {
    (void)d;
    if (!f->entry.i || !has_selects(f))
        return true;
    ir_renumber(f); /* Value.def and .block */
    Selects selects = {.f = f};
    ra_cfg(f, &selects.a, &selects.g);
    ra_live(f, &selects.g, &selects.a, &selects.live);
    selects.uses = ARENA_ARRAY(&selects.a, uint32_t, f->values.n);
    selects.reader = ARENA_ARRAY(&selects.a, uint32_t, f->values.n);
    selects.last = ARENA_ARRAY(&selects.a, uint32_t, f->values.n);
    selects.place = ARENA_ARRAY(&selects.a, uint32_t, f->insts.n);
    count_reads(&selects);
    FOR_BLOCKS(f, b)
        choose_in_block(&selects, b);
    arena_free(&selects.a);
    return true;
}
