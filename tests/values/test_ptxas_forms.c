/* Another compiler's code for every form: each spelling of each form of ptx_forms.def that computes
 * something, with registers for its operands, is compiled by ptxas, and the machine runs ptxas's code on
 * values that tell operations apart. Memory must be what the PTX reference interpreter makes of the
 * statement, which test_values compares with host C and MPFR. So it is known of the machine that it gives
 * NVIDIA's instructions their meaning, also those which our own compiler does not choose.
 *
 *   PTXAS=... test_ptxas_forms SCRATCH TARGET LEVEL [PART [OF]] [WORD]
 *
 * Spellings whose number modulo OF is PART (all), that hold WORD, at optimisation level LEVEL: 0 or 3.
 * PTXAS=heddle: our own code. ON=card: on a card, which must be for the target's code, in place of the
 * machine (docs/gpu.md).
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/form_kernel.h"
#include "base/rng.h"
#include "check/validate/compare/diff.h"
#include "check/validate/plan/edges.h"
#include "tools/jobs/driver.h"
#include "tests/part.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = FORM_BLOCK,
    BLOCKS = 6, /* each on data of another kind */
    THREADS = BLOCK * BLOCKS,
    WORDS = FORM_WORDS,
    OWN_BYTES = FORM_OWN_BYTES,
    OUT_WORDS = FORM_OUT_WORDS,
    PARAM_BYTES = FORM_PARAM_BYTES,
    CHUNK = 150, /* kernels in a module */
    MOST_FORMS = 40000
};

/* What is expected to differ, or is no value. `word`: a part of the spelling, "" for all; `target`: where, ""
 * for everywhere. */
static const struct {
    PtxOp op;
    const char *word, *reason, *target;
} exempt[] = {
    {PTX_BRA, "", "control flow", ""},
    {PTX_BRX, "", "control flow", ""},
    {PTX_CALL, "", "control flow", ""},
    {PTX_RET, "", "control flow", ""},
    {PTX_EXIT, "", "control flow", ""},
    {PTX_TRAP, "", "control flow", ""},
    {PTX_BRKPT, "", "control flow", ""},
    {PTX_BAR, "", "communication of threads", ""},
    {PTX_BARRIER, "", "communication of threads", ""},
    {PTX_MBARRIER, "", "communication of threads", ""},
    {PTX_CP, "", "asynchronous", ""},
    {PTX_MULTIMEM, "", "several memories: tests/sim/multimem", ""},
    {PTX_CREATEPOLICY, "", "a value that means something to one kind of machine", ""},
    {PTX_LD, "::entry", "parameters are not where the addresses point", ""},
    {PTX_LD, "::func", "parameters are not where the addresses point", ""},
    {PTX_LD, "param", "parameters are not where the addresses point", ""},
    {PTX_ST, "param", "parameters are not where the addresses point", ""},
    {PTX_CVTA, "shared", "of numbers that are no addresses", ""},
    {PTX_CVTA, "local", "of numbers that are no addresses", ""},
    {PTX_ISSPACEP, "", "of numbers that are no addresses", ""},
    {PTX_STACKSAVE, "", "where the stack ends is the compiler's", ""},
    {PTX_STACKRESTORE, "", "of numbers that are no ends of the stack: rows_memory.def", ""},
    {PTX_ALLOCA, "", "of any number of bytes: rows_memory.def", ""},
    {PTX_FNS, "", "ptxas 13.0 finds bit 0 from the offset -2^31", ""},
    {PTX_ABS, "f32", "ptxas 13.0 keeps a NaN's bits where it is guarded", ""},
    {PTX_NEG, "f32", "ptxas 13.0 keeps a NaN's bits where it is guarded", ""},
    {PTX_CVT, ".f32.f32", "ptxas 13.0 keeps a NaN's bits", ""},
    {PTX_CVT, ".tf32", "ptxas 13.0 keeps a NaN's bits", ""},
    {PTX_WMMA, "", "made of several products, which ptxas 13.0 writes to D before it has read A", "sm_75"},
    {PTX_WMMA, ".tf32", "ptxas 13.0 writes D before it has read A where they share registers", ""},
    {PTX_WMMA, ".load", "a matrix for all lanes, with room for it: tests/sim/test_wmma.c", ""},
    {PTX_WMMA, ".store", "a matrix for all lanes, with room for it: tests/sim/test_wmma.c", ""},
    {PTX_LDMATRIX, "", "its rows are in shared memory: tests/sim/test_matrix.c", ""},
    {PTX_STMATRIX, "", "its rows are in shared memory: tests/sim/test_matrix.c", ""},
    {PTX_VADD, ".sat", "ptxas 13.0 compares without signs: docs/numerics.md", ""},
    {PTX_VSUB, ".sat", "ptxas 13.0 compares without signs: docs/numerics.md", ""},
    {PTX_VABSDIFF, ".sat", "ptxas 13.0 compares without signs: docs/numerics.md", ""},
    {PTX_VMIN, ".sat", "ptxas 13.0 compares without signs: docs/numerics.md", ""},
    {PTX_VMAX, ".sat", "ptxas 13.0 compares without signs: docs/numerics.md", ""},
    {PTX_VSHL, ".sat", "ptxas 13.0 compares without signs: docs/numerics.md", ""},
    {PTX_VSHR, ".sat", "ptxas 13.0 compares without signs: docs/numerics.md", ""},
    {PTX_VADD, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VADD, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSUB, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSUB, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VABSDIFF, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VABSDIFF, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VMIN, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VMIN, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VMAX, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VMAX, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSHL, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSHL, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSHR, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSHR, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSET, ".min", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VSET, ".max", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VMAD, "", "ptxas 13.0 has another sign: docs/numerics.md", ""},
    {PTX_VADD4, ".u32.u32.u32.add", "ptxas 13.0 loses the guard: docs/numerics.md", ""},
    {PTX_VSUB4, ".u32.u32.u32.add", "ptxas 13.0 loses the guard: docs/numerics.md", ""},
    {PTX_LD, ".v8", "needs sm_100; ptxas 13.0 takes it for others and drops elements", ""},
    {PTX_ST, ".v8", "needs sm_100; ptxas 13.0 takes it for others and drops elements", ""},
};

