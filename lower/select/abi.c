/* Calling convention: arguments and results in R4..R19, 64-bit and larger ones from an even register,
 * predicates as 0 or 1; the return address in R2:R3. What does not fit lies in an area of the caller's
 * frame whose address goes in R19 (arguments) or R18 (results). Values in fixed registers live only around
 * IR_ENTRY, CALL and RET. In objects for other linkers, functions that are seen from outside follow ptxas's
 * convention instead (isa/machine/abi.h, "open"): there the area for arguments begins at the caller's R1.
 * SPDX-License-Identifier: MIT */
#include "frontend/named.h"
#include "frontend/system.h"
#include "lower/select/isel.h"

enum { MAX_WORDS = 200 };

typedef struct {
    uint32_t words, align_words;
    int reg;         /* first register, -1 = in the area */
    uint32_t offset; /* in the area */
    bool pred;
} Slot;
typedef struct {
    Slot *slots;
    uint32_t n, area_bytes;
    uint32_t reg_words; /* in registers, all slots together */
} Plan;

enum { MAX_PARAM_WORDS = 1 << 14, TOO_LARGE };

static uint32_t words_of(const PtxVar *var) {
    if (var->type == TY_PRED && !var->is_array)
        return 1;
    uint64_t bytes = var->size_bytes ? var->size_bytes : ptx_type_bytes(var->type);
    return bytes > 4 * MAX_PARAM_WORDS ? TOO_LARGE : (uint32_t)((bytes + 3) / 4);
}

/* The convention between objects: the first free place for each, small ones go where larger ones left room.
 */
static void place_open(Plan *plan, uint32_t taken) {
    plan->area_bytes = plan->reg_words = 0;
    for (uint32_t k = 0; k < plan->n; k++) {
        Slot *slot = &plan->slots[k];
        int at =
            (ABI_FIRST_REG + (int)slot->align_words - 1) / (int)slot->align_words * (int)slot->align_words;
        uint32_t mask = slot->words < 32 ? (1u << slot->words) - 1 : 0;
        while (at + (int)slot->words - 1 <= ABI_OPEN_LAST_REG && taken & mask << at)
            at += (int)slot->align_words;
        if (at + (int)slot->words - 1 <= ABI_OPEN_LAST_REG) {
            slot->reg = at;
            taken |= mask << at;
            plan->reg_words += slot->words;
        } else {
            uint32_t align = 4 * slot->align_words;
            slot->reg = -1;
            slot->offset = (plan->area_bytes + align - 1) / align * align;
            plan->area_bytes = slot->offset + 4 * slot->words;
        }
    }
}

static void place_slots(Plan *plan, int last) {
    int next = ABI_FIRST_REG;
    plan->area_bytes = plan->reg_words = 0;
    for (uint32_t k = 0; k < plan->n; k++) {
        Slot *slot = &plan->slots[k];
        int at = slot->words > 1 ? (next + 1) & ~1 : next;
        if (slot->words <= 16 && at + (int)slot->words - 1 <= last) {
            slot->reg = at;
            next = at + (int)slot->words;
            plan->reg_words += slot->words;
        } else {
            slot->reg = -1;
            slot->offset = plan->area_bytes;
            plan->area_bytes += (slot->words * 4 + 15) & ~15u;
        }
    }
}

static bool plan(Sel *sel, const uint32_t *vars, uint32_t n, Plan *p) {
    *p = (Plan){.slots = ARENA_ARRAY(&sel->arena, Slot, n + 1), .n = n};
    for (uint32_t k = 0; k < n; k++) {
        const PtxVar *var = &sel->ptx->vars[vars[k]];
        uint32_t align = var->align_bytes ? var->align_bytes : (uint32_t)ptx_type_bytes(var->type);
        p->slots[k].words = words_of(var);
        p->slots[k].align_words = align > 4 ? align / 4 : 1;
        p->slots[k].pred = var->type == TY_PRED;
        if (p->slots[k].words == TOO_LARGE)
            return false;
    }
    return true;
}

typedef struct {
    const uint32_t *params, *rets;
    uint32_t nparams, nrets;
    bool noreturn, open;
} Signature;

