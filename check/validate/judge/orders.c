/* Orders of threads: see orders.h.
 *
 * The PTX runs again in other orders, and what these make of memory is kept (check/validate/judge/varying.h).
 * A machine's result is explained where it differs only in elements that orders change, and has there what
 * orders make of them. An element that has something else, and one that no order tried changes in a buffer in
 * which orders shuffle what is no sum (queues, lists, labels), may come of an order that was not tried if
 * threads communicate by memory: that is left open, unless orders of the PTX and turns of the binary's warps
 * and lanes each only arrange values anew, and these are not the same values.
 *
 * What sums in memory are made of is known (check/validate/judge/sums.h): where two runs added the same
 * numbers to a place, the second's sum is taken for the first's, so that nothing else is measured by their
 * rounding. SPDX-License-Identifier: MIT */
#include "check/validate/judge/orders.h"
#include "check/validate/search/auto_launch.h"
#include "check/validate/compare/moments.h"
#include "check/validate/judge/masks.h"
#include "check/validate/judge/sums.h"
#include "check/validate/judge/varying.h"

enum {
    FEW_ORDERS = 2,
    MORE_ORDERS = 64,
    ORDERS_SEEDS = 0x9e37 /* from one to the next */
};

static void drop_message(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* What orders of the PTX, and turns of the binary, make of memory, by allocation. */
typedef struct {
    Varying *ptx, *machine;
} Shuffled;

/* Does the binary have the values of the PTX, whatever their order? Not known where orders give others. */
static bool other_values(const Varying *ptx, const Varying *machine) {
    return ptx->permutes && machine->permutes && ptx->arranged != machine->arranged;
}

/* shuffled: NULL: not known. Where lanes may see of each other what they do not in the orders that were
 * tried, values that these do not have are left open, and none is too far away. */
static OrdersApart differs_where(const OrdersQuestion *question, Varying *varying, const Shuffled *shuffled) {
    OrdersApart apart = ORDERS_EXPLAIN;
    bool known = question->lanes == ORDERS_LANES_KNOWN, lost = question->lanes == ORDERS_LANES_LOST;
    for (uint32_t i = 0; i < question->ptx->nallocs; i++) {
        const SimAlloc *ptx = &question->ptx->allocs[i], *machine = &question->machine->allocs[i];
        if (question->skip[i])
            continue;
        VaryingFit fit = judge_varying_fits(&varying[i], ptx, machine);
        bool open = lost || (shuffled && (judge_varying_shuffles(&shuffled->ptx[i]) ||
                                          judge_varying_shuffles(&shuffled->machine[i])));
        if (fit == VARYING_AS_ORDERS)
            continue;
        if ((fit == VARYING_FAR && known) || (fit == VARYING_ELSEWHERE && !open) ||
            (shuffled && known && other_values(&shuffled->ptx[i], &shuffled->machine[i])))
            return ORDERS_DO_NOT;
        apart = ORDERS_LEAVE_OPEN;
    }
    return apart;
}

/* Of a memory before it is compared with others. */
static Varying *new_varying(const OrdersQuestion *question, const SimMemory *first) {
    Varying *varying = mem_zeroed(first->nallocs + 1u, sizeof(Varying));
    bool open = auto_sees_order(question->module, NULL) & AUTO_SEES_TIME;
    for (uint32_t i = 0; i < first->nallocs; i++)
        if (!question->skip[i])
            judge_varying_begin(&varying[i], plan_element_of(question->plan, first->allocs[i].address),
                                &first->allocs[i], open);
    return varying;
}

static void free_varying(const OrdersQuestion *question, Varying *varying) {
    for (uint32_t i = 0; i < question->ptx->nallocs; i++)
        judge_varying_free(&varying[i]);
    mem_free(varying);
}

/* What differs from `first` in another order; false if nothing does. */
static bool mark_varying(const OrdersQuestion *question, const SimMemory *first, const SimMemory *memory,
                         Varying *varying) {
    bool any = false;
    for (uint32_t i = 0; i < first->nallocs; i++)
        any |= !question->skip[i] && judge_varying_add(&varying[i], &first->allocs[i], &memory->allocs[i]);
    return any;
}

/* What the binary makes different where its warps and lanes take other turns; one that traps says nothing. */
static void try_machine(const OrdersQuestion *question, Varying *varying) {
    Diags quiet = {.sink = drop_message};
    for (unsigned i = 0; i < ORDERS_ENOUGH; i++) {
        MachineOptions options = *question->options;
        MachineResult result = {0};
        SimMemory *memory = simmem_clone(question->before);
        options.seed = i;
        options.lane_choice = i % 8 < 4 ? question->options->lane_choice : MACHINE_LANE_RANDOM;
        options.branch_order = i % 4 < 2 ? MACHINE_FALLTHROUGH_FIRST : MACHINE_TAKEN_FIRST;
        options.warp_order = i % 2 ? MACHINE_WARPS_DESCENDING : MACHINE_WARPS_ASCENDING;
        options.reached = NULL;
        options.trace = NULL;
        if (memory &&
            diff_run_machine(question->plan, question->launch, question->binary, memory, &options, &result,
                             &quiet) &&
            result.trap.kind == TRAP_NONE)
            (void)mark_varying(question, question->machine, memory, varying);
        machine_result_free(&result);
        if (memory)
            simmem_free(memory);
    }
}

/* One order of the PTX. (What activemask gives is no order, but `split` leaves it open like one.) False: it
 * traps. */
static bool run_order(const OrdersQuestion *question, uint64_t seed, bool split, SimMemory *memory,
                      JudgeSums *sums, PtxRunResult *result) {
    Diags quiet = {.sink = drop_message};
    PtxRunOptions run = {.seed = seed,
                         .lockstep = true, /* the first of them, where the machine's order matters */
                         .budget = question->budget,
                         .late_copies = question->late_copies,
                         .split_active = split,
                         .active = question->active,
                         .on_event = sums ? judge_sums_of_ptx : NULL,
                         .user = sums};
    return diff_run_ptx(question->plan, question->launch, question->module, memory, &run, result, &quiet) &&
           result->trap.kind == TRAP_NONE;
}

/* What orders alone make different in the PTX. */
static void try_ptx(const OrdersQuestion *question, Varying *varying) {
    for (unsigned i = 0; i < ORDERS_ENOUGH; i++) {
        PtxRunResult result = {0};
        SimMemory *memory = simmem_clone(question->before);
        if (memory && run_order(question, 1 + i * ORDERS_SEEDS, false, memory, NULL, &result))
            (void)mark_varying(question, question->ptx, memory, varying);
        if (memory)
            simmem_free(memory);
    }
}

/* The machine's run once more, watched. */
static bool watch_machine(const OrdersQuestion *question, MachineTraceFn *trace, void *user) {
    Diags quiet = {.sink = drop_message};
    if (question->other->engine != DIFF_MACHINE)
        return false;
    MachineOptions options =
        question->other_moments ? diff_other_moments(question->options) : *question->options;
    options.reached = NULL;
    options.trace = trace;
    options.trace_user = user;
    options.trace_no_text = true;
    MachineResult result = {0};
    SimMemory *again = simmem_clone(question->before);
    bool ran = again &&
               diff_run_machine(question->plan, question->launch, question->binary, again, &options, &result,
                                &quiet) &&
               result.trap.kind == TRAP_NONE;
    machine_result_free(&result);
    if (again)
        simmem_free(again);
    return ran;
}

/* ---- sums ---- */

/* What the PTX added in its first order: that of a run like it. NULL: the module adds nothing. */
static JudgeSums *first_sums(const OrdersQuestion *question) {
    Diags quiet = {.sink = drop_message};
    if (!judge_sums_occur(question->module))
        return NULL;
    JudgeSums *sums = judge_sums_new(question->before);
    PtxRunOptions run = {.budget = question->budget,
                         .late_copies = question->late_copies,
                         .on_event = judge_sums_of_ptx,
                         .user = sums};
    PtxRunResult result = {0};
    SimMemory *memory = simmem_clone(question->before);
    if (memory) {
        (void)diff_run_ptx(question->plan, question->launch, question->module, memory, &run, &result, &quiet);
        simmem_free(memory);
    }
    return sums;
}

/* The machine's memory, with the PTX's sums where it added the same. NULL: there are none. */
static SimMemory *level_machine(const OrdersQuestion *question, const JudgeSums *first) {
    if (!first || question->equal)
        return NULL;
    JudgeSums *sums = judge_sums_new(question->before);
    SimMemory *level = simmem_clone(question->machine);
    bool any = level && watch_machine(question, judge_sums_of_machine, sums) &&
               judge_sums_level(first, question->ptx, sums, level, question->skip);
    judge_sums_free(sums);
    if (any || !level)
        return level;
    simmem_free(level);
    return NULL;
}

/* ---- which lanes are active ---- */

/* The PTX in its first order, where the machine's lanes are active together. NULL: it was not tried, or
 * traps. */
static SimMemory *follow_machine(const OrdersQuestion *question, const JudgeMasks *masks,
                                 const JudgeSums *first, bool *all_given) {
    PtxRunResult result = {0};
    JudgeSums *sums = first ? judge_sums_new(question->before) : NULL;
    SimMemory *memory = simmem_clone(question->before);
    bool ran = memory && run_order(question, 0, false, memory, sums, &result);
    if (ran && sums)
        (void)judge_sums_level(first, question->ptx, sums, memory, question->skip);
    judge_sums_free(sums);
    *all_given = ran && judge_masks_all_given(masks, &result);
    if (ran || !memory)
        return memory;
    simmem_free(memory);
    return NULL;
}

/* Order i of n; true if it gives another result than the first. */
static bool try_order(const OrdersQuestion *question, unsigned i, const JudgeSums *first, Varying *varying,
                      Orders *orders) {
    MemDiff diff;
    JudgeSums *sums = first ? judge_sums_new(question->before) : NULL;
    PtxRunResult result = {0};
    SimMemory *memory = simmem_clone(question->before);
    bool equal = question->equal,
         ran = run_order(question, i || equal ? 1 + i * ORDERS_SEEDS : 0, !equal, memory, sums, &result);
    if (ran && sums)
        orders->sums |= judge_sums_level(first, question->ptx, sums, memory, question->skip);
    bool differs = !ran || mark_varying(question, question->ptx, memory, varying);
    orders->different += differs;
    orders->one_is_it |= ran && diff_memory(memory, question->machine, question->skip, &diff);
    simmem_free(memory);
    judge_sums_free(sums);
    return differs;
}

static void try_orders(const OrdersQuestion *question, const JudgeSums *first, Orders *orders) {
    Varying *varying = new_varying(question, question->ptx);
    bool equal = question->equal;
    unsigned n = question->orders ? question->orders : FEW_ORDERS;
    if (!equal && n < MORE_ORDERS && auto_communicates(question->module))
        n = MORE_ORDERS; /* a sum's last bit may be the same in most orders */
    for (unsigned i = 0; i < n; i++) {
        bool differs = try_order(question, i, first, varying, orders);
        if (differs && !equal && !orders->one_is_it && n < MORE_ORDERS)
            n = MORE_ORDERS; /* what varies must be known well */
        orders->apart = equal ? ORDERS_EXPLAIN : differs_where(question, varying, NULL);
        if (!equal && orders->different && orders->apart == ORDERS_EXPLAIN && i + 1 >= ORDERS_ENOUGH)
            break;
    }
    if (orders->different && orders->apart != ORDERS_EXPLAIN && question->other->engine == DIFF_MACHINE &&
        auto_communicates(question->module)) {
        Shuffled shuffled = {.ptx = new_varying(question, question->ptx),
                             .machine = new_varying(question, question->machine)};
        try_ptx(question, shuffled.ptx);
        try_machine(question, shuffled.machine);
        orders->apart = differs_where(question, varying, &shuffled);
        free_varying(question, shuffled.ptx);
        free_varying(question, shuffled.machine);
    }
    free_varying(question, varying);
}

/* question->ptx becomes the run in which the machine's lanes are active together, where there is one. */
static SimMemory *take_masks(OrdersQuestion *question, JudgeMasks *masks, const JudgeSums *first) {
    bool all_given = false;
    unsigned sees = auto_sees_order(question->module, NULL);
    question->lanes = sees & (AUTO_SEES_ACTIVE | AUTO_SEES_OTHERS) ? ORDERS_LANES_OPEN : ORDERS_LANES_KNOWN;
    if (question->equal || !(sees & AUTO_SEES_ACTIVE) ||
        !watch_machine(question, judge_masks_of_machine, masks) ||
        !(question->active = judge_masks_active(masks)))
        return NULL;
    SimMemory *memory = follow_machine(question, masks, first, &all_given);
    if (memory)
        question->ptx = memory;
    if (!all_given)
        question->lanes = ORDERS_LANES_LOST;
    else if (!(sees & AUTO_SEES_OTHERS) && !auto_communicates(question->module))
        question->lanes = ORDERS_LANES_KNOWN;
    return memory;
}

Orders judge_try_orders(const OrdersQuestion *question) {
    Orders orders = {.apart = ORDERS_DO_NOT};
    OrdersQuestion level = *question;
    MemDiff diff;
    JudgeSums *sums = first_sums(question);
    JudgeMasks *masks = judge_masks_new(question->launch->grid, question->launch->block);
    SimMemory *machine = level_machine(question, sums), *followed;
    if (machine) {
        orders.sums = true;
        level.machine = machine;
        level.equal = diff_memory(level.ptx, machine, level.skip, &diff);
    }
    followed = take_masks(&level, masks, sums);
    if (followed && diff_memory(followed, level.machine, level.skip, &diff))
        orders = (Orders){
            .different = 1, .one_is_it = true, .active = true, .sums = orders.sums, .apart = ORDERS_EXPLAIN};
    else
        try_orders(&level, sums, &orders);
    judge_sums_free(sums);
    judge_masks_free(masks);
    if (machine)
        simmem_free(machine);
    if (followed)
        simmem_free(followed);
    return orders;
}
