/* Branch profiles: see profile.h. The digest is over what decides which branch is which: operations with
 * their modifiers, guards and targets of all statements; names of registers and labels, comments and the
 * layout of the text may change. SPDX-License-Identifier: MIT */
#include "frontend/profile.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/scope.h"
#include <string.h>

#define MOST_COUNT 9007199254740992.0 /* 2^53: JSON numbers are exact up to there */
enum { FORMAT_VERSION = 1 };

/* ---- branches of the text ---- */

static bool is_branch(const PtxInsn *insn) {
    return insn->op == PTX_BRX
               ? insn->table != 0
               : insn->guard_reg && (insn->op == PTX_BRA || insn->op == PTX_RET || insn->op == PTX_EXIT);
}

static void set_ways(PtxProfile *profile, const PtxFunc *func, PtxBranch *branch) {
    const PtxInsn *insn = &func->insns[branch->insn];
    const PtxBranchTable *table = insn->op == PTX_BRX ? &func->branch_tables[insn->table - 1] : NULL;
    branch->ways = ARENA_ARRAY(&profile->arena, PtxWay, table ? table->n : 2);
    if (!table) {
        branch->ways[0].to = insn->op == PTX_BRA ? func->labels[insn->operands[0].label].insn : PTX_WAY_ENDS;
        branch->ways[1].to = branch->insn + 1;
        branch->nways = 2;
        return;
    }
    uint8_t *known = ARENA_ARRAY(&profile->arena, uint8_t, func->ninsns + 1);
    for (uint32_t k = 0; k < table->n; k++) {
        uint32_t to = func->labels[table->labels[k]].insn;
        if (!known[to])
            branch->ways[branch->nways++].to = to;
        known[to] = 1;
    }
}

static void digest_text(uint64_t *digest, const char *text) {
    for (; *text; text++)
        *digest = rng_mix(*digest ^ (unsigned char)*text);
    *digest = rng_mix(*digest + RNG_STEP);
}

static uint64_t digest_of(const PtxModule *module, const PtxFunc *func) {
    uint64_t digest = func->ninsns;
    for (uint32_t k = 0; k < func->ninsns; k++) {
        const PtxInsn *insn = &func->insns[k];
        digest_text(&digest, ptx_op_name((PtxOp)insn->op));
        digest_text(&digest, str_text(&module->strings, insn->mods_text));
        digest = rng_mix(digest + (insn->guard_reg ? insn->guard_not ? 2 : 1 : 0));
        if (insn->op == PTX_BRA)
            digest = rng_mix(digest + func->labels[insn->operands[0].label].insn);
        if (insn->op == PTX_BRX && insn->table)
            for (uint32_t n = 0; n < func->branch_tables[insn->table - 1].n; n++)
                digest = rng_mix(digest + func->labels[func->branch_tables[insn->table - 1].labels[n]].insn);
    }
    return digest;
}

PtxProfile *ptx_profile_new(const PtxModule *module) {
    PtxProfile *profile = mem_zeroed(1, sizeof *profile);
    profile->module = module;
    profile->funcs = ARENA_ARRAY(&profile->arena, PtxFuncProfile, module->nfuncs + 1);
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        PtxFuncProfile *mine = &profile->funcs[f];
        const PtxFunc *func = mine->func = &module->funcs[f];
        for (uint32_t k = 0; k < func->ninsns; k++)
            mine->nbranches += is_branch(&func->insns[k]);
        mine->branches = ARENA_ARRAY(&profile->arena, PtxBranch, mine->nbranches + 1);
        mine->digest = digest_of(module, func);
        for (uint32_t k = 0, n = 0; k < func->ninsns; k++)
            if (is_branch(&func->insns[k])) {
                mine->branches[n].insn = k;
                set_ways(profile, func, &mine->branches[n++]);
            }
    }
    return profile;
}

void ptx_profile_free(PtxProfile *profile) {
    if (!profile)
        return;
    arena_free(&profile->arena);
    mem_free(profile);
}

static PtxBranch *find_branch(const PtxFuncProfile *func, uint32_t insn) {
    uint32_t lo = 0, hi = func->nbranches;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (func->branches[mid].insn < insn)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < func->nbranches && func->branches[lo].insn == insn ? &func->branches[lo] : NULL;
}

PtxBranch *ptx_profile_branch(const PtxProfile *profile, const PtxFunc *func, uint32_t insn) {
    const PtxModule *module = profile->module;
    bool inside = func >= module->funcs && func < module->funcs + module->nfuncs;
    return inside ? find_branch(&profile->funcs[func - module->funcs], insn) : NULL;
}

