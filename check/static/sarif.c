/* SARIF 2.1.0 of the static checker, as code hosts take it: a finding is at the line of the PTX that its
 * instruction comes from, where the file says so, of a PTX that lies nowhere (it was made of a .cu, say) at
 * that of the source language, and at the first line of the binary otherwise, since hosts show lines; the
 * other places, and where it is in the code, stand beside that. Paths are URIs relative to the folder of the
 * run, which a job of a host has its checkout in. SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "check/static/internal.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { URI_BYTES = 4096 };

static void add_text(cJSON *to, const char *name, const char *text) {
    json_add_text(json_add_object(to, name), "text", text);
}

/* The path as a URI reference: below the working folder relative to that, elsewhere "file:///...". */
static void path_uri(const char *path, char out[URI_BYTES]) {
    static const char kept[] = "-._~/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char folder[URI_BYTES / 4];
    size_t n = 0, inside = 0;
    bool below = *path != '/';
    if (!below && getcwd(folder, sizeof folder)) {
        inside = strlen(folder);
        below = strncmp(path, folder, inside) == 0 && path[inside] == '/';
    }
    path += below && inside ? inside + 1 : 0;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (!below)
        n = (size_t)snprintf(out, URI_BYTES, "file://");
    for (; *path && n + 4 < URI_BYTES; path++)
        if (strchr(kept, *path))
            out[n++] = *path;
        else
            n += (size_t)snprintf(out + n, 4, "%%%02X", (unsigned char)*path);
    out[n] = 0;
}

static cJSON *new_place(const char *path, unsigned line, unsigned column, cJSON **physical) {
    cJSON *loc = json_object(), *file, *region;
    char uri[URI_BYTES];
    *physical = json_add_object(loc, "physicalLocation");
    file = json_add_object(*physical, "artifactLocation");
    path_uri(path, uri);
    json_add_text(file, "uri", uri);
    if (strncmp(uri, "file:", 5) != 0)
        json_add_text(file, "uriBaseId", "%SRCROOT%");
    region = json_add_object(*physical, "region");
    json_add_number(region, "startLine", line);
    if (column)
        json_add_number(region, "startColumn", column);
    return loc;
}

static cJSON *place_in_code(const BinFlow *flow, uint32_t inst) {
    cJSON *physical, *loc = new_place(flow->bin->path ? flow->bin->path : "", 1, 0, &physical);
    char where[160];
    cJSON *address = json_add_object(physical, "address");
    json_add_number(address, "absoluteAddress", (double)bin_address(flow, inst));
    json_add_text(address, "fullyQualifiedName", bin_where(flow, inst, where));
    json_add_number(address, "length", INST_BYTES);
    uint32_t b = flow->block_of[inst];
    if (b != BINFLOW_NONE) {
        cJSON *logical = json_object();
        json_add_text(logical, "name", flow->bin->funcs[flow->blocks[b].func].name);
        json_add_text(logical, "kind", "function");
        json_append(json_add_list(loc, "logicalLocations"), logical);
    }
    return loc;
}

static const BinLoc *loc_of(const BinFlow *flow, uint32_t inst) {
    uint32_t b = flow->block_of[inst];
    const BinFunc *func = b == BINFLOW_NONE ? NULL : &flow->bin->funcs[flow->blocks[b].func];
    const BinLoc *loc =
        func && func->locs ? &func->locs[inst - flow->funcs[flow->blocks[b].func].first_inst] : NULL;
    return loc && loc->ptx_line && flow->bin->ptx_name ? loc : NULL;
}

/* Where a reader finds the instruction: in the PTX, in the source that it was made of; the first is for
 * people, NULL: the file does not say. The second may be NULL. */
