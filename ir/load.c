/* Reads the text form of machine IR (ir/text.md) that print.c writes. In: any bytes. Out: a verified
 * module, or NULL after E0600 at the first place that is wrong. Numbers of values and blocks are bounded by
 * the size of the text, so that a short text cannot ask for much memory.
 * SPDX-License-Identifier: MIT */
#include "ir/load.h"
#include <stdio.h>
#include <string.h>

/* ---- instructions ---- */

enum { MAX_OPERANDS = 255 };
typedef struct {
    Operand at[MAX_OPERANDS];
    unsigned n;
} OperandList;

static void operand_list(Loader *loader, OperandList *list) {
    list->n = 0;
    do {
        if (list->n == MAX_OPERANDS) {
            ir_load_error(loader, "too many operands");
            return;
        }
        list->at[list->n++] = ir_load_operand(loader);
    } while (!loader->failed && ir_load_accept(loader, ","));
}

/* Does the line have a '=' outside all brackets? Then it starts with destinations. */
static bool has_destinations(const Loader *loader) {
    int depth = 0;
    for (const char *c = loader->at; c < loader->end && *c != '\n' && *c != ';'; c++) {
        depth += (*c == '(' || *c == '[' || *c == '{') - (*c == ')' || *c == ']' || *c == '}');
        if (*c == '=' && depth == 0)
            return true;
    }
    return false;
}

static unsigned operation(Loader *loader) {
    ir_load_skip_blank(loader);
    size_t n = ir_load_word_size(loader);
    uint32_t op = strmap_get(&loader->op_by_name, str_find(&loader->op_names, loader->at, n));
    if (!op) {
        ir_load_error(loader, "no such operation");
        return 0;
    }
    loader->at += n;
    return op - 1;
}

/* name=value of one modifier, put into *mods */
static void modifier(Loader *loader, unsigned op, uint32_t *mods) {
    char text[32];
    ir_load_skip_blank(loader);
    const char *start = loader->at;
    size_t n = ir_load_word_size(loader);
    unsigned k = 0, count = ir_is_pseudo(op) ? 0 : isa_num_mods(op);
    if (n && n < sizeof text) {
        memcpy(text, loader->at, n);
        text[n] = '\0';
        while (k < count && strcmp(isa_mod_info(op, k).name, text) != 0)
            k++;
    } else
        k = count;
    if (k == count) {
        ir_load_error(loader, "the operation has no such modifier");
        return;
    }
    loader->at += n;
    if (!ir_load_expect(loader, "="))
        return;
    IsaModInfo m = isa_mod_info(op, k);
    uint32_t mask = (uint32_t)(((uint64_t)1 << m.width) - 1), value = 0;
    ir_load_skip_blank(loader);
    n = ir_load_word_size(loader);
    if (ir_load_digit_value(ir_load_peek(loader), 10) >= 0)
        value = (uint32_t)ir_load_number(loader, mask);
    else if (n && n < sizeof text) {
        memcpy(text, loader->at, n);
        text[n] = '\0';
        int v = isa_mod_value(op, k, text);
        if (v < 0 || (uint32_t)v > mask)
            ir_load_error_at(loader, start, "the modifier has no such value");
        value = (uint32_t)v;
        loader->at += loader->failed ? 0 : n;
    } else
        ir_load_error(loader, "modifier value expected");
    *mods = (*mods & ~(mask << m.lo)) | (((value ^ m.def) & mask) << m.lo);
}

static uint16_t flag_list(Loader *loader) {
    unsigned flags = 0;
    while (!loader->failed && !ir_load_accept(loader, "]")) {
        unsigned k = 0;
        while (k < IR_NUM_FLAGS && !ir_load_accept_word(loader, ir_flag_names[k]))
            k++;
        if (k == IR_NUM_FLAGS)
            ir_load_error(loader, "flag expected");
        flags |= 1u << k;
    }
    return (uint16_t)(flags & ~(unsigned)IF_TIED);
}

static uint32_t control(Loader *p) {
    Control c = {0};
    c.stall_cycles = (uint8_t)ir_load_number(p, 15);
    c.yield = (uint8_t)ir_load_number(p, 1);
    c.write_sb = (uint8_t)ir_load_number(p, 7);
    c.read_sb = (uint8_t)ir_load_number(p, 7);
    c.wait_mask = (uint8_t)ir_load_number(p, 63);
    ir_load_expect(p, ")");
    return ir_control_pack(c);
}

