/* A launch of the SIMT machine: variables and constant banks, then the grid (cta.c); traps and findings.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/machine.h"
#include "base/scope.h"
#include "ir/ir.h"
#include "isa/machine/abi.h"
#include "sim/machine/internal.h"
#include "sim/machine/jit.h"
#include "sim/machine/grid.h"
#include "sim/machine/policy.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VAR_GLOBAL, VAR_CONST, VAR_SHARED }; /* BinVar.space */
/* Beside the declared stack: for functions whose need the file does not tell; for recursion as much as the
 * PTX interpreter allows (4096 calls, 512 KiB of variables) with 128 bytes of saved registers and spills a
 * call. */
enum { OWN_CALL_BYTES = 4 << 10, CALL_STACK_BYTES = 64 << 10, RECURSION_BYTES = 1 << 20 };

#define DEFAULT_ISSUES 4000000000 /* half a minute to two minutes */

/* ---- traps and findings ---- */

void machine_thread(const Warp *warp, unsigned lane, uint32_t thread[3]) {
    const uint32_t *block = warp->run->launch->block;
    uint32_t linear = warp->index * 32 + lane;
    thread[0] = linear % block[0];
    thread[1] = linear / block[0] % block[1];
    thread[2] = linear / block[0] / block[1];
}

static void trap_place(Warp *warp, const Dec *d, unsigned lane, SimTrap *trap) {
    const Run *r = warp->run;
    uint32_t index = d ? (uint32_t)(d - warp->prog) : warp->pc;
    uint64_t address = pc_address(r, index);
    const BinFunc *f = binary_func_at(r->bin, address);
    snprintf(trap->kernel, sizeof trap->kernel, "%s", r->kernel->name);
    trap->pc = f ? address - f->address : address;
    const BinLoc *loc = f && f->locs && (address - f->address) / INST_BYTES < f->ninsts
                            ? &f->locs[(address - f->address) / INST_BYTES]
                            : NULL;
    trap->ptx_line = loc ? loc->ptx_line : 0;
    binary_source(r->bin, loc, trap->source, sizeof trap->source);
    memcpy(trap->block, warp->cta->id, sizeof trap->block);
    machine_thread(warp, lane, trap->thread);
}

static int trap(Warp *warp, const Dec *d, unsigned lane, SimTrapKind kind) {
    SimTrap *sim_trap = &warp->run->res->trap;
    sim_trap->kind = kind;
    trap_place(warp, d, lane, sim_trap);
    const BinFunc *f =
        binary_func_at(warp->run->bin, pc_address(warp->run, d ? (uint32_t)(d - warp->prog) : warp->pc));
    size_t used = strlen(sim_trap->text);
    if (f && f != warp->run->kernel && used < sizeof sim_trap->text)
        snprintf(sim_trap->text + used, sizeof sim_trap->text - used, "%sin %s", used ? ", " : "", f->name);
    warp->trap_pc = d ? (uint32_t)(d - warp->prog) : warp->pc;
    warp->run->trapped = true;
    return RUN_TRAP;
}

int machine_trap(Warp *warp, const Dec *d, unsigned lane, SimTrapKind kind, const char *fmt, ...) {
    SimTrap *sim_trap = &warp->run->res->trap;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sim_trap->text, sizeof sim_trap->text, fmt, ap);
    va_end(ap);
    sim_trap->has_address = false;
    return trap(warp, d, lane, kind);
}

int machine_trap_address(Warp *warp, const Dec *d, unsigned lane, SimTrapKind kind, uint64_t address,
                         const char *text) {
    SimTrap *sim_trap = &warp->run->res->trap;
    snprintf(sim_trap->text, sizeof sim_trap->text, "%s", text);
    sim_trap->has_address = true;
    sim_trap->address = address;
    return trap(warp, d, lane, kind);
}

uint32_t machine_trace_reg(const MachineTrace *trace, RegFile file, unsigned reg, unsigned lane) {
    const Warp *warp = trace->state;
    uint32_t value = 0;
    switch (file) {
    case RF_P: return warp->p[reg & 7] >> lane & 1;
    case RF_UP: return warp->p[PRED_UP + (reg & 7)] >> lane & 1;
    case RF_R:
    case RF_UR:
        memcpy(&value,
               warp->rows + ((file == RF_UR ? ROW_UR + (reg & 63) : reg & 255) * ROW_BYTES + 4 * (lane & 31)),
               4);
        return value;
    default: return 0;
    }
}

