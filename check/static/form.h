/* The form of a file, as its parts share it: check/static/form.c.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_FORM_H
#define HEDDLE_CHECK_STATIC_FORM_H
#include "check/static/internal.h"
#include "emit/elf/image.h"

typedef struct {
    Checker *checker;
    const ElfImage *image;
    const Binary *binary;
    uint32_t symbols; /* the section */
} FileForm;

typedef struct {
    const char *name;
    uint32_t section;
    uint8_t info, other;
    uint64_t value, size_bytes;
} FormSymbol;

/* At the function that a section belongs to, by its name; what belongs to none (NULL) concerns all. */
void check_form_differs(FileForm *file, const char *func, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

uint32_t check_form_symbols(const FileForm *file);
/* Of a number beyond the table: one that is nothing. */
FormSymbol check_form_symbol(const FileForm *file, uint32_t index);
const char *check_form_section_name(const FileForm *file, uint32_t index); /* "" */
/* The function whose code is in a section; "" */
const char *check_form_code_name(const FileForm *file, uint32_t section);
/* The function that a symbol is the beginning of, not a place inside; "" */
const char *check_form_named_function(const FileForm *file, const FormSymbol *symbol);

void check_form_records(FileForm *file);     /* attributes */
void check_form_relocations(FileForm *file); /* and what they find where they apply */
#endif
