/* What code shows of a register's value without running: constants moved, shifted and put together (barrier
 * numbers and masks of lanes are such), and which bits of it all lanes of a warp have alike, where a kernel
 * requires blocks whose rows are whole warps: the number of a warp is made of %tid.x. Operations on the way
 * are known by name: those that compilers have there; what another one computes is unknown.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include "isa/machine/abi.h"
#include <string.h>

static bool is_zero(Operand o) {
    return o.kind == OPK_REG &&
           ((o.file == RF_R && o.value == REG_RZ) || (o.file == RF_UR && o.value == REG_URZ));
}

static CheckBits lop3(uint32_t lut, const CheckBits *in) {
    uint32_t zero = 0, one = 0; /* where the result may be so */
    uint32_t alike = in[0].same & in[1].same & in[2].same;
    for (unsigned row = 0; row < 8; row++) {
        uint32_t may = UINT32_MAX;
        for (unsigned k = 0; k < 3; k++)
            may &= ~in[k].known | (row >> (2 - k) & 1 ? in[k].value : ~in[k].value);
        *(lut >> row & 1 ? &one : &zero) |= may;
    }
    uint32_t known = ~(zero & one);
    return (CheckBits){known, one & ~zero, alike | known};
}

static CheckBits constant(uint32_t value) { return (CheckBits){UINT32_MAX, value, UINT32_MAX}; }

/* Of whole warps in rows: in which all lanes of a warp have one %tid.y and one %tid.z. */
static bool has_rows_of_warps(const BinFlow *flow, uint32_t inst) {
    const uint32_t *n = flow->bin->funcs[flow->blocks[flow->block_of[inst]].func].reqntid;
    return n[0] && (n[0] % 32 == 0 || (uint64_t)n[1] * n[2] == 1);
}

bool check_sreg_of_warp(const BinFlow *flow, uint32_t inst, uint32_t sreg) {
    const char *name = isa_sreg_name(flow->bin->target, sreg);
    return name && (strcmp(name, "tid.y") == 0 || strcmp(name, "tid.z") == 0) &&
           has_rows_of_warps(flow, inst);
}

static CheckBits sreg_bits(const BinFlow *flow, uint32_t at, Operand o) {
    const char *name = o.kind == OPK_SREG ? isa_sreg_name(flow->bin->target, o.value) : NULL;
    bool lanes = name && strcmp(name, "tid.x") == 0 && has_rows_of_warps(flow, at);
    return (CheckBits){0, 0, lanes ? ~31u : 0};
}

/* SHF.L.U32 of a register, or SHF.R.U32.HI of RZ and a register, by a number. */
static CheckBits shift_bits(const BinFlow *flow, uint32_t at, unsigned *left) {
    const MachInst *inst = &flow->insts[at];
    Operand amount = inst->src[SHF_rb];
    bool right = MGET(SHF, dir, inst->mods) == ShfDir_R;
    if (amount.kind != OPK_IMM || amount.value > 31 || MGET(SHF, type, inst->mods) != ShfType_U32 ||
        MGET(SHF, hi, inst->mods) != right || (right && !is_zero(inst->src[SHF_ra])))
        return (CheckBits){0, 0, 0};
    CheckBits in = check_bits_before(flow, at, inst->src[right ? SHF_rc : SHF_ra], left);
    uint32_t by = amount.value, zero = right ? ~(UINT32_MAX >> by) : ~(UINT32_MAX << by);
    return right ? (CheckBits){in.known >> by | zero, in.value >> by, in.same >> by | zero}
                 : (CheckBits){in.known << by | zero, in.value << by, in.same << by | zero};
}

/* Whose ways here are not all known. */
static bool is_entry(const BinFlow *flow, const BinBlock *block) {
    const BinFuncFlow *ff = &flow->funcs[block->func];
    bool entry = block == &flow->blocks[ff->first_block] || block->npreds == 0;
    for (uint32_t k = 0; k < ff->nentries && !entry; k++)
        entry = &flow->blocks[ff->entries[k]] == block;
    return entry;
}

uint32_t check_one_before(const BinFlow *flow, uint32_t at) {
    const BinBlock *block = &flow->blocks[flow->block_of[at]];
    if (at > block->first)
        return at - 1;
    if (is_entry(flow, block) || block->npreds != 1)
        return NONE;
    const BinBlock *from = &flow->blocks[block->preds[0].block];
    return from->first + from->ninsts - 1;
}

/* What is known of register `o` behind instruction `at`, which writes it. */
static CheckBits bits_written(const BinFlow *flow, uint32_t at, unsigned *left) {
    const CheckBits nothing = {0, 0, 0};
    const MachInst *inst = &flow->insts[at];
    if (bin_guard(inst) != BG_ALWAYS || isa_has_effect(inst->optype, ISA_EFFECT_CALL))
        return nothing;
    if (inst->optype == OT_UMOV)
        return check_bits_before(flow, at, inst->src[UMOV_urb], left);
    if (inst->optype == OT_MOV)
        return check_bits_before(flow, at, inst->src[MOV_rb], left);
    if (inst->optype == OT_IMAD && is_zero(inst->src[IMAD_ra]) && !MGET(IMAD, x, inst->mods))
        return check_bits_before(flow, at, inst->src[IMAD_rc], left);
    if (inst->optype == OT_HFMA2_MMA && is_zero(inst->src[HFMA2_MMA_ra]) &&
        is_zero(inst->src[HFMA2_MMA_rb]) &&
        inst->src[HFMA2_MMA_rc].kind == OPK_IMM) /* ptxas moves constants so */
        return constant(inst->src[HFMA2_MMA_rc].value);
    if (inst->optype == OT_CS2R && inst->src[0].kind == OPK_SREG &&
        (int)inst->src[0].value == isa_sreg_number(flow->bin->target, "zero"))
        return constant(0);
    if (inst->optype == OT_S2R)
        return sreg_bits(flow, at, inst->src[0]);
    if (inst->optype == OT_LOP3) {
        CheckBits in[3];
        for (unsigned k = 0; k < 3; k++)
            in[k] = check_bits_before(flow, at, inst->src[k], left);
        return lop3(MGET(LOP3, lut, inst->mods), in);
    }
    return inst->optype == OT_SHF ? shift_bits(flow, at, left) : nothing;
}

