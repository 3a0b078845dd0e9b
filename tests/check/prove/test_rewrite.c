/* Every row of check/prove/terms/rewrite.def, asked of Z3: wherever its condition holds, pattern and result
 * are equal, for all values of its terms, all its constants and all bits that a term may be known to lack, at
 * several widths of a word. The question is SMT-LIB text made from the row's trees alone, so that the meaning
 * of the operations is written here once more. A condition that nothing fulfils is an error, too, and rows
 * that are wrong in ways in which such rows are wrong must be found out. SPDX-License-Identifier: MIT */
#include "check/prove/terms/rewrite.h"
#include "check/prove/terms/rewrite_words.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const unsigned widths[] = {4, 8, 16, 32};
enum { NWIDTHS = sizeof widths / sizeof *widths };

/* ---- Z3 by its text ---- */

typedef struct {
    void *library, *context;
    const char *(*eval)(void *context, const char *text);
} Solver;

static bool open_solver(Solver *solver) {
    static const char *const names[] = {"libz3.so.4", "libz3.so"};
    *solver = (Solver){NULL, NULL, NULL};
    for (unsigned k = 0; k < 2 && !solver->library; k++)
        solver->library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    if (!solver->library)
        return false;
    void *(*mk_config)(void), *(*mk_context)(void *);
    void (*del_config)(void *);
    *(void **)(void *)&mk_config = dlsym(solver->library, "Z3_mk_config");
    *(void **)(void *)&mk_context = dlsym(solver->library, "Z3_mk_context");
    *(void **)(void *)&del_config = dlsym(solver->library, "Z3_del_config");
    *(void **)(void *)&solver->eval = dlsym(solver->library, "Z3_eval_smtlib2_string");
    if (!mk_config || !mk_context || !del_config || !solver->eval)
        return false;
    void *config = mk_config();
    solver->context = mk_context(config);
    del_config(config);
    return true;
}

/* ---- rows as text ---- */

typedef enum { UNUSED, WORD, PAIR } Sort;
typedef struct {
    FILE *out;
    unsigned width;
    Sort sort[2];     /* of X and Y */
    bool possible[2]; /* their bits are asked for */
} Writer;

static void put_number(Writer *writer, const RewriteNode *node);
static void put_condition(Writer *writer, const RewriteNode *node);

static void put_call(Writer *writer, const char *name, const RewriteNode *node,
                     void (*put)(Writer *writer, const RewriteNode *node)) {
    fprintf(writer->out, "(%s ", name);
    put(writer, node->a);
    if (node->b) {
        fputc(' ', writer->out);
        put(writer, node->b);
    }
    fputc(')', writer->out);
}

static void put_term(Writer *writer, const RewriteNode *node, Sort sort);
static void put_word(Writer *writer, const RewriteNode *node) { put_term(writer, node, WORD); }
static void put_pair(Writer *writer, const RewriteNode *node) { put_term(writer, node, PAIR); }

static void put_wide_shift(Writer *writer, const char *name, const RewriteNode *node) {
    fprintf(writer->out, "(%s ", name);
    put_pair(writer, node->a);
    fprintf(writer->out, " ((_ zero_extend %u) ", writer->width);
    put_word(writer, node->b);
    fputs("))", writer->out);
}

static void put_term(Writer *writer, const RewriteNode *node, Sort sort) {
    char text[64];
    unsigned w = writer->width, second = node->kind == RW_Y;
    switch (node->kind) {
    case RW_X:
    case RW_Y:
        assert_true(writer->sort[second] == UNUSED || writer->sort[second] == sort);
        writer->sort[second] = sort;
        fputs(second ? "y" : "x", writer->out);
        break;
    case RW_J: fputs("j", writer->out); break;
    case RW_K: fputs("k", writer->out); break;
    case RW_CONST:
        snprintf(text, sizeof text, "(_ extract %u 0)", w - 1);
        put_call(writer, text, node, put_number);
        break;
    case RW_ADD: put_call(writer, "bvadd", node, put_word); break;
    case RW_MUL: put_call(writer, "bvmul", node, put_word); break;
    case RW_SHL: put_call(writer, "bvshl", node, put_word); break;
    case RW_LSHR: put_call(writer, "bvlshr", node, put_word); break;
    case RW_ASHR: put_call(writer, "bvashr", node, put_word); break;
    case RW_ULT: put_call(writer, "bvult", node, put_word); break;
    case RW_SLT: put_call(writer, "bvslt", node, put_word); break;
    case RW_EQUAL: put_call(writer, "=", node, put_word); break;
    case RW_EQZ:
        snprintf(text, sizeof text, "= (_ bv0 %u)", w);
        put_call(writer, text, node, put_word);
        break;
    case RW_NOT: put_call(writer, "not", node, put_word); break;
    case RW_TRUTH: put_condition(writer, node->a); break;
    case RW_SEXT:
    case RW_ZEXT:
        snprintf(text, sizeof text, "(_ %s_extend %u)", node->kind == RW_SEXT ? "sign" : "zero", w);
        put_call(writer, text, node, put_word);
        break;
    case RW_LO:
    case RW_HI:
        snprintf(text, sizeof text, "(_ extract %u %u)", node->kind == RW_LO ? w - 1 : 2 * w - 1,
                 node->kind == RW_LO ? 0 : w);
        put_call(writer, text, node, put_pair);
        break;
    case RW_MUL64: put_call(writer, "bvmul", node, put_pair); break;
    case RW_SHL64: put_wide_shift(writer, "bvshl", node); break;
    case RW_LSHR64: put_wide_shift(writer, "bvlshr", node); break;
    case RW_ASHR64: put_wide_shift(writer, "bvashr", node); break;
    default: fail_msg("a number stands for a term");
    }
}

