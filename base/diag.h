/* Diagnostics: collecting and printing. Codes, severities and message formats are in diag.def.
 * A Diags has one current Source; a position is a byte offset in it, found as line and column only
 * when printed. At most 20 errors are delivered a run, unless all are asked for; further ones are counted.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_DIAG_H
#define HEDDLE_BASE_DIAG_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that positions refer to. `text` has `size_bytes` bytes and a NUL behind them. For a binary
 * input text is NULL and positions are byte offsets of the file, printed in hex. */
typedef struct {
    const char *name;
    const char *text;
    size_t size_bytes;
} Source;

/* Byte offset in the current source plus 1; 0 is "no position". */
typedef struct {
    uint32_t i;
} SrcLoc;

typedef enum {
#define DIAG(code, severity, text) DIAG_##code,
#define PTX_DIAG(code, severity, section, text) DIAG_##code,
#include "base/diag.def"
#undef DIAG
#undef PTX_DIAG
    DIAG_COUNT
} DiagCode;

typedef enum { SEV_NOTE, SEV_WARNING, SEV_ERROR } Severity;

/* `line`: "file:12:5: error E0104: text\n<source line>\n    ^\n", valid during the call only. */
typedef void DiagSink(void *user, Severity severity, const char *line);

/* What the PTX being read, checked or lowered belongs to: a diagnostic about PTX names all that is not NULL.
 * Whoever goes on to other PTX replaces it; the texts live as long as they stand here. */
typedef struct {
    const char *section;   /* of the PTX ISA document: "9.7.1.1 add" */
    const char *opcode;    /* "add" */
    const char *modifiers; /* behind it, as written: ".rn.f32" */
    const char *reg;       /* the register at fault, else the first of the instruction */
    const char *function;
} DiagPlace;

/* One diagnostic in its parts, for who prints or hands on in another form; valid during the call only. */
typedef struct {
    DiagCode code;
    Severity severity;
    const Source *source;  /* NULL: about no file */
    SrcLoc loc;            /* none, or of the source */
    uint32_t line, column; /* 1-based; 0: no position, or the source is no text */
    const char *text;      /* without position, code and place */
    DiagPlace place;
} DiagRecord;
typedef void DiagRecordFn(void *user, const DiagRecord *record);
/* Another format for the text, with the same arguments; NULL: that of diag.def. `record` has no text yet. */
typedef const char *DiagWordingFn(void *user, DiagCode code, const DiagRecord *record);

typedef struct {
    const Source *source;   /* current source or NULL */
    DiagSink *sink;         /* NULL discards */
    DiagRecordFn *record;   /* told first; NULL: nobody is */
    DiagWordingFn *wording; /* of `record`; NULL: that of diag.def for all */
    void *user;
    uint32_t nerrors, nwarnings;
    uint32_t first_line; /* of the file, that the source's text begins with: a file read in parts; 0 is 1 */
    bool all;            /* deliver every error, however many */
    bool lacking;        /* an error said what an engine or this host lacks: the input may be right */
    DiagPlace place;
} Diags;

#define DIAG_MAX_ERRORS 20

/* Report `code` at `loc` of the current source; the variable arguments fill diag.def's format. Always
 * returns false, so that a caller can `return diag(...)`. */
bool diag(Diags *diags, SrcLoc loc, DiagCode code, ...);
bool diag_in(Diags *diags, const Source *source, SrcLoc loc, DiagCode code, ...);
/* 1-based line and column of a byte offset; columns count bytes. */
void source_position(const Source *source, SrcLoc loc, uint32_t *line, uint32_t *column);
const char *diag_code_name(DiagCode code); /* "E0104" */
/* What diag.def says of a code. */
typedef struct {
    const char *name, *severity, *section /* NULL: not about PTX */, *format;
    const char *help; /* NULL: an internal error */
} DiagInfo;
DiagInfo diag_info(DiagCode code);
/* A sink that prints to the FILE* in `user`. */
void diag_print_sink(void *user, Severity severity, const char *line);
#endif
