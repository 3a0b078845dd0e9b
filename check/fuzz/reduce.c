/* Reduction of failing programs: drop lines in ever smaller runs, then guards, then replace operands by
 * constants, as long as the program fails in the same way. The generator and compilers write one statement a
 * line; a program that became illegal, or reads what was never written, fails in another way and is not
 * taken. SPDX-License-Identifier: MIT */
#include "check/fuzz/internal.h"
#include "base/clock.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ReduceFails *fails;
    void *user;
    double deadline; /* of clock_cpu_seconds */
    char **lines;    /* NUL-terminated, malloc'ed */
    size_t n;
} Reduction;

static char *join(const Reduction *reduction, size_t *size_bytes) {
    size_t size = 0, used = 0;
    for (size_t i = 0; i < reduction->n; i++)
        size += reduction->lines[i] ? strlen(reduction->lines[i]) + 1 : 0;
    char *text = malloc(size + 1);
    if (!text)
        abort();
    for (size_t i = 0; i < reduction->n; i++) {
        size_t len = reduction->lines[i] ? strlen(reduction->lines[i]) : 0;
        if (!reduction->lines[i])
            continue;
        memcpy(text + used, reduction->lines[i], len);
        used += len;
        text[used++] = '\n';
    }
    text[used] = 0;
    *size_bytes = used;
    return text;
}

static bool still_fails(const Reduction *reduction) {
    size_t size;
    char *text = join(reduction, &size);
    bool fails = reduction->fails(reduction->user, text, size);
    free(text);
    return fails;
}

static bool out_of_time(const Reduction *reduction) { return clock_cpu_seconds() > reduction->deadline; }

static void compact(Reduction *reduction) {
    size_t n = 0;
    for (size_t i = 0; i < reduction->n; i++)
        if (reduction->lines[i])
            reduction->lines[n++] = reduction->lines[i];
    reduction->n = n;
}

/* Without it something would be read that was never written, which the interpreter does not see. */
static bool must_stay(const char *line) { return line && strstr(line, "// keep"); }

/* Runs of `size` lines; true if any could go. */
static bool drop_runs(Reduction *reduction, size_t size) {
    bool any = false;
    char **saved = malloc(size * sizeof *saved);
    if (!saved)
        abort();
    for (size_t at = reduction->n;
         at > 1 && !out_of_time(reduction);) { /* from the end: uses before definitions */
        size_t lo = at > size + 1 ? at - size : 1, n = at - lo;
        memcpy(saved, reduction->lines + lo, n * sizeof *saved);
        bool dropped = false;
        for (size_t i = lo; i < at; i++)
            if (!must_stay(reduction->lines[i])) {
                reduction->lines[i] = NULL;
                dropped = true;
            }
        if (dropped && still_fails(reduction)) {
            any = true;
            for (size_t i = 0; i < n; i++)
                if (!reduction->lines[lo + i])
                    free(saved[i]);
        } else
            memcpy(reduction->lines + lo, saved, n * sizeof *saved);
        at = lo;
    }
    compact(reduction);
    free(saved);
    return any;
}

static bool replace_line(Reduction *reduction, size_t i, char *text) {
    char *old = reduction->lines[i];
    if (!text) /* no memory for the shorter line: the old one stays */
        return false;
    reduction->lines[i] = text;
    if (still_fails(reduction)) {
        free(old);
        return true;
    }
    reduction->lines[i] = old;
    free(text);
    return false;
}

static const char *past_blanks(const char *line) { return line + strspn(line, " \t"); }

static bool drop_guards(Reduction *reduction) {
    bool any = false;
    for (size_t i = 1; i < reduction->n && !out_of_time(reduction); i++) {
        const char *blank =
            *past_blanks(reduction->lines[i]) == '@' ? strchr(past_blanks(reduction->lines[i]), ' ') : NULL;
        if (blank)
            any |= replace_line(reduction, i, strdup(blank + 1));
    }
    return any;
}

/* Replace the register operand at `at` (behind the first comma) by a constant. */
static char *with_constant(const char *line, size_t at, const char *constant) {
    size_t end = at + 1;
    while (isalnum((unsigned char)line[end]))
        end++;
    size_t size = strlen(line) + strlen(constant) + 1;
    char *text = malloc(size);
    if (!text)
        abort();
    snprintf(text, size, "%.*s%s%s", (int)at, line, constant, line + end);
    return text;
}

static bool simplify_operands(Reduction *reduction) {
    static const char *const constants[] = {"0", "1"};
    bool any = false;
    for (size_t i = 1; i < reduction->n && !out_of_time(reduction); i++) {
        const char *comma = strchr(reduction->lines[i], ',');
        char first = *past_blanks(reduction->lines[i]);
        if (!comma || first == '.' || first == '{' || must_stay(reduction->lines[i]))
            continue;
        for (size_t at = (size_t)(comma - reduction->lines[i]); reduction->lines[i][at]; at++) {
            bool found = false;
            if (reduction->lines[i][at] != '%' || reduction->lines[i][at - 1] == '[')
                continue;
            for (unsigned k = 0; k < 2 && !found; k++)
                found = replace_line(reduction, i, with_constant(reduction->lines[i], at, constants[k]));
            any |= found;
        }
    }
    return any;
}

static void split(Reduction *reduction, const char *text) {
    size_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == '\n';
    reduction->lines = calloc(n, sizeof *reduction->lines);
    if (!reduction->lines)
        abort();
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        reduction->lines[reduction->n++] = strndup(p, len);
        p += len + (p[len] == '\n');
    }
}

char *fuzz_reduce_text(const char *text, size_t *size_bytes, ReduceFails *fails, void *user, double seconds) {
    Reduction r = {.fails = fails, .user = user, .deadline = clock_cpu_seconds() + seconds};
    split(&r, text);
    bool again = true;
    while (again && !out_of_time(&r)) {
        again = false;
        for (size_t size = r.n / 2; size && !out_of_time(&r); size /= 2)
            again |= drop_runs(&r, size);
        again |= drop_guards(&r);
        again |= simplify_operands(&r);
    }
    compact(&r);
    char *reduced = join(&r, size_bytes);
    for (size_t i = 0; i < r.n; i++)
        free(r.lines[i]);
    free(r.lines);
    return reduced;
}

/* ---- of a program of the generator ---- */

typedef struct {
    const GenProgram *program;
    const FuzzConfig *config;
    const FuzzVerdict *want;
} Failure;

static bool fails_alike(void *user, const char *text, size_t size_bytes) {
    const Failure *failure = user;
    GenProgram q = *failure->program;
    q.text = strdup(text);
    if (!q.text)
        abort();
    q.size_bytes = size_bytes;
    q.cap = size_bytes + 1;
    bool apart = failure->want->cls == FUZZ_CRASH || failure->want->cls == FUZZ_HANG;
    FuzzVerdict v =
        apart ? fuzz_check_apart(&q, failure->config, 1, NULL) : fuzz_check(&q, failure->config, 1, NULL);
    gen_program_free(&q);
    return v.cls == failure->want->cls && strcmp(v.detail, failure->want->detail) == 0;
}

void fuzz_reduce(GenProgram *program, const FuzzConfig *c, const FuzzVerdict *v, double seconds) {
    Failure failure = {program, c, v};
    size_t size;
    char *text = fuzz_reduce_text(program->text, &size, fails_alike, &failure, seconds);
    free(program->text);
    program->text = text;
    program->size_bytes = size;
    program->cap = size + 1;
}
