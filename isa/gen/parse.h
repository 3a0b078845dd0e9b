/* Parts of isagen's parser: isa/gen/types.c reads tokens and types, isa/gen/targets.c targets,
 * isa/gen/parse.c definitions.
 * Each function returns false after reporting what is wrong.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_GEN_PARSE_H
#define HEDDLE_ISA_GEN_PARSE_H
#include "isa/gen/isagen.h"

typedef struct {
    Ig *g;
    const IgTok *token;
    uint32_t targets; /* of __Targets; used where a definition names none */
} Parser;

bool igp_is(const Parser *parser, const char *text);
bool igp_take(Parser *parser, const char *text);
bool igp_expect(Parser *parser, const char *text);
bool igp_ident(Parser *parser, const char **out);
bool igp_number(Parser *parser, int64_t *out);
bool igp_bit_number(Parser *parser, unsigned *out);
bool igp_string(Parser *parser, const char **out);
bool igp_type(Parser *parser, bool numbers);
bool igp_target_set(Parser *parser, uint32_t *out);
bool igp_target(Parser *parser);
bool igp_sregs(Parser *parser);
bool igp_def_target_set(Parser *parser);
#endif
