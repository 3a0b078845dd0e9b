/* Gives every instruction operands that some opcode encodes: immediates, constants and addresses that do not
 * fit are moved into registers first. A literal moved once serves the next ones that ask for it in the block,
 * but not over a call; each word of a pair is moved for itself, as a value stands beside one neighbour. In:
 * SSA. At all levels. An instruction that has no form even so is an internal error that names it.
 * SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"
#include "lower/passes.h"

enum { MOVED = 4 };

typedef struct {
    Function *f;
    BlockId block;
    unsigned at; /* position of the instruction */
    InstId id;
    struct {
        Operand literal, value;
    } moved[MOVED]; /* the last ones of this block */
    unsigned nmoved;
} Legal;

static bool movable(Operand o) {
    return o.kind == OPK_IMM || o.kind == OPK_CMEM || o.kind == OPK_SYM ||
           ((o.kind == OPK_VAL || o.kind == OPK_REG) && o.file == RF_UR && o.count == 1);
}

static Operand move(Legal *legal, Operand o) {
    Operand r = opt_mov_before(legal->f, legal->block, legal->at, o, ir_inst(legal->f, legal->id)->loc);
    legal->at++;
    return r;
}

static Operand move_word(Legal *legal, Operand o) {
    if (o.kind != OPK_IMM)
        return move(legal, o);
    for (unsigned k = 0; k < MOVED && k < legal->nmoved; k++)
        if (legal->moved[k].literal.value == o.value)
            return legal->moved[k].value;
    Operand r = move(legal, o);
    legal->moved[legal->nmoved % MOVED].literal = o;
    legal->moved[legal->nmoved++ % MOVED].value = r;
    return r;
}

/* The two words of a 64-bit source: an immediate of an f64 operation is its upper half. */
static Operand move_pair(Legal *legal, Operand o, unsigned op) {
    Operand lo = o, hi = o;
    if (o.kind == OPK_CMEM)
        hi = op_cmem(op_cmem_bank(o), op_cmem_offset(o) + 4);
    else if (o.kind == OPK_IMM && opt_is_f64(op))
        lo = op_imm(0);
    else if (o.kind == OPK_IMM)
        hi = op_imm(o.value >> 31 ? UINT32_MAX : 0);
    else
        return o;
    Operand a = move(legal, lo), b = move(legal, hi);
    ValId v[2] = {{a.value}, {b.value}};
    return ir_vec(legal->f, v, 2);
}

static void into_register(Legal *legal, unsigned k) {
    Inst *i = ir_inst(legal->f, legal->id);
    Operand o = *ir_src(legal->f, i, k), r;
    MachInst m = opt_mach(legal->f, i);
    unsigned regs = isa_src_regs(legal->f->module->target, &m, k);
    r = regs == 2 ? move_pair(legal, o, i->op) : regs == 1 ? move_word(legal, o) : o;
    r.mods |= o.mods;
    ir_set_src(legal->f, legal->id, k, r);
}

/* SEL of a literal and a register: of the register and the literal, under the complement. */
static bool turn_select(Legal *legal) {
    Inst *i = ir_inst(legal->f, legal->id);
    if (i->op != OT_SEL)
        return false;
    Operand *ra = ir_src(legal->f, i, SEL_ra), *rb = ir_src(legal->f, i, SEL_rb),
            *pp = ir_src(legal->f, i, SEL_pp);
    Operand a = *ra, b = *rb, p = *pp;
    if (p.kind == OPK_NONE)
        return false;
    *ra = b;
    *rb = a;
    pp->mods ^= OPM_NOT;
    if (opt_selectable(legal->f, i))
        return true;
    *ra = a;
    *rb = b;
    *pp = p;
    return false;
}

/* Which sources may go into a register: those whose slot takes R. Later ones first: rb and rc before ra. */
static bool fix(Legal *legal) {
    const Target *t = legal->f->module->target;
    unsigned op = ir_inst(legal->f, legal->id)->op, n = isa_num_src(op);
    if (turn_select(legal))
        return true;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned k = 0; k < n; k++) {
            Inst *i = ir_inst(legal->f, legal->id);
            if (k >= i->nsrc)
                break;
            Operand o = *ir_src(legal->f, i, k);
            IsaSlot s = isa_src_slot(t, op, k);
            bool takes = s.kinds >> o.kind & 1;
            if (!movable(o) || s.file != RF_R || (round == 0 && takes))
                continue;
            into_register(legal, k);
            if (opt_selectable(legal->f, ir_inst(legal->f, legal->id)))
                return true;
        }
    return false;
}

/* Is its result another one if lanes of other masks execute it as well? A SHFL reads lanes of its own mask
 * alone. */
static bool counts_who_is_there(const Inst *i) {
    return !ir_is_pseudo(i->op) && isa_traits(i->op)->lanes == ISA_LANES_COLLECTIVE && i->op != OT_SHFL &&
           !(i->flags & IF_MASKED);
}

/* A mask in a register may be another for each lane: those of another mask are not to go on together with
 * these where a collective would count them. Elsewhere they are, and stay together. at: of the WARPSYNC */
static void keep_masks_apart(Function *f, BlockId b, unsigned at) {
    Inst *i = ir_inst(f, ir_inst_at(f, b, at));
    if (i->op != OT_WARPSYNC || ir_src(f, i, WARPSYNC_rb)->kind == OPK_IMM ||
        !isa_target_info(f->module->target)->warpsync_joins)
        return;
    for (unsigned k = at + 1; k < ir_num_insts(f, b); k++) {
        const Inst *next = ir_inst(f, ir_inst_at(f, b, k));
        if (!ir_is_pseudo(next->op) && isa_has_effect(next->op, ISA_EFFECT_SWITCH))
            return;
        if (counts_who_is_there(next)) {
            i->mods |= MSET(WARPSYNC, exclusive, 1);
            return;
        }
    }
}

bool pass_legalise(Function *f, Diags *d) {
    FOR_BLOCKS(f, b) {
        Legal l = {.f = f, .block = b};
        for (unsigned p = 0; p < ir_block(f, b)->insts.n; p++) {
            l.at = p;
            l.id = ir_block(f, b)->insts.at[p];
            const Inst *i = ir_inst(f, l.id);
            if (i->op == OT_CALL)
                l.nmoved = 0;
            if (!opt_selectable(f, i) && !fix(&l))
                return diag(d, f->locs.at[ir_inst(f, l.id)->loc.i].src, DIAG_E0772,
                            ir_op_name(ir_inst(f, l.id)->op), isa_target_name(f->module->target),
                            str_text(f->module->strings, f->name));
            keep_masks_apart(f, b, l.at);
            p = l.at;
        }
    }
    return true;
}
