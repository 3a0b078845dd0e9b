/* `heddle` linked with archives alone, as the system's C library then is: a process without shared libraries
 * starts in half the time, of which a small compilation takes most. It compiles PTX files. All else is done
 * by heddle-full beside it, the same program with its libraries, which takes its place: at once for another
 * command, an option that is not of the plain ones, an input that is no file (it could not be read a second
 * time); later at the first shared library that a file turns out to want, before anything is written.
 * SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char **all; /* words of this process, as it got them; NULL: there was no memory */

static _Noreturn void start_full(void) {
    cli_ticker_stop(); /* its timer would go on in the other program */
    exit(cli_start_beside("heddle-full", all));
}

static bool is_ptx_file(const char *name) {
    size_t size = strlen(name);
    struct stat file;
    return size > 4 && !strcmp(name + size - 4, ".ptx") && !stat(name, &file) && S_ISREG(file.st_mode);
}

/* Does the word begin with this, and go on behind it? */
static bool goes_on_behind(const char *word, const char *with) {
    size_t size = strlen(with);
    return strncmp(word, with, size) == 0 && word[size];
}

/* A compilation that needs no library, as far as its words say. */
static bool is_plain_compilation(int argc, char **argv) {
    if (argc < 3 || strcmp(argv[1], "compile") != 0)
        return false;
    for (int k = 2; k < argc; k++) {
        const char *word = argv[k];
        bool has_value = !strcmp(word, "-o") || !strcmp(word, "-t") || !strcmp(word, "--target") ||
                         !strcmp(word, "--output") || !strcmp(word, "-O") || !strcmp(word, "--optimize");
        bool plain = goes_on_behind(word, "-O") || goes_on_behind(word, "-t") || goes_on_behind(word, "-o") ||
                     goes_on_behind(word, "--target=") || goes_on_behind(word, "--output=") ||
                     goes_on_behind(word, "--optimize=");
        if (has_value && k + 1 < argc)
            k++;
        else if (!plain && (word[0] == '-' || !is_ptx_file(word)))
            return false;
    }
    return true;
}

void cli_leave(int argc, char **argv) {
    all = malloc(((size_t)argc + 1) * sizeof *all);
    if (all)
        memcpy(all, argv, ((size_t)argc + 1) * sizeof *all);
    if (!is_plain_compilation(argc, argv))
        start_full();
}

void cli_full_program(void) { start_full(); }

/* In the place of what the C library does at its start for libraries that are loaded later. */
void cli_find_no_libraries(void) {}
