/* Reading LLVM IR: see llvm_ir.h. This side starts the process that runs LLVM, listens, and reports what it
 * is told. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "frontend/llvm/internal.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what it is ---- */

static bool begins_with_word(const char *text, const char *word) {
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '_';
}

bool llvm_ir_is(const char *data, size_t size_bytes) {
    static const char bitcode[] = {'B', 'C', (char)0xc0, (char)0xde},
                      wrapped[] = {(char)0xde, (char)0xc0, 0x17, 0x0b};
    if (size_bytes >= 4 && (memcmp(data, bitcode, 4) == 0 || memcmp(data, wrapped, 4) == 0))
        return true;
    /* No PTX statement begins with any of these; its comments are others. */
    static const char *const words[] = {"source_filename", "target", "define",
                                        "declare",         "module", "attributes"};
    const char *s = data;
    while (isspace((unsigned char)*s))
        s++;
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
        if (begins_with_word(s, words[k]))
            return true;
    return *s == ';' ||
           ((*s == '%' || *s == '!' || *s == '$' || *s == '#' || *s == '@') && s[1] != *s && s[1] > ' ');
}

/* ---- what it says ---- */

static SrcLoc at_line(const LlvmFile *file, unsigned long line, unsigned long column) {
    const char *s = file->data, *end = s + file->size_bytes;
    for (; line > 1 && s; line--)
        if ((s = memchr(s, '\n', (size_t)(end - s))))
            s++;
    return (SrcLoc){s && s + column <= end + 1 ? (uint32_t)(s - file->data) + (uint32_t)(column ? column : 1)
                                               : 0};
}

/* LLVM's parser: "NAME:12:5: error: text\n<the line>\n   ^\n". The position becomes one of ours, and the rest
 * of the text goes, because a message of ours has it too. False: the message is not about this file. */
static bool report_place(const LlvmFile *file, char *text, Diags *diags) {
    size_t n = strlen(file->name);
    unsigned long line, column;
    int used = 0;
    Source source = {file->name, file->data, file->size_bytes};
    if (strncmp(text, file->name, n) != 0)
        return false;
    if (sscanf(text + n, ":%lu:%lu: error: %n", &line, &column, &used) == 2 && used) {
        char *message = text + n + used;
        message[strcspn(message, "\n")] = 0;
        diag_in(diags, &source, at_line(file, line, column), DIAG_E0006, message);
        return true;
    }
    static const char error[] = ": error: ";
    if (strncmp(text + n, error, sizeof error - 1) != 0)
        return false;
    source.text = NULL; /* no line to show */
    diag_in(diags, &source, (SrcLoc){0}, DIAG_E0006, text + n + sizeof error - 1);
    return true;
}

typedef struct {
    const LlvmFile *file;
    const LlvmOptions *options;
    Diags *diags;
} Report;

static void report_error(const Report *report, char *text) {
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = 0;
    for (unsigned k = 0; k < report->options->nlibraries; k++)
        if (report_place(&report->options->libraries[k], text, report->diags))
            return;
    Source source = {.name = report->file->name};
    if (!report_place(report->file, text, report->diags))
        diag_in(report->diags, &source, (SrcLoc){0}, DIAG_E0006, text);
}

bool llvm_library(const char *wanted, char *path, size_t path_bytes) {
    LlvmApi api;
    char why[200];
    return llvm_api_open(&api, wanted, why, sizeof why) && llvm_api_path(&api, path, path_bytes);
}

typedef struct {
    pid_t process;
    int from;   /* what it writes */
    int errors; /* its standard error, a file without name */
    char *data; /* all it has written */
    size_t size_bytes, cap_bytes;
} Worker;

static void end_worker(void *user) {
    Worker *worker = user;
    kill(worker->process, SIGKILL);
    while (waitpid(worker->process, NULL, 0) < 0 && errno == EINTR) {
    }
    close(worker->from);
    close(worker->errors);
}