static Signature signature_of(const Sel *sel, const PtxFunc *f) {
    return (Signature){f->params,
                       f->rets,
                       f->nparams,
                       f->nrets,
                       ptx_never_returns(sel->ptx, f),
                       lower_is_open(sel->l, sel->ptx, f)};
}

/* Both lists of one signature; areas take registers of their own. */
static bool plan_signature(Sel *s, const Signature *sig, Plan *args, Plan *results) {
    if (!plan(s, sig->params, sig->nparams, args) || !plan(s, sig->rets, sig->nrets, results))
        return false;
    if (sig->open) {
        place_open(results, 0);
        if (results->area_bytes && results->n > 1)
            return false; /* the convention knows one result */
        place_open(args, results->area_bytes ? 1u << ABI_FIRST_REG : 0);
        return true;
    }
    place_slots(results, ABI_LAST_REG);
    place_slots(args, ABI_LAST_REG);
    if (args->area_bytes || results->area_bytes)
        place_slots(args, ABI_RESULT_AREA_REG - 1);
    return true;
}

static int result_area_reg(bool open) { return open ? ABI_FIRST_REG : ABI_RESULT_AREA_REG; }
static int return_reg(bool open) { return open ? ABI_OPEN_RETURN_REG : ABI_RETURN_REG; }

/* ---- lists of fixed registers ---- */

typedef struct {
    Operand values[MAX_WORDS]; /* what is copied in, or the copies made */
    int regs[MAX_WORDS];
    unsigned n;
} Words;

static void push(Words *words, Operand v, int reg) {
    words->values[words->n] = v;
    words->regs[words->n++] = reg;
}

static Operand fixed_value(Sel *sel, int reg) {
    Operand v = sel_new_r(sel);
    ir_value(sel->f, (ValId){v.value})->fixed_reg = (int16_t)reg;
    return v;
}

/* Parallel copy of the values into their registers; values[] become the fixed ones. */
static void copy_in(Sel *sel, Words *words) {
    if (!words->n)
        return;
    InstId id = ir_inst_new(sel->f, IR_PARCOPY, words->n, words->n);
    for (unsigned k = 0; k < words->n; k++) {
        ir_set_src(sel->f, id, k, words->values[k]);
        words->values[k] = fixed_value(sel, words->regs[k]);
        ir_set_dst(sel->f, id, k, words->values[k]);
    }
    ir_inst(sel->f, id)->loc = sel->loc;
    ir_append(sel->f, sel->cur, id);
}

/* The reverse, behind the instruction that defined the fixed values. */
static void copy_out(Sel *sel, Words *words) {
    if (!words->n)
        return;
    InstId id = ir_inst_new(sel->f, IR_PARCOPY, words->n, words->n);
    for (unsigned k = 0; k < words->n; k++) {
        ir_set_src(sel->f, id, k, words->values[k]);
        words->values[k] = sel_new_r(sel);
        ir_set_dst(sel->f, id, k, words->values[k]);
    }
    ir_inst(sel->f, id)->loc = sel->loc;
    ir_append(sel->f, sel->cur, id);
}

static Operand load_local(Sel *s, Operand base, uint32_t offset) {
    return sel_emit_dst(s, OT_LDL, MSET(LDL, sz, MemSz_32), 0, RF_R, 1, 3,
                        (Operand[]){base, op_none(), op_imm(offset)});
}

static void store_local(Sel *s, Operand base, uint32_t offset, Operand v) {
    v = sel_value(s, v);
    EMIT0(s, OT_STL, MSET(STL, sz, MemSz_32), base, op_none(), op_imm(offset), v);
}

static Operand from_flag(Sel *s, Operand r) { return sel_isetp(s, false, ICmp_NE, r, op_imm(0)); }
static Operand to_flag(Sel *s, Operand p) { return sel_select(s, op_not(p), op_rz(), op_imm(1)); }

/* ---- entry and return ---- */

static bool make_param_words(Sel *sel, uint32_t var) {
    uint32_t first = sel->ssa.vars.n, n = words_of(&sel->ptx->vars[var]);
    if (n == TOO_LARGE)
        return false;
    for (uint32_t c = 0; c < n && !sel->param_var[var]; c++)
        sel_ssa_var_new(&sel->ssa, RF_R, 0, c);
    if (!sel->param_var[var])
        sel->param_var[var] = first + 1;
    return true;
}

