/* What the heddle program has in place of the C library (tools/bare), called beside the C library's: the same
 * bytes, texts and numbers of random arguments. Its functions are here with names that begin with bare_
 * (CMakeLists.txt). SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *bare_memcpy(void *to, const void *from, size_t n);
void *bare_memmove(void *to, const void *from, size_t n);
void *bare_memset(void *to, int byte, size_t n);
int bare_memcmp(const void *a, const void *b, size_t n);
void *bare_memchr(const void *data, int byte, size_t n);
void *bare_memrchr(const void *data, int byte, size_t n);
void *bare_memmem(const void *data, size_t n, const void *what, size_t size);
size_t bare_strlen(const char *text);
size_t bare_strnlen(const char *text, size_t most);
char *bare_strchr(const char *text, int byte);
char *bare_strrchr(const char *text, int byte);
char *bare_strstr(const char *text, const char *what);
int bare_strcmp(const char *a, const char *b);
int bare_strncmp(const char *a, const char *b, size_t n);
size_t bare_strspn(const char *text, const char *set);
size_t bare_strcspn(const char *text, const char *set);
char *bare_strcpy(char *to, const char *from);
const unsigned short **bare___ctype_b_loc(void);
unsigned long bare_strtoul(const char *text, char **end, int base);
long bare_strtol(const char *text, char **end, int base);
double bare_strtod(const char *text, char **end);
int bare_snprintf(char *text, size_t room, const char *format, ...);
void bare_qsort(void *data, size_t n, size_t size, int (*compare)(const void *, const void *));
void *bare_malloc(size_t n);
void *bare_calloc(size_t count, size_t n);
void *bare_realloc(void *data, size_t n);
void bare_free(void *data);

/* What those call that is not among them. */
int *bare___errno_location(void);
_Noreturn void bare_abort(void);
_Noreturn void bare_cli_full_program(void);
long bare_bare_call(long number, ...);

static jmp_buf left; /* for heddle-full */
int *bare___errno_location(void) { return &errno; }
void bare_abort(void) { abort(); }
void bare_cli_full_program(void) { longjmp(left, 1); }
long bare_bare_call(long number, ...) { /* madvise */
    (void)number;
    return 0;
}

static uint64_t state = 1;
static size_t below(size_t n) { return (size_t)(rng_next(&state) % n); }

enum { ROOM = 6000, ROUNDS = 20000 };

/* Mostly short ones, as a compilation has them. */
static size_t some_size(void) { return below(8) ? below(100) : below(ROOM / 3); }

static void fill(char *at, size_t n, unsigned letters) {
    for (size_t k = 0; k < n; k++)
        at[k] = letters ? (char)('a' + below(letters)) : (char)rng_next(&state);
}

static void bytes_are_moved(void **unused) {
    static char start[ROOM], ours[ROOM], theirs[ROOM];
    (void)unused;
    fill(start, ROOM, 0);
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = some_size(), from = below(ROOM / 3), to = below(ROOM / 3);
        memcpy(ours, start, ROOM);
        memcpy(theirs, start, ROOM);
        switch (round % 3) {
        case 0:
            assert_ptr_equal(bare_memmove(ours + to, ours + from, n), ours + to);
            memmove(theirs + to, theirs + from, n);
            break;
        case 1:
            assert_ptr_equal(bare_memcpy(ours + to, start + from, n), ours + to);
            memcpy(theirs + to, start + from, n);
            break;
        default:
            assert_ptr_equal(bare_memset(ours + to, (int)from, n), ours + to);
            memset(theirs + to, (int)from, n);
        }
        assert_memory_equal(ours, theirs, ROOM);
    }
}

static int sign(int x) { return (x > 0) - (x < 0); }

