/* Register allocation on random programs: the internal checker must accept it (pass_colour runs it), and
 * the evaluator must see the same stores before and after, for limits from tight to loose.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "isa/machine/occupancy.h"
#include "base/rng.h"
#include "random_ir.h"
#include "ir/pass.h"
#include "regalloc/regalloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned hoisted; /* programs */
static unsigned chosen;  /* selects */

static void print_diag(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    fprintf(stderr, "%s", line);
}

static unsigned highest_r(Function *f) {
    unsigned most = 0;
    for (unsigned l = 0; l < f->layout.n; l++) {
        const Block *b = ir_block(f, f->layout.at[l]);
        for (unsigned p = 0; p < b->insts.n; p++) {
            const Inst *i = ir_inst(f, b->insts.at[p]);
            for (unsigned k = 0; k < ir_num_operands(i); k++) {
                Operand o = f->operands.at[i->operand + k];
                if (o.kind == OPK_REG && o.file == RF_R && o.value != REG_RZ && o.value + o.count - 1u > most)
                    most = o.value + o.count - 1u;
            }
        }
    }
    return most;
}

static void print_stats(Function *f, RandomShape s, unsigned limit, unsigned nstores) {
    unsigned all = 0, moves = 0, stack = 0;
    for (unsigned l = 0; l < f->layout.n; l++) {
        const Block *b = ir_block(f, f->layout.at[l]);
        all += b->insts.n;
        for (unsigned p = 0; p < b->insts.n; p++) {
            const Inst *i = ir_inst(f, b->insts.at[p]);
            moves += i->op == OT_MOV && ir_src(f, i, 0)->kind == OPK_REG;
            stack += i->op == OT_STL || i->op == OT_LDL;
        }
    }
    fprintf(
        stderr,
        "seed %llu limit %u: %u instructions, %u moves, %u stack accesses, %u registers, %u stores seen\n",
        (unsigned long long)s.seed, limit, all, moves, stack, highest_r(f) + 1, nstores);
}

static void compare_logs(const StoreLog *log, const StoreLog *store_log, RandomShape s, unsigned limit) {
    if (log->at.n != store_log->at.n || (log->at.n && memcmp(log->at.at, store_log->at.at, log->at.n * 8))) {
        for (unsigned k = 0; k < log->at.n && k < store_log->at.n; k++)
            if (log->at.at[k] != store_log->at.at[k]) {
                fprintf(stderr, "store %u: %llx, was %llx\n", k, (unsigned long long)store_log->at.at[k],
                        (unsigned long long)log->at.at[k]);
                break;
            }
        fail_msg("seed %llu limit %u: %u stores before, %u after", (unsigned long long)s.seed, limit,
                 log->at.n, store_log->at.n);
    }
}

static unsigned count_op(const Function *f, unsigned op) {
    unsigned n = 0;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            n += i->op == op;
    return n;
}

static void run_one(const char *target, RandomShape shape, unsigned limit) {
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    IrModule *module = random_module(isa_target(target), &strings, shape);
    Function *f = module->funcs.at[module->funcs.n - 1];
    f->reg_limit = limit;
    if (!ir_verify(f, &d, "generator"))
        fail_msg("seed %llu: the generated program is wrong", (unsigned long long)shape.seed);
    StoreLog before = {0}, after = {0};
    uint32_t nblocks = f->blocks.n;
    assert_true(eval_function(f, nblocks, 100, &before));
    if (shape.seed % 2) { /* as the passes do; the others as they come */
        uint32_t size = f->blocks.at[f->entry.i].insts.n;
        if (!pass_hoist(f, &d) || !ir_verify(f, &d, "hoist"))
            fail_msg("seed %llu: nothing valid is left", (unsigned long long)shape.seed);
        hoisted += f->blocks.n != nblocks || f->blocks.at[f->entry.i].insts.n != size;
        unsigned selects = count_op(f, OT_SEL);
        if (!pass_selects(f, &d) || !ir_verify(f, &d, "selects"))
            fail_msg("seed %llu: nothing valid is left", (unsigned long long)shape.seed);
        chosen += selects - count_op(f, OT_SEL);
    }
    if (!pass_colour(f, &d) || !pass_copies(f, &d) || !pass_frame(f, &d))
        fail_msg("seed %llu limit %u: not allocated", (unsigned long long)shape.seed, limit);
    if (!ir_verify(f, &d, "frame"))
        fail_msg("seed %llu limit %u: not valid afterwards", (unsigned long long)shape.seed, limit);
    assert_true(highest_r(f) < (limit ? limit : 255));
    assert_true(eval_function(f, nblocks, 100, &after));
    compare_logs(&before, &after, shape, limit);
    if (getenv("HEDDLE_TEST_STATS"))
        print_stats(f, shape, limit, after.at.n);
    arena_free(&before.a);
    arena_free(&after.a);
    ir_module_free(module);
    str_free(&strings);
}

