/* What ptxas refuses or warns of and Heddle's library takes. PTX ISA allows most of it (absolute addresses,
 * addresses in narrow registers, text that is not ASCII in comments), so `heddle compile` compiles it; who
 * tries a generator with heddle-ptxas must not hear from ptxas first. Statements whose
 * addresses must be wide are asked for by name: it follows from nothing that they do, so no column says it.
 * Source: what ptxas 13.0 prints for modules made for each. SPDX-License-Identifier: MIT */
#include "base/align.h"
#include "frontend/gates.h"
#include "isa/machine/system.h"
#include "tools/ptxas/ptxas.h"
#include <string.h>

enum {
    LEAST_REGS = 24, /* of .maxnreg */
    WARP_LANES = 32,
    CONST_BYTES = 0x10000,
    PARAM_BYTES = 0x7ffc /* of a kernel */
};

/* ---- bytes ---- */

bool ptxas_text_is_taken(Messages *messages, const char *text, size_t size_bytes) {
    uint32_t line = 1;
    for (size_t k = 0; k < size_bytes; k++) {
        unsigned char byte = (unsigned char)text[k];
        line += byte == '\n';
        if (byte && byte < 0x80)
            continue;
        ptxas_fatal(messages,
                    byte ? "Unexpected non-ASCII character encountered on line %u"
                         : "Unexpected EOF encountered on line %u",
                    line);
        ptxas_aborted();
        return false;
    }
    return true;
}

/* ---- addresses ---- */

static bool is_wide_space(PtxSpace space) { return space == SP_NONE || space == SP_GLOBAL; }

/* The space that an address is read in: the statement's, else the variable's. */
static PtxSpace space_of_operand(const PtxModule *module, const PtxInsn *insn, const PtxOperand *operand) {
    bool variable = operand->sym && !(operand->sym & PTX_SYM_FUNC);
    return insn->space == SP_NONE && variable ? module->vars[operand->sym - 1].space : (PtxSpace)insn->space;
}

/* Statements whose addresses ptxas wants as wide as pointers; matrices are loaded and stored at narrow ones.
 */
static bool wants_wide(PtxOp op) {
    switch (op) {
    case PTX_LD:
    case PTX_LDU:
    case PTX_ST:
    case PTX_ATOM:
    case PTX_RED:
    case PTX_PREFETCH:
    case PTX_PREFETCHU:
    case PTX_APPLYPRIORITY:
    case PTX_DISCARD:
    case PTX_MBARRIER: return true;
    default: return false;
    }
}

/* Bytes of the register that the operand takes an address in global memory from, or puts one into; 0: none.
 */
static unsigned address_bytes(const PtxModule *module, const PtxFunc *f, const PtxInsn *insn, unsigned n) {
    const PtxOperand *operand = &insn->operands[n];
    if (operand->kind == PO_ADDR && operand->reg)
        return wants_wide((PtxOp)insn->op) && is_wide_space(insn->space)
                   ? ptx_type_bytes(f->regs[operand->reg].type)
                   : 0;
    bool variable = operand->kind == PO_SYM && operand->sym && !(operand->sym & PTX_SYM_FUNC);
    if (insn->op != PTX_MOV || !variable || operand->imm ||
        !is_wide_space(space_of_operand(module, insn, operand)))
        return 0;
    return ptx_type_bytes(insn->type[0]);
}

static void check_widths(Messages *messages, const PtxModule *module, const char *arch) {
    bool narrow = false;
    for (uint32_t k = 0; k < module->nfuncs; k++) {
        const PtxFunc *f = &module->funcs[k];
        for (uint32_t i = 0; i < f->ninsns; i++)
            for (unsigned n = 0; n < f->insns[i].noperands; n++) {
                unsigned bytes = address_bytes(module, f, &f->insns[i], n);
                if (!bytes || bytes >= 8)
                    continue;
                ptxas_warning(
                    messages,
                    "Program uses %u-bit address on line '%u' which is conflicting with .address_size 64",
                    bytes * 8, ptx_line(module, &f->insns[i]));
                narrow |= bytes == 4;
            }
    }
    if (narrow)
        ptxas_fatal(messages, "%s", ptxas_no_32_bits(arch));
}

const char *ptxas_no_32_bits(const char *arch) {
    uint32_t sm;
    char variant;
    unsigned version;
    return gate_target(arch, &sm, &variant, &version) && sm >= 90
               ? " 32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher "
                 "architectures."
               : " 32-Bit compilation is no longer supported";
}

