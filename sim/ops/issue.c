/* The issue loop of a warp, and this host level's table of operations.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"

/* Issue instructions of one warp until its quota is used up or it cannot go on. Counters live in registers
 * here. */
static int issue(Warp *warp) {
    Run *r = warp->run;
    Dec *prog = warp->prog;
    int status = RUN_OK;
    int64_t quota = r->quota;
    uint64_t all = 0, lanes = 0, data = 0, data_lanes = 0, b = 0;
    while (quota > 0) {
        r->quota = --quota; /* handlers tell the time by it */
        if (__builtin_expect(warp->pc >= r->ncode, 0)) {
            status = machine_trap(warp, NULL, low_lane(warp->active), TRAP_PC, "control runs off the code");
            break;
        }
        Dec *dec = &prog[warp->pc];
        uint32_t g = warp->active & (warp->p[dec->guard] ^ dec->gx),
                 n = (uint32_t)__builtin_popcount(warp->active);
        all++;
        lanes += n;
        data += dec->cls == CLS_DATA;
        data_lanes += dec->cls == CLS_DATA ? n : 0;
        b += dec->cls == CLS_B;
        warp->pc++;
        if (g == ~0u)
            status = dec->full(warp, dec, g);
        else if (g | dec->always)
            status = dec->part(warp, dec, g);
        if (__builtin_expect(status != RUN_OK, 0)) {
            if (status != RUN_AGAIN)
                break;
            status = RUN_OK;
            r->quota = ++quota;
            all--;
            lanes -= n;
        }
    }
    r->cls[CLS_DATA].issues += data;
    r->cls[CLS_DATA].lanes += data_lanes;
    r->cls[CLS_B].issues += b;
    r->cls[CLS_OTHER].issues += all - data - b;
    r->cls[CLS_OTHER].lanes += lanes - data_lanes; /* those of CLS_B too */
    return status;
}

/* Where an operation is simulated is said in its row (Simulated<> in isa/NAME.isa). A binder that is missing
 * does not link: LEVELS ones are in this folder and compiled for each host level, MACHINE ones (control,
 * barriers, atomics, what is too rare to be worth a copy a level) are in sim/machine. ABSENT ones have none.
 */
#define DECLARE(op) BindFn LV(bind_##op);
ISA_SIMULATED_LEVELS_OPTYPES(DECLARE)
#define ROW_LEVELS(op) [OT_##op] = LV(bind_##op),
#define ROW_MACHINE(op) [OT_##op] = bind_##op,
static BindFn *const table[OT_COUNT] = {ISA_SIMULATED_LEVELS_OPTYPES(ROW_LEVELS)
                                            ISA_SIMULATED_MACHINE_OPTYPES(ROW_MACHINE)};

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
extern const Level LV(level);
const Level LV(level) = {TEXT(SIM_LEVEL), table, issue};