static void selecting(void **state) { /* and selects of which a side is made under the predicate */
    (void)state;
    assert_true(chosen >= 20);
}

static void hoisting(void **state) { /* the programs above have loops from which something is moved */
    (void)state;
    assert_true(hoisted >= 20);
}

static unsigned rounds(void) {
    const char *n = getenv("HEDDLE_TEST_ROUNDS");
    return n ? (unsigned)atoi(n) : 60;
}

static void run_many(RandomShape shape, const unsigned *limits, unsigned nlimits) {
    for (unsigned k = 0; k < rounds(); k++)
        for (unsigned l = 0; l < nlimits; l++) {
            shape.seed = k * 1000 + l;
            run_one(k % 4 == 3 ? "sm_90" : "bru1", shape, limits[l]);
        }
}

static void scalars(void **state) {
    (void)state;
    static const unsigned limits[] = {16, 20, 0};
    run_many((RandomShape){.blocks = 8, .insts = 10, .vars = 12, .preds = 3}, limits, 3);
    run_many((RandomShape){.blocks = 5, .insts = 20, .vars = 40, .preds = 6, .guards = true}, limits, 3);
}

static void predicates(void **state) {
    (void)state;
    static const unsigned limits[] = {24, 0};
    run_many((RandomShape){.blocks = 6, .insts = 15, .vars = 8, .preds = 12, .guards = true}, limits, 2);
}

static void vectors(void **state) {
    (void)state;
    static const unsigned limits[] = {24, 32, 64, 0};
    run_many((RandomShape){.blocks = 6, .insts = 15, .vars = 16, .preds = 4, .vectors = true, .guards = true},
             limits, 4);
    run_many((RandomShape){.blocks = 4, .insts = 30, .vars = 60, .preds = 8, .vectors = true, .guards = true},
             limits, 4);
}

static void calls(void **state) {
    (void)state;
    static const unsigned limits[] = {48, 64, 0};
    run_many(
        (RandomShape){
            .blocks = 6, .insts = 15, .vars = 20, .preds = 5, .vectors = true, .guards = true, .calls = true},
        limits, 3);
}

static void tight_calls(void **state) { /* the callee leaves no register: everything is in memory across it */
    (void)state;
    static const unsigned limits[] = {40, 28};
    run_many((RandomShape){.blocks = 5, .insts = 15, .vars = 20, .preds = 5, .calls = true}, limits, 2);
}

static void large(void **state) {
    (void)state;
    static const unsigned limits[] = {64, 0};
    for (unsigned k = 0; k < 3; k++)
        for (unsigned l = 0; l < 2; l++)
            run_one("bru1",
                    (RandomShape){.seed = 77 + k,
                                  .blocks = 60,
                                  .insts = 40,
                                  .vars = 100,
                                  .preds = 10,
                                  .vectors = true,
                                  .guards = true,
                                  .calls = true},
                    limits[l]);
}

/* ---- uniform files: more values than registers ---- */

static InstId add_inst(Function *f, BlockId b, unsigned op, Operand dst, Operand s0, Operand s1) {
    InstId i = ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
    if (dst.kind != OPK_NONE)
        ir_set_dst(f, i, 0, dst);
    if (s0.kind != OPK_NONE)
        ir_set_src(f, i, 0, s0);
    if (s1.kind != OPK_NONE)
        ir_set_src(f, i, 1, s1);
    ir_append(f, b, i);
    return i;
}

static void store_ur(Function *f, BlockId b, Operand ur) {
    Operand r = ir_val(f, ir_value_new(f, RF_R));
    add_inst(f, b, OT_MOV, r, ur, (Operand){0});
    InstId st = add_inst(f, b, OT_STG, (Operand){0}, (Operand){0}, (Operand){0});
    ir_set_src(f, st, STG_rb, r);
}

