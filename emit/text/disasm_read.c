/* Disassembly for people: functions with what their records say, instructions with their source lines and
 * relocations; graphs of control flow for dot(1); live registers.
 * SPDX-License-Identifier: MIT */
#include "emit/text/disasm_flow.h"
#include "emit/elf/line_table.h"
#include "base/demangle.h"
#include <stdio.h>
#include <string.h>

/* ---- source lines ---- */
/* The line table: row k holds up to the next. */
typedef struct {
    Printer *printer;
    const ElfImage *image;
    uint32_t table;    /* section */
    SourceLine *lines; /* of each instruction of the code that the rows are of now */
    uint32_t ninsts;
    const char *files[256];
    bool here; /* the rows are of code */
    uint64_t start, last;
    SourceLine held;
} LineTable;

static void table_unit(void *user, uint64_t at, uint64_t size_bytes) {
    LineTable *table = user;
    (void)at;
    (void)size_bytes;
    memset(table->files, 0, sizeof table->files);
}

static void table_file(void *user, uint32_t number, const char *name) {
    LineTable *table = user;
    if (number < sizeof table->files / sizeof *table->files)
        table->files[number] = name;
}

/* What follows is of this section, if it is one of code. */
static void open_code(LineTable *table, uint32_t code) {
    const ElfImage *image = table->image;
    table->here = code < image->sections.n && disasm_is_code(&image->sections.at[code]);
    if (!table->here)
        return;
    table->ninsts = (uint32_t)(image->sections.at[code].h.sh_size / INST_BYTES);
    if (!table->printer->lines[code])
        table->printer->lines[code] = ARENA_ARRAY(table->printer->a, SourceLine, table->ninsts + 1);
    table->lines = table->printer->lines[code];
}

/* The section that the relocation at `at` of the line table leads to. */
static void table_start(void *user, uint64_t at, uint64_t value) {
    LineTable *table = user;
    const ElfImage *image = table->image;
    table->here = false;
    table->start = table->last = 0;
    table->held = (SourceLine){0};
    for (uint32_t i = table->printer->first_table[table->table]; i; i = table->printer->next_table[i]) {
        const ElfSection *section = &image->sections.at[i];
        bool rela = section->h.sh_type == SHT_RELA;
        uint64_t each = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        uint32_t link = elf_image_symbols(image, section->h.sh_link);
        const ElfSection *symbols = link < image->sections.n ? &image->sections.at[link] : NULL;
        if (!symbols || !symbols->data)
            continue;
        for (uint64_t k = 0; k + each <= section->h.sh_size; k += each) {
            uint64_t symbol = get_u32(section->data + k + 12);
            if (get_u64(section->data + k) != at || (symbol + 1) * sizeof(Elf64_Sym) > symbols->h.sh_size)
                continue;
            const uint8_t *p = symbols->data + symbol * sizeof(Elf64_Sym);
            open_code(table, get_u16(p + 6));
            table->start = get_u64(p + 8) + (rela ? get_u64(section->data + k + 16) : value) - value;
        }
    }
}

static void table_row(void *user, uint64_t address, uint32_t file, uint32_t line) {
    LineTable *table = user;
    uint64_t to = (table->start + address) / INST_BYTES;
    if (!table->here)
        return;
    for (uint64_t k = table->last; k < to && k < table->ninsts; k++)
        if (table->held.line)
            table->lines[k] = table->held;
    table->last = to;
    const char *name = file < sizeof table->files / sizeof *table->files ? table->files[file] : NULL;
    table->held = (SourceLine){name ? name : "?", line};
}

/* Of the instructions of all sections, from .debug_line. */
static void source_lines(Printer *printer) {
    uint32_t section = elf_image_find(printer->image, ".debug_line");
    printer->lines = ARENA_ARRAY(printer->a, SourceLine *, printer->image->sections.n);
    if (!section || !printer->image->sections.at[section].data)
        return;
    LineTable table = {.printer = printer, .image = printer->image, .table = section};
    LineReader reader = {
        .user = &table, .unit = table_unit, .file = table_file, .set_address = table_start, .row = table_row};
    elf_read_lines(printer->image->sections.at[section].data, printer->image->sections.at[section].h.sh_size,
                   &reader);
}

/* ---- relocations ---- */
/* The tables that relocate each section: printer->first_table, then printer->next_table. */
static void find_tables(Printer *printer) {
    uint32_t n = printer->image->sections.n;
    printer->first_table = ARENA_ARRAY(printer->a, uint32_t, n);
    printer->next_table = ARENA_ARRAY(printer->a, uint32_t, n);
    for (uint32_t i = n; i-- > 1;) {
        const ElfSection *section = &printer->image->sections.at[i];
        if ((section->h.sh_type != SHT_REL && section->h.sh_type != SHT_RELA) || section->h.sh_info >= n ||
            !section->data)
            continue;
        printer->next_table[i] = printer->first_table[section->h.sh_info];
        printer->first_table[section->h.sh_info] = i;
    }
}

