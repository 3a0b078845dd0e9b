/* The result of differential validation as text and as JSON.
 * SPDX-License-Identifier: MIT */
#include "check/validate/diff.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_trap(FILE *out, const char *who, const SimTrap *t) {
    char line[512];
    if (t->kind == TRAP_NONE)
        snprintf(line, sizeof line, "finishes");
    else
        sim_trap_print(t, line, sizeof line);
    fprintf(out, "  %-8s %s\n", who, line);
}

static void print_stores(FILE *out, const DiffReport *r) {
    if (r->has_ptx_store)
        fprintf(out, "  PTX      last stored by line %u, block (%u,%u,%u), thread (%u,%u,%u)\n",
                r->ptx_store_line, r->ptx_store_block[0], r->ptx_store_block[1], r->ptx_store_block[2],
                r->ptx_store_thread[0], r->ptx_store_thread[1], r->ptx_store_thread[2]);
    else
        fprintf(out, "  PTX      never changed there in this launch\n");
    if (!r->has_machine_store) {
        fprintf(out, "  machine  never changed there in this launch\n");
        return;
    }
    fprintf(out, "  machine  last stored by %s pc 0x%llx", r->machine_func,
            (unsigned long long)r->machine_pc_bytes);
    if (r->machine_ptx_line)
        fprintf(out, " (PTX line %u)", r->machine_ptx_line);
    fprintf(out, ", block (%u,%u,%u), warp %u: %s\n", r->machine_block[0], r->machine_block[1],
            r->machine_block[2], r->machine_warp, r->machine_text);
}

static void print_difference(FILE *out, const DiffReport *r, const Plan *p) {
    const PlanLaunch *l = &p->launches.at[r->launch];
    fprintf(out, "differs: launch %u%s%s\n", r->launch, l->kernel ? " of " : "", l->kernel ? l->kernel : "");
    if (!r->memory_differs) {
        print_trap(out, "PTX", &r->ptx_trap);
        print_trap(out, "machine", &r->machine_trap);
        return;
    }
    char x[64], y[64];
    scalar_print(r->type, r->ptx_value, x);
    scalar_print(r->type, r->machine_value, y);
    fprintf(out, "  buffer %s, element %llu (byte %llu), %llu bytes differ in all\n", r->buffer,
            (unsigned long long)r->element, (unsigned long long)r->diff.offset_bytes,
            (unsigned long long)r->diff.ndiffering);
    fprintf(out, "  PTX      %s\n  machine  %s\n", x, y);
    print_stores(out, r);
}

char *diff_report_text(const DiffReport *r, const Plan *p) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (!r->equal) {
        print_difference(out, r, p);
        if (r->lane)
            lane_diff_print(r->lane, out);
    }
    if (r->equal) {
        bool traps = r->ptx_trap.kind != TRAP_NONE;
        fprintf(out,
                "%s: %u launch%s, %llu bytes compared, %llu PTX thread instructions, %llu machine "
                "instructions\n",
                traps ? "both trap alike" : "equal", r->nlaunches, r->nlaunches == 1 ? "" : "es",
                (unsigned long long)r->compared_bytes, (unsigned long long)r->ptx_insns,
                (unsigned long long)r->machine_issues);
        if (traps) {
            print_trap(out, "PTX", &r->ptx_trap);
            print_trap(out, "machine", &r->machine_trap);
            if (r->lane)
                lane_diff_print(r->lane, out);
        }
        if (r->failed_checks)
            fprintf(out, "but %u expected result%s wrong\n", r->failed_checks,
                    r->failed_checks == 1 ? " is" : "s are");
    }
    if (r->nfindings)
        fprintf(out, "%sPTX leaves undefined:\n", r->equal ? "but " : "");
    for (uint32_t i = 0; i < r->nfindings && i < DIFF_MAX_FINDINGS; i++)
        fprintf(out, "  %s\n", r->findings[i]);
    fclose(out);
    return text;
}

static void add_trap(cJSON *o, const char *key, const SimTrap *t) {
    char line[512];
    if (t->kind == TRAP_NONE)
        return;
    sim_trap_print(t, line, sizeof line);
    cJSON_AddStringToObject(o, key, line);
}

char *diff_report_json(const DiffReport *r, const Plan *p) {
    (void)p;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddBoolToObject(o, "equal", r->equal);
    cJSON_AddNumberToObject(o, "launches", r->nlaunches);
    cJSON_AddNumberToObject(o, "compared_bytes", (double)r->compared_bytes);
    cJSON_AddNumberToObject(o, "ptx_thread_instructions", (double)r->ptx_insns);
    cJSON_AddNumberToObject(o, "warp_instructions", (double)r->machine_issues);
    cJSON_AddNumberToObject(o, "thread_instructions", (double)r->machine_lane_issues);
    cJSON_AddNumberToObject(o, "failed_checks", r->failed_checks);
    cJSON *findings = cJSON_AddArrayToObject(o, "findings");
    for (uint32_t i = 0; i < r->nfindings && i < DIFF_MAX_FINDINGS; i++)
        cJSON_AddItemToArray(findings, cJSON_CreateString(r->findings[i]));
    add_trap(o, "ptx_trap", &r->ptx_trap);
    add_trap(o, "machine_trap", &r->machine_trap);
    if (r->lane)
        cJSON_AddItemToObject(o, "lane", lane_diff_json(r->lane));
    if (r->memory_differs) {
        char x[64], y[64];
        scalar_print(r->type, r->ptx_value, x);
        scalar_print(r->type, r->machine_value, y);
        cJSON *m = cJSON_AddObjectToObject(o, "difference");
        cJSON_AddNumberToObject(m, "launch", r->launch);
        cJSON_AddStringToObject(m, "buffer", r->buffer);
        cJSON_AddNumberToObject(m, "element", (double)r->element);
        cJSON_AddNumberToObject(m, "differing_bytes", (double)r->diff.ndiffering);
        cJSON_AddStringToObject(m, "ptx", x);
        cJSON_AddStringToObject(m, "machine", y);
        if (r->has_ptx_store)
            cJSON_AddNumberToObject(m, "ptx_line", r->ptx_store_line);
        if (r->has_machine_store) {
            cJSON_AddStringToObject(m, "function", r->machine_func);
            cJSON_AddNumberToObject(m, "pc", (double)r->machine_pc_bytes);
            cJSON_AddStringToObject(m, "instruction", r->machine_text);
            cJSON_AddNumberToObject(m, "machine_ptx_line", r->machine_ptx_line);
        }
    }
    char *text = cJSON_Print(o);
    cJSON_Delete(o);
    return text;
}
