/* R-12, checked on the result of reconvergence insertion: two collectives of one kind that lanes of a warp
 * may be at at the same time, waiting for each other, must be one instruction, because WARPSYNC counts
 * arrivals at one place.
 *
 * The places are noted before rendezvous stubs are made (reconv_note_sites), with what PTX says of them. In
 * the result a place either still has its instruction or calls a stub. Whether two places can be met at the
 * same time is decided here without dominators: walk from one to the next of the two; if from the start on
 * there is only ever one of them that can come next, all lanes pass them in one order.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_bar(unsigned op) { return isa_has_effect(op, ISA_EFFECT_CTA_BARRIER); }

static bool is_stub(const Function *f) {
    return !strncmp(str_text(f->module->strings, f->name), "$sync$", 6);
}

bool reconv_is_collective(const Inst *i) {
    return !ir_is_pseudo(i->op) && op_is_always(i->guard) && (is_bar(i->op) || i->flags & IF_SYNC);
}

static Operand mask_of(Function *f, const Inst *i) {
    if (i->op == OT_WARPSYNC)
        return *ir_src(f, i, WARPSYNC_rb);
    if (is_bar(i->op))
        return op_imm(UINT32_MAX);
    return i->nsrc > isa_num_src(i->op) ? *ir_src(f, i, isa_num_src(i->op)) : (Operand){0};
}

static int by_place(const void *a, const void *b) {
    const SyncSite *site = a, *sync_site = b;
    if (site->f != sync_site->f)
        return (uintptr_t)site->f < (uintptr_t)sync_site->f ? -1 : 1;
    return site->inst.i < sync_site->inst.i ? -1 : site->inst.i > sync_site->inst.i;
}

static void note_ballots(SyncNotes *notes) {
    for (uint32_t k = 0, end; k < notes->sites.n; k = end) {
        Function *f = notes->sites.at[k].f;
        Arena a = {0};
        Graph graph = cfg_graph(&a, f);
        DomTree dom = dom_tree(&a, &graph, GRAPH_FORWARD, f->entry.i);
        for (end = k; end < notes->sites.n && notes->sites.at[end].f == f; end++)
            if (!notes->sites.at[end].uniform)
                notes->sites.at[end].ballot =
                    reconv_ballot_of(f, &dom, notes->sites.at[end].block, notes->sites.at[end].mask);
        arena_free(&a);
    }
}

void reconv_note_sites(SyncNotes *notes, const IrModule *module) {
    for (unsigned k = 0; k < module->funcs.n; k++) {
        Function *f = module->funcs.at[k];
        if (is_stub(f))
            continue;
        *VEC_PUSH(&notes->a, &notes->funcs) = (SyncFunction){f, f->insts.n};
        FOR_BLOCKS(f, b) {
            Operand active = {0};
            FOR_INST_IDS(f, b, id) {
                const Inst *i = ir_inst(f, id);
                bool of_active = reconv_step_active(f, i, &active);
                if (!reconv_is_collective(i))
                    continue;
                *VEC_PUSH(&notes->a, &notes->sites) =
                    (SyncSite){.f = f,
                               .block = b.i,
                               .stands = b.i,
                               .inst = id,
                               .op = i->op,
                               .mods = i->mods,
                               .mask = mask_of(f, i),
                               .id = is_bar(i->op) ? *ir_src(f, i, 0) : (Operand){0},
                               .loc = i->loc,
                               .uniform = ir_block(f, b)->uniform_flow,
                               .aligned = (i->flags & IF_ALIGNED) != 0,
                               .of_active = of_active};
            }
        }
    }
    if (notes->sites.n)
        qsort(notes->sites.at, notes->sites.n, sizeof *notes->sites.at, by_place);
    note_ballots(notes);
}

SyncSite *reconv_noted(const SyncNotes *notes, const Function *f, InstId inst) {
    SyncSite key = {.inst = inst};
    memcpy(&key.f, &f, sizeof f);
    return notes->sites.n ? bsearch(&key, notes->sites.at, notes->sites.n, sizeof key, by_place) : NULL;
}

/* ---- where a place is now ---- */

