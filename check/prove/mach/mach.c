/* Symbolic execution of decoded machine code for one lane: registers, predicates, spill slots, memory events.
 * What the machine does beyond one lane (convergence barriers, YIELD) is no effect here: the checker and the
 * model checker look after it.
 * SPDX-License-Identifier: MIT */
#include "base/align.h"
#include "check/prove/mach/mach.h"
#include "check/prove/lane/texture.h"
#include "ir/ir.h"
#include "sim/launch.h" /* number of environment registers */
#include "isa/machine/banks.h"
#include "isa/machine/windows.h"
#include <stdio.h>
#include <string.h>

/* ---- operands ---- */
Term *mach_get(Mach *mach, uint32_t loc) { return t_under(&mach->prover->ts, mach->val[loc], mach->full); }

void mach_set(Mach *mach, uint32_t loc, Term *v) {
    Terms *ts = &mach->prover->ts;
    mach->val[loc] = t_ite(ts, t_under(ts, mach->guard, mach->pc), v, mach->val[loc]);
}

Term *mach_plain_pred(Mach *mach, Operand o) {
    Terms *ts = &mach->prover->ts;
    Term *v = ts->truth;
    if (o.kind == OPK_REG && o.value != REG_PT)
        v = mach->val[(o.file == RF_UP ? LOC_UP : LOC_P) + o.value];
    return o.mods & OPM_NOT ? t_not(ts, v) : v;
}
Term *mach_pred(Mach *mach, Operand o) {
    return t_under(&mach->prover->ts, mach_plain_pred(mach, o), mach->full);
}

/* The PTX's function of that name, + 1; 0: there is none. */
static uint32_t function_at(const Mach *mach, const BinFixup *fixup) {
    const Binary *bin = mach->prover->flow->bin;
    const char *name = fixup->to == BIN_TO_FUNC     ? bin->funcs[fixup->target].name
                       : fixup->to == BIN_TO_EXTERN ? bin->externs[fixup->target]
                                                    : NULL;
    return name ? ptx_find_func(mach->prover->module, name) : 0;
}

/* The size of a block's shared memory: what the launch asks for is the same on both sides; what the file says
 * of the kernels must be what their variables take. */
Term *mach_shared_size(Mach *mach) {
    const Prover *prover = mach->prover;
    const Binary *bin = prover->flow->bin;
    for (uint32_t f = 0; f < bin->nfuncs && prover->shared; f++) {
        uint32_t index = bin->funcs[f].is_entry ? ptx_find_func(prover->module, bin->funcs[f].name) : 0;
        if (index && align_up(bin->funcs[f].shared_bytes, 16) !=
                         align_up(prover->shared->funcs[index - 1].static_bytes, 16))
            mach_fault(mach, "the size of a kernel's shared memory is not that of its variables");
    }
    return t_add(&mach->prover->ts, prove_input(mach->prover, "total_smem_size"),
                 t_const(&mach->prover->ts, 32, isa_target_info(bin->target)->shared_base_bytes));
}

/* A word of bank 4: half of the address of a .global variable or a function, which the loader puts there
 * (RELOC_ABS64, or _GENERIC64: of global memory the same). */
static Term *address_in_bank(Mach *mach, uint32_t offset) {
    const Binary *binary = mach->prover->flow->bin;
    Terms *ts = &mach->prover->ts;
    const BinFixup *found = NULL;
    unsigned n = 0;
    for (uint32_t k = 0; k < binary->nfixups; k++)
        if (binary->fixups[k].in_bank4 && offset + 4 > binary->fixups[k].offset_bytes &&
            offset < binary->fixups[k].offset_bytes + 8) {
            found = &binary->fixups[k];
            n++;
        }
    uint32_t half = found ? offset - (uint32_t)found->offset_bytes : 0;
    uint32_t func = n == 1 ? function_at(mach, found) : 0;
    if (n != 1 || (half != 0 && half != 4) ||
        (found->kind != RELOC_ABS64 && (func || found->kind != RELOC_GENERIC64)) ||
        (!func && (found->to != BIN_TO_VAR || binary->vars[found->target].space != 0))) {
        mach_fault(mach, "a word of constant bank 4 that is no address of a global variable or function");
        return ts->zero;
    }
    Term *address = func ? prove_function_address(mach->prover, func - 1)
                         : t_var(ts, 64, term_name(ts, "&%s", binary->vars[found->target].name), 0);
    address = t_add(ts, address, t_const(ts, 64, (uint64_t)found->addend));
    return half ? t_hi(ts, address) : t_lo(ts, address);
}

