/* Asynchronous copies from global to shared memory (LDGSTS) and what waits for them: LDGDEPBAR ends a lane's
 * group of copies, DEPBAR.LE SBn, k waits for all but the last k groups, ARRIVES counts at an object of
 * mbarrier when the lane's copies are done.
 *
 * The hardware may write the bytes at any moment between the copy and the wait; code that is right gives the
 * same under all. Policy `copies` takes the first of them or the last: then what nobody waits for is never
 * written. The source is read when the copy is issued. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "sim/machine/internal.h"
#include <string.h>

enum { MOST_COPIES = 1 << 14 }; /* under way in a warp: beyond that the oldest are done */

typedef struct {
    MemRef to;
    uint32_t group; /* of its lane */
    uint8_t lane, size_bytes, data[16];
} Copy;

typedef struct Copies {
    Copy *at; /* as they were issued */
    uint32_t n, cap;
    uint32_t groups[32]; /* that a lane has ended */
} Copies;

void machine_copies_start(Warp *warp) {
    warp->copies->n = 0;
    memset(warp->copies->groups, 0, sizeof warp->copies->groups);
}

void machine_copies_free(Warp *warp) {
    if (warp->copies)
        mem_free(warp->copies->at);
    mem_free(warp->copies);
    warp->copies = NULL;
}

static void perform(Warp *warp, const Copy *copy) {
    machine_async_write(warp, copy->lane, &copy->to, copy->size_bytes, copy->data);
}

static void put_off(Warp *warp, const Copy *copy) {
    if (!warp->copies)
        warp->copies = mem_zeroed(1, sizeof *warp->copies);
    Copies *copies = warp->copies;
    if (copies->n == MOST_COPIES) {
        for (uint32_t i = 0; i < MOST_COPIES / 2; i++)
            perform(warp, &copies->at[i]);
        copies->n -= MOST_COPIES / 2;
        memmove(copies->at, copies->at + MOST_COPIES / 2, copies->n * sizeof *copies->at);
    }
    if (copies->n == copies->cap) {
        copies->cap = copies->cap ? copies->cap * 2 : 64;
        copies->at = mem_resize(copies->at, copies->cap * sizeof *copies->at);
    }
    copies->at[copies->n] = *copy;
    copies->at[copies->n++].group = copies->groups[copy->lane];
}

/* The copies of `lanes`; of groups that were ended, all but the last `left`, and the others if `open`. */
static void finish(Warp *warp, uint32_t lanes, uint32_t left, bool open) {
    Copies *copies = warp->copies;
    uint32_t kept = 0;
    for (uint32_t i = 0; copies && i < copies->n; i++) {
        const Copy *copy = &copies->at[i];
        bool done = open || (uint64_t)copy->group + left < copies->groups[copy->lane];
        if (done && lanes >> copy->lane & 1)
            perform(warp, copy);
        else
            copies->at[kept++] = *copy;
    }
    if (copies)
        copies->n = kept;
}

void machine_copies_finish(Warp *warp, uint32_t lanes) { finish(warp, lanes, 0, true); }

/* imm: both offsets. Where the predicate is false all of it is zero, with .ZFILL or without: ptxas 13.0 makes
 * "[rs], [ra], !PT" of a source size of 0, and a predicate that ignore-src negates. With .ZFILL the bytes by
 * which the address is past a multiple of the size are missing at the end: ptxas adds cp-size - src-size to
 * the address of the source. */
static int op_ldgsts(Warp *warp, Dec *dec, uint32_t g) {
    const uint32_t *to = dec_src(warp, dec, 0), *to_all = dec_src(warp, dec, 1), *lo = dec_src(warp, dec, 2),
                   *hi = lo + 32, *u = dec_src(warp, dec, 3);
    uint32_t reads = dec_pred(warp, dec, 0);
    uint64_t base = dec->copy.descriptor ? 0 : (uint64_t)u[32] << 32 | u[0];
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        Copy copy = {.lane = (uint8_t)lane, .size_bytes = dec->size};
        MemRef from;
        uint64_t address = (dec->wide ? (uint64_t)hi[lane] << 32 | lo[lane] : lo[lane]) + base +
                           (uint64_t)(int64_t)(int32_t)dec->imm[1];
        unsigned missing = dec->copy.zfill ? (unsigned)address & (dec->size - 1u) : 0;
        unsigned bytes = reads >> lane & 1 ? dec->size - missing : 0, step = missing ? 1 : dec->size;
        int status = RUN_OK;
        for (unsigned at = 0; status == RUN_OK && at < bytes; at += step) {
            status = machine_mem_ref(warp, dec, lane, MS_GLOBAL, address - missing + at, step, false, &from);
            if (status == RUN_OK)
                machine_mem_load(warp, lane, &from, step, copy.data + at);
        }
        if (status == RUN_OK)
            status = machine_mem_ref(warp, dec, lane, MS_SHARED, to[lane] + to_all[0] + dec->imm[0],
                                     dec->size, true, &copy.to);
        if (status != RUN_OK)
            return status;
        if (warp->run->opt.copies == MACHINE_COPIES_LATE)
            put_off(warp, &copy);
        else
            perform(warp, &copy);
    }
    return RUN_OK;
}
bool bind_LDGSTS(Bind *bind) {
    Dec *dec = bind->d;
    uint32_t mods = bind->in->mods;
    dec->wide = (bind->in->src[LDGSTS_ra].mods & OPM_WIDE64) != 0;
    bind->width[2] = dec->wide ? WIDTH_U64 : WIDTH_32;
    bind->width[3] = WIDTH_U64;
    if (!bind_plain(bind, op_ldgsts))
        return false;
    dec->size = (uint8_t)isa_access_bytes(bind->in);
    dec->copy.zfill = MGET(LDGSTS, zfill, mods);
    dec->copy.descriptor = MGET(LDGSTS, desc, mods);
    return true;
}

static int op_ldgdepbar(Warp *warp, Dec *dec, uint32_t g) {
    (void)dec;
    for (; warp->copies && g; g &= g - 1)
        warp->copies->groups[low_lane(g)]++;
    return RUN_OK;
}
bool bind_LDGDEPBAR(Bind *bind) { return bind_plain(bind, op_ldgdepbar); }

static int op_depbar(Warp *warp, Dec *dec, uint32_t g) {
    const MachInst *inst = dec->inst;
    finish(warp, g, inst->optype == OT_DEPBAR ? inst->src[DEPBAR_count].value : 0, false);
    return RUN_OK;
}
bool bind_DEPBAR(Bind *bind) { return bind_plain(bind, op_depbar); }
bool bind_DEPBAR_SET(Bind *bind) { return bind_plain(bind, op_depbar); }
