/* Every assembly line of the source texts through the assembler: seed_lines.txt says what becomes of each.
 * The words are built here from the source's field list, without the generated tables. test_seed_lines
 * seed_lines.txt seed_fields.txt [OUTPUT-OF-seed_lines] With the third file, the lines of the table are those
 * of the source texts, all of them, in their order.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm.h"
#include "emit/elf/binary.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 400, FUNC_INSTS = 0x130 / 16 };
typedef struct {
    char opcode[24], name[24], value[24];
    int lo, width;
} Field;
typedef struct {
    Field field[FIELDS];
    int nfields, failures, accepted, labels, rejected, blocks, left;
    char message[512];
} Test;

static void fail_line(Test *test, const char *line, const char *what) {
    printf("%s: %s\n", line, what);
    test->failures++;
}

/* The numbers that the source leaves open. */
static unsigned number_of(const char *name) {
    static const struct {
        const char *name;
        unsigned value;
    } numbers[] = {{"BRA", 0x47},
                   {"BRX", 0x49},
                   {"CALL", 0x44},
                   {"RET", 0x50},
                   {"LEPC", 0x4e},
                   {"EXIT", 0x4d},
                   {"BMOV", 0x55},
                   {"BSSY", 0x45},
                   {"BSYNC", 0x41},
                   {"YIELD", 0x46},
                   {"BREAK", 0x42},
                   {"WARPSYNC", 0x48},
                   {"NANOSLEEP", 0x5d},
                   {"BAR", 0x1d},
                   {"BAR_RED", 0x1f},
                   {"B2R", 0x1c},
                   {"B2R_RESULT", 0x1b},
                   {"R2B", 0x1e},
                   {"X", 1},
                   {"R", 3},
                   {"RI", 5},
                   {"RRI", 7},
                   {"I", 9},
                   {"C", 0xb},
                   {"U", 0xd},
                   {"RIR", 0xf},
                   {"PT", 7},
                   {"False", 0},
                   {"NoCond", 0},
                   {"NoClear", 0},
                   {"0x0", 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(numbers[i].name, name))
            return numbers[i].value;
    return ~0u;
}

static void put(uint64_t word[2], int lo, int width, uint64_t value) {
    for (int i = 0; i < width; i++, lo++)
        word[lo / 64] |= (value >> (i < 63 ? i : 63) & 1) << lo % 64;
}

/* "OPCODE field=value ...": fields not named have the source's default. No default: false. */
static bool build(const Test *test, const char *text, uint64_t word[2]) {
    char copy[256], *values[16], *save = NULL;
    int n = 0, used = 0;
    snprintf(copy, sizeof copy, "%s", text);
    char *opcode = strtok_r(copy, " ", &save);
    while (n < 16 && (values[n] = strtok_r(NULL, " ", &save)))
        n++;
    word[0] = word[1] = 0;
    put(word, 109, 7, 0x7f); /* no yield, no scoreboards; stall count 0 */
    for (int i = 0; i < test->nfields; i++) {
        const Field *f = &test->field[i];
        if (strcmp(f->opcode, opcode))
            continue;
        uint64_t v = number_of(f->value + (f->value[0] == '=' ? 2 : 0));
        bool known = v != ~0u;
        size_t len = strlen(f->name);
        for (int k = 0; k < n; k++)
            if (!strncmp(values[k], f->name, len) && values[k][len] == '=') {
                v = (uint64_t)strtoll(values[k] + len + 1, NULL, 0);
                known = true;
                used++;
            }
        if (!known)
            return false;
        put(word, f->lo, f->width, v);
    }
    return used == n;
}

static void sink(void *user, Severity severity, const char *line) {
    Test *test = user;
    if (severity == SEV_ERROR && !test->message[0])
        snprintf(test->message, sizeof test->message, "%s", line);
}

/* A function of NOPs with the line at `pc`, and the labels that the lines name. The image, or NULL. */
static void *assemble_line(Test *test, const char *line, unsigned pc, size_t *size_bytes) {
    static const struct {
        const char *name;
        unsigned at;
    } labels[] = {{".Base", 0},       {".text.brx_test", 0}, {".Label", 0x50},  {".L_x_3", 0xc0},
                  {".L_x_1", 0xd0},   {".L_x_4", 0xf0},      {".L_x_0", 0x100}, {"label", 0x110},
                  {".Target", 0x110}, {".L_x_5", 0x110}};
    char text[2048];
    bool container =
        strncmp(line, ".section", 8) == 0; /* it would make the rest one, and that has no .entry */
    int n = container ? snprintf(text, sizeof text, ".target bru1\n%s\n", line)
                      : snprintf(text, sizeof text, ".target bru1\n.entry k\n");
    for (unsigned at = 0; at < 16 * FUNC_INSTS && !container; at += 16) {
        for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
            if (labels[i].at == at && strncmp(line, labels[i].name, strlen(labels[i].name)))
                n += snprintf(text + n, sizeof text - (size_t)n, "%s:\n", labels[i].name);
        if (at == pc + 16 && strcmp(line, ".Next:"))
            n += snprintf(text + n, sizeof text - (size_t)n, ".Next:\n");
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s\n", at == pc ? line : "NOP;",
                      at == pc && line[strlen(line) - 1] == ':' ? "\nNOP;" : "");
    }
    Source s = {"line.sass", text, (size_t)n};
    Diags d = {.source = &s, .sink = sink, .user = test};
    void *image = NULL;
    test->message[0] = 0;
    return asm_assemble(&s, &image, size_bytes, &d) ? image : NULL;
}

