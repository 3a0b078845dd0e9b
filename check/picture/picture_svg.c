/* Pictures as SVG and for dot(1). See picture.h. SPDX-License-Identifier: MIT */
#include "base/embedded.h"
#include "check/picture/markup.h"
#include "check/picture/picture_lines.h"
#include <math.h>
#include <string.h>

enum {
    ALL_LINES = 10,
    FIRST_LINES = 4,
    LAST_LINES = 3,
    MOST_CHARS = 62,
    LINE_HEIGHT = 13,
    HEAD_HEIGHT = 19,
    HEAD_CHARS = 40
};
static const double char_width = 6.7;

extern const EmbeddedFile picture_files[];

const char *picture_style(void) { return picture_embedded("graph.css"); }

const char *picture_embedded(const char *name) {
    const EmbeddedFile *file = picture_files;
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    return file->text;
}

/* ---- lines ---- */

typedef struct {
    uint32_t inst, skipped; /* an instruction, or so many that are left out */
} Line;

static bool is_shown(const BinFlow *flow, const PicturePart *part, uint32_t i) {
    BinKind kind = flow->decoded[i] ? bin_kind(&flow->insts[i]) : BK_PLAIN;
    return part->end - part->first <= ALL_LINES || i < part->first + FIRST_LINES ||
           i + LAST_LINES >= part->end || (kind != BK_PLAIN && kind != BK_NOP);
}

/* The next line of the part from `i` on; false: there is none. */
static bool next_picture_line(const BinFlow *flow, const PicturePart *part, uint32_t *i, Line *line) {
    *line = (Line){*i, 0};
    if (*i >= part->end)
        return false;
    while (*i < part->end && !is_shown(flow, part, *i)) {
        line->skipped++;
        (*i)++;
    }
    *i += !line->skipped;
    return true;
}

/* "0110 BSSY B0, 0x220"; too long ones are cut. */
static void line_text(const BinFlow *flow, const Line *line, char out[PICTURE_TEXT_BYTES + 40]) {
    char text[PICTURE_TEXT_BYTES];
    if (line->skipped) {
        snprintf(out, PICTURE_TEXT_BYTES + 40, "     ... %u more", line->skipped);
        return;
    }
    const char *role = picture_role(flow, line->inst);
    picture_text(flow, line->inst, text);
    snprintf(out, PICTURE_TEXT_BYTES + 40, "%04x %s", picture_offset(flow, line->inst), text);
    if (strlen(out) > MOST_CHARS)
        strcpy(out + MOST_CHARS - 3, "...");
    if (role)
        sprintf(out + strlen(out), "  <- %s", role);
}

void picture_box_size(const Picture *picture, uint32_t box, double *width, double *height) {
    const PicturePart *part = &picture->parts[box];
    char text[PICTURE_TEXT_BYTES + 40];
    size_t most = 22, n = 0;
    Line line;
    for (uint32_t i = part->first; next_picture_line(picture->flow, part, &i, &line); n++) {
        line_text(picture->flow, &line, text);
        most = strlen(text) > most ? strlen(text) : most;
    }
    picture_inside(picture, part->first, text);
    size_t head = strlen(text) + 22;
    most = head > most ? head : most;
    *width = ceil((double)most * char_width + 14);
    *height = (double)(HEAD_HEIGHT + LINE_HEIGHT * n + 6);
}

static void title_text(const Picture *picture, uint32_t frame, char out[120]) {
    const BinRegion *region = &picture->regions[picture->frame_regions[frame]];
    char end[16] = "nowhere";
    if (region->sync != BINFLOW_NONE)
        snprintf(end, sizeof end, "%04x", picture_offset(picture->flow, region->sync));
    snprintf(out, 120, "B%u: from %04x, waits %s", region->reg, picture_offset(picture->flow, region->bssy),
             end);
}

double picture_title_width(const Picture *picture, uint32_t frame) {
    char text[120];
    title_text(picture, frame, text);
    return ceil((double)strlen(text) * char_width + 10);
}

/* ---- SVG ---- */