static void uniform_files(void **state) {
    (void)state;
    enum { NUR = 90, NUP = 12 };
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    IrModule *m = ir_module_new(isa_target("bru1"), &strings);
    Function *f = ir_function_new(m, str_intern_z(&strings, "k"), true);
    BlockId b = ir_block_new(f);
    Operand ur[NUR], up[NUP];
    for (unsigned k = 0; k < NUR; k++) {
        ur[k] = ir_val(f, ir_value_new(f, RF_UR));
        add_inst(f, b, OT_UIADD3, ur[k], k ? ur[k - 1] : (Operand){0}, op_imm(k * 3 + 1));
    }
    for (unsigned k = 0; k < NUP; k++) {
        up[k] = ir_val(f, ir_value_new(f, RF_UP));
        InstId i = add_inst(f, b, OT_UISETP, up[k], ur[k * 5], op_imm(200 + 90 * k));
        ir_inst(f, i)->mods = MSET(UISETP, cmp, ICmp_LT);
    }
    for (unsigned k = 0; k < NUP; k++) {
        Operand u = ir_val(f, ir_value_new(f, RF_UR));
        InstId i = add_inst(f, b, OT_USEL, u, ur[k], op_imm(7));
        ir_set_src(f, i, USEL_upp, up[k]);
        store_ur(f, b, u);
    }
    for (unsigned k = 0; k < NUR; k++)
        store_ur(f, b, ur[k]);
    add_inst(f, b, OT_EXIT, (Operand){0}, (Operand){0}, (Operand){0});
    StoreLog before = {0}, after = {0};
    assert_true(ir_verify(f, &d, "test"));
    assert_true(eval_function(f, f->blocks.n, 10, &before));
    assert_true(pass_colour(f, &d) && pass_copies(f, &d) && pass_frame(f, &d) && ir_verify(f, &d, "frame"));
    assert_true(eval_function(f, f->blocks.n, 10, &after));
    assert_int_equal(before.at.n, 2 * (NUR + NUP));
    compare_logs(&before, &after, (RandomShape){.seed = 0}, 0);
    arena_free(&before.a);
    arena_free(&after.a);
    ir_module_free(m);
    str_free(&strings);
}

/* ---- occupancy ---- */

/* Registers of a kernel that stores many numbers, one after another. */
static unsigned registers(const char *target, unsigned opt_level) {
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    IrModule *module = ir_module_new(isa_target(target), &strings);
    module->opt_level = (uint8_t)opt_level;
    Function *f = ir_function_new(module, str_intern_z(&strings, "k"), true);
    BlockId b = ir_block_new(f);
    Operand kept[3]; /* the group of R1, which no other value can have, is full */
    for (unsigned k = 0; k < 3; k++) {
        kept[k] = ir_val(f, ir_value_new(f, RF_R));
        add_inst(f, b, OT_MOV, kept[k], op_imm(k), (Operand){0});
    }
    for (unsigned k = 0; k < 200; k++)
        store_ur(f, b, op_imm(k));
    for (unsigned k = 0; k < 3; k++)
        store_ur(f, b, kept[k]);
    add_inst(f, b, OT_EXIT, (Operand){0}, (Operand){0}, (Operand){0});
    assert_true(pass_colour(f, &d) && pass_copies(f, &d) && pass_frame(f, &d));
    unsigned n = highest_r(f) + 1 + isa_target_info(module->target)->reserved_regs;
    ir_module_free(module);
    str_free(&strings);
    return n;
}

/* Values are spread over R0 to R16 and no further (16 and not the 29 to 61 that would cost no warp either:
 * bench/README.md, "Quality of code"), on no target at the cost of a warp; at -O1 not at all. */
