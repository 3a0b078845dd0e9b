/* Do the weights of a group look like fields of a word? Weights that fit everything seen may still be wrong
 * where little was seen of some modifier: if operands sit elsewhere under it, its own weight takes up the
 * difference and nothing contradicts. But then it reaches into the bits of the operands. So what a word has
 * beside its operands,
 *
 *     rest = c - sum of values times weights
 *
 * must not be negative and must not have bits where the values of a power of two as weight have theirs, nor
 * may one value have them where another has. Left aside are patterns whose modifiers do reach there by
 * intent: numbers below zero and NaNs. SPDX-License-Identifier: MIT */
#include "learn/learn.h"
#include <string.h>

__extension__ typedef unsigned __int128 Wide;

typedef struct {
    bool known[LEARN_VALUES];
    Wide weight[LEARN_VALUES], span[LEARN_VALUES], taken; /* bits of the values seen; from first to last */
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

static Wide part_of(const Fields *fields, unsigned i, const int64_t *values) {
    return fields->known[i] && values[i] > 0 ? (Wide)(uint64_t)values[i] * fields->weight[i] : 0;
}

static Wide fill_between(Wide bits) {
    Wide below = bits;
    for (unsigned shift = 1; shift < 128; shift *= 2)
        below |= below >> shift;
    return below & ~((bits & -bits) - 1);
}

static void take_bits(const LearnRepository *repository, const LearnKey *key, const LearnGroup *group,
                      Fields *fields) {
    for (uint32_t p = 0; p < key->patterns.n; p++) {
        const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[p]];
        for (uint32_t k = 0; pattern->number == group->number && k < pattern->seen.n; k++)
            for (unsigned i = 0; i < key->nvalues; i++)
                fields->span[i] |= part_of(fields, i, pattern->seen.at[k].values);
    }
    for (unsigned i = 0; i < key->nvalues; i++) {
        fields->taken |= fields->span[i];
        fields->span[i] = fields->span[i] ? fill_between(fields->span[i]) : 0;
    }
}

/* Has this value bits where another has its own? */
static bool reaches_into_another(const LearnKey *key, const Fields *fields, unsigned value, Wide part) {
    for (unsigned i = 0; i < key->nvalues; i++)
        if (i != value && part &&
            (part & fields->span[i] || (fields->span[i] && fields->weight[i] == fields->weight[value])))
            return true;
    return false;
}

/* False: operands of this one lie elsewhere. */
static bool fits_fields(const LearnKey *key, const Fields *fields, const int64_t *values,
                        const uint64_t word[2]) {
    Wide rest = (Wide)word[1] << 64 | word[0];
    for (unsigned i = 0; i < key->nvalues; i++) {
        Wide part = part_of(fields, i, values);
        if (values[i] < 0)
            return true;
        if (part > rest || reaches_into_another(key, fields, i, part))
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
