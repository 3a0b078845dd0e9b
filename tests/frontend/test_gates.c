/* test_gates FILE...   every line `8.6 100a statement;` of the files is the lowest .version and .target with
 * which ptxas 13.0 takes the statement, `until 6.3 70 statement;` the highest .version for that .target. The
 * front end must take it there, and refuse it one .version and one .target below, naming what is asked for.
 * Lines of # are comments. test_gates cases FILE...   whole modules that ptxas refuses for .version or
 * .target: so must the front end. test_gates ask   for each line `8.6 100a statement;` of the standard input
 * a line, 1 if the front end takes it or 0 (spellings.py compares them with ptxas). test_gates types FILE
 * each line `statement | types`: of all types, the front end takes those for @ (types.py asked ptxas 13.0).
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "frontend/ast.h"
#include "frontend/gates.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned version; /* major * 10 + minor */
    const char *name; /* "90a" */
    uint32_t sm;
    char variant;
} TargetRow;
static const TargetRow targets[] = {
#define VERSION(major, minor) ((major)*10 + (minor))
#define PTX_TARGET(sm, version) {version, #sm, 0, 0},
#include "frontend/ptx_targets.def"
#undef PTX_TARGET
#undef VERSION
};
enum { NTARGETS = sizeof targets / sizeof *targets };

static unsigned bad;
static char last[2000]; /* the first message of the last parse */

/* Errors of `accepts` are about a statement of kernel k: each names a section of its own, the kernel and,
 * where the statement has a register, one. */
static void check_place(const char *statement, const char *message) {
    const char *place = strstr(message, " (PTX ISA ");
    bool in_head = strstr(message, ".texref requires") || strstr(message, ".surfref requires") ||
                   strstr(message, "error E0143") || strstr(message, "error E0147");
    bool good = place && place[10] >= '1' && place[10] <= '9';
    if (!in_head)
        good = good && strstr(place, "; function k");
    if (!in_head && good && strchr(statement, '%'))
        good = strstr(place, "; register %") != NULL;
    if (good && strstr(place, "PTX ISA 9.7 instructions"))
        good = strstr(message, "error E0105") != NULL;
    if (!good)
        fprintf(stderr, "%s section, function or register is not named: %s", statement, message), bad++;
}

static void keep_first(void *user, Severity severity, const char *line) {
    if (severity == SEV_ERROR && user)
        check_place(user, line);
    if (severity == SEV_ERROR && !last[0])
        snprintf(last, sizeof last, "%s", line);
}

static bool accepts(unsigned version, const char *target, const char *statement) {
    char text[2000];
    bool quad = strstr(statement, "%q") != NULL; /* a .reg of .b128 has an age of its own */
    int n =
        snprintf(text, sizeof text,
                 ".version %u.%u\n.target sm_%s\n%s%s.entry k%s { .reg .b64 %%d<40>; .reg .b32 %%r<40>; .reg "
                 ".b16 %%h<40>; .reg .b8 %%c<40>; .reg .pred %%p<40>; %s %s\n%s\nLL: ret; }\n",
                 version / 10, version % 10, target, strstr(statement, "[tt") ? ".global .texref tt;\n" : "",
                 strstr(statement, "[sf") ? ".global .surfref sf;\n" : "",
                 strstr(statement, "[pp]") ? "(.param .b64 pp)" : "", quad ? ".reg .b128 %q<9>;" : "",
                 strstr(statement, "[qq]") ? ".param .b64 qq;" : "", statement);
    Diags diags = {.sink = keep_first, .user = (void *)(uintptr_t)statement};
    last[0] = 0;
    PtxModule *module =
        n > 0 && n < (int)sizeof text ? ptx_parse("statement", text, (size_t)n, &diags) : NULL;
    ptx_free(module);
    return module != NULL;
}

static unsigned version_of(const char *target) {
    for (unsigned k = 0; k < NTARGETS; k++)
        if (!strcmp(targets[k].name, target))
            return targets[k].version;
    return 0;
}

static const TargetRow *below(const char *target) {
    const TargetRow *found = NULL;
    for (unsigned k = 0; k < NTARGETS; k++)
        if (atoi(targets[k].name) < atoi(target) && !strpbrk(targets[k].name, "af"))
            found = &targets[k];
    return found;
}

static void fail_line(const char *file, unsigned line, const char *what) {
    fprintf(stderr, "%s:%u: %s: %s\n", file, line, what, last[0] ? last : "no message\n");
    bad++;
}

/* Numbers of versions are not dense: 5.0 follows 4.3. What does not exist is refused as well. */
static void check_line(const char *file, unsigned line, unsigned version, const char *target,
                       const char *statement) {
    unsigned least = version_of(target);
    if (!least)
        fail_line(file, line, "there is no such target");
    if (!accepts(version > least ? version : least, target, statement))
        fail_line(file, line, "refused");
    if (version > 10 && version > least &&
        (accepts(version - 1, target, statement) || (!strstr(last, "E0145") && !strstr(last, "E0143"))))
        fail_line(file, line, "not refused for .version");
    const TargetRow *lower = below(target);
    if (lower && atoi(target) > 20 && (accepts(90, lower->name, statement) || !strstr(last, "E0146")))
        fail_line(file, line, "not refused for .target");
    char plain[8];
    snprintf(plain, sizeof plain, "%d", atoi(target));
    if (strcmp(plain, target) != 0 && (accepts(90, plain, statement) || !strstr(last, "E0146")))
        fail_line(file, line, "not refused for a .target that is not of the architecture");
}

