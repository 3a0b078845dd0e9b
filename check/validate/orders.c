/* Orders of threads: see orders.h.
 *
 * The PTX runs again in other orders, and what they change is kept by byte. A machine's result is explained
 * where it differs only there. A sum of floating-point numbers differs in its last bits as a whole element,
 * and may do so by as much as others of its buffer. Of what differs elsewhere something else is the cause,
 * but where threads communicate by memory it may come of an order that was not tried, if it is in a buffer in
 * which orders shuffle what is no sum (queues, lists, labels): of the PTX, or of the binary when its warps
 * and lanes take other turns. SPDX-License-Identifier: MIT */
#include "check/validate/orders.h"
#include "check/validate/auto_launch.h"
#include <math.h>
#include <string.h>

enum {
    FEW_ORDERS = 2,
    MORE_ORDERS = 64,
    ORDERS_SEEDS = 0x9e37, /* from one to the next */
    MOST_ULPS = 64
};

/* What orders of threads make different, by allocation. */
typedef struct {
    uint8_t *bytes; /* 1 for a byte that differs in one of them; NULL: none does */
    uint64_t
        ulps;  /* of its floating-point elements: the furthest that one moves an element, at most MOST_ULPS */
    bool sums; /* none is moved further: they are sums, and an element further away is another one */
} Varying;

