/* What a verdict says, as text and as JSON: see judge.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/judge.h"
#include "base/json.h"
#include "base/scope.h"
#include <stdio.h>

enum { SHOWN_RACES = 8 };

/* The first few of one kind; JSON has all. */
static void print_races(FILE *out, const Judgement *judgement, bool same_value) {
    char race[1024];
    uint32_t n = 0;
    for (uint32_t i = 0; i < judgement->nraces; i++) {
        if (judgement->races[i].same_value != same_value || n++ >= SHOWN_RACES)
            continue;
        interp_race_print(&judgement->races[i], race, sizeof race);
        fprintf(out, "  %s\n", race);
    }
    if (n > SHOWN_RACES)
        fprintf(out, "  and %u more\n", n - SHOWN_RACES);
}

char *judgement_text(const Judgement *judgement, const char *kernel) {
    TextStream *stream = text_open();
    FILE *out = stream->out;
    fprintf(out, "%s: %s", kernel, verdict_name(judgement->verdict));
    if (judgement->launches)
        fprintf(out,
                ": %u of %u basic blocks (machine: %u of %u), %u of %u operand classes, %llu threads in %u "
                "launch%s",
                judgement->ptx.reached, judgement->ptx.total, judgement->machine.reached,
                judgement->machine.total, judgement->values.reached, judgement->values.total,
                (unsigned long long)judgement->threads, judgement->launches,
                judgement->launches == 1 ? "" : "es");
    fprintf(out, "%s%s\n", judgement->note[0] ? ": " : "", judgement->note);
    print_races(out, judgement, false);
    print_races(out, judgement, true);
    if (judgement->diff_plan && !judgement->nharmful) {
        char *diff = diff_report_text(&judgement->diff, judgement->diff_plan);
        fputs(diff, out);
        mem_free(diff);
    }
    return text_close(stream, NULL);
}

static void add_side(cJSON *o, const char *key, const PtxRaceSide *side) {
    cJSON *x = json_add_object(o, key);
    int block[3], thread[3];
    for (int i = 0; i < 3; i++) {
        block[i] = (int)side->block[i];
        thread[i] = (int)side->thread[i];
    }
    json_add_number(x, "line", side->line);
    json_add_text(x, "instruction", side->text);
    json_add(x, "block", json_numbers(block, 3));
    json_add(x, "thread", json_numbers(thread, 3));
}

static void add_unseen(cJSON *o, const Judgement *judgement) {
    cJSON *list = json_add_list(o, "operands_not_seen");
    for (uint32_t i = 0; i < judgement->nunseen; i++) {
        const JudgeUnseen *unseen = &judgement->unseen[i];
        cJSON *x = json_object(), *classes;
        json_append(list, x);
        json_add_number(x, "line", unseen->line);
        json_add_text(x, "instruction", unseen->text);
        classes = json_add_list(x, "classes");
        for (unsigned v = 0; v < PTX_VALUE_COUNT; v++)
            if (unseen->classes >> v & 1)
                json_append(classes, json_text(interp_value_name((PtxValue)v)));
    }
}

char *judgement_json(const Judgement *judgement, const char *kernel) {
    cJSON *o = json_object();
    json_add_text(o, "kernel", kernel);
    json_add_text(o, "verdict", verdict_name(judgement->verdict));
    json_add_text(o, "note", judgement->note);
    json_add_number(o, "ptx_blocks", judgement->ptx.total);
    json_add_number(o, "ptx_blocks_executed", judgement->ptx.reached);
    cJSON *missed = json_add_list(o, "blocks_not_executed");
    for (uint32_t i = 0; i < judgement->nmissed; i++)
        json_append(missed, json_number(judgement->missed[i]));
    json_add_number(o, "machine_blocks", judgement->machine.total);
    json_add_number(o, "machine_blocks_executed", judgement->machine.reached);
    json_add_number(o, "operand_classes", judgement->values.total);
    json_add_number(o, "operand_classes_seen", judgement->values.reached);
    add_unseen(o, judgement);
    json_add_number(o, "launches", judgement->launches);
    json_add_number(o, "threads", (double)judgement->threads);
    cJSON *races = json_add_list(o, "races");
    for (uint32_t i = 0; i < judgement->nraces; i++) {
        const PtxRace *race = &judgement->races[i];
        cJSON *x = json_object();
        json_append(races, x);
        json_add_text(x, "memory", race->name);
        json_add_bool(x, "shared", race->shared);
        json_add_number(x, "offset", (double)race->offset_bytes);
        json_add_number(x, "times", (double)race->count);
        json_add_bool(x, "same_value", race->same_value);
        add_side(x, "first", &race->first);
        add_side(x, "second", &race->second);
    }
    if (judgement->diff_plan && !judgement->nharmful) {
        char *diff = diff_report_json(&judgement->diff, judgement->diff_plan);
        if (diff)
            json_add(o, "comparison", json_raw(diff));
        mem_free(diff);
    }
    return json_close(o);
}
