/* Machine IR to encoded words: addresses, branch distances, relocations, and what the ELF writer wants to
 * know of each function. In: physical, laid out, scheduled IR. Spec: code.h; cubin tail (self-branch, NOPs up
 * to 128 bytes). It asks by name for operations whose operands are places in the code, of which each has
 * another form, and for those that the records of the file count. SPDX-License-Identifier: MIT */
#include "emit/code.h"
#include "frontend/param_layout.h"
#include "base/scope.h"
#include "emit/emit.h"
#include "frontend/ast.h"
#include "isa/machine/banks.h"
#include <stdlib.h>
#include <string.h>

enum { PAD_INSTS = 8 };

typedef struct {
    const IrModule *m;
    Function *f;
    CodeModule *code;
    CodeFunc *out;
    Diags *d;
    uint32_t *address;   /* by block: instruction index */
    uint32_t table_base; /* of the function's jump tables in constant bank 2 */
} Encode;

static bool encode_error(Encode *encode, const Inst *i, const char *what) {
    SrcLoc loc = i && i->loc.i < encode->f->locs.n ? encode->f->locs.at[i->loc.i].src : (SrcLoc){0};
    return diag(encode->d, loc, DIAG_E0301, str_text(encode->m->strings, encode->f->name),
                i ? ir_op_name(i->op) : "end", what);
}

/* Index of the instruction behind the BSYNC of block b on barrier register `breg`, or UINT32_MAX. */
static uint32_t behind_bsync(Encode *encode, BlockId b, Operand breg) {
    FOR_INSTS(encode->f, b, i) {
        if (i->op == OT_BSYNC && ir_src(encode->f, i, BSYNC_breg)->value == breg.value)
            return encode->address[b.i] + AT(i) + 1;
    }
    return UINT32_MAX;
}

static bool takes(const Encode *encode, unsigned op, unsigned slot, OperandKind kind) {
    return isa_src_slot(encode->m->target, op, slot).kinds >> kind & 1;
}

static bool set_distance(Encode *e, MachInst *inst, unsigned k, uint32_t from, uint32_t to) {
    int64_t bytes = ((int64_t)to - (int64_t)from - 1) * INST_BYTES;
    if (takes(e, inst->optype, k, OPK_IMM64) || !takes(e, inst->optype, k, OPK_IMM)) {
        inst->src[k] = (Operand){OPK_IMM64, 0, 0, 0, 0};
        inst->wide = bytes;
    } else {
        inst->src[k] = op_imm((uint32_t)(int32_t)bytes);
    }
    return true;
}

static bool resolve_block(Encode *encode, const Inst *i, MachInst *inst, unsigned k, uint32_t at) {
    BlockId b = {inst->src[k].value};
    if (b.i >= encode->f->blocks.n || ir_block(encode->f, b)->dead)
        return encode_error(encode, i, "the branch target is no block of the function");
    uint32_t to = encode->address[b.i];
    if (i->op == OT_BSSY) {
        to = behind_bsync(encode, b, *ir_src(encode->f, i, BSSY_breg));
        if (to == UINT32_MAX)
            return encode_error(encode, i, "the block it names has no BSYNC on its barrier register");
    }
    return set_distance(encode, inst, k, at, to);
}

/* Distance from position p of block b to the instruction behind the next CALL, 0 if there is none. */
static uint32_t behind_call(Encode *encode, const Block *b, unsigned p) {
    for (unsigned q = p + 1; q < b->insts.n; q++)
        if (ir_inst(encode->f, b->insts.at[q])->op == OT_CALL)
            return q - p + 1;
    return 0;
}

static bool resolve_symbol(Encode *encode, const Inst *i, MachInst *inst, unsigned k, const Block *b,
                           unsigned p, uint32_t at) {
    SymRef s = encode->f->symrefs.at[inst->src[k].value];
    if (s.addend == EMIT_BEHIND_CALL) {
        uint32_t n = behind_call(encode, b, p);
        if (!n)
            return encode_error(encode, i, "no CALL follows in its block");
        s.addend = (int64_t)(at + n) * INST_BYTES;
    }
    VEC_ADD(&encode->code->arena, &encode->out->relocs,
            ((CodeReloc){at * INST_BYTES, s.kind, s.symbol, s.addend}));
    if (takes(encode, inst->optype, k, OPK_IMM)) {
        inst->src[k] = op_imm(0);
    } else {
        inst->src[k] = (Operand){OPK_IMM64, 0, 0, 0, 0};
        inst->wide = 0;
    }
    return true;
}

