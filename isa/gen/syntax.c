/* Assembly syntax strings -> programs. The string is the mnemonic, a blank, operands:
 *   {mod}            ".TEXT" of the modifier's value (nothing if the text is empty)
 *   {mod=other}      prints nothing; reading gives `mod` the value of `other`
 *   {mod&mod}        the texts of two modifiers together (".U16"); nothing if both are the default
 *   slot             an operand;  slot?  only if it is not the default
 *   slot?name        only if modifier or slot `name` is not its default (slot itself printing counts too)
 *   slot?mod+        and if the next operand is not its default
 *   slot?mod!other   as slot?mod, but not where modifier `other` is set (unless the operand is not the
 * default) slot:target      branch target as an absolute address;  :relative  as a signed distance; :absolute
 *   slot:gdesc       gdesc[slot], the descriptors of matrices;  slot:desc  desc[slot], a cache policy
 *                    :here  an address, the distance counts from this instruction
 *   slot:set         {5,2,0}, the bits of a number
 *   slot.TEXT slot{mod}  text or modifier behind the operand, inside the bars of its absolute value
 *   slot:behind{mod}     modifier behind these bars
 *   [ra{mod}+urb+offset]  an address;  cb[ra]  a constant with an index register
 *   urb:next         in an address: its descriptor, where it has one, is the register behind urb
 *   urb:own          in an address: the descriptor is another address's
 *   {mod}            as an operand: the text without a dot, nothing if it is empty
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

static bool word(Syn *syn, char out[64]) {
    size_t n = 0;
    while (isalnum((unsigned char)*syn->p) || *syn->p == '_') {
        if (n == 63)
            return ig_error(syn->g, syn->loc, "name too long in syntax");
        out[n++] = *syn->p++;
    }
    out[n] = 0;
    return n > 0 || ig_error(syn->g, syn->loc, "expected a name in syntax at '%s'", syn->p);
}

/* The enumeration whose texts this row prints for a modifier: the field's, or of several fields, one of which
 * is there, what they are encodings of. */
static unsigned text_type(const IgRow *row, const IgField *field) {
    unsigned n = 0;
    for (unsigned i = 0; i < row->fields.n; i++)
        n +=
            !row->fields.at[i].attr && row->fields.at[i].name && !strcmp(row->fields.at[i].name, field->name);
    return (n > 1 ? ig_sem_type(field->type) : field->type)->index + 1;
}

static bool mod_type(Syn *syn, const char *name, unsigned *mod, unsigned *type) {
    int m = ig_mod_index(syn->t, name);
    if (m < 0)
        return ig_error(syn->g, syn->loc, "%s has no modifier %s", syn->t->name, name);
    *mod = (unsigned)m;
    for (unsigned i = 0; i < syn->r->fields.n; i++) {
        const IgField *field = &syn->r->fields.at[i];
        if (field->type && !field->attr && field->name && !strcmp(field->name, name)) {
            *type = text_type(syn->r, field);
            return true;
        }
    }
    return ig_error(syn->g, syn->loc, "%s has no enumerated field %s", syn->r->name, name);
}

/* {mod} behind an operand; nothing where this opcode lacks the field. */
static bool operand_mod(Syn *syn, IgSyn *ig_syn) {
    const char *end = strchr(syn->p, '}');
    for (unsigned i = 0; end && i < syn->r->fields.n; i++) {
        const IgField *field = &syn->r->fields.at[i];
        unsigned mod;
        size_t n = (size_t)(end - syn->p - 1);
        if (!field->type || field->attr || strlen(field->name) != n || strncmp(field->name, syn->p + 1, n))
            continue;
        mod = (unsigned)ig_mod_index(syn->t, field->name);
        ig_syn->flags |= (mod + 1) << 16;
        ig_syn->text = arena_printf(&syn->g->arena, "%u", text_type(syn->r, field));
        syn->p = end + 1;
        return true;
    }
    char name[64];
    syn->p++;
    if (!word(syn, name) || *syn->p != '}' || ig_mod_index(syn->t, name) < 0)
        return ig_error(syn->g, syn->loc, "%s has no modifier %s", syn->t->name, name);
    syn->p++;
    return true;
}

static bool braces(Syn *syn, unsigned *mod, unsigned *type) {
    char name[64];
    syn->p++;
    if (!word(syn, name) || !mod_type(syn, name, mod, type))
        return false;
    if (*syn->p != '}')
        return ig_error(syn->g, syn->loc, "expected '}' in syntax");
    syn->p++;
    return true;
}

