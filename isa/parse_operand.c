/* Numbers, expressions, registers, constants, immediates, addresses and modifiers of assembly text.
 * SPDX-License-Identifier: MIT */
#include "isa/parse.h"
#include <math.h>
#include <stdlib.h>

/* A failure: remember the one that got farthest, for the message. */
const char *isa_parse_miss(Parse *parse, const char *at, const char *why) {
    if (!parse->far || at >= parse->far) {
        parse->far = at;
        parse->why = why;
    }
    return NULL;
}

/* ---- numbers and expressions ---- */

static const char *expression(Parse *parse, const char *s, int64_t *v, unsigned depth);

static const char *symbol(Parse *parse, const char *s, int64_t *v) {
    const char *e = s;
    while (isa_parse_is_word_char((unsigned char)*e) || *e == '.')
        e++;
    if (e == s)
        return isa_parse_miss(parse, s, "expected a number or a symbol");
    if (e - s == 1 && *s == '.') {
        *v = (int64_t)parse->pc;
        return e;
    }
    if (parse->opt && parse->opt->resolve && parse->opt->resolve(parse->opt->user, s, (size_t)(e - s), v))
        return e;
    parse->unknown_symbol = true;
    return isa_parse_miss(parse, s, "unknown symbol");
}

static const char *term(Parse *p, const char *s, int64_t *v, unsigned depth) {
    s = isa_parse_blanks(s);
    if (*s == '`')
        s++;
    if (*s == '(') {
        s = expression(p, s + 1, v, depth + 1);
        if (!s)
            return NULL;
        s = isa_parse_blanks(s);
        return *s == ')' ? s + 1 : isa_parse_miss(p, s, "expected ')'");
    }
    if (isdigit((unsigned char)*s)) {
        char *e;
        *v = (int64_t)strtoull(s, &e, 0);
        return isa_parse_ends_word(e) ? e : isa_parse_miss(p, s, "malformed number");
    }
    return symbol(p, s, v);
}

static const char *expression(Parse *p, const char *s, int64_t *v, unsigned depth) {
    if (depth > 20)
        return isa_parse_miss(p, s, "expression nested too deeply");
    uint64_t sum = 0;
    bool minus = false, first = true;
    for (;;) {
        int64_t x = 0;
        s = isa_parse_blanks(s);
        while (first && (*s == '-' || *s == '+')) {
            minus ^= *s == '-';
            s = isa_parse_blanks(s + 1);
        }
        if (!(s = term(p, s, &x, depth)))
            return NULL;
        sum = minus ? sum - (uint64_t)x : sum + (uint64_t)x;
        first = false;
        const char *q = isa_parse_blanks(s);
        if (depth == 0 || (*q != '+' && *q != '-')) {
            *v = (int64_t)sum;
            return s;
        }
        minus = *q == '-';
        s = isa_parse_blanks(q + 1);
        while (*s == '-' || *s == '+') {
            minus ^= *s == '-';
            s = isa_parse_blanks(s + 1);
        }
    }
}

/* A number as an operand: signed literal, or `(...) */
const char *isa_parse_number(Parse *p, const char *s, int64_t *v) {
    return expression(p, isa_parse_blanks(s), v, 0);
}

typedef enum { NAN_NONE, NAN_QUIET, NAN_SIGNALLING } NanKind;

static const char *nan_or_inf(const char *s, double *v, NanKind *nan) {
    static const char *const names[] = {[NAN_NONE] = "INF", [NAN_QUIET] = "QNAN", [NAN_SIGNALLING] = "SNAN"};
    bool neg = *s == '-';
    const char *q = *s == '+' || *s == '-' ? s + 1 : s;
    for (unsigned i = 0; i < 3; i++) {
        size_t n = strlen(names[i]);
        if (!strncmp(q, names[i], n) && isa_parse_ends_word(q + n)) {
            *nan = (NanKind)i;
            *v = neg ? -(double)INFINITY : (double)INFINITY;
            return q + n;
        }
    }
    return NULL;
}