static LocId location(Loader *loader) {
    Loc l = {.ptx_insn = ir_load_number32(loader)};
    l.src.i = ir_load_number32(loader);
    l.line = ir_load_number32(loader);
    ir_load_expect(loader, ")");
    const Loc *last = &loader->f->locs.at[loader->f->locs.n - 1];
    if (loader->f->locs.n == 1 || last->ptx_insn != l.ptx_insn || last->src.i != l.src.i ||
        last->line != l.line)
        *VEC_PUSH(loader->f->arena, &loader->f->locs) = l;
    return (LocId){loader->f->locs.n - 1};
}

static void tail(Loader *loader, InstId id) {
    for (;;) {
        if (ir_load_accept(loader, "flags["))
            ir_inst(loader->f, id)->flags =
                (uint16_t)(flag_list(loader) | (ir_inst(loader->f, id)->flags & IF_TIED));
        else if (ir_load_accept(loader, "ctrl("))
            ir_inst(loader->f, id)->sched = control(loader);
        else if (ir_load_accept(loader, "loc(")) {
            LocId loc = location(loader);
            ir_inst(loader->f, id)->loc = loc;
        } else
            return;
    }
}

static bool at_tail(Loader *loader) {
    ir_load_skip_blank(loader);
    static const char *const words[] = {"tied(", "flags[", "ctrl(", "loc("};
    for (unsigned k = 0; k < 4; k++) {
        size_t n = strlen(words[k]);
        if ((size_t)(loader->end - loader->at) >= n && memcmp(loader->at, words[k], n) == 0)
            return true;
    }
    return loader->at == loader->end || *loader->at == '\n' || *loader->at == ';';
}

static void tied(Loader *loader, InstId id, OperandList *list) {
    unsigned ndst = ir_inst(loader->f, id)->ndst;
    list->n = 0;
    if (!ir_load_accept(loader, ")")) {
        operand_list(loader, list);
        ir_load_expect(loader, ")");
    }
    if (loader->failed)
        return;
    if (list->n != ndst) {
        ir_load_error(loader, "one tied source for each destination expected");
        return;
    }
    for (unsigned k = 0; k < ndst; k++) /* they lie behind the sources: this instruction is the newest */
        VEC_ADD(loader->f->arena, &loader->f->operands, list->at[k]);
    ir_inst(loader->f, id)->flags |= IF_TIED;
}

static void instruction(Loader *loader, BlockId b, OperandList *dst, OperandList *src) {
    Operand guard = {0};
    uint32_t mods = 0;
    if (ir_load_accept(loader, "@"))
        guard = ir_load_operand(loader);
    dst->n = src->n = 0;
    if (has_destinations(loader)) {
        operand_list(loader, dst);
        ir_load_expect(loader, "=");
    }
    unsigned op = operation(loader);
    if (!loader->failed && ir_load_peek(loader) == ':' && ir_load_accept(loader, ":"))
        mods = ir_load_number32(loader);
    else if (!loader->failed && ir_load_peek(loader) == '(' && ir_load_accept(loader, "("))
        while (!loader->failed && !ir_load_accept(loader, ")"))
            modifier(loader, op, &mods);
    if (!loader->failed && !at_tail(loader))
        operand_list(loader, src);
    if (loader->failed)
        return;
    InstId id = ir_inst_new(loader->f, op, dst->n, src->n);
    Inst *i = ir_inst(loader->f, id);
    i->guard = guard;
    i->mods = mods;
    for (unsigned k = 0; k < dst->n; k++)
        ir_set_dst(loader->f, id, k, dst->at[k]);
    for (unsigned k = 0; k < src->n; k++)
        ir_set_src(loader->f, id, k, src->at[k]);
    if (ir_load_accept(loader, "tied("))
        tied(loader, id, src);
    tail(loader, id);
    if (ir_load_end_line(loader))
        ir_append(loader->f, b, id);
}

/* ---- blocks, functions, module ---- */

static void edge_list(Loader *loader, BlockId b, bool is_succ) {
    while (!loader->failed && !ir_load_accept(loader, ")")) {
        BlockId o = ir_load_block_id(loader, 1);
        Block *blk = ir_block(loader->f, b); /* block_id may have moved it */
        if (is_succ)
            VEC_ADD(loader->f->arena, &blk->succs, o);
        else
            VEC_ADD(loader->f->arena, &blk->preds, o);
    }
}

