/* Heddle: compile PTX to machine code, disassemble, assemble, run and validate it, without a GPU.
 *
 * No global state, no output, no exit: every function returns a status, and messages go to the callback of
 * the context. A context is for one thread at a time; contexts are independent of each other.
 *
 *     HdContext *c = hd_create(&(HdOptions){.message = print_message});
 *     HdModule *ptx, *binary;
 *     if (hd_parse(c, "k.ptx", text, size, &ptx) == HD_OK && hd_compile(ptx, NULL, &binary) == HD_OK) {
 *         HdArg args[] = {{.buffer = data, .size_bytes = sizeof data}, {.value = &n, .size_bytes = 4}};
 *         hd_launch(binary, &(HdLaunch){.kernel = "k", .grid = {1, 1, 1}, .block = {64, 1, 1},
 *                                       .args = args, .nargs = 2});
 *     }
 *     hd_destroy(c);
 *
 * Of every function:
 *   errors     any may return HD_ERR_USAGE (an argument is NULL that must not be, a wrong option: nothing
 *              was done), HD_ERR_MEMORY, HD_ERR_CANCELLED and HD_ERR_INTERNAL; the comment names the others.
 *              After an error the context and its modules are as they were before the call.
 *   results    what an `out`, `text`, `image` or `report` points to is always set: to the result, or to NULL
 *              (a size to 0) where there is none.
 *   ownership  modules belong to their context, until hd_destroy. Texts and reports are the caller's, for
 *              hd_free. What the caller passes in is copied, or read during the call only, but for the
 *              options of hd_create's callbacks and their `user`.
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

/* Marks what a program that links the library sees; nothing else of it is visible. */
#define HD_API __attribute__((visibility("default")))

typedef struct HdContext HdContext;
typedef struct HdModule HdModule; /* PTX or a binary; belongs to its context */
typedef struct HdMemory HdMemory; /* device memory that stays from launch to launch; belongs to its context */

typedef enum {
    HD_OK,
    HD_ERR_INPUT, /* the text or file is wrong; messages say where */
    HD_ERR_USAGE, /* the call is wrong: NULL, unknown target, a PTX function called with a binary */
    HD_ERR_INTERNAL,
    HD_ERR_DIFFERENT, /* hd_validate: the executions differ; hd_check: a rule is broken */
    HD_ERR_TRAP,      /* hd_launch, hd_interpret: the kernel trapped */
    HD_ERR_NOTHING,   /* nothing was shown: not run, both trap alike, little covered */
    HD_ERR_MEMORY,    /* the host has not enough, or HdOptions.max_memory_bytes is not */
    HD_ERR_LIMIT,     /* HdLaunch.max_steps or .max_seconds was reached */
    HD_ERR_CANCELLED, /* HdOptions.cancel said so */
    HD_STATUS_COUNT
} HdStatus;

typedef enum { HD_NOTE, HD_WARNING, HD_ERROR } HdSeverity;

/* `text` is one message with position, source line and caret, several lines, valid during the call. */
typedef void HdMessageFn(void *user, HdSeverity severity, const char *text);
/* The same message in its parts, before `text` is delivered; valid during the call. */
typedef struct {
    HdSeverity severity;
    const char *code;      /* "E0104"; docs: base/diag.def */
    const char *file;      /* NULL: about no file */
    uint32_t line, column; /* from 1; 0: no position in a text */
    const char *text;      /* alone, one line or more */
    const char *section;   /* of the PTX ISA document, or NULL; so are the next two */
    const char *reg, *function;
} HdDiagnostic;
typedef void HdDiagnosticFn(void *user, const HdDiagnostic *diagnostic);

/* Asked every few milliseconds while a kernel runs (hd_launch, hd_interpret, hd_validate, hd_validate_auto),
 * and between the steps of a compilation. true: the function ends and returns HD_ERR_CANCELLED. A callback
 * may call the library for another context, not for its own. */
typedef bool HdCancelFn(void *user);

typedef struct {
    HdMessageFn *message; /* NULL: messages are lost */
    void *user;           /* handed to message and cancel */
    HdCancelFn *cancel;   /* NULL: never */
    /* Host memory that one call may have at a time, beside what the modules have already; 0: no limit.
     * libelf's, and what stdio has for itself, is not counted. */
    size_t max_memory_bytes;
    HdDiagnosticFn *diagnostic; /* gets `user` too; may be NULL */
} HdOptions;

