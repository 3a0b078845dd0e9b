/* Reads the text form of machine IR (ir/text.md) that print.c writes. In: any bytes. Out: a verified
 * module, or NULL after E0600 at the first place that is wrong. Numbers of values and blocks are bounded by
 * the size of the text, so that a short text cannot ask for much memory.
 * SPDX-License-Identifier: MIT */
#include "ir/text.h"
#include <stdio.h>
#include <string.h>

typedef struct {
    const Source *src;
    const char *at, *end;
    Diags *d;
    bool failed;
    IrModule *m;
    Function *f;
    uint32_t id_limit;
    StrTab op_names;          /* names of operations ... */
    StrMap op_by_name;        /* ... to number + 1 */
    VEC(uint8_t) block_state; /* [block] 1 mentioned, 2 defined */
    VEC(uint8_t) value_known; /* [value] mentioned, so its file is fixed */
} Loader;

static bool load_error_at(Loader *loader, const char *where, const char *what) {
    if (!loader->failed)
        diag_in(loader->d, loader->src, (SrcLoc){(uint32_t)(where - loader->src->text) + 1}, DIAG_E0600,
                what);
    loader->failed = true;
    loader->at = loader->end; /* every loop below ends here */
    return false;
}

static bool load_error(Loader *loader, const char *what) { return load_error_at(loader, loader->at, what); }

/* ---- characters and words ---- */

static char peek(const Loader *loader) { return loader->at < loader->end ? *loader->at : '\0'; }

static void skip_blank(Loader *loader) {
    while (loader->at < loader->end && (*loader->at == ' ' || *loader->at == '\t' || *loader->at == '\r'))
        loader->at++;
}

static void skip_lines(Loader *loader) { /* blanks, line ends and ; comments */
    while (loader->at < loader->end) {
        skip_blank(loader);
        if (peek(loader) == ';')
            while (loader->at < loader->end && *loader->at != '\n')
                loader->at++;
        if (peek(loader) != '\n')
            return;
        loader->at++;
    }
}

static bool end_line(Loader *loader) {
    skip_blank(loader);
    if (peek(loader) == ';' || peek(loader) == '\n' || loader->at == loader->end) {
        skip_lines(loader);
        return !loader->failed;
    }
    return load_error(loader, "end of line expected");
}

static bool accept(Loader *loader, const char *word) {
    skip_blank(loader);
    size_t n = strlen(word);
    if ((size_t)(loader->end - loader->at) < n || memcmp(loader->at, word, n) != 0)
        return false;
    loader->at += n;
    return true;
}

static bool expect(Loader *p, const char *word) {
    if (accept(p, word))
        return true;
    char text[64];
    snprintf(text, sizeof text, "'%s' expected", word);
    return load_error(p, text);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$';
}

/* A whole word, for keywords: "ssa" does not accept "ssab". */
static bool accept_word(Loader *loader, const char *word) {
    const char *save = loader->at;
    if (accept(loader, word) && !is_word(peek(loader)))
        return true;
    loader->at = save;
    return false;
}

static size_t word_size(const Loader *loader) {
    size_t n = 0;
    while (loader->at + n < loader->end && is_word(loader->at[n]))
        n++;
    return n;
}

static int digit_value(char c, unsigned base) {
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return v < (int)base ? v : -1;
}

static uint64_t load_number(Loader *loader, uint64_t max) {
    skip_blank(loader);
    const char *start = loader->at;
    unsigned base = 10;
    if (loader->end - loader->at > 2 && loader->at[0] == '0' && loader->at[1] == 'x')
        base = 16, loader->at += 2;
    uint64_t v = 0;
    if (digit_value(peek(loader), base) < 0) {
        load_error_at(loader, start, "number expected");
        return 0;
    }
    for (int dgt; (dgt = digit_value(peek(loader), base)) >= 0; loader->at++) {
        if (v > (UINT64_MAX - (uint64_t)dgt) / base) {
            load_error_at(loader, start, "number is too large");
            return 0;
        }
        v = v * base + (uint64_t)dgt;
    }
    if (v > max) {
        load_error_at(loader, start, "number is too large");
        return 0;
    }
    return v;
}

