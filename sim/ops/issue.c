/* The issue loop of a warp, and this host level's table of operations.
 *
 * Data instructions in a row, up to the next one that moves lanes, waits, or tells the time, are a run: the
 * loop calls the first one's handler, and each calls the next one's (machine_next; that of all 32
 * lanes, machine_next_all, which looks at no predicate), with no loop between
 * them. A run's instructions are counted when it begins: the active lanes stay the same to its end. The
 * quantum and the budget hold to the instruction: a run of which they leave a part only is cut for that time.
 * Runs are found when control comes to their first instruction and the others are decoded; until then they
 * are issued one by one. Control may begin in the middle of a run. SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"
#include "sim/machine/jit.h"
#include <string.h>
/* Handlers pass control on without cleaning the vector registers (CMakeLists.txt). */
#if defined(__AVX__)
#define CLEAN_UPPER _mm256_zeroupper()
#else
#define CLEAN_UPPER (void)0
#endif

/* Active lanes for which a guard is false: only instructions that have one pay for their number. */
static void count_off(Warp *warp, const Dec *dec, uint32_t off) {
    warp->run->cls[dec->cls].off += (uint64_t)__builtin_popcount(off);
}

/* Nobody executes it, but the instructions behind it. */
static int skip(Warp *warp, Dec *dec, uint32_t g) {
    (void)g;
    count_off(warp, dec, warp->active);
    return NEXT;
}
/* Who executes it where it is one of a run. */
static OpFn *full_in_run(const Dec *dec) { return dec->full_in_run ? dec->full_in_run : dec->full; }
static OpFn *part_in_run(const Dec *dec) { return dec->part_in_run ? dec->part_in_run : dec->part; }
static int guarded_part(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return skip(warp, dec, g);
    count_off(warp, dec, warp->active & ~g);
    return part_in_run(dec)(warp, dec, g);
}
static OpFn *part_of(const Dec *dec) { return dec_is_guarded(dec) ? guarded_part : part_in_run(dec); }
/* All 32 lanes come here. */
static int guarded_all(Warp *warp, Dec *dec, uint32_t g) {
    g = warp->p[dec->guard] ^ dec->gx;
    return (g == ~0u ? full_in_run(dec) : guarded_part)(warp, dec, g);
}

/* Find the run that begins at prog[pc], whose handlers chain. Where it meets one that is known it takes it
 * in. */
