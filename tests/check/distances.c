/* distances observe   of each pair of instructions in the cubins that the standard input names (made by ptxas
 * -O3), of which the second reads what the first wrote at a fixed time: the least distance, as rows of
 *                     distances.txt
 * distances FILE      latency.def against those rows
 *
 * A distance is the sum of the stalls from the writer on. Only those inside a block count, and none across a
 * wait for a scoreboard, which takes time of its own. ptxas keeps what the hardware needs, so no row may be
 * less than the table says, or `heddle check` would call its code wrong. Where the reader comes next, the
 * writer's stall is made for it: what ptxas keeps in every one of many such pairs it keeps for a reason, so
 * the table may not say less. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/flow/binflow.h"
#include "isa/machine/latency.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 256 + 8 + 64 + 8, ENOUGH = 25, FEW = 10, HASH = 1 << 16, MOST_ROWS = 20000 };
/* One kind of pair: everything that latency_raw_part may look at. */
typedef struct {
    uint16_t writer, reader;
    uint8_t target, dst, dst_count, dst_part, src, src_part;
} Key;
typedef struct {
    Key key;
    unsigned least, times, next_least, next_times;
    uint64_t words[4];
    uint8_t dst_part, src_part;
} Pair;
typedef struct {
    uint32_t inst; /* + 1; 0: none */
    uint8_t dst, part;
} Written;

static Pair pairs[HASH];
static unsigned npairs;

static unsigned cell_of(Operand o, unsigned k) {
    static const uint16_t first[] = {0, 256, 264, 328}, zero[] = {REG_RZ, REG_PT, NUM_UR, REG_UPT};
    if (o.kind != OPK_REG || o.file >= RF_B || o.value + k >= zero[o.file])
        return CELLS;
    return first[o.file] + o.value + k;
}

static Pair *pair_of(const Key *key) {
    uint32_t hash = 2166136261u;
    for (size_t k = 0; k < sizeof *key; k++)
        hash = (hash ^ ((const uint8_t *)key)[k]) * 16777619u;
    for (;; hash++) {
        Pair *pair = &pairs[hash % HASH];
        if (!memcmp(&pair->key, key, sizeof *key))
            return pair;
        if (pair->key.writer)
            continue;
        if (++npairs > HASH / 2)
            abort();
        pair->key = *key;
        pair->least = pair->next_least = UINT32_MAX;
        return pair;
    }
}

/* Halves matter to 64-bit products only. */
static uint8_t half(unsigned optype, unsigned part) {
    return part && (optype == OT_IMAD_WIDE || optype == OT_IMAD_HI);
}

static void note(const BinFlow *flow, uint8_t target, Written w, uint32_t reader, unsigned src, unsigned part,
                 unsigned cycles, bool alone) {
    const MachInst *from = &flow->insts[w.inst - 1], *to = &flow->insts[reader];
    Key key;
    memset(&key, 0, sizeof key);
    key = (Key){from->optype,
                to->optype,
                target,
                w.dst,
                from->dst[w.dst].count,
                half(from->optype, w.part),
                (uint8_t)src,
                half(to->optype, part)};
    Pair *pair = pair_of(&key);
    if (cycles < pair->least) {
        pair->least = cycles;
        memcpy(pair->words, flow->bin->code[w.inst - 1], 16);
        memcpy(pair->words + 2, flow->bin->code[reader], 16);
        pair->dst_part = w.part, pair->src_part = (uint8_t)part;
    }
    pair->times++;
    if (reader != w.inst || !alone)
        return;
    if (cycles < pair->next_least)
        pair->next_least = cycles;
    pair->next_times++;
}

