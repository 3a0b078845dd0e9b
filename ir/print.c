/* The text form of machine IR, which load.c reads again: print(load(print(m))) == print(m). The grammar
 * stands in ir/text.md. Out: malloc'ed text. Dead blocks and unused values are not printed.
 * SPDX-License-Identifier: MIT */
#include "ir/text.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const ir_file_names[RF_COUNT] = {"r", "p", "ur", "up", "b"};
const char *const ir_phys_names[RF_COUNT] = {"R", "P", "UR", "UP", "B"};
const char *const ir_reloc_names[RELOC_KIND_COUNT] = {
    "none",  "abs32_lo", "abs32_hi",  "call_rel", "call_abs",      "shared_offset32",
    "abs64", "pcrel_lo", "generic64", "texture",  "const_offset32"};
const char *const ir_flag_names[IR_NUM_FLAGS] = {"tied",   "sync",       "observing", "uniform",   "memory",
                                                 "side",   "convergent", "aligned",   "rewritten", "rare",
                                                 "masked", "asks",       "alone"};
const char *const ir_half_names[4] = {"", ".f32", ".h0h0", ".h1h1"};

static const char plain_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";

static bool plain_name(const char *s) { return *s && strspn(s, plain_chars) == strlen(s); }

/* @name, or @"..." with every unusual byte as \xx. */
static void print_name(FILE *out, const IrModule *module, StrId id) {
    const char *s = str_text(module->strings, id);
    if (plain_name(s)) {
        fprintf(out, "@%s", s);
        return;
    }
    fputs("@\"", out);
    for (; *s; s++) {
        if (strchr(plain_chars, *s))
            fputc(*s, out);
        else
            fprintf(out, "\\%02x", (unsigned char)*s);
    }
    fputc('"', out);
}

static unsigned zero_number(unsigned file) {
    static const uint8_t zero[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, 255};
    return zero[file];
}

static void print_phys(FILE *out, Operand o) {
    static const char *const zero_names[RF_COUNT] = {"RZ", "PT", "URZ", "UPT", "B255"};
    if (o.count == 1 && o.file != RF_B && o.value == zero_number(o.file))
        fputs(zero_names[o.file], out);
    else if (o.count == 1)
        fprintf(out, "%s%u", ir_phys_names[o.file], o.value);
    else
        fprintf(out, "%s[%u:%u]", ir_phys_names[o.file], o.value, o.value + o.count - 1u);
}

static void print_value(FILE *out, const Function *f, Operand o, bool is_def) {
    if (o.count > 1)
        fputc('[', out);
    for (unsigned c = 0; c < o.count; c++) {
        ValId id = ir_operand_value(f, o, c);
        const Value *value = &f->values.at[id.i];
        if (!id.i) {
            fprintf(out, "%s_", c ? " " : "");
            continue;
        }
        fprintf(out, "%s%%%s%u", c ? " " : "", ir_file_names[value->file], id.i);
        if (!is_def || (!value->ptx_reg && value->fixed_reg < 0 && !value->uniform))
            continue;
        const char *sep = "{";
        if (value->ptx_reg)
            fprintf(out, "%sptx=%u.%u", sep, value->ptx_reg, value->component), sep = ",";
        if (value->fixed_reg >= 0)
            fprintf(out, "%sfixed=%d", sep, value->fixed_reg), sep = ",";
        if (value->uniform)
            fprintf(out, "%su", sep);
        fputc('}', out);
    }
    if (o.count > 1)
        fputc(']', out);
}

static void print_operand(FILE *out, const Function *f, Operand o, bool is_def) {
    const char *name;
    fprintf(out, "%s%s%s", o.mods & OPM_NOT ? "!" : "", o.mods & OPM_NEG ? "-" : "",
            o.mods & OPM_ABS ? "|" : "");
    switch (o.kind) {
    case OPK_NONE: fputc('_', out); break;
    case OPK_VAL: print_value(out, f, o, is_def); break;
    case OPK_REG: print_phys(out, o); break;
    case OPK_IMM: fprintf(out, "0x%x", o.value); break;
    case OPK_IMM64: fprintf(out, "0x%" PRIx64 "L", f->consts.at[o.value]); break;
    case OPK_CMEM: fprintf(out, "c[0x%x][0x%x]", o.value >> 16, o.value & 0xffff); break;
    case OPK_BLOCK: fprintf(out, "bb%u", o.value); break;
    case OPK_SREG:
        name = isa_sreg_name(f->module->target, o.value);
        if (name && isa_sreg_number(f->module->target, name) == (int)o.value)
            fprintf(out, "SR[%s]", name);
        else
            fprintf(out, "SR[%u]", o.value);
        break;
    case OPK_SYM: {
        const SymRef *ref = &f->symrefs.at[o.value];
        fprintf(out, "%s(", ir_reloc_names[ref->kind]);
        print_name(out, f->module, ref->symbol);
        if (ref->addend)
            fprintf(out, " %" PRId64, ref->addend);
        fputc(')', out);
        break;
    }
    default: fputc('?', out);
    }
    fprintf(out, "%s%s%s%s", o.mods & OPM_ABS ? "|" : "", ir_half_names[o.mods >> OPM_HALF_SHIFT & 3],
            o.mods & OPM_WIDE64 ? ".64" : "", o.mods & OPM_REUSE ? ".reuse" : "");
}