static void places_in_text(const BinFlow *flow, uint32_t inst, cJSON *place[2]) {
    const BinLoc *at = loc_of(flow, inst);
    cJSON *physical;
    place[0] = at ? new_place(flow->bin->ptx_name, at->ptx_line, at->ptx_column, &physical) : NULL;
    place[1] = NULL;
    if (!at || !at->src_line || at->src_file >= flow->bin->nfiles || !*flow->bin->files[at->src_file])
        return;
    place[1] = new_place(flow->bin->files[at->src_file], at->src_line, 0, &physical);
    if (access(flow->bin->ptx_name, R_OK) != 0) {
        json_drop(place[0]);
        place[0] = place[1];
        place[1] = NULL;
    }
}

/* The same finding in another version of the file: by rule, function and instruction, not by address. */
static void add_fingerprint(cJSON *to, const BinFlow *flow, const BinFinding *finding) {
    char text[300], hash[20];
    const char *id = check_rule(finding->rule)->id;
    check_instruction_text(flow, finding->inst, text, sizeof text);
    XXH64_hash_t sum = XXH64(text, strlen(text), XXH64(id, strlen(id), 0));
    if (finding->func != BINFLOW_NONE) {
        const char *name = flow->bin->funcs[finding->func].name;
        sum = XXH64(name, strlen(name), sum);
    }
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)sum);
    json_add_text(json_add_object(to, "partialFingerprints"), "ruleFunctionInstruction/v1", hash);
}

static cJSON *sarif_result(const BinFlow *g, const BinFinding *finding) {
    cJSON *o = json_object(), *place[2];
    places_in_text(g, finding->inst, place);
    char where[160], message[1200];
    json_add_text(o, "ruleId", check_rule(finding->rule)->id);
    json_add_number(o, "ruleIndex", finding->rule);
    json_add_text(o, "level", check_severity_name(finding->severity));
    snprintf(message, sizeof message, "%s (%s)", finding->text, bin_where(g, finding->inst, where));
    add_text(o, "message", message);
    cJSON *code = place_in_code(g, finding->inst);
    json_append(json_add_list(o, "locations"), place[0] ? place[0] : code);
    cJSON *related = place[0] ? json_add_list(o, "relatedLocations") : NULL;
    if (related)
        json_append(related, code);
    if (place[1])
        json_append(related, place[1]);
    add_fingerprint(o, g, finding);
    if (finding->npath > 1) {
        cJSON *flow = json_object(), *thread = json_object();
        json_append(json_add_list(o, "codeFlows"), flow);
        json_append(json_add_list(flow, "threadFlows"), thread);
        cJSON *steps = json_add_list(thread, "locations");
        for (uint32_t k = 0; k < finding->npath; k++) {
            cJSON *step = json_object(), *at[2];
            places_in_text(g, finding->path[k], at);
            json_drop(at[1]);
            json_add(step, "location", at[0] ? at[0] : place_in_code(g, finding->path[k]));
            json_append(steps, step);
        }
    }
    return o;
}

static cJSON *sarif_rule(CheckRule rule) {
    const CheckRuleInfo *info = check_rule(rule);
    cJSON *o = json_object();
    json_add_text(o, "id", info->id);
    add_text(o, "shortDescription", info->title);
    add_text(o, "fullDescription", info->text);
    char help[1200];
    snprintf(help, sizeof help, "%s %s", info->harm, info->fix);
    add_text(o, "help", help);
    json_add_text(json_add_object(o, "defaultConfiguration"), "level", check_severity_name(info->severity));
    return o;
}

char *check_report_sarif(const BinFlow *g, const BinCheckReport *report) {
    cJSON *o = json_object(), *run = json_object();
    json_add_text(o, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_add_text(o, "version", "2.1.0");
    json_append(json_add_list(o, "runs"), run);
    cJSON *driver = json_add_object(json_add_object(run, "tool"), "driver");
    json_add_text(driver, "name", "heddle check");
    json_add_text(driver, "version", HEDDLE_VERSION);
    cJSON *rules = json_add_list(driver, "rules");
    for (unsigned k = 0; k < CR_COUNT; k++)
        json_append(rules, sarif_rule((CheckRule)k));
    cJSON *results = json_add_list(run, "results");
    for (uint32_t k = 0; k < report->n; k++)
        json_append(results, sarif_result(g, &report->findings[k]));
    return json_close(o);
}
