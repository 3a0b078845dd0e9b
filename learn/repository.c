/* What was seen of one architecture. Of the instructions of a key with the same modifiers (a "pattern") those
 * are kept that do not follow from each other: at most one more than there are values. They span, in every
 * way of counting modifiers, what all instructions seen span, so that nothing else needs to be remembered of
 * a dump of any length, and the way can be chosen at the end:
 *
 *
 * First instructions are parted by the opcode in their words (a group), for the fields of another opcode may
 * lie elsewhere; then, in each group, apart      every modifier weighs for itself: what was seen of .FTZ and
 * of .SAT says what .FTZ.SAT is opcode     the opcode's modifiers together are one unknown together   all
 * modifiers together are patterns   values weigh differently too: each pattern for itself
 *
 * The first at which all that was seen of the group agrees holds. At the last it always does: learn_add
 * leaves out what its pattern contradicts. SPDX-License-Identifier: MIT */
#include "learn/learn.h"
#include "base/scope.h"
#include <flint/flint.h>
#include <string.h>

const char *const learn_level_names[] = {"apart", "opcode", "together", "patterns"};

void learn_open(LearnRepository *repository, const char *arch) {
    *repository = (LearnRepository){0};
    repository->arch = arena_copy(&repository->arena, arch, strlen(arch) + 1);
    repository->urz = learn_urz(arch);
}

static void free_groups(LearnKey *key) {
    for (uint32_t i = 0; i < key->groups.n; i++) {
        LearnGroup *group = &key->groups.at[i];
        learn_system_free(&group->system);
        if (group->loan)
            learn_system_free(&group->loan->system);
    }
    key->groups.n = 0;
}

void learn_free(LearnRepository *repository) {
    for (uint32_t i = 0; i < repository->keys.n; i++)
        free_groups(&repository->keys.at[i]);
    for (uint32_t i = 0; i < repository->patterns.n; i++)
        learn_system_free(&repository->patterns.at[i].system);
    str_free(&repository->strings);
    arena_free(&repository->arena);
    *repository = (LearnRepository){0};
    flint_cleanup();
}

/* ---- keys and patterns ---- */

static uint32_t find_key(const LearnRepository *repository, const char *name) {
    StrId id = str_find(&repository->strings, name, strlen(name));
    return id.i ? strmap_get(&repository->key_index, id) : 0;
}

static uint32_t make_key(LearnRepository *repository, const LearnInsn *insn) {
    StrId name = str_intern_z(&repository->strings, insn->key);
    uint32_t index = strmap_get(&repository->key_index, name);
    if (index)
        return index;
    Arena *arena = &repository->arena;
    LearnKey key = {.name = name,
                    .opcode = str_intern(&repository->strings, insn->key, strcspn(insn->key, "_")),
                    .nvalues = insn->nvalues,
                    .has_target = insn->has_target,
                    .places = arena_copy(arena, insn->places, sizeof(LearnPlace) * insn->nvalues)};
    VEC_ADD(arena, &repository->keys, key);
    strmap_put(&repository->key_index, &repository->arena, name, repository->keys.n);
    return repository->keys.n;
}

static StrId pattern_name(LearnRepository *repository, const LearnInsn *insn, bool make) {
    char name[LEARN_KEY_BYTES + LEARN_TEXT_BYTES + 2];
    int n = snprintf(name, sizeof name, "%s\n%s", insn->key, insn->mods);
    return make ? str_intern(&repository->strings, name, (size_t)n)
                : str_find(&repository->strings, name, (size_t)n);
}

static size_t mod_size(const char *mod) { return strcspn(mod, "\n"); }

static LearnPattern *make_pattern(LearnRepository *repository, const LearnInsn *insn) {
    StrId name = pattern_name(repository, insn, true);
    uint32_t index = strmap_get(&repository->pattern_index, name);
    if (index)
        return &repository->patterns.at[index - 1];
    StrTab *strings = &repository->strings;
    StrId *mods = ARENA_ARRAY(&repository->arena, StrId, insn->nmods + 1);
    for (unsigned i = 0; i < insn->nmods; i++)
        mods[i] = str_intern(strings, insn->mod[i], mod_size(insn->mod[i]));
    size_t opcode_size = insn->nopcode_mods < insn->nmods
                             ? (size_t)(insn->mod[insn->nopcode_mods] - insn->mods)
                             : strlen(insn->mods);
    uint32_t key = make_key(repository, insn);
    LearnPattern pattern = {.mods = str_intern_z(strings, insn->mods),
                            .mod = mods,
                            .nmods = insn->nmods,
                            .nopcode_mods = insn->nopcode_mods,
                            .opcode_mods = str_intern(strings, insn->mods, opcode_size),
                            .key = key - 1};
    VEC_ADD(&repository->arena, &repository->patterns, pattern);
    strmap_put(&repository->pattern_index, &repository->arena, name, repository->patterns.n);
    VEC_ADD(&repository->arena, &repository->keys.at[key - 1].patterns, repository->patterns.n - 1);
    return &repository->patterns.at[repository->patterns.n - 1];
}

