/* Memory, as terms: loads, stores and atomic operations of every space, and what the constant banks hold. The
 * words of isa/ *.isa; semantics written again here by name, as in mach_ops.c: the simulator's functions are
 * not consulted. SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "isa/machine/banks.h"
#include "isa/machine/windows.h"
#include <string.h>

Refusal mach_refusal(const Mach *mach, unsigned op, unsigned type) {
    if (!isa_target_info(mach->prover->flow->bin->target)->atom_refuses || type == AtomType_U32 ||
        type == AtomType_S32 || type == AtomType_B128)
        return REFUSED_NOWHERE;
    if (type == AtomType_F32 || type == AtomType_F64)
        return REFUSED_CLUSTER;
    return op == AtomOp_EXCH ? REFUSED_LOCAL : REFUSED_SHARED;
}

/* .X4, .X8, .X16 of an address in shared memory. */
static unsigned address_shift(unsigned stride) { return stride ? stride + 1 : 0; }

static void mach_atomic(Mach *mach, unsigned space, bool wide_address, unsigned stride, unsigned op,
                        unsigned type, unsigned order, bool cas, bool result) {
    Terms *ts = &mach->prover->ts;
    Term *arg[9];
    uint32_t n = 0, words = isa_access_bytes(mach->in) / 4;
    arg[n++] = mach_address(mach, wide_address, stride);
    for (unsigned s = 3; s < (cas ? 5u : 4u); s++)
        for (unsigned c = 0; c < words; c++)
            arg[n++] = mach_word(mach, s, c);
    static const char *const ops[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch"};
    /* of signed and unsigned numbers */
    bool order_matters = op == AtomOp_MIN || op == AtomOp_MAX || op == AtomOp_INC || op == AtomOp_DEC;
    if (!order_matters && type == AtomType_S32)
        type = AtomType_U32;
    if (!order_matters && type == AtomType_S64)
        type = AtomType_U64;
    const char *name = cas ? term_name(ts, "atom.cas.%u.o%u", type, order)
                           : term_name(ts, "atom.%s.%u.o%u", op < 9 ? ops[op] : "?", type, order);
    unsigned lists = space == NMEM ? 7u : 1u << space;
    Term *what = mach_event(mach, lists, name, arg, n);
    if (result)
        for (unsigned c = 0; c < words; c++)
            mach_put(mach, 0, c, t_app(ts, TO_RESULT, 32, c, NULL, &what, 1));
}

/* What ATOM does of an operation, at a generic address; its predicate. Of what it refuses nothing is known.
 */
static void generic_atomic(Mach *mach, unsigned op, unsigned type, unsigned order, bool cas) {
    Term *full = mach->full, *did;
    Refusal where = !cas                  ? mach_refusal(mach, op, type)
                    : type == CasType_U64 ? mach_refusal(mach, AtomOp_EXCH, AtomType_U64)
                                          : REFUSED_NOWHERE;
    did = prove_atom_did(mach->prover, where, mach_address(mach, true, 0));
    mach->full = t_and(&mach->prover->ts, full, did);
    mach_atomic(mach, NMEM, true, 0, op, type, order, cas, true);
    mach->full = full;
    mach_put_pred(mach, 1, did);
}

bool mach_swap(Mach *mach, unsigned words, Term **arg, Term *const *expected) {
    enum { EXPECTED = 3, DESIRED };
    bool fits = true;
    mach->looked = mach->looked_src = mach->written = 0;
    mach->care = NULL;
    switch (mach->in->optype) {
    case OT_ATOMG_CAS:
        (void)(MOD(ATOMG_CAS, type) + MOD(ATOMG_CAS, order));
        arg[0] = mach_address(mach, true, 0);
        break;
    case OT_ATOM_CAS:
        (void)(MOD(ATOM_CAS, type) + MOD(ATOM_CAS, order));
        arg[0] = mach_address(mach, true, 0);
        break;
    default:
        (void)MOD(ATOMS_CAS, type);
        arg[0] = mach_address(mach, false, address_shift(MOD(ATOMS_CAS, stride)));
    }
    for (unsigned c = 0; c < words; c++) {
        fits &= mach_word(mach, EXPECTED, c) == expected[c];
        arg[1 + c] = mach_word(mach, DESIRED, c);
    }
    mach->written |= 1u;
    mach_check_unlooked(mach);
    return fits;
}

static void generic_load(Mach *mach, unsigned sz, unsigned order) {
    Terms *ts = &mach->prover->ts;
    bool sign;
    unsigned bytes = mach_size(mach, sz, &sign);
    Term *at = mach_address(mach, true, 0), *what = NULL, *word[4];
    if (order != MemOrder_WEAK)
        what = mach_event(mach, 7, term_name(ts, "ld.generic.%u.o%u", bytes, order), &at, 1);
    else
        mach_note_access(mach, at, bytes, MEM_GENERIC, false);
    for (unsigned c = 0; c * 4 < bytes; c++) {
        word[c] = what ? t_app(ts, TO_RESULT, 32, c, NULL, &what, 1)
                       : prove_generic(mach->prover, mach->mem, mach->full,
                                       t_add(ts, at, t_const(ts, 64, 4 * c)), bytes < 4 ? bytes : 4);
        if (bytes < 4)
            word[c] = sign ? t_sext_from(ts, word[c], 8 * bytes) : t_zext_from(ts, word[c], 8 * bytes);
    }
    for (unsigned c = 0; c * 4 < bytes; c++)
        mach_put(mach, 0, c, word[c]);
}
static void generic_store(Mach *mach, unsigned sz, unsigned order) {
    Terms *ts = &mach->prover->ts;
    bool sign;
    unsigned bytes = mach_size(mach, sz, &sign), n = (bytes + 3) / 4;
    Term *arg[5] = {mach_address(mach, true, 0)};
    for (unsigned c = 0; c < n; c++)
        arg[c + 1] = mach_word(mach, 3, c);
    if (bytes < 4)
        arg[1] = t_zext_from(ts, arg[1], 8 * bytes);
    if (order == MemOrder_WEAK)
        prove_generic_store(mach->prover, mach->mem, mach->full, arg[0], bytes, arg + 1);
    else
        mach_event(mach, 7, term_name(ts, "st.generic.%u.o%u", bytes, order), arg, n + 1);
}

/* Where the tables begin that the function's code reads: other functions' may lie before them. */
static uint32_t first_table(const Prover *prover) {
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < prover->ff->ninsts; i++) {
        const MachInst *in = &prover->flow->insts[prover->ff->first_inst + i];
        if (in->optype == OT_LDC && op_cmem_bank(in->src[1]) == CONST_BANK_JUMPS &&
            op_cmem_offset(in->src[1]) < first)
            first = op_cmem_offset(in->src[1]);
    }
    return first;
}

