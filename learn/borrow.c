/* What a key's own instructions leave open and other keys say: .U32 of ISETP_P_P_R_II_P from ISETP_P_P_R_R_P.
 * Taken over are single weights, or differences of two modifiers that exclude each other (.GT less .LT), as
 * equations beside the key's own.
 *
 * Of keys of the same opcode a value is the same where operand, kind and all predicates are; a modifier of
 * the opcode where its name is; one of an operand where its name is and the operand's place, predicates not
 * counted, and the operand lies in the same bits. Believed are, in this order,
 *
 *   - keys whose words have the same form (bits 9 to 11, which say where operands lie);
 *   - keys of two other forms, or of one, but for the opcode's modifiers, if between the forms of an opcode
 *     its like is always the same, as the repository has it: AGREEMENTS times at least and never otherwise;
 *   - of registers and constants keys of the same form of two other opcodes with the same kinds of operands
 *     before them; of what makes a constant's offset one below zero keys of two other opcodes whose constant
 *     lies in the same bits;
 *
 * if all of them say the same, and it fits the key's own instructions together. The guard alone is shared by
 * all (repository.c). SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "learn/learn.h"
#include <stdlib.h>
#include <string.h>

enum { AGREEMENTS = 16, KINDS = 128, OPERANDS = 16, OPCODES = 2 };
enum { OPCODE_MOD = 1, OPERAND_MOD = 2 }; /* kinds beside those of values */

/* Of which features do the forms of an opcode say the same? */
typedef struct {
    uint32_t same, different;
} Count;
typedef struct LearnTrust {
    uint64_t kept; /* LearnRepository.nkept when it was counted */
    Count kinds[KINDS], places[KINDS][OPERANDS];
} LearnTrust;

typedef struct { /* of a key: a value, or a modifier */
    bool is_value;
    unsigned value, operand; /* 0: the opcode's */
    StrId mod;
} Feature;

typedef struct {
    LearnEntry entries[2];
    uint64_t word[2];
} Equation;

typedef struct {
    LearnRepository *repository;
    const LearnKey *key;
    const LearnGroup *group; /* that borrows */
    LearnGroup *loan;        /* it, with more features and rows */
    VEC(StrId) mods;         /* of features behind the values */
    VEC(LearnRow) rows;
} Borrower;

static const char *mod_name(const LearnRepository *repository, StrId mod) {
    return str_text(&repository->strings, mod);
}

static unsigned form_of(const LearnGroup *group) { return group->number >> 9 & 7; }

/* ---- the same feature elsewhere ---- */

static Feature mod_feature(const LearnRepository *repository, StrId mod) {
    return (Feature){.mod = mod, .operand = (unsigned)strtoul(mod_name(repository, mod), NULL, 10)};
}

static bool is_predicate(LearnPlace place) {
    return place.operand && (place.kind == 'P' || place.kind == 'p');
}

static bool has_predicate_at(const LearnKey *key, LearnPlace place) {
    for (unsigned i = 0; i < key->nvalues; i++)
        if (is_predicate(key->places[i]) && key->places[i].operand == place.operand)
            return true;
    return false;
}

static bool same_predicates(const LearnKey *x, const LearnKey *y) {
    for (unsigned i = 0; i < x->nvalues; i++)
        if (is_predicate(x->places[i]) && !has_predicate_at(y, x->places[i]))
            return false;
    for (unsigned i = 0; i < y->nvalues; i++)
        if (is_predicate(y->places[i]) && !has_predicate_at(x, y->places[i]))
            return false;
    return true;
}

/* The kinds of an operand's values, in order. */
static void kinds_of(const LearnKey *key, unsigned operand, char kinds[LEARN_VALUES + 1]) {
    unsigned n = 0;
    for (unsigned i = 0; i < key->nvalues; i++)
        if (key->places[i].operand == operand)
            kinds[n++] = key->places[i].kind;
    kinds[n] = 0;
}

/* Where the number of an address lies depends on what else is in it: LD R0, desc[UR2][R4+0x8] has it at bit
 * 40, LD R0, [R4+0x8] at bit 32. */
