/* heddle mutate: list mutants of a binary, write one, or run a campaign that measures the checkers.
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/file.h"
#include "base/scope.h"
#include "check/mutate/campaign.h"
#include "check/fuzz/internal.h"
#include "check/prove/prove.h"
#include "check/validate/search/auto_launch.h"
#include "lower/lower.h"
#include "tools/commands/makers.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DATA_SEEDS = 4, MOST_INPUTS = 31, OTHER_SEEDS = 2 };

/* ---- the binary of the first input ---- */

static bool read_image(Settings *settings, char **image, size_t *size) {
    if (!file_read(&settings->arena, settings->inputs[0], &settings->diags, image, size))
        return false;
    if (cli_is_elf(*image, *size))
        return true;
    PtxModule *m = cli_read_ptx(settings, settings->inputs[0]);
    Compilation c;
    DriverOptions opt = cli_driver_options(settings);
    bool good = m != NULL;
    if (good) {
        good = driver_compile(&c, m, &opt, &settings->diags);
        *image = good ? arena_copy(&settings->arena, c.image, c.image_bytes) : NULL;
        *size = good ? c.image_bytes : 0;
        driver_free(&c);
        ptx_free(m);
    }
    return good;
}

static bool parse_classes(const Settings *settings, bool classes[MUT_CLASSES]) {
    const char *p = settings->mutate.classes;
    for (unsigned c = 0; c < MUT_CLASSES; c++)
        classes[c] = !p;
    while (p && *p) {
        size_t n = strcspn(p, ",");
        MutClass c;
        bool group = false;
        for (unsigned k = 0; k < MUT_CLASSES;
             k++) { /* a group's name, up to a blank, stands for its classes */
            const char *g = mutate_group_name(mutate_class((MutClass)k)->group);
            if (strcspn(g, " ") == n && memcmp(g, p, n) == 0)
                group = classes[k] = true;
        }
        if (!group && !mutate_class_find(p, n, &c)) {
            fprintf(stderr, "heddle mutate: --class: there is no class '%.*s'\n", (int)n, p);
            return false;
        }
        if (!group)
            classes[c] = true;
        p += n + (p[n] == ',');
    }
    return true;
}

static int list_sites(const Settings *s, const Mutator *mutator) {
    bool classes[MUT_CLASSES];
    char text[256];
    if (!parse_classes(s, classes))
        return STATUS_USAGE;
    cJSON *json = s->json ? json_object() : NULL, *sites = json ? json_add_list(json, "sites") : NULL;
    for (unsigned c = 0; c < MUT_CLASSES; c++)
        for (uint32_t i = 0; classes[c] && i < mutator->sites[c].n; i++) {
            mutate_text(mutator, mutator->sites[c].at[i], i, text);
            if (sites)
                json_append(sites, json_text(text));
            else
                puts(text);
        }
    if (json)
        cli_print_json(json);
    return STATUS_DONE;
}

static int apply_one(Settings *settings, const Mutator *mutator) {
    const char *colon = strchr(settings->mutate.apply, ':');
    char *end = NULL;
    MutClass c;
    unsigned long number = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!colon || end == colon + 1 || *end ||
        !mutate_class_find(settings->mutate.apply, (size_t)(colon - settings->mutate.apply), &c)) {
        fprintf(stderr, "heddle mutate: --apply: '%s' is not CLASS:NUMBER\n", settings->mutate.apply);
        return STATUS_USAGE;
    }
    if (number >= mutator->sites[c].n || !settings->output) {
        fprintf(stderr, "heddle mutate: --apply: %s\n",
                !settings->output ? "where to? (-o FILE)" : "there is no such site; --list shows them");
        return STATUS_USAGE;
    }
    uint8_t *out = arena_alloc(&settings->arena, mutator->image_bytes);
    bool good = mutate_apply(mutator, mutator->sites[c].at[number], out) &&
                file_write(settings->output, out, mutator->image_bytes, &settings->diags);
    return good ? STATUS_DONE : STATUS_INPUT;
}

static int one_binary(Settings *settings) {
    char *image;
    size_t size;
    if (!read_image(settings, &image, &size))
        return STATUS_INPUT;
    Mutator *m = mutate_new(settings->inputs[0], image, size, &settings->diags);
    if (!m)
        return STATUS_INPUT;
    int status = settings->mutate.apply ? apply_one(settings, m) : list_sites(settings, m);
    mutate_free(m);
    return status;
}

/* ---- campaigns ---- */

typedef struct {
    Settings *s;
    VEC(MutSubject) subjects;
    VEC(PtxModule *) modules;
    VEC(Plan *) plans;
    VEC(void *) images;
    VEC(AutoLaunches *) launches;
} Campaign;

