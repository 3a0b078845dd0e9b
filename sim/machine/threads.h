/* Threads beside the calling one that outlive the work they are given (threads.c).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_THREADS_H
#define HEDDLE_SIM_MACHINE_THREADS_H
#include "sim/machine/machine.h"

enum { MAX_THREADS = 63 };
typedef void ThreadBody(void *user);

/* Give body(user) to thread `number`, which has nothing to do and is started if there is none; false: it
 * cannot be. */
bool machine_threads_give(MachineThreads *threads, uint32_t number, ThreadBody *body, void *user);
/* If it has not begun it never will: true. */
bool machine_threads_take_back(MachineThreads *threads, uint32_t number);
/* Wait for its end, for some milliseconds at most; true: it has come. */
bool machine_threads_wait(MachineThreads *threads, uint32_t number);
#endif
