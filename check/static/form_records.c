/* Records and relocations of a file (M-06): each has the form that ptxas gives it, and names what is there.
 * SPDX-License-Identifier: MIT */
#include "check/static/form.h"
#include "emit/elf/nvinfo.h"
#include <stdlib.h>
#include <string.h>

/* ---- records ---- */
typedef struct {
    uint32_t symbol, code, value;
} RecordOf;

static int record_order(const void *a, const void *b) {
    const RecordOf *x = a, *y = b;
    if (x->symbol != y->symbol)
        return x->symbol < y->symbol ? -1 : 1;
    return (x->code > y->code) - (x->code < y->code);
}

/* Each function has one of REGCOUNT and of FRAME_SIZE, a kernel one of MIN_STACK_SIZE, or the same twice
 * (12.4). */
static void module_records(FileForm *file, const ElfSection *section) {
    enum { REGISTERS = 1, FRAME = 2, STACK = 4 };
    VEC(RecordOf) records = {0};
    uint8_t *has = ARENA_ARRAY(&file->checker->a, uint8_t, file->image->sections.n);
    NvAttr record;
    for (size_t pos = 0; elf_nvinfo_next(section->data, section->h.sh_size, &pos, &record);) {
        if (!elf_nvinfo_has_form(&record, NVP_MODULE)) {
            check_form_differs(file, NULL, "a record 0x%02x of the module has not its form", record.code);
        } else if (record.format == NVF_SIZED && record.size_bytes >= 4) {
            uint32_t index = get_u32(record.data);
            FormSymbol symbol = check_form_symbol(file, index);
            if (ELF64_ST_TYPE(symbol.info) != STT_FUNC)
                check_form_differs(file, NULL, "a record %s is of symbol %u, which is no function",
                                   elf_nvinfo_name(record.code), index);
            else if (*check_form_named_function(file, &symbol))
                has[symbol.section] |= record.code == NV_REGCOUNT         ? REGISTERS
                                       : record.code == NV_FRAME_SIZE     ? FRAME
                                       : record.code == NV_MIN_STACK_SIZE ? STACK
                                                                          : 0;
            VEC_ADD(&file->checker->a, &records,
                    ((RecordOf){index, record.code, record.size_bytes < 8 ? 0 : get_u32(record.data + 4)}));
        }
    }
    if (records.n)
        qsort(records.at, records.n, sizeof *records.at, record_order);
    for (uint32_t k = 1; k < records.n; k++)
        if (record_order(&records.at[k - 1], &records.at[k]) == 0 &&
            !(records.at[k].code == NV_MIN_STACK_SIZE && records.at[k].value == records.at[k - 1].value))
            check_form_differs(file, NULL, "two records %s are of %s", elf_nvinfo_name(records.at[k].code),
                               check_form_symbol(file, records.at[k].symbol).name);
    for (uint32_t i = 1; i < file->image->sections.n; i++) {
        const char *name = check_form_code_name(file, i);
        const BinFunc *func = *name ? binary_find(file->binary, name) : NULL;
        uint8_t needed = func && func->is_entry && !file->binary->is_object ? REGISTERS | FRAME | STACK
                                                                            : REGISTERS | FRAME;
        if (func && (has[i] & needed) != needed)
            check_form_differs(file, name, "the file lacks a record of registers, frame or stack of %s",
                               name);
    }
}

static bool is_list_of_places(unsigned code) {
    return code == NV_COOP_GROUP_INSTR_OFFSETS || code == NV_INT_WARP_WIDE_INSTR_OFFSETS ||
           code == NV_SYSCALL_OFFSETS || code == NV_EXIT_INSTR_OFFSETS;
}

/* What a function's own records name is there. */
static void record_targets(FileForm *file, const ElfSection *section, const char *func, uint32_t code_bytes) {
    NvAttr record;
    for (size_t pos = 0; elf_nvinfo_next(section->data, section->h.sh_size, &pos, &record);) {
        for (uint32_t k = 0; is_list_of_places(record.code) && k + 4 <= record.size_bytes; k += 4)
            if (get_u32(record.data + k) % INST_BYTES || get_u32(record.data + k) >= code_bytes)
                check_form_differs(file, func, "a place in %s is outside the code",
                                   elf_nvinfo_name(record.code));
        for (uint32_t k = 0; record.code == NV_EXTERNS && k + 4 <= record.size_bytes; k += 4)
            if (check_form_symbol(file, get_u32(record.data + k)).section != SHN_UNDEF ||
                get_u32(record.data + k) == 0 || get_u32(record.data + k) >= check_form_symbols(file))
                check_form_differs(file, func,
                                   "EIATTR_EXTERNS has a symbol that is none that the file lacks");
        if (record.code == NV_PARAM_CBANK && record.size_bytes >= 4) {
            FormSymbol symbol = check_form_symbol(file, get_u32(record.data));
            const char *bank = check_form_section_name(file, symbol.section);
            if (ELF64_ST_TYPE(symbol.info) != STT_SECTION || strncmp(bank, ".nv.constant0.", 14) != 0 ||
                strcmp(bank + 14, func) != 0)
                check_form_differs(file, func,
                                   "EIATTR_PARAM_CBANK names another section than .nv.constant0.%s", func);
        }
    }
}