static void add_image(Campaign *campaign, MutSubject subject, void *image) {
    subject.image = image;
    VEC_ADD(&campaign->s->arena, &campaign->subjects, subject);
    VEC_ADD(&campaign->s->arena, &campaign->images, image);
}

/* What ptxas makes of the module, once for each list of options. */
static bool add_foreign(Campaign *campaign, MutSubject subject) {
    Settings *settings = campaign->s;
    Maker makers[MAX_MAKERS];
    char error[CLI_ERROR_BYTES];
    unsigned n = maker_list(settings, makers);
    for (unsigned k = 1; k < n; k++) {
        char *image = maker_ptxas_image(settings, &makers[k], subject.ptx, &subject.image_bytes, error);
        if (!image) {
            fprintf(stderr, "heddle mutate: %s (%s): %s\n", subject.name, makers[k].label, error);
            return false;
        }
        add_image(campaign, subject, image);
    }
    return true;
}

/* The first `validated` of the inputs are what validate runs. */
static bool add_subject(Campaign *campaign, const char *name, PtxModule *m, Plan **inputs, unsigned n,
                        unsigned validated, unsigned level) {
    MutSubject subject = {.name = name, .ptx = m, .inputs = inputs, .ninputs = n, .nvalidated = validated};
    if (campaign->s->with_ptxas)
        return add_foreign(campaign, subject);
    Compilation k;
    DriverOptions opt = cli_driver_options(campaign->s);
    opt.opt_level = level;
    bool good = driver_compile(&k, m, &opt, &campaign->s->diags);
    if (good) {
        subject.image_bytes = k.image_bytes;
        add_image(campaign, subject, k.image);
        k.image = NULL;
    }
    driver_free(&k);
    return good;
}

static Plan *new_plan(Campaign *campaign) {
    Plan *p = ARENA_NEW(&campaign->s->arena, Plan);
    VEC_ADD(&campaign->s->arena, &campaign->plans, p);
    return p;
}

/* Launch file beside K.ptx: K.json; its data in --data-dir/K.d, or beside it. */
static Plan *plan_beside(Campaign *campaign, const char *path) {
    Settings *settings = campaign->s;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int stem = (int)(dot ? (size_t)(dot - path) : strlen(path));
    Plan *plan = new_plan(campaign);
    Source *text = ARENA_NEW(&settings->arena, Source);
    char *data;
    text->name = arena_printf(&settings->arena, "%.*s.json", stem, path);
    if (!file_read(&settings->arena, text->name, &settings->diags, &data, &text->size_bytes))
        return NULL;
    text->text = data;
    if (settings->data_dir) {
        struct stat st;
        const char *own =
            arena_printf(&settings->arena, "%s/%.*s.d", settings->data_dir, (int)(path + stem - base), base);
        plan->data_dir = stat(own, &st) == 0 ? own : settings->data_dir;
    }
    return plan_read_json(plan, text, &settings->diags) ? plan : NULL;
}

/* Launches inferred for all kernels of the module, behind the n plans of `inputs`; the number of plans then.
 */
static unsigned infer(Campaign *campaign, const PtxModule *m, uint64_t seed, Plan **inputs, unsigned n) {
    for (uint32_t f = 0; f < m->nfuncs; f++) {
        if (!m->funcs[f].is_entry || !m->funcs[f].has_body)
            continue;
        AutoLaunches *launches = ARENA_NEW(&campaign->s->arena, AutoLaunches);
        auto_launch(m, str_text(&m->strings, m->funcs[f].name), &(AutoOptions){.seed = seed}, launches);
        for (uint32_t i = 0; i < launches->nplans && !launches->traps && n < MOST_INPUTS; i++)
            inputs[n++] = launches->plans[i];
        VEC_ADD(&campaign->s->arena, &campaign->launches, launches);
    }
    return n;
}

static bool has_launch_beside(const char *path) {
    size_t n = strlen(path);
    Arena arena = {0};
    bool found = n > 4 && access(arena_printf(&arena, "%.*s.json", (int)(n - 4), path), R_OK) == 0;
    arena_free(&arena);
    return found;
}

/* A binary, another compiler's too, has no PTX to be judged by: what it does unchanged is right. */
static bool add_binary(Campaign *campaign, const char *path, const char *image, size_t size) {
    Settings *settings = campaign->s;
    Plan **inputs = ARENA_ARRAY(&settings->arena, Plan *, 1);
    inputs[0] = settings->has_shape || settings->launch_file ? &settings->plan : plan_beside(campaign, path);
    MutSubject x = {.name = path, .image = image, .image_bytes = size, .inputs = inputs, .ninputs = 1};
    VEC_ADD(&settings->arena, &campaign->subjects, x);
    return inputs[0] != NULL;
}

