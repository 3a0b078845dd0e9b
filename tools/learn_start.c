/* heddle learn in the program `heddle`: the work is done by heddle-learn beside it, since the library of
 * exact linear algebra takes longer to load than a kernel to compile. SPDX-License-Identifier: MIT */
#include "tools/cli.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The arguments of this process, each behind the other; NULL behind the last. */
static char **arguments(Settings *settings) {
    VEC(char) text = {0};
    VEC(char *) all = {0};
    FILE *in = fopen("/proc/self/cmdline", "rb");
    for (int c; in && (c = getc(in)) != EOF;)
        VEC_ADD(&settings->arena, &text, (char)c);
    if (in)
        fclose(in);
    for (uint32_t at = 0; at < text.n; at += (uint32_t)strlen(text.at + at) + 1)
        VEC_ADD(&settings->arena, &all, text.at + at);
    VEC_ADD(&settings->arena, &all, NULL);
    return all.n > 1 ? all.at : NULL;
}

int cmd_learn(Settings *settings) {
    static const char name[] = "heddle-learn";
    char path[PATH_MAX];
    char **argv = arguments(settings);
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    if (slash && argv) {
        strcpy(slash + 1, name);
        execv(path, argv);
    }
    fprintf(stderr, "heddle: cannot start %s: %s\n", slash ? path : name, strerror(errno));
    return STATUS_INTERNAL;
}
