/* Threads that outlive launches. To start one takes tens of microseconds, and more where the host is busy: a
 * quarter of a launch of 0.2 ms. So those that one launch has started wait for the next.
 *
 * A thread has a state, which the one that gives it work and itself change:
 *
 *     idle --give--> given --begins--> busy --ends--> idle
 *                      |
 *                      '--take_back--> idle
 *
 * What is given and not begun may be taken back: who has done all of the work meanwhile does not wait for a
 * thread that a busy host has not let run. A thread that waits looks at its state for as long as waking it
 * would take, then it sleeps; both do where there are as many processors as threads.
 *
 * A process that was forked has none of its parent's threads: it starts its own. SPDX-License-Identifier: MIT
 */
#include "sim/machine/threads.h"
#include "base/clock.h"
#include "base/scope.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { POLL_NS = 5000000, LOOK_TURNS = 64 };
static const double look_seconds = 50e-6;

typedef enum { THREAD_IDLE, THREAD_GIVEN, THREAD_BUSY } ThreadState;
typedef struct {
    MachineThreads *threads;
    pthread_t thread;
    pthread_cond_t given;
    ThreadBody *body;
    void *user;
    int state; /* ThreadState */
    bool sleeps;
} Worker;

struct MachineThreads {
    pthread_mutex_t lock; /* of sleep and of waking up */
    pthread_cond_t ended;
    pid_t process;
    uint32_t n, processors;
    bool ends, waits;
    Worker workers[MAX_THREADS];
};

static void begin_none(MachineThreads *threads) {
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->ended, NULL);
    threads->process = getpid();
    threads->n = 0;
    threads->waits = false;
}

MachineThreads *machine_threads_open(void) {
    MachineThreads *threads = mem_zeroed(1, sizeof *threads);
    scope_unguard(threads); /* whatever becomes of the work in which it is opened */
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    threads->processors = processors > 0 ? (uint32_t)processors : 1;
    begin_none(threads);
    return threads;
}

static bool has_state(const Worker *worker, ThreadState state) {
    return __atomic_load_n(&worker->state, __ATOMIC_ACQUIRE) == (int)state;
}
static void set_state(Worker *worker, ThreadState state) {
    __atomic_store_n(&worker->state, (int)state, __ATOMIC_RELEASE);
}
static bool change_state(Worker *worker, ThreadState from, ThreadState to) {
    int expected = (int)from;
    return __atomic_compare_exchange_n(&worker->state, &expected, (int)to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static void pause_thread(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Wait a moment for the state without sleeping. */
static void look_for(const MachineThreads *threads, const Worker *worker, ThreadState state) {
    if (__atomic_load_n(&threads->n, __ATOMIC_RELAXED) >= threads->processors)
        return;
    for (double until = 0; !has_state(worker, state);) {
        for (int turns = 0; turns < LOOK_TURNS && !has_state(worker, state); turns++)
            pause_thread();
        double now = clock_seconds();
        if (until == 0)
            until = now + look_seconds;
        else if (now > until)
            return;
    }
}

static void *worker_thread(void *user) {
    Worker *worker = user;
    MachineThreads *threads = worker->threads;
    for (;;) {
        look_for(threads, worker, THREAD_GIVEN);
        if (!change_state(worker, THREAD_GIVEN, THREAD_BUSY)) {
            pthread_mutex_lock(&threads->lock);
            worker->sleeps = true;
            while (!threads->ends && !has_state(worker, THREAD_GIVEN))
                pthread_cond_wait(&worker->given, &threads->lock);
            worker->sleeps = false;
            bool ends = threads->ends;
            pthread_mutex_unlock(&threads->lock);
            if (ends)
                return NULL;
            continue;
        }
        worker->body(worker->user);
        pthread_mutex_lock(&threads->lock);
        set_state(worker, THREAD_IDLE);
        if (threads->waits)
            pthread_cond_signal(&threads->ended);
        pthread_mutex_unlock(&threads->lock);
    }
}

/* Signals of the process are for its other threads. */
static bool start_worker(MachineThreads *threads) {
    Worker *worker = &threads->workers[threads->n];
    *worker = (Worker){.threads = threads};
    pthread_cond_init(&worker->given, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&worker->thread, NULL, worker_thread, worker) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        __atomic_fetch_add(&threads->n, 1, __ATOMIC_RELAXED);
    return started;
}

bool machine_threads_give(MachineThreads *threads, uint32_t number, ThreadBody *body, void *user) {
    if (threads->process != getpid())
        begin_none(threads);
    while (threads->n <= number)
        if (!start_worker(threads))
            return false;
    Worker *worker = &threads->workers[number];
    worker->body = body;
    worker->user = user;
    pthread_mutex_lock(&threads->lock);
    set_state(worker, THREAD_GIVEN);
    if (worker->sleeps)
        pthread_cond_signal(&worker->given);
    pthread_mutex_unlock(&threads->lock);
    return true;
}

bool machine_threads_take_back(MachineThreads *threads, uint32_t number) {
    return change_state(&threads->workers[number], THREAD_GIVEN, THREAD_IDLE);
}

bool machine_threads_wait(MachineThreads *threads, uint32_t number) {
    Worker *worker = &threads->workers[number];
    look_for(threads, worker, THREAD_IDLE);
    if (has_state(worker, THREAD_IDLE))
        return true;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&threads->lock);
    threads->waits = true;
    if (!has_state(worker, THREAD_IDLE))
        pthread_cond_timedwait(&threads->ended, &threads->lock, &until);
    threads->waits = false;
    pthread_mutex_unlock(&threads->lock);
    return has_state(worker, THREAD_IDLE);
}

void machine_threads_close(MachineThreads *threads) {
    if (!threads)
        return;
    if (threads->process == getpid()) {
        pthread_mutex_lock(&threads->lock);
        threads->ends = true;
        for (uint32_t i = 0; i < threads->n; i++)
            pthread_cond_signal(&threads->workers[i].given);
        pthread_mutex_unlock(&threads->lock);
        for (uint32_t i = 0; i < threads->n; i++) {
            pthread_join(threads->workers[i].thread, NULL);
            pthread_cond_destroy(&threads->workers[i].given);
        }
        pthread_cond_destroy(&threads->ended);
        pthread_mutex_destroy(&threads->lock);
    }
    mem_free(threads);
}