static uint32_t number32(Loader *p) { return (uint32_t)load_number(p, UINT32_MAX); }

static uint64_t key_number(Loader *p, const char *key, uint64_t max) {
    return expect(p, key) && expect(p, "=") ? load_number(p, max) : 0;
}

static StrId name(Loader *loader) {
    if (!expect(loader, "@"))
        return (StrId){0};
    if (peek(loader) != '"') {
        size_t n = word_size(loader);
        if (n == 0)
            load_error(loader, "name expected");
        StrId id = str_intern(loader->m->strings, loader->at, n);
        loader->at += n;
        return id;
    }
    char text[1024];
    size_t n = 0;
    for (loader->at++;
         loader->at < loader->end && *loader->at != '"' && *loader->at != '\n' && n < sizeof text;
         loader->at++) {
        char c = *loader->at;
        if (c == '\\') {
            int hi = loader->end - loader->at > 2 ? digit_value(loader->at[1], 16) : -1,
                lo = hi < 0 ? -1 : digit_value(loader->at[2], 16);
            if (lo < 0 || hi * 16 + lo == 0) {
                load_error(loader, "bad escape in a name");
                return (StrId){0};
            }
            c = (char)(hi * 16 + lo);
            loader->at += 2;
        }
        text[n++] = c;
    }
    if (peek(loader) != '"')
        load_error(loader, "unterminated or overlong name");
    else
        loader->at++;
    return str_intern(loader->m->strings, text, n);
}

/* ---- operands ---- */

static BlockId block_id(Loader *loader, unsigned state) {
    skip_blank(loader);
    const char *start = loader->at;
    if (!expect(loader, "bb"))
        return (BlockId){0};
    uint32_t n = number32(loader);
    if (!loader->failed && (n == 0 || n > loader->id_limit))
        load_error_at(loader, start, "block number is 0 or too large");
    if (loader->failed)
        return (BlockId){0};
    while (loader->f->blocks.n <= n)
        VEC_PUSH(loader->f->arena, &loader->f->blocks)->dead = true; /* until it is defined */
    while (loader->block_state.n <= n)
        VEC_PUSH(&loader->m->arena, &loader->block_state);
    if (state == 2 && loader->block_state.at[n] == 2)
        load_error_at(loader, start, "block is defined twice");
    if (loader->block_state.at[n] < state)
        loader->block_state.at[n] = (uint8_t)state;
    return (BlockId){n};
}

static bool value_attributes(Loader *p, Value *value) {
    do {
        if (accept(p, "ptx=")) {
            value->ptx_reg = number32(p);
            expect(p, ".");
            value->component = (uint8_t)load_number(p, 255);
        } else if (accept(p, "fixed="))
            value->fixed_reg = (int16_t)load_number(p, 255);
        else if (accept(p, "u"))
            value->uniform = true;
        else
            return load_error(p, "value attribute expected");
    } while (accept(p, ","));
    return expect(p, "}");
}

/* %r12, at a definition with {attributes} */
static ValId value(Loader *loader) {
    skip_blank(loader);
    const char *start = loader->at;
    if (!expect(loader, "%"))
        return (ValId){0};
    unsigned file = accept(loader, "ur")   ? RF_UR
                    : accept(loader, "up") ? RF_UP
                    : accept(loader, "r")  ? RF_R
                    : accept(loader, "p")  ? RF_P
                    : accept(loader, "b")  ? RF_B
                                           : RF_COUNT;
    if (file == RF_COUNT) {
        load_error(loader, "register file expected");
        return (ValId){0};
    }
    uint32_t n = number32(loader);
    if (!loader->failed && (n == 0 || n > loader->id_limit))
        load_error_at(loader, start, "value number is 0 or too large");
    if (loader->failed)
        return (ValId){0};
    while (loader->f->values.n <= n)
        ir_value_new(loader->f, RF_R);
    while (loader->value_known.n <= n)
        VEC_PUSH(&loader->m->arena, &loader->value_known);
    Value *v = &loader->f->values.at[n];
    if (loader->value_known.at[n] && v->file != file)
        load_error_at(loader, start, "value has another register file elsewhere");
    loader->value_known.at[n] = 1;
    v->file = (uint8_t)file;
    if (peek(loader) == '{' && accept(loader, "{"))
        value_attributes(loader, v);
    return (ValId){n};
}

