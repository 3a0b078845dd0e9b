/* Contents of buffers, and scalars, that lead a branch the way that no launch takes: the guard of one
 * execution is followed back to what was loaded (auto_trace.h), through arithmetic that can be undone, and
 * that is changed. So offsets, keys and marks of trees, tables and queues are found one after the other,
 * which no random number is. Operations are known by name: what undoes each is no column.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_trace.h"
#include "base/rng.h"
#include <math.h>
#include <string.h>

enum {
    MOST_STEPS_BACK = 40, /* of one way from the guard */
    MOST_TRIED = 1 << 12  /* of all ways together: of a mixed word (a hash) there are exponentially many */
};

typedef struct {
    const AutoSearch *search;
    const AutoTrace *trace;
    AutoAttempt *attempt;
    const uint64_t *address; /* of each slot's buffer; 0 none */
    uint64_t *random;
    bool keeps; /* what earlier steps have put there */
    unsigned depth, tried;
} Steer;

static bool want(Steer *steer, uint32_t node, uint64_t value);

static unsigned type_bits(PtxType type) {
    unsigned bytes = ptx_type_bytes(type);
    return ptx_type_class(type) == TC_PRED ? 1 : bytes && bytes < 8 ? 8 * bytes : 64;
}
static uint64_t type_mask(PtxType type) { return UINT64_MAX >> (64 - type_bits(type)); }
static bool is_plain_float(PtxType type) { return type == TY_F32 || type == TY_F64; }
static bool has_sign(PtxType type) { return ptx_type_class(type) == TC_SIGNED; }

static double as_number(PtxType type, uint64_t bits) {
    uint32_t word = (uint32_t)bits;
    float single;
    double number;
    memcpy(&single, &word, sizeof single);
    memcpy(&number, &bits, sizeof number);
    return type == TY_F32 ? (double)single : number;
}

static uint64_t number_bits(PtxType type, double number) {
    float single = (float)number;
    uint32_t word;
    uint64_t bits;
    memcpy(&word, &single, sizeof word);
    memcpy(&bits, &number, sizeof bits);
    return type == TY_F32 ? word : bits;
}

static int64_t sign_extended(PtxType type, uint64_t value) {
    unsigned unused = 64 - type_bits(type);
    return has_sign(type) ? (int64_t)(value << unused) >> unused : (int64_t)(value & type_mask(type));
}

static const AutoNode *steer_source(const Steer *steer, const AutoNode *node, unsigned i) {
    return &steer->trace->nodes[node->source[i]];
}

/* ---- what is changed ---- */

/* The slot, + 1, whose buffer has the byte at that address, or ends there; 0: it is a number. */
static uint32_t points_into(const Steer *steer, uint64_t value, uint64_t *offset) {
    for (uint32_t i = 0; i < steer->search->flow.nslots; i++) {
        *offset = value - steer->address[i];
        if (steer->address[i] && *offset <= steer->attempt->bytes[i])
            return i + 1;
    }
    *offset = value;
    return 0;
}

static bool put_in_memory(Steer *steer, const AutoNode *node, uint64_t value) {
    unsigned bytes = ptx_type_bytes((PtxType)node->insn->type[0]);
    AutoAttempt *attempt = steer->attempt;
    for (uint32_t i = 0; i < steer->search->flow.nslots; i++) {
        uint64_t from = steer->address[i], offset = node->address - from;
        if (!from || node->address < from || offset + bytes > attempt->bytes[i])
            continue;
        unsigned k = 0;
        while (k < attempt->nputs && (attempt->puts[k].slot != i || attempt->puts[k].offset_bytes != offset))
            k++;
        AutoPut put = {i, bytes, offset, value & type_mask((PtxType)node->insn->type[0]), 0};
        if (bytes == 8)
            put.into = points_into(steer, put.value, &put.value);
        const AutoPut *before = k < attempt->nputs ? &attempt->puts[k] : NULL;
        if (k == AUTO_MAX_PUTS ||
            (steer->keeps && before && (before->value != put.value || before->into != put.into)))
            return false;
        attempt->puts[k] = put;
        attempt->nputs += k == attempt->nputs;
        return true;
    }
    return false;
}

