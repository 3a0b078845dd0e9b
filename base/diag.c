/* Diagnostics: see diag.h.
 * SPDX-License-Identifier: MIT */
#include "base/diag.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR SEV_ERROR
#define WARNING SEV_WARNING
#define NOTE SEV_NOTE
#define LACK (SEV_ERROR + 1)
static const struct {
    const char *name, *section /* NULL: not about PTX */, *format;
    unsigned severity; /* Severity, or LACK: an error that is not the input's */
} diag_table[] = {
#define DIAG(code, severity, text) {#code, NULL, text, severity},
#define PTX_DIAG(code, severity, section, text) {#code, section, text, severity},
#include "base/diag.def"
#undef DIAG
#undef PTX_DIAG
};
static const char *const diag_help[DIAG_COUNT] = {
#define DIAG(code, severity, text)
#define PTX_DIAG(code, severity, section, text)
#define HELP(code, text) [DIAG_##code] = text,
#include "base/diag.def"
#undef DIAG
#undef PTX_DIAG
};
#undef ERROR
#undef WARNING
#undef NOTE

const char *diag_code_name(DiagCode code) { return diag_table[code].name; }

DiagInfo diag_info(DiagCode code) {
    static const char *const severities[] = {"note", "warning", "error", "error"};
    return (DiagInfo){diag_table[code].name, severities[diag_table[code].severity], diag_table[code].section,
                      diag_table[code].format, diag_help[code]};
}

void source_position(const Source *source, SrcLoc loc, uint32_t *line, uint32_t *column) {
    size_t end = loc.i ? loc.i - 1 : 0, start = 0;
    uint32_t n = 1;
    if (end > source->size_bytes)
        end = source->size_bytes;
    for (const char *next; start < end && (next = memchr(source->text + start, '\n', end - start)); n++)
        start = (size_t)(next + 1 - source->text);
    *line = n;
    *column = (uint32_t)(end - start) + 1;
}

/* "name:line:col: " and, for the caret, the source line and a line of blanks that keeps its tabs. */
static void print_place(FILE *out, const Source *source, SrcLoc loc, uint32_t first_line) {
    if (!source)
        return;
    if (!loc.i)
        fprintf(out, "%s: ", source->name);
    else if (!source->text)
        fprintf(out, "%s:0x%x: ", source->name, loc.i - 1);
    else {
        uint32_t line, column;
        source_position(source, loc, &line, &column);
        fprintf(out, "%s:%u:%u: ", source->name, line + (first_line ? first_line - 1 : 0), column);
    }
}

static void print_caret(FILE *out, const Source *source, SrcLoc loc) {
    if (!source || !loc.i || !source->text)
        return;
    size_t at = loc.i - 1 > source->size_bytes ? source->size_bytes : loc.i - 1;
    size_t lo = at, hi = at;
    while (lo > 0 && source->text[lo - 1] != '\n')
        lo--;
    while (hi < source->size_bytes && source->text[hi] != '\n')
        hi++;
    if (hi - lo > 400) /* a line this long is no help; show what surrounds the position */
        lo = at > lo + 200 ? at - 200 : lo, hi = hi > at + 200 ? at + 200 : hi;
    for (size_t i = lo; i < hi; i++) {
        unsigned char c = (unsigned char)source->text[i];
        fputc(c == '\t' || (c >= 32 && c < 127) ? c : '?', out);
    }
    fputc('\n', out);
    for (size_t i = lo; i < at; i++)
        fputc(source->text[i] == '\t' ? '\t' : ' ', out);
    fputs("^\n", out);
}

/* " (PTX ISA 9.7.1.1 add; register %r1; function k)" */
static void print_ptx_place(FILE *out, const DiagPlace *place, const char *section) {
    fprintf(out, " (PTX ISA %s", place->section ? place->section : section);
    if (place->reg)
        fprintf(out, "; register %s", place->reg);
    if (place->function)
        fprintf(out, "; function %s", place->function);
    fputc(')', out);
}

/* The parts for Diags.record. */
static void give_record(const Diags *diags, const Source *s, SrcLoc loc, DiagCode code, Severity severity,
                        va_list ap) {
    DiagRecord record = {.code = code, .severity = severity, .source = s, .loc = loc, .place = diags->place};
    if (!record.place.section)
        record.place.section = diag_table[code].section;
    if (s && s->text && loc.i)
        source_position(s, loc, &record.line, &record.column);
    record.line += record.line && diags->first_line ? diags->first_line - 1 : 0;
    const char *format = diags->wording ? diags->wording(diags->user, code, &record) : NULL;
    TextStream *stream = text_open();
    vfprintf(stream->out, format ? format : diag_table[code].format, ap);
    char *text = text_close(stream, NULL);
    record.text = text;
    diags->record(diags->user, &record);
    mem_free(text);
}

static bool diag_report(Diags *diags, const Source *s, SrcLoc loc, DiagCode code, va_list ap) {
    bool lack = diag_table[code].severity == LACK;
    Severity sev = lack ? SEV_ERROR : (Severity)diag_table[code].severity;
    diags->lacking |= lack;
    if (sev == SEV_ERROR && diags->nerrors++ >= DIAG_MAX_ERRORS && !diags->all)
        return false;
    if (sev == SEV_WARNING)
        diags->nwarnings++;
    if (diags->record) {
        va_list again;
        va_copy(again, ap);
        give_record(diags, s, loc, code, sev, again);
        va_end(again);
    }
    if (!diags->sink)
        return false;
    TextStream *stream = text_open();
    FILE *out = stream->out;
    static const char *const names[] = {"note", "warning", "error"};
    print_place(out, s, loc, diags->first_line);
    fprintf(out, "%s %s: ", names[sev], diag_table[code].name);
    vfprintf(out, diag_table[code].format, ap);
    if (diag_table[code].section)
        print_ptx_place(out, &diags->place, diag_table[code].section);
    fputc('\n', out);
    print_caret(out, s, loc);
    if (sev == SEV_ERROR && diags->nerrors == DIAG_MAX_ERRORS && !diags->all)
        fprintf(out, "%d errors, no more are shown\n", DIAG_MAX_ERRORS);
    char *text = text_close(stream, NULL);
    diags->sink(diags->user, sev, text);
    mem_free(text);
    return false;
}

bool diag(Diags *diags, SrcLoc loc, DiagCode code, ...) {
    va_list ap;
    va_start(ap, code);
    diag_report(diags, diags->source, loc, code, ap);
    va_end(ap);
    return false;
}

bool diag_in(Diags *d, const Source *source, SrcLoc loc, DiagCode code, ...) {
    va_list ap;
    va_start(ap, code);
    diag_report(d, source, loc, code, ap);
    va_end(ap);
    return false;
}

void diag_print_sink(void *user, Severity severity, const char *line) {
    (void)severity;
    fputs(line, user);
}
