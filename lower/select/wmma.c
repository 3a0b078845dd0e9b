/* Selection of wmma (PTX ISA 9.7.14.4) as loads, stores and products of mma.
 *
 * PTX leaves open which lane has which elements. They lie as ptxas 13.0 lays them for sm_80 and later, where
 * each piece of 16 by 8 (8 by 8) is the fragment of an mma: A in pieces of 16 rows, B and the sums in pieces
 * of 8 columns. m8n32k16 is m32n8k16 of the transposed matrices: B in pieces of 16 columns, A as B elsewhere.
 *
 * `line`: row of A, column of B, row of C and D (turned: the other one). Lane 4g + t has of a register's word
 * elements of line g (and const) from place t times a word's elements (and const) on; so an address is
 *     p + ((line or place) * stride + the other one) elements
 * with a part that is the lane's and one that is a number. SPDX-License-Identifier: MIT */
#include "lower/select/matrix.h"

enum { NEAR_BYTES = 1 << 22, MOST_WORDS = 8, MOST_LINES = 32 };

static bool is_turned(const PtxInsn *in) { return in->shape[1] == 32; }

static unsigned wmma_bits(PtxType type) {
    return type == TY_B1 ? 1 : type == TY_U4 || type == TY_S4 ? 4 : 8 * ptx_type_bytes(type);
}

/* ---- fragments in memory ---- */

typedef struct {
    Sel *sel;
    const PtxInsn *in;
    unsigned bits, per;    /* of an element; elements of a word */
    unsigned words, steps; /* different ones, those of them along a line of a factor */
    bool is_sum, is_tall;  /* C, D; words of a factor alternate between lines and those 8 below */
    bool by_lines;         /* a line's elements are neighbours in memory */
    bool is_constant;      /* stride_bytes is its value, else it is in a register */
    uint32_t stride_bytes;
    Operand stride;         /* elements; bytes of elements smaller than that */
    Address at[MOST_LINES]; /* a lane's first element, moved by so many strides */
    uint32_t known;         /* which of them are made */
} Memory;

/* The words of a fragment, with those that repeat others left out. */
static void shape_of(Memory *mem) {
    const PtxInsn *in = mem->in;
    bool turned = is_turned(in), is_b = in->sub2 == SUB_B;
    unsigned lines = is_b ? in->shape[1] : in->shape[0];
    mem->is_sum = in->sub2 == SUB_C || in->sub2 == SUB_D;
    mem->is_tall = is_b ? turned : !turned && lines > 8;
    mem->steps = in->shape[2] / (4 * mem->per);
    mem->words = lines / 8 * mem->steps;
    if (mem->is_sum)
        mem->words = (unsigned)in->shape[0] * in->shape[1] / (32 * mem->per);
    bool line_is_row = mem->is_sum ? !turned : !is_b;
    mem->by_lines = line_is_row == !(in->flags & PF_COL_A);
}

/* What is constant in the line and in the place of the first element of a word. */
static void word_place(const Memory *mem, unsigned word, unsigned *line, unsigned *place) {
    if (mem->is_sum) {
        unsigned pair = word * mem->per / 2;
        bool below = mem->in->shape[0] == 32 || is_turned(mem->in);
        *line = 8 * (below ? pair : pair % 2);
        *place = (below ? 0 : 8 * (pair / 2)) + word * mem->per % 2;
    } else if (mem->is_tall) {
        *line = 16 * (word / (2 * mem->steps)) + 8 * (word % 2);
        *place = 4 * mem->per * (word % (2 * mem->steps) / 2);
    } else {
        *line = 8 * (word / mem->steps);
        *place = 4 * mem->per * (word % mem->steps);
    }
}

/* a + x * y, of unsigned numbers */
static void move_by(Sel *sel, Address *a, Operand x, Operand y) {
    if (!a->wide64) {
        a->base = sel_imad(sel, x, y, a->base.kind == OPK_NONE ? op_rz() : a->base);
        return;
    }
    Wide base = sel_wide_pair(sel, a->base);
    base = sel_imad_wide(sel, false, x, y, &base);
    a->base = op_with(sel_pair(sel, base.w[0], base.w[1]), OPM_WIDE64);
}

/* The distance of rows, or of columns. */
static void find_stride(Memory *mem, const PtxOperand *operand) {
    const PtxInsn *in = mem->in;
    unsigned rows = in->sub2 == SUB_B ? in->shape[2] : in->shape[0];
    unsigned cols = in->sub2 == SUB_A ? in->shape[2] : in->shape[1];
    mem->stride = operand ? sel_src32(mem->sel, operand) : op_imm(in->flags & PF_COL_A ? rows : cols);
    if (mem->stride.kind == OPK_IMM && mem->stride.value < NEAR_BYTES / MOST_LINES / 8) {
        mem->is_constant = true;
        mem->stride_bytes = mem->stride.value * mem->bits / 8;
        return;
    }
    mem->stride = sel_value(mem->sel, mem->stride);
    if (mem->bits < 8)
        mem->stride = sel_shr(mem->sel, false, mem->stride, op_imm(mem->bits == 4 ? 1 : 3));
}

