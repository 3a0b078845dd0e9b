/* Rendezvous stubs. PTX matches collectives by their mask: lanes of one warp may come to a `shfl.sync` with
 * the same mask at different places in the program, and it is one shuffle. WARPSYNC counts arrivals by PC:
 * lanes at two WARPSYNCs wait for each other for ever. So places that may meet each other run their
 * collective in one function that all of them call, the stub:
 *
 *     place:  YIELD                        a partner may be parked at a BSYNC that waits for these lanes
 *             copies                       operands to fixed registers, as in a call
 *             LEPC R2, behind; CALL stub
 *     stub:   WARPSYNC mask
 *             the operation
 *             RET R2                       takes each lane back to its own place
 *
 * 1. find_stub_sites lists the places: collectives (IF_SYNC), WARPSYNCs that PTX wrote, barriers; not
 *    collectives of the lanes that are active, whichever these are (lower/reconverge/together.c).
 * 2. may_meet asks of each two of a kind; union-find over those that may (connect) makes the groups. Two
 *    never meet, and need no stub, if
 *      both are in uniform flow: all lanes are at the same one;
 *      one is in uniform flow of a kernel, and every lane at the other has passed it once and for all;
 *      every lane passes them in turn, with one mask: a, b, a, b; if the mask is a number, none of its lanes
 *      comes to a place whose mask is one that has none of them;
 *      their masks, or the numbers of their barriers, are different constants;
 *      their masks are ballots of all lanes about the branches that lead there (lower/reconverge/ballot.c),
 * of other votes or sides, or one is and the other is in uniform flow; no kernel reaches both; or PTX
 * promises (.aligned) of one of them that all lanes of a warp are there; of barriers, of both. Beyond
 * MAX_SITES places only the last is asked: all of a kind are one group, which is always right.
 * 3. make_stub builds a function for each group of two or more. An operand that is the same constant at all
 *    places is written into the stub, others travel (Way): mask first, then the sources in order, one
 *    register a word from R4 on, a vector from an even one; predicates as 0 or 1. Results come back from R4.
 * 4. call_stub replaces each place. Stubs go to the front of the module: callees come before callers.
 * 5. Where masks may differ among lanes, they are gathered first: lower/reconverge/gather.c.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"
#include "lower/opt/opt.h"
#include "lower/reconverge/stub.h"

enum { MAX_SITES = 3000, MAX_TURN_TESTS = 20000, STUB_SRCS = 8, STUB_DSTS = 4 };

/* ---- the places ---- */

static InstId result_behind(Function *f, const Block *b, unsigned p) {
    for (p++; p < b->insts.n; p++) {
        unsigned op = ir_inst(f, b->insts.at[p])->op;
        if (op == OT_B2R_RESULT)
            return b->insts.at[p];
        if (reconv_is_bar(op) || op == OT_CALL)
            break;
    }
    return (InstId){0};
}

static void find_stub_sites(Stubs *stubs, Function *f) {
    FOR_BLOCKS(f, block_id) {
        const Block *b = ir_block(f, block_id);
        Operand active = {0};
        FOR_INST_IDS(f, block_id, id) {
            Inst *i = ir_inst(f, id);
            if (reconv_step_active(f, i, &active))
                continue;
            unsigned own = ir_is_pseudo(i->op) ? 0 : isa_num_src(i->op);
            if (!op_is_always(i->guard) ||
                (!reconv_is_bar(i->op) && i->op != OT_WARPSYNC && !(i->flags & IF_SYNC)))
                continue;
            StubSite site = {.f = f,
                             .block = block_id,
                             .inst = id,
                             .uniform = b->uniform_flow,
                             .aligned = (i->flags & IF_ALIGNED) != 0,
                             .parent = stubs->sites.n};
            if (i->op == OT_WARPSYNC)
                site.mask = *ir_src(f, i, WARPSYNC_rb);
            else if (reconv_is_bar(i->op))
                site.mask = op_imm(UINT32_MAX);
            else if (i->nsrc > own)
                site.mask = *ir_src(f, i, own);
            else
                continue; /* without a mask: an internal error later */
            if (i->op == OT_BAR_RED)
                site.result = result_behind(f, b, AT(id));
            *VEC_PUSH(&stubs->a, &stubs->sites) = site;
        }
    }
}

/* ---- may two of them meet? ---- */