/* The last instruction of the block before `end` that writes the register or calls; NONE, with *left 0 where
 * the search ends. */
static uint32_t last_writer(const BinFlow *flow, const BinBlock *block, uint32_t end, Operand o,
                            unsigned *left) {
    while (end-- > block->first && *left) {
        --*left;
        if (!flow->decoded[end])
            *left = 0;
        else if (isa_has_effect(flow->insts[end].optype, ISA_EFFECT_CALL) ||
                 bin_writes_reg(flow->bin->target, &flow->insts[end], o.file, o.value))
            return end;
    }
    return NONE;
}

/* False: no room. */
static bool add_once(uint32_t *blocks, uint32_t *n, uint32_t most, uint32_t block) {
    for (uint32_t k = 0; k < *n; k++)
        if (blocks[k] == block)
            return true;
    if (*n == most)
        return false;
    blocks[(*n)++] = block;
    return true;
}

CheckBits check_bits_before(const BinFlow *flow, uint32_t at, Operand o, unsigned *left) {
    const CheckBits nothing = {0, 0, 0};
    if (o.kind == OPK_IMM)
        return constant(o.value);
    if (o.kind != OPK_REG || (o.file != RF_R && o.file != RF_UR) || o.mods & ~(OPM_REUSE | OPM_NOT))
        return nothing;
    if (is_zero(o))
        return constant(o.mods & OPM_NOT ? UINT32_MAX : 0);
    if (o.mods & OPM_NOT)
        return nothing;
    enum { MOST_BLOCKS = 64 };
    uint32_t blocks[MOST_BLOCKS], n = 0, block = flow->block_of[at], end = at;
    CheckBits all = {UINT32_MAX, 0, UINT32_MAX};
    bool any = false;
    for (uint32_t next = 0;;
         block = blocks[next++], end = flow->blocks[block].first + flow->blocks[block].ninsts) {
        uint32_t writer = last_writer(flow, &flow->blocks[block], end, o, left);
        if (writer != NONE) {
            CheckBits way = bits_written(flow, writer, left);
            all.known &= way.known & (any ? ~(way.value ^ all.value) : UINT32_MAX);
            all.value = way.value & all.known;
            all.same = any ? all.known : way.same; /* lanes may come from several */
            any = true;
        } else if (!*left || is_entry(flow, &flow->blocks[block]))
            return nothing;
        else
            for (uint32_t k = 0; k < flow->blocks[block].npreds; k++)
                if (!add_once(blocks, &n, MOST_BLOCKS, flow->blocks[block].preds[k].block))
                    return nothing;
        if (next == n || !(all.known | all.same))
            return any ? all : nothing;
    }
}

/* Do lanes that differ in these low bits compare alike with the number? */
static bool splits_no_warp(const MachInst *inst, uint32_t varying) {
    uint32_t cmp = MGET(ISETP, cmp, inst->mods), limit = inst->src[ISETP_rb].value;
    return varying != UINT32_MAX && (varying & (varying + 1)) == 0 && /* else they have both signs */
           (cmp == ICmp_GE || cmp == ICmp_LT   ? (limit & varying) == 0
            : cmp == ICmp_GT || cmp == ICmp_LE ? (limit & varying) == varying
                                               : false);
}

bool check_is_of_warp(const BinFlow *flow, uint32_t at) {
    enum { NEAR = 256 };
    const MachInst *inst = &flow->insts[at];
    unsigned left = NEAR;
    if (!has_rows_of_warps(flow, at))
        return false;
    if (inst->optype == OT_ISETP)
        return inst->src[ISETP_rb].kind == OPK_IMM && !MGET(ISETP, ex, inst->mods) &&
               splits_no_warp(inst, ~check_bits_before(flow, at, inst->src[ISETP_ra], &left).same);
    if (inst->optype == OT_SHF)
        return shift_bits(flow, at, &left).same == UINT32_MAX;
    if (inst->optype != OT_LOP3)
        return false;
    CheckBits in[3];
    for (unsigned k = 0; k < 3; k++)
        in[k] = check_bits_before(flow, at, inst->src[k], &left);
    return lop3(MGET(LOP3, lut, inst->mods), in).same == UINT32_MAX;
}

bool check_mask(const BinFlow *flow, uint32_t inst, uint32_t *mask) {
    enum { FAR = 64 };
    const MachInst *own = &flow->insts[inst];
    bool branch = own->optype == OT_BRA;
    Operand o = branch                                  ? own->src[BRA_ura]
                : own->optype == OT_WARPSYNC_COLLECTIVE ? own->src[WARPSYNC_COLLECTIVE_rb]
                                                        : own->src[WARPSYNC_rb];
    if (o.kind == OPK_NONE) { /* WARPSYNC.ALL */
        *mask = UINT32_MAX;
        return !branch;
    }
    unsigned left = FAR;
    CheckBits bits = check_bits_before(flow, inst, o, &left);
    *mask = bits.value;
    return bits.known == UINT32_MAX;
}