/* Of few letters, so that the pieces are often alike for some way. */
static void bytes_are_found(void **unused) {
    static char a[ROOM], b[ROOM];
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned letters = round % 2 ? 1 + (unsigned)below(4) : 0;
        size_t n = some_size(), at = below(64), m = below(6);
        fill(a, at + n, letters);
        fill(b, at + n, letters);
        if (letters != 1 && n && below(2)) {
            memcpy(b + at, a + at, n);
            b[at + below(n)] = 'b';
        }
        a[at + n] = b[at + n] = 0;
        const char *x = a + at, *y = b + at;
        char letter = n ? y[below(n)] : 'q';
        assert_int_equal(sign(bare_memcmp(x, y, n)), sign(memcmp(x, y, n)));
        assert_int_equal(sign(bare_strcmp(x, y)), sign(strcmp(x, y)));
        size_t most = below(n + 2);
        assert_int_equal(sign(bare_strncmp(x, y, most)), sign(strncmp(x, y, most)));
        assert_int_equal(bare_strlen(x), strlen(x));
        assert_int_equal(bare_strnlen(x, most), strnlen(x, most));
        assert_ptr_equal(bare_memchr(x, letter, n), memchr(x, letter, n));
        assert_ptr_equal(bare_memrchr(x, letter, n), memrchr(x, letter, n));
        assert_ptr_equal(bare_strchr(x, letter), strchr(x, letter));
        assert_ptr_equal(bare_strchr(x, 0), strchr(x, 0));
        assert_ptr_equal(bare_strrchr(x, letter), strrchr(x, letter));
        assert_ptr_equal(bare_memmem(x, n, y, m < n ? m : n), memmem(x, n, y, m < n ? m : n));
        if (m < n)
            b[at + m] = 0;
        assert_ptr_equal(bare_strstr(x, y), strstr(x, y));
        assert_int_equal(bare_strspn(x, y), strspn(x, y));
        assert_int_equal(bare_strcspn(x, y), strcspn(x, y));
        static char copy[ROOM];
        assert_string_equal(bare_strcpy(copy + m, x), x);
    }
}

static void characters_have_their_kinds(void **unused) {
    const unsigned short *kinds = *bare___ctype_b_loc(),
                         *theirs = *__ctype_b_loc(); /* no program calls setlocale */
    (void)unused;
    for (int c = -128; c < 256; c++)
        assert_int_equal(kinds[c], theirs[c]);
}

#define SAME_TEXT(...)                                                                                       \
    do {                                                                                                     \
        char ours[400] = "?", theirs[400] = "?";                                                             \
        size_t room = below(4) ? sizeof ours : below(12);                                                    \
        assert_int_equal(bare_snprintf(ours, room, __VA_ARGS__), snprintf(theirs, room, __VA_ARGS__));       \
        assert_string_equal(ours, theirs);                                                                   \
    } while (0)

static void numbers_are_printed(void **unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t value = rng_next(&state) >> below(64);
        int width = (int)below(24) - 8, precision = (int)below(14) - 1, less = (int)value;
        static const char *const words[] = {"", "a", "operand", "not so short a word, this one"};
        const char *word = words[below(4)];
        char letter = (char)('a' + below(26));
        SAME_TEXT("%d %i %u %x|%X", less, -less, (unsigned)less, (unsigned)less, (unsigned)less);
        SAME_TEXT("%ld:%lu:%llx%%%zu", (long)value, (unsigned long)value, (unsigned long long)value,
                  (size_t)value);
        SAME_TEXT("<%*d> <%-*u> <%0*d> <%#x>", width, less, width, (unsigned)less, width < 0 ? -width : width,
                  less, (unsigned)less);
        SAME_TEXT("%.*d %.3u %8.4x %-8.2dz %04x %016llx", precision, less, (unsigned)less, (unsigned)less,
                  less, (unsigned)less & 0xFFF, (unsigned long long)value);
        SAME_TEXT("%s %.*s[%*s][%-12s]%c", word, precision, word, width, word, word, letter);
    }
}

static void numbers_are_read(void **unused) {
    static const int bases[] = {0, 10, 16, 8, 2};
    static const char letters[] = "0123456789abcfxX+- .e";
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        char text[32] = "", *our_end, *their_end;
        size_t n = below(sizeof text - 1);
        for (size_t k = 0; k < n; k++)
            text[k] = letters[below(round % 2 ? sizeof letters - 1 : 10)];
        int base = bases[below(5)];
        errno = 0;
        unsigned long theirs = strtoul(text, &their_end, base);
        int their_error = errno;
        errno = 0;
        assert_true(bare_strtoul(text, &our_end, base) == theirs && our_end == their_end);
        assert_int_equal(errno == ERANGE, their_error == ERANGE);
        assert_true(bare_strtol(text, &our_end, base) == strtol(text, &their_end, base) &&
                    our_end == their_end);
    }
}

