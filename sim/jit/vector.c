/* Lane functions as LLVM code: each instruction of the table becomes the same one of vectors of 32 lanes, or
 * of single values.
 *
 * NaNs: a float operation's result is the canonical NaN where it is one, which costs three instructions on
 * the way from one operation to the next. An operation that takes a float gives a NaN for any NaN, and that
 * becomes the canonical one again, so it may take the operand as it was before (raw); what sees bits takes
 * the canonical form. SPDX-License-Identifier: MIT */
#include "sim/jit/emit.h"
#include <string.h>

LLVMValueRef emit_constant(Emit *emit, LaneType type, bool vector, uint64_t bits) {
    const JitApi *api = emit->api;
    LaneType as = type == LT_F32 ? LT_I32 : type == LT_F64 ? LT_I64 : type;
    LLVMValueRef one = api->ConstInt(emit->types.lane[0][as], bits, 0), all[32];
    if (as != type)
        one = api->ConstBitCast(one, emit->types.lane[0][type]);
    for (unsigned i = 0; i < 32; i++)
        all[i] = one;
    return vector ? api->ConstVector(all, 32) : one;
}

typedef struct {
    Emit *emit;
    bool vector;
    const EmitArgs *args;
    const LaneFunction *function;
    LLVMValueRef values[LANE_PARAM_COUNT + LANE_MAX_INSTS];
} Visit;

static LLVMValueRef visit_value(Visit *visit, unsigned arg) {
    if (arg >= LANE_CONSTANT) {
        const LaneConstant *constant = &lane_constants[arg - LANE_CONSTANT];
        return emit_constant(visit->emit, constant->type, visit->vector, constant->bits);
    }
    if (!visit->values[arg]) { /* a parameter that is first used here */
        LaneType type = arg < 3 && visit->function->wide >> arg & 1 ? LT_I64 : LT_I32;
        visit->values[arg] = visit->args->value[arg];
        if (!visit->values[arg])
            visit->values[arg] = emit_constant(visit->emit, type, visit->vector, visit->args->bits[arg]);
    }
    return visit->values[arg];
}

static LLVMValueRef call_intrinsic(Visit *visit, const char *name, LLVMValueRef *args, unsigned n) {
    Emit *emit = visit->emit;
    LLVMTypeRef type = emit->api->TypeOf(args[0]);
    unsigned id = emit->api->LookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = emit->api->GetIntrinsicDeclaration(emit->module, id, &type, 1);
    return emit->api->BuildCall2(emit->builder, emit->api->IntrinsicGetType(emit->context, id, &type, 1), fn,
                                 args, n, "");
}

static const struct {
    int opcode;
    const char *intrinsic;
    unsigned args;
} visit_ops[LO_COUNT] = {
#define LANE_OP(name, opcode, intrinsic, args) [LO_##name] = {opcode, intrinsic, args},
#include "sim/jit/lane_ops.def"
#undef LANE_OP
};

static bool is_cast(LaneOp op) {
    return op == LO_ZEXT || op == LO_SEXT || op == LO_TRUNC || op == LO_BITCAST ||
           (op >= LO_FPEXT && op <= LO_FPTOSI);
}

/* A parameter's bits taken as a float: as it was. */
static LLVMValueRef raw_source(const Visit *visit, const LaneInst *inst) {
    bool floats = inst->op == LO_BITCAST && inst->type == LT_F32 && inst->arg[0] < 3;
    return floats ? visit->args->raw[inst->arg[0]] : NULL;
}

static LLVMValueRef visit_inst(Visit *visit, const LaneInst *inst) {
    Emit *emit = visit->emit;
    const JitApi *api = emit->api;
    LLVMBuilderRef builder = emit->builder;
    LLVMTypeRef type = emit->types.lane[visit->vector][inst->type];
    LLVMValueRef x[4] = {0}, raw = raw_source(visit, inst);
    if (raw)
        return raw;
    unsigned n = visit_ops[inst->op].args;
    for (unsigned i = 0; i < n; i++)
        x[i] = visit_value(visit, inst->arg[i]);
    if (visit_ops[inst->op].intrinsic[0]) {
        if (inst->op == LO_ABS) /* of the least number: itself */
            x[n++] = api->ConstInt(emit->types.lane[0][LT_I1], 0, 0);
        return call_intrinsic(visit, visit_ops[inst->op].intrinsic, x, n);
    }
    LLVMOpcode opcode = (LLVMOpcode)visit_ops[inst->op].opcode;
    if (is_cast((LaneOp)inst->op))
        return api->BuildCast(builder, opcode, x[0], type, "");
    switch ((LaneOp)inst->op) {
    case LO_ICMP: return api->BuildICmp(builder, (LLVMIntPredicate)inst->pred, x[0], x[1], "");
    case LO_FCMP: return api->BuildFCmp(builder, (LLVMRealPredicate)inst->pred, x[0], x[1], "");
    case LO_SELECT: return api->BuildSelect(builder, x[0], x[1], x[2], "");
    default: return api->BuildBinOp(builder, opcode, x[0], x[1], "");
    }
}

/* The float x of a result select(x is no number, canonical NaN, bits of x). */
static LLVMValueRef raw_result(const Visit *visit) {
    const LaneFunction *f = visit->function;
    unsigned own = LANE_PARAM_COUNT;
    if (f->result < own || f->result >= LANE_CONSTANT)
        return NULL;
    const LaneInst *select = &lane_insts[f->first + f->result - own];
    if (select->op != LO_SELECT || select->type != LT_I32 || select->arg[0] >= LANE_CONSTANT ||
        select->arg[2] >= LANE_CONSTANT || select->arg[0] < own || select->arg[2] < own)
        return NULL;
    const LaneInst *test = &lane_insts[f->first + select->arg[0] - own],
                   *bits = &lane_insts[f->first + select->arg[2] - own];
    bool canonical = test->op == LO_FCMP && test->pred == LLVMRealUNO && bits->op == LO_BITCAST &&
                     bits->arg[0] == test->arg[0] && test->arg[0] < LANE_CONSTANT &&
                     test->arg[1] >= LANE_CONSTANT;
    return canonical && bits->type == LT_I32 ? visit->values[test->arg[0]] : NULL;
}

LLVMValueRef emit_lane(Emit *emit, LaneFn fn, bool vector, const EmitArgs *args, LLVMValueRef *raw) {
    Visit visit = {.emit = emit, .vector = vector, .args = args, .function = &lane_functions[fn]};
    for (unsigned i = 0; i < visit.function->count; i++)
        visit.values[LANE_PARAM_COUNT + i] = visit_inst(&visit, &lane_insts[visit.function->first + i]);
    if (raw)
        *raw = raw_result(&visit);
    return visit_value(&visit, visit.function->result);
}
