/* test_form_sweep   every form that has a selection function, with every combination of its types and each of
 * its other words in turn, with and without a guard, for a machine of each kind: selection makes IR that the
 * verifier takes, or refuses with a reason, never without one (E0774, which is an internal error).
 *
 * test_form_sweep FILE [PART OF]: also writes a line for each statement, a hash of its IR in front, so that
 * run-tests can compare what two compilers' builds of Heddle select: C leaves the order of evaluation open in
 * places where instructions may be emitted. With PART and OF, every OF-th form, from the PART-th on.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/form_text.h"
#include "base/rng.h"
#include "ir/ir.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_90"};
static unsigned asked, compiled, refused, outside, bad;
static char errors[4096];
static FILE *list; /* NULL: none is asked for */

static void keep(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        strncat(errors, line, sizeof errors - strlen(errors) - 1);
}

static void note_code(const char *target, const char *statement, const IrModule *ir) {
    size_t size = 0;
    char *text = ir_print(ir, &size);
    uint64_t hash = size;
    for (size_t k = 0; text && k < size; k++)
        hash = rng_mix(hash ^ (unsigned char)text[k]);
    fprintf(list, "%016llx %s %s\n", (unsigned long long)hash, target, statement);
    free(text);
}

static void ask(const char *target, const char *text, bool *said) {
    char module[2000];
    StrTab strings = {0};
    Diags diags = {.sink = keep};
    errors[0] = 0;
    snprintf(module, sizeof module,
             ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k(.param .b64 pp) {\n.reg .b64 "
             "%%d<40>, %%da; "
             ".reg .b32 %%r<40>, %%ra; .reg .b16 %%h<40>; .reg .pred %%p<40>; .reg .b128 %%q<40>;\ntable: "
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
    if (ir && list)
        note_code(target, text, ir);
    ir_module_free(ir);
    ptx_free(ptx);
    str_free(&strings);
}

static void ask_all(void *user, const char *opcode) {
    (void)user;
    char text[500];
    bool said = false;
    for (unsigned variant = 0; variant < 4; variant++)
        for (unsigned k = 0; k < sizeof targets / sizeof *targets; k++)
            if (gen_form_text(opcode, variant & 1, variant & 2, text, sizeof text))
                ask(targets[k], text, &said);
}

/* By form: selection is not ABSENT. */
static const char *const columns[] = {
    "",
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target) #select,
#include "frontend/ptx_forms.def"
};

int main(int argc, char **argv) {
    unsigned part = argc > 3 ? (unsigned)atoi(argv[2]) : 0, of = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    if ((argc > 1 && !(list = fopen(argv[1], "w"))) || part >= of)
        return 2;
    for (unsigned form = 1 + part; form < form_count(); form += of)
        if (!strstr(columns[form], "ABSENT(") && form_op(form) != PTX_CALL)
            gen_form_spellings(form, ask_all, NULL);
    printf("%u statements: %u compiled, %u refused with a reason; %u are refused by the front end; %u "
           "failures\n",
           asked, compiled, refused, outside, bad);
    if (list && (ferror(list) | fclose(list)))
        return 2;
    return bad != 0 || compiled < (of == 1 ? 10000 : 1000);
}
