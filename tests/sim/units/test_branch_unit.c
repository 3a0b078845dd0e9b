/* The branch unit, opcode by opcode: assembly text, its encoding, the decoded bytes on the machine. Expected
 * masks are computed here from the specification's own description (branch conditions: its golden function)
 * or follow from it.
 * SPDX-License-Identifier: MIT */
#include "asm_run.h"
#include <stdio.h>
#include <string.h>

enum { V, A, PG, PP, UR }; /* words of AsmLaunch.in: valid, active, guard, second predicate, uniform mask */
#define IN_V "c[0x0][0x168]"
#define IN_A "c[0x0][0x16c]"
#define IN_PG "c[0x0][0x170]"
#define IN_PP "c[0x0][0x174]"
#define IN_UR "c[0x0][0x178]"

/* Lanes outside V exit, lanes outside A park at `parked`; P3 = guard, P4 = second predicate, UR4 = a mask. */
#define MASKS                                                                                                \
    ASM_START ASM_BIT("P1", IN_V) ASM_BIT("P2", IN_A) ASM_BIT("P3", IN_PG)                                   \
        ASM_BIT("P4", IN_PP) "ULDC UR4, " IN_UR ";\nMOV R6, RZ;\n@!P1 EXIT;\n@!P2 BRA `(parked);\n"
#define PARKED "parked:\nMOV R6, 0x9;\n" ASM_STORE "EXIT;\n"

static void random_masks(AsmLaunch *launch) {
    uint32_t valid = asm_random() | asm_random();
    if (asm_random() % 4 == 0)
        valid = ~0u;
    valid |= 1u << asm_random() % 32;
    uint32_t active = asm_random() % 3 ? valid & (asm_random() | asm_random()) : valid;
    if (!active)
        active = valid;
    launch->in[V] = valid;
    launch->in[A] = active;
    for (unsigned i = PG; i <= UR; i++)
        launch->in[i] = asm_random() % 5 == 0   ? ~0u
                        : asm_random() % 6 == 0 ? 0
                        : asm_random() % 2      ? asm_random()
                                                : asm_random() & asm_random();
}

/* Each lane's two words: R6, and the lanes that were there with it. */
static void expect(const AsmResult *result, uint32_t lanes, uint32_t value) {
    for (uint32_t i = 0; i < 32; i++)
        if (lanes >> i & 1) {
            assert_int_equal(result->out[2 * i], value);
            assert_int_equal(result->out[2 * i + 1], lanes);
        }
}

/* ---- BRA ---- */

/* The specification's getGoldenBranchCondition on masks: who jumps. pg already includes pp. */
static uint32_t golden(uint32_t active, uint32_t valid, uint32_t pg, const char *modi, bool has_ur,
                       uint32_t ur) {
    uint32_t pgv = pg & active;
    bool is_div;
    if (!has_ur) {
        is_div = (pgv ^ valid) != 0;
        if (!strcmp(modi, ""))
            return pgv;
        if (!strcmp(modi, ".U"))
            return pgv == active ? active : 0;
        return is_div == !strcmp(modi, ".DIV") ? pgv : 0;
    }
    if ((valid ^ active) & ur)
        is_div = true;
    else if (pgv != active && pgv != 0)
        is_div = (active & ~pg & ur) != 0;
    else
        is_div = false;
    return pgv && is_div == !strcmp(modi, ".DIV") ? active : 0;
}

static void branches(void **state) {
    (void)state;
    static const struct {
        const char *modi, *ur;
    } forms[] = {{"", ""},           {".U", ""},         {".DIV", ""},       {".CONV", ""},
                 {".DIV", "UR4, "},  {".CONV", "UR4, "}, {".DIV", "~UR4, "}, {".CONV", "~UR4, "},
                 {".DIV", "~URZ, "}, {".CONV", "URZ, "}};
    static const char *const guards[] = {"@P3", "@!P3", "@P3", "", ""}, *const pps[] = {"", "", "!P4, ",
                                                                                        "P4, ", ""};
    for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++)
        for (unsigned n = 0; n < 60; n++) {
            AsmLaunch l = {.threads = 32};
            unsigned k = n % 5;
            random_masks(&l);
            AsmResult r = asm_run(&l,
                                  MASKS "%s BRA%s %s%s`(taken);\nMOV R6, 0x1;\n" ASM_STORE "EXIT;\n"
                                        "taken:\nMOV R6, 0x2;\n" ASM_STORE "EXIT;\n" PARKED,
                                  guards[k], forms[f].modi, pps[k], forms[f].ur);
            uint32_t pg = k == 1 ? ~l.in[PG] : k == 0 || k == 2 ? l.in[PG] : ~0u;
            pg &= k == 2 ? ~l.in[PP] : k == 3 ? l.in[PP] : ~0u;
            uint32_t ur = strstr(forms[f].ur, "URZ") ? 0 : l.in[UR];
            ur = forms[f].ur[0] == '~' ? ~ur : ur;
            uint32_t jump = golden(l.in[A], l.in[V], pg, forms[f].modi, forms[f].ur[0] != 0, ur);
            expect(&r, jump, 2);
            expect(&r, l.in[A] & ~jump, 1);
            expect(&r, l.in[V] & ~l.in[A], 9);
        }
}

