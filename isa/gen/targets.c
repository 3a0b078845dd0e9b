/* isagen's parser: targets, their properties, lists and ranges of targets, special registers. A target
 * inherits properties, and its place in every range: [from A until B] is A and all that inherit from A, less
 * B and all that inherit from B. So two definitions, one until X and one from X, leave no target out, and a
 * newcomer is where the target is that it inherits from. SPDX-License-Identifier: MIT */
#include "isa/gen/parse.h"
#include <string.h>

const char *const ig_prop_names[] = {"elf_machine",   "elf_osabi",          "elf_abiversion",
                                     "elf_flags",     "param_base",         "ntid_offset",
                                     "nctaid_offset", "stack_top_offset",   "dynamic_shared_offset",
                                     "gridid_offset", "branch_unit",        "reserved_regs",
                                     "has_alu_cmem",  "has_yield_fairness", NULL};
unsigned ig_prop_count(void) { return sizeof ig_prop_names / sizeof *ig_prop_names - 1; }

/* ---- lists and ranges ---- */

static int find_target(const Ig *ig, const char *name) {
    for (unsigned i = 0; i < ig->targets.n; i++)
        if (!strcmp(ig->targets.at[i]->name, name))
            return (int)i;
    return -1;
}

static bool descends(const Ig *ig, int target, int from) {
    while (target >= 0 && target != from)
        target = ig->targets.at[target]->parent;
    return target >= 0;
}

static int root_of(const Ig *ig, int target) {
    while (ig->targets.at[target]->parent >= 0)
        target = ig->targets.at[target]->parent;
    return target;
}

static bool target_name(Parser *parser, int *out) {
    IgLoc loc = parser->t->loc;
    const char *name;
    if (!igp_ident(parser, &name))
        return false;
    *out = find_target(parser->g, name);
    return *out >= 0 || ig_error(parser->g, loc, "unknown target %s", name);
}

/* from A until B, one of them may be absent; without `from` the range starts at the root that B comes from.
 */
static bool target_range(Parser *parser, uint32_t *out) {
    Ig *ig = parser->g;
    IgLoc loc = parser->t->loc;
    int from = -1, until = -1;
    if (igp_take(parser, "from") && !target_name(parser, &from))
        return false;
    if (igp_take(parser, "until") && !target_name(parser, &until))
        return false;
    if (from >= 0 && until >= 0 && !descends(ig, until, from))
        return ig_error(ig, loc, "%s does not inherit from %s", ig->targets.at[until]->name,
                        ig->targets.at[from]->name);
    if (from < 0)
        from = root_of(ig, until);
    *out = 0;
    for (int i = 0; i < (int)ig->targets.n; i++)
        if (descends(ig, i, from) && (until < 0 || !descends(ig, i, until)))
            *out |= 1u << i;
    return *out || ig_error(ig, loc, "no target is in this range");
}

static bool target_or_set(Parser *parser, uint32_t *out) {
    Ig *ig = parser->g;
    IgLoc loc = parser->t->loc;
    const char *name;
    if (!igp_ident(parser, &name))
        return false;
    int target = find_target(ig, name);
    *out = target >= 0 ? 1u << target : 0;
    for (unsigned i = 0; i < ig->nsets; i++)
        if (!strcmp(ig->sets[i].name, name))
            *out = ig->sets[i].set;
    return *out || ig_error(ig, loc, "unknown target %s", name);
}

bool igp_target_set(Parser *parser, uint32_t *out) {
    *out = 0;
    parser->g->targets_named = true;
    if (!igp_expect(parser, "["))
        return false;
    do {
        uint32_t found;
        bool range = igp_is(parser, "from") || igp_is(parser, "until");
        if (!(range ? target_range(parser, &found) : target_or_set(parser, &found)))
            return false;
        *out |= found;
    } while (igp_take(parser, ","));
    return igp_expect(parser, "]");
}

bool igp_def_target_set(Parser *parser) {
    Ig *ig = parser->g;
    const char *name;
    uint32_t set;
    IgLoc loc = parser->t->loc;
    if (ig->nsets == sizeof ig->sets / sizeof *ig->sets)
        return ig_error(ig, loc, "too many target sets");
    if (!igp_ident(parser, &name) || !igp_expect(parser, "=") || !igp_target_set(parser, &set))
        return false;
    ig->sets[ig->nsets].name = name;
    ig->sets[ig->nsets++].set = set;
    return igp_expect(parser, ";");
}

/* ---- definitions ---- */

static bool target_property(Parser *parser, IgTarget *target) {
    IgLoc loc = parser->t->loc;
    const char *name;
    if (!igp_ident(parser, &name) || !igp_expect(parser, "="))
        return false;
    if (!strcmp(name, "num_regs")) {
        if (!igp_expect(parser, "["))
            return false;
        for (unsigned i = 0; i < 5; i++)
            if ((i && !igp_expect(parser, ",")) || !igp_number(parser, &target->prop[ig_prop_count() + i]))
                return false;
        return igp_expect(parser, "]") && igp_expect(parser, ";");
    }
    for (unsigned i = 0; ig_prop_names[i]; i++)
        if (!strcmp(ig_prop_names[i], name))
            return igp_number(parser, &target->prop[i]) && igp_expect(parser, ";");
    return ig_error(parser->g, loc, "unknown property %s", name);
}

bool igp_target(Parser *parser) {
    Ig *ig = parser->g;
    IgTarget *target = ARENA_NEW(&ig->arena, IgTarget);
    target->loc = parser->t->loc;
    target->parent = -1;
    if (!igp_ident(parser, &target->name))
        return false;
    if (ig->targets.n == IG_MAX_TARGETS)
        return ig_error(ig, target->loc, "more than %d targets", IG_MAX_TARGETS);
    if (find_target(ig, target->name) >= 0)
        return ig_error(ig, target->loc, "target %s is defined twice", target->name);
    if (ig->targets_named) /* the lists and ranges so far would be without it */
        return ig_error(ig, target->loc, "target %s stands behind a list of targets", target->name);
    if (igp_take(parser, ":")) {
        if (!target_name(parser, &target->parent))
            return false;
        memcpy(target->prop, ig->targets.at[target->parent]->prop, sizeof target->prop);
    }
    VEC_ADD(&ig->arena, &ig->targets, target);
    while (parser->t->kind == TK_IDENT && strncmp(parser->t->text, "__", 2))
        if (!target_property(parser, target))
            return false;
    return true;
}

bool igp_sregs(Parser *parser) {
    uint32_t set;
    if (!igp_target_set(parser, &set))
        return false;
    while (parser->t->kind == TK_NUMBER) {
        IgSReg s = {.number = (unsigned)parser->t->number};
        IgLoc loc = parser->t->loc;
        const char *part;
        parser->t++;
        if (s.number > 255)
            return ig_error(parser->g, loc, "special register %u is above 255", s.number);
        if (!igp_ident(parser, &s.name))
            return false;
        if (igp_take(parser, ".")) {
            if (!igp_ident(parser, &part))
                return false;
            s.name = arena_printf(&parser->g->arena, "%s.%s", s.name, part);
        }
        if (!igp_string(parser, &s.text) || !igp_expect(parser, ";"))
            return false;
        for (unsigned i = 0; i < parser->g->targets.n; i++)
            if (set >> i & 1)
                VEC_ADD(&parser->g->arena, &parser->g->targets.at[i]->sregs, s);
    }
    return true;
}
