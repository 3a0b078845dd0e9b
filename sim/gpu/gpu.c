/* Launches on a real card: see gpu.h. A process talks to the driver (card.h); here it is started, asked, and
 * ended when time is up.
 * SPDX-License-Identifier: MIT */
#include "sim/gpu/gpu.h"
#include "sim/gpu/card.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIME_LIMIT_SECONDS = 20 };

/* ---- the process ---- */
/* One for this process: a fork of it, which finds `owner` to be another, starts its own. It ends when nobody
 * is left who could ask it. */
static struct {
    pthread_mutex_t lock; /* held from question to answer */
    pid_t owner, pid;     /* pid 0: there is none */
    int socket;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void stop(int *status) {
    close(server.socket);
    while (waitpid(server.pid, status, 0) < 0 && errno == EINTR)
        ;
    server.pid = 0;
}

static bool start(void) {
    int ends[2];
    if (server.pid && server.owner == getpid())
        return true;
    if (server.pid) /* another's */
        close(server.socket);
    server.pid = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        gpu_serve(ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    server.owner = getpid();
    server.pid = pid;
    server.socket = ends[0];
    return true;
}

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

typedef enum { TAKEN, ENDED, LATE } Taking;

static Taking take_until(double until, void *bytes, size_t n) {
    uint8_t *at = bytes;
    while (n) {
        struct pollfd end = {.fd = server.socket, .events = POLLIN};
        double left = until - now();
        int ready = poll(&end, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
        if (ready == 0)
            return LATE;
        ssize_t got = ready > 0 ? recv(server.socket, at, n, 0) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ENDED;
        at += got;
        n -= (size_t)got;
    }
    return TAKEN;
}

static Taking take_answer(double until, const CardRequest *request, Answer *out, Changes *changes) {
    Taking taking = take_until(until, out, sizeof *out);
    if (taking == TAKEN && out->kind == ANSWER_DONE && request->module)
        taking = take_until(until, changes->block, changes->size_bytes);
    return taking;
}

/* Ask the process; the server's lock is held. False: it cannot be asked. */
static bool ask(const CardRequest *request, unsigned seconds, Answer *out, Changes *changes) {
    int status = 0;
    if ((request->module && !gpu_changes_open(changes, request->mem)) || !start())
        return false;
    double until = now() + seconds;
    Taking taking = gpu_ask(server.socket, request) ? take_answer(until, request, out, changes) : ENDED;
    if (taking == LATE) {
        kill(server.pid, SIGKILL);
        out->kind = ANSWER_TRAP;
        out->result.trap.kind = TRAP_BUDGET;
        snprintf(out->text, sizeof out->text, "not at its end after %u s; its process was ended", seconds);
    } else if (taking == ENDED) {
        out->kind = ANSWER_REFUSED;
    }
    if (taking != TAKEN || out->kind != ANSWER_DONE)
        stop(&status);
    if (taking == ENDED)
        snprintf(out->text, sizeof out->text, "its process ended by itself (status 0x%x)", (unsigned)status);
    return true;
}

/* ---- launches ---- */
static void take_memory(const Changes *changes, SimMemory *mem) {
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        SimAlloc *alloc = &mem->allocs[i];
        for (uint64_t word = 0; word < gpu_words(alloc->size_bytes); word++) {
            uint64_t at = word * CARD_WORD_BYTES, left = alloc->size_bytes - at;
            WordFate fate = changes->fate[i][word];
            if (fate == WORD_SAME)
                continue;
            if (fate == WORD_ADDRESS) {
                uint64_t value;
                memcpy(&value, changes->data[i] + at, sizeof value);
                simmem_write_address(mem, alloc->address + at, value);
            } else {
                simmem_write(mem, alloc->address + at, changes->data[i] + at,
                             left < CARD_WORD_BYTES ? left : CARD_WORD_BYTES);
            }
        }
    }
}

static bool report(Answer *out, const CardRequest *request, Diags *diags) {
    const GpuDevice *device = &out->device;
    SimTrap *trap = &out->result.trap;
    char line[512];
    switch (out->kind) {
    case ANSWER_DONE: return true;
    case ANSWER_ABSENT: return diag(diags, (SrcLoc){0}, DIAG_E0560, out->text);
    case ANSWER_OTHER:
        return diag(diags, (SrcLoc){0}, DIAG_E0561, request->module->name, out->text, device->name,
                    device->major, device->minor);
    case ANSWER_TRAP:
        snprintf(trap->kernel, sizeof trap->kernel, "%s", request->kernel);
        snprintf(trap->text, sizeof trap->text, "%.*s", (int)sizeof trap->text - 1, out->text);
        sim_trap_print(trap, line, sizeof line);
        return diag(diags, (SrcLoc){0}, DIAG_E0551, line);
    default: return diag(diags, (SrcLoc){0}, DIAG_E0562, out->text);
    }
}

static bool answered(const CardRequest *request, unsigned seconds, Answer *out, Changes *changes,
                     Diags *diags) {
    pthread_mutex_lock(&server.lock);
    bool good = ask(request, seconds, out, changes);
    pthread_mutex_unlock(&server.lock);
    return good ? report(out, request, diags)
                : diag(diags, (SrcLoc){0}, DIAG_E0562, "this host has no memory, or cannot start a process");
}

bool gpu_device(GpuDevice *out, Diags *diags) {
    Answer answer = {0};
    bool ok = answered(&(CardRequest){0}, TIME_LIMIT_SECONDS, &answer, NULL, diags);
    if (ok)
        *out = answer.device;
    return ok;
}

bool gpu_run(const GpuModule *module, const char *kernel, const Launch *launch, SimMemory *mem,
             GpuResult *res, Diags *diags) {
    const char *why = sim_launch_error(launch);
    Answer answer = {0};
    Changes changes = {0};
    *res = (GpuResult){0};
    if (!why && launch->cooperative)
        why = "no cooperative launches on a card";
    if (why)
        return diag(diags, (SrcLoc){0}, DIAG_E0513, kernel, why);
    CardRequest request = {.module = module, .kernel = kernel, .launch = launch, .mem = mem};
    unsigned seconds = module->time_limit_seconds ? module->time_limit_seconds : TIME_LIMIT_SECONDS;
    bool ok = answered(&request, seconds, &answer, &changes, diags);
    if (ok)
        take_memory(&changes, mem);
    *res = answer.result;
    gpu_changes_close(&changes);
    return ok;
}
