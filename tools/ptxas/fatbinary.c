/* The heddle-fatbinary program: the fat binary that clang puts into a host object, from programs and PTX
 * texts, behind the command line of CUDA's fatbinary. CUDA 13's no longer takes what clang 14 to 20 say
 * (--image=profile=...), and who has no toolkit has none. Nothing is packed. Layout: emit/elf/container.c,
 * which reads it. SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "emit/elf/image.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTAINER_HEADER = 16,
    ENTRY_HEADER = 64,
    OPTIONS_RECORD =
        16, /* behind the header of PTX, which CUDA's readers ask for: where the text is, and its size */
    KIND_PTX = 1,
    KIND_ELF = 2,
    FLAG_64_BIT = 1,
    FLAG_DEBUG = 2,
    FLAG_LINUX = 0x10,
    FLAG_ARCH_SPECIFIC = 0x100000, /* sm_90a */
    ELF_VERSION = 0x10008          /* as CUDA 13's fatbinary writes it of every ELF: 1.8 */
};

typedef enum { NOTHING, CREATE, IMAGE, IMAGE3, DEBUG, HELP, VERSION } Use;

/* Long and short name, what the value is called ("" for flags), what becomes of it. */
static const struct Option {
    const char *name, *brief, *value;
    Use use;
    const char *help;
} options[] = {
    {"create", "create", "FILE", CREATE, "The fat binary to write"},
    {"image", "image", "profile=sm_NN|compute_NN,file=FILE", IMAGE,
     "A program for sm_NN or PTX for compute_NN and later, as clang 14 to 20 say it"},
    {"image3", "image3", "kind=elf|ptx,sm=NN,file=FILE", IMAGE3, "The same, as nvcc and later clangs say it"},
    {"64", "64", "", NOTHING, "The host has 64-bit addresses, which is all there is"},
    {"debug", "g", "", DEBUG, "Mark the images as made for debuggers"},
    {"cuda", "cuda", "", NOTHING, "Taken, and changes nothing"},
    {"device-c", "c", "", NOTHING, "Taken, and changes nothing: with --create there is one container"},
    {"link", "link", "", NOTHING, "Taken, and changes nothing"},
    {"no-asm", "no-asm", "", NOTHING, "Taken, and changes nothing"},
    {"compress", "compress", "true|false", NOTHING, "Taken: images are not packed"},
    {"compress-all", "compress-all", "", NOTHING, "Taken: images are not packed"},
    {"compress-mode", "compress-mode", "MODE", NOTHING, "Taken: images are not packed"},
    {"cmdline", "cmdline", "TEXT", NOTHING, "Taken, and not recorded"},
    {"ident", "ident", "NAME", NOTHING, "Taken, and not recorded"},
    {"help", "h", "", HELP, "Print this"},
    {"version", "V", "", VERSION, "Print the version"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

typedef struct {
    uint32_t kind, sm;
    bool arch_specific;
    const char *path;
} Image;

typedef struct {
    Arena arena;
    const char *create;
    VEC(Image) images;
    VEC(uint8_t) out;
    bool debug, asked; /* for help or the version, which was printed */
} Job;

static bool fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fatal(const char *format, ...) {
    va_list args;
    fputs("fatbinary fatal   : ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return false;
}

/* ---- the command line ---- */

static bool is(const char *word, size_t size, const char *text) {
    return strlen(text) == size && strncmp(word, text, size) == 0;
}

/* NN of sm_NN; 'a' behind it is a machine's own features */
static bool machine(const char *text, size_t size, Image *image) {
    enum { MOST_SM = 999 };
    char *end;
    unsigned long sm = strtoul(text, &end, 10);
    image->sm = sm <= MOST_SM ? (uint32_t)sm : 0;
    image->arch_specific = *end == 'a';
    end += image->arch_specific;
    return isdigit((unsigned char)*text) && image->sm && end == text + size;
}

/* One key=value of an image. */
static bool field(const char *word, size_t size, Image *image) {
    static const char real[] = "sm_", virtual[] = "compute_";
    const char *equals = memchr(word, '=', size);
    if (!equals)
        return false;
    const char *value = equals + 1;
    size_t key = (size_t)(equals - word), rest = size - key - 1;
    if (is(word, key, "profile")) {
        bool text = strncmp(value, virtual, sizeof virtual - 1) == 0;
        size_t prefix = (text ? sizeof virtual : sizeof real) - 1;
        image->kind = text ? KIND_PTX : KIND_ELF;
        return (text || strncmp(value, real, sizeof real - 1) == 0) && rest > prefix &&
               machine(value + prefix, rest - prefix, image);
    }
    if (is(word, key, "kind")) {
        image->kind = is(value, rest, "elf") ? KIND_ELF : is(value, rest, "ptx") ? KIND_PTX : 0;
        return image->kind != 0;
    }
    return is(word, key, "sm") && machine(value, rest, image);
}

static bool add_image(Job *job, const char *option, const char *spec) {
    static const char file[] = "file=";
    Image image = {0};
    for (const char *at = spec; *at;) {
        if (strncmp(at, file, sizeof file - 1) == 0) { /* the last one: a name may hold commas */
            image.path = at + sizeof file - 1;
            break;
        }
        size_t size = strcspn(at, ",");
        if (!field(at, size, &image))
            return fatal("Value '%.*s' is not defined for option '%s'", (int)size, at, option);
        at += size + (at[size] == ',');
    }
    if (!image.kind || !image.sm || !image.path || !*image.path)
        return fatal("Option '%s' lacks the kind, the machine or the file: '%s'", option, spec);
    VEC_ADD(&job->arena, &job->images, image);
    return true;
}

static void print_help(void) {
    puts("\nUsage  : fatbinary [options]\n\nHeddle's fat binaries, with the command line of CUDA's "
         "fatbinary.\n\nOptions\n=======\n");
    for (unsigned k = 0; k < OPTION_COUNT; k++)
        printf("--%s%s%s%s  (-%s)\n        %s.\n\n", options[k].name, *options[k].value ? " <" : "",
               options[k].value, *options[k].value ? ">" : "", options[k].brief, options[k].help);
}

static bool apply(Job *job, const struct Option *option, const char *value) {
    switch (option->use) {
    case CREATE: job->create = value; return true;
    case IMAGE:
    case IMAGE3: return add_image(job, option->name, value);
    case DEBUG: job->debug = true; return true;
    case HELP:
    case VERSION:
        if (option->use == HELP)
            print_help();
        else
            puts("fatbinary: heddle-fatbinary " HEDDLE_VERSION "\nCommand line as of\n"
                 "Cuda compilation tools, release 13.0");
        return job->asked = true;
    case NOTHING: break;
    }
    return true;
}

static const struct Option *option_named(const char *word, size_t size) {
    for (unsigned k = 0; k < OPTION_COUNT; k++)
        if (is(word, size, options[k].name) || is(word, size, options[k].brief))
            return &options[k];
    return NULL;
}

static bool read_words(Job *job, char **words) {
    for (; *words && !job->asked; words++) {
        const char *name = *words + strspn(*words, "-");
        size_t size = strcspn(name, "=");
        const struct Option *option = name == *words ? NULL : option_named(name, size);
        if (name == *words)
            return fatal("Input file '%s' belongs to no option: --image3=kind=elf,sm=80,file=%s", name, name);
        if (!option && (is(name, size, "embedded-fatbin") || is(name, size, "fatbin")))
            return fatal("Option '%.*s' is not supported by heddle-fatbinary: nvcc has its own fatbinary",
                         (int)size, name);
        if (!option)
            return fatal("Unknown option '-%.*s'", (int)size, name);
        const char *value = name[size] ? name + size + 1 : "";
        if (*option->value && !name[size]) {
            if (!words[1])
                return fatal("Argument expected after '%s'", *words);
            value = *++words;
        }
        if (!apply(job, option, value))
            return false;
    }
    return true;
}

/* ---- the fat binary ---- */

static void put(Job *job, uint64_t value, unsigned bytes) {
    for (unsigned k = 0; k < bytes; k++)
        VEC_ADD(&job->arena, &job->out, (uint8_t)(k < sizeof value ? value >> (8 * k) : 0));
}

/* u16 minor, u16 major of `.version major.minor`, behind comments; 0: there is none */
static uint32_t ptx_version(const char *text) {
    static const char word[] = ".version";
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "//", 2) == 0) {
            text += strcspn(text, "\n");
        } else if (strncmp(text, "/*", 2) == 0) {
            const char *end = strstr(text + 2, "*/");
            text = end ? end + 2 : "";
        } else {
            unsigned major, minor;
            return strncmp(text, word, sizeof word - 1) == 0 &&
                           sscanf(text + sizeof word - 1, " %5u.%5u", &major, &minor) == 2
                       ? major << 16 | minor
                       : 0;
        }
    }
}

