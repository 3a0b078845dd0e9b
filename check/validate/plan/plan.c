/* Launch plans: command-line arguments, guest memory, parameter blocks, checks. See plan.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan/plan.h"
#include "base/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MAX_BUFFER_BYTES ((uint64_t)1 << 34)

void plan_free(Plan *plan) { arena_free(&plan->arena); }

static bool plan_error(const Plan *plan, Diags *diags, const char *what) {
    return diag_in(diags, plan->source ? plan->source : diags->source, plan->loc, DIAG_E0502, what);
}
bool plan_buffer_fails(const Plan *plan, Diags *diags, const PlanBuffer *buffer, const char *what) {
    return diag_in(diags, plan->source ? plan->source : diags->source, buffer->loc, DIAG_E0504, buffer->name,
                   what);
}

const Scalar *plan_element_of(const Plan *plan, uint64_t address) {
    for (uint32_t i = 0; i < plan->buffers.n; i++)
        if (plan->buffers.at[i].address == address)
            return plan->buffers.at[i].type;
    return NULL;
}

uint32_t plan_find_buffer(const Plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->buffers.n; i++)
        if (strcmp(plan->buffers.at[i].name, name) == 0)
            return i + 1;
    return 0;
}

/* ---- texts ---- */
/* "f32[1024]" up to `end`; without brackets the count is 1 and *is_array false. */
static bool parse_type(const char *s, const char *end, const Scalar **type, uint64_t *count, bool *is_array) {
    const char *bracket = memchr(s, '[', (size_t)(end - s));
    char *stop;
    *is_array = bracket != NULL;
    *type = scalar_find(s, (size_t)((bracket ? bracket : end) - s));
    *count = 1;
    if (!*type || !bracket)
        return *type != NULL;
    *count = strtoull(bracket + 1, &stop, 0);
    return stop > bracket + 1 && *stop == ']' && stop + 1 == end && bracket[1] != '-';
}

/* `count` comma-separated values. */
static bool parse_values(Plan *plan, const Scalar *type, uint64_t count, const char *text,
                         const uint8_t **out) {
    uint8_t *bytes = arena_alloc(&plan->arena, count * type->size_bytes);
    const char *s = text;
    for (uint64_t i = 0; i < count; i++) {
        const char *comma = strchr(s, ',');
        size_t n = comma ? (size_t)(comma - s) : strlen(s);
        uint8_t value[8];
        if (!scalar_parse(type, s, n, value) || (comma != NULL) != (i + 1 < count))
            return false;
        memcpy(bytes + i * type->size_bytes, value, type->size_bytes);
        s += n + 1;
    }
    *out = bytes;
    return true;
}

static PlanLaunch *last_launch(Plan *plan) {
    if (!plan->launches.n) {
        PlanLaunch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .repeat = 1};
        VEC_ADD(&plan->arena, &plan->launches, l);
    }
    return &plan->launches.at[plan->launches.n - 1];
}

/* Is it a list of values, not the name of a rule that makes them? */
static bool is_values(const char *text) { return strchr("0123456789+-.", *text) && *text; }

/* Values instead of an initial value: as many as the type says, or as there are where it says none. */
static bool read_values(Plan *plan, PlanBuffer *b, bool is_array, Diags *d) {
    uint64_t n = 1;
    for (const char *s = b->init; *s; s++)
        n += *s == ',';
    if (!is_array)
        b->count = n;
    if (b->count != n)
        return plan_buffer_fails(plan, d, b,
                                 arena_printf(&plan->arena, "%llu values for %llu elements",
                                              (unsigned long long)n, (unsigned long long)b->count));
    return parse_values(plan, b->type, n, b->init, &b->bytes) ||
           plan_buffer_fails(
               plan, d, b,
               arena_printf(&plan->arena, "'%s' has a value that is no %s", b->init, b->type->name));
}