/* Variables for the words of this function's parameters, results and those of its calls. */
static bool make_params(Sel *sel) {
    bool fit = true;
    for (uint32_t k = 0; fit && k < sel->pf->nvars; k++)
        if (sel->ptx->vars[sel->pf->vars[k]].space == SP_PARAM)
            fit = make_param_words(sel, sel->pf->vars[k]);
    for (uint32_t k = 0; fit && !sel->f->is_entry && k < sel->pf->nparams; k++)
        fit = make_param_words(sel, sel->pf->params[k]);
    for (uint32_t k = 0; fit && k < sel->pf->nrets; k++)
        fit = make_param_words(sel, sel->pf->rets[k]);
    return fit;
}

/* Parameter number k has arrived in `words`. */
static void define_param(Sel *sel, uint32_t k, const Operand *words, uint32_t n) {
    uint32_t reg = sel->pf->param_regs ? sel->pf->param_regs[k] : 0;
    uint32_t first = reg ? sel->reg_var[reg] : sel->param_var[sel->pf->params[k]] - 1;
    bool pred = reg && sel->pf->regs[reg].type == TY_PRED;
    uint32_t place = reg ? 0 : sel->frame_offset[sel->pf->params[k]];
    Operand frame = place ? EMIT_R(sel, IR_FRAME_ADDR, 0, op_imm(place - 1)) : op_none();
    for (uint32_t c = 0; c < n; c++) {
        Operand v = pred ? from_flag(sel, words[c]) : words[c];
        sel_write_var(sel, first + c, v);
        if (place)
            store_local(sel, frame, 4 * c, v);
    }
}

bool sel_abi_enter(Sel *sel) {
    if (!make_params(sel)) {
        diag_in(sel->d, &sel->ptx->source, sel->pf->loc, DIAG_E0705,
                str_text(&sel->ptx->strings, sel->pf->name));
        return false;
    }
    if (sel->f->is_entry) {
        ir_append(sel->f, sel->cur, ir_inst_new(sel->f, IR_ENTRY, 0, 0));
        return true;
    }
    Plan args, results;
    Words *entering = ARENA_NEW(&sel->arena, Words);
    Signature sig = signature_of(sel, sel->pf);
    if (!plan_signature(sel, &sig, &args, &results)) {
        diag_in(sel->d, &sel->ptx->source, sel->pf->loc, DIAG_E0705,
                str_text(&sel->ptx->strings, sel->pf->name));
        return false;
    }
    for (uint32_t k = 0; k < args.n; k++)
        for (uint32_t c = 0; args.slots[k].reg >= 0 && c < args.slots[k].words; c++)
            push(entering, op_none(), args.slots[k].reg + (int)c);
    if (args.area_bytes && !sig.open)
        push(entering, op_none(), ABI_ARG_AREA_REG);
    if (results.area_bytes)
        push(entering, op_none(), result_area_reg(sig.open));
    push(entering, op_none(), return_reg(sig.open));
    push(entering, op_none(), return_reg(sig.open) + 1);
    InstId entry = ir_inst_new(sel->f, IR_ENTRY, entering->n, 0);
    ir_append(sel->f, sel->cur, entry);
    for (unsigned k = 0; k < entering->n; k++) {
        entering->values[k] = fixed_value(sel, entering->regs[k]);
        ir_set_dst(sel->f, entry, k, entering->values[k]);
        ir_value(sel->f, (ValId){entering->values[k].value})->block = sel->cur;
    }
    copy_out(sel, entering);
    sel->ret_addr[0].i = entering->values[entering->n - 2].value;
    sel->ret_addr[1].i = entering->values[entering->n - 1].value;
    if (results.area_bytes) {
        sel->ret_area_var = sel_ssa_var_new(&sel->ssa, RF_R, 0, 0) + 1;
        sel_write_var(sel, sel->ret_area_var - 1, entering->values[entering->n - 3]);
    }
    unsigned at = 0;
    Operand area = op_none();
    if (args.area_bytes)
        area = sig.open ? EMIT_R(sel, IR_FRAME_ADDR, 0, op_imm(IR_FRAME_INCOMING))
                        : entering->values[args.reg_words];
    for (uint32_t k = 0; k < args.n; k++) {
        Slot *slot = &args.slots[k];
        Operand *words = ARENA_ARRAY(&sel->arena, Operand, slot->words + 1);
        for (uint32_t c = 0; c < slot->words; c++)
            words[c] = slot->reg >= 0 ? entering->values[at++] : load_local(sel, area, slot->offset + 4 * c);
        define_param(sel, k, words, slot->words);
    }
    return true;
}

