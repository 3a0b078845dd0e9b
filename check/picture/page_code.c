/* Listings: machine code with control codes and counts, PTX, source; rows that belong together name the same
 * lines. See page_parts.h. SPDX-License-Identifier: MIT */
#include "check/picture/markup.h"
#include "check/picture/page_parts.h"
#include <stdlib.h>
#include <string.h>

void page_anchor(char letter, const PageSide *side, uint32_t func, char out[16]) {
    if (func == side->func)
        snprintf(out, 16, "%c", letter);
    else
        snprintf(out, 16, "%c%u-", letter, func);
}

/* ---- machine code ---- */

static const char heads[] = "<tr><th>at</th><th title=\"scoreboards waited for\">wait</th><th "
                            "title=\"scoreboard set when operands are read\">rd</th>"
                            "<th title=\"scoreboard set when the result is there\">wr</th><th title=\"may "
                            "yield to another warp\">yld</th>"
                            "<th title=\"stall cycles\">stall</th><th title=\"convergence barriers whose "
                            "region it is in\">in</th><th>instruction</th>";

static void put_control(const MachInst *inst, FILE *out) {
    char wait[7] = "------";
    for (unsigned k = 0; k < 6; k++)
        if (inst->ctrl.wait_mask >> k & 1)
            wait[k] = (char)('0' + k);
    fprintf(out, "<td>%s</td>", inst->ctrl.wait_mask ? wait : "");
    uint8_t boards[2] = {inst->ctrl.read_sb, inst->ctrl.write_sb};
    for (unsigned k = 0; k < 2; k++)
        if (boards[k] < 7)
            fprintf(out, "<td>%u</td>", boards[k]);
        else
            fputs("<td></td>", out);
    fprintf(out, "<td>%s</td><td>%u</td>", inst->ctrl.yield ? "Y" : "", inst->ctrl.stall_cycles);
}

static void put_count(uint64_t count, uint64_t most, FILE *out) {
    if (count)
        fprintf(out, "<td class=\"n\" style=\"--h:%.0f\">%llu</td>",
                100 * (double)count / (double)(most ? most : 1), (unsigned long long)count);
    else
        fputs("<td class=\"n\"></td>", out);
}

