/* Reads words.c's words with the tables that it is linked to.
 *   decode TARGET WORDS ROWS   writes to ROWS what `learn --against-isa` prints for those that are not
 * decoded; all must be of kinds that a row can say decode TARGET WORDS        every word is decoded, printed
 * as the file has it, and encoded again SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include "learn/rows.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PC = 0x1000, ENOUGH = 5000 };

typedef struct {
    unsigned nwords, nunknown, nwrong;
} Counts;

static void wrong(Counts *counts, const char *text, const char *what) {
    if (counts->nwrong++ < 20)
        printf("FAIL: %s: %s\n", text, what);
}

/* Are word and text the same instruction? */
static void hold(const Target *target, const MachInst *in, const char *text, const uint64_t word[2],
                 Counts *counts) {
    char own[512], error[ISA_ERROR_BYTES];
    const char *end;
    uint64_t again[2];
    MachInst read;
    isa_print(target, in, PC, NULL, own, sizeof own);
    if (!learn_same_text(own, text))
        wrong(counts, text, own);
    else if (!isa_parse(target, text, PC, NULL, &read, &end, error))
        wrong(counts, text, error);
    else if (read.ctrl = in->ctrl, !isa_encode(target, &read, again, error))
        wrong(counts, text, error);
    else if (again[0] != word[0] || again[1] != word[1])
        wrong(counts, text, "it is encoded otherwise");
}

static void one_line(const Target *target, char *line, LearnRowMaker *maker, Counts *counts) {
    uint64_t word[2];
    int at = 0;
    char error[ISA_ERROR_BYTES];
    MachInst in;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "0x%" SCNx64 " 0x%" SCNx64 " | %n", &word[0], &word[1], &at) != 2 || !at) {
        wrong(counts, line, "this is no word");
        return;
    }
    counts->nwords++;
    if (isa_decode(target, word, &in, error)) {
        hold(target, &in, line + at, word, counts);
        return;
    }
    counts->nunknown++;
    LearnSight sight = {
        .text = line + at, .pc_bytes = PC, .word = {word[0], word[1]}, .file = "", .count = 1};
    sight.word[1] &= ~((uint64_t)0x1ffff << (LEARN_CONTROL_BIT - 64));
    if (maker)
        learn_rows_add(maker, &sight, true);
    else
        wrong(counts, line + at, error);
}

static LearnRows print_rows(LearnRowMaker *maker, const char *path) {
    LearnRows rows = {0};
    FILE *out = fopen(path, "w");
    if (out) {
        rows = learn_print_rows(maker, out);
        fclose(out);
    }
    return rows;
}

int main(int argc, char **argv) {
    const Target *target = argc > 2 ? isa_any_target(argv[1]) : NULL;
    FILE *words = target ? fopen(argv[2], "r") : NULL;
    const char *path = argc > 3 ? argv[3] : NULL;
    Counts counts = {0};
    LearnRowMaker maker;
    LearnRows rows = {0};
    char line[700];
    if (!words)
        return 2;
    learn_rows_open(&maker, argv[1]);
    while (fgets(line, sizeof line, words))
        one_line(target, line, path ? &maker : NULL, &counts);
    fclose(words);
    if (path)
        rows = print_rows(&maker, path);
    printf("%u words, %u not decoded, %u wrong; %u rows, %u kinds without\n", counts.nwords, counts.nunknown,
           counts.nwrong, rows.nrows, rows.nrefused);
    learn_rows_free(&maker);
    bool good = !counts.nwrong && counts.nwords >= ENOUGH && !rows.nrefused &&
                (path ? counts.nunknown == counts.nwords && rows.nrows : !counts.nunknown);
    return good ? 0 : 1;
}
