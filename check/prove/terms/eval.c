/* Terms: concrete values, and text. Written from the meaning of the operations, without the constructors, so
 * that it can judge their rewriting.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/scope.h"
#include "check/prove/terms/term_internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct TermEval {
    uint64_t seed;
    uint32_t n;
    uint64_t *value;
    bool *known;
};

TermEval *term_eval_new(const Terms *ts, uint64_t seed) {
    TermEval *e = mem_alloc(sizeof *e);
    *e = (TermEval){.seed = seed,
                    .n = ts->next_id,
                    .value = mem_zeroed(ts->next_id, 8),
                    .known = mem_zeroed(ts->next_id, 1)};
    return e;
}
void term_eval_free(TermEval *eval) {
    if (!eval)
        return;
    mem_free(eval->value);
    mem_free(eval->known);
    mem_free(eval);
}
void term_eval_set(TermEval *eval, const Term *var, uint64_t value) {
    if (var->kind == TK_ITE) /* a predicate variable's diagram */
        var = var->a[0];
    eval->value[var->id] = value;
    eval->known[var->id] = true;
}

static uint64_t hash2(uint64_t a, uint64_t b) { return rng_mix(a * RNG_STEP + rng_mix(b + 1)); }
static uint64_t hash_text(const char *s) {
    uint64_t h = 17;
    for (; s && *s; s++)
        h = hash2(h, (unsigned char)*s);
    return h;
}

/* Small, extreme and random values alike. */
static uint64_t interesting(uint64_t h) {
    static const uint64_t special[] = {0,           1,  2,  ~0ull, 0x80000000u, 0x7fffffffu,
                                       0xffffffffu, 31, 32, 33,    0x3f800000u, 0x7fc00000u};
    switch (h & 3) {
    case 0: return special[(h >> 8) % (sizeof special / sizeof *special)];
    case 1: return h >> 8 & 0x3f;
    default: return rng_mix(h);
    }
}

static double half_value(uint32_t bits) { /* f16 */
    int exponent = (int)(bits >> 10 & 31);
    double fraction = bits & 0x3ff, magnitude = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                                : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                                               : ldexp(fraction, -24);
    return bits >> 15 & 1 ? -magnitude : magnitude;
}

static int compare_floats(uint64_t bits, uint64_t x,
                          uint64_t y) { /* 1 less, 2 equal, 4 greater, 8 unordered */
    double a, b;
    bool ftz = bits & 256;
    bits &= 255;
    if (ftz && bits == 32) {
        x = x & 0x7f800000 ? x : x & 0x80000000;
        y = y & 0x7f800000 ? y : y & 0x80000000;
    }
    if (ftz && bits == 16) {
        x = x & 0x7c00 ? x : x & 0x8000;
        y = y & 0x7c00 ? y : y & 0x8000;
    }
    if (bits == 64) {
        memcpy(&a, &x, 8);
        memcpy(&b, &y, 8);
    } else if (bits == 32) {
        float f, g;
        uint32_t xw = (uint32_t)x, yw = (uint32_t)y;
        memcpy(&f, &xw, 4);
        memcpy(&g, &yw, 4);
        a = f;
        b = g;
    } else {
        a = half_value((uint32_t)x);
        b = half_value((uint32_t)y);
    }
    return isunordered(a, b) ? 8 : a < b ? 1 : a == b ? 2 : 4;
}

static uint32_t pick_byte(uint64_t bytes, uint32_t s) {
    uint32_t b = (uint32_t)(bytes >> (s & 7) * 8) & 255;
    return s & 8 ? (b & 128 ? 255 : 0) : b;
}

/* One byte of memory: what the last event stored there, or what was there before. */
static uint8_t byte_at(TermEval *e, const Term *mem, uint64_t addr) {
    for (; mem->kind == TK_EVENT; mem = mem->a[0]) {
        if (!term_eval(e, mem->a[1]))
            continue;
        if (mem->op != EV_STORE)
            break;
        uint64_t d = (addr - term_eval(e, mem->a[2])) & term_mask(mem->a[2]->width);
        if (d < (mem->k & 255))
            return (uint8_t)(term_eval(e, mem->a[3]) >> 8 * d);
    }
    return (uint8_t)hash2(term_eval(e, mem), addr);
}

