/* Random communication. collectives: shfl, vote, match, redux, elect, bar.warp.sync of some lanes of a warp:
 * in nested regions and loops, from several places, with lanes that have exited. barriers: several warps
 * exchange values through shared memory under bar.sync, bar.arrive and bar.red, of all warps and of some;
 * threads and whole warps exit.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/gen_internal.h"
#include <stdio.h>

static void data(Gen *g, unsigned least, unsigned most) {
    for (unsigned n = gen_range(g, least, most); n; n--)
        gen_data_insn(g);
}

/* ---- regions that only some lanes execute ---- */
static void divergent(Gen *gen, unsigned depth) {
    unsigned other = gen->nlabels++, end = gen->nlabels++;
    unsigned guard = gen_src(gen, POOL_P);
    OUT(gen, "@%s%%p%u bra L%u;\n", gen_chance(gen, 50) ? "!" : "", guard, other);
    data(gen, 1, 4);
    if (depth && gen_chance(gen, 40))
        divergent(gen, depth - 1);
    if (gen_chance(gen, 30))
        gen_log_block(gen);
    if (gen_chance(gen, 50)) {
        OUT(gen, "bra L%u;\nL%u:\n", end, other);
        data(gen, 1, 3);
        if (depth && gen_chance(gen, 40))
            divergent(gen, depth - 1);
        OUT(gen, "L%u:\n", end);
    } else
        OUT(gen, "L%u:\n", other);
}

/* ---- collectives ---- */
/* The generator knows at every place which lanes are there, as far as collectives are concerned: those
 * branches depend on the lane's number only. So every mask is right, each of its lanes that has not exited
 * executes the operation, and all lanes of a mask execute the same operations in the same order, wherever
 * they are. */
typedef struct {
    unsigned kind; /* which operation, with what lanes must agree on */
    unsigned variant;
    bool exited_too; /* lanes that have exited may be in the mask */
} Round;
enum { ROUND_SHFL, ROUND_VOTE, ROUND_MATCH, ROUND_REDUX, ROUND_ELECT, ROUND_BAR };

typedef struct {
    Gen *g;
    uint32_t exited; /* before the region that all lanes go through */
    unsigned budget;
    bool in_loop;
} Warp;

static uint32_t some_of(Gen *g, uint32_t lanes) { /* neither none nor all, if there are two */
    uint32_t m = 0;
    for (unsigned tries = 0; tries < 20 && (!m || m == lanes); tries++) {
        unsigned r = gen_below(g, 100);
        uint32_t x = (uint32_t)gen_u64(g), cut = ~0u << gen_range(g, 1, 31);
        m = lanes & (r < 50 ? x : r < 75 ? cut : r < 85 ? 1u << (x & 31) : ~(1u << (x & 31)));
    }
    return m;
}

/* %c0 = this lane is in `lanes` */
static void test_lane(Gen *g, uint32_t lanes) {
    OUT(g,
        "mov.u32 %%u3, %%laneid;\nshr.u32 %%u3, %u, %%u3;\nand.b32 %%u3, %%u3, 1;\nsetp.ne.u32 %%c0, %%u3, "
        "0;\n",
        lanes);
}

static Round choose_round(Gen *g) {
    unsigned r = gen_below(g, 100), kind = r < 35   ? ROUND_SHFL
                                           : r < 55 ? ROUND_VOTE
                                           : r < 70 ? ROUND_MATCH
                                           : r < 82 ? ROUND_REDUX
                                           : r < 86 ? ROUND_ELECT
                                                    : ROUND_BAR;
    unsigned variant = (unsigned)gen_u64(g) & 0xffff;
    return (Round){kind, variant, gen_chance(g, 50)};
}

static void number_or_reg(Gen *g, unsigned below) {
    if (gen_chance(g, 60))
        OUT(g, "%u", gen_below(g, below));
    else
        OUT(g, "%%r%u", gen_src(g, POOL_R));
}

/* A lane that it reads may be elsewhere or gone, unless all lanes are here: then the result would be
 * undefined. */