/* The launch's bank ends with the kernel's parameters, and a function of its own has none of those. */
void mach_in_launch_bank(Mach *mach, uint32_t offset) {
    const BinFunc *func = mach->prover->bf;
    uint32_t end = func->is_entry ? (func->param_base + func->param_bytes + 3u) & ~3u
                                  : isa_target_info(mach->prover->flow->bin->target)->param_base_bytes;
    if (offset >= end)
        mach_fault(mach, "constant bank 0 is read out of range");
}

/* Constant bank 2 is the launched kernel's: a function that is called finds there what each kernel that calls
 * any has put there, which must be the same. */
bool mach_jump_word(const Mach *mach, uint32_t offset, uint32_t *word) {
    const BinFlow *flow = mach->prover->flow;
    const BinFunc *func = mach->prover->bf;
    uint32_t nbanks = 0;
    for (uint32_t i = 0; i < flow->bin->nfuncs; i++) {
        const BinFunc *kernel = &flow->bin->funcs[i];
        uint32_t found;
        if (func->is_entry ? kernel != func : !kernel->is_entry || !flow->funcs[i].ncalls)
            continue;
        if (offset > kernel->const_bank2_bytes || kernel->const_bank2_bytes - offset < sizeof found)
            return false;
        memcpy(&found, kernel->const_bank2 + offset, sizeof found);
        if (nbanks++ && found != *word)
            return false;
        *word = found;
    }
    return nbanks != 0;
}

Term *mach_cmem(Mach *mach, uint32_t bank, uint32_t offset) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    if (offset % 4) {
        mach_fault(mach, "a misaligned constant operand");
        return ts->zero;
    }
    const TargetInfo *ti = isa_target_info(prover->flow->bin->target);
    if (bank == CONST_BANK_VARS) {
        if (offset + 4 > prover->flow->bin->const_bank3_bytes)
            mach_fault(mach, "constant bank 3 is read out of range");
        return prove_const3(prover, t_const(ts, 32, offset), 4, false);
    }
    if (bank == CONST_BANK_JUMPS) {
        uint32_t v = 0;
        if (!mach_jump_word(mach, offset, &v))
            mach_fault(mach, "constant bank 2 is read out of range");
        return t_const(ts, 32, v);
    }
    if (bank == CONST_BANK_ADDRESSES)
        return address_in_bank(mach, offset);
    if (bank != CONST_BANK_LAUNCH) {
        mach_fault(mach, "a constant bank is not modelled");
        return ts->zero;
    }
    for (uint32_t k = 0; k < prover->flow->bin->ntextures; k++) {
        const struct BinTexture *texture = &prover->flow->bin->textures[k];
        if (texture->func == prover->func && texture->offset_bytes == offset && !texture->is_param)
            return prove_texture_handle(prover, texture->name, texture->is_surface);
    }
    mach_in_launch_bank(mach, offset);
    if (offset >= ti->param_base_bytes)
        return prove_param(prover, offset - ti->param_base_bytes, 4);
    static const char xyz[] = "xyz";
    if (offset - ti->ntid_offset_bytes < 12 && offset % 4 == 0)
        return prove_input(prover, "ntid.%c", xyz[(offset - ti->ntid_offset_bytes) / 4]);
    if (offset - ti->nctaid_offset_bytes < 12 && offset % 4 == 0)
        return prove_input(prover, "nctaid.%c", xyz[(offset - ti->nctaid_offset_bytes) / 4]);
    if (offset == ti->stack_top_offset_bytes)
        return prove_sp(prover);
    if (offset == ti->dynamic_shared_offset_bytes)
        return prove_input(prover, "dynamic_smem_size");
    if (ti->shared_window_offset_bytes && offset - ti->shared_window_offset_bytes < 8)
        return t_const(ts, 32,
                       (uint32_t)(SIM_SHARED_WINDOW >> 8 * (offset - ti->shared_window_offset_bytes)));
    if (ti->local_window_offset_bytes && offset - ti->local_window_offset_bytes < 8)
        return t_const(ts, 32, (uint32_t)(SIM_LOCAL_WINDOW >> 8 * (offset - ti->local_window_offset_bytes)));
    if (ti->const_window_offset_bytes && offset - ti->const_window_offset_bytes < 8)
        return t_const(ts, 32, (uint32_t)(SIM_CONST_WINDOW >> 8 * (offset - ti->const_window_offset_bytes)));
    if (ti->param_window_offset_bytes && offset - ti->param_window_offset_bytes < 8)
        return t_const(ts, 32, (uint32_t)(SIM_PARAM_WINDOW >> 8 * (offset - ti->param_window_offset_bytes)));
    if (ti->system_shared_offset_bytes && offset == ti->system_shared_offset_bytes)
        return t_const(ts, 32, ti->shared_base_bytes);
    if (ti->shared_limit_offset_bytes && offset == ti->shared_limit_offset_bytes)
        return mach_shared_size(mach);
    if (offset - ti->gridid_offset_bytes < 8)
        return prove_input(prover, "gridid.%u", (offset - ti->gridid_offset_bytes) / 4);
    if (offset == ti->nsmid_offset_bytes)
        return prove_input(prover, "nsmid");
    if (offset - ti->envreg_offset_bytes < 4 * SIM_SREG_ENVREGS)
        return prove_input(prover, "envreg.%u", (offset - ti->envreg_offset_bytes) / 4);
    return prove_input(prover, "c0+0x%x", offset);
}

