/* Repositories as text: the instructions that were kept, each with the word it has, grouped by key.
 *
 *     heddle-learn 1
 *     arch sm_80
 *     key FADD_R_R_R 1234                                          so many were seen
 *     sm_80 0x1190 0x800000ff0e0d0221 0x0000000000000100 @P0 FADD.FTZ R13, -R14, -RZ
 *     end 1 1                                                      keys, instructions
 *
 * In front of an instruction: where it was seen (another architecture's after a transfer), its address, and
 * the word's lower and upper half without scheduling. Weights are not kept, they follow. What was cut off or
 * does not fit is refused at its line. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "learn/learn.h"
#include "learn/number.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- out ---- */

typedef struct {
    const LearnRepository *repository;
    const LearnKey *key;
} NamedKey;

static int by_name(const void *x, const void *y) {
    const NamedKey *one = x, *other = y;
    const StrTab *strings = &one->repository->strings;
    return strcmp(str_text(strings, one->key->name), str_text(strings, other->key->name));
}

void learn_save(const LearnRepository *repository, FILE *out) {
    uint32_t nrows = 0, nkeys = repository->keys.n;
    NamedKey *keys = mem_alloc(sizeof *keys * (nkeys + 1));
    for (uint32_t i = 0; i < nkeys; i++)
        keys[i] = (NamedKey){repository, &repository->keys.at[i]};
    qsort(keys, nkeys, sizeof *keys, by_name);
    fprintf(out, "heddle-learn 1\narch %s\n", repository->arch);
    for (uint32_t i = 0; i < nkeys; i++) {
        const LearnKey *key = keys[i].key;
        fprintf(out, "key %s %llu\n", str_text(&repository->strings, key->name),
                (unsigned long long)key->ninsts);
        for (uint32_t k = 0; k < key->patterns.n; k++) {
            const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[k]];
            for (uint32_t n = 0; n < pattern->seen.n; n++) {
                const LearnEvidence *seen = &pattern->seen.at[n];
                fprintf(out, "%s 0x%04llx 0x%016llx 0x%016llx %s\n", seen->arch,
                        (unsigned long long)seen->pc_bytes, (unsigned long long)seen->word[0],
                        (unsigned long long)seen->word[1], seen->text);
                nrows++;
            }
        }
    }
    fprintf(out, "end %u %u\n", nkeys, nrows);
    mem_free(keys);
}

/* ---- in ---- */

typedef struct {
    LearnRepository *repository;
    Diags *diags;
    const char *path;
    FILE *file;
    char line[2048];
    uint32_t number, nkeys, nrows;
    char key[LEARN_KEY_BYTES];
    uint64_t count; /* of the key's instructions, for its first row */
} Loader;

bool learn_line_error(Diags *diags, const char *file, const char *line, uint32_t number, const char *at,
                      DiagCode code, const char *text) {
    size_t size = strlen(line);
    Source source = {.name = file, .text = line, .size_bytes = size};
    uint32_t before = diags->first_line;
    diags->first_line = number;
    diag_in(diags, &source, (SrcLoc){at && at >= line && at <= line + size ? (uint32_t)(at - line) + 1 : 1},
            code, text);
    diags->first_line = before;
    return false;
}

static bool load_error(const Loader *loader, const char *at, const char *why) {
    return learn_line_error(loader->diags, loader->path, loader->line, loader->number, at, DIAG_E0903, why);
}

static bool next_load_line(Loader *loader) {
    if (!fgets(loader->line, sizeof loader->line, loader->file))
        return false;
    loader->number++;
    loader->line[strcspn(loader->line, "\n")] = 0;
    return true;
}

static bool load_head(Loader *loader) {
    LearnRepository *repository = loader->repository;
    if (!next_load_line(loader) || strcmp(loader->line, "heddle-learn 1") != 0)
        return load_error(loader, NULL,
                          "'heddle-learn 1' was expected: this is no repository of this version");
    if (!next_load_line(loader) || strncmp(loader->line, "arch ", 5) != 0 ||
        learn_arch_size(loader->line + 5) != strlen(loader->line + 5) || !loader->line[5])
        return load_error(loader, NULL, "an architecture as in 'arch sm_80' was expected");
    if (!repository->arch)
        learn_open(repository, loader->line + 5);
    else if (strcmp(repository->arch, loader->line + 5) != 0)
        return diag(loader->diags, (SrcLoc){0}, DIAG_E0905, loader->path, loader->line + 5, repository->arch);
    return true;
}