uint64_t machine_trace_address(const MachineTrace *trace, unsigned lane) {
    const Warp *warp = trace->state;
    const Dec *d = &warp->prog[(trace->pc_bytes - warp->run->bin->code_base) / INST_BYTES];
    unsigned optype = trace->inst->optype;
    bool reaches =
        machine_mem_access_kind(optype) != ACC_NONE && isa_traits(optype)->space & ISA_SPACE_GLOBAL;
    return reaches ? machine_mem_address(warp, d, lane) : 0;
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

static bool is_before(const uint32_t block[3], const uint32_t other[3]) {
    unsigned i = 2;
    while (i && block[i] == other[i])
        i--;
    return block[i] < other[i];
}

void machine_finding(Warp *w, const Dec *d, MachineFindingKind kind, uint32_t lanes, uint64_t other_pc,
                     const char *fmt, ...) {
    Run *r = w->run;
    MachineResult *res = r->res;
    uint64_t pc = pc_address(r, (uint32_t)(d - w->prog)), before = 0;
    for (uint32_t i = 0; i < res->nfindings; i++) {
        MachineFinding *known = &res->findings[i];
        if (known->kind != kind || known->pc_bytes != pc || known->other_pc_bytes != other_pc)
            continue;
        known->count++;
        if (!r->crew || !is_before(w->cta->id, known->block))
            return;
        before =
            known->count - 1; /* a thread of a crew has gone on with lower blocks: this is the first one */
        memmove(known, known + 1, (--res->nfindings - i) * sizeof *known);
        break;
    }
    if (!res->findings)
        res->findings = mem_zeroed(MACHINE_MAX_FINDINGS, sizeof *res->findings);
    if (res->nfindings == MACHINE_MAX_FINDINGS) {
        res->findings_dropped++;
        return;
    }
    MachineFinding *finding = &res->findings[res->nfindings++];
    SimTrap place = {0}; /* all of its source is copied */
    trap_place(w, d, lanes ? low_lane(lanes) : 0, &place);
    *finding = (MachineFinding){.kind = kind,
                                .pc_bytes = pc,
                                .other_pc_bytes = other_pc,
                                .count = before + 1,
                                .warp = w->index,
                                .lanes = lanes,
                                .func = binary_func_at(r->bin, pc),
                                .ptx_line = place.ptx_line};
    memcpy(finding->block, w->cta->id, sizeof finding->block);
    memcpy(finding->source, place.source, sizeof finding->source);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(finding->text, sizeof finding->text, fmt, ap);
    va_end(ap);
}

/* ---- variables and constant banks ---- */

static SimAlloc *alloc_of(const Binary *binary, const SimMemory *mem, uint32_t var) {
    return simmem_find_name(mem, binary->vars[var].name);
}

static bool fixup_value(const Binary *binary, const SimMemory *mem, const BinFixup *fixup, uint64_t *value) {
    if (fixup->to == BIN_TO_ABSENT)
        return false;
    if (fixup->to != BIN_TO_VAR) {
        const char *name =
            fixup->to == BIN_TO_FUNC ? binary->funcs[fixup->target].name : binary->externs[fixup->target];
        *value = sim_func_address(name) + (uint64_t)fixup->addend;
        return true;
    }
    if (binary->vars[fixup->target].space == VAR_CONST) {
        *value = SIM_CONST_WINDOW + binary->vars[fixup->target].offset_bytes + (uint64_t)fixup->addend;
        return true;
    }
    const SimAlloc *alloc = alloc_of(binary, mem, fixup->target);
    *value = alloc ? alloc->address + (uint64_t)fixup->addend : 0;
    return alloc != NULL;
}

/* fresh[nvars]: the variables that get their place here. */
static bool allocate_variables(const Binary *binary, SimMemory *mem, bool *fresh, Diags *d) {
    for (uint32_t i = 0; i < binary->nvars; i++) {
        const BinVar *bin_var = &binary->vars[i];
        if (bin_var->space == VAR_SHARED || bin_var->size_bytes == 0)
            continue;
        SimAlloc *alloc = alloc_of(binary, mem, i);
        if (alloc && alloc->size_bytes < bin_var->size_bytes)
            return diag(d, (SrcLoc){0}, DIAG_E0515, bin_var->name, "memory of this name is smaller");
        if (alloc && bin_var->space == VAR_CONST)
            alloc->read_only = true;
        if (alloc)
            continue;
        if (!simmem_alloc(mem, bin_var->name, bin_var->size_bytes))
            return diag(d, (SrcLoc){0}, DIAG_E0515, bin_var->name, "no memory for it");
        fresh[i] = true;
    }
    for (uint32_t i = 0; i < binary->nexterns; i++)
        if (system_find(binary->externs[i]) == SYSTEM_MALLOC && !simmem_make_heap(mem))
            return diag(d, (SrcLoc){0}, DIAG_E0515, SIM_HEAP_NAME, "no memory for it");
    return true;
}

static bool initialise_variables(const Binary *binary, SimMemory *mem, const bool *fresh, Diags *d) {
    for (uint32_t i = 0; i < binary->nvars; i++) {
        const BinVar *bin_var = &binary->vars[i];
        SimAlloc *alloc = fresh[i] ? alloc_of(binary, mem, i) : NULL;
        if (alloc && bin_var->init)
            simmem_write(mem, alloc->address, bin_var->init, bin_var->size_bytes);
        if (alloc)
            alloc->read_only = bin_var->space == VAR_CONST;
    }
    for (uint32_t i = 0; i < binary->nfixups; i++) { /* pointers in variables */
        const BinFixup *fixup = &binary->fixups[i];
        uint64_t value;
        if (fixup->in_code || fixup->in_bank4 || fixup->var >= binary->nvars || !fresh[fixup->var])
            continue;
        if (fixup->to == BIN_TO_ABSENT)
            return diag(d, (SrcLoc){0}, DIAG_E0515, binary->vars[fixup->var].name,
                        "it has the address of a variable of another object");
        if (!fixup_value(binary, mem, fixup, &value))
            continue;
        if (!simmem_write_address(mem, alloc_of(binary, mem, fixup->var)->address + fixup->offset_bytes,
                                  value))
            return diag(d, (SrcLoc){0}, DIAG_E0515, binary->vars[fixup->var].name,
                        "an address in it is out of range");
    }
    return true;
}

bool machine_place_variables(const Binary *b, SimMemory *mem, Diags *diags) {
    bool *fresh = mem_zeroed(b->nvars + 1u, sizeof *fresh);
    bool good = allocate_variables(b, mem, fresh, diags) && initialise_variables(b, mem, fresh, diags);
    mem_free(fresh);
    return good;
}

/* CALL.ABS of a function that the file does not define. */
static bool fix_call(const Target *target, uint64_t word[2], uint64_t address) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    if (!isa_decode(target, word, &in, error) || in.optype != OT_CALL || !isa_is_absolute(in.optype, in.mods))
        return false;
    in.wide = (int64_t)address;
    return isa_encode(target, &in, word, error);
}

