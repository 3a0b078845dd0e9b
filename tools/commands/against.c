/* heddle report --against, and of a binary alone: how much of each kernel is barriers, branches and guarded
 * code, and region by region where lanes wait; beside the kernels of the same name in another binary, if
 * there is one. Nothing is run: what each executes, heddle run --stats tells. SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/scope.h"
#include "check/picture/figures.h"
#include "tools/cli/cli.h"
#include <string.h>

static const BinFunc *kernel_named(const Binary *binary, const char *name) {
    for (uint32_t k = 0; k < binary->nfuncs; k++)
        if (binary->funcs[k].is_entry && strcmp(binary->funcs[k].name, name) == 0)
            return &binary->funcs[k];
    return NULL;
}

static void kernel_text(const Settings *settings, const char *name, const cJSON *ours, const cJSON *other) {
    if (settings->against && !other) {
        printf("%s: not in %s\n", name, settings->against);
        return;
    }
    if (other)
        printf("%s\n  %-26s %10s %10s\n", name, "", "ours", "other");
    else
        puts(name);
    figures_text(ours, other);
}

/* Those that --kernel names, or all. */
static void all_kernels(Settings *settings, const FigureSide *ours, const FigureSide *other, cJSON *list) {
    const char *wanted = cli_kernel_symbol(settings, NULL, ours->binary, settings->report.kernel);
    for (uint32_t k = 0; k < ours->binary->nfuncs; k++) {
        const BinFunc *kernel = &ours->binary->funcs[k];
        const BinFunc *second = other && kernel->is_entry ? kernel_named(other->binary, kernel->name) : NULL;
        if (!kernel->is_entry || (wanted && strcmp(kernel->name, wanted) != 0))
            continue;
        cJSON *o = json_object(), *figures[2] = {NULL, NULL};
        json_add_text(o, "kernel", kernel->name);
        figures[0] = json_add_object(o, "ours");
        figures_add(ours, k, figures[0]);
        if (second) {
            figures[1] = json_add_object(o, "other");
            figures_add(other, (uint32_t)(second - other->binary->funcs), figures[1]);
        }
        if (list) {
            json_append(list, o);
            continue;
        }
        kernel_text(settings, kernel->name, figures[0], figures[1]);
        mem_free(json_close(o));
    }
}

void cli_figures(Settings *settings, const Binary *ours, const Binary *other) {
    FigureSide sides[2] = {figures_open(ours)};
    const char *target = isa_target_name(ours->target);
    if (other)
        sides[1] = figures_open(other);
    if (settings->json) {
        cJSON *root = json_object();
        json_add_text(root, "target", target);
        if (other)
            json_add_text(root, "other", settings->against);
        all_kernels(settings, &sides[0], other ? &sides[1] : NULL, json_add_list(root, "kernels"));
        cli_print_json(root);
    } else {
        printf("%s%s for %s%s%s\n", settings->inputs[0], other ? " compiled" : ", the code of the file,",
               target, other ? " beside " : "", other ? settings->against : "");
        all_kernels(settings, &sides[0], other ? &sides[1] : NULL, NULL);
    }
    figures_close(&sides[0]);
    if (other)
        figures_close(&sides[1]);
}
