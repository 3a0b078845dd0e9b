/* The columns of a row: what is known of an operation beside its bits. In: statements `Unit<ALU>;` of groups,
 * optypes and opcodes. Out: one value a column for each optype, in isa_gen.h (enumerations) and isa_tables.c
 * (isa_traits). A definition's own statement replaces what its parents say; an optype that has variants needs
 * a statement in one of them, and two that differ are refused. No column has a default.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/traits.h"
#include <ctype.h>
#include <string.h>

typedef struct {
    const char *name, *says;
    uint32_t value;   /* number, or bit */
    uint32_t implies; /* bits that are stated with it; of a unit: WAITS */
} Word;

enum {
    WAITS = 1
}; /* results of the unit may come at an unknown time, so that scoreboards and queues matter */

static const Word units[] = {
    {"ALU", "integers, logic, comparisons, moves", 0, 0},
    {"FMA", "f32, and 32-bit multiply-add", 1, 0},
    {"WIDE", "64-bit multiply-add", 2, 0},
    {"DISP64", "64-bit moves of special registers", 3, 0},
    {"HALF", "packed half", 4, 0},
    {"HALF_ALU", "comparisons of packed half", 5, 0},
    {"HALF_MMA", "packed half on the tensor unit", 6, 0},
    {"DBL", "f64", 7, WAITS},
    {"MMA1", "tensor, first kind", 8, WAITS},
    {"MMA2", "tensor, second kind", 9, WAITS},
    {"DMMA", "f64 tensor", 10, WAITS},
    {"XU", "MUFU, conversions, POPC ...: decoupled", 11, WAITS},
    {"SPECIAL", "special and barrier registers, MATCH ...: decoupled", 12, WAITS},
    {"CONST", "loads from a constant bank", 13, WAITS},
    {"AGU", "memory, SHFL, barriers of the block", 14, WAITS},
    {"CTRL", "branches and convergence barriers: no results of their own", 15, 0},
    {"UDP", "uniform integers", 16, 0},
    {"UMOVE", "short uniform operations", 17, 0},
    {"ULDC", "uniform loads from a constant bank", 18, 0},
    {"UVAR", "what crosses into the uniform file", 19, WAITS},
    {"TEX", "textures and surfaces: as AGU, but reads its registers sooner", 20, WAITS},
};
static const Word queues[] = {
    {"NONE", "results come in any order", 0, 0},
    {"XU", "MUFU, conversions, POPC ...", 1, 0},
    {"DBL", "f64, where it needs scoreboards", 2, 0},
    {"SHARED", "shared memory", 3, 0},
    {"SHFL", "SHFL", 4, 0},
    {"REDUX", "REDUX", 5, 0},
    {"HMMA", "products of floats", 6, 0},
    {"IMMA", "products of integers", 7, 0},
    {"BMMA", "products of bits", 8, 0},
    {"DMMA", "products of f64", 9, 0},
    {"QMMA", "products of 8-bit floats", 10, 0},
    {"TEX", "textures", 11, 0},
    {"S2UR", "special registers in uniform ones, from sm_90 on", 12, 0},
    {"B2R", "what BAR.RED makes, from sm_90 on", 13, 0},
};
static const Word effects[] = {
    {"NONE", "nothing but its destinations", 0, 0},
    {"READ", "its result is what memory holds, which may change", 1 << 0, 0},
    {"WRITE", "writes memory", 1 << 1, 0},
    {"ATOMIC", "changes one place in one step; is a WRITE", 1 << 2, 1 << 1},
    {"ORDER", "no access to memory passes it, in either direction", 1 << 3, 0},
    {"BRANCH", "goes elsewhere", 1 << 4, 0},
    {"CALL", "and comes back", 1 << 5, 0},
    {"RETURN", "to the caller", 1 << 6, 0},
    {"EXIT", "ends lanes", 1 << 7, 0},
    {"END", "never goes on behind itself, whatever its guard's lanes do", 1 << 8, 0},
    {"SWITCH", "other lanes of the warp may run before it is over", 1 << 9, 0},
    {"BREG_READ", "reads a B register", 1 << 10, 0},
    {"BREG_WRITE", "writes a B register", 1 << 11, 0},
    {"CTA_BARRIER", "waits for other warps", 1 << 12, 0},
    {"READS_ALL_P", "reads the predicates that a mask names", 1 << 13, 0},
    {"WRITES_ALL_P", "writes the predicates that a mask names", 1 << 14, 0},
    {"STATE", "reads or changes what is no register and no memory: traps, barrier results, counters", 1 << 15,
     0},
    {"PLACE", "its result depends on where it stands", 1 << 16, 0},
    {"SWAP", "writes only where memory holds what a source says; is ATOMIC", 1 << 17, 1 << 2 | 1 << 1},
};
static const Word spaces[] = {
    {"GLOBAL", "", 1, 0},
    {"SHARED", "", 2, 0},
    {"LOCAL", "", 4, 0},
    {"CONSTANT", "a constant bank: no effect, it does not change", 8, 0},
    {"GENERIC", "one of the first three, by the address", 7, 0},
};
static const Word lanes[] = {
    {"EACH", "each lane for itself", 0, 0},
    {"COLLECTIVE", "lanes look at each other", 1, 0},
    {"WARP", "once for the warp: the uniform data path", 2, 0},
};
static const Word uniforms[] = {
    {"NO_RESULT", "", 0, 0}, /* not stated, see needs() */
    {"BY_DATA", "the same in lanes whose operands are", 1, 0},
    {"BY_SREG", "if the special register's value is", 2, 0},
    {"TOGETHER", "if all lanes of the warp take part", 3, 0},
    {"ALWAYS", "", 4, 0},
    {"NEVER", "a source of divergence", 5, 0},
};
static const Word exacts[] = {
    {"NO_RESULT", "", 0, 0}, /* not stated, see needs() */
    {"BITS", "every bit follows from the sources: integers, logic, comparisons, moves", 1, 0},
    {"ROUNDED", "IEEE 754, correctly rounded", 2, 0},
    {"APPROX", "the unit's own approximation", 3, 0},
    {"UNKNOWN", "order or width of its sums is not documented", 4, 0},
};
static const Word guards[] = {
    {"FREE", "may be put on or left out: a lane that should not execute it may, if its result is not used", 0,
     0},
    {"LANES", "may be put on: then lanes where it is false must not execute it", 1, 0},
    {"FIXED", "stays as selection made it", 2, 0},
};
static const Word flows[] = {
    {"NONE", "it goes on behind itself, and is not executed where its guard is false for all", 0, 0},
    {"NOP", "the same, and does nothing", 1, 0},
    {"BRANCH", "to a place that its word names", 2, 0},
    {"INDIRECT", "to a place that a register or a table names", 3, 0},
    {"CALL", "", 4, 0},
    {"RET", "", 5, 0},
    {"EXIT", "", 6, 0},
    {"TRAP", "ends the grid, or hands the lanes to the host", 7, 0},
    {"BPT", "the same, if its modifier says so", 8, 0},
    {"HOST", "the host does something and comes back", 9, 0},
    {"BSSY", "joins a convergence barrier", 10, 0},
    {"BSYNC", "waits at one", 11, 0},
    {"BREAK", "leaves one", 12, 0},
    {"BMOV", "reads or writes one", 13, 0},
    {"YIELD", "lets other lanes run", 14, 0},
    {"NANOSLEEP", "for a time", 15, 0},
    {"WARPSYNC", "waits for the lanes of a mask", 16, 0},
    {"BAR", "barrier of the block", 17, 0},
    {"BAR_STATE", "reads or changes what barriers of the block hold", 18, 0},
    {"HERE", "where it stands", 19, 0},
};
static const Word paces[] = {
    {"NEXT", "the next cycle", 0, 0},
    {"JUMP", "what fetches from elsewhere", 1, 0},
    {"CALL", "the same, and may fall through where it is guarded", 2, 0},
    {"PART", "other lanes may run", 3, 0},
    {"BARRIER", "the block's", 4, 0},
    {"FENCE", "MEMBAR", 5, 0},
    {"CACHE", "CCTL", 6, 0},
    {"ERROR", "ERRBAR, USETMAXREG.DEALLOC: holds the warp by itself", 7, 0},
    {"VOTE", "VOTE, which holds it on some targets", 8, 0},
    {"VIEW", "FENCE.VIEW, SYNCS.EXCH: the next cycle, when its scoreboard is free", 9, 0},
    {"GROUP", "WARPGROUP.ARRIVE: the next cycle; it issues when all results are there", 10, 0},
    {"PRODUCT", "a warp group's: WARPGROUP.DEPBAR behind it must not come before it is counted", 11, 0},
    {"GROUP_END", "WARPGROUP.DEPBAR", 12, 0},
};
static const Word timings[] = {
    {"NONE", "as the others of its unit", 0, 0},
    {"PAIR", "the low half of its result comes sooner, its addend is read later", 1 << 0, 0},
    {"ADDEND", "its addend is read later", 1 << 1, 0},
    {"CROSSES", "into the uniform file, in a known time", 1 << 2, 0},
    {"DRAINS", "memory instructions before it have read their registers", 1 << 3, 0},
    {"DRAINS_NOW", "the same, where it does not put that off", 1 << 4, 0},
    {"P_WITH_READS", "its predicate comes when its operands have been read", 1 << 5, 0},
    {"P_AS_GUARD", "reads its predicate where guards are read", 1 << 6, 0},
    {"UR_OF_LOAD", "reads its uniform register as a load does", 1 << 7, 0},
    {"UR_OF_STORE", "or as a store or an atomic operation", 1 << 8, 0},
    {"UR_OF_JUMP", "or as a jump to where it says", 1 << 13, 0},
    {"UP_SOONER", "its guard of the uniform file is read sooner", 1 << 14, 0},
    {"R_LATER", "reads registers later than its unit", 1 << 9, 0},
    {"R_SOONER", "or sooner", 1 << 12, 0},
    {"BOTH_SIDES", "as near to the others that say so, on whichever unit, as to its own", 1 << 10, 0},
    {"STEPS", "a product in steps: reads its registers and has its sums sooner", 1 << 15, 0},
    {"SHORT", "takes less time than the others of its unit", 1 << 11, 0},
};
static const Word zeros[] = {
    {"RZ", "the register that is always 0", 0, 0},
    {"NUMBER", "a number: its forms for numbers are others than those for registers", 1, 0},
};
static const Word groups[] = {
    {"FOUR", "registers of an operand begin at a multiple of their number, of 4 at most", 0, 0},
    {"NATURAL", "at a multiple of their number, however many", 1, 0},
};
static const Word simulated[] = {
    {"LEVELS", "bind_NAME in sim/ops, compiled for each host level", 0, 0},
    {"LANE", "a row of isa/lane, chosen by lane_choose, is all that it does", 1, 0},
    {"MACHINE", "bind_NAME in sim/machine", 2, 0},
    {"ABSENT", "not at all: executing it is an error that names it", 3, 0},
};

