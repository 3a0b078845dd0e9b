/* Bytes and texts without a C library: see bare.h. Sixteen bytes at a time, which every x86-64 processor has;
 * most pieces that a compilation copies and clears are shorter than a hundred. SPDX-License-Identifier: MIT
 */
#include "tools/bare/bare.h"
#include <ctype.h>
#include <emmintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t __attribute__((may_alias, aligned(1))) Word8;
typedef uint32_t __attribute__((may_alias, aligned(1))) Word4;
typedef uint16_t __attribute__((may_alias, aligned(1))) Word2;

enum { MANY_BYTES = 1024 }; /* from here on the processor's own loop is the fastest */

static inline __m128i sixteen(const char *at) { return _mm_loadu_si128((const __m128i *)(const void *)at); }
static inline void put_sixteen(char *at, __m128i v) { _mm_storeu_si128((__m128i *)(void *)at, v); }

/* At most 16: all is read before any is written, as memmove wants it. */
static inline void copy_few(char *to, const char *from, size_t n) {
    if (n >= 8) {
        uint64_t head = *(const Word8 *)from, tail = *(const Word8 *)(from + n - 8);
        *(Word8 *)to = head;
        *(Word8 *)(to + n - 8) = tail;
    } else if (n >= 4) {
        uint32_t head = *(const Word4 *)from, tail = *(const Word4 *)(from + n - 4);
        *(Word4 *)to = head;
        *(Word4 *)(to + n - 4) = tail;
    } else if (n >= 2) {
        uint16_t head = *(const Word2 *)from, tail = *(const Word2 *)(from + n - 2);
        *(Word2 *)to = head;
        *(Word2 *)(to + n - 2) = tail;
    } else if (n)
        *to = *from;
}

void *memcpy(void *restrict data, const void *restrict source, size_t n) {
    char *to = data;
    const char *from = source;
    if (n <= 16) {
        copy_few(to, from, n);
        return data;
    }
    if (n >= MANY_BYTES) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        return data;
    }
    __m128i tail = sixteen(from + n - 16);
    char *end = to + n - 16;
    for (; to < end; to += 16, from += 16)
        put_sixteen(to, sixteen(from));
    put_sixteen(end, tail);
    return data;
}

void *memmove(void *data, const void *source, size_t n) {
    char *to = data;
    const char *from = source;
    if (n <= 16)
        copy_few(to, from, n);
    else if ((uintptr_t)to - (uintptr_t)from >= n) { /* no byte is written before it is read */
        __m128i tail = sixteen(from + n - 16);
        char *end = to + n - 16;
        for (; to < end; to += 16, from += 16)
            put_sixteen(to, sixteen(from));
        put_sixteen(end, tail);
    } else {
        __m128i head = sixteen(from);
        for (size_t at = n; at > 16; at -= 16)
            put_sixteen(to + at - 16, sixteen(from + at - 16));
        put_sixteen(to, head);
    }
    return data;
}

void *memset(void *data, int byte, size_t n) {
    char *to = data;
    uint64_t all = (uint8_t)byte * UINT64_C(0x0101010101010101);
    if (n > 16 && n < MANY_BYTES) {
        __m128i v = _mm_set1_epi64x((long long)all);
        char *end = to + n - 16;
        for (; to < end; to += 16)
            put_sixteen(to, v);
        put_sixteen(end, v);
    } else if (n > 16)
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
    else if (n >= 8) {
        *(Word8 *)to = all;
        *(Word8 *)(to + n - 8) = all;
    } else if (n >= 4) {
        *(Word4 *)to = (uint32_t)all;
        *(Word4 *)(to + n - 4) = (uint32_t)all;
    } else
        for (size_t k = 0; k < n; k++)
            to[k] = (char)byte;
    return data;
}

int memcmp(const void *one, const void *other, size_t n) {
    const unsigned char *a = one, *b = other;
    size_t k = 0;
    for (; k + 16 <= n; k += 16) {
        int equal =
            _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen((const char *)a + k), sixteen((const char *)b + k)));
        if (equal != 0xFFFF) {
            k += (size_t)__builtin_ctz(~(unsigned)equal);
            return a[k] - b[k];
        }
    }
    for (; k < n; k++)
        if (a[k] != b[k])
            return a[k] - b[k];
    return 0;
}

/* The first of two bytes, or the end: aligned reads stay within a page that the text has a byte of. */
static const char *first_of(const char *text, char one, char other) {
    const char *at = (const char *)((uintptr_t)text & ~(uintptr_t)15);
    __m128i v = _mm_set1_epi8(one), w = _mm_set1_epi8(other);
    unsigned before = (unsigned)(text - at), hits;
    for (hits = ~0u << before;; at += 16, hits = ~0u) {
        __m128i bytes = _mm_load_si128((const __m128i *)(const void *)at);
        hits &= (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, v), _mm_cmpeq_epi8(bytes, w)));
        if (hits)
            return at + __builtin_ctz(hits);
    }
}