static void spreading(void **state) {
    (void)state;
    static const char *const targets[] = {"bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
    for (unsigned k = 0; k < sizeof targets / sizeof *targets; k++) {
        const Target *target = isa_target(targets[k]);
        const TargetInfo *info = isa_target_info(target);
        assert_true(registers(targets[k], 1) < 8);
        unsigned most = registers(targets[k], 2);
        assert_int_equal(most, 17 + info->reserved_regs);
        assert_int_equal(occupancy_warps(target, most, 0, 0), info->sm_warps);
    }
}

/* ---- the checker itself ---- */

/* Change one physical operand; false if the instruction has none that matters. */
static bool spoil(Function *f, const RaRecord *rec, uint64_t *rng) {
    BlockId b = f->layout.at[rng_next(rng) % f->layout.n];
    const Block *blk = ir_block(f, b);
    InstId id = blk->insts.at[rng_next(rng) % blk->insts.n];
    const Inst *i = ir_inst(f, id);
    if (i->op == IR_PARCOPY && id.i >= rec->ninsts) { /* forget one move */
        unsigned k = (unsigned)(rng_next(rng) % i->ndst);
        *ir_src(f, i, k) = *ir_dst(f, i, k);
        return true;
    }
    if (id.i >= rec->ninsts || !i->nsrc)
        return false;
    Operand *operand = ir_src(f, i, (unsigned)(rng_next(rng) % i->nsrc));
    if (operand->kind != OPK_REG || operand->file != RF_R || operand->value >= REG_RZ)
        return false;
    operand->value += operand->count ? operand->count : 1u; /* another register, aligned as before */
    return true;
}

/* A spill or reload of the function, and where it stands; false if there is none. */
static bool find_slot_inst(Function *f, const RaRecord *rec, unsigned op, uint64_t *rng, BlockId *block,
                           unsigned *at) {
    unsigned found = 0;
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id)
            if (ir_inst(f, id)->op == op && id.i < rec->ninsts && rng_next(rng) % ++found == 0) {
                *block = b;
                *at = AT(id);
            }
    return found > 0;
}

/* A reload takes another slot than its own (how is 0), or a store is forgotten. */
static bool spoil_slot(Function *f, RaRecord *rec, unsigned how, uint64_t *rng) {
    BlockId b = {0};
    unsigned at = 0;
    if (!find_slot_inst(f, rec, how == 0 ? IR_RELOAD : IR_SPILL, rng, &b, &at))
        return false;
    InstIds *insts = &ir_block(f, b)->insts;
    InstId id = insts->at[at];
    if (how == 0) { /* the record is what the checker takes the slot from */
        uint32_t *slot = &rec->ssa[ir_inst(f, id)->operand + 1].value;
        *slot = (*slot + 4) % f->spill_bytes;
        return f->spill_bytes > 4;
    }
    for (uint32_t k = 0; k < rec->phis.n; k++) /* of a constant that a phi gets only its presence is known */
        if (rec->phis.at[k].in_memory && rec->phis.at[k].slot == ir_src(f, ir_inst(f, id), 1)->value)
            return false;
    ir_remove_at(f, b, at);
    return true;
}

static void checker_notices_slots(void **state) {
    (void)state;
    unsigned tried[2] = {0}, seen[2] = {0};
    uint64_t rng = 7;
    for (unsigned k = 0; k < 300; k++) {
        StrTab strings = {0};
        Diags d = {0};
        Arena a = {0};
        RaRecord rec = {0};
        RandomShape shape = {.seed = k, .blocks = 8, .insts = 14, .vars = 30, .preds = 2};
        IrModule *module = random_module(isa_target("bru1"), &strings, shape);
        Function *f = module->funcs.at[0];
        f->reg_limit = 16;
        assert_true(ra_prepare(f, &d) && ra_spill(f, &a, &rec, &d) && ra_colour(f, &a, &rec, &d));
        assert_true(ra_check(f, &rec, &d));
        if (spoil_slot(f, &rec, k % 2, &rng)) {
            tried[k % 2]++;
            seen[k % 2] += !ra_check(f, &rec, &d);
        }
        arena_free(&a);
        ir_module_free(module);
        str_free(&strings);
    }
    assert_true(tried[0] > 100 && tried[1] > 50);
    assert_int_equal(seen[0], tried[0]);
    assert_int_equal(seen[1], tried[1]);
}

static void checker_notices(void **state) {
    (void)state;
    unsigned tried = 0, seen = 0;
    uint64_t rng = 5;
    for (unsigned k = 0; k < 200; k++) {
        StrTab strings = {0};
        Diags d = {0};
        Arena a = {0};
        RaRecord rec = {0};
        RandomShape shape = {
            .seed = k, .blocks = 6, .insts = 12, .vars = 14, .preds = 4, .vectors = true, .guards = true};
        IrModule *module = random_module(isa_target("bru1"), &strings, shape);
        Function *f = module->funcs.at[0];
        f->reg_limit = 24;
        assert_true(ra_prepare(f, &d) && ra_spill(f, &a, &rec, &d) && ra_colour(f, &a, &rec, &d));
        assert_true(ra_check(f, &rec, &d));
        if (spoil(f, &rec, &rng)) {
            tried++;
            seen += !ra_check(f, &rec, &d);
        }
        arena_free(&a);
        ir_module_free(module);
        str_free(&strings);
    }
    assert_true(tried > 50);
    if (seen != tried) /* a move nobody needs (a dead phi's) may be forgotten unnoticed */
        assert_true(seen * 10 >= tried * 9);
}