/* ---- one pattern ---- */

/* 1, then the values. */
static unsigned pattern_row(const int64_t *values, unsigned nvalues, LearnEntry *row) {
    unsigned n = 0;
    row[n++] = (LearnEntry){0, 1};
    for (unsigned i = 0; i < nvalues; i++)
        if (values[i])
            row[n++] = (LearnEntry){i + 1, values[i]};
    return n;
}

static void solve_pattern(LearnPattern *pattern, unsigned nvalues) {
    LearnRow rows[LEARN_VALUES + 2];
    LearnEntry entries[LEARN_VALUES + 2][LEARN_VALUES + 2];
    uint32_t bad;
    for (uint32_t i = 0; i < pattern->seen.n; i++)
        rows[i] = (LearnRow){entries[i], pattern_row(pattern->seen.at[i].values, nvalues, entries[i]),
                             pattern->seen.at[i].word};
    learn_system_solve(&pattern->system, rows, pattern->seen.n, nvalues + 1, &bad);
}

/* The instruction among those kept that says so most nearly, for the message. */
static const LearnEvidence *witness(const LearnPattern *pattern, const LearnInsn *insn) {
    const LearnEvidence *best = &pattern->seen.at[0];
    for (uint32_t i = 0; i < pattern->seen.n; i++)
        if (memcmp(pattern->seen.at[i].values, insn->values, sizeof(int64_t) * insn->nvalues) == 0)
            best = &pattern->seen.at[i];
    return best;
}

static void learn_word_text(const uint64_t word[2], char out[40]) {
    snprintf(out, 40, "0x%016llx 0x%016llx", (unsigned long long)word[0], (unsigned long long)word[1]);
}

static void without_control(const uint64_t word[2], uint64_t out[2]) {
    out[0] = word[0];
    out[1] = word[1] & ~((((uint64_t)1 << 17) - 1) << (LEARN_CONTROL_BIT - 64));
}

static LearnAdded told_twice(const LearnPattern *pattern, const LearnInsn *insn, const uint64_t got[2],
                             bool is_word, char why[LEARN_WHY_BYTES]) {
    const LearnEvidence *other = witness(pattern, insn);
    char text[40] = "no word";
    if (is_word)
        learn_word_text(got, text);
    snprintf(why, LEARN_WHY_BYTES, "%s:%u (%.80s) and instructions like it say that this is %s", other->file,
             other->line, other->text, text);
    return LEARN_TOLD_TWICE;
}

uint16_t learn_number(const uint64_t word[2]) {
    return (uint16_t)((word[0] & 0xfff) | (word[1] >> (91 - 64) & 1) << 12);
}

static void keep(LearnRepository *repository, LearnPattern *pattern, const LearnInsn *insn,
                 const LearnSight *sight, const uint64_t word[2]) {
    Arena *arena = &repository->arena;
    LearnEvidence *evidence = VEC_PUSH(arena, &pattern->seen);
    *evidence = (LearnEvidence){
        .text = arena_copy(arena, sight->text, strlen(sight->text) + 1),
        .values = arena_copy(arena, insn->values, sizeof(int64_t) * (insn->nvalues + 1)),
        .pc_bytes = sight->pc_bytes,
        .word = {word[0], word[1]},
        .file = str_text(&repository->strings, str_intern_z(&repository->strings, sight->file)),
        .line = sight->line,
        .arch = str_text(&repository->strings,
                         str_intern_z(&repository->strings, sight->arch ? sight->arch : repository->arch))};
    uint16_t number = learn_number(word);
    pattern->number = pattern->seen.n == 1 || pattern->number == number ? number : LEARN_MIXED;
    solve_pattern(pattern, insn->nvalues);
    repository->nkept++;
    repository->keys.at[pattern->key].solved = false;
    repository->guard.known = false;
}

