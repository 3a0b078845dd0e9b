/* Special registers: see sregs.h. SPDX-License-Identifier: MIT */
#include "frontend/sregs.h"
#include <stdio.h>
#include <string.h>

static const SregRow rows[] = {
#define VECTOR SREG_VECTOR
#define TYPE(type) TY_##type
#define WAS(bytes) bytes
#define VARIES(by) SREG_VARIES_##by
#define SECTION(text) text
#define VERSION(major, minor) GATE_VERSION(major, minor)
#define TARGET(sm) #sm
#define PTX_SREG(name, spelling, first, count, component, type, was, varies, section, version, target)       \
    {SR_##name, spelling, first, count, component, type, was, varies, section, {version, target}},
#include "frontend/ptx_sregs.def"
};

unsigned sreg_row_count(void) { return sizeof rows / sizeof *rows; }
const SregRow *sreg_row(unsigned n) { return &rows[n]; }

const SregRow *sreg_row_of(const PtxOperand *operand) {
    for (unsigned n = 0; n < sreg_row_count(); n++) {
        const SregRow *row = &rows[n];
        bool among = operand->component >= row->component && operand->component < row->component + row->count;
        if (row->reg == operand->sreg && (row->component == SREG_VECTOR || among))
            return row;
    }
    return &rows[0];
}

static size_t add_text(char *text, size_t size, size_t n, const char *more, size_t length) {
    if (length > size - 1 - n)
        length = size - 1 - n;
    memcpy(text + n, more, length);
    text[n + length] = 0;
    return n + length;
}

void sreg_spell(const SregRow *row, unsigned k, char *text, size_t size) {
    const char *number = strstr(row->spelling, "%u");
    size_t before = number ? (size_t)(number - row->spelling) : strlen(row->spelling);
    size_t n = add_text(text, size, 0, row->spelling, before);
    if (!number)
        return;
    char digits[10], *first = digits + sizeof digits; /* snprintf takes long */
    unsigned left = row->first + k;
    do
        *--first = (char)('0' + left % 10);
    while (left /= 10);
    n = add_text(text, size, n, first, (size_t)(digits + sizeof digits - first));
    add_text(text, size, n, number + 2, strlen(number + 2));
}

bool sreg_named(const char *name, unsigned *n, unsigned *k) {
    char text[64];
    if (name[0] != '%')
        return false;
    for (const SregRow *row = rows; row < rows + sreg_row_count(); row++) {
        if (row->spelling[0] != name[1] || row->spelling[1] != name[2])
            continue; /* of nearly all rows */
        for (*k = 0, *n = (unsigned)(row - rows); *k < row->count; ++*k) {
            sreg_spell(row, *k, text, sizeof text);
            if (strcmp(name + 1, text) == 0)
                return true;
        }
    }
    return false;
}

void sreg_text(const PtxOperand *operand, char *text, size_t size) {
    const SregRow *row = sreg_row_of(operand);
    if (row->component == SREG_VECTOR)
        snprintf(text, size, "%s.%c", row->spelling, "xyzw"[operand->component & 3]);
    else
        sreg_spell(row, operand->component - row->component, text, size);
}

SregVaries sreg_varies(const PtxOperand *operand) {
    return operand->kind == PO_SREG ? sreg_row_of(operand)->varies : SREG_VARIES_LAUNCH;
}
