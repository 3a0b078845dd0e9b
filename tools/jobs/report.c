/* What predication and reconvergence insertion did, branch by branch: as a table (compile -v, report), as
 * JSON (report --json), and as comments in the assembly text that compile prints.
 * SPDX-License-Identifier: MIT */
#include "tools/jobs/report.h"
#include "base/json.h"
#include "frontend/profile.h"
#include <stdlib.h>
#include <string.h>

/* Line of an instruction in the PTX text, 0 if it is not from there. */
static uint32_t line_of(const Compilation *compilation, const Function *f, LocId loc) {
    SrcLoc src = loc.i < f->locs.n ? f->locs.at[loc.i].src : (SrcLoc){0};
    return f->ptx && src.i && compilation->ir->ptx ? ptx_loc_line(compilation->ir->ptx, src) : 0;
}

enum { SOURCE_BYTES = 100 };

/* Of the source language, "k.cu:12"; "" where the PTX has no `.loc`. */
static const char *source_of(const Compilation *compilation, const Function *f, LocId loc,
                             char out[SOURCE_BYTES]) {
    uint32_t insn = loc.i < f->locs.n ? f->locs.at[loc.i].ptx_insn : 0;
    *out = 0;
    if (f->ptx && insn && insn <= f->ptx->ninsns && compilation->ir->ptx)
        ptx_source(compilation->ir->ptx, f->ptx, &f->ptx->insns[insn - 1], out, SOURCE_BYTES);
    return out;
}

/* The end of a row: ", 8 copies (k.cu:12)". */
static void end_row(const Compilation *compilation, const Function *f, LocId loc, uint32_t copies,
                    FILE *out) {
    char source[SOURCE_BYTES];
    if (copies > 1)
        fprintf(out, ", %u copies", (unsigned)copies);
    fprintf(out, *source_of(compilation, f, loc, source) ? " (%s)\n" : "%s\n", source);
}

static void add_source(const Compilation *compilation, const Function *f, LocId loc, cJSON *to) {
    char source[SOURCE_BYTES];
    if (*source_of(compilation, f, loc, source))
        json_add_text(to, "source", source);
}

/* What the profile has of the PTX branch there; NULL: nothing. */
static const PtxBranch *counts_at(const Compilation *compilation, const Function *f, LocId loc) {
    uint32_t insn = loc.i < f->locs.n ? f->locs.at[loc.i].ptx_insn : 0;
    const PtxBranch *counts = compilation->profile && f->ptx && insn
                                  ? ptx_profile_branch(compilation->profile, f->ptx, insn - 1)
                                  : NULL;
    return counts && counts->warps ? counts : NULL;
}

/* How many lanes came to it together, as a mean. */
static double lanes_a_warp(const PtxBranch *counts) {
    uint64_t lanes = 0;
    for (uint32_t k = 0; k < counts->nways; k++)
        lanes += counts->ways[k].lanes;
    return (double)lanes / (double)counts->warps;
}

static const CodeFunc *code_of(const Compilation *compilation, const Function *f) {
    for (uint32_t k = 0; compilation->code && k < compilation->code->nfuncs; k++)
        if (compilation->code->funcs[k].ir == f)
            return &compilation->code->funcs[k];
    return NULL;
}

/* Offset of the branch instruction in its function; UINT32_MAX if it is gone. */
static uint32_t branch_pc(const Function *f, BlockId branch) {
    uint32_t n = 0, at = UINT32_MAX;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            if (b.i == branch.i && at == UINT32_MAX &&
                (i->op == OT_BRX || (i->op == OT_BRA && !op_is_always(i->guard))))
                at = n * 16;
            n++;
        }
    return at;
}

/* Offset of an instruction in its function; UINT32_MAX if it is gone. */
static uint32_t inst_pc(const Function *f, InstId id) {
    uint32_t n = 0;
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, at) {
            if (at.i == id.i)
                return n * 16;
            n++;
        }
    return UINT32_MAX;
}

static bool has_barrier(const ReconvReport *report) {
    return report->reason == RJ_BARRIER || report->reason == RJ_EARLY || report->reason == RJ_ROUNDS;
}

/* "converted", or why not, and what was expected. */
static void predicate_why(const PredicateReport *report, char text[128]) {
    int n = snprintf(text, 128, "%s", ir_predicate_reason(report->reason));
    if (report->branch_issues > 0 && n > 0 && n < 128)
        snprintf(text + n, 128 - (size_t)n, ": %.4g expected warp instructions, %.4g under guards",
                 (double)report->branch_issues, (double)report->guard_issues);
}

