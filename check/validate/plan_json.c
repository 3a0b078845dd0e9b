/* Launch files: JSON to a launch plan. docs/launch-files.md describes every key; an unknown key is an error.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan.h"
#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Plan *p;
    const Source *source;
    Diags *d;
} Json;

/* ---- positions, which cJSON does not keep: text that it accepted is walked beside the tree, once; valueint,
 * which nothing else here reads, takes the offset ---- */
static const char *skip_blank(const char *s) { return s + strspn(s, " \t\r\n"); }

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
    for (cJSON *c = node->child; c; c = c->next) {
        s = skip_blank(s);
        if (object)
            s = skip_blank(skip_blank(skip_text(s)) + 1);
        s = skip_blank(note_places(text, s, c)) + (c->next != NULL);
    }
    return skip_blank(s) + 1;
}

static SrcLoc place(const cJSON *node) { return (SrcLoc){(uint32_t)node->valueint}; }

static bool fail(Json *j, const char *what) { return diag_in(j->d, j->source, j->p->loc, DIAG_E0502, what); }

static const char *copy(Json *j, const char *text) { return arena_printf(&j->p->arena, "%s", text); }

/* Every member of `o` must be one of the names, which ends with NULL. */
static bool known_keys(Json *j, const cJSON *o, const char *where, const char *const *names) {
    for (const cJSON *c = o->child; c; c = c->next) {
        bool known = false;
        for (int i = 0; names[i]; i++)
            known |= strcmp(names[i], c->string) == 0;
        if (!known)
            return fail(j, arena_printf(&j->p->arena, "%s: unknown key \"%s\"", where, c->string));
    }
    return true;
}

static bool whole(const cJSON *c, double max, uint64_t *out) {
    if (!cJSON_IsNumber(c) || c->valuedouble < 0 || c->valuedouble > max ||
        c->valuedouble != (double)(uint64_t)c->valuedouble)
        return false;
    *out = (uint64_t)c->valuedouble;
    return true;
}

/* Numbers, or texts for values that JSON cannot write (large integers, bits, infinities). */
static bool element(const Scalar *t, const cJSON *c, uint8_t out[8]) {
    if (cJSON_IsString(c))
        return scalar_parse(t, c->valuestring, strlen(c->valuestring), out);
    if (!cJSON_IsNumber(c))
        return false;
    if (t->kind != 'f' && (c->valuedouble != (double)(int64_t)c->valuedouble ||
                           c->valuedouble > 9007199254740992.0 || c->valuedouble < -9007199254740992.0))
        return false;
    scalar_store(t, c->valuedouble, out);
    return true;
}

static bool values(Json *j, const cJSON *list, const Scalar *t, const char *name, const uint8_t **out,
                   uint64_t *count) {
    uint64_t n = cJSON_IsArray(list) ? (uint64_t)cJSON_GetArraySize(list) : 0, i = 0;
    uint8_t *bytes = arena_alloc(&j->p->arena, n * t->size_bytes);
    const cJSON *c;
    cJSON_ArrayForEach(c, list) {
        uint8_t value[8];
        if (!element(t, c, value))
            return fail(j, arena_printf(&j->p->arena, "%s: value %llu is no %s", name, (unsigned long long)i,
                                        t->name));
        memcpy(bytes + i++ * t->size_bytes, value, t->size_bytes);
    }
    *out = bytes;
    *count = n;
    return n > 0 || fail(j, arena_printf(&j->p->arena, "%s: \"values\" must be a list of values", name));
}

