/* The plan of an attempt: its buffers, what they hold, its arguments. See auto_search.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_search.h"
#include <string.h>

/* Is a variable of the module called that? A buffer of this name would be its memory. */
static bool names_variable(const AutoSearch *search, const char *name) {
    for (uint32_t i = 0; i < search->m->nvars; i++)
        if (search->m->vars[i].space == SP_GLOBAL || search->m->vars[i].space == SP_CONST)
            if (strcmp(str_text(&search->m->strings, search->m->vars[i].name), name) == 0)
                return true;
    return false;
}

static const char *buffer_name(const AutoSearch *search, Arena *arena, uint32_t slot, unsigned number) {
    const AutoSlot *auto_slot = &search->flow.slots[slot];
    const char *stars = "", *fields = "";
    while (auto_slot->parent) {
        const AutoSlot *parent = &search->flow.slots[auto_slot->parent - 1];
        stars = arena_printf(arena, "%s*", stars);
        if (auto_slot->offset_bytes == AUTO_ANYWHERE)
            fields = arena_printf(arena, ".any%s", fields);
        else if (parent->record)
            fields = arena_printf(arena, ".%u%s", auto_slot->offset_bytes, fields);
        auto_slot = parent;
    }
    if (auto_slot->variable) {
        const char *symbol = ptx_var_symbol(search->m, &search->m->vars[auto_slot->variable - 1], arena);
        return *stars ? arena_printf(arena, "%s.%u.%s%s%s", search->name, number, stars, symbol, fields)
                      : symbol;
    }
    const PtxVar *var = &search->m->vars[search->f->params[auto_slot->param]];
    const char *field = auto_slot->offset_bytes ? arena_printf(arena, "@%u", auto_slot->offset_bytes) : "";
    bool taken = names_variable(search, str_text(&search->m->strings, var->name));
    const char *launch = number || taken ? arena_printf(arena, "%s.%u.", search->name, number) : "";
    return arena_printf(arena, "%s%s%s%s%s", launch, stars, str_text(&search->m->strings, var->name), field,
                        fields);
}

/* Buffers of edge values are filled together, so that operands from two of them fit together. */
static const char *edges_of(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot,
                            Arena *arena) {
    unsigned member = 0;
    for (uint32_t i = 0; i < slot; i++)
        member += auto_is_pointer(&search->flow.slots[i]);
    return arena_printf(arena, "edges:%llu:%u:%u", (unsigned long long)(attempt->seed >> 32), member,
                        attempt->one_in ? attempt->one_in : 1);
}

typedef struct {
    const char *type, *init;
} Contents;

/* What a pointer in memory points to, one record of whole size behind the other. */
static const char *pointers_to(const AutoSearch *search, const AutoAttempt *attempt, uint32_t content,
                               Plan *plan, unsigned number) {
    uint32_t bytes = search->flow.slots[content].record_bytes;
    if (attempt->null >> content & 1)
        return "zero";
    return arena_printf(&plan->arena, "pointers:%s:%u", buffer_name(search, &plan->arena, content, number),
                        bytes ? (POINTEE_STRIDE + bytes - 1) / bytes * bytes : POINTEE_STRIDE);
}

static void set_data(const AutoAttempt *attempt, PtxType type, uint64_t seed, Plan *plan, Contents *out,
                     uint32_t content) {
    if (attempt->data != DATA_NAN && auto_becomes_nan(attempt->data, content))
        out->init = "nan";
    if (attempt->data == DATA_ZERO || attempt->data == DATA_ONE)
        out->init = attempt->data == DATA_ONE ? "ones" : "zero";
    if (attempt->data < DATA_TINY || attempt->data > DATA_TINY_LAST || (attempt->mixed && seed % 2))
        return;
    double most = auto_tiny(type, attempt->data - DATA_TINY + 1);
    out->init = arena_printf(&plan->arena, "random:%llu:%.17g:%.17g", (unsigned long long)seed, -most, most);
}

static const char *number_name(PtxType type, unsigned size) {
    return type == TY_F64 && size == 8            ? "f64"
           : type == TY_BF16 || type == TY_BF16X2 ? "bf16"
           : type == TY_F16 || type == TY_F16X2   ? "f16"
                                                  : "f32";
}

/* Type and values of elements of `size` bytes that a slot points to: of all of them, or of the field
 * `content` of its records (index + 1; 0: nobody reads them). */
