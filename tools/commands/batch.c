/* Validating and proving directories: see batch.h. The parent collects lines of JSON from its children, one
 * for each kernel that begins and one for each that is judged, so that it knows which kernel a crash belongs
 * to; a new child goes on behind it. The state file has one line for each finished file, with the hash of its
 * text and of the options. SPDX-License-Identifier: MIT */
#include "tools/commands/batch.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "emit/elf/object.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

enum { MAX_JOBS = 64, TIME_LIMIT_SECONDS = 60, MEMORY_LIMIT_MIB = 4096, POLL_MS = 200 };

typedef VEC(BatchResult) Results;
typedef struct {
    const char *path;
    uint64_t hash;
    Results results;
    bool done;
} File;
typedef struct { /* a child */
    pid_t pid;
    int fd;
    uint32_t file, judged; /* kernels that this file's children have judged */
    const char *running;   /* kernel; NULL: none has begun */
    const char *binary;    /* of it */
    bool ended, killed;
    double since; /* CPU seconds that it had used at its last line */
    char *text;   /* incomplete line */
    size_t used, cap;
} Job;
typedef struct {
    Settings *s;
    const BatchKind *kind;
    VEC(File) files;
    Job jobs[MAX_JOBS];
    unsigned njobs, ndone, nresults, nfindings;
    uint32_t next;
    FILE *state;
    bool bar;
    double started;
} Batch;

/* ---- results as JSON ---- */

static void add_parts(cJSON *o, const BatchResult *result) {
    if (result->regions.total) {
        json_add_number(o, "regions", result->regions.total);
        json_add_number(o, "regions_proved", result->regions.reached);
        return;
    }
    json_add_number(o, "ptx_blocks", result->ptx.total);
    json_add_number(o, "ptx_blocks_executed", result->ptx.reached);
    json_add_number(o, "machine_blocks", result->machine.total);
    json_add_number(o, "machine_blocks_executed", result->machine.reached);
    json_add_number(o, "operand_classes", result->values.total);
    json_add_number(o, "operand_classes_seen", result->values.reached);
    json_add_number(o, "threads", (double)result->threads);
}

static cJSON *result_json(const BatchResult *result, const BatchKind *kind, bool with_file) {
    cJSON *o = json_object();
    if (with_file)
        json_add_text(o, "file", result->file);
    json_add_text(o, "kernel", result->kernel);
    if (*result->binary)
        json_add_text(o, "binary", result->binary);
    json_add_text(o, "verdict", verdict_name(result->verdict));
    if (kind->parts)
        add_parts(o, result);
    json_add_number(o, "seconds", result->seconds);
    json_add_text(o, "note", result->note);
    if (*result->report)
        json_add_text(o, "report", result->report);
    return o;
}

static const char *text_of(Arena *a, const cJSON *o, const char *key) {
    const cJSON *c = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsString(c) ? arena_printf(a, "%s", c->valuestring) : "";
}
static double number_of(const cJSON *o, const char *key) {
    const cJSON *c = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(c) && c->valuedouble >= 0 ? c->valuedouble : 0;
}

static bool read_result(Arena *a, const cJSON *o, const char *file, BatchResult *result) {
    *result = (BatchResult){.file = file,
                            .kernel = text_of(a, o, "kernel"),
                            .binary = text_of(a, o, "binary"),
                            .note = text_of(a, o, "note"),
                            .report = text_of(a, o, "report"),
                            .seconds = number_of(o, "seconds"),
                            .threads = (uint64_t)number_of(o, "threads")};
    result->ptx =
        (Covered){(uint32_t)number_of(o, "ptx_blocks_executed"), (uint32_t)number_of(o, "ptx_blocks")};
    result->regions = (Covered){(uint32_t)number_of(o, "regions_proved"), (uint32_t)number_of(o, "regions")};
    result->values =
        (Covered){(uint32_t)number_of(o, "operand_classes_seen"), (uint32_t)number_of(o, "operand_classes")};
    result->machine = (Covered){(uint32_t)number_of(o, "machine_blocks_executed"),
                                (uint32_t)number_of(o, "machine_blocks")};
    return verdict_find(text_of(a, o, "verdict"), &result->verdict);
}

/* ---- files ---- */

