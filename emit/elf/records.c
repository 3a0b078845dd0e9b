/* Attribute records: .nv.info of the module and of each function, as ptxas writes them (docs/elf.md).
 * SPDX-License-Identifier: MIT */
#include "emit/elf/nvinfo.h"
#include "frontend/param_layout.h"
#include "emit/elf/writer.h"
#include "frontend/ast.h"
#include "isa/machine/occupancy.h"

typedef struct {
    VEC(uint32_t) exits, system, coop, coop_masks;
} Sites;

/* Calls of the driver's functions, which the file does not define. */
static void find_system_calls(ElfWriter *writer, const CodeFunc *f, Sites *out) {
    for (uint32_t k = 0; k < f->relocs.n; k++) {
        const CodeReloc *reloc = &f->relocs.at[k];
        if ((reloc->kind == RELOC_CALL_REL || reloc->kind == RELOC_CALL_ABS) &&
            strmap_get(&writer->symbols, reloc->symbol) >= writer->first_extern)
            VEC_ADD(writer->a, &out->system, reloc->offset_bytes);
    }
}

static bool is_coop(unsigned op) {
    return isa_traits(op)->lanes == ISA_LANES_COLLECTIVE && op != OT_WARPSYNC;
}

static bool is_listed(unsigned op) { return op == OT_EXIT || is_coop(op); }

/* Offsets of the instructions that records list, found in the words as a loader would. */
static void find_nvinfo_sites(ElfWriter *writer, uint32_t index, Sites *out) {
    const CodeFunc *f = &writer->code->funcs[index];
    if (elf_is_native(writer) && !writer->opt->relocatable)
        find_system_calls(writer, f, out);
    for (uint32_t i = 0; i < f->ninsts; i++) {
        MachInst in;
        char error[ISA_ERROR_BYTES];
        if (!isa_may_be(writer->code->ir->target, f->words[i], is_listed) ||
            !isa_decode(writer->code->ir->target, f->words[i], &in, error))
            continue; /* data between instructions, from assembly text */
        uint32_t pc = i * INST_BYTES;
        if (in.optype == OT_EXIT)
            VEC_ADD(writer->a, &out->exits, pc);
        if (is_coop(in.optype)) {
            VEC_ADD(writer->a, &out->coop, pc);
            VEC_ADD(writer->a, &out->coop_masks, UINT32_MAX);
        }
    }
}

static uint32_t register_cap(const Target *t, const PtxFunc *func) {
    if (!func)
        return 0xff;
    uint64_t threads = (uint64_t)func->maxntid[0] * (func->maxntid[1] ? func->maxntid[1] : 1) *
                       (func->maxntid[2] ? func->maxntid[2] : 1);
    uint32_t cap = 0xff;
    if (threads && func->minnctapersm) {
        uint32_t share = occupancy_regs(t, threads * func->minnctapersm);
        cap = share < cap ? share : cap;
    }
    return func->maxnreg && func->maxnreg < cap ? func->maxnreg : cap;
}

/* Up to here ptxas 13.0 writes KPARAM_INFO, which has 14 bits for a size. */
enum { MOST_SMALL_PARAM_BYTES = 4352 };

/* Of a parameter: log2 of the alignment of what it points to, and the space in which that is; 0: it is no
 * pointer that says so. In the word of KPARAM_INFO_V2 they stand 16 bits higher, and 0x1f000 is not there.
 * For sm_90 ptxas 13.0 says GLOBAL for CONST; the launch does not depend on it. */
static uint32_t pointee_bits(const PtxVar *var) {
    enum { LOCAL = 1, SHARED, CONST, GLOBAL, GENERIC, SAMPLER, SURFACE, TEXTURE };
    if (!var || !var->is_pointer)
        return 0;
    if (var->pointee_type)
        return (uint32_t)(var->pointee_type == TY_TEXREF       ? TEXTURE
                          : var->pointee_type == TY_SAMPLERREF ? SAMPLER
                                                               : SURFACE)
               << 8;
    uint32_t align = var->pointee_align_bytes ? (uint32_t)__builtin_ctz(var->pointee_align_bytes) : 0;
    switch (var->pointee_space) {
    case SP_LOCAL: return LOCAL << 8 | align;
    case SP_SHARED: return SHARED << 8 | align;
    case SP_CONST: return CONST << 8 | align;
    case SP_GLOBAL: return GLOBAL << 8 | align;
    default: return GENERIC << 8 | align;
    }
}

