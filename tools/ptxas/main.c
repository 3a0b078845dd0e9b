/* The heddle-ptxas program: see ptxas.h. Parse all inputs into one module, apply what the command line says
 * of kernels, compile, write. Every error ends with status 255. SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/file.h"
#include "base/scope.h"
#include "frontend/gates.h"
#include "frontend/link.h"
#include "frontend/named.h"
#include "isa/machine/system.h"
#include "tools/ptxas/ptxas.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAST_REGS = 24,
    ARCHMIN_REGS = 32,
    MOST_REGS = 255
}; /* of --maxrregcount: what the calling convention needs, what `archmin` means, what there are */

typedef struct {
    int argc;
    char **argv;
    int status;
    Arena arena;
    Options options;
    Messages messages;
    PtxModule *module;
    const char *arch;     /* "sm_80", "compute_80" */
    const Target *target; /* NULL: parse only */
} Job;

static bool given(const Job *job, OptionId id) { return job->options.value[id] != NULL; }

/* ---- what is only printed ---- */

static void print_version(void) {
    /* "release N.M" is what callers look for; it tells them which PTX to write */
    puts("ptxas: heddle-ptxas " HEDDLE_VERSION
         ", Heddle's PTX compiler\nCommand line, messages and PTX as of\n"
         "Cuda compilation tools, release 13.0");
}

static void print_ptx_versions(void) {
    for (unsigned major = 1; ptx_last_minor(major) >= 0; major++)
        for (int minor = 0; minor <= ptx_last_minor(major); minor++)
            printf("%u.%d\n", major, minor);
}

/* ---- input ---- */

static bool choose_target(Job *job) {
    const char *arch = given(job, OPT_ARCH) ? job->options.value[OPT_ARCH] : "sm_75";
    static const char virtual[] = "compute_", late[] = "lto_"; /* code is made when linking, by others */
    job->arch = job->messages.arch = arch;
    bool is_late = strncmp(arch, late, sizeof late - 1) == 0;
    bool parses = is_late || strncmp(arch, virtual, sizeof virtual - 1) == 0;
    const char *number = arch + (is_late ? sizeof late : sizeof virtual) - 1;
    const char *name = parses ? arena_printf(&job->arena, "sm_%s", number) : arch;
    uint32_t sm;
    char variant;
    unsigned version;
    if (gate_target(name, &sm, &variant, &version) && sm >= 75) {
        job->target = parses ? NULL : isa_target(name);
        bool good = is_late ? variant != 'a' : parses || job->target;
        if (!good)
            ptxas_fatal(&job->messages, "Unsupported gpu architecture '%s'", arch);
        return good;
    }
    ptxas_fatal(&job->messages, "Value '%s' is not defined for option '%s'", arch, ptxas_long_name(OPT_ARCH));
    return false;
}

static PtxModule *parse_text(Job *job, const char *name, const char *text, size_t size) {
    if (!ptxas_text_is_taken(&job->messages, text, size))
        return NULL;
    Diags diags = ptxas_diags(&job->messages);
    PtxModule *module = NULL;
    if (!size)
        diag_in(&diags, &(Source){.name = name, .text = ""}, (SrcLoc){1}, DIAG_E0003, name);
    else
        module = ptx_parse(name, text, size, &diags);
    bool taken = ptxas_flush(&job->messages) && module;
    if (taken)
        taken = ptxas_module_is_taken(&job->messages, module, job->arch);
    if (!taken && module) {
        ptx_free(module);
        module = NULL;
    }
    return module;
}

static void not_opened(Job *job, const char *path) {
    ptxas_fatal(&job->messages, "Input file '%s' could not be opened", path);
}

/* All files that cannot be opened are named before anything is read. */
static bool all_readable(Job *job) {
    for (uint32_t k = 0; k < job->options.inputs.n; k++)
        if (strcmp(job->options.inputs.at[k], "-") != 0 && access(job->options.inputs.at[k], R_OK) != 0)
            not_opened(job, job->options.inputs.at[k]);
    if (job->messages.failed)
        ptxas_aborted();
    return !job->messages.failed;
}

