/* Instructions as text: nvdisasm's syntax for NVIDIA's layout, the specification's for bru1's branch and
 * barrier units. The syntax program of the opcode says what is printed; see isa/tables.h.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include <math.h>
#include <stdio.h>
#include <stdarg.h>
#include <string.h>

typedef struct {
    char *out;
    size_t cap, n; /* n may exceed cap: the length that would be needed */
    const Target *t;
    const IsaRow *r;
    const MachInst *in;
    uint64_t pc;
    const IsaPrintOptions *opt;
} Print;

static void print_text(Print *print, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print_text(Print *print, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(print->n < print->cap ? print->out + print->n : NULL,
                      print->n < print->cap ? print->cap - print->n : 0, fmt, ap);
    va_end(ap);
    if (k > 0)
        print->n += (size_t)k;
}

static void put_hex(Print *p, int64_t v) {
    if (v < 0)
        print_text(p, "-0x%llx", (unsigned long long)(0 - (uint64_t)v));
    else
        print_text(p, "0x%llx", (unsigned long long)v);
}

/* ---- numbers ---- */

static double half_value(uint32_t h, bool bf16) {
    uint32_t bits = h << 16;
    if (!bf16) {
        uint32_t e = h >> 10 & 31, m = h & 0x3ff;
        double v = e == 31 ? (m ? (double)NAN : (double)INFINITY)
                   : e     ? ldexp((double)(m | 0x400), (int)e - 25)
                           : ldexp((double)m, -24);
        return h & 0x8000 ? -v : v;
    }
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* v: what `bits` are, in whose format the sign and the bit of quiet NaNs are these. nvdisasm does not say
 * which NaN it is; here all but the ones with the quiet bit alone have their bits behind the name. */
static void put_float(Print *p, double v, uint32_t bits, uint32_t sign, uint32_t quiet) {
    if (isnan(v)) {
        print_text(p, "%c%cNAN", bits & sign ? '-' : '+', bits & quiet ? 'Q' : 'S');
        if ((bits & (2 * quiet - 1)) != quiet)
            print_text(p, "(0x%x)", bits);
    } else if (isinf(v))
        print_text(p, v < 0 ? "-INF" : "+INF");
    else if (v == 0 && signbit(v))
        print_text(p, "-0.0");
    else
        print_text(p, fabs(v) >= 1e9 ? "%.20e" : "%.20g", v);
}

static void put_half(Print *print, uint32_t h, bool bf16) {
    put_float(print, half_value(h, bf16), h, 0x8000, bf16 ? 0x40 : 0x200);
}

static unsigned mod_bits(const IsaRow *r, const MachInst *in, const char *name) {
    int m = isa_mod_find(r, name);
    return m >= 0 ? isa_mod_get(r, (unsigned)m, in->mods) : 0;
}
static bool mod_set(const IsaRow *r, const MachInst *in, const char *name) {
    return mod_bits(r, in, name) != 0;
}

static void put_halves(Print *print, uint32_t bits) {
    bool bf16 = mod_set(print->r, print->in, "bf16");
    for (unsigned i = 0; i < 2; i++) {
        put_half(print, i ? bits & 0xffff : bits >> 16, bf16);
        if (!i)
            print_text(print, ", ");
    }
}

static void put_imm(Print *p, const IsaField *field, uint32_t bits) {
    float s;
    double d;
    uint64_t wide = (uint64_t)bits << 32;
    ImmHalf half;
    switch (isa_imm_type(p->r, p->in, field->type, &half)) {
    case VT_F32:
        memcpy(&s, &bits, 4);
        put_float(p, (double)s, bits, 0x80000000, 0x400000);
        break;
    case VT_F64:
        memcpy(&d, &wide, 8);
        put_float(p, d, bits, 0x80000000, 0x80000);
        break;
    case VT_H2:
        if (!half)
            put_halves(p, bits);
        else if (bits >> 16)
            print_text(p, "0x%x", bits);
        else
            put_half(p, bits, half == IMM_BF16);
        break;
    case VT_SIMM: put_hex(p, (int32_t)bits); break;
    default: print_text(p, "0x%x", bits);
    }
}

/* ---- operands ---- */

static const char *const half_text[] = {"", ".F32", ".H0_H0", ".H1_H1"};

static void put_reg_name(Print *p, const Operand *operand, bool pair) {
    static const char *const prefix[] = {"R", "P", "UR", "UP", "B"};
    static const char *const zero[] = {"RZ", "PT", "URZ", "UPT", "B?"};
    if (operand->file >= RF_COUNT)
        print_text(p, "?");
    else if (operand->file != RF_B && operand->value == isa_file_zero((RegFile)operand->file))
        print_text(p, "%s", zero[operand->file]);
    else if (pair && operand->count > 1)
        print_text(p, "%s[%u:%u]", prefix[operand->file], operand->value,
                   operand->value + operand->count - 1);
    else
        print_text(p, "%s%u", prefix[operand->file], operand->value);
}

/* Of 16 bits, or of 17 with their sign. */
static int64_t bank_offset(const IsaField *field, const Operand *c) {
    if (!isa_has_long_offset(field))
        return (int16_t)(uint16_t)c->value;
    return (int64_t)op_cmem_offset(*c) - (c->value & OP_CMEM_BELOW ? 0x10000 : 0);
}

/* What the field prints when the operand is absent. */
static Operand effective(const IsaField *field, const Operand *operand) {
    RegFile file = isa_value_file(field->type);
    if (operand->kind != OPK_NONE)
        return *operand;
    if (file == RF_COUNT)
        return op_imm(field->flags & FF_DEFAULT ? field->def : 0);
    return op_reg(file, field->flags & FF_DEFAULT ? field->def : isa_file_zero(file), 1);
}

static bool inverted_default(const Print *print, unsigned slot) {
    for (unsigned i = 0; i < print->r->nfields; i++) {
        const IsaField *field = &isa_fields[print->r->field0 + i];
        if (field->kind == FK_ATTR && field->index == slot && field->flags & FF_INVERT)
            return true;
    }
    return false;
}

static Operand slot_value(const Print *print, unsigned slot) {
    const Operand *operand = isa_slot_const(print->in, slot);
    Operand e = effective(isa_slot_field(print->r, slot), operand);
    if (operand->kind == OPK_NONE && inverted_default(print, slot))
        e.mods |= OPM_NOT;
    return e;
}

static void put_target(Print *print, const IsaSyn *syn) {
    int64_t v = print->in->wide;
    if (syn->fmt == SYF_TARGET || syn->fmt == SYF_HERE) {
        v += (int64_t)print->pc + (syn->fmt == SYF_TARGET ? INST_BYTES : 0);
        const char *name =
            print->opt && print->opt->label ? print->opt->label(print->opt->user, (uint64_t)v) : NULL;
        if (name) {
            print_text(print, "`(%s)", name);
            return;
        }
    }
    if (isa_slot_field(print->r, syn->a)->type == VT_UIMM)
        print_text(print, "0x%llx", (unsigned long long)v);
    else
        put_hex(print, v);
}

/* Bars and signs around the operand's text; returns what closes them. */
static const char *open_mods(Print *print, const Operand *operand) {
    if (operand->mods & OPM_NEG)
        print_text(print, mod_set(print->r, print->in, "x") ? "~" : "-");
    if (operand->mods & OPM_NOT)
        print_text(print, operand->file == RF_P || operand->file == RF_UP ? "!" : "~");
    if (operand->mods & OPM_ABS)
        print_text(print, "|");
    return operand->mods & OPM_ABS ? "|" : "";
}

static unsigned shown_mod(const Print *print, unsigned mod) {
    return isa_mod_get(print->r, mod, print->in->mods);
}

static void put_mod(Print *p, unsigned mod, unsigned enum_type) {
    if (!enum_type)
        return;
    const char *text = isa_enum_text(&isa_enums[enum_type - 1], shown_mod(p, mod));
    if (!text)
        print_text(p, ".?%u", shown_mod(p, mod));
    else if (*text)
        print_text(p, ".%s", text);
}

/* "{5,2}" */
static void put_set(Print *print, uint32_t set) {
    for (unsigned bit = 32, n = 0; bit-- > 0;)
        if (set >> bit & 1)
            print_text(print, n++ ? ",%u" : "{%u", bit);
    print_text(print, set ? "}" : "{}");
}

static void put_operand(Print *print, const IsaSyn *syn) {
    const IsaField *field = isa_slot_field(print->r, syn->a);
    Operand o = slot_value(print, syn->a);
    const char *half = half_text[o.mods >> OPM_HALF_SHIFT & 3];
    if (field->flags & FF_WIDE_VALUE) {
        put_target(print, syn);
        return;
    }
    if (o.kind == OPK_IMM) {
        if (syn->fmt == SYF_SET)
            put_set(print, o.value);
        else
            put_imm(print, field, o.value);
        if (syn->mod)
            put_mod(print, syn->mod - 1u, syn->mod_enum);
        return;
    }
    if (o.kind == OPK_SREG) {
        for (unsigned i = 0; i < print->t->nsregs; i++)
            if (print->t->sregs[i].number == o.value) {
                print_text(print, "%s", print->t->sregs[i].text);
                return;
            }
        print_text(print, "SR%u", o.value);
        return;
    }
    const char *bar = open_mods(print, &o);
    if (o.kind == OPK_CMEM) {
        print_text(print, "c[0x%x][", op_cmem_bank(o));
        put_hex(print, bank_offset(field, &o));
        print_text(print, "]%s", half);
        if (syn->mod)
            put_mod(print, syn->mod - 1u, syn->mod_enum);
        print_text(print, "%s", bar);
        return;
    }
    bool described = syn->fmt == SYF_GDESC || syn->fmt == SYF_DESC;
    if (described)
        print_text(print, syn->fmt == SYF_GDESC ? "gdesc[" : "desc[");
    put_reg_name(print, &o, syn->fmt == SYF_PAIR);
    if (described)
        print_text(print, "]");
    if (syn->fmt == SYF_BEHIND) {
        print_text(print, "%s", bar);
        bar = "";
    }
    bool reused = o.file != RF_UR && o.mods & OPM_REUSE;
    bool first = reused && syn->mod && !*bar; /* nvdisasm: R5.reuse.24 */
    print_text(print, "%s", first ? ".reuse" : "");
    if (syn->mod)
        put_mod(print, syn->mod - 1u, syn->mod_enum);
    if (o.file == RF_UR)
        print_text(print, "%s%s", half, bar);
    else
        print_text(print, "%s%s%s", bar, reused && !first ? ".reuse" : "", half);
}

static void put_mod_pair(Print *print, const IsaSyn *syn) {
    unsigned b = syn->mod - 1u;
    const IsaOptype *isa_optype = &isa_optypes[print->r->optype];
    if (shown_mod(print, syn->a) == isa_optype->mods[syn->a].def &&
        shown_mod(print, b) == isa_optype->mods[b].def)
        return;
    const char *x = isa_enum_text(&isa_enums[syn->mod_enum - 1], shown_mod(print, syn->a));
    const char *z = isa_enum_text(&isa_enums[syn->mod_enum2 - 1], shown_mod(print, b));
    print_text(print, ".%s%s", x ? x : "?", z ? z : "?");
}

static bool is_zero_reg(const Operand *operand) {
    return operand->kind == OPK_NONE ||
           (operand->kind == OPK_REG && operand->value == isa_file_zero((RegFile)operand->file));
}

static int64_t offset_value(const Print *print, unsigned slot) {
    const Operand *operand = isa_slot_const(print->in, slot);
    return operand->kind == OPK_IMM ? (int32_t)operand->value : 0;
}

/* "[R2.64+UR4+0x10]". nvdisasm leaves out RZ where there is no stride and a UR or an offset follows; URZ is
 * left out behind a 64-bit register, whose suffix already tells the form, but where the UR is the form's own.
 */
static void put_address(Print *print, const IsaSyn *syn) {
    bool has_ur = syn->b != SLOT_NONE, parts = false;
    bool has_ra = syn->a != SLOT_NONE;
    Operand ra = has_ra ? slot_value(print, syn->a) : (Operand){0},
            ur = has_ur ? slot_value(print, syn->b) : (Operand){0};
    unsigned desc = has_ur && syn->fmt != SYF_OWN ? mod_bits(print->r, print->in, "desc") : Descriptor_NONE;
    ur.value += syn->fmt == SYF_NEXT && !is_zero_reg(&ur);
    bool stride = syn->mod && shown_mod(print, syn->mod - 1u);
    int64_t off = syn->c != SLOT_NONE ? offset_value(print, syn->c) : 0;
    bool wide = has_ra && ra.mods & OPM_WIDE64 && print->r->regs[syn->a] & REGS_WIDE;
    bool marked = false; /* the form has a bit of its own for the register's size */
    for (unsigned i = 0; i < print->r->nfields; i++) {
        const IsaField *field = &isa_fields[print->r->field0 + i];
        marked = marked || (field->kind == FK_ATTR && field->index == syn->a && field->attr == OPM_WIDE64);
    }
    if (desc) {
        print_text(print, "desc[");
        put_reg_name(print, &ur, false);
        print_text(print, desc == Descriptor_POLICY ? ".POLICY]" : "]");
    }
    print_text(print, "[");
    /* RZ with the size that .E says needs no words. */
    bool show_ra =
        (has_ra && !is_zero_reg(&ra)) || stride || (marked && wide != mod_set(print->r, print->in, "e"));
    bool implied = is_zero_reg(&ur) && marked && wide && show_ra && syn->fmt != SYF_OWN;
    bool show_ur = has_ur && !desc && syn->fmt != SYF_NEXT && !implied;
    if (show_ra || (has_ra && !show_ur && !off)) {
        put_reg_name(print, &ra, false);
        if (marked && wide)
            print_text(print, ".64");
        else if (marked && (show_ur || desc) && show_ra)
            print_text(print, ".U32");
        if (syn->mod)
            put_mod(print, syn->mod - 1u, syn->mod_enum);
        parts = true;
    }
    if (show_ur) {
        print_text(print, parts ? "+" : "");
        put_reg_name(print, &ur, false);
        parts = true;
    }
    if (off || !parts) {
        print_text(print, parts ? "+" : "");
        if (!parts && off < 0) /* an absolute address is unsigned */
            off += (int64_t)1 << isa_slot_field(print->r, syn->c)->width;
        put_hex(print, off);
    }
    print_text(print, "]");
}

static void put_cmem(Print *p, const IsaSyn *syn) {
    Operand c = slot_value(p, syn->a);
    print_text(p, "c[0x%x][", op_cmem_bank(c));
    int64_t off = bank_offset(isa_slot_field(p->r, syn->a), &c);
    if (syn->b != SLOT_NONE) {
        Operand ra = slot_value(p, syn->b);
        if (!is_zero_reg(&ra) || !isa_may_lack(isa_slot_field(p->r, syn->b)) || !off) {
            put_reg_name(p, &ra, false);
            if (off) {
                print_text(p, "+");
                put_hex(p, off);
            }
            print_text(p, "]");
            return;
        }
    }
    put_hex(p, off);
    print_text(p, "]");
}

/* ---- programs ---- */

static bool is_default_operand(const Print *print, unsigned slot) {
    const Operand *operand = isa_slot_const(print->in, slot);
    const IsaField *field = isa_slot_field(print->r, slot);
    if (!field || operand->kind == OPK_NONE)
        return true;
    if (operand->kind == OPK_REG && operand->file < RF_COUNT) {
        unsigned def = field->flags & FF_DEFAULT ? field->def : isa_file_zero((RegFile)operand->file);
        return operand->value == def &&
               (operand->mods & ~OPM_WIDE64) == (inverted_default(print, slot) ? OPM_NOT : 0);
    }
    if (field->flags & FF_WIDE_VALUE)
        return print->in->wide == 0;
    return operand->kind == OPK_IMM && operand->value == (field->flags & FF_DEFAULT ? field->def : 0);
}

static bool shown(const Print *p, const IsaSyn *syn) {
    if (syn->flags & SF_IF_NEXT) {
        const IsaSyn *next = syn + 1;
        while (next->op == SY_SEP)
            next++;
        if (next->op == SY_OPERAND && !is_default_operand(p, next->a))
            return true;
    }
    if (syn->flags & SF_IF_MOD) {
        bool unless = syn->op == SY_OPERAND && syn->c && shown_mod(p, syn->c - 1u);
        return (shown_mod(p, syn->cond) && !unless) || !is_default_operand(p, syn->a);
    }
    if (!(syn->flags & SF_OPTIONAL))
        return true;
    if (syn->op == SY_ADDRESS)
        return !is_default_operand(p, syn->a) || (syn->c != SLOT_NONE && offset_value(p, syn->c));
    if (syn->flags & SF_IF_SLOT && !is_default_operand(p, syn->cond))
        return true;
    return !is_default_operand(p, syn->a);
}

/* The text of a modifier that stands as an operand. */
static const char *mod_word(const Print *print, const IsaSyn *syn) {
    const char *text = isa_enum_text(&isa_enums[syn->mod_enum - 1], shown_mod(print, syn->a));
    return text ? text : "?";
}

static void run(Print *p, const IsaSyn *syn) {
    const IsaSyn *sep = NULL;
    bool first = true;
    for (; syn->op != SY_END; syn++) {
        if (syn->op == SY_SEP) {
            sep = syn;
            continue;
        }
        bool operand = syn->op == SY_OPERAND || syn->op == SY_ADDRESS || syn->op == SY_CMEM;
        if (operand && !shown(p, syn))
            continue;
        const char *word = syn->op == SY_MOD && sep ? mod_word(p, syn) : NULL;
        if (word && !*word)
            continue;
        if (sep) {
            print_text(p, first || sep->a ? " " : ", ");
            first = false;
            sep = NULL;
        }
        if (syn->op == SY_TEXT)
            print_text(p, "%s", syn->text);
        else if (word)
            print_text(p, "%s", word);
        else if (syn->op == SY_MOD)
            put_mod(p, syn->a, syn->mod_enum);
        else if (syn->op == SY_MODPAIR)
            put_mod_pair(p, syn);
        else if (syn->op == SY_MODNUM)
            print_text(p, "0x%x", shown_mod(p, syn->a));
        else if (syn->op == SY_ADDRESS)
            put_address(p, syn);
        else if (syn->op == SY_CMEM)
            put_cmem(p, syn);
        else if (syn->op == SY_OPERAND)
            put_operand(p, syn);
        if (syn->op == SY_OPERAND && syn->text)
            print_text(p, "%s", syn->text);
    }
}

int isa_print(const Target *target, const MachInst *in, uint64_t pc_bytes, const IsaPrintOptions *opt,
              char *out, size_t out_bytes) {
    const IsaRow *row = NULL;
    if (out_bytes)
        out[0] = 0;
    if (in->optype < isa_noptypes && in->opcode)
        for (unsigned i = target->first[in->optype]; i < target->first[in->optype + 1]; i++)
            if (target->rows[i].opcode == in->opcode)
                row = &target->rows[i];
    if (!row)
        row = isa_select_row(target, in);
    Print p = {out, out_bytes, 0, target, row, in, pc_bytes, opt};
    if (!row) {
        print_text(&p, "??? %s", isa_optype_name(in->optype));
        return (int)p.n;
    }
    if (!op_is_always(in->guard)) {
        print_text(&p, in->guard.mods & OPM_NOT ? "@!" : "@");
        put_reg_name(&p, &in->guard, false);
        print_text(&p, " ");
    }
    const IsaSyn *program = &isa_syntax[row->syntax];
    for (unsigned i = 0; i < row->nalias; i++) {
        const IsaAlias *alias = &isa_aliases[row->alias0 + i];
        if (alias->cond && isa_cond(alias->cond, row, in)) {
            program = &isa_syntax[alias->syntax];
            break;
        }
    }
    run(&p, program);
    return (int)p.n;
}