static void find_run(Run *run, uint32_t pc) {
    Dec *first = &run->prog[pc];
    uint32_t n = 1, behind = 0;
    while (n < MAX_RUN && pc + n < run->ncode && !first[n - 1].last && first[n].chains && !first[n].run)
        n++;
    bool goes_on = pc + n < run->ncode && !first[n - 1].last;
    if (goes_on && first[n].full == bind_decode)
        return; /* not to the end yet */
    if (goes_on && first[n].run + n <= MAX_RUN)
        behind = first[n].run;
    for (uint32_t i = 1; i < n + (behind != 0); i++) {
        first[i].go_all = dec_is_guarded(&first[i]) ? guarded_all : full_in_run(&first[i]);
        first[i].go_full = full_in_run(&first[i]);
        first[i].go_part = part_of(&first[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        first[i].run = (uint8_t)(n - i + behind);
}

static void count(Run *run, uint32_t cls, uint32_t lanes, int64_t n) {
    run->quota -= n;
    if (lanes == ~0u) {
        run->cls[cls].all += (uint64_t)n;
        return;
    }
    run->cls[cls].issues += (uint64_t)n;
    run->cls[cls].lanes += (uint64_t)n * (uint64_t)__builtin_popcount(lanes);
}

/* n instructions of a run. */
static int issue_run(Warp *warp, Dec *dec, uint32_t g, int64_t n) {
    Run *run = warp->run;
    uint32_t lanes = warp->active;
    count(run, CLS_DATA, lanes, n);
    int status = (g == ~0u ? full_in_run(dec) : part_of(dec))(warp, dec, g);
    CLEAN_UPPER;
    if (__builtin_expect(status != RUN_OK, 0)) /* it trapped: what is behind has not been issued */
        count(run, CLS_DATA, lanes, (int64_t)warp->trap_pc + 1 - (int64_t)(dec - warp->prog) - n);
    return status;
}

/* As many instructions of a run as the quota allows. */
static int issue_part_of_run(Warp *warp, Dec *dec, uint32_t g) {
    int64_t n = warp->run->quota;
    Dec *behind = dec + n, saved = *behind;
    dec_go(behind, machine_run_ends);
    int status = issue_run(warp, dec, g, n);
    behind->go_all = saved.go_all;
    behind->go_full = saved.go_full;
    behind->go_part = saved.go_part;
    return status;
}

/* One instruction that does not chain. */
static int issue_one(Warp *warp, Dec *dec, uint32_t g) {
    Run *run = warp->run;
    uint32_t cls = dec->cls, lanes = warp->active;
    warp->pc++;
    count(run, cls, lanes, 1); /* handlers tell the time by the quota */
    int status = g == ~0u ? dec->full(warp, dec, g) : g | dec->always ? dec->part(warp, dec, g) : RUN_OK;
    if (__builtin_expect(status != RUN_AGAIN, 1)) {
        run->cls[cls].off += (uint64_t)__builtin_popcount(lanes & ~g);
        return status;
    }
    count(run, cls, lanes, -1); /* it was only decoded */
    return RUN_OK;
}

/* The instruction at warp->pc, or the run that it begins, as far as the quota goes. */
static inline int issue_next(Warp *warp) {
    Run *run = warp->run;
    if (__builtin_expect(warp->pc >= run->ncode, 0))
        return machine_trap(warp, NULL, low_lane(warp->active), TRAP_PC, "control runs off the code");
    Dec *dec = &warp->prog[warp->pc];
    uint32_t g = warp->active & (warp->p[dec->guard] ^ dec->gx);
    if (!dec->chains)
        return issue_one(warp, dec, g);
    if (!dec->run)
        find_run(run, warp->pc);
    int64_t n = dec->run ? dec->run : 1;
    return run->quota < n ? issue_part_of_run(warp, dec, g) : issue_run(warp, dec, g, n);
}

/* Issue instructions of one warp until its quota is used up or it cannot go on. */
static int issue(Warp *warp) {
    int status = RUN_OK;
    while (status == RUN_OK && warp->run->quota > 0)
        status = issue_next(warp);
    return status;
}

/* The same with compiled regions. Heat is what a loop has executed, or begins to execute here: where it goes
 * back, where a warp goes on, and where compiled code ends. */
static __attribute__((noinline)) void heat_at(Warp *warp, uint32_t pc, unsigned kind, uint32_t insts) {
    Jit *jit = warp->run->jit;
    JitSlot *slot = &jit->slots[pc];
    if (slot->code[kind] && !slot->copied[kind]) /* the best there is */
        return;
    uint32_t wanted = slot->wanted[kind] ? slot->wanted[kind] : jit->threshold;
    if (slot->heat[kind] < UINT32_MAX / 2) {
        slot->heat[kind] += insts;
        slot->entries[kind] += slot->copied[kind];
    }
    if (slot->heat[kind] >= wanted && !slot->hopeless[kind])
        jit_compile(warp, pc, kind);
}
static unsigned kind_now(const Warp *warp) { return warp->active == ~0u ? JIT_FULL : JIT_MASKED; }
static void heat(Warp *warp, uint32_t insts) {
    unsigned kind = kind_now(warp);
    if (warp->pc >= warp->run->ncode || warp->run->jit->slots[warp->pc].code[kind]) /* executing it counts */
        return;
    uint32_t known = warp->run->jit->slots[warp->pc].length[kind];
    heat_at(warp, warp->pc, kind, known ? known : insts);
}
/* Where the warp is there is code of this kind: false, it has executed nothing. */
static inline bool execute_code(Warp *warp, const JitSlot *slot, unsigned kind, int *status) {
    int64_t quota = warp->run->quota;
    uint32_t pc = warp->pc;
    *status = slot->code[kind](warp, &warp->run->jit->host);
    CLEAN_UPPER;
    quota -= warp->run->quota;
    *warp->run->jit->executed += (uint64_t)quota;
    if (__builtin_expect(slot->copied[kind], 0))
        heat_at(warp, pc, kind, (uint32_t)quota);
    return *status != RUN_OK || quota;
}
static __attribute__((noinline)) int issue_or_execute(Warp *warp) {
    Run *run = warp->run;
    Jit *jit = run->jit;
    int status = RUN_OK;
    while (status == RUN_OK && run->quota > 0) {
        uint32_t pc = warp->pc;
        int64_t quota = run->quota;
        JitSlot *slot = &jit->slots[pc < run->ncode ? pc : run->ncode];
        unsigned kind = kind_now(warp);
        if (slot->block && !run->prog[pc].bound && quota >= slot->block)
            jit_bind_block(run, pc);
        if (slot->code[kind] && execute_code(warp, slot, kind, &status)) {
            if (status == RUN_OK)
                heat(warp, 8); /* it left for somewhere */
            continue;
        }
        status = issue_next(warp);
        if (warp->pc <= pc && status == RUN_OK && run->quota != quota) /* not only decoded */
            heat(warp, pc - warp->pc + 1);
    }
    return status;
}
/* The code where the warp is goes on to somewhere else, or there is none yet. */
static __attribute__((noinline)) int go_on_hot(Warp *warp, uint32_t insts) {
    heat(warp, insts);
    return issue_or_execute(warp);
}
/* Most warps of short kernels end in the code where they begin. */
static int issue_hot(Warp *warp) {
    Run *run = warp->run;
    uint32_t pc = warp->pc;
    int status = RUN_OK;
    unsigned kind = kind_now(warp);
    const JitSlot *slot = &run->jit->slots[pc < run->ncode ? pc : run->ncode];
    if (!slot->code[kind] || !run->prog[pc].bound)
        return go_on_hot(warp, 16);
    if (!execute_code(warp, slot, kind, &status))
        return issue_or_execute(warp);
    return status == RUN_OK ? go_on_hot(warp, 8) : status;
}

/* From the row that reads as 0: a value that the compiler knew it would store by a call, or eight bytes at a
 * time. It may go on into rpc. */
static void clear_warp(Warp *warp, const RowSet *rows) {
    typedef uint64_t Part __attribute__((vector_size(64), aligned(4), may_alias));
    enum { STATE_BYTES = offsetof(Warp, rpc) - offsetof(Warp, yield) };
    const Part zero = *(const Part *)(const void *)(warp->rows + ROW_RZ * ROW_BYTES);
    uint8_t *state = (uint8_t *)&warp->yield;
    for (size_t i = 0; i < STATE_BYTES; i += sizeof zero)
        *(Part *)(void *)(state + i) = zero;
    for (uint32_t words = rows->words; words; words &= words - 1) {
        unsigned word = (unsigned)__builtin_ctz(words);
        for (uint64_t left = rows->bits[word]; left; left &= left - 1) {
            uint8_t *row = warp->rows + (word * 64 + (unsigned)__builtin_ctzll(left)) * ROW_BYTES;
            for (size_t i = 0; i < ROW_BYTES; i += sizeof zero)
                *(Part *)(void *)(row + i) = zero;
        }
    }
}

static int call_data(Warp *warp, uint32_t pc, uint32_t g) {
    Dec *dec = &warp->prog[pc], *behind = dec + 1;
    OpFn *all = behind->go_all, *full = behind->go_full, *part = behind->go_part;
    dec_go(behind, machine_run_ends);
    int status = (g == ~0u ? dec->full : dec->part)(warp, dec, g);
    behind->go_all = all;
    behind->go_full = full;
    behind->go_part = part;
    return status;
}
static int call_control(Warp *warp, uint32_t pc, uint32_t g) {
    Dec *dec = &warp->prog[pc];
    g = warp->active & (warp->p[dec->guard] ^ dec->gx);
    count_off(warp, dec, warp->active & ~g);
    warp->pc = pc + 1;
    return g == ~0u ? dec->full(warp, dec, g) : g | dec->always ? dec->part(warp, dec, g) : RUN_OK;
}

/* Where an operation is simulated is said in its row (Simulated<> in isa/NAME.isa). A binder that is missing
 * does not link: LEVELS ones are in this folder and compiled for each host level, LANE ones have one in
 * common, which takes the row of isa/lane that lane_choose says, MACHINE ones (control, barriers, atomics,
 * what is too rare to be worth a copy a level) are in sim/machine. ABSENT ones have none. */
#define DECLARE(op) BindFn LV(bind_##op);
ISA_SIMULATED_LEVELS_OPTYPES(DECLARE)
BindFn LV(bind_lane);
#define ROW_LEVELS(op) [OT_##op] = LV(bind_##op),
#define ROW_LANE(op) [OT_##op] = LV(bind_lane),
#define ROW_MACHINE(op) [OT_##op] = bind_##op,
static BindFn *const table[OT_COUNT] = {ISA_SIMULATED_LEVELS_OPTYPES(ROW_LEVELS) ISA_SIMULATED_LANE_OPTYPES(
    ROW_LANE) ISA_SIMULATED_MACHINE_OPTYPES(ROW_MACHINE)};

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
/* What S2R reads in most places. */
static int warp_row(Warp *warp, Dec *dec, UNUSED uint32_t g) {
    const uint32_t *from = (const uint32_t *)(const void *)((const char *)warp + dec->sreg.at);
    uint32_t *r = dec_dst(warp, dec, 0);
    LANES { r[i] = from[i]; }
    return NEXT_ALL;
}
static int block_word(Warp *warp, Dec *dec, UNUSED uint32_t g) {
    uint32_t *r = dec_dst(warp, dec, 0), word;
    memcpy(&word, (const char *)warp->cta + dec->sreg.at, sizeof word);
    LANES { r[i] = word; }
    return NEXT_ALL;
}

extern const Level LV(level);
const Level LV(level) = {
    TEXT(SIM_LEVEL), table,        clear_warp, issue,      issue_hot,
    call_data,       call_control, warp_row,   block_word, {LV(lanes_int), LV(lanes_float), LV(lanes_cvt)}};
