/* Predecoding: operands of a decoded instruction become rows, masks and constants that handlers use directly.
 * Constant banks do not change during a launch, so c[][] operands become literal rows. An instruction is
 * decoded when it is first issued; what is never reached is never an error.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <stdio.h>
#include <string.h>

bool bind_fail(Bind *bind, const char *why) {
    if (!bind->failed)
        snprintf(bind->why, sizeof bind->why, "%s", why);
    bind->failed = true;
    return false;
}

/* `n` consecutive rows, each with one value in every lane. */
static const uint32_t *literal_rows(Run *run, unsigned n, const uint32_t *bits) {
    uint8_t *raw = arena_alloc(&run->arena, (size_t)n * ROW_BYTES + ROW_BYTES - 1);
    uint32_t *rows = (uint32_t *)(void *)(raw + (ROW_BYTES - (uintptr_t)raw % ROW_BYTES) % ROW_BYTES);
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < 32; i++)
            rows[k * 32 + i] = bits[k];
    return rows;
}
const uint32_t *bind_literal(Run *run, uint32_t bits) {
    return bits ? literal_rows(run, 1, &bits) : run->zero_rows;
}

static SrcRef host_rows(const uint32_t *rows) { return (SrcRef){(uintptr_t)rows}; }
static SrcRef warp_rows(uint32_t row) { return (SrcRef){(uintptr_t)row * ROW_BYTES}; }

static SrcRef bind_cmem(Bind *bind, Operand o, unsigned width) {
    uint32_t bank = op_cmem_bank(o), offset = op_cmem_offset(o), words[2] = {0, 0};
    unsigned size = width == WIDTH_32 ? 4 : 8;
    if (bank >= NUM_CONST_BANKS || offset + size > bind->run->bank_bytes[bank]) {
        char why[96];
        uint32_t bytes = bank < NUM_CONST_BANKS ? bind->run->bank_bytes[bank] : 0;
        snprintf(why, sizeof why, "c[0x%x][0x%x] is outside constant bank %u of %u bytes", bank, offset, bank,
                 bytes);
        bind->kind = bind->failed ? bind->kind : TRAP_OUT_OF_RANGE;
        bind_fail(bind, why);
        return host_rows(bind->run->zero_rows);
    }
    memcpy(words, bind->run->bank[bank] + offset, size);
    return host_rows(literal_rows(bind->run, size / 4, words));
}

static SrcRef bind_immediate(Bind *bind, uint32_t v, unsigned width) {
    uint32_t words[2] = {v, 0};
    if (width == WIDTH_I64)
        words[1] = v >> 31 ? ~0u : 0;
    if (width == WIDTH_F64) {
        words[0] = 0;
        words[1] = v;
    }
    return host_rows(v == 0 ? bind->run->zero_rows : literal_rows(bind->run, 2, words));
}

static SrcRef source(Bind *bind, Operand o, unsigned width) {
    Run *run = bind->run;
    unsigned count = o.count > 1 ? o.count : 1;
    if (width != WIDTH_32 && count < 2)
        count = 2;
    switch (o.kind) {
    case OPK_REG:
        if (o.file == RF_UR) {
            if (o.value == REG_URZ)
                break;
            if (o.value + count > NUM_UR)
                bind_fail(bind, "uniform register out of range");
            uint32_t row = ROW_UR + (o.value + count > NUM_UR ? 0 : o.value);
            machine_name_rows(run, row, count);
            return warp_rows(row);
        }
        if (o.value == REG_RZ)
            break;
        if (o.file != RF_R || o.value + count > REG_RZ) {
            bind_fail(bind, "register out of range");
            break;
        }
        machine_name_rows(run, o.value, count);
        return warp_rows(o.value);
    case OPK_CMEM: return bind_cmem(bind, o, width);
    case OPK_IMM: return bind_immediate(bind, o.value, width);
    default: break;
    }
    return host_rows(run->zero_rows);
}

