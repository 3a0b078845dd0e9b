/* heddle compile, asm, disasm: one file in, one file out.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/scope.h"
#include "emit/text/asm.h"
#include "emit/elf/container.h"
#include "emit/elf/image.h"
#include "emit/elf/object.h"
#include "frontend/link.h"
#include "isa/machine/occupancy.h"
#include "tools/cli/cli.h"
#include "tools/jobs/report.h"
#include "tools/commands/written.h"
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
    if (!file_write(name, data, size_bytes, &settings->diags))
        return false;
    cli_written_file(settings, name);
    return true;
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

static bool write_ptx(Settings *settings, const PtxModule *module) {
    char *text;
    size_t size;
    if (!ptx_print(module, &text, &size))
        return diag(&settings->diags, (SrcLoc){0}, DIAG_E0412, settings->inputs[0],
                    "the module cannot be printed");
    bool good = write_out(settings, settings->output ? settings->output : "-", text, size);
    mem_free(text);
    return good;
}

/* Blocks of the size that the kernel declares, if it does. */
static void write_occupancy(const Target *target, const CodeFunc *f) {
    const PtxFunc *ptx = f->ir ? f->ir->ptx : NULL;
    const uint32_t *block = ptx && ptx->reqntid[0] ? ptx->reqntid : ptx ? ptx->maxntid : NULL;
    uint64_t threads = block ? (uint64_t)block[0] * (block[1] ? block[1] : 1) * (block[2] ? block[2] : 1) : 0;
    uint32_t warps = occupancy_warps(target, f->nregs, f->shared_bytes, (uint32_t)threads);
    uint32_t most = isa_target_info(target)->sm_warps;
    if (threads)
        fprintf(stderr, ", %u of %u warps in blocks of %u", warps, most, (unsigned)threads);
    else
        fprintf(stderr, ", registers for %u of %u warps", warps, most);
}

