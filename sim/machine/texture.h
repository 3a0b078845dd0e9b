/* What fetches from textures and accesses to surfaces share. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_TEXTURE_H
#define HEDDLE_SIM_MACHINE_TEXTURE_H
#include "sim/machine/internal.h"

/* A handle that is no register of the lane; false: there is none. */
bool machine_bound_handle(Warp *warp, const Dec *dec, uint32_t *handle);
int machine_no_texture(Warp *warp, const Dec *dec, unsigned lane); /* a trap */
/* urb: the slot of a uniform register */
bool bind_texture(Bind *bind, OpFn *fn, unsigned urb);
/* The half nearest to the number of 32 bits, ties to even. */
uint32_t machine_half_of(uint32_t bits);
#endif
