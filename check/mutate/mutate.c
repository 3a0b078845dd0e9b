/* Sites and mutations: see mutate.h. It asks by name for operations that a compiler could choose wrongly in
 * one way only: each class of faults is one of them. SPDX-License-Identifier: MIT */
#include "check/mutate/mutate.h"
#include "emit/elf/image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xff, AFTER = 0, BEFORE = 1, SCOREBOARDS = 6, NO_SCOREBOARD = 7 };

static const MutClassInfo classes[MUT_CLASSES] = {
#define MUTATION(id, name, group, text) [MUT_##id] = {name, text, MUT_##group},
#include "check/mutate/mutate.def"
#undef MUTATION
};
const MutClassInfo *mutate_class(MutClass c) { return &classes[c]; }
const char *mutate_group_name(MutGroup g) {
    static const char *const names[MUT_GROUPS] = {"reconvergence", "control codes", "predication",
                                                  "arithmetic"};
    return names[g];
}
bool mutate_class_find(const char *name, size_t n, MutClass *c) {
    for (unsigned k = 0; k < MUT_CLASSES; k++)
        if (strlen(classes[k].name) == n && memcmp(classes[k].name, name, n) == 0) {
            *c = (MutClass)k;
            return true;
        }
    return false;
}

/* ---- words of the file ---- */

static uint64_t load64(const uint8_t *p) {
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static bool get(const Mutator *mutator, uint32_t i, MachInst *out) {
    char error[ISA_ERROR_BYTES];
    if (i >= mutator->bin->ncode || mutator->offset[i] == UINT64_MAX)
        return false;
    uint64_t word[2] = {load64(mutator->image + mutator->offset[i]),
                        load64(mutator->image + mutator->offset[i] + 8)};
    return isa_decode(mutator->bin->target, word, out, error);
}

static bool put_inst(const Mutator *mutator, uint8_t *out, uint32_t i, const MachInst *in) {
    char error[ISA_ERROR_BYTES];
    uint64_t word[2];
    MachInst copy = *in;
    copy.opcode = 0;
    if (!isa_encode(mutator->bin->target, &copy, word, error))
        return false;
    for (unsigned k = 0; k < 16; k++)
        out[mutator->offset[i] + k] = (uint8_t)(word[k / 8] >> 8 * (k % 8));
    return true;
}

/* Instruction `from` as it must be at `to`: the place that it names stays. */
static bool get_moved(const Mutator *m, uint32_t from, uint32_t to, MachInst *out) {
    if (!get(m, from, out))
        return false;
    bool absolute = isa_is_absolute(out->optype, out->mods);
    for (unsigned k = 0; k < out->nsrc && !absolute; k++)
        if (out->src[k].kind == OPK_IMM64)
            out->wide += ((int64_t)from - (int64_t)to) * INST_BYTES;
    return true;
}

static bool swap_places(const Mutator *m, uint8_t *out, uint32_t i, uint32_t j) {
    MachInst a, b;
    return get_moved(m, i, j, &a) && get_moved(m, j, i, &b) && put_inst(m, out, j, &a) &&
           put_inst(m, out, i, &b);
}

static bool make_nop(const Mutator *m, uint8_t *out, uint32_t i) {
    MachInst in, nop = isa_inst(OT_NOP);
    if (!get(m, i, &in))
        return false;
    nop.ctrl = in.ctrl;
    return put_inst(m, out, i, &nop);
}

static Operand *barrier_operand(MachInst *in) {
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_REG && in->src[k].file == RF_B)
            return &in->src[k];
    return NULL;
}

static bool swap_registers(const Mutator *m, uint8_t *out, uint32_t i, uint32_t j) {
    MachInst a, b;
    if (!get(m, i, &a) || !get(m, j, &b) || !barrier_operand(&a) || !barrier_operand(&b))
        return false;
    uint32_t t = barrier_operand(&a)->value;
    barrier_operand(&a)->value = barrier_operand(&b)->value;
    barrier_operand(&b)->value = t;
    return put_inst(m, out, i, &a) && put_inst(m, out, j, &b);
}