/* "buf:TYPE[N]=INIT" or "out:NAME:TYPE[N]=INIT"; the initial value may be left out: zero. */
static bool add_buffer_arg(Plan *plan, const char *text, bool named, Diags *d) {
    const char *s = text + 4, *equals = strchr(s, '=');
    PlanBuffer b = {.init = equals ? arena_printf(&plan->arena, "%s", equals + 1) : "zero",
                    .is_output = named};
    b.name = arena_printf(&plan->arena, "buffer%u", plan->buffers.n);
    if (named) {
        const char *colon = strchr(s, ':');
        if (!colon || colon == s)
            return plan_error(
                plan, d,
                arena_printf(&plan->arena, "'%s': expected out:NAME:TYPE[N], as out:sum:f32[64]", text));
        b.name = arena_printf(&plan->arena, "%.*s", (int)(colon - s), s);
        s = colon + 1;
    }
    bool is_array;
    if (!parse_type(s, equals ? equals : s + strlen(s), &b.type, &b.count, &is_array) || !b.count)
        return plan_error(plan, d, arena_printf(&plan->arena, "'%s': expected a type as f32[1024]", text));
    if (plan_find_buffer(plan, b.name))
        return plan_error(plan, d, arena_printf(&plan->arena, "two buffers are named %s", b.name));
    if (is_values(b.init) && !read_values(plan, &b, is_array, d))
        return false;
    VEC_ADD(&plan->arena, &plan->buffers, b);
    VEC_ADD(&plan->arena, &last_launch(plan)->args,
            ((PlanArg){.is_buffer = true, .buffer = plan->buffers.n - 1}));
    return true;
}

static bool is_number_text(const char *text) {
    char *end;
    strtod(text, &end);
    return end != text && !*end;
}

uint32_t plan_find_place(Plan *plan, const char *text, uint64_t *offset_bytes) {
    const char *plus = strrchr(text, '+');
    uint32_t index = plan_find_buffer(plan, text);
    char *end = NULL;
    *offset_bytes = 0;
    if (index || !plus)
        return index;
    *offset_bytes = strtoull(plus + 1, &end, 0);
    return *end || end == plus + 1
               ? 0
               : plan_find_buffer(plan, arena_printf(&plan->arena, "%.*s", (int)(plus - text), text));
}

static bool add_buffer_ref(Plan *plan, const char *text, Diags *d) {
    uint64_t offset;
    uint32_t index = plan_find_place(plan, text, &offset);
    if (!index)
        return plan_error(plan, d,
                          arena_printf(&plan->arena, "argument '%s' is neither TYPE:VALUE nor a buffer%s",
                                       text, is_number_text(text) ? " (as u32:7, f32:0.5)" : ""));
    VEC_ADD(&plan->arena, &last_launch(plan)->args,
            ((PlanArg){.is_buffer = true, .buffer = index - 1, .offset_bytes = offset}));
    return true;
}

uint32_t plan_find_texture(const Plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->textures.n; i++)
        if (strcmp(plan->textures.at[i].name, name) == 0)
            return i + 1;
    return 0;
}

static bool add_texture_ref(Plan *plan, const char *name, Diags *d) {
    uint32_t index = plan_find_texture(plan, name);
    if (!index)
        return plan_error(plan, d,
                          arena_printf(&plan->arena, "argument 'tex:%s': no texture of that name", name));
    VEC_ADD(&plan->arena, &last_launch(plan)->args, ((PlanArg){.is_texture = true, .buffer = index - 1}));
    return true;
}

static bool add_tensor_ref(Plan *plan, const char *name, Diags *d) {
    uint32_t index = plan_find_tensor(plan, name);
    if (!index)
        return plan_error(plan, d,
                          arena_printf(&plan->arena, "argument 'tmap:%s': no tensor map of that name", name));
    VEC_ADD(&plan->arena, &last_launch(plan)->args, ((PlanArg){.is_tensor = true, .buffer = index - 1}));
    return true;
}

static bool add_multicast_ref(Plan *plan, const char *name, Diags *d) {
    uint32_t index = plan_find_multicast(plan, name);
    if (!index)
        return plan_error(
            plan, d,
            arena_printf(&plan->arena, "argument 'multi:%s': no multicast object of that name", name));
    VEC_ADD(&plan->arena, &last_launch(plan)->args, ((PlanArg){.is_multicast = true, .buffer = index - 1}));
    return true;
}

