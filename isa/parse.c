#include "isa/tables.h"
bool isa_parse(const Target *t, const char *text, uint64_t pc_bytes, const IsaParseOptions *opt, MachInst *out,
               const char **end, char error[ISA_ERROR_BYTES]) { (void)t; (void)text; (void)pc_bytes; (void)opt; (void)out; (void)end; (void)error; return false; }
