/* What heddle-ptxas says, in ptxas's words (words.c) and order. ptxas parses and checks
 * statement by statement and resolves names at the end; so diagnostics are held back, put in the order of
 * their lines, cut at the first after which ptxas would have stopped, and unknown names come behind.
 * SPDX-License-Identifier: MIT */
#include "tools/ptxas/ptxas.h"
#include "tools/ptxas/words.h"
#include <stdio.h>
#include <string.h>

typedef struct Message {
    Severity severity;
    MessageClass class;
    const char *file, *text;
    uint32_t line, order;
} Message;

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

void ptxas_line_error(Messages *messages, const char *file, uint32_t line, const char *text) {
    fprintf(stderr, "ptxas %s, line %u; error   : %s\n", file, line, text);
    messages->failed = true;
}

void ptxas_whole_error(Messages *messages, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    print_line("error", format, ap);
    va_end(ap);
    messages->failed = true;
}

/* ---- of the input ---- */

static void hold(Messages *messages, Message message) {
    for (uint32_t k = 0; message.class == MSG_MISMATCH && k < messages->held.n; k++)
        if (messages->held.at[k]->class == MSG_MISMATCH && messages->held.at[k]->line == message.line)
            return;
    Message *kept = ARENA_NEW(messages->arena, Message);
    *kept = message;
    kept->order = messages->held.n;
    VEC_ADD(messages->arena, &messages->held, kept);
}

/* The characters before what the record is about, without spaces: what a name stands in. */
static char before(const DiagRecord *record, const char *passed_over) {
    const Source *source = record->source;
    if (!source || !source->text || !record->loc.i || record->loc.i > source->size_bytes)
        return 0;
    const char *at = source->text + record->loc.i - 1;
    if (*at == '[')
        return *at;
    while (at > source->text && strchr(passed_over, at[-1]))
        at--;
    return at > source->text ? at[-1] : 0;
}

/* An unknown name is a statement's mismatch first. */
static void hold_statement(Messages *messages, const DiagRecord *record, const char *text, Message message) {
    const char *opcode = ptxas_opcode(messages->arena, &record->place);
    bool guard = before(record, "! ") == '@';
    if (!opcode && !guard)
        return;
    bool call = opcode && strcmp(opcode, "call") == 0, address = before(record, " ") == '[';
    bool texture = opcode && (strncmp(opcode, "tex", 3) == 0 || strncmp(opcode, "tld4", 4) == 0 ||
                              strncmp(opcode, "su", 2) == 0 || strncmp(opcode, "txq", 3) == 0);
    message.class = call || guard || (address && !texture) ? MSG_ERROR : MSG_MISMATCH;
    message.text =
        guard  ? "Predicate expression expected"
        : call ? arena_printf(messages->arena, "Call to %s requires call prototype", strchr(text, '\''))
        : message.class == MSG_ERROR
            ? arena_printf(messages->arena, "Illegal operand type to instruction '%s'", opcode)
            : arena_printf(messages->arena, "Arguments mismatch for instruction '%s'", opcode);
    hold(messages, message);
}

/* Does the name stand behind the `=` of a variable's initial value? */
static bool in_initialiser(const DiagRecord *record) {
    const Source *source = record->source;
    if (record->place.opcode || !source || !source->text || !record->loc.i)
        return false;
    const char *at = source->text + record->loc.i - 1;
    while (at > source->text && !strchr(";=", at[-1]))
        at--;
    return at > source->text && at[-1] == '=';
}

/* Of a module that begins with .target, ptxas has read that statement, and the word behind it. */
static uint32_t line_behind_target(const DiagRecord *record) {
    const char *at = record->source && record->source->text ? record->source->text + record->loc.i - 1 : "";
    if (!record->loc.i || strncmp(at, ".target", 7) != 0)
        return record->line;
    at += 7;
    for (bool more = true; more;) {
        at += strspn(at, " \t\r\n");
        at += strcspn(at, " \t\r\n,");
        const char *next = at + strspn(at, " \t\r\n");
        more = *next == ',';
        at = next + more;
    }
    uint32_t line, column;
    source_position(record->source, (SrcLoc){(uint32_t)(at - record->source->text) + 1}, &line, &column);
    return line;
}

/* Of a statement that takes several lines, as calls do, the first. */
static uint32_t line_of_statement(const DiagRecord *record) {
    const char *text = record->source ? record->source->text : NULL;
    if (!text || !record->loc.i)
        return record->line;
    const char *at = text + record->loc.i - 1;
    while (at > text && !strchr(";{}", at[-1]))
        at--;
    at += strspn(at, " \t\r\n");
    uint32_t line, column;
    source_position(record->source, (SrcLoc){(uint32_t)(at - text) + 1}, &line, &column);
    return line;
}

/* Where the three numbers of a directive end, or what stands behind fewer: only that says that no more come.
 */
