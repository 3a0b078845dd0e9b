/* Random communication. collectives: shfl, vote, match, redux, elect, bar.warp.sync of whole warps in uniform flow,
 * with divergent regions between them. barriers: several warps exchange values through shared memory under
 * bar.sync, bar.arrive and bar.red, of all warps and of some.
 * SPDX-License-Identifier: MIT */
#include "check/gen_int.h"
#include <stdio.h>

/* ---- regions that only some lanes execute ---- */
static void divergent(Gen *g) {
    unsigned other = g->nlabels++, end = g->nlabels++;
    OUT(g, "@%s%%p%u bra L%u;\n", gen_chance(g, 50) ? "!" : "", gen_src(g, POOL_P), other);
    for (unsigned n = gen_below(g, 4); n; n--)
        gen_data_insn(g);
    if (gen_chance(g, 50)) {
        OUT(g, "bra L%u;\nL%u:\n", end, other);
        gen_data_insn(g);
        OUT(g, "L%u:\n", end);
    } else
        OUT(g, "L%u:\n", other);
}

typedef void Item(Gen *g);

/* Items under flow that is the same for all lanes of a warp. */
static void uniform_flow(Gen *g, Item *item, unsigned n, bool warps_differ) {
    for (unsigned i = 0; i < n; i++) {
        unsigned r = gen_below(g, 100), label = g->nlabels++, counter = 8 + g->depth;
        if (g->depth < 2 && r < 8) {
            g->depth++;
            OUT(g, "mov.u32 %%u%u, %u;\nL%u:\n", counter, gen_range(g, 1, 3), label);
            uniform_flow(g, item, gen_range(g, 1, 3), warps_differ);
            OUT(g, "sub.u32 %%u%u, %%u%u, 1;\nsetp.ne.u32 %%c1, %%u%u, 0;\n@%%c1 bra L%u;\n", counter, counter, counter,
                label);
            g->depth--;
        } else if (g->depth < 2 && r < 18) {
            g->depth++;
            OUT(g, "mov.u32 %%u3, %s;\nsetp.eq.u32 %%c0, %%u3, %u;\n@%%c0 bra L%u;\n", warps_differ ? "%warpid" : "%ctaid.x",
                gen_below(g, 2), label);
            uniform_flow(g, item, gen_range(g, 1, 3), warps_differ);
            OUT(g, "L%u:\n", label);
            g->depth--;
        } else if (r < 33)
            divergent(g);
        else if (r < 60)
            gen_data_insn(g);
        else
            item(g);
    }
}

/* ---- collectives ---- */
static const char *mask(Gen *g) { return gen_chance(g, 75) ? "0xffffffff" : "%u0"; }

static void number_or_reg(Gen *g, unsigned below) {
    if (gen_chance(g, 60))
        OUT(g, "%u", gen_below(g, below));
    else
        OUT(g, "%%r%u", gen_src(g, POOL_R));
}

static void shuffle(Gen *g) {
    static const char *const mode[] = {"up", "down", "bfly", "idx"};
    static const unsigned segments[] = {0x1f, 0, 0x1e03, 0x1c1f, 0x101f, 0x180f, 0x1f};
    unsigned src = gen_src(g, POOL_R);
    OUT(g, "shfl.sync.%s.b32 %%r%u", mode[gen_below(g, 4)], gen_dst(g, POOL_R));
    if (gen_chance(g, 50))
        OUT(g, "|%%p%u", gen_dst(g, POOL_P));
    OUT(g, ", %%r%u, ", src);
    number_or_reg(g, 33);
    if (gen_chance(g, 85))
        OUT(g, ", %u", segments[gen_below(g, 7)]);
    else
        OUT(g, ", %%r%u", gen_src(g, POOL_R));
    OUT(g, ", %s;\n", mask(g));
}

static void vote(Gen *g) {
    static const char *const mode[] = {"all", "any", "uni"};
    unsigned k = gen_below(g, 4), src = gen_src(g, POOL_P);
    const char *no = gen_chance(g, 30) ? "!" : "";
    if (k == 3)
        OUT(g, "vote.sync.ballot.b32 %%r%u, %s%%p%u, %s;\n", gen_dst(g, POOL_R), no, src, mask(g));
    else
        OUT(g, "vote.sync.%s.pred %%p%u, %s%%p%u, %s;\n", mode[k], gen_dst(g, POOL_P), no, src, mask(g));
}

