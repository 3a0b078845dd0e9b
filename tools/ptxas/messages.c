/* What heddle-ptxas says, in ptxas's words and order: messages.def has the words. ptxas parses and checks
 * statement by statement and resolves names at the end; so diagnostics are held back, put in the order of
 * their lines, cut at the first after which ptxas would have stopped, and unknown names come behind.
 * SPDX-License-Identifier: MIT */
#include "tools/ptxas/ptxas.h"
#include "frontend/gates.h"
#include <stdio.h>
#include <string.h>

typedef enum { OWN, ERROR, FATAL, MISMATCH, SYMBOL, LATE, AT_END, WHOLE, STOP, SILENT } Class;
typedef struct Message {
    Severity severity;
    Class class;
    const char *file, *text;
    uint32_t line, order;
} Message;

static const struct {
    Class class;
    const char *format;
} rows[DIAG_COUNT] = {
#define PTXAS(code, class, format) [DIAG_##code] = {class, format},
#define PTXAS_WHERE(code, words, class, format)
#include "tools/ptxas/messages.def"
#undef PTXAS
#undef PTXAS_WHERE
};

/* Of one code, by what else its own text says; before `rows`. */
static const struct {
    DiagCode code;
    const char *words;
    Class class;
    const char *format;
} where_rows[] = {
#define PTXAS(code, class, format)
#define PTXAS_WHERE(code, words, class, format) {DIAG_##code, words, class, format},
#include "tools/ptxas/messages.def"
#undef PTXAS
#undef PTXAS_WHERE
};

/* ---- of the command line and of files ---- */

static void print_line(const char *kind, const char *format, va_list ap) {
    fprintf(stderr, "ptxas %-8s: ", kind);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
}

void ptxas_fatal(Messages *messages, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    print_line("fatal", format, ap);
    va_end(ap);
    messages->failed = true;
}

void ptxas_error(Messages *messages, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    print_line("error", format, ap);
    va_end(ap);
    messages->failed = true;
    ptxas_aborted();
}

void ptxas_warning(Messages *messages, const char *format, ...) {
    if (messages->quiet)
        return;
    va_list ap;
    va_start(ap, format);
    print_line(messages->werror ? "error" : "warning", format, ap);
    va_end(ap);
    messages->failed |= messages->werror;
}

void ptxas_info(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    print_line("info", format, ap);
    va_end(ap);
}

void ptxas_aborted(void) { fputs("ptxas fatal   : Ptx assembly aborted due to errors\n", stderr); }

void ptxas_line_warning(Messages *messages, const char *file, uint32_t line, const char *text) {
    if (messages->quiet)
        return;
    fprintf(stderr, "ptxas %s, line %u; %-8s: %s\n", file, line, messages->werror ? "error" : "warning",
            text);
    messages->failed |= messages->werror;
}

/* ---- of the input ---- */

/* "9.0" */
static const char *newest_version(void) {
    static char text[24];
    unsigned major = 1;
    while (ptx_last_minor(major + 1) >= 0)
        major++;
    snprintf(text, sizeof text, "%u.%d", major, ptx_last_minor(major));
    return text;
}

/* The row's format with the word for %o, %v or %f in it, which holds no percent sign. */
static const char *wording(DiagCode code, const DiagRecord *record) {
    static char text[500];
    static const char or_argument[] = "o%.0s";
    const char *format = rows[code].format, *at = format;
    while (at && (at = strchr(at, '%')) && !strchr("ovf", at[1]))
        at++;
    if (!at)
        return format;
    const char *file = record->source ? record->source->name : "", *opcode = record->place.opcode;
    if (!opcode && strncmp(at + 1, or_argument, strlen(or_argument)) == 0) {
        snprintf(text, sizeof text, "%.*s%%s%s", (int)(at - format), format, at + 1 + strlen(or_argument));
        return text;
    }
    const char *word = at[1] == 'v' ? newest_version() : at[1] == 'f' ? file : opcode ? opcode : "";
    snprintf(text, sizeof text, "%.*s%.*s%s", (int)(at - format), format, (int)strcspn(word, "%"), word,
             at + 2);
    return text;
}

static void hold(Messages *messages, Message message) {
    for (uint32_t k = 0; message.class == MISMATCH && k < messages->held.n; k++)
        if (messages->held.at[k]->class == MISMATCH && messages->held.at[k]->line == message.line)
            return;
    Message *kept = ARENA_NEW(messages->arena, Message);
    *kept = message;
    kept->order = messages->held.n;
    VEC_ADD(messages->arena, &messages->held, kept);
}