static bool same_address(const LearnKey *x, const LearnKey *y, LearnPlace place) {
    char kinds[LEARN_VALUES + 1], others[LEARN_VALUES + 1];
    kinds_of(x, place.operand, kinds);
    kinds_of(y, place.operand, others);
    return place.kind != 'O' || strcmp(kinds, others) == 0;
}

static uint32_t same_value(const LearnKey *from, unsigned value, const LearnKey *to) {
    LearnPlace place = from->places[value];
    for (unsigned i = 0; i < to->nvalues; i++)
        if (to->places[i].operand == place.operand && to->places[i].kind == place.kind &&
            to->places[i].nth == place.nth)
            return same_predicates(from, to) && same_address(from, to, place) ? i + 1 : 0;
    return 0;
}

static bool is_offset(const char *mod) { return strcmp(mod, "_NegAddrOffset") == 0; }

/* The value that an operand's modifier belongs to, of an offset's the last (before it is a constant's bank);
 * nvalues if there is none. */
static unsigned value_of_mod(const LearnKey *key, unsigned operand, const char *mod) {
    unsigned value = key->nvalues;
    for (unsigned i = 0; i < key->nvalues && (value == key->nvalues || is_offset(mod)); i++)
        if (key->places[i].operand == operand && (!is_offset(mod) || strchr("OC", key->places[i].kind)))
            value = i;
    return value;
}

/* The operand's number among those that are no predicates: IADD3 R0, P1, P2, R3, .. has its first source
 * where IADD3 R0, R3, .. has it. */
static unsigned position_of(const LearnKey *key, unsigned operand) {
    unsigned slot = operand;
    for (unsigned i = 0; i < key->nvalues; i++)
        slot -= is_predicate(key->places[i]) && key->places[i].operand < operand &&
                !(i && key->places[i - 1].operand == key->places[i].operand);
    return slot;
}

/* Which operand of `to` stands at the same place and lies in the same bits? Both count: the bit of .reuse
 * goes by the place, that of a sign by the bits. Of the offset of a constant the bits alone do. 0: none. */
static unsigned counterpart(const LearnKey *from, const LearnGroup *from_group, unsigned operand,
                            const char *mod, const LearnKey *to, const LearnGroup *to_group) {
    uint64_t weight[2], other[2];
    bool negative;
    unsigned value = value_of_mod(from, operand, mod);
    if (value >= from->nvalues || !learn_system_weight(&from_group->system, value, weight, &negative))
        return 0;
    LearnPlace place = from->places[value];
    for (unsigned i = 0; i < to->nvalues; i++) {
        unsigned there = to->places[i].operand;
        if (to->places[i].kind == place.kind && i == value_of_mod(to, there, mod) &&
            ((is_offset(mod) && place.kind == 'C') || position_of(to, there) == position_of(from, operand)) &&
            learn_system_weight(&to_group->system, i, other, &negative) && weight[0] == other[0] &&
            weight[1] == other[1])
            return there;
    }
    return 0;
}

/* Has it an address of a uniform register and no other? */
static bool has_uniform_address(const LearnKey *key) {
    for (unsigned i = 0; i < key->nvalues; i++) {
        bool alone = key->places[i].kind == 'a';
        for (unsigned k = 0; k < key->nvalues && alone; k++)
            alone = key->places[k].operand != key->places[i].operand || key->places[k].kind != 'A';
        if (alone)
            return true;
    }
    return false;
}

/* Is the opcode's modifier another one in the other key? .E says the width of an address; where that is a
 * uniform register's it sets the bit, too, which .64 of another register says. */
static bool is_another(const LearnRepository *repository, Feature feature, const LearnKey *from,
                       const LearnKey *to) {
    return !feature.operand && strcmp(mod_name(repository, feature.mod), "0_E") == 0 &&
           has_uniform_address(from) != has_uniform_address(to);
}

/* A modifier of an operand under the name that it has at another one. */
static StrId mod_at(LearnRepository *repository, StrId mod, unsigned operand) {
    char name[LEARN_TEXT_BYTES];
    int n = snprintf(name, sizeof name, "%u%s", operand, strchr(mod_name(repository, mod), '_'));
    return str_intern(&repository->strings, name, (size_t)n);
}

