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
    bool is_object;          /* of -c */
    bool shows_constants;    /* of sm_90 and later ptxas shows no constant memory */
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

/* The functions among those in `wanted` (NULL: all), in the order of the PTX or backwards. */
static void print_functions(const Info *info, const bool *wanted, bool backwards) {
    const CodeModule *code = info->compilation->code;
    for (uint32_t n = 0; n < info->module->nfuncs; n++) {
        uint32_t at = backwards ? info->module->nfuncs - 1 - n : n;
        const CodeFunc *f = code_of(code, &info->module->funcs[at]);
        if (f && !f->is_entry && (!wanted || wanted[at]))
            print_properties(f, str_text(&info->compilation->strings, f->name));
    }
}

/* Of a whole program each kernel with the functions that it reaches. */
static void print_kernel(const Info *info, const CodeFunc *f, const char *arch, double milliseconds) {
    const char *name = str_text(&info->compilation->strings, f->name);
    ptxas_info("Compiling entry function '%s' for '%s'", name, arch);
    print_properties(f, name);
    print_use(info, f, name);
    ptxas_info("Compile time = %.3f ms", milliseconds / info->compilation->code->nfuncs);
    if (info->is_object)
        return;
    bool *vars = ARENA_ARRAY(info->arena, bool, info->module->nvars + 1),
         *reached = ARENA_ARRAY(info->arena, bool, info->module->nfuncs + 1);
    ptx_mark_reached(info->module, (uint32_t)(f->ir->ptx - info->module->funcs), true, vars, reached);
    print_functions(info, reached, false);
}

static void print_all(const Info *info, const char *arch, double milliseconds) {
    const CodeModule *code = info->compilation->code;
    if (info->is_object)
        print_functions(info, NULL, true);
    for (uint32_t k = info->module->nfuncs; k-- > 0;) {
        const CodeFunc *f = code_of(code, &info->module->funcs[k]);
        if (f && f->is_entry)
            print_kernel(info, f, arch, milliseconds);
    }
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
                 .is_object = compilation->ir->relocatable,
                 .shows_constants = target->elf_form != ElfForm_SM90};
    if (info.image) {
        fprintf(stderr, "ptxas info    : %" PRIu64 " bytes gmem",
                size_of(&info, ".nv.global.init", "") + size_of(&info, ".nv.global", ""));
        if (info.shows_constants)
            item(size_of(&info, ".nv.constant3", ""), "bytes cmem[3]");
        fputc('\n', stderr);
        print_all(&info, arch, milliseconds);
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
