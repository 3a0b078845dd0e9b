/* heddle explain: what a rule or a message means, and lists of all that there is.
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/scope.h"
#include "check/static/check.h"
#include "isa/isa.h"
#include "tools/cli/cli.h"
#include "tools/jobs/explain.h"
#include <string.h>

static const struct {
    const char *name;
    void (*print)(ExplainList *list);
} topics[] = {{"errors", report_codes}, {"ptx", report_ptx_forms}, {"isa", report_operations}};

static void print_names(FILE *out) {
    for (unsigned k = 0; k < CR_COUNT; k++)
        fprintf(out, " %s", check_rule((CheckRule)k)->id);
    fputs(
        " and E-BAR-PARTIAL and the like, the codes of messages as E0104, operations as BSSY, and the lists",
        out);
    for (unsigned k = 0; k < sizeof topics / sizeof *topics; k++)
        fprintf(out, " %s", topics[k].name);
    fputc('\n', out);
}

/* Says that nothing has that name: the operation or list that is like it, else all there is. */
static int tell_unknown(const char *name) {
    Suggestion near = {.typed = name, .size = strlen(name)};
    for (unsigned op = 1; op < OT_COUNT; op++)
        cli_suggest(&near, isa_optype_name(op));
    for (unsigned k = 0; k < sizeof topics / sizeof *topics; k++)
        cli_suggest(&near, topics[k].name);
    fprintf(stderr, "heddle explain: there is no rule, message or operation '%s'; ", name);
    if (near.best) {
        fprintf(stderr, "did you mean '%s'?\n", near.best);
    } else {
        fputs("there are", stderr);
        print_names(stderr);
    }
    return STATUS_USAGE;
}

static int json_names(void) {
    cJSON *json = json_object(), *rules = json_add_list(json, "rules"), *lists = json_add_list(json, "lists");
    for (unsigned k = 0; k < CR_COUNT; k++)
        json_append(rules, json_text(check_rule((CheckRule)k)->id));
    for (unsigned k = 0; k < sizeof topics / sizeof *topics; k++)
        json_append(lists, json_text(topics[k].name));
    cli_print_json(json);
    return STATUS_DONE;
}

static int explain_list(void (*print)(ExplainList *list), bool as_json) {
    ExplainList list = {.out = as_json ? NULL : stdout, .json = as_json ? json_list() : NULL};
    print(&list);
    if (as_json)
        cli_print_json(list.json);
    return STATUS_DONE;
}

/* "R-07 (error): what it demands.", then the rest. */
static int json_explained(const char *name, char *text) {
    cJSON *json = json_object();
    size_t head = strcspn(text, "\n");
    const char *rest = text + head + strspn(text + head, "\n");
    text[head] = 0;
    json_add_text(json, "name", name);
    json_add_text(json, "title", text);
    json_add_text(json, "text", rest);
    cli_print_json(json);
    return STATUS_DONE;
}

int cmd_explain(Settings *settings) {
    const char *name = settings->inputs[0];
    if (!name && settings->json)
        return json_names();
    if (!name) {
        fputs("There are", stdout);
        print_names(stdout);
        return STATUS_DONE;
    }
    for (unsigned k = 0; k < sizeof topics / sizeof *topics; k++)
        if (strcmp(topics[k].name, name) == 0)
            return explain_list(topics[k].print, settings->json);
    char *text = report_explain(name);
    if (!text)
        return tell_unknown(name);
    if (settings->json)
        json_explained(name, text);
    else
        fputs(text, stdout);
    mem_free(text);
    return STATUS_DONE;
}
