/* Matching an opcode's modifiers against the forms of ptx_forms.def. The parser calls this once for each
 * different spelling in a module and caches the result, so patterns are interpreted as text.
 * SPDX-License-Identifier: MIT */
#include "frontend/forms.h"
#include "frontend/modifiers.h"
#include <stdio.h>
#include <string.h>

static const struct {
    PtxOp op;
    const char *mods, *operands, *section;
    PtxNeed need;
} forms[] = {
    {PTX_NOP_NONE, "", "", "", {0, "0"}},
#define SECTION(text) text
#define VERSION(major, minor) GATE_VERSION(major, minor)
#define TARGET(sm) #sm
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    {PTX_##op, mods, operands, section, {version, target}},
#include "frontend/ptx_forms.def"
#undef SECTION
#undef VERSION
#undef TARGET
};

unsigned form_count(void) { return sizeof forms / sizeof *forms; }
const char *form_mods(unsigned form) { return forms[form].mods; }
const char *form_operand_text(unsigned form) { return forms[form].operands; }
PtxOp form_op(unsigned form) { return forms[form].op; }
const char *form_section(unsigned form) { return forms[form].section; }
PtxNeed form_need(unsigned form) { return forms[form].need; }
const char *ptx_section(const PtxInsn *i) { return form_section(i->form); }

typedef struct {
    const char *text; /* behind the dot */
    uint32_t size;
} Mod;

static bool same(const char *name, Mod m) {
    return (!m.size || *name == *m.text) && !strncmp(name, m.text, m.size) && !name[m.size];
}

PtxType ptx_type_by_name(const char *name, size_t size_bytes) {
    Mod m = {name, (uint32_t)size_bytes};
    for (unsigned t = TY_B8; t < TY_OTHER; t++)
        if (same(ptx_type_name((PtxType)t), m))
            return (PtxType)t;
    return TY_NONE;
}

/* ".m16n8k16", ".m8n8" */
static bool shape_of(Mod m, uint16_t shape[3]) {
    uint16_t n[3] = {0, 0, 0};
    uint32_t at = 0;
    for (unsigned i = 0; i < 3 && at < m.size; i++) {
        if (m.text[at++] != "mnk"[i] || at >= m.size)
            return false;
        while (at < m.size && m.text[at] >= '0' && m.text[at] <= '9' && n[i] < 1000)
            n[i] = (uint16_t)(n[i] * 10 + (m.text[at++] - '0'));
        if (!n[i])
            return false;
    }
    if (at < m.size || !n[1])
        return false;
    memcpy(shape, n, sizeof n);
    return true;
}

/* Enter the modifier into `out` under class `cls`; false if the class does not have that word. */
static bool apply(char cls, Mod m, PtxInsn *out) {
    if (cls == 't') {
        PtxType t = ptx_type_by_name(m.text, m.size);
        if (t == TY_NONE || out->ntypes >= 4)
            return false;
        out->type[out->ntypes++] = (uint8_t)t;
        return true;
    }
    if (cls == 'g')
        return shape_of(m, out->shape);
    const PtxModifier *modifier = ptx_modifier_find(cls, m.text, m.size);
    if (!modifier)
        return false;
    if (modifier->effect == MOD_FORM || modifier->effect == MOD_IGNORED)
        return true;
    const PtxClass *class = ptx_class(cls);
    if (class->sets == SETS_FLAGS)
        out->flags |= modifier->value;
    else if (class->sets == SETS_FIELD)
        ((uint8_t *)out)[class->field] = (uint8_t)modifier->value;
    return true;
}

unsigned form_elements(unsigned form, FormElement *e, bool *open) {
    unsigned n = 0;
    *open = false;
    for (const char *p = forms[form].mods; *p && n < FORM_MAX_ELEMENTS;) {
        if (*p == ' ') {
            p++;
            continue;
        }
        if (*p == '*') {
            *open = true;
            p++;
            continue;
        }
        e[n] = (FormElement){0};
        if (*p == '!')
            e[n].is_name = true, p++;
        if (*p == '?')
            e[n].is_optional = true, p++;
        e[n].cls = *p++;
        if (*p == '(') {
            const char *end = strchr(p, ')');
            e[n].list = p + 1;
            e[n].list_size = (uint32_t)(end - p - 1);
            p = end + 1;
        }
        n++;
    }
    return n;
}

bool form_element_word(const FormElement *element, const char **at, const char **word, size_t *size_bytes) {
    if (!element->list)
        return false;
    const char *end = element->list + element->list_size, *begin = *at ? *at + 1 : element->list;
    if (begin > end)
        return false;
    const char *bar = memchr(begin, '|', (size_t)(end - begin));
    *at = bar ? bar : end;
    *word = begin;
    *size_bytes = (size_t)(*at - begin);
    return true;
}

static bool listed(const FormElement *element, Mod m) {
    if (!element->list)
        return true;
    const char *end = element->list + element->list_size;
    for (const char *word = element->list;; word++) {
        if (m.size && (size_t)(end - word) >= m.size && *word == *m.text && !memcmp(word, m.text, m.size) &&
            (word + m.size == end || word[m.size] == '|'))
            return true;
        word = memchr(word, '|', (size_t)(end - word));
        if (!word)
            return false;
    }
}

/* A modifier of an open form: decode what is known, in the class that is likeliest. */
static void apply_loosely(Mod m, PtxInsn *out) {
    if (same("row", m) || same("col", m)) {
        unsigned k = out->sub2++;
        if (m.text[0] == 'c' && k < 3)
            out->flags |= (uint32_t)PF_COL_A << k;
        return;
    }
    for (unsigned k = 0; k < ptx_class_count(); k++) {
        const PtxClass *class = ptx_class_row(k);
        bool taken = (class->letter == 's' && out->sub) || (class->letter == 'm' && out->sem) ||
                     (class->letter == 'p' && out->space);
        if (!taken && (class->is_read || class->words == class->letter) && apply(class->letter, m, out))
            return;
        if (class->letter == 'p' && taken && !out->space2 && apply('q', m, out))
            return;
    }
}

typedef struct {
    bool open;           /* the form takes any further modifiers */
    unsigned types;      /* types accepted */
    unsigned matched;    /* modifiers accepted */
    int bad;             /* index of the modifier not accepted, -1 if all were */
    FormElement missing; /* required element without a modifier, cls 0 if none */
} MatchResult;

/* May modifier number `at` be element k? Words of the name stand first, in their order; so do layouts among
 * themselves; of two state spaces the first is the one that the row names first. */
static bool is_layout(const FormElement *e) { /* of A, then of B */
    return e->list && e->list_size >= 3 && (!memcmp(e->list, "row", 3) || !memcmp(e->list, "col", 3));
}

static bool in_order(const FormElement *e, const bool *taken, unsigned k, unsigned at) {
    unsigned before = 0;
    bool space = true, layout = true;
    for (unsigned n = 0; n < k; n++) {
        before += e[n].is_name && taken[n];
        space &= e[n].cls != 'p' || taken[n];
        layout &= !is_layout(&e[n]) || taken[n];
    }
    if (e[k].is_name)
        return before == at;
    return is_layout(&e[k]) ? layout : e[k].cls != 'q' || space;
}

static bool match_form(unsigned form, const Mod *mods, unsigned n, PtxInsn *out, MatchResult *result) {
    FormElement e[FORM_MAX_ELEMENTS];
    bool open, taken[FORM_MAX_ELEMENTS] = {false};
    unsigned nelems = form_elements(form, e, &open);
    *result = (MatchResult){.bad = -1};
    for (unsigned i = 0; i < n; i++) {
        bool done = false, type_tried = false;
        for (unsigned k = 0; k < nelems && !done; k++) {
            if (taken[k] || (e[k].cls == 't' && type_tried) ||
                !in_order(e, taken, k, i)) /* types keep their order */
                continue;
            type_tried |= e[k].cls == 't';
            if (listed(&e[k], mods[i]) && apply(e[k].cls, mods[i], out)) {
                done = taken[k] = true;
                result->types += e[k].cls == 't';
            }
        }
        if (!done && open) {
            apply_loosely(mods[i], out);
            done = true;
        }
        if (!done && result->bad < 0)
            result->bad = (int)i;
        else if (done)
            result->matched++;
    }
    for (unsigned k = 0; k < nelems; k++)
        if (!taken[k] && !e[k].is_optional && !result->missing.cls)
            result->missing = e[k];
    result->open = open;
    if (strstr(forms[form].operands, "..."))
        out->flags |= PF_ALL_FORMS;
    out->form = (uint16_t)form;
    return result->bad < 0 && !result->missing.cls;
}

/* ---- what the text may leave out: column DEFAULTS of ptx_ops.def ---- */

static void default_none(PtxInsn *i) { (void)i; }

static void default_rounding(PtxInsn *i) {
    if (i->ntypes && ptx_type_class((PtxType)i->type[0]) == TC_FLOAT && !i->rnd) {
        i->rnd = RND_RN;
        i->flags |= PF_CONTRACT;
    }
}

static void default_access(PtxInsn *i) {
    if (!i->sem)
        i->sem = SEM_WEAK;
}

static void default_ldu(PtxInsn *i) { i->sem = SEM_NC; }

static void default_fence(PtxInsn *i) {
    if (!i->sem && !(i->flags & PF_PROXY))
        i->sem = SEM_ACQ_REL;
}

static void default_membar(PtxInsn *i) { i->sem = SEM_SC; }

static void default_bar(PtxInsn *i) {
    if (i->sub != SUB_WARP)
        i->flags |= PF_ALIGNED;
}

static void default_barrier(PtxInsn *i) {
    if (i->sub2 == SUB_CLUSTER && !i->sem)
        i->sem = i->sub == SUB_ARRIVE ? SEM_RELEASE : SEM_ACQUIRE;
}

static void default_copy(PtxInsn *i) {
    if (i->sub2 == SUB_ARRIVE) { /* cp.async.mbarrier.arrive */
        i->sem = SEM_RELEASE;
        i->scope = SCOPE_CTA;
    }
}

static void default_mbarrier(PtxInsn *i) {
    if (!i->sem && (i->sub == SUB_ARRIVE || i->sub == SUB_ARRIVE_DROP))
        i->sem = SEM_RELEASE;
    if (!i->sem && (i->sub == SUB_TEST_WAIT || i->sub == SUB_TRY_WAIT))
        i->sem = SEM_ACQUIRE;
    if (!i->scope)
        i->scope = SCOPE_CTA;
}

static void default_atomic(PtxInsn *i) {
    if (!i->sem)
        i->sem = SEM_RELAXED;
    if (!i->scope)
        i->scope = SCOPE_GPU;
}

static void fill_defaults(PtxInsn *i) {
    static void (*const defaults[PTX_OP_COUNT])(PtxInsn *) = {
        default_none,
#define DEFAULTS(fn) default_##fn
#define PTX_OP(name, text, goes, defaults, ...) [PTX_##name] = defaults,
#include "frontend/ptx_ops.def"
    };
    defaults[i->op](i);
    if (!i->vec)
        i->vec = 1;
}

static bool takes_space(unsigned form) {
    FormElement elems[FORM_MAX_ELEMENTS];
    bool open, takes = false;
    unsigned n = form_elements(form, elems, &open);
    for (unsigned k = 0; k < n; k++)
        takes |= elems[k].cls == 'p';
    return takes;
}

/* The forms of an opcode stand together: of several initialisers the last one counts. */
enum { BEFORE_FORMS = __COUNTER__ };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const uint16_t last_forms[PTX_OP_COUNT] = {
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    [PTX_##op] = __COUNTER__ - BEFORE_FORMS,
#include "frontend/ptx_forms.def"
};
#pragma GCC diagnostic pop

static unsigned first_form(PtxOp op) {
    unsigned form = last_forms[op];
    while (form > 1 && forms[form - 1].op == op)
        form--;
    return form;
}

static bool form_error(const char *text, size_t size, const Mod *mods, const MatchResult *result, SrcLoc loc,
                       Diags *d) {
    char op[128], word[96];
    snprintf(op, sizeof op, "%.*s", (int)(size > 120 ? 120 : size), text);
    if (result->bad >= 0) {
        const Mod *mod = &mods[result->bad];
        snprintf(word, sizeof word, ".%.*s", mod->size > 90 ? 90 : (int)mod->size, mod->text);
        return diag(d, (SrcLoc){loc.i + (uint32_t)(mod->text - 1 - text)}, DIAG_E0106, word, op);
    }
    char list[160];
    const PtxClass *class = ptx_class(result->missing.cls);
    if (!result->missing.list) {
        snprintf(list, sizeof list, "those for its %s", class ? class->name : "modifier");
    } else {
        unsigned n = 0;
        for (uint32_t i = 0; i <= result->missing.list_size && n + 4 < sizeof list; i++) {
            char c = i < result->missing.list_size ? result->missing.list[i] : 0;
            if (i == 0)
                list[n++] = '.';
            if (c == '|')
                list[n++] = ' ', list[n++] = '.';
            else if (c)
                list[n++] = c;
        }
        list[n] = 0;
    }
    return diag(d, loc, DIAG_E0107, op, list);
}

/* A form that fits better gets the message: more types accepted, then more modifiers, then fewer elements
 * missing. */
static bool better(const MatchResult *result, const MatchResult *match_result) {
    if (result->open != match_result->open) /* accepting everything is no merit */
        return match_result->open;
    if (result->types != match_result->types)
        return result->types > match_result->types;
    if (result->matched != match_result->matched)
        return result->matched > match_result->matched;
    return result->bad < 0 && match_result->bad >= 0;
}

/* mbarrier takes semantics and scope together or neither. */
static bool pair_error(const char *text, size_t size, bool has_sem, SrcLoc loc, Diags *d) {
    char op[128];
    snprintf(op, sizeof op, "%.*s", (int)(size > 120 ? 120 : size), text);
    return diag(d, loc, DIAG_E0107, op, has_sem ? ".cta .cluster" : ".release .acquire .relaxed");
}

static unsigned split_mods(const char *text, size_t size, Mod *mods) {
    unsigned n = 0;
    for (size_t at = 0; at < size && n < FORM_MAX_MODS;) {
        const char *next = memchr(text + at + 1, '.', size - at - 1);
        size_t end = next ? (size_t)(next - text) : size;
        mods[n++] = (Mod){text + at + 1, (uint32_t)(end - at - 1)};
        at = end;
    }
    return n;
}

unsigned form_next(unsigned form, const char *mods_text) {
    Mod mods[FORM_MAX_MODS];
    unsigned n = split_mods(mods_text, strlen(mods_text), mods);
    for (unsigned f = form + 1; f < form_count() && forms[f].op == forms[form].op; f++) {
        PtxInsn scratch = {0};
        MatchResult r;
        if (match_form(f, mods, n, &scratch, &r))
            return f;
    }
    return 0;
}

/* Of the first `n` words, how many stand in the name of that form? */
static unsigned name_words(unsigned form, const Mod *mods, unsigned n) {
    FormElement e[FORM_MAX_ELEMENTS];
    bool open;
    unsigned nelems = form_elements(form, e, &open), at = 0;
    for (unsigned k = 0; k < nelems && e[k].is_name && at < n; k++) {
        bool fits = listed(&e[k], mods[at]);
        if (!fits && !e[k].is_optional)
            break;
        at += fits;
    }
    return at;
}

size_t form_name_bytes(const char *opcode, const char *modifiers) {
    Mod mods[FORM_MAX_MODS];
    PtxOp op = ptx_op_named(opcode, strlen(opcode));
    unsigned n = split_mods(modifiers, strlen(modifiers), mods), most = 0;
    for (unsigned f = 1; f < form_count(); f++) {
        unsigned words = forms[f].op == op ? name_words(f, mods, n) : 0;
        most = words > most ? words : most;
    }
    return most ? (size_t)(mods[most - 1].text + mods[most - 1].size - modifiers) : 0;
}

bool form_takes_class(const char *opcode, char cls) {
    FormElement e[FORM_MAX_ELEMENTS];
    PtxOp op = ptx_op_named(opcode, strlen(opcode));
    bool open, takes = false;
    for (unsigned f = 1; f < form_count(); f++)
        for (unsigned k = forms[f].op == op ? form_elements(f, e, &open) : 0; k--;)
            takes |= e[k].cls == cls;
    return takes;
}

bool form_decode(const char *text, size_t size, SrcLoc loc, Diags *d, StrTab *strings, PtxInsn *out) {
    const char *dot = memchr(text, '.', size);
    size_t base = dot ? (size_t)(dot - text) : size;
    PtxOp op = ptx_op_named(text, base);
    if (!op) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(base > 60 ? 60 : base), text);
        return diag(d, loc, DIAG_E0105, name);
    }
    Mod mods[FORM_MAX_MODS];
    unsigned n = split_mods(text + base, size - base, mods);
    MatchResult best = {0}, r;
    bool have = false;
    d->place.section = forms[first_form(op)].section;
    d->place.opcode = ptx_op_name(op);
    d->place.modifiers = str_text(strings, str_intern(strings, text + base, size - base));
    if (n == FORM_MAX_MODS)
        return form_error(text, size, mods, &(MatchResult){.bad = FORM_MAX_MODS - 1}, loc, d);
    for (unsigned f = first_form(op); f <= last_forms[op]; f++) {
        *out = (PtxInsn){.op = (uint16_t)op};
        bool fits = match_form(f, mods, n, out, &r);
        if (!have || fits || better(&r, &best))
            d->place.section = forms[f].section;
        if (fits) {
            if (op == PTX_MBARRIER && !out->sem != !out->scope)
                return pair_error(text, size, out->sem, loc, d);
            gate_modifiers(op, text + base, size - base, !out->space && takes_space(f), &out->gate_version,
                           &out->gate_target);
            fill_defaults(out);
            out->mods_text = str_intern(strings, text + base, size - base);
            return true;
        }
        if (!have || better(&r, &best))
            best = r, have = true;
    }
    return form_error(text, size, mods, &best, loc, d);
}

