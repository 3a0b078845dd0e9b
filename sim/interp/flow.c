/* Control flow of the PTX interpreter: bra, brx.idx, call, ret, exit, trap and what does nothing (PTX
 * ISA 9.7.12, 9.7.19). A frame has its own register slots and its own piece of local memory, which also holds
 * its .param variables.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include "base/align.h"
#include "base/scope.h"
#include <stdlib.h>

PtxStep interp_exec_pure(PtxRun *r, PtxThread *t, const PtxCode *code) {
    uint64_t a = interp_arg(r, t, &code->src[0]), b = interp_arg(r, t, &code->src[1]),
             x = interp_arg(r, t, &code->src[2]);
    interp_put(t, code->dst[0], code->pure(a, b, x, code));
    return STEP_GO;
}

PtxStep interp_exec_nop(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)r, (void)t, (void)c;
    return STEP_GO;
}

static PtxStep exec_bra(PtxRun *r, PtxThread *thread, const PtxCode *code) {
    (void)r;
    interp_took(thread, code, 0);
    thread->pc = code->targets[0];
    return STEP_GO;
}

static PtxStep exec_brx(PtxRun *r, PtxThread *thread, const PtxCode *code) {
    uint32_t i = (uint32_t)interp_arg(r, thread, &code->src[0]);
    if (i >= code->ntargets)
        return interp_trap_at(r, thread, code, TRAP_BRANCH_INDEX, i, NULL);
    interp_took(thread, code, i);
    thread->pc = code->targets[i];
    return STEP_GO;
}

/* ---- frames ---- */

/* What a thread has is in the run's arena: a launch begins thousands of threads, and few grow. */
static void grow_slots(PtxRun *run, PtxThread *thread, uint32_t need) {
    uint32_t had = thread->slots_cap, cap = had ? need + need / 2 : need;
    if (need <= had)
        return;
    thread->slots =
        arena_grow(&run->arena, thread->slots, had * sizeof *thread->slots, cap * sizeof *thread->slots);
    if (run->opt.report_uninitialised)
        thread->slot_init = arena_grow(&run->arena, thread->slot_init, had, cap);
    thread->slots_cap = cap;
}

static void grow_frames(PtxRun *run, PtxThread *thread) {
    uint32_t had = thread->frames_cap, cap = had ? had * 2 : 1;
    if (thread->nframes < had)
        return;
    thread->frames =
        arena_grow(&run->arena, thread->frames, had * sizeof *thread->frames, cap * sizeof *thread->frames);
    thread->frames_cap = cap;
}

static void use_frame(PtxThread *thread) {
    const PtxFrame *frame = &thread->frames[thread->nframes - 1];
    thread->proc = frame->proc;
    thread->regs = thread->slots + frame->slot_base;
    thread->init = thread->slot_init ? thread->slot_init + frame->slot_base : NULL;
    thread->local_base = frame->local_base;
}

PtxStep interp_enter(PtxRun *run, PtxThread *thread, PtxProc *ptx_proc, const PtxCode *call) {
    uint32_t base = thread->nslots,
             local = thread->nframes ? thread->local_top : LOCAL_FIRST_BYTE + run->opt.moved_bytes;
    uint32_t gaps =
        ptx_proc->gap_bytes + (thread->nframes ? thread->frames[thread->nframes - 1].gap_bytes : 0);
    bool stack = !ptx_proc->frame_bytes || /* most threads have none */
                 interp_local_reserve(run, thread, local + ptx_proc->frame_bytes, gaps);
    if (thread->nframes >= MAX_CALL_DEPTH || !stack)
        return interp_trap(run, thread, call, TRAP_STACK, "call");
    grow_frames(run, thread);
    grow_slots(run, thread, base + ptx_proc->nslots);
    interp_unwritten_slots(run, ptx_proc, thread->slots + base);
    if (thread->slot_init)
        memset(thread->slot_init + base, 0, ptx_proc->nslots);
    if (ptx_proc->frame_bytes)
        interp_unwritten_bytes(run, thread->local + local, ptx_proc->frame_bytes);
    thread->frames[thread->nframes++] = (PtxFrame){.proc = ptx_proc,
                                                   .ret_pc = thread->pc,
                                                   .call = call,
                                                   .slot_base = base,
                                                   .local_base = local,
                                                   .gap_bytes = gaps};
    thread->nslots = base + ptx_proc->nslots;
    thread->local_top = local + ptx_proc->frame_bytes;
    use_frame(thread);
    thread->pc = ptx_proc->code;
    return STEP_GO;
}

