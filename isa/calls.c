/* Where calls and returns go. SPDX-License-Identifier: MIT */
#include "isa/tables.h"

bool isa_is_absolute(unsigned optype, uint32_t mods) {
    return (optype == OT_CALL && MGET(CALL, mode, mods) == BasePCMode_ABS) ||
           (optype == OT_RET && MGET(RET, mode, mods) == BasePCMode_ABS);
}
