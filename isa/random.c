/* Random legal instructions of one opcode, for tests: every operand kind that the opcode takes, registers
 * aligned to their width, conditions and encoding errors respected.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "isa/tables.h"

static unsigned random_mod(const IsaField *field, uint64_t *state) {
    if (field->enum_type) {
        const IsaEnum *isa_enum = &isa_enums[field->enum_type - 1];
        return isa_enum->vals[rng_next(state) % isa_enum->nvals].sem;
    }
    return (unsigned)(rng_next(state) & (((uint64_t)1 << field->width) - 1));
}

/* Those under a condition last, because it asks for the others. */
static void random_mods(const IsaRow *row, uint64_t *state, MachInst *out) {
    unsigned drawn[256];
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->kind != FK_MOD && field->kind != FK_MODFIXED)
            continue;
        drawn[i] = field->kind == FK_MOD ? random_mod(field, state) : field->def;
        out->mods = isa_mod_put(row, field->index, out->mods, field->when ? field->def : drawn[i]);
    }
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->kind == FK_MOD && field->when && isa_cond(field->when, row, out))
            out->mods = isa_mod_put(row, field->index, out->mods, drawn[i]);
    }
}

/* A register number of the file, a quarter of the time the one that reads as zero. */
static uint32_t random_reg(const IsaRow *row, const IsaField *field, unsigned regs, uint64_t *state) {
    RegFile file = isa_value_file(field->type);
    uint64_t x = rng_next(state);
    uint32_t max = file == RF_B ? 16 : (1u << field->width) - 1;
    if (file != RF_B && x >> 62 == 0)
        return isa_file_zero(file);
    uint32_t n = (uint32_t)(x % max);
    uint32_t group = isa_register_group(row->optype, regs);
    if (regs > 4 && group < 8)
        group = 8; /* so wide ones lie in fewer places */
    if (file == RF_R && n + regs > max)
        n = max - regs;
    return n / group * group;
}

static int64_t random_number(const IsaField *field, uint64_t *state) {
    uint64_t x = rng_next(state) & (field->width < 64 ? ((uint64_t)1 << field->width) - 1 : ~(uint64_t)0);
    int64_t v = (int64_t)x;
    if (field->type == VT_SIMM && field->width && x >> (field->width - 1) & 1)
        v -= (int64_t)1 << field->width;
    return v * field->scale + field->bias;
}

static void random_operand(const IsaRow *r, const IsaField *field, uint64_t *state, MachInst *out) {
    Operand *operand = isa_slot_operand(out, field->index);
    uint8_t mods = operand->mods;
    RegFile file = isa_value_file(field->type);
    if (file != RF_COUNT) {
        unsigned regs = isa_slot_regs(r, field->index, out);
        *operand = op_reg(file, random_reg(r, field, regs, state), regs);
    } else if (field->type == VT_CMEM) {
        unsigned banks = 1u << isa_bank_bits(field);
        uint64_t x = rng_next(state);
        *operand = op_cmem((unsigned)(x % (banks < 32 ? banks : 32)), (uint32_t)(x >> 32 & 0xfffc));
        operand->value |= isa_has_long_offset(field) && x >> 31 & 1 ? OP_CMEM_BELOW : 0;
    } else if (field->type == VT_SREG) {
        *operand = (Operand){OPK_SREG, 0, 0, 0, (uint32_t)(rng_next(state) & 255)};
    } else if (field->flags & FF_WIDE_VALUE) {
        out->wide = random_number(field, state);
        *operand = (Operand){OPK_IMM64, 0, 0, 0, 0};
    } else {
        *operand = op_imm((uint32_t)random_number(field, state));
    }
    operand->mods = mods;
}

static void random_attr(const IsaRow *r, const IsaField *field, uint64_t *state, MachInst *out) {
    Operand *operand = field->index == SLOT_NONE ? &out->guard : isa_slot_operand(out, field->index);
    uint64_t x = rng_next(state);
    (void)r;
    if (field->attr == (3 << OPM_HALF_SHIFT))
        operand->mods = (uint8_t)(operand->mods | (x & 3) << OPM_HALF_SHIFT);
    else if (x & 1)
        operand->mods |= field->attr;
}

static void random_fields(const IsaRow *row, uint64_t *state, MachInst *out) {
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->when && !isa_cond(field->when, row, out))
            continue;
        if (field->kind == FK_ATTR)
            random_attr(row, field, state, out);
        else if (field->kind == FK_WIDE && isa_mod_get(row, field->def, out->mods))
            isa_slot_operand(out, field->index)->mods |= OPM_WIDE64;
    }
    for (unsigned i = 0; i < row->nfields; i++) {
        const IsaField *field = &isa_fields[row->field0 + i];
        if (field->when && !isa_cond(field->when, row, out))
            continue;
        if (field->kind == FK_OPERAND)
            random_operand(row, field, state, out);
        else if (field->kind == FK_GUARD)
            out->guard = op_with(op_reg(isa_value_file(field->type), (uint32_t)(rng_next(state) & 7), 1),
                                 out->guard.mods);
    }
}

static bool legal(const IsaRow *row, const MachInst *in) {
    if (row->select && !isa_cond(row->select, row, in))
        return false;
    for (unsigned i = 0; i < row->nexcept; i++)
        if (isa_cond(isa_exceptions[row->except0 + i].cond, row, in))
            return false;
    return true;
}

void isa_random(const Target *t, unsigned opcode, uint64_t *state, MachInst *out) {
    const IsaRow *row = isa_row(t, opcode);
    *out = (MachInst){0};
    if (!row)
        return;
    *out = isa_inst(row->optype);
    out->opcode = (uint16_t)opcode;
    for (unsigned tries = 0; tries < 1000; tries++) {
        random_mods(row, state, out);
        if (legal(row, out))
            break;
    }
    random_fields(row, state, out);
    uint64_t x = rng_next(state);
    out->ctrl = (Control){.stall_cycles = x & 15,
                          .yield = x >> 4 & 1,
                          .write_sb = x >> 8 & 7,
                          .read_sb = x >> 12 & 7,
                          .wait_mask = x >> 16 & 63};
}
