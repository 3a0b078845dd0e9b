/* The build that a program is of, as a note in its file, which heddle looks for in another one before that
 * takes its place (beside.c). SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include "stamp.h"

const BuildNote cli_build_note
    __attribute__((section(".note.heddle"), aligned(4), used)) = {.name_bytes = sizeof "Heddle",
                                                                  .build_bytes = sizeof HEDDLE_BUILD,
                                                                  .type = 1,
                                                                  .name = "Heddle",
                                                                  .build = HEDDLE_BUILD};
