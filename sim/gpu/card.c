/* A card and its process: see card.h.
 * SPDX-License-Identifier: MIT */
#include "sim/gpu/card.h"
#include "sim/tensormap.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FILL = 0xa5, CUDA_ELF_MACHINE = 190 };

/* What the process keeps from launch to launch, and the launch at hand. */
typedef struct {
    CudaDriver cuda;
    bool is_open, has_context;
    CudaDevice ordinal;
    GpuDevice device;
    /* the launch */
    const GpuModule *module; /* NULL: only the device is asked for */
    const char *kernel;
    const Launch *launch;
    const SimMemory *mem;
    Answer *answer;
    Changes changes;
    CudaModule loaded;
    CudaFunction function;
    CudaAddress block; /* buffers, with SIM_GUARD_BYTES before the first and behind the last */
    uint64_t block_bytes;
    uint64_t *at; /* by allocation: its byte in the block, where a variable leaves its place free */
    GpuImages images;
    CudaAddress *variable; /* by allocation: where the driver has the variable of that name, 0: a buffer */
} Card;

/* ---- errors ---- */
static bool answer_with(Card *card, AnswerKind kind, const char *what, CudaResult result) {
    const char *name = NULL, *text = NULL;
    Answer *out = card->answer;
    if (result != CUDA_SUCCESS) {
        card->cuda.error_name(result, &name);
        card->cuda.error_text(result, &text);
    }
    if (result != CUDA_SUCCESS)
        snprintf(out->text, sizeof out->text, "%s: %s (%d): %s", what, name ? name : "unknown", result,
                 text ? text : "");
    else
        snprintf(out->text, sizeof out->text, "%s", what);
    out->kind = kind;
    return false;
}

static bool good(Card *card, const char *what, CudaResult result) {
    return result == CUDA_SUCCESS || answer_with(card, ANSWER_REFUSED, what, result);
}

/* ---- the card ---- */
static const Target *best_target(unsigned major, unsigned minor) {
    const Target *best = NULL;
    unsigned best_sm = 0;
    for (const Target *const *t = isa_targets; *t; t++) {
        const TargetInfo *info = isa_target_info(*t);
        unsigned sm = info->elf_flags & 0xff;
        if (info->elf_machine == CUDA_ELF_MACHINE && sm / 10 == major && sm % 10 <= minor && sm > best_sm) {
            best = *t;
            best_sm = sm;
        }
    }
    return best;
}

static bool open_card(Card *card) {
    CudaDriver *cuda = &card->cuda;
    GpuDevice *out = &card->device;
    char why[256];
    int count = 0, major = 0, minor = 0, version = 0;
    if (!cuda_driver_open(cuda, why, sizeof why))
        return answer_with(card, ANSWER_ABSENT, why, CUDA_SUCCESS);
    CudaResult result = cuda->init(0);
    if (result == CUDA_SUCCESS)
        result = cuda->device_count(&count);
    if (result != CUDA_SUCCESS || count == 0)
        return answer_with(card, ANSWER_ABSENT, "no card", result ? result : CUDA_ERROR_NO_DEVICE);
    if (!good(card, "cuDeviceGet", cuda->device(&card->ordinal, 0)) ||
        !good(card, "cuDeviceGetName", cuda->device_name(out->name, sizeof out->name, card->ordinal)) ||
        !good(card, "cuDeviceGetAttribute",
              cuda->device_attribute(&major, CUDA_COMPUTE_CAPABILITY_MAJOR, card->ordinal)) ||
        !good(card, "cuDeviceGetAttribute",
              cuda->device_attribute(&minor, CUDA_COMPUTE_CAPABILITY_MINOR, card->ordinal)) ||
        !good(card, "cuDriverGetVersion", cuda->driver_version(&version)))
        return false;
    out->major = (unsigned)major;
    out->minor = (unsigned)minor;
    out->version = (unsigned)version;
    out->target = best_target(out->major, out->minor);
    return true;
}

/* The driver, and for a launch a context, if they are not there yet. */
static bool find_card(Card *card) {
    CudaContext context;
    card->is_open = card->is_open || open_card(card);
    card->answer->device = card->device;
    if (card->is_open && card->module && !card->has_context)
        card->has_context =
            good(card, "cuDevicePrimaryCtxRetain", card->cuda.retain_context(&context, card->ordinal)) &&
            good(card, "cuCtxSetCurrent", card->cuda.set_context(context));
    return card->is_open && (card->has_context || !card->module);
}

