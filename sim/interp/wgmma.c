/* Products by a warp group, of 64 rows: wgmma.mma_async (PTX ISA 9.7.15). Warp w of the four has the rows 16w
 * to 16w + 15 of A and D; each is executed for itself, when it is issued, which PTX allows: nobody may look
 * at D or change A and B before wgmma.wait_group. There a thread waits for the whole product, so until all
 * warps of the group have given theirs: "wgmma.commit_group" makes one group of products "per warpgroup", and
 * who waits goes on when it is complete (9.7.15.7). No more is ordered: the warps do not meet.
 *
 * A descriptor says where a matrix is in shared memory, in units of 16 bytes. Its chunks of 16 bytes go along
 * k (K-major) or along the rows of A and the columns of B (transposed). Eight chunks that are neighbours
 * across that are an atom: 16 bytes apart without swizzling, else a span of 32, 64 or 128 bytes, in which
 * chunks of one line are together and exchanged by the number of the span. SPDX-License-Identifier: MIT */
#include "sim/interp/matrix.h"

enum { WARP = SIM_WARP_LANES, ROWS = 16, COLUMNS = 8, CHUNK = 16, WARPS_OF_GROUP = 4 };

typedef struct {
    uint32_t start, leading, stride; /* bytes */
    uint32_t span;                   /* bytes; CHUNK: not swizzled */
    bool transposed;
} Described;

static Described described(uint64_t bits, bool transposed) {
    static const uint8_t spans[] = {CHUNK, 128, 64, 32};
    return (Described){.start = (uint32_t)(bits & 0x3fff) * CHUNK,
                       .leading = (uint32_t)(bits >> 16 & 0x3fff) * CHUNK,
                       .stride = (uint32_t)(bits >> 32 & 0x3fff) * CHUNK,
                       .span = spans[bits >> 62],
                       .transposed = transposed};
}

/* Where the chunk is: `along` it, in chunks, and `across`. */
static uint32_t chunk_address(const Described *matrix, uint32_t along, uint32_t across) {
    uint32_t in_span = matrix->span / CHUNK, at = matrix->start + across % 8 * matrix->span;
    if (matrix->span == CHUNK) /* the leading offset is that along k, whatever k is */
        at += matrix->transposed ? along * matrix->stride + across / 8 * matrix->leading
                                 : along * matrix->leading + across / 8 * matrix->stride;
    else
        at += (matrix->transposed ? along % in_span * CHUNK + along / in_span * matrix->leading
                                  : along * CHUNK) +
              across / 8 * matrix->stride;
    return (at ^ (at / 128 % in_span * CHUNK)) & 0x3ffff;
}

/* Element k of line `line` (a row of A, a column of B). False after a trap. */
static bool fetch(PtxThread *thread, const Described *matrix, FactorKind kind, unsigned line, unsigned k,
                  const Factors *f, Element *out) {
    PtxRun *run = thread->warp->block->run;
    unsigned along = (matrix->transposed ? line : k) * kind.bits, across = matrix->transposed ? k : line;
    uint32_t chunk = chunk_address(matrix, along / (8 * CHUNK), across);
    const uint8_t *bytes = interp_memory(run, thread, thread->wait, SP_SHARED, chunk, CHUNK, false);
    if (!bytes)
        return false;
    interp_race_product(run, thread, thread->wait);
    uint32_t word;
    memcpy(&word, bytes + along / 32 * 4 % CHUNK, sizeof word);
    *out = interp_element(f, kind, word, along % 32 / kind.bits);
    return true;
}

static Element scaled(const Factors *f, Element element, int64_t factor) {
    if (f->is_float && factor < 0)
        element.f = -element.f;
    return element;
}

/* The four registers of a lane are as those of mma. */
static void take_registers(PtxWarp *warp, FactorKind kind, int64_t factor, Factors *f) {
    for (unsigned lane = 0; lane < WARP; lane++) {
        const PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        for (unsigned r = 0; r < code->fragment[1]; r++) {
            uint64_t reg = interp_arg(warp->block->run, thread, &code->vec[code->fragment[0] + r]);
            for (unsigned i = 0; i < kind.each; i++)
                f->a[lane / 4 + r % 2 * 8][(r / 2 * 4 + lane % 4) * kind.each + i] =
                    scaled(f, interp_element(f, kind, reg, i), factor);
        }
    }
}

/* Operands behind scale-d: the factors of A and B, and whether they are transposed; of a sparse A where its
 * elements stand is in front of it. */
