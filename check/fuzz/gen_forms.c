/* Random data instructions out of frontend/ptx_forms.def: every form of an opcode that only computes is used
 * with every modifier that front end, lowering and interpreter all take. See gen_internal.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/fuzz/gen_internal.h"
#include "frontend/forms.h"
#include "frontend/modifiers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_COPY, GUARD_SELF, GUARD_BRANCH };
typedef struct {
    uint8_t weight; /* of 16; 0 never */
    uint8_t guard;  /* a form whose guard becomes a branch runs a loop or calls a function: slow */
} FormWeight;
static const FormWeight forms[] = {
    {0},
#define WEIGHT(n) n
#define ABSENT(reason) 0
#define GUARD(kind) GUARD_##kind
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    {weight, guard},
#include "frontend/ptx_forms.def"
#undef WEIGHT
#undef ABSENT
#undef GUARD
};
enum { NFORMS = sizeof forms / sizeof *forms };

static unsigned weight_of(const Gen *g, unsigned form) {
    return forms[form].guard == GUARD_BRANCH && !g->slow_ops ? 0 : forms[form].weight;
}

/* Rows that are never drawn change no program. */
static unsigned choose_form(Gen *g) {
    unsigned total = 0, form = 0;
    for (unsigned k = 1; k < NFORMS; k++)
        total += weight_of(g, k);
    for (unsigned at = gen_below(g, total) + 1, sum = 0; sum < at;)
        sum += weight_of(g, ++form);
    return form;
}

/* ---- modifiers ---- */
typedef struct {
    unsigned form;
    char spelling[96];
    PtxType type[4];
    unsigned ntypes;
} Insn;

/* One of the words that the element takes; false: it takes other things than words. */
static bool choose_word(Gen *g, const FormElement *element, const char **word, size_t *n) {
    const char *at = NULL;
    unsigned count = 0;
    while (form_element_word(element, &at, word, n))
        count++;
    if (count) {
        for (unsigned k = gen_below(g, count) + 1; k; k--)
            form_element_word(element, &at, word, n);
        return true;
    }
    for (unsigned k = 0; k < ptx_modifier_count(); k++)
        count += ptx_modifier_row(k)->cls == element->cls;
    if (!count)
        return false;
    unsigned k = 0;
    for (unsigned left = gen_below(g, count) + 1; left; k++)
        left -= ptx_modifier_row(k)->cls == element->cls;
    *word = ptx_modifier_row(k - 1)->word;
    *n = strlen(*word);
    return true;
}

/* False: the form needs a modifier that is not made here. */
static bool choose_mods(Gen *g, Insn *in) {
    FormElement elements[FORM_MAX_ELEMENTS];
    bool open;
    unsigned nelements = form_elements(in->form, elements, &open);
    size_t at = (size_t)snprintf(in->spelling, sizeof in->spelling, "%s", ptx_op_name(form_op(in->form)));
    in->ntypes = 0;
    for (unsigned k = 0; k < nelements; k++) {
        const char *word;
        size_t n;
        if (elements[k].is_optional && gen_chance(g, 60))
            continue;
        if (!choose_word(g, &elements[k], &word, &n) || at + n + 2 > sizeof in->spelling)
            return false;
        at += (size_t)snprintf(in->spelling + at, sizeof in->spelling - at, ".%.*s", (int)n, word);
        if (elements[k].cls == 't' && in->ntypes < 4)
            in->type[in->ntypes++] = ptx_type_by_name(word, n);
    }
    return !open;
}

/* ---- operands ---- */
typedef struct {
    char kind;
    PtxType type;
    bool wider, piped, optional;
    bool own_type; /* not one of the instruction's */
} Spec;

static PtxType twice(PtxType t) {
    switch (t) {
    case TY_U16: return TY_U32;
    case TY_S16: return TY_S32;
    case TY_U32: return TY_U64;
    case TY_S32: return TY_S64;
    default: return TY_NONE;
    }
}

