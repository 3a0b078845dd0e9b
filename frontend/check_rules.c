/* Rules of single opcodes that a form cannot say: comparison against type, constants
 * with a range, vector sizes (PTX ISA 9.7). Column RULE of ptx_ops.def says which opcode has which.
 * SPDX-License-Identifier: MIT */
#include "frontend/check.h"
#include "frontend/texture.h"
#include "isa/machine/banks.h"
#include <stdio.h>
#include <string.h>

static bool refuse(Check *check, const PtxInsn *i, const char *what) {
    return diag(check->d, i->loc, DIAG_E0131, ptx_insn_text(check, i), what);
}

static bool rule_compare(Check *c, const PtxInsn *i) {
    PtxType t = (PtxType)i->type[i->ntypes - 1];
    PtxTypeClass tc = ptx_type_class(t);
    if (i->op == PTX_SETP && i->ndst == 2 && (t == TY_F16 || t == TY_BF16))
        return refuse(c, i, "has only one result");
    if ((t == TY_BF16 || t == TY_BF16X2) && i->operands[i->noperands - 1].kind == PO_IMM)
        return refuse(c, i, "needs a predicate register, of bf16 no constant");
    if ((i->flags & PF_FTZ) && t != TY_F32 && t != TY_F16 && t != TY_F16X2)
        return refuse(c, i, "cannot have .ftz, which is for .f32, .f16 and .f16x2");
    if (i->cmp <= CMP_NE)
        return true;
    if (tc == TC_BITS)
        return refuse(c, i, "compares bits, which are only .eq or .ne");
    if (i->cmp >= CMP_LO && i->cmp <= CMP_HS && tc != TC_UNSIGNED)
        return refuse(c, i, "cannot use .lo .ls .hi .hs, which are for unsigned types");
    if (i->cmp >= CMP_EQU && tc != TC_FLOAT)
        return refuse(c, i, "cannot use an unordered comparison, which is for floating-point types");
    return true;
}

static bool check_range(Check *check, const PtxInsn *i, unsigned n, int64_t lo, int64_t hi) {
    if (n >= i->noperands || i->operands[n].kind != PO_IMM)
        return true;
    int64_t v = i->operands[n].imm;
    return (v >= lo && v <= hi) || diag(check->d, i->operands[n].loc, DIAG_E0139, n + 1,
                                        ptx_insn_text(check, i), (long long)lo, (long long)hi, (long long)v);
}

/* Position and length of a field. */
static bool rule_field(Check *check, const PtxInsn *i) {
    unsigned position = i->noperands - 2u;
    return check_range(check, i, position, 0, 255) && check_range(check, i, position + 1, 0, 255);
}

/* bar.sync a, b: 16 barriers; threads in whole warps. */
static bool rule_barrier(Check *c, const PtxInsn *i) {
    unsigned id = i->sub == SUB_RED ? 1 : 0, count = id + 1;
    bool has_count = i->sub == SUB_RED ? i->noperands == 4 : i->noperands == 2;
    if (i->sub == SUB_WARP || i->sub2 == SUB_CLUSTER)
        return true;
    if (!check_range(c, i, id, 0, 15))
        return false;
    if (has_count && i->operands[count].kind == PO_IMM && (i->operands[count].imm & 31))
        return refuse(c, i, "needs a thread count that is a multiple of the warp size, 32");
    return true;
}

/* Constant addresses among a kernel's parameters. Reading from one parameter on into the next is defined;
 * behind the last one zeros are read, at an address that is not aligned whatever runs it would trap. */
