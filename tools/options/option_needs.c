/* Options that act only beside something else: see option_needs.def. SPDX-License-Identifier: MIT */
#include "tools/cli/option_keys.h"
#include "emit/elf/image.h"
#include "emit/elf/object.h"
#include "tools/commands/batch.h"
#include "tools/commands/learn_options.h"
#include <string.h>
#include <sys/stat.h>

/* ---- conditions ---- */

static bool is_model(const Settings *settings) { return settings->model.on; }
static bool is_campaign(const Settings *settings) { return settings->mutate.campaign; }
static bool is_applied(const Settings *settings) { return settings->mutate.apply != NULL; }
static bool is_listed(const Settings *settings) { return !is_applied(settings); }
static bool has_ptxas(const Settings *settings) { return settings->with_ptxas != NULL; }
static bool is_inferred(const Settings *settings) { return settings->launch_auto; }
static bool is_card(const Settings *settings) { return settings->other.engine != DIFF_MACHINE; }
static bool is_many(const Settings *settings) { return batch_is_wanted(settings); }
static bool is_limited(const Settings *settings) { return is_many(settings) || is_card(settings); }

static bool is_made(const Settings *settings) { return settings->ninputs == 0; }
static bool is_run(const Settings *settings) { return is_made(settings) && !settings->fuzz.check_only; }
static bool is_executed(const Settings *settings) { return !settings->fuzz.check_only; }
static bool is_kept(const Settings *settings) { return settings->fuzz.keep_dir != NULL; }
static bool is_checked_alone(const Settings *settings) { return !settings->check.sarif; }

static bool learns(const Settings *settings) { return settings->learn.action == LEARN_DO_LEARN; }
static bool has_input(const Settings *settings) { return settings->ninputs > 0; }
static bool reads_dumps(const Settings *settings) { return settings->learn.action != LEARN_DO_FORMS; }
static bool has_output(const Settings *settings) {
    return settings->learn.action != LEARN_DO_VERIFY && reads_dumps(settings);
}
static bool is_dash(const char *path) { return path && strcmp(path, "-") == 0; }

/* Standard output is free for the report. */
static bool reports(const Settings *settings) {
    bool text = settings->learn.action == LEARN_DO_ASSEMBLE || settings->learn.action == LEARN_DO_SHOW ||
                !reads_dumps(settings);
    return !text && !is_dash(settings->output);
}

static bool writes_file(const Settings *settings) {
    bool elf = strcmp(settings->emit, "elf") == 0;
    return settings->output ? !is_dash(settings->output) : elf && !is_dash(settings->inputs[0]);
}

static bool is_short(const Settings *settings) { return !settings->whole_file; }
static bool is_text(const Settings *settings) { return is_short(settings) && !settings->json; }

static bool is_listing(const Settings *settings) {
    return is_text(settings) && settings->disasm.form != DISASM_GRAPH;
}

static bool is_engine(const Settings *settings, const char *name) {
    return settings->engine && strcmp(settings->engine, name) == 0;
}

static bool interprets(const Settings *settings) {
    return is_engine(settings, "ptx") || is_engine(settings, "gpu-ptx");
}

static bool is_jit(const Settings *settings) {
    return !settings->engine || is_engine(settings, "jit") || is_engine(settings, "auto");
}

static bool is_hot(const Settings *settings) { return is_jit(settings) || is_engine(settings, "stencil"); }

static bool is_simulated(const Settings *settings) {
    return !interprets(settings) && !is_engine(settings, "gpu");
}

static bool runs_compiled(const Settings *settings) {
    return is_run(settings) && is_jit(settings) && (settings->engine || settings->jit_after);
}

/* ---- the inputs ---- */

/* Files that can be looked at and read again later; what else there is may hold anything. */
static bool is_regular(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

typedef struct {
    bool code, object, has_text, llvm; /* machine code; to be linked; with the PTX it was made of; LLVM IR */
    const Target *target;              /* of the code */
} InputKind;

/* What a command reads of the file: of one that holds programs, PTX before machine code or the other way
 * round. What is wrong with it is said when it is read. */
static InputKind input_kind(const Settings *settings, unsigned k, bool ptx) {
    Settings quiet = *settings;
    InputKind kind = {0};
    char *data;
    size_t size;
    quiet.arena = (Arena){0};
    quiet.diags = (Diags){0};
    if (is_regular(settings->inputs[k]) && cli_read_program(&quiet, settings->inputs[k], ptx, &data, &size)) {
        kind.code = cli_is_elf(data, size);
        kind.object = elf_object_is(data, size);
        kind.llvm = !kind.code && llvm_ir_is(data, size);
        kind.target = kind.code ? elf_file_target(data, size) : NULL;
        Binary *binary = kind.code && !kind.object ? cli_load(&quiet, "", data, size) : NULL;
        kind.has_text = binary && binary->ptx_text;
        binary_free(binary);
    }
    arena_free(&quiet.arena);
    return kind;
}

/* Is code made of PTX? `check` and `mutate` take what there is as code, `run` objects for their PTX. */
static bool compiles(const Settings *settings) {
    InputKind first = settings->ninputs ? input_kind(settings, 0, false) : (InputKind){0};
    return !first.code && !interprets(settings);
}

static bool compiles_to_run(const Settings *settings) {
    InputKind first = settings->ninputs ? input_kind(settings, 0, false) : (InputKind){0};
    return (!first.code || first.object) && !interprets(settings);
}

/* Only the last file can be the other side of a comparison. */
static bool compiles_to_compare(const Settings *settings) {
    unsigned n = settings->ninputs;
    InputKind last = n ? input_kind(settings, n - 1, n == 1) : (InputKind){0};
    return !interprets(settings) && (is_many(settings) || !last.code || last.object);
}

/* Of a binary decisions are told if its PTX compiles to the same code. */
static bool compiles_to_report(const Settings *settings) {
    InputKind input = input_kind(settings, 0, true);
    return !input.code || input.object || (input.has_text && !settings->against);
}

static bool reads_llvm(const Settings *settings) {
    bool any = batch_is_wanted(settings) || !settings->ninputs;
    for (unsigned k = 0; k < settings->ninputs; k++)
        any |= !is_regular(settings->inputs[k]) || input_kind(settings, k, true).llvm;
    return any;
}

/* Code of one machine is not chosen. */
static bool chooses(const Settings *settings) {
    InputKind kind = settings->ninputs == 1 ? input_kind(settings, 0, false) : (InputKind){0};
    return !kind.code || kind.object || kind.target == settings->target;
}

/* LLVM's level is --optimize, too. */
static bool optimizes(const Settings *settings) { return compiles(settings) || reads_llvm(settings); }
static bool optimizes_to_run(const Settings *settings) {
    return compiles_to_run(settings) || reads_llvm(settings);
}
static bool optimizes_to_compare(const Settings *settings) {
    return compiles_to_compare(settings) || reads_llvm(settings);
}
static bool optimizes_to_report(const Settings *settings) { return compiles_to_report(settings); }

/* ---- the table ---- */

static const struct {
    int key;
    const char *command, *missing;
    bool (*acts)(const Settings *settings);
} rows[] = {
#define NEEDS(key, command, condition, missing) {key, #command, missing, condition},
#include "tools/options/option_needs.def"
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