static void reach_callees(Stubs *stubs, const CallGraph *calls, uint32_t root, uint32_t *stack) {
    uint32_t top = 0;
    stack[top++] = root;
    bs_add(&stubs->facts[root].roots, root);
    while (top) {
        uint32_t n = stack[--top];
        GRAPH_SUCCS(&calls->graph, n, t)
            if (!bs_has(&stubs->facts[*t].roots, root)) {
                bs_add(&stubs->facts[*t].roots, root);
                stack[top++] = *t;
            }
    }
}

static void find_roots(Stubs *stubs) {
    CallGraph calls = call_graph(&stubs->a, stubs->m);
    uint32_t n = calls.n + 1, *stack = ARENA_ARRAY(&stubs->a, uint32_t, n);
    stubs->facts = ARENA_ARRAY(&stubs->a, StubFacts, n); /* the last one: of unknown callees */
    for (uint32_t k = 0; k < n; k++)
        stubs->facts[k].roots = bs_new(&stubs->a, n);
    for (uint32_t k = 0; k < calls.n; k++)
        if (calls.open[k])
            reach_callees(stubs, &calls, k, stack);
}

bool reconv_share_root(const StubFacts *facts, const StubFacts *b) {
    for (uint32_t k = 0; k < bs_words(&facts->roots); k++)
        if (facts->roots.w[k] & b->roots.w[k])
            return true;
    return false;
}

static void find_facts(Stubs *stubs, Function *f, StubFacts *facts) {
    facts->ready = true;
    facts->dom = dom_tree(&stubs->a, &facts->g, GRAPH_FORWARD, f->entry.i);
    facts->pd = cfg_post_dominators(&stubs->a, f, &facts->g, f->entry.i);
}

static const StubFacts *facts_of(Stubs *stubs, Function *f) {
    StubFacts *facts = &stubs->facts[f->index];
    if (!facts->ready) {
        facts->g = cfg_graph(&stubs->a, f);
        find_facts(stubs, f, facts);
    }
    return facts;
}

/* [block] who executes it is in a mask without a lane of this one; NULL: there is no such block. */
static bool *others_blocks(Stubs *stubs, const Function *f, uint32_t mask) {
    bool *others = NULL;
    for (uint32_t k = 0; k < stubs->sites.n; k++) {
        const StubSite *site = &stubs->sites.at[k];
        if (site->f != f || site->mask.kind != OPK_IMM || ((uint32_t)site->mask.value & mask))
            continue;
        if (!others)
            others = ARENA_ARRAY(&stubs->a, bool, f->blocks.n);
        others[site->block.i] = true;
    }
    return others;
}

/* What is so for lanes that come to the place. */
static const StubFacts *facts_at(Stubs *stubs, const StubSite *site) {
    const StubFacts *all = facts_of(stubs, site->f);
    uint32_t mask = (uint32_t)site->mask.value;
    if (site->mask.kind != OPK_IMM)
        return all;
    for (uint32_t k = 0; k < stubs->of_masks.n; k++)
        if (stubs->of_masks.at[k].f == site->f && stubs->of_masks.at[k].mask == mask)
            return &stubs->of_masks.at[k].facts;
    const bool *others = others_blocks(stubs, site->f, mask);
    MaskFacts found = {.f = site->f, .mask = mask, .facts = *all};
    VEC(GraphEdge) edges = {0};
    for (uint32_t b = 0; b < all->g.n && others; b++)
        GRAPH_SUCCS(&all->g, b, t)
            if (!others[b] && !others[*t])
                VEC_ADD(&stubs->a, &edges, ((GraphEdge){b, *t}));
    if (others) {
        found.facts.g = graph_new(&stubs->a, all->g.n, edges.at, edges.n);
        find_facts(stubs, site->f, &found.facts);
    }
    VEC_ADD(&stubs->a, &stubs->of_masks, found);
    return &stubs->of_masks.at[stubs->of_masks.n - 1].facts;
}

/* A path of one edge or more from `from` to `to` that does not pass `without`. */
static bool reaches(Stubs *stubs, const StubFacts *facts, uint32_t from, uint32_t to, uint32_t without) {
    ArenaMark mark = arena_mark(&stubs->a);
    uint8_t *seen = ARENA_ARRAY(&stubs->a, uint8_t, facts->g.n);
    uint32_t *stack = ARENA_ARRAY(&stubs->a, uint32_t, facts->g.n + 1), top = 0;
    stack[top++] = from;
    while (top && !seen[to]) {
        uint32_t n = stack[--top];
        GRAPH_SUCCS(&facts->g, n, t)
            if (!seen[*t] && *t != without)
                seen[*t] = 1, stack[top++] = *t;
    }
    bool found = seen[to];
    arena_release(&stubs->a, mark);
    return found;
}

