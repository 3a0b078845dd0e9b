/* heddle mutate: list mutants of a binary, write one, or run a campaign that measures the checkers.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "check/mutate/campaign.h"
#include "check/fuzz/internal.h"
#include "check/prove/prove.h"
#include "lower/lower.h"
#include "tools/cli.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DATA_SEEDS = 4 };

/* ---- the binary of the first input ---- */

static bool read_image(Settings *s, char **image, size_t *size) {
    if (!file_read(&s->arena, s->inputs[0], &s->diags, image, size))
        return false;
    if (cli_is_elf(*image, *size))
        return true;
    PtxModule *m = cli_read_ptx(s, s->inputs[0]);
    Compilation c;
    DriverOptions opt = cli_driver_options(s);
    bool good = m != NULL;
    if (good) {
        good = driver_compile(&c, m, &opt, &s->diags);
        *image = good ? arena_copy(&s->arena, c.image, c.image_bytes) : NULL;
        *size = good ? c.image_bytes : 0;
        driver_free(&c);
        ptx_free(m);
    }
    return good;
}

static bool parse_classes(const Settings *s, bool classes[MUT_CLASSES]) {
    const char *p = s->mutate.classes;
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

static int list_sites(const Settings *s, const Mutator *m) {
    bool classes[MUT_CLASSES];
    char text[256];
    if (!parse_classes(s, classes))
        return STATUS_USAGE;
    for (unsigned c = 0; c < MUT_CLASSES; c++)
        for (uint32_t i = 0; classes[c] && i < m->sites[c].n; i++)
            puts(mutate_text(m, m->sites[c].at[i], i, text));
    return STATUS_DONE;
}

static int apply_one(Settings *s, const Mutator *m) {
    const char *colon = strchr(s->mutate.apply, ':');
    char *end = NULL;
    MutClass c;
    unsigned long number = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!colon || end == colon + 1 || *end ||
        !mutate_class_find(s->mutate.apply, (size_t)(colon - s->mutate.apply), &c)) {
        fprintf(stderr, "heddle mutate: --apply: '%s' is not CLASS:NUMBER\n", s->mutate.apply);
        return STATUS_USAGE;
    }
    if (number >= m->sites[c].n || !s->output) {
        fprintf(stderr, "heddle mutate: --apply: %s\n",
                !s->output ? "where to? (-o FILE)" : "there is no such site; --list shows them");
        return STATUS_USAGE;
    }
    uint8_t *out = arena_alloc(&s->arena, m->image_bytes);
    bool good =
        mutate_apply(m, m->sites[c].at[number], out) && file_write(s->output, out, m->image_bytes, &s->diags);
    return good ? STATUS_DONE : STATUS_INPUT;
}

static int one_binary(Settings *s) {
    char *image;
    size_t size;
    if (!read_image(s, &image, &size))
        return STATUS_INPUT;
    Mutator *m = mutator_new(s->inputs[0], image, size, &s->diags);
    if (!m)
        return STATUS_INPUT;
    int status = s->mutate.apply ? apply_one(s, m) : list_sites(s, m);
    mutator_free(m);
    return status;
}

/* ---- campaigns ---- */

typedef struct {
    Settings *s;
    VEC(MutSubject) subjects;
    VEC(PtxModule *) modules;
    VEC(Plan *) plans;
    VEC(void *) images;
} Campaign;

static bool add_subject(Campaign *c, const char *name, PtxModule *m, Plan **inputs, unsigned n,
                        unsigned level) {
    Compilation k;
    DriverOptions opt = cli_driver_options(c->s);
    opt.opt_level = level;
    bool good = driver_compile(&k, m, &opt, &c->s->diags);
    if (good) {
        MutSubject x = {.name = name,
                        .ptx = m,
                        .image = k.image,
                        .image_bytes = k.image_bytes,
                        .inputs = inputs,
                        .ninputs = n};
        VEC_ADD(&c->s->arena, &c->subjects, x);
        VEC_ADD(&c->s->arena, &c->images, k.image);
        k.image = NULL;
    }
    driver_free(&k);
    return good;
}

