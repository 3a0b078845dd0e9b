/* What a module says of its kernels, for hd_kernels. The array, names and parameters are one block of memory.
 * SPDX-License-Identifier: MIT */
#include "tools/library/api.h"
#include "base/scope.h"
#include <string.h>

typedef struct {
    HdKernel *kernels;
    size_t n;
} KernelCall;

/* Room for the block: first counted, then filled. */
typedef struct {
    char *at; /* NULL: only count */
    size_t used;
} Room;

static void *take_room(Room *block, size_t size) {
    void *place = block->at ? block->at + block->used : NULL;
    block->used += (size + 15) / 16 * 16;
    return place;
}

static char *take_text(Room *block, const char *text) {
    char *copy = take_room(block, strlen(text) + 1);
    if (copy)
        strcpy(copy, text);
    return copy;
}

static void of_binary(Room *block, const BinFunc *f, HdKernel *out) {
    HdKernel kernel = {.name = take_text(block, f->name),
                       .nparams = f->nparams,
                       .param_bytes = f->param_bytes,
                       .registers = f->nregs,
                       .barriers = f->nbarriers,
                       .stack_bytes = f->stack_bytes,
                       .shared_bytes = f->shared_bytes};
    HdParam *params = take_room(block, f->nparams * sizeof *params);
    memcpy(kernel.max_block, f->maxntid, sizeof kernel.max_block);
    memcpy(kernel.req_block, f->reqntid, sizeof kernel.req_block);
    for (uint32_t k = 0; params && k < f->nparams; k++)
        params[k] = (HdParam){f->params[k].offset_bytes, f->params[k].size_bytes};
    kernel.params = params;
    if (out)
        *out = kernel;
}

static void of_ptx(Room *block, const PtxModule *m, const PtxFunc *f, HdKernel *out) {
    HdKernel kernel = {.name = take_text(block, str_text(&m->strings, f->name)), .nparams = f->nparams};
    HdParam *params = take_room(block, f->nparams * sizeof *params);
    memcpy(kernel.max_block, f->maxntid, sizeof kernel.max_block);
    memcpy(kernel.req_block, f->reqntid, sizeof kernel.req_block);
    for (uint32_t k = 0; k < f->nparams; k++) {
        const PtxVar *var = &m->vars[f->params[k]];
        HdParam param = {(uint32_t)var->param_offset_bytes, (uint32_t)var->size_bytes};
        if (param.offset_bytes + param.size_bytes > kernel.param_bytes)
            kernel.param_bytes = param.offset_bytes + param.size_bytes;
        if (params)
            params[k] = param;
    }
    kernel.params = params;
    if (out)
        *out = kernel;
}

/* With kernels NULL: only counts. Returns how many there are. */
static size_t list(Room *block, const HdModule *module, HdKernel *kernels) {
    size_t n = 0;
    uint32_t nfuncs = module->binary ? module->binary->nfuncs : module->ptx->nfuncs;
    for (uint32_t k = 0; k < nfuncs; k++) {
        HdKernel *out = kernels ? &kernels[n] : NULL;
        if (module->binary && module->binary->funcs[k].is_entry)
            of_binary(block, &module->binary->funcs[k], out), n++;
        else if (module->ptx && module->ptx->funcs[k].is_entry && module->ptx->funcs[k].has_body)
            of_ptx(block, module->ptx, &module->ptx->funcs[k], out), n++;
    }
    return n;
}

static void work(ApiCall *call) {
    KernelCall *result = (KernelCall *)(uintptr_t)call->options;
    const HdModule *module = call->binary;
    Room block = {0};
    result->n = list(&block, module, NULL);
    call->status = HD_OK;
    if (!result->n)
        return;
    size_t head = (result->n * sizeof *result->kernels + 15) / 16 * 16;
    result->kernels = mem_zeroed(1, head + block.used);
    block = (Room){.at = (char *)result->kernels + head};
    list(&block, module, result->kernels);
}

HdStatus hd_kernels(const HdModule *module, HdKernel **kernels, size_t *n) {
    KernelCall result = {0};
    if (kernels)
        *kernels = NULL;
    if (n)
        *n = 0;
    if (!module || !kernels || !n)
        return HD_ERR_USAGE;
    HdStatus status = hd_run(
        work,
        &(ApiCall){.context = module->context, .binary = (HdModule *)(uintptr_t)module, .options = &result});
    if (status != HD_OK)
        return status;
    *kernels = result.kernels;
    *n = result.n;
    return status;
}
