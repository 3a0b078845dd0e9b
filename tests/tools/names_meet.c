/* A program with names that the library has inside: each keeps its own, and so does the C library, whose
 * accept(2) was once taken for the parser's. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <heddle.h>
#include <string.h>
#include <sys/socket.h>

static int called;
void *arena_alloc(void *arena, size_t size_bytes);
void *arena_alloc(void *arena, size_t size_bytes) {
    (void)arena;
    (void)size_bytes;
    called++;
    return NULL;
}

int main(void) {
    static const char text[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    HdContext *context = hd_create(NULL);
    HdModule *ptx, *binary;
    int errors = hd_parse(context, "k.ptx", text, strlen(text), &ptx) != HD_OK;
    errors += hd_compile(ptx, NULL, &binary) != HD_OK;
    errors += accept(-1, NULL, NULL) != -1 || errno != EBADF;
    hd_destroy(context);
    return errors || called;
}
