/* The barrier unit, opcode by opcode, from assembly text: all operand forms of BAR and BAR.RED, its
 * exceptions, and a block whose sixteen barriers are saved with B2R, disturbed, and put back with R2B
 * half-way.
 * SPDX-License-Identifier: MIT */
#include "asm_run.h"
#include <stdio.h>
#include <string.h>

/* R8 = warp, P1 = first warp, R10 = a barrier's number, R11 = a count; upper bits of both are garbage. */
#define START                                                                                                \
    ASM_START "SHF.R.U32.HI R8, RZ, 0x5, R1;\nISETP.EQ.U32.AND P1, PT, R8, RZ, PT;\n"                        \
              "MOV R10, c[0x0][0x168];\nMOV R11, c[0x0][0x16c];\n"

enum { FORM_I, FORM_RR, FORM_RRI, FORM_RIR, FORMS };
/* "BAR.SYNC 0x3, 0x60" in a form. */
static const char *bar_text(char out[64], const char *op, unsigned form, uint32_t id, uint32_t cnt) {
    switch (form) {
    case FORM_I: snprintf(out, 64, "%s 0x%x, 0x%x", op, id, cnt); break;
    case FORM_RR: snprintf(out, 64, "%s R10, R11", op); break;
    case FORM_RRI: snprintf(out, 64, "%s R10, 0x%x", op, cnt); break;
    default: snprintf(out, 64, "%s 0x%x, R11", op, id); break;
    }
    return out;
}

/* The first warp waits for what two others write before they arrive; then everybody meets with count 0. */
static void sync_and_arrive(void **state) {
    (void)state;
    for (unsigned n = 0; n < 128; n++) {
        uint32_t id = n % 16, garbage = asm_random();
        char wait[64], arrive[64], all[64];
        AsmLaunch l = {
            .threads = n & 32 ? 96 : 70,
            .in = {garbage << 4 | id, garbage << 12 | 96, garbage << 4 | (id + 1) % 16, garbage << 12}};
        AsmResult r = asm_run(
            &l,
            ".shared 64\n" START
            "MOV R6, RZ;\nSHF.L.U32 R12, R8, 0x2, RZ;\n@P1 BRA `(first);\nMOV R13, 0x7;\nSTS [R12], R13;\n"
            "%s;\nBRA `(meet);\nfirst:\n%s;\nLDS R14, [RZ+0x4];\nLDS R15, [RZ+0x8];\nIADD3 R6, R14, R15, "
            "RZ;\n"
            "STS [RZ], R6;\nmeet:\nMOV R10, c[0x0][0x170];\nMOV R11, c[0x0][0x174];\n%s;\nLDS R6, "
            "[RZ];\n" ASM_STORE "EXIT;\n",
            bar_text(arrive, "BAR.ARV", n / 16 % 2 ? (n + 1) % FORMS : n % FORMS, id, 96),
            bar_text(wait, "BAR.SYNC", n % FORMS, id, 96),
            bar_text(all, "BAR.SYNC", n / 4 % FORMS, (id + 1) % 16, 0));
        for (uint32_t i = 0; i < l.threads; i++)
            assert_int_equal(r.out[2 * i], 14);
        assert_int_equal(r.stats.barriers, 2);
        assert_int_equal(r.nfindings, 0);
    }
}

/* P3 = ((tid * in[4] + in[5] >> 9 & in[6]) | in[7]) & 1 */
#define PREDICATE                                                                                            \
    "IMAD.U32 R14, R1, c[0x0][0x178], RZ;\nIADD3 R14, R14, c[0x0][0x17c], RZ;\nSHF.R.U32.HI R14, RZ, 0x9, "  \
    "R14;\n"                                                                                                 \
    "LOP3.LUT R14, R14, c[0x0][0x180], RZ, 0xc0, !PT;\nLOP3.LUT R14, R14, c[0x0][0x184], RZ, 0xfc, !PT;\n"   \
    "LOP3.LUT R14, R14, 0x1, RZ, 0xc0, !PT;\nISETP.NE.U32.AND P3, PT, R14, RZ, PT;\n"
static bool predicate(const AsmLaunch *launch, uint32_t thread) {
    return ((((thread * launch->in[4] + launch->in[5]) >> 9) & launch->in[6]) | launch->in[7]) & 1;
}

