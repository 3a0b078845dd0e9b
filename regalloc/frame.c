/* The pass `frame`: stack layout and the accesses to it. R1 points at the function's frame in the thread's
 * local memory:
 *   [R1, R1 + var_bytes)    variables; what is passed on the stack to callees lies at its start
 *   behind                  spill slots
 *   R1 + frame_bytes        the caller's frame: incoming stack arguments (IR_FRAME_ADDR with
 * IR_FRAME_INCOMING) behind                  registers of the caller that an open function keeps for it
 * (abi.h)
 * Where the stack grows below that, callees begin at the link, a word below all of it that has the frame's
 * address; the frame has the link's (Function.link_at), so that a call is LDL R1, [R1 + where]; CALL; LDL R1,
 * [R1]. A kernel loads R1 from the constant bank; a device function lowers it on entry and raises it before
 * each RET. SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"
#include "ir/pass.h"
#include "frontend/ast.h"
#include "isa/machine/banks.h"
#include <string.h>

enum { FRAME_ALIGN = 16, MAX_OFFSET = 1 << 23 };
/* For a stack that grows, as nothing says how far: as much as the CUDA driver gives a thread unless told. */
enum { GROWTH_BYTES = 1024 };

static Operand sp(void) { return op_reg(RF_R, ABI_STACK_REG, 1); }

static InstId add_to(Function *f, Operand dst, Operand base, uint32_t bytes, LocId loc) {
    InstId id = ir_inst_new(f, OT_IADD3, isa_num_dst(OT_IADD3), isa_num_src(OT_IADD3));
    Inst *i = ir_inst(f, id);
    i->loc = loc;
    *ir_dst(f, i, IADD3_rd) = dst;
    *ir_src(f, i, IADD3_ra) = base;
    *ir_src(f, i, IADD3_rb) = op_imm(bytes);
    *ir_src(f, i, IADD3_rc) = op_rz();
    return id;
}

static void set_up_kernel(Function *f, uint32_t frame_bytes) {
    const TargetInfo *info = isa_target_info(f->module->target);
    Operand top = op_cmem(CONST_BANK_LAUNCH, info->stack_top_offset_bytes);
    unsigned op = info->has_alu_cmem ? OT_MOV : OT_LDC;
    InstId id = ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
    *ir_dst(f, ir_inst(f, id), 0) = sp();
    *ir_src(f, ir_inst(f, id), op == OT_MOV ? (unsigned)MOV_rb : (unsigned)LDC_cb) = top;
    if (frame_bytes)
        ir_insert(f, f->entry, 0, add_to(f, sp(), sp(), 0u - frame_bytes, (LocId){0}));
    ir_insert(f, f->entry, 0, id);
}

/* [R1 + offset] and a register: STL or LDL. */
static InstId stack_word(Function *f, bool store, Operand reg, uint32_t offset, LocId loc) {
    *(store ? &f->spill_store_bytes : &f->spill_load_bytes) += 4;
    unsigned op = store ? OT_STL : OT_LDL;
    InstId id = ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
    Inst *now = ir_inst(f, id);
    now->loc = loc;
    now->mods = store ? MSET(STL, sz, MemSz_32) : MSET(LDL, sz, MemSz_32);
    if (store) {
        *ir_src(f, now, STL_ra) = sp();
        *ir_src(f, now, STL_offset) = op_imm(offset);
        *ir_src(f, now, STL_rb) = reg;
    } else {
        *ir_dst(f, now, LDL_rd) = reg;
        *ir_src(f, now, LDL_ra) = sp();
        *ir_src(f, now, LDL_offset) = op_imm(offset);
    }
    return id;
}

/* IR_SPILL and IR_RELOAD take the place of STL and LDL. */
static InstId stack_access(Function *f, const Inst *i) {
    bool store = i->op == IR_SPILL;
    Operand reg = store ? *ir_src(f, i, 0) : *ir_dst(f, i, 0);
    uint32_t offset = f->var_bytes + (store ? ir_src(f, i, 1) : ir_src(f, i, 0))->value;
    return stack_word(f, store, reg, offset, i->loc);
}

/* ---- what an open function keeps ---- */

typedef struct {
    uint32_t base_bytes; /* in the frame */
    unsigned n;
    uint8_t regs[REG_RZ];
} Kept;

/* The return address is in its registers again at RET. */
static Kept kept_registers(const Function *f) {
    Kept kept = {.base_bytes = f->var_bytes + f->spill_bytes};
    for (unsigned r = 0; f->is_open && r < REG_RZ; r++)
        if (abi_open_keeps(r) && bs_has(&f->summary.clobbers[RF_R], r) && r != ABI_STACK_REG &&
            r != ABI_OPEN_RETURN_REG && r != ABI_OPEN_RETURN_REG + 1)
            kept.regs[kept.n++] = (uint8_t)r;
    return kept;
}

