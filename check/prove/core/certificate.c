/* What the search for a proof found of one function, as text, and the pass that checks it.
 *
 * The text says which places are compared, which of them a region goes on past, which values of the PTX
 * differ among the ways that lead to a place, and what machine locations hold of them. It has no terms: what
 * is the same on all ways follows from one of them, and is compared with the others. The pass runs each
 * region once. It looks for nothing, iterates nothing, and takes nothing from the search but the text, so
 * that only the pass, the executors, the terms and the obligations of judge.c need to be right. For each edge
 * between two places it shows that what arrives is what the text says. Every cycle of places takes a step on
 * both sides: a region starts with an instruction of one block and a statement of another, and ends where a
 * place begins.
 *
 * Each line is a word and numbers:
 *     at PC STATEMENT             a place: byte in the function, statement of the PTX; the first is the entry
 *     past-ptx STATEMENT ...      other places that the region does not end at
 *     once-past-ptx STATEMENT ... these only once; as often as one is there
 *     past-machine PC ...
 *     differ VALUE ...            values of the PTX: any value
 *     differ-low VALUE ...        only the low word does
 *     whole VALUE ...             one term on all ways, but seen under their conditions it is several
 *     twin VALUE OF HOW SCALE     is SCALE times value OF and what is one term on all ways; OF is taken as it
 *                                 is (HOW 0), sign-extended (1) or zero-extended (2)
 *     memory LIST ...             lists of events that differ
 *     holds LOCATION VALUE HOW K  part HOW (RelationKind) of a value; K is added
 *     location-whole LOCATION ... as `whole`, of what locations have
 *     free LOCATION ...           nothing is known of them
 *     decided SEEN ...            what branches have seen is one term and has one value on all ways: of each
 *                                 branch, in the order of the code, its guard and 7 predicates, from 0 on
 *     seen SEEN ...               it is one term
 *     has LOCATION SEEN HOW       a location has that (HOW 0), or its complement (1)
 *
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/certificate.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */
static uint32_t statement_at(const Prover *prover, uint32_t block) { return prover->blocks[block].first; }
static uint32_t pc_at(const Prover *prover, uint32_t block) { /* of a block of the function */
    return (prover->flow->blocks[prover->ff->first_block + block].first - prover->ff->first_inst) *
           INST_BYTES;
}

static void put_number(FILE *f, bool *open, const char *word, uint32_t number) {
    if (!*open)
        fputs(word, f);
    *open = true;
    fprintf(f, " %" PRIu32, number);
}
static void end_line(FILE *f, bool *open) {
    if (*open)
        fputc('\n', f);
    *open = false;
}

static void put_values(FILE *f, const Prover *prover, const Cut *cut, const char *word, uint8_t phi) {
    bool open = false;
    for (uint32_t v = 0; v < prover->nptx; v++)
        if (cut->phi[v] == phi && cut->pv[v])
            put_number(f, &open, word, v);
    end_line(f, &open);
}

static void put_locations(FILE *f, const Prover *prover, const Cut *cut, const char *word, uint8_t level) {
    bool open = false;
    for (uint32_t l = 0; l < prover->nloc; l++)
        if (cut->level[l] == level)
            put_number(f, &open, word, l);
    end_line(f, &open);
}

static void put_seen(FILE *f, const Prover *prover, const Cut *cut, const char *word, uint8_t level) {
    bool open = false;
    for (uint32_t g = 0; g < prover->nseen; g++)
        if (cut->seen_level[g] == level && cut->seen[g])
            put_number(f, &open, word, g);
    end_line(f, &open);
}

