/* Scopes: see scope.h. A scope is a jump target on the stack of scope_run and a hash table of what the work
 * holds: blocks of malloc, which carry nothing of ours, and guarded objects. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "base/clock.h"
#include "base/rng.h"
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *object;
    void (*release)(void *object); /* NULL: a block of malloc */
    size_t size_bytes;
} Held;

typedef struct Scope {
    struct Scope *outer;
    Held *held; /* open addressing, a power of two, object NULL is empty */
    size_t cap, n;
    size_t used_bytes;
    ScopeLimits limits; /* seconds: when the thread's clock shows this */
    ScopeResult result;
    jmp_buf start;
} Scope;

static _Thread_local Scope *current;

static size_t place_of(const Scope *scope, const void *object) {
    size_t slot = (size_t)rng_mix((uint64_t)(uintptr_t)object) & (scope->cap - 1);
    while (scope->held[slot].object && scope->held[slot].object != object)
        slot = (slot + 1) & (scope->cap - 1);
    return slot;
}

static bool grow_table(Scope *scope) {
    Scope bigger = {.cap = scope->cap ? scope->cap * 2 : 64};
    bigger.held = calloc(bigger.cap, sizeof *bigger.held);
    if (!bigger.held)
        return false;
    for (size_t i = 0; i < scope->cap; i++)
        if (scope->held[i].object)
            bigger.held[place_of(&bigger, scope->held[i].object)] = scope->held[i];
    free(scope->held);
    scope->held = bigger.held;
    scope->cap = bigger.cap;
    return true;
}

/* Make sure that one more can be held. */
static void make_room(void) {
    if (current && current->n * 2 >= current->cap && !grow_table(current))
        scope_give_up(SCOPE_MEMORY, NULL);
}

/* There is room. */
static void hold(void *object, void (*release)(void *), size_t size_bytes) {
    if (!current)
        return;
    Held *held = &current->held[place_of(current, object)];
    current->n += !held->object; /* one that code outside the library released by itself may stand there */
    current->used_bytes += size_bytes - held->size_bytes;
    *held = (Held){object, release, size_bytes};
}

/* Forget an object if it is held; those behind it in its run move up, so that no search breaks off early. */
static void let_go(const void *object) {
    Scope *scope = current;
    if (!scope || !scope->cap)
        return;
    size_t hole = place_of(scope, object), mask = scope->cap - 1;
    if (!scope->held[hole].object)
        return;
    scope->n--;
    scope->used_bytes -= scope->held[hole].size_bytes;
    for (size_t i = (hole + 1) & mask; scope->held[i].object; i = (i + 1) & mask) {
        size_t home = (size_t)rng_mix((uint64_t)(uintptr_t)scope->held[i].object) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            scope->held[hole] = scope->held[i];
            hole = i;
        }
    }
    scope->held[hole] = (Held){0};
}

/* Objects first: what they are made of may be blocks that are held, too. */
static void release_all(Scope *scope) {
    for (int blocks = 0; blocks < 2; blocks++)
        for (size_t i = 0; i < scope->cap; i++) {
            const Held *held = &scope->held[i];
            if (held->object && blocks && !held->release)
                free(held->object);
            else if (held->object && !blocks && held->release)
                held->release(held->object);
        }
}

ScopeResult scope_run(ScopeBody *body, void *user, const ScopeLimits *limits) {
    Scope scope = {.outer = current, .limits = limits ? *limits : (ScopeLimits){0}};
    if (scope.limits.seconds > 0)
        scope.limits.seconds += clock_thread_seconds();
    current = &scope;
    if (setjmp(scope.start) == 0)
        body(user);
    current = scope.outer;
    free(scope.held);
    return scope.result;
}

_Noreturn void scope_give_up(ScopeEnd why, const char *what) {
    if (!current)
        __builtin_trap(); /* never in the library, whose every function runs in a scope */
    current->result = (ScopeResult){why, what};
    release_all(current); /* here, where guarded objects on the stack are still alive */
    longjmp(current->start, 1);
}

ScopeLimits scope_rest(void) {
    ScopeLimits rest = {0};
    if (!current)
        return rest;
    if (current->limits.bytes) /* 0 would be no limit */
        rest.bytes =
            current->used_bytes < current->limits.bytes ? current->limits.bytes - current->used_bytes : 1;
    if (current->limits.seconds > 0) {
        double left = current->limits.seconds - clock_thread_seconds();
        rest.seconds = left > 1e-6 ? left : 1e-6;
    }
    return rest;
}

void scope_poll(void) {
    const ScopeLimits *limits = current ? &current->limits : NULL;
    if (limits && limits->cancel && limits->cancel(limits->cancel_user))
        scope_give_up(SCOPE_CANCELLED, NULL);
    if (limits && limits->seconds > 0 && clock_thread_seconds() > limits->seconds)
        scope_give_up(SCOPE_TIME, NULL);
}

