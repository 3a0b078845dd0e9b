/* Which of the driver's functions a call comes to whose target is in a register: callers have its address in
 * bank 4, where the loader puts it, and load it shortly before. Known is what one way of straight code shows:
 *     MOV R14, 0x8 ;  LDC.64 R14, c[0x4][R14] ;  ...  CALL.ABS.NOINC R14 ;
 * or moves of both words, from there or as the loader puts them into the code. SPDX-License-Identifier: MIT
 */
#include "check/flow/binflow.h"
#include "ir/ir.h"
#include "isa/machine/banks.h"

enum { LOOK_BACK = 64 };

static bool is_rz(Operand o) { return o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ; }

/* The instruction that gives vector register `reg` the value that it has before instruction `at`; NONE where
 * another way may lead to between, or it is not known. */
static uint32_t writer_of(const BinFlow *flow, const bool *landed, uint32_t first, uint32_t at,
                          uint32_t reg) {
    for (uint32_t k = at, n = 0; k-- > first && n < LOOK_BACK && !landed[k + 1]; n++) {
        const MachInst *inst = &flow->insts[k];
        if (!flow->decoded[k] || bin_kind(inst) == BK_CALL)
            break;
        if (bin_writes_reg(flow->bin->target, inst, RF_R, reg))
            return bin_guard(inst) == BG_ALWAYS ? k : BINFLOW_NONE;
    }
    return BINFLOW_NONE;
}

/* What is moved to a register: MOV, or the IMAD that compilers move by. Else no operand. */
static Operand moved_operand(const MachInst *inst) {
    if (inst->optype == OT_MOV)
        return inst->src[MOV_rb];
    bool moves = inst->optype == OT_IMAD && !MGET(IMAD, x, inst->mods) &&
                 (is_rz(inst->src[IMAD_ra]) || is_rz(inst->src[IMAD_rb]));
    return moves ? inst->src[IMAD_rc] : (Operand){0};
}

/* The same behind moves from register to register. */
static uint32_t source_of(const BinFlow *flow, const bool *landed, uint32_t first, uint32_t at,
                          uint32_t reg) {
    for (;;) {
        at = writer_of(flow, landed, first, at, reg);
        Operand from = at == BINFLOW_NONE ? (Operand){0} : moved_operand(&flow->insts[at]);
        if (from.kind != OPK_REG || from.file != RF_R || is_rz(from) || (from.mods & ~OPM_REUSE))
            return at;
        reg = from.value;
    }
}

/* Offset in bank 4 of the address in registers `reg` and the next before instruction `at`. */
static bool find_place(const BinFlow *flow, const bool *landed, uint32_t first, uint32_t at, uint32_t reg,
                       uint32_t *offset) {
    uint32_t w = source_of(flow, landed, first, at, reg), index = 0;
    if (w == BINFLOW_NONE)
        return false;
    const MachInst *inst = &flow->insts[w];
    Operand from = inst->optype == OT_LDC ? inst->src[LDC_cb] : moved_operand(inst);
    if (from.kind != OPK_CMEM || op_cmem_bank(from) != CONST_BANK_ADDRESSES)
        return false;
    if (inst->optype == OT_LDC && !is_rz(inst->src[LDC_ra])) {
        uint32_t set = source_of(flow, landed, first, w, inst->src[LDC_ra].value);
        Operand number = set == BINFLOW_NONE ? (Operand){0} : moved_operand(&flow->insts[set]);
        if (number.kind != OPK_IMM && !is_rz(number))
            return false;
        index = number.kind == OPK_IMM ? number.value : 0;
    }
    *offset = op_cmem_offset(from) + index;
    return true;
}

/* What the loader puts into the operand of instruction `at`, as word `kind`; NULL: nothing. */
static const BinFixup *word_at(const BinFlow *flow, uint32_t at, RelocKind kind) {
    const Binary *binary = flow->bin;
    for (uint32_t k = 0; k < binary->nfixups; k++)
        if (binary->fixups[k].in_code && binary->fixups[k].kind == kind && !binary->fixups[k].addend &&
            binary->fixups[k].offset_bytes == (uint64_t)at * INST_BYTES)
            return &binary->fixups[k];
    return NULL;
}

SystemFunc bin_system_callee(const BinFlow *flow, const bool *landed, uint32_t first, uint32_t call) {
    const MachInst *inst = &flow->insts[call];
    const Binary *binary = flow->bin;
    uint32_t offset;
    if (bin_kind(inst) != BK_CALL || !isa_is_absolute(inst->optype, inst->mods))
        return SYSTEM_COUNT;
    Operand to = inst->src[CALL_ra];
    if (to.kind != OPK_REG || to.file != RF_R || is_rz(to) || inst->wide ||
        !find_place(flow, landed, first, call, to.value, &offset))
        return SYSTEM_COUNT;
    for (uint32_t k = 0; k < binary->nfixups; k++)
        if (binary->fixups[k].in_bank4 && binary->fixups[k].offset_bytes == offset)
            return binary->fixups[k].to == BIN_TO_EXTERN
                       ? system_find(binary->externs[binary->fixups[k].target])
                       : SYSTEM_COUNT;
    return SYSTEM_COUNT;
}

SystemFunc bin_moved_callee(const BinFlow *flow, const bool *landed, uint32_t first, uint32_t call) {
    const MachInst *inst = &flow->insts[call];
    const BinFixup *word[2];
    Operand to = inst->src[CALL_ra];
    if (bin_kind(inst) != BK_CALL || !isa_is_absolute(inst->optype, inst->mods) || inst->wide ||
        to.kind != OPK_REG || to.file != RF_R || is_rz(to))
        return SYSTEM_COUNT;
    for (unsigned w = 0; w < 2; w++) {
        uint32_t set = source_of(flow, landed, first, call, to.value + w);
        if (set == BINFLOW_NONE || moved_operand(&flow->insts[set]).kind != OPK_IMM ||
            !(word[w] = word_at(flow, set, w ? RELOC_ABS32_HI : RELOC_ABS32_LO)) ||
            word[w]->to != BIN_TO_EXTERN || word[w]->target != word[0]->target)
            return SYSTEM_COUNT;
    }
    return system_find(flow->bin->externs[word[0]->target]);
}
