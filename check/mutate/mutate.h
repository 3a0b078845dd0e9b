/* Mutants of compiled binaries: one wrong instruction, or two that changed places, in a file that is
 * otherwise the same. They measure the checkers: a mutant that behaves differently and that no checker
 * objects to is a gap.
 *
 * Instructions are decoded from the file's own bytes and encoded again in place. What moves takes its target
 * along; an instruction that a relocation changes does not move.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_MUTATE_MUTATE_H
#define HEDDLE_CHECK_MUTATE_MUTATE_H
#include "check/flow/binflow.h"

typedef enum { MUT_RECONVERGENCE, MUT_CONTROL, MUT_PREDICATION, MUT_ARITHMETIC, MUT_GROUPS } MutGroup;
typedef enum {
#define MUTATION(id, name, group, text) MUT_##id,
#include "check/mutate/mutate.def"
#undef MUTATION
    MUT_CLASSES
} MutClass;
typedef struct {
    const char *name, *text;
    MutGroup group;
} MutClassInfo;
const MutClassInfo *mutate_class(MutClass c);
const char *mutate_group_name(MutGroup g);
/* Mutants of values: prove and validate are to find them. */
static inline bool mutate_changes_values(MutGroup g) { return g == MUT_PREDICATION || g == MUT_ARITHMETIC; }
bool mutate_class_find(const char *name, size_t n, MutClass *class);

typedef struct {
    MutClass cls;
    uint32_t inst, other; /* instruction; what the class needs besides */
} MutSite;

typedef struct {
    Arena arena;
    const uint8_t *image; /* not owned */
    size_t image_bytes;
    Binary *bin;
    BinFlow *flow;
    uint64_t *offset; /* [bin->ncode] place in the file; UINT64_MAX: none, or a relocation changes it */
    VEC(MutSite) sites[MUT_CLASSES]; /* every site whose mutant can be encoded and differs */
} Mutator;

/* `image` must live as long as the mutator. NULL: reported. */
Mutator *mutate_new(const char *path, const void *image, size_t size_bytes, Diags *diags);
void mutate_free(Mutator *mutator);
/* Copy the image with one mutation into `out` (image_bytes). False: it cannot be encoded. */
bool mutate_apply(const Mutator *mutator, MutSite s, uint8_t *out);
/* "drop-bsync:3  k+0x40  BSYNC B0", in out[256]. */
const char *mutate_text(const Mutator *mutator, MutSite s, uint32_t number, char out[256]);
#endif