/* ---- tables ---- */

/* Rows of a table by what they say of one statement: copies of a branch that say the same are one row, that
 * of the first of them. */
typedef struct {
    Arena a;
    StrTab texts;
    StrMap first;     /* of a text: the number of the first report, + 1 */
    uint32_t *copies; /* [report] 0: an earlier one's row has it */
} Rows;

static Rows rows_new(unsigned n) {
    Rows rows = {0};
    rows.copies = ARENA_ARRAY(&rows.a, uint32_t, n + 1);
    return rows;
}

/* says: all but the statement. Returns the report whose row it is. */
static unsigned rows_add(Rows *rows, unsigned k, const Function *f, LocId loc, const char *says) {
    uint32_t insn = loc.i < f->locs.n ? f->locs.at[loc.i].ptx_insn : 0;
    unsigned row = k;
    if (insn) {
        const char *text = arena_printf(&rows->a, "%u %u %s", (unsigned)f->name.i, (unsigned)insn, says);
        StrId id = str_intern_z(&rows->texts, text);
        uint32_t first = strmap_get(&rows->first, id);
        if (first)
            row = first - 1;
        else
            strmap_put(&rows->first, &rows->a, id, k + 1);
    }
    rows->copies[row]++;
    return row;
}

static void rows_free(Rows *rows) {
    str_free(&rows->texts);
    arena_free(&rows->a);
}

/* Branches of the built-in library are nobody's lines. */
static bool is_users(const Function *f) {
    return strncmp(str_text(f->module->strings, f->name), "__heddle_", 9) != 0;
}

enum { ROW_BYTES = 240 };

static void predicate_row(const Compilation *compilation, const PredicateReport *report,
                          char row[ROW_BYTES]) {
    char line[16] = "-", inside[16] = "-", added[16] = "-", why[128];
    if (line_of(compilation, report->func, report->loc))
        snprintf(line, sizeof line, "%u", (unsigned)line_of(compilation, report->func, report->loc));
    if (report->shape != PD_NONE) {
        snprintf(inside, sizeof inside, "%u", (unsigned)report->insts);
        snprintf(added, sizeof added, "%u", (unsigned)(report->selects + report->merges));
    }
    predicate_why(report, why);
    snprintf(row, ROW_BYTES, "  %8s %10s %8s %8s  %s", line, ir_predicate_shape(report->shape), inside, added,
             why);
}

static void predicate_table(const Compilation *compilation, FILE *out) {
    const IrModule *module = compilation->ir;
    const Function *last = NULL;
    char row[ROW_BYTES];
    Rows rows = rows_new(module->predicated.n);
    for (unsigned k = 0; k < module->predicated.n; k++) {
        const PredicateReport *report = &module->predicated.at[k];
        predicate_row(compilation, report, row);
        (void)rows_add(&rows, k, report->func, report->loc, row);
    }
    for (unsigned k = 0; k < module->predicated.n; k++) {
        const PredicateReport *report = &module->predicated.at[k];
        if (!is_users(report->func) || !rows.copies[k])
            continue;
        if (report->func != last) {
            fprintf(out, "%s: predication (%s)\n  %8s %10s %8s %8s  %s\n",
                    str_text(&compilation->strings, report->func->name),
                    ir_predicate_mode_name(module->predicate), "PTX line", "shape", "inside", "added", "why");
            last = report->func;
        }
        predicate_row(compilation, report, row);
        fputs(row, out);
        end_row(compilation, report->func, report->loc, rows.copies[k], out);
    }
    rows_free(&rows);
}

static void meld_row(const Compilation *compilation, const MeldReport *report, char row[ROW_BYTES]) {
    char line[16] = "-";
    if (line_of(compilation, report->func, report->loc))
        snprintf(line, sizeof line, "%u", (unsigned)line_of(compilation, report->func, report->loc));
    bool melded = report->reason == PR_CONVERTED;
    int n = snprintf(row, ROW_BYTES, "  %8s %8u %8u %8u  %s", line, report->melded, report->alone,
                     report->selects, melded ? "melded" : ir_predicate_reason(report->reason));
    if (report->branch_issues > 0 && n > 0 && n < ROW_BYTES)
        snprintf(row + n, ROW_BYTES - (size_t)n, ": %.4g expected warp instructions, %.4g melded",
                 (double)report->branch_issues, (double)report->melded_issues);
}

