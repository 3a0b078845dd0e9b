/* SPDX-License-Identifier: MIT */
#include "check/prove/lane/answers.h"
#include "base/scope.h"
#include <string.h>
#include <xxhash.h>

/* ---- a question as words ---- */
typedef struct {
    uint64_t *words;
    uint32_t n, cap;
    uint32_t *number; /* by term: the how manieth that was written, from 1 on */
    uint32_t nterms;
} Writer;

static void put_word(Writer *writer, uint64_t word) {
    if (writer->n == writer->cap) {
        writer->cap = writer->cap ? 2 * writer->cap : 256;
        writer->words = mem_resize(writer->words, writer->cap * sizeof *writer->words);
    }
    writer->words[writer->n++] = word;
}

static void put_name(Writer *writer, const char *name) { /* its length + 1, or 0, and its bytes */
    size_t bytes = name ? strlen(name) : 0;
    put_word(writer, name ? bytes + 1 : 0);
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, name + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        put_word(writer, word);
    }
}

/* All that a term says, behind its operands. */
static void write_term(Writer *writer, const Term *term) {
    if (writer->number[term->id])
        return;
    for (uint32_t i = 0; i < term->n; i++)
        write_term(writer, term->a[i]);
    put_word(writer,
             term->kind | (uint64_t)term->width << 8 | (uint64_t)term->op << 16 | (uint64_t)term->n << 32);
    put_word(writer, term->k);
    put_name(writer, term->name);
    for (uint32_t i = 0; i < term->n; i++)
        put_word(writer, writer->number[term->a[i]->id] | (uint64_t)(term->c != NULL) << 32);
    for (uint32_t i = 0; i < term->n && term->c; i++)
        put_word(writer, term->c[i]);
    writer->number[term->id] = ++writer->nterms;
}

ProveQuestion prove_question(const Terms *ts, const Term *cond, const Term *x, const Term *y) {
    Writer writer = {.number = mem_zeroed(ts->next_id, sizeof(uint32_t))};
    const Term *const roots[] = {cond, x, y};
    for (unsigned k = 0; k < 3; k++) {
        write_term(&writer, roots[k]);
        put_word(&writer, writer.number[roots[k]->id]);
    }
    mem_free(writer.number);
    return (ProveQuestion){XXH3_64bits(writer.words, writer.n * sizeof *writer.words), writer.words,
                           writer.n};
}
void prove_question_free(ProveQuestion *question) {
    mem_free(question->words);
    question->words = NULL;
}

/* ---- those that were asked ---- */
/* Where the question is, or would be. */
static ProveAnswered *answer_slot(const ProveAnswers *answers, const ProveQuestion *question) {
    for (uint32_t at = (uint32_t)question->hash;; at++) {
        ProveAnswered *slot = &answers->slots[at & (answers->nslots - 1)];
        if (!slot->words || (slot->hash == question->hash && slot->nwords == question->nwords &&
                             memcmp(slot->words, question->words, slot->nwords * sizeof *slot->words) == 0))
            return slot;
    }
}

const ProveAnswer *prove_answers_find(const ProveAnswers *answers, const ProveQuestion *question) {
    const ProveAnswered *slot = answers->nslots ? answer_slot(answers, question) : NULL;
    return slot && slot->words ? &slot->answer : NULL;
}

static void grow(ProveAnswers *answers) {
    ProveAnswers larger = {.nslots = answers->nslots ? 2 * answers->nslots : 64};
    larger.slots = mem_zeroed(larger.nslots, sizeof *larger.slots);
    for (uint32_t k = 0; k < answers->nslots; k++) {
        const ProveAnswered *old = &answers->slots[k];
        uint32_t at = (uint32_t)old->hash;
        while (old->words && larger.slots[at & (larger.nslots - 1)].words)
            at++;
        if (old->words)
            larger.slots[at & (larger.nslots - 1)] = *old;
    }
    mem_free(answers->slots);
    answers->slots = larger.slots;
    answers->nslots = larger.nslots;
}

void prove_answers_add(ProveAnswers *answers, const ProveQuestion *question, ProveAnswer answer) {
    enum { MOST_MIB = 64 };
    if (answers->arena.total_bytes > (size_t)MOST_MIB << 20)
        prove_answers_free(answers);
    if (2 * (answers->n + 1) > answers->nslots)
        grow(answers);
    ProveAnswered *slot = answer_slot(answers, question);
    if (!slot->words) {
        *slot = (ProveAnswered){
            question->hash,
            arena_copy(&answers->arena, question->words, question->nwords * sizeof *question->words),
            question->nwords,
            {0}};
        answers->n++;
    }
    slot->answer = answer;
}

void prove_answers_free(ProveAnswers *answers) {
    mem_free(answers->slots);
    arena_free(&answers->arena);
    *answers = (ProveAnswers){0};
}
