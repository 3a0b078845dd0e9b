/* The verifier of machine IR: structure of blocks and edges, phis, SSA dominance, register files. Reports
 * E06xx with function, block and position; after a pass such a report is an internal error.
 * Dominators are computed here by themselves, so that the analyses of lower/ are not their own judge.
 * SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const Function *f;
    Diags *d;
    const char *after;
    bool ok;
    Arena arena;
    DomTree dom;
    uint32_t *inst_block; /* [inst] block that holds it, 0 none */
    uint32_t *inst_pos;   /* [inst] position in it */
} Verify;

__attribute__((format(printf, 4, 5))) static void fail(Verify *verify, BlockId b, unsigned at,
                                                       const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    diag(verify->d, (SrcLoc){0}, DIAG_E0601, str_text(verify->f->module->strings, verify->f->name), b.i, at,
         verify->after, text);
    verify->ok = false;
}

static const Block *block(const Verify *verify, BlockId b) { return &verify->f->blocks.at[b.i]; }
static const Inst *inst(const Verify *verify, InstId i) { return &verify->f->insts.at[i.i]; }

static unsigned count_id(const BlockId *at, unsigned n, BlockId b) {
    unsigned found = 0;
    for (unsigned k = 0; k < n; k++)
        found += at[k].i == b.i;
    return found;
}

static bool is_live_block(const Verify *verify, uint32_t b) {
    return b > 0 && b < verify->f->blocks.n && !verify->f->blocks.at[b].dead;
}

/* ---- ranges: after this every index may be followed ---- */

static bool operand_in_range(const Function *f, Operand o) {
    switch (o.kind) {
    case OPK_NONE:
    case OPK_IMM:
    case OPK_CMEM:
    case OPK_SREG: return true;
    case OPK_REG: return o.file < RF_COUNT && o.count >= 1 && o.count <= IR_MOST_VECTOR;
    case OPK_VAL:
        if (o.file >= RF_COUNT || o.count < 1 || o.count > IR_MOST_VECTOR)
            return false;
        if (o.count == 1)
            return o.value > 0 && o.value < f->values.n;
        if (o.value > f->vectors.n || f->vectors.n - o.value < o.count)
            return false;
        for (unsigned c = 0; c < o.count; c++)
            if (f->vectors.at[o.value + c] >= f->values.n)
                return false;
        return true;
    case OPK_IMM64: return o.value < f->consts.n;
    case OPK_SYM: return o.value < f->symrefs.n;
    case OPK_BLOCK: return o.value > 0 && o.value < f->blocks.n && !f->blocks.at[o.value].dead;
    default: return false;
    }
}

static bool operand_files_agree(const Function *f, Operand o) {
    if (o.kind != OPK_VAL)
        return true;
    for (unsigned c = 0; c < o.count; c++) {
        uint32_t v = ir_operand_value(f, o, c).i;
        if (v && f->values.at[v].file != o.file)
            return false;
    }
    return true;
}

static void check_ranges(Verify *verify, BlockId b, unsigned at, const Inst *i) {
    if (i->op >= IR_OP_COUNT || (size_t)i->operand + ir_num_operands(i) > verify->f->operands.n) {
        fail(verify, b, at, "operation or operand index is out of range");
        return;
    }
    if (i->loc.i && i->loc.i >= verify->f->locs.n)
        fail(verify, b, at, "location is out of range");
    FOR_OPERANDS(verify->f, i, o) {
        if (!operand_in_range(verify->f, *o))
            fail(verify, b, at, "operand %u of %s is out of range", AT(o), ir_op_name(i->op));
        else if (!operand_files_agree(verify->f, *o))
            fail(verify, b, at, "operand %u of %s mixes register files", AT(o), ir_op_name(i->op));
    }
    if (!operand_in_range(verify->f, i->guard))
        fail(verify, b, at, "guard is out of range");
}

static bool check_layout(Verify *verify) {
    const Function *f = verify->f;
    Bitset seen = bs_new(&verify->arena, f->blocks.n + 1);
    FOR_BLOCKS(f, b) {
        if (b.i == 0 || b.i >= f->blocks.n || bs_has(&seen, b.i)) {
            fail(verify, b, 0, "layout names a block that does not exist or names it twice");
            return false;
        }
        bs_add(&seen, b.i);
    }
    for (uint32_t b = 1; b < f->blocks.n; b++)
        if (!f->blocks.at[b].dead && !bs_has(&seen, b))
            fail(verify, (BlockId){b}, 0, "block is not in the layout");
    if (!is_live_block(verify, f->entry.i))
        fail(verify, f->entry, 0, "entry is no live block");
    else if (block(verify, f->entry)->preds.n)
        fail(verify, f->entry, 0, "entry has a predecessor");
    else if (f->layout.at[0].i != f->entry.i)
        fail(verify, f->entry, 0, "entry is not first in the layout");
    return verify->ok;
}

