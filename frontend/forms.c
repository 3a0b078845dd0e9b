/* Matching an opcode's modifiers against the forms of ptx_forms.def. The parser calls this once for each
 * different spelling in a module and caches the result, so patterns are interpreted as text.
 * SPDX-License-Identifier: MIT */
#include "frontend/forms.h"
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

static const struct {
    char cls;
    const char *name;
    uint32_t value;
    // clang-format off
} words[] = {
    {'r', "rn", RND_RN}, {'r', "rz", RND_RZ}, {'r', "rm", RND_RM}, {'r', "rp", RND_RP},
    {'r', "rni", RND_RNI}, {'r', "rzi", RND_RZI}, {'r', "rmi", RND_RMI}, {'r', "rpi", RND_RPI},
    {'r', "rna", RND_RNA}, {'r', "rs", RND_RS},
    {'c', "eq", CMP_EQ}, {'c', "ne", CMP_NE}, {'c', "lt", CMP_LT}, {'c', "le", CMP_LE}, {'c', "gt", CMP_GT},
    {'c', "ge", CMP_GE}, {'c', "lo", CMP_LO}, {'c', "ls", CMP_LS}, {'c', "hi", CMP_HI}, {'c', "hs", CMP_HS},
    {'c', "equ", CMP_EQU}, {'c', "neu", CMP_NEU}, {'c', "ltu", CMP_LTU}, {'c', "leu", CMP_LEU},
    {'c', "gtu", CMP_GTU}, {'c', "geu", CMP_GEU}, {'c', "num", CMP_NUM}, {'c', "nan", CMP_NAN},
    {'b', "and", BOP_AND}, {'b', "or", BOP_OR}, {'b', "xor", BOP_XOR}, {'b', "popc", BOP_POPC},
    {'m', "weak", SEM_WEAK}, {'m', "volatile", SEM_VOLATILE}, {'m', "relaxed", SEM_RELAXED},
    {'m', "acquire", SEM_ACQUIRE}, {'m', "release", SEM_RELEASE}, {'m', "acq_rel", SEM_ACQ_REL},
    {'m', "sc", SEM_SC}, {'m', "mmio", SEM_MMIO}, {'m', "nc", SEM_NC},
    {'o', "cta", SCOPE_CTA}, {'o', "cluster", SCOPE_CLUSTER}, {'o', "gpu", SCOPE_GPU}, {'o', "gl", SCOPE_GPU},
    {'o', "sys", SCOPE_SYS},
    {'k', "ca", COP_CA}, {'k', "cg", COP_CG}, {'k', "cs", COP_CS}, {'k', "lu", COP_LU}, {'k', "cv", COP_CV},
    {'k', "wb", COP_WB}, {'k', "wt", COP_WT},
    {'a', "add", ATOM_ADD}, {'a', "min", ATOM_MIN}, {'a', "max", ATOM_MAX}, {'a', "inc", ATOM_INC},
    {'a', "dec", ATOM_DEC}, {'a', "and", ATOM_AND}, {'a', "or", ATOM_OR}, {'a', "xor", ATOM_XOR},
    {'a', "exch", ATOM_EXCH}, {'a', "cas", ATOM_CAS},
    {'s', "lo", SUB_LO}, {'s', "hi", SUB_HI}, {'s', "wide", SUB_WIDE}, {'s', "up", SUB_UP},
    {'s', "down", SUB_DOWN}, {'s', "bfly", SUB_BFLY}, {'s', "idx", SUB_IDX}, {'s', "all", SUB_ALL},
    {'s', "any", SUB_ANY}, {'s', "uni", SUB_UNI}, {'s', "ballot", SUB_BALLOT}, {'s', "sync", SUB_SYNC},
    {'s', "arrive", SUB_ARRIVE}, {'s', "red", SUB_RED}, {'s', "warp", SUB_WARP}, {'s', "l", SUB_L},
    {'s', "r", SUB_R}, {'s', "clamp", SUB_CLAMP}, {'s', "wrap", SUB_WRAP}, {'s', "f4e", SUB_F4E},
    {'s', "b4e", SUB_B4E}, {'s', "rc8", SUB_RC8}, {'s', "ecl", SUB_ECL}, {'s', "ecr", SUB_ECR},
    {'s', "rc16", SUB_RC16}, {'s', "finite", SUB_FINITE}, {'s', "infinite", SUB_INFINITE},
    {'s', "number", SUB_NUMBER}, {'s', "notanumber", SUB_NOTANUMBER}, {'s', "normal", SUB_NORMAL},
    {'s', "subnormal", SUB_SUBNORMAL}, {'s', "to", SUB_TO}, {'s', "L1", SUB_L1}, {'s', "L2", SUB_L2},
    {'s', "cluster", SUB_CLUSTER}, {'s', "wait", SUB_WAIT}, {'s', "async", SUB_ASYNC},
    {'s', "commit_group", SUB_COMMIT_GROUP}, {'s', "wait_group", SUB_WAIT_GROUP}, {'s', "wait_all", SUB_WAIT_ALL},
    {'s', "bulk", SUB_BULK}, {'s', "init", SUB_INIT}, {'s', "inval", SUB_INVAL},
    {'s', "test_wait", SUB_TEST_WAIT}, {'s', "try_wait", SUB_TRY_WAIT}, {'s', "expect_tx", SUB_EXPECT_TX},
    {'s', "complete_tx", SUB_COMPLETE_TX}, {'s', "arrive_drop", SUB_ARRIVE_DROP},
    {'s', "pending_count", SUB_PENDING_COUNT}, {'s', "load", SUB_LOAD}, {'s', "store", SUB_STORE},
    {'s', "mma", SUB_MMA}, {'s', "pack", SUB_PACK}, {'s', "launch_dependents", SUB_LAUNCH_DEPENDENTS},
    {'f', "ftz", PF_FTZ}, {'f', "sat", PF_SAT}, {'f', "approx", PF_APPROX}, {'f', "full", PF_FULL},
    {'f', "uni", PF_UNI}, {'f', "aligned", PF_ALIGNED}, {'f', "NaN", PF_NAN}, {'f', "xorsign", PF_XORSIGN_ABS},
    {'f', "relu", PF_RELU}, {'f', "cc", PF_CC}, {'f', "shiftamt", PF_SHIFTAMT}, {'f', "sync", PF_SYNC},
    {'f', "noftz", PF_NOFTZ}, {'f', "satfinite", PF_SATFINITE}, {'f', "noinc", PF_NOINC},
    {'f', "cta", PF_CTA_BARRIER}, {'f', "oob", PF_OOB}, {'f', "proxy", PF_PROXY}, {'f', "trans", PF_TRANS},
    {'f', "abs", PF_ABS}, {'f', "parity", PF_PARITY}, {'f', "noComplete", 0},
    {'p', "const", SP_CONST}, {'p', "global", SP_GLOBAL}, {'p', "local", SP_LOCAL}, {'p', "param", SP_PARAM},
    {'p', "param::entry", SP_PARAM}, {'p', "param::func", SP_PARAM_FUNC}, {'p', "shared", SP_SHARED},
    {'p', "shared::cta", SP_SHARED}, {'p', "shared::cluster", SP_SHARED_CLUSTER},
    {'v', "v2", 2}, {'v', "v4", 4}, {'v', "v8", 8},
    {'h', "L1::evict_normal", 0}, {'h', "L1::evict_unchanged", 0}, {'h', "L1::evict_first", 0},
    {'h', "L1::evict_last", 0}, {'h', "L1::no_allocate", 0}, {'h', "L2::evict_normal", 0},
    {'h', "L2::evict_first", 0}, {'h', "L2::evict_last", 0}, {'h', "L2::cache_hint", PF_CACHE_HINT},
    {'h', "L2::64B", 0}, {'h', "L2::128B", 0}, {'h', "L2::256B", 0},
};
// clang-format on