static uint32_t half_bits(double v, bool bf16) {
    float f = (float)v;
    uint32_t b;
    memcpy(&b, &f, 4);
    if (bf16)
        return (b + 0x7fff + (b >> 16 & 1)) >> 16;
    uint32_t sign = b >> 16 & 0x8000;
    double a = fabs(v);
    if (isinf(a) || a >= 65520)
        return sign | 0x7c00;
    int e;
    double m = frexp(a, &e); /* a = m * 2^e, 0.5 <= m < 1 */
    if (a == 0)
        return sign;
    if (e < -13)
        return sign | (uint32_t)nearbyint(ldexp(a, 24));
    return (sign | (uint32_t)(e + 13) << 10) + (uint32_t)nearbyint(ldexp(m, 11));
}

static uint32_t float_bits(unsigned type, double v, NanKind nan, bool bf16) {
    uint32_t sign = signbit(v) ? 0x80000000u : 0;
    float f = (float)v;
    uint32_t b;
    uint64_t d;
    switch (type) {
    case VT_F32: memcpy(&b, &f, 4); return nan ? sign | (nan == NAN_QUIET ? 0x7fc00000 : 0x7f800001) : b;
    case VT_F64:
        memcpy(&d, &v, 8);
        return nan ? sign | (nan == NAN_QUIET ? 0x7ff80000 : 0x7ff00001) : (uint32_t)(d >> 32);
    default:
        if (!nan)
            return half_bits(v, bf16);
        return sign >> 16 | (bf16 ? 0x7f80u : 0x7c00u) | (nan != NAN_QUIET ? 1 : bf16 ? 0x40u : 0x200u);
    }
}

static bool mod_is_set(const Parse *parse, const MachInst *in, const char *name) {
    int mod = isa_mod_find(parse->r, name);
    return mod >= 0 && isa_mod_get(parse->r, (unsigned)mod, in->mods) != 0;
}

/* 0F3f800000, as in PTX: `digits` hexadecimal digits of a float's bits. NULL if it is none. */
static const char *float_by_bits(const char *s, unsigned digits, uint32_t *bits) {
    char *end;
    if (s[0] != '0' || (s[1] != 'F' && s[1] != 'f') || !isxdigit((unsigned char)s[2]))
        return NULL;
    unsigned long v = strtoul(s + 2, &end, 16);
    if (end - s != 2 + (long)digits || !isa_parse_ends_word(end))
        return NULL;
    *bits = (uint32_t)v;
    return end;
}

/* The bits behind a NaN's name, (0x7fffffff), in place of those of the name alone, of whose sign and kind
 * they must be. NULL if there are none, or of something else: *miss is where then. */
static const char *nan_bits(const char *s, unsigned type, bool bf16, uint32_t *bits, const char **miss) {
    uint32_t sign = type == VT_H2 ? 0x8000 : 0x80000000;
    uint32_t kind = sign | float_bits(type, (double)INFINITY, NAN_QUIET, bf16);
    char *end;
    if (*s != '(')
        return NULL;
    *miss = s + 1;
    if (strncmp(s, "(0x", 3) != 0 || !isxdigit((unsigned char)s[3]))
        return NULL;
    uint64_t given = strtoull(s + 1, &end, 16);
    bool infinite = given == (*bits & kind) && given != *bits;
    if (*end != ')' || given > 2ull * sign - 1 || ((given ^ *bits) & kind) || infinite)
        return NULL;
    *bits = (uint32_t)given;
    *miss = NULL;
    return end + 1;
}

/* Decimal, INF, QNAN and SNAN with their bits or without, or the raw bits in hexadecimal. */
static const char *one_float(Parse *p, const char *s, unsigned type, bool bf16, uint32_t *bits) {
    double v;
    NanKind nan = NAN_NONE;
    s = isa_parse_blanks(s);
    const char *e = nan_or_inf(s, &v, &nan), *behind, *miss = NULL;
    if (nan) {
        *bits = float_bits(type, v, nan, bf16);
        behind = nan_bits(e, type, bf16, bits, &miss);
        return miss ? isa_parse_miss(p, miss, "expected the bits of such a NaN") : behind ? behind : e;
    }
    if (!e) {
        char *end;
        const char *q = *s == '-' || *s == '+' ? s + 1 : s;
        if (!isdigit((unsigned char)*q))
            return isa_parse_miss(p, s, "expected a number");
        behind = q == s ? float_by_bits(s, type == VT_H2 ? 4 : 8, bits) : NULL;
        if (behind)
            return behind;
        if (q[0] == '0' && (q[1] == 'x' || q[1] == 'X')) {
            *bits = (uint32_t)strtoul(s, &end, 16);
            return end;
        }
        v = strtod(s, &end);
        e = end;
    }
    *bits = float_bits(type, v, nan, bf16);
    return e;
}