static void reductions(void **state) {
    (void)state;
    static const char *const ops[] = {"AND", "OR", "POPC"};
    static const uint32_t sizes[] = {32, 70, 96, 128, 1};
    for (unsigned n = 0; n < 240; n++) {
        unsigned op = n % 3, form = n / 3 % 4,
                 last = asm_random() % 3 ? ~0u : 1; /* warp 1 leaves before it */
        bool negated = n & 1, cnt0 = asm_random() % 2 || last == 1;
        uint32_t id = asm_random() % 16, threads = sizes[n / 12 % 5], warps = (threads + 31) / 32,
                 cnt = cnt0 ? 0 : 32 * warps;
        AsmLaunch l = {.threads = threads};
        uint32_t garbage = asm_random(), kind = asm_random() % 4;
        l.in[0] = form == 1 ? garbage << 16 | cnt << 4 | id : garbage << 4 | id;
        l.in[1] = garbage << 12 | cnt;
        l.in[4] = asm_random();
        l.in[5] = asm_random();
        l.in[6] = kind != 0;
        l.in[7] = kind == 1;
        char text[64];
        const char *p = negated ? "!P3" : "P3";
        if (form == 1)
            snprintf(text, sizeof text, "BAR.RED.%s R10, %s", ops[op], p);
        else if (form == 2)
            snprintf(text, sizeof text, "BAR.RED.%s R10, 0x%x, %s", ops[op], cnt, p);
        else if (form == 3)
            snprintf(text, sizeof text, "BAR.RED.%s 0x%x, R11, %s", ops[op], id, p);
        else
            snprintf(text, sizeof text, "BAR.RED.%s 0x%x, 0x%x, %s", ops[op], id, cnt, p);
        AsmResult r = asm_run(&l,
                              START PREDICATE "ISETP.EQ.U32.AND P2, PT, R8, 0x%x, PT;\n@P2 EXIT;\n"
                                              "BAR.RED.POPC 0x%x, 0x0, PT;\n" /* its result is overwritten */
                                              "%s;\nB2R.RESULT R6, P4;\nB2R.WARP R15;\nMOV R16, "
                                              "0x1;\n%s\nMOV R7, R15;\nSTG.E.64 [R2.64], R6;\nEXIT;\n",
                              last, (id + 1) % 16, text, op == 2 ? "" : "SEL R6, R16, RZ, P4;");
        uint32_t all = 1, any = 0, count = 0;
        for (uint32_t i = 0; i < threads; i++)
            if (i / 32 != last) {
                bool b = predicate(&l, i) != negated;
                all &= b;
                any |= b;
                count += b;
            }
        uint32_t want = op == 0 ? all : op == 1 ? any : count;
        for (uint32_t i = 0; i < threads; i++)
            if (i / 32 != last) {
                assert_int_equal(r.out[2 * i], want);
                uint32_t arrived = last < warps ? warps - 1 : warps; /* BARState, sim/machine/machine.h */
                assert_int_equal(r.out[2 * i + 1], arrived | cnt / 32 << 6 | 2u << 13 | op << 15 | all << 17 |
                                                       any << 18 | count << 19);
            }
    }
}

/* R2B.WARP sets what B2R.RESULT and B2R.WARP read, in this warp only. */
static void warp_copy(void **state) {
    (void)state;
    AsmLaunch l = {.threads = 64, .in = {5u << 19 | 2u << 13 | 2u << 15, 99u << 19 | 2u << 13 | 2u << 15}};
    AsmResult r = asm_run(&l, START "R2B.WARP R10;\n@P1 R2B.WARP 0x7, R11;\nB2R.RESULT R6;\nB2R.WARP R7, "
                                    "0x3;\nSTG.E.64 [R2.64], R6;\nEXIT;\n");
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(r.out[2 * i], i < 32 ? 99 : 5);
        assert_int_equal(r.out[2 * i + 1], l.in[i >= 32 ? 0 : 1]);
    }
    l.in[1] = 1u << 17 | 1u << 13; /* AND is true, OR is not */
    for (unsigned op = 0; op < 2; op++) {
        l.in[0] = l.in[1] | op << 15;
        r = asm_run(&l,
                    START "R2B.WARP R10;\nB2R.RESULT RZ, P4;\nMOV R6, 0x1;\nSEL R6, R6, RZ, P4;\n" ASM_STORE
                          "EXIT;\n");
        assert_int_equal(r.out[0], op == 0);
    }
}

/* ---- exceptions: each fires, and its right neighbour does not ---- */

