/* The issue loop of a warp, and this host level's table of operations.
 * SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"

/* Issue instructions of one warp until its quota is used up or it cannot go on. */
static int issue(Warp *w) {
    Run *r = w->run;
    Dec *prog = w->prog;
    int status = RUN_OK;
    while (r->quota > 0) {
        r->quota--;
        if (__builtin_expect(w->pc >= r->ncode, 0))
            return machine_trap(w, NULL, low_lane(w->active), TRAP_PC, "control runs off the code");
        Dec *d = &prog[w->pc];
        uint32_t g = w->active & (w->p[d->guard] ^ d->gx);
        r->cls[d->cls].issues++;
        r->cls[d->cls].lanes += (uint32_t)__builtin_popcount(w->active);
        w->pc++;
        if (g == ~0u)
            status = d->full(w, d, g);
        else if (g | d->always)
            status = d->part(w, d, g);
        if (__builtin_expect(status != RUN_OK, 0))
            break;
    }
    return status;
}

/* Every optype has a binder here or in sim/ under one of two names; a missing one does not link. */
#define COMMON(op) bind_##op
#define HERE(op) LV(bind_##op)
#define ELSEWHERE(X) \
    X(BRA) X(BRX) X(CALL) X(RET) X(LEPC) X(EXIT) X(KILL) X(BMOV) X(BSSY) X(BSYNC) X(YIELD) X(BREAK) X(WARPSYNC) \
    X(NANOSLEEP) X(RTT) X(TRAP) X(SYSCALL) X(BPT) X(BAR) X(BAR_RED) X(B2R) X(B2R_RESULT) X(R2B) X(S2R) X(S2UR) \
    X(CS2R) X(ATOMG) X(ATOMG_CAS) X(ATOM) X(ATOM_CAS) X(RED) X(ATOMS) X(ATOMS_CAS) X(QSPC)
/* Not simulated: they trap and say so. */
#define ABSENT(X) X(HMMA) X(IMMA)

#define FORWARD(op) \
    static inline bool LV(bind_##op)(Bind *b) { return bind_##op(b); }
ELSEWHERE(FORWARD)
#define TRAPPING(op) \
    static inline bool LV(bind_##op)(Bind *b) { return bind_not_simulated(b); }
ABSENT(TRAPPING)
#define DECLARE(op) BindFn LV(bind_##op);
DECLARE(NOP) DECLARE(MOV) DECLARE(SEL) DECLARE(IADD3) DECLARE(LEA) DECLARE(LOP3) DECLARE(IABS) DECLARE(PRMT)
DECLARE(IMNMX) DECLARE(SHF) DECLARE(SGXT) DECLARE(BMSK) DECLARE(ISETP) DECLARE(IMAD) DECLARE(IMAD_WIDE)
DECLARE(IMAD_HI) DECLARE(FLO) DECLARE(BREV) DECLARE(POPC) DECLARE(I2I) DECLARE(P2R) DECLARE(R2P) DECLARE(VIADD)
DECLARE(VIMNMX) DECLARE(PLOP3) DECLARE(UPLOP3) DECLARE(FADD) DECLARE(FMUL) DECLARE(FFMA) DECLARE(FSEL)
DECLARE(FMNMX) DECLARE(FSET) DECLARE(FSETP) DECLARE(FCHK) DECLARE(MUFU) DECLARE(DADD) DECLARE(DMUL) DECLARE(DFMA)
DECLARE(DSETP) DECLARE(HADD2) DECLARE(HFMA2) DECLARE(HFMA2_MMA) DECLARE(HMUL2) DECLARE(HSET2) DECLARE(HSETP2)
DECLARE(HMNMX2) DECLARE(F2F) DECLARE(F2I) DECLARE(I2F) DECLARE(FRND) DECLARE(I2FP) DECLARE(F2FP) DECLARE(R2UR)
DECLARE(VOTE) DECLARE(VOTEU) DECLARE(SHFL) DECLARE(MATCH) DECLARE(REDUX) DECLARE(UMOV) DECLARE(USEL) DECLARE(UIADD3)
DECLARE(ULEA) DECLARE(ULOP3) DECLARE(UPRMT) DECLARE(USHF) DECLARE(USGXT) DECLARE(UBMSK) DECLARE(UISETP)
DECLARE(UIMAD) DECLARE(UIMAD_WIDE) DECLARE(UFLO) DECLARE(UBREV) DECLARE(UPOPC) DECLARE(ULDC) DECLARE(LDG)
DECLARE(STG) DECLARE(LD) DECLARE(ST) DECLARE(LDS) DECLARE(STS) DECLARE(LDL) DECLARE(STL) DECLARE(LDC)
DECLARE(MEMBAR) DECLARE(ERRBAR) DECLARE(CCTL)

#define ROW(op) [OT_##op] = LV(bind_##op),
static BindFn *const table[OT_COUNT] = {ISA_OPTYPES(ROW)};

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
extern const Level LV(level);
const Level LV(level) = {TEXT(SIM_LEVEL), table, issue};
