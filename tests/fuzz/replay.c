/* A main for the targets where libFuzzer is not: runs the target on each file, or each file of each folder.
 * SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"
#include <dirent.h>

static bool replay(const char *path) {
    Arena arena = {0};
    Diags diags = {.sink = diag_print_sink, .user = stderr};
    char *text;
    size_t size;
    bool good = file_read(&arena, path, &diags, &text, &size);
    if (good) {
        uint8_t *exact = malloc(size + !size); /* its own block, so that reading past it is seen */
        if (!exact)
            abort();
        memcpy(exact, text, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    arena_free(&arena);
    return good;
}

static unsigned replay_folder(const char *path, bool *good) {
    struct dirent **list;
    unsigned done = 0;
    int n = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, list[i]->d_name);
        if (list[i]->d_name[0] != '.') {
            *good &= replay(file);
            done++;
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return done;
}

int main(int argc, char **argv) {
    bool good = true;
    unsigned done = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder)
            closedir(folder);
        done += folder ? replay_folder(argv[i], &good) : 1;
        good &= folder || replay(argv[i]);
    }
    printf("%u inputs\n", done);
    return good && done ? 0 : 1;
}