/* A register that is not the instruction's: the next one up or down, in both ways of a site. */
static bool other_register(const Mutator *m, uint8_t *out, uint32_t i, uint32_t value) {
    MachInst in;
    if (!get(m, i, &in) || !barrier_operand(&in))
        return false;
    barrier_operand(&in)->value = value;
    return put_inst(m, out, i, &in);
}

/* BSSY at i names the syncpoint of the one at j; of itself: the instruction behind its own. */
static bool other_syncpoint(const Mutator *m, uint8_t *out, uint32_t i, uint32_t j) {
    MachInst own, other;
    if (!get(m, i, &own) || !get(m, j, &other))
        return false;
    own.wide = i == j ? own.wide + INST_BYTES : other.wide + ((int64_t)j - (int64_t)i) * INST_BYTES;
    return put_inst(m, out, i, &own);
}

/* BSSY at i moves to j, where the branch is; what is between moves up by one. */
static bool move_behind(const Mutator *m, uint8_t *out, uint32_t i, uint32_t j) {
    MachInst in;
    for (uint32_t k = i + 1; k <= j; k++)
        if (!get_moved(m, k, k - 1, &in) || !put_inst(m, out, k - 1, &in))
            return false;
    return get_moved(m, i, j, &in) && put_inst(m, out, j, &in);
}

static bool flip_lane(const Mutator *m, uint8_t *out, uint32_t i, uint32_t lane) {
    MachInst in;
    if (!get(m, i, &in))
        return false;
    for (unsigned k = 0; k < in.nsrc; k++)
        if (in.src[k].kind == OPK_IMM) {
            in.src[k].value ^= 1u << lane;
            return put_inst(m, out, i, &in);
        }
    return false;
}

static bool swap_values(const Mutator *m, uint8_t *out, uint32_t i) {
    MachInst in;
    if (!get(m, i, &in))
        return false;
    MachInst swapped = in;
    swapped.src[0] = in.src[1];
    swapped.src[1] = in.src[0];
    if (put_inst(m, out, i, &swapped))
        return true;
    for (unsigned k = 0; k < in.nsrc; k++) /* no such form: the same by the predicate */
        if (in.src[k].kind == OPK_REG && in.src[k].file == RF_P) {
            in.src[k].mods ^= OPM_NOT;
            return put_inst(m, out, i, &in);
        }
    return false;
}

/* Modifier `index` of the instruction takes another value of its enumeration, or the other value of a flag.
 */
static bool change_modifier(const Mutator *m, uint8_t *out, uint32_t i, uint32_t index, uint32_t value) {
    MachInst in;
    if (!get(m, i, &in))
        return false;
    IsaModInfo mod = isa_mod_info(in.optype, index);
    uint32_t mask = ((1u << mod.width) - 1) << mod.lo;
    in.mods = (in.mods & ~mask) | ((value << mod.lo ^ (uint32_t)mod.def << mod.lo) & mask);
    return put_inst(m, out, i, &in);
}

/* The guard is operand GUARD. */
static Operand *operand_of(MachInst *in, uint32_t which) {
    return which == GUARD ? &in->guard : &in->src[which];
}

/* What an instruction sets when its result is there, or (1) when its operands were read. */
static uint8_t *scoreboard(MachInst *in, uint32_t which) {
    return which ? &in->ctrl.read_sb : &in->ctrl.write_sb;
}