static bool add_file(Campaign *campaign, const char *path) {
    Settings *settings = campaign->s;
    char *image;
    size_t size;
    if (!file_read(&settings->arena, path, &settings->diags, &image, &size))
        return false;
    if (cli_is_elf(image, size))
        return add_binary(campaign, path, image, size);
    PtxModule *m = cli_read_ptx(settings, path);
    if (!m)
        return false;
    VEC_ADD(&settings->arena, &campaign->modules, m);
    Plan **inputs = ARENA_ARRAY(&settings->arena, Plan *, MOST_INPUTS + 1);
    unsigned n = 0, validated = 1;
    if (settings->launch_auto) {
        validated = n = infer(campaign, m, settings->seed, inputs, 0);
        for (uint64_t other = 1; other <= OTHER_SEEDS;
             other++) /* more to tell mutants that behave differently */
            n = infer(campaign, m, settings->seed + other, inputs, n);
    }
    bool given = settings->has_shape || settings->launch_file;
    Plan *plan = given                                               ? &settings->plan
                 : settings->launch_auto && !has_launch_beside(path) ? NULL
                                                                     : plan_beside(campaign, path);
    if (plan)
        inputs[n++] = plan;
    return n && validated && add_subject(campaign, path, m, inputs, n, validated, settings->opt_level);
}

static void buffer(Campaign *c, Plan *plan, const char *name, uint32_t bytes, const uint8_t *data) {
    uint32_t index = plan->buffers.n, size = bytes ? bytes : 1;
    PlanBuffer b = {.name = name,
                    .type = scalar_find("u8", 2),
                    .count = size,
                    .bytes = data,
                    .init = data ? NULL : "zero"};
    PlanArg a = {.is_buffer = true, .buffer = index};
    (void)c;
    VEC_ADD(&plan->arena, &plan->buffers, b);
    VEC_ADD(&plan->arena, &plan->launches.at[0].args, a);
}

static Plan *random_plan(Campaign *c, const GenProgram *program, unsigned variant) {
    Plan *plan = new_plan(c);
    PlanLaunch l = {.repeat = 1};
    memcpy(l.grid, program->grid, sizeof l.grid);
    memcpy(l.block, program->block, sizeof l.block);
    VEC_ADD(&plan->arena, &plan->launches, l);
    uint8_t *in = arena_alloc(&plan->arena, program->in_bytes + 1u);
    gen_data(program->data_seed + variant, in, program->in_bytes);
    buffer(c, plan, "in", program->in_bytes, in);
    buffer(c, plan, "out", program->out_bytes, NULL);
    return plan;
}

static void add_random(Campaign *campaign, GenKind kind, uint64_t index, GenForms *forms) {
    Settings *settings = campaign->s;
    GenProgram g = {0};
    Diags quiet = {0};
    gen_program(kind, settings->seed, index, forms, &g);
    char *text = arena_copy(&settings->arena, g.text, g.size_bytes + 1);
    PtxModule *m = ptx_parse("random", text, g.size_bytes, &quiet);
    if (m) {
        VEC_ADD(&settings->arena, &campaign->modules, m);
        Plan **inputs = ARENA_ARRAY(&settings->arena, Plan *, DATA_SEEDS);
        for (unsigned v = 0; v < DATA_SEEDS; v++)
            inputs[v] = random_plan(campaign, &g, v);
        add_subject(campaign,
                    arena_printf(&settings->arena, "%s-%llu", gen_kind_name(kind), (unsigned long long)index),
                    m, inputs, DATA_SEEDS, 1,
                    settings->has_opt_level ? settings->opt_level : (unsigned)(index & 3));
    }
    gen_program_free(&g);
}

static bool add_kinds(Campaign *campaign) {
    Settings *settings = campaign->s;
    const char *p = settings->mutate.kinds;
    GenForms forms = {
        .usable = fuzz_usable, .user = (void *)(uintptr_t)settings->target, .sm = maker_sm(settings->target)};
    while (p && *p) {
        size_t n = strcspn(p, ",");
        GenKind k;
        if (!gen_kind_find(p, n, &k)) {
            fprintf(stderr, "heddle mutate: --kind: there is no kind '%.*s'\n", (int)n, p);
            return false;
        }
        for (uint64_t i = 0; i < settings->mutate.programs; i++)
            add_random(campaign, k, i, &forms);
        p += n + (p[n] == ',');
    }
    gen_forms_free(&forms);
    return true;
}

static void show_progress(void *user, const char *subject, unsigned done, unsigned total) {
    (void)user;
    fprintf(stderr, "\r%u of %u programs (%s)\033[K%s", done, total, subject, done == total ? "\n" : "");
}