/* A feature of one group in another: its number + 1, 0 if it has none. */
static uint32_t translate(LearnRepository *repository, Feature feature, const LearnKey *from,
                          const LearnGroup *from_group, const LearnKey *to, const LearnGroup *to_group) {
    StrId mod = feature.mod;
    if (feature.is_value)
        return same_value(from, feature.value, to);
    if (is_another(repository, feature, from, to))
        return 0;
    if (feature.operand) {
        unsigned there = counterpart(from, from_group, feature.operand,
                                     strchr(mod_name(repository, mod), '_'), to, to_group);
        mod = there ? mod_at(repository, mod, there) : (StrId){0};
    }
    return mod.i ? strmap_get(&to_group->features, mod) : 0;
}

/* ---- what is the same in all forms ---- */

static bool is_name_of_opcode(const LearnRepository *repository, const LearnKey *key, Feature feature) {
    return !feature.is_value && !feature.operand &&
           strcmp(mod_name(repository, feature.mod) + 2, str_text(&repository->strings, key->opcode)) == 0;
}

static Count *trust_count(LearnTrust *trust, const LearnKey *key, Feature feature, bool at_place) {
    unsigned kind = feature.is_value  ? (unsigned char)key->places[feature.value].kind % KINDS
                    : feature.operand ? OPERAND_MOD
                                      : OPCODE_MOD;
    unsigned operand = feature.is_value ? key->places[feature.value].operand : feature.operand;
    return at_place && operand < OPERANDS ? &trust->places[kind][operand] : &trust->kinds[kind];
}

static bool is_trusted(LearnTrust *trust, const LearnKey *key, Feature feature) {
    if (!feature.is_value && !feature.operand)
        return false; /* .64 of MOV is another opcode if it has a number */
    const Count *kind = trust_count(trust, key, feature, false),
                *place = trust_count(trust, key, feature, true);
    return (kind->same >= AGREEMENTS && !kind->different) || (place->same >= AGREEMENTS && !place->different);
}

typedef struct {
    const LearnKey *key;
    const LearnGroup *group;
} Pair;

static void compare_feature(LearnRepository *repository, LearnTrust *trust, Feature feature, Pair x, Pair y) {
    uint64_t weight[2], other[2];
    bool negative, other_negative;
    uint32_t at = feature.is_value ? feature.value + 1 : strmap_get(&x.group->features, feature.mod);
    if (is_name_of_opcode(repository, x.key, feature) ||
        !learn_system_weight(&x.group->system, at - 1, weight, &negative))
        return;
    uint32_t there = translate(repository, feature, x.key, x.group, y.key, y.group);
    if (!there || !learn_system_weight(&y.group->system, there - 1, other, &other_negative))
        return;
    bool same = negative == other_negative && memcmp(weight, other, sizeof weight) == 0;
    Count *counts[] = {trust_count(trust, x.key, feature, false), trust_count(trust, x.key, feature, true)};
    for (unsigned i = 0; i < 2 && (i == 0 || counts[1] != counts[0]); i++) {
        counts[i]->same += same;
        counts[i]->different += !same;
    }
}

static void compare_groups(LearnRepository *repository, LearnTrust *trust, Pair x, Pair y) {
    for (unsigned i = 0; i < x.key->nvalues; i++)
        compare_feature(repository, trust, (Feature){.is_value = true, .value = i}, x, y);
    const StrMap *map = &x.group->features;
    for (uint32_t i = 0; i < map->nslots; i++)
        if (map->keys[i])
            compare_feature(repository, trust, mod_feature(repository, (StrId){map->keys[i]}), x, y);
}

static void compare_keys(LearnRepository *repository, LearnTrust *trust, const LearnKey *x,
                         const LearnKey *y) {
    for (uint32_t i = 0; i < x->groups.n; i++)
        for (uint32_t k = 0; k < y->groups.n; k++) {
            Pair one = {x, &x->groups.at[i]}, other = {y, &y->groups.at[k]};
            if (one.group->level == LEARN_APART && other.group->level == LEARN_APART &&
                form_of(one.group) != form_of(other.group))
                compare_groups(repository, trust, one, other);
        }
}

