/* The first register in which a lane's two executions part: see lane_diff.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/compare/diff.h"
#include "frontend/sregs.h"
#include "check/validate/compare/lane_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- the PTX side ---- */

static bool is_lane(const LaneTrace *trace, const uint32_t block[3], const uint32_t thread[3]) {
    return memcmp(trace->block, block, sizeof trace->block) == 0 &&
           memcmp(trace->thread, thread, sizeof trace->thread) == 0;
}

static void note_writer(LaneTrace *trace, const PtxEvent *event) {
    bool here = event->access_bytes && event->writes && event->shared == trace->writer_shared &&
                event->address <= trace->writer_address &&
                trace->writer_address - event->address < event->access_bytes &&
                (!event->shared || memcmp(event->block, trace->block, sizeof trace->block) == 0);
    if (!here || trace->ptx.n >= trace->until)
        return;
    trace->writer_found = true;
    memcpy(trace->writer_thread, event->thread, sizeof event->thread);
    memcpy(trace->writer_block, event->block, sizeof event->block);
}

static void on_ptx(void *user, const PtxEvent *event) {
    LaneTrace *trace = user;
    if (trace->find_writer)
        note_writer(trace, event);
    if (!is_lane(trace, event->block, event->thread) || trace->ptx.n == LANE_MAX_EVENTS)
        return;
    LanePtx *step = VEC_PUSH(&trace->own, &trace->ptx);
    *step = (LanePtx){.func = (uint32_t)(event->func - trace->question->m->funcs),
                      .insn = event->insn,
                      .executed = event->executed,
                      .access_bytes = event->access_bytes,
                      .shared = event->shared,
                      .writes = event->writes,
                      .address = event->address};
    for (unsigned i = 0; i < event->ndst && i < LANE_MAX_REGS; i++) {
        step->reg[step->n] = event->dst_reg[i];
        step->value[step->n++] = event->dst_value[i];
    }
}

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static bool run_ptx(LaneTrace *trace) {
    Diags quiet = {.sink = silent};
    SimMemory *mem = simmem_clone(trace->question->ptx_before);
    PtxRunOptions o = trace->question->ptx;
    PtxRunResult r;
    o.on_event = on_ptx;
    o.user = trace;
    o.find_races = false;
    o.reached = NULL;
    trace->ptx.n = 0;
    bool good = mem && diff_run_ptx(trace->question->plan, trace->question->launch, trace->question->m, mem,
                                    &o, &r, &quiet);
    if (mem)
        simmem_free(mem);
    return good;
}

/* ---- the machine's side ---- */

/* Values that the last instruction wrote: the machine reports an instruction before it runs. */
static void finish_step(LaneTrace *trace, const MachineTrace *now) {
    if (!trace->pending)
        return;
    trace->pending = false;
    LaneMachine *step = &trace->machine.at[trace->machine.n - 1];
    for (unsigned i = 0; i < trace->pending_inst.ndst; i++) {
        Operand o = trace->pending_inst.dst[i];
        bool none = o.kind != OPK_REG || (o.file == RF_R && o.value == REG_RZ) ||
                    (o.file == RF_P && o.value == REG_PT) || (o.file == RF_UR && o.value == REG_URZ) ||
                    (o.file == RF_UP && o.value == REG_UPT) || o.file == RF_B;
        unsigned regs = isa_dst_regs(trace->question->b->target, &trace->pending_inst, i);
        for (unsigned k = 0; !none && k < (regs ? regs : 1) && step->n < LANE_MAX_REGS; k++) {
            step->file[step->n] = o.file;
            step->reg[step->n] = (uint16_t)(o.value + k);
            step->value[step->n++] = machine_trace_reg(now, (RegFile)o.file, o.value + k, trace->lane);
        }
    }
}

static bool watched_changed(LaneTrace *trace) {
    uint8_t now[8];
    if (!trace->question->address || !simmem_read(trace->mem, trace->question->address, now, 1) ||
        now[0] == trace->last[0])
        return false;
    trace->last[0] = now[0];
    return true;
}

