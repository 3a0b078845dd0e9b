/* Launches on a real card: see gpu.h. The child process talks to the driver and leaves its answer, with the
 * memory after the launch, in pages that both share; the parent waits, ends it when time is up, and takes
 * over. SPDX-License-Identifier: MIT */
#include "sim/gpu/gpu.h"
#include "sim/gpu/driver.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIME_LIMIT_SECONDS = 20, FILL = 0xa5, LOG_BYTES = 3072, WORD_BYTES = 8, CUDA_ELF_MACHINE = 190 };

/* How far the child came. ANSWER_NONE: it ended without a word. */
typedef enum {
    ANSWER_NONE,
    ANSWER_ABSENT,  /* no driver, no card */
    ANSWER_OTHER,   /* the code is for another card */
    ANSWER_REFUSED, /* the driver does not take it, or cannot */
    ANSWER_TRAP,
    ANSWER_DONE
} AnswerKind;

/* What became of an 8-byte word of memory. */
typedef enum { WORD_SAME, WORD_DATA, WORD_ADDRESS } WordFate;

typedef struct {
    AnswerKind kind;
    GpuDevice device;
    GpuResult result;
    char text[LOG_BYTES + 512];
} Answer;

/* The shared pages: an Answer, then for every allocation its bytes and the fates of its words. */
typedef struct {
    Answer *answer;
    size_t size_bytes;
    uint8_t **data, **fate; /* by allocation */
} Exchange;

typedef struct {
    const GpuModule *module; /* NULL: only the device is asked for */
    const char *kernel;
    const Launch *launch;
    const SimMemory *mem;
    Exchange exchange;
    CudaDriver cuda;
    CudaModule loaded;
    CudaFunction function;
    CudaAddress block; /* buffers, with SIM_GUARD_BYTES before the first and behind the last */
    uint64_t block_bytes;
    uint64_t *at;          /* by allocation: its byte in the block, where a variable leaves its place free */
    CudaAddress *variable; /* by allocation: where the driver has the variable of that name, 0: a buffer */
} Card;

static uint64_t words_of(uint64_t size_bytes) { return (size_bytes + WORD_BYTES - 1) / WORD_BYTES; }

/* ---- the child: errors ---- */
static bool answer(Card *card, AnswerKind kind, const char *what, CudaResult result) {
    const char *name = NULL, *text = NULL;
    Answer *out = card->exchange.answer;
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
    return result == CUDA_SUCCESS || answer(card, ANSWER_REFUSED, what, result);
}

/* ---- the child: the card ---- */
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

static bool find_card(Card *card) {
    CudaDriver *cuda = &card->cuda;
    GpuDevice *out = &card->exchange.answer->device;
    char why[256];
    int count = 0, major = 0, minor = 0, version = 0;
    CudaDevice device;
    CudaContext context;
    if (!cuda_driver_open(cuda, why, sizeof why))
        return answer(card, ANSWER_ABSENT, why, CUDA_SUCCESS);
    CudaResult result = cuda->init(0);
    if (result == CUDA_SUCCESS)
        result = cuda->device_count(&count);
    if (result != CUDA_SUCCESS || count == 0)
        return answer(card, ANSWER_ABSENT, "no card", result ? result : CUDA_ERROR_NO_DEVICE);
    if (!good(card, "cuDeviceGet", cuda->device(&device, 0)) ||
        !good(card, "cuDeviceGetName", cuda->device_name(out->name, sizeof out->name, device)) ||
        !good(card, "cuDeviceGetAttribute",
              cuda->device_attribute(&major, CUDA_COMPUTE_CAPABILITY_MAJOR, device)) ||
        !good(card, "cuDeviceGetAttribute",
              cuda->device_attribute(&minor, CUDA_COMPUTE_CAPABILITY_MINOR, device)) ||
        !good(card, "cuDriverGetVersion", cuda->driver_version(&version)))
        return false;
    out->major = (unsigned)major;
    out->minor = (unsigned)minor;
    out->version = (unsigned)version;
    out->target = best_target(out->major, out->minor);
    return !card->module || (good(card, "cuDevicePrimaryCtxRetain", cuda->retain_context(&context, device)) &&
                             good(card, "cuCtxSetCurrent", cuda->set_context(context)));
}

