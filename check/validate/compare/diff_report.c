/* The result of differential validation as text and as JSON.
 * SPDX-License-Identifier: MIT */
#include "check/validate/compare/diff.h"
#include "base/json.h"
#include "base/scope.h"
#include "check/validate/compare/moments.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Verdict diff_verdict(const DiffReport *report) {
    bool undefined = report->overrun || sim_trap_is_undefined(report->ptx_trap.kind);
    if (report->file[0] || (!report->equal && !undefined))
        return VERDICT_DIFFERS;
    if (report->failed_checks)
        return VERDICT_WRONG;
    if (report->nfindings || report->overrun || !report->equal)
        return VERDICT_UNDEFINED;
    if (report->ptx_trap.kind != TRAP_NONE)
        return VERDICT_TRAP_ALIKE;
    return report->odd[0] ? VERDICT_UNKNOWN : report->rounding;
}

bool diff_prints_other(const DiffReport *report) {
    return report->buffer && strcmp(report->buffer, PRINTED_BUFFER) == 0;
}

static const char *other_name(const DiffReport *report) {
    return report->engine == DIFF_MACHINE ? "machine" : "card";
}

static void print_trap(FILE *out, const char *who, const SimTrap *trap) {
    char line[512];
    if (trap->kind == TRAP_NONE)
        snprintf(line, sizeof line, "finishes");
    else
        sim_trap_print(trap, line, sizeof line);
    fprintf(out, "  %-8s %s\n", who, line);
}

static void print_stores(FILE *out, const DiffReport *report) {
    if (!report->ran_again)
        return;
    if (report->has_ptx_store)
        fprintf(out, "  PTX      last stored by line %u%s%s%s, block (%u,%u,%u), thread (%u,%u,%u)\n",
                report->ptx_store_line, *report->ptx_source ? " (" : "", report->ptx_source,
                *report->ptx_source ? ")" : "", report->ptx_store_block[0], report->ptx_store_block[1],
                report->ptx_store_block[2], report->ptx_store_thread[0], report->ptx_store_thread[1],
                report->ptx_store_thread[2]);
    else
        fprintf(out, "  PTX      never changed there in this launch\n");
    if (report->engine != DIFF_MACHINE)
        return;
    if (!report->has_machine_store) {
        fprintf(out, "  machine  never changed there in this launch\n");
        return;
    }
    fprintf(out, "  machine  last stored by %s pc 0x%llx", report->machine_func,
            (unsigned long long)report->machine_pc_bytes);
    if (report->machine_ptx_line)
        fprintf(out, " (PTX line %u%s%s)", report->machine_ptx_line, *report->machine_source ? ", " : "",
                report->machine_source);
    fprintf(out, ", block (%u,%u,%u), warp %u: %s\n", report->machine_block[0], report->machine_block[1],
            report->machine_block[2], report->machine_warp, report->machine_text);
}

static void print_difference(FILE *out, const DiffReport *report, const Plan *plan) {
    const char *kernel = plan->launches.at[report->launch].kernel;
    fprintf(out, "%s: %s: launch %u\n", kernel ? kernel : report->kernels, verdict_name(diff_verdict(report)),
            report->launch);
    if (report->other_moments)
        fprintf(out, "  %s\n", MOMENTS_TEXT);
    if (!report->memory_differs) {
        print_trap(out, "PTX", &report->ptx_trap);
        print_trap(out, other_name(report), &report->machine_trap);
        return;
    }
    if (diff_prints_other(report)) {
        fprintf(out, "  thread %llu prints another text\n", (unsigned long long)report->element);
        if (report->ran_again)
            fprintf(out, "  PTX      \"%s\"\n  %-8s \"%s\"\n", report->ptx_printed, other_name(report),
                    report->machine_printed);
        print_stores(out, report);
        return;
    }
    char x[64], y[64];
    scalar_print(report->type, report->ptx_value, x);
    scalar_print(report->type, report->machine_value, y);
    fprintf(out, "  buffer %s, element %llu (byte %llu), %llu bytes differ in all\n", report->buffer,
            (unsigned long long)report->element, (unsigned long long)report->diff.offset_bytes,
            (unsigned long long)report->diff.ndiffering);
    fprintf(out, "  PTX      %s\n  %-8s %s\n", x, other_name(report), y);
    print_stores(out, report);
    static const char *const opinions[] = {[DIFF_NOT_ASKED] = "does not say",
                                           [DIFF_AS_PTX] = "makes of the binary what the PTX says",
                                           [DIFF_AS_CARD] = "makes of the binary what the card does",
                                           [DIFF_AS_NEITHER] = "makes of the binary neither of the two"};
    if (report->engine != DIFF_MACHINE)
        fprintf(out, "  machine  %s\n", opinions[report->opinion]);
}