static Term *address_word(Mach *mach, const BinFixup *fixup) {
    Terms *ts = &mach->prover->ts;
    mach->fixed = true;
    const Binary *bin = mach->prover->flow->bin;
    uint32_t func = function_at(mach, fixup);
    if ((fixup->to != BIN_TO_VAR && !func) || (fixup->kind != 1 && fixup->kind != 2)) {
        mach_fault(mach, "an address of this kind is not modelled");
        return ts->zero;
    }
    Term *a = func ? prove_function_address(mach->prover, func - 1)
                   : t_var(ts, 64, term_name(ts, "&%s", bin->vars[fixup->target].name), 0);
    a = t_add(ts, a, t_const(ts, 64, (uint64_t)fixup->addend));
    return fixup->kind == 1 ? t_lo(ts, a) : t_hi(ts, a); /* RELOC_ABS32_LO, _HI */
}

static Term *cared(Mach *mach, uint32_t loc) {
    Term *word = mach_get(mach, loc);
    return mach->care ? t_under(&mach->prover->ts, word, mach->care) : word;
}

/* Word `c` of source operand i as it is; the caller sees to the modifiers `mods`. */
Term *mach_plain(Mach *mach, unsigned i, unsigned c, unsigned mods) {
    Terms *ts = &mach->prover->ts;
    Operand o = mach->in->src[i];
    mach->looked_src |= 1u << i;
    if (o.mods & ~(mods | OPM_REUSE))
        mach_fault(mach, "a modifier of an operand is not modelled");
    switch (o.kind) {
    case OPK_NONE: return ts->zero;
    case OPK_IMM:
        return mach->prover->fixup[mach->at] && mach->in->optype != OT_LDC
                   ? address_word(mach, mach->prover->fixup[mach->at])
                   : t_const(ts, 32, o.value);
    case OPK_CMEM: return mach_cmem(mach, op_cmem_bank(o), op_cmem_offset(o) + 4 * c);
    case OPK_REG:
        if (o.file == RF_R)
            return o.value == REG_RZ || o.value + c >= REG_RZ ? ts->zero : cared(mach, LOC_R + o.value + c);
        if (o.file == RF_UR)
            return o.value + c >= NUM_UR ? ts->zero : cared(mach, LOC_UR + o.value + c);
        break;
    default: break;
    }
    mach_fault(mach, "an operand is not modelled");
    return ts->zero;
}
Term *mach_word(Mach *mach, unsigned i, unsigned c) { return mach_plain(mach, i, c, 0); }

