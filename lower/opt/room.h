/* How many more words a place in a function can hold in registers before fewer warps share a multiprocessor.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_OPT_ROOM_H
#define HEDDLE_LOWER_OPT_ROOM_H
#include "ir/ir.h"

typedef struct {
    uint32_t *first; /* [block] where its places begin in `live` */
    uint16_t *live;  /* words that are live behind each instruction */
    unsigned most;   /* that may be live anywhere; UINT16_MAX: nothing is known */
} Room;

/* Of the function as it stands, in SSA form; arrays in `a`. */
Room opt_room(Arena *a, Function *f);
/* Words that may be held behind the instruction at that place of the block, beyond those that are. */
static inline unsigned room_behind(const Room *room, BlockId b, uint32_t place) {
    unsigned live = room->most == UINT16_MAX ? 0 : room->live[room->first[b.i] + place];
    return room->most > live ? room->most - live : 0;
}
#endif
