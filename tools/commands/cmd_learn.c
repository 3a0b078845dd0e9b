/* heddle learn: repositories of encodings, made of dumps, checked with dumps, and assembled from.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "isa/isa.h"
#include "learn/feed.h"
#include "learn/learn.h"
#include "tools/commands/learn_options.h"
#include <string.h>

typedef struct {
    Settings *settings;
    LearnRepository repository;                   /* open if it has an arch */
    FILE *out;                                    /* --assemble, --show */
    LearnAgainst *against;                        /* --against-isa */
    uint64_t nseen, nother, nnew, ntwice, nwrong; /* nother: of another architecture, of all actions */
    uint64_t nours;                               /* likewise of this one */
    char other_arch[12];                          /* the first of another */
    uint64_t nequal, ndifferent, noutside;
    uint64_t next_pc_bytes; /* of --assemble: elsewhere a function begins */
    uint32_t nfunctions;
    bool failed;
} Learning;

/* ---- one instruction ---- */

/* Is it of the architecture that is learned? The first one seen is, without --arch. */
static bool is_ours(Learning *learning, const LearnFed *fed) {
    const char *arch = fed->arch ? fed->arch : learning->settings->learn.arch;
    if (!learning->repository.arch && (learning->settings->learn.arch || arch))
        learn_open(&learning->repository,
                   learning->settings->learn.arch ? learning->settings->learn.arch : arch);
    if (learning->repository.arch && (!arch || strcmp(arch, learning->repository.arch) == 0)) {
        learning->nours++;
        return true;
    }
    if (!learning->nother++ && arch)
        snprintf(learning->other_arch, sizeof learning->other_arch, "%s", arch);
    return false;
}

static bool no_arch(Learning *learning, const LearnFed *fed) {
    learning->failed = true;
    return learn_report(&learning->settings->diags, fed, fed->text, DIAG_E0901,
                        "the dump does not say of which architecture it is: --arch does");
}

/* A dump without words teaches nothing, and nothing can be compared with it. */
static bool has_word(Learning *learning, const LearnFed *fed) {
    if (fed->has_word)
        return true;
    learning->failed = true;
    return learn_report(&learning->settings->diags, fed, fed->text, DIAG_E0901,
                        "the word is missing behind the instruction: nvdisasm prints it with -hex");
}

static bool learn_one(void *user, const LearnFed *fed) {
    Learning *learning = user;
    Diags *diags = &learning->settings->diags;
    if (!is_ours(learning, fed))
        return learning->repository.arch || no_arch(learning, fed);
    char why[LEARN_WHY_BYTES];
    const char *at = NULL;
    if (!has_word(learning, fed))
        return false;
    LearnSight sight = {.text = fed->text,
                        .pc_bytes = fed->pc_bytes,
                        .word = {fed->word[0], fed->word[1]},
                        .file = fed->file,
                        .line = fed->line,
                        .count = 1};
    learning->nseen++;
    LearnAdded added = learn_add(&learning->repository, &sight, &at, why);
    learning->nnew += added == LEARN_NEW;
    learning->ntwice += added == LEARN_TOLD_TWICE;
    learning->nwrong += added == LEARN_NO_TEXT;
    if (added == LEARN_TOLD_TWICE || added == LEARN_NO_TEXT) {
        learning->failed = true;
        learn_report(diags, fed, at, added == LEARN_NO_TEXT ? DIAG_E0901 : DIAG_E0902, why);
        return learning->settings->keep_going;
    }
    return true;
}

/* A dump does not print a NaN's payload, which is in bits 32 to 63: such words are no contradiction. */
static bool is_other_nan(const LearnFed *fed, const uint64_t word[2]) {
    return strstr(fed->text, "NAN") && (uint32_t)word[0] == (uint32_t)fed->word[0] && word[1] == fed->word[1];
}

static bool verify_one(void *user, const LearnFed *fed) {
    Learning *learning = user;
    Diags *diags = &learning->settings->diags;
    uint64_t word[2];
    char why[LEARN_WHY_BYTES];
    const char *at = NULL;
    if (!is_ours(learning, fed))
        return true;
    if (!has_word(learning, fed))
        return false;
    learning->nseen++;
    LearnAssembled result = learn_assemble(&learning->repository, fed->text, fed->pc_bytes, word, &at, why);
    word[1] |= (uint64_t)fed->control << (LEARN_CONTROL_BIT - 64);
    if (result == LEARN_WORD && word[0] == fed->word[0] && word[1] == fed->word[1]) {
        learning->nequal++;
    } else if (result == LEARN_WORD && !is_other_nan(fed, word)) {
        learning->ndifferent++;
        snprintf(why, sizeof why, "assembled it is 0x%016llx 0x%016llx, the dump has 0x%016llx 0x%016llx",
                 (unsigned long long)word[0], (unsigned long long)word[1], (unsigned long long)fed->word[0],
                 (unsigned long long)fed->word[1]);
        learn_report(diags, fed, fed->text, DIAG_E0907, why);
    } else {
        learning->noutside++;
        if (result == LEARN_WORD)
            snprintf(why, sizeof why, "the dump does not say which NaN it is");
        if (learning->settings->verbose || result == LEARN_WRONG_TEXT)
            learn_report(diags, fed, at, DIAG_E0906, why);
    }
    return true;
}