/* Code runs on a card of the same major and of the same or a higher minor number. */
static bool card_fits(Card *card) {
    const TargetInfo *info = card->module->target ? isa_target_info(card->module->target) : NULL;
    const GpuDevice *device = &card->answer->device;
    unsigned sm = info ? info->elf_flags & 0xff : 0;
    if (!info ||
        (info->elf_machine == CUDA_ELF_MACHINE && sm / 10 == device->major && sm % 10 <= device->minor))
        return true;
    return answer_with(card, ANSWER_OTHER, info->name, CUDA_SUCCESS);
}

static bool load(Card *card) {
    char log[CARD_LOG_BYTES] = "", what[CARD_LOG_BYTES + 64];
    int options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    CudaResult result = card->cuda.load(&card->loaded, card->module->image, 2, options, values);
    snprintf(what, sizeof what, "it does not load%s%s", *log ? ": " : "", log);
    return good(card, what, result) &&
           good(card, "the kernel is not found",
                card->cuda.get_function(&card->function, card->loaded, card->kernel));
}

/* ---- addresses ---- */
static CudaAddress card_address(const Card *card, uint32_t index) {
    return card->variable[index] ? card->variable[index] : card->block + card->at[index];
}

/* One past the end counts as inside. False: no address of guest memory. */
static bool to_card(const Card *card, uint64_t guest, uint64_t *out) {
    const SimAlloc *alloc = simmem_find(card->mem, guest, 0);
    if (alloc)
        *out = card_address(card, (uint32_t)(alloc - card->mem->allocs)) + (guest - alloc->address);
    return alloc != NULL;
}

static bool to_guest(const Card *card, uint64_t address, uint64_t *out) {
    for (uint32_t past = 0; past < 2; past++) /* inside something, rather than one past the end of another */
        for (uint32_t i = 0; i < card->mem->nallocs; i++) {
            const SimAlloc *alloc = &card->mem->allocs[i];
            CudaAddress base = card_address(card, i);
            if (address >= base && address - base < alloc->size_bytes + past) {
                *out = alloc->address + (address - base);
                return true;
            }
        }
    return false;
}

/* ---- memory ---- */
/* Where the card has everything: one block for buffers, the driver's places for variables. */
static bool place(Card *card) {
    const SimMemory *mem = card->mem;
    card->variable = calloc(mem->nallocs + 1u, sizeof *card->variable);
    card->at = calloc(mem->nallocs + 1u, sizeof *card->at);
    if (!card->variable || !card->at)
        return answer_with(card, ANSWER_REFUSED, "no memory on this host", CUDA_SUCCESS);
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        size_t size_bytes = 0;
        CudaResult result = CUDA_ERROR_NOT_FOUND;
        if (mem->allocs[i].name[0])
            result =
                card->cuda.get_global(&card->variable[i], &size_bytes, card->loaded, mem->allocs[i].name);
        if (result == CUDA_ERROR_NOT_FOUND)
            card->variable[i] = 0;
        else if (!good(card, "cuModuleGetGlobal", result))
            return false;
        else if (size_bytes < mem->allocs[i].size_bytes)
            return answer_with(card, ANSWER_REFUSED, "a variable is smaller in the driver's eyes",
                               CUDA_SUCCESS);
    }
    card->block_bytes = SIM_GUARD_BYTES;
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        uint64_t size_bytes = mem->allocs[i].size_bytes + SIM_GUARD_BYTES + SIM_ALLOC_ALIGN - 1;
        card->at[i] = card->block_bytes;
        card->block_bytes += size_bytes / SIM_ALLOC_ALIGN * SIM_ALLOC_ALIGN;
    }
    return good(card, "cuMemAlloc", card->cuda.allocate(&card->block, card->block_bytes));
}

/* Bytes of an allocation as the card gets them. `out` holds what the card has there: addresses of functions
 * stay as the driver made them. */
static void translate_in(const Card *card, const SimAlloc *alloc, uint8_t *out) {
    for (uint64_t i = 0; i < alloc->size_bytes; i += CARD_WORD_BYTES) {
        uint64_t left = alloc->size_bytes - i, word;
        size_t n = left < CARD_WORD_BYTES ? (size_t)left : CARD_WORD_BYTES;
        memcpy(&word, alloc->data + i, n);
        if (n < CARD_WORD_BYTES || !simmem_is_address(alloc, i) || to_card(card, word, &word))
            memcpy(out + i, &word, n);
    }
}