/* ---- parallel copies ---- */

/* All maps of n registers to n registers, with and without a scratch register, predicates with every choice
 * of negated sources: against direct simultaneous copying. Exchange by XOR cannot negate: such cases need
 * scratch. */
static void parallel_copies(void **state) {
    (void)state;
    enum { N = 4 };
    for (unsigned file = 0; file < 2; file++)
        for (unsigned scratch = 0; scratch < 2; scratch++)
            for (unsigned n = 0; n < (unsigned)(N * N * N * N) << (file && scratch ? N : 0); n++) {
                unsigned map = n % (N * N * N * N), negated = n / (N * N * N * N);
                StrTab strings = {0};
                Diags d = {.sink = print_diag};
                IrModule *m = ir_module_new(isa_target("bru1"), &strings);
                Function *f = ir_function_new(m, str_intern_z(&strings, "k"), true);
                BlockId b = ir_block_new(f);
                unsigned base = file ? 1 : 4;
                for (unsigned k = 0; k < N;
                     k++) { /* distinct contents; predicates: bits of the case's number */
                    InstId i = ir_inst_new(f, IR_COPY, 1, 1);
                    ir_set_dst(f, i, 0, op_reg((RegFile)file, base + k, 1));
                    ir_set_src(f, i, 0, op_imm(file ? (0x5a >> (k + map % 4)) & 1 : 100 + k));
                    ir_append(f, b, i);
                }
                InstId pc = ir_inst_new(f, IR_PARCOPY, N, N + (scratch ? 2 : 0));
                for (unsigned k = 0, rest = map; k < N; k++, rest /= N) {
                    ir_set_dst(f, pc, k, op_reg((RegFile)file, base + k, 1));
                    ir_set_src(
                        f, pc, k,
                        op_with(op_reg((RegFile)file, base + rest % N, 1), negated >> k & 1 ? OPM_NOT : 0));
                }
                if (scratch) {
                    ir_set_src(f, pc, N, op_reg(RF_R, 20, 1));
                    ir_set_src(f, pc, N + 1, op_reg(RF_P, 6, 1));
                }
                ir_append(f, b, pc);
                for (unsigned k = 0; k < N; k++) {
                    InstId copy = ir_inst_new(f, IR_COPY, 1, 1),
                           st = ir_inst_new(f, OT_STG, 0, isa_num_src(OT_STG));
                    ir_set_dst(f, copy, 0, op_reg(RF_R, 40, 1));
                    ir_set_src(f, copy, 0, op_reg((RegFile)file, base + k, 1));
                    ir_set_src(f, st, STG_rb, op_reg(RF_R, 40, 1));
                    ir_append(f, b, copy);
                    ir_append(f, b, st);
                }
                ir_append(f, b, ir_inst_new(f, OT_EXIT, 0, isa_num_src(OT_EXIT)));
                f->is_ssa = false;
                f->is_physical = true;
                StoreLog before = {0}, after = {0};
                assert_true(eval_function(f, f->blocks.n, 10, &before));
                assert_true(pass_copies(f, &d));
                assert_true(eval_function(f, f->blocks.n, 10, &after));
                compare_logs(&before, &after, (RandomShape){.seed = map}, scratch);
                assert_int_equal(before.at.n, 2 * N);
                arena_free(&before.a);
                arena_free(&after.a);
                ir_module_free(m);
                str_free(&strings);
            }
}

/* x = x + 1 under a guard, x = x * x, p = (x == 3 and p): the new value takes the old one's register, no move
 * is needed. */
