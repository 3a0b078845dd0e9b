/* Where a lane's executions part, for a binary without a map: the relation between registers is found by
 * value.
 *
 * From the statement that stored the differing value the PTX's data flow is followed back through values that
 * no register of the machine's lane ever held, to the first statement whose operands the machine still had.
 * Between the instruction that last gave one of these operands and the store lies the error: the first
 * instruction that reads the operand and writes a value that no PTX register held is named. Compilers fuse
 * and reorder, so statements whose results are fused away lie in between as well, but what follows them
 * agrees again.
 *
 * Small numbers are held by some register anyway. Where that hides the error, the way goes back from the
 * store on both sides at once, as long as one operand of each has no equal on the other.
 * SPDX-License-Identifier: MIT */
#include "check/validate/compare/lane_internal.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SOURCES = 6 };

typedef VEC(uint32_t) Values;
typedef struct {
    LaneTrace *trace;
    uint32_t nptx, nmachine;           /* steps that are looked at */
    Values ptx, machine;               /* 32-bit values that registers held, ascending */
    uint32_t (*sources)[MOST_SOURCES]; /* by PTX step: steps + 1 that gave its operands */
    uint8_t *seen;
} Search;

/* ---- values ---- */

static int ascending(const void *a, const void *b) {
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return one < other ? -1 : one > other;
}
static bool has(const Values *values, uint32_t value) {
    return values->n && bsearch(&value, values->at, values->n, sizeof value, ascending) != NULL;
}
static void sort(Values *values) {
    if (values->n)
        qsort(values->at, values->n, sizeof *values->at, ascending);
}

static void collect(Search *search) {
    LaneTrace *trace = search->trace;
    for (uint32_t i = 0; i < search->nptx; i++)
        for (unsigned k = 0; trace->ptx.at[i].executed && k < trace->ptx.at[i].n; k++)
            for (unsigned half = 0; half < 2; half++)
                VEC_ADD(&trace->own, &search->ptx, (uint32_t)(trace->ptx.at[i].value[k] >> (32 * half)));
    for (uint32_t i = 0; i < search->nmachine; i++)
        for (unsigned k = 0; k < trace->machine.at[i].n; k++)
            VEC_ADD(&trace->own, &search->machine, trace->machine.at[i].value[k]);
    sort(&search->ptx);
    sort(&search->machine);
}

static const PtxInsn *insn_of(const Search *search, uint32_t step) {
    const LanePtx *at = &search->trace->ptx.at[step];
    return &search->trace->question->m->funcs[at->func].insns[at->insn];
}

/* Did the machine have the step's results? What has fewer bits than a register, and addresses of local
 * memory, need not be there as they are. */
static bool is_had(const Search *search, uint32_t step) {
    const LanePtx *at = &search->trace->ptx.at[step];
    const PtxFunc *f = &search->trace->question->m->funcs[at->func];
    bool had = true;
    for (unsigned k = 0; had && k < at->n; k++)
        for (unsigned half = 0; had && half < 2; half++)
            had = lane_component_mask(f, at->reg[k], half) != UINT32_MAX ||
                  lane_own_values(search->trace, at->func)[at->reg[k]] ||
                  has(&search->machine, (uint32_t)(at->value[k] >> (32 * half)));
    return had;
}

/* ---- data flow ---- */

typedef struct {
    uint32_t **last; /* by function and register: step + 1 */
    uint32_t step;
    unsigned n;
} Links;

static void link_operand(Search *search, Links *links, const uint32_t *last, const PtxOperand *operand) {
    if ((operand->kind == PO_REG || operand->kind == PO_ADDR) && operand->reg && last[operand->reg] &&
        links->n < MOST_SOURCES)
        search->sources[links->step][links->n++] = last[operand->reg];
    for (unsigned i = 0; operand->kind == PO_VEC && i < operand->nvec; i++)
        link_operand(search, links, last, &operand->vec[i]);
}

static void link_steps(Search *search) {
    LaneTrace *trace = search->trace;
    Links links = {.last = ARENA_ARRAY(&trace->own, uint32_t *, trace->question->m->nfuncs + 1)};
    for (uint32_t i = 0; i < search->nptx; i++) {
        const LanePtx *at = &trace->ptx.at[i];
        const PtxFunc *f = &trace->question->m->funcs[at->func];
        uint32_t **last = &links.last[at->func];
        if (!*last)
            *last = ARENA_ARRAY(&trace->own, uint32_t, f->nregs + 1);
        links.step = i, links.n = 0;
        const PtxInsn *in = &f->insns[at->insn];
        for (unsigned k = in->ndst; at->executed && k < in->noperands; k++)
            link_operand(search, &links, *last, &in->operands[k]);
        for (unsigned k = 0; at->executed && k < at->n; k++)
            (*last)[at->reg[k]] = i + 1;
    }
}