typedef enum { ONE, SET, NAMES } Kind;
#define WORDS(array) array, sizeof array / sizeof *array
static const struct {
    const char *name, *says;
    Kind kind;
    const Word *words;
    unsigned nwords;
} columns[IC_COUNT] = {
    [IC_UNIT] = {"Unit", "Where it runs, which is its latency class.", ONE, WORDS(units)},
    [IC_QUEUE] = {"Queue", "Operations of one queue deliver their results in the order of issue.", ONE,
                  WORDS(queues)},
    [IC_EFFECTS] = {"Effects", "What it does beside writing its destinations.", SET, WORDS(effects)},
    [IC_SPACE] = {"Space", "The memory that it reads or writes.", SET, WORDS(spaces)},
    [IC_ADDRESS] = {"Address", "", NAMES, NULL, 0},
    [IC_ACCESS] = {"Access", "", NAMES, NULL, 0},
    [IC_LANES] = {"Lanes", "Who computes it.", ONE, WORDS(lanes)},
    [IC_UNIFORM] = {"Uniform", "When its result is the same in all lanes.", ONE, WORDS(uniforms)},
    [IC_EXACT] = {"Exact", "How much of its result is known.", ONE, WORDS(exacts)},
    [IC_GUARD] = {"Guard", "What a pass may do with its guard.", ONE, WORDS(guards)},
    [IC_ZERO] = {"Zero", "What is written for a source that is 0.", ONE, WORDS(zeros)},
    [IC_GROUP] = {"Group", "Where the registers of an operand begin.", ONE, WORDS(groups)},
    [IC_FLOW] =
        {"Flow",
         "What it does to control. But for NONE and NOP it is executed although its guard is false for all.",
         ONE, WORDS(flows)},
    [IC_PACE] = {"Pace",
                 "How soon the next instruction of the warp issues (isa/machine/latency.def has the cycles).",
                 ONE, WORDS(paces)},
    [IC_TIMING] = {"Timing",
                   "In what ptxas treats it otherwise than others of its unit (isa/machine/latency.def has "
                   "each family's numbers).",
                   SET, WORDS(timings)},
    [IC_COMMUTES] = {"Commutes", "", NAMES, NULL, 0},
    [IC_SECOND_GUARD] = {"SecondGuard", "", NAMES, NULL, 0},
    [IC_COMBINES] = {"Combines", "", NAMES, NULL, 0},
    [IC_IN_PLACE] = {"InPlace", "", NAMES, NULL, 0},
    [IC_SIMULATED] = {"Simulated", "Where the simulator has it.", ONE, WORDS(simulated)},
};
enum {
    EF_READ = 1 << 0,
    EF_WRITE = 1 << 1,
    EF_ORDER = 1 << 3,
    EF_CTA_BARRIER = 1 << 12,
    EF_READS_ALL_P = 1 << 13,
    EF_WRITES_ALL_P = 1 << 14,
    EF_CONTROL = 0x1ff0, /* BRANCH to CTA_BARRIER */
    SP_CONSTANT = 8,
    SIM_ABSENT = 3,
    UNIT_CTRL = 15
};