void ptx_profile_record(Arena *a, PtxBranch *branch, uint32_t lane, uint32_t way) {
    if (!branch->records)
        branch->records = ARENA_ARRAY(a, PtxRecord, PTX_RECORDED_LANES);
    PtxRecord *record = &branch->records[lane];
    if (record->n == PTX_MOST_RECORDED) /* in a file that has the branch twice */
        return;
    if (!(record->n & (record->n - 1))) { /* full: there is room for a power of two */
        uint8_t *ways = ARENA_ARRAY(a, uint8_t, record->n ? 2 * record->n : 1);
        memcpy(ways, record->ways ? record->ways : ways, record->n);
        record->ways = ways;
    }
    record->ways[record->n++] = (uint8_t)way;
}

/* ---- files ---- */

static const char *const way_counts[] = {"lanes", "together", "apart"};

static uint64_t *way_count(PtxWay *way, unsigned which) {
    return which == 0 ? &way->lanes : which == 1 ? &way->together : &way->apart;
}

/* A text for each lane, a letter for each way: '0' for the first. */
static void write_records(const PtxBranch *branch, cJSON *o) {
    uint32_t n = PTX_RECORDED_LANES;
    while (n && !branch->records[n - 1].n)
        n--;
    cJSON *recorded = json_add_list(o, "recorded");
    for (uint32_t lane = 0; lane < n; lane++) {
        const PtxRecord *record = &branch->records[lane];
        char text[PTX_MOST_RECORDED + 1];
        for (uint32_t k = 0; k < record->n; k++)
            text[k] = (char)('0' + record->ways[k]);
        text[record->n] = 0;
        json_append(recorded, json_text(text));
    }
}

static void write_branch(const PtxProfile *profile, const PtxFunc *func, PtxBranch *branch, cJSON *list) {
    const PtxInsn *insn = &func->insns[branch->insn];
    cJSON *o = json_object(), *ways;
    json_append(list, o);
    json_add_number(o, "statement", branch->insn);
    json_add_number(o, "line", ptx_line(profile->module, insn));
    json_add_text(o, "operation", ptx_op_name((PtxOp)insn->op));
    json_add_number(o, "warps", (double)branch->warps);
    json_add_number(o, "divergent", (double)branch->divergent);
    ways = json_add_list(o, "ways");
    for (uint32_t k = 0; k < branch->nways; k++) {
        cJSON *way = json_object();
        json_append(ways, way);
        if (branch->ways[k].to < func->ninsns)
            json_add_number(way, "line", ptx_line(profile->module, &func->insns[branch->ways[k].to]));
        for (unsigned which = 0; which < 3; which++)
            json_add_number(way, way_counts[which], (double)*way_count(&branch->ways[k], which));
    }
    if (branch->records)
        write_records(branch, o);
}

char *ptx_profile_write(const PtxProfile *profile) {
    cJSON *root = json_object(), *functions;
    json_add_text(root, "format", "heddle-profile");
    json_add_number(root, "version", FORMAT_VERSION);
    functions = json_add_list(root, "functions");
    for (uint32_t f = 0; f < profile->module->nfuncs; f++) {
        const PtxFuncProfile *func = &profile->funcs[f];
        cJSON *branches = NULL;
        for (uint32_t k = 0; k < func->nbranches; k++) {
            if (!func->branches[k].warps)
                continue;
            if (!branches) {
                char digest[17];
                cJSON *o = json_object();
                json_append(functions, o);
                snprintf(digest, sizeof digest, "%016llx", (unsigned long long)func->digest);
                json_add_text(o, "name", str_text(&profile->module->strings, func->func->name));
                json_add_text(o, "digest", digest);
                branches = json_add_list(o, "branches");
            }
            write_branch(profile, func->func, &func->branches[k], branches);
        }
    }
    return json_close(root);
}

static bool count_of(const cJSON *object, const char *key, uint64_t *out) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0 && number->valuedouble <= MOST_COUNT) ||
        number->valuedouble != (double)(uint64_t)number->valuedouble)
        return false;
    *out = (uint64_t)number->valuedouble;
    return true;
}

/* Which ways lanes went; `into`: where they are kept, if they are. NULL, or what is wrong. */
static const char *read_records(const PtxBranch *branch, const cJSON *recorded, PtxBranch *into, Arena *a) {
    const cJSON *entry;
    uint32_t lane = 0;
    if (recorded && (!cJSON_IsArray(recorded) || cJSON_GetArraySize(recorded) > PTX_RECORDED_LANES))
        return "\"recorded\" is no list of 256 texts at most";
    cJSON_ArrayForEach(entry, recorded) {
        const char *text = cJSON_GetStringValue(entry);
        if (!text || strlen(text) > PTX_MOST_RECORDED)
            return "\"recorded\" holds what is no text of 1024 ways at most";
        for (const char *at = text; *at; at++) {
            if (*at < '0' || (uint32_t)(*at - '0') >= branch->nways || *at - '0' >= PTX_RECORDED_WAYS)
                return "a lane went a way that its branch has not";
            if (into)
                ptx_profile_record(a, into, lane, (uint32_t)(*at - '0'));
        }
        lane++;
    }
    return NULL;
}