static Operand result_word(Sel *sel, uint32_t k, uint32_t c) {
    uint32_t reg = sel->pf->ret_regs ? sel->pf->ret_regs[k] : 0;
    uint32_t first = reg ? sel->reg_var[reg] : sel->param_var[sel->pf->rets[k]] - 1;
    Operand v = ir_val(sel->f, sel_ssa_read(&sel->ssa, first + c, sel->cur));
    return v.file == RF_P ? to_flag(sel, v) : v;
}

bool sel_abi_return(Sel *sel) {
    Plan args, results;
    Words *words = ARENA_NEW(&sel->arena, Words);
    Signature sig = signature_of(sel, sel->pf);
    if (!plan_signature(sel, &sig, &args, &results))
        return false;
    Operand area = op_none();
    if (results.area_bytes)
        area = ir_val(sel->f, sel_ssa_read(&sel->ssa, sel->ret_area_var - 1, sel->cur));
    for (uint32_t k = 0; k < results.n; k++)
        for (uint32_t c = 0; c < results.slots[k].words; c++) {
            Operand v = result_word(sel, k, c);
            if (results.slots[k].reg >= 0)
                push(words, v, results.slots[k].reg + (int)c);
            else
                store_local(sel, area, results.slots[k].offset + 4 * c, v);
        }
    for (int k = 0; k < 2 && sig.open; k++)
        push(words, ir_val(sel->f, sel->ret_addr[k]), ABI_OPEN_RETURN_REG + k);
    copy_in(sel, words);
    ValId back[2] = {sel->ret_addr[0], sel->ret_addr[1]};
    if (sig.open) {
        words->n -= 2;
        for (unsigned k = 0; k < 2; k++)
            back[k].i = words->values[words->n + k].value;
    }
    Operand src[3 + ABI_LAST_REG];
    src[RET_pp] = op_pt();
    src[RET_ra] = ir_vec(sel->f, back, 2);
    src[RET_offset] = op_imm(0);
    for (unsigned k = 0; k < words->n; k++)
        src[3 + k] = words->values[k];
    sel_emit(sel, OT_RET, MSET(RET, mode, BasePCMode_ABS), 3 + words->n, src);
    return true;
}

/* ---- calls ---- */

typedef struct {
    uint32_t callee; /* index into Lower.fns of a function of the module, where there is no other target */
    StrId open;      /* the name of an open one */
    Operand address; /* a value: of the function to call */
    int return_reg;  /* where the callee finds the return address */
} CallTarget;

