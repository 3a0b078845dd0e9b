/* What decides how a program is compiled and run, as words: what a report says of a failure, and what a saved
 * program is tested under again.
 *
 *     sm_90 -O2 reg-limit=24 frontier reconverge-opt=5 predicate=max policy=bsync-nb=blocked seed=7 traces
 *
 * A word for each setting that is not the default; the first four kinds are always there, but for the target.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/internal.h"
#include "sim/machine/policy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const predicates[] = {
    [PREDICATE_AUTO] = "auto", [PREDICATE_OFF] = "off", [PREDICATE_MAX] = "max"};
static const char *const engines[] = {
    [FUZZ_INTERP] = "interp", [FUZZ_STENCIL] = "stencil", [FUZZ_JIT] = "jit", [FUZZ_AUTO] = "auto"};

static void add_word(char *out, size_t out_bytes, const char *name, const char *value) {
    size_t at = strlen(out);
    snprintf(out + at, out_bytes - at, "%s%s%s", at ? " " : "", name, value);
}

static void add_number(char *out, size_t out_bytes, const char *name, unsigned long long value, bool hex) {
    char text[24];
    snprintf(text, sizeof text, hex ? "%llx" : "%llu", value);
    add_word(out, out_bytes, name, text);
}

/* Words that are there or not. */
typedef struct {
    const char *word;
    bool *set;
} Flag;
enum { FLAGS = 8 };
static void flags_of(FuzzConfig *config, Flag out[FLAGS]) {
    const Flag flags[FLAGS] = {{"yield=break", &config->yield_breaks},
                               {"check-control", &config->machine.check_control},
                               {"traces", &config->traces},
                               {"verify", &config->verify},
                               {"text", &config->text},
                               {"check", &config->check},
                               {"check-only", &config->check_only},
                               {"jit-quick", &config->jit_quick}};
    memcpy(out, flags, sizeof flags);
}

void fuzz_describe_config(const FuzzConfig *config, char *out, size_t out_bytes) {
    const MachineOptions *options = &config->machine;
    char policies[256];
    FuzzConfig copy = *config;
    Flag flags[FLAGS];
    out[0] = 0;
    if (config->target)
        add_word(out, out_bytes, "", isa_target_name(config->target));
    add_number(out, out_bytes, "-O", config->opt_level, false);
    add_number(out, out_bytes, "reg-limit=", config->reg_limit, false);
    add_word(out, out_bytes, "", ir_reconv_mode_name(config->reconverge));
    add_number(out, out_bytes, "reconverge-opt=", config->reconv_opts, true);
    add_word(out, out_bytes, "predicate=", predicates[config->predicate]);
    add_word(out, out_bytes, "policy=", machine_policy_print(&options->policies, policies));
    add_number(out, out_bytes, "seed=", options->seed, false);
    if (config->yield_percent)
        add_number(out, out_bytes, "yields=", config->yield_percent, false);
    if (config->ptx_seed)
        add_number(out, out_bytes, "ptx-seed=", config->ptx_seed, false);
    if (config->engine) {
        add_word(out, out_bytes, "engine=", engines[config->engine]);
        add_number(out, out_bytes, "jit-after=", config->jit_after, false);
        if (config->cut_budget)
            add_number(out, out_bytes, "cut-budget=", config->cut_budget, false);
        if (config->cut_memory)
            add_number(out, out_bytes, "cut-memory=", config->cut_memory, false);
    }
    flags_of(&copy, flags);
    for (unsigned k = 0; k < FLAGS; k++)
        if (*flags[k].set)
            add_word(out, out_bytes, "", flags[k].word);
}

static const char *setting_value(const char *word, const char *name) {
    size_t n = strlen(name);
    return strncmp(word, name, n) == 0 ? word + n : NULL;
}

/* NAME followed by a number, and nothing else. */
static bool setting_number(const char *word, const char *name, int base, unsigned long long *number) {
    const char *value = setting_value(word, name);
    char *end;
    if (!value || !*value)
        return false;
    *number = strtoull(value, &end, base);
    return !*end;
}

