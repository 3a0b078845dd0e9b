/* Where instructions come from: dumps of cuobjdump and nvdisasm with the words behind the text, listings of
 * CuAssembler's form without, cubins by Heddle's own decoder. A dump is read line by line; of it all that is
 * kept is one function, whose labels must be known before its branches are. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LEARN_FEED_H
#define HEDDLE_LEARN_FEED_H
#include "base/diag.h"
#include "learn/learn.h"

typedef struct {
    const char *text; /* names in it replaced by addresses; without the final ';' */
    uint64_t pc_bytes, word[2];
    uint32_t control; /* scheduling: of the word, else of the text in front; 0 without either */
    bool has_word;
    const char *file, *arch; /* arch: NULL if the dump has not said it */
    uint32_t line, column;   /* 1-based; of a cubin 0 */
} LearnFed;
/* Valid during the call. False ends the reading. */
typedef bool LearnFedFn(void *user, const LearnFed *fed);

typedef struct {
    LearnFedFn *each;
    void *user;
    uint64_t nunresolved; /* instructions that name what only a loader knows, and words that the decoder does
                             not: out */
} LearnFeed;

/* A dump, a cubin, or a file that holds cubins; "-" is a dump from standard input. False: reported (E0901),
 * or `each` said so. */
bool learn_feed(LearnFeed *feed, const char *path, Diags *diags);
/* A dump from a stream, which stays open; `name` in diagnostics. */
bool learn_feed_stream(LearnFeed *feed, const char *name, FILE *file, Diags *diags);
/* An ELF image, or what holds such: of targets that Heddle knows. */
bool learn_feed_cubin(LearnFeed *feed, const char *path, Diags *diags);
/* Report at a fed instruction, `at` a place in its text or NULL. */
bool learn_report(Diags *diags, const LearnFed *fed, const char *at, DiagCode code, const char *text);
#endif