static bool read_buffer(Json *j, const cJSON *o) {
    static const char *const keys[] = {"type", "count", "init", "values", NULL};
    PlanBuffer b = {.name = copy(j, o->string), .init = "zero", .count = 1, .loc = place(o)};
    j->p->loc = b.loc;
    if (!cJSON_IsObject(o) || !known_keys(j, o, b.name, keys))
        return cJSON_IsObject(o) ? false
                                 : fail(j, arena_printf(&j->p->arena, "buffer %s must be an object", b.name));
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(o, "type"),
                *count = cJSON_GetObjectItemCaseSensitive(o, "count");
    const cJSON *init = cJSON_GetObjectItemCaseSensitive(o, "init"),
                *list = cJSON_GetObjectItemCaseSensitive(o, "values");
    b.type = cJSON_IsString(type) ? scalar_find(type->valuestring, strlen(type->valuestring)) : NULL;
    if (!b.type)
        return fail(j, arena_printf(&j->p->arena, "buffer %s: \"type\" must be one of u8 ... f64", b.name));
    if (list && !values(j, list, b.type, b.name, &b.bytes, &b.count))
        return false;
    if (count && (!whole(count, 0x1p34, &b.count) || b.count == 0))
        return fail(
            j, arena_printf(&j->p->arena, "buffer %s: \"count\" must be a positive whole number", b.name));
    if (list && (init || (count && b.count != (uint64_t)cJSON_GetArraySize(list))))
        return fail(
            j, arena_printf(&j->p->arena, "buffer %s: \"values\" contradicts \"init\" or \"count\"", b.name));
    if (init && !cJSON_IsString(init))
        return fail(j, arena_printf(&j->p->arena, "buffer %s: \"init\" must be a text", b.name));
    if (init)
        b.init = copy(j, init->valuestring);
    if (plan_find_buffer(j->p, b.name))
        return fail(j, arena_printf(&j->p->arena, "two buffers are named %s", b.name));
    VEC_ADD(&j->p->arena, &j->p->buffers, b);
    return true;
}

static bool read_extent(Json *j, const cJSON *c, const char *name, uint32_t out[3]) {
    int n = cJSON_IsArray(c) ? cJSON_GetArraySize(c) : 0;
    uint64_t v = 0;
    bool good = n >= 1 && n <= 3;
    for (int i = 0; good && i < n; i++) {
        good = whole(cJSON_GetArrayItem(c, i), 4294967295.0, &v) && v > 0;
        out[i] = (uint32_t)v;
    }
    return good || fail(j, arena_printf(&j->p->arena,
                                        "\"%s\" must be a list of one to three positive numbers", name));
}

static bool optional_u32(Json *j, const cJSON *o, const char *key, uint32_t *out) {
    const cJSON *c = cJSON_GetObjectItemCaseSensitive(o, key);
    uint64_t v;
    if (!c)
        return true;
    if (!whole(c, 4294967295.0, &v))
        return fail(j, arena_printf(&j->p->arena, "\"%s\" must be a whole number", key));
    *out = (uint32_t)v;
    return true;
}

static bool read_launch(Json *j, const cJSON *o) {
    static const char *const keys[] = {"kernel", "grid",   "block",     "shared",
                                       "args",   "repeat", "unordered", NULL};
    j->p->loc = place(o);
    if (!cJSON_IsObject(o))
        return fail(j, "a launch must be an object");
    if (!known_keys(j, o, "launch", keys))
        return false;
    PlanLaunch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .repeat = 1, .loc = j->p->loc};
    const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(o, "kernel"), *c;
    if (kernel && !cJSON_IsString(kernel))
        return fail(j, "\"kernel\" must be a name");
    launch.kernel = kernel ? copy(j, kernel->valuestring) : NULL;
    if (!read_extent(j, cJSON_GetObjectItemCaseSensitive(o, "grid"), "grid", launch.grid) ||
        !read_extent(j, cJSON_GetObjectItemCaseSensitive(o, "block"), "block", launch.block) ||
        !optional_u32(j, o, "shared", &launch.shared_bytes) || !optional_u32(j, o, "repeat", &launch.repeat))
        return false;
    VEC_ADD(&j->p->arena, &j->p->launches, launch);
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(o, "args")) {
        j->p->loc = place(c);
        if (!cJSON_IsString(c))
            return fail(j, "an argument must be a text, \"NAME\" or \"TYPE:VALUE\"");
        if (!plan_add_arg(j->p, c->valuestring, j->d))
            return false;
    }
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(o, "unordered")) {
        uint32_t index = cJSON_IsString(c) ? plan_find_buffer(j->p, c->valuestring) : 0;
        j->p->loc = place(c);
        if (!index)
            return fail(j, "\"unordered\" must be a list of buffers");
        VEC_ADD(&j->p->arena, &j->p->launches.at[j->p->launches.n - 1].unordered, index - 1);
    }
    return true;
}