static const PtxVar *var(const PtxRun *run, uint32_t index) { return &run->module->vars[index]; }

/* One side of a parameter copy: a register's slots in a frame, the second for its upper 64 bits, or bytes of
 * its local memory. */
static void read_place(const PtxThread *thread, const PtxFrame *frame, uint32_t index, uint32_t reg,
                       uint8_t *bytes, uint32_t n) {
    const uint64_t *slots = thread->slots + frame->slot_base;
    if (!reg) {
        memcpy(bytes, thread->local + frame->local_base + frame->proc->var_offset[index], n);
        return;
    }
    memcpy(bytes, &slots[reg], n < 8 ? n : 8);
    if (n > 8)
        memcpy(bytes + 8, &slots[reg + frame->proc->func->nregs], 8);
}
static void write_slot(PtxThread *thread, uint32_t slot, const uint8_t *bytes, uint32_t n) {
    thread->slots[slot] = 0;
    memcpy(&thread->slots[slot], bytes, n < 8 ? n : 8);
    if (thread->slot_init)
        thread->slot_init[slot] = 1;
}
static void write_place(PtxThread *thread, const PtxFrame *frame, uint32_t index, uint32_t reg,
                        const uint8_t *bytes, uint32_t n) {
    if (!reg) {
        memcpy(thread->local + frame->local_base + frame->proc->var_offset[index], bytes, n);
        return;
    }
    write_slot(thread, frame->slot_base + reg, bytes, n);
    if (n > 8)
        write_slot(thread, frame->slot_base + reg + frame->proc->func->nregs, bytes + 8, 8);
}

#define MAX_PARAM_BYTES 4096u
static uint32_t place_bytes(const PtxRun *r, uint32_t index) {
    uint64_t n = var(r, index)->size_bytes;
    return n == 0 ? 1 : n > MAX_PARAM_BYTES ? MAX_PARAM_BYTES : (uint32_t)n; /* predicates: one byte */
}

static uint32_t sym_var(const PtxOperand *operand) {
    return operand->kind == PO_SYM && operand->sym && !(operand->sym & PTX_SYM_FUNC) ? operand->sym - 1
                                                                                     : UINT32_MAX;
}

static PtxStep enter_with_args(PtxRun *r, PtxThread *thread, const PtxCode *code, PtxProc *proc) {
    const PtxInsn *in = code->insn;
    const PtxFunc *f = proc->func;
    uint64_t *values = r->call_values; /* they are the caller's, whose frame is the current one until then */
    uint32_t caller = thread->nframes - 1;
    if (in->nargs != f->nparams || in->nrets > f->nrets)
        return interp_trap(r, thread, code, TRAP_CALL_TARGET, "wrong number of parameters");
    for (unsigned i = 0; i < in->nargs; i++)
        values[i] = code->vec ? interp_arg(r, thread, &code->vec[i]) : 0;
    PtxStep step = interp_enter(r, thread, proc, code);
    if (step != STEP_GO)
        return step;
    const PtxFrame *from = &thread->frames[caller], *to = &thread->frames[caller + 1];
    for (unsigned i = 0; i < in->nargs; i++) {
        uint8_t bytes[MAX_PARAM_BYTES] = {0};
        uint32_t n = place_bytes(r, f->params[i]), arg = sym_var(&in->args[i]);
        if (arg != UINT32_MAX)
            read_place(thread, from, arg, 0, bytes, n < place_bytes(r, arg) ? n : place_bytes(r, arg));
        else if (n > 8 && in->args[i].kind == PO_REG)
            read_place(thread, from, 0, in->args[i].reg, bytes, n);
        else
            memcpy(bytes, &values[i], 8);
        write_place(thread, to, f->params[i], f->param_regs ? f->param_regs[i] : 0, bytes, n);
    }
    return STEP_GO;
}

