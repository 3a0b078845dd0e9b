/* Encoding: choosing the opcode from the operand kinds, then one field after the other.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include <stdio.h>
#include <string.h>

/* ---- choosing the opcode ---- */

/* An operand that a form without this slot may ignore. */
static bool is_absent(const Operand *operand) {
    if (operand->kind == OPK_NONE)
        return true;
    return operand->kind == OPK_REG && operand->file < RF_COUNT && operand->file != RF_B &&
           operand->value == isa_file_zero((RegFile)operand->file) && !(operand->mods & ~OPM_WIDE64);
}

static bool imm_fits(const IsaField *field, uint32_t bits) {
    if (!field->nparts) /* the one number that the opcode implies */
        return bits == field->def;
    if (field->width >= 32 || field->scale > 1 || field->bias)
        return true;
    if (field->type == VT_SIMM) {
        int32_t v = (int32_t)bits, lim = (int32_t)1 << (field->width - 1);
        return v >= -lim && v < lim;
    }
    return bits >> field->width == 0;
}

static bool operand_fits(const IsaRow *row, unsigned slot, const Operand *operand) {
    const IsaField *field = isa_slot_field(row, slot);
    if (!field)
        return is_absent(operand);
    unsigned mods = operand->mods;
    if (operand->kind == OPK_NONE)
        return field->type != VT_CMEM && field->type != VT_SREG && field->type != VT_BREG;
    if (mods & ~(unsigned)row->attrs[slot])
        return false;
    switch (field->type) {
    case VT_REG:
    case VT_UREG:
    case VT_PRED:
    case VT_UPRED:
    case VT_BREG:
        return (operand->kind == OPK_REG || operand->kind == OPK_VAL) &&
               operand->file == (uint8_t)isa_value_file(field->type);
    case VT_CMEM: return operand->kind == OPK_CMEM;
    case VT_SREG: return operand->kind == OPK_SREG;
    default:
        if (field->flags & FF_WIDE_VALUE)
            return operand->kind == OPK_IMM64 || operand->kind == OPK_IMM || operand->kind == OPK_BLOCK ||
                   operand->kind == OPK_SYM;
        return operand->kind == OPK_SYM || (operand->kind == OPK_IMM && imm_fits(field, operand->value));
    }
}

static bool row_fits(const IsaRow *row, const MachInst *in) {
    if (in->mods & ~row->mods_mask) /* a modifier that this opcode lacks is not its default */
        return false;
    if ((in->mods & row->fixed_mask) != row->fixed_mods)
        return false;
    const IsaOptype *isa_optype = &isa_optypes[row->optype];
    for (unsigned i = isa_optype->nsrc; i-- > 0;) /* forms differ in their last operands */
        if (!operand_fits(row, i + SLOT_SRC, &in->src[i]))
            return false;
    for (unsigned i = 0; i < isa_optype->ndst; i++)
        if (!operand_fits(row, i, &in->dst[i]))
            return false;
    return !row->select || isa_cond(row->select, row, in);
}

const IsaRow *isa_select_row(const Target *target, const MachInst *in) {
    if (in->optype >= isa_noptypes)
        return NULL;
    for (unsigned i = target->first[in->optype]; i < target->first[in->optype + 1]; i++)
        if (row_fits(&target->rows[i], in))
            return &target->rows[i];
    return NULL;
}

unsigned isa_select_opcode(const Target *t, const MachInst *in) {
    const IsaRow *row = isa_select_row(t, in);
    return row ? row->opcode : 0;
}

/* ---- fields ---- */

