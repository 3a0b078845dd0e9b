/* What someone needs to see a difference again: a folder with the PTX made smaller, the launch, the binaries
 * and a report (docs/validate.md). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_BUNDLE_H
#define HEDDLE_TOOLS_BUNDLE_H
#include "tools/commands/makers.h"

typedef struct {
    Settings *settings;
    const char *directory, *path, *kernel;
    const PtxModule *module;
    const Maker *maker; /* whose code differs from the PTX */
    const Maker
        *others; /* all of them, that one too: those that are right stay right while PTX is taken away */
    unsigned nothers;
    const Plan *plan;   /* under which it differs */
    const char *report; /* of the whole kernel */
    const char *note;
} Bundle;

/* The note with the folder's name, or with the reason why there is none; in the settings' arena. */
const char *bundle_write(const Bundle *bundle);
#endif