static void on_machine(void *user, const MachineTrace *trace) {
    LaneTrace *lane = user;
    bool mine = memcmp(trace->block, lane->block, sizeof lane->block) == 0 && trace->warp == lane->warp;
    if (watched_changed(lane) && lane->machine.n && mine)
        lane->machine.at[lane->machine.n - 1].stores_there = true;
    if (!mine)
        return;
    finish_step(lane, trace);
    if (!(trace->executed >> lane->lane & 1) || lane->machine.n == LANE_MAX_EVENTS)
        return;
    *VEC_PUSH(&lane->own, &lane->machine) =
        (LaneMachine){.index = (uint32_t)((trace->pc_bytes - lane->question->b->code_base) / INST_BYTES)};
    lane->pending = true;
    lane->pending_inst = *trace->inst;
}

static bool run_machine(LaneTrace *lane) {
    Diags quiet = {.sink = silent};
    MachineOptions o = lane->question->machine;
    MachineResult r;
    o.trace = on_machine;
    o.trace_user = lane;
    if (lane->question->endless && (!o.max_issues || o.max_issues > LANE_ENDLESS_ISSUES))
        o.max_issues = LANE_ENDLESS_ISSUES;
    lane->machine.n = 0;
    lane->pending = false;
    lane->mem = simmem_clone(lane->question->machine_before);
    if (lane->mem && lane->question->address)
        simmem_read(lane->mem, lane->question->address, lane->last, 1);
    bool good = lane->mem && diff_run_machine(lane->question->plan, lane->question->launch, lane->question->b,
                                              lane->mem, &o, &r, &quiet);
    if (good)
        machine_result_free(&r);
    if (lane->mem)
        simmem_free(lane->mem);
    lane->mem = NULL;
    return good;
}

/* ---- comparison ---- */

typedef struct { /* values of one register at one statement */
    uint32_t func, insn, reg;
    uint8_t component;
    uint32_t index; /* of the step */
    uint32_t value;
} Def;
typedef VEC(Def) Defs;

static int by_key(const void *a, const void *b) {
    const Def *x = a, *other = b;
#define BY(field)                                                                                            \
    if (x->field != other->field)                                                                            \
        return x->field < other->field ? -1 : 1;
    BY(func)
    BY(insn)
    BY(reg)
    BY(component)
    BY(index)
#undef BY
    return 0;
}

static bool same_key(const Def *def, const Def *other) {
    return def->func == other->func && def->insn == other->insn && def->reg == other->reg &&
           def->component == other->component;
}

static uint32_t find_reg(const PtxModule *module, const PtxFunc *f, const char *name) {
    for (uint32_t i = 1; i < f->nregs; i++)
        if (strcmp(str_text(&module->strings, f->regs[i].name), name) == 0)
            return i;
    return 0;
}

/* The bits of a component that the PTX register's type has. */
uint32_t lane_component_mask(const PtxFunc *f, uint32_t reg, unsigned component) {
    unsigned bytes = ptx_type_bytes(f->regs[reg].type);
    if (!bytes)
        return component ? 0 : 1; /* predicate */
    bytes = bytes > 4 * component ? bytes - 4 * component : 0;
    return bytes >= 4 ? UINT32_MAX : (1u << (8 * bytes)) - 1;
}

/* ---- values that need not agree: addresses of local and constant memory, and clocks ---- */

static bool is_own_value(const LaneTrace *trace, const uint8_t *own, const PtxOperand *operand) {
    for (unsigned i = 0; operand->kind == PO_VEC && i < operand->nvec; i++)
        if (is_own_value(trace, own, &operand->vec[i]))
            return true;
    if ((operand->kind == PO_REG || operand->kind == PO_ADDR) && operand->reg)
        return own[operand->reg];
    if (operand->kind == PO_SREG)
        return sreg_varies(operand) == SREG_VARIES_TIME;
    if (operand->kind != PO_SYM || !operand->sym || operand->sym & PTX_SYM_FUNC)
        return false;
    PtxSpace space = trace->question->m->vars[operand->sym - 1].space;
    return space == SP_LOCAL || space == SP_PARAM || space == SP_PARAM_FUNC || space == SP_CONST;
}