static bool has_suffix(const char *name, const char *suffix) {
    size_t n = strlen(name), k = strlen(suffix);
    return n > k && strcmp(name + n - k, suffix) == 0;
}

/* PTX, and LLVM IR as text and as bitcode. */
static bool is_module(const char *name) {
    return has_suffix(name, ".ptx") || has_suffix(name, ".ll") || has_suffix(name, ".bc");
}

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool add_directory(Batch *batch, const char *path, unsigned depth) {
    struct dirent **list;
    int n = scandir(path, &list, NULL, alphasort);
    if (n < 0)
        return diag(&batch->s->diags, (SrcLoc){0}, DIAG_E0001, path, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name, *full = arena_printf(&batch->s->arena, "%s/%s", path, name);
        struct stat st;
        bool known = *name != '.' && lstat(full, &st) == 0; /* links to directories are not followed */
        if (known && S_ISDIR(st.st_mode) && depth < 64)
            add_directory(batch, full, depth + 1);
        else if (known && is_module(name) && !is_directory(full))
            VEC_ADD(&batch->s->arena, &batch->files, ((File){.path = full}));
        free(list[i]);
    }
    free(list);
    return true;
}

/* Machine code would be compiled anew from its PTX, and nothing be said of it. */
static bool is_machine_code(Batch *batch, const char *path) {
    Diags quiet = {0};
    char *data;
    size_t size;
    return file_read(&batch->s->arena, path, &quiet, &data, &size) && cli_is_elf(data, size) &&
           !elf_object_is(data, size);
}

static bool collect(Batch *batch) {
    for (unsigned i = 0; i < batch->s->ninputs; i++) {
        const char *path = batch->s->inputs[i];
        if (!is_directory(path) && is_machine_code(batch, path))
            return diag(&batch->s->diags, (SrcLoc){0}, DIAG_E0001, path,
                        "it is machine code: of one module it stands behind the PTX; many modules are "
                        "compiled of PTX or LLVM IR");
        if (!is_directory(path))
            VEC_ADD(&batch->s->arena, &batch->files, ((File){.path = path}));
        else if (!add_directory(batch, path, 0))
            return false;
    }
    return batch->files.n > 0 || diag(&batch->s->diags, (SrcLoc){0}, DIAG_E0001, batch->s->inputs[0],
                                      "there are no .ptx, .ll or .bc files in it");
}

bool batch_is_wanted(const Settings *settings) {
    if (settings->with_ptxas)
        return true;
    for (unsigned i = 0; i < settings->ninputs; i++)
        if (is_directory(settings->inputs[i]))
            return true;
    return settings->launch_auto && settings->ninputs > 1 &&
           is_module(settings->inputs[settings->ninputs - 1]);
}

/* ---- what a result depends on: the options, the build, the file, its launch file, what that names ---- */

