/* Dumps and repositories of encodings. What is learned from a dump assembles each of its texts to its word,
 * and a repository that is read is written so that it is read again as the same. SPDX-License-Identifier: MIT
 */
#include "tests/fuzz/fuzz.h"
#include "learn/feed.h"
#include "learn/learn.h"

static bool learn_fed(void *user, const LearnFed *fed) {
    char why[LEARN_WHY_BYTES];
    const char *at;
    uint64_t word[2];
    LearnSight sight = {.text = fed->text,
                        .pc_bytes = fed->pc_bytes,
                        .word = {fed->word[0], fed->word[1]},
                        .file = "f",
                        .count = 1};
    LearnAdded added = learn_add(user, &sight, &at, why);
    if ((added == LEARN_NEW || added == LEARN_KNOWN) &&
        (learn_assemble(user, fed->text, fed->pc_bytes, word, &at, why) != LEARN_WORD ||
         word[0] != fed->word[0]))
        fuzz_broken("what was learned is assembled", fed->text);
    return true;
}

static char *written(const LearnRepository *repository, size_t *size) {
    char *text;
    FILE *out = open_memstream(&text, size);
    learn_save(repository, out);
    fclose(out);
    return text;
}

static bool reads(LearnRepository *repository, const void *data, size_t size) {
    Diags diags = {.sink = NULL};
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
    bool good = learn_load_stream(repository, "f", in, &diags);
    fclose(in);
    if (!good && !diags.nerrors)
        fuzz_broken("what is refused is reported", "repository");
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    LearnRepository repository = {0}, again = {0};
    Diags diags = {.sink = NULL};
    LearnFeed feed = {.each = learn_fed, .user = &repository};
    if (!size)
        return 0;
    if (!reads(&repository, data, size)) {
        if (repository.arch)
            learn_free(&repository);
        learn_open(&repository, "sm_80");
        FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
        learn_feed_stream(&feed, "f", in, &diags);
        fclose(in);
    }
    size_t first_size, second_size;
    char *first = written(&repository, &first_size);
    if (repository.keys.n && !reads(&again, first, first_size))
        fuzz_broken("what is written is read", first);
    if (again.arch) {
        char *second = written(&again, &second_size);
        if (strcmp(first, second) != 0)
            fuzz_broken("what is read is written again", first);
        free(second);
        learn_free(&again);
    }
    free(first);
    learn_free(&repository);
    return 0;
}
