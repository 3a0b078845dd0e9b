/* Words of the IR text that the printer and the loader share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_TEXT_H
#define HEDDLE_IR_TEXT_H
#include "ir/ir.h"

enum { IR_NUM_FLAGS = 13 };
extern const char *const ir_file_names[RF_COUNT]; /* of values: %r12 */
extern const char *const ir_phys_names[RF_COUNT]; /* of registers: R12 */
extern const char *const ir_reloc_names[RELOC_KIND_COUNT];
extern const char *const ir_flag_names[IR_NUM_FLAGS]; /* bit k of Inst.flags */
extern const char *const ir_half_names[4];            /* OPM_HALF_SHIFT */
#endif
