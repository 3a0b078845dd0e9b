/* Strict decoding: the low 12 bits choose a chain of opcodes, the fixed bits one of them; every other bit
 * belongs to a field or must be zero.
 * SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include <stdio.h>
#include <string.h>

static uint64_t get_bits(const uint64_t word[2], const IsaField *f) {
    uint64_t v = 0;
    unsigned at = 0;
    for (unsigned p = 0; p < f->nparts; p++) {
        unsigned lo = f->lo[p], w = f->w[p];
        uint64_t part = lo < 64 ? word[0] >> lo : word[1] >> (lo - 64);
        if (lo < 64 && lo + w > 64 && lo)
            part |= word[1] << (64 - lo);
        if (w < 64)
            part &= ((uint64_t)1 << w) - 1;
        v |= part << at;
        at += w;
    }
    return f->flags & FF_REVERSED ? ((uint64_t)1 << f->width) - 1 - v : v;
}

static int64_t number(const IsaField *f, uint64_t v) {
    int64_t x = (int64_t)v;
    if (f->type == VT_SIMM && f->width < 64 && v >> (f->width - 1) & 1)
        x -= (int64_t)1 << f->width;
    return x * f->scale + f->bias;
}

static void dec_operand(const IsaField *f, uint64_t v, MachInst *out) {
    Operand *o = isa_slot_operand(out, f->index);
    uint8_t mods = o->mods; /* attributes may have been decoded before */
    RegFile file = isa_value_file(f->type);
    if (file != RF_COUNT) {
        *o = op_reg(file, (uint32_t)v, 1);
    } else if (f->type == VT_CMEM) {
        unsigned bank_bits = f->width - 16u;
        *o = op_cmem((unsigned)(v & ((1u << bank_bits) - 1)), (uint32_t)(v >> bank_bits));
    } else if (f->type == VT_SREG) {
        *o = (Operand){OPK_SREG, 0, 0, 0, (uint32_t)v};
    } else if (f->flags & FF_WIDE_VALUE) {
        out->wide = number(f, v);
        *o = (Operand){OPK_IMM64, 0, 0, 0, 0};
    } else {
        *o = op_imm((uint32_t)number(f, v));
    }
    o->mods = mods;
}

static bool dec_mod(const IsaRow *r, const IsaField *f, uint64_t v, MachInst *out, char *error) {
    const IsaEnum *e = f->enum_type ? &isa_enums[f->enum_type - 1] : NULL;
    unsigned sem = (unsigned)v;
    bool known = !e;
    for (unsigned k = 0; e && k < e->nvals && !known; k++)
        if (e->vals[k].enc == v) {
            sem = e->vals[k].sem;
            known = true;
        }
    if (!known) {
        snprintf(error, ISA_ERROR_BYTES, "%s: field %s has the undefined value %u",
                 isa_opcode_name(r->opcode), isa_optypes[r->optype].mods[f->index].name, (unsigned)v);
        return false;
    }
    out->mods = isa_mod_put(r, f->index, out->mods, sem);
    return true;
}

static void dec_attr(const IsaField *f, uint64_t v, MachInst *out) {
    Operand *o = f->index == SLOT_NONE ? &out->guard : isa_slot_operand(out, f->index);
    if (f->attr == (3 << OPM_HALF_SHIFT))
        o->mods = (uint8_t)(o->mods | v << OPM_HALF_SHIFT);
    else if (v)
        o->mods |= f->attr;
}

static void dec_ctrl(const IsaField *f, uint64_t v, Control *c) {
    uint8_t x = (uint8_t)v;
    switch (f->index) {
    case 0: c->stall_cycles = x; break;
    case 1: c->yield = !x; break;
    case 2: c->write_sb = x; break;
    case 3: c->read_sb = x; break;
    default: c->wait_mask = x; break;
    }
}

/* Modifiers come first, because conditions of other fields ask for them. */
static bool dec_mods(const IsaRow *r, const uint64_t word[2], MachInst *out, bool *conditional, char *error) {
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        *conditional = *conditional || f->when;
        if (f->kind == FK_MODFIXED)
            out->mods = isa_mod_put(r, f->index, out->mods, f->def);
        else if (f->kind == FK_MOD && !f->when && !dec_mod(r, f, get_bits(word, f), out, error))
            return false;
    }
    return true;
}