/* The pointer is to be 0, or another parameter's: it gets that one's buffer. */
static bool put_pointer(Steer *steer, uint32_t slot, uint64_t value) {
    const AutoSearch *search = steer->search;
    AutoAttempt *attempt = steer->attempt;
    uint32_t to = 0;
    while (to < search->flow.nslots && (to == slot || search->flow.slots[to].parent || !steer->address[to] ||
                                        steer->address[to] + attempt->margin[to] != value))
        to++;
    if (value && (to == search->flow.nslots || attempt->same[to]))
        return false;
    attempt->same[slot] = value ? (uint8_t)(to + 1) : 0;
    attempt->null = value ? attempt->null & ~auto_set_of(slot) : attempt->null | auto_set_of(slot);
    return true;
}

static bool put_in_parameter(Steer *steer, const AutoNode *node, uint64_t value) {
    const AutoSearch *search = steer->search;
    const PtxOperand *place = &node->insn->operands[node->insn->ndst];
    if (place->kind != PO_ADDR || place->reg || !place->sym || node->insn->vec > 1)
        return false;
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        const AutoSlot *slot = &search->flow.slots[i];
        if (slot->parent || slot->variable || search->f->params[slot->param] != place->sym - 1 ||
            slot->offset_bytes != (uint64_t)place->imm || slot->shared_piece ||
            slot->uses & (AU_BRANCH | AU_CALL | AU_BYTES))
            continue;
        if (auto_is_pointer(slot))
            return put_pointer(steer, i, value);
        if (slot->uses & AU_FLOAT)
            steer->attempt->number[i] = as_number(slot->float_type, value);
        else if (slot->size_bytes == 8)
            steer->attempt->into[i] = (uint8_t)points_into(steer, value, &steer->attempt->value[i]);
        else
            steer->attempt->value[i] = value;
        return true;
    }
    return false;
}

/* ---- what undoes a statement ---- */

static bool want_either(Steer *steer, const AutoNode *node, uint64_t first, uint64_t second) {
    unsigned swapped = rng_next(steer->random) % 2;
    uint64_t wanted[2] = {first, second};
    return want(steer, node->source[swapped], wanted[swapped]) ||
           want(steer, node->source[!swapped], wanted[!swapped]);
}

static bool undo_sum(Steer *steer, const AutoNode *node, uint64_t value) {
    PtxType type = (PtxType)node->insn->type[0];
    uint64_t a = steer_source(steer, node, 0)->value, b = steer_source(steer, node, 1)->value;
    bool minus = node->insn->op == PTX_SUB;
    if (!is_plain_float(type))
        return want_either(steer, node, minus ? value + b : value - b, minus ? a - value : value - a);
    double v = as_number(type, value), x = as_number(type, a), y = as_number(type, b);
    return want_either(steer, node, number_bits(type, minus ? v + y : v - y),
                       number_bits(type, minus ? x - v : v - x));
}

static bool undo_product(Steer *steer, const AutoNode *node, uint64_t value, uint64_t more) {
    PtxType type = (PtxType)node->insn->type[0];
    uint64_t a = steer_source(steer, node, 0)->value, b = steer_source(steer, node, 1)->value,
             rest = value - more;
    if (is_plain_float(type)) {
        double v = as_number(type, value) - as_number(type, more);
        return want_either(steer, node, number_bits(type, v / as_number(type, b)),
                           number_bits(type, v / as_number(type, a)));
    }
    return (b && rest % b == 0 && want(steer, node->source[0], rest / b)) ||
           (a && rest % a == 0 && want(steer, node->source[1], rest / a));
}

/* All bits of a result that must be 1, or 0, come from one operand. */
static bool undo_logic(Steer *steer, const AutoNode *node, uint64_t value) {
    uint64_t mask = type_mask((PtxType)node->insn->type[0]);
    uint64_t from[2] = {steer_source(steer, node, 0)->value & mask,
                        steer_source(steer, node, 1)->value & mask};
    unsigned first = rng_next(steer->random) % 2;
    if (node->insn->op == PTX_XOR)
        return want_either(steer, node, value ^ from[1], value ^ from[0]);
    for (unsigned k = 0; k < 2; k++) {
        unsigned i = k ^ first;
        uint64_t other = from[!i];
        bool can = node->insn->op == PTX_AND ? !(value & ~other) : (value & other) == other;
        uint64_t keep = node->insn->op == PTX_AND ? ~other : other;
        if (can && want(steer, node->source[i], (value & ~keep) | (from[i] & keep)))
            return true;
    }
    return false;
}