typedef struct {
    const char *text; /* behind the dot */
    uint32_t size;
} Mod;
enum { MAX_MODS = 32, MAX_ELEMS = 16 };

static bool same(const char *name, Mod m) { return !strncmp(name, m.text, m.size) && !name[m.size]; }

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
    if (cls == 'x')
        return true;
    char table = cls == 'q' ? 'p' : cls == 'S' ? 's' : cls;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].cls != table || !same(words[i].name, m))
            continue;
        uint8_t v = (uint8_t)words[i].value;
        switch (cls) {
        case 'r': out->rnd = v; break;
        case 'c': out->cmp = v; break;
        case 'b': out->bop = v; break;
        case 'm': out->sem = v; break;
        case 'o': out->scope = v; break;
        case 'k': out->cop = v; break;
        case 'a': out->atom = v; break;
        case 's': out->sub = v; break;
        case 'S': out->sub2 = v; break;
        case 'p': out->space = v; break;
        case 'q': out->space2 = v; break;
        case 'v': out->vec = v; break;
        default: out->flags |= words[i].value; break; /* f, h */
        }
        return true;
    }
    return false;
}

typedef struct {
    char cls;
    bool optional, taken;
    const char *list; /* text between the parentheses, NULL if absent */
    uint32_t list_size;
} Elem;

