/* The command line of heddle-ptxas, read as ptxas 13.0 reads it: one dash before short names and two before
 * long ones, values behind `=` or as the next word (-O and -m also glued), words of --options-file in place
 * of it, the last of several values with a warning. Words that begin with no dash are inputs.
 * SPDX-License-Identifier: MIT */
#include "tools/ptxas/ptxas.h"
#include "base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { FLAG, TEXT, NUMBER, BOOL, LIST, GLUED } Kind;
typedef enum { USED, HARMLESS, REFUSED } Use;
typedef struct {
    const char *name, *brief;
    Kind kind;
    const char *value;
    Use use;
    const char *help;
} Option;
static const Option option_table[] = {
#define OPTION(id, name, brief, kind, value, use, help) {name, brief, kind, value, use, help},
#include "tools/ptxas/options.def"
#undef OPTION
};

const char *ptxas_long_name(OptionId id) { return option_table[id].name; }

/* ---- words ---- */

typedef VEC(const char *) Words;
enum { MAX_NESTED_FILES = 16 };

/* Words of an options file: blanks separate them, quotes of both kinds join, a backslash takes the next byte.
 */
static void split_words(Arena *arena, const char *text, Words *out) {
    const char *s = text;
    for (;;) {
        s += strspn(s, " \t\r\n");
        if (!*s)
            return;
        char *word = arena_alloc(arena, strlen(s) + 1), *to = word, quote = 0;
        for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
            if (quote ? *s == quote : *s == '"' || *s == '\'')
                quote = quote ? 0 : *s;
            else
                *to++ = *s == '\\' && s[1] ? *++s : *s;
        }
        *to = 0;
        VEC_ADD(arena, out, word);
    }
}

typedef struct {
    Options *options;
    Messages *messages;
    unsigned depth; /* of options files */
} Reader;

static bool fatal(const Reader *reader, const char *format, const char *a, const char *b) {
    if (b)
        ptxas_fatal(reader->messages, format, a, b);
    else
        ptxas_fatal(reader->messages, format, a);
    return false;
}

static bool read_words(Reader *reader, const char *const *words, uint32_t n);

static bool read_options_file(Reader *reader, const char *path) {
    char *text;
    size_t size;
    Diags quiet = {0};
    Words words = {0};
    if (reader->depth == MAX_NESTED_FILES || !file_read(reader->messages->arena, path, &quiet, &text, &size))
        return fatal(reader, "Could not open options file '%s'", path, NULL);
    split_words(reader->messages->arena, text, &words);
    reader->depth++;
    bool good = read_words(reader, words.at, words.n);
    reader->depth--;
    return good;
}

/* ---- options ---- */

static bool is_number(const char *text) {
    char *end;
    strtol(text, &end, 10);
    return end != text && !*end;
}

static bool add_list(Reader *reader, OptionId id, const char *value) {
    Arena *arena = reader->messages->arena;
    if (id == OPT_STRING) {
        VEC_ADD(arena, &reader->options->lists[id], value);
        return true;
    }
    for (const char *s = value;; s++) {
        size_t n = strcspn(s, ",");
        const char *item = arena_printf(arena, "%.*s", (int)n, s);
        VEC_ADD(arena, &reader->options->lists[id], item);
        if (id == OPT_OPTIONS_FILE && !read_options_file(reader, item))
            return false;
        s += n;
        if (!*s)
            return true;
    }
}

static bool one_of(const char *value, const char *list) {
    size_t n = strlen(value);
    for (const char *s = list; *s; s += strcspn(s, "|"), s += *s == '|')
        if (strcspn(s, "|") == n && memcmp(s, value, n) == 0)
            return true;
    return false;
}