static void put_cut(FILE *f, const Prover *prover, const Cut *cut) {
    bool open = false;
    fprintf(f, "at %u %u\n", pc_at(prover, cut->mach - prover->ff->first_block),
            statement_at(prover, cut->ptx));
    for (uint32_t b = 0; b < prover->nblocks; b++)
        if (cut->pass_ptx[b] == PASS_ALWAYS)
            put_number(f, &open, "past-ptx", statement_at(prover, b));
    end_line(f, &open);
    for (uint32_t b = 0; b < prover->nblocks; b++)
        for (unsigned n = 0; cut->pass_ptx[b] != PASS_ALWAYS && n < cut->pass_ptx[b]; n++)
            put_number(f, &open, "once-past-ptx", statement_at(prover, b));
    end_line(f, &open);
    for (uint32_t b = 0; b < prover->ff->nblocks; b++)
        if (cut->pass_mach[b])
            put_number(f, &open, "past-machine", pc_at(prover, b));
    end_line(f, &open);
    put_values(f, prover, cut, "differ", PHI_ALL);
    put_values(f, prover, cut, "differ-low", PHI_LOW);
    for (uint32_t v = 0; v < prover->nptx; v++)
        if (!cut->phi[v] && cut->whole[v])
            put_number(f, &open, "whole", v);
    end_line(f, &open);
    for (uint32_t v = 0; v < prover->nptx; v++)
        if (cut->phi[v] && cut->pv[v] && cut->twin[v].of)
            fprintf(f, "twin %u %u %u %" PRIu64 "\n", v, cut->twin[v].of - 1, cut->twin[v].how,
                    cut->twin[v].scale);
    for (uint32_t s = 0; s < NMEM; s++)
        if (cut->mem_phi[s])
            put_number(f, &open, "memory", s);
    end_line(f, &open);
    for (uint32_t l = 0; l < prover->nloc; l++)
        if (cut->level[l] == LV_RELATED)
            fprintf(f, "holds %u %u %u %" PRIu64 "\n", l, cut->relation[l].value, cut->relation[l].how,
                    cut->relation[l].extra ? cut->relation[l].extra->k : 0);
    put_locations(f, prover, cut, "location-whole", LV_WHOLE);
    put_locations(f, prover, cut, "free", LV_FREE);
    put_seen(f, prover, cut, "decided", SEEN_DECIDED);
    put_seen(f, prover, cut, "seen", SEEN_TERM);
    for (uint32_t l = 0; l < prover->nloc; l++)
        if (cut->level[l] == LV_SEEN)
            fprintf(f, "has %u %u %u\n", l, cut->relation[l].value, cut->relation[l].how == RL_NOT);
}

char *prove_certificate_write(const Core *core, Arena *arena) {
    TextStream *stream = text_open();
    for (uint32_t k = 0; k < core->cuts.n; k++)
        put_cut(stream->out, &core->p, &core->cuts.at[k]);
    size_t size;
    char *text = text_close(stream, &size), *kept = arena_copy(arena, text, size + 1);
    mem_free(text);
    return kept;
}

/* ---- reading ---- */
const char *prove_certificate_of(const char *text, const char *func) {
    static const char word[] = "function ";
    size_t n = strlen(func);
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, word, sizeof word - 1) == 0 && strncmp(at + sizeof word - 1, func, n) == 0 &&
            at[sizeof word - 1 + n] == '\n')
            return at + sizeof word + n;
    return NULL;
}

typedef struct {
    Core *core;
    Cut *cut;       /* the last one that began */
    const char *at; /* in the line */
} Reader;

static bool next_word(Reader *reader, uint64_t *out) {
    char *end;
    if (*reader->at != ' ')
        return false;
    *out = strtoull(reader->at + 1, &end, 10);
    if (end == reader->at + 1)
        return false;
    reader->at = end;
    return true;
}
static bool next_number(Reader *reader, uint64_t most,
                        uint64_t *out) { /* below `most`; false: none, or too large */
    return next_word(reader, out) && *out < most;
}

static bool read_statement(Reader *reader, uint32_t *block) { /* one that begins a block */
    const Prover *prover = &reader->core->p;
    uint64_t number;
    if (!next_number(reader, (uint64_t)prover->pf->ninsns + 1, &number))
        return false;
    *block = prover->block_of[number];
    return *block < prover->nblocks && prover->blocks[*block].first == number &&
           prover->blocks[*block].rpo != UINT32_MAX;
}

static bool read_pc(Reader *reader,
                    uint32_t *block) { /* one that begins a block; its number in the function */
    const Prover *prover = &reader->core->p;
    uint64_t number;
    if (!next_number(reader, (uint64_t)prover->ff->ninsts * INST_BYTES, &number) || number % INST_BYTES)
        return false;
    uint32_t inst = prover->ff->first_inst + (uint32_t)(number / INST_BYTES);
    *block = prover->flow->block_of[inst];
    if (*block == BINFLOW_NONE || prover->flow->blocks[*block].first != inst ||
        !prover->flow->blocks[*block].reachable)
        return false;
    *block -= prover->ff->first_block;
    return *block < prover->ff->nblocks && prover->rpo_of[*block] != UINT32_MAX;
}