static const char *no_address(Arena *a, const Binary *binary, const BinFixup *fixup) {
    return fixup->to == BIN_TO_ABSENT
               ? arena_printf(a, "%s has no place: a linker gives it one", binary->externs[fixup->target])
               : "a variable has no address";
}

/* The code, with the addresses of variables filled in. */
static bool fix_code(Run *run, uint8_t *bank4, Diags *d) {
    const Binary *binary = run->bin;
    uint64_t(*code)[2] = NULL;
    run->code = (const uint64_t(*)[2])binary->code;
    for (uint32_t i = 0; i < binary->nfixups; i++) {
        const BinFixup *fixup = &binary->fixups[i];
        if (!fixup->in_code && !fixup->in_bank4)
            continue;
        uint64_t value;
        if (!fixup_value(binary, run->mem, fixup, &value))
            return diag(d, (SrcLoc){0}, DIAG_E0513, run->kernel->name,
                        no_address(&run->arena, binary, fixup));
        if (fixup->in_bank4) {
            if (binary->const_bank4_bytes < 8 || fixup->offset_bytes > binary->const_bank4_bytes - 8)
                return diag(d, (SrcLoc){0}, DIAG_E0513, run->kernel->name,
                            "an address is outside constant bank 4");
            memcpy(bank4 + fixup->offset_bytes, &value, sizeof value);
            continue;
        }
        bool half = fixup->kind == RELOC_ABS32_LO || fixup->kind == RELOC_ABS32_HI;
        if (fixup->offset_bytes / INST_BYTES >= binary->ncode || (!half && fixup->kind != RELOC_CALL_ABS))
            return diag(d, (SrcLoc){0}, DIAG_E0513, run->kernel->name,
                        "an address relocation in the code is not known");
        if (!code) {
            code = arena_copy(&run->arena, binary->code, (size_t)binary->ncode * sizeof *binary->code);
            run->code = (const uint64_t(*)[2])code;
        }
        uint64_t *word = code[fixup->offset_bytes / INST_BYTES];
        if (!half) {
            if (!fix_call(binary->target, word, value))
                return diag(d, (SrcLoc){0}, DIAG_E0513, run->kernel->name,
                            "a call of a function that the file does not define is no CALL.ABS");
            continue;
        }
        uint64_t imm = fixup->kind == RELOC_ABS32_LO ? value & 0xffffffffu : value >> 32;
        word[0] = (word[0] & 0xffffffffu) | imm << 32;
    }
    return true;
}