static bool take_value(Reader *reader, OptionId id, const char *value) {
    const Option *option = &option_table[id];
    const char **given = &reader->options->value[id];
    bool numeric = option->kind == NUMBER || option->kind == GLUED;
    if (numeric && *value && !is_number(value))
        return fatal(reader, "'%s': expected a number", value, NULL);
    if (option->kind == BOOL && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return fatal(reader, "'%s': expected true or false", value, NULL);
    bool shared = option == &option_table[OPT_EWP]; /* with --compile-only it does nothing: check_values */
    if (option == &option_table[OPT_SANITIZE] && !one_of(value, option->value))
        return fatal(reader, "Value '%s' is not defined for option '%s'", value, option->name);
    if (option->use == REFUSED && !shared && strcmp(value, "false") != 0)
        return fatal(reader, "Option '%s' is not supported by heddle-ptxas: %s", option->name, option->help);
    bool again = *given && option->kind != LIST && strcmp(*given, value) != 0;
    *given = value;
    if (again)
        ptxas_warning(reader->messages,
                      "incompatible redefinition for option '%s', the last value of this option was used",
                      option->name);
    return option->kind != LIST || add_list(reader, id, value);
}

/* The option of this name, of `n` bytes, behind one dash or two; OPT_COUNT: there is none. */
static OptionId find(const char *name, size_t n, bool is_long) {
    OptionId id = 0;
    for (; id < OPT_COUNT; id++) {
        const char *text = is_long ? option_table[id].name : option_table[id].brief;
        if (strlen(text) == n && memcmp(text, name, n) == 0)
            break;
    }
    return id;
}

/* -O2, -m64; OPT_COUNT: the word is none. */
static OptionId find_glued(const char *name) {
    OptionId id = 0;
    while (id < OPT_COUNT && (option_table[id].kind != GLUED || option_table[id].brief[0] != name[0]))
        id++;
    return name[0] && name[1] ? id : OPT_COUNT;
}

/* Reads words[*at], and moves on to its value where that is the next word. */
static bool read_option(Reader *reader, const char *const *words, uint32_t n, uint32_t *at) {
    const char *word = words[*at], *name = word + 1;
    bool is_long = *name == '-', known_briefly = strncmp(name, "regAllocOptLevel", 16) == 0;
    name += is_long;
    size_t size = strcspn(name, "=");
    OptionId id = find(name, size, is_long && !known_briefly);
    if (id == OPT_COUNT && !is_long && (id = find_glued(name)) != OPT_COUNT)
        return take_value(reader, id, name + 1);
    if (id == OPT_COUNT) {
        size = strcspn(word + 1, "=");
        return fatal(reader, "Unknown option '%s'",
                     arena_printf(reader->messages->arena, "%.*s", (int)size, word + 1), NULL);
    }
    const char *dashed = arena_printf(reader->messages->arena, "%.*s", (int)strcspn(word, "="), word);
    bool has_value = name[size] == '=';
    if (option_table[id].kind == FLAG)
        return has_value ? fatal(reader, "no argument expected after '%s'", dashed, NULL)
                         : take_value(reader, id, "");
    if (has_value)
        return take_value(reader, id, name + size + 1);
    if (id == OPT_LEVEL && !is_long) /* -O alone is the default level */
        return take_value(reader, id, "");
    if (*at + 1 == n)
        return fatal(reader, "argument expected after '%s'", dashed, NULL);
    return take_value(reader, id, words[++*at]);
}

static bool read_words(Reader *reader, const char *const *words, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (words[k][0] != '-' || !words[k][1])
            VEC_ADD(reader->messages->arena, &reader->options->inputs, words[k]);
        else if (!read_option(reader, words, n, &k))
            return false;
    }
    return true;
}

/* ---- values ---- */

static bool check_caches(const Options *options, Messages *messages) {
    static const struct {
        OptionId id;
        const char *what;
    } caches[] = {{OPT_DLCM, "default cache modifier on load"},
                  {OPT_DSCM, "default cache modifier on store"},
                  {OPT_FLCM, "default cache modifier on load"},
                  {OPT_FSCM, "default cache modifier on store"}};
    for (unsigned k = 0; k < sizeof caches / sizeof *caches; k++) {
        const char *value = options->value[caches[k].id];
        if (!value || one_of(value, option_table[caches[k].id].value))
            continue;
        ptxas_error(messages, "Invalid %s specified: %s", caches[k].what, value);
        return false;
    }
    return true;
}

static bool check_values(const Options *options, Messages *messages) {
    const Reader reader = {.messages = messages};
    const char *machine = options->value[OPT_MACHINE], *fast = options->value[OPT_OFAST];
    const char *regs = options->value[OPT_MAXRREGCOUNT], *level = options->value[OPT_LEVEL];
    if (machine && strcmp(machine, "64") != 0)
        return fatal(&reader, "Value '%s' is not defined for option '%s'", machine,
                     option_table[OPT_MACHINE].name);
    if (fast && !one_of(fast, option_table[OPT_OFAST].value))
        return fatal(&reader,
                     "Invalid value for --Ofast-compile/-Ofc (%s), is not 'max', 'mid', 'min', or '0'", fast,
                     NULL);
    if (fast && strcmp(fast, "0") != 0 && level && atoi(level) > 0)
        return fatal(&reader, "Conflicting options -opt-level=<1,2,3> and --Ofast-compile=%s specified", fast,
                     NULL);
    if (regs && !is_number(regs) && strcmp(regs, "archmax") != 0 && strcmp(regs, "archmin") != 0)
        return fatal(&reader, "Invalid value '%s' for option '%s'", regs,
                     option_table[OPT_MAXRREGCOUNT].name);
    if (options->value[OPT_DEBUG] && level && *level && atoi(level) > 0)
        return fatal(&reader, "%s", "Optimized debugging not supported", NULL);
    if (options->value[OPT_EWP] && options->value[OPT_COMPILE_ONLY])
        ptxas_warning(messages,
                      "Conflicting options '--compile-only' and '--extensible-whole-program' specified, "
                      "ignoring '--extensible-whole-program' option");
    else if (options->value[OPT_EWP])
        return fatal(&reader, "Option '%s' is not supported by heddle-ptxas: %s", option_table[OPT_EWP].name,
                     option_table[OPT_EWP].help);
    if (regs && options->value[OPT_MAXNTID])
        ptxas_warning(messages,
                      "Conflicting options -maxrregcount and -maxntid specified, ignoring -maxntid option");
    const char *registers = options->value[OPT_REG_LEVEL];
    if (registers && (atoi(registers) < 0 || atoi(registers) > 10))
        ptxas_warning(messages,
                      "Value of RegUsageLevel (%s) is out of valid range {0..10}, option will be ignored",
                      registers);
    if (options->value[OPT_DEVICE_MAXRREG] && !options->value[OPT_COMPILE_ONLY])
        ptxas_warning(messages,
                      "Command line option '%s' not supported for 'whole program compilation', "
                      "will be ignored",
                      option_table[OPT_DEVICE_MAXRREG].name);
    if (options->value[OPT_DEVICE_MAXRREG] && options->value[OPT_COMPILE_ONLY])
        return fatal(&reader, "Option '%s' is not supported by heddle-ptxas: Registers of device functions",
                     option_table[OPT_DEVICE_MAXRREG].name, NULL);
    if (options->value[OPT_NO_DEBUG_INFO] && !options->value[OPT_DEBUG] && !options->value[OPT_LINE_INFO])
        ptxas_warning(messages,
                      "Option suppress-debug-info requires option device-debug or lineinfo; ignoring since "
                      "latter is not specified");
    return check_caches(options, messages);
}