static PtxStep exec_call(PtxRun *r, PtxThread *t, const PtxCode *code) {
    interp_took(t, code, 0); /* lanes that call from elsewhere are on another path */
    return enter_with_args(r, t, code, code->callee);
}

/* ---- functions of the driver ---- */

typedef struct {
    PtxRun *run;
    PtxThread *thread;
    const PtxCode *code;
} SystemMemory;

static bool system_read(void *memory, uint64_t address, void *bytes, unsigned size_bytes) {
    SystemMemory *m = memory;
    const uint8_t *p = interp_memory(m->run, m->thread, m->code, SP_NONE, address, size_bytes, false);
    if (p)
        memcpy(bytes, p, size_bytes);
    return p != NULL;
}

static PtxStep exec_call_system(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    const PtxInsn *in = code->insn;
    const PtxFrame *frame = &thread->frames[thread->nframes - 1];
    SystemMemory memory = {run, thread, code};
    SystemCall call = {.func = code->system,
                       .read = system_read,
                       .memory = &memory,
                       .heap = run->mem,
                       .print = run->opt.print,
                       .print_user = run->opt.print_user};
    const SystemInfo *info = system_info(call.func);
    for (unsigned i = 0; i < in->nargs; i++) {
        uint32_t arg = sym_var(&in->args[i]);
        uint64_t v = arg == UINT32_MAX ? interp_arg(run, thread, &code->vec[i]) : 0;
        if (arg != UINT32_MAX)
            read_place(thread, frame, arg, 0, (uint8_t *)&v, info->param_bytes[i]);
        call.params[i] = v & width_mask(info->param_bytes[i]);
    }
    memcpy(call.block, thread->warp->block->ctaid, sizeof call.block);
    memcpy(call.thread, thread->tid, sizeof call.thread);
    switch (sim_system_call(&call)) {
    case SYSTEM_RETURNS:
        if (call.func == SYSTEM_MALLOC && call.result) {
            interp_unwritten_piece(run, call.result, call.params[0]);
            interp_race_fresh(run, call.result, call.params[0]);
        }
        run->res->stores += call.func == SYSTEM_VPRINTF; /* what is printed is a result */
        break;
    case SYSTEM_BAD_FREE:
        return interp_trap_at(run, thread, code, TRAP_OUT_OF_RANGE, call.params[0],
                              "free of what malloc did not give");
    case SYSTEM_ASSERTION: return interp_trap(run, thread, code, TRAP_ASSERTION, call.failed);
    default: return STEP_STOP; /* the read that failed has said why */
    }
    if (in->nrets) {
        const PtxOperand *operand = &in->rets[0];
        uint32_t ret = sym_var(operand);
        if (ret != UINT32_MAX || operand->kind == PO_REG)
            write_place(thread, frame, ret, ret == UINT32_MAX ? operand->reg : 0,
                        (const uint8_t *)&call.result, info->result_bytes);
    }
    return STEP_GO;
}

static PtxStep exec_call_indirect(PtxRun *run, PtxThread *t, const PtxCode *code) {
    uint64_t target = interp_arg(run, t, &code->src[0]);
    for (uint32_t i = 0; i < run->module->nfuncs; i++)
        if (run->func_address[i] == target && run->procs[i] && run->procs[i]->decoded) {
            interp_took(t, code, i);
            return enter_with_args(run, t, code, run->procs[i]);
        }
    return interp_trap_at(run, t, code, TRAP_CALL_TARGET, target, NULL);
}

/* Copy the return values to the caller and go on behind the call; the kernel's own ret ends the thread. */
PtxStep interp_exec_ret(PtxRun *r, PtxThread *thread, const PtxCode *c) {
    (void)c;
    if (thread->nframes == 1) {
        interp_exit_thread(r, thread);
        return STEP_STOP;
    }
    const PtxFrame *from = &thread->frames[thread->nframes - 1], *to = from - 1;
    const PtxFunc *f = from->proc->func;
    const PtxInsn *call = from->call->insn;
    for (unsigned i = 0; i < call->nrets; i++) {
        uint8_t bytes[MAX_PARAM_BYTES] = {0};
        const PtxOperand *operand = &call->rets[i];
        uint32_t n = place_bytes(r, f->rets[i]), ret = sym_var(operand);
        read_place(thread, from, f->rets[i], f->ret_regs ? f->ret_regs[i] : 0, bytes, n);
        if (ret != UINT32_MAX)
            write_place(thread, to, ret, 0, bytes, n < place_bytes(r, ret) ? n : place_bytes(r, ret));
        else if (operand->kind == PO_REG)
            write_place(thread, to, 0, operand->reg, bytes, n);
    }
    thread->pc = from->ret_pc;
    thread->local_top = from->local_base;
    thread->nslots = from->slot_base;
    thread->nframes--;
    use_frame(thread);
    return STEP_GO;
}