/* ---- operands ---- */

typedef struct {
    const char *prefix, *zero;
    RegFile file;
} FileName;
static const FileName file_names[] = {
    {"UR", "URZ", RF_UR}, {"UP", "UPT", RF_UP}, {"R", "RZ", RF_R}, {"P", "PT", RF_P}, {"B", NULL, RF_B}};

/* R12, RZ, R[8:9], UP3 ... */
const char *isa_parse_reg(Parse *p, const char *s, RegFile file, uint32_t *number_out) {
    for (unsigned i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        const FileName *name = &file_names[i];
        if (name->file != file)
            continue;
        size_t n = name->zero ? strlen(name->zero) : 0;
        if (n && !strncmp(s, name->zero, n) && isa_parse_ends_word(s + n)) {
            *number_out = isa_file_zero(file);
            return s + n;
        }
        n = strlen(name->prefix);
        if (strncmp(s, name->prefix, n))
            break;
        const char *d = s + n;
        bool pair = *d == '[';
        d += pair;
        if (!isdigit((unsigned char)*d))
            break;
        char *e;
        unsigned long v = strtoul(d, &e, 10), last;
        if (pair) {
            if (*e != ':' || !isdigit((unsigned char)e[1]))
                break;
            last = strtoul(e + 1, &e, 10);
            if (*e != ']' || last <= v || last - v > 3)
                return isa_parse_miss(p, s, "malformed register range");
            e++;
        }
        if (!isa_parse_ends_word(e) || v >= isa_file_zero(file))
            return isa_parse_miss(p, s, "no such register");
        *number_out = (uint32_t)v;
        return e;
    }
    return isa_parse_miss(p, s, "expected a register");
}

static const char *half_suffix(const char *s, uint8_t *mods) {
    static const char *const text[] = {".F32", ".H0_H0", ".H1_H1"};
    for (unsigned i = 0; i < 3; i++) {
        const char *e = isa_parse_suffix(s, text[i]);
        if (e) {
            *mods = (uint8_t)(*mods | (i + 1) << OPM_HALF_SHIFT);
            return e;
        }
    }
    return s;
}

static const char *reuse_suffix(const char *s, Operand *operand) {
    const char *e = isa_parse_suffix(s, ".reuse");
    if (e)
        operand->mods |= OPM_REUSE;
    return e ? e : s;
}

/* c[0x0][0x160]; the register in the index of LDC is parsed by the caller of `inner`. */
static const char *cmem_head(Parse *p, const char *s, int64_t *bank) {
    if (s[0] != 'c' || s[1] != '[')
        return isa_parse_miss(p, s, "expected c[bank][offset]");
    if (!(s = isa_parse_number(p, s + 2, bank)))
        return NULL;
    s = isa_parse_blanks(s);
    if (*s != ']')
        return isa_parse_miss(p, s, "expected ']'");
    s = isa_parse_blanks(s + 1);
    return *s == '[' ? s + 1 : isa_parse_miss(p, s, "expected '['");
}

static const char *cmem_tail(Parse *p, const char *s, int64_t bank, int64_t off, const IsaField *field,
                             Operand *operand) {
    bool wide = isa_has_long_offset(field);
    s = isa_parse_blanks(s);
    if (*s != ']')
        return isa_parse_miss(p, s, "expected ']'");
    if (bank < 0 || bank > 63 || off < (wide ? -0x10000 : -0x8000) || off > 0xffff)
        return isa_parse_miss(p, s, "constant out of range");
    uint8_t mods = operand->mods;
    *operand = op_cmem((unsigned)bank, (uint32_t)off & 0xffff);
    operand->value |= wide && off < 0 ? OP_CMEM_BELOW : 0;
    operand->mods = mods;
    return s + 1;
}

static const char *cmem(Parse *p, const char *s, const IsaField *field, Operand *o) {
    int64_t bank, off;
    if (!(s = cmem_head(p, s, &bank)) || !(s = isa_parse_number(p, s, &off)))
        return NULL;
    return cmem_tail(p, s, bank, off, field, o);
}

