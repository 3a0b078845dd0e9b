/* Layout, scheduling, control codes and encoding of random programs. Two second sources: the evaluator (the
 * stores must stay the same through layout and scheduling), and a walker over the *decoded words* that
 * follows random paths, keeps issue times and scoreboards as the hardware does, and must find no register
 * touched too early.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/rng.h"
#include "emit/code.h"
#include "ir/pass.h"
#include "emit/emit.h"
#include "isa/machine/latency.h"
#include "random_ir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_diag(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    fprintf(stderr, "%s", line);
}

/* ---- the walker ---- */

enum { MAX_WRITERS = 16 };
typedef struct {
    uint32_t inst, time;
    uint8_t operand, part;
    int sb;
} Access;
typedef struct {
    Access at[MAX_WRITERS];
    unsigned n;
} Accesses;

typedef struct {
    const Target *t;
    const MachInst *code;
    uint32_t n;
    Accesses writes[CELL_COUNT], reads[CELL_COUNT];
    uint32_t outstanding[6], set_time[6]; /* setters since the last wait; time of the last */
    uint32_t queued[ISA_QUEUE_COUNT][6],
        memory[6]; /* time of the last setter of a queue, of memory; 0 none */
    uint32_t time;
    unsigned violations;
} Walk;

static void complain(Walk *walk, uint32_t pc, const char *what, unsigned cell) {
    if (walk->violations++ == 0)
        fprintf(stderr, "pc %#x: %s, register cell %u\n", pc * 16, what, cell);
}

static bool sb_open(const Walk *walk, const Access *access) {
    return access->sb >= 0 && walk->outstanding[access->sb] > 0;
}

static void add_access(Accesses *list, Access a) {
    if (list->n == MAX_WRITERS)
        memmove(list->at, list->at + 1, sizeof *list->at * (MAX_WRITERS - 1)), list->n--;
    list->at[list->n++] = a;
}

/* What hung on scoreboard sb has arrived; its next setter is another matter. */
static void settle(Walk *walk, Accesses *lists, int sb) {
    for (unsigned c = 0; c < CELL_COUNT; c++)
        for (unsigned x = 0; x < lists[c].n; x++) {
            Access *access = &lists[c].at[x];
            enum IsaQueue q = latency_queue(walk->t, &walk->code[access->inst]);
            bool earlier = q != ISA_QUEUE_NONE && access->time <= walk->queued[q][sb];
            bool read = lists == walk->reads && latency_reads_in_order(walk->t, &walk->code[access->inst]) &&
                        access->time <= walk->memory[sb];
            if (access->sb == sb || earlier || read)
                access->sb = -1;
        }
}

static bool same_queue(const Walk *walk, const Access *access, const MachInst *m) {
    enum IsaQueue q = latency_queue(walk->t, m);
    return q != ISA_QUEUE_NONE && q == latency_queue(walk->t, &walk->code[access->inst]);
}

static bool hangs_on(const Accesses *lists, int sb) {
    for (unsigned c = 0; c < CELL_COUNT; c++)
        for (unsigned x = 0; x < lists[c].n; x++)
            if (lists[c].at[x].sb == sb)
                return true;
    return false;
}

static void check_waits(Walk *walk, uint32_t pc) {
    for (unsigned sb = 0; sb < 6; sb++)
        if (walk->code[pc].ctrl.wait_mask >> sb & 1) {
            if (walk->outstanding[sb] && walk->time - walk->set_time[sb] < 2)
                complain(walk, pc, "waits right behind the setter", sb);
            walk->outstanding[sb] = 0;
            settle(walk, walk->writes, (int)sb);
            settle(walk, walk->reads, (int)sb);
        }
}