static Operand values(Loader *loader) {
    if (!accept(loader, "[")) {
        ValId v = value(loader);
        return loader->failed ? (Operand){0} : ir_val(loader->f, v);
    }
    ValId v[4];
    unsigned n = 0;
    bool any = false;
    const char *start = loader->at;
    while (!loader->failed && !accept(loader, "]")) {
        if (n == 4)
            load_error(loader, "a vector has at most 4 values");
        else if (accept(loader, "_"))
            v[n++] = (ValId){0};
        else
            v[n++] = value(loader), any = true;
    }
    if (!loader->failed && (n < 2 || !any))
        load_error_at(loader, start, "a vector has at least 2 parts, one of them a value");
    Operand o = loader->failed ? (Operand){0} : ir_vec(loader->f, v, n);
    for (unsigned k = 0; !loader->failed && k < n; k++)
        if (v[k].i && loader->f->values.at[v[k].i].file != o.file)
            load_error_at(loader, start, "vector mixes register files");
    return o;
}

static bool physical(Loader *loader, Operand *o) {
    static const struct {
        const char *name;
        uint8_t file, number;
    } zeros[] = {
        {"RZ", RF_R, REG_RZ}, {"PT", RF_P, REG_PT}, {"URZ", RF_UR, REG_URZ}, {"UPT", RF_UP, REG_UPT}};
    for (unsigned k = 0; k < 4; k++) {
        const char *save = loader->at;
        if (accept(loader, zeros[k].name)) {
            if (peek(loader) == '.' || !is_word(peek(loader))) {
                *o = op_reg(zeros[k].file, zeros[k].number, 1);
                return true;
            }
            loader->at = save;
        }
    }
    const char *save = loader->at;
    RegFile file = accept(loader, "UR")   ? RF_UR
                   : accept(loader, "UP") ? RF_UP
                   : accept(loader, "R")  ? RF_R
                   : accept(loader, "P")  ? RF_P
                   : accept(loader, "B")  ? RF_B
                                          : RF_COUNT;
    if (file == RF_COUNT || (peek(loader) != '[' && digit_value(peek(loader), 10) < 0)) {
        loader->at = save;
        return false;
    }
    if (!accept(loader, "[")) {
        *o = op_reg(file, (uint32_t)load_number(loader, 255), 1);
        return true;
    }
    uint32_t lo = (uint32_t)load_number(loader, 255),
             hi = expect(loader, ":") ? (uint32_t)load_number(loader, 300) : 0;
    if (!loader->failed && (hi <= lo || hi - lo > 3))
        load_error_at(loader, save, "bad register range");
    if (!loader->failed)
        expect(loader, "]");
    *o = op_reg(file, lo, hi - lo + 1);
    return true;
}

static Operand load_sreg(Loader *loader) {
    if (digit_value(peek(loader), 10) >= 0) {
        uint32_t n = number32(loader);
        expect(loader, "]");
        return (Operand){OPK_SREG, 0, 0, 0, n};
    }
    char text[64];
    size_t n = word_size(loader);
    if (n == 0 || n >= sizeof text) {
        load_error(loader, "special register expected");
        return (Operand){0};
    }
    memcpy(text, loader->at, n);
    text[n] = '\0';
    int number_of = isa_sreg_number(loader->m->target, text);
    if (number_of < 0)
        load_error(loader, "the target has no such special register");
    loader->at += loader->failed ? 0 : n;
    expect(loader, "]");
    return (Operand){OPK_SREG, 0, 0, 0, (uint32_t)number_of};
}