/* ---- BRX, CALL, RET: a jump into a row of blocks of 64 bytes, one for each value of a lane ---- */

#define BLOCK(n) "MOV R6, 0x2" #n ";\nBRA `(store);\nNOP;\nNOP;\n"
#define BLOCKS "table:\n" BLOCK(0) BLOCK(1) BLOCK(2) BLOCK(3)
#define STORE "store:\n" ASM_STORE "EXIT;\n"

/* Lanes of g jump to block `to(lane)`; the others fall through with value 1. Equal targets stay together
 * where everybody jumps at once, otherwise at `store`: nobody waits there, so groups are those of the jump.
 */
static void expect_jumps(const AsmResult *result, const AsmLaunch *launch, uint32_t g, uint32_t mask_of_2,
                         uint32_t mask_of_1) {
    g &= launch->in[A];
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t lanes = g & (k & 2 ? mask_of_2 : ~mask_of_2) & (k & 1 ? mask_of_1 : ~mask_of_1);
        for (uint32_t i = 0; i < 32; i++)
            if (lanes >> i & 1) {
                assert_int_equal(result->out[2 * i], 0x20 + k);
                assert_int_equal(result->out[2 * i + 1] & 1u << i, 1u << i);
                assert_int_equal(result->out[2 * i + 1] & ~lanes, 0);
            }
    }
    for (uint32_t i = 0; i < 32; i++)
        if ((launch->in[A] & ~g) >> i & 1)
            assert_int_equal(result->out[2 * i], 1);
}

/* R8 = 64 * (2 * bit of c[0x17c] + bit of c[0x180]) */
#define CHOICE                                                                                               \
    ASM_BIT("P5", "c[0x0][0x17c]")                                                                           \
    ASM_BIT("P6", "c[0x0][0x180]")                                                                           \
    "MOV R9, 0x80;\nSEL R8, R9, RZ, P5;\nMOV R9, 0x40;\nSEL R9, R9, RZ, "                                    \
    "P6;\nIADD3 R8, R8, R9, RZ;\n"
enum { M2 = 5, M1 = 6, WIDE = 8 };

static void brx(void **state) {
    (void)state;
    for (unsigned n = 0; n < 60; n++) {
        AsmLaunch l = {.threads = 32};
        random_masks(&l);
        l.in[M2] = asm_random();
        l.in[M1] = asm_random();
        bool guarded = n & 1;
        uint32_t g = guarded ? l.in[PG] & ~l.in[PP] : ~0u;
        /* the distance counts from behind the BRX; one instruction lies between */
        AsmResult r = asm_run(
            &l,
            MASKS CHOICE
            "%s BRX %sR8, `(table - .Next);\n.Next:\nMOV R6, 0x1;\nBRA `(store);\n" BLOCKS STORE PARKED,
            guarded ? "@P3" : "", guarded ? "!P4, " : "");
        expect_jumps(&r, &l, g, l.in[M2], l.in[M1]);
        /* one target for all lanes: a uniform register, a constant */
        uint32_t k = asm_random() % 4;
        l.in[WIDE] = 0x40 * k;
        r = asm_run(&l,
                    MASKS "ULDC UR5, c[0x0][0x188];\n%s BRX %sUR5, `(table - .Next);\n.Next:\nMOV R6, "
                          "0x1;\nBRA `(store);\n" BLOCKS STORE PARKED,
                    guarded ? "@P3" : "", guarded ? "!P4, " : "");
        expect_jumps(&r, &l, g, k & 2 ? ~0u : 0, k & 1 ? ~0u : 0);
        l.in[WIDE] = 0x40 * k + 0x20;
        r = asm_run(&l, MASKS "%s BRX %sc[0x0][0x188];\nMOV R6, 0x1;\nBRA `(store);\n" BLOCKS STORE PARKED,
                    guarded ? "@P3" : "", guarded ? "!P4, " : "");
        expect_jumps(&r, &l, g, k & 2 ? ~0u : 0, k & 1 ? ~0u : 0);
    }
    AsmLaunch l = {.threads = 32, .trap = TRAP_PC}; /* backwards out of the code, and to no instruction */
    asm_run(&l, "MOV R8, 0xffff0000;\nBRX R8, 0x0;\nEXIT;\n");
    asm_run(&l, "MOV R8, 0x8;\nBRX R8, 0x0;\nEXIT;\n");
    l.trap = TRAP_NONE; /* a negative register */
    AsmResult r = asm_run(&l, ASM_START "BRA `(over);\nback:\nMOV R6, 0x7;\n" ASM_STORE
                                        "EXIT;\nover:\nMOV R8, -0x60;\nBRX R8, 0x0;\n");
    expect(&r, ~0u, 7);
}

