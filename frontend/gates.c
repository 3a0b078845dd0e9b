/* Gates: see gates.h.
 * SPDX-License-Identifier: MIT */
#include "frontend/gates.h"
#include "frontend/forms.h"
#include <stdio.h>
#include <string.h>

#define VERSION(major, minor) GATE_VERSION(major, minor)
#define TARGET(sm) #sm
#define SECTION(text) text

#define PTX_ANY PTX_NOP_NONE
static const struct {
    PtxOp op;
    const char *words;
    PtxNeed need;
} gates[] = {
    {PTX_ANY, "", {0, "0"}},
#define PTX_GATE(op, words, version, target) {PTX_##op, words, {version, target}},
#include "frontend/ptx_gates.def"
};
enum { NGATES = sizeof gates / sizeof *gates };

static const struct {
    PtxOp op;
    const char *words, *without;
    PtxNeed until;
} ends[] = {
#define PTX_GATE_END(op, words, without, version, target) {PTX_##op, words, without, {version, target}},
#include "frontend/ptx_gates.def"
};

static const struct {
    PtxOp op;
    const char *words;
    PtxNeed below;
} belows[] = {
#define PTX_GATE_BELOW(op, words, version, target) {PTX_##op, words, {version, target}},
#include "frontend/ptx_gates.def"
};

#define BEHIND_BAR                                                                                           \
    { true, 0, 0, "the result behind the bar" }
#define HANDLE                                                                                               \
    { false, 0, 0, "a handle in a register" }
#define SAMPLER                                                                                              \
    { false, 2, 0, "a sampler beside the texture" }
#define AFTER(n)                                                                                             \
    { false, 0, n, "an optional operand" }
static const struct {
    PtxOp op;
    const char *words;
    struct {
        bool is_behind_bar;
        uint8_t least_places, after; /* 0: not what is asked for */
        const char *text;
    } which;
    PtxNeed need;
} operands[] = {
#define PTX_GATE_OPERAND(op, words, which, version, target) {PTX_##op, words, which, {version, target}},
#include "frontend/ptx_gates.def"
};

static const struct {
    const char *name;
    uint8_t version;
} targets[] = {
#define PTX_TARGET(sm, version) {#sm, version},
#include "frontend/ptx_targets.def"
#undef PTX_TARGET
};

static const PtxDirective directives[] = {
#define PTX_DIRECTIVE(text, section, version, target) {text, section, {version, target}},
#include "frontend/ptx_directives.def"
#undef PTX_DIRECTIVE
};

const PtxDirective *gate_directive(const char *text, size_t size) {
    for (unsigned k = 0; k < sizeof directives / sizeof *directives; k++)
        if (directives[k].text[1] == text[1] && !strncmp(directives[k].text, text, size) &&
            !directives[k].text[size])
            return &directives[k];
    return NULL;
}

/* ---- targets ---- */

/* "100a" */
static uint32_t split_target(const char *text, char *variant) {
    uint32_t sm = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        sm = sm * 10 + (uint32_t)(*text - '0');
    *variant = *text;
    return sm;
}

bool gate_target(const char *text, uint32_t *sm, char *variant, unsigned *version) {
    if (strncmp(text, "sm_", 3) != 0)
        return false;
    for (unsigned k = 0; k < sizeof targets / sizeof *targets; k++)
        if (!strcmp(targets[k].name, text + 3)) {
            *sm = split_target(text + 3, variant);
            *version = targets[k].version;
            return true;
        }
    return false;
}

bool gate_target_has(uint32_t have_sm, char have_variant, const char *need) {
    char variant;
    uint32_t sm = split_target(need, &variant);
    if (have_sm < sm)
        return false;
    return !variant || have_variant == 'a' || (variant == 'f' && have_variant == 'f');
}

static bool target_has(const PtxModule *module, const char *need) {
    return gate_target_has(module->sm, module->sm_variant, need);
}

static bool asks_more(const char *target, const char *than) {
    char variant, other;
    uint32_t sm = split_target(target, &variant), least = split_target(than, &other);
    return sm != least ? sm > least : variant && !other;
}

