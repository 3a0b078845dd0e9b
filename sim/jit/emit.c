/* The function of a region. Its shape:
 *
 *   entry: loads what the region uses of the warp: rows, predicates, quota; literals that are no immediates;
 *          goes to the block of warp->pc
 *   block: leaves at its first instruction if the quota is less than its n instructions, or if the program
 *          does not have them all yet; counts them; executes them
 *   leave: stores rows, predicates, quota and counts; warp->pc = pc; returns status; leave_by_any has the
 *          handler of the instruction at pc executed first, which says where the warp goes
 *
 * Rows and predicates are variables (alloca) that LLVM turns into values. A handler that is called reads and
 * writes the warp's memory: before, what it reads is stored there, behind it, what it writes is loaded again.
 * The active lanes do not change inside a region; instructions are counted for a block when it begins, and
 * those behind one that traps, or a branch that is left to the interpreter, are taken back.
 * SPDX-License-Identifier: MIT */
#include "sim/jit/body.h"
#include <string.h>

/* ---- small pieces ---- */
LLVMValueRef body_const32(Body *body, uint64_t x) {
    return LLVM(body)->ConstInt(body->emit.types.word, x, 0);
}
LLVMValueRef body_const64(Body *body, uint64_t x) {
    return LLVM(body)->ConstInt(body->emit.types.quad, x, 0);
}
LLVMValueRef body_binary(Body *body, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y) {
    return LLVM(body)->BuildBinOp(BUILDER(body), op, x, y, "");
}
LLVMValueRef body_get(Body *body, LLVMTypeRef type, LLVMValueRef variable) {
    return LLVM(body)->BuildLoad2(BUILDER(body), type, variable, "");
}
void body_put(Body *body, LLVMValueRef variable, LLVMValueRef value) {
    LLVM(body)->BuildStore(BUILDER(body), value, variable);
}
LLVMValueRef body_at(Body *body, LLVMValueRef base, uint64_t bytes) {
    LLVMValueRef offset = body_const64(body, bytes);
    return LLVM(body)->BuildGEP2(BUILDER(body), body->emit.types.byte, base, &offset, 1, "");
}
static LLVMTypeRef condition_type(const Body *body) { return body->emit.types.lane[1][LT_I1]; }
LLVMTypeRef body_row_type(const Body *body) { return body->emit.types.lane[1][LT_I32]; }
LLVMBasicBlockRef body_block(Body *body, const char *name) {
    return LLVM(body)->AppendBasicBlockInContext(body->emit.context, body->function, name);
}
static void continue_at(Body *body, LLVMBasicBlockRef block) {
    LLVM(body)->PositionBuilderAtEnd(BUILDER(body), block);
}
static void add_to(Body *body, LLVMValueRef variable, int64_t n) {
    if (n)
        body_put(body, variable,
                 body_binary(body, LLVMAdd, body_get(body, body->emit.types.quad, variable),
                             body_const64(body, (uint64_t)n)));
}

/* A lane mask as 32 conditions, and back. Predicates are conditions throughout: LLVM takes very long over
 * words that become conditions and words again. */
static LLVMValueRef lanes_of(Body *body, LLVMValueRef mask) {
    return LLVM(body)->BuildCast(BUILDER(body), LLVMBitCast, mask, body->emit.types.lane[1][LT_I1], "");
}
LLVMValueRef body_mask_of(Body *body, LLVMValueRef conditions) {
    return LLVM(body)->BuildCast(BUILDER(body), LLVMBitCast, conditions, body->emit.types.word, "");
}
LLVMValueRef body_splat(Body *body, LLVMValueRef x) {
    LLVMTypeRef type = LLVM(body)->VectorType(LLVM(body)->TypeOf(x), 32);
    LLVMValueRef one = LLVM(body)->BuildInsertElement(BUILDER(body), LLVM(body)->GetPoison(type), x,
                                                      body_const32(body, 0), "");
    return LLVM(body)->BuildShuffleVector(BUILDER(body), one, LLVM(body)->GetPoison(type),
                                          LLVM(body)->ConstNull(body_row_type(body)), "");
}