/* CALL and RET are one operation: R, U and C, relative and absolute. */
static void calls_and_returns(void **state) {
    (void)state;
    static const char *const names[] = {"CALL", "RET"};
    for (unsigned n = 0; n < 48; n++) {
        AsmLaunch l = {.threads = 32};
        random_masks(&l);
        l.in[M2] = asm_random();
        l.in[M1] = asm_random();
        bool guarded = n & 1;
        const char *name = names[n >> 1 & 1], *guard = guarded ? "@P3" : "", *pp = guarded ? "!P4, " : "";
        uint32_t g = guarded ? l.in[PG] & ~l.in[PP] : ~0u, k = asm_random() % 4;
        uint32_t m2 = k & 2 ? ~0u : 0, m1 = k & 1 ? ~0u : 0;
        /* registers, relative: a distance; absolute: a distance from an address that LEPC gives */
        AsmResult r = asm_run(
            &l,
            MASKS CHOICE
            "MOV R9, RZ;\n"
            "%s %s.REL %sR[8:9], `(table - .Next);\n.Next:\nMOV R6, 0x1;\nBRA `(store);\n" BLOCKS STORE
                PARKED,
            guard, name, pp);
        expect_jumps(&r, &l, g, l.in[M2], l.in[M1]);
        r = asm_run(
            &l,
            MASKS CHOICE
            "LEPC R[10:11], `(table - .);\nIADD3 R8, P0, R8, R10, RZ;\nIADD3.X R9, RZ, R11, RZ, P0, !PT;\n"
            "%s %s.ABS %sR[8:9], 0x0;\nMOV R6, 0x1;\nBRA `(store);\n" BLOCKS STORE PARKED,
            guard, name, pp);
        expect_jumps(&r, &l, g, l.in[M2], l.in[M1]);
        /* uniform registers */
        l.in[WIDE] = 0x40 * k;
        r = asm_run(
            &l,
            MASKS "ULDC UR6, c[0x0][0x188];\nUMOV UR7, URZ;\n"
                  "%s %s.REL %sUR[6:7], `(table - .Next);\n.Next:\nMOV R6, 0x1;\nBRA `(store);\n" BLOCKS STORE
                      PARKED,
            guard, name, pp);
        expect_jumps(&r, &l, g, m2, m1);
        /* constants; absolute ones need the kernel's address, which a first launch tells */
        l.in[WIDE] = 0x40 * k + 0x20;
        l.in[WIDE + 1] = 0;
        const char *text =
            MASKS "%s %s.%s %sc[0x0][0x188];\nMOV R6, 0x1;\nBRA `(store);\n" BLOCKS STORE PARKED;
        r = asm_run(&l, text, guard, name, "REL", pp);
        expect_jumps(&r, &l, g, m2, m1);
        static const unsigned before =
            5 + 4 * 4 + 2 + 2; /* instructions of MASKS; then 3 more to the blocks */
        uint64_t address = r.entry + 16 * (before + 3) + 0x40 * k;
        l.in[WIDE] = (uint32_t)address;
        l.in[WIDE + 1] = (uint32_t)(address >> 32);
        r = asm_run(&l, text, guard, name, "ABS", pp);
        expect_jumps(&r, &l, g, m2, m1);
        r = asm_run(
            &l,
            MASKS
            "ULDC.64 UR6, c[0x0][0x188];\n%s %s.ABS %sUR[6:7], 0x10;\nMOV R6, 0x1;\nBRA `(store);\n" BLOCKS
                STORE PARKED,
            guard, name, pp); /* one instruction more: 0x10 */
        expect_jumps(&r, &l, g, m2, m1);
    }
}

/* A call and its way back, from two places at once. */
static void call_and_return(void **state) {
    (void)state;
    AsmLaunch l = {.threads = 32, .in = {0x00ff00ff}};
    AsmResult r = asm_run(
        &l, ASM_START ASM_BIT(
                "P1", "c[0x0][0x168]") "@P1 BRA `(second);\n"
                                       "LEPC R[8:9], `(after1 - .);\nMOV R6, 0x100;\nCALL.REL "
                                       "`(func);\nafter1:\nIADD3 R6, R6, 0x1, RZ;\n" ASM_STORE "EXIT;\n"
                                       "second:\nLEPC R[8:9], `(after2 - .);\nMOV R6, 0x200;\nCALL.REL "
                                       "`(func);\nafter2:\nIADD3 R6, R6, 0x2, RZ;\n" ASM_STORE
                                       "EXIT;\nfunc:\nIADD3 R6, R6, 0x10, RZ;\nRET.ABS R[8:9], 0x0;\n");
    expect(&r, 0xff00ff00, 0x111);
    expect(&r, 0x00ff00ff, 0x212);
}

static void lepc(void **state) {
    (void)state;
    AsmLaunch l = {.threads = 32, .in = {0xf0f0f0f0}};
    AsmResult r =
        asm_run(&l, ASM_START ASM_BIT("P1", "c[0x0][0x168]") "MOV R10, RZ;\nMOV R11, RZ;\n@P1 LEPC R[10:11], "
                                                             "0x80;\nSTG.E.64 [R2.64], R10;\nEXIT;\n");
    for (uint32_t i = 0; i < 32; i++) { /* the LEPC is instruction 11 */
        uint64_t want = 0xf0f0f0f0 >> i & 1 ? r.entry + 16 * 11 + 0x80 : 0;
        assert_int_equal(r.out[2 * i], (uint32_t)want);
        assert_int_equal(r.out[2 * i + 1], (uint32_t)(want >> 32));
    }
}

