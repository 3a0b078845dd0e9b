/* What threads print, as memory: see printed.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/compare/printed.h"
#include "frontend/system.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static uint64_t threads_of(const PlanLaunch *launch) {
    uint64_t n = 1;
    for (unsigned i = 0; i < 3; i++)
        n *= (uint64_t)launch->grid[i] * launch->block[i];
    return n;
}

bool diff_printed_place(const PtxModule *module, const Plan *plan, SimMemory *mem) {
    bool prints = false;
    for (uint32_t i = 0; i < module->nfuncs; i++)
        prints |= ptx_system_func(module, &module->funcs[i]) == SYSTEM_VPRINTF;
    uint64_t most = 0;
    for (uint32_t i = 0; i < plan->launches.n; i++) {
        uint64_t n = threads_of(&plan->launches.at[i]);
        most = n > most ? n : most;
    }
    return !prints || !most || simmem_alloc(mem, PRINTED_BUFFER, 8 * most) != 0;
}

PrintedSink diff_printed_sink(const SimMemory *mem, const PlanLaunch *launch) {
    const SimAlloc *alloc = simmem_find_name(mem, PRINTED_BUFFER);
    return (PrintedSink){
        .hashes = alloc ? alloc->data : NULL, .size_bytes = alloc ? alloc->size_bytes : 0, .launch = launch};
}

static uint64_t linear(const uint32_t at[3], const uint32_t size[3]) {
    return at[0] + (uint64_t)size[0] * (at[1] + (uint64_t)size[1] * at[2]);
}

void diff_printed_add(void *user, const SimPrint *print) {
    const uint64_t PRIME = 0x100000001b3;
    PrintedSink *sink = user;
    const uint32_t *block = sink->launch->block;
    uint64_t element = linear(print->block, sink->launch->grid) * block[0] * block[1] * block[2] +
                       linear(print->thread, block);
    uint64_t hash;
    if (!sink->hashes || 8 * element + 8 > sink->size_bytes)
        return;
    memcpy(&hash, sink->hashes + 8 * element, 8);
    for (size_t i = 0; i < print->bytes; i++)
        hash = (hash + (uint8_t)print->text[i] + 1) * PRIME;
    memcpy(sink->hashes + 8 * element, &hash, 8);
    if (sink->text && element == sink->watched)
        fwrite(print->text, 1, print->bytes, sink->text->out);
}

static void show(const char *text, size_t bytes, size_t from, char out[PRINTED_SHOWN_BYTES]) {
    size_t n = 0;
    for (size_t i = from; i < bytes && (i == from || text[i - 1] != '\n') && n + 5 < PRINTED_SHOWN_BYTES; i++)
        if (text[i] == '\n')
            n += (size_t)snprintf(out + n, 3, "\\n");
        else if (isprint((unsigned char)text[i]) && text[i] != '\\' && text[i] != '"')
            out[n++] = text[i];
        else
            n += (size_t)snprintf(out + n, 5, "\\x%02x", (unsigned char)text[i]);
    out[n] = 0;
}

void diff_printed_show(const char *text, size_t bytes, const char *other, size_t other_bytes,
                       char shown[PRINTED_SHOWN_BYTES], char other_shown[PRINTED_SHOWN_BYTES]) {
    size_t line = 0;
    for (size_t i = 0; i < bytes && i < other_bytes && text[i] == other[i]; i++)
        if (text[i] == '\n')
            line = i + 1;
    show(text, bytes, line, shown);
    show(other, other_bytes, line, other_shown);
}