/* ---- the warp's memory ---- */
static LLVMValueRef warp_field(Body *body, LLVMTypeRef type, size_t offset) {
    return body_get(body, type, body_at(body, body->warp, offset));
}
static void row_memory(Body *body, unsigned row, bool store) {
    LLVMValueRef at = body_at(body, body->rows_base, (uint64_t)row * ROW_BYTES), access;
    if (store) {
        access =
            LLVM(body)->BuildStore(BUILDER(body), body_get(body, body_row_type(body), body->row[row]), at);
    } else {
        access = body_get(body, body_row_type(body), at);
        body_put(body, body->row[row], access);
        body->raw[row] = NULL;
    }
    LLVM(body)->SetAlignment(access, ROW_BYTES);
}
/* Those of the rows and predicates that are variables; what the region does not write is in memory. */
static void rows_memory(Body *body, const bool rows[ROW_COUNT], bool store) {
    for (unsigned i = 0; i < ROW_COUNT; i++)
        if (rows[i] && body->row[i] && (!store || body->row_written[i]))
            row_memory(body, i, store);
}
static void preds_memory(Body *body, uint32_t preds, bool store) {
    for (unsigned i = 0; i < PRED_COUNT; i++) {
        if (!(preds >> i & 1) || !body->pred[i] || (store && !body->pred_written[i]))
            continue;
        LLVMValueRef at = body_at(body, body->warp, offsetof(Warp, p) + 4 * i);
        if (store)
            body_put(body, at, body_mask_of(body, body_get(body, condition_type(body), body->pred[i])));
        else
            body_put(body, body->pred[i], lanes_of(body, body_get(body, body->emit.types.word, at)));
    }
}
static void all_memory(Body *body, bool store) {
    bool rows[ROW_COUNT];
    memset(rows, true, sizeof rows);
    rows_memory(body, rows, store);
    preds_memory(body, ~0u, store);
}
static void operands_to_memory(Body *body, const RegionOperands *operands) {
    rows_memory(body, operands->rows, true);
    preds_memory(body, operands->preds, true);
}
static void operands_from_memory(Body *body, const RegionOperands *operands) {
    rows_memory(body, operands->written, false);
    preds_memory(body, operands->preds_written, false);
}

/* ---- operands ---- */
static bool is_row(const Dec *dec, unsigned i) { return dec->v[i].at < ROW_COUNT * ROW_BYTES; }
/* Word `word` of a literal, which all lanes have. */
static LLVMValueRef literal_word(Body *body, uint32_t pc, unsigned i, unsigned word) {
    const Dec *dec = region_known(body->run, pc);
    /* a constant of a bank is another one in the next launch */
    if (dec->v[i].at == (uintptr_t)body->run->zero_rows || !region_reads_bank(dec))
        return body_const32(body, *(const uint32_t *)(dec->v[i].at + (uintptr_t)word * ROW_BYTES));
    LLVMBasicBlockRef here = LLVM(body)->GetInsertBlock(BUILDER(body));
    continue_at(body, body->entry);
    LLVMTypeRef pointer = body->emit.types.pointer;
    LLVMValueRef ahead = body_get(body, pointer, body_at(body, body->host, offsetof(JitHost, ahead)));
    ahead = body_get(body, pointer, body_at(body, ahead, pc * sizeof(Dec *)));
    LLVMValueRef ref = body_at(body, ahead, offsetof(Dec, v) + i * sizeof(SrcRef));
    LLVMValueRef literal = body_get(body, pointer, ref);
    literal = body_get(body, body->emit.types.word, body_at(body, literal, (uint64_t)word * ROW_BYTES));
    continue_at(body, here);
    return literal;
}

/* Row `word` of a source: of the warp, or a literal. */
LLVMValueRef body_source(Body *body, uint32_t pc, unsigned i, unsigned word) {
    const Dec *dec = region_known(body->run, pc);
    if (is_row(dec, i))
        return body_get(body, body_row_type(body), body->row[dec->v[i].at / ROW_BYTES + word]);
    return body_splat(body, literal_word(body, pc, i, word));
}

/* A value of 64 bits, of each lane or, where it is a literal, of all: then words are joined once. */
static LLVMValueRef joined_words(Body *body, LLVMTypeRef type, LLVMValueRef low, LLVMValueRef high,
                                 LLVMValueRef by) {
    low = LLVM(body)->BuildCast(BUILDER(body), LLVMZExt, low, type, "");
    high = LLVM(body)->BuildCast(BUILDER(body), LLVMZExt, high, type, "");
    return body_binary(body, LLVMOr, low, body_binary(body, LLVMShl, high, by));
}
static LLVMValueRef source(Body *body, uint32_t pc, unsigned i, unsigned bits) {
    EmitTypes *types = &body->emit.types;
    if (bits == 32)
        return body_source(body, pc, i, 0);
    if (is_row(region_known(body->run, pc), i))
        return joined_words(body, types->lane[1][LT_I64], body_source(body, pc, i, 0),
                            body_source(body, pc, i, 1), emit_constant(&body->emit, LT_I64, true, 32));
    return body_splat(body, joined_words(body, types->quad, literal_word(body, pc, i, 0),
                                         literal_word(body, pc, i, 1), body_const64(body, 32)));
}

static LLVMValueRef predicate_lanes(Body *body, unsigned index, uint32_t x) {
    if (index == REG_PT || index == PRED_UP + REG_UPT)
        return emit_constant(&body->emit, LT_I1, true, !x);
    LLVMValueRef lanes = body_get(body, condition_type(body), body->pred[index]);
    return x ? LLVM(body)->BuildNot(BUILDER(body), lanes, "") : lanes;
}

