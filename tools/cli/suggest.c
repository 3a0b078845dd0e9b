/* "did you mean": the name nearest to what was typed, by single letters added, left out, changed or
 * exchanged. SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 40 };

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Optimal string alignment distance; names beyond MAX_NAME are far from everything. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb) {
    unsigned rows[MAX_NAME + 1][MAX_NAME + 1];
    if (na > MAX_NAME || nb > MAX_NAME)
        return UINT32_MAX;
    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            if (!i || !j) {
                rows[i][j] = (unsigned)(i + j);
                continue;
            }
            unsigned best = least(rows[i - 1][j], rows[i][j - 1]) + 1;
            best = least(best, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, rows[i - 2][j - 2] + 1);
            rows[i][j] = best;
        }
    return rows[na][nb];
}

void cli_suggest(Suggestion *suggestion, const char *name) {
    unsigned far = distance(suggestion->typed, suggestion->size, name, strlen(name));
    unsigned most = suggestion->size < 4 ? 1 : suggestion->size < 8 ? 2 : 3;
    if (far <= most && (!suggestion->best || far < suggestion->distance)) {
        suggestion->best = name;
        suggestion->distance = far;
    }
}

/* ---- options ---- */

/* The option that a word with two dashes names, or begins to name; NULL: there is none. */
static const struct argp_option *named_option(const struct argp_option *all, const char *name, size_t size) {
    for (const struct argp_option *option = all; option->name; option++)
        if (strncmp(option->name, name, size) == 0)
            return option;
    return NULL;
}

/* Words of nvcc and ptxas for what has another name here. */
static const struct {
    const char *theirs, *ours;
} other_names[] = {{"arch", "target"},       {"gpu-name", "target"}, {"gpu-architecture", "target"},
                   {"gencode", "target"},    {"code", "target"},     {"sm", "target"},
                   {"entry", "kernel"},      {"args", "arg"},        {"threads", "block"},
                   {"opt-level", "optimize"}};

static const char *other_name(const char *name, size_t size) {
    for (unsigned k = 0; k < sizeof other_names / sizeof *other_names; k++)
        if (strlen(other_names[k].theirs) == size && strncmp(other_names[k].theirs, name, size) == 0)
            return other_names[k].ours;
    return NULL;
}

static bool has_option(const Command *command, const char *name, size_t size) {
    for (const struct argp_option *const *group = command->groups; *group; group++)
        for (const struct argp_option *option = *group; option->name; option++)
            if (strlen(option->name) == size && strncmp(option->name, name, size) == 0)
                return true;
    return false;
}

/* An option of other commands only: says which those are. */
static bool says_whose(const Command *command, const char *name, size_t size) {
    const char *comma = "";
    for (const Command *other = cli_commands; other->name; other++) {
        if (!has_option(other, name, size))
            continue;
        if (!*comma)
            fprintf(stderr, "heddle %s: '--%.*s' is an option of", command->name, (int)size, name);
        fprintf(stderr, "%s heddle %s", comma, other->name);
        comma = ",";
    }
    if (*comma)
        fputc('\n', stderr);
    return *comma;
}

/* "-arch=sm_80", as nvcc takes it: argp would reject the letter a. */
static void reject_one_dash(const Command *command, const struct argp_option *all, const char *word) {
    size_t size = strcspn(word + 1, "=");
    const char *name = other_name(word + 1, size);
    for (const struct argp_option *option = all; option->name && !name; option++)
        if (size > 2 && strlen(option->name) == size && strncmp(option->name, word + 1, size) == 0)
            name = option->name;
    for (const struct argp_option *option = all; option->name; option++)
        if (name && strcmp(option->name, name) == 0) {
            fprintf(stderr, "heddle %s: there is no option '%.*s'; did you mean '--%s'?\n", command->name,
                    (int)size + 1, word, name);
            exit(STATUS_USAGE);
        }
}

/* A long option that there is not, with the one most like it; argp would only say that it is not recognised.
 */
void cli_reject_unknown(const Command *command, const struct argp_option *all, int argc, char **argv) {
    for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++) {
        const char *name = argv[k] + 2;
        size_t size = strcspn(argv[k], "=") - 2;
        if (argv[k][0] == '-' && argv[k][1] && argv[k][1] != '-' && !argv[k][2])
            for (const struct argp_option *option = all; option->name; option++)
                k += option->key == argv[k][1] && option->arg && !(option->flags & OPTION_ARG_OPTIONAL) &&
                     k + 1 < argc;
        if (argv[k][0] == '-' && argv[k][1] && argv[k][1] != '-' && argv[k][2])
            reject_one_dash(command, all, argv[k]);
        if (strncmp(argv[k], "--", 2) != 0 || strncmp("help", name, size) == 0 ||
            strncmp("usage", name, size) == 0)
            continue;
        const struct argp_option *found = named_option(all, name, size);
        if (found) {
            k += found->arg && !(found->flags & OPTION_ARG_OPTIONAL) && !name[size];
            continue;
        }
        Suggestion like = {.typed = name, .size = size};
        const char *ours = other_name(name, size);
        if (ours && named_option(all, ours, strlen(ours)))
            like.best = ours;
        else if (says_whose(command, name, size))
            exit(STATUS_USAGE);
        for (const struct argp_option *option = all; option->name && !ours; option++)
            cli_suggest(&like, option->name);
        if (!like.best)
            continue;
        fprintf(stderr, "heddle %s: there is no option '--%.*s'; did you mean '--%s'?\n", command->name,
                (int)size, name, like.best);
        exit(STATUS_USAGE);
    }
}

/* ---- what argp is told ---- */

/* May the word name the option, whole or begun? Help names all. */
static bool may_name(const char *word, const struct argp_option *option) {
    if (word[0] != '-' || word[1] != '-')
        return word[0] == '-' && (strchr(word, '?') || (option->key < 128 && strchr(word + 1, option->key)));
    const char *name = word + 2;
    size_t size = strcspn(name, "=");
    return strncmp(option->name, name, size) == 0 || strncmp("help", name, size) == 0 ||
           strncmp("usage", name, size) == 0;
}

unsigned cli_named_options(struct argp_option *all, unsigned n, int argc, char **argv) {
    unsigned kept = 0;
    for (unsigned k = 0; k < n; k++) {
        bool named = !all[k].name && (kept || k + 1 == n); /* headings, if there is anything below; the end */
        for (int w = 1; w < argc && all[k].name && !named; w++)
            named = may_name(argv[w], &all[k]);
        if (named)
            all[kept++] = all[k];
    }
    return kept;
}