static void put32(uint8_t *bank, uint32_t bytes, uint32_t offset, uint32_t value) {
    if (offset <= bytes && bytes - offset >= 4)
        memcpy(bank + offset, &value, 4);
}

/* Where the driver says it, at an offset that is not 0. */
static void put_driver64(uint8_t *bank, uint32_t bytes, uint32_t offset, uint64_t value) {
    if (!offset)
        return;
    put32(bank, bytes, offset, (uint32_t)value);
    put32(bank, bytes, offset + 4, (uint32_t)(value >> 32));
}

/* As ptxas's code for sm_90 reads it, from `offset` on: are there clusters, their blocks in each dimension
 * and the reciprocals of that, their number in each dimension; and at 0x48 the blocks of one. A number is
 * divided by a product and the lower integer, so that reciprocals are not below the value. */
static void put_clusters(const Run *run, uint8_t *bank, uint32_t bytes, uint32_t offset) {
    if (!offset)
        return;
    put32(bank, bytes, offset, run->has_clusters);
    for (unsigned i = 0; i < 3; i++) {
        float inverse = 1.0f / (float)run->cluster[i];
        if ((double)inverse * run->cluster[i] < 1)
            inverse = nextafterf(inverse, 1.0f);
        uint32_t bits;
        memcpy(&bits, &inverse, 4);
        put32(bank, bytes, offset + 4 + 4 * i, run->cluster[i]);
        put32(bank, bytes, offset + 0x10 + 4 * i, bits);
        put32(bank, bytes, offset + 0x1c + 4 * i, run->launch->grid[i] / run->cluster[i]);
    }
    put32(bank, bytes, offset + 0x48, run->cluster_blocks);
}

static void make_bank0(Run *run) {
    const BinFunc *func = run->kernel;
    const TargetInfo *info = isa_target_info(run->bin->target);
    uint32_t base = func->param_base ? func->param_base : info->param_base_bytes;
    uint32_t bytes =
        base + (run->launch->param_bytes > func->param_bytes ? run->launch->param_bytes : func->param_bytes);
    if (bytes < func->const_bank0_bytes)
        bytes = func->const_bank0_bytes;
    bytes = (bytes + 15) & ~15u;
    uint8_t *bank = arena_alloc(&run->arena, bytes);
    if (func->const_bank0_bytes)
        memcpy(bank, func->const_bank0, func->const_bank0_bytes);
    for (unsigned i = 0; i < 3; i++) {
        put32(bank, bytes, info->ntid_offset_bytes + 4 * i, run->launch->block[i]);
        put32(bank, bytes, info->nctaid_offset_bytes + 4 * i, run->launch->grid[i]);
    }
    put32(bank, bytes, info->stack_top_offset_bytes, run->local_bytes);
    put32(bank, bytes, info->dynamic_shared_offset_bytes, run->launch->dynamic_shared_bytes);
    put32(bank, bytes, info->gridid_offset_bytes, SIM_SREG_GRIDID);
    put32(bank, base, info->nsmid_offset_bytes, SIM_SREG_NSMID);
    put_clusters(run, bank, base, info->cluster_offset_bytes);
    for (unsigned i = 0; i < SIM_SREG_ENVREGS; i++)
        put32(bank, base, info->envreg_offset_bytes + 4 * i, sim_envreg(run->workspace, i));
    put_driver64(bank, base, info->texture_table_offset_bytes, run->texture_table);
    put_driver64(bank, base, info->shared_window_offset_bytes, SIM_SHARED_WINDOW);
    put_driver64(bank, base, info->local_window_offset_bytes, SIM_LOCAL_WINDOW);
    put_driver64(bank, base, info->const_window_offset_bytes, SIM_CONST_WINDOW);
    put_driver64(bank, base, info->param_window_offset_bytes,
                 SIM_PARAM_WINDOW - base + info->param_window_origin_bytes);
    if (info->param_last_is_address)
        put_driver64(bank, base, info->param_last_offset_bytes,
                     SIM_PARAM_WINDOW + run->launch->param_bytes - 1);
    else
        put32(bank, base, info->param_last_offset_bytes, base + run->launch->param_bytes - 1);
    if (info->system_shared_offset_bytes)
        put32(bank, base, info->system_shared_offset_bytes, info->shared_base_bytes);
    if (info->shared_limit_offset_bytes) /* the limit is no smaller than what the block has */
        put32(bank, base, info->shared_limit_offset_bytes, run->shared_bytes);
    if (info->lent_shared_offset_bytes) {
        put32(bank, base, info->lent_shared_offset_bytes, run->lent_shared + LENT_SHARED_BYTES);
        put32(bank, base, info->lent_shared_offset_bytes + 4, run->lent_shared);
    }
    if (run->launch->param_bytes)
        memcpy(bank + base, run->launch->params, run->launch->param_bytes);
    for (uint32_t i = 0; i < run->bin->ntextures; i++) {
        const struct BinTexture *texture = &run->bin->textures[i];
        if (texture->func == (uint32_t)(func - run->bin->funcs) && !texture->is_param)
            put32(bank, bytes, texture->offset_bytes,
                  (uint32_t)simmem_texture_handle(run->mem, texture->name));
    }
    run->params = bank + base;
    run->bank[CONST_BANK_LAUNCH] = bank;
    run->bank_bytes[CONST_BANK_LAUNCH] = bytes;
}