bool plan_add_arg(Plan *plan, const char *text, Diags *d) {
    if (strncmp(text, "multi:", 6) == 0)
        return add_multicast_ref(plan, text + 6, d);
    if (strncmp(text, "tmap:", 5) == 0)
        return add_tensor_ref(plan, text + 5, d);
    if (strncmp(text, "tex:", 4) == 0)
        return add_texture_ref(plan, text + 4, d);
    if (strncmp(text, "buf:", 4) == 0 || strncmp(text, "out:", 4) == 0)
        return add_buffer_arg(plan, text, text[0] == 'o', d);
    const char *colon = strchr(text, ':');
    if (!colon)
        return add_buffer_ref(plan, text, d);
    const Scalar *type;
    uint64_t count;
    bool is_array;
    PlanArg arg = {0};
    if (!parse_type(text, colon, &type, &count, &is_array) || count == 0 || count > 4096 / type->size_bytes ||
        !parse_values(plan, type, count, colon + 1, &arg.bytes))
        return plan_error(
            plan, d,
            arena_printf(&plan->arena,
                         "argument '%s': expected TYPE:VALUE, as u32:7 or f32[2]:1,0.5, or a buffer, as "
                         "buf:f32[64]=iota or out:name:f32[64]; types are %s",
                         text, scalar_names));
    arg.size_bytes = (uint32_t)count * type->size_bytes;
    VEC_ADD(&plan->arena, &last_launch(plan)->args, arg);
    return true;
}

/* Bytes that it has as a part of a structure. */
static uint32_t part_bytes(const PlanArg *arg) {
    return arg->is_tensor ? SIM_TENSOR_BYTES : arg->is_buffer || arg->is_multicast ? 8 : arg->size_bytes;
}

bool plan_join_args(Plan *plan, uint32_t first, Diags *d) {
    PlanLaunch *launch = last_launch(plan);
    uint64_t size = 0;
    for (uint32_t i = first; i < launch->args.n; i++)
        size += part_bytes(&launch->args.at[i]);
    uint8_t *bytes = ARENA_ARRAY(&plan->arena, uint8_t, size + 1);
    PlanPart *parts = ARENA_ARRAY(&plan->arena, PlanPart, launch->args.n - first + 1);
    PlanArg whole = {.bytes = bytes, .size_bytes = (uint32_t)size, .parts = parts};
    uint32_t at = 0;
    for (uint32_t i = first; i < launch->args.n; i++) {
        const PlanArg *arg = &launch->args.at[i];
        if (arg->is_texture)
            return plan_error(plan, d, "a part of a structure is a value, a buffer or a tensor map");
        if (arg->bytes)
            memcpy(bytes + at, arg->bytes, arg->size_bytes);
        else
            parts[whole.nparts++] = (PlanPart){at, *arg};
        at += part_bytes(arg);
    }
    if (!at)
        return plan_error(plan, d, "a structure has parts");
    launch->args.n = first;
    VEC_ADD(&plan->arena, &launch->args, whole);
    return true;
}

bool plan_add_expect(Plan *plan, const char *text, Diags *d) {
    plan->loc = (SrcLoc){0};
    const char *equals = strchr(text, '=');
    if (!equals)
        return plan_error(plan, d,
                          arena_printf(&plan->arena, "'%s': expected NAME=@FILE or NAME=VALUE,...", text));
    uint32_t index = plan_find_buffer(plan, arena_printf(&plan->arena, "%.*s", (int)(equals - text), text));
    if (!index)
        return plan_error(plan, d, arena_printf(&plan->arena, "'%s': no buffer of that name", text));
    PlanCheck c = {.buffer = index - 1};
    if (equals[1] == '@')
        c.equals = arena_printf(&plan->arena, "%s", equals + 1);
    else {
        c.nvalues = 1;
        for (const char *s = equals; *s; s++)
            c.nvalues += *s == ',';
        if (!parse_values(plan, plan->buffers.at[index - 1].type, c.nvalues, equals + 1, &c.values))
            return plan_error(plan, d, arena_printf(&plan->arena, "'%s': malformed value", text));
    }
    VEC_ADD(&plan->arena, &plan->checks, c);
    return true;
}