static void basic_block(Loader *loader, OperandList *dst, OperandList *src) {
    BlockId b = ir_load_block_id(loader, 2);
    if (loader->failed || !ir_load_expect(loader, ":"))
        return;
    ir_block(loader->f, b)->dead = false;
    ir_block(loader->f, b)->order = loader->f->layout.n;
    VEC_ADD(loader->f->arena, &loader->f->layout, b);
    if (ir_load_accept(loader, "preds("))
        edge_list(loader, b, false);
    if (ir_load_accept(loader, "succs("))
        edge_list(loader, b, true);
    if (ir_load_accept(loader, "label="))
        ir_block(loader->f, b)->label = ir_load_number32(loader);
    if (ir_load_accept(loader, "depth="))
        ir_block(loader->f, b)->loop_depth = ir_load_number32(loader);
    ir_block(loader->f, b)->uniform_flow = ir_load_accept_word(loader, "uniform");
    ir_load_end_line(loader);
    while (!loader->failed && loader->at < loader->end && *loader->at != '}' &&
           !(loader->end - loader->at > 2 && loader->at[0] == 'b' && loader->at[1] == 'b' &&
             ir_load_digit_value(loader->at[2], 10) >= 0)) {
        instruction(loader, b, dst, src);
        ir_load_skip_blank(loader);
    }
}

static void summary(Loader *loader) {
    FuncSummary *func_summary = &loader->f->summary;
    func_summary->frame_bytes = (uint32_t)ir_load_key_number(loader, "frame", UINT32_MAX);
    func_summary->stack_bytes = (uint32_t)ir_load_key_number(loader, "stack", UINT32_MAX);
    func_summary->max_b = (uint32_t)ir_load_key_number(loader, "maxb", UINT32_MAX);
    for (unsigned file = 0; file < RF_COUNT; file++) {
        const char *save = loader->at;
        if (!ir_load_accept(loader, ir_phys_names[file]) || !ir_load_accept(loader, "(")) {
            loader->at = loader->failed ? loader->end : save;
            continue;
        }
        func_summary->clobbers[file] = bs_new(loader->f->arena, 256);
        while (!loader->failed && !ir_load_accept(loader, ")")) {
            uint32_t r = (uint32_t)ir_load_number(loader, 255);
            if (!loader->failed)
                bs_add(&func_summary->clobbers[file], r);
        }
    }
    ir_load_end_line(loader);
}

static void properties(Loader *loader) {
    Function *f = loader->f;
    f->is_ssa = f->uniform_entry = false;
    f->is_entry = ir_load_accept_word(loader, "entry");
    f->is_ssa = ir_load_accept_word(loader, "ssa");
    f->is_physical = ir_load_accept_word(loader, "physical");
    f->noreturn = ir_load_accept_word(loader, "noreturn");
    f->uniform_entry = ir_load_accept_word(loader, "uniform_entry");
    f->uses_sync = ir_load_accept_word(loader, "uses_sync");
    if (ir_load_accept_word(loader, "shared") && ir_load_expect(loader, "="))
        f->shared_bytes = (uint32_t)ir_load_number(loader, UINT32_MAX);
    f->var_bytes = (uint32_t)ir_load_key_number(loader, "var", UINT32_MAX);
    f->spill_bytes = (uint32_t)ir_load_key_number(loader, "spill", UINT32_MAX);
    f->nbarriers_used = (uint32_t)ir_load_key_number(loader, "barriers", UINT32_MAX);
    f->b_base = (uint32_t)ir_load_key_number(loader, "bbase", UINT32_MAX);
    if (!ir_load_expect(loader, "start") || !ir_load_expect(loader, "="))
        return;
    if (!ir_load_accept_word(loader, "bb0"))
        f->entry = ir_load_block_id(loader, 1);
    ir_load_expect(loader, "{");
    ir_load_end_line(loader);
}

/* table OFFSET (0 1 2 0) */
static void branch_table(Loader *loader) {
    BranchTable t = {.offset_bytes = ir_load_number32(loader)};
    ir_load_expect(loader, "(");
    while (!loader->failed && !ir_load_accept(loader, ")")) {
        uint32_t e = ir_load_number32(loader);
        VEC_ADD(loader->f->arena, &t.entries, e);
    }
    if (t.offset_bytes % 4 || t.offset_bytes > 0x10000 || t.entries.n > (0x10000 - t.offset_bytes) / 4)
        ir_load_error(loader, "the table does not fit the constant bank");
    *VEC_PUSH(loader->f->arena, &loader->f->tables) = t;
    ir_load_end_line(loader);
}