static const PtxOperand *said(const PtxInsn *insn, unsigned which) {
    unsigned at = (insn->flags & PF_SPARSE ? 6 : 4) + which;
    return at < insn->noperands ? &insn->operands[at] : NULL;
}
enum { FACTOR_A, FACTOR_B, TRANSPOSED_A };

/* What the lanes must agree about; false after a trap. */
static bool same_in_all(PtxWarp *warp, unsigned arg) {
    PtxRun *run = warp->block->run;
    uint64_t first = interp_arg(run, &warp->threads[0], &warp->threads[0].wait->vec[arg]);
    for (unsigned lane = 1; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        if (interp_arg(run, thread, &thread->wait->vec[arg]) == first)
            continue;
        interp_trap(run, thread, thread->wait, TRAP_COLLECTIVE, "lanes differ in a descriptor or in scale-d");
        return false;
    }
    return true;
}

static bool refuse(PtxWarp *warp, const char *why) {
    interp_trap(warp->block->run, &warp->threads[0], warp->threads[0].wait, TRAP_COLLECTIVE, why);
    return false;
}

static bool may_multiply(PtxWarp *warp, uint32_t lanes) {
    const PtxCode *code = warp->threads[0].wait;
    PtxRun *run = warp->block->run;
    if (!interp_is_whole(warp, lanes))
        return false;
    unsigned number = (unsigned)(warp - warp->block->warps), words = code->fragment[1];
    unsigned first = code->fragment[0] + (words == 1 ? 0 : words); /* of what all lanes say */
    unsigned scale = code->fragment[0] + words + 1;
    if (number / WARPS_OF_GROUP * WARPS_OF_GROUP + WARPS_OF_GROUP > warp->block->nwarps)
        return refuse(warp, "the block has no four warps for a warp group");
    for (unsigned k = first; k <= scale; k++)
        if (!same_in_all(warp, k))
            return false;
    for (unsigned k = first; k < scale; k++)
        if (interp_arg(run, &warp->threads[0], &code->vec[k]) >> 49 & 7)
            return refuse(warp, "a base offset in a matrix descriptor is not modelled");
    return true;
}

static bool take_a(PtxWarp *warp, FactorKind kind, Factors *f) {
    PtxThread *thread = &warp->threads[0];
    const PtxCode *code = thread->wait;
    const PtxInsn *insn = code->insn;
    const PtxOperand *transposed = said(insn, TRANSPOSED_A);
    int64_t factor = said(insn, FACTOR_A) ? said(insn, FACTOR_A)->imm : 1;
    if (code->fragment[1] > 1) {
        take_registers(warp, kind, factor, f);
        return true;
    }
    unsigned first = (unsigned)(warp - warp->block->warps) % WARPS_OF_GROUP * ROWS;
    Described matrix = described(interp_arg(warp->block->run, thread, &code->vec[code->fragment[0]]),
                                 transposed && transposed->imm);
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned k = 0; k < f->k / (f->sparse ? 2 : 1); k++) {
            if (!fetch(thread, &matrix, kind, first + row, k, f, &f->a[row][k]))
                return false;
            f->a[row][k] = scaled(f, f->a[row][k], factor);
        }
    return true;
}

/* Columns `first` to first + 7. */
static bool take_b(PtxWarp *warp, FactorKind kind, unsigned first, Factors *f) {
    PtxThread *thread = &warp->threads[0];
    const PtxCode *code = thread->wait;
    const PtxInsn *insn = code->insn;
    int64_t factor = said(insn, FACTOR_B) ? said(insn, FACTOR_B)->imm : 1;
    unsigned at = code->fragment[0] + code->fragment[1];
    /* with A in registers nothing is said of A's transposition */
    bool transposed = said(insn, TRANSPOSED_A) && insn->operands[insn->noperands - 1].imm;
    Described matrix = described(interp_arg(warp->block->run, thread, &code->vec[at]), transposed);
    for (unsigned col = 0; col < COLUMNS; col++)
        for (unsigned k = 0; k < f->k; k++) {
            if (!fetch(thread, &matrix, kind, first + col, k, f, &f->b[k][col]))
                return false;
            f->b[k][col] = scaled(f, f->b[k][col], factor);
        }
    return true;
}

/* Eight columns of D: rows lane / 4 and eight below, columns 2 (lane % 4) and the next, a register each, or
 * both columns in one. out[lane][register] */