static void observe_block(const BinFlow *flow, uint8_t target, const BinBlock *block) {
    const Target *t = flow->bin->target;
    Written written[CELLS] = {{0}};
    unsigned at[CELLS], now = 0; /* when it was issued */
    FOR_BIN_INSTS(block, i) {
        const MachInst *in = &flow->insts[i];
        if (!flow->decoded[i])
            return;
        if (in->ctrl.wait_mask)
            memset(written, 0, sizeof written);
        unsigned links = 0; /* registers of the instruction before that this one reads */
        for (unsigned pass = 0; pass < 2; pass++)
            for (unsigned s = 0; s <= in->nsrc; s++) {
                Operand o = s < in->nsrc ? in->src[s] : in->guard;
                for (unsigned k = 0; k < (o.count ? o.count : 1u); k++) {
                    unsigned cell = cell_of(o, k);
                    if (cell >= CELLS || !written[cell].inst)
                        continue;
                    links += !pass && written[cell].inst == i;
                    if (pass)
                        note(flow, target, written[cell], i, s < in->nsrc ? s : LATENCY_GUARD, k,
                             now - at[cell], links == 1);
                }
            }
        bool fixed = in->ctrl.write_sb == CONTROL_DEFAULT.write_sb && !latency_is_variable(t, in);
        for (unsigned d = 0; d < in->ndst; d++)
            for (unsigned k = 0; k < (in->dst[d].count ? in->dst[d].count : 1u); k++) {
                unsigned cell = cell_of(in->dst[d], k);
                if (cell >= CELLS)
                    continue;
                written[cell] = fixed ? (Written){i + 1, (uint8_t)d, (uint8_t)k} : (Written){0};
                at[cell] = now;
            }
        now += latency_next(t, in);
    }
}

static bool observe(const char *name) {
    Diags diags = {0};
    Arena arena = {0};
    char *data;
    size_t size;
    if (!file_read(&arena, name, &diags, &data, &size))
        return false;
    Binary *binary = binary_read(name, data, size, &diags);
    BinFlow *flow = binary ? bin_flow_new(binary) : NULL;
    uint8_t target = 0;
    while (flow && isa_targets[target] != binary->target)
        target++;
    for (uint32_t b = 0; flow && b < flow->nblocks; b++)
        observe_block(flow, target, &flow->blocks[b]);
    bool good = flow != NULL;
    if (flow)
        bin_flow_free(flow);
    if (binary)
        binary_free(binary);
    arena_free(&arena);
    return good;
}

static int by_key(const void *left, const void *right) {
    return memcmp(&((const Pair *)left)->key, &((const Pair *)right)->key, sizeof(Key));
}

static bool observe_all(void) {
    char name[4096];
    unsigned files = 0;
    for (; fgets(name, sizeof name, stdin); files++) {
        name[strcspn(name, "\n")] = 0;
        if (!observe(name))
            fprintf(stderr, "%s: not a cubin\n", name);
    }
    qsort(pairs, HASH, sizeof *pairs, by_key);
    for (unsigned k = 0; k < HASH; k++) {
        const Pair *pair = &pairs[k];
        bool always = pair->next_times >= ENOUGH && pair->next_least == pair->least;
        if (!pair->key.writer || (!always && (pair->times < FEW || pair->least > LATENCY_MAX_STALL)))
            continue;
        printf("%s %016llx %016llx %u %u %016llx %016llx %u %u %u",
               isa_target_name(isa_targets[pair->key.target]), (unsigned long long)pair->words[0],
               (unsigned long long)pair->words[1], pair->key.dst, pair->dst_part,
               (unsigned long long)pair->words[2], (unsigned long long)pair->words[3], pair->key.src,
               pair->src_part, pair->least);
        printf(" %c", always ? '=' : '-');
        printf(" | %s %s %u %u\n", isa_optype_name(pair->key.writer), isa_optype_name(pair->key.reader),
               pair->times, pair->next_times);
    }
    return files > 0;
}

/* ---- against the table ---- */

typedef struct {
    const Target *target;
    MachInst writer, reader;
    unsigned least, table, line;
    unsigned next; /* times that the reader came next, at `least` or later */
    bool always;
    char text[80];
} Row;
static Row *rows;
static unsigned nrows, bad;
static const char *path;