static bool change(const Mutator *m, uint8_t *out, MutSite s) {
    MachInst in;
    bool good = get(m, s.inst, &in);
    switch (s.cls) { /* no default: a new class is a warning here */
    case MUT_DROP_BSYNC:
    case MUT_DROP_BREAK:
    case MUT_DROP_BSSY:
    case MUT_DROP_BMOV:
    case MUT_DROP_WARPSYNC:
    case MUT_DROP_YIELD: return make_nop(m, out, s.inst);
    case MUT_WRONG_SYNCPOINT: return other_syncpoint(m, out, s.inst, s.other);
    case MUT_WRONG_B: return other_register(m, out, s.inst, s.other);
    case MUT_GUARD_BREAK:
        if (s.other == GUARD)
            in.guard = op_pt();
        else
            in.guard.mods ^= OPM_NOT;
        break;
    case MUT_MOVE_BSYNC: return swap_places(m, out, s.inst, s.other == AFTER ? s.inst + 1 : s.inst - 1);
    case MUT_SWAP_B: return swap_registers(m, out, s.inst, s.other);
    case MUT_LATE_BSSY: return move_behind(m, out, s.inst, s.other);
    case MUT_WARPSYNC_LANE: return flip_lane(m, out, s.inst, s.other);
    case MUT_SWAP_SELECT: return swap_values(m, out, s.inst);
    case MUT_WRONG_MODIFIER: return change_modifier(m, out, s.inst, s.other >> 16, s.other & 0xffff);
    case MUT_HOIST_STORE:
        if (s.other != GUARD)
            return swap_places(m, out, s.inst, s.other);
        in.guard = op_pt();
        break;
    case MUT_GUARD_BSYNC: in.guard = op_reg(RF_P, s.other, 1); break;
    case MUT_SHORT_STALL: in.ctrl.stall_cycles = (uint8_t)s.other; break;
    case MUT_DROP_WAIT: in.ctrl.wait_mask &= (uint8_t) ~(1u << s.other); break;
    case MUT_DROP_SCOREBOARD: *scoreboard(&in, s.other) = NO_SCOREBOARD; break;
    case MUT_WRONG_SCOREBOARD:
        *scoreboard(&in, s.other) = (uint8_t)((*scoreboard(&in, s.other) + 1) % SCOREBOARDS);
        break;
    case MUT_WRONG_CONSTANT: in.src[s.other].value ^= 1; break;
    case MUT_WRONG_SIGN: in.src[s.other].mods ^= OPM_NEG; break;
    case MUT_WRONG_REGISTER: in.src[s.other >> 8].value = in.src[s.other & 0xff].value; break;
    case MUT_FLIP_PREDICATE: operand_of(&in, s.other)->mods ^= OPM_NOT; break;
    case MUT_CLASSES: return false;
    }
    return good && put_inst(m, out, s.inst, &in);
}

bool mutate_apply(const Mutator *mutator, MutSite s, uint8_t *out) {
    memcpy(out, mutator->image, mutator->image_bytes);
    return change(mutator, out, s);
}

/* ---- sites ---- */

typedef struct {
    Mutator *m;
    uint8_t *scratch;
    uint32_t last_sync[2], guard; /* BSYNC, BSSY before; a predicate that the function uses */
} Finder;

static void add_site(Finder *finder, MutClass c, uint32_t inst, uint32_t other) {
    MutSite s = {c, inst, other};
    if (mutate_apply(finder->m, s, finder->scratch) &&
        memcmp(finder->scratch, finder->m->image, finder->m->image_bytes) != 0)
        VEC_ADD(&finder->m->arena, &finder->m->sites[c], s);
}

static bool same_function(const Mutator *mutator, uint32_t i, uint32_t j) {
    const BinFlow *bin_flow = mutator->flow;
    return i < mutator->bin->ncode && j < mutator->bin->ncode && bin_flow->block_of[i] != BINFLOW_NONE &&
           bin_flow->block_of[j] != BINFLOW_NONE &&
           bin_flow->blocks[bin_flow->block_of[i]].func == bin_flow->blocks[bin_flow->block_of[j]].func;
}

/* Writes what others see, and has no result. */
static bool is_store(const MachInst *in) {
    const OpTraits *traits = isa_traits(in->optype);
    return traits->effects & ISA_EFFECT_WRITE && !(traits->effects & ISA_EFFECT_READ) &&
           traits->lanes == ISA_LANES_EACH && traits->space != ISA_SPACE_LOCAL;
}