/* ---- EXIT ---- */
static void exits(void **state) {
    (void)state;
    for (unsigned n = 0; n < 60; n++) {
        AsmLaunch l = {.threads = 32};
        random_masks(&l);
        AsmResult r = asm_run(&l, MASKS "%s EXIT %s;\nMOV R6, 0x1;\n" ASM_STORE "EXIT;\n" PARKED,
                              n % 3 ? "@P3" : "@!P3", n % 3 == 1 ? "" : "!P4");
        uint32_t gone = n % 3 ? l.in[PG] : ~l.in[PG];
        gone &= n % 3 == 1 ? ~0u : ~l.in[PP];
        uint32_t stay = l.in[A] & ~gone;
        expect(&r, stay, 1);
        for (uint32_t i = 0; i < 32; i++)
            if ((l.in[A] & gone) >> i & 1 || !(l.in[V] >> i & 1))
                assert_int_equal(r.out[2 * i + 1], 0);
        expect(&r, l.in[V] & ~l.in[A], 9); /* the parked ones go on as one group */
    }
}

/* ---- B registers ---- */

/* BMOV to B takes the lowest executing lane's value, to R writes executing lanes, CLEAR clears if any
 * executes. */
static void bmov(void **state) {
    (void)state;
    for (unsigned n = 0; n < 64; n++) {
        AsmLaunch l = {.threads = 32};
        random_masks(&l);
        uint32_t first = asm_random();
        l.in[M1] = first;
        unsigned b = n % 16;
        AsmResult r = asm_run(
            &l,
            MASKS "IADD3 R8, R0, c[0x0][0x17c], RZ;\nIADD3 R8, R8, c[0x0][0x180], RZ;\nBMOV B%u, RZ;\n"
                  "@P3 BMOV B%u, R8;\nMOV R6, RZ;\n@!P4 BMOV%s R6, B%u;\nBMOV R7, B%u;\nSTG.E.64 [R2.64], "
                  "R6;\nEXIT;\n" PARKED,
            b, b, n & 16 ? ".CLEAR" : "", b, b);
        uint32_t g = l.in[A] & l.in[PG], reads = l.in[A] & ~l.in[PP];
        uint32_t value = g ? (uint32_t)__builtin_ctz(g) + first : 0;
        for (uint32_t i = 0; i < 32; i++)
            if (l.in[A] >> i & 1) {
                assert_int_equal(r.out[2 * i], reads >> i & 1 ? value : 0);
                assert_int_equal(r.out[2 * i + 1], n & 16 && reads ? 0 : value);
            }
    }
}

/* BSSY adds executing lanes, BREAK takes them out, in every B register; all start at 0. */
static void bssy_break(void **state) {
    (void)state;
    for (unsigned n = 0; n < 64; n++) {
        AsmLaunch l = {.threads = 32};
        random_masks(&l);
        unsigned b = n % 16;
        AsmResult r =
            asm_run(&l,
                    MASKS "@P3 BSSY B%u, `(end);\nBMOV R6, B%u;\nBREAK !P4, B%u;\nBMOV R7, B%u;\nend:\n"
                          "STG.E.64 [R2.64], R6;\nEXIT;\n" PARKED,
                    b, b, b, b);
        for (uint32_t i = 0; i < 32; i++)
            if (l.in[A] >> i & 1) {
                assert_int_equal(r.out[2 * i], l.in[A] & l.in[PG]);
                assert_int_equal(r.out[2 * i + 1], l.in[A] & l.in[PG] & l.in[PP]);
            }
    }
}

/* BSYNC brings the region's lanes together, but for those that left it with BREAK; the side that leaves comes
 * second. */
static void bsync_break(void **state) {
    (void)state;
    for (unsigned n = 0; n < 96; n++) {
        AsmLaunch l = {.threads = 32,
                       .opt.branch_order = n & 16 ? MACHINE_TAKEN_FIRST : MACHINE_FALLTHROUGH_FIRST};
        random_masks(&l);
        unsigned b = n % 16;
        AsmResult r = asm_run(
            &l,
            MASKS "BSSY B%u, `(join);\n@P3 BRA `(side);\nNOP;\nBRA `(sync);\nside:\n@P4 BRA `(away);\nNOP;\n"
                  "sync:\nBSYNC B%u;\njoin:\nMOV R6, 0x3;\n" ASM_STORE
                  "EXIT;\naway:\nBREAK B%u;\nMOV R6, 0x4;\n" ASM_STORE "EXIT;\n" PARKED,
            b, b, b);
        uint32_t away = l.in[A] & l.in[PG] & l.in[PP];
        expect(&r, l.in[A] & ~away, 3);
        expect(&r, away, 4);
        expect(&r, l.in[V] & ~l.in[A], 9);
        assert_int_equal(r.nfindings, 0);
        assert_int_equal(r.stats.bsync_releases, 0);
    }
}

/* ---- YIELD ---- */

enum { GROUPS = 4, MAX_TURNS = 64 };
typedef struct {
    uint32_t live, yielded, turns_left[GROUPS], switch_set, now;
} Yielders;

