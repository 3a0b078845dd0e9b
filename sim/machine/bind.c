/* Predecoding: operands of a decoded instruction become rows, masks and constants that handlers use directly.
 * Constant banks do not change during a launch, so c[][] operands become literal rows. An instruction is
 * decoded when it is first issued; what is never reached is never an error.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <stdio.h>
#include <string.h>

bool bind_fail(Bind *b, const char *why) {
    if (!b->failed)
        snprintf(b->why, sizeof b->why, "%s", why);
    b->failed = true;
    return false;
}

/* `n` consecutive rows, each with one value in every lane. */
static const uint32_t *literal_rows(Run *r, unsigned n, const uint32_t *bits) {
    uint8_t *raw = arena_alloc(&r->arena, (size_t)n * ROW_BYTES + ROW_BYTES - 1);
    uint32_t *rows = (uint32_t *)(void *)(raw + (ROW_BYTES - (uintptr_t)raw % ROW_BYTES) % ROW_BYTES);
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < 32; i++)
            rows[k * 32 + i] = bits[k];
    return rows;
}
const uint32_t *bind_literal(Run *r, uint32_t bits) {
    return bits ? literal_rows(r, 1, &bits) : r->zero_rows;
}

static SrcRef host_rows(const uint32_t *rows) { return (SrcRef){0, (uintptr_t)rows}; }
static SrcRef warp_rows(uint32_t row) { return (SrcRef){~(uintptr_t)0, (uintptr_t)row * ROW_BYTES}; }

static SrcRef constant(Bind *b, Operand o, unsigned width) {
    uint32_t bank = o.value >> 16, offset = o.value & 0xffff, words[2] = {0, 0};
    unsigned size = width == WIDTH_32 ? 4 : 8;
    if (bank >= NUM_BANKS || offset + size > b->run->bank_bytes[bank]) {
        char why[96];
        snprintf(why, sizeof why, "c[0x%x][0x%x] is outside the constant bank", bank, offset);
        bind_fail(b, why);
        return host_rows(b->run->zero_rows);
    }
    memcpy(words, b->run->bank[bank] + offset, size);
    return host_rows(literal_rows(b->run, size / 4, words));
}

static SrcRef immediate(Bind *b, uint32_t v, unsigned width) {
    uint32_t words[2] = {v, 0};
    if (width == WIDTH_I64)
        words[1] = v >> 31 ? ~0u : 0;
    if (width == WIDTH_F64) {
        words[0] = 0;
        words[1] = v;
    }
    return host_rows(v == 0 ? b->run->zero_rows : literal_rows(b->run, 2, words));
}

static SrcRef source(Bind *b, Operand o, unsigned width) {
    Run *r = b->run;
    unsigned count = o.count > 1 ? o.count : 1;
    if (width != WIDTH_32 && count < 2)
        count = 2;
    switch (o.kind) {
    case OPK_REG:
        if (o.file == RF_UR) {
            if (o.value == REG_URZ)
                break;
            if (o.value + count > REG_URZ)
                bind_fail(b, "uniform register out of range");
            r->ur_used = true;
            return warp_rows(ROW_UR + (o.value + count > REG_URZ ? 0 : o.value));
        }
        if (o.value == REG_RZ)
            break;
        if (o.file != RF_R || o.value + count > REG_RZ) {
            bind_fail(b, "register out of range");
            break;
        }
        if (o.value + count > r->rows_used)
            r->rows_used = o.value + count;
        return warp_rows(o.value);
    case OPK_CMEM: return constant(b, o, width);
    case OPK_IMM: return immediate(b, o.value, width);
    default: break;
    }
    return host_rows(r->zero_rows);
}

static PredRef predicate(Operand o) {
    if (o.kind != OPK_REG)
        return (PredRef){REG_PT, 0};
    return (PredRef){(o.value & 7) + (o.file == RF_UP ? PRED_UP : 0), o.mods & OPM_NOT ? ~0u : 0};
}

