/* What PTX leaves open: see open.h.
 *
 * The launch is run again on the PTX side with other values wherever PTX leaves one open, with variables in
 * other places, and with late copies. What these change, word by word, is open. Where they do not all change
 * the same words of an allocation, an address or a condition hangs on such a value, and another one may
 * change any word of it. Where no value but the behaviour is undefined everything is open.
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/open.h"
#include "base/scope.h"
#include "check/validate/compare/diff.h"
#include <string.h>

enum { VALUES = 6, MOVE_BYTES = 1024, WORD_BYTES = 4 };

typedef struct {         /* of one allocation */
    uint8_t *changed;    /* by word: a run changed it */
    uint64_t sum, first; /* of the words that the last, and the first run with other values changed */
    bool anywhere;
} OpenWords;

static void drop_message(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static void see_undefined(void *user, const SimTrap *warning) {
    if (warning->kind == TRAP_UNDEFINED)
        *(bool *)user = true;
}

static const SimAlloc *counterpart(const SimMemory *memory, const SimAlloc *alloc) {
    for (uint32_t k = 0; k < memory->nallocs; k++)
        if (memory->allocs[k].address == alloc->address && memory->allocs[k].size_bytes == alloc->size_bytes)
            return &memory->allocs[k];
    return NULL;
}

static bool word_differs(const SimAlloc *one, const SimAlloc *other, uint64_t word) {
    uint64_t at = word * WORD_BYTES, left = one->size_bytes - at;
    return memcmp(one->data + at, other->data + at, left < WORD_BYTES ? left : WORD_BYTES) != 0;
}

static uint64_t count_words(const SimAlloc *alloc) {
    return (alloc->size_bytes + WORD_BYTES - 1) / WORD_BYTES;
}

static void note_changes(OpenWords *open, const SimAlloc *ptx, const SimAlloc *other) {
    open->sum = 0;
    open->anywhere |= !other;
    for (uint64_t w = 0; other && w < count_words(ptx); w++) {
        if (!word_differs(ptx, other, w))
            continue;
        open->changed[w] = 1;
        open->sum = open->sum * 31 + w + 1;
    }
}

/* False: the PTX does not end so, or its behaviour is undefined. */
static bool run_with(const OpenQuestion *question, PtxRunOptions options, OpenWords *open) {
    Diags quiet = {.sink = drop_message};
    PtxRunResult result = {0};
    bool undefined = false;
    options.on_warning = see_undefined;
    options.user = &undefined;
    SimMemory *memory = simmem_clone(question->before);
    bool ran =
        memory &&
        diff_run_ptx(question->plan, question->launch, question->module, memory, &options, &result, &quiet) &&
        result.trap.kind == TRAP_NONE && !undefined;
    for (uint32_t k = 0; ran && k < question->ptx->nallocs; k++)
        note_changes(&open[k], &question->ptx->allocs[k], counterpart(memory, &question->ptx->allocs[k]));
    if (memory)
        simmem_free(memory);
    return ran;
}

static bool run_all(const OpenQuestion *question, OpenWords *open) {
    PtxRunOptions options = {.budget = 2 * question->budget, .late_copies = true};
    if (!run_with(question, options, open))
        return false;
    for (unsigned i = 0; i <= VALUES; i++) {
        options = (PtxRunOptions){.budget = 2 * question->budget,
                                  .report_open = true, /* and so gives other results */
                                  .fill = i,
                                  .fill_word = i == 0,
                                  .moved_bytes = (i ? i : VALUES + 1) * MOVE_BYTES};
        if (!run_with(question, options, open))
            return false;
        for (uint32_t k = 0; k < question->ptx->nallocs; k++) {
            open[k].first = i ? open[k].first : open[k].sum;
            open[k].anywhere |= open[k].first != open[k].sum;
        }
    }
    return true;
}

bool judge_differs_elsewhere(const OpenQuestion *question) {
    uint32_t n = question->ptx->nallocs;
    OpenWords *open = mem_zeroed(n + 1, sizeof *open);
    for (uint32_t k = 0; k < n; k++)
        open[k].changed = mem_zeroed(count_words(&question->ptx->allocs[k]) + 1, 1);
    bool elsewhere = false, known = run_all(question, open);
    for (uint32_t k = 0; k < n; k++) {
        const SimAlloc *ptx = &question->ptx->allocs[k], *machine = counterpart(question->machine, ptx);
        bool compared = known && machine && !open[k].anywhere && !(question->skip && question->skip[k]);
        for (uint64_t w = 0; compared && w < count_words(ptx) && !elsewhere; w++)
            elsewhere = !open[k].changed[w] && word_differs(ptx, machine, w);
        mem_free(open[k].changed);
    }
    mem_free(open);
    return elsewhere;
}