static bool check_edges(Verify *verify) {
    const Function *f = verify->f;
    for (uint32_t n = 1; n < f->blocks.n; n++) {
        const Block *b = &f->blocks.at[n];
        BlockId id = {n};
        if (b->dead)
            continue;
        for (unsigned k = 0; k < b->preds.n + b->succs.n; k++) {
            bool is_pred = k < b->preds.n;
            BlockId o = is_pred ? b->preds.at[k] : b->succs.at[k - b->preds.n];
            if (!is_live_block(verify, o.i)) {
                fail(verify, id, 0, "edge to bb%u, which is no live block", o.i);
                continue;
            }
            const Block *ob = block(verify, o);
            unsigned there =
                is_pred ? count_id(ob->succs.at, ob->succs.n, id) : count_id(ob->preds.at, ob->preds.n, id);
            unsigned here =
                is_pred ? count_id(b->preds.at, b->preds.n, o) : count_id(b->succs.at, b->succs.n, o);
            if (there != here)
                fail(verify, id, 0, "edge %s bb%u is not in both lists", is_pred ? "from" : "to", o.i);
        }
    }
    return verify->ok;
}

/* ---- ends of blocks ---- */

static uint32_t branch_target(const Verify *verify, const Inst *i) {
    FOR_SRCS(verify->f, i, src)
        if (src->kind == OPK_BLOCK)
            return src->value;
    return 0;
}

/* After block layout the final BRA to the next block may be missing. */
static bool falls_through(const Verify *verify, BlockId id) {
    const Block *b = block(verify, id);
    if (!verify->f->is_physical || b->succs.n == 0)
        return false;
    if (b->insts.n) {
        const Inst *end = inst(verify, b->insts.at[b->insts.n - 1]);
        if (ir_is_terminator(verify->f, end) && op_is_always(end->guard))
            return false;
    }
    for (unsigned k = 0; k + 1 < verify->f->layout.n; k++)
        if (verify->f->layout.at[k].i == id.i)
            return verify->f->layout.at[k + 1].i == b->succs.at[b->succs.n - 1].i;
    return false;
}

static void check_last(Verify *verify, BlockId id) {
    const Block *b = block(verify, id);
    if (b->insts.n == 0) {
        fail(verify, id, 0, "block is empty");
        return;
    }
    const Inst *end = inst(verify, b->insts.at[b->insts.n - 1]);
    bool is_call = end->op == OT_CALL && b->succs.n == 0; /* of a function elsewhere that does not return */
    if (!op_is_always(end->guard) || !(ir_is_terminator(verify->f, end) || is_call))
        fail(verify, id, b->insts.n - 1, "block does not end in an unguarded control transfer");
}

/* A BRX may do without a table (its register then holds what is only known later); if it names one, that
 * fits. */
static void check_table(Verify *verify, BlockId id, unsigned at, const Inst *i) {
    const BranchTable *table = ir_branch_table(verify->f, i);
    if (!table && i->nsrc > BRX_offset &&
        verify->f->operands.at[i->operand + i->ndst + BRX_offset].kind != OPK_NONE)
        fail(verify, id, at, "BRX names no jump table");
    for (unsigned k = 0; table && k < table->entries.n; k++)
        if (table->entries.at[k] >= block(verify, id)->succs.n)
            fail(verify, id, at, "entry %u of the jump table is no successor", k);
}

/* The branch targets are the succs, in order. */
static void check_end(Verify *verify, BlockId id) {
    const Block *b = block(verify, id);
    bool falls = falls_through(verify, id);
    unsigned found = 0, n = b->insts.n;
    if (!falls)
        check_last(verify, id);
    for (unsigned p = 0; p < n; p++) {
        const Inst *i = inst(verify, b->insts.at[p]);
        if (!ir_is_terminator(verify->f, i))
            continue;
        bool second_last = p + 2 == n && i->op == OT_BRA && inst(verify, b->insts.at[n - 1])->op == OT_BRA;
        if (p + 1 != n && !second_last)
            fail(verify, id, p, "%s inside the block", ir_op_name(i->op));
        if (second_last && i->guard.kind == OPK_NONE)
            fail(verify, id, p, "a branch that is always taken is followed by another");
        if (i->op == OT_BRX) {
            found = b->succs.n;
            check_table(verify, id, p, i);
        }
        if (i->op != OT_BRA)
            continue;
        uint32_t t = branch_target(verify, i);
        if (!t || found >= b->succs.n || b->succs.at[found].i != t)
            fail(verify, id, p, "branch target bb%u is not successor %u", t, found);
        found++;
    }
    if (found + falls != b->succs.n)
        fail(verify, id, n ? n - 1 : 0, "%u successors, %u branch targets", b->succs.n, found + falls);
}