static PtxModule *parse_file(Job *job, const char *path) {
    char *text;
    size_t size;
    Diags quiet = {0};
    if (!file_read(&job->arena, path, &quiet, &text, &size)) {
        not_opened(job, path);
        ptxas_aborted();
        return NULL;
    }
    return parse_text(job, strcmp(path, "-") == 0 ? "stdin" : path, text, size);
}

static bool read_inputs(Job *job) {
    uint32_t nfiles = job->options.inputs.n, n = nfiles + job->options.lists[OPT_STRING].n;
    PtxModule **all = ARENA_ARRAY(&job->arena, PtxModule *, n);
    if (!all_readable(job))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        const char *text = k < nfiles ? NULL : job->options.lists[OPT_STRING].at[k - nfiles];
        all[k] = text ? parse_text(job, "application ptx input", text, strlen(text))
                      : parse_file(job, job->options.inputs.at[k]);
        if (!all[k]) {
            while (k)
                ptx_free(all[--k]);
            return false;
        }
    }
    job->module = all[0];
    if (n > 1) {
        Diags diags = ptxas_diags(&job->messages);
        job->module = ptx_link(all, n, &diags);
        return ptxas_flush(&job->messages) && job->module;
    }
    return true;
}

/* ---- what the command line says of kernels ---- */

/* --entry: only these keep a body, and what they reach. */
static bool keep_entries(Job *job) {
    PtxModule *m = job->module;
    bool *vars = ARENA_ARRAY(&job->arena, bool, m->nvars + 1),
         *kept = ARENA_ARRAY(&job->arena, bool, m->nfuncs + 1);
    if (!given(job, OPT_ENTRY))
        return true;
    for (uint32_t k = 0; k < job->options.lists[OPT_ENTRY].n; k++) {
        const char *name = job->options.lists[OPT_ENTRY].at[k];
        uint32_t func = ptx_find_func(m, name);
        if (!func) {
            ptxas_fatal(&job->messages, "Unknown function %s", name);
            return false;
        }
        if (!m->funcs[func - 1].is_entry) {
            ptxas_error(&job->messages, "Entry function '%s' not found", name);
            return false;
        }
        ptx_mark_reached(m, func - 1, true, vars, kept);
    }
    for (uint32_t k = 0; k < m->nfuncs; k++)
        m->funcs[k].has_body &= kept[k];
    return true;
}

/* --maxrregcount in registers; 0: not given. */
static unsigned register_limit(Job *job) {
    const char *text = job->options.value[OPT_MAXRREGCOUNT];
    if (!text)
        return 0;
    long n = strcmp(text, "archmax") == 0   ? MOST_REGS
             : strcmp(text, "archmin") == 0 ? ARCHMIN_REGS
                                            : atol(text);
    if (n > MOST_REGS || n < 0) {
        ptxas_warning(&job->messages, "Too big maxrregcount value specified %ld, will be ignored", n);
        n = MOST_REGS;
    } else if (n < LEAST_REGS) {
        ptxas_warning(&job->messages,
                      "For profile %s adjusting per thread register count of %ld to lower bound of %d",
                      job->arch, n, LEAST_REGS);
        n = LEAST_REGS;
    }
    return (unsigned)n;
}

static void bound_registers(Job *job, PtxFunc *f, unsigned limit) {
    bool bounded = f->maxnreg || f->maxntid[0] || f->reqntid[0] || f->minnctapersm;
    if (bounded && !given(job, OPT_OVERRIDE))
        return;
    if (given(job, OPT_VERBOSE))
        ptxas_info("Overriding maximum register limit %u for '%s' with  %u of maxrregcount option",
                   f->maxnreg ? f->maxnreg : 256, str_text(&job->module->strings, f->name), limit);
    f->maxnreg = limit;
}

static void bound_threads(Job *job, PtxFunc *f) {
    bool overrides = given(job, OPT_OVERRIDE);
    if (given(job, OPT_MAXNTID) && job->options.lists[OPT_MAXNTID].n <= 3 && (!f->maxntid[0] || overrides))
        for (uint32_t k = 0; k < 3; k++)
            f->maxntid[k] = k < job->options.lists[OPT_MAXNTID].n
                                ? (uint32_t)strtoul(job->options.lists[OPT_MAXNTID].at[k], NULL, 10)
                                : 1;
    if (given(job, OPT_MINNCTAPERSM) && (!f->minnctapersm || overrides))
        f->minnctapersm = (uint32_t)strtoul(job->options.value[OPT_MINNCTAPERSM], NULL, 10);
}