static void mark_own(const PtxOperand *operand, uint8_t *own, bool *changed) {
    for (unsigned i = 0; operand->kind == PO_VEC && i < operand->nvec; i++)
        mark_own(&operand->vec[i], own, changed);
    if (operand->kind != PO_REG || own[operand->reg])
        return;
    own[operand->reg] = 1;
    *changed = true;
}

/* By register: may hold such a value. What was loaded, and results of comparisons, are compared all the same.
 */
const uint8_t *lane_own_values(LaneTrace *trace, uint32_t func) {
    if (trace->own_regs[func])
        return trace->own_regs[func];
    const PtxFunc *f = &trace->question->m->funcs[func];
    uint8_t *own = ARENA_ARRAY(&trace->own, uint8_t, f->nregs + 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->ninsns; i++) {
            const PtxInsn *in = &f->insns[i];
            bool passes = in->op != PTX_LD && in->op != PTX_ATOM && in->op != PTX_SETP && in->op != PTX_CALL,
                 tainted = false;
            for (unsigned k = in->ndst; passes && k < in->noperands; k++)
                tainted |= is_own_value(trace, own, &in->operands[k]);
            for (unsigned k = 0; tainted && k < in->ndst; k++)
                mark_own(&in->operands[k], own, &changed);
        }
    }
    return trace->own_regs[func] = own;
}

static void ptx_defs(LaneTrace *trace, Defs *out) {
    for (uint32_t i = 0; i < trace->ptx.n; i++) {
        const LanePtx *step = &trace->ptx.at[i];
        for (unsigned k = 0; step->executed && k < step->n; k++)
            for (uint8_t c = 0; c < 2; c++) {
                uint32_t mask = lane_component_mask(&trace->question->m->funcs[step->func], step->reg[k], c);
                if (mask && !lane_own_values(trace, step->func)[step->reg[k]])
                    VEC_ADD(&trace->own, out,
                            ((Def){step->func, step->insn, step->reg[k], c, i,
                                   (uint32_t)(step->value[k] >> (32 * c)) & mask}));
            }
    }
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_key);
}

const BinFunc *lane_func_of(const LaneTrace *trace, uint32_t index, uint64_t *pc) {
    uint64_t address = trace->question->b->code_base + (uint64_t)index * INST_BYTES;
    const BinFunc *f = binary_func_at(trace->question->b, address);
    *pc = f ? address - f->address : address;
    return f;
}

static const BinLoc *loc_of(const LaneTrace *lane, uint32_t index) {
    uint64_t pc;
    const BinFunc *f = lane_func_of(lane, index, &pc);
    return f && f->locs && pc / INST_BYTES < f->ninsts ? &f->locs[pc / INST_BYTES] : NULL;
}

/* Rows of the map that begin behind the instruction, for the registers it wrote. */
static void machine_defs(LaneTrace *trace, Defs *out) {
    for (uint32_t i = 0; i < trace->machine.n; i++) {
        const LaneMachine *step = &trace->machine.at[i];
        uint64_t pc;
        const BinFunc *f = lane_func_of(trace, step->index, &pc);
        const BinLoc *loc = loc_of(trace, step->index);
        uint32_t func = f ? ptx_find_func(trace->question->m, f->name) : 0;
        if (!func || !loc || !loc->ptx_insn)
            continue;
        const PtxFunc *pf = &trace->question->m->funcs[func - 1];
        for (uint32_t r = 0; r < f->nvars; r++) {
            const BinVarRow *row = &f->vars[r];
            for (unsigned k = 0; row->lo_bytes == pc + INST_BYTES && k < step->n; k++) {
                uint32_t reg = step->file[k] == row->file && step->reg[k] == row->reg
                                   ? find_reg(trace->question->m, pf, row->ptx_name)
                                   : 0;
                uint32_t mask = reg ? lane_component_mask(pf, reg, row->component) : 0;
                if (mask)
                    VEC_ADD(
                        &trace->own, out,
                        ((Def){func - 1, loc->ptx_insn - 1, reg, row->component, i, step->value[k] & mask}));
            }
        }
    }
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_key);
}

typedef struct {
    const Def *ptx, *machine;
} Pair;