static void eight_columns(PtxWarp *warp, unsigned first, const Factors *f, bool adds,
                          uint64_t out[WARP][128]) {
    PtxRun *run = warp->block->run;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        bool packed = code->insn->type[0] == TY_F16;
        for (unsigned i = 0; i < 4; i++) {
            unsigned at = (first / COLUMNS * 4 + i) / (packed ? 2 : 1), low = packed ? 16 * (i % 2) : 0;
            uint64_t old = adds ? interp_arg(run, thread, &code->vec[at]) >> low : 0;
            out[lane][at] |= interp_one_sum(f, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2,
                                            packed ? old & 0xffff : old, code->insn, run->opt.sums)
                             << low;
        }
    }
}

static void multiply_group(PtxWarp *warp, uint32_t lanes) {
    const PtxCode *code = warp->threads[0].wait;
    const PtxInsn *insn = code->insn;
    if (!may_multiply(warp, lanes))
        return;
    bool adds = interp_arg(warp->block->run, &warp->threads[0],
                           &code->vec[code->fragment[0] + code->fragment[1] + 1]) &
                1;
    Factors f = {.m = ROWS, .n = COLUMNS, .k = insn->shape[2]};
    uint64_t out[WARP][128] = {{0}};
    f.sparse = insn->flags & PF_SPARSE;
    f.is_float = ptx_type_class((PtxType)insn->type[1]) == TC_FLOAT;
    if (!take_a(warp, interp_factor_kind((PtxType)insn->type[1]), &f))
        return;
    if (f.sparse)
        interp_take_places(warp, (unsigned)insn->operands[4].imm, &f);
    for (unsigned first = 0; first < insn->shape[1]; first += COLUMNS) {
        if (!take_b(warp, interp_factor_kind((PtxType)insn->type[2]), first, &f))
            return;
        eight_columns(warp, first, &f, adds, out);
    }
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned r = 0; r < code->nwritten; r++)
            interp_put(&warp->threads[lane], warp->threads[lane].wait->vec_dst[r], out[lane][r]);
}

bool interp_bind_wgmma(PtxCode *code) { return interp_bind_whole(code, multiply_group); }

/* ---- groups of products ---- */

static bool are_done(const PtxWarp *warp, uint64_t groups) {
    const PtxBlock *block = warp->block;
    uint32_t first = warp->index / WARPS_OF_GROUP * WARPS_OF_GROUP;
    for (uint32_t i = first; i < first + WARPS_OF_GROUP && i < block->nwarps; i++)
        if (block->warps[i].alive && block->warps[i].products < groups)
            return false;
    return true;
}

static void know_products(PtxRun *run, PtxThread *thread, uint32_t groups) {
    const PtxBlock *block = thread->warp->block;
    uint32_t first = thread->warp->index / WARPS_OF_GROUP * WARPS_OF_GROUP;
    for (uint32_t i = first; i < first + WARPS_OF_GROUP && i < block->nwarps; i++)
        interp_race_products(run, thread, &block->warps[i].threads[0], groups);
}

void interp_products_given(PtxWarp *warp) {
    PtxBlock *block = warp->block;
    uint32_t first = warp->index / WARPS_OF_GROUP * WARPS_OF_GROUP;
    for (uint32_t i = first; i < first + WARPS_OF_GROUP && i < block->nwarps; i++)
        for (uint32_t lane = 0; lane < block->warps[i].nlanes; lane++) {
            PtxThread *thread = &block->warps[i].threads[lane];
            if (thread->state == TS_PRODUCTS && are_done(thread->warp, thread->wait_value[0])) {
                know_products(block->run, thread, (uint32_t)thread->wait_value[0]);
                interp_wake(thread);
            }
        }
}

static void commit(PtxWarp *warp, uint32_t lanes) {
    if (!interp_is_whole(warp, lanes))
        return;
    warp->products++;
    interp_race_commit(warp->block->run, &warp->threads[0]);
    interp_products_given(warp);
}

static PtxStep exec_wait_products(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint64_t open = (uint64_t)code->insn->operands[0].imm;
    uint32_t groups = open < thread->warp->products ? thread->warp->products - (uint32_t)open : 0;
    if (are_done(thread->warp, groups)) {
        know_products(run, thread, groups);
        return STEP_GO;
    }
    thread->wait_value[0] = groups;
    interp_block_thread(thread, TS_PRODUCTS, code);
    if (!thread->warp->block->runnable[thread->warp->index])
        interp_release_active(thread->warp);
    return STEP_STOP;
}

bool interp_bind_wgmma_commit(PtxCode *code) { return interp_bind_whole(code, commit); }
bool interp_bind_wgmma_wait(PtxCode *code) { return interp_use_exec(code, exec_wait_products); }