static void drop_message(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* The elements of a buffer; else NULL. */
static const Scalar *element_of(const OrdersQuestion *question, const SimAlloc *alloc) {
    for (uint32_t i = 0; i < question->plan->buffers.n; i++)
        if (question->plan->buffers.at[i].address == alloc->address)
            return question->plan->buffers.at[i].type;
    return NULL;
}

static void keep_ulps(const Scalar *type, const SimAlloc *alloc, const SimAlloc *other, Varying *varying) {
    for (uint64_t at = 0; at + type->size_bytes <= alloc->size_bytes; at += type->size_bytes) {
        uint64_t ulps = memcmp(alloc->data + at, other->data + at, type->size_bytes) == 0
                            ? 0
                            : scalar_ulps(type, alloc->data + at, other->data + at);
        if (ulps <= MOST_ULPS && ulps > varying->ulps)
            varying->ulps = ulps;
        varying->sums &= ulps <= MOST_ULPS;
    }
}

/* What differs from `first` in another order; false if nothing does. */
static bool mark_varying(const OrdersQuestion *question, const SimMemory *first, const SimMemory *memory,
                         Varying *varying) {
    bool any = false;
    for (uint32_t i = 0; i < first->nallocs; i++) {
        const SimAlloc *alloc = &first->allocs[i], *other = &memory->allocs[i];
        const Scalar *type = element_of(question, alloc);
        if (question->skip[i] || memcmp(alloc->data, other->data, alloc->size_bytes) == 0)
            continue;
        any = true;
        if (!varying[i].bytes) {
            varying[i].bytes = mem_zeroed(alloc->size_bytes, 1);
            varying[i].sums = type && type->kind == 'f';
        }
        for (uint64_t k = 0; k < alloc->size_bytes; k++)
            varying[i].bytes[k] |= alloc->data[k] != other->data[k];
        if (type && type->kind == 'f')
            keep_ulps(type, alloc, other, &varying[i]);
    }
    return any;
}

static bool is_shuffled(const Varying *varying) { return varying->bytes && !varying->sums; }

/* Two sums that are both out of range, or no number: which of infinity and NaN they come to follows from when
 * the largest addends meet, which a few orders need not show. */
static bool overflow(const Scalar *type, const uint8_t *a, const uint8_t *b) {
    return type && type->kind == 'f' && !isfinite(scalar_value(type, a)) && !isfinite(scalar_value(type, b));
}

/* A sum that depends on the order does so as a whole element. One that no order tried moves may still be as
 * near to the PTX's as others of its buffer come: a rounding that few orders show. shuffled: what orders
 * alone change, of the PTX and of the binary; NULL: not known. */
static OrdersApart differs_where(const OrdersQuestion *question, const Varying *varying,
                                 const Varying *shuffled) {
    OrdersApart apart = ORDERS_EXPLAIN;
    for (uint32_t i = 0; i < question->ptx->nallocs; i++) {
        const SimAlloc *ptx = &question->ptx->allocs[i], *machine = &question->machine->allocs[i];
        const Scalar *type = element_of(question, ptx);
        uint64_t step = type ? type->size_bytes : 1;
        for (uint64_t at = 0; !question->skip[i] && at < ptx->size_bytes; at += step) {
            uint64_t size = ptx->size_bytes - at < step ? ptx->size_bytes - at : step;
            if (memcmp(ptx->data + at, machine->data + at, size) == 0)
                continue;
            bool varies = varying[i].bytes && memchr(varying[i].bytes + at, 1, size);
            bool near = varying[i].ulps && size == step &&
                        scalar_ulps(type, ptx->data + at, machine->data + at) <= varying[i].ulps;
            if (varies || near)
                continue;
            if (!(shuffled && is_shuffled(&shuffled[i])) &&
                !(varying[i].bytes && overflow(type, ptx->data + at, machine->data + at)))
                return ORDERS_DO_NOT;
            apart = ORDERS_LEAVE_OPEN;
        }
    }
    return apart;
}

static Varying *new_varying(const OrdersQuestion *question) {
    return mem_zeroed(question->ptx->nallocs + 1u, sizeof(Varying));
}

static void free_varying(const OrdersQuestion *question, Varying *varying) {
    for (uint32_t i = 0; i < question->ptx->nallocs; i++)
        mem_free(varying[i].bytes);
    mem_free(varying);
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
static bool run_order(const OrdersQuestion *question, uint64_t seed, bool split, SimMemory *memory) {
    Diags quiet = {.sink = drop_message};
    PtxRunOptions run = {.seed = seed,
                         .lockstep = true, /* the first of them, where the machine's order matters */
                         .budget = question->budget,
                         .split_active = split};
    PtxRunResult result = {0};
    return diff_run_ptx(question->plan, question->launch, question->module, memory, &run, &result, &quiet) &&
           result.trap.kind == TRAP_NONE;
}

/* What orders alone make different in the PTX. */
static void try_ptx(const OrdersQuestion *question, Varying *varying) {
    for (unsigned i = 0; i < ORDERS_ENOUGH; i++) {
        SimMemory *memory = simmem_clone(question->before);
        if (memory && run_order(question, 1 + i * ORDERS_SEEDS, false, memory))
            (void)mark_varying(question, question->ptx, memory, varying);
        if (memory)
            simmem_free(memory);
    }
}

Orders judge_try_orders(const OrdersQuestion *question) {
    Orders orders = {.apart = ORDERS_DO_NOT};
    Varying *varying = new_varying(question);
    bool equal = question->equal;
    unsigned n = question->orders ? question->orders : FEW_ORDERS;
    if (!equal && n < MORE_ORDERS && auto_communicates(question->module))
        n = MORE_ORDERS; /* a sum's last bit may be the same in most orders */
    MemDiff diff;
    for (unsigned i = 0; i < n; i++) {
        SimMemory *memory = simmem_clone(question->before);
        bool ran = run_order(question, i || equal ? 1 + i * ORDERS_SEEDS : 0, !equal, memory),
             differs = !ran || mark_varying(question, question->ptx, memory, varying);
        orders.different += differs;
        orders.one_is_it |= ran && diff_memory(memory, question->machine, question->skip, &diff);
        simmem_free(memory);
        if (differs && !equal && !orders.one_is_it && n < MORE_ORDERS)
            n = MORE_ORDERS; /* what varies must be known well */
        orders.apart = equal ? ORDERS_EXPLAIN : differs_where(question, varying, NULL);
        if (!equal && orders.different && orders.apart == ORDERS_EXPLAIN && i + 1 >= ORDERS_ENOUGH)
            break;
    }
    if (orders.different && orders.apart == ORDERS_DO_NOT && question->other->engine == DIFF_MACHINE &&
        auto_communicates(question->module)) {
        Varying *shuffled = new_varying(question);
        try_ptx(question, shuffled);
        try_machine(question, shuffled);
        orders.apart = differs_where(question, varying, shuffled);
        free_varying(question, shuffled);
    }
    free_varying(question, varying);
    return orders;
}