static void destination(Bind *b, unsigned slot, unsigned *nd, unsigned *np) {
    Run *r = b->run;
    IsaSlot s = isa_dst_slot(r->bin->target, b->in->optype, slot);
    Operand o = slot < b->in->ndst ? b->in->dst[slot] : (Operand){0};
    uint8_t file = o.kind == OPK_REG ? o.file : s.file;
    if (file == RF_P || file == RF_UP) {
        bool none = o.kind != OPK_REG || (o.value & 7) == REG_PT;
        if (*np < 2)
            b->d->pd[(*np)++] = none ? PRED_SINK : (uint8_t)((o.value & 7) + (file == RF_UP ? PRED_UP : 0));
        return;
    }
    uint32_t zero = file == RF_UR ? REG_URZ : REG_RZ, base = file == RF_UR ? ROW_UR : 0, row = ROW_SINK;
    if (o.kind == OPK_REG && o.value != zero) {
        unsigned count = o.count > 1 ? o.count : 1;
        if (o.value + count > zero)
            bind_fail(b, "register out of range");
        else
            row = base + o.value;
        if (file == RF_UR)
            r->ur_used = true;
        else if (o.value + count > r->rows_used && o.value + count <= zero)
            r->rows_used = o.value + count;
    }
    if (*nd < 2)
        b->d->dst[(*nd)++] = row * ROW_BYTES;
}

void bind_operands(Bind *b) {
    Dec *d = b->d;
    const MachInst *in = b->in;
    const Target *t = b->run->bin->target;
    unsigned nd = 0, np = 0, nv = 0, nq = 0, ni = 0;
    d->pd[0] = d->pd[1] = PRED_SINK;
    d->dst[0] = d->dst[1] = ROW_SINK * ROW_BYTES;
    for (unsigned i = 0; i < isa_num_dst(in->optype); i++)
        destination(b, i, &nd, &np);
    for (unsigned i = 0; i < isa_num_src(in->optype); i++) {
        Operand o = i < in->nsrc ? in->src[i] : (Operand){0};
        uint8_t file = o.kind == OPK_REG ? o.file : isa_src_slot(t, in->optype, i).file;
        if (o.kind == OPK_IMM64 || (o.kind == OPK_CMEM && b->raw_cmem))
            continue;
        if (file == RF_B) {
            d->breg = o.value & 15;
        } else if (file == RF_P || file == RF_UP) {
            if (nq < 3)
                d->q[nq++] = predicate(o);
        } else if (file == RF_R || file == RF_UR || o.kind == OPK_CMEM || b->vector_slots >> i & 1) {
            if (nv < 4) {
                d->v[nv] = source(b, o, b->width[nv]);
                d->xm[nv] = o.mods & (OPM_NEG | OPM_NOT) ? ~0u : 0;
                d->am[nv] = o.mods & OPM_ABS ? 0x7fffffffu : ~0u;
                nv++;
            }
        } else if (ni < 2) {
            d->imm[ni++] = o.value;
        }
    }
    d->nv = (uint8_t)nv;
    d->nq = (uint8_t)nq;
    for (; nv < 4; nv++) {
        d->v[nv] = host_rows(b->run->zero_rows);
        d->xm[nv] = 0;
        d->am[nv] = ~0u;
    }
}

static int op_not_simulated(Warp *w, Dec *d, uint32_t g) {
    return g ? machine_trap(w, d, low_lane(g), TRAP_UNSUPPORTED, "%s is not simulated",
                            isa_optype_name(d->optype))
             : RUN_OK;
}
bool bind_not_simulated(Bind *b) {
    b->d->full = b->d->part = op_not_simulated;
    b->d->cls = CLS_OTHER;
    return true;
}

/* Decode code[pc] into its record and step back: RUN_AGAIN asks the loop to issue it with its own guard. */
int op_decode(Warp *w, Dec *d, uint32_t g) {
    Run *r = w->run;
    char error[ISA_ERROR_BYTES] = "";
    w->pc = (uint32_t)(d - w->prog);
    MachInst *in = ARENA_NEW(&r->arena, MachInst);
    if (!isa_decode(r->bin->target, r->code[w->pc], in, error))
        return machine_trap(w, d, low_lane(g), TRAP_ILLEGAL, "%s", error);
    Bind b = {.run = r, .d = d, .in = in, .pc = w->pc};
    PredRef guard = predicate(in->guard);
    d->inst = in;
    d->optype = in->optype;
    d->mods = in->mods;
    d->guard = (uint8_t)guard.index;
    d->gx = guard.x;
    d->cls = CLS_DATA;
    d->always = 0;
    BindFn *fn = in->optype < OT_COUNT ? r->level->bind[in->optype] : NULL;
    if (!fn)
        fn = bind_not_simulated;
    if (!fn(&b) || b.failed) {
        d->full = d->part = op_decode;
        d->always = 1;
        return machine_trap(w, d, low_lane(g), TRAP_ILLEGAL, "%s: %s", isa_optype_name(in->optype), b.why);
    }
    return RUN_AGAIN;
}