static bool assemble_one(void *user, const LearnFed *fed) {
    Learning *learning = user;
    uint64_t word[2];
    char why[LEARN_WHY_BYTES];
    const char *at = NULL;
    if (!is_ours(learning, fed))
        return true;
    if (learn_assemble(&learning->repository, fed->text, fed->pc_bytes, word, &at, why) != LEARN_WORD) {
        learning->failed = true;
        learn_report(&learning->settings->diags, fed, at, DIAG_E0906, why);
        return true; /* all that cannot be are named */
    }
    word[1] |= (uint64_t)fed->control << (LEARN_CONTROL_BIT - 64);
    if (learning->nours > 1 && fed->pc_bytes != learning->next_pc_bytes) /* learn reads it again by this */
        fprintf(learning->out, "\t\tFunction : %u\n", ++learning->nfunctions);
    learning->next_pc_bytes = fed->pc_bytes + INST_BYTES;
    fprintf(learning->out, "        /*%04llx*/                   %s ;  /* 0x%016llx */\n%*s/* 0x%016llx */\n",
            (unsigned long long)fed->pc_bytes, fed->text, (unsigned long long)word[0],
            (int)strlen(fed->text) + 39, "", (unsigned long long)word[1]);
    return true;
}

static bool show_one(void *user, const LearnFed *fed) {
    Learning *learning = user;
    LearnInsn insn;
    char why[LEARN_WHY_BYTES];
    const char *at = NULL;
    if (!is_ours(learning, fed))
        return learning->repository.arch || no_arch(learning, fed);
    if (!learn_parse(fed->text, fed->pc_bytes, learning->repository.urz, &insn, &at, why)) {
        learning->failed = true;
        learn_report(&learning->settings->diags, fed, at, DIAG_E0901, why);
        return true;
    }
    FILE *out = learning->out;
    fprintf(out, "/*%04llx*/ %s ;\n    key        %s\n    values    ", (unsigned long long)fed->pc_bytes,
            fed->text, insn.key);
    for (unsigned i = 0; i < insn.nvalues; i++)
        fprintf(out, " %lld", (long long)insn.values[i]);
    fputs("\n    modifiers ", out);
    for (unsigned i = 0; i < insn.nmods; i++)
        fprintf(out, " %.*s", (int)strcspn(insn.mod[i], "\n"), insn.mod[i]);
    fputs("\n", out);
    return true;
}

static bool hold_one(void *user, const LearnFed *fed) {
    Learning *learning = user;
    if (!is_ours(learning, fed))
        return learning->repository.arch || no_arch(learning, fed);
    if (!has_word(learning, fed))
        return false;
    if (cli_against_one(learning->against, fed, learning->repository.arch))
        return true;
    learning->failed = true;
    return learn_report(&learning->settings->diags, fed, fed->text, DIAG_E0901,
                        "there are no tables for this architecture");
}

/* ---- reports ---- */

static void print_keys(Learning *learning, cJSON *json) {
    LearnRepository *repository = &learning->repository;
    cJSON *list = json ? json_add_list(json, "keys") : NULL;
    if (!json)
        printf("%-44s %10s %6s %9s %7s  %s\n", "key", "seen", "kept", "unknowns", "deficit", "modifiers");
    for (uint32_t i = 0; i < repository->keys.n; i++) {
        LearnKey *key = &repository->keys.at[i];
        const char *name = str_text(&repository->strings, key->name);
        learn_solve_key(repository, key);
        LearnLevel level;
        unsigned deficit = learn_deficit(repository, key, &level), kept = 0, unknowns = 0;
        for (uint32_t k = 0; k < key->groups.n; k++)
            unknowns += key->groups.at[k].nfeatures;
        for (uint32_t k = 0; k < key->patterns.n; k++)
            kept += repository->patterns.at[key->patterns.at[k]].seen.n;
        if (!json) {
            printf("%-44s %10llu %6u %9u %7u  %s\n", name, (unsigned long long)key->ninsts, kept, unknowns,
                   deficit, learn_level_names[level]);
            continue;
        }
        cJSON *object = json_object();
        json_append(list, object);
        json_add_text(object, "key", name);
        json_add_number(object, "seen", (double)key->ninsts);
        json_add_number(object, "kept", kept);
        json_add_number(object, "unknowns", unknowns);
        json_add_number(object, "deficit", deficit);
        json_add_text(object, "modifiers", learn_level_names[level]);
    }
}