static void find_ballots(Stubs *stubs) {
    for (uint32_t k = 0; k < stubs->sites.n; k++) {
        StubSite *site = &stubs->sites.at[k];
        if (!site->uniform && site->mask.kind == OPK_VAL)
            site->ballot =
                reconv_ballot_of(site->f, &facts_of(stubs, site->f)->dom, site->block.i, site->mask);
    }
}

/* Does every lane pass a, b, a, b, ... in turn? */
static bool in_turn(Stubs *stubs, const StubSite *site, const StubSite *b) {
    uint32_t x = site->block.i, y = b->block.i;
    if (x == y)
        return true;
    if (++stubs->turn_tests > MAX_TURN_TESTS)
        return false;
    const StubFacts *facts = facts_at(stubs, site);
    if (!(dom_contains(&facts->dom, x, y) && postdom_contains(&facts->pd, y, x)) &&
        !(dom_contains(&facts->dom, y, x) && postdom_contains(&facts->pd, x, y)))
        return false;
    return !reaches(stubs, facts, x, x, y) && !reaches(stubs, facts, y, y, x);
}

/* Has every lane that is at `odd` passed `even` once, and will none pass it again? Uniform flow alone does
 * not say so: lanes on their way to an EXIT may leave it aside. */
static bool passed_once(Stubs *s, const StubSite *even, const StubSite *odd) {
    const StubFacts *facts = facts_of(s, even->f);
    return even->f->is_entry && dom_contains(&facts->dom, even->block.i, odd->block.i) &&
           !reaches(s, facts, even->block.i, even->block.i, NO_NODE) &&
           !reaches(s, facts, odd->block.i, even->block.i, NO_NODE);
}

/* Lanes meet by mask, so places with different numbers never do. */
static bool other_mask(Operand a, Operand b) {
    return a.kind == OPK_IMM && b.kind == OPK_IMM && a.value != b.value;
}

static bool other_barrier(const StubSite *site, const Inst *i, const StubSite *b, const Inst *j) {
    Operand x = *ir_src(site->f, i, 0), y = *ir_src(b->f, j, 0);
    return reconv_is_bar(i->op) && x.kind == OPK_IMM && y.kind == OPK_IMM && x.value != y.value;
}

bool reconv_promised_apart(unsigned op, bool aligned, bool other_aligned) {
    return reconv_is_bar(op) ? aligned && other_aligned : aligned || other_aligned;
}

/* Modifiers but for the form of a barrier's operands (pack_barrier). */
static uint32_t mods_that_tell(const Inst *i) {
    return i->op == OT_BAR       ? MPUT(BAR, packed, i->mods, 0)
           : i->op == OT_BAR_RED ? MPUT(BAR_RED, packed, i->mods, 0)
                                 : i->mods;
}
static bool has_count(const Function *f, const Inst *i) { /* of a barrier: for itself, or with the number */
    return mods_that_tell(i) != i->mods || ir_src(f, i, 1)->kind != OPK_NONE;
}
/* Can one instruction be both? Natively a barrier without a count is another one than any with one: the
 * modifier is of both. On bru1 a count of 0 is none. */
static bool same_kind(const Stubs *stubs, const StubSite *site, const StubSite *b) {
    const Inst *i = ir_inst(site->f, site->inst), *j = ir_inst(b->f, b->inst);
    bool native = !isa_target_info(stubs->m->target)->has_yield_fairness;
    return i->op == j->op && mods_that_tell(i) == mods_that_tell(j) &&
           (!native || !reconv_is_bar(i->op) || has_count(site->f, i) == has_count(b->f, j));
}

static bool may_meet(Stubs *stubs, const StubSite *site, const StubSite *b) {
    const Inst *i = ir_inst(site->f, site->inst), *j = ir_inst(b->f, b->inst);
    if (!same_kind(stubs, site, b) || (site->uniform && b->uniform) ||
        reconv_promised_apart(i->op, site->aligned, b->aligned) || other_mask(site->mask, b->mask) ||
        other_barrier(site, i, b, j) ||
        !reconv_share_root(&stubs->facts[site->f->index], &stubs->facts[b->f->index]))
        return false;
    if (site->f != b->f)
        return true;
    if (reconv_other_ballot(site->ballot, b->ballot) || (site->ballot.vote.i && b->uniform) ||
        (b->ballot.vote.i && site->uniform))
        return false;
    if (!site->uniform && !b->uniform)
        return !reconv_same_operand(site->mask, b->mask) || !in_turn(stubs, site, b);
    return !(site->uniform ? passed_once(stubs, site, b) : passed_once(stubs, b, site));
}

