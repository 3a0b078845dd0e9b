/* Launch plans: command-line arguments, guest memory, parameter blocks, checks. See plan.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/plan.h"
#include "base/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAX_BUFFER_BYTES ((uint64_t)1 << 34)

void plan_free(Plan *p) { arena_free(&p->arena); }

static bool fail(const Plan *p, Diags *d, const char *what) {
    return diag_in(d, p->source ? p->source : d->source, p->loc, DIAG_E0502, what);
}
static bool buffer_fail(const Plan *p, Diags *d, const PlanBuffer *b, const char *what) {
    return diag_in(d, p->source ? p->source : d->source, b->loc, DIAG_E0504, b->name, what);
}

uint32_t plan_find_buffer(const Plan *p, const char *name) {
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (strcmp(p->buffers.at[i].name, name) == 0)
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
static bool parse_values(Plan *p, const Scalar *type, uint64_t count, const char *text, const uint8_t **out) {
    uint8_t *bytes = arena_alloc(&p->arena, count * type->size_bytes);
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

static PlanLaunch *last_launch(Plan *p) {
    if (!p->launches.n) {
        PlanLaunch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .repeat = 1};
        VEC_ADD(&p->arena, &p->launches, l);
    }
    return &p->launches.at[p->launches.n - 1];
}

/* "buf:TYPE[N]=INIT" or "out:NAME:TYPE[N]=INIT"; the initial value may be left out: zero. */
static bool add_buffer_arg(Plan *p, const char *text, bool named, Diags *d) {
    const char *s = text + 4, *equals = strchr(s, '=');
    PlanBuffer b = {.init = equals ? arena_printf(&p->arena, "%s", equals + 1) : "zero", .is_output = named};
    b.name = arena_printf(&p->arena, "buffer%u", p->buffers.n);
    if (named) {
        const char *colon = strchr(s, ':');
        if (!colon || colon == s)
            return fail(p, d, arena_printf(&p->arena, "'%s': expected out:NAME:TYPE[N]", text));
        b.name = arena_printf(&p->arena, "%.*s", (int)(colon - s), s);
        s = colon + 1;
    }
    bool is_array;
    if (!parse_type(s, equals ? equals : s + strlen(s), &b.type, &b.count, &is_array) || !b.count)
        return fail(p, d, arena_printf(&p->arena, "'%s': expected a type as f32[1024]", text));
    if (plan_find_buffer(p, b.name))
        return fail(p, d, arena_printf(&p->arena, "two buffers are named %s", b.name));
    VEC_ADD(&p->arena, &p->buffers, b);
    VEC_ADD(&p->arena, &last_launch(p)->args, ((PlanArg){.is_buffer = true, .buffer = p->buffers.n - 1}));
    return true;
}

/* "NAME" or "NAME+BYTES" of a buffer. */
static bool add_buffer_ref(Plan *p, const char *text, Diags *d) {
    const char *plus = strrchr(text, '+');
    uint32_t index = plan_find_buffer(p, text);
    uint64_t offset = 0;
    if (!index && plus) {
        char *end;
        offset = strtoull(plus + 1, &end, 0);
        index = *end || end == plus + 1
                    ? 0
                    : plan_find_buffer(p, arena_printf(&p->arena, "%.*s", (int)(plus - text), text));
    }
    if (!index)
        return fail(p, d, arena_printf(&p->arena, "argument '%s' is neither TYPE:VALUE nor a buffer", text));
    VEC_ADD(&p->arena, &last_launch(p)->args,
            ((PlanArg){.is_buffer = true, .buffer = index - 1, .offset_bytes = offset}));
    return true;
}

bool plan_add_arg(Plan *p, const char *text, Diags *d) {
    if (strncmp(text, "buf:", 4) == 0 || strncmp(text, "out:", 4) == 0)
        return add_buffer_arg(p, text, text[0] == 'o', d);
    const char *colon = strchr(text, ':');
    if (!colon)
        return add_buffer_ref(p, text, d);
    const Scalar *type;
    uint64_t count;
    bool is_array;
    PlanArg arg = {0};
    if (!parse_type(text, colon, &type, &count, &is_array) || count == 0 || count > 4096 / type->size_bytes ||
        !parse_values(p, type, count, colon + 1, &arg.bytes))
        return fail(
            p, d,
            arena_printf(&p->arena, "argument '%s': expected TYPE:VALUE, as u32:7 or f32[2]:1,0.5", text));
    arg.size_bytes = (uint32_t)count * type->size_bytes;
    VEC_ADD(&p->arena, &last_launch(p)->args, arg);
    return true;
}

