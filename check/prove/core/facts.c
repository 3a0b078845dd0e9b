/* What must hold of a file beside its regions before it may be called proved.
 *
 * The proof of one lane takes for granted that lanes meet where the code says so, that no lane waits for
 * ever, and that results have arrived when they are read. Nothing in a region shows that, so the static
 * checker (all of its errors, and the warnings of rules on meeting) and, for kernels in which lanes may part,
 * the model checker must agree. They do not refute: they speak of code, not of a run. Too few registers and
 * too small a stack do: those are facts of the file.
 *
 * A region's refutation starts from a state that the relation at its cut point allows, which no launch need
 * reach. So it counts only if a launch of a kernel above shows a difference; otherwise the region is unknown,
 * and the difference named. A difference that the region's values alone do not show (events of other kinds,
 * operations without a meaning here) is tried in the same way: if a launch differs, that is a fact of the
 * file. SPDX-License-Identifier: MIT */
#include "base/align.h"
#include "check/flow/contents.h"
#include "check/model/model.h"
#include "check/prove/core/core.h"
#include "check/static/check.h"
#include "check/validate/judge/judge.h"
#include "frontend/named.h"
#include <stdlib.h>
#include <string.h>

static void fact(ProveReport *report, const char *func, ProveStatus status, uint32_t ptx_line,
                 const char *text) {
    Arena *arena = &report->arena;
    VEC_ADD(arena, &report->facts,
            ((ProveFact){.func = func ? arena_printf(arena, "%s", func) : NULL,
                         .text = arena_printf(arena, "%s", text),
                         .ptx_line = ptx_line,
                         .status = status}));
}

static void contents(const PtxModule *module, const BinFlow *flow, const ProveOptions *opt,
                     ProveReport *report) {
    Contents found;
    bin_contents_compare(module, flow->bin, opt->kernel, &found);
    for (uint32_t k = 0; k < found.findings.n; k++) {
        const ContentsFinding *finding = &found.findings.at[k];
        fact(report, finding->func, finding->definite ? PROVE_REFUTED : PROVE_UNKNOWN, finding->ptx_line,
             finding->text);
    }
    bin_contents_free(&found);
}

bool *prove_functions_below(const BinFlow *flow, const char *kernel, Arena *arena) {
    bool *in = ARENA_ARRAY(arena, bool, flow->bin->nfuncs + 1);
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        in[f] = !kernel || strcmp(flow->bin->funcs[f].name, kernel) == 0;
    for (bool more = kernel != NULL; more;) {
        more = false;
        for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
            for (uint32_t c = 0; in[f] && c < flow->funcs[f].ncalls; c++)
                for (uint32_t t = 0; t < flow->bin->nfuncs; t++)
                    if (!in[t] && (flow->funcs[f].calls[c].callee == t ||
                                   flow->funcs[f].calls[c].callee == BINFLOW_NONE))
                        in[t] = more = true;
    }
    return in;
}

