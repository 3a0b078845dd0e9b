/* Operations of native binaries that are too rare to be compiled for each host level: video and three-way
 * minima, 8 by 8 matrices of 16-bit elements, ELECT, and hints and fences that have no effect here.
 *
 * Every access is performed at once and in order: fences do nothing. A launch is the only grid: ACQBULK has
 * nothing to wait for, PREEXIT nobody to wake.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <string.h>

bool bind_plain(Bind *bind, OpFn *fn) {
    bind_operands(bind);
    bind->d->full = bind->d->part = fn;
    return !bind->failed;
}

/* ---- elements of a word ---- */

static unsigned element_bits(uint32_t type) {
    return type == VimnmxType_U8x4 ? 8 : type == VimnmxType_U16x2 || type == VimnmxType_S16x2 ? 16 : 32;
}
static bool is_signed(uint32_t type) { return type == VimnmxType_S32 || type == VimnmxType_S16x2; }

static int64_t element(uint32_t x, unsigned lo, unsigned bits, bool sign) {
    uint64_t v = (uint64_t)(x >> lo) << (64 - bits);
    return sign ? (int64_t)v >> (64 - bits) : (int64_t)(v >> (64 - bits));
}

static uint32_t min_max(uint32_t type, uint32_t x, uint32_t y, bool min) {
    unsigned bits = element_bits(type);
    uint32_t out = 0;
    for (unsigned lo = 0; lo < 32; lo += bits) {
        int64_t p = element(x, lo, bits, is_signed(type)), q = element(y, lo, bits, is_signed(type));
        uint32_t v = (uint32_t)((p < q) == min ? p : q);
        out |= (bits == 32 ? v : v & ((1u << bits) - 1)) << lo;
    }
    return out;
}

/* Element by element, without carry between them. */
static uint32_t add_elements(uint32_t type, uint32_t x, uint32_t y, bool negate_y) {
    unsigned bits = element_bits(type);
    uint32_t out = 0;
    for (unsigned lo = 0; lo < 32; lo += bits) {
        uint32_t q = y >> lo, v = (x >> lo) + (negate_y ? 0 - q : q);
        out |= (bits == 32 ? v : v & ((1u << bits) - 1)) << lo;
    }
    return out;
}

/* the predicate says minimum */
static int op_min_max(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *a = dec_src(w, dec, 0), *b = dec_src(w, dec, 1), *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0), min = dec_pred(w, dec, 0), type = dec->minmax.type;
    for (; g; g &= g - 1) {
        unsigned i = low_lane(g);
        bool m = min >> i & 1;
        uint32_t v =
            dec->minmax.sum ? add_elements(type, a[i], b[i], dec->xm[1] != 0) : min_max(type, a[i], b[i], m);
        if (dec->minmax.three)
            v = min_max(type, v, c[i], m);
        r[i] = dec->minmax.relu ? min_max(type, v, 0, false) : v;
    }
    return RUN_OK;
}

static bool use_min_max(Bind *bind, uint32_t type, bool relu, bool three, bool sum) {
    if (type > VimnmxType_U8x4 || (relu && !is_signed(type)))
        return bind_not_simulated(bind);
    bind->d->minmax.type = type;
    bind->d->minmax.relu = relu;
    bind->d->minmax.three = three;
    bind->d->minmax.sum = sum;
    return bind_plain(bind, op_min_max);
}
bool bind_video_min_max(Bind *bind) {
    return use_min_max(bind, MGET(VIMNMX, type, bind->in->mods), MGET(VIMNMX, relu, bind->in->mods), false,
                       false);
}
bool bind_VIMNMX3(Bind *bind) {
    return use_min_max(bind, MGET(VIMNMX3, type, bind->in->mods), MGET(VIMNMX3, relu, bind->in->mods), true,
                       false);
}
bool bind_VIADDMNMX(Bind *bind) {
    return use_min_max(bind, MGET(VIADDMNMX, type, bind->in->mods), MGET(VIADDMNMX, relu, bind->in->mods),
                       true, true);
}

