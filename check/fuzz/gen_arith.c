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
static Where address(Gen *g, const Area *area, unsigned bytes) {
    Where w;
    unsigned slots = area->size_bytes / bytes, at = bytes * gen_below(g, slots);
    if (slots < 4 || gen_chance(g, 60)) {
        snprintf(w.text, sizeof w.text, "[%s+%u]", area->base, at);
        return w;
    }
    unsigned mask = (slots / 2 - 1) * bytes;
    at = bytes * gen_below(g, slots / 2);
    OUT(g, "and.b32 %%t4, %%r%u, %u;\n", gen_src(g, POOL_R), mask & ~(bytes - 1));
    if (area == &areas[AREA_CONST])
        OUT(g, "mov.u64 %%x5, table;\ncvt.u64.u32 %%x4, %%t4;\nadd.s64 %%x4, %%x4, %%x5;\n");
    else if (area->wide)
        OUT(g, "cvt.u64.u32 %%x4, %%t4;\nadd.s64 %%x4, %%x4, %s;\n", area->base);
    else
        OUT(g, "add.u32 %%t4, %%t4, %s;\n", area->base);
    snprintf(w.text, sizeof w.text, "[%s+%u]", area->wide ? "%x4" : "%t4", at);
    return w;
}

static const PtxType access_types[] = {TY_B8,  TY_U8,  TY_S8,  TY_B16, TY_U16, TY_S16, TY_B32,
                                       TY_U32, TY_S32, TY_F32, TY_B64, TY_U64, TY_S64, TY_F64};

/* Registers of the vector: distinct where they are written. */
static void registers(Gen *gen, unsigned n, unsigned bytes, bool written) {
    GenPool pool = gen_pool_of(bytes);
    if (gen_chance(gen, 25) && pool < POOL_D)
        pool = (GenPool)gen_range(gen, pool + 1u, POOL_D);
    if (gen->npool[pool] < n)
        pool = POOL_R;
    unsigned first = gen_below(gen, gen->npool[pool]);
    OUT(gen, "%s", n > 1 ? "{" : "");
    for (unsigned k = 0; k < n; k++) {
        unsigned r = written ? (first + k) % gen->npool[pool] : gen_src(gen, pool);
        OUT(gen, "%s%%%c%u", k ? ", " : "", gen_letter(pool), r);
        if (written)
            gen->recent[pool] = r;
    }
    OUT(gen, "%s", n > 1 ? "}" : "");
}

static void load_store(Gen *gen) {
    static const char *const load_mods[] = {"",     "", "", ".ca", ".cg", ".cs", ".volatile", ".relaxed.cta",
                                            ".weak"};
    const Area *area = &areas[gen->has_areas ? gen_below(gen, NAREAS) : AREA_IN + gen_below(gen, 2)];
    bool load = !area->writable || gen_chance(gen, 50);
    PtxType t = access_types[gen_below(gen, sizeof access_types / sizeof *access_types)];
    unsigned bytes = ptx_type_bytes(t), n = gen_chance(gen, 70) ? 1 : gen_chance(gen, 50) ? 2 : 4;
    while (n * bytes > 16 || (gen->npool[POOL_R] < n || (n > 1 && bytes == 8 && gen->npool[POOL_D] < n)))
        n /= 2;
    /* the wider registers of a byte or half vector are 32-bit ones, of which there are enough */
    Where w = address(gen, area, n * bytes);
    const char *mod = load_mods[area == &areas[AREA_CONST] ? 0 : gen_below(gen, 9)];
    bool strong = mod[0] == '.' && (mod[1] == 'v' || mod[1] == 'r');
    if (area->space[0] == '.' && area->space[1] == 'l' && strong)
        mod = "";
    bool before = strong || mod[0] == 0 || mod[1] == 'w';
    gen_guard(gen);
    OUT(gen, "%s", load ? "ld" : "st");
    if (load && area == &areas[AREA_IN] && gen_chance(gen, 30))
        OUT(gen, ".global.nc");
    else if (!load && !before)
        OUT(gen, "%s", area->space);
    else
        OUT(gen, "%s%s%s", before ? mod : "", area->space, before ? "" : mod);
    OUT(gen, "%s.%s ", n == 1 ? "" : n == 2 ? ".v2" : ".v4", ptx_type_name(t));
    if (!load)
        OUT(gen, "%s, ", w.text);
    registers(gen, n, bytes, load);
    if (load)
        OUT(gen, ", %s", w.text);
    OUT(gen, ";\n");
}

/* Atomics on the thread's own bytes: nobody else is there, so that the order does not matter. */
static void gen_atomic(Gen *g) {
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
    const Area *area = &areas[gen_below(g, 5)];
    if (!area->atomics)
        area = &areas[0];
    unsigned k = gen_below(g, sizeof ops / sizeof *ops);
    GenPool pool = gen_pool_of(ops[k].bytes);
    Where w = address(g, area, ops[k].bytes);
    bool red = ops[k].sources == 1 && ops[k].op[0] != 'e' && gen_chance(g, 30);
    gen_guard(g);
    OUT(g, "%s%s.%s ", red ? "red" : "atom", area->space, ops[k].op);
    if (!red)
        OUT(g, "%%%c%u, ", gen_letter(pool), gen_dst(g, pool));
    OUT(g, "%s", w.text);
    for (unsigned s = 0; s < ops[k].sources; s++)
        OUT(g, ", %%%c%u", gen_letter(pool), gen_src(g, pool));
    OUT(g, ";\n");
}