/* Before RET, under its guard. */
static void put_back(Function *f, const Kept *kept, const Inst *ret, InstIds *out) {
    for (unsigned k = 0; k < kept->n; k++) {
        Operand reg = op_reg(RF_R, kept->regs[k], 1);
        InstId load = stack_word(f, false, reg, kept->base_bytes + 4 * k, ret->loc);
        if (!op_is_always(ret->guard)) {
            ir_set_guard(f, load, ret->guard);
            *ir_tied(f, ir_inst(f, load), 0) = reg;
        }
        VEC_ADD(f->arena, out, load);
    }
}

/* R1 becomes the word at [R1 + offset]. */
static InstId follow_link(Function *f, uint32_t offset, LocId loc) {
    InstId id = stack_word(f, false, sp(), offset, loc);
    f->spill_load_bytes -= 4; /* it is none */
    return id;
}

static void lower_block(Function *f, BlockId b, uint32_t frame_bytes, bool links, const Kept *kept) {
    InstIds out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        Inst i = *ir_inst(f, id);
        if (i.op == IR_SPILL || i.op == IR_RELOAD) {
            id = stack_access(f, &i);
        } else if (i.op == IR_FRAME_ADDR) {
            uint32_t offset = ir_src(f, &i, 0)->value;
            if (offset & IR_FRAME_INCOMING)
                offset = (offset & ~(uint32_t)IR_FRAME_INCOMING) + frame_bytes;
            Operand dst = *ir_dst(f, &i, 0);
            id = add_to(f, dst, sp(), offset, i.loc);
        } else if (i.op == OT_CALL && links) {
            VEC_ADD(f->arena, &out, follow_link(f, f->link_at - 1, i.loc));
            VEC_ADD(f->arena, &out, id);
            id = follow_link(f, 0, i.loc);
        } else if (i.op == OT_RET && frame_bytes && !f->is_entry) {
            put_back(f, kept, &i, &out);
            InstId raise = add_to(f, sp(), sp(), frame_bytes, i.loc);
            if (!op_is_always(i.guard)) {
                ir_set_guard(f, raise, i.guard);
                *ir_tied(f, ir_inst(f, raise), 0) = sp();
            }
            VEC_ADD(f->arena, &out, raise);
        }
        VEC_ADD(f->arena, &out, id);
    }
    ir_block(f, b)->insts = out;
}

/* Deepest stack below this function, from its callees; UINT32_MAX if one of them is not known. */
static uint32_t callee_stack(Function *f, bool *calls) {
    uint32_t deepest = 0;
    *calls = false;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            if (i->op != OT_CALL)
                continue;
            *calls = true;
            const Function *function = ir_callee(f, i);
            uint32_t needs =
                function && function->index < f->index ? function->summary.stack_bytes : UINT32_MAX;
            deepest = needs > deepest ? needs : deepest;
        }
    return deepest;
}

bool pass_frame(Function *f, Diags *d) {
    f->var_bytes = (f->var_bytes + 3) / 4 * 4;
    Kept kept = kept_registers(f);
    uint64_t size =
        ((uint64_t)f->var_bytes + f->spill_bytes + 4 * kept.n + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
    if (size >= MAX_OFFSET)
        return diag(d, f->ptx ? f->ptx->loc : (SrcLoc){0}, DIAG_E0786, str_text(f->module->strings, f->name),
                    (unsigned long long)size, (unsigned long long)MAX_OFFSET);
    uint32_t frame_bytes = (uint32_t)size;
    bool calls;
    uint32_t below = callee_stack(f, &calls);
    bool links = f->link_at && below;
    if (f->stack_grows && below && !links) /* the calls are those that reconvergence has made */
        return diag(d, f->ptx ? f->ptx->loc : (SrcLoc){0}, DIAG_E0702, str_text(f->module->strings, f->name),
                    "", "collectives that meet in a function with a stack are called from none that grows");
    if (f->stack_grows && below != UINT32_MAX)
        below += GROWTH_BYTES;
    FOR_BLOCKS(f, b)
        lower_block(f, b, frame_bytes, links, &kept);
    for (unsigned k = 0; k < kept.n; k++)
        ir_insert(f, f->entry, 0,
                  stack_word(f, true, op_reg(RF_R, kept.regs[k], 1), kept.base_bytes + 4 * k, (LocId){0}));
    if (f->is_entry && (frame_bytes || below))
        set_up_kernel(f, frame_bytes);
    else if (frame_bytes && f->entry.i)
        ir_insert(f, f->entry, 0, add_to(f, sp(), sp(), 0u - frame_bytes, (LocId){0}));
    f->summary.frame_bytes = frame_bytes;
    f->summary.stack_bytes = below == UINT32_MAX ? UINT32_MAX : frame_bytes + below;
    return true;
}