/* The earliest step that the machine lacks although it had the operands, among those that lead to `step`. */
static uint32_t earliest(Search *search, uint32_t step) {
    Values open = {0};
    uint32_t best = UINT32_MAX;
    VEC_ADD(&search->trace->own, &open, step);
    while (open.n) {
        uint32_t at = open.at[--open.n];
        bool whole = true, any = false;
        for (unsigned k = 0; k < MOST_SOURCES && search->sources[at][k]; k++) {
            uint32_t source = search->sources[at][k] - 1;
            any = true;
            if (is_had(search, source))
                continue;
            whole = false;
            if (!search->seen[source])
                VEC_ADD(&search->trace->own, &open, source);
            search->seen[source] = 1;
        }
        if (at != step && whole && any && at < best)
            best = at;
    }
    return best;
}

/* The earliest step of all that the machine lacks although it had the operands, and from which nothing was
 * computed that it did have. (What is fused or folded away is lacking too, but what comes of it is there.) It
 * may lie before those that lead to the store, where another way was taken because of it. */
static uint32_t earliest_of_all(const Search *search) {
    enum { HAD = 1, USED = 2, LED_ON = 4 }; /* results had; computed with; of what came of it some is had */
    uint8_t *of = ARENA_ARRAY(&search->trace->own, uint8_t, search->nptx);
    for (uint32_t i = search->nptx; i-- > 0;) {
        const LanePtx *at = &search->trace->ptx.at[i];
        const PtxFunc *f = &search->trace->question->m->funcs[at->func];
        bool counts = at->n && lane_component_mask(f, at->reg[0], 0) == UINT32_MAX; /* not a predicate */
        of[i] |= is_had(search, i) ? HAD : 0;
        for (unsigned k = 0; counts && k < MOST_SOURCES && search->sources[i][k]; k++)
            of[search->sources[i][k] - 1] |= of[i] & (HAD | LED_ON) ? USED | LED_ON : USED;
    }
    for (uint32_t i = 0; i < search->nptx; i++) {
        bool whole = search->sources[i][0] != 0;
        for (unsigned k = 0; k < MOST_SOURCES && search->sources[i][k]; k++)
            whole &= (of[search->sources[i][k] - 1] & HAD) != 0;
        if (whole && of[i] == USED)
            return i;
    }
    return UINT32_MAX;
}

/* ---- the machine's side ---- */

static bool reads(const LaneTrace *trace, uint32_t step, unsigned file, unsigned reg) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    const Target *target = trace->question->b->target;
    if (!isa_decode(target, trace->question->b->code[trace->machine.at[step].index], &in, error))
        return false;
    for (unsigned i = 0; i < in.nsrc; i++) {
        unsigned regs = isa_src_regs(target, &in, i);
        if (in.src[i].kind == OPK_REG && in.src[i].file == file && reg >= in.src[i].value &&
            reg < in.src[i].value + (regs ? regs : 1))
            return true;
    }
    return false;
}

typedef struct {
    uint32_t common, wrong; /* machine steps, UINT32_MAX: none */
    unsigned result;        /* of wrong: which of its values */
    uint32_t value;
} Place;

/* After the machine had this value: the first instruction that reads it and makes of it what the PTX never
 * had. */
static void follow(const Search *search, uint32_t value, Place *place) {
    const LaneTrace *trace = search->trace;
    for (uint32_t i = search->nmachine; i-- > 0;) {
        const LaneMachine *at = &trace->machine.at[i];
        unsigned k = 0;
        while (k < at->n && at->value[k] != value)
            k++;
        if (k == at->n)
            continue;
        if (place->common == UINT32_MAX || i > place->common)
            place->common = i, place->value = value;
        for (uint32_t next = i + 1; next < search->nmachine && next < place->wrong; next++) {
            const LaneMachine *step = &trace->machine.at[next];
            bool mine = reads(trace, next, at->file[k], at->reg[k]), ends = false;
            for (unsigned r = 0; r < step->n; r++) {
                ends |= step->file[r] == at->file[k] && step->reg[r] == at->reg[k];
                if (mine && step->file[r] != RF_P && step->file[r] != RF_UP &&
                    !has(&search->ptx, step->value[r]))
                    place->wrong = next, place->result = r, place->common = i, place->value = value;
            }
            if (ends || place->wrong == next)
                break;
        }
        if (place->wrong != UINT32_MAX)
            return;
    }
}