static void check_inst(Walk *walk, uint32_t pc) {
    const MachInst *m = &walk->code[pc];
    CellRef reads[MAX_CELL_REFS], writes[MAX_CELL_REFS];
    unsigned nr = emit_reads(m, reads), nw = emit_writes(m, writes);
    for (unsigned k = 0; k < nr; k++) {
        const Accesses *accesses = &walk->writes[reads[k].cell];
        for (unsigned x = 0; x < accesses->n; x++) {
            const Access *access = &accesses->at[x];
            if (sb_open(walk, access))
                complain(walk, pc, "reads before the scoreboard", reads[k].cell);
            if (walk->time - access->time < latency_raw_part(walk->t, &walk->code[access->inst],
                                                             access->operand, access->part, m,
                                                             reads[k].operand, reads[k].part))
                complain(walk, pc, "reads too early", reads[k].cell);
        }
    }
    for (unsigned k = 0; k < nw; k++) {
        const Accesses *accesses = &walk->writes[writes[k].cell], *r = &walk->reads[writes[k].cell];
        for (unsigned x = 0; x < accesses->n; x++)
            if (same_queue(walk, &accesses->at[x], m))
                continue;
            else if (sb_open(walk, &accesses->at[x]) ||
                     walk->time - accesses->at[x].time <
                         latency_waw(walk->t, &walk->code[accesses->at[x].inst], accesses->at[x].operand, m))
                complain(walk, pc, "writes over a result still to come", writes[k].cell);
        for (unsigned x = 0; x < r->n; x++)
            if (same_queue(walk, &r->at[x], m))
                continue;
            else if (sb_open(walk, &r->at[x]) ||
                     walk->time - r->at[x].time <
                         latency_war(walk->t, &walk->code[r->at[x].inst], r->at[x].operand, m))
                complain(walk, pc, "writes before it was read", writes[k].cell);
    }
    bool boundary = emit_is_call_boundary(m);
    for (unsigned sb = 0; sb < 6 && boundary; sb++)
        if (walk->outstanding[sb] && (hangs_on(walk->writes, (int)sb) || hangs_on(walk->reads, (int)sb)))
            complain(walk, pc, "calls with a scoreboard open", sb);
    for (unsigned c = 0; c < CELL_COUNT && boundary; c++)
        for (unsigned x = 0; x < walk->writes[c].n; x++) {
            const Access *access = &walk->writes[c].at[x];
            MachInst any = isa_inst(OT_STG);
            bool p = c >= CELL_P && c < CELL_UR;
            if (walk->time - access->time <
                latency_raw(walk->t, &walk->code[access->inst], access->operand, &any, p ? LATENCY_GUARD : 0))
                complain(walk, pc, "calls with a result in flight", c);
        }
}

static void issue(Walk *walk, uint32_t pc) {
    const MachInst *inst = &walk->code[pc];
    CellRef reads[MAX_CELL_REFS], writes[MAX_CELL_REFS];
    unsigned nr = emit_reads(inst, reads), nw = emit_writes(inst, writes);
    const uint8_t sbs[2] = {inst->ctrl.write_sb, inst->ctrl.read_sb};
    for (unsigned k = 0; k < 2; k++)
        if (sbs[k] < 6) {
            walk->outstanding[sbs[k]]++;
            walk->set_time[sbs[k]] = walk->time;
            if (k == 0)
                walk->queued[latency_queue(walk->t, inst)][sbs[k]] = walk->time;
            if (latency_reads_in_order(walk->t, inst))
                walk->memory[sbs[k]] = walk->time;
        }
    bool variable = latency_is_variable(walk->t, inst);
    if (variable && nw && inst->ctrl.write_sb > 5)
        complain(walk, pc, "no write scoreboard", writes[0].cell);
    int read_sb = inst->ctrl.read_sb < 6    ? inst->ctrl.read_sb
                  : inst->ctrl.write_sb < 6 ? inst->ctrl.write_sb
                                            : -1;
    for (unsigned k = 0; k < nr; k++) {
        bool late = latency_reads_late(walk->t, inst) && reads[k].operand != LATENCY_GUARD;
        if (late && read_sb < 0)
            complain(walk, pc, "no read scoreboard", reads[k].cell);
        add_access(&walk->reads[reads[k].cell],
                   (Access){pc, walk->time, reads[k].operand, reads[k].part, late ? read_sb : -1});
    }
    for (unsigned k = 0; k < nw; k++) {
        if (op_is_always(inst->guard))
            walk->writes[writes[k].cell].n = walk->reads[writes[k].cell].n = 0;
        add_access(&walk->writes[writes[k].cell], (Access){pc, walk->time, writes[k].operand, writes[k].part,
                                                           variable ? inst->ctrl.write_sb : -1});
    }
    walk->time += inst->ctrl.stall_cycles ? inst->ctrl.stall_cycles : 1;
}