static PtxStep exec_exit(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)c;
    interp_exit_thread(r, t);
    return STEP_STOP;
}
static PtxStep exec_trap(PtxRun *r, PtxThread *t, const PtxCode *c) {
    return interp_trap(r, t, c, TRAP_INSTRUCTION, NULL);
}
static PtxStep exec_brkpt(PtxRun *r, PtxThread *t, const PtxCode *c) {
    return interp_trap(r, t, c, TRAP_BREAKPOINT, NULL);
}
static PtxStep exec_yield(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)r, (void)t, (void)c;
    return STEP_YIELD;
}

static PtxStep exec_createpolicy(PtxRun *r, PtxThread *t, const PtxCode *code) {
    (void)r; /* opaque, and a hint: docs/ptx.md says which value */
    interp_put(t, code->dst[0], 0x16f0000000000000);
    return STEP_GO;
}

bool interp_bind_bra(PtxCode *code) {
    code->exec = exec_bra;
    return code->ntargets == 1;
}
bool interp_bind_brx(PtxCode *code) {
    code->exec = exec_brx;
    return code->ntargets > 0;
}
bool interp_bind_call(PtxCode *code) {
    const PtxInsn *in = code->insn;
    if (code->system != SYSTEM_COUNT) {
        code->exec = exec_call_system;
        return in->nargs <= SYSTEM_MAX_PARAMS;
    }
    code->exec = code->callee ? exec_call : exec_call_indirect;
    return true;
}
bool interp_bind_createpolicy(PtxCode *code) {
    code->exec = exec_createpolicy;
    return code->ndst == 1;
}
BIND_EXEC(ret, interp_exec_ret)
BIND_EXEC(exit, exec_exit)
BIND_EXEC(trap, exec_trap)
BIND_EXEC(brkpt, exec_brkpt)
BIND_EXEC(nanosleep, exec_yield)

/* ---- a stack that grows: behind the frame, until the function returns ---- */

static PtxStep exec_alloca(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    enum { LEAST_ALIGN = 8, FRAME_ALIGN = 32 };
    uint64_t size = interp_arg(run, thread, &code->src[0]) & width_mask(code->size_bytes),
             align = code->nsrc > 1 && code->src[1].imm > LEAST_ALIGN ? code->src[1].imm : LEAST_ALIGN,
             at = align_up(thread->local_top, align);
    uint32_t gaps = thread->frames[thread->nframes - 1].gap_bytes;
    if (size > LOCAL_MAX_BYTES || at > LOCAL_MAX_BYTES ||
        !interp_local_reserve(run, thread, (uint32_t)align_up(at + size, FRAME_ALIGN), gaps))
        return interp_trap(run, thread, code, TRAP_STACK, "alloca");
    thread->local_top = (uint32_t)align_up(at + size, FRAME_ALIGN);
    memset(thread->local + at, 0, size);
    interp_put(thread, code->dst[0], at);
    return STEP_GO;
}

static PtxStep exec_stacksave(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    (void)run;
    interp_put(thread, code->dst[0], thread->local_top);
    return STEP_GO;
}

static PtxStep exec_stackrestore(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    const PtxFrame *frame = &thread->frames[thread->nframes - 1];
    uint64_t end = interp_arg(run, thread, &code->src[0]);
    if (end > thread->local_top || end < frame->local_base + frame->proc->frame_bytes)
        return interp_trap(run, thread, code, TRAP_STACK, "what stackrestore gets is no end of this stack");
    thread->local_top = (uint32_t)end;
    return STEP_GO;
}

BIND_EXEC(alloca, exec_alloca)
BIND_EXEC(stacksave, exec_stacksave)
BIND_EXEC(stackrestore, exec_stackrestore)