static void shuffle(Gen *g, unsigned variant, uint32_t lanes, const char *mask) {
    static const char *const mode[] = {"up", "down", "bfly", "idx"};
    static const unsigned segments[] = {0x1f, 0, 0x1e03, 0x1c1f, 0x101f, 0x180f, 0x1f};
    unsigned src = gen_src(g, POOL_R), dst;
    if (lanes != ~0u) { /* read the lowest or the highest lane, or oneself */
        unsigned lane = variant & 4 ? 31u - (unsigned)__builtin_clz(lanes) : (unsigned)__builtin_ctz(lanes);
        if (variant & 8)
            OUT(g, "shfl.sync.bfly.b32 %%r%u, %%r%u, 0, 31, %s;\n", gen_dst(g, POOL_R), src, mask);
        else
            OUT(g, "shfl.sync.idx.b32 %%r%u, %%r%u, %u, 31, %s;\n", gen_dst(g, POOL_R), src, lane, mask);
        return;
    }
    dst = gen_dst(g, POOL_R);
    OUT(g, "shfl.sync.%s.b32 %%r%u", mode[variant & 3], dst);
    if (gen_chance(g, 50))
        OUT(g, "|%%p%u", gen_dst(g, POOL_P));
    OUT(g, ", %%r%u, ", src);
    number_or_reg(g, 33);
    if (gen_chance(g, 85))
        OUT(g, ", %u", segments[(variant >> 2) % 7]);
    else
        OUT(g, ", %%r%u", gen_src(g, POOL_R));
    OUT(g, ", %s;\n", mask);
}

static void gen_vote(Gen *g, unsigned variant, const char *mask) {
    static const char *const mode[] = {"all", "any", "uni"};
    unsigned k = variant & 3, src = gen_src(g, POOL_P);
    const char *no = gen_chance(g, 30) ? "!" : "";
    if (k == 3)
        OUT(g, "vote.sync.ballot.b32 %%r%u, %s%%p%u, %s;\n", gen_dst(g, POOL_R), no, src, mask);
    else
        OUT(g, "vote.sync.%s.pred %%p%u, %s%%p%u, %s;\n", mode[k], gen_dst(g, POOL_P), no, src, mask);
}

