/* isagen [-o HEADER TABLES] [-d DOCS-FOLDER] [-f TARGET] FILE.isa...: the compiler of the instruction
 * descriptions. Output is written to temporary files (the fields of -f to standard output) and renamed
 * where it differs, so that a failed run leaves nothing half-written and an unchanged file keeps its time.
 * Exit status: 0 done, 1 a description is wrong (file:line:col: error: text), 2 usage or I/O.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <stdlib.h>
#include <string.h>

static char *read_file(Arena *a, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t n = 0, cap = 1 << 16;
    char *buf = arena_alloc(a, cap);
    for (size_t got; (got = fread(buf + n, 1, cap - n - 1, f)) > 0;) {
        n += got;
        if (cap - n < 2) {
            buf = arena_grow(a, buf, cap, cap * 2);
            cap *= 2;
        }
    }
    fclose(f);
    buf[n] = 0;
    return buf;
}

static bool same_content(const char *path, const char *other) {
    FILE *a = fopen(path, "rb"), *b = fopen(other, "rb");
    bool same = a && b;
    for (int c = 0; same && c != EOF;) {
        c = getc(a);
        same = c == getc(b);
    }
    if (a)
        fclose(a);
    if (b)
        fclose(b);
    return same;
}

typedef struct {
    const char *path, *tmp;
    FILE *file;
} Output;

static bool output_open(Ig *ig, const char *path, Output *out) {
    *out = (Output){.path = path, .tmp = arena_printf(&ig->arena, "%s.tmp", path)};
    out->file = fopen(out->tmp, "w");
    if (!out->file)
        fprintf(stderr, "isagen: cannot write %s\n", out->tmp);
    return out->file != NULL;
}

/* A file that would not change keeps its time: nothing is built again for a changed comment. */
static bool output_close(Output *out, bool ok) {
    ok = !ferror(out->file) && ok;
    ok = fclose(out->file) == 0 && ok;
    bool changed = ok && !same_content(out->tmp, out->path);
    if (changed && rename(out->tmp, out->path) == 0)
        return true;
    remove(out->tmp);
    return ok && !changed;
}

static bool write_tables(Ig *ig, const char *header, const char *tables) {
    Output out;
    return output_open(ig, header, &out) && output_close(&out, ig_emit_header(ig, out.file)) &&
           output_open(ig, tables, &out) && output_close(&out, ig_emit_tables(ig, out.file));
}

static bool write_docs(Ig *ig, const char *folder) {
    for (unsigned t = 0; t < ig->targets.n; t++) {
        Output out;
        if (!output_open(ig, arena_printf(&ig->arena, "%s/isa-%s.md", folder, ig->targets.at[t]->name),
                         &out) ||
            !output_close(&out, ig_emit_docs(ig, t, out.file)))
            return false;
    }
    return true;
}

typedef struct {
    const char *header, *tables, *docs, *fields;
    int first; /* index of the first file */
} Options;

static bool options(int argc, char **argv, Options *o) {
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "-o") && i + 2 < argc) {
            o->header = argv[++i];
            o->tables = argv[++i];
        } else if (!strcmp(argv[i], "-d") && i + 1 < argc) {
            o->docs = argv[++i];
        } else if (!strcmp(argv[i], "-f") && i + 1 < argc) {
            o->fields = argv[++i];
        } else {
            return false;
        }
    }
    o->first = i;
    return i < argc;
}

/* 0, 1 or 2, as in the file's head. */
static int read_all(Ig *ig, int argc, char **argv, int first) {
    IgToks all = {0};
    for (int i = first; i < argc; i++) {
        IgToks toks = {0};
        char *text = read_file(&ig->arena, argv[i]);
        if (!text) {
            fprintf(stderr, "isagen: cannot read %s\n", argv[i]);
            return 2;
        }
        if (!ig_lex(ig, argv[i], text, &toks))
            return 1;
        unsigned n = i + 1 == argc ? toks.n : toks.n - 1; /* one end of file */
        for (unsigned k = 0; k < n; k++)
            VEC_ADD(&ig->arena, &all, toks.at[k]);
    }
    return ig_parse(ig, &all) && ig_finish_parse(ig) && ig_rows(ig) ? 0 : 1;
}

static int write_all(Ig *ig, const Options *options) {
    for (unsigned t = 0; options->fields && t < ig->targets.n; t++)
        if (!strcmp(ig->targets.at[t]->name, options->fields))
            ig_emit_fields(ig, t, stdout);
    if (!options->header) {
        FILE *unused = tmpfile(); /* conditions are checked while the tables are written */
        bool ok = unused && ig_emit_tables(ig, unused);
        if (unused)
            fclose(unused);
        return ok ? 0 : 1;
    }
    bool ok = write_tables(ig, options->header, options->tables);
    ok = ok && (!options->docs || write_docs(ig, options->docs));
    return ok ? 0 : ig->nerrors ? 1 : 2;
}

int main(int argc, char **argv) {
    Ig g = {0};
    Options o = {0};
    if (!options(argc, argv, &o)) {
        fprintf(stderr, "usage: isagen [-o HEADER TABLES] [-d DOCS-FOLDER] [-f TARGET] FILE.isa...\n");
        return 2;
    }
    int status = read_all(&g, argc, argv, o.first);
    if (!status)
        status = write_all(&g, &o);
    arena_free(&g.arena);
    return status;
}
