/* Text to instructions, the inverse of print.c: every opcode whose mnemonic fits is tried with its syntax
 * program; optional operands are tried present and absent. The first that matches to the end and encodes is
 * it. Numbers may be expressions: `(label), (.L + 0x10 - .), `.` being the address of the instruction.
 * SPDX-License-Identifier: MIT */
#include "isa/parse.h"
#include <stdio.h>

/* ---- programs ---- */

static const char *match(Parse *p, const char *s, const IsaSyn *y, MachInst *in, bool first);

static const char *one_operand(Parse *p, const char *s, const IsaSyn *y, MachInst *in) {
    if (y->op == SY_ADDRESS)
        return pa_address(p, s, y, in);
    if (y->op == SY_CMEM)
        return pa_indexed_cmem(p, s, y, in);
    if (!(s = pa_operand(p, s, y, in)))
        return NULL;
    if (y->text) {
        const char *e = pa_suffix(s, y->text);
        return e ? e : pa_miss(p, s, "a suffix is missing");
    }
    return s;
}

static const char *separator(Parse *p, const char *s, const IsaSyn *y, bool first) {
    if (first || y->a) {
        const char *q = pa_blanks(s);
        if (first && *q == ',') /* the specification writes "EXIT, P2" */
            return pa_blanks(q + 1);
        return q > s ? q : pa_miss(p, s, "expected a blank");
    }
    s = pa_blanks(s);
    return *s == ',' ? pa_blanks(s + 1) : pa_miss(p, s, "expected ','");
}

/* The end of an instruction: ';', a comment, the end of the line. */
static bool at_end(const char *s) {
    s = pa_blanks(s);
    return !*s || *s == ';' || *s == '\n' || *s == '\r' || ((s[0] == '/' || s[0] == '(') && s[1] == '*') ||
           (s[0] == '/' && s[1] == '/'); /* (* begins a note, see asm_text.c */
}

static bool may_skip(const Parse *p, const IsaSyn *y, const MachInst *in) {
    if (!(y->flags & SF_IF_MOD))
        return y->flags & SF_OPTIONAL;
    return (y->op == SY_OPERAND && y->c && isa_mod_get(p->r, y->c - 1u, in->mods)) ||
           !isa_mod_get(p->r, y->cond, in->mods);
}

static const char *match(Parse *p, const char *s, const IsaSyn *y, MachInst *in, bool first) {
    const IsaSyn *sep = NULL;
    if (++p->steps > 2000)
        return pa_miss(p, s, "too many ways to read this");
    for (;; y++) {
        if (y->op == SY_END) {
            s = pa_blanks(s);
            return at_end(s) ? s : pa_miss(p, s, "unexpected text");
        }
        if (y->op == SY_SEP) {
            sep = y;
            continue;
        }
        if (y->op == SY_MODCOPY) {
            in->mods = isa_mod_put(p->r, y->a, in->mods, isa_mod_get(p->r, y->b, in->mods));
        } else if (y->op == SY_MOD || y->op == SY_MODPAIR) {
            s = y->op == SY_MOD ? pa_mod_text(p, s, y->a, y->mod_enum, in) : pa_mod_pair(p, s, y, in);
        } else if (y->op == SY_TEXT) {
            const char *q = sep ? separator(p, s, sep, first) : s;
            size_t n = strlen(y->text);
            if (!q || strncmp(q, y->text, n))
                return pa_miss(p, q ? q : s, "another mnemonic");
            if (sep)
                first = false;
            sep = NULL;
            s = q + n;
        } else if (y->op == SY_MODNUM) {
            int64_t v;
            if (!sep || !(s = separator(p, s, sep, first)) || !(s = pa_number(p, s, &v)))
                return NULL;
            if (v < 0 || v >> isa_optypes[p->r->optype].mods[y->a].width)
                return pa_miss(p, s, "number is too large");
            in->mods = isa_mod_put(p->r, y->a, in->mods, (unsigned)v);
            first = false;
            sep = NULL;
        } else {
            bool skip = may_skip(p, y, in);
            MachInst with = *in;
            const char *q = sep ? separator(p, s, sep, first) : s;
            const char *end = q ? one_operand(p, q, y, &with) : NULL;
            if (!skip && !end)
                return NULL;
            if (!skip) {
                *in = with;
                s = end;
                first = false;
                sep = NULL;
                continue;
            }
            if (end && (end = match(p, end, y + 1, &with, false))) {
                *in = with;
                return end;
            }
            /* Absent: the next separator stands for this one too. */
            continue;
        }
        if (!s)
            return NULL;
    }
}