static unsigned walk(const Target *t, const MachInst *code, uint32_t n, uint64_t *rng) {
    Walk *w = calloc(1, sizeof *w);
    w->t = t;
    w->code = code;
    w->n = n;
    w->time = 1000;
    uint32_t pc = 0;
    for (unsigned steps = 0; steps < 600 && !w->violations; steps++) {
        if (pc >= n) {
            complain(w, pc, "runs off the end", 0);
            break;
        }
        const MachInst *inst = &code[pc];
        check_waits(w, pc);
        check_inst(w, pc);
        issue(w, pc);
        if (inst->optype == OT_EXIT && op_is_always(inst->guard))
            break;
        bool taken = inst->optype == OT_BRA && (op_is_always(inst->guard) || rng_next(rng) % 2);
        pc = taken ? (uint32_t)((int64_t)pc + 1 + inst->wide / 16) : pc + 1;
        if (inst->optype == OT_CALL) { /* the callee starts and ends with nothing in flight */
            memset(w->writes, 0, sizeof w->writes);
            memset(w->reads, 0, sizeof w->reads);
        }
    }
    unsigned v = w->violations;
    free(w);
    return v;
}

/* ---- one program ---- */

static MachInst *decode_all(const Target *t, const CodeFunc *func) {
    MachInst *code = calloc(func->ninsts, sizeof *code);
    for (uint32_t k = 0; k < func->ninsts; k++) {
        char error[ISA_ERROR_BYTES];
        if (!isa_decode(t, func->words[k], &code[k], error))
            fail_msg("word %u does not decode: %s", k, error);
    }
    return code;
}

static void same_stores(Function *f, uint32_t nblocks, const StoreLog *before, const char *when) {
    StoreLog now = {0};
    assert_true(eval_function(f, nblocks, 60, &now));
    if (now.at.n != before->at.n || (now.at.n && memcmp(now.at.at, before->at.at, now.at.n * 8)))
        fail_msg("the stores changed in %s", when);
    arena_free(&now.a);
}

/* Behind a third of the results, a write to the same register whose guard is false, and a reader: what was
 * there before is still to come, and the reader waits for it, too. */
static void add_guarded_writes(Function *f, uint64_t *rng) {
    FOR_BLOCKS(f, b) {
        InstIds out = {0};
        FOR_INST_IDS(f, b, id) {
            VEC_ADD(f->arena, &out, id);
            const Inst *i = ir_inst(f, id);
            if (!i->ndst || ir_is_terminator(f, i) || i->op >= OT_COUNT || rng_next(rng) % 3)
                continue;
            Operand to = *ir_dst(f, i, 0);
            if (to.kind != OPK_REG || to.file != RF_R || to.value >= REG_RZ)
                continue;
            uint32_t last = to.value + (i->op == OT_IMAD_WIDE); /* the half that comes later */
            InstId more = ir_inst_new(f, OT_IMAD, 1, 4);
            ir_set_guard(f, more, op_with(op_pt(), OPM_NOT));
            const Operand sources[] = {op_rz(), op_imm(1), op_rz(), op_with(op_pt(), OPM_NOT)};
            *ir_dst(f, ir_inst(f, more), 0) = op_reg(RF_R, last, 1);
            for (unsigned k = 0; k < 4; k++)
                *ir_src(f, ir_inst(f, more), k) = sources[k];
            *ir_tied(f, ir_inst(f, more), 0) = op_reg(RF_R, last, 1); /* what it leaves as it is */
            VEC_ADD(f->arena, &out, more);
            InstId reader = ir_inst_new(f, OT_IMAD_WIDE, isa_num_dst(OT_IMAD_WIDE), 4);
            ir_set_guard(f, reader, op_with(op_pt(), OPM_NOT));
            Inst *wide = ir_inst(f, reader);
            *ir_dst(f, wide, 0) = *ir_tied(f, wide, 0) = op_reg(RF_R, to.value & ~1u, 2);
            for (unsigned k = 1; k < wide->ndst; k++)
                *ir_dst(f, wide, k) = *ir_tied(f, wide, k) = op_pt();
            *ir_src(f, wide, 0) = *ir_src(f, wide, 1) = op_reg(RF_R, last, 1);
            *ir_src(f, wide, 2) = op_reg(RF_R, REG_RZ, 2);
            *ir_src(f, wide, 3) = op_with(op_pt(), OPM_NOT);
            VEC_ADD(f->arena, &out, reader);
        }
        ir_block(f, b)->insts = out;
    }
}

