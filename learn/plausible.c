/* Do the weights of a group look like fields of a word? Weights that fit everything seen may still be wrong
 * where little was seen of some modifier: if operands sit elsewhere under it, its own weight takes up the
 * difference and nothing contradicts. But then it reaches into the bits of the operands. So what a word has
 * beside its operands,
 *
 *     rest = c - sum of values times weights
 *
 * must not be negative and must not have bits where the values of a power of two as weight have theirs. Left
 * aside are patterns whose modifiers do reach there by intent: numbers below zero and NaNs.
 * SPDX-License-Identifier: MIT */
#include "learn/learn.h"
#include <string.h>

__extension__ typedef unsigned __int128 Wide;

typedef struct {
    bool known[LEARN_VALUES];
    Wide weight[LEARN_VALUES], taken; /* bits of the values seen */
} Fields;

/* mods: all of them, in one text */
static bool reaches_into_fields(const char *mods) {
    static const char *const names[] = {"_NegIntImme", "_NegAddrOffset", "_NegTarget", "_+NAN", "_-NAN"};
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
        if (strstr(mods, names[k]))
            return true;
    return false;
}

static void read_fields(const LearnKey *key, const LearnGroup *group, Fields *fields) {
    for (unsigned i = 0; i < key->nvalues; i++) {
        uint64_t weight[2];
        bool negative = true;
        fields->known[i] = learn_system_weight(&group->system, i, weight, &negative) && !negative;
        fields->weight[i] = (Wide)weight[1] << 64 | weight[0];
        fields->known[i] =
            fields->known[i] && fields->weight[i] && !(fields->weight[i] & (fields->weight[i] - 1));
    }
}

static void take_bits(const LearnRepository *repository, const LearnKey *key, const LearnGroup *group,
                      Fields *fields) {
    for (uint32_t p = 0; p < key->patterns.n; p++) {
        const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[p]];
        for (uint32_t k = 0; pattern->number == group->number && k < pattern->seen.n; k++)
            for (unsigned i = 0; i < key->nvalues; i++)
                if (fields->known[i] && pattern->seen.at[k].values[i] > 0)
                    fields->taken |= (Wide)(uint64_t)pattern->seen.at[k].values[i] * fields->weight[i];
    }
}

/* False: operands of this one lie elsewhere. */
static bool fits_fields(const LearnKey *key, const Fields *fields, const int64_t *values,
                        const uint64_t word[2]) {
    Wide rest = (Wide)word[1] << 64 | word[0];
    for (unsigned i = 0; i < key->nvalues; i++) {
        Wide part = fields->known[i] ? (Wide)(uint64_t)values[i] * fields->weight[i] : 0;
        if (values[i] < 0)
            return true;
        if (part > rest)
            return false;
        rest -= part;
    }
    return !(rest & fields->taken);
}

bool learn_plausible(const LearnRepository *repository, const LearnKey *key, const LearnGroup *group) {
    Fields fields = {.taken = 0};
    read_fields(key, group, &fields);
    take_bits(repository, key, group, &fields);
    for (uint32_t p = 0; p < key->patterns.n; p++) {
        const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[p]];
        if (pattern->number != group->number ||
            reaches_into_fields(str_text(&repository->strings, pattern->mods)))
            continue;
        for (uint32_t k = 0; k < pattern->seen.n; k++)
            if (!fits_fields(key, &fields, pattern->seen.at[k].values, pattern->seen.at[k].word))
                return false;
    }
    return true;
}

bool learn_plausible_word(const LearnRepository *repository, const LearnKey *key, const LearnGroup *group,
                          const LearnInsn *insn, const uint64_t word[2]) {
    Fields fields = {.taken = 0};
    if (reaches_into_fields(insn->mods))
        return true;
    read_fields(key, group, &fields);
    take_bits(repository, key, group, &fields);
    return fits_fields(key, &fields, insn->values, word);
}