/* Bank 3 is what the .const variables hold now. */
static void make_bank3(Run *run) {
    const Binary *binary = run->bin;
    uint8_t *bank = arena_alloc(&run->arena, binary->const_bank3_bytes + 16u);
    if (binary->const_bank3_bytes)
        memcpy(bank, binary->const_bank3, binary->const_bank3_bytes);
    for (uint32_t i = 0; i < binary->nvars; i++) {
        const BinVar *var = &binary->vars[i];
        const SimAlloc *alloc = var->space == VAR_CONST ? alloc_of(binary, run->mem, i) : NULL;
        if (alloc && var->offset_bytes <= binary->const_bank3_bytes &&
            var->size_bytes <= binary->const_bank3_bytes - var->offset_bytes)
            memcpy(bank + var->offset_bytes, alloc->data, var->size_bytes);
    }
    run->bank[CONST_BANK_VARS] = bank;
    run->bank_bytes[CONST_BANK_VARS] = binary->const_bank3_bytes;
}

/* ---- recursion ---- */

typedef struct {
    const Binary *b;
    uint8_t *state; /* [function] 0 new, 1 on the path, 2 done */
} Calls;

/* As the file has it, without addresses; NULL: it is not known. */
static const MachInst *inst_of(const Binary *binary, uint32_t index, MachInst *room) {
    char error[ISA_ERROR_BYTES];
    return binary_inst(binary, (const uint64_t(*)[2])binary->code, index, room, error);
}

static bool comes_back(Calls *calls, uint32_t f);

static bool reaches(Calls *calls, uint32_t f) {
    return calls->state[f] == 1 || (!calls->state[f] && comes_back(calls, f));
}

/* May function f, or what it calls, call a function that waits for it? Depth: the functions of the binary. */
static bool comes_back(Calls *calls, uint32_t index) {
    const BinFunc *f = &calls->b->funcs[index];
    uint64_t first = (f->address - calls->b->code_base) / INST_BYTES;
    bool found = false;
    calls->state[index] = 1;
    for (uint32_t i = 0; !found && i < f->ninsts; i++) {
        MachInst read;
        const MachInst *in = inst_of(calls->b, (uint32_t)first + i, &read);
        if (!in || in->optype != OT_CALL)
            continue;
        bool direct = true; /* no register but RZ */
        for (unsigned k = 0; k < in->nsrc; k++)
            direct &= in->src[k].kind != OPK_REG || in->src[k].file == RF_P || in->src[k].value == REG_RZ;
        uint64_t to = f->address + (i + 1) * (uint64_t)INST_BYTES + (uint64_t)in->wide;
        const BinFunc *callee = direct ? binary_func_at(calls->b, to) : NULL;
        if (callee)
            found = callee != f && reaches(calls, (uint32_t)(callee - calls->b->funcs));
        else /* through a register: only a device function can be called again */
            found = !f->is_entry;
        found |= callee == f && to == f->address; /* others are return points and functions inside */
        for (uint32_t g = 0; !callee && !found && g < calls->b->nfuncs; g++)
            found = !calls->b->funcs[g].is_entry && reaches(calls, g);
    }
    calls->state[index] = 2;
    return found;
}

static bool is_recursive(Run *run) {
    Calls c = {run->bin, arena_alloc(&run->arena, run->bin->nfuncs)};
    memset(c.state, 0, run->bin->nfuncs);
    return comes_back(&c, (uint32_t)(run->kernel - run->bin->funcs));
}

typedef struct {
    bool is_stack; /* R1 has been made the top of the stack */
    int64_t lowered_bytes;
} StackUse;

/* ptxas's alloca, of which its records say nothing: R1, which begins as the top of the stack, gets a value
 * of another register, or constants lower it by more than there is. */