/* {a=b} */
static bool mod_copy(Syn *syn, IgSyn *ig_syn) {
    const char *eq = strchr(syn->p, '='), *end = strchr(syn->p, '}');
    char name[64];
    unsigned type;
    if (!eq || !end || eq > end)
        return true;
    ig_syn->op = SY_MODCOPY;
    syn->p++;
    if (!word(syn, name) || !mod_type(syn, name, &ig_syn->a, &type))
        return false;
    syn->p++;
    if (!word(syn, name) || !mod_type(syn, name, &ig_syn->b, &type))
        return false;
    syn->p = end + 1;
    return true;
}

/* {a&b}; leaves everything as it is when there is no second modifier. */
static bool pair(Syn *syn, IgSyn *ig_syn) {
    const char *start = syn->p, *amp = strchr(syn->p, '&'), *end = strchr(syn->p, '}');
    char name[64];
    unsigned type;
    if (!amp || !end || amp > end)
        return true;
    syn->p = start + 1;
    ig_syn->op = SY_MODPAIR;
    if (!word(syn, name) || !mod_type(syn, name, &ig_syn->a, &ig_syn->b))
        return false;
    syn->p++;
    if (!word(syn, name) || !mod_type(syn, name, &ig_syn->c, &type))
        return false;
    ig_syn->text = arena_printf(&syn->g->arena, "%u", type);
    syn->p = end + 1;
    return true;
}

static void put_syntax(Syn *syn, IgSyn y) { VEC_ADD(&syn->g->arena, syn->out, y); }

static bool mnemonic(Syn *syn) {
    while (*syn->p && *syn->p != ' ') {
        if (*syn->p == '{') {
            IgSyn y = {.op = SY_MOD};
            if (!mod_copy(syn, &y) || (y.op == SY_MOD && !pair(syn, &y)) ||
                (y.op == SY_MOD && !braces(syn, &y.a, &y.b)))
                return false;
            put_syntax(syn, y);
            continue;
        }
        const char *start = syn->p;
        while (*syn->p && *syn->p != ' ' && *syn->p != '{')
            syn->p++;
        put_syntax(syn, (IgSyn){.op = SY_TEXT,
                                .text = arena_printf(&syn->g->arena, "%.*s", (int)(syn->p - start), start)});
    }
    return true;
}

static bool row_has(const IgRow *row, const char *slot) {
    for (unsigned i = 0; i < row->fields.n; i++) {
        const IgField *field = &row->fields.at[i];
        if (!field->attr && field->as && !strcmp(field->as, slot))
            return true;
        if (!field->attr && field->name && field->as && !strcmp(field->name, slot))
            return true;
    }
    return false;
}

/* A slot by name; NO_SLOT where this opcode lacks it. */
static bool slot(Syn *syn, const char *name, unsigned *out) {
    int i = ig_slot_index(syn->t, name);
    for (unsigned k = 0; i < 0 && k < syn->r->fields.n; k++)
        if (syn->r->fields.at[k].as && !strcmp(syn->r->fields.at[k].name, name))
            i = ig_slot_index(syn->t, syn->r->fields.at[k].as);
    if (i < 0)
        return ig_error(syn->g, syn->loc, "%s has no slot %s", syn->t->name, name);
    *out = row_has(syn->r, name) ? (unsigned)i : NO_SLOT;
    return true;
}

/* ":NAME" */
static bool format(Syn *syn, IgSyn *ig_syn) {
    static const char *const formats[] = {"target", "relative", "absolute", "pair", "here",  "gdesc",
                                          "desc",   "set",      "next",     "own",  "behind"};
    enum { FORMATS = sizeof formats / sizeof *formats };
    char name[64];
    unsigned f = 0;
    syn->p++;
    if (!word(syn, name))
        return false;
    while (f < FORMATS && strcmp(formats[f], name))
        f++;
    if (f == FORMATS)
        return ig_error(syn->g, syn->loc, "unknown format %s in syntax", name);
    ig_syn->flags |= (f + 1) << 24;
    return true;
}

static bool address(Syn *syn, IgSyn *ig_syn) {
    unsigned *part[3] = {&ig_syn->a, &ig_syn->b, &ig_syn->c};
    char name[64];
    ig_syn->op = SY_ADDRESS;
    ig_syn->a = ig_syn->b = ig_syn->c = NO_SLOT;
    syn->p++;
    for (;;) {
        unsigned k, type = 0;
        if (!word(syn, name) || !slot(syn, name, &k))
            return false;
        int at = strstr(name, "offset") ? 2 : name[0] == 'u' ? 1 : 0;
        *part[at] = k;
        if (*syn->p == ':' && !format(syn, ig_syn))
            return false;
        if (*syn->p == '{') {
            unsigned mod;
            if (!braces(syn, &mod, &type))
                return false;
            ig_syn->flags |= (mod + 1) << 16;
            ig_syn->text = arena_printf(&syn->g->arena, "%u", type);
        }
        if (*syn->p == ']')
            break;
        if (*syn->p++ != '+')
            return ig_error(syn->g, syn->loc, "expected '+' or ']' in syntax");
    }
    syn->p++;
    return true;
}

