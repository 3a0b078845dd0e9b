/* Random legal instructions of one opcode, for tests: every operand kind that the opcode takes, registers
 * aligned to their width, conditions and encoding errors respected.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void random_mods(const IsaRow *r, uint64_t *state, MachInst *out) {
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        unsigned v = f->def;
        if (f->kind != FK_MOD && f->kind != FK_MODFIXED)
            continue;
        if (f->kind == FK_MOD && f->enum_type) {
            const IsaEnum *e = &isa_enums[f->enum_type - 1];
            v = e->vals[next(state) % e->nvals].sem;
        } else if (f->kind == FK_MOD) {
            v = (unsigned)(next(state) & (((uint64_t)1 << f->width) - 1));
        }
        out->mods = isa_mod_put(r, f->index, out->mods, v);
    }
}

/* A register number of the file, a quarter of the time the one that reads as zero. */
static uint32_t random_reg(const IsaField *f, unsigned regs, uint64_t *state) {
    RegFile file = isa_value_file(f->type);
    uint64_t x = next(state);
    uint32_t max = file == RF_B ? 16 : isa_file_zero(file);
    if (file != RF_B && x >> 62 == 0)
        return max;
    uint32_t n = (uint32_t)(x % max);
    return regs > 1 ? n / regs * regs : n;
}

static int64_t random_number(const IsaField *f, uint64_t *state) {
    uint64_t x = next(state) & (f->width < 64 ? ((uint64_t)1 << f->width) - 1 : ~(uint64_t)0);
    int64_t v = (int64_t)x;
    if (f->type == VT_SIMM && x >> (f->width - 1) & 1)
        v -= (int64_t)1 << f->width;
    return v * f->scale + f->bias;
}

static void random_operand(const IsaRow *r, const IsaField *f, uint64_t *state, MachInst *out) {
    Operand *o = isa_slot_operand(out, f->index);
    uint8_t mods = o->mods;
    RegFile file = isa_value_file(f->type);
    if (file != RF_COUNT) {
        unsigned regs = isa_slot_regs(r, f->index, out);
        *o = op_reg(file, random_reg(f, regs, state), regs);
    } else if (f->type == VT_CMEM) {
        unsigned banks = 1u << (f->width - 16u);
        uint64_t x = next(state);
        *o = op_cmem((unsigned)(x % (banks < 32 ? banks : 32)), (uint32_t)(x >> 32 & 0xfffc));
    } else if (f->type == VT_SREG) {
        *o = (Operand){OPK_SREG, 0, 0, 0, (uint32_t)(next(state) & 255)};
    } else if (f->flags & FF_WIDE_VALUE) {
        out->wide = random_number(f, state);
        *o = (Operand){OPK_IMM64, 0, 0, 0, 0};
    } else {
        *o = op_imm((uint32_t)random_number(f, state));
    }
    o->mods = mods;
}

static void random_attr(const IsaRow *r, const IsaField *f, uint64_t *state, MachInst *out) {
    Operand *o = f->index == SLOT_NONE ? &out->guard : isa_slot_operand(out, f->index);
    uint64_t x = next(state);
    (void)r;
    if (f->attr == (3 << OPM_HALF_SHIFT))
        o->mods = (uint8_t)(o->mods | (x & 3) << OPM_HALF_SHIFT);
    else if (x & 1)
        o->mods |= f->attr;
}

static void random_fields(const IsaRow *r, uint64_t *state, MachInst *out) {
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        if (f->when && !isa_cond(f->when, r, out))
            continue;
        if (f->kind == FK_ATTR)
            random_attr(r, f, state, out);
        else if (f->kind == FK_WIDE && isa_mod_get(r, f->def, out->mods))
            isa_slot_operand(out, f->index)->mods |= OPM_WIDE64;
    }
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        if (f->when && !isa_cond(f->when, r, out))
            continue;
        if (f->kind == FK_OPERAND)
            random_operand(r, f, state, out);
        else if (f->kind == FK_GUARD)
            out->guard =
                op_with(op_reg(isa_value_file(f->type), (uint32_t)(next(state) & 7), 1), out->guard.mods);
    }
}

static bool legal(const IsaRow *r, const MachInst *in) {
    if (r->select && !isa_cond(r->select, r, in))
        return false;
    for (unsigned i = 0; i < r->nexcept; i++)
        if (isa_cond(isa_exceptions[r->except0 + i].cond, r, in))
            return false;
    return true;
}

void isa_random(const Target *t, unsigned opcode, uint64_t *state, MachInst *out) {
    const IsaRow *r = isa_row(t, opcode);
    *out = (MachInst){0};
    if (!r)
        return;
    *out = isa_inst(r->optype);
    out->opcode = (uint16_t)opcode;
    for (unsigned tries = 0; tries < 1000; tries++) {
        random_mods(r, state, out);
        if (legal(r, out))
            break;
    }
    random_fields(r, state, out);
    uint64_t x = next(state);
    out->ctrl = (Control){.stall_cycles = x & 15,
                          .yield = x >> 4 & 1,
                          .write_sb = x >> 8 & 7,
                          .read_sb = x >> 12 & 7,
                          .wait_mask = x >> 16 & 63};
}