/* ---- instructions ---- */

static bool file_fits(unsigned slot_file, unsigned file) {
    return slot_file == file || (slot_file == RF_R && file == RF_UR) || (slot_file == RF_P && file == RF_UP);
}

static bool is_register(Operand o) { return o.kind == OPK_VAL || o.kind == OPK_REG; }

static void check_machine_operands(Verify *verify, BlockId b, unsigned at, const Inst *i) {
    const Target *t = verify->f->module->target;
    unsigned nd = isa_num_dst(i->op), ns = isa_num_src(i->op);
    if (!isa_target_has(t, i->op)) {
        fail(verify, b, at, "target %s has no %s", isa_target_name(t), ir_op_name(i->op));
        return;
    }
    if (i->ndst < nd || i->nsrc < ns) {
        fail(verify, b, at, "%s needs %u destinations and %u sources, has %u and %u", ir_op_name(i->op), nd,
             ns, i->ndst, i->nsrc);
        return;
    }
    const Operand *o = ir_operands(verify->f, i);
    for (unsigned k = 0; k < nd; k++) {
        IsaSlot s = isa_dst_slot(t, i->op, k);
        if (o[k].kind != OPK_NONE && !(is_register(o[k]) && file_fits(s.file, o[k].file)))
            fail(verify, b, at, "destination %s of %s has the wrong register file", s.name,
                 ir_op_name(i->op));
    }
    for (unsigned k = 0; k < ns; k++) {
        IsaSlot s = isa_src_slot(t, i->op, k);
        if (is_register(o[i->ndst + k]) && !file_fits(s.file, o[i->ndst + k].file))
            fail(verify, b, at, "source %s of %s has the wrong register file", s.name, ir_op_name(i->op));
    }
}

static void check_pseudo(Verify *verify, BlockId b, unsigned at, const Inst *i) {
    switch (i->op) {
    case IR_PHI:
        if (i->ndst != 1 || i->nsrc != block(verify, b)->preds.n)
            fail(verify, b, at, "phi has %u sources, the block %u predecessors", i->nsrc,
                 block(verify, b)->preds.n);
        if (at && inst(verify, block(verify, b)->insts.at[at - 1])->op != IR_PHI)
            fail(verify, b, at, "phi behind another instruction");
        break;
    case IR_COPY:
    case IR_FRAME_ADDR:
    case IR_RELOAD:
        if (i->ndst != 1 || i->nsrc != 1)
            fail(verify, b, at, "%s needs one destination and one source", ir_op_name(i->op));
        break;
    case IR_PARCOPY:
        if (i->nsrc < i->ndst || i->nsrc > i->ndst + (verify->f->is_physical ? 2 : 0))
            fail(verify, b, at, "parcopy has %u destinations and %u sources", i->ndst, i->nsrc);
        break;
    case IR_ENTRY:
        if (at || b.i != verify->f->entry.i)
            fail(verify, b, at, "entry is not the first instruction of the function");
        break;
    default: break;
    }
}

static void check_inst(Verify *verify, BlockId b, unsigned at, InstId id) {
    const Inst *i = inst(verify, id);
    const Operand *o = ir_operands(verify->f, i);
    if (ir_is_pseudo(i->op))
        check_pseudo(verify, b, at, i);
    else
        check_machine_operands(verify, b, at, i);
    if (!op_is_always(i->guard)) {
        if (!is_register(i->guard) || (i->guard.file != RF_P && i->guard.file != RF_UP) ||
            i->guard.count != 1)
            fail(verify, b, at, "guard is no predicate");
        if (i->ndst && !(i->flags & IF_TIED))
            fail(verify, b, at, "guarded definition has no tied sources");
    }
    for (unsigned k = 0; k < i->ndst; k++) {
        if (o[k].kind != OPK_NONE && !is_register(o[k]))
            fail(verify, b, at, "destination %u is no register", k);
        if (!(i->flags & IF_TIED) || o[k].kind != OPK_VAL)
            continue;
        Operand t = o[i->ndst + i->nsrc + k];
        if (t.kind != OPK_NONE && (!is_register(t) || t.file != o[k].file || t.count != o[k].count))
            fail(verify, b, at, "tied source %u does not match its destination", k);
    }
    if (verify->f->is_physical)
        FOR_OPERANDS(verify->f, i, operand)
            if (operand->kind == OPK_VAL)
                fail(verify, b, at, "virtual register after allocation");
}