static void swap_sites(Finder *finder, uint32_t i, unsigned which, const MachInst *in) {
    uint32_t before = finder->last_sync[which];
    if (before != BINFLOW_NONE && same_function(finder->m, before, i) &&
        bin_barrier(&finder->m->flow->insts[before]) != bin_barrier(in))
        add_site(finder, MUT_SWAP_B, before, i);
    finder->last_sync[which] = i;
}

/* An immediate and nothing else: MOV, UMOV, IMAD of RZ. */
static bool moves_constant(const MachInst *in) {
    unsigned n = 0;
    for (unsigned k = 0; k < in->nsrc; k++) {
        Operand o = in->src[k];
        if (o.kind == OPK_REG && (o.file == RF_R || o.file == RF_UR) &&
            o.value != (o.file == RF_R ? REG_RZ : REG_URZ))
            return false;
        n += o.kind == OPK_IMM;
    }
    return n == 1 && op_is_always(in->guard) &&
           (in->optype == OT_MOV || in->optype == OT_UMOV || in->optype == OT_IMAD);
}

/* The instruction that gives the mask of a WARPSYNC or BRA.DIV a constant: itself, or one before it in its
 * block that moves it into the register. BINFLOW_NONE: there is none. */
static uint32_t mask_constant(const BinFlow *flow, uint32_t i, const MachInst *in) {
    const Operand *mask = NULL;
    for (unsigned k = 0; k < in->nsrc; k++) {
        if (in->src[k].kind == OPK_IMM)
            return i;
        if (in->src[k].kind == OPK_REG && (in->src[k].file == RF_R || in->src[k].file == RF_UR))
            mask = &in->src[k];
    }
    for (uint32_t at = i; mask && at > flow->blocks[flow->block_of[i]].first;) {
        const MachInst *before = &flow->insts[--at];
        if (before->ndst == 0 || before->dst[0].kind != OPK_REG || before->dst[0].file != mask->file ||
            before->dst[0].value != mask->value)
            continue;
        return moves_constant(before) ? at : BINFLOW_NONE;
    }
    return BINFLOW_NONE;
}

static void mask_sites(Finder *finder, uint32_t i, const MachInst *in) {
    static const uint8_t lanes[] = {0, 5, 31};
    uint32_t at = mask_constant(finder->m->flow, i, in);
    for (unsigned k = 0; k < sizeof lanes && at != BINFLOW_NONE; k++)
        add_site(finder, MUT_WARPSYNC_LANE, at, lanes[k]);
}

static void register_sites(Finder *finder, uint32_t i, const MachInst *in) {
    unsigned own = bin_barrier(in);
    add_site(finder, MUT_WRONG_B, i, own + 1);
    if (own)
        add_site(finder, MUT_WRONG_B, i, own - 1);
}