/* ---- statements ---- */

static const Word *find_word(unsigned column, const char *name) {
    for (unsigned i = 0; i < columns[column].nwords; i++)
        if (!strcmp(columns[column].words[i].name, name))
            return &columns[column].words[i];
    return NULL;
}

/* UNIT<WORD, WORD> and the reason why something is absent. */
static bool words(Parser *parser, unsigned column, IgTrait *trait) {
    Ig *g = parser->g;
    unsigned n = 0;
    do {
        IgLoc loc = parser->token->loc;
        const char *name;
        if (n && column == IC_SIMULATED && parser->token->kind == TK_STRING)
            return igp_string(parser, &trait->text);
        if (!igp_ident(parser, &name))
            return false;
        const Word *word = find_word(column, name);
        if (!word || !strcmp(name, "NO_RESULT"))
            return ig_error(g, loc, "%s is no word of %s", name, columns[column].name);
        if (n++ && columns[column].kind == ONE)
            return ig_error(g, loc, "%s takes one word", columns[column].name);
        if (columns[column].kind == SET && n > 1 && (!trait->value || !word->value))
            return ig_error(g, loc, "NONE stands alone");
        trait->value |= word->value | (columns[column].kind == SET ? word->implies : 0);
    } while (igp_take(parser, ","));
    return true;
}

