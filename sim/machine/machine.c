/* A launch of the SIMT machine: variables and constant banks, then the grid (cta.c); traps and findings.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/machine.h"
#include "ir/ir.h"
#include "sim/machine/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VAR_GLOBAL, VAR_CONST, VAR_SHARED }; /* BinVar.space */
/* Beside the declared stack: for functions whose need the file does not tell; for recursion as much as the
 * PTX interpreter allows (4096 calls, 512 KiB of variables) with 128 bytes of saved registers and spills a
 * call. */
enum { CALL_STACK_BYTES = 64 << 10, RECURSION_BYTES = 1 << 20 };

/* ---- traps and findings ---- */

static void trap_place(Warp *w, const Dec *d, unsigned lane, SimTrap *t) {
    const Run *r = w->run;
    uint32_t index = d ? (uint32_t)(d - w->prog) : w->pc, thread = w->index * 32 + lane;
    uint64_t address = pc_address(r, index);
    const BinFunc *f = binary_func_at(r->bin, address);
    const uint32_t *block = r->launch->block;
    snprintf(t->kernel, sizeof t->kernel, "%s", r->kernel->name);
    t->pc = f ? address - f->address : address;
    t->ptx_line = f && f->locs && (address - f->address) / INST_BYTES < f->ninsts
                      ? f->locs[(address - f->address) / INST_BYTES].ptx_line
                      : 0;
    memcpy(t->block, w->cta->id, sizeof t->block);
    t->thread[0] = thread % block[0];
    t->thread[1] = thread / block[0] % block[1];
    t->thread[2] = thread / block[0] / block[1];
}

static int trap(Warp *w, const Dec *d, unsigned lane, SimTrapKind kind) {
    SimTrap *t = &w->run->res->trap;
    t->kind = kind;
    trap_place(w, d, lane, t);
    const BinFunc *f = binary_func_at(w->run->bin, pc_address(w->run, d ? (uint32_t)(d - w->prog) : w->pc));
    size_t used = strlen(t->text);
    if (f && f != w->run->kernel && used < sizeof t->text)
        snprintf(t->text + used, sizeof t->text - used, "%sin %s", used ? ", " : "", f->name);
    w->run->trapped = true;
    return RUN_TRAP;
}

int machine_trap(Warp *w, const Dec *d, unsigned lane, SimTrapKind kind, const char *fmt, ...) {
    SimTrap *t = &w->run->res->trap;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t->text, sizeof t->text, fmt, ap);
    va_end(ap);
    t->has_address = false;
    return trap(w, d, lane, kind);
}

int machine_trap_address(Warp *w, const Dec *d, unsigned lane, SimTrapKind kind, uint64_t address,
                         const char *text) {
    SimTrap *t = &w->run->res->trap;
    snprintf(t->text, sizeof t->text, "%s", text);
    t->has_address = true;
    t->address = address;
    return trap(w, d, lane, kind);
}

uint32_t machine_trace_reg(const MachineTrace *t, RegFile file, unsigned reg, unsigned lane) {
    const Warp *w = t->state;
    uint32_t value = 0;
    switch (file) {
    case RF_P: return w->p[reg & 7] >> lane & 1;
    case RF_UP: return w->p[PRED_UP + (reg & 7)] >> lane & 1;
    case RF_R:
    case RF_UR:
        memcpy(&value,
               w->rows + ((file == RF_UR ? ROW_UR + (reg & 63) : reg & 255) * ROW_BYTES + 4 * (lane & 31)),
               4);
        return value;
    default: return 0;
    }
}

uint64_t machine_trace_address(const MachineTrace *t, unsigned lane) {
    const Warp *w = t->state;
    const Dec *d = &w->prog[(t->pc_bytes - w->run->bin->code_base) / INST_BYTES];
    switch (t->inst->optype) {
    case OT_ST:
    case OT_STG:
    case OT_ATOM:
    case OT_ATOMG:
    case OT_ATOM_CAS:
    case OT_ATOMG_CAS:
    case OT_RED:
    case OT_LD:
    case OT_LDG: return mem_address(w, d, lane);
    default: return 0;
    }
}

