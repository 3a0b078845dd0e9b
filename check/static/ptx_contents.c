/* The file against the PTX that it holds, but for the code: kernels, parameters, variables and their initial
 * bytes (M-07). What check/flow/contents.h finds; `prove` says the same of the PTX that it is given.
 * SPDX-License-Identifier: MIT */
#include "check/flow/contents.h"
#include "check/static/internal.h"
#include "frontend/link.h"

static void say_nothing(void *user, Severity severity, const char *line) {
    (void)user, (void)severity, (void)line;
}

/* At the function that it concerns, of the module at the first one. */
static void report_at_function(Checker *checker, const ContentsFinding *finding) {
    const BinFlow *flow = checker->flow;
    const BinFunc *one = finding->func ? binary_find(flow->bin, finding->func) : NULL;
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++) {
        if (!flow->funcs[f].ninsts || (one && one != &flow->bin->funcs[f]))
            continue;
        check_report(checker, CR_M07, flow->funcs[f].first_inst, NONE, "%s%s%s%s",
                     finding->func ? "kernel " : "", finding->func ? finding->func : "",
                     finding->func ? ": " : "", finding->text);
        return;
    }
}

void check_ptx_contents(Checker *checker) {
    const Binary *binary = checker->flow->bin;
    Diags quiet = {.sink = say_nothing};
    if (!check_wants(checker, CR_M07) || checker->opt->file_only || !binary->ptx_text)
        return;
    PtxModule *module = ptx_parse_kept(binary->ptx_name ? binary->ptx_name : "", binary->ptx_text,
                                       binary->ptx_text_bytes, &quiet);
    if (!module)
        return; /* nothing can be compared */
    Contents contents;
    bin_contents_compare(module, binary, NULL, &contents);
    for (uint32_t k = 0; k < contents.findings.n; k++)
        if (contents.findings.at[k].definite)
            report_at_function(checker, &contents.findings.at[k]);
    bin_contents_free(&contents);
    ptx_free(module);
}