/* What a number of strides, or of elements, is to be multiplied by. */
static unsigned stride_factor(const Memory *mem) { return mem->bits < 8 ? 1 : mem->bits / 8; }

/* The address of the first element of this lane. */
static bool find_first(Memory *mem, const PtxOperand *operand) {
    Sel *sel = mem->sel;
    Address a;
    int lane_reg = isa_sreg_number(sel->t, "laneid");
    if (lane_reg < 0)
        return sel_error(sel, "this machine does not say which lane a thread is");
    if (!sel_address(sel, mem->in, operand, (PtxSpace)mem->in->space, &a))
        return false;
    if (a.offset <= -NEAR_BYTES || a.offset >= NEAR_BYTES) {
        Wide by = wide2(op_imm((uint32_t)a.offset), op_imm(a.offset < 0 ? UINT32_MAX : 0));
        if (a.wide64) {
            Wide sum = sel_add64(sel, sel_wide_pair(sel, a.base), by);
            a.base = op_with(sel_pair(sel, sum.w[0], sum.w[1]), OPM_WIDE64);
        } else {
            a.base = a.base.kind == OPK_NONE ? sel_value(sel, by.w[0]) : sel_iadd(sel, a.base, by.w[0]);
        }
        a.offset = 0;
    }
    Operand lane = EMIT_R(sel, OT_S2R, 0, ((Operand){.kind = OPK_SREG, .value = (uint32_t)lane_reg}));
    Operand group = sel_shr(sel, false, lane, op_imm(2)), turn = sel_and(sel, lane, op_imm(3));
    unsigned per = mem->is_sum ? 2 : mem->per; /* places of a turn */
    Operand far = mem->by_lines ? group : turn, near = mem->by_lines ? turn : group;
    unsigned far_times = mem->by_lines ? 1 : per, near_times = mem->by_lines ? per : 1;
    Operand near_bytes = op_imm(near_times * mem->bits / 8);
    if (mem->is_constant) {
        Operand offset = sel_imad(sel, far, op_imm(far_times * mem->stride_bytes),
                                  sel_imad(sel, near, near_bytes, op_rz()));
        move_by(sel, &a, offset, op_imm(1));
    } else {
        move_by(sel, &a, sel_imad(sel, far, op_imm(far_times * stride_factor(mem)), op_rz()), mem->stride);
        move_by(sel, &a, near, near_bytes);
    }
    mem->at[0] = a;
    mem->known = 1;
    return true;
}

static bool find_memory(Memory *mem, const PtxOperand *address, const PtxOperand *stride) {
    mem->bits = wmma_bits(sel_type(mem->in));
    mem->per = mem->bits < 32 ? 32 / mem->bits : 1;
    shape_of(mem);
    find_stride(mem, stride);
    return find_first(mem, address);
}

/* Of element i of a word. */
static Address address_of(Memory *mem, unsigned word, unsigned i) {
    unsigned line, place;
    word_place(mem, word, &line, &place);
    place += i;
    unsigned far = mem->by_lines ? line : place, near = mem->by_lines ? place : line;
    Address a = mem->at[0];
    if (mem->is_constant) {
        a.offset += (int32_t)(far * mem->stride_bytes);
    } else {
        if (!(mem->known >> far & 1))
            move_by(mem->sel, &a, mem->stride, op_imm(far * stride_factor(mem)));
        else
            a = mem->at[far];
        mem->at[far] = a;
        mem->known |= 1u << far;
    }
    a.offset += (int32_t)(near * mem->bits / 8);
    return a;
}

static Operand load_word(Memory *mem, unsigned word) {
    Sel *sel = mem->sel;
    Operand e[4];
    if (mem->by_lines || mem->per == 1) {
        Address a = address_of(mem, word, 0);
        return sel_load_words(sel, mem->in, &a, mem->bits == 64 ? 8 : 4);
    }
    for (unsigned i = 0; i < mem->per; i++) {
        Address a = address_of(mem, word, i);
        e[i] = sel_load_words(sel, mem->in, &a, mem->bits / 8);
    }
    if (mem->per == 4) { /* bytes to halves */
        e[0] = sel_prmt(sel, e[0], op_imm(0x0040), e[1]);
        e[1] = sel_prmt(sel, e[2], op_imm(0x0040), e[3]);
    }
    return sel_prmt(sel, e[0], op_imm(0x5410), e[1]);
}

bool isel_wmma_load(Sel *sel, const PtxInsn *in) {
    Memory mem = {.sel = sel, .in = in};
    Operand words[MOST_WORDS];
    unsigned n = in->operands[0].kind == PO_VEC ? in->operands[0].nvec : 1;
    if (!find_memory(&mem, &in->operands[1], in->noperands > 2 ? &in->operands[2] : NULL))
        return false;
    for (unsigned k = 0; k < n && mem.bits < 64; k++)
        words[k] = k < mem.words ? load_word(&mem, k) : words[k % mem.words];
    for (unsigned k = 0; k < n && mem.bits == 64; k++) {
        Operand pair = load_word(&mem, k);
        words[2 * k] = sel_part(sel, pair, 0);
        words[2 * k + 1] = sel_part(sel, pair, 1);
    }
    sel_write_fragment(sel, &in->operands[0], mem.bits == 64 ? TY_F64 : TY_B32, words);
    return true;
}