static uint64_t hash_file(const char *path, uint64_t seed) {
    static const char absent[] = "absent";
    char bytes[1 << 14];
    FILE *in = fopen(path, "rb");
    XXH64_state_t *state = XXH64_createState();
    if (!state)
        abort();
    XXH64_reset(state, seed);
    if (!in)
        XXH64_update(state, absent, sizeof absent);
    for (size_t n; in && (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        XXH64_update(state, bytes, n);
    if (in)
        fclose(in);
    uint64_t hash = XXH64_digest(state);
    XXH64_freeState(state);
    return hash;
}

/* Another build may say something else. A program that cannot be read matches no result of another run. */
static uint64_t hash_build(void) {
    static const char program[] = "/proc/self/exe";
    struct {
        double time;
        pid_t pid;
    } run;
    memset(&run, 0, sizeof run);
    run.time = clock_seconds(), run.pid = getpid();
    return access(program, R_OK) == 0 ? hash_file(program, 0) : XXH64(&run, sizeof run, 0);
}

static uint64_t hash_launch(const Settings *settings, const char *path, uint64_t hash) {
    Arena arena = {0};
    Diags quiet = {0};
    Plan plan = {.data_dir = settings->data_dir};
    Source source = {.name = path};
    char *text;
    hash = hash_file(path, hash);
    if (file_read(&arena, path, &quiet, &text, &source.size_bytes)) {
        source.text = text;
        plan_read_json(&plan, &source, &quiet);
    }
    for (uint32_t i = 0; i < plan.buffers.n; i++)
        if (plan.buffers.at[i].init && *plan.buffers.at[i].init == '@')
            hash = hash_file(plan_data_path(&plan, plan.buffers.at[i].init), hash);
    for (uint32_t i = 0; i < plan.checks.n; i++)
        if (plan.checks.at[i].equals && *plan.checks.at[i].equals == '@')
            hash = hash_file(plan_data_path(&plan, plan.checks.at[i].equals), hash);
    plan_free(&plan);
    arena_free(&arena);
    return hash;
}

/* What files say that options name, and which libLLVM there is. */
static uint64_t hash_options(const Batch *batch, uint64_t hash) {
    const Settings *settings = batch->s;
    char library[4096];
    bool only_ptx = true;
    for (uint32_t i = 0; i < batch->files.n; i++)
        only_ptx &= has_suffix(batch->files.at[i].path, ".ptx");
    for (uint32_t i = 0; i < settings->profiles.n; i++)
        hash = hash_file(settings->profiles.at[i].name, hash);
    for (uint32_t i = 0; i < settings->bitcode.n; i++)
        hash = hash_file(settings->bitcode.at[i], hash);
    if (settings->with_ptxas)
        hash = hash_file(settings->ptxas, hash);
    struct stat st;
    if (only_ptx || !llvm_library(settings->llvm.library, library, sizeof library) || stat(library, &st))
        return hash;
    const int64_t state[] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
    return XXH64(state, sizeof state, XXH64(library, strlen(library), hash));
}

static uint64_t file_hash(Batch *batch, const char *path, uint64_t build) {
    const Settings *settings = batch->s;
    const char *launch = batch_launch_beside(batch->s, path);
    const char *command = batch->kind->command;
    uint64_t hash = hash_file(path, XXH64(command, strlen(command), settings->options_hash ^ build));
    return launch ? hash_launch(settings, launch, hash) : hash;
}

/* ---- the state file ---- */

static void use_state_line(Batch *batch, const char *line) {
    cJSON *o = cJSON_Parse(line);
    const char *path = text_of(&batch->s->arena, o, "file");
    uint64_t hash = strtoull(text_of(&batch->s->arena, o, "hash"), NULL, 16);
    for (uint32_t i = 0; i < batch->files.n; i++) {
        File *file = &batch->files.at[i];
        if (file->done || file->hash != hash || strcmp(file->path, path) != 0)
            continue;
        const cJSON *c;
        file->done = true;
        cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(o, "kernels")) {
            BatchResult r;
            if (read_result(&batch->s->arena, c, file->path, &r))
                VEC_ADD(&batch->s->arena, &file->results, r);
        }
        batch->ndone++;
        batch->nresults += file->results.n;
    }
    cJSON_Delete(o);
}

static bool open_state(Batch *batch) {
    const char *name = batch->s->state_file;
    if (!name)
        return true;
    FILE *in = fopen(name, "r");
    char *line = NULL;
    size_t cap = 0;
    while (in && getline(&line, &cap, in) > 0)
        use_state_line(batch, line);
    free(line);
    if (in)
        fclose(in);
    batch->state = fopen(name, "a");
    return batch->state || diag(&batch->s->diags, (SrcLoc){0}, DIAG_E0002, name, strerror(errno));
}

static void save_file(Batch *batch, const File *file) {
    if (!batch->state)
        return;
    cJSON *o = json_object();
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)file->hash);
    json_add_text(o, "file", file->path);
    json_add_text(o, "hash", hash);
    cJSON *list = json_add_list(o, "kernels");
    for (uint32_t i = 0; i < file->results.n; i++)
        json_append(list, result_json(&file->results.at[i], batch->kind, false));
    char *text = json_close_line(o);
    fprintf(batch->state, "%s\n", text);
    fflush(batch->state);
    mem_free(text);
}

/* ---- the child ---- */

typedef struct {
    FILE *out;
    const BatchKind *kind;
} Sender;

static void send_start(void *user, const char *kernel, const char *binary) {
    const Sender *sender = user;
    cJSON *o = json_object();
    json_add_text(o, "start", kernel);
    json_add_text(o, "binary", binary);
    char *text = json_close_line(o);
    fprintf(sender->out, "%s\n", text);
    fflush(sender->out);
    mem_free(text);
}

