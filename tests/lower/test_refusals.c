/* test_refusals HEDDLE GATES   one statement at least of each form that is not compiled (ptx_forms.def:
 * SELECT(ABSENT)), taken from GATES, which ptxas takes (tests/frontend/gates.py asks it). `heddle compile`
 * must end with status 1 and E0701 at the statement, naming the instruction, the row's reason, the section, a
 * register of the statement where it has one, and the function. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "frontend/forms.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* By form: the SELECT column as written; a form without selection says `SELECT(ABSENT("reason"))`. */
static const char *const columns[] = {
    "",
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target) #select,
#include "frontend/ptx_forms.def"
};
enum { NFORMS = sizeof columns / sizeof *columns };

static const char *heddle;
static char directory[64] = "/tmp/heddle-refusals-XXXXXX";
static unsigned bad, asked, covered[NFORMS];

static bool reason_of(unsigned form, char *out, size_t size) {
    const char *begin = strstr(columns[form], "ABSENT(\"");
    if (!begin)
        return false;
    begin += strlen("ABSENT(\"");
    snprintf(out, size, "%.*s", (int)strcspn(begin, "\""), begin);
    return true;
}

static void fail(const char *statement, const char *what, const char *said) {
    fprintf(stderr, "%s %s: %s\n", statement, what, said);
    bad++;
}

/* Head of the module; the statement stands behind it, on a line of its own. */
static size_t head(char *text, size_t size, unsigned version, const char *target, const char *statement) {
    return (size_t)snprintf(
        text, size,
        ".version %u.%u\n.target sm_%s\n%s%s.entry kernel%s { .reg .b64 %%d<40>; .reg .b32 "
        "%%r<40>; .reg .b16 %%h<40>; .reg .b8 %%c<40>; .reg .pred %%p<40>; %s %s\nLL:\n",
        version / 10, version % 10, target, strstr(statement, "[tt") ? ".global .texref tt;\n" : "",
        strstr(statement, "[sf") ? ".global .surfref sf;\n" : "",
        strstr(statement, "[pp]") ? "(.param .b64 pp)" : "",
        strstr(statement, "%q") ? ".reg .b128 %q<9>;" : "",
        strstr(statement, "[qq]") ? ".param .b64 qq;" : "");
}

/* The text behind `name: error E0701: `, a register and the status of the compiler. */
static int compile(const char *text, char *said, size_t size) {
    char path[100], command[1200];
    snprintf(path, sizeof path, "%s/k.ptx", directory);
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fputs(text, file);
    fclose(file);
    snprintf(command, sizeof command, "'%s' compile -t bru1 '%s' -o '%s/k.bin' 2>&1", heddle, path,
             directory);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        abort();
    size_t n = fread(said, 1, size - 1, pipe);
    said[n] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "; register %r1; function kernel)" names a register that the statement has. */
static bool names_register(const char *said, const char *statement) {
    const char *reg = strstr(said, "; register ");
    if (!strchr(statement, '%'))
        return !reg;
    char name[16];
    if (!reg || sscanf(reg, "; register %15[%a-z0-9]", name) != 1)
        return false;
    const char *at = strstr(statement, name);
    return at && !strchr("0123456789", at[strlen(name)]);
}

static void check(unsigned version, const char *target, const char *statement) {
    char text[2000], said[4000], expected[600], reason[200], line[40];
    Diags diags = {.sink = diag_print_sink, .user = stderr};
    size_t n = head(text, sizeof text, version, target, statement);
    unsigned lines = 1;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    snprintf(text + n, sizeof text - n, "%s\nret; }\n", statement);
    PtxModule *module = ptx_parse("k.ptx", text, strlen(text), &diags);
    if (!module) {
        fail(statement, "is not taken by the front end", "");
        return;
    }
    const PtxInsn *insn = &module->funcs[0].insns[0];
    if (reason_of(insn->form, reason, sizeof reason)) {
        asked++;
        covered[insn->form]++;
        int status = compile(text, said, sizeof said);
        snprintf(expected, sizeof expected, " error E0701: %s%s is not compiled: %s (PTX ISA %s",
                 ptx_op_name((PtxOp)insn->op), str_text(&module->strings, insn->mods_text), reason,
                 form_section(insn->form));
        snprintf(line, sizeof line, "/k.ptx:%u:1:", lines);
        if (status != 1)
            fail(statement, "does not end with status 1", said);
        else if (!strstr(said, expected))
            fail(statement, expected, said);
        else if (!strstr(said, line))
            fail(statement, "is refused elsewhere", said);
        else if (!strstr(said, "; function kernel)\n"))
            fail(statement, "names no function", said);
        else if (!names_register(said, statement))
            fail(statement, "names no register of it", said);
    }
    ptx_free(module);
}

int main(int argc, char **argv) {
    Arena arena = {0};
    Diags diags = {.sink = diag_print_sink, .user = stderr};
    char *text;
    size_t size;
    if (argc != 3 || !file_read(&arena, argv[2], &diags, &text, &size) || !mkdtemp(directory))
        return 2;
    heddle = argv[1];
    for (const char *at = text; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0)) {
        unsigned major, minor, least = 0;
        char target[8], statement[400];
        if (*at == '#' || sscanf(at, "%u.%u %7s %399[^\n]", &major, &minor, target, statement) != 4)
            continue;
#define VERSION(major_, minor_) ((major_)*10 + (minor_))
#define PTX_TARGET(sm, version)                                                                              \
    if (!strcmp(target, #sm))                                                                                \
        least = version;
#include "frontend/ptx_targets.def"
#undef PTX_TARGET
#undef VERSION
        unsigned version = major * 10 + minor;
        check(version > least ? version : least, target, statement);
    }
    unsigned absent = 0;
    char reason[200], path[100];
    for (unsigned form = 1; form < NFORMS; form++) {
        if (!reason_of(form, reason, sizeof reason))
            continue;
        absent++;
        if (strlen(reason) < 15)
            fail(form_mods(form), "gives no reason", reason);
        if (!covered[form])
            fail(ptx_op_name(form_op(form)), "has a form without a statement", form_mods(form));
    }
    snprintf(path, sizeof path, "%s/k.ptx", directory);
    unlink(path);
    rmdir(directory);
    arena_free(&arena);
    printf("%u forms are not compiled, %u statements of theirs refused, %u failures\n", absent, asked, bad);
    return bad != 0 || absent < 30;
}
