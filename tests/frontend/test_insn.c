/* What the parser makes of instructions: modifiers, defaults, operands, constants.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include "frontend/forms.h"

#define REGS                                                                                                 \
    ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .pred "       \
    "%p<9>;\n"                                                                                               \
    ".shared .u32 s[8];\n"

static PtxModule *module;
static const PtxInsn *insn(const char *line) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEADER ".entry k(.param .u64 p)\n{\n" REGS, line);
    ptx_free(module);
    module = parse(text);
    return &func(module, "k")->insns[0];
}
static int done(void **state) {
    (void)state;
    ptx_free(module);
    module = NULL;
    return 0;
}

static void arithmetic(void **state) {
    (void)state;
    const PtxInsn *i = insn("add.f32 %f1, %f2, 1.5;");
    assert_int_equal(i->op, PTX_ADD);
    assert_int_equal(i->rnd, RND_RN); /* the default of 9.7.3.3 */
    assert_int_equal(i->ntypes, 1);
    assert_int_equal(i->type[0], TY_F32);
    assert_int_equal(i->ndst, 1);
    assert_int_equal(i->operands[2].imm, 0x3FC00000);
    assert_int_equal(i->operands[2].imm_kind, IMM_F32);
    i = insn("fma.rz.ftz.sat.f32 %f1, %f2, 0f00000000, %f3;");
    assert_int_equal(i->rnd, RND_RZ);
    assert_int_equal(i->flags, PF_FTZ | PF_SAT);
    i = insn("add.f64 %g1, %g2, 0f3F800000;"); /* its bits, not its value: ptxas 13.0 */
    assert_int_equal(i->operands[2].imm_kind, IMM_F64);
    assert_true(i->operands[2].imm == 0x3F800000);
    i = insn("mad.wide.u32 %d1, %r1, 3, %d2;");
    assert_int_equal(i->sub, SUB_WIDE);
    i = insn("addc.cc.u32 %r1, %r2, 1;");
    assert_true(i->flags & PF_CC);
    i = insn("add.s32 %r1, %r2, 0xFFFFFFFE;");
    assert_int_equal(i->operands[2].imm, -2);
    i = insn("add.u32 %r1, %r2, -2;");
    assert_int_equal(i->operands[2].imm, 0xFFFFFFFE);
    i = insn("and.b16 %h1, %h2, -1;");
    assert_int_equal(i->operands[2].imm, 0xFFFF);
    i = insn("min.xorsign.abs.f32 %f1, %f2, %f3;");
    assert_true(i->flags & PF_XORSIGN_ABS);
    assert_int_equal(i->rnd, RND_NONE);
}

static void comparison(void **state) {
    (void)state;
    const PtxInsn *i = insn("setp.ltu.and.ftz.f32 %p1|%p2, %f1, %f2, !%p3;");
    assert_int_equal(i->cmp, CMP_LTU);
    assert_int_equal(i->bop, BOP_AND);
    assert_int_equal(i->ndst, 2);
    assert_int_equal(i->noperands, 5);
    assert_true(i->operands[4].not_);
    i = insn("setp.lo.u32 %p1, %r1, 3;");
    assert_int_equal(i->cmp, CMP_LO);
    assert_int_equal(i->ndst, 1);
    i = insn("set.gt.u32.f32 %r1, %f1, %f2;");
    assert_int_equal(i->type[0], TY_U32);
    assert_int_equal(i->type[1], TY_F32);
    i = insn("setp.eq.s32 _|%p2, %r1, %r2;");
    assert_int_equal(i->operands[0].kind, PO_SINK);
    i = insn("shf.r.clamp.b32 %r1, %r2, %r3, 31;");
    assert_int_equal(i->sub, SUB_R);
    assert_int_equal(i->sub2, SUB_CLAMP);
}