size_t strlen(const char *text) { return (size_t)(first_of(text, 0, 0) - text); }

size_t strnlen(const char *text, size_t most) {
    size_t n = 0;
    while (n < most && text[n])
        n++;
    return n;
}

char *strchr(const char *text, int byte) {
    const char *at = first_of(text, (char)byte, 0);
    return *at == (char)byte ? (char *)(uintptr_t)at : NULL;
}

char *strrchr(const char *text, int byte) {
    const char *found = NULL;
    do
        if (*text == (char)byte)
            found = text;
    while (*text++);
    return (char *)(uintptr_t)found;
}

void *memchr(const void *data, int byte, size_t n) {
    const char *at = data, *end = at + n;
    __m128i v = _mm_set1_epi8((char)byte);
    for (; (size_t)(end - at) >= 16; at += 16) {
        unsigned hits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(sixteen(at), v));
        if (hits)
            return (char *)(uintptr_t)at + __builtin_ctz(hits);
    }
    for (; at < end; at++)
        if (*at == (char)byte)
            return (char *)(uintptr_t)at;
    return NULL;
}

void *memrchr(const void *data, int byte, size_t n) {
    for (const char *at = (const char *)data + n; at > (const char *)data;)
        if (*--at == (char)byte)
            return (char *)(uintptr_t)at;
    return NULL;
}

void *memmem(const void *data, size_t n, const void *what, size_t size) {
    const char *at = data, *end = at + n;
    if (!size)
        return (char *)(uintptr_t)at;
    for (; (size_t)(end - at) >= size; at++) {
        at = memchr(at, *(const char *)what, (size_t)(end - at) - size + 1);
        if (!at)
            return NULL;
        if (memcmp(at, what, size) == 0)
            return (char *)(uintptr_t)at;
    }
    return NULL;
}

char *strstr(const char *text, const char *what) { return memmem(text, strlen(text), what, strlen(what)); }

int strcmp(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t n) {
    for (; n; n--, a++, b++)
        if (!*a || *a != *b)
            return (unsigned char)*a - (unsigned char)*b;
    return 0;
}

/* How many first bytes of the text are in the set, or are not? */
static size_t span(const char *text, const char *set, int in) {
    unsigned char is_in[256] = {0};
    for (; *set; set++)
        is_in[(unsigned char)*set] = 1;
    size_t n = 0;
    while (text[n] && is_in[(unsigned char)text[n]] == in)
        n++;
    return n;
}
size_t strspn(const char *text, const char *set) { return span(text, set, 1); }
size_t strcspn(const char *text, const char *set) { return span(text, set, 0); }

char *strcpy(char *restrict to, const char *restrict from) { return memcpy(to, from, strlen(from) + 1); }

/* What <ctype.h> looks characters up in, from -128 to 255, in the C locale. */
static unsigned short kinds[384];
static const unsigned short *kinds_of_0;

static unsigned short kind_of(int c) {
    int digit = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    int letter = upper | lower, hex = digit | (c >= 'A' && c <= 'F') | (c >= 'a' && c <= 'f');
    int print = c >= 32 && c < 127, blank = c == ' ' || c == '\t',
        space = c == ' ' || (c >= '\t' && c <= '\r');
    int kind = (upper ? _ISupper : 0) | (lower ? _ISlower : 0) | (letter ? _ISalpha : 0) |
               (digit ? _ISdigit : 0) | (hex ? _ISxdigit : 0) | (space ? _ISspace : 0) |
               (print ? _ISprint : 0) | (blank ? _ISblank : 0) | (print && c != ' ' ? _ISgraph : 0) |
               (print && c != ' ' && !letter && !digit ? _ISpunct : 0) | (letter | digit ? _ISalnum : 0) |
               (c >= 0 && c < 128 && !print ? _IScntrl : 0);
    return (unsigned short)kind;
}

const unsigned short **__ctype_b_loc(void) {
    if (!kinds_of_0) {
        for (int c = 0; c < 128; c++)
            kinds[128 + c] = kind_of(c);
        kinds_of_0 = kinds + 128;
    }
    return &kinds_of_0;
}

/* What _FORTIFY_SOURCE makes of calls: the room is known at compile time, and looked at. */
#define CHECKED(result, name, parameters, bytes, arguments)                                                  \
    result __##name##_chk parameters;                                                                        \
    result __##name##_chk parameters {                                                                       \
        if ((bytes) > room)                                                                                  \
            abort();                                                                                         \
        return name arguments;                                                                               \
    }
CHECKED(void *, memcpy, (void *to, const void *from, size_t n, size_t room), n, (to, from, n))
CHECKED(void *, memmove, (void *to, const void *from, size_t n, size_t room), n, (to, from, n))
CHECKED(void *, memset, (void *to, int byte, size_t n, size_t room), n, (to, byte, n))
CHECKED(char *, strcpy, (char *to, const char *from, size_t room), strlen(from) + 1, (to, from))
