/* What the PTX text says of an instruction, by the line that the file's map gives it.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

/* Where the lines of the PTX text begin, found once: a file has many statements. */
static void find_lines(Checker *checker) {
    const Binary *binary = checker->flow->bin;
    const char *stop = binary->ptx_text + binary->ptx_text_bytes;
    VEC(const char *) lines = {0};
    for (const char *p = binary->ptx_text; p; p = p ? p + 1 : NULL) {
        VEC_ADD(&checker->a, &lines, p);
        p = memchr(p, '\n', (size_t)(stop - p));
    }
    checker->ptx_lines = lines.at;
    checker->nptx_lines = lines.n;
}

static const char *line_of(Checker *checker, uint32_t line, const char **end) {
    const Binary *binary = checker->flow->bin;
    if (!checker->ptx_lines)
        find_lines(checker);
    if (line > checker->nptx_lines)
        return NULL;
    *end =
        line < checker->nptx_lines ? checker->ptx_lines[line] - 1 : binary->ptx_text + binary->ptx_text_bytes;
    return checker->ptx_lines[line - 1];
}

bool check_starts_with(const char *p, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

const char *check_ptx_statement(Checker *checker, uint32_t line, const char **stop) {
    const char *end, *p = checker->flow->bin->ptx_text && line ? line_of(checker, line, &end) : NULL;
    *stop = p ? memchr(p, ';', (size_t)(end - p)) : NULL;
    if (*stop && memchr(*stop + 1, ';', (size_t)(end - *stop - 1)))
        return NULL; /* two statements in a line: which one? */
    if (p && !*stop)
        *stop = end; /* it goes on in the next line */
    return p;
}

uint32_t check_ptx_line(const Checker *checker, uint32_t i) {
    const BinFlow *flow = checker->flow;
    uint32_t f = flow->blocks[flow->block_of[i]].func;
    return flow->bin->funcs[f].locs ? flow->bin->funcs[f].locs[i - flow->funcs[f].first_inst].ptx_line : 0;
}

static bool has_word(Checker *checker, uint32_t inst, const char *word) {
    const char *stop, *p = check_ptx_statement(checker, check_ptx_line(checker, inst), &stop);
    bool found = false;
    for (; p && p < stop && !found; p++)
        found = check_starts_with(p, stop, word);
    return found;
}

bool check_promised_uniform(Checker *checker, uint32_t inst) {
    return has_word(checker, inst, "bra.uni") || has_word(checker, inst, "brx.idx.uni");
}

bool check_promised_whole(Checker *checker, uint32_t inst) { return has_word(checker, inst, ".aligned"); }
