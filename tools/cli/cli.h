/* The heddle program: its commands and options are one table (options.c) that parsing, --help and the manual
 * pages are made from.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_CLI_H
#define HEDDLE_TOOLS_CLI_H
#include "check/flow/verdict.h"
#include "check/fuzz/fuzz.h"
#include "check/model/model.h"
#include "check/validate/compare/diff.h"
#include "emit/elf/container.h"
#include "emit/text/asm.h"
#include "frontend/llvm/llvm_ir.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"
#include <argp.h>
#include <cjson/cJSON.h>

enum { MAX_INPUTS = 1000 };

typedef struct Written Written; /* tools/commands/written.h */

typedef struct {
    Arena arena;
    Diags diags;
    const char *inputs[MAX_INPUTS];
    unsigned ninputs, max_inputs;
    const char *output, *emit, *dump, *stop_after, *without;
    const Target *target;
    const Target *object_target; /* of the objects read; the target where no option says one */
    unsigned opt_level;
    ReconvMode reconverge;
    PredicateMode predicate;
    unsigned reconv_opts;
    Written *written; /* NULL: not to be reported */
    bool yield_breaks, time_passes, verbose, no_map, no_ptx, old_form, json, object, keep_going;
    uint64_t options_hash; /* of all options given that may change a verdict */
    Plan plan;             /* launch: from options or from --launch */
    PlanLaunch launch;     /* --kernel, --grid, --block, --shared */
    VEC(const char *) args, expects, prints, saves;
    VEC(ProfileInput) profiles; /* to compile with */
    LlvmOptions llvm;           /* without level and files */
    VEC(const char *) bitcode;  /* --libdevice */
    const char *profile_out;    /* run: where to */
    const char *against;        /* report: the other binary */
    const char *replay;         /* schedule */
    const char *launch_file, *data_dir, *engine, *trace, *perfetto;
    bool own_target; /* coverage: of each module */
    bool has_shape, stats, no_trace, host_calls, races, launch_auto;
    const char *show_launch, *state_file;
    const char *with_ptxas; /* lists of options, with commas between them; NULL: not asked for */
    const char *ptxas;      /* the program; maker_find_ptxas */
    const char *bundles;    /* directory, for what differs */
    DiffOther other;        /* of --engine */
    DiffTolerance tolerance;
    unsigned jobs, time_limit_seconds, memory_limit_mib;
    unsigned jit_after;    /* instructions, 0: default */
    const char *jit_cache; /* folder, "none", NULL: default */
    bool still_compiles;   /* a thread of the compiling engine: end with _exit (machine_jit_close) */
    MachineOptions machine;
    uint64_t seed, budget;
    bool has_opt_level;
    bool no_launches;     /* prove */
    DisasmOptions disasm; /* without kernel and json */
    bool whole_file;      /* --sections */
    bool any_machine;     /* also one whose code is read and written only */
    const char *certificate, *check_certificate;
    double query_time, search_time, total_time; /* prove, in seconds */
    struct {
        const char *html, *emit, *kernel;
    } report;
    struct {
        const char *rules, *severity, *baseline;
        bool no_hazards, sarif;
    } check;
    struct {
        ModelOptions options; /* without policies, which are in `machine` */
        const char *schedule;
        bool on, all_policies;
    } model;
    struct {
        const char *apply, *classes, *kinds;
        uint32_t count;
        uint64_t programs;
        double prove_seconds;
        bool campaign;
    } mutate;
    struct {
        const char *kinds, *keep_dir, *state_file;
        uint64_t count, first;
        FuzzPolicies policies;
        double reduce_seconds;
        unsigned max_failures, jobs;
        bool metrics, check_only;
    } fuzz;
    struct {
        VEC(const char *) repositories;
        const char *arch, *transfer, *forms_dir;
        unsigned action; /* LearnAction of tools/commands/learn_options.h */
        bool keys;
    } learn;
} Settings;

typedef struct {
    const char *name, *args, *summary, *details;
    unsigned min_inputs, max_inputs;
    const struct argp_option *const *groups; /* NULL-terminated */
    int (*run)(Settings *s);
} Command;

extern const Command cli_commands[]; /* ends with a NULL name */

/* Parse the options of one command; ends the program with status 2 if they are wrong, with 0 after --help. */
void cli_parse(const Command *command, Settings *settings, int argc, char **argv);
void cli_help(FILE *out); /* the list of commands */
/* What is added to an option's text: the list of machines comes from their descriptions. */
const char *cli_names_listed(const struct argp_option *option);
void cli_manual(FILE *out, const Command *command); /* roff; NULL: heddle(1) */
/* The name most like what was typed, if one is like it: offer each to cli_suggest, then `best` is it or NULL.
 */
typedef struct {
    const char *typed;
    size_t size; /* bytes of it */
    const char *best;
    unsigned distance;
} Suggestion;
void cli_suggest(Suggestion *suggestion, const char *name);

/* Ends the program at a long option that there is not, if one of `all` (its last name is NULL) is like it;
 * argp would only say that it is not recognised. */
void cli_reject_unknown(const Command *command, const struct argp_option *all, int argc, char **argv);
/* Leaves of n rows (the last ends them) those that a word may name, in their order, and all where help is
 * asked for: argp compares each name with all before it, whatever is given. How many are left. */