void gen_memory_insn(Gen *gen) {
    if (gen->has_areas && gen_chance(gen, 12))
        gen_atomic(gen);
    else
        load_store(gen);
}

/* ---- moves of vectors ---- */
static void move_vector(Gen *gen) {
    static const struct { unsigned bytes, n; } shapes[] = {{4, 2}, {8, 2}, {8, 4}};
    unsigned k = gen_below(gen, 3), bytes = shapes[k].bytes, n = shapes[k].n;
    GenPool whole = gen_pool_of(bytes), part = gen_pool_of(bytes / n);
    if (gen->npool[part] < n)
        return;
    bool apart = gen_chance(gen, 50);
    gen_guard(gen);
    OUT(gen, "mov.b%u ", 8 * bytes);
    if (!apart)
        OUT(gen, "%%%c%u, ", gen_letter(whole), gen_dst(gen, whole));
    unsigned first = gen_below(gen, gen->npool[part]);
    OUT(gen, "{");
    for (unsigned i = 0; i < n; i++)
        OUT(gen, "%s%%%c%u", i ? ", " : "", gen_letter(part),
            apart ? (first + i) % gen->npool[part] : gen_src(gen, part));
    OUT(gen, "}");
    if (apart)
        OUT(gen, ", %%%c%u", gen_letter(whole), gen_src(gen, whole));
    OUT(gen, ";\n");
}

/* Copies only: parallel copies with cycles, where it stands in a loop. */
static void rotate(Gen *gen) {
    GenPool pool = (GenPool)gen_below(gen, 3);
    char c = gen_letter(pool);
    unsigned n = gen->npool[pool], a = gen_below(gen, n), b = (a + 1) % n, bits = 16u << pool;
    const char *scratch = pool == POOL_D ? "%x3" : "%t3";
    if (pool == POOL_H) { /* there is no 16-bit scratch register */
        OUT(gen, "cvt.u32.u16 %%t3, %%h%u; mov.b16 %%h%u, %%h%u; cvt.u16.u32 %%h%u, %%t3;\n", a, a, b, b);
        return;
    }
    OUT(gen, "mov.b%u %s, %%%c%u; mov.b%u %%%c%u, %%%c%u; ", bits, scratch, c, a, bits, c, a, c, b);
    if (n > 2 && gen_chance(gen, 50)) {
        unsigned d = (b + 1) % n;
        OUT(gen, "mov.b%u %%%c%u, %%%c%u; ", bits, c, b, c, d);
        b = d;
    }
    OUT(gen, "mov.b%u %%%c%u, %s;\n", bits, c, b, scratch);
}

/* A statement that was there before, on what its operands are now: common subexpressions, and what looks like
 * some. */
static bool repeat(Gen *gen) {
    unsigned n = gen->npast < 8 ? gen->npast : 8;
    if (!n)
        return false;
    unsigned k = gen_below(gen, n);
    char *copy = strndup(gen->p->text + gen->past[k].at, gen->past[k].size_bytes);
    if (!copy)
        abort();
    OUT(gen, "%s", copy);
    free(copy);
    return true;
}

void gen_data_insn(Gen *gen) {
    unsigned r = gen_below(gen, 100);
    size_t at = gen->p->size_bytes;
    if (r < 7 && repeat(gen))
        return;
    if (r < 20)
        gen_memory_insn(gen);
    else if (r < 24)
        move_vector(gen);
    else if (r < 26)
        rotate(gen);
    else
        gen_form_insn(gen);
    gen->past[gen->npast % 8].at = at;
    gen->past[gen->npast++ % 8].size_bytes = gen->p->size_bytes - at;
}

/* ---- hammocks ---- */
static void statements(Gen *gen, unsigned n);

static void hammock(Gen *gen, unsigned n) {
    unsigned other = gen->nlabels++, end = gen->nlabels++;
    bool has_else = gen_chance(gen, 50);
    gen->depth++;
    unsigned guard = gen_src(gen, POOL_P);
    OUT(gen, "@%s%%p%u bra L%u;\n", gen_chance(gen, 50) ? "!" : "", guard, has_else ? other : end);
    statements(gen, gen_range(gen, 1, n));
    if (has_else) {
        OUT(gen, "bra L%u;\nL%u:\n", end, other);
        statements(gen, gen_range(gen, 1, n));
    }
    OUT(gen, "L%u:\n", end);
    gen->depth--;
}

static void statements(Gen *gen, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (gen->depth < 3 && gen_chance(gen, 5))
            hammock(gen, 6);
        else if (gen_chance(gen, 1) && gen_chance(gen, 30))
            OUT(gen, "@%%p%u exit;\n", gen_src(gen, POOL_P));
        else
            gen_data_insn(gen);
    }
}

void gen_arith(Gen *gen) {
    gen->slow_ops = gen_chance(gen, 12);
    gen->has_areas = gen_chance(gen, 70);
    gen_module_head(gen);
    gen_kernel_head(gen, "");
    statements(gen, gen_chance(gen, 85) ? gen_range(gen, 4, 40) : gen_range(gen, 40, 150));
    gen_store_pools(gen);
}
