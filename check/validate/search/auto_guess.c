/* Shapes and numbers of a launch: see auto_search.h; docs/validate.md says by which rules.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/validate/search/auto_search.h"
#include <math.h>
#include <string.h>

static uint64_t choose(uint64_t *state, const uint32_t *of, unsigned n) { return of[rng_next(state) % n]; }

static uint32_t extent(const AutoAttempt *attempt, unsigned axis) {
    return attempt->grid[axis] * attempt->block[axis];
}

enum { MOST_HINTED = 64 }; /* blocks in an axis that the kernel asks for */

const uint32_t *auto_shape(const AutoSearch *search, unsigned k) {
    static const uint32_t shapes[][3] = {{128, 1, 1}, {8, 8, 8},  {8, 8, 4},   {4, 4, 4},    {32, 32, 1},
                                         {16, 16, 1}, {32, 8, 1}, {8, 32, 1},  {8, 8, 1},    {16, 8, 1},
                                         {32, 16, 1}, {64, 4, 1}, {256, 1, 1}, {1024, 1, 1}, {512, 1, 1},
                                         {64, 1, 1},  {32, 1, 1}};
    /* the first one is a row: what numbers its threads in x alone is right in no other */
    enum { PLANES = 3, ROWS = 8, ALL = sizeof shapes / sizeof *shapes };
    uint32_t axes = search->flow.axes;
    unsigned skipped = axes & 4 ? 0 : axes & 2 ? PLANES : PLANES + ROWS, at = k ? k + skipped : 0;
    return axes && !search->f->reqntid[0] && at < ALL ? shapes[at] : NULL;
}

bool auto_spread(const AutoSearch *search, AutoAttempt *attempt) {
    enum { ELEMENT = 16 };
    bool changed = false;
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        uint32_t uses = search->flow.slots[i].uses;
        uint64_t apart = (uint64_t)extent(attempt, 0) * (uses & (AU_CMP | AU_DIVISOR) ? 1 : ELEMENT);
        if ((uses & (AU_INDEX | AU_ADDRESS | AU_BRANCH | AU_CALL | AU_BYTES | AU_FLOAT)) != AU_INDEX ||
            uses & (AU_CMP_X | AU_CMP_Y | AU_CMP_Z) || attempt->value[i] >= apart)
            continue;
        attempt->value[i] = apart;
        changed = true;
    }
    return changed;
}

bool auto_part_indices(const AutoSearch *search, AutoAttempt *attempt) {
    bool holds = false;
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        holds |= search->flow.slots[i].parent && search->flow.slots[i].uses & AU_INDEX;
    if (!holds || attempt->apart)
        return false;
    attempt->apart = true;
    return true;
}

bool auto_alone(const AutoSearch *search, AutoAttempt *attempt) {
    bool larger = false;
    for (unsigned i = 0; i < 3; i++)
        larger |= attempt->grid[i] > 1 || attempt->block[i] > 1;
    if (!larger || search->f->reqntid[0] || attempt->whole_warps)
        return false;
    for (unsigned i = 0; i < 3; i++)
        attempt->grid[i] = attempt->block[i] = 1;
    auto_fit_clusters(search, attempt);
    return true;
}

void auto_one_warp(const AutoSearch *search, AutoAttempt *attempt, bool one_thread) {
    for (unsigned i = 0; i < 3; i++) {
        attempt->grid[i] = 1;
        if (!search->f->reqntid[0])
            attempt->block[i] = i || (one_thread && !attempt->whole_warps) ? 1 : SIM_WARP_LANES;
    }
    auto_fit_clusters(search, attempt);
    for (uint32_t k = 0; k < search->flow.nslots; k++)
        for (unsigned i = 0; i < 3; i++)
            if (search->flow.slots[k].uses & (uint32_t)AU_CMP_X << i &&
                attempt->value[k] > extent(attempt, i))
                attempt->value[k] = extent(attempt, i);
}

/* Axes in which blocks and in which grids are larger than 1. */
static void read_axes(const AutoSearch *search, uint32_t axes[2]) {
    axes[0] = search->flow.thread_axes | search->flow.size_axes[0];
    axes[1] = search->flow.block_axes | search->flow.size_axes[1];
}

