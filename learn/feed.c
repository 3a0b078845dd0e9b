/* Dumps, read line by line. The lines are
 *   - code for sm_75, .target sm_75, arch = sm_75: the architecture
 *   - Function : NAME, .section NAME: addresses begin anew
 *   - NAME: alone, a name of the next address
 *   - an address, 0010, as a comment, an instruction up to ';', and the lower half of its word in a comment,
 * as 16 digits; the next line has the upper half in the same way and nothing else
 *   - the same without words, and in front [B------:R-:W-:-:S05], the scheduling: CuAssembler's form
 *   - whatever else has no ';'.
 * SPDX-License-Identifier: MIT */
#include "learn/feed.h"
#include "base/file.h"
#include "base/scope.h"
#include "emit/text/asm.h"
#include "learn/number.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

typedef struct {
    char *text;
    uint64_t pc_bytes, word[2];
    uint32_t control, line, column;
    bool has_word, names;
} Pending;

typedef struct {
    LearnFeed *feed;
    const char *path;
    FILE *file;
    Diags *diags;
    char *line; /* NUL-terminated, without '\n' */
    size_t size, cap;
    uint32_t number;
    char arch[12];
    bool any; /* instruction */
    /* of the function */
    Arena arena;
    StrTab names;
    StrMap labels; /* name -> address + 1 */
    VEC(Pending) pending;
    uint64_t pc;     /* of the next instruction */
    bool wants_half; /* the last one's upper half is on the next line */
} Dump;

/* ---- lines ---- */

static bool dump_error(const Dump *dump, const char *at, const char *text) {
    return learn_line_error(dump->diags, dump->path, dump->line, dump->number, at, DIAG_E0901, text);
}

bool learn_report(Diags *diags, const LearnFed *fed, const char *at, DiagCode code, const char *text) {
    if (fed->line)
        return learn_line_error(diags, fed->file, fed->text, fed->line, at, code, text);
    Source source = {.name = fed->file, .text = NULL};
    return diag_in(diags, &source, (SrcLoc){(uint32_t)fed->pc_bytes + 1}, code, text);
}

/* The next line; false at the end, or if it has a byte 0 (reported). */
static bool next_line(Dump *dump, bool *good) {
    int c = getc(dump->file);
    dump->size = 0;
    if (c == EOF)
        return false;
    for (; c != EOF && c != '\n'; c = getc(dump->file)) {
        if (dump->size + 2 > dump->cap) {
            dump->cap = dump->cap ? dump->cap * 2 : 1024;
            dump->line = mem_resize(dump->line, dump->cap);
        }
        dump->line[dump->size++] = (char)c;
        *good &= c != 0;
    }
    if (!dump->cap)
        dump->line = mem_alloc(dump->cap = 1024);
    if (dump->size && dump->line[dump->size - 1] == '\r')
        dump->size--;
    dump->line[dump->size] = 0;
    dump->number++;
    if (!*good)
        dump_error(dump, NULL, "a line has a byte 0");
    return *good;
}

static char *blanks(const char *p) {
    while (*p == ' ' || *p == '\t')
        p++;
    return (char *)p;
}

static bool is_name(int c) { return isalnum(c) || c == '_' || c == '.' || c == '$'; }

/* A comment with 16 digits at p; behind it, or NULL. */
static const char *read_half(const char *p, uint64_t *half) {
    if (strncmp(p, "/* 0x", 5) != 0)
        return NULL;
    const char *end = learn_hex(p + 5, half);
    return end && end - p == 21 && strncmp(end, " */", 3) == 0 ? end + 3 : NULL;
}

/* ---- a function's instructions are handed on ---- */

/* The text with the names in parentheses replaced by their addresses; NULL: one is not of this function. */
static const char *resolved(Dump *dump, const Pending *pending) {
    TextStream *stream = text_open();
    for (const char *p = pending->text; *p; p++) {
        if (*p == '`' && p[1] == '(')
            continue;
        if (*p != '(') {
            fputc(*p, stream->out);
            continue;
        }
        const char *name = blanks(p + 1);
        size_t size = 0;
        while (is_name((unsigned char)name[size]))
            size++;
        const char *end = blanks(name + size);
        StrId id = str_find(&dump->names, name, size);
        uint32_t address = size && id.i ? strmap_get(&dump->labels, id) : 0;
        if (*end != ')' || !address || (p > pending->text && is_name((unsigned char)p[-1]))) {
            text_drop(stream);
            return NULL;
        }
        fprintf(stream->out, "0x%x", address - 1);
        p = end;
    }
    size_t size;
    char *text = text_close(stream, &size);
    const char *copy = arena_copy(&dump->arena, text, size + 1);
    mem_free(text);
    return copy;
}

