/* Whether binaries are proved, one line for each: "proved", "not proved" or "unreadable".
 *
 *   whether PTX KERNEL HOW BINARY...
 *
 * What `heddle prove` says of them without a search for launches, each asked until the first thing that is
 * not shown (`only_whether` in check/prove/prove.h), all in one process. KERNEL is a name, or "" for all that
 * the PTX defines; HOW is "all" for the kernel with what it calls, "own" for the kernel's own verdict.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/prove/prove.h"
#include <stdio.h>
#include <string.h>

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static const char *whether(const PtxModule *m, const char *path, const char *kernel, bool own) {
    Arena arena = {0};
    Diags d = {.sink = silent};
    char *data;
    size_t bytes;
    Binary *b =
        file_read(&arena, path, &d, &data, &bytes) ? binary_read(path, (uint8_t *)data, bytes, &d) : NULL;
    const char *answer = "unreadable";
    if (b) {
        ProveReport report = {0};
        ProveOptions options = {.only_whether = true,
                                .kernel = *kernel ? kernel : NULL,
                                .first = own ? kernel : NULL,
                                .query_seconds = own ? 1 : 0};
        bool done = prove_module(m, b, &options, &report, &d);
        Verdict verdict = !done ? VERDICT_UNKNOWN
                          : own ? prove_verdict_of(&report, kernel)
                                : prove_verdict(&report);
        answer = verdict_status(verdict) == 0 ? "proved" : "not proved";
        prove_report_free(&report);
    }
    binary_free(b);
    arena_free(&arena);
    return answer;
}

int main(int argc, char **argv) {
    Arena arena = {0};
    Diags d = {.sink = silent};
    char *text;
    size_t bytes;
    PtxModule *m = argc > 3 && file_read(&arena, argv[1], &d, &text, &bytes)
                       ? ptx_parse(argv[1], text, bytes, &d)
                       : NULL;
    for (int i = 4; m && i < argc; i++) {
        printf("%s\n", whether(m, argv[i], argv[2], strcmp(argv[3], "own") == 0));
        fflush(stdout); /* what ends the process by accident is the binary behind the last line */
    }
    if (m)
        ptx_free(m);
    arena_free(&arena);
    return m ? 0 : 2;
}
