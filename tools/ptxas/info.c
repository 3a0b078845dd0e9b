/* -v, and warnings of the code that was made. Sizes are read off the file that is written.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/image.h"
#include "emit/elf/texture.h"
#include "frontend/named.h"
#include "isa/machine/banks.h"
#include "tools/ptxas/ptxas.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct {
    Arena *arena;
    const ElfImage *image;
    const Compilation *compilation;
    const PtxModule *module; /* that it is of */
    const char *arch;
    double milliseconds;  /* that all of it took */
    bool is_object;       /* of -c */
    bool shows_constants; /* of sm_90 and later ptxas shows no constant memory */
} Info;

static const ElfSection *section(const Info *info, const char *prefix, const char *name) {
    uint32_t at = elf_image_find(info->image, arena_printf(info->arena, "%s%s", prefix, name));
    return at ? &info->image->sections.at[at] : NULL;
}

static uint64_t size_of(const Info *info, const char *prefix, const char *name) {
    const ElfSection *found = section(info, prefix, name);
    return found ? found->h.sh_size : 0;
}

static void item(uint64_t n, const char *what) {
    if (n)
        fprintf(stderr, ", %" PRIu64 " %s", n, what);
}

/* Textures and surfaces whose handles the loader puts into the kernel's constant bank. */
static void count_handles(const Info *info, const char *kernel, uint64_t *textures, uint64_t *surfaces) {
    const ElfSection *rel = section(info, ".rel.nv.constant0.", kernel);
    for (uint64_t at = 0; rel && at + sizeof(Elf64_Rel) <= rel->h.sh_size; at += sizeof(Elf64_Rel))
        ++*(ELF64_R_TYPE(get_u64(rel->data + at + 8)) == RELOC_NV_SURFACE ? surfaces : textures);
}

static void print_use(const Info *info, const CodeFunc *f, const char *name) {
    const TargetInfo *target = isa_target_info(info->compilation->ir->target);
    uint64_t textures = 0, surfaces = 0, shared = size_of(info, ".nv.shared.", name);
    fprintf(stderr, "ptxas info    : Used %u registers, used %u barriers", f->nregs, f->nbarriers);
    if (f->stack_bytes != UINT32_MAX)
        item(f->stack_bytes, "bytes cumulative stack size");
    item(shared && !info->is_object ? shared - target->shared_base_bytes : shared, "bytes smem");
    if (info->shows_constants) {
        item(size_of(info, ".nv.constant0.", name), "bytes cmem[0]");
        item(size_of(info, ".nv.constant2.", name), "bytes cmem[2]");
    }
    count_handles(info, name, &textures, &surfaces);
    item(textures, "textures");
    item(surfaces, "surfaces");
    fputc('\n', stderr);
}

/* NULL: there is no code for it. */
static const CodeFunc *code_of(const CodeModule *code, const PtxFunc *ptx) {
    for (uint32_t k = 0; k < code->nfuncs; k++)
        if (code->funcs[k].ir && code->funcs[k].ir->ptx == ptx)
            return &code->funcs[k];
    return NULL;
}

static void print_properties(const CodeFunc *f, const char *name) {
    ptxas_info("Function properties for %s", name);
    fprintf(stderr, "    %u bytes stack frame, %u bytes spill stores, %u bytes spill loads\n", f->frame_bytes,
            f->ir->spill_store_bytes, f->ir->spill_load_bytes);
}

static void print_time(const Info *info) {
    ptxas_info("Compile time = %.3f ms", info->milliseconds / info->compilation->code->nfuncs);
}

static void print_kernel(const Info *info, const CodeFunc *f) {
    const char *name = str_text(&info->compilation->strings, f->name);
    ptxas_info("Compiling entry function '%s' for '%s'", name, info->arch);
    print_properties(f, name);
    print_use(info, f, name);
    print_time(info);
}

/* Of a whole program each kernel, and behind it the functions that it reaches. */
static void print_program(const Info *info) {
    const PtxModule *module = info->module;
    for (uint32_t k = module->nfuncs; k-- > 0;) {
        const CodeFunc *f = code_of(info->compilation->code, &module->funcs[k]);
        if (!f || !f->is_entry)
            continue;
        print_kernel(info, f);
        bool *vars = ARENA_ARRAY(info->arena, bool, module->nvars + 1),
             *reached = ARENA_ARRAY(info->arena, bool, module->nfuncs + 1);
        ptx_mark_reached(module, k, true, vars, reached);
        for (uint32_t n = 0; n < module->nfuncs; n++) {
            const CodeFunc *called = code_of(info->compilation->code, &module->funcs[n]);
            if (called && !called->is_entry && reached[n])
                print_properties(called, str_text(&info->compilation->strings, called->name));
        }
    }
}

/* Of an object each function, behind those that it calls: the last call first. */
static void print_object(const Info *info, uint32_t index, bool *done) {
    const PtxFunc *ptx = &info->module->funcs[index];
    if (done[index])
        return;
    done[index] = true;
    for (uint32_t i = ptx->ninsns; i-- > 0;)
        if (ptx->insns[i].callee)
            print_object(info, ptx->insns[i].callee - 1, done);
    const CodeFunc *f = code_of(info->compilation->code, ptx);
    if (f && f->is_entry) {
        print_kernel(info, f);
    } else if (f) {
        print_properties(f, str_text(&info->compilation->strings, f->name));
        print_time(info);
    }
}

static void print_all(const Info *info) {
    bool *done = ARENA_ARRAY(info->arena, bool, info->module->nfuncs + 1);
    if (!info->is_object)
        print_program(info);
    for (uint32_t k = info->module->nfuncs; info->is_object && k-- > 0;)
        print_object(info, k, done);
}

void ptxas_print_info(const Compilation *compilation, const PtxModule *module, const char *arch,
                      double milliseconds) {
    Arena arena = {0};
    Diags quiet = {0};
    const TargetInfo *target = isa_target_info(compilation->ir->target);
    Info info = {.arena = &arena,
                 .image = elf_image_read(&arena, compilation->image, compilation->image_bytes, &quiet),
                 .compilation = compilation,
                 .module = module,
                 .arch = arch,
                 .milliseconds = milliseconds,
                 .is_object = compilation->ir->relocatable,
                 .shows_constants = target->elf_form != ElfForm_SM90};
    if (info.image) {
        fprintf(stderr, "ptxas info    : %" PRIu64 " bytes gmem",
                size_of(&info, ".nv.global.init", "") + size_of(&info, ".nv.global", ""));
        if (info.shows_constants)
            item(size_of(&info, ".nv.constant3", ""), "bytes cmem[3]");
        fputc('\n', stderr);
        print_all(&info);
    }
    arena_free(&arena);
}

void ptxas_warn_of_code(const Compilation *compilation, const PtxModule *module, const Options *options,
                        Messages *messages) {
    for (uint32_t k = 0; k < module->nfuncs; k++) {
        const CodeFunc *f = code_of(compilation->code, &module->funcs[k]);
        if (!f)
            continue;
        const char *name = str_text(&compilation->strings, f->name);
        if (options->value[OPT_WARN_LOCAL] && f->frame_bytes)
            ptxas_warning(messages, "Local memory used for function '%s', size of stack frame: %u bytes",
                          name, f->frame_bytes);
        if (options->value[OPT_WARN_SPILLS] && f->ir->spill_bytes)
            ptxas_warning(
                messages,
                "Registers are spilled to local memory in function '%s', %u bytes spill stores, %u bytes "
                "spill loads",
                name, f->ir->spill_store_bytes, f->ir->spill_load_bytes);
    }
}