static void memory(void **state) {
    (void)state;
    const PtxInsn *i = insn("ld.global.ca.v4.f32 {%f1, _, %f3, %f4}, [%d1+-16];");
    assert_int_equal(i->space, SP_GLOBAL);
    assert_int_equal(i->cop, COP_CA);
    assert_int_equal(i->vec, 4);
    assert_int_equal(i->sem, SEM_WEAK);
    assert_int_equal(i->operands[0].kind, PO_VEC);
    assert_int_equal(i->operands[0].nvec, 4);
    assert_int_equal(i->operands[0].vec[1].kind, PO_SINK);
    assert_int_equal(i->operands[1].kind, PO_ADDR);
    assert_int_equal(i->operands[1].imm, -16);
    i = insn("ld.u32 %r1, [s+8];"); /* no space: the variable's */
    assert_int_equal(i->space, SP_SHARED);
    assert_int_equal(i->operands[1].reg, 0);
    assert_int_not_equal(i->operands[1].sym, 0);
    i = insn("st.shared.u32 s[3], %r1;");
    assert_int_equal(i->ndst, 0);
    assert_int_equal(i->operands[0].kind, PO_ADDR);
    assert_int_equal(i->operands[0].imm, 12);
    i = insn("ld.acquire.sys.global.u64 %d1, [%d2];");
    assert_int_equal(i->sem, SEM_ACQUIRE);
    assert_int_equal(i->scope, SCOPE_SYS);
    i = insn("ld.global.nc.L2::cache_hint.u32 %r1, [%d1], %d2;");
    assert_int_equal(i->sem, SEM_NC);
    assert_true(i->flags & PF_CACHE_HINT);
    i = insn("ld.global.u32 %r1, [4096];");
    assert_true(!i->operands[1].reg && !i->operands[1].sym);
    assert_int_equal(i->operands[1].imm, 4096);
    i = insn("atom.shared.cas.b32 %r1, [%r2], 0, 1;");
    assert_int_equal(i->atom, ATOM_CAS);
    assert_int_equal(i->sem, SEM_RELAXED);
    assert_int_equal(i->scope, SCOPE_GPU);
    i = insn("st.volatile.global.u8 [%d1], %r1;");
    assert_int_equal(i->sem, SEM_VOLATILE);
    i = insn("cp.async.cg.shared.global [%r1], [%d1], 16;");
    assert_int_equal(i->sub, SUB_ASYNC);
    assert_int_equal(i->space, SP_SHARED);
    assert_int_equal(i->space2, SP_GLOBAL);
}

static void moves(void **state) {
    (void)state;
    const PtxInsn *i = insn("mov.b64 {%r1, %r2}, %d1;");
    assert_int_equal(i->operands[0].kind, PO_VEC);
    assert_int_equal(i->ndst, 1);
    i = insn("mov.u32 %r1, %ctaid.z;");
    assert_int_equal(i->operands[1].kind, PO_SREG);
    assert_int_equal(i->operands[1].sreg, SR_CTAID);
    assert_int_equal(i->operands[1].component, 2);
    i = insn("mov.u32 %r1, %envreg31;");
    assert_int_equal(i->operands[1].sreg, SR_ENVREG);
    assert_int_equal(i->operands[1].component, 31);
    i = insn("mov.u32 %r1, s+4;");
    assert_int_equal(i->operands[1].kind, PO_SYM);
    assert_int_equal(i->operands[1].imm, 4);
    i = insn("mov.b32 %r1, 0f3F800000;");
    assert_int_equal(i->operands[1].imm_kind, IMM_F32);
    assert_int_equal(i->operands[1].imm, 0x3F800000);
    i = insn("cvt.rzi.sat.s8.f32 %r1, %f1;");
    assert_int_equal(i->rnd, RND_RZI);
    assert_int_equal(i->type[0], TY_S8);
    assert_int_equal(i->type[1], TY_F32);
    i = insn("cvta.to.shared.u64 %d1, %d2;");
    assert_int_equal(i->sub, SUB_TO);
    assert_int_equal(i->space, SP_SHARED);
    i = insn("mov .u32 %r1, %r2;"); /* a blank before the type */
    assert_int_equal(i->type[0], TY_U32);
    i = insn("add.f32.rm %f1, %f2, %f3;"); /* modifiers in another order */
    assert_int_equal(i->rnd, RND_RM);
}