bool auto_tells_sizes(const AutoSearch *search, const AutoAttempt *attempt) {
    uint32_t axes[2];
    bool tells = true;
    read_axes(search, axes);
    for (unsigned i = 0; i < 6; i++) {
        uint32_t size = i < 3 ? attempt->block[i] : attempt->grid[i - 3];
        if (!(axes[i / 3] >> i % 3 & 1))
            continue;
        for (unsigned k = 0; k < 6; k++)
            tells &= k == i || size != (k < 3 ? attempt->block[k] : attempt->grid[k - 3]);
        tells &= size > (i < 3 ? 1 : 2); /* of two blocks the last is number 1 */
    }
    /* of a single row of at most 32 threads the lane is the index */
    return tells && (!axes[0] || attempt->block[0] > 32 || attempt->block[1] * attempt->block[2] > 1);
}

void auto_guess_sizes(const AutoSearch *search, const uint32_t *block, AutoAttempt *attempt) {
    static const uint32_t row[] = {64, 1, 1}, plane[] = {16, 4, 1}, space[] = {8, 4, 2}, grid[] = {3, 5, 7};
    AutoSearch shaped = *search;
    uint32_t axes[2];
    read_axes(search, axes);
    shaped.block = block ? block : axes[0] & 4 ? space : axes[0] & 2 ? plane : row;
    memset(shaped.flow.grid_hint, 0, sizeof shaped.flow.grid_hint);
    for (unsigned i = 0; i < 3; i++)
        shaped.flow.grid_hint[i] = axes[1] >> i & 1 ? grid[i] : 1;
    auto_guess(&shaped, 0, attempt);
}

static unsigned dimensions(uint32_t axes) { return axes & 4 ? 3 : axes & 2 ? 2 : 1; }