bool gate_machine(const PtxModule *module, const char *target, Diags *diags) {
    uint32_t sm;
    unsigned version;
    char variant;
    if (!gate_target(target, &sm, &variant, &version))
        return true;
    if (module->sm_variant ? module->sm == sm && module->sm_variant == variant : module->sm <= sm)
        return true;
    char text[24];
    snprintf(text, sizeof text, "sm_%u%.1s", (unsigned)module->sm, (char[]){module->sm_variant, 0});
    return diag_in(diags, &module->source, (SrcLoc){0}, DIAG_E0710, text, target,
                   module->sm > sm ? "it is higher" : "it is of one architecture or family only");
}

/* ---- modifiers ---- */

typedef struct {
    const char *text;
    size_t size;
} Word;

static bool next_word(const char **at, const char *end, char separator, Word *out) {
    while (*at < end && **at == separator)
        ++*at;
    out->text = *at;
    while (*at < end && **at != separator)
        ++*at;
    out->size = (size_t)(*at - out->text);
    return out->size != 0;
}

/* ".rn.f32" as words. */
typedef struct {
    unsigned n;
    uint32_t letters; /* they begin with: a bit each, of the letter's last five */
    Word words[FORM_MAX_MODS];
} Modifiers;

static uint32_t letter_bit(const Word *word) { return 1u << (*word->text & 31); }

static void split_modifiers(Modifiers *modifiers, const char *text, size_t size) {
    const char *end = text + size;
    modifiers->n = modifiers->letters = 0;
    while (modifiers->n < FORM_MAX_MODS && next_word(&text, end, '.', &modifiers->words[modifiers->n]))
        modifiers->letters |= letter_bit(&modifiers->words[modifiers->n++]);
}

static bool has_word(const Modifiers *modifiers, Word word) {
    for (unsigned k = 0; k < modifiers->n; k++)
        if (modifiers->words[k].size == word.size && *modifiers->words[k].text == *word.text &&
            !memcmp(modifiers->words[k].text, word.text, word.size))
            return true;
    return false;
}

/* Does the instruction have one word of each element of `words`, and none of those behind `!`? Those it has
 * are written to `found`, ".a.b", if it is not NULL. */
static bool words_fit(const char *words, const Modifiers *modifiers, bool generic, char *found,
                      size_t found_size) {
    size_t n = 0;
    if (found)
        found[0] = 0;
    for (const char *at = words; *at;) {
        bool has = false, wanted = *at != '!';
        at += !wanted;
        for (const char *text = at;; text = ++at) {
            while (*at > ' ' && *at != '|')
                at++;
            Word word = {text, (size_t)(at - text)};
            bool absence = word.size == 7 && !memcmp(word.text, "generic", 7);
            if (!has && (absence || modifiers->letters & letter_bit(&word)) &&
                (has = absence ? generic : has_word(modifiers, word)) && wanted && found && n < found_size)
                n += (size_t)snprintf(found + n, found_size - n, absence ? "%.*s" : ".%.*s", (int)word.size,
                                      word.text);
            if (*at != '|')
                break;
        }
        if (has != wanted)
            return false;
        while (*at == ' ')
            at++;
    }
    return true;
}

static bool fits_insn(const char *words, const PtxModule *module, const PtxInsn *insn, bool generic,
                      char *found, size_t found_size) {
    Modifiers modifiers;
    const char *text = str_text(&module->strings, insn->mods_text);
    split_modifiers(&modifiers, text, strlen(text));
    return words_fit(words, &modifiers, generic, found, found_size);
}

bool gate_words(const char *words, const char *mods, char *found, size_t found_size) {
    Modifiers modifiers;
    split_modifiers(&modifiers, mods, strlen(mods));
    return words_fit(words, &modifiers, false, found, found_size);
}

void gate_modifiers(PtxOp op, const char *mods, size_t size, bool generic, uint16_t *version,
                    uint16_t *target) {
    Modifiers modifiers;
    split_modifiers(&modifiers, mods, size);
    *version = *target = 0;
    for (unsigned k = 1; k < NGATES; k++) {
        if (gates[k].op != op && gates[k].op != PTX_ANY)
            continue;
        if (!words_fit(gates[k].words, &modifiers, generic, NULL, 0))
            continue;
        if (gates[k].need.version > gates[*version].need.version)
            *version = (uint16_t)k;
        if (asks_more(gates[k].need.target, gates[*target].need.target))
            *target = (uint16_t)k;
    }
}

/* ---- checks ---- */