static void check_absolute(Messages *messages, const PtxModule *module, const PtxInsn *insn) {
    for (unsigned n = 0; n < insn->noperands; n++) {
        const PtxOperand *operand = &insn->operands[n];
        if (operand->kind != PO_ADDR || operand->reg || operand->sym || insn->space == SP_LOCAL)
            continue;
        ptxas_line_error(messages, module->source.name, ptx_line(module, insn),
                         "Immediate addresses allowed only for .local state space");
        return;
    }
}

/* ---- functions ---- */

/* Of a directive of the function, behind its name. */
static uint32_t line_of_directive(const PtxModule *module, const PtxFunc *f, const char *name) {
    const char *text = module->source.text, *at = text && f->loc.i ? strstr(text + f->loc.i - 1, name) : NULL;
    return ptx_loc_line(module, at ? (SrcLoc){(uint32_t)(at - text) + 1} : f->loc);
}

static void check_kernel(Messages *messages, const PtxModule *module, const PtxFunc *f) {
    const char *name = str_text(&module->strings, f->name), *file = module->source.name;
    const uint32_t last = ptxas_body_end(&module->source, f->loc);
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < f->nparams; k++) {
        const PtxVar *var = &module->vars[f->params[k]];
        bytes = var->param_offset_bytes + var->size_bytes > bytes ? var->param_offset_bytes + var->size_bytes
                                                                  : bytes;
    }
    if (bytes > PARAM_BYTES)
        ptxas_line_error(
            messages, file, last,
            arena_printf(messages->arena,
                         "Entry function '%s' uses too much parameter space (0x%llx bytes, 0x%x max).", name,
                         (unsigned long long)bytes, (unsigned)PARAM_BYTES));
    if (f->maxnctapersm)
        ptxas_line_error(messages, file, line_of_directive(module, f, ".maxnctapersm"),
                         "Deprecated feature: '.maxnctapersm directive' not supported as of PTX version 2.1");
    if ((f->minnctapersm || f->maxnctapersm) && !f->maxntid[0] && !f->reqntid[0])
        ptxas_line_warning(messages, file, last,
                           ".minnctapersm is ignored when neither .maxntid nor .reqntid is specified.");
}

static void check_debug(Messages *messages, const PtxModule *module) {
    if (strstr(str_text(&module->strings, module->target_text), "debug") && !module->nsections)
        ptxas_whole_error(messages, "Debug information not found in presence of .target debug");
}

static void check_statements(Messages *messages, const PtxModule *module) {
    bool failed = messages->failed;
    for (uint32_t k = 0; k < module->nfuncs; k++) {
        const PtxFunc *f = &module->funcs[k];
        for (uint32_t i = 0; i < f->ninsns; i++)
            check_absolute(messages, module, &f->insns[i]);
        if (f->is_entry && f->has_body)
            check_kernel(messages, module, f);
    }
    check_debug(messages, module);
    if (messages->failed && !failed)
        ptxas_aborted();
}

bool ptxas_module_is_taken(Messages *messages, const PtxModule *module, const char *arch) {
    static const char parses_only[] = "compute_";
    check_statements(messages, module);
    if (!messages->failed && strncmp(arch, parses_only, sizeof parses_only - 1) != 0)
        check_widths(messages, module, arch);
    return !messages->failed;
}

/* ---- the program: what is declared and nowhere defined, calls ---- */

static void check_constants(Messages *messages, const PtxModule *module) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < module->nvars; k++)
        if (module->vars[k].space == SP_CONST)
            bytes = align_up(bytes, module->vars[k].align_bytes) + module->vars[k].size_bytes;
    if (bytes > CONST_BYTES)
        ptxas_whole_error(messages, "File uses too much global constant data (0x%llx bytes, 0x%x max)",
                          (unsigned long long)bytes, (unsigned)CONST_BYTES);
}

static bool has_loc_only(const PtxModule *module) {
    bool loc = false;
    for (uint32_t k = 0; k < module->nfuncs; k++)
        loc |= module->funcs[k].nlines > 0;
    return loc && !module->nfiles;
}

/* ptxas passes and returns words; it takes .b8 and .b16 for parts of them, no other narrow type. */
static bool is_narrow(const PtxModule *module, const uint32_t *vars, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        const PtxVar *var = &module->vars[vars[k]];
        PtxTypeClass class = ptx_type_class((PtxType)var->type);
        if (!var->is_array && (var->type == TY_PRED || ((class == TC_UNSIGNED || class == TC_SIGNED) &&
                                                        ptx_type_bytes((PtxType)var->type) < 4)))
            return true;
    }
    return false;
}