uint32_t reconv_stub_leader(Stubs *stubs, uint32_t k) {
    while (stubs->sites.at[k].parent != k)
        k = stubs->sites.at[k].parent = stubs->sites.at[stubs->sites.at[k].parent].parent;
    return k;
}

static void unite(Stubs *stubs, uint32_t a, uint32_t b) {
    stubs->sites.at[reconv_stub_leader(stubs, a)].parent = reconv_stub_leader(stubs, b);
}

/* Of very many places all of one kind use one stub, but for those kinds of which PTX promises each that a
 * warp is at one place. */
static void connect_many(Stubs *stubs) {
    VEC(uint32_t) kinds = {0}; /* a place of each that is not .aligned */
    for (int aligned = 0; aligned < 2; aligned++)
        for (uint32_t a = 0; a < stubs->sites.n; a++) {
            const StubSite *site = &stubs->sites.at[a];
            const Inst *i = ir_inst(site->f, site->inst);
            if (site->aligned != (aligned != 0))
                continue;
            uint32_t k = 0;
            for (; k < kinds.n; k++) {
                const StubSite *first = &stubs->sites.at[kinds.at[k]];
                if (same_kind(stubs, site, first))
                    break;
            }
            if (k < kinds.n && !reconv_promised_apart(i->op, aligned, false))
                unite(stubs, a, kinds.at[k]);
            else if (k == kinds.n && !aligned)
                *VEC_PUSH(&stubs->a, &kinds) = a;
        }
}

static void connect(Stubs *stubs) {
    if (stubs->sites.n > MAX_SITES) {
        connect_many(stubs);
        return;
    }
    for (uint32_t a = 0; a < stubs->sites.n; a++)
        for (uint32_t b = 0; b < a; b++)
            if (reconv_stub_leader(stubs, a) != reconv_stub_leader(stubs, b) &&
                may_meet(stubs, &stubs->sites.at[a], &stubs->sites.at[b]))
                unite(stubs, a, b);
}

/* ---- the stub of a group ---- */

typedef struct { /* how operands travel; regs 0: the same constant everywhere */
    Operand constant;
    uint8_t regs;
    bool pred;
} Way;

typedef struct {
    unsigned op, result_op; /* result_op: whose destinations are the results */
    uint32_t mods;
    uint16_t flags; /* that the operation has at all places */
    unsigned nsrc, ndst;
    Way mask, src[STUB_SRCS];
    uint8_t file[STUB_DSTS]; /* of a result, RF_COUNT if nobody wants it */
    uint8_t regs[STUB_DSTS]; /* of a result */
    uint32_t barriers;
    StrId name;
    Function *f;
} Stub;

static void add_way(Way *way, Operand o, bool first) {
    if (first)
        way->constant = o;
    else if (!way->regs && reconv_same_operand(way->constant, o) && o.kind != OPK_VAL)
        return;
    bool variable = o.kind == OPK_VAL || !first;
    way->pred |= (o.kind == OPK_VAL || o.kind == OPK_REG) && (o.file == RF_P || o.file == RF_UP);
    unsigned n = (o.kind == OPK_VAL || o.kind == OPK_REG) && !way->pred && o.count > 1 ? o.count : 1;
    if (variable)
        way->regs = (uint8_t)(n > way->regs ? n : way->regs);
}

static const Inst *result_inst(const StubSite *site) {
    return ir_inst(site->f, site->result.i ? site->result : site->inst);
}

static void add_site(Stub *st, const StubSite *site, bool first) {
    const Inst *i = ir_inst(site->f, site->inst), *res = result_inst(site);
    st->op = i->op;
    st->mods = i->mods;
    st->flags = first ? i->flags & IF_MASKED : st->flags & i->flags;
    st->nsrc = isa_num_src(i->op);
    st->result_op = i->op == OT_BAR_RED ? OT_B2R_RESULT : i->op;
    st->ndst = isa_num_dst(st->result_op);
    st->barriers = site->f->nbarriers_used > st->barriers ? site->f->nbarriers_used : st->barriers;
    add_way(&st->mask, site->mask, first);
    for (unsigned k = 0; k < st->nsrc; k++)
        if (st->op != OT_WARPSYNC || k != WARPSYNC_rb)
            add_way(&st->src[k], *ir_src(site->f, i, k), first);
    for (unsigned k = 0; k < st->ndst; k++) {
        Operand o = res->op == st->result_op ? *ir_dst(site->f, res, k) : op_none();
        unsigned regs = o.kind == OPK_VAL && o.count > 1 ? o.count : 1;
        if (first)
            st->file[k] = RF_COUNT;
        if (o.kind == OPK_VAL)
            st->file[k] = o.file;
        if (first || regs > st->regs[k])
            st->regs[k] = (uint8_t)regs;
    }
}