static bool dec_fields(const IsaRow *r, const uint64_t word[2], MachInst *out, char *error) {
    for (unsigned i = 0; i < r->nfields; i++) {
        const IsaField *f = &isa_fields[r->field0 + i];
        if (f->when && !isa_cond(f->when, r, out))
            continue;
        uint64_t v = get_bits(word, f);
        switch (f->kind) {
        case FK_GUARD:
            out->guard.kind = OPK_REG;
            out->guard.file = (uint8_t)isa_value_file(f->type);
            out->guard.count = 1;
            out->guard.value = (uint32_t)v;
            break;
        case FK_OPERAND: dec_operand(f, v, out); break;
        case FK_ATTR: dec_attr(f, v, out); break;
        case FK_MOD:
            if (f->when && !dec_mod(r, f, v, out, error))
                return false;
            break;
        case FK_CTRL: dec_ctrl(f, v, &out->ctrl); break;
        case FK_WIDE:
            if (isa_mod_get(r, f->def, out->mods))
                isa_slot_operand(out, f->index)->mods |= OPM_WIDE64;
            break;
        default: break;
        }
    }
    return true;
}

static bool dec_row(const Target *t, const IsaRow *r, const uint64_t word[2], MachInst *out, char *error) {
    uint64_t bad[2] = {word[0] & r->zero[0], word[1] & r->zero[1]};
    if (bad[0] | bad[1]) {
        unsigned bit = bad[0] ? (unsigned)__builtin_ctzll(bad[0]) : 64 + (unsigned)__builtin_ctzll(bad[1]);
        snprintf(error, ISA_ERROR_BYTES,
                 "%s: bit %u is set and belongs to no field (word 0x%016llx 0x%016llx)",
                 isa_opcode_name(r->opcode), bit, (unsigned long long)word[0], (unsigned long long)word[1]);
        return false;
    }
    const IsaOptype *o = &isa_optypes[r->optype];
    memset(out, 0, sizeof *out);
    out->opcode = r->opcode;
    out->optype = r->optype;
    out->ndst = o->ndst;
    out->nsrc = o->nsrc;
    out->ctrl = CONTROL_DEFAULT;
    bool conditional = false;
    if (!dec_mods(r, word, out, &conditional, error))
        return false;
    if (r->select && !isa_cond(r->select, r, out)) {
        snprintf(error, ISA_ERROR_BYTES, "%s: this opcode is not used with these modifiers",
                 isa_opcode_name(r->opcode));
        return false;
    }
    if (!dec_fields(r, word, out, error))
        return false;
    for (unsigned s = 0; s < SLOT_COUNT; s++) {
        Operand *p = isa_slot_operand(out, s);
        if (p->kind == OPK_REG)
            p->count = (uint8_t)isa_slot_regs(r, s, out);
    }
    uint64_t again[2];
    if (!conditional && !r->nexcept)
        return true;
    if (!isa_encode_row(t, r, out, again, error))
        return false;
    if (again[0] == word[0] && again[1] == word[1])
        return true;
    snprintf(error, ISA_ERROR_BYTES, "%s: bits of an absent field are set", isa_opcode_name(r->opcode));
    return false;
}

bool isa_decode(const Target *t, const uint64_t word[2], MachInst *out, char error[ISA_ERROR_BYTES]) {
    error[0] = 0;
    unsigned at = t->decode[word[0] & 0xfff];
    for (; at && t->chain[at - 1]; at++) {
        const IsaRow *r = &t->rows[t->chain[at - 1] - 1];
        if ((word[0] & r->mask[0]) == r->value[0] && (word[1] & r->mask[1]) == r->value[1] &&
            dec_row(t, r, word, out, error))
            return true;
    }
    if (!error[0])
        snprintf(error, ISA_ERROR_BYTES, "unknown opcode 0x%03x (word 0x%016llx 0x%016llx)",
                 (unsigned)(word[0] & 0xfff), (unsigned long long)word[0], (unsigned long long)word[1]);
    return false;
}
