/* heddle compile, asm, disasm: one file in, one file out.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/scope.h"
#include "emit/text/asm.h"
#include "emit/elf/object.h"
#include "frontend/link.h"
#include "frontend/named.h"
#include "isa/machine/occupancy.h"
#include "tools/cli.h"
#include "tools/report.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* K.ptx -> K.cubin in the present directory, as other compilers do; standard input to standard output. */
static const char *output_name(Settings *settings, const char *ending) {
    if (settings->output || strcmp(settings->inputs[0], "-") == 0)
        return settings->output ? settings->output : "-";
    const char *slash = strrchr(settings->inputs[0], '/'), *base = slash ? slash + 1 : settings->inputs[0];
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    return arena_printf(&settings->arena, "%.*s.%s", (int)n, base, ending);
}

/* Nobody wants the source replaced by what was made from it. */
static bool write_out(Settings *settings, const char *name, const void *data, size_t size_bytes) {
    struct stat in, out;
    if (strcmp(name, "-") != 0 && stat(settings->inputs[0], &in) == 0 && stat(name, &out) == 0 &&
        S_ISREG(out.st_mode) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return diag(&settings->diags, (SrcLoc){0}, DIAG_E0002, name, "it is the input file");
    return file_write(name, data, size_bytes, &settings->diags);
}

static bool write_mir(Settings *settings, const Compilation *compilation) {
    size_t size = 0;
    char *text = ir_print(compilation->ir, &size);
    bool good = text && write_out(settings, settings->output ? settings->output : "-", text, size);
    mem_free(text);
    return good;
}

static bool write_asm(Settings *settings, const Compilation *compilation) {
    char *text;
    size_t size;
    if (!disasm_image(settings->inputs[0], compilation->image, compilation->image_bytes, false, &text, &size,
                      &settings->diags))
        return false;
    char *noted = NULL;
    size_t noted_size = 0;
    bool good = report_annotate(compilation, text, size, &noted, &noted_size) &&
                write_out(settings, settings->output ? settings->output : "-", noted, noted_size);
    mem_free(noted);
    mem_free(text);
    return good;
}

static bool write_ptx(Settings *settings, const PtxModule *m) {
    char *text;
    size_t size;
    if (!ptx_print(m, &text, &size))
        return diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, settings->inputs[0],
                    "the module cannot be printed");
    bool good = write_out(settings, settings->output ? settings->output : "-", text, size);
    mem_free(text);
    return good;
}

/* Blocks of the size that the kernel declares, if it does. */
static void write_occupancy(const Target *t, const CodeFunc *f) {
    const PtxFunc *ptx = f->ir ? f->ir->ptx : NULL;
    const uint32_t *block = ptx && ptx->reqntid[0] ? ptx->reqntid : ptx ? ptx->maxntid : NULL;
    uint64_t threads = block ? (uint64_t)block[0] * (block[1] ? block[1] : 1) * (block[2] ? block[2] : 1) : 0;
    uint32_t warps = occupancy_warps(t, f->nregs, f->shared_bytes, (uint32_t)threads);
    uint32_t most = isa_target_info(t)->sm_warps;
    if (threads)
        fprintf(stderr, ", %u of %u warps in blocks of %u", warps, most, (unsigned)threads);
    else
        fprintf(stderr, ", registers for %u of %u warps", warps, most);
}

static bool compile(Settings *settings, const PtxModule *m) {
    Compilation c;
    DriverOptions opt = cli_driver_options(settings);
    bool mir = strcmp(settings->emit, "mir") == 0;
    bool good = driver_compile(&c, m, &opt, &settings->diags);
    if (good && mir)
        good = write_mir(settings, &c);
    else if (good && !c.image)
        good = true; /* stopped before there is a file */
    else if (good && strcmp(settings->emit, "asm") == 0)
        good = write_asm(settings, &c);
    else if (good)
        good = write_out(settings, output_name(settings, "cubin"), c.image, c.image_bytes);
    if (good && settings->verbose)
        report_table(&c, stderr);
    if (good && settings->verbose && c.code)
        for (uint32_t i = 0; i < c.code->nfuncs; i++) {
            const CodeFunc *f = &c.code->funcs[i];
            bool recursive = f->stack_bytes == UINT32_MAX;
            fprintf(stderr,
                    "%s: %u instructions, %u registers, %u bytes stack%s, %u bytes shared, %u barriers",
                    str_text(&c.strings, f->name), f->ninsts, f->nregs,
                    recursive ? f->frame_bytes : f->stack_bytes, recursive ? " a call, recursive" : "",
                    f->shared_bytes, f->nbarriers);
            if (f->is_entry)
                write_occupancy(c.code->ir->target, f);
            fputc('\n', stderr);
        }
    driver_free(&c);
    return good;
}

/* ---- --keep-going ---- */

/* Only what function `root` needs keeps its body; bodies[] says which have one. */
static void keep_needed(PtxModule *m, uint32_t root, const bool *bodies, Arena *arena) {
    bool *vars = ARENA_ARRAY(arena, bool, m->nvars + 1), *funcs = ARENA_ARRAY(arena, bool, m->nfuncs + 1);
    ptx_mark_reached(m, root, true, vars, funcs);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        m->funcs[i].has_body = bodies[i] && funcs[i];
}