/* The machine computed it less often, as it may where the value stays: runs of equal values count as one. */
static Pair part_hoisted(const Def *p, uint32_t np, const Def *m, uint32_t nm) {
    uint32_t i = 0, k = 0;
    while (i < np && k < nm) {
        if (p[i].value != m[k].value)
            return (Pair){&p[i], &m[k]};
        for (uint32_t value = p[i].value; i < np && p[i].value == value;)
            i++;
        for (uint32_t value = m[k].value; k < nm && m[k].value == value;)
            k++;
    }
    return (Pair){NULL, NULL};
}

/* The machine computed it more often: the PTX's values must be among them, in order. */
static Pair part_speculated(const Def *p, uint32_t np, const Def *m, uint32_t nm, uint32_t first) {
    for (uint32_t i = 0, k = 0; i < np; i++, k++) {
        while (k < nm && m[k].value != p[i].value)
            k++;
        if (k == nm)
            return (Pair){&p[first], &m[first]};
    }
    return (Pair){NULL, NULL};
}

/* The first place where the sequences of one key part; .ptx NULL if they do not. */
static Pair part(const Def *p, uint32_t np, const Def *m, uint32_t nm) {
    uint32_t n = np < nm ? np : nm, k = 0;
    while (k < n && p[k].value == m[k].value)
        k++;
    if (k == n)
        return (Pair){NULL, NULL};
    if (np == nm)
        return (Pair){&p[k], &m[k]};
    return np > nm ? part_hoisted(p, np, m, nm) : part_speculated(p, np, m, nm, k);
}

static bool writes_row(const LaneTrace *trace, const BinFunc *f, uint32_t at, const BinVarRow *row) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    uint64_t index = (f->address - trace->question->b->code_base) / INST_BYTES + at;
    if (!isa_decode(trace->question->b->target, trace->question->b->code[index], &in, error))
        return false;
    for (unsigned i = 0; i < in.ndst; i++) {
        unsigned regs = isa_dst_regs(trace->question->b->target, &in, i);
        if (in.dst[i].kind == OPK_REG && in.dst[i].file == row->file && row->reg >= in.dst[i].value &&
            row->reg < in.dst[i].value + (regs ? regs : 1))
            return true;
    }
    return false;
}

/* Is a register of this statement one that the binary defines anywhere for it? */
static bool is_mapped(const LaneTrace *trace, const Def *def) {
    const char *name = str_text(&trace->question->m->strings, trace->question->m->funcs[def->func].name);
    const BinFunc *f = binary_find(trace->question->b, name);
    const char *reg =
        str_text(&trace->question->m->strings, trace->question->m->funcs[def->func].regs[def->reg].name);
    for (uint32_t r = 0; f && f->locs && r < f->nvars; r++) {
        const BinVarRow *row = &f->vars[r];
        uint32_t at = row->lo_bytes / INST_BYTES;
        if (at && at <= f->ninsts && f->locs[at - 1].ptx_insn == def->insn + 1 &&
            row->component == def->component && strcmp(row->ptx_name, reg) == 0 &&
            writes_row(trace, f, at - 1, row))
            return true;
    }
    return false;
}

/* Does the machine come to any instruction of the statement? Under a false guard the last one writes nothing,
 * as in a remainder that keeps its sign. */
static bool comes_to(const LaneTrace *trace, const Def *def) {
    const char *name = str_text(&trace->question->m->strings, trace->question->m->funcs[def->func].name);
    const BinFunc *f = binary_find(trace->question->b, name);
    for (uint32_t i = 0; i < trace->machine.n; i++) {
        uint64_t pc;
        const BinLoc *loc = loc_of(trace, trace->machine.at[i].index);
        if (loc && loc->ptx_insn == def->insn + 1 &&
            lane_func_of(trace, trace->machine.at[i].index, &pc) == f)
            return true;
    }
    return false;
}

