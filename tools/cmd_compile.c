/* heddle compile, asm, disasm: one file in, one file out.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "emit/text/asm.h"
#include "emit/elf/object.h"
#include "frontend/link.h"
#include "tools/cli.h"
#include "tools/report.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* K.ptx -> K.cubin beside the present directory, as other compilers do. */
static const char *output_name(Settings *s, const char *ending) {
    if (s->output)
        return s->output;
    const char *slash = strrchr(s->inputs[0], '/'), *base = slash ? slash + 1 : s->inputs[0];
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    return arena_printf(&s->arena, "%.*s.%s", (int)n, base, ending);
}

/* Nobody wants the source replaced by what was made from it. */
static bool write_out(Settings *s, const char *name, const void *data, size_t size_bytes) {
    struct stat in, out;
    if (strcmp(name, "-") != 0 && stat(s->inputs[0], &in) == 0 && stat(name, &out) == 0 &&
        S_ISREG(out.st_mode) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return diag(&s->diags, (SrcLoc){0}, DIAG_E0002, name, "it is the input file");
    return file_write(name, data, size_bytes, &s->diags);
}

static bool write_mir(Settings *s, const Compilation *c) {
    size_t size = 0;
    char *text = ir_print(c->ir, &size);
    bool good = text && write_out(s, s->output ? s->output : "-", text, size);
    free(text);
    return good;
}

static bool write_asm(Settings *s, const Compilation *c) {
    char *text;
    size_t size;
    if (!disasm_image(s->inputs[0], c->image, c->image_bytes, false, &text, &size, &s->diags))
        return false;
    char *noted = NULL;
    size_t noted_size = 0;
    bool good = report_annotate(c, text, size, &noted, &noted_size) &&
                write_out(s, s->output ? s->output : "-", noted, noted_size);
    free(noted);
    free(text);
    return good;
}

static bool write_ptx(Settings *s, const PtxModule *m) {
    char *text;
    size_t size;
    if (!ptx_print(m, &text, &size))
        return diag(&s->diags, (SrcLoc){0}, DIAG_E0412, s->inputs[0], "the module cannot be printed");
    bool good = write_out(s, s->output ? s->output : "-", text, size);
    free(text);
    return good;
}

static bool compile(Settings *s, const PtxModule *m) {
    Compilation c;
    DriverOptions opt = cli_driver_options(s);
    bool mir = strcmp(s->emit, "mir") == 0;
    bool good = driver_compile(&c, m, &opt, &s->diags);
    if (good && mir)
        good = write_mir(s, &c);
    else if (good && !c.image)
        good = true; /* stopped before there is a file */
    else if (good && strcmp(s->emit, "asm") == 0)
        good = write_asm(s, &c);
    else if (good)
        good = write_out(s, output_name(s, "cubin"), c.image, c.image_bytes);
    if (good && s->verbose)
        report_table(&c, stderr);
    if (good && s->verbose && c.code)
        for (uint32_t i = 0; i < c.code->nfuncs; i++) {
            const CodeFunc *f = &c.code->funcs[i];
            bool recursive = f->stack_bytes == UINT32_MAX;
            fprintf(stderr,
                    "%s: %u instructions, %u registers, %u bytes stack%s, %u bytes shared, %u barriers\n",
                    str_text(&c.strings, f->name), f->ninsts, f->nregs,
                    recursive ? f->frame_bytes : f->stack_bytes, recursive ? " a call, recursive" : "",
                    f->shared_bytes, f->nbarriers);
        }
    driver_free(&c);
    return good;
}

static bool write_object(Settings *s, const PtxModule *m) {
    void *image = NULL;
    size_t size = 0;
    bool good = object_write(m, s->target ? s->target : isa_targets[0], &image, &size, &s->diags) &&
                write_out(s, output_name(s, "o"), image, size);
    free(image);
    return good;
}

int cmd_compile(Settings *s) {
    PtxModule *m = cli_read_ptx(s, s->inputs[0]);
    if (!m)
        return STATUS_INPUT;
    bool good = s->object                     ? write_object(s, m)
                : strcmp(s->emit, "ptx") == 0 ? write_ptx(s, m)
                                              : compile(s, m);
    ptx_free(m);
    return good ? STATUS_DONE : STATUS_INPUT;
}

int cmd_link(Settings *s) {
    PtxModule *m = cli_read_modules(s, s->ninputs);
    if (m && s->ninputs == 1)
        m = ptx_link(&m, 1, &s->diags); /* so that what is missing has a name */
    bool good = m && compile(s, m);
    if (m)
        ptx_free(m);
    return good ? STATUS_DONE : STATUS_INPUT;
}

int cmd_asm(Settings *s) {
    Source source = {.name = s->inputs[0]};
    char *text;
    void *image;
    size_t size;
    if (!file_read(&s->arena, s->inputs[0], &s->diags, &text, &source.size_bytes))
        return STATUS_INPUT;
    source.text = text;
    if (!assemble(&source, &image, &size, &s->diags))
        return STATUS_INPUT;
    bool good = write_out(s, output_name(s, "cubin"), image, size);
    free(image);
    return good ? STATUS_DONE : STATUS_INPUT;
}

int cmd_disasm(Settings *s) {
    char *data, *text;
    size_t size, text_size;
    if (!file_read(&s->arena, s->inputs[0], &s->diags, &data, &size) ||
        !disasm_image(s->inputs[0], data, size, s->json, &text, &text_size, &s->diags))
        return STATUS_INPUT;
    bool good = write_out(s, s->output ? s->output : "-", text, text_size);
    free(text);
    return good ? STATUS_DONE : STATUS_INPUT;
}