/* Is `own` the text but for the first part from `from` to `to`? */
static bool adds_part(const char *own, const char *text, const char *from, const char *to) {
    char without[LEARN_TEXT_BYTES];
    const char *start = strstr(own, from), *end = start ? strstr(start + strlen(from), to) : NULL;
    if (!end || strstr(text, from))
        return false;
    snprintf(without, sizeof without, "%.*s%s", (int)(start - own), own, end + strlen(to));
    return learn_same_text(without, text);
}

/* Dumps of sm_80 to sm_89 do not show the uniform register that a descriptor of memory is in: [R2.64] is
 * desc[UR4][R2.64]. No dump shows that it has a cache policy: desc[UR4] is desc[UR4.POLICY], too. */
static bool adds_descriptor(const char *own, const char *text) {
    return adds_part(own, text, "desc[", "]") || adds_part(own, text, ".POLICY", "");
}

/* Is the dump's text, as the tables read it, the word but for scheduling and these bits? */
static bool is_word_but_for(const Target *target, const Pending *pending, const char *text,
                            const uint64_t bits[2]) {
    char error[ISA_ERROR_BYTES];
    const char *end;
    MachInst in;
    uint64_t word[2], control = (((uint64_t)1 << 17) - 1) << (LEARN_CONTROL_BIT - 64);
    return isa_parse(target, text, pending->pc_bytes, NULL, &in, &end, error) &&
           isa_encode(target, &in, word, error) && !((word[0] ^ pending->word[0]) & ~bits[0]) &&
           !((word[1] ^ pending->word[1]) & ~(bits[1] | control));
}

/* What a dump does not show the tables know: their text is taken where it says that, too, and nothing else.
 * Beside descriptors these are the bits of .reuse of TEX, as .T1 to .T15, and which NaN it is, as 0x7ff00000.
 */
static const char *with_unshown(Dump *dump, const Target *target, const Pending *pending, const char *text) {
    static const uint64_t reuse[2] = {0, (uint64_t)0xf << (LEARN_REUSE_BIT - 64)},
                          number[2] = {(uint64_t)UINT32_MAX << 32, 0};
    char own[LEARN_TEXT_BYTES], error[ISA_ERROR_BYTES];
    MachInst in;
    bool has_address = strchr(text, '['), has_nan = strstr(text, "NAN"),
         has_reuse = pending->word[1] & reuse[1] && !strstr(text, ".reuse");
    if (!target || !pending->has_word || !(has_address || has_nan || has_reuse) ||
        !isa_decode(target, pending->word, &in, error))
        return text;
    int size = isa_print(target, &in, pending->pc_bytes, NULL, own, sizeof own);
    if (size <= 0 || size >= (int)sizeof own || learn_same_text(own, text))
        return text;
    bool adds = (has_address && adds_descriptor(own, text)) ||
                (has_nan && is_word_but_for(target, pending, text, number)) ||
                (has_reuse && is_word_but_for(target, pending, text, reuse));
    return adds ? arena_copy(&dump->arena, own, (size_t)size + 1) : text;
}

static bool end_function(Dump *dump) {
    const Target *target = dump->arch[0] ? isa_any_target(dump->arch) : NULL;
    bool good = true;
    if (dump->wants_half)
        return dump_error(dump, NULL, "the upper half of the word before this line is missing");
    for (uint32_t i = 0; good && i < dump->pending.n; i++) {
        const Pending *pending = &dump->pending.at[i];
        const char *text = pending->names ? resolved(dump, pending) : pending->text;
        if (!text) {
            dump->feed->nunresolved++;
            continue;
        }
        text = with_unshown(dump, target, pending, text);
        LearnFed fed = {.text = text,
                        .pc_bytes = pending->pc_bytes,
                        .word = {pending->word[0], pending->word[1]},
                        .control = pending->has_word ? pending->word[1] >> (LEARN_CONTROL_BIT - 64) & 0x1ffff
                                                     : pending->control,
                        .has_word = pending->has_word,
                        .file = dump->path,
                        .arch = dump->arch[0] ? dump->arch : NULL,
                        .line = pending->line,
                        .column = pending->column};
        good = dump->feed->each(dump->feed->user, &fed);
    }
    str_free(&dump->names);
    dump->names = (StrTab){0};
    dump->labels = (StrMap){0};
    dump->pending.at = NULL;
    dump->pending.n = dump->pending.cap = 0;
    dump->pc = 0;
    arena_free(&dump->arena);
    return good;
}

