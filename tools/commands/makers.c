/* Compiling by ourselves and by others: see makers.h. ptxas reads and writes memory files, so that nothing
 * is left behind however it ends.
 * SPDX-License-Identifier: MIT */
#include "tools/commands/makers.h"
#include "base/file.h"
#include "base/scope.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PTXAS_SECONDS = 300, PTXAS_BYTES = 1 << 29 /* of a file that it writes */ };

/* ---- which ---- */

unsigned maker_count(const char *lists) {
    unsigned n = lists ? 2 : 1;
    for (; lists && *lists; lists++)
        n += *lists == ',';
    return n;
}

unsigned maker_list(Settings *settings, Maker makers[MAX_MAKERS]) {
    unsigned n = 0;
    makers[n++] = (Maker){.label = "heddle"};
    for (const char *list = settings->with_ptxas; list && n < MAX_MAKERS;) {
        size_t len = strcspn(list, ",");
        const char *options = arena_printf(&settings->arena, "%.*s", (int)len, list);
        makers[n++] =
            (Maker){.label = arena_printf(&settings->arena, *options ? "ptxas %s" : "ptxas%s", options),
                    .options = options};
        list = list[len] ? list + len + 1 : NULL;
    }
    return n;
}

static const char *in_path(Arena *arena, const char *name) {
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t len = strcspn(path, ":");
        const char *full = arena_printf(arena, "%.*s/%s", len ? (int)len : 1, len ? path : ".", name);
        if (file_is_program(full))
            return full;
        path += len + (path[len] == ':');
    }
    return NULL;
}

bool maker_find_ptxas(Settings *settings) {
    static const char usual[] = "/usr/local/cuda/bin/ptxas";
    const char *told = settings->ptxas ? settings->ptxas : getenv("PTXAS");
    if (told && *told)
        settings->ptxas = strchr(told, '/') ? told : in_path(&settings->arena, told);
    else if (!(settings->ptxas = in_path(&settings->arena, "ptxas")))
        settings->ptxas = usual;
    if (settings->ptxas && file_is_program(settings->ptxas))
        return true;
    return diag(&settings->diags, (SrcLoc){0}, DIAG_E0516,
                arena_printf(&settings->arena,
                             "there is no ptxas%s%s: --ptxas, $PTXAS, $PATH and /usr/local/cuda/bin are "
                             "looked at",
                             told && *told ? " " : "", told && *told ? told : ""));
}

unsigned maker_sm(const Target *target) {
    unsigned number = 0;
    return target && sscanf(isa_target_name(target), "sm_%u", &number) == 1 ? number : 0;
}

bool maker_is_native(const Target *target) { return maker_sm(target) != 0; }

const Target *maker_native_target(const PtxModule *module) {
    char exact[16];
    snprintf(exact, sizeof exact, "sm_%u%.1s", (unsigned)module->sm, (char[]){module->sm_variant, 0});
    if (module->sm_variant && isa_target(exact))
        return isa_target(exact);
    const Target *best = NULL;
    for (const Target *const *t = isa_targets; *t; t++) {
        unsigned number = maker_sm(*t), so_far = best ? maker_sm(best) : 0;
        bool better = so_far < module->sm ? number > so_far : number >= module->sm && number < so_far;
        if (number && better)
            best = *t;
    }
    return best;
}

/* ---- another process ---- */

typedef struct {
    int in, out, told; /* memory files: PTX, machine code, what is printed */
    const char *const *words;
} Call;

static int memory_file(const char *name, const void *data, size_t size_bytes) {
    int fd = memfd_create(name, 0);
    for (size_t done = 0; fd >= 0 && done < size_bytes;) {
        ssize_t n = write(fd, (const char *)data + done, size_bytes - done);
        if (n < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return fd;
}

/* All of a memory file, with a NUL behind it; for mem_free. */
static char *contents(int fd, size_t *size_bytes) {
    struct stat st;
    size_t size = fstat(fd, &st) == 0 ? (size_t)st.st_size : 0, done = 0;
    char *data = mem_alloc(size + 1);
    for (ssize_t n = 1; done < size && n > 0; done += n > 0 ? (size_t)n : 0)
        n = pread(fd, data + done, size - done, (off_t)done);
    data[done] = 0;
    *size_bytes = done;
    return data;
}

static _Noreturn void run_words(const Call *call) {
    dup2(call->told, STDOUT_FILENO);
    dup2(call->told, STDERR_FILENO);
    setrlimit(RLIMIT_CPU, &(struct rlimit){PTXAS_SECONDS, PTXAS_SECONDS});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){PTXAS_BYTES, PTXAS_BYTES});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    execv(call->words[0], (char *const *)(const void *)call->words);
    dprintf(STDERR_FILENO, "%s: %s", call->words[0], strerror(errno));
    _exit(127);
}