static LearnTrust *trust_of(LearnRepository *repository) {
    if (repository->trust && repository->trust->kept == repository->nkept)
        return repository->trust;
    if (!repository->trust)
        repository->trust = ARENA_ARRAY(&repository->arena, LearnTrust, 1);
    *repository->trust = (LearnTrust){.kept = repository->nkept};
    for (uint32_t i = 0; i < repository->keys.n; i++)
        learn_solve_key(repository, &repository->keys.at[i]);
    for (uint32_t i = 0; i < repository->keys.n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (str_eq(repository->keys.at[i].opcode, repository->keys.at[k].opcode))
                compare_keys(repository, repository->trust, &repository->keys.at[i], &repository->keys.at[k]);
    return repository->trust;
}

/* ---- asking ---- */

static bool lends(const Borrower *borrower, Pair lender) {
    return str_eq(lender.key->opcode, borrower->key->opcode) && lender.group != borrower->group &&
           lender.group->level == LEARN_APART;
}

static Feature feature_of(const Borrower *borrower, uint32_t feature) {
    unsigned nvalues = borrower->key->nvalues;
    return feature < nvalues ? (Feature){.is_value = true, .value = feature}
                             : mod_feature(borrower->repository, borrower->mods.at[feature - nvalues]);
}

typedef struct {
    uint64_t magnitude[2];
    bool said, negative, contradicted;
    uint8_t forms; /* a bit each */
    StrId opcodes[OPCODES];
    unsigned nopcodes; /* at most OPCODES */
} Answer;

static void note_opcode(Answer *answer, StrId opcode) {
    for (unsigned i = 0; i < answer->nopcodes; i++)
        if (str_eq(answer->opcodes[i], opcode))
            return;
    if (answer->nopcodes < OPCODES)
        answer->opcodes[answer->nopcodes++] = opcode;
}

static void hear(const Borrower *borrower, Pair lender, const LearnEntry *asked, unsigned nasked,
                 Answer *answer) {
    LearnEntry entries[2];
    uint64_t magnitude[2];
    bool negative;
    for (unsigned i = 0; i < nasked; i++) {
        uint32_t feature = translate(borrower->repository, feature_of(borrower, asked[i].feature),
                                     borrower->key, borrower->loan, lender.key, lender.group);
        if (!feature)
            return;
        entries[i] = (LearnEntry){feature - 1, asked[i].value};
    }
    if (!learn_system_value(&lender.group->system, entries, nasked, magnitude, &negative))
        return;
    answer->contradicted |= answer->said && (negative != answer->negative ||
                                             memcmp(magnitude, answer->magnitude, sizeof magnitude) != 0);
    memcpy(answer->magnitude, magnitude, sizeof magnitude);
    answer->said = true;
    answer->negative = negative;
    answer->forms |= (uint8_t)(1U << form_of(lender.group));
    note_opcode(answer, lender.key->opcode);
}

static bool is_trusted_all(const Borrower *borrower, const LearnEntry *asked, unsigned nasked) {
    for (unsigned i = 0; i < nasked; i++)
        if (!is_trusted(borrower->repository->trust, borrower->key, feature_of(borrower, asked[i].feature)))
            return false;
    return true;
}

static unsigned last_operand(const LearnKey *key) {
    return key->nvalues ? key->places[key->nvalues - 1].operand : 0;
}

/* The same kinds of operands before this one, and behind it more in both or in neither. */
static bool same_beginning(const LearnKey *x, const LearnKey *y, unsigned operand) {
    char kinds[LEARN_VALUES + 1], others[LEARN_VALUES + 1];
    for (unsigned i = 1; i < operand; i++) {
        kinds_of(x, i, kinds);
        kinds_of(y, i, others);
        if (strcmp(kinds, others) != 0)
            return false;
    }
    return (last_operand(x) == operand) == (last_operand(y) == operand) && x->has_target == y->has_target;
}

/* Another opcode says where the registers and constants of a form lie, and what makes a constant's offset one
 * below zero; not numbers (offsets of LD are not those of LDG), nor other modifiers (.64 of RED is not that
 * of ST; on sm_75 .reuse of FADD's second source is not where others have it). */
static bool lends_across(const Borrower *borrower, Pair lender, Feature feature) {
    const LearnKey *own = borrower->key;
    if (lender.group->level != LEARN_APART || str_eq(lender.key->opcode, own->opcode))
        return false;
    if (feature.is_value)
        return strchr("RrPpBbAaC", own->places[feature.value].kind) &&
               form_of(lender.group) == form_of(borrower->group) &&
               same_beginning(own, lender.key, own->places[feature.value].operand);
    const char *mod = strchr(mod_name(borrower->repository, feature.mod), '_');
    unsigned value = value_of_mod(own, feature.operand, mod);
    return is_offset(mod) && value < own->nvalues && own->places[value].kind == 'C';
}

/* Find who says it; false: nobody whom to believe. */
static bool find_lender(const Borrower *borrower, const LearnEntry *asked, unsigned nasked, Answer *answer) {
    const LearnRepository *repository = borrower->repository;
    Feature first = feature_of(borrower, asked[0].feature);
    Answer own_form = {.said = false}, other_form = own_form, across = own_form;
    for (uint32_t i = 0; i < repository->keys.n; i++) {
        const LearnKey *key = &repository->keys.at[i];
        for (uint32_t k = 0; k < key->groups.n; k++) {
            Pair lender = {key, &key->groups.at[k]};
            if (lends(borrower, lender))
                hear(borrower, lender, asked, nasked,
                     form_of(lender.group) == form_of(borrower->group) ? &own_form : &other_form);
            else if (nasked == 1 && lends_across(borrower, lender, first))
                hear(borrower, lender, asked, nasked, &across);
        }
    }
    bool several_forms = other_form.forms & (other_form.forms - 1);
    if (own_form.said)
        *answer = own_form;
    else if (other_form.said && !other_form.contradicted &&
             (several_forms || is_trusted_all(borrower, asked, nasked)))
        *answer = other_form;
    else if (across.nopcodes == OPCODES)
        *answer = across;
    return answer->said && !answer->contradicted;
}

/* One feature, or what the first has more than the second; an equation more if that is known elsewhere. */
static bool borrow_one(Borrower *borrower, const LearnEntry *asked, unsigned nasked) {
    Answer answer = {.said = false};
    if (!find_lender(borrower, asked, nasked, &answer))
        return false;
    Arena *arena = &borrower->repository->arena;
    Equation *equation = ARENA_ARRAY(arena, Equation, 1);
    for (unsigned i = 0; i < nasked; i++) /* words are not negative */
        equation->entries[i] =
            (LearnEntry){asked[i].feature, answer.negative ? -asked[i].value : asked[i].value};
    memcpy(equation->word, answer.magnitude, sizeof equation->word);
    VEC_ADD(arena, &borrower->rows, ((LearnRow){equation->entries, nasked, equation->word}));
    return true;
}

static bool is_open(const Borrower *borrower, uint32_t feature) {
    uint64_t weight[2];
    bool negative;
    return feature >= borrower->group->nfeatures ||
           !learn_system_weight(&borrower->group->system, feature, weight, &negative);
}

static void ask_values(Borrower *borrower) {
    for (uint32_t i = 0; i < borrower->key->nvalues; i++)
        if (is_open(borrower, i))
            borrow_one(borrower, &(LearnEntry){i, 1}, 1);
}

/* What a number is under a width of 64 bits is another matter: MOV.64 of one has its own opcode. */
static bool widens_number(const LearnKey *key, const char *mod) {
    static const char *const widths[] = {"0_64", "0_S64", "0_U64", "0_F64", "0_128"};
    bool has_number = false, widens = false;
    for (unsigned i = 0; i < key->nvalues; i++)
        has_number |= key->places[i].kind == 'I' || key->places[i].kind == 'F';
    for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++)
        widens |= strcmp(widths[i], mod) == 0;
    return has_number && widens;
}