/* The earliest of all; not_executed: the machine never came to a statement that the PTX executed before. */
static Pair first_pair(LaneTrace *trace, uint32_t last_ptx, bool *not_executed) {
    Defs p = {0}, m = {0};
    Pair best = {NULL, NULL};
    const Def *absent = NULL;
    ptx_defs(trace, &p);
    machine_defs(trace, &m);
    for (uint32_t i = 0, k = 0; i < p.n;) {
        uint32_t ni = i, nk;
        while (ni < p.n && same_key(&p.at[i], &p.at[ni]))
            ni++;
        while (k < m.n && by_key(&m.at[k], &p.at[i]) < 0 && !same_key(&m.at[k], &p.at[i]))
            k++;
        for (nk = k; nk < m.n && same_key(&m.at[nk], &p.at[i]);)
            nk++;
        if (nk > k) {
            Pair x = part(&p.at[i], ni - i, &m.at[k], nk - k);
            if (x.ptx && x.ptx->index <= last_ptx && (!best.ptx || x.ptx->index < best.ptx->index))
                best = x;
        } else if (p.at[i].index <= last_ptx && (!absent || p.at[i].index < absent->index) &&
                   is_mapped(trace, &p.at[i]) && !comes_to(trace, &p.at[i])) {
            absent = &p.at[i];
        }
        i = ni;
        k = nk;
    }
    *not_executed = absent && (!best.ptx || (!trace->question->trapped && absent->index < best.ptx->index));
    return *not_executed ? (Pair){absent, NULL} : best;
}

/* ---- texts ---- */

const char *lane_statement_text(LaneTrace *trace, const PtxInsn *in) {
    const Source *source = &trace->question->m->source;
    size_t at = in->loc.i ? in->loc.i - 1 : 0, n = 0;
    if (!in->loc.i || !source->text || at >= source->size_bytes)
        return ptx_op_name((PtxOp)in->op);
    while (at + n < source->size_bytes && source->text[at + n] != ';' && source->text[at + n] != '\n' &&
           n < 100)
        n++;
    char *text = arena_printf(trace->arena, "%.*s;", (int)n, source->text + at), *to = text;
    for (const char *c = text; *c; c++) /* one blank for any white space */
        if (*c != ' ' && *c != '\t')
            *to++ = *c;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    *to = 0;
    return text;
}

const char *lane_instruction_text(LaneTrace *trace, uint32_t index) {
    MachInst in;
    char error[ISA_ERROR_BYTES], text[200] = "?";
    uint64_t pc;
    lane_func_of(trace, index, &pc);
    if (isa_decode(trace->question->b->target, trace->question->b->code[index], &in, error))
        isa_print(trace->question->b->target, &in, pc, NULL, text, sizeof text);
    return arena_printf(trace->arena, "%s", text);
}

const char *lane_reg_text(LaneTrace *trace, unsigned file, unsigned reg) {
    static const char *const names[RF_COUNT] = {"R", "P", "UR", "UP", "B"};
    return arena_printf(trace->arena, "%s%u", file < RF_COUNT ? names[file] : "?", reg);
}

/* Where the last LANE_EVENTS different steps before and with `last` begin; a step may repeat the one before.
 */
static uint32_t first_shown(const LaneTrace *lane, uint32_t last,
                            bool (*repeats)(const LaneTrace *lane, uint32_t i)) {
    uint32_t first = last, n = 1;
    while (first > 0 && (n < LANE_EVENTS || repeats(lane, first)))
        n += !repeats(lane, first--);
    return first;
}
static bool ptx_repeats(const LaneTrace *trace, uint32_t i) {
    const LanePtx *step = &trace->ptx.at[i - 1], *ptx_step = &trace->ptx.at[i];
    return step->func == ptx_step->func && step->insn == ptx_step->insn &&
           step->executed == ptx_step->executed &&
           memcmp(step->value, ptx_step->value, sizeof step->value) == 0;
}
static bool machine_repeats(const LaneTrace *trace, uint32_t i) {
    const LaneMachine *step = &trace->machine.at[i - 1], *machine_step = &trace->machine.at[i];
    return step->index == machine_step->index &&
           memcmp(step->value, machine_step->value, sizeof step->value) == 0;
}