static LLVMValueRef active_mask(Body *body) {
    return body->active ? body->active_word : body_const32(body, ~0u);
}
static LLVMValueRef population(Body *body, LLVMValueRef word) {
    EmitTypes *types = &body->emit.types;
    unsigned id = LLVM(body)->LookupIntrinsicID("llvm.ctpop", 10);
    LLVMValueRef fn = LLVM(body)->GetIntrinsicDeclaration(body->emit.module, id, &types->word, 1);
    LLVMTypeRef type = LLVM(body)->IntrinsicGetType(body->emit.context, id, &types->word, 1);
    word = LLVM(body)->BuildCall2(BUILDER(body), type, fn, &word, 1, "");
    return LLVM(body)->BuildCast(BUILDER(body), LLVMZExt, word, types->quad, "");
}

/* Lanes that execute; NULL: all 32. */
static LLVMValueRef guard_lanes(Body *body, const Dec *dec) {
    if (!dec_is_guarded(dec))
        return body->active;
    LLVMValueRef g = predicate_lanes(body, dec->guard, dec->gx);
    return body->active ? body_binary(body, LLVMAnd, g, body->active) : g;
}

/* Of all that come to an instruction, those for which its guard is false; g: its lanes as a mask. */
static void count_off(Body *body, const Dec *dec, LLVMValueRef g) {
    LLVMValueRef off = body_binary(body, LLVMXor, active_mask(body), g);
    LLVMValueRef sum = body_get(body, body->emit.types.quad, body->off[dec->cls]);
    body_put(body, body->off[dec->cls], body_binary(body, LLVMAdd, sum, population(body, off)));
}

static void write_row(Body *body, unsigned row, LLVMValueRef g, LLVMValueRef value, LLVMValueRef raw) {
    if (row >= ROW_SINK)
        return;
    if (g)
        value = LLVM(body)->BuildSelect(BUILDER(body), g, value,
                                        body_get(body, body_row_type(body), body->row[row]), "");
    body_put(body, body->row[row], value);
    body->raw[row] = g ? NULL : raw;
}
static void write_pred(Body *body, unsigned index, LLVMValueRef g, LLVMValueRef mask) {
    if (index >= PRED_SINK)
        return;
    if (g) {
        LLVMValueRef old = body_get(body, condition_type(body), body->pred[index]);
        old = body_binary(body, LLVMAnd, old, LLVM(body)->BuildNot(BUILDER(body), g, ""));
        mask = body_binary(body, LLVMOr, old, body_binary(body, LLVMAnd, mask, g));
    }
    body_put(body, body->pred[index], mask);
}

/* A uniform operation runs for lanes that are elsewhere too, and is a finding then: its handler's business.
 */
static RegionKind kind_under(const Run *run, uint32_t pc, bool masked) {
    RegionKind kind = region_kind(run, pc);
    return kind == RI_LANE && masked && region_known(run, pc)->inner_full ? RI_HANDLER : kind;
}
static RegionKind kind_of(const Body *body, uint32_t pc) { return kind_under(body->run, pc, body->masked); }

/* ---- instructions ---- */
static LLVMValueRef bool_operation(Body *body, uint32_t op, LLVMValueRef x, LLVMValueRef y) {
    EmitArgs args = {.value = {x, y}};
    args.bits[LANE_PARAM_K] = op;
    return emit_lane(&body->emit, LF_bool_op, false, &args, NULL);
}
static LLVMValueRef more_than(Body *body, LLVMValueRef value, uint32_t n) {
    LLVMValueRef bound = emit_constant(&body->emit, LT_I32, true, n);
    return LLVM(body)->BuildICmp(BUILDER(body), LLVMIntUGT, value, bound, "");
}

