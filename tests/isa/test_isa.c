/* Look-ups, choice of the opcode, properties of the targets.
 * SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include "isa/machine/occupancy.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void test_targets(void **state) {
    (void)state;
    static const char *const names[] = {"bru1", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};
    for (unsigned i = 0; i < 7; i++)
        assert_string_equal(isa_target_name(isa_targets[i]), names[i]);
    assert_null(isa_targets[7]);
    assert_null(isa_target("sm_35"));
    for (unsigned i = 0; isa_targets[i]; i++)
        assert_true(isa_target_info(isa_targets[i])->is_made &&
                    isa_target_info(isa_targets[i])->num_regs[RF_UR] == NUM_UR);
    /* read and written only */
    assert_null(isa_target("sm_100"));
    assert_non_null(isa_any_target("sm_100"));
    assert_false(isa_target_info(isa_any_target("sm_120"))->is_made);
    assert_ptr_equal(isa_any_target("sm_90"), isa_target("sm_90"));
    const TargetInfo *info = isa_target_info(isa_target("bru1")),
                     *target_info = isa_target_info(isa_target("sm_80"));
    assert_int_equal(info->branch_unit_bytes, 16);
    assert_int_equal(target_info->branch_unit_bytes, 4);
    assert_int_equal(info->elf_machine, 0x4844);
    assert_int_equal(target_info->elf_machine, 190);
    assert_int_equal(target_info->elf_flags, 0x00500550);
    assert_int_equal(info->param_base_bytes, 0x160);
    assert_int_equal(isa_target_info(isa_target("sm_90"))->param_base_bytes, 0x210);
    assert_int_equal(info->num_regs[RF_R], 255);
    assert_int_equal(info->num_regs[RF_P], 7);
    assert_int_equal(info->num_regs[RF_B], 16);
    assert_true(info->has_yield_fairness && !target_info->has_yield_fairness);
}

/* CUDA C++ Programming Guide, technical specifications by compute capability; NVIDIA's occupancy calculator.
 */
