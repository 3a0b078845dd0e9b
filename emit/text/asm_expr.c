/* Expressions of the file form:
 *   sum     term {(+|-) term}                 the value is modulo 2^64
 *   term    factor [/ number]
 *   factor  number, label, label@srel, (sum), `(sum), - factor,
 *           index@(symbol[, n])               its number in the symbol table; n: the n-th of that name
 *           section@(name)                    the section's number
 *           str_index@("text")                its place in the string table of the symbols
 *           FUNCTION@OPERATOR(symbol)         nvdisasm: an address with a relocation of that kind
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_doc.h"
#include <ctype.h>
#include <string.h>

enum { DEEPEST = 32 };

bool asm_doc_fills(const AsmDoc *doc) { return doc->stage == DOC_CODE || doc->stage == DOC_FILL; }

const DocLabel *asm_doc_label(const AsmDoc *doc, const char *name, size_t size_bytes) {
    StrId id = str_find(&doc->text->strings, name, size_bytes);
    uint32_t label = id.i ? strmap_get(&doc->label_of, id) : 0;
    return label ? &doc->labels.at[label - 1] : NULL;
}

static bool sum(AsmDoc *doc, DocValue *out, unsigned depth);

static bool in_parentheses(AsmDoc *doc, DocValue *out, unsigned depth) {
    return asm_accept(doc->text, '(') && sum(doc, out, depth + 1) &&
           (asm_accept(doc->text, ')') || asm_doc_error(doc, doc->text->p, DIAG_E0350, "')'"));
}

/* "(NAME[, n])" behind index@ or section@. */
static bool name_in_parentheses(AsmDoc *doc, const char **name, uint64_t *which) {
    *which = 1;
    if (!asm_accept(doc->text, '('))
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "'('");
    if (!asm_name(doc->text, name))
        return false;
    if (asm_accept(doc->text, ',') && !asm_number_max(doc->text, UINT32_MAX, which))
        return false;
    return asm_accept(doc->text, ')') || asm_doc_error(doc, doc->text->p, DIAG_E0350, "')'");
}

static bool symbol_index(AsmDoc *doc, const char *start, DocValue *out) {
    const char *name;
    uint64_t which;
    if (!name_in_parentheses(doc, &name, &which))
        return false;
    uint32_t section = doc->stage == DOC_PLACE ? asm_doc_section_named(doc, name) : 0;
    if (section)
        doc->sections.at[section].named = true;
    if (doc->stage != DOC_FILL)
        return true;
    int64_t index = asm_doc_symbol_index(doc, str_intern_z(&doc->text->strings, name), which);
    out->value = (uint64_t)index;
    return index >= 0 || asm_doc_error(doc, start, DIAG_E0359, name);
}

static bool section_index(AsmDoc *doc, const char *start, DocValue *out) {
    const char *name;
    uint64_t which;
    if (!name_in_parentheses(doc, &name, &which))
        return false;
    uint32_t first = asm_doc_section_named(doc, name);
    for (uint32_t i = first; first && which && i < doc->sections.n; i++)
        if (strcmp(doc->sections.at[i].name, name) == 0 && --which == 0)
            out->value = i;
    return out->value || doc->stage == DOC_SCAN || asm_doc_error(doc, start, DIAG_E0360, name);
}

static bool string_index(AsmDoc *doc, DocValue *out) {
    const char *text;
    uint64_t which;
    if (!name_in_parentheses(doc, &text, &which))
        return false;
    if (doc->stage == DOC_FILL)
        out->value = doc->has_tables ? asm_doc_string(doc, doc->strtab, text)
                                     : elf_bytes_string(doc->a, &doc->names, text);
    return true;
}

/* A label, as place in its section; `name` may end in @srel. */
static bool label_value(AsmDoc *doc, const char *start, const char *name, DocValue *out) {
    size_t size = strlen(name);
    out->is_srel = size > 5 && strcmp(name + size - 5, "@srel") == 0;
    const DocLabel *label = asm_doc_label(doc, name, out->is_srel ? size - 5 : size);
    if (!out->is_srel) {
        out->addresses = 1;
        out->symbol = str_intern_z(&doc->text->strings, name);
    }
    if (label)
        out->value = label->offset;
    else if (asm_doc_fills(doc) && (out->is_srel || doc->has_tables))
        return asm_doc_error(doc, start, DIAG_E0355, name);
    return true;
}

