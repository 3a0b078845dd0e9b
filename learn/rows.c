/* Which rows are printed, in which order: see row.c for one. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "learn/row.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *mod_text(const LearnDraft *row, StrId mod) {
    return str_text(&row->repository->strings, mod);
}

typedef struct {
    const char *text;
    uint32_t place, nfree; /* bits of fields */
} PrintedRow;
typedef VEC(PrintedRow) Printed;

/* A row with fewer fields goes before: "IADD R0, R1, R2" before "IADD R0, P1, R1, R2", of which it is the
 * case P1 = PT. Of two rows that have a word the decoder takes the first. */
static int by_fields(const void *x, const void *y) {
    const PrintedRow *one = x, *other = y;
    if (one->nfree != other->nfree)
        return one->nfree < other->nfree ? -1 : 1;
    return one->place < other->place ? -1 : one->place > other->place;
}

/* A name that no row before has. */
static const char *row_name(LearnRowMaker *maker, const char *text, const char *key) {
    char name[LEARN_KEY_BYTES + 100];
    size_t n = (size_t)snprintf(name, 100, "LEARNED_%s", text);
    n += (size_t)snprintf(name + n, LEARN_KEY_BYTES, "%s", key + strcspn(key, "_"));
    for (size_t i = 0; i < n; i++)
        name[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
    StrTab *strings = &maker->repository.strings;
    StrId id = str_intern(strings, name, n);
    uint32_t before = strmap_get(&maker->names, id);
    strmap_put(&maker->names, &maker->repository.arena, id, before + 1);
    return before ? arena_printf(&maker->repository.arena, "%s_%u", name, before + 1) : str_text(strings, id);
}

static void print_row(LearnRowMaker *maker, const LearnDraft *row, const char *name, FILE *out) {
    const char *key = mod_text(row, row->key->name);
    fprintf(out,
            "// %s\n__DefOptype %s: [%s]\n  __Encoding\n    fallback;\n    field<0, 12> Opcode opcode == "
            "0x%03llx;\n%s",
            row->seen->text, row_name(maker, name, key), learn_draft_is_uniform(row, name) ? "UNV" : "NV",
            (unsigned long long)(row->seen->word[0] & 0xfff), row->fields);
    fprintf(out,
            "  __OperandInfo\n    Slots<; %s>;\n    Unit<ALU>; Effects<STATE>; Lanes<EACH>; Guard<FIXED>; "
            "Zero<RZ>; Timing<NONE>; "
            "Simulated<ABSENT, \"learned from a dump\">;\n",
            row->slots);
    if (strstr(row->fields, " distance"))
        fprintf(out, "    AsmFormat<distance> = CvtIShift(distance, 2);\n");
    fprintf(out, "    Syntax \"%s%s\";\n", name, row->syntax);
}

static bool is_first_of_row(const LearnDraft *row, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        const LearnPattern *before = &row->repository->patterns.at[row->key->patterns.at[k]];
        if (before->number == row->group->number && before->seen.n &&
            learn_draft_same(row, before, row->first))
            return false;
    }
    return true;
}

/* Is a row asked for any of its patterns? */
static bool is_asked_for(const LearnDraft *row) {
    for (uint32_t i = 0; i < row->key->patterns.n; i++) {
        const LearnPattern *pattern = &row->repository->patterns.at[row->key->patterns.at[i]];
        if (pattern->number == row->group->number && pattern->is_lacking &&
            learn_draft_same(row, row->first, pattern))
            return true;
    }
    return false;
}

/* The text of a row, or a comment with the reason why there is none. */
static void print_or_refuse(LearnRowMaker *maker, LearnDraft *row, LearnRows *counts, Printed *printed) {
    TextStream *stream = text_open();
    char name[ROW_NAME_BYTES];
    size_t size;
    bool good = learn_draft_make(row, name);
    if (good)
        print_row(maker, row, name, stream->out);
    else
        fprintf(stream->out, "// %s as in %s: %s\n", mod_text(row, row->key->name), row->seen->text,
                row->why);
    good ? counts->nrows++ : counts->nrefused++;
    PrintedRow *out = VEC_PUSH(&maker->repository.arena, printed);
    *out = (PrintedRow){.place = printed->n, .nfree = good ? 0 : NO_BIT + 1};
    for (Wide left = row->owned; good && left; left &= left - 1)
        out->nfree++;
    char *text = text_close(stream, &size);
    out->text = arena_copy(&maker->repository.arena, text, size + 1);
    mem_free(text);
}

