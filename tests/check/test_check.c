/* The static checker: every rule's wrong example breaks that rule, its right example breaks none; reports;
 * options.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check/model/model.h"
#include "check/static/check.h"
#include "emit/text/asm.h"
#include "isa/machine/latency.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *image;
    Binary *b;
    BinFlow *g;
    BinCheckReport r;
} Checked;

static void show(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    print_message("%s", line);
}

static Checked check_text(const char *text, const BinCheckOptions *opt) {
    Checked c;
    Diags d = {.sink = show};
    size_t size;
    Source s = {"k.sass", text, strlen(text)};
    if (!asm_assemble(&s, &c.image, &size, &d))
        fail_msg("does not assemble:\n%s", text);
    c.b = binary_read("k.cubin", c.image, size, &d);
    assert_non_null(c.b);
    c.g = bin_flow_new(c.b);
    check_binary(c.g, opt, &c.r);
    return c;
}

static void release(Checked *checked) {
    check_report_free(&checked->r);
    bin_flow_free(checked->g);
    binary_free(checked->b);
    free(checked->image);
}

static bool breaks(const Checked *checked, CheckRule rule) {
    for (uint32_t k = 0; k < checked->r.n; k++)
        if (checked->r.findings[k].rule == rule)
            return true;
    return false;
}

/* An example as a whole file: a kernel around it unless it says more. */
static Checked check_example(const char *example, bool hazards) {
    char text[2000];
    bool whole = example[0] == '.', open = strstr(example, "EXIT") || strstr(example, "RET") || !hazards;
    snprintf(text, sizeof text, ".target bru1\n%s%s\n%s", whole ? "" : ".entry k\n", example,
             open ? "" : "[B------:R-:W-:-:S05] EXIT ;\n");
    return check_text(text, &(BinCheckOptions){.no_hazards = !hazards});
}

static void test_examples(void **state) {
    (void)state;
    for (unsigned k = 0; k < CR_COUNT; k++) {
        const CheckRuleInfo *info = check_rule((CheckRule)k);
        bool hazards = info->id[0] == 'H';
        if (info->bad[0] != '(') { /* else it cannot be written as text: see test_metadata */
            Checked bad = check_example(info->bad, hazards);
            if (!breaks(&bad, (CheckRule)k))
                fail_msg("%s: not found in\n%s", info->id, info->bad);
            for (uint32_t n = 0; n < bad.r.n; n++)
                if (bad.r.findings[n].rule == k)
                    assert_int_equal(bad.r.findings[n].severity, info->severity);
            release(&bad);
        }
        Checked good = check_example(info->good, hazards);
        for (uint32_t n = 0; n < good.r.n; n++)
            if (good.r.findings[n].rule == k || good.r.findings[n].severity == SEV_ERROR)
                fail_msg("%s: %s %s in\n%s", info->id, check_rule(good.r.findings[n].rule)->id,
                         good.r.findings[n].text, info->good);
        release(&good);
    }
}

/* Each file of tests/check/rules: its first line names the rules that errors and warnings are about, or says
 * "none"; R- files are checked without hazards, for their control fields are left out. */
static bool check_file(const char *name) {
    char path[400], text[8000], expected[100], found[200] = "";
    snprintf(path, sizeof path, "%s/%s", RULES_DIR, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    assert_int_equal(sscanf(text, "// expect %99[^\n]", expected), 1);
    Checked c = check_text(text, &(BinCheckOptions){.no_hazards = name[0] != 'H'});
    for (unsigned r = 0; r < CR_COUNT; r++)
        if (check_rule((CheckRule)r)->severity != SEV_NOTE
                ? breaks(&c, (CheckRule)r)
                : strstr(name, check_rule((CheckRule)r)->id) && breaks(&c, (CheckRule)r))
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", found[0] ? " " : "",
                     check_rule((CheckRule)r)->id);
    bool good = strcmp(found[0] ? found : "none", expected) == 0;
    if (!good)
        print_error("%s: found %s, expected %s\n", name, found[0] ? found : "none", expected);
    release(&c);
    return good;
}

static int is_sass(const struct dirent *d) {
    const char *dot = strrchr(d->d_name, '.');
    return dot && strcmp(dot, ".sass") == 0;
}

static void test_files(void **state) {
    (void)state;
    struct dirent **files;
    int bad = 0, n = scandir(RULES_DIR, &files, is_sass, alphasort);
    assert_true(n > 2 * CR_COUNT);
    for (int k = 0; k < n; k++) {
        bad += !check_file(files[k]->d_name);
        free(files[k]);
    }
    free(files);
    assert_int_equal(bad, 0);
}

/* A hazard on one of two ways that meet, whichever is listed first: what is in flight where they meet is the
 * worse of both. `pad` on the other way, or on both, makes it good. */
