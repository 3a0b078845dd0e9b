/* Reading machine IR text, lower half: characters, words, numbers and operands (ir/text.md). Every function
 * leaves the loader behind what it read; after an error the loader stands at the end of the text, so that all
 * loops end. SPDX-License-Identifier: MIT */
#include "ir/load.h"
#include <stdio.h>
#include <string.h>

bool ir_load_error_at(Loader *loader, const char *where, const char *what) {
    if (!loader->failed)
        diag_in(loader->d, loader->src, (SrcLoc){(uint32_t)(where - loader->src->text) + 1}, DIAG_E0600,
                what);
    loader->failed = true;
    loader->at = loader->end; /* every loop below ends here */
    return false;
}

bool ir_load_error(Loader *loader, const char *what) { return ir_load_error_at(loader, loader->at, what); }

/* ---- characters and words ---- */

char ir_load_peek(const Loader *loader) { return loader->at < loader->end ? *loader->at : '\0'; }

void ir_load_skip_blank(Loader *loader) {
    while (loader->at < loader->end && (*loader->at == ' ' || *loader->at == '\t' || *loader->at == '\r'))
        loader->at++;
}

void ir_load_skip_lines(Loader *loader) { /* blanks, line ends and ; comments */
    while (loader->at < loader->end) {
        ir_load_skip_blank(loader);
        if (ir_load_peek(loader) == ';')
            while (loader->at < loader->end && *loader->at != '\n')
                loader->at++;
        if (ir_load_peek(loader) != '\n')
            return;
        loader->at++;
    }
}

bool ir_load_end_line(Loader *loader) {
    ir_load_skip_blank(loader);
    if (ir_load_peek(loader) == ';' || ir_load_peek(loader) == '\n' || loader->at == loader->end) {
        ir_load_skip_lines(loader);
        return !loader->failed;
    }
    return ir_load_error(loader, "end of line expected");
}

bool ir_load_accept(Loader *loader, const char *word) {
    ir_load_skip_blank(loader);
    size_t n = strlen(word);
    if ((size_t)(loader->end - loader->at) < n || memcmp(loader->at, word, n) != 0)
        return false;
    loader->at += n;
    return true;
}

bool ir_load_expect(Loader *p, const char *word) {
    if (ir_load_accept(p, word))
        return true;
    char text[64];
    snprintf(text, sizeof text, "'%s' expected", word);
    return ir_load_error(p, text);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$';
}

/* A whole word, for keywords: "ssa" does not accept "ssab". */
bool ir_load_accept_word(Loader *loader, const char *word) {
    const char *save = loader->at;
    if (ir_load_accept(loader, word) && !is_word(ir_load_peek(loader)))
        return true;
    loader->at = save;
    return false;
}

size_t ir_load_word_size(const Loader *loader) {
    size_t n = 0;
    while (loader->at + n < loader->end && is_word(loader->at[n]))
        n++;
    return n;
}

int ir_load_digit_value(char c, unsigned base) {
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return v < (int)base ? v : -1;
}

uint64_t ir_load_number(Loader *loader, uint64_t max) {
    ir_load_skip_blank(loader);
    const char *start = loader->at;
    unsigned base = 10;
    if (loader->end - loader->at > 2 && loader->at[0] == '0' && loader->at[1] == 'x')
        base = 16, loader->at += 2;
    uint64_t v = 0;
    if (ir_load_digit_value(ir_load_peek(loader), base) < 0) {
        ir_load_error_at(loader, start, "number expected");
        return 0;
    }
    for (int dgt; (dgt = ir_load_digit_value(ir_load_peek(loader), base)) >= 0; loader->at++) {
        if (v > (UINT64_MAX - (uint64_t)dgt) / base) {
            ir_load_error_at(loader, start, "number is too large");
            return 0;
        }
        v = v * base + (uint64_t)dgt;
    }
    if (v > max) {
        ir_load_error_at(loader, start, "number is too large");
        return 0;
    }
    return v;
}

