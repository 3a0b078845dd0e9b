/* The heddle program: picks the command, parses its options, runs it. See cli.h.
 * SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include "tools/cli/cuda.h"
#include "base/scope.h"
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Internal errors abort; the program's status for them is 3. */
static void on_abort(int signal) {
    static const char text[] = "heddle: internal error\n";
    (void)signal;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(STATUS_INTERNAL);
    _exit(STATUS_INTERNAL);
}

static const Command *find_command(const char *name) {
    for (const Command *command = cli_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static int unknown(const char *name) {
    Suggestion like = {.typed = name, .size = strlen(name)};
    for (const Command *command = cli_commands; command->name; command++)
        cli_suggest(&like, command->name);
    if (like.best)
        fprintf(stderr, "heddle: there is no command '%s'; did you mean '%s'?\n", name, like.best);
    else
        fprintf(stderr, "heddle: there is no command '%s'; heddle --help lists them\n", name);
    return STATUS_USAGE;
}

static int general(int argc, char **argv) {
    const char *w = argv[1];
    if (strcmp(w, "--version") == 0 || strcmp(w, "-V") == 0)
        puts("heddle " HEDDLE_VERSION);
    else if (strcmp(w, "--help") == 0 || strcmp(w, "-h") == 0 || (strcmp(w, "help") == 0 && argc < 3))
        cli_help(stdout);
    else if (strcmp(w, "--man") == 0) {
        const Command *c = argc > 2 ? find_command(argv[2]) : NULL;
        if (argc > 2 && !c)
            return unknown(argv[2]);
        cli_manual(stdout, c);
    } else if (strcmp(w, "--completion") == 0 && argc > 2) {
        if (!cli_completion(stdout, argv[2])) {
            fprintf(stderr, "heddle: --completion: '%s' is none of bash, zsh, fish\n", argv[2]);
            return STATUS_USAGE;
        }
    } else
        return unknown(w);
    if (fflush(stdout) == 0)
        return STATUS_DONE;
    perror("heddle: standard output");
    return STATUS_INPUT;
}

typedef struct {
    const Command *command;
    int argc;
    char **argv;
    int status;
    bool still_compiles; /* cli.h */
} Job;

enum {
    SMALL_TEXT_BYTES = 8 << 10,
    SMALL_BYTES = 512 << 10,
    LARGE_PAGE_BYTES = 2 << 20,
    HEAP_BYTES = 32 << 20,
    MORE_THAN_FIRST_BYTES = 192 << 10
};

/* To ask for large pages takes a fortieth of the smallest compilations, and none of a text of this size wants
 * one. */
static bool is_small(const Job *job, const Settings *settings) {
    struct stat input;
    return job->command->run == cmd_compile && stat(settings->inputs[0], &input) == 0 &&
           S_ISREG(input.st_mode) && input.st_size <= SMALL_TEXT_BYTES;
}

/* Behind its first half of a megabyte, with which a small compilation does, the heap asks for large pages: to
 * clear one takes as long as to touch some seventy small ones, of which a larger compilation touches up to
 * 700, and a search many more. */
static void take_large_pages(void) {
#if defined(M_TOP_PAD) && defined(MADV_HUGEPAGE) && !defined(HEDDLE_SANITIZED)
    const uintptr_t end = (uintptr_t)sbrk(0), boundary = ((end + SMALL_BYTES) | (LARGE_PAGE_BYTES - 1)) + 1;
    const intptr_t pad = (intptr_t)(boundary - SMALL_BYTES - end);
    if (sbrk(pad + HEAP_BYTES) == (void *)-1 || sbrk(-HEAP_BYTES) == (void *)-1)
        return; /* a limit that malloc would run into, too */
    mallopt(M_TOP_PAD, HEAP_BYTES);
    char *first = malloc(MORE_THAN_FIRST_BYTES); /* than what malloc may have from the system by now */
    mallopt(M_TOP_PAD, 128 << 10);
    if (first)
        madvise(first + (boundary - (uintptr_t)first), HEAP_BYTES - LARGE_PAGE_BYTES, MADV_HUGEPAGE);
    free(first);
#endif
}

static void run_command(void *user) {
    Job *job = user;
    Settings s = {.diags = {.sink = cli_print_sink, .user = stderr}};
    cli_parse(job->command, &s, job->argc, job->argv);
    if (!is_small(job, &s))
        take_large_pages();
    cli_ticker_start(job->command->name);
    job->status = job->command->run(&s);
    cli_ticker_stop();
    if (fflush(stdout) != 0 && job->status == STATUS_DONE) {
        perror("heddle: standard output");
        job->status = STATUS_INPUT;
    }
    job->still_compiles = s.still_compiles;
    plan_free(&s.plan);
    arena_free(&s.arena);
}

/* What one part of the work releases, the next one takes: pages given back would be cleared once more, which
 * is a tenth of the time of a larger compilation. */
static void keep_pages(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that glibc takes */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

#ifdef HEDDLE_SANITIZED
/* Asked by the search for leaks, which takes half of what a short command takes: tests run the same commands
 * thousands of times, and every fourth process is looked at. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return getpid() % 4 != 0; }
#endif

int main(int argc, char **argv) {
    if (cli_leave)
        cli_leave(argc, argv);
    keep_pages();
    signal(SIGABRT, on_abort);
    if (argc < 2) {
        cli_help(stderr);
        return STATUS_USAGE;
    }
    char *help[] = {argv[0], "--help", NULL};
    bool wants_help = strcmp(argv[1], "help") == 0 && argc > 2;
    const Command *command = find_command(wants_help ? argv[2] : argv[1]);
    if (!command)
        return wants_help ? unknown(argv[2]) : general(argc, argv);
    bool own_help = argc == 3 && strcmp(argv[2], "--help") == 0;
    if (command->run == cmd_nvcc && !wants_help && !own_help)
        return cli_nvcc(argc - 2, argv + 2);
    Job job = {.command = command, .argc = wants_help ? 2 : argc - 1, .argv = wants_help ? help : argv + 1};
    ScopeResult result = scope_run(run_command, &job, NULL);
    if (result.end !=
        SCOPE_DONE) { /* perhaps in a child process: nothing of the parent's is to be written here */
        fprintf(stderr, "heddle: %s%s\n", result.what ? "internal error: " : "out of memory",
                result.what ? result.what : "");
        _exit(STATUS_INTERNAL);
    }
    if (job.still_compiles) {
        fflush(NULL);
        _exit(job.status);
    }
    return job.status;
}