bool ptxas_options(Options *options, int argc, char **argv, Messages *messages) {
    int first = argc > 1 && strcmp(argv[1], "ptxas") == 0 ? 2 : 1; /* nvcc --ptxas-prefix=heddle-ptxas */
    Words words = {0};
    for (int k = first; k < argc; k++)
        VEC_ADD(messages->arena, &words, argv[k]);
    return read_words(&(Reader){.options = options, .messages = messages}, words.at, words.n) &&
           check_values(options, messages);
}

/* ---- help ---- */

static const char *const uses[] = {
    [USED] = "", [HARMLESS] = "Taken, and changes nothing. ", [REFUSED] = "Refused. "};

/* LLVM's tests look here for the machines, in quotes. */
static void print_machines(FILE *out) {
    const char *comma = "";
    for (const Target *const *t = isa_targets; *t; t++)
        if (strncmp(isa_target_name(*t), "sm_", 3) == 0) {
            fprintf(out, "%s'%s','compute_%s','lto_%s'", comma, isa_target_name(*t), isa_target_name(*t) + 3,
                    isa_target_name(*t) + 3);
            comma = ",";
        }
}

void ptxas_help(void) {
    puts("\nUsage  : ptxas [options] <ptx file>,...\n\nHeddle's compiler with the command line of "
         "ptxas.\n\nOptions\n=======\n");
    for (OptionId id = 0; id < OPT_COUNT; id++) {
        const Option *o = &option_table[id];
        printf("--%s%s%s%s  (-%s)\n        %s%s.\n", o->name, *o->value ? " <" : "", o->value,
               *o->value ? ">" : "", o->brief, uses[o->use], o->help);
        if (id == OPT_ARCH) {
            fputs("        Allowed values for this option:  ", stdout);
            print_machines(stdout);
            puts(".\n        Default value:  'sm_75'.");
        }
        putchar('\n');
    }
}

static void roff(const char *s) {
    for (; *s; s++)
        fputs(*s == '-' ? "\\-" : *s == '\\' ? "\\e" : (char[]){*s, 0}, stdout);
}

void ptxas_manual(void) {
    puts(".TH HEDDLE-PTXAS 1 \"\" \"Heddle " HEDDLE_VERSION "\" \"Heddle\"\n.SH NAME\n"
         "heddle\\-ptxas \\- Heddle's PTX compiler with the command line of ptxas\n.SH SYNOPSIS\n"
         ".B heddle\\-ptxas\n[\\fIOPTION\\fR...] \\fIFILE.ptx\\fR...\n.SH DESCRIPTION\n"
         "For programs that call ptxas: nvcc (\\-\\-ptxas\\-prefix), clang (\\-\\-ptxas\\-path), Triton "
         "(TRITON_PTXAS_PATH), "
         "LLVM's tests (LLVM_PTXAS_EXECUTABLE). A first argument ptxas is passed over. Several files are one "
         "module; "
         "\\- is standard input.\n.SH OPTIONS");
    for (OptionId id = 0; id < OPT_COUNT; id++) {
        const Option *o = &option_table[id];
        fputs(".TP\n\\fB\\-\\-", stdout);
        roff(o->name);
        if (*o->value)
            printf("\\fR \\fI%s", o->value);
        fputs("\\fR, \\fB\\-", stdout);
        roff(o->brief);
        fputs("\\fR\n\\&", stdout); /* a dot at the start of a line would be a request */
        roff(uses[o->use]);
        roff(o->help);
        puts(".");
    }
    puts(".SH EXIT STATUS\n.TP\n0\ndone.\n.TP\n255\nthe input or the command line is wrong.");
}