/* Where it does not leave the number to heddle-full, it is right to the last bit; and it leaves few. */
static void fractions_are_read(void **unused) {
    volatile int here = 0;
    (void)unused;
    for (volatile int round = 0; round < ROUNDS; round++) {
        static char text[64];
        char *our_end, *their_end;
        int digits = 1 + (int)below(17);
        snprintf(text, sizeof text, below(3) ? "%.*g;" : "%.*fe3,", digits,
                 (double)rng_next(&state) / (double)(rng_next(&state) >> below(60)));
        double theirs = strtod(text, &their_end), ours;
        if (setjmp(left))
            continue;
        ours = bare_strtod(text, &our_end);
        assert_memory_equal(&ours, &theirs, sizeof ours);
        assert_ptr_equal(our_end, their_end);
        here = here + 1;
    }
    assert_true(here > ROUNDS / 2);
}

typedef struct {
    unsigned key, place;
    char rest[20];
} Element;

static int by_key(const void *a, const void *b) {
    const Element *one = a, *other = b;
    return (one->key > other->key) - (one->key < other->key);
}
static int by_key_and_place(const void *a, const void *b) {
    const Element *one = a, *other = b;
    int keys = by_key(a, b);
    return keys ? keys : (one->place > other->place) - (one->place < other->place);
}

/* The C library's, told of the places, puts equal elements where a sort that keeps their order puts them. */
static void lists_are_sorted(void **unused) {
    static Element ours[300], theirs[300];
    (void)unused;
    for (int round = 0; round < 1000; round++) {
        unsigned n = (unsigned)below(round % 2 ? 20 : 300), keys = 1 + (unsigned)below(100);
        for (unsigned k = 0; k < n; k++) {
            ours[k] = (Element){(unsigned)below(keys), k, ""};
            fill(ours[k].rest, sizeof ours[k].rest, 0);
        }
        memcpy(theirs, ours, sizeof ours);
        bare_qsort(ours, n, sizeof *ours, by_key);
        qsort(theirs, n, sizeof *theirs, by_key_and_place);
        assert_memory_equal(ours, theirs, sizeof ours);
    }
}

/* Blocks keep what is in them, lie apart, and are zeros where that was asked. */
static void blocks_are_apart(void **unused) {
    enum { BLOCKS = 300 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        size_t k = below(BLOCKS), n = below(50) ? below(700) : below(below(30) ? 100000 : 9000000);
        if (blocks[k]) {
            for (size_t at = 0; at < sizes[k]; at++)
                assert_int_equal(blocks[k][at], (unsigned char)k);
            if (below(2)) {
                blocks[k] = bare_realloc(blocks[k], n);
                for (size_t at = 0; at < n && at < sizes[k]; at++)
                    assert_int_equal(blocks[k][at], (unsigned char)k);
            } else {
                bare_free(blocks[k]);
                blocks[k] = NULL;
            }
        }
        if (!blocks[k] && below(2))
            blocks[k] = bare_malloc(n);
        else if (!blocks[k]) {
            blocks[k] = bare_calloc(n, 1);
            for (size_t at = 0; at < n; at++)
                assert_int_equal(blocks[k][at], 0);
        }
        assert_int_equal((uintptr_t)blocks[k] % 16, 0);
        memset(blocks[k], (int)k, n);
        sizes[k] = n;
    }
    assert_null(bare_malloc(SIZE_MAX - 100));
    assert_null(bare_calloc(SIZE_MAX / 2, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_moved),
                                       cmocka_unit_test(bytes_are_found),
                                       cmocka_unit_test(characters_have_their_kinds),
                                       cmocka_unit_test(numbers_are_printed),
                                       cmocka_unit_test(numbers_are_read),
                                       cmocka_unit_test(fractions_are_read),
                                       cmocka_unit_test(lists_are_sorted),
                                       cmocka_unit_test(blocks_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