static void choose_shape(const AutoSearch *search, unsigned n, uint64_t *random, AutoAttempt *attempt) {
    enum { SHAPES = 6, SQUARE = 32 };
    static const uint32_t shapes[3][SHAPES][3] = {
        {{128, 1, 1}, {64, 1, 1}, {256, 1, 1}, {32, 1, 1}, {512, 1, 1}, {192, 1, 1}},
        {{16, 16, 1}, {32, 8, 1}, {8, 8, 1}, {32, 4, 1}, {32, 32, 1}, {64, 4, 1}},
        {{8, 4, 4}, {8, 8, 2}, {4, 4, 4}, {32, 2, 2}, {8, 8, 8}, {16, 2, 2}}};
    const PtxFunc *f = search->f;
    /* threads that only number themselves through, in all axes, are meant to lie in those of the blocks */
    const AutoFlow *flow = &search->flow;
    uint32_t axes = flow->thread_axes ? flow->thread_axes : flow->axes;
    axes = n % 3 && axes & flow->block_axes ? axes & flow->block_axes : axes;
    unsigned dims = dimensions(axes), blocks = dimensions(flow->block_axes),
             pick = n < 3 ? 0 : (n - 2) % SHAPES;
    memcpy(attempt->block, shapes[dims - 1][pick], sizeof attempt->block);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t hint = search->flow.block_hint[i], part = n < 2 ? 0 : (uint32_t)(rng_next(random) % 4);
        if (part == 1 && hint >= 2) /* a thread does two elements */
            hint /= 2;
        if (i == 0 && dims > 1 && flow->nrows && (hint ? n % 3 == 0 : n % 3 != 2))
            hint = flow->rows[n / 3 % flow->nrows];
        if (!hint && n % 3 == 1 && flow->step_hint[i] <= SIM_MAX_BLOCK_THREADS)
            hint = flow->step_hint[i];
        if (flow->block_asked[i] && part != 3)
            hint = flow->block_asked[i];
        if (hint && part < 3 && (!flow->thread_axes || flow->thread_axes >> i & 1))
            attempt->block[i] = hint;
    }
    if (dims == 2 && n % 2 && flow->block_hint[0] && !flow->block_hint[1] && flow->block_hint[0] <= SQUARE)
        attempt->block[1] = attempt->block[0]; /* tiles are square */
    uint64_t most = SIM_MAX_BLOCK_THREADS;
    if (f->maxntid[0])
        most = (uint64_t)f->maxntid[0] * (f->maxntid[1] ? f->maxntid[1] : 1) *
               (f->maxntid[2] ? f->maxntid[2] : 1);
    if ((f->maxntid[1] > 1 || f->maxntid[2] > 1) && n % 2 == 0) /* what it was made for */
        for (unsigned i = 0; i < 3; i++)
            attempt->block[i] = f->maxntid[i] ? f->maxntid[i] : 1;
    else if (f->maxntid[0] && dims == 1 && most <= 512 && n % 2 == 0)
        attempt->block[0] = (uint32_t)most;
    if (search->block)
        memcpy(attempt->block, search->block, sizeof attempt->block);
    bool one_row = search->block && flow->thread_axes > 1 && attempt->block[1] * attempt->block[2] == 1;
    for (unsigned i = 0; i < 3; i++) {
        if (f->reqntid[0])
            attempt->block[i] = f->reqntid[i] ? f->reqntid[i] : 1;
        bool many = search->flow.block_axes >> i & 1; /* blocks that do not know their number do the same */
        many &= !one_row || i == 0;
        attempt->grid[i] = !many ? 1 : dims > 1 || blocks > 1 ? 2 : 4;
        if (search->flow.grid_hint[i] && search->flow.grid_hint[i] <= MOST_HINTED && n % 4 != 3)
            attempt->grid[i] = search->flow.grid_hint[i];
    }
    /* no thread knows which one it is: it is meant to run once */
    bool alone = search->flow.axes == 0 && !search->block;
    for (unsigned i = 0; i < 3 && (alone || n % 8 == 5); i++) {
        attempt->grid[i] = 1;
        attempt->block[i] = alone && !f->reqntid[0] ? 1 : attempt->block[i];
    }
    while (!f->reqntid[0] && (uint64_t)attempt->block[0] * attempt->block[1] * attempt->block[2] > most)
        for (unsigned i = 3; i-- > 0;)
            if (attempt->block[i] > 1) {
                attempt->block[i] = (attempt->block[i] + 1) / 2;
                break;
            }
    auto_fit_clusters(search, attempt);
}

void auto_fit_clusters(const AutoSearch *search, AutoAttempt *attempt) {
    for (unsigned i = 0; i < 3; i++) {
        uint32_t blocks = search->f->reqnctapercluster[i];
        if (blocks > 1)
            attempt->grid[i] = (attempt->grid[i] + blocks - 1) / blocks * blocks;
    }
}

/* Compared with something and nothing else: a limit that results are asked to be below, such as a hash's. */
static bool is_limit(const AutoSlot *slot) {
    const uint32_t other = AU_ADDRESS | AU_INDEX | AU_STRIDE | AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_FLOAT |
                           AU_DIVISOR | AU_BRANCH | AU_CALL | AU_BYTES;
    return (slot->uses & (AU_CMP | other)) == AU_CMP && slot->size_bytes >= 4;
}

/* What memory holds is asked whether it is 0, and nothing else: as often as not it is. */
static bool asks_for_zero_alone(const AutoSlot *slot) {
    return slot->parent && slot->nwords == 1 && !slot->words[0] &&
           !(slot->uses & ~(uint32_t)(AU_CMP | AU_MEMORY));
}

/* Half of all numbers are below the limits of attempt 3, whether they may be less than 0 or not, so that ways
 * behind them are taken; few are below those of attempts 7 and 11, for ways that only one thread may take. 0:
 * other attempts. */
static uint64_t highest_limit(unsigned n, unsigned size_bytes) {
    enum { HALF = 3, FEW = 7, FEWER = 11, FEW_SHIFT = 8, FEWER_SHIFT = 11 };
    unsigned shift = n == HALF ? 1 : n == FEW ? FEW_SHIFT : FEWER_SHIFT;
    return n == HALF || n == FEW || n == FEWER ? UINT64_MAX >> (64 - 8 * size_bytes) >> shift : 0;
}