/* An entry of a jump table. How many entries there are is a guess; that the index is below is what the access
 * must show. */
static void load_jump(Mach *mach, uint32_t offset, Term *index) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    uint32_t n = prove_ptx_table_entries(prover, offset - first_table(prover)), word = 0;
    Term *value = NULL;
    for (uint32_t k = n; k-- > 0 && !mach->run->fault;) {
        if (offset % 4 || !mach_jump_word(mach, offset + 4 * k, &word))
            mach_fault(mach, "a table of jumps that the kernels' constant banks do not hold alike");
        value = value ? t_ite(ts, t_eq(ts, index, mach_k32(mach, 4 * k)), mach_k32(mach, word), value)
                      : mach_k32(mach, word);
    }
    if (!value) {
        mach_fault(mach, "an indexed constant bank is not modelled");
        return;
    }
    mach_note_access(mach, index, 4 * n, MEM_TABLE, false);
    mach_put(mach, 0, 0, value);
}

static void load_const(Mach *mach, unsigned sz) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    bool sign;
    unsigned bytes = mach_size(mach, sz, &sign);
    Operand cb = mach->in->src[1];
    mach->looked_src |= 1u << 1;
    uint32_t bank = op_cmem_bank(cb), offset = op_cmem_offset(cb),
             base = isa_target_info(prover->flow->bin->target)->param_base_bytes;
    Term *index = mach_word(mach, 0, 0);
    if (bank == CONST_BANK_JUMPS && bytes == 4 && !t_is_const(index)) {
        load_jump(mach, offset, index);
        return;
    }
    if (bank == CONST_BANK_VARS)
        mach_note_access(mach, t_add(ts, index, mach_k32(mach, offset)), bytes, MEM_CONST, false);
    else if (bank == CONST_BANK_LAUNCH && !t_is_const(index))
        mach_note_access(mach, t_add(ts, index, mach_k32(mach, offset)), bytes, MEM_PARAM, false);
    else if (!t_is_const(index) || (index->k + offset) % bytes)
        mach_fault(mach, "a misaligned constant operand");
    for (unsigned c = 0; c * 4 < bytes; c++) {
        unsigned each = bytes < 4 ? bytes : 4;
        Term *v = ts->zero, *at = t_add(ts, index, mach_k32(mach, offset + 4 * c));
        if (bank == CONST_BANK_VARS)
            v = prove_const3(prover, at, each, sign);
        else if (bank == CONST_BANK_LAUNCH && !t_is_const(at))
            v = prove_param_at(prover, at, each);
        else if (bank == CONST_BANK_LAUNCH && t_is_const(at) && at->k >= base) {
            mach_in_launch_bank(mach, (uint32_t)at->k);
            v = prove_param(prover, at->k - base, each);
        } else if (t_is_const(at) && each == 4)
            v = mach_cmem(mach, bank, (uint32_t)at->k);
        else
            mach_fault(mach, "an indexed constant bank is not modelled");
        if (bank == CONST_BANK_LAUNCH && sign)
            v = t_sext_from(ts, v, 8 * bytes);
        mach_put(mach, 0, c, v);
    }
}