/* |a - b| of four bytes: packed, or with ACC their sum added to c. */
static int op_vabsdiff4(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *a = dec_src(w, dec, 0), *b = dec_src(w, dec, 1), *c = dec_src(w, dec, 2);
    uint32_t *r = dec_dst(w, dec, 0);
    for (; g; g &= g - 1) {
        unsigned i = low_lane(g);
        uint32_t packed = 0, sum = c[i];
        for (unsigned lo = 0; lo < 32; lo += 8) {
            int64_t x = element(a[i], lo, 8, dec->absdiff.is_signed),
                    y = element(b[i], lo, 8, dec->absdiff.is_signed);
            uint32_t v = (uint32_t)(x < y ? y - x : x - y);
            packed |= v << lo;
            sum += v;
        }
        r[i] = dec->absdiff.sum ? sum : packed;
    }
    return RUN_OK;
}
bool bind_VABSDIFF4(Bind *bind) {
    bind->d->absdiff.is_signed = MGET(VABSDIFF4, sign, bind->in->mods) == ByteSign_S8;
    bind->d->absdiff.sum = MGET(VABSDIFF4, acc, bind->in->mods);
    return bind_plain(bind, op_vabsdiff4);
}

/* The sum of three pairs of uniform registers. */
static int op_uiadd64(Warp *w, Dec *dec, uint32_t g) {
    uint64_t sum = 0;
    uint32_t *r = dec_dst(w, dec, 0);
    if (!g)
        return RUN_OK;
    for (unsigned k = 0; k < 3; k++) {
        const uint32_t *v = dec_src(w, dec, k);
        uint64_t x = (uint64_t)v[32] << 32 | v[0];
        sum += dec->xm[k] ? 0 - x : x;
    }
    for (unsigned i = 0; i < 32; i++) {
        r[i] = (uint32_t)sum;
        r[32 + i] = (uint32_t)(sum >> 32);
    }
    return RUN_OK;
}
bool bind_UIADD3_64(Bind *bind) {
    bind->width[0] = bind->width[2] = WIDTH_U64;
    bind->width[1] = WIDTH_I64; /* of 32 bits, with its sign */
    return bind_plain(bind, op_uiadd64);
}

/* ---- shared memory ---- */

/* [address] += 1 for each lane in turn, which is what counting them at once gives. */
static int op_popc_inc(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *a = dec_src(w, dec, 0), *u = dec_src(w, dec, 1);
    uint32_t *r = dec_dst(w, dec, 0);
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        MemRef ref;
        uint32_t v;
        int status =
            machine_shared_at(w, dec, lane, (a[lane] << dec->mem.shift) + u[0] + dec->imm[0], 4, true, &ref);
        if (status != RUN_OK)
            return status;
        machine_mem_load(w, lane, &ref, 4, &v);
        r[lane] = v++;
        machine_mem_store(w, lane, &ref, 4, &v);
    }
    return RUN_OK;
}
bool bind_ATOMS_POPC_INC(Bind *bind) {
    uint32_t stride = MGET(ATOMS_POPC_INC, stride, bind->in->mods);
    bind->d->mem.shift = stride ? stride + 1 : 0; /* X4 X8 X16 */
    return bind_plain(bind, op_popc_inc);
}

/* ---- 8 by 8 matrices of 16-bit elements: lane l holds elements 2 (l % 4) and the next of row l / 4 ---- */

static uint32_t fragment(const uint16_t m[8][8], unsigned lane, bool transposed) {
    unsigned row = lane / 4, col = 2 * (lane % 4);
    return transposed ? m[col][row] | (uint32_t)m[col + 1][row] << 16
                      : m[row][col] | (uint32_t)m[row][col + 1] << 16;
}

static void set_fragment(uint16_t m[8][8], unsigned lane, uint32_t v, bool transposed) {
    unsigned row = lane / 4, col = 2 * (lane % 4);
    *(transposed ? &m[col][row] : &m[row][col]) = (uint16_t)v;
    *(transposed ? &m[col + 1][row] : &m[row][col + 1]) = (uint16_t)(v >> 16);
}

bool machine_whole_warp(Warp *w, const Dec *dec, uint32_t g, int *status) {
    if (g != ~0u)
        *status = machine_trap(w, dec, low_lane(g), TRAP_COLLECTIVE, "%s by lanes 0x%08x",
                               isa_optype_name(dec->optype), g);
    return g == ~0u;
}

/* lane 8 m + r has the address of row r of matrix m */
static int op_ldsm(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *a = dec_src(w, dec, 0), *u = dec_src(w, dec, 1);
    uint32_t *r = dec_dst(w, dec, 0), out[4][32];
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return status;
    for (unsigned n = 0; n < dec->matrix.count; n++) {
        uint16_t m[8][8];
        for (unsigned row = 0; row < 8; row++) {
            unsigned lane = 8 * n + row;
            MemRef ref;
            if ((status = machine_shared_at(w, dec, lane, a[lane] + u[0] + dec->imm[0], 16, false, &ref)) !=
                RUN_OK)
                return status;
            machine_mem_load(w, lane, &ref, 16, m[row]);
        }
        for (unsigned lane = 0; lane < 32; lane++)
            out[n][lane] = fragment((const uint16_t(*)[8])m, lane, dec->matrix.transposed);
    }
    memcpy(r, out, dec->matrix.count * sizeof out[0]);
    return RUN_OK;
}

