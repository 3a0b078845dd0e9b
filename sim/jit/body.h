/* The function of a region while it is built: emit.c, access.c. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_BODY_H
#define HEDDLE_SIM_JIT_BODY_H
#include "sim/jit/emit.h"
#include <stddef.h>

typedef struct {
    Emit emit;
    const Run *run;
    const Region *region;
    bool masked;
    LLVMValueRef function, warp, host, rows_base, prog, run_state;
    LLVMValueRef active, active_word;              /* conditions, and a mask; NULL: all lanes */
    LLVMValueRef row[ROW_COUNT], pred[PRED_COUNT]; /* variables, or NULL */
    LLVMValueRef raw[ROW_COUNT]; /* in this block: the row's value before its NaNs were made canonical */
    bool row_written[ROW_COUNT], pred_written[PRED_COUNT];
    LLVMValueRef quota, status, pc, issues[CLS_COUNT], off[CLS_COUNT]; /* variables */
    LLVMBasicBlockRef entry, leave, leave_by_any, leave_ended, blocks[REGION_MAX_BLOCKS];
} Body;

#define LLVM(body) ((body)->emit.api)
#define BUILDER(body) ((body)->emit.builder)

LLVMValueRef body_const32(Body *body, uint64_t x);
LLVMValueRef body_const64(Body *body, uint64_t x);
LLVMValueRef body_binary(Body *body, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef body_get(Body *body, LLVMTypeRef type, LLVMValueRef variable); /* load */
void body_put(Body *body, LLVMValueRef variable, LLVMValueRef value);       /* store */
LLVMValueRef body_at(Body *body, LLVMValueRef base, uint64_t bytes);        /* address */
LLVMTypeRef body_row_type(const Body *body);
LLVMValueRef body_splat(Body *body, LLVMValueRef word);     /* in all lanes */
LLVMBasicBlockRef body_block(Body *body, const char *name); /* a new one */
LLVMValueRef body_mask_of(Body *body, LLVMValueRef conditions);
/* Row `word` of source i of an instruction: of the warp, or a literal. */
LLVMValueRef body_source(Body *body, uint32_t pc, unsigned i, unsigned word);

/* ---- access.c ---- */
/* A load or store of whole items of the host's memory: global, generic or shared? */
bool body_access_is_built(const Dec *dec);
bool body_access_is_local(const Dec *dec); /* of rows of local memory */
bool body_access_loads(const Dec *dec);    /* or stores */
unsigned body_access_rows(const Dec *dec); /* that it loads or stores */
/* It goes to `done` with the access made, or to `slow` with nothing done. g: lanes, NULL: all. */
void body_access_code(Body *body, uint32_t pc, LLVMValueRef g, LLVMBasicBlockRef slow,
                      LLVMBasicBlockRef done);
#endif