static void lane_instruction(Body *body, uint32_t pc, const LaneRow *row) {
    const Dec *dec = region_known(body->run, pc);
    EmitArgs args = {0};
    uint32_t k[LANE_PARAM_COUNT - LANE_PARAM_K];
    row->constants(dec, k);
    for (unsigned i = 0; i < LANE_PARAM_COUNT - LANE_PARAM_K; i++)
        args.bits[LANE_PARAM_K + i] = k[i];
    for (unsigned i = 0; i < 3; i++) {
        args.value[i] = source(body, pc, i, row->bits[i]);
        if (row->bits[i] == 32 && dec->v[i].at < ROW_COUNT * ROW_BYTES)
            args.raw[i] = body->raw[dec->v[i].at / ROW_BYTES];
    }
    uint32_t reads = lane_row_reads(row);
    LLVMValueRef q[2] = {NULL};
    for (unsigned i = 0; i < 2; i++) {
        bool is_read = reads >> (LANE_PARAM_P + i) & 1;
        if (is_read || (i == 0 && (row->kind == LANE_SETS || row->kind == LANE_WITH_LOGIC)))
            q[i] = predicate_lanes(body, dec->q[i].index, dec->q[i].x);
        if (is_read)
            args.value[LANE_PARAM_P + i] =
                LLVM(body)->BuildCast(BUILDER(body), LLVMZExt, q[i], body_row_type(body), "");
    }
    LLVMValueRef g = guard_lanes(body, dec), raw, second = NULL;
    if (dec_is_guarded(dec))
        count_off(body, dec, body_mask_of(body, g));
    LLVMValueRef value = emit_lane(&body->emit, row->fn, true, &args, &raw);
    if (row->kind == LANE_CARRIES)
        second = emit_lane(&body->emit, (LaneFn)(row->fn + 1), true, &args, NULL);
    if (row->kind == LANE_SETS) {
        LLVMValueRef holds = more_than(body, value, 0), not = LLVM(body)->BuildNot(BUILDER(body), holds, "");
        LLVMValueRef first = bool_operation(body, dec->lane.isetp.bop, holds, q[0]);
        not = bool_operation(body, dec->lane.isetp.bop, not, q[0]);
        write_pred(body, dec->pd[0], g, first);
        write_pred(body, dec->pd[1], g, not );
        return;
    }
    unsigned to = dec->dst[0] / ROW_BYTES;
    if (row->result_bits == 64) {
        LLVMValueRef by = emit_constant(&body->emit, LT_I64, true, 32);
        LLVMValueRef high = body_binary(body, LLVMLShr, value, by);
        high = LLVM(body)->BuildCast(BUILDER(body), LLVMTrunc, high, body_row_type(body), "");
        value = LLVM(body)->BuildCast(BUILDER(body), LLVMTrunc, value, body_row_type(body), "");
        write_row(body, to, g, value, NULL);
        write_row(body, to + 1, g, high, NULL);
        return;
    }
    write_row(body, to, g, value, raw);
    if (row->kind == LANE_WITH_LOGIC)
        write_pred(body, dec->pd[0], g, bool_operation(body, dec->imm[1], more_than(body, value, 0), q[0]));
    if (row->kind == LANE_CARRIES) {
        write_pred(body, dec->pd[0], g, more_than(body, second, 0));
        write_pred(body, dec->pd[1], g, more_than(body, second, 1));
    }
}

static LLVMValueRef call_host(Body *body, size_t member, LLVMValueRef pc, LLVMValueRef g) {
    EmitTypes *types = &body->emit.types;
    LLVMTypeRef params[3] = {types->pointer, types->word, types->word};
    LLVMTypeRef type = LLVM(body)->FunctionType(types->word, params, 3, 0);
    LLVMValueRef fn = body_get(body, types->pointer, body_at(body, body->host, member));
    LLVMValueRef args[3] = {body->warp, pc, g};
    return LLVM(body)->BuildCall2(BUILDER(body), type, fn, args, 3, "");
}

static void leave_by(Body *body, LLVMBasicBlockRef block, LLVMValueRef status, LLVMValueRef pc) {
    body_put(body, body->status, status);
    body_put(body, body->pc, pc);
    LLVM(body)->BuildBr(BUILDER(body), block);
}
static void leave_with(Body *body, LLVMValueRef status, LLVMValueRef pc) {
    leave_by(body, body->leave, status, pc);
}
/* Instructions pc + 1 to end - 1 have been counted, but are not executed. */
static void take_back(Body *body, uint32_t pc, uint32_t end) {
    int64_t n[CLS_COUNT] = {0};
    for (uint32_t i = pc; i < end; i++)
        n[region_known(body->run, i)->cls]++;
    for (unsigned c = 0; c < CLS_COUNT; c++)
        add_to(body, body->issues[c], -n[c]);
    add_to(body, body->quota, (int64_t)(end - pc));
}

/* Special registers that stay as they are as long as the warp lives. */
static bool sreg_is_built(const Dec *dec, SregPlace *place) {
    return machine_sreg_place(dec, place) && !dec_is_guarded(dec) && dec->dst[0] < ROW_SINK * ROW_BYTES;
}
/* A store of some lanes writes what is in memory for the others again: not where other threads write. */
static bool access_is_built(const Region *region, const Dec *dec) {
    bool some = region->kind == JIT_MASKED || dec_is_guarded(dec);
    return body_access_is_built(dec) && !(region->shared && some && !body_access_loads(dec));
}
bool emit_calls_handler(const Run *run, const Region *region, uint32_t pc) {
    const Dec *dec = region_known(run, pc);
    SregPlace place;
    return kind_under(run, pc, region->kind == JIT_MASKED) == RI_HANDLER && !access_is_built(region, dec) &&
           !sreg_is_built(dec, &place);
}
static void sreg_instruction(Body *body, uint32_t pc, const SregPlace *place) {
    EmitTypes *types = &body->emit.types;
    const Dec *dec = region_known(body->run, pc);
    LLVMValueRef value, g = dec->sreg.uniform ? NULL : body->active;
    if (place->of_block) {
        LLVMValueRef cta = body_get(body, types->pointer, body_at(body, body->warp, offsetof(Warp, cta)));
        value = body_splat(body, body_get(body, types->word, body_at(body, cta, place->at)));
    } else {
        value = body_get(body, body_row_type(body), body_at(body, body->warp, place->at));
        LLVM(body)->SetAlignment(value, sizeof(uint32_t));
    }
    write_row(body, dec->dst[0] / ROW_BYTES, g, value, NULL);
}