enum { MOST_WORDS = 4, MOST_FIXED = MOST_WORDS * (STUB_SRCS + STUB_DSTS + 1) + 2 };
typedef struct { /* a list of fixed registers, in the order in which they are given out */
    Operand value[MOST_FIXED], fixed[MOST_FIXED];
    unsigned n;
    int next;
} Fixed;

static void add_fixed(Function *f, Fixed *l, Operand value, int reg) {
    l->value[l->n] = value;
    l->fixed[l->n++] = reconv_fixed_value(f, reg);
}

/* Where the next operand of `regs` registers goes. */
static int next_reg(Fixed *fixed, unsigned regs) {
    int at = regs > 1 ? (fixed->next + 1) & ~1 : fixed->next;
    fixed->next = at + (int)regs;
    return at;
}

static void put_copies(ReconvPlace *place, const Fixed *l, bool out) {
    if (!l->n)
        return;
    InstId c = reconv_place_inst(place, IR_PARCOPY, l->n, l->n);
    for (unsigned k = 0; k < l->n; k++) {
        ir_set_src(place->f, c, k, out ? l->fixed[k] : l->value[k]);
        ir_set_dst(place->f, c, k, out ? l->value[k] : l->fixed[k]);
    }
}

static Operand put_sel(ReconvPlace *place, Operand pred) { /* 1 where pred is true */
    InstId i = reconv_place_op(place, OT_SEL);
    Operand v = ir_val(place->f, ir_value_new(place->f, RF_R));
    ir_set_dst(place->f, i, SEL_rd, v);
    ir_set_src(place->f, i, SEL_ra, op_rz());
    ir_set_src(place->f, i, SEL_rb, op_imm(1));
    ir_set_src(place->f, i, SEL_pp, op_not(pred));
    return v;
}

static void put_isetp(ReconvPlace *place, Operand pred, Operand r) { /* pred = r != 0 */
    InstId i = reconv_place_op(place, OT_ISETP);
    ir_inst(place->f, i)->mods =
        MSET(ISETP, sign, ISign_U32) | MSET(ISETP, cmp, ICmp_NE) | MSET(ISETP, bop, BoolOp_AND);
    ir_set_dst(place->f, i, 0, pred);
    ir_set_src(place->f, i, ISETP_ra, r);
    ir_set_src(place->f, i, ISETP_rb, op_rz());
    ir_set_src(place->f, i, ISETP_pp, op_pt());
}

/* The stub's own view of one operand: constant, or copied from its registers. */
static Operand receive(Stub *st, Fixed *in, const Way *way) {
    if (!way->regs)
        return way->constant;
    int reg = next_reg(in, way->regs);
    ValId v[MOST_WORDS];
    for (unsigned k = 0; k < way->regs; k++) {
        v[k] = ir_value_new(st->f, RF_R);
        add_fixed(st->f, in, ir_val(st->f, v[k]), reg + (int)k);
    }
    return ir_vec(st->f, v, way->regs);
}

/* A value of the file, or a vector of as many words. */
static Operand new_result(Function *f, RegFile file, unsigned regs) {
    ValId v[MOST_WORDS];
    for (unsigned k = 0; k < regs; k++)
        v[k] = ir_value_new(f, file);
    return regs == 1 ? ir_val(f, v[0]) : ir_vec(f, v, regs);
}

/* The words of a result in registers from `reg` on. */
static void add_words(Function *f, Fixed *list, Operand o, int reg) {
    if (o.count <= 1)
        add_fixed(f, list, o, reg);
    for (unsigned k = 0; o.count > 1 && k < o.count; k++)
        add_fixed(f, list, ir_val(f, ir_operand_value(f, o, k)), reg + (int)k);
}

/* The number and the count of a barrier have come in registers of their own, from a place where one register
 * holds both in the number's, with no count. */
