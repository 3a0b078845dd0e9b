/* What reconvergence insertion did, branch by branch: as a table (compile -v, report), as JSON (report --json), and as
 * comments in the assembly text that compile prints.
 * SPDX-License-Identifier: MIT */
#include "tools/report.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static const char *const mode_names[] = {"ipdom", "frontier", "frontier-all", "none"};

bool report_mode(const char *name, ReconvMode *mode) {
    for (unsigned k = 0; k < sizeof mode_names / sizeof *mode_names; k++)
        if (strcmp(name, mode_names[k]) == 0) {
            *mode = (ReconvMode)k;
            return true;
        }
    return false;
}

static const char *const predicate_names[] = {"auto", "off", "max"};

bool report_predicate_mode(const char *name, PredicateMode *mode) {
    for (unsigned k = 0; k < sizeof predicate_names / sizeof *predicate_names; k++)
        if (strcmp(name, predicate_names[k]) == 0) {
            *mode = (PredicateMode)k;
            return true;
        }
    return false;
}

/* Line of an instruction in the PTX text, 0 if it is not from there. */
static uint32_t line_of(const Compilation *c, const ReconvReport *r, LocId loc) {
    SrcLoc src = loc.i < r->func->locs.n ? r->func->locs.at[loc.i].src : (SrcLoc){0};
    uint32_t line = 0, column = 0;
    if (r->func->ptx && src.i && c->ir->ptx)
        source_position(&c->ir->ptx->source, src, &line, &column);
    return line;
}

static const CodeFunc *code_of(const Compilation *c, const Function *f) {
    for (uint32_t k = 0; c->code && k < c->code->nfuncs; k++)
        if (c->code->funcs[k].ir == f)
            return &c->code->funcs[k];
    return NULL;
}

/* Offset of the branch instruction in its function; UINT32_MAX if it is gone. */
static uint32_t branch_pc(const Function *f, BlockId branch) {
    uint32_t n = 0, at = UINT32_MAX;
    for (unsigned k = 0; k < f->layout.n; k++) {
        const Block *b = &f->blocks.at[f->layout.at[k].i];
        for (unsigned p = 0; p < b->insts.n; p++, n++) {
            const Inst *i = &f->insts.at[b->insts.at[p].i];
            if (f->layout.at[k].i == branch.i && at == UINT32_MAX &&
                (i->op == OT_BRX || (i->op == OT_BRA && !op_is_always(i->guard))))
                at = n * 16;
        }
    }
    return at;
}

static bool has_barrier(const ReconvReport *r) { return r->reason == RJ_BARRIER || r->reason == RJ_EARLY; }

void report_table(const Compilation *c, FILE *out) {
    const IrModule *m = c->ir;
    const Function *last = NULL;
    for (unsigned k = 0; k < m->reconv.n; k++) {
        const ReconvReport *r = &m->reconv.at[k];
        if (r->func != last) {
            fprintf(out, "%s: divergent branches\n  %8s %10s %8s %10s  %s\n", str_text(&c->strings, r->func->name), "branch",
                    "PTX line", "barrier", "join line", "why");
            last = r->func;
        }
        char pc[16] = "-", line[16] = "-", join[16] = "-", reg[16] = "-";
        uint32_t at = code_of(c, r->func) ? branch_pc(r->func, r->branch) : UINT32_MAX;
        if (at != UINT32_MAX)
            snprintf(pc, sizeof pc, "%04x", (unsigned)at);
        if (line_of(c, r, r->loc))
            snprintf(line, sizeof line, "%u", (unsigned)line_of(c, r, r->loc));
        if (r->join.i && line_of(c, r, r->join_loc))
            snprintf(join, sizeof join, "%u", (unsigned)line_of(c, r, r->join_loc));
        if (has_barrier(r))
            snprintf(reg, sizeof reg, "B%u", (unsigned)r->barrier);
        fprintf(out, "  %8s %10s %8s %10s  %s\n", pc, line, reg, join, ir_reconv_reason(r->reason));
    }
}

