/* Listings: machine code with control codes and counts, PTX, source; rows that belong together name the same
 * lines. See page_parts.h. SPDX-License-Identifier: MIT */
#include "check/picture/markup.h"
#include "check/picture/page_parts.h"
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

static void put_row(const PageSide *side, const Picture *picture, uint32_t i, const char *anchor, FILE *out) {
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
        put_count(side->lanes->issues[i], most_of(side->lanes->issues, func), out);
        put_count(side->lanes->lost[i], most_of(side->lanes->lost, func), out);
        put_count(side->lanes->guarded[i], most_of(side->lanes->guarded, func), out);
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
        for (uint32_t i = func->first_inst; i < func->first_inst + func->ninsts; i++)
            put_row(side, &picture, i, anchor, out);
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

static const char *line_at(const char *text, size_t size, uint32_t number, size_t *line_bytes) {
    const char *at = text, *end = text + size;
    for (; number > 1 && at; number--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at || at >= end)
        return NULL;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *line_bytes = (size_t)((stop ? stop : end) - at);
    return at;
}

/* The lines of a function: from its head to the brace that ends it. */
static void put_function(const PtxModule *module, const PtxFunc *func, FILE *out) {
    uint32_t first = ptx_loc_line(module, func->loc),
             last = func->ninsns ? ptx_line(module, &func->insns[func->ninsns - 1]) : first;
    size_t size;
    const char *line;
    bool closed = false;
    for (uint32_t number = first;
         !closed && (line = line_at(module->source.text, module->source.size_bytes, number, &size));
         number++) {
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

static void put_file(const PageSource *source, uint32_t file, uint32_t first, uint32_t last,
                     const bool *named, FILE *out) {
    fputs("<table class=\"text\"><caption>", out);
    markup_string(out, source->name);
    fputs("</caption><tbody>\n", out);
    for (uint32_t number = first > AROUND ? first - AROUND : 1; number <= last + (source->text ? AROUND : 0);
         number++) {
        size_t size = 0;
        const char *line = source->text ? line_at(source->text, source->size_bytes, number, &size) : "";
        char id[32];
        if (!line)
            break;
        if (!source->text && !named[number])
            continue;
        snprintf(id, sizeof id, "s%u-%u", file, number);
        put_line(id, "s", number, line, size, out);
    }
    fputs("</tbody></table>\n", out);
}

void page_source(const PageInput *page, const PageFuncs *funcs, Arena *a, FILE *out) {
    for (uint32_t file = 0; file < page->nsources; file++) {
        uint32_t first = UINT32_MAX, last = 0;
        const BinFunc *all = page->ours.side->binary->funcs;
        for (unsigned round = 0; round < 2; round++) {
            bool *named = round ? ARENA_ARRAY(a, bool, last + 1) : NULL;
            for (uint32_t k = 0; k < funcs->n; k++)
                for (uint32_t i = 0; all[funcs->funcs[k]].locs && i < all[funcs->funcs[k]].ninsts; i++) {
                    const BinLoc *loc = &all[funcs->funcs[k]].locs[i];
                    if (loc->src_file != file || !loc->src_line)
                        continue;
                    if (named)
                        named[loc->src_line] = true;
                    first = loc->src_line < first ? loc->src_line : first;
                    last = loc->src_line > last ? loc->src_line : last;
                }
            if (!last)
                break;
            if (named)
                put_file(&page->sources[file], file, first, last, named, out);
        }
    }
}