static void print_flags(FILE *out, unsigned flags) {
    const char *sep = " flags[";
    if (!flags)
        fputs(sep, out);
    for (unsigned k = 0; k < IR_NUM_FLAGS; k++)
        if (flags >> k & 1)
            fprintf(out, "%s%s", sep, ir_flag_names[k]), sep = " ";
    fputc(']', out);
}

static void print_tail(FILE *out, const Function *f, const Inst *i) {
    unsigned flags = i->flags & ~(unsigned)IF_TIED;
    if (flags != (ir_op_flags(i->op) & ~(unsigned)IF_TIED))
        print_flags(out, flags);
    if (i->sched) {
        Control c = ir_control(i->sched);
        fprintf(out, " ctrl(%u %u %u %u 0x%x)", c.stall_cycles, c.yield, c.write_sb, c.read_sb, c.wait_mask);
    }
    if (i->loc.i) {
        const Loc *l = &f->locs.at[i->loc.i];
        fprintf(out, " loc(%u %u %u)", l->ptx_insn, l->src.i, l->line);
    }
}

/* (cmp=GE sign=U32), values that have no name as numbers; :0x... if the word has bits that no modifier has.
 */
static void print_mods(FILE *out, const Inst *i) {
    unsigned n = ir_is_pseudo(i->op) ? 0 : isa_num_mods(i->op);
    uint32_t rest = i->mods;
    for (unsigned k = 0; k < n; k++) {
        IsaModInfo m = isa_mod_info(i->op, k);
        rest &= ~((uint32_t)(((uint64_t)1 << m.width) - 1) << m.lo);
    }
    if (rest) {
        fprintf(out, ":0x%x", i->mods);
        return;
    }
    const char *sep = "(";
    for (unsigned k = 0; k < n; k++) {
        IsaModInfo m = isa_mod_info(i->op, k);
        uint32_t raw = i->mods >> m.lo & (uint32_t)(((uint64_t)1 << m.width) - 1), value = raw ^ m.def;
        if (!raw)
            continue;
        const char *name = isa_mod_value_name(i->op, k, value);
        bool named = name && plain_name(name) && !(*name >= '0' && *name <= '9') &&
                     isa_mod_value(i->op, k, name) == (int)value;
        if (named)
            fprintf(out, "%s%s=%s", sep, m.name, name);
        else
            fprintf(out, "%s%s=0x%x", sep, m.name, value);
        sep = " ";
    }
    if (*sep == ' ')
        fputc(')', out);
}

static void print_inst(FILE *out, const Function *f, const Inst *i) {
    fputs("  ", out);
    if (i->guard.kind != OPK_NONE) {
        fputc('@', out);
        print_operand(out, f, i->guard, false);
        fputc(' ', out);
    }
    FOR_DSTS(f, i, o) {
        fputs(AT(o) ? ", " : "", out);
        print_operand(out, f, *o, true);
    }
    fprintf(out, "%s%s", i->ndst ? " = " : "", ir_op_name(i->op));
    if (i->mods)
        print_mods(out, i);
    FOR_SRCS(f, i, o) {
        fputs(AT(o) ? ", " : " ", out);
        print_operand(out, f, *o, false);
    }
    if (i->flags & IF_TIED) {
        FOR_TIED(f, i, o) {
            fputs(AT(o) ? ", " : " tied(", out);
            print_operand(out, f, *o, false);
        }
        fputs(i->ndst ? ")" : " tied()", out);
    }
    print_tail(out, f, i);
    fputc('\n', out);
}