static void gen_match(Gen *g, unsigned variant, const char *mask) {
    bool wide = variant & 1, all = variant & 2;
    unsigned src;
    if (gen_chance(g, 60)) { /* values that some lanes share */
        unsigned bit = gen_below(g, 6);
        OUT(g, "and.b32 %%t0, %%r%u, %u;\ncvt.u64.u32 %%x0, %%t0;\n", gen_src(g, POOL_R), 1u << bit);
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
    OUT(g, "%s;\n", mask);
}

/* One lane's part of a round; `lanes`: who is in it. mask: text */
static void operation(Gen *g, Round round, uint32_t lanes, const char *mask) {
    static const char *const redux[] = {"add.u32", "add.s32", "min.u32", "max.u32", "min.s32",
                                        "max.s32", "and.b32", "or.b32",  "xor.b32"};
    unsigned src = gen_src(g, POOL_R), v = round.variant;
    if ((round.kind == ROUND_REDUX && gen_sm(g) < 80) || (round.kind == ROUND_ELECT && gen_sm(g) < 90))
        round.kind = ROUND_VOTE; /* the target has no such instruction */
    switch (round.kind) {
    case ROUND_SHFL: shuffle(g, v, lanes, mask); break;
    case ROUND_VOTE: gen_vote(g, v, mask); break;
    case ROUND_MATCH: gen_match(g, v, mask); break;
    case ROUND_REDUX:
        OUT(g, "redux.sync.%s %%r%u, %%r%u, %s;\n", redux[v % 9], gen_dst(g, POOL_R), src, mask);
        break;
    case ROUND_ELECT: {
        unsigned p = gen_dst(g, POOL_P);
        OUT(g, "elect.sync %%r%u|%%p%u, %s;\n", gen_dst(g, POOL_R), p, mask);
        break;
    }
    default: OUT(g, "bar.warp.sync %s;\n", mask);
    }
}

/* As a number, or in a register that nobody can tell is constant. */
static void one_round(Warp *warp, Round round, uint32_t lanes) {
    Gen *g = warp->g;
    char mask[16] = "%u5";
    bool may = round.kind == ROUND_BAR || round.kind == ROUND_VOTE;
    uint32_t m = lanes | (may && round.exited_too ? warp->exited & (round.variant | round.variant << 16) : 0);
    if (round.variant & 0x4000) {
        OUT(g, "mov.u32 %%u5, %%ntid.z;\nxor.b32 %%u5, %%u5, %u;\n", m ^ 1);
    } else
        snprintf(mask, sizeof mask, "0x%08x", m);
    operation(g, round, lanes, mask);
    if (gen_chance(g, 30))
        gen_log_block(g);
}

/* Two groups that meet among themselves at one instruction. */
static void groups(Warp *warp, uint32_t lanes) {
    Gen *g = warp->g;
    uint32_t some = some_of(g, lanes);
    Round r = choose_round(g);
    if (!some || some == lanes || r.kind == ROUND_SHFL)
        return;
    test_lane(g, some);
    OUT(g, "selp.b32 %%u5, %u, %u, %%c0;\n", some, lanes & ~some);
    operation(g, r, lanes, "%u5");
}

/* The same rounds from two, three or four places. */
static void rounds_from(Warp *warp, const Round *r, unsigned n, uint32_t lanes, uint32_t here,
                        unsigned depth) {
    Gen *gen = warp->g;
    for (unsigned k = 0; k < n; k++) {
        uint32_t some = some_of(gen, here);
        data(gen, 0, 2);
        if (depth && some && some != here && gen_chance(gen, 40)) {
            unsigned other = gen->nlabels++, end = gen->nlabels++;
            test_lane(gen, some);
            OUT(gen, "@!%%c0 bra L%u;\n", other);
            rounds_from(warp, &r[k], 1, lanes, some, depth - 1);
            OUT(gen, "bra L%u;\nL%u:\n", end, other);
            rounds_from(warp, &r[k], 1, lanes, here & ~some, depth - 1);
            OUT(gen, "L%u:\n", end);
        } else
            one_round(warp, r[k], lanes);
    }
}

static void meet(Warp *warp, uint32_t lanes) {
    Gen *gen = warp->g;
    Round r[3];
    unsigned n = gen_range(gen, 1, 3), other = gen->nlabels++, end = gen->nlabels++;
    uint32_t some = some_of(gen, lanes);
    for (unsigned k = 0; k < n; k++)
        r[k] = choose_round(gen);
    if (!some || some == lanes)
        return;
    test_lane(gen, some);
    OUT(gen, "@!%%c0 bra L%u;\n", other);
    gen_log_block(gen);
    if (gen_chance(gen, 30) && !warp->in_loop) { /* these go round a loop, the others do not */
        unsigned top = gen->nlabels++;
        for (unsigned k = 1; k < n; k++)
            r[k] = r[0];
        OUT(gen, "mov.u32 %%u6, %u;\nL%u:\n", n, top);
        rounds_from(warp, r, 1, lanes, some, 1);
        OUT(gen, "sub.u32 %%u6, %%u6, 1;\nsetp.ne.u32 %%c1, %%u6, 0;\n@%%c1 bra L%u;\n", top);
    } else
        rounds_from(warp, r, n, lanes, some, 1);
    OUT(gen, "bra L%u;\nL%u:\n", end, other);
    rounds_from(warp, r, n, lanes, lanes & ~some, 2);
    OUT(gen, "L%u:\n", end);
}

static void warp_list(Warp *warp, uint32_t *lanes, unsigned n);

static void warp_branch(Warp *warp, uint32_t *lanes) {
    Gen *gen = warp->g;
    unsigned other = gen->nlabels++, end = gen->nlabels++;
    uint32_t some = some_of(gen, *lanes), rest = *lanes & ~some;
    if (!some || !rest)
        return;
    gen->depth++;
    test_lane(gen, some);
    OUT(gen, "@!%%c0 bra L%u;\n", other);
    warp_list(warp, &some, gen_range(gen, 1, 4));
    if (gen_chance(gen, 60)) {
        OUT(gen, "bra L%u;\nL%u:\n", end, other);
        warp_list(warp, &rest, gen_range(gen, 1, 4));
        OUT(gen, "L%u:\n", end);
    } else
        OUT(gen, "L%u:\n", other);
    gen->depth--;
    *lanes = some | rest;
}

/* All lanes go round equally often, or fewer each time: then the mask of a round is in a register. */
static void loop(Warp *warp, uint32_t lanes) {
    Gen *gen = warp->g;
    unsigned top = gen->nlabels++, end = gen->nlabels++, counter = 8 + gen->depth;
    uint32_t second = some_of(gen, lanes), third = some_of(gen, second);
    bool was = warp->in_loop;
    warp->in_loop = true;
    gen->depth++;
    OUT(gen, "mov.u32 %%u%u, 0;\nL%u:\n", counter, top);
    if (gen_chance(gen, 60) || was || !second || !third) {
        uint32_t same = lanes;
        warp_list(warp, &same, gen_range(gen, 1, 3));
        OUT(gen, "add.u32 %%u%u, %%u%u, 1;\nsetp.lt.u32 %%c1, %%u%u, %u;\n@%%c1 bra L%u;\n", counter, counter,
            counter, gen_range(gen, 1, 3), top);
    } else {
        Round r = choose_round(gen);
        if (r.kind == ROUND_SHFL)
            r.kind = ROUND_VOTE;
        OUT(gen,
            "setp.eq.u32 %%c1, %%u%u, 0;\nselp.b32 %%u7, %u, %u, %%c1;\nsetp.eq.u32 %%c1, %%u%u, 1;\n"
            "selp.b32 %%u7, %u, %%u7, %%c1;\n",
            counter, lanes, third, counter, second);
        operation(gen, r, lanes, "%u7");
        data(gen, 0, 2);
        gen_log_block(gen);
        OUT(gen, "add.u32 %%u%u, %%u%u, 1;\nsetp.eq.u32 %%c1, %%u%u, 1;\n", counter, counter, counter);
        OUT(gen, "selp.b32 %%u7, %u, %u, %%c1;\nsetp.eq.u32 %%c1, %%u%u, 3;\n@%%c1 bra L%u;\n", second, third,
            counter, end);
        OUT(gen,
            "mov.u32 %%u3, %%laneid;\nshr.u32 %%u3, %%u7, %%u3;\nand.b32 %%u3, %%u3, 1;\nsetp.ne.u32 %%c1, "
            "%%u3, 0;\n"
            "@%%c1 bra L%u;\n",
            top);
    }
    OUT(gen, "L%u:\n", end);
    gen->depth--;
    warp->in_loop = was;
}

static void lanes_exit(Warp *warp, uint32_t *lanes) {
    Gen *g = warp->g;
    uint32_t some = some_of(g, *lanes);
    some &= (uint32_t)gen_u64(g);
    if (!some || some == *lanes || warp->in_loop)
        return;
    test_lane(g, some);
    OUT(g, "@%%c0 st.global.b32 [%%go+%d], %%lc;\n@%%c0 exit;\n", GEN_LOG_OFFSET - 8);
    *lanes &= ~some;
}

static void warp_list(Warp *warp, uint32_t *lanes, unsigned n) {
    Gen *gen = warp->g;
    for (; n && warp->budget; n--) {
        unsigned r = gen_below(gen, 100);
        warp->budget--;
        if (!gen->depth)
            warp->exited = ~*lanes;
        data(gen, 1, 3);
        if (r < 12)
            divergent(gen, 1);
        else if (r < 42)
            one_round(warp, choose_round(gen), *lanes);
        else if (r < 48)
            groups(warp, *lanes);
        else if (r < 68 && gen->depth < 4)
            warp_branch(warp, lanes);
        else if (r < 82)
            meet(warp, *lanes);
        else if (r < 92 && gen->depth < 3)
            loop(warp, *lanes);
        else if (r < 96)
            lanes_exit(warp, lanes);
        gen_log_block(gen);
    }
}

void gen_collectives(Gen *gen) {
    Warp w = {.g = gen, .budget = gen_range(gen, 8, 30)};
    uint32_t lanes = ~0u;
    gen->has_areas = gen_chance(gen, 50);
    gen_module_head(gen);
    gen_kernel_head(gen, "");
    while (w.budget)
        warp_list(&w, &lanes, 30);
    gen_store_pools(gen);
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
    unsigned plus = (unsigned)gen_u64(g);
    OUT(g, "mad.lo.u32 %%u4, %%u0, %u, %u;\nmul.hi.u32 %%u4, %%u4, %u;\n", (unsigned)gen_u64(g) | 1, plus,
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
    OUT(g, "ld.shared.b%u %%%c%u, [%%u4];\n", wide ? 64u : 32u, wide ? 'd' : 'r',
        gen_dst(g, wide ? POOL_D : POOL_R));
    barrier(g, id, threads, all);
}

static void reduce(Gen *g, unsigned id, unsigned threads, bool all) {
    char of[32];
    unsigned src = gen_src(g, POOL_P);
    const char *no = gen_chance(g, 30) ? "!" : "", *op = gen_chance(g, 50) ? "bar" : "barrier";
    if (all && gen_chance(g, 60))
        snprintf(of, sizeof of, "%u", id);
    else if (gen_chance(g, 80))
        snprintf(of, sizeof of, "%u, %u", id, threads);
    else {
        snprintf(of, sizeof of, "%%t2, %%t3");
        OUT(g, "mov.u32 %%t2, %u;\nmov.u32 %%t3, %u;\n", id, threads);
    }
    if (gen_chance(g, 40))
        OUT(g, "%s.red.popc.u32 %%r%u, %s, %s%%p%u;\n", op, gen_dst(g, POOL_R), of, no, src);
    else {
        unsigned to = gen_dst(g, POOL_P);
        OUT(g, "%s.red.%s.pred %%p%u, %s, %s%%p%u;\n", op, gen_chance(g, 50) ? "and" : "or", to, of, no, src);
    }
}

/* The first warps produce and only arrive; the others wait and read. */
static void hand_over(Gen *gen, unsigned threads) {
    unsigned id = gen_range(gen, 1, 15), warps = threads / 32, half = 32 * gen_range(gen, 1, warps - 1);
    unsigned other = gen->nlabels++, end = gen->nlabels++;
    OUT(gen, "setp.ge.u32 %%c2, %%u0, %u;\n@%%c2 bra L%u;\n", half, other);
    OUT(gen, "st.shared.b32 [%%u2], %%r%u;\nbar.arrive %u, %u;\n", gen_src(gen, POOL_R), id, threads);
    OUT(gen, "bra L%u;\nL%u:\n", end, other);
    OUT(gen, "bar.sync %u, %u;\n", id, threads);
    other_slot(gen, half);
    OUT(gen, "ld.shared.b32 %%r%u, [%%u4];\n", gen_dst(gen, POOL_R));
    OUT(gen, "L%u:\n", end);
    barrier(gen, 0, threads, true);
}

static void any_communication(Gen *gen, unsigned threads) {
    unsigned r = gen_below(gen, 100);
    if (r < 35 || threads == 32)
        exchange(gen, gen_chance(gen, 60) ? 0 : gen_below(gen, 16), threads, true);
    else if (r < 60)
        reduce(gen, gen_chance(gen, 60) ? 0 : gen_below(gen, 16), threads, true);
    else if (r < 80)
        hand_over(gen, threads);
    else { /* only some warps */
        unsigned some = 32 * gen_range(gen, 1, threads / 32 - 1), end = gen->nlabels++,
                 id = gen_range(gen, 1, 15);
        OUT(gen, "setp.ge.u32 %%c2, %%u0, %u;\n@%%c2 bra L%u;\n", some, end);
        if (gen_chance(gen, 60))
            exchange(gen, id, some, false);
        else
            reduce(gen, id, some, false);
        OUT(gen, "L%u:\n", end);
        barrier(gen, 0, threads, true);
    }
}

/* On one line: without one of its barriers it would be a race. */
static void communicate(Gen *gen, unsigned threads) {
    size_t start = gen->p->size_bytes;
    any_communication(gen, threads);
    for (size_t i = start; i + 1 < gen->p->size_bytes; i++)
        if (gen->p->text[i] == '\n')
            gen->p->text[i] = ' ';
    gen_log_block(gen);
}

/* The last warps leave, or a few threads of any warp but no warp as a whole. Returns the number of threads
 * that the barriers still count. */
static unsigned some_exit(Gen *g, unsigned threads) {
    if (gen_chance(g, 50) && threads > 64) {
        unsigned left = 32 * gen_range(g, 2, threads / 32 - 1);
        OUT(g, "setp.ge.u32 %%c2, %%u0, %u;\n@%%c2 exit; // keep\n", left);
        return left;
    }
    OUT(g,
        "mul.lo.u32 %%u3, %%u0, 2654435769;\nshr.u32 %%u3, %%u3, 28;\nmov.u32 %%t1, %%laneid;\nadd.u32 %%u3, "
        "%%u3, %%t1;\n"
        "setp.eq.u32 %%c2, %%u3, %u;\n@%%c2 exit;\n",
        gen_range(g, 3, 40));
    return threads;
}

/* Items under flow that is the same for all threads of the block. Threads exit outside of loops and branches
 * only. */
static void uniform_flow(Gen *gen, unsigned *threads, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        unsigned r = gen_below(gen, 100), label = gen->nlabels++, counter = 8 + gen->depth;
        if (gen->depth < 2 && r < 10) {
            gen->depth++;
            OUT(gen, "mov.u32 %%u%u, %u;\nL%u:\n", counter, gen_range(gen, 1, 3), label);
            uniform_flow(gen, threads, gen_range(gen, 1, 3));
            OUT(gen, "sub.u32 %%u%u, %%u%u, 1;\nsetp.ne.u32 %%c1, %%u%u, 0;\n@%%c1 bra L%u;\n", counter,
                counter, counter, label);
            gen->depth--;
        } else if (gen->depth < 2 && r < 18) {
            gen->depth++;
            OUT(gen, "mov.u32 %%u3, %%ctaid.x;\nsetp.eq.u32 %%c0, %%u3, %u;\n@%%c0 bra L%u;\n",
                gen_below(gen, 2), label);
            uniform_flow(gen, threads, gen_range(gen, 1, 3));
            OUT(gen, "L%u:\n", label);
            gen->depth--;
        } else if (r < 48)
            divergent(gen, 2);
        else if (r < 56)
            data(gen, 1, 3);
        else if (r < 60 && !gen->depth)
            *threads = some_exit(gen, *threads);
        else
            communicate(gen, *threads);
    }
}

void gen_barriers(Gen *gen) {
    char slots[64];
    unsigned threads = gen->p->block[0] * gen->p->block[1];
    gen->has_areas = gen_chance(gen, 30);
    snprintf(slots, sizeof slots, ".shared .align 8 .b8 slots[%u];\n", 8 * threads);
    gen_module_head(gen);
    gen_kernel_head(gen, slots);
    OUT(gen, "mov.u32 %%u0, %%tid.x;\n");
    OUT(gen, "mov.u32 %%u2, slots;\nmad.lo.u32 %%u2, %%u0, 8, %%u2; mov.u64 %%x0, 0; st.shared.b64 [%%u2], "
             "%%x0; // keep\n");
    barrier(gen, 0, threads, true);
    uniform_flow(gen, &threads, gen_range(gen, 7, 14));
    gen_store_pools(gen);
}
