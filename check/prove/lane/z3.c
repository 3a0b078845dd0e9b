/* Questions to Z3. The library is loaded when the first proof begins: linked to the program it would cost
 * every `heddle compile` 20 ms of relocations (docs/prove.md has the measurement). Without it, or without its
 * header when this was built, nothing is asked, and what is not equal as it stands stays unknown.
 * SPDX-License-Identifier: MIT */
#include "check/prove/lane/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HEDDLE_HAVE_Z3
struct ProveZ3 *prove_z3_open(void) {
    return NULL;
}
void prove_z3_close(struct ProveZ3 *z) { (void)z; }
ZqResult prove_z3_equal(struct ProveZ3 *z, Terms *ts, Term *cond, Term *x, Term *y, bool bit_precise,
                        double seconds) {
    (void)z;
    (void)ts;
    (void)cond;
    (void)x;
    (void)y;
    (void)bit_precise;
    (void)seconds;
    return ZQ_UNKNOWN;
}
ZqResult prove_z3_values(struct ProveZ3 *z3, Terms *ts, Term *const *holds, uint32_t nholds, Term *x, Term *y,
                         ZqValue *values, uint32_t nvalues, double seconds) {
    (void)values;
    (void)nvalues;
    return nholds ? prove_z3_equal(z3, ts, holds[0], x, y, true, seconds) : ZQ_UNKNOWN;
}
#else
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <z3.h>

// clang-format off
#define Z3_FUNCTIONS(X)                                                                                                  \
    X(mk_config) X(del_config) X(mk_context) X(del_context) X(set_error_handler) X(get_error_code) X(mk_string_symbol)     \
    X(mk_bool_sort) X(mk_bv_sort) X(mk_uninterpreted_sort) X(mk_func_decl) X(mk_app) X(mk_const) X(mk_true) X(mk_false)    \
    X(mk_eq) X(mk_not) X(mk_ite) X(mk_and) X(mk_unsigned_int64) X(mk_bvadd) X(mk_bvmul) X(mk_bvand) X(mk_bvxor)            \
    X(mk_bvshl) X(mk_bvlshr) X(mk_bvashr) X(mk_bvult) X(mk_bvslt) X(mk_extract) X(mk_concat) X(mk_zero_ext)                \
    X(mk_sign_ext) X(mk_solver) X(solver_inc_ref) X(solver_dec_ref) X(solver_assert) X(solver_check) \
    X(solver_get_model) X(model_inc_ref) X(model_dec_ref) X(model_eval) X(get_numeral_uint64) X(mk_fpa_sort_32)            \
    X(mk_fpa_sort_64) X(mk_fpa_rne) X(mk_fpa_to_fp_bv) X(mk_fpa_to_ieee_bv) X(mk_fpa_add) X(mk_fpa_mul) X(mk_fpa_fma)      \
    X(mk_fpa_lt) X(mk_fpa_eq) X(mk_fpa_gt) X(mk_tactic) X(tactic_inc_ref) X(tactic_dec_ref) X(mk_solver_from_tactic) X(simplify)
// clang-format on

struct ProveZ3 {
    void *library;
#define FIELD(name) __typeof__(&Z3_##name) name;
    Z3_FUNCTIONS(FIELD)
#undef FIELD
    Z3_context
        context; /* made before the first question; each is asked in a copy of the process as it is then */
    Z3_tactic words; /* for questions of words and their bits alone */
};