const char *machine_finding_name(MachineFindingKind k) {
    static const char *const names[MF_KIND_COUNT] = {
        [MF_UNDEFINED] = "undefined value used",
        [MF_HAZARD] = "register read or overwritten too early",
        [MF_PARTIAL_BARRIER] = "E-BAR-PARTIAL: barrier executed by a part of the warp",
        [MF_COLLECTIVE] = "E-COLL: collective reads a lane that does not execute it",
        [MF_UNIFORM_DIVERGED] = "E-UR-DIV: uniform operation in a diverged warp",
        [MF_BSYNC_HOPS] = "E-HOPS: too many BSYNC switches in a row",
        [MF_LANE_LOST] = "E-LANE-LOST: lane neither active nor parked",
        [MF_RPC] = "E-RPC: lane parked outside the code",
        [MF_STALE] = "E-STALE: convergence barrier holds a lane that is not in its region",
    };
    return (unsigned)k < MF_KIND_COUNT ? names[k] : "?";
}

void machine_finding(Warp *w, const Dec *d, MachineFindingKind kind, uint32_t lanes, uint64_t other_pc,
                     const char *fmt, ...) {
    Run *r = w->run;
    MachineResult *res = r->res;
    uint64_t pc = pc_address(r, (uint32_t)(d - w->prog));
    for (uint32_t i = 0; i < res->nfindings; i++)
        if (res->findings[i].kind == kind && res->findings[i].pc_bytes == pc &&
            res->findings[i].other_pc_bytes == other_pc) {
            res->findings[i].count++;
            return;
        }
    if (!res->findings)
        res->findings = calloc(MACHINE_MAX_FINDINGS, sizeof *res->findings);
    if (!res->findings || res->nfindings == MACHINE_MAX_FINDINGS) {
        res->findings_dropped++;
        return;
    }
    MachineFinding *f = &res->findings[res->nfindings++];
    SimTrap place;
    trap_place(w, d, lanes ? low_lane(lanes) : 0, &place);
    *f = (MachineFinding){.kind = kind,
                          .pc_bytes = pc,
                          .other_pc_bytes = other_pc,
                          .count = 1,
                          .warp = w->index,
                          .lanes = lanes,
                          .func = binary_func_at(r->bin, pc),
                          .ptx_line = place.ptx_line};
    memcpy(f->block, w->cta->id, sizeof f->block);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
}

/* ---- variables and constant banks ---- */

static SimAlloc *alloc_of(Run *r, uint32_t var) { return simmem_find_name(r->mem, r->bin->vars[var].name); }

static bool fixup_value(Run *r, const BinFixup *f, uint64_t *value) {
    const Binary *b = r->bin;
    if (f->to_func && f->target < b->nfuncs) {
        *value = sim_func_address(b->funcs[f->target].name) + (uint64_t)f->addend;
        return true;
    }
    const SimAlloc *a = !f->to_func && f->target < b->nvars ? alloc_of(r, f->target) : NULL;
    *value = a ? a->address + (uint64_t)f->addend : 0;
    return a != NULL;
}