static void test_ways_meet(void **state) {
    (void)state;
    static const struct {
        CheckRule rule;
        const char *first, *pad, *second;
    } rows[] = {
        {CR_H01, "[B------:R-:W-:-:S01] ISETP.EQ.AND P1, PT, R4, RZ, PT", "[B------:R-:W-:-:S15] NOP",
         "[B------:R-:W-:-:S15] @P1 MOV R7, R5"},
        {CR_H02, "[B------:R-:W0:-:S02] LDG.E R6, [R2]", "[B0-----:R-:W-:-:S15] NOP ;",
         "[B------:R-:W-:-:S15] IADD3 R7, R6, R6, RZ"},
        {CR_H03, "[B------:R-:W0:-:S02] LDG.E R6, [R2]", "[B0-----:R-:W-:-:S15] NOP ;",
         "[B------:R-:W-:-:S15] MOV R6, R4"},
        {CR_H04, "[B------:R0:W-:-:S02] STG.E [R2], R6", "[B0-----:R-:W-:-:S15] NOP ;",
         "[B------:R-:W-:-:S15] MOV R6, R4"},
        /* the younger of one queue waits for the older */
        {CR_H02, "[B------:R-:W-:-:S02] LDS R6, [R2]", "[B------:R-:W1:-:S02] LDS R8, [R2] ;",
         "[B-1----:R-:W-:-:S15] IADD3 R7, R6, R6, RZ"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (unsigned way = 0; way < 4; way++) { /* bit 0: the jump is padded, bit 1: what falls through is */
            char text[1000];
            const char *here = way & 2 ? rows[k].pad : "", *far = way & 1 ? rows[k].pad : "";
            snprintf(text, sizeof text,
                     ".target bru1\n.entry k\n[B------:R-:W-:-:S15] ISETP.EQ.AND P0, PT, R4, RZ, PT ;\n%s ;\n"
                     "[B------:R-:W-:-:S01] @P0 BRA `(far) ;\n%s\njoin:\n%s ;\n"
                     "[B------:R-:W-:-:S05] EXIT ;\nfar:\n%s\n[B------:R-:W-:-:S01] BRA `(join) ;\n",
                     rows[k].first, here, rows[k].second, far);
            Checked c = check_text(text, &(BinCheckOptions){0});
            if (breaks(&c, rows[k].rule) != (way != 3))
                fail_msg("%s %s in\n%s", check_rule(rows[k].rule)->id, way == 3 ? "found" : "not found",
                         text);
            release(&c);
        }
}

/* Two accesses of one register at every distance: found at each that is too short for the target, and at no
 * other, whether one stall makes the distance or NOPs do. What is asked for is the target's table; that it is
 * kept to the cycle is shown here. */
enum { MOST_DISTANCE = LATENCY_WINDOW };

static unsigned needed(const Target *t, CheckRule rule, const MachInst *first, const MachInst *second) {
    static const uint32_t nothing[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, UINT32_MAX};
    unsigned need = 0, n;
    unsigned nfirst = rule == CR_H04 ? first->nsrc : first->ndst;
    unsigned nsecond = rule == CR_H01 ? second->nsrc : second->ndst;
    for (unsigned k = 0; k < nfirst; k++)
        for (unsigned r = 0; r <= nsecond; r++) {
            Operand a = rule == CR_H04 ? first->src[k] : first->dst[k],
                    b = r == nsecond     ? (rule == CR_H01 ? second->guard : (Operand){0})
                        : rule == CR_H01 ? second->src[r]
                                         : second->dst[r];
            if (a.kind != OPK_REG || b.kind != OPK_REG || a.file != b.file || a.value != b.value ||
                a.value == nothing[a.file])
                continue;
            if (rule == CR_H01)
                n = latency_raw_part(t, first, k, 0, second, r == nsecond ? LATENCY_GUARD : r, 0);
            else
                n = rule == CR_H03 ? latency_waw(t, first, k, second) : latency_war(t, first, k, second);
            need = n > need ? n : need;
        }
    return need;
}

static void test_distances(void **state) {
    (void)state;
    static const struct {
        CheckRule rule;
        const char *guard, *first, *second;
    } rows[] = {
        {CR_H01, "", "IADD3 R6, R4, R5, RZ", "IADD3 R7, R6, R5, RZ"},
        {CR_H01, "", "MOV R6, R4", "FADD R7, R6, R5"},
        {CR_H01, "", "IMAD R6, R4, R5, RZ", "IADD3 R7, R6, R5, RZ"},
        {CR_H01, "", "FADD R6, R4, R5", "MUFU.RCP R7, R6"},
        {CR_H01, "", "IMAD R6, R4, R5, RZ", "IMAD R7, R5, R5, R6"},
        {CR_H01, "", "ISETP.EQ.AND P1, PT, R4, RZ, PT", "SEL R7, R5, R4, P1"},
        {CR_H01, "@P1 ", "ISETP.EQ.AND P1, PT, R4, RZ, PT", "MOV R7, R5"},
        {CR_H01, "@!P1 ", "FSETP.GT.AND P1, PT, R4, R5, PT", "MUFU.RCP R7, R5"},
        {CR_H01, "", "UMOV UR6, 0x1", "MOV R7, UR6"},
        {CR_H01, "", "UIADD3 UR6, UR4, UR5, URZ", "UIADD3 UR7, UR6, UR5, URZ"},
        {CR_H01, "", "UIADD3 UR6, UR4, UR5, URZ", "IADD3 R7, R5, UR6, RZ"},
        {CR_H03, "", "IMAD R6, R4, R5, RZ", "MOV R6, R5"},
        {CR_H03, "", "ISETP.EQ.AND P1, PT, R4, RZ, PT", "FSETP.GT.AND P1, PT, R4, R5, PT"},
        {CR_H03, "", "IADD3 R6, R4, R5, RZ", "MUFU.RCP R6, R5"},
        {CR_H03, "", "UIADD3 UR6, UR4, UR5, URZ", "UMOV UR6, 0x1"},
        {CR_H04, "", "IADD3 R6, R4, R5, RZ", "MUFU.RCP R4, R5"},
        {CR_H04, "", "ISETP.EQ.AND P1, PT, R4, RZ, PT", "S2R R4, SR_LANEID"},
        {CR_H04, "", "IMAD R6, R4, R5, RZ", "MOV R4, R5"},
        {CR_H04, "", "UIADD3 UR6, UR4, UR5, URZ", "UMOV UR4, 0x1"},
        {CR_H04, "", "UIADD3 UR6, UR4, UR5, URZ", "UIADD3 UR4, UR5, UR5, URZ"},
    };
    unsigned longer[CR_COUNT] = {0};
    for (unsigned n = 0; isa_targets[n]; n++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            for (unsigned distance = 1; distance < MOST_DISTANCE; distance++)
                for (unsigned nops = 0; nops <= distance - 1; nops += 1 + distance / 4) {
                    char text[4000], *at = text;
                    unsigned stall = distance - nops;
                    at += sprintf(at, ".target %s\n.entry k\n", isa_target_name(isa_targets[n]));
                    if (stall > LATENCY_MAX_STALL)
                        continue;
                    at += sprintf(at, "[B------:R-:W-:%c:S%02u] %s ;\n", stall > 11 ? 'Y' : '-', stall,
                                  rows[k].first);
                    for (unsigned nop = 0; nop < nops; nop++)
                        at += sprintf(at, "[B------:R-:W-:-:S01] NOP ;\n");
                    sprintf(at, "[B------:R-:W0:Y:S15] %s%s ;\n[B0-----:R-:W-:-:S05] EXIT ;\n", rows[k].guard,
                            rows[k].second);
                    Checked c = check_text(text, &(BinCheckOptions){0});
                    const MachInst *first = &c.g->insts[0], *second = &c.g->insts[nops + 1];
                    unsigned need = needed(isa_targets[n], rows[k].rule, first, second);
                    assert_in_range(need, 1, MOST_DISTANCE - 1);
                    longer[rows[k].rule] += need > 1;
                    if (breaks(&c, rows[k].rule) != (distance < need))
                        fail_msg("%s, of %u cycles: %s in\n%s", check_rule(rows[k].rule)->id, need,
                                 distance < need ? "not found" : "found", text);
                    release(&c);
                }
    assert_true(longer[CR_H01] && longer[CR_H03] && longer[CR_H04]);
}

/* Stall count 0 with YIELD is a long one on sm_90: ptxas 13.0 -G gives it to MEMBAR.SC.VC. */
static void test_zero_yields(void **state) {
    (void)state;
    static const struct {
        const char *control, *inst;
        bool h01, h06, without_yield; /* words that no assembler writes */
    } rows[] = {
        {"Y:S00", "MEMBAR.SC.VC", false, false, false},
        {"Y:S00", "MEMBAR.SC.VC", false, true, true},
        {"Y:S05", "MEMBAR.SC.VC", false, true, false},
        {"Y:S00", "HMMA.16816.F32 R8, R4, R2, RZ", false, false, false},
        {"Y:S15", "HMMA.16816.F32 R8, R4, R2, RZ", true, false, false},
        {"Y:S00", "HMMA.16816.F32 R8, R4, R2, RZ", true, false, true},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 ".target sm_90\n.entry k\n[B------:R-:W-:%s] %s ;\n[B------:R-:W-:-:S05] MOV R1, R8 ;\n"
                 "[B------:R-:W-:-:S05] EXIT ;\n",
                 rows[k].control, rows[k].inst);
        Checked c = check_text(text, &(BinCheckOptions){0});
        if (rows[k].without_yield) {
            check_report_free(&c.r);
            c.g->insts[0].ctrl.yield = 0;
            check_binary(c.g, &(BinCheckOptions){0}, &c.r);
        }
        if (breaks(&c, CR_H01) != rows[k].h01 || breaks(&c, CR_H06) != rows[k].h06)
            fail_msg("H-01 %d, H-06 %d expected:\n%s", rows[k].h01, rows[k].h06, text);
        release(&c);
    }
}

/* Lanes that a constant mask leaves out: an error, but for the low lanes of a block that may be smaller than
 * a warp. */
static void test_mask_severity(void **state) {
    (void)state;
    static const struct {
        const char *mask;
        uint32_t threads; /* of a block, as the file demands; 0: any */
        Severity severity;
    } rows[] = {{"0xffffffdf", 0, SEV_ERROR},   {"0xffffffdf", 16, SEV_ERROR}, {"0xfffffffe", 0, SEV_ERROR},
                {"0xffff", 0, SEV_WARNING},     {"0xffff", 16, SEV_WARNING},   {"0xffff", 64, SEV_ERROR},
                {"0x7fffffff", 0, SEV_WARNING}, {"0x7fffffff", 32, SEV_ERROR}, {"0x1", 48, SEV_WARNING}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[200];
        snprintf(text, sizeof text, ".target bru1\n.entry k\n  WARPSYNC %s ;\n  EXIT ;\n", rows[k].mask);
        Checked c = check_text(text, &(BinCheckOptions){.no_hazards = true});
        BinFunc *kernel = &((Binary *)(uintptr_t)c.g->bin)->funcs[0];
        memcpy(kernel->reqntid, (uint32_t[]){rows[k].threads, rows[k].threads != 0, rows[k].threads != 0},
               12);
        check_report_free(&c.r);
        check_binary(c.g, &(BinCheckOptions){.no_hazards = true}, &c.r);
        unsigned found = 0;
        for (uint32_t n = 0; n < c.r.n; n++)
            if (c.r.findings[n].rule == CR_R09) {
                assert_int_equal(c.r.findings[n].severity, rows[k].severity);
                found++;
            }
        assert_int_equal(found, 1);
        release(&c);
    }
}

/* A kernel whose blocks are rows of whole warps: what follows of the warp's place in them parts no warp. */
static void test_rows_of_warps(void **state) {
    (void)state;
    static const struct {
        uint32_t threads[3];
        const char *condition; /* P0, of R0: %tid.x */
        bool parts;
    } rows[] = {
        {{64, 1, 1}, "SHF.R.U32.HI R2, RZ, 0x5, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", false},
        {{0, 0, 0}, "SHF.R.U32.HI R2, RZ, 0x5, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", true},
        {{16, 4, 1}, "SHF.R.U32.HI R2, RZ, 0x5, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", true},
        {{64, 4, 2}, "SHF.R.U32.HI R2, RZ, 0x5, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", false},
        {{100, 1, 1}, "SHF.R.U32.HI R2, RZ, 0x6, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", false},
        {{64, 1, 1}, "SHF.R.U32.HI R2, RZ, 0x4, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", true},
        {{64, 1, 1}, "SHF.R.S32.HI R2, RZ, 0x5, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", true},
        {{64, 1, 1}, "SHF.R.U32.HI R2, R0, 0x5, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;", true},
        {{64, 1, 1},
         "LOP3.LUT R2, R0, 0xffffffe0, RZ, 0xc0, !PT ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;",
         false},
        {{64, 1, 1},
         "LOP3.LUT R2, R0, 0xfffffff0, RZ, 0xc0, !PT ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;",
         true},
        {{64, 1, 1}, "ISETP.GT.U32.AND P0, PT, R0, 0x1f, PT ;", false},
        {{64, 1, 1}, "ISETP.GE.AND P0, PT, R0, 0x20, PT ;", false},
        {{64, 1, 1}, "ISETP.GE.AND P0, PT, R0, 0x1f, PT ;", true},
        {{64, 1, 1}, "ISETP.GT.U32.AND P0, PT, R0, 0x20, PT ;", true},
        {{64, 1, 1}, "ISETP.EQ.U32.AND P0, PT, R0, 0x20, PT ;", true},
        {{64, 1, 1},
         "ISETP.NE.U32.AND P1, PT, R0, 0x7, PT ;\n ISETP.GT.U32.AND P0, PT, R0, 0x1f, P1 ;",
         true},
        {{64, 1, 1}, "LDS R2, [R0] ;\n ISETP.GT.AND P0, PT, R2, -0x1, PT ;", true},
        {{64, 1, 1}, "LDS R2, [R0] ;\n ISETP.GE.AND P0, PT, R2, 0x0, PT ;", true},
        {{64, 1, 1}, "S2R R0, SR_LANEID ;\n ISETP.GT.U32.AND P0, PT, R0, 0x1f, PT ;", true},
        {{64, 4, 1}, "S2R R2, SR_TID.Y ;\n ISETP.NE.U32.AND P0, PT, R2, 0x1, PT ;", false},
        {{48, 4, 1}, "S2R R2, SR_TID.Y ;\n ISETP.NE.U32.AND P0, PT, R2, 0x1, PT ;", true},
        {{64, 1, 1},
         "ISETP.NE.U32.AND P1, PT, R0, 0x7, PT ;\n @P1 BRA `(on) ;\n S2R R0, SR_TID.X ;\non:\n"
         " SHF.R.U32.HI R2, RZ, 0x5, R0 ;\n ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;",
         true}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[600];
        snprintf(text, sizeof text,
                 ".target sm_90\n.entry k\n  S2R R0, SR_TID.X ;\n %s\n @P0 BRA `(out) ;\n  NOP ;\nout:\n"
                 "  SHFL.BFLY PT, R4, R0, 0x1, 0x1f ;\n  EXIT ;\n",
                 rows[k].condition);
        Checked c = check_text(text, &(BinCheckOptions){.no_hazards = true});
        BinFunc *kernel = &((Binary *)(uintptr_t)c.g->bin)->funcs[0];
        memcpy(kernel->reqntid, rows[k].threads, sizeof kernel->reqntid);
        check_report_free(&c.r);
        check_binary(c.g, &(BinCheckOptions){.no_hazards = true}, &c.r);
        if (breaks(&c, CR_R09) != rows[k].parts)
            fail_msg("%s", rows[k].condition);
        release(&c);
    }
}

/* a bit that belongs to no field. */
static void test_reserved_bit(void **state) {
    (void)state;
    Checked c = check_example("  EXIT ;", false);
    assert_false(breaks(&c, CR_R23));
    c.b->code[0][1] |= 1ull << (90 - 64);
    check_report_free(&c.r);
    bin_flow_free(c.g);
    c.g = bin_flow_new(c.b);
    check_binary(c.g, NULL, &c.r);
    assert_true(breaks(&c, CR_R23));
    assert_int_equal(c.r.nerrors > 0, 1);
    release(&c);
}

/* a barrier for more threads than a block has. */
static void test_count(void **state) {
    (void)state;
    Checked c = check_example("  WARPSYNC 0xffffffff ;\n  BAR.SYNC 0x1, 0x60 ;\n  EXIT ;", false);
    assert_false(breaks(&c, CR_R22));
    for (uint32_t threads = 64; threads <= 96; threads += 16) {
        for (unsigned d = 0; d < 3; d++)
            c.b->funcs[0].maxntid[d] = d ? 1 : threads;
        check_report_free(&c.r);
        check_binary(c.g, NULL, &c.r);
        assert_int_equal(breaks(&c, CR_R22), threads == 64);
    }
    release(&c);
}

/* What comes behind a word that does not decode is not known: it may synchronise B0. */
static void test_undecoded(void **state) {
    (void)state;
    Checked c = check_text(".target sm_90\n.entry k\nBSSY B0, `(.L_1) ;\nNOP ;\nBSYNC B0 ;\n.L_1:\nEXIT ;\n",
                           &(BinCheckOptions){.no_hazards = true});
    assert_int_equal(c.r.n, 0);
    c.b->code[1][1] |= 1ull << (90 - 64);
    check_report_free(&c.r);
    bin_flow_free(c.g);
    c.g = bin_flow_new(c.b);
    check_binary(c.g, NULL, &c.r);
    assert_true(breaks(&c, CR_R23));
    assert_false(breaks(&c, CR_R05));
    ModelProgram *program = model_program(c.g);
    ModelResult result;
    model_check(program, 0, &(ModelOptions){.lanes = 3}, &result);
    assert_int_equal(result.verdict, MODEL_LIMIT);
    model_result_free(&result);
    model_program_free(program);
    release(&c);
}

static void test_rule_names(void **state) {
    (void)state;
    assert_int_equal(check_rule_find("R-07", 4), CR_R07);
    assert_int_equal(check_rule_find("r7", 2), CR_R07);
    assert_int_equal(check_rule_find("H-01", 4), CR_H01);
    assert_int_equal(check_rule_find("R-26", 4), CR_COUNT);
    assert_int_equal(check_rule_find("R-0x", 4), CR_COUNT);
    assert_int_equal(check_rule_find("", 0), CR_COUNT);
    for (unsigned k = 0; k < CR_COUNT; k++) {
        char *text = check_explain(check_rule((CheckRule)k)->id);
        assert_non_null(strstr(text, check_rule((CheckRule)k)->title));
        assert_non_null(strstr(text, "Wrong:"));
        free(text);
    }
    char *text = check_explain("E-BAR-PARTIAL");
    assert_non_null(text);
    free(text);
    assert_null(check_explain("E-NOTHING"));
}

/* docs/check.md has a row for each rule. */
static void test_docs(void **state) {
    (void)state;
    static char text[40000];
    FILE *f = fopen(DOCS_DIR "/check.md", "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (unsigned k = 0; k < CR_COUNT; k++) {
        const CheckRuleInfo *info = check_rule((CheckRule)k);
        char row[300];
        snprintf(row, sizeof row, "| %s |", info->id);
        const char *at = strstr(text, row);
        if (!at || !strstr(at, info->title))
            fail_msg("docs/check.md lacks %s: %s", info->id, info->title);
    }
}

/* The file says something else than the code: records changed behind the assembler's back. Whether a rule is
 * broken with `right`, and with `wrong`, in the field of the first function. */
static void changed_record(const char *text, CheckRule rule, size_t field, size_t bytes, uint32_t right,
                           uint32_t wrong) {
    for (unsigned k = 0; k < 2; k++) {
        Checked c = check_text(text, &(BinCheckOptions){.no_hazards = true});
        BinFunc *kernel = &((Binary *)(uintptr_t)c.g->bin)->funcs[0];
        kernel->nregs = 64, kernel->nbarriers = 16, kernel->stack_bytes = 128;
        memcpy((char *)kernel + field, k ? &wrong : &right, bytes);
        check_report_free(&c.r);
        check_binary(c.g, &(BinCheckOptions){.no_hazards = true}, &c.r);
        if (breaks(&c, rule) != (k == 1))
            fail_msg("%s, value %u of the record in\n%s", check_rule(rule)->id, k ? wrong : right, text);
        release(&c);
    }
}
#define RECORD(text, rule, field, right, wrong)                                                              \
    changed_record(text, rule, offsetof(BinFunc, field), sizeof((BinFunc *)0)->field, right, wrong)

static void test_metadata(void **state) {
    (void)state;
    static const char calls[] = ".target bru1\n.entry k\n.frame 64\n  MOV R1, c[0x0][0x28] ;\n"
                                "  IADD3 R1, R1, -0x40, RZ ;\n  LEPC R[20:21], 0x20 ;\n  CALL.REL `(f) ;\n"
                                "  EXIT ;\n.func f\n.frame 32\n  IADD3 R1, R1, -0x20, RZ ;\n"
                                "  MOV R30, 0x1 ;\n  BAR.SYNC 0x5 ;\n  S2R R31, SR_CTAID.Z ;\n"
                                "  IADD3 R1, R1, 0x20, RZ ;\n  RET.ABS R[20:21] ;\n";
    RECORD(calls, CR_M01, nregs, 34, 33);
    RECORD(calls, CR_M01, max_regs, 255, 63);
    RECORD(".target sm_80\n.entry k\n  MOV R30, R31 ;\n  EXIT ;\n", CR_M01, header_regs, 34, 33);
    RECORD(calls, CR_M02, nbarriers, 6, 5);
    RECORD(calls, CR_M02, nbarriers, 16, 17);
    RECORD(calls, CR_M03, stack_bytes, 96, 95);
    RECORD(calls, CR_M03, stack_bytes, 512 << 10, (512 << 10) + 1);
    RECORD(calls, CR_M03, frame_bytes, 64, 60);
    RECORD(calls, CR_M04, uses_ctaid_z, 1, 0);
}

/* Blocks that nobody can launch, and a kernel whose symbol does not say that it is one. */
static void test_launchable(void **state) {
    (void)state;
    static const struct {
        uint32_t threads[3];
        bool is_function, wrong;
    } cases[] = {{{0, 0, 0}, false, false},    {{1024, 1, 1}, false, false}, {{1025, 1, 1}, false, true},
                 {{0, 1, 1}, false, true},     {{32, 32, 1}, false, false},  {{32, 32, 2}, false, true},
                 {{1, 65536, 65536}, 0, true}, {{64, 1, 1}, true, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Checked c = check_text(".target sm_80\n.entry k\n  EXIT ;\n", &(BinCheckOptions){.no_hazards = true});
        BinFunc *kernel = &((Binary *)(uintptr_t)c.g->bin)->funcs[0];
        memcpy(kernel->reqntid, cases[k].threads, sizeof kernel->reqntid);
        kernel->nparams = 1;
        kernel->is_entry = !cases[k].is_function;
        check_report_free(&c.r);
        check_binary(c.g, &(BinCheckOptions){.no_hazards = true}, &c.r);
        assert_int_equal(breaks(&c, CR_M04), cases[k].wrong);
        release(&c);
    }
}

/* Of an object the linker adds what callees need, and says the stack. */
static void test_objects(void **state) {
    (void)state;
    static const char text[] =
        ".target sm_80\n.entry k\n.frame 64\n  MOV R1, c[0x0][0x28] ;\n"
        "  IADD3 R1, R1, -0x40, RZ ;\n  MOV R20, 0x0 ;\n  MOV R21, 0x0 ;\n"
        "  CALL.ABS.NOINC `(f) ;\n  EXIT ;\n.func f\n.frame 32\n"
        "  IADD3 R1, R1, -0x20, RZ ;\n  MOV R30, 0x1 ;\n  BAR.SYNC 0x5 ;\n"
        "  S2R R31, SR_CTAID.Z ;\n  IADD3 R1, R1, 0x20, RZ ;\n  RET.ABS.NODEC R20 0x0 ;\n";
    for (int is_object = 0; is_object < 2; is_object++) {
        Checked c = check_text(text, &(BinCheckOptions){.no_hazards = true});
        Binary *binary = (Binary *)(uintptr_t)c.g->bin;
        binary->is_object = is_object;
        BinFunc *kernel = &binary->funcs[0];
        kernel->nregs = 24, kernel->nbarriers = 0, kernel->stack_bytes = 0, kernel->uses_ctaid_z = false;
        static const CheckRule rules[] = {CR_M01, CR_M02, CR_M03, CR_M04};
        for (unsigned own = 0; own < 2; own++) { /* then less than the kernel's own code needs */
            kernel->nregs -= own, kernel->frame_bytes -= own * 4;
            check_report_free(&c.r);
            check_binary(c.g, &(BinCheckOptions){.no_hazards = true}, &c.r);
            for (unsigned k = 0; k < sizeof rules / sizeof *rules; k++) {
                bool of_own = own && (rules[k] == CR_M01 || rules[k] == CR_M03);
                assert_int_equal(breaks(&c, rules[k]), !is_object || of_own);
            }
        }
        release(&c);
    }
}

/* A frame on one of two paths; that of a subroutine which does not return, in the same section; `alloca`
 * of a size that no constant says, and below the frame of one that a constant does; a loop that lowers R1
 * each time. */
static void test_frames(void **state) {
    (void)state;
#define TOP ".target sm_80\n.entry k\n.frame 64\n  IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;\n"
    RECORD(TOP "  @P0 BRA `(x) ;\n  IADD3 R1, R1, -0x30, RZ ;\n  NOP ;\n  IADD3 R1, R1, 0x30, RZ ;\nx:\n"
               "  IADD3 R1, R1, RZ, RZ ;\n  EXIT ;\n",
           CR_M03, frame_bytes, 48, 47);
    RECORD(TOP
           "  IADD3 R1, R1, -0x30, RZ ;\n  IADD3 R1, R1, -R4, RZ ;\n  IADD3 R1, R1, -0x100, RZ ;\n  EXIT ;\n",
           CR_M03, frame_bytes, 48, 47);
    RECORD(TOP "  IADD3 R1, R1, -0x20, RZ ;\nx:\n  IADD3 R1, R1, -0x8, RZ ;\n  @P0 BRA `(x) ;\n  EXIT ;\n",
           CR_M03, frame_bytes, 40, 31);
    RECORD(TOP "  IADD3 R1, R1, -0x8, RZ ;\n  CALL.REL.NOINC `(x) ;\n  EXIT ;\nx:\n"
               "  IADD3 R1, R1, -0x100, RZ ;\n  BPT.TRAP 0x1 ;\n  EXIT ;\n",
           CR_M03, frame_bytes, 8, 7);
    RECORD(
        ".target sm_90\n.entry k\n.frame 64\n  LDC R1, c[0x0][0x28] ;\n  VIADD R1, R1, -0x30 ;\n  EXIT ;\n",
        CR_M03, frame_bytes, 48, 47);
    static const char alloca[] =
        ".target sm_80\n.entry k\n.frame 48\n  IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;\n"
        "  IADD3 R1, R1, -0x30, RZ ;\n  IADD3 R1, R1, -0x80, RZ ;\n  EXIT ;\n";
    RECORD(alloca, CR_M03, frame_bytes, 48, 47);
    RECORD(alloca, CR_M03, frame_bytes, 48, 0);
}

/* A barrier's number as ptxas has it in a register of sm_90: constants moved, shifted and put together. */
static void test_barrier_numbers(void **state) {
    (void)state;
#define BAR(number)                                                                                          \
    ".target sm_90\n.entry k\n  S2R R10, SR_TID.X ;\n  " number " ;\n  @P0 BRA `(x) ;\nx:\n"                 \
    "  SHF.L.U32 R10, R10, 0x10, RZ ;\n  LOP3.LUT R10, R10, 0xf, R9, 0xf8, !PT ;\n"                          \
    "  BAR.SYNC.DEFER_BLOCKING R10, R10 ;\n  EXIT ;\n"
#define WAYS(number) BAR("MOV R9, 0x4 ;\n  @P1 BRA `(y) ;\n  " number " ;\ny:\n  NOP")
#define AHEAD(number)                                                                                        \
    ".target sm_90\n.entry k\n  S2R R10, SR_TID.X ;\n  " number " ;\n"                                       \
    "  SHF.L.U32 R10, R10, 0x10, RZ ;\n  LOP3.LUT R10, R10, 0xf, R9, 0xf8, !PT ;\n"                          \
    "  BAR.SYNC.DEFER_BLOCKING R10, R10 ;\n  EXIT ;\n"
    RECORD(AHEAD("MOV R9, 0x5"), CR_M02, nbarriers, 6, 5);
    RECORD(AHEAD("IMAD.MOV.U32 R9, RZ, RZ, 0x5"), CR_M02, nbarriers, 6, 5);
    RECORD(AHEAD("HFMA2.MMA R9, -RZ, RZ, 0, 2.98023223876953125e-07"), CR_M02, nbarriers, 6, 5);
    RECORD(AHEAD("CS2R R8, SRZ"), CR_M02, nbarriers, 1, 0);
    RECORD(AHEAD("S2R R9, SR_TID.X"), CR_M02, nbarriers, 16, 15);
    /* ptxas: 240 instructions between them (sums by tiles) */
#define FAR8 " ;\n NOP ;\n NOP ;\n NOP ;\n NOP ;\n NOP ;\n NOP ;\n NOP ;\n NOP"
#define FAR64 FAR8 FAR8 FAR8 FAR8 FAR8 FAR8 FAR8 FAR8
    RECORD(AHEAD("MOV R9, 0x5" FAR64 FAR64 FAR64 FAR64), CR_M02, nbarriers, 6, 5);
    RECORD(AHEAD("@P1 MOV R9, 0x5"), CR_M02, nbarriers, 16, 15);
    /* the code at x is reached in two ways */
    RECORD(BAR("MOV R9, 0x5"), CR_M02, nbarriers, 6, 5);
    RECORD(BAR("S2R R9, SR_TID.X"), CR_M02, nbarriers, 16, 15);
    RECORD(WAYS("MOV R9, 0x5"), CR_M02, nbarriers, 6, 5);
    RECORD(WAYS("NOP"), CR_M02, nbarriers, 5, 4);
    RECORD(WAYS("S2R R9, SR_TID.X"), CR_M02, nbarriers, 16, 15);
}

static void test_exit_list(void **state) {
    (void)state;
    static const struct {
        uint32_t at[3], n;
        bool wrong;
    } lists[] = {{{0x10, 0x30}, 2, false}, {{0x30, 0x10}, 2, false},      {{0x10, 0x20}, 2, true},
                 {{0x10}, 1, true},        {{0x10, 0x30, 0x20}, 3, true}, {{0}, 0, false}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        Checked c = check_text(".target sm_80\n.entry k\n  NOP ;\n  @P0 EXIT ;\n  NOP ;\n  EXIT ;\n",
                               &(BinCheckOptions){.no_hazards = true});
        assert_false(breaks(&c, CR_M04));
        BinFunc *kernel = &((Binary *)(uintptr_t)c.g->bin)->funcs[0];
        kernel->exits = lists[k].at, kernel->nexits = lists[k].n;
        check_report_free(&c.r);
        check_binary(c.g, &(BinCheckOptions){.no_hazards = true}, &c.r);
        assert_int_equal(breaks(&c, CR_M04), lists[k].wrong);
        release(&c);
    }
}

/* Declared memory ends at byte 0x14 (of sm_90: 0x414), that of the launch begins at 0x20. */
static void test_shared_accesses(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t right, wrong;
    } cases[] = {
        {".target sm_80\n.entry k\n  LDS R0, [0x10] ;\n  EXIT ;\n", 20, 19},
        {".target sm_80\n.entry k\n  LDS.128 R4, [0x10] ;\n  EXIT ;\n", 32, 20},
        {".target sm_80\n.entry k\n  STS.U8 [0x14], R0 ;\n  EXIT ;\n", 16, 20},
        {".target sm_80\n.entry k\n  STS [0x20], R0 ;\n  EXIT ;\n", 20, (48 << 10) + 4},
        {".target sm_90\n.entry k\n  LDS R0, [0x410] ;\n  EXIT ;\n", 20, 19},
        {".target sm_80\n.entry k\n  LDS R0, [R2+0x14] ;\n  EXIT ;\n", 20, (48 << 10) + 4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        RECORD(cases[k].text, CR_M05, shared_bytes, cases[k].right, cases[k].wrong);
}

static const char two_faults[] = ".target bru1\n.entry k\n"
                                 "  S2R R0, SR_LANEID ;\n"
                                 "  BSSY B0, `(out) ;\n"
                                 "  @P0 BRA `(join) ;\n"
                                 "  NOP ;\n"
                                 "join:\n  @P1 BSYNC B0 ;\n"
                                 "out:\n  BAR.SYNC 0x0 ;\n"
                                 "  EXIT ;\n";

static void test_options(void **state) {
    (void)state;
    Checked c = check_text(two_faults, &(BinCheckOptions){.no_hazards = true});
    assert_int_equal(c.r.nerrors, 2);
    assert_int_equal(c.r.findings[0].rule, CR_R07);
    assert_int_equal(c.r.findings[1].rule, CR_R10);
    release(&c);
    c = check_text(two_faults, &(BinCheckOptions){.rules = (uint64_t)1 << CR_R10});
    assert_int_equal(c.r.n, 1);
    assert_int_equal(c.r.findings[0].inst, 5);
    release(&c);
}

static void test_reports(void **state) {
    (void)state;
    Checked c = check_text(two_faults, &(BinCheckOptions){.no_hazards = true});
    char *text = check_report_text(c.g, &c.r), *json = check_report_json(c.g, &c.r),
         *sarif = check_report_sarif(c.g, &c.r);
    assert_non_null(strstr(text, "k.cubin: k+0x40: error R-07: predicated BSYNC"));
    assert_non_null(strstr(text, "@P1 BSYNC B0"));
    assert_non_null(strstr(text, "2 errors, 0 warnings"));
    cJSON *o = cJSON_Parse(json);
    assert_non_null(o);
    cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "findings"), 0);
    assert_string_equal(cJSON_GetObjectItem(first, "rule")->valuestring, "R-07");
    assert_string_equal(cJSON_GetObjectItem(first, "address")->valuestring, "0x40");
    assert_string_equal(cJSON_GetObjectItem(first, "function")->valuestring, "k");
    cJSON_Delete(o);
    o = cJSON_Parse(sarif);
    assert_non_null(o);
    assert_string_equal(cJSON_GetObjectItem(o, "version")->valuestring, "2.1.0");
    cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "runs"), 0);
    cJSON *rules =
        cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(run, "tool"), "driver"), "rules");
    assert_int_equal(cJSON_GetArraySize(rules), CR_COUNT);
    cJSON *result = cJSON_GetArrayItem(cJSON_GetObjectItem(run, "results"), 0);
    assert_string_equal(cJSON_GetObjectItem(result, "level")->valuestring, "error");
    int index = cJSON_GetObjectItem(result, "ruleIndex")->valueint;
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(rules, index), "id")->valuestring, "R-07");
    cJSON_Delete(o);
    free(text);
    free(json);
    free(sarif);
    release(&c);
}