static bool bound_kernels(Job *job) {
    unsigned limit = register_limit(job);
    if (given(job, OPT_MAXNTID) && job->options.lists[OPT_MAXNTID].n > 3)
        ptxas_warning(&job->messages,
                      "Too many values specified for option '-maxntid', option will be ignored");
    const PtxFunc *end = job->module->funcs + job->module->nfuncs;
    for (PtxFunc *f = job->module->funcs; f < end && !limit; f++)
        if (f->is_entry && f->has_body)
            bound_threads(job, f);
    ptxas_correct_bounds(&job->messages, job->module, job->target);
    for (uint32_t k = job->module->nfuncs; k-- > 0 && limit;)
        if (job->module->funcs[k].is_entry && job->module->funcs[k].has_body)
            bound_registers(job, &job->module->funcs[k], limit);
    if (job->messages.failed) /* -Werror */
        ptxas_aborted();
    return !job->messages.failed;
}

/* ---- what is wrong with a module that parses ---- */

static void warn_of_doubles(Job *job, const PtxFunc *f) {
    for (uint32_t k = 0; k < f->ninsns; k++)
        for (unsigned t = 0; t < f->insns[k].ntypes; t++)
            if (f->insns[k].type[t] == TY_F64) {
                ptxas_line_warning(&job->messages, job->module->source.name,
                                   ptx_line(job->module, &f->insns[k]),
                                   "Program is doing double precision computations.");
                break;
            }
}

/* PTX ISA 11.5: .pragma strings that mean something. */
static bool is_known_pragma(const char *text) {
    static const char *const known[] = {"nounroll", "used_bytes_mask", "enable_smem_spilling", "frequency"};
    for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
        if (strncmp(text, known[k], strlen(known[k])) == 0)
            return true;
    return false;
}

static void warn_of_debug(Job *job) {
    if (!given(job, OPT_DEBUG))
        return;
    if (given(job, OPT_LINE_INFO))
        ptxas_warning(&job->messages,
                      "Conflicting options --device-debug and --generate-line-info specified, ignoring "
                      "--generate-line-info option");
    if (!given(job, OPT_NO_DEBUG_INFO))
        ptxas_warning(&job->messages, "--device-debug: heddle-ptxas writes line tables only, no .debug_info");
}

static void warn_of_text(Job *job) {
    warn_of_debug(job);
    for (uint32_t k = 0; k < job->module->nfuncs && given(job, OPT_WARN_DOUBLE); k++)
        warn_of_doubles(job, &job->module->funcs[k]);
    for (uint32_t k = 0; k < job->module->nfuncs; k++) {
        const PtxFunc *f = &job->module->funcs[k];
        for (uint32_t p = 0; p < f->npragmas; p++) {
            const char *pragma = str_text(&job->module->strings, f->pragmas[p]);
            if (!is_known_pragma(pragma))
                ptxas_warning(&job->messages, "Pragma '%s' unsupported", pragma);
        }
    }
}

/* Functions that code needs and nobody defines: neither this module nor the driver. */
static bool externs_resolved(Job *job) {
    const PtxModule *m = job->module;
    bool *vars = ARENA_ARRAY(&job->arena, bool, m->nvars + 1),
         *needed = ARENA_ARRAY(&job->arena, bool, m->nfuncs + 1);
    for (uint32_t k = 0; k < m->nfuncs; k++)
        if (m->funcs[k].has_body)
            ptx_mark_reached(m, k, true, vars, needed);
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        const PtxFunc *f = &m->funcs[k];
        const char *name = str_text(&m->strings, f->name);
        if (given(job, OPT_COMPILE_ONLY) || !needed[k] || f->has_body || f->alias_of ||
            system_find(name) != SYSTEM_COUNT)
            continue;
        ptxas_fatal(&job->messages, "Unresolved extern function '%s'", name);
        return false;
    }
    return true;
}

/* ---- code ---- */