static bool check_kernel_param(Check *check, const PtxInsn *i, unsigned bytes) {
    const PtxOperand *operand = &i->operands[1];
    if (i->op != PTX_LD || i->noperands < 2 || !check->f->is_entry || operand->kind != PO_ADDR ||
        operand->reg || !operand->sym || operand->sym & PTX_SYM_FUNC || !bytes)
        return true;
    const PtxVar *ptx_var = &check->m->vars[operand->sym - 1];
    uint64_t end = 0;
    bool ours = false;
    for (uint32_t k = 0; k < check->f->nparams; k++) {
        const PtxVar *var = &check->m->vars[check->f->params[k]];
        ours |= var == ptx_var;
        if (var->param_offset_bytes + var->size_bytes > end)
            end = var->param_offset_bytes + var->size_bytes;
    }
    if (!ours)
        return true;
    int64_t first = (int64_t)ptx_var->param_offset_bytes;
    const char *wrong = NULL, *name = str_text(&check->m->strings, ptx_var->name);
    if (operand->imm < -first || operand->imm > CONST_BANK_BYTES)
        wrong = "it lies outside of the kernel's parameters";
    else if ((first + operand->imm) % (int64_t)bytes)
        wrong = "the address is misaligned";
    if (!wrong && operand->imm > (int64_t)end - first - (int64_t)bytes)
        diag(check->d, operand->loc, DIAG_W0144, ptx_insn_text(check, i), bytes, (long long)operand->imm,
             name);
    return !wrong || diag(check->d, operand->loc, DIAG_E0144, ptx_insn_text(check, i), bytes,
                          (long long)operand->imm, name, wrong);
}

/* Hints to caches, which set nothing of the statement: is there a modifier that begins with `prefix`? */
static bool has_hint(const Check *check, const PtxInsn *i, const char *prefix) {
    return strstr(str_text(&check->m->strings, i->mods_text), prefix) != NULL;
}

/* Generic addresses, which may be global ones, and global ones take hints. */
static bool check_hints(Check *c, const PtxInsn *i, unsigned bytes) {
    bool global = i->space == SP_NONE || i->space == SP_GLOBAL;
    bool level1 = has_hint(c, i, ".L1::"), level2 = has_hint(c, i, ".L2::");
    if ((level1 || level2) && !global)
        return refuse(c, i, "has hints to caches, which are for global memory");
    if (level1 && i->cop)
        return refuse(c, i, "has a cache operator and an eviction priority of L1, which exclude each other");
    if (has_hint(c, i, ".L2::evict") && (bytes != 32 || i->vec < 4))
        return refuse(c, i, "has an eviction priority of L2, which is for .v8 of 32 and .v4 of 64 bits");
    return true;
}

static bool rule_atomic(Check *check, const PtxInsn *i) {
    bool global = i->space == SP_NONE || i->space == SP_GLOBAL;
    return global || !(i->flags & PF_CACHE_HINT) ||
           refuse(check, i, "has a cache policy, which is for global memory");
}

static bool rule_access(Check *c, const PtxInsn *i) {
    if (i->flags & PF_ALL_FORMS)
        return true;
    unsigned bytes = ptx_type_bytes((PtxType)i->type[0]) * i->vec;
    if (!check_hints(c, i, bytes))
        return false;
    if (i->space == SP_PARAM && !check_kernel_param(c, i, bytes))
        return false;
    bool wide =
        bytes == 32 && i->vec > 2 && i->op != PTX_LDU && (i->space == SP_NONE || i->space == SP_GLOBAL);
    if (bytes > 16 && !wide)
        return refuse(c, i, "moves more than 128 bits; .v8 of 32 and .v4 of 64 bits do, in global memory");
    return true;
}

/* cp.async.bulk: multiples of 16 bytes, up to what the bytes of an mbarrier object count. */
static bool rule_bulk(Check *c, const PtxInsn *i) {
    if (i->noperands < 2)
        return true;
    if (i->operands[0].nvec || i->operands[1].nvec) /* coordinates in a tensor, which knows its size */
        return true;
    unsigned size = i->operands[1].kind == PO_ADDR ? 2 : 1; /* a prefetch has no destination */
    const PtxOperand *operand = &i->operands[size];
    if (!check_range(c, i, size, 0, 1048560))
        return false;
    return operand->kind != PO_IMM || operand->imm % 16 == 0 || refuse(c, i, "copies a multiple of 16 bytes");
}

/* Phases are 0 and 1; an arrival at an object of another block has no state. */
static bool rule_mbarrier(Check *c, const PtxInsn *i) {
    bool arrives = i->sub == SUB_ARRIVE || i->sub == SUB_ARRIVE_DROP;
    bool shared = i->space == SP_SHARED || i->space == SP_SHARED_CLUSTER;
    if (i->space != SP_NONE && !shared) /* of a variable that is named */
        return refuse(c, i, "needs an object in shared memory");
    if (i->flags & PF_PARITY && !check_range(c, i, 2, 0, 1))
        return false;
    if (arrives && i->space == SP_SHARED_CLUSTER && i->operands[0].kind != PO_SINK)
        return refuse(c, i, "has no state in .shared::cluster: its destination is `_`");
    return true;
}