static Operand symbol(Loader *loader, unsigned kind) {
    StrId id = name(loader);
    uint64_t addend = 0;
    skip_blank(loader);
    bool negative = accept(loader, "-");
    if (digit_value(peek(loader), 10) >= 0)
        addend = load_number(loader, UINT64_MAX);
    expect(loader, ")");
    return loader->failed ? (Operand){0}
                          : ir_sym(loader->f, id, (int64_t)(negative ? 0 - addend : addend), (RelocKind)kind);
}

static Operand load_immediate(Loader *loader) {
    const char *start = loader->at;
    uint64_t v = load_number(loader, UINT64_MAX);
    if (accept(loader, "L"))
        return ir_imm64(loader->f, v);
    if (v > UINT32_MAX)
        load_error_at(loader, start, "a 32-bit immediate is too large");
    return op_imm((uint32_t)v);
}

static Operand plain_operand(Loader *loader) {
    Operand o;
    skip_blank(loader);
    char c = peek(loader);
    if (c == '%' || c == '[')
        return values(loader);
    if (c == '_') {
        loader->at++;
        return (Operand){0};
    }
    if (digit_value(c, 10) >= 0)
        return load_immediate(loader);
    if (accept(loader, "c[")) {
        uint32_t bank = (uint32_t)load_number(loader, 255);
        expect(loader, "]");
        expect(loader, "[");
        uint32_t offset = (uint32_t)load_number(loader, 0xffff);
        expect(loader, "]");
        return op_cmem(bank, offset);
    }
    if (accept(loader, "SR["))
        return load_sreg(loader);
    if (c == 'b' && loader->end - loader->at > 1 && loader->at[1] == 'b')
        return ir_target(block_id(loader, 1));
    if (physical(loader, &o))
        return o;
    for (unsigned k = 0; k < RELOC_KIND_COUNT; k++) {
        const char *save = loader->at;
        if (accept_word(loader, ir_reloc_names[k]) && accept(loader, "("))
            return symbol(loader, k);
        loader->at = save;
    }
    load_error(loader, "operand expected");
    return (Operand){0};
}

static Operand load_operand(Loader *p) {
    unsigned mods = accept(p, "!") ? OPM_NOT : 0;
    mods |= accept(p, "-") ? OPM_NEG : 0u;
    mods |= accept(p, "|") ? OPM_ABS : 0u;
    Operand o = plain_operand(p);
    if (mods & OPM_ABS)
        expect(p, "|");
    for (unsigned k = 1; k < 4; k++)
        if (peek(p) == '.' && accept(p, ir_half_names[k]))
            mods |= k << OPM_HALF_SHIFT;
    if (peek(p) == '.' && accept(p, ".64"))
        mods |= OPM_WIDE64;
    if (peek(p) == '.' && accept(p, ".reuse"))
        mods |= OPM_REUSE;
    return op_with(o, mods);
}

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
            load_error(loader, "too many operands");
            return;
        }
        list->at[list->n++] = load_operand(loader);
    } while (!loader->failed && accept(loader, ","));
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
    skip_blank(loader);
    size_t n = word_size(loader);
    uint32_t op = strmap_get(&loader->op_by_name, str_find(&loader->op_names, loader->at, n));
    if (!op) {
        load_error(loader, "no such operation");
        return 0;
    }
    loader->at += n;
    return op - 1;
}