static void pack_barrier(ReconvPlace *place, Stub *st, const Target *target, Operand *src) {
    unsigned count_bit;
    uint32_t mods;
    if (!reconv_is_bar(st->op) || !sel_bar_packs(target, st->op, src[0], src[1], &count_bit, &mods))
        return;
    InstId id = reconv_place_op(place, OT_IMAD);
    Operand packed = reconv_value(place->f, RF_R);
    ir_inst(place->f, id)->mods = MSET(IMAD, sign, ISign_U32);
    ir_set_dst(place->f, id, IMAD_rd, packed);
    ir_set_src(place->f, id, IMAD_ra, src[1]);
    ir_set_src(place->f, id, IMAD_rb, op_imm(1u << count_bit));
    ir_set_src(place->f, id, IMAD_rc, src[0]);
    ir_set_src(place->f, id, IMAD_pp, op_with(op_pt(), OPM_NOT));
    src[0] = packed;
    src[1] = op_none();
    st->mods |= mods;
}

static void build_stub(Stub *st, IrModule *m) {
    Function *f = st->f = ir_function_new(m, st->name, false);
    ReconvPlace p = {f, ir_block_new(f), 0, {0}};
    Fixed in = {.next = ABI_FIRST_REG}, out = {.next = ABI_FIRST_REG};
    f->entry = p.block;
    f->is_ssa = f->uses_sync = true;
    f->nbarriers_used = st->barriers;
    Operand mask = receive(st, &in, &st->mask), src[STUB_SRCS];
    for (unsigned k = 0; k < st->nsrc; k++)
        src[k] = st->op == OT_WARPSYNC && k == WARPSYNC_rb ? mask : receive(st, &in, &st->src[k]);
    ValId ra[2] = {ir_value_new(f, RF_R), ir_value_new(f, RF_R)};
    for (unsigned k = 0; k < 2; k++)
        add_fixed(f, &in, ir_val(f, ra[k]), ABI_RETURN_REG + (int)k);
    InstId entry = reconv_place_inst(&p, IR_ENTRY, in.n, 0);
    for (unsigned k = 0; k < in.n; k++)
        ir_set_dst(f, entry, k, in.fixed[k]);
    put_copies(&p, &in, true);
    for (unsigned k = 0; k < st->nsrc; k++)
        if (st->src[k].regs && st->src[k].pred) {
            Operand r = src[k];
            src[k] = reconv_value(f, RF_P);
            put_isetp(&p, src[k], r);
        }
    pack_barrier(&p, st, m->target, src);
    if (st->op != OT_WARPSYNC) {
        InstId w = reconv_place_op(&p, OT_WARPSYNC);
        ir_set_src(f, w, WARPSYNC_rb, mask);
        ir_set_src(f, w, WARPSYNC_pp, op_pt());
    }
    InstId op = reconv_place_op(&p, st->op);
    ir_inst(f, op)->mods = st->mods;
    ir_inst(f, op)->flags |= st->flags;
    for (unsigned k = 0; k < st->nsrc; k++)
        ir_set_src(f, op, k, src[k]);
    if (st->op != st->result_op)
        op = reconv_place_op(&p, st->result_op);
    for (unsigned k = 0; k < st->ndst; k++)
        if (st->file[k] != RF_COUNT)
            ir_set_dst(f, op, k, new_result(f, (RegFile)st->file[k], st->regs[k]));
    for (unsigned k = 0; k < st->ndst; k++) {
        if (st->file[k] == RF_COUNT)
            continue;
        Operand v = *ir_dst(f, ir_inst(f, op), k);
        if (v.file == RF_P)
            v = put_sel(&p, v);
        else if (v.file == RF_UR)
            v = opt_mov_before(f, p.block, p.at++, v, p.loc);
        add_words(f, &out, v, next_reg(&out, st->regs[k]));
    }
    put_copies(&p, &out, false);
    InstId ret = reconv_place_inst(&p, OT_RET, 0, isa_num_src(OT_RET) + out.n);
    ir_inst(f, ret)->mods = MSET(RET, mode, BasePCMode_ABS);
    ir_set_src(f, ret, RET_pp, op_pt());
    ir_set_src(f, ret, RET_ra, ir_vec(f, ra, 2));
    ir_set_src(f, ret, RET_offset, op_imm(0));
    for (unsigned k = 0; k < out.n; k++)
        ir_set_src(f, ret, isa_num_src(OT_RET) + k, out.fixed[k]);
    ir_renumber(f);
}

/* ---- the calls ---- */

unsigned reconv_position(Function *f, BlockId b, InstId id) {
    unsigned p = 0;
    while (ir_block(f, b)->insts.at[p].i != id.i)
        p++;
    return p;
}

