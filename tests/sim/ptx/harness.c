/* See harness.h.
 * SPDX-License-Identifier: MIT */
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void collect(void *user, Severity severity, const char *line) {
    char *out = user;
    size_t used = strlen(out);
    (void)severity;
    snprintf(out + used, 2000 - used, "%s", line);
}

TestRun run_ptx(const char *text, const char *kernel, const uint32_t grid[3], const uint32_t block[3],
                uint32_t dynamic_shared_bytes, const uint64_t *params, unsigned nparams, SimMemory *mem,
                const PtxRunOptions *opt) {
    TestRun t = {.parsed = false};
    Diags d = {.sink = collect, .user = t.diags};
    PtxModule *m = ptx_parse("test.ptx", text, strlen(text), &d);
    if (!m)
        return t;
    t.parsed = true;
    Launch l = {.dynamic_shared_bytes = dynamic_shared_bytes,
                .params = (const uint8_t *)params,
                .param_bytes = nparams * 8};
    memcpy(l.grid, grid, sizeof l.grid);
    memcpy(l.block, block, sizeof l.block);
    t.ran = interp_run(m, kernel, &l, mem, opt, &t.res, &d);
    ptx_free(m);
    return t;
}

char *wrap_kernel(const char *declarations, const char *body) {
    char *text;
    int n = asprintf(&text,
                     ".version 8.8\n.target sm_100a\n.address_size 64\n%s\n"
                     ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                     ".reg .pred %%p<16>; .reg .b16 %%h<16>; .reg .b32 %%r<48>; .reg .f32 %%f<16>;\n"
                     ".reg .b64 %%rd<48>; .reg .f64 %%fd<16>; .reg .u32 %%t, %%n; .reg .u64 %%i, %%o;\n"
                     "mov.u32 %%t, %%ctaid.x; mov.u32 %%n, %%ntid.x; mov.u32 %%r0, %%tid.x;\n"
                     "mad.lo.u32 %%t, %%t, %%n, %%r0;\n"
                     "ld.param.u64 %%o, [out]; mad.wide.u32 %%o, %%t, 8, %%o; ld.param.u64 %%i, [in];\n"
                     "%s\nret;\n}\n",
                     declarations, body);
    assert_true(n > 0);
    return text;
}

void run_wrapped(const char *declarations, const char *body, unsigned n, unsigned block, const uint64_t *in,
                 unsigned nin, uint64_t *out, uint64_t seed) {
    char *text = wrap_kernel(declarations, body), line[600] = "";
    SimMemory *mem = simmem_create();
    uint64_t params[2] = {simmem_alloc(mem, "in", nin ? nin * 8ull : 8), simmem_alloc(mem, "out", n * 8ull)};
    if (nin)
        simmem_write(mem, params[0], in, nin * 8ull);
    PtxRunOptions opt = {.seed = seed, .budget = 100000000};
    TestRun t = run_ptx(text, "k", (uint32_t[3]){(n + block - 1) / block, 1, 1}, (uint32_t[3]){block, 1, 1},
                        4096, params, 2, mem, &opt);
    if (!t.ran || t.res.trap.kind) {
        sim_trap_print(&t.res.trap, line, sizeof line);
        print_error("%s\n%s\n", t.diags, t.res.trap.kind ? line : "");
    }
    assert_true(t.ran);
    assert_int_equal(t.res.trap.kind, TRAP_NONE);
    simmem_read(mem, params[1], out, n * 8ull);
    simmem_free(mem);
    free(text);
}
