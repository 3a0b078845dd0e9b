/* Rules on single instructions and on the shape of the code.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

static const char *name_of(const MachInst *m) { return isa_optype_name(m->optype); }

/* ---- encodings ---- */

static void undecoded(Checker *c, uint32_t i) {
    MachInst m;
    char error[ISA_ERROR_BYTES];
    isa_decode(c->g->bin->target, c->g->bin->code[i], &m, error);
    bool unknown = strncmp(error, "unknown opcode", 14) == 0;
    bool bits = unknown || strstr(error, "belongs to no field") || strstr(error, "absent field");
    bool reachable = c->g->blocks[c->g->block_of[i]].reachable;
    /* what we do not know of NVIDIA's encodings is no mistake of the binary */
    Severity s = c->native || (unknown && !reachable) ? SEV_WARNING : SEV_ERROR;
    check_report_as(c, s, bits ? CR_R23 : CR_R22, i, NONE, "%s: %s",
                    bits ? "non-canonical encoding" : "illegal field", error);
}

/* The instruction's text must assemble to the same word. */
static void round_trip(Checker *c, uint32_t i) {
    char text[256], error[ISA_ERROR_BYTES] = "";
    const char *end;
    MachInst back;
    uint64_t word[2];
    const Target *t = c->g->bin->target;
    uint64_t pc = bin_address(c->g, i);
    if (isa_print(t, &c->g->insts[i], pc, NULL, text, sizeof text) < 0)
        return;
    bool same = isa_parse(t, text, pc, NULL, &back, &end, error);
    if (same) {
        back.ctrl = c->g->insts[i].ctrl;
        for (unsigned k = 0; k < back.nsrc;
             k++) /* as the control field, reuse bits are not part of the text */
            back.src[k].mods |= c->g->insts[i].src[k].mods & OPM_REUSE;
        same = isa_encode(t, &back, word, error) && memcmp(word, c->g->bin->code[i], sizeof word) == 0;
    }
    if (!same)
        check_report(c, CR_R23, i, NONE,
                     "non-canonical encoding: its text '%s' assembles to another word%s%s", text,
                     error[0] ? ": " : "", error);
}

/* ---- fields ---- */

static bool is_constant(Operand o, uint32_t *value) {
    if (o.kind == OPK_IMM)
        *value = o.value;
    else if (o.kind == OPK_NONE)
        *value = 0;
    else
        return false;
    return true;
}

static void bar_fields(Checker *c, uint32_t i, const MachInst *m) {
    uint32_t count, id;
    unsigned slot = m->optype == OT_BAR ? BAR_cnt : BAR_RED_cnt;
    if (is_constant(m->src[slot], &count)) {
        if (count % 32)
            check_report(c, CR_R22, i, NONE, "illegal field cnt=%u: no multiple of 32", count);
        if (m->optype == OT_BAR && MGET(BAR, mode, m->mods) == BARMode_ARV && count == 0 &&
            m->src[BAR_barid].kind != OPK_REG)
            check_report(c, CR_R22, i, NONE,
                         "illegal field cnt=0: BAR.ARV waits for nobody, so it needs a count");
    }
    slot = m->optype == OT_BAR ? BAR_barid : BAR_RED_barid;
    if (is_constant(m->src[slot], &id) && id > 15)
        check_report(c, CR_R22, i, NONE, "illegal field barid=%u", id);
}

static void collective_branch(Checker *c, uint32_t i, const MachInst *m) {
    unsigned cond = MGET(BRA, cond, m->mods);
    if (cond == BRACond_NoCond)
        return;
    /* ptxas writes a guarded BRA.U where it knows the guard to be the same for all lanes */
    if (bin_guard(m) != BG_ALWAYS && !(c->native && cond == BRACond_U))
        check_report(c, CR_R21, i, NONE, "predicated BRA.%s moves lanes whose guard is false",
                     cond == BRACond_U     ? "U"
                     : cond == BRACond_DIV ? "DIV"
                                           : "CONV");
}

static void one_instruction(Checker *c, uint32_t i) {
    const MachInst *m = &c->g->insts[i];
    switch (bin_kind(m)) {
    case BK_BSSY:
    case BK_BSYNC:
    case BK_WARPSYNC:
    case BK_YIELD:
    case BK_NANOSLEEP:
    case BK_BAR:
        if (bin_guard(m) != BG_ALWAYS)
            check_report(c, CR_R07, i, NONE,
                         "predicated %s: lanes with a false guard pass while still counted", name_of(m));
        break;
    case BK_BRANCH: collective_branch(c, i, m); break;
    default: break;
    }
    if (bin_kind(m) == BK_BAR)
        bar_fields(c, i, m);
}

/* ---- targets ---- */

static void call_target(Checker *c, uint32_t i) {
    const MachInst *m = &c->g->insts[i];
    uint32_t t = bin_target(c->g, i);
    Operand ra = m->src[CALL_ra];
    bool direct =
        ra.kind == OPK_NONE || (ra.kind == OPK_REG && ra.value == (ra.file == RF_UR ? REG_URZ : REG_RZ));
    if (!direct)
        return;
    if (t == NONE || c->proc_at[t] == NONE)
        check_report_as(c, c->native ? SEV_WARNING : SEV_ERROR, CR_R18, i, NONE,
                        "the call's target is outside the code");
    else if (!c->native && t != c->g->funcs[c->procs[c->proc_at[t]].func].first_inst)
        check_report(c, CR_R18, i, NONE, "the call's target %s is in the middle of a function",
                     check_at(c, t));
}

static void block_end(Checker *c, const BinBlock *b) {
    uint32_t last = b->first + b->ninsts - 1;
    const BinFuncFlow *f = &c->g->funcs[b->func];
    if ((b->ends & BX_OFF_END) && last + 1 < f->first_inst + f->ninsts)
        check_report_as(c, c->native ? SEV_WARNING : SEV_ERROR, CR_R19, last, f->first_inst,
                        "control runs into a word that is no instruction; what follows is not checked");
    else if (b->ends & BX_OFF_END)
        check_report(c, CR_R19, last, f->first_inst, "control falls off the end of the function");
    if (b->ends & BX_BAD_TARGET) {
        const MachInst *m = &c->g->insts[last];
        check_report(c, CR_R18, last, NONE, "target 0x%llx is no instruction of this function",
                     (unsigned long long)(bin_address(c->g, last) + INST_BYTES +
                                          (uint64_t)(bin_kind(m) == BK_BRANCH ? m->wide : 0) -
                                          c->g->bin->funcs[b->func].address));
    }
    if (b->ends & BX_UNKNOWN)
        check_report_as(
            c, SEV_WARNING, CR_R18, last, NONE,
            "the file does not tell where this indirect branch leads; what follows is not checked");
}

void check_structure(Checker *c) {
    const BinFlow *g = c->g;
    for (uint32_t f = 0; f < g->bin->nfuncs; f++)
        for (uint32_t i = g->funcs[f].first_inst, k = 0; k < g->funcs[f].ninsts; k++, i++) {
            if (!g->decoded[i]) {
                undecoded(c, i);
                continue;
            }
            if (check_wants(c, CR_R23) && !c->opt->no_text)
                round_trip(c, i);
            if (!g->blocks[g->block_of[i]].reachable)
                continue;
            one_instruction(c, i);
            if (check_kind(c, i) == BK_CALL)
                call_target(c, i);
        }
    for (uint32_t b = 0; b < g->nblocks; b++)
        if (g->blocks[b].reachable)
            block_end(c, &g->blocks[b]);
}