/* What became of branches with two sides, if melding was asked for. */
static void meld_table(const Compilation *compilation, FILE *out) {
    const IrModule *module = compilation->ir;
    const Function *last = NULL;
    char row[ROW_BYTES];
    Rows rows = rows_new(module->melded.n);
    for (unsigned k = 0; k < module->melded.n; k++) {
        const MeldReport *report = &module->melded.at[k];
        meld_row(compilation, report, row);
        (void)rows_add(&rows, k, report->func, report->loc, row);
    }
    for (unsigned k = 0; k < module->melded.n; k++) {
        const MeldReport *report = &module->melded.at[k];
        if (!is_users(report->func) || !rows.copies[k])
            continue;
        if (report->func != last)
            fprintf(out, "%s: melding\n  %8s %8s %8s %8s  %s\n",
                    str_text(&compilation->strings, report->func->name), "PTX line", "melded", "alone",
                    "selects", "why");
        last = report->func;
        meld_row(compilation, report, row);
        fputs(row, out);
        end_row(compilation, report->func, report->loc, rows.copies[k], out);
    }
    rows_free(&rows);
}

static void meld_json(const Compilation *compilation, cJSON *root) {
    cJSON *list = json_add_list(root, "melding");
    for (unsigned k = 0; k < compilation->ir->melded.n; k++) {
        const MeldReport *report = &compilation->ir->melded.at[k];
        bool melded = report->reason == PR_CONVERTED;
        cJSON *o = json_object();
        json_append(list, o);
        json_add_text(o, "function", str_text(&compilation->strings, report->func->name));
        if (line_of(compilation, report->func, report->loc))
            json_add_number(o, "line", line_of(compilation, report->func, report->loc));
        add_source(compilation, report->func, report->loc, o);
        json_add_bool(o, "melded", melded);
        json_add_text(o, "why", melded ? "melded" : ir_predicate_reason(report->reason));
        if (report->branch_issues <= 0)
            continue;
        json_add_number(o, "instructions", report->melded);
        json_add_number(o, "alone", report->alone);
        json_add_number(o, "selects", report->selects);
        json_add_number(o, "branch_issues", (double)report->branch_issues);
        json_add_number(o, "melded_issues", (double)report->melded_issues);
    }
}

/* "joins before that, in every round of the loop of line 12 with 3 exits" */
static void reconv_why(const Compilation *compilation, const ReconvReport *report, char text[128]) {
    uint32_t loop = line_of(compilation, report->func, report->loop_loc);
    int n = snprintf(text, 128, "%s", ir_reconv_reason(report->reason));
    if (loop && n > 0 && n < 128)
        snprintf(text + n, 128 - (size_t)n, ", in every round of the loop of line %u with %u exit%s",
                 (unsigned)loop, (unsigned)report->loop_exits, report->loop_exits == 1 ? "" : "s");
}

static uint32_t join_line(const Compilation *compilation, const ReconvReport *report) {
    return report->join.i ? line_of(compilation, report->func, report->join_loc) : 0;
}

/* Where the branch stands in code and text, its barrier, its join. */
static void reconv_place(const Compilation *compilation, const ReconvReport *report, FILE *out) {
    char pc[16] = "-", line[16] = "-", join[16] = "-", reg[16] = "-";
    uint32_t at = code_of(compilation, report->func) ? branch_pc(report->func, report->branch) : UINT32_MAX;
    if (at != UINT32_MAX)
        snprintf(pc, sizeof pc, "%04x", (unsigned)at);
    if (line_of(compilation, report->func, report->loc))
        snprintf(line, sizeof line, "%u", (unsigned)line_of(compilation, report->func, report->loc));
    if (join_line(compilation, report))
        snprintf(join, sizeof join, "%u", (unsigned)join_line(compilation, report));
    if (has_barrier(report))
        snprintf(reg, sizeof reg, "B%u", (unsigned)report->barrier);
    fprintf(out, "  %8s %10s %8s %10s", pc, line, reg, join);
}

