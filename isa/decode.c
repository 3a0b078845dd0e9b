/* Strict decoding: the low 12 bits choose a chain of opcodes, the fixed bits one of them; every other bit
 * belongs to a field or must be zero.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include <stdio.h>
#include <string.h>

static uint64_t get_bits(const uint64_t word[2], const IsaField *field) {
    uint64_t v = 0;
    unsigned at = 0;
    for (unsigned p = 0; p < field->nparts; p++) {
        unsigned lo = field->lo[p], w = field->w[p];
        uint64_t part = lo < 64 ? word[0] >> lo : word[1] >> (lo - 64);
        if (lo < 64 && lo + w > 64 && lo)
            part |= word[1] << (64 - lo);
        if (w < 64)
            part &= ((uint64_t)1 << w) - 1;
        v |= part << at;
        at += w;
    }
    return field->flags & FF_REVERSED ? ((uint64_t)1 << field->width) - 1 - v : v;
}

static int64_t field_number(const IsaField *field, uint64_t v) {
    int64_t x = (int64_t)v;
    if (field->type == VT_SIMM && field->width && field->width < 64 && v >> (field->width - 1) & 1)
        x -= (int64_t)1 << field->width;
    return x * field->scale + field->bias;
}

static void dec_operand(const IsaField *field, uint64_t v, MachInst *out) {
    Operand *operand = isa_slot_operand(out, field->index);
    uint8_t mods = operand->mods; /* attributes may have been decoded before */
    RegFile file = isa_value_file(field->type);
    if (file != RF_COUNT) {
        bool zero = file != RF_B && v == ((uint64_t)1 << field->width) - 1;
        *operand = op_reg(file, zero ? isa_file_zero(file) : (uint32_t)v, 1);
    } else if (field->type == VT_CMEM) {
        unsigned bank_bits = isa_bank_bits(field);
        *operand = op_cmem((unsigned)(v & ((1u << bank_bits) - 1)), (uint32_t)(v >> bank_bits));
        if (v >> bank_bits >> 16 & 1)
            operand->value |= OP_CMEM_BELOW;
    } else if (field->type == VT_SREG) {
        *operand = (Operand){OPK_SREG, 0, 0, 0, (uint32_t)v};
    } else if (field->flags & FF_WIDE_VALUE) {
        out->wide = field_number(field, v);
        *operand = (Operand){OPK_IMM64, 0, 0, 0, 0};
    } else {
        *operand = op_imm((uint32_t)field_number(field, v));
    }
    operand->mods = mods;
}

static bool dec_mod(const IsaRow *row, const IsaField *field, uint64_t v, MachInst *out, char *error) {
    const IsaEnum *isa_enum = field->enum_type ? &isa_enums[field->enum_type - 1] : NULL;
    unsigned sem = (unsigned)v;
    bool known = !isa_enum;
    for (unsigned k = 0; isa_enum && k < isa_enum->nvals && !known; k++)
        if (isa_enum->vals[k].enc == v) {
            sem = isa_enum->vals[k].sem;
            known = true;
        }
    if (!known) {
        snprintf(error, ISA_ERROR_BYTES, "%s: field %s has the undefined value %u",
                 isa_opcode_name(row->opcode), isa_optypes[row->optype].mods[field->index].name, (unsigned)v);
        return false;
    }
    out->mods = isa_mod_put(row, field->index, out->mods, sem);
    return true;
}

static void dec_attr(const IsaField *field, uint64_t v, MachInst *out) {
    Operand *operand = field->index == SLOT_NONE ? &out->guard : isa_slot_operand(out, field->index);
    if (field->attr == (3 << OPM_HALF_SHIFT))
        operand->mods = (uint8_t)(operand->mods | v << OPM_HALF_SHIFT);
    else if (v)
        operand->mods |= field->attr;
}

static void dec_ctrl(const IsaField *field, uint64_t v, Control *control) {
    uint8_t x = (uint8_t)v;
    switch (field->index) {
    case 0: control->stall_cycles = x; break;
    case 1: control->yield = !x; break;
    case 2: control->write_sb = x; break;
    case 3: control->read_sb = x; break;
    default: control->wait_mask = x; break;
    }
}

/* Modifiers come first, because conditions of other fields ask for them. */
static bool dec_mods(const IsaRow *row, const uint64_t word[2], MachInst *out, bool *conditional,
                     char *error) {
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        *conditional = *conditional || field->when;
        if (field->kind == FK_MODFIXED)
            out->mods = isa_mod_put(row, field->index, out->mods, field->def);
        else if (field->kind == FK_MOD && !field->when &&
                 !dec_mod(row, field, get_bits(word, field), out, error))
            return false;
    }
    return true;
}

