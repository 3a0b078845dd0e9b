/* heddle learn --forms: PTX that has each spelling of each form of ptx_forms.def, for a compiler whose code
 * is to be learned. What programs do not use nobody learns from them: of matrix products and atomics each
 * program has one or two. A kernel is one line, so that those that the compiler refuses can be taken out by
 * the line that it names. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/scope.h"
#include "check/fuzz/form_kernel.h"
#include "tools/commands/learn_options.h"
#include <string.h>

enum { MODULE_KERNELS = 16 }; /* so many are lost where one makes the compiler crash */

typedef struct {
    Settings *settings;
    TextStream *module; /* NULL: none is begun */
    unsigned nkernels, nmodules;
    bool good;
} FormWriter;

static void end_module(FormWriter *writer) {
    Settings *settings = writer->settings;
    size_t size;
    char *text = text_close(writer->module, &size);
    const char *path =
        arena_printf(&settings->arena, "%s/%04u.ptx", settings->learn.forms_dir, writer->nmodules++);
    writer->module = NULL;
    writer->good = writer->good && file_write(path, text, size, &settings->diags);
    mem_free(text);
}

static void write_form(void *user, const char *opcode) {
    static const FormUse variants[] = {
        {.guarded = false},
        {.guarded = true, .optional = true, .offset_bytes = 16},
        {.optional = true, .parameters = FORM_SECOND_SOURCE, .offset_bytes = -16},
        {.parameters = FORM_FIRST_SOURCE},
    };
    FormWriter *writer = user;
    for (unsigned i = 0; i < sizeof variants / sizeof *variants && writer->good; i++) {
        FormUse use = variants[i];
        snprintf(use.opcode, sizeof use.opcode, "%s", opcode);
        char *kernel = gen_form_kernel(&use, writer->nkernels);
        if (!kernel)
            continue;
        if (!writer->module) {
            writer->module = text_open();
            gen_form_head(writer->module->out, writer->settings->learn.arch);
        }
        fputs(kernel, writer->module->out);
        mem_free(kernel);
        if (++writer->nkernels % MODULE_KERNELS == 0)
            end_module(writer);
    }
}

int cli_write_forms(Settings *settings) {
    FormWriter writer = {.settings = settings, .good = true};
    const char *folder = settings->learn.forms_dir;
    if (!file_make_folder(folder, &settings->diags))
        return STATUS_INPUT;
    for (unsigned form = 1; form < form_count(); form++)
        gen_form_spellings(form, write_form, &writer);
    if (writer.module)
        end_module(&writer);
    if (writer.good)
        printf("%u kernels in %u modules\n", writer.nkernels, writer.nmodules);
    return writer.good ? STATUS_DONE : STATUS_INPUT;
}