static Contents describe_contents(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot,
                                  uint32_t content, unsigned size, Plan *plan, unsigned number) {
    const AutoSlot *t = &search->flow.slots[slot],
                   *auto_slot = content ? &search->flow.slots[content - 1] : NULL;
    uint64_t seed = (attempt->seed >> 32) + (t->record ? content : 0) + slot;
    Contents out = {.type = size == 1   ? "u8"
                            : size == 2 ? "u16"
                            : size == 8 ? "u64"
                                        : "u32",
                    .init = arena_printf(&plan->arena, "random:%llu", (unsigned long long)seed)};
    if (auto_slot && auto_is_pointer(auto_slot))
        return (Contents){"u64", pointers_to(search, attempt, content - 1, plan, number)};
    if (t->variable && search->m->vars[t->variable - 1].space == SP_GLOBAL) { /* as it begins */
        out.init = "zero";
        return out;
    }
    bool begins_zero = auto_slot && ((auto_slot->free_lock && !(auto_slot->uses & AU_FLOAT)) ||
                                     (auto_slot->added_to && attempt->cleared));
    if (begins_zero) {
        out.init = "zero";
        if (auto_slot->uses & AU_FLOAT) /* sums, which orders of threads round to either side */
            out.type = number_name(auto_slot->float_type, size);
        return out;
    }
    if (auto_slot &&
        auto_slot->uses & (AU_INDEX | AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_CMP | AU_DIVISOR | AU_BRANCH) &&
        !(auto_slot->uses & AU_FLOAT)) {
        uint64_t bound = attempt->bound[content - 1],
                 above = bound                                                  ? bound
                         : t->variable && attempt->index_bound > SMALL_CONSTANT ? SMALL_CONSTANT
                                                                                : attempt->index_bound;
        int64_t low = attempt->below >> (content - 1) & 1 ? auto_least_word(auto_slot) : 0,
                least = low < 0 ? low : (auto_slot->uses & AU_DIVISOR) != 0,
                end = (int64_t)above > least ? (int64_t)above : least + 1;
        out.init = arena_printf(&plan->arena, "random:%llu:%lld:%lld", (unsigned long long)seed,
                                (long long)least, (long long)end);
        if (attempt->apart && auto_slot->uses & AU_INDEX && !bound && size >= 4)
            out.init = arena_printf(&plan->arena, "iota:0:%u", APART);
    } else if (auto_slot && auto_slot->uses & AU_FLOAT) {
        out.type = number_name(auto_slot->float_type, size);
        out.init = attempt->whole ? arena_printf(&plan->arena, "whole:%llu:-1:2", (unsigned long long)seed)
                                  : arena_printf(&plan->arena, "random:%llu:-1:1", (unsigned long long)seed);
    }
    if (!auto_slot && t->stored && !t->stored_other && size >= ptx_type_bytes(t->stored)) /* only written */
        out.type = number_name(t->stored, size);
    if (auto_slot && auto_slot->uses & AU_FLOAT)
        set_data(attempt, auto_slot->float_type, seed, plan, &out, content);
    uint32_t bound_by = AU_DIVISOR | (attempt->edges_in_indices ? 0 : AU_INDEX);
    bool free_value = !auto_slot || !(auto_slot->uses & bound_by);
    if (attempt->edges && free_value)
        out.init = edges_of(search, attempt, slot, &plan->arena);
    return out;
}

/* Of a field that is smaller than the number that is made of it: f16, of which f32 is made. */
static const char *fitting_type(const char *type, unsigned size) {
    return scalar_find(type, strlen(type))->size_bytes <= size ? type : size == 2 ? "f16" : "u8";
}