static void test_occupancy(void **state) {
    (void)state;
    static const struct {
        const char *target;
        uint32_t regs, shared_bytes, block_threads, warps;
    } rows[] = {
        {"sm_75", 32, 0, 256, 32},     {"sm_80", 32, 0, 256, 64},     {"sm_86", 32, 0, 256, 48},
        {"sm_80", 33, 0, 256, 48},     {"sm_80", 64, 0, 1024, 32},    {"sm_80", 65, 0, 1024, 0},
        {"sm_86", 16, 0, 32, 16},      {"sm_89", 16, 0, 32, 24},      {"sm_90", 16, 0, 32, 32},
        {"sm_86", 16, 0, 33, 32},      {"sm_80", 16, 48128, 256, 24}, {"sm_86", 16, 48128, 256, 16},
        {"sm_75", 16, 32768, 256, 16}, {"sm_90", 255, 0, 0, 8},       {"sm_80", 33, 0, 0, 48},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (occupancy_warps(isa_target(rows[i].target), rows[i].regs, rows[i].shared_bytes,
                            rows[i].block_threads) != rows[i].warps)
            fail_msg("row %zu: %u warps", i,
                     occupancy_warps(isa_target(rows[i].target), rows[i].regs, rows[i].shared_bytes,
                                     rows[i].block_threads));
    assert_int_equal(occupancy_regs(isa_target("sm_80"), 1024), 64);
    assert_int_equal(occupancy_regs(isa_target("sm_80"), 640), 96); /* 102 in steps of 8 */
    assert_int_equal(occupancy_regs(isa_target("sm_80"), 65537), 0);
}

static void test_limits(void **state) {
    (void)state;
    static const struct {
        const char *target;
        uint32_t shared_kib;
    } rows[] = {{"bru1", 227}, {"sm_75", 64}, {"sm_80", 163}, {"sm_86", 99}, {"sm_89", 99}, {"sm_90", 227}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const TargetInfo *info = isa_target_info(isa_target(rows[i].target));
        assert_int_equal(info->max_shared_bytes, rows[i].shared_kib * 1024);
        assert_int_equal(info->max_static_shared_bytes, i ? 48 * 1024 : 227 * 1024);
        assert_int_equal(info->latency, i == 1 ? Latency_F75 : i == 5 ? Latency_F90 : Latency_F80);
    }
    assert_string_equal(isa_target_names, "bru1, sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a");
}

static void test_sregs(void **state) {
    (void)state;
    const Target *t = isa_target("bru1");
    assert_int_equal(isa_sreg_number(t, "tid.x"), 0x21);
    assert_int_equal(isa_sreg_number(t, "ctaid.z"), 0x27);
    assert_int_equal(isa_sreg_number(t, "laneid"), 0);
    assert_int_equal(isa_sreg_number(t, "clock.lo"), 0x50);
    assert_int_equal(isa_sreg_number(t, "cgactaid"), -1);
    assert_int_equal(isa_sreg_number(isa_target("sm_90"), "cgactaid"), 0x88);
    assert_string_equal(isa_sreg_name(t, 0x3b), "lanemask_gt");
    assert_null(isa_sreg_name(t, 0x99));
    assert_int_equal(isa_sreg_varies(t, (unsigned)isa_sreg_number(t, "tid.x")), ISA_VARIES_LANE);
    assert_int_equal(isa_sreg_varies(t, (unsigned)isa_sreg_number(t, "ctaid.x")), ISA_VARIES_WARP);
    assert_int_equal(isa_sreg_varies(t, (unsigned)isa_sreg_number(t, "smid")), ISA_VARIES_MOVES);
    assert_int_equal(isa_sreg_varies(t, (unsigned)isa_sreg_number(t, "clock")), ISA_VARIES_TIME);
    assert_int_equal(isa_sreg_varies(t, 0x99), ISA_VARIES_TIME);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(isa_optype_name(OT_IADD3), "IADD3");
    assert_int_equal(isa_optype_find("WARPSYNC"), OT_WARPSYNC);
    assert_int_equal(isa_optype_find("NOSUCH"), 0);
    assert_string_equal(isa_optype_name(60000), "?");
    assert_true(isa_target_has(isa_target("bru1"), OT_RTT));
    assert_false(isa_target_has(isa_target("sm_80"), OT_RTT));
    assert_false(isa_target_has(isa_target("sm_90"), OT_IMNMX));
    assert_true(isa_has_effect(OT_BSYNC, ISA_EFFECT_BREG_READ));
    assert_false(isa_has_effect(OT_IADD3, ISA_EFFECT_BRANCH));
}

/* sm_90 has no mask in the word: its WARPSYNC.ALL means all lanes, and every other mask stands in a register
 * (ptxas: tests/isa/words.txt). */
static void test_implied(void **state) {
    (void)state;
    MachInst sync = isa_inst(OT_WARPSYNC);
    uint64_t word[2];
    char error[ISA_ERROR_BYTES];
    const Target *hopper = isa_target("sm_90");
    sync.guard = op_pt();
    sync.src[WARPSYNC_pp] = op_pt();
    sync.src[WARPSYNC_rb] = op_imm(UINT32_MAX);
    sync.opcode = (uint16_t)isa_select_opcode(hopper, &sync);
    assert_true(isa_encode(hopper, &sync, word, error));
    assert_int_equal(word[0], 0x7948);
    assert_true(isa_decode(hopper, word, &sync, error));
    assert_int_equal(sync.src[WARPSYNC_rb].kind, OPK_IMM);
    assert_int_equal(sync.src[WARPSYNC_rb].value, UINT32_MAX);
    sync.src[WARPSYNC_rb] = op_imm(3);
    assert_false(isa_encode(hopper, &sync, word, error));
    assert_int_equal(isa_select_opcode(hopper, &sync), 0);
    assert_int_not_equal(isa_select_opcode(isa_target("sm_80"), &sync), 0);
}

/* What nothing that others see of memory moves across: PTX ISA orders memory at barriers, also of a warp
 * (9.7.13.1 to 9.7.13.3), fences (9.7.13.4) and what counts copies (9.7.9.25); a callee may do any of it.
 * What a surface's access touches no register says, so it stays where it is, and what a warp group's product
 * reads of shared memory only a descriptor (9.7.15.5). No other operation does. */
static void test_memory_order(void **state) {
    (void)state;
    static const char *const orders[] = {"BAR",
                                         "BAR_RED",
                                         "WARPSYNC",
                                         "WARPSYNC_COLLECTIVE",
                                         "CALL",
                                         "MEMBAR",
                                         "LDGDEPBAR",
                                         "DEPBAR",
                                         "DEPBAR_SET",
                                         "UCGABAR_ARV",
                                         "UCGABAR_WAIT",
                                         "CGAERRBAR",
                                         "ERRBAR",
                                         "CCTL",
                                         "CCTLL",
                                         "FENCE_VIEW_ASYNC",
                                         "SULD",
                                         "SUST",
                                         "SURED",
                                         "SYNCS_CCTL",
                                         "UTMACMDFLUSH",
                                         "HGMMA",
                                         "QGMMA",
                                         "IGMMA",
                                         "BGMMA",
                                         "HGMMA_SP",
                                         "QGMMA_SP",
                                         "IGMMA_SP",
                                         "WARPGROUP_ARRIVE",
                                         "WARPGROUP_DEPBAR",
                                         "SUST_P"};
    unsigned found = 0;
    for (unsigned op = 1; op < OT_COUNT; op++) {
        bool listed = false;
        for (unsigned k = 0; k < sizeof orders / sizeof *orders; k++)
            listed |= !strcmp(isa_optype_name(op), orders[k]);
        found += listed;
        if (listed != ((isa_traits(op)->effects & ISA_EFFECT_ORDER) != 0))
            fail_msg("%s", isa_optype_name(op));
    }
    assert_int_equal(found, sizeof orders / sizeof *orders);
}

static void test_columns(void **state) {
    (void)state;
    const OpTraits *ldg = isa_traits(OT_LDG), *red = isa_traits(OT_RED), *isetp = isa_traits(OT_ISETP);
    assert_int_equal(ldg->effects, ISA_EFFECT_READ);
    assert_int_equal(ldg->space, ISA_SPACE_GLOBAL);
    /* LDG.E.EF.LTC128B: where the line stays; not what is loaded */
    uint32_t hints = MSET(LDG, evict, Evict_EF) ^ MSET(LDG, ltc, L2Prefetch_LTC128B);
    assert_int_not_equal(hints, 0);
    assert_int_equal(hints & ~ldg->hints, 0);
    assert_int_equal(ldg->hints & (uint32_t)(LDG_sz_MASK << LDG_sz_LO | LDG_order_MASK << LDG_order_LO), 0);
    assert_int_equal(isetp->hints, 0);
    MachInst load = isa_inst(OT_LDG);
    uint32_t bits = 0;
    assert_int_equal(isa_modifier(&load, "sz", &bits), MemSz_32);
    assert_int_equal(bits, (uint32_t)LDG_sz_MASK << LDG_sz_LO);
    load.mods = MSET(LDG, sz, MemSz_128);
    assert_int_equal(isa_modifier(&load, "sz", &bits), MemSz_128);
    assert_int_equal(isa_modifier(&load, "bop", &bits), 0);
    assert_int_equal(ldg->address[0], LDG_ra);
    assert_int_equal(ldg->address[1], LDG_urb);
    assert_int_equal(ldg->address[2], LDG_offset);
    assert_int_equal(red->effects, ISA_EFFECT_WRITE | ISA_EFFECT_ATOMIC);
    assert_int_equal(isa_traits(OT_LDC)->effects, 0);
    assert_int_equal(isa_traits(OT_ATOMS_CAS)->effects,
                     ISA_EFFECT_READ | ISA_EFFECT_WRITE | ISA_EFFECT_ATOMIC | ISA_EFFECT_SWAP);
    assert_false(isa_has_effect(OT_ATOMS, ISA_EFFECT_SWAP));
    assert_int_equal(isa_traits(OT_SHFL)->zero, ISA_ZERO_NUMBER);
    assert_int_equal(isa_traits(OT_IADD3)->zero, ISA_ZERO_RZ);
    assert_int_equal(isa_traits(OT_BAR)->timing, ISA_TIMING_DRAINS | ISA_TIMING_DRAINS_NOW);
    assert_int_equal(isa_traits(OT_LDS)->timing, ISA_TIMING_NONE);
    /* a byte without sign leaves 24 bits 0; a constant's are not known to be of a load */
    assert_int_equal(isa_loaded_zeros(OT_LDS, MSET(LDS, sz, MemSz_U8)), 0xffffff00);
    assert_int_equal(isa_loaded_zeros(OT_LDG, MSET(LDG, sz, MemSz_U16)), 0xffff0000);
    assert_int_equal(isa_loaded_zeros(OT_LDG, MSET(LDG, sz, MemSz_S16)), 0);
    assert_int_equal(isa_loaded_zeros(OT_LD, MSET(LD, sz, MemSz_64)), 0);
    assert_int_equal(isa_loaded_zeros(OT_LDC, MSET(LDC, sz, MemSz_U8)), 0);
    assert_int_equal(isa_loaded_zeros(OT_STS, MSET(STS, sz, MemSz_U8)), 0);
    assert_int_equal(isa_traits(OT_VABSDIFF)->unit, ISA_UNIT_ALU);
    assert_int_equal(isa_traits(OT_LDS)->queue, ISA_QUEUE_SHARED);
    assert_int_equal(isa_traits(OT_ATOMS_CAS)->queue, ISA_QUEUE_SHARED);
    assert_int_equal(isa_traits(OT_MUFU)->exact, ISA_EXACT_APPROX);
    assert_int_equal(isa_traits(OT_HMMA)->lanes, ISA_LANES_COLLECTIVE);
    assert_int_equal(isa_traits(OT_UISETP)->lanes, ISA_LANES_WARP);
    assert_int_equal(isa_traits(OT_EXIT)->guard, ISA_GUARD_LANES);
    assert_int_equal(isetp->combines_src, ISETP_pp);
    assert_int_equal(isetp->combines_dst, ISETP_pv);
    assert_int_equal(isa_combine_op(OT_ISETP, 0), BoolOp_AND);
    assert_int_equal(isa_combine_op(OT_ISETP, MSET(ISETP, bop, BoolOp_XOR)), BoolOp_XOR);
    assert_int_equal(isa_combine_op(OT_HSETP2, MSET(HSETP2, bop, BoolOp_OR)), BoolOp_OR);
    assert_int_equal(isa_traits(OT_HSETP2)->combines_dst, ISA_NO_SLOT);
    assert_int_equal(isa_combine_op(OT_IADD3, 0), -1);
    assert_int_equal(isa_traits(OT_BRA)->second_guard, BRA_pp);
}

static void test_modifiers(void **state) {
    (void)state;
    uint32_t m = MSET(ISETP, cmp, ICmp_GE) | MSET(ISETP, sign, ISign_U32);
    assert_int_equal(MGET(ISETP, cmp, m), ICmp_GE);
    assert_int_equal(MGET(ISETP, sign, m), ISign_U32);
    assert_int_equal(MGET(ISETP, bop, m), BoolOp_AND);
    assert_int_equal(MGET(ISETP, sign, 0), ISign_S32); /* 0 is all defaults */
    assert_int_equal(MGET(LDG, sz, 0), MemSz_32);
    m = MPUT(ISETP, cmp, m, ICmp_LT);
    assert_int_equal(MGET(ISETP, cmp, m), ICmp_LT);
    assert_int_equal(MGET(ISETP, sign, m), ISign_U32);
    bool found = false;
    for (unsigned i = 0; i < isa_num_mods(OT_ISETP); i++)
        if (!strcmp(isa_mod_info(OT_ISETP, i).name, "cmp")) {
            found = true;
            assert_string_equal(isa_mod_value_name(OT_ISETP, i, ICmp_NE), "NE");
            assert_int_equal(isa_mod_value(OT_ISETP, i, "LE"), ICmp_LE);
            assert_int_equal(isa_mod_value(OT_ISETP, i, "XX"), -1);
        }
    assert_true(found);
}

static void test_slots(void **state) {
    (void)state;
    const Target *t = isa_target("sm_80");
    assert_int_equal(isa_num_dst(OT_IADD3), 3);
    assert_int_equal(isa_num_src(OT_IADD3), 5);
    IsaSlot s = isa_src_slot(t, OT_IADD3, IADD3_rb);
    assert_string_equal(s.name, "rb");
    assert_int_equal(s.file, RF_R);
    assert_int_equal(s.kinds, 1 << OPK_REG | 1 << OPK_IMM | 1 << OPK_CMEM);
    assert_true(s.mods & OPM_NEG);
    assert_int_equal(isa_dst_slot(t, OT_IADD3, IADD3_pu).file, RF_P);
    assert_int_equal(isa_src_slot(isa_target("bru1"), OT_BSSY, BSSY_breg).file, RF_B);
    MachInst in = isa_inst(OT_LDG);
    in.mods = MSET(LDG, sz, MemSz_128);
    in.src[LDG_ra].mods = OPM_WIDE64;
    assert_int_equal(isa_dst_regs(t, &in, LDG_rd), 4);
    assert_int_equal(isa_src_regs(t, &in, LDG_ra), 2);
    in.mods = MSET(LDG, sz, MemSz_U8);
    assert_int_equal(isa_dst_regs(t, &in, LDG_rd), 1);
}

static void test_select(void **state) {
    (void)state;
    const Target *t = isa_target("sm_80");
    MachInst in = isa_inst(OT_FFMA);
    in.dst[0] = op_reg(RF_R, 0, 1);
    in.src[FFMA_ra] = op_reg(RF_R, 1, 1);
    in.src[FFMA_rb] = op_reg(RF_R, 2, 1);
    in.src[FFMA_rc] = op_reg(RF_R, 3, 1);
    assert_int_equal(isa_select_opcode(t, &in), OC_FFMA_R);
    in.src[FFMA_rb] = op_imm(0x3f800000);
    assert_int_equal(isa_select_opcode(t, &in), OC_FFMA_I);
    in.src[FFMA_rb] = op_cmem(0, 0x160);
    assert_int_equal(isa_select_opcode(t, &in), OC_FFMA_C);
    in.src[FFMA_rb] = op_reg(RF_R, 2, 1);
    in.src[FFMA_rc] = op_imm(0x3f800000);
    assert_int_equal(isa_select_opcode(t, &in), OC_FFMA_RI);
    in.src[FFMA_rb] = op_imm(0); /* two immediates: nothing takes them */
    assert_int_equal(isa_select_opcode(t, &in), 0);
    in.src[FFMA_rb] = (Operand){OPK_VAL, RF_R, 1, 0, 77}; /* before register allocation */
    assert_int_equal(isa_select_opcode(t, &in), OC_FFMA_RI);
    in = isa_inst(OT_LDG);
    in.src[LDG_offset] = op_imm(0x7fffff);
    assert_int_equal(isa_select_opcode(t, &in), OC_LDG_UR);
    in.src[LDG_offset] = op_imm(0x800000); /* 24 bits, signed */
    assert_int_equal(isa_select_opcode(t, &in), 0);
}

/* Words of public listings. */
static void test_known_words(void **state) {
    (void)state;
    const Target *t = isa_target("sm_80");
    char error[ISA_ERROR_BYTES];
    uint64_t w[2];
    MachInst in = isa_inst(OT_ISETP);
    in.mods = MSET(ISETP, cmp, ICmp_GE) | MSET(ISETP, sign, ISign_U32);
    in.dst[ISETP_pu] = op_reg(RF_P, 0, 1);
    in.src[ISETP_ra] = op_reg(RF_R, 0, 1);
    in.src[ISETP_rb] = op_cmem(0, 0x168);
    in.ctrl.stall_cycles = 13;
    assert_true(isa_encode(t, &in, w, error));
    assert_int_equal(w[0], 0x00005a0000007a0cu);
    assert_int_equal(w[1], 0x000ffa0003f06070u);
    in = isa_inst(OT_UMOV); /* a guard PT serves uniform instructions too */
    in.dst[UMOV_urd] = op_reg(RF_UR, 4, 1);
    in.src[UMOV_urb] = op_imm(1);
    assert_true(isa_encode(t, &in, w, error));
    assert_int_equal(w[0], 0x0000000100047882u);
    in.guard = op_reg(RF_P, 1, 1);
    assert_false(isa_encode(t, &in, w, error));
    assert_non_null(strstr(error, "guard"));
    in = isa_inst(OT_RTT);
    assert_false(isa_encode(t, &in, w, error));
    assert_string_equal(error, "sm_80 has no instruction RTT");
    in = isa_inst(OT_IADD3);
    in.dst[IADD3_rd] = op_reg(RF_P, 1, 1);
    assert_false(isa_encode(t, &in, w, error));
    assert_non_null(strstr(error, "rd"));
}

/* A word with a register that the encoder refuses is refused, with its name. */
/* Bytes by the names that nvdisasm gives the sizes: .U8 .64 .128, atomics' .64 .F64, ldmatrix's rows of 8
 * halves. */
static void test_access(void **state) {
    (void)state;
    static const struct {
        uint16_t optype;
        uint32_t mods;
        unsigned bytes;
    } cases[] = {{OT_LDG, MSET(LDG, sz, MemSz_U8), 1},
                 {OT_LDG, MSET(LDG, sz, MemSz_S8), 1},
                 {OT_STG, MSET(STG, sz, MemSz_U16), 2},
                 {OT_LD, MSET(LD, sz, MemSz_S16), 2},
                 {OT_LDG, MSET(LDG, sz, MemSz_U128), 16},
                 {OT_STS, MSET(STS, sz, MemSz_32), 4},
                 {OT_LDL, MSET(LDL, sz, MemSz_64), 8},
                 {OT_LDC, MSET(LDC, sz, MemSz_64), 8},
                 {OT_STL, MSET(STL, sz, MemSz_128), 16},
                 {OT_ATOMG, MSET(ATOMG, type, AtomType_F16x2), 4},
                 {OT_ATOMG, MSET(ATOMG, type, AtomType_F16x8), 16},
                 {OT_ATOM, MSET(ATOM, type, AtomType_F64), 8},
                 {OT_RED, MSET(RED, type, AtomType_F32x2), 8},
                 {OT_RED, MSET(RED, type, AtomType_S64), 8},
                 {OT_ATOMS, MSET(ATOMS, type, AtomType_U32), 4},
                 {OT_ATOMS_CAS, MSET(ATOMS_CAS, type, CasType_U64), 8},
                 {OT_ATOMS_POPC_INC, 0, 4},
                 {OT_ATOM_POPC_INC, 0, 4},
                 {OT_ATOM_ARRIVE, 0, 8},
                 {OT_LDSM, 0, 16},
                 {OT_LDGSTS, MSET(LDGSTS, sz, CopySz_8), 8},
                 {OT_MEMBAR, 0, 0},
                 {OT_IADD3, 0, 0}};
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        MachInst in = isa_inst(cases[k].optype);
        in.mods = cases[k].mods;
        assert_int_equal(isa_access_bytes(&in), cases[k].bytes);
    }
    MachInst none = isa_inst(OT_ATOMS_CAS);
    none.mods = MSET(ATOMS_CAS, type, 7); /* the eighth value of three bits does not exist */
    assert_int_equal(isa_access_bytes(&none), 0);
}

