/* What goes over the socket between gpu.c and the process that has the card. Both are one program, the latter
 * forked from the former: pointers to what the program itself holds, targets say, mean the same in both.
 * SPDX-License-Identifier: MIT */
#include "sim/gpu/card.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE_ALIGN = 16 };

/* Begins a request; in its order, each aligned: name, image, names of textures, kernel, parameters, places of
 * addresses, handles, textures, allocations, of each allocation name, bytes, bits of addresses, of each
 * texture its name. */
typedef struct {
    bool has_module;
    GpuModule module;
    Launch launch;
    SimMemory mem; /* of its fields the allocations, and how many textures there are */
} Head;

/* ---- bytes ---- */
bool gpu_send(int socket, const void *bytes, size_t n) {
    const uint8_t *at = bytes;
    while (n) {
        ssize_t sent = send(socket, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool socket_take(int socket, void *bytes, size_t n) {
    uint8_t *at = bytes;
    while (n) {
        ssize_t got = recv(socket, at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- a request ---- */
static void put_piece(FILE *f, const void *bytes, size_t n) {
    static const uint8_t zero[PIECE_ALIGN];
    if (n)
        fwrite(bytes, 1, n, f);
    fwrite(zero, 1, (PIECE_ALIGN - n % PIECE_ALIGN) % PIECE_ALIGN, f);
}

static void *take_piece(uint8_t **at, size_t n) {
    void *piece = *at;
    *at += (n + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    return piece;
}

static char *take_text(uint8_t **at) { return take_piece(at, strlen((const char *)*at) + 1); }
static void put_text(FILE *f, const char *text) { put_piece(f, text, strlen(text) + 1); }

static size_t address_bytes(const SimAlloc *alloc) { return gpu_words(alloc->size_bytes) / 8 + 1; }

bool gpu_ask(int socket, const CardRequest *request) {
    char *blob = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&blob, &size);
    if (!f)
        return false;
    Head head = {.has_module = request->module != NULL};
    if (head.has_module) {
        head.module = *request->module;
        head.launch = *request->launch;
        head.mem.nallocs = request->mem->nallocs;
        head.mem.ntextures = request->mem->ntextures;
    }
    put_piece(f, &head, sizeof head);
    if (head.has_module) {
        put_text(f, head.module.name);
        put_piece(f, head.module.image, head.module.image_bytes);
        put_piece(f, "", 1); /* behind PTX text */
        put_piece(f, head.module.textures, head.module.ntextures * sizeof *head.module.textures);
        for (uint32_t i = 0; i < head.module.ntextures; i++)
            put_text(f, head.module.textures[i]);
        put_text(f, request->kernel);
        put_piece(f, head.launch.params, head.launch.param_bytes);
        put_piece(f, head.launch.address_at, head.launch.naddresses * sizeof *head.launch.address_at);
        put_piece(f, head.launch.handles, head.launch.nhandles * sizeof *head.launch.handles);
        put_piece(f, request->mem->textures, head.mem.ntextures * sizeof *request->mem->textures);
        put_piece(f, request->mem->allocs, head.mem.nallocs * sizeof *request->mem->allocs);
    }
    for (uint32_t i = 0; i < head.mem.nallocs; i++) {
        const SimAlloc *alloc = &request->mem->allocs[i];
        put_text(f, alloc->name);
        put_piece(f, alloc->data, alloc->size_bytes);
        if (alloc->addresses)
            put_piece(f, alloc->addresses, address_bytes(alloc));
    }
    for (uint32_t i = 0; i < head.mem.ntextures; i++)
        put_text(f, request->mem->textures[i].name);
    bool good = !ferror(f);
    good = fclose(f) == 0 && good;
    uint64_t length = size;
    good = good && gpu_send(socket, &length, sizeof length) && gpu_send(socket, blob, size);
    free(blob);
    return good;
}

bool gpu_take(int socket, CardRequest *out, void **held) {
    uint64_t length;
    *held = NULL;
    if (!socket_take(socket, &length, sizeof length) || !(*held = malloc(length)) ||
        !socket_take(socket, *held, length)) {
        free(*held);
        return false;
    }
    uint8_t *at = *held;
    Head *head = take_piece(&at, sizeof *head);
    *out = (CardRequest){0};
    if (!head->has_module)
        return true;
    head->module.name = take_text(&at);
    head->module.image = take_piece(&at, head->module.image_bytes);
    take_piece(&at, 1);
    *out = (CardRequest){.module = &head->module, .launch = &head->launch, .mem = &head->mem};
    const char **textures = take_piece(&at, head->module.ntextures * sizeof *textures);
    for (uint32_t i = 0; i < head->module.ntextures; i++)
        textures[i] = take_text(&at);
    head->module.textures = textures;
    out->kernel = take_text(&at);
    head->launch.params = take_piece(&at, head->launch.param_bytes);
    head->launch.address_at = take_piece(&at, head->launch.naddresses * sizeof *head->launch.address_at);
    head->launch.handles = take_piece(&at, head->launch.nhandles * sizeof *head->launch.handles);
    head->mem.textures = take_piece(&at, head->mem.ntextures * sizeof *head->mem.textures);
    head->mem.allocs = take_piece(&at, head->mem.nallocs * sizeof *head->mem.allocs);
    for (uint32_t i = 0; i < head->mem.nallocs; i++) {
        SimAlloc *alloc = &head->mem.allocs[i];
        alloc->name = take_text(&at);
        alloc->data = take_piece(&at, alloc->size_bytes);
        if (alloc->addresses)
            alloc->addresses = take_piece(&at, address_bytes(alloc));
    }
    for (uint32_t i = 0; i < head->mem.ntextures; i++)
        head->mem.textures[i].name = take_text(&at);
    return true;
}

/* ---- an answer ---- */
bool gpu_changes_open(Changes *changes, const SimMemory *mem) {
    size_t size_bytes = 0;
    for (uint32_t i = 0; i < mem->nallocs; i++)
        size_bytes += gpu_words(mem->allocs[i].size_bytes) * (CARD_WORD_BYTES + 1);
    *changes = (Changes){.block = calloc(size_bytes + 1, 1),
                         .size_bytes = size_bytes,
                         .data = calloc(mem->nallocs + 1u, sizeof *changes->data),
                         .fate = calloc(mem->nallocs + 1u, sizeof *changes->fate)};
    if (!changes->block || !changes->data || !changes->fate)
        return false;
    uint8_t *at = changes->block;
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        uint64_t words = gpu_words(mem->allocs[i].size_bytes);
        changes->data[i] = at;
        changes->fate[i] = at + words * CARD_WORD_BYTES;
        at += words * (CARD_WORD_BYTES + 1);
    }
    return true;
}

void gpu_changes_close(Changes *changes) {
    free(changes->block);
    free(changes->data);
    free(changes->fate);
    *changes = (Changes){0};
}