static bool moves_stack(const Target *target, const MachInst *in, uint32_t declared_bytes, StackUse *use) {
    bool sets = in->ndst && in->dst[0].kind == OPK_REG && in->dst[0].file == RF_R &&
                in->dst[0].value == ABI_STACK_REG;
    bool adds = in->optype == OT_IADD3 || in->optype == OT_VIADD;
    for (unsigned k = 0; sets && k < in->nsrc; k++) {
        Operand o = in->src[k];
        use->is_stack |= o.kind == OPK_CMEM && !op_cmem_bank(o) &&
                         op_cmem_offset(o) == isa_target_info(target)->stack_top_offset_bytes;
        if (adds && o.kind == OPK_IMM)
            use->lowered_bytes -= (int32_t)o.value;
        if (o.kind == OPK_REG && o.file == RF_R && o.value != ABI_STACK_REG && o.value != REG_RZ)
            return use->is_stack;
    }
    return use->is_stack && use->lowered_bytes > declared_bytes;
}

static uint32_t declared_bytes(const BinFunc *func) {
    return func->stack_bytes > func->frame_bytes ? func->stack_bytes : func->frame_bytes;
}

/* ptxas puts callees into the kernel's own section, and what the kernel says of its stack does not count the
 * frames of those whose address is taken: the driver adds a limit that the host sets, 1 KiB unless told. */
static uint32_t stack_of_own_calls(const Binary *binary, const BinFunc *func) {
    uint64_t first = (func->address - binary->code_base) / INST_BYTES;
    uint32_t bytes = 0;
    MachInst read;
    StackUse use = {0};
    for (uint32_t i = 0; i < func->ninsts && bytes < CALL_STACK_BYTES; i++) {
        const MachInst *in = inst_of(binary, (uint32_t)first + i, &read);
        if (in && moves_stack(binary->target, in, declared_bytes(func), &use))
            bytes = CALL_STACK_BYTES;
        if (!in || in->optype != OT_CALL)
            continue;
        bool known = in->src[CALL_ra].kind != OPK_REG || in->src[CALL_ra].value == REG_RZ;
        bytes = known ? OWN_CALL_BYTES : CALL_STACK_BYTES;
    }
    return bytes;
}

/* What a kernel with callees has beside what it says. */
static uint32_t call_stack_bytes(Run *run) {
    const Binary *binary = run->bin;
    uint32_t entries = 0;
    for (uint32_t i = 0; i < binary->nfuncs; i++)
        entries += binary->funcs[i].is_entry;
    if (entries < binary->nfuncs)
        return is_recursive(run) ? RECURSION_BYTES : CALL_STACK_BYTES;
    return stack_of_own_calls(binary, run->kernel);
}

static bool make_memory(Run *run, Diags *d) {
    const Binary *binary = run->bin;
    const BinFunc *func = run->kernel;
    uint32_t declared = declared_bytes(func);
    if (declared > SIM_WINDOW_BYTES / 32)
        return diag(d, (SrcLoc){0}, DIAG_E0513, func->name, "more local memory than a thread can have");
    run->local_bytes = (declared + 15) & ~15u;
    run->local_bytes += call_stack_bytes(run);
    const TargetInfo *info = isa_target_info(binary->target);
    uint32_t own = ((func->shared_bytes + 15) & ~15u) + run->launch->dynamic_shared_bytes;
    run->shared_base = info->shared_base_bytes;
    run->shared_bytes = run->shared_base + own;
    run->lent_shared =
        info->lent_shared_offset_bytes ? sim_lent_shared(run->shared_base, run->shared_bytes) : ~0u;
    run->all_shared = run->shared_bytes;
    if (info->lent_shared_offset_bytes && !run->shared_base)
        run->all_shared = run->lent_shared + LENT_SHARED_BYTES;
    run->fast_shared_end = run->cluster_blocks > 1 ? run->shared_base : run->shared_bytes;
    if (func->shared_bytes > info->max_shared_bytes || own > info->max_shared_bytes)
        return diag(d, (SrcLoc){0}, DIAG_E0513, func->name, "more shared memory than a block can have");
    if (!machine_place_variables(run->bin, run->mem, d))
        return false;
    if (run->launch->cooperative && !(run->workspace = simmem_make_workspace(run->mem)))
        return diag(d, (SrcLoc){0}, DIAG_E0515, SIM_WORKSPACE_NAME, "no memory for it");
    if (binary->asks_textures &&
        !(run->texture_table = simmem_make_texture_table(run->mem, BIN_TEXTURE_BYTES)))
        return diag(d, (SrcLoc){0}, DIAG_E0515, SIM_TEXTURE_TABLE_NAME, "no memory for it");
    uint8_t *bank4 = arena_alloc(&run->arena, binary->const_bank4_bytes + 16u);
    if (binary->const_bank4_bytes)
        memcpy(bank4, binary->const_bank4, binary->const_bank4_bytes);
    if (!fix_code(run, bank4, d))
        return false;
    make_bank0(run);
    make_bank3(run);
    run->bank[1] = run->bank[CONST_BANK_LAUNCH];
    run->bank_bytes[1] = 0;
    run->bank[CONST_BANK_JUMPS] = func->const_bank2;
    run->bank_bytes[CONST_BANK_JUMPS] = func->const_bank2 ? func->const_bank2_bytes : 0;
    run->bank[CONST_BANK_ADDRESSES] = bank4;
    run->bank_bytes[CONST_BANK_ADDRESSES] = binary->const_bank4_bytes;
    return true;
}

