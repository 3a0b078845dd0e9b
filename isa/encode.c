/* Encoding: choosing the opcode from the operand kinds, then one field after the other.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include <stdio.h>
#include <string.h>

/* ---- choosing the opcode ---- */

/* An operand that a form without this slot may ignore. */
static bool is_absent(const Operand *o) {
    if (o->kind == OPK_NONE)
        return true;
    return o->kind == OPK_REG && o->file < RF_COUNT && o->file != RF_B &&
           o->value == isa_file_zero((RegFile)o->file) && !(o->mods & ~OPM_WIDE64);
}

static bool imm_fits(const IsaField *f, uint32_t bits) {
    if (f->width >= 32 || f->scale > 1 || f->bias)
        return true;
    if (f->type == VT_SIMM) {
        int32_t v = (int32_t)bits, lim = (int32_t)1 << (f->width - 1);
        return v >= -lim && v < lim;
    }
    return bits >> f->width == 0;
}

bool isa_operand_fits(const IsaRow *r, unsigned slot, const Operand *o, const MachInst *in) {
    (void)in;
    const IsaField *f = isa_slot_field(r, slot);
    if (!f)
        return is_absent(o);
    unsigned mods = o->mods;
    if (o->kind == OPK_NONE)
        return f->type != VT_CMEM && f->type != VT_SREG && f->type != VT_BREG;
    if (mods & ~(unsigned)r->attrs[slot])
        return false;
    switch (f->type) {
    case VT_REG:
    case VT_UREG:
    case VT_PRED:
    case VT_UPRED:
    case VT_BREG:
        return (o->kind == OPK_REG || o->kind == OPK_VAL) && o->file == (uint8_t)isa_value_file(f->type);
    case VT_CMEM: return o->kind == OPK_CMEM;
    case VT_SREG: return o->kind == OPK_SREG;
    default:
        if (f->flags & FF_WIDE_VALUE)
            return o->kind == OPK_IMM64 || o->kind == OPK_IMM || o->kind == OPK_BLOCK || o->kind == OPK_SYM;
        return o->kind == OPK_SYM || (o->kind == OPK_IMM && imm_fits(f, o->value));
    }
}

static bool fixed_mods_fit(const IsaRow *r, const MachInst *in) {
    if (in->mods & ~r->mods_mask) /* a modifier that this opcode lacks is not its default */
        return false;
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        if (f->kind == FK_MODFIXED && isa_mod_get(r, f->index, in->mods) != f->def)
            return false;
    }
    return !r->select || isa_cond(r->select, r, in);
}

static bool row_fits(const IsaRow *r, const MachInst *in) {
    const IsaOptype *t = &isa_optypes[r->optype];
    for (unsigned i = 0; i < t->ndst; i++)
        if (!isa_operand_fits(r, i, &in->dst[i], in))
            return false;
    for (unsigned i = 0; i < t->nsrc; i++)
        if (!isa_operand_fits(r, i + SLOT_SRC, &in->src[i], in))
            return false;
    return fixed_mods_fit(r, in);
}

const IsaRow *isa_select_row(const Target *t, const MachInst *in) {
    if (in->optype >= isa_noptypes)
        return NULL;
    for (unsigned i = t->first[in->optype]; i < t->first[in->optype + 1]; i++)
        if (row_fits(&t->rows[i], in))
            return &t->rows[i];
    return NULL;
}

unsigned isa_select_opcode(const Target *t, const MachInst *in) {
    const IsaRow *r = isa_select_row(t, in);
    return r ? r->opcode : 0;
}

/* ---- fields ---- */

static void put_bits(uint64_t word[2], const IsaField *f, uint64_t v) {
    for (unsigned p = 0; p < f->nparts; p++) {
        unsigned lo = f->lo[p], w = f->w[p];
        uint64_t part = w == 64 ? v : v & (((uint64_t)1 << w) - 1);
        if (lo < 64) {
            word[0] |= part << lo;
            if (lo + w > 64)
                word[1] |= part >> (64 - lo);
        } else {
            word[1] |= part << (lo - 64);
        }
        v = w == 64 ? 0 : v >> w;
    }
}

typedef struct {
    const IsaRow *r;
    const MachInst *in;
    char *error;
} Enc;

static const char *slot_name(const Enc *e, unsigned slot) {
    const IsaOptype *t = &isa_optypes[e->r->optype];
    if (slot == SLOT_NONE)
        return "guard";
    return t->slots[slot < SLOT_SRC ? slot : slot - SLOT_SRC + t->ndst];
}

