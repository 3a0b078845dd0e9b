/* formcheck: runs while Heddle is built, over the tables of PTX forms, modifiers and types, and ends with
 * status 1 and a line `frontend/FILE.def:LINE: error: ...` for each thing that one says and another does not
 * know:
 *   - a word of a form without a row in ptx_modifiers.def (types: ptx_types.def), so without a meaning or a
 * reason
 *   - a word that only says which form it is, where the form has a choice
 *   - any modifiers at all (`*`) in a form that something compiles, executes or proves
 *   - a row without a value or a reason, an alias of nothing, a row that no form takes
 *   - an operand pattern with a letter that does not exist
 * SPDX-License-Identifier: MIT */
#include "frontend/forms.h"
#include "frontend/modifiers.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int line;
    const char *columns; /* as written, macros expanded where another macro passed them on */
} form_rows[] = {
    {0},
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    {__LINE__, #select " " #interp " " #prove},
#include "frontend/ptx_forms.def"
};

static const int modifier_lines[] = {
#define PTX_MODIFIER(cls, word, effect) __LINE__,
#include "frontend/ptx_modifiers.def"
};

static unsigned errors;

__attribute__((format(printf, 3, 4))) static void error(const char *file, int line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "frontend/%s.def:%d: error: ", file, line);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    errors++;
}

static void check_word(unsigned form, const FormElement *element, const char *word, size_t size) {
    const char *op = ptx_op_name(form_op(form));
    int line = form_rows[form].line, n = (int)size;
    if (element->cls == 't') {
        if (!ptx_type_by_name(word, size))
            error("ptx_forms", line, "%s: .%.*s has no row in ptx_types.def", op, n, word);
        return;
    }
    if (element->cls == 'g')
        return;
    const PtxModifier *modifier = ptx_modifier_find(element->cls, word, size);
    if (!modifier)
        error("ptx_forms", line, "%s: .%.*s has no row of class %c in ptx_modifiers.def", op, n, word,
              element->cls);
    else if (modifier->effect == MOD_FORM && (element->is_optional || size != element->list_size))
        error("ptx_forms", line, "%s: .%.*s only says which form it is, here the form has a choice", op, n,
              word);
}

static bool is_absent(const char *columns) {
    unsigned n = 0;
    for (const char *p = columns; (p = strstr(p, "(ABSENT(")) != NULL; p++)
        n++;
    for (const char *p = columns; (p = strstr(p, "PROVE_")) != NULL; p++)
        n++; /* the shorthands of ptx_forms.def, which are all ABSENT */
    return n == 3;
}

static void check_operands(unsigned form) {
    const char *p = form_operand_text(form);
    for (bool first = true; *p; p += strcspn(p, ","), first = false) {
        p += !first;
        p += *p == '|';
        if (!strchr("dDPQsrivpmAUeELTXYOZ.", *p))
            error("ptx_forms", form_rows[form].line, "%s: no operand is of kind %c",
                  ptx_op_name(form_op(form)), *p);
    }
}

static bool takes(unsigned form, char cls, const char *text) {
    FormElement elements[FORM_MAX_ELEMENTS];
    bool open;
    unsigned n = form_elements(form, elements, &open);
    for (unsigned k = 0; k < n; k++) {
        const char *at = NULL, *word;
        size_t size;
        const PtxClass *class = ptx_class(elements[k].cls);
        char own = class ? class->words : 0;
        if (own == cls && !elements[k].list)
            return true;
        while (own == cls && form_element_word(&elements[k], &at, &word, &size))
            if (size == strlen(text) && !memcmp(word, text, size))
                return true;
    }
    return false;
}

static void check_modifier(unsigned n) {
    const PtxModifier *row = ptx_modifier_row(n);
    int line = modifier_lines[n];
    bool taken = ptx_class(row->cls)->is_behind;
    for (unsigned form = 1; form < form_count() && !taken; form++)
        taken = takes(form, row->cls, row->word);
    if (!taken)
        error("ptx_modifiers", line, "no form takes .%s of class %c", row->word, row->cls);
    if ((row->effect == MOD_MEANS || row->effect == MOD_HINT) && !row->value)
        error("ptx_modifiers", line, ".%s means 0, which is what its absence means", row->word);
    if ((row->effect == MOD_HINT || row->effect == MOD_IGNORED) && strlen(row->text) < 10)
        error("ptx_modifiers", line, ".%s has no reason", row->word);
    if (row->effect == MOD_ALIAS && !ptx_modifier_find(row->cls, row->text, strlen(row->text)))
        error("ptx_modifiers", line, ".%s is another word for .%s, which has no row", row->word, row->text);
    for (unsigned k = 0; k < n; k++)
        if (ptx_modifier_row(k)->cls == row->cls && !strcmp(ptx_modifier_row(k)->word, row->word))
            error("ptx_modifiers", line, ".%s of class %c is in line %d already", row->word, row->cls,
                  modifier_lines[k]);
}

static const int op_lines[PTX_OP_COUNT] = {
    0,
#define PTX_OP(name, ...) [PTX_##name] = __LINE__,
#include "frontend/ptx_ops.def"
};

static void check_op(unsigned op) {
    for (unsigned form = 1; form < form_count(); form++)
        if (form_op(form) == op)
            return;
    error("ptx_ops", op_lines[op], "%s has no form in ptx_forms.def", ptx_op_name((PtxOp)op));
}

int main(void) {
    for (unsigned op = 1; op < PTX_OP_COUNT; op++)
        check_op(op);
    for (unsigned form = 1; form < form_count(); form++) {
        FormElement elements[FORM_MAX_ELEMENTS];
        bool open;
        unsigned n = form_elements(form, elements, &open);
        for (unsigned k = 0; k < n; k++) {
            const char *at = NULL, *word;
            size_t size;
            const PtxClass *class = ptx_class(elements[k].cls);
            if (!class || class->is_behind)
                error("ptx_forms", form_rows[form].line, "%s: no modifier is of class %c",
                      ptx_op_name(form_op(form)), elements[k].cls);
            if (k && elements[k].is_name && !elements[k - 1].is_name)
                error("ptx_forms", form_rows[form].line, "%s: a word of the name stands behind others",
                      ptx_op_name(form_op(form)));
            while (form_element_word(&elements[k], &at, &word, &size))
                check_word(form, &elements[k], word, size);
        }
        if (open && !is_absent(form_rows[form].columns))
            error("ptx_forms", form_rows[form].line, "%s takes any modifiers and is not absent everywhere",
                  ptx_op_name(form_op(form)));
        check_operands(form);
    }
    for (unsigned n = 0; n < ptx_modifier_count(); n++)
        check_modifier(n);
    return errors != 0;
}
