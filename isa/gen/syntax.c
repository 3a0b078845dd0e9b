/* Assembly syntax strings -> programs. The string is the mnemonic, a blank, operands:
 *   {mod}            ".TEXT" of the modifier's value (nothing if the text is empty)
 *   {mod=other}      prints nothing; reading gives `mod` the value of `other`
 *   {mod&mod}        the texts of two modifiers together (".U16"); nothing if both are the default
 *   slot             an operand;  slot?  only if it is not the default
 *   slot?name        only if modifier or slot `name` is not its default (slot itself printing counts too)
 *   slot?mod+        and if the next operand is not its default
 *   slot?mod!other   as slot?mod, but not where modifier `other` is set (unless the operand is not the
 * default) slot:target      branch target as an absolute address;  :relative  as a signed distance; :absolute
 *                    :here  an address, the distance counts from this instruction
 *   slot.TEXT slot{mod}  text or modifier behind the operand
 *   [ra{mod}+urb+offset]  an address;  cb[ra]  a constant with an index register
 *   mod              a modifier as a number;  UPPER  a word as it is
 * Operands are separated by "," or, where the text has only a blank, by " ".
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <ctype.h>
#include <string.h>

enum { SY_END, SY_TEXT, SY_MOD, SY_SEP, SY_OPERAND, SY_MODNUM, SY_ADDRESS, SY_CMEM, SY_MODPAIR, SY_MODCOPY };
enum { SF_OPTIONAL = 1, SF_IF_MOD = 2, SF_IF_SLOT = 4, SF_IF_NEXT = 8 };
#define NO_SLOT 255u

typedef struct {
    Ig *g;
    IgRow *r;
    IgOptype *t;
    const char *p;
    IgLoc loc;
    IgSynVec *out;
} Syn;

static bool word(Syn *s, char out[64]) {
    size_t n = 0;
    while (isalnum((unsigned char)*s->p) || *s->p == '_') {
        if (n == 63)
            return ig_error(s->g, s->loc, "name too long in syntax");
        out[n++] = *s->p++;
    }
    out[n] = 0;
    return n > 0 || ig_error(s->g, s->loc, "expected a name in syntax at '%s'", s->p);
}

/* The enumeration whose texts this row prints for a modifier. */
static bool mod_type(Syn *s, const char *name, unsigned *mod, unsigned *type) {
    int m = ig_mod_index(s->t, name);
    if (m < 0)
        return ig_error(s->g, s->loc, "%s has no modifier %s", s->t->name, name);
    *mod = (unsigned)m;
    for (unsigned i = 0; i < s->r->fields.n; i++) {
        const IgField *f = &s->r->fields.at[i];
        if (f->type && !f->attr && f->name && !strcmp(f->name, name)) {
            *type = f->type->index + 1;
            return true;
        }
    }
    return ig_error(s->g, s->loc, "%s has no enumerated field %s", s->r->name, name);
}

/* {mod} behind an operand; nothing where this opcode lacks the field. */
static bool operand_mod(Syn *s, IgSyn *y) {
    const char *end = strchr(s->p, '}');
    for (unsigned i = 0; end && i < s->r->fields.n; i++) {
        const IgField *f = &s->r->fields.at[i];
        unsigned mod;
        size_t n = (size_t)(end - s->p - 1);
        if (!f->type || f->attr || strlen(f->name) != n || strncmp(f->name, s->p + 1, n))
            continue;
        mod = (unsigned)ig_mod_index(s->t, f->name);
        y->flags |= (mod + 1) << 16;
        y->text = arena_printf(&s->g->arena, "%u", f->type->index + 1);
        s->p = end + 1;
        return true;
    }
    char name[64];
    s->p++;
    if (!word(s, name) || *s->p != '}' || ig_mod_index(s->t, name) < 0)
        return ig_error(s->g, s->loc, "%s has no modifier %s", s->t->name, name);
    s->p++;
    return true;
}