static void check_calls(Messages *messages, const PtxModule *module, const PtxFunc *f) {
    for (uint32_t i = 0; i < f->ninsns && !messages->failed; i++) {
        const PtxInsn *insn = &f->insns[i];
        if (insn->op != PTX_CALL)
            continue;
        const PtxCallTable *table = insn->callee ? NULL : &f->call_tables[insn->table - 1];
        const PtxFunc *callee = insn->callee        ? &module->funcs[insn->callee - 1]
                                : table && table->n ? &module->funcs[table->funcs[0]]
                                                    : NULL;
        if (callee ? is_narrow(module, callee->params, callee->nparams)
                   : is_narrow(module, table->params, table->nparams))
            ptxas_fatal(messages,
                        "In ABI compilation, passing predicate, 8-bit and 16-bit parameters to device "
                        "functions is not supported");
        else if (callee ? is_narrow(module, callee->rets, callee->nrets)
                        : is_narrow(module, table->rets, table->nrets))
            ptxas_fatal(messages,
                        "In ABI compilation, returning predicate, 8-bit and 16-bit values from device "
                        "functions is not supported");
    }
}

bool ptxas_program_is_taken(Messages *messages, const PtxModule *module, bool relocatable) {
    if (has_loc_only(module))
        ptxas_warning(messages,
                      ".loc directive without .file directive is found, line information in generated "
                      "binary may not be complete");
    for (uint32_t k = 0; k < module->nfuncs; k++) {
        const PtxFunc *f = &module->funcs[k];
        const char *name = str_text(&module->strings, f->name);
        if (f->has_body || f->alias_of || f->linkage == LINK_EXTERN || system_find(name) != SYSTEM_COUNT)
            continue;
        ptxas_fatal(messages, "Unresolved extern function '%s'", name);
        return false;
    }
    for (uint32_t k = 0; k < module->nvars && !relocatable; k++) {
        const PtxVar *var = &module->vars[k];
        const char *name = str_text(&module->strings, var->name);
        bool external = var->linkage == LINK_EXTERN;
        if ((!external && !var->was_extern) || (external && var->unsized && var->space == SP_SHARED))
            continue;
        if (external && var->unsized)
            ptxas_fatal(messages, "Unresolved extern variable '%s'", name);
        else
            ptxas_warning(
                messages,
                "Unresolved extern variable '%s' in whole program compilation, ignoring extern qualifier",
                name);
    }
    for (uint32_t k = 0; k < module->nfuncs && !messages->failed; k++)
        check_calls(messages, module, &module->funcs[k]);
    if (!messages->failed)
        check_constants(messages, module);
    return !messages->failed;
}

/* What the parser said of the kernel's .maxnreg; NULL: nothing. */
static const char *said_of_bound(const Messages *messages, const char *kernel) {
    for (uint32_t k = 0; k < messages->bounded.n; k++)
        if (strcmp(messages->bounded.at[k].kernel, kernel) == 0)
            return messages->bounded.at[k].text;
    return NULL;
}

static void raise_maxnreg(Messages *messages, PtxFunc *f, const char *name) {
    const char *said = said_of_bound(messages, name);
    bool low = f->maxnreg && f->maxnreg < LEAST_REGS;
    if (said)
        ptxas_warning(messages, "%s", said);
    else if (low)
        ptxas_warning(messages, "For entry %s adjusting per thread register count of %u to lower bound of %d",
                      name, f->maxnreg, LEAST_REGS);
    if (low)
        f->maxnreg = LEAST_REGS;
}

/* Blocks that no multiprocessor of the target holds at once bound nothing. */
static void drop_minnctapersm(Messages *messages, PtxFunc *f, const char *name, const Target *target) {
    const TargetInfo *info = isa_target_info(target);
    const uint32_t *size = f->reqntid[0] ? f->reqntid : f->maxntid, /* -maxntid is below .reqntid */
        most = info->sm_warps * WARP_LANES;
    uint64_t threads = size[0];
    for (unsigned k = 1; k < 3; k++)
        threads *= size[k] ? size[k] : 1;
    if (threads && f->minnctapersm > info->sm_blocks) {
        ptxas_warning(messages,
                      "Value of minnctapersm for entry %s is out of range. minnctapersm will be ignored",
                      name);
        f->minnctapersm = 0;
    }
    bool block = threads > most;
    if (!block && threads * f->minnctapersm <= most)
        return;
    ptxas_warning(messages,
                  "Value of threads per SM for entry %s is out of range. .minnctapersm %swill be ignored",
                  name, block ? "and .maxntid " : "");
    f->minnctapersm = 0;
}

void ptxas_correct_bounds(Messages *messages, PtxModule *module, const Target *target) {
    for (uint32_t k = module->nfuncs; k-- > 0;) {
        PtxFunc *f = &module->funcs[k];
        const char *name = str_text(&module->strings, f->name);
        if (!f->is_entry || !f->has_body)
            continue;
        raise_maxnreg(messages, f, name);
        drop_minnctapersm(messages, f, name, target);
    }
}