/* A difference must not hang on what uninterpreted operations could do. */
bool term_float_op(const char *name, unsigned width, const uint64_t v[3], uint64_t *out) {
    static const char *const names[] = {"fadd.0", "fmul.0", "ffma.0", "dadd.0", "dmul.0", "dfma.0"};
    for (unsigned k = 0; k < 6; k++) {
        if (strcmp(name, names[k]) != 0)
            continue;
        if (width == 32) {
            float x[3], r;
            for (unsigned i = 0; i < 3; i++) {
                uint32_t w = (uint32_t)v[i];
                memcpy(&x[i], &w, 4);
            }
            r = k == 0 ? x[0] + x[1] : k == 1 ? x[0] * x[1] : fmaf(x[0], x[1], x[2]);
            uint32_t w = 0x7fffffff;
            if (!isnan(r))
                memcpy(&w, &r, 4);
            *out = w;
        } else {
            double x[3], r;
            memcpy(x, v, sizeof x);
            r = k == 3 ? x[0] + x[1] : k == 4 ? x[0] * x[1] : fma(x[0], x[1], x[2]);
            *out = 0x7fffffffffffffff;
            if (!isnan(r))
                memcpy(out, &r, 8);
        }
        return true;
    }
    return false;
}

static uint64_t eval_app(TermEval *e, const Term *term) {
    uint64_t v[3] = {0};
    if (term->op == TO_READ) {
        uint64_t addr = term_eval(e, term->a[1]), r = 0;
        for (unsigned i = 0; i < (term->k & 255); i++)
            r |= (uint64_t)byte_at(e, term->a[0], addr + i) << 8 * i;
        return r;
    }
    for (uint32_t i = 0; i < term->n && i < 3; i++)
        v[i] = term_eval(e, term->a[i]);
    uint32_t x = (uint32_t)v[0], n = v[1] > 64 ? 64 : (uint32_t)v[1];
    switch ((TermOp)term->op) {
    case TO_MUL: return v[0] * v[1];
    case TO_SHL: return n > 31 ? 0 : x << n;
    case TO_LSHR: return n > 31 ? 0 : x >> n;
    case TO_ASHR: return (uint32_t)((int32_t)x >> (n > 31 ? 31 : n));
    case TO_SHL64: return n > 63 ? 0 : v[0] << n;
    case TO_LSHR64: return n > 63 ? 0 : v[0] >> n;
    case TO_ASHR64: return (uint64_t)((int64_t)v[0] >> (n > 63 ? 63 : n));
    case TO_EQZ: return v[0] == 0;
    case TO_ULT: return x < (uint32_t)v[1];
    case TO_SLT: return (int32_t)x < (int32_t)(uint32_t)v[1];
    case TO_FLT: return compare_floats(term->k, v[0], v[1]) == 1;
    case TO_FEQ: return compare_floats(term->k, v[0], v[1]) == 2;
    case TO_FGT: return compare_floats(term->k, v[0], v[1]) == 4;
    case TO_POPC: return (uint64_t)__builtin_popcount(x);
    case TO_BREV: {
        uint32_t r = 0;
        for (unsigned i = 0; i < 32; i++)
            r |= (x >> i & 1) << (31 - i);
        return r;
    }
    case TO_FLO: return x ? 31 - (uint32_t)__builtin_clz(x) : UINT32_MAX;
    case TO_PRMT: {
        uint64_t bytes = x | v[1] << 32;
        uint32_t s = (uint32_t)v[2], r = 0;
        for (unsigned i = 0; i < 4; i++)
            r |= pick_byte(bytes, s >> 4 * i & 15) << 8 * i;
        return r;
    }
    default: break;
    }
    uint64_t exact;
    if (term->op == TO_UF && term->name && term_float_op(term->name, term->width, v, &exact))
        return exact;
    uint64_t h = hash2(hash_text(term->name), term->k + term->op);
    for (uint32_t i = 0; i < term->n; i++)
        h = hash2(h, term_eval(e, term->a[i]));
    if (term->op == TO_UF && term->k && term->k < 32 && term->name && term->name[0] == '#')
        h &= (1u << term->k) - 1;
    return h;
}

