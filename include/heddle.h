/* Heddle: compile PTX to machine code, disassemble, assemble, run and validate it, without a GPU.
 *
 * No global state, no output, no exit: every function returns a status, and messages go to the callback of
 * the context. A context is for one thread at a time; contexts are independent of each other. Running out of
 * host memory ends the process.
 *
 *     HdContext *c = hd_create(&(HdOptions){.message = print_message});
 *     HdModule *ptx, *binary;
 *     if (hd_parse(c, "k.ptx", text, size, &ptx) == HD_OK && hd_compile(ptx, NULL, &binary) == HD_OK) {
 *         HdArg args[] = {{.buffer = data, .size_bytes = sizeof data}, {.value = &n, .size_bytes = sizeof
 * n}}; hd_launch(binary, &(HdLaunch){.kernel = "k", .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = args,
 * .nargs = 2});
 *     }
 *     hd_destroy(c);
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_H
#define HEDDLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1

typedef struct HdContext HdContext;
typedef struct HdModule HdModule; /* PTX or a binary; belongs to its context */

typedef enum {
    HD_OK,
    HD_ERR_INPUT, /* the text or file is wrong; messages say where */
    HD_ERR_USAGE, /* the call is wrong: NULL, unknown target, a PTX function called with a binary */
    HD_ERR_INTERNAL,
    HD_ERR_DIFFERENT, /* hd_validate: the executions differ; hd_check: a rule is broken */
    HD_ERR_TRAP,      /* hd_launch, hd_interpret: the kernel trapped */
    HD_ERR_NOTHING,   /* nothing was shown: not run, both trap alike, little covered */
    HD_STATUS_COUNT
} HdStatus;

typedef enum { HD_NOTE, HD_WARNING, HD_ERROR } HdSeverity;

/* `text` is one message with position, source line and caret, several lines, valid during the call. */
typedef void HdMessageFn(void *user, HdSeverity severity, const char *text);

typedef struct {
    HdMessageFn *message; /* NULL: messages are lost */
    void *user;
} HdOptions;

typedef struct {
    const char *target;    /* "bru1", "sm_80" ...; NULL: "bru1" */
    unsigned opt_level;    /* 0..3; hd_compile(.., NULL, ..) means 2 */
    const char *predicate; /* "off", "auto", "max": short branches as guarded code; NULL: "auto" */
    bool no_map, no_ptx;   /* leave .heddle.map, .heddle.ptx out of the file */
} HdCompileOptions;

typedef struct {       /* a kernel argument: exactly one of value and buffer is set */
    const void *value; /* bytes of a scalar or structure, little endian */
    void *buffer;      /* memory of the host: copied to the guest before and back after the launch */
    size_t size_bytes;
} HdArg;

typedef enum { HD_CALL_TRAP, HD_CALL_RTT, HD_CALL_SYSCALL } HdHostCallKind;
typedef struct { /* TRAP, RTT or SYSCALL, executed by some lanes of a warp */
    HdHostCallKind kind;
    const char *function; /* NULL outside every function */
    uint64_t pc_bytes;    /* from the function's first instruction */
    uint32_t ptx_line;    /* 0: not known */
    uint32_t block[3], warp, lanes;
    uint32_t value[32];         /* operand of TRAP in these lanes, else 0 */
    const uint32_t (*regs)[32]; /* R0 to R254 of all 32 lanes, during the call */
} HdHostCall;
/* true: go on behind the instruction; false: the launch ends as a trap, as it does without a handler. */
typedef bool HdHostCallFn(void *user, const HdHostCall *call);

typedef struct {
    const char *kernel; /* NULL: the only one */
    uint32_t grid[3], block[3], shared_bytes;
    const HdArg *args;
    size_t nargs;
    HdHostCallFn *host_call; /* hd_launch: asked at every TRAP, RTT and SYSCALL; may be NULL */
    void *host_user;
} HdLaunch;

HdContext *hd_create(const HdOptions *options); /* NULL options: no messages; NULL result: no memory */
void hd_destroy(HdContext *context);            /* and all its modules */

/* Parse and check PTX text. */
HdStatus hd_parse(HdContext *context, const char *name, const char *text, size_t size_bytes, HdModule **out);
/* Load an ELF image: one of Heddle's, or a cubin. */
HdStatus hd_load(HdContext *context, const char *name, const void *image, size_t size_bytes, HdModule **out);
HdStatus hd_compile(HdModule *ptx, const HdCompileOptions *options, HdModule **out);
/* Bytes of a binary module's file; valid as long as the module. */
HdStatus hd_image(const HdModule *binary, const void **image, size_t *size_bytes);
/* Assembly text of a binary; hd_assemble gives back the same file. Free it with hd_free. */
HdStatus hd_disassemble(HdModule *binary, char **text, size_t *size_bytes);
HdStatus hd_assemble(HdContext *context, const char *name, const char *text, size_t size_bytes,
                     HdModule **out);

/* Run a launch on the SIMT machine (a binary) or by the PTX reference interpreter (PTX). Buffers keep what a
 * trapping kernel wrote. Module variables start anew in every launch. */
HdStatus hd_launch(HdModule *binary, const HdLaunch *launch);
HdStatus hd_interpret(HdModule *ptx, const HdLaunch *launch);
/* Do both do the same? Buffers are not changed. A difference, or what PTX leaves undefined in this launch, is
 * described in *report (may be NULL; hd_free) and gives HD_ERR_DIFFERENT; both trapping alike, or an
 * operation that an engine lacks, HD_ERR_NOTHING. */
HdStatus hd_validate(HdModule *ptx, HdModule *binary, const HdLaunch *launch, char **report);

/* Check a binary's machine code without running it: convergence barriers, collectives, control codes
 * (docs/check.md). HD_ERR_DIFFERENT if there are errors. The findings are put into *report (may be NULL;
 * hd_free) as text, JSON or SARIF. */
typedef enum { HD_REPORT_TEXT, HD_REPORT_JSON, HD_REPORT_SARIF } HdReportForm;
typedef struct {
    const char *rules; /* "R-01,H-02"; NULL: all */
    bool no_hazards;   /* without the rules on control codes */
    HdReportForm form;
} HdCheckOptions;
HdStatus hd_check(HdModule *binary, const HdCheckOptions *options, char **report);
/* What a rule demands, and an example; NULL if there is none of that name. Free it with hd_free. */
char *hd_explain(const char *rule);

/* The same for a kernel (NULL: the only one) under launches inferred from it and from `seed`
 * (docs/validate.md). The report begins with "NAME: VERDICT". HD_OK: equal or order-dependent;
 * HD_ERR_DIFFERENT: differs or racy; HD_ERR_NOTHING: both trap alike, little covered, or no launch was found.
 */
HdStatus hd_validate_auto(HdModule *ptx, HdModule *binary, const char *kernel, uint64_t seed, char **report);

void hd_free(void *text);
const char *hd_status_text(HdStatus s);

#ifdef __cplusplus
}
#endif
#endif
