/* heddle learn --against-isa: a dump beside Heddle's own tables. Each word is decoded and printed, each text
 * read and encoded; what differs is counted by key, with the first place. From the words that the tables do
 * not decode, rows are learned that would. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "isa/isa.h"
#include "learn/rows.h"
#include "tools/commands/learn_options.h"
#include <stdlib.h>
#include <string.h>

typedef enum {
    AGAINST_UNKNOWN,
    AGAINST_UNREAD,
    AGAINST_OTHER_WORD,
    AGAINST_SPELT,
    AGAINST_KINDS
} AgainstKind;
static const char *const kind_names[AGAINST_KINDS] = {
    "the tables do not decode the word", "the text is not read", "the text is another word",
    "printed otherwise, read alike but for what a dump leaves out of a NaN"};

typedef struct {
    const char *key, *file, *text, *own;
    uint32_t line;
    AgainstKind kind;
    uint64_t n, word[2];
} AgainstRow;

struct LearnAgainst {
    Arena arena;
    VEC(AgainstRow) rows;
    uint64_t nseen, ncount[AGAINST_KINDS];
    const Target *target;
    LearnRowMaker maker; /* of what the tables do not decode */
};

LearnAgainst *cli_against_open(Arena *arena) {
    return memset(ARENA_NEW(arena, LearnAgainst), 0, sizeof(LearnAgainst));
}

static void note_difference(LearnAgainst *against, const LearnFed *fed, AgainstKind kind, const char *own) {
    LearnInsn insn;
    const char *at;
    char why[LEARN_WHY_BYTES];
    bool good =
        learn_parse(fed->text, fed->pc_bytes, learn_urz(isa_target_name(against->target)), &insn, &at, why);
    const char *key = good ? insn.key : "(no key)";
    against->ncount[kind]++;
    for (uint32_t i = 0; i < against->rows.n; i++)
        if (against->rows.at[i].kind == kind && strcmp(against->rows.at[i].key, key) == 0) {
            against->rows.at[i].n++;
            return;
        }
    VEC_ADD(&against->arena, &against->rows,
            ((AgainstRow){.key = arena_printf(&against->arena, "%s", key),
                          .file = fed->file,
                          .text = arena_printf(&against->arena, "%s", fed->text),
                          .own = arena_printf(&against->arena, "%s", own),
                          .line = fed->line,
                          .kind = kind,
                          .n = 1,
                          .word = {fed->word[0], fed->word[1]}}));
}

static void note_sight(LearnAgainst *against, const LearnFed *fed, bool is_lacking) {
    LearnSight sight = {.text = fed->text,
                        .pc_bytes = fed->pc_bytes,
                        .word = {fed->word[0], fed->word[1]},
                        .file = fed->file,
                        .line = fed->line,
                        .count = 1};
    if (!against->maker.repository.arch)
        learn_rows_open(&against->maker, isa_target_name(against->target));
    learn_rows_add(&against->maker, &sight, is_lacking);
}

bool cli_against_one(LearnAgainst *against, const LearnFed *fed, const char *arch) {
    MachInst in, read;
    char error[ISA_ERROR_BYTES], own[512];
    const char *end;
    uint64_t word[2];
    against->target = isa_any_target(arch);
    if (!against->target)
        return false;
    against->nseen++;
    bool is_known = isa_decode(against->target, fed->word, &in, error);
    note_sight(against, fed, !is_known);
    if (!is_known) {
        note_difference(against, fed, AGAINST_UNKNOWN, error);
        return true;
    }
    isa_print(against->target, &in, fed->pc_bytes, NULL, own, sizeof own);
    bool good = isa_parse(against->target, fed->text, fed->pc_bytes, NULL, &read, &end, error);
    while (good && *end == ' ')
        end++;
    read.ctrl = in.ctrl;
    if (!good || *end || !isa_encode(against->target, &read, word, error))
        note_difference(against, fed, AGAINST_UNREAD, own);
    else if ((word[0] != fed->word[0] || word[1] != fed->word[1]) && !strstr(fed->text, "NAN"))
        note_difference(against, fed, AGAINST_OTHER_WORD, own);
    else if (!learn_same_text(own, fed->text))
        note_difference(against, fed, AGAINST_SPELT, own);
    return true;
}