static bool braces(Syn *s, unsigned *mod, unsigned *type) {
    char name[64];
    s->p++;
    if (!word(s, name) || !mod_type(s, name, mod, type))
        return false;
    if (*s->p != '}')
        return ig_error(s->g, s->loc, "expected '}' in syntax");
    s->p++;
    return true;
}

/* {a=b} */
static bool mod_copy(Syn *s, IgSyn *y) {
    const char *eq = strchr(s->p, '='), *end = strchr(s->p, '}');
    char name[64];
    unsigned type;
    if (!eq || !end || eq > end)
        return true;
    y->op = SY_MODCOPY;
    s->p++;
    if (!word(s, name) || !mod_type(s, name, &y->a, &type))
        return false;
    s->p++;
    if (!word(s, name) || !mod_type(s, name, &y->b, &type))
        return false;
    s->p = end + 1;
    return true;
}

/* {a&b}; leaves everything as it is when there is no second modifier. */
static bool pair(Syn *s, IgSyn *y) {
    const char *start = s->p, *amp = strchr(s->p, '&'), *end = strchr(s->p, '}');
    char name[64];
    unsigned type;
    if (!amp || !end || amp > end)
        return true;
    s->p = start + 1;
    y->op = SY_MODPAIR;
    if (!word(s, name) || !mod_type(s, name, &y->a, &y->b))
        return false;
    s->p++;
    if (!word(s, name) || !mod_type(s, name, &y->c, &type))
        return false;
    y->text = arena_printf(&s->g->arena, "%u", type);
    s->p = end + 1;
    return true;
}

static void put(Syn *s, IgSyn y) { VEC_ADD(&s->g->arena, s->out, y); }

static bool mnemonic(Syn *s) {
    while (*s->p && *s->p != ' ') {
        if (*s->p == '{') {
            IgSyn y = {.op = SY_MOD};
            if (!mod_copy(s, &y) || (y.op == SY_MOD && !pair(s, &y)) ||
                (y.op == SY_MOD && !braces(s, &y.a, &y.b)))
                return false;
            put(s, y);
            continue;
        }
        const char *start = s->p;
        while (*s->p && *s->p != ' ' && *s->p != '{')
            s->p++;
        put(s,
            (IgSyn){.op = SY_TEXT, .text = arena_printf(&s->g->arena, "%.*s", (int)(s->p - start), start)});
    }
    return true;
}

static bool row_has(const IgRow *r, const char *slot) {
    for (unsigned i = 0; i < r->fields.n; i++) {
        const IgField *f = &r->fields.at[i];
        if (!f->attr && f->as && !strcmp(f->as, slot))
            return true;
        if (!f->attr && f->name && f->as && !strcmp(f->name, slot))
            return true;
    }
    return false;
}

/* A slot by name; NO_SLOT where this opcode lacks it. */
static bool slot(Syn *s, const char *name, unsigned *out) {
    int i = ig_slot_index(s->t, name);
    for (unsigned k = 0; i < 0 && k < s->r->fields.n; k++)
        if (s->r->fields.at[k].as && !strcmp(s->r->fields.at[k].name, name))
            i = ig_slot_index(s->t, s->r->fields.at[k].as);
    if (i < 0)
        return ig_error(s->g, s->loc, "%s has no slot %s", s->t->name, name);
    *out = row_has(s->r, name) ? (unsigned)i : NO_SLOT;
    return true;
}

static bool address(Syn *s, IgSyn *y) {
    unsigned *part[3] = {&y->a, &y->b, &y->c};
    char name[64];
    y->op = SY_ADDRESS;
    y->a = y->b = y->c = NO_SLOT;
    s->p++;
    for (;;) {
        unsigned k, type = 0;
        if (!word(s, name) || !slot(s, name, &k))
            return false;
        int at = strstr(name, "offset") ? 2 : name[0] == 'u' ? 1 : 0;
        *part[at] = k;
        if (*s->p == '{') {
            unsigned mod;
            if (!braces(s, &mod, &type))
                return false;
            y->flags |= (mod + 1) << 16;
            y->text = arena_printf(&s->g->arena, "%u", type);
        }
        if (*s->p == ']')
            break;
        if (*s->p++ != '+')
            return ig_error(s->g, s->loc, "expected '+' or ']' in syntax");
    }
    s->p++;
    return true;
}

