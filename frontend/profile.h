/* Branch profiles: how often lanes took each way of the branches of a module, and how often the lanes of a
 * warp parted there. Counted by check/validate/cover/profile.h, used by lowering (lower/profile.h), kept in
 * files (docs/profiles.md).
 *
 * A branch is named by its function and its statement number; a digest of the function's statements tells
 * whether the counts are of this text. Ways are numbered as lowering numbers the successors of the block.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_PROFILE_H
#define HEDDLE_FRONTEND_PROFILE_H
#include "frontend/ast.h"

#define PTX_WAY_ENDS UINT32_MAX /* `@p ret`, `@p exit`: the function's end */
/* Lanes of eight warps, as far from each other as the launch has them, of which is known which ways they went
 * one after the other, and of how many branches of a function at most. */
enum { PTX_RECORDED_LANES = 256, PTX_MOST_RECORDED = 1024, PTX_RECORDED_WAYS = 64 };

typedef struct {
    uint32_t to;       /* statement, PTX_WAY_ENDS, or the number of statements: behind the last */
    uint64_t lanes;    /* that took it */
    uint64_t together; /* warp executions in which all lanes took it */
    uint64_t apart;    /* lanes that took it in divergent warp executions */
} PtxWay;

typedef struct { /* the ways of one branch that one lane went */
    uint8_t *ways;
    uint32_t n;
} PtxRecord;

typedef struct PtxBranch {
    uint32_t insn;  /* statement: guarded bra, ret or exit, or brx.idx */
    uint32_t nways; /* bra: its target, the next statement; ret, exit: the end, the next statement; brx.idx:
                       each statement of the table once, in its order */
    PtxWay *ways;
    uint64_t warps, divergent; /* warp executions, and those with lanes on several ways; warps is divergent
                                  and the sum of `together` */
    PtxRecord *records;        /* [PTX_RECORDED_LANES], or NULL: none, or more than PTX_RECORDED_WAYS ways */
} PtxBranch;

typedef struct {
    const PtxFunc *func;
    PtxBranch *branches; /* ascending statements */
    uint32_t nbranches;
    uint64_t digest; /* of the statements */
} PtxFuncProfile;

typedef struct PtxProfile {
    Arena arena;
    const PtxModule *module;
    PtxFuncProfile *funcs; /* [module->nfuncs] */
} PtxProfile;

/* All branches of the module, counts 0. The module must outlive it. */
PtxProfile *ptx_profile_new(const PtxModule *module);
void ptx_profile_free(PtxProfile *profile); /* NULL is nothing */
/* NULL: the statement is no branch, or the function is not of the module. */
PtxBranch *ptx_profile_branch(const PtxProfile *profile, const PtxFunc *func, uint32_t insn);
/* One way more that the lane went at the branch, which has records then. */
void ptx_profile_record(Arena *a, PtxBranch *branch, uint32_t lane, uint32_t way);
/* The counts of all branches that were executed as JSON (docs/profiles.md), for mem_free. */
char *ptx_profile_write(const PtxProfile *profile);
/* Adds the counts of a file `name`, `text` with a NUL at its end. False, and nothing added: it is no profile,
 * reported as E0505. Functions that the module has not, or whose text is another, are left out with warning
 * W0506. */
bool ptx_profile_read(PtxProfile *profile, const char *name, const char *text, Diags *diags);
#endif