/* Of toolkits before, it is otherwise (e_version of the old form). */
enum {
    SINCE_ALL_MASKS = 123,    /* a mask for each place of a collective */
    SINCE_SW_WAR = 124,       /* that record in files for sm_90 */
    SINCE_NO_CRS_STACK = 125, /* a CRS_STACK_SIZE of 0 in functions that call themselves, too */
};

static bool is_form_since(const FileForm *file, uint32_t toolkit) {
    return file->image->h.e_ident[EI_OSABI] != ELF_OLD_OSABI || file->image->h.e_version >= toolkit;
}

/* The alignment and the space of what a pointer of `.ptr` points to, and what stands above them. */
static bool is_parameter(uint32_t shape) {
    enum { SHAPE = 0x3ffff, PARAMETER = 0x1f, ABOVE = 12, GENERIC = 5, MOST_ALIGN = 31, POINTER_BYTES = 8 };
    uint32_t align = shape & 0xff, space = shape >> 8 & 0xf, size = shape >> 18;
    return (shape & SHAPE) >> ABOVE == PARAMETER && space <= GENERIC && align <= MOST_ALIGN &&
           (space ? size == POINTER_BYTES || size == POINTER_BYTES / 2 : !align);
}

/* Words that are the same in all of ptxas's files for a target. */
static bool has_value(const FileForm *file, const NvAttr *record) {
    enum { OF_HANDLE = 0x700, HANDLE = 0x1f000 };
    const TargetInfo *info = isa_target_info(file->binary->target);
    switch (record->code) {
    case NV_KPARAM_INFO: { /* a .texref or .surfref, which has no size, has its symbol in the first word */
        uint32_t shape = get_u32(record->data + 8);
        return get_u32(record->data) ? (shape & ~(uint32_t)OF_HANDLE) == HANDLE : is_parameter(shape);
    }
    case NV_SW_WAR: return get_u32(record->data) == info->elf_sw_war;
    case NV_SW2861232_WAR: return info->elf_sw2861232_war && !record->value;
    case NV_CRS_STACK_SIZE: /* all ones: nvlink's, of one that calls recursive functions */
        return !get_u32(record->data) || get_u32(record->data) == UINT32_MAX ||
               !is_form_since(file, SINCE_NO_CRS_STACK);
    case NV_CTAIDZ_USED: return !record->value;
    default: return true;
    }
}

static void function_records(FileForm *file, const ElfSection *section, const char *name) {
    const BinFunc *func = binary_find(file->binary, name);
    uint32_t count[0x100] = {0}, listed[0x100] = {0};
    const TargetInfo *info = isa_target_info(file->binary->target);
    bool bssy = false, exits = false;
    NvAttr record;
    if (!func)
        return;
    for (size_t pos = 0; elf_nvinfo_next(section->data, section->h.sh_size, &pos, &record);) {
        if (!elf_nvinfo_has_form(&record, NVP_FUNCTION) || !has_value(file, &record))
            check_form_differs(file, name, "a record 0x%02x of %s has not its form", record.code, name);
        bool many = record.code == NV_KPARAM_INFO || record.code == NV_KPARAM_INFO_V2 ||
                    record.code == NV_INDIRECT_BRANCH_TARGETS;
        if (count[record.code]++ && !many)
            check_form_differs(file, name, "two records 0x%02x are of %s", record.code, name);
        listed[record.code] += record.size_bytes;
    }
    record_targets(file, section, name, func->ninsts * INST_BYTES);
    const BinFuncFlow *flow = &file->checker->flow->funcs[func - file->binary->funcs];
    for (uint32_t i = flow->first_inst; i < flow->first_inst + flow->ninsts; i++) {
        bssy |= file->checker->flow->decoded[i] && file->checker->flow->insts[i].optype == OT_BSSY;
        exits |= file->checker->flow->decoded[i] && file->checker->flow->insts[i].optype == OT_EXIT;
    }
    if (listed[NV_COOP_GROUP_INSTR_OFFSETS] != listed[NV_COOP_GROUP_MASK_REGIDS] &&
        is_form_since(file, SINCE_ALL_MASKS))
        check_form_differs(file, name, "%s has not as many masks as places of collectives", name);
    if ((func->nparams && (!count[NV_PARAM_CBANK] || !count[NV_CBANK_PARAM_SIZE])) ||
        (info->elf_sw_war && !count[NV_SW_WAR] && is_form_since(file, SINCE_SW_WAR)) ||
        (info->elf_sw2861232_war && !count[NV_SW2861232_WAR]) ||
        (func->is_entry && exits && !count[NV_EXIT_INSTR_OFFSETS]) || (bssy && !count[NV_CRS_STACK_SIZE]))
        check_form_differs(file, name,
                           "the file lacks a record of parameters, exits, BSSY or the target of %s", name);
}