static void put_bits(uint64_t word[2], const IsaField *field, uint64_t v) {
    for (unsigned p = 0; v && p < field->nparts; p++) { /* most fields are 0, and so is the word so far */
        unsigned lo = field->lo[p], w = field->w[p];
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
    unsigned ctrl[5]; /* by index of FK_CTRL */
} Enc;

static bool refuse(const Enc *enc, const char *what, unsigned slot) {
    snprintf(enc->error, ISA_ERROR_BYTES, "%s: operand %s %s", isa_opcode_name(enc->r->opcode),
             isa_slot_name(enc->r, slot), what);
    return false;
}

static bool enc_reg(const Enc *enc, const IsaField *field, const Operand *operand, unsigned slot,
                    uint64_t *v) {
    RegFile file = isa_value_file(field->type);
    unsigned zero = isa_file_zero(file), ones = (1u << field->width) - 1; /* how `zero` is written */
    if (operand->kind == OPK_NONE && file != RF_B) {
        *v = field->flags & FF_DEFAULT && field->def != zero ? field->def : ones;
        return true;
    }
    if (operand->kind != OPK_REG || operand->file != (uint8_t)file)
        return refuse(enc, "must be a register of another file", slot);
    if (file != RF_B && operand->value == zero) {
        *v = ones;
        return true;
    }
    if (operand->value >> field->width || (file != RF_B && operand->value == ones))
        return refuse(enc, "has a register number that does not exist", slot);
    unsigned n = slot == SLOT_NONE ? 1 : isa_slot_regs(enc->r, slot, enc->in);
    if (n > 1 && !isa_is_aligned(enc->in->optype, operand, n))
        return refuse(enc, isa_aligned_text(enc->in->optype, n), slot);
    *v = operand->value;
    return true;
}

static bool enc_number(const Enc *e, const IsaField *field, int64_t value, unsigned slot, uint64_t *v) {
    int64_t x = value - field->bias;
    if (field->scale > 1) {
        if (x % field->scale)
            return refuse(e, "is not a multiple of its unit", slot);
        x /= field->scale;
    }
    if (!field->nparts)
        return x == 0 || refuse(e, "is implied, and another number", slot);
    if (field->width < 64 && field->type == VT_SIMM) {
        int64_t lim = (int64_t)1 << (field->width - 1);
        if (x < -lim || x >= lim)
            return refuse(e, "is out of range", slot);
    } else if (field->width < 64 && (uint64_t)x >> field->width) {
        return refuse(e, "is out of range", slot);
    }
    *v = (uint64_t)x;
    return true;
}

static bool enc_imm(const Enc *enc, const IsaField *field, const Operand *operand, unsigned slot,
                    uint64_t *v) {
    int64_t value;
    if (operand->kind == OPK_NONE)
        value = field->flags & FF_DEFAULT ? (int32_t)field->def : 0;
    else if (operand->kind == OPK_IMM64 && field->flags & FF_WIDE_VALUE)
        value = enc->in->wide;
    else if (operand->kind != OPK_IMM)
        return refuse(enc, "must be an immediate", slot);
    else
        value = field->type == VT_SIMM ? (int64_t)(int32_t)operand->value : (int64_t)operand->value;
    if (field->width == 32 && field->scale == 1 && !field->bias) {
        *v = (uint32_t)value;
        if (field->flags & FF_WIDE_VALUE || value == (int64_t)(int32_t)value ||
            value == (int64_t)(uint32_t)value)
            return true;
        return refuse(enc, "is out of range", slot);
    }
    return enc_number(enc, field, value, slot, v);
}

static bool enc_operand(const Enc *enc, const IsaField *field, uint64_t *v) {
    const Operand *operand = isa_slot_const(enc->in, field->index);
    switch (field->type) {
    case VT_REG:
    case VT_UREG:
    case VT_PRED:
    case VT_UPRED:
    case VT_BREG: return enc_reg(enc, field, operand, field->index, v);
    case VT_CMEM: {
        unsigned bank_bits = isa_bank_bits(field), bank = op_cmem_bank(*operand);
        bool below = operand->value & OP_CMEM_BELOW;
        if (operand->kind != OPK_CMEM)
            return refuse(enc, "must be a constant", field->index);
        if (bank >> bank_bits)
            return refuse(enc, "names a constant bank that does not exist", field->index);
        if (below && !isa_has_long_offset(field))
            return refuse(enc, "has an offset that is out of range", field->index);
        *v = (uint64_t)(op_cmem_offset(*operand) | (uint32_t)below << 16) << bank_bits | bank;
        return true;
    }
    case VT_SREG:
        *v = operand->value;
        return (operand->kind == OPK_SREG && operand->value < 256) ||
               refuse(enc, "must be a special register", field->index);
    default: return enc_imm(enc, field, operand, field->index, v);
    }
}

static bool enc_mod(const Enc *e, const IsaField *field, uint64_t *v) {
    unsigned sem = isa_mod_get(e->r, field->index, e->in->mods);
    *v = sem;
    if (!field->enum_type)
        return sem >> field->width == 0 || refuse(e, "", SLOT_NONE);
    const IsaEnum *en = &isa_enums[field->enum_type - 1];
    if (en->plain && sem >> en->width == 0 && en->width <= 6 && en->legal >> sem & 1)
        return true;
    for (unsigned k = 0; k < en->nvals; k++)
        if (en->vals[k].sem == sem) {
            *v = en->vals[k].enc;
            return true;
        }
    snprintf(e->error, ISA_ERROR_BYTES, "%s: modifier %s has no value %u", isa_opcode_name(e->r->opcode),
             isa_optypes[e->r->optype].mods[field->index].name, sem);
    return false;
}

static uint64_t enc_attr(const Enc *enc, const IsaField *field) {
    const Operand *operand =
        field->index == SLOT_NONE ? &enc->in->guard : isa_slot_const(enc->in, field->index);
    if (field->attr == (3 << OPM_HALF_SHIFT))
        return operand->mods >> OPM_HALF_SHIFT & 3u;
    if (operand->kind == OPK_NONE)
        return field->flags & FF_INVERT ? 1 : 0;
    return (operand->mods & field->attr) != 0;
}

static bool enc_ctrl(const Enc *enc, const IsaField *field, uint64_t *v) {
    *v = enc->ctrl[field->index];
    if (*v >> field->width == 0)
        return true;
    snprintf(enc->error, ISA_ERROR_BYTES, "%s: control value %u is out of range",
             isa_opcode_name(enc->r->opcode), enc->ctrl[field->index]);
    return false;
}

/* A field that is not there: its modifier has the default, or another field that is. */
static bool enc_absent(const Enc *enc, const IsaField *field) {
    if (field->kind != FK_MOD || isa_mod_get(enc->r, field->index, enc->in->mods) == field->def)
        return true;
    for (unsigned i = 0; i < enc->r->nfields; i++) {
        const IsaField *other = &isa_fields[enc->r->field0 + i];
        if (other->kind == FK_MOD && other->index == field->index && other != field &&
            (!other->when || isa_cond(other->when, enc->r, enc->in)))
            return true;
    }
    snprintf(enc->error, ISA_ERROR_BYTES, "%s: modifier %s is not there with these others",
             isa_opcode_name(enc->r->opcode), isa_optypes[enc->r->optype].mods[field->index].name);
    return false;
}

static bool enc_field(const Enc *enc, const IsaField *field, uint64_t word[2]) {
    uint64_t v = 0;
    bool ok = true;
    if (field->when && !isa_cond(field->when, enc->r, enc->in))
        return enc_absent(enc, field);
    switch (field->kind) {
    case FK_GUARD:
        v = isa_file_zero(isa_value_file(field->type)); /* "always" is the same in both files */
        ok = op_is_always(enc->in->guard) || enc_reg(enc, field, &enc->in->guard, SLOT_NONE, &v);
        break;
    case FK_OPERAND: ok = enc_operand(enc, field, &v); break;
    case FK_ATTR: v = enc_attr(enc, field); break;
    case FK_MOD: ok = enc_mod(enc, field, &v); break;
    case FK_CTRL: ok = enc_ctrl(enc, field, &v); break;
    default: return true;
    }
    if (field->flags & FF_REVERSED)
        v = (((uint64_t)1 << field->width) - 1) - v;
    put_bits(word, field, v);
    return ok;
}

bool isa_encode_row(const Target *t, const IsaRow *row, const MachInst *in, uint64_t word[2], char *error) {
    (void)t;
    const Control *control = &in->ctrl;
    Enc e = {.r = row,
             .in = in,
             .error = error,
             .ctrl = {control->stall_cycles, !control->yield, control->write_sb, control->read_sb,
                      control->wait_mask}};
    uint64_t w[2] = {row->value[0], row->value[1]};
    for (unsigned i = 0; i < row->nfields; i++)
        if (!enc_field(&e, &isa_fields[row->field0 + i], w))
            return false;
    for (unsigned i = 0; i < row->nexcept; i++) {
        const IsaException *exception = &isa_exceptions[row->except0 + i];
        if (isa_cond(exception->cond, row, in)) {
            snprintf(error, ISA_ERROR_BYTES, "%s: %s", isa_opcode_name(row->opcode), exception->text);
            return false;
        }
    }
    word[0] = w[0];
    word[1] = w[1];
    return true;
}

/* Why no opcode fits: name the first operand that none of the opcodes takes. */
static bool no_form(const Target *target, const MachInst *in, char *error) {
    const IsaOptype *isa_optype = &isa_optypes[in->optype];
    for (unsigned s = 0; s < SLOT_COUNT; s++) {
        bool any = false;
        if (s < SLOT_SRC ? s >= isa_optype->ndst : s - SLOT_SRC >= isa_optype->nsrc)
            continue;
        for (unsigned i = target->first[in->optype]; i < target->first[in->optype + 1] && !any; i++)
            any = operand_fits(&target->rows[i], s, isa_slot_const(in, s));
        if (!any) {
            snprintf(error, ISA_ERROR_BYTES, "%s has no form that takes this operand %s", isa_optype->name,
                     isa_optype->slots[s < SLOT_SRC ? s : s - SLOT_SRC + isa_optype->ndst]);
            return false;
        }
    }
    snprintf(error, ISA_ERROR_BYTES, "%s has no form that takes these operands and modifiers together",
             isa_optype->name);
    return false;
}

bool isa_encode(const Target *target, const MachInst *in, uint64_t word[2], char error[ISA_ERROR_BYTES]) {
    if (in->optype == 0 || in->optype >= isa_noptypes || !isa_target_has(target, in->optype)) {
        snprintf(error, ISA_ERROR_BYTES, "%s has no instruction %s", target->info.name,
                 isa_optype_name(in->optype));
        return false;
    }
    const IsaRow *r = NULL;
    if (in->opcode)
        for (unsigned i = target->first[in->optype]; i < target->first[in->optype + 1] && !r; i++)
            if (target->rows[i].opcode == in->opcode && row_fits(&target->rows[i], in))
                r = &target->rows[i];
    if (!r && !(r = isa_select_row(target, in)))
        return no_form(target, in, error);
    return isa_encode_row(target, r, in, word, error);
}