/* Numbers have the bits of two words; those modulo 2^W are cut. */
static void put_cut(Writer *writer, const char *name, const RewriteNode *node) {
    unsigned w = writer->width;
    fprintf(writer->out, "((_ zero_extend %u) ((_ extract %u 0) ", w, w - 1);
    put_call(writer, name, node, put_number);
    fputs("))", writer->out);
}

static void put_number(Writer *writer, const RewriteNode *node) {
    unsigned w = writer->width, second = node->kind == RW_POSSIBLE && node->a->kind == RW_Y;
    switch (node->kind) {
    case RW_J:
    case RW_K: fprintf(writer->out, "((_ zero_extend %u) %s)", w, node->kind == RW_J ? "j" : "k"); break;
    case RW_NUMBER: fprintf(writer->out, "(_ bv%u %u)", node->number, 2 * w); break;
    case RW_WIDTH: fprintf(writer->out, "(_ bv%u %u)", w, 2 * w); break;
    case RW_LAST: fprintf(writer->out, "(_ bv%u %u)", w - 1, 2 * w); break;
    case RW_TOP: fprintf(writer->out, "(_ bv%llu %u)", 1ull << (w - 1), 2 * w); break;
    case RW_ONES: fprintf(writer->out, "(_ bv%llu %u)", (1ull << w) - 1, 2 * w); break;
    case RW_POSSIBLE:
        writer->possible[second] = true;
        fprintf(writer->out, "((_ zero_extend %u) %s)", w, second ? "py" : "px");
        break;
    case RW_PLUS: put_call(writer, "bvadd", node, put_number); break;
    case RW_LEAST: /* (ite (bvult a b) a b) */
        fputs("(ite ", writer->out);
        put_call(writer, "bvult", node, put_number);
        put_number(writer, node->a);
        put_number(writer, node->b);
        fputs(")", writer->out);
        break;
    case RW_AND: put_call(writer, "bvand", node, put_number); break;
    case RW_XOR: put_call(writer, "bvxor", node, put_number); break;
    case RW_RIGHT: put_call(writer, "bvlshr", node, put_number); break;
    case RW_LEFT: put_call(writer, "bvshl", node, put_number); break;
    case RW_NEG: put_cut(writer, "bvneg", node); break;
    case RW_INV: put_cut(writer, "bvnot", node); break;
    case RW_SIGNED_RIGHT:
        fprintf(writer->out,
                "((_ zero_extend %u) ((_ extract %u 0) (bvashr ((_ sign_extend %u) ((_ extract %u 0) ", w,
                w - 1, w, w - 1);
        put_number(writer, node->a);
        fputs(")) ", writer->out);
        put_number(writer, node->b);
        fputs(")))", writer->out);
        break;
    default: fail_msg("a term stands for a number");
    }
}

static void put_condition(Writer *writer, const RewriteNode *node) {
    switch (node->kind) {
    case RW_ALWAYS: fputs("true", writer->out); break;
    case RW_LT: put_call(writer, "bvult", node, put_number); break;
    case RW_SAME: put_call(writer, "=", node, put_number); break;
    case RW_BOTH: put_call(writer, "and", node, put_condition); break;
    default: fail_msg("not a condition");
    }
}

/* ---- the question ---- */

typedef enum { HOLDS, WRONG, NEVER_APPLIES, OPEN } Answer;

/* The answer to (check-sat): 's', 'u' of unsat, or '?'. */
static char check(const Solver *solver, const char *text) {
    const char *said = solver->eval(solver->context, text);
    return !said ? '?' : !strncmp(said, "unsat", 5) ? 'u' : !strncmp(said, "sat", 3) ? 's' : '?';
}