static bool read_at(Reader *reader) {
    Core *core = reader->core;
    uint32_t ptx, mach;
    if (!read_pc(reader, &mach) || !read_statement(reader, &ptx))
        return false;
    if (core->cuts.n ? core->cut_of[mach] != 0 || mach == 0 : mach != 0 || ptx != 0)
        return false;
    prove_core_add_cut(core, ptx, core->p.ff->first_block + mach);
    reader->cut = &core->cuts.at[core->cuts.n - 1];
    memset(reader->cut->seen_level, SEEN_LOST, core->p.nseen);
    return true;
}

static bool read_passes(Reader *reader, bool machine, bool always) {
    uint32_t block;
    while (*reader->at == ' ') {
        if (!(machine ? read_pc(reader, &block) : read_statement(reader, &block)))
            return false;
        if (machine)
            reader->cut->pass_mach[block] = true;
        else if (always)
            reader->cut->pass_ptx[block] = PASS_ALWAYS;
        else if (reader->cut->pass_ptx[block]++ >= MOST_PASSES)
            return false;
    }
    return true;
}

static bool read_values(Reader *reader, uint8_t phi) {
    const Prover *prover = &reader->core->p;
    uint64_t v;
    while (*reader->at == ' ') {
        if (!next_number(reader, prover->nptx, &v) ||
            (phi == PHI_LOW && prove_ptx_width(prover, (uint32_t)v) != 64))
            return false;
        reader->cut->phi[v] = phi;
    }
    return true;
}

static bool read_twin(Reader *reader) {
    const Prover *prover = &reader->core->p;
    uint64_t v, of, how, scale;
    if (!next_number(reader, prover->nptx, &v) || !next_number(reader, prover->nptx, &of) ||
        !next_number(reader, TWIN_HOWS, &how) || !next_word(reader, &scale) || v == of ||
        !reader->cut->phi[v] || !reader->cut->phi[of])
        return false;
    unsigned width = prove_ptx_width(prover, (uint32_t)v), from = prove_ptx_width(prover, (uint32_t)of);
    bool number =
        width >= 32 && !prove_ptx_short(prover, (uint32_t)v) && !prove_ptx_short(prover, (uint32_t)of);
    reader->cut->twin[v] = (Twin){.of = (uint32_t)of + 1, .how = (TwinHow)how, .scale = scale};
    return (how ? number && width == 64 && from == 32 : width == from) && (number || scale == 1);
}

static bool read_memory(Reader *reader) {
    uint64_t s;
    while (*reader->at == ' ') {
        if (!next_number(reader, NMEM, &s))
            return false;
        reader->cut->mem_phi[s] = true;
    }
    return true;
}

static bool read_holds(Reader *reader) {
    Prover *prover = &reader->core->p;
    uint64_t l, v, how, k;
    if (!next_number(reader, prover->nloc, &l) || !next_number(reader, prover->nptx, &v) ||
        !next_number(reader, RL_KINDS, &how) || !next_number(reader, (uint64_t)UINT32_MAX + 1, &k))
        return false;
    unsigned width = prove_ptx_width(prover, (uint32_t)v), has = prove_loc_width((uint32_t)l);
    bool word = how == RL_LOW || how == RL_HIGH, truth = how == RL_ONE || how == RL_ZERO;
    if (!reader->cut->phi[v])
        return false;
    if (word    ? has != 32 || width != 64
        : truth ? has != 32 || width != 1
                : has != width || (how == RL_NOT) > (width == 1) || (how >= RL_OFFSET && width != 32))
        return false;
    reader->cut->level[l] = LV_RELATED;
    reader->cut->relation[l] =
        (Relation){(uint32_t)v, (RelationKind)how, how == RL_OFFSET ? t_const(&prover->ts, 32, k) : NULL};
    return true;
}

static bool read_whole(Reader *reader) {
    uint64_t v;
    while (*reader->at == ' ') {
        if (!next_number(reader, reader->core->p.nptx, &v))
            return false;
        reader->cut->whole[v] = true;
    }
    return true;
}