static bool names(Parser *parser, unsigned column, IgTrait *trait) {
    int64_t bits;
    if (column == IC_ACCESS && parser->token->kind == TK_NUMBER) {
        IgLoc loc = parser->token->loc;
        if (!igp_number(parser, &bits))
            return false;
        trait->value = (uint32_t)bits;
        return (bits >= 8 && bits <= 128 && bits % 8 == 0) ||
               ig_error(parser->g, loc, "an access moves 8 to 128 bits, whole bytes");
    }
    do {
        IgTok t = *parser->token;
        const char *name;
        if (!igp_ident(parser, &name))
            return false;
        if (trait->nnames == IG_TRAIT_NAMES - 1)
            return ig_error(parser->g, t.loc, "too many names");
        trait->name[trait->nnames++] = t;
    } while (igp_take(parser, ","));
    return true;
}

bool igt_statement(Parser *parser, IgTraits *traits, bool *ok) {
    unsigned column = 0;
    IgLoc loc = parser->token->loc;
    while (column < IC_COUNT && !igp_is(parser, columns[column].name))
        column++;
    if (column == IC_COUNT)
        return false;
    igp_take(parser, columns[column].name);
    IgTrait trait = {.loc = loc};
    *ok = traits->at[column].loc.line == 0 ||
          ig_error(parser->g, loc, "%s is stated twice", columns[column].name);
    *ok = *ok && igp_expect(parser, "<");
    *ok = *ok &&
          (columns[column].kind == NAMES ? names(parser, column, &trait) : words(parser, column, &trait));
    *ok = *ok && igp_expect(parser, ">");
    if (*ok && column == IC_COMBINES) { /* = modifier */
        trait.name[IG_TRAIT_NAMES - 1] = parser->token[1];
        const char *mod;
        *ok = igp_expect(parser, "=") && igp_ident(parser, &mod);
    }
    *ok = *ok && igp_expect(parser, ";");
    traits->at[column] = trait;
    return true;
}