/* flags: bits 0-7 SF_*, 8-15 condition index, 16-23 modifier + 1, 24-31 format */
static bool suffixes(Syn *syn, IgSyn *ig_syn) {
    char name[64];
    for (;;) {
        if (*syn->p == '?') {
            syn->p++;
            if (!isalpha((unsigned char)*syn->p)) {
                ig_syn->flags |= SF_OPTIONAL;
                continue;
            }
            if (!word(syn, name))
                return false;
            int m = ig_mod_index(syn->t, name);
            unsigned k = 0;
            if (m < 0 && !slot(syn, name, &k))
                return false;
            ig_syn->flags |= m >= 0 ? SF_IF_MOD | (unsigned)m << 8 : SF_OPTIONAL | SF_IF_SLOT | k << 8;
            if (*syn->p == '+') {
                syn->p++;
                ig_syn->flags |= SF_IF_NEXT;
            }
            if (*syn->p == '!') {
                syn->p++;
                if (!word(syn, name))
                    return false;
                if ((m = ig_mod_index(syn->t, name)) < 0)
                    return ig_error(syn->g, syn->loc, "%s has no modifier %s", syn->t->name, name);
                ig_syn->c = (unsigned)m + 1;
            }
        } else if (*syn->p == ':') {
            if (!format(syn, ig_syn))
                return false;
        } else if (*syn->p == '{') {
            if (!operand_mod(syn, ig_syn))
                return false;
        } else if (*syn->p == '.') {
            const char *start = syn->p++;
            if (!word(syn, name))
                return false;
            ig_syn->text = arena_printf(&syn->g->arena, "%.*s", (int)(syn->p - start), start);
        } else {
            return true;
        }
    }
}

static bool syntax_operand(Syn *syn) {
    IgSyn y = {.op = SY_OPERAND};
    char name[64];
    if (*syn->p == '[') {
        if (!address(syn, &y) || !suffixes(syn, &y))
            return false;
        put_syntax(syn, y);
        return true;
    }
    if (*syn->p == '{') {
        y.op = SY_MOD;
        if (!braces(syn, &y.a, &y.b))
            return false;
        put_syntax(syn, y);
        return true;
    }
    bool negated = syn->p[0] == '!' && isupper((unsigned char)syn->p[1]); /* "!PT" as it is */
    syn->p += negated;
    if (!word(syn, name))
        return false;
    if (isupper((unsigned char)name[0])) {
        const char *sign = negated ? "!" : "";
        put_syntax(syn, (IgSyn){.op = SY_TEXT, .text = arena_printf(&syn->g->arena, "%s%s", sign, name)});
        return true;
    }
    int m = ig_mod_index(syn->t, name);
    if (m >= 0) {
        put_syntax(syn, (IgSyn){.op = SY_MODNUM, .a = (unsigned)m});
        return true;
    }
    if (!slot(syn, name, &y.a))
        return false;
    if (y.a == NO_SLOT)
        return ig_error(syn->g, syn->loc, "%s has no operand %s", syn->r->name, name);
    if (*syn->p == '[') {
        syn->p++;
        y.op = SY_CMEM;
        if (!word(syn, name) || !slot(syn, name, &y.b))
            return false;
        if (*syn->p++ != ']')
            return ig_error(syn->g, syn->loc, "expected ']' in syntax");
    }
    if (!suffixes(syn, &y))
        return false;
    put_syntax(syn, y);
    return true;
}

bool ig_syntax(Ig *ig, IgRow *row, const char *text, IgLoc loc, IgSynVec *out) {
    Syn s = {ig, row, ig->optypes.at[row->optype], text, loc, out};
    if (!mnemonic(&s))
        return false;
    bool comma = false;
    while (*s.p) {
        while (*s.p == ' ')
            s.p++;
        put_syntax(&s, (IgSyn){.op = SY_SEP, .a = !comma});
        if (!syntax_operand(&s))
            return false;
        comma = *s.p == ',';
        if (comma)
            s.p++;
        else if (*s.p && *s.p != ' ')
            return ig_error(ig, loc, "unexpected '%c' in syntax", *s.p);
    }
    put_syntax(&s, (IgSyn){.op = SY_END});
    return true;
}
