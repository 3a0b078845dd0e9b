/* What both sides of the prover start from: parameters, special registers, addresses of variables, the
 * calling convention, the operations of the built-in library.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "check/prove/ptx/ptx.h"
#include "frontend/named.h"
#include "frontend/param_layout.h"
#include "isa/machine/abi.h"
#include "sim/launch.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Term *prove_input(Prover *prover, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *name = term_name_of(&prover->ts, fmt, ap);
    va_end(ap);
    for (uint32_t k = 0; k < prover->ngiven; k++)
        if (prover->given[k].name == name)
            return t_const(&prover->ts, 32, prover->given[k].value);
    return t_var(&prover->ts, 32, name, 0);
}
Term *prove_sp(Prover *p) { return prove_input(p, "stack pointer"); }

uint64_t prove_param_offset(const Prover *prover, const PtxVar *var) {
    return ptx_param_offset(prover->module, prover->pf, var,
                            isa_target_info(prover->flow->bin->target)->param_base_bytes);
}

static const char param_name[] = "param+0x";
bool prove_is_param(const Term *term) {
    return term->kind == TK_VAR && strncmp(term->name, param_name, sizeof param_name - 1) == 0;
}
Term *prove_param(Prover *prover, uint64_t offset, unsigned bytes) {
    Terms *ts = &prover->ts;
    Term *w = prove_input(prover, "%s%llx", param_name, (unsigned long long)(offset & ~3ull));
    return bytes >= 4 ? w : t_zext_from(ts, t_lshr(ts, w, t_const(ts, 32, 8 * (offset & 3))), 8 * bytes);
}

Term *prove_param_at(Prover *prover, Term *addr, unsigned bytes) {
    Terms *ts = &prover->ts;
    uint64_t base = isa_target_info(prover->flow->bin->target)->param_base_bytes;
    if (t_is_const(addr) && addr->k >= base && (addr->k - base) % bytes == 0)
        return prove_param(prover, addr->k - base, bytes);
    return t_app(ts, TO_UF, 32, bytes < 4 ? 8 * bytes : 0, term_name(ts, "#param"), &addr, 1);
}

Term *prove_uf(Prover *prover, unsigned width, const char *name, Term *const *a, uint32_t n) {
    prover->nuf++;
    return t_uf(&prover->ts, width, name, a, n);
}
Term *prove_uf_sorted(Prover *p, unsigned width, const char *name, Term *term, Term *y) {
    Term *a[2] = {term->id < y->id ? term : y, term->id < y->id ? y : term};
    return prove_uf(p, width, name, a, 2);
}
Term *prove_const3(Prover *prover, Term *addr, unsigned bytes, bool sign) {
    Terms *ts = &prover->ts;
    Term *v = t_app(ts, TO_UF, 32, bytes < 4 ? 8 * bytes : 0, term_name(ts, "#const"), &addr, 1);
    return sign ? t_sext_from(ts, v, 8 * bytes) : v;
}

Term *prove_generic(Prover *prover, Term *const *mem, Term *guard, Term *addr, unsigned bytes) {
    Terms *ts = &prover->ts;
    Term *arg[NGENERIC + 1];
    for (unsigned s = 0; s < NGENERIC; s++)
        arg[s] = t_met(ts, mem[s], guard);
    arg[NGENERIC] = t_under(ts, addr, guard);
    Term *stored =
        prover->watched >> MEM_SHARED & 1 ? NULL : t_read_generic(ts, arg, NGENERIC, guard, addr, bytes);
    if (stored)
        return stored;
    prover->nuf++;
    return t_app(ts, TO_UF, 32, bytes < 4 ? 8 * bytes : 0, term_name(ts, "#ld.generic"), arg, NGENERIC + 1);
}

void prove_generic_store(Prover *prover, Term **mem, Term *guard, Term *addr, unsigned bytes,
                         Term *const *words) {
    for (unsigned s = 0; s < NGENERIC; s++)
        mem[s] = t_store_generic(&prover->ts, mem[s], guard, addr, bytes, words);
}

Term *prove_address(Prover *prover, uint32_t var) {
    const PtxVar *ptx_var = &prover->module->vars[var];
    const char *name = str_text(&prover->module->strings, ptx_var->name);
    if (ptx_var->func)
        return t_var(
            &prover->ts, 64,
            term_name(&prover->ts, "&%s$%s",
                      str_text(&prover->module->strings, prover->module->funcs[ptx_var->func - 1].name),
                      name),
            0);
    return t_var(&prover->ts, 64, term_name(&prover->ts, "&%s", name), 0);
}

Term *prove_sreg(Ptx *ptx, const PtxOperand *operand) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    static const char *const plain[SR_COUNT] = {[SR_LANEID] = "laneid",
                                                [SR_SMID] = "smid",
                                                [SR_NSMID] = "nsmid",
                                                [SR_LANEMASK_EQ] = "lanemask_eq",
                                                [SR_LANEMASK_LE] = "lanemask_le",
                                                [SR_LANEMASK_LT] = "lanemask_lt",
                                                [SR_LANEMASK_GE] = "lanemask_ge",
                                                [SR_LANEMASK_GT] = "lanemask_gt",
                                                [SR_TOTAL_SMEM_SIZE] = "total_smem_size",
                                                [SR_DYNAMIC_SMEM_SIZE] = "dynamic_smem_size"};
    static const char *const triple[SR_COUNT] = {
        [SR_TID] = "tid", [SR_NTID] = "ntid", [SR_CTAID] = "ctaid", [SR_NCTAID] = "nctaid"};
    if (triple[operand->sreg])
        return operand->component < 3
                   ? prove_input(prover, "%s.%c", triple[operand->sreg], "xyz"[operand->component])
                   : ts->zero;
    if (operand->sreg == SR_WARPID) {
        Term *t = t_add(ts, t_mul(ts, prove_input(prover, "ntid.y"), prove_input(prover, "tid.z")),
                        prove_input(prover, "tid.y"));
        t = t_add(ts, t_mul(ts, prove_input(prover, "ntid.x"), t), prove_input(prover, "tid.x"));
        return t_lshr(ts, t, t_const(ts, 32, 5));
    }
    if (operand->sreg == SR_AGGR_SMEM_SIZE)
        return t_add(ts, prove_input(prover, "total_smem_size"), t_const(ts, 32, SYSTEM_SHARED_BYTES));
    if (operand->sreg == SR_NWARPID) {
        Term *n = t_mul(ts, t_mul(ts, prove_input(prover, "ntid.x"), prove_input(prover, "ntid.y")),
                        prove_input(prover, "ntid.z"));
        return t_lshr(ts, t_add(ts, n, t_const(ts, 32, 31)), t_const(ts, 32, 5));
    }
    if (operand->sreg == SR_GRIDID)
        return t_pair(ts, prove_input(prover, "gridid.0"), prove_input(prover, "gridid.1"));
    if (operand->sreg == SR_ENVREG)
        return prove_input(prover, "envreg.%u", operand->component);
    if (plain[operand->sreg])
        return prove_input(prover, "%s", plain[operand->sreg]);
    pv_fault(ptx, "a special register is not modelled");
    return ts->zero;
}

Term *prove_function_address(Prover *prover, uint32_t func) {
    const PtxFunc *f = &prover->module->funcs[func];
    if (f->alias_of)
        f = &prover->module->funcs[f->alias_of - 1];
    return t_var(&prover->ts, 64,
                 term_name(&prover->ts, "&()%s", str_text(&prover->module->strings, f->name)), 0);
}

static bool same_slots(const AbiPlan *one, const AbiPlan *two) {
    bool same = one->n == two->n && !one->stack && !two->stack;
    for (uint32_t k = 0; same && k < one->n; k++)
        same = one->at[k].words == two->at[k].words && one->at[k].pred == two->at[k].pred &&
               one->at[k].reg == two->at[k].reg;
    return same;
}

bool prove_ptx_callees(Prover *prover, const PtxInsn *call, uint32_t *out, uint32_t *n) {
    const PtxModule *module = prover->module;
    *n = 0;
    if (!call->table || call->table > prover->pf->ncall_tables)
        return false;
    const PtxCallTable *table = &prover->pf->call_tables[call->table - 1];
    const bool *taken = ptx_address_taken(module, &prover->arena);
    AbiPlan want[2], have[2];
    const PtxFunc *first = table->n ? &module->funcs[table->funcs[0]] : NULL;
    prove_abi(prover, first ? first->params : table->params, first ? first->nparams : table->nparams,
              &want[0]);
    prove_abi(prover, first ? first->rets : table->rets, first ? first->nrets : table->nrets, &want[1]);
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        bool listed = !table->n && taken[f];
        for (uint32_t k = 0; k < table->n; k++)
            listed |= table->funcs[k] == f || module->funcs[table->funcs[k]].alias_of == f + 1;
        if (!listed || module->funcs[f].is_entry || module->funcs[f].alias_of)
            continue;
        prove_abi(prover, module->funcs[f].params, module->funcs[f].nparams, &have[0]);
        prove_abi(prover, module->funcs[f].rets, module->funcs[f].nrets, &have[1]);
        if (!same_slots(&want[0], &have[0]) || !same_slots(&want[1], &have[1]))
            continue;
        if (!module->funcs[f].has_body || *n == PROVE_MOST_CALLEES)
            return false;
        out[(*n)++] = f;
    }
    return *n != 0;
}

/* ---- calling convention: docs of lower/select/abi.c ---- */
void prove_abi(const Prover *prover, const uint32_t *vars, uint32_t n, AbiPlan *out) {
    *out = (AbiPlan){.n = n};
    int next = ABI_FIRST_REG;
    if (n > sizeof out->at / sizeof *out->at) {
        out->n = 0;
        out->stack = true;
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        const PtxVar *var = &prover->module->vars[vars[k]];
        bool pred = var->type == TY_PRED && !var->is_array;
        uint64_t bytes = var->size_bytes ? var->size_bytes : ptx_type_bytes(var->type);
        unsigned words = pred ? 1 : (unsigned)((bytes + 3) / 4);
        int at = words > 1 ? (next + 1) & ~1 : next;
        out->at[k] = (AbiSlot){vars[k], words, at, pred};
        if (words > 16 || at + (int)words - 1 > ABI_LAST_REG) {
            out->at[k].reg = -1;
            out->stack = true;
        } else {
            next = at + (int)words;
        }
    }
}