static void collectives(void **state) {
    (void)state;
    const PtxInsn *i = insn("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 0x1f, 0xffffffff;");
    assert_true(i->flags & PF_SYNC);
    assert_int_equal(i->sub, SUB_BFLY);
    assert_int_equal(i->ndst, 2);
    assert_int_equal(i->operands[5].imm, 0xffffffff);
    i = insn("vote.sync.ballot.b32 %r1, !%p1, -1;");
    assert_int_equal(i->sub, SUB_BALLOT);
    assert_int_equal(i->operands[2].imm, 0xffffffff);
    i = insn("bar.sync 1, 64;");
    assert_int_equal(i->sub, SUB_SYNC);
    assert_true(i->flags & PF_ALIGNED);
    i = insn("barrier.sync 1;");
    assert_false(i->flags & PF_ALIGNED);
    i = insn("bar.red.or.pred %p1, 0, 32, !%p2;");
    assert_int_equal(i->sub, SUB_RED);
    assert_int_equal(i->bop, BOP_OR);
    assert_int_equal(i->noperands, 4);
    i = insn("bar.warp.sync 0xff;");
    assert_int_equal(i->sub, SUB_WARP);
    i = insn("match.all.sync.b64 %r1|%p1, %d1, -1;");
    assert_int_equal(i->sub, SUB_ALL);
    i = insn("membar.gl;");
    assert_int_equal(i->scope, SCOPE_GPU);
    i = insn("barrier.cluster.arrive.aligned;");
    assert_int_equal(i->sub, SUB_ARRIVE);
    assert_int_equal(i->sub2, SUB_CLUSTER);
    assert_int_equal(i->sem, SEM_RELEASE);
    i = insn("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, "
             "{%f1,%f2,%f3,%f4};");
    assert_int_equal(i->shape[0], 16);
    assert_int_equal(i->shape[2], 8);
    assert_int_equal(i->ntypes, 4);
    assert_int_equal(i->type[1], TY_F16);
    i = insn("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r3,%r4}, "
             "{%r1,%r2,%r3,%r4};");
    assert_int_equal(i->sub, SUB_ROW);
    assert_int_equal(i->sub2, SUB_COL);
}

/* The section of a form begins with its opcode's name; every opcode has a form. */
static void form_sections(void **state) {
    (void)state;
    bool seen[PTX_OP_COUNT] = {false};
    for (unsigned form = 1; form < form_count(); form++) {
        const char *name = ptx_op_name(form_op(form)), *section = form_section(form);
        seen[form_op(form)] = true;
        assert_true(strncmp(section, "9.7.", 4) == 0);
        assert_non_null(strchr(section, ' '));
        assert_int_equal(strncmp(strchr(section, ' ') + 1, name, strlen(name)), 0);
    }
    for (unsigned op = 1; op < PTX_OP_COUNT; op++)
        assert_true(seen[op]);
}

/* Where several sections describe one opcode, the form names its own. */
static void sections_of_types(void **state) {
    (void)state;
    assert_string_equal(ptx_section(insn("add.s32 %r1, %r2, %r3;")), "9.7.1.1 add");
    assert_string_equal(ptx_section(insn("add.cc.u32 %r1, %r2, %r3;")), "9.7.2.1 add.cc");
    assert_string_equal(ptx_section(insn("add.rn.f32 %f1, %f2, %f3;")), "9.7.3.3 add");
    assert_string_equal(ptx_section(insn("add.f16 %h1, %h2, %h3;")), "9.7.4.1 add");
    assert_string_equal(ptx_section(insn("min.f64 %g1, %g2, %g3;")), "9.7.3.11 min");
    assert_string_equal(ptx_section(insn("min.u64 %d1, %d2, %d3;")), "9.7.1.12 min");
    assert_string_equal(ptx_section(insn("abs.f16 %h1, %h2;")), "9.7.4.6 abs");
    assert_string_equal(ptx_section(insn("setp.lt.f32 %p1, %f1, %f2;")), "9.7.6.2 setp");
    assert_string_equal(ptx_section(insn("setp.lt.f16 %p1, %h1, %h2;")), "9.7.7.2 setp");
    assert_string_equal(ptx_section(insn("bar.warp.sync -1;")), "9.7.13.2 bar.warp.sync");
}

/* What PTX ISA says that a modifier is where the text leaves it out: the statement is the one that spells it.
 * Only of a product or sum does it matter who chose the rounding: the compiler may fuse it if the text leaves
 * it out (9.7.3.3 add, 9.7.3.4 sub, 9.7.3.5 mul). */