static const char *target_name = "";

static bool is_exempt(const char *opcode) {
    for (unsigned i = 0; i < sizeof exempt / sizeof *exempt; i++) {
        const char *name = ptx_op_name(exempt[i].op);
        size_t n = strlen(name);
        if (strncmp(opcode, name, n) == 0 && (opcode[n] == '.' || !opcode[n]) &&
            strstr(opcode + n, exempt[i].word) && strstr(target_name, exempt[i].target))
            return true;
    }
    return false;
}

/* ---- statements ---- */

static FormUse forms[MOST_FORMS];
static unsigned nforms, nspelled, part, parts = 1;
static const char *only = "";

static void note_form(void *user, const char *opcode) {
    (void)user;
    if (is_exempt(opcode))
        return;
    for (unsigned variant = 0; variant < 2; variant++, nspelled++)
        if (nspelled % parts == part && nforms < MOST_FORMS && strstr(opcode, only)) {
            FormUse *form = &forms[nforms++];
            snprintf(form->opcode, sizeof form->opcode, "%s", opcode);
            /* one with a guard, or with the operands that may be absent */
            form->optional = variant;
            /* ptxas 13.0 loses the guard of set and testp: the old value becomes another, or goes */
            form->guarded = nspelled / parts % 4 == 3 && strncmp(opcode, "set.", 4) != 0 &&
                            strncmp(opcode, "testp", 5) != 0;
        }
}

/* ---- data ---- */