static void reconv_table(const Compilation *compilation, FILE *out) {
    const IrModule *module = compilation->ir;
    const bool automatic = module->reconverge == RECONV_AUTO, measured = compilation->profile != NULL;
    const Function *last = NULL;
    char why[128], says[160];
    Rows rows = rows_new(module->reconv.n);
    double *gain = ARENA_ARRAY(&rows.a, double, module->reconv.n + 1); /* [report] of its row */
    BlockId *join = ARENA_ARRAY(&rows.a, BlockId, module->reconv.n + 1);
    for (unsigned k = 0; k < module->reconv.n; k++) {
        const ReconvReport *report = &module->reconv.at[k];
        reconv_why(compilation, report, why);
        snprintf(says, sizeof says, "%u %s", (unsigned)join_line(compilation, report), why);
        unsigned row = rows_add(&rows, k, report->func, report->loc, says);
        if (join[row].i != report->join.i) /* what copies save that have one join is that join's */
            gain[row] += (double)report->gain;
        join[row] = report->join;
    }
    for (unsigned k = 0; k < module->reconv.n; k++) {
        const ReconvReport *report = &module->reconv.at[k];
        if (!rows.copies[k])
            continue;
        if (report->func != last) {
            fprintf(out, "%s: divergent branches\n  %8s %10s %8s %10s",
                    str_text(&compilation->strings, report->func->name), "branch", "PTX line", "barrier",
                    "join line");
            fprintf(out, "%s%s  why\n", automatic ? "    saves" : "",
                    measured ? "      warps   parted  lanes" : "");
            last = report->func;
        }
        reconv_place(compilation, report, out);
        if (gain[k] != 0)
            fprintf(out, " %8.4g", gain[k]);
        else if (automatic)
            fprintf(out, " %8s", "-");
        const PtxBranch *counts = counts_at(compilation, report->func, report->loc);
        if (counts)
            fprintf(out, " %10llu %7.1f%% %6.1f", (unsigned long long)counts->warps,
                    100.0 * (double)counts->divergent / (double)counts->warps, lanes_a_warp(counts));
        else if (measured)
            fprintf(out, " %10s %8s %6s", "-", "-", "-");
        reconv_why(compilation, report, why);
        fprintf(out, "  %s", why);
        end_row(compilation, report->func, report->loc, rows.copies[k], out);
    }
    rows_free(&rows);
}

void report_table(const Compilation *compilation, FILE *out) {
    meld_table(compilation, out);
    predicate_table(compilation, out);
    reconv_table(compilation, out);
}

static void predicate_json(const Compilation *compilation, cJSON *root) {
    json_add_text(root, "predicate", ir_predicate_mode_name(compilation->ir->predicate));
    cJSON *list = json_add_list(root, "predication");
    for (unsigned k = 0; k < compilation->ir->predicated.n; k++) {
        const PredicateReport *report = &compilation->ir->predicated.at[k];
        cJSON *o = json_object();
        json_append(list, o);
        json_add_text(o, "function", str_text(&compilation->strings, report->func->name));
        if (line_of(compilation, report->func, report->loc))
            json_add_number(o, "line", line_of(compilation, report->func, report->loc));
        add_source(compilation, report->func, report->loc, o);
        json_add_bool(o, "converted", report->reason == PR_CONVERTED);
        json_add_text(o, "why", ir_predicate_reason(report->reason));
        if (report->shape == PD_NONE)
            continue;
        json_add_text(o, "shape", ir_predicate_shape(report->shape));
        json_add_number(o, "instructions", report->insts);
        json_add_number(o, "selects", report->selects);
        json_add_number(o, "predicate_instructions", report->merges);
        if (report->branch_issues > 0) {
            json_add_number(o, "branch_issues", (double)report->branch_issues);
            json_add_number(o, "guard_issues", (double)report->guard_issues);
        }
    }
}

cJSON *report_tree(const Compilation *compilation) {
    cJSON *root = json_object(), *list = json_add_list(root, "branches");
    json_add_text(root, "reconverge", ir_reconv_mode_name(compilation->ir->reconverge));
    for (unsigned k = 0; k < compilation->ir->reconv.n; k++) {
        const ReconvReport *report = &compilation->ir->reconv.at[k];
        cJSON *o = json_object();
        uint32_t at =
            code_of(compilation, report->func) ? branch_pc(report->func, report->branch) : UINT32_MAX;
        json_append(list, o);
        json_add_text(o, "function", str_text(&compilation->strings, report->func->name));
        if (at != UINT32_MAX)
            json_add_number(o, "pc", at);
        if (line_of(compilation, report->func, report->loc))
            json_add_number(o, "line", line_of(compilation, report->func, report->loc));
        add_source(compilation, report->func, report->loc, o);
        if (report->join.i && line_of(compilation, report->func, report->join_loc))
            json_add_number(o, "join_line", line_of(compilation, report->func, report->join_loc));
        if (has_barrier(report))
            json_add_number(o, "barrier", report->barrier);
        json_add_bool(o, "early", report->reason == RJ_EARLY);
        if (report->gain != 0)
            json_add_number(o, "saves", (double)report->gain);
        if (line_of(compilation, report->func, report->loop_loc)) {
            json_add_number(o, "loop_line", line_of(compilation, report->func, report->loop_loc));
            json_add_number(o, "loop_exits", report->loop_exits);
        }
        const PtxBranch *counts = counts_at(compilation, report->func, report->loc);
        if (counts) {
            json_add_number(o, "warps", (double)counts->warps);
            json_add_number(o, "divergent", (double)counts->divergent);
            json_add_number(o, "lanes", lanes_a_warp(counts));
        }
        json_add_text(o, "why", ir_reconv_reason(report->reason));
    }
    meld_json(compilation, root);
    predicate_json(compilation, root);
    return root;
}