static void param_records(ElfWriter *writer, Bytes *b, uint32_t index) {
    const CodeFunc *f = &writer->code->funcs[index];
    const PtxFunc *func = f->ir ? f->ir->ptx : NULL;
    if (!f->is_entry || !f->param_bytes)
        return;
    uint32_t cbank[2] = {writer->parts[index].const0_sym,
                         writer->target->param_base_bytes | f->param_bytes << 16};
    elf_nvinfo_words(writer->a, b, NV_PARAM_CBANK, cbank, 2);
    elf_nvinfo_value(writer->a, b, NVF_HALF, NV_CBANK_PARAM_SIZE, f->param_bytes);
    uint32_t n = func ? func->nparams : f->nparams;
    bool wide = f->param_bytes > MOST_SMALL_PARAM_BYTES; /* then sizes have a word for themselves */
    for (uint32_t i = n; i-- > 0;) {
        const PtxVar *var = func ? &writer->code->ir->ptx->vars[func->params[i]] : NULL;
        uint32_t offset = var ? (uint32_t)ptx_param_offset(writer->code->ir->ptx, func, var,
                                                           writer->target->param_base_bytes)
                              : f->params[i].offset_bytes;
        uint32_t size = var ? (uint32_t)var->size_bytes : f->params[i].size_bytes;
        uint32_t pointee = pointee_bits(var);
        uint32_t words[3] = {0, i | offset << 16,
                             wide ? size | pointee << 16 : pointee | 0x1f000u | size << 18};
        elf_nvinfo_words(writer->a, b, wide ? NV_KPARAM_INFO_V2 : NV_KPARAM_INFO, words, 3);
    }
}

/* Where ptxas 13.0 has them. */
static void cluster_records(ElfWriter *writer, Bytes *b, const PtxFunc *func) {
    const uint32_t *needs = func->reqnctapercluster;
    if (func->maxclusterrank)
        elf_nvinfo_words(writer->a, b, NV_MAX_CLUSTER_RANK, &func->maxclusterrank, 1);
    if (func->explicit_cluster)
        elf_nvinfo_value(writer->a, b, NVF_NONE, NV_EXPLICIT_CLUSTER, 0);
    if (needs[0])
        elf_nvinfo_words(writer->a, b, NV_CTA_PER_CLUSTER,
                         (uint32_t[]){needs[0], needs[1] ? needs[1] : 1, needs[2] ? needs[2] : 1}, 3);
}

static void bound_records(ElfWriter *writer, Bytes *b, const PtxFunc *func) {
    if (func && func->maxntid[0]) {
        uint32_t n[3] = {func->maxntid[0], func->maxntid[1] ? func->maxntid[1] : 1,
                         func->maxntid[2] ? func->maxntid[2] : 1};
        elf_nvinfo_words(writer->a, b, NV_MAX_THREADS, n, 3);
    }
    if (func && func->reqntid[0]) {
        uint32_t n[3] = {func->reqntid[0], func->reqntid[1] ? func->reqntid[1] : 1,
                         func->reqntid[2] ? func->reqntid[2] : 1};
        elf_nvinfo_words(writer->a, b, NV_REQNTID, n, 3);
    }
}

/* {BRX, 0, entries, targets...} for each; the size of a record has 16 bits. */
static void branch_records(ElfWriter *writer, Bytes *b, const CodeFunc *f) {
    enum { MAX_WORDS = 0xffff / 4 };
    VEC(uint32_t) words = {0};
    for (unsigned k = 0; k < f->tables.n; k++) {
        const CodeTable *table = &f->tables.at[k];
        if (words.n + 3 + table->n > MAX_WORDS) {
            elf_nvinfo_words(writer->a, b, NV_INDIRECT_BRANCH_TARGETS, words.at, words.n);
            words.n = 0;
        }
        VEC_ADD(writer->a, &words, table->pc_bytes);
        VEC_ADD(writer->a, &words, 0);
        VEC_ADD(writer->a, &words, table->n);
        for (uint32_t e = 0; e < table->n; e++)
            VEC_ADD(writer->a, &words, table->targets[e]);
    }
    if (words.n)
        elf_nvinfo_words(writer->a, b, NV_INDIRECT_BRANCH_TARGETS, words.at, words.n);
}