static bool read_locations(Reader *reader, uint8_t level) {
    uint64_t l;
    while (*reader->at == ' ') {
        if (!next_number(reader, reader->core->p.nloc, &l))
            return false;
        reader->cut->level[l] = level;
    }
    return true;
}

static bool read_seen(Reader *reader, uint8_t level) {
    uint64_t seen;
    while (*reader->at == ' ') {
        if (!next_number(reader, reader->core->p.nseen, &seen))
            return false;
        reader->cut->seen_level[seen] = level;
    }
    return true;
}

static bool read_has(Reader *reader) {
    uint64_t l, seen, complement;
    if (!next_number(reader, reader->core->p.nloc, &l) ||
        !next_number(reader, reader->core->p.nseen, &seen) || !next_number(reader, 2, &complement) ||
        prove_loc_width((uint32_t)l) != 1 || reader->cut->seen_level[seen] == SEEN_LOST)
        return false;
    reader->cut->level[l] = LV_SEEN;
    reader->cut->relation[l] = (Relation){(uint32_t)seen, complement ? RL_NOT : RL_SAME, NULL};
    return true;
}

static bool read_line(Reader *reader, size_t word) {
    static const char *const words[] = {
        "at",   "past-ptx", "past-machine",   "differ",  "differ-low", "twin", "memory",       "holds",
        "free", "whole",    "location-whole", "decided", "seen",       "has",  "once-past-ptx"};
    const char *line = reader->at - word;
    unsigned k = 0;
    while (k < sizeof words / sizeof *words &&
           (strlen(words[k]) != word || strncmp(words[k], line, word) != 0))
        k++;
    if (k && !reader->cut)
        return false;
    switch (k) {
    case 0: return read_at(reader);
    case 1:
    case 2: return read_passes(reader, k == 2, true);
    case 3: return read_values(reader, PHI_ALL);
    case 4: return read_values(reader, PHI_LOW);
    case 5: return read_twin(reader);
    case 6: return read_memory(reader);
    case 7: return read_holds(reader);
    case 8: return read_locations(reader, LV_FREE);
    case 9: return read_whole(reader);
    case 10: return read_locations(reader, LV_WHOLE);
    case 11: return read_seen(reader, SEEN_DECIDED);
    case 12: return read_seen(reader, SEEN_TERM);
    case 13: return read_has(reader);
    case 14: return read_passes(reader, false, false);
    default: return false;
    }
}

bool prove_certificate_read(Core *core, const char *text) {
    static const char ends[] = "function ";
    Reader reader = {.core = core};
    prove_core_no_cuts(core);
    while (*text && strncmp(text, ends, sizeof ends - 1) != 0) {
        size_t word = strcspn(text, " \n");
        reader.at = text + word;
        if (!read_line(&reader, word) || *reader.at != '\n') {
            core->gave_up = "the certificate does not fit the function";
            return false;
        }
        text = reader.at + 1;
    }
    if (!core->cuts.n)
        core->gave_up = "the certificate says nothing of the function";
    return core->cuts.n != 0;
}

/* ---- checking ---- */
static void broken(Core *core, const char *why) {
    if (!core->gave_up)
        core->gave_up = why;
}

/* What the place is said to have, where the first way to it brings `edge`. */
static void enter(Core *core, uint32_t index, const Edge *edge) {
    Prover *prover = &core->p;
    Terms *ts = &prover->ts;
    Cut *cut = &core->cuts.at[index];
    cut->reached = true;
    if (!prove_guards_enter(core, cut, edge)) {
        broken(core, "a branch has not seen what it is said to have seen");
        return;
    }
    for (uint32_t v = 0; v < prover->nptx; v++) {
        bool low = cut->phi[v] == PHI_LOW;
        if (low && (!edge->pv[v] || edge->pv[v]->width != 64)) {
            broken(core, "a value of which the low word differs is not there");
            return;
        }
        cut->pv[v] = cut->phi[v]     ? prove_core_variable(core, index, v, low ? t_hi(ts, edge->pv[v]) : NULL)
                     : cut->whole[v] ? edge->whole_pv[v]
                                     : edge->pv[v];
    }
    if (!prove_twins_enter(core, cut, edge)) {
        broken(core, "a value is not that of its twin");
        return;
    }
    for (unsigned s = 0; s < NMEM; s++)
        cut->mem[s] = cut->mem_phi[s] ? t_var(ts, 0, term_name(ts, "memory %u", s), index + 1) : edge->mem[s];
    for (uint32_t l = 0; l < prover->nloc; l++)
        cut->lv[l] = cut->level[l] == LV_SAME    ? edge->lv[l]
                     : cut->level[l] == LV_WHOLE ? edge->whole_lv[l]
                     : cut->level[l] <= LV_SEEN  ? prove_core_held(core, index, l)
                                                 : prove_core_unknown(core, index, l);
}

