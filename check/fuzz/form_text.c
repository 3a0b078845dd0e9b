/* See form_text.h.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/form_text.h"
#include "frontend/modifiers.h"
#include <stdio.h>
#include <string.h>

/* ---- statements ---- */

static const char *register_of(PtxType type, unsigned n, char *text, size_t size) {
    static const char *const prefix[] = {"%p", "%h", "%h", "", "%r", "", "", "",  "%d",
                                         "",   "",   "",   "", "",   "", "", "%q"};
    unsigned bytes = type == TY_PRED ? 0 : ptx_type_bytes(type);
    snprintf(text, size, "%s%u", bytes <= 16 && prefix[bytes][0] ? prefix[bytes] : "%r", n);
    return text;
}

static PtxType type_of(const PtxInsn *insn, const OperandSpec *spec) {
    if (spec->type_index == 5) {
        unsigned bytes = 2 * ptx_type_bytes((PtxType)insn->type[0]);
        return bytes == 4 ? TY_B32 : bytes == 8 ? TY_B64 : TY_B128;
    }
    return (PtxType)(spec->type_index ? insn->type[spec->type_index - 1] : spec->type);
}

static void write_operand(const PtxInsn *insn, const OperandSpec *spec, unsigned n, char *out, size_t size) {
    char text[16];
    PtxType type = strchr("PQp", spec->kind) ? TY_PRED : type_of(insn, spec);
    bool fragment = insn->op == PTX_LDMATRIX || insn->op == PTX_STMATRIX;
    unsigned vec = spec->is_vector && (insn->vec > 1 || fragment) ? insn->vec : spec->nvec;
    bool narrow = insn->space == SP_SHARED || insn->space == SP_LOCAL;
    if (strchr("AUeE", spec->kind))
        snprintf(out, size, "[%s]",
                 insn->space == SP_PARAM        ? "pp"
                 : insn->op != PTX_CP && narrow ? "%ra"
                                                : "%da");
    else if (spec->kind == 'i')
        snprintf(out, size, "%s",
                 insn->op == PTX_APPLYPRIORITY || insn->op == PTX_DISCARD ? "128"
                 : insn->op == PTX_LOP3                                   ? "0x96"
                                                                          : "16");
    else if (spec->kind == 'L')
        snprintf(out, size, "LL");
    else if (spec->kind == 'T')
        snprintf(out, size, "table");
    else if (vec) {
        size_t at = (size_t)snprintf(out, size, "{");
        for (unsigned k = 0; k < vec; k++)
            at += (size_t)snprintf(out + at, size - at, "%s%s", k ? "," : "",
                                   register_of(type, n + k, text, sizeof text));
        snprintf(out + at, size - at, "}");
    } else
        snprintf(out, size, "%s", register_of(type, n, text, sizeof text));
}

bool gen_form_text(const char *opcode, bool guarded, bool optional, char *out, size_t size) {
    PtxInsn insn;
    Diags silent = {0};
    StrTab strings = {0};
    OperandSpecs specs;
    bool ok = form_decode(opcode, strlen(opcode), (SrcLoc){0}, &silent, &strings, &insn);
    str_free(&strings);
    if (!ok)
        return false;
    form_operands(insn.form, &specs);
    size_t at = (size_t)snprintf(out, size, "%s%s", guarded ? "@%p3 " : "", opcode);
    for (unsigned k = 0, n = 0; k < specs.n; k++) {
        char operand[100];
        bool policy = specs.at[k].is_optional && specs.at[k].type == TY_B64;
        if ((specs.at[k].is_piped && !optional) ||
            (specs.at[k].is_optional && (policy ? !(insn.flags & PF_CACHE_HINT) : !optional)))
            continue;
        write_operand(&insn, &specs.at[k], 1 + 4 * k, operand, sizeof operand);
        at += (size_t)snprintf(out + at, size - at, "%s%s",
                               !n++                   ? " "
                               : specs.at[k].is_piped ? "|"
                                                      : ", ",
                               operand);
    }
    snprintf(out + at, size - at, ";");
    return true;
}

/* ---- forms ---- */

typedef struct {
    unsigned form, n;
    FormElement elements[FORM_MAX_ELEMENTS];
    void (*each)(void *user, const char *opcode);
    void *user;
    char word[FORM_MAX_ELEMENTS][48];
} Spelling;

static void spell(const Spelling *spelling) {
    char text[400];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", ptx_op_name(form_op(spelling->form)));
    for (unsigned k = 0; k < spelling->n; k++)
        if (spelling->word[k][0])
            n += (size_t)snprintf(text + n, sizeof text - n, ".%s", spelling->word[k]);
    spelling->each(spelling->user, text);
}

static unsigned words_of(const FormElement *element, char list[][48]) {
    unsigned n = 0;
    const char *at = NULL, *word;
    size_t size;
    while (form_element_word(element, &at, &word, &size))
        snprintf(list[n++], sizeof list[0], "%.*s", (int)size, word);
    for (unsigned k = 0; !n && k < ptx_modifier_count(); k++)
        if (ptx_modifier_row(k)->cls == element->cls)
            for (; k < ptx_modifier_count() && ptx_modifier_row(k)->cls == element->cls; k++)
                snprintf(list[n++], sizeof list[0], "%s", ptx_modifier_row(k)->word);
    return n;
}

static void each_type(Spelling *spelling, unsigned k) {
    char list[64][48];
    while (k < spelling->n && spelling->elements[k].cls != 't')
        k++;
    if (k == spelling->n) {
        spell(spelling);
        return;
    }
    unsigned n = words_of(&spelling->elements[k], list);
    for (unsigned i = 0; i < n; i++) {
        memcpy(spelling->word[k], list[i], sizeof list[i]);
        each_type(spelling, k + 1);
    }
}

void gen_form_spellings(unsigned form, void (*each)(void *user, const char *opcode), void *user) {
    Spelling spelling = {.form = form, .each = each, .user = user};
    bool open;
    char list[64][48];
    spelling.n = form_elements(form, spelling.elements, &open);
    for (unsigned k = 0; k < spelling.n; k++)
        if (!spelling.elements[k].is_optional && words_of(&spelling.elements[k], list))
            memcpy(spelling.word[k], list[0], sizeof list[0]);
    each_type(&spelling, 0);
    for (unsigned k = 0; k < spelling.n; k++) {
        unsigned n = spelling.elements[k].cls == 't' ? 0 : words_of(&spelling.elements[k], list);
        for (unsigned i = spelling.elements[k].is_optional ? 0 : 1; i < n; i++) {
            Spelling other = spelling;
            memcpy(other.word[k], list[i], sizeof list[i]);
            each_type(&other, 0);
        }
    }
}