static void func_records(ElfWriter *writer, uint32_t index) {
    const CodeFunc *f = &writer->code->funcs[index];
    const PtxFunc *p = f->ir && f->is_entry ? f->ir->ptx : NULL;
    Bytes b = {0};
    Sites sites = {0};
    ElfSyms externs = {0};
    find_nvinfo_sites(writer, index, &sites);
    if (writer->target->elf_sw_war)
        elf_nvinfo_words(writer->a, &b, NV_SW_WAR, &writer->target->elf_sw_war, 1);
    if (elf_is_native(writer))
        elf_nvinfo_words(writer->a, &b, NV_CUDA_API_VERSION,
                         &(uint32_t){writer->old_form ? TOOLKIT_VERSION : NEW_TOOLKIT_VERSION}, 1);
    if (writer->target->elf_sw2861232_war)
        elf_nvinfo_value(writer->a, &b, NVF_NONE, NV_SW2861232_WAR, 0);
    param_records(writer, &b, index);
    if (p)
        cluster_records(writer, &b, p);
    if (elf_since_sm_90(writer))
        elf_nvinfo_value(writer->a, &b, NVF_HALF, NV_SPARSE_MMA_MASK, 0);
    uint32_t cap = register_cap(writer->code->ir->target, p);
    if (cap < f->nregs) /* calls need their registers, whatever the program asks for */
        cap = f->nregs;
    elf_nvinfo_value(writer->a, &b, NVF_HALF, NV_MAXREG_COUNT, cap);
    elf_find_externs(writer, f, &externs);
    if (externs.n)
        elf_nvinfo_words(writer->a, &b, NV_EXTERNS, externs.at, externs.n);
    if (f->nbarriers && !writer->old_form)
        elf_nvinfo_value(writer->a, &b, NVF_BYTE, NV_NUM_BARRIERS, f->nbarriers);
    if (elf_is_native(writer) && !writer->old_form)
        elf_nvinfo_value(writer->a, &b, NVF_HALF, NV_ISA_VERSION, elf_since_sm_90(writer) ? 0x101 : 0);
    if (sites.system.n)
        elf_nvinfo_words(writer->a, &b, NV_SYSCALL_OFFSETS, sites.system.at, sites.system.n);
    if (sites.coop.n) {
        elf_nvinfo_words(writer->a, &b, NV_COOP_GROUP_MASK_REGIDS, sites.coop_masks.at, sites.coop_masks.n);
        elf_nvinfo_words(writer->a, &b, NV_COOP_GROUP_INSTR_OFFSETS, sites.coop.at, sites.coop.n);
    }
    if (sites.exits.n)
        elf_nvinfo_words(writer->a, &b, NV_EXIT_INSTR_OFFSETS, sites.exits.at, sites.exits.n);
    branch_records(writer, &b, f);
    if (f->uses_ctaid_z && !elf_since_sm_90(writer))
        elf_nvinfo_value(writer->a, &b, NVF_NONE, NV_CTAIDZ_USED, 0);
    bound_records(writer, &b, p);
    if (f->uses_bssy)
        elf_nvinfo_words(writer->a, &b, NV_CRS_STACK_SIZE, &(uint32_t){0}, 1);
    uint32_t section = writer->parts[index].info;
    elf_set_data(writer, section, b);
    elf_section_header(writer, section)->sh_link = SYMTAB;
    elf_section_header(writer, section)->sh_info = writer->parts[index].text;
}

void elf_write_records(ElfWriter *writer) {
    Bytes b = {0};
    for (uint32_t i = 0; i < writer->code->nfuncs; i++) {
        const CodeFunc *f = &writer->code->funcs[i];
        uint32_t sym = writer->parts[i].sym;
        bool recursive = f->stack_bytes == UINT32_MAX;
        elf_nvinfo_words(writer->a, &b, NV_REGCOUNT, (uint32_t[]){sym, f->nregs}, 2);
        if (writer->opt->relocatable) /* the linker adds frames up */
            elf_nvinfo_words(writer->a, &b, NV_MAX_STACK_SIZE, (uint32_t[]){sym, 0}, 2);
        else if (writer->old_form && f->is_entry && !recursive)
            elf_nvinfo_words(writer->a, &b, NV_MAX_STACK_SIZE, (uint32_t[]){sym, f->stack_bytes}, 2);
        elf_nvinfo_words(writer->a, &b, NV_FRAME_SIZE, (uint32_t[]){sym, f->frame_bytes}, 2);
        if (!writer->opt->relocatable)
            elf_nvinfo_words(writer->a, &b, NV_MIN_STACK_SIZE,
                             (uint32_t[]){sym, recursive ? f->frame_bytes : f->stack_bytes}, 2);
    }
    if (elf_is_native(writer) && !b.n) /* of a module without code: cuobjdump takes no empty section */
        elf_nvinfo_value(writer->a, &b, NVF_HALF, NV_ISA_VERSION, elf_since_sm_90(writer) ? 0x101 : 0);
    elf_set_data(writer, NV_INFO, b);
    elf_section_header(writer, NV_INFO)->sh_link = SYMTAB;
    for (uint32_t i = 0; i < writer->code->nfuncs; i++)
        func_records(writer, i);
}
