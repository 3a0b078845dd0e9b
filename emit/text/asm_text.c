/* Statements of assembly text: see asm_text.h. Also the control prefix and the choice of the form.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_text.h"
#include "emit/elf/image.h"
#include "ir/ir.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* (*"BRANCH_TARGETS ...: the one note that is read; all others are comments. */
static bool is_target_note(const char *s, size_t n) {
    static const char word[] = "\"BRANCH_TARGETS";
    size_t i = 2;
    while (i < n && (s[i] == ' ' || s[i] == '\t'))
        i++;
    return n - i >= strlen(word) && memcmp(s + i, word, strlen(word)) == 0;
}

/* From the two characters at *i up to those of `end`, *i on the last of them. */
static void blank_to(char *s, size_t n, size_t *i, const char *end) {
    size_t k = *i;
    s[k] = s[k + 1] = ' ';
    for (k += 2; k < n && !(s[k] == end[0] && k + 1 < n && s[k + 1] == end[1]); k++)
        if (s[k] != '\n')
            s[k] = ' ';
    if (k + 1 < n)
        s[k] = s[k + 1] = ' ';
    *i = k + 1;
}

/* Blank out comments and NULs; line ends become NULs when a line is read. */
static void blank_comments(char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') {
            for (i++; i < n && s[i] != '"' && s[i] != '\n'; i++)
                if (s[i] == '\\' && i + 1 < n && s[i + 1] != '\n')
                    i++;
        } else if (s[i] == '/' && i + 1 < n && s[i + 1] == '/') {
            while (i < n && s[i] != '\n')
                s[i++] = ' ';
        } else if (s[i] == '/' && i + 1 < n && s[i + 1] == '*') {
            blank_to(s, n, &i, "*/");
        } else if (s[i] == '(' && i + 1 < n && s[i + 1] == '*' && !is_target_note(s + i, n - i)) {
            blank_to(s, n, &i, "*)");
        } else if (s[i] == '\0' || s[i] == '\r')
            s[i] = ' ';
    }
}

bool asm_open(AsmText *asm_text, Arena *a, const Source *source, Diags *d) {
    *asm_text = (AsmText){.a = a, .source = source, .d = d};
    if (source->size_bytes >= UINT32_MAX)
        return diag_in(d, source, (SrcLoc){0}, DIAG_E0004, (unsigned long long)source->size_bytes,
                       (unsigned long long)UINT32_MAX);
    asm_text->text = arena_alloc(a, source->size_bytes + 1);
    asm_rewind(asm_text);
    return true;
}

void asm_close(AsmText *text) { str_free(&text->strings); }

void asm_rewind(AsmText *asm_text) {
    memcpy(asm_text->text, asm_text->source->text, asm_text->source->size_bytes);
    asm_text->text[asm_text->source->size_bytes] = 0;
    blank_comments(asm_text->text, asm_text->source->size_bytes);
    asm_text->line = asm_text->p = asm_text->text;
}

bool asm_next_line(AsmText *asm_text) {
    const char *end = asm_text->text + asm_text->source->size_bytes;
    while (asm_text->line < end) {
        char *start = asm_text->text + (asm_text->line - asm_text->text);
        char *stop = memchr(start, '\n', (size_t)(end - start));
        if (!stop)
            stop = asm_text->text + asm_text->source->size_bytes;
        *stop = 0;
        asm_text->line = stop + 1;
        asm_text->p = start;
        if (!asm_at_end(asm_text))
            return true;
    }
    return false;
}

SrcLoc asm_loc(const AsmText *asm_text, const char *p) {
    return (SrcLoc){(uint32_t)(p - asm_text->text) + 1};
}

bool asm_at_end(AsmText *text) {
    while (*text->p == ' ' || *text->p == '\t')
        text->p++;
    return *text->p == 0;
}

bool asm_expect_end(AsmText *text) {
    return asm_at_end(text) ||
           diag_in(text->d, text->source, asm_loc(text, text->p), DIAG_E0350, "the end of the line");
}

bool asm_accept(AsmText *text, char c) {
    if (asm_at_end(text) || *text->p != c)
        return false;
    text->p++;
    return true;
}

const char *asm_word(AsmText *text) {
    asm_at_end(text);
    const char *start = text->p;
    while (isalnum((unsigned char)*text->p) || (*text->p && strchr("_.$@", *text->p)))
        text->p++;
    if (text->p == start)
        return NULL;
    return str_text(&text->strings, str_intern(&text->strings, start, (size_t)(text->p - start)));
}

const char *asm_unknown_target(const AsmText *text, const char *name) {
    return arena_printf(text->a, "%s, there are %s", name ? name : "", isa_target_names);
}