static void guarded_updates(void **state) {
    (void)state;
    static const char text[] =
        "module bru1 opt=2 const=0\nfunc @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
        "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[laneid]\n  %p3, _ = ISETP(cmp=LT) %r1, "
        "%r2, PT, PT\n"
        "  @%p3 %r4, _, _ = IADD3 %r1, 0x1, RZ, !PT, !PT tied(%r1, _, _)\n"
        "  @!%p3 %r5, _, _ = IADD3 %r4, 0x1, RZ, !PT, !PT tied(%r4, _, _)\n"
        "  @%p3 %r6 = IMAD %r5, %r5, RZ, _ tied(%r5)\n"
        "  @%p3 %p7, _ = ISETP(cmp=EQ) %r6, 0x3, %p3, PT tied(%p3, _)\n"
        "  STG _, _, 0x0, %r6\n  @%p7 STG _, _, 0x4, %r2\n  EXIT _\n}\n";
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    Source source = {"t.mir", text, sizeof text - 1};
    IrModule *module = ir_load(&source, &strings, &d);
    assert_non_null(module);
    Function *f = module->funcs.at[0];
    assert_true(pass_colour(f, &d) && pass_copies(f, &d));
    const Block *b = ir_block(f, f->entry);
    unsigned moves = 0;
    for (unsigned p = 0; p < b->insts.n; p++)
        moves += ir_inst(f, b->insts.at[p])->op == OT_MOV || ir_inst(f, b->insts.at[p])->op == OT_PLOP3;
    assert_int_equal(moves, 0);
    ir_module_free(module);
    str_free(&strings);
}

/* Five counters that start at one zero, each updated from the one before it: every phi and what enters it on
 * the back edge are one web, and the five webs are five. A web of all would move each to its neighbour's
 * register. */
static void loop_without_copies(void **state) {
    (void)state;
    static const char text[] =
        "module sm_80 opt=2 const=0\n"
        "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
        "bb1: preds() succs(bb2)\n  %r1 = MOV RZ\n  %r2 = S2R SR[tid.x]\n  BRA _, _, bb2\n"
        "bb2: preds(bb1 bb2) succs(bb2 bb3)\n"
        "  %r3 = phi %r1, %r8\n  %r4 = phi %r1, %r9\n  %r5 = phi %r1, %r10\n  %r6 = phi %r1, %r11\n"
        "  %r7 = phi %r1, %r12\n"
        "  %r9 = IMAD %r4, %r2, %r3, _\n  %r10 = IMAD %r5, %r2, %r9, _\n  %r11 = IMAD %r6, %r2, %r10, _\n"
        "  %r12 = IMAD %r7, %r2, %r11, _\n  %r8, _, _ = IADD3 %r3, 0x1, RZ, !PT, !PT\n"
        "  %p13, _ = ISETP(cmp=LT) %r12, %r2, _, _\n  @%p13 BRA _, _, bb2\n  BRA _, _, bb3\n"
        "bb3: preds(bb2) succs()\n  STG _, _, 0x0, %r12\n  STG _, _, 0x4, %r8\n  EXIT _\n}\n";
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    Source source = {"t.mir", text, strlen(text)};
    IrModule *module = ir_load(&source, &strings, &d);
    assert_non_null(module);
    Function *f = module->funcs.at[0];
    assert_true(pass_colour(f, &d));
    unsigned header = 0, copies = 0;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (i->op == OT_ISETP)
                header = b.i;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            copies += i->op == IR_PARCOPY && (b.i == header || ir_block(f, b)->succs.at[0].i == header) &&
                      ir_block(f, b)->preds.n != 0; /* in the loop: not the entry */
    assert_true(header);
    assert_int_equal(copies, 0);
    ir_module_free(module);
    str_free(&strings);
}

/* Parallel copies that colouring leaves, and the number of blocks. */
static unsigned copies_of(const char *text, unsigned *blocks) {
    StrTab strings = {0};
    Diags d = {.sink = print_diag};
    Source source = {"t.mir", text, strlen(text)};
    IrModule *module = ir_load(&source, &strings, &d);
    assert_non_null(module);
    Function *f = module->funcs.at[0];
    ra_separate_updates(f); /* as pass_colour does first */
    assert_true(ir_verify(f, &d, "updates"));
    assert_true(pass_colour(f, &d));
    unsigned copies = 0;
    *blocks = 0;
    FOR_BLOCKS(f, b) {
        ++*blocks;
        FOR_INSTS(f, b, i)
            copies += i->op == IR_PARCOPY;
    }
    ir_module_free(module);
    str_free(&strings);
    return copies;
}

/* The old value of a counter is read behind its update, which can wait (%r5), or behind a use of the update,
 * so that the reader goes first (%r6), or behind a use of its carry: one register, no copy. */