/* ---- memory ---- */
const char *plan_data_path(Plan *plan, const char *at_file) {
    const char *name = at_file + 1;
    return plan->data_dir && *name != '/' ? arena_printf(&plan->arena, "%s/%s", plan->data_dir, name) : name;
}

static bool is_missing(Plan *plan, const char *text) {
    return text && *text == '@' && access(plan_data_path(plan, text), R_OK) != 0;
}

const char *plan_missing_data(Plan *plan) {
    for (uint32_t i = 0; i < plan->buffers.n; i++)
        if (is_missing(plan, plan->buffers.at[i].init))
            return plan->buffers.at[i].init + 1;
    for (uint32_t i = 0; i < plan->checks.n; i++)
        if (is_missing(plan, plan->checks.at[i].equals))
            return plan->checks.at[i].equals + 1;
    return NULL;
}

static bool read_data(Plan *plan, const char *at_file, Diags *d, char **data, size_t *size) {
    return file_read(&plan->arena, plan_data_path(plan, at_file), d, data, size);
}

static bool init_buffer(Plan *plan, const PlanBuffer *buffer, SimMemory *mem, Diags *d) {
    uint64_t size = buffer->count * buffer->type->size_bytes;
    if (buffer->bytes)
        return simmem_write(mem, buffer->address, buffer->bytes, size) ||
               plan_buffer_fails(plan, d, buffer, "cannot be initialised");
    if (buffer->init[0] == '@') {
        char *data;
        size_t n;
        if (!read_data(plan, buffer->init, d, &data, &n))
            return false;
        if (n != size)
            return plan_buffer_fails(plan, d, buffer,
                                     arena_printf(&plan->arena, "%s has %zu bytes, the buffer %llu",
                                                  buffer->init + 1, n, (unsigned long long)size));
        return simmem_write(mem, buffer->address, data, size);
    }
    if (plan_init_waits(buffer))
        return true; /* until all buffers have addresses */
    SimAlloc *alloc = simmem_find(mem, buffer->address, size);
    if (!plan_fill(plan->fills, buffer->type, buffer->init, buffer->count, alloc->data))
        return plan_buffer_fails(
            plan, d, buffer,
            arena_printf(
                &plan->arena,
                "initial value '%s' is none of zero, ones, iota, iota:START:STEP, value:V, random:SEED, "
                "random:SEED:LO:HI, whole:SEED:LO:HI, edges:SEED:MEMBER:ONE_IN, pointers:NAME+OFFSET:STRIDE, "
                "records:BYTES,OFFSET:TYPE:INIT,..., @FILE, V,V,...",
                buffer->init));
    simmem_mark_written(alloc, 0, size);
    return true;
}

/* Each map is in memory, for parameters that point to it. */
static bool make_tensors(Plan *plan, SimMemory *mem, Diags *d) {
    for (uint32_t i = 0; i < plan->tensors.n; i++) {
        PlanTensor *tensor = &plan->tensors.at[i];
        tensor->map.address = plan->buffers.at[tensor->buffer].address;
        sim_tensor_encode(&tensor->map, tensor->words);
        tensor->address = simmem_alloc(mem, arena_printf(&plan->arena, "tensor map %s", tensor->name),
                                       sizeof tensor->words);
        if (!tensor->address || !simmem_write(mem, tensor->address, tensor->words, sizeof tensor->words))
            return plan_error(plan, d, "no memory on this host");
    }
    return true;
}

SimMemory *plan_empty_memory(void) {
    SimMemory *mem = simmem_create();
    if (mem)
        mem->borders = true;
    return mem;
}

