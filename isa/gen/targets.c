/* isagen's parser: targets, their properties, lists and ranges of targets, special registers. A target
 * inherits properties, and its place in every range: [from A until B] is A and all that inherit from A, less
 * B and all that inherit from B. So two definitions, one until X and one from X, leave no target out, and a
 * newcomer is where the target is that it inherits from. SPDX-License-Identifier: MIT */
#include "isa/gen/parse.h"
#include <string.h>

const IgProp ig_props[] = {
#define TARGET_PROPERTY(type, name, meaning) {#name, meaning, (uint64_t)((type)-1), NULL},
#define TARGET_CHOICE(enumeration, name, meaning) {#name, meaning, 0, #enumeration},
#include "isa/target.def"
    {NULL, NULL, 0, NULL}};
_Static_assert(sizeof ig_props / sizeof *ig_props - 1 <= IG_MAX_PROPS, "IG_MAX_PROPS is too small");

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
    IgLoc loc = parser->token->loc;
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
    IgLoc loc = parser->token->loc;
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
    IgLoc loc = parser->token->loc;
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
        uint32_t found = 0;
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
    IgLoc loc = parser->token->loc;
    if (ig->nsets == sizeof ig->sets / sizeof *ig->sets)
        return ig_error(ig, loc, "too many target sets");
    if (!igp_ident(parser, &name) || !igp_expect(parser, "=") || !igp_target_set(parser, &set))
        return false;
    ig->sets[ig->nsets].name = name;
    ig->sets[ig->nsets++].set = set;
    return igp_expect(parser, ";");
}

/* ---- definitions ---- */

/* A number, or the name of a value of the property's enumeration. */
static bool property_value(Parser *parser, const IgProp *prop, IgPropValue *out) {
    Ig *ig = parser->g;
    IgLoc loc = parser->token->loc;
    if (!prop->choices)
        return igp_number(parser, &out->number) &&
               ((out->number >= 0 && (uint64_t)out->number <= prop->most) ||
                ig_error(ig, loc, "%s is at most %llu", prop->name, (unsigned long long)prop->most));
    const IgType *type = ig_type(ig, prop->choices);
    if (!type)
        return ig_error(ig, loc, "unknown type %s", prop->choices);
    unsigned value;
    if (!igp_ident(parser, &out->choice))
        return false;
    return ig_enum_value(type, out->choice, &value) ||
           ig_error(ig, loc, "%s is not a value of %s", out->choice, type->name);
}

static bool register_counts(Parser *parser, IgTarget *target) {
    target->has_num_regs = true;
    if (!igp_expect(parser, "["))
        return false;
    for (unsigned i = 0; i < IG_REG_FILES; i++)
        if ((i && !igp_expect(parser, ",")) || !igp_number(parser, &target->num_regs[i]))
            return false;
    return igp_expect(parser, "]");
}

static bool target_property(Parser *parser, IgTarget *target) {
    IgLoc loc = parser->token->loc;
    const char *name;
    if (!igp_ident(parser, &name) || !igp_expect(parser, "="))
        return false;
    if (!strcmp(name, "num_regs"))
        return register_counts(parser, target) && igp_expect(parser, ";");
    for (unsigned i = 0; ig_props[i].name; i++)
        if (!strcmp(ig_props[i].name, name)) {
            target->prop[i].said = true;
            return property_value(parser, &ig_props[i], &target->prop[i]) && igp_expect(parser, ";");
        }
    return ig_error(parser->g, loc, "unknown property %s", name);
}

/* Whoever reads a file goes by e_machine and e_flags. */
static bool distinct_flags(Ig *ig, const IgTarget *target) {
    const IgPropValue *machine = ig_prop(target, "elf_machine"), *flags = ig_prop(target, "elf_flags");
    for (unsigned i = 0; ig->targets.at[i] != target; i++) {
        const IgTarget *other = ig->targets.at[i];
        if (ig_prop(other, "elf_machine")->number == machine->number &&
            ig_prop(other, "elf_flags")->number == flags->number)
            return ig_error(ig, target->loc, "%s has the elf_flags of %s", target->name, other->name);
    }
    return true;
}

const IgPropValue *ig_prop(const IgTarget *target, const char *name) {
    unsigned i = 0;
    while (strcmp(ig_props[i].name, name))
        i++;
    return &target->prop[i];
}

bool ig_check_target(Ig *ig, const IgTarget *target) {
    for (unsigned i = 0; ig_props[i].name; i++)
        if (!target->prop[i].said)
            return ig_error(ig, target->loc, "%s does not say its %s", target->name, ig_props[i].name);
    if (!target->has_num_regs)
        return ig_error(ig, target->loc, "%s does not say its num_regs", target->name);
    return distinct_flags(ig, target);
}

bool igp_target(Parser *parser) {
    Ig *ig = parser->g;
    IgTarget *target = ARENA_NEW(&ig->arena, IgTarget);
    target->loc = parser->token->loc;
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
        const IgTarget *parent = ig->targets.at[target->parent];
        memcpy(target->prop, parent->prop, sizeof target->prop);
        memcpy(target->num_regs, parent->num_regs, sizeof target->num_regs);
        target->has_num_regs = parent->has_num_regs;
    }
    VEC_ADD(&ig->arena, &ig->targets, target);
    while (parser->token->kind == TK_IDENT && strncmp(parser->token->text, "__", 2))
        if (!target_property(parser, target))
            return false;
    return true;
}

const char *const ig_varies_names[] = {"LANE", "WARP", "MOVES", "TIME", NULL};

static bool sreg_varies(Parser *parser, IgSReg *s) {
    IgLoc loc = parser->token->loc;
    const char *word;
    if (parser->token->kind != TK_IDENT)
        return ig_error(parser->g, loc, "special register %s does not say on what its value depends",
                        s->name);
    if (!igp_ident(parser, &word))
        return false;
    while (ig_varies_names[s->varies] && strcmp(ig_varies_names[s->varies], word))
        s->varies++;
    return ig_varies_names[s->varies] ||
           ig_error(parser->g, loc, "a special register's value does not depend on %s", word);
}

bool igp_sregs(Parser *parser) {
    uint32_t set;
    if (!igp_target_set(parser, &set))
        return false;
    while (parser->token->kind == TK_NUMBER) {
        IgSReg s = {.number = (unsigned)parser->token->number};
        IgLoc loc = parser->token->loc;
        const char *part;
        parser->token++;
        if (s.number > 255)
            return ig_error(parser->g, loc, "special register %u is above 255", s.number);
        if (!igp_ident(parser, &s.name))
            return false;
        if (igp_take(parser, ".")) {
            if (!igp_ident(parser, &part))
                return false;
            s.name = arena_printf(&parser->g->arena, "%s.%s", s.name, part);
        }
        if (!igp_string(parser, &s.text) || !sreg_varies(parser, &s) || !igp_expect(parser, ";"))
            return false;
        for (unsigned i = 0; i < parser->g->targets.n; i++)
            if (set >> i & 1)
                VEC_ADD(&parser->g->arena, &parser->g->targets.at[i]->sregs, s);
    }
    return true;
}
