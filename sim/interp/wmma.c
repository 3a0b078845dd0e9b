/* Fragments of wmma and their memory: wmma.load, wmma.store (PTX ISA 9.7.14.4).
 *
 * PTX does not say which lane has which elements. They lie as in the code of ptxas 13.0 for sm_80 and later,
 * so that a program that looks gets the same here (found with kernels of one wmma.load or wmma.store each,
 * for every shape, type and layout; sm_75 differs in s32 of m8n32k16). Eight lanes 4g .. 4g + 3 share row g
 * of eight rows of A, and column g of B: four neighbouring words of it, then four more behind them where
 * there are. m8n32k16 is the transpose of m32n8k16: there A lies as B does elsewhere.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/matrix.h"
#include "base/word.h"
#include <inttypes.h>
#include <stdio.h>

enum { WARP = SIM_WARP_LANES };

/* A factor: `line` of its m rows (A) or n columns (B), and which k. `tall`: registers alternate between eight
 * lines and the eight below, else they go along k first. */
static void factor_place(unsigned nlines, unsigned k, unsigned bits, bool tall, unsigned lane, unsigned i,
                         unsigned *line, unsigned *at) {
    unsigned per_word = bits < 32 ? 32 / bits : 1, words = k / (4 * per_word); /* of a line, in a lane */
    unsigned all = nlines / 8 * words, word = i / per_word % all;              /* f16 of A and B repeats */
    unsigned eight, step;
    if (tall) {
        unsigned piece = word / (2 * words), in_piece = word % (2 * words);
        eight = 2 * piece + in_piece % 2;
        step = in_piece / 2;
    } else {
        eight = word / words;
        step = word % words;
    }
    *line = 8 * eight + lane / 4;
    *at = (4 * step + lane % 4) * per_word + i % per_word;
}

/* A sum of products: neighbours in a line are two elements of one lane. Eight lines, the eight below, and
 * then eight columns further, or of 32 lines the other 16. */
static void sum_place(unsigned nlines, unsigned lane, unsigned i, unsigned *line, unsigned *at) {
    unsigned eight = i / 2;
    *line = lane / 4;
    *at = lane % 4 * 2 + i % 2;
    if (nlines == 32)
        *line += 8 * eight;
    else
        *line += eight % 2 * 8, *at += eight / 2 * 8;
}

void interp_wmma_place(const PtxInsn *insn, unsigned matrix, unsigned bits, unsigned lane, unsigned i,
                       unsigned *row, unsigned *col) {
    unsigned m = insn->shape[0], n = insn->shape[1], k = insn->shape[2];
    bool turned = n == 32; /* the product of the transposed factors, transposed */
    if (matrix == SUB_A)
        factor_place(m, k, bits, !turned && m > 8, lane, i, row, col);
    else if (matrix == SUB_B)
        factor_place(n, k, bits, turned, lane, i, col, row);
    else if (turned)
        sum_place(n, lane, i, col, row);
    else
        sum_place(m, lane, i, row, col);
}

/* ---- memory ---- */

typedef struct {
    unsigned matrix, bits, per_word; /* elements of a register */
    uint64_t stride;                 /* elements from a row (.col: column) to the next */
} Layout;

static Layout layout_of(PtxRun *run, const PtxThread *thread) {
    const PtxCode *code = thread->wait;
    const PtxInsn *insn = code->insn;
    Layout layout = {.matrix = insn->sub2, .bits = interp_element_bits((PtxType)insn->type[0])};
    unsigned rows = layout.matrix == SUB_B ? insn->shape[2] : insn->shape[0];
    unsigned cols = layout.matrix == SUB_A ? insn->shape[2] : insn->shape[1];
    layout.per_word = layout.bits < 32 ? 32 / layout.bits : 1;
    layout.stride = insn->flags & PF_COL_A ? rows : cols;
    if (code->nsrc > 1)
        layout.stride = (uint32_t)interp_arg(run, thread, &code->src[1]);
    return layout;
}

/* Where element i is: a byte of memory, for elements of less than 8 bits the one that it is in. */
static uint64_t element_address(const PtxThread *thread, const Layout *layout, unsigned i) {
    const PtxInsn *insn = thread->wait->insn;
    unsigned row, col;
    interp_wmma_place(insn, layout->matrix, layout->bits, thread->lane, i, &row, &col);
    uint64_t at = insn->flags & PF_COL_A ? col * layout->stride + row : row * layout->stride + col;
    uint64_t address = thread->wait_value[0] + at * layout->bits / 8;
    return thread->wait->space == SP_SHARED ? (uint32_t)address : address;
}