static void ptx_events(LaneTrace *trace, LaneDiff *diff, uint32_t last) {
    uint32_t first = trace->ptx.n ? first_shown(trace, last, ptx_repeats) : 0;
    diff->ptx = ARENA_ARRAY(trace->arena, LaneStep, LANE_EVENTS);
    for (uint32_t i = first; i <= last && i < trace->ptx.n; i++) {
        const LanePtx *step = &trace->ptx.at[i];
        const PtxFunc *f = &trace->question->m->funcs[step->func];
        const char *values = "";
        if (i > first && ptx_repeats(trace, i)) {
            diff->ptx[diff->nptx - 1].times++;
            continue;
        }
        for (unsigned k = 0; step->executed && k < step->n; k++)
            values = arena_printf(trace->arena, "%s%s%s = 0x%llx", values, k ? ", " : "",
                                  str_text(&trace->question->m->strings, f->regs[step->reg[k]].name),
                                  (unsigned long long)step->value[k]);
        diff->ptx[diff->nptx++] = (LaneStep){.func = str_text(&trace->question->m->strings, f->name),
                                             .times = 1,
                                             .skipped = !step->executed,
                                             .line = ptx_line(trace->question->m, &f->insns[step->insn]),
                                             .text = lane_statement_text(trace, &f->insns[step->insn]),
                                             .values = values};
    }
}

static void machine_events(LaneTrace *trace, LaneDiff *diff, uint32_t last) {
    uint32_t first = trace->machine.n ? first_shown(trace, last, machine_repeats) : 0;
    diff->machine = ARENA_ARRAY(trace->arena, LaneStep, LANE_EVENTS);
    for (uint32_t i = first; i <= last && i < trace->machine.n; i++) {
        const LaneMachine *step = &trace->machine.at[i];
        const char *values = "";
        uint64_t pc;
        const BinFunc *f = lane_func_of(trace, step->index, &pc);
        const BinLoc *loc = loc_of(trace, step->index);
        if (i > first && machine_repeats(trace, i)) {
            diff->machine[diff->nmachine - 1].times++;
            continue;
        }
        for (unsigned k = 0; k < step->n; k++)
            values = arena_printf(trace->arena, "%s%s%s = 0x%x", values, k ? ", " : "",
                                  lane_reg_text(trace, step->file[k], step->reg[k]), step->value[k]);
        diff->machine[diff->nmachine++] = (LaneStep){.func = f ? f->name : "?",
                                                     .times = 1,
                                                     .pc_bytes = pc,
                                                     .line = loc ? loc->ptx_line : 0,
                                                     .text = lane_instruction_text(trace, step->index),
                                                     .values = values};
    }
}

/* ---- the answer ---- */

/* Step of the last store that matters, or the last step. */
static uint32_t last_ptx_step(const LaneTrace *trace) {
    for (uint32_t i = trace->ptx.n; trace->question->address && i-- > 0;) {
        const LanePtx *step = &trace->ptx.at[i];
        if (step->writes && !step->shared && step->address <= trace->question->address &&
            trace->question->address - step->address < step->access_bytes)
            return i;
    }
    return trace->ptx.n ? trace->ptx.n - 1 : 0;
}
static uint32_t last_machine_step(const LaneTrace *trace) {
    for (uint32_t i = trace->machine.n; trace->question->address && i-- > 0;)
        if (trace->machine.at[i].stores_there)
            return i;
    return trace->machine.n ? trace->machine.n - 1 : 0;
}

/* The last branch of the machine before it should have come to `d`: the first branch behind the last
 * statement that both executed. */
static uint32_t last_common(const LaneTrace *trace, const Def *def) {
    uint32_t best = 0;
    for (uint32_t i = def->index; i-- > 0;) {
        uint32_t insn = trace->ptx.at[i].insn;
        for (uint32_t k = trace->machine.n; k-- > 0;) {
            const BinLoc *loc = loc_of(trace, trace->machine.at[k].index);
            if (loc && loc->ptx_insn == insn + 1)
                return k;
        }
    }
    return best;
}