static int by_kind(const void *x, const void *y) {
    const AgainstRow *one = x, *other = y;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    return one->n != other->n ? (one->n < other->n ? 1 : -1) : strcmp(one->key, other->key);
}

static void print_differences(const LearnAgainst *against) {
    for (uint32_t i = 0; i < against->rows.n; i++) {
        const AgainstRow *row = &against->rows.at[i];
        if (i == 0 || row->kind != row[-1].kind)
            printf("%s: %llu\n", kind_names[row->kind], (unsigned long long)against->ncount[row->kind]);
        printf("  %6llu %-32s %s:%u\n         dump   %s ; /* 0x%016llx 0x%016llx */\n         tables %s\n",
               (unsigned long long)row->n, row->key, row->file, row->line, row->text,
               (unsigned long long)row->word[0], (unsigned long long)row->word[1], row->own);
    }
    printf("%llu instructions: %llu not decoded, %llu not read, %llu read as another word, %llu spelt "
           "otherwise\n",
           (unsigned long long)against->nseen, (unsigned long long)against->ncount[AGAINST_UNKNOWN],
           (unsigned long long)against->ncount[AGAINST_UNREAD],
           (unsigned long long)against->ncount[AGAINST_OTHER_WORD],
           (unsigned long long)against->ncount[AGAINST_SPELT]);
}

static const char *const json_names[AGAINST_KINDS] = {"not_decoded", "not_read", "another_word",
                                                      "spelt_otherwise"};

static void print_differences_json(const LearnAgainst *against) {
    cJSON *json = json_object();
    json_add_text(json, "arch", against->target ? isa_target_name(against->target) : "");
    json_add_number(json, "instructions", (double)against->nseen);
    for (unsigned i = 0; i < AGAINST_KINDS; i++)
        json_add_number(json, json_names[i], (double)against->ncount[i]);
    cJSON *list = json_add_list(json, "differences");
    for (uint32_t i = 0; i < against->rows.n; i++) {
        const AgainstRow *row = &against->rows.at[i];
        cJSON *object = json_object();
        json_append(list, object);
        json_add_text(object, "kind", json_names[row->kind]);
        json_add_text(object, "key", row->key);
        json_add_number(object, "instructions", (double)row->n);
        json_add_text(object, "file", row->file);
        json_add_number(object, "line", row->line);
        json_add_text(object, "dump", row->text);
        json_add_text(object, "tables", row->own);
    }
    cli_print_json(json);
}

/* The rows go to --output, or behind the report. */
static bool print_rows(LearnAgainst *against, const Settings *settings, Diags *diags) {
    if (!against->ncount[AGAINST_UNKNOWN] || (settings->json && !settings->output))
        return true;
    size_t size;
    TextStream *stream = text_open();
    LearnRows counts = learn_print_rows(&against->maker, stream->out);
    char *text = text_close(stream, &size);
    if (!settings->json && !(settings->output && strcmp(settings->output, "-") == 0))
        printf("%u rows say what they lack, %u kinds are none that a row can say\n", counts.nrows,
               counts.nrefused);
    bool good = file_write(settings->output ? settings->output : "-", text, size, diags);
    mem_free(text);
    return good;
}

int cli_against_report(LearnAgainst *against, Settings *settings) {
    uint64_t wrong = against->nseen ? 0 : 1;
    if (against->rows.n)
        qsort(against->rows.at, against->rows.n, sizeof *against->rows.at, by_kind);
    if (settings->json)
        print_differences_json(against);
    else if (!settings->output || strcmp(settings->output, "-") != 0)
        print_differences(against);
    for (unsigned i = 0; i < AGAINST_SPELT; i++)
        wrong += against->ncount[i];
    bool good = print_rows(against, settings, &settings->diags);
    return !good ? STATUS_INPUT : wrong ? STATUS_DIFFERS : STATUS_DONE;
}

void cli_against_close(LearnAgainst *against) {
    if (!against)
        return;
    if (against->maker.repository.arch)
        learn_rows_free(&against->maker);
    arena_free(&against->arena);
}
