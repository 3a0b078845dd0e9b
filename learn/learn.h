/* Encodings learned from dumps: a machine whose tables nobody has written is assembled from what its code
 * looked like.
 *
 *     c = w("0_FADD") + w("0_FTZ") + 7 w(guard) + 13 w(operand 1) + w("2_Neg") + 14 w(operand 2) + ...
 *
 * The text of an instruction gives its key (opcode and kinds of operands: FADD_R_R_R), values (guard,
 * register numbers, immediates ...) and modifiers; its word c is known; the weights w of a key are what all
 * its instructions agree on, found exactly over the rationals. A text is assembled only if its values and
 * modifiers are a combination of those that were seen: then every solution gives the same word, known or not.
 * Any other text is refused.
 *
 *   feed        dumps and cubins -> instructions          feed.h
 *   text        an instruction's text -> LearnInsn        this file
 *   solve       rows and words -> weights, null space     solve.h
 *   repository  what was seen of one architecture, kept as the instructions that say it: learn_add,
 * learn_assemble
 *
 * Scheduling, bits 105 to 121 of a word, is taken apart first and put back as it stands before the text.
 * docs/learn.md has the forms and the reasons. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LEARN_LEARN_H
#define HEDDLE_LEARN_LEARN_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"
#include "learn/solve.h"
#include <stdio.h>

enum {
    LEARN_VALUES = 40,      /* of one instruction */
    LEARN_MODS = 64,        /* likewise */
    LEARN_TEXT_BYTES = 600, /* longest text of one instruction, and of its modifiers */
    LEARN_KEY_BYTES = 160,
    LEARN_WHY_BYTES = 300,
    LEARN_CONTROL_BIT = 105, /* scheduling: 17 bits from here */
    LEARN_REUSE_BIT = 122,   /* of .reuse: 4 bits */
    LEARN_MIXED = 0xffff
};

/* ---- text ---- */

/* Where a value stands: operand 0 is the guard; of an operand's values of one kind the nth. */
typedef struct {
    uint8_t operand, nth;
    char kind; /* R, P, B, r (UR), p (UP), b (SB), I and F (numbers), A, a and O (R, UR and a number in
                  brackets), C (of a constant), { (SBs) */
} LearnPlace;

typedef struct {
    char key[LEARN_KEY_BYTES];
    int64_t values[LEARN_VALUES]; /* the guard's first */
    LearnPlace places[LEARN_VALUES];
    unsigned nvalues;
    bool has_target;              /* the last two values are its parts */
    char mods[LEARN_TEXT_BYTES];  /* "0_FADD\n0_FTZ\n1_Neg\n", in the order of the text */
    const char *mod[LEARN_MODS];  /* into mods; each ends at its '\n' */
    unsigned nmods, nopcode_mods; /* the opcode's are first */
} LearnInsn;

/* One instruction without scheduling and without the final ';'. Names must have been resolved to addresses.
 *   urz    number of the uniform register that reads as zero: learn_urz
 *   *at    where it is wrong, why[] what is wrong, when false is returned */
bool learn_parse(const char *text, uint64_t pc_bytes, unsigned urz, LearnInsn *out, const char **at,
                 char why[LEARN_WHY_BYTES]);
/* "sm_90": 63, "sm_100": 255. */
unsigned learn_urz(const char *arch);
/* "sm_75" to "sm_999", at `text` and not followed by a digit or letter; its length, or 0. */
unsigned learn_arch_size(const char *text);
/* Instruction `text` says the same as `other`, but for blanks. */
bool learn_same_text(const char *text, const char *other);

/* ---- what was seen ---- */

typedef struct { /* an instruction that its pattern's others do not give */
    const char *text;
    const int64_t *values; /* nvalues of the key */
    uint64_t pc_bytes, word[2];
    const char *file; /* where it was seen */
    uint32_t line;
    const char *arch; /* the repository's own, or that from which the key was taken over */
} LearnEvidence;

typedef struct {      /* instructions of a key with the same modifiers: only values differ */
    StrId mods;       /* LearnInsn.mods */
    const StrId *mod; /* each without its '\n' */
    unsigned nmods, nopcode_mods;
    StrId opcode_mods; /* the opcode's joined */
    uint32_t key;
    uint16_t number;         /* the group's; LEARN_MIXED: they have several */
    VEC(LearnEvidence) seen; /* linearly independent */
    LearnSystem system;      /* of `seen`: feature 0 is 1, then the values */
    bool is_lacking;         /* a row is asked for (rows.c) */
} LearnPattern;

/* How much of the modifiers is one unknown. A key begins at the first and goes on where its instructions do
 * not fit. */
typedef enum {
    LEARN_APART,    /* each modifier */
    LEARN_OPCODE,   /* the opcode's together */
    LEARN_TOGETHER, /* all together */
    LEARN_PATTERNS  /* all together, and values weigh differently with each: no common system */
} LearnLevel;
extern const char *const learn_level_names[];

/* Instructions of a key with the same opcode in their words: bits 0 to 11 and 91. Fields may lie elsewhere in
 * another. */
typedef struct LearnGroup {
    uint16_t number;
    LearnLevel level;
    StrMap features; /* modifier, or joined modifiers -> feature + 1; the values' are the first */
    unsigned nfeatures, nrows;
    LearnSystem system;
    struct LearnGroup *loan; /* it and what other keys say, NULL: nothing, or not asked yet; see borrow.c */
    uint64_t loan_kept;      /* LearnRepository.nkept when it was asked */
} LearnGroup;