/* name=value of one modifier, put into *mods */
static void modifier(Loader *loader, unsigned op, uint32_t *mods) {
    char text[32];
    skip_blank(loader);
    const char *start = loader->at;
    size_t n = word_size(loader);
    unsigned k = 0, count = ir_is_pseudo(op) ? 0 : isa_num_mods(op);
    if (n && n < sizeof text) {
        memcpy(text, loader->at, n);
        text[n] = '\0';
        while (k < count && strcmp(isa_mod_info(op, k).name, text) != 0)
            k++;
    } else
        k = count;
    if (k == count) {
        load_error(loader, "the operation has no such modifier");
        return;
    }
    loader->at += n;
    if (!expect(loader, "="))
        return;
    IsaModInfo m = isa_mod_info(op, k);
    uint32_t mask = (uint32_t)(((uint64_t)1 << m.width) - 1), value = 0;
    skip_blank(loader);
    n = word_size(loader);
    if (digit_value(peek(loader), 10) >= 0)
        value = (uint32_t)load_number(loader, mask);
    else if (n && n < sizeof text) {
        memcpy(text, loader->at, n);
        text[n] = '\0';
        int v = isa_mod_value(op, k, text);
        if (v < 0 || (uint32_t)v > mask)
            load_error_at(loader, start, "the modifier has no such value");
        value = (uint32_t)v;
        loader->at += loader->failed ? 0 : n;
    } else
        load_error(loader, "modifier value expected");
    *mods = (*mods & ~(mask << m.lo)) | (((value ^ m.def) & mask) << m.lo);
}

static uint16_t flag_list(Loader *loader) {
    unsigned flags = 0;
    while (!loader->failed && !accept(loader, "]")) {
        unsigned k = 0;
        while (k < IR_NUM_FLAGS && !accept_word(loader, ir_flag_names[k]))
            k++;
        if (k == IR_NUM_FLAGS)
            load_error(loader, "flag expected");
        flags |= 1u << k;
    }
    return (uint16_t)(flags & ~(unsigned)IF_TIED);
}

static uint32_t control(Loader *p) {
    Control c = {0};
    c.stall_cycles = (uint8_t)load_number(p, 15);
    c.yield = (uint8_t)load_number(p, 1);
    c.write_sb = (uint8_t)load_number(p, 7);
    c.read_sb = (uint8_t)load_number(p, 7);
    c.wait_mask = (uint8_t)load_number(p, 63);
    expect(p, ")");
    return ir_control_pack(c);
}

static LocId location(Loader *loader) {
    Loc l = {.ptx_insn = number32(loader)};
    l.src.i = number32(loader);
    l.line = number32(loader);
    expect(loader, ")");
    const Loc *last = &loader->f->locs.at[loader->f->locs.n - 1];
    if (loader->f->locs.n == 1 || last->ptx_insn != l.ptx_insn || last->src.i != l.src.i ||
        last->line != l.line)
        *VEC_PUSH(loader->f->arena, &loader->f->locs) = l;
    return (LocId){loader->f->locs.n - 1};
}

static void tail(Loader *loader, InstId id) {
    for (;;) {
        if (accept(loader, "flags["))
            ir_inst(loader->f, id)->flags =
                (uint16_t)(flag_list(loader) | (ir_inst(loader->f, id)->flags & IF_TIED));
        else if (accept(loader, "ctrl("))
            ir_inst(loader->f, id)->sched = control(loader);
        else if (accept(loader, "loc(")) {
            LocId loc = location(loader);
            ir_inst(loader->f, id)->loc = loc;
        } else
            return;
    }
}

static bool at_tail(Loader *loader) {
    skip_blank(loader);
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
    if (!accept(loader, ")")) {
        operand_list(loader, list);
        expect(loader, ")");
    }
    if (loader->failed)
        return;
    if (list->n != ndst) {
        load_error(loader, "one tied source for each destination expected");
        return;
    }
    for (unsigned k = 0; k < ndst; k++) /* they lie behind the sources: this instruction is the newest */
        VEC_ADD(loader->f->arena, &loader->f->operands, list->at[k]);
    ir_inst(loader->f, id)->flags |= IF_TIED;
}

