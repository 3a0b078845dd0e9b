#include "isa/tables.h"
void isa_random(const Target *t, unsigned opcode, uint64_t *state, MachInst *out) { (void)t; (void)opcode; (void)state; (void)out; }
