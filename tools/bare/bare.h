/* What the heddle program has in place of the C library where it is linked bare (bare.cmake): the few
 * functions of the standard library that a plain compilation calls, under their own names. Asked which
 * processor it runs on, a library takes a quarter of a small compilation on a virtual machine, which leaves
 * its processor at each such question; nothing here asks. All that is not here, and what here is only in
 * part, is cli_full_program: heddle-full takes the process's place and begins anew.
 *
 * One thread, x86-64, Linux. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_BARE_H
#define HEDDLE_TOOLS_BARE_H
#include <stddef.h>

/* A system call with up to four arguments; -1 and errno, if it fails. */
long bare_call(long number, ...);

/* From bytes that nobody has had yet, which are 0; NULL: the system has no more. `size_bytes` is a multiple
 * of 16. */
void *bare_more(size_t size_bytes);

extern char **bare_environment;

#endif
