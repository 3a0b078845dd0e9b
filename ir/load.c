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

static bool fail_at(Loader *p, const char *where, const char *what) {
    if (!p->failed)
        diag_in(p->d, p->src, (SrcLoc){(uint32_t)(where - p->src->text) + 1}, DIAG_E0600, what);
    p->failed = true;
    p->at = p->end; /* every loop below ends here */
    return false;
}

static bool fail(Loader *p, const char *what) { return fail_at(p, p->at, what); }

/* ---- characters and words ---- */

static char peek(const Loader *p) { return p->at < p->end ? *p->at : '\0'; }

static void skip_blank(Loader *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static void skip_lines(Loader *p) { /* blanks, line ends and ; comments */
    while (p->at < p->end) {
        skip_blank(p);
        if (peek(p) == ';')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        if (peek(p) != '\n')
            return;
        p->at++;
    }
}

static bool end_line(Loader *p) {
    skip_blank(p);
    if (peek(p) == ';' || peek(p) == '\n' || p->at == p->end) {
        skip_lines(p);
        return !p->failed;
    }
    return fail(p, "end of line expected");
}

static bool accept(Loader *p, const char *word) {
    skip_blank(p);
    size_t n = strlen(word);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool expect(Loader *p, const char *word) {
    if (accept(p, word))
        return true;
    char text[64];
    snprintf(text, sizeof text, "'%s' expected", word);
    return fail(p, text);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$';
}

/* A whole word, for keywords: "ssa" does not accept "ssab". */
static bool accept_word(Loader *p, const char *word) {
    const char *save = p->at;
    if (accept(p, word) && !is_word(peek(p)))
        return true;
    p->at = save;
    return false;
}

static size_t word_size(const Loader *p) {
    size_t n = 0;
    while (p->at + n < p->end && is_word(p->at[n]))
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

static uint64_t number(Loader *p, uint64_t max) {
    skip_blank(p);
    const char *start = p->at;
    unsigned base = 10;
    if (p->end - p->at > 2 && p->at[0] == '0' && p->at[1] == 'x')
        base = 16, p->at += 2;
    uint64_t v = 0;
    if (digit_value(peek(p), base) < 0) {
        fail_at(p, start, "number expected");
        return 0;
    }
    for (int dgt; (dgt = digit_value(peek(p), base)) >= 0; p->at++) {
        if (v > (UINT64_MAX - (uint64_t)dgt) / base) {
            fail_at(p, start, "number is too large");
            return 0;
        }
        v = v * base + (uint64_t)dgt;
    }
    if (v > max) {
        fail_at(p, start, "number is too large");
        return 0;
    }
    return v;
}

static uint32_t number32(Loader *p) { return (uint32_t)number(p, UINT32_MAX); }

static uint64_t key_number(Loader *p, const char *key, uint64_t max) {
    return expect(p, key) && expect(p, "=") ? number(p, max) : 0;
}

static StrId name(Loader *p) {
    if (!expect(p, "@"))
        return (StrId){0};
    if (peek(p) != '"') {
        size_t n = word_size(p);
        if (n == 0)
            fail(p, "name expected");
        StrId id = str_intern(p->m->strings, p->at, n);
        p->at += n;
        return id;
    }
    char text[1024];
    size_t n = 0;
    for (p->at++; p->at < p->end && *p->at != '"' && *p->at != '\n' && n < sizeof text; p->at++) {
        char c = *p->at;
        if (c == '\\') {
            int hi = p->end - p->at > 2 ? digit_value(p->at[1], 16) : -1,
                lo = hi < 0 ? -1 : digit_value(p->at[2], 16);
            if (lo < 0 || hi * 16 + lo == 0) {
                fail(p, "bad escape in a name");
                return (StrId){0};
            }
            c = (char)(hi * 16 + lo);
            p->at += 2;
        }
        text[n++] = c;
    }
    if (peek(p) != '"')
        fail(p, "unterminated or overlong name");
    else
        p->at++;
    return str_intern(p->m->strings, text, n);
}

/* ---- operands ---- */

static BlockId block_id(Loader *p, unsigned state) {
    skip_blank(p);
    const char *start = p->at;
    if (!expect(p, "bb"))
        return (BlockId){0};
    uint32_t n = number32(p);
    if (!p->failed && (n == 0 || n > p->id_limit))
        fail_at(p, start, "block number is 0 or too large");
    if (p->failed)
        return (BlockId){0};
    while (p->f->blocks.n <= n)
        VEC_PUSH(p->f->arena, &p->f->blocks)->dead = true; /* until it is defined */
    while (p->block_state.n <= n)
        VEC_PUSH(&p->m->arena, &p->block_state);
    if (state == 2 && p->block_state.at[n] == 2)
        fail_at(p, start, "block is defined twice");
    if (p->block_state.at[n] < state)
        p->block_state.at[n] = (uint8_t)state;
    return (BlockId){n};
}

static bool value_attributes(Loader *p, Value *v) {
    do {
        if (accept(p, "ptx=")) {
            v->ptx_reg = number32(p);
            expect(p, ".");
            v->component = (uint8_t)number(p, 255);
        } else if (accept(p, "fixed="))
            v->fixed_reg = (int16_t)number(p, 255);
        else if (accept(p, "u"))
            v->uniform = true;
        else
            return fail(p, "value attribute expected");
    } while (accept(p, ","));
    return expect(p, "}");
}

/* %r12, at a definition with {attributes} */
static ValId value(Loader *p) {
    skip_blank(p);
    const char *start = p->at;
    if (!expect(p, "%"))
        return (ValId){0};
    unsigned file = accept(p, "ur")   ? RF_UR
                    : accept(p, "up") ? RF_UP
                    : accept(p, "r")  ? RF_R
                    : accept(p, "p")  ? RF_P
                    : accept(p, "b")  ? RF_B
                                      : RF_COUNT;
    if (file == RF_COUNT) {
        fail(p, "register file expected");
        return (ValId){0};
    }
    uint32_t n = number32(p);
    if (!p->failed && (n == 0 || n > p->id_limit))
        fail_at(p, start, "value number is 0 or too large");
    if (p->failed)
        return (ValId){0};
    while (p->f->values.n <= n)
        ir_value_new(p->f, RF_R);
    while (p->value_known.n <= n)
        VEC_PUSH(&p->m->arena, &p->value_known);
    Value *v = &p->f->values.at[n];
    if (p->value_known.at[n] && v->file != file)
        fail_at(p, start, "value has another register file elsewhere");
    p->value_known.at[n] = 1;
    v->file = (uint8_t)file;
    if (peek(p) == '{' && accept(p, "{"))
        value_attributes(p, v);
    return (ValId){n};
}

static Operand values(Loader *p) {
    if (!accept(p, "[")) {
        ValId v = value(p);
        return p->failed ? (Operand){0} : ir_val(p->f, v);
    }
    ValId v[4];
    unsigned n = 0;
    bool any = false;
    const char *start = p->at;
    while (!p->failed && !accept(p, "]")) {
        if (n == 4)
            fail(p, "a vector has at most 4 values");
        else if (accept(p, "_"))
            v[n++] = (ValId){0};
        else
            v[n++] = value(p), any = true;
    }
    if (!p->failed && (n < 2 || !any))
        fail_at(p, start, "a vector has at least 2 parts, one of them a value");
    Operand o = p->failed ? (Operand){0} : ir_vec(p->f, v, n);
    for (unsigned k = 0; !p->failed && k < n; k++)
        if (v[k].i && p->f->values.at[v[k].i].file != o.file)
            fail_at(p, start, "vector mixes register files");
    return o;
}

static bool physical(Loader *p, Operand *o) {
    static const struct {
        const char *name;
        uint8_t file, number;
    } zeros[] = {
        {"RZ", RF_R, REG_RZ}, {"PT", RF_P, REG_PT}, {"URZ", RF_UR, REG_URZ}, {"UPT", RF_UP, REG_UPT}};
    for (unsigned k = 0; k < 4; k++) {
        const char *save = p->at;
        if (accept(p, zeros[k].name)) {
            if (peek(p) == '.' || !is_word(peek(p))) {
                *o = op_reg(zeros[k].file, zeros[k].number, 1);
                return true;
            }
            p->at = save;
        }
    }
    const char *save = p->at;
    RegFile file = accept(p, "UR")   ? RF_UR
                   : accept(p, "UP") ? RF_UP
                   : accept(p, "R")  ? RF_R
                   : accept(p, "P")  ? RF_P
                   : accept(p, "B")  ? RF_B
                                     : RF_COUNT;
    if (file == RF_COUNT || (peek(p) != '[' && digit_value(peek(p), 10) < 0)) {
        p->at = save;
        return false;
    }
    if (!accept(p, "[")) {
        *o = op_reg(file, (uint32_t)number(p, 255), 1);
        return true;
    }
    uint32_t lo = (uint32_t)number(p, 255), hi = expect(p, ":") ? (uint32_t)number(p, 300) : 0;
    if (!p->failed && (hi <= lo || hi - lo > 3))
        fail_at(p, save, "bad register range");
    if (!p->failed)
        expect(p, "]");
    *o = op_reg(file, lo, hi - lo + 1);
    return true;
}

static Operand special(Loader *p) {
    if (digit_value(peek(p), 10) >= 0) {
        uint32_t n = number32(p);
        expect(p, "]");
        return (Operand){OPK_SREG, 0, 0, 0, n};
    }
    char text[64];
    size_t n = word_size(p);
    if (n == 0 || n >= sizeof text) {
        fail(p, "special register expected");
        return (Operand){0};
    }
    memcpy(text, p->at, n);
    text[n] = '\0';
    int number_of = isa_sreg_number(p->m->target, text);
    if (number_of < 0)
        fail(p, "the target has no such special register");
    p->at += p->failed ? 0 : n;
    expect(p, "]");
    return (Operand){OPK_SREG, 0, 0, 0, (uint32_t)number_of};
}

static Operand symbol(Loader *p, unsigned kind) {
    StrId id = name(p);
    uint64_t addend = 0;
    skip_blank(p);
    bool negative = accept(p, "-");
    if (digit_value(peek(p), 10) >= 0)
        addend = number(p, UINT64_MAX);
    expect(p, ")");
    return p->failed ? (Operand){0}
                     : ir_sym(p->f, id, (int64_t)(negative ? 0 - addend : addend), (RelocKind)kind);
}

static Operand immediate(Loader *p) {
    const char *start = p->at;
    uint64_t v = number(p, UINT64_MAX);
    if (accept(p, "L"))
        return ir_imm64(p->f, v);
    if (v > UINT32_MAX)
        fail_at(p, start, "a 32-bit immediate is too large");
    return op_imm((uint32_t)v);
}

static Operand plain_operand(Loader *p) {
    Operand o;
    skip_blank(p);
    char c = peek(p);
    if (c == '%' || c == '[')
        return values(p);
    if (c == '_') {
        p->at++;
        return (Operand){0};
    }
    if (digit_value(c, 10) >= 0)
        return immediate(p);
    if (accept(p, "c[")) {
        uint32_t bank = (uint32_t)number(p, 255);
        expect(p, "]");
        expect(p, "[");
        uint32_t offset = (uint32_t)number(p, 0xffff);
        expect(p, "]");
        return op_cmem(bank, offset);
    }
    if (accept(p, "SR["))
        return special(p);
    if (c == 'b' && p->end - p->at > 1 && p->at[1] == 'b')
        return ir_target(block_id(p, 1));
    if (physical(p, &o))
        return o;
    for (unsigned k = 0; k < RELOC_KIND_COUNT; k++) {
        const char *save = p->at;
        if (accept_word(p, ir_reloc_names[k]) && accept(p, "("))
            return symbol(p, k);
        p->at = save;
    }
    fail(p, "operand expected");
    return (Operand){0};
}

static Operand operand(Loader *p) {
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

static void operand_list(Loader *p, OperandList *l) {
    l->n = 0;
    do {
        if (l->n == MAX_OPERANDS) {
            fail(p, "too many operands");
            return;
        }
        l->at[l->n++] = operand(p);
    } while (!p->failed && accept(p, ","));
}

/* Does the line have a '=' outside all brackets? Then it starts with destinations. */
static bool has_destinations(const Loader *p) {
    int depth = 0;
    for (const char *c = p->at; c < p->end && *c != '\n' && *c != ';'; c++) {
        depth += (*c == '(' || *c == '[' || *c == '{') - (*c == ')' || *c == ']' || *c == '}');
        if (*c == '=' && depth == 0)
            return true;
    }
    return false;
}

static unsigned operation(Loader *p) {
    skip_blank(p);
    size_t n = word_size(p);
    uint32_t op = strmap_get(&p->op_by_name, str_find(&p->op_names, p->at, n));
    if (!op) {
        fail(p, "no such operation");
        return 0;
    }
    p->at += n;
    return op - 1;
}

/* name=value of one modifier, put into *mods */
static void modifier(Loader *p, unsigned op, uint32_t *mods) {
    char text[32];
    skip_blank(p);
    const char *start = p->at;
    size_t n = word_size(p);
    unsigned k = 0, count = ir_is_pseudo(op) ? 0 : isa_num_mods(op);
    if (n && n < sizeof text) {
        memcpy(text, p->at, n);
        text[n] = '\0';
        while (k < count && strcmp(isa_mod_info(op, k).name, text) != 0)
            k++;
    } else
        k = count;
    if (k == count) {
        fail(p, "the operation has no such modifier");
        return;
    }
    p->at += n;
    if (!expect(p, "="))
        return;
    IsaModInfo m = isa_mod_info(op, k);
    uint32_t mask = (uint32_t)(((uint64_t)1 << m.width) - 1), value = 0;
    skip_blank(p);
    n = word_size(p);
    if (digit_value(peek(p), 10) >= 0)
        value = (uint32_t)number(p, mask);
    else if (n && n < sizeof text) {
        memcpy(text, p->at, n);
        text[n] = '\0';
        int v = isa_mod_value(op, k, text);
        if (v < 0 || (uint32_t)v > mask)
            fail_at(p, start, "the modifier has no such value");
        value = (uint32_t)v;
        p->at += p->failed ? 0 : n;
    } else
        fail(p, "modifier value expected");
    *mods = (*mods & ~(mask << m.lo)) | (((value ^ m.def) & mask) << m.lo);
}

static uint16_t flag_list(Loader *p) {
    unsigned flags = 0;
    while (!p->failed && !accept(p, "]")) {
        unsigned k = 0;
        while (k < IR_NUM_FLAGS && !accept_word(p, ir_flag_names[k]))
            k++;
        if (k == IR_NUM_FLAGS)
            fail(p, "flag expected");
        flags |= 1u << k;
    }
    return (uint16_t)(flags & ~(unsigned)IF_TIED);
}

static uint32_t control(Loader *p) {
    Control c = {0};
    c.stall_cycles = (uint8_t)number(p, 15);
    c.yield = (uint8_t)number(p, 1);
    c.write_sb = (uint8_t)number(p, 7);
    c.read_sb = (uint8_t)number(p, 7);
    c.wait_mask = (uint8_t)number(p, 63);
    expect(p, ")");
    return ir_control_pack(c);
}

static LocId location(Loader *p) {
    Loc l = {.ptx_insn = number32(p)};
    l.src.i = number32(p);
    l.line = number32(p);
    expect(p, ")");
    const Loc *last = &p->f->locs.at[p->f->locs.n - 1];
    if (p->f->locs.n == 1 || last->ptx_insn != l.ptx_insn || last->src.i != l.src.i || last->line != l.line)
        *VEC_PUSH(p->f->arena, &p->f->locs) = l;
    return (LocId){p->f->locs.n - 1};
}

static void tail(Loader *p, InstId id) {
    for (;;) {
        if (accept(p, "flags["))
            ir_inst(p->f, id)->flags = (uint16_t)(flag_list(p) | (ir_inst(p->f, id)->flags & IF_TIED));
        else if (accept(p, "ctrl("))
            ir_inst(p->f, id)->sched = control(p);
        else if (accept(p, "loc(")) {
            LocId loc = location(p);
            ir_inst(p->f, id)->loc = loc;
        } else
            return;
    }
}

static bool at_tail(Loader *p) {
    skip_blank(p);
    static const char *const words[] = {"tied(", "flags[", "ctrl(", "loc("};
    for (unsigned k = 0; k < 4; k++) {
        size_t n = strlen(words[k]);
        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[k], n) == 0)
            return true;
    }
    return p->at == p->end || *p->at == '\n' || *p->at == ';';
}

static void tied(Loader *p, InstId id, OperandList *l) {
    unsigned ndst = ir_inst(p->f, id)->ndst;
    l->n = 0;
    if (!accept(p, ")")) {
        operand_list(p, l);
        expect(p, ")");
    }
    if (p->failed)
        return;
    if (l->n != ndst) {
        fail(p, "one tied source for each destination expected");
        return;
    }
    for (unsigned k = 0; k < ndst; k++) /* they lie behind the sources: this instruction is the newest */
        VEC_ADD(p->f->arena, &p->f->operands, l->at[k]);
    ir_inst(p->f, id)->flags |= IF_TIED;
}

static void instruction(Loader *p, BlockId b, OperandList *dst, OperandList *src) {
    Operand guard = {0};
    uint32_t mods = 0;
    if (accept(p, "@"))
        guard = operand(p);
    dst->n = src->n = 0;
    if (has_destinations(p)) {
        operand_list(p, dst);
        expect(p, "=");
    }
    unsigned op = operation(p);
    if (!p->failed && peek(p) == ':' && accept(p, ":"))
        mods = number32(p);
    else if (!p->failed && peek(p) == '(' && accept(p, "("))
        while (!p->failed && !accept(p, ")"))
            modifier(p, op, &mods);
    if (!p->failed && !at_tail(p))
        operand_list(p, src);
    if (p->failed)
        return;
    InstId id = ir_inst_new(p->f, op, dst->n, src->n);
    Inst *i = ir_inst(p->f, id);
    i->guard = guard;
    i->mods = mods;
    for (unsigned k = 0; k < dst->n; k++)
        ir_set_dst(p->f, id, k, dst->at[k]);
    for (unsigned k = 0; k < src->n; k++)
        ir_set_src(p->f, id, k, src->at[k]);
    if (accept(p, "tied("))
        tied(p, id, src);
    tail(p, id);
    if (end_line(p))
        ir_append(p->f, b, id);
}

/* ---- blocks, functions, module ---- */

static void edge_list(Loader *p, BlockId b, bool is_succ) {
    while (!p->failed && !accept(p, ")")) {
        BlockId o = block_id(p, 1);
        Block *blk = ir_block(p->f, b); /* block_id may have moved it */
        if (is_succ)
            VEC_ADD(p->f->arena, &blk->succs, o);
        else
            VEC_ADD(p->f->arena, &blk->preds, o);
    }
}

static void basic_block(Loader *p, OperandList *dst, OperandList *src) {
    BlockId b = block_id(p, 2);
    if (p->failed || !expect(p, ":"))
        return;
    ir_block(p->f, b)->dead = false;
    ir_block(p->f, b)->order = p->f->layout.n;
    VEC_ADD(p->f->arena, &p->f->layout, b);
    if (accept(p, "preds("))
        edge_list(p, b, false);
    if (accept(p, "succs("))
        edge_list(p, b, true);
    if (accept(p, "label="))
        ir_block(p->f, b)->label = number32(p);
    if (accept(p, "depth="))
        ir_block(p->f, b)->loop_depth = number32(p);
    ir_block(p->f, b)->uniform_flow = accept_word(p, "uniform");
    end_line(p);
    while (!p->failed && p->at < p->end && *p->at != '}' &&
           !(p->end - p->at > 2 && p->at[0] == 'b' && p->at[1] == 'b' && digit_value(p->at[2], 10) >= 0)) {
        instruction(p, b, dst, src);
        skip_blank(p);
    }
}

static void summary(Loader *p) {
    FuncSummary *s = &p->f->summary;
    s->frame_bytes = (uint32_t)key_number(p, "frame", UINT32_MAX);
    s->stack_bytes = (uint32_t)key_number(p, "stack", UINT32_MAX);
    s->max_b = (uint32_t)key_number(p, "maxb", UINT32_MAX);
    for (unsigned file = 0; file < RF_COUNT; file++) {
        const char *save = p->at;
        if (!accept(p, ir_phys_names[file]) || !accept(p, "(")) {
            p->at = p->failed ? p->end : save;
            continue;
        }
        s->clobbers[file] = bs_new(p->f->arena, 256);
        while (!p->failed && !accept(p, ")")) {
            uint32_t r = (uint32_t)number(p, 255);
            if (!p->failed)
                bs_add(&s->clobbers[file], r);
        }
    }
    end_line(p);
}

static void properties(Loader *p) {
    Function *f = p->f;
    f->is_ssa = f->uniform_entry = false;
    f->is_entry = accept_word(p, "entry");
    f->is_ssa = accept_word(p, "ssa");
    f->is_physical = accept_word(p, "physical");
    f->noreturn = accept_word(p, "noreturn");
    f->uniform_entry = accept_word(p, "uniform_entry");
    f->uses_sync = accept_word(p, "uses_sync");
    f->var_bytes = (uint32_t)key_number(p, "var", UINT32_MAX);
    f->spill_bytes = (uint32_t)key_number(p, "spill", UINT32_MAX);
    f->nbarriers_used = (uint32_t)key_number(p, "barriers", UINT32_MAX);
    f->b_base = (uint32_t)key_number(p, "bbase", UINT32_MAX);
    if (!expect(p, "start") || !expect(p, "="))
        return;
    if (!accept_word(p, "bb0"))
        f->entry = block_id(p, 1);
    expect(p, "{");
    end_line(p);
}

/* table OFFSET (0 1 2 0) */
static void branch_table(Loader *p) {
    BranchTable t = {.offset_bytes = number32(p)};
    expect(p, "(");
    while (!p->failed && !accept(p, ")")) {
        uint32_t e = number32(p);
        VEC_ADD(p->f->arena, &t.entries, e);
    }
    if (t.offset_bytes % 4 || t.offset_bytes > 0x10000 || t.entries.n > (0x10000 - t.offset_bytes) / 4)
        fail(p, "the table does not fit the constant bank");
    *VEC_PUSH(p->f->arena, &p->f->tables) = t;
    end_line(p);
}

static void function(Loader *p) {
    const char *start = p->at;
    StrId id = name(p);
    if (p->failed)
        return;
    if (ir_find_function(p->m, id)) {
        fail_at(p, start, "function is defined twice");
        return;
    }
    p->f = ir_function_new(p->m, id, false);
    memset(&p->block_state, 0, sizeof p->block_state);
    memset(&p->value_known, 0, sizeof p->value_known);
    properties(p);
    if (accept_word(p, "summary"))
        summary(p);
    while (!p->failed && accept_word(p, "table"))
        branch_table(p);
    OperandList dst, src;
    while (!p->failed && !accept(p, "}"))
        basic_block(p, &dst, &src);
    for (uint32_t b = 1; !p->failed && b < p->block_state.n; b++)
        if (p->block_state.at[b] == 1)
            fail_at(p, start, "a block that the function names is not defined");
    end_line(p);
}

static void variable(Loader *p) {
    IrVar v = {.name = name(p)};
    v.linkage = (uint8_t)key_number(p, "linkage", 255);
    v.space = (uint8_t)key_number(p, "space", 255);
    v.align_bytes = (uint32_t)key_number(p, "align", UINT32_MAX);
    v.size_bytes = key_number(p, "size", UINT64_MAX);
    v.offset_bytes = key_number(p, "offset", UINT64_MAX);
    v.is_extern_shared = accept_word(p, "extern_shared");
    if (end_line(p))
        *VEC_PUSH(&p->m->arena, &p->m->vars) = v;
}

static void header(Loader *p) {
    skip_lines(p);
    if (!expect(p, "module"))
        return;
    skip_blank(p);
    char text[32] = {0};
    size_t n = word_size(p);
    if (n < sizeof text)
        memcpy(text, p->at, n);
    const Target *t = isa_target(text);
    if (!t) {
        fail(p, "unknown target");
        return;
    }
    p->at += n;
    p->m->target = t;
    p->m->opt_level = (unsigned)key_number(p, "opt", 3);
    p->m->shared_bytes = (uint32_t)key_number(p, "shared", UINT32_MAX);
    p->m->const_bytes = (uint32_t)key_number(p, "const", UINT32_MAX);
    end_line(p);
}

static bool verify_loaded(Loader *p) {
    bool ok = true;
    for (unsigned k = 0; k < p->m->funcs.n; k++)
        ok &= ir_verify(p->m->funcs.at[k], p->d, "load");
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
            fail(&p, "'var' or 'func' expected");
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