/* The fields of records, by rising offsets; what lies anywhere comes first. */
static const char *describe_records(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot,
                                    Plan *plan, unsigned number) {
    const AutoSlot *t = &search->flow.slots[slot];
    const char *text = arena_printf(&plan->arena, "records:%u", t->record_bytes);
    uint64_t next = 0; /* offset of the least field that is left, + 1; 0: that of those anywhere */
    for (uint32_t left = 1, c; left;) {
        uint64_t following = UINT64_MAX;
        for (c = t->content; c; c = search->flow.slots[c - 1].next) {
            const AutoSlot *field = &search->flow.slots[c - 1];
            uint64_t at = field->offset_bytes == AUTO_ANYWHERE ? 0 : field->offset_bytes + 1ull;
            if (at > next && at < following)
                following = at;
            if (at != next || (at && field->offset_bytes + field->size_bytes > t->record_bytes))
                continue;
            Contents contents = describe_contents(search, attempt, slot, c, field->size_bytes, plan, number);
            contents.type = fitting_type(contents.type, field->size_bytes);
            text = at ? arena_printf(&plan->arena, "%s,%u:%s:%s", text, field->offset_bytes, contents.type,
                                     contents.init)
                      : arena_printf(&plan->arena, "%s,*:%s:%s", text, contents.type, contents.init);
        }
        left = following != UINT64_MAX;
        next = following;
    }
    return text;
}

/* The values that steps have put into a slot's buffer lie over what it holds: a record that is as large as an
 * element. */
static const char *with_puts(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot, Plan *plan,
                             const Scalar *type, const char *init, unsigned number) {
    const AutoSlot *t = &search->flow.slots[slot];
    const char *text = NULL;
    for (unsigned k = 0; k < attempt->nputs; k++) {
        const AutoPut *put = &attempt->puts[k];
        if (put->slot != slot || put->offset_bytes + put->size_bytes > attempt->bytes[slot])
            continue;
        if (!text)
            text = t->record && t->content
                       ? init
                       : arena_printf(&plan->arena, "records:%u,*:%s:%s", type->size_bytes, type->name, init);
        const char *what = put->into
                               ? arena_printf(&plan->arena, "pointers:%s+%llu:0",
                                              buffer_name(search, &plan->arena, put->into - 1, number),
                                              (unsigned long long)put->value)
                               : arena_printf(&plan->arena, "value:%llu", (unsigned long long)put->value);
        text = arena_printf(&plan->arena, "%s,@%llu:u%u:%s", text, (unsigned long long)put->offset_bytes,
                            8 * put->size_bytes, what);
    }
    return text ? text : init;
}

/* Element type and contents of the buffer that a slot points to. */
static void describe_buffer(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot, Plan *plan,
                            PlanBuffer *buffer, unsigned number) {
    const AutoSlot *t = &search->flow.slots[slot];
    unsigned size = t->elem_bytes == 1 || t->elem_bytes == 2 || t->elem_bytes == 8 ? t->elem_bytes : 4;
    const AutoSlot *only = t->content && !t->record ? &search->flow.slots[t->content - 1] : NULL;
    if (only && only->uses & AU_FLOAT && only->float_type == TY_F64) /* read by words, as vectors are */
        size = 8;
    Contents contents =
        describe_contents(search, attempt, slot, t->record ? 0 : t->content, size, plan, number);
    if (t->mapped && !t->content && !attempt->edges) {
        contents.type = auto_mapped_type(search);
        if (strpbrk(contents.type, "f"))
            contents.init = arena_printf(&plan->arena, "random:%llu:-1:1",
                                         (unsigned long long)(attempt->seed >> 32) + slot);
    }
    buffer->init =
        t->record && t->content ? describe_records(search, attempt, slot, plan, number) : contents.init;
    buffer->type = scalar_find(contents.type, strlen(contents.type));
    buffer->init = with_puts(search, attempt, slot, plan, buffer->type, buffer->init, number);
    size = buffer->type->size_bytes;
    buffer->count = (attempt->bytes[slot] + size - 1) / size;
}

void auto_add_buffers(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number,
                      uint32_t buffer[AUTO_MAX_SLOTS]) {
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        buffer[i] = UINT32_MAX;
        if (!auto_is_pointer(&search->flow.slots[i]))
            continue;
        PlanBuffer b = {.name = buffer_name(search, &plan->arena, i, number)};
        uint32_t there = search->flow.slots[i].variable ? plan_find_buffer(plan, b.name) : 0;
        describe_buffer(search, attempt, i, plan, &b, number);
        buffer[i] = there ? there - 1 : plan->buffers.n;
        if (there) /* an earlier launch has filled it: what this one wants lies beside it */
            b.name = arena_printf(&plan->arena, "%s.%u.%s", search->name, number, b.name);
        VEC_ADD(&plan->arena, &plan->buffers, b);
    }
}

/* Variables that earlier launches of the plan have filled are filled anew. The attempt's own buffers are
 * those from `first` on. */
