/* Who makes machine code of a module: Heddle, and under --with-ptxas NVIDIA's ptxas, once for each list of
 * options. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_MAKERS_H
#define HEDDLE_TOOLS_MAKERS_H
#include "tools/cli/cli.h"

enum { MAX_MAKERS = 9 };

typedef struct {
    const char *label;   /* "heddle", "ptxas -O3" */
    const char *options; /* ptxas's; NULL: Heddle */
    Binary *binary;      /* of the whole module, NULL: none, and `error` says why */
    char error[CLI_ERROR_BYTES];
} Maker;

/* How many these lists of options make with Heddle. */
unsigned maker_count(const char *lists);
/* What the settings ask for: Heddle first. Returns how many; the strings live as the settings do. */
unsigned maker_list(Settings *settings, Maker makers[MAX_MAKERS]);
/* Machine code of a module; NULL: `error` says why, in one line. `path` is the binary's name in messages. */
Binary *maker_compile(Settings *settings, const Maker *maker, const PtxModule *module, const char *path,
                      char error[CLI_ERROR_BYTES]);
/* ptxas's code of a module as it writes it, for mem_free; NULL: `error` says why. */
char *maker_ptxas_image(Settings *settings, const Maker *maker, const PtxModule *module, size_t *size_bytes,
                        char error[CLI_ERROR_BYTES]);
/* Where ptxas is: --ptxas, $PTXAS, $PATH, CUDA's usual folder. False: reported, as something that is lacking.
 */
bool maker_find_ptxas(Settings *settings);
/* The last line of ptxas --version, which says its build; "" if it says nothing. */
const char *maker_ptxas_version(Settings *settings);
/* What ptxas is to make code for: the target that --target names, else the first one that has all that the
 * module's .target has. Where none has, the newest, for which every compiler refuses the module and says why.
 */
const Target *maker_native_target(const PtxModule *module);
unsigned maker_sm(const Target *target);    /* of sm_80: 80; 0: NVIDIA has no such machine */
bool maker_is_native(const Target *target); /* does ptxas make code for it? */
#endif