SimMemory *plan_memory(Plan *plan, Diags *d) {
    SimMemory *mem = plan_empty_memory();
    bool good = mem || plan_error(plan, d, "no memory on this host");
    for (uint32_t i = 0; good && i < plan->buffers.n; i++) {
        PlanBuffer *buffer = &plan->buffers.at[i];
        if (buffer->count > MAX_BUFFER_BYTES / buffer->type->size_bytes)
            good = plan_buffer_fails(plan, d, buffer, "larger than 16 GiB");
        else if (!(buffer->address =
                       simmem_alloc(mem, buffer->name, buffer->count * buffer->type->size_bytes)))
            good = plan_buffer_fails(plan, d, buffer, "cannot be allocated");
        good = good && init_buffer(plan, buffer, mem, d);
    }
    for (uint32_t i = 0; good && i < plan->textures.n; i++) {
        PlanTexture *texture = &plan->textures.at[i];
        texture->what.name = texture->name;
        texture->what.address = plan->buffers.at[texture->buffer].address;
        texture->handle = simmem_add_texture(mem, &texture->what);
        good = texture->handle || plan_error(plan, d, "more than 4095 textures");
    }
    for (uint32_t i = 0; good && i < plan->buffers.n; i++)
        if (plan_init_waits(&plan->buffers.at[i]))
            good = plan_init_addresses(plan, &plan->buffers.at[i], mem, d);
    good = good && make_tensors(plan, mem, d) && plan_make_multicasts(plan, mem, d);
    for (uint32_t i = 0; good && i < plan->launches.n;
         i++) /* behind the buffers, which stay where they are */
        if (plan->launches.at[i].cooperative && !simmem_make_workspace(mem))
            good = plan_error(plan, d, "no memory on this host");
    if (good)
        return mem;
    if (mem)
        simmem_free(mem);
    return NULL;
}

bool plan_copy(const Plan *plan, const PlanLaunch *launch, SimMemory *mem, Diags *diags) {
    bool good = true;
    for (uint32_t i = 0; good && i < launch->copies.n; i++) {
        const PlanBuffer *to = &plan->buffers.at[launch->copies.at[i].to],
                         *from = &plan->buffers.at[launch->copies.at[i].from];
        uint64_t size = to->count * to->type->size_bytes, has = from->count * from->type->size_bytes;
        size = has < size ? has : size;
        const SimAlloc *alloc = simmem_find(mem, from->address, size);
        good =
            (alloc && simmem_write(mem, to->address, alloc->data + (from->address - alloc->address), size)) ||
            plan_buffer_fails(plan, diags, to, "cannot be copied to");
    }
    return good;
}

/* ---- parameters ---- */

/* ", of 8 and 4 bytes" */
static const char *list_sizes(Plan *plan, const PlanParam *params, uint32_t n) {
    const char *text = "";
    for (uint32_t k = 0; k < n; k++)
        text = arena_printf(&plan->arena, "%s%s%u", text,
                            k == 0       ? ", of "
                            : k + 1 == n ? " and "
                                         : ", ",
                            params[k].size_bytes);
    return n ? arena_printf(&plan->arena, "%s bytes", text) : text;
}

/* Whether a word of a structure is where a buffer begins or a byte of it: launch files may have such
 * addresses as numbers (they follow from the sizes of the buffers), and no number of another kind is as
 * large. */
static bool is_address(const Plan *plan, const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    for (uint32_t i = 0; i < plan->buffers.n; i++) {
        const PlanBuffer *buffer = &plan->buffers.at[i];
        if (word - buffer->address < buffer->count * buffer->type->size_bytes)
            return true;
    }
    return false;
}

/* What an argument that is no value stands for in 8 bytes. */
static uint64_t stands_for(const Plan *plan, const PlanArg *arg) {
    return arg->is_texture     ? plan->textures.at[arg->buffer].handle
           : arg->is_tensor    ? plan->tensors.at[arg->buffer].address
           : arg->is_multicast ? plan->multicasts.at[arg->buffer].address
                               : plan->buffers.at[arg->buffer].address + arg->offset_bytes;
}

uint64_t plan_arg_word(const Plan *plan, const PlanArg *arg, uint32_t at) {
    uint64_t word;
    if (arg->is_buffer)
        return stands_for(plan, arg);
    for (uint32_t i = 0; i < arg->nparts; i++)
        if (arg->parts[i].at_bytes == at && !arg->parts[i].arg.is_tensor)
            return stands_for(plan, &arg->parts[i].arg);
    memcpy(&word, arg->bytes + at, sizeof word);
    return word;
}

