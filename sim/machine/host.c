/* TRAP, BPT, RTT and SYSCALL: calls to the host, which says whether the warp goes on.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/abi.h"
#include "sim/machine/internal.h"
#include <string.h>

/* Ask the host's handler whether to go on. */
static bool host_goes_on(Warp *w, const Dec *dec, uint32_t g, MachineCallKind kind) {
    const Run *r = w->run;
    if (!r->opt.call)
        return false;
    uint64_t pc = pc_address(r, (uint32_t)(dec - w->prog));
    const BinFunc *f = binary_func_at(r->bin, pc);
    uint64_t in_func = f ? pc - f->address : pc;
    MachineCall c = {.kind = kind,
                     .name = isa_optype_name(dec->optype),
                     .warp = w->index,
                     .pc_bytes = pc,
                     .func_pc_bytes = in_func,
                     .func = f,
                     .lanes = g,
                     .has_value = kind == MACHINE_CALL_TRAP,
                     .regs = (const uint32_t(*)[32])(const void *)w->rows};
    if (f && f->locs && in_func / INST_BYTES < f->ninsts)
        c.ptx_line = f->locs[in_func / INST_BYTES].ptx_line;
    memcpy(c.block, w->cta->id, sizeof c.block);
    for (uint32_t m = c.has_value ? g : 0; m; m &= m - 1)
        c.value[low_lane(m)] = dec->nv ? dec_src(w, dec, 0)[low_lane(m)] : dec->imm[0];
    return r->opt.call(r->opt.call_user, &c);
}

static int op_trap(Warp *w, Dec *dec, uint32_t g) {
    if (!g || host_goes_on(w, dec, g, MACHINE_CALL_TRAP))
        return RUN_OK;
    uint32_t v = dec->nv ? dec_src(w, dec, 0)[low_lane(g)] : dec->imm[0];
    SimTrapKind why = dec->optype != OT_TRAP        ? TRAP_INSTRUCTION
                      : v == TRAP_CODE_BREAKPOINT   ? TRAP_BREAKPOINT
                      : v == TRAP_CODE_BRANCH_INDEX ? TRAP_BRANCH_INDEX
                                                    : TRAP_INSTRUCTION;
    return machine_trap(w, dec, low_lane(g), why, "%s 0x%x", isa_optype_name(dec->optype), v);
}

/* The specification gives these no meaning of their own: without a handler they cannot be executed. */
static int op_host_call(Warp *warp, Dec *dec, uint32_t g) {
    MachineCallKind kind = dec->optype == OT_RTT ? MACHINE_CALL_RTT : MACHINE_CALL_SYSCALL;
    if (!g || host_goes_on(warp, dec, g, kind))
        return RUN_OK;
    if (warp->run->opt.call)
        return machine_trap(warp, dec, low_lane(g), TRAP_INSTRUCTION, "%s", isa_optype_name(dec->optype));
    return machine_trap(warp, dec, low_lane(g), TRAP_UNSUPPORTED, "%s without a handler",
                        isa_optype_name(dec->optype));
}

bool bind_RTT(Bind *b) { return bind_control(b, op_host_call, CLS_OTHER); }
bool bind_SYSCALL(Bind *b) { return bind_control(b, op_host_call, CLS_OTHER); }
bool bind_TRAP(Bind *b) { return bind_control(b, op_trap, CLS_OTHER); }
bool bind_BPT(Bind *b) { return bind_control(b, op_trap, CLS_OTHER); }