static const char *read_spec(const char *p, const Insn *in, Spec *spec) {
    *spec = (Spec){0};
    spec->piped = *p == '|';
    p += spec->piped;
    spec->kind = *p++;
    if (*p >= '0' && *p <= '3')
        spec->type = (unsigned)(*p - '0') < in->ntypes ? in->type[*p - '0'] : TY_NONE, p++;
    else if (*p == 'w')
        spec->type = twice(in->type[0]), p++;
    else if (*p == ':') {
        spec->own_type = true;
        size_t n = strspn(++p, "busfx0123456789");
        spec->type = ptx_type_by_name(p, n);
        p += n;
    }
    for (; *p && *p != ','; p++) {
        spec->wider |= *p == '~';
        spec->optional |= *p == '?';
    }
    return p + (*p == ',');
}

static const char *const special_names[] = {"%tid.x",       "%ntid.x",   "%laneid",      "%ctaid.x",
                                            "%warpid",      "%nctaid.x", "%lanemask_lt", "%lanemask_eq",
                                            "%lanemask_ge", "%tid.y"};

static bool takes_constant(PtxType t) {
    PtxTypeClass c = ptx_type_class(t);
    return ptx_type_bytes(t) >= 2 && ptx_type_bytes(t) <= 8 &&
           (c == TC_BITS || ((c == TC_SIGNED || c == TC_UNSIGNED) && t != TY_U16X2 && t != TY_S16X2) ||
            t == TY_F32 || t == TY_F64);
}

/* Its positions and numbers of bits are below 256, or the result is undefined. */
static bool takes_byte(PtxOp op) { return op == PTX_BFE || op == PTX_BFI; }

static void write_reg(Gen *g, GenPool pool, unsigned n) { OUT(g, "%%%c%u", gen_letter(pool), n); }

static void write_source(Gen *g, const Insn *in, const Spec *spec) {
    char text[40];
    GenPool pool = gen_pool_of(ptx_type_bytes(spec->type));
    if (spec->wider && gen_chance(g, 25) && pool < POOL_D)
        pool = (GenPool)gen_range(g, pool + 1u, POOL_D);
    bool count = spec->own_type && spec->type == TY_U32; /* of bits, or a position */
    bool byte = count && takes_byte(form_op(in->form));
    unsigned constants = count ? 60 : 20;
    if (spec->kind == 'm' && spec->type == TY_U32 && form_op(in->form) == PTX_MOV && gen_chance(g, 30))
        OUT(g, "%s", special_names[gen_below(g, sizeof special_names / sizeof *special_names)]);
    else if (spec->kind != 'r' && !spec->wider && takes_constant(spec->type) && gen_chance(g, constants)) {
        if (count && gen_chance(g, 70))
            snprintf(text, sizeof text, "%u", gen_below(g, 70));
        else if (byte)
            snprintf(text, sizeof text, "%u", gen_below(g, 256));
        else
            gen_constant(g, spec->type, text);
        OUT(g, "%s", text);
    } else if (byte)
        OUT(g, "%%t0");
    else
        write_reg(g, pool, gen_src(g, pool));
}

static void write_dest(Gen *gen, const Spec *spec, unsigned *pred) {
    GenPool pool = gen_pool_of(ptx_type_bytes(spec->type));
    if (spec->kind == 'P' || spec->kind == 'Q') {
        unsigned n = gen_below(gen, gen->npool[POOL_P]);
        if (n == *pred) /* two results are two registers */
            n = (n + 1) % gen->npool[POOL_P];
        *pred = n;
        gen->recent[POOL_P] = n;
        write_reg(gen, POOL_P, n);
        return;
    }
    if (spec->wider && gen_chance(gen, 25) && pool < POOL_D)
        pool = (GenPool)gen_range(gen, pool + 1u, POOL_D);
    write_reg(gen, pool, gen_dst(gen, pool));
}

