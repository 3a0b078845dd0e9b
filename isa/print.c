#include "isa/tables.h"
int isa_print(const Target *t, const MachInst *in, uint64_t pc_bytes, const IsaPrintOptions *opt, char *out,
              size_t out_bytes) { (void)t; (void)in; (void)pc_bytes; (void)opt; (void)out; (void)out_bytes; return 0; }
