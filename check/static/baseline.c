/* Findings that an earlier report has: see check_leave_known. A finding is known again by its rule, function
 * and instruction, not by its address: other code may come and go around it. SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <cjson/cJSON.h>
#include <string.h>

static const char *text_of(const cJSON *object, const char *key) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(member) ? member->valuestring : "";
}

/* Takes it off the list; false: it is not there. */
static bool take_known(cJSON *list, const BinFlow *flow, const BinFinding *finding) {
    char text[300];
    const char *function = finding->func != BINFLOW_NONE ? flow->bin->funcs[finding->func].name : "";
    check_instruction_text(flow, finding->inst, text, sizeof text);
    for (cJSON *known = list->child; known; known = known->next) {
        if (strcmp(text_of(known, "rule"), check_rule(finding->rule)->id) != 0 ||
            strcmp(text_of(known, "function"), function) != 0 ||
            strcmp(text_of(known, "instruction"), text) != 0)
            continue;
        cJSON_Delete(cJSON_DetachItemViaPointer(list, known));
        return true;
    }
    return false;
}

bool check_leave_known(BinCheckReport *report, const BinFlow *flow, const char *earlier) {
    cJSON *tree = cJSON_Parse(earlier), *check = cJSON_GetObjectItemCaseSensitive(tree, "check");
    cJSON *list = cJSON_GetObjectItemCaseSensitive(check ? check : tree, "findings");
    uint32_t n = 0;
    if (!cJSON_IsArray(list)) {
        cJSON_Delete(tree);
        return false;
    }
    report->nerrors = report->nwarnings = report->nnotes = 0;
    for (uint32_t k = 0; k < report->n; k++) {
        BinFinding *finding = &report->findings[k];
        if (take_known(list, flow, finding)) {
            report->nknown++;
            continue;
        }
        report->nerrors += finding->severity == SEV_ERROR;
        report->nwarnings += finding->severity == SEV_WARNING;
        report->nnotes += finding->severity == SEV_NOTE;
        report->findings[n++] = *finding;
    }
    report->n = n;
    cJSON_Delete(tree);
    return true;
}
