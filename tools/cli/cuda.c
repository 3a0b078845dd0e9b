/* CUDA C++: see cuda.h. SPDX-License-Identifier: MIT */
#include "tools/cli/cuda.h"
#include "base/file.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

bool cli_is_cuda(const char *path) {
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".cu") == 0;
}

/* A program of that name: $VARIABLE, $PATH, CUDA's usual folder; NULL: there is none. */
static const char *find_program(Arena *arena, const char *name, const char *variable) {
    const char *told = variable ? getenv(variable) : NULL, *path = getenv("PATH");
    if (told && *told)
        return file_is_program(told) ? told : NULL;
    const char *list = arena_printf(arena, "%s:/usr/local/cuda/bin", path ? path : "");
    while (*list) {
        size_t n = strcspn(list, ":");
        const char *full = arena_printf(arena, "%.*s/%s", (int)n, list, name);
        if (n && file_is_program(full))
            return full;
        list += n + (list[n] == ':');
    }
    return NULL;
}

typedef VEC(const char *) Words;

/* What clang is told, which reads kernels that include no header of CUDA's: its own header has threadIdx and
 * the like, the words that CUDA's headers define are attributes. */
static const char *const clang_flags[] = {
    "-x",
    "cuda",
    "--cuda-device-only",
    "-nocudainc",
    "-nocudalib",
    "-Wno-unknown-cuda-version",
    "-S",
    "-O2",
    "-gline-tables-only",
    "-include",
    "__clang_cuda_builtin_vars.h",
    "-D__global__=__attribute__((global))",
    "-D__device__=__attribute__((device))",
    "-D__host__=__attribute__((host))",
    "-D__shared__=__attribute__((shared))",
    "-D__constant__=__attribute__((constant))",
    "-D__launch_bounds__(...)=__attribute__((launch_bounds(__VA_ARGS__)))",
    "-D__forceinline__=__inline__ __attribute__((always_inline))"};

/* nvcc, else clang. clang writes to its standard output, since it would remove another file after an error.
 */
static bool compiler_words(Settings *settings, const char *path, const char *out, Words *words) {
    Arena *a = &settings->arena;
    const char *name = settings->target ? isa_target_name(settings->target) : "";
    const char *machine = strncmp(name, "sm_", 3) == 0 ? name : "sm_80";
    const char *nvcc = find_program(a, "nvcc", "NVCC"), *clang = NULL;
    static const char *const clangs[] = {"clang",    "clang-19", "clang-18", "clang-17",
                                         "clang-16", "clang-15", "clang-14"};
    for (unsigned k = 0; !nvcc && !clang && k < sizeof clangs / sizeof *clangs; k++)
        clang = find_program(a, clangs[k], NULL);
    VEC_ADD(a, words, nvcc ? nvcc : clang);
    if (nvcc) {
        VEC_ADD(a, words, "-ptx");
        VEC_ADD(a, words, "-lineinfo");
        VEC_ADD(a, words, arena_printf(a, "-arch=%s", machine));
    } else {
        for (unsigned k = 0; k < sizeof clang_flags / sizeof *clang_flags; k++)
            VEC_ADD(a, words, clang_flags[k]);
        VEC_ADD(a, words, arena_printf(a, "--cuda-gpu-arch=%s", machine));
    }
    VEC_ADD(a, words, path);
    VEC_ADD(a, words, "-o");
    VEC_ADD(a, words, nvcc ? out : "-");
    VEC_ADD(a, words, NULL);
    return nvcc || clang ||
           diag(&settings->diags, (SrcLoc){0}, DIAG_E0011, path,
                "there is no nvcc or clang to make PTX of it");
}

bool cli_cuda_to_ptx(Settings *settings, const char *path, const char **ptx, size_t *size_bytes) {
    Words words = {0};
    char *text = NULL;
    if (access(path, R_OK) != 0)
        return diag(&settings->diags, (SrcLoc){0}, DIAG_E0001, path, strerror(errno));
    int status = -1, fd = memfd_create("ptx", 0); /* which the compiler's own children open by our number */
    if (fd < 0)
        return diag(&settings->diags, (SrcLoc){0}, DIAG_E0011, path, strerror(errno));
    const char *out = arena_printf(&settings->arena, "/proc/%ld/fd/%d", (long)getpid(), fd);
    if (!compiler_words(settings, path, out, &words)) {
        close(fd);
        return false;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(strcmp(words.at[words.n - 2], "-") == 0 ? fd : STDERR_FILENO, STDOUT_FILENO);
        execv(words.at[0], (char *const *)(const void *)words.at);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool good = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
                file_read(&settings->arena, out, &settings->diags, &text, size_bytes);
    close(fd);
    *ptx = text;
    return good || diag(&settings->diags, (SrcLoc){0}, DIAG_E0011, path,
                        arena_printf(&settings->arena, "%s makes no PTX of it", words.at[0]));
}

/* heddle-ptxas beside this program, or in the build's folder. */
static bool find_drop_in(char path[PATH_MAX]) {
    static const char *const places[] = {"heddle-ptxas", "ptxas/heddle-ptxas"};
    enum { ROOM = 32 };
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - ROOM);
    char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    for (unsigned k = 0; slash && k < sizeof places / sizeof *places; k++) {
        strcpy(slash + 1, places[k]);
        if (file_is_program(path))
            return true;
    }
    return false;
}

int cli_nvcc(int argc, char **argv) {
    Arena arena = {0};
    char ptxas[PATH_MAX];
    const char *nvcc = find_program(&arena, "nvcc", "NVCC"), *before = getenv("NVCC_PREPEND_FLAGS");
    if (!nvcc || !find_drop_in(ptxas)) {
        fprintf(stderr, "heddle nvcc: there is no %s\n",
                nvcc ? "heddle-ptxas beside heddle"
                     : "nvcc: $NVCC, $PATH and /usr/local/cuda/bin are looked at");
        arena_free(&arena);
        return STATUS_INPUT;
    }
    setenv("NVCC_PREPEND_FLAGS", arena_printf(&arena, "--ptxas-prefix=%s %s", ptxas, before ? before : ""),
           1);
    Words words = {0};
    VEC_ADD(&arena, &words, nvcc);
    for (int k = 0; k < argc; k++)
        VEC_ADD(&arena, &words, argv[k]);
    VEC_ADD(&arena, &words, NULL);
    execv(nvcc, (char *const *)(const void *)words.at);
    fprintf(stderr, "heddle nvcc: %s: %s\n", nvcc, strerror(errno));
    arena_free(&arena);
    return STATUS_INPUT;
}

int cmd_nvcc(Settings *settings) { /* main has gone to cli_nvcc: options are nvcc's */
    (void)settings;
    return STATUS_USAGE;
}
