/* Launch files: JSON to a launch plan. docs/launch-files.md describes every key; an unknown key is an error.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan_json.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Plan *plan;
    const Source *source;
    Diags *d;
} Json;

/* ---- positions, which cJSON does not keep: text that it accepted is walked beside the tree, once; valueint,
 * which nothing else here reads, takes the offset ---- */
static const char *skip_blank(const char *s) {
    while (*s && (unsigned char)*s <= ' ') /* what cJSON takes for blanks */
        s++;
    return s;
}

static const char *skip_text(const char *s) {
    for (s++; *s != '"'; s++)
        s += *s == '\\';
    return s + 1;
}

/* s at the value of `node`; returns where it ends. cJSON limits the depth. */
static const char *note_places(const char *text, const char *s, cJSON *node) {
    node->valueint = s - text < INT_MAX ? (int)(s - text) + 1 : 0;
    if (*s == '"')
        return skip_text(s);
    if (*s != '{' && *s != '[')
        return s + strcspn(s, ",]} \t\r\n");
    bool object = *s++ == '{';
    for (cJSON *item = node->child; item; item = item->next) {
        s = skip_blank(s);
        if (object)
            s = skip_blank(skip_blank(skip_text(s)) + 1);
        s = skip_blank(note_places(text, s, item)) + (item->next != NULL);
    }
    return skip_blank(s) + 1;
}

static SrcLoc json_loc(const cJSON *node) { return (SrcLoc){(uint32_t)node->valueint}; }

static bool json_error(Json *json, const char *what) {
    return diag_in(json->d, json->source, json->plan->loc, DIAG_E0502, what);
}

static const char *copy(Json *json, const char *text) { return arena_printf(&json->plan->arena, "%s", text); }

bool plan_known_keys(Plan *plan, const Source *source, Diags *d, const cJSON *o, const char *where,
                     const char *const *names) {
    for (const cJSON *item = o->child; item; item = item->next) {
        bool known = false;
        for (int i = 0; names[i]; i++)
            known |= strcmp(names[i], item->string) == 0;
        bool again = cJSON_GetObjectItemCaseSensitive(o, item->string) != item;
        if (!known || again)
            return diag_in(d, source, plan->loc, DIAG_E0502,
                           arena_printf(&plan->arena, "%s: %s key \"%s\"", where,
                                        known ? "more than one" : "unknown", item->string));
    }
    return true;
}

static bool known_keys(Json *json, const cJSON *o, const char *where, const char *const *names) {
    return plan_known_keys(json->plan, json->source, json->d, o, where, names);
}

static bool whole(const cJSON *item, double max, uint64_t *out) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= max) ||
        item->valuedouble != (double)(uint64_t)item->valuedouble)
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
}

/* Numbers, or texts for values that JSON cannot write (large integers, bits, infinities). */
static bool element(const Scalar *scalar, const cJSON *item, uint8_t out[8]) {
    if (cJSON_IsString(item))
        return scalar_parse(scalar, item->valuestring, strlen(item->valuestring), out);
    if (!cJSON_IsNumber(item))
        return false;
    if (scalar->kind != 'f' &&
        !(fabs(item->valuedouble) <= 0x1p53 && item->valuedouble == rint(item->valuedouble)))
        return false;
    scalar_store(scalar, item->valuedouble, out);
    return true;
}

static bool values(Json *json, const cJSON *list, const Scalar *scalar, const char *name, const uint8_t **out,
                   uint64_t *count) {
    uint64_t n = cJSON_IsArray(list) ? (uint64_t)cJSON_GetArraySize(list) : 0, i = 0;
    uint8_t *bytes = arena_alloc(&json->plan->arena, n * scalar->size_bytes);
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        uint8_t value[8];
        if (!element(scalar, item, value))
            return json_error(json, arena_printf(&json->plan->arena, "%s: value %llu is no %s", name,
                                                 (unsigned long long)i, scalar->name));
        memcpy(bytes + i++ * scalar->size_bytes, value, scalar->size_bytes);
    }
    *out = bytes;
    *count = n;
    return n > 0 || json_error(json, arena_printf(&json->plan->arena,
                                                  "%s: \"values\" must be a list of values", name));
}

