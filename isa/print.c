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

static void put(Print *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(Print *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(p->n < p->cap ? p->out + p->n : NULL, p->n < p->cap ? p->cap - p->n : 0, fmt, ap);
    va_end(ap);
    if (k > 0)
        p->n += (size_t)k;
}

static void put_hex(Print *p, int64_t v) {
    if (v < 0)
        put(p, "-0x%llx", (unsigned long long)(0 - (uint64_t)v));
    else
        put(p, "0x%llx", (unsigned long long)v);
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

static void put_float(Print *p, double v, bool canonical_nan, bool negative, uint32_t bits) {
    if (isnan(v) && canonical_nan)
        put(p, negative ? "-QNAN" : "+QNAN");
    else if (isnan(v))
        put(p, "0x%x", bits); /* other NaNs keep their bits */
    else if (isinf(v))
        put(p, v < 0 ? "-INF" : "+INF");
    else if (v == 0 && signbit(v))
        put(p, "-0.0");
    else
        put(p, fabs(v) >= 1e9 ? "%.20e" : "%.20g", v);
}

static int find_mod(const IsaRow *r, const char *name) {
    const IsaOptype *o = &isa_optypes[r->optype];
    for (unsigned i = 0; i < o->nmods; i++)
        if (!strcmp(o->mods[i].name, name))
            return (int)i;
    return -1;
}

static bool mod_set(const IsaRow *r, const MachInst *in, const char *name) {
    int m = find_mod(r, name);
    return m >= 0 && isa_mod_get(r, (unsigned)m, in->mods);
}

static void put_halves(Print *p, uint32_t bits) {
    bool bf16 = mod_set(p->r, p->in, "bf16");
    for (unsigned i = 0; i < 2; i++) {
        uint32_t h = i ? bits & 0xffff : bits >> 16;
        put_float(p, half_value(h, bf16), (h & 0x7fff) == (bf16 ? 0x7fc0 : 0x7e00), h >> 15, h);
        if (!i)
            put(p, ", ");
    }
}

static void put_imm(Print *p, const IsaField *f, uint32_t bits) {
    float s;
    double d;
    uint64_t wide = (uint64_t)bits << 32;
    switch (f->type) {
    case VT_F32:
        memcpy(&s, &bits, 4);
        put_float(p, (double)s, (bits & 0x7fffffff) == 0x7fc00000, bits >> 31, bits);
        break;
    case VT_F64:
        memcpy(&d, &wide, 8);
        put_float(p, d, (bits & 0x7fffffff) == 0x7ff80000, bits >> 31, bits);
        break;
    case VT_H2: put_halves(p, bits); break;
    case VT_SIMM: put_hex(p, (int32_t)bits); break;
    default: put(p, "0x%x", bits);
    }
}

/* ---- operands ---- */

static const char *const half_text[] = {"", ".F32", ".H0_H0", ".H1_H1"};

static void put_reg_name(Print *p, const Operand *o, bool pair) {
    static const char *const prefix[] = {"R", "P", "UR", "UP", "B"};
    static const char *const zero[] = {"RZ", "PT", "URZ", "UPT", "B?"};
    if (o->file >= RF_COUNT)
        put(p, "?");
    else if (o->file != RF_B && o->value == isa_file_zero((RegFile)o->file))
        put(p, "%s", zero[o->file]);
    else if (pair && o->count > 1)
        put(p, "%s[%u:%u]", prefix[o->file], o->value, o->value + o->count - 1);
    else
        put(p, "%s%u", prefix[o->file], o->value);
}

static void put_signed16(Print *p, uint32_t offset) { put_hex(p, (int16_t)(uint16_t)offset); }

/* What the field prints when the operand is absent. */
static Operand effective(const IsaField *f, const Operand *o) {
    RegFile file = isa_value_file(f->type);
    if (o->kind != OPK_NONE)
        return *o;
    if (file == RF_COUNT)
        return op_imm(f->flags & FF_DEFAULT ? f->def : 0);
    return op_reg(file, f->flags & FF_DEFAULT ? f->def : isa_file_zero(file), 1);
}

static bool inverted_default(const Print *p, unsigned slot) {
    for (unsigned i = 0; i < p->r->nfields; i++) {
        const IsaField *f = &isa_fields[p->r->field0 + i];
        if (f->kind == FK_ATTR && f->index == slot && f->flags & FF_INVERT)
            return true;
    }
    return false;
}

static Operand slot_value(const Print *p, unsigned slot) {
    const Operand *o = isa_slot_const(p->in, slot);
    Operand e = effective(isa_slot_field(p->r, slot), o);
    if (o->kind == OPK_NONE && inverted_default(p, slot))
        e.mods |= OPM_NOT;
    return e;
}

static void put_target(Print *p, const IsaSyn *y) {
    int64_t v = p->in->wide;
    if (y->fmt == SYF_TARGET || y->fmt == SYF_HERE) {
        v += (int64_t)p->pc + (y->fmt == SYF_TARGET ? INST_BYTES : 0);
        const char *name = p->opt && p->opt->label ? p->opt->label(p->opt->user, (uint64_t)v) : NULL;
        if (name) {
            put(p, "`(%s)", name);
            return;
        }
    }
    put_hex(p, v);
}

/* Bars and signs around the operand's text; returns what closes them. */
static const char *open_mods(Print *p, const Operand *o) {
    if (o->mods & OPM_NEG)
        put(p, mod_set(p->r, p->in, "x") ? "~" : "-");
    if (o->mods & OPM_NOT)
        put(p, o->file == RF_P || o->file == RF_UP ? "!" : "~");
    if (o->mods & OPM_ABS)
        put(p, "|");
    return o->mods & OPM_ABS ? "|" : "";
}

static unsigned shown_mod(const Print *p, unsigned mod) { return isa_mod_get(p->r, mod, p->in->mods); }

static void put_mod(Print *p, unsigned mod, unsigned enum_type) {
    if (!enum_type)
        return;
    const char *text = isa_enum_text(&isa_enums[enum_type - 1], shown_mod(p, mod));
    if (!text)
        put(p, ".?%u", shown_mod(p, mod));
    else if (*text)
        put(p, ".%s", text);
}

static void put_operand(Print *p, const IsaSyn *y) {
    const IsaField *f = isa_slot_field(p->r, y->a);
    Operand o = slot_value(p, y->a);
    const char *half = half_text[o.mods >> OPM_HALF_SHIFT & 3];
    if (f->flags & FF_WIDE_VALUE) {
        put_target(p, y);
        return;
    }
    if (o.kind == OPK_IMM) {
        put_imm(p, f, o.value);
        return;
    }
    if (o.kind == OPK_SREG) {
        for (unsigned i = 0; i < p->t->nsregs; i++)
            if (p->t->sregs[i].number == o.value) {
                put(p, "%s", p->t->sregs[i].text);
                return;
            }
        put(p, "SR%u", o.value);
        return;
    }
    const char *bar = open_mods(p, &o);
    if (o.kind == OPK_CMEM) {
        put(p, "c[0x%x][", o.value >> 16);
        put_signed16(p, o.value);
        put(p, "]%s", half);
        if (y->mod)
            put_mod(p, y->mod - 1u, y->mod_enum);
        put(p, "%s", bar);
        return;
    }
    put_reg_name(p, &o, y->fmt == SYF_PAIR);
    if (y->mod)
        put_mod(p, y->mod - 1u, y->mod_enum);
    if (o.file == RF_UR)
        put(p, "%s%s", half, bar);
    else
        put(p, "%s%s%s", bar, o.mods & OPM_REUSE ? ".reuse" : "", half);
}

static void put_mod_pair(Print *p, const IsaSyn *y) {
    unsigned b = y->mod - 1u;
    const IsaOptype *o = &isa_optypes[p->r->optype];
    if (shown_mod(p, y->a) == o->mods[y->a].def && shown_mod(p, b) == o->mods[b].def)
        return;
    const char *x = isa_enum_text(&isa_enums[y->mod_enum - 1], shown_mod(p, y->a));
    const char *z = isa_enum_text(&isa_enums[y->mod_enum2 - 1], shown_mod(p, b));
    put(p, ".%s%s", x ? x : "?", z ? z : "?");
}

static bool is_zero_reg(const Operand *o) {
    return o->kind == OPK_NONE || (o->kind == OPK_REG && o->value == isa_file_zero((RegFile)o->file));
}

static int64_t offset_value(const Print *p, unsigned slot) {
    const Operand *o = isa_slot_const(p->in, slot);
    return o->kind == OPK_IMM ? (int32_t)o->value : 0;
}

/* "[R2.64+UR4+0x10]". nvdisasm leaves out RZ where there is no stride and a UR or an offset follows; URZ is
 * left out behind a 64-bit register, whose suffix already tells the form. */
static void put_address(Print *p, const IsaSyn *y) {
    bool has_ur = y->b != SLOT_NONE, parts = false;
    Operand ra = slot_value(p, y->a), ur = has_ur ? slot_value(p, y->b) : (Operand){0};
    bool desc = has_ur && mod_set(p->r, p->in, "desc");
    bool stride = y->mod && shown_mod(p, y->mod - 1u);
    int64_t off = y->c != SLOT_NONE ? offset_value(p, y->c) : 0;
    bool wide = ra.mods & OPM_WIDE64 && p->r->regs[y->a] & REGS_WIDE;
    bool marked = false; /* the form has a bit of its own for the register's size */
    for (unsigned i = 0; i < p->r->nfields; i++) {
        const IsaField *f = &isa_fields[p->r->field0 + i];
        marked = marked || (f->kind == FK_ATTR && f->index == y->a && f->attr == OPM_WIDE64);
    }
    if (desc) {
        put(p, "desc[");
        put_reg_name(p, &ur, false);
        put(p, "]");
    }
    put(p, "[");
    /* RZ with the size that .E says needs no words. */
    bool show_ra = !is_zero_reg(&ra) || stride || (marked && wide != mod_set(p->r, p->in, "e"));
    bool show_ur = has_ur && !desc && !(is_zero_reg(&ur) && marked && wide && show_ra);
    if (show_ra || (!show_ur && !off)) {
        put_reg_name(p, &ra, false);
        if (marked && wide)
            put(p, ".64");
        else if (marked && (show_ur || desc) && show_ra)
            put(p, ".U32");
        if (y->mod)
            put_mod(p, y->mod - 1u, y->mod_enum);
        parts = true;
    }
    if (show_ur) {
        put(p, parts ? "+" : "");
        put_reg_name(p, &ur, false);
        parts = true;
    }
    if (off || !parts) {
        put(p, parts ? "+" : "");
        if (!parts && off < 0) /* an absolute address is unsigned */
            off += (int64_t)1 << isa_slot_field(p->r, y->c)->width;
        put_hex(p, off);
    }
    put(p, "]");
}

static void put_cmem(Print *p, const IsaSyn *y) {
    Operand c = slot_value(p, y->a);
    put(p, "c[0x%x][", c.value >> 16);
    int64_t off = (int16_t)(uint16_t)c.value;
    if (y->b != SLOT_NONE) {
        Operand ra = slot_value(p, y->b);
        if (!is_zero_reg(&ra) || ra.file == RF_UR || !off) {
            put_reg_name(p, &ra, false);
            if (off) {
                put(p, "+");
                put_hex(p, off);
            }
            put(p, "]");
            return;
        }
    }
    put_hex(p, off);
    put(p, "]");
}

/* ---- programs ---- */

static bool is_default_operand(const Print *p, unsigned slot) {
    const Operand *o = isa_slot_const(p->in, slot);
    const IsaField *f = isa_slot_field(p->r, slot);
    if (!f || o->kind == OPK_NONE)
        return true;
    if (o->kind == OPK_REG && o->file < RF_COUNT) {
        unsigned def = f->flags & FF_DEFAULT ? f->def : isa_file_zero((RegFile)o->file);
        return o->value == def && (o->mods & ~OPM_WIDE64) == (inverted_default(p, slot) ? OPM_NOT : 0);
    }
    if (f->flags & FF_WIDE_VALUE)
        return p->in->wide == 0;
    return o->kind == OPK_IMM && o->value == (f->flags & FF_DEFAULT ? f->def : 0);
}

static bool shown(const Print *p, const IsaSyn *y) {
    if (y->flags & SF_IF_NEXT) {
        const IsaSyn *next = y + 1;
        while (next->op == SY_SEP)
            next++;
        if (next->op == SY_OPERAND && !is_default_operand(p, next->a))
            return true;
    }
    if (y->flags & SF_IF_MOD) {
        bool unless = y->op == SY_OPERAND && y->c && shown_mod(p, y->c - 1u);
        return (shown_mod(p, y->cond) && !unless) || !is_default_operand(p, y->a);
    }
    if (!(y->flags & SF_OPTIONAL))
        return true;
    if (y->op == SY_ADDRESS)
        return !is_default_operand(p, y->a) || (y->c != SLOT_NONE && offset_value(p, y->c));
    if (y->flags & SF_IF_SLOT && !is_default_operand(p, y->cond))
        return true;
    return !is_default_operand(p, y->a);
}

static void run(Print *p, const IsaSyn *y) {
    const IsaSyn *sep = NULL;
    bool first = true;
    for (; y->op != SY_END; y++) {
        if (y->op == SY_SEP) {
            sep = y;
            continue;
        }
        bool operand = y->op == SY_OPERAND || y->op == SY_ADDRESS || y->op == SY_CMEM;
        if (operand && !shown(p, y))
            continue;
        if (sep) {
            put(p, first || sep->a ? " " : ", ");
            first = false;
            sep = NULL;
        }
        if (y->op == SY_TEXT)
            put(p, "%s", y->text);
        else if (y->op == SY_MOD)
            put_mod(p, y->a, y->mod_enum);
        else if (y->op == SY_MODPAIR)
            put_mod_pair(p, y);
        else if (y->op == SY_MODNUM)
            put(p, "0x%x", shown_mod(p, y->a));
        else if (y->op == SY_ADDRESS)
            put_address(p, y);
        else if (y->op == SY_CMEM)
            put_cmem(p, y);
        else if (y->op == SY_OPERAND)
            put_operand(p, y);
        if (y->op == SY_OPERAND && y->text)
            put(p, "%s", y->text);
    }
}

int isa_print(const Target *t, const MachInst *in, uint64_t pc_bytes, const IsaPrintOptions *opt, char *out,
              size_t out_bytes) {
    const IsaRow *r = NULL;
    if (out_bytes)
        out[0] = 0;
    if (in->optype < isa_noptypes && in->opcode)
        for (unsigned i = t->first[in->optype]; i < t->first[in->optype + 1]; i++)
            if (t->rows[i].opcode == in->opcode)
                r = &t->rows[i];
    if (!r)
        r = isa_select_row(t, in);
    Print p = {out, out_bytes, 0, t, r, in, pc_bytes, opt};
    if (!r) {
        put(&p, "??? %s", isa_optype_name(in->optype));
        return (int)p.n;
    }
    if (!op_is_always(in->guard)) {
        put(&p, in->guard.mods & OPM_NOT ? "@!" : "@");
        put_reg_name(&p, &in->guard, false);
        put(&p, " ");
    }
    const IsaSyn *program = &isa_syntax[r->syntax];
    for (unsigned i = 0; i < r->nalias; i++) {
        const IsaAlias *a = &isa_aliases[r->alias0 + i];
        if (isa_cond(a->cond, r, in)) {
            program = &isa_syntax[a->syntax];
            break;
        }
    }
    run(&p, program);
    return (int)p.n;
}