static Plan *new_plan(Campaign *c) {
    Plan *p = ARENA_NEW(&c->s->arena, Plan);
    VEC_ADD(&c->s->arena, &c->plans, p);
    return p;
}

/* Launch file beside K.ptx: K.json; its data in --data-dir/K.d, or beside it. */
static Plan *plan_beside(Campaign *c, const char *path) {
    Settings *s = c->s;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int stem = (int)(dot ? (size_t)(dot - path) : strlen(path));
    Plan *p = new_plan(c);
    Source *text = ARENA_NEW(&s->arena, Source);
    char *data;
    text->name = arena_printf(&s->arena, "%.*s.json", stem, path);
    if (!file_read(&s->arena, text->name, &s->diags, &data, &text->size_bytes))
        return NULL;
    text->text = data;
    if (s->data_dir) {
        struct stat st;
        const char *own = arena_printf(&s->arena, "%s/%.*s.d", s->data_dir, (int)(path + stem - base), base);
        p->data_dir = stat(own, &st) == 0 ? own : s->data_dir;
    }
    return plan_read_json(p, text, &s->diags) ? p : NULL;
}

static bool add_file(Campaign *c, const char *path) {
    Settings *s = c->s;
    PtxModule *m = cli_read_ptx(s, path);
    if (!m)
        return false;
    VEC_ADD(&s->arena, &c->modules, m);
    Plan **inputs = ARENA_ARRAY(&s->arena, Plan *, 1);
    inputs[0] = s->has_shape || s->launch_file ? &s->plan : plan_beside(c, path);
    return inputs[0] && add_subject(c, path, m, inputs, 1, s->opt_level);
}

static void buffer(Campaign *c, Plan *p, const char *name, uint32_t bytes, const uint8_t *data) {
    uint32_t index = p->buffers.n, size = bytes ? bytes : 1;
    PlanBuffer b = {.name = name,
                    .type = scalar_find("u8", 2),
                    .count = size,
                    .bytes = data,
                    .init = data ? NULL : "zero"};
    PlanArg a = {.is_buffer = true, .buffer = index};
    (void)c;
    VEC_ADD(&p->arena, &p->buffers, b);
    VEC_ADD(&p->arena, &p->launches.at[0].args, a);
}

static Plan *random_plan(Campaign *c, const GenProgram *g, unsigned variant) {
    Plan *p = new_plan(c);
    PlanLaunch l = {.repeat = 1};
    memcpy(l.grid, g->grid, sizeof l.grid);
    memcpy(l.block, g->block, sizeof l.block);
    VEC_ADD(&p->arena, &p->launches, l);
    uint8_t *in = arena_alloc(&p->arena, g->in_bytes + 1u);
    gen_data(g->data_seed + variant, in, g->in_bytes);
    buffer(c, p, "in", g->in_bytes, in);
    buffer(c, p, "out", g->out_bytes, NULL);
    return p;
}

static void add_random(Campaign *c, GenKind kind, uint64_t index, GenForms *forms) {
    Settings *s = c->s;
    GenProgram g = {0};
    Diags quiet = {0};
    gen_program(kind, s->seed, index, forms, &g);
    char *text = arena_copy(&s->arena, g.text, g.size_bytes + 1);
    PtxModule *m = ptx_parse("random", text, g.size_bytes, &quiet);
    if (m) {
        VEC_ADD(&s->arena, &c->modules, m);
        Plan **inputs = ARENA_ARRAY(&s->arena, Plan *, DATA_SEEDS);
        for (unsigned v = 0; v < DATA_SEEDS; v++)
            inputs[v] = random_plan(c, &g, v);
        add_subject(c, arena_printf(&s->arena, "%s-%llu", gen_kind_name(kind), (unsigned long long)index), m,
                    inputs, DATA_SEEDS, s->has_opt_level ? s->opt_level : (unsigned)(index & 3));
    }
    gen_program_free(&g);
}