static uint64_t most_of(const uint64_t *counts, const BinFuncFlow *func) {
    uint64_t most = 0;
    for (uint32_t i = func->first_inst; i < func->first_inst + func->ninsts; i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

/* most[]: the highest counts of the function. */
static void put_row(const PageSide *side, const Picture *picture, uint32_t i, const char *anchor,
                    const uint64_t most[3], FILE *out) {
    const BinFlow *flow = side->side->flow;
    const BinFuncFlow *func = &flow->funcs[picture->func];
    const BinLoc *loc = flow->bin->funcs[picture->func].locs
                            ? &flow->bin->funcs[picture->func].locs[i - func->first_inst]
                            : NULL;
    const char *role = picture_role(flow, i);
    char text[PICTURE_TEXT_BYTES], inside[64];
    bool reached = flow->block_of[i] != BINFLOW_NONE && flow->blocks[flow->block_of[i]].reachable;
    fprintf(out, "<tr id=\"%s%04x\"%s", anchor, picture_offset(flow, i), reached ? "" : " class=\"dead\"");
    if (loc && loc->ptx_line)
        fprintf(out, " data-p=\"%u\"", loc->ptx_line);
    if (loc && loc->src_line)
        fprintf(out, " data-s=\"%u-%u\"", loc->src_file, loc->src_line);
    picture_inside(picture, i, inside);
    picture_text(flow, i, text);
    fprintf(out, "><th>%04x</th>", picture_offset(flow, i));
    put_control(&flow->insts[i], out);
    fprintf(out, "<td>%s</td><td class=\"i\">", inside);
    markup_string(out, text);
    if (role)
        fprintf(out, " <b>&#8592; %s</b>", role);
    fputs("</td>", out);
    if (side->lanes) {
        put_count(side->lanes->issues[i], most[0], out);
        put_count(side->lanes->lost[i], most[1], out);
        put_count(side->lanes->guarded[i], most[2], out);
    }
    fputs("</tr>\n", out);
}

void page_code(const PageSide *side, const PageFuncs *funcs, char letter, Arena *a, FILE *out) {
    for (uint32_t k = 0; k < funcs->n; k++) {
        const BinFuncFlow *func = &side->side->flow->funcs[funcs->funcs[k]];
        char anchor[16];
        Picture picture = {.flow = side->side->flow, .func = funcs->funcs[k]};
        picture.regions = bin_regions(picture.flow, picture.func, a, &picture.nregions);
        page_anchor(letter, side, picture.func, anchor);
        fputs("<table class=\"code\"><caption>", out);
        markup_string(out, side->side->binary->funcs[picture.func].name);
        fprintf(out, "</caption><thead>%s%s</tr></thead><tbody>\n", heads,
                side->lanes ? "<th title=\"times issued\">issues</th><th title=\"lanes there, but "
                              "elsewhere\">apart</th><th title=\"lanes whose guard was false\">off</th>"
                            : "");
        uint64_t most[3] = {0};
        if (side->lanes) {
            most[0] = most_of(side->lanes->issues, func);
            most[1] = most_of(side->lanes->lost, func);
            most[2] = most_of(side->lanes->guarded, func);
        }
        for (uint32_t i = func->first_inst; i < func->first_inst + func->ninsts; i++)
            put_row(side, &picture, i, anchor, most, out);
        fputs("</tbody></table>\n", out);
    }
}

/* ---- PTX and source ---- */

static void put_line(const char *id, const char *key, uint32_t number, const char *line, size_t size,
                     FILE *out) {
    fprintf(out, "<tr id=\"%s\" data-%s=\"%s\"><th>%u</th><td>", id, key, id + 1, number);
    markup_text(out, line, size);
    fputs("</td></tr>\n", out);
}

/* A text line by line. */
typedef struct {
    const char *at, *end;
    uint32_t number; /* of the next line, from 1 */
} TextLines;

/* The next line, and its size; NULL: there is none. */
static const char *next_line(TextLines *lines, size_t *line_bytes) {
    const char *line = lines->at;
    if (line >= lines->end)
        return NULL;
    const char *stop = memchr(line, '\n', (size_t)(lines->end - line));
    *line_bytes = (size_t)((stop ? stop : lines->end) - line);
    lines->at = stop ? stop + 1 : lines->end;
    lines->number++;
    return line;
}

/* From line `number` on. */
static TextLines lines_from(const char *text, size_t size, uint32_t number) {
    TextLines lines = {text, text + size, 1};
    size_t ignored;
    while (lines.number < number && next_line(&lines, &ignored))
        ;
    return lines;
}

/* The lines of a function: from its head to the brace that ends it. */
static void put_function(const PtxModule *module, const PtxFunc *func, FILE *out) {
    uint32_t first = ptx_loc_line(module, func->loc),
             last = func->ninsns ? ptx_line(module, &func->insns[func->ninsns - 1]) : first;
    size_t size;
    const char *line;
    bool closed = false;
    TextLines lines = lines_from(module->source.text, module->source.size_bytes, first);
    while (!closed && (line = next_line(&lines, &size))) {
        uint32_t number = lines.number - 1;
        char id[16];
        snprintf(id, sizeof id, "p%u", number);
        put_line(id, "p", number, line, size, out);
        while (size && (line[0] == ' ' || line[0] == '\t')) {
            line++;
            size--;
        }
        closed = number >= last && size && *line == '}';
    }
}

void page_ptx(const PageInput *page, const PageFuncs *funcs, FILE *out) {
    for (uint32_t k = 0; k < funcs->n; k++) {
        uint32_t found = ptx_find_func(page->ptx, page->ours.side->binary->funcs[funcs->funcs[k]].name);
        if (!found || !page->ptx->funcs[found - 1].has_body)
            continue;
        fputs("<table class=\"text\"><caption>", out);
        markup_string(out, page->ptx->source.name);
        fputs("</caption><tbody>\n", out);
        put_function(page->ptx, &page->ptx->funcs[found - 1], out);
        fputs("</tbody></table>\n", out);
    }
}

/* Lines of a file from a little before the first that code names to a little behind the last. */
enum { AROUND = 3 };

static void put_source_line(uint32_t file, uint32_t number, const char *line, size_t size, FILE *out) {
    char id[32];
    snprintf(id, sizeof id, "s%u-%u", file, number);
    put_line(id, "s", number, line, size, out);
}

/* Of a file that is not there only the numbers that code names, named[], in their order. */
static void put_file(const PageSource *source, uint32_t file, const uint32_t *named, uint32_t n, FILE *out) {
    uint32_t first = named[0] > AROUND ? named[0] - AROUND : 1;
    size_t size;
    const char *line;
    fputs("<table class=\"text\"><caption>", out);
    markup_string(out, source->name);
    fputs("</caption><tbody>\n", out);
    TextLines lines = {0};
    if (source->text)
        lines = lines_from(source->text, source->size_bytes, first);
    while (source->text && (uint64_t)lines.number <= (uint64_t)named[n - 1] + AROUND &&
           (line = next_line(&lines, &size)))
        put_source_line(file, lines.number - 1, line, size, out);
    for (uint32_t k = 0; !source->text && k < n; k++)
        if (!k || named[k] != named[k - 1])
            put_source_line(file, named[k], "", 0, out);
    fputs("</tbody></table>\n", out);
}

static int compare_numbers(const void *one, const void *other) {
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

void page_source(const PageInput *page, const PageFuncs *funcs, Arena *a, FILE *out) {
    for (uint32_t file = 0; file < page->nsources; file++) {
        const BinFunc *all = page->ours.side->binary->funcs;
        VEC(uint32_t) named = {0};
        for (uint32_t k = 0; k < funcs->n; k++)
            for (uint32_t i = 0; all[funcs->funcs[k]].locs && i < all[funcs->funcs[k]].ninsts; i++) {
                const BinLoc *loc = &all[funcs->funcs[k]].locs[i];
                if (loc->src_file == file && loc->src_line)
                    VEC_ADD(a, &named, loc->src_line);
            }
        if (!named.n)
            continue;
        qsort(named.at, named.n, sizeof *named.at, compare_numbers);
        put_file(&page->sources[file], file, named.at, named.n, out);
    }
}