static uint32_t preferred(const Yielders *yielders, uint32_t set) {
    uint32_t fresh = set & ~yielders->yielded;
    return (uint32_t)__builtin_ctz(fresh ? fresh : set);
}

/* The resolved text of YIELD and EXIT on sets of groups; group k is lanes 8k to 8k + 7. */
static unsigned model_turns(Yielders *yielders, uint32_t turns[MAX_TURNS]) {
    unsigned n = 0;
    while (yielders->live) {
        turns[n++] = yielders->now;
        uint32_t me = 1u << yielders->now, others = yielders->live & ~me;
        if (--yielders->turns_left[yielders->now] == 0) {
            yielders->live = others;
            yielders->yielded &= others;
            if (others)
                yielders->now = preferred(yielders, others);
            continue;
        }
        if (!others)
            continue;
        yielders->switch_set &= others;
        if (!yielders->switch_set)
            yielders->switch_set = others;
        yielders->now = preferred(yielders, yielders->switch_set);
        yielders->yielded |= me;
        yielders->switch_set &= ~(1u << yielders->now);
        if (!yielders->switch_set)
            yielders->switch_set = yielders->live & ~(1u << yielders->now);
    }
    return n;
}

/* One loop, at an address of its own: note the turn, count, yield. */
#define LOOP(k)                                                                                              \
    "loop" #k ":\n@P5 ATOMG.E.ADD PT, R9, [R4.64], R10;\nIMAD.WIDE.U32 R12, R9, 0x4, R4;\n@P5 STG.E "        \
    "[R12.64+0x4], R8;\n"                                                                                    \
    "IADD3 R11, R11, -0x1, RZ;\nISETP.EQ.U32.AND P6, PT, R11, RZ, PT;\n@P6 EXIT;\nYIELD;\nBRA `(loop" #k     \
    ");\n"

static void yield_turns(void **state) {
    (void)state;
    for (unsigned n = 0; n < 40; n++) {
        AsmLaunch l = {.threads = 32, .nout = MAX_TURNS + 1};
        Yielders y = {.live = 15, .now = 3};
        for (unsigned k = 0; k < GROUPS; k++)
            l.in[k] = y.turns_left[k] = 1 + asm_random() % 12;
        uint32_t turns[MAX_TURNS];
        unsigned count = model_turns(&y, turns);
        AsmResult r = asm_run(
            &l, ASM_START
            "MOV R10, 0x1;\nSHF.R.U32.HI R8, RZ, 0x3, R0;\nLOP3.LUT R9, R0, 0x7, RZ, 0xc0, !PT;\n"
            "ISETP.EQ.U32.AND P5, PT, R9, RZ, PT;\nISETP.EQ.U32.AND P1, PT, R8, 0x1, PT;\n"
            "ISETP.EQ.U32.AND P2, PT, R8, 0x2, PT;\nISETP.EQ.U32.AND P3, PT, R8, RZ, PT;\n"
            "MOV R11, c[0x0][0x174];\n@P3 MOV R11, c[0x0][0x168];\n@P1 MOV R11, c[0x0][0x16c];\n"
            "@P2 MOV R11, c[0x0][0x170];\n@P3 BRA `(loop0);\n@P1 BRA `(loop1);\n@P2 BRA `(loop2);\n" LOOP(3)
                LOOP(0) LOOP(1) LOOP(2));
        assert_int_equal(r.out[0], count);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(r.out[1 + i], turns[i]);
        /* fairness: no group that still has turns to take is left out of 8 turns in a row */
        for (unsigned k = 0; k < GROUPS; k++) {
            unsigned since = 0, seen = 0;
            for (unsigned i = 0; i < count && seen < l.in[k]; i++) {
                since = r.out[1 + i] == k ? 0 : since + 1;
                seen += r.out[1 + i] == k;
                assert_true(since < 8);
            }
        }
    }
    AsmLaunch l = {.threads = 20}; /* converged: nothing happens */
    AsmResult r = asm_run(&l, ASM_START "YIELD;\nMOV R6, 0x5;\n" ASM_STORE "EXIT;\n");
    expect(&r, 0xfffff, 5);
    assert_int_equal(r.stats.switches, 0);
}

/* ---- WARPSYNC ---- */

/* Lanes come in two groups, in either order; afterwards those of one mask are together. */
#define ARRIVE "@P3 BRA `(meet);\nNOP;\nNOP;\nmeet:\n"
#define AFTER "MOV R6, 0x5;\n" ASM_STORE "EXIT;\n" PARKED