static unsigned parse_elems(const char *p, Elem *e, bool *open) {
    unsigned n = 0;
    *open = false;
    while (*p && n < MAX_ELEMS) {
        if (*p == ' ') {
            p++;
            continue;
        }
        if (*p == '*') {
            *open = true;
            p++;
            continue;
        }
        e[n] = (Elem){0};
        if (*p == '?')
            e[n].optional = true, p++;
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

static bool listed(const Elem *elem, Mod m) {
    if (!elem->list)
        return true;
    const char *p = elem->list, *end = p + elem->list_size;
    while (p < end) {
        const char *bar = memchr(p, '|', (size_t)(end - p));
        const char *stop = bar ? bar : end;
        if ((uint32_t)(stop - p) == m.size && !memcmp(p, m.text, m.size))
            return true;
        p = stop + 1;
    }
    return false;
}

/* A modifier of an open form: decode what is known, in the class that is likeliest. */
static void apply_loosely(Mod m, PtxInsn *out) {
    if (same("row", m) || same("col", m)) {
        unsigned k = out->sub2++;
        if (m.text[0] == 'c' && k < 3)
            out->flags |= (uint32_t)PF_COL_A << k;
        return;
    }
    for (const char *cls = "tgvphmorfsak"; *cls; cls++) {
        bool taken = (*cls == 's' && out->sub) || (*cls == 'm' && out->sem) || (*cls == 'p' && out->space);
        if (!taken && apply(*cls, m, out))
            return;
        if (*cls == 'p' && taken && !out->space2 && apply('q', m, out))
            return;
    }
}

typedef struct {
    bool open;        /* the form takes any further modifiers */
    unsigned matched; /* modifiers accepted */
    int bad;          /* index of the modifier not accepted, -1 if all were */
    Elem missing;     /* required element without a modifier, cls 0 if none */
} MatchResult;

static bool match_form(unsigned form, const Mod *mods, unsigned n, PtxInsn *out, MatchResult *result) {
    Elem e[MAX_ELEMS];
    bool open;
    unsigned nelems = parse_elems(forms[form].mods, e, &open);
    *result = (MatchResult){.bad = -1};
    for (unsigned i = 0; i < n; i++) {
        bool done = false, type_tried = false;
        for (unsigned k = 0; k < nelems && !done; k++) {
            if (e[k].taken || (e[k].cls == 't' && type_tried)) /* types keep their order */
                continue;
            type_tried |= e[k].cls == 't';
            if (listed(&e[k], mods[i]) && apply(e[k].cls, mods[i], out))
                done = e[k].taken = true;
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
        if (!e[k].taken && !e[k].optional && !result->missing.cls)
            result->missing = e[k];
    result->open = open;
    if (strstr(forms[form].operands, "..."))
        out->flags |= PF_ALL_FORMS;
    out->form = (uint16_t)form;
    return result->bad < 0 && !result->missing.cls;
}

static void fill_defaults(PtxInsn *i) {
    bool is_float = i->ntypes && ptx_type_class((PtxType)i->type[0]) == TC_FLOAT;
    bool memory = i->op == PTX_ATOM || i->op == PTX_RED;
    switch (i->op) {
    case PTX_ADD:
    case PTX_SUB:
    case PTX_MUL:
        if (is_float && !i->rnd)
            i->rnd = RND_RN;
        break;
    case PTX_LD:
    case PTX_ST:
        if (!i->sem)
            i->sem = SEM_WEAK;
        break;
    case PTX_LDU: i->sem = SEM_NC; break;
    case PTX_FENCE:
        if (!i->sem && !(i->flags & PF_PROXY))
            i->sem = SEM_ACQ_REL;
        break;
    case PTX_MEMBAR: i->sem = SEM_SC; break;
    case PTX_BAR:
        if (i->sub != SUB_WARP)
            i->flags |= PF_ALIGNED;
        break;
    case PTX_BARRIER:
        if (i->sub2 == SUB_CLUSTER && !i->sem)
            i->sem = i->sub == SUB_ARRIVE ? SEM_RELEASE : SEM_ACQUIRE;
        break;
    case PTX_MBARRIER:
        if (!i->sem && (i->sub == SUB_ARRIVE || i->sub == SUB_ARRIVE_DROP))
            i->sem = SEM_RELEASE;
        if (!i->sem && (i->sub == SUB_TEST_WAIT || i->sub == SUB_TRY_WAIT))
            i->sem = SEM_ACQUIRE;
        if (!i->scope)
            i->scope = SCOPE_CTA;
        break;
    default: break;
    }
    if (memory && !i->sem)
        i->sem = SEM_RELAXED;
    if (memory && !i->scope)
        i->scope = SCOPE_GPU;
    if (!i->vec)
        i->vec = 1;
}

static bool takes_space(unsigned form) {
    Elem elems[MAX_ELEMS];
    bool open, takes = false;
    unsigned n = parse_elems(forms[form].mods, elems, &open);
    for (unsigned k = 0; k < n; k++)
        takes |= elems[k].cls == 'p';
    return takes;
}

static PtxOp find_op(const char *text, size_t n) {
    for (unsigned op = 1; op < PTX_OP_COUNT; op++)
        if (same(ptx_op_name((PtxOp)op), (Mod){text, (uint32_t)n}))
            return (PtxOp)op;
    return PTX_NOP_NONE;
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
    static const char *const any[][2] = {
        {"c", "comparison"}, {"o", "scope"}, {"t", "type"}, {"r", "rounding"}};
    const char *cls = "modifier";
    for (unsigned i = 0; i < 4; i++)
        if (result->missing.cls == any[i][0][0])
            cls = any[i][1];
    if (!result->missing.list) {
        snprintf(list, sizeof list, "those for its %s", cls);
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

/* A form that fits better gets the message: more modifiers accepted, then fewer elements missing. */
static bool better(const MatchResult *result, const MatchResult *match_result) {
    if (result->open != match_result->open) /* accepting everything is no merit */
        return match_result->open;
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
    for (size_t at = 0; at < size && n < MAX_MODS;) {
        const char *next = memchr(text + at + 1, '.', size - at - 1);
        size_t end = next ? (size_t)(next - text) : size;
        mods[n++] = (Mod){text + at + 1, (uint32_t)(end - at - 1)};
        at = end;
    }
    return n;
}

unsigned form_next(unsigned form, const char *mods_text) {
    Mod mods[MAX_MODS];
    unsigned n = split_mods(mods_text, strlen(mods_text), mods);
    for (unsigned f = form + 1; f < form_count() && forms[f].op == forms[form].op; f++) {
        PtxInsn scratch = {0};
        MatchResult r;
        if (match_form(f, mods, n, &scratch, &r))
            return f;
    }
    return 0;
}

bool form_decode(const char *text, size_t size, SrcLoc loc, Diags *d, StrTab *strings, PtxInsn *out) {
    const char *dot = memchr(text, '.', size);
    size_t base = dot ? (size_t)(dot - text) : size;
    PtxOp op = find_op(text, base);
    if (!op) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(base > 60 ? 60 : base), text);
        return diag(d, loc, DIAG_E0105, name);
    }
    Mod mods[MAX_MODS];
    unsigned n = split_mods(text + base, size - base, mods);
    MatchResult best = {0}, r;
    bool have = false;
    if (n == MAX_MODS)
        return form_error(text, size, mods, &(MatchResult){.bad = MAX_MODS - 1}, loc, d);
    for (unsigned f = 1; f < form_count(); f++) {
        if (forms[f].op != op)
            continue;
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
            spec->is_vector |= *p == '*';
            spec->is_optional |= *p == '?';
            if (*p == '{')
                spec->nvec = (uint8_t)(p[1] - '0');
        }
        out->nrequired = (uint8_t)(out->nrequired + (!spec->is_optional && !spec->is_piped));
        p += *p == ',';
    }
}