/* A data instruction by its handler; end: of the block. */
static void handler_instruction(Body *body, uint32_t pc, uint32_t end) {
    RegionOperands operands = region_operands(body->run, pc);
    const Dec *dec = region_known(body->run, pc);
    SregPlace place;
    if (sreg_is_built(dec, &place)) {
        sreg_instruction(body, pc, &place);
        return;
    }
    LLVMBasicBlockRef call = body_block(body, "call"), trapped = body_block(body, "trapped"),
                      done = body_block(body, "done");
    LLVMValueRef g = guard_lanes(body, dec);
    if (dec_is_guarded(dec))
        count_off(body, dec, body_mask_of(body, g));
    if (access_is_built(body->region, dec)) {
        LLVMBasicBlockRef slow = body_block(body, "slow");
        body_access_code(body, pc, g, slow, done);
        continue_at(body, slow);
    }
    operands_to_memory(body, &operands);
    LLVMValueRef word = g ? body_mask_of(body, g) : body_const32(body, ~0u);
    if (g) {
        LLVMValueRef some = LLVM(body)->BuildICmp(BUILDER(body), LLVMIntNE, word, body_const32(body, 0), "");
        LLVM(body)->BuildCondBr(BUILDER(body), some, call, done);
    } else {
        LLVM(body)->BuildBr(BUILDER(body), call);
    }
    continue_at(body, call);
    LLVMValueRef status = call_host(body, offsetof(JitHost, data), body_const32(body, pc), word);
    LLVMValueRef good =
        LLVM(body)->BuildICmp(BUILDER(body), LLVMIntEQ, status, body_const32(body, RUN_OK), "");
    LLVMBasicBlockRef reload = body_block(body, "reload");
    LLVM(body)->BuildCondBr(BUILDER(body), good, reload, trapped);
    continue_at(body, trapped);
    take_back(body, pc + 1, end);
    leave_with(body, status, body_const32(body, pc));
    continue_at(body, reload);
    operands_from_memory(body, &operands);
    LLVM(body)->BuildBr(BUILDER(body), done);
    continue_at(body, done);
}

/* Go on at pc: another block, or outside. */
static void go_to(Body *body, uint32_t pc) {
    uint32_t i = region_block_at(body->region, pc);
    if (i < body->region->nblocks)
        LLVM(body)->BuildBr(BUILDER(body), body->blocks[i]);
    else
        leave_with(body, body_const32(body, RUN_OK), body_const32(body, pc));
}

/* EXIT does nothing where its guard is true in no lane: on to the next one. */
static void skip_exit(Body *body, uint32_t pc) {
    const Dec *dec = region_known(body->run, pc);
    LLVMBasicBlockRef some = body_block(body, "some"), none = body_block(body, "none");
    LLVMValueRef g = body_mask_of(body, guard_lanes(body, dec));
    LLVMValueRef no = LLVM(body)->BuildICmp(BUILDER(body), LLVMIntEQ, g, body_const32(body, 0), "");
    LLVM(body)->BuildCondBr(BUILDER(body), no, none, some);
    continue_at(body, none);
    count_off(body, dec, body_const32(body, 0));
    go_to(body, pc + 1);
    continue_at(body, some);
}

/* Neither a guard nor another predicate can be false. */
static bool always_applies(const Dec *dec) {
    return !dec_is_guarded(dec) && (!dec->nq || (dec->q[0].index == REG_PT && !dec->q[0].x));
}

static LLVMValueRef call_control(Body *body, LLVMValueRef pc) {
    body_put(body, body_at(body, body->run_state, offsetof(Run, quota)),
             body_get(body, body->emit.types.quad, body->quota));
    return call_host(body, offsetof(JitHost, control), pc, body_const32(body, 0));
}
/* The warp has everything; it goes on where the handler says, with the lanes that it leaves it. */
static void leave_by_handler(Body *body, LLVMValueRef pc) {
    LLVMValueRef status = call_control(body, pc);
    leave_by(body, body->leave_ended, status, warp_field(body, body->emit.types.word, offsetof(Warp, pc)));
}

/* An instruction that may do anything: what it does to registers is for what comes next to load, in this
 * region or elsewhere. */
static void any_instruction(Body *body, uint32_t pc) {
    const Dec *dec = region_known(body->run, pc);
    bool exits = dec->optype == OT_EXIT;
    if (exits && dec_is_guarded(dec))
        skip_exit(body, pc);
    if (exits && !body->masked && always_applies(dec)) { /* nobody reads its registers again */
        leave_by_handler(body, body_const32(body, pc));
        return;
    }
    body_put(body, body->pc, body_const32(body, pc));
    LLVM(body)->BuildBr(BUILDER(body), body->leave_by_any);
}