/* args are in their registers; results[] name the registers and receive copies. */
static void emit_call_to(Sel *sel, const CallTarget *target, Words *args, Words *results) {
    Function *f = sel->f;
    copy_in(sel, args);
    ValId ra[2] = {ir_value_new(f, RF_R), ir_value_new(f, RF_R)};
    for (unsigned k = 0; k < 2; k++)
        ir_value(f, ra[k])->fixed_reg = (int16_t)(target->return_reg + (int)k);
    InstId lepc = sel_emit(sel, OT_LEPC, 0, 0, NULL);
    ir_set_dst(f, lepc, LEPC_rd, ir_vec(f, ra, 2));
    for (unsigned k = 0; k < 2; k++)
        ir_value(f, ra[k])->block = sel->cur;
    InstId call = ir_inst_new(f, OT_CALL, results->n, 3 + args->n + 1);
    ir_set_src(f, call, CALL_pp, op_pt());
    bool direct = target->address.kind == OPK_NONE, open = target->open.i != 0;
    Operand offset = op_imm(0);
    if (direct)
        offset = open ? ir_sym(f, target->open, 0, RELOC_CALL_ABS)
                      : ir_sym(f, sel->l->fns.at[target->callee].f->name, 0, RELOC_CALL_REL);
    ir_set_src(f, call, CALL_ra, direct ? op_reg(RF_R, REG_RZ, 2) : target->address);
    ir_set_src(f, call, CALL_offset, offset);
    for (unsigned k = 0; k < args->n; k++)
        ir_set_src(f, call, 3 + k, args->values[k]);
    ir_set_src(f, call, 3 + args->n, ir_vec(f, ra, 2));
    Inst *i = ir_inst(f, call);
    i->mods = MSET(CALL, mode, direct && !open ? BasePCMode_REL : BasePCMode_ABS);
    i->flags |= IF_MEMORY | IF_SIDE_EFFECT | IF_CONVERGENT;
    i->loc = sel->loc;
    for (unsigned k = 0; k < results->n; k++) {
        results->values[k] = fixed_value(sel, results->regs[k]);
        ir_set_dst(f, call, k, results->values[k]);
    }
    ir_append(f, sel->cur, call);
    copy_out(sel, results);
    LowerFn *self = &sel->l->fns.at[sel->fn];
    if (!direct || open) { /* the driver calls nothing of the module */
        self->calls_unknown |= open || target->return_reg == ABI_RETURN_REG || sel->m->relocatable;
        return;
    }
    for (unsigned k = 0; k < self->callees.n; k++)
        if (self->callees.at[k] == target->callee)
            return;
    VEC_ADD(&sel->l->scratch, &self->callees, target->callee);
}

static void emit_call(Sel *s, uint32_t callee, Words *args, Words *results) {
    emit_call_to(s, &(CallTarget){.callee = callee, .return_reg = ABI_RETURN_REG}, args, results);
}

bool sel_abi_call_builtin(Sel *sel, const char *name, unsigned nargs, const Operand *args, unsigned nrets,
                          Operand *rets) {
    uint32_t fn = lower_builtin(sel->l, name);
    if (fn == UINT32_MAX)
        return sel_error(sel, "the built-in library has no function for it");
    const PtxModule *mod = sel->l->fns.at[fn].mod;
    const PtxFunc *pf = &mod->funcs[sel->l->fns.at[fn].index];
    Words *a = ARENA_NEW(&sel->arena, Words), *r = ARENA_NEW(&sel->arena, Words);
    /* the parameters' sizes decide the registers, as for any call */
    const PtxModule *self = sel->ptx;
    Plan pa, pr;
    sel->ptx = mod;
    Signature sig = signature_of(sel, pf);
    bool ok = plan_signature(sel, &sig, &pa, &pr);
    sel->ptx = self;
    if (!ok || pa.reg_words != nargs || pr.reg_words != nrets || pa.area_bytes || pr.area_bytes)
        return sel_error(sel, "the built-in function has another signature");
    for (uint32_t k = 0, n = 0; k < pa.n; k++)
        for (uint32_t c = 0; c < pa.slots[k].words; c++)
            push(a, args[n++], pa.slots[k].reg + (int)c);
    for (uint32_t k = 0; k < pr.n; k++)
        for (uint32_t c = 0; c < pr.slots[k].words; c++)
            push(r, op_none(), pr.slots[k].reg + (int)c);
    emit_call(sel, fn, a, r);
    for (unsigned k = 0; k < nrets; k++)
        rets[k] = r->values[k];
    return true;
}

/* Word c of an argument or result operand: register, immediate, or .param variable of the call. */
static bool argument_word(Sel *sel, const PtxOperand *operand, uint32_t c, bool pred, Operand *v) {
    if (operand->kind == PO_SYM && operand->sym && !(operand->sym & PTX_SYM_FUNC) &&
        sel->param_var[operand->sym - 1]) {
        if (c >= words_of(&sel->ptx->vars[operand->sym - 1]))
            return false;
        uint32_t place = sel->frame_offset[operand->sym - 1];
        *v = place ? load_local(sel, EMIT_R(sel, IR_FRAME_ADDR, 0, op_imm(place - 1)), 4 * c)
                   : ir_val(sel->f,
                            sel_ssa_read(&sel->ssa, sel->param_var[operand->sym - 1] - 1 + c, sel->cur));
        return true;
    }
    if (operand->kind != PO_REG && operand->kind != PO_IMM)
        return false;
    if (pred) {
        *v = to_flag(sel, sel_src_pred(sel, operand));
        return true;
    }
    Wide w = sel_src(sel, operand, operand->kind == PO_REG ? sel_reg_bytes(sel, operand) : 8);
    *v = c < w.n ? w.w[c] : op_imm(0);
    return c < 4; /* 128 bits */
}

