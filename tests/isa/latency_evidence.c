/* Units of unknown time against the words that ptxas made, while Heddle is built:
 *   latency_evidence words.txt FILE.isa...
 * An error names the row, FILE.isa:LINE.
 *
 * What a word can show: one that sets a scoreboard is of an operation whose time is not known. An operation
 * of unknown time that has a result needs a scoreboard for it: if no word of it sets one, its time is known.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"
#include <stdio.h>
#include <string.h>

enum { MAX_TARGETS = 16, LEAST_FIXED = 80, LEAST_VARIABLE = 40 };
static char **isa_files;
static unsigned results[MAX_TARGETS][OT_COUNT], set[MAX_TARGETS][OT_COUNT]; /* words with a result; those that
                                                                               set a scoreboard for it */
static unsigned errors;

/* Begins the message at the row that defines the operation. */
static void error_at_row(unsigned op) {
    const char *name = isa_optype_name(op);
    size_t n = strlen(name);
    errors++;
    for (char **file = isa_files; *file; file++) {
        FILE *f = fopen(*file, "r");
        char line[1024];
        for (unsigned number = 1; f && fgets(line, sizeof line, f); number++)
            if (strncmp(line, "__DefOptype ", 12) == 0 && strncmp(line + 12, name, n) == 0 &&
                line[12 + n] == ':') {
                fclose(f);
                fprintf(stderr, "%s:%u: error: %s: ", *file, number, name);
                return;
            }
        if (f)
            fclose(f);
    }
    fprintf(stderr, "error: %s: ", name);
}

static bool has_result(const MachInst *in) {
    static const uint32_t none[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, UINT32_MAX};
    for (unsigned k = 0; k < in->ndst; k++)
        if (in->dst[k].kind == OPK_REG && in->dst[k].value != none[in->dst[k].file])
            return true;
    return false;
}

static bool count(const char *name, const uint64_t word[2], const char *text) {
    const Target *target = isa_target(name);
    MachInst in;
    char why[ISA_ERROR_BYTES];
    unsigned k = 0;
    if (!target || !isa_decode(target, word, &in, why))
        return false;
    while (isa_targets[k] != target)
        k++;
    if (k >= MAX_TARGETS)
        return false;
    bool write_sb = in.ctrl.write_sb != CONTROL_DEFAULT.write_sb;
    bool scoreboard = write_sb || in.ctrl.read_sb != CONTROL_DEFAULT.read_sb;
    if (scoreboard && !latency_is_variable(target, &in)) {
        error_at_row(in.optype);
        fprintf(stderr, "%s: ptxas sets a scoreboard (%s), the row's Unit is one of known time\n", name,
                text);
    }
    results[k][in.optype] += has_result(&in);
    set[k][in.optype] += has_result(&in) && write_sb;
    return true;
}

static bool read_words(const char *path) {
    FILE *f = fopen(path, "r");
    char line[1024], target[32];
    unsigned long long pc, lo, hi;
    int at;
    bool ok = f != NULL;
    for (unsigned number = 1; ok && fgets(line, sizeof line, f); number++) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || !line[0])
            continue;
        ok = sscanf(line, "%31s %llx %llx %llx | %n", target, &pc, &lo, &hi, &at) == 4 &&
             count(target, (const uint64_t[2]){lo, hi}, line + at);
        if (!ok)
            fprintf(stderr, "%s:%u: error: no word that is known\n", path, number);
    }
    if (f)
        fclose(f);
    else
        fprintf(stderr, "%s: error: cannot read\n", path);
    return ok;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    isa_files = argv + 2;
    if (!read_words(argv[1]))
        return 1;
    unsigned fixed = 0, variable = 0;
    for (unsigned k = 0; isa_targets[k]; k++)
        for (unsigned op = 1; op < OT_COUNT; op++) {
            MachInst in = isa_inst(op);
            bool waits = latency_is_variable(isa_targets[k], &in);
            if (!results[k][op])
                continue;
            if (waits && !set[k][op]) {
                error_at_row(op);
                fprintf(stderr,
                        "%s: ptxas sets no scoreboard in %u word%s, the row's Unit is one of unknown time\n",
                        isa_target_name(isa_targets[k]), results[k][op], results[k][op] == 1 ? "" : "s");
            }
            fixed += !waits;
            variable += waits;
        }
    if (fixed < LEAST_FIXED || variable < LEAST_VARIABLE) {
        fprintf(stderr, "%s: error: words of only %u and %u operations\n", argv[1], fixed, variable);
        return 1;
    }
    return errors > 0;
}