bool plan_add_expect(Plan *p, const char *text, Diags *d) {
    p->loc = (SrcLoc){0};
    const char *equals = strchr(text, '=');
    if (!equals)
        return fail(p, d, arena_printf(&p->arena, "'%s': expected NAME=@FILE or NAME=VALUE,...", text));
    uint32_t index = plan_find_buffer(p, arena_printf(&p->arena, "%.*s", (int)(equals - text), text));
    if (!index)
        return fail(p, d, arena_printf(&p->arena, "'%s': no buffer of that name", text));
    PlanCheck c = {.buffer = index - 1};
    if (equals[1] == '@')
        c.equals = arena_printf(&p->arena, "%s", equals + 1);
    else {
        c.nvalues = 1;
        for (const char *s = equals; *s; s++)
            c.nvalues += *s == ',';
        if (!parse_values(p, p->buffers.at[index - 1].type, c.nvalues, equals + 1, &c.values))
            return fail(p, d, arena_printf(&p->arena, "'%s': malformed value", text));
    }
    VEC_ADD(&p->arena, &p->checks, c);
    return true;
}

/* ---- memory ---- */
static bool read_data(Plan *p, const char *at_file, Diags *d, char **data, size_t *size) {
    const char *name = at_file + 1;
    if (p->data_dir && *name != '/')
        name = arena_printf(&p->arena, "%s/%s", p->data_dir, name);
    return file_read(&p->arena, name, d, data, size);
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* "random:SEED" or "random:SEED:LO:HI". */
typedef struct {
    uint64_t state;
    bool has_range;
    double lo, hi;
} Random;

static bool parse_random(const char *init, Random *r) {
    if (strncmp(init, "random:", 7) != 0)
        return false;
    const char *s = init + 7;
    char *end;
    r->state = strtoull(s, &end, 0);
    if (end == s || !*end)
        return end > s;
    r->has_range = true;
    if (*end != ':')
        return false;
    s = end + 1;
    r->lo = strtod(s, &end);
    if (end == s || *end != ':')
        return false;
    s = end + 1;
    r->hi = strtod(s, &end);
    return end > s && !*end && r->hi > r->lo && r->hi - r->lo < 0x1p53;
}

/* Integers LO to HI - 1, floating-point values of [LO, HI). */
static void random_in_range(const Scalar *t, Random *r, uint8_t out[8]) {
    double unit = (double)(next_random(&r->state) >> 40) * 0x1p-24, v = r->lo + unit * (r->hi - r->lo);
    int64_t whole = (int64_t)floor(v);
    if (t->kind == 'f')
        scalar_store(t, v, out);
    else
        memcpy(out, &whole, t->size_bytes);
}

static void fill_element(const Scalar *t, const char *init, uint64_t i, Random *random, uint8_t out[8]) {
    if (random->has_range) {
        random_in_range(t, random, out);
        return;
    }
    uint64_t *state = &random->state;
    if (*init == 'o')
        scalar_store(t, 1, out);
    else if (*init == 'i') {
        if (t->kind == 'f')
            scalar_store(t, (double)i, out);
        else
            memcpy(out, &i, t->size_bytes);
    } else {
        uint64_t r = next_random(state);
        if (t->kind == 'f') /* uniform in [0, 1) */
            scalar_store(t, (double)(r >> 40) * 0x1p-24, out);
        else
            memcpy(out, &r, t->size_bytes);
    }
}

static bool init_buffer(Plan *p, const PlanBuffer *b, SimMemory *mem, Diags *d) {
    uint64_t size = b->count * b->type->size_bytes;
    if (b->bytes)
        return simmem_write(mem, b->address, b->bytes, size) || buffer_fail(p, d, b, "cannot be initialised");
    if (b->init[0] == '@') {
        char *data;
        size_t n;
        if (!read_data(p, b->init, d, &data, &n))
            return false;
        if (n != size)
            return buffer_fail(p, d, b,
                               arena_printf(&p->arena, "%s has %zu bytes, the buffer %llu", b->init + 1, n,
                                            (unsigned long long)size));
        return simmem_write(mem, b->address, data, size);
    }
    SimAlloc *a = simmem_find(mem, b->address, size);
    Random random = {0};
    if (strncmp(b->init, "pointers:", 9) == 0)
        return true; /* when all buffers have addresses */
    bool known = parse_random(b->init, &random) || strcmp(b->init, "zero") == 0 ||
                 strcmp(b->init, "zeros") == 0 || strcmp(b->init, "ones") == 0 ||
                 strcmp(b->init, "iota") == 0;
    if (!known)
        return buffer_fail(p, d, b,
                           arena_printf(&p->arena,
                                        "initial value '%s' is none of zero, ones, iota, random:SEED, "
                                        "random:SEED:LO:HI, pointers:NAME:STRIDE, @FILE",
                                        b->init));
    for (uint64_t i = 0; b->init[0] != 'z' && i < b->count; i++) {
        uint8_t value[8];
        fill_element(b->type, b->init, i, &random, value);
        memcpy(a->data + i * b->type->size_bytes, value, b->type->size_bytes);
    }
    simmem_mark_written(a, 0, size);
    return true;
}

/* "pointers:NAME:STRIDE": element i is the address of byte i * STRIDE of the buffer NAME, from its start
 * again behind the last whole STRIDE. */
static bool init_pointers(Plan *p, const PlanBuffer *b, SimMemory *mem, Diags *d) {
    const char *name = b->init + 9, *colon = strchr(name, ':');
    uint32_t index =
        colon ? plan_find_buffer(p, arena_printf(&p->arena, "%.*s", (int)(colon - name), name)) : 0;
    char *end = NULL;
    uint64_t stride = colon ? strtoull(colon + 1, &end, 0) : 0;
    const PlanBuffer *to = index ? &p->buffers.at[index - 1] : NULL;
    uint64_t n = to && stride ? to->count * to->type->size_bytes / stride : 0;
    if (!n || *end || b->type->size_bytes != 8)
        return buffer_fail(
            p, d, b,
            "pointers:NAME:STRIDE needs elements of 8 bytes and another buffer of STRIDE bytes or more");
    for (uint64_t i = 0; i < b->count; i++) {
        uint64_t address = to->address + i % n * stride;
        simmem_write(mem, b->address + 8 * i, &address, 8);
    }
    return true;
}

SimMemory *plan_memory(Plan *p, Diags *d) {
    SimMemory *mem = simmem_create();
    bool good = mem || fail(p, d, "no memory on this host");
    for (uint32_t i = 0; good && i < p->buffers.n; i++) {
        PlanBuffer *b = &p->buffers.at[i];
        if (b->count > MAX_BUFFER_BYTES / b->type->size_bytes)
            good = buffer_fail(p, d, b, "larger than 16 GiB");
        else if (!(b->address = simmem_alloc(mem, b->name, b->count * b->type->size_bytes)))
            good = buffer_fail(p, d, b, "cannot be allocated");
        good = good && init_buffer(p, b, mem, d);
    }
    for (uint32_t i = 0; good && i < p->buffers.n; i++)
        if (p->buffers.at[i].init && strncmp(p->buffers.at[i].init, "pointers:", 9) == 0)
            good = init_pointers(p, &p->buffers.at[i], mem, d);
    if (good)
        return mem;
    if (mem)
        simmem_free(mem);
    return NULL;
}

/* ---- parameters ---- */
bool plan_params(Plan *p, const PlanLaunch *l, const char *kernel, const PlanParam *params, uint32_t nparams,
                 const uint8_t **block, uint32_t *size_bytes, Diags *d) {
    uint32_t end = 0;
    if (l->args.n != nparams)
        return diag_in(d, p->source ? p->source : d->source, l->loc, DIAG_E0503, kernel,
                       arena_printf(&p->arena, "%u given, the kernel takes %u", l->args.n, nparams));
    for (uint32_t i = 0; i < nparams; i++)
        if (params[i].offset_bytes + params[i].size_bytes > end)
            end = params[i].offset_bytes + params[i].size_bytes;
    uint8_t *out = arena_alloc(&p->arena, end);
    for (uint32_t i = 0; i < nparams; i++) {
        const PlanArg *a = &l->args.at[i];
        uint32_t size = a->is_buffer ? 8 : a->size_bytes;
        if (size != params[i].size_bytes)
            return diag_in(d, p->source ? p->source : d->source, l->loc, DIAG_E0503, kernel,
                           arena_printf(&p->arena, "argument %u has %u bytes, the parameter %u", i, size,
                                        params[i].size_bytes));
        uint64_t address = a->is_buffer ? p->buffers.at[a->buffer].address + a->offset_bytes : 0;
        for (unsigned k = 0; k < size; k++)
            out[params[i].offset_bytes + k] = a->is_buffer ? (uint8_t)(address >> (8 * k)) : a->bytes[k];
    }
    *block = out;
    *size_bytes = end;
    return true;
}

/* ---- checks ---- */
static bool elements_agree(const PlanCheck *c, const Scalar *t, const uint8_t *have, const uint8_t *want) {
    if (memcmp(have, want, t->size_bytes) == 0)
        return true;
    if (t->kind != 'f' || (!c->ulp && c->abs == 0))
        return false;
    if (scalar_ulps(t, have, want) <= c->ulp)
        return true;
    double gap = fabs(scalar_value(t, have) - scalar_value(t, want));
    return gap <= c->abs; /* false for a NaN */
}

static bool check_values(const PlanBuffer *b, const PlanCheck *c, const uint8_t *have, const uint8_t *want,
                         uint64_t n, Diags *d) {
    uint64_t wrong = 0, first = 0;
    for (uint64_t i = 0; i < n; i++)
        if (!elements_agree(c, b->type, have + i * b->type->size_bytes, want + i * b->type->size_bytes) &&
            wrong++ == 0)
            first = i;
    if (!wrong)
        return true;
    char x[64], y[64];
    scalar_print(b->type, have + first * b->type->size_bytes, x);
    scalar_print(b->type, want + first * b->type->size_bytes, y);
    return diag(d, (SrcLoc){0}, DIAG_E0520, b->name, (unsigned long long)first, x, y,
                (unsigned long long)wrong, (unsigned long long)n);
}

/* What a check compares with, and its size. */
static bool expected(Plan *p, const PlanCheck *c, const uint8_t **want, Diags *d) {
    const PlanBuffer *b = &p->buffers.at[c->buffer];
    uint64_t size = b->count * b->type->size_bytes;
    char *data = (char *)(uintptr_t)c->values;
    size_t n = c->nvalues * b->type->size_bytes;
    if (c->equals && !read_data(p, c->equals, d, &data, &n))
        return false;
    *want = (const uint8_t *)data;
    return n == size || buffer_fail(p, d, b,
                                    arena_printf(&p->arena, "has %llu bytes, what is expected has %zu",
                                                 (unsigned long long)size, n));
}

bool plan_read_expected(Plan *p, Diags *d) {
    for (uint32_t i = 0; i < p->checks.n; i++)
        if (!p->checks.at[i].has_hash && !expected(p, &p->checks.at[i], &p->checks.at[i].want, d))
            return false;
    return true;
}

bool plan_check(Plan *p, const SimMemory *mem, uint32_t *failures, Diags *d) {
    for (uint32_t i = 0; i < p->checks.n; i++) {
        const PlanCheck *c = &p->checks.at[i];
        const PlanBuffer *b = &p->buffers.at[c->buffer];
        uint64_t size = b->count * b->type->size_bytes;
        const SimAlloc *a = simmem_find(mem, b->address, size);
        if (!a)
            return buffer_fail(p, d, b, "is gone");
        const uint8_t *have = a->data + (b->address - a->address);
        if (c->has_hash) {
            uint64_t hash = XXH64(have, size, 0);
            if (hash != c->hash) {
                diag(d, (SrcLoc){0}, DIAG_E0521, b->name, (unsigned long long)hash,
                     (unsigned long long)c->hash);
                ++*failures;
            }
            continue;
        }
        const uint8_t *want = c->want;
        if (!want && !expected(p, c, &want, d))
            return false;
        if (!check_values(b, c, have, want, b->count, d))
            ++*failures;
    }
    return true;
}
