/* Numbers in texts, both ways, without a C library: see bare.h. What is seldom, and hard to get right to the
 * last bit, is heddle-full's: floating-point numbers that are printed, and those that are not one exact
 * number times or by an exact power of ten. SPDX-License-Identifier: MIT */
#include "tools/bare/bare.h"
#include "tools/cli.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text to number ---- */

static int digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10 : 99;
}

static unsigned long read_number(const char *text, char **end, int base, int *negative, int *too_large) {
    const char *at = text, *first;
    unsigned long value = 0;
    while (isspace((unsigned char)*at))
        at++;
    *negative = *at == '-';
    at += *at == '-' || *at == '+';
    if ((base == 0 || base == 16) && *at == '0' && (at[1] | 32) == 'x' && digit_of(at[2]) < 16) {
        at += 2;
        base = 16;
    } else if (base == 0)
        base = *at == '0' ? 8 : 10;
    for (first = at, *too_large = 0; digit_of(*at) < base; at++)
        if (__builtin_mul_overflow(value, (unsigned long)base, &value) ||
            __builtin_add_overflow(value, (unsigned long)digit_of(*at), &value))
            *too_large = 1;
    if (end)
        *end = (char *)(uintptr_t)(at > first ? at : text);
    return value;
}

unsigned long strtoul(const char *restrict text, char **restrict end, int base) {
    int negative, too_large;
    unsigned long value = read_number(text, end, base, &negative, &too_large);
    if (too_large) {
        errno = ERANGE;
        return ULONG_MAX;
    }
    return negative ? -value : value;
}

long strtol(const char *restrict text, char **restrict end, int base) {
    int negative, too_large;
    unsigned long value = read_number(text, end, base, &negative, &too_large);
    if (too_large || value > (unsigned long)LONG_MAX + (unsigned long)negative) {
        errno = ERANGE;
        return negative ? LONG_MIN : LONG_MAX;
    }
    return negative ? (long)-value : (long)value;
}

double strtod(const char *restrict text, char **restrict end) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { MOST = sizeof tens / sizeof tens[0] - 1 };
    const char *at = text;
    uint64_t value = 0;
    int exponent = 0, digits = 0;
    for (int behind = 0; isdigit((unsigned char)*at) || (*at == '.' && !behind); at++) {
        if (*at == '.') {
            behind = 1;
            continue;
        }
        value = value * 10 + (uint64_t)(*at - '0');
        exponent -= behind;
        if (++digits > 18)
            cli_full_program();
    }
    if (!digits || (*at | 32) == 'x')
        cli_full_program();
    if ((*at | 32) == 'e') {
        char *behind;
        long power = strtol(at + 1, &behind, 10);
        if (behind == at + 1 || isspace((unsigned char)at[1]) || power < -99 || power > 99)
            cli_full_program();
        exponent += (int)power;
        at = behind;
    }
    if (value > UINT64_C(1) << 53 || exponent < -MOST || exponent > MOST)
        cli_full_program();
    if (end)
        *end = (char *)(uintptr_t)at;
    return exponent < 0 ? (double)value / tens[-exponent] : (double)value * tens[exponent];
}

/* Here all are of the C locale. */
double strtod_l(const char *restrict text, char **restrict end, locale_t locale) {
    (void)locale;
    return strtod(text, end);
}
locale_t newlocale(int mask, const char *name, locale_t base) {
    static char c_locale;
    (void)mask;
    (void)base;
    if (strcmp(name, "C") != 0)
        cli_full_program();
    return (locale_t)(void *)&c_locale;
}
void freelocale(locale_t locale) { (void)locale; }

/* Newer headers call these by other names, here and where they are called. */
unsigned long long strtoull(const char *restrict text, char **restrict end, int base) {
    return strtoul(text, end, base);
}
long long strtoll(const char *restrict text, char **restrict end, int base) {
    return strtol(text, end, base);
}

/* ---- number to text ---- */

typedef struct {
    char *at, *end; /* NULL: only counted */
    size_t size_bytes;
} Printed;

static void put(Printed *printed, const char *bytes, size_t n) {
    printed->size_bytes += n;
    size_t room = (size_t)(printed->end - printed->at), fits = n < room ? n : room;
    if (fits) {
        memcpy(printed->at, bytes, fits);
        printed->at += fits;
    }
}

static void pad(Printed *printed, char with, size_t n) {
    while (n--)
        put(printed, &with, 1);
}

typedef struct {
    int left, zeros, other, precision; /* precision -1: none */
    size_t width;
} Form;