static bool target_fits(Job *job) {
    uint32_t sm;
    char variant;
    unsigned version;
    Diags diags = ptxas_diags(&job->messages);
    const char *name = isa_target_name(job->target);
    if (gate_target(name, &sm, &variant, &version) && job->module->sm > sm) {
        ptxas_fatal(&job->messages,
                    "SM version specified by .target is higher than default SM version assumed");
        return false;
    }
    gate_machine(job->module, name, &diags);
    return ptxas_flush(&job->messages);
}

static DriverOptions driver_options(const Job *job) {
    const char *level = job->options.value[OPT_LEVEL];
    long n = level && *level ? atol(level) : given(job, OPT_DEBUG) ? 0 : 3;
    bool keep = given(job, OPT_KEEP_MAP), asked = given(job, OPT_LINE_INFO) || given(job, OPT_DEBUG);
    bool lines = !asked || !given(job, OPT_NO_DEBUG_INFO); /* .loc asks for them by itself, as with ptxas */
    return (DriverOptions){
        .target = job->target,
        .opt_level = n < 0   ? 0
                     : n > 3 ? 3
                             : (unsigned)n,
        .elf = {
            .relocatable = given(job, OPT_COMPILE_ONLY), .no_map = !keep, .no_ptx = !keep, .lines = lines}};
}

static bool write_output(Job *job, const Compilation *compilation) {
    const char *path = given(job, OPT_OUTPUT) ? job->options.value[OPT_OUTPUT] : "elf.o";
    Diags quiet = {0};
    if (strcmp(path, "-") == 0) /* a file of that name, as with ptxas */
        path = "./-";
    if (file_write(path, compilation->image, compilation->image_bytes, &quiet))
        return true;
    ptxas_fatal(&job->messages, "Output file '%s' could not be opened", path);
    return false;
}

static bool compile(Job *job) {
    Compilation compilation;
    DriverOptions options = driver_options(job);
    Diags diags = ptxas_diags(&job->messages);
    double start = clock_seconds();
    bool good = driver_compile(&compilation, job->module, &options, &diags);
    good = ptxas_flush(&job->messages) && good;
    if (good) {
        ptxas_warn_of_code(&compilation, job->module, &job->options, &job->messages);
        if (given(job, OPT_VERBOSE))
            ptxas_print_info(&compilation, job->module, job->arch, (clock_seconds() - start) * 1e3);
        good = !job->messages.failed && write_output(job, &compilation);
    }
    driver_free(&compilation);
    return good;
}

static bool run(Job *job) {
    if (!ptxas_options(&job->options, job->argc, job->argv, &job->messages))
        return false;
    job->messages.werror = given(job, OPT_WERROR);
    job->messages.quiet = given(job, OPT_NO_WARNINGS);
    if (!choose_target(job))
        return false;
    bool none = !job->options.inputs.n && !job->options.lists[OPT_STRING].n;
    if (given(job, OPT_VERSION))
        print_version();
    else if (given(job, OPT_LIST_VERSION))
        print_ptx_versions();
    else if (given(job, OPT_HELP) || none)
        ptxas_help();
    else
        return read_inputs(job) && (warn_of_text(job), !job->messages.failed) &&
               (!job->target ||
                (target_fits(job) &&
                 ptxas_program_is_taken(&job->messages, job->module, given(job, OPT_COMPILE_ONLY)) &&
                 keep_entries(job) && externs_resolved(job) && bound_kernels(job) && compile(job)));
    return true;
}

static void run_job(void *user) {
    Job *job = user;
    job->messages.arena = &job->arena;
    job->status = run(job) && !job->messages.failed ? 0 : PTXAS_FAILED;
    if (job->module)
        ptx_free(job->module);
    arena_free(&job->arena);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--man") == 0) { /* for the installation */
        ptxas_manual();
        return 0;
    }
    Job job = {.argc = argc, .argv = argv};
    ScopeResult result = scope_run(run_job, &job, NULL);
    if (result.end != SCOPE_DONE) {
        fprintf(stderr, "ptxas fatal   : %s%s\n",
                result.what ? "internal error: " : "Memory allocation failure",
                result.what ? result.what : "");
        return PTXAS_FAILED;
    }
    return fflush(stdout) == 0 ? job.status : PTXAS_FAILED;
}
