/* What names mean, and lists from the tables: see explain.h.
 * SPDX-License-Identifier: MIT */
#include "tools/explain.h"
#include "base/diag.h"
#include "base/scope.h"
#include "check/static/check.h"
#include "frontend/forms.h"
#include "isa/isa.h"
#include <string.h>
#include <strings.h>

/* ---- one name ---- */

/* A printf format with N for numbers and X for words that are filled in. */
static void print_shape(FILE *out, const char *format) {
    for (const char *s = format; *s; s++) {
        if (*s != '%') {
            fputc(*s, out);
        } else if (s[1] == '%') {
            fputc(*s++, out);
        } else {
            s++;
            s += strspn(s, ".*0123456789"); /* precision and width */
            s += strspn(s, "l");            /* the letter of the conversion ends it */
            fputc(strchr("duxXeg", *s) ? 'N' : 'X', out);
        }
    }
}

static const char *help_of(const DiagInfo *info) {
    return info->help ? info->help
                      : "A defect of Heddle, not of the input: what it was given, and the command line, are "
                        "worth a report.";
}

static DiagCode find_code(const char *name) {
    DiagCode code = 0;
    while (code < DIAG_COUNT && strcasecmp(diag_code_name(code), name) != 0)
        code++;
    return code;
}

char *report_explain(const char *name) {
    DiagCode code = find_code(name);
    if (code == DIAG_COUNT)
        return check_explain(name);
    DiagInfo info = diag_info(code);
    TextStream *stream = text_open();
    fprintf(stream->out, "%s (%s): ", info.name, info.severity);
    print_shape(stream->out, info.format);
    fprintf(stream->out, "\n\n%s\n", help_of(&info));
    if (info.section)
        fprintf(stream->out, "\nPTX ISA document: %s, where the message names no other.\n", info.section);
    return text_close(stream, NULL);
}

/* ---- lists ---- */

/* A cell of a table, in which a bar would end it. */
static void print_cell(FILE *out, const char *text) {
    for (; *text; text++)
        fprintf(out, *text == '|' ? "\\|" : "%c", *text);
}

void report_codes(FILE *out) {
    fputs("| code | | text | what it means | PTX ISA |\n|---|---|---|---|---|\n", out);
    for (DiagCode code = 0; code < DIAG_COUNT; code++) {
        DiagInfo info = diag_info(code);
        fprintf(out, "| %s | %s | ", info.name, info.severity);
        print_shape(out, info.format);
        fputs(" | ", out);
        print_cell(out, help_of(&info));
        fprintf(out, " | %s |\n", info.section ? info.section : "");
    }
}

/* By form: the functions of its stages, as the rows name them. */
static const struct {
    const char *stage[3];
} form_stages[] = {
    {{0}},
#define SELECT(name) #name
#define INTERP(name) #name
#define PROVE(name) #name
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    {{select, interp, prove}},
#include "frontend/ptx_forms.def"
#undef SELECT
#undef INTERP
#undef PROVE
};

/* "yes", or the reason why not: ABSENT("reason"). */
static void print_stage(FILE *out, const char *name) {
    static const char absent[] = "ABSENT(";
    if (strncmp(name, absent, sizeof absent - 1) != 0) {
        fputs("yes", out);
        return;
    }
    for (const char *s = name + sizeof absent - 1; s[1]; s++)
        if (*s != '"' && *s != '\\')
            fputc(*s, out);
}

/* "add[.rn.rz][.ftz].f32": brackets around what may be left out, all words where one is chosen. */
static void print_form(FILE *out, unsigned form) {
    FormElement elements[FORM_MAX_ELEMENTS];
    bool open;
    unsigned n = form_elements(form, elements, &open);
    fprintf(out, "%s", ptx_op_name(form_op(form)));
    for (unsigned k = 0; k < n; k++) {
        const char *at = NULL, *word, *bar = "";
        size_t size;
        bool several = elements[k].list && memchr(elements[k].list, '|', elements[k].list_size);
        fputs(elements[k].is_optional ? "[" : several ? "{" : "", out);
        while (form_element_word(&elements[k], &at, &word, &size)) {
            fprintf(out, "%s.%.*s", bar, (int)size, word);
            bar = " ";
        }
        if (!elements[k].list)
            fputs(elements[k].cls == 'c' ? ".comparison" : ".*", out);
        fputs(elements[k].is_optional ? "]" : several ? "}" : "", out);
    }
    if (open)
        fputs("...", out);
}

void report_ptx_forms(FILE *out) {
    unsigned counts[3] = {0};
    fputs("| form | PTX ISA | .version | .target | compiled | interpreted | proved "
          "|\n|---|---|---|---|---|---|---|\n",
          out);
    for (unsigned form = 1; form < form_count(); form++) {
        PtxNeed need = form_need(form);
        fputs("| `", out);
        print_form(out, form);
        fprintf(out, "` | %s | %u.%u | sm_%s |", form_section(form), need.version / 10u, need.version % 10u,
                need.target);
        for (unsigned k = 0; k < 3; k++) {
            const char *name = form_stages[form].stage[k];
            counts[k] += strncmp(name, "ABSENT(", 7) != 0;
            fputc(' ', out);
            print_stage(out, name);
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    fprintf(out, "\nOf %u forms %u are compiled, %u interpreted, %u proved.\n", form_count() - 1, counts[0],
            counts[1], counts[2]);
}

void report_operations(FILE *out) {
    fputs("| operation |", out);
    for (const Target *const *t = isa_targets; *t; t++)
        fprintf(out, " %s |", isa_target_name(*t));
    fputs(" executed |\n|---|", out);
    for (const Target *const *t = isa_targets; *t; t++)
        fputs("---|", out);
    fputs("---|\n", out);
    for (unsigned op = 1; op < OT_COUNT; op++) {
        bool any = false;
        for (const Target *const *t = isa_targets; *t; t++)
            any |= isa_target_has(*t, op);
        if (!any)
            continue;
        fprintf(out, "| `%s` |", isa_optype_name(op));
        for (const Target *const *t = isa_targets; *t; t++)
            fputs(isa_target_has(*t, op) ? " yes |" : " |", out);
        const char *absent = isa_traits(op)->absent;
        fputc(' ', out);
        print_cell(out, absent ? absent : "yes");
        fputs(" |\n", out);
    }
}