struct ProveZ3 *prove_z3_open(void) {
    static const char *const names[] = {"libz3.so.4", "libz3.so"};
    void *lib = NULL;
    for (unsigned i = 0; i < 2 && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    struct ProveZ3 *z = lib ? calloc(1, sizeof *z) : NULL;
    if (!z)
        return NULL;
    z->library = lib;
    bool ok = true;
#define LOAD(name)                                                                                           \
    {                                                                                                        \
        void *f = dlsym(lib, "Z3_" #name);                                                                   \
        *(void **)(void *)&z->name = f;                                                                      \
        ok = ok && f;                                                                                        \
    }
    Z3_FUNCTIONS(LOAD)
#undef LOAD
    if (ok)
        return z;
    prove_z3_close(z);
    return NULL;
}
void prove_z3_close(struct ProveZ3 *z3) {
    if (!z3)
        return;
    if (z3->words)
        z3->tactic_dec_ref(z3->context, z3->words);
    if (z3->context)
        z3->del_context(z3->context);
    dlclose(z3->library);
    free(z3);
}

/* ---- terms ---- */
typedef struct {
    const struct ProveZ3 *z;
    Z3_context c;
    Z3_ast *memo; /* by term */
    Z3_sort memory;
    bool bits;       /* products as they are */
    bool only_words; /* nothing so far but words and their bits */
    bool floats;     /* comparisons, sums and products of floats as they are, but for the bits of a NaN */
} Ask;

static void ignore_error(Z3_context c, Z3_error_code e) {
    (void)c;
    (void)e;
}

static Z3_sort sort_of(Ask *ask, unsigned width) {
    ask->only_words = ask->only_words && width;
    return width == 0   ? ask->memory
           : width == 1 ? ask->z->mk_bool_sort(ask->c)
                        : ask->z->mk_bv_sort(ask->c, width);
}
static Z3_ast ast(Ask *ask, const Term *term);

static Z3_ast z3_number(Ask *ask, unsigned width, uint64_t v) {
    return ask->z->mk_unsigned_int64(ask->c, v, ask->z->mk_bv_sort(ask->c, width));
}
static Z3_ast word_in_64(Ask *ask, const Term *term) {
    return term->width == 32 ? ask->z->mk_zero_ext(ask->c, 32, ast(ask, term)) : ast(ask, term);
}

static Z3_ast opaque(Ask *ask, const Term *term) { /* an uninterpreted function of its arguments */
    enum { MAX = 24 };
    char name[64];
    Z3_sort domain[MAX];
    Z3_ast arg[MAX];
    ask->only_words = false;
    if (term->n > MAX) { /* one of its own */
        snprintf(name, sizeof name, "v%u", term->id);
        return ask->z->mk_const(ask->c, ask->z->mk_string_symbol(ask->c, name), sort_of(ask, term->width));
    }
    /* names are interned: the same text is the same pointer, however long it is */
    snprintf(name, sizeof name, "f%u.%u.%llx.%u.%p", term->kind, term->op, (unsigned long long)term->k,
             term->n, (const void *)term->name);
    for (uint32_t i = 0; i < term->n; i++) {
        domain[i] = sort_of(ask, term->a[i]->width);
        arg[i] = ast(ask, term->a[i]);
    }
    Z3_func_decl f = ask->z->mk_func_decl(ask->c, ask->z->mk_string_symbol(ask->c, name), term->n, domain,
                                          sort_of(ask, term->width));
    return ask->z->mk_app(ask->c, f, term->n, arg);
}

static Z3_ast as_float(Ask *ask, const Term *term, bool flush) {
    const struct ProveZ3 *z3 = ask->z;
    unsigned width = term->width;
    Z3_ast x = ast(ask, term);
    ask->only_words = false;
    if (flush) { /* subnormals of 32 bits */
        Z3_ast exponent = z3->mk_bvand(ask->c, x, z3_number(ask, 32, 0x7f800000));
        x = z3->mk_ite(ask->c, z3->mk_eq(ask->c, exponent, z3_number(ask, 32, 0)),
                       z3->mk_bvand(ask->c, x, z3_number(ask, 32, 0x80000000)), x);
    }
    return z3->mk_fpa_to_fp_bv(ask->c, x,
                               width == 64 ? z3->mk_fpa_sort_64(ask->c) : z3->mk_fpa_sort_32(ask->c));
}

static Z3_ast float_application(Ask *ask, const Term *term) { /* NULL: it is none, or not as it is here */
    static const char *const names[] = {"fadd.0", "fmul.0", "ffma.0", "dadd.0", "dmul.0", "dfma.0"};
    const struct ProveZ3 *z3 = ask->z;
    bool compares = term->op == TO_FLT || term->op == TO_FEQ || term->op == TO_FGT;
    if (compares && (term->k & 255) == term->a[0]->width) {
        bool flush = term->k & 256 && term->a[0]->width == 32;
        Z3_ast x = as_float(ask, term->a[0], flush), y = as_float(ask, term->a[1], flush);
        return term->op == TO_FLT   ? z3->mk_fpa_lt(ask->c, x, y)
               : term->op == TO_FEQ ? z3->mk_fpa_eq(ask->c, x, y)
                                    : z3->mk_fpa_gt(ask->c, x, y);
    }
    for (unsigned k = 0; term->op == TO_UF && term->name && k < 6; k++) {
        if (strcmp(term->name, names[k]) != 0)
            continue;
        Z3_ast v[3], round = z3->mk_fpa_rne(ask->c);
        for (uint32_t i = 0; i < term->n; i++)
            v[i] = as_float(ask, term->a[i], false);
        return z3->mk_fpa_to_ieee_bv(ask->c, k % 3 == 0   ? z3->mk_fpa_add(ask->c, round, v[0], v[1])
                                             : k % 3 == 1 ? z3->mk_fpa_mul(ask->c, round, v[0], v[1])
                                                          : z3->mk_fpa_fma(ask->c, round, v[0], v[1], v[2]));
    }
    return NULL;
}

/* The number of the highest one, ~0 of 0. */
static Z3_ast highest_one(Ask *ask, Z3_ast x) {
    const struct ProveZ3 *z3 = ask->z;
    Z3_ast number = z3_number(ask, 32, 0xffffffff);
    for (unsigned i = 0; i < 32; i++)
        number = z3->mk_ite(ask->c, z3->mk_bvult(ask->c, x, z3_number(ask, 32, 1u << i)), number,
                            z3_number(ask, 32, i));
    return number;
}

static Z3_ast application(Ask *ask, const Term *term) {
    const struct ProveZ3 *z3 = ask->z;
    Z3_ast number = ask->floats ? float_application(ask, term) : NULL;
    if (number)
        return number;
    Z3_ast x = ast(ask, term->a[0]), y = term->n > 1 ? ast(ask, term->a[1]) : NULL;
    switch ((TermOp)term->op) {
    case TO_MUL: return ask->bits ? z3->mk_bvmul(ask->c, x, y) : opaque(ask, term);
    case TO_FLO: return ask->bits ? highest_one(ask, x) : opaque(ask, term);
    case TO_SHL:
        return z3->mk_bvshl(ask->c, x,
                            y); /* amounts from the width on give zeros, or signs, as clamped ones do */
    case TO_LSHR: return z3->mk_bvlshr(ask->c, x, y);
    case TO_ASHR: return z3->mk_bvashr(ask->c, x, y);
    case TO_SHL64: return z3->mk_bvshl(ask->c, x, z3->mk_zero_ext(ask->c, 32, y));
    case TO_LSHR64: return z3->mk_bvlshr(ask->c, x, z3->mk_zero_ext(ask->c, 32, y));
    case TO_ASHR64: return z3->mk_bvashr(ask->c, x, z3->mk_zero_ext(ask->c, 32, y));
    case TO_EQZ: return z3->mk_eq(ask->c, x, z3_number(ask, 32, 0));
    case TO_ULT: return z3->mk_bvult(ask->c, x, y);
    case TO_SLT: return z3->mk_bvslt(ask->c, x, y);
    default: break;
    }
    Z3_ast r = opaque(ask, term);
    if (term->op == TO_READ && (term->k & 255) < 4) /* zero-extended */
        r = z3->mk_bvand(ask->c, r, z3_number(ask, 32, (1u << 8 * (term->k & 255)) - 1));
    if (term->op == TO_UF && term->width == 32 && term->k && term->k < 32 && term->name[0] == '#')
        r = z3->mk_bvand(ask->c, r, z3_number(ask, 32, (1u << term->k) - 1));
    return r;
}

static Z3_ast translate(Ask *ask, const Term *term) {
    const struct ProveZ3 *z3 = ask->z;
    Z3_ast r, part[2];
    char name[16];
    switch ((TermKind)term->kind) {
    case TK_CONST:
        return term->width == 1 ? (term->k ? z3->mk_true(ask->c) : z3->mk_false(ask->c))
                                : z3_number(ask, term->width, term->k);
    case TK_VAR:
        snprintf(name, sizeof name, "x%u", term->id);
        r = z3->mk_const(ask->c, z3->mk_string_symbol(ask->c, name), sort_of(ask, term->width));
        return term->name[0] == '#' && term->width == 32 ? z3->mk_bvand(ask->c, r, z3_number(ask, 32, 0xffff))
                                                         : r;
    case TK_ITE: return z3->mk_ite(ask->c, ast(ask, term->a[0]), ast(ask, term->a[1]), ast(ask, term->a[2]));
    case TK_APP: return application(ask, term);
    case TK_SUM:
        r = z3_number(ask, term->width, term->k);
        for (uint32_t i = 0; i < term->n; i++) {
            Z3_ast v = term->width == 64 ? word_in_64(ask, term->a[i]) : ast(ask, term->a[i]);
            r = z3->mk_bvadd(
                ask->c, r,
                term->c[i] == 1 ? v : z3->mk_bvmul(ask->c, z3_number(ask, term->width, term->c[i]), v));
        }
        return r;
    case TK_XOR:
        r = z3_number(ask, 32, term->k);
        for (uint32_t i = 0; i < term->n; i++)
            r = z3->mk_bvxor(ask->c, r,
                             z3->mk_bvand(ask->c, z3_number(ask, 32, term->c[i]), ast(ask, term->a[i])));
        return r;
    case TK_AND:
        r = ast(ask, term->a[0]);
        for (uint32_t i = 1; i < term->n; i++)
            r = z3->mk_bvand(ask->c, r, ast(ask, term->a[i]));
        return r;
    case TK_LO: return z3->mk_extract(ask->c, 31, 0, ast(ask, term->a[0]));
    case TK_HI: return z3->mk_extract(ask->c, 63, 32, ast(ask, term->a[0]));
    case TK_SEXT: return z3->mk_sign_ext(ask->c, 32, ast(ask, term->a[0]));
    case TK_EVENT: /* nothing happens if the guard is false */
        part[0] = opaque(ask, term);
        part[1] = ast(ask, term->a[0]);
        return z3->mk_ite(ask->c, ast(ask, term->a[1]), part[0], part[1]);
    }
    return NULL;
}
static Z3_ast ast(Ask *ask, const Term *term) {
    if (!ask->memo[term->id])
        ask->memo[term->id] = translate(ask, term);
    return ask->memo[term->id];
}

/* ---- questions ---- */
typedef struct {
    Terms *ts;
    Term *const *holds;
    uint32_t nholds, nvalues;
    Term *x, *y; /* they differ; or NULL */
    bool bits, floats;
    ZqValue *values; /* asked for, if there is an answer */
} Query;

static void read_model(Ask *ask, Z3_solver solver, const Query *query) {
    const struct ProveZ3 *z3 = ask->z;
    Z3_model model = query->nvalues ? z3->solver_get_model(ask->c, solver) : NULL;
    if (!model)
        return;
    z3->model_inc_ref(ask->c, model);
    for (uint32_t k = 0; k < query->nvalues; k++) {
        Z3_ast number;
        uint64_t value;
        if (z3->model_eval(ask->c, model, ast(ask, query->values[k].term), true, &number) &&
            z3->get_numeral_uint64(ask->c, number, &value))
            query->values[k].value = value;
    }
    z3->model_dec_ref(ask->c, model);
}

/* A context and what Z3 makes when it first has a solver are most of the time of a question that is answered
 * at once. The solver that makes it here is never the one that is asked. */
static bool have_context(struct ProveZ3 *z3) {
    if (z3->context)
        return true;
    Z3_config config = z3->mk_config();
    z3->context = z3->mk_context(config);
    z3->del_config(config);
    if (!z3->context)
        return false;
    z3->set_error_handler(z3->context, ignore_error);
    Z3_solver first = z3->mk_solver(z3->context);
    z3->solver_inc_ref(z3->context, first);
    z3->solver_assert(z3->context, first, z3->mk_true(z3->context));
    z3->solver_check(z3->context, first);
    z3->solver_dec_ref(z3->context, first);
    z3->words = z3->mk_tactic(z3->context, "qfbv");
    if (z3->words)
        z3->tactic_inc_ref(z3->context, z3->words);
    return z3->get_error_code(z3->context) == Z3_OK;
}

/* In a process that ends behind it: nothing is given back. A solver of everything first makes the tactics of
 * all theories, which takes longer than most answers; that of words is the one that it would choose for them.
 */
static ZqResult ask(struct ProveZ3 *z3, const Query *query) {
    Z3_context c = z3->context;
    Ask a = {.z = z3, .c = c, .only_words = true, .bits = query->bits, .floats = query->floats};
    a.memo = calloc(query->ts->next_id, sizeof *a.memo);
    a.memory = z3->mk_uninterpreted_sort(c, z3->mk_string_symbol(c, "memory"));
    for (uint32_t k = 0; k < query->nholds; k++)
        ast(&a, query->holds[k]);
    Z3_ast differ = query->x ? z3->mk_not(c, z3->mk_eq(c, ast(&a, query->x), ast(&a, query->y))) : NULL;
    if (differ && z3->simplify(c, differ) == z3->mk_false(c))
        return ZQ_VALID;
    Z3_solver s = a.only_words && z3->words ? z3->mk_solver_from_tactic(c, z3->words) : z3->mk_solver(c);
    z3->solver_inc_ref(c, s);
    for (uint32_t k = 0; k < query->nholds; k++)
        z3->solver_assert(c, s, ast(&a, query->holds[k]));
    if (differ)
        z3->solver_assert(c, s, differ);
    Z3_lbool answer = z3->get_error_code(c) == Z3_OK ? z3->solver_check(c, s) : Z3_L_UNDEF;
    if (answer == Z3_L_TRUE)
        read_model(&a, s, query);
    if (z3->get_error_code(c) != Z3_OK)
        answer = Z3_L_UNDEF;
    return answer == Z3_L_FALSE ? ZQ_VALID : answer == Z3_L_TRUE ? ZQ_INVALID : ZQ_UNKNOWN;
}

static void end_in(double seconds) { /* of processor time */
    struct itimerval limit = {
        .it_value = {.tv_sec = (time_t)seconds,
                     .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) + 1}};
    signal(SIGPROF, SIG_DFL);
    setitimer(ITIMER_PROF, &limit, NULL);
}

/* In a process of its own, which a timer of the time that it uses ends: Z3's own limit is of the time that
 * passes, and it does not look at it while it prepares a query. The child leaves by _exit, so what the host
 * has buffered in its streams is written once, by the host. The values come through memory that both have. */
static ZqResult ask_apart(struct ProveZ3 *z3, Query *query, double seconds) {
    if (!have_context(z3))
        return ZQ_UNKNOWN;
    size_t bytes = query->nvalues * sizeof *query->values;
    ZqValue *shared =
        bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) : NULL;
    if (shared == MAP_FAILED)
        return ZQ_UNKNOWN;
    if (shared)
        memcpy(shared, query->values, bytes);
    pid_t child = fork();
    if (child == 0) {
        end_in(seconds);
        query->values = shared;
        _exit((int)ask(z3, query));
    }
    int status = 0;
    bool ended = child > 0;
    while (ended && waitpid(child, &status, 0) < 0)
        ended = errno == EINTR;
    if (shared) {
        memcpy(query->values, shared, bytes);
        munmap(shared, bytes);
    }
    return ended && WIFEXITED(status) && WEXITSTATUS(status) <= ZQ_UNKNOWN ? (ZqResult)WEXITSTATUS(status)
                                                                           : ZQ_UNKNOWN;
}

ZqResult prove_z3_equal(struct ProveZ3 *z3, Terms *ts, Term *cond, Term *x, Term *y, bool bit_precise,
                        double seconds) {
    Query query = {.ts = ts, .holds = &cond, .nholds = 1, .x = x, .y = y, .bits = bit_precise};
    return ask_apart(z3, &query, seconds);
}

ZqResult prove_z3_values(struct ProveZ3 *z3, Terms *ts, Term *const *holds, uint32_t nholds, Term *x, Term *y,
                         ZqValue *values, uint32_t nvalues, double seconds) {
    Query query = {.ts = ts,
                   .holds = holds,
                   .nholds = nholds,
                   .x = x,
                   .y = y,
                   .bits = true,
                   .floats = true,
                   .values = values,
                   .nvalues = nvalues};
    return ask_apart(z3, &query, seconds);
}
#endif