static void parse_operand_type(const char **text, OperandSpec *spec) {
    const char *p = *text;
    if (*p >= '0' && *p <= '3') {
        spec->type_index = (uint8_t)(*p++ - '0' + 1);
    } else if (*p == 'w') {
        spec->type_index = 5, p++;
    } else if (*p == ':') {
        const char *end = ++p;
        while ((*end >= 'a' && *end <= 'z') || (*end >= '0' && *end <= '9'))
            end++;
        spec->type = (uint8_t)ptx_type_by_name(p, (size_t)(end - p));
        p = end;
    }
    *text = p;
}

void form_operands(unsigned form, OperandSpecs *out) {
    *out = (OperandSpecs){0};
    const char *p = forms[form].operands;
    while (*p && out->n < PTX_MAX_OPERANDS) {
        if (*p == '.') {
            out->is_open = true;
            return;
        }
        OperandSpec *spec = &out->at[out->n++];
        if (*p == '|')
            spec->is_piped = true, p++;
        spec->kind = *p++;
        parse_operand_type(&p, spec);
        for (; *p && *p != ','; p++) {
            spec->is_relaxed |= *p == '~';
            spec->is_exact |= *p == '=';
            spec->is_vector |= *p == '*';
            spec->is_optional |= *p == '?';
            spec->has_selector |= *p == '.';
            spec->has_minus |= *p == '-';
            if (*p == '{' && p[1] == 'D')
                spec->is_tile = true;
            else if (*p == '{')
                spec->nvec = (uint8_t)(p[1] - '0');
        }
        out->nrequired = (uint8_t)(out->nrequired + (!spec->is_optional && !spec->is_piped));
        p += *p == ',';
    }
}