/* The path that shows a finding leads along edges of the graph. */
static void test_path(void **state) {
    (void)state;
    Checked c = check_text(".target bru1\n.func f\n"
                           "  BSSY B0, `(join) ;\n"        /* 0 */
                           "  @P0 BRA `(a) ;\n"            /* 1 */
                           "  BSYNC B0 ;\n"                /* 2 */
                           "join:\n  RET.ABS R[20:21] ;\n" /* 3 */
                           "a:\n  NOP ;\n"                 /* 4 */
                           "  @P1 BRA `(a) ;\n"            /* 5 */
                           "  RET.ABS R[20:21] ;\n",       /* 6 */
                           &(BinCheckOptions){.rules = (uint64_t)1 << CR_R02});
    static const uint32_t expected[] = {0, 1, 4, 6};
    assert_int_equal(c.r.n, 1);
    assert_int_equal(c.r.findings[0].inst, 6);
    assert_int_equal(c.r.findings[0].npath, 4);
    assert_memory_equal(c.r.findings[0].path, expected, sizeof expected);
    release(&c);
}

/* A barrier register that is saved while others are, `n` times: it comes back, and where the last of the
 * others gets what the one 64 before it was, that is found. */
static void test_many_saves(void **state) {
    (void)state;
    static const unsigned numbers[] = {1, 63, 64, 65, 130};
    for (unsigned k = 0; k < 2 * sizeof numbers / sizeof *numbers; k++) {
        char text[32768];
        unsigned n = numbers[k / 2], wrong = k % 2 && n > 64 ? n - 1 : n;
        int size = snprintf(text, sizeof text,
                            ".target sm_80\n.entry k\n  S2R R0, SR_LANEID ;\n"
                            "  ISETP.GT.AND P0, PT, R0, 0x5, PT ;\n  BSSY B1, `(out) ;\n"
                            "  BMOV.32.CLEAR R9, B1 ;\n  @P0 BRA `(in) ;\n");
        for (unsigned i = 0; i < n; i++)
            size += snprintf(text + size, sizeof text - (size_t)size,
                             "  BSSY B0, `(o%u) ;\n  BMOV.32.CLEAR R%u, B0 ;\n  @P1 BRA `(t%u) ;\n  NOP ;\n"
                             "t%u:\n  BMOV.32 B0, R%u ;\n  BSYNC B0 ;\no%u:\n",
                             i, 10 + i, i, i, 10 + (i == wrong ? i - 64 : i), i);
        snprintf(text + size, sizeof text - (size_t)size,
                 "in:\n  BMOV.32 B1, R9 ;\n  BSYNC B1 ;\nout:\n  EXIT ;\n");
        Checked c = check_text(text, &(BinCheckOptions){.no_hazards = true});
        assert_int_equal(breaks(&c, CR_R04), wrong < n);
        assert_int_equal(breaks(&c, CR_R15), wrong < n);
        release(&c);
    }
}

