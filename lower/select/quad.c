/* Selection of mma.m8n8k4 of f16 (PTX ISA 9.7.14.5.1), sm_70's: four products of 8 by 4 and 4 by 8, the one
 * of number p by the lanes 4p .. 4p + 3 and those 16 above. Later machines have products with 16 rows, of
 * which the group of lanes 4g .. 4g + 3 has rows g and g + 8 (matrix.c); here the group's four lanes have the
 * four rows of one half of a product. So:
 *
 * Rows g and g + 8 are rows u and u + 2 of that half, for u = 0 and for u = 1; a lane takes what is its own.
 * Of the eight of k four are zero, and B is that of one product for all lanes, so that no infinity of another
 * meets a zero; a lane takes the one of the four that is its own. Columns 2t and 2t + 1 are two of those that
 * lane t has; for each pair of columns of a lane there is another product.
 *
 * C and D stay where they are; A and B come by SHFL. ptxas 13.0 has HMMA.884 for sm_75; its code for sm_80
 * and later is another function (docs/numerics.md). SPDX-License-Identifier: MIT */
#include "lower/select/matrix.h"

enum { WORD_LOW = 0x5410, WORD_HIGH = 0x7632, MOST_PAIRS = 4, PRODUCTS = 4 };

typedef struct {
    Sel *sel;
    Operand lane, home, turn, odd;   /* first lane of the product and half, lane % 4, lane % 2 is 1 */
    Operand has_k, is_own[PRODUCTS]; /* lane % 4 < 2; the product is the lane's */
    bool by_lines[2];                /* of A, B: a lane has a line of it, else an element of four */
    Operand factor[2][2];            /* A, B: two words */
    bool wide;                       /* C and D are f32 */
} Quads;

/* The words 2w and 2w + 1 of k, w = lane % 2, of row `line` of A, or column, of the half that begins with
 * lane `first`: line % 4 is a number or (`own`) in a register. */
static Operand pair_of_line(Quads *quads, unsigned which, Operand first, unsigned line) {
    Sel *sel = quads->sel;
    const Operand *words = quads->factor[which];
    if (quads->by_lines[which]) {
        Operand from = sel_iadd(sel, first, op_imm(line));
        Operand low = sel_shuffle(sel, ShflMode_IDX, words[0], from);
        Operand high = sel_shuffle(sel, ShflMode_IDX, words[1], from);
        return sel_select(sel, quads->odd, high, low);
    }
    Operand pair = sel_shl(sel, sel_and(sel, quads->lane, op_imm(1)), op_imm(1)); /* k of two lanes */
    Operand from = sel_iadd(sel, first, pair);
    Operand a = sel_shuffle(sel, ShflMode_IDX, words[line / 2], from);
    from = sel_iadd(sel, from, op_imm(1));
    Operand b = sel_shuffle(sel, ShflMode_IDX, words[line / 2], from);
    return sel_prmt(sel, a, op_imm(line % 2 ? WORD_HIGH : WORD_LOW), b);
}

/* Rows u and u + 2: words a[row]. */
static void rows_of_a(Quads *quads, unsigned u, Operand *a) {
    for (unsigned r = 0; r < 2; r++) {
        Operand pair = pair_of_line(quads, 0, quads->home, u + 2 * r);
        a[r] = sel_select(quads->sel, quads->has_k, pair, op_rz());
    }
}

/* Which column of a product's eight stands in column g of the machine's: in pair v of those that a lane has,
 * column 2t + e is (t & 2) + e + 4v of f32, 2v + e of f16. */
static Operand column_lane(Quads *quads, unsigned v) {
    Sel *sel = quads->sel;
    Operand group = sel_shr(sel, false, quads->lane, op_imm(2));
    Operand even = sel_and(sel, group, op_imm(1));
    if (!quads->wide) /* columns 4 to 7 are 16 lanes on */
        return sel_iadd(sel, even, op_imm(v % 2 * 2 + v / 2 * 16));
    Operand side = sel_and(sel, sel_shr(sel, false, group, op_imm(1)), op_imm(2));
    return sel_iadd(sel, sel_or(sel, side, even), op_imm(v * 16));
}

/* The column is the lane's, not the same for all, so of a B by rows all four halves come and one is taken. */
static Operand element_of_row(Quads *quads, Operand from, Operand column) {
    Sel *sel = quads->sel;
    Operand low = sel_shuffle(sel, ShflMode_IDX, quads->factor[1][0], from);
    Operand high = sel_shuffle(sel, ShflMode_IDX, quads->factor[1][1], from);
    Operand second = sel_isetp(sel, false, ICmp_NE, sel_and(sel, column, op_imm(2)), op_imm(0));
    Operand word = sel_select(sel, second, high, low);
    return sel_shr(sel, false, word, sel_shl(sel, sel_and(sel, column, op_imm(1)), op_imm(4)));
}

/* Lane t < 2 has rows 2t and 2t + 1 of B of product p. */
static Operand column_of_b(Quads *quads, unsigned p, unsigned v) {
    Sel *sel = quads->sel;
    Operand at = column_lane(quads, v);
    if (quads->by_lines[1]) {
        Operand pair = pair_of_line(quads, 1, sel_iadd(sel, at, op_imm(4 * p)), 0);
        return sel_select(sel, quads->has_k, pair, op_rz());
    }
    Operand pair = sel_shl(sel, sel_and(sel, quads->lane, op_imm(1)), op_imm(1)); /* k */
    Operand upper = sel_and(sel, at, op_imm(16)), column = sel_and(sel, at, op_imm(3));
    Operand from = sel_iadd(sel, sel_or(sel, pair, upper), op_imm(4 * p));
    Operand a = element_of_row(quads, from, column);
    from = sel_iadd(sel, from, op_imm(1));
    Operand b = element_of_row(quads, from, column);
    return sel_select(sel, quads->has_k, sel_prmt(sel, a, op_imm(WORD_LOW), b), op_rz());
}

