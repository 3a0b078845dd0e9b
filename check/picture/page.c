/* The page as a whole, its figures and tables. See page.h. SPDX-License-Identifier: MIT */
#include "check/picture/page.h"
#include "base/demangle.h"
#include "check/picture/markup.h"
#include "check/picture/page_parts.h"
#include "check/picture/picture_lines.h"
#include <math.h>
#include <string.h>

/* ---- tables of the reports' objects ---- */

typedef struct {
    const char *key, *head;
    enum { AS_TEXT, AS_NUMBER, AS_ADDRESS, AS_BARRIER, AS_SHARE } as;
} Column;

static void put_cell(const cJSON *row, const Column *column, FILE *out) {
    const cJSON *cell = cJSON_GetObjectItemCaseSensitive(row, column->key);
    fputs(column->as == AS_TEXT ? "<td class=\"i\">" : "<td>", out);
    if (cJSON_IsString(cell))
        markup_string(out, cell->valuestring);
    else if (cJSON_IsBool(cell))
        fputs(cJSON_IsTrue(cell) ? "yes" : "no", out);
    else if (cJSON_IsNumber(cell) && column->as == AS_ADDRESS)
        fprintf(out, "%04x", (unsigned)cell->valuedouble);
    else if (cJSON_IsNumber(cell) && column->as == AS_BARRIER)
        fprintf(out, "B%u", (unsigned)cell->valuedouble);
    else if (cJSON_IsNumber(cell))
        fprintf(out, fabs(cell->valuedouble) < 1e4 ? "%.4g" : "%.0f", cell->valuedouble);
    fputs("</td>", out);
}

static bool is_of(const cJSON *row, const char *function) {
    const cJSON *name = function ? cJSON_GetObjectItemCaseSensitive(row, "function") : NULL;
    return !function || (cJSON_IsString(name) && strcmp(name->valuestring, function) == 0);
}