/* ---- an optype's columns, of all its rows ---- */

void igt_merge(IgTraits *to, const IgTraits *from) {
    for (unsigned c = 0; c < IC_COUNT; c++)
        if (from->at[c].loc.line)
            to->at[c] = from->at[c];
}

static bool same_trait(const IgTrait *a, const IgTrait *b) {
    bool same = a->value == b->value && a->nnames == b->nnames && !a->text == !b->text;
    for (unsigned i = 0; same && i < IG_TRAIT_NAMES; i++)
        same = !a->name[i].text == !b->name[i].text &&
               (!a->name[i].text || !strcmp(a->name[i].text, b->name[i].text));
    return same && (!a->text || !strcmp(a->text, b->text));
}

bool igt_join(Ig *g, IgOptype *optype, const IgTraits *row) {
    for (unsigned c = 0; c < IC_COUNT; c++) {
        IgTrait *have = &optype->traits.at[c];
        const IgTrait *more = &row->at[c];
        if (have->loc.line && more->loc.line && !same_trait(have, more))
            return ig_error(g, more->loc, "%s: %s is not what %s:%u says", optype->name, columns[c].name,
                            have->loc.file, have->loc.line);
        if (more->loc.line)
            *have = *more;
    }
    return true;
}

static uint32_t value(const IgOptype *optype, unsigned column) { return optype->traits.at[column].value; }
static bool stated(const IgOptype *optype, unsigned column) {
    return optype->traits.at[column].loc.line != 0;
}

static bool waits(const IgOptype *optype) {
    const Word *unit = &units[value(optype, IC_UNIT)];
    return unit->implies & WAITS;
}