/* Is the file what the command line says of it? A wrong one would be found when the program is started, or
 * never. */
static bool image_is_right(const Image *image, const char *data, size_t size) {
    if (image->kind == KIND_PTX)
        return ptx_version(data) || fatal("'%s' is no PTX: it does not start with .version", image->path);
    const Target *target = elf_file_target(data, size);
    bool native = size >= sizeof(Elf64_Ehdr) && memcmp(data, ELFMAG, SELFMAG) == 0 &&
                  get_u16((const uint8_t *)data + 18) == EM_NV_CUDA;
    unsigned sm;
    if (!native)
        return fatal("'%s' is no program for a GPU of NVIDIA's", image->path);
    return !target || sscanf(isa_target_name(target), "sm_%u", &sm) != 1 || sm == image->sm ||
           fatal("'%s' is for %s, not for sm_%u", image->path, isa_target_name(target), image->sm);
}

static bool add_entry(Job *job, const Image *image) {
    char *data;
    size_t size;
    Diags quiet = {0};
    if (!file_read(&job->arena, image->path, &quiet, &data, &size))
        return fatal("Could not open input file '%s'", image->path);
    if (!image_is_right(image, data, size))
        return false;
    bool text = image->kind == KIND_PTX;
    size_t end = size + text; /* texts end in a NUL */
    size_t padded = (end + 7) & ~(size_t)7;
    put(job, image->kind, 2);
    put(job, 0x101, 2);
    put(job, ENTRY_HEADER + (text ? OPTIONS_RECORD : 0), 4);
    put(job, padded, 8);
    put(job, 0, 4); /* not packed */
    put(job, text ? ENTRY_HEADER : 0, 4);
    put(job, text ? ptx_version(data) : ELF_VERSION, 4);
    put(job, image->sm, 4);
    put(job, 0, 8); /* no name */
    put(job,
        FLAG_64_BIT | FLAG_LINUX | (job->debug ? FLAG_DEBUG : 0) |
            (image->arch_specific ? FLAG_ARCH_SPECIFIC : 0),
        8);
    put(job, 0, 16);
    if (text) /* an empty one behind the record's first half */
        put(job, ENTRY_HEADER + OPTIONS_RECORD / 2, 4), put(job, 0, OPTIONS_RECORD - 4);
    for (size_t k = 0; k < padded; k++)
        put(job, k < size ? (uint8_t)data[k] : 0, 1);
    return true;
}