static const char *sreg(Parse *parse, const char *s, Operand *o) {
    const char *e = s;
    while (isa_parse_is_word_char((unsigned char)*e) || *e == '.')
        e++;
    for (unsigned i = 0; i < parse->t->nsregs; i++)
        if (strlen(parse->t->sregs[i].text) == (size_t)(e - s) &&
            !strncmp(parse->t->sregs[i].text, s, (size_t)(e - s))) {
            *o = (Operand){OPK_SREG, 0, 0, 0, parse->t->sregs[i].number};
            return e;
        }
    if (s[0] == 'S' && s[1] == 'R' && isdigit((unsigned char)s[2])) {
        char *end;
        unsigned long n = strtoul(s + 2, &end, 10);
        if (n < 256 && isa_parse_ends_word(end)) {
            *o = (Operand){OPK_SREG, 0, 0, 0, (uint32_t)n};
            return end;
        }
    }
    return isa_parse_miss(parse, s, "unknown special register");
}

static const char *parse_immediate(Parse *p, const char *s, const IsaField *field, const MachInst *in,
                                   Operand *o) {
    uint32_t bits, low;
    int64_t v;
    ImmHalf half;
    ValueType type = isa_imm_type(p->r, in, field->type, &half);
    switch (type) {
    case VT_F32:
    case VT_F64:
        if (!(s = one_float(p, s, type, false, &bits)))
            return NULL;
        *o = op_imm(bits);
        return s;
    case VT_H2: {
        bool bf16 = half ? half == IMM_BF16 : mod_is_set(p, in, "bf16");
        if (!(s = one_float(p, s, VT_H2, bf16, &bits)))
            return NULL;
        if (half) {
            *o = op_imm(bits);
            return s;
        }
        s = isa_parse_blanks(s);
        if (*s != ',')
            return isa_parse_miss(p, s, "expected two numbers");
        if (!(s = one_float(p, s + 1, VT_H2, bf16, &low)))
            return NULL;
        *o = op_imm(bits << 16 | (low & 0xffff));
        return s;
    }
    default:
        if (!isdigit((unsigned char)*s) && *s != '-' && *s != '`' && *s != '(')
            return isa_parse_miss(p, s, "expected a number");
        const char *behind = float_by_bits(s, 8, &bits);
        if (behind) {
            *o = op_imm(bits);
            return behind;
        }
        if (!(s = isa_parse_number(p, s, &v)))
            return NULL;
        if (v < -(int64_t)0x80000000 || v > 0xffffffffll)
            return isa_parse_miss(p, s, "number does not fit 32 bits");
        *o = op_imm((uint32_t)v);
        return s;
    }
}

static const char *target(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in) {
    int64_t v;
    s = isa_parse_blanks(s);
    if (!isdigit((unsigned char)*s) && *s != '-' && *s != '`' && *s != '(')
        return isa_parse_miss(parse, s, "expected an address");
    if (!(s = isa_parse_number(parse, s, &v)))
        return NULL;
    in->wide = syn->fmt == SYF_TARGET ? (int64_t)((uint64_t)v - parse->pc - INST_BYTES)
               : syn->fmt == SYF_HERE ? (int64_t)((uint64_t)v - parse->pc)
                                      : v;
    *isa_slot_operand(in, syn->a) = (Operand){OPK_IMM64, 0, 0, 0, 0};
    return s;
}

/* "{5,2}" */
static const char *bit_set(Parse *parse, const char *s, Operand *out) {
    uint32_t set = 0;
    do {
        int64_t bit;
        if (*s != (set ? ',' : '{'))
            return isa_parse_miss(parse, s, "expected a set of numbers");
        if (!(s = isa_parse_number(parse, isa_parse_blanks(s + 1), &bit)))
            return NULL;
        if (bit < 0 || bit > 31)
            return isa_parse_miss(parse, s, "no number of a set");
        set |= 1u << bit;
        s = isa_parse_blanks(s);
    } while (*s != '}');
    *out = op_imm(set);
    return s + 1;
}