/* The wait status; -1: no process could be made. */
static int run_call(const Call *call) {
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        run_words(call);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* The first error that ptxas told, as one line without its own name and that of the memory file: "line 5:
 * text". */
static void first_error(char *text, int status, char error[CLI_ERROR_BYTES]) {
    char *line = strstr(text, "error"), *begin = line;
    while (begin && begin > text && begin[-1] != '\n')
        begin--;
    if (!begin)
        begin = text;
    begin[strcspn(begin, "\n")] = 0;
    for (char *c = begin; *c; c++) /* text for a table and for JSON, whatever it printed */
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    const char *place = strstr(begin, ", line ");
    char *says = place ? strstr(begin, ": ") : NULL;
    unsigned number;
    if (says && sscanf(place, ", line %u", &number) == 1)
        snprintf(error, CLI_ERROR_BYTES, "ptxas: line %u: %s", number, says + 2);
    else if (*begin)
        snprintf(error, CLI_ERROR_BYTES, "%s", begin);
    else if (WIFSIGNALED(status))
        snprintf(error, CLI_ERROR_BYTES, "ptxas ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(error, CLI_ERROR_BYTES, "ptxas ended with status %d", WEXITSTATUS(status));
}

char *maker_ptxas_image(Settings *settings, const Maker *maker, const PtxModule *module, size_t *size_bytes,
                        char error[CLI_ERROR_BYTES]) {
    Call call = {.in = memory_file("ptx", module->source.text, module->source.size_bytes),
                 .out = memory_file("cubin", "", 0),
                 .told = memory_file("ptxas", "", 0)};
    Arena *arena = &settings->arena;
    VEC(const char *) words = {0};
    VEC_ADD(arena, &words, settings->ptxas);
    VEC_ADD(arena, &words, arena_printf(arena, "-arch=%s", isa_target_name(settings->target)));
    for (char *at = arena_printf(arena, "%s", maker->options), *word; (word = strsep(&at, " "));)
        if (*word)
            VEC_ADD(arena, &words, word);
    VEC_ADD(arena, &words, arena_printf(arena, "/proc/self/fd/%d", call.in));
    VEC_ADD(arena, &words, "-o");
    VEC_ADD(arena, &words, arena_printf(arena, "/proc/self/fd/%d", call.out));
    VEC_ADD(arena, &words, NULL);
    call.words = words.at;
    int status = call.in >= 0 && call.out >= 0 && call.told >= 0 ? run_call(&call) : -1;
    char *image = NULL;
    size_t size;
    if (status == -1) {
        snprintf(error, CLI_ERROR_BYTES, "ptxas could not be started: %s", strerror(errno));
    } else if (status) {
        char *text = contents(call.told, &size);
        first_error(text, status, error);
        mem_free(text);
    } else {
        image = contents(call.out, size_bytes);
    }
    const int files[] = {call.in, call.out, call.told};
    for (unsigned k = 0; k < sizeof files / sizeof *files; k++)
        if (files[k] >= 0)
            close(files[k]);
    return image;
}

static Binary *ptxas_compile(Settings *settings, const Maker *maker, const PtxModule *module,
                             const char *path, char error[CLI_ERROR_BYTES]) {
    size_t size;
    char *image = maker_ptxas_image(settings, maker, module, &size, error);
    if (!image)
        return NULL;
    Diags diags = {.sink = cli_keep_error, .user = error};
    Binary *binary =
        binary_read(arena_printf(&settings->arena, "%s (%s)", path, maker->label), image, size, &diags);
    mem_free(image);
    return binary;
}

const char *maker_ptxas_version(Settings *settings) {
    Call call = {.told = memory_file("ptxas", "", 0),
                 .words = (const char *const[]){settings->ptxas, "--version", NULL}};
    size_t size;
    if (call.told < 0)
        return "";
    bool told = run_call(&call) == 0;
    char *text = contents(call.told, &size);
    close(call.told);
    while (size && text[size - 1] == '\n')
        text[--size] = 0;
    char *last = strrchr(text, '\n');
    const char *version = arena_printf(&settings->arena, "%s", !told ? "" : last ? last + 1 : text);
    mem_free(text);
    return version;
}

Binary *maker_compile(Settings *settings, const Maker *maker, const PtxModule *module, const char *path,
                      char error[CLI_ERROR_BYTES]) {
    error[0] = 0;
    if (maker->options)
        return ptxas_compile(settings, maker, module, path, error);
    Diags told = settings->diags;
    settings->diags = (Diags){.sink = cli_keep_error, .user = error};
    Binary *binary = cli_compile_to_binary(settings, module, path);
    settings->diags = told;
    return binary;
}