/* An instruction of control by its handler. */
static void control_instruction(Body *body, uint32_t pc) {
    EmitTypes *types = &body->emit.types;
    RegionOperands operands = region_operands(body->run, pc);
    operands_to_memory(body, &operands);
    LLVMValueRef status = call_control(body, body_const32(body, pc));
    operands_from_memory(body, &operands);
    LLVMValueRef next = body_get(body, types->word, body_at(body, body->warp, offsetof(Warp, pc)));
    LLVMValueRef active = body_get(body, types->word, body_at(body, body->warp, offsetof(Warp, active)));
    LLVMValueRef same = body->active ? body->active_word : body_const32(body, ~0u);
    LLVMValueRef stays = body_binary(body, LLVMOr, status, body_binary(body, LLVMXor, active, same));
    stays = body_binary(body, LLVMOr, stays, body_binary(body, LLVMXor, next, body_const32(body, pc + 1)));
    stays = LLVM(body)->BuildICmp(BUILDER(body), LLVMIntEQ, stays, body_const32(body, 0), "");
    LLVMBasicBlockRef on = body_block(body, "on"), off = body_block(body, "off");
    LLVM(body)->BuildCondBr(BUILDER(body), stays, on, off);
    continue_at(body, off);
    leave_with(body, status, next);
    continue_at(body, on);
    go_to(body, pc + 1);
}

static void branch_instruction(Body *body, uint32_t pc) {
    const Dec *dec = region_known(body->run, pc);
    LLVMValueRef all = active_mask(body), g = guard_lanes(body, dec), guard = g;
    if (dec->nq) {
        LLVMValueRef too = predicate_lanes(body, dec->q[0].index, dec->q[0].x);
        g = g ? body_binary(body, LLVMAnd, g, too) : too;
    }
    g = g ? body_mask_of(body, g) : all;
    LLVMBasicBlockRef taken = body_block(body, "taken"), not_all = body_block(body, "not_all"),
                      behind = body_block(body, "behind"), mixed = body_block(body, "mixed");
    LLVMValueRef whole = LLVM(body)->BuildICmp(BUILDER(body), LLVMIntEQ, g, all, "");
    LLVM(body)->BuildCondBr(BUILDER(body), whole, taken, not_all);
    continue_at(body, not_all);
    LLVMValueRef none = LLVM(body)->BuildICmp(BUILDER(body), LLVMIntEQ, g, body_const32(body, 0), "");
    LLVM(body)->BuildCondBr(BUILDER(body), none, behind, mixed);
    continue_at(body, mixed); /* the interpreter's business, bad targets too */
    take_back(body, pc, pc + 1);
    leave_with(body, body_const32(body, RUN_OK), body_const32(body, pc));
    continue_at(body, taken);
    uint32_t target = region_target(body->run, pc);
    if (target < body->run->ncode) {
        go_to(body, target);
    } else {
        take_back(body, pc, pc + 1);
        leave_with(body, body_const32(body, RUN_OK), body_const32(body, pc));
    }
    continue_at(body, behind); /* none of them goes; those for which it is the second guard had a true one */
    if (dec_is_guarded(dec))
        count_off(body, dec, body_mask_of(body, guard));
    go_to(body, pc + 1);
}

/* ---- blocks ---- */
static LLVMValueRef is_unbound(Body *body, uint32_t pc) {
    LLVMTypeRef byte = body->emit.types.byte;
    size_t at = pc * sizeof(Dec) + offsetof(Dec, bound);
    LLVMValueRef bound = body_get(body, byte, body_at(body, body->prog, at));
    return LLVM(body)->BuildICmp(BUILDER(body), LLVMIntEQ, bound, LLVM(body)->ConstNull(byte), "");
}
static void block_code(Body *body, const RegionBlock *block, LLVMBasicBlockRef at) {
    uint32_t end = block->pc + block->n;
    RegionKind kind = RI_LANE;
    LLVMBasicBlockRef enough = body_block(body, "enough"), little = body_block(body, "little");
    for (unsigned i = 0; i < ROW_COUNT; i++)
        body->raw[i] = NULL;
    continue_at(body, at);
    LLVMValueRef left = body_get(body, body->emit.types.quad, body->quota);
    LLVMValueRef less =
        LLVM(body)->BuildICmp(BUILDER(body), LLVMIntULT, left, body_const64(body, block->n), "");
    LLVM(body)->BuildCondBr(BUILDER(body), body_binary(body, LLVMOr, less, is_unbound(body, block->pc)),
                            little, enough);
    continue_at(body, little);
    leave_with(body, body_const32(body, RUN_OK), body_const32(body, block->pc));
    continue_at(body, enough);
    int64_t n[CLS_COUNT] = {0};
    for (uint32_t pc = block->pc; pc < end; pc++)
        n[region_known(body->run, pc)->cls]++;
    for (unsigned c = 0; c < CLS_COUNT; c++)
        add_to(body, body->issues[c], n[c]);
    add_to(body, body->quota, -(int64_t)block->n);
    for (uint32_t pc = block->pc; pc < end; pc++) {
        const Dec *dec = region_known(body->run, pc);
        kind = kind_of(body, pc);
        switch (kind) {
        case RI_LANE:
            lane_instruction(body, pc,
                             lane_row_of(body->run->level, dec->inner_full ? dec->inner_full : dec->full));
            break;
        case RI_HANDLER: handler_instruction(body, pc, end); break;
        case RI_BRANCH: branch_instruction(body, pc); break;
        case RI_CONTROL: control_instruction(body, pc); break;
        case RI_ANY: any_instruction(body, pc); break;
        }
    }
    if (kind < RI_BRANCH)
        go_to(body, end);
}