static void put_frame(const Picture *picture, uint32_t f, FILE *out) {
    const LayoutFrame *frame = &picture->graph.frames[f];
    const BinRegion *region = &picture->regions[picture->frame_regions[f]];
    unsigned depth = 0;
    char text[120];
    for (uint32_t at = frame->frame; at != LAYOUT_NONE; at = picture->graph.frames[at].frame)
        depth++;
    title_text(picture, f, text);
    fprintf(
        out,
        "<g class=\"frame\" data-barrier=\"%u\" data-bssy=\"%u\" data-parent=\"%d\"><rect class=\"d%u\" "
        "x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"4\"/>",
        region->reg, picture_offset(picture->flow, region->bssy),
        frame->frame == LAYOUT_NONE
            ? -1
            : (int)picture_offset(picture->flow, picture->regions[picture->frame_regions[frame->frame]].bssy),
        depth % 4, frame->x, frame->y, frame->width, frame->height);
    fprintf(out, "<text x=\"%g\" y=\"%g\">%s</text></g>\n", frame->x + 12, frame->y + 14, text);
}

static void put_edge(const Picture *picture, uint32_t e, FILE *out) {
    static const char *const names[] = {[BE_NEXT] = "next", [BE_TAKEN] = "taken", [BE_TABLE] = "table"};
    const LayoutEdge *edge = &picture->graph.edges[e];
    const LayoutPoint *points = edge->points, *end = &points[edge->npoints - 1];
    fprintf(out, "<g class=\"edge %s%s\"><path d=\"M%g %g", names[picture->kinds[e]],
            edge->back ? " back" : "", points->x, points->y);
    for (uint32_t k = 1; k < edge->npoints; k++) {
        bool upright = points[k].x == points[k - 1].x;
        fprintf(out, upright ? "V%g" : "H%g",
                upright ? points[k].y - (k + 1 == edge->npoints ? 5 : 0) : points[k].x);
    }
    fprintf(out, "\"/><path class=\"tip\" d=\"M%g %gl-3.5 -7h7z\"/>", end->x, end->y);
    if (picture->kinds[e] != BE_NEXT)
        fprintf(out, "<circle cx=\"%g\" cy=\"%g\" r=\"3\"/>", points->x, points->y + 1);
    fputs("</g>\n", out);
}

/* Issues of a part, and of these lanes the share that was apart. */
static void put_heat(const Picture *picture, const LayoutBox *box, const PicturePart *part,
                     const Lanes *lanes, FILE *out) {
    uint64_t issues = 0, most = 1, lost = 0, all = 0;
    const BinFuncFlow *func = &picture->flow->funcs[picture->func];
    for (uint32_t i = func->first_inst; i < func->first_inst + func->ninsts; i++)
        most = lanes->issues[i] > most ? lanes->issues[i] : most;
    for (uint32_t i = part->first; i < part->end; i++) {
        issues = lanes->issues[i] > issues ? lanes->issues[i] : issues;
        lost += lanes->lost[i];
        all += lanes->issues[i];
    }
    double part_lost = all ? (double)lost / (32 * (double)all) : 0;
    fprintf(out, "<rect class=\"heat\" x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"3\"/>", box->x + 1,
            box->y + (double)HEAD_HEIGHT - 4, (box->width - 2) * (double)issues / (double)most);
    fprintf(out, "<rect class=\"lost\" x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"3\"/>", box->x + 1,
            box->y + box->height - 4, (box->width - 2) * part_lost);
    fprintf(out, "<text class=\"count\" x=\"%g\" y=\"%g\">%llu&#215;</text>", box->x + box->width - 6,
            box->y + 12, (unsigned long long)issues);
    if (lost)
        fprintf(out, "<title>issued %llu times; %.0f %% of 32 lanes were apart</title>",
                (unsigned long long)issues, 100 * part_lost);
}

