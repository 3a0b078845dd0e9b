/* Writing what differs: see bundle.h. A process of its own does it, so that a kernel's verdict does not
 * depend on whether its PTX can be made smaller.
 * SPDX-License-Identifier: MIT */
#include "tools/commands/bundle.h"
#include "base/file.h"
#include "base/scope.h"
#include "check/validate/judge/judge.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REDUCE_SECONDS = 30, LIMIT_SECONDS = 120 };

static char *printed(Settings *settings, const char *directory, const char *name) {
    return arena_printf(&settings->arena, "%s/%s", directory, name);
}

/* "K-kernel-ptxas-O3": what a shell takes as one word. */
static char *folder_name(const Bundle *bundle) {
    const char *slash = strrchr(bundle->path, '/'), *file = slash ? slash + 1 : bundle->path;
    const char *dot = strrchr(file, '.');
    char *name =
        arena_printf(&bundle->settings->arena, "%.*s-%s-%s", dot ? (int)(dot - file) : (int)strlen(file),
                     file, bundle->kernel, bundle->maker->label);
    char *to = name;
    for (const char *from = name; *from; from++)
        if (isalnum((unsigned char)*from) || strchr("_.$", *from))
            *to++ = *from;
        else if (to > name && to[-1] != '-')
            *to++ = '-';
    *to = 0;
    return printed(bundle->settings, bundle->directory, name);
}

/* ---- does it still differ? ---- */

typedef struct {
    const Bundle *bundle;
    const char *launch;     /* text of the launch file */
    const char *folder;     /* where its data are */
    bool right[MAX_MAKERS]; /* whose code does what the PTX says: it must go on to */
} Question;

static bool read_plan(const Question *question, Plan *plan, Source *source, Diags *diags) {
    *plan = (Plan){.data_dir = question->folder};
    *source = (Source){"launch.json", question->launch, strlen(question->launch)};
    return plan_read_json(plan, source, diags);
}

/* A program that reads what it never wrote, or leaves open what it does, shows nothing. */
static bool is_defined(const Question *question, const PtxModule *module) {
    Plan plan;
    Source source;
    Diags quiet = {0};
    PtxRunOptions options = {.budget = DIFF_PTX_BUDGET, .report_uninitialised = true, .report_open = true};
    bool good = read_plan(question, &plan, &source, &quiet);
    SimMemory *memory = good ? diff_first_memory(&plan, module, &quiet) : NULL;
    good = memory != NULL;
    for (uint32_t i = 0; good && i < plan.launches.n; i++) {
        PtxRunResult result = {0};
        good = diff_run_ptx(&plan, &plan.launches.at[i], module, memory, &options, &result, &quiet) &&
               result.trap.kind == TRAP_NONE && !result.nwarnings;
    }
    if (memory)
        simmem_free(memory);
    plan_free(&plan);
    return good;
}

static Verdict judged(const Question *question, const PtxModule *module, const Maker *maker) {
    Settings *settings = question->bundle->settings;
    JudgeOptions options = {.seed = settings->seed,
                            .budget = settings->budget,
                            .machine = settings->machine,
                            .tolerance = settings->tolerance,
                            .no_trace = true};
    Plan plan;
    Source source;
    Diags quiet = {0};
    Judgement judgement = {.verdict = VERDICT_NOT_RUN};
    char error[CLI_ERROR_BYTES];
    Binary *binary = maker_compile(settings, maker, module, "reduced", error);
    bool good = binary && read_plan(question, &plan, &source, &quiet);
    Verdict verdict = VERDICT_NOT_RUN;
    if (good && judge_plan(&plan, module, binary, &options, &judgement, &quiet))
        verdict = judgement.verdict;
    judgement_free(&judgement);
    if (good)
        plan_free(&plan);
    binary_free(binary);
    return verdict;
}

static bool is_right(Verdict verdict) {
    return verdict == VERDICT_EQUAL || verdict == VERDICT_LITTLE_COVERED;
}

static bool differs(void *user, const char *text, size_t size_bytes) {
    const Question *question = user;
    const Bundle *bundle = question->bundle;
    Settings *settings = bundle->settings;
    ArenaMark mark = arena_mark(&settings->arena);
    Diags quiet = {0};
    PtxModule *module = ptx_parse("reduced.ptx", text, size_bytes, &quiet);
    bool still =
        module && is_defined(question, module) && judged(question, module, bundle->maker) == VERDICT_DIFFERS;
    for (unsigned k = 0; still && k < bundle->nothers; k++)
        still = !question->right[k] || is_right(judged(question, module, &bundle->others[k]));
    if (module)
        ptx_free(module);
    arena_release(&settings->arena, mark);
    return still;
}

/* ---- the files ---- */

static bool write_text(const Bundle *bundle, const char *folder, const char *name, const char *text,
                       size_t size) {
    return file_write(printed(bundle->settings, folder, name), text, size, &bundle->settings->diags);
}