static void copy_variables(const AutoSearch *search, Plan *plan, uint32_t first, const uint32_t *buffer,
                           PlanLaunch *launch, unsigned number) {
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        if (!search->flow.slots[i].variable || buffer[i] == UINT32_MAX || buffer[i] >= first)
            continue;
        const char *name = plan->buffers.at[buffer[i]].name;
        uint32_t from =
            plan_find_buffer(plan, arena_printf(&plan->arena, "%s.%u.%s", search->name, number, name));
        VEC_ADD(&plan->arena, &launch->copies, ((PlanCopy){buffer[i], from - 1}));
    }
}

/* Bytes of a field or of a whole scalar parameter. */
static void field_bytes(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot, uint8_t out[8]) {
    const AutoSlot *auto_slot = &search->flow.slots[slot];
    const char *type = auto_slot->float_type == TY_F64 ? "f64"
                       : auto_slot->size_bytes == 2    ? (auto_slot->float_type == TY_BF16 ? "bf16" : "f16")
                                                       : "f32";
    uint64_t prepared;
    memset(out, 0, 8);
    if (auto_prepared(search, attempt, slot, &prepared)) {
        memcpy(out, &prepared, auto_slot->size_bytes < 8 ? auto_slot->size_bytes : 8);
    } else if (auto_slot->shared_piece) {
        /* behind the system's part, for the machine, and not behind the end, for the interpreter, which has
         * none */
        const uint32_t system = search->opt->shared_base_bytes,
                       rest = attempt->shared_bytes > system ? attempt->shared_bytes - system : 0;
        const uint64_t piece_bytes = rest / search->flow.shared_pieces & ~15ull,
                       address = system + search->flow.static_shared_bytes +
                                 (auto_slot->shared_piece - 1) * piece_bytes;
        memcpy(out, &address, auto_slot->size_bytes < 8 ? auto_slot->size_bytes : 8);
    } else if (auto_slot->uses & AU_FLOAT)
        scalar_store(scalar_find(type, strlen(type)), attempt->number[slot], out);
    else
        memcpy(out, &attempt->value[slot], auto_slot->size_bytes < 8 ? auto_slot->size_bytes : 8);
}

/* Where the array in a parameter ends of which a slot is the first element: at the next slot behind that
 * element, or at the parameter's end. */
static uint64_t array_end(const AutoSearch *search, uint32_t slot, uint64_t param_bytes) {
    const AutoSlot *first = &search->flow.slots[slot];
    uint64_t end = param_bytes;
    for (uint32_t k = 0; k < search->flow.nslots; k++) {
        const AutoSlot *other = &search->flow.slots[k];
        if (!other->parent && !other->variable && other->param == first->param &&
            other->offset_bytes >= first->offset_bytes + first->apart_bytes && k != slot &&
            other->offset_bytes < end)
            end = other->offset_bytes;
    }
    return end;
}

void auto_add_part(Plan *plan, PlanArg *whole, uint64_t at_bytes, PlanArg arg) {
    const uint32_t size = arg.is_tensor ? SIM_TENSOR_BYTES : 8;
    PlanPart *parts = ARENA_ARRAY(&plan->arena, PlanPart, whole->nparts + 1);
    uint32_t k = 0;
    for (uint32_t i = 0; i < whole->nparts; i++) {
        const PlanPart *other = &whole->parts[i];
        uint32_t other_size = other->arg.is_tensor ? SIM_TENSOR_BYTES : 8;
        if (other->at_bytes < at_bytes + size && at_bytes < other->at_bytes + other_size)
            return;
        k += other->at_bytes < at_bytes;
        parts[i + (other->at_bytes > at_bytes)] = *other;
    }
    if (at_bytes + size > whole->size_bytes)
        return;
    parts[k] = (PlanPart){(uint32_t)at_bytes, arg};
    whole->parts = parts;
    whole->nparts++;
}