/* LEPC without an offset names the instruction behind the next CALL of its block. Its offset counts from
 * LEPC itself, not from the next instruction (docs/spec-resolutions.md, 19). */
static bool resolve_lepc(Encode *e, const Inst *i, MachInst *inst, const Block *b, unsigned p, uint32_t at) {
    if (inst->nsrc <= LEPC_offset || inst->src[LEPC_offset].kind != OPK_NONE)
        return true;
    uint32_t n = behind_call(e, b, p);
    return n ? set_distance(e, inst, LEPC_offset, at, at + n + 1)
             : encode_error(e, i, "no CALL follows in its block");
}

/* The register of a BRX holds an offset from the function's start, so its offset leads back there. */
static bool resolve_brx(Encode *encode, const Inst *i, MachInst *m, const Block *b, uint32_t at) {
    const BranchTable *table = ir_branch_table(encode->f, i);
    if (!table)
        return encode_error(encode, i, "it has no jump table");
    uint32_t *targets = ARENA_ARRAY(&encode->code->arena, uint32_t, table->entries.n + 1);
    for (unsigned k = 0; k < table->entries.n; k++)
        targets[k] = encode->address[b->succs.at[table->entries.at[k]].i] * INST_BYTES;
    VEC_ADD(
        &encode->code->arena, &encode->out->tables,
        ((CodeTable){at * INST_BYTES, encode->table_base + table->offset_bytes, targets, table->entries.n}));
    return set_distance(encode, m, BRX_offset, at, 0);
}

static bool put_word(Encode *encode, const Inst *i, const MachInst *m, uint32_t at) {
    char error[ISA_ERROR_BYTES];
    if (!isa_encode(encode->m->target, m, encode->out->words[at], error))
        return encode_error(encode, i, error);
    return true;
}

/* Linkers and the driver's loader, which places each function where it likes, tell addresses, not distances;
 * and ptxas's callers and callees do not count calls. */
static void make_linkable(MachInst *inst) {
    if (inst->optype == OT_CALL)
        inst->mods = MPUT(CALL, noinc, MPUT(CALL, mode, inst->mods, BasePCMode_ABS), 1);
    if (inst->optype == OT_RET)
        inst->mods = MPUT(RET, nodec, inst->mods, 1);
}

static bool encode_block(Encode *encode, BlockId id) {
    const Block *b = ir_block(encode->f, id);
    if (b->label && b->insts.n)
        encode->out->block_of[encode->address[id.i]] = b->label;
    FOR_INSTS(encode->f, id, i) {
        uint32_t at = encode->address[id.i] + AT(i);
        if (ir_is_pseudo(i->op))
            return encode_error(encode, i, "the operation is still abstract");
        MachInst m = emit_mach(encode->f, i);
        if (encode->m->relocatable || isa_target_info(encode->m->target)->elf_form != ElfForm_BRU1)
            make_linkable(&m);
        for (unsigned k = 0; k < m.nsrc; k++) {
            if (m.src[k].kind == OPK_BLOCK && !resolve_block(encode, i, &m, k, at))
                return false;
            if (m.src[k].kind == OPK_SYM && !resolve_symbol(encode, i, &m, k, b, AT(i), at))
                return false;
            if (m.src[k].kind == OPK_VAL)
                return encode_error(encode, i, "a register is still virtual");
            if (m.src[k].kind == OPK_CMEM && op_cmem_bank(m.src[k]) == CONST_BANK_JUMPS)
                m.src[k].value += encode->table_base;
        }
        if (i->op == OT_LEPC && !resolve_lepc(encode, i, &m, b, AT(i), at))
            return false;
        if (i->op == OT_BRX && !resolve_brx(encode, i, &m, b, at))
            return false;
        if (!put_word(encode, i, &m, at))
            return false;
        encode->out->locs[at] = i->loc;
        encode->out->uses_bssy |= i->op == OT_BSSY;
    }
    return true;
}

/* What sets a function up belongs to no statement: it counts as part of the first, so that a trap in it (a
 * stack that is used up) has a line. */
static void locate_prologue(CodeFunc *out) {
    uint32_t first = 0;
    while (first < out->ninsts && !out->locs[first].i)
        first++;
    for (uint32_t at = 0; first < out->ninsts && at < first; at++)
        out->locs[at] = out->locs[first];
}