uint32_t ir_load_number32(Loader *p) { return (uint32_t)ir_load_number(p, UINT32_MAX); }

uint64_t ir_load_key_number(Loader *p, const char *key, uint64_t max) {
    return ir_load_expect(p, key) && ir_load_expect(p, "=") ? ir_load_number(p, max) : 0;
}

StrId ir_load_name(Loader *loader) {
    if (!ir_load_expect(loader, "@"))
        return (StrId){0};
    if (ir_load_peek(loader) != '"') {
        size_t n = ir_load_word_size(loader);
        if (n == 0)
            ir_load_error(loader, "name expected");
        StrId id = str_intern(loader->m->strings, loader->at, n);
        loader->at += n;
        return id;
    }
    char text[1024];
    size_t n = 0;
    for (loader->at++;
         loader->at < loader->end && *loader->at != '"' && *loader->at != '\n' && n < sizeof text;
         loader->at++) {
        char c = *loader->at;
        if (c == '\\') {
            int hi = loader->end - loader->at > 2 ? ir_load_digit_value(loader->at[1], 16) : -1,
                lo = hi < 0 ? -1 : ir_load_digit_value(loader->at[2], 16);
            if (lo < 0 || hi * 16 + lo == 0) {
                ir_load_error(loader, "bad escape in a name");
                return (StrId){0};
            }
            c = (char)(hi * 16 + lo);
            loader->at += 2;
        }
        text[n++] = c;
    }
    if (ir_load_peek(loader) != '"')
        ir_load_error(loader, "unterminated or overlong name");
    else
        loader->at++;
    return str_intern(loader->m->strings, text, n);
}

/* ---- operands ---- */

BlockId ir_load_block_id(Loader *loader, unsigned state) {
    ir_load_skip_blank(loader);
    const char *start = loader->at;
    if (!ir_load_expect(loader, "bb"))
        return (BlockId){0};
    uint32_t n = ir_load_number32(loader);
    if (!loader->failed && (n == 0 || n > loader->id_limit))
        ir_load_error_at(loader, start, "block number is 0 or too large");
    if (loader->failed)
        return (BlockId){0};
    while (loader->f->blocks.n <= n)
        VEC_PUSH(loader->f->arena, &loader->f->blocks)->dead = true; /* until it is defined */
    while (loader->block_state.n <= n)
        VEC_PUSH(&loader->m->arena, &loader->block_state);
    if (state == 2 && loader->block_state.at[n] == 2)
        ir_load_error_at(loader, start, "block is defined twice");
    if (loader->block_state.at[n] < state)
        loader->block_state.at[n] = (uint8_t)state;
    return (BlockId){n};
}

static bool value_attributes(Loader *p, Value *value) {
    do {
        if (ir_load_accept(p, "ptx=")) {
            value->ptx_reg = ir_load_number32(p);
            ir_load_expect(p, ".");
            value->component = (uint8_t)ir_load_number(p, 255);
        } else if (ir_load_accept(p, "fixed="))
            value->fixed_reg = (int16_t)ir_load_number(p, 255);
        else if (ir_load_accept(p, "u"))
            value->uniform = true;
        else
            return ir_load_error(p, "value attribute expected");
    } while (ir_load_accept(p, ","));
    return ir_load_expect(p, "}");
}