void mach_fault(Mach *mach, const char *why) {
    if (!mach->run->fault) {
        mach->run->fault = why;
        mach->run->fault_at = mach->at;
    }
}

/* Integer source with its sign modifier; under .X it is a complement. */
Term *mach_int(Mach *mach, unsigned i, bool complement) {
    Terms *ts = &mach->prover->ts;
    Term *v = mach_plain(mach, i, 0, OPM_NEG | OPM_NOT);
    uint8_t mods = mach->in->src[i].mods;
    if (mods & OPM_NEG)
        v = complement ? t_inv(ts, v) : t_scale(ts, v, ~0ull);
    if (mods & OPM_NOT)
        v = t_inv(ts, v);
    return v;
}
Term *mach_f32(Mach *mach, unsigned i) {
    Terms *ts = &mach->prover->ts;
    Term *v = mach_plain(mach, i, 0, OPM_NEG | OPM_ABS);
    uint8_t mods = mach->in->src[i].mods;
    if (mods & OPM_ABS)
        v = t_land(ts, v, t_const(ts, 32, 0x7fffffff));
    if (mods & OPM_NEG)
        v = t_lxor(ts, v, t_const(ts, 32, 0x80000000));
    return v;
}
Term *mach_pair(Mach *mach, unsigned i, unsigned mods) {
    Terms *ts = &mach->prover->ts;
    mach->looked_src |= 1u << i;
    if (mach->in->src[i].kind == OPK_REG &&
        mach->in->src[i].value == (mach->in->src[i].file == RF_UR ? REG_URZ : REG_RZ))
        return t_const(ts, 64, 0);
    return t_pair(ts, mach_plain(mach, i, 0, mods), mach_plain(mach, i, 1, mods));
}
Term *mach_f64(Mach *mach, unsigned i) {
    Terms *ts = &mach->prover->ts;
    Operand o = mach->in->src[i];
    if (o.kind == OPK_IMM) { /* the high word */
        mach->looked_src |= 1u << i;
        return t_const(ts, 64, (uint64_t)o.value << 32);
    }
    Term *v = mach_pair(mach, i, OPM_NEG | OPM_ABS), *hi = t_hi(ts, v), *lo = t_lo(ts, v);
    if (o.mods & OPM_ABS)
        hi = t_land(ts, hi, t_const(ts, 32, 0x7fffffff));
    if (o.mods & OPM_NEG)
        hi = t_lxor(ts, hi, t_const(ts, 32, 0x80000000));
    return t_pair(ts, lo, hi);
}

void mach_put(Mach *mach, unsigned i, unsigned c, Term *v) {
    Operand o = mach->in->dst[i];
    mach->written |= 1u << i;
    if (o.kind != OPK_REG)
        return;
    if (o.file == RF_R && o.value + c < REG_RZ)
        mach_set(mach, LOC_R + o.value + c, v);
    if (o.file == RF_UR && o.value + c < NUM_UR)
        mach_set(mach, LOC_UR + o.value + c, v);
}
void mach_put64(Mach *mach, unsigned i, Term *v) {
    mach_put(mach, i, 0, t_lo(&mach->prover->ts, v));
    mach_put(mach, i, 1, t_hi(&mach->prover->ts, v));
}
void mach_put_pred(Mach *mach, unsigned i, Term *v) {
    Operand o = mach->in->dst[i];
    mach->written |= 1u << i;
    if (o.kind == OPK_REG && o.value != REG_PT)
        mach_set(mach, (o.file == RF_UP ? LOC_UP : LOC_P) + o.value, v);
}

/* ---- stack slots ---- */
/* First slot of a local access of words, UINT32_MAX if it is none of slots alone: behind the frame's
 * variables, at a known offset. */