static int by_offset(const void *a, const void *b) {
    const SharedPlace *x = a, *y = b;
    return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

/* Where the proof of the regions believes a kernel's shared variables to lie: apart from each other, aligned,
 * inside what the file declares. */
static const char *kernel_places(const PtxModule *module, const SharedFunc *kernel, const BinFunc *func,
                                 Arena *arena) {
    SharedPlace *places = ARENA_ARRAY(arena, SharedPlace, kernel->nplaces + 1);
    uint64_t end = 0, own = align_up(func->shared_bytes, 16);
    if (kernel->nplaces)
        memcpy(places, kernel->places, kernel->nplaces * sizeof *places);
    qsort(places, kernel->nplaces, sizeof *places, by_offset);
    for (uint32_t k = 0; k < kernel->nplaces; k++) {
        const PtxVar *var = &module->vars[places[k].var];
        uint64_t at = places[k].offset_bytes;
        const char *name = str_text(&module->strings, var->name);
        if (var->align_bytes && at % var->align_bytes)
            return arena_printf(arena, "shared variable %s is not aligned", name);
        if (ptx_is_dynamic_shared(var)) { /* the launch's part begins behind the kernel's own */
            if (at > own)
                return arena_printf(arena, "dynamic shared memory is taken to start at byte %llu, not %llu",
                                    (unsigned long long)at, (unsigned long long)own);
            continue;
        }
        if (at < end)
            return arena_printf(arena, "shared variable %s overlaps another", name);
        end = at + var->size_bytes;
    }
    for (uint32_t k = 0; k < kernel->nplaces; k++)
        if (ptx_is_dynamic_shared(&module->vars[places[k].var]) && places[k].offset_bytes < end)
            return "dynamic shared memory overlaps variables";
    return func->shared_bytes < end
               ? arena_printf(arena, "variables end at byte %llu of shared memory, the file has %u",
                              (unsigned long long)end, func->shared_bytes)
               : NULL;
}

/* Functions must find a variable where the kernel above has it. */
static void shared(const PtxModule *module, const SharedLayout *layout, const BinFunc *func,
                   ProveReport *report) {
    uint32_t index = ptx_find_func(module, func->name);
    if (!index || !module->funcs[index - 1].is_entry)
        return;
    Arena scratch = {0};
    bool *vars = ARENA_ARRAY(&scratch, bool, module->nvars + 1),
         *funcs = ARENA_ARRAY(&scratch, bool, module->nfuncs + 1);
    const char *fault = kernel_places(module, &layout->funcs[index - 1], func, &scratch);
    ptx_mark_reached(module, index - 1, true, vars, funcs);
    for (uint32_t f = 0; f < module->nfuncs && !fault; f++)
        for (uint32_t k = 0; k < layout->funcs[f].nplaces && funcs[f] && !fault; k++) {
            const SharedPlace *place = &layout->funcs[f].places[k];
            if (place->offset_bytes != ptx_shared_offset(layout, index - 1, place->var))
                fault = arena_printf(&scratch, "shared variable %s lies elsewhere in function %s",
                                     str_text(&module->strings, module->vars[place->var].name),
                                     str_text(&module->strings, module->funcs[f].name));
        }
    if (fault)
        fact(report, func->name, PROVE_UNKNOWN, 0, fault);
    arena_free(&scratch);
}

/* A lane's own word stands for the warp's in the proof of one lane: it must be the same in all of them. (The
 * loop that gathers lanes of different masks, in a routine, goes by the mask of one.) */
static void readings(const PtxModule *module, const BinFlow *flow, const bool *wanted,
                     const BinCheckReport *checked, ProveReport *report) {
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        for (uint32_t i = flow->funcs[f].first_inst;
             wanted[f] && i < flow->funcs[f].first_inst + flow->funcs[f].ninsts; i++) {
            char where[160];
            if (flow->decoded[i] && flow->insts[i].optype == OT_R2UR && checked->masks_vary[i] &&
                ptx_find_func(module, flow->bin->funcs[f].name))
                fact(report, flow->bin->funcs[f].name, PROVE_UNKNOWN, 0,
                     arena_printf(&report->arena, "a uniform register gets what may differ among lanes at %s",
                                  bin_where(flow, i, where)));
        }
}

static void rules(const PtxModule *module, const BinFlow *flow, const bool *wanted, const ProveMasks *masks,
                  ProveReport *report) {
    enum { MAX = 12 };
    BinCheckReport found;
    Arena scratch = {0};
    bool *watching = ARENA_ARRAY(&scratch, bool, flow->bin->ncode + 1);
    for (uint32_t k = 0; k < masks->watching.n; k++)
        watching[masks->watching.at[k]] = true;
    BinCheckOptions options = {.no_text = true, .watching = watching};
    unsigned said = 0;
    check_binary(flow, &options, &found);
    arena_free(&scratch);
    for (uint32_t k = 0; k < found.n && said < MAX; k++) {
        const BinFinding *finding = &found.findings[k];
        if (finding->severity == SEV_NOTE || (finding->severity == SEV_WARNING && finding->rule == CR_R04) ||
            (finding->func != BINFLOW_NONE && !wanted[finding->func]))
            continue;
        said++;
        fact(report, finding->func == BINFLOW_NONE ? NULL : flow->bin->funcs[finding->func].name,
             check_reserves_too_little(finding->rule) ? PROVE_REFUTED : PROVE_UNKNOWN, finding->ptx_line,
             arena_printf(&report->arena, "%s: %s", check_rule(finding->rule)->id, finding->text));
    }
    for (uint32_t k = 0; k < masks->waits.n && said < MAX; k++) {
        const ProveWait *wait = &masks->waits.at[k];
        if (!prove_masks_may_differ(flow, &found, masks, wait))
            continue;
        char where[160];
        said++;
        fact(report, flow->bin->funcs[wait->func].name, PROVE_UNKNOWN, wait->ptx_line,
             arena_printf(
                 &report->arena,
                 "lanes with different masks may wait at the WARPSYNC at %s, and do not gather before it",
                 bin_where(flow, wait->inst, where)));
    }
    readings(module, flow, wanted, &found, report);
    check_report_free(&found);
}

/* Where lanes meet that were asked together in a call nobody waits for ever, by the static check. */
static bool lanes_may_part(const BinFlow *flow, uint32_t func, const bool *below, const bool *entered) {
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        if (f == func || below[f])
            for (uint32_t i = flow->funcs[f].first_inst;
                 i < flow->funcs[f].first_inst + flow->funcs[f].ninsts; i++)
                switch (bin_kind(&flow->insts[i])) {
                case BK_BSSY:
                case BK_BSYNC:
                case BK_BREAK:
                case BK_BMOV_TO_B:
                case BK_YIELD:
                case BK_NANOSLEEP:
                case BK_BAR: return true;
                case BK_WARPSYNC:
                    if (!entered[i])
                        return true;
                    break;
                default: break;
                }
    return false;
}

/* Has the PTX a barrier that not all lanes of a warp execute together? */
static bool parts_warps(const PtxModule *module) {
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t i = 0; i < module->funcs[f].ninsns; i++) {
            const PtxInsn *insn = &module->funcs[f].insns[i];
            if (insn->op == PTX_BARRIER && !(insn->flags & PF_ALIGNED) && insn->sub2 != SUB_CLUSTER)
                return true;
        }
    return false;
}