static bool set_result_word(Sel *sel, const PtxOperand *operand, uint32_t c, Operand v) {
    if (operand->kind == PO_SINK)
        return true;
    if (operand->kind == PO_SYM && operand->sym && !(operand->sym & PTX_SYM_FUNC) &&
        sel->param_var[operand->sym - 1]) {
        if (c < words_of(&sel->ptx->vars[operand->sym - 1]))
            sel_write_var(sel, sel->param_var[operand->sym - 1] - 1 + c, v);
        return true;
    }
    if (operand->kind != PO_REG)
        return false;
    bool pred = sel->pf->regs[operand->reg].type == TY_PRED;
    if (!pred && c >= (sel_reg_bytes(sel, operand) + 3) / 4)
        return true;
    sel_write_var(sel, sel->reg_var[operand->reg] + c, pred ? from_flag(sel, v) : v);
    return true;
}

typedef struct {
    const PtxInsn *in;
    Plan args, results;
    Operand arg_area, result_area;
    bool open, noreturn;
} Call;

/* The IR does not know that the callee never comes back. */
static void end_without_return(Sel *sel) {
    sel_emit(sel, OT_EXIT, 0, 0, NULL);
    sel->cur = (BlockId){0};
}

static bool pass_arguments(Sel *s, Call *call, Words *a) {
    for (uint32_t k = 0; k < call->args.n; k++)
        for (uint32_t w = 0; w < call->args.slots[k].words; w++) {
            Operand v;
            Slot *slot = &call->args.slots[k];
            if (!argument_word(s, &call->in->args[k], w, slot->pred, &v))
                return sel_error(s, "this kind of argument is not compiled");
            if (slot->reg >= 0)
                push(a, v, slot->reg + (int)w);
            else
                store_local(s, call->arg_area, slot->offset + 4 * w, v);
        }
    if (call->args.area_bytes && !call->open)
        push(a, call->arg_area, ABI_ARG_AREA_REG);
    if (call->results.area_bytes)
        push(a, call->result_area, result_area_reg(call->open));
    return true;
}

static bool take_results(Sel *s, Call *call, const Words *r) {
    unsigned at = 0;
    for (uint32_t k = 0; k < call->results.n; k++)
        for (uint32_t w = 0; w < call->results.slots[k].words; w++) {
            Slot *slot = &call->results.slots[k];
            Operand v =
                slot->reg >= 0 ? r->values[at++] : load_local(s, call->result_area, slot->offset + 4 * w);
            if (!set_result_word(s, &call->in->rets[k], w, v))
                return sel_error(s, "this kind of result is not compiled");
        }
    return true;
}

static Operand call_area(Sel *sel, uint32_t bytes) {
    if (!bytes)
        return op_none();
    uint32_t at = (sel->f->var_bytes + 15) & ~15u;
    sel->f->var_bytes = at + bytes;
    return EMIT_R(sel, IR_FRAME_ADDR, 0, op_imm(at));
}

/* What the instruction calls, as far as its text says it. */
static bool called_signature(const Sel *sel, const PtxInsn *in, Signature *sig) {
    if (in->op != PTX_CALL || (!in->callee && (!in->table || in->table > sel->pf->ncall_tables)))
        return false;
    if (in->callee) {
        *sig = signature_of(sel, &sel->ptx->funcs[in->callee - 1]);
        return true;
    }
    const PtxCallTable *table = &sel->pf->call_tables[in->table - 1];
    *sig = (Signature){table->params, table->rets, table->nparams, table->nrets, table->noreturn, false};
    if (table->n)
        *sig = signature_of(sel, &sel->ptx->funcs[table->funcs[0]]);
    sig->open = sel->m->relocatable; /* whoever has an address taken is open */
    return true;
}