const char *isa_parse_operand(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in) {
    const IsaField *field = isa_slot_field(parse->r, syn->a);
    RegFile file = isa_value_file(field->type);
    unsigned attrs = parse->r->attrs[syn->a];
    Operand *out = isa_slot_operand(in, syn->a), o = {0};
    s = isa_parse_blanks(s);
    if (field->flags & FF_WIDE_VALUE)
        return target(parse, s, syn, in);
    if (field->type == VT_SREG)
        return (s = sreg(parse, s, out));
    if (syn->fmt == SYF_SET)
        return bit_set(parse, s, out);
    if (file == RF_COUNT && field->type != VT_CMEM) {
        s = parse_immediate(parse, s, field, in, out);
        if (s && syn->mod)
            s = isa_parse_mod_text(parse, s - (s[-1] == '.'), syn->mod - 1u, syn->mod_enum, in); /* 5.H1 */
        return s;
    }
    if (*s == '!' || *s == '~' || *s == '-') {
        if (attrs & OPM_NOT && *s != '-')
            o.mods |= OPM_NOT;
        else if (attrs & OPM_NEG && *s != '!')
            o.mods |= OPM_NEG;
        else
            return isa_parse_miss(parse, s, "this operand takes no such sign");
        s++;
    }
    bool bar = *s == '|';
    if (bar && !(attrs & OPM_ABS))
        return isa_parse_miss(parse, s, "this operand takes no |absolute value|");
    s += bar;
    if (field->type == VT_CMEM) {
        if (!(s = cmem(parse, s, field, &o)))
            return NULL;
    } else {
        uint32_t n;
        const char *before = syn->fmt == SYF_GDESC ? "gdesc[" : syn->fmt == SYF_DESC ? "desc[" : "";
        if (strncmp(s, before, strlen(before)) != 0)
            return isa_parse_miss(parse, s, "expected a descriptor");
        if (!(s = isa_parse_reg(parse, s + strlen(before), file, &n)))
            return NULL;
        if (*before && *s++ != ']')
            return isa_parse_miss(parse, s - 1, "expected ']'");
        uint8_t mods = o.mods;
        o = op_with(op_reg(file, n, 1), mods | (bar ? OPM_ABS : 0));
        s = reuse_suffix(s, &o);
    }
    if (bar)
        o.mods |= OPM_ABS;
    if (attrs & 3 << OPM_HALF_SHIFT)
        s = half_suffix(s, &o.mods);
    bool behind = bar && *s == '|' && syn->fmt == SYF_BEHIND; /* |R6|.H1; |R6.H1| is read, too */
    if (syn->mod && !behind && !(s = isa_parse_mod_text(parse, s, syn->mod - 1u, syn->mod_enum, in)))
        return NULL;
    s = reuse_suffix(s, &o);
    if (bar) {
        if (*s != '|')
            return isa_parse_miss(parse, s, "expected '|'");
        s++;
        s = reuse_suffix(s, &o);
        if (behind && syn->mod && !(s = isa_parse_mod_text(parse, s, syn->mod - 1u, syn->mod_enum, in)))
            return NULL;
        if (attrs & 3 << OPM_HALF_SHIFT)
            s = half_suffix(s, &o.mods);
    }
    if (out->kind == OPK_REG && (out->value != o.value || out->mods != o.mods) && syn->flags >> 7)
        return isa_parse_miss(parse, s, "the register must be the same");
    *out = o;
    return s;
}

/* ---- modifiers ---- */

/* ".TEXT" of one of the values, the longest that fits; nothing, if a value has no text. */
const char *isa_parse_mod_text(Parse *parse, const char *s, unsigned mod, unsigned enum_type, MachInst *in) {
    const IsaEnum *isa_enum = &isa_enums[enum_type - 1];
    const IsaEnumVal *best = NULL, *silent = NULL;
    size_t best_n = 0;
    unsigned def = isa_optypes[parse->r->optype].mods[mod].def;
    for (unsigned k = 0; k < isa_enum->nvals; k++) {
        const IsaEnumVal *val = &isa_enum->vals[k];
        size_t n = strlen(val->text);
        if (!n && (!silent || val->sem == def))
            silent = val;
        const char *text = n ? val->text : val->name; /* a default may be written out */
        if (!n && *val->name != '0')
            n = strlen(text);
        if (n > best_n && *s == '.' && !strncmp(s + 1, text, n) && isa_parse_ends_word(s + 1 + n)) {
            best = val;
            best_n = n;
        }
    }
    if (!best && !silent)
        return isa_parse_miss(parse, s, "a modifier is missing");
    in->mods = isa_mod_put(parse->r, mod, in->mods, best ? best->sem : silent->sem);
    return best ? s + 1 + best_n : s;
}

