/* CUDA C++: compilers that make PTX of it, and nvcc with Heddle for its ptxas.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_CUDA_H
#define HEDDLE_TOOLS_CUDA_H
#include "tools/cli/cli.h"

bool cli_is_cuda(const char *path); /* by its name: K.cu */
/* The PTX of a CUDA C++ file, in the settings' arena, by nvcc or clang, whose messages go to standard error.
 * False: there is no such compiler, or it does not take the file (reported). */
bool cli_cuda_to_ptx(Settings *settings, const char *path, const char **ptx, size_t *size_bytes);
/* heddle nvcc: becomes nvcc with these arguments, `argc` of them; returns the exit status where it cannot. */
int cli_nvcc(int argc, char **argv);
#endif