static void count_keys(LearnRepository *repository, uint32_t counts[LEARN_PATTERNS + 1], uint32_t *kept,
                       uint32_t *determined) {
    for (uint32_t i = 0; i < repository->keys.n; i++) {
        LearnKey *key = &repository->keys.at[i];
        LearnLevel level;
        learn_solve_key(repository, key);
        *determined += !learn_deficit(repository, key, &level);
        counts[level]++;
        for (uint32_t k = 0; k < key->patterns.n; k++)
            *kept += repository->patterns.at[key->patterns.at[k]].seen.n;
    }
}

static void print_summary(Learning *learning, const LearnFeed *feed, cJSON *json) {
    LearnRepository *repository = &learning->repository;
    uint32_t levels[LEARN_PATTERNS + 1] = {0}, kept = 0, determined = 0;
    count_keys(repository, levels, &kept, &determined);
    if (json) {
        json_add_text(json, "arch", repository->arch);
        json_add_number(json, "instructions", (double)repository->ninsts);
        json_add_number(json, "added", (double)learning->nnew);
        json_add_number(json, "left_out", (double)feed->nunresolved);
        json_add_number(json, "other_architectures", (double)learning->nother);
        json_add_number(json, "contradictions", (double)learning->ntwice);
        json_add_number(json, "kept", kept);
        json_add_number(json, "determined_keys", determined);
        return;
    }
    printf("%s: %llu instructions of %u keys, of which %u are kept, %llu of them new\n", repository->arch,
           (unsigned long long)repository->ninsts, repository->keys.n, kept,
           (unsigned long long)learning->nnew);
    printf("  %u keys are determined whole, %u within what was seen; of modifiers weigh apart those of %u "
           "keys, the "
           "opcode's together %u, all together %u, each pattern %u\n",
           determined, repository->keys.n - determined, levels[LEARN_APART], levels[LEARN_OPCODE],
           levels[LEARN_TOGETHER], levels[LEARN_PATTERNS]);
    if (feed->nunresolved)
        printf("  %llu left out: they name what a loader puts in, or the decoder does not know them\n",
               (unsigned long long)feed->nunresolved);
    if (learning->nother)
        printf("  %llu of other architectures left out\n", (unsigned long long)learning->nother);
}

static void print_verified(const Learning *learning, cJSON *json) {
    if (json) {
        json_add_text(json, "arch", learning->repository.arch);
        json_add_number(json, "instructions", (double)learning->nseen);
        json_add_number(json, "equal", (double)learning->nequal);
        json_add_number(json, "different", (double)learning->ndifferent);
        json_add_number(json, "refused", (double)learning->noutside);
        return;
    }
    double all = learning->nseen ? (double)learning->nseen : 1;
    printf("%s: %llu instructions: %llu equal (%.2f %%), %llu different, %llu refused (%.2f %%)\n",
           learning->repository.arch, (unsigned long long)learning->nseen,
           (unsigned long long)learning->nequal, 100.0 * (double)learning->nequal / all,
           (unsigned long long)learning->ndifferent, (unsigned long long)learning->noutside,
           100.0 * (double)learning->noutside / all);
}

/* ---- the command ---- */

/* The repository goes to standard output, and nothing else. */
static bool writes_here(const Settings *settings) {
    return settings->output && strcmp(settings->output, "-") == 0;
}

static bool take_over(Learning *learning) {
    LearnRepository other = {0};
    Settings *settings = learning->settings;
    bool good = learn_load(&other, settings->learn.transfer, &settings->diags);
    if (good) {
        LearnTransfer result = learn_transfer(&learning->repository, &other);
        if (!settings->json && !writes_here(settings))
            printf("%s: %u keys taken over, %u are different, %u were not seen here, of %u no instruction "
                   "here follows\n",
                   other.arch, result.taken, result.different, result.unseen, result.untested);
    }
    if (other.arch)
        learn_free(&other);
    return good;
}

static bool write_repository(Learning *learning) {
    const char *path = learning->settings->output;
    TextStream *stream = text_open();
    size_t size;
    learn_save(&learning->repository, stream->out);
    char *text = text_close(stream, &size);
    bool good = file_write(path, text, size, &learning->settings->diags);
    mem_free(text);
    return good;
}