static bool encode_tail(Encode *encode, uint32_t end) {
    const Control rest = {.stall_cycles = 0, .yield = 1, .write_sb = 7, .read_sb = 7};
    MachInst m = isa_inst(OT_BRA);
    m.ctrl = rest;
    set_distance(encode, &m, IR_BRA_TARGET_SLOT, end, end);
    if (!put_word(encode, NULL, &m, end))
        return false;
    m = isa_inst(OT_NOP);
    m.ctrl = rest;
    for (uint32_t at = end + 1; at < encode->out->ninsts; at++)
        if (!put_word(encode, NULL, &m, at))
            return false;
    return true;
}

/* ---- facts about the function ---- */

/* Registers that the function itself names. */
static uint32_t count_regs(const Encode *encode) {
    uint32_t count = 0;
    FOR_BLOCKS(encode->f, b)
        FOR_INSTS(encode->f, b, i)
            FOR_OPERANDS(encode->f, i, o) {
                if (o->kind != OPK_REG || o->file != RF_R || o->value == REG_RZ)
                    continue;
                uint32_t n = o->value + (o->count ? o->count : 1u);
                count = n > count && n <= REG_RZ ? n : count;
            }
    return count;
}

static bool raise(uint32_t *what, uint32_t to) {
    bool grows = to > *what;
    if (grows)
        *what = to;
    return grows;
}

/* What a function needs for what it calls. */
static bool take_from(CodeFunc *caller, const CodeFunc *callee) {
    bool changed = raise(&caller->nregs, callee->nregs);
    changed |= raise(&caller->nbarriers, callee->nbarriers);
    changed |= callee->uses_ctaid_z && !caller->uses_ctaid_z;
    caller->uses_ctaid_z |= callee->uses_ctaid_z;
    return changed;
}

/* A caller needs the registers and barriers of whatever it calls, and what the driver sets up for it; an
 * unknown callee may be any device function.
 *   of   [index in the module] a function's code, NULL of declarations
 *   any  what all device functions need together */
static bool take_from_callees(const CodeModule *code, CodeFunc *caller, CodeFunc *const *of,
                              const CodeFunc *any) {
    Function *f = code->ir->funcs.at[caller->ir->index];
    bool changed = false;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            if (i->op != OT_CALL)
                continue;
            const Function *g = ir_callee(f, i);
            if (!g && code->ir->relocatable)
                continue; /* the linker's business */
            const CodeFunc *callee = g ? of[g->index] : any;
            changed |= callee && take_from(caller, callee);
        }
    return changed;
}

static void total_over_calls(CodeModule *code) {
    CodeFunc **of = ARENA_ARRAY(&code->arena, CodeFunc *, code->ir->funcs.n + 1), any = {0};
    for (unsigned k = 0; k < code->nfuncs; k++)
        of[code->funcs[k].ir->index] = &code->funcs[k];
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned k = 0; k < code->nfuncs; k++)
            if (!code->funcs[k].is_entry)
                take_from(&any, &code->funcs[k]);
        for (unsigned k = 0; k < code->nfuncs; k++)
            changed |= take_from_callees(code, &code->funcs[k], of, &any);
    }
    for (unsigned k = 0; k < code->nfuncs; k++)
        code->funcs[k].nregs += isa_target_info(code->ir->target)->reserved_regs;
}

static uint32_t param_bytes(const Encode *encode) {
    const PtxFunc *ptx = encode->f->ptx;
    if (!ptx || !encode->m->ptx || !encode->f->is_entry)
        return 0;
    return (uint32_t)ptx_param_bytes(encode->m->ptx, ptx,
                                     isa_target_info(encode->m->target)->param_base_bytes);
}

static void note_barriers(Encode *encode) {
    uint32_t n = encode->f->nbarriers_used;
    int z = isa_sreg_number(encode->m->target, "ctaid.z");
    FOR_BLOCKS(encode->f, b)
        FOR_INSTS(encode->f, b, i) {
            if (isa_has_effect(i->op, ISA_EFFECT_CTA_BARRIER)) {
                Operand id = *ir_src(encode->f, i, 0);
                uint32_t used = id.kind == OPK_REG && id.value != REG_RZ ? 16
                                : id.kind == OPK_IMM                     ? id.value + 1
                                                                         : 1;
                n = used > n ? used : n;
            }
            FOR_OPERANDS(encode->f, i, o)
                encode->out->uses_ctaid_z |= o->kind == OPK_SREG && (int)o->value == z;
        }
    encode->out->nbarriers = n;
}

