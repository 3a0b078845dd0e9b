/* PTX text through the whole compiler, at a level and for a target that follow from its size. What compiles
 * can be read again, and its assembly text gives the same file. SPDX-License-Identifier: MIT */
#include "check/static/check.h"
#include "emit/text/asm.h"
#include "tests/fuzz/fuzz.h"
#include "tools/jobs/driver.h"

static void text_form(const Compilation *compiled, Diags *diags) {
    char *text;
    void *again;
    size_t text_bytes, again_bytes;
    if (!disasm_image("fuzz", compiled->image, compiled->image_bytes, false, &text, &text_bytes, diags))
        fuzz_broken("compiled code has a text", "disasm_image");
    Source source = {"fuzz.sass", text, text_bytes};
    diags->source = &source;
    if (!asm_assemble(&source, &again, &again_bytes, diags))
        fuzz_broken("the text of compiled code assembles", text);
    if (again_bytes != compiled->image_bytes || memcmp(again, compiled->image, again_bytes) != 0)
        fuzz_broken("the text assembles to the same file", text);
    free(again);
    free(text);
}

/* The static checker must end; what it finds is not judged here, since the PTX may be wrong itself. */
static void static_check(const Binary *binary) {
    BinCheckReport report;
    BinFlow *flow = bin_flow_new(binary);
    if (!flow)
        abort();
    check_binary(flow, &(BinCheckOptions){.no_text = true}, &report);
    check_report_free(&report);
    bin_flow_free(flow);
}

/* A module without a function has no code to read: E0413 says so. */
static bool has_code(const PtxModule *ptx) {
    for (uint32_t k = 0; k < ptx->nfuncs; k++)
        if (ptx->funcs[k].has_body)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags diags = {.sink = getenv("FUZZ_VERBOSE") ? diag_print_sink : NULL, .user = stderr};
    PtxModule *ptx = ptx_parse("fuzz.ptx", (const char *)data, size, &diags);
    if (!ptx)
        return 0;
    Compilation compiled;
    DriverOptions options = {
        .target = fuzz_target(size / 4), .opt_level = size % 4, .passes = {.verify = true}};
    if (driver_compile(&compiled, ptx, &options, &diags) && has_code(ptx)) {
        Binary *binary = binary_read("fuzz", compiled.image, compiled.image_bytes, &diags);
        if (!binary)
            fuzz_broken("compiled code can be read", "binary_read");
        static_check(binary);
        binary_free(binary);
        text_form(&compiled, &diags);
    }
    driver_free(&compiled);
    ptx_free(ptx);
    return 0;
}
