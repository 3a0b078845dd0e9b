/* Facts of code for the records of its file: see facts.h. The rules are those that ptxas 13.0's files keep
 * without exception: a function's register count is its highest register plus one plus the machine's
 * reserved ones, EXIT_INSTR_OFFSETS lists every EXIT, CRS_STACK_SIZE stands where there is a BSSY,
 * CTAIDZ_USED (before sm_90) where %ctaid.z is read, NUM_BARRIERS is the highest named barrier plus one.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/facts.h"
#include "emit/elf/nvinfo.h"
#include <stdlib.h>
#include <string.h>

enum { STACK_POINTER = 1, MOST_REGISTERS = 255 };

/* ---- gathering ---- */
static void note_operand(CodeFacts *facts, Operand o) {
    if (o.kind != OPK_REG || o.file != RF_R || o.value == REG_RZ)
        return;
    uint32_t count = o.value + (o.count ? o.count : 1);
    if (o.mods & OPM_WIDE64 && o.count < 2)
        count = o.value + 2;
    if (count > facts->nregs)
        facts->nregs = count;
}

static bool is_stack_pointer(Operand o) {
    return o.kind == OPK_REG && o.file == RF_R && o.value == STACK_POINTER;
}

/* R1 = R1 - constant */
static void note_frame(CodeFacts *facts, const MachInst *in) {
    if (!in->ndst || !in->nsrc || !is_stack_pointer(in->dst[0]) || !is_stack_pointer(in->src[0]))
        return;
    for (unsigned i = 1; i < in->nsrc; i++) {
        uint32_t down = 0 - in->src[i].value;
        if (in->src[i].kind == OPK_IMM && (int32_t)in->src[i].value < 0 && down > facts->frame_bytes)
            facts->frame_bytes = down;
    }
}

/* The decoded form, because it has every operand's size. */
void elf_facts_add(Arena *a, const Target *target, const uint64_t word[2], uint32_t pc_bytes,
                   CodeFacts *facts) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    if (!isa_decode(target, word, &in, error))
        return;
    for (unsigned i = 0; i < in.ndst; i++)
        note_operand(facts, in.dst[i]);
    int z = isa_sreg_number(target, "ctaid.z");
    for (unsigned i = 0; i < in.nsrc; i++) {
        note_operand(facts, in.src[i]);
        facts->uses_ctaid_z |= in.src[i].kind == OPK_SREG && (int)in.src[i].value == z;
    }
    facts->uses_bssy |= in.optype == OT_BSSY;
    facts->uses_call |= in.optype == OT_CALL;
    note_frame(facts, &in);
    if (in.optype == OT_EXIT)
        VEC_ADD(a, &facts->exits, pc_bytes);
    if (isa_has_effect(in.optype, ISA_EFFECT_CTA_BARRIER)) { /* a number in a register may be any of the 16 */
        Operand id = in.src[0];
        uint32_t used = id.kind == OPK_REG && id.value != REG_RZ ? 16
                        : id.kind == OPK_IMM                     ? (id.value & 15) + 1
                                                                 : 1;
        facts->nbarriers = used > facts->nbarriers ? used : facts->nbarriers;
    }
}

/* ---- records ---- */
typedef struct {
    Arena *a;
    ElfImage *e;
    const Target *target;
    uint32_t text;
    const char *name;
    FactsChange *change;
    FactsRecords *records;
} Follower;

/* The section's bytes, to be changed. */
static uint8_t *writable(Follower *f, ElfSection *section) {
    if (!section->own)
        section->data = arena_copy(f->a, section->data, section->h.sh_size);
    section->own = f->change->changed = true;
    return (uint8_t *)(uintptr_t)section->data;
}

/* The section that is the function which symbol `index` names; 0 if it names none, or one within a section.
 */
static uint32_t function_of_symbol(const ElfImage *image, uint32_t symtab, uint32_t index) {
    const ElfSection *table = symtab < image->sections.n ? &image->sections.at[symtab] : NULL;
    if (!table || table->h.sh_type != SHT_SYMTAB || !table->data ||
        index >= table->h.sh_size / sizeof(Elf64_Sym))
        return 0;
    const uint8_t *p = table->data + (size_t)index * sizeof(Elf64_Sym);
    return ELF64_ST_TYPE(p[4]) == STT_FUNC && get_u64(p + 8) == 0 ? get_u16(p + 6) : 0;
}