char *report_json(const Compilation *compilation) { return json_close(report_tree(compilation)); }

/* ---- comments ---- */

typedef struct {
    const Function *func;
    uint32_t pc;
    const ReconvReport *r; /* one of the two */
    const PredicateReport *p;
} Note;

static void write_note(const Compilation *c, const Note *note, bool comment_open, FILE *out) {
    const ReconvReport *report = note->r;
    fputs(comment_open ? "; " : "\t// ", out);
    if (note->p) {
        fprintf(out, "%s of line %u %s", ir_predicate_shape(note->p->shape),
                (unsigned)line_of(c, note->func, note->p->loc),
                note->p->reason == PR_CONVERTED ? "predicated" : "not predicated: ");
        if (note->p->reason != PR_CONVERTED)
            fputs(ir_predicate_reason(note->p->reason), out);
        return;
    }
    uint32_t join = report->join.i ? line_of(c, report->func, report->join_loc) : 0;
    if (has_barrier(report))
        fprintf(out, "B%u: ", (unsigned)report->barrier);
    fputs(ir_reconv_reason(report->reason), out);
    if (join)
        fprintf(out, ", line %u", (unsigned)join);
}

/* The function whose section begins on this line, the present one otherwise. */
static const Function *function_of_line(const Compilation *compilation, const char *line, size_t n,
                                        const Function *now) {
    static const char section[] = ".section\t\"";
    const char *at = memmem(line, n, section, sizeof section - 1);
    if (!at)
        return now;
    at += sizeof section - 1;
    size_t left = n - (size_t)(at - line);
    if (left < 6 || memcmp(at, ".text.", 6) != 0)
        return NULL;
    for (uint32_t k = 0; k < compilation->code->nfuncs; k++) {
        const char *name = str_text(&compilation->strings, compilation->code->funcs[k].name);
        size_t len = strlen(name);
        if (left > 6 + len && memcmp(at + 6, name, len) == 0 && at[6 + len] == '"')
            return compilation->code->funcs[k].ir;
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

bool report_annotate(const Compilation *compilation, const char *text, size_t size, char **result,
                     size_t *result_size) {
    Arena a = {0};
    Note *notes = ARENA_ARRAY(&a, Note, compilation->ir->reconv.n + compilation->ir->predicated.n + 1);
    unsigned n = 0;
    for (unsigned k = 0; k < compilation->ir->reconv.n; k++) {
        const ReconvReport *report = &compilation->ir->reconv.at[k];
        uint32_t pc = branch_pc(report->func, report->branch);
        if (pc != UINT32_MAX)
            notes[n++] = (Note){report->func, pc, report, NULL};
    }
    for (unsigned k = 0; k < compilation->ir->predicated.n; k++) {
        const PredicateReport *report = &compilation->ir->predicated.at[k];
        uint32_t pc = report->reason == PR_CONVERTED ? inst_pc(report->func, report->first)
                      : report->shape                ? branch_pc(report->func, report->branch)
                                                     : UINT32_MAX;
        if (pc != UINT32_MAX)
            notes[n++] = (Note){report->func, pc, NULL, report};
    }
    FILE *out = open_memstream(result, result_size);
    const Function *f = NULL;
    for (const char *line = text; out && line < text + size;) {
        const char *end = memchr(line, '\n', (size_t)(text + size - line));
        size_t len = end ? (size_t)(end - line) : (size_t)(text + size - line);
        uint32_t pc;
        f = function_of_line(compilation, line, len, f);
        fwrite(line, 1, len, out);
        bool open = memmem(line, len, "//", 2) != NULL;
        for (unsigned k = 0; f && line_pc(line, len, &pc) && k < n; k++)
            if (notes[k].func == f && notes[k].pc == pc) {
                write_note(compilation, &notes[k], open, out);
                open = true;
            }
        if (end)
            fputc('\n', out);
        line += len + (end != NULL);
    }
    arena_free(&a);
    return out && fclose(out) == 0;
}
