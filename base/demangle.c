/* __cxa_demangle of libstdc++ or libc++abi, loaded when it is first asked for.
 * SPDX-License-Identifier: MIT */
#include "base/demangle.h"
#include "base/scope.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *Demangler(const char *name, char *buffer, size_t *size_bytes, int *status);

static Demangler *find_demangler(void) {
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
        Demangler *function;
        memcpy(&function, &found, sizeof function);
        if (found)
            return function;
    }
    return NULL;
}

const char *str_demangle(Arena *a, const char *name) {
    int status = -1;
    if (strncmp(name, "_Z", 2) != 0)
        return NULL;
    Demangler *function = find_demangler();
    char *text = function ? function(name, NULL, NULL, &status) : NULL;
    if (!text)
        return NULL;
    scope_guard(text, free);
    const char *copy = status == 0 ? arena_printf(a, "%s", text) : NULL;
    scope_unguard(text);
    free(text); /* it is that library's */
    return copy;
}

/* Behind the type of the result, which names of templates have: "void lp<int>(int*)". */
static const char *behind_type(const char *plain) {
    const char *start = plain;
    unsigned depth = 0;
    for (const char *p = plain; *p && (*p != '(' || depth); p++) {
        depth += *p == '<';
        depth -= *p == '>' && depth;
        if (*p == ' ' && !depth)
            start = p + 1;
    }
    return start;
}

/* What follows `name` in `text`, blanks left aside in both ("f(int*,float)" is "f(int*, float)"); NULL if
 * `text` starts otherwise. */
static const char *behind_name(const char *text, const char *name) {
    for (;; text++, name++) {
        text += strspn(text, " ");
        name += strspn(name, " ");
        if (!*name)
            return text;
        if (*text != *name)
            return NULL;
    }
}

bool str_is_named(Arena *arena, const char *symbol, const char *name) {
    if (strcmp(symbol, name) == 0)
        return true;
    const char *plain = str_demangle(arena, symbol);
    const char *starts[] = {plain, plain ? behind_type(plain) : NULL};
    for (unsigned i = 0; plain && name[strspn(name, " ")] && i < 2; i++) {
        const char *behind = behind_name(starts[i], name);
        if (behind && (!*behind || (*behind == '(' && !strchr(name, '('))))
            return true;
    }
    return false;
}

const char *str_list_symbols(Arena *arena, const char *const *symbols, uint32_t n) {
    const char **part = ARENA_ARRAY(arena, const char *, n + 1);
    size_t bytes = 1;
    for (uint32_t i = 0; i < n; i++) {
        const char *plain = str_demangle(arena, symbols[i]), *comma = i ? ", " : "";
        part[i] = plain ? arena_printf(arena, "%s%s (%s)", comma, symbols[i], plain)
                        : arena_printf(arena, "%s%s", comma, symbols[i]);
        bytes += strlen(part[i]);
    }
    char *list = arena_alloc(arena, bytes), *end = list;
    for (uint32_t i = 0; i < n; i++)
        end = stpcpy(end, part[i]);
    *end = 0;
    return n ? list : "none";
}