LearnAdded learn_add(LearnRepository *repository, const LearnSight *sight, const char **at,
                     char why[LEARN_WHY_BYTES]) {
    LearnInsn insn;
    LearnEntry row[LEARN_VALUES + 2];
    uint64_t word[2], got[2];
    if (!learn_parse(sight->text, sight->pc_bytes, repository->urz, &insn, at, why))
        return LEARN_NO_TEXT;
    without_control(sight->word, word);
    LearnPattern *pattern = make_pattern(repository, &insn);
    LearnKey *key = &repository->keys.at[pattern->key];
    LearnSpan span =
        learn_system_word(&pattern->system, row, pattern_row(insn.values, insn.nvalues, row), got);
    bool same = span == LEARN_SPAN_WORD && got[0] == word[0] && got[1] == word[1];
    if (span != LEARN_SPAN_OUTSIDE && !same) {
        key->ntold_twice++;
        return told_twice(pattern, &insn, got, span == LEARN_SPAN_WORD, why);
    }
    key->ninsts += sight->count;
    repository->ninsts += sight->count;
    if (same)
        return LEARN_KNOWN;
    keep(repository, pattern, &insn, sight, word);
    return LEARN_NEW;
}

/* ---- the common systems of a key ---- */

/* The modifiers that are one unknown each at the group's level, in ids[]; how many. */
static unsigned units_of(LearnLevel level, const LearnPattern *pattern, StrId ids[LEARN_MODS + 1]) {
    unsigned n = 0, first = 0;
    if (level == LEARN_TOGETHER) {
        ids[n++] = pattern->mods;
        return n;
    }
    if (level == LEARN_OPCODE) {
        ids[n++] = pattern->opcode_mods;
        first = pattern->nopcode_mods;
    }
    for (unsigned i = first; i < pattern->nmods; i++)
        ids[n++] = pattern->mod[i];
    return n;
}

unsigned learn_row(const LearnGroup *group, const LearnPattern *pattern, const int64_t *values,
                   unsigned nvalues, LearnEntry *row) {
    StrId ids[LEARN_MODS + 1];
    unsigned units = units_of(group->level, pattern, ids), n = 0;
    for (unsigned i = 0; i < nvalues; i++)
        if (values[i])
            row[n++] = (LearnEntry){i, values[i]};
    for (unsigned i = 0; i < units; i++)
        row[n++] = (LearnEntry){strmap_get(&group->features, ids[i]) - 1, 1};
    return n;
}

void learn_make_features(LearnRepository *repository, const LearnKey *key, LearnGroup *group) {
    group->features = (StrMap){0};
    group->nfeatures = key->nvalues;
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[i]];
        StrId ids[LEARN_MODS + 1];
        unsigned units = pattern->number == group->number ? units_of(group->level, pattern, ids) : 0;
        for (unsigned k = 0; k < units; k++)
            if (!strmap_get(&group->features, ids[k]))
                strmap_put(&group->features, &repository->arena, ids[k], ++group->nfeatures);
    }
}

bool learn_solve_group(LearnRepository *repository, const LearnKey *key, LearnGroup *group,
                       const LearnRow *more, uint32_t nmore) {
    enum { ROW = LEARN_VALUES + LEARN_MODS + 1 };
    uint32_t nrows = nmore, bad;
    for (uint32_t i = 0; i < key->patterns.n; i++)
        nrows += repository->patterns.at[key->patterns.at[i]].seen.n;
    LearnRow *rows = mem_alloc(sizeof *rows * (nrows + 1));
    LearnEntry *entries = mem_alloc(sizeof *entries * ROW * (nrows + 1));
    group->nrows = 0;
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[i]];
        for (uint32_t k = 0; pattern->number == group->number && k < pattern->seen.n; k++) {
            LearnEntry *row = entries + (size_t)ROW * group->nrows;
            unsigned n = learn_row(group, pattern, pattern->seen.at[k].values, key->nvalues, row);
            rows[group->nrows++] = (LearnRow){row, n, pattern->seen.at[k].word};
        }
    }
    for (uint32_t i = 0; i < nmore; i++)
        rows[group->nrows++] = more[i];
    bool good = learn_system_solve(&group->system, rows, group->nrows, group->nfeatures, &bad);
    mem_free(rows);
    mem_free(entries);
    return good && learn_plausible(repository, key, group);
}

static bool solve_at_level(LearnRepository *repository, const LearnKey *key, LearnGroup *group) {
    learn_make_features(repository, key, group);
    return learn_solve_group(repository, key, group, NULL, 0);
}