static bool good_images(Card *card, bool good) {
    return good || answer_with(card, ANSWER_REFUSED, card->images.what, card->images.result);
}

static void translate_out(Card *card, uint32_t index, const uint8_t *sent, const uint8_t *got) {
    const SimAlloc *alloc = &card->mem->allocs[index];
    uint8_t *out = card->changes.data[index], *fate = card->changes.fate[index];
    for (uint64_t i = 0; i < alloc->size_bytes; i += CARD_WORD_BYTES) {
        uint64_t left = alloc->size_bytes - i, word = 0;
        size_t n = left < CARD_WORD_BYTES ? (size_t)left : CARD_WORD_BYTES;
        if (memcmp(sent + i, got + i, n) == 0)
            continue;
        memcpy(&word, got + i, n);
        bool address = n == CARD_WORD_BYTES && to_guest(card, word, &word);
        card->answer->result.naddresses += address;
        fate[i / CARD_WORD_BYTES] = address ? WORD_ADDRESS : WORD_DATA;
        memcpy(out + i, &word, n);
    }
}

/* What a byte of the block would be in the guest: as far behind the buffer before it, or before the first. */
static uint64_t guard_address(const Card *card, uint64_t at) {
    uint32_t i = 0;
    while (i + 1 < card->mem->nallocs && card->at[i + 1] <= at)
        i++;
    return card->mem->nallocs ? card->mem->allocs[i].address + (at - card->at[i]) : SIM_GLOBAL_BASE;
}

/* A byte between the buffers that is not as it was: a store that no buffer takes. */
static bool guards_whole(Card *card, const uint8_t *got) {
    const SimMemory *mem = card->mem;
    uint64_t at = 0; /* in the block */
    for (uint32_t i = 0; i <= mem->nallocs; i++) {
        const SimAlloc *next = i < mem->nallocs ? &mem->allocs[i] : NULL;
        uint64_t end = next ? card->at[i] : card->block_bytes;
        if (next && card->variable[i])
            continue; /* its place in the block is a guard too */
        for (; at < end; at++)
            if (got[at] != FILL) {
                SimTrap *trap = &card->answer->result.trap;
                trap->kind = TRAP_OUT_OF_RANGE;
                trap->has_address = true;
                trap->address = guard_address(card, at);
                return answer_with(card, ANSWER_TRAP,
                                   "found after the launch: bytes that are in no buffer changed",
                                   CUDA_SUCCESS);
            }
        at = next ? end + next->size_bytes : end;
    }
    return true;
}

/* Both hold the block and, behind it, the variables one after another. */
typedef struct {
    uint8_t *sent, *got;
} Images;

typedef bool Mover(Card *card, uint32_t index, uint8_t *sent, uint8_t *got);

static bool send_variable(Card *card, uint32_t index, uint8_t *sent, uint8_t *got) {
    const SimAlloc *alloc = &card->mem->allocs[index];
    (void)got;
    if (!good(card, "cuMemcpyDtoH", card->cuda.copy_out(sent, card->variable[index], alloc->size_bytes)))
        return false;
    translate_in(card, alloc, sent);
    return good(card, "cuMemcpyHtoD", card->cuda.copy_in(card->variable[index], sent, alloc->size_bytes));
}

static bool fetch_variable(Card *card, uint32_t index, uint8_t *sent, uint8_t *got) {
    uint64_t size_bytes = card->mem->allocs[index].size_bytes;
    if (!good(card, "cuMemcpyDtoH", card->cuda.copy_out(got, card->variable[index], size_bytes)))
        return false;
    if (!good_images(card, gpu_images_out(&card->images, &card->mem->allocs[index], got)))
        return false;
    translate_out(card, index, sent, got);
    return true;
}

static bool each_variable(Card *card, const Images *images, Mover *move) {
    uint64_t at = card->block_bytes;
    for (uint32_t i = 0; i < card->mem->nallocs; i++) {
        if (!card->variable[i])
            continue;
        if (!move(card, i, images->sent + at, images->got + at))
            return false;
        at += gpu_words(card->mem->allocs[i].size_bytes) * CARD_WORD_BYTES;
    }
    return true;
}

/* The card's tensor map in place of the copy `bytes` of the guest's. */
static bool tensor_in(Card *card, const uint8_t *guest, uint8_t *bytes) {
    uint64_t address = 0;
    return (to_card(card, gpu_tensor_address(guest), &address) ||
            answer_with(card, ANSWER_REFUSED, "a tensor map of no buffer", CUDA_SUCCESS)) &&
           good(card, "cuTensorMapEncode", gpu_tensor_encode(&card->cuda, bytes, address));
}

