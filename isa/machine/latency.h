/* How far apart two instructions of one warp must issue: fixed latencies, hazards, and which instructions
 * need a scoreboard instead. Read by scheduling, control codes, the control-code checker and the simulator's
 * control-code mode. Numbers are in latency.def, which says where they are from.
 *
 * A distance is counted from issue to issue: an instruction with stall s lets the next one of the warp
 * issue s cycles later (at least one), so distance(w, r) is the sum of the stalls of w and of everything
 * between.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_LATENCY_H
#define HEDDLE_ISA_MACHINE_LATENCY_H
#include "isa/isa.h"

enum {
    LATENCY_GUARD = 0xff,   /* in place of a source number: the guard predicate */
    LATENCY_SB_TO_WAIT = 2, /* an instruction that waits on a scoreboard issues at least this late after the
                               instruction that sets it */
    LATENCY_WINDOW = 32,    /* no fixed distance is longer: after so many cycles nothing coupled is pending */
    LATENCY_MAX_STALL = 15
};

/* Which execution unit an instruction belongs to: a fact of its row. */
enum IsaUnit latency_unit(const MachInst *i);

/* The result (register or predicate) comes at an unknown time: readers and later writers must wait on the
 * instruction's write scoreboard. */
bool latency_is_variable(const Target *target, const MachInst *i);
/* Source registers are read after issue: whoever overwrites one must wait on the instruction's read
 * scoreboard (waiting on its write scoreboard does as well). */
bool latency_reads_late(const Target *target, const MachInst *i);

/* Instructions of one queue start, read their late operands and deliver their results in the order in which
 * they were issued: who has waited for one of them has waited for all before it, and one never overwrites
 * what an earlier one has still to read or to write. A fact of the row, where the target's unit waits at all.
 */
enum IsaQueue latency_queue(const Target *t, const MachInst *i);
/* What is issued into queue `later` comes behind everything that went into `earlier` before it: one queue, or
 * one that follows the other. (Nothing comes behind in ISA_QUEUE_NONE.) */
bool latency_comes_behind(enum IsaQueue later, enum IsaQueue earlier);
/* All memory instructions read address and data registers in the order in which they were issued. */
bool latency_reads_in_order(const Target *target, const MachInst *i);
/* The result comes when the operands have been read: a wait for the read scoreboard does for it, too. */
bool latency_comes_with_operands(const Target *target, const MachInst *i, unsigned dst);
/* A barrier behind which every earlier memory instruction has read its registers. */
bool latency_drains_reads(const Target *target, const MachInst *i);

/* Cycles from `writer` to `reader` for destination `dst` of the writer used as source `src` (LATENCY_GUARD:
 * the guard) of the reader. For a variable writer this is what holds beside the scoreboard wait. The file is
 * that of the destination operand. Conservative over the halves of a 64-bit result. */
unsigned latency_raw(const Target *target, const MachInst *writer, unsigned dst, const MachInst *reader,
                     unsigned src);
/* The same for one 32-bit part of the destination and of the source (part 0 is the low register): 64-bit
 * multiply-add has its low half ready earlier and reads its addend later. */
unsigned latency_raw_part(const Target *target, const MachInst *writer, unsigned dst, unsigned dst_part,
                          const MachInst *reader, unsigned src, unsigned src_part);
/* The longest of these for any reader of the result that the target has, as a source or as a guard: what
 * whoever does not know the reader must keep to. */
unsigned latency_worst(const Target *target, const MachInst *writer, unsigned dst);
/* `first` reads register source `src`, `second` overwrites it. */
unsigned latency_war(const Target *target, const MachInst *first, unsigned src, const MachInst *second);
/* Destination `dst` of `first` is overwritten by `second`. */
unsigned latency_waw(const Target *target, const MachInst *first, unsigned dst, const MachInst *second);
/* Bounds of distances to whatever comes later: from `dst`, read or overwritten, and from what `first` reads,
 * overwritten. */
unsigned latency_result_lasts(const Target *target, const MachInst *first, unsigned dst);
unsigned latency_operands_last(const MachInst *first);
/* Distance to the next instruction, whatever it is (1 for most), that our own code keeps. */
unsigned latency_issue(const Target *target, const MachInst *i);
/* The least such distance that ptxas keeps: what a checker may ask of other compilers' code. At most
 * latency_issue.
 */
unsigned latency_issue_least(const Target *target, const MachInst *i);
/* The cycles that the control field asks for: its stall count, but 0 with YIELD is a long one. */
unsigned latency_stall(const Target *target, const MachInst *i);
/* The next instruction issues so much later: the stall, at least latency_issue_least, more for what holds the
 * warp by itself. */
unsigned latency_next(const Target *target, const MachInst *i);
/* An instruction that waits for the write scoreboard of a variable-latency instruction issues at least so
 * many cycles after it: ptxas counts on that time for what it issues between the two. */
unsigned latency_result_least(const Target *target);
/* Expected cycles until a variable-latency result arrives; for scheduling only. */
unsigned latency_estimate(const Target *target, const MachInst *i);
#endif