/* ---- the launch ---- */

static bool check_launch(const Run *run, Diags *d) {
    const BinFunc *func = run->kernel;
    const Launch *l = run->launch;
    const char *wrong = sim_launch_error(l);
    uint64_t max = 1;
    for (int i = 0; i < 3; i++)
        max *= func->maxntid[i] ? func->maxntid[i] : 1;
    if (!wrong && func->reqntid[0])
        for (int i = 0; i < 3; i++)
            if (func->reqntid[i] && func->reqntid[i] != l->block[i])
                wrong = "the block differs from .reqntid";
    if (!wrong && func->maxntid[0] && (uint64_t)l->block[0] * l->block[1] * l->block[2] > max)
        wrong = "the block has more threads than .maxntid allows";
    if (!wrong && l->param_bytes < func->param_bytes)
        wrong = "the parameter block is too small";
    if (!wrong && l->param_bytes > 0x8000)
        wrong = "the parameter block is too large";
    if (!wrong && (func->address < run->bin->code_base ||
                   (func->address - run->bin->code_base) / INST_BYTES >= run->ncode))
        wrong = "the kernel has no code";
    return wrong ? diag(d, (SrcLoc){0}, DIAG_E0513, func->name, wrong) : true;
}

static void collect_stats(Run *run) {
    MachineStats *machine_stats = &run->res->stats;
    for (unsigned i = 0; i < CLS_COUNT; i++) {
        run->cls[i].issues += run->cls[i].all;
        run->cls[i].lanes += 32 * run->cls[i].all;
    }
    machine_stats->data_issues = run->cls[CLS_DATA].issues;
    machine_stats->data_lane_issues = run->cls[CLS_DATA].lanes;
    machine_stats->data_true_lane_issues = run->cls[CLS_DATA].lanes - run->cls[CLS_DATA].off;
    machine_stats->b_issues = run->cls[CLS_B].issues;
    for (unsigned i = 0; i < CLS_COUNT; i++) {
        machine_stats->issues += run->cls[i].issues;
        machine_stats->lane_issues += run->cls[i].lanes;
        machine_stats->true_lane_issues += run->cls[i].lanes - run->cls[i].off;
    }
}

/* Threads that wait for ever after a part of a warp was at a barrier: that is why. */
static void explain_deadlock(MachineResult *res) {
    if (res->trap.kind != TRAP_DEADLOCK && res->trap.kind != TRAP_LIVELOCK)
        return;
    for (uint32_t i = 0; i < res->nfindings; i++) {
        const MachineFinding *finding = &res->findings[i];
        if (finding->kind != MF_PARTIAL_BARRIER)
            continue;
        SimTrap *sim_trap = &res->trap;
        sim_trap->kind = TRAP_DIVERGENT_BARRIER;
        sim_trap->pc = finding->func ? finding->pc_bytes - finding->func->address : finding->pc_bytes;
        sim_trap->ptx_line = finding->ptx_line;
        memcpy(sim_trap->source, finding->source, sizeof sim_trap->source);
        memcpy(sim_trap->block, finding->block, sizeof sim_trap->block);
        snprintf(sim_trap->text, sizeof sim_trap->text, "%.120s", finding->text);
        return;
    }
}

static bool check_clusters(Run *run, Diags *d) {
    const char *wrong = sim_launch_clusters(run->launch, run->kernel->cluster, run->cluster);
    run->has_clusters = run->kernel->cluster[0] || run->launch->cluster[0];
    run->cluster_blocks = wrong ? 1 : run->cluster[0] * run->cluster[1] * run->cluster[2];
    if (!wrong && run->cluster_blocks > 1 && !isa_target_info(run->bin->target)->cluster_offset_bytes)
        wrong = "the machine has no clusters"; /* one block is one everywhere */
    return !wrong || diag(d, (SrcLoc){0}, DIAG_E0513, run->kernel->name, wrong);
}

struct MachineSession {
    Run r;
};