static bool write_container(Job *job) {
    Diags quiet = {0};
    put(job, 0xBA55ED50u, 4);
    put(job, 1, 2);
    put(job, CONTAINER_HEADER, 2);
    put(job, 0, 8);
    for (uint32_t k = 0; k < job->images.n; k++)
        if (!add_entry(job, &job->images.at[k]))
            return false;
    uint64_t size = job->out.n - CONTAINER_HEADER;
    memcpy(job->out.at + CONTAINER_HEADER - 8, &size, sizeof size);
    return file_write(job->create, job->out.at, job->out.n, &quiet) ||
           fatal("Could not open output file '%s'", job->create);
}

static bool make_fatbin(Job *job, char **words) {
    if (!read_words(job, words) || job->asked)
        return job->asked;
    if (!job->create)
        return fatal("Option '--create' is missing: the file to write");
    return write_container(job);
}

/* ---- heddle-fatbinary(1) ---- */

static void print_manual(void) {
    puts(".TH HEDDLE-FATBINARY 1 \"\" \"Heddle " HEDDLE_VERSION "\" \"Heddle\"\n.SH NAME\n"
         "heddle\\-fatbinary \\- fat binaries with the command line of CUDA's fatbinary\n.SH SYNOPSIS\n"
         ".B heddle\\-fatbinary\n\\fB\\-\\-create\\fR \\fIFILE\\fR "
         "\\fB\\-\\-image3=kind=elf,sm=80,file=\\fIFILE\\fR...\n.SH DESCRIPTION\n"
         "For clang, which calls a program of the name fatbinary for CUDA's host objects: give it "
         "\\-B and the folder libexec/heddle/clang, where this and heddle\\-ptxas have the names that "
         "it looks for.\n.SH OPTIONS");
    for (unsigned k = 0; k < OPTION_COUNT; k++) {
        printf(".TP\n\\fB\\-\\-%s\\fR \\fI%s\\fR, \\fB\\-%s\\fR\n\\&%s.\n", options[k].name, options[k].value,
               options[k].brief, options[k].help);
    }
    puts(".SH EXIT STATUS\n.TP\n0\ndone.\n.TP\n1\nthe input or the command line is wrong.");
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--man") == 0) { /* for the installation */
        print_manual();
        return 0;
    }
    Job job = {0};
    bool good = make_fatbin(&job, argv + 1);
    arena_free(&job.arena);
    return good && fflush(stdout) == 0 ? 0 : 1;
}
