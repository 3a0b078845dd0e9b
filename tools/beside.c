/* Programs beside this one: see cli.h. SPDX-License-Identifier: MIT */
#include "tools/cli.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The arguments of this process, NULL behind the last; NULL: they cannot be had. */
static char **arguments(void) {
    FILE *in = fopen("/proc/self/cmdline", "rb");
    char **all = NULL, *word = NULL;
    size_t n = 0, room = 0;
    while (in && getdelim(&word, &room, '\0', in) > 0) {
        char **more = realloc(all, (n + 2) * sizeof *all);
        if (!more)
            return NULL;
        all = more;
        all[n++] = word;
        all[n] = word = NULL;
        room = 0;
    }
    if (in)
        fclose(in);
    return all;
}

int cli_start_beside(const char *name, char **argv) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - NAME_MAX);
    if (n <= 0) /* where there is no /proc */
        n = snprintf(path, sizeof path - NAME_MAX, "%s", (const char *)getauxval(AT_EXECFN));
    char *slash = n > 0 && n < (ssize_t)sizeof path - NAME_MAX ? memrchr(path, '/', (size_t)n) : NULL;
    if (!argv)
        argv = arguments();
    if (slash && argv) {
        strcpy(slash + 1, name);
        execv(path, argv);
    }
    fprintf(stderr, "heddle: cannot start %s: %s; it belongs beside heddle, as cmake --install puts it\n",
            slash ? path : name, strerror(errno));
    return STATUS_INTERNAL;
}