void check_form_records(FileForm *file) {
    const ElfImage *image = file->image;
    uint32_t module = elf_image_find(image, ".nv.info");
    if (!module)
        check_form_differs(file, NULL, "the file has no section .nv.info");
    for (uint32_t i = 1; i < image->sections.n; i++) {
        const ElfSection *section = &image->sections.at[i];
        if (i == module && section->data)
            module_records(file, section);
        else if (strncmp(section->name, ".nv.info.", 9) == 0 && section->data)
            function_records(file, section, section->name + 9);
    }
    for (uint32_t i = 1; i < image->sections.n; i++) {
        const char *name = check_form_code_name(file, i);
        if (*name && !elf_image_find(image, arena_printf(&file->checker->a, ".nv.info.%s", name)))
            check_form_differs(file, name, "the file has no records of %s", name);
    }
}

/* ---- relocations ---- */
typedef struct {
    uint64_t offset;
    uint32_t type;
} RelocPlace;

static int reloc_order(const void *a, const void *b) {
    const RelocPlace *x = a, *y = b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1)
                                  : (x->type > y->type) - (x->type < y->type);
}

/* Of a relocation without an addend of its own that changes code, the field is the addend, and 0 in ptxas's
 * programs; in its objects places in variables of shared memory have one. */
static bool field_is_empty(const ElfSection *code, uint64_t offset) {
    return offset + 8 > code->h.sh_size || !get_u32(code->data + offset + 4);
}

static void relocations_of(FileForm *file, const ElfSection *section) {
    const ElfSection *changed = &file->image->sections.at[section->h.sh_info];
    uint64_t each = section->h.sh_entsize, n = section->h.sh_size / each;
    RelocPlace *places = ARENA_ARRAY(&file->checker->a, RelocPlace, n + 1);
    const char *code = check_form_code_name(file, section->h.sh_info), *func = *code ? code : NULL;
    for (uint64_t k = 0; k < n; k++) {
        const uint8_t *entry = section->data + k * each;
        places[k] = (RelocPlace){get_u64(entry), get_u32(entry + 8)};
        if (func && !file->binary->is_object && section->h.sh_type == SHT_REL && changed->data &&
            !field_is_empty(changed, places[k].offset))
            check_form_differs(file, func, "the field at 0x%llx, which a relocation changes, is not empty",
                               (unsigned long long)places[k].offset);
    }
    if (n)
        qsort(places, n, sizeof *places, reloc_order);
    for (uint64_t k = 1; k < n && changed->h.sh_flags & SHF_ALLOC; k++)
        if (reloc_order(&places[k - 1], &places[k]) == 0)
            check_form_differs(file, func, "two relocations change 0x%llx of %s",
                               (unsigned long long)places[k].offset, changed->name);
}

/* What a launch writes before a kernel starts, its parameters too, is nothing in the file. */
static void launch_bank(FileForm *file, const ElfSection *section) {
    for (uint64_t k = 0; section->data && k < section->h.sh_size; k++)
        if (section->data[k]) {
            check_form_differs(file, section->name + strlen(".nv.constant0."), "byte 0x%llx of %s is not 0",
                               (unsigned long long)k, section->name);
            return;
        }
}

/* Pairs of functions; what is no number of one is a small negative one. Of an executable nobody links any
 * more the callees may have lost their names: ptxas 11.8 -g, with debugging sections or without, numbers them
 * as it does before it leaves symbols out, so that they are any symbol, or behind the last one. */
static void callgraph(FileForm *file, const ElfSection *section) {
    enum { MARKS = 16 };
    bool has_caller = false;
    for (uint64_t at = 0; section->data && at + 4 <= section->h.sh_size; at += 4) {
        uint32_t word = get_u32(section->data + at);
        bool is_mark = !word || 0u - word <= MARKS, is_callee = at % 8 != 0;
        if (!is_mark && ELF64_ST_TYPE(check_form_symbol(file, word).info) != STT_FUNC &&
            !(is_callee && has_caller && !file->binary->is_object))
            check_form_differs(file, NULL, "%s names symbol %u, which is no function", section->name, word);
        has_caller = !is_mark;
    }
}

void check_form_relocations(FileForm *file) {
    for (uint32_t i = 1; i < file->image->sections.n; i++) {
        const ElfSection *section = &file->image->sections.at[i];
        bool is_rel = section->h.sh_type == SHT_REL || section->h.sh_type == SHT_RELA;
        if (is_rel && section->data && section->h.sh_entsize && section->h.sh_info < file->image->sections.n)
            relocations_of(file, section);
        else if (strncmp(section->name, ".nv.constant0.", strlen(".nv.constant0.")) == 0)
            launch_bank(file, section);
        else if (section->h.sh_type == SHT_NV_CALLGRAPH)
            callgraph(file, section);
    }
}
