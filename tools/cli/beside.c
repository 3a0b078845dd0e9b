/* Programs beside this one: see cli.h. SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
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

/* Has the file's table of segments a note that says so? */
static bool is_of_this_build(const char *path) {
    enum { HEAD_BYTES = 4096 };
    union {
        ElfW(Ehdr) elf;
        char bytes[HEAD_BYTES];
    } head = {0};
    ElfW(Phdr) segment;
    char notes[HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool same = false;
    if (fd < 0 || pread(fd, head.bytes, sizeof head, 0) < (ssize_t)sizeof head.elf)
        head.elf.e_phnum = 0;
    for (size_t k = 0; k < head.elf.e_phnum && !same; k++) {
        size_t at = head.elf.e_phoff + k * sizeof segment;
        if (at > sizeof head - sizeof segment)
            break;
        memcpy(&segment, head.bytes + at, sizeof segment);
        if (segment.p_type != PT_NOTE)
            continue;
        size_t size = segment.p_filesz < sizeof notes ? segment.p_filesz : sizeof notes;
        ssize_t got = pread(fd, notes, size, (off_t)segment.p_offset);
        same = got > 0 && memmem(notes, (size_t)got, &cli_build_note, sizeof cli_build_note);
    }
    if (fd >= 0)
        close(fd);
    return same;
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
        if (access(path, X_OK) == 0 && !is_of_this_build(path)) {
            fprintf(stderr,
                    "heddle: cannot start %s: it is of another build than heddle; cmake --install puts both "
                    "there\n",
                    path);
            return STATUS_INTERNAL;
        }
        execv(path, argv);
    }
    fprintf(stderr, "heddle: cannot start %s: %s; it belongs beside heddle, as cmake --install puts it\n",
            slash ? path : name, strerror(errno));
    return STATUS_INTERNAL;
}