/* Code runs on a card of the same major and of the same or a higher minor number. */
static bool card_fits(Card *card) {
    const TargetInfo *info = card->module->target ? isa_target_info(card->module->target) : NULL;
    const GpuDevice *device = &card->exchange.answer->device;
    unsigned sm = info ? info->elf_flags & 0xff : 0;
    if (!info ||
        (info->elf_machine == CUDA_ELF_MACHINE && sm / 10 == device->major && sm % 10 <= device->minor))
        return true;
    return answer(card, ANSWER_OTHER, info->name, CUDA_SUCCESS);
}

static bool load(Card *card) {
    char log[LOG_BYTES] = "", what[LOG_BYTES + 64];
    int options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    CudaResult result = card->cuda.load(&card->loaded, card->module->image, 2, options, values);
    snprintf(what, sizeof what, "it does not load%s%s", *log ? ": " : "", log);
    return good(card, what, result) &&
           good(card, "the kernel is not found",
                card->cuda.get_function(&card->function, card->loaded, card->kernel));
}

/* ---- the child: addresses ---- */
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

/* ---- the child: memory ---- */
/* Where the card has everything: one block for buffers, the driver's places for variables. */
static bool place(Card *card) {
    const SimMemory *mem = card->mem;
    card->variable = calloc(mem->nallocs + 1u, sizeof *card->variable);
    card->at = calloc(mem->nallocs + 1u, sizeof *card->at);
    if (!card->variable || !card->at)
        return answer(card, ANSWER_REFUSED, "no memory on this host", CUDA_SUCCESS);
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
            return answer(card, ANSWER_REFUSED, "a variable is smaller in the driver's eyes", CUDA_SUCCESS);
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
    for (uint64_t i = 0; i < alloc->size_bytes; i += WORD_BYTES) {
        uint64_t left = alloc->size_bytes - i, word;
        size_t n = left < WORD_BYTES ? (size_t)left : WORD_BYTES;
        memcpy(&word, alloc->data + i, n);
        if (n < WORD_BYTES || !simmem_is_address(alloc, i) || to_card(card, word, &word))
            memcpy(out + i, &word, n);
    }
}

static void translate_out(Card *card, uint32_t index, const uint8_t *sent, const uint8_t *got) {
    const SimAlloc *alloc = &card->mem->allocs[index];
    uint8_t *out = card->exchange.data[index], *fate = card->exchange.fate[index];
    for (uint64_t i = 0; i < alloc->size_bytes; i += WORD_BYTES) {
        uint64_t left = alloc->size_bytes - i, word = 0;
        size_t n = left < WORD_BYTES ? (size_t)left : WORD_BYTES;
        if (memcmp(sent + i, got + i, n) == 0)
            continue;
        memcpy(&word, got + i, n);
        bool address = n == WORD_BYTES && to_guest(card, word, &word);
        card->exchange.answer->result.naddresses += address;
        fate[i / WORD_BYTES] = address ? WORD_ADDRESS : WORD_DATA;
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
                SimTrap *trap = &card->exchange.answer->result.trap;
                trap->kind = TRAP_OUT_OF_RANGE;
                trap->has_address = true;
                trap->address = guard_address(card, at);
                return answer(card, ANSWER_TRAP,
                              "found after the launch: bytes that are in no buffer changed", CUDA_SUCCESS);
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
        at += words_of(card->mem->allocs[i].size_bytes) * WORD_BYTES;
    }
    return true;
}

static bool send(Card *card, Images *images) {
    uint64_t size_bytes = card->block_bytes;
    for (uint32_t i = 0; i < card->mem->nallocs; i++)
        if (card->variable[i])
            size_bytes += words_of(card->mem->allocs[i].size_bytes) * WORD_BYTES;
    images->sent = malloc(size_bytes);
    images->got = malloc(size_bytes);
    if (!images->sent || !images->got)
        return answer(card, ANSWER_REFUSED, "no memory on this host", CUDA_SUCCESS);
    memset(images->sent, FILL, card->block_bytes);
    for (uint32_t i = 0; i < card->mem->nallocs; i++) {
        const SimAlloc *alloc = &card->mem->allocs[i];
        uint8_t *at = images->sent + card->at[i];
        if (card->variable[i])
            continue;
        memcpy(at, alloc->data, alloc->size_bytes); /* what looks like an address and is none stays */
        translate_in(card, alloc, at);
    }
    return good(card, "cuMemcpyHtoD", card->cuda.copy_in(card->block, images->sent, card->block_bytes)) &&
           each_variable(card, images, send_variable);
}