typedef struct {
    const char *target;    /* "bru1", "sm_80" ...; NULL: "bru1" */
    unsigned opt_level;    /* 0..3; hd_compile(.., NULL, ..) means 2 */
    const char *predicate; /* "off", "auto", "max": short branches as guarded code; NULL: "auto" */
    bool no_map, no_ptx;   /* leave .heddle.map, .heddle.ptx out of the file */
    const char *profile;   /* JSON of hd_profile or heddle run --profile: how branches go; NULL: not known */
    const char *reconverge_opt; /* of "meld", "speculate", "gather-rounds" with commas between, "all", "none":
                                 * what is done for divergent branches beyond joins; of "all" the joins of
                                 * several rounds only in loops that the profile counts; NULL: "none" */
} HdCompileOptions;

typedef struct {       /* a kernel argument: exactly one of value and buffer is set */
    const void *value; /* bytes of a scalar or structure, little endian; 4096 at most */
    void *buffer;      /* memory of the host: copied to the guest before and back after the launch */
    size_t size_bytes; /* of what is set; not 0 */
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

/* What one call of vprintf by one thread prints, as it happens; text is not NUL-terminated. */
typedef struct {
    uint32_t block[3], thread[3];
    const char *text;
    size_t size_bytes;
} HdPrint;
typedef void HdPrintFn(void *user, const HdPrint *print);

/* One instruction that a warp of the machine issues, before it does; texts are valid during the call. */
typedef struct {
    const char *function; /* NULL outside every function */
    const char *text;     /* as hd_disassemble prints it */
    uint64_t pc_bytes;    /* from the function's first instruction */
    uint32_t ptx_line;    /* 0: not known */
    uint32_t block[3], warp;
    uint32_t valid, active, executed; /* lanes that live; that are there; of these, those with a true guard */
} HdTrace;
typedef void HdTraceFn(void *user, const HdTrace *trace);
/* What the machine executed; of the interpreter thread_instructions only. */
typedef struct {
    uint64_t warp_instructions, thread_instructions; /* thread: counted for each thread that executed them */
    uint64_t data_warp_instructions, data_thread_instructions; /* of these, no branches, no convergence */
    uint64_t convergence_instructions; /* BSSY, BSYNC, BREAK, WARPSYNC, YIELD, by warps */
    uint64_t divergences;              /* branches that parted a warp */
    uint64_t switches;                 /* changes of the group of lanes that runs */
    uint64_t barrier_phases;           /* barriers of blocks that were passed */
} HdStatistics;

typedef struct {
    const char *kernel; /* NULL: the only one */
    uint32_t grid[3], block[3],
        shared_bytes;  /* blocks; threads of a block; dynamic shared memory of a block */
    const HdArg *args; /* in the order of the kernel's parameters */
    size_t nargs;
    HdHostCallFn *host_call; /* hd_launch: asked at every TRAP, RTT and SYSCALL; may be NULL */
    void *host_user;
    /* The launch ends with HD_ERR_LIMIT after so many steps: warp instructions on the machine, thread
     * instructions of the interpreter; 0: no limit. The result depends on nothing else, and buffers hold what
     * was written. */
    uint64_t max_steps;
    /* Seconds of processor time of the calling thread, then HD_ERR_LIMIT, buffers unchanged; 0: no limit. */
    double max_seconds;
    HdPrintFn *print; /* hd_launch, hd_interpret: gets what threads print; NULL: nobody reads it */
    void *print_user;
    /* hd_launch, hd_interpret: the launch runs on this memory, and no argument is a buffer; NULL: on memory
     * of its own, in which the module's variables start anew. */
    HdMemory *memory;
    /* hd_launch of a binary: threads that execute the blocks, 0: one. Results are the same for programs
     * without data races whose atomics give the same in any order; of several blocks that trap the lowest is
     * reported. One thread does it all if host_call or trace is there or the kernel prints or allocates. They
     * wait for the context's next launch with several, until hd_destroy; a process that is forked has its
     * own. */
    unsigned jobs;
    /* All blocks are there at once and may wait for each other, as grid.sync() does; there is a workspace for
     * it, which docs/ptx.md describes, on `memory` one for all launches. HD_ERR_INPUT for more than 1,024
     * blocks or 262,144 threads. */
    bool cooperative;
    /* hd_launch: how the machine reads what its specification leaves open, as
     * "bsync-nb=blocked,lane-choice=random:7" (heddle run --policy); NULL: the defaults. HD_ERR_USAGE for a
     * policy that there is not. */
    const char *policies;
    HdTraceFn *trace; /* hd_launch: told of every instruction; may be NULL */
    void *trace_user;
    HdStatistics *statistics; /* hd_launch, hd_interpret: filled in, also after a trap; may be NULL */
    /* hd_interpret: products of matrices add as this target's, "sm_90" (docs/numerics.md 7); NULL: as bru1's.
     * HD_ERR_USAGE for a target that there is not. */
    const char *target;
} HdLaunch;

/* A context without modules. `options` is copied; NULL: no messages, no limits. Returns NULL if there is no
 * memory. */
HD_API HdContext *hd_create(const HdOptions *options);
/* Ends the context and all its modules. NULL: does nothing. */
HD_API void hd_destroy(HdContext *context);

/* Parse and check PTX text of `size_bytes` bytes; it needs no NUL behind it. `name` is what messages call it.
 * HD_ERR_INPUT: it is not correct PTX, or larger than 1 GiB. */
HD_API HdStatus hd_parse(HdContext *context, const char *name, const char *text, size_t size_bytes,
                         HdModule **out);
/* Read LLVM IR for nvptx64, text or bitcode: LLVM's NVPTX target makes PTX of it in a child process, by a
 * libLLVM that is looked for then (docs/llvm.md); the module is the PTX. NULL options: no libraries, -O2.
 * HD_ERR_INPUT: there is no libLLVM, or it does not take the file; messages say which and where. */
typedef struct {
    const char *name; /* what messages call it */
    const void *data;
    size_t size_bytes;
} HdBitcode;
typedef struct {
    const char *cpu;    /* "sm_80"; NULL: what the module's functions are compiled for, else sm_80 */
    const char *passes; /* as of `opt -passes`, or "none"; NULL: default<O1> .. <O3>, at level 0 none */
    unsigned opt_level; /* 0..3; hd_parse_llvm(.., NULL, ..) means 2 */
    const HdBitcode *libraries; /* what the module uses of them is linked: libdevice, libclc */
    size_t nlibraries;
    const char *llvm; /* path of libLLVM; NULL: the newest that is installed */
} HdLlvmOptions;
HD_API HdStatus hd_parse_llvm(HdContext *context, const char *name, const void *data, size_t size_bytes,
                              const HdLlvmOptions *options, HdModule **out);
/* Load an ELF image of `size_bytes` bytes: one of Heddle's, or a cubin. HD_ERR_INPUT: it is neither, or
 * damaged. */
HD_API HdStatus hd_load(HdContext *context, const char *name, const void *image, size_t size_bytes,
                        HdModule **out);
/* Compile a PTX module to a binary one; NULL options: bru1, -O2. HD_ERR_INPUT: the PTX has something that is
 * not compiled for this target, or the profile is none; messages name it. HD_ERR_USAGE also for an unknown
 * target, level, predicate mode or reconvergence option. */
HD_API HdStatus hd_compile(HdModule *ptx, const HdCompileOptions *options, HdModule **out);
/* The bytes of a binary module's file, which stay the module's and are valid as long as it. */
HD_API HdStatus hd_image(const HdModule *binary, const void **image, size_t *size_bytes);
/* Assembly text of a binary, `size_bytes` bytes and a NUL; hd_assemble gives back the same file.
 * HD_ERR_INPUT: the file has no form as text. */
HD_API HdStatus hd_disassemble(HdModule *binary, char **text, size_t *size_bytes);
/* PTX modules of one context to one, which binds .extern names of each to definitions of the others; they
 * stay as they are. HD_ERR_INPUT: a name is not defined, or twice, or declarations do not agree; HD_ERR_USAGE
 * also for no module, a binary, or modules of several contexts. */
HD_API HdStatus hd_link(HdModule *const *ptx, size_t n, HdModule **out);
/* Assembly text to a binary. HD_ERR_INPUT: the text is wrong; messages say where. */
HD_API HdStatus hd_assemble(HdContext *context, const char *name, const char *text, size_t size_bytes,
                            HdModule **out);

/* What a module says of its kernels. *kernels becomes an array of `n`, with all that it points to for one
 * hd_free; NULL where there is none. What only code has is 0 for PTX. */
typedef struct {
    uint32_t offset_bytes, size_bytes; /* in the block of parameters */
} HdParam;
typedef struct {
    const char *name;
    const HdParam *params; /* in order; arguments of a launch are of these sizes */
    size_t nparams;
    uint32_t param_bytes;
    uint32_t registers, barriers;        /* of a thread; named barriers (bar.sync) */
    uint32_t stack_bytes;                /* of a thread, with what it calls; UINT32_MAX: recursive */
    uint32_t shared_bytes;               /* static */
    uint32_t max_block[3], req_block[3]; /* .maxntid, .reqntid; 0: not given */
} HdKernel;
HD_API HdStatus hd_kernels(const HdModule *module, HdKernel **kernels, size_t *n);

/* Device memory for several launches, in order: allocate, copy in, launch with HdLaunch.memory, copy out. A
 * module's variables are placed by the first launch with it (or by hd_variable), and keep their values;
 * modules that have a variable of one name share it. A launch that does not end (HD_ERR_LIMIT by time,
 * HD_ERR_CANCELLED, HD_ERR_MEMORY) leaves the memory as it was; one that traps leaves what it wrote.
 * Each launch copies the memory once on the host. Addresses are never 0 and are not used again. */
HD_API HdStatus hd_memory(HdContext *context, HdMemory **out);
/* Ends it before its context. NULL: does nothing. */
HD_API void hd_memory_end(HdMemory *memory);
/* Memory of the host is device memory at its own address, until hd_release of that address: launches read and
 * write it directly, and what they wrote stays whatever ends them. HD_ERR_USAGE also if something lies there.
 */
HD_API HdStatus hd_map(HdMemory *memory, void *host, size_t size_bytes);
/* `size_bytes` bytes, all zero, at a multiple of 256. HD_ERR_USAGE also for 0 or more than 64 GiB. */
HD_API HdStatus hd_allocate(HdMemory *memory, size_t size_bytes, uint64_t *address);
/* HD_ERR_USAGE: hd_allocate or hd_map did not give this address, or it was released. Later accesses are
 * traps. */
HD_API HdStatus hd_release(HdMemory *memory, uint64_t address);
/* Copy in and out. HD_ERR_USAGE: not all of it lies in one allocation or variable. */
HD_API HdStatus hd_write(HdMemory *memory, uint64_t address, const void *from, size_t size_bytes);
HD_API HdStatus hd_read(const HdMemory *memory, uint64_t address, void *to, size_t size_bytes);
/* Where a .global or .const variable of a module, PTX or binary, lies. HD_ERR_INPUT: it has none of that
 * name that is in memory. */
HD_API HdStatus hd_variable(HdMemory *memory, const HdModule *module, const char *name, uint64_t *address,
                            size_t *size_bytes);

/* Run a launch on the SIMT machine (a binary) or by the PTX reference interpreter (PTX). Buffers are copied
 * in before and back after, and keep what a trapping kernel wrote. Module variables start anew in every
 * launch. HD_ERR_INPUT: the launch cannot start (no such kernel, wrong arguments or shape, an instruction
 * that is not simulated); HD_ERR_TRAP: a message names the trap; HD_ERR_LIMIT. An endless kernel returns by
 * max_steps, max_seconds or HdOptions.cancel only, but where the machine can show that its state repeats,
 * which is a trap. HD_ERR_USAGE also if `args` is NULL and nargs is not 0, or an argument has both or neither
 * of value and buffer, no size, or a value of more than 4096 bytes. */
HD_API HdStatus hd_launch(HdModule *binary, const HdLaunch *launch);
HD_API HdStatus hd_interpret(HdModule *ptx, const HdLaunch *launch);
/* As hd_interpret, and counts how lanes go at each branch. *profile becomes JSON (docs/profiles.md) with
 * these counts and those of `earlier`, a profile of the same module or NULL, for HdCompileOptions.profile and
 * hd_free; NULL where the launch could not start. HD_ERR_INPUT also if `earlier` is no profile. */
HD_API HdStatus hd_profile(HdModule *ptx, const HdLaunch *launch, const char *earlier, char **profile);
/* Do both do the same? Buffers are not changed; host_call is not asked. A difference, or what PTX leaves
 * undefined in this launch, is described in *report (may be NULL) and gives HD_ERR_DIFFERENT; a difference
 * that the clock or activemask leaves open, which other orders of threads show, gives HD_OK. HD_ERR_INPUT as
 * hd_launch; HD_ERR_LIMIT: one of the two reached max_steps (each has its own count), or both together
 * max_seconds. */
HD_API HdStatus hd_validate(HdModule *ptx, HdModule *binary, const HdLaunch *launch, char **report);

/* Check a binary's machine code without running it: convergence barriers, collectives, control codes
 * (docs/check.md). HD_ERR_DIFFERENT if there are errors. The findings are put into *report (may be NULL) as
 * text, JSON or SARIF; NULL options: all rules, text. HD_ERR_USAGE also for a rule that there is not. */
typedef enum { HD_REPORT_TEXT, HD_REPORT_JSON, HD_REPORT_SARIF, HD_REPORT_HTML } HdReportForm;
typedef struct {
    const char *rules; /* "R-01,H-02"; NULL: all */
    bool no_hazards;   /* without the rules on control codes */
    HdReportForm form;
} HdCheckOptions;
HD_API HdStatus hd_check(HdModule *binary, const HdCheckOptions *options, char **report);
/* What a rule ("R-01") demands, with an example, or the code of a message ("E0104") means, for hd_free; NULL:
 * there is none of that name, or no memory. */
HD_API char *hd_explain(const char *rule);

/* The same for a kernel (NULL: the only one) under launches inferred from it and from `seed`
 * (docs/validate.md). The report begins with "NAME: VERDICT". HD_OK: equal or order-dependent;
 * HD_ERR_DIFFERENT: differs or racy; HD_ERR_NOTHING: both trap alike, little covered, or no launch was found.
 */
HD_API HdStatus hd_validate_auto(HdModule *ptx, HdModule *binary, const char *kernel, uint64_t seed,
                                 char **report);

/* Prove that a binary means what its PTX means, for all inputs (docs/prove.md). HD_OK: proved, perhaps
 * under assumptions that the report names; HD_ERR_DIFFERENT: refuted, a launch or a fact of the file shows a
 * difference; HD_ERR_NOTHING: something is unknown, or a limit was reached; HD_ERR_INPUT: there is no
 * function of that name. The report is put into *report (may be NULL); NULL options: everything, text. Z3
 * runs in processes of its own; while it is asked, at most for query_seconds, HdOptions.cancel is not. */
typedef struct {
    const char *kernel;      /* only this function and what it calls; NULL: all */
    double query_seconds;    /* processor time of one question to Z3; 0: 9 */
    double max_seconds;      /* processor time of everything, what is left is unknown; 0: no limit */
    uint32_t max_terms;      /* a function may make so many, what is left is unknown; 0: 4 million */
    size_t max_memory_bytes; /* of one function, likewise; 0: 512 MiB */
    bool regions;            /* text: name all regions, not only those that are not proved */
    HdReportForm form;       /* text or JSON */
} HdProveOptions;
HD_API HdStatus hd_prove(HdModule *ptx, HdModule *binary, const HdProveOptions *options, char **report);

/* Where lanes come together, and why not elsewhere, when this PTX is compiled so: heddle report. Text, JSON
 * or HTML (hd_page of the only kernel); NULL options: as hd_compile. Errors as hd_compile's. */
HD_API HdStatus hd_report(HdModule *ptx, const HdCompileOptions *options, HdReportForm form, char **report);

/* The same as a page of one kernel in one file (docs/gallery.md): control flow with its barrier regions,
 * source beside PTX beside machine code, and with a launch what the lanes did. NULL page: the only kernel, no
 * launch. HD_ERR_INPUT also if there is no such kernel, or a launch cannot start or be found; one that traps
 * is shown. HD_ERR_USAGE also for a launch with `memory`, or with `infer`. Buffers are not changed. */
typedef struct {
    const char *kernel;     /* NULL: the launch's, or the only one */
    const HdLaunch *launch; /* run on the machine for the page; NULL: none */
    bool infer;             /* launches are inferred from the kernel and `seed` (docs/validate.md) */
    uint64_t seed;
} HdPageOptions;
HD_API HdStatus hd_page(HdModule *ptx, const HdCompileOptions *options, const HdPageOptions *page,
                        char **html);

/* Release a text or report of the library; NULL: does nothing. */
HD_API void hd_free(void *text);
/* A few words for a status, constant; never NULL. */
HD_API const char *hd_status_text(HdStatus s);

#ifdef __cplusplus
}
#endif
#endif