static void send_result(void *user, const BatchResult *r) {
    const Sender *sender = user;
    cJSON *o = result_json(r, sender->kind, false);
    char *text = json_close_line(o);
    fprintf(sender->out, "%s\n", text);
    fflush(sender->out);
    mem_free(text);
}

static void limit_memory(const Settings *settings) {
#ifndef HEDDLE_SANITIZED /* AddressSanitizer's shadow needs the address space */
    rlim_t most = (rlim_t)(settings->memory_limit_mib ? settings->memory_limit_mib : MEMORY_LIMIT_MIB) << 20;
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit); /* what it is at most stays: sim/gpu/gpu.c takes it */
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
#else
    (void)settings;
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static _Noreturn void child(Batch *batch, const File *file, uint32_t skip, int fd) {
    FILE *out = fdopen(fd, "w");
    for (unsigned i = 0; i < batch->njobs; i++)
        close(batch->jobs[i].fd);
    limit_memory(batch->s);
    signal(SIGABRT, SIG_DFL);
    if (!freopen("/dev/null", "w", stderr) || !out)
        _exit(STATUS_INTERNAL);
    batch->s->diags = (Diags){0};
    Sender sender = {out, batch->kind};
    batch->kind->module(batch->s, file->path, skip, send_start, send_result, &sender);
    fputs("{\"end\":true}\n", out);
    fflush(out);
    _exit(STATUS_DONE);
}

