/* Counts and regions of machine code. See figures.h. SPDX-License-Identifier: MIT */
#include "check/picture/figures.h"
#include <stdio.h>

/* What is counted of a kernel: a row of the table, a key of the JSON. Reachable instructions only. */
#define COUNTS(COUNT)                                                                                        \
    COUNT(instructions, "instructions")                                                                      \
    COUNT(registers, "registers")                                                                            \
    COUNT(bssy, "BSSY")                                                                                      \
    COUNT(bsync, "BSYNC")                                                                                    \
    COUNT(breaks, "BREAK")                                                                                   \
    COUNT(warpsync, "WARPSYNC")                                                                              \
    COUNT(yields, "YIELD")                                                                                   \
    COUNT(branches, "branches of several ways")                                                              \
    COUNT(parting, "  that may part lanes")                                                                  \
    COUNT(guarded, "guarded instructions")                                                                   \
    COUNT(lost_joins, "lost joins (R-24)")

typedef struct {
#define COUNT(name, text) uint32_t name;
    COUNTS(COUNT)
#undef COUNT
} Counts;

const FigureCount figures_counts[] = {
#define COUNT(name, text) {#name, text},
    COUNTS(COUNT)
#undef COUNT
        {NULL, NULL}};

FigureSide figures_open(const Binary *binary) {
    FigureSide side = {.binary = binary, .flow = bin_flow_new(binary)};
    check_binary(side.flow, &(BinCheckOptions){.no_hazards = true, .no_text = true}, &side.checked);
    return side;
}

void figures_close(FigureSide *side) {
    check_report_free(&side->checked);
    bin_flow_free(side->flow);
}

static void count_block(const FigureSide *side, const BinBlock *block, Counts *counts) {
    FOR_BIN_INSTS(block, i) {
        const MachInst *inst = &side->flow->insts[i];
        BinKind kind = side->flow->decoded[i] ? bin_kind(inst) : BK_PLAIN;
        counts->instructions += kind != BK_NOP;
        counts->bssy += kind == BK_BSSY;
        counts->bsync += kind == BK_BSYNC;
        counts->breaks += kind == BK_BREAK;
        counts->warpsync += kind == BK_WARPSYNC;
        counts->yields += kind == BK_YIELD;
        counts->guarded += kind == BK_PLAIN && side->flow->decoded[i] && bin_guard(inst) == BG_MAYBE;
    }
    counts->branches += block->nsuccs > 1;
    counts->parting += block->nsuccs > 1 && side->checked.parts[block->first + block->ninsts - 1];
}

static Counts count_function(const FigureSide *side, uint32_t func) {
    Counts counts = {.registers = side->binary->funcs[func].nregs};
    const BinFuncFlow *flow = &side->flow->funcs[func];
    for (uint32_t k = 0; k < flow->nblocks; k++)
        if (side->flow->blocks[flow->first_block + k].reachable)
            count_block(side, &side->flow->blocks[flow->first_block + k], &counts);
    for (uint32_t k = 0; k < side->checked.n; k++)
        counts.lost_joins +=
            side->checked.findings[k].rule == CR_R24 && side->checked.findings[k].func == func;
    return counts;
}

static void add_region(const FigureSide *side, uint32_t func, const BinRegion *region, cJSON *list) {
    uint32_t first = side->flow->funcs[func].first_inst;
    cJSON *o = json_object();
    json_append(list, o);
    json_add_number(o, "barrier", region->reg);
    json_add_number(o, "bssy", 16 * (region->bssy - first));
    if (region->sync != BINFLOW_NONE)
        json_add_number(o, "bsync", 16 * (region->sync - first));
    json_add_number(o, "depth", region->depth);
    json_add_number(o, "instructions", region->ninsts);
    json_add_number(o, "branches", region->nbranches);
    json_add_number(o, "breaks", region->nbreaks);
    if (region->first_line) {
        json_add_number(o, "first_line", region->first_line);
        json_add_number(o, "last_line", region->last_line);
    }
}

void figures_add(const FigureSide *side, uint32_t func, cJSON *to) {
    Counts counts = count_function(side, func);
    Arena a = {0};
    uint32_t n;
    const BinRegion *regions = bin_regions(side->flow, func, &a, &n);
#define COUNT(name, text) json_add_number(to, #name, counts.name);
    COUNTS(COUNT)
#undef COUNT
    cJSON *list = json_add_list(to, "regions");
    for (uint32_t k = 0; k < n; k++)
        add_region(side, func, &regions[k], list);
    arena_free(&a);
}

double figures_number(const cJSON *figures, const char *key) {
    const cJSON *count = cJSON_GetObjectItemCaseSensitive(figures, key);
    return count ? count->valuedouble : 0;
}

void figures_region_text(const cJSON *region, char *out, size_t size) {
    char end[16] = "?", lines[40] = "", breaks[24] = "";
    unsigned depth = (unsigned)figures_number(region, "depth"),
             nbreaks = (unsigned)figures_number(region, "breaks");
    if (cJSON_HasObjectItem(region, "bsync"))
        snprintf(end, sizeof end, "%04x", (unsigned)figures_number(region, "bsync"));
    if (cJSON_HasObjectItem(region, "first_line"))
        snprintf(lines, sizeof lines, ", lines %u-%u", (unsigned)figures_number(region, "first_line"),
                 (unsigned)figures_number(region, "last_line"));
    if (nbreaks)
        snprintf(breaks, sizeof breaks, ", %u BREAK", nbreaks);
    snprintf(out, size, "%*sB%u %04x-%s: %u insts%s%s", (int)(2 * (depth < 8 ? depth : 8)), "",
             (unsigned)figures_number(region, "barrier"), (unsigned)figures_number(region, "bssy"), end,
             (unsigned)figures_number(region, "instructions"), breaks, lines);
}

enum { COLUMN = 50 };

void figures_text(const cJSON *ours, const cJSON *other) {
    const cJSON *lists[2] = {cJSON_GetObjectItemCaseSensitive(ours, "regions"),
                             other ? cJSON_GetObjectItemCaseSensitive(other, "regions") : NULL};
    for (const FigureCount *count = figures_counts; count->key; count++) {
        printf("  %-26s %10u", count->label, (unsigned)figures_number(ours, count->key));
        if (other)
            printf(" %10u", (unsigned)figures_number(other, count->key));
        putchar('\n');
    }
    int n[2] = {cJSON_GetArraySize(lists[0]), other ? cJSON_GetArraySize(lists[1]) : 0};
    if (n[0] || n[1])
        puts("  regions, in the order of the code");
    for (int k = 0; k < n[0] || k < n[1]; k++) {
        char text[2][160] = {"", ""};
        for (unsigned s = 0; s < 2; s++)
            if (k < n[s])
                figures_region_text(cJSON_GetArrayItem(lists[s], k), text[s], sizeof text[s]);
        if (other)
            printf("  %-*s |%s%s\n", COLUMN, text[0], text[1][0] ? " " : "", text[1]);
        else
            printf("  %s\n", text[0]);
    }
}
