/* Questions that were asked before: what Z3 said of them. A question is kept as the words that its terms are
 * written with, so the same one is known again whatever function and pass it comes from, and another one
 * never is. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_LANE_ANSWERS_H
#define HEDDLE_CHECK_PROVE_LANE_ANSWERS_H
#include "check/prove/prove.h"
#include "check/prove/terms/term.h"

typedef struct {
    bool valid;
    ProveStatus how;
    double seconds; /* that were allowed for it; not valid: more may find out more */
} ProveAnswer;

typedef struct {
    uint64_t hash;
    const uint64_t *words; /* NULL: the slot is free */
    uint32_t nwords;
    ProveAnswer answer;
} ProveAnswered;

typedef struct {
    Arena arena;
    ProveAnswered *slots; /* a power of two, or none */
    uint32_t nslots, n;
} ProveAnswers;

/* Is `x == y` wherever `cond` holds? The words are mem_alloc's. */
typedef struct {
    uint64_t hash, *words;
    uint32_t nwords;
} ProveQuestion;
ProveQuestion prove_question(const Terms *ts, const Term *cond, const Term *x, const Term *y);
void prove_question_free(ProveQuestion *question);
const ProveAnswer *prove_answers_find(const ProveAnswers *answers,
                                      const ProveQuestion *question); /* or NULL */
/* In place of the one that there was. All are forgotten when they have become too large. */
void prove_answers_add(ProveAnswers *answers, const ProveQuestion *question, ProveAnswer answer);
void prove_answers_free(ProveAnswers *answers);
#endif
