/* The issue loop of a warp, and this host level's table of operations.
 *
 * Data instructions in a row, up to the next one that moves lanes, waits, or tells the time, are a run: the
 * loop calls the first one's handler, and each calls the next one's (machine_next), with no loop between
 * them. A run's instructions are counted when it begins: the active lanes stay the same to its end. The
 * quantum and the budget hold to the instruction: a run of which they leave a part only is cut for that time.
 * Runs are found when control comes to their first instruction and the others are decoded; until then they
 * are issued one by one. Control may begin in the middle of a run. SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"
/* Handlers pass control on without cleaning the vector registers (CMakeLists.txt). */
#if defined(__AVX__)
#define CLEAN_UPPER _mm256_zeroupper()
#else
#define CLEAN_UPPER (void)0
#endif

/* Nobody executes it, but the instructions behind it. */
static int skip(Warp *warp, Dec *dec, uint32_t g) {
    (void)g;
    return NEXT;
}

/* Find the run that begins at prog[pc], whose handlers chain. Where it meets one that is known it takes it
 * in. */
static void find_run(Run *r, uint32_t pc) {
    Dec *first = &r->prog[pc];
    uint32_t n = 1, behind = 0;
    while (n < MAX_RUN && pc + n < r->ncode && first[n].chains && !first[n].run)
        n++;
    if (pc + n < r->ncode && first[n].full == bind_decode)
        return; /* not to the end yet */
    if (pc + n < r->ncode && first[n].run + n <= MAX_RUN)
        behind = first[n].run;
    for (uint32_t i = 1; i < n + (behind != 0); i++) {
        first[i].go_full = first[i].full;
        first[i].go_part = first[i].part;
        first[i].go_none = skip;
    }
    for (uint32_t i = 0; i < n; i++)
        first[i].run = (uint8_t)(n - i + behind);
    r->has_runs = true;
}

static void count(Run *r, uint32_t cls, uint32_t lanes, int64_t n) {
    r->quota -= n;
    r->cls[cls].issues += (uint64_t)n;
    r->cls[cls].lanes += (uint64_t)n * (uint64_t)__builtin_popcount(lanes);
}

/* n instructions of a run. */
static int issue_run(Warp *warp, Dec *dec, uint32_t g, int64_t n) {
    Run *r = warp->run;
    uint32_t lanes = warp->active;
    count(r, CLS_DATA, lanes, n);
    int status = g == ~0u ? dec->full(warp, dec, g) : g ? dec->part(warp, dec, g) : skip(warp, dec, g);
    CLEAN_UPPER;
    if (__builtin_expect(status != RUN_OK, 0)) /* it trapped: what is behind has not been issued */
        count(r, CLS_DATA, lanes, (int64_t)warp->trap_pc + 1 - (int64_t)(dec - warp->prog) - n);
    return status;
}

/* As many instructions of a run as the quota allows. */
static int issue_part_of_run(Warp *warp, Dec *dec, uint32_t g) {
    int64_t n = warp->run->quota;
    Dec *behind = dec + n, saved = *behind;
    behind->go_full = behind->go_part = behind->go_none = machine_run_ends;
    int status = issue_run(warp, dec, g, n);
    behind->go_full = saved.go_full;
    behind->go_part = saved.go_part;
    behind->go_none = saved.go_none;
    return status;
}

/* One instruction that does not chain. */
static int issue_one(Warp *warp, Dec *dec, uint32_t g) {
    Run *r = warp->run;
    uint32_t cls = dec->cls, lanes = warp->active;
    warp->pc++;
    count(r, cls, lanes, 1); /* handlers tell the time by the quota */
    int status = g == ~0u ? dec->full(warp, dec, g) : g | dec->always ? dec->part(warp, dec, g) : RUN_OK;
    if (__builtin_expect(status != RUN_AGAIN, 1))
        return status;
    count(r, cls, lanes, -1); /* it was only decoded */
    return RUN_OK;
}

/* Issue instructions of one warp until its quota is used up or it cannot go on. */
static int issue(Warp *warp) {
    Run *r = warp->run;
    int status = RUN_OK;
    while (status == RUN_OK && r->quota > 0) {
        if (__builtin_expect(warp->pc >= r->ncode, 0))
            return machine_trap(warp, NULL, low_lane(warp->active), TRAP_PC, "control runs off the code");
        Dec *dec = &warp->prog[warp->pc];
        uint32_t g = warp->active & (warp->p[dec->guard] ^ dec->gx);
        if (!dec->chains) {
            status = issue_one(warp, dec, g);
            continue;
        }
        if (!dec->run)
            find_run(r, warp->pc);
        int64_t n = dec->run ? dec->run : 1;
        status = r->quota < n ? issue_part_of_run(warp, dec, g) : issue_run(warp, dec, g, n);
    }
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