static void exceptions(void **state) {
    (void)state;
    static const struct {
        const char *trap, *wrong, *right;
        uint32_t threads;
    } cases[] = {
        {"E-BAR-COUNT", "BAR.SYNC 0x0, 0x21;\n", "BAR.SYNC 0x0, 0x40;\n", 64},
        {"E-BAR-COUNT", "MOV R11, 0x1f;\nBAR.SYNC 0x0, R11;\n", "MOV R11, 0xf040;\nBAR.SYNC 0x0, R11;\n", 64},
        {"E-BAR-COUNT", "BAR.RED.OR 0x0, 0x41, PT;\n", "BAR.RED.OR 0x0, 0x40, PT;\n", 64},
        {"E-BAR-COUNT", "BAR.ARV 0x0, 0x0;\n", "BAR.ARV 0x0, 0x40;\n", 64},
        {"E-BAR-COUNT", "BAR.ARV 0x0, RZ;\n", "BAR.SYNC 0x0, RZ;\n", 64},
        {"E-BAR-LANES", "BAR.SYNC R0, 0x40;\n", "BAR.SYNC RZ, 0x40;\n", 64},
        {"E-BAR-LANES", "MOV R11, 0x40;\n@P2 MOV R11, 0x20;\nBAR.SYNC 0x3, R11;\n",
         "MOV R11, 0x40;\nBAR.SYNC 0x3, R11;\n", 64},
        {"E-BAR-LANES", "BAR.RED.AND R0, PT;\n", "BAR.RED.AND RZ, PT;\n", 64},
        {"E-BAR-MIX", "MOV R11, 0x60;\n@P1 MOV R11, 0x40;\nBAR.ARV 0x5, R11;\n",
         "MOV R11, 0x40;\nBAR.ARV 0x5, R11;\n", 64},
        {"E-BAR-MIX", "@P1 BRA `(one);\nBAR.SYNC 0x5, 0x0;\nBRA `(end);\none:\nBAR.ARV 0x5, 0x60;\nend:\n",
         "@P1 BRA `(one);\nBAR.SYNC 0x5, 0x40;\nBRA `(end);\none:\nBAR.ARV 0x5, 0x40;\nend:\n", 64},
        {"E-BAR-MIX",
         "@P1 BRA `(one);\nBAR.SYNC 0x5, 0x40;\nBRA `(end);\none:\nBAR.RED.OR 0x5, 0x40, PT;\nend:\n",
         "@P1 BRA `(one);\nBAR.RED.OR 0x5, 0x40, PT;\nBRA `(end);\none:\nBAR.RED.OR 0x5, 0x40, PT;\nend:\n",
         64},
        {"E-BAR-MIX",
         "@P1 BRA `(one);\nBAR.ARV 0x5, 0x60;\nBRA `(end);\none:\nBAR.RED.OR 0x5, 0x60, PT;\nend:\n",
         "@P1 BRA `(one);\nBAR.ARV 0x5, 0x40;\nBRA `(end);\none:\nBAR.RED.OR 0x6, 0x20, PT;\nend:\n", 64},
        {"E-BAR-MIX",
         "@P1 BRA `(one);\nBAR.RED.AND 0x5, 0x40, PT;\nBRA `(end);\none:\nBAR.RED.OR 0x5, 0x40, PT;\nend:\n",
         "@P1 BRA `(one);\nBAR.RED.AND 0x5, 0x40, !PT;\nBRA `(end);\none:\nBAR.RED.AND 0x5, 0x40, "
         "PT;\nend:\n",
         64},
        /* over: only a state that was put back can be there already; three warps came, two were expected */
        {"E-BAR-OVER", "MOV R12, 0x2083;\nR2B.BAR 0x9, R12;\nBAR.ARV 0x9, 0x40;\n",
         "MOV R12, 0x2081;\nR2B.BAR 0x9, R12;\nBAR.ARV 0x9, 0x40;\n", 32},
        /* or warps that arrive twice where everybody was to come once */
        {"E-BAR-OVER", "MOV R12, 0x2002;\nR2B.BAR 0x9, R12;\nBAR.SYNC 0x9;\n",
         "MOV R12, 0x2000;\nR2B.BAR 0x9, R12;\nBAR.SYNC 0x9;\n", 32},
        /* more than the block has, whether warps have exited or not; what exited warps complete is right */
        {"E-BAR-COUNT", "@P1 EXIT;\nBAR.SYNC 0x2, 0x60;\n", "@P1 EXIT;\nBAR.SYNC 0x2, 0x40;\n", 64},
        {"E-BAR-COUNT", "BAR.SYNC 0x2, 0x60;\n", "BAR.SYNC 0x2, 0x40;\n", 64},
        {"E-BAR-COUNT", "@P1 EXIT;\nBAR.RED.OR 0x2, 0x80, PT;\n", "@P1 EXIT;\nBAR.RED.OR 0x2, 0x60, PT;\n",
         96},
        {"E-BAR-COUNT", "@P1 BAR.ARV 0x2, 0x80;\n@P1 EXIT;\nBAR.SYNC 0x2, 0x80;\n",
         "@P1 BAR.ARV 0x2, 0x60;\n@P1 EXIT;\nBAR.SYNC 0x2, 0x60;\n", 96},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        AsmLaunch l = {.threads = cases[i].threads, .trap = TRAP_BARRIER, .text = cases[i].trap};
        static const char *const start = START "ISETP.LT.U32.AND P2, PT, R0, 0x10, PT;\n";
        asm_run(&l, "%s%sEXIT;\n", start, cases[i].wrong);
        l.trap = TRAP_NONE;
        l.text = NULL;
        AsmResult r = asm_run(&l, "%s%sMOV R6, 0x1;\n" ASM_STORE "EXIT;\n", start, cases[i].right);
        assert_int_equal(r.out[2 * l.threads - 2], 1);
        assert_int_equal(r.nfindings, 0);
    }
    AsmLaunch l = {.threads = 96,
                   .trap = TRAP_DEADLOCK}; /* a count that living warps do not reach is a plain deadlock */
    asm_run(&l, START "@P1 BAR.SYNC 0x1, 0x60;\nBAR.SYNC 0x2, 0x60;\nEXIT;\n");
    /* so is one where a warp is missing and the one that has exited had arrived */
    asm_run(&l, START "ISETP.EQ.U32.AND P3, PT, R8, 0x1, PT;\n@P1 BAR.ARV 0x2, 0x60;\n@P1 EXIT;\n"
                      "@P3 BAR.SYNC 0x1, 0x60;\nBAR.SYNC 0x2, 0x60;\nEXIT;\n");
}