/* flags: bits 0-7 SF_*, 8-15 condition index, 16-23 modifier + 1, 24-31 format */
static bool suffixes(Syn *s, IgSyn *y) {
    char name[64];
    for (;;) {
        if (*s->p == '?') {
            s->p++;
            if (!isalpha((unsigned char)*s->p)) {
                y->flags |= SF_OPTIONAL;
                continue;
            }
            if (!word(s, name))
                return false;
            int m = ig_mod_index(s->t, name);
            unsigned k = 0;
            if (m < 0 && !slot(s, name, &k))
                return false;
            y->flags |= m >= 0 ? SF_IF_MOD | (unsigned)m << 8 : SF_OPTIONAL | SF_IF_SLOT | k << 8;
            if (*s->p == '+') {
                s->p++;
                y->flags |= SF_IF_NEXT;
            }
            if (*s->p == '!') {
                s->p++;
                if (!word(s, name))
                    return false;
                if ((m = ig_mod_index(s->t, name)) < 0)
                    return ig_error(s->g, s->loc, "%s has no modifier %s", s->t->name, name);
                y->c = (unsigned)m + 1;
            }
        } else if (*s->p == ':') {
            static const char *const formats[] = {"", "target", "relative", "absolute", "pair", "here"};
            unsigned f = 1;
            s->p++;
            if (!word(s, name))
                return false;
            while (f < 6 && strcmp(formats[f], name))
                f++;
            if (f == 6)
                return ig_error(s->g, s->loc, "unknown format %s in syntax", name);
            y->flags |= f << 24;
        } else if (*s->p == '{') {
            if (!operand_mod(s, y))
                return false;
        } else if (*s->p == '.') {
            const char *start = s->p++;
            if (!word(s, name))
                return false;
            y->text = arena_printf(&s->g->arena, "%.*s", (int)(s->p - start), start);
        } else {
            return true;
        }
    }
}

static bool operand(Syn *s) {
    IgSyn y = {.op = SY_OPERAND};
    char name[64];
    if (*s->p == '[') {
        if (!address(s, &y) || !suffixes(s, &y))
            return false;
        put(s, y);
        return true;
    }
    if (!word(s, name))
        return false;
    if (isupper((unsigned char)name[0])) {
        put(s, (IgSyn){.op = SY_TEXT, .text = arena_printf(&s->g->arena, "%s", name)});
        return true;
    }
    int m = ig_mod_index(s->t, name);
    if (m >= 0) {
        put(s, (IgSyn){.op = SY_MODNUM, .a = (unsigned)m});
        return true;
    }
    if (!slot(s, name, &y.a))
        return false;
    if (y.a == NO_SLOT)
        return ig_error(s->g, s->loc, "%s has no operand %s", s->r->name, name);
    if (*s->p == '[') {
        s->p++;
        y.op = SY_CMEM;
        if (!word(s, name) || !slot(s, name, &y.b))
            return false;
        if (*s->p++ != ']')
            return ig_error(s->g, s->loc, "expected ']' in syntax");
    }
    if (!suffixes(s, &y))
        return false;
    put(s, y);
    return true;
}

bool ig_syntax(Ig *g, IgRow *r, const char *text, IgLoc loc, IgSynVec *out) {
    Syn s = {g, r, g->optypes.at[r->optype], text, loc, out};
    if (!mnemonic(&s))
        return false;
    bool comma = false;
    while (*s.p) {
        while (*s.p == ' ')
            s.p++;
        put(&s, (IgSyn){.op = SY_SEP, .a = !comma});
        if (!operand(&s))
            return false;
        comma = *s.p == ',';
        if (comma)
            s.p++;
        else if (*s.p && *s.p != ' ')
            return ig_error(g, loc, "unexpected '%c' in syntax", *s.p);
    }
    put(&s, (IgSyn){.op = SY_END});
    return true;
}