static int finish_learning(Learning *learning, const LearnFeed *feed) {
    Settings *settings = learning->settings;
    if (settings->learn.transfer && !take_over(learning))
        return STATUS_INPUT;
    cJSON *json = settings->json ? json_object() : NULL;
    if (!writes_here(settings))
        print_summary(learning, feed, json);
    if (settings->learn.keys)
        print_keys(learning, json);
    if (json)
        cli_print_json(json);
    if (settings->output && !write_repository(learning))
        return STATUS_INPUT;
    return learning->failed ? STATUS_INPUT : STATUS_DONE;
}

static int finish_verifying(const Learning *learning) {
    cJSON *json = learning->settings->json ? json_object() : NULL;
    print_verified(learning, json);
    if (json)
        cli_print_json(json);
    return learning->ndifferent ? STATUS_DIFFERS : learning->noutside ? STATUS_NOTHING : STATUS_DONE;
}

/* Texts go out whole or not at all. */
static int finish_text(Learning *learning, TextStream *stream) {
    size_t size;
    char *text = text_close(stream, &size);
    const char *path = learning->settings->output ? learning->settings->output : "-";
    bool good = !learning->failed && file_write(path, text, size, &learning->settings->diags);
    mem_free(text);
    return good ? STATUS_DONE : STATUS_INPUT;
}

static bool load_repositories(Learning *learning) {
    Settings *settings = learning->settings;
    bool good = true;
    for (uint32_t i = 0; good && i < settings->learn.repositories.n; i++)
        good = learn_load(&learning->repository, settings->learn.repositories.at[i], &settings->diags);
    if (good && settings->learn.arch && learning->repository.arch &&
        strcmp(settings->learn.arch, learning->repository.arch) != 0)
        good = diag(&settings->diags, (SrcLoc){0}, DIAG_E0905, settings->learn.repositories.at[0],
                    learning->repository.arch, settings->learn.arch);
    return good;
}

/* Dumps of other architectures alone are a mistake: nothing of them was looked at. */
static bool has_ours(Learning *learning) {
    const Settings *settings = learning->settings;
    return learning->nours || !learning->nother || !learning->repository.arch ||
           diag(&learning->settings->diags, (SrcLoc){0}, DIAG_E0905, settings->inputs[0],
                learning->other_arch, learning->repository.arch);
}

/* Single dumps may be empty, not all of them: nothing was learned, and nothing compared. */
static bool has_any(Learning *learning, const LearnFeed *feed) {
    const Settings *settings = learning->settings;
    return learning->nours || learning->nother || feed->nunresolved || learning->failed ||
           !settings->ninputs ||
           diag(&learning->settings->diags, (SrcLoc){0}, DIAG_E0904, settings->inputs[0]);
}

static bool feed_inputs(Learning *learning, LearnFeed *feed) {
    Settings *settings = learning->settings;
    bool good = true;
    for (unsigned i = 0; i < settings->ninputs && good; i++) {
        bool read = learn_feed(feed, settings->inputs[i], &settings->diags);
        learning->failed |= !read;
        good = settings->keep_going || (read && (!learning->failed || settings->learn.action));
    }
    return good && has_any(learning, feed) && has_ours(learning);
}

int cmd_learn(Settings *settings) {
    static LearnFedFn *const each[] = {[LEARN_DO_LEARN] = learn_one,
                                       [LEARN_DO_VERIFY] = verify_one,
                                       [LEARN_DO_ASSEMBLE] = assemble_one,
                                       [LEARN_DO_SHOW] = show_one,
                                       [LEARN_DO_AGAINST] = hold_one};
    Learning learning = {.settings = settings};
    LearnAction action = (LearnAction)settings->learn.action;
    if (action == LEARN_DO_FORMS)
        return cli_write_forms(settings);
    LearnFeed feed = {.each = each[action], .user = &learning};
    bool makes_text = action == LEARN_DO_ASSEMBLE || action == LEARN_DO_SHOW;
    int status = STATUS_INPUT;
    settings->diags.all |= settings->verbose;
    learning.against = action == LEARN_DO_AGAINST ? cli_against_open(&settings->arena) : NULL;
    bool good = load_repositories(&learning);
    TextStream *stream = makes_text ? text_open() : NULL;
    learning.out = stream ? stream->out : NULL;
    good = good && feed_inputs(&learning, &feed);
    if (stream) {
        learning.failed |= !good;
        status = finish_text(&learning, stream);
    } else if (good && !learning.repository.arch) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0904, settings->ninputs ? settings->inputs[0] : "");
    } else if (good) {
        status = action == LEARN_DO_VERIFY    ? finish_verifying(&learning)
                 : action == LEARN_DO_AGAINST ? cli_against_report(learning.against, settings)
                                              : finish_learning(&learning, &feed);
    }
    cli_against_close(learning.against);
    if (learning.repository.arch)
        learn_free(&learning.repository);
    return status;
}