typedef struct {
    Arena a;
    const IrModule *m;
    const SyncNotes *notes;
    const Function **stub; /* [site] it calls, NULL: its own instruction */
    Bitset *roots;         /* [func] open functions from which it is reached */
    bool good;
    Diags *d;
} Meet;

/* A call of a stub stands in the block where the collective stood, with its PTX position. */
static void find_stubs_in(Meet *meet, Function *f, BlockId block, bool *kept) {
    const SyncSite *site = meet->notes->sites.at;
    FOR_INST_IDS(f, block, id) {
        const SyncSite *s = reconv_noted(meet->notes, f, id);
        if (s)
            kept[s - site] = true;
    }
    FOR_INSTS(f, block, i) {
        const Function *callee = i->op == OT_CALL ? ir_callee(f, i) : NULL;
        for (uint32_t s = 0; callee && is_stub(callee) && s < meet->notes->sites.n; s++)
            if (site[s].f == f && site[s].stands == block.i && site[s].loc.i == i->loc.i && !meet->stub[s] &&
                !kept[s]) {
                meet->stub[s] = callee;
                break;
            }
    }
}

static void find_stubs(Meet *meet) {
    bool *kept = ARENA_ARRAY(&meet->a, bool, meet->notes->sites.n + 1u);
    for (unsigned k = 0; k < meet->m->funcs.n; k++)
        FOR_BLOCKS(meet->m->funcs.at[k], b)
            find_stubs_in(meet, meet->m->funcs.at[k], b, kept);
}

static void reach(Meet *meet, const CallGraph *calls, uint32_t root) {
    uint32_t *stack = ARENA_ARRAY(&meet->a, uint32_t, calls->n + 1), top = 0;
    bs_add(&meet->roots[root], root);
    stack[top++] = root;
    while (top) {
        uint32_t n = stack[--top];
        GRAPH_SUCCS(&calls->graph, n, t)
            if (!bs_has(&meet->roots[*t], root)) {
                bs_add(&meet->roots[*t], root);
                stack[top++] = *t;
            }
    }
}

/* ---- in one order? ---- */

enum { AT_X = 1, AT_Y = 2, AT_RET = 4 };

/* Which of blocks x and y, or the function's end, can be met first from `start`; itself included if asked.
 * others: [block] is not come to */
static unsigned next_of(Meet *meet, const Function *f, uint32_t start, bool included, uint32_t x, uint32_t y,
                        const bool *others) {
    ArenaMark mark = arena_mark(&meet->a);
    uint8_t *seen = ARENA_ARRAY(&meet->a, uint8_t, f->blocks.n);
    uint32_t *stack = ARENA_ARRAY(&meet->a, uint32_t, f->blocks.n + 1), top = 0;
    unsigned met = 0;
    stack[top++] = start;
    while (top) {
        uint32_t n = stack[--top];
        if (others[n])
            continue;
        if (included && (n == x || n == y)) {
            met |= n == x ? AT_X : AT_Y;
            continue;
        }
        included = true;
        const Block *b = &f->blocks.at[n];
        FOR_INSTS(f, (BlockId){n}, i)
            met |= i->op == OT_RET ? AT_RET : 0;
        for (unsigned s = 0; s < b->succs.n; s++)
            if (!seen[b->succs.at[s].i])
                seen[b->succs.at[s].i] = 1, stack[top++] = b->succs.at[s].i;
    }
    arena_release(&meet->a, mark);
    return met;
}

/* [block] a collective there has a number for a mask, with no lane of this one */
static bool *others_blocks(Meet *meet, const Function *f, Operand mask) {
    bool *others = ARENA_ARRAY(&meet->a, bool, f->blocks.n);
    for (uint32_t k = 0; k < meet->notes->sites.n && mask.kind == OPK_IMM; k++) {
        const SyncSite *site = &meet->notes->sites.at[k];
        if (site->f == f && site->mask.kind == OPK_IMM && !(site->mask.value & mask.value))
            others[site->block] = true;
    }
    return others;
}