/* The structure's bytes with its parts; where in them addresses are is appended to address_at. */
static void put_structure(const Plan *plan, const PlanArg *arg, uint8_t *out, uint32_t offset_bytes,
                          uint32_t *address_at, uint32_t *naddresses) {
    memcpy(out, arg->bytes, arg->size_bytes);
    for (uint32_t i = 0; i < arg->nparts; i++) {
        const PlanPart *part = &arg->parts[i];
        uint64_t address = stands_for(plan, &part->arg);
        if (part->arg.is_tensor)
            memcpy(out + part->at_bytes, plan->tensors.at[part->arg.buffer].words, SIM_TENSOR_BYTES);
        else
            memcpy(out + part->at_bytes, &address, sizeof address);
        if (!part->arg.is_tensor)
            address_at[(*naddresses)++] = offset_bytes + part->at_bytes;
    }
    for (uint32_t at = 0; arg->size_bytes > 8 && at + 8 <= arg->size_bytes; at += 8)
        if (is_address(plan, arg->bytes + at))
            address_at[(*naddresses)++] = offset_bytes + at;
}

bool plan_launch(Plan *plan, const PlanLaunch *launch, const char *kernel, const PlanParam *params,
                 uint32_t nparams, Launch *launch_out, Diags *diags) {
    uint32_t end = 0, naddresses = 0;
    if (launch->args.n != nparams)
        return diag_in(
            diags, plan->source ? plan->source : diags->source, launch->loc, DIAG_E0503, kernel,
            arena_printf(&plan->arena, "%u given, the kernel takes %u%s%s", launch->args.n, nparams,
                         list_sizes(plan, params, nparams),
                         launch->args.n ? "" : "; --arg gives one, validate --launch auto finds them"));
    for (uint32_t i = 0; i < nparams; i++)
        if (params[i].size_bytes && params[i].offset_bytes + params[i].size_bytes > end)
            end = params[i].offset_bytes + params[i].size_bytes;
    uint8_t *out = arena_alloc(&plan->arena, end);
    uint32_t *address_at = ARENA_ARRAY(&plan->arena, uint32_t, nparams + end / 8 + 1), nhandles = 0;
    LaunchHandle *handles = ARENA_ARRAY(&plan->arena, LaunchHandle, nparams + 1);
    for (uint32_t i = 0; i < nparams; i++) {
        const PlanArg *arg = &launch->args.at[i];
        PlanArg map = {.size_bytes = SIM_TENSOR_BYTES};
        if (arg->is_tensor && params[i].size_bytes == SIM_TENSOR_BYTES) { /* by value */
            map.bytes = (const uint8_t *)plan->tensors.at[arg->buffer].words;
            arg = &map;
        }
        bool whole = arg->is_buffer || arg->is_texture || arg->is_tensor || arg->is_multicast;
        uint32_t size = whole ? 8 : arg->size_bytes;
        if (params[i].is_handle) /* of which a file has the lower half, or, where no code reads it, nothing */
            size = arg->is_texture || (!whole && size == 8) ? params[i].size_bytes : size;
        if (size != params[i].size_bytes)
            return diag_in(diags, plan->source ? plan->source : diags->source, launch->loc, DIAG_E0503,
                           kernel,
                           arena_printf(&plan->arena, "argument %u has %u bytes, the parameter %u", i, size,
                                        params[i].size_bytes));
        if (arg->is_buffer || arg->is_tensor || arg->is_multicast)
            address_at[naddresses++] = params[i].offset_bytes;
        if (arg->is_texture && !params[i].is_handle)
            handles[nhandles++] = (LaunchHandle){params[i].offset_bytes, arg->uses};
        uint64_t word = whole ? stands_for(plan, arg) : 0;
        if (whole)
            memcpy(out + params[i].offset_bytes, &word, size);
        else if (size == arg->size_bytes)
            put_structure(plan, arg, out + params[i].offset_bytes, params[i].offset_bytes, address_at,
                          &naddresses);
        else
            memcpy(out + params[i].offset_bytes, arg->bytes, size);
    }
    *launch_out = (Launch){.grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                           .block = {launch->block[0], launch->block[1], launch->block[2]},
                           .cluster = {launch->cluster[0], launch->cluster[1], launch->cluster[2]},
                           .cooperative = launch->cooperative,
                           .dynamic_shared_bytes = launch->shared_bytes,
                           .params = out,
                           .param_bytes = end,
                           .address_at = address_at,
                           .naddresses = naddresses,
                           .handles = handles,
                           .nhandles = nhandles};
    return true;
}

