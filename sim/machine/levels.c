/* Which host levels this build has and this host can run.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <string.h>

#ifdef SIM_HAVE_X86_LEVELS
#include <cpuid.h>
#include <pthread.h>
#ifdef HEDDLE_SANITIZED /* sim/ops/CMakeLists.txt */
#define HAVE_V2_V4 false
#else
#define HAVE_V2_V4 true
#endif
extern const Level level_v2, level_v3, level_v4;
/* The features that gcc's -march=x86-64-vN means, as far as the compilers can be asked, and the registers
 * that the system saves. __builtin_cpu_supports would do, but its library asks the processor some twenty
 * times at the start of every program that names it, each time a fault under a hypervisor. For the same
 * reason the processor is asked once. */
typedef struct {
    unsigned c1, b7; /* leaf 1 ECX, leaf 7 EBX */
    unsigned saved;  /* XCR0 */
} Features;

static Features found;
static void look(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return;
    found.c1 = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        found.b7 = b;
    if (found.c1 & bit_OSXSAVE)
        __asm__("xgetbv" : "=a"(found.saved), "=d"(d) : "c"(0));
}
static Features features(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return found;
}

static bool all_of(unsigned have, unsigned want) { return (have & want) == want; }
static bool has_v2(Features host) { return all_of(host.c1, bit_SSE4_2 | bit_POPCNT); }
static bool has_v3(Features host) {
    return has_v2(host) && all_of(host.c1, bit_AVX | bit_FMA) &&
           all_of(host.b7, bit_AVX2 | bit_BMI | bit_BMI2) && all_of(host.saved, 0x6);
}
static bool has_v4(Features host) {
    unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    return has_v3(host) && all_of(host.b7, avx512) && all_of(host.saved, 0xe6);
}
#endif

const Level *machine_level_find(const char *name) {
#ifdef SIM_HAVE_X86_LEVELS
    Features host = features();
    const Level *levels[] = {HAVE_V2_V4 && has_v4(host) ? &level_v4 : NULL, has_v3(host) ? &level_v3 : NULL,
                             HAVE_V2_V4 && has_v2(host) ? &level_v2 : NULL, &level_base};
#else
    const Level *levels[] = {&level_base};
#endif
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++)
        if (levels[i] && (!name || strcmp(levels[i]->name, name) == 0))
            return levels[i];
    return NULL;
}
const char *machine_best_level(void) { return machine_level_find(NULL)->name; }
bool machine_has_level(const char *name) { return machine_level_find(name) != NULL; }
/* It wants FMA, and handlers that are its equal in speed. */
bool machine_level_compiles(const char *name) {
    const Level *level = machine_level_find(name);
    return level && (strcmp(level->name, "v3") == 0 || strcmp(level->name, "v4") == 0);
}