static bool read_buffer(Json *json, const cJSON *o) {
    static const char *const keys[] = {"type", "count", "init", "values", NULL};
    PlanBuffer b = {.name = copy(json, o->string), .init = "zero", .count = 1, .loc = json_loc(o)};
    json->plan->loc = b.loc;
    if (!cJSON_IsObject(o) || !known_keys(json, o, b.name, keys))
        return cJSON_IsObject(o) ? false
                                 : json_error(json, arena_printf(&json->plan->arena,
                                                                 "buffer %s must be an object", b.name));
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(o, "type"),
                *count = cJSON_GetObjectItemCaseSensitive(o, "count");
    const cJSON *init = cJSON_GetObjectItemCaseSensitive(o, "init"),
                *list = cJSON_GetObjectItemCaseSensitive(o, "values");
    b.type = cJSON_IsString(type) ? scalar_find(type->valuestring, strlen(type->valuestring)) : NULL;
    if (!b.type)
        return json_error(
            json, arena_printf(&json->plan->arena, "buffer %s: \"type\" must be one of u8 ... f64", b.name));
    if (list && !values(json, list, b.type, b.name, &b.bytes, &b.count))
        return false;
    if (count && (!whole(count, 0x1p34, &b.count) || b.count == 0))
        return json_error(json, arena_printf(&json->plan->arena,
                                             "buffer %s: \"count\" must be a positive whole number", b.name));
    if (list && (init || (count && b.count != (uint64_t)cJSON_GetArraySize(list))))
        return json_error(json,
                          arena_printf(&json->plan->arena,
                                       "buffer %s: \"values\" contradicts \"init\" or \"count\"", b.name));
    if (init && !cJSON_IsString(init))
        return json_error(json,
                          arena_printf(&json->plan->arena, "buffer %s: \"init\" must be a text", b.name));
    if (init)
        b.init = copy(json, init->valuestring);
    if (plan_find_buffer(json->plan, b.name))
        return json_error(json, arena_printf(&json->plan->arena, "two buffers are named %s", b.name));
    VEC_ADD(&json->plan->arena, &json->plan->buffers, b);
    return true;
}

static bool read_extent(Json *json, const cJSON *item, const char *name, uint32_t out[3]) {
    int n = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;
    uint64_t v = 0;
    bool good = n >= 1 && n <= 3;
    for (int i = 0; good && i < n; i++) {
        good = whole(cJSON_GetArrayItem(item, i), 4294967295.0, &v) && v > 0;
        out[i] = (uint32_t)v;
    }
    return good ||
           json_error(json, arena_printf(&json->plan->arena,
                                         "\"%s\" must be a list of one to three positive numbers", name));
}

static bool read_cluster(Json *json, const cJSON *item, uint32_t out[3]) {
    if (item)
        out[0] = out[1] = out[2] = 1;
    return !item || read_extent(json, item, "cluster", out);
}

static bool optional_u32(Json *json, const cJSON *o, const char *key, uint32_t *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    uint64_t v;
    if (!item)
        return true;
    if (!whole(item, 4294967295.0, &v))
        return json_error(json, arena_printf(&json->plan->arena, "\"%s\" must be a whole number", key));
    *out = (uint32_t)v;
    return true;
}

/* A text, or a list of them: a structure. */
static bool read_arg(Json *json, const cJSON *arg) {
    uint32_t first = json->plan->launches.at[json->plan->launches.n - 1].args.n;
    const cJSON *part;
    json->plan->loc = json_loc(arg);
    if (cJSON_IsString(arg))
        return plan_add_arg(json->plan, arg->valuestring, json->d);
    bool good = cJSON_IsArray(arg);
    cJSON_ArrayForEach(part, arg) {
        json->plan->loc = json_loc(part);
        good = good && cJSON_IsString(part);
        if (good && !plan_add_arg(json->plan, part->valuestring, json->d))
            return false;
    }
    if (!good)
        return json_error(json, "an argument must be a text, \"NAME\" or \"TYPE:VALUE\", or a list of such");
    return plan_join_args(json->plan, first, json->d);
}