static void print_ids(FILE *out, const char *what, const BlockId *at, unsigned n) {
    fprintf(out, " %s(", what);
    for (unsigned k = 0; k < n; k++)
        fprintf(out, "%sbb%u", k ? " " : "", at[k].i);
    fputc(')', out);
}

static void print_block(FILE *out, const Function *f, BlockId id) {
    const Block *b = &f->blocks.at[id.i];
    fprintf(out, "bb%u:", id.i);
    print_ids(out, "preds", b->preds.at, b->preds.n);
    print_ids(out, "succs", b->succs.at, b->succs.n);
    if (b->label)
        fprintf(out, " label=%u", b->label);
    if (b->loop_depth)
        fprintf(out, " depth=%u", b->loop_depth);
    if (b->uniform_flow)
        fputs(" uniform", out);
    fputc('\n', out);
    FOR_INSTS(f, id, inst)
        print_inst(out, f, inst);
}

static void print_summary(FILE *out, const FuncSummary *summary) {
    fprintf(out, "summary frame=%u stack=%u maxb=%u", summary->frame_bytes, summary->stack_bytes,
            summary->max_b);
    for (unsigned file = 0; file < RF_COUNT; file++) {
        const Bitset *set = &summary->clobbers[file];
        if (!set->w || bs_empty(set))
            continue;
        fprintf(out, " %s(", ir_phys_names[file]);
        const char *sep = "";
        BS_EACH(r, set) {
            fprintf(out, "%s%u", sep, r);
            sep = " ";
        }
        fputc(')', out);
    }
    fputc('\n', out);
}

static bool summary_is_set(const FuncSummary *summary) {
    if (summary->frame_bytes || summary->stack_bytes || summary->max_b)
        return true;
    for (unsigned file = 0; file < RF_COUNT; file++)
        if (summary->clobbers[file].w && !bs_empty(&summary->clobbers[file]))
            return true;
    return false;
}

static void print_function(FILE *out, const Function *f) {
    const struct {
        bool set;
        const char *name;
    } props[] = {{f->is_entry, "entry"},
                 {f->is_ssa, "ssa"},
                 {f->is_physical, "physical"},
                 {f->noreturn, "noreturn"},
                 {f->uniform_entry, "uniform_entry"},
                 {f->uses_sync, "uses_sync"}};
    fputs("func ", out);
    print_name(out, f->module, f->name);
    for (unsigned k = 0; k < sizeof props / sizeof *props; k++)
        if (props[k].set)
            fprintf(out, " %s", props[k].name);
    if (f->shared_bytes)
        fprintf(out, " shared=%u", f->shared_bytes);
    fprintf(out, " var=%u spill=%u barriers=%u bbase=%u start=bb%u {\n", f->var_bytes, f->spill_bytes,
            f->nbarriers_used, f->b_base, f->entry.i);
    if (summary_is_set(&f->summary))
        print_summary(out, &f->summary);
    for (unsigned k = 0; k < f->tables.n; k++) {
        fprintf(out, "table %u (", f->tables.at[k].offset_bytes);
        for (unsigned e = 0; e < f->tables.at[k].entries.n; e++)
            fprintf(out, "%s%u", e ? " " : "", f->tables.at[k].entries.at[e]);
        fputs(")\n", out);
    }
    FOR_BLOCKS(f, b)
        if (!f->blocks.at[b.i].dead)
            print_block(out, f, b);
    fputs("}\n", out);
}

static void print_var(FILE *out, const IrModule *m, const IrVar *var) {
    fputs("var ", out);
    print_name(out, m, var->name);
    fprintf(out, " linkage=%u space=%u align=%u size=%" PRIu64 " offset=%" PRIu64 "%s\n", var->linkage,
            var->space, var->align_bytes, var->size_bytes, var->offset_bytes,
            var->is_extern_shared ? " extern_shared" : "");
}

char *ir_print_function(const Function *f, size_t *size_bytes) {
    TextStream *stream = text_open();
    FILE *out = stream->out;
    print_function(out, f);
    return text_close(stream, size_bytes);
}

char *ir_print(const IrModule *module, size_t *size_bytes) {
    TextStream *stream = text_open();
    FILE *out = stream->out;
    fprintf(out, "module %s opt=%u const=%u\n", isa_target_name(module->target), module->opt_level,
            module->const_bytes);
    for (unsigned k = 0; k < module->vars.n; k++)
        print_var(out, module, &module->vars.at[k]);
    for (unsigned k = 0; k < module->funcs.n; k++)
        print_function(out, module->funcs.at[k]);
    return text_close(stream, size_bytes);
}