/* An unknown name is a statement's mismatch first. */
static void hold_statement(Messages *messages, const DiagRecord *record, Message message) {
    const char *opcode = record->place.opcode;
    if (!opcode)
        return;
    message.class = strcmp(opcode, "call") == 0 ? ERROR : MISMATCH;
    message.text =
        message.class == ERROR
            ? arena_printf(messages->arena, "Call to %s requires call prototype", strchr(message.text, '\''))
            : arena_printf(messages->arena, "Arguments mismatch for instruction '%s'", opcode);
    hold(messages, message);
}

static uint32_t last_line(const Source *source) {
    uint32_t line, column;
    source_position(source, (SrcLoc){(uint32_t)source->size_bytes + 1}, &line, &column);
    return line;
}

/* Another row for its own text? */
static void fit_text(Messages *messages, const DiagRecord *record, Message *message) {
    for (unsigned k = 0; k < sizeof where_rows / sizeof *where_rows; k++) {
        if (where_rows[k].code != record->code || !strstr(record->text, where_rows[k].words))
            continue;
        const char *format = where_rows[k].format, *at = strstr(format, "%o");
        message->class = where_rows[k].class;
        message->text = arena_printf(messages->arena, "%.*s%s%s", (int)(at - format), format,
                                     record->place.opcode ? record->place.opcode : "", at + 2);
        return;
    }
}

static void on_record(void *user, const DiagRecord *record) {
    Messages *messages = user;
    Message message = {.severity = record->severity,
                       .class = rows[record->code].class,
                       /* the module that failed, and the name in it, are gone when this is printed */
                       .file = record->source && record->source->name
                                   ? arena_printf(messages->arena, "%s", record->source->name)
                                   : NULL,
                       .text = arena_printf(messages->arena, "%s", record->text),
                       .line = record->line};
    if (message.class == SILENT)
        return;
    if (message.class == OWN)
        fit_text(messages, record, &message);
    if (message.class != OWN)
        message.severity = SEV_ERROR;
    if (message.class == OWN) /* in our words, whatever they are about */
        message.text = arena_printf(messages->arena, "%s (%s)", record->text, diag_code_name(record->code));
    if (message.class == AT_END && record->source && record->source->text)
        message.line = last_line(record->source);
    if (message.class == SYMBOL)
        hold_statement(messages, record, message);
    if (record->code == DIAG_E0119)
        ptxas_warning(
            messages,
            " 64 Bit host architecture (--machine) being used mismatches with .address_size of 32 bits");
    hold(messages, message);
}

Diags ptxas_diags(Messages *messages) {
    return (Diags){.record = on_record, .wording = wording, .user = messages, .all = true};
}

static bool is_whole(const Message *message) { return message->class == WHOLE || message->class == STOP; }

static bool is_last(const Message *message) {
    return message->class == FATAL || message->class == AT_END || is_whole(message);
}

static bool is_late(const Message *message) { return message->class == SYMBOL || message->class == LATE; }

static void print(const Message *message, const Messages *messages) {
    bool error = message->severity == SEV_ERROR || messages->werror;
    const char *kind = message->class == FATAL || message->class == AT_END || message->class == STOP ? "fatal"
                       : message->severity == SEV_NOTE                                               ? "info"
                       : error                                                                       ? "error"
                               : "warning";
    if (message->file && message->line && !is_whole(message))
        fprintf(stderr, "ptxas %s, line %u; %-8s: %s\n", message->file, message->line, kind, message->text);
    else
        fprintf(stderr, "ptxas %-8s: %s\n", kind, message->text);
}

/* Before: late ones last, else by line, else as they came. */
static bool comes_before(const Message *a, const Message *b) {
    if (is_late(a) != is_late(b))
        return is_late(b);
    return a->line != b->line ? a->line < b->line : a->order < b->order;
}

static void sort(Message **at, uint32_t n) {
    for (uint32_t k = 1; k < n; k++) {
        Message *moved = at[k];
        uint32_t to = k;
        for (; to && comes_before(moved, at[to - 1]); to--)
            at[to] = at[to - 1];
        at[to] = moved;
    }
}

bool ptxas_flush(Messages *messages) {
    bool failed = false, alone = false;
    sort(messages->held.at, messages->held.n);
    for (uint32_t k = 0; k < messages->held.n; k++) {
        const Message *message = messages->held.at[k];
        if (message->severity == SEV_WARNING && messages->quiet)
            continue;
        print(message, messages);
        failed |= message->severity == SEV_ERROR || (message->severity == SEV_WARNING && messages->werror);
        alone = is_whole(message);
        if (is_last(message))
            break;
    }
    messages->held.n = 0;
    messages->failed |= failed;
    if (failed && !alone)
        ptxas_aborted();
    return !failed;
}