/* Modifiers of one place exclude each other, as a rule. Where their order counts they depend on each other.
 */
static void ask_mods(Borrower *borrower) {
    uint32_t first = borrower->key->nvalues;
    for (uint32_t i = first; i < borrower->loan->nfeatures; i++) {
        const char *name = mod_name(borrower->repository, borrower->mods.at[i - first]);
        size_t place = strcspn(name, "_") + 1;
        const char *opcode = str_text(&borrower->repository->strings, borrower->key->opcode);
        if (!is_open(borrower, i) || strcmp(name + place, opcode) == 0 || strchr(name, '@') ||
            widens_number(borrower->key, name) || borrow_one(borrower, &(LearnEntry){i, 1}, 1))
            continue;
        for (uint32_t k = first; k < borrower->group->nfeatures; k++) {
            const char *other = mod_name(borrower->repository, borrower->mods.at[k - first]);
            LearnEntry less[2] = {{i, 1}, {k, -1}};
            if (k != i && strncmp(name, other, place) == 0 && strcmp(other + place, opcode) != 0 &&
                borrow_one(borrower, less, 2))
                break;
        }
    }
}

/* ---- features ---- */

static void name_features(Borrower *borrower) {
    const StrMap *map = &borrower->loan->features;
    Arena *arena = &borrower->repository->arena;
    borrower->mods.n = 0;
    for (uint32_t i = borrower->key->nvalues; i < borrower->loan->nfeatures; i++)
        VEC_ADD(arena, &borrower->mods, (StrId){0});
    for (uint32_t i = 0; i < map->nslots; i++)
        if (map->keys[i])
            borrower->mods.at[map->values[i] - 1 - borrower->key->nvalues] = (StrId){map->keys[i]};
}