/* The mnemonic's first word, to leave out most opcodes at once. */
static bool may_be(const IsaSyn *y, const char *s) {
    if (y->op != SY_TEXT)
        return false;
    const char *e = s;
    while (pa_is_word_char((unsigned char)*e))
        e++;
    size_t n = (size_t)(e - s), m = strcspn(y->text, ".");
    return n == m && !strncmp(s, y->text, n);
}

static const char *guard(Parse *p, const char *s, Operand *out, bool *given) {
    *given = false;
    *out = op_pt();
    if (*s != '@')
        return s;
    s = pa_blanks(s + 1);
    bool inv = *s == '!';
    s += inv;
    uint32_t n;
    RegFile file = *s == 'U' ? RF_UP : RF_P;
    if (!(s = pa_reg(p, s, file, &n)))
        return NULL;
    *out = op_with(op_reg(file, n, 1), inv ? OPM_NOT : 0);
    *given = true;
    return pa_blanks(s);
}

static bool guard_file(const IsaRow *r, RegFile *file) {
    for (unsigned i = 0; i < r->nfields; i++)
        if (isa_fields[r->field0 + i].kind == FK_GUARD) {
            *file = isa_value_file(isa_fields[r->field0 + i].type);
            return true;
        }
    return false;
}

static void start_inst(const IsaRow *r, const Operand *g, bool given, MachInst *in) {
    RegFile file = RF_P;
    *in = isa_inst(r->optype);
    in->opcode = r->opcode;
    guard_file(r, &file);
    in->guard = given ? *g : op_reg(file, isa_file_zero(file), 1);
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        if (f->kind == FK_MODFIXED)
            in->mods = isa_mod_put(r, f->index, in->mods, f->def);
    }
}

/* What decoding would yield: register counts, absent operands of the form as their defaults, derived marks.
 */
static bool finish_inst(const Target *t, const IsaRow *r, MachInst *in, char *error) {
    uint64_t word[2];
    MachInst again;
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        if (f->kind == FK_WIDE && isa_mod_get(r, f->def, in->mods))
            isa_slot_operand(in, f->index)->mods |= OPM_WIDE64;
    }
    if (r->select && !isa_cond(r->select, r, in)) {
        snprintf(error, ISA_ERROR_BYTES, "these modifiers do not go together");
        return false;
    }
    if (!isa_encode_row(t, r, in, word, error) || !isa_decode(t, word, &again, error))
        return false;
    *in = again;
    return true;
}

static const char *try_row(Parse *p, const IsaRow *r, const char *s, const Operand *g, bool given,
                           MachInst *out, char *error) {
    p->r = r;
    for (unsigned n = r->nalias + 1u; n-- > 0;) { /* an alias may mean the same mnemonic in another way */
        unsigned k = n;
        const IsaSyn *y = &isa_syntax[k ? isa_aliases[r->alias0 + k - 1].syntax : r->syntax];
        if (!may_be(y, s))
            continue;
        p->steps = 0;
        start_inst(r, g, given, out);
        const char *e = match(p, s, y, out, true);
        if (!e)
            continue;
        if (k && !isa_cond(isa_aliases[r->alias0 + k - 1].cond, r, out))
            continue;
        if (finish_inst(p->t, r, out, error))
            return e;
    }
    return NULL;
}

bool isa_parse(const Target *t, const char *text, uint64_t pc_bytes, const IsaParseOptions *opt,
               MachInst *out, const char **end, char error[ISA_ERROR_BYTES]) {
    Parse p = {.t = t, .opt = opt, .pc = pc_bytes};
    Operand g;
    bool given, known = false;
    const char *s = guard(&p, pa_blanks(text), &g, &given);
    error[0] = 0;
    *end = text;
    if (s) {
        for (unsigned i = 0; i < t->nrows; i++) {
            const IsaRow *r = &t->rows[i];
            bool may = may_be(&isa_syntax[r->syntax], s);
            for (unsigned k = 0; !may && k < r->nalias; k++)
                may = may_be(&isa_syntax[isa_aliases[r->alias0 + k].syntax], s);
            if (!may)
                continue;
            known = true;
            const char *e = try_row(&p, r, s, &g, given, out, error);
            if (e) {
                *end = e;
                return true;
            }
        }
        if (!known) {
            snprintf(error, ISA_ERROR_BYTES, "%s has no instruction of this name", t->info.name);
            *end = s;
            return false;
        }
    }
    *end = p.far ? p.far : text;
    if (!error[0] || p.unknown_symbol)
        snprintf(error, ISA_ERROR_BYTES, "%s", p.why ? p.why : "cannot read this instruction");
    return false;
}