static void pass_operand(ReconvPlace *place, Fixed *args, const Way *way, Operand o) {
    if (!way->regs)
        return;
    int reg = next_reg(args, way->regs);
    if (way->pred) {
        o = put_sel(place, o.kind == OPK_NONE ? op_pt() : o);
    } else if (o.kind == OPK_NONE) {
        o = op_imm(0);
    } else if (o.kind != OPK_VAL && o.kind != OPK_IMM && o.kind != OPK_REG) {
        o = opt_mov_before(place->f, place->block, place->at, o, place->loc);
        place->at++;
    }
    for (unsigned k = 0; k < way->regs; k++) {
        Operand part = o;
        if (o.kind == OPK_VAL)
            part = k < o.count ? ir_val(place->f, ir_operand_value(place->f, o, k)) : op_imm(0);
        else if (k)
            part = o.kind == OPK_IMM && o.value >> 31 ? op_imm(UINT32_MAX) : op_imm(0);
        add_fixed(place->f, args, part, reg + (int)k);
    }
}

/* A value that a UR held is in R from now on. */
static void move_to_r(Function *f, uint32_t value) {
    f->values.at[value].file = RF_R;
    for (unsigned k = 0; k < f->operands.n; k++)
        if (f->operands.at[k].kind == OPK_VAL && f->operands.at[k].count == 1 &&
            f->operands.at[k].value == value)
            f->operands.at[k].file = RF_R;
}

static void call_stub(const Stub *st, const StubSite *site, const Function *gather) {
    Function *f = site->f;
    ReconvPlace p = {f, site->block, reconv_position(f, site->block, site->inst),
                     ir_inst(f, site->inst)->loc};
    Fixed args = {.next = ABI_FIRST_REG}, results = {.next = ABI_FIRST_REG};
    if (gather)
        reconv_call_gather(&p, gather, site->mask);
    reconv_place_op(&p, OT_YIELD);
    pass_operand(&p, &args, &st->mask, site->mask);
    for (unsigned k = 0; k < st->nsrc; k++)
        if (st->op != OT_WARPSYNC || k != WARPSYNC_rb)
            pass_operand(&p, &args, &st->src[k], *ir_src(f, ir_inst(f, site->inst), k));
    put_copies(&p, &args, false);
    ValId ra[2] = {{reconv_fixed_value(f, ABI_RETURN_REG).value},
                   {reconv_fixed_value(f, ABI_RETURN_REG + 1).value}};
    ir_set_dst(f, reconv_place_op(&p, OT_LEPC), LEPC_rd, ir_vec(f, ra, 2));
    Operand pred[STUB_DSTS], flag[STUB_DSTS];
    unsigned npreds = 0;
    for (unsigned k = 0; k < st->ndst; k++) {
        Operand o = result_inst(site)->op == st->result_op ? *ir_dst(f, result_inst(site), k) : op_none();
        int reg = st->file[k] == RF_COUNT ? 0 : next_reg(&results, st->regs[k]);
        if (o.kind != OPK_VAL)
            continue;
        if (o.file == RF_P) {
            pred[npreds] = o;
            o = flag[npreds++] = reconv_value(f, RF_R);
        } else if (o.file == RF_UR) {
            move_to_r(f, o.value);
            o.file = RF_R;
        }
        add_words(f, &results, o, reg);
    }
    InstId call = reconv_place_inst(&p, OT_CALL, results.n, isa_num_src(OT_CALL) + args.n + 1);
    ir_inst(f, call)->mods = MSET(CALL, mode, BasePCMode_REL);
    ir_set_src(f, call, CALL_pp, op_pt());
    ir_set_src(f, call, CALL_ra, op_reg(RF_R, REG_RZ, 2));
    ir_set_src(f, call, CALL_offset, ir_sym(f, st->name, 0, RELOC_CALL_REL));
    for (unsigned k = 0; k < args.n; k++)
        ir_set_src(f, call, isa_num_src(OT_CALL) + k, args.fixed[k]);
    ir_set_src(f, call, isa_num_src(OT_CALL) + args.n, ir_vec(f, ra, 2));
    for (unsigned k = 0; k < results.n; k++)
        ir_set_dst(f, call, k, results.fixed[k]);
    put_copies(&p, &results, true);
    for (unsigned k = 0; k < npreds; k++)
        put_isetp(&p, pred[k], flag[k]);
    ir_remove_at(f, site->block, reconv_position(f, site->block, site->inst));
    if (site->result.i)
        ir_remove_at(f, site->block, reconv_position(f, site->block, site->result));
}

