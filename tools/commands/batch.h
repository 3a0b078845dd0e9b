/* heddle validate and heddle prove on many modules: each file in a process of its own, several at a time,
 * with limits of time and memory. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_BATCH_H
#define HEDDLE_TOOLS_BATCH_H
#include "check/validate/judge/judge.h"
#include "tools/cli/cli.h"

typedef struct {               /* one kernel, or a file that has none */
    const char *file, *kernel; /* kernel "": none of the file could be judged */
    const char *binary;        /* "ptxas -O3": which of several; "" */
    Verdict verdict;
    Covered ptx, machine, values; /* validate: blocks and classes of operands that were executed */
    Covered regions;              /* prove: those that are proved */
    uint64_t threads;
    double seconds;
    const char *note, *report; /* report: text of several lines, "" where the note says all */
} BatchResult;

typedef void BatchStarts(void *user, const char *kernel, const char *binary);
typedef void BatchEach(void *user, const BatchResult *r);
/* Judge a module's kernels but for the first `skip` results; `starts` hears of each before, `each` gets it.
 */
typedef void BatchModule(Settings *settings, const char *path, uint32_t skip, BatchStarts *starts,
                         BatchEach *each, void *user);
typedef struct {
    const char *command; /* results of one are none of another */
    BatchModule *module;
    const char *parts, *threads; /* headings; NULL: a result has neither */
    /* What all results say together: printed, or added to `json`. NULL: nothing. */
    void (*together)(const BatchResult *const *results, uint32_t nresults, cJSON *json);
} BatchKind;
/* All files and directories of the inputs; prints the table or JSON; the exit status. */
int batch_run(Settings *settings, const BatchKind *kind);
bool batch_is_wanted(const Settings *settings); /* a directory, or several files under --launch auto */
/* K.json beside K.ptx, where there is one and launches are not to be inferred; else NULL. */
const char *batch_launch_beside(Settings *settings, const char *path);
#endif
