/* R-16 of the driver's functions, whose code is in no file: they may use the barrier registers that the
 * convention between objects leaves to every callee, so no lane may be pending in one of these where a
 * function that returns is called. ptxas 13.0 waits in B6 around vprintf, and in B0 around its own routines.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include "isa/machine/abi.h"

static void check_driver_call(Checker *checker, const BinCall *call) {
    const uint16_t open = (1u << ABI_OPEN_BARRIERS) - 1;
    uint16_t pending = (checker->pend[call->inst] | checker->inherited[call->inst]) & open;
    if (call->system == SYSTEM_COUNT || !system_info(call->system)->returns || !pending)
        return;
    check_report(checker, CR_R16, call->inst, NONE,
                 "the driver's %s may use B0 to B%u, and a lane may be pending in B%d",
                 system_info(call->system)->name, ABI_OPEN_BARRIERS - 1, __builtin_ctz(pending));
}

void check_driver_calls(Checker *checker) {
    const BinFlow *flow = checker->flow;
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        for (uint32_t c = 0; c < flow->funcs[f].ncalls; c++)
            check_driver_call(checker, &flow->funcs[f].calls[c]);
}