/* ---- an instruction ---- */

/* "[B------:R-:W-:-:S01]" as the 17 bits; p behind it. */
static bool read_control(Dump *dump, const char **p, uint32_t *bits) {
    Control c;
    const char *start = *p;
    if (!asm_parse_control(p, &c))
        return dump_error(dump, start, "this is no scheduling: [B------:R-:W-:-:S00] was expected");
    *bits = c.stall_cycles | (c.yield ? 0u : 1u << 4) | (uint32_t)c.write_sb << 5 | (uint32_t)c.read_sb << 8 |
            (uint32_t)c.wait_mask << 11;
    return true;
}

/* The text up to ';', without remarks in (* *), single blanks; NULL: no ';'. *end is behind it. */
static char *take_text(Dump *dump, const char *p, const char **end, bool *names) {
    char *text = arena_alloc(&dump->arena, strlen(p) + 1), *to = text;
    for (; *p && *p != ';'; p++) {
        const char *close = p[0] == '(' && p[1] == '*' ? strstr(p, "*)") : NULL;
        if (close) {
            p = close + 1;
            continue;
        }
        *names |= *p == '(' || *p == '`' || (*p == '@' && p[1] && strchr("lhf", p[1]));
        *to++ = *p == '\t' ? ' ' : *p;
    }
    while (to > text && to[-1] == ' ')
        to--;
    *to = 0;
    *end = p + 1;
    return *p ? text : NULL;
}

/* Its size with addresses where names in parentheses are, which may be of any length. */
static size_t size_without_names(const char *text) {
    size_t size = 0;
    for (const char *p = text; *p; p++) {
        const char *close = *p == '(' ? strchr(p, ')') : NULL;
        size += close ? strlen("0xffffffff") : 1;
        p = close ? close : p;
    }
    return size;
}

static bool read_insn_line(Dump *dump, const char *p, bool has_address, uint64_t address, uint32_t control) {
    const char *start = p, *end;
    Pending insn = {.control = control, .line = dump->number, .column = (uint32_t)(p - dump->line) + 1};
    if (dump->pending.n == 0 && has_address)
        dump->pc = address;
    if (has_address && (address % 16 || address != dump->pc))
        return dump_error(dump, dump->line, "the address is not 16 behind the one before");
    insn.pc_bytes = dump->pc;
    insn.text = take_text(dump, p, &end, &insn.names);
    if (!insn.text || !*insn.text)
        return dump_error(dump, start, "an instruction with a ';' was expected");
    if (size_without_names(insn.text) >= LEARN_TEXT_BYTES)
        return dump_error(dump, start, "the instruction is too long");
    p = blanks(end);
    if (*p && !(p[0] == '/' && p[1] == '/')) {
        if (!(p = read_half(p, &insn.word[0])) || *blanks(p))
            return dump_error(dump, end, "a word as in /* 0x000000000000094d */ was expected");
        insn.has_word = dump->wants_half = true;
    }
    VEC_ADD(&dump->arena, &dump->pending, insn);
    dump->any = true;
    dump->pc += 16;
    return true;
}

/* A line with the upper half of the word of the one before. */
static bool read_upper_half(Dump *dump, const char *p) {
    Pending *last = dump->pending.n ? &dump->pending.at[dump->pending.n - 1] : NULL;
    const char *end = read_half(p, &last->word[1]);
    if (!end || *blanks(end))
        return dump_error(dump, p, "the upper half of a word, as in /* 0x000fea0003800000 */, was expected");
    dump->wants_half = false;
    return true;
}

/* ---- the other lines ---- */

static void see_arch(Dump *dump, const char *p) {
    unsigned size = learn_arch_size(p);
    if (size && size < sizeof dump->arch) {
        memcpy(dump->arch, p, size);
        dump->arch[size] = 0;
    }
}