/* The argument of parameter i. */
static PlanArg make_arg(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, uint32_t i,
                        const uint32_t *buffer, const uint32_t *of_copy) {
    const PtxVar *var = &search->m->vars[search->f->params[i]];
    PlanArg arg = {.size_bytes = (uint32_t)var->size_bytes};
    uint8_t *bytes = ARENA_ARRAY(&plan->arena, uint8_t, var->size_bytes + 8);
    for (uint64_t k = 0; var->size_bytes > 8 && k + 4 <= var->size_bytes; k += 4)
        bytes[k] = (uint8_t)(1 + k / 4 % 3); /* fields that nobody is seen to read */
    for (uint32_t k = 0; k < search->flow.nslots; k++) {
        const AutoSlot *slot = &search->flow.slots[k];
        /* (an index that was not followed may give an offset before the parameter, which wraps) */
        if (slot->parent || slot->variable || slot->param != i || slot->offset_bytes > var->size_bytes ||
            slot->size_bytes > var->size_bytes - slot->offset_bytes)
            continue;
        bool null = attempt->null >> k & 1;
        uint32_t to = attempt->same[k] ? attempt->same[k] - 1u : k;
        bool pointer = (auto_is_pointer(slot) && !null) || attempt->into[k];
        PlanArg place = {.is_buffer = true, .buffer = buffer[to], .offset_bytes = attempt->margin[to]};
        if (attempt->into[k]) {
            place.buffer = buffer[attempt->into[k] - 1];
            place.offset_bytes = attempt->value[k];
        }
        if (pointer && var->size_bytes == 8)
            return place;
        uint8_t value[8] = {0};
        if (!auto_is_pointer(slot))
            field_bytes(search, attempt, k, value);
        uint64_t end = array_end(search, k, var->size_bytes), at = slot->offset_bytes;
        do {
            if (pointer)
                auto_add_part(plan, &arg, at, place);
            else
                memcpy(bytes + at, value, slot->size_bytes < 8 ? slot->size_bytes : 8);
            place.offset_bytes += POINTEE_STRIDE;
            at += slot->apart_bytes;
        } while (slot->apart_bytes && at + slot->size_bytes <= end);
    }
    auto_put_tensors(search, i, plan, of_copy, &arg);
    arg.bytes = bytes;
    return arg;
}

bool auto_find_addresses(Plan *plan, uint64_t *address) {
    SimMemory *mem = plan_empty_memory();
    for (uint32_t i = 0; mem && i < plan->buffers.n; i++)
        address[i] = simmem_alloc(mem, "", plan->buffers.at[i].count * plan->buffers.at[i].type->size_bytes);
    if (mem)
        simmem_free(mem);
    return mem != NULL;
}

void auto_slot_addresses(const AutoSearch *search, const AutoAttempt *attempt,
                         uint64_t address[AUTO_MAX_SLOTS]) {
    Plan plan = {0};
    uint32_t buffer[AUTO_MAX_SLOTS];
    auto_add_buffers(search, attempt, &plan, 0, buffer);
    uint64_t *of_buffer = ARENA_ARRAY(&plan.arena, uint64_t, plan.buffers.n + 1);
    auto_find_addresses(&plan, of_buffer);
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        address[i] = buffer[i] != UINT32_MAX && !search->flow.slots[i].variable ? of_buffer[buffer[i]] : 0;
    plan_free(&plan);
}

void auto_add_to_plan(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number) {
    uint32_t buffer[AUTO_MAX_SLOTS], first = plan->buffers.n;
    auto_add_buffers(search, attempt, plan, number, buffer);
    uint32_t *texture = ARENA_ARRAY(&plan->arena, uint32_t, search->f->nparams + 1);
    auto_add_textures(search, attempt, plan, number, texture);
    uint32_t of_copy[AUTO_MAX_COPIES] = {0};
    auto_add_tensors(search, attempt, plan, number, of_copy);
    PlanLaunch l = {.kernel = search->name,
                    .shared_bytes = attempt->shared_bytes,
                    .cooperative = search->flow.reads_workspace,
                    .repeat = 1};
    memcpy(l.grid, attempt->grid, sizeof l.grid);
    memcpy(l.block, attempt->block, sizeof l.block);
    for (uint32_t i = 0; i < search->f->nparams; i++) {
        PlanArg arg = {.is_texture = texture[i] != 0, .buffer = texture[i] - 1};
        if (!arg.is_texture && !auto_whole_tensor(search, i, of_copy, &arg))
            arg = make_arg(search, attempt, plan, i, buffer, of_copy);
        VEC_ADD(&plan->arena, &l.args, arg);
    }
    copy_variables(search, plan, first, buffer, &l, number);
    VEC_ADD(&plan->arena, &plan->launches, l);
}
