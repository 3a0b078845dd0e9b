/* The compiler as a whole: PTX text to machine IR to ELF image. Shared by the program and the library.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_DRIVER_H
#define HEDDLE_TOOLS_DRIVER_H
#include "emit/code.h"
#include "frontend/ast.h"

typedef struct {             /* a profile (docs/profiles.md) */
    const char *name, *text; /* text NULL: of the file `name` */
} ProfileInput;

typedef struct {
    const Target *target; /* NULL: the default */
    unsigned opt_level;   /* 0..3 */
    ReconvMode reconverge;
    PredicateMode predicate;
    unsigned reconv_opts;       /* RO_*; 0: the default */
    bool yield_breaks, explain; /* see IrModule */
    PassOptions passes;
    ElfOptions elf;
    const ProfileInput *profiles; /* their counts are added up */
    unsigned nprofiles;
} DriverOptions;

typedef struct {
    StrTab strings;
    struct PtxProfile *profile; /* NULL: none was given */
    IrModule *ir;
    CodeModule *code;
    void *image; /* malloc'ed ELF file, NULL when stopped before */
    size_t image_bytes;
} Compilation;

/* Compile a checked module. With passes.stop_after set, stops with `ir` and no image. Free in every case. */
bool driver_compile(Compilation *compilation, const PtxModule *ptx, const DriverOptions *opt, Diags *diags);
void driver_free(Compilation *compilation);
#endif