/* A warp that has exited is none of those that a barrier waits for while others can still come: warps 0 and 1
 * meet at barrier 2, warp 2 has exited long before, and what warp 1 stores before it must be there behind it.
 */
static void exited_is_not_arrived(void **state) {
    (void)state;
    AsmLaunch l = {.threads = 96};
    AsmResult r = asm_run(
        &l,
        ".shared 64\n" START
        "ISETP.GE.U32.AND P3, PT, R0, 0x40, PT;\n@P3 EXIT;\nMOV R6, 0x0;\nMOV R8, 0x200;\n@!P1 BRA `(meet);\n"
        "delay:\nIADD3 R8, R8, -0x1, RZ;\nISETP.NE.U32.AND P3, PT, R8, RZ, PT;\n@P3 BRA `(delay);\n"
        "MOV R6, 0x7;\nSTS [RZ], R6;\nmeet:\nBAR.SYNC 0x2, 0x40;\nLDS R6, [RZ];\n" ASM_STORE "EXIT;\n");
    assert_int_equal(r.out[0], 7);
    assert_int_equal(r.out[2 * 63], 7);
}

/* No lane's guard is true: nothing arrives. */
static void predicated_off(void **state) {
    (void)state;
    AsmLaunch l = {.threads = 64};
    AsmResult r = asm_run(
        &l, START
        "@!PT BAR.SYNC 0x1;\n@!PT BAR.ARV 0x1, 0x60;\n@!PT BAR.RED.OR 0x1, 0x40, PT;\nB2R.BAR R6, 0x1;\n"
        "@!PT R2B.BAR 0x1, R1;\nMOV R7, R6;\nSTG.E.64 [R2.64], R6;\nEXIT;\n");
    assert_int_equal(r.out[0], 0);
    assert_int_equal(r.out[126], 0);
}

/* ---- save, disturb, restore ---- */

/* Ten warps. 0-2 work, 3-8 wait at barriers 10-14 half-way, 9 saves and restores. Barriers 0-9 and 15 have
 * arrivals of some of 0-2 and miss the others'. */
enum { WARPS = 10, SAVER = 9, THREADS = 32 * WARPS - 5, ARV_BARRIERS = 0x83ff };
typedef enum { PLAIN, SAVED, LOST } SaveMode; /* LOST: disturbed and not put back */