static bool fetch(Card *card, const Images *images) {
    if (!good(card, "cuMemcpyDtoH", card->cuda.copy_out(images->got, card->block, card->block_bytes)) ||
        !guards_whole(card, images->got))
        return false;
    for (uint32_t i = 0; i < card->mem->nallocs; i++) {
        if (!card->variable[i])
            translate_out(card, i, images->sent + card->at[i], images->got + card->at[i]);
    }
    return each_variable(card, images, fetch_variable);
}

/* ---- the child: the launch ---- */
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

/* The parameter block with the card's addresses; NULL: no memory. */
static uint8_t *card_params(const Card *card) {
    const Launch *launch = card->launch;
    uint8_t *params = calloc(launch->param_bytes + 1u, 1);
    if (params && launch->param_bytes)
        memcpy(params, launch->params, launch->param_bytes);
    for (uint32_t i = 0; params && i < launch->naddresses; i++) {
        uint64_t word;
        memcpy(&word, params + launch->address_at[i], WORD_BYTES);
        if (to_card(card, word, &word))
            memcpy(params + launch->address_at[i], &word, WORD_BYTES);
    }
    return params;
}

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static bool execute(Card *card) {
    const Launch *launch = card->launch;
    size_t param_bytes = launch->param_bytes;
    void *params = card_params(card);
    void *extra[] = {(void *)CUDA_PARAM_BUFFER, params, (void *)CUDA_PARAM_BUFFER_BYTES, &param_bytes,
                     (void *)CUDA_PARAM_END};
    if (!params)
        return answer(card, ANSWER_REFUSED, "no memory on this host", CUDA_SUCCESS);
    if (launch->dynamic_shared_bytes &&
        !good(card, "the dynamic shared memory",
              card->cuda.set_function_attribute(card->function, CUDA_MAX_DYNAMIC_SHARED_BYTES,
                                                (int)launch->dynamic_shared_bytes)))
        return false;
    double start = now();
    CudaResult result = card->cuda.launch(
        card->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
        launch->block[2], launch->dynamic_shared_bytes, NULL, NULL, param_bytes ? extra : NULL);
    if (!good(card, "cuLaunchKernel", result))
        return false;
    result = card->cuda.synchronize();
    card->exchange.answer->result.seconds = now() - start;
    if (trap_of(result) == TRAP_NONE)
        return good(card, "the launch", result);
    card->exchange.answer->result.trap.kind = trap_of(result);
    return answer(card, ANSWER_TRAP, "the card", result);
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

static void child(Card *card) {
    Images images = {0};
    lift_limit();
    bool done = find_card(card);
    if (done && card->module)
        done = card_fits(card) && load(card) && place(card) && send(card, &images) && execute(card) &&
               fetch(card, &images);
    if (done)
        card->exchange.answer->kind = ANSWER_DONE;
    _exit(0); /* the context, and a kernel that still runs, end with the process */
}

/* ---- the parent ---- */
static bool exchange_open(Exchange *exchange, const SimMemory *mem) {
    size_t size_bytes = (sizeof *exchange->answer + 63) / 64 * 64;
    uint32_t n = mem ? mem->nallocs : 0;
    for (uint32_t i = 0; i < n; i++)
        size_bytes += words_of(mem->allocs[i].size_bytes) * (WORD_BYTES + 1) + WORD_BYTES;
    void *pages =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *exchange = (Exchange){.answer = pages == MAP_FAILED ? NULL : pages, .size_bytes = size_bytes};
    exchange->data = calloc(n + 1u, sizeof *exchange->data);
    exchange->fate = calloc(n + 1u, sizeof *exchange->fate);
    if (!exchange->answer || !exchange->data || !exchange->fate)
        return false;
    uint8_t *at = (uint8_t *)pages + (sizeof *exchange->answer + 63) / 64 * 64;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t words = words_of(mem->allocs[i].size_bytes);
        exchange->data[i] = at;
        exchange->fate[i] = at + words * WORD_BYTES;
        at += (words * (WORD_BYTES + 1) + WORD_BYTES) / WORD_BYTES * WORD_BYTES;
    }
    return true;
}

static void exchange_close(Exchange *exchange) {
    if (exchange->answer)
        munmap(exchange->answer, exchange->size_bytes);
    free(exchange->data);
    free(exchange->fate);
}