/* NAME followed by one of `n` names. */
static bool setting_choice(const char *word, const char *name, const char *const names[], unsigned n,
                           unsigned *choice) {
    const char *value = setting_value(word, name);
    for (*choice = 0; value && *choice < n; ++*choice)
        if (strcmp(value, names[*choice]) == 0)
            return true;
    return false;
}

static bool read_word(FuzzConfig *config, const char *word) {
    unsigned long long number;
    unsigned choice;
    size_t n;
    Flag flags[FLAGS];
    const char *policies = setting_value(word, "policy=");
    const Target *target = isa_target(word);
    flags_of(config, flags);
    for (unsigned k = 0; k < FLAGS; k++)
        if (strcmp(word, flags[k].word) == 0)
            return *flags[k].set = true;
    if (policies)
        return strcmp(policies, "default") == 0 || !machine_policy_list(&config->machine, policies, &n);
    if (setting_choice(word, "predicate=", predicates, sizeof predicates / sizeof *predicates, &choice))
        config->predicate = (PredicateMode)choice;
    else if (setting_choice(word, "engine=", engines, sizeof engines / sizeof *engines, &choice))
        config->engine = (FuzzEngine)choice;
    else if (setting_number(word, "-O", 10, &number) && number <= 3)
        config->opt_level = (unsigned)number;
    else if (setting_number(word, "reg-limit=", 10, &number))
        config->reg_limit = (unsigned)number;
    else if (setting_number(word, "reconverge-opt=", 16, &number))
        config->reconv_opts = (unsigned)number;
    else if (setting_number(word, "yields=", 10, &number))
        config->yield_percent = (unsigned)number;
    else if (setting_number(word, "ptx-seed=", 10, &number))
        config->ptx_seed = number;
    else if (setting_number(word, "jit-after=", 10, &number))
        config->jit_after = (unsigned)number;
    else if (setting_number(word, "cut-budget=", 10, &number))
        config->cut_budget = (unsigned)number;
    else if (setting_number(word, "cut-memory=", 10, &number))
        config->cut_memory = (unsigned)number;
    else if (setting_number(word, "seed=", 10, &number))
        config->machine.seed = number;
    else if (target)
        config->target = target;
    else
        return ir_reconv_mode(word, &config->reconverge);
    return true;
}

/* The header's second line is a comment: class, detail, "with", settings. Another comment is none. */
static bool names_class(const char *line) {
    for (unsigned k = 0; k < FUZZ_CLASSES; k++) {
        size_t n = strlen(fuzz_class_name((FuzzClass)k));
        if (strncmp(line, "// ", 3) == 0 && strncmp(line + 3, fuzz_class_name((FuzzClass)k), n) == 0 &&
            line[3 + n] == ' ')
            return true;
    }
    return false;
}

FuzzSaved fuzz_saved_config(const char *text, FuzzConfig *config) {
    static const char with[] = " with ";
    const char *line = text ? strchr(text, '\n') : NULL, *from = NULL;
    char words[FUZZ_CONFIG_BYTES];
    *config = (FuzzConfig){.jit_after = 1};
    size_t length = line ? strcspn(line + 1, "\n") : 0;
    for (size_t k = 0; line && names_class(line + 1) && k + sizeof with - 1 <= length; k++)
        if (strncmp(line + 1 + k, with, sizeof with - 1) == 0)
            from = line + 1 + k + sizeof with - 1; /* the last */
    if (!from)
        return FUZZ_SAVED_NONE;
    length -= (size_t)(from - (line + 1));
    if (length >= sizeof words)
        return FUZZ_SAVED_UNKNOWN;
    memcpy(words, from, length);
    words[length] = 0;
    for (char *rest, *word = strtok_r(words, " \r", &rest); word; word = strtok_r(NULL, " \r", &rest))
        if (!read_word(config, word))
            return FUZZ_SAVED_UNKNOWN;
    return FUZZ_SAVED_KNOWN;
}