/* Words in and out; `where` puts 64-bit ones into even registers. */
bool prove_builtin(const char *name, AbiPlan *in, AbiPlan *out) {
    static const struct {
        const char *name, *in, *out;
    } table[] = {/* 1: a word, 2: a pair */
                 {"__heddle_div_rn_f32", "11", "1"}, {"__heddle_div_rm_f32", "11", "1"},
                 {"__heddle_div_rp_f32", "11", "1"}, {"__heddle_div_rz_f32", "11", "1"},
                 {"__heddle_sqrt_rn_f32", "1", "1"}, {"__heddle_sqrt_rm_f32", "1", "1"},
                 {"__heddle_sqrt_rp_f32", "1", "1"}, {"__heddle_sqrt_rz_f32", "1", "1"},
                 {"__heddle_div_f64", "221", "2"},   {"__heddle_sqrt_f64", "21", "2"},
                 {"__heddle_div_u64", "22", "2"},    {"__heddle_div_s64", "22", "2"},
                 {"__heddle_rem_u64", "22", "2"},    {"__heddle_rem_s64", "22", "2"},
                 {"__heddle_fns_b32", "111", "1"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        for (unsigned side = 0; side < 2; side++) {
            AbiPlan *plan = side ? out : in;
            int next = 4;
            *plan = (AbiPlan){0};
            for (const char *w = side ? table[i].out : table[i].in; *w; w++) {
                unsigned words = (unsigned)(*w - '0');
                int at = words > 1 ? (next + 1) & ~1 : next;
                plan->at[plan->n++] = (AbiSlot){0, words, at, false};
                next = at + (int)words;
            }
        }
        return true;
    }
    return false;
}
