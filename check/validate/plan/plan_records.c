/* Buffers that hold addresses of others: pointers, and records of which fields are pointers. See plan.h;
 * docs/launch-files.md has the words.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan.h"
#include "base/scope.h"
#include <stdlib.h>
#include <string.h>

typedef struct {            /* elements of a buffer that are filled alike */
    uint64_t offset, count; /* of the first one in bytes; how many */
    uint64_t spacing_bytes; /* from one to the next */
} Places;

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

bool plan_init_waits(const PlanBuffer *buffer) {
    return buffer->init && (starts(buffer->init, "pointers:") || starts(buffer->init, "records:"));
}

/* "pointers:NAME+OFFSET:STRIDE": element i is the address of byte OFFSET + i * STRIDE of the buffer NAME,
 * from OFFSET again behind the last whole STRIDE; STRIDE 0: all are the same place, which may be the buffer's
 * end. */
static bool put_pointers(Plan *plan, const PlanBuffer *buffer, const char *init, Places places,
                         SimAlloc *alloc, Diags *d) {
    const char *name = init + strlen("pointers:"), *colon = strchr(name, ':');
    char *end = NULL;
    uint64_t stride = colon ? strtoull(colon + 1, &end, 0) : 0, offset = 0;
    uint32_t index =
        colon ? plan_find_place(plan, arena_printf(&plan->arena, "%.*s", (int)(colon - name), name), &offset)
              : 0;
    const PlanBuffer *to = index ? &plan->buffers.at[index - 1] : NULL;
    uint64_t size = to ? to->count * to->type->size_bytes : 0, n = offset > size ? 0
                                                                   : stride      ? (size - offset) / stride
                                                                                 : 1;
    if (!to || !n || *end || end == colon + 1)
        return plan_buffer_fails(plan, d, buffer,
                                 "pointers:NAME+OFFSET:STRIDE needs elements of 8 bytes and another buffer "
                                 "that has STRIDE bytes there");
    for (uint64_t i = 0, k = 0; i < places.count; i++, k = k + 1 < n ? k + 1 : 0)
        simmem_put_address(alloc, places.offset + i * places.spacing_bytes,
                           to->address + offset + k * stride);
    return true;
}

static bool put_values(Plan *plan, const Scalar *type, const char *init, Places places, SimAlloc *alloc) {
    unsigned bytes = type->size_bytes;
    uint8_t *values = mem_alloc(places.count * bytes + 1);
    memset(values, 0, places.count * bytes);
    bool good = plan_fill(plan->fills, type, init, places.count, values);
    for (uint64_t i = 0; good && i < places.count; i++)
        memcpy(alloc->data + places.offset + i * places.spacing_bytes, values + i * bytes, bytes);
    mem_free(values);
    return good;
}

/* One "OFFSET:TYPE:INIT"; with "*" for OFFSET all bytes, with "@OFFSET" one place of the buffer. */
static bool put_field(Plan *plan, const PlanBuffer *buffer, uint64_t record_bytes, const char *text,
                      SimAlloc *alloc, Diags *d) {
    uint64_t size = buffer->count * buffer->type->size_bytes;
    bool all = *text == '*', once = *text == '@';
    char *end = (char *)(uintptr_t)text + (all || once);
    Places places = {.offset = all ? 0 : strtoull(end, &end, 0), .spacing_bytes = once ? size : record_bytes};
    const char *colon = *end == ':' && end > text ? strchr(end + 1, ':') : NULL;
    const Scalar *type = colon ? scalar_find(end + 1, (size_t)(colon - end - 1)) : NULL;
    if (type && all)
        places.spacing_bytes = type->size_bytes;
    if (!type || places.offset + type->size_bytes > places.spacing_bytes)
        return plan_buffer_fails(plan, d, buffer,
                                 arena_printf(&plan->arena, "no field is '%s': OFFSET:TYPE:INIT", text));
    places.count = size / places.spacing_bytes;
    if (starts(colon + 1, "pointers:") && type->size_bytes == 8)
        return put_pointers(plan, buffer, colon + 1, places, alloc, d);
    return buffer->bytes || /* which are there */
           put_values(plan, type, colon + 1, places, alloc) ||
           plan_buffer_fails(plan, d, buffer,
                             arena_printf(&plan->arena, "no initial value of a field is '%s'", colon + 1));
}

/* "records:BYTES,OFFSET:TYPE:INIT,...,@OFFSET:TYPE:INIT": later fields are put over earlier ones. */
static bool put_records(Plan *plan, const PlanBuffer *buffer, SimAlloc *alloc, Diags *d) {
    const char *s = buffer->init + strlen("records:");
    char *end;
    uint64_t record_bytes = strtoull(s, &end, 0);
    if (end == s || !record_bytes || (*end && *end != ','))
        return plan_buffer_fails(plan, d, buffer, "records:BYTES,OFFSET:TYPE:INIT,... is meant");
    bool good = true;
    while (good && *end == ',') {
        const char *field = end + 1, *comma = strchr(field, ',');
        size_t n = comma ? (size_t)(comma - field) : strlen(field);
        good = put_field(plan, buffer, record_bytes, arena_printf(&plan->arena, "%.*s", (int)n, field), alloc,
                         d);
        end = (char *)(uintptr_t)field + n;
    }
    return good;
}

bool plan_init_addresses(Plan *plan, const PlanBuffer *buffer, SimMemory *mem, Diags *d) {
    uint64_t size = buffer->count * buffer->type->size_bytes;
    bool records = starts(buffer->init, "records:");
    if (!records && buffer->type->size_bytes != 8)
        return plan_buffer_fails(plan, d, buffer, "pointers:NAME+OFFSET:STRIDE needs elements of 8 bytes");
    SimAlloc *alloc = simmem_find(mem, buffer->address, size);
    simmem_mark_written(alloc, 0, size);
    Places all = {.count = buffer->count, .spacing_bytes = 8};
    return records ? put_records(plan, buffer, alloc, d)
                   : put_pointers(plan, buffer, buffer->init, all, alloc, d);
}

/* The type of the field that has byte `at` of a record, and where it begins; NULL: none has. Later fields lie
 * over earlier ones. */
static const Scalar *field_type_at(const char *init, uint64_t at, uint64_t *begin) {
    const Scalar *found = NULL;
    for (const char *field = strchr(init, ','); field; field = strchr(field, ',')) {
        char *colon;
        uint64_t offset = strtoull(++field, &colon, 0);
        const char *end = *field != '*' && *colon == ':' ? strchr(colon + 1, ':') : NULL;
        const Scalar *type = end ? scalar_find(colon + 1, (size_t)(end - colon - 1)) : NULL;
        if (type && at >= offset && at - offset < type->size_bytes) {
            found = type;
            *begin = offset;
        }
    }
    return found;
}

const Scalar *plan_element_at(const Plan *plan, uint64_t address, uint64_t offset, uint64_t *begin) {
    const Scalar *type = plan_element_of(plan, address), *field = NULL;
    const char *init = NULL;
    for (uint32_t i = 0; !init && i < plan->buffers.n; i++)
        if (plan->buffers.at[i].address == address)
            init = plan->buffers.at[i].init ? plan->buffers.at[i].init : "";
    *begin = offset - (type ? offset % type->size_bytes : 0);
    if (!init || !starts(init, "records:"))
        return type;
    uint64_t record_bytes = strtoull(init + strlen("records:"), NULL, 0), in_record = 0;
    if (record_bytes && (field = field_type_at(init, offset % record_bytes, &in_record)))
        *begin = offset - offset % record_bytes + in_record;
    return field ? field : type;
}