static void add_feature(Borrower *borrower, StrId mod) {
    LearnGroup *loan = borrower->loan;
    Arena *arena = &borrower->repository->arena;
    if (strmap_get(&loan->features, mod))
        return;
    strmap_put(&loan->features, arena, mod, ++loan->nfeatures);
    VEC_ADD(arena, &borrower->mods, mod);
}

/* What a lender has and the borrower could have. */
static void add_features_of(Borrower *borrower, Pair lender) {
    LearnRepository *repository = borrower->repository;
    for (uint32_t i = 0; i < lender.group->features.nslots; i++) {
        StrId mod = {lender.group->features.keys[i]};
        unsigned operand = mod.i ? mod_feature(repository, mod).operand : 0;
        if (operand) {
            operand = counterpart(lender.key, lender.group, operand, strchr(mod_name(repository, mod), '_'),
                                  borrower->key, borrower->loan);
            mod = operand ? mod_at(repository, mod, operand) : (StrId){0};
        }
        if (mod.i &&
            (lends(borrower, lender) || lends_across(borrower, lender, mod_feature(repository, mod))))
            add_feature(borrower, mod);
    }
}

static void add_features(Borrower *borrower) {
    const LearnRepository *repository = borrower->repository;
    for (uint32_t i = 0; i < repository->keys.n; i++) {
        const LearnKey *key = &repository->keys.at[i];
        for (uint32_t k = 0; k < key->groups.n; k++)
            add_features_of(borrower, (Pair){key, &key->groups.at[k]});
    }
}

static bool solve_loan(Borrower *borrower) {
    return learn_solve_group(borrower->repository, borrower->key, borrower->loan, borrower->rows.at,
                             borrower->rows.n);
}

/* False: nothing is to be had. */
static bool borrow(Borrower *borrower) {
    learn_make_features(borrower->repository, borrower->key, borrower->loan);
    name_features(borrower);
    ask_values(borrower);
    if (!solve_loan(borrower)) {
        borrower->rows.n = 0; /* operands lie elsewhere */
        if (!solve_loan(borrower))
            return false;
    }
    add_features(borrower);
    ask_mods(borrower);
    return borrower->rows.n && solve_loan(borrower);
}

const LearnGroup *learn_loan(LearnRepository *repository, const LearnKey *key, LearnGroup *group) {
    if (group->loan && group->loan_kept == repository->nkept)
        return group->loan->nrows ? group->loan : NULL;
    trust_of(repository);
    if (!group->loan)
        group->loan = ARENA_ARRAY(&repository->arena, LearnGroup, 1);
    learn_system_free(&group->loan->system);
    *group->loan = (LearnGroup){.number = group->number, .level = group->level};
    group->loan_kept = repository->nkept;
    Borrower borrower = {.repository = repository, .key = key, .group = group, .loan = group->loan};
    if (!borrow(&borrower)) {
        learn_system_free(&group->loan->system);
        group->loan->nrows = 0;
    }
    return group->loan->nrows ? group->loan : NULL;
}