/* The rows of one function, with those columns that have something in them; "" ends the columns. */
static void put_table(const cJSON *list, const char *caption, const char *function, const Column *columns,
                      FILE *out) {
    const cJSON *row;
    bool any = false, used[16] = {false};
    cJSON_ArrayForEach(row, list) {
        any |= is_of(row, function);
        for (unsigned k = 0; is_of(row, function) && columns[k].key; k++)
            used[k] |= cJSON_HasObjectItem(row, columns[k].key) != 0;
    }
    if (!any)
        return;
    fprintf(out, "<div class=\"rows\"><table class=\"data\"><caption>%s</caption><thead><tr>", caption);
    for (unsigned k = 0; columns[k].key; k++)
        if (used[k])
            fprintf(out, "<th%s>%s</th>", columns[k].as == AS_TEXT ? " class=\"i\"" : "", columns[k].head);
    fputs("</tr></thead><tbody>\n", out);
    cJSON_ArrayForEach(row, list) {
        if (!is_of(row, function))
            continue;
        fputs("<tr>", out);
        for (unsigned k = 0; columns[k].key; k++)
            if (used[k])
                put_cell(row, &columns[k], out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

static void put_decisions(const PageInput *page, const char *function, FILE *out) {
    static const Column branches[] = {{"pc", "branch at", AS_ADDRESS},
                                      {"line", "PTX line", AS_NUMBER},
                                      {"source", "source", AS_TEXT},
                                      {"barrier", "barrier", AS_BARRIER},
                                      {"join_line", "joins at line", AS_NUMBER},
                                      {"saves", "saves", AS_NUMBER},
                                      {"loop_line", "in the loop of line", AS_NUMBER},
                                      {"warps", "warps", AS_NUMBER},
                                      {"divergent", "parted", AS_NUMBER},
                                      {"lanes", "lanes", AS_NUMBER},
                                      {"why", "why", AS_TEXT},
                                      {NULL, NULL, AS_TEXT}};
    static const Column predication[] = {{"line", "PTX line", AS_NUMBER},
                                         {"source", "source", AS_TEXT},
                                         {"shape", "shape", AS_TEXT},
                                         {"instructions", "inside", AS_NUMBER},
                                         {"selects", "selects added", AS_NUMBER},
                                         {"branch_issues", "issues as a branch", AS_NUMBER},
                                         {"guard_issues", "under guards", AS_NUMBER},
                                         {"converted", "converted", AS_TEXT},
                                         {"why", "why", AS_TEXT},
                                         {NULL, NULL, AS_TEXT}};
    static const Column melding[] = {{"line", "PTX line", AS_NUMBER},
                                     {"source", "source", AS_TEXT},
                                     {"instructions", "melded", AS_NUMBER},
                                     {"alone", "alone", AS_NUMBER},
                                     {"selects", "selects", AS_NUMBER},
                                     {"why", "why", AS_TEXT},
                                     {NULL, NULL, AS_TEXT}};
    put_table(cJSON_GetObjectItemCaseSensitive(page->decisions, "branches"),
              "Divergent branches: where their lanes come together, and what a warp is expected to save, in "
              "instructions",
              function, branches, out);
    put_table(cJSON_GetObjectItemCaseSensitive(page->decisions, "predication"),
              "Branches made guarded code, or not", function, predication, out);
    put_table(cJSON_GetObjectItemCaseSensitive(page->decisions, "melding"), "Sides of branches run together",
              function, melding, out);
}

/* ---- a side's regions, with what a run has counted ---- */

typedef struct {
    uint64_t bssy, sync, issues, apart;
} RegionRun;

static RegionRun count_region(const Lanes *lanes, const BinRegion *region, const BinFuncFlow *func) {
    RegionRun run = {.bssy = lanes->issues[region->bssy]};
    if (region->sync != BINFLOW_NONE)
        run.sync = lanes->issues[region->sync];
    for (uint32_t i = 0; i < func->ninsts; i++)
        if (region->inside[i]) {
            run.issues += lanes->issues[func->first_inst + i];
            run.apart += lanes->lost[func->first_inst + i];
        }
    return run;
}

static void put_regions(const PageSide *side, uint32_t func, char letter, FILE *out) {
    static const Column columns[] = {
        {"barrier", NULL, AS_BARRIER}, {"bssy", NULL, AS_ADDRESS},        {"bsync", NULL, AS_ADDRESS},
        {"depth", NULL, AS_NUMBER},    {"instructions", NULL, AS_NUMBER}, {"branches", NULL, AS_NUMBER},
        {"breaks", NULL, AS_NUMBER},   {"first_line", NULL, AS_NUMBER},   {"last_line", NULL, AS_NUMBER}};
    Arena a = {0};
    uint32_t n, k = 0;
    const BinRegion *regions = bin_regions(side->side->flow, func, &a, &n);
    cJSON *figures = json_object(), *region;
    char anchor[16];
    page_anchor(letter, side, func, anchor);
    figures_add(side->side, func, figures);
    if (n) {
        fputs("<table class=\"data regions\"><caption>Regions of convergence "
              "barriers</caption><thead><tr><th>barrier</th><th>registers at (BSSY)</th><th>waits at "
              "(BSYNC)</th><th>depth</th>"
              "<th>instructions</th><th>branches</th><th>BREAKs</th><th>from PTX line</th><th>to</th>",
              out);
        if (side->lanes)
            fputs(
                "<th>BSSY issued</th><th>BSYNC issued</th><th>issued inside</th><th>lanes apart inside</th>",
                out);
        fputs("</tr></thead><tbody>\n", out);
    }
    cJSON_ArrayForEach(region, cJSON_GetObjectItemCaseSensitive(figures, "regions")) {
        fprintf(out, "<tr data-i=\"%s%04x\">", anchor, (unsigned)figures_number(region, "bssy"));
        for (unsigned c = 0; c < sizeof columns / sizeof *columns; c++)
            put_cell(region, &columns[c], out);
        if (side->lanes) {
            RegionRun run = count_region(side->lanes, &regions[k], &side->side->flow->funcs[func]);
            fprintf(out, "<td>%llu</td><td>%llu</td><td>%llu</td><td>%.0f %%</td>",
                    (unsigned long long)run.bssy, (unsigned long long)run.sync,
                    (unsigned long long)run.issues,
                    run.issues ? 100 * (double)run.apart / (32 * (double)run.issues) : 0.0);
        }
        fputs("</tr>\n", out);
        k++;
    }
    if (n)
        fputs("</tbody></table>\n", out);
    json_drop(figures);
    arena_free(&a);
}

/* ---- counts ---- */

static void put_run_counts(const PageInput *page, FILE *out) {
    static const char *const names[] = {"warp instructions", "lanes active, of 32", "lanes apart, of 32",
                                        "changes of the active lanes"};
    const Lanes *sides[2] = {page->ours.lanes, page->other.lanes};
    for (unsigned row = 0; page->ours.lanes && row < 4; row++) {
        fprintf(out, "<tr><th>%s</th>", names[row]);
        for (unsigned s = 0; s < 1 + (page->other.side != NULL); s++) {
            const Lanes *lanes = sides[s];
            if (!lanes || !lanes->all_issues)
                fputs("<td></td>", out);
            else if (row == 1 || row == 2)
                fprintf(out, "<td>%.1f %%</td>",
                        100 * (double)(row == 1 ? lanes->all_active : lanes->all_lost) /
                            (32 * (double)lanes->all_issues));
            else
                fprintf(out, "<td>%llu</td>",
                        (unsigned long long)(row ? lanes->all_switches : lanes->all_issues));
        }
        fputs("</tr>\n", out);
    }
}

static void put_counts(const PageInput *page, FILE *out) {
    cJSON *figures[2] = {json_object(), NULL};
    figures_add(page->ours.side, page->ours.func, figures[0]);
    if (page->other.side) {
        figures[1] = json_object();
        figures_add(page->other.side, page->other.func, figures[1]);
    }
    fputs("<table class=\"data counts\"><thead><tr><th></th><th>", out);
    markup_string(out, page->ours.name);
    fputs("</th>", out);
    if (figures[1]) {
        fputs("<th>", out);
        markup_string(out, page->other.name);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
    for (const FigureCount *count = figures_counts; count->key; count++) {
        fprintf(out, "<tr data-count=\"%s\"><th>%s</th><td>%.0f</td>", count->key, count->label,
                figures_number(figures[0], count->key));
        if (figures[1])
            fprintf(out, "<td>%.0f</td>", figures_number(figures[1], count->key));
        fputs("</tr>\n", out);
    }
    put_run_counts(page, out);
    fputs("</tbody></table>\n", out);
    for (unsigned s = 0; s < 2; s++) {
        if (figures[s])
            json_drop(figures[s]);
        const PageSide *side = s ? &page->other : &page->ours;
        if (side->run) {
            fputs("<p>", out);
            markup_string(out, side->name);
            fputs(": ", out);
            markup_string(out, side->run);
            fputs("</p>\n", out);
        }
    }
}

/* ---- the whole ---- */

/* The kernel, and what it may call, in the order of the calls. */
static PageFuncs shown_functions(const PageSide *side, Arena *a) {
    const BinFlow *flow = side->side->flow;
    PageFuncs found = {ARENA_ARRAY(a, uint32_t, flow->bin->nfuncs + 1), 1};
    bool *seen = ARENA_ARRAY(a, bool, flow->bin->nfuncs + 1);
    found.funcs[0] = side->func;
    seen[side->func] = true;
    for (uint32_t k = 0; k < found.n; k++)
        for (uint32_t c = 0; c < flow->funcs[found.funcs[k]].ncalls; c++) {
            uint32_t callee = flow->funcs[found.funcs[k]].calls[c].callee;
            if (callee != BINFLOW_NONE && !seen[callee]) {
                seen[callee] = true;
                found.funcs[found.n++] = callee;
            }
        }
    return found;
}

static void put_graphs(const PageSide *side, const PageFuncs *funcs, char letter, FILE *out) {
    for (uint32_t k = 0; k < funcs->n; k++) {
        Arena a = {0};
        Picture picture;
        char anchor[16];
        page_anchor(letter, side, funcs->funcs[k], anchor);
        picture_make(&picture, side->side->flow, funcs->funcs[k], &a);
        fputs("<h3>", out);
        markup_string(out, side->side->binary->funcs[funcs->funcs[k]].name);
        fputs("</h3>\n<div class=\"scroll graph\">", out);
        picture_svg(&picture, anchor, side->lanes, NULL, out);
        fputs("</div>\n", out);
        put_regions(side, funcs->funcs[k], letter, out);
        arena_free(&a);
    }
}

static void put_legend(bool heat, FILE *out) {
    fputs(
        "<p class=\"legend\">A frame is what the lanes of a convergence barrier run from the BSSY that "
        "registers them to the BSYNC where they wait for each other; a BREAK leaves it. "
        "Boxes are cut there. A line that begins with a circle is a branch taken, the thicker lines go back.",
        out);
    if (heat)
        fputs(" The bar under a box's address is how often it was issued, the one at its foot the share of "
              "lanes that were elsewhere meanwhile.",
              out);
    fputs("</p>\n", out);
}

static void put_head(const PageInput *page, Arena *a, FILE *out) {
    const BinFunc *kernel = &page->ours.side->binary->funcs[page->ours.func];
    const char *plain = str_demangle(a, kernel->name);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
          "content=\"width=device-width\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
          out);
    markup_string(out, kernel->name);
    fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<header><h1>",
            picture_embedded("page.css"), picture_style());
    markup_string(out, plain ? plain : kernel->name);
    fputs("</h1>\n<p>", out);
    if (plain) {
        fputs("<code>", out);
        markup_string(out, kernel->name);
        fputs("</code>. ", out);
    }
    markup_string(out, page->ours.name);
    fprintf(out, ", machine code for %s", isa_target_name(page->ours.side->binary->target));
    if (page->ptx) {
        fputs(", PTX of ", out);
        markup_string(out, page->ptx->source.name);
    }
    fprintf(out, ". Written by heddle %s.", HEDDLE_VERSION);
    if (page->note) {
        fputc(' ', out);
        markup_string(out, page->note);
    }
    fputs("</p>\n<nav><a href=\"#figures\">Figures</a> <a href=\"#flow\">Control flow</a> <a "
          "href=\"#code\">Code</a>",
          out);
    if (page->ours.lanes)
        fputs(" <a href=\"#lanes\">Lanes over time</a>", out);
    if (page->other.side)
        fputs(" <a href=\"#other\">Compared with</a>", out);
    fputs("</nav></header>\n", out);
}

static void put_code(const PageInput *page, const PageFuncs *funcs, Arena *a, FILE *out) {
    fputs("<section id=\"code\"><h2>Code</h2>\n<p>Lines that belong together light up; a click brings the "
          "others into view. wait, rd, wr: scoreboards waited for and set; yld: may yield; stall: cycles "
          "before the "
          "next instruction; .reuse stands at its operand.</p>\n<div class=\"panes\">",
          out);
    if (page->nsources) {
        fputs("<div class=\"pane source\" tabindex=\"0\">\n", out);
        page_source(page, funcs, a, out);
        fputs("</div>", out);
    }
    if (page->ptx) {
        fputs("<div class=\"pane ptx\" tabindex=\"0\">\n", out);
        page_ptx(page, funcs, out);
        fputs("</div>", out);
    }
    fputs("<div class=\"pane sass\" tabindex=\"0\">\n", out);
    page_code(&page->ours, funcs, 'a', a, out);
    fputs("</div></div></section>\n", out);
}

static void put_other(const PageInput *page, Arena *a, FILE *out) {
    PageFuncs funcs = shown_functions(&page->other, a);
    fputs("<section id=\"other\"><h2>Compared with ", out);
    markup_string(out, page->other.name);
    fputs("</h2>\n", out);
    put_graphs(&page->other, &funcs, 'b', out);
    if (page->other.lanes)
        page_lanes(&page->other, out);
    fputs("<div class=\"panes\"><div class=\"pane sass\" tabindex=\"0\">\n", out);
    page_code(&page->other, &funcs, 'b', a, out);
    fputs("</div></div></section>\n", out);
}

void page_write(const PageInput *page, FILE *out) {
    Arena a = {0};
    PageFuncs funcs = shown_functions(&page->ours, &a);
    put_head(page, &a, out);
    fputs("<section id=\"figures\"><h2>Figures</h2>\n", out);
    put_counts(page, out);
    for (uint32_t k = 0; page->decisions && k < funcs.n; k++)
        put_decisions(page, page->ours.side->binary->funcs[funcs.funcs[k]].name, out);
    fputs("</section>\n<section id=\"flow\"><h2>Control flow</h2>\n", out);
    put_legend(page->ours.lanes != NULL, out);
    put_graphs(&page->ours, &funcs, 'a', out);
    fputs("</section>\n", out);
    put_code(page, &funcs, &a, out);
    if (page->ours.lanes) {
        fputs("<section id=\"lanes\"><h2>Lanes over time</h2>\n", out);
        page_lane_legend(out);
        page_lanes(&page->ours, out);
        fputs("</section>\n", out);
    }
    if (page->other.side)
        put_other(page, &a, out);
    fprintf(out, "<script>\n%s</script>\n</body>\n</html>\n", picture_embedded("page.js"));
    arena_free(&a);
}