/* What ended: the last .version that has it, with a .target with which it ended. */
static void check_end(const char *file, unsigned line, unsigned version, const char *target,
                      const char *statement) {
    if (!accepts(version, target, statement))
        fail_line(file, line, "refused");
    if (accepts(version + 1, target, statement) || !strstr(last, "E0148"))
        fail_line(file, line, "not refused in the next .version");
}

static unsigned check_list(const char *file, const char *text) {
    unsigned line = 0, n = 0;
    for (const char *at = text; *at; line++) {
        size_t size = strcspn(at, "\n");
        char copy[400], target[8];
        unsigned major, minor;
        int used = 0;
        snprintf(copy, sizeof copy, "%.*s", (int)size, at);
        if (copy[0] && copy[0] != '#') {
            bool ends = !strncmp(copy, "until ", 6);
            const char *row = copy + (ends ? 6 : 0);
            if (sscanf(row, "%u.%u %7s %n", &major, &minor, target, &used) == 3 && ends)
                check_end(file, line + 1, major * 10 + minor, target, row + used), n++;
            else if (sscanf(row, "%u.%u %7s %n", &major, &minor, target, &used) == 3 && used && copy[used])
                check_line(file, line + 1, major * 10 + minor, target, copy + used), n++;
            else
                fail_line(file, line + 1, "malformed line");
        }
        at += size + (at[size] == '\n');
    }
    return n;
}

static unsigned check_case(const char *file, const char *text, size_t size) {
    Diags diags = {.sink = keep_first};
    last[0] = 0;
    PtxModule *module = ptx_parse(file, text, size, &diags);
    if (module)
        fail_line(file, 1, "accepted");
    ptx_free(module);
    return 1;
}

/* The types that are tried, and the letter of the registers of their size. */
static const char *const types[][2] = {
    {"b8", "h"},    {"u8", "h"},     {"s8", "h"},    {"b16", "h"},   {"u16", "h"}, {"s16", "h"},
    {"f16", "h"},   {"bf16", "h"},   {"b32", "r"},   {"u32", "r"},   {"s32", "r"}, {"f32", "r"},
    {"f16x2", "r"}, {"bf16x2", "r"}, {"u16x2", "r"}, {"s16x2", "r"}, {"b64", "d"}, {"u64", "d"},
    {"s64", "d"},   {"f64", "d"},    {"f32x2", "d"}, {"pred", "p"},
};

/* shape, with the type for its first @ that is no register, and registers of the type's size */
static void of_type(char *out, const char *shape, size_t size, const char *const type[2]) {
    for (size_t k = 0; k < size; k++) {
        const char *put = shape[k] != '@' ? NULL : k && shape[k - 1] == '%' ? type[1] : type[0];
        out += put ? sprintf(out, "%s", put) : (*out = shape[k], 1);
    }
    *out = 0;
}

static unsigned check_types(const char *file, const char *text) {
    unsigned line = 1, n = 0;
    for (const char *at = text; *at; line++) {
        size_t size = strcspn(at, "\n");
        char copy[400], statement[1000], word[16];
        snprintf(copy, sizeof copy, " %.*s ", (int)size, at);
        at += size + (at[size] == '\n');
        char *bar = strstr(copy, " | ");
        if (copy[1] == '#')
            continue;
        if (!bar) {
            fail_line(file, line, "malformed line");
            continue;
        }
        for (unsigned k = 0; k < sizeof types / sizeof *types; k++, n++) {
            of_type(statement, copy + 1, (size_t)(bar - copy - 1), types[k]);
            snprintf(word, sizeof word, " %s ", types[k][0]);
            if (accepts(90, "100a", statement) != (strstr(bar, word) != NULL))
                fail_line(file, line, statement);
        }
    }
    return n;
}

static int answer(void) {
    static char line[1000];
    char target[8];
    unsigned major, minor;
    int used = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%u.%u %7s %n", &major, &minor, target, &used) != 3)
            return 2;
        printf("%d\n", accepts(major * 10 + minor, target, line + used));
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "ask"))
        return answer();
    bool cases = argc > 1 && !strcmp(argv[1], "cases"), by_type = argc > 1 && !strcmp(argv[1], "types");
    unsigned n = 0;
    for (int i = cases || by_type ? 2 : 1; i < argc; i++) {
        Arena arena = {0};
        Diags diags = {.sink = diag_print_sink, .user = stderr};
        char *text;
        size_t size;
        if (!file_read(&arena, argv[i], &diags, &text, &size))
            return 2;
        n += cases     ? check_case(argv[i], text, size)
             : by_type ? check_types(argv[i], text)
                       : check_list(argv[i], text);
        arena_free(&arena);
    }
    printf("%u statements or modules, %u failures\n", n, bad);
    return n == 0 || bad != 0;
}
