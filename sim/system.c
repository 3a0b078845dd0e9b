/* vprintf: conversions of the CUDA C++ Programming Guide ("Formatted Output"), which are C's without %n; the
 * host's printf does each one. Arguments lie in the buffer aligned to their size: 4 bytes for int, 8 for
 * long, long long, double and pointers. A conversion that C does not have is printed as it stands.
 * SPDX-License-Identifier: MIT */
#include "sim/system.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_TEXT_BYTES = 1 << 20, /* of a string in guest memory: one without end is cut */
    MAX_FIELD = 4096          /* width and precision: more is cut, so that a wild number costs little */
};

/* The NUL-terminated text at a generic address, for mem_free; NULL after a fault. */
static char *guest_text(SystemCall *call, uint64_t address, size_t most) {
    TextStream *text = text_open();
    for (size_t i = 0; i < most; i++) {
        char c;
        if (!call->read(call->memory, address + i, &c, 1)) {
            text_drop(text);
            return NULL;
        }
        if (!c)
            break;
        fputc(c, text->out);
    }
    return text_close(text, NULL);
}

typedef struct {
    SystemCall *call;
    TextStream *out;
    uint64_t next; /* address of the next argument */
    uint32_t nargs;
} Printer;

static bool next_argument(Printer *printer, void *value, unsigned bytes) {
    printer->next = (printer->next + bytes - 1) & ~(uint64_t)(bytes - 1);
    printer->nargs++;
    printer->next += bytes;
    return printer->call->read(printer->call->memory, printer->next - bytes, value, bytes);
}

typedef struct {
    char flags[8];
    int width, precision; /* -1: not given */
    unsigned longs, shorts;
    char conversion;
} Spec;

/* A number of the format, or '*' for an argument; false after a fault. */
static bool field(Printer *printer, const char **at, int *value) {
    int32_t v = 0;
    if (**at == '*') {
        ++*at;
        if (!next_argument(printer, &v, 4))
            return false;
    } else {
        for (; **at >= '0' && **at <= '9'; ++*at)
            v = v < MAX_FIELD ? v * 10 + (**at - '0') : v;
    }
    *value = v > MAX_FIELD ? MAX_FIELD : v < -MAX_FIELD ? -MAX_FIELD : v;
    return true;
}

/* What stands behind a '%'; *at moves behind the conversion. */
static bool read_spec(Printer *printer, const char **at, Spec *spec) {
    *spec = (Spec){.width = -1, .precision = -1};
    for (size_t n = strspn(*at, "#0+ -"); n; n--, ++*at)
        if (!strchr(spec->flags, **at)) /* five different ones at most */
            spec->flags[strlen(spec->flags)] = **at;
    bool given = **at == '*' || (**at >= '1' && **at <= '9');
    if (given && !field(printer, at, &spec->width))
        return false;
    if (given && spec->width < 0) { /* as C says of a negative argument */
        spec->width = -spec->width;
        if (!strchr(spec->flags, '-'))
            spec->flags[strlen(spec->flags)] = '-';
    }
    if (**at == '.') {
        ++*at;
        if (!field(printer, at, &spec->precision))
            return false;
    }
    for (; **at == 'l' || **at == 'h'; ++*at)
        **at == 'l' ? spec->longs++ : spec->shorts++;
    spec->conversion = **at;
    *at += **at != 0;
    return true;
}

#define CONVERT(printer, spec, size, value)                                                                  \
    do {                                                                                                     \
        char c_format[64];                                                                                   \
        int at = snprintf(c_format, sizeof c_format, "%%%s", (spec)->flags);                                 \
        if ((spec)->width >= 0)                                                                              \
            at += snprintf(c_format + at, sizeof c_format - (size_t)at, "%d", (spec)->width);                \
        if ((spec)->precision >= 0)                                                                          \
            at += snprintf(c_format + at, sizeof c_format - (size_t)at, ".%d", (spec)->precision);           \
        snprintf(c_format + at, sizeof c_format - (size_t)at, "%s%c", size, (spec)->conversion);             \
        fprintf((printer)->out->out, c_format, value);                                                       \
    } while (0)

_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")

    static bool convert_int(Printer *printer, const Spec *spec) {
    bool is_signed = spec->conversion == 'd' || spec->conversion == 'i';
    uint64_t v = 0;
    if (!next_argument(printer, &v, spec->longs ? 8 : 4))
        return false;
    if (is_signed && !spec->longs)
        v = (uint64_t)(int64_t)(int32_t)(uint32_t)v;
    if (spec->shorts == 1)
        v = is_signed ? (uint64_t)(int64_t)(int16_t)(uint16_t)v : (uint16_t)v;
    else if (spec->shorts)
        v = is_signed ? (uint64_t)(int64_t)(int8_t)(uint8_t)v : (uint8_t)v;
    CONVERT(printer, spec, "ll", (unsigned long long)v);
    return true;
}

