/* Time that passes, for reports, and time that a processor worked, for limits: a busy machine reaches no
 * limit earlier. No result depends on either. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_CLOCK_H
#define HEDDLE_BASE_CLOCK_H
#include <sys/types.h>

/* Seconds since some point in the past; never goes back. */
double clock_seconds(void);
/* Seconds of a processor that this process used, with the children that it has waited for. */
double clock_cpu_seconds(void);
/* Those of the calling thread. */
double clock_thread_seconds(void);
/* Those of one running process, without its children; 0: this one. 0 if there is no such process. */
double clock_cpu_seconds_of(pid_t pid);
#endif