/* A name and ':' alone; true if it is one. */
static bool read_name(Dump *dump, const char *p) {
    size_t size = 0;
    while (is_name((unsigned char)p[size]))
        size++;
    const char *rest = size && p[size] == ':' ? blanks(p + size + 1) : p;
    if (rest == p || (*rest && strncmp(rest, "//", 2) != 0))
        return false;
    strmap_put(&dump->labels, &dump->arena, str_intern(&dump->names, p, size), (uint32_t)dump->pc + 1);
    return true;
}

static bool read_other(Dump *dump, const char *p) {
    static const char *const archs[] = {".target", "code for", "arch ="};
    for (unsigned i = 0; i < 3; i++)
        if (strncmp(p, archs[i], strlen(archs[i])) == 0) {
            bool good = end_function(dump);
            see_arch(dump, blanks(p + strlen(archs[i])));
            return good;
        }
    if (strncmp(p, ".section", 8) == 0 || strncmp(p, "Function :", 10) == 0)
        return end_function(dump);
    const char *flags = strstr(p, "EF_CUDA_SM");
    if (flags && !dump->arch[0] && isdigit((unsigned char)flags[10]))
        snprintf(dump->arch, sizeof dump->arch, "sm_%.*s", (int)strspn(flags + 10, "0123456789") % 4,
                 flags + 10);
    return true;
}

static bool read_dump_line(Dump *dump) {
    const char *p = blanks(dump->line);
    uint32_t control = 0;
    uint64_t address = 0;
    bool prefix = p[0] == '[' && p[1] == 'B', has_address = false;
    if (dump->wants_half && *p)
        return read_upper_half(dump, p);
    if (!*p || strncmp(p, "//", 2) == 0 || read_name(dump, p))
        return true;
    if (prefix && !read_control(dump, &p, &control))
        return false;
    p = blanks(p);
    if (strncmp(p, "/*", 2) == 0) {
        const char *end = learn_hex(p + 2, &address);
        if (!end || strncmp(end, "*/", 2) != 0)
            return dump_error(dump, p, "an address as in /*0010*/ was expected");
        has_address = true;
        p = blanks(end + 2);
    }
    if (*p == '.' || (!has_address && !prefix && !strchr(p, ';')))
        return has_address || read_other(dump, p); /* with an address: data */
    return read_insn_line(dump, p, has_address, address, control);
}

/* ---- files ---- */

static void close_dump(void *file) {
    if (file != stdin)
        fclose(file);
}

bool learn_feed_stream(LearnFeed *feed, const char *name, FILE *file, Diags *diags) {
    bool good = true;
    Dump dump = {.feed = feed, .path = name, .file = file, .diags = diags};
    while (good && next_line(&dump, &good))
        good = read_dump_line(&dump);
    if (good && ferror(file))
        good = diag(diags, (SrcLoc){0}, DIAG_E0001, name, strerror(errno));
    good = good && end_function(&dump);
    if (good && !dump.any) { /* a disassembler of a file without code prints a head, or nothing */
        bool is_dump = dump.arch[0] || !dump.number;
        bool told = diag(diags, (SrcLoc){0}, is_dump ? DIAG_W0908 : DIAG_E0904, name);
        good = is_dump || told;
    }
    mem_free(dump.line);
    str_free(&dump.names);
    arena_free(&dump.arena);
    return good;
}

/* An ELF file, a fat binary or an archive; the place in the file is as before. */
static bool is_program(FILE *file) {
    static const char *const magics[] = {"\177ELF", "\x50\xed\x55\xba", "!<arch>\n"};
    char head[8] = "";
    int first = getc(file);
    ungetc(first, file);
    if (first == 0x7f)
        return true;
    if ((first != 'P' && first != '!') || fseek(file, 0, SEEK_SET) != 0) /* what is no file is a dump */
        return false;
    size_t size = fread(head, 1, sizeof head, file);
    for (unsigned i = 0; i < sizeof magics / sizeof *magics; i++)
        if (size >= strlen(magics[i]) && memcmp(head, magics[i], strlen(magics[i])) == 0)
            return true;
    rewind(file);
    return false;
}

bool learn_feed(LearnFeed *feed, const char *path, Diags *diags) {
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file)
        return diag(diags, (SrcLoc){0}, DIAG_E0001, path, strerror(errno));
    bool elf = !standard && is_program(file);
    scope_guard(file, close_dump);
    bool good = elf || learn_feed_stream(feed, standard ? "<stdin>" : path, file, diags);
    scope_unguard(file);
    close_dump(file);
    return elf ? learn_feed_cubin(feed, path, diags) : good;
}
