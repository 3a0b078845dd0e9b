/* Each spelling of each form of ptx_forms.def that is compiled is proved: a kernel of one statement between
 * loads of what it reads and stores of what it makes, compiled for TARGET.
 *
 *   test_prove_forms TARGET [PART [OF]] [WORD]
 *
 * Spellings whose number modulo OF is PART (all), that hold WORD. A form without terms (PROVE(ABSENT(...)))
 * is to be unknown; with SHOW in the environment every statement that is not proved is printed with the
 * reason. SPDX-License-Identifier: MIT */
#include "check/fuzz/form_kernel.h"
#include "check/prove/prove.h"
#include "frontend/gates.h"
#include "tests/part.h"
#include "tools/jobs/driver.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_REASONS = 200 };

/* What is not asked. `word`: a part of the spelling, "" for all. */
static const struct {
    PtxOp op;
    const char *word, *reason;
} exempt[] = {
    {PTX_BRA, "", "the kernel has no label"},
    {PTX_BRX, "", "the kernel has no table"},
    {PTX_CALL, "", "the kernel has no function"},
};

/* Reasons that are expected. */
static const char *const open_reasons[] = {
    "a product of matrices that several instructions make is not modelled",
    "a store of matrices that several instructions make is not modelled",
    "a modifier of BAR is not modelled", /* number and count of threads in the halves of one register */
};
static bool is_open(const char *why) {
    bool open = false;
    for (unsigned k = 0; k < sizeof open_reasons / sizeof *open_reasons; k++)
        open |= strcmp(why, open_reasons[k]) == 0;
    return open;
}

/* By form. */
static const struct {
    const char *select, *prove;
} columns[] = {
    {"", ""},
#define PROVE(fn) #fn
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    {#select, prove},
#include "frontend/ptx_forms.def"
#undef PROVE
};

static const char *target_name, *only = "";
static unsigned part, parts = 1, nspelled, asked, proved, without, wrong, form_now;
static struct {
    char text[160], statement[600];
    unsigned n;
} reasons[MOST_REASONS];

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static bool is_exempt(PtxOp op, const char *opcode) {
    for (unsigned i = 0; i < sizeof exempt / sizeof *exempt; i++)
        if (exempt[i].op == op && strstr(opcode, exempt[i].word))
            return true;
    return false;
}

static void note_reason(const char *text, const char *statement) {
    unsigned k = 0;
    while (k + 1 < MOST_REASONS && reasons[k].n && strncmp(reasons[k].text, text, sizeof reasons[k].text - 1))
        k++;
    if (!reasons[k].n++) {
        snprintf(reasons[k].text, sizeof reasons[k].text, "%s", text);
        snprintf(reasons[k].statement, sizeof reasons[k].statement, "%s", statement);
    }
}

static void judge(const PtxModule *m, const Compilation *compiled, const char *statement) {
    Diags d = {.sink = silent};
    Binary *binary = binary_read("form.cubin", compiled->image, compiled->image_bytes, &d);
    ProveOptions options = {.query_seconds = 2, .search_seconds = 0.01, .kernel = "k0"};
    ProveReport report = {0};
    bool done = binary && prove_module(m, binary, &options, &report, &d);
    Verdict verdict = done ? prove_verdict_of(&report, "k0") : VERDICT_UNKNOWN;
    bool absent = strstr(columns[form_now].prove, "ABSENT(") != NULL;
    const char *why = done ? "" : "no report";
    for (unsigned k = 0; k < report.facts.n; k++)
        why = report.facts.at[k].text;
    for (unsigned f = 0; f < report.nfuncs; f++)
        for (unsigned r = 0; r < report.funcs[f].nregions && strcmp(report.funcs[f].name, "k0") == 0; r++)
            if (report.funcs[f].regions[r].status >= PROVE_REFUTED)
                why = report.funcs[f].regions[r].reason;
    asked++;
    absent |= is_open(why);
    bool is_proved = verdict == VERDICT_PROVED || verdict == VERDICT_ASSUMING;
    proved += is_proved && !absent;
    without += verdict == VERDICT_UNKNOWN && absent;
    if (verdict == VERDICT_REFUTED || is_proved == absent) {
        why = is_proved ? "proved without terms" : why;
        wrong++;
        note_reason(why, statement);
        if (getenv("SHOW"))
            printf("%s: %s: %s\n", verdict == VERDICT_REFUTED ? "REFUTED" : "unknown", statement, why);
    }
    prove_report_free(&report);
    binary_free(binary);
}

static void prove_one(const FormUse *form, PtxOp op) {
    char statement[600], *module;
    size_t size;
    PtxInsn insn;
    Diags d = {.sink = silent};
    char *text = gen_form_kernel(form, 0);
    if (!text || !gen_form_statement(form, statement, sizeof statement, &insn) ||
        is_exempt(op, form->opcode)) {
        free(text);
        return;
    }
    FILE *f = open_memstream(&module, &size);
    gen_form_head(f, strcmp(target_name, "bru1") ? target_name : "sm_90a");
    fputs(text, f);
    fclose(f);
    PtxModule *m = ptx_parse("form.ptx", module, size, &d);
    DriverOptions options = {.target = isa_target(target_name), .opt_level = 2, .predicate = PREDICATE_AUTO};
    Compilation compiled;
    if (m && gate_machine(m, target_name, &d)) {
        if (driver_compile(&compiled, m, &options, &d))
            judge(m, &compiled, statement);
        driver_free(&compiled);
    }
    ptx_free(m);
    free(module);
    free(text);
}

static void each_spelling(void *user, const char *opcode) {
    (void)user;
    for (unsigned variant = 0; variant < 2; variant++, nspelled++) {
        if (nspelled % parts != part || !strstr(opcode, only))
            continue;
        FormUse form = {.optional = variant, .guarded = nspelled / parts % 4 == 3};
        snprintf(form.opcode, sizeof form.opcode, "%s", opcode);
        prove_one(&form, form_op(form_now));
    }
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    target_name = argv[1];
    part = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    parts = (argc > 3 ? (unsigned)atoi(argv[3]) : 1) * test_part();
    only = argc > 4 ? argv[4] : "";
    for (form_now = 1; form_now < form_count(); form_now++)
        if (!strstr(columns[form_now].select, "ABSENT("))
            gen_form_spellings(form_now, each_spelling, NULL);
    for (unsigned k = 0; k < MOST_REASONS && reasons[k].n; k++)
        printf("%6u  %s: %s\n", reasons[k].n, reasons[k].text, reasons[k].statement);
    printf("%s: %u statements compiled: %u proved, %u unknown of forms without terms, %u not as they should "
           "be\n",
           target_name, asked, proved, without, wrong);
    return wrong || !proved;
}