static uint64_t compute(TermEval *eval, const Term *term) {
    uint64_t r = term->k;
    switch ((TermKind)term->kind) {
    case TK_CONST: return term->k;
    case TK_VAR:
        r = interesting(hash2(eval->seed, hash2(hash_text(term->name), term->k)));
        return term->name[0] == '#' ? r & 0xffff : r;
    case TK_ITE: return term_eval(eval, term->a[term_eval(eval, term->a[0]) ? 1 : 2]);
    case TK_APP: return eval_app(eval, term);
    case TK_SUM:
        for (uint32_t i = 0; i < term->n; i++)
            r += term->c[i] * term_eval(eval, term->a[i]);
        return r;
    case TK_XOR:
        for (uint32_t i = 0; i < term->n; i++)
            r ^= term->c[i] & term_eval(eval, term->a[i]);
        return r;
    case TK_AND:
        r = ~0ull;
        for (uint32_t i = 0; i < term->n; i++)
            r &= term_eval(eval, term->a[i]);
        return r;
    case TK_LO: return term_eval(eval, term->a[0]);
    case TK_HI: return term_eval(eval, term->a[0]) >> 32;
    case TK_SEXT: return (uint64_t)(int64_t)(int32_t)(uint32_t)term_eval(eval, term->a[0]);
    case TK_EVENT:
        if (!term_eval(eval, term->a[1]))
            return term_eval(eval, term->a[0]);
        r = hash2(term_eval(eval, term->a[0]), hash2(term->k, hash_text(term->name)));
        for (uint32_t i = 2; i < term->n; i++)
            r = hash2(r, term_eval(eval, term->a[i]));
        return r;
    }
    return 0;
}

uint64_t term_eval(TermEval *eval, const Term *term) {
    if (term->id < eval->n && eval->known[term->id])
        return eval->value[term->id];
    uint64_t v = compute(eval, term) & (term->width ? term_mask(term->width) : ~0ull);
    if (term->id < eval->n) {
        eval->value[term->id] = v;
        eval->known[term->id] = true;
    }
    return v;
}

/* ---- text ---- */
static void print(FILE *f, const Term *term, unsigned depth) {
    static const char *const ops[] = {"mul",  "shl", "lshr", "ashr", "shl64",  "lshr64", "ashr64",
                                      "eqz",  "ult", "slt",  "flt",  "feq",    "fgt",    "popc",
                                      "brev", "flo", "prmt", "read", "result", "uf"};
    static const char *const kinds[] = {"const", "var", "ite", "app",  "sum",  "xor",
                                        "and",   "lo",  "hi",  "sext", "event"};
    if (term->kind == TK_CONST) {
        fprintf(f, "0x%" PRIx64, term->k);
        return;
    }
    if (term->kind == TK_VAR) {
        fprintf(f, "%s", term->name);
        if (term->k)
            fprintf(f, "@%" PRIu64, term->k - 1);
        return;
    }
    if (!depth) {
        fprintf(f, "..");
        return;
    }
    fprintf(f, "%s%s%s",
            term->kind == TK_APP ? (term->op == TO_UF ? term->name : ops[term->op])
            : term->name         ? term->name
                                 : kinds[term->kind],
            term->width == 64 ? ".64" : "", term->kind == TK_EVENT && term->op == EV_STORE ? ".st" : "");
    if (term->k)
        fprintf(f, "[0x%" PRIx64 "]", term->k);
    fprintf(f, "(");
    for (uint32_t i = 0; i < term->n; i++) {
        if (i)
            fprintf(f, ", ");
        if (term->c && term->c[i] != 1)
            fprintf(f, "0x%" PRIx64 "*", term->c[i]);
        print(f, term->a[i], depth - 1);
    }
    fprintf(f, ")");
}
char *term_text(const Term *t, unsigned depth) {
    char *s = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&s, &n);
    if (!f)
        abort();
    print(f, t, depth);
    fclose(f);
    return s;
}