static bool read_row(const char *line, Row *row) {
    char target[16], next[8], error[ISA_ERROR_BYTES];
    unsigned long long w[4];
    unsigned dst, dst_part, src, src_part;
    int names = 0;
    if (sscanf(line, "%15s %llx %llx %u %u %llx %llx %u %u %u %7s | %n", target, &w[0], &w[1], &dst,
               &dst_part, &w[2], &w[3], &src, &src_part, &row->least, next, &names) != 11 ||
        !names)
        return false;
    row->target = isa_target(target);
    row->always = *next == '=';
    char writer[32], reader[32];
    unsigned times;
    if (sscanf(line + names, "%31s %31s %u %u", writer, reader, &times, &row->next) != 4)
        return false;
    snprintf(row->text, sizeof row->text, "%.*s (source %u)", (int)strcspn(line + names, "\n"), line + names,
             src);
    if (!row->target || !isa_decode(row->target, (const uint64_t[2]){w[0], w[1]}, &row->writer, error) ||
        !isa_decode(row->target, (const uint64_t[2]){w[2], w[3]}, &row->reader, error) ||
        latency_is_variable(row->target, &row->writer) || dst >= row->writer.ndst)
        return false;
    row->table = latency_raw_part(row->target, &row->writer, dst, dst_part, &row->reader, src, src_part);
    return true;
}

/* The number is that of the units, and others of the same units keep no more, of this writer and for this
 * reader: what ptxas made of this pair was always made alike (LEA.HI.X, LD of one generated form). */
static bool is_pattern(const Row *row) {
    bool same_writer = false, same_reader = false;
    for (unsigned k = 0; k < nrows; k++) {
        const Row *other = &rows[k];
        if (other == row || other->target != row->target || other->table != row->table ||
            other->least > row->table || latency_unit(&other->writer) != latency_unit(&row->writer) ||
            latency_unit(&other->reader) != latency_unit(&row->reader))
            continue;
        same_writer |= other->writer.optype == row->writer.optype;
        same_reader |= other->reader.optype == row->reader.optype;
    }
    return same_writer && same_reader;
}

/* Is the number of these units less than ptxas ever keeps between them? */
static bool is_unused(const Row *row) {
    unsigned next = 0;
    for (unsigned k = 0; k < nrows; k++) {
        const Row *other = &rows[k];
        if (other->target != row->target || other->table != row->table ||
            latency_unit(&other->writer) != latency_unit(&row->writer) ||
            latency_unit(&other->reader) != latency_unit(&row->reader))
            continue;
        if (other->least <= row->table)
            return false;
        next += other->next;
    }
    return next >= ENOUGH;
}

static void check_row(const Row *row) {
    bool less = row->table < row->least && ((row->always && !is_pattern(row)) || is_unused(row));
    if (row->table <= row->least && !less)
        return;
    printf("%s:%u: error: %s: the table says %u, ptxas keeps %u%s: %s\n", path, row->line,
           isa_target_name(row->target), row->table, row->least, less ? " always" : "", row->text);
    bad++;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    if (!strcmp(argv[1], "observe"))
        return !observe_all();
    path = argv[1];
    FILE *file = fopen(path, "r");
    char line[1024];
    rows = calloc(MOST_ROWS, sizeof *rows);
    for (unsigned number = 1; rows && file && nrows < MOST_ROWS && fgets(line, sizeof line, file); number++) {
        rows[nrows].line = number;
        if (*line == '#')
            continue;
        if (!read_row(line, &rows[nrows]))
            printf("%s:%u: error: malformed, does not decode, or its writer's time is unknown\n", path,
                   number),
                bad++;
        else
            nrows++;
    }
    for (unsigned k = 0; k < nrows; k++)
        check_row(&rows[k]);
    printf("%u rows, %u differ\n", nrows, bad);
    free(rows);
    return bad || nrows < 1000;
}
