/* Random straight-line code with predicated and branching hammocks: finds wrong code in selection, folding,
 * allocation and scheduling. Also the loads, stores and vector moves that the other kinds use.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/gen_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */
typedef struct {
    const char *space; /* ".global" */
    const char *base;  /* address register */
    bool wide;         /* its size is 64 bits */
    bool writable, atomics;
    unsigned size_bytes; /* of the area */
} Area;

static const Area areas[] = {{".global", "%go", true, true, true, GEN_AREA_BYTES},
                             {".shared", "%sb", false, true, true, GEN_AREA_BYTES},
                             {".local", "%lb", false, true, false, GEN_AREA_BYTES},
                             {"", "%ga0", true, true, true, GEN_AREA_BYTES},
                             {"", "%ga1", true, true, true, GEN_AREA_BYTES},
                             {"", "%ga2", true, true, false, GEN_AREA_BYTES},
                             {".global", "%gi", true, false, false, GEN_IN_BYTES},
                             {".const", "table", true, false, false, 64}};
enum { NAREAS = sizeof areas / sizeof *areas, AREA_CONST = NAREAS - 1, AREA_IN = NAREAS - 2 };

typedef struct {
    char text[40]; /* [%x5+12] */
} Where;

/* An aligned address of `bytes` bytes in the area: constant offset, or one that depends on a value. */
static Where address(Gen *g, const Area *a, unsigned bytes) {
    Where w;
    unsigned slots = a->size_bytes / bytes, at = bytes * gen_below(g, slots);
    if (slots < 4 || gen_chance(g, 60)) {
        snprintf(w.text, sizeof w.text, "[%s+%u]", a->base, at);
        return w;
    }
    unsigned mask = (slots / 2 - 1) * bytes;
    at = bytes * gen_below(g, slots / 2);
    OUT(g, "and.b32 %%t4, %%r%u, %u;\n", gen_src(g, POOL_R), mask & ~(bytes - 1));
    if (a == &areas[AREA_CONST])
        OUT(g, "mov.u64 %%x5, table;\ncvt.u64.u32 %%x4, %%t4;\nadd.s64 %%x4, %%x4, %%x5;\n");
    else if (a->wide)
        OUT(g, "cvt.u64.u32 %%x4, %%t4;\nadd.s64 %%x4, %%x4, %s;\n", a->base);
    else
        OUT(g, "add.u32 %%t4, %%t4, %s;\n", a->base);
    snprintf(w.text, sizeof w.text, "[%s+%u]", a->wide ? "%x4" : "%t4", at);
    return w;
}

static const PtxType access_types[] = {TY_B8,  TY_U8,  TY_S8,  TY_B16, TY_U16, TY_S16, TY_B32,
                                       TY_U32, TY_S32, TY_F32, TY_B64, TY_U64, TY_S64, TY_F64};

/* Registers of the vector: distinct where they are written. */
static void registers(Gen *g, unsigned n, unsigned bytes, bool written) {
    GenPool pool = gen_pool_of(bytes);
    if (gen_chance(g, 25) && pool < POOL_D)
        pool = (GenPool)gen_range(g, pool + 1u, POOL_D);
    if (g->npool[pool] < n)
        pool = POOL_R;
    unsigned first = gen_below(g, g->npool[pool]);
    OUT(g, "%s", n > 1 ? "{" : "");
    for (unsigned k = 0; k < n; k++) {
        unsigned r = written ? (first + k) % g->npool[pool] : gen_src(g, pool);
        OUT(g, "%s%%%c%u", k ? ", " : "", gen_letter(pool), r);
        if (written)
            g->recent[pool] = r;
    }
    OUT(g, "%s", n > 1 ? "}" : "");
}