/* Are the lanes that come here known to be those of the mask, from a collective before in the block? */
static bool are_together(const StubSite *site) {
    Function *f = site->f;
    for (unsigned p = reconv_position(f, site->block, site->inst); p-- > 0;) {
        const Inst *i = ir_inst(f, ir_inst_at(f, site->block, p));
        unsigned own = ir_is_pseudo(i->op) ? 0 : isa_num_src(i->op);
        if (i->op == OT_WARPSYNC)
            return reconv_same_operand(*ir_src(f, i, WARPSYNC_rb), site->mask);
        if (reconv_changes_active(i) || reconv_is_bar(i->op))
            return false;
        if (i->flags & IF_SYNC && i->nsrc > own)
            return reconv_same_operand(*ir_src(f, i, own), site->mask);
    }
    return false;
}

static void gather_at(const StubSite *site, const Function *gather) {
    if (are_together(site))
        return;
    ReconvPlace p = {site->f, site->block, reconv_position(site->f, site->block, site->inst),
                     ir_inst(site->f, site->inst)->loc};
    reconv_call_gather(&p, gather, site->mask);
}

/* ---- the module ---- */

static void move_to_front(IrModule *module, unsigned first_stub) {
    unsigned nstubs = module->funcs.n - first_stub;
    Arena a = {0};
    Function **old = arena_copy(&a, module->funcs.at, module->funcs.n * sizeof *old);
    for (unsigned k = 0; k < module->funcs.n; k++) {
        module->funcs.at[k] = k < nstubs ? old[first_stub + k] : old[k - nstubs];
        module->funcs.at[k]->index = k;
    }
    arena_free(&a);
}

static void name_stub(Stubs *stubs, Stub *st, unsigned number) {
    const char *op = ir_op_name(st->op);
    do
        st->name = str_intern_z(stubs->m->strings, arena_printf(&stubs->a, "$sync$%s$%u", op, number++));
    while (ir_find_function(stubs->m, st->name));
}

static void make_stub(Stubs *stubs, uint32_t group, unsigned number, const Function *gather) {
    Stub st = {0};
    bool first = true;
    for (uint32_t k = 0; k < stubs->sites.n; k++)
        if (reconv_stub_leader(stubs, k) == group) {
            add_site(&st, &stubs->sites.at[k], first);
            first = false;
        }
    name_stub(stubs, &st, number);
    build_stub(&st, stubs->m);
    for (uint32_t k = 0; k < stubs->sites.n; k++)
        if (reconv_stub_leader(stubs, k) == group)
            call_stub(&st, &stubs->sites.at[k], gather);
}

unsigned reconv_make_stubs(IrModule *module, SyncNotes *notes, Function **gather) {
    Stubs s = {.m = module};
    unsigned first = module->funcs.n;
    bool divergent = false;
    for (unsigned k = 0; k < first; k++)
        find_stub_sites(&s, module->funcs.at[k]);
    for (uint32_t k = 0; k < s.sites.n; k++)
        divergent |= !s.sites.at[k].uniform;
    if (s.sites.n)
        find_roots(&s);
    if (divergent) {
        find_ballots(&s);
        connect(&s);
    }
    uint32_t *size = ARENA_ARRAY(&s.a, uint32_t, s.sites.n + 1);
    for (uint32_t k = 0; k < s.sites.n; k++)
        size[reconv_stub_leader(&s, k)]++;
    bool *differ = ARENA_ARRAY(&s.a, bool, s.sites.n + 1);
    *gather = reconv_find_different_masks(&s, size, differ) ? reconv_make_gather(module) : NULL;
    reconv_mask_votes(&s, differ);
    reconv_ask_sites(&s, size, differ, notes);
    for (uint32_t k = 0; k < s.sites.n; k++)
        if (size[k] > 1)
            make_stub(&s, k, module->funcs.n - first, differ[k] ? *gather : NULL);
    for (uint32_t k = 0; k < s.sites.n; k++)
        if (size[k] == 1 && differ[k])
            gather_at(&s.sites.at[k], *gather);
    unsigned nstubs = module->funcs.n - first;
    for (unsigned k = 0; k < first; k++)
        ir_renumber(module->funcs.at[k]); /* once, however many calls it has now */
    if (nstubs)
        move_to_front(module, first);
    arena_free(&s.a);
    return nstubs;
}