/* A modifier that stands as an operand at s: its text without a dot. Where it is the value that has no text,
 * returns `before`, the place before the separator; s is NULL where there is none. */
const char *isa_parse_mod_word(Parse *parse, const char *s, const char *before, const IsaSyn *syn,
                               MachInst *in) {
    const IsaEnum *isa_enum = &isa_enums[syn->mod_enum - 1];
    const IsaEnumVal *silent = NULL;
    for (unsigned k = 0; k < isa_enum->nvals; k++) {
        const IsaEnumVal *val = &isa_enum->vals[k];
        size_t n = strlen(val->text);
        if (!n)
            silent = val;
        if (!n || !s || strncmp(s, val->text, n) || !isa_parse_ends_word(s + n))
            continue;
        in->mods = isa_mod_put(parse->r, syn->a, in->mods, val->sem);
        return s + n;
    }
    if (!silent)
        return isa_parse_miss(parse, s ? s : before, "a word is missing");
    in->mods = isa_mod_put(parse->r, syn->a, in->mods, silent->sem);
    return before;
}

const char *isa_parse_mod_pair(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in) {
    const IsaEnum *isa_enum = &isa_enums[syn->mod_enum - 1], *b = &isa_enums[syn->mod_enum2 - 1];
    for (unsigned i = 0; *s == '.' && i < isa_enum->nvals; i++)
        for (unsigned k = 0; k < b->nvals; k++) {
            size_t n = strlen(isa_enum->vals[i].text), m = strlen(b->vals[k].text);
            if (strncmp(s + 1, isa_enum->vals[i].text, n) || strncmp(s + 1 + n, b->vals[k].text, m) ||
                !isa_parse_ends_word(s + 1 + n + m))
                continue;
            in->mods = isa_mod_put(parse->r, syn->a, in->mods, isa_enum->vals[i].sem);
            in->mods = isa_mod_put(parse->r, syn->mod - 1u, in->mods, b->vals[k].sem);
            return s + 1 + n + m;
        }
    return s; /* both default */
}

/* ---- addresses ---- */

static bool set_named_mod(Parse *parse, MachInst *in, const char *name, unsigned value) {
    const IsaOptype *isa_optype = &isa_optypes[parse->r->optype];
    for (unsigned i = 0; i < parse->r->nfields; i++) {
        const IsaField *field = &isa_fields[parse->r->field0 + i];
        if (field->kind == FK_MOD && !strcmp(isa_optype->mods[field->index].name, name)) {
            in->mods = isa_mod_put(parse->r, field->index, in->mods, value);
            return true;
        }
    }
    return false;
}

static bool marks_width(const IsaRow *row, unsigned slot) {
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->kind == FK_ATTR && field->index == slot && field->attr == OPM_WIDE64)
            return true;
    }
    return false;
}

/* One summand of an address. */
static const char *address_part(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in,
                                unsigned *seen) {
    uint32_t n;
    int64_t v;
    if (s[0] == 'R') {
        if (*seen & 1 || syn->a == SLOT_NONE || !(s = isa_parse_reg(parse, s, RF_R, &n)))
            return isa_parse_miss(parse, s ? s : parse->far, "unexpected register in address");
        Operand *ra = isa_slot_operand(in, syn->a);
        *ra = op_reg(RF_R, n, 1);
        *seen |= 1;
        const char *e = isa_parse_suffix(s, ".64");
        if (e) {
            if (!marks_width(parse->r, syn->a))
                return isa_parse_miss(parse, s, "this form has no 64-bit marker");
            ra->mods |= OPM_WIDE64;
            s = e;
            *seen |= 8;
        } else if ((e = isa_parse_suffix(s, ".U32"))) {
            s = e;
            *seen |= 16;
        }
        return syn->mod ? isa_parse_mod_text(parse, s, syn->mod - 1u, syn->mod_enum, in) : s;
    }
    if (s[0] == 'U' && s[1] == 'R') {
        if (*seen & 2 || syn->b == SLOT_NONE)
            return isa_parse_miss(parse, s, "this form has no uniform register");
        if (!(s = isa_parse_reg(parse, s, RF_UR, &n)))
            return NULL;
        *isa_slot_operand(in, syn->b) = op_reg(RF_UR, n, 1);
        *seen |= 2;
        return s;
    }
    if (*seen & 4 || syn->c == SLOT_NONE)
        return isa_parse_miss(parse, s, "unexpected number in address");
    if (!(s = isa_parse_number(parse, s, &v)))
        return NULL;
    unsigned width = isa_slot_field(parse->r, syn->c)->width;
    if (width < 32 && v >= (int64_t)1 << (width - 1) && (!(*seen & 3) || *seen == (2 | 32)))
        v -= (int64_t)1 << width; /* absolute addresses are written unsigned */
    if (v < -(int64_t)0x80000000 || v > 0xffffffffll)
        return isa_parse_miss(parse, s, "offset does not fit");
    *isa_slot_operand(in, syn->c) = op_imm((uint32_t)v);
    *seen |= 4;
    return s;
}