/* Must the row state the column? Only columns whose subject the operation does not have may be left out. */
static bool needs(const IgOptype *optype, unsigned column) {
    uint32_t does = value(optype, IC_EFFECTS);
    bool result = optype->dst.n || does & EF_WRITES_ALL_P, access = does & (EF_READ | EF_WRITE);
    switch (column) {
    case IC_QUEUE: return waits(optype);
    case IC_UNIFORM:
    case IC_EXACT: return result;
    case IC_FLOW: return does & EF_CONTROL || value(optype, IC_UNIT) == UNIT_CTRL;
    case IC_PACE: return does & (EF_ORDER | EF_CTA_BARRIER) || value(optype, IC_UNIT) == UNIT_CTRL;
    case IC_SPACE: return access;
    case IC_ADDRESS: return access && !(does & EF_ORDER);
    case IC_ACCESS: return stated(optype, IC_SPACE) && !(does & EF_ORDER);
    case IC_SECOND_GUARD: return value(optype, IC_UNIT) == UNIT_CTRL && ig_slot_index(optype, "pp") >= 0;
    case IC_COMBINES:
        for (unsigned i = 0; i < optype->mods.n; i++)
            if (optype->mods.at[i].type && !strcmp(optype->mods.at[i].type->name, "BoolOp"))
                return true;
        return false;
    case IC_ZERO: return optype->src.n;
    case IC_COMMUTES: /* not stated: none does */
    case IC_IN_PLACE:
    case IC_GROUP: return false;
    default: return true;
    }
}

/* A statement about something that the operation does not have is a mistake. */
static bool allows(const IgOptype *optype, unsigned column) {
    uint32_t does = value(optype, IC_EFFECTS);
    switch (column) {
    case IC_SPACE:
        return does & (EF_READ | EF_WRITE) ? !(value(optype, IC_SPACE) & SP_CONSTANT)
                                           : value(optype, IC_SPACE) == SP_CONSTANT;
    case IC_ADDRESS: return does & (EF_READ | EF_WRITE);
    case IC_ACCESS: return stated(optype, IC_SPACE) && !(does & EF_ORDER);
    case IC_QUEUE: return waits(optype) || !value(optype, IC_QUEUE);
    default: return true;
    }
}

static bool check_names(Ig *g, const IgOptype *optype, unsigned column) {
    const IgTrait *trait = &optype->traits.at[column];
    for (unsigned i = 0; i < trait->nnames; i++) {
        int slot = ig_slot_index(optype, trait->name[i].text);
        bool dst = column == IC_COMBINES && i == 1;
        if (slot < 0 || (slot < IG_SLOT_SRC) != dst)
            return ig_error(g, trait->name[i].loc, "%s has no %s %s", optype->name,
                            dst ? "destination" : "source", trait->name[i].text);
    }
    if (column == IC_COMMUTES && trait->nnames != 2)
        return ig_error(g, trait->loc, "%s: two sources change places", optype->name);
    if (column == IC_IN_PLACE && (trait->nnames != 1 || !optype->dst.n))
        return ig_error(g, trait->loc, "%s: one source is where the result comes", optype->name);
    const IgTok *mod = &trait->name[IG_TRAIT_NAMES - 1];
    if (column == IC_COMBINES && ig_mod_index(optype, mod->text) < 0)
        return ig_error(g, mod->loc, "%s has no modifier %s", optype->name, mod->text);
    return true;
}

/* A modifier, all of whose values say how much they move. */
static bool check_access(Ig *g, const IgOptype *optype) {
    const IgTrait *trait = &optype->traits.at[IC_ACCESS];
    int mod = trait->nnames ? ig_mod_index(optype, trait->name[0].text) : -1;
    if (!trait->nnames)
        return true;
    if (mod < 0)
        return ig_error(g, trait->name[0].loc, "%s has no modifier %s", optype->name, trait->name[0].text);
    const IgType *type = optype->mods.at[mod].type;
    for (unsigned k = 0; type && k < type->vals.n; k++)
        if (!type->vals.at[k].access)
            return ig_error(g, trait->name[0].loc, "%s: %s of %s does not say what it accesses", optype->name,
                            type->vals.at[k].name, type->name);
    return type || ig_error(g, trait->name[0].loc, "%s: %s has no names for its values", optype->name,
                            trait->name[0].text);
}

