/* test_ptx_files err FILE...   every line marked `// error E0104` or `// warning W0140` reports that code,
 *                              and no other line reports anything; every report names a section of the PTX
 * ISA document, in a function that function, and of an instruction a register test_ptx_files ok FILE...
 * parses without a diagnostic; printing, parsing and printing again gives the same text and the same number
 * of everything SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "frontend/ast.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPORTS = 100 };
typedef struct {
    struct {
        unsigned line;
        char code[8];
        bool matched;
        char text[600];
    } at[MAX_REPORTS];
    unsigned n;
    bool print;
} Reports;

/* "file:12:5: error E0104: ..." */
static void collect(void *user, Severity severity, const char *text) {
    Reports *reports = user;
    (void)severity;
    if (reports->print)
        fputs(text, stderr);
    const char *colon = strchr(text, ':');
    while (colon && (colon[1] < '0' || colon[1] > '9'))
        colon = strchr(colon + 1, ':');
    if (reports->n >= MAX_REPORTS || !colon ||
        sscanf(colon, ":%u:%*u: %*s %7[A-Z0-9]", &reports->at[reports->n].line,
               reports->at[reports->n].code) != 2) {
        fprintf(stderr, "a diagnostic without place: %s", text);
        exit(2);
    }
    snprintf(reports->at[reports->n].text, sizeof reports->at[0].text, "%s", text);
    reports->n++;
}

/* Is a block open before the line? What opens behind `=` is an initialiser. */
static bool in_function(const char *text, unsigned line) {
    unsigned depth = 0, at = 1;
    bool body = false;
    char last = 0;
    for (const char *p = text; *p && at < line; p++) {
        if (*p == '/' && p[1] == '/')
            p += strcspn(p, "\n");
        if (*p == '\n')
            at++;
        if (*p == '{' && !depth++)
            body = last != '=';
        if (*p == '}' && depth)
            depth--;
        if (*p > ' ')
            last = *p;
    }
    return depth && body;
}

/* What a report has to say beside its text: (PTX ISA 9.7.1.1 add; register %r1; function k). */
static unsigned check_place(const char *name, const char *text, const Reports *reports, unsigned i) {
    const char *message = reports->at[i].text, *place = strstr(message, " (PTX ISA ");
    const char *source = strchr(message, '\n');
    char line[300] = "";
    if (source)
        snprintf(line, sizeof line, "%.*s", (int)strcspn(source + 1, "\n/"), source + 1);
    bool good = place && place[10] >= '1' && place[10] <= '9';
    if (good && in_function(text, reports->at[i].line))
        good = strstr(place, "; function ") != NULL;
    if (good && !strncmp(place, " (PTX ISA 9.7", 13) && strchr(line, '%'))
        good = strstr(place, "; register ") != NULL;
    if (!good)
        fprintf(stderr, "%s:%u: section, function or register is not named: %s", name, reports->at[i].line,
                message);
    return !good;
}

static bool take(Reports *reports, unsigned line, const char *code) {
    for (unsigned i = 0; i < reports->n; i++)
        if (!reports->at[i].matched && reports->at[i].line == line && !strcmp(reports->at[i].code, code))
            return reports->at[i].matched = true;
    return false;
}

static unsigned check_err(const char *name, const char *text, size_t size) {
    Reports r = {0};
    Diags d = {.sink = collect, .user = &r};
    unsigned bad = 0, marks = 0, errors = 0, line = 1;
    PtxModule *m = ptx_parse(name, text, size, &d);
    for (const char *p = text; p < text + size; line++) {
        const char *end = memchr(p, '\n', (size_t)(text + size - p));
        char copy[512], kind[8], code[8];
        snprintf(copy, sizeof copy, "%.*s", (int)(end ? end - p : text + size - p), p);
        const char *mark = strstr(copy, "// error "), *warning = strstr(copy, "// warning ");
        mark = mark ? mark : warning;
        if (mark && sscanf(mark, "// %7s %7[A-Z0-9]", kind, code) == 2) {
            marks++;
            errors += *kind == 'e';
            if (!take(&r, line, code))
                bad++, fprintf(stderr, "%s:%u: %s was not reported\n", name, line, code);
        }
        p = end ? end + 1 : text + size;
    }
    for (unsigned i = 0; i < r.n; i++)
        if (!r.at[i].matched)
            bad++, fprintf(stderr, "%s:%u: %s was not expected\n", name, r.at[i].line, r.at[i].code);
    for (unsigned i = 0; i < r.n; i++)
        bad += check_place(name, text, &r, i);
    if (!marks)
        bad++, fprintf(stderr, "%s has no mark\n", name);
    if (errors && m)
        bad++, fprintf(stderr, "%s: a module was returned\n", name);
    ptx_free(m);
    return bad;
}

static unsigned count_insns(const PtxModule *module) {
    unsigned n = 0;
    for (uint32_t i = 0; i < module->nfuncs; i++)
        n += module->funcs[i].ninsns;
    return n;
}

static unsigned check_ok(const char *name, const char *text, size_t size) {
    Reports r = {.print = true};
    Diags d = {.sink = collect, .user = &r};
    char *once = NULL, *twice = NULL;
    size_t n1 = 0, n2 = 0;
    PtxModule *module = ptx_parse(name, text, size, &d);
    PtxModule *ptx_module =
        module && ptx_print(module, &once, &n1) ? ptx_parse("printed", once, n1, &d) : NULL;
    bool ok = ptx_module && ptx_print(ptx_module, &twice, &n2) && n1 == n2 && !memcmp(once, twice, n1);
    ok = ok && r.n == 0 && module->nvars >= 1 && module->nfuncs == ptx_module->nfuncs &&
         count_insns(module) == count_insns(ptx_module);
    if (!ok) {
        fprintf(stderr, "%s: text does not come back the same\n", name);
        if (once && twice)
            fprintf(stderr, "---- first\n%s\n---- second\n%s\n", once, twice);
    }
    free(once);
    free(twice);
    ptx_free(module);
    ptx_free(ptx_module);
    return !ok;
}

int main(int argc, char **argv) {
    unsigned bad = 0;
    if (argc < 3)
        return 2;
    for (int i = 2; i < argc; i++) {
        Arena arena = {0};
        Diags d = {.sink = diag_print_sink, .user = stderr};
        char *text;
        size_t size;
        if (!file_read(&arena, argv[i], &d, &text, &size))
            return 2;
        bad += strcmp(argv[1], "err") ? check_ok(argv[i], text, size) : check_err(argv[i], text, size);
        arena_free(&arena);
    }
    printf("%d files, %u failures\n", argc - 2, bad);
    return bad != 0;
}