bool gate_check(const PtxModule *module, PtxNeed need, const char *what, SrcLoc loc, Diags *diags) {
    unsigned have = module->version_major * 10 + module->version_minor;
    bool ok = true;
    if (have < need.version)
        ok = diag(diags, loc, DIAG_E0145, what, need.version / 10u, need.version % 10u,
                  (unsigned)module->version_major, (unsigned)module->version_minor);
    if (!ok || target_has(module, need.target))
        return ok;
    char variant, text[40];
    uint32_t sm = split_target(need.target, &variant);
    snprintf(text, sizeof text,
             variant == 'f' ? "sm_%u with a or f"
             : variant      ? "sm_%ua"
                            : "sm_%u",
             (unsigned)sm);
    return diag(diags, loc, DIAG_E0146, what, text, (unsigned)module->sm, (char[]){module->sm_variant, 0});
}

/* Is the instruction one that ended before? */
static bool check_ends(const PtxModule *module, const PtxInsn *insn, const char *name, Diags *diags) {
    unsigned have = module->version_major * 10 + module->version_minor;
    for (unsigned k = 0; k < sizeof ends / sizeof *ends; k++)
        if (ends[k].op == insn->op && have >= ends[k].until.version &&
            target_has(module, ends[k].until.target) &&
            fits_insn(ends[k].words, module, insn, false, NULL, 0) &&
            !fits_insn(ends[k].without, module, insn, false, NULL, 0))
            return diag(diags, insn->loc, DIAG_E0148, name, ends[k].without, ends[k].until.target,
                        ends[k].until.version / 10u, ends[k].until.version % 10u, (unsigned)module->sm,
                        (char[]){module->sm_variant, 0});
    return true;
}

/* The .version that the instruction needs with the module's .target, where that is more than with later ones.
 */
static unsigned version_below(const PtxModule *module, const PtxInsn *insn) {
    unsigned version = 0;
    for (unsigned k = 0; k < sizeof belows / sizeof *belows; k++)
        if (belows[k].op == insn->op && belows[k].below.version > version &&
            !target_has(module, belows[k].below.target) &&
            fits_insn(belows[k].words, module, insn, false, NULL, 0))
            version = belows[k].below.version;
    return version;
}

static bool has_operand(const PtxInsn *insn, unsigned row) {
    unsigned piped = insn->ndst == 2, least_places = operands[row].which.least_places,
             after = operands[row].which.after;
    if (operands[row].which.is_behind_bar)
        return piped;
    if (after)
        return insn->noperands - piped > after;
    for (unsigned k = 0; k < insn->noperands; k++) {
        const PtxOperand *operand = &insn->operands[k];
        if (operand->kind == PO_ADDR && (least_places ? operand->nvec >= least_places : operand->reg != 0))
            return true;
    }
    return false;
}

static bool check_gated_operands(const PtxModule *module, const PtxInsn *insn, const char *name,
                                 Diags *diags) {
    char what[240];
    for (unsigned k = 0; k < sizeof operands / sizeof *operands; k++) {
        if (operands[k].op != insn->op || !has_operand(insn, k) ||
            !fits_insn(operands[k].words, module, insn, false, NULL, 0))
            continue;
        snprintf(what, sizeof what, "%s of %.160s", operands[k].which.text, name);
        if (!gate_check(module, operands[k].need, what, insn->loc, diags))
            return false;
    }
    return true;
}

bool gate_check_insn(const PtxModule *module, const PtxInsn *insn, const char *name, Diags *diags) {
    PtxNeed form = form_need(insn->form), need = form;
    unsigned version = insn->gate_version, target = insn->gate_target, row = 0;
    if (gates[version].need.version > need.version)
        need.version = gates[version].need.version;
    if (asks_more(gates[target].need.target, need.target))
        need.target = gates[target].need.target;
    unsigned below = version_below(module, insn), have = module->version_major * 10 + module->version_minor;
    if (below > need.version)
        need.version = (uint8_t)below;
    if (have < need.version)
        row = need.version > form.version ? version : 0;
    else if (!target_has(module, need.target))
        row = need.target != form.target ? target : 0;
    else
        return check_ends(module, insn, name, diags) && check_gated_operands(module, insn, name, diags);
    char found[64], what[240];
    snprintf(what, sizeof what, "%.160s", name);
    if (row && fits_insn(gates[row].words, module, insn, true, found, sizeof found))
        snprintf(what, sizeof what, "%s of %.160s", found, name);
    return gate_check(module, need, what, insn->loc, diags);
}