static void test_alignment(void **state) {
    (void)state;
    const Target *t = isa_target("sm_80");
    char error[ISA_ERROR_BYTES];
    MachInst in = isa_inst(OT_DFMA);
    uint64_t w[2];
    in.dst[DFMA_rd] = op_reg(RF_R, 4, 2);
    in.src[DFMA_ra] = op_reg(RF_R, 6, 2);
    in.src[DFMA_rb] = op_reg(RF_R, 8, 2);
    in.src[DFMA_rc] = op_reg(RF_R, 10, 2);
    assert_true(isa_encode(t, &in, w, error));
    assert_true(isa_decode(t, w, &in, error));
    static const struct {
        unsigned bit; /* lowest of the register's field */
        const char *name;
    } fields[] = {{16, "rd"}, {24, "ra"}, {32, "rb"}, {64, "rc"}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char wanted[80];
        w[fields[i].bit / 64] |= (uint64_t)1 << fields[i].bit % 64;
        snprintf(wanted, sizeof wanted, "DFMA_R: operand %s must be an even register", fields[i].name);
        assert_false(isa_decode(t, w, &in, error));
        assert_string_equal(error, wanted);
        w[fields[i].bit / 64] |= (uint64_t)0xff << fields[i].bit % 64; /* RZ is allowed everywhere */
        assert_true(isa_decode(t, w, &in, error));
    }
    uint64_t wide_address[2] = {0x1004160079007980u,
                                0x000ea8000c000000u}; /* LD with a 64-bit address in R121 */
    assert_false(isa_decode(t, wide_address, &in, error));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment),    cmocka_unit_test(test_targets),
        cmocka_unit_test(test_occupancy),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_sregs),        cmocka_unit_test(test_names),
        cmocka_unit_test(test_access),       cmocka_unit_test(test_columns),
        cmocka_unit_test(test_memory_order), cmocka_unit_test(test_implied),
        cmocka_unit_test(test_modifiers),    cmocka_unit_test(test_slots),
        cmocka_unit_test(test_select),       cmocka_unit_test(test_known_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
