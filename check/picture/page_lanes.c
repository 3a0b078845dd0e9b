/* Lanes over time, as a drawing. See page_parts.h. SPDX-License-Identifier: MIT */
#include "check/picture/page_parts.h"
#include <math.h>

enum { WARPS = 3, GROUPS = 150, LANE = 5, TOP = 16, WIDEST = 6000 };

/* Classes of page.css; the waiting ones are hatched there. */
static const char *const classes[] = {[LANE_ABSENT] = "gone",          [LANE_RUNS] = "runs",
                                      [LANE_PARKED] = "parked",        [LANE_AT_BSYNC] = "bsync",
                                      [LANE_AT_WARPSYNC] = "warpsync", [LANE_AT_BAR] = "bar",
                                      [LANE_YIELDS] = "yields"};

static bool same_lane(LaneAt one, LaneAt other) { return one.state == other.state && one.reg == other.reg; }

static void put_group(const Lanes *lanes, const LaneGroup *group, double x, double width, FILE *out) {
    char first[160], last[160];
    uint32_t waiting = 0;
    fprintf(out, "<g><title>instructions %llu to %llu of the warp: %s to %s, %d lanes (%08x)",
            (unsigned long long)group->step + 1, (unsigned long long)(group->step + group->nsteps),
            bin_where(lanes->flow, group->first, first), bin_where(lanes->flow, group->last, last),
            __builtin_popcount(group->active), group->active);
    for (unsigned reg = 0; reg < 16; reg++) {
        waiting = lanes_mask(group, LANE_AT_BSYNC, reg);
        if (waiting)
            fprintf(out, ", %08x wait at B%u", waiting, reg);
    }
    fputs("</title>", out);
    for (unsigned lane = 0, end; lane < 32; lane = end) {
        LaneAt at = group->lanes[lane];
        for (end = lane + 1; end < 32 && same_lane(group->lanes[end], at);)
            end++;
        if (at.state == LANE_ABSENT)
            continue;
        fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%u\"/>",
                classes[at.state], x, TOP + LANE * lane, width, LANE * (end - lane));
        if (at.state == LANE_AT_BSYNC && width >= 16 && end - lane >= 2)
            fprintf(out, "<text x=\"%.1f\" y=\"%u\">B%u</text>", x + 2, TOP + LANE * (lane + end) / 2 + 3,
                    at.reg);
    }
    if (width >= 30)
        fprintf(out, "<text class=\"at\" x=\"%.1f\" y=\"%u\">%04x</text>", x + 1, TOP - 4,
                picture_offset(lanes->flow, group->first));
    fputs("</g>\n", out);
}

static void put_warp(const Lanes *lanes, const LaneWarp *warp, FILE *out) {
    uint32_t n = warp->groups.n < GROUPS ? warp->groups.n : GROUPS;
    const LaneGroup *last = &warp->groups.at[n - 1];
    double steps = (double)(last->step + last->nsteps), scale = fmin(fmax(1000 / steps, 1.5), 10), x = 0;
    scale = fmin(scale, (double)WIDEST / steps);
    fprintf(out, "<figure><figcaption>Launch %u, block %u,%u,%u, warp %u: %llu instructions in %llu groups",
            warp->launch + 1, warp->block[0], warp->block[1], warp->block[2], warp->warp,
            (unsigned long long)warp->steps, (unsigned long long)warp->ngroups);
    if (n < warp->ngroups)
        fprintf(out, "; shown are the first %u groups, %.0f instructions", n, steps);
    fprintf(out,
            "</figcaption><div class=\"scroll\"><svg class=\"lanes\" width=\"%.0f\" height=\"%u\" "
            "role=\"img\" aria-label=\"lanes of warp %u over time\">\n",
            ceil(steps * scale) + 2, TOP + 32 * LANE + 14, warp->warp);
    for (uint32_t g = 0; g < n; g++) {
        const LaneGroup *group = &warp->groups.at[g];
        x = (double)group->step * scale;
        put_group(lanes, group, x, (double)group->nsteps * scale, out);
    }
    double grid = pow(10, ceil(log10(60 / scale)));
    for (double at = 0; at <= steps; at += grid)
        fprintf(out, "<text class=\"at\" x=\"%.1f\" y=\"%u\">%.0f</text>", at * scale + 1,
                TOP + 32 * LANE + 11, at);
    fputs("</svg></div></figure>\n", out);
}

void page_lane_legend(FILE *out) {
    fputs("<p class=\"legend\">", out);
    for (LaneState state = LANE_RUNS; state < LANE_STATES; state++)
        fprintf(out,
                "<span><svg class=\"lanes\" width=\"26\" height=\"12\"><rect class=\"%s\" width=\"26\" "
                "height=\"12\"/></svg> %s</span> ",
                classes[state], lanes_state_name(state));
    fputs("<span>(empty: not there, or ended)</span></p>\n"
          "<svg class=\"lanes\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>"
          "<pattern id=\"h-bsync\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path "
          "class=\"hatch\" d=\"M-1 1L1 -1M0 6L6 0M5 7L7 5\"/></pattern>"
          "<pattern id=\"h-warpsync\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path "
          "class=\"hatch\" d=\"M0 0L6 6M0 6L6 0\"/></pattern>"
          "<pattern id=\"h-bar\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><path "
          "class=\"hatch\" d=\"M2 0V5\"/></pattern>"
          "<pattern id=\"h-yields\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><path "
          "class=\"hatch\" d=\"M0 2H3\"/></pattern>"
          "</defs></svg>\n",
          out);
}

void page_lanes(const PageSide *side, FILE *out) {
    const Lanes *lanes = side->lanes;
    uint32_t busiest = 0;
    for (uint32_t k = 0; k < lanes->warps.n; k++)
        if (lanes->warps.at[k]->ngroups > lanes->warps.at[busiest]->ngroups)
            busiest = k;
    fprintf(out, "<p>Across: instructions of the warp, down: its 32 lanes, lane 0 on top. %u warp%s ran",
            lanes->warps.n, lanes->warps.n == 1 ? "" : "s");
    if (lanes->warps.n > WARPS)
        fprintf(out, "; shown are the first %u%s. heddle run --trace-perfetto writes them all",
                (unsigned)WARPS, busiest >= WARPS ? " and the one that changed groups most" : "");
    fputs(".</p>\n", out);
    for (uint32_t k = 0; k < lanes->warps.n; k++)
        if ((k < WARPS || k == busiest) && lanes->warps.at[k]->groups.n)
            put_warp(lanes, lanes->warps.at[k], out);
}