static bool rule_cp(Check *c, const PtxInsn *i) {
    int64_t n = i->noperands > 2 ? i->operands[2].imm : 0;
    if (i->sub2 == SUB_BULK)
        return rule_bulk(c, i);
    if (i->flags & PF_ALL_FORMS || !i->cop)
        return true;
    if (i->cop == COP_CG ? n != 16 : n != 4 && n != 8 && n != 16) {
        char what[64];
        snprintf(what, sizeof what, "copies %s bytes only, not %lld", i->cop == COP_CG ? "16" : "4, 8 or 16",
                 (long long)n);
        return refuse(c, i, what);
    }
    return (i->flags & PF_CACHE_HINT && i->noperands == 4) || ptx_has_ignore(c->f, i) ||
           check_range(c, i, 3, 0, n);
}

static bool rule_lop3(Check *c, const PtxInsn *i) {
    if (i->bop && i->ndst < 2)
        return refuse(c, i, "needs a predicate result behind '|'");
    return check_range(c, i, i->ndst + 3u, 0, 255);
}

static bool rule_none(Check *check, const PtxInsn *i) {
    (void)check, (void)i;
    return true;
}

static bool rule_elect(Check *check, const PtxInsn *i) {
    return i->ndst == 2 || refuse(check, i, "needs a predicate result behind '|'");
}

/* A line of the cache; of fence, a tensor map. */
static bool rule_line(Check *check, const PtxInsn *i) { return check_range(check, i, 1, 128, 128); }

static bool rule_pmevent(Check *check, const PtxInsn *i) {
    return check_range(check, i, 0, 0, form_mods(i->form)[0] ? 65535 : 15); /* .mask or a number */
}

static bool rule_mov(Check *check, const PtxInsn *i) {
    return i->vec * ptx_type_bytes((PtxType)i->type[0]) <= 16 || refuse(check, i, "moves more than 128 bits");
}

/* The lanes that have a sparse matrix's places are some of each four: as many as there are words of them. */
static bool check_selector(Check *check, const PtxInsn *i, unsigned operand) {
    PtxType type = (PtxType)i->type[1];
    unsigned chunk = type == TY_TF32                  ? 2
                     : type == TY_U4 || type == TY_S4 ? 8
                                                      : 4,
             lanes = i->shape[2] / chunk / 4;
    return check_range(check, i, operand, 0, 4 / lanes - 1);
}

static bool rule_mma(Check *check, const PtxInsn *i) {
    return !(i->flags & PF_SPARSE) || i->flags & PF_ALL_FORMS || check_selector(check, i, 5);
}

/* Behind the descriptors and scale-d: 1 or -1 for A and B; whether they are transposed. */
static bool rule_wgmma(Check *check, const PtxInsn *i) {
    bool sparse = i->flags & PF_SPARSE;
    unsigned scale = sparse ? 5 : 3; /* scale-d */
    if (i->sub != SUB_MMA_ASYNC || i->flags & PF_ALL_FORMS)
        return true;
    if (i->operands[0].kind != PO_VEC)
        return refuse(check, i, "needs a vector of registers");
    for (unsigned k = 0; k < i->operands[0].nvec; k++)
        if (i->operands[0].vec[k].kind == PO_SINK)
            return refuse(check, i, "reads all registers of its vector");
    for (unsigned k = scale + 1; k < i->noperands; k++) {
        bool factor = k <= scale + 2;
        if (factor && !i->operands[k].imm)
            return refuse(check, i, "takes factors of 1 and -1");
        if (!check_range(check, i, k, factor ? -1 : 0, 1))
            return false;
    }
    return !sparse || check_selector(check, i, 4);
}

