/* What constants in the kernel tell of a launch: shapes of blocks and grids, units and values of numbers. See
 * auto_values.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_values.h"

/* The thread's number in y or z times n: so many may a row have, or so many bytes. To which the number in x
 * is added: that is what it means, and it comes first. */
static void hint_row(Flow *flow, uint64_t n, bool sure) {
    enum { LEAST_ROW = 8, MOST_ROW = 1024 };
    AutoFlow *out = flow->out;
    uint32_t at = 0;
    if (n % LEAST_ROW || !n || n > MOST_ROW)
        return;
    while (at < out->nrows && out->rows[at] != n)
        at++;
    if (at == AUTO_ROWS)
        return;
    out->nrows += at == out->nrows;
    out->rows[at] = sure ? out->rows[0] : (uint32_t)n;
    out->rows[0] = sure ? (uint32_t)n : out->rows[0];
}

void auto_hint_sum(Flow *flow, Val row, Val v) {
    if (row.row && v.names == NAMES_TID)
        hint_row(flow, row.row, true);
}

/* The block index a times n: so large may the block be. */
void auto_hint_block(Flow *flow, Val a, uint64_t n) {
    if (a.names == NAMES_TID + 1 || a.names == NAMES_TID + 2)
        hint_row(flow, n, false);
    if (a.names < NAMES_CTAID || a.names >= NAMES_NTID)
        return;
    uint32_t *hint = &flow->out->block_hint[a.names - NAMES_CTAID];
    if (n > *hint && n <= 1024) /* not the bytes of one result of each block */
        *hint = (uint32_t)n;
}

/* A size of the block or the grid is n, or it is not: assertions and ways for blocks of one size. */
void auto_hint_size(Flow *flow, Val a, uint64_t n) {
    if (n < 1 || n > 1024)
        return;
    if (a.names >= NAMES_NTID && a.names < NAMES_NCTAID)
        flow->out->block_asked[a.names - NAMES_NTID] = (uint32_t)n;
    if (a.names >= NAMES_NCTAID && a.names < NAMES_NCTAID + 3)
        flow->out->grid_hint[a.names - NAMES_NCTAID] = (uint32_t)n;
}

enum { MOST_UNIT = 1 << 16, FEW_SLOTS = 3 };

/* The slots of a value that one may set to steer it: few, and no thread's number beside them. */
static AutoSet settable(Val v) {
    AutoSet slots = v.is | v.from;
    return v.tid || auto_count(slots) > FEW_SLOTS ? 0 : slots;
}

/* The value is divided by n, or must be a multiple of it. */
void auto_hint_unit(Flow *flow, Val v, uint64_t n) {
    for (AutoSet s = n > 1 && n <= MOST_UNIT ? settable(v) : 0; s; s &= s - 1) {
        AutoSlot *slot = &flow->out->slots[auto_first(s)];
        slot->unit = n > slot->unit ? (uint32_t)n : slot->unit;
    }
}

void auto_hint_word(Flow *flow, Val v, int64_t word) {
    for (AutoSet s = settable(v); s; s &= s - 1) {
        AutoSlot *slot = &flow->out->slots[auto_first(s)];
        uint32_t k = 0;
        while (k < slot->nwords && slot->words[k] != word)
            k++;
        if (k == slot->nwords && k < AUTO_WORDS)
            slot->words[slot->nwords++] = word;
    }
}

/* A slot times a number is compared with a constant. */
void auto_hint_equal(Flow *flow, Val x, int64_t word) {
    AutoSlot *slot = x.multiple ? &flow->out->slots[x.multiple - 1] : NULL;
    if (slot && word && word % x.times == 0 && !slot->has_equal) {
        slot->has_equal = true;
        slot->equals = word / x.times;
    }
}

/* ... with another slot times a number: the one whose number is less follows from the other, unless it does
 * from a third. */
void auto_hint_twin(Flow *flow, Val x, Val y) {
    if (!x.multiple || !y.multiple || x.multiple == y.multiple)
        return;
    Val less = x.times < y.times || (x.times == y.times && x.multiple > y.multiple) ? x : y;
    Val more = less.multiple == x.multiple ? y : x;
    AutoSlot *slots = flow->out->slots;
    if (slots[less.multiple - 1].twin && slots[less.multiple - 1].twin != more.multiple) {
        Val other = less;
        less = more;
        more = other;
    }
    if (slots[less.multiple - 1].twin || slots[more.multiple - 1].twin == less.multiple)
        return;
    slots[less.multiple - 1].twin = more.multiple;
    slots[less.multiple - 1].twin_times = more.times;
    slots[less.multiple - 1].twin_by = less.times;
}

/* The thread's number in a row, times a constant. */
uint16_t auto_row_of(Val a, int64_t n) {
    bool row = a.names == NAMES_TID + 1 || a.names == NAMES_TID + 2;
    return row && n > 0 && n <= UINT16_MAX ? (uint16_t)n : 0;
}

/* What the thread after the last one of a block would do, this one does next. */
void auto_hint_step(Flow *flow, Val a, int64_t n) {
    if (a.names < NAMES_TID || a.names == NAMES_MANY || n < 32 || n % 32)
        return;
    uint32_t *hint = &flow->out->step_hint[a.names - NAMES_TID];
    *hint = auto_common_divisor(*hint, (uint64_t)n);
}
