/* Reads the source texts of the branch and barrier units and prints every line of their assembly: the blocks
 * under
 * __Examples, blocks marked asm or assembly, and unmarked blocks that name an instruction; a code span that
 * opens and closes in one line is a block of one line.
 *   == FILE OPCODE SECTION N     N lines follow; FILE 0 or 1, OPCODE as defined last before the block
 *   LINE                         without comments, annotations, the final ';', spaces at its ends and runs of
 * spaces A line that holds nothing else is no line. tests/isa/seed_lines.txt says what the assembler makes of
 * each. seed_lines FILE...
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 128, LINE_BYTES = 512 };
typedef struct {
    char line[MAX_LINES][LINE_BYTES];
    int n;
    bool wanted;
} Block;

static void cut(char *s, const char *open, const char *close) {
    for (char *from; (from = strstr(s, open));) {
        char *to = close ? strstr(from + strlen(open), close) : NULL;
        if (!to)
            *from = 0;
        else
            memmove(from, to + strlen(close), strlen(to + strlen(close)) + 1);
    }
}

/* Without comments and needless spaces. */
static void clean(char *s) {
    cut(s, "/*", "*/");
    cut(s, "(*", "*)");
    cut(s, "//", NULL);
    char *out = s;
    for (const char *in = s; *in; in++)
        if (!isspace((unsigned char)*in))
            *out++ = *in;
        else if (out > s && out[-1] != ' ')
            *out++ = ' ';
    while (out > s && (out[-1] == ' ' || out[-1] == ';'))
        out--;
    *out = 0;
}

static bool names_instruction(const char *s) {
    static const char *const names[] = {"BRA",  "BRX",     "CALL",  "RET",   "LEPC",     "EXIT",      "BMOV",
                                        "BSSY", "BSYNC",   "YIELD", "BREAK", "WARPSYNC", "NANOSLEEP", "RTT",
                                        "TRAP", "SYSCALL", "BAR",   "B2R",   "R2B"};
    if (*s == '@')
        s = strchr(s, ' ') ? strchr(s, ' ') + 1 : s;
    size_t n = strcspn(s, " .;");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && !strncmp(s, names[i], n))
            return true;
    return false;
}

static void add(Block *b, const char *text) {
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%s", text);
    clean(line);
    if (!*line)
        return;
    if (b->n == MAX_LINES)
        exit(2);
    b->wanted |= names_instruction(line);
    memcpy(b->line[b->n++], line, sizeof line);
}

static void end_block(Block *b, int file, const char *def, const char *section) {
    if (b->wanted && b->n) {
        printf("== %d %s %s %d\n", file, def, section, b->n);
        for (int i = 0; i < b->n; i++)
            puts(b->line[i]);
    }
    b->n = 0;
}

static void copy_word(char out[64], const char *s) {
    while (isspace((unsigned char)*s))
        s++;
    snprintf(out, 64, "%.*s", (int)strcspn(s, " :\t\r\n"), s);
}

static void read_file(const char *path, int file) {
    static Block b;
    char line[4096], def[64] = "-", section[64] = "-";
    bool inside = false, code = false;
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    while (fgets(line, sizeof line, f)) {
        char *fence = strstr(line, "```"), *again = fence ? strstr(fence + 3, "```") : NULL;
        const char *s = line + strspn(line, " \t");
        if (again) {
            *again = 0;
            b.wanted = false;
            add(&b, fence + 3);
            end_block(&b, file, def, section);
        } else if (fence && inside) {
            inside = false;
            if (!code)
                end_block(&b, file, def, section);
            b.n = 0;
        } else if (fence) {
            char language[64];
            copy_word(language, fence + 3);
            inside = true;
            code = !strcmp(language, "c") || !strcmp(language, "python");
            b.wanted = !strncmp(language, "asm", 3) || !strncmp(language, "assembly", 8) ||
                       !strcmp(section, "__Examples");
        } else if (inside && !code) {
            add(&b, s);
        } else if (!inside && !strncmp(s, "__Def", 5)) {
            copy_word(def, strchr(s, ' '));
            strcpy(section, "-");
        } else if (!inside && !strncmp(s, "__", 2)) {
            copy_word(section, s);
        }
    }
    fclose(f);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        read_file(argv[i], i - 1);
    return 0;
}