static void put_padded(Printed *printed, const Form *form, const char *sign, const char *bytes, size_t n) {
    size_t signs = strlen(sign),
           zeros = form->precision > 0 && (size_t)form->precision > n ? (size_t)form->precision - n : 0;
    size_t all = signs + zeros + n, fill = form->width > all ? form->width - all : 0;
    if (form->zeros && !form->left && form->precision < 0) {
        zeros = fill;
        fill = 0;
    }
    if (!form->left)
        pad(printed, ' ', fill);
    put(printed, sign, signs);
    pad(printed, '0', zeros);
    put(printed, bytes, n);
    if (form->left)
        pad(printed, ' ', fill);
}

static void put_number(Printed *printed, const Form *form, unsigned long value, char kind, int negative) {
    const char *digits = kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned base = (kind | 32) == 'x' ? 16 : 10;
    char text[24], *end = text + sizeof text, *at = end;
    const char *sign = negative ? "-" : form->other && value && base == 16 ? kind == 'X' ? "0X" : "0x" : "";
    for (; value; value /= base)
        *--at = digits[value % base];
    if (at == end && form->precision)
        *--at = '0';
    put_padded(printed, form, sign, at, (size_t)(end - at));
}

/* The flags, the width and the precision behind a '%'. */
static const char *read_form(const char *at, Form *form, va_list *list) {
    *form = (Form){.precision = -1};
    for (;; at++) {
        if (*at == '-')
            form->left = 1;
        else if (*at == '0')
            form->zeros = 1;
        else if (*at == '#')
            form->other = 1;
        else
            break;
    }
    if (*at == '*') {
        int width = va_arg(*list, int);
        form->left |= width < 0;
        form->width = width < 0 ? -(size_t)width : (size_t)width;
        at++;
    } else
        for (; isdigit((unsigned char)*at); at++)
            form->width = form->width * 10 + (size_t)(*at - '0');
    if (*at != '.')
        return at;
    form->precision = 0;
    if (*++at == '*') {
        form->precision = va_arg(*list, int);
        return at + 1;
    }
    for (; isdigit((unsigned char)*at); at++)
        form->precision = form->precision * 10 + (*at - '0');
    return at;
}

static const char *put_one(Printed *printed, const char *at, va_list *list) {
    Form form;
    at = read_form(at, &form, list);
    int is_long = 0;
    for (; *at == 'l' || *at == 'z' || *at == 'j' || *at == 't'; at++)
        is_long = 1;
    switch (*at) {
    case '%': put(printed, "%", 1); break;
    case 'c': {
        char c = (char)va_arg(*list, int);
        put_padded(printed, &(Form){form.left, 0, 0, -1, form.width}, "", &c, 1);
        break;
    }
    case 's': {
        const char *text = va_arg(*list, const char *);
        size_t n = form.precision < 0 ? strlen(text) : strnlen(text, (size_t)form.precision);
        put_padded(printed, &(Form){form.left, 0, 0, -1, form.width}, "", text, n);
        break;
    }
    case 'd':
    case 'i': {
        long value = is_long ? va_arg(*list, long) : va_arg(*list, int);
        put_number(printed, &form, value < 0 ? -(unsigned long)value : (unsigned long)value, 'd', value < 0);
        break;
    }
    case 'u':
    case 'x':
    case 'X': {
        unsigned long value = is_long ? va_arg(*list, unsigned long) : va_arg(*list, unsigned);
        put_number(printed, &form, value, *at, 0);
        break;
    }
    default: cli_full_program(); /* floating point, short numbers, other flags */
    }
    return at + 1;
}

int vsnprintf(char *restrict text, size_t room, const char *restrict format, va_list arguments) {
    Printed printed = {text, room ? text + room - 1 : text, 0};
    va_list list;
    va_copy(list, arguments);
    while (*format) {
        size_t plain = strcspn(format, "%");
        put(&printed, format, plain);
        format += plain;
        if (*format)
            format = put_one(&printed, format + 1, &list);
    }
    va_end(list);
    if (room)
        *printed.at = 0;
    return (int)printed.size_bytes;
}

int snprintf(char *restrict text, size_t room, const char *restrict format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, room, format, list);
    va_end(list);
    return n;
}

int __vsnprintf_chk(char *text, size_t most, int flag, size_t room, const char *format, va_list list);
int __vsnprintf_chk(char *text, size_t most, int flag, size_t room, const char *format, va_list list) {
    (void)flag;
    if (most > room)
        abort();
    return vsnprintf(text, most, format, list);
}
int __snprintf_chk(char *text, size_t most, int flag, size_t room, const char *format, ...);
int __snprintf_chk(char *text, size_t most, int flag, size_t room, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = __vsnprintf_chk(text, most, flag, room, format, list);
    va_end(list);
    return n;
}