/* ---- what the region uses ---- */
static void use_rows(bool used[ROW_COUNT], uintptr_t at, unsigned n) {
    for (unsigned i = 0; at < ROW_COUNT * ROW_BYTES && i < n; i++)
        used[at / ROW_BYTES + i] = true;
}
static void use_instruction(Body *body, uint32_t pc, bool rows[ROW_COUNT], bool preds[PRED_COUNT]) {
    const Dec *dec = region_known(body->run, pc);
    RegionKind kind = kind_of(body, pc);
    unsigned to = dec->dst[0] / ROW_BYTES;
    SregPlace place;
    preds[dec->guard] = true;
    for (unsigned i = 0; i < 3; i++)
        preds[dec->q[i].index] = true;
    if (kind == RI_HANDLER && access_is_built(body->region, dec)) {
        use_rows(rows, dec->v[0].at, dec->wide ? 2 : 1);
        use_rows(rows, dec->v[1].at, dec->mem.uniform);
        if (!body_access_loads(dec))
            use_rows(rows, dec->v[2].at, body_access_rows(dec));
        for (unsigned i = 0; body_access_loads(dec) && i < body_access_rows(dec); i++)
            rows[to + i] = body->row_written[to + i] = true;
    }
    if (kind == RI_HANDLER && sreg_is_built(dec, &place))
        rows[to] = body->row_written[to] = true;
    if (kind != RI_LANE)
        return;
    const LaneRow *row = lane_row_of(body->run->level, dec->inner_full ? dec->inner_full : dec->full);
    for (unsigned i = 0; i < 3; i++)
        use_rows(rows, dec->v[i].at, row->bits[i] / 32);
    preds[dec->pd[0]] = preds[dec->pd[1]] = true;
    body->pred_written[dec->pd[0]] = body->pred_written[dec->pd[1]] = true;
    for (unsigned i = 0; row->kind != LANE_SETS && to < ROW_SINK && i < row->result_bits / 32u; i++)
        rows[to + i] = body->row_written[to + i] = true;
}
static void make_variables(Body *body) {
    bool rows[ROW_COUNT] = {0}, preds[PRED_COUNT] = {0};
    EmitTypes *types = &body->emit.types;
    for (uint32_t b = 0; b < body->region->nblocks; b++)
        for (uint32_t i = 0; i < body->region->blocks[b].n; i++)
            use_instruction(body, body->region->blocks[b].pc + i, rows, preds);
    preds[REG_PT] = preds[PRED_UP + REG_UPT] = preds[PRED_SINK] = false;
    for (unsigned i = 0; i < ROW_COUNT; i++)
        if (rows[i])
            body->row[i] = LLVM(body)->BuildAlloca(BUILDER(body), body_row_type(body), "");
    for (unsigned i = 0; i < PRED_COUNT; i++)
        if (preds[i])
            body->pred[i] = LLVM(body)->BuildAlloca(BUILDER(body), condition_type(body), "");
    body->quota = LLVM(body)->BuildAlloca(BUILDER(body), types->quad, "quota");
    body->status = LLVM(body)->BuildAlloca(BUILDER(body), types->word, "status");
    body->pc = LLVM(body)->BuildAlloca(BUILDER(body), types->word, "pc");
    for (unsigned c = 0; c < CLS_COUNT; c++) {
        body->issues[c] = LLVM(body)->BuildAlloca(BUILDER(body), types->quad, "issues");
        body->off[c] = LLVM(body)->BuildAlloca(BUILDER(body), types->quad, "off");
        body_put(body, body->issues[c], body_const64(body, 0));
        body_put(body, body->off[c], body_const64(body, 0));
    }
}

/* Up to the switch, which follows when all blocks are there: literals are loaded here too. */
static void entry_code(Body *body) {
    EmitTypes *types = &body->emit.types;
    continue_at(body, body->entry);
    make_variables(body);
    body->rows_base = warp_field(body, types->pointer, offsetof(Warp, rows));
    body->run_state = warp_field(body, types->pointer, offsetof(Warp, run));
    body->prog = warp_field(body, types->pointer, offsetof(Warp, prog));
    if (body->masked) {
        body->active_word = warp_field(body, types->word, offsetof(Warp, active));
        body->active = lanes_of(body, body->active_word);
    }
    body_put(body, body->quota,
             body_get(body, types->quad, body_at(body, body->run_state, offsetof(Run, quota))));
    all_memory(body, false);
}
static void entry_switch(Body *body) {
    LLVMBasicBlockRef elsewhere = body_block(body, "elsewhere");
    continue_at(body, body->entry);
    LLVMValueRef pc = warp_field(body, body->emit.types.word, offsetof(Warp, pc));
    LLVMValueRef to = LLVM(body)->BuildSwitch(BUILDER(body), pc, elsewhere, body->region->nblocks);
    for (uint32_t i = 0; i < body->region->nblocks; i++)
        if (body->region->blocks[i].entry)
            LLVM(body)->AddCase(to, body_const32(body, body->region->blocks[i].pc), body->blocks[i]);
    continue_at(body, elsewhere);
    leave_with(body, body_const32(body, RUN_OK), pc);
}

