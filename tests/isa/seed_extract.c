/* Reads the two source texts of the branch and barrier units and prints what each opcode's fields are:
 *   opcode field lo width default        ("-" no default, "==NAME" a fixed value)
 * in the order of inheritance. It shares no code with isagen, so that the two can be compared.
 *   seed_extract FILE...   > seed_fields.txt
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEFS = 256, MAX_FIELDS = 16, MAX_PARENTS = 4 };
typedef struct {
    char name[48], value[48];
    int lo, width;
} Field;
typedef struct {
    char name[48], parents[MAX_PARENTS][48];
    int nparents, nfields;
    bool opcode;
    Field fields[MAX_FIELDS];
} Def;

static Def defs[MAX_DEFS];
static int ndefs;

static const char *skip(const char *s) {
    while (isspace((unsigned char)*s) || *s == ',' || *s == '[' || *s == ':')
        s++;
    return s;
}

static const char *word(const char *s, char out[48]) {
    int n = 0;
    s = skip(s);
    while ((isalnum((unsigned char)*s) || *s == '_' || *s == '.') && n < 47)
        out[n++] = *s++;
    out[n] = 0;
    return s;
}

static void definition(const char *s, bool opcode) {
    if (ndefs == MAX_DEFS)
        exit(2);
    Def *def = &defs[ndefs++];
    def->opcode = opcode;
    s = word(s, def->name);
    while (*s && *s != ']' && def->nparents < MAX_PARENTS) {
        s = word(s, def->parents[def->nparents]);
        if (!def->parents[def->nparents][0])
            break;
        def->nparents++;
        while (*s == ' ')
            s++;
    }
}

/* field<lo, width> Type name = value; */
static void field(const char *s) {
    Def *def = &defs[ndefs - 1];
    char type[48];
    if (!ndefs || def->nfields == MAX_FIELDS)
        exit(2);
    Field *f = &def->fields[def->nfields];
    char *end;
    f->lo = (int)strtol(s + 6, &end, 10);
    f->width = (int)strtol(skip(end), &end, 10);
    s = strchr(end, '>');
    if (!s)
        return;
    s = word(s + 1, type);
    s = word(s, f->name);
    while (*s == ' ')
        s++;
    strcpy(f->value, "-");
    if (*s == '=') {
        bool fixed = s[1] == '=';
        char v[44];
        char text[48];
        word(s + 1 + fixed, text);
        snprintf(v, sizeof v, "%.40s", text);
        snprintf(f->value, sizeof f->value, "%s%s", fixed ? "==" : "", v);
    }
    def->nfields++;
}

static void read_file(const char *path) {
    FILE *f = fopen(path, "r");
    char line[4096];
    bool encoding = false;
    if (!f) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    while (fgets(line, sizeof line, f)) {
        const char *s = line;
        while (*s == ' ' || *s == '\t')
            s++;
        if (!strncmp(s, "__DefGroup", 10) || !strncmp(s, "__DefOptype", 11))
            definition(strchr(s, ' '), false);
        else if (!strncmp(s, "__DefOpcode", 11))
            definition(strchr(s, ' '), true);
        if (s[0] == '_' && s[1] == '_')
            encoding = !strncmp(s, "__Encoding", 10);
        else if (encoding && !strncmp(s, "field<", 6))
            field(s);
    }
    fclose(f);
}

static const Def *find(const char *name) {
    for (int i = 0; i < ndefs; i++)
        if (!strcmp(defs[i].name, name) && !defs[i].opcode)
            return &defs[i];
    return NULL;
}

static void print(const Def *def, const char *opcode, const Def **seen, int *nseen) {
    for (int i = 0; i < *nseen; i++)
        if (seen[i] == def)
            return;
    seen[(*nseen)++] = def;
    for (int i = 0; i < def->nparents; i++) {
        const Def *p = find(def->parents[i]);
        if (p)
            print(p, opcode, seen, nseen);
    }
    for (int i = 0; i < def->nfields; i++)
        printf("%s %s %d %d %s\n", opcode, def->fields[i].name, def->fields[i].lo, def->fields[i].width,
               def->fields[i].value);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        read_file(argv[i]);
    for (int i = 0; i < ndefs; i++)
        if (defs[i].opcode) {
            const Def *seen[MAX_DEFS];
            int n = 0;
            print(&defs[i], defs[i].name, seen, &n);
        }
    return 0;
}