static bool undo_predicates(Steer *steer, const AutoNode *node, bool value) {
    bool a = steer_source(steer, node, 0)->value & 1, b = steer_source(steer, node, 1)->value & 1;
    if (node->insn->op == PTX_XOR)
        return want_either(steer, node, value ^ b, value ^ a);
    if (value == (node->insn->op == PTX_AND)) /* both */
        return (a == value || want(steer, node->source[0], value)) &&
               (b == value || want(steer, node->source[1], value));
    return want_either(steer, node, value, value);
}

static bool undo_shift(Steer *steer, const AutoNode *node, uint64_t value) {
    PtxType type = (PtxType)node->insn->type[0];
    uint64_t by = steer_source(steer, node, 1)->value, a = steer_source(steer, node, 0)->value;
    if (by >= type_bits(type))
        return false;
    if (node->insn->op == PTX_SHR)
        return want(steer, node->source[0], (value << by) | (a & ((1ull << by) - 1)));
    return (value >> by << by) == value && want(steer, node->source[0], value >> by);
}

static bool undo_conversion(Steer *steer, const AutoNode *node, uint64_t value) {
    PtxType to = (PtxType)node->insn->type[0], from = (PtxType)node->insn->type[1];
    if (ptx_type_class(to) == TC_FLOAT || ptx_type_class(from) == TC_FLOAT) {
        if ((ptx_type_class(to) == TC_FLOAT && !is_plain_float(to)) ||
            (ptx_type_class(from) == TC_FLOAT && !is_plain_float(from)))
            return false;
        double number = is_plain_float(to) ? as_number(to, value)
                        : has_sign(to)     ? (double)sign_extended(to, value)
                                           : (double)value;
        if (is_plain_float(from))
            return want(steer, node->source[0], number_bits(from, number));
        return fabs(number) < 0x1p62 && want(steer, node->source[0], (uint64_t)(int64_t)number);
    }
    return want(steer, node->source[0], value & type_mask(from));
}

/* Of a value that is taken apart the other parts stay; one that is put together has all its parts. */
static bool undo_move(Steer *steer, const AutoNode *node, uint64_t value) {
    const PtxOperand *from = &node->insn->operands[node->insn->ndst];
    unsigned n = from->kind == PO_VEC ? from->nvec : node->parts,
             bits = type_bits((PtxType)node->insn->type[0]) / (n ? n : 1);
    if (n <= 1)
        return want(steer, node->source[0], value);
    uint64_t mask = UINT64_MAX >> (64 - bits), whole = steer_source(steer, node, 0)->value;
    if (from->kind != PO_VEC)
        return want(steer, node->source[0],
                    (whole & ~(mask << node->part * bits)) | (value & mask) << node->part * bits);
    bool good = n <= AUTO_SOURCES;
    for (unsigned i = 0; good && i < n; i++) {
        uint64_t part = value >> i * bits & mask;
        good = (steer_source(steer, node, i)->value & mask) == part || want(steer, node->source[i], part);
    }
    return good;
}

static bool undo_field(Steer *steer, const AutoNode *node, uint64_t value) {
    uint64_t at = steer_source(steer, node, 1)->value & 255, n = steer_source(steer, node, 2)->value & 255,
             a = steer_source(steer, node, 0)->value;
    if (at + n > type_bits((PtxType)node->insn->type[0]) || !n)
        return false;
    uint64_t mask = UINT64_MAX >> (64 - n);
    return want(steer, node->source[0], (a & ~(mask << at)) | (value & mask) << at);
}

/* ---- comparisons ---- */