/* ---- SSA ---- */

static void check_use(Verify *verify, Operand o, BlockId b, unsigned at, BlockId use_block, unsigned use_at) {
    if (o.kind != OPK_VAL)
        return;
    for (unsigned c = 0; c < o.count; c++) {
        ValId id = ir_operand_value(verify->f, o, c);
        const Value *val = &verify->f->values.at[id.i];
        uint32_t db = val->def.i ? verify->inst_block[val->def.i] : 0;
        if (!id.i)
            continue;
        if (!db) {
            fail(verify, b, at, "value %u is used but not defined", id.i);
            continue;
        }
        if (!verify->dom.in[use_block.i] || !verify->dom.in[db])
            continue; /* unreachable code */
        bool ok = db == use_block.i ? verify->inst_pos[val->def.i] < use_at
                                    : dom_contains(&verify->dom, db, use_block.i);
        if (!ok)
            fail(verify, b, at, "use of value %u is not dominated by its definition in bb%u", id.i, db);
    }
}

static void check_uses(Verify *verify, BlockId b, unsigned at, const Inst *i) {
    if (i->op == IR_PHI) {
        FOR_SRCS(verify->f, i, src) /* used at the end of the predecessor */
            check_use(verify, *src, b, at, block(verify, b)->preds.at[AT(src)], UINT32_MAX);
        return;
    }
    check_use(verify, i->guard, b, at, b, at);
    FOR_USES(verify->f, i, use)
        check_use(verify, *use, b, at, b, at);
}

static void check_defs(Verify *verify) {
    const Function *f = verify->f;
    uint32_t *defs = ARENA_ARRAY(&verify->arena, uint32_t, f->values.n + 1);
    FOR_BLOCKS(f, block_id) {
        FOR_INST_IDS(f, block_id, inst_id) {
            FOR_DSTS(f, inst(verify, inst_id), dst)
                for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++) {
                    uint32_t id = ir_operand_value(f, *dst, c).i;
                    if (!id)
                        continue;
                    if (defs[id]++)
                        fail(verify, block_id, AT(inst_id), "value %u is defined twice", id);
                    if (f->values.at[id].def.i != inst_id.i)
                        fail(verify, block_id, AT(inst_id), "value %u records another definition", id);
                }
        }
    }
}

static bool check_places(Verify *verify) {
    const Function *f = verify->f;
    verify->inst_block = ARENA_ARRAY(&verify->arena, uint32_t, f->insts.n);
    verify->inst_pos = ARENA_ARRAY(&verify->arena, uint32_t, f->insts.n);
    for (uint32_t n = 1; n < f->blocks.n; n++) {
        const Block *b = &f->blocks.at[n];
        for (unsigned p = 0; !b->dead && p < b->insts.n; p++) {
            uint32_t id = b->insts.at[p].i;
            if (id == 0 || id >= f->insts.n) {
                fail(verify, (BlockId){n}, p, "instruction %u does not exist", id);
                continue;
            }
            if (verify->inst_block[id])
                fail(verify, (BlockId){n}, p, "instruction %u is also in bb%u", id, verify->inst_block[id]);
            verify->inst_block[id] = n;
            verify->inst_pos[id] = p;
            check_ranges(verify, (BlockId){n}, p, &f->insts.at[id]);
        }
    }
    return verify->ok;
}

static void verify_all(Verify *verify) {
    if (!check_layout(verify) || !check_edges(verify) || !check_places(verify))
        return;
    FOR_BLOCKS(verify->f, b) {
        FOR_INST_IDS(verify->f, b, id)
            check_inst(verify, b, AT(id), id);
        check_end(verify, b);
    }
    if (!verify->ok || !verify->f->is_ssa)
        return;
    Graph graph = cfg_graph(&verify->arena, verify->f);
    verify->dom = dom_tree(&verify->arena, &graph, GRAPH_FORWARD, verify->f->entry.i);
    check_defs(verify);
    FOR_BLOCKS(verify->f, b)
        FOR_INSTS(verify->f, b, i)
            check_uses(verify, b, AT(i), i);
}

bool ir_verify(const Function *f, Diags *d, const char *after_pass) {
    Verify v = {.f = f, .d = d, .after = after_pass ? after_pass : "?", .ok = true};
    if (f->blocks.n <= 1) /* a declaration */
        return true;
    verify_all(&v);
    arena_free(&v.arena);
    return v.ok;
}
