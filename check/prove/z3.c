/* Questions to Z3. The library is loaded when the first proof begins: linked to the program it would cost
 * every `heddle compile` 20 ms of relocations (docs/prove.md has the measurement). Without it, or without its
 * header when this was built, nothing is asked, and what is not equal as it stands stays unknown.
 * SPDX-License-Identifier: MIT */
#include "check/prove/internal.h"
#include <stdio.h>
#include <stdlib.h>

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
#else
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
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
    X(mk_sign_ext) X(mk_solver) X(solver_inc_ref) X(solver_dec_ref) X(mk_params) X(params_inc_ref) X(params_dec_ref)       \
    X(params_set_uint) X(solver_set_params) X(solver_assert) X(solver_check)
// clang-format on

struct ProveZ3 {
    void *library;
#define FIELD(name) __typeof__(&Z3_##name) name;
    Z3_FUNCTIONS(FIELD)
#undef FIELD
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
void prove_z3_close(struct ProveZ3 *z) {
    if (!z)
        return;
    dlclose(z->library);
    free(z);
}

/* ---- terms ---- */
typedef struct {
    const struct ProveZ3 *z;
    Z3_context c;
    Z3_ast *memo; /* by term */
    Z3_sort memory;
    bool bits;
} Ask;

static void ignore_error(Z3_context c, Z3_error_code e) {
    (void)c;
    (void)e;
}

static Z3_sort sort_of(Ask *a, unsigned width) {
    return width == 0 ? a->memory : width == 1 ? a->z->mk_bool_sort(a->c) : a->z->mk_bv_sort(a->c, width);
}
static Z3_ast ast(Ask *a, const Term *t);

static Z3_ast number(Ask *a, unsigned width, uint64_t v) {
    return a->z->mk_unsigned_int64(a->c, v, a->z->mk_bv_sort(a->c, width));
}
static Z3_ast word_in_64(Ask *a, const Term *t) {
    return t->width == 32 ? a->z->mk_zero_ext(a->c, 32, ast(a, t)) : ast(a, t);
}

static Z3_ast opaque(Ask *a, const Term *t) { /* an uninterpreted function of its arguments */
    enum { MAX = 24 };
    char name[224];
    Z3_sort domain[MAX];
    Z3_ast arg[MAX];
    uint32_t n = t->n < MAX ? t->n : MAX;
    snprintf(name, sizeof name, "f%u.%u.%llx.%u.%s", t->kind, t->op, (unsigned long long)t->k, t->n,
             t->name ? t->name : "");
    for (uint32_t i = 0; i < n; i++) {
        domain[i] = sort_of(a, t->a[i]->width);
        arg[i] = ast(a, t->a[i]);
    }
    Z3_func_decl f =
        a->z->mk_func_decl(a->c, a->z->mk_string_symbol(a->c, name), n, domain, sort_of(a, t->width));
    return a->z->mk_app(a->c, f, n, arg);
}

static Z3_ast application(Ask *a, const Term *t) {
    const struct ProveZ3 *z = a->z;
    Z3_ast x = ast(a, t->a[0]), y = t->n > 1 ? ast(a, t->a[1]) : NULL;
    switch ((TermOp)t->op) {
    case TO_MUL: return a->bits ? z->mk_bvmul(a->c, x, y) : opaque(a, t);
    case TO_SHL:
        return z->mk_bvshl(a->c, x,
                           y); /* amounts from the width on give zeros, or signs, as clamped ones do */
    case TO_LSHR: return z->mk_bvlshr(a->c, x, y);
    case TO_ASHR: return z->mk_bvashr(a->c, x, y);
    case TO_SHL64: return z->mk_bvshl(a->c, x, z->mk_zero_ext(a->c, 32, y));
    case TO_LSHR64: return z->mk_bvlshr(a->c, x, z->mk_zero_ext(a->c, 32, y));
    case TO_ASHR64: return z->mk_bvashr(a->c, x, z->mk_zero_ext(a->c, 32, y));
    case TO_EQZ: return z->mk_eq(a->c, x, number(a, 32, 0));
    case TO_ULT: return z->mk_bvult(a->c, x, y);
    case TO_SLT: return z->mk_bvslt(a->c, x, y);
    default: break;
    }
    Z3_ast r = opaque(a, t);
    if (t->op == TO_READ && (t->k & 255) < 4) /* zero-extended */
        r = z->mk_bvand(a->c, r, number(a, 32, (1u << 8 * (t->k & 255)) - 1));
    if (t->op == TO_UF && t->width == 32 && t->k && t->k < 32 && t->name[0] == '#')
        r = z->mk_bvand(a->c, r, number(a, 32, (1u << t->k) - 1));
    return r;
}

static Z3_ast translate(Ask *a, const Term *t) {
    const struct ProveZ3 *z = a->z;
    Z3_ast r, part[2];
    char name[200];
    switch ((TermKind)t->kind) {
    case TK_CONST:
        return t->width == 1 ? (t->k ? z->mk_true(a->c) : z->mk_false(a->c)) : number(a, t->width, t->k);
    case TK_VAR:
        snprintf(name, sizeof name, "%s@%llu", t->name, (unsigned long long)t->k);
        r = z->mk_const(a->c, z->mk_string_symbol(a->c, name), sort_of(a, t->width));
        return t->name[0] == '#' && t->width == 32 ? z->mk_bvand(a->c, r, number(a, 32, 0xffff)) : r;
    case TK_ITE: return z->mk_ite(a->c, ast(a, t->a[0]), ast(a, t->a[1]), ast(a, t->a[2]));
    case TK_APP: return application(a, t);
    case TK_SUM:
        r = number(a, t->width, t->k);
        for (uint32_t i = 0; i < t->n; i++) {
            Z3_ast v = t->width == 64 ? word_in_64(a, t->a[i]) : ast(a, t->a[i]);
            r = z->mk_bvadd(a->c, r, t->c[i] == 1 ? v : z->mk_bvmul(a->c, number(a, t->width, t->c[i]), v));
        }
        return r;
    case TK_XOR:
        r = number(a, 32, t->k);
        for (uint32_t i = 0; i < t->n; i++)
            r = z->mk_bvxor(a->c, r, z->mk_bvand(a->c, number(a, 32, t->c[i]), ast(a, t->a[i])));
        return r;
    case TK_AND:
        r = ast(a, t->a[0]);
        for (uint32_t i = 1; i < t->n; i++)
            r = z->mk_bvand(a->c, r, ast(a, t->a[i]));
        return r;
    case TK_LO: return z->mk_extract(a->c, 31, 0, ast(a, t->a[0]));
    case TK_HI: return z->mk_extract(a->c, 63, 32, ast(a, t->a[0]));
    case TK_SEXT: return z->mk_sign_ext(a->c, 32, ast(a, t->a[0]));
    case TK_EVENT: /* nothing happens if the guard is false */
        part[0] = opaque(a, t);
        part[1] = ast(a, t->a[0]);
        return z->mk_ite(a->c, ast(a, t->a[1]), part[0], part[1]);
    }
    return NULL;
}
static Z3_ast ast(Ask *a, const Term *t) {
    if (!a->memo[t->id])
        a->memo[t->id] = translate(a, t);
    return a->memo[t->id];
}

static ZqResult ask(struct ProveZ3 *z, Terms *ts, Term *cond, Term *x, Term *y, bool bit_precise,
                    double seconds) {
    Z3_config config = z->mk_config();
    Z3_context c = z->mk_context(config);
    z->del_config(config);
    if (!c)
        return ZQ_UNKNOWN;
    z->set_error_handler(c, ignore_error);
    Ask a = {.z = z, .c = c, .memo = calloc(ts->next_id, sizeof *a.memo), .bits = bit_precise};
    a.memory = z->mk_uninterpreted_sort(c, z->mk_string_symbol(c, "memory"));
    Z3_solver s = z->mk_solver(c);
    z->solver_inc_ref(c, s);
    Z3_params p = z->mk_params(c);
    z->params_inc_ref(c, p);
    z->params_set_uint(c, p, z->mk_string_symbol(c, "timeout"), (unsigned)(seconds * 1000) + 1);
    z->solver_set_params(c, s, p);
    z->solver_assert(c, s, ast(&a, cond));
    z->solver_assert(c, s, z->mk_not(c, z->mk_eq(c, ast(&a, x), ast(&a, y))));
    Z3_lbool answer = z->get_error_code(c) == Z3_OK ? z->solver_check(c, s) : Z3_L_UNDEF;
    if (z->get_error_code(c) != Z3_OK)
        answer = Z3_L_UNDEF;
    z->params_dec_ref(c, p);
    z->solver_dec_ref(c, s);
    z->del_context(c);
    free(a.memo);
    return answer == Z3_L_FALSE ? ZQ_VALID : answer == Z3_L_TRUE ? ZQ_INVALID : ZQ_UNKNOWN;
}

/* In a process of its own, which a timer ends: Z3 does not look at its own time limit while it prepares a
 * query. */
ZqResult prove_z3_equal(struct ProveZ3 *z, Terms *ts, Term *cond, Term *x, Term *y, bool bit_precise,
                        double seconds) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return ZQ_UNKNOWN;
    if (child == 0) {
        struct itimerval limit = {
            .it_value = {.tv_sec = (time_t)seconds,
                         .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) + 1}};
        signal(SIGALRM, SIG_DFL);
        setitimer(ITIMER_REAL, &limit, NULL);
        _exit((int)ask(z, ts, cond, x, y, bit_precise, seconds));
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return ZQ_UNKNOWN;
    return WIFEXITED(status) && WEXITSTATUS(status) <= ZQ_UNKNOWN ? (ZqResult)WEXITSTATUS(status)
                                                                  : ZQ_UNKNOWN;
}
#endif
