/* Running assembly text: see asm_run.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "asm_run.h"
#include "emit/text/asm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool executed[OC_COUNT];
static char message[1024];

static void sink(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        snprintf(message, sizeof message, "%s", line);
}

static void note(void *user, const MachineTrace *trace) {
    (void)user;
    if (trace->executed && trace->inst->opcode < OC_COUNT)
        executed[trace->inst->opcode] = true;
}

uint32_t asm_random(void) {
    static uint64_t state = 7;
    return (uint32_t)(rng_next(&state) >> 16);
}

/* What is printed parses to the same word. */
static void round_trip(const Binary *binary) {
    for (uint32_t i = 0; i < binary_find(binary, "k")->ninsts; i++) { /* the kernel comes first */
        MachInst in, again;
        char text[256], error[ISA_ERROR_BYTES] = "";
        const char *end;
        uint64_t word[2];
        if (!isa_decode(binary->target, binary->code[i], &in, error))
            fail_msg("word %u: %s", i, error);
        isa_print(binary->target, &in, 16 * i, NULL, text, sizeof text);
        if (!isa_parse(binary->target, text, 16 * i, NULL, &again, &end, error))
            fail_msg("%s: %s", text, error);
        again.ctrl = in.ctrl;
        assert_true(isa_encode(binary->target, &again, word, error));
        assert_true(word[0] == binary->code[i][0] && word[1] == binary->code[i][1]);
    }
}

static void launch_one(MachineSession *session, const AsmLaunch *asm_launch, bool slow, AsmResult *result) {
    MachineOptions o = asm_launch->opt;
    o.trace = slow ? note : NULL;
    if (!o.max_issues)
        o.max_issues = 1000000;
    MachineResult res;
    Diags d = {.sink = sink};
    message[0] = 0;
    machine_session_run(session, &o, &res, &d);
    if (res.trap.kind != asm_launch->trap || (asm_launch->text && !strstr(res.trap.text, asm_launch->text)))
        fail_msg("trap %d, expected %d %s: %s", (int)res.trap.kind, (int)asm_launch->trap,
                 asm_launch->text ? asm_launch->text : "", message);
    *result = (AsmResult){.trap = res.trap, .stats = res.stats, .nfindings = res.nfindings};
    machine_result_free(&res);
}

/* Two launches of a session: the first decodes the code, the second finds it decoded, which makes no
 * difference. */
static void run_twice(const Binary *b, const AsmLaunch *asm_launch, bool slow, AsmResult *result) {
    SimMemory *mem = simmem_create();
    uint32_t nout = asm_launch->nout ? asm_launch->nout : 2 * asm_launch->threads, params[2 + ASM_MAX_IN];
    assert_true(nout <= ASM_MAX_OUT);
    uint64_t out = simmem_alloc(mem, "out", 4ull * nout);
    memcpy(params, &out, sizeof out);
    memcpy(params + 2, asm_launch->in, sizeof asm_launch->in);
    Launch launch = {.grid = {1, 1, 1},
                     .block = {asm_launch->threads, 1, 1},
                     .params = (const uint8_t *)params,
                     .param_bytes = sizeof params};
    Diags d = {.sink = sink};
    MachineSession *session = machine_open(b, "k", &launch, mem, NULL, &d);
    assert_non_null(session);
    AsmResult first;
    launch_one(session, asm_launch, slow, &first);
    assert_true(simmem_read(mem, out, first.out, 4ull * nout));
    memset(simmem_find(mem, out, 4ull * nout)->data, 0, 4 * (size_t)nout);
    launch_one(session, asm_launch, slow, result);
    assert_true(simmem_read(mem, out, result->out, 4ull * nout));
    result->entry = binary_find(b, "k")->address;
    assert_memory_equal(first.out, result->out, sizeof first.out);
    assert_string_equal(first.trap.text, result->trap.text);
    assert_int_equal(first.nfindings, result->nfindings);
    assert_int_equal(first.stats.issues, result->stats.issues);
    assert_int_equal(first.stats.b_issues, result->stats.b_issues);
    assert_int_equal(first.stats.switches, result->stats.switches);
    machine_close(session);
    simmem_free(mem);
}

AsmResult asm_run(const AsmLaunch *launch, const char *format, ...) {
    static const char head[] = ".target %s\n.entry k\n.param 8\n.param 8\n.param 8\n.param 8\n.param "
                               "8\n.param 8\n.param 8\n.param 8\n.param 8\n";
    static char text[32768];
    va_list ap;
    va_start(ap, format);
    int n = snprintf(text, sizeof text, head, launch->target ? launch->target : "bru1");
    n += vsnprintf(text + n, sizeof text - (size_t)n, format, ap);
    va_end(ap);
    assert_true(n < (int)sizeof text);
    Source s = {"test.sass", text, (size_t)n};
    Diags d = {.source = &s, .sink = sink};
    void *image = NULL;
    size_t size;
    if (!asm_assemble(&s, &image, &size, &d))
        fail_msg("%s", message);
    d.source = NULL;
    Binary *b = binary_read("test.cubin", image, size, &d);
    if (!b)
        fail_msg("%s", message);
    round_trip(b);
    AsmResult fast, slow;
    run_twice(b, launch, false, &fast);
    run_twice(b, launch, true, &slow);
    assert_memory_equal(fast.out, slow.out, sizeof fast.out);
    assert_int_equal(fast.stats.issues, slow.stats.issues);
    binary_free(b);
    free(image);
    return slow;
}

void asm_expect_all_executed(const char *from, const char *to) {
    FILE *f = fopen(SEED_FIELDS, "r");
    char opcode[32], last[32] = "", rest[128];
    bool inside = false;
    assert_non_null(f);
    while (fscanf(f, "%31s %127[^\n]", opcode, rest) == 2) {
        if (!strcmp(opcode, last))
            continue;
        inside = inside || !strcmp(opcode, from);
        unsigned oc = 1;
        while (oc < OC_COUNT && strcmp(isa_opcode_name(oc), opcode))
            oc++;
        assert_true(oc < OC_COUNT);
        if (inside && !executed[oc])
            fail_msg("%s was never executed", opcode);
        if (!strcmp(opcode, to))
            inside = false;
        snprintf(last, sizeof last, "%s", opcode);
    }
    fclose(f);
}