static void models(const PtxModule *module, const BinFlow *flow, const bool *wanted, const ProveOptions *opt,
                   ProveReport *report) {
    ModelProgram *program = NULL;
    const bool *entered = check_entered_lanes(flow, &report->arena);
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++) {
        const BinFunc *func = &flow->bin->funcs[f];
        if (!func->is_entry || !wanted[f])
            continue;
        Arena scratch = {0};
        bool parts = lanes_may_part(flow, f, prove_functions_below(flow, func->name, &scratch), entered);
        arena_free(&scratch);
        if (!parts)
            continue;
        if (!program && !(program = model_program(flow))) {
            fact(report, NULL, PROVE_UNKNOWN, 0, "no memory for the model checker");
            return;
        }
        ModelResult result;
        model_check(program, f,
                    &(ModelOptions){.seconds = opt->total_seconds, .parted_barriers = parts_warps(module)},
                    &result);
        if (result.verdict != MODEL_PROVED)
            fact(report, func->name, PROVE_UNKNOWN, 0,
                 arena_printf(&report->arena, "model check, %s: %s", model_verdict_name(result.verdict),
                              result.nfindings            ? result.findings[0].text
                              : result.why && *result.why ? result.why
                                                          : "not everything was looked at"));
        model_result_free(&result);
    }
    model_program_free(program);
}

