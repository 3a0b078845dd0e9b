/* JSON out: see json.h. SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/scope.h"
#include <stdint.h>
#include <string.h>

static void drop_tree(void *tree) { cJSON_Delete(tree); }

static cJSON *own_part(cJSON *new_part) {
    if (!new_part)
        scope_give_up(SCOPE_MEMORY, NULL);
    scope_guard(new_part, drop_tree);
    return new_part;
}

size_t json_sequence_bytes(const char *at, size_t left) {
    const unsigned char *text = (const unsigned char *)at;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 : *text >> 3 == 30 ? 4 : 0;
    if (n < 2 || n > left)
        return n == 1;
    uint32_t code = *text & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

cJSON *json_text(const char *text) {
    static const char unknown[] = "\xef\xbf\xbd";
    size_t left = text ? strlen(text) : 0, used = 0;
    char *clean = mem_alloc(left * (sizeof unknown - 1) + 1);
    for (size_t n; left; text += n, left -= n) {
        size_t valid = json_sequence_bytes(text, left), written = valid ? valid : sizeof unknown - 1;
        memcpy(clean + used, valid ? text : unknown, written);
        used += written;
        n = valid ? valid : 1;
    }
    clean[used] = 0;
    cJSON *made = own_part(cJSON_CreateString(clean));
    mem_free(clean);
    return made;
}

cJSON *json_object(void) { return own_part(cJSON_CreateObject()); }
cJSON *json_list(void) { return own_part(cJSON_CreateArray()); }
cJSON *json_number(double number) { return own_part(cJSON_CreateNumber(number)); }
cJSON *json_numbers(const int *numbers, int count) { return own_part(cJSON_CreateIntArray(numbers, count)); }
cJSON *json_raw(const char *json) { return own_part(cJSON_CreateRaw(json)); }
cJSON *json_read(const char *json) { return own_part(cJSON_Parse(json)); }

void json_append(cJSON *list, cJSON *new_part) {
    cJSON_AddItemToArray(list, new_part); /* fails for NULL only */
    scope_unguard(new_part);
}

void json_add(cJSON *object, const char *key, cJSON *new_part) {
    if (!cJSON_AddItemToObject(object, key, new_part))
        scope_give_up(SCOPE_MEMORY, NULL);
    scope_unguard(new_part);
}

cJSON *json_add_object(cJSON *object, const char *key) {
    cJSON *added = json_object();
    json_add(object, key, added);
    return added;
}

cJSON *json_add_list(cJSON *object, const char *key) {
    cJSON *added = json_list();
    json_add(object, key, added);
    return added;
}

void json_add_text(cJSON *object, const char *key, const char *text) {
    json_add(object, key, json_text(text));
}
void json_add_number(cJSON *object, const char *key, double number) {
    json_add(object, key, json_number(number));
}
void json_add_bool(cJSON *object, const char *key, bool value) {
    json_add(object, key, own_part(cJSON_CreateBool(value)));
}

static void drop_text(void *text) { cJSON_free(text); }

/* cJSON may have been told to allocate in another way. */
static char *own(cJSON *tree, char *printed) {
    if (!printed)
        scope_give_up(SCOPE_MEMORY, NULL);
    scope_guard(printed, drop_text);
    char *text = mem_text(printed);
    scope_unguard(printed);
    cJSON_free(printed);
    scope_unguard(tree);
    cJSON_Delete(tree);
    return text;
}

char *json_close(cJSON *tree) { return own(tree, cJSON_Print(tree)); }
char *json_close_line(cJSON *tree) { return own(tree, cJSON_PrintUnformatted(tree)); }

void json_drop(cJSON *tree) {
    scope_unguard(tree);
    cJSON_Delete(tree);
}
