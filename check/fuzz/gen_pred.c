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
static void gen_compare(Gen *gen) {
    static const struct {
        const char *type;
        GenPool pool;
        bool is_float;
    } types[] = {{"s32", POOL_R, false}, {"u32", POOL_R, false}, {"s64", POOL_D, false},
                 {"u16", POOL_H, false}, {"f32", POOL_R, true},  {"f64", POOL_D, true},
                 {"f32", POOL_R, true}};
    static const char *const combine[] = {"and", "or", "xor"};
    unsigned k = gen_below(gen, 7), n = gen->npool[POOL_P];
    unsigned with = gen_src(gen, POOL_P), first = gen_dst(gen, POOL_P),
             second = (first + 1 + gen_below(gen, n - 1)) % n;
    bool three = gen_chance(gen, 40), two = gen_chance(gen, 40);
    char letter = gen_letter(types[k].pool);
    unsigned a = gen_src(gen, types[k].pool), b = gen_src(gen, types[k].pool);
    gen_guard(gen);
    bool ftz = types[k].is_float && types[k].pool == POOL_R && gen_chance(gen, 20);
    const char *with_op = three ? combine[gen_below(gen, 3)] : "";
    OUT(gen, "setp.%s%s%s%s.%s %%p%u", any_compare(gen, types[k].is_float), three ? "." : "", with_op,
        ftz ? ".ftz" : "", types[k].type, first);
    if (two)
        OUT(gen, "|%%p%u", second);
    OUT(gen, ", %%%c%u, %%%c%u", letter, a, letter, gen_chance(gen, 10) ? a : b);
    if (three)
        OUT(gen, ", %s%%p%u", gen_chance(gen, 40) ? "!" : "", with);
    OUT(gen, ";\n");
}

static void predicate_logic(Gen *g) {
    static const char *const ops[] = {"and", "or", "xor"};
    unsigned a = gen_src(g, POOL_P), b = gen_src(g, POOL_P);
    gen_guard(g);
    if (gen_chance(g, 25))
        OUT(g, "not.pred %%p%u, %%p%u;\n", gen_dst(g, POOL_P), a);
    else if (gen_chance(g, 20))
        OUT(g, "mov.pred %%p%u, %%p%u;\n", gen_dst(g, POOL_P), a);
    else {
        unsigned to = gen_dst(g, POOL_P);
        OUT(g, "%s.pred %%p%u, %%p%u, %%p%u;\n", ops[gen_below(g, 3)], to, a, b);
    }
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
        gen_compare(g);
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
static void list(Pred *pred, unsigned n);

static void leave_region(Pred *pred) {
    Gen *g = pred->g;
    unsigned p = gen_src(g, POOL_P);
    const char *no = gen_chance(g, 50) ? "!" : "";
    if (pred->out && gen_chance(g, 60)) {
        OUT(g, "@%s%%p%u bra L%u;\n", no, p, pred->out);
        return;
    }
    /* few lanes: two comparisons must agree */
    OUT(g, "and.b32 %%t0, %%r%u, 0x38;\nsetp.eq.and.u32 %%c0, %%t0, 8, %s%%p%u;\n", gen_src(g, POOL_R), no,
        p);
    OUT(g, "@%%c0 st.global.b32 [%%go+%d], %%lc;\n@%%c0 %s;\n", GEN_LOG_OFFSET - 8,
        gen_chance(g, 60) ? "exit" : "ret");
}

static void hammock(Pred *pred) {
    Gen *gen = pred->g;
    unsigned other = gen->nlabels++, end = gen->nlabels++, out = pred->out;
    unsigned p = gen_src(gen, POOL_P), kind = gen_below(gen, 100);
    const char *no = gen_chance(gen, 50) ? "!" : "";
    gen->depth++;
    if (gen_chance(gen, 60))
        gen_compare(gen), p = gen->recent[POOL_P];
    if (!out)
        pred->out = end;
    OUT(gen, "@%s%%p%u bra%s L%u;\n", no, p, "", other);
    if (kind < 45) { /* one side */
        list(pred, gen_range(gen, 1, 4));
        OUT(gen, "L%u:\n", other);
    } else if (kind < 90) {
        list(pred, gen_range(gen, 1, 4));
        OUT(gen, "bra L%u;\nL%u:\n", end, other);
        list(pred, gen_range(gen, 1, 4));
    } else { /* nothing on one side, or on both */
        OUT(gen, "bra L%u;\nL%u:\n", end, other);
        if (gen_chance(gen, 60))
            list(pred, 1);
    }
    OUT(gen, "L%u:\n", end);
    pred->out = out;
    gen->depth--;
}

/* Cases by comparisons, each a hammock. */
static void cases(Pred *pred) {
    Gen *gen = pred->g;
    unsigned n = gen_range(gen, 2, 4), first = gen->nlabels, out = pred->out;
    gen->nlabels += n + 1;
    pred->out = first + n;
    gen->depth++;
    OUT(gen, "and.b32 %%u3, %%r%u, 3;\n", gen_src(gen, POOL_R));
    for (unsigned k = 0; k < n; k++) {
        OUT(gen, "setp.ne.u32 %%c1, %%u3, %u;\n@%%c1 bra L%u;\n", k, first + k);
        list(pred, gen_range(gen, 1, 2));
        if (gen_chance(gen, 70))
            OUT(gen, "bra L%u;\n", first + n);
        OUT(gen, "L%u:\n", first + k);
    }
    OUT(gen, "L%u:\n", first + n);
    pred->out = out;
    gen->depth--;
}

static void loop(Pred *pred) {
    Gen *gen = pred->g;
    unsigned top = gen->nlabels++, counter = 8 + gen->depth, out = pred->out;
    pred->out = 0;
    gen->depth++;
    OUT(gen, "and.b32 %%u%u, %%id, %u;\nL%u:\n", counter, gen_range(gen, 1, 3), top);
    list(pred, gen_range(gen, 1, 3));
    OUT(gen, "setp.eq.u32 %%c2, %%u%u, 0;\nsub.u32 %%u%u, %%u%u, 1;\n@!%%c2 bra L%u;\n", counter, counter,
        counter, top);
    gen->depth--;
    pred->out = out;
}

static void list(Pred *pred, unsigned n) {
    Gen *gen = pred->g;
    for (; n; n--) {
        unsigned r = gen_below(gen, 100);
        if (pred->budget)
            pred->budget--;
        if (pred->budget && gen->depth < 4 && r < 30)
            hammock(pred);
        else if (pred->budget && gen->depth < 2 && r < 34)
            cases(pred);
        else if (pred->budget && gen->depth < 2 && r < 37)
            loop(pred);
        else if (r < 41)
            leave_region(pred);
        else if (r < 48)
            gen_log_block(gen);
        else
            statement(gen);
    }
}

void gen_predication(Gen *gen) {
    Pred x = {.g = gen, .budget = gen_range(gen, 20, 90)};
    gen->slow_ops = gen_chance(gen, 8);
    gen->has_areas = gen_chance(gen, 80);
    gen->guard_percent = gen_chance(gen, 60) ? 20 : 45;
    gen->nlabels = 1;
    gen_module_head(gen);
    gen_kernel_head(gen, "");
    while (x.budget)
        list(&x, 1);
    gen_store_pools(gen);
}