char *diff_report_text(const DiffReport *report, const Plan *p) {
    TextStream *stream = text_open();
    FILE *out = stream->out;
    if (report->file[0])
        fprintf(out, "%s: %s: the file: %s\n", report->kernels, verdict_name(VERDICT_DIFFERS), report->file);
    if (!report->equal &&
        (report->memory_differs || report->ptx_trap.kind != report->machine_trap.kind || !report->file[0])) {
        print_difference(out, report, p);
        if (report->lane)
            lane_diff_print(report->lane, out);
    }
    if (report->equal) {
        bool traps = report->ptx_trap.kind != TRAP_NONE;
        fprintf(out, "%s: %s: %u launch%s, %llu bytes compared, %llu PTX thread instructions, ",
                report->kernels, verdict_name(diff_verdict(report)), report->nlaunches,
                report->nlaunches == 1 ? "" : "es", (unsigned long long)report->compared_bytes,
                (unsigned long long)report->ptx_insns);
        if (report->engine == DIFF_MACHINE)
            fprintf(out, "%llu machine instructions", (unsigned long long)report->machine_issues);
        else
            fprintf(out, "on a card");
        if (report->blocks)
            fprintf(out, ", %u of %u machine blocks", report->blocks_executed, report->blocks);
        fputc('\n', out);
        if (report->rounding_note[0])
            fprintf(out, "  %s\n", report->rounding_note);
        if (report->odd[0])
            fprintf(out, "  the runs are equal, but the file: %s\n", report->odd);
        if (traps) {
            print_trap(out, "PTX", &report->ptx_trap);
            print_trap(out, other_name(report), &report->machine_trap);
            if (report->lane)
                lane_diff_print(report->lane, out);
        }
        if (report->failed_checks)
            fprintf(out, "%u expected result%s wrong\n", report->failed_checks,
                    report->failed_checks == 1 ? " is" : "s are");
    }
    if (report->nfindings)
        fprintf(out, "PTX leaves undefined:\n");
    for (uint32_t i = 0; i < report->nfindings && i < DIFF_MAX_FINDINGS; i++)
        fprintf(out, "  %s\n", report->findings[i]);
    return text_close(stream, NULL);
}

static void add_trap(cJSON *o, const char *key, const SimTrap *trap) {
    char line[512];
    if (trap->kind == TRAP_NONE)
        return;
    sim_trap_print(trap, line, sizeof line);
    json_add_text(o, key, line);
}

char *diff_report_json(const DiffReport *report, const Plan *p) {
    (void)p;
    cJSON *o = json_object();
    json_add_text(o, "kernel", report->kernels);
    json_add_text(o, "verdict", verdict_name(diff_verdict(report)));
    json_add_bool(o, "equal", report->equal);
    json_add_text(o, "compared_with", other_name(report));
    if (report->file[0])
        json_add_text(o, "file", report->file);
    else if (report->odd[0])
        json_add_text(o, "file", report->odd);
    json_add_number(o, "launches", report->nlaunches);
    json_add_number(o, "compared_bytes", (double)report->compared_bytes);
    json_add_number(o, "ptx_thread_instructions", (double)report->ptx_insns);
    json_add_number(o, "warp_instructions", (double)report->machine_issues);
    json_add_number(o, "thread_instructions", (double)report->machine_lane_issues);
    if (report->blocks) {
        json_add_number(o, "machine_blocks", report->blocks);
        json_add_number(o, "machine_blocks_executed", report->blocks_executed);
    }
    json_add_number(o, "failed_checks", report->failed_checks);
    if (report->rounding_note[0])
        json_add_text(o, "rounding", report->rounding_note);
    cJSON *findings = json_add_list(o, "findings");
    for (uint32_t i = 0; i < report->nfindings && i < DIFF_MAX_FINDINGS; i++)
        json_append(findings, json_text(report->findings[i]));
    add_trap(o, "ptx_trap", &report->ptx_trap);
    add_trap(o, "machine_trap", &report->machine_trap);
    if (report->other_moments)
        json_add_text(o, "when", MOMENTS_TEXT);
    if (report->lane)
        json_add(o, "lane", lane_diff_json(report->lane));
    if (report->memory_differs) {
        char x[64], y[64];
        scalar_print(report->type, report->ptx_value, x);
        scalar_print(report->type, report->machine_value, y);
        cJSON *m = json_add_object(o, "difference");
        json_add_number(m, "launch", report->launch);
        json_add_text(m, "buffer", report->buffer);
        json_add_number(m, "element", (double)report->element);
        json_add_number(m, "differing_bytes", (double)report->diff.ndiffering);
        json_add_text(m, "ptx", x);
        json_add_text(m, "machine", y);
        if (report->ran_again && diff_prints_other(report)) {
            json_add_text(m, "ptx_printed", report->ptx_printed);
            json_add_text(m, "machine_printed", report->machine_printed);
        }
        if (report->has_ptx_store)
            json_add_number(m, "ptx_line", report->ptx_store_line);
        if (report->has_ptx_store && *report->ptx_source)
            json_add_text(m, "source", report->ptx_source);
        if (report->has_machine_store) {
            json_add_text(m, "function", report->machine_func);
            json_add_number(m, "pc", (double)report->machine_pc_bytes);
            json_add_text(m, "instruction", report->machine_text);
            json_add_number(m, "machine_ptx_line", report->machine_ptx_line);
        }
    }
    return json_close(o);
}