static bool same_slots(const Plan *plan, const Plan *b) {
    if (plan->n != b->n)
        return false;
    for (uint32_t k = 0; k < plan->n; k++)
        if (plan->slots[k].words != b->slots[k].words || plan->slots[k].pred != b->slots[k].pred)
            return false;
    return true;
}

/* What the call's table says of its targets. They must agree in where parameters lie. */
static bool indirect_signature(Sel *sel, const PtxInsn *in, Signature *sig) {
    if (!called_signature(sel, in, sig))
        return sel_error(sel, "the call has neither a prototype nor a list of targets");
    const PtxCallTable *ptx_call_table = &sel->pf->call_tables[in->table - 1];
    for (uint32_t k = 1; k < ptx_call_table->n; k++) {
        Signature other = signature_of(sel, &sel->ptx->funcs[ptx_call_table->funcs[k]]);
        Plan p[4];
        if (!plan_signature(sel, sig, &p[0], &p[1]) || !plan_signature(sel, &other, &p[2], &p[3]))
            return sel_error(sel, "a parameter is too large");
        if (!same_slots(&p[0], &p[2]) || !same_slots(&p[1], &p[3]))
            return sel_error(sel, "the targets listed have different parameters");
    }
    return true;
}

/* ---- targets without calls through registers ---- */

enum { MAX_CANDIDATES = 64 };

/* bru1 (which has TRAP) does. NVIDIA's targets could, by CALL.ABS, but for each callee compared and called
 * directly the driver needs no table of indirect calls, and registers and stack are those of known functions.
 */
static bool calls_through_registers(const Sel *sel) {
    return isa_target_has(sel->t, OT_TRAP) || sel->m->relocatable;
}

/* What an indirect call may reach: its list, or every function of its signature whose address is taken. */
static uint32_t find_candidates(Sel *sel, const PtxInsn *in, const Call *call, uint32_t *out) {
    const PtxCallTable *ptx_call_table = &sel->pf->call_tables[in->table - 1];
    bool *taken = ptx_address_taken(sel->ptx, &sel->arena);
    uint32_t n = 0;
    for (uint32_t i = 0; i < sel->ptx->nfuncs && n <= MAX_CANDIDATES; i++) {
        const PtxFunc *f = &sel->ptx->funcs[i];
        bool listed = ptx_call_table->n == 0;
        for (uint32_t k = 0; k < ptx_call_table->n; k++)
            listed |=
                ptx_call_table->funcs[k] == i || sel->ptx->funcs[ptx_call_table->funcs[k]].alias_of == i + 1;
        Plan args, results;
        Signature sig = signature_of(sel, f);
        if (listed && (taken[i] || ptx_call_table->n) && f->has_body && !f->is_entry &&
            plan_signature(sel, &sig, &args, &results) && same_slots(&args, &call->args) &&
            same_slots(&results, &call->results))
            out[n++] = i;
    }
    return n;
}

/* The address compared with each candidate's, and direct calls. An address that is none of them traps. */
static bool call_by_comparison(Sel *sel, Call *call, Operand target, const Words *args,
                               const Words *results) {
    uint32_t candidates[MAX_CANDIDATES + 1], n = find_candidates(sel, call->in, call, candidates);
    if (n > MAX_CANDIDATES)
        return sel_error(
            sel, "this machine has no calls through registers, and there are too many possible targets");
    BlockId join = sel_block_new(sel);
    Words *a = ARENA_NEW(&sel->arena, Words), *r = ARENA_NEW(&sel->arena, Words);
    bool ok = true;
    for (uint32_t k = 0; ok && k < n; k++) {
        BlockId yes = sel_block_new(sel), no = sel_block_new(sel);
        sel_branch(sel,
                   sel_isetp64(sel, false, ICmp_EQ, sel_wide_pair(sel, target),
                               sel_function_address(sel, candidates[k], 0)),
                   yes, no);
        sel_seal(sel, yes);
        sel_seal(sel, no);
        sel_begin(sel, yes);
        *a = *args;
        *r = *results;
        emit_call(sel, lower_function(sel->l, sel->ptx, candidates[k], sel->l->fns.at[sel->fn].builtin), a,
                  r);
        if (!ptx_never_returns(sel->ptx, &sel->ptx->funcs[candidates[k]])) {
            ok = take_results(sel, call, r);
            sel_jump(sel, join);
        }
        sel_begin(sel, no);
    }
    sel_trap(sel, TRAP_CODE_TRAP);
    sel_seal(sel, join);
    sel_begin(sel,
              join); /* no edge leads here if no candidate comes back; the blocks behind wait for theirs */
    if (call->noreturn)
        end_without_return(sel);
    return ok;
}

