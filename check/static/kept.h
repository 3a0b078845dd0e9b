/* Where what some instructions write is kept: in registers, and in the frame (kept.c).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_KEPT_H
#define HEDDLE_CHECK_STATIC_KEPT_H
#include "check/static/internal.h"

typedef struct {
    uint32_t inst, reg; /* asked for: the register before the instruction */
    /* answer: bit k % 64 of each source k of which it may be what it last wrote; 0: it need not be of any */
    uint64_t from;
    uint32_t only;    /* the one source, exactly; NONE: there are several, or none */
    bool frame_known; /* the frame's place is known there, so that 0 comes of no array */
} KeptUse;

typedef struct {
    const Proc *proc;
    const uint32_t *sources; /* instructions that write one vector register each */
    uint32_t nsources;
    bool convention; /* calls keep what the convention between objects says, whatever callees write */
} KeptSources;

/* Answers the uses, all of them in the procedure. */
void check_kept(Checker *checker, const KeptSources *sources, KeptUse *uses, uint32_t nuses);
#endif