/* %r12, at a definition with {attributes} */
static ValId value(Loader *loader) {
    ir_load_skip_blank(loader);
    const char *start = loader->at;
    if (!ir_load_expect(loader, "%"))
        return (ValId){0};
    unsigned file = ir_load_accept(loader, "ur")   ? RF_UR
                    : ir_load_accept(loader, "up") ? RF_UP
                    : ir_load_accept(loader, "r")  ? RF_R
                    : ir_load_accept(loader, "p")  ? RF_P
                    : ir_load_accept(loader, "b")  ? RF_B
                                                   : RF_COUNT;
    if (file == RF_COUNT) {
        ir_load_error(loader, "register file expected");
        return (ValId){0};
    }
    uint32_t n = ir_load_number32(loader);
    if (!loader->failed && (n == 0 || n > loader->id_limit))
        ir_load_error_at(loader, start, "value number is 0 or too large");
    if (loader->failed)
        return (ValId){0};
    while (loader->f->values.n <= n)
        ir_value_new(loader->f, RF_R);
    while (loader->value_known.n <= n)
        VEC_PUSH(&loader->m->arena, &loader->value_known);
    Value *v = &loader->f->values.at[n];
    if (loader->value_known.at[n] && v->file != file)
        ir_load_error_at(loader, start, "value has another register file elsewhere");
    loader->value_known.at[n] = 1;
    v->file = (uint8_t)file;
    if (ir_load_peek(loader) == '{' && ir_load_accept(loader, "{"))
        value_attributes(loader, v);
    return (ValId){n};
}

static Operand values(Loader *loader) {
    if (!ir_load_accept(loader, "[")) {
        ValId v = value(loader);
        return loader->failed ? (Operand){0} : ir_val(loader->f, v);
    }
    ValId v[IR_MOST_VECTOR];
    unsigned n = 0;
    bool any = false;
    const char *start = loader->at;
    while (!loader->failed && !ir_load_accept(loader, "]")) {
        if (n == IR_MOST_VECTOR)
            ir_load_error(loader, "a vector has at most 128 values");
        else if (ir_load_accept(loader, "_"))
            v[n++] = (ValId){0};
        else
            v[n++] = value(loader), any = true;
    }
    if (!loader->failed && (n < 2 || !any))
        ir_load_error_at(loader, start, "a vector has at least 2 parts, one of them a value");
    Operand o = loader->failed ? (Operand){0} : ir_vec(loader->f, v, n);
    for (unsigned k = 0; !loader->failed && k < n; k++)
        if (v[k].i && loader->f->values.at[v[k].i].file != o.file)
            ir_load_error_at(loader, start, "vector mixes register files");
    return o;
}

static bool physical(Loader *loader, Operand *o) {
    static const struct {
        const char *name;
        uint8_t file, number;
    } zeros[] = {
        {"RZ", RF_R, REG_RZ}, {"PT", RF_P, REG_PT}, {"URZ", RF_UR, REG_URZ}, {"UPT", RF_UP, REG_UPT}};
    for (unsigned k = 0; k < 4; k++) {
        const char *save = loader->at;
        if (ir_load_accept(loader, zeros[k].name)) {
            if (ir_load_peek(loader) == '.' || !is_word(ir_load_peek(loader))) {
                *o = op_reg(zeros[k].file, zeros[k].number, 1);
                return true;
            }
            loader->at = save;
        }
    }
    const char *save = loader->at;
    RegFile file = ir_load_accept(loader, "UR")   ? RF_UR
                   : ir_load_accept(loader, "UP") ? RF_UP
                   : ir_load_accept(loader, "R")  ? RF_R
                   : ir_load_accept(loader, "P")  ? RF_P
                   : ir_load_accept(loader, "B")  ? RF_B
                                                  : RF_COUNT;
    if (file == RF_COUNT ||
        (ir_load_peek(loader) != '[' && ir_load_digit_value(ir_load_peek(loader), 10) < 0)) {
        loader->at = save;
        return false;
    }
    if (!ir_load_accept(loader, "[")) {
        *o = op_reg(file, (uint32_t)ir_load_number(loader, 255), 1);
        return true;
    }
    uint32_t lo = (uint32_t)ir_load_number(loader, 255),
             hi = ir_load_expect(loader, ":") ? (uint32_t)ir_load_number(loader, 300) : 0;
    if (!loader->failed && (hi <= lo || hi - lo > 3))
        ir_load_error_at(loader, save, "bad register range");
    if (!loader->failed)
        ir_load_expect(loader, "]");
    *o = op_reg(file, lo, hi - lo + 1);
    return true;
}

