/* What the two halves of the loader of machine IR text share: load.c reads instructions, blocks, functions
 * and the module, load_operand.c what they consist of. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_LOAD_H
#define HEDDLE_IR_LOAD_H
#include "ir/text.h"

typedef struct {
    const Source *src;
    const char *at, *end;
    Diags *d;
    bool failed;
    IrModule *m;
    Function *f;
    uint32_t id_limit;
    StrTab op_names;          /* names of operations ... */
    StrMap op_by_name;        /* ... to number + 1 */
    VEC(uint8_t) block_state; /* [block] 1 mentioned, 2 defined */
    VEC(uint8_t) value_known; /* [value] mentioned, so its file is fixed */
} Loader;

/* E0600 at `where`, or where the loader stands; the first error counts. False. */
bool ir_load_error_at(Loader *loader, const char *where, const char *what);
bool ir_load_error(Loader *loader, const char *what);

/* Characters. The loader stands at a character of the text or at its end, where '\0' is read. */
char ir_load_peek(const Loader *loader);
void ir_load_skip_blank(Loader *loader);
void ir_load_skip_lines(Loader *loader); /* blanks, ends of lines and ; comments */
bool ir_load_end_line(Loader *loader);   /* reports what is left of the line */
/* Step over `word` if it is next, after blanks; accept_word: and no longer word begins with it; expect:
 * report. */
bool ir_load_accept(Loader *loader, const char *word);
bool ir_load_accept_word(Loader *loader, const char *word);
bool ir_load_expect(Loader *loader, const char *word);
size_t ir_load_word_size(const Loader *loader); /* of the word that is next, 0: none */

/* Numbers of at most `max`, decimal or 0x...; key_number: behind "KEY=". What is wrong is reported and 0. */
uint64_t ir_load_number(Loader *loader, uint64_t max);
uint32_t ir_load_number32(Loader *loader);
uint64_t ir_load_key_number(Loader *loader, const char *key, uint64_t max);
int ir_load_digit_value(char c, unsigned base); /* -1: no digit */

StrId ir_load_name(Loader *loader); /* @name or @"name", with \\xx for a byte; interned */
/* "bb3", created where it is new and given `state` of block_state. */
BlockId ir_load_block_id(Loader *loader, unsigned state);
Operand ir_load_operand(Loader *loader); /* with its modifiers */
#endif