static int record_order(const void *x, const void *y) {
    const FactsRecord *a = x, *b = y;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Where the value of the module's record `code` of the function is, the first of several; NULL if it has
 * none.
 */
static ElfSection *module_record(const Follower *f, unsigned code, uint32_t *at) {
    uint32_t index = elf_image_find(f->e, ".nv.info"),
             symtab = elf_image_symbols(f->e, f->e->sections.at[f->text].h.sh_link);
    ElfSection *section = index ? &f->e->sections.at[index] : NULL;
    FactsRecords *records = f->records;
    size_t pos = 0;
    NvAttr attr;
    if (!section || !section->data)
        return NULL;
    if (records->symtab != symtab) {
        records->n = 0;
        while (elf_nvinfo_next(section->data, section->h.sh_size, &pos, &attr)) {
            uint32_t text = attr.format == NVF_SIZED && attr.size_bytes == 8
                                ? function_of_symbol(f->e, symtab, get_u32(attr.data))
                                : 0;
            if (text)
                VEC_ADD(f->a, records,
                        ((FactsRecord){text, attr.code, (uint32_t)(attr.data - section->data) + 4}));
        }
        records->symtab = symtab;
        if (records->n)
            qsort(records->at, records->n, sizeof *records->at, record_order);
    }
    FactsRecord key = {f->text, code, 0};
    uint32_t lo = 0, hi = records->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (record_order(&records->at[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == records->n || records->at[lo].text != f->text || records->at[lo].code != code)
        return NULL;
    *at = records->at[lo].at;
    return section;
}

static ElfSection *own_records(const Follower *f) {
    uint32_t index = elf_image_find(f->e, arena_printf(f->a, ".nv.info.%s", f->name));
    return index && f->e->sections.at[index].h.sh_type == SHT_NV_INFO ? &f->e->sections.at[index] : NULL;
}

static bool own_record(const ElfSection *section, unsigned code, NvAttr *attr) {
    size_t pos = 0;
    while (section && section->data && elf_nvinfo_next(section->data, section->h.sh_size, &pos, attr))
        if (attr->code == code)
            return true;
    return false;
}

/* Replace `old_bytes` bytes at `at` by those of `b`. */
static void splice(Follower *f, ElfSection *section, size_t at, size_t old_bytes, const Bytes *b) {
    Bytes all = {0};
    if (section->data)
        elf_bytes_add(f->a, &all, section->data, at);
    elf_bytes_add(f->a, &all, b->at, b->n);
    if (section->data)
        elf_bytes_add(f->a, &all, section->data + at + old_bytes, section->h.sh_size - at - old_bytes);
    section->data = all.at;
    section->h.sh_size = all.n;
    section->own = f->change->changed = true;
}

static bool fail(Follower *f, const char *why) {
    f->change->why = why;
    return false;
}

/* ---- registers ---- */
static bool follow_registers(Follower *f, uint32_t needed) {
    uint32_t at;
    ElfSection *text = &f->e->sections.at[f->text], *records = module_record(f, NV_REGCOUNT, &at);
    uint32_t in_header = f->e->h.e_machine == EM_NV_CUDA ? text->h.sh_info >> 24 : 0;
    uint32_t stated = records ? get_u32(records->data + at) : in_header;
    NvAttr most;
    if (stated >= needed || !stated)
        return true;
    if (needed > MOST_REGISTERS)
        return fail(f, arena_printf(f->a, "%u registers, of which the machine keeps %u: there are %u", needed,
                                    isa_target_info(f->target)->reserved_regs, MOST_REGISTERS));
    if (own_record(own_records(f), NV_MAXREG_COUNT, &most) && most.value && needed > most.value)
        return fail(f, arena_printf(f->a, "%u registers, its MAXREG_COUNT is %u", needed, most.value));
    if (records)
        put_u32(writable(f, records) + at, needed);
    if (in_header) {
        text->h.sh_info = (text->h.sh_info & 0xffffff) | needed << 24;
        f->change->changed = true;
    }
    f->change->more_registers = needed;
    return true;
}

/* ---- stack ---- */
static void add_stack(Follower *f, uint32_t more_bytes) {
    static const unsigned depths[] = {NV_MIN_STACK_SIZE, NV_MAX_STACK_SIZE};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t at;
        ElfSection *records = module_record(f, depths[i], &at);
        if (records && get_u32(records->data + at) <= UINT32_MAX - more_bytes)
            put_u32(writable(f, records) + at, get_u32(records->data + at) + more_bytes);
    }
}

static void follow_frame(Follower *f, uint32_t frame_bytes) {
    uint32_t at;
    ElfSection *records = module_record(f, NV_FRAME_SIZE, &at);
    uint32_t stated = records ? get_u32(records->data + at) : frame_bytes;
    if (stated >= frame_bytes)
        return;
    put_u32(writable(f, records) + at, frame_bytes);
    add_stack(f, frame_bytes - stated);
    f->change->more_stack_bytes = frame_bytes - stated;
}

/* ---- records of the function's own section ---- */
static bool follow_barriers(Follower *f, uint32_t needed) {
    ElfSection *text = &f->e->sections.at[f->text], *records = own_records(f);
    bool native = f->e->h.e_machine == EM_NV_CUDA;
    NvAttr attr;
    uint32_t most = isa_target_info(f->target)->num_cta_barriers;
    if (needed > most)
        return fail(f, arena_printf(f->a, "%u named barriers, the machine has %u", needed, most));
    if (native && f->e->h.e_ident[EI_OSABI] == ELF_OLD_OSABI) {
        if ((text->h.sh_flags >> 20 & 0x7f) < needed) {
            text->h.sh_flags = (text->h.sh_flags & ~((uint64_t)0x7f << 20)) | (uint64_t)needed << 20;
            f->change->changed = true;
        }
    } else if (own_record(records, NV_NUM_BARRIERS, &attr)) {
        if ((attr.value & 0xff) < needed)
            writable(f, records)[attr.offset + 2] = (uint8_t)needed;
    } else if (records && needed) {
        Bytes b = {0};
        elf_nvinfo_value(f->a, &b, NVF_BYTE, NV_NUM_BARRIERS, needed);
        splice(f, records, records->h.sh_size, 0, &b);
    }
    return true;
}

static bool same_words(const NvAttr *attr, const uint32_t *words, uint32_t n) {
    if (attr->size_bytes != 4 * n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (get_u32(attr->data + 4 * i) != words[i])
            return false;
    return true;
}

static bool follow_exits(Follower *f, const CodeFacts *facts) {
    ElfSection *records = own_records(f);
    NvAttr attr;
    Bytes b = {0};
    bool has = own_record(records, NV_EXIT_INSTR_OFFSETS, &attr);
    if (!records || (!has && !facts->exits.n) ||
        (has && attr.format == NVF_SIZED && same_words(&attr, facts->exits.at, facts->exits.n)))
        return true;
    if (facts->exits.n > 0xffff / 4)
        return fail(f, "more EXIT instructions than an attribute record lists");
    elf_nvinfo_words(f->a, &b, NV_EXIT_INSTR_OFFSETS, facts->exits.at, facts->exits.n);
    splice(f, records, has ? attr.offset : records->h.sh_size, has ? 4u + attr.size_bytes : 0, &b);
    return true;
}

static void follow_uses(Follower *f, const CodeFacts *facts) {
    ElfSection *records = own_records(f);
    NvAttr attr;
    if (!records)
        return;
    if (facts->uses_ctaid_z && isa_target_info(f->target)->elf_form != ElfForm_SM90 &&
        !own_record(records, NV_CTAIDZ_USED, &attr)) {
        Bytes b = {0};
        elf_nvinfo_value(f->a, &b, NVF_NONE, NV_CTAIDZ_USED, 0);
        splice(f, records, records->h.sh_size, 0, &b);
    }
    if (facts->uses_bssy && !own_record(records, NV_CRS_STACK_SIZE, &attr)) {
        Bytes b = {0};
        elf_nvinfo_words(f->a, &b, NV_CRS_STACK_SIZE, &(uint32_t){0}, 1);
        splice(f, records, records->h.sh_size, 0, &b);
    }
}

static Follower follower(Arena *a, ElfImage *image, const Target *target, uint32_t text, FactsChange *change,
                         FactsRecords *records) {
    *change = (FactsChange){0};
    return (Follower){a,      image,  target, text, image->sections.at[text].name + strlen(".text."),
                      change, records};
}

bool elf_facts_follow(Arena *a, ElfImage *image, const Target *target, uint32_t text, const CodeFacts *facts,
                      FactsRecords *records, FactsChange *change) {
    Follower f = follower(a, image, target, text, change, records);
    if (!follow_registers(&f, facts->nregs + isa_target_info(target)->reserved_regs) ||
        !follow_barriers(&f, facts->nbarriers) || !follow_exits(&f, facts))
        return false;
    follow_frame(&f, facts->frame_bytes);
    follow_uses(&f, facts);
    return true;
}

bool elf_facts_raise(Arena *a, ElfImage *image, const Target *target, uint32_t text,
                     const FactsChange *callee, FactsRecords *records, FactsChange *change) {
    Follower f = follower(a, image, target, text, change, records);
    if (callee->more_registers && !follow_registers(&f, callee->more_registers))
        return false;
    if (callee->more_stack_bytes)
        add_stack(&f, callee->more_stack_bytes);
    return true;
}