static bool start(Worker *worker, const LlvmApi *api, const LlvmFile *file, const LlvmOptions *options) {
    int ends[2], errors = memfd_create("llvm", MFD_CLOEXEC);
    if (errors < 0)
        return false;
    if (pipe2(ends, O_CLOEXEC)) { /* programs that other threads start must not keep it open */
        close(errors);
        return false;
    }
    pid_t parent = getpid();
    worker->process = fork();
    if (worker->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        signal(SIGABRT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        close(ends[0]);
        dup2(errors, STDERR_FILENO);
        llvm_work(api, file, options, ends[1]);
    }
    close(ends[1]);
    worker->from = ends[0];
    worker->errors = errors;
    if (worker->process > 0)
        return true;
    close(ends[0]);
    close(errors);
    return false;
}

static void listen_to(Worker *worker) {
    enum { MS = 10, ROOM = 1 << 16 };
    for (ssize_t n = 1; n > 0;) {
        struct pollfd end = {.fd = worker->from, .events = POLLIN};
        while (poll(&end, 1, MS) <= 0)
            scope_poll();
        if (worker->cap_bytes - worker->size_bytes < ROOM) {
            worker->cap_bytes = worker->cap_bytes * 2 + 2 * ROOM;
            worker->data = mem_resize(worker->data, worker->cap_bytes);
        }
        do
            n = read(worker->from, worker->data + worker->size_bytes, ROOM);
        while (n < 0 && errno == EINTR);
        worker->size_bytes += n > 0 ? (size_t)n : 0;
    }
}

/* What the process wrote to standard error, a line at most: LLVM says there what has no handler. "": nothing.
 */
static void first_line(const Worker *worker, char *line, size_t line_bytes) {
    ssize_t n = pread(worker->errors, line, line_bytes - 1, 0);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
}

/* The process has ended without PTX and without a word of its own. */
static void report_end(const Worker *worker, const Report *report, int status) {
    char line[512], what[640];
    first_line(worker, line, sizeof line);
    if (WIFSIGNALED(status))
        snprintf(what, sizeof what, "it ended by signal %d (%s)%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), *line ? ": " : "", line);
    else
        snprintf(what, sizeof what, "%s", *line ? line : "it ended without a result");
    report_error(report, what);
}

/* PTX for a processor or version that LLVM does not know is PTX for another one. */
static bool was_understood(const Worker *worker, const Report *report) {
    char line[512];
    first_line(worker, line, sizeof line);
    if (!strstr(line, "is not a recognized"))
        return true;
    report_error(report, line);
    return false;
}

/* False: there was an error. */
static bool report_records(Arena *arena, const Worker *worker, const Report *report, char **ptx,
                           size_t *ptx_bytes) {
    Diags *diags = report->diags;
    uint32_t before = diags->nerrors;
    LlvmRecord record;
    Source source = {.name = report->file->name};
    for (size_t at = 0; at + sizeof record <= worker->size_bytes; at += record.size_bytes) {
        memcpy(&record, worker->data + at, sizeof record);
        at += sizeof record;
        if (record.size_bytes > worker->size_bytes - at)
            break;
        char *text = arena_alloc(arena, (size_t)record.size_bytes + 1);
        memcpy(text, worker->data + at, record.size_bytes);
        text[record.size_bytes] = 0;
        switch ((LlvmSays)record.kind) {
        case LLVM_SAYS_ERROR: report_error(report, text); break;
        case LLVM_SAYS_WARNING: diag_in(diags, &source, (SrcLoc){0}, DIAG_W0007, text); break;
        case LLVM_SAYS_UNDEFINED: diag_in(diags, &source, (SrcLoc){0}, DIAG_W0008, text); break;
        case LLVM_SAYS_PTX:
            *ptx = text;
            *ptx_bytes = record.size_bytes;
            break;
        }
    }
    return diags->nerrors == before;
}

bool llvm_to_ptx(Arena *arena, const LlvmFile *file, const LlvmOptions *options, Diags *diags, char **ptx,
                 size_t *ptx_bytes) {
    LlvmApi api;
    char why[200];
    *ptx = NULL;
    *ptx_bytes = 0;
    if (!llvm_api_open(&api, options->library, why, sizeof why))
        return diag(diags, (SrcLoc){0}, DIAG_E0005, file->name, why);
    Worker worker = {0};
    if (!start(&worker, &api, file, options))
        return diag(diags, (SrcLoc){0}, DIAG_E0001, file->name, strerror(errno));
    scope_guard(&worker, end_worker);
    listen_to(&worker);
    scope_unguard(&worker);
    int status = 0;
    while (waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    const Report report = {file, options, diags};
    bool good = report_records(arena, &worker, &report, ptx, ptx_bytes);
    if (good && (!*ptx || status)) {
        report_end(&worker, &report, status);
        good = false;
    }
    good = good && was_understood(&worker, &report);
    close(worker.from);
    close(worker.errors);
    mem_free(worker.data);
    return good;
}
