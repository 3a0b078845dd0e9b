/* Reduction of failing programs: drop lines in ever smaller runs, then guards, then replace operands by
 * constants, as long as the program fails in the same way. The generator writes one statement a line; a
 * program that became illegal, or reads what was never written, fails in another way and is not taken.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/internal.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double fuzz_now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

typedef struct {
    GenProgram *p;
    const FuzzConfig *config;
    const FuzzVerdict *want;
    double deadline;
    char **lines; /* NUL-terminated, malloc'ed */
    size_t n;
} Reduction;

static GenProgram join(const Reduction *r) {
    GenProgram q = *r->p;
    size_t size = 0;
    for (size_t i = 0; i < r->n; i++)
        size += r->lines[i] ? strlen(r->lines[i]) + 1 : 0;
    q.text = malloc(size + 1);
    if (!q.text)
        abort();
    q.size_bytes = 0;
    q.cap = size + 1;
    for (size_t i = 0; i < r->n; i++) {
        size_t len = r->lines[i] ? strlen(r->lines[i]) : 0;
        if (!r->lines[i])
            continue;
        memcpy(q.text + q.size_bytes, r->lines[i], len);
        q.size_bytes += len;
        q.text[q.size_bytes++] = '\n';
    }
    q.text[q.size_bytes] = 0;
    return q;
}

static bool still_fails(const Reduction *r) {
    GenProgram q = join(r);
    bool apart = r->want->cls == FUZZ_CRASH || r->want->cls == FUZZ_HANG;
    FuzzVerdict v = apart ? fuzz_check_apart(&q, r->config, 1, NULL) : fuzz_check(&q, r->config, 1, NULL);
    gen_program_free(&q);
    return v.cls == r->want->cls && strcmp(v.detail, r->want->detail) == 0;
}

static bool out_of_time(const Reduction *r) { return fuzz_now() > r->deadline; }

static void compact(Reduction *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->lines[i])
            r->lines[n++] = r->lines[i];
    r->n = n;
}

/* Without it something would be read that was never written, which the interpreter does not see. */
static bool must_stay(const char *line) { return line && strstr(line, "// keep"); }

/* Runs of `size` lines; true if any could go. */
static bool drop_runs(Reduction *r, size_t size) {
    bool any = false;
    char **saved = malloc(size * sizeof *saved);
    if (!saved)
        abort();
    for (size_t at = r->n; at > 1 && !out_of_time(r);) { /* from the end: uses before definitions */
        size_t lo = at > size + 1 ? at - size : 1, n = at - lo;
        memcpy(saved, r->lines + lo, n * sizeof *saved);
        bool dropped = false;
        for (size_t i = lo; i < at; i++)
            if (!must_stay(r->lines[i])) {
                r->lines[i] = NULL;
                dropped = true;
            }
        if (dropped && still_fails(r)) {
            any = true;
            for (size_t i = 0; i < n; i++)
                if (!r->lines[lo + i])
                    free(saved[i]);
        } else
            memcpy(r->lines + lo, saved, n * sizeof *saved);
        at = lo;
    }
    compact(r);
    free(saved);
    return any;
}

static bool replace_line(Reduction *r, size_t i, char *text) {
    char *old = r->lines[i];
    r->lines[i] = text;
    if (still_fails(r)) {
        free(old);
        return true;
    }
    r->lines[i] = old;
    free(text);
    return false;
}

static bool drop_guards(Reduction *r) {
    bool any = false;
    for (size_t i = 1; i < r->n && !out_of_time(r); i++) {
        const char *blank = r->lines[i][0] == '@' ? strchr(r->lines[i], ' ') : NULL;
        if (blank)
            any |= replace_line(r, i, strdup(blank + 1));
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

static bool simplify_operands(Reduction *r) {
    static const char *const constants[] = {"0", "1"};
    bool any = false;
    for (size_t i = 1; i < r->n && !out_of_time(r); i++) {
        const char *comma = strchr(r->lines[i], ',');
        if (!comma || r->lines[i][0] == '.' || r->lines[i][0] == '{' || must_stay(r->lines[i]))
            continue;
        for (size_t at = (size_t)(comma - r->lines[i]); r->lines[i][at]; at++) {
            bool found = false;
            if (r->lines[i][at] != '%' || r->lines[i][at - 1] == '[')
                continue;
            for (unsigned k = 0; k < 2 && !found; k++)
                found = replace_line(r, i, with_constant(r->lines[i], at, constants[k]));
            any |= found;
        }
    }
    return any;
}

static void split(Reduction *r) {
    size_t n = 1;
    for (size_t i = 0; i < r->p->size_bytes; i++)
        n += r->p->text[i] == '\n';
    r->lines = calloc(n, sizeof *r->lines);
    if (!r->lines)
        abort();
    for (const char *p = r->p->text; *p;) {
        size_t len = strcspn(p, "\n");
        r->lines[r->n++] = strndup(p, len);
        p += len + (p[len] == '\n');
    }
}

void fuzz_reduce(GenProgram *p, const FuzzConfig *c, const FuzzVerdict *v, double seconds) {
    Reduction r = {.p = p, .config = c, .want = v, .deadline = fuzz_now() + seconds};
    split(&r);
    bool again = true;
    while (again && !out_of_time(&r)) {
        again = false;
        for (size_t size = r.n / 2; size && !out_of_time(&r); size /= 2)
            again |= drop_runs(&r, size);
        again |= drop_guards(&r);
        again |= simplify_operands(&r);
    }
    compact(&r);
    GenProgram q = join(&r);
    free(p->text);
    *p = q;
    for (size_t i = 0; i < r.n; i++)
        free(r.lines[i]);
    free(r.lines);
}
