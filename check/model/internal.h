/* Inside of the model checker: the skeleton of the code, a state, a step.
 *
 * A skeleton instruction keeps what the model needs. Instructions that change nothing here are jumped over:
 * `next`. A state is compact and canonical: equal states are equal bytes.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_MODEL_INTERNAL_H
#define HEDDLE_CHECK_MODEL_INTERNAL_H
#include "check/model/model.h"

enum { MODEL_TRACKED = 6, NUM_PREDS = 7, NO_PRED = 7, TRACK_KNOWN = 0x80 };

typedef uint8_t Lanes;

/* How a tracked register gets a value; the value is a set of lanes, where known. */
typedef enum { TD_UNKNOWN, TD_CONST, TD_COPY, TD_BARRIER, TD_ACTIVE } TrackDefKind;

typedef struct {
    uint8_t kind; /* BinKind */
    uint8_t guard,
        pp; /* predicate 0..6; NO_PRED: none, or one that is the same for a group and not followed */
    bool guard_not, pp_not;
    bool never, maybe; /* the guard is false; it is neither always true nor always false */
    bool unknown;      /* a uniform predicate guards it, which is not followed */
    bool needs_all;    /* COLLECTIVE that every lane comes to, without a WARPSYNC in front */
    bool uniform;      /* the outcome is the same for all lanes that execute it together */
    bool here;         /* every lane that the function was called with comes here */
    bool always_here;  /* every lane of the warp comes here, whatever divergent branches do */
    uint8_t barrier;   /* B register */
    uint8_t cond;      /* BRA: BRACond */
    bool any;          /* BRA.U: where the guard is true for one lane, all jump */
    bool last;         /* the next instruction is in another function, or none */
    bool fails;        /* no instruction of the target */
    bool has_mask;     /* BRA.DIV, BRA.CONV: with a mask of lanes */
    uint8_t pred_defs; /* predicates written */
    uint16_t live;     /* before it: predicates that decide something later; tracked registers << 7 */
    uint8_t track_def; /* tracked register written, 0xff none */
    uint8_t track_kind, track_from;
    uint8_t mask_reg; /* WARPSYNC, BMOV_TO_B: tracked register, 0xff none */
    bool mask_is_imm, mask_not, clear;
    bool lacks;        /* the predicate of `pred_defs` says that a lane of the mask is missing (question.h) */
    bool asks;         /* a collective that only serves such a question, and its branch */
    bool joins;        /* of WARPSYNC: the lanes of all masks that are there go on together */
    bool drops;        /* BMOV.CLEAR to RZ */
    uint8_t system;    /* CALL: 1 + SystemFunc; 0: of none of the driver's functions */
    bool entered;      /* WARPSYNC, VOTE: of lanes that were asked together in a call (BinCheckReport) */
    uint32_t meets;    /* WARPSYNC.COLLECTIVE: one number, not 0, for all with the same code up to `target` */
    uint32_t gathers;  /* WARPSYNC of all lanes: for this barrier of the block behind it; 0: for none */
    uint32_t imm;      /* mask as encoded; TD_CONST: the constant */
    uint32_t target;   /* BRA, CALL, WARPSYNC.COLLECTIVE */
    uint32_t ntargets; /* BRX; indirect CALL */
    const uint32_t *targets;
    uint32_t next; /* first instruction from here on, this one included, that is not jumped over */
} Skel;

struct ModelProgram {
    Arena arena;
    const BinFlow *g;
    Skel *at; /* [ncode] */
    uint32_t n;
    uint32_t tracked[MODEL_TRACKED], ntracked; /* R registers */
    const uint32_t *addressed;                 /* entries of functions whose address is taken */
    uint32_t naddressed;
    bool native;
};

/* What is the same for all lanes: fills Skel.uniform and always_here. */
void model_uniformity(ModelProgram *program);

typedef struct {
    uint32_t pc[MODEL_MAX_LANES];    /* index into code; BINFLOW_NONE: exited */
    uint32_t stack[MODEL_MAX_LANES]; /* index into Stacks; 0 empty */
    uint8_t pknown[MODEL_MAX_LANES], pvalue[MODEL_MAX_LANES];
    uint8_t track[MODEL_MAX_LANES][MODEL_TRACKED];
    uint16_t b[16]; /* a set of lanes; where BSSY sets its register one for each lane, MODEL_MAX_LANES bits */
    uint8_t valid, active, yield, switch_mask, blocked, tried,
        spare[2]; /* tried: had a turn since a WARPSYNC waits (policy warpsync-turns) */
} ModelState;
_Static_assert(sizeof(ModelState) == 104, "no padding: states are compared as bytes");

typedef VEC(ModelStep) StepLog;
typedef struct { /* return addresses, shared by states */
    uint32_t above, pc;
    uint32_t depth;
    uint32_t entered; /* lanes that a vote in this call found, or 0 */
} StackCell;

typedef enum { STEP_ON, STEP_CHOICE, STEP_DONE, STEP_BAD, STEP_LEFT_OUT } StepStatus;

/* Decisions of one step: the first `n` digits are given, the first one missing is asked for. */
enum { MODEL_MAX_DIGITS = 8 };
typedef struct {
    uint32_t digit[MODEL_MAX_DIGITS], n, used;
    uint32_t radix; /* STEP_CHOICE: of the digit that is missing */
} Oracle;

typedef struct {
    const ModelProgram *p;
    ModelOptions opt;
    bool bssy_assigns, warpsync_turns;
    unsigned nlanes;
    uint8_t all;
    unsigned lane_number[MODEL_MAX_LANES];
    Arena *arena;
    VEC(StackCell) stacks;
    uint32_t *stack_slots, nstack_slots;
    uint32_t assumed_masks;
    const char *left_out;
    uint32_t bad_inst;
    char bad[160];
    StepLog *log; /* decisions, when a path is retraced; NULL else */
} Stepper;

Lanes model_lanes_of(const Stepper *stepper, uint32_t number); /* of the model's lanes those that it names */
/* What stands above `above` when lanes go on at `pc` behind a call. */
uint32_t model_push_return(Stepper *stepper, uint32_t above, uint32_t pc, Lanes entered);
/* Fills Skel.system. */
void model_find_system_calls(ModelProgram *program);
/* What `lanes` know behind a call of a driver's function. False: barriers are set that it may use. */
bool model_system_call(const Stepper *stepper, const Skel *skel, ModelState *state, Lanes lanes);
/* What lanes learn that ask whether all of their masks are here, with the same mask. */
void model_answer_question(const Stepper *stepper, const Skel *skel, ModelState *state);
void model_start(Stepper *stepper, uint32_t kernel_inst, ModelState *state);
/* Execute one skeleton instruction for the active lanes. STEP_CHOICE leaves `s` undefined. */
StepStatus model_step(Stepper *stepper, ModelState *s, Oracle *oracle);
#endif
