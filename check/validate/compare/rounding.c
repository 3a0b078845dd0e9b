/* Differences by rounding: see rounding.h.
 *
 * The PTX is run again as other compilers may have made it: products fused into sums, .approx results at the
 * ends of their bounds, NaNs of which neg and abs change the sign alone. A result that has the bits of one of
 * these runs is explained. One of a floating-point buffer that has the bits of none may come from a mixture
 * of them (each sum may fuse another product): it is explained if it is no further from the PTX's result than
 * a few times what the runs move it. So where nothing is left to the compiler every bit counts, and a wrong
 * constant or operation, which moves a result further, differs. Where atomics add floating-point numbers some
 * runs take another order of threads: a sum is of numbers that rounded otherwise, and rounds otherwise
 * itself. Steps that each depend on the last may move a result by more than the few runs do: one that is no
 * further away than these move another of its buffer shows nothing. SPDX-License-Identifier: MIT
 */
#include "check/validate/compare/rounding.h"
#include "check/validate/compare/diff.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 11, SPREAD_FACTOR = 4 };
static const double SMALL = 0x1p-10; /* by the number itself: what steps make of a rounding */

bool rounding_parse(const char *text, DiffTolerance *out) {
    for (const char *part = text;;) {
        size_t name = strcspn(part, ":,");
        char *end;
        if (part[name] != ':')
            return false;
        double value = strtod(part + name + 1, &end);
        if (end == part + name + 1 || (*end && *end != ',') || !(value >= 0) || !isfinite(value))
            return false;
        if (name == 3 && memcmp(part, "ulp", 3) == 0 && value < 0x1p53)
            out->ulps = (uint64_t)value;
        else if (name == 3 && memcmp(part, "abs", 3) == 0)
            out->absolute = value;
        else if (name == 3 && memcmp(part, "rel", 3) == 0)
            out->relative = value;
        else
            return false;
        if (!*end)
            return true;
        part = end + 1;
    }
}

typedef struct {
    const RoundingQuestion *question;
    SimMemory *runs[MOST_RUNS];
    unsigned nruns;
    uint64_t same, near, nans; /* elements with the bits of a run; near to them; NaN on both sides */
    double furthest;           /* that a run moves an element of the buffer */
} Rounding;

/* ---- elements ---- */

typedef struct { /* one place in all memories */
    const Scalar *type;
    const uint8_t *ptx, *machine, *run[MOST_RUNS];
} Element;

static bool tolerated(const Element *element, const DiffTolerance *tolerance) {
    if (!element->type || element->type->kind != 'f')
        return false;
    uint64_t ulps = scalar_ulps(element->type, element->ptx, element->machine);
    if (ulps == 0)
        return true;
    double want = scalar_value(element->type, element->ptx),
           have = scalar_value(element->type, element->machine);
    double apart = fabs(want - have);
    return (tolerance->ulps && ulps <= tolerance->ulps) || apart <= tolerance->absolute ||
           (tolerance->relative > 0 && apart <= tolerance->relative * fabs(want));
}

static bool has_tolerance(const DiffTolerance *tolerance) {
    return tolerance && (tolerance->ulps || tolerance->absolute > 0 || tolerance->relative > 0);
}

/* The furthest that a run moves it. */
static double moved(const Rounding *rounding, const Element *element) {
    double want = scalar_value(element->type, element->ptx), furthest = 0;
    for (unsigned i = 0; i < rounding->nruns; i++)
        furthest = fmax(furthest, fabs(scalar_value(element->type, element->run[i]) - want));
    return furthest;
}