static void describe_pair(LaneTrace *trace, LaneDiff *diff, Pair pair, bool not_executed) {
    const PtxFunc *f = &trace->question->m->funcs[pair.ptx->func];
    const PtxInsn *in = &f->insns[pair.ptx->insn];
    diff->statement = lane_statement_text(trace, in);
    diff->line = ptx_line(trace->question->m, in);
    diff->ptx_reg = str_text(&trace->question->m->strings, f->regs[pair.ptx->reg].name);
    diff->not_executed = not_executed;
    diff->ptx_value = pair.ptx->value;
    if (ptx_type_bytes(f->regs[pair.ptx->reg].type) > 4)
        diff->ptx_reg = arena_printf(trace->arena, "%s (bits %u to %u)", diff->ptx_reg,
                                     32u * pair.ptx->component, 32u * pair.ptx->component + 31);
    uint32_t step = not_executed ? last_common(trace, pair.ptx) : pair.machine->index;
    if (step >= trace->machine.n)
        return;
    const LaneMachine *machine_step = &trace->machine.at[step];
    const BinFunc *bf = lane_func_of(trace, machine_step->index, &diff->pc_bytes);
    diff->func = bf ? bf->name : "?";
    diff->instruction = lane_instruction_text(trace, machine_step->index);
    for (unsigned k = 0; !not_executed && bf && k < machine_step->n; k++)
        for (uint32_t r = 0; r < bf->nvars; r++)
            if (bf->vars[r].lo_bytes == diff->pc_bytes + INST_BYTES &&
                bf->vars[r].file == machine_step->file[k] && bf->vars[r].reg == machine_step->reg[k] &&
                bf->vars[r].component == pair.ptx->component &&
                find_reg(trace->question->m, f, bf->vars[r].ptx_name) == pair.ptx->reg)
                diff->machine_reg = lane_reg_text(trace, machine_step->file[k], machine_step->reg[k]);
    diff->machine_value = not_executed ? 0 : pair.machine->value;
}

static bool set_lane(LaneTrace *trace, const uint32_t block[3], const uint32_t thread[3]) {
    const uint32_t *dim = trace->question->launch->block;
    uint32_t linear = thread[0] + dim[0] * (thread[1] + dim[1] * thread[2]);
    memcpy(trace->block, block, sizeof trace->block);
    memcpy(trace->thread, thread, sizeof trace->thread);
    trace->warp = linear / SIM_WARP_LANES;
    trace->lane = linear % SIM_WARP_LANES;
    trace->find_writer = false;
    return run_ptx(trace) && run_machine(trace);
}

static void answer(LaneTrace *trace, LaneDiff *diff, bool whole) {
    uint32_t last = whole ? (trace->ptx.n ? trace->ptx.n - 1 : 0) : last_ptx_step(trace),
             machine = last_machine_step(trace);
    bool not_executed = false;
    Pair pair = trace->question->alike ? (Pair){NULL, NULL} : first_pair(trace, last, &not_executed);
    diff->alike = trace->question->alike;
    memcpy(diff->block, trace->block, sizeof diff->block);
    memcpy(diff->thread, trace->thread, sizeof diff->thread);
    diff->warp = trace->warp;
    diff->lane = trace->lane;
    diff->nptx = diff->nmachine = 0;
    diff->statement = NULL;
    uint32_t values = pair.ptx || trace->question->alike || trace->question->trapped
                          ? UINT32_MAX
                          : lane_values_part(trace, last, machine, diff);
    if (pair.ptx) {
        describe_pair(trace, diff, pair, not_executed);
        last = pair.ptx->index;
        machine = not_executed ? last_common(trace, pair.ptx) : pair.machine->index;
    }
    ptx_events(trace, diff, last);
    machine_events(trace, diff, machine);
    trace->until = pair.ptx && !not_executed ? pair.ptx->index : values;
}

/* The difference came in by a load: who stored there, if it was another lane? */
static bool follow_load(LaneTrace *trace) {
    if (trace->until >= trace->ptx.n)
        return false;
    const LanePtx s = trace->ptx.at[trace->until];
    if (!s.access_bytes || s.writes)
        return false;
    trace->find_writer = true;
    trace->writer_found = false;
    trace->writer_address = s.address;
    trace->writer_shared = s.shared;
    return run_ptx(trace) && trace->writer_found &&
           !is_lane(trace, trace->writer_block, trace->writer_thread);
}