static uint32_t slot_of(Mach *mach, Term *addr, unsigned bytes) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    Term *term = t_sub(ts, addr, t_sub(ts, prove_sp(prover), t_const(ts, 32, prover->bf->frame_bytes)));
    if (!t_is_const(term) || term->k % 4 || term->k < prover->var_bytes ||
        (term->k - prover->var_bytes) / 4 >= MAX_SLOTS)
        return UINT32_MAX;
    uint32_t slot = (uint32_t)(term->k - prover->var_bytes) / 4;
    return bytes >= 4 && LOC_SLOT + slot + bytes / 4 <= prover->nloc ? LOC_SLOT + slot : UINT32_MAX;
}

static void check_slot(Mach *mach, uint32_t slot, unsigned bytes) {
    uint32_t offset = mach->prover->var_bytes + 4 * (slot - LOC_SLOT);
    if (bytes > mach->prover->stack_multiple || (offset - mach->prover->bf->frame_bytes) % bytes)
        mach_fault(mach, "a misaligned access of the frame");
}

/* ---- memory ---- */
unsigned mach_size(const Mach *mach, unsigned sz, bool *sign) {
    *sign = sz == MemSz_S8 || sz == MemSz_S16;
    return isa_access_bytes(mach->in);
}

/* Is a global or generic address computed in 64 bits, though its register may be one of 32; does the uniform
 * register hold a memory descriptor, which adds nothing? */
static bool is_extended(Mach *mach, bool *desc) {
    const MachInst *in = mach->in;
    uint32_t bits = 0;
    unsigned what = isa_modifier(in, "desc", &bits);
    *desc = what != Descriptor_NONE;
    if (what == Descriptor_POLICY)
        mach_fault(mach, "a cache policy in place of the memory descriptor is not modelled");
    bool extended = isa_modifier(in, "e", &bits) != 0;
    mach->looked |= bits;
    return extended;
}

/* The pair of uniform registers must hold the memory descriptor that the launch brings. */
static void check_descriptor(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    uint32_t at = isa_target_info(mach->prover->flow->bin->target)->descriptor_offset_bytes;
    if (!at || mach_pair(mach, 1, 0) != t_pair(ts, mach_cmem(mach, CONST_BANK_LAUNCH, at),
                                               mach_cmem(mach, CONST_BANK_LAUNCH, at + 4)))
        mach_fault(mach, "a memory descriptor that is not the launch's");
}

Term *mach_address(Mach *mach, bool wide, unsigned stride) {
    Terms *ts = &mach->prover->ts;
    const MachInst *in = mach->in;
    Term *off = t_const(ts, 32, in->src[2].kind == OPK_IMM ? in->src[2].value : 0);
    mach->looked_src |= 1u << 2;
    if (in->src[2].kind != OPK_IMM && in->src[2].kind != OPK_NONE)
        mach_fault(mach, "an address is not modelled");
    if (!wide) {
        Term *a = t_scale(ts, mach_word(mach, 0, 0), 1ull << stride);
        return t_add(ts, t_add(ts, a, mach_word(mach, 1, 0)), off);
    }
    bool desc, pair = in->src[0].mods & OPM_WIDE64, extended = is_extended(mach, &desc);
    bool ur = !desc && in->src[1].kind == OPK_REG && in->src[1].value != REG_URZ;
    mach->looked_src |= 1u << 1;
    if (desc)
        check_descriptor(mach);
    if (!extended) /* .E is what makes an address one of 64 bits */
        mach_fault(mach, "a global address of 32 bits is not modelled");
    Term *a = pair ? mach_pair(mach, 0, OPM_WIDE64) : t_zext(ts, mach_word(mach, 0, 0));
    if (ur)
        a = t_add(ts, a, mach_pair(mach, 1, 0));
    return t_add(ts, a, t_const(ts, 64, (uint64_t)(int64_t)(int32_t)(uint32_t)off->k));
}

void mach_note_access(Mach *mach, Term *addr, unsigned bytes, unsigned space, bool store) {
    VEC_ADD(
        mach->prover->run_arena, &mach->run->accesses,
        ((Access){mach->full, t_under(&mach->prover->ts, addr, mach->full), space, bytes, mach->at, store}));
}

/* An access that is stronger than any of the PTX is one as weak as those. */
unsigned mach_order(const Mach *mach, unsigned order) {
    bool strong = order == MemOrder_STRONG_SM || order == MemOrder_STRONG_CTA ||
                  order == MemOrder_STRONG_GPU || order == MemOrder_STRONG_SYS;
    return strong && !(mach->prover->watched >> MEM_GLOBAL & 1) ? MemOrder_WEAK : order;
}