static bool start_job(Batch *batch, uint32_t file, uint32_t skip) {
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(batch, &batch->files.at[file], skip, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    batch->jobs[batch->njobs++] = (Job){.pid = pid, .fd = ends[0], .file = file, .judged = skip};
    return true;
}

/* ---- the parent ---- */

static void add_result(Batch *batch, Job *job, BatchResult r) {
    File *f = &batch->files.at[job->file];
    VEC_ADD(&batch->s->arena, &f->results, r);
    batch->nresults++;
    batch->nfindings += verdict_status(r.verdict) == STATUS_DIFFERS;
    job->judged++;
    job->running = NULL;
}

static void take_line(Batch *batch, Job *job, const char *line) {
    cJSON *o = cJSON_Parse(line);
    const cJSON *start = cJSON_GetObjectItemCaseSensitive(o, "start");
    BatchResult r;
    job->since = clock_cpu_seconds_of(job->pid);
    if (cJSON_IsString(start)) {
        job->running = text_of(&batch->s->arena, o, "start");
        job->binary = text_of(&batch->s->arena, o, "binary");
    } else if (cJSON_GetObjectItemCaseSensitive(o, "end")) {
        job->ended = true;
    } else if (read_result(&batch->s->arena, o, batch->files.at[job->file].path, &r)) {
        add_result(batch, job, r);
    }
    cJSON_Delete(o);
}

/* False at the end of the pipe. */
static bool take_bytes(Batch *b, Job *job) {
    if (job->cap - job->used < 4096) {
        job->cap = job->cap ? job->cap * 2 : 8192;
        char *grown = realloc(job->text, job->cap);
        if (!grown)
            abort();
        job->text = grown;
    }
    ssize_t n = read(job->fd, job->text + job->used, job->cap - job->used - 1);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    job->used += (size_t)n;
    job->text[job->used] = 0;
    char *line = job->text, *end;
    while ((end = strchr(line, '\n')) != NULL) {
        *end = 0;
        take_line(b, job, line);
        line = end + 1;
    }
    job->used -= (size_t)(line - job->text);
    memmove(job->text, line, job->used);
    return true;
}

/* The child is gone: what it leaves open is its kernel's fault, and another child goes on behind that. */
static void end_job(Batch *batch, unsigned index) {
    Job j = batch->jobs[index];
    File *f = &batch->files.at[j.file];
    int status = 0;
    double used = clock_cpu_seconds_of(j.pid) - j.since;
    waitpid(j.pid, &status, 0);
    close(j.fd);
    batch->jobs[index] = batch->jobs[--batch->njobs];
    bool again = false;
    if (!j.ended) {
        BatchResult r = {.file = f->path,
                         .kernel = j.running ? j.running : "",
                         .binary = j.running ? j.binary : "",
                         .report = "",
                         .verdict = j.killed ? VERDICT_TIME_LIMIT : VERDICT_CRASHED,
                         .seconds = used > 0 ? used : 0};
        r.note = j.killed ? "the process took too long"
                 : WIFSIGNALED(status)
                     ? arena_printf(&batch->s->arena, "signal %d (%s)", WTERMSIG(status),
                                    strsignal(WTERMSIG(status)))
                     : arena_printf(&batch->s->arena, "exit status %d", WEXITSTATUS(status));
        again = j.running != NULL;
        add_result(batch, &j, r);
    }
    free(j.text);
    if (again && start_job(batch, j.file, j.judged))
        return;
    f->done = true;
    batch->ndone++;
    save_file(batch, f);
}

static void show_progress(const Batch *batch, bool last) {
    if (!batch->bar)
        return;
    if (last) {
        fputs("\r\033[K", stderr);
        return;
    }
    enum { WIDTH = 30 };
    unsigned full = batch->files.n ? batch->ndone * WIDTH / batch->files.n : WIDTH;
    char bar[WIDTH + 1];
    memset(bar, ' ', WIDTH);
    memset(bar, '#', full);
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %u/%u files, %u kernels, %u findings, %.0f s\033[K", bar, batch->ndone,
            batch->files.n, batch->nresults, batch->nfindings, clock_seconds() - batch->started);
}

static void run_jobs(Batch *batch) {
    unsigned most = batch->s->jobs ? batch->s->jobs : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    double limit = batch->s->time_limit_seconds ? batch->s->time_limit_seconds : TIME_LIMIT_SECONDS;
    most = most < 1 ? 1 : most > MAX_JOBS ? MAX_JOBS : most;
    while (batch->ndone < batch->files.n) {
        while (batch->njobs < most && batch->next < batch->files.n) {
            uint32_t f = batch->next++;
            if (!batch->files.at[f].done && !start_job(batch, f, 0)) {
                batch->next--;
                break;
            }
        }
        struct pollfd fds[MAX_JOBS];
        for (unsigned i = 0; i < batch->njobs; i++)
            fds[i] = (struct pollfd){batch->jobs[i].fd, POLLIN, 0};
        poll(fds, batch->njobs, POLL_MS);
        for (unsigned i = batch->njobs; i-- > 0;) { /* backwards: end_job moves the last one */
            Job *job = &batch->jobs[i];
            if (!job->killed && clock_cpu_seconds_of(job->pid) - job->since > limit) {
                job->killed = true;
                kill(job->pid, SIGKILL);
            }
            if (fds[i].revents && !take_bytes(batch, job))
                end_job(batch, i);
        }
        show_progress(batch, false);
    }
    show_progress(batch, true);
}

/* ---- reports ---- */

typedef struct { /* of the columns, in characters */
    int binary;  /* whose code it is; 0: there is one for each kernel */
    int name;
} Widths;

static void row_name(const BatchResult *result, char name[256]) {
    const char *slash = strrchr(result->file, '/');
    snprintf(name, 256, "%s:%s", slash ? slash + 1 : result->file, result->kernel);
}

/* Names of C++ can be very long: the longest ones stand over the next columns. */
static Widths widths_of(const Batch *batch) {
    enum { WIDEST_NAME = 80 };
    Widths widths = {batch->s->with_ptxas ? (int)strlen("code of") : 0, (int)strlen("kernel")};
    for (uint32_t i = 0; i < batch->files.n; i++)
        for (uint32_t k = 0; k < batch->files.at[i].results.n; k++) {
            const BatchResult *result = &batch->files.at[i].results.at[k];
            char name[256];
            row_name(result, name);
            int binary_width = (int)strlen(result->binary), name_width = (int)strlen(name);
            widths.binary = binary_width > widths.binary ? binary_width : widths.binary;
            widths.name = name_width > widths.name ? name_width : widths.name;
        }
    widths.name = widths.name > WIDEST_NAME ? WIDEST_NAME : widths.name;
    return widths;
}

static void print_row(const BatchResult *result, const BatchKind *kind, const Widths *widths) {
    char name[256], blocks[32] = "";
    row_name(result, name);
    if (widths->binary)
        printf("%-*s  ", widths->binary, result->binary);
    if (!kind->parts) {
        printf("%-*s  %-21s  %s\n", widths->name, name, verdict_name(result->verdict), result->note);
        return;
    }
    Covered parts = result->regions.total ? result->regions : result->ptx;
    if (parts.total)
        snprintf(blocks, sizeof blocks, "%u/%u %3.0f %%", parts.reached, parts.total,
                 100 * covered_part(parts));
    printf("%-*s  %-21s %14s %8llu  %s\n", widths->name, name, verdict_name(result->verdict), blocks,
           (unsigned long long)result->threads, result->note);
}

static void say_together(const Batch *batch, cJSON *json) {
    VEC(const BatchResult *) all = {0};
    for (uint32_t i = 0; i < batch->files.n; i++)
        for (uint32_t k = 0; k < batch->files.at[i].results.n; k++)
            VEC_ADD(&batch->s->arena, &all, &batch->files.at[i].results.at[k]);
    if (batch->kind->together)
        batch->kind->together(all.at, all.n, json);
}

static void print_table(const Batch *batch, const uint32_t *totals) {
    Widths widths = widths_of(batch);
    if (widths.binary)
        printf("%-*s  ", widths.binary, "code of");
    if (!batch->kind->parts)
        printf("%-*s  %-21s  %s\n", widths.name, "kernel", "verdict", "note");
    else
        printf("%-*s  %-21s %14s %8s  %s\n", widths.name, "kernel", "verdict", batch->kind->parts,
               batch->kind->threads, "note");
    for (uint32_t i = 0; i < batch->files.n; i++)
        for (uint32_t k = 0; k < batch->files.at[i].results.n; k++)
            print_row(&batch->files.at[i].results.at[k], batch->kind, &widths);
    for (uint32_t i = 0; i < batch->files.n; i++)
        for (uint32_t k = 0; k < batch->files.at[i].results.n; k++)
            if (batch->files.at[i].results.at[k].verdict == VERDICT_DIFFERS ||
                batch->files.at[i].results.at[k].verdict == VERDICT_REFUTED || batch->s->verbose)
                printf("\n%s: %s%s%s", batch->files.at[i].path, batch->files.at[i].results.at[k].binary,
                       widths.binary ? ": " : "", batch->files.at[i].results.at[k].report);
    printf("\n%u files, %u %s:", batch->files.n, batch->nresults, widths.binary ? "results" : "kernels");
    const char *separator = " ";
    for (unsigned v = 0; v < VERDICT_COUNT; v++)
        if (totals[v]) {
            printf("%s%u %s", separator, totals[v], verdict_name((Verdict)v));
            separator = "; ";
        }
    printf("\n");
    say_together(batch, NULL);
}

static void print_json(const Batch *batch, const uint32_t *totals) {
    cJSON *o = json_object(), *list = json_add_list(o, "kernels"), *sum = json_add_object(o, "totals");
    for (uint32_t i = 0; i < batch->files.n; i++)
        for (uint32_t k = 0; k < batch->files.at[i].results.n; k++)
            json_append(list, result_json(&batch->files.at[i].results.at[k], batch->kind, true));
    for (unsigned v = 0; v < VERDICT_COUNT; v++)
        json_add_number(sum, verdict_name((Verdict)v), totals[v]);
    say_together(batch, o);
    cli_print_json(o);
}

int batch_run(Settings *settings, const BatchKind *kind) {
    Batch b = {.s = settings, .kind = kind, .started = clock_seconds(), .bar = isatty(STDERR_FILENO) != 0};
    cli_ticker_stop();
    if (!collect(&b))
        return STATUS_INPUT;
    uint64_t build = settings->state_file ? hash_options(&b, hash_build()) : 0;
    for (uint32_t i = 0; settings->state_file && i < b.files.n; i++)
        b.files.at[i].hash = file_hash(&b, b.files.at[i].path, build);
    if (!open_state(&b))
        return STATUS_INPUT;
    run_jobs(&b);
    if (b.state && fclose(b.state) != 0)
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0002, settings->state_file, "write error");
    uint32_t totals[VERDICT_COUNT] = {0};
    Verdict worst = VERDICT_EQUAL;
    for (uint32_t i = 0; i < b.files.n; i++)
        for (uint32_t k = 0; k < b.files.at[i].results.n; k++) {
            totals[b.files.at[i].results.at[k].verdict]++;
            worst = verdict_worse(worst, b.files.at[i].results.at[k].verdict);
        }
    (settings->json ? print_json : print_table)(&b, totals);
    return (int)verdict_status(worst);
}
