/* What names mean, and lists from the tables: see explain.h.
 * SPDX-License-Identifier: MIT */
#include "tools/jobs/explain.h"
#include "base/diag.h"
#include "base/json.h"
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

static const struct {
    const char *name, *summary, *text;
} operation_texts[] = {
#define OPERATION(name, summary, text) {#name, summary, text},
#include "tools/jobs/operations.def"
#undef OPERATION
};

/* An operation of a machine, "BSSY" or "BAR.SYNC"; NULL: there is none of that name. */
static char *explain_operation(const char *name) {
    size_t size = strcspn(name, ".");
    unsigned op = 1;
    while (op < OT_COUNT &&
           (strlen(isa_optype_name(op)) != size || strncasecmp(isa_optype_name(op), name, size) != 0))
        op++;
    if (op == OT_COUNT)
        return NULL;
    TextStream *stream = text_open();
    const char *summary = "machine code", *text = NULL, *comma = "";
    for (unsigned k = 0; k < sizeof operation_texts / sizeof *operation_texts; k++)
        if (strcmp(operation_texts[k].name, isa_optype_name(op)) == 0)
            summary = operation_texts[k].summary, text = operation_texts[k].text;
    fprintf(stream->out, "%s (operation): %s\n\n", isa_optype_name(op), summary);
    if (text)
        fprintf(stream->out, "%s\n\n", text);
    fputs("Of ", stream->out);
    for (const Target *const *target = isa_targets; *target; target++)
        if (isa_target_has(*target, op)) {
            fprintf(stream->out, "%s%s", comma, isa_target_name(*target));
            comma = ", ";
        }
    fputs(*comma ? ". NVIDIA's document on the CUDA binary utilities has a line on each operation.\n"
                 : "no target that is compiled for.\n",
          stream->out);
    return text_close(stream, NULL);
}

char *report_explain(const char *name) {
    DiagCode code = find_code(name);
    if (code == DIAG_COUNT) {
        char *text = check_explain(name);
        return text ? text : explain_operation(name);
    }
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

static void begin_list(ExplainList *list, const char *const *columns) {
    unsigned n = 0;
    list->columns = columns;
    for (; columns[n] && list->out; n++)
        fprintf(list->out, "| %s ", columns[n]);
    for (unsigned k = 0; k < n; k++)
        fputs(k ? "---|" : "|\n|---|", list->out);
    if (list->out)
        fputc('\n', list->out);
}

static void begin_row(ExplainList *list) {
    list->column = 0;
    list->nrows++;
    if (list->out) {
        fputc('|', list->out);
    } else {
        list->row = json_object();
        json_append(list->json, list->row);
    }
}

static void add_cell(ExplainList *list, const char *text) {
    const char *column = list->columns[list->column++];
    if (list->out) {
        fputc(' ', list->out);
        print_cell(list->out, text);
        fputs(*text ? " |" : "|", list->out);
    } else {
        json_add_text(list->row, column, text);
    }
    if (list->out && !list->columns[list->column])
        fputc('\n', list->out);
}

/* The same of what a stream holds, which is then gone. */
static void add_stream(ExplainList *list, TextStream *stream) {
    char *text = text_close(stream, NULL);
    add_cell(list, text);
    mem_free(text);
}

void report_codes(ExplainList *list) {
    static const char *const columns[] = {"code", "severity", "text", "meaning", "section", NULL};
    begin_list(list, columns);
    for (DiagCode code = 0; code < DIAG_COUNT; code++) {
        DiagInfo info = diag_info(code);
        TextStream *text = text_open();
        print_shape(text->out, info.format);
        begin_row(list);
        add_cell(list, info.name);
        add_cell(list, info.severity);
        add_stream(list, text);
        add_cell(list, help_of(&info));
        add_cell(list, info.section ? info.section : "");
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
static void add_stage(ExplainList *list, const char *name) {
    static const char absent[] = "ABSENT(";
    TextStream *stream = text_open();
    bool is_there = strncmp(name, absent, sizeof absent - 1) != 0;
    for (const char *s = is_there ? "" : name + sizeof absent - 1; *s && s[1]; s++)
        if (*s != '"' && *s != '\\')
            fputc(*s, stream->out);
    fputs(is_there ? "yes" : "", stream->out);
    add_stream(list, stream);
}

/* "add[.rn.rz][.ftz].f32": brackets around what may be left out, all words where one is chosen. */
static void print_form(FILE *out, unsigned form, bool quoted) {
    FormElement elements[FORM_MAX_ELEMENTS];
    bool open;
    unsigned n = form_elements(form, elements, &open);
    fprintf(out, "%s%s", quoted ? "`" : "", ptx_op_name(form_op(form)));
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
    fprintf(out, "%s%s", open ? "..." : "", quoted ? "`" : "");
}

void report_ptx_forms(ExplainList *list) {
    static const char *const columns[] = {"form",     "section",     "version", "target",
                                          "compiled", "interpreted", "proved",  NULL};
    unsigned counts[3] = {0};
    begin_list(list, columns);
    for (unsigned form = 1; form < form_count(); form++) {
        PtxNeed need = form_need(form);
        TextStream *name = text_open(), *version = text_open(), *target = text_open();
        print_form(name->out, form, list->out != NULL);
        fprintf(version->out, "%u.%u", need.version / 10u, need.version % 10u);
        fprintf(target->out, "sm_%s", need.target);
        begin_row(list);
        add_stream(list, name);
        add_cell(list, form_section(form));
        add_stream(list, version);
        add_stream(list, target);
        for (unsigned k = 0; k < 3; k++) {
            const char *stage = form_stages[form].stage[k];
            counts[k] += strncmp(stage, "ABSENT(", 7) != 0;
            add_stage(list, stage);
        }
    }
    if (list->out)
        fprintf(list->out, "\nOf %u forms %u are compiled, %u interpreted, %u proved.\n", form_count() - 1,
                counts[0], counts[1], counts[2]);
}

void report_operations(ExplainList *list) {
    const char *columns[32] = {"operation"};
    unsigned n = 1;
    for (const Target *const *t = isa_targets; *t && n < 30; t++)
        columns[n++] = isa_target_name(*t);
    columns[n] = "executed";
    begin_list(list, columns);
    for (unsigned op = 1; op < OT_COUNT; op++) {
        bool any = false;
        for (const Target *const *t = isa_targets; *t; t++)
            any |= isa_target_has(*t, op);
        if (!any)
            continue;
        begin_row(list);
        TextStream *name = text_open();
        fprintf(name->out, list->out ? "`%s`" : "%s", isa_optype_name(op));
        add_stream(list, name);
        for (const Target *const *t = isa_targets; *t; t++)
            add_cell(list, isa_target_has(*t, op) ? "yes" : "");
        const char *absent = isa_traits(op)->absent;
        add_cell(list, absent ? absent : "yes");
    }
    list->columns = NULL; /* they end here */
}