/* An integer parameter. Sizes leave some threads out; attempt 1 has whole blocks; later ones are random. */
static uint64_t choose_integer(const AutoSlot *slot, const AutoAttempt *a, unsigned n, uint64_t *random) {
    enum { WIDE_DIVISORS = 2, ROUNDS = 4 };
    unsigned axis = slot->uses & AU_CMP_X ? 0 : slot->uses & AU_CMP_Y ? 1 : slot->uses & AU_CMP_Z ? 2 : 3;
    uint32_t all = axis < 3 ? extent(a, axis) : extent(a, 0);
    uint32_t threads = a->block[0] * a->block[1] * a->block[2]; /* hosts pass it on */
    uint32_t palette[] = {
        1,      2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, all, all > 13 ? all - 13 : 1, all / 2 ? all / 2 : 1,
        threads};
    if (auto_is_flag(slot))
        return rng_next(random) & 1;
    if (slot->uses & AU_BYTES)
        return BOX_BYTES;
    if (is_limit(slot) && highest_limit(n, slot->size_bytes))
        return highest_limit(n, slot->size_bytes);
    if (slot->uses & AU_DIVISOR && n % 4 == 3) /* each thread has a quotient of its own */
        return 1;
    if (slot->uses & AU_DIVISOR && slot->size_bytes == 8 && n == WIDE_DIVISORS)
        return (1ull << 32) + all; /* none has one, and 32 bits do not do */
    if (n == ROUNDS && axis < 3)   /* loops of a block's size, unrolled */
        return 5ull * all + 3;
    if (n == 1)
        return axis < 3 || slot->uses & AU_INDEX ? all : 16;
    if (n >= 2 && rng_next(random) % 3) {
        uint64_t v = choose(random, palette, sizeof palette / sizeof *palette);
        bool may_be_zero = !(slot->uses & AU_DIVISOR) && rng_next(random) % 8 == 0;
        return may_be_zero ? 0 : v;
    }
    if (axis < 3)
        return all > 13 ? all - 5 : all > 1 ? all - 1 : 1;
    return slot->uses & AU_DIVISOR ? 4 : slot->uses & (AU_INDEX | AU_CMP) ? 32 - 2 * (n & 7) : 3;
}

/* A stride, and nothing that the kernel compares or divides by. */
static bool is_stride(const AutoSlot *slot) {
    return (slot->uses & (AU_STRIDE | AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_CMP | AU_DIVISOR | AU_FLOAT |
                          AU_BRANCH | AU_CALL | AU_BYTES)) == AU_STRIDE &&
           slot->size_bytes >= 4;
}

static bool comes_before(const AutoSlot *a, const AutoSlot *b) {
    return a->param < b->param || (a->param == b->param && a->offset_bytes < b->offset_bytes);
}

/* Elements at different indices lie in different places: the last stride of a buffer is the least, or in
 * every other pair of attempts the first. In bytes or in elements, nobody says which: it holds an element of
 * 64 bytes; one that is alone, a row. */
static void choose_strides(const AutoFlow *flow, unsigned n, AutoAttempt *attempt) {
    enum { ELEMENT = 64, ROW_SHIFT = 10, SHORT_SHIFT = 6, MOST_AXES = 3 };
    unsigned shift = n % 2 ? SHORT_SHIFT : ROW_SHIFT;
    for (uint32_t i = 0; i < flow->nslots; i++) {
        const AutoSlot *slot = &flow->slots[i];
        unsigned axis = 0, all = 0;
        for (uint32_t k = 0; is_stride(slot) && k < flow->nslots; k++)
            if (is_stride(&flow->slots[k]) && flow->slots[k].stride_of == slot->stride_of) {
                all++;
                axis += k != i && comes_before(slot, &flow->slots[k]) == (n % 4 < 2);
            }
        if (all)
            attempt->value[i] =
                all == 1 ? 1ull << shift : (uint64_t)ELEMENT << shift * (axis < MOST_AXES ? axis : MOST_AXES);
    }
}