static bool dec_fields(const IsaRow *row, const uint64_t word[2], MachInst *out, char *error) {
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->when && !isa_cond(field->when, row, out))
            continue;
        uint64_t v = get_bits(word, field);
        switch (field->kind) {
        case FK_GUARD:
            out->guard.kind = OPK_REG;
            out->guard.file = (uint8_t)isa_value_file(field->type);
            out->guard.count = 1;
            out->guard.value = (uint32_t)v;
            break;
        case FK_OPERAND: dec_operand(field, v, out); break;
        case FK_ATTR: dec_attr(field, v, out); break;
        case FK_MOD:
            if (field->when && !dec_mod(row, field, v, out, error))
                return false;
            break;
        case FK_CTRL: dec_ctrl(field, v, &out->ctrl); break;
        case FK_WIDE:
            if (isa_mod_get(row, field->def, out->mods))
                isa_slot_operand(out, field->index)->mods |= OPM_WIDE64;
            break;
        default: break;
        }
    }
    return true;
}

/* How many registers each operand takes; what takes several starts at a multiple of their number. */
static bool count_regs(const IsaRow *row, MachInst *out, char *error) {
    for (unsigned s = 0; s < SLOT_COUNT; s++) {
        Operand *operand = isa_slot_operand(out, s);
        if (operand->kind != OPK_REG)
            continue;
        operand->count = (uint8_t)isa_slot_regs(row, s, out);
        if (!isa_is_aligned(row->optype, operand, operand->count)) {
            snprintf(error, ISA_ERROR_BYTES, "%s: operand %s %s", isa_opcode_name(row->opcode),
                     isa_slot_name(row, s), isa_aligned_text(row->optype, operand->count));
            return false;
        }
    }
    return true;
}

static bool dec_row(const Target *t, const IsaRow *row, const uint64_t word[2], MachInst *out, char *error) {
    uint64_t bad[2] = {word[0] & row->zero[0], word[1] & row->zero[1]};
    if (bad[0] | bad[1]) {
        unsigned bit = bad[0] ? (unsigned)__builtin_ctzll(bad[0]) : 64 + (unsigned)__builtin_ctzll(bad[1]);
        snprintf(error, ISA_ERROR_BYTES,
                 "%s: bit %u is set and belongs to no field (word 0x%016llx 0x%016llx)",
                 isa_opcode_name(row->opcode), bit, (unsigned long long)word[0], (unsigned long long)word[1]);
        return false;
    }
    const IsaOptype *isa_optype = &isa_optypes[row->optype];
    memset(out, 0, sizeof *out);
    out->opcode = row->opcode;
    out->optype = row->optype;
    out->ndst = isa_optype->ndst;
    out->nsrc = isa_optype->nsrc;
    out->ctrl = CONTROL_DEFAULT;
    bool conditional = false;
    if (!dec_mods(row, word, out, &conditional, error))
        return false;
    if (row->select && !isa_cond(row->select, row, out)) {
        snprintf(error, ISA_ERROR_BYTES, "%s: this opcode is not used with these modifiers",
                 isa_opcode_name(row->opcode));
        return false;
    }
    if (!dec_fields(row, word, out, error))
        return false;
    if (!count_regs(row, out, error))
        return false;
    uint64_t again[2];
    if (!conditional && !row->nexcept)
        return true;
    if (!isa_encode_row(t, row, out, again, error))
        return false;
    if (again[0] == word[0] && again[1] == word[1])
        return true;
    snprintf(error, ISA_ERROR_BYTES, "%s: bits of an absent field are set", isa_opcode_name(row->opcode));
    return false;
}

static bool has_fixed_bits(const IsaRow *row, const uint64_t word[2]) {
    return (word[0] & row->mask[0]) == row->value[0] && (word[1] & row->mask[1]) == row->value[1];
}

bool isa_may_be(const Target *target, const uint64_t word[2], bool (*is)(unsigned optype)) {
    unsigned at = target->decode[word[0] & 0xfff];
    for (; at && target->chain[at - 1]; at++) {
        const IsaRow *row = &target->rows[target->chain[at - 1] - 1];
        if (has_fixed_bits(row, word) && is(row->optype))
            return true;
    }
    return false;
}

bool isa_decode(const Target *target, const uint64_t word[2], MachInst *out, char error[ISA_ERROR_BYTES]) {
    error[0] = 0;
    unsigned at = target->decode[word[0] & 0xfff];
    for (; at && target->chain[at - 1]; at++) {
        const IsaRow *row = &target->rows[target->chain[at - 1] - 1];
        if (has_fixed_bits(row, word) && dec_row(target, row, word, out, error))
            return true;
    }
    if (!error[0])
        snprintf(error, ISA_ERROR_BYTES, "unknown opcode 0x%03x (word 0x%016llx 0x%016llx)",
                 (unsigned)(word[0] & 0xfff), (unsigned long long)word[0], (unsigned long long)word[1]);
    return false;
}