static LearnGroup *group_numbered(const LearnKey *key, uint16_t number) {
    for (uint32_t i = 0; i < key->groups.n; i++)
        if (key->groups.at[i].number == number)
            return &key->groups.at[i];
    return NULL;
}

void learn_solve_key(LearnRepository *repository, LearnKey *key) {
    if (key->solved)
        return;
    free_groups(key);
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        uint16_t number = repository->patterns.at[key->patterns.at[i]].number;
        if (!group_numbered(key, number))
            VEC_ADD(&repository->arena, &key->groups, ((LearnGroup){.number = number}));
    }
    for (uint32_t i = 0; i < key->groups.n; i++) {
        LearnGroup *group = &key->groups.at[i];
        group->level = group->number == LEARN_MIXED ? LEARN_PATTERNS : LEARN_APART;
        while (group->level < LEARN_PATTERNS && !solve_at_level(repository, key, group))
            group->level++;
    }
    key->solved = true;
}

LearnGroup *learn_group_of(const LearnRepository *repository, const LearnKey *key,
                           const LearnPattern *pattern) {
    LearnGroup *group = NULL;
    if (key->groups.n == 1)
        return &key->groups.at[0];
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        const LearnPattern *seen = &repository->patterns.at[key->patterns.at[i]];
        if (!str_eq(seen->opcode_mods, pattern->opcode_mods))
            continue;
        LearnGroup *other = group_numbered(key, seen->number);
        if (str_eq(seen->mods, pattern->mods))
            return other;
        if (group && group != other)
            return NULL;
        group = other;
    }
    return group;
}

unsigned learn_deficit(const LearnRepository *repository, const LearnKey *key, LearnLevel *level) {
    unsigned deficit = 0;
    *level = LEARN_APART;
    for (uint32_t i = 0; i < key->groups.n; i++) {
        const LearnGroup *group = &key->groups.at[i];
        *level = group->level > *level ? group->level : *level;
        deficit += group->level < LEARN_PATTERNS ? group->system.nullity : 0;
    }
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[i]];
        const LearnGroup *group = group_numbered(key, pattern->number);
        deficit += group && group->level == LEARN_PATTERNS ? pattern->system.nullity : 0;
    }
    return deficit;
}

/* ---- assembling ---- */

static LearnAssembled outside(char why[LEARN_WHY_BYTES], const char *text, const char *name, size_t size) {
    snprintf(why, LEARN_WHY_BYTES, text, (int)size, name);
    return LEARN_OUTSIDE;
}

/* The text's modifiers as a pattern that was perhaps never seen. */
static void pattern_of_text(const LearnRepository *repository, const LearnInsn *insn, LearnPattern *pattern,
                            StrId mods[LEARN_MODS]) {
    const StrTab *strings = &repository->strings;
    *pattern = (LearnPattern){.mod = mods, .nmods = insn->nmods, .nopcode_mods = insn->nopcode_mods};
    size_t opcode_size = insn->nopcode_mods < insn->nmods
                             ? (size_t)(insn->mod[insn->nopcode_mods] - insn->mods)
                             : strlen(insn->mods);
    pattern->mods = str_find(strings, insn->mods, strlen(insn->mods));
    pattern->opcode_mods = str_find(strings, insn->mods, opcode_size);
    for (unsigned i = 0; i < insn->nmods; i++)
        mods[i] = str_find(strings, insn->mod[i], mod_size(insn->mod[i]));
}

/* Are all its modifiers, counted as the group counts them, among those seen? If not, why. */
static bool has_features(const LearnGroup *group, const LearnPattern *pattern, const LearnInsn *insn,
                         char why[LEARN_WHY_BYTES]) {
    StrId ids[LEARN_MODS + 1];
    unsigned units = units_of(group->level, pattern, ids);
    for (unsigned i = 0; i < units; i++) {
        if (ids[i].i && strmap_get(&group->features, ids[i]))
            continue;
        if (group->level == LEARN_APART)
            outside(why, "modifier %.*s of its key was never seen", insn->mod[i], mod_size(insn->mod[i]));
        else
            outside(why, "no %.*s with these modifiers together was seen", insn->key, strlen(insn->key));
        return false;
    }
    return true;
}