static void warpsync(void **state) {
    (void)state;
    for (unsigned n = 0; n < 60; n++) {
        AsmLaunch l = {.threads = 32,
                       .opt.branch_order = n & 1 ? MACHINE_TAKEN_FIRST : MACHINE_FALLTHROUGH_FIRST};
        random_masks(&l);
        l.in[M2] = asm_random();
        l.in[M1] = asm_random();
        /* a register: four sets of lanes, each with its own mask */
        AsmResult r =
            asm_run(&l,
                    MASKS CHOICE
                    "MOV R9, c[0x0][0x17c];\nLOP3.LUT R10, RZ, R9, RZ, 0x33, !PT;\nSEL R11, R9, R10, P5;\n"
                    "MOV R9, c[0x0][0x180];\nLOP3.LUT R10, RZ, R9, RZ, 0x33, !PT;\nSEL R10, R9, R10, P6;\n"
                    "LOP3.LUT R20, R10, R11, RZ, %s, !PT;\n" ARRIVE "@P2 WARPSYNC P1, %sR20;\n" AFTER,
                    n & 2 ? "0x3f" : "0xc0", n & 2 ? "~" : "");
        for (uint32_t k = 0; k < 4; k++)
            expect(&r, l.in[A] & (k & 2 ? l.in[M2] : ~l.in[M2]) & (k & 1 ? l.in[M1] : ~l.in[M1]), 5);
        expect(&r, l.in[V] & ~l.in[A], 9);
        /* one mask for all: it names the active lanes and some others */
        l.in[UR] |= l.in[A];
        r = asm_run(&l, MASKS ARRIVE "@P2 WARPSYNC P1, UR4;\n" AFTER);
        expect(&r, l.in[A], 5);
        r = asm_run(&l, MASKS ARRIVE "@P2 WARPSYNC P1, 0x%x;\n" AFTER, l.in[UR]);
        expect(&r, l.in[A], 5);
        r = asm_run(&l, MASKS ARRIVE "@P2 WARPSYNC P1, " IN_UR ";\n" AFTER);
        expect(&r, l.in[A], 5);
        l.in[UR] = ~l.in[UR];
        r = asm_run(&l, MASKS ARRIVE "WARPSYNC ~UR4;\n" AFTER);
        expect(&r, l.in[A], 5);
        r = asm_run(&l, MASKS ARRIVE "WARPSYNC ~" IN_UR ";\n" AFTER);
        expect(&r, l.in[A], 5);
        AsmLaunch wrong = l; /* the lowest active lane is not in its mask */
        wrong.trap = TRAP_COLLECTIVE;
        wrong.text = "E-WS-NOT-MEMBER";
        wrong.in[UR] = ~(l.in[A] & -l.in[A]);
        asm_run(&wrong, MASKS "WARPSYNC UR4;\n" AFTER);
    }
}

/* sm_90: PTX lets lanes of one mask meet in collectives at several places, and ptxas 13.0 gives all of one
 * kind the same registers (59 kernels, 1,222 places). Lanes of two places exchange values; each then goes its
 * own way. */
static void warpsync_collective(void **state) {
    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        AsmLaunch l = {.target = "sm_90", .threads = 32};
        uint32_t there = asm_random();
        AsmResult r = asm_run(&l,
                              "S2R R0, SR_LANEID;\nLDC R4, c[0x0][0x210];\nLDC R5, c[0x0][0x214];\n"
                              "IMAD.WIDE.U32 R2, R0, 0x8, R4;\nMOV R30, 0x%x;\n"
                              "SHF.R.U32.HI R30, RZ, R0, R30;\nLOP3.LUT R30, R30, 0x1, RZ, 0xc0, !PT;\n"
                              "ISETP.NE.U32.AND P3, PT, R30, RZ, PT;\nMOV R10, 0xffffffff;\n"
                              "MOV R9, R0;\nMOV R11, 0x11;\nMOV R12, 0x1f;\n@P3 BRA `(second);\n"
                              "WARPSYNC.COLLECTIVE R10, `(a);\nSHFL.BFLY PT, R8, R9, R11, R12;\n"
                              "ENDCOLLECTIVE;\na:\nIADD3 R6, R8, 0x100, RZ;\n" ASM_STORE "EXIT;\n"
                              "second:\nWARPSYNC.COLLECTIVE R10, `(b);\nSHFL.BFLY PT, R8, R9, R11, R12;\n"
                              "ENDCOLLECTIVE;\nb:\nIADD3 R6, R8, 0x200, RZ;\n" ASM_STORE "EXIT;\n",
                              there);
        for (uint32_t i = 0; i < 32; i++) {
            assert_int_equal(r.out[2 * i], (i ^ 0x11) + (there >> i & 1 ? 0x200 : 0x100));
            assert_int_equal(r.out[2 * i + 1], there >> i & 1 ? there : ~there);
        }
    }
}

/* ---- NANOSLEEP ---- */
#define TIMED(sleep)                                                                                         \
    ASM_START "CS2R.32 R8, SR_CLOCKLO;\n" sleep                                                              \
              "CS2R.32 R9, SR_CLOCKLO;\nIADD3 R6, R9, -R8, RZ;\n" ASM_STORE "EXIT;\n"