static void barrier_sites(Finder *finder, uint32_t i, const MachInst *in) {
    const BinFlow *bin_flow = finder->m->flow;
    const BinBlock *b = &bin_flow->blocks[bin_flow->block_of[i]];
    uint32_t end = b->first + b->ninsts - 1;
    switch (bin_kind(in)) {
    case BK_BSYNC:
        add_site(finder, MUT_DROP_BSYNC, i, 0);
        if (same_function(finder->m, i, i + 1))
            add_site(finder, MUT_MOVE_BSYNC, i, AFTER);
        if (i > 0 && same_function(finder->m, i, i - 1))
            add_site(finder, MUT_MOVE_BSYNC, i, BEFORE);
        add_site(finder, MUT_GUARD_BSYNC, i, finder->guard);
        swap_sites(finder, i, 0, in);
        register_sites(finder, i, in);
        break;
    case BK_BSSY:
        add_site(finder, MUT_DROP_BSSY, i, 0);
        add_site(finder, MUT_WRONG_SYNCPOINT, i, i);
        if (finder->last_sync[1] != BINFLOW_NONE && same_function(finder->m, finder->last_sync[1], i))
            add_site(finder, MUT_WRONG_SYNCPOINT, i, finder->last_sync[1]);
        if (end > i && bin_kind(&bin_flow->insts[end]) == BK_BRANCH)
            add_site(finder, MUT_LATE_BSSY, i, end);
        swap_sites(finder, i, 1, in);
        register_sites(finder, i, in);
        break;
    case BK_BREAK:
        add_site(finder, MUT_DROP_BREAK, i, 0);
        if (in->guard.kind == OPK_REG && in->guard.value != REG_PT) {
            add_site(finder, MUT_GUARD_BREAK, i, GUARD);
            add_site(finder, MUT_GUARD_BREAK, i, 0);
        }
        register_sites(finder, i, in);
        break;
    case BK_BMOV_TO_B:
    case BK_BMOV_FROM_B:
        add_site(finder, MUT_DROP_BMOV, i, 0);
        register_sites(finder, i, in);
        break;
    case BK_YIELD: add_site(finder, MUT_DROP_YIELD, i, 0); break;
    case BK_WARPSYNC:
        add_site(finder, MUT_DROP_WARPSYNC, i, 0);
        mask_sites(finder, i, in);
        break;
    case BK_BRANCH:
        if (MGET(BRA, cond, in->mods) == BRACond_DIV)
            mask_sites(finder, i, in);
        break;
    default: break;
    }
}

static void data_sites(Finder *finder, uint32_t i, const MachInst *in) {
    const BinFlow *bin_flow = finder->m->flow;
    if (in->guard.kind == OPK_REG && in->guard.value != REG_PT)
        add_site(finder, MUT_FLIP_PREDICATE, i, GUARD);
    for (unsigned k = 0; k < in->nsrc && bin_kind(in) == BK_PLAIN; k++)
        if (in->src[k].kind == OPK_REG && in->src[k].file == RF_P && in->src[k].value != REG_PT)
            add_site(finder, MUT_FLIP_PREDICATE, i, k);
    if (in->optype == OT_SEL || in->optype == OT_FSEL)
        add_site(finder, MUT_SWAP_SELECT, i, 0);
    if (!is_store(in))
        return;
    if (in->guard.kind == OPK_REG && in->guard.value != REG_PT)
        add_site(finder, MUT_HOIST_STORE, i, GUARD);
    const BinBlock *b = &bin_flow->blocks[bin_flow->block_of[i]];
    if (b->first == i && b->npreds == 1 && i > 0 && same_function(finder->m, i, i - 1) &&
        bin_kind(&bin_flow->insts[i - 1]) == BK_BRANCH && bin_guard(&bin_flow->insts[i - 1]) == BG_MAYBE)
        add_site(finder, MUT_HOIST_STORE, i, i - 1);
}

static bool is_vector_word(const MachInst *in, unsigned k) {
    return in->src[k].kind == OPK_REG && in->src[k].file == RF_R && in->src[k].value != REG_RZ &&
           in->src[k].count < 2;
}

/* What a compiler's mistakes look like. The value next to a modifier's own is the most alike: enumerations
 * list comparisons, types and operations in that order. */
static void arithmetic_sites(Finder *finder, uint32_t i, const MachInst *in) {
    if (bin_kind(in) != BK_PLAIN)
        return;
    for (unsigned k = 0; k < isa_num_mods(in->optype); k++) {
        IsaModInfo mod = isa_mod_info(in->optype, k);
        uint32_t own = (in->mods >> mod.lo ^ mod.def) & ((1u << mod.width) - 1);
        add_site(finder, MUT_WRONG_MODIFIER, i, k << 16 | (own ^ 1));
        if (mod.width > 1) /* LT and LE differ in the second bit */
            add_site(finder, MUT_WRONG_MODIFIER, i, k << 16 | (own ^ 2));
    }
    for (unsigned k = 0; k < in->nsrc; k++) {
        if (in->src[k].kind == OPK_IMM)
            add_site(finder, MUT_WRONG_CONSTANT, i, k);
        add_site(finder, MUT_WRONG_SIGN, i, k);
        unsigned next = (k + 1) % in->nsrc;
        if (is_vector_word(in, k) && is_vector_word(in, next) && in->src[k].value != in->src[next].value)
            add_site(finder, MUT_WRONG_REGISTER, i, k << 8 | next);
    }
}