void mach_load(Mach *mach, unsigned space, Term *addr, unsigned sz, unsigned order) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    bool sign;
    unsigned bytes = mach_size(mach, sz, &sign), each = bytes < 4 ? bytes : 4;
    uint32_t slot = space == MEM_LOCAL ? slot_of(mach, addr, bytes) : UINT32_MAX;
    if (slot != UINT32_MAX) {
        Term *word[4] = {0};
        check_slot(mach, slot, bytes);
        for (unsigned c = 0; c < bytes / 4; c++)
            word[c] = mach_get(mach, slot + c);
        for (unsigned c = 0; c < bytes / 4; c++)
            mach_put(mach, 0, c, word[c]);
        return;
    }
    mach_note_access(mach, addr, bytes, space, false);
    if (order == MemOrder_CONSTANT)
        mach_note_access(mach, addr, bytes, MEM_READ_ONLY, false);
    Term *word[4] = {NULL};
    if ((order != MemOrder_WEAK && order != MemOrder_CONSTANT) ||
        (space == MEM_SHARED && prover->watched >> MEM_SHARED & 1)) {
        Term *what, *arg[1] = {addr};
        mach->mem[space] = t_event(ts, mach->mem[space], mach->full, term_name(ts, "ld.order%u", order),
                                   bytes | space << 8, arg, 1, &what);
        for (unsigned c = 0; c * 4 < bytes; c++)
            word[c] = t_zext_from(ts, t_app(ts, TO_RESULT, 32, c, NULL, &what, 1), 8 * each);
    } else {
        for (unsigned c = 0; c * 4 < bytes; c++)
            word[c] = t_read(ts, order == MemOrder_CONSTANT ? mach->first_mem[space] : mach->mem[space],
                             mach->full, t_add(ts, addr, t_const(ts, addr->width, 4 * c)), each, space);
    }
    if (sign)
        word[0] = t_sext_from(ts, word[0], 8 * bytes);
    for (unsigned c = 0; c * 4 < bytes; c++)
        mach_put(mach, 0, c, word[c]);
}

void mach_store(Mach *mach, unsigned space, Term *addr, unsigned sz, unsigned order) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    bool sign;
    unsigned bytes = mach_size(mach, sz, &sign), each = bytes < 4 ? bytes : 4;
    uint32_t slot = space == MEM_LOCAL ? slot_of(mach, addr, bytes) : UINT32_MAX;
    Term *arg[5] = {addr};
    unsigned n = (bytes + 3) / 4;
    for (unsigned c = 0; c < n; c++)
        arg[c + 1] = mach_word(mach, 3, c);
    if (slot != UINT32_MAX) {
        check_slot(mach, slot, bytes);
        for (unsigned c = 0; c < n; c++)
            mach_set(mach, slot + c, arg[c + 1]);
        return;
    }
    mach_note_access(mach, addr, bytes, space, true);
    if (order != MemOrder_WEAK || (space == MEM_SHARED && prover->watched >> MEM_SHARED & 1)) {
        if (bytes < 4)
            arg[1] = t_zext_from(ts, arg[1], 8 * bytes);
        mach->mem[space] = t_event(ts, mach->mem[space], mach->full, term_name(ts, "st.order%u", order),
                                   bytes | space << 8, arg, n + 1, NULL);
        return;
    }
    for (unsigned c = 0; c < n; c++)
        mach->mem[space] = t_store(ts, mach->mem[space], mach->full,
                                   t_add(ts, addr, t_const(ts, addr->width, 4 * c)), each, space, arg[c + 1]);
}

/* An event that several lists see. */
Term *mach_event(Mach *mach, unsigned lists, const char *name, Term *const *args, uint32_t n) {
    Term *what = NULL;
    for (unsigned s = NMEM; s-- > 0;)
        if (lists >> s & 1)
            mach->mem[s] = t_event(&mach->prover->ts, mach->mem[s], mach->full, name, 0, args, n, &what);
    return what;
}