bool auto_fit_units(const AutoSearch *search, AutoAttempt *attempt, uint64_t *random) {
    enum { MOST_TIMES = 3 };
    bool changed = false;
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        const AutoSlot *slot = &search->flow.slots[i];
        if (slot->unit < 2 || slot->parent || auto_is_pointer(slot) || slot->shared_piece ||
            slot->uses & (AU_BRANCH | AU_CALL | AU_BYTES | AU_FLOAT))
            continue;
        changed |= attempt->value[i] % slot->unit || !attempt->value[i];
        attempt->value[i] = slot->unit * (1 + rng_next(random) % MOST_TIMES);
    }
    return changed;
}

void auto_guess(const AutoSearch *search, unsigned n, AutoAttempt *attempt) {
    enum { FIRST_UNITS = 6 };
    static const uint32_t quarters[] = {2, 4, 1, 6, 3, 8, 5, 16};
    uint64_t random = search->opt->seed * 0x2545f4914f6cdd1du + n;
    *attempt = (AutoAttempt){.shared_bytes = search->flow.dynamic_shared ? DYNAMIC_SHARED : 0,
                             .budget = search->opt->budget ? search->opt->budget : ATTEMPT_BUDGET,
                             .index_bound = n % 3 == 2 ? 4 : 64,
                             .cleared = n % 2 == 1,
                             .whole = n % 8 == 7,
                             .apart = n % 8 == 6};
    choose_shape(search, n, &random, attempt);
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        const AutoSlot *slot = &search->flow.slots[i];
        attempt->value[i] = choose_integer(slot, attempt, n, &random);
        attempt->number[i] = 0.25 * (double)quarters[n < 2 ? n + i % 3 : rng_next(&random) % 8];
        if (n > 4 && rng_next(&random) % 4 == 0)
            attempt->number[i] = -attempt->number[i];
        bool pointers = false;
        for (uint32_t c = slot->content; c; c = search->flow.slots[c - 1].next)
            pointers |= auto_is_pointer(&search->flow.slots[c - 1]);
        attempt->bytes[i] = pointers ? POINTER_BYTES : FIRST_BYTES;
        if (attempt->bytes[i] < slot->record_bytes)
            attempt->bytes[i] = slot->record_bytes;
        if (slot->variable)
            attempt->bytes[i] = search->m->vars[slot->variable - 1].size_bytes;
    }
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        if (search->flow.slots[i].parent && is_limit(&search->flow.slots[i])) /* (a range has 53 bits) */
            attempt->bound[i] = highest_limit(n, search->flow.slots[i].size_bytes) & ((1ull << 53) - 1);
    for (uint32_t i = 0; i < search->flow.nslots && n % 4 == 1; i++)
        if (asks_for_zero_alone(&search->flow.slots[i]))
            attempt->bound[i] = 2;
    for (uint32_t i = 0; i < search->flow.nslots && n % 2; i++)
        attempt->below |= auto_least_word(&search->flow.slots[i]) < 0 ? auto_set_of(i) : 0;
    choose_strides(&search->flow, n, attempt);
    if (n >= FIRST_UNITS && n % 4 == 2) {
        auto_fit_units(search, attempt, &random);
        if (n % 8 == 2)
            auto_agree(search, attempt);
    }
    attempt->seed = rng_next(&random);
}

void auto_guess_edges(const AutoSearch *search, AutoAttempt *attempt, uint64_t *random) {
    static const uint64_t free_values[] = {0,          1,         ~0ull, 1ull << 31, 0x7fffffff,
                                           1ull << 63, INT64_MAX, 2,     33,         0x80000001};
    static const uint64_t divisors[] = {1, ~0ull, 3, 1ull << 31, 0x7fffffff, 7};
    static const double numbers[] = {0,         -0.0, 1,   -1,          0x1p-130,        0x1p127,
                                     -0x1p-149, 0.5,  1.5, (double)NAN, (double)INFINITY};
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        uint32_t uses = search->flow.slots[i].uses;
        unsigned axis = uses & AU_CMP_X ? 0 : uses & AU_CMP_Y ? 1 : 2, all = extent(attempt, axis);
        uint64_t sizes[] = {0, 1, ~0ull, all, all - 1u, all + 1u, 0x7fffffff, 1ull << 31},
                 pick = rng_next(random);
        attempt->number[i] = numbers[pick % (sizeof numbers / sizeof *numbers)];
        if (uses & (AU_INDEX | AU_BRANCH | AU_CALL | AU_BYTES))
            continue;
        attempt->value[i] = uses & AU_DIVISOR ? divisors[pick % (sizeof divisors / sizeof *divisors)]
                            : uses & (AU_CMP_X | AU_CMP_Y | AU_CMP_Z)
                                ? sizes[pick % (sizeof sizes / sizeof *sizes)]
                                : free_values[pick % (sizeof free_values / sizeof *free_values)];
    }
}