bool mach_memory(Mach *mach) {
    switch (mach->in->optype) {
    case OT_LDG:
        mach_load(mach, MEM_GLOBAL, mach_address(mach, true, 0), MOD(LDG, sz),
                  mach_order(mach, MOD(LDG, order)));
        return true;
    case OT_STG:
        mach_store(mach, MEM_GLOBAL, mach_address(mach, true, 0), MOD(STG, sz),
                   mach_order(mach, MOD(STG, order)));
        return true;
    case OT_LD: generic_load(mach, MOD(LD, sz), mach_order(mach, MOD(LD, order))); return true;
    case OT_ST: generic_store(mach, MOD(ST, sz), mach_order(mach, MOD(ST, order))); return true;
    case OT_LDS:
        (void)MOD(LDS, u); /* bears addresses that are not aligned; here each must be */
        mach_load(mach, MEM_SHARED, mach_address(mach, false, address_shift(MOD(LDS, stride))), MOD(LDS, sz),
                  MemOrder_WEAK);
        return true;
    case OT_STS:
        mach_store(mach, MEM_SHARED, mach_address(mach, false, address_shift(MOD(STS, stride))), MOD(STS, sz),
                   MemOrder_WEAK);
        return true;
    case OT_LDL:
        mach_load(mach, MEM_LOCAL, mach_address(mach, false, 0), MOD(LDL, sz), MemOrder_WEAK);
        return true;
    case OT_STL:
        mach_store(mach, MEM_LOCAL, mach_address(mach, false, 0), MOD(STL, sz), MemOrder_WEAK);
        return true;
    case OT_LDC: load_const(mach, MOD(LDC, sz)); return true;
    case OT_ULDC: load_const(mach, MOD(ULDC, sz)); return true;
    case OT_ATOMG:
        mach_atomic(mach, MEM_GLOBAL, true, 0, MOD(ATOMG, op), MOD(ATOMG, type), MOD(ATOMG, order), false,
                    true);
        return true;
    case OT_ATOMG_CAS:
        mach_atomic(mach, MEM_GLOBAL, true, 0, 0, MOD(ATOMG_CAS, type), MOD(ATOMG_CAS, order), true, true);
        return true;
    case OT_ATOM: generic_atomic(mach, MOD(ATOM, op), MOD(ATOM, type), MOD(ATOM, order), false); return true;
    case OT_ATOM_CAS: generic_atomic(mach, 0, MOD(ATOM_CAS, type), MOD(ATOM_CAS, order), true); return true;
    case OT_RED:
        mach_atomic(mach, MEM_GLOBAL, true, 0, MOD(RED, op), MOD(RED, type), MOD(RED, order), false, false);
        return true;
    case OT_ATOMS:
        mach_atomic(mach, MEM_SHARED, false, address_shift(MOD(ATOMS, stride)), MOD(ATOMS, op),
                    MOD(ATOMS, type), 0, false, true);
        return true;
    case OT_ATOMS_CAS:
        mach_atomic(mach, MEM_SHARED, false, address_shift(MOD(ATOMS_CAS, stride)), 0, MOD(ATOMS_CAS, type),
                    0, true, true);
        return true;
    case OT_MEMBAR:
        mach_event(mach, 7,
                   term_name(&mach->prover->ts, "membar.%u.%u", MOD(MEMBAR, scope), MOD(MEMBAR, kind)), NULL,
                   0);
        return true;
    default: return false;
    }
}
