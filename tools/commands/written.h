/* --json of the commands that write a file: what was written, and what was said. Without --json nothing here
 * does anything. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_WRITTEN_H
#define HEDDLE_TOOLS_WRITTEN_H
#include "tools/cli/cli.h"

/* From here on messages are kept; they are printed as ever, too. */
void cli_written_begin(Settings *settings);
/* The name of what was written; "-" is standard output, where the report goes. */
void cli_written_file(Settings *settings, const char *name);
/* Of an ELF image, its functions; NULL: there is none. */
void cli_written_image(Settings *settings, const void *image, size_t size_bytes);
/* Print the report; the exit status. */
int cli_written_end(Settings *settings, bool good);
#endif