static bool read_check(Json *j, const cJSON *o) {
    static const char *const keys[] = {"buffer", "equals", "values", "hash", "ulp", "abs", NULL};
    j->p->loc = place(o);
    if (!cJSON_IsObject(o))
        return fail(j, "a check must be an object");
    if (!known_keys(j, o, "check", keys))
        return false;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(o, "buffer"),
                *equals = cJSON_GetObjectItemCaseSensitive(o, "equals");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "values"),
                *hash = cJSON_GetObjectItemCaseSensitive(o, "hash");
    const cJSON *abs = cJSON_GetObjectItemCaseSensitive(o, "abs"),
                *ulp = cJSON_GetObjectItemCaseSensitive(o, "ulp");
    uint32_t index = cJSON_IsString(name) ? plan_find_buffer(j->p, name->valuestring) : 0;
    if (!index)
        return fail(j, "a check needs \"buffer\", the name of a buffer");
    PlanCheck c = {.buffer = index - 1};
    if ((equals != NULL) + (list != NULL) + (hash != NULL) != 1)
        return fail(j, "a check needs one of \"equals\", \"values\" and \"hash\"");
    if (equals && (!cJSON_IsString(equals) || equals->valuestring[0] != '@'))
        return fail(j, "\"equals\" must be \"@FILE\"");
    if (equals)
        c.equals = copy(j, equals->valuestring);
    if (list && !values(j, list, j->p->buffers.at[index - 1].type, name->valuestring, &c.values, &c.nvalues))
        return false;
    if (hash) {
        char *end = NULL;
        c.has_hash = cJSON_IsString(hash);
        c.hash = c.has_hash ? strtoull(hash->valuestring, &end, 16) : 0;
        if (!c.has_hash || *end || end == hash->valuestring)
            return fail(j, "\"hash\" must be a text of hexadecimal digits");
    }
    if ((ulp && !whole(ulp, 0x1p52, &c.ulp)) || (abs && (!cJSON_IsNumber(abs) || abs->valuedouble < 0)))
        return fail(j, "\"ulp\" and \"abs\" must be numbers that are not negative");
    c.abs = abs ? abs->valuedouble : 0;
    VEC_ADD(&j->p->arena, &j->p->checks, c);
    return true;
}

static bool read_root(Json *j, const cJSON *root) {
    static const char *const keys[] = {"module", "buffers", "launches", "checks", NULL};
    const cJSON *c, *module = cJSON_GetObjectItemCaseSensitive(root, "module");
    j->p->loc = place(root);
    if (!cJSON_IsObject(root))
        return fail(j, "a launch file must be an object");
    if (!known_keys(j, root, "launch file", keys))
        return false;
    const char *slash = strrchr(j->source->name, '/');
    const char *dir =
        slash ? arena_printf(&j->p->arena, "%.*s", (int)(slash - j->source->name), j->source->name) : ".";
    if (module && !cJSON_IsString(module))
        return fail(j, "\"module\" must be a file name");
    if (module)
        j->p->module = module->valuestring[0] == '/'
                           ? copy(j, module->valuestring)
                           : arena_printf(&j->p->arena, "%s/%s", dir, module->valuestring);
    if (!j->p->data_dir)
        j->p->data_dir = dir;
    cJSON_ArrayForEach(
        c, cJSON_GetObjectItemCaseSensitive(root, "buffers")) if (!read_buffer(j, c)) return false;
    cJSON_ArrayForEach(
        c, cJSON_GetObjectItemCaseSensitive(root, "launches")) if (!read_launch(j, c)) return false;
    cJSON_ArrayForEach(c,
                       cJSON_GetObjectItemCaseSensitive(root, "checks")) if (!read_check(j, c)) return false;
    j->p->loc = place(root);
    return j->p->launches.n > 0 || fail(j, "no launch: \"launches\" must be a list of at least one");
}

bool plan_read_json(Plan *p, const Source *text, Diags *d) {
    Json j = {p, text, d};
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text->text, text->size_bytes + 1, &end, true);
    if (!root) {
        size_t offset = end && end >= text->text ? (size_t)(end - text->text) : 0;
        return diag_in(d, text,
                       (SrcLoc){(uint32_t)(offset < text->size_bytes ? offset : text->size_bytes) + 1},
                       DIAG_E0501);
    }
    bool mark = !strncmp(text->text, "\xef\xbb\xbf", 3);
    note_places(text->text, skip_blank(text->text + (mark ? 3 : 0)), root);
    p->source = arena_copy(&p->arena, text, sizeof *text);
    bool good = read_root(&j, root);
    p->loc = (SrcLoc){0};
    cJSON_Delete(root);
    return good;
}
