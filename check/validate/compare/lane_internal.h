/* A lane watched in both executions: what lane_diff.c and lane_values.c share. Not for other folders.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_LANE_INTERNAL_H
#define HEDDLE_CHECK_VALIDATE_LANE_INTERNAL_H
#include "check/validate/compare/lane_diff.h"

enum {
    LANE_MAX_EVENTS = 1 << 20,
    LANE_MAX_REGS = 8,
    LANE_MAX_HOPS = 4,
    LANE_ENDLESS_ISSUES = 1 << 20 /* enough to see how it began */
};

typedef struct {
    uint32_t func, insn; /* PtxModule.funcs; the statement */
    bool executed;
    uint8_t n, access_bytes;
    bool shared, writes;
    uint64_t address;
    uint32_t reg[LANE_MAX_REGS];
    uint64_t value[LANE_MAX_REGS];
} LanePtx;
typedef struct {
    uint32_t index; /* in the binary's code */
    uint8_t n;
    bool stores_there; /* changed the watched address */
    uint8_t file[LANE_MAX_REGS];
    uint16_t reg[LANE_MAX_REGS];
    uint32_t value[LANE_MAX_REGS];
} LaneMachine;

typedef struct {
    const LaneQuestion *question;
    Arena *arena; /* of the plan: texts */
    Arena own;
    uint32_t block[3], thread[3], warp, lane;
    const uint8_t **own_regs; /* by function: see lane_own_values */
    VEC(LanePtx) ptx;
    VEC(LaneMachine) machine;
    SimMemory *mem;
    uint8_t last[8]; /* bytes at the watched address */
    bool pending;    /* machine: the last step has no values yet */
    MachInst pending_inst;
    /* who stored last to a place, before the lane's step `until` */
    bool find_writer, writer_found;
    uint64_t writer_address;
    bool writer_shared;
    uint32_t until, writer_thread[3], writer_block[3];
} LaneTrace;

/* The bits of a component that the PTX register's type has. */
uint32_t lane_component_mask(const PtxFunc *f, uint32_t reg, unsigned component);
/* By register: may hold an address of local or constant memory, or a clock, which need not agree. */
const uint8_t *lane_own_values(LaneTrace *trace, uint32_t func);
const BinFunc *lane_func_of(const LaneTrace *trace, uint32_t index, uint64_t *pc);
const char *lane_statement_text(LaneTrace *trace, const PtxInsn *in);
const char *lane_instruction_text(LaneTrace *trace, uint32_t index);
const char *lane_reg_text(LaneTrace *trace, unsigned file, unsigned reg);
/* Where the executions part, by values alone (lane_values.c); the PTX step, UINT32_MAX: nowhere. */
uint32_t lane_values_part(LaneTrace *trace, uint32_t last_ptx, uint32_t last_machine, LaneDiff *diff);
#endif