void sel_abi_reserve(Sel *sel) {
    for (uint32_t i = 0; sel->m->relocatable && i < sel->pf->ninsns; i++) {
        Signature sig;
        Plan args, results;
        if (called_signature(sel, &sel->pf->insns[i], &sig) && sig.open &&
            plan_signature(sel, &sig, &args, &results) && args.area_bytes > sel->f->var_bytes)
            sel->f->var_bytes = args.area_bytes;
    }
}

bool sel_abi_call(Sel *sel, const PtxInsn *in) {
    Signature sig;
    uint32_t index = 0;
    Operand target = op_none();
    bool system = false;
    if (in->callee) {
        index = in->callee - 1;
        if (sel->ptx->funcs[index].alias_of)
            index = sel->ptx->funcs[index].alias_of - 1;
        const PtxFunc *callee = &sel->ptx->funcs[index];
        system = ptx_system_func(sel->ptx, callee) != SYSTEM_COUNT;
        sig = signature_of(sel, callee);
        if ((!callee->has_body && !system && !sig.open) || callee->is_entry)
            return sel_error(sel, arena_printf(&sel->arena, "%s, which it calls, has no body here",
                                               str_text(&sel->ptx->strings, callee->name)));
        if (system) {
            Wide at = sel_linked_address(sel, lower_name(sel->l, sel->ptx, callee->name), 0);
            target = sel_pair(sel, at.w[0], at.w[1]);
        }
    } else if (!indirect_signature(sel, in, &sig)) {
        return false;
    } else {
        Wide w = sel_src(sel, &in->operands[0], 8);
        target = sel_pair(sel, w.w[0], w.w[1]);
    }
    if (in->nargs != sig.nparams || in->nrets != sig.nrets)
        return sel_error(sel, "the call does not match the function");
    Call c = {.in = in, .open = sig.open, .noreturn = sig.noreturn};
    if (!plan_signature(sel, &sig, &c.args, &c.results))
        return sel_error(sel, "a parameter is too large");
    if (c.open && c.args.area_bytes && sel->f->link_at)
        return sel_error(sel, "a function whose stack grows passes no parameters on it to other objects");
    Words *a = ARENA_NEW(&sel->arena, Words), *r = ARENA_NEW(&sel->arena, Words);
    c.arg_area = !c.open             ? call_area(sel, c.args.area_bytes)
                 : c.args.area_bytes ? EMIT_R(sel, IR_FRAME_ADDR, 0, op_imm(0)) /* sel_abi_reserve */
                                     : op_none();
    c.result_area = call_area(sel, c.results.area_bytes);
    if (!pass_arguments(sel, &c, a))
        return false;
    for (uint32_t k = 0; k < c.results.n; k++)
        for (uint32_t w = 0; c.results.slots[k].reg >= 0 && w < c.results.slots[k].words; w++)
            push(r, op_none(), c.results.slots[k].reg + (int)w);
    if (!in->callee && !calls_through_registers(sel))
        return call_by_comparison(sel, &c, target, a, r);
    CallTarget to = {.address = target, .return_reg = system ? ABI_SYSTEM_RETURN_REG : return_reg(c.open)};
    if (in->callee && !system && c.open)
        to.open = lower_name(sel->l, sel->ptx, sel->ptx->funcs[index].name);
    else if (in->callee && !system)
        to.callee = lower_function(sel->l, sel->ptx, index, sel->l->fns.at[sel->fn].builtin);
    emit_call_to(sel, &to, a, r);
    if (sig.noreturn) {
        if (target.kind != OPK_NONE || c.open)
            end_without_return(sel);
        sel->cur = (BlockId){0};
        return true;
    }
    return take_results(sel, &c, r);
}
