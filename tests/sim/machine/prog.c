/* Program builder of the simulator's tests.
 * SPDX-License-Identifier: MIT */
#include "prog.h"
#include <stdio.h>
#include <string.h>

MachInst *emit(Prog *prog, unsigned op, uint32_t mods, const Operand *d, size_t nd, const Operand *s,
               size_t ns) {
    assert_true(prog->n < PROG_MAX);
    MachInst *in = &prog->in[prog->n++];
    *in = (MachInst){.optype = (uint16_t)op,
                     .mods = mods,
                     .ctrl = CONTROL_DEFAULT,
                     .ndst = (uint8_t)nd,
                     .nsrc = (uint8_t)ns,
                     .guard = op_pt()};
    in->ctrl.stall_cycles = 15;
    for (size_t i = 0; i < nd; i++)
        in->dst[i] = d[i];
    for (size_t i = 0; i < ns; i++)
        in->src[i] = s[i];
    return in;
}

#define TARGET ((Operand){.kind = OPK_IMM64})
static MachInst *to_label(Prog *prog, MachInst *in, int l) {
    prog->label_of[in - prog->in] = l + 1;
    return in;
}
void label(Prog *prog, int l) { prog->at[l] = (int)prog->n; }
MachInst *branch(Prog *p, Operand guard, int l) {
    MachInst *in = to_label(p, emit(p, OT_BRA, 0, EMPTY, S(PT_, NONE, TARGET)), l);
    in->guard = guard;
    return in;
}
void bssy(Prog *p, unsigned b, int l) { to_label(p, emit(p, OT_BSSY, 0, EMPTY, S(B(b), TARGET, PT_)), l); }
void bsync(Prog *p, unsigned b) { emit(p, OT_BSYNC, 0, EMPTY, S(B(b), PT_)); }
void break_(Prog *p, unsigned b) { emit(p, OT_BREAK, 0, EMPTY, S(B(b), PT_)); }
void yield(Prog *p) { emit(p, OT_YIELD, 0, EMPTY, S(PT_)); }
void warpsync(Prog *p, Operand mask) { emit(p, OT_WARPSYNC, 0, EMPTY, S(mask, PT_)); }
void exit_(Prog *p, Operand guard) { emit(p, OT_EXIT, 0, EMPTY, S(PT_))->guard = guard; }
void mov(Prog *p, unsigned rd, Operand src) { emit(p, OT_MOV, 0, D(R(rd)), S(src)); }
void add(Prog *p, unsigned rd, Operand a, Operand b) {
    emit(p, OT_IADD3, 0, D(R(rd), PT_, PT_), S(a, b, RZ_, NPT_, NPT_));
}
void s2r(Prog *p, unsigned rd, const char *name) {
    int n = isa_sreg_number(isa_targets[0], name);
    assert_true(n >= 0);
    emit(p, OT_S2R, 0, D(R(rd)), S(((Operand){.kind = OPK_SREG, .value = (uint32_t)n})));
}
void isetp(Prog *p, unsigned pd, uint32_t cmp, Operand a, Operand b) {
    emit(p, OT_ISETP, MSET(ISETP, cmp, cmp) | MSET(ISETP, sign, ISign_U32), D(P(pd), PT_), S(a, b, PT_, PT_));
}
void bar(Prog *p, uint32_t mode, Operand id, Operand cnt) {
    emit(p, OT_BAR, MSET(BAR, mode, mode), EMPTY, S(id, cnt, PT_));
}
void element(Prog *p, unsigned rd, unsigned param, unsigned index) {
    mov(p, rd, PARAM(param));
    mov(p, rd + 1, op_cmem(0, PARAM_BASE + 8u * param + 4));
    emit(p, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, ISign_U32), D(R2(rd), PT_),
         S(R(index), IMM(4), R2(rd), NPT_));
}
void ldg(Prog *p, unsigned rd, unsigned address) {
    emit(p, OT_LDG, MSET(LDG, e, 1), D(R(rd), PT_),
         S(op_with(R2(address), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), PT_));
}
void stg(Prog *p, unsigned address, unsigned rs) {
    emit(p, OT_STG, MSET(STG, e, 1), EMPTY,
         S(op_with(R2(address), OPM_WIDE64), op_reg(RF_UR, REG_URZ, 2), IMM(0), R(rs)));
}

static void sink(void *user, Severity severity, const char *line) {
    (void)severity;
    snprintf(user, 512, "%s", line);
}

Ran prog_run(Prog *prog, uint32_t blocks, uint32_t threads, SimMemory *mem, const uint64_t *params,
             unsigned nparams, const MachineOptions *opt) {
    const Target *t = isa_targets[0];
    for (unsigned i = 0; i < prog->n; i++) {
        char error[ISA_ERROR_BYTES] = "";
        if (prog->label_of[i])
            prog->in[i].wide =
                ((int64_t)prog->at[prog->label_of[i] - 1] - (int64_t)i - !prog->self_relative[i]) *
                INST_BYTES;
        if (!isa_encode(t, &prog->in[i], prog->code[i], error))
            fail_msg("instruction %u, %s: %s", i, isa_optype_name(prog->in[i].optype), error);
    }
    prog->func = (BinFunc){.name = "test",
                           .is_entry = true,
                           .address = 0x1000,
                           .ninsts = prog->n,
                           .nregs = 64,
                           .shared_bytes = prog->shared_bytes,
                           .stack_bytes = prog->stack_bytes,
                           .param_base = PARAM_BASE,
                           .param_bytes = 8 * nparams,
                           .const_bank2 = prog->bank2,
                           .const_bank2_bytes = prog->bank2_bytes};
    prog->bin = (Binary){.target = t,
                         .path = "test",
                         .code = prog->code,
                         .code_base = 0x1000,
                         .ncode = prog->n,
                         .funcs = &prog->func,
                         .nfuncs = 1,
                         .const_bank3 = prog->bank3,
                         .const_bank3_bytes = prog->bank3_bytes};
    Launch l = {.grid = {blocks, 1, 1},
                .block = {threads, 1, 1},
                .params = (const uint8_t *)params,
                .param_bytes = 8 * nparams};
    char text[512] = "";
    Diags d = {.sink = sink, .user = text};
    Ran r;
    r.ok = machine_run(&prog->bin, "test", &l, mem, opt, &r.res, &d);
    if (!r.ok && r.res.trap.kind == TRAP_NONE)
        fail_msg("%s", text);
    return r;
}

uint64_t buffer(SimMemory *mem, uint32_t words) { return simmem_alloc(mem, "", 4ull * words); }
uint32_t word(const SimMemory *mem, uint64_t address, uint32_t index) {
    uint32_t v = 0;
    assert_true(simmem_read(mem, address + 4ull * index, &v, 4));
    return v;
}