static void function(Loader *loader) {
    const char *start = loader->at;
    StrId id = ir_load_name(loader);
    if (loader->failed)
        return;
    if (ir_find_function(loader->m, id)) {
        ir_load_error_at(loader, start, "function is defined twice");
        return;
    }
    loader->f = ir_function_new(loader->m, id, false);
    memset(&loader->block_state, 0, sizeof loader->block_state);
    memset(&loader->value_known, 0, sizeof loader->value_known);
    properties(loader);
    if (ir_load_accept_word(loader, "summary"))
        summary(loader);
    while (!loader->failed && ir_load_accept_word(loader, "table"))
        branch_table(loader);
    OperandList dst, src;
    while (!loader->failed && !ir_load_accept(loader, "}"))
        basic_block(loader, &dst, &src);
    for (uint32_t b = 1; !loader->failed && b < loader->block_state.n; b++)
        if (loader->block_state.at[b] == 1)
            ir_load_error_at(loader, start, "a block that the function names is not defined");
    ir_load_end_line(loader);
}

static void variable(Loader *loader) {
    IrVar v = {.name = ir_load_name(loader)};
    v.linkage = (uint8_t)ir_load_key_number(loader, "linkage", 255);
    v.space = (uint8_t)ir_load_key_number(loader, "space", 255);
    v.align_bytes = (uint32_t)ir_load_key_number(loader, "align", UINT32_MAX);
    v.size_bytes = ir_load_key_number(loader, "size", UINT64_MAX);
    v.offset_bytes = ir_load_key_number(loader, "offset", UINT64_MAX);
    v.is_extern_shared = ir_load_accept_word(loader, "extern_shared");
    if (ir_load_end_line(loader))
        *VEC_PUSH(&loader->m->arena, &loader->m->vars) = v;
}

static void header(Loader *loader) {
    ir_load_skip_lines(loader);
    if (!ir_load_expect(loader, "module"))
        return;
    ir_load_skip_blank(loader);
    char text[32] = {0};
    size_t n = ir_load_word_size(loader);
    if (n < sizeof text)
        memcpy(text, loader->at, n);
    const Target *t = isa_target(text);
    if (!t) {
        char what[256];
        snprintf(what, sizeof what, "unknown target, there are %s", isa_target_names);
        ir_load_error(loader, what);
        return;
    }
    loader->at += n;
    loader->m->target = t;
    loader->m->opt_level = (unsigned)ir_load_key_number(loader, "opt", 3);
    loader->m->const_bytes = (uint32_t)ir_load_key_number(loader, "const", UINT32_MAX);
    ir_load_end_line(loader);
}

static bool verify_loaded(Loader *loader) {
    bool ok = true;
    for (unsigned k = 0; k < loader->m->funcs.n; k++)
        ok &= ir_verify(loader->m->funcs.at[k], loader->d, "load");
    return ok;
}

IrModule *ir_load(const Source *text, StrTab *strings, Diags *d) {
    Loader p = {.src = text, .at = text->text, .end = text->text + text->size_bytes, .d = d};
    uint64_t limit = 4 * (uint64_t)text->size_bytes + 65536;
    p.id_limit = limit > 1u << 26 ? 1u << 26 : (uint32_t)limit;
    p.m = ir_module_new(isa_targets[0], strings);
    for (unsigned op = 0; op < IR_OP_COUNT; op++) {
        const char *n = ir_op_name(op);
        if (n && *n)
            strmap_put(&p.op_by_name, &p.m->arena, str_intern_z(&p.op_names, n), op + 1);
    }
    header(&p);
    while (!p.failed && p.at < p.end) {
        if (ir_load_accept_word(&p, "var"))
            variable(&p);
        else if (ir_load_accept_word(&p, "func"))
            function(&p);
        else
            ir_load_error(&p, "'var' or 'func' expected");
        ir_load_skip_lines(&p);
    }
    if (!p.failed && !verify_loaded(&p))
        p.failed = true;
    str_free(&p.op_names);
    if (p.failed) {
        ir_module_free(p.m);
        return NULL;
    }
    return p.m;
}
