/* Text to instructions, the inverse of print.c: every opcode whose mnemonic fits is tried with its syntax
 * program; optional operands are tried present and absent. The first that matches to the end and encodes is
 * it. Numbers may be expressions: `(label), (.L + 0x10 - .), `.` being the address of the instruction.
 * SPDX-License-Identifier: MIT */
#include "isa/parse.h"
#include <stdio.h>

/* ---- programs ---- */

static const char *match_syntax(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in, bool first);

static const char *one_operand(Parse *p, const char *s, const IsaSyn *syn, MachInst *in) {
    if (syn->op == SY_ADDRESS)
        return isa_parse_address(p, s, syn, in);
    if (syn->op == SY_CMEM)
        return isa_parse_indexed_cmem(p, s, syn, in);
    if (!(s = isa_parse_operand(p, s, syn, in)))
        return NULL;
    if (syn->text) {
        const char *e = isa_parse_suffix(s, syn->text);
        return e ? e : isa_parse_miss(p, s, "a suffix is missing");
    }
    return s;
}

static const char *separator(Parse *p, const char *s, const IsaSyn *syn, bool first) {
    if (first || syn->a) {
        const char *q = isa_parse_blanks(s);
        if (first && *q == ',') /* the specification writes "EXIT, P2" */
            return isa_parse_blanks(q + 1);
        return q > s ? q : isa_parse_miss(p, s, "expected a blank");
    }
    s = isa_parse_blanks(s);
    return *s == ',' ? isa_parse_blanks(s + 1) : isa_parse_miss(p, s, "expected ','");
}

/* The end of an instruction: ';', a comment, the end of the line. */
static bool at_end(const char *s) {
    s = isa_parse_blanks(s);
    return !*s || *s == ';' || *s == '\n' || *s == '\r' || ((s[0] == '/' || s[0] == '(') && s[1] == '*') ||
           (s[0] == '/' && s[1] == '/'); /* (* begins a note, see asm_text.c */
}

static bool may_skip(const Parse *parse, const IsaSyn *syn, const MachInst *in) {
    if (!(syn->flags & SF_IF_MOD))
        return syn->flags & SF_OPTIONAL;
    return (syn->op == SY_OPERAND && syn->c && isa_mod_get(parse->r, syn->c - 1u, in->mods)) ||
           !isa_mod_get(parse->r, syn->cond, in->mods);
}