static bool explained(Rounding *rounding, const Element *element) {
    size_t size = element->type ? element->type->size_bytes : 1;
    for (unsigned i = 0; i < rounding->nruns; i++)
        if (memcmp(element->machine, element->run[i], size) == 0) {
            rounding->same++;
            return true;
        }
    if (!element->type || element->type->kind != 'f')
        return false;
    double want = scalar_value(element->type, element->ptx),
           have = scalar_value(element->type, element->machine);
    if (isnan(want) && isnan(have)) { /* PTX says which bits a NaN of .f32 has, and of no other type */
        rounding->nans++;
        return element->type->size_bytes != 4;
    }
    rounding->near++;
    return fabs(want - have) <= (double)SPREAD_FACTOR * moved(rounding, element);
}

static bool no_further(const Rounding *rounding, const Element *element) {
    if (!element->type || element->type->kind != 'f')
        return false;
    double want = scalar_value(element->type, element->ptx),
           have = scalar_value(element->type, element->machine);
    return fabs(want - have) <= fmin((double)SPREAD_FACTOR * rounding->furthest, fabs(want) * SMALL);
}

typedef bool Accept(Rounding *rounding, const Element *element);
static bool accept_tolerated(Rounding *rounding, const Element *element) {
    return tolerated(element, rounding->question->tolerance);
}
static bool accept_explained(Rounding *rounding, const Element *element) {
    return explained(rounding, element) || (has_tolerance(rounding->question->tolerance) &&
                                            tolerated(element, rounding->question->tolerance));
}

static bool accept_no_further(Rounding *rounding, const Element *element) {
    return accept_explained(rounding, element) || no_further(rounding, element);
}

/* Of the buffer whose first element it is. */
static double furthest_moved(const Rounding *rounding, Element element, uint64_t size_bytes) {
    double furthest = 0;
    for (uint64_t at = 0;
         element.type && element.type->kind == 'f' && at + element.type->size_bytes <= size_bytes;
         at += element.type->size_bytes) {
        double by = moved(rounding, &element);
        if (isfinite(by) && by > furthest)
            furthest = by;
        element.ptx += element.type->size_bytes;
        for (unsigned k = 0; k < rounding->nruns; k++)
            element.run[k] += element.type->size_bytes;
    }
    return furthest;
}

/* Is every element accepted in which PTX and machine differ? */
static bool all_accepted(Rounding *rounding, Accept *accept) {
    const RoundingQuestion *q = rounding->question;
    for (uint32_t i = 0; i < q->ptx->nallocs; i++) {
        const SimAlloc *ptx = &q->ptx->allocs[i],
                       *machine = simmem_find(q->machine, ptx->address, ptx->size_bytes);
        if (q->skip && q->skip[i])
            continue;
        Element element = {.type = plan_element_of(q->plan, ptx->address)};
        const uint8_t *run[MOST_RUNS] = {0};
        for (unsigned k = 0; k < rounding->nruns; k++) {
            const SimAlloc *alloc = simmem_find(rounding->runs[k], ptx->address, ptx->size_bytes);
            run[k] = alloc ? alloc->data : ptx->data;
        }
        if (!machine || machine->address != ptx->address)
            return false;
        element.ptx = ptx->data;
        memcpy(element.run, run, sizeof run);
        rounding->furthest =
            accept == accept_no_further ? furthest_moved(rounding, element, ptx->size_bytes) : 0;
        for (uint64_t at = 0; at < ptx->size_bytes; at++) {
            uint64_t begin;
            if (ptx->data[at] == machine->data[at])
                continue;
            element.type = plan_element_at(q->plan, ptx->address, at, &begin);
            element.ptx = ptx->data + begin, element.machine = machine->data + begin;
            for (unsigned k = 0; k < rounding->nruns; k++)
                element.run[k] = run[k] + begin;
            at = begin + (element.type ? element.type->size_bytes : 1u) - 1;
            if (at < ptx->size_bytes && !accept(rounding, &element))
                return false;
        }
    }
    return true;
}

/* ---- other compilers ---- */