/* What each instruction of the section gets from the loader, or NULL; NULL if none gets anything. */
static const char **relocations(Printer *printer, uint32_t code, uint32_t ninsts) {
    const char **all = printer->first_table[code] ? ARENA_ARRAY(printer->a, const char *, ninsts) : NULL;
    for (uint32_t i = printer->first_table[code]; i; i = printer->next_table[i]) {
        const ElfSection *section = &printer->image->sections.at[i];
        bool rela = section->h.sh_type == SHT_RELA;
        uint64_t each = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        for (uint64_t k = 0; k + each <= section->h.sh_size; k += each) {
            uint64_t offset = get_u64(section->data + k);
            if (offset % INST_BYTES || offset / INST_BYTES >= ninsts || all[offset / INST_BYTES])
                continue;
            const char *name =
                disasm_symbol_name(printer->image, section->h.sh_link, get_u32(section->data + k + 12));
            uint64_t addend = rela ? get_u64(section->data + k + 16) : 0;
            all[offset / INST_BYTES] = addend ? arena_printf(printer->a, "%s + 0x%llx", name ? name : "?",
                                                             (unsigned long long)addend)
                                              : name;
        }
    }
    return all;
}

/* ---- code ---- */
typedef struct {
    Printer *printer;
    const DisasmOptions *opt;
    uint32_t section;
    const BinFunc *f;
    CodeText text;
    CodeFlow flow;
    const char **relocs;
    const SourceLine *lines;
    SourceLine last;
    uint32_t last_ptx;
} Listing;

static const char *shown_name(Printer *printer, const DisasmOptions *opt, const char *name) {
    const char *plain = opt->demangle ? str_demangle(printer->a, name) : NULL;
    return plain ? plain : name;
}

static void print_notes(Listing *listing, uint32_t i) {
    FILE *out = listing->printer->out;
    const char *before = "\t// ", *reloc = listing->relocs ? listing->relocs[i] : NULL;
    if (listing->opt->live) {
        unsigned n[4];
        disasm_flow_count(&listing->flow, i, n);
        fprintf(out, "%slive R %u P %u UR %u UP %u", before, n[0], n[1], n[2], n[3]);
        before = "; ";
    }
    if (reloc) {
        fputs(before, out);
        for (const char *s = shown_name(listing->printer, listing->opt, reloc); *s; s++)
            fputc(*s >= 32 && *s < 127 ? *s : '?', out);
        before = "; ";
    }
    const BinLoc *loc = listing->f && listing->f->locs ? &listing->f->locs[i] : NULL;
    if (listing->lines && listing->lines[i].line &&
        (listing->lines[i].line != listing->last.line || listing->lines[i].file != listing->last.file)) {
        listing->last = listing->lines[i];
        fputs(before, out);
        for (const char *s = listing->last.file; *s; s++)
            fputc(*s >= 32 && *s < 127 ? *s : '?', out);
        fprintf(out, ":%u", listing->last.line);
    } else if (loc && loc->ptx_line && loc->ptx_line != listing->last_ptx) {
        listing->last_ptx = loc->ptx_line;
        fputs(before, out);
        disasm_print_place(listing->printer, loc);
    }
}

static void print_instruction(Listing *listing, uint32_t i) {
    char text[ISA_TEXT_BYTES], control[ASM_CONTROL_BYTES];
    Control ctrl;
    uint32_t pc = i * INST_BYTES;
    if (!disasm_text_line(&listing->text, i, text, &ctrl)) {
        disasm_print_raw(listing->printer, listing->text.data + pc, pc, text);
        return;
    }
    asm_print_control(ctrl, control);
    fprintf(listing->printer->out, "    %s  /*%04x*/  %s%s ;", control, pc, *text == '@' ? "" : "    ", text);
    print_notes(listing, i);
    fputc('\n', listing->printer->out);
}

static void open_listing(Listing *listing, Printer *printer, const DisasmOptions *opt, uint32_t section) {
    const ElfSection *s = &printer->image->sections.at[section];
    *listing =
        (Listing){.printer = printer, .opt = opt, .section = section, .f = disasm_section_func(printer, s)};
    disasm_text_open(&listing->text, printer->a, printer->target, s, section);
    for (uint32_t k = 0; listing->f && k < listing->f->ntables; k++)
        for (uint32_t e = 0; e < listing->f->tables[k].ntargets; e++)
            bs_add(&listing->text.targets, listing->f->tables[k].targets[e] / INST_BYTES);
    disasm_flow_of(&listing->flow, printer->a, printer->target, s, listing->f);
    if (opt->live)
        disasm_flow_live(&listing->flow, printer->a);
    listing->relocs = relocations(printer, section, listing->text.ninsts);
    listing->lines = printer->lines[section];
    printer->nwords += listing->text.ninsts;
}