static void instruction(Loader *loader, BlockId b, OperandList *dst, OperandList *src) {
    Operand guard = {0};
    uint32_t mods = 0;
    if (accept(loader, "@"))
        guard = load_operand(loader);
    dst->n = src->n = 0;
    if (has_destinations(loader)) {
        operand_list(loader, dst);
        expect(loader, "=");
    }
    unsigned op = operation(loader);
    if (!loader->failed && peek(loader) == ':' && accept(loader, ":"))
        mods = number32(loader);
    else if (!loader->failed && peek(loader) == '(' && accept(loader, "("))
        while (!loader->failed && !accept(loader, ")"))
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
    if (accept(loader, "tied("))
        tied(loader, id, src);
    tail(loader, id);
    if (end_line(loader))
        ir_append(loader->f, b, id);
}

/* ---- blocks, functions, module ---- */

static void edge_list(Loader *loader, BlockId b, bool is_succ) {
    while (!loader->failed && !accept(loader, ")")) {
        BlockId o = block_id(loader, 1);
        Block *blk = ir_block(loader->f, b); /* block_id may have moved it */
        if (is_succ)
            VEC_ADD(loader->f->arena, &blk->succs, o);
        else
            VEC_ADD(loader->f->arena, &blk->preds, o);
    }
}

static void basic_block(Loader *loader, OperandList *dst, OperandList *src) {
    BlockId b = block_id(loader, 2);
    if (loader->failed || !expect(loader, ":"))
        return;
    ir_block(loader->f, b)->dead = false;
    ir_block(loader->f, b)->order = loader->f->layout.n;
    VEC_ADD(loader->f->arena, &loader->f->layout, b);
    if (accept(loader, "preds("))
        edge_list(loader, b, false);
    if (accept(loader, "succs("))
        edge_list(loader, b, true);
    if (accept(loader, "label="))
        ir_block(loader->f, b)->label = number32(loader);
    if (accept(loader, "depth="))
        ir_block(loader->f, b)->loop_depth = number32(loader);
    ir_block(loader->f, b)->uniform_flow = accept_word(loader, "uniform");
    end_line(loader);
    while (!loader->failed && loader->at < loader->end && *loader->at != '}' &&
           !(loader->end - loader->at > 2 && loader->at[0] == 'b' && loader->at[1] == 'b' &&
             digit_value(loader->at[2], 10) >= 0)) {
        instruction(loader, b, dst, src);
        skip_blank(loader);
    }
}

static void summary(Loader *loader) {
    FuncSummary *func_summary = &loader->f->summary;
    func_summary->frame_bytes = (uint32_t)key_number(loader, "frame", UINT32_MAX);
    func_summary->stack_bytes = (uint32_t)key_number(loader, "stack", UINT32_MAX);
    func_summary->max_b = (uint32_t)key_number(loader, "maxb", UINT32_MAX);
    for (unsigned file = 0; file < RF_COUNT; file++) {
        const char *save = loader->at;
        if (!accept(loader, ir_phys_names[file]) || !accept(loader, "(")) {
            loader->at = loader->failed ? loader->end : save;
            continue;
        }
        func_summary->clobbers[file] = bs_new(loader->f->arena, 256);
        while (!loader->failed && !accept(loader, ")")) {
            uint32_t r = (uint32_t)load_number(loader, 255);
            if (!loader->failed)
                bs_add(&func_summary->clobbers[file], r);
        }
    }
    end_line(loader);
}