static void match(Gen *g) {
    bool wide = gen_chance(g, 40), all = gen_chance(g, 50);
    unsigned src;
    if (gen_chance(g, 60)) { /* values that some lanes share */
        OUT(g, "and.b32 %%t0, %%r%u, %u;\ncvt.u64.u32 %%x0, %%t0;\n", gen_src(g, POOL_R), 1u << gen_below(g, 6));
        src = UINT32_MAX;
    } else
        src = gen_src(g, wide ? POOL_D : POOL_R);
    OUT(g, "match.%s.sync.b%u %%r%u", all ? "all" : "any", wide ? 64u : 32u, gen_dst(g, POOL_R));
    if (all && gen_chance(g, 60))
        OUT(g, "|%%p%u", gen_dst(g, POOL_P));
    if (src == UINT32_MAX)
        OUT(g, ", %s, ", wide ? "%x0" : "%t0");
    else
        OUT(g, ", %%%c%u, ", wide ? 'd' : 'r', src);
    OUT(g, "%s;\n", mask(g));
}

static void collective(Gen *g) {
    static const char *const redux[] = {"add.u32", "add.s32", "min.u32", "max.u32", "min.s32",
                                        "max.s32", "and.b32", "or.b32",  "xor.b32"};
    unsigned r = gen_below(g, 100), src = gen_src(g, POOL_R);
    if (r < 40)
        shuffle(g);
    else if (r < 60)
        vote(g);
    else if (r < 75)
        match(g);
    else if (r < 90)
        OUT(g, "redux.sync.%s %%r%u, %%r%u, %s;\n", redux[gen_below(g, 9)], gen_dst(g, POOL_R), src, mask(g));
    else if (r < 95)
        OUT(g, "elect.sync %%r%u|%%p%u, %s;\n", gen_dst(g, POOL_R), gen_dst(g, POOL_P), mask(g));
    else
        OUT(g, "bar.warp.sync %s;\n", mask(g));
}

void gen_collectives(Gen *g) {
    g->has_areas = gen_chance(g, 50);
    gen_module_head(g);
    gen_kernel_head(g, "");
    OUT(g, "mov.u32 %%u0, 0xffffffff;\n");
    if (gen_chance(g, 30)) /* the same, but not a constant */
        OUT(g, "mov.u32 %%u0, %%ntid.y;\nneg.s32 %%u0, %%u0;\n");
    uniform_flow(g, collective, gen_range(g, 5, 30), true);
    gen_store_pools(g);
}

/* ---- barriers ---- */
/* %u0 number in the block  %u2 own slot  %u4 slot of another thread */
static void barrier(Gen *g, unsigned id, unsigned threads, bool all) {
    static const char *const forms[] = {"bar.sync", "barrier.sync", "bar.cta.sync", "barrier.sync.aligned"};
    const char *form = forms[gen_below(g, 4)];
    if (all && gen_chance(g, 50))
        OUT(g, "%s %u;\n", form, id);
    else if (gen_chance(g, 20))
        OUT(g, "mov.u32 %%t2, %u;\nmov.u32 %%t3, %u;\n%s %%t2, %%t3;\n", id, threads, form);
    else
        OUT(g, "%s %u, %u;\n", form, id, threads);
}

static void other_slot(Gen *g, unsigned threads) {
    OUT(g, "mad.lo.u32 %%u4, %%u0, %u, %u;\nmul.hi.u32 %%u4, %%u4, %u;\n", (unsigned)gen_u64(g) | 1, (unsigned)gen_u64(g),
        threads);
    OUT(g, "mov.u32 %%t1, slots;\nmad.lo.u32 %%u4, %%u4, 8, %%t1;\n");
}

/* The first `threads` threads, whole warps, exchange values. */
static void exchange(Gen *g, unsigned id, unsigned threads, bool all) {
    bool wide = gen_chance(g, 40);
    unsigned src = gen_src(g, wide ? POOL_D : POOL_R);
    OUT(g, "st.shared.b%u [%%u2], %%%c%u;\n", wide ? 64u : 32u, wide ? 'd' : 'r', src);
    barrier(g, id, threads, all);
    other_slot(g, threads);
    OUT(g, "ld.shared.b%u %%%c%u, [%%u4];\n", wide ? 64u : 32u, wide ? 'd' : 'r', gen_dst(g, wide ? POOL_D : POOL_R));
    barrier(g, id, threads, all);
}

