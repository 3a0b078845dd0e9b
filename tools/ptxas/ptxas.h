/* heddle-ptxas: Heddle's compiler behind the command line, the messages and the -v text of NVIDIA's ptxas,
 * for programs that call a ptxas and read what it says (nvcc, clang, Triton, LLVM's tests). docs/ptxas.md.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_PTXAS_H
#define HEDDLE_TOOLS_PTXAS_H
#include "tools/jobs/driver.h"

enum { PTXAS_FAILED = 255 }; /* exit status of every error */

typedef enum {
#define OPTION(id, ...) OPT_##id,
#include "tools/ptxas/options.def"
#undef OPTION
    OPT_COUNT
} OptionId;

typedef struct {
    const char *value[OPT_COUNT]; /* NULL: not given; "" for flags and where a value is left out */
    VEC(const char *) lists[OPT_COUNT], inputs;
} Options;

/* ---- what is said (messages.c) ---- */
typedef struct {
    const char *kernel, *text; /* the warning: ptxas_raise_maxnreg says it */
} Bounded;
typedef struct {
    Arena *arena;
    VEC(struct Message *) held; /* of the diagnostics, until ptxas_flush */
    VEC(Bounded) bounded;       /* kernels whose .maxnreg the parser changed */
    bool quiet, werror;         /* -w, -Werror */
    const char *arch;           /* as given; NULL: not yet known */
    bool failed;
} Messages;
void ptxas_fatal(Messages *messages, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An error of the whole, and the line that assembly was aborted. */
void ptxas_error(Messages *messages, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ptxas_warning(Messages *messages, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "ptxas info    : " and the text. */
void ptxas_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ptxas_line_warning(Messages *messages, const char *file, uint32_t line, const char *text);
void ptxas_line_error(Messages *messages, const char *file, uint32_t line, const char *text);
/* The line of the brace that closes the function's body, whose head `loc` is in. */
uint32_t ptxas_body_end(const Source *source, SrcLoc loc);
/* An error of the whole that is not followed by anything. */
void ptxas_whole_error(Messages *messages, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A Diags that holds its diagnostics back, for they have another order with ptxas. */
Diags ptxas_diags(Messages *messages);
/* Print what is held, in ptxas's words; true: there was no error. */
bool ptxas_flush(Messages *messages);
/* The last line of all that went wrong with the input. */
void ptxas_aborted(void);

/* ---- what the library takes and ptxas does not (refusals.c); false: an error was printed ---- */
bool ptxas_text_is_taken(Messages *messages, const char *text, size_t size_bytes);
/* One file; `arch` as given. */
bool ptxas_module_is_taken(Messages *messages, const PtxModule *module, const char *arch);
/* All of them together. */
bool ptxas_program_is_taken(Messages *messages, const PtxModule *module, bool relocatable);
/* .maxnreg below what ptxas gives, and what the parser has changed: said, and raised; .minnctapersm of more
 * blocks or threads than the target's multiprocessor holds: said, and left out. */
void ptxas_correct_bounds(Messages *messages, PtxModule *module, const Target *target);
const char *ptxas_no_32_bits(const char *arch); /* what is said of 32-bit addresses */

/* ---- the command line (options.c) ---- */
/* Read it, words of --options-file too. False: an error was printed. */
bool ptxas_options(Options *options, int argc, char **argv, Messages *messages);
void ptxas_help(void);
void ptxas_manual(void); /* heddle-ptxas(1), roff */
const char *ptxas_long_name(OptionId id);

/* ---- -v and the warnings of what was compiled (info.c) ---- */
void ptxas_print_info(const Compilation *compilation, const PtxModule *module, const char *arch,
                      double milliseconds);
void ptxas_warn_of_code(const Compilation *compilation, const PtxModule *module, const Options *options,
                        Messages *messages);
#endif
