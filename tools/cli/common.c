/* What several commands do: reading modules and binaries, the launch plan of the options.
 * SPDX-License-Identifier: MIT */
#include "base/demangle.h"
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "emit/elf/container.h"
#include "emit/elf/image.h"
#include "emit/elf/object.h"
#include "frontend/link.h"
#include "tools/cli/cli.h"
#include "tools/cli/cuda.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_colour(FILE *out) {
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0 && isatty(fileno(out));
}

void cli_print_sink(void *user, Severity severity, const char *line) {
    static const struct {
        const char *word, *colour;
    } marks[] = {
        [SEV_NOTE] = {"note N", "36"}, [SEV_WARNING] = {"warning W", "35"}, [SEV_ERROR] = {"error E", "31"}};
    FILE *out = user;
    const char *at = has_colour(out) ? strstr(line, marks[severity].word) : NULL;
    if (!at) {
        diag_print_sink(user, severity, line);
        return;
    }
    int word = (int)strcspn(at, ":");
    fprintf(out, "%.*s\033[1;%sm%.*s\033[0m%s", (int)(at - line), line, marks[severity].colour, word, at,
            at + word);
}

void cli_print_json(cJSON *tree) {
    char *text = json_close(tree);
    puts(text);
    mem_free(text);
}

bool cli_is_elf(const char *data, size_t size_bytes) {
    return size_bytes >= 4 && memcmp(data, "\177ELF", 4) == 0;
}

void cli_keep_error(void *user, Severity severity, const char *line) {
    char *first = user;
    const char *text = strstr(line, "error E");
    if (severity != SEV_ERROR || *first)
        return;
    size_t place = text ? (size_t)(text - line) : 0;
    const char *slash = memrchr(line, '/', place), *from = slash ? slash + 1 : line;
    snprintf(first, CLI_ERROR_BYTES, "%.*s%s", (int)(text ? text - from : 0), from, text ? text + 6 : line);
    first[strcspn(first, "\n")] = 0;
}

const char *cli_kernel_symbol(Settings *settings, const PtxModule *ptx, const Binary *binary,
                              const char *name) {
    const char *found = name;
    uint32_t n = ptx ? ptx->nfuncs : binary ? binary->nfuncs : 0, nfound = 0;
    for (uint32_t i = 0; name && i < n; i++) {
        const char *symbol = ptx ? str_text(&ptx->strings, ptx->funcs[i].name) : binary->funcs[i].name;
        if (strcmp(symbol, name) == 0)
            return name;
        if (!(ptx ? ptx->funcs[i].is_entry : binary->funcs[i].is_entry) ||
            !str_is_named(&settings->arena, symbol, name))
            continue;
        found = symbol;
        nfound++;
    }
    return nfound == 1 ? found : name;
}

static void print_dump(void *user, const char *pass, const char *text) {
    (void)user;
    fprintf(stderr, "; after %s\n%s\n", pass, text);
}

DriverOptions cli_driver_options(const Settings *settings) {
    return (DriverOptions){
        .target = settings->target,
        .opt_level = settings->opt_level,
        .reconverge = settings->reconverge,
        .predicate = settings->predicate,
        .reconv_opts = settings->reconv_opts,
        .yield_breaks = settings->yield_breaks,
        .explain = settings->verbose,
        .passes = {.dump = settings->dump,
                   .stop_after = settings->stop_after,
                   .without = settings->without,
                   .time_passes = settings->time_passes,
                   .verify = settings->verbose,
                   .on_dump = print_dump},
        .profiles = settings->profiles.at,
        .nprofiles = settings->profiles.n,
        .elf = {.no_map = settings->no_map, .no_ptx = settings->no_ptx, .old_form = settings->old_form}};
}

static bool take_target(Settings *settings, const char *path, const Target *t) {
    if (settings->object_target && t && settings->object_target != t)
        return diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, path,
                    arena_printf(&settings->arena, "it was compiled for %s, another object for %s",
                                 isa_target_name(t), isa_target_name(settings->object_target)));
    settings->object_target = t;
    if (!settings->target)
        settings->target = t;
    return true;
}

static PtxModule *read_text(Settings *settings, const char *name, const char *text, size_t size) {
    return settings->keep_going ? ptx_parse_keep_going(name, text, size, &settings->diags)
                                : ptx_parse(name, text, size, &settings->diags);
}

static PtxModule *read_llvm(Settings *settings, const LlvmFile *file) {
    LlvmOptions options = settings->llvm;
    uint32_t n = settings->bitcode.n;
    LlvmFile *libraries = ARENA_ARRAY(&settings->arena, LlvmFile, n ? n : 1);
    for (uint32_t k = 0; k < n; k++) {
        char *data;
        libraries[k].name = settings->bitcode.at[k];
        if (!file_read(&settings->arena, libraries[k].name, &settings->diags, &data,
                       &libraries[k].size_bytes))
            return NULL;
        libraries[k].data = data;
    }
    options.libraries = libraries;
    options.nlibraries = n;
    options.opt_level = settings->opt_level;
    options.externals = settings->object || settings->ninputs > 1;
    const char *family = settings->target ? isa_target_name(settings->target) : "";
    if (!options.cpu && strncmp(family, "sm_", 3) == 0)
        options.cpu = family;
    char *ptx;
    size_t ptx_bytes;
    return llvm_to_ptx(&settings->arena, file, &options, &settings->diags, &ptx, &ptx_bytes)
               ? read_text(settings, arena_printf(&settings->arena, "%s (as PTX)", file->name), ptx,
                           ptx_bytes)
               : NULL;
}