static void print_group(LearnRowMaker *maker, const LearnKey *key, LearnGroup *group, LearnRows *counts,
                        Printed *printed) {
    LearnRepository *repository = &maker->repository;
    for (uint32_t i = 0; i < key->patterns.n; i++) {
        const LearnPattern *pattern = &repository->patterns.at[key->patterns.at[i]];
        if (pattern->number != group->number || !pattern->seen.n)
            continue;
        LearnDraft *row = mem_zeroed(1, sizeof *row);
        row->maker = maker;
        row->repository = repository;
        row->strings = &repository->strings;
        row->key = key;
        row->group = group;
        row->weights = group->level == LEARN_APART ? learn_loan(repository, key, group) : NULL;
        row->weights = row->weights ? row->weights : group;
        row->first = pattern;
        row->seen = &pattern->seen.at[0];
        if (is_asked_for(row) && is_first_of_row(row, i))
            print_or_refuse(maker, row, counts, printed);
        mem_free(row);
    }
}

/* ---- what rows are made of ---- */

void learn_rows_open(LearnRowMaker *maker, const char *arch) {
    *maker = (LearnRowMaker){0};
    learn_open(&maker->repository, arch);
}

void learn_rows_free(LearnRowMaker *maker) { learn_free(&maker->repository); }

/* Without ".reuse", if the word has as many bits of it: how many. */
static unsigned without_reuse(const LearnSight *sight, char text[LEARN_TEXT_BYTES], uint64_t word[2]) {
    unsigned n = 0, bits = 0;
    size_t size = 0;
    for (const char *p = sight->text; *p && size + 1 < LEARN_TEXT_BYTES;) {
        if (strncmp(p, ".reuse", 6) == 0 && !isalnum((unsigned char)p[6])) {
            p += 6;
            n++;
        } else {
            text[size++] = *p++;
        }
    }
    text[size] = 0;
    for (uint64_t left = sight->word[1] >> 58 & 7; left; left &= left - 1)
        bits++;
    word[0] = sight->word[0];
    word[1] = sight->word[1] & ~((uint64_t)7 << 58);
    return n && n == bits ? n : 0;
}

static void note_reuse(LearnRowMaker *maker, const LearnSight *sight, const LearnInsn *insn) {
    StrTab *strings = &maker->repository.strings;
    char opcode[LEARN_KEY_BYTES];
    snprintf(opcode, sizeof opcode, "%.*s", (int)strcspn(insn->key, "_"), insn->key);
    for (unsigned bit = 122; bit < 125; bit++)
        if (sight->word[1] >> (bit - 64) & 1)
            strmap_put(&maker->reused, &maker->repository.arena, learn_reuse_id(strings, opcode, bit), 1);
}

static void note_lacking(LearnRepository *repository, const LearnInsn *insn) {
    char name[LEARN_KEY_BYTES + LEARN_TEXT_BYTES + 2];
    int n = snprintf(name, sizeof name, "%s\n%s", insn->key, insn->mods);
    StrId id = str_find(&repository->strings, name, (size_t)n);
    uint32_t index = id.i ? strmap_get(&repository->pattern_index, id) : 0;
    if (index)
        repository->patterns.at[index - 1].is_lacking = true;
}

void learn_rows_add(LearnRowMaker *maker, const LearnSight *sight, bool is_lacking) {
    char text[LEARN_TEXT_BYTES], why[LEARN_WHY_BYTES];
    const char *at = NULL;
    LearnSight bare = *sight;
    LearnInsn insn;
    unsigned reused = without_reuse(sight, text, bare.word);
    if (reused)
        bare.text = text;
    else
        memcpy(bare.word, sight->word, sizeof bare.word);
    LearnAdded added = learn_add(&maker->repository, &bare, &at, why);
    if ((!reused && !is_lacking) || added == LEARN_NO_TEXT ||
        !learn_parse(bare.text, bare.pc_bytes, maker->repository.urz, &insn, &at, why))
        return;
    if (reused)
        note_reuse(maker, sight, &insn);
    if (is_lacking)
        note_lacking(&maker->repository, &insn);
}

LearnRows learn_print_rows(LearnRowMaker *maker, FILE *out) {
    LearnRepository *repository = &maker->repository;
    LearnRows counts = {0};
    Printed printed = {0};
    fprintf(out,
            "// Learned from dumps; what an operand is, and what the instruction does, they do not say.\n"
            "// SPDX-License-Identifier: MIT\n__Targets [%s];\n__DefBitFieldType LearnedOn<1>\n    OFF \"\"; "
            "ON \"\";\n",
            repository->arch);
    for (uint32_t i = 0; i < repository->keys.n; i++) {
        LearnKey *key = &repository->keys.at[i];
        learn_solve_key(repository, key);
        for (uint32_t k = 0; k < key->groups.n; k++)
            print_group(maker, key, &key->groups.at[k], &counts, &printed);
    }
    if (printed.n)
        qsort(printed.at, printed.n, sizeof *printed.at, by_fields);
    for (uint32_t i = 0; i < printed.n; i++)
        fputs(printed.at[i].text, out);
    return counts;
}