char *report_json(const Compilation *c) {
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "branches");
    cJSON_AddStringToObject(root, "reconverge", mode_names[c->ir->reconverge]);
    for (unsigned k = 0; k < c->ir->reconv.n; k++) {
        const ReconvReport *r = &c->ir->reconv.at[k];
        cJSON *o = cJSON_CreateObject();
        uint32_t at = code_of(c, r->func) ? branch_pc(r->func, r->branch) : UINT32_MAX;
        cJSON_AddItemToArray(list, o);
        cJSON_AddStringToObject(o, "function", str_text(&c->strings, r->func->name));
        if (at != UINT32_MAX)
            cJSON_AddNumberToObject(o, "pc", at);
        if (line_of(c, r, r->loc))
            cJSON_AddNumberToObject(o, "line", line_of(c, r, r->loc));
        if (r->join.i && line_of(c, r, r->join_loc))
            cJSON_AddNumberToObject(o, "join_line", line_of(c, r, r->join_loc));
        if (has_barrier(r))
            cJSON_AddNumberToObject(o, "barrier", r->barrier);
        cJSON_AddBoolToObject(o, "early", r->reason == RJ_EARLY);
        cJSON_AddStringToObject(o, "why", ir_reconv_reason(r->reason));
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

/* ---- comments ---- */

typedef struct {
    const Function *func;
    uint32_t pc;
    const ReconvReport *r;
} Note;

static void write_note(const Compilation *c, const Note *n, bool comment_open, FILE *out) {
    const ReconvReport *r = n->r;
    uint32_t join = r->join.i ? line_of(c, r, r->join_loc) : 0;
    fputs(comment_open ? "; " : "\t// ", out);
    if (has_barrier(r))
        fprintf(out, "B%u: ", (unsigned)r->barrier);
    fputs(ir_reconv_reason(r->reason), out);
    if (join)
        fprintf(out, ", line %u", (unsigned)join);
}

/* The function whose section begins on this line, the present one otherwise. */
static const Function *function_of_line(const Compilation *c, const char *line, size_t n, const Function *now) {
    static const char section[] = ".section\t\"";
    const char *at = memmem(line, n, section, sizeof section - 1);
    if (!at)
        return now;
    at += sizeof section - 1;
    size_t left = n - (size_t)(at - line);
    if (left < 6 || memcmp(at, ".text.", 6) != 0)
        return NULL;
    for (uint32_t k = 0; k < c->code->nfuncs; k++) {
        const char *name = str_text(&c->strings, c->code->funcs[k].name);
        size_t len = strlen(name);
        if (left > 6 + len && memcmp(at + 6, name, len) == 0 && at[6 + len] == '"')
            return c->code->funcs[k].ir;
    }
    return NULL;
}

static bool line_pc(const char *line, size_t n, uint32_t *pc) {
    const char *at = memmem(line, n, "/*", 2);
    char *end;
    if (!at)
        return false;
    *pc = (uint32_t)strtoul(at + 2, &end, 16);
    return end > at + 2 && end[0] == '*';
}

bool report_annotate(const Compilation *c, const char *text, size_t size, char **result, size_t *result_size) {
    Arena a = {0};
    Note *notes = ARENA_ARRAY(&a, Note, c->ir->reconv.n + 1);
    unsigned n = 0;
    for (unsigned k = 0; k < c->ir->reconv.n; k++) {
        const ReconvReport *r = &c->ir->reconv.at[k];
        uint32_t pc = branch_pc(r->func, r->branch);
        if (pc != UINT32_MAX)
            notes[n++] = (Note){r->func, pc, r};
    }
    FILE *out = open_memstream(result, result_size);
    const Function *f = NULL;
    for (const char *line = text; out && line < text + size;) {
        const char *end = memchr(line, '\n', (size_t)(text + size - line));
        size_t len = end ? (size_t)(end - line) : (size_t)(text + size - line);
        uint32_t pc;
        f = function_of_line(c, line, len, f);
        fwrite(line, 1, len, out);
        bool open = memmem(line, len, "//", 2) != NULL;
        for (unsigned k = 0; f && line_pc(line, len, &pc) && k < n; k++)
            if (notes[k].func == f && notes[k].pc == pc) {
                write_note(c, &notes[k], open, out);
                open = true;
            }
        if (end)
            fputc('\n', out);
        line += len + (end != NULL);
    }
    arena_free(&a);
    return out && fclose(out) == 0;
}