/* PTX ISA 9.7.14.4 wants rows (.col: columns) to begin at multiples of the fragment's size, CUDA of 16 bytes:
 * what fewer than both allow is a trap. */
static bool is_aligned(PtxRun *run, const PtxThread *thread, const Layout *layout, unsigned nregs) {
    enum { ROW_BYTES = 16, WORD_BYTES = 4 };
    unsigned bytes = nregs * (layout->bits > 32 ? 2 : 1) * WORD_BYTES;
    uint64_t unit = bytes < ROW_BYTES ? bytes : ROW_BYTES, address = thread->wait_value[0];
    if (address % unit == 0 && layout->stride * layout->bits / 8 % unit == 0)
        return true;
    char text[96];
    snprintf(text, sizeof text, "rows at 0x%" PRIx64 ", %" PRIu64 " bytes apart, no multiples of %u", address,
             layout->stride * layout->bits / 8, (unsigned)unit);
    interp_trap(run, thread, thread->wait, TRAP_MISALIGNED, text);
    return false;
}

/* Elements that one access moves: a register's, where they are neighbours in memory. */
static unsigned elements_of_access(const PtxThread *thread, const Layout *layout) {
    unsigned row[2], col[2];
    if (layout->per_word == 1)
        return 1;
    for (unsigned i = 0; i < 2; i++)
        interp_wmma_place(thread->wait->insn, layout->matrix, layout->bits, 0, i, &row[i], &col[i]);
    return (thread->wait->insn->flags & PF_COL_A ? col[0] == col[1] : row[0] == row[1]) ? layout->per_word
                                                                                        : 1;
}

/* Load a register of a lane, or store it; false after a trap. */
static bool move_word(PtxRun *run, PtxThread *thread, const Layout *layout, unsigned reg, uint64_t *word,
                      bool is_store) {
    const PtxCode *code = thread->wait;
    unsigned n = elements_of_access(thread, layout), bytes = n * layout->bits / 8;
    for (unsigned i = 0; i < layout->per_word; i += n) {
        uint64_t address = element_address(thread, layout, reg * layout->per_word + i),
                 part = *word >> i * layout->bits;
        uint8_t *at = interp_memory(run, thread, code, code->space, address, bytes, is_store);
        if (!at)
            return false;
        if (is_store) {
            interp_race_store(run, thread, code, at, (const uint8_t *)&part);
            word_store(at, part, bytes);
            continue;
        }
        interp_race_load(run, thread, code);
        part = word_load(at, bytes);
        *word |= part << i * layout->bits;
    }
    return true;
}

static void load_fragments(PtxWarp *warp, uint32_t lanes) {
    PtxRun *run = warp->block->run;
    uint64_t words[SIM_WARP_LANES][8] = {0};
    if (!interp_is_whole(warp, lanes))
        return;
    unsigned n = warp->threads[0].wait->vec_dst ? warp->threads[0].wait->nvec : 1;
    for (unsigned lane = 0; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        Layout layout = layout_of(run, thread);
        if (!is_aligned(run, thread, &layout, n))
            return;
        for (unsigned r = 0; r < n; r++)
            if (!move_word(run, thread, &layout, r, &words[lane][r], false))
                return;
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        const PtxCode *code = warp->threads[lane].wait;
        for (unsigned r = 0; r < n; r++)
            interp_put(&warp->threads[lane], code->vec_dst ? code->vec_dst[r] : code->dst[0], words[lane][r]);
    }
}

static void store_fragments(PtxWarp *warp, uint32_t lanes) {
    PtxRun *run = warp->block->run;
    if (!interp_is_whole(warp, lanes))
        return;
    for (unsigned lane = 0; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        Layout layout = layout_of(run, thread);
        if (!is_aligned(run, thread, &layout, thread->wait->nvec))
            return;
        for (unsigned r = 0; r < thread->wait->nvec; r++) {
            uint64_t word = interp_arg(run, thread, &thread->wait->vec[r]);
            if (!move_word(run, thread, &layout, r, &word, true))
                return;
        }
    }
}

bool interp_bind_wmma_load(PtxCode *code) {
    return interp_bind_whole(code, load_fragments) && code->nsrc >= 1;
}
bool interp_bind_wmma_store(PtxCode *code) {
    return interp_bind_whole(code, store_fragments) && code->nsrc >= 1;
}