static bool fail(const Enc *e, const char *what, unsigned slot) {
    snprintf(e->error, ISA_ERROR_BYTES, "%s: operand %s %s", isa_opcode_name(e->r->opcode),
             slot_name(e, slot), what);
    return false;
}

static bool enc_reg(const Enc *e, const IsaField *f, const Operand *o, unsigned slot, uint64_t *v) {
    RegFile file = isa_value_file(f->type);
    unsigned zero = isa_file_zero(file);
    if (o->kind == OPK_NONE && file != RF_B) {
        *v = f->flags & FF_DEFAULT ? f->def : zero;
        return true;
    }
    if (o->kind != OPK_REG || o->file != (uint8_t)file)
        return fail(e, "must be a register of another file", slot);
    if (o->value >> f->width)
        return fail(e, "has a register number that does not exist", slot);
    unsigned n = slot == SLOT_NONE ? 1 : isa_slot_regs(e->r, slot, e->in);
    if (n > 1 && o->value != zero && o->value % n)
        return fail(e, n == 2 ? "must be an even register" : "must be a register divisible by 4", slot);
    *v = o->value;
    return true;
}

static bool enc_number(const Enc *e, const IsaField *f, int64_t value, unsigned slot, uint64_t *v) {
    int64_t x = value - f->bias;
    if (f->scale > 1) {
        if (x % f->scale)
            return fail(e, "is not a multiple of its unit", slot);
        x /= f->scale;
    }
    if (f->width < 64 && f->type == VT_SIMM) {
        int64_t lim = (int64_t)1 << (f->width - 1);
        if (x < -lim || x >= lim)
            return fail(e, "is out of range", slot);
    } else if (f->width < 64 && (uint64_t)x >> f->width) {
        return fail(e, "is out of range", slot);
    }
    *v = (uint64_t)x;
    return true;
}

static bool enc_imm(const Enc *e, const IsaField *f, const Operand *o, unsigned slot, uint64_t *v) {
    int64_t value;
    if (o->kind == OPK_NONE)
        value = f->flags & FF_DEFAULT ? (int32_t)f->def : 0;
    else if (o->kind == OPK_IMM64 && f->flags & FF_WIDE_VALUE)
        value = e->in->wide;
    else if (o->kind != OPK_IMM)
        return fail(e, "must be an immediate", slot);
    else
        value = f->type == VT_SIMM ? (int64_t)(int32_t)o->value : (int64_t)o->value;
    if (f->width == 32 && f->scale == 1 && !f->bias) {
        *v = (uint32_t)value;
        if (f->flags & FF_WIDE_VALUE || value == (int64_t)(int32_t)value || value == (int64_t)(uint32_t)value)
            return true;
        return fail(e, "is out of range", slot);
    }
    return enc_number(e, f, value, slot, v);
}

static bool enc_operand(const Enc *e, const IsaField *f, uint64_t *v) {
    const Operand *o = isa_slot_const(e->in, f->index);
    switch (f->type) {
    case VT_REG:
    case VT_UREG:
    case VT_PRED:
    case VT_UPRED:
    case VT_BREG: return enc_reg(e, f, o, f->index, v);
    case VT_CMEM: {
        unsigned bank_bits = f->width - 16u, bank = o->value >> 16;
        if (o->kind != OPK_CMEM)
            return fail(e, "must be a constant", f->index);
        if (bank >> bank_bits)
            return fail(e, "names a constant bank that does not exist", f->index);
        *v = (uint64_t)(o->value & 0xffff) << bank_bits | bank;
        return true;
    }
    case VT_SREG:
        *v = o->value;
        return (o->kind == OPK_SREG && o->value < 256) || fail(e, "must be a special register", f->index);
    default: return enc_imm(e, f, o, f->index, v);
    }
}

static bool enc_mod(const Enc *e, const IsaField *f, uint64_t *v) {
    unsigned sem = isa_mod_get(e->r, f->index, e->in->mods);
    *v = sem;
    if (!f->enum_type)
        return sem >> f->width == 0 || fail(e, "", SLOT_NONE);
    const IsaEnum *en = &isa_enums[f->enum_type - 1];
    if (en->plain && sem >> en->width == 0 && en->width <= 6 && en->legal >> sem & 1)
        return true;
    for (unsigned k = 0; k < en->nvals; k++)
        if (en->vals[k].sem == sem) {
            *v = en->vals[k].enc;
            return true;
        }
    snprintf(e->error, ISA_ERROR_BYTES, "%s: modifier %s has no value %u", isa_opcode_name(e->r->opcode),
             isa_optypes[e->r->optype].mods[f->index].name, sem);
    return false;
}