/* By what other keys say, too. False: that does not say it, either. */
static bool assemble_borrowing(LearnRepository *repository, const LearnKey *key, LearnGroup *group,
                               const LearnInsn *insn, uint64_t word[2]) {
    LearnEntry row[LEARN_VALUES + LEARN_MODS + 2];
    LearnPattern asked;
    StrId mods[LEARN_MODS];
    char why[LEARN_WHY_BYTES];
    const LearnGroup *loan = learn_loan(repository, key, group);
    if (!loan)
        return false;
    pattern_of_text(repository, insn, &asked, mods); /* some of its modifiers were only borrowed */
    return has_features(loan, &asked, insn, why) &&
           learn_system_word(&loan->system, row, learn_row(loan, &asked, insn->values, insn->nvalues, row),
                             word) == LEARN_SPAN_WORD &&
           learn_number(word) == group->number && learn_plausible_word(repository, key, loan, insn, word);
}

/* By what was seen under the same guard. */
static LearnAssembled assemble_as_seen(LearnRepository *repository, LearnKey *key, const LearnInsn *insn,
                                       uint64_t word[2], char why[LEARN_WHY_BYTES]) {
    LearnEntry row[LEARN_VALUES + LEARN_MODS + 2];
    LearnPattern asked;
    StrId mods[LEARN_MODS], name = pattern_name(repository, insn, false);
    LearnSpan span = LEARN_SPAN_OUTSIDE;
    learn_solve_key(repository, key);
    uint32_t index = name.i ? strmap_get(&repository->pattern_index, name) : 0;
    if (index) /* nothing that the group's system says otherwise, and soon asked */
        span = learn_system_word(&repository->patterns.at[index - 1].system, row,
                                 pattern_row(insn->values, insn->nvalues, row), word);
    if (span == LEARN_SPAN_OUTSIDE) {
        pattern_of_text(repository, insn, &asked, mods);
        LearnGroup *group = learn_group_of(repository, key, &asked);
        if (!group || (group->level == LEARN_PATTERNS && !index))
            return outside(why, "no %.*s with just these modifiers was seen", insn->key, strlen(insn->key));
        bool knows = group->level < LEARN_PATTERNS && has_features(group, &asked, insn, why);
        if (knows)
            span = learn_system_word(&group->system, row,
                                     learn_row(group, &asked, insn->values, insn->nvalues, row), word);
        if (span == LEARN_SPAN_OUTSIDE && group->level == LEARN_APART &&
            assemble_borrowing(repository, key, group, insn, word))
            span = LEARN_SPAN_WORD;
        if (span == LEARN_SPAN_OUTSIDE && !knows && group->level < LEARN_PATTERNS)
            return LEARN_OUTSIDE;
    }
    bool in_control = span == LEARN_SPAN_WORD && word[1] >> (LEARN_CONTROL_BIT - 64) & 0x1ffff;
    if (span == LEARN_SPAN_WORD && !in_control)
        return LEARN_WORD;
    return outside(why,
                   span == LEARN_SPAN_OUTSIDE
                       ? "it is no combination of the %.*s seen: more of them are needed"
                       : "the %.*s seen give no word for it",
                   insn->key, strlen(insn->key));
}

/* ---- the guard ---- */

/* One of the guard's weights, in all keys that determine it. */
static bool shared_weight(LearnRepository *repository, const char *mod, uint64_t weight[2]) {
    StrId id = mod ? str_find(&repository->strings, mod, strlen(mod)) : (StrId){0};
    unsigned nsay = 0;
    for (uint32_t i = 0; i < repository->keys.n; i++) {
        const LearnKey *key = &repository->keys.at[i];
        bool says = false;
        for (uint32_t k = 0; k < key->groups.n; k++) {
            const LearnGroup *group = &key->groups.at[k];
            uint64_t found[2];
            bool negative;
            uint32_t feature = !mod ? 1 : id.i ? strmap_get(&group->features, id) : 0;
            if (group->level > LEARN_OPCODE || !feature ||
                !learn_system_weight(&group->system, feature - 1, found, &negative))
                continue;
            if (negative || (nsay && memcmp(found, weight, sizeof found) != 0))
                return false;
            memcpy(weight, found, sizeof found);
            nsay += !says;
            says = true;
        }
    }
    return nsay >= 2;
}

static void find_guard(LearnRepository *repository) {
    LearnGuard *guard = &repository->guard;
    if (guard->known)
        return;
    for (uint32_t i = 0; i < repository->keys.n; i++)
        learn_solve_key(repository, &repository->keys.at[i]);
    guard->value_known = shared_weight(repository, NULL, guard->value);
    guard->not_known = shared_weight(repository, "0_PNot", guard->negated);
    guard->up_known = shared_weight(repository, "0_UP", guard->uniform);
    guard->known = true;
}

typedef struct {
    int64_t value;
    bool negated, uniform;
} Guard;