/* Sources are chosen before the destination, so that the destination of this statement is no recent value. */
static void write_insn(Gen *gen, const Insn *in) {
    unsigned recent[POOL_COUNT], pred = UINT32_MAX;
    const char *p = form_operand_text(in->form);
    memcpy(recent, gen->recent, sizeof recent);
    OUT(gen, "%s", in->spelling);
    for (unsigned n = 0; *p; n++) {
        Spec s;
        p = read_spec(p, in, &s);
        bool packed = in->ntypes && (in->type[0] == TY_F16X2 || in->type[0] == TY_BF16X2); /* two results */
        if ((s.piped && s.kind == 'Q' && !packed && gen_chance(gen, 60)) ||
            (s.optional && gen_chance(gen, 50)))
            continue;
        OUT(gen, "%s", s.piped ? "|" : n ? ", " : " ");
        if (strchr("dDPQ", s.kind)) {
            write_dest(gen, &s, &pred);
            continue;
        }
        unsigned written[POOL_COUNT];
        memcpy(written, gen->recent, sizeof written);
        memcpy(gen->recent, recent, sizeof recent);
        if (s.kind == 'p') {
            unsigned from = gen_src(gen, POOL_P);
            OUT(gen, "%s%%p%u", gen_chance(gen, 30) ? "!" : "", from);
        } else if (s.kind == 'i')
            OUT(gen, "%u", gen_below(gen, 256));
        else
            write_source(gen, in, &s);
        memcpy(gen->recent, written, sizeof written);
    }
    OUT(gen, ";\n");
}

/* ---- which spellings can be used ---- */
typedef struct GenSpelling {
    char *text;
    bool good;
} GenSpelling;

void gen_forms_free(GenForms *known) {
    for (uint32_t i = 0; i < known->nslots; i++)
        free(known->slots[i].text);
    free(known->slots);
    known->slots = NULL;
    known->nslots = known->count = 0;
}

static uint64_t hash_text(const char *s) {
    uint64_t h = 1;
    for (; *s; s++)
        h = rng_mix(h + (unsigned char)*s);
    return h;
}

static GenSpelling *find_spelling(GenSpelling *slots, uint32_t nslots, const char *text) {
    uint32_t i = (uint32_t)hash_text(text) & (nslots - 1);
    while (slots[i].text && strcmp(slots[i].text, text) != 0)
        i = (i + 1) & (nslots - 1);
    return &slots[i];
}

static void grow_spellings(GenForms *known) {
    uint32_t n = known->nslots ? 2 * known->nslots : 1024;
    GenSpelling *slots = calloc(n, sizeof *slots);
    if (!slots)
        abort();
    for (uint32_t i = 0; i < known->nslots; i++)
        if (known->slots[i].text)
            *find_spelling(slots, n, known->slots[i].text) = known->slots[i];
    free(known->slots);
    known->slots = slots;
    known->nslots = n;
}

static bool ask_spelling(GenForms *known, const Insn *in) {
    GenProgram p = {0};
    Gen g = {.rng = 1, .p = &p, .forms = known, .npool = {2, 2, 2, 3}, .guard_percent = 0};
    gen_module_head(&g);
    OUT(&g, ".visible .entry fuzz(.param .u64 in, .param .u64 out)\n{\n");
    gen_declare_pools(&g);
    write_insn(&g, in);
    OUT(&g, "ret;\n}\n");
    bool good = known->usable(known->user, p.text, p.size_bytes);
    gen_program_free(&p);
    return good;
}

static bool usable(GenForms *known, const Insn *in) {
    if (2 * known->count >= known->nslots)
        grow_spellings(known);
    /* known of one spelling differ in their operands */
    char key[128];
    snprintf(key, sizeof key, "%s %s", in->spelling, form_operand_text(in->form));
    GenSpelling *gen_spelling = find_spelling(known->slots, known->nslots, key);
    if (!gen_spelling->text) {
        bool good = ask_spelling(known, in);
        gen_spelling->text = strdup(key);
        if (!gen_spelling->text)
            abort();
        gen_spelling->good = good;
        known->count++;
    }
    return gen_spelling->good;
}

bool gen_form_insn(Gen *gen) {
    Insn in = {0};
    for (unsigned tries = 0; tries < 200; tries++) {
        in.form = choose_form(gen);
        if (!choose_mods(gen, &in) || !usable(gen->forms, &in))
            continue;
        PtxOp op = form_op(in.form);
        if (op == PTX_ADDC || op == PTX_SUBC || op == PTX_MADC) { /* the flag does not survive calls */
            unsigned b = gen_src(gen, POOL_R), a = gen_src(gen, POOL_R);
            OUT(gen, "%s.cc.u32 %%t0, %%r%u, %%r%u; ", gen_chance(gen, 60) ? "add" : "sub", a, b);
        }
        if (takes_byte(op))
            OUT(gen, "and.b32 %%t0, %%r%u, 255; ", gen_src(gen, POOL_R));
        gen_guard(gen);
        write_insn(gen, &in);
        return true;
    }
    return false;
}