static void say_nothing(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static bool compiles(Settings *settings, const PtxModule *m, Diags *diags) {
    Compilation c;
    DriverOptions opt = cli_driver_options(settings);
    bool good = driver_compile(&c, m, &opt, diags);
    driver_free(&c);
    return good;
}

/* Take the bodies of what does not compile, each kernel and visible function tried alone with what it needs.
 */
static void drop_bad(Settings *settings, PtxModule *m) {
    bool *bodies = ARENA_ARRAY(&settings->arena, bool, m->nfuncs + 1);
    bool *good = ARENA_ARRAY(&settings->arena, bool, m->nfuncs + 1);
    for (uint32_t i = 0; i < m->nfuncs; i++)
        bodies[i] = m->funcs[i].has_body;
    for (uint32_t root = 0; root < m->nfuncs; root++) {
        Diags quiet = {.sink = say_nothing};
        if (!bodies[root] || (!m->funcs[root].is_entry && m->funcs[root].linkage == LINK_NONE))
            continue;
        keep_needed(m, root, bodies, &settings->arena);
        if (!compiles(settings, m, &quiet))
            continue;
        for (uint32_t i = 0; i < m->nfuncs; i++)
            good[i] |= m->funcs[i].has_body;
    }
    for (uint32_t i = 0; i < m->nfuncs; i++)
        m->funcs[i].has_body = good[i];
}

/* Compile what can be; true: all of it. */
static bool compile_most(Settings *settings, PtxModule *m) {
    bool *bodies = ARENA_ARRAY(&settings->arena, bool, m->nfuncs + 1), whole = true, any = false;
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        bodies[i] = m->funcs[i].has_body || m->funcs[i].broken;
        settings->no_ptx |= m->funcs[i].broken; /* a text that is no PTX cannot be read again */
    }
    if (!compiles(settings, m, &settings->diags))
        drop_bad(settings, m);
    for (uint32_t i = 0; i < m->nfuncs; i++) {
        any |= m->funcs[i].has_body;
        if (bodies[i] && !m->funcs[i].has_body) {
            whole = false;
            diag(&settings->diags, (SrcLoc){0}, DIAG_W0009, str_text(&m->strings, m->funcs[i].name));
        }
    }
    return (any || whole) && compile(settings, m) && whole;
}

static bool write_object(Settings *settings, const PtxModule *m) {
    void *image = NULL;
    size_t size = 0;
    bool good = elf_object_write(m, settings->target ? settings->target : isa_targets[0], &image, &size,
                                 &settings->diags) &&
                write_out(settings, output_name(settings, "o"), image, size);
    mem_free(image);
    return good;
}

int cmd_compile(Settings *settings) {
    PtxModule *m = cli_read_ptx(settings, settings->inputs[0]);
    if (!m)
        return STATUS_INPUT;
    bool good = settings->object                     ? write_object(settings, m)
                : strcmp(settings->emit, "ptx") == 0 ? write_ptx(settings, m)
                : settings->keep_going               ? compile_most(settings, m)
                                                     : compile(settings, m);
    ptx_free(m);
    return good ? STATUS_DONE : STATUS_INPUT;
}

int cmd_link(Settings *settings) {
    PtxModule *m = cli_read_modules(settings, settings->ninputs);
    if (m && settings->ninputs == 1)
        m = ptx_link(&m, 1, &settings->diags); /* so that what is missing has a name */
    bool good = m && compile(settings, m);
    if (m)
        ptx_free(m);
    return good ? STATUS_DONE : STATUS_INPUT;
}

int cmd_asm(Settings *settings) {
    Source source = {.name = settings->inputs[0]};
    char *text;
    void *image;
    size_t size;
    if (!file_read(&settings->arena, settings->inputs[0], &settings->diags, &text, &source.size_bytes))
        return STATUS_INPUT;
    source.text = text;
    if (!asm_assemble(&source, &image, &size, &settings->diags))
        return STATUS_INPUT;
    bool good = write_out(settings, output_name(settings, "cubin"), image, size);
    mem_free(image);
    return good ? STATUS_DONE : STATUS_INPUT;
}

int cmd_disasm(Settings *settings) {
    const char *path = settings->inputs[0], *kernel = settings->launch.kernel;
    char *data, *text;
    size_t size, text_size;
    if (!file_read(&settings->arena, path, &settings->diags, &data, &size))
        return STATUS_INPUT;
    bool good = kernel ? disasm_function(path, data, size, kernel, settings->json, &text, &text_size,
                                         &settings->diags)
                       : disasm_image(path, data, size, settings->json, &text, &text_size, &settings->diags);
    if (!good)
        return STATUS_INPUT;
    good = write_out(settings, settings->output ? settings->output : "-", text, text_size);
    mem_free(text);
    return good ? STATUS_DONE : STATUS_INPUT;
}