/* Any other value: what flips the low bit that an operation leaves, or next to it. */
static bool want_other(Steer *steer, uint32_t source, uint64_t value) {
    const AutoNode *node = &steer->trace->nodes[source];
    uint64_t step = 1;
    if (node->insn && node->insn->op == PTX_SHL)
        step <<= steer_source(steer, node, 1)->value & 63;
    if (node->insn && node->insn->op == PTX_AND)
        for (unsigned i = 0; i < 2; i++) { /* a single bit that is asked for */
            uint64_t mask = steer_source(steer, node, i)->value;
            if (mask && mask != value && want(steer, source, mask))
                return true;
        }
    return want(steer, source, value + step) || want(steer, source, value - step);
}

typedef enum { SAME, OTHER, BELOW, ABOVE, NO_NUMBER, SOME_NUMBER } Relation;

static Relation relation_of(PtxCmp cmp, bool holds, bool *or_same) {
    *or_same = false;
    switch (cmp) {
    case CMP_EQ:
    case CMP_EQU: return holds ? SAME : OTHER;
    case CMP_NE:
    case CMP_NEU: return holds ? OTHER : SAME;
    case CMP_LT:
    case CMP_LO:
    case CMP_LTU: *or_same = !holds; return holds ? BELOW : ABOVE;
    case CMP_LE:
    case CMP_LS:
    case CMP_LEU: *or_same = holds; return holds ? BELOW : ABOVE;
    case CMP_GT:
    case CMP_HI:
    case CMP_GTU: *or_same = !holds; return holds ? ABOVE : BELOW;
    case CMP_GE:
    case CMP_HS:
    case CMP_GEU: *or_same = holds; return holds ? ABOVE : BELOW;
    case CMP_NAN: return holds ? NO_NUMBER : SOME_NUMBER;
    case CMP_NUM: return holds ? SOME_NUMBER : NO_NUMBER;
    default: return OTHER;
    }
}

/* The operand is to be in this relation to the other one, of this value. */
static bool want_related(Steer *steer, uint32_t source, PtxType type, Relation relation, bool or_same,
                         uint64_t other) {
    if (is_plain_float(type)) {
        double x = as_number(type, other), far = fabs(x) + 1;
        double number = relation == BELOW   ? x - far
                        : relation == ABOVE ? x + far
                        : relation == OTHER ? x + 1
                        : relation == SAME  ? x
                                            : 0;
        if ((relation == BELOW || relation == ABOVE) && rng_next(steer->random) % 2) { /* next to it */
            double end = relation == BELOW ? -(double)INFINITY : (double)INFINITY;
            number = type == TY_F32 ? (double)nextafterf((float)x, (float)end) : nextafter(x, end);
        }
        if (relation == NO_NUMBER || (isinf(x) && !or_same))
            number = (double)NAN;
        else if (isinf(x))
            number = x;
        return want(steer, source, number_bits(type, number));
    }
    if (relation == OTHER)
        return want_other(steer, source, other);
    bool same = relation == SAME || (or_same && rng_next(steer->random) % 2);
    uint64_t least = has_sign(type) ? 1ull << (type_bits(type) - 1) : 0, most = (least - 1) & type_mask(type);
    if (same || (other & type_mask(type)) == (relation == BELOW ? least : most))
        return (same || or_same) && want(steer, source, other);
    return want(steer, source, relation == BELOW ? other - 1 : other + 1);
}

static bool undo_compared(Steer *steer, const AutoNode *node, bool holds) {
    static const Relation turned[] = {SAME, OTHER, ABOVE, BELOW, NO_NUMBER, SOME_NUMBER};
    bool or_same;
    PtxType type = (PtxType)node->insn->type[node->insn->op == PTX_SET && node->insn->ntypes > 1];
    Relation relation = relation_of((PtxCmp)node->insn->cmp, holds, &or_same);
    unsigned second = rng_next(steer->random) % 2;
    for (unsigned k = 0; k < 2; k++) {
        unsigned i = k ^ second;
        if (want_related(steer, node->source[i], type, i ? turned[relation] : relation, or_same,
                         steer_source(steer, node, !i)->value))
            return true;
    }
    return false;
}