/* A part of D in all lanes, of rows u and u + 2: of f32 four words, of f16 two. */
static bool one_part(Quads *quads, const Operand *a, const Operand *b, const Operand *c, Operand *d) {
    Sel *sel = quads->sel;
    SelProduct eight = {.d = quads->wide ? TY_F32 : TY_F16, .a = TY_F16, .b = TY_F16, .rows = 16, .k = 8};
    for (unsigned p = 0; p < PRODUCTS; p++) {
        Operand sums[4];
        if (!sel_product(sel, &eight, a, &b[p], c, sums))
            return false;
        for (unsigned k = 0; k < (quads->wide ? 4 : 2); k++)
            d[k] = p ? sel_select(sel, quads->is_own[p], sums[k], d[k]) : sums[k];
    }
    return true;
}

/* f32: pair v of columns has the words 4v .. 4v + 3, rows as they come. */
static bool wide_sums(Quads *quads, Operand a[2][2], Operand b[][PRODUCTS], const Operand *c, Operand *d) {
    for (unsigned v = 0; v < 2; v++) {
        Operand even[4], odd[4];
        if (!one_part(quads, a[0], b[v], c + 4 * v, even) || !one_part(quads, a[1], b[v], c + 4 * v, odd))
            return false;
        for (unsigned k = 0; k < 4; k++)
            d[4 * v + k] = sel_select(quads->sel, quads->odd, odd[k], even[k]);
    }
    return true;
}

/* f16: word v is of row t; rows 2 and 3 are the second ones of their parts. */
static bool narrow_sums(Quads *quads, Operand a[2][2], Operand b[][PRODUCTS], const Operand *c, Operand *d) {
    Sel *sel = quads->sel;
    Operand below = sel_isetp(sel, false, ICmp_GE, quads->turn, op_imm(2));
    for (unsigned v = 0; v < MOST_PAIRS; v++) {
        Operand both[2] = {c[v], c[v]}, sums[2];
        for (unsigned u = 0; u < 2; u++) {
            Operand part[4];
            if (!one_part(quads, a[u], b[v], both, part))
                return false;
            sums[u] = sel_select(sel, below, part[1], part[0]);
        }
        d[v] = sel_select(sel, quads->odd, sums[1], sums[0]);
    }
    return true;
}

/* C of f16, of which a lane has a row, where D of f32 is, as f32. */
static void widen_c(Quads *quads, const Operand *from, Operand *c) {
    Sel *sel = quads->sel;
    Operand right = sel_isetp(sel, false, ICmp_GE, quads->turn, op_imm(2));
    Operand row = sel_and(sel, quads->lane, op_imm(1));
    for (unsigned v = 0; v < 2; v++)
        for (unsigned r = 0; r < 2; r++) {
            Operand at = sel_iadd(sel, sel_iadd(sel, quads->home, row), op_imm(2 * r));
            Operand low = sel_shuffle(sel, ShflMode_IDX, from[2 * v], at);
            Operand high = sel_shuffle(sel, ShflMode_IDX, from[2 * v + 1], at);
            Operand word = sel_select(sel, right, high, low);
            for (unsigned e = 0; e < 2; e++)
                c[4 * v + 2 * r + e] = sel_widen_half(sel, e ? sel_shr(sel, false, word, op_imm(16)) : word);
        }
}

bool sel_quads(Sel *sel, const PtxInsn *in) {
    Operand lane = sel_lane(sel), a[2][2], b[MOST_PAIRS][PRODUCTS], c[8], d[8];
    Quads quads = {.sel = sel,
                   .lane = lane,
                   .home = sel_and(sel, lane, op_imm(28)),
                   .turn = sel_and(sel, lane, op_imm(3)),
                   .by_lines = {in->sub == SUB_ROW, in->sub2 == SUB_COL},
                   .wide = sel_type(in) == TY_F32};
    quads.odd = sel_isetp(sel, false, ICmp_NE, sel_and(sel, lane, op_imm(1)), op_imm(0));
    quads.has_k = sel_isetp(sel, false, ICmp_LT, quads.turn, op_imm(2));
    Operand group = sel_and(sel, sel_shr(sel, false, lane, op_imm(2)), op_imm(3));
    for (unsigned p = 1; p < PRODUCTS; p++)
        quads.is_own[p] = sel_isetp(sel, false, ICmp_EQ, group, op_imm(p));
    sel_read_fragment(sel, &in->operands[1], 4, quads.factor[0]);
    sel_read_fragment(sel, &in->operands[2], 4, quads.factor[1]);
    if (quads.wide && in->type[3] == TY_F16) {
        Operand narrow[4];
        sel_read_fragment(sel, &in->operands[3], 4, narrow);
        widen_c(&quads, narrow, c);
    } else {
        sel_read_fragment(sel, &in->operands[3], 4, c);
    }
    for (unsigned u = 0; u < 2; u++)
        rows_of_a(&quads, u, a[u]);
    for (unsigned v = 0; v < (quads.wide ? 2 : MOST_PAIRS); v++)
        for (unsigned p = 0; p < PRODUCTS; p++)
            b[v][p] = column_of_b(&quads, p, v);
    if (!(quads.wide ? wide_sums : narrow_sums)(&quads, a, b, c, d))
        return false;
    sel_write_fragment(sel, &in->operands[0], TY_B32, d);
    return true;
}