void prove_contents(const PtxModule *module, const SharedLayout *layout, const BinFlow *flow,
                    const ProveOptions *opt, ProveReport *report) {
    Arena scratch = {0};
    const bool *wanted = prove_functions_below(flow, opt->kernel, &scratch);
    contents(module, flow, opt, report);
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        if (wanted[f] && flow->bin->funcs[f].is_entry)
            shared(module, layout, &flow->bin->funcs[f], report);
    arena_free(&scratch);
}

void prove_meeting(const PtxModule *module, const BinFlow *flow, const ProveMasks *masks,
                   const ProveOptions *opt, ProveReport *report) {
    Arena scratch = {0};
    const bool *wanted = prove_functions_below(flow, opt->kernel, &scratch);
    rules(module, flow, wanted, masks, report);
    if (!opt->only_whether || !report->facts.n)
        models(module, flow, wanted, opt, report);
    arena_free(&scratch);
}

/* ---- refuted: from a kernel's entry ---- */

/* A difference, but none that is the order of threads: where both sides trap, each in another thread, they
 * may have gone through the threads in another order. */
static bool launch_differs(const Judgement *judgement) {
    const SimTrap *ptx = &judgement->diff.ptx_trap, *machine = &judgement->diff.machine_trap;
    bool both = ptx->kind != TRAP_NONE && machine->kind != TRAP_NONE,
         one = memcmp(ptx->block, machine->block, sizeof ptx->block) == 0 &&
               memcmp(ptx->thread, machine->thread, sizeof ptx->thread) == 0;
    return judgement->verdict == VERDICT_DIFFERS && (!both || one);
}

/* The value that is as wide as an element of the buffer, little end first. */
static unsigned long long shown_value(const DiffReport *diff, const uint8_t bytes[8]) {
    unsigned long long value = 0;
    for (unsigned k = 0; diff->type && k < diff->type->size_bytes && k < 8; k++)
        value |= (unsigned long long)bytes[k] << 8 * k;
    return value;
}

const char *prove_launch_shows(Arena *arena, const Judgement *judgement) {
    const DiffReport *diff = &judgement->diff;
    const SimTrap *trap = diff->machine_trap.kind != TRAP_NONE ? &diff->machine_trap : &diff->ptx_trap;
    const char *place = "an unknown place";
    if (!launch_differs(judgement))
        return NULL;
    if (trap->kind != TRAP_NONE)
        return arena_printf(arena, "block (%u,%u,%u), thread (%u,%u,%u): %s, in %s", trap->block[0],
                            trap->block[1], trap->block[2], trap->thread[0], trap->thread[1], trap->thread[2],
                            sim_trap_name(trap->kind), trap == &diff->machine_trap ? "machine" : "PTX");
    if (diff->memory_differs)
        place = arena_printf(arena, "%s, element %llu: PTX 0x%llx, machine 0x%llx", diff->buffer,
                             (unsigned long long)diff->element, shown_value(diff, diff->ptx_value),
                             shown_value(diff, diff->machine_value));
    if (diff->has_ptx_store)
        return arena_printf(arena, "block (%u,%u,%u), thread (%u,%u,%u): %s", diff->ptx_store_block[0],
                            diff->ptx_store_block[1], diff->ptx_store_block[2], diff->ptx_store_thread[0],
                            diff->ptx_store_thread[1], diff->ptx_store_thread[2], place);
    if (diff->has_machine_store)
        return arena_printf(arena, "block (%u,%u,%u), lane %u of warp %u: %s", diff->machine_block[0],
                            diff->machine_block[1], diff->machine_block[2], diff->machine_lane,
                            diff->machine_warp, place);
    return place;
}

