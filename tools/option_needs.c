/* Options that act only beside something else: see option_needs.def. SPDX-License-Identifier: MIT */
#include "tools/option_keys.h"
#include "tools/batch.h"
#include <elf.h>
#include <stdio.h>
#include <string.h>

/* ---- conditions ---- */

static bool is_model(const Settings *settings) { return settings->model.on; }
static bool is_campaign(const Settings *settings) { return settings->mutate.campaign; }
static bool is_applied(const Settings *settings) { return settings->mutate.apply != NULL; }
static bool has_ptxas(const Settings *settings) { return settings->with_ptxas != NULL; }
static bool is_inferred(const Settings *settings) { return settings->launch_auto; }
static bool is_card(const Settings *settings) { return settings->other.engine != DIFF_MACHINE; }
static bool is_many(const Settings *settings) { return batch_is_wanted(settings); }
static bool is_limited(const Settings *settings) { return is_many(settings) || is_card(settings); }

static bool is_short(const Settings *settings) { return !settings->whole_file; }
static bool is_text(const Settings *settings) { return is_short(settings) && !settings->json; }

static bool is_listing(const Settings *settings) {
    return is_text(settings) && settings->disasm.form != DISASM_GRAPH;
}

static bool is_engine(const Settings *settings, const char *name) {
    return settings->engine && strcmp(settings->engine, name) == 0;
}

static bool is_jit(const Settings *settings) {
    return is_engine(settings, "jit") || is_engine(settings, "auto");
}

/* Is the file machine code that is only read? Objects may hold PTX, from which code is made. */
static bool is_binary(const char *path) {
    unsigned char head[EI_NIDENT + 2] = {0};
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return n == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_NIDENT] != ET_REL;
}

static bool compiles(const Settings *settings) {
    bool good = !is_engine(settings, "ptx");
    for (unsigned k = 0; k < settings->ninputs; k++)
        good &= !is_binary(settings->inputs[k]);
    return good;
}

/* ---- the table ---- */

static const struct {
    int key;
    const char *command, *missing;
    bool (*acts)(const Settings *settings);
} rows[] = {
#define NEEDS(key, command, condition, missing) {key, #command, missing, condition},
#include "tools/option_needs.def"
};

static const char *option_name(const Command *command, int key) {
    for (unsigned g = 0; command->groups[g]; g++)
        for (const struct argp_option *o = command->groups[g]; o->name; o++)
            if (o->key == key)
                return o->name;
    return "";
}

bool cli_options_act(const Command *command, const Settings *settings, const uint8_t given[LAST_KEY],
                     const char **option, const char **missing) {
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
        bool ours = strcmp(rows[k].command, "ALL") == 0 || strcmp(rows[k].command, command->name) == 0;
        if (!ours || !given[rows[k].key] || rows[k].acts(settings))
            continue;
        *option = option_name(command, rows[k].key);
        *missing = rows[k].missing;
        return false;
    }
    return true;
}