static bool in_turn(Meet *meet, const SyncSite *site, uint32_t y) {
    const Function *f = site->f;
    const bool *others = others_blocks(meet, f, site->mask);
    uint32_t x = site->block;
    unsigned first = next_of(meet, f, f->entry.i, true, x, y, others), now = first;
    for (unsigned turn = 0; turn < 4; turn++) {
        if (now & AT_RET && !f->is_entry)
            now |= first; /* the next call */
        if ((now & (AT_X | AT_Y)) == (AT_X | AT_Y))
            return false;
        if (!(now & (AT_X | AT_Y)))
            return true;
        now = next_of(meet, f, now & AT_X ? x : y, false, x, y, others);
    }
    return true;
}

static bool one_order(Meet *meet, const SyncSite *site, uint32_t y) {
    ArenaMark mark = arena_mark(&meet->a);
    bool ordered = site->block == y || in_turn(meet, site, y);
    arena_release(&meet->a, mark);
    return ordered;
}

static bool same(Operand a, Operand b) { return !memcmp(&a, &b, sizeof a); }
static bool both_numbers(Operand a, Operand b) { return a.kind == OPK_IMM && b.kind == OPK_IMM; }

static bool may_meet(Meet *meet, const SyncSite *site, const SyncSite *sync_site) {
    if (site->op != sync_site->op || site->mods != sync_site->mods || (site->uniform && sync_site->uniform) ||
        reconv_promised_apart(site->op, site->aligned, sync_site->aligned) || site->of_active ||
        sync_site->of_active)
        return false;
    if (both_numbers(site->mask, sync_site->mask) &&
        site->mask.value != sync_site->mask.value) /* lanes meet by mask */
        return false;
    if (both_numbers(site->id, sync_site->id) && site->id.value != sync_site->id.value)
        return false;
    const Bitset *bitset = &meet->roots[site->f->index], *s = &meet->roots[sync_site->f->index];
    bool together = false;
    for (uint32_t k = 0; k < bs_words(bitset); k++)
        together |= (bitset->w[k] & s->w[k]) != 0;
    if (!together || site->f != sync_site->f)
        return together;
    if (reconv_other_ballot(site->ballot, sync_site->ballot) || (site->ballot.vote.i && sync_site->uniform) ||
        (sync_site->ballot.vote.i && site->uniform))
        return false;
    if (!site->uniform && !sync_site->uniform && !same(site->mask, sync_site->mask))
        return true;
    return !one_order(meet, site, sync_site->block);
}

bool reconv_check_meetings(const IrModule *module, const CallGraph *calls, const SyncNotes *notes, Diags *d) {
    Meet c = {.m = module, .notes = notes, .d = d, .good = true};
    uint32_t n = notes->sites.n;
    c.stub = ARENA_ARRAY(&c.a, const Function *, n + 1u);
    c.roots = ARENA_ARRAY(&c.a, Bitset, calls->n + 1u); /* the last one: of unknown callees */
    for (uint32_t k = 0; n > 1 && k <= calls->n; k++)
        c.roots[k] = bs_new(&c.a, calls->n + 1u);
    for (uint32_t k = 0; n > 1 && k < calls->n; k++)
        if (calls->open[k])
            reach(&c, calls, k);
    find_stubs(&c);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i; j++) {
            const SyncSite *site = &notes->sites.at[i], *y = &notes->sites.at[j];
            if ((c.stub[i] && c.stub[i] == c.stub[j]) || !may_meet(&c, site, y))
                continue;
            char text[128];
            snprintf(text, sizeof text, "two places of %s may wait for each other", ir_op_name(site->op));
            diag(d, site->f->locs.at[site->loc.i].src, DIAG_E0773, "R-12", text,
                 str_text(module->strings, site->f->name));
            c.good = false;
        }
    arena_free(&c.a);
    return c.good;
}