static bool compile(Settings *settings, const PtxModule *module) {
    Compilation c;
    DriverOptions opt = cli_driver_options(settings);
    bool mir = strcmp(settings->emit, "mir") == 0;
    opt.elf.relocatable = settings->object;
    bool good = driver_compile(&c, module, &opt, &settings->diags);
    if (good && mir)
        good = write_mir(settings, &c);
    else if (good && !c.image)
        good = true; /* stopped before there is a file */
    else if (good && strcmp(settings->emit, "asm") == 0)
        good = write_asm(settings, &c);
    else if (good)
        good = write_out(settings, output_name(settings, settings->object ? "o" : "cubin"), c.image,
                         c.image_bytes);
    if (good)
        cli_written_image(settings, c.image, c.image_bytes);
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

/* --keep-going: compile what can be; true: all of it. */
static bool compile_most(Settings *settings, PtxModule *module) {
    CliNames left = {0};
    bool code = false;
    for (uint32_t i = 0; i < module->nfuncs; i++)
        code |= module->funcs[i].has_body || module->funcs[i].broken;
    if (!code)
        return compile(settings, module);
    Binary *most = cli_compile_most(settings, module, settings->inputs[0], &left);
    bool written = most && compile(settings, module);
    binary_free(most);
    return written && !left.n;
}

/* Of NVIDIA's machines, code that nvlink takes, and the text with it; of others the text. */
static bool write_object(Settings *settings, const PtxModule *module) {
    const Target *target = settings->target ? settings->target : isa_targets[0];
    if (isa_target_info(target)->elf_form != ElfForm_BRU1)
        return compile(settings, module);
    void *image = NULL;
    size_t size = 0;
    bool good = elf_object_write(module, target, &image, &size, &settings->diags) &&
                write_out(settings, output_name(settings, "o"), image, size);
    mem_free(image);
    return good;
}

int cmd_compile(Settings *settings) {
    cli_written_begin(settings);
    PtxModule *module = cli_read_ptx(settings, settings->inputs[0]);
    if (!module)
        return cli_written_end(settings, false);
    bool good = settings->object                     ? write_object(settings, module)
                : strcmp(settings->emit, "ptx") == 0 ? write_ptx(settings, module)
                : settings->keep_going               ? compile_most(settings, module)
                                                     : compile(settings, module);
    ptx_free(module);
    return cli_written_end(settings, good);
}

int cmd_link(Settings *settings) {
    cli_written_begin(settings);
    PtxModule *module = cli_read_modules(settings, settings->ninputs);
    if (module && settings->ninputs == 1)
        module = ptx_link(&module, 1, &settings->diags); /* so that what is missing has a name */
    bool good = module && compile(settings, module);
    if (module)
        ptx_free(module);
    return cli_written_end(settings, good);
}

static bool assemble(Settings *settings) {
    Source source = {.name = settings->inputs[0]};
    char *text;
    void *image;
    size_t size;
    if (!file_read(&settings->arena, settings->inputs[0], &settings->diags, &text, &source.size_bytes))
        return false;
    source.text = text;
    if (!asm_assemble_for(&source, settings->target, &image, &size, &settings->diags))
        return false;
    bool good = write_out(settings, output_name(settings, "cubin"), image, size);
    if (good)
        cli_written_image(settings, image, size);
    mem_free(image);
    return good;
}

int cmd_asm(Settings *settings) {
    cli_written_begin(settings);
    return cli_written_end(settings, assemble(settings));
}

/* All programs of a container for people; one of them in the forms that are of one file. */
static bool disasm_container(Settings *settings, const char *path, const DisasmOptions *options,
                             const Container *container, FILE *out) {
    bool any = false, good = true;
    for (uint32_t i = 0; good && i < container->items.n; i++) {
        const ContainerItem *item = &container->items.at[i];
        const Target *target = item->is_ptx ? NULL : elf_file_target(item->data, item->size_bytes);
        if (settings->target && target != settings->target)
            continue;
        fprintf(out, "%s// %s: %s for sm_%u%s\n", any ? "\n" : "", item->name, item->is_ptx ? "PTX" : "ELF",
                item->sm, target || item->is_ptx ? "" : ", a machine that is not known here");
        any = true;
        char *text;
        size_t text_size;
        if (!target)
            continue;
        good = disasm_with(item->name, item->data, item->size_bytes, options, &text, &text_size,
                           &settings->diags);
        if (good) {
            fwrite(text, 1, text_size, out);
            mem_free(text);
        }
    }
    return any ? good : cli_reject_container(settings, path, container);
}

static bool holds_programs(Settings *settings, const char *path, Container *container) {
    char *data;
    size_t size;
    return file_read(&settings->arena, path, &settings->diags, &data, &size) &&
           elf_container_is(data, size) &&
           elf_container_open(&settings->arena, path, data, size, container, &settings->diags);
}

int cmd_disasm(Settings *settings) {
    const char *path = settings->inputs[0];
    DisasmOptions options = settings->disasm;
    Container container;
    char *data, *text = NULL;
    size_t size, text_size = 0;
    options.kernel = settings->launch.kernel;
    options.json = settings->json;
    options.code_only |= settings->object; /* -c */
    if (settings->whole_file)
        options.form = DISASM_SECTIONS;
    else if (options.form != DISASM_GRAPH)
        options.form = DISASM_LISTING;
    if (settings->whole_file && options.kernel) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0502, "--sections is of the whole file, not of a kernel");
        return STATUS_INPUT;
    }
    bool one = options.kernel || options.json || options.form != DISASM_LISTING, good;
    if (one ? !cli_read_program(settings, path, false, &data, &size)
            : !file_read(&settings->arena, path, &settings->diags, &data, &size))
        return STATUS_INPUT;
    if (!one && elf_container_is(data, size)) {
        TextStream *stream = text_open();
        good = elf_container_open(&settings->arena, path, data, size, &container, &settings->diags) &&
               disasm_container(settings, path, &options, &container, stream->out);
        text = text_close(stream, &text_size);
    } else if (one && !cli_is_elf(data, size) && holds_programs(settings, path, &container))
        good = cli_reject_container(settings, path, &container); /* what is left of it is PTX */
    else
        good = disasm_with(path, data, size, &options, &text, &text_size, &settings->diags);
    good = good && write_out(settings, settings->output ? settings->output : "-", text, text_size);
    mem_free(text);
    return good ? STATUS_DONE : STATUS_INPUT;
}