static void describe(Search *search, uint32_t step, LaneDiff *diff) {
    LaneTrace *trace = search->trace;
    const LanePtx *at = &trace->ptx.at[step];
    const PtxFunc *f = &trace->question->m->funcs[at->func];
    const PtxInsn *in = insn_of(search, step);
    Place place = {.common = UINT32_MAX, .wrong = UINT32_MAX};
    diff->by_values = true;
    diff->statement = lane_statement_text(trace, in);
    diff->line = ptx_line(trace->question->m, in);
    diff->ptx_reg = at->n ? str_text(&trace->question->m->strings, f->regs[at->reg[0]].name) : "?";
    diff->ptx_value = at->n ? at->value[0] : 0;
    for (unsigned k = 0; k < MOST_SOURCES && search->sources[step][k]; k++) {
        const LanePtx *source = &trace->ptx.at[search->sources[step][k] - 1];
        if (source->n && lane_component_mask(f, source->reg[0], 0) == UINT32_MAX)
            follow(search, (uint32_t)source->value[0], &place);
    }
    if (place.common != UINT32_MAX) {
        const BinFunc *func =
            lane_func_of(trace, trace->machine.at[place.common].index, &diff->common_pc_bytes);
        diff->func = func ? func->name : "?";
        diff->common = lane_instruction_text(trace, trace->machine.at[place.common].index);
        diff->common_value = place.value;
    }
    if (place.wrong != UINT32_MAX) {
        const LaneMachine *wrong = &trace->machine.at[place.wrong];
        lane_func_of(trace, wrong->index, &diff->pc_bytes);
        diff->instruction = lane_instruction_text(trace, wrong->index);
        diff->machine_reg = lane_reg_text(trace, wrong->file[place.result], wrong->reg[place.result]);
        diff->machine_value = wrong->value[place.result];
    }
}

/* ---- from the store back, both sides at once ---- */

enum { MOST_READ = 16 };
typedef struct { /* registers that an instruction reads, with their values then */
    uint32_t writer[MOST_READ], value[MOST_READ]; /* machine step that wrote it */
    unsigned result[MOST_READ], n;                /* which of its values */
} Read;

static void add_read(const LaneTrace *trace, uint32_t step, unsigned file, unsigned reg, Read *read) {
    for (uint32_t i = step; i-- > 0;)
        for (unsigned k = 0; k < trace->machine.at[i].n; k++)
            if (trace->machine.at[i].file[k] == file && trace->machine.at[i].reg[k] == reg) {
                if (read->n == MOST_READ)
                    return;
                read->writer[read->n] = i;
                read->result[read->n] = k;
                read->value[read->n++] = trace->machine.at[i].value[k];
                return;
            }
}

/* Of vector and uniform registers; of a store only that of the last operand which goes to the address, for
 * what it stores is aligned. */
static Read registers_read(const LaneTrace *trace, uint32_t step, bool store) {
    const Target *target = trace->question->b->target;
    MachInst in;
    char error[ISA_ERROR_BYTES];
    Read read = {.n = 0};
    if (!isa_decode(target, trace->question->b->code[trace->machine.at[step].index], &in, error))
        return read;
    bool done = false;
    for (unsigned i = in.nsrc; i-- > 0 && !(store && done);) {
        unsigned file = in.src[i].file, regs = isa_src_regs(target, &in, i);
        if (in.src[i].kind != OPK_REG || (file != RF_R && file != RF_UR))
            continue;
        regs = regs ? regs : 1;
        unsigned first = store ? (unsigned)(trace->question->address / 4 % regs) : 0;
        for (unsigned k = first; k < (store ? first + 1 : regs); k++)
            add_read(trace, step, file, in.src[i].value + k, &read);
        done = file == RF_R;
    }
    return read;
}

static bool reads_value(const Read *read, uint32_t value) {
    for (unsigned k = 0; k < read->n; k++)
        if (read->value[k] == value)
            return true;
    return false;
}

static bool is_narrow(const Search *search, uint32_t step) {
    const LanePtx *at = &search->trace->ptx.at[step];
    return !at->n ||
           lane_component_mask(&search->trace->question->m->funcs[at->func], at->reg[0], 0) != UINT32_MAX;
}

static bool gave(const Search *search, const uint32_t sources[MOST_SOURCES], uint32_t value) {
    for (unsigned k = 0; k < MOST_SOURCES && sources[k]; k++) {
        const LanePtx *at = &search->trace->ptx.at[sources[k] - 1];
        for (unsigned r = 0; r < at->n; r++)
            if ((uint32_t)at->value[r] == value || (uint32_t)(at->value[r] >> 32) == value)
                return true;
    }
    return false;
}