static void load_store(Gen *g) {
    static const char *const load_mods[] = {"",     "", "", ".ca", ".cg", ".cs", ".volatile", ".relaxed.cta",
                                            ".weak"};
    const Area *a = &areas[g->has_areas ? gen_below(g, NAREAS) : AREA_IN + gen_below(g, 2)];
    bool load = !a->writable || gen_chance(g, 50);
    PtxType t = access_types[gen_below(g, sizeof access_types / sizeof *access_types)];
    unsigned bytes = ptx_type_bytes(t), n = gen_chance(g, 70) ? 1 : gen_chance(g, 50) ? 2 : 4;
    while (n * bytes > 16 || (g->npool[POOL_R] < n || (n > 1 && bytes == 8 && g->npool[POOL_D] < n)))
        n /= 2;
    /* the wider registers of a byte or half vector are 32-bit ones, of which there are enough */
    Where w = address(g, a, n * bytes);
    const char *mod = load_mods[a == &areas[AREA_CONST] ? 0 : gen_below(g, 9)];
    bool strong = mod[0] == '.' && (mod[1] == 'v' || mod[1] == 'r');
    if (a->space[0] == '.' && a->space[1] == 'l' && strong)
        mod = "";
    bool before = strong || mod[0] == 0 || mod[1] == 'w';
    gen_guard(g);
    OUT(g, "%s", load ? "ld" : "st");
    if (load && a == &areas[AREA_IN] && gen_chance(g, 30))
        OUT(g, ".global.nc");
    else if (!load && !before)
        OUT(g, "%s", a->space);
    else
        OUT(g, "%s%s%s", before ? mod : "", a->space, before ? "" : mod);
    OUT(g, "%s.%s ", n == 1 ? "" : n == 2 ? ".v2" : ".v4", ptx_type_name(t));
    if (!load)
        OUT(g, "%s, ", w.text);
    registers(g, n, bytes, load);
    if (load)
        OUT(g, ", %s", w.text);
    OUT(g, ";\n");
}

/* Atomics on the thread's own bytes: nobody else is there, so that the order does not matter. */
static void atomic(Gen *g) {
    static const struct {
        const char *op;
        unsigned bytes, sources;
    } ops[] = {{"add.u32", 4, 1}, {"add.s32", 4, 1},        {"add.u64", 8, 1},  {"add.f32", 4, 1},
               {"add.f64", 8, 1}, {"exch.b32", 4, 1},       {"exch.b64", 8, 1}, {"cas.b32", 4, 2},
               {"cas.b64", 8, 2}, {"inc.u32", 4, 1},        {"dec.u32", 4, 1},  {"min.u32", 4, 1},
               {"max.u32", 4, 1}, {"min.s32", 4, 1},        {"max.s32", 4, 1},  {"min.s64", 8, 1},
               {"max.u64", 8, 1}, {"and.b32", 4, 1},        {"or.b32", 4, 1},   {"xor.b32", 4, 1},
               {"and.b64", 8, 1}, {"xor.b64", 8, 1},        {"or.b64", 8, 1},   {"min.u64", 8, 1},
               {"max.s64", 8, 1}, {"add.noftz.f16x2", 4, 1}};
    const Area *a = &areas[gen_below(g, 5)];
    if (!a->atomics)
        a = &areas[0];
    unsigned k = gen_below(g, sizeof ops / sizeof *ops);
    GenPool pool = gen_pool_of(ops[k].bytes);
    Where w = address(g, a, ops[k].bytes);
    bool red = ops[k].sources == 1 && ops[k].op[0] != 'e' && gen_chance(g, 30);
    gen_guard(g);
    OUT(g, "%s%s.%s ", red ? "red" : "atom", a->space, ops[k].op);
    if (!red)
        OUT(g, "%%%c%u, ", gen_letter(pool), gen_dst(g, pool));
    OUT(g, "%s", w.text);
    for (unsigned s = 0; s < ops[k].sources; s++)
        OUT(g, ", %%%c%u", gen_letter(pool), gen_src(g, pool));
    OUT(g, ";\n");
}

void gen_memory_insn(Gen *g) {
    if (g->has_areas && gen_chance(g, 12))
        atomic(g);
    else
        load_store(g);
}