/* Lanes that join late are slow; where a uniform register counts behind the join they are an error. */
static void test_late_joins(void **state) {
    (void)state;
    static const char *const behind[] = {"NOP", "ULDC UR4, c[0x0][0x28]", "R2UR UR4, R0",
                                         "UIADD3 UR4, UR4, 0x1, URZ"};
    for (unsigned n = 0; n < 4; n++) {
        char text[600];
        snprintf(text, sizeof text,
                 ".target sm_90\n.entry k\n  S2R R0, SR_LANEID ;\n  ISETP.LT.AND P0, PT, R0, 0x4, PT ;\n"
                 "  @P0 BRA `(join) ;\n  BSSY B0, `(out) ;\n  NOP ;\njoin:\n  BSYNC B0 ;\nout:\n"
                 "  STG.E [R2], R0 ;\n  %s ;\n  EXIT ;\n",
                 behind[n]);
        Checked c = check_text(text, &(BinCheckOptions){.no_hazards = true});
        assert_true(breaks(&c, CR_R04));
        for (uint32_t k = 0; k < c.r.n; k++)
            if (c.r.findings[k].rule == CR_R04)
                assert_int_equal(c.r.findings[k].severity, n < 3 ? SEV_WARNING : SEV_ERROR);
        release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),      cmocka_unit_test(test_files),
        cmocka_unit_test(test_reserved_bit),  cmocka_unit_test(test_undecoded),
        cmocka_unit_test(test_count),         cmocka_unit_test(test_rule_names),
        cmocka_unit_test(test_docs),          cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_launchable),    cmocka_unit_test(test_objects),
        cmocka_unit_test(test_frames),        cmocka_unit_test(test_barrier_numbers),
        cmocka_unit_test(test_exit_list),     cmocka_unit_test(test_shared_accesses),
        cmocka_unit_test(test_options),       cmocka_unit_test(test_reports),
        cmocka_unit_test(test_path),          cmocka_unit_test(test_ways_meet),
        cmocka_unit_test(test_mask_severity), cmocka_unit_test(test_rows_of_warps),
        cmocka_unit_test(test_distances),     cmocka_unit_test(test_zero_yields),
        cmocka_unit_test(test_many_saves),    cmocka_unit_test(test_late_joins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