static void leave_code(Body *body) {
    EmitTypes *types = &body->emit.types;
    LLVMValueRef lanes = body_const64(body, 32);
    continue_at(body, body->leave_by_any);
    all_memory(body, true);
    leave_by_handler(body, body_get(body, types->word, body->pc));
    continue_at(body, body->leave);
    all_memory(body, true);
    LLVM(body)->BuildBr(BUILDER(body), body->leave_ended);
    continue_at(body, body->leave_ended);
    if (body->active)
        lanes = population(body, body->active_word);
    for (unsigned c = 0; c < CLS_COUNT; c++) {
        LLVMValueRef n = body_get(body, types->quad, body->issues[c]),
                     sums[3] = {n, body_binary(body, LLVMMul, n, lanes),
                                body_get(body, types->quad, body->off[c])};
        for (unsigned i = 0; i < 3; i++) {
            LLVMValueRef at = body_at(body, body->run_state, offsetof(Run, cls) + c * 32 + i * 8);
            body_put(body, at, body_binary(body, LLVMAdd, body_get(body, types->quad, at), sums[i]));
        }
    }
    body_put(body, body_at(body, body->run_state, offsetof(Run, quota)),
             body_get(body, types->quad, body->quota));
    body_put(body, body_at(body, body->warp, offsetof(Warp, pc)), body_get(body, types->word, body->pc));
    LLVM(body)->BuildRet(BUILDER(body), body_get(body, types->word, body->status));
}
_Static_assert(sizeof(((Run *)0)->cls[0]) == 32 && offsetof(Run, cls) % 8 == 0, "words of 64 bits");

static EmitTypes make_types(const JitApi *api, LLVMContextRef context) {
    LLVMTypeRef lane[LT_F64 + 1] = {api->IntTypeInContext(context, 1), api->IntTypeInContext(context, 32),
                                    api->IntTypeInContext(context, 64), api->FloatTypeInContext(context),
                                    api->DoubleTypeInContext(context)};
    EmitTypes types = {.byte = api->IntTypeInContext(context, 8),
                       .word = lane[LT_I32],
                       .quad = lane[LT_I64],
                       .pointer = api->PointerTypeInContext(context, 0)};
    for (unsigned i = 0; i <= LT_F64; i++) {
        types.lane[0][i] = lane[i];
        types.lane[1][i] = api->VectorType(lane[i], 32);
    }
    return types;
}

static void set_attribute(Body *body, const char *name, const char *value) {
    LLVMAttributeRef attribute = LLVM(body)->CreateStringAttribute(
        body->emit.context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVM(body)->AddAttributeAtIndex(body->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                    attribute);
}

void emit_region(const JitApi *api, LLVMContextRef context, const EmitRegion *what, const char *name) {
    Body body = {.emit = {.api = api,
                          .context = context,
                          .module = what->module,
                          .builder = api->CreateBuilderInContext(context),
                          .types = make_types(api, context)},
                 .run = what->run,
                 .region = what->region,
                 .masked = what->kind == JIT_MASKED};
    LLVMTypeRef params[2] = {body.emit.types.pointer, body.emit.types.pointer};
    body.function =
        api->AddFunction(what->module, name, api->FunctionType(body.emit.types.word, params, 2, 0));
    bool wide = strstr(what->features, "+avx512f") != NULL;
    set_attribute(&body, "target-cpu", what->cpu);
    set_attribute(&body, "target-features", what->features);
    set_attribute(&body, "prefer-vector-width", wide ? "512" : "256");
    set_attribute(&body, "min-legal-vector-width", wide ? "512" : "256");
    body.warp = api->GetParam(body.function, 0);
    body.host = api->GetParam(body.function, 1);
    body.entry = body_block(&body, "entry");
    body.leave = body_block(&body, "leave");
    body.leave_by_any = body_block(&body, "leave_by_any");
    body.leave_ended = body_block(&body, "leave_ended");
    for (uint32_t i = 0; i < what->region->nblocks; i++)
        body.blocks[i] = body_block(&body, "block");
    entry_code(&body);
    for (uint32_t i = 0; i < what->region->nblocks; i++)
        block_code(&body, &what->region->blocks[i], body.blocks[i]);
    entry_switch(&body);
    leave_code(&body);
    api->DisposeBuilder(body.emit.builder);
}