static void put_box(const Picture *picture, uint32_t b, const char *anchor, const Lanes *lanes, FILE *out) {
    const LayoutBox *box = &picture->graph.boxes[b];
    const PicturePart *part = &picture->parts[b];
    char text[PICTURE_TEXT_BYTES + 40], inside[64];
    Line line;
    double y = box->y + (double)HEAD_HEIGHT + 10;
    picture_inside(picture, part->first, inside);
    fprintf(out,
            "<g class=\"box\" data-i=\"%s%04x\" data-n=\"%u\" data-in=\"%s\"><rect x=\"%g\" y=\"%g\" "
            "width=\"%g\" height=\"%g\" rx=\"2\"/>",
            anchor, picture_offset(picture->flow, part->first), part->end - part->first, inside, box->x,
            box->y, box->width, box->height);
    fprintf(out, "<text class=\"head\" x=\"%g\" y=\"%g\">%04x%s%s</text>", box->x + 6, box->y + 12,
            picture_offset(picture->flow, part->first), *inside ? " in " : "", inside);
    if (lanes)
        put_heat(picture, box, part, lanes, out);
    for (uint32_t i = part->first; next_picture_line(picture->flow, part, &i, &line);
         y += (double)LINE_HEIGHT) {
        const char *role = line.skipped ? NULL : picture_role(picture->flow, line.inst);
        line_text(picture->flow, &line, text);
        fprintf(out, "<text%s%s%s x=\"%g\" y=\"%g\">", role ? " class=\"" : "", role ? role : "",
                role ? "\"" : "", box->x + 6, y);
        markup_string(out, text);
        fputs("</text>", out);
    }
    fputs("</g>\n", out);
}

void picture_svg(const Picture *picture, const char *anchor, const Lanes *lanes, const char *style,
                 FILE *out) {
    const LayoutGraph *graph = &picture->graph;
    const char *name = picture->flow->bin->funcs[picture->func].name;
    if (style)
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    fprintf(out,
            "<svg %sclass=\"cfg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" role=\"img\" "
            "aria-label=\"control flow of ",
            style ? "xmlns=\"http://www.w3.org/2000/svg\" " : "", graph->width, graph->height, graph->width,
            graph->height);
    markup_string(out, name);
    fputs("\">\n", out);
    if (style)
        fprintf(out, "<style>%s</style>\n<rect class=\"paper\" width=\"%g\" height=\"%g\"/>\n", style,
                graph->width, graph->height);
    for (uint32_t f = 0; f < graph->nframes; f++)
        put_frame(picture, f, out);
    for (uint32_t e = 0; e < graph->nedges; e++)
        put_edge(picture, e, out);
    for (uint32_t b = 0; b < graph->nboxes; b++)
        put_box(picture, b, anchor, lanes, out);
    fputs("</svg>\n", out);
}

/* ---- dot ---- */

static void dot_text(FILE *out, const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text >= 0x20)
            fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void dot_boxes(const Picture *picture, uint32_t frame, unsigned depth, FILE *out) {
    char text[PICTURE_TEXT_BYTES + 40];
    Line line;
    for (uint32_t b = 0; b < picture->graph.nboxes; b++) {
        const PicturePart *part = &picture->parts[b];
        if (picture->graph.boxes[b].frame != frame)
            continue;
        fprintf(out, "%*sn%u [label=\"", (int)(2 * depth + 2), "", b);
        for (uint32_t i = part->first; next_picture_line(picture->flow, part, &i, &line);) {
            line_text(picture->flow, &line, text);
            dot_text(out, text);
            fputs("\\l", out);
        }
        fputs("\"];\n", out);
    }
    for (uint32_t f = 0; f < picture->graph.nframes; f++) {
        if (picture->graph.frames[f].frame != frame)
            continue;
        title_text(picture, f, text);
        fprintf(out, "%*ssubgraph cluster%u {\n%*slabel=\"%s\"; labeljust=l; style=\"%s\";\n",
                (int)(2 * depth + 2), "", f, (int)(2 * depth + 4), "", text, depth % 2 ? "dashed" : "solid");
        dot_boxes(picture, f, depth + 1, out);
        fprintf(out, "%*s}\n", (int)(2 * depth + 2), "");
    }
}

void picture_dot(const Picture *picture, FILE *out) {
    fputs("digraph \"", out);
    dot_text(out, picture->flow->bin->funcs[picture->func].name);
    fputs("\" {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  edge [fontname=\"monospace\", "
          "fontsize=9];\n",
          out);
    dot_boxes(picture, LAYOUT_NONE, 0, out);
    for (uint32_t e = 0; e < picture->graph.nedges; e++)
        fprintf(out, "  n%u -> n%u%s;\n", picture->graph.edges[e].from, picture->graph.edges[e].to,
                picture->kinds[e] == BE_TAKEN   ? " [label=\"taken\"]"
                : picture->kinds[e] == BE_TABLE ? " [label=\"table\"]"
                                                : "");
    fputs("}\n", out);
}