static int op_stsm(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *a = dec_src(w, dec, 0), *v = dec_src(w, dec, 1);
    int status = RUN_OK;
    if (!machine_whole_warp(w, dec, g, &status))
        return status;
    for (unsigned n = 0; n < dec->matrix.count; n++) {
        uint16_t m[8][8];
        for (unsigned lane = 0; lane < 32; lane++)
            set_fragment(m, lane, v[32 * n + lane], dec->matrix.transposed);
        for (unsigned row = 0; row < 8; row++) {
            unsigned lane = 8 * n + row;
            MemRef ref;
            if ((status = machine_shared_at(w, dec, lane, a[lane] + dec->imm[0], 16, true, &ref)) != RUN_OK)
                return status;
            machine_mem_store(w, lane, &ref, 16, m[row]);
        }
    }
    return RUN_OK;
}

static int op_movm(Warp *w, Dec *d, uint32_t g) {
    const uint32_t *a = dec_src(w, d, 0);
    uint32_t *r = dec_dst(w, d, 0), out[32];
    uint16_t m[8][8];
    int status = RUN_OK;
    if (!machine_whole_warp(w, d, g, &status))
        return status;
    for (unsigned lane = 0; lane < 32; lane++)
        set_fragment(m, lane, a[lane], false);
    for (unsigned lane = 0; lane < 32; lane++)
        out[lane] = fragment((const uint16_t(*)[8])m, lane, true);
    memcpy(r, out, sizeof out);
    return RUN_OK;
}
bool bind_MOVM(Bind *b) { return bind_plain(b, op_movm); }

static unsigned matrices(uint32_t num) { return num == MatCount_X4 ? 4 : num == MatCount_X2 ? 2 : 1; }
bool bind_LDSM(Bind *bind) {
    bind->d->matrix.count = matrices(MGET(LDSM, num, bind->in->mods));
    bind->d->matrix.transposed = MGET(LDSM, trans, bind->in->mods) == MatTrans_MT88;
    return bind_plain(bind, op_ldsm);
}
bool bind_STSM(Bind *bind) {
    bind->d->matrix.count = matrices(MGET(STSM, num, bind->in->mods));
    bind->d->matrix.transposed = MGET(STSM, trans, bind->in->mods) == MatTrans_MT88;
    return bind_plain(bind, op_stsm);
}

/* ---- ELECT ---- */

/* The lowest executing lane, as PTX's interpreter takes it too. */
static int op_elect(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return RUN_OK;
    uint32_t *r = dec_dst(warp, dec, 0), leader = low_lane(g);
    if (warp->active != warp->valid && dec->dst[0] < ROW_SINK * ROW_BYTES)
        machine_finding(warp, dec, MF_UNIFORM_DIVERGED, g, 0, "ELECT");
    set_pred(warp, dec->pd[0], g, 1u << leader);
    for (unsigned i = 0; i < 32; i++)
        r[i] = leader;
    return RUN_OK;
}
bool bind_ELECT(Bind *bind) {
    if (!bind_plain(bind, op_elect))
        return false;
    return bind->d->q[0].index == REG_PT && !bind->d->q[0].x
               ? true
               : bind_not_simulated(bind); /* pp's meaning is not known */
}

/* ---- registers of the warp ---- */

/* Every thread has all 255: what is asked for is there, what is given back stays. */
static int op_alloc_registers(Warp *warp, Dec *dec, uint32_t g) {
    set_pred(warp, dec->pd[0], g, ~0u);
    return RUN_OK;
}
bool bind_USETMAXREG_ALLOC(Bind *b) { return bind_plain(b, op_alloc_registers); }

/* ---- no effect ---- */

static int op_nothing(Warp *w, Dec *d, uint32_t g) {
    (void)w;
    (void)d;
    (void)g;
    return RUN_OK;
}
#define NOTHING(op)                                                                                          \
    bool bind_##op(Bind *b) { return bind_plain(b, op_nothing); }
NOTHING(WARPGROUP_ARRIVE)
NOTHING(WARPGROUP_DEPBAR)
NOTHING(USETMAXREG_DEALLOC)
NOTHING(CGAERRBAR)
NOTHING(FENCE_VIEW_ASYNC)
NOTHING(PMTRIG)
NOTHING(ACQBULK)
NOTHING(PREEXIT)
