/* test_modifiers PTX.MD   every word that a form takes (ptx_forms.def) does to the parsed statement what its
 * row says (ptx_modifiers.def): its field has its value, two words of one choice make two statements, a word
 * that sets nothing makes none. Words that code may drop are those that PTX ISA calls hints, promises or
 * defaults, listed here from the document, and stand in PTX.MD with the row's reason.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "frontend/forms.h"
#include "frontend/modifiers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may be dropped, by the document. Nothing of memory order, scope, state space, rounding, saturation,
 * subnormal numbers or counting is among it. */
static const struct {
    char cls;
    const char *word, *why;
} droppable[] = {
    {'k', "ca", "9.7.9.1: cache operators on load or store are treated as performance hints only"},
    {'k', "cg", "the same"},
    {'k', "cs", "the same"},
    {'k', "lu", "the same"},
    {'k', "wb", "the same"},
    {'k', "wt", "the same"},
    {'h', "L1::evict_normal",
     "9.7.9.2: eviction priority hints do not change the memory consistency behavior"},
    {'h', "L1::evict_unchanged", "the same"},
    {'h', "L1::evict_first", "the same"},
    {'h', "L1::evict_last", "the same"},
    {'h', "L1::no_allocate", "the same"},
    {'h', "L2::evict_normal", "the same"},
    {'h', "L2::evict_unchanged", "the same"},
    {'h', "L2::evict_first", "the same"},
    {'h', "L2::evict_last", "the same"},
    {'h', "L2::64B", "9.7.9.8: level::prefetch_size is treated as a performance hint only"},
    {'h', "L2::128B", "the same"},
    {'h', "L2::256B", "the same"},
    {'h', "L2::cache_hint", "9.7.9.8: cache-policy is treated as a performance hint only"},
    {'f', "cta", "9.7.13.1: .cta is the only scope of the instruction, given or not"},
    {'f', "tile", "9.7.9.25.5.2: a copy without a load mode is of .tile"},
    {'f', "uni", "9.7.12: .uni is guaranteed by the program, it asks for nothing"},
    {'u', "unified", "9.7.9.8: says of the variable what its declaration says"},
};

static unsigned bad, pairs;

typedef struct {
    unsigned form, n;
    FormElement elements[FORM_MAX_ELEMENTS];
    char word[FORM_MAX_ELEMENTS][48]; /* chosen, "" without */
} Spelling;

static void spell(const Spelling *spelling, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "%s", ptx_op_name(form_op(spelling->form)));
    for (unsigned k = 0; k < spelling->n; k++)
        if (spelling->word[k][0])
            n += (size_t)snprintf(text + n, size - n, ".%s", spelling->word[k]);
}

static void fail(const Spelling *spelling, const char *what) {
    char text[400];
    spell(spelling, text, sizeof text);
    fprintf(stderr, "%s: %s\n", text, what);
    bad++;
}

/* mbarrier takes semantics and scope together or neither. */
static void complete_pair(Spelling *spelling) {
    bool given = false;
    for (unsigned k = 0; k < spelling->n; k++)
        given |= strchr("mo", spelling->elements[k].cls) && spelling->word[k][0];
    for (unsigned k = 0; given && k < spelling->n; k++)
        if (!spelling->word[k][0] && strchr("mo", spelling->elements[k].cls))
            snprintf(spelling->word[k], sizeof spelling->word[k], "%.*s",
                     (int)strcspn(spelling->elements[k].list, "|)"), spelling->elements[k].list);
}

static bool decode(Spelling spelling, PtxInsn *out) {
    char text[400];
    Diags diags = {.sink = diag_print_sink, .user = stderr};
    StrTab strings = {0};
    if (form_op(spelling.form) == PTX_MBARRIER)
        complete_pair(&spelling);
    spell(&spelling, text, sizeof text);
    bool ok = form_decode(text, strlen(text), (SrcLoc){0}, &diags, &strings, out);
    if (!ok)
        fail(&spelling, "refused");
    out->mods_text = (StrId){0};
    out->gate_version = out->gate_target = 0;
    str_free(&strings);
    return ok;
}

static uint32_t field_of(const PtxInsn *insn, char cls) {
    switch (cls) {
    case 'r': return insn->rnd;
    case 'c': return insn->cmp;
    case 'b': return insn->bop;
    case 'm': return insn->sem;
    case 'o': return insn->scope;
    case 'k': return insn->cop;
    case 'a': return insn->atom;
    case 's': return insn->sub;
    case 'S': return insn->sub2;
    case 'p': return insn->space;
    case 'q': return insn->space2;
    case 'v': return insn->vec;
    case 'g': return insn->shape[1];
    default: return insn->flags;
    }
}

static bool has_type(const PtxInsn *insn, const char *word) {
    for (unsigned k = 0; k < insn->ntypes; k++)
        if (insn->type[k] == ptx_type_by_name(word, strlen(word)))
            return true;
    return false;
}

static bool same(const PtxInsn *a, const PtxInsn *b) { return !memcmp(a, b, sizeof *a); }