static uint64_t enc_attr(const Enc *e, const IsaField *f) {
    const Operand *o = f->index == SLOT_NONE ? &e->in->guard : isa_slot_const(e->in, f->index);
    if (f->attr == (3 << OPM_HALF_SHIFT))
        return o->mods >> OPM_HALF_SHIFT & 3u;
    if (o->kind == OPK_NONE)
        return f->flags & FF_INVERT ? 1 : 0;
    return (o->mods & f->attr) != 0;
}

static bool enc_ctrl(const Enc *e, const IsaField *f, uint64_t *v) {
    const Control *c = &e->in->ctrl;
    const unsigned values[] = {c->stall_cycles, !c->yield, c->write_sb, c->read_sb, c->wait_mask};
    *v = values[f->index];
    if (*v >> f->width == 0)
        return true;
    snprintf(e->error, ISA_ERROR_BYTES, "%s: control value %u is out of range", isa_opcode_name(e->r->opcode),
             values[f->index]);
    return false;
}

static bool enc_field(const Enc *e, const IsaField *f, uint64_t word[2]) {
    uint64_t v = 0;
    bool ok = true;
    if (f->when && !isa_cond(f->when, e->r, e->in))
        return true;
    switch (f->kind) {
    case FK_GUARD:
        v = isa_file_zero(isa_value_file(f->type)); /* "always" is the same in both files */
        ok = op_is_always(e->in->guard) || enc_reg(e, f, &e->in->guard, SLOT_NONE, &v);
        break;
    case FK_OPERAND: ok = enc_operand(e, f, &v); break;
    case FK_ATTR: v = enc_attr(e, f); break;
    case FK_MOD: ok = enc_mod(e, f, &v); break;
    case FK_CTRL: ok = enc_ctrl(e, f, &v); break;
    default: return true;
    }
    if (f->flags & FF_REVERSED)
        v = (((uint64_t)1 << f->width) - 1) - v;
    put_bits(word, f, v);
    return ok;
}

bool isa_encode_row(const Target *t, const IsaRow *r, const MachInst *in, uint64_t word[2], char *error) {
    (void)t;
    Enc e = {r, in, error};
    uint64_t w[2] = {r->value[0], r->value[1]};
    for (unsigned i = 0; i < r->nfields; i++)
        if (!enc_field(&e, &isa_fields[r->field0 + i], w))
            return false;
    for (unsigned i = 0; i < r->nexcept; i++) {
        const IsaException *x = &isa_exceptions[r->except0 + i];
        if (isa_cond(x->cond, r, in)) {
            snprintf(error, ISA_ERROR_BYTES, "%s: %s", isa_opcode_name(r->opcode), x->text);
            return false;
        }
    }
    word[0] = w[0];
    word[1] = w[1];
    return true;
}

/* Why no opcode fits: name the first operand that none of the opcodes takes. */
static bool no_form(const Target *t, const MachInst *in, char *error) {
    const IsaOptype *o = &isa_optypes[in->optype];
    for (unsigned s = 0; s < SLOT_COUNT; s++) {
        bool any = false;
        if (s < SLOT_SRC ? s >= o->ndst : s - SLOT_SRC >= o->nsrc)
            continue;
        for (unsigned i = t->first[in->optype]; i < t->first[in->optype + 1] && !any; i++)
            any = isa_operand_fits(&t->rows[i], s, isa_slot_const(in, s), in);
        if (!any) {
            snprintf(error, ISA_ERROR_BYTES, "%s has no form that takes this operand %s", o->name,
                     o->slots[s < SLOT_SRC ? s : s - SLOT_SRC + o->ndst]);
            return false;
        }
    }
    snprintf(error, ISA_ERROR_BYTES, "%s has no form that takes these operands and modifiers together",
             o->name);
    return false;
}

bool isa_encode(const Target *t, const MachInst *in, uint64_t word[2], char error[ISA_ERROR_BYTES]) {
    if (in->optype == 0 || in->optype >= isa_noptypes || !isa_target_has(t, in->optype)) {
        snprintf(error, ISA_ERROR_BYTES, "%s has no instruction %s", t->info.name,
                 isa_optype_name(in->optype));
        return false;
    }
    const IsaRow *r = NULL;
    if (in->opcode)
        for (unsigned i = t->first[in->optype]; i < t->first[in->optype + 1] && !r; i++)
            if (t->rows[i].opcode == in->opcode && row_fits(&t->rows[i], in))
                r = &t->rows[i];
    if (!r && !(r = isa_select_row(t, in)))
        return no_form(t, in, error);
    return isa_encode_row(t, r, in, word, error);
}