unsigned cli_named_options(struct argp_option *all, unsigned n, int argc, char **argv);

/* What a shell sources to complete commands, options and files; false: not for "bash", "zsh" or "fish". */
bool cli_completion(FILE *out, const char *shell);

int cmd_compile(Settings *settings);
int cmd_link(Settings *settings);
int cmd_asm(Settings *settings);
int cmd_disasm(Settings *settings);
int cmd_run(Settings *settings);
int cmd_validate(Settings *settings);
int cmd_fuzz(Settings *settings);
int cmd_report(Settings *settings);
int cmd_check(Settings *settings);
/* The model checker on every kernel; prints, or adds to the array `json`; *worst becomes the worst verdict.
 * False: reported. */
bool cli_model(Settings *settings, const BinFlow *flow, cJSON *json, Verdict *worst);
/* heddle report --against, and of a binary alone (`other` NULL): prints. */
void cli_figures(Settings *settings, const Binary *ours, const Binary *other);
int cmd_explain(Settings *settings);
int cli_replay(Settings *settings); /* heddle run --replay */
int cmd_mutate(Settings *settings);
int cmd_prove(Settings *settings);
int cmd_coverage(Settings *settings);
int cmd_learn(Settings *settings);
/* The program of that name in the directory of this one takes this one's place, with those arguments, or
 * NULL: with this one's. Returns, and has reported it, where there is none or one of another build. */
int cli_start_beside(const char *name, char **argv);
/* The build of a program, in its file as ELF has notes: stamp.c. */
typedef struct {
    uint32_t name_bytes, build_bytes, type;
    char name[8], build[20];
} BuildNote;
extern const BuildNote cli_build_note;
/* Only in `heddle` linked with archives alone (start_full.c): does not return where more is wanted than it
 * can. */
void cli_leave(int argc, char **argv) __attribute__((weak));
/* There, in the place of dlopen and its kin and of the other commands: who asks for them gets them in the
 * other program. */
_Noreturn void cli_full_program(void);
void cli_find_no_libraries(void);
int cmd_nvcc(Settings *settings);

/* ---- what commands share (common.c) ---- */
enum { CLI_ERROR_BYTES = 300 };
void cli_print_json(cJSON *tree); /* to standard output; the tree is gone */
/* A sink that keeps the first error in `user`, "" before: "K.ptx:12:5: E0104: text", CLI_ERROR_BYTES at most.
 */
void cli_keep_error(void *user, Severity severity, const char *line);
/* A sink for standard error: diag_print_sink, with severities in colour on a terminal unless NO_COLOR is set.
 */
void cli_print_sink(void *user, Severity severity, const char *line);
/* Progress on a terminal, a line each second, until it is stopped: by commands that show a better one, and at
 * the end. */
void cli_ticker_start(const char *command);
void cli_ticker_stop(void);
/* The symbol of the module's kernel that `name` means, which may be its name in C++, if one alone has that;
 * else `name` itself. Either may be NULL. */
const char *cli_kernel_symbol(Settings *settings, const PtxModule *ptx, const Binary *binary,
                              const char *name);
bool cli_is_elf(const char *data, size_t size_bytes);
/* Read and parse; reported on failure. */
PtxModule *cli_read_ptx(Settings *settings, const char *path);
/* Also *code, if the PTX is that of machine code: what is said of the file is to be said of that, not of what
 * would be compiled now. Else *code is left as it is. */
PtxModule *cli_read_ptx_and_code(Settings *settings, const char *path, Binary **code);
/* The first `n` inputs, PTX texts and objects, linked into one module if there are several. */
PtxModule *cli_read_modules(Settings *settings, unsigned n);
/* Nothing of the container, or not one alone, is what is asked for: E0417, with what there is. False. */
bool cli_reject_container(Settings *settings, const char *path, const Container *container);
/* Read a file; of one that holds programs (emit/elf/container.h) the one that --target and --kernel mean.
 * With `ptx`, PTX before machine code. */
bool cli_read_program(Settings *settings, const char *path, bool ptx, char **data, size_t *size_bytes);
Binary *cli_load(Settings *settings, const char *path, const char *data, size_t size_bytes);
Binary *cli_compile_to_binary(Settings *settings, const PtxModule *ptx, const char *path);
/* The same of a module that was read with settings->keep_going, less the functions that do not compile: they
 * lose their bodies, their errors are reported, and they are named by a warning and in *left_out. NULL: none
 * is left. */
typedef VEC(const char *) CliNames;
Binary *cli_compile_most(Settings *settings, PtxModule *module, const char *path, CliNames *left_out);
void cli_name_broken(Settings *settings, const PtxModule *module, CliNames *names); /* those not even read */
void cli_keep_names(CliNames *names, const char *wanted);                           /* NULL: all */
void cli_print_left_out(const CliNames *names);                                     /* the verdicts */
/* Is there a card, where --engine wants one? Without --target the target is the card's. False: reported. */
bool cli_choose_card(Settings *settings);
/* The launch plan of the options. A launch file's "module" is the default input. */
bool cli_read_plan(Settings *s);
DriverOptions cli_driver_options(const Settings *settings);
#endif