static int by_address(const void *a, const void *b) {
    const FuncPlace *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Where the code of each function lies that may be called through its address. */
static bool find_functions(Run *r, Diags *d) {
    const Binary *b = r->bin;
    r->func_places = ARENA_ARRAY(&r->arena, FuncPlace, b->nfuncs + 1u);
    for (uint32_t i = 0; i < b->nfuncs; i++)
        r->func_places[r->nfunc_places++] =
            (FuncPlace){sim_func_address(b->funcs[i].name),
                        (uint32_t)((b->funcs[i].address - b->code_base) / INST_BYTES)};
    qsort(r->func_places, r->nfunc_places, sizeof *r->func_places, by_address);
    for (uint32_t i = 0; i + 1 < r->nfunc_places; i++)
        if (r->func_places[i].address == r->func_places[i + 1].address)
            return diag(d, (SrcLoc){0}, DIAG_E0513, r->kernel->name, "two functions' names give one address");
    return true;
}

static bool place_variables(Run *r, Diags *d) {
    const Binary *b = r->bin;
    bool *fresh = ARENA_ARRAY(&r->arena, bool, b->nvars + 1u);
    for (uint32_t i = 0; i < b->nvars; i++) {
        const BinVar *v = &b->vars[i];
        if (v->space == VAR_SHARED || v->size_bytes == 0)
            continue;
        const SimAlloc *a = alloc_of(r, i);
        if (a && a->size_bytes < v->size_bytes)
            return diag(d, (SrcLoc){0}, DIAG_E0515, v->name, "memory of this name is smaller");
        if (a)
            continue;
        if (!simmem_alloc(r->mem, v->name, v->size_bytes))
            return diag(d, (SrcLoc){0}, DIAG_E0515, v->name, "no memory for it");
        fresh[i] = true;
    }
    for (uint32_t i = 0; i < b->nvars; i++) {
        const BinVar *v = &b->vars[i];
        SimAlloc *a = fresh[i] ? alloc_of(r, i) : NULL;
        if (a && v->init)
            simmem_write(r->mem, a->address, v->init, v->size_bytes);
        if (a)
            a->read_only = v->space == VAR_CONST;
    }
    for (uint32_t i = 0; i < b->nfixups; i++) { /* pointers in variables */
        const BinFixup *f = &b->fixups[i];
        uint64_t value;
        if (f->in_code || f->in_bank4 || f->var >= b->nvars || !fresh[f->var] || !fixup_value(r, f, &value))
            continue;
        if (!simmem_write(r->mem, alloc_of(r, f->var)->address + f->offset_bytes, &value, sizeof value))
            return diag(d, (SrcLoc){0}, DIAG_E0515, b->vars[f->var].name, "an address in it is out of range");
    }
    return true;
}

/* The code, with the addresses of variables filled in. */
static bool fix_code(Run *r, uint8_t *bank4, Diags *d) {
    const Binary *b = r->bin;
    uint64_t(*code)[2] = NULL;
    r->code = (const uint64_t(*)[2])b->code;
    for (uint32_t i = 0; i < b->nfixups; i++) {
        const BinFixup *f = &b->fixups[i];
        if (!f->in_code && !f->in_bank4)
            continue;
        uint64_t value;
        if (!fixup_value(r, f, &value))
            return diag(d, (SrcLoc){0}, DIAG_E0513, r->kernel->name, "a variable has no address");
        if (f->in_bank4) {
            if (b->const_bank4_bytes < 8 || f->offset_bytes > b->const_bank4_bytes - 8)
                return diag(d, (SrcLoc){0}, DIAG_E0513, r->kernel->name,
                            "an address is outside constant bank 4");
            memcpy(bank4 + f->offset_bytes, &value, sizeof value);
            continue;
        }
        if (f->offset_bytes / INST_BYTES >= b->ncode ||
            (f->kind != RELOC_ABS32_LO && f->kind != RELOC_ABS32_HI))
            return diag(d, (SrcLoc){0}, DIAG_E0513, r->kernel->name,
                        "an address relocation in the code is not known");
        if (!code) {
            code = arena_copy(&r->arena, b->code, (size_t)b->ncode * sizeof *b->code);
            r->code = (const uint64_t(*)[2])code;
        }
        uint64_t *word = code[f->offset_bytes / INST_BYTES];
        uint64_t imm = f->kind == RELOC_ABS32_LO ? value & 0xffffffffu : value >> 32;
        word[0] = (word[0] & 0xffffffffu) | imm << 32;
    }
    return true;
}

static void put32(uint8_t *bank, uint32_t bytes, uint32_t offset, uint32_t value) {
    if (offset <= bytes && bytes - offset >= 4)
        memcpy(bank + offset, &value, 4);
}

static void make_bank0(Run *r) {
    const BinFunc *k = r->kernel;
    const TargetInfo *t = isa_target_info(r->bin->target);
    uint32_t base = k->param_base ? k->param_base : t->param_base_bytes;
    uint32_t bytes =
        base + (r->launch->param_bytes > k->param_bytes ? r->launch->param_bytes : k->param_bytes);
    if (bytes < k->const_bank0_bytes)
        bytes = k->const_bank0_bytes;
    bytes = (bytes + 15) & ~15u;
    uint8_t *bank = arena_alloc(&r->arena, bytes);
    if (k->const_bank0_bytes)
        memcpy(bank, k->const_bank0, k->const_bank0_bytes);
    for (unsigned i = 0; i < 3; i++) {
        put32(bank, bytes, t->ntid_offset_bytes + 4 * i, r->launch->block[i]);
        put32(bank, bytes, t->nctaid_offset_bytes + 4 * i, r->launch->grid[i]);
    }
    put32(bank, bytes, t->stack_top_offset_bytes, r->local_bytes);
    put32(bank, bytes, t->dynamic_shared_offset_bytes, r->launch->dynamic_shared_bytes);
    put32(bank, bytes, t->gridid_offset_bytes, SIM_SREG_GRIDID);
    put32(bank, base, 0x10c, SIM_SREG_NSMID);
    if (r->launch->param_bytes)
        memcpy(bank + base, r->launch->params, r->launch->param_bytes);
    r->bank[0] = bank;
    r->bank_bytes[0] = bytes;
}

/* Bank 3 is what the .const variables hold now. */
static void make_bank3(Run *r) {
    const Binary *b = r->bin;
    uint8_t *bank = arena_alloc(&r->arena, b->const_bank3_bytes + 16u);
    if (b->const_bank3_bytes)
        memcpy(bank, b->const_bank3, b->const_bank3_bytes);
    for (uint32_t i = 0; i < b->nvars; i++) {
        const BinVar *v = &b->vars[i];
        const SimAlloc *a = v->space == VAR_CONST ? alloc_of(r, i) : NULL;
        if (a && v->offset_bytes <= b->const_bank3_bytes &&
            v->size_bytes <= b->const_bank3_bytes - v->offset_bytes)
            memcpy(bank + v->offset_bytes, a->data, v->size_bytes);
    }
    r->bank[3] = bank;
    r->bank_bytes[3] = b->const_bank3_bytes;
}

/* ---- recursion ---- */

typedef struct {
    const Binary *b;
    uint8_t *state; /* [function] 0 new, 1 on the path, 2 done */
} Calls;

static bool comes_back(Calls *c, uint32_t f);

static bool reaches(Calls *c, uint32_t f) { return c->state[f] == 1 || (!c->state[f] && comes_back(c, f)); }

/* May function f, or what it calls, call a function that waits for it? Depth: the functions of the binary. */
static bool comes_back(Calls *c, uint32_t index) {
    const BinFunc *f = &c->b->funcs[index];
    uint64_t first = (f->address - c->b->code_base) / INST_BYTES;
    bool found = false;
    c->state[index] = 1;
    for (uint32_t i = 0; !found && i < f->ninsts; i++) {
        MachInst in;
        char error[ISA_ERROR_BYTES];
        if (!isa_decode(c->b->target, c->b->code[first + i], &in, error) || in.optype != OT_CALL)
            continue;
        bool direct = true; /* no register but RZ */
        for (unsigned k = 0; k < in.nsrc; k++)
            direct &= in.src[k].kind != OPK_REG || in.src[k].file == RF_P || in.src[k].value == REG_RZ;
        uint64_t to = f->address + (i + 1) * (uint64_t)INST_BYTES + (uint64_t)in.wide;
        const BinFunc *callee = direct ? binary_func_at(c->b, to) : NULL;
        if (callee)
            found = callee != f && reaches(c, (uint32_t)(callee - c->b->funcs));
        else /* through a register: only a device function can be called again */
            found = !f->is_entry;
        found |= callee == f && to == f->address; /* others are return points and functions inside */
        for (uint32_t g = 0; !callee && !found && g < c->b->nfuncs; g++)
            found = !c->b->funcs[g].is_entry && reaches(c, g);
    }
    c->state[index] = 2;
    return found;
}

static bool is_recursive(Run *r) {
    Calls c = {r->bin, arena_alloc(&r->arena, r->bin->nfuncs)};
    memset(c.state, 0, r->bin->nfuncs);
    return comes_back(&c, (uint32_t)(r->kernel - r->bin->funcs));
}

static bool make_memory(Run *r, Diags *d) {
    const Binary *b = r->bin;
    const BinFunc *k = r->kernel;
    uint32_t declared = k->stack_bytes > k->frame_bytes ? k->stack_bytes : k->frame_bytes, entries = 0;
    for (uint32_t i = 0; i < b->nfuncs; i++)
        entries += b->funcs[i].is_entry;
    if (declared > SIM_WINDOW_BYTES / 32)
        return diag(d, (SrcLoc){0}, DIAG_E0513, k->name, "more local memory than a thread can have");
    r->local_bytes = (declared + 15) & ~15u;
    if (entries < b->nfuncs)
        r->local_bytes += is_recursive(r) ? RECURSION_BYTES : CALL_STACK_BYTES;
    r->shared_bytes = ((k->shared_bytes + 15) & ~15u) + r->launch->dynamic_shared_bytes;
    if (k->shared_bytes > SIM_MAX_SHARED_BYTES || r->shared_bytes > SIM_MAX_SHARED_BYTES)
        return diag(d, (SrcLoc){0}, DIAG_E0513, k->name, "more shared memory than a block can have");
    if (!place_variables(r, d) || !find_functions(r, d))
        return false;
    uint8_t *bank4 = arena_alloc(&r->arena, b->const_bank4_bytes + 16u);
    if (b->const_bank4_bytes)
        memcpy(bank4, b->const_bank4, b->const_bank4_bytes);
    if (!fix_code(r, bank4, d))
        return false;
    make_bank0(r);
    make_bank3(r);
    r->bank[1] = r->bank[0];
    r->bank_bytes[1] = 0;
    r->bank[2] = k->const_bank2;
    r->bank_bytes[2] = k->const_bank2 ? k->const_bank2_bytes : 0;
    r->bank[4] = bank4;
    r->bank_bytes[4] = b->const_bank4_bytes;
    return true;
}

static void make_program(Run *r) {
    uint8_t *raw = arena_alloc(&r->arena, 5 * ROW_BYTES);
    r->zero_rows =
        (const uint32_t *)(const void *)(raw + (ROW_BYTES - (uintptr_t)raw % ROW_BYTES) % ROW_BYTES);
    r->prog = ARENA_ARRAY(&r->arena, Dec, r->ncode);
    for (uint32_t i = 0; i < r->ncode; i++) {
        r->prog[i].full = r->prog[i].part = op_decode;
        r->prog[i].guard = REG_PT;
        r->prog[i].always = 1;
        r->prog[i].cls = CLS_OTHER;
    }
}

/* ---- the launch ---- */

static bool check_launch(const Run *r, Diags *d) {
    const BinFunc *k = r->kernel;
    const Launch *l = r->launch;
    const char *wrong = launch_error(l);
    uint64_t max = 1;
    for (int i = 0; i < 3; i++)
        max *= k->maxntid[i] ? k->maxntid[i] : 1;
    if (!wrong && k->reqntid[0])
        for (int i = 0; i < 3; i++)
            if (k->reqntid[i] && k->reqntid[i] != l->block[i])
                wrong = "the block differs from .reqntid";
    if (!wrong && k->maxntid[0] && (uint64_t)l->block[0] * l->block[1] * l->block[2] > max)
        wrong = "the block has more threads than .maxntid allows";
    if (!wrong && l->param_bytes < k->param_bytes)
        wrong = "the parameter block is too small";
    if (!wrong && l->param_bytes > 0x8000)
        wrong = "the parameter block is too large";
    if (!wrong &&
        (k->address < r->bin->code_base || (k->address - r->bin->code_base) / INST_BYTES >= r->ncode))
        wrong = "the kernel has no code";
    return wrong ? diag(d, (SrcLoc){0}, DIAG_E0513, k->name, wrong) : true;
}

static void collect_stats(Run *r) {
    MachineStats *s = &r->res->stats;
    s->data_issues = r->cls[CLS_DATA].issues;
    s->data_lane_issues = r->cls[CLS_DATA].lanes;
    s->b_issues = r->cls[CLS_B].issues;
    for (unsigned i = 0; i < CLS_COUNT; i++) {
        s->issues += r->cls[i].issues;
        s->lane_issues += r->cls[i].lanes;
    }
}

/* Threads that wait for ever after a part of a warp was at a barrier: that is why. */
static void explain_deadlock(MachineResult *res) {
    if (res->trap.kind != TRAP_DEADLOCK && res->trap.kind != TRAP_LIVELOCK)
        return;
    for (uint32_t i = 0; i < res->nfindings; i++) {
        const MachineFinding *f = &res->findings[i];
        if (f->kind != MF_PARTIAL_BARRIER)
            continue;
        SimTrap *t = &res->trap;
        t->kind = TRAP_DIVERGENT_BARRIER;
        t->pc = f->func ? f->pc_bytes - f->func->address : f->pc_bytes;
        t->ptx_line = f->ptx_line;
        memcpy(t->block, f->block, sizeof t->block);
        snprintf(t->text, sizeof t->text, "%.120s", f->text);
        return;
    }
}

struct MachineSession {
    Run r;
};

MachineSession *machine_open(const Binary *b, const char *kernel, const Launch *l, SimMemory *mem,
                             const char *host_level, Diags *d) {
    const BinFunc *k = binary_find(b, kernel);
    if (!k || !k->is_entry)
        return diag(d, (SrcLoc){0}, DIAG_E0512, kernel), NULL;
    MachineSession *s = calloc(1, sizeof *s);
    if (!s)
        return diag(d, (SrcLoc){0}, DIAG_E0513, kernel, "the host has too little memory"), NULL;
    Run *r = &s->r;
    *r = (Run){
        .bin = b, .kernel = k, .launch = l, .mem = mem, .ncode = b->ncode, .level = level_find(host_level)};
    bool ok =
        r->level || diag(d, (SrcLoc){0}, DIAG_E0513, kernel, "this host cannot run the level asked for");
    ok = ok && check_launch(r, d) && make_memory(r, d);
    if (!ok) {
        machine_close(s);
        return NULL;
    }
    make_program(r);
    return s;
}

void machine_close(MachineSession *s) {
    if (!s)
        return;
    cta_free(s->r.spare);
    arena_free(&s->r.arena);
    free(s);
}

static void start_run(Run *r, const MachineOptions *opt, MachineResult *res) {
    *res = (MachineResult){0};
    r->opt = opt ? *opt : (MachineOptions){0};
    if (!r->opt.quantum)
        r->opt.quantum = 1024;
    if (!r->opt.max_resident)
        r->opt.max_resident = 1024;
    if (!r->opt.ticks_per_us)
        r->opt.ticks_per_us = 1000;
    r->res = res;
    r->random = r->opt.seed;
    r->slow = r->opt.replay || r->opt.trace || r->opt.report_undefined || r->opt.check_control;
    r->ticks = r->slept = r->mem_version = r->clock_reads = 0;
    r->quota = 0;
    r->trapped = false;
    memset(r->cls, 0, sizeof r->cls);
}

bool machine_session_run(MachineSession *s, const MachineOptions *opt, MachineResult *res, Diags *d) {
    Run *r = &s->r;
    start_run(r, opt, res);
    bool ok = cta_run_grid(r);
    if (!ok && !r->trapped)
        diag(d, (SrcLoc){0}, DIAG_E0513, r->kernel->name, "the host has too little memory");
    collect_stats(r);
    explain_deadlock(res);
    for (uint32_t i = 0; r->opt.reached && i < r->ncode; i++)
        if (r->prog[i].full != op_decode)
            r->opt.reached[i] = 1;
    if (res->trap.kind != TRAP_NONE) {
        char line[512];
        sim_trap_print(&res->trap, line, sizeof line);
        diag(d, (SrcLoc){0}, DIAG_E0551, line);
    }
    return ok;
}

bool machine_run(const Binary *b, const char *kernel, const Launch *l, SimMemory *mem,
                 const MachineOptions *opt, MachineResult *res, Diags *d) {
    *res = (MachineResult){0};
    MachineSession *s = machine_open(b, kernel, l, mem, opt ? opt->host_level : NULL, d);
    bool ok = s && machine_session_run(s, opt, res, d);
    machine_close(s);
    return ok;
}

void machine_result_free(MachineResult *res) {
    free(res->findings);
    res->findings = NULL;
    res->nfindings = 0;
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0.0; }

int machine_stats_print(const MachineStats *s, char *out, size_t out_bytes) {
    return snprintf(out, out_bytes,
                    "warp instructions    %llu\n"
                    "thread instructions  %llu\n"
                    "SIMT efficiency      %.1f %% of all, %.1f %% of data instructions\n"
                    "B operations         %llu (%.1f %%)\n"
                    "group switches       %llu\n"
                    "divergent branches   %llu\n"
                    "BSYNC releases       %llu\n"
                    "barrier phases       %llu\n"
                    "blocks resident      %u\n",
                    (unsigned long long)s->issues, (unsigned long long)s->lane_issues,
                    100 * ratio(s->lane_issues, 32 * s->issues),
                    100 * ratio(s->data_lane_issues, 32 * s->data_issues), (unsigned long long)s->b_issues,
                    100 * ratio(s->b_issues, s->issues), (unsigned long long)s->switches,
                    (unsigned long long)s->divergences, (unsigned long long)s->bsync_releases,
                    (unsigned long long)s->barriers, s->max_resident);
}