static bool read_launch(Json *json, const cJSON *o) {
    static const char *const keys[] = {"kernel", "grid",      "block",       "cluster", "shared", "args",
                                       "repeat", "unordered", "cooperative", "copy",    NULL};
    json->plan->loc = json_loc(o);
    if (!cJSON_IsObject(o))
        return json_error(json, "a launch must be an object");
    if (!known_keys(json, o, "launch", keys))
        return false;
    PlanLaunch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .repeat = 1, .loc = json->plan->loc};
    const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(o, "kernel"), *c;
    if (kernel && !cJSON_IsString(kernel))
        return json_error(json, "\"kernel\" must be a name");
    launch.kernel = kernel ? copy(json, kernel->valuestring) : NULL;
    if (!read_extent(json, cJSON_GetObjectItemCaseSensitive(o, "grid"), "grid", launch.grid) ||
        !read_extent(json, cJSON_GetObjectItemCaseSensitive(o, "block"), "block", launch.block) ||
        !read_cluster(json, cJSON_GetObjectItemCaseSensitive(o, "cluster"), launch.cluster) ||
        !optional_u32(json, o, "shared", &launch.shared_bytes) ||
        !optional_u32(json, o, "repeat", &launch.repeat))
        return false;
    const cJSON *cooperative = cJSON_GetObjectItemCaseSensitive(o, "cooperative");
    if (cooperative && !cJSON_IsBool(cooperative))
        return json_error(json, "\"cooperative\" must be true or false");
    launch.cooperative = cooperative && cJSON_IsTrue(cooperative);
    VEC_ADD(&json->plan->arena, &json->plan->launches, launch);
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(o, "args")) {
        if (!read_arg(json, c))
            return false;
    }
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(o, "copy")) {
        uint32_t to = c->string ? plan_find_buffer(json->plan, c->string) : 0,
                 from = cJSON_IsString(c) ? plan_find_buffer(json->plan, c->valuestring) : 0;
        json->plan->loc = json_loc(c);
        if (!to || !from || to == from)
            return json_error(json, "\"copy\" must be an object of buffers: \"TO\": \"FROM\"");
        VEC_ADD(&json->plan->arena, &json->plan->launches.at[json->plan->launches.n - 1].copies,
                ((PlanCopy){to - 1, from - 1}));
    }
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(o, "unordered")) {
        uint32_t index = cJSON_IsString(c) ? plan_find_buffer(json->plan, c->valuestring) : 0;
        json->plan->loc = json_loc(c);
        if (!index)
            return json_error(json, "\"unordered\" must be a list of buffers");
        VEC_ADD(&json->plan->arena, &json->plan->launches.at[json->plan->launches.n - 1].unordered,
                index - 1);
    }
    return true;
}

static bool read_check(Json *json, const cJSON *o) {
    static const char *const keys[] = {"buffer", "equals", "values", "hash", "ulp", "abs", NULL};
    json->plan->loc = json_loc(o);
    if (!cJSON_IsObject(o))
        return json_error(json, "a check must be an object");
    if (!known_keys(json, o, "check", keys))
        return false;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(o, "buffer"),
                *equals = cJSON_GetObjectItemCaseSensitive(o, "equals");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "values"),
                *hash = cJSON_GetObjectItemCaseSensitive(o, "hash");
    const cJSON *abs = cJSON_GetObjectItemCaseSensitive(o, "abs"),
                *ulp = cJSON_GetObjectItemCaseSensitive(o, "ulp");
    uint32_t index = cJSON_IsString(name) ? plan_find_buffer(json->plan, name->valuestring) : 0;
    if (!index)
        return json_error(json, "a check needs \"buffer\", the name of a buffer");
    PlanCheck c = {.buffer = index - 1};
    if ((equals != NULL) + (list != NULL) + (hash != NULL) != 1)
        return json_error(json, "a check needs one of \"equals\", \"values\" and \"hash\"");
    if (equals && (!cJSON_IsString(equals) || equals->valuestring[0] != '@'))
        return json_error(json, "\"equals\" must be \"@FILE\"");
    if (equals)
        c.equals = copy(json, equals->valuestring);
    if (list &&
        !values(json, list, json->plan->buffers.at[index - 1].type, name->valuestring, &c.values, &c.nvalues))
        return false;
    if (hash) {
        char *end = NULL;
        c.has_hash = cJSON_IsString(hash);
        c.hash = c.has_hash ? strtoull(hash->valuestring, &end, 16) : 0;
        if (!c.has_hash || *end || end == hash->valuestring)
            return json_error(json, "\"hash\" must be a text of hexadecimal digits");
    }
    if ((ulp && !whole(ulp, 0x1p52, &c.ulp)) || (abs && (!cJSON_IsNumber(abs) || abs->valuedouble < 0)))
        return json_error(json, "\"ulp\" and \"abs\" must be numbers that are not negative");
    c.abs = abs ? abs->valuedouble : 0;
    VEC_ADD(&json->plan->arena, &json->plan->checks, c);
    return true;
}

