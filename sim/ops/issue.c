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

/* Every optype of isa/ is in one of three lists; one that is in none does not compile
 * (every_optype_is_listed). HERE       its binder bind_NAME is in this folder, compiled for each host level;
 * a missing one does not link ELSEWHERE  its binder is in sim/: control, barriers, atomics, what is too rare
 * to be worth a copy a level ABSENT     not simulated: executing one is an error that names it
 * (TRAP_UNSUPPORTED), no difference. HMMA, DMMA: order and width of the sums inside a tensor core are not
 * documented. IMMA: the forms' shapes are not all described here. F2IP: which byte goes where was not
 * established. UCGABAR: needs clusters. */
// clang-format off
#define ELSEWHERE(X) \
    X(BRA) X(BRX) X(CALL) X(RET) X(LEPC) X(EXIT) X(KILL) X(BMOV) X(BSSY) X(BSYNC) X(YIELD) X(BREAK) X(WARPSYNC) \
    X(NANOSLEEP) X(RTT) X(TRAP) X(SYSCALL) X(BPT) X(BAR) X(BAR_RED) X(B2R) X(B2R_RESULT) X(R2B) X(S2R) X(S2UR) \
    X(CS2R) X(ATOMG) X(ATOMG_CAS) X(ATOM) X(ATOM_CAS) X(RED) X(ATOMS) X(ATOMS_CAS) X(QSPC) \
    X(VABSDIFF4) X(VIMNMX3) X(VIADDMNMX) X(LDGSTS) X(LDGDEPBAR) X(DEPBAR) X(ATOMS_POPC_INC) X(LDSM) X(STSM) X(MOVM) \
    X(ELECT) X(CGAERRBAR) X(FENCE_VIEW_ASYNC) X(PMTRIG) X(ACQBULK) X(PREEXIT)
#define HERE(X) \
    X(NOP) X(MOV) X(SEL) X(IADD3) X(LEA) X(LOP3) X(IABS) X(PRMT) X(IMNMX) X(SHF) X(SGXT) X(BMSK) X(ISETP) X(IMAD) \
    X(IMAD_WIDE) X(IMAD_HI) X(FLO) X(BREV) X(POPC) X(I2I) X(P2R) X(R2P) X(VIADD) X(VIMNMX) X(PLOP3) X(UPLOP3) \
    X(FADD) X(FMUL) X(FFMA) X(FSEL) X(FMNMX) X(FSET) X(FSETP) X(FCHK) X(MUFU) X(DADD) X(DMUL) X(DFMA) X(DSETP) \
    X(HADD2) X(HFMA2) X(HFMA2_MMA) X(HMUL2) X(HSET2) X(HSETP2) X(HMNMX2) X(F2F) X(F2I) X(I2F) X(FRND) X(I2FP) \
    X(F2FP) X(R2UR) X(VOTE) X(VOTEU) X(SHFL) X(MATCH) X(REDUX) X(UMOV) X(USEL) X(UIADD3) X(ULEA) X(ULOP3) X(UPRMT) \
    X(USHF) X(USGXT) X(UBMSK) X(UISETP) X(UIMAD) X(UIMAD_WIDE) X(UFLO) X(UBREV) X(UPOPC) X(ULDC) X(LDG) X(STG) X(LD) \
    X(ST) X(LDS) X(STS) X(LDL) X(STL) X(LDC) X(MEMBAR) X(ERRBAR) X(CCTL) X(VABSDIFF) X(IDP)
#define ABSENT(X) X(HMMA) X(IMMA) X(DMMA) X(F2IP) X(UCGABAR_ARV) X(UCGABAR_WAIT)
// clang-format on

#define DECLARE(op) BindFn LV(bind_##op);
HERE(DECLARE)
#define ROW_HERE(op) [OT_##op] = LV(bind_##op),
#define ROW_ELSEWHERE(op) [OT_##op] = bind_##op,
static BindFn *const table[OT_COUNT] = {HERE(ROW_HERE) ELSEWHERE(ROW_ELSEWHERE)};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
static UNUSED void every_optype_is_listed(enum Optype op) {
#define LISTED(op) case OT_##op:
    switch (op) { /* an enumerator named by the compiler here: add the optype to one of the lists above */
        HERE(LISTED) ELSEWHERE(LISTED) ABSENT(LISTED) case OT_NONE : case OT_COUNT : break;
    }
}
#pragma GCC diagnostic pop

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
extern const Level LV(level);
const Level LV(level) = {TEXT(SIM_LEVEL), table, issue};