/* In the order of the PTX's run, unless `options` say another one. */
static void run_as(Rounding *rounding, PtxRunOptions options) {
    const RoundingQuestion *q = rounding->question;
    Diags quiet = {0};
    if (q->options && !options.seed && !options.lockstep)
        options.seed = q->options->seed;
    options.budget = q->options ? q->options->budget : 0;
    PtxRunResult result = {0};
    SimMemory *memory = simmem_clone(q->before);
    if (memory && diff_run_ptx(q->plan, q->launch, q->module, memory, &options, &result, &quiet) &&
        result.trap.kind == TRAP_NONE)
        rounding->runs[rounding->nruns++] = memory;
    else if (memory)
        simmem_free(memory);
}

static const char *latitude_text(unsigned latitude) {
    return latitude & PTX_LATITUDE_FUSE && latitude & PTX_LATITUDE_APPROX
               ? "fused products or other .approx results"
           : latitude & PTX_LATITUDE_FUSE   ? "products fused into sums"
           : latitude & PTX_LATITUDE_APPROX ? "other .approx results"
                                            : "another sign of a NaN";
}

static void run_all(Rounding *rounding, unsigned latitude) {
    bool fuse = latitude & PTX_LATITUDE_FUSE, approx = latitude & PTX_LATITUDE_APPROX;
    for (uint8_t way = approx ? 0 : 1; way <= (fuse ? 2 : 0); way++)
        run_as(rounding, (PtxRunOptions){.fuse = way, .approx = PTX_APPROX_STEPS});
    for (PtxApprox end = PTX_APPROX_UP; approx && end <= PTX_APPROX_MIXED; end++) {
        run_as(rounding, (PtxRunOptions){.approx = (uint8_t)end});
        if (fuse && end != PTX_APPROX_MIXED)
            run_as(rounding, (PtxRunOptions){.fuse = 1, .approx = (uint8_t)end});
    }
    if (latitude & PTX_LATITUDE_SIGN)
        run_as(rounding, (PtxRunOptions){.sign_alone = true, .approx = PTX_APPROX_STEPS});
    for (uint8_t way = 1; fuse && rounding->question->sums && way <= 2; way++)
        run_as(rounding, (PtxRunOptions){.fuse = way,
                                         .approx = PTX_APPROX_STEPS,
                                         .lockstep = way == 1,
                                         .seed = way == 1 ? 0 : way});
}

Verdict rounding_verdict(const RoundingQuestion *question, char note[ROUNDING_NOTE_BYTES]) {
    Rounding rounding = {.question = question};
    Verdict verdict = VERDICT_DIFFERS;
    note[0] = 0;
    if (has_tolerance(question->tolerance) && all_accepted(&rounding, accept_tolerated)) {
        snprintf(note, ROUNDING_NOTE_BYTES, "results differ by no more than the tolerance");
        return VERDICT_TOLERATED;
    }
    bool foreign = !question->binary->has_map; /* Heddle's own code keeps the PTX's operations as they are */
    unsigned latitude = foreign ? interp_latitude(question->module) : 0;
    run_all(&rounding, latitude);
    if (foreign && all_accepted(&rounding, accept_explained)) {
        verdict = VERDICT_CONTRACTION;
        snprintf(note, ROUNDING_NOTE_BYTES,
                 "%llu results as with %s%s, %llu near to that, %llu NaN with other bits",
                 (unsigned long long)rounding.same, latitude_text(latitude),
                 latitude & PTX_LATITUDE_SIGN && latitude != PTX_LATITUDE_SIGN ? " or another sign of a NaN"
                                                                               : "",
                 (unsigned long long)rounding.near, (unsigned long long)rounding.nans);
    } else if (foreign && all_accepted(&rounding, accept_no_further)) {
        verdict = VERDICT_UNKNOWN;
        snprintf(note, ROUNDING_NOTE_BYTES,
                 "floating-point results differ by more than what PTX leaves to the compiler was seen to "
                 "move them, "
                 "and by less than it moves others of their buffer");
    }
    for (unsigned i = 0; i < rounding.nruns; i++)
        simmem_free(rounding.runs[i]);
    return verdict;
}