static void accepted(Test *test, char *line, char *pc_text, char *fields, char *word_text) {
    unsigned pc = (unsigned)strtoul(pc_text, NULL, 16);
    char half[17] = {0};
    memcpy(half, word_text, 16);
    uint64_t want[2] = {strtoull(word_text + 16, NULL, 16), strtoull(half, NULL, 16)}, built[2];
    if (strcmp(fields, "-") && (!build(test, fields, built) || built[0] != want[0] || built[1] != want[1]))
        fail_line(test, line, "the table's word is not what the source's fields give");
    size_t size;
    void *image = assemble_line(test, line, pc, &size);
    if (!image) {
        fail_line(test, line, test->message);
        return;
    }
    Diags d = {.sink = sink, .user = test};
    Binary *binary = binary_read("line.cubin", image, size, &d);
    const BinFunc *f = binary ? binary_find(binary, "k") : NULL;
    const uint64_t *got = f ? binary->code[(f->address - binary->code_base + pc) / 16] : NULL;
    if (!got || got[0] != want[0] || got[1] != want[1]) {
        char what[120];
        snprintf(what, sizeof what, "assembled to %016llx%016llx", got ? (unsigned long long)got[1] : 0,
                 got ? (unsigned long long)got[0] : 0);
        fail_line(test, line, what);
    }
    binary_free(binary);
    free(image);
}

static void one_row(Test *test, char *row) {
    char *part[5] = {NULL}, *p = row;
    int n = 0;
    for (part[n++] = p; n < 5 && (p = strstr(p, " | ")); part[n++] = p) {
        *p = 0;
        p += 3;
    }
    size_t size;
    void *image = NULL;
    if (row[0] == 'A' && n == 5 && strlen(part[4]) == 32) {
        accepted(test, part[1], part[2], part[3], part[4]);
        test->accepted++;
    } else if (row[0] == 'L' && n == 2) {
        if (!(image = assemble_line(test, part[1], 0x20, &size)))
            fail_line(test, part[1], test->message);
        test->labels++;
    } else if (row[0] == 'R' && n == 4) {
        if ((image = assemble_line(test, part[1], 0x20, &size)))
            fail_line(test, part[1], "is accepted");
        else if (!strstr(test->message, part[2]) || !strstr(test->message, "line.sass:") ||
                 !strstr(test->message, "error E035"))
            fail_line(test, part[1], test->message);
        test->rejected++;
    } else {
        fail_line(test, row, "is no row of this table");
    }
    free(image);
}

static FILE *open_file(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    return f;
}

static bool next_line(FILE *f, char line[512]) {
    while (fgets(line, 512, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] && line[0] != '#')
            return true;
    }
    return false;
}

static void read_fields(Test *test, const char *path) {
    FILE *f = open_file(path);
    while (test->nfields < FIELDS) {
        Field *x = &test->field[test->nfields];
        if (fscanf(f, "%23s %23s %d %d %23s", x->opcode, x->name, &x->lo, &x->width, x->value) != 5)
            break;
        test->nfields++;
    }
    fclose(f);
}

/* The same lines, in the same order. */
static void compare_with_source(Test *t, const char *table, const char *source) {
    FILE *a = open_file(table), *b = open_file(source);
    char row[512], line[512];
    while (next_line(a, row)) {
        const char *text = row[0] == '=' ? row : row + 4;
        char *end = row[0] == '=' ? NULL : strstr(row + 4, " | ");
        if (end)
            *end = 0;
        if (!next_line(b, line) || strcmp(line, text)) {
            fail_line(t, text, "differs from the source text");
            break;
        }
    }
    if (next_line(b, line))
        fail_line(t, line, "is not in the table");
    fclose(a);
    fclose(b);
}

int main(int argc, char **argv) {
    static Test t;
    char row[512];
    if (argc < 3)
        return 2;
    read_fields(&t, argv[2]);
    FILE *f = open_file(argv[1]);
    while (next_line(f, row)) {
        if (row[0] == '=') {
            if (t.left)
                fail_line(&t, row, "the block before it has fewer lines than it says");
            t.left = atoi(strrchr(row, ' ') + 1);
            t.blocks++;
            continue;
        }
        t.left--;
        one_row(&t, row);
    }
    fclose(f);
    if (t.left)
        fail_line(&t, "the last block", "has not as many lines as it says");
    if (argc > 3)
        compare_with_source(&t, argv[1], argv[3]);
    printf("%d blocks: %d instructions and %d labels accepted, %d lines rejected; %s the source texts\n",
           t.blocks, t.accepted, t.labels, t.rejected, argc > 3 ? "compared with" : "not compared with");
    return t.failures || t.nfields < 300 || !t.accepted;
}