static void late_updates(void **state) {
    (void)state;
    static const char *const body[] = {
        "  %r4 = SHF(dir=R hi=0x1) RZ, 0x1, %r3\n  %r5, _ = LOP3(lut=0xc0) %r3, %r2, RZ, _\n",
        "  %r4 = SHF(dir=R hi=0x1) RZ, 0x1, %r3\n  STG _, _, 0x8, %r4\n  %r5, _ = LOP3(lut=0xc0) %r3, %r2, "
        "RZ, _\n",
        "  %r4, %p7, _ = IADD3 %r3, 0x1, RZ, !PT, !PT\n  %r8, _, _ = IADD3(x=0x1) %r2, RZ, RZ, %p7, !PT\n"
        "  %r5, _ = LOP3(lut=0xc0) %r3, %r2, RZ, _\n  STG _, _, 0x8, %r8\n"};
    for (unsigned k = 0; k < sizeof body / sizeof *body; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "module sm_80 opt=2 const=0\n"
                 "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
                 "bb1: preds() succs(bb2)\n  %%r1 = S2R SR[laneid]\n  %%r2 = S2R SR[tid.x]\n  BRA _, _, bb2\n"
                 "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %%r3 = phi %%r1, %%r4\n%s"
                 "  %%p6, _ = ISETP(cmp=LT) %%r5, %%r2, _, _\n  @%%p6 BRA _, _, bb2\n  BRA _, _, bb3\n"
                 "bb3: preds(bb2) succs()\n  STG _, _, 0x0, %%r4\n  EXIT _\n}\n",
                 body[k]);
        unsigned blocks;
        assert_int_equal(copies_of(text, &blocks), 0);
        assert_int_equal(blocks, 3);
    }
}

/* The next value of a counter comes round the loop by a phi of two ways, and its old one is read behind the
 * update: one register, and no copy on either way. */
static void updates_by_ways(void **state) {
    (void)state;
    static const char text[] =
        "module sm_80 opt=2 const=0\n"
        "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
        "bb1: preds() succs(bb2)\n  %r1 = S2R SR[laneid]\n  %r2 = S2R SR[tid.x]\n  BRA _, _, bb2\n"
        "bb2: preds(bb1 bb4) succs(bb4 bb3)\n  %r3 = phi %r1, %r7\n"
        "  %r4, _, _ = IADD3 %r3, 0x1, RZ, !PT, !PT\n  %r5, _ = LOP3(lut=0xc0) %r3, %r2, RZ, _\n"
        "  %p6, _ = ISETP(cmp=LT) %r5, %r2, _, _\n  @%p6 BRA _, _, bb4\n  BRA _, _, bb3\n"
        "bb3: preds(bb2) succs(bb4)\n  %r8 = IMAD %r4, %r2, 0x1, _\n  BRA _, _, bb4\n"
        "bb4: preds(bb2 bb3) succs(bb2 bb5)\n  %r7 = phi %r4, %r8\n"
        "  %p9, _ = ISETP(cmp=LT) %r7, %r2, _, _\n  @%p9 BRA _, _, bb2\n  BRA _, _, bb5\n"
        "bb5: preds(bb4) succs()\n  STG _, _, 0x0, %r7\n  EXIT _\n}\n";
    unsigned blocks;
    assert_int_equal(copies_of(text, &blocks), 0);
    assert_int_equal(blocks, 5);
}

/* Both sides of a branch make the next value, one behind the other, and the second reads the old one: each is
 * made in its own lanes. Not where the first one's value is read, too, or the old one behind the second. */
static void sides_of_updates(void **state) {
    (void)state;
    static const struct {
        const char *body;
        bool copies;
    } cases[] = {
        {"  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r3\n  @%p6 %r4 = IMAD %r3, %r2, 0x1, _ tied(%r5)\n", false},
        {"  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r3\n  @!%p6 %r7 = IMAD %r3, %r2, 0x1, _ tied(%r5)\n"
         "  @%p8 %r4 = IMAD %r7, %r2, 0x1, _ tied(%r7)\n",
         false},
        {"  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r3\n  STG _, _, 0x8, %r5\n"
         "  @%p6 %r4 = IMAD %r3, %r2, 0x1, _ tied(%r5)\n",
         true},
        {"  %r5 = SHF(dir=R hi=0x1) RZ, 0x1, %r3\n  @%p6 %r4 = IMAD %r3, %r2, 0x1, _ tied(%r5)\n"
         "  STG _, _, 0x8, %r3\n",
         true},
    };
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "module sm_80 opt=2 const=0\n"
                 "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
                 "bb1: preds() succs(bb2)\n  %%r1 = S2R SR[laneid]\n  %%r2 = S2R SR[tid.x]\n"
                 "  %%p8, _ = ISETP(cmp=LT) %%r1, 0x5, _, _\n  BRA _, _, bb2\n"
                 "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %%r3 = phi %%r1, %%r4\n"
                 "  %%p6, _ = ISETP(cmp=LT) %%r3, %%r2, _, _\n%s"
                 "  %%p9, _ = ISETP(cmp=LT) %%r4, %%r2, _, _\n  @%%p9 BRA _, _, bb2\n  BRA _, _, bb3\n"
                 "bb3: preds(bb2) succs()\n  STG _, _, 0x0, %%r4\n  EXIT _\n}\n",
                 cases[k].body);
        unsigned blocks;
        if ((copies_of(text, &blocks) > 0) != cases[k].copies)
            fail_msg("case %u: %s\n%s", k, cases[k].copies ? "no copy" : "a copy", text);
    }
}

