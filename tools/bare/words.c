/* The words of a command line, and lists in order, without a C library: see bare.h. Only plain words come
 * here (start_full.c): options with a value, as one word or two, and files. SPDX-License-Identifier: MIT */
#include "tools/bare/bare.h"
#include "tools/cli.h"
#include <argp.h>
#include <stdlib.h>
#include <string.h>

error_t argp_err_exit_status;

/* The option that the word begins with; *value: behind its name in the word, NULL: the next word is it. */
static const struct argp_option *option_of(const struct argp_option *all, char *word, char **value) {
    const struct argp_option *option = all;
    char *behind;
    if (word[1] != '-') {
        while (option->key && option->key != word[1])
            option++;
        behind = word + 2;
        *value = *behind ? behind : NULL;
    } else {
        size_t size = strcspn(word + 2, "=");
        while (option->key &&
               (!option->name || strlen(option->name) != size || strncmp(option->name, word + 2, size) != 0))
            option++;
        behind = word + 2 + size;
        *value = *behind ? behind + 1 : NULL;
    }
    return option->key && option->arg && !option->flags ? option : NULL;
}

error_t argp_parse(const struct argp *restrict argp, int argc, char **restrict argv, unsigned flags,
                   int *restrict rest, void *restrict input) {
    struct argp_state state = {.root_argp = argp, .argc = argc, .argv = argv, .flags = flags, .input = input};
    if (argp->children || rest || flags)
        cli_full_program();
    for (int files = 0; files < 2; files++) /* options come first, wherever they stand */
        for (int k = 1; k < argc; k++) {
            char *value;
            const struct argp_option *option =
                argv[k][0] == '-' ? option_of(argp->options, argv[k], &value) : NULL;
            if (argv[k][0] == '-' && (!option || (!value && k + 1 == argc)))
                cli_full_program();
            if (option && !value)
                value = argv[++k];
            if (option ? !files && argp->parser(option->key, value, &state)
                       : files && argp->parser(ARGP_KEY_ARG, argv[k], &state))
                cli_full_program();
        }
    return argp->parser(ARGP_KEY_END, NULL, &state);
}

/* ---- lists in order ---- */

typedef int Compare(const void *, const void *);
enum { FEW = 8 };

/* Insertion: each element goes behind those that are not above it. */
static void sort_few(char *at, size_t n, size_t size_bytes, Compare *compare, char *one) {
    for (size_t k = 1; k < n; k++) {
        size_t to = k;
        while (to && compare(at + (to - 1) * size_bytes, at + k * size_bytes) > 0)
            to--;
        if (to == k)
            continue;
        memcpy(one, at + k * size_bytes, size_bytes);
        memmove(at + (to + 1) * size_bytes, at + to * size_bytes, (k - to) * size_bytes);
        memcpy(at + to * size_bytes, one, size_bytes);
    }
}

/* `room` holds half of the elements and one. */
static void sort(char *at, size_t n, size_t size_bytes, Compare *compare, char *room) {
    if (n <= FEW) {
        sort_few(at, n, size_bytes, compare, room);
        return;
    }
    size_t half = n / 2;
    char *left = room, *left_end = room + half * size_bytes, *right = at + half * size_bytes,
         *end = at + n * size_bytes;
    sort(at, half, size_bytes, compare, room);
    sort(right, n - half, size_bytes, compare, room);
    memcpy(room, at, half * size_bytes);
    while (left < left_end && right < end) { /* of equal ones the left one first */
        int is_right = compare(left, right) > 0;
        memcpy(at, is_right ? right : left, size_bytes);
        at += size_bytes;
        right += is_right ? size_bytes : 0;
        left += is_right ? 0 : size_bytes;
    }
    memcpy(at, left, (size_t)(left_end - left));
}

/* Equal elements keep their order, as in the C library's where it has memory for that. */
void qsort(void *data, size_t n, size_t size_bytes, Compare *compare) {
    if (n < 2)
        return;
    char *room = malloc((n / 2 + 1) * size_bytes);
    if (!room)
        cli_full_program();
    sort(data, n, size_bytes, compare, room);
    free(room);
}
