/* Which host levels this build has and this host can run.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <string.h>

#ifdef SIM_HAVE_X86_LEVELS
extern const Level level_v2, level_v3, level_v4;
/* The features that gcc's -march=x86-64-vN means, as far as the compilers can be asked. */
static bool has_v2(void) { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); }
static bool has_v3(void) {
    return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
static bool has_v4(void) {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

const Level *machine_level_find(const char *name) {
#ifdef SIM_HAVE_X86_LEVELS
    __builtin_cpu_init();
    const Level *levels[] = {has_v4() ? &level_v4 : NULL, has_v3() ? &level_v3 : NULL,
                             has_v2() ? &level_v2 : NULL, &level_base};
#else
    const Level *levels[] = {&level_base};
#endif
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        if (levels[i] && (!name || strcmp(levels[i]->name, name) == 0))
            return levels[i];
    return NULL;
}
const char *machine_best_level(void) { return machine_level_find(NULL)->name; }