MachineSession *machine_open(const Binary *binary, const char *kernel, const Launch *l, SimMemory *mem,
                             const char *host_level, Diags *d) {
    const BinFunc *func = binary_find(binary, kernel);
    if (!func || !func->is_entry)
        return diag(d, (SrcLoc){0}, DIAG_E0512, kernel), NULL;
    MachineSession *session = mem_zeroed(1, sizeof *session);
    Run *run = &session->r;
    *run = (Run){.bin = binary,
                 .kernel = func,
                 .launch = l,
                 .mem = mem,
                 .ncode = binary->ncode,
                 .level = machine_level_find(host_level)};
    run->first_pc = (uint32_t)((func->address - binary->code_base) / INST_BYTES);
    bool ok =
        run->level || diag(d, (SrcLoc){0}, DIAG_E0513, kernel, "this host cannot run the level asked for");
    ok = ok && check_launch(run, d) && check_clusters(run, d) && machine_take_program(run, d) &&
         make_memory(run, d);
    if (!ok) {
        machine_close(session);
        return NULL;
    }
    return session;
}

void machine_close(MachineSession *session) {
    if (!session)
        return;
    machine_give_program(&session->r);
    arena_free(&session->r.arena);
    mem_free(session);
}

static void start_run(Run *run, const MachineOptions *opt, MachineResult *res) {
    *res = (MachineResult){0};
    run->opt = opt ? *opt : (MachineOptions){0};
    if (!run->opt.max_issues)
        run->opt.max_issues = DEFAULT_ISSUES;
    if (run->opt.max_issues > UINT64_MAX / 2) /* sums with ticks of sleep must fit */
        run->opt.max_issues = UINT64_MAX / 2;
    if (!run->opt.quantum)
        run->opt.quantum = 1024;
    if (!run->opt.max_resident)
        run->opt.max_resident = 1024;
    if (!run->opt.ticks_per_us)
        run->opt.ticks_per_us = 1000;
    run->res = res;
    run->random = run->opt.seed;
    run->slow = run->opt.replay || run->opt.trace || run->opt.report_undefined || run->opt.check_control;
    run->bssy_assigns = machine_bssy_assigns(&run->opt.policies, run->bin->target);
    run->warpsync_turns = machine_warpsync_turns(&run->opt.policies, run->bin->target);
    run->mufu_flushes = run->opt.mufu_subnormal == MACHINE_MUFU_TARGET
                            ? isa_target_info(run->bin->target)->mufu_flushes
                            : run->opt.mufu_subnormal == MACHINE_MUFU_FLUSHES;
    run->budget = run->opt.max_issues;
    run->ticks = run->slept = run->mem_version = run->clock_reads = 0;
    run->quota = 0;
    run->trapped = false;
    run->starts = 0;
    run->written_first = (RowSet){0};
    run->cleared = run->named;
    if (run->slow)
        machine_forget_runs(run);
    MachineJit *jit = run->slow ? NULL : run->opt.jit;
    if (jit && machine_crew_size(run) > 1)
        jit = jit_member(jit, 0);
    run->jit = jit ? jit_attach(run, jit) : NULL;
    memset(run->cls, 0, sizeof run->cls);
}

bool machine_session_run(MachineSession *session, const MachineOptions *opt, MachineResult *res, Diags *d) {
    Run *run = &session->r;
    start_run(run, opt, res);
    bool ok = machine_cta_run_grid(run);
    collect_stats(run);
    explain_deadlock(res);
    machine_mark_reached(run);
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
    mem_free(res->findings);
    res->findings = NULL;
    res->nfindings = 0;
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0.0; }

int machine_stats_print(const MachineStats *stats, char *out, size_t out_bytes) {
    return snprintf(
        out, out_bytes,
        "warp instructions    %llu\n"
        "thread instructions  %llu\n"
        "SIMT efficiency      %.1f %% of all, %.1f %% of data instructions\n"
        "with a true guard    %llu thread instructions: %.1f %% of all, "
        "%.1f %% of data instructions\n"
        "B operations         %llu (%.1f %%)\n"
        "group switches       %llu\n"
        "divergent branches   %llu\n"
        "BSYNC releases       %llu\n"
        "barrier phases       %llu\n"
        "blocks resident      %u\n",
        (unsigned long long)stats->issues, (unsigned long long)stats->lane_issues,
        100 * ratio(stats->lane_issues, 32 * stats->issues),
        100 * ratio(stats->data_lane_issues, 32 * stats->data_issues),
        (unsigned long long)stats->true_lane_issues, 100 * ratio(stats->true_lane_issues, 32 * stats->issues),
        100 * ratio(stats->data_true_lane_issues, 32 * stats->data_issues),
        (unsigned long long)stats->b_issues, 100 * ratio(stats->b_issues, stats->issues),
        (unsigned long long)stats->switches, (unsigned long long)stats->divergences,
        (unsigned long long)stats->bsync_releases, (unsigned long long)stats->barriers, stats->max_resident);
}