static const char *match_syntax(Parse *parse, const char *s, const IsaSyn *syn, MachInst *in, bool first) {
    const IsaSyn *sep = NULL;
    if (++parse->steps > 2000)
        return isa_parse_miss(parse, s, "too many ways to read this");
    for (;; syn++) {
        if (syn->op == SY_END) {
            s = isa_parse_blanks(s);
            return at_end(s) ? s : isa_parse_miss(parse, s, "unexpected text");
        }
        if (syn->op == SY_SEP) {
            sep = syn;
            continue;
        }
        if (syn->op == SY_MODCOPY) {
            in->mods = isa_mod_put(parse->r, syn->a, in->mods, isa_mod_get(parse->r, syn->b, in->mods));
        } else if (syn->op == SY_MOD && sep) {
            const char *end = isa_parse_mod_word(parse, separator(parse, s, sep, first), s, syn, in);
            if (!end)
                return NULL;
            if (end != s) {
                s = end;
                first = false;
                sep = NULL;
            }
            continue;
        } else if (syn->op == SY_MOD || syn->op == SY_MODPAIR) {
            s = syn->op == SY_MOD ? isa_parse_mod_text(parse, s, syn->a, syn->mod_enum, in)
                                  : isa_parse_mod_pair(parse, s, syn, in);
        } else if (syn->op == SY_TEXT) {
            const char *q = sep ? separator(parse, s, sep, first) : s;
            size_t n = strlen(syn->text);
            if (!q || strncmp(q, syn->text, n))
                return isa_parse_miss(parse, q ? q : s, "another mnemonic");
            if (sep)
                first = false;
            sep = NULL;
            s = q + n;
        } else if (syn->op == SY_MODNUM) {
            int64_t v;
            if (!sep || !(s = separator(parse, s, sep, first)) || !(s = isa_parse_number(parse, s, &v)))
                return NULL;
            if (v < 0 || v >> isa_optypes[parse->r->optype].mods[syn->a].width)
                return isa_parse_miss(parse, s, "number is too large");
            in->mods = isa_mod_put(parse->r, syn->a, in->mods, (unsigned)v);
            first = false;
            sep = NULL;
        } else {
            bool skip = may_skip(parse, syn, in);
            MachInst with = *in;
            const char *q = sep ? separator(parse, s, sep, first) : s;
            const char *end = q ? one_operand(parse, q, syn, &with) : NULL;
            if (!skip && !end)
                return NULL;
            if (!skip) {
                *in = with;
                s = end;
                first = false;
                sep = NULL;
                continue;
            }
            if (end && (end = match_syntax(parse, end, syn + 1, &with, false))) {
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
static bool may_be(const IsaSyn *syn, const char *s) {
    if (syn->op != SY_TEXT)
        return false;
    const char *e = s;
    while (isa_parse_is_word_char((unsigned char)*e))
        e++;
    size_t n = (size_t)(e - s), m = strcspn(syn->text, ".");
    return n == m && !strncmp(s, syn->text, n);
}

static const char *guard(Parse *p, const char *s, Operand *out, bool *given) {
    *given = false;
    *out = op_pt();
    if (*s != '@')
        return s;
    s = isa_parse_blanks(s + 1);
    bool inv = *s == '!';
    s += inv;
    uint32_t n;
    RegFile file = *s == 'U' ? RF_UP : RF_P;
    if (!(s = isa_parse_reg(p, s, file, &n)))
        return NULL;
    *out = op_with(op_reg(file, n, 1), inv ? OPM_NOT : 0);
    *given = true;
    return isa_parse_blanks(s);
}

static bool guard_file(const IsaRow *row, RegFile *file) {
    for (unsigned i = 0; i < row->nfields; i++)
        if (isa_fields[row->field0 + i].kind == FK_GUARD) {
            *file = isa_value_file(isa_fields[row->field0 + i].type);
            return true;
        }
    return false;
}

static void start_inst(const IsaRow *row, const Operand *g, bool given, MachInst *in) {
    RegFile file = RF_P;
    *in = isa_inst(row->optype);
    in->opcode = row->opcode;
    guard_file(row, &file);
    in->guard = given ? *g : op_reg(file, isa_file_zero(file), 1);
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->kind == FK_MODFIXED)
            in->mods = isa_mod_put(row, field->index, in->mods, field->def);
    }
}

/* What decoding would yield: register counts, absent operands of the form as their defaults, derived marks.
 */
static bool finish_inst(const Target *t, const IsaRow *row, MachInst *in, char *error) {
    uint64_t word[2];
    MachInst again;
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->kind == FK_WIDE && isa_mod_get(row, field->def, in->mods))
            isa_slot_operand(in, field->index)->mods |= OPM_WIDE64;
        if (field->kind == FK_MODFIXED && isa_mod_get(row, field->index, in->mods) != field->def) {
            snprintf(error, ISA_ERROR_BYTES, "this target has no such modifier");
            return false;
        }
    }
    if (row->select && !isa_cond(row->select, row, in)) {
        snprintf(error, ISA_ERROR_BYTES, "these modifiers do not go together");
        return false;
    }
    if (!isa_encode_row(t, row, in, word, error) || !isa_decode(t, word, &again, error))
        return false;
    *in = again;
    return true;
}

static const char *try_row(Parse *parse, const IsaRow *row, const char *s, const Operand *g, bool given,
                           MachInst *out, char *error) {
    parse->r = row;
    for (unsigned n = row->nalias + 1u; n-- > 0;) { /* an alias may mean the same mnemonic in another way */
        unsigned k = n;
        const IsaSyn *y = &isa_syntax[k ? isa_aliases[row->alias0 + k - 1].syntax : row->syntax];
        if (!may_be(y, s))
            continue;
        parse->steps = 0;
        start_inst(row, g, given, out);
        const char *e = match_syntax(parse, s, y, out, true);
        if (!e)
            continue;
        if (k && isa_aliases[row->alias0 + k - 1].cond &&
            !isa_cond(isa_aliases[row->alias0 + k - 1].cond, row, out))
            continue;
        if (finish_inst(parse->t, row, out, error))
            return e;
    }
    return NULL;
}

bool isa_parse(const Target *target, const char *text, uint64_t pc_bytes, const IsaParseOptions *opt,
               MachInst *out, const char **end, char error[ISA_ERROR_BYTES]) {
    Parse p = {.t = target, .opt = opt, .pc = pc_bytes};
    Operand g;
    bool given, known = false;
    const char *s = guard(&p, isa_parse_blanks(text), &g, &given);
    error[0] = 0;
    *end = text;
    if (s) {
        for (unsigned i = 0; i < target->nrows; i++) {
            const IsaRow *row = &target->rows[i];
            bool may = may_be(&isa_syntax[row->syntax], s);
            for (unsigned k = 0; !may && k < row->nalias; k++)
                may = may_be(&isa_syntax[isa_aliases[row->alias0 + k].syntax], s);
            if (!may)
                continue;
            known = true;
            const char *e = try_row(&p, row, s, &g, given, out, error);
            if (e) {
                *end = e;
                return true;
            }
        }
        if (!known) {
            snprintf(error, ISA_ERROR_BYTES, "%s has no instruction of this name", target->info.name);
            *end = s;
            return false;
        }
    }
    *end = p.far ? p.far : text;
    if (!error[0] || p.unknown_symbol)
        snprintf(error, ISA_ERROR_BYTES, "%s", p.why ? p.why : "cannot read this instruction");
    return false;
}