const char *isa_parse_address(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in) {
    unsigned seen = 0;
    uint32_t n;
    s = isa_parse_blanks(s);
    if (!strncmp(s, "desc[", 5)) {
        if (syn->b == SLOT_NONE || !set_named_mod(parse, in, "desc", Descriptor_DESC))
            return isa_parse_miss(parse, s, "this form has no descriptor");
        if (!(s = isa_parse_reg(parse, s + 5, RF_UR, &n)))
            return NULL;
        if (!strncmp(s, ".POLICY", 7)) { /* encoding refuses it where there is none */
            set_named_mod(parse, in, "desc", Descriptor_POLICY);
            s += 7;
        }
        if (*s != ']')
            return isa_parse_miss(parse, s, "expected ']'");
        uint32_t base = isa_slot_operand(in, syn->b)->value;
        if (syn->fmt == SYF_NEXT && base + 1 != n && (base != REG_URZ || n != REG_URZ))
            return isa_parse_miss(parse, s, "the descriptor must be the register behind that of the address");
        if (syn->fmt != SYF_NEXT)
            *isa_slot_operand(in, syn->b) = op_reg(RF_UR, n, 1);
        s = isa_parse_blanks(s + 1);
        seen |= 2 | 32;
    }
    if (*s != '[')
        return isa_parse_miss(parse, s, "expected '['");
    s = isa_parse_blanks(s + 1);
    for (;;) {
        if (!(s = address_part(parse, s, syn, in, &seen)))
            return NULL;
        s = isa_parse_blanks(s);
        if (*s == ']')
            break;
        if (*s != '+')
            return isa_parse_miss(parse, s, "expected '+' or ']'");
        s = isa_parse_blanks(s + 1);
    }
    /* The form is told by what is written: a marker or a UR belongs to the uniform forms. */
    bool marked = syn->a != SLOT_NONE && marks_width(parse->r, syn->a);
    if (!(seen & 1) && marked && mod_is_set(parse, in, "e"))
        *isa_slot_operand(in, syn->a) = op_with(op_rz(), OPM_WIDE64);
    if (syn->b != SLOT_NONE && syn->fmt != SYF_NEXT && !(seen & 2) && !(marked && seen & 8))
        return isa_parse_miss(parse, s, "not this form");
    return s + 1;
}

const char *isa_parse_indexed_cmem(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in) {
    int64_t bank, off = 0;
    uint32_t n;
    s = isa_parse_blanks(s);
    if (!(s = cmem_head(parse, s, &bank)))
        return NULL;
    s = isa_parse_blanks(s);
    if (syn->b != SLOT_NONE && (*s == 'R' || *s == 'U')) {
        RegFile file = isa_value_file(isa_slot_field(parse->r, syn->b)->type);
        if (!(s = isa_parse_reg(parse, s, file, &n)))
            return NULL;
        *isa_slot_operand(in, syn->b) = op_reg(file, n, 1);
        s = isa_parse_blanks(s);
        if (*s == '+' && !(s = isa_parse_number(parse, s + 1, &off)))
            return NULL;
    } else if (syn->b != SLOT_NONE && !isa_may_lack(isa_slot_field(parse->r, syn->b))) {
        return isa_parse_miss(parse, s, "expected a uniform register");
    } else if (!(s = isa_parse_number(parse, s, &off))) {
        return NULL;
    }
    return cmem_tail(parse, s, bank, off, isa_slot_field(parse->r, syn->a), isa_slot_operand(in, syn->a));
}