static PredRef predicate(Operand o) {
    if (o.kind != OPK_REG)
        return (PredRef){REG_PT, 0};
    return (PredRef){(o.value & 7) + (o.file == RF_UP ? PRED_UP : 0), o.mods & OPM_NOT ? ~0u : 0};
}

static void destination(Bind *bind, unsigned slot, unsigned *nd, unsigned *np) {
    Run *run = bind->run;
    Operand o = slot < bind->in->ndst ? bind->in->dst[slot] : (Operand){0};
    uint8_t file = o.kind == OPK_REG ? o.file : isa_dst_slot(run->bin->target, bind->in->optype, slot).file;
    if (file == RF_P || file == RF_UP) {
        bool none = o.kind != OPK_REG || (o.value & 7) == REG_PT;
        if (*np < 2)
            bind->d->pd[(*np)++] =
                none ? PRED_SINK : (uint8_t)((o.value & 7) + (file == RF_UP ? PRED_UP : 0));
        return;
    }
    uint32_t zero = file == RF_UR ? REG_URZ : REG_RZ, base = file == RF_UR ? ROW_UR : 0, row = ROW_SINK,
             most = file == RF_UR ? NUM_UR : REG_RZ;
    if (o.kind == OPK_REG && o.value != zero) {
        unsigned count = o.count > 1 ? o.count : 1;
        if (o.value + count > most)
            bind_fail(bind, "register out of range");
        else
            machine_name_rows(run, row = base + o.value, count);
    }
    if (*nd < 2)
        bind->d->dst[(*nd)++] = (uint16_t)(row * ROW_BYTES);
}

void bind_operands(Bind *bind) {
    Dec *dec = bind->d;
    const MachInst *in = bind->in;
    const Target *t = bind->run->bin->target;
    unsigned nd = 0, np = 0, nv = 0, nq = 0, ni = 0;
    dec->pd[0] = dec->pd[1] = PRED_SINK;
    dec->dst[0] = dec->dst[1] = (uint16_t)(ROW_SINK * ROW_BYTES);
    for (unsigned i = 0; i < isa_num_dst(in->optype); i++)
        destination(bind, i, &nd, &np);
    for (unsigned i = 0; i < isa_num_src(in->optype); i++) {
        Operand o = i < in->nsrc ? in->src[i] : (Operand){0};
        LaneSource is = lane_source(t, in, i);
        if (o.kind == OPK_IMM64 || (o.kind == OPK_CMEM && bind->raw_cmem))
            continue;
        if (is == LANE_SRC_BARRIER) {
            dec->breg = o.value & 15;
        } else if (is == LANE_SRC_PREDICATE) {
            if (nq < 3)
                dec->q[nq++] = predicate(o);
        } else if (is == LANE_SRC_VECTOR || bind->vector_slots >> i & 1) {
            if (nv < 4) {
                dec->v[nv] = source(bind, o, bind->width[nv]);
                dec->xm[nv] = o.mods & (OPM_NEG | OPM_NOT) ? ~0u : 0;
                dec->am[nv] = o.mods & OPM_ABS ? 0x7fffffffu : ~0u;
                nv++;
            }
        } else if (ni < 2) {
            dec->imm[ni++] = o.value;
        }
    }
    dec->nv = (uint8_t)nv;
    dec->nq = (uint8_t)nq;
    for (; nv < 4; nv++) {
        dec->v[nv] = host_rows(bind->run->zero_rows);
        dec->xm[nv] = 0;
        dec->am[nv] = ~0u;
    }
}

static int op_not_simulated(Warp *w, Dec *dec, uint32_t g) {
    const char *reason = isa_traits(dec->optype)->absent;
    return g ? machine_trap(w, dec, low_lane(g), TRAP_UNSUPPORTED, "%s is not simulated: %s",
                            isa_optype_name(dec->optype), reason ? reason : "not with these modifiers")
             : RUN_OK;
}
bool bind_not_simulated(Bind *bind) {
    bind->d->full = bind->d->part = op_not_simulated;
    bind->d->chains = false;
    bind->d->cls = CLS_OTHER;
    return true;
}