/* Numbers of dimensions and of what a field may be. Element types below 8 bits are sm_100a's. */
static bool rule_tensormap(Check *check, const PtxInsn *i) {
    enum { MOST_TYPE_90 = 12 };
    if (i->sub == SUB_NONE)
        return check_range(check, i, 2, 128, 128);
    TensorField field = ptx_tensor_field(i);
    int64_t most = tensor_fields[field].most;
    if (tensor_fields[field].dims)
        return check_range(check, i, 1, 0, tensor_fields[field].dims - 1);
    if (field == TENSOR_ELEMTYPE && check->m->sm < 100)
        most = MOST_TYPE_90;
    return !most || check_range(check, i, 1, 0, most);
}

static bool rule_alloca(Check *check, const PtxInsn *i) {
    uint64_t align = i->noperands > 2 ? (uint64_t)i->operands[2].imm : 1;
    return (align && !(align & (align - 1))) || refuse(check, i, "takes an alignment that is a power of two");
}

static bool rule_setmaxnreg(Check *check, const PtxInsn *i) {
    if (i->operands[0].imm % 8)
        return refuse(check, i, "needs a multiple of 8");
    return check_range(check, i, 0, 24, 256);
}

/* ---- video instructions ---- */

/* n digits from 0 to `most`; descending: each once, as a mask. */
static bool selects(const PtxOperand *operand, unsigned letter, unsigned n, unsigned most, bool descending) {
    unsigned before = 8;
    if (operand->selector != (letter | n))
        return false;
    for (unsigned k = n; k-- > 0;) {
        unsigned digit = (unsigned)(operand->imm >> 4 * k) & 15;
        if (digit > most || (descending && digit >= before))
            return false;
        before = digit;
    }
    return true;
}

static bool selects_one(const PtxOperand *operand) {
    return !operand->selector || selects(operand, 0, 1, 3, false) ||
           selects(operand, PTX_SELECTS_HALVES, 1, 1, false);
}

static bool rule_video(Check *check, const PtxInsn *i) {
    bool merges = i->operands[0].selector, has_third = i->noperands == 4;
    for (unsigned k = 0; k < i->noperands; k++)
        if (!selects_one(&i->operands[k]))
            return refuse(check, i, "selects .b0 to .b3, .h0 or .h1");
    if (merges && i->atom)
        return refuse(check, i, "either merges its result or combines it");
    if ((merges || i->atom) && !has_third)
        return refuse(check, i, "needs what its result is merged or combined with");
    return !i->cmp || rule_compare(check, i);
}

static bool rule_vmad(Check *check, const PtxInsn *i) {
    const PtxOperand *a = &i->operands[1], *b = &i->operands[2], *c = &i->operands[3];
    if (!selects_one(a) || !selects_one(b))
        return refuse(check, i, "selects .b0 to .b3, .h0 or .h1");
    if (i->sub2 == SUB_PO && (a->neg || b->neg || c->neg))
        return refuse(check, i, "negates nothing with .po");
    return !(a->neg != b->neg && c->neg) ||
           refuse(check, i, "negates the product or what is added, not both");
}

/* Parallel operations: bytes or halves of both sources in any order, a mask of the result. */
static bool rule_video_parts(Check *check, const PtxInsn *i) {
    unsigned parts = ptx_video_parts(i->op), letter = parts == 2 ? PTX_SELECTS_HALVES : 0;
    const PtxOperand *to = &i->operands[0];
    bool good = !to->selector;
    for (unsigned n = 1; n <= parts; n++)
        good |= selects(to, letter, n, parts - 1, true);
    for (unsigned k = 1; k < 3; k++) {
        const PtxOperand *from = &i->operands[k];
        good &= !from->selector || selects(from, letter, parts, 2 * parts - 1, false);
    }
    if (!good)
        return refuse(check, i,
                      parts == 2
                          ? "selects .hXY of halves 0 to 3, and .h0, .h1 or .h10 of its result"
                          : "selects .bWXYZ of bytes 0 to 7, and of its result bytes in descending order");
    return !i->cmp || rule_compare(check, i);
}
bool ptx_check_rules(Check *check, const PtxInsn *i) {
    static bool (*const rules[PTX_OP_COUNT])(Check *, const PtxInsn *) = {
        rule_none,
#define RULE(fn) rule_##fn
#define PTX_OP(name, text, goes, defaults, rule, ...) [PTX_##name] = rule,
#include "frontend/ptx_ops.def"
    };
    return rules[i->op](check, i);
}
