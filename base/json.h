/* JSON out: trees of cJSON, built from the top or from parts, then printed. Texts may hold any bytes: what is
 * not UTF-8 becomes U+FFFD, so that the result is JSON whatever a file is called. Where there is no memory
 * the scope ends (base/scope.h); so nothing here returns NULL, and no tree lacks a part. A part that is not
 * in a tree yet is guarded. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_JSON_H
#define HEDDLE_BASE_JSON_H
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Parts. `text` NULL is "". */
cJSON *json_object(void);
cJSON *json_list(void);
cJSON *json_text(const char *text);
cJSON *json_number(double number);
cJSON *json_numbers(const int *numbers, int count);
cJSON *json_raw(const char *json);  /* JSON, printed as it is */
cJSON *json_read(const char *json); /* JSON of the program's own */
/* Put a part at the end of a list, or into an object. */
void json_append(cJSON *list, cJSON *part);
void json_add(cJSON *object, const char *key, cJSON *part);

/* The same at once; the new member. */
cJSON *json_add_object(cJSON *object, const char *key);
cJSON *json_add_list(cJSON *object, const char *key);
void json_add_text(cJSON *object, const char *key, const char *text);
void json_add_number(cJSON *object, const char *key, double number);
void json_add_bool(cJSON *object, const char *key, bool value);

/* Bytes of the UTF-8 sequence at `text` of up to `left` bytes; 0: there is none. Neither overlong ones nor
 * surrogates. */
size_t json_sequence_bytes(const char *text, size_t left);

/* The tree as text, for mem_free, in lines or all in one; the tree is gone. */
char *json_close(cJSON *tree);
char *json_close_line(cJSON *tree);
void json_drop(cJSON *tree); /* it is not wanted as text */
#endif