typedef struct {
    char text[30000];
    int n;
} Text;
static void add(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Text *t, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    t->n += vsnprintf(t->text + t->n, sizeof t->text - (size_t)t->n, format, ap);
    va_end(ap);
    assert_true(t->n < (int)sizeof t->text);
}

typedef struct {
    uint32_t early[16]; /* of warps 0-2, who arrives before the save */
    uint32_t extra[16]; /* how often the saver arrives afterwards: 0 to 2 */
    bool zero_is_red;   /* barrier 14, with count 0: BAR.RED instead of BAR.SYNC */
} Plan;
static uint32_t count_of(const Plan *plan, unsigned b) { return 32 * (3 + plan->extra[b]); }

/* Arrivals of one of the warps 0-2 at the barriers that it owes before, or after, the save. */
static void arrivals(Text *t, const Plan *plan, unsigned warp, bool before) {
    for (unsigned b = 0; b < 16; b++)
        if (ARV_BARRIERS >> b & 1 && (plan->early[b] >> warp & 1) == before)
            add(t, "BAR.ARV 0x%x, 0x%x;\n", b, count_of(plan, b));
}

static void saver(Text *t, SaveMode mode) {
    if (mode == PLAIN)
        return;
    for (unsigned b = 0; b < 16; b++)
        add(t, "B2R.BAR R%u, 0x%x;\n", 40 + b, b);
    add(t, "B2R.WARP R56;\nR2B.WARP RZ;\n");
    for (unsigned b = 0; b < 16; b++)
        add(t, "STG.E [R4.64+0x%x], R%u;\nR2B.BAR 0x%x, RZ;\n", 4 * (2 * THREADS + b), 40 + b, b);
    for (unsigned b = 0; b < 16; b += 3) /* other counts and kinds, never complete */
        add(t, "BAR.ARV 0x%x, 0x%x;\n", b, 32 * (20 + b));
    add(t, "MOV R57, 0x54321;\nR2B.BAR 0xb, R57;\n");
    for (unsigned b = 0; b < 16 && mode == SAVED; b++)
        add(t, "R2B.BAR 0x%x, R%u;\n", b, 40 + b);
    if (mode == SAVED)
        add(t, "R2B.WARP R56;\n");
}

static void program(Text *text, const Plan *plan, SaveMode mode) {
    text->n = 0;
    add(text, ".shared 64\n" START ASM_BIT("P3", "c[0x0][0x170]") "MOV R6, RZ;\nMOV R20, 0x1;\n");
    add(text, "BAR.RED.POPC 0x0, 0x0, P3;\n"); /* everybody has a result to lose */
    for (unsigned w = 1; w < WARPS; w++)
        add(text, "ISETP.EQ.U32.AND P2, PT, R8, 0x%x, PT;\n@P2 BRA `(w%u);\n", w, w);
    static const char *const red[] = {"BAR.RED.POPC 0xa, 0x60, P3;\n", "BAR.RED.AND 0xb, 0x40, P3;\n",
                                      "BAR.RED.OR 0xc, 0x40, P3;\n"};
    for (unsigned w = 0; w < 3; w++) {
        add(text, "w%u:\n", w);
        arrivals(text, plan, w, true);
        add(text, "spin%u:\nLDS R21, [RZ];\nISETP.EQ.U32.AND P4, PT, R21, RZ, PT;\n@P4 BRA `(spin%u);\n", w,
            w);
        arrivals(text, plan, w, false);
        add(text, "%sBRA `(result);\n", red[w]);
    }
    add(text, "w3:\nw4:\n%sBRA `(result);\nw5:\n%sBRA `(result);\nw6:\n%sBRA `(result);\n", red[0], red[1],
        red[2]);
    add(text, "w7:\n%s;\nBRA `(result);\n", plan->zero_is_red ? "BAR.RED.POPC 0xe, 0x0, P3" : "BAR.SYNC 0xe");
    add(text, "w8:\nBAR.SYNC 0xd, 0x40;\nBRA `(result);\nw9:\nNANOSLEEP 0x8000;\n"); /* the others get where
                                                                                     they wait */
    saver(text, mode);
    add(text, "STS [RZ], R20;\n");
    for (unsigned b = 0; b < 16; b++)
        for (unsigned k = 0; ARV_BARRIERS >> b & 1 && k < plan->extra[b]; k++)
            add(text, "BAR.ARV 0x%x, 0x%x;\n", b, count_of(plan, b));
    add(text, "BAR.SYNC 0xd, 0x40;\nresult:\nB2R.RESULT R6, P5;\nSEL R7, R20, RZ, P5;\nSTG.E.64 [R2.64], "
              "R6;\nEXIT;\n");
}