void scope_guard(void *object, void (*release)(void *object)) {
    make_room();
    hold(object, release, 0);
}

void scope_unguard(void *object) { let_go(object); }

/* ---- memory ---- */

/* May `more` bytes be allocated? There is room for the block in the table. */
static void ask_for(size_t more) {
    make_room();
    if (current && current->limits.bytes &&
        (more > current->limits.bytes || current->used_bytes > current->limits.bytes - more))
        scope_give_up(SCOPE_MEMORY, NULL);
}

static void *got(void *block, size_t size_bytes) {
    if (!block)
        scope_give_up(SCOPE_MEMORY, NULL);
    hold(block, NULL, size_bytes);
    return block;
}

void *mem_alloc(size_t size_bytes) {
    ask_for(size_bytes);
    return got(malloc(size_bytes ? size_bytes : 1), size_bytes);
}

void *mem_zeroed(size_t count, size_t elem_bytes) {
    size_t size_bytes;
    if (__builtin_mul_overflow(count, elem_bytes, &size_bytes))
        scope_give_up(SCOPE_MEMORY, NULL);
    ask_for(size_bytes);
    return got(calloc(size_bytes ? size_bytes : 1, 1), size_bytes);
}

void *mem_aligned(size_t align_bytes, size_t size_bytes) {
    void *block = NULL;
    ask_for(size_bytes);
    return got(posix_memalign(&block, align_bytes, size_bytes ? size_bytes : 1) ? NULL : block, size_bytes);
}

void *mem_resize(void *old, size_t size_bytes) {
    ask_for(size_bytes);
    if (!old)
        return got(malloc(size_bytes ? size_bytes : 1), size_bytes);
    Held was = {0};
    if (current)
        was = current->held[place_of(current, old)]; /* ask_for has made a table */
    let_go(old);
    void *block = realloc(old, size_bytes ? size_bytes : 1);
    if (!block && was.object) /* still there: to be released with the rest */
        hold(was.object, was.release, was.size_bytes);
    return got(block, size_bytes);
}

char *mem_text(const char *text) {
    size_t size_bytes = strlen(text) + 1;
    return memcpy(mem_alloc(size_bytes), text, size_bytes);
}

void mem_free(void *block) {
    if (block)
        let_go(block);
    free(block);
}

/* ---- streams ---- */

/* stdio calls this with its lock held, so it never gives up: text_close does. */
static ssize_t add_text(void *user, const char *bytes, size_t size_bytes) {
    TextStream *stream = user;
    if (stream->failed)
        return 0;
    if (stream->cap_bytes - stream->size_bytes <= size_bytes) {
        size_t cap = (stream->size_bytes + size_bytes) * 2 + 64;
        char *text =
            cap < stream->cap_bytes ? NULL : realloc(stream->text, cap); /* more than there are sizes */
        if (!text) {
            stream->failed = 1;
            return 0;
        }
        stream->text = text;
        stream->cap_bytes = cap;
    }
    memcpy(stream->text + stream->size_bytes, bytes, size_bytes);
    stream->size_bytes += size_bytes;
    return (ssize_t)size_bytes;
}

static void drop_stream(void *object) {
    TextStream *stream = object;
    stream->failed = 1; /* what stdio still holds goes nowhere */
    fclose(stream->out);
    free(stream->text);
    free(stream);
}

TextStream *text_open(void) {
    TextStream *stream = mem_zeroed(1, sizeof *stream);
    make_room();
    stream->out = fopencookie(stream, "w", (cookie_io_functions_t){.write = add_text});
    if (!stream->out)
        scope_give_up(SCOPE_MEMORY, NULL);
    setvbuf(stream->out, stream->buffer, _IOFBF, sizeof stream->buffer);
    let_go(stream); /* from now on drop_stream releases the block, too */
    hold(stream, drop_stream, sizeof *stream);
    return stream;
}

char *text_close(TextStream *stream, size_t *size_bytes) {
    bool good = fflush(stream->out) == 0 && add_text(stream, "", 0) == 0 && !stream->failed;
    if (!good)
        scope_give_up(SCOPE_MEMORY, NULL);
    char *text = stream->text;
    text[stream->size_bytes] = 0;
    size_t bytes = stream->size_bytes;
    stream->text = NULL;
    text_drop(stream); /* its place in the table is free now */
    hold(text, NULL, bytes + 1);
    if (size_bytes)
        *size_bytes = bytes;
    return text;
}

void text_drop(TextStream *stream) {
    let_go(stream);
    drop_stream(stream);
}