static void expect_slept(const AsmResult *result, uint32_t threads, uint32_t ns) {
    for (uint32_t i = 0; i < threads; i++)
        assert_in_range(result->out[2 * i], ns, ns + 50); /* a tick is an instruction is a nanosecond */
}
static void nanosleep_forms(void **state) {
    (void)state;
    for (unsigned n = 0; n < 20; n++) {
        AsmLaunch l = {.threads = 32, .in = {n == 0 ? 0 : n == 1 ? 5000000 : asm_random() % 900000}};
        uint32_t ns = l.in[0] > 1000000 ? 1000000 : l.in[0]; /* PTX: at most 1 ms */
        AsmResult r = asm_run(&l, TIMED("NANOSLEEP 0x%x;\n"), l.in[0]);
        expect_slept(&r, 32, ns);
        r = asm_run(&l, TIMED("NANOSLEEP c[0x0][0x168];\n"));
        expect_slept(&r, 32, ns);
        r = asm_run(&l, "ULDC UR4, c[0x0][0x168];\n" TIMED("NANOSLEEP UR4;\n"));
        expect_slept(&r, 32, ns);
        /* a register: the lanes' shortest time; lane i asks for n + 4000 * (i ^ 21) */
        l.in[0] = asm_random() % 100000;
        r = asm_run(
            &l, "S2R R0, SR_LANEID;\nLOP3.LUT R10, R0, 0x15, RZ, 0x3c, !PT;\nIMAD.U32 R10, R10, 0xfa0, RZ;\n"
                "IADD3 R10, R10, c[0x0][0x168], RZ;\n" TIMED("NANOSLEEP R10;\n"));
        expect_slept(&r, 32, l.in[0]);
        l.threads = 16; /* the lane that asks for least is not there: lanes 0 to 15, least at 5 */
        r = asm_run(
            &l, "S2R R0, SR_LANEID;\nLOP3.LUT R10, R0, 0x15, RZ, 0x3c, !PT;\nIMAD.U32 R10, R10, 0xfa0, RZ;\n"
                "IADD3 R10, R10, c[0x0][0x168], RZ;\n" TIMED("NANOSLEEP R10;\n"));
        expect_slept(&r, 16, l.in[0] + 4000 * 16);
    }
    /* two groups: one timer, the shortest time ends both sleeps */
    AsmLaunch l = {.threads = 32, .in = {0x0000ffff}};
    AsmResult r = asm_run(
        &l, ASM_START ASM_BIT(
                "P1", "c[0x0][0x168]") "CS2R.32 R8, SR_CLOCKLO;\n@P1 BRA `(other);\nNANOSLEEP 0x30000;\n"
                                       "BRA `(both);\nother:\nNANOSLEEP 0x2000;\nboth:\nCS2R.32 R9, "
                                       "SR_CLOCKLO;\nIADD3 R6, R9, -R8, RZ;\n" ASM_STORE "EXIT;\n");
    for (uint32_t i = 0; i < 32; i++)
        assert_in_range(r.out[2 * i], 0x2000, 0x2000 + 100);
}

/* ---- RTT, TRAP, SYSCALL ---- */
typedef struct {
    uint32_t n, lanes[8], sum[8];
    MachineCallKind kind[8];
} Calls;
static bool on_call(void *user, const MachineCall *call) {
    Calls *calls = user;
    uint32_t i = calls->n++ % 5; /* of equal runs */
    calls->kind[i] = call->kind;
    calls->lanes[i] = call->lanes;
    calls->sum[i] = 0;
    for (unsigned k = 0; k < 32; k++)
        calls->sum[i] += call->value[k];
    return true;
}
static void host_calls(void **state) {
    (void)state;
    AsmLaunch l = {.threads = 32};
    random_masks(&l);
    l.in[V] = l.in[A] = ~0u;
    l.in[PG] = 0x0ff0c003;
    Calls calls = {.n = 0};
    l.opt = (MachineOptions){.call = on_call, .call_user = &calls};
    static const char *const text =
        MASKS "@P3 TRAP R0;\nTRAP c[0x0][0x170];\nTRAP 0x77;\n@!P3 SYSCALL;\nRTT;\nMOV R6, 0x1;\n" ASM_STORE
              "EXIT;\n" PARKED;
    AsmResult r = asm_run(&l, "%s", text);
    expect(&r, ~0u, 1);
    assert_int_equal(calls.n, 5 * ASM_RUNS);
    static const MachineCallKind kinds[] = {MACHINE_CALL_TRAP, MACHINE_CALL_TRAP, MACHINE_CALL_TRAP,
                                            MACHINE_CALL_SYSCALL, MACHINE_CALL_RTT};
    calls = (Calls){.n = 0};
    l.opt.call_user = &calls;
    uint32_t lane_sum = 0;
    for (uint32_t i = 0; i < 32; i++)
        lane_sum += l.in[PG] >> i & 1 ? i : 0;
    const uint32_t sums[] = {lane_sum, 32 * l.in[PG], 32 * 0x77, 0, 0},
                   lanes[] = {l.in[PG], ~0u, ~0u, ~l.in[PG], ~0u};
    asm_run(&l, "%s", text);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(calls.kind[i], kinds[i]);
        assert_int_equal(calls.lanes[i], lanes[i]);
        assert_int_equal(calls.sum[i], sums[i]);
    }
    /* without a handler the launch stops */
    asm_run(&(AsmLaunch){.threads = 32, .trap = TRAP_INSTRUCTION, .text = "TRAP 0x77"},
            "TRAP 0x77;\nEXIT;\n");
    asm_run(&(AsmLaunch){.threads = 32, .trap = TRAP_UNSUPPORTED, .text = "SYSCALL without a handler"},
            "SYSCALL;\nEXIT;\n");
    asm_run(&(AsmLaunch){.threads = 32, .trap = TRAP_UNSUPPORTED, .text = "RTT without a handler"},
            "RTT;\nEXIT;\n");
    asm_run(&(AsmLaunch){.threads = 32}, "@!PT SYSCALL;\n@!PT RTT;\n@!PT TRAP 0x1;\nEXIT;\n");
}
static bool say_no(void *user, const MachineCall *c) {
    (void)user;
    (void)c;
    return false;
}
static void handler_stops(void **state) {
    (void)state;
    AsmLaunch l = {.threads = 32, .opt.call = say_no, .trap = TRAP_INSTRUCTION, .text = "SYSCALL"};
    asm_run(&l, "SYSCALL;\nEXIT;\n");
    l.text = "RTT";
    asm_run(&l, "RTT;\nEXIT;\n");
    l.text = "TRAP 0x9";
    asm_run(&l, "TRAP 0x9;\nEXIT;\n");
}

