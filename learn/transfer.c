/* A repository of one architecture from that of another. Neighbours share most encodings, and what is the
 * same is not to be seen again; but nothing is taken on trust. A key is taken over if
 *   - each instruction of it seen here has the word that what was seen there says, where that says one, and
 * at least one instruction does, and
 *   - what was seen here and there fits together as well as each for itself.
 * SPDX-License-Identifier: MIT */
#include "learn/learn.h"
#include <string.h>

static LearnKey *key_named(LearnRepository *repository, const char *name) {
    StrId id = str_find(&repository->strings, name, strlen(name));
    uint32_t index = id.i ? strmap_get(&repository->key_index, id) : 0;
    return index ? &repository->keys.at[index - 1] : NULL;
}

/* Add what was seen of a key of `from`; false: something contradicts what is there. */
static bool add_seen(LearnRepository *to, const LearnRepository *from, const LearnKey *key) {
    char why[LEARN_WHY_BYTES];
    const char *at;
    bool good = true;
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        const LearnPattern *pattern = &from->patterns.at[key->patterns.at[i]];
        for (uint32_t k = 0; k < pattern->seen.n; k++) {
            const LearnEvidence *seen = &pattern->seen.at[k];
            LearnSight sight = {.text = seen->text,
                                .pc_bytes = seen->pc_bytes,
                                .word = {seen->word[0], seen->word[1]},
                                .file = seen->file,
                                .line = seen->line,
                                .arch = seen->arch};
            LearnAdded added = learn_add(to, &sight, &at, why);
            good &= added == LEARN_NEW || added == LEARN_KNOWN;
        }
    }
    return good;
}

/* Of what was seen here, how much follows from there; false: something is different. */
static bool agrees(const LearnRepository *here, const LearnKey *key, LearnRepository *there,
                   uint32_t *nfollow) {
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        const LearnPattern *pattern = &here->patterns.at[key->patterns.at[i]];
        for (uint32_t k = 0; k < pattern->seen.n; k++) {
            const LearnEvidence *seen = &pattern->seen.at[k];
            uint64_t word[2];
            const char *at;
            char why[LEARN_WHY_BYTES];
            if (learn_assemble(there, seen->text, seen->pc_bytes, word, &at, why) != LEARN_WORD)
                continue;
            if (word[0] != seen->word[0] || word[1] != seen->word[1])
                return false;
            ++*nfollow;
        }
    }
    return true;
}

static bool fits_together(const LearnRepository *here, const LearnKey *key, LearnRepository *there,
                          LearnKey *other) {
    LearnRepository both;
    learn_open(&both, here->arch);
    bool good = add_seen(&both, here, key) && add_seen(&both, there, other);
    if (good) {
        LearnKey *joint = &both.keys.at[0];
        learn_solve_key(&both, joint);
        LearnLevel level, here_level, there_level;
        learn_deficit(&both, joint, &level);
        learn_deficit(here, key, &here_level);
        learn_deficit(there, other, &there_level);
        good = both.keys.n == 1 && level <= (here_level > there_level ? here_level : there_level);
    }
    learn_free(&both);
    return good;
}

LearnTransfer learn_transfer(LearnRepository *repository, LearnRepository *other) {
    LearnTransfer result = {0};
    for (uint32_t i = 0; i < other->keys.n; i++) {
        LearnKey *from = &other->keys.at[i];
        LearnKey *key = key_named(repository, str_text(&other->strings, from->name));
        uint32_t nfollow = 0;
        if (!key) {
            result.unseen++;
            continue;
        }
        learn_solve_key(repository, key);
        learn_solve_key(other, from);
        if (!agrees(repository, key, other, &nfollow) || !fits_together(repository, key, other, from)) {
            result.different++;
        } else if (!nfollow) {
            result.untested++;
        } else {
            add_seen(repository, other, from);
            result.taken++;
        }
    }
    return result;
}