static bool undo_comparison(Steer *steer, const AutoNode *node, bool value) {
    bool with = steer_source(steer, node, 2)->value & 1;
    switch (node->insn->bop) {
    case BOP_AND:
        return value ? (with || want(steer, node->source[2], 1)) && undo_compared(steer, node, true)
                     : undo_compared(steer, node, false) || want(steer, node->source[2], 0);
    case BOP_OR:
        return value ? undo_compared(steer, node, true) || want(steer, node->source[2], 1)
                     : (!with || want(steer, node->source[2], 0)) && undo_compared(steer, node, false);
    case BOP_XOR: return undo_compared(steer, node, value != with);
    default: return undo_compared(steer, node, value);
    }
}

static bool undo(Steer *steer, const AutoNode *node, uint64_t value) {
    const PtxInsn *in = node->insn;
    PtxType type = (PtxType)in->type[0];
    bool predicate = ptx_type_class(type) == TC_PRED;
    switch (in->op) {
    case PTX_LD:
    case PTX_LDU:
    case PTX_ATOM:
        return node->address ? put_in_memory(steer, node, value) : put_in_parameter(steer, node, value);
    case PTX_MOV: return undo_move(steer, node, value);
    case PTX_CVTA: return want(steer, node->source[0], value);
    case PTX_CVT: return in->ntypes == 2 && undo_conversion(steer, node, value);
    case PTX_ADD:
    case PTX_SUB: return undo_sum(steer, node, value);
    case PTX_MUL: return in->sub != SUB_HI && undo_product(steer, node, value, 0);
    case PTX_FMA:
    case PTX_MAD:
        return in->sub != SUB_HI &&
               (undo_product(steer, node, value, steer_source(steer, node, 2)->value) ||
                (!is_plain_float(type) &&
                 want(steer, node->source[2],
                      value - steer_source(steer, node, 0)->value * steer_source(steer, node, 1)->value)));
    case PTX_AND:
    case PTX_OR:
    case PTX_XOR: return predicate ? undo_predicates(steer, node, value & 1) : undo_logic(steer, node, value);
    case PTX_NOT: return want(steer, node->source[0], predicate ? !value : ~value);
    case PTX_SHL:
    case PTX_SHR: return undo_shift(steer, node, value);
    case PTX_BFE: return undo_field(steer, node, value);
    case PTX_SELP: return want(steer, node->source[!(steer_source(steer, node, 2)->value & 1)], value);
    case PTX_MIN:
    case PTX_MAX: return want_either(steer, node, value, value);
    case PTX_ABS: return want(steer, node->source[0], value);
    case PTX_NEG:
        return want(steer, node->source[0],
                    is_plain_float(type) ? value ^ 1ull << (type_bits(type) - 1) : -value);
    case PTX_SETP: return undo_comparison(steer, node, value & 1);
    default: return false;
    }
}

/* False: nothing that can be changed makes it so. What was changed on the way stays. */
static bool want(Steer *steer, uint32_t source, uint64_t value) {
    const AutoNode *node = &steer->trace->nodes[source];
    if (!source || !node->insn || steer->depth >= MOST_STEPS_BACK || steer->tried++ >= MOST_TRIED)
        return false;
    if (ptx_type_class((PtxType)node->insn->type[0]) != TC_PRED)
        value &= type_mask((PtxType)node->insn->type[0]) | (node->insn->sub == SUB_WIDE ? UINT64_MAX : 0);
    steer->depth++;
    bool good = undo(steer, node, value);
    steer->depth--;
    return good;
}

/* The slot of the first pointer among the parameters that a value was made of. */
static bool find_pointer(Steer *steer, uint32_t source, unsigned depth, uint32_t *slot) {
    const AutoSearch *search = steer->search;
    const AutoNode *node = &steer->trace->nodes[source];
    if (!source || !node->insn || depth >= MOST_STEPS_BACK || steer->tried++ >= MOST_TRIED)
        return false;
    const PtxOperand *place = &node->insn->operands[node->insn->ndst];
    if (node->insn->op == PTX_LD && place->kind == PO_ADDR && place->sym && !place->reg)
        for (uint32_t i = 0; i < search->flow.nslots; i++) {
            const AutoSlot *one = &search->flow.slots[i];
            if (!one->parent && !one->variable && auto_is_pointer(one) && steer->address[i] &&
                search->f->params[one->param] == place->sym - 1 &&
                one->offset_bytes == (uint64_t)place->imm) {
                *slot = i;
                return true;
            }
        }
    for (unsigned i = 0; i < AUTO_SOURCES; i++)
        if (find_pointer(steer, node->source[i], depth + 1, slot))
            return true;
    return false;
}

