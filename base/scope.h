/* Host memory, and work that can be given up in the middle. `scope_run` runs a function; while it runs, all
 * memory comes from mem_* (arenas take theirs from there too), which never return NULL: when memory runs out,
 * or code finds itself wrong, `scope_give_up` releases everything that the work has allocated or guards and
 * returns to `scope_run`, which says why. Work that comes to its end keeps what it allocated. So a function
 * of the library either does its work or leaves no trace, and nothing in between needs to look at a NULL.
 * Hence the one rule: what was there before the scope is not changed by work inside it (modules are const to
 * whatever reads them). Scopes nest (a message callback may call the library for another context); each
 * thread has its own. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_SCOPE_H
#define HEDDLE_BASE_SCOPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum { SCOPE_DONE, SCOPE_MEMORY, SCOPE_TIME, SCOPE_CANCELLED, SCOPE_INTERNAL } ScopeEnd;
typedef struct {
    ScopeEnd end;
    const char *what; /* SCOPE_INTERNAL: a constant text */
} ScopeResult;
typedef void ScopeBody(void *user);

typedef struct {
    size_t bytes;               /* more memory than this at a time counts as run out; 0: no limit */
    double seconds;             /* of the thread's processor time, then SCOPE_TIME; 0: no limit */
    bool (*cancel)(void *user); /* true: SCOPE_CANCELLED; NULL: never */
    void *cancel_user;
} ScopeLimits;

/* Run body(user); NULL: without limits. */
ScopeResult scope_run(ScopeBody *body, void *user, const ScopeLimits *limits);
/* What is left of the limits of the scope that runs, without its `cancel`: for a scope in another thread. */
ScopeLimits scope_rest(void);
/* Long work calls this every few milliseconds: the place where it is given up for time or because the caller
 * wants it. */
void scope_poll(void);
/* Outside of every scope (a test) it ends the process by a signal. */
_Noreturn void scope_give_up(ScopeEnd why, const char *what);
/* `release(object)` is called if the work is given up before `scope_unguard(object)`. For what holds memory
 * of its own: a stream, a tree of another library. */
void scope_guard(void *object, void (*release)(void *object));
void scope_unguard(void *object);

/* Memory of malloc, so that `free` releases it once the scope has ended; within, mem_free must. */
void *mem_alloc(size_t size_bytes); /* not cleared */
void *mem_zeroed(size_t count, size_t elem_bytes);
void *mem_aligned(size_t align_bytes, size_t size_bytes); /* not cleared; align: a power of two, 8 at least */
void *mem_resize(void *old, size_t size_bytes);           /* what is new is not cleared */
char *mem_text(const char *text);                         /* a copy */
void mem_free(void *block);                               /* NULL is nothing */

/* A stream into memory: write to ->out, then close it for the text, which has a NUL behind its last byte. */
typedef struct TextStream {
    FILE *out;
    char *text;
    size_t size_bytes, cap_bytes;
    int failed;
    char buffer[1024]; /* of the stream: stdio allocates none */
} TextStream;
TextStream *text_open(void);
char *text_close(TextStream *stream, size_t *size_bytes); /* for mem_free; size_bytes may be NULL */
void text_drop(TextStream *stream);                       /* close it, the text is not wanted */
#endif