static void print_facts(Listing *listing, const char *name) {
    const BinFunc *f = listing->f;
    FILE *out = listing->printer->out;
    if (!f) {
        fprintf(out, "%s:\n", name);
        return;
    }
    fprintf(out, "%s:\t// %s: %u registers, %u barriers, %u bytes stack, %u bytes shared", name,
            f->is_entry ? "kernel" : "function", f->nregs, f->nbarriers,
            f->stack_bytes > f->frame_bytes ? f->stack_bytes : f->frame_bytes, f->shared_bytes);
    if (f->is_entry)
        fprintf(out, ", %u bytes of parameters at c[0x0][0x%x]", f->param_bytes, f->param_base);
    fputc('\n', out);
}

static void print_listing(Printer *printer, const DisasmOptions *opt, uint32_t section) {
    Listing l;
    const char *name = printer->image->sections.at[section].name + strlen(".text.");
    open_listing(&l, printer, opt, section);
    if (opt->code_only)
        fprintf(printer->out, "%s:\n", shown_name(printer, opt, name));
    else
        print_facts(&l, shown_name(printer, opt, name));
    for (uint32_t i = 0; i < l.text.ninsts; i++) {
        if (bs_has(&l.text.targets, i))
            fprintf(printer->out, ".L_%u_%04x:\n", section, i * INST_BYTES);
        print_instruction(&l, i);
    }
}

/* ---- the graph ---- */
static void print_dot_text(FILE *out, const char *text) {
    for (const char *s = text; *s; s++)
        if (strchr("\\\"{}<>|", *s))
            fprintf(out, "\\%c", *s);
        else
            fputc(*s >= 32 && *s < 127 ? *s : '?', out);
}

static void print_graph(Printer *printer, const DisasmOptions *opt, uint32_t section) {
    Listing l;
    const char *name = printer->image->sections.at[section].name + strlen(".text.");
    open_listing(&l, printer, opt, section);
    fprintf(printer->out, "subgraph cluster_%u {\n  label=\"", section);
    print_dot_text(printer->out, shown_name(printer, opt, name));
    fprintf(printer->out, "\";\n");
    for (uint32_t k = 0; k < l.flow.nblocks; k++) {
        const FlowBlock *block = &l.flow.blocks[k];
        fprintf(printer->out, "  b%u_%u [label=\"{", section, k);
        for (uint32_t i = block->first; i < block->end; i++) {
            char text[ISA_TEXT_BYTES];
            disasm_text_line(&l.text, i, text, NULL);
            fprintf(printer->out, "%04x  ", i * INST_BYTES);
            print_dot_text(printer->out, text);
            fputs("\\l", printer->out);
        }
        fprintf(printer->out, "}\"];\n");
    }
    for (uint32_t k = 0; k < l.flow.nblocks; k++) {
        for (uint32_t n = 0; n < l.flow.blocks[k].nnext; n++)
            fprintf(printer->out, "  b%u_%u -> b%u_%u;\n", section, k, section, l.flow.blocks[k].next[n]);
        if (l.flow.blocks[k].unknown_next)
            fprintf(printer->out, "  b%u_%u -> elsewhere_%u;\n", section, k, section);
    }
    fputs("}\n", printer->out);
}

/* ---- the file ---- */
static void print_variables(Printer *printer, const DisasmOptions *opt) {
    static const char *const spaces[] = {".global", ".const", ".shared"};
    for (uint32_t i = 0; printer->binary && i < printer->binary->nvars; i++) {
        const BinVar *var = &printer->binary->vars[i];
        fprintf(printer->out, "%s %s, %llu, %llu%s\n", var->space < 3 ? spaces[var->space] : "?",
                shown_name(printer, opt, var->name), (unsigned long long)var->size_bytes,
                (unsigned long long)var->align_bytes, var->init ? "\t// initialized" : "");
    }
}

void disasm_print_listing(Printer *printer, const DisasmOptions *opt, uint32_t only) {
    bool graph = opt->form == DISASM_GRAPH;
    find_tables(printer);
    source_lines(printer);
    if (graph)
        fputs("digraph code {\nnode [shape=record, fontname=\"monospace\"];\n", printer->out);
    else if (!opt->code_only && !only) {
        fprintf(printer->out, "// %s of %s; --sections for the whole file\n.target %s\n",
                printer->image->h.e_type == ET_REL ? "relocatable code" : "code",
                isa_target_name(printer->target), isa_target_name(printer->target));
        print_variables(printer, opt);
    }
    bool first = only || opt->code_only;
    for (uint32_t i = 1; i < printer->image->sections.n; i++) {
        if (!disasm_is_code(&printer->image->sections.at[i]) || (only && i != only))
            continue;
        if (!graph && !first)
            fputc('\n', printer->out);
        first = false;
        if (graph)
            print_graph(printer, opt, i);
        else
            print_listing(printer, opt, i);
    }
    if (graph)
        fputs("}\n", printer->out);
}