static uint32_t popcount(uint32_t x) { return (uint32_t)__builtin_popcount(x); }

/* Each warp's result: the number of the reduction it took part in last, and the truth of AND and OR. */
static void expect_results(const AsmResult *result, const Plan *plan, uint32_t bits) {
    uint32_t first = 9 * popcount(bits) + popcount(bits & 0x7ffffff); /* the last warp has 27 lanes */
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t w = i / 32, number = result->out[2 * i], truth = result->out[2 * i + 1];
        if (w == 0 || w == 3 || w == 4)
            assert_int_equal(number, 3 * popcount(bits));
        else if (w == 1 || w == 5)
            assert_int_equal(truth, bits == ~0u);
        else if (w == 2 || w == 6)
            assert_int_equal(truth, bits != 0);
        else if (w == 7 && plan->zero_is_red)
            assert_int_equal(number, popcount(bits));
        else
            assert_int_equal(number, first);
    }
}

static uint32_t bar_state(uint32_t arrived, uint32_t expected, uint32_t kind, uint32_t op, uint32_t and_,
                          uint32_t or_, uint32_t n) {
    return arrived | expected << 6 | kind << 13 | op << 15 | and_ << 17 | or_ << 18 | n << 19;
}

static void expect_states(const AsmResult *result, const Plan *plan, uint32_t bits) {
    uint32_t all = bits == ~0u, any = bits != 0, n = popcount(bits);
    for (unsigned b = 0; b < 16; b++) {
        uint32_t got = result->out[2 * THREADS + b], sync = got & 0x7fff; /* SYNC has no reduction */
        if (ARV_BARRIERS >> b & 1)
            assert_int_equal(
                plan->early[b] ? sync : got,
                plan->early[b] ? bar_state(popcount(plan->early[b]), 3 + plan->extra[b], 1, 0, 0, 0, 0) : 0);
        else if (b == 10)
            assert_int_equal(got, bar_state(2, 3, 2, 2, all, any, 2 * n));
        else if (b == 11 || b == 12)
            assert_int_equal(got, bar_state(1, 2, 2, b - 11, all, any, n));
        else if (b == 13)
            assert_int_equal(sync, bar_state(1, 2, 1, 0, 0, 0, 0));
        else
            assert_int_equal(plan->zero_is_red ? got : sync, plan->zero_is_red
                                                                 ? bar_state(1, 0, 2, 2, all, any, n)
                                                                 : bar_state(1, 0, 1, 0, 0, 0, 0));
    }
}

static void save_and_restore(void **state) {
    (void)state;
    static Text t;
    for (unsigned n = 0; n < 24; n++) {
        Plan p = {.zero_is_red = n & 1};
        for (unsigned b = 0; b < 16; b++) {
            p.early[b] = asm_random() % 8;
            p.extra[b] = asm_random() % 3;
            if (p.early[b] == 7 && !p.extra[b])
                p.extra[b] = 1; /* not complete before the save */
        }
        uint32_t bits = n % 4 == 0 ? ~0u : n % 4 == 1 ? 0 : asm_random();
        AsmLaunch l = {.threads = THREADS, .nout = 2 * THREADS + 16, .in = {0, 0, bits}};
        program(&t, &p, PLAIN);
        AsmResult plain = asm_run(&l, "%s", t.text);
        expect_results(&plain, &p, bits);
        program(&t, &p, SAVED);
        AsmResult saved = asm_run(&l, "%s", t.text);
        expect_states(&saved, &p, bits);
        assert_memory_equal(saved.out, plain.out, 8 * THREADS);
        assert_int_equal(saved.stats.barriers, plain.stats.barriers);
        assert_int_equal(saved.nfindings, 0);
        l.trap = TRAP_BARRIER; /* and it matters: without the restore other counts meet */
        program(&t, &p, LOST);
        asm_run(&l, "%s", t.text);
    }
}

static void every_opcode(void **state) {
    (void)state;
    asm_expect_all_executed("BAR_I", "R2B_RI");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sync_and_arrive),  cmocka_unit_test(reductions),
        cmocka_unit_test(warp_copy),        cmocka_unit_test(exceptions),
        cmocka_unit_test(predicated_off),   cmocka_unit_test(exited_is_not_arrived),
        cmocka_unit_test(save_and_restore), cmocka_unit_test(every_opcode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
