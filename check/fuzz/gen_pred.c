/* Random code for predicated lowering: hammocks with side effects, nested ones, guards inside, exits and
 * jumps out of them, and the comparisons that make their predicates, NaN among the operands.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/gen_internal.h"

typedef struct {
    Gen *g;
    unsigned budget;
    unsigned out; /* label behind the outermost hammock: lanes may leave for it; 0: none */
} Pred;

/* ---- predicates ---- */
static const char *any_compare(Gen *g, bool is_float) {
    static const char *const ordered[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const unordered[] = {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    return is_float && gen_chance(g, 60) ? unordered[gen_below(g, 8)] : ordered[gen_below(g, 6)];
}

/* One or two results, with a third predicate, of integers or floats; guarded at times. */
static void compare(Gen *g) {
    static const struct {
        const char *type;
        GenPool pool;
        bool is_float;
    } types[] = {{"s32", POOL_R, false}, {"u32", POOL_R, false}, {"s64", POOL_D, false},
                 {"u16", POOL_H, false}, {"f32", POOL_R, true},  {"f64", POOL_D, true},
                 {"f32", POOL_R, true}};
    static const char *const combine[] = {"and", "or", "xor"};
    unsigned k = gen_below(g, 7), n = g->npool[POOL_P];
    unsigned with = gen_src(g, POOL_P), first = gen_dst(g, POOL_P),
             second = (first + 1 + gen_below(g, n - 1)) % n;
    bool three = gen_chance(g, 40), two = gen_chance(g, 40);
    char letter = gen_letter(types[k].pool);
    unsigned a = gen_src(g, types[k].pool), b = gen_src(g, types[k].pool);
    gen_guard(g);
    OUT(g, "setp.%s%s%s%s.%s %%p%u", any_compare(g, types[k].is_float), three ? "." : "",
        three ? combine[gen_below(g, 3)] : "",
        types[k].is_float && types[k].pool == POOL_R && gen_chance(g, 20) ? ".ftz" : "", types[k].type,
        first);
    if (two)
        OUT(g, "|%%p%u", second);
    OUT(g, ", %%%c%u, %%%c%u", letter, a, letter, gen_chance(g, 10) ? a : b);
    if (three)
        OUT(g, ", %s%%p%u", gen_chance(g, 40) ? "!" : "", with);
    OUT(g, ";\n");
}

static void predicate_logic(Gen *g) {
    static const char *const ops[] = {"and", "or", "xor"};
    unsigned a = gen_src(g, POOL_P), b = gen_src(g, POOL_P);
    gen_guard(g);
    if (gen_chance(g, 25))
        OUT(g, "not.pred %%p%u, %%p%u;\n", gen_dst(g, POOL_P), a);
    else if (gen_chance(g, 20))
        OUT(g, "mov.pred %%p%u, %%p%u;\n", gen_dst(g, POOL_P), a);
    else
        OUT(g, "%s.pred %%p%u, %%p%u, %%p%u;\n", ops[gen_below(g, 3)], gen_dst(g, POOL_P), a, b);
}

static void select(Gen *g) {
    GenPool pool = gen_chance(g, 70) ? POOL_R : POOL_D;
    unsigned a = gen_src(g, pool), b = gen_src(g, pool), p = gen_src(g, POOL_P);
    char c = gen_letter(pool);
    gen_guard(g);
    OUT(g, "selp.b%u %%%c%u, %%%c%u, %%%c%u, %%p%u;\n", 16u << pool, c, gen_dst(g, pool), c, a, c, b, p);
}

static void statement(Gen *g) {
    unsigned r = gen_below(g, 100);
    if (r < 15)
        compare(g);
    else if (r < 20)
        predicate_logic(g);
    else if (r < 30)
        select(g);
    else if (r < 60)
        gen_memory_insn(g);
    else
        gen_data_insn(g);
}

/* ---- hammocks ---- */
static void list(Pred *x, unsigned n);

static void leave(Pred *x) {
    Gen *g = x->g;
    unsigned p = gen_src(g, POOL_P);
    const char *no = gen_chance(g, 50) ? "!" : "";
    if (x->out && gen_chance(g, 60)) {
        OUT(g, "@%s%%p%u bra L%u;\n", no, p, x->out);
        return;
    }
    /* few lanes: two comparisons must agree */
    OUT(g, "and.b32 %%t0, %%r%u, 0x38;\nsetp.eq.and.u32 %%c0, %%t0, 8, %s%%p%u;\n", gen_src(g, POOL_R), no,
        p);
    OUT(g, "@%%c0 st.global.b32 [%%go+%d], %%lc;\n@%%c0 %s;\n", GEN_LOG_OFFSET - 8,
        gen_chance(g, 60) ? "exit" : "ret");
}

static void hammock(Pred *x) {
    Gen *g = x->g;
    unsigned other = g->nlabels++, end = g->nlabels++, out = x->out;
    unsigned p = gen_src(g, POOL_P), kind = gen_below(g, 100);
    const char *no = gen_chance(g, 50) ? "!" : "";
    g->depth++;
    if (gen_chance(g, 60))
        compare(g), p = g->recent[POOL_P];
    if (!out)
        x->out = end;
    OUT(g, "@%s%%p%u bra%s L%u;\n", no, p, "", other);
    if (kind < 45) { /* one side */
        list(x, gen_range(g, 1, 4));
        OUT(g, "L%u:\n", other);
    } else if (kind < 90) {
        list(x, gen_range(g, 1, 4));
        OUT(g, "bra L%u;\nL%u:\n", end, other);
        list(x, gen_range(g, 1, 4));
    } else { /* nothing on one side, or on both */
        OUT(g, "bra L%u;\nL%u:\n", end, other);
        if (gen_chance(g, 60))
            list(x, 1);
    }
    OUT(g, "L%u:\n", end);
    x->out = out;
    g->depth--;
}

/* Cases by comparisons, each a hammock. */
static void cases(Pred *x) {
    Gen *g = x->g;
    unsigned n = gen_range(g, 2, 4), first = g->nlabels, out = x->out;
    g->nlabels += n + 1;
    x->out = first + n;
    g->depth++;
    OUT(g, "and.b32 %%u3, %%r%u, 3;\n", gen_src(g, POOL_R));
    for (unsigned k = 0; k < n; k++) {
        OUT(g, "setp.ne.u32 %%c1, %%u3, %u;\n@%%c1 bra L%u;\n", k, first + k);
        list(x, gen_range(g, 1, 2));
        if (gen_chance(g, 70))
            OUT(g, "bra L%u;\n", first + n);
        OUT(g, "L%u:\n", first + k);
    }
    OUT(g, "L%u:\n", first + n);
    x->out = out;
    g->depth--;
}

static void loop(Pred *x) {
    Gen *g = x->g;
    unsigned top = g->nlabels++, counter = 8 + g->depth, out = x->out;
    x->out = 0;
    g->depth++;
    OUT(g, "and.b32 %%u%u, %%id, %u;\nL%u:\n", counter, gen_range(g, 1, 3), top);
    list(x, gen_range(g, 1, 3));
    OUT(g, "setp.eq.u32 %%c2, %%u%u, 0;\nsub.u32 %%u%u, %%u%u, 1;\n@!%%c2 bra L%u;\n", counter, counter,
        counter, top);
    g->depth--;
    x->out = out;
}

static void list(Pred *x, unsigned n) {
    Gen *g = x->g;
    for (; n; n--) {
        unsigned r = gen_below(g, 100);
        if (x->budget)
            x->budget--;
        if (x->budget && g->depth < 4 && r < 30)
            hammock(x);
        else if (x->budget && g->depth < 2 && r < 34)
            cases(x);
        else if (x->budget && g->depth < 2 && r < 37)
            loop(x);
        else if (r < 41)
            leave(x);
        else if (r < 48)
            gen_log_block(g);
        else
            statement(g);
    }
}

void gen_predication(Gen *g) {
    Pred x = {.g = g, .budget = gen_range(g, 20, 90)};
    g->slow_ops = gen_chance(g, 8);
    g->has_areas = gen_chance(g, 80);
    g->guard_percent = gen_chance(g, 60) ? 20 : 45;
    g->nlabels = 1;
    gen_module_head(g);
    gen_kernel_head(g, "");
    while (x.budget)
        list(&x, 1);
    gen_store_pools(g);
}