int plan_choice(const cJSON *item, const char *const *names) {
    for (int k = 0; cJSON_IsString(item) && names[k]; k++)
        if (!strcmp(item->valuestring, names[k]))
            return k;
    return -1;
}

static bool read_root(Json *json, const cJSON *root) {
    static const char *const keys[] = {"module",     "buffers",  "textures", "tensormaps",
                                       "multicasts", "launches", "checks",   NULL};
    static const struct {
        const char *name;
        bool is_list;
    } parts[] = {{"buffers", false},    {"textures", false}, {"tensormaps", false},
                 {"multicasts", false}, {"launches", true},  {"checks", true}};
    const cJSON *item, *module = cJSON_GetObjectItemCaseSensitive(root, "module");
    json->plan->loc = json_loc(root);
    if (!cJSON_IsObject(root))
        return json_error(json, "a launch file must be an object");
    if (!known_keys(json, root, "launch file", keys))
        return false;
    for (unsigned k = 0; k < sizeof parts / sizeof *parts; k++) {
        item = cJSON_GetObjectItemCaseSensitive(root, parts[k].name);
        if (item && (parts[k].is_list ? !cJSON_IsArray(item) : !cJSON_IsObject(item)))
            return json_error(json, arena_printf(&json->plan->arena, "\"%s\" must be %s", parts[k].name,
                                                 parts[k].is_list ? "a list" : "an object"));
    }
    const char *slash = strrchr(json->source->name, '/');
    const char *dir = slash ? arena_printf(&json->plan->arena, "%.*s", (int)(slash - json->source->name),
                                           json->source->name)
                            : ".";
    if (module && !cJSON_IsString(module))
        return json_error(json, "\"module\" must be a file name");
    if (module)
        json->plan->module = module->valuestring[0] == '/'
                                 ? copy(json, module->valuestring)
                                 : arena_printf(&json->plan->arena, "%s/%s", dir, module->valuestring);
    if (!json->plan->data_dir)
        json->plan->data_dir = dir;
    cJSON_ArrayForEach(
        item, cJSON_GetObjectItemCaseSensitive(root, "buffers")) if (!read_buffer(json, item)) return false;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "textures")) {
        json->plan->loc = json_loc(item);
        if (!plan_read_texture(json->plan, json->source, item, json->d))
            return false;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "tensormaps")) {
        json->plan->loc = json_loc(item);
        if (!plan_read_tensor(json->plan, json->source, item, json->d))
            return false;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "multicasts")) {
        json->plan->loc = json_loc(item);
        if (!plan_read_multicast(json->plan, json->source, item, json->d))
            return false;
    }
    cJSON_ArrayForEach(
        item, cJSON_GetObjectItemCaseSensitive(root, "launches")) if (!read_launch(json, item)) return false;
    cJSON_ArrayForEach(
        item, cJSON_GetObjectItemCaseSensitive(root, "checks")) if (!read_check(json, item)) return false;
    json->plan->loc = json_loc(root);
    return json->plan->launches.n > 0 ||
           json_error(json, "no launch: \"launches\" must be a list of at least one");
}

bool plan_read_json(Plan *plan, const Source *text, Diags *d) {
    Json j = {plan, text, d};
    const char *end =
        memchr(text->text, 0, text->size_bytes); /* a blank for cJSON, the end for everybody else */
    cJSON *root = end ? NULL : cJSON_ParseWithLengthOpts(text->text, text->size_bytes + 1, &end, true);
    if (!root) {
        size_t offset = end && end >= text->text ? (size_t)(end - text->text) : 0;
        return diag_in(d, text,
                       (SrcLoc){(uint32_t)(offset < text->size_bytes ? offset : text->size_bytes) + 1},
                       DIAG_E0501);
    }
    bool mark = !strncmp(text->text, "\xef\xbb\xbf", 3);
    note_places(text->text, skip_blank(text->text + (mark ? 3 : 0)), root);
    plan->source = arena_copy(&plan->arena, text, sizeof *text);
    bool good = read_root(&j, root);
    plan->loc = (SrcLoc){0};
    cJSON_Delete(root);
    return good;
}