static bool add_kinds(Campaign *c) {
    Settings *s = c->s;
    const char *p = s->mutate.kinds;
    GenForms forms = {.usable = fuzz_usable, .user = (void *)(uintptr_t)s->target};
    while (p && *p) {
        size_t n = strcspn(p, ",");
        GenKind k;
        if (!gen_kind_find(p, n, &k)) {
            fprintf(stderr, "heddle mutate: --kind: there is no kind '%.*s'\n", (int)n, p);
            return false;
        }
        for (uint64_t i = 0; i < s->mutate.programs; i++)
            add_random(c, k, i, &forms);
        p += n + (p[n] == ',');
    }
    gen_forms_free(&forms);
    return true;
}

static void show_progress(void *user, const char *subject, unsigned done, unsigned total) {
    (void)user;
    fprintf(stderr, "\r%u of %u programs (%s)\033[K%s", done, total, subject, done == total ? "\n" : "");
}

static void add_proof(const Settings *s, const PtxModule *ptx, const Binary *b, const char *func,
                      uint64_t pc_bytes, MutProof *out) {
    ProveReport r = {0};
    Diags quiet = {0};
    ProveOptions o = {
        .query_seconds = 1, .total_seconds = s->mutate.prove_seconds, .kernel = *func ? func : NULL};
    bool good = prove_module(ptx, b, &o, &r, &quiet);
    for (uint32_t f = 0; good && f < r.nfuncs; f++)
        for (uint32_t k = 0; k < r.funcs[f].nregions; k++) {
            const ProveRegion *x = &r.funcs[f].regions[k];
            out->refuted += x->status == PROVE_REFUTED;
            out->proved += x->status < PROVE_REFUTED;
            out->covers |= x->status < PROVE_REFUTED && strcmp(r.funcs[f].name, func) == 0 &&
                           x->pc_first <= pc_bytes && pc_bytes <= x->pc_last;
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
        PtxModule *m = ptx_parse(lower_builtin_file(n), text, size, &quiet);
        bool defines = false;
        for (uint32_t f = 0; m && f < m->nfuncs; f++)
            defines |= strcmp(str_text(&m->strings, m->funcs[f].name), func) == 0;
        if (defines)
            add_proof(user, m, b, func, pc_bytes, out);
        if (m)
            ptx_free(m);
    }
}

static int run_campaign(Campaign *c) {
    Settings *s = c->s;
    CampaignOptions o = {.count = s->mutate.count,
                         .seed = s->seed,
                         .model = s->model.options,
                         .user = s,
                         .prove = s->mutate.prove_seconds > 0 ? ask_prove : NULL,
                         .progress = isatty(STDERR_FILENO) ? show_progress : NULL};
    o.model.max_states = o.model.max_states ? o.model.max_states : 20000;
    o.model.seconds = o.model.seconds > 0 ? o.model.seconds : 2;
    if (!parse_classes(s, o.classes))
        return STATUS_USAGE;
    if (!c->subjects.n) {
        fprintf(stderr, "heddle mutate: --campaign: no programs; name PTX files or --kind\n");
        return STATUS_USAGE;
    }
    CampaignReport r;
    bool good = campaign_run(c->subjects.at, c->subjects.n, &o, &r, &s->diags);
    if (good) {
        char *text = s->json ? campaign_json(&r) : campaign_text(&r);
        printf("%s%s", text, s->json ? "\n" : "");
        free(text);
    }
    campaign_free(&r);
    return good ? STATUS_DONE : STATUS_INPUT;
}

static int campaign(Settings *s) {
    Campaign c = {.s = s};
    int status = STATUS_INPUT;
    bool good = !(s->has_shape || s->launch_file) || cli_read_plan(s);
    for (unsigned i = 0; good && i < s->ninputs; i++)
        good = add_file(&c, s->inputs[i]);
    if (good)
        status = add_kinds(&c) ? run_campaign(&c) : STATUS_USAGE;
    for (uint32_t i = 0; i < c.images.n; i++)
        free(c.images.at[i]);
    for (uint32_t i = 0; i < c.plans.n; i++)
        plan_free(c.plans.at[i]);
    for (uint32_t i = 0; i < c.modules.n; i++)
        ptx_free(c.modules.at[i]);
    return status;
}

int cmd_mutate(Settings *s) {
    if (s->mutate.campaign)
        return campaign(s);
    if (!s->ninputs) {
        fprintf(stderr, "heddle mutate: no input file\n");
        return STATUS_USAGE;
    }
    return one_binary(s);
}