static Answer ask(const Solver *solver, const Rewrite *row, unsigned width) {
    static const char *const names[] = {"x", "y"};
    char *body, *text;
    size_t size;
    Writer writer = {.out = open_memstream(&body, &size), .width = width};
    fputs("(assert (not (= ", writer.out);
    put_word(&writer, row->pattern);
    fputs(" ", writer.out);
    put_word(&writer, row->result);
    fputs(")))\n", writer.out);
    fclose(writer.out);
    char *condition;
    writer.out = open_memstream(&condition, &size);
    fputs("(assert ", writer.out);
    put_condition(&writer, row->condition);
    fputs(")\n", writer.out);
    fclose(writer.out);
    char answer[2];
    for (unsigned k = 0; k < 2; k++) {
        FILE *out = open_memstream(&text, &size);
        fprintf(out,
                "(reset)(set-option :timeout 60000)\n(declare-const j (_ BitVec %u))(declare-const k (_ "
                "BitVec %u))\n",
                width, width);
        for (unsigned v = 0; v < 2; v++) {
            if (writer.sort[v] != UNUSED)
                fprintf(out, "(declare-const %s (_ BitVec %u))\n", names[v],
                        writer.sort[v] == PAIR ? 2 * width : width);
            if (writer.possible[v])
                fprintf(out,
                        "(declare-const p%s (_ BitVec %u))(assert (= (bvand %s (bvnot p%s)) (_ bv0 %u)))\n",
                        names[v], width, names[v], names[v], width);
        }
        fprintf(out, "%s%s(check-sat)\n", condition, k ? body : "");
        fclose(out);
        answer[k] = check(solver, text);
        free(text);
    }
    free(body);
    free(condition);
    return answer[0] == 'u'   ? NEVER_APPLIES
           : answer[0] != 's' ? OPEN
           : answer[1] == 'u' ? HOLDS
           : answer[1] == 's' ? WRONG
                              : OPEN;
}

static void every_row_holds(void **state) {
    static const char *const what[] = {"holds", "is wrong", "never applies", "is not answered"};
    Solver *solver = *state;
    if (!solver->context)
        skip();
    unsigned n, bad = 0;
    const Rewrite *rows = term_rewrites(&n);
    assert_true(n > 0);
    for (unsigned k = 0; k < n; k++)
        for (unsigned w = 0; w < NWIDTHS; w++) {
            Answer answer = ask(solver, &rows[k], widths[w]);
            if (answer != HOLDS) {
                printf("%s: at %u bits it %s\n", rows[k].text, widths[w], what[answer]);
                bad++;
            }
        }
    printf("%u rows at %u widths\n", n, (unsigned)NWIDTHS);
    assert_int_equal(bad, 0);
}

/* Rows with a condition left out, a bound off by one, a sign forgotten, or that never apply. */
static const struct {
    Rewrite row;
    Answer expected;
} planted[] = {
    {{"sum of amounts wraps", LSHR(LSHR(X, J), K), ALWAYS, LSHR(X, CONST(PLUS(J, K)))}, WRONG},
    {{"ASHR as LSHR", ASHR(X, K), ALWAYS, LSHR(X, K)}, WRONG},
    {{"ASHR by W", ASHR(X, K), LT(LAST, K), CONST(NUMBER(0))}, WRONG},
    {{"one too many", ULT(X, K), LT(POSSIBLE(X), PLUS(K, NUMBER(1))), TRUTH(ALWAYS)}, WRONG},
    {{"x <= largest", ULT(K, X), ALWAYS, NOT(ULT(X, CONST(PLUS(K, NUMBER(1)))))}, WRONG},
    {{"SLT as ULT", SLT(X, K), LT(K, TOP), ULT(X, K)}, WRONG},
    {{"no bit at all", EQZ(ADD(X, K)), SAME(NEG(K), POSSIBLE(X)), NOT(EQZ(X))}, WRONG},
    {{"sign lost", SEXT(X), LT(POSSIBLE(X), ONES), ZEXT(X)}, WRONG},
    {{"low for high", HI(SEXT(X)), ALWAYS, X}, WRONG},
    {{"shifted by the sum", HI(SHL64(X, Y)), ALWAYS, SHL(HI(X), Y)}, WRONG},
    {{"two terms for one", ULT(X, Y), ALWAYS, TRUTH(NEVER)}, WRONG},
    {{"power of two", SHL(X, K), LT(K, WIDTH), MUL(X, CONST(LEFT(NUMBER(2), K)))}, WRONG},
    {{"never", LSHR(X, K), LT(K, NUMBER(0)), X}, NEVER_APPLIES},
};

static void wrong_rows_are_found(void **state) {
    Solver *solver = *state;
    if (!solver->context)
        skip();
    for (unsigned k = 0; k < sizeof planted / sizeof *planted; k++)
        for (unsigned w = 0; w < NWIDTHS; w++) {
            Answer answer = ask(solver, &planted[k].row, widths[w]);
            if (answer != planted[k].expected)
                fail_msg("%s at %u bits: %u", planted[k].row.text, widths[w], answer);
        }
}

static int start(void **state) {
    static Solver solver;
    *state = &solver;
    open_solver(&solver);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_holds),
                                       cmocka_unit_test(wrong_rows_are_found)};
    return cmocka_run_group_tests(tests, start, NULL);
}