static bool back_in_range(Steer *steer) {
    enum { ALIGNED = 64 };
    const AutoEnd *end = &steer->trace->ends[0];
    const PtxInsn *in = &steer->search->m->funcs[steer->trace->func].insns[end->insn];
    uint32_t slot = 0;
    if (!find_pointer(steer, end->reads, 0, &slot))
        return false;
    uint64_t spread = rng_next(steer->random) % (steer->attempt->bytes[slot] / 2 / ALIGNED + 1) * ALIGNED;
    steer->tried = 0;
    return want(steer, end->reads,
                steer->address[slot] + steer->attempt->margin[slot] - (uint64_t)auto_address_of(in)->imm +
                    spread);
}

/* A table in a parameter is small: the words that were loaded, of which the address was made, become 0 or 1.
 */
static bool back_in_table(Steer *steer, uint32_t source, unsigned depth) {
    const AutoNode *node = &steer->trace->nodes[source];
    if (!source || !node->insn || depth >= MOST_STEPS_BACK || steer->tried++ >= MOST_TRIED)
        return false;
    if (node->address)
        return put_in_memory(steer, node, rng_next(steer->random) % 2);
    bool any = false;
    for (unsigned i = 0; i < AUTO_SOURCES; i++)
        any |= back_in_table(steer, node->source[i], depth + 1);
    return any;
}

/* The other way than at that turn, by one of the branches. */
static bool out_of_loop(Steer *steer) {
    const AutoTrace *trace = steer->trace;
    const AutoAttempt before = *steer->attempt;
    bool good = false;
    for (uint32_t k = 0, first = (uint32_t)(rng_next(steer->random) % trace->nends);
         k < trace->nends && !good; k++) {
        uint32_t reads = trace->ends[(first + k) % trace->nends].reads;
        *steer->attempt = before;
        steer->tried = 0;
        good = reads && want(steer, reads, !(trace->nodes[reads].value & 1));
    }
    return good;
}

bool auto_steer_back(AutoSearch *search, AutoAttempt *attempt, uint64_t *random) {
    AutoTrace trace;
    Arena arena = {0};
    bool table = search->trap.kind == TRAP_PARAM_RANGE,
         range = table || search->trap.kind == TRAP_OUT_OF_RANGE;
    bool good = range                              ? auto_trace_trap(search, attempt, &arena, &trace)
                : search->trap.kind == TRAP_BUDGET ? auto_trace_loop(search, attempt, &arena, random, &trace)
                                                   : false;
    if (good) {
        uint64_t address[AUTO_MAX_SLOTS];
        auto_slot_addresses(search, attempt, address);
        Steer steer = {search, &trace, attempt, address, random, .keeps = true};
        good = table   ? back_in_table(&steer, trace.ends[0].reads, 0)
               : range ? back_in_range(&steer)
                       : out_of_loop(&steer);
    }
    arena_free(&arena);
    return good;
}

bool auto_steer(AutoSearch *search, AutoAttempt *attempt, uint64_t *random) {
    AutoTrace trace;
    Arena arena = {0};
    bool good = false;
    if (auto_trace(search, attempt, &arena, random, &trace)) {
        const AutoAttempt before = *attempt;
        uint64_t address[AUTO_MAX_SLOTS];
        auto_slot_addresses(search, attempt, address);
        for (uint32_t k = 0; k < trace.nends && !good; k++) {
            bool taken = false;
            const PtxInsn *in = &search->m->funcs[trace.func].insns[trace.ends[k].insn];
            Steer steer = {search, &trace, attempt, address, random, .keeps = false};
            *attempt = before;
            good = auto_wants_taken(search, trace.func, trace.ends[k].insn, &taken) &&
                   want(&steer, trace.ends[k].reads, taken != in->guard_not);
        }
    }
    arena_free(&arena);
    return good;
}