/* Word `word` of a thread: each block has another kind of values; words of a thread fit together. */
static uint64_t input(unsigned thread, unsigned word) {
    static const char *const types[] = {"u32", "f32", "u64", "f64", "f16", "u8"};
    unsigned kind = thread / BLOCK;
    const Scalar *scalar = scalar_find(types[kind], strlen(types[kind]));
    uint64_t bits = 0;
    for (unsigned k = 0; k < (kind == 5 ? 1u : 8u / scalar->size_bytes); k++) {
        /* two operands are registers 5 and 9 mostly */
        Edges edges = {.seed = 77 + k + 10 * kind, .together = true, .member = word / 4 % 2};
        uint64_t piece = edges_value(&edges, scalar, thread * 4 + word % 4 + 4096 * (word / 8));
        bits |= (piece & UINT64_MAX >> (64 - 8 * scalar->size_bytes)) << 8 * k * scalar->size_bytes;
    }
    return bits;
}

static void add_buffer(Plan *plan, const char *name, const char *type, const uint64_t *words, uint64_t n) {
    PlanBuffer buffer = {
        .name = name, .type = scalar_find(type, strlen(type)), .bytes = (const uint8_t *)words};
    buffer.count = n * 8 / buffer.type->size_bytes;
    buffer.init = words ? NULL : "zero";
    PlanArg arg = {.is_buffer = true, .buffer = plan->buffers.n};
    VEC_ADD(&plan->arena, &plan->buffers, buffer);
    VEC_ADD(&plan->arena, &plan->launches.at[0].args, arg);
}

/* The type of what a statement makes: a NaN may have any bits. */
static const char *result_type(const PtxInsn *insn) {
    PtxType type = (PtxType)insn->type[0];
    return type == TY_F64                         ? "f64"
           : type == TY_F32                       ? "f32"
           : type == TY_F16 || type == TY_F16X2   ? "f16"
           : type == TY_BF16 || type == TY_BF16X2 ? "bf16"
                                                  : "u64";
}

static void make_plan(Plan *plan, const char *kernel, const char *type) {
    static uint64_t in[THREADS * WORDS], own[THREADS * OWN_BYTES / 8], param[PARAM_BYTES / 8];
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned w = 0; w < WORDS; w++)
            in[t * WORDS + w] = input(t, w);
        for (unsigned w = 0; w < OWN_BYTES / 8; w++)
            own[t * (OWN_BYTES / 8) + w] = input(t, w + 5);
    }
    for (unsigned k = 0; k < PARAM_BYTES / 8; k++)
        param[k] = 0x8123456789abcdef * (k + 1);
    *plan = (Plan){0};
    PlanLaunch launch = {.kernel = kernel, .grid = {BLOCKS, 1, 1}, .block = {BLOCK, 1, 1}, .repeat = 1};
    VEC_ADD(&plan->arena, &plan->launches, launch);
    add_buffer(plan, "in", "u64", in, THREADS * WORDS);
    add_buffer(plan, "out", type, NULL, THREADS * OUT_WORDS);
    add_buffer(plan, "own", type, own, THREADS * OWN_BYTES / 8);
    PlanArg arg = {.bytes = (const uint8_t *)param, .size_bytes = PARAM_BYTES};
    VEC_ADD(&plan->arena, &plan->launches.at[0].args, arg);
}

/* ---- ptxas ---- */

static const char *ptxas, *scratch, *level;
static bool ours;

static char *read_all(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    text = malloc(*size + 1);
    *size = text ? fread(text, 1, *size, f) : 0;
    if (text)
        text[*size] = 0;
    fclose(f);
    return text;
}

static void write_module(const char *path, const char *target, char *const *text, unsigned n) {
    FILE *f = fopen(path, "w");
    if (!f)
        exit(3);
    gen_form_head(f, target);
    for (unsigned k = 0; k < n; k++)
        fputs(text[k] ? text[k] : "\n", f);
    fclose(f);
}

