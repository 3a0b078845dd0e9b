/* Time that passes, for deadlines and reports: nothing that a result depends on.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_CLOCK_H
#define HEDDLE_BASE_CLOCK_H

/* Seconds since some point in the past; never goes back. */
double clock_seconds(void);
#endif