bool asm_number_max(AsmText *text, uint64_t max, uint64_t *out) {
    asm_at_end(text);
    const char *start = text->p;
    bool minus = *text->p == '-';
    const char *digits = text->p + minus;
    unsigned base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
    if (base == 16)
        digits += 2;
    uint64_t v = 0;
    const char *p = digits;
    bool overflow = false;
    for (; isxdigit((unsigned char)*p); p++) {
        unsigned digit = *p <= '9' ? (unsigned)(*p - '0') : (unsigned)((*p | 32) - 'a') + 10;
        if (digit >= base)
            break;
        overflow |= v > (UINT64_MAX - digit) / base;
        v = v * base + digit;
    }
    if (p == digits || isalnum((unsigned char)*p) || *p == '_')
        return diag_in(text->d, text->source, asm_loc(text, start), DIAG_E0350, "a number");
    if (overflow || (!minus && v > max) || (minus && (max != UINT64_MAX || v > (uint64_t)1 << 63)))
        return diag_in(text->d, text->source, asm_loc(text, start), DIAG_E0352, (unsigned long long)max);
    text->p = p;
    *out = minus ? 0 - v : v;
    return true;
}

bool asm_number(AsmText *t, uint64_t *out) { return asm_number_max(t, UINT64_MAX, out); }

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool asm_string(AsmText *asm_text, char **out, size_t *size_bytes) {
    if (!asm_accept(asm_text, '"'))
        return diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, asm_text->p), DIAG_E0350,
                       "a quoted text");
    char *text = arena_alloc(asm_text->a, strlen(asm_text->p) + 1);
    size_t n = 0;
    while (*asm_text->p && *asm_text->p != '"') {
        char c = *asm_text->p++;
        if (c == '\\') {
            char e = *asm_text->p ? *asm_text->p++ : 0;
            if (e == 'n' || e == 't')
                c = e == 'n' ? '\n' : '\t';
            else if (e == '"' || e == '\\')
                c = e;
            else if (e == 'x' && hex_digit(asm_text->p[0]) >= 0 && hex_digit(asm_text->p[1]) >= 0) {
                c = (char)(hex_digit(asm_text->p[0]) << 4 | hex_digit(asm_text->p[1]));
                asm_text->p += 2;
            } else
                return diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, asm_text->p - 1), DIAG_E0350,
                               "\\n, \\t, \\\", \\\\ or \\xHH");
        }
        text[n++] = c;
    }
    if (*asm_text->p != '"')
        return diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, asm_text->p), DIAG_E0350,
                       "a closing quote");
    asm_text->p++;
    *out = text;
    *size_bytes = n;
    return true;
}

bool asm_name(AsmText *asm_text, const char **out) {
    asm_at_end(asm_text);
    const char *start = asm_text->p;
    if (*asm_text->p != '"') {
        *out = asm_word(asm_text);
        return *out || diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, start), DIAG_E0350, "a name");
    }
    char *text;
    size_t n;
    if (!asm_string(asm_text, &text, &n))
        return false;
    if (memchr(text, 0, n))
        return diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, start), DIAG_E0350,
                       "a name without NUL");
    *out = str_text(&asm_text->strings, str_intern(&asm_text->strings, text, n));
    return true;
}

/* ---- control prefix ---- */
void asm_print_control(Control c, char out[ASM_CONTROL_BYTES]) {
    char *p = out;
    *p++ = '[';
    *p++ = 'B';
    for (int i = 0; i < 6; i++)
        *p++ = c.wait_mask >> i & 1 ? (char)('0' + i) : '-';
    memcpy(p, ":R-:W-:-:S00]", 14);
    if (c.read_sb < 6)
        p[2] = (char)('0' + c.read_sb);
    if (c.write_sb < 6)
        p[5] = (char)('0' + c.write_sb);
    if (c.yield)
        p[7] = 'Y';
    p[10] = (char)('0' + c.stall_cycles / 10);
    p[11] = (char)('0' + c.stall_cycles % 10);
}

static bool scoreboard(const char *p, uint8_t *out) {
    if (*p != '-' && (*p < '0' || *p > '5'))
        return false;
    *out = *p == '-' ? 7 : (uint8_t)(*p - '0');
    return true;
}

bool asm_parse_control(const char **text, Control *out) {
    const char *p = *text;
    Control c = CONTROL_DEFAULT;
    if (strlen(p) < 21 || p[0] != '[' || p[1] != 'B')
        return false;
    for (int i = 0; i < 6; i++) {
        if (p[2 + i] == '0' + i)
            c.wait_mask |= (uint8_t)(1 << i);
        else if (p[2 + i] != '-')
            return false;
    }
    p += 8;
    if (memcmp(p, ":R", 2) != 0 || !scoreboard(p + 2, &c.read_sb) || memcmp(p + 3, ":W", 2) != 0 ||
        !scoreboard(p + 5, &c.write_sb) || p[6] != ':' || (p[7] != 'Y' && p[7] != '-') ||
        memcmp(p + 8, ":S", 2) != 0)
        return false;
    c.yield = p[7] == 'Y';
    if (!isdigit((unsigned char)p[10]) || !isdigit((unsigned char)p[11]) || p[12] != ']')
        return false;
    unsigned stall = (unsigned)(p[10] - '0') * 10 + (unsigned)(p[11] - '0');
    if (stall > 15)
        return false;
    c.stall_cycles = (uint8_t)stall;
    *out = c;
    *text = p + 13;
    return true;
}