static void properties(Loader *loader) {
    Function *f = loader->f;
    f->is_ssa = f->uniform_entry = false;
    f->is_entry = accept_word(loader, "entry");
    f->is_ssa = accept_word(loader, "ssa");
    f->is_physical = accept_word(loader, "physical");
    f->noreturn = accept_word(loader, "noreturn");
    f->uniform_entry = accept_word(loader, "uniform_entry");
    f->uses_sync = accept_word(loader, "uses_sync");
    f->var_bytes = (uint32_t)key_number(loader, "var", UINT32_MAX);
    f->spill_bytes = (uint32_t)key_number(loader, "spill", UINT32_MAX);
    f->nbarriers_used = (uint32_t)key_number(loader, "barriers", UINT32_MAX);
    f->b_base = (uint32_t)key_number(loader, "bbase", UINT32_MAX);
    if (!expect(loader, "start") || !expect(loader, "="))
        return;
    if (!accept_word(loader, "bb0"))
        f->entry = block_id(loader, 1);
    expect(loader, "{");
    end_line(loader);
}

/* table OFFSET (0 1 2 0) */
static void branch_table(Loader *loader) {
    BranchTable t = {.offset_bytes = number32(loader)};
    expect(loader, "(");
    while (!loader->failed && !accept(loader, ")")) {
        uint32_t e = number32(loader);
        VEC_ADD(loader->f->arena, &t.entries, e);
    }
    if (t.offset_bytes % 4 || t.offset_bytes > 0x10000 || t.entries.n > (0x10000 - t.offset_bytes) / 4)
        load_error(loader, "the table does not fit the constant bank");
    *VEC_PUSH(loader->f->arena, &loader->f->tables) = t;
    end_line(loader);
}

static void function(Loader *loader) {
    const char *start = loader->at;
    StrId id = name(loader);
    if (loader->failed)
        return;
    if (ir_find_function(loader->m, id)) {
        load_error_at(loader, start, "function is defined twice");
        return;
    }
    loader->f = ir_function_new(loader->m, id, false);
    memset(&loader->block_state, 0, sizeof loader->block_state);
    memset(&loader->value_known, 0, sizeof loader->value_known);
    properties(loader);
    if (accept_word(loader, "summary"))
        summary(loader);
    while (!loader->failed && accept_word(loader, "table"))
        branch_table(loader);
    OperandList dst, src;
    while (!loader->failed && !accept(loader, "}"))
        basic_block(loader, &dst, &src);
    for (uint32_t b = 1; !loader->failed && b < loader->block_state.n; b++)
        if (loader->block_state.at[b] == 1)
            load_error_at(loader, start, "a block that the function names is not defined");
    end_line(loader);
}

static void variable(Loader *loader) {
    IrVar v = {.name = name(loader)};
    v.linkage = (uint8_t)key_number(loader, "linkage", 255);
    v.space = (uint8_t)key_number(loader, "space", 255);
    v.align_bytes = (uint32_t)key_number(loader, "align", UINT32_MAX);
    v.size_bytes = key_number(loader, "size", UINT64_MAX);
    v.offset_bytes = key_number(loader, "offset", UINT64_MAX);
    v.is_extern_shared = accept_word(loader, "extern_shared");
    if (end_line(loader))
        *VEC_PUSH(&loader->m->arena, &loader->m->vars) = v;
}

static void header(Loader *loader) {
    skip_lines(loader);
    if (!expect(loader, "module"))
        return;
    skip_blank(loader);
    char text[32] = {0};
    size_t n = word_size(loader);
    if (n < sizeof text)
        memcpy(text, loader->at, n);
    const Target *t = isa_target(text);
    if (!t) {
        char what[256];
        snprintf(what, sizeof what, "unknown target, there are %s", isa_target_names);
        load_error(loader, what);
        return;
    }
    loader->at += n;
    loader->m->target = t;
    loader->m->opt_level = (unsigned)key_number(loader, "opt", 3);
    loader->m->shared_bytes = (uint32_t)key_number(loader, "shared", UINT32_MAX);
    loader->m->const_bytes = (uint32_t)key_number(loader, "const", UINT32_MAX);
    end_line(loader);
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
        if (accept_word(&p, "var"))
            variable(&p);
        else if (accept_word(&p, "func"))
            function(&p);
        else
            load_error(&p, "'var' or 'func' expected");
        skip_lines(&p);
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