bool isel_wmma_store(Sel *sel, const PtxInsn *in) {
    Memory mem = {.sel = sel, .in = in};
    Operand words[MOST_WORDS];
    sel_read_fragment(sel, &in->operands[1], ptx_type_bytes(sel_type(in)) == 8 ? 8 : 4, words);
    if (!find_memory(&mem, &in->operands[0], in->noperands > 2 ? &in->operands[2] : NULL))
        return false;
    for (unsigned k = 0; k < mem.words; k++) {
        bool whole = mem.by_lines || mem.per == 1;
        for (unsigned i = 0; i < (whole ? 1 : mem.per); i++) {
            Address a = address_of(&mem, k, i);
            Operand data = mem.bits == 64 ? sel_pair(sel, words[2 * k], words[2 * k + 1])
                           : i            ? sel_shr(sel, false, words[k], op_imm(i * mem.bits))
                                          : words[k];
            sel_store_words(sel, in, &a, whole ? (mem.bits == 64 ? 8 : 4) : mem.bits / 8, data);
        }
    }
    return true;
}

/* ---- products ---- */

static void widen(Sel *sel, Operand *words, unsigned n) {
    uint32_t mods = MSET(F2F, dst, FSize_F32) | MSET(F2F, src, FSize_F16) | MSET(F2F, rnd, Rnd_RN);
    for (unsigned k = n; k-- > 0;) {
        Operand both = words[k];
        words[2 * k] = EMIT_R(sel, OT_F2F, mods, both);
        words[2 * k + 1] = EMIT_R(sel, OT_F2F, mods, sel_shr(sel, false, both, op_imm(16)));
    }
}

static void narrow(Sel *sel, Operand *words, unsigned n) {
    uint32_t mods = MSET(F2F, dst, FSize_F16) | MSET(F2F, src, FSize_F32) | MSET(F2F, rnd, Rnd_RN);
    for (unsigned k = 0; k < n; k++) {
        Operand low = words[2 * k], high = words[2 * k + 1];
        if (isa_target_has(sel->t, OT_F2FP))
            words[k] = EMIT_R(sel, OT_F2FP, MSET(F2FP, type, F2fpType_F16) | MSET(F2FP, rnd, Rnd_RN), high,
                              low, op_rz());
        else {
            low = EMIT_R(sel, OT_F2F, mods, low);
            high = EMIT_R(sel, OT_F2F, mods, high);
            words[k] = sel_prmt(sel, low, op_imm(0x5410), high);
        }
    }
}

/* The sums are of type f16 only where both C and D are. */
bool isel_wmma_mma(Sel *sel, const PtxInsn *in) {
    bool halves = in->ntypes == 2, turned = is_turned(in);
    PtxType d = sel_type(in), c = (PtxType)in->type[halves ? 1 : 3], sum = d == c ? d : TY_F32;
    PtxType types[] = {halves ? TY_F16 : (PtxType)in->type[1], halves ? TY_F16 : (PtxType)in->type[2]};
    Operand factor[2][MOST_WORDS], old[MOST_WORDS], word[MOST_WORDS];
    unsigned bytes = d == TY_F64 ? 8 : 4, m = in->shape[turned ? 1 : 0], n = in->shape[turned ? 0 : 1];
    SelProduct p = {.d = sum,
                    .a = types[turned],
                    .b = types[!turned],
                    .rows = m > 8 ? 16 : 8,
                    .k = in->shape[2],
                    .saturate = (in->flags & PF_SATFINITE) != 0,
                    .bop = in->bop,
                    .rnd = in->rnd};
    for (unsigned i = 0; i < 2; i++)
        sel_read_fragment(sel, &in->operands[1 + i], bytes, factor[i]);
    unsigned nc = sel_read_fragment(sel, &in->operands[3], bytes, old);
    if (c != sum)
        widen(sel, old, nc);
    unsigned line = d == TY_F64 ? 2 : p.k * wmma_bits(p.a) / 128; /* words of a lane */
    unsigned piece = p.rows / 8 * (sum == TY_F16 ? 1 : bytes / 2);
    for (unsigned row = 0; row < m; row += p.rows)
        for (unsigned col = 0; col < n; col += 8) {
            unsigned at = (row / p.rows + col / 8) * piece;
            if (!sel_product(sel, &p, &factor[turned][row / 8 * line], &factor[!turned][col / 8 * line],
                             &old[at], &word[at]))
                return false;
        }
    if (d != sum)
        narrow(sel, word, 4);
    sel_write_fragment(sel, &in->operands[0], d == TY_F64 ? TY_F64 : TY_B32, word);
    return true;
}
