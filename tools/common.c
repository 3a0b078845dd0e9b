/* What several commands do: reading modules and binaries, the launch plan of the options.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "emit/elf/object.h"
#include "frontend/link.h"
#include "tools/cli.h"
#include <string.h>

bool cli_is_elf(const char *data, size_t size_bytes) {
    return size_bytes >= 4 && memcmp(data, "\177ELF", 4) == 0;
}

static void print_dump(void *user, const char *pass, const char *text) {
    (void)user;
    fprintf(stderr, "; after %s\n%s\n", pass, text);
}

DriverOptions cli_driver_options(const Settings *s) {
    return (DriverOptions){.target = s->target,
                           .opt_level = s->opt_level,
                           .reconverge = s->reconverge,
                           .predicate = s->predicate,
                           .yield_breaks = s->yield_breaks,
                           .passes = {.dump = s->dump,
                                      .stop_after = s->stop_after,
                                      .time_passes = s->time_passes,
                                      .verify = s->verbose,
                                      .on_dump = print_dump},
                           .elf = {.no_map = s->no_map, .no_ptx = s->no_ptx, .new_form = s->new_form}};
}

static bool take_target(Settings *s, const char *path, const Target *t) {
    if (s->object_target && t && s->object_target != t)
        return diag(&s->diags, (SrcLoc){0}, DIAG_E0412, path,
                    arena_printf(&s->arena, "it was compiled for %s, another object for %s",
                                 isa_target_name(t), isa_target_name(s->object_target)));
    s->object_target = t;
    if (!s->target)
        s->target = t;
    return true;
}

PtxModule *cli_read_ptx(Settings *s, const char *path) {
    char *text;
    size_t size;
    if (!file_read(&s->arena, path, &s->diags, &text, &size))
        return NULL;
    if (!size) {
        diag(&s->diags, (SrcLoc){0}, DIAG_E0003, path);
        return NULL;
    }
    if (object_is(text, size)) {
        const char *name, *ptx;
        size_t ptx_bytes;
        return take_target(s, path, object_target(text)) &&
                       object_read(&s->arena, path, text, size, &name, &ptx, &ptx_bytes, &s->diags)
                   ? ptx_parse(name, ptx, ptx_bytes, &s->diags)
                   : NULL;
    }
    if (cli_is_elf(text, size)) {
        Binary *b = cli_load(s, path, text, size); /* the PTX that the binary was made from */
        PtxModule *m = NULL;
        if (b && b->ptx_text)
            m = ptx_parse(b->ptx_name ? b->ptx_name : path, b->ptx_text, b->ptx_text_bytes, &s->diags);
        else if (b)
            diag(&s->diags, (SrcLoc){0}, DIAG_E0412, path, "the binary holds no PTX text");
        binary_free(b);
        return m;
    }
    return ptx_parse(path, text, size, &s->diags);
}

PtxModule *cli_read_modules(Settings *s, unsigned n) {
    PtxModule *all[MAX_INPUTS];
    for (unsigned k = 0; k < n; k++) {
        all[k] = cli_read_ptx(s, s->inputs[k]);
        if (!all[k]) {
            while (k)
                ptx_free(all[--k]);
            return NULL;
        }
    }
    return n == 1 ? all[0] : ptx_link(all, n, &s->diags);
}

Binary *cli_load(Settings *s, const char *path, const char *data, size_t size_bytes) {
    return binary_read(path, data, size_bytes, &s->diags);
}

Binary *cli_compile_to_binary(Settings *s, const PtxModule *ptx, const char *path) {
    Compilation c;
    DriverOptions opt = cli_driver_options(s);
    Binary *b = NULL;
    if (driver_compile(&c, ptx, &opt, &s->diags))
        b = binary_read(path, c.image, c.image_bytes, &s->diags);
    driver_free(&c);
    return b;
}

static bool plan_from_options(Settings *s) {
    Plan *p = &s->plan;
    p->data_dir = s->data_dir;
    VEC_ADD(&p->arena, &p->launches, s->launch);
    for (uint32_t i = 0; i < s->args.n; i++)
        if (!plan_add_arg(p, s->args.at[i], &s->diags))
            return false;
    return true;
}

bool cli_read_plan(Settings *s) {
    Plan *p = &s->plan;
    if (!s->launch_file) {
        if (!plan_from_options(s))
            return false;
    } else {
        char *text;
        size_t size;
        if (!file_read(&s->arena, s->launch_file, &s->diags, &text, &size))
            return false;
        Source *source = ARENA_NEW(&s->arena, Source);
        *source = (Source){s->launch_file, text, size};
        p->data_dir = s->data_dir;
        if (!plan_read_json(p, source, &s->diags))
            return false;
        if (!s->ninputs && p->module)
            s->inputs[s->ninputs++] = p->module;
    }
    for (uint32_t i = 0; i < s->expects.n; i++)
        if (!plan_add_expect(p, s->expects.at[i], &s->diags))
            return false;
    return s->ninputs > 0 ||
           diag(&s->diags, (SrcLoc){0}, DIAG_E0502, "no input file, and no \"module\" in a launch file");
}
