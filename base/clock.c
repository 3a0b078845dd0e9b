/* The monotonic clock, and those that stand still while a process waits for a processor.
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include <sys/resource.h>
#include <time.h>

static double seconds_of(struct timespec t) { return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }

double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return seconds_of(t);
}

static double used_by(int who) {
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

double clock_cpu_seconds(void) { return used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN); }

double clock_thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return seconds_of(t);
}

double clock_cpu_seconds_of(pid_t pid) {
    clockid_t clock;
    struct timespec t;
    return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0 ? seconds_of(t) : 0;
}