static bool load_key(Loader *loader) {
    const char *name = loader->line + 4;
    size_t size = strcspn(name, " ");
    char *end;
    if (!size || size >= sizeof loader->key || name[size] != ' ')
        return load_error(loader, name, "a key and a number were expected");
    errno = 0;
    unsigned long long count = strtoull(name + size + 1, &end, 10);
    if (*end || !isdigit((unsigned char)name[size + 1]) || errno || count > INT64_MAX)
        return load_error(loader, name + size, "a number was expected");
    memcpy(loader->key, name, size);
    loader->key[size] = 0;
    loader->nkeys++;
    loader->count = count;
    return true;
}

static const char *load_hex(const char *p, uint64_t *value) {
    const char *end = p[0] == '0' && p[1] == 'x' ? learn_hex(p + 2, value) : NULL;
    return end && *end == ' ' ? end + 1 : NULL;
}

static bool load_row(Loader *loader) {
    LearnSight sight = {.file = loader->path, .line = loader->number};
    unsigned size = learn_arch_size(loader->line);
    char arch[12] = "", why[LEARN_WHY_BYTES];
    if (!size || size >= sizeof arch || loader->line[size] != ' ')
        return load_error(loader, NULL, "a key, an instruction or the end was expected");
    memcpy(arch, loader->line, size);
    const char *p = loader->line + size + 1, *at = NULL;
    if (!(p = load_hex(p, &sight.pc_bytes)) || !(p = load_hex(p, &sight.word[0])) ||
        !(p = load_hex(p, &sight.word[1])))
        return load_error(loader, NULL,
                          "an address and the halves of a word were expected before the instruction");
    LearnInsn insn;
    if (!learn_parse(p, sight.pc_bytes, loader->repository->urz, &insn, &at, why))
        return load_error(loader, at, why);
    if (strcmp(insn.key, loader->key) != 0)
        return load_error(loader, p, "this instruction is of another key");
    sight.text = p;
    sight.arch = arch;
    sight.count = loader->count;
    loader->count = 0;
    loader->nrows++;
    return learn_add(loader->repository, &sight, &at, why) != LEARN_TOLD_TWICE ||
           learn_line_error(loader->diags, loader->path, loader->line, loader->number, p, DIAG_E0902, why);
}

static bool load_end(const Loader *loader, bool *ended) {
    char expected[64];
    snprintf(expected, sizeof expected, "end %u %u", loader->nkeys, loader->nrows);
    *ended = true;
    return strcmp(loader->line, expected) == 0 ||
           load_error(loader, NULL, "keys or instructions are missing before the end, or too many");
}

static bool load_rows(Loader *loader) {
    bool ended = false, good = true;
    while (good && next_load_line(loader)) {
        if (ended)
            return load_error(loader, NULL, "nothing was expected behind the end");
        good = strncmp(loader->line, "key ", 4) == 0   ? load_key(loader)
               : strncmp(loader->line, "end ", 4) == 0 ? load_end(loader, &ended)
                                                       : load_row(loader);
    }
    return good && (ended || load_error(loader, NULL, "the repository is cut off: its end is missing"));
}

static void close_repository(void *file) { fclose(file); }

bool learn_load_stream(LearnRepository *repository, const char *name, FILE *file, Diags *diags) {
    Loader loader = {.repository = repository, .diags = diags, .path = name, .file = file};
    return load_head(&loader) && load_rows(&loader);
}

bool learn_load(LearnRepository *repository, const char *path, Diags *diags) {
    FILE *file = fopen(path, "r");
    if (!file)
        return diag(diags, (SrcLoc){0}, DIAG_E0001, path, strerror(errno));
    scope_guard(file, close_repository);
    bool good = learn_load_stream(repository, path, file, diags);
    scope_unguard(file);
    fclose(file);
    return good;
}