double auto_tiny(PtxType type, unsigned factors) {
    int least = type == TY_F64 ? -1022 : type == TY_F16 || type == TY_F16X2 ? -14 : -126;
    return ldexp(1, least / (int)factors);
}

int64_t auto_least_word(const AutoSlot *slot) {
    enum { MOST_BELOW = 1 << 10 };
    int64_t least = 0;
    for (uint32_t k = 0; slot->parent && k < slot->nwords; k++)
        least = slot->words[k] < least && slot->words[k] > -MOST_BELOW ? slot->words[k] : least;
    return slot->uses & (AU_BRANCH | AU_CALL) ? 0 : least;
}

bool auto_becomes_nan(AutoData kind, uint32_t slot) {
    return kind == DATA_NAN ||
           (kind >= DATA_NAN_EVEN && kind <= DATA_NAN_ODD && slot % 2 == kind - DATA_NAN_EVEN);
}

void auto_guess_data(const AutoSearch *search, AutoData kind, AutoAttempt *attempt, uint64_t *random) {
    /* the first one of all is of that kind, later ones are beside usual ones in ever other ways */
    uint64_t others = attempt->mixed ? rng_next(random) : 0;
    attempt->data = kind;
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        const AutoSlot *slot = &search->flow.slots[i];
        if (!(slot->uses & AU_FLOAT) || slot->parent || others >> i % 64 & 1)
            continue;
        if (kind >= DATA_TINY && kind <= DATA_TINY_LAST)
            attempt->number[i] = auto_tiny(slot->float_type, kind - DATA_TINY + 1);
        else if (kind <= DATA_NAN_ODD)
            attempt->number[i] = auto_becomes_nan(kind, i) ? (double)NAN : attempt->number[i];
        else
            attempt->number[i] = kind == DATA_ONE;
    }
}

static bool has_barriers(const PtxFunc *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->ninsns; i++)
        any |= f->insns[i].op == PTX_BAR || f->insns[i].op == PTX_BARRIER;
    return any;
}

void auto_guess_ragged(const AutoSearch *search, AutoAttempt *attempt, uint64_t *random) {
    static const uint32_t shapes[][3] = {{45, 1, 1}, {33, 1, 1}, {7, 5, 1}, {11, 3, 1}, {5, 3, 3}, {3, 7, 2}};
    static const uint32_t warps[] = {109, 97}; /* what a barrier is for may show between three warps only */
    uint32_t axes[2]; /* rows of threads that do not know theirs do the same, which looks like a race */
    read_axes(search, axes);
    unsigned dims = dimensions(axes[0]) - 1;
    if (!search->f->reqntid[0] && !search->f->maxntid[0] && search->flow.axes) {
        uint64_t which = rng_next(random) % 2;
        memcpy(attempt->block, shapes[2 * dims + which], sizeof attempt->block);
        if (!dims && has_barriers(search->f))
            attempt->block[0] = warps[which];
    }
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        uint32_t uses = search->flow.slots[i].uses;
        bool is_size =
            uses & (AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_CMP) && !(uses & (AU_BRANCH | AU_CALL | AU_BYTES));
        if (is_size && attempt->value[i] > 4 && attempt->value[i] < MOST_BYTES)
            attempt->value[i] -=
                1 + attempt->value[i] % 4; /* three are left over of a loop unrolled four times */
    }
}