static void add_proof(const Settings *settings, const PtxModule *ptx, const Binary *b, const char *func,
                      uint64_t pc_bytes, MutProof *out) {
    ProveReport r = {0};
    Diags quiet = {0};
    ProveOptions o = {
        .query_seconds = 1, .total_seconds = settings->mutate.prove_seconds, .kernel = *func ? func : NULL};
    bool good = prove_module(ptx, b, &o, &r, &quiet);
    for (uint32_t f = 0; good && f < r.nfuncs; f++)
        for (uint32_t k = 0; k < r.funcs[f].nregions; k++) {
            const ProveRegion *region = &r.funcs[f].regions[k];
            out->refuted += region->status == PROVE_REFUTED;
            out->proved += region->status < PROVE_REFUTED;
            out->covers |= region->status < PROVE_REFUTED && strcmp(r.funcs[f].name, func) == 0 &&
                           region->pc_first <= pc_bytes && pc_bytes <= region->pc_last;
        }
    prove_report_free(&r);
}

/* Functions of the compiler's library are proved against the library's PTX. */
static void ask_prove(void *user, const PtxModule *ptx, const Binary *b, const char *func, uint64_t pc_bytes,
                      MutProof *out) {
    *out = (MutProof){0};
    if (strncmp(func, "__heddle_", 9) != 0) {
        add_proof(user, ptx, b, func, pc_bytes, out);
        return;
    }
    size_t size;
    const char *text;
    for (unsigned n = 0; (text = lower_builtin_text(n, &size)) != NULL; n++) {
        Diags quiet = {0};
        PtxModule *module = ptx_parse(lower_builtin_file(n), text, size, &quiet);
        bool defines = false;
        for (uint32_t f = 0; module && f < module->nfuncs; f++)
            defines |= strcmp(str_text(&module->strings, module->funcs[f].name), func) == 0;
        if (defines)
            add_proof(user, module, b, func, pc_bytes, out);
        if (module)
            ptx_free(module);
    }
}

static int run_campaign(Campaign *campaign) {
    Settings *settings = campaign->s;
    cli_ticker_stop();
    CampaignOptions o = {.count = settings->mutate.count,
                         .seed = settings->seed,
                         .model = settings->model.options,
                         .user = settings,
                         .prove = settings->mutate.prove_seconds > 0 ? ask_prove : NULL,
                         .progress = isatty(STDERR_FILENO) ? show_progress : NULL};
    o.model.max_states = o.model.max_states ? o.model.max_states : 20000;
    o.model.seconds = o.model.seconds > 0 ? o.model.seconds : 2;
    if (!parse_classes(settings, o.classes))
        return STATUS_USAGE;
    if (!campaign->subjects.n) {
        fprintf(stderr, "heddle mutate: --campaign: no programs; name PTX files or --kind\n");
        return STATUS_USAGE;
    }
    CampaignReport r;
    bool good = mutate_campaign_run(campaign->subjects.at, campaign->subjects.n, &o, &r, &settings->diags);
    if (good) {
        char *text = settings->json ? mutate_campaign_json(&r) : mutate_campaign_text(&r);
        printf("%s%s", text, settings->json ? "\n" : "");
        mem_free(text);
    }
    mutate_campaign_free(&r);
    return good ? STATUS_DONE : STATUS_INPUT;
}

static int campaign(Settings *settings) {
    Campaign c = {.s = settings};
    int status = STATUS_INPUT;
    if (settings->with_ptxas && (!settings->target || !maker_is_native(settings->target))) {
        fprintf(stderr, "heddle mutate: --with-ptxas: --target says for which of NVIDIA's machines\n");
        return STATUS_USAGE;
    }
    if (settings->with_ptxas && !maker_find_ptxas(settings))
        return (int)verdict_status(VERDICT_NOT_RUN);
    bool good = !(settings->has_shape || settings->launch_file) || cli_read_plan(settings);
    for (unsigned i = 0; good && i < settings->ninputs; i++)
        good = add_file(&c, settings->inputs[i]);
    if (good)
        status = add_kinds(&c) ? run_campaign(&c) : STATUS_USAGE;
    for (uint32_t i = 0; i < c.images.n; i++)
        mem_free(c.images.at[i]);
    for (uint32_t i = 0; i < c.launches.n; i++)
        auto_launch_free(c.launches.at[i]);
    for (uint32_t i = 0; i < c.plans.n; i++)
        plan_free(c.plans.at[i]);
    for (uint32_t i = 0; i < c.modules.n; i++)
        ptx_free(c.modules.at[i]);
    return status;
}

int cmd_mutate(Settings *settings) {
    if (settings->mutate.campaign)
        return campaign(settings);
    if (!settings->ninputs) {
        fprintf(stderr, "heddle mutate: no input file\n");
        return STATUS_USAGE;
    }
    return one_binary(settings);
}