/* Function.var_rows with addresses in place of instructions. A row whose instructions are gone is left out.
 */
static void variable_rows(Encode *encode) {
    Function *f = encode->f;
    Arena *a = &encode->code->arena;
    uint32_t *at = ARENA_ARRAY(a, uint32_t, f->insts.n); /* index + 1 */
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id)
            at[id.i] = encode->address[b.i] + AT(id) + 1;
    encode->out->var_rows = ARENA_ARRAY(a, struct CodeVarRow, f->var_rows.n);
    for (unsigned k = 0; k < f->var_rows.n; k++) {
        IrVarRow r = f->var_rows.at[k];
        const Block *b = ir_block(f, r.block);
        if (b->dead || !r.ptx_reg || (r.from.i && !at[r.from.i]) || (r.to.i && !at[r.to.i]))
            continue;
        uint32_t lo = r.from.i ? at[r.from.i] : encode->address[r.block.i];
        uint32_t hi = r.to.i ? at[r.to.i] : encode->address[r.block.i] + b->insts.n;
        if (lo < hi)
            encode->out->var_rows[encode->out->nvar_rows++] =
                (struct CodeVarRow){lo * INST_BYTES, hi * INST_BYTES, r.ptx_reg, r.component, r.file, r.reg};
    }
}

static void code_points(Encode *encode) {
    Function *f = encode->f;
    encode->out->points = ARENA_ARRAY(&encode->code->arena, struct CodePoint, f->layout.n);
    FOR_BLOCKS(f, b) {
        uint32_t insn = ir_block(f, b)->ptx_insn;
        if (insn)
            encode->out->points[encode->out->npoints++] =
                (struct CodePoint){encode->address[b.i] * INST_BYTES, insn};
    }
}

static bool encode_function(Encode *encode) {
    Function *f = encode->f;
    Arena *a = &encode->code->arena;
    encode->address = ARENA_ARRAY(a, uint32_t, f->blocks.n);
    uint32_t end = 0;
    FOR_BLOCKS(f, b) {
        encode->address[b.i] = end;
        end += ir_block(f, b)->insts.n;
    }
    CodeFunc *out = encode->out;
    out->ninsts = (end + 1 + PAD_INSTS + PAD_INSTS - 1) / PAD_INSTS * PAD_INSTS;
    out->words = arena_alloc(a, sizeof *out->words * out->ninsts);
    out->locs = ARENA_ARRAY(a, LocId, out->ninsts);
    out->block_of = ARENA_ARRAY(a, uint32_t, out->ninsts);
    FOR_BLOCKS(f, b)
        if (!encode_block(encode, b))
            return false;
    if (!encode_tail(encode, end))
        return false;
    locate_prologue(out);
    out->nregs = count_regs(encode);
    out->frame_bytes = f->summary.frame_bytes;
    out->stack_bytes = f->summary.stack_bytes;
    out->shared_bytes = f->shared_bytes;
    out->param_bytes = param_bytes(encode);
    note_barriers(encode);
    variable_rows(encode);
    code_points(encode);
    return true;
}

CodeModule *code_encode(const IrModule *module, Diags *d) {
    CodeModule *code = mem_zeroed(1, sizeof *code);
    code->ir = module;
    code->funcs = ARENA_ARRAY(&code->arena, CodeFunc, module->funcs.n + 1);
    uint32_t *table_base = ARENA_ARRAY(&code->arena, uint32_t, module->funcs.n + 1);
    bool ok = elf_place_tables(module, table_base, d);
    for (unsigned k = 0; ok && k < module->funcs.n; k++) {
        Function *f = module->funcs.at[k];
        CodeFunc *out = &code->funcs[k];
        *out = (CodeFunc){.name = f->name, .ir = f, .is_entry = f->is_entry};
        Encode e = {.m = module, .f = f, .code = code, .out = out, .d = d, .table_base = table_base[k]};
        if (f->entry.i)
            ok = encode_function(&e);
    }
    for (unsigned k = 0; k < module->funcs.n; k++) /* declarations have no code */
        if (module->funcs.at[k]->entry.i)
            code->funcs[code->nfuncs++] = code->funcs[k];
    total_over_calls(code);
    if (ok)
        elf_fill_banks(code);
    if (!ok) {
        code_free(code);
        return NULL;
    }
    return code;
}

void code_free(CodeModule *module) {
    if (!module)
        return;
    arena_free(&module->arena);
    mem_free(module);
}