static bool check_optype(Ig *g, const IgOptype *optype) {
    bool names = value(optype, IC_EFFECTS) & (EF_READS_ALL_P | EF_WRITES_ALL_P);
    if (names && ig_slot_index(optype, "mask") != (int)(IG_SLOT_SRC + optype->src.n) - 1)
        return ig_error(g, optype->loc, "%s names predicates by a mask, which must be its last source",
                        optype->name);
    for (unsigned c = 0; c < IC_COUNT; c++) {
        const IgTrait *trait = &optype->traits.at[c];
        if (!stated(optype, c)) {
            if (needs(optype, c))
                return ig_error(g, optype->loc, "%s has no %s", optype->name, columns[c].name);
            continue;
        }
        if (!allows(optype, c))
            return ig_error(g, trait->loc, "%s: its unit or effects leave no room for %s", optype->name,
                            columns[c].name);
        if (c == IC_SIMULATED && !trait->text != (trait->value != SIM_ABSENT))
            return ig_error(g, trait->loc, "%s: ABSENT, and only it, gives a reason", optype->name);
        if (c == IC_ACCESS ? !check_access(g, optype)
                           : columns[c].kind == NAMES && !check_names(g, optype, c))
            return false;
    }
    return true;
}

bool igt_check(Ig *g) {
    for (unsigned i = 1; i < g->optypes.n; i++)
        check_optype(g, g->optypes.at[i]);
    return g->nerrors == 0;
}

/* ---- output ---- */

static void put_upper(const char *text, FILE *f) {
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), f);
}

static const char *singular(unsigned column) {
    return column == IC_EFFECTS ? "Effect" : columns[column].name;
}

static void header_column(unsigned column, FILE *f) {
    fprintf(f, "/* %s */\nenum Isa%s {\n", columns[column].says, singular(column));
    for (unsigned i = 0; i < columns[column].nwords; i++) {
        const Word *word = &columns[column].words[i];
        fprintf(f, "    ISA_");
        put_upper(singular(column), f);
        fprintf(f, "_%s = 0x%x, /* %s */\n", word->name, word->value, word->says);
    }
    if (columns[column].kind == ONE) {
        fprintf(f, "    ISA_");
        put_upper(singular(column), f);
        fprintf(f, "_COUNT = %u\n", columns[column].nwords);
    } else {
        uint32_t all = 0;
        for (unsigned i = 0; i < columns[column].nwords; i++)
            all |= columns[column].words[i].value;
        fprintf(f, "    ISA_");
        put_upper(singular(column), f);
        fprintf(f, "_ALL = 0x%x\n", all);
    }
    fprintf(f, "};\n");
}

void igt_header(const Ig *g, FILE *f) {
    for (unsigned c = 0; c < IC_COUNT; c++)
        if (columns[c].kind != NAMES)
            header_column(c, f);
    for (unsigned w = 0; w < sizeof simulated / sizeof *simulated; w++) {
        fprintf(f, "\n#define ISA_SIMULATED_%s_OPTYPES(X)", simulated[w].name);
        for (unsigned i = 1; i < g->optypes.n; i++)
            if (value(g->optypes.at[i], IC_SIMULATED) == simulated[w].value)
                fprintf(f, " \\\n    X(%s)", g->optypes.at[i]->name);
    }
    fprintf(f, "\n\n");
}

/* The bits of modifiers whose type says `hint`. */
static uint32_t hint_bits(const IgOptype *optype) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < optype->mods.n; i++)
        if (optype->mods.at[i].type && optype->mods.at[i].type->hint)
            bits |= ((1u << optype->mods.at[i].width) - 1) << optype->mods.at[i].lo;
    return bits;
}

/* Index of the source (or destination) that name i of a column says; 255 if it has none. */
static unsigned slot_of(const IgOptype *optype, unsigned column, unsigned i) {
    const IgTrait *trait = &optype->traits.at[column];
    if (i >= trait->nnames)
        return 255;
    unsigned slot = (unsigned)ig_slot_index(optype, trait->name[i].text);
    return slot < IG_SLOT_SRC ? slot : slot - IG_SLOT_SRC;
}