/* The statements that gave what the step stores: those of its sources that are no address. */
static void stored_sources(const Search *search, uint32_t step, uint32_t out[MOST_SOURCES]) {
    const PtxInsn *in = insn_of(search, step);
    unsigned address =
        in->noperands > in->ndst && in->operands[in->ndst].kind == PO_ADDR && in->operands[in->ndst].reg;
    for (unsigned k = 0; k < MOST_SOURCES; k++)
        out[k] = k + address < MOST_SOURCES ? search->sources[step][k + address] : 0;
}

/* One statement and one instruction that gave what is not the same on both sides. */
static bool one_each(const Search *search, const uint32_t sources[MOST_SOURCES], const Read *read,
                     uint32_t *step, unsigned *at) {
    unsigned nptx = 0, nmachine = 0;
    for (unsigned k = 0; k < MOST_SOURCES && sources[k]; k++) {
        const LanePtx *source = &search->trace->ptx.at[sources[k] - 1];
        bool counted = nptx && *step == sources[k] - 1; /* it gave two of the operands */
        if (!counted && !is_narrow(search, sources[k] - 1) && !reads_value(read, (uint32_t)source->value[0]))
            *step = sources[k] - 1, nptx++;
    }
    for (unsigned k = 0; k < read->n; k++)
        if (!gave(search, sources, read->value[k]))
            *at = k, nmachine++;
    return nptx == 1 && nmachine == 1;
}

/* Values that are common, as 0 and 1 are, are held by some register anyway. But what is stored differs, and
 * so do what gave it on both sides, as far back as one operand of each has no equal on the other. */
static uint32_t from_store(const Search *search, LaneDiff *diff) {
    LaneTrace *trace = search->trace;
    uint32_t sources[MOST_SOURCES], found = UINT32_MAX, machine = search->nmachine - 1, step = 0;
    unsigned at = 0, result = 0;
    const LanePtx *last = &trace->ptx.at[search->nptx - 1];
    if (!trace->machine.at[machine].stores_there || !last->executed || !last->writes ||
        trace->question->address - last->address >= last->access_bytes)
        return UINT32_MAX;
    stored_sources(search, search->nptx - 1, sources);
    Read read = registers_read(trace, machine, true);
    while (one_each(search, sources, &read, &step, &at)) {
        found = step;
        machine = read.writer[at];
        result = read.result[at];
        memcpy(sources, search->sources[step], sizeof sources);
        read = registers_read(trace, machine, false);
    }
    if (found == UINT32_MAX)
        return found;
    const LanePtx *ptx = &trace->ptx.at[found];
    const LaneMachine *wrong = &trace->machine.at[machine];
    const PtxInsn *in = insn_of(search, found);
    diff->statement = lane_statement_text(trace, in);
    diff->line = ptx_line(trace->question->m, in);
    diff->ptx_reg =
        str_text(&trace->question->m->strings, trace->question->m->funcs[ptx->func].regs[ptx->reg[0]].name);
    diff->ptx_value = ptx->value[0];
    const BinFunc *func = lane_func_of(trace, wrong->index, &diff->pc_bytes);
    diff->func = func ? func->name : "?";
    diff->instruction = lane_instruction_text(trace, wrong->index);
    diff->machine_reg = lane_reg_text(trace, wrong->file[result], wrong->reg[result]);
    diff->machine_value = wrong->value[result];
    return found;
}

uint32_t lane_values_part(LaneTrace *trace, uint32_t last_ptx, uint32_t last_machine, LaneDiff *diff) {
    Search search = {.trace = trace,
                     .nptx = last_ptx < trace->ptx.n ? last_ptx + 1 : trace->ptx.n,
                     .nmachine = last_machine < trace->machine.n ? last_machine + 1 : trace->machine.n};
    if (!search.nptx || !search.nmachine)
        return UINT32_MAX;
    search.sources = arena_alloc(&trace->own, search.nptx * sizeof *search.sources);
    memset(search.sources, 0, search.nptx * sizeof *search.sources);
    search.seen = ARENA_ARRAY(&trace->own, uint8_t, search.nptx);
    collect(&search);
    link_steps(&search);
    uint32_t step = earliest(&search, search.nptx - 1), other = earliest_of_all(&search);
    step = other < step ? other : step;
    if (step != UINT32_MAX)
        describe(&search, step, diff);
    return step != UINT32_MAX ? step : from_store(&search, diff);
}