/* Two values that exchange their places in every round: the copies stand in front of the branch, which then
 * leads straight back. Behind the loop nobody reads them. */
static void copies_before_branch(void **state) {
    (void)state;
    static const char text[] =
        "module sm_80 opt=2 const=0\n"
        "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
        "bb1: preds() succs(bb2)\n  %r1 = S2R SR[laneid]\n  %r2 = S2R SR[tid.x]\n  BRA _, _, bb2\n"
        "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %r3 = phi %r1, %r4\n  %r4 = phi %r2, %r3\n"
        "  STG _, _, 0x0, %r3\n  %p6, _ = ISETP(cmp=LT) %r3, %r4, _, _\n  @%p6 BRA _, _, bb2\n"
        "  BRA _, _, bb3\nbb3: preds(bb2) succs()\n  EXIT _\n}\n";
    unsigned blocks;
    assert_true(copies_of(text, &blocks) > 0);
    assert_int_equal(blocks, 3);
}

/* A loop keeps its value of the last round, which nobody reads behind the update: it is copied in front of
 * that, and each has one register. Not where it is read behind the update, or behind the loop. */
static void kept_of_last_round(void **state) {
    (void)state;
    static const struct {
        const char *behind, *last;
        bool copies;
    } cases[] = {{"", "%r5", false},
                 {"  STG _, _, 0x8, %r4\n", "%r5", false},
                 {"  STG _, _, 0x8, %r3\n", "%r5", true},
                 {"", "%r4", true}};
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "module sm_80 opt=2 const=0\n"
                 "func @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n"
                 "bb1: preds() succs(bb2)\n  %%r1 = S2R SR[laneid]\n  %%r2 = S2R SR[tid.x]\n"
                 "  %%r7 = S2R SR[ctaid.x]\n  BRA _, _, bb2\n"
                 "bb2: preds(bb1 bb2) succs(bb2 bb3)\n  %%r3 = phi %%r1, %%r4\n  %%r4 = phi %%r2, %%r5\n"
                 "  STG _, _, 0x0, %%r3\n  %%r5 = LDS(sz=U8) %%r4, _, 0x0\n%s"
                 "  %%p6, _ = ISETP(cmp=LT) %%r5, %%r7, _, _\n  @%%p6 BRA _, _, bb2\n"
                 "  BRA _, _, bb3\nbb3: preds(bb2) succs()\n  STG _, _, 0x4, %s\n  EXIT _\n}\n",
                 cases[k].behind, cases[k].last);
        unsigned blocks;
        if ((copies_of(text, &blocks) > 0) != cases[k].copies)
            fail_msg("case %u: %s\n%s", k, cases[k].copies ? "no copy" : "a copy", text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_of_last_round),
        cmocka_unit_test(late_updates),
        cmocka_unit_test(updates_by_ways),
        cmocka_unit_test(sides_of_updates),
        cmocka_unit_test(copies_before_branch),
        cmocka_unit_test(scalars),
        cmocka_unit_test(predicates),
        cmocka_unit_test(vectors),
        cmocka_unit_test(calls),
        cmocka_unit_test(tight_calls),
        cmocka_unit_test(large),
        cmocka_unit_test(uniform_files),
        cmocka_unit_test(spreading),
        cmocka_unit_test(checker_notices),
        cmocka_unit_test(checker_notices_slots),
        cmocka_unit_test(parallel_copies),
        cmocka_unit_test(guarded_updates),
        cmocka_unit_test(loop_without_copies),
        cmocka_unit_test(hoisting),
        cmocka_unit_test(selecting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