static bool named(AsmDoc *doc, DocValue *out) {
    const char *start = doc->text->p, *name = asm_word(doc->text);
    out->is_number = false;
    if (!name)
        return asm_doc_error(doc, start, DIAG_E0350, "a number, a label or an expression");
    if (strcmp(name, "index@") == 0)
        return symbol_index(doc, start, out);
    if (strcmp(name, "section@") == 0)
        return section_index(doc, start, out);
    if (strcmp(name, "str_index@") == 0)
        return string_index(doc, out);
    return label_value(doc, start, name, out);
}

static bool factor(AsmDoc *doc, DocValue *out, unsigned depth) {
    *out = (DocValue){.is_number = true};
    if (depth > DEEPEST)
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "an expression that is less deep");
    asm_accept(doc->text, '`');
    asm_at_end(doc->text);
    if (*doc->text->p == '(')
        return in_parentheses(doc, out, depth);
    if (*doc->text->p == '-' && !isdigit((unsigned char)doc->text->p[1])) {
        doc->text->p++;
        if (!factor(doc, out, depth + 1))
            return false;
        out->value = 0 - out->value;
        out->addresses = -out->addresses;
        return true;
    }
    if (isdigit((unsigned char)*doc->text->p) || *doc->text->p == '-')
        return asm_number(doc->text, &out->value);
    return named(doc, out);
}

static bool term(AsmDoc *doc, DocValue *out, unsigned depth) {
    const char *start = doc->text->p;
    uint64_t divisor;
    if (!factor(doc, out, depth))
        return false;
    if (!asm_accept(doc->text, '/'))
        return true;
    if (!asm_number(doc->text, &divisor))
        return false;
    if (!divisor || (asm_doc_fills(doc) && out->value % divisor))
        return asm_doc_error(doc, start, DIAG_E0350, "a multiple of the divisor");
    out->value /= divisor;
    return true;
}

static bool sum(AsmDoc *doc, DocValue *out, unsigned depth) {
    if (!term(doc, out, depth))
        return false;
    for (;;) {
        asm_at_end(doc->text);
        char sign = *doc->text->p;
        if (sign != '+' && sign != '-')
            return true;
        doc->text->p++;
        DocValue right;
        if (!term(doc, &right, depth))
            return false;
        out->value = sign == '+' ? out->value + right.value : out->value - right.value;
        out->addresses += sign == '+' ? right.addresses : -right.addresses;
        out->is_number &= right.is_number;
        out->is_srel |= right.is_srel;
        if (right.addresses == 1 && sign == '+')
            out->symbol = right.symbol;
    }
}

bool asm_doc_expression(AsmDoc *doc, DocValue *out) { return sum(doc, out, 0); }

static bool value_fits(AsmDoc *doc, const char *start, uint64_t max, const DocValue *value) {
    if (value->value <= max || (!value->is_number && !asm_doc_fills(doc)))
        return true;
    return diag_in(doc->text->d, doc->text->source, asm_loc(doc->text, start), DIAG_E0352,
                   (unsigned long long)max);
}

bool asm_doc_number(AsmDoc *doc, uint64_t max, uint64_t *out) {
    const char *start = doc->text->p;
    DocValue value;
    if (!asm_doc_expression(doc, &value) || !value_fits(doc, start, max, &value))
        return false;
    *out = value.value;
    return true;
}

bool asm_doc_place(AsmDoc *doc, uint32_t section, uint64_t max, uint64_t *out) {
    const char *start = doc->text->p;
    DocValue value;
    if (!asm_doc_expression(doc, &value) || !value_fits(doc, start, max, &value))
        return false;
    *out = value.value;
    if (section && value.is_number && value.value && doc->stage == DOC_FILL &&
        doc->sections.at[section].moved)
        return asm_doc_error(doc, start, DIAG_E0358,
                             arena_printf(doc->a,
                                          "the number 0x%llx is a place in %s, where instructions moved",
                                          (unsigned long long)value.value, doc->sections.at[section].name));
    return true;
}