typedef struct {
    StrId name, opcode;
    unsigned nvalues;
    const LearnPlace *places; /* nvalues */
    bool has_target;          /* an operand says where to go */
    VEC(uint32_t) patterns;
    uint64_t ninsts, ntold_twice; /* the latter: left out, their text has another word elsewhere */
    bool solved;                  /* what follows is of all that was seen */
    VEC(LearnGroup) groups;
} LearnKey;

/* The guard weighs the same in all keys that say what it weighs, two at least: then it does in the others. */
typedef struct {
    bool known, value_known, not_known, up_known;
    uint64_t value[2], negated[2], uniform[2];
} LearnGuard;

typedef struct {
    Arena arena;
    StrTab strings;
    const char *arch;
    unsigned urz;
    VEC(LearnKey) keys;
    VEC(LearnPattern) patterns;
    StrMap key_index, pattern_index; /* index + 1 */
    uint64_t ninsts, nkept;          /* nkept: evidence of all patterns */
    LearnGuard guard;                /* known: it is of all that was seen */
    struct LearnTrust *trust;        /* borrow.c */
} LearnRepository;

void learn_open(LearnRepository *repository, const char *arch);
void learn_free(LearnRepository *repository);

/* One instruction as a feeder gives it. */
typedef struct {
    const char *text;
    uint64_t pc_bytes, word[2];
    const char *file;
    uint32_t line;
    const char *arch; /* NULL: the repository's */
    uint64_t count;   /* of how many instructions it stands: 1, itself; 0, counted elsewhere */
} LearnSight;

typedef enum { LEARN_NEW, LEARN_KNOWN, LEARN_TOLD_TWICE, LEARN_NO_TEXT } LearnAdded;
/* LEARN_TOLD_TWICE: the text has another word elsewhere, why[] says where; it is left out. LEARN_NO_TEXT: the
 * text is no instruction, *at and why[] say where and why. */
LearnAdded learn_add(LearnRepository *repository, const LearnSight *sight, const char **at,
                     char why[LEARN_WHY_BYTES]);

typedef enum { LEARN_WORD, LEARN_OUTSIDE, LEARN_WRONG_TEXT } LearnAssembled;
/* The word of a text, with nothing in its scheduling bits. LEARN_OUTSIDE: what was seen does not say it;
 * why[] has what is missing. */
LearnAssembled learn_assemble(LearnRepository *repository, const char *text, uint64_t pc_bytes,
                              uint64_t word[2], const char **at, char why[LEARN_WHY_BYTES]);

/* The common systems of a key, made anew if something was added. */
void learn_solve_key(LearnRepository *repository, LearnKey *key);
/* The group that a pattern is in; NULL for one that was never seen, if it may be in several. */
LearnGroup *learn_group_of(const LearnRepository *repository, const LearnKey *key,
                           const LearnPattern *pattern);
/* A pattern's modifiers and `nvalues` values as a row of its group's system; the number of its entries. */
unsigned learn_row(const LearnGroup *group, const LearnPattern *pattern, const int64_t *values,
                   unsigned nvalues, LearnEntry *row);
/* Number the group's features at its level, then weights of all that was seen of it and of `more` rows.
 * False: they do not agree. */
void learn_make_features(LearnRepository *repository, const LearnKey *key, LearnGroup *group);
bool learn_solve_group(LearnRepository *repository, const LearnKey *key, LearnGroup *group,
                       const LearnRow *more, uint32_t nmore);
/* Bits 0 to 11 and 91 of a word. */
uint16_t learn_number(const uint64_t word[2]);
/* Do the group's weights keep out of each other's bits? See plausible.c. */
bool learn_plausible(const LearnRepository *repository, const LearnKey *key, const LearnGroup *group);
/* Likewise of the word of one more instruction. */
bool learn_plausible_word(const LearnRepository *repository, const LearnKey *key, const LearnGroup *group,
                          const LearnInsn *insn, const uint64_t word[2]);
/* The group with what other keys say of the features that it has or could have; NULL if that is nothing, or
 * they contradict it. */
const LearnGroup *learn_loan(LearnRepository *repository, const LearnKey *key, LearnGroup *group);
/* Unknowns that what was seen leaves open, of all the key's groups; the worst level of them. */
unsigned learn_deficit(const LearnRepository *repository, const LearnKey *key, LearnLevel *level);

/* What of another architecture's repository agrees with what was seen of this one: the keys of which each
 * instruction seen here fits what was seen there, and one of them follows from it. */
typedef struct {
    uint32_t taken, different, unseen,
        untested; /* keys; unseen: here; untested: no instruction here follows from there */
} LearnTransfer;
LearnTransfer learn_transfer(LearnRepository *repository, LearnRepository *other);

/* ---- files ---- */

/* Report at `at` in `line`, which is line `number` of the file. False. */
bool learn_line_error(Diags *diags, const char *file, const char *line, uint32_t number, const char *at,
                      DiagCode code, const char *text);
void learn_save(const LearnRepository *repository, FILE *out);
/* Into an open repository, which then has both, or a new one if its arch is NULL. False: reported with the
 * position. */
bool learn_load(LearnRepository *repository, const char *path, Diags *diags);
bool learn_load_stream(LearnRepository *repository, const char *name, FILE *file, Diags *diags);
#endif
