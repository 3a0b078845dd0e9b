/* heddle report --against: the kernels of a module, compiled, beside those of the same name in another
 * binary: how much of each is barriers, branches and guarded code, and region by region where lanes wait.
 * Nothing is run: what each executes, heddle run --stats tells. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/flow/regions.h"
#include "check/static/check.h"
#include "tools/cli.h"
#include <string.h>

typedef struct {
    const Binary *binary;
    BinFlow *flow;
    BinCheckReport checked;
} Side;

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

typedef struct {
    Counts counts;
    const BinRegion *regions;
    uint32_t nregions;
} Kernel;

static Side open_side(const Binary *binary) {
    Side side = {.binary = binary, .flow = bin_flow_new(binary)};
    check_binary(side.flow, &(BinCheckOptions){.no_hazards = true, .no_text = true}, &side.checked);
    return side;
}

static void close_side(Side *side) {
    check_report_free(&side->checked);
    bin_flow_free(side->flow);
}

static void count_block(const Side *side, const BinBlock *block, Counts *counts) {
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

static Kernel look_at(const Side *side, uint32_t func, Arena *a) {
    Kernel kernel = {.counts.registers = side->binary->funcs[func].nregs};
    const BinFuncFlow *flow = &side->flow->funcs[func];
    for (uint32_t k = 0; k < flow->nblocks; k++)
        if (side->flow->blocks[flow->first_block + k].reachable)
            count_block(side, &side->flow->blocks[flow->first_block + k], &kernel.counts);
    for (uint32_t k = 0; k < side->checked.n; k++)
        kernel.counts.lost_joins +=
            side->checked.findings[k].rule == CR_R24 && side->checked.findings[k].func == func;
    kernel.regions = bin_regions(side->flow, func, a, &kernel.nregions);
    return kernel;
}

static const BinFunc *kernel_named(const Binary *binary, const char *name) {
    for (uint32_t k = 0; k < binary->nfuncs; k++)
        if (binary->funcs[k].is_entry && strcmp(binary->funcs[k].name, name) == 0)
            return &binary->funcs[k];
    return NULL;
}

/* ---- text ---- */

enum { COLUMN = 50 };

/* "  B1 00b0-0180: 14 instructions, 2 branches, 1 BREAK, lines 44-61", indented by depth. */
static void region_text(const Side *side, uint32_t func, const BinRegion *region, char *out, size_t size) {
    uint32_t first = side->flow->funcs[func].first_inst;
    char end[16] = "?", lines[40] = "", breaks[24] = "";
    if (region->sync != BINFLOW_NONE)
        snprintf(end, sizeof end, "%04x", 16 * (region->sync - first));
    if (region->first_line)
        snprintf(lines, sizeof lines, ", lines %u-%u", region->first_line, region->last_line);
    if (region->nbreaks)
        snprintf(breaks, sizeof breaks, ", %u BREAK", region->nbreaks);
    unsigned indent = 2 * (region->depth < 8 ? region->depth : 8);
    snprintf(out, size, "%*sB%u %04x-%s: %u insts%s%s", (int)indent, "", region->reg,
             16 * (region->bssy - first), end, region->ninsts, breaks, lines);
}

static void kernel_text(const Side sides[2], const uint32_t funcs[2], const Kernel kernels[2]) {
#define COUNT(name, text) printf("  %-26s %10u %10u\n", text, kernels[0].counts.name, kernels[1].counts.name);
    COUNTS(COUNT)
#undef COUNT
    if (kernels[0].nregions || kernels[1].nregions)
        puts("  regions, in the order of the code");
    for (uint32_t k = 0; k < kernels[0].nregions || k < kernels[1].nregions; k++) {
        char text[2][160] = {"", ""};
        for (unsigned s = 0; s < 2; s++)
            if (k < kernels[s].nregions)
                region_text(&sides[s], funcs[s], &kernels[s].regions[k], text[s], sizeof text[s]);
        printf("  %-*s |%s%s\n", COLUMN, text[0], text[1][0] ? " " : "", text[1]);
    }
}

/* ---- JSON ---- */

static void kernel_json(const Side *side, uint32_t func, const Kernel *kernel, cJSON *to) {
#define COUNT(name, text) json_add_number(to, #name, kernel->counts.name);
    COUNTS(COUNT)
#undef COUNT
    cJSON *list = json_add_list(to, "regions");
    uint32_t first = side->flow->funcs[func].first_inst;
    for (uint32_t k = 0; k < kernel->nregions; k++) {
        const BinRegion *region = &kernel->regions[k];
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
}

/* ---- all kernels ---- */

static void compare(Settings *settings, const Side sides[2]) {
    cJSON *root = settings->json ? json_object() : NULL, *list = NULL;
    if (root) {
        json_add_text(root, "target", isa_target_name(sides[0].binary->target));
        json_add_text(root, "other", settings->against);
        list = json_add_list(root, "kernels");
    } else
        printf("%s compiled for %s beside %s\n", settings->inputs[0],
               isa_target_name(sides[0].binary->target), settings->against);
    for (uint32_t k = 0; k < sides[0].binary->nfuncs; k++) {
        const BinFunc *ours = &sides[0].binary->funcs[k];
        const BinFunc *other = ours->is_entry ? kernel_named(sides[1].binary, ours->name) : NULL;
        if (!ours->is_entry)
            continue;
        Arena a = {0};
        uint32_t funcs[2] = {k, other ? (uint32_t)(other - sides[1].binary->funcs) : 0};
        Kernel kernels[2];
        kernels[0] = look_at(&sides[0], k, &a);
        kernels[1] = other ? look_at(&sides[1], funcs[1], &a) : (Kernel){.nregions = 0};
        if (root) {
            cJSON *o = json_object();
            json_append(list, o);
            json_add_text(o, "kernel", ours->name);
            kernel_json(&sides[0], k, &kernels[0], json_add_object(o, "ours"));
            if (other)
                kernel_json(&sides[1], funcs[1], &kernels[1], json_add_object(o, "other"));
        } else if (other) {
            printf("%s\n  %-26s %10s %10s\n", ours->name, "", "ours", "other");
            kernel_text(sides, funcs, kernels);
        } else
            printf("%s: not in %s\n", ours->name, settings->against);
        arena_free(&a);
    }
    char *text = root ? json_close(root) : NULL;
    if (text)
        puts(text);
    mem_free(text);
}

bool cli_against(Settings *settings, const PtxModule *ptx) {
    char *data;
    size_t size;
    if (!cli_read_program(settings, settings->against, false, &data, &size))
        return false;
    Binary *other = cli_load(settings, settings->against, data, size), *ours = NULL;
    if (other) {
        settings->target = other->target;
        ours = cli_compile_to_binary(settings, ptx, settings->inputs[0]);
    }
    if (ours) {
        Side sides[2] = {open_side(ours), open_side(other)};
        compare(settings, sides);
        close_side(&sides[0]);
        close_side(&sides[1]);
    }
    binary_free(ours);
    binary_free(other);
    return ours != NULL;
}