/* `without`: the statement that lacks the word, where the element is optional. */
static void check_word(const Spelling *with, unsigned k, const PtxInsn *insn, const PtxInsn *without) {
    char cls = with->elements[k].cls;
    const PtxModifier *row = ptx_modifier_find(cls, with->word[k], strlen(with->word[k]));
    pairs++;
    if (cls == 't') {
        if (!has_type(insn, with->word[k]))
            fail(with, "the type is lost");
    } else if (cls == 'g') {
        if (!field_of(insn, 'g'))
            fail(with, "the shape is lost");
    } else if (!row) {
        fail(with, "a word has no row");
    } else if (row->effect == MOD_MEANS || row->effect == MOD_HINT) {
        uint32_t field = field_of(insn, cls);
        if (strchr("fh", cls) ? (field & row->value) != row->value : field != row->value)
            fail(with, "the word's value is not in its field");
    } else if (row->effect == MOD_IGNORED && without && !same(insn, without)) {
        fail(with, "the word says IGNORED and changes the statement");
    } else if (row->effect == MOD_FORM && with->elements[k].is_optional) {
        fail(with, "the word changes nothing");
    }
}

static const char *const *words_of(const FormElement *element) {
    static char text[64][48];
    static const char *list[65];
    unsigned n = 0;
    const char *at = NULL, *word;
    size_t size;
    while (n < 64 && form_element_word(element, &at, &word, &size))
        snprintf(text[n++], sizeof text[0], "%.*s", (int)size, word);
    for (unsigned k = 0; !n && element->cls != 'g' && k < ptx_modifier_count(); k++)
        if (ptx_modifier_row(k)->cls == element->cls)
            for (; k < ptx_modifier_count() && ptx_modifier_row(k)->cls == element->cls; k++)
                snprintf(text[n++], sizeof text[0], "%s", ptx_modifier_row(k)->word);
    if (!n)
        snprintf(text[n++], sizeof text[0], "m8n8");
    for (unsigned k = 0; k < n; k++)
        list[k] = text[k];
    list[n] = NULL;
    return list;
}

/* Two words of one choice are two statements, unless one is the other's alias or both do nothing. */
static void check_choice(Spelling *spelling, unsigned k) {
    PtxInsn insns[64], without, *reference = NULL;
    const char *const *words = words_of(&spelling->elements[k]);
    const PtxModifier *rows[64];
    char first[48];
    unsigned n = 0;
    memcpy(first, spelling->word[k], sizeof first);
    spelling->word[k][0] = 0;
    if (spelling->elements[k].is_optional && decode(*spelling, &without))
        reference = &without;
    for (; words[n]; n++) {
        snprintf(spelling->word[k], sizeof spelling->word[k], "%s", words[n]);
        if (!decode(*spelling, &insns[n]))
            break;
        check_word(spelling, k, &insns[n], reference);
        rows[n] = ptx_modifier_find(spelling->elements[k].cls, words[n], strlen(words[n]));
        for (unsigned other = 0; other < n; other++)
            if (same(&insns[n], &insns[other]) && (!rows[n] || rows[n] != rows[other]) &&
                !(rows[n]->effect == MOD_IGNORED && rows[other]->effect == MOD_IGNORED))
                fail(spelling, "another word makes the same statement");
    }
    memcpy(spelling->word[k], first, sizeof first);
}

static void check_form(unsigned form) {
    Spelling spelling = {.form = form};
    bool open;
    spelling.n = form_elements(form, spelling.elements, &open);
    for (unsigned k = 0; k < spelling.n; k++)
        if (!spelling.elements[k].is_optional)
            snprintf(spelling.word[k], sizeof spelling.word[k], "%s", words_of(&spelling.elements[k])[0]);
    for (unsigned k = 0; k < spelling.n; k++)
        check_choice(&spelling, k);
}

static void check_reasons(const char *document) {
    unsigned n = 0;
    for (unsigned k = 0; k < ptx_modifier_count(); k++) {
        const PtxModifier *row = ptx_modifier_row(k);
        char line[300];
        bool listed = false;
        for (unsigned d = 0; d < sizeof droppable / sizeof *droppable; d++)
            listed |= droppable[d].cls == row->cls && !strcmp(droppable[d].word, row->word);
        bool drops = row->effect == MOD_HINT || row->effect == MOD_IGNORED;
        if (drops != listed) {
            fprintf(stderr, ".%s: the table %s, PTX ISA %s\n", row->word,
                    drops ? "lets it be dropped" : "does not", listed ? "does" : "does not");
            bad++;
        }
        snprintf(line, sizeof line, "| `.%s` | %s |\n", row->word, drops ? row->text : "");
        n += drops;
        if (drops && !strstr(document, line)) {
            fprintf(stderr, "the document lacks the line %s", line);
            bad++;
        }
    }
    const char *table = strstr(document, "## Modifiers without effect");
    unsigned rows = 0;
    for (const char *p = table; p && (p = strstr(p, "\n| `.")) != NULL; p++)
        rows++;
    if (rows != n) {
        fprintf(stderr, "the document has %u modifiers without effect, the table %u\n", rows, n);
        bad++;
    }
}

int main(int argc, char **argv) {
    Arena arena = {0};
    Diags diags = {.sink = diag_print_sink, .user = stderr};
    char *text;
    size_t size;
    if (argc != 2 || !file_read(&arena, argv[1], &diags, &text, &size))
        return 2;
    for (unsigned form = 1; form < form_count(); form++)
        check_form(form);
    check_reasons(text);
    arena_free(&arena);
    printf("%u words in %u forms, %u failures\n", pairs, form_count() - 1, bad);
    return bad != 0 || pairs < 1000;
}
