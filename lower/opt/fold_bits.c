/* Bits that the pass `fold` knows of values: constants, bits that are always 0, operands that come through
 * tables and permutations as they are. It asks by name for operations of which it knows where the bits of a
 * result come from. SPDX-License-Identifier: MIT */
#include "lower/opt/fold.h"

bool opt_fold_known_bits(const Fold *fold, Operand o, uint32_t *bits) {
    if (o.mods & ~(unsigned)OPM_NEG)
        return false;
    if (opt_scalar(o)) {
        Operand k = fold->known[opt_fold_same_as(fold, o.value)];
        if (k.kind != OPK_IMM)
            return false;
        *bits = k.value;
    } else if (o.kind == OPK_IMM)
        *bits = o.value;
    else if (o.kind == OPK_NONE || (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ))
        *bits = 0;
    else
        return false;
    if (o.mods & OPM_NEG)
        *bits = 0 - *bits;
    return true;
}

uint32_t opt_fold_zero_bits(const Fold *fold, Operand o) {
    uint32_t bits;
    if (opt_fold_known_bits(fold, o, &bits))
        return ~bits;
    return opt_scalar(o) && o.file == RF_R && !o.mods ? fold->zero[opt_fold_same_as(fold, o.value)] : 0;
}

/* Of LOP3: the bits of its operands that may all be as bits 2, 1 and 0 of each row of its table say. */
typedef struct {
    uint32_t of[8];
} Lop3Rows;

static Lop3Rows lop3_rows(const Fold *fold, const Inst *i) {
    uint32_t may_be[3][2];
    Lop3Rows rows;
    for (unsigned n = 0; n < 3; n++) {
        Operand o = *ir_src(fold->f, i, LOP3_ra + n);
        uint32_t bits;
        may_be[n][0] = opt_fold_known_bits(fold, o, &bits) ? ~bits : UINT32_MAX;
        may_be[n][1] = ~opt_fold_zero_bits(fold, o);
    }
    for (unsigned k = 0; k < 8; k++)
        rows.of[k] = may_be[0][k >> 2] & may_be[1][k >> 1 & 1] & may_be[2][k & 1];
    return rows;
}

Operand opt_fold_lop3_same(const Fold *fold, const Inst *i) {
    unsigned lut = MGET(LOP3, lut, i->mods);
    Lop3Rows rows = lop3_rows(fold, i);
    for (unsigned n = 0; n < 3; n++) {
        Operand o = *ir_src(fold->f, i, LOP3_ra + n);
        uint32_t other = 0;
        for (unsigned k = 0; k < 8; k++)
            other |= (lut >> k & 1) != (k >> (2 - n) & 1) ? rows.of[k] : 0;
        if (!other && opt_scalar(o) && !o.mods && o.file == RF_R)
            return o;
    }
    return (Operand){0};
}

typedef struct { /* where a byte of a permutation's result comes from */
    unsigned operand, byte;
    uint32_t zero; /* its bits that are always 0 */
} FromByte;

/* False: the permutation is not of a number. */
static bool permuted_byte(const Fold *fold, const Inst *i, unsigned n, FromByte *from) {
    uint32_t selector;
    if (MGET(PRMT, mode, i->mods) != PrmtMode_IDX ||
        !opt_fold_known_bits(fold, *ir_src(fold->f, i, PRMT_rb), &selector))
        return false;
    unsigned nibble = selector >> 4 * n & 15;
    from->operand = nibble & 4 ? PRMT_rc : PRMT_ra;
    from->byte = nibble & 3;
    from->zero = opt_fold_zero_bits(fold, *ir_src(fold->f, i, from->operand)) >> 8 * from->byte & 0xff;
    if (nibble & 8) { /* its sign eight times */
        from->zero = from->zero & 0x80 ? 0xff : 0;
        from->byte = 4;
    }
    return true;
}

static uint32_t permuted_zeros(const Fold *fold, const Inst *i) {
    uint32_t zero = 0;
    FromByte from;
    for (unsigned n = 0; n < 4; n++)
        if (permuted_byte(fold, i, n, &from))
            zero |= from.zero << 8 * n;
    return zero;
}

Operand opt_fold_permuted_same(const Fold *fold, const Inst *i) {
    for (unsigned k = PRMT_ra; k <= PRMT_rc; k += PRMT_rc - PRMT_ra) {
        Operand o = *ir_src(fold->f, i, k);
        unsigned n = 0;
        FromByte from;
        if (!opt_scalar(o))
            continue;
        while (n < 4 && permuted_byte(fold, i, n, &from) &&
               ((from.operand == k && from.byte == n) ||
                (from.zero == 0xff && (opt_fold_zero_bits(fold, o) >> 8 * n & 0xff) == 0xff)))
            n++;
        if (n == 4 && !o.mods && o.file == RF_R)
            return o;
    }
    return (Operand){0};
}

uint32_t opt_fold_zeros_of(const Fold *fold, const Inst *i) {
    uint32_t zero = UINT32_MAX, shift;
    Lop3Rows rows;
    switch (i->op) {
    case OT_LOP3:
        rows = lop3_rows(fold, i);
        for (unsigned k = 0; k < 8; k++)
            zero &= MGET(LOP3, lut, i->mods) >> k & 1 ? ~rows.of[k] : UINT32_MAX;
        return zero;
    case OT_PRMT: return permuted_zeros(fold, i);
    case OT_SEL:
        return opt_fold_zero_bits(fold, *ir_src(fold->f, i, SEL_ra)) &
               opt_fold_zero_bits(fold, *ir_src(fold->f, i, SEL_rb));
    case OT_SHF: /* of one register, to the right */
        if (MGET(SHF, dir, i->mods) != ShfDir_R || !MGET(SHF, hi, i->mods) ||
            MGET(SHF, type, i->mods) != ShfType_U32 ||
            !opt_fold_known_bits(fold, *ir_src(fold->f, i, SHF_rb), &shift) || shift > 31)
            return 0;
        return ~(~opt_fold_zero_bits(fold, *ir_src(fold->f, i, SHF_rc)) >> shift);
    default: return isa_loaded_zeros(i->op, i->mods);
    }
}
