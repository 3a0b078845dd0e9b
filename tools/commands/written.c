/* --json of compile, link and asm: see written.h. SPDX-License-Identifier: MIT */
#include "tools/commands/written.h"
#include "base/json.h"
#include "emit/elf/binary.h"
#include "isa/machine/occupancy.h"

struct Written {
    cJSON *report, *messages;
    void *user; /* of the sink */
    DiagSink *sink;
};

static void print_message(void *user, Severity severity, const char *line) {
    const Written *written = user;
    written->sink(written->user, severity, line);
}

static void keep_message(void *user, const DiagRecord *record) {
    const Written *written = user;
    DiagInfo info = diag_info(record->code);
    cJSON *message = json_object();
    json_append(written->messages, message);
    json_add_text(message, "severity", info.severity);
    json_add_text(message, "code", info.name);
    json_add_text(message, "text", record->text);
    if (record->source)
        json_add_text(message, "file", record->source->name);
    if (record->line) {
        json_add_number(message, "line", record->line);
        json_add_number(message, "column", record->column);
    }
    if (record->place.function)
        json_add_text(message, "function", record->place.function);
    if (record->place.section)
        json_add_text(message, "section", record->place.section);
}

void cli_written_begin(Settings *settings) {
    if (!settings->json)
        return;
    Written *written = settings->written = ARENA_NEW(&settings->arena, Written);
    written->report = json_object();
    written->sink = settings->diags.sink;
    written->user = settings->diags.user;
    settings->diags.sink = print_message;
    settings->diags.record = keep_message;
    settings->diags.user = written;
    written->messages = json_add_list(written->report, "messages");
}

void cli_written_file(Settings *settings, const char *name) {
    if (settings->written)
        json_add_text(settings->written->report, "file", name);
}

/* Warps of a multiprocessor in blocks of the size that the kernel declares, or as its registers allow. */
static void add_occupancy(cJSON *function, const Target *target, const BinFunc *f) {
    const uint32_t *block = f->reqntid[0] ? f->reqntid : f->maxntid;
    uint64_t threads = (uint64_t)block[0] * (block[1] ? block[1] : 1) * (block[2] ? block[2] : 1);
    json_add_number(function, "warps", occupancy_warps(target, f->nregs, f->shared_bytes, (uint32_t)threads));
    json_add_number(function, "sm_warps", isa_target_info(target)->sm_warps);
}

static void add_functions(cJSON *report, const Binary *binary) {
    cJSON *functions = json_add_list(report, "functions");
    for (uint32_t i = 0; i < binary->nfuncs; i++) {
        const BinFunc *f = &binary->funcs[i];
        cJSON *function = json_object();
        json_append(functions, function);
        json_add_text(function, "name", f->name);
        json_add_bool(function, "kernel", f->is_entry);
        json_add_number(function, "instructions", f->ninsts);
        json_add_number(function, "registers", f->nregs);
        json_add_number(function, "frame_bytes", f->frame_bytes);
        json_add_number(function, "stack_bytes", f->stack_bytes);
        json_add_number(function, "shared_bytes", f->shared_bytes);
        json_add_number(function, "barriers", f->nbarriers);
        if (f->is_entry)
            add_occupancy(function, binary->target, f);
    }
}

void cli_written_image(Settings *settings, const void *image, size_t size_bytes) {
    Diags quiet = {0};
    if (!settings->written || !image)
        return;
    Binary *binary = binary_read_any("", image, size_bytes, &quiet);
    if (binary) {
        json_add_text(settings->written->report, "target", isa_target_name(binary->target));
        add_functions(settings->written->report, binary);
    }
    binary_free(binary);
}

int cli_written_end(Settings *settings, bool good) {
    const Written *written = settings->written;
    if (written) {
        settings->diags.sink = written->sink;
        settings->diags.record = NULL;
        settings->diags.user = written->user;
        settings->written = NULL;
        cli_print_json(written->report);
    }
    return good ? STATUS_DONE : STATUS_INPUT;
}