/* Those that have an allocation of their own. */
static bool tensors_in(Card *card, uint8_t *block) {
    for (uint32_t i = 0; i < card->mem->nallocs; i++) {
        const SimAlloc *alloc = &card->mem->allocs[i];
        if (!card->variable[i] && alloc->size_bytes == SIM_TENSOR_BYTES && gpu_tensor_is_map(alloc->data) &&
            !tensor_in(card, alloc->data, block + card->at[i]))
            return false;
    }
    return true;
}

static bool send(Card *card, Images *images) {
    uint64_t size_bytes = card->block_bytes;
    for (uint32_t i = 0; i < card->mem->nallocs; i++)
        if (card->variable[i])
            size_bytes += gpu_words(card->mem->allocs[i].size_bytes) * CARD_WORD_BYTES;
    images->sent = malloc(size_bytes);
    images->got = malloc(size_bytes);
    if (!images->sent || !images->got)
        return answer_with(card, ANSWER_REFUSED, "no memory on this host", CUDA_SUCCESS);
    memset(images->sent, FILL, card->block_bytes);
    for (uint32_t i = 0; i < card->mem->nallocs; i++) {
        const SimAlloc *alloc = &card->mem->allocs[i];
        uint8_t *at = images->sent + card->at[i];
        if (card->variable[i])
            continue;
        memcpy(at, alloc->data, alloc->size_bytes); /* what looks like an address and is none stays */
        translate_in(card, alloc, at);
    }
    return tensors_in(card, images->sent) &&
           good(card, "cuMemcpyHtoD", card->cuda.copy_in(card->block, images->sent, card->block_bytes)) &&
           each_variable(card, images, send_variable);
}

static bool fetch(Card *card, const Images *images) {
    if (!good(card, "cuMemcpyDtoH", card->cuda.copy_out(images->got, card->block, card->block_bytes)) ||
        !guards_whole(card, images->got))
        return false;
    for (uint32_t i = 0; i < card->mem->nallocs; i++) {
        if (card->variable[i])
            continue;
        if (!good_images(card,
                         gpu_images_out(&card->images, &card->mem->allocs[i], images->got + card->at[i])))
            return false;
        translate_out(card, i, images->sent + card->at[i], images->got + card->at[i]);
    }
    return each_variable(card, images, fetch_variable);
}

/* ---- the launch ---- */
static SimTrapKind trap_of(CudaResult result) {
    switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE: return TRAP_OUT_OF_RANGE;
    case CUDA_ERROR_MISALIGNED_ADDRESS: return TRAP_MISALIGNED;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: return TRAP_ILLEGAL;
    case CUDA_ERROR_INVALID_PC: return TRAP_PC;
    case CUDA_ERROR_HARDWARE_STACK_ERROR: return TRAP_STACK;
    case CUDA_ERROR_LAUNCH_TIMEOUT: return TRAP_BUDGET;
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_LAUNCH_FAILED: return TRAP_INSTRUCTION;
    default: return TRAP_NONE;
    }
}