static PtxModule *read_cuda(Settings *settings, const char *path) {
    const char *ptx;
    size_t size;
    return cli_cuda_to_ptx(settings, path, &ptx, &size)
               ? read_text(settings, arena_printf(&settings->arena, "%s (as PTX)", path), ptx, size)
               : NULL;
}

PtxModule *cli_read_ptx_and_code(Settings *settings, const char *path, Binary **code) {
    char *text;
    size_t size;
    if (cli_is_cuda(path))
        return read_cuda(settings, path);
    if (!cli_read_program(settings, path, true, &text, &size))
        return NULL;
    if (!size) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0003, path);
        return NULL;
    }
    if (elf_object_is(text, size)) {
        const char *name, *ptx;
        size_t ptx_bytes;
        return take_target(settings, path, elf_object_target(text)) &&
                       elf_object_read(&settings->arena, path, text, size, &name, &ptx, &ptx_bytes,
                                       &settings->diags)
                   ? ptx_parse(name, ptx, ptx_bytes, &settings->diags)
                   : NULL;
    }
    if (cli_is_elf(text, size)) {
        Binary *binary = cli_load(settings, path, text, size); /* the PTX that the binary was made from */
        PtxModule *m = NULL;
        if (code)
            *code = binary;
        if (binary && binary->ptx_text)
            m = ptx_parse_kept(binary->ptx_name ? binary->ptx_name : path, binary->ptx_text,
                               binary->ptx_text_bytes, &settings->diags);
        else if (binary)
            diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, path,
                 "the binary holds no PTX text: give that, too, before it");
        if (!code)
            binary_free(binary);
        return m;
    }
    return llvm_ir_is(text, size) ? read_llvm(settings, &(LlvmFile){path, text, size})
                                  : read_text(settings, path, text, size);
}

PtxModule *cli_read_ptx(Settings *settings, const char *path) {
    return cli_read_ptx_and_code(settings, path, NULL);
}

PtxModule *cli_read_modules(Settings *settings, unsigned n) {
    PtxModule *all[MAX_INPUTS];
    for (unsigned k = 0; k < n; k++) {
        all[k] = cli_read_ptx(settings, settings->inputs[k]);
        if (!all[k]) {
            while (k)
                ptx_free(all[--k]);
            return NULL;
        }
    }
    return n == 1 ? all[0] : ptx_link(all, n, &settings->diags);
}

/* Does the kernel's name, or what it is in C++, stand behind `prefix`: of a section, or of PTX? */
static bool names_kernel(Settings *settings, const ContainerItem *item, const char *prefix) {
    const char *end = (const char *)item->data + item->size_bytes, *at = item->data;
    while ((at = memmem(at, (size_t)(end - at), prefix, strlen(prefix)))) {
        at += strlen(prefix);
        const char *name = at + (item->is_ptx ? strspn(at, " \t\r\n") : 0);
        size_t n = 0;
        while (isalnum((unsigned char)name[n]) || (name[n] && strchr("_$.%", name[n])))
            n++;
        if (str_is_named(&settings->arena, arena_printf(&settings->arena, "%.*s", (int)n, name),
                         settings->launch.kernel))
            return true;
    }
    return false;
}

/* Is the item's machine the one asked for, and does it have the kernel? */
static bool is_wanted(Settings *settings, const ContainerItem *item) {
    const char *kernel = settings->launch.kernel;
    if (item->is_ptx)
        return !kernel || names_kernel(settings, item, ".entry");
    const Target *target = elf_file_target(item->data, item->size_bytes);
    if (!target || (settings->target && settings->target != target) ||
        (!settings->any_machine && !isa_target_info(target)->is_made))
        return false;
    static const char code[] = ".text."; /* a runtime library brings files without any */
    return kernel ? names_kernel(settings, item, code)
                  : memmem(item->data, item->size_bytes, code, strlen(code)) != NULL;
}

static const char *item_list(Settings *settings, const Container *container) {
    const char *list = "";
    for (uint32_t i = 0; i < container->items.n; i++) {
        const ContainerItem *item = &container->items.at[i];
        list = arena_printf(&settings->arena, "%s%s%s for sm_%u (%s)", list, i ? ", " : "",
                            item->is_ptx ? "PTX" : "ELF", item->sm, item->name);
    }
    return *list ? arena_printf(&settings->arena, "say which with --target or --kernel: it holds %s", list)
                 : "it holds no program for GPUs";
}