/* ---- checks ---- */
static bool elements_agree(const PlanCheck *check, const Scalar *scalar, const uint8_t *have,
                           const uint8_t *want) {
    if (memcmp(have, want, scalar->size_bytes) == 0)
        return true;
    if (scalar->kind != 'f' || (!check->ulp && check->abs == 0))
        return false;
    if (scalar_ulps(scalar, have, want) <= check->ulp)
        return true;
    double gap = fabs(scalar_value(scalar, have) - scalar_value(scalar, want));
    return gap <= check->abs; /* false for a NaN */
}

static bool check_values(const PlanBuffer *buffer, const PlanCheck *c, const uint8_t *have,
                         const uint8_t *want, uint64_t n, Diags *d) {
    uint64_t wrong = 0, first = 0;
    for (uint64_t i = 0; i < n; i++)
        if (!elements_agree(c, buffer->type, have + i * buffer->type->size_bytes,
                            want + i * buffer->type->size_bytes) &&
            wrong++ == 0)
            first = i;
    if (!wrong)
        return true;
    char x[64], y[64];
    scalar_print(buffer->type, have + first * buffer->type->size_bytes, x);
    scalar_print(buffer->type, want + first * buffer->type->size_bytes, y);
    return diag(d, (SrcLoc){0}, DIAG_E0520, buffer->name, (unsigned long long)first, x, y,
                (unsigned long long)wrong, (unsigned long long)n);
}

/* What a check compares with, and its size. */
static bool expected(Plan *plan, const PlanCheck *check, const uint8_t **want, Diags *d) {
    const PlanBuffer *plan_buffer = &plan->buffers.at[check->buffer];
    uint64_t size = plan_buffer->count * plan_buffer->type->size_bytes;
    char *data = (char *)(uintptr_t)check->values;
    size_t n = check->nvalues * plan_buffer->type->size_bytes;
    if (check->equals && !read_data(plan, check->equals, d, &data, &n))
        return false;
    *want = (const uint8_t *)data;
    return n == size ||
           plan_buffer_fails(plan, d, plan_buffer,
                             arena_printf(&plan->arena, "has %llu bytes, what is expected has %zu",
                                          (unsigned long long)size, n));
}

bool plan_read_expected(Plan *plan, Diags *d) {
    for (uint32_t i = 0; i < plan->checks.n; i++)
        if (!plan->checks.at[i].has_hash && !expected(plan, &plan->checks.at[i], &plan->checks.at[i].want, d))
            return false;
    return true;
}

bool plan_check(Plan *plan, const SimMemory *mem, uint32_t *failures, Diags *d) {
    for (uint32_t i = 0; i < plan->checks.n; i++) {
        const PlanCheck *check = &plan->checks.at[i];
        const PlanBuffer *plan_buffer = &plan->buffers.at[check->buffer];
        uint64_t size = plan_buffer->count * plan_buffer->type->size_bytes;
        const SimAlloc *alloc = simmem_find(mem, plan_buffer->address, size);
        if (!alloc)
            return plan_buffer_fails(plan, d, plan_buffer, "is gone");
        const uint8_t *have = alloc->data + (plan_buffer->address - alloc->address);
        if (check->has_hash) {
            uint64_t hash = XXH64(have, size, 0);
            if (hash != check->hash) {
                diag(d, (SrcLoc){0}, DIAG_E0521, plan_buffer->name, (unsigned long long)hash,
                     (unsigned long long)check->hash);
                ++*failures;
            }
            continue;
        }
        const uint8_t *want = check->want;
        if (!want && !expected(plan, check, &want, d))
            return false;
        if (!check_values(plan_buffer, check, have, want, plan_buffer->count, d))
            ++*failures;
    }
    return true;
}