static void defaults(void **state) {
    (void)state;
    static const struct {
        const char *left_out, *spelled;
        bool may_fuse;
    } rows[] = {
        {"add.f32 %f1,%f2,%f3;", "add.rn.f32 %f1,%f2,%f3;", true},
        {"sub.ftz.f32 %f1,%f2,%f3;", "sub.rn.ftz.f32 %f1,%f2,%f3;", true},
        {"mul.f32 %f1,%f2,%f3;", "mul.rn.f32 %f1,%f2,%f3;", true},
        {"add.f64 %g1,%g2,%g3;", "add.rn.f64 %g1,%g2,%g3;", true},
        {"sub.f64 %g1,%g2,%g3;", "sub.rn.f64 %g1,%g2,%g3;", true},
        {"mul.f64 %g1,%g2,%g3;", "mul.rn.f64 %g1,%g2,%g3;", true},
        {"add.f16 %h1,%h2,%h3;", "add.rn.f16 %h1,%h2,%h3;", true},
        {"sub.f16x2 %r1,%r2,%r3;", "sub.rn.f16x2 %r1,%r2,%r3;", true},
        {"mul.bf16 %h1,%h2,%h3;", "mul.rn.bf16 %h1,%h2,%h3;", true},
        {"ld.global.u32 %r1,[%d1];", "ld.weak.global.u32 %r1,[%d1];", false},
        {"st.shared.u32 [%d1],%r1;", "st.weak.shared.u32 [%d1],%r1;", false},
        {"atom.global.add.u32 %r1,[%d1],%r2;", "atom.relaxed.gpu.global.add.u32 %r1,[%d1],%r2;", false},
        {"atom.acquire.add.u32 %r1,[%d1],%r2;", "atom.acquire.gpu.add.u32 %r1,[%d1],%r2;", false},
        {"atom.cta.add.u32 %r1,[%d1],%r2;", "atom.relaxed.cta.add.u32 %r1,[%d1],%r2;", false},
        {"red.global.add.u32 [%d1],%r2;", "red.relaxed.gpu.global.add.u32 [%d1],%r2;", false},
        {"fence.cta;", "fence.acq_rel.cta;", false},
        {"fence.sys;", "fence.acq_rel.sys;", false},
        {"barrier.cluster.arrive;", "barrier.cluster.arrive.release;", false},
        {"barrier.cluster.wait;", "barrier.cluster.wait.acquire;", false},
        {"mbarrier.arrive.b64 %d1,[%d2];", "mbarrier.arrive.release.cta.b64 %d1,[%d2];", false},
        {"mbarrier.test_wait.b64 %p1,[%d2],%d3;", "mbarrier.test_wait.acquire.cta.b64 %p1,[%d2],%d3;", false},
    };
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        PtxInsn one = *insn(rows[k].left_out), other = *insn(rows[k].spelled);
        if (one.rnd != other.rnd || one.sem != other.sem || one.scope != other.scope ||
            one.sub != other.sub || (one.flags & ~(uint32_t)PF_CONTRACT) != other.flags)
            fail_msg("%s is not %s", rows[k].left_out, rows[k].spelled);
        if (((one.flags & PF_CONTRACT) != 0) != rows[k].may_fuse)
            fail_msg("%s: may be fused?", rows[k].left_out);
    }
    assert_true(insn("bar.sync 0;")->flags & PF_ALIGNED); /* 9.7.13.1: bar is barrier.aligned */
    assert_false(insn("barrier.sync 0;")->flags & PF_ALIGNED);
    assert_int_equal(insn("membar.gl;")->sem, SEM_SC); /* 9.7.13.4: a synonym of fence.sc */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(arithmetic, done),
        cmocka_unit_test_teardown(comparison, done),
        cmocka_unit_test_teardown(memory, done),
        cmocka_unit_test_teardown(moves, done),
        cmocka_unit_test_teardown(collectives, done),
        cmocka_unit_test_teardown(defaults, done),
        cmocka_unit_test(form_sections),
        cmocka_unit_test_teardown(sections_of_types, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