LaneDiff *lane_diff(const LaneQuestion *question) {
    LaneTrace t = {.question = question, .arena = &question->plan->arena};
    LaneDiff *diff = ARENA_NEW(t.arena, LaneDiff);
    t.own_regs = ARENA_ARRAY(&t.own, const uint8_t *, question->m->nfuncs + 1);
    if (!set_lane(&t, question->block, question->thread)) {
        arena_free(&t.own);
        return NULL;
    }
    answer(&t, diff, false);
    while (diff->statement && diff->hops < LANE_MAX_HOPS && follow_load(&t)) {
        LaneDiff next = {.hops = diff->hops + 1, .reader_line = diff->line};
        uint32_t block[3], thread[3];
        memcpy(block, t.writer_block, sizeof block);
        memcpy(thread, t.writer_thread, sizeof thread);
        if (!set_lane(&t, block, thread))
            break;
        answer(&t, &next, true);
        if (!next.statement)
            break; /* the store itself, or its address, is what is wrong: the load says more */
        *diff = next;
    }
    arena_free(&t.own);
    return diff;
}

/* ---- output ---- */

static void print_times(FILE *out, const LaneStep *step) {
    if (step->times > 1)
        fprintf(out, "  (%u times)", step->times);
    fputc('\n', out);
}

static void print_by_values(const LaneDiff *diff, FILE *out) {
    fprintf(
        out,
        "  first difference: line %u: %s\n    PTX      %s = 0x%llx, which no register of the lane holds\n",
        diff->line, diff->statement, diff->ptx_reg, (unsigned long long)diff->ptx_value);
    if (diff->common)
        fprintf(out, "    last in common: 0x%llx, by %s pc 0x%llx: %s\n",
                (unsigned long long)diff->common_value, diff->func, (unsigned long long)diff->common_pc_bytes,
                diff->common);
    if (diff->instruction)
        fprintf(out, "    machine  %s = 0x%llx, by %s pc 0x%llx: %s\n", diff->machine_reg,
                (unsigned long long)diff->machine_value, diff->func, (unsigned long long)diff->pc_bytes,
                diff->instruction);
}

void lane_diff_print(const LaneDiff *diff, FILE *out) {
    fprintf(out, "lane %u of warp %u, block (%u,%u,%u), thread (%u,%u,%u)", diff->lane, diff->warp,
            diff->block[0], diff->block[1], diff->block[2], diff->thread[0], diff->thread[1],
            diff->thread[2]);
    if (diff->hops)
        fprintf(out, ", which stored what line %u loaded", diff->reader_line);
    fputs(":\n", out);
    if (diff->alike) {
        /* the trap is told elsewhere */
    } else if (!diff->statement) {
        fputs("  the values agree one by one: the lane takes another way, or takes one more or less often\n",
              out);
    } else if (diff->by_values) {
        print_by_values(diff, out);
    } else if (diff->not_executed) {
        fprintf(out, "  first difference: the machine does not execute line %u: %s\n", diff->line,
                diff->statement);
        if (diff->instruction)
            fprintf(out, "    last in common: %s pc 0x%llx: %s\n", diff->func,
                    (unsigned long long)diff->pc_bytes, diff->instruction);
    } else {
        fprintf(out, "  first difference: line %u: %s\n", diff->line, diff->statement);
        fprintf(out, "    PTX      %s = 0x%llx\n", diff->ptx_reg, (unsigned long long)diff->ptx_value);
        fprintf(out, "    machine  %s = 0x%llx, by %s pc 0x%llx: %s\n",
                diff->machine_reg ? diff->machine_reg : "?", (unsigned long long)diff->machine_value,
                diff->func, (unsigned long long)diff->pc_bytes, diff->instruction);
    }
    fprintf(out, "  last %u events, PTX:\n", diff->nptx);
    for (uint32_t i = 0; i < diff->nptx; i++) {
        const LaneStep *step = &diff->ptx[i];
        const char *values = step->skipped ? "(guard false)" : step->values;
        fprintf(out, *values ? "    line %-5u %-42s %s" : "    line %-5u %s%s", step->line, step->text,
                values);
        print_times(out, step);
    }
    fprintf(out, "  last %u events, machine:\n", diff->nmachine);
    for (uint32_t i = 0; i < diff->nmachine; i++) {
        const LaneStep *step = &diff->machine[i];
        fprintf(out, *step->values ? "    0x%04llx line %-5u %-42s %s" : "    0x%04llx line %-5u %s%s",
                (unsigned long long)step->pc_bytes, step->line, step->text, step->values);
        print_times(out, step);
    }
}