static uint32_t line_of_list_end(const DiagRecord *record) {
    const char *text = record->source ? record->source->text : NULL;
    if (!text || !record->loc.i)
        return record->line;
    const char *at = text + record->loc.i - 1;
    while (at > text && at[-1] != '.' && at[-1] != '\n') /* of the directive's name, or a number behind it */
        at--;
    at += strcspn(at, " \t\r\n");
    unsigned numbers = 0;
    for (bool more = true; more && numbers < 3; numbers++) {
        at += strspn(at, " \t\r\n");
        at += strcspn(at, " \t\r\n,.{;");
        const char *next = at + strspn(at, " \t\r\n");
        more = *next == ',';
        if (more)
            at = next + 1;
        else if (numbers < 2)
            at = next;
    }
    uint32_t line, column;
    source_position(record->source, (SrcLoc){(uint32_t)(at - text) + 1}, &line, &column);
    return line;
}

static uint32_t last_line(const Source *source) {
    uint32_t line, column;
    source_position(source, (SrcLoc){(uint32_t)source->size_bytes + 1}, &line, &column);
    return line;
}

/* Comments and strings may have braces. */
uint32_t ptxas_body_end(const Source *source, SrcLoc loc) {
    const char *at = source->text + loc.i - 1;
    unsigned depth = 0;
    for (; *at; at++) {
        if (at[0] == '/' && at[1] == '/')
            at += strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            at = strstr(at, "*/") ? strstr(at, "*/") + 1 : at;
        else if (at[0] == '"')
            at += 1 + strcspn(at + 1, "\"");
        depth += *at == '{';
        if (*at == '}' && --depth == 0)
            break;
        if (!*at)
            break;
    }
    uint32_t line, column;
    source_position(source, (SrcLoc){(uint32_t)(at - source->text) + 1}, &line, &column);
    return line;
}

static void on_record(void *user, const DiagRecord *record) {
    Messages *messages = user;
    PtxasWords words = ptxas_words(messages->arena, record);
    Message message = {.severity = words.class == MSG_OWN ? record->severity : SEV_ERROR,
                       .class = words.class,
                       /* the module that failed, and the name in it, are gone when this is printed */
                       .file = record->source && record->source->name
                                   ? arena_printf(messages->arena, "%s", record->source->name)
                                   : NULL,
                       .line = record->line};
    if (message.class == MSG_SILENT)
        return;
    if (message.class == MSG_BOUNDED) {
        VEC_ADD(messages->arena, &messages->bounded,
                ((Bounded){arena_printf(messages->arena, "%s", record->place.function), words.text}));
        return;
    }
    if (message.class == MSG_AT_END && record->source && record->source->text)
        message.line = last_line(record->source);
    if (message.class == MSG_LIST_END)
        message.line = line_of_list_end(record);
    if (message.class == MSG_BODY_END)
        message.line = ptxas_body_end(record->source, record->loc);
    if (message.class == MSG_SYMBOL && in_initialiser(record)) {
        message.class = MSG_FATAL;
        words.text =
            arena_printf(messages->arena, "Invalid initial value symbol %s", strchr(words.text, '\''));
    }
    if (message.class == MSG_SYMBOL)
        hold_statement(messages, record, words.text, message);
    if (record->code == DIAG_E0128)
        message.line = line_of_statement(record);
    if (record->code == DIAG_E0117)
        message.line = line_behind_target(record);
    if (record->code == DIAG_E0119 && message.class == MSG_STOP) {
        ptxas_warning(
            messages,
            " 64 Bit host architecture (--machine) being used mismatches with .address_size of 32 bits");
        words.text = ptxas_no_32_bits(messages->arch ? messages->arch : "");
    }
    for (const char *at = words.text, *end; at; at = end) {
        end = strchr(at, '\n');
        message.text = arena_printf(messages->arena, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
        hold(messages, message);
        if (end)
            end++;
    }
}

static const char *wording(void *user, DiagCode code, const DiagRecord *record) {
    return ptxas_format(((const Messages *)user)->arena, code, record);
}

Diags ptxas_diags(Messages *messages) {
    return (Diags){.record = on_record, .wording = wording, .user = messages, .all = true};
}

static bool is_whole(const Message *message) {
    return message->class == MSG_WHOLE || message->class == MSG_STOP;
}

static bool has_line(const Message *message) { return message->file && message->line && !is_whole(message); }

static bool is_last(const Message *message) {
    return message->class == MSG_FATAL || message->class == MSG_AT_END || is_whole(message);
}

static bool is_late(const Message *message) {
    return message->class == MSG_SYMBOL || message->class == MSG_LATE;
}

static void print(const Message *message, const Messages *messages) {
    bool error = message->severity == SEV_ERROR || messages->werror;
    const char *kind =
        message->class == MSG_FATAL || message->class == MSG_AT_END || message->class == MSG_STOP ? "fatal"
        : message->severity == SEV_NOTE                                                           ? "info"
        : error                                                                                   ? "error"
                                                                                                  : "warning";
    if (has_line(message))
        fprintf(stderr, "ptxas %s, line %u; %-8s: %s\n", message->file, message->line, kind, message->text);
    else
        fprintf(stderr, "ptxas %-8s: %s\n", kind, message->text);
}

/* Before: late ones last, else by line, else what is known at the body's end last, else as they came. */
static bool comes_before(const Message *a, const Message *b) {
    if (is_late(a) != is_late(b))
        return is_late(b);
    if (a->line != b->line)
        return a->line < b->line;
    bool a_ends = a->class == MSG_BODY_END, b_ends = b->class == MSG_BODY_END;
    return a_ends != b_ends ? b_ends : a->order < b->order;
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