/* The parameter block with the card's addresses; NULL: no memory, or answered. */
static uint8_t *card_params(Card *card) {
    const Launch *launch = card->launch;
    uint8_t *params = calloc(launch->param_bytes + 1u, 1);
    if (!params)
        answer_with(card, ANSWER_REFUSED, "no memory on this host", CUDA_SUCCESS);
    if (params && launch->param_bytes)
        memcpy(params, launch->params, launch->param_bytes);
    for (uint32_t i = 0; params && i < launch->naddresses; i++) {
        uint64_t word;
        memcpy(&word, params + launch->address_at[i], CARD_WORD_BYTES);
        if (to_card(card, word, &word))
            memcpy(params + launch->address_at[i], &word, CARD_WORD_BYTES);
    }
    for (uint32_t i = 0; params && i < launch->nhandles; i++)
        if (!good_images(card, gpu_images_handle(&card->images, &launch->handles[i], params))) {
            free(params);
            return NULL;
        }
    /* (aligned in the constant bank, not in the block) */
    for (uint32_t at = 0; params && at + SIM_TENSOR_BYTES <= launch->param_bytes; at += CARD_WORD_BYTES)
        if (gpu_tensor_is_map(launch->params + at) && !tensor_in(card, launch->params + at, params + at)) {
            free(params);
            return NULL;
        }
    return params;
}

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* `extra`: the parameters, for cuLaunchKernel. */
static bool enqueue(Card *card, void **extra) {
    const Launch *launch = card->launch;
    const CudaDriver *cuda = &card->cuda;
    const uint32_t *grid = launch->grid, *block = launch->block, *cluster = launch->cluster;
    CudaLaunchAttribute clusters = {.id = CUDA_CLUSTER_DIMENSION,
                                    .value = {cluster[0], cluster[1], cluster[2]}};
    CudaLaunchConfig config = {.grid = {grid[0], grid[1], grid[2]},
                               .block = {block[0], block[1], block[2]},
                               .shared_bytes = launch->dynamic_shared_bytes,
                               .attributes = &clusters,
                               .nattributes = 1};
    if (!cluster[0])
        return good(card, "cuLaunchKernel",
                    cuda->launch(card->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                 launch->dynamic_shared_bytes, NULL, NULL, extra));
    if (!cuda->launch_ex)
        return answer_with(card, ANSWER_REFUSED, "this driver knows no clusters", CUDA_SUCCESS);
    /* (what a card cannot is an error of the launch) */
    (void)cuda->set_function_attribute(card->function, CUDA_ANY_CLUSTER_SIZE, 1);
    return good(card, "cuLaunchKernelEx", cuda->launch_ex(&config, card->function, NULL, extra));
}

static bool execute(Card *card) {
    const Launch *launch = card->launch;
    size_t param_bytes = launch->param_bytes;
    uint8_t *params = card_params(card);
    void *extra[] = {(void *)CUDA_PARAM_BUFFER, params, (void *)CUDA_PARAM_BUFFER_BYTES, &param_bytes,
                     (void *)CUDA_PARAM_END};
    if (!params)
        return false;
    double start = now();
    bool begun = (!launch->dynamic_shared_bytes ||
                  good(card, "the dynamic shared memory",
                       card->cuda.set_function_attribute(card->function, CUDA_MAX_DYNAMIC_SHARED_BYTES,
                                                         (int)launch->dynamic_shared_bytes))) &&
                 enqueue(card, param_bytes ? extra : NULL);
    free(params);
    if (!begun)
        return false;
    CudaResult result = card->cuda.synchronize();
    card->answer->result.seconds = now() - start;
    if (trap_of(result) == TRAP_NONE)
        return good(card, "the launch", result);
    card->answer->result.trap.kind = trap_of(result);
    return answer_with(card, ANSWER_TRAP, "the card", result);
}

/* The driver maps more addresses than any host has memory: a limit of what a command may use would be an
 * error of cuInit. */
static void lift_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
    }
}

/* Nothing of a launch stays. */
static bool clear(Card *card) {
    bool gone = good_images(card, gpu_images_close(&card->images)) &&
                good(card, "cuMemFree", card->cuda.release(card->block)) &&
                good(card, "cuModuleUnload", card->cuda.unload(card->loaded));
    free(card->at);
    free(card->variable);
    return gone;
}

static bool launch(Card *card) {
    Images images = {0};
    bool done = card_fits(card) && load(card) && place(card) && send(card, &images) &&
                good_images(card, gpu_images_open(&card->images, &card->cuda, card->mem, card->launch) &&
                                      gpu_images_bind(&card->images, card->loaded, card->module)) &&
                execute(card) && fetch(card, &images) && clear(card);
    free(images.sent);
    free(images.got);
    return done;
}

_Noreturn void gpu_serve(int socket) {
    static Answer answer;
    static Card card = {.answer = &answer};
    void *held;
    CardRequest request;
    bool done = true;
    lift_limit();
    while (done && gpu_take(socket, &request, &held)) {
        memset(&answer, 0, sizeof answer);
        card.module = request.module;
        card.kernel = request.kernel;
        card.launch = request.launch;
        card.mem = request.mem;
        done = find_card(&card);
        if (done && card.module)
            done = (gpu_changes_open(&card.changes, card.mem) ||
                    answer_with(&card, ANSWER_REFUSED, "no memory on this host", CUDA_SUCCESS)) &&
                   launch(&card);
        if (done)
            answer.kind = ANSWER_DONE;
        done = gpu_send(socket, &answer, sizeof answer) && done &&
               (!card.module || gpu_send(socket, card.changes.block, card.changes.size_bytes));
        gpu_changes_close(&card.changes);
        free(held);
    }
    _exit(0); /* the context, and a kernel that still runs, end with the process */
}