static bool mod_is(const char *mod, const char *name) { return strncmp(mod, name, strlen(name)) == 0; }

static Guard guard_of(const LearnInsn *insn) {
    Guard guard = {.value = insn->values[0]};
    for (unsigned i = 0; i < insn->nmods; i++) {
        guard.negated |= mod_is(insn->mod[i], "0_PNot\n");
        guard.uniform |= mod_is(insn->mod[i], "0_UP\n");
    }
    return guard;
}

/* The instruction under another guard. */
static void set_guard(const LearnInsn *insn, Guard guard, LearnInsn *out) {
    size_t size = 0;
    *out = *insn;
    out->values[0] = guard.value;
    out->nmods = out->nopcode_mods = 0;
    for (unsigned i = 0; i < insn->nmods + 2; i++) {
        const char *mod = i == 0   ? guard.negated ? "0_PNot\n" : ""
                          : i == 1 ? guard.uniform ? "0_UP\n" : ""
                                   : insn->mod[i - 2];
        bool old = i > 1 && (mod_is(mod, "0_PNot\n") || mod_is(mod, "0_UP\n"));
        if (!*mod || old || out->nmods == LEARN_MODS)
            continue;
        size_t more = mod_size(mod) + 1;
        if (size + more >= sizeof out->mods)
            return;
        out->mod[out->nmods++] = memcpy(out->mods + size, mod, more);
        out->nopcode_mods += i < 2 || i - 2 < insn->nopcode_mods;
        size += more;
        out->mods[size] = 0;
    }
}

static void add_weight(uint64_t word[2], const uint64_t weight[2], int64_t times) {
    for (; times > 0; times--) {
        word[0] += weight[0];
        word[1] += weight[1] + (word[0] < weight[0]);
    }
    for (; times < 0; times++) {
        word[1] -= weight[1] + (word[0] < weight[0]);
        word[0] -= weight[0];
    }
}

/* From the word under one guard to that under another; false: a weight that is needed is not known. */
static bool change_guard(const LearnGuard *weights, Guard from, Guard to, uint64_t word[2]) {
    if ((from.value != to.value && !weights->value_known) ||
        (from.negated != to.negated && !weights->not_known) ||
        (from.uniform != to.uniform && !weights->up_known))
        return false;
    add_weight(word, weights->value, to.value - from.value);
    add_weight(word, weights->negated, to.negated - from.negated);
    add_weight(word, weights->uniform, to.uniform - from.uniform);
    return true;
}

static LearnAssembled assemble_with(LearnRepository *repository, LearnKey *key, const LearnInsn *insn,
                                    uint64_t word[2], char why[LEARN_WHY_BYTES]) {
    enum { MOST_GUARDS = 8 };
    Guard asked = guard_of(insn), tried[MOST_GUARDS + 1] = {{.value = 7}};
    unsigned ntried = 1;
    LearnAssembled result = assemble_as_seen(repository, key, insn, word, why);
    if (result != LEARN_OUTSIDE)
        return result;
    find_guard(repository);
    for (uint32_t i = 0; i < key->patterns.n && ntried < MOST_GUARDS; i++) {
        LearnInsn seen;
        const char *at;
        char ignored[LEARN_WHY_BYTES];
        const LearnEvidence *evidence = &repository->patterns.at[key->patterns.at[i]].seen.at[0];
        if (learn_parse(evidence->text, evidence->pc_bytes, repository->urz, &seen, &at, ignored))
            tried[ntried++] = guard_of(&seen);
    }
    for (unsigned i = 0; i < ntried; i++) {
        LearnInsn other;
        char ignored[LEARN_WHY_BYTES];
        set_guard(insn, tried[i], &other);
        if (assemble_as_seen(repository, key, &other, word, ignored) == LEARN_WORD &&
            change_guard(&repository->guard, tried[i], asked, word))
            return LEARN_WORD;
    }
    return LEARN_OUTSIDE;
}

LearnAssembled learn_assemble(LearnRepository *repository, const char *text, uint64_t pc_bytes,
                              uint64_t word[2], const char **at, char why[LEARN_WHY_BYTES]) {
    LearnInsn insn;
    if (!learn_parse(text, pc_bytes, repository->urz, &insn, at, why))
        return LEARN_WRONG_TEXT;
    *at = text;
    uint32_t index = find_key(repository, insn.key);
    if (!index)
        return outside(why, "no instruction of key %.*s was seen", insn.key, strlen(insn.key));
    return assemble_with(repository, &repository->keys.at[index - 1], &insn, word, why);
}