static void control_sites(Finder *f, uint32_t i, const MachInst *in) {
    unsigned stall = in->ctrl.stall_cycles;
    if (stall > 1)
        add_site(f, MUT_SHORT_STALL, i, stall - 1);
    if (stall > 2)
        add_site(f, MUT_SHORT_STALL, i, 1);
    for (unsigned k = 0; k < 6; k++)
        if (in->ctrl.wait_mask >> k & 1)
            add_site(f, MUT_DROP_WAIT, i, k);
    MachInst copy = *in;
    for (unsigned which = 0; which < 2; which++)
        if (*scoreboard(&copy, which) < SCOREBOARDS) {
            add_site(f, MUT_DROP_SCOREBOARD, i, which);
            add_site(f, MUT_WRONG_SCOREBOARD, i, which);
        }
}

static void find_mutations(Mutator *mutator) {
    const BinFlow *bin_flow = mutator->flow;
    Finder f = {
        .m = mutator, .scratch = malloc(mutator->image_bytes + 1), .last_sync = {BINFLOW_NONE, BINFLOW_NONE}};
    if (!f.scratch)
        abort();
    for (uint32_t i = 0; i < mutator->bin->ncode; i++) {
        if (!bin_flow->decoded[i] || bin_flow->block_of[i] == BINFLOW_NONE ||
            !bin_flow->blocks[bin_flow->block_of[i]].reachable)
            continue;
        const MachInst *in = &bin_flow->insts[i];
        for (unsigned k = 0; k < in->ndst; k++)
            if (in->dst[k].kind == OPK_REG && in->dst[k].file == RF_P && in->dst[k].value < REG_PT)
                f.guard = in->dst[k].value;
        barrier_sites(&f, i, in);
        data_sites(&f, i, in);
        arithmetic_sites(&f, i, in);
        control_sites(&f, i, in);
    }
    free(f.scratch);
}

/* ---- the file ---- */

/* Where each function's code lies in the file; words that the reader changed (relocations) are left alone. */
static bool find_places(Mutator *mutator, Diags *d) {
    const Binary *binary = mutator->bin;
    ElfImage *elf_image = elf_image_read(&mutator->arena, mutator->image, mutator->image_bytes, d);
    if (!elf_image)
        return false;
    mutator->offset = ARENA_ARRAY(&mutator->arena, uint64_t, binary->ncode + 1u);
    memset(mutator->offset, 0xff, (binary->ncode + 1u) * sizeof *mutator->offset);
    for (uint32_t f = 0; f < binary->nfuncs; f++) {
        uint32_t section =
            elf_image_find(elf_image, arena_printf(&mutator->arena, ".text.%s", binary->funcs[f].name));
        if (!section)
            continue;
        const ElfSection *elf_section = &elf_image->sections.at[section];
        uint32_t first = (uint32_t)((binary->funcs[f].address - binary->code_base) / INST_BYTES);
        for (uint32_t i = 0; i < binary->funcs[f].ninsts && (i + 1ull) * INST_BYTES <= elf_section->h.sh_size;
             i++) {
            uint64_t at = elf_section->h.sh_offset + 16ull * i;
            if (at + 16 <= mutator->image_bytes &&
                load64(mutator->image + at) == binary->code[first + i][0] &&
                load64(mutator->image + at + 8) == binary->code[first + i][1])
                mutator->offset[first + i] = at;
        }
    }
    for (uint32_t i = 0; i < binary->nfixups; i++)
        if (binary->fixups[i].in_code && binary->fixups[i].offset_bytes / INST_BYTES < binary->ncode)
            mutator->offset[binary->fixups[i].offset_bytes / INST_BYTES] = UINT64_MAX;
    return true;
}

