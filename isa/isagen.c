/* isagen [-o HEADER TABLES] [-d DOCS-FOLDER] [-f TARGET] FILE.isa...: the compiler of the instruction descriptions. Output is
 * written to temporary files (the fields of -f to standard output) and renamed, so that a failed run leaves nothing half-written.
 * Exit status: 0 done, 1 a description is wrong (file:line:col: error: text), 2 usage or I/O.
 * SPDX-License-Identifier: MIT */
#include "isa/isagen.h"
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

typedef bool EmitFn(Ig *g, FILE *f);

static bool write_file(Ig *g, const char *path, EmitFn *fn) {
    const char *tmp = arena_printf(&g->arena, "%s.tmp", path);
    FILE *f = fopen(tmp, "w");
    if (!f) {
        fprintf(stderr, "isagen: cannot write %s\n", tmp);
        return false;
    }
    bool ok = fn(g, f);
    ok = !ferror(f) && ok;
    ok = fclose(f) == 0 && ok;
    if (ok && rename(tmp, path) == 0)
        return true;
    remove(tmp);
    return false;
}

static bool write_docs(Ig *g, const char *folder) {
    for (unsigned t = 0; t < g->targets.n; t++) {
        const char *path = arena_printf(&g->arena, "%s/isa-%s.md", folder, g->targets.at[t]->name);
        const char *tmp = arena_printf(&g->arena, "%s.tmp", path);
        FILE *f = fopen(tmp, "w");
        if (!f) {
            fprintf(stderr, "isagen: cannot write %s\n", tmp);
            return false;
        }
        bool ok = ig_emit_docs(g, t, f);
        ok = fclose(f) == 0 && ok;
        if (!ok || rename(tmp, path))
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    Ig g = {0};
    const char *header = NULL, *tables = NULL, *docs = NULL, *fields = NULL;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "-o") && i + 2 < argc) {
            header = argv[++i];
            tables = argv[++i];
        } else if (!strcmp(argv[i], "-d") && i + 1 < argc) {
            docs = argv[++i];
        } else if (!strcmp(argv[i], "-f") && i + 1 < argc) {
            fields = argv[++i];
        } else {
            break;
        }
    }
    if (i >= argc || argv[i][0] == '-') {
        fprintf(stderr, "usage: isagen [-o HEADER TABLES] [-d DOCS-FOLDER] [-f TARGET] FILE.isa...\n");
        return 2;
    }
    IgToks all = {0};
    for (; i < argc; i++) {
        char *text = read_file(&g.arena, argv[i]);
        if (!text) {
            fprintf(stderr, "isagen: cannot read %s\n", argv[i]);
            return 2;
        }
        IgToks toks = {0};
        if (!ig_lex(&g, argv[i], text, &toks))
            return 1;
        for (unsigned k = 0; k + 1 < toks.n || (k < toks.n && i + 1 == argc); k++)
            VEC_ADD(&g.arena, &all, toks.at[k]);
    }
    if (!ig_parse(&g, &all) || !ig_finish_parse(&g) || !ig_rows(&g))
        return 1;
    for (unsigned t = 0; fields && t < g.targets.n; t++)
        if (!strcmp(g.targets.at[t]->name, fields))
            ig_emit_fields(&g, t, stdout);
    if (!header) {
        FILE *null = tmpfile(); /* conditions are checked while the tables are written */
        bool ok = null && ig_emit_tables(&g, null);
        if (null)
            fclose(null);
        arena_free(&g.arena);
        return ok ? 0 : 1;
    }
    bool ok = write_file(&g, header, ig_emit_header) && write_file(&g, tables, ig_emit_tables);
    ok = ok && (!docs || write_docs(&g, docs));
    arena_free(&g.arena);
    return ok ? 0 : g.nerrors ? 1 : 2;
}