static void reduce(Gen *g, unsigned id, unsigned threads, bool all) {
    char count[16] = "";
    unsigned src = gen_src(g, POOL_P);
    if (!all || gen_chance(g, 40))
        snprintf(count, sizeof count, "%u, ", threads);
    const char *no = gen_chance(g, 30) ? "!" : "", *op = gen_chance(g, 50) ? "bar" : "barrier";
    if (gen_chance(g, 40))
        OUT(g, "%s.red.popc.u32 %%r%u, %u, %s%s%%p%u;\n", op, gen_dst(g, POOL_R), id, count, no, src);
    else
        OUT(g, "%s.red.%s.pred %%p%u, %u, %s%s%%p%u;\n", op, gen_chance(g, 50) ? "and" : "or", gen_dst(g, POOL_P), id, count,
            no, src);
}

/* The first warps produce and only arrive; the others wait and read. */
static void hand_over(Gen *g, unsigned threads) {
    unsigned id = gen_range(g, 1, 15), warps = threads / 32, half = 32 * gen_range(g, 1, warps - 1);
    unsigned other = g->nlabels++, end = g->nlabels++;
    OUT(g, "setp.ge.u32 %%c2, %%u0, %u;\n@%%c2 bra L%u;\n", half, other);
    OUT(g, "st.shared.b32 [%%u2], %%r%u;\nbar.arrive %u, %u;\n", gen_src(g, POOL_R), id, threads);
    OUT(g, "bra L%u;\nL%u:\n", end, other);
    OUT(g, "bar.sync %u, %u;\n", id, threads);
    other_slot(g, half);
    OUT(g, "ld.shared.b32 %%r%u, [%%u4];\n", gen_dst(g, POOL_R));
    OUT(g, "L%u:\n", end);
    barrier(g, 0, threads, true);
}

static void any_communication(Gen *g) {
    unsigned threads = g->p->block[0] * g->p->block[1], r = gen_below(g, 100);
    if (r < 35)
        exchange(g, gen_chance(g, 60) ? 0 : gen_below(g, 16), threads, true);
    else if (r < 60)
        reduce(g, gen_chance(g, 60) ? 0 : gen_below(g, 16), threads, true);
    else if (r < 80)
        hand_over(g, threads);
    else { /* only some warps */
        unsigned some = 32 * gen_range(g, 1, threads / 32 - 1), end = g->nlabels++, id = gen_range(g, 1, 15);
        OUT(g, "setp.ge.u32 %%c2, %%u0, %u;\n@%%c2 bra L%u;\n", some, end);
        if (gen_chance(g, 60))
            exchange(g, id, some, false);
        else
            reduce(g, id, some, false);
        OUT(g, "L%u:\n", end);
        barrier(g, 0, threads, true);
    }
}

/* On one line: without one of its barriers it would be a race. */
static void communicate(Gen *g) {
    size_t start = g->p->size_bytes;
    any_communication(g);
    for (size_t i = start; i + 1 < g->p->size_bytes; i++)
        if (g->p->text[i] == '\n')
            g->p->text[i] = ' ';
}

void gen_barriers(Gen *g) {
    char slots[64];
    unsigned threads = g->p->block[0] * g->p->block[1];
    g->has_areas = gen_chance(g, 30);
    snprintf(slots, sizeof slots, ".shared .align 8 .b8 slots[%u];\n", 8 * threads);
    gen_module_head(g);
    gen_kernel_head(g, slots);
    OUT(g, "mov.u32 %%u0, %%tid.x;\n");
    OUT(g, "mov.u32 %%u2, slots;\nmad.lo.u32 %%u2, %%u0, 8, %%u2; mov.u64 %%x0, 0; st.shared.b64 [%%u2], %%x0; // keep\n");
    barrier(g, 0, threads, true);
    uniform_flow(g, communicate, gen_range(g, 4, 16), false);
    gen_store_pools(g);
}