/* The launch file, its data beside it. */
static char *write_launch(const Bundle *bundle, const char *folder) {
    Plan plan = *bundle->plan;
    VEC(PlanBuffer) buffers = {0};
    for (uint32_t i = 0; i < plan.buffers.n; i++) {
        PlanBuffer buffer = plan.buffers.at[i];
        if (buffer.init && *buffer.init == '@') {
            char *data, *name = arena_printf(&bundle->settings->arena, "@%s.bin", buffer.name);
            size_t size;
            if (!file_read(&bundle->settings->arena, plan_data_path(&plan, buffer.init),
                           &bundle->settings->diags, &data, &size) ||
                !write_text(bundle, folder, name + 1, data, size))
                return NULL;
            buffer.init = name;
        }
        VEC_ADD(&bundle->settings->arena, &buffers, buffer);
    }
    memcpy(&plan.buffers, &buffers, sizeof buffers);
    char *text = plan_print_json(&plan);
    return write_text(bundle, folder, "launch.json", text, strlen(text)) ? text : NULL;
}

static void write_binary(const Bundle *bundle, const char *folder, const PtxModule *module,
                         const Maker *maker) {
    char error[CLI_ERROR_BYTES], name[80], *to = name;
    Binary *binary = maker_compile(bundle->settings, maker, module, "kernel.ptx", error);
    for (const char *from = maker->label; *from && to < name + 70; from++)
        if (isalnum((unsigned char)*from) || (*from == '-' && to[-1] != '-'))
            *to++ = *from;
    snprintf(to, 8, ".cubin");
    if (binary)
        write_text(bundle, folder, name, (const char *)binary->image, binary->image_bytes);
    binary_free(binary);
}

static void write_report(const Bundle *bundle, const char *folder, bool reduced) {
    Settings *settings = bundle->settings;
    const char *arch = settings->with_ptxas ? isa_target_name(settings->target) : "";
    TextStream *stream = text_open();
    FILE *out = stream->out;
    fprintf(out, "%s, kernel %s: the code of %s does not do what the PTX says.\n\n", bundle->path,
            bundle->kernel, bundle->maker->label);
    fputs(bundle->report, out);
    fprintf(out, "\nkernel.ptx      %s\noriginal.ptx    the whole module\nlaunch.json     the launch\n",
            reduced ? "what is left of it when all is taken away that the difference does without"
                    : "as the module: it could not be made smaller");
    fprintf(out, "*.cubin         made of kernel.ptx:\n");
    for (unsigned k = 0; k < bundle->nothers; k++)
        if (bundle->others[k].options)
            fprintf(out, "                ptxas -arch=%s %s kernel.ptx (%s)\n", arch,
                    bundle->others[k].options, maker_ptxas_version(settings));
        else
            fprintf(out, "                heddle compile -t %s -O%u kernel.ptx\n",
                    settings->target ? isa_target_name(settings->target) : isa_target_name(isa_targets[0]),
                    settings->opt_level);
    fprintf(out, "\nTo see it again: heddle validate kernel.ptx FILE.cubin --launch launch.json\n");
    size_t size;
    char *text = text_close(stream, &size);
    write_text(bundle, folder, "report.txt", text, size);
    mem_free(text);
}

static bool write_all(const Bundle *bundle, const char *folder) {
    Question question = {.bundle = bundle, .folder = folder};
    const Source *source = &bundle->module->source;
    question.launch = write_launch(bundle, folder);
    if (!question.launch || !write_text(bundle, folder, "original.ptx", source->text, source->size_bytes))
        return false;
    for (unsigned k = 0; k < bundle->nothers; k++)
        question.right[k] = is_right(judged(&question, bundle->module, &bundle->others[k]));
    size_t size = source->size_bytes;
    bool whole = differs(&question, source->text, size);
    char *text = whole ? fuzz_reduce_text(source->text, &size, differs, &question, REDUCE_SECONDS) : NULL;
    const char *kept = text ? text : source->text;
    Diags quiet = {0};
    PtxModule *module = ptx_parse("kernel.ptx", kept, size, &quiet);
    if (!module || !write_text(bundle, folder, "kernel.ptx", kept, size))
        return false;
    for (unsigned k = 0; k < bundle->nothers; k++)
        write_binary(bundle, folder, module, &bundle->others[k]);
    write_report(bundle, folder, size < source->size_bytes);
    ptx_free(module);
    return true;
}

/* A new folder: other files may have kernels of these names, and what is there is not overwritten. */
static char *new_folder(const Bundle *bundle) {
    enum { MOST = 10000 };
    char *name = folder_name(bundle), *folder = name;
    if (mkdir(bundle->directory, 0777) && errno != EEXIST)
        return NULL;
    for (unsigned n = 2; mkdir(folder, 0777); n++) {
        if (errno != EEXIST || n == MOST)
            return NULL;
        folder = arena_printf(&bundle->settings->arena, "%s-%u", name, n);
    }
    return folder;
}

const char *bundle_write(const Bundle *bundle) {
    Arena *arena = &bundle->settings->arena;
    const char *gap = *bundle->note ? "; " : "";
    char *folder = new_folder(bundle);
    int status = -1;
    if (!folder)
        return arena_printf(arena, "%s%sno bundle in %s: %s", bundle->note, gap, bundle->directory,
                            strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){LIMIT_SECONDS, LIMIT_SECONDS});
        _exit(write_all(bundle, folder) ? STATUS_DONE : STATUS_INTERNAL);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return arena_printf(arena, "%s%s%s%s", bundle->note, gap, status == 0 ? "bundle " : "incomplete bundle ",
                        folder);
}