static void run_one(const char *target, RandomShape shape, bool schedule) {
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    const Target *t = isa_target(target);
    IrModule *module = random_module(t, &strings, shape);
    Function *f = module->funcs.at[module->funcs.n - 1];
    uint32_t nblocks = f->blocks.n;
    f->reg_limit = shape.seed % 3 ? 0 : 48;
    module->opt_level = 0; /* layout keeps blocks that only branch: the evaluator counts visits of blocks */
    assert_true(pass_colour(f, &d) && pass_copies(f, &d) && pass_frame(f, &d));
    StoreLog before = {0};
    assert_true(eval_function(f, nblocks, 60, &before));
    assert_true(pass_layout(f, &d));
    same_stores(f, nblocks, &before, "layout");
    if (schedule)
        assert_true(pass_schedule(f, &d));
    same_stores(f, nblocks, &before, "schedule");
    uint64_t places = shape.seed + 1;
    if (shape.seed % 4 > 1)
        add_guarded_writes(f, &places);
    same_stores(f, nblocks, &before, "guarded writes");
    assert_true(ir_verify(f, &d, "guarded writes"));
    assert_true(pass_control(f, &d));
    same_stores(f, nblocks, &before, "control");
    assert_true(ir_verify(f, &d, "control"));
    CodeModule *code = code_encode(module, &d);
    if (!code)
        fail_msg("seed %llu on %s: not encoded", (unsigned long long)shape.seed, target);
    const CodeFunc *func = &code->funcs[code->nfuncs - 1];
    assert_int_equal(func->ninsts % 8, 0);
    MachInst *insts = decode_all(t, func);
    for (uint32_t k = 0; k < func->ninsts; k++) { /* as every word that ptxas made (test_isa_words) */
        Control ctrl = insts[k].ctrl;
        if ((ctrl.stall_cycles == 0 || ctrl.stall_cycles > 11) && !ctrl.yield)
            fail_msg("seed %llu on %s: stall %u without yield", (unsigned long long)shape.seed, target,
                     ctrl.stall_cycles);
    }
    uint64_t rng = shape.seed;
    for (unsigned k = 0; k < 20; k++)
        if (walk(t, insts, func->ninsts, &rng))
            fail_msg("seed %llu on %s, schedule %d: control codes are wrong", (unsigned long long)shape.seed,
                     target, schedule);
    if (getenv("HEDDLE_TEST_STATS")) {
        uint32_t cycles = 0;
        for (uint32_t k = 0; k < func->ninsts; k++)
            cycles += insts[k].ctrl.stall_cycles;
        fprintf(stderr, "%s seed %llu schedule %d: %u words, stalls %u, %u registers\n", target,
                (unsigned long long)shape.seed, schedule, func->ninsts, cycles, func->nregs);
    }
    free(insts);
    code_free(code);
    arena_free(&before.a);
    ir_module_free(module);
    str_free(&strings);
}

static void random_programs(void **state) {
    (void)state;
    static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_86", "sm_90"};
    const char *n = getenv("HEDDLE_TEST_ROUNDS");
    for (unsigned k = 0, rounds = n ? (unsigned)atoi(n) : 25; k < rounds; k++)
        for (unsigned t = 0; t < sizeof targets / sizeof *targets; t++) {
            RandomShape s = {.seed = k,
                             .blocks = 3 + k % 6,
                             .insts = 12,
                             .vars = 10 + k,
                             .preds = 4,
                             .vectors = true,
                             .guards = true,
                             .calls = k % 3 == 0};
            run_one(targets[t], s, k % 2);
        }
}

/* Layout with jump threading: blocks disappear, so only the common beginning of the stores is compared. */
static void threaded_layout(void **state) {
    (void)state;
    unsigned compared = 0;
    for (unsigned k = 0; k < 60; k++) {
        StrTab strings = {0};
        Diags d = {.sink = print_diag};
        RandomShape s = {.seed = k, .blocks = 12, .insts = k % 3, .vars = 6, .preds = 3};
        IrModule *module = random_module(isa_target("bru1"), &strings, s);
        Function *f = module->funcs.at[0];
        StoreLog before = {0}, after = {0};
        assert_true(pass_colour(f, &d) && pass_copies(f, &d) && pass_frame(f, &d));
        assert_true(eval_function(f, 0, 500, &before));
        assert_true(pass_layout(f, &d) && ir_verify(f, &d, "layout"));
        for (unsigned l = 0; l < f->layout.n; l++) /* no block is left that only leads to the next one */
            assert_true(ir_block(f, f->layout.at[l])->insts.n > 0);
        assert_true(eval_function(f, 0, 500, &after));
        unsigned n = before.at.n < after.at.n ? before.at.n : after.at.n;
        if (n)
            assert_memory_equal(before.at.at, after.at.at, n * 8);
        compared += n;
        arena_free(&before.a);
        arena_free(&after.a);
        ir_module_free(module);
        str_free(&strings);
    }
    assert_true(compared > 1000);
}