static Operand load_sreg(Loader *loader) {
    if (ir_load_digit_value(ir_load_peek(loader), 10) >= 0) {
        uint32_t n = ir_load_number32(loader);
        ir_load_expect(loader, "]");
        return (Operand){OPK_SREG, 0, 0, 0, n};
    }
    char text[64];
    size_t n = ir_load_word_size(loader);
    if (n == 0 || n >= sizeof text) {
        ir_load_error(loader, "special register expected");
        return (Operand){0};
    }
    memcpy(text, loader->at, n);
    text[n] = '\0';
    int number_of = isa_sreg_number(loader->m->target, text);
    if (number_of < 0)
        ir_load_error(loader, "the target has no such special register");
    loader->at += loader->failed ? 0 : n;
    ir_load_expect(loader, "]");
    return (Operand){OPK_SREG, 0, 0, 0, (uint32_t)number_of};
}

static Operand symbol(Loader *loader, unsigned kind) {
    StrId id = ir_load_name(loader);
    uint64_t addend = 0;
    ir_load_skip_blank(loader);
    bool negative = ir_load_accept(loader, "-");
    if (ir_load_digit_value(ir_load_peek(loader), 10) >= 0)
        addend = ir_load_number(loader, UINT64_MAX);
    ir_load_expect(loader, ")");
    return loader->failed ? (Operand){0}
                          : ir_sym(loader->f, id, (int64_t)(negative ? 0 - addend : addend), (RelocKind)kind);
}

static Operand load_immediate(Loader *loader) {
    const char *start = loader->at;
    uint64_t v = ir_load_number(loader, UINT64_MAX);
    if (ir_load_accept(loader, "L"))
        return ir_imm64(loader->f, v);
    if (v > UINT32_MAX)
        ir_load_error_at(loader, start, "a 32-bit immediate is too large");
    return op_imm((uint32_t)v);
}

static Operand plain_operand(Loader *loader) {
    Operand o;
    ir_load_skip_blank(loader);
    char c = ir_load_peek(loader);
    if (c == '%' || c == '[')
        return values(loader);
    if (c == '_') {
        loader->at++;
        return (Operand){0};
    }
    if (ir_load_digit_value(c, 10) >= 0)
        return load_immediate(loader);
    if (ir_load_accept(loader, "c[")) {
        uint32_t bank = (uint32_t)ir_load_number(loader, 255);
        ir_load_expect(loader, "]");
        ir_load_expect(loader, "[");
        uint32_t offset = (uint32_t)ir_load_number(loader, 0xffff);
        ir_load_expect(loader, "]");
        return op_cmem(bank, offset);
    }
    if (ir_load_accept(loader, "SR["))
        return load_sreg(loader);
    if (c == 'b' && loader->end - loader->at > 1 && loader->at[1] == 'b')
        return ir_target(ir_load_block_id(loader, 1));
    if (physical(loader, &o))
        return o;
    for (unsigned k = 0; k < RELOC_KIND_COUNT; k++) {
        const char *save = loader->at;
        if (ir_load_accept_word(loader, ir_reloc_names[k]) && ir_load_accept(loader, "("))
            return symbol(loader, k);
        loader->at = save;
    }
    ir_load_error(loader, "operand expected");
    return (Operand){0};
}

Operand ir_load_operand(Loader *p) {
    unsigned mods = ir_load_accept(p, "!") ? OPM_NOT : 0;
    mods |= ir_load_accept(p, "-") ? OPM_NEG : 0u;
    mods |= ir_load_accept(p, "|") ? OPM_ABS : 0u;
    Operand o = plain_operand(p);
    if (mods & OPM_ABS)
        ir_load_expect(p, "|");
    for (unsigned k = 1; k < 4; k++)
        if (ir_load_peek(p) == '.' && ir_load_accept(p, ir_half_names[k]))
            mods |= k << OPM_HALF_SHIFT;
    if (ir_load_peek(p) == '.' && ir_load_accept(p, ".64"))
        mods |= OPM_WIDE64;
    if (ir_load_peek(p) == '.' && ir_load_accept(p, ".reuse"))
        mods |= OPM_REUSE;
    return op_with(o, mods);
}