bool cli_reject_container(Settings *settings, const char *path, const Container *container) {
    return diag(&settings->diags, (SrcLoc){0}, DIAG_E0417, path, item_list(settings, container));
}

/* 80 of sm_80; 0 of bru1. */
static unsigned machine_number(const Target *target) {
    unsigned sm;
    return sscanf(isa_target_name(target), "sm_%u", &sm) == 1 ? sm : 0;
}

/* Of a machine's PTX, higher is better; 0: as a driver does not take it. bru1 takes all, that for later
 * machines than there are targets as the last resort. */
static unsigned ptx_rank(const Settings *settings, unsigned sm) {
    unsigned machine = settings->target ? machine_number(settings->target) : 0, latest = 0;
    for (const Target *const *target = isa_targets; *target; target++)
        if (isa_target_info(*target)->is_made && machine_number(*target) > latest)
            latest = machine_number(*target);
    if (machine)
        return sm <= machine ? sm : 0;
    return sm <= latest ? sm : 1;
}

/* Of several PTX texts that of the latest machine up to --target; of those of one rank none. */
static bool choose(Settings *settings, const char *path, bool ptx, const Container *container,
                   const ContainerItem **out) {
    unsigned n[2] = {0}, best[2] = {1, 1};
    const ContainerItem *found[2] = {NULL};
    for (uint32_t i = 0; i < container->items.n; i++) {
        const ContainerItem *item = &container->items.at[i];
        unsigned rank = item->is_ptx ? ptx_rank(settings, item->sm) : 1;
        if (!is_wanted(settings, item) || rank < best[item->is_ptx])
            continue;
        if (rank > best[item->is_ptx])
            n[item->is_ptx] = 0;
        best[item->is_ptx] = rank;
        found[item->is_ptx] = item;
        n[item->is_ptx]++;
    }
    bool kind = n[ptx] ? ptx : !ptx;
    *out = found[kind];
    return n[kind] == 1 || cli_reject_container(settings, path, container);
}

bool cli_read_program(Settings *settings, const char *path, bool ptx, char **data, size_t *size_bytes) {
    Container container;
    const ContainerItem *item;
    if (!file_read(&settings->arena, path, &settings->diags, data, size_bytes))
        return false;
    if (!elf_container_is(*data, *size_bytes))
        return true;
    if (!elf_container_open(&settings->arena, path, *data, *size_bytes, &container, &settings->diags) ||
        !choose(settings, path, ptx, &container, &item))
        return false;
    *data = (char *)(uintptr_t)item->data;
    *size_bytes = item->size_bytes;
    return true;
}

Binary *cli_load(Settings *settings, const char *path, const char *data, size_t size_bytes) {
    return binary_read(path, data, size_bytes, &settings->diags);
}

Binary *cli_compile_to_binary(Settings *settings, const PtxModule *ptx, const char *path) {
    Compilation c;
    DriverOptions opt = cli_driver_options(settings);
    Binary *b = NULL;
    if (driver_compile(&c, ptx, &opt, &settings->diags))
        b = binary_read(path, c.image, c.image_bytes, &settings->diags);
    driver_free(&c);
    return b;
}

bool cli_choose_card(Settings *settings) {
    GpuDevice device;
    if (settings->other.engine == DIFF_MACHINE)
        return true;
    if (!gpu_device(&device, &settings->diags))
        return false;
    if (settings->target)
        return true;
    if (!device.target)
        return diag(&settings->diags, (SrcLoc){0}, DIAG_E0561, "what Heddle compiles", "other cards",
                    device.name, device.major, device.minor);
    settings->target = device.target;
    return true;
}

static bool plan_from_options(Settings *settings) {
    Plan *p = &settings->plan;
    p->data_dir = settings->data_dir;
    VEC_ADD(&p->arena, &p->launches, settings->launch);
    for (uint32_t i = 0; i < settings->args.n; i++)
        if (!plan_add_arg(p, settings->args.at[i], &settings->diags))
            return false;
    return true;
}

bool cli_read_plan(Settings *settings) {
    Plan *p = &settings->plan;
    if (!settings->launch_file) {
        if (!plan_from_options(settings))
            return false;
    } else {
        char *text;
        size_t size;
        if (!file_read(&settings->arena, settings->launch_file, &settings->diags, &text, &size))
            return false;
        Source *source = ARENA_NEW(&settings->arena, Source);
        *source = (Source){settings->launch_file, text, size};
        p->data_dir = settings->data_dir;
        if (!plan_read_json(p, source, &settings->diags))
            return false;
        if (!settings->ninputs && p->module)
            settings->inputs[settings->ninputs++] = p->module;
    }
    for (uint32_t i = 0; i < settings->expects.n; i++)
        if (!plan_add_expect(p, settings->expects.at[i], &settings->diags))
            return false;
    return settings->ninputs > 0 || diag(&settings->diags, (SrcLoc){0}, DIAG_E0502,
                                         "no input file, and no \"module\" in a launch file");
}