Mutator *mutate_new(const char *path, const void *image, size_t size_bytes, Diags *d) {
    Mutator *mutator = calloc(1, sizeof *mutator);
    if (!mutator)
        return NULL;
    mutator->image = image;
    mutator->image_bytes = size_bytes;
    mutator->bin = binary_read(path, image, size_bytes, d);
    mutator->flow = mutator->bin ? bin_flow_new(mutator->bin) : NULL;
    if (!mutator->flow || !find_places(mutator, d)) {
        mutate_free(mutator);
        return NULL;
    }
    find_mutations(mutator);
    return mutator;
}

void mutate_free(Mutator *mutator) {
    if (!mutator)
        return;
    bin_flow_free(mutator->flow);
    binary_free(mutator->bin);
    arena_free(&mutator->arena);
    free(mutator);
}

const char *mutate_text(const Mutator *mutator, MutSite s, uint32_t number, char out[256]) {
    char where[160], text[120] = "?";
    const MachInst *in = &mutator->flow->insts[s.inst];
    const BinFunc *f = binary_func_at(mutator->bin, bin_address(mutator->flow, s.inst));
    isa_print(mutator->bin->target, in, bin_address(mutator->flow, s.inst) - (f ? f->address : 0), NULL, text,
              sizeof text);
    int n = snprintf(out, 256, "%s:%u  %.60s  %.100s", classes[s.cls].name, number,
                     bin_where(mutator->flow, s.inst, where), text);
    char *end = out + n;
    size_t room = 256 - (size_t)n;
    switch (s.cls) {
    case MUT_SHORT_STALL: snprintf(end, room, "  stall %u -> %u", in->ctrl.stall_cycles, s.other); break;
    case MUT_DROP_WAIT: snprintf(end, room, "  without scoreboard %u", s.other); break;
    case MUT_WRONG_MODIFIER: {
        const char *value = isa_mod_value_name(in->optype, s.other >> 16, s.other & 0xffff);
        snprintf(end, room, "  %s = %.20s", isa_mod_info(in->optype, s.other >> 16).name,
                 value ? value : "another");
        break;
    }
    case MUT_WRONG_CONSTANT:
    case MUT_WRONG_SIGN: snprintf(end, room, "  operand %u", s.other + 1); break;
    case MUT_WRONG_REGISTER:
        snprintf(end, room, "  operand %u as %u", (s.other >> 8) + 1, (s.other & 0xff) + 1);
        break;
    case MUT_WARPSYNC_LANE: snprintf(end, room, "  lane %u", s.other); break;
    case MUT_HOIST_STORE:
        if (s.other == GUARD)
            break;
        /* fall through */
    case MUT_SWAP_B:
    case MUT_WRONG_SYNCPOINT:
    case MUT_LATE_BSSY: snprintf(end, room, "  and %.60s", bin_where(mutator->flow, s.other, where)); break;
    case MUT_MOVE_BSYNC: snprintf(end, room, "  %s", s.other == AFTER ? "later" : "earlier"); break;
    case MUT_FLIP_PREDICATE:
        snprintf(end, room, s.other == GUARD ? "  guard" : "  operand %u", s.other + 1);
        break;
    case MUT_WRONG_B: snprintf(end, room, "  B%u", s.other); break;
    case MUT_GUARD_BREAK: snprintf(end, room, s.other == GUARD ? "  no guard" : "  negated"); break;
    case MUT_DROP_SCOREBOARD:
    case MUT_WRONG_SCOREBOARD: snprintf(end, room, s.other ? "  of its operands" : "  of its result"); break;
    case MUT_DROP_BSSY:
    case MUT_DROP_BMOV:
    case MUT_DROP_WARPSYNC:
    case MUT_DROP_BSYNC:
    case MUT_DROP_BREAK:
    case MUT_DROP_YIELD:
    case MUT_GUARD_BSYNC:
    case MUT_SWAP_SELECT:
    case MUT_CLASSES: break; /* the instruction says it */
    }
    return out;
}