/* Values of the PTX, and of memory. */
static void compare_values(Core *core, const Cut *cut, const Edge *edge) {
    Prover *prover = &core->p;
    Terms *ts = &prover->ts;
    for (uint32_t v = 0; v < prover->nptx; v++) {
        Term *value = edge->pv[v];
        if (!cut->phi[v] && (cut->whole[v] ? edge->whole_pv[v] : value) != cut->pv[v])
            broken(core, "a value that does not differ does");
        if (cut->phi[v] == PHI_LOW &&
            (!value || value->width != 64 || (!cut->twin[v].of && t_hi(ts, value) != t_hi(ts, cut->pv[v]))))
            broken(core, "a high word that does not differ does");
    }
    if (!prove_twins_hold(core, cut, edge))
        broken(core, "a value is not that of its twin");
    for (unsigned s = 0; s < NMEM; s++)
        if (!cut->mem_phi[s] && edge->mem[s] != cut->mem[s])
            broken(core, "memory that does not differ does");
}

static void compare_locations(Core *core, const Cut *cut, const Edge *edge) {
    Prover *prover = &core->p;
    for (uint32_t l = 0; l < prover->nloc; l++)
        if (cut->level[l] == LV_RELATED)
            prove_core_choose(edge, l, &cut->relation[l]);
    for (uint32_t l = 0; l < prover->nloc; l++) {
        const Relation *relation = &cut->relation[l];
        if (cut->level[l] <= LV_WHOLE &&
            (cut->level[l] == LV_SAME ? edge->lv[l] : edge->whole_lv[l]) != cut->lv[l])
            broken(core, "a location that does not differ does");
        if (cut->level[l] == LV_SEEN && !prove_guards_tell(core, cut, edge, l, relation))
            broken(core, "a location does not have what a branch is said to have seen");
        if (cut->level[l] == LV_RELATED && !prove_core_brings(core, edge, l, relation))
            broken(core, "a location does not hold what it is said to");
    }
}

static void compare(Core *core, const Edge *edge) {
    const Cut *cut = &core->cuts.at[edge->to];
    if (!prove_guards_hold(core, cut, edge))
        broken(core, "a branch has not seen what it is said to have seen");
    compare_values(core, cut, edge);
    compare_locations(core, cut, edge);
}

void prove_certificate_check(Core *core) {
    Prover *prover = &core->p;
    uint32_t *queue = ARENA_ARRAY(&prover->arena, uint32_t, core->cuts.n + 1), n = 0;
    enter(core, 0, &core->entry);
    queue[n++] = 0;
    for (uint32_t k = 0; k < n && !core->gave_up; k++) {
        Cut *cut = &core->cuts.at[queue[k]];
        scope_poll();
        prove_core_run_once(core, cut);
        prove_core_edges(core, cut);
        for (uint32_t e = 0; e < cut->edges.n; e++)
            if (!core->cuts.at[cut->edges.at[e].to].reached) {
                enter(core, cut->edges.at[e].to, &cut->edges.at[e]);
                queue[n++] = cut->edges.at[e].to;
            }
        const char *exhausted = prove_core_exhausted(core);
        if (exhausted)
            broken(core, exhausted);
    }
    if (!core->gave_up)
        compare(core, &core->entry);
    for (uint32_t k = 0; k < n && !core->gave_up; k++)
        for (uint32_t e = 0; e < core->cuts.at[queue[k]].edges.n; e++)
            compare(core, &core->cuts.at[queue[k]].edges.at[e]);
    const char *exhausted = prove_core_exhausted(core);
    if (exhausted)
        broken(core, exhausted);
}