static const char *launch_shows(Arena *arena, const PtxModule *module, const Binary *binary,
                                const char *kernel) {
    enum { SEEDS = 3 };
    const char *where = NULL;
    for (uint64_t seed = 1; seed <= SEEDS && !where; seed++) {
        JudgeOptions options = {.seed = seed};
        AutoLaunches launches = {0};
        Judgement judgement;
        judge_auto(module, binary, kernel, &options, &launches, &judgement);
        where = prove_launch_shows(arena, &judgement);
        bool tried = launches.nplans != 0;
        judgement_free(&judgement);
        auto_launch_free(&launches);
        if (!tried)
            break;
    }
    return where ? where : "";
}

static uint32_t function_index(const Binary *binary, const char *name) {
    const BinFunc *func = binary_find(binary, name);
    return func ? (uint32_t)(func - binary->funcs) : BINFLOW_NONE;
}

/* Is `kernel` one of PTX and binary, and may `func` run in it? */
static bool is_above(const ProveTrials *trials, uint32_t kernel, uint32_t func) {
    const BinFunc *bin = &trials->flow->bin->funcs[kernel];
    uint32_t index = bin->is_entry ? ptx_find_func(trials->module, bin->name) : 0;
    Arena scratch = {0};
    bool above = index && trials->module->funcs[index - 1].is_entry &&
                 prove_functions_below(trials->flow, bin->name, &scratch)[func];
    arena_free(&scratch);
    return above;
}

const char *prove_trials_show(ProveTrials *trials, uint32_t func) {
    const Binary *binary = trials->flow->bin;
    if (trials->none)
        return NULL;
    for (uint32_t k = 0; k < binary->nfuncs; k++) {
        if (!is_above(trials, k, func))
            continue;
        if (!trials->shown[k])
            trials->shown[k] = launch_shows(trials->arena, trials->module, binary, binary->funcs[k].name);
        if (*trials->shown[k])
            return trials->shown[k];
    }
    return NULL;
}

void prove_trials_shown(ProveTrials *trials, uint32_t func, const char *where) {
    trials->shown[func] = where;
}

/* A region that is unknown because of a difference that it names. */
static const ProveRegion *first_candidate(const ProveFunc *func) {
    for (uint32_t k = 0; k < func->nregions; k++)
        if (func->regions[k].status == PROVE_UNKNOWN && func->regions[k].candidate)
            return &func->regions[k];
    return NULL;
}

void prove_confirm(ProveTrials *trials, ProveReport *report) {
    Arena scratch = {0};
    for (uint32_t f = 0; f < report->nfuncs; f++) {
        ProveFunc *func = &report->funcs[f];
        uint32_t index = function_index(trials->flow->bin, func->name);
        const ProveRegion *candidate = first_candidate(func);
        if ((!func->count[PROVE_REFUTED] && !candidate) || index == BINFLOW_NONE)
            continue;
        func->shown = prove_trials_show(trials, index);
        if (func->shown) {
            if (!func->count[PROVE_REFUTED])
                fact(report, func->name, PROVE_REFUTED, candidate->bad_line,
                     arena_printf(&scratch,
                                  "a launch shows that machine and reference interpreter differ; what the "
                                  "region left open first, which need not be the cause: %s",
                                  candidate->reason));
            continue;
        }
        for (uint32_t k = 0; k < func->nregions; k++) {
            ProveRegion *region = &func->regions[k];
            if (region->status != PROVE_REFUTED)
                continue;
            region->status = PROVE_UNKNOWN;
            region->reason =
                arena_printf(&report->arena, "%s, but no launch that was tried shows it", region->reason);
            func->count[PROVE_REFUTED]--, func->count[PROVE_UNKNOWN]++;
            report->count[PROVE_REFUTED]--, report->count[PROVE_UNKNOWN]++;
            func->predicated[PROVE_REFUTED] -= region->predicated,
                func->predicated[PROVE_UNKNOWN] += region->predicated;
            report->predicated[PROVE_REFUTED] -= region->predicated;
            report->predicated[PROVE_UNKNOWN] += region->predicated;
        }
    }
    arena_free(&scratch);
}