/* Wait until the child ends; false: time was up, and it was ended. *status as of waitpid. */
static bool wait_for(pid_t pid, int pipe_end, unsigned seconds, int *status) {
    struct pollfd end = {.fd = pipe_end, .events = POLLIN}; /* closes with the child */
    double until = now() + seconds;
    int ready;
    do {
        double left = until - now();
        ready = poll(&end, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return ready != 0;
}

/* Run child() in a process of its own; the answer is in card->exchange. False: reported. */
static bool ask(Card *card, unsigned seconds, Diags *diags) {
    int ends[2], status = 0;
    if (!exchange_open(&card->exchange, card->mem) || pipe(ends) != 0)
        return diag(diags, (SrcLoc){0}, DIAG_E0562, "no memory or no pipe on this host");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(card);
    }
    close(ends[1]);
    bool in_time = pid > 0 && wait_for(pid, ends[0], seconds, &status);
    close(ends[0]);
    Answer *out = card->exchange.answer;
    if (pid < 0)
        return diag(diags, (SrcLoc){0}, DIAG_E0562, "this host cannot start a process");
    if (!in_time) {
        out->kind = ANSWER_TRAP;
        out->result.trap.kind = TRAP_BUDGET;
        snprintf(out->text, sizeof out->text, "not at its end after %u s; its process was ended", seconds);
    } else if (out->kind == ANSWER_NONE) {
        out->kind = ANSWER_REFUSED;
        snprintf(out->text, sizeof out->text, "its process ended by itself (status 0x%x)", (unsigned)status);
    }
    return true;
}

static void take_memory(const Exchange *exchange, SimMemory *mem) {
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        SimAlloc *alloc = &mem->allocs[i];
        for (uint64_t word = 0; word < words_of(alloc->size_bytes); word++) {
            uint64_t at = word * WORD_BYTES, left = alloc->size_bytes - at;
            WordFate fate = exchange->fate[i][word];
            if (fate == WORD_SAME)
                continue;
            if (fate == WORD_ADDRESS) {
                uint64_t value;
                memcpy(&value, exchange->data[i] + at, sizeof value);
                simmem_write_address(mem, alloc->address + at, value);
            } else {
                simmem_write(mem, alloc->address + at, exchange->data[i] + at,
                             left < WORD_BYTES ? left : WORD_BYTES);
            }
        }
    }
}

static bool report(const Card *card, Diags *diags) {
    Answer *out = card->exchange.answer;
    const GpuDevice *device = &out->device;
    SimTrap *trap = &out->result.trap;
    char line[512];
    switch (out->kind) {
    case ANSWER_DONE: return true;
    case ANSWER_ABSENT: return diag(diags, (SrcLoc){0}, DIAG_E0560, out->text);
    case ANSWER_OTHER:
        return diag(diags, (SrcLoc){0}, DIAG_E0561, card->module->name, out->text, device->name,
                    device->major, device->minor);
    case ANSWER_TRAP:
        snprintf(trap->kernel, sizeof trap->kernel, "%s", card->kernel);
        snprintf(trap->text, sizeof trap->text, "%.*s", (int)sizeof trap->text - 1, out->text);
        sim_trap_print(trap, line, sizeof line);
        return diag(diags, (SrcLoc){0}, DIAG_E0551, line);
    default: return diag(diags, (SrcLoc){0}, DIAG_E0562, out->text);
    }
}

bool gpu_device(GpuDevice *out, Diags *diags) {
    Card card = {0};
    bool ok = ask(&card, TIME_LIMIT_SECONDS, diags) && report(&card, diags);
    if (ok)
        *out = card.exchange.answer->device;
    exchange_close(&card.exchange);
    return ok;
}

bool gpu_run(const GpuModule *module, const char *kernel, const Launch *launch, SimMemory *mem,
             GpuResult *res, Diags *diags) {
    const char *why = sim_launch_error(launch);
    *res = (GpuResult){0};
    if (why)
        return diag(diags, (SrcLoc){0}, DIAG_E0513, kernel, why);
    Card card = {.module = module, .kernel = kernel, .launch = launch, .mem = mem};
    unsigned seconds = module->time_limit_seconds ? module->time_limit_seconds : TIME_LIMIT_SECONDS;
    bool ok = ask(&card, seconds, diags) && report(&card, diags);
    if (ok)
        take_memory(&card.exchange, mem);
    if (card.exchange.answer)
        *res = card.exchange.answer->result;
    exchange_close(&card.exchange);
    return ok;
}