/* The walker must notice what it is there for. */
static void walker_notices(void **state) {
    (void)state;
    const Target *t = isa_target("bru1");
    MachInst code[3] = {isa_inst(OT_MOV), isa_inst(OT_MOV), isa_inst(OT_EXIT)};
    code[0].dst[0] = op_reg(RF_R, 4, 1);
    code[0].src[0] = op_imm(1);
    code[1].dst[0] = op_reg(RF_R, 5, 1);
    code[1].src[0] = op_reg(RF_R, 4, 1);
    uint64_t rng = 1;
    code[0].ctrl.stall_cycles = 4;
    assert_int_equal(walk(t, code, 3, &rng), 0);
    code[0].ctrl.stall_cycles = 3;
    assert_int_not_equal(walk(t, code, 3, &rng), 0);
    code[0] = isa_inst(OT_LDG);
    code[0].dst[0] = op_reg(RF_R, 4, 1);
    code[0].src[0] = op_reg(RF_R, 2, 2);
    code[0].ctrl = (Control){.stall_cycles = 2, .write_sb = 1, .read_sb = 7};
    code[1].ctrl.wait_mask = 2;
    assert_int_equal(walk(t, code, 3, &rng), 0);
    code[1].ctrl.wait_mask = 1;
    assert_int_not_equal(walk(t, code, 3, &rng), 0);
    code[1].ctrl.wait_mask = 2;
    code[0].ctrl.stall_cycles = 1;
    assert_int_not_equal(walk(t, code, 3, &rng), 0);
}

/* The interface's fixed points: a few distances from the published tables. */
static void known_latencies(void **state) {
    (void)state;
    static const struct {
        const char *target;
        uint16_t writer, reader;
        uint8_t src;
        unsigned cycles;
    } rows[] = {
        {"sm_75", OT_MOV, OT_MOV, 0, 4},
        {"sm_75", OT_MOV, OT_FFMA, 0, 5},
        {"sm_75", OT_MOV, OT_STG, 3, 8},
        {"sm_80", OT_MOV, OT_STG, 3, 5},
        {"sm_80", OT_MOV, OT_MUFU, 0, 4},
        {"sm_80", OT_ISETP, OT_MOV, 0xff, 13},
        {"sm_75", OT_ISETP, OT_MOV, 0xff, 12},
        {"sm_90", OT_DADD, OT_DADD, 0, 8},
        {"bru1", OT_ISETP, OT_SEL, 2, 4},
        {"bru1", OT_FFMA, OT_FFMA, 2, 4},
        /* stalls of ptxas 13.0 where the next instruction reads the result: xor, fma.f16x2 and fma.f32 in a
           chain */
        {"sm_80", OT_LOP3, OT_HFMA2, 0, 5},
        {"sm_80", OT_FFMA, OT_HFMA2, 0, 5},
        {"sm_80", OT_HFMA2_MMA, OT_LOP3, 0, 10},
        {"sm_80", OT_HFMA2_MMA, OT_FFMA, 0, 10},
        {"sm_80", OT_LOP3, OT_HFMA2_MMA, 0, 6},
        {"sm_80", OT_HFMA2, OT_STG, 3, 5},
        {"sm_90", OT_LOP3, OT_HFMA2, 0, 5},
        {"sm_90", OT_FFMA, OT_HFMA2, 0, 5},
        {"sm_90", OT_HFMA2_MMA, OT_LOP3, 0, 10},
        {"sm_90", OT_HFMA2_MMA, OT_FFMA, 0, 10},
        {"sm_90", OT_LOP3, OT_HFMA2_MMA, 0, 6},
        {"sm_90", OT_HFMA2, OT_STG, 3, 5},
    };
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        MachInst w = isa_inst(rows[k].writer), r = isa_inst(rows[k].reader);
        w.dst[0] = op_reg(rows[k].writer == OT_ISETP ? RF_P : RF_R, 4, 1);
        unsigned n = latency_raw(isa_target(rows[k].target), &w, 0, &r, rows[k].src);
        if (n != rows[k].cycles)
            fail_msg("row %u: %u cycles, expected %u", k, n, rows[k].cycles);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_latencies),
        cmocka_unit_test(walker_notices),
        cmocka_unit_test(random_programs),
        cmocka_unit_test(threaded_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