/* ---- moves of vectors ---- */
static void move_vector(Gen *g) {
    static const struct { unsigned bytes, n; } shapes[] = {{4, 2}, {8, 2}, {8, 4}};
    unsigned k = gen_below(g, 3), bytes = shapes[k].bytes, n = shapes[k].n;
    GenPool whole = gen_pool_of(bytes), part = gen_pool_of(bytes / n);
    if (g->npool[part] < n)
        return;
    bool apart = gen_chance(g, 50);
    gen_guard(g);
    OUT(g, "mov.b%u ", 8 * bytes);
    if (!apart)
        OUT(g, "%%%c%u, ", gen_letter(whole), gen_dst(g, whole));
    unsigned first = gen_below(g, g->npool[part]);
    OUT(g, "{");
    for (unsigned i = 0; i < n; i++)
        OUT(g, "%s%%%c%u", i ? ", " : "", gen_letter(part),
            apart ? (first + i) % g->npool[part] : gen_src(g, part));
    OUT(g, "}");
    if (apart)
        OUT(g, ", %%%c%u", gen_letter(whole), gen_src(g, whole));
    OUT(g, ";\n");
}

/* Copies only: parallel copies with cycles, where it stands in a loop. */
static void rotate(Gen *g) {
    GenPool pool = (GenPool)gen_below(g, 3);
    char c = gen_letter(pool);
    unsigned n = g->npool[pool], a = gen_below(g, n), b = (a + 1) % n, bits = 16u << pool;
    const char *scratch = pool == POOL_D ? "%x3" : "%t3";
    if (pool == POOL_H) { /* there is no 16-bit scratch register */
        OUT(g, "cvt.u32.u16 %%t3, %%h%u; mov.b16 %%h%u, %%h%u; cvt.u16.u32 %%h%u, %%t3;\n", a, a, b, b);
        return;
    }
    OUT(g, "mov.b%u %s, %%%c%u; mov.b%u %%%c%u, %%%c%u; ", bits, scratch, c, a, bits, c, a, c, b);
    if (n > 2 && gen_chance(g, 50)) {
        unsigned d = (b + 1) % n;
        OUT(g, "mov.b%u %%%c%u, %%%c%u; ", bits, c, b, c, d);
        b = d;
    }
    OUT(g, "mov.b%u %%%c%u, %s;\n", bits, c, b, scratch);
}

/* A statement that was there before, on what its operands are now: common subexpressions, and what looks like
 * some. */
static bool repeat(Gen *g) {
    unsigned n = g->npast < 8 ? g->npast : 8;
    if (!n)
        return false;
    unsigned k = gen_below(g, n);
    char *copy = strndup(g->p->text + g->past[k].at, g->past[k].size_bytes);
    if (!copy)
        abort();
    OUT(g, "%s", copy);
    free(copy);
    return true;
}

void gen_data_insn(Gen *g) {
    unsigned r = gen_below(g, 100);
    size_t at = g->p->size_bytes;
    if (r < 7 && repeat(g))
        return;
    if (r < 20)
        gen_memory_insn(g);
    else if (r < 24)
        move_vector(g);
    else if (r < 26)
        rotate(g);
    else
        gen_form_insn(g);
    g->past[g->npast % 8].at = at;
    g->past[g->npast++ % 8].size_bytes = g->p->size_bytes - at;
}

/* ---- hammocks ---- */
static void statements(Gen *g, unsigned n);

static void hammock(Gen *g, unsigned n) {
    unsigned other = g->nlabels++, end = g->nlabels++;
    bool has_else = gen_chance(g, 50);
    g->depth++;
    OUT(g, "@%s%%p%u bra L%u;\n", gen_chance(g, 50) ? "!" : "", gen_src(g, POOL_P), has_else ? other : end);
    statements(g, gen_range(g, 1, n));
    if (has_else) {
        OUT(g, "bra L%u;\nL%u:\n", end, other);
        statements(g, gen_range(g, 1, n));
    }
    OUT(g, "L%u:\n", end);
    g->depth--;
}

static void statements(Gen *g, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (g->depth < 3 && gen_chance(g, 5))
            hammock(g, 6);
        else if (gen_chance(g, 1) && gen_chance(g, 30))
            OUT(g, "@%%p%u exit;\n", gen_src(g, POOL_P));
        else
            gen_data_insn(g);
    }
}

void gen_arith(Gen *g) {
    g->slow_ops = gen_chance(g, 12);
    g->has_areas = gen_chance(g, 70);
    gen_module_head(g);
    gen_kernel_head(g, "");
    statements(g, gen_chance(g, 85) ? gen_range(g, 4, 40) : gen_range(g, 40, 150));
    gen_store_pools(g);
}
