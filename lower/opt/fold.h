/* What the files of the pass `fold` share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_OPT_FOLD_H
#define HEDDLE_LOWER_OPT_FOLD_H
#include "lower/opt/opt.h"

typedef struct {
    Function *f;
    Arena a;
    uint32_t *repl; /* [value] copies */
    Operand *known; /* [value] what it always holds: OPK_IMM, OPK_CMEM, PT or !PT; OPK_NONE if not known */
    uint32_t *zero; /* [value] bits that are always 0 */
    bool changed;
} Fold;

static inline const Value *opt_fold_value(const Fold *fold, uint32_t v) { return &fold->f->values.at[v]; }

static inline uint32_t opt_fold_same_as(const Fold *fold, uint32_t v) {
    while (fold->repl[v])
        v = fold->repl[v];
    return v;
}

/* Notes what is known of an instruction's results, by what is known of its operands. */
void opt_fold_learn(Fold *fold, InstId id);
bool opt_fold_known_bits(const Fold *fold, Operand o, uint32_t *bits);
/* Bits that are always 0: of an operand, and of the first result of an instruction. */
uint32_t opt_fold_zero_bits(const Fold *fold, Operand o);
uint32_t opt_fold_zeros_of(const Fold *fold, const Inst *i);
/* The operand that LOP3 gives unchanged, as the mask of what has no other bits; OPK_NONE if there is none. */
Operand opt_fold_lop3_same(const Fold *fold, const Inst *i);
/* The operand that a permutation gives unchanged: the extension of what has no sign is it itself. Only in the
 * operand's own block: of a register of 16 bits `heddle prove` knows the other half where it sees it made. */
Operand opt_fold_permuted_same(const Fold *fold, const Inst *i);
#endif