/* A call to the host changes nothing that a warp has: masks, PCs, B registers, yield and sleep bits. The same
 * program with NOPs instead ends alike, in as many instructions. */
static void calls_keep_state_43(void **state) {
    (void)state;
    static const char *const text = MASKS
        "BSSY B3, `(join);\n@P3 BRA `(side);\n%s;\nYIELD;\n%s;\nBRA `(sync);\nside:\n%s;\nBSSY B4, "
        "`(inner);\n"
        "@P4 BRA `(sleep);\n%s;\nBRA `(in);\nsleep:\nNANOSLEEP 0x200;\n%s;\nin:\nBSYNC B4;\ninner:\n%s;\n"
        "sync:\n%s;\nBSYNC B3;\njoin:\nBMOV R6, B3;\n" ASM_STORE "EXIT;\n" PARKED;
    for (unsigned n = 0; n < 40; n++) {
        Calls calls = {.n = 0};
        AsmLaunch l = {.threads = 32, .opt = {.call = on_call, .call_user = &calls}};
        random_masks(&l);
        AsmResult with =
                      asm_run(&l, text, "TRAP R0", "SYSCALL", "RTT", "TRAP 0x5", "SYSCALL", "RTT", "TRAP R0"),
                  without = asm_run(&l, text, "NOP", "NOP", "NOP", "NOP", "NOP", "NOP", "NOP");
        assert_memory_equal(with.out, without.out, sizeof with.out);
        assert_int_equal(with.stats.issues, without.stats.issues);
        assert_int_equal(with.stats.switches, without.stats.switches);
        assert_true(calls.n > 0);
    }
}

static void every_opcode(void **state) {
    (void)state;
    asm_expect_all_executed("BRA_U", "SYSCALL_X");
}

/* Where BSSY sets its register lanes in calls that have saved it twice and once come to it together: the
 * deeper ones do not wait for the others, nor the others for them when they have saved it once more. */
static void depths_at_bssy(void **state) {
    (void)state;
    static const char *const orders[] = {"P0", "!P0"};
    for (unsigned i = 0; i < 2; i++) {
        AsmLaunch l = {.threads = 32, .opt = {.bssy = MACHINE_BSSY_ASSIGN, .max_issues = 100000}};
        AsmResult r = asm_run(&l,
                              ASM_START "ISETP.LT.AND P0, PT, R0, 0x10, PT;\nMOV R6, 0x1;\n"
                                        "@%s BMOV.CLEAR R10, B6;\n"
                                        "BSSY B7, `(after);\nBSSY B4, `(after);\nBSSY B6, `(join);\n"
                                        "@%s BRA `(join);\n"
                                        "BMOV.CLEAR R11, B6;\nBSYNC B4;\nBMOV B6, R11;\n"
                                        "join:\nBSYNC B6;\nBREAK B4;\nBSYNC B7;\n"
                                        "after:\n@%s BMOV B6, R10;\n" ASM_STORE "EXIT;\n",
                              orders[i], orders[i], orders[i]);
        for (unsigned lane = 0; lane < 32; lane++) {
            assert_int_equal(r.out[2 * lane], 1);
            assert_int_equal(r.out[2 * lane + 1], UINT32_MAX);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches),
        cmocka_unit_test(brx),
        cmocka_unit_test(calls_and_returns),
        cmocka_unit_test(call_and_return),
        cmocka_unit_test(lepc),
        cmocka_unit_test(exits),
        cmocka_unit_test(bmov),
        cmocka_unit_test(bssy_break),
        cmocka_unit_test(bsync_break),
        cmocka_unit_test(yield_turns),
        cmocka_unit_test(warpsync),
        cmocka_unit_test(warpsync_collective),
        cmocka_unit_test(nanosleep_forms),
        cmocka_unit_test(host_calls),
        cmocka_unit_test(handler_stops),
        cmocka_unit_test(calls_keep_state_43),
        cmocka_unit_test(every_opcode),
        cmocka_unit_test(depths_at_bssy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