/* The tables have all instructions of bru1, but not of NVIDIA's machines: there a word that they do not know
 * says nothing of the code. */
static SimTrapKind unknown_word(const Target *target) {
    bool native = !isa_target_info(target)->has_yield_fairness;
    return native ? TRAP_UNSUPPORTED : TRAP_ILLEGAL;
}

int machine_run_ends(Warp *warp, Dec *dec, uint32_t g) {
    (void)g;
    warp->pc = (uint32_t)(dec - warp->prog);
    return RUN_OK;
}

enum { WHY_BYTES = ISA_ERROR_BYTES + 128 };

/* Decode code[pc] into a record, or say what it traps with. */
static bool decode_into(Run *run, uint32_t pc, Dec *dec, SimTrapKind *kind, char why[WHY_BYTES]) {
    char error[ISA_ERROR_BYTES] = "";
    MachInst read;
    const MachInst *in = binary_inst(run->bin, run->code, pc, &read, error);
    if (!in) {
        *kind = unknown_word(run->bin->target);
        snprintf(why, WHY_BYTES, "%s", error);
        return false;
    }
    if (in == &read)
        in = arena_copy(&run->arena, &read, sizeof read);
    Bind b = {.run = run, .d = dec, .in = in, .pc = pc};
    PredRef guard = predicate(in->guard);
    dec->inst = in;
    dec->optype = in->optype;
    dec->mods = in->mods;
    dec->guard = (uint8_t)guard.index;
    dec->gx = guard.x;
    dec->cls = CLS_DATA;
    dec->always = isa_traits(in->optype)->flow > ISA_FLOW_NOP;
    BindFn *fn = in->optype < OT_COUNT ? run->level->bind[in->optype] : NULL;
    if (!fn)
        fn = bind_not_simulated;
    if (!fn(&b) || b.failed) {
        dec->full = dec->part = bind_decode;
        dec->chains = false;
        dec->always = 1;
        *kind = b.kind ? b.kind : TRAP_ILLEGAL;
        snprintf(why, WHY_BYTES, "%s: %s", isa_optype_name(in->optype), b.why);
        return false;
    }
    return true;
}

/* ... in its place in the program. */
static bool decode_place(Run *run, uint32_t pc, SimTrapKind *kind, char why[WHY_BYTES]) {
    VEC_ADD(&run->arena, &run->decoded, pc);
    return decode_into(run, pc, &run->prog[pc], kind, why);
}

/* Decode an instruction and step back: RUN_AGAIN asks the loop to issue it with its own guard. */
int bind_decode(Warp *warp, Dec *dec, uint32_t g) {
    SimTrapKind kind;
    char why[WHY_BYTES];
    warp->pc = (uint32_t)(dec - warp->prog);
    return decode_place(warp->run, warp->pc, &kind, why)
               ? RUN_AGAIN
               : machine_trap(warp, dec, low_lane(g), kind, "%s", why);
}

bool bind_now(Run *run, uint32_t pc) {
    SimTrapKind kind;
    char why[WHY_BYTES];
    return run->prog[pc].full != bind_decode || decode_place(run, pc, &kind, why);
}

bool bind_ahead(Run *run, uint32_t pc, Dec *dec) {
    SimTrapKind kind;
    char why[WHY_BYTES];
    RowSet named = run->named, cleared = run->cleared;
    bool good = run->prog[pc].full != bind_decode;
    if (good)
        *dec = run->prog[pc];
    else
        good = decode_into(run, pc, dec, &kind, why);
    run->named = named; /* nobody has executed it */
    run->cleared = cleared;
    return good;
}

const Dec *machine_dec_at(const Warp *warp, uint32_t pc) {
    if (pc >= warp->run->ncode)
        return NULL;
    const Dec *dec = &warp->prog[pc];
    bool good = dec->inst ? dec->full != bind_decode : bind_now(warp->run, pc);
    return good ? dec : NULL;
}