static void ignore(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* The same with Heddle. */
static char *compile_ours(const char *target, char **text, unsigned n, size_t *size) {
    Diags silent = {.sink = ignore};
    char *source = NULL, *out = NULL;
    size_t source_bytes;
    FILE *f = open_memstream(&source, &source_bytes);
    gen_form_head(f, target);
    for (unsigned k = 0; k < n; k++)
        fputs(text[k] ? text[k] : "\n", f);
    fclose(f);
    Compilation made = {0};
    DriverOptions options = {.target = isa_target(target), .opt_level = (unsigned)atoi(level)};
    PtxModule *m = ptx_parse("forms", source, source_bytes, &silent);
    if (m && options.target && driver_compile(&made, m, &options, &silent)) {
        out = malloc(made.image_bytes + 1);
        *size = made.image_bytes;
        memcpy(out, made.image, made.image_bytes);
    }
    driver_free(&made);
    ptx_free(m);
    free(source);
    return out;
}

/* Compiles the kernels that ptxas takes; the others become NULL in text[]. The cubin, or NULL. */
static char *compile(const char *target, char **text, unsigned n, size_t *size) {
    char source[300], cubin[300], errors[300], command[1500];
    if (ours)
        return compile_ours(target, text, n, size);
    snprintf(source, sizeof source, "%s/%s_O%s.ptx", scratch, target, level);
    snprintf(cubin, sizeof cubin, "%s/%s_O%s.cubin", scratch, target, level);
    snprintf(errors, sizeof errors, "%s/%s_O%s.err", scratch, target, level);
    snprintf(command, sizeof command, "'%s' -O%s -arch=%s -o '%s' '%s' 2>'%s' >/dev/null", ptxas, level,
             target, cubin, source, errors);
    for (unsigned round = 0; round < 40; round++) {
        write_module(source, target, text, n);
        if (system(command) == 0) /* NOLINT: paths of the build */
            return read_all(cubin, size);
        char *said = read_all(errors, size);
        unsigned dropped = 0;
        for (const char *at = said; at && (at = strstr(at, "line ")) != NULL; at += 5) {
            unsigned line = (unsigned)strtoul(at + 5, NULL, 10), k = line - FORM_HEAD_LINES - 1;
            const char *end = strchr(at, '\n');
            const char *error = strstr(at, "error");
            if (line <= FORM_HEAD_LINES || k >= n || !text[k] || !error || (end && error > end))
                continue;
            free(text[k]);
            text[k] = NULL;
            dropped++;
        }
        free(said);
        if (!dropped)
            return NULL; /* it has crashed */
    }
    return NULL;
}

/* ---- comparison ---- */

static unsigned equal, contraction, refused, not_run, unjudged, wrong, unjudged;

/* ptxas 13.0's codes for this one on sm_75 and on later targets do not agree with each other
 * (docs/numerics.md 7): no judge. That ours and the reference agree on it shows tests/sim/test_matrix.c. */
static bool is_unjudged(const char *statement) {
    /* PTX says what st.async and red.async do in shared memory only; the statements here name global memory
     */
    if (strstr(statement, "st.async.") || strstr(statement, "red.async."))
        return true;
    return strstr(statement, "mma.sync.aligned.m8n8k4") != NULL && strstr(statement, ".f16.f16.") != NULL;
}

typedef struct {
    char text[400];
} FirstError;
static DiffOther engine;
static void keep(void *user, Severity severity, const char *line) {
    FirstError *error = user;
    if (severity == SEV_ERROR && error && !error->text[0])
        snprintf(error->text, sizeof error->text, "%s", line);
}

static void judge(const FormUse *form, const PtxModule *m, const Binary *binary, unsigned number) {
    char kernel[16], statement[600];
    PtxInsn insn;
    FirstError error = {""};
    Diags diags = {.sink = keep, .user = &error};
    Plan plan;
    DiffReport report = {0};
    DiffOptions options = {.other = engine, .no_trace = engine.engine != DIFF_MACHINE};
    snprintf(kernel, sizeof kernel, "k%u", number);
    gen_form_statement(form, statement, sizeof statement, &insn);
    make_plan(&plan, kernel, result_type(&insn));
    bool ran = diff_validate(&plan, m, binary, &options, &report, &diags);
    Verdict verdict = ran ? diff_verdict(&report) : VERDICT_NOT_RUN;
    equal += verdict == VERDICT_EQUAL;
    contraction += verdict == VERDICT_CONTRACTION;
    if (verdict == VERDICT_EQUAL || verdict == VERDICT_CONTRACTION) {
        plan_free(&plan);
        return;
    }
    bool lacks =
        !ran || report.machine_trap.kind == TRAP_UNSUPPORTED || report.ptx_trap.kind == TRAP_UNSUPPORTED;
    if (!lacks && is_unjudged(statement)) {
        unjudged++;
        plan_free(&plan);
        return;
    }
    not_run += lacks;
    wrong += !lacks;
    if (lacks && !ran)
        printf("not run: %s: %s\n", statement, error.text);
    else {
        char *text = diff_report_text(&report, &plan);
        printf("%s: %s\n%s\n", lacks ? "not run" : "WRONG", statement, text);
        free(text);
    }
    plan_free(&plan);
}

static void test_chunk(const char *target, unsigned first, unsigned n) { /* NOLINT: as deep as log n */
    char *text[CHUNK] = {0}, *module;
    size_t size, cubin_bytes = 0;
    for (unsigned k = 0; k < n; k++) { /* what our own front end takes */
        text[k] = gen_form_kernel(&forms[first + k], k);
        FILE *f = open_memstream(&module, &size);
        gen_form_head(f, target);
        fputs(text[k] ? text[k] : "?", f);
        fclose(f);
        Diags silent = {.sink = keep};
        PtxModule *m = ptx_parse("form", module, size, &silent);
        if (!m) {
            free(text[k]);
            text[k] = NULL;
            if (getenv("SHOW"))
                printf("front end: %s\n", forms[first + k].opcode);
        } else
            refused++;
        ptx_free(m);
        free(module);
    }
    char *cubin = compile(target, text, n, &cubin_bytes);
    bool any = false;
    for (unsigned k = 0; k < n; k++)
        any |= text[k] != NULL;
    if (!any || (!cubin && n > 1)) {
        for (unsigned k = 0; k < n; k++) {
            refused -= !cubin && n > 1 && text[k];
            free(text[k]);
        }
        free(cubin);
        if (any) {
            test_chunk(target, first, n / 2);
            test_chunk(target, first + n / 2, n - n / 2);
        }
        return;
    }
    if (!cubin) { /* ptxas crashes on this one */
        free(text[0]);
        return;
    }
    FILE *f = open_memstream(&module, &size);
    gen_form_head(f, target);
    for (unsigned k = 0; k < n; k++)
        fputs(text[k] ? text[k] : "\n", f);
    fclose(f);
    FirstError error = {""};
    Diags diags = {.sink = keep, .user = &error};
    PtxModule *m = ptx_parse("forms", module, size, &diags);
    Binary *binary = cubin ? binary_read("forms.cubin", cubin, cubin_bytes, &diags) : NULL;
    if (!m || !binary) {
        printf("FAILED: %s\n", error.text);
        wrong++;
    }
    for (unsigned k = 0; k < n && m && binary; k++)
        if (text[k]) {
            refused--;
            judge(&forms[first + k], m, binary, k);
        }
    binary_free(binary);
    ptx_free(m);
    for (unsigned k = 0; k < n; k++)
        free(text[k]);
    free(cubin);
    free(module);
}

int main(int argc, char **argv) {
    ptxas = getenv("PTXAS");
    if (argc < 4 || !ptxas)
        return 2;
    ours = strcmp(ptxas, "heddle") == 0;
    if (getenv("ON") && strcmp(getenv("ON"), "card") == 0)
        engine.engine = DIFF_CARD;
    scratch = argv[1];
    target_name = argv[2];
    level = argv[3];
    part = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    parts = (argc > 5 ? (unsigned)atoi(argv[5]) : 1) * test_part();
    only = argc > 6 ? argv[6] : "";
    for (unsigned form = 1; form < form_count(); form++)
        gen_form_spellings(form, note_form, NULL);
    for (unsigned first = 0; first < nforms; first += CHUNK)
        test_chunk(argv[2], first, nforms - first < CHUNK ? nforms - first : CHUNK);
    printf("%s: %u statements: %u equal, %u differ by what PTX leaves to the compiler, %u not run, %u "
           "without a judge, %u wrong; "
           "%u are "
           "refused by ptxas alone\n",
           argv[2], nforms, equal, contraction, not_run, unjudged, wrong, refused);
    return wrong || equal < nforms / 4;
}
