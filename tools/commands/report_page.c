/* heddle report --html: files of pages. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/scope.h"
#include "tools/commands/cmd_report.h"
#include "tools/jobs/page_job.h"
#include "tools/jobs/report.h"
#include <string.h>

static bool write_page(Settings *settings, const PageJob *job, uint32_t kernel, const char *path) {
    TextStream *stream = text_open();
    bool good = report_page_write(job, kernel, stream->out, &settings->diags);
    size_t size;
    char *text = text_close(stream, &size);
    good = good && file_write(path, text, size, &settings->diags);
    mem_free(text);
    return good;
}

/* DIR/kernel.html; what a file may not be called becomes '_', and a name that is changed or cut gets the
 * kernel's number. */
static const char *page_path(Settings *settings, const char *folder, const char *kernel, uint32_t number) {
    char *name = arena_printf(&settings->arena, "%.200s", kernel);
    for (char *c = name; *c; c++)
        if (*c == '/' || *c == '\\' || *c == ':' || (unsigned char)*c < 0x20)
            *c = '_';
    return strcmp(name, kernel) == 0 ? arena_printf(&settings->arena, "%s%s.html", folder, name)
                                     : arena_printf(&settings->arena, "%s%s-%u.html", folder, name, number);
}

bool report_pages(const ReportSubject *subject) {
    Settings *settings = subject->settings;
    const char *html = settings->report.html;
    bool folder = *html && html[strlen(html) - 1] == '/', good = true;
    uint32_t *kernels = ARENA_ARRAY(&settings->arena, uint32_t, subject->binary->nfuncs + 1), n;
    if (!report_kernels(subject, !folder, kernels, &n))
        return false;
    if ((settings->launch_file || settings->has_shape) && !cli_read_plan(settings))
        return false;
    if (folder && !file_make_folder(html, &settings->diags))
        return false;
    const char *slash = strrchr(settings->inputs[0], '/');
    PageJob job = {.sides = {figures_open(subject->binary)},
                   .other = subject->other != NULL,
                   .name = subject->of_file ? settings->inputs[0] : "Heddle",
                   .other_name = settings->against,
                   .ptx = subject->ptx,
                   .folder =
                       arena_printf(&settings->arena, "%.*s",
                                    slash ? (int)(slash + 1 - settings->inputs[0]) : 0, settings->inputs[0]),
                   .plan = &settings->plan,
                   .infer = settings->launch_auto,
                   .seed = settings->seed};
    if (subject->other)
        job.sides[1] = figures_open(subject->other);
    else if (subject->of_file && subject->ptx && !subject->decided)
        job.note = "Its PTX now compiles to other code: what was decided of branches is not known.";
    cJSON *decisions = subject->decided ? report_tree(&subject->compilation) : NULL;
    job.decisions = decisions;
    for (uint32_t k = 0; good && k < n; k++)
        good = write_page(
            settings, &job, kernels[k],
            folder ? page_path(settings, html, subject->binary->funcs[kernels[k]].name, kernels[k] + 1)
                   : html);
    if (decisions)
        json_drop(decisions);
    figures_close(&job.sides[0]);
    if (subject->other)
        figures_close(&job.sides[1]);
    return good;
}
