/* A mutation campaign: which mutants of given programs behave differently, and which of these each checker
 * objects to.
 *
 * Whether a mutant behaves differently is decided by running it beside the original, by none of the tools
 * that are judged: reconvergence and predication mutants on all inputs under the 32 policies, compared in
 * memory, traps, hangs and the machine's findings; control-code mutants in control-code mode.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_MUTATE_CAMPAIGN_H
#define HEDDLE_CHECK_MUTATE_CAMPAIGN_H
#include "check/model/model.h"
#include "check/mutate/mutate.h"
#include "check/validate/plan/plan.h"
#include "frontend/ast.h"

typedef struct {
    const char *name;
    const PtxModule *ptx;
    const void *image;
    size_t image_bytes;
    Plan **inputs; /* launches that decide whether a mutant behaves differently */
    unsigned ninputs;
    unsigned nvalidated; /* the first of them are those that validate runs; 0 counts as 1 */
} MutSubject;

typedef enum {
    TOOL_STATIC,
    TOOL_MODEL,
    TOOL_CHECK /* either */,
    TOOL_PROVE,
    TOOL_VALIDATE,
    TOOL_ANY,
    TOOL_COUNT
} MutTool;
const char *mutate_campaign_tool_name(MutTool t);

typedef struct {
    uint64_t sites, mutants, changed, killed[TOOL_COUNT];
    uint64_t provable, provable_killed,
        refuted; /* changed where the original is proved; of these rejected, refuted */
} MutCount;

typedef struct { /* a mutant that behaves differently and that the tools of its group do not object to */
    const char *subject, *site, *truth, *reason;
    MutClass cls;
    bool killed[TOOL_COUNT];
} MutSurvivor;

typedef struct { /* regions of a module; `covers`: the one with the instruction is proved */
    unsigned proved, refuted;
    bool covers;
} MutProof;

typedef struct {
    bool classes[MUT_CLASSES];
    uint32_t count; /* mutants of a class */
    uint64_t seed;
    ModelOptions model; /* policies are all tried */
    /* Ask translation validation about a module; `func`, `pc_bytes`: an instruction. NULL: not tried. */
    void (*prove)(void *user, const PtxModule *ptx, const Binary *b, const char *func, uint64_t pc_bytes,
                  MutProof *out);
    void (*progress)(void *user, const char *subject, unsigned done, unsigned total);
    void *user;
} CampaignOptions;

typedef struct {
    Arena arena;
    MutCount count[MUT_CLASSES];
    VEC(MutSurvivor) survivors;
    unsigned subjects,
        stuck_subjects; /* originals that the model checker already objects to: it kills none of theirs */
    uint64_t runs;
    double seconds;
    bool proved; /* prove was tried */
} CampaignReport;

bool mutate_campaign_run(const MutSubject *subjects, unsigned n, const CampaignOptions *opt,
                         CampaignReport *report, Diags *diags);
void mutate_campaign_free(CampaignReport *report);
char *mutate_campaign_text(const CampaignReport *report); /* malloc'ed */
char *mutate_campaign_json(const CampaignReport *report);
#endif