static bool is_recorded(const PtxFuncProfile *func) {
    bool recorded = false;
    for (uint32_t k = 0; k < func->nbranches; k++)
        recorded |= func->branches[k].records != NULL;
    return recorded;
}

/* One branch of the file; `add`: its counts too, which were found right before; `records`: where its records
 * are kept, or NULL. NULL, or what is wrong. */
static const char *read_branch(const PtxFuncProfile *func, const cJSON *o, bool add, Arena *records) {
    uint64_t statement, warps, divergent, sum, counts[3];
    const cJSON *ways = cJSON_GetObjectItemCaseSensitive(o, "ways"), *way;
    if (!count_of(o, "statement", &statement) || !count_of(o, "warps", &warps) ||
        !count_of(o, "divergent", &divergent) || !cJSON_IsArray(ways))
        return "a branch lacks \"statement\", \"warps\", \"divergent\" or \"ways\"";
    PtxBranch *branch = statement < UINT32_MAX ? find_branch(func, (uint32_t)statement) : NULL;
    if (!branch || branch->nways != (uint32_t)cJSON_GetArraySize(ways))
        return "a branch is not one of the function's";
    uint32_t k = 0;
    sum = divergent;
    cJSON_ArrayForEach(way, ways) {
        for (unsigned which = 0; which < 3; which++) {
            if (!count_of(way, way_counts[which], &counts[which]))
                return "a way lacks \"lanes\", \"together\" or \"apart\"";
            if ((double)(*way_count(&branch->ways[k], which) + counts[which]) > MOST_COUNT)
                return "the counts are too large";
            if (add)
                *way_count(&branch->ways[k], which) += counts[which];
        }
        if (counts[2] > counts[0])
            return "the counts of a way contradict each other";
        sum += counts[1];
        k++;
    }
    if (sum != warps)
        return "the counts of a branch contradict each other";
    if (add) {
        branch->warps += warps;
        branch->divergent += divergent;
    }
    return read_records(branch, cJSON_GetObjectItemCaseSensitive(o, "recorded"), records ? branch : NULL,
                        records);
}

/* The function that an entry is of; NULL: it is left out, reported while `warn`. */
static const PtxFuncProfile *function_of(const PtxProfile *profile, const cJSON *entry, const char *file,
                                         Diags *warn) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name")),
               *digest = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "digest"));
    for (uint32_t f = 0; f < profile->module->nfuncs; f++) {
        const PtxFuncProfile *func = &profile->funcs[f];
        char mine[17];
        if (strcmp(str_text(&profile->module->strings, func->func->name), name) != 0)
            continue;
        snprintf(mine, sizeof mine, "%016llx", (unsigned long long)func->digest);
        if (strcmp(mine, digest) == 0)
            return func;
        if (warn)
            diag(warn, (SrcLoc){0}, DIAG_W0506, file, name,
                 "another text than here; its counts are not used");
        return NULL;
    }
    if (warn)
        diag(warn, (SrcLoc){0}, DIAG_W0506, file, name, "which is not in this module");
    return NULL;
}

static const char *read_functions(PtxProfile *profile, const cJSON *root, const char *file, bool add,
                                  Diags *diags) {
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format"),
                *functions = cJSON_GetObjectItemCaseSensitive(root, "functions"), *entry, *o;
    uint64_t version;
    if (!cJSON_GetStringValue(format) || strcmp(format->valuestring, "heddle-profile") != 0 ||
        !cJSON_IsArray(functions))
        return "it is no profile";
    if (!count_of(root, "version", &version) || version != FORMAT_VERSION)
        return "its version is not known";
    cJSON_ArrayForEach(entry, functions) {
        const cJSON *branches = cJSON_GetObjectItemCaseSensitive(entry, "branches");
        if (!cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name")) ||
            !cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "digest")) ||
            !cJSON_IsArray(branches))
            return "a function lacks \"name\", \"digest\" or \"branches\"";
        const PtxFuncProfile *func = function_of(profile, entry, file, add ? diags : NULL);
        if (!func)
            continue;
        Arena *records = add && !is_recorded(func) ? &profile->arena : NULL; /* lanes of one file */
        cJSON_ArrayForEach(o, branches) {
            const char *wrong = read_branch(func, o, add, records);
            if (wrong)
                return wrong;
        }
    }
    return NULL;
}

static void drop_tree(void *tree) { cJSON_Delete(tree); }

bool ptx_profile_read(PtxProfile *profile, const char *name, const char *text, Diags *diags) {
    cJSON *root = cJSON_Parse(text);
    if (!root)
        return diag(diags, (SrcLoc){0}, DIAG_E0505, name, "it is not JSON");
    scope_guard(root, drop_tree);
    const char *wrong = read_functions(profile, root, name, false, diags);
    if (!wrong)
        wrong = read_functions(profile, root, name, true, diags);
    scope_unguard(root);
    cJSON_Delete(root);
    return !wrong || diag(diags, (SrcLoc){0}, DIAG_E0505, name, wrong);
}
