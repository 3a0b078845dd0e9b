/* Conversions of PTX to what is packed or has fewer bits than its register, PTX ISA 9.7.9.21 and 9.7.9.22:
 * tf32 and cvt.pack on the bits, floats of eight bits as uninterpreted operations.
 * SPDX-License-Identifier: MIT */
#include "check/prove/ptx/ptx.h"

static Term *k32(Ptx *ptx, uint32_t v) { return pv_k32(ptx, v); }

/* .rna on the bits (docs/numerics.md), the other roundings by name. */
bool prove_ptx_cvt_tf32(Ptx *ptx) {
    enum { EQUAL = 2, GREATER = 4, UNORDERED = 8 };
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    Term *a = pv_src(ptx, pv_operand(ptx, 1), TY_F32), *inf = k32(ptx, 0x7f800000);
    bool relu = (in->flags & PF_RELU) != 0, satfinite = (in->flags & PF_SATFINITE) != 0;
    if (in->rnd != RND_RNA) {
        const char *name =
            term_name(ts, "tf32.%u.%u.%u", in->rnd == RND_RZ ? Rnd_RZ : Rnd_RN, relu, satfinite);
        pv_dst(ptx, pv_operand(ptx, 0), TY_B32, prove_uf(ptx->prover, 32, name, &a, 1));
        return true;
    }
    Term *same = t_fcmp(ts, 32, EQUAL | GREATER | UNORDERED, t_land(ts, a, k32(ptx, 0x7fffffff)), inf);
    Term *d = t_land(ts, t_ite(ts, same, a, t_add(ts, a, k32(ptx, 0x1000))), k32(ptx, 0xffffe000));
    if (satfinite) {
        Term *over = t_fcmp(ts, 32, EQUAL | GREATER | UNORDERED, t_land(ts, d, k32(ptx, 0x7fffffff)), inf);
        d = t_ite(ts, over, t_sub(ts, d, k32(ptx, 0x2000)), d);
    }
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, d);
    return true;
}

bool prove_ptx_cvt_fp8(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    PtxType to = pv_type(ptx), from = (PtxType)ptx->in->type[1];
    bool relu = (ptx->in->flags & PF_RELU) != 0;
    unsigned type = (to == TY_F16X2 ? from : to) == TY_E4M3X2 ? Fp8Type_E4M3 : Fp8Type_E5M2;
    Term *arg[3] = {pv_src(ptx, pv_operand(ptx, 1), from), ts->zero, ts->zero}, *d;
    if (to == TY_F16X2) {
        arg[0] = t_zext_from(ts, arg[0], 16);
        d = prove_uf(ptx->prover, 32, term_name(ts, "fp8.unpack.%u.%u", type, relu), arg, 1);
    } else if (from == TY_F16X2) {
        d = prove_uf(ptx->prover, 32, term_name(ts, "fp8.halves.%u.%u", type, relu), arg, 2);
    } else {
        arg[1] = pv_src(ptx, pv_operand(ptx, 2), from);
        d = prove_uf(ptx->prover, 32, term_name(ts, "fp8.%u.%u", type, relu), arg, 3);
    }
    pv_dst(ptx, pv_operand(ptx, 0), to, d);
    return true;
}

bool prove_ptx_cvt_pack(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    PtxType to = pv_type(ptx);
    unsigned bits = to == TY_U2 || to == TY_S2 ? 2 : to == TY_U4 || to == TY_S4 ? 4 : 8 * pv_bytes(to);
    int64_t least = pv_signed(to) ? -((int64_t)1 << (bits - 1)) : 0, most = least + ((int64_t)1 << bits) - 1;
    Term *part[2];
    for (unsigned k = 0; k < 2; k++) {
        Term *v = t_max(ts, true, pv_src(ptx, pv_operand(ptx, 1 + k), TY_S32), k32(ptx, (uint32_t)least));
        part[k] = t_zext_from(ts, t_min(ts, true, v, k32(ptx, (uint32_t)most)), bits);
    }
    Term *d = t_lor(ts, t_shl(ts, part[0], k32(ptx, bits)), part[1]);
    if (bits < 16)
        d = t_lor(ts, d, t_shl(ts, pv_src(ptx, pv_operand(ptx, 3), TY_B32), k32(ptx, 2 * bits)));
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, d);
    return true;
}