void igt_table(const Ig *g, FILE *f) {
    fprintf(f, "const OpTraits isa_optype_traits[] = {\n");
    for (unsigned i = 0; i < g->optypes.n; i++) {
        const IgOptype *optype = g->optypes.at[i];
        unsigned naddress = optype->traits.at[IC_ADDRESS].nnames;
        const IgTok *mod = &optype->traits.at[IC_COMBINES].name[IG_TRAIT_NAMES - 1];
        const char *reason = optype->traits.at[IC_SIMULATED].text;
        const IgTrait *access = &optype->traits.at[IC_ACCESS];
        fprintf(f, "    {0x%x", value(optype, IC_EFFECTS));
        for (unsigned c = 0; c < IC_COUNT; c++)
            if (columns[c].kind != NAMES && c != IC_EFFECTS)
                fprintf(f, ", %u", value(optype, c));
        /* base, uniform part, offset: the middle one may be missing */
        fprintf(f, ", {%u, %u, %u}", slot_of(optype, IC_ADDRESS, 0),
                naddress == 3 ? slot_of(optype, IC_ADDRESS, 1) : 255,
                naddress > 1 ? slot_of(optype, IC_ADDRESS, naddress - 1) : 255);
        fprintf(f, ", %d, %u", access->nnames ? ig_mod_index(optype, access->name[0].text) : 255,
                access->value / 8);
        fprintf(f, ", {%u, %u}", slot_of(optype, IC_COMMUTES, 0), slot_of(optype, IC_COMMUTES, 1));
        fprintf(f, ", %u, %u, %u, %d", slot_of(optype, IC_SECOND_GUARD, 0), slot_of(optype, IC_COMBINES, 0),
                slot_of(optype, IC_COMBINES, 1), mod->text ? ig_mod_index(optype, mod->text) : 255);
        fprintf(f, ", %u, %u, %u, 0x%x", slot_of(optype, IC_IN_PLACE, 0), optype->dst.n, optype->src.n,
                hint_bits(optype));
        fprintf(f, reason ? ", \"%s\"},\n" : ", NULL},\n", reason);
    }
    fprintf(f, "};\n");
}

uint32_t igt_units(const Ig *g, unsigned target) {
    uint32_t set = 0;
    for (unsigned i = 1; i < g->optypes.n; i++)
        if (g->optypes.at[i]->targets >> target & 1)
            set |= 1u << value(g->optypes.at[i], IC_UNIT);
    return set;
}

void igt_docs(const IgOptype *optype, FILE *f) {
    fprintf(f, "\n|");
    for (unsigned c = 0; c < IC_COUNT; c++)
        if (stated(optype, c))
            fprintf(f, " %s |", columns[c].name);
    fprintf(f, "\n|");
    for (unsigned c = 0; c < IC_COUNT; c++)
        fputs(stated(optype, c) ? "---|" : "", f);
    fprintf(f, "\n|");
    for (unsigned c = 0; c < IC_COUNT; c++) {
        const IgTrait *trait = &optype->traits.at[c];
        if (!stated(optype, c))
            continue;
        for (unsigned i = 0; i < columns[c].nwords; i++) {
            const Word *word = &columns[c].words[i];
            bool has = columns[c].kind == ONE || !word->value ? trait->value == word->value
                                                              : (trait->value & word->value) == word->value;
            if (has)
                fprintf(f, " %s", word->name);
        }
        for (unsigned i = 0; i < trait->nnames; i++)
            fprintf(f, " `%s`", trait->name[i].text);
        if (c == IC_ACCESS && trait->value)
            fprintf(f, " %u", (unsigned)trait->value);
        fprintf(f, trait->text ? ": %s |" : " |", trait->text);
    }
    fprintf(f, "\n");
}
