/* test_form_sweep   every form that has a selection function, with every combination of its types and each of
 * its other words in turn, with and without a guard, for a machine of each kind: selection makes IR that the
 * verifier takes, or refuses with a reason, never without one (E0774, which is an internal error).
 * SPDX-License-Identifier: MIT */
#include "frontend/forms.h"
#include "frontend/modifiers.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_90"};
static unsigned asked, compiled, refused, outside, bad;
static char errors[4096];

static void keep(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        strncat(errors, line, sizeof errors - strlen(errors) - 1);
}

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
    unsigned vec = spec->is_vector && insn->vec > 1 ? insn->vec : spec->nvec;
    bool narrow = insn->space == SP_SHARED || insn->space == SP_LOCAL || insn->space == SP_CONST;
    if (spec->kind == 'A' || spec->kind == 'U')
        snprintf(out, size, "[%s]",
                 insn->space == SP_PARAM        ? "pp"
                 : insn->op != PTX_CP && narrow ? "%r9"
                                                : "%d9");
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

/* `optional`: with the operands that may be absent. */
static bool statement(const char *opcode, bool guarded, bool optional, char *out, size_t size) {
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

static void ask(const char *target, const char *text, bool *said) {
    char module[2000];
    StrTab strings = {0};
    Diags diags = {.sink = keep};
    errors[0] = 0;
    snprintf(
        module, sizeof module,
        ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k(.param .b64 pp) {\n.reg .b64 %%d<40>; "
        ".reg .b32 %%r<40>; .reg .b16 %%h<40>; .reg .pred %%p<40>; .reg .b128 %%q<40>;\ntable: "
        ".branchtargets LL;\n%s\nLL: ret; }\n",
        strcmp(target, "bru1") ? target : "sm_90a", text);
    PtxModule *ptx = ptx_parse("statement.ptx", module, strlen(module), &diags);
    if (!ptx) {
        outside++;
        return;
    }
    diags.source = &ptx->source;
    IrModule *ir = lower_module(ptx, &strings, isa_target(target), 1, &diags);
    asked++;
    compiled += ir != NULL;
    refused += !ir;
    if (!ir && getenv("SHOW"))
        printf("R %s %s %s\n", target, text, errors);
    for (unsigned k = 0; ir && k < ir->funcs.n; k++)
        if (!ir_verify(ir->funcs.at[k], &diags, "isel"))
            bad++;
    if ((!ir && !strstr(errors, ": ")) || strstr(errors, "internal")) {
        if (!*said)
            fprintf(stderr, "%s: %s: %s", target, text, errors);
        *said = true;
        bad++;
    }
    ir_module_free(ir);
    ptx_free(ptx);
    str_free(&strings);
}

static void ask_all(const char *opcode) {
    char text[500];
    bool said = false;
    for (unsigned variant = 0; variant < 4; variant++)
        for (unsigned k = 0; k < sizeof targets / sizeof *targets; k++)
            if (statement(opcode, variant & 1, variant & 2, text, sizeof text))
                ask(targets[k], text, &said);
}

/* ---- forms ---- */

typedef struct {
    unsigned form, n;
    FormElement elements[FORM_MAX_ELEMENTS];
    char word[FORM_MAX_ELEMENTS][48];
} Spelling;

static void ask_spelling(const Spelling *spelling) {
    char text[400];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", ptx_op_name(form_op(spelling->form)));
    for (unsigned k = 0; k < spelling->n; k++)
        if (spelling->word[k][0])
            n += (size_t)snprintf(text + n, sizeof text - n, ".%s", spelling->word[k]);
    ask_all(text);
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
        ask_spelling(spelling);
        return;
    }
    unsigned n = words_of(&spelling->elements[k], list);
    for (unsigned i = 0; i < n; i++) {
        memcpy(spelling->word[k], list[i], sizeof list[i]);
        each_type(spelling, k + 1);
    }
}

static void sweep_form(unsigned form) {
    Spelling spelling = {.form = form};
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

/* By form: selection is not ABSENT. */
static const char *const columns[] = {
    "",
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target) #select,
#include "frontend/ptx_forms.def"
};

int main(void) {
    for (unsigned form = 1; form < form_count(); form++)
        if (!strstr(columns[form], "ABSENT(") && form_op(form) != PTX_CALL)
            sweep_form(form);
    printf("%u statements: %u compiled, %u refused with a reason; %u are refused by the front end; %u "
           "failures\n",
           asked, compiled, refused, outside, bad);
    return bad != 0 || compiled < 10000;
}