/* ---- instructions ---- */
/* (*"BRANCH_TARGETS L1,L2"*) behind an indirect branch: labels of its function, into t->targets. */
static bool branch_targets(AsmText *asm_text, const IsaParseOptions *opt) {
    static const char word[] = "BRANCH_TARGETS";
    asm_text->targets.n = 0;
    if (asm_at_end(asm_text) || strncmp(asm_text->p, "(*", 2) != 0)
        return true;
    const char *start = asm_text->p;
    char *text;
    size_t n;
    asm_text->p += 2;
    if (!asm_string(asm_text, &text, &n))
        return false;
    if (asm_at_end(asm_text) || strncmp(asm_text->p, "*)", 2) != 0)
        return diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, asm_text->p), DIAG_E0350,
                       "*) behind the quoted text");
    asm_text->p += 2;
    text[n] = 0;
    if (strlen(text) != n || strncmp(text, word, strlen(word)) != 0)
        return diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, start), DIAG_E0350,
                       "(*\"BRANCH_TARGETS label,label\"*)");
    for (char *save, *name = strtok_r(text + strlen(word), " ,", &save); name;
         name = strtok_r(NULL, " ,", &save)) {
        int64_t value;
        if (!opt || !opt->resolve || !opt->resolve(opt->user, name, strlen(name), &value))
            return diag_in(asm_text->d, asm_text->source, asm_loc(asm_text, start), DIAG_E0355,
                           arena_printf(asm_text->a, "%s", name));
        VEC_ADD(asm_text->a, &asm_text->targets, (uint32_t)value);
    }
    return true;
}

bool asm_parse_instruction(AsmText *text, const Target *target, uint64_t pc_bytes, const IsaParseOptions *opt,
                           MachInst *in) {
    Control c = CONTROL_DEFAULT;
    c.stall_cycles = isa_target_info(target)->stall_without_yield_cycles > 0; /* then there is no 0 */
    asm_at_end(text);
    const char *field = text->p;
    if (*text->p == '[' && text->p[1] == 'B' && !asm_parse_control(&text->p, &c))
        return diag_in(text->d, text->source, asm_loc(text, text->p), DIAG_E0350,
                       "a control field as [B------:R-:W-:-:S01]");
    asm_at_end(text);
    const char *start = text->p, *end = start;
    char error[ISA_ERROR_BYTES] = "";
    if (!isa_parse(target, start, pc_bytes, opt, in, &end, error))
        return diag_in(text->d, text->source,
                       asm_loc(text, end >= start && end <= start + strlen(start) ? end : start), DIAG_E0354,
                       error);
    in->ctrl = c;
    text->p = end;
    if (!isa_control_exists(target, in))
        return diag_in(text->d, text->source, asm_loc(text, field), DIAG_E0354,
                       "without Y the stall count is 1 to 11, with .reuse not 0");
    if (!branch_targets(text, opt))
        return false;
    asm_accept(text, ';');
    return asm_expect_end(text);
}

unsigned asm_call_reloc(AsmText *text, const Target *target, const MachInst *in, const char *start) {
    if (isa_is_absolute(in->optype, in->mods))
        return RELOC_CALL_ABS;
    if (isa_target_info(target)->elf_machine != EM_NV_CUDA)
        return RELOC_CALL_REL;
    diag_in(
        text->d, text->source, asm_loc(text, start), DIAG_E0356,
        "a loader tells the address of a function elsewhere, this instruction takes a distance: CALL.ABS");
    return RELOC_NONE;
}

bool asm_assemble_for(const Source *text, const Target *target, void **image, size_t *size_bytes, Diags *d) {
    Arena arena = {0};
    AsmText t;
    bool good = asm_open(&t, &arena, text, d);
    if (good) {
        bool whole = memmem(text->text, text->size_bytes, ".__elf_", 7) ||
                     memmem(text->text, text->size_bytes, ".section", 8);
        good = whole ? asm_read_file(&t, target, image, size_bytes) : asm_read_short(&t, image, size_bytes);
        asm_close(&t);
    }
    arena_free(&arena);
    return good;
}

bool asm_assemble(const Source *text, void **image, size_t *size_bytes, Diags *d) {
    return asm_assemble_for(text, NULL, image, size_bytes, d);
}