static bool convert(Printer *printer, const Spec *spec) {
    switch (spec->conversion) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X': return convert_int(printer, spec);
    case 'c': {
        int32_t v = 0;
        if (!next_argument(printer, &v, 4))
            return false;
        CONVERT(printer, spec, "", v);
        return true;
    }
    case 'p': {
        uint64_t v = 0;
        if (!next_argument(printer, &v, 8))
            return false;
        CONVERT(printer, spec, "", (void *)(uintptr_t)v);
        return true;
    }
    case 's': {
        uint64_t v = 0;
        if (!next_argument(printer, &v, 8))
            return false;
        size_t most = spec->precision >= 0 ? (size_t)spec->precision : MAX_TEXT_BYTES;
        char *text = v ? guest_text(printer->call, v, most) : mem_text("(null)");
        if (!text)
            return false;
        CONVERT(printer, spec, "", text);
        mem_free(text);
        return true;
    }
    default: { /* a E e f F g G: strchr in vprintf let nothing else through */
        double v = 0;
        if (!next_argument(printer, &v, 8))
            return false;
        CONVERT(printer, spec, "", v);
        return true;
    }
    }
}
_Pragma("GCC diagnostic pop")

    static bool print_format(Printer *printer, const char *format) {
    while (*format) {
        const char *from = format;
        if (*format++ != '%') {
            fputc(*from, printer->out->out);
            continue;
        }
        Spec spec;
        if (!read_spec(printer, &format, &spec))
            return false;
        if (spec.conversion == '%')
            fputc('%', printer->out->out);
        else if (!spec.conversion || !strchr("diouxXcpsaAeEfFgG", spec.conversion))
            fwrite(from, 1, (size_t)(format - from), printer->out->out);
        else if (!convert(printer, &spec))
            return false;
    }
    return true;
}

static SystemEnd system_vprintf(SystemCall *call) {
    if (!call->params[0]) {
        call->result = (uint32_t)-1;
        return SYSTEM_RETURNS;
    }
    char *format = guest_text(call, call->params[0], MAX_TEXT_BYTES);
    if (!format)
        return SYSTEM_FAULT;
    Printer printer = {.call = call, .out = text_open(), .next = call->params[1]};
    bool ok = print_format(&printer, format);
    size_t bytes;
    char *text = text_close(printer.out, &bytes);
    if (ok && call->print) {
        SimPrint print = {.text = text, .bytes = bytes};
        memcpy(print.block, call->block, sizeof print.block);
        memcpy(print.thread, call->thread, sizeof print.thread);
        call->print(call->print_user, &print);
    }
    mem_free(text);
    mem_free(format);
    call->result = printer.nargs;
    return ok ? SYSTEM_RETURNS : SYSTEM_FAULT;
}

static SystemEnd system_assertfail(SystemCall *call) {
    enum { SHOWN = 120 };
    char *expression = call->params[0] ? guest_text(call, call->params[0], SHOWN) : mem_text("?");
    char *file = expression && call->params[1] ? guest_text(call, call->params[1], SHOWN) : mem_text("?");
    char *function = file && call->params[3] ? guest_text(call, call->params[3], SHOWN) : mem_text("?");
    bool ok = expression && file && function;
    if (ok)
        snprintf(call->failed, sizeof call->failed, "%s:%" PRIu32 ": %s: Assertion `%s` failed", file,
                 (uint32_t)call->params[2], function, expression);
    mem_free(expression);
    mem_free(file);
    mem_free(function);
    return ok ? SYSTEM_ASSERTION : SYSTEM_FAULT;
}

SystemEnd sim_system_call(SystemCall *call) {
    switch (call->func) {
    case SYSTEM_VPRINTF: return system_vprintf(call);
    case SYSTEM_MALLOC: call->result = simmem_malloc(call->heap, call->params[0]); return SYSTEM_RETURNS;
    case SYSTEM_FREE:
        return !call->params[0] || simmem_heap_free(call->heap, call->params[0]) ? SYSTEM_RETURNS
                                                                                 : SYSTEM_BAD_FREE;
    case SYSTEM_ASSERTFAIL: return system_assertfail(call);
    default: return SYSTEM_FAULT;
    }
}
