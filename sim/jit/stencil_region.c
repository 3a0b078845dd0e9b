/* A region as stencils. Its shape:
 *
 *   entry: goes to the block of warp->pc
 *   block: leaves at its first instruction if the quota is less than its n instructions, or if the program
 *          does not have them all yet; counts them; executes them
 *   behind the last block: what is rare
 *
 * The warp's rows and predicates are in memory whenever an instruction ends, so that handlers can be called
 * anywhere; vectors keep what they have loaded or stored last (stencil_rows.c). The active lanes do not
 * change inside a region; instructions are counted for a block when it begins, and those behind one that
 * traps, or a branch that is left to the interpreter, are taken back.
 * SPDX-License-Identifier: MIT */
#include "sim/jit/body.h"
#include "sim/jit/stencil_rows.h"
#include <string.h>

typedef struct { /* emitted behind the blocks; goes on at `back` */
    enum { RARE_CANON, RARE_LEAVE, RARE_TRAP, RARE_BRANCH, RARE_CALL, RARE_EXIT } kind;
    uint32_t label, back, pc, end;
    VectorMap map;           /* RARE_CANON */
    Held held[MOST_VECTORS]; /* RARE_CALL: at `back` */
} Rare;

typedef struct {
    StencilCode code;
    const Run *run;
    const Region *region;
    bool masked;
    Vectors vectors;
    VEC(Rare) rare;
    uint32_t blocks[REGION_MAX_BLOCKS]; /* labels */
    bool done[REGION_MAX_BLOCKS];
    uint32_t next_pc; /* of the block that comes behind this one */
    uint32_t found;   /* a load of the block whose place is still in p, q and n; NOT_FOUND */
} Stencils;
#define NOT_FOUND UINT32_MAX

/* ---- small pieces ---- */
#define PUT(id, ...) COPY(&s->code, ST_##id, __VA_ARGS__)
#define NUMBERS(...) .number = {__VA_ARGS__}
static int64_t cls_at(unsigned cls, size_t member) {
    return (int64_t)(offsetof(Run, cls) + cls * sizeof((Run *)0)->cls[0] + member);
}
enum { ISSUES = 0, LANES_SEEN = 8, LANES_OFF = 16, BY_ALL = 24 };
_Static_assert(sizeof(((Run *)0)->cls[0]) == 32, "issues, lanes, off, all");
static int64_t pred_at(unsigned index) { return (int64_t)(offsetof(Warp, p) + 4 * index); }

static uint32_t rare(Stencils *s, Rare what) {
    what.label = stencil_label(&s->code);
    VEC_ADD(&s->code.arena, &s->rare, what);
    return what.label;
}

/* ---- counting ---- */
/* The instructions [from, to) are executed, or are not after all. */
static void count_issues(Stencils *s, uint32_t from, uint32_t to, bool back) {
    int64_t n[CLS_COUNT] = {0};
    for (uint32_t pc = from; pc < to; pc++)
        n[region_known(s->run, pc)->cls]++;
    for (unsigned c = 0; c < CLS_COUNT; c++) {
        if (!n[c])
            continue;
        int64_t issues = cls_at(c, s->masked ? ISSUES : BY_ALL), lanes = cls_at(c, LANES_SEEN),
                active = offsetof(Warp, active);
        if (back)
            PUT(less, NUMBERS(issues, n[c]));
        else
            PUT(add, NUMBERS(issues, n[c]));
        if (s->masked && back)
            PUT(less_lanes, NUMBERS(lanes, n[c], active));
        else if (s->masked)
            PUT(add_lanes, NUMBERS(lanes, n[c], active));
    }
    if (back)
        PUT(add, NUMBERS(offsetof(Run, quota), to - from));
}

/* The lanes for which the guard is true are in g. */
static void guard(Stencils *s, const Dec *dec) {
    PUT(get_g, NUMBERS(pred_at(dec->guard), dec->gx));
    if (s->masked)
        PUT(and_active, NUMBERS(offsetof(Warp, active)));
}
static void count_off(Stencils *s, const Dec *dec) {
    if (s->masked)
        PUT(off_active, NUMBERS(cls_at(dec->cls, LANES_OFF), offsetof(Warp, active)));
    else
        PUT(off_all, NUMBERS(cls_at(dec->cls, LANES_OFF)));
}
/* g: the lanes that execute a data instruction; false: all 32, and g is not there. */
static bool executing(Stencils *s, const Dec *dec) {
    if (dec_is_guarded(dec)) {
        guard(s, dec);
        count_off(s, dec);
    } else if (s->masked) {
        PUT(active_g, NUMBERS(offsetof(Warp, active)));
    }
    return s->masked || dec_is_guarded(dec);
}

/* ---- lane functions ---- */
typedef struct {
    const LaneRow *row;
    uint32_t reads;
    bool some, wide; /* g says for which lanes; a vector is of words of one kind */
    uint32_t words[LANE_PARAM_COUNT - LANE_PARAM_K];
} Lane;

static const LaneRow *lane_of(const Run *run, const Dec *dec) {
    return lane_row_of(run->level, dec->inner_full ? dec->inner_full : dec->full);
}

/* The vector becomes the part at `at` of a row that the instruction writes: the first or second of a piece.
 */
static void store_part(Stencils *s, const Lane *lane, unsigned vector, unsigned which, uintptr_t at) {
    StoreKind kind = !lane->some ? STORE_ALL : which && !lane->wide ? STORE_SOME_UPPER : STORE_SOME;
    stencil_vectors_store(&s->vectors, vector, at, kind);
}

static void lane_pass(Stencils *s, uint32_t pc, const Lane *lane, unsigned first) {
    const Dec *dec = region_known(s->run, pc);
    const LaneRow *row = lane->row;
    unsigned n = s->code.set->lanes;
    VectorMap map = {0};
    for (unsigned i = 0; i < 3; i++) {
        if (!(lane->reads >> i & 1))
            continue;
        stencil_vectors_source(&s->vectors, &map, 2 * i, pc, i, 0, first);
        if (!lane->wide)
            stencil_vectors_source(&s->vectors, &map, 2 * i + 1, pc, i, 0, first + n);
        else if (row->bits[i] == 64)
            stencil_vectors_source(&s->vectors, &map, 2 * i + 1, pc, i, 1, first);
    }
    unsigned id = ST_LANES + (unsigned)(row - lane_rows);
    stencil_vectors_take(&s->vectors, &map, id);
    uint32_t back = stencil_label(&s->code), canon = 0;
    if (stencil_has_exit(s->code.set, id)) {
        stencil_vectors_take(&s->vectors, &map, ST_canon);
        canon = rare(s, (Rare){.kind = RARE_CANON, .back = back, .map = map});
    }
    COPY(&s->code, id, .words = lane->words, .go = {canon}, .vectors = map.vector);
    stencil_here(&s->code, back);
    uintptr_t to = dec->dst[0];
    stencil_vectors_keep(&s->vectors, &map, 3u << RESULT);
    if (row->kind == LANE_SETS || to >= (uintptr_t)ROW_SINK * ROW_BYTES) {
        stencil_vectors_release(&s->vectors);
        return;
    }
    store_part(s, lane, map.vector[RESULT], 0, to + 4 * first);
    if (!lane->wide)
        store_part(s, lane, map.vector[RESULT + 1], 1, to + 4 * (first + n));
    else if (row->result_bits == 64)
        store_part(s, lane, map.vector[RESULT + 1], 1, to + ROW_BYTES + 4 * first);
    stencil_vectors_release(&s->vectors);
}

static void write_m(Stencils *s, unsigned index, bool some) {
    if (index >= PRED_SINK)
        return;
    if (some)
        PUT(set_some_m, NUMBERS(pred_at(index)));
    else
        PUT(set_m, NUMBERS(pred_at(index)));
}
static void write_n(Stencils *s, unsigned index, bool some) {
    if (index >= PRED_SINK)
        return;
    if (some)
        PUT(set_some_n, NUMBERS(pred_at(index)));
    else
        PUT(set_n, NUMBERS(pred_at(index)));
}

static void write_predicates(Stencils *s, const Dec *dec, const Lane *lane) {
    uint32_t op = lane->row->kind == LANE_SETS ? dec->lane.isetp.bop : dec->imm[1];
    op = op > 2 ? 2 : op; /* as bool_op has it */
    switch (lane->row->kind) {
    case LANE_CARRIES:
        write_m(s, dec->pd[0], lane->some);
        write_n(s, dec->pd[1], lane->some);
        break;
    case LANE_SETS:
        if (dec->pd[1] < PRED_SINK) {
            PUT(not_m, .words = NULL);
            COPY(&s->code, ST_n_and + op, .words = NULL);
        }
        COPY(&s->code, ST_m_and + op, .words = NULL);
        write_m(s, dec->pd[0], lane->some);
        write_n(s, dec->pd[1], lane->some);
        break;
    case LANE_WITH_LOGIC:
        COPY(&s->code, ST_m_and + op, .words = NULL);
        write_m(s, dec->pd[0], lane->some);
        break;
    default: break;
    }
}

/* To the next lanes. */
static void turn_masks(Stencils *s, bool wide) {
    if (wide)
        PUT(turn_1, .words = NULL);
    else
        PUT(turn_2, .words = NULL);
}

static void lane_instruction(Stencils *s, uint32_t pc) {
    const Dec *dec = region_known(s->run, pc);
    Lane lane = {.row = lane_of(s->run, dec)};
    const LaneRow *row = lane.row;
    unsigned n = s->code.set->lanes;
    lane.reads = lane_row_reads(row);
    lane.wide = (row->result_bits | row->bits[0] | row->bits[1] | row->bits[2]) & 64;
    row->constants(dec, lane.words);
    lane.some = executing(s, dec);
    if (lane.reads >> LANE_PARAM_P & 1 || row->kind == LANE_SETS || row->kind == LANE_WITH_LOGIC)
        PUT(get_p, NUMBERS(pred_at(dec->q[0].index), dec->q[0].x));
    bool reads_p = lane.reads >> LANE_PARAM_P & 3;
    if (lane.reads >> (LANE_PARAM_P + 1) & 1)
        PUT(get_q, NUMBERS(pred_at(dec->q[1].index), dec->q[1].x));
    for (unsigned first = 0; first < 32; first += lane.wide ? n : 2 * n) {
        lane_pass(s, pc, &lane, first);
        if (lane.some || reads_p || row->kind == LANE_SETS || row->kind == LANE_WITH_LOGIC)
            turn_masks(s, lane.wide);
    }
    write_predicates(s, dec, &lane);
}

/* ---- everything else ---- */
/* Go on at pc: another block, or outside. */
static void jump_to(Stencils *s, uint32_t pc) {
    uint32_t i = region_block_at(s->region, pc);
    if (i < s->region->nblocks)
        PUT(jump, .go = {s->blocks[i]});
    else
        PUT(leave_at, NUMBERS(offsetof(Warp, pc), pc));
}
/* The same, as the last thing of a block. */
static void go_behind(Stencils *s, uint32_t pc) {
    if (pc != s->next_pc)
        jump_to(s, pc);
}
static uint32_t label_of(Stencils *s, uint32_t pc) {
    uint32_t i = region_block_at(s->region, pc);
    return i < s->region->nblocks ? s->blocks[i] : rare(s, (Rare){.kind = RARE_LEAVE, .pc = pc});
}

/* The handler of a data instruction, for the lanes of g or, without `some`, for all; end: of the block. */
static void call_handler(Stencils *s, uint32_t pc, uint32_t end, bool some) {
    const Dec *dec = region_known(s->run, pc);
    uint32_t trapped = rare(s, (Rare){.kind = RARE_TRAP, .pc = pc, .end = end}),
             behind = stencil_label(&s->code);
    if (!some)
        PUT(all_g, .words = NULL);
    if (dec_is_guarded(dec))
        PUT(if_none, .go = {behind});
    int64_t record = (int64_t)(pc * sizeof(Dec)), full = offsetof(Dec, full), part = offsetof(Dec, part);
    if (dec_is_guarded(dec) && !s->masked)
        PUT(call_either, NUMBERS(record, full, part), .go = {trapped});
    else
        PUT(call_data, NUMBERS(record, s->masked ? part : full), .go = {trapped});
    stencil_here(&s->code, behind);
}
static void handler_instruction(Stencils *s, uint32_t pc, uint32_t end) {
    call_handler(s, pc, end, executing(s, region_known(s->run, pc)));
    stencil_vectors_forget_all(&s->vectors);
}

/* Loads and stores that are pieces: the others, or where the addresses are others, call the handler. */
enum { HALF = 16, HALVES = 2 };
static unsigned parts_of_half(const Stencils *s) { return HALF / s->code.set->lanes; }
static bool stores(const Dec *dec) { return !body_access_loads(dec); }
static bool is_some(const Stencils *s, const Dec *dec) { return s->masked || dec_is_guarded(dec); }
static bool is_copied_access(const Stencils *s, const Dec *dec) {
    bool narrow = !dec->wide && !dec->mem.wide;
    if (stores(dec) && is_some(s, dec) && dec->size < 4)
        return false;
    if (body_access_is_local(dec))
        return narrow && !dec->mem.uniform;
    return body_access_is_built(dec) && (dec->imm[1] == MS_SHARED ? narrow : dec->wide && !dec->mem.uniform);
}
/* A piece of the access. */
static void copy_access(Stencils *s, uint32_t pc, unsigned id, const VectorMap *map, uint32_t slow) {
    const Dec *dec = region_known(s->run, pc);
    int64_t record = (int64_t)(s->found * sizeof(Dec) + offsetof(Dec, alloc));
    StencilFill fill = {.go = {slow}, .vectors = map->vector};
    if (dec->wide)
        fill = (StencilFill){NUMBERS(dec->target, record, offsetof(SimAlloc, address),
                                     offsetof(SimAlloc, size_bytes), offsetof(SimAlloc, data),
                                     offsetof(SimAlloc, read_only), offsetof(SimAlloc, written)),
                             .go = {slow}, .vectors = map->vector};
    else if (dec->imm[1] == MS_SHARED)
        fill = (StencilFill){NUMBERS(dec->target, offsetof(Run, shared_base), offsetof(Run, fast_shared_end),
                                     offsetof(Warp, cta), offsetof(Cta, shared)),
                             .go = {slow}, .vectors = map->vector};
    else
        fill = (StencilFill){NUMBERS(dec->target, dec->size, offsetof(Run, local_bytes),
                                     offsetof(Warp, local), dec->size - 1, dec->size / 4,
                                     offsetof(Warp, local_lo), offsetof(Warp, local_hi)),
                             .go = {slow}, .vectors = map->vector};
    stencil_copy(&s->code, id, &fill);
}
static void copy_store(Stencils *s, unsigned id, const VectorMap *map) {
    COPY(&s->code, id, NUMBERS(0, 0, 0, 0, 0, 0, 0, offsetof(Run, mem_version)), .vectors = map->vector);
}

/* The words of the address, of all lanes. Registers are scaled, and a uniform one added, before they are
 * looked at. */
static void name_changed(Stencils *s, VectorMap *map, unsigned name, unsigned id, const StencilFill *how) {
    StencilFill fill = *how;
    VectorMap change = {0};
    stencil_vectors_name(&change, 0, map->vector[name]);
    stencil_vectors_take(&s->vectors, &change, id);
    fill.vectors = change.vector;
    stencil_copy(&s->code, id, &fill);
    stencil_vectors_name(map, name, change.vector[RESULT]);
    stencil_vectors_keep(&s->vectors, map, (2u << name) - 1);
}
static void name_address(Stencils *s, VectorMap *map, uint32_t pc) {
    const Dec *dec = region_known(s->run, pc);
    unsigned n = s->code.set->lanes, parts = 32 / n;
    for (unsigned i = 0; i < parts << dec->wide; i++) {
        stencil_vectors_source(&s->vectors, map, i, pc, 0, i / parts, i % parts * n);
        if (dec->mem.shift)
            name_changed(s, map, i, ST_shifted, &(StencilFill){.words = &dec->mem.shift});
        if (dec->mem.uniform)
            name_changed(s, map, i, ST_plus_word, &(StencilFill){NUMBERS((int64_t)dec->v[1].at)});
    }
}

/* Vectors from `name` on are lanes of a half: what the instruction loads as its word number `word`. */
static void loaded(Stencils *s, uint32_t pc, const Lane *lane, const VectorMap *map, unsigned name,
                   unsigned word, unsigned half) {
    unsigned n = s->code.set->lanes;
    uintptr_t to =
        region_known(s->run, pc)->dst[0] + (uintptr_t)word * ROW_BYTES + (uintptr_t)4 * HALF * half;
    for (unsigned i = 0; i < parts_of_half(s); i++)
        store_part(s, lane, map->vector[name + i], i, to + 4 * n * i);
}
static void load_rows(Stencils *s, uint32_t pc, const Lane *lane) {
    static const unsigned parts[] = {[MemSz_U8] = ST_load_u8,
                                     [MemSz_S8] = ST_load_s8,
                                     [MemSz_U16] = ST_load_u16,
                                     [MemSz_S16] = ST_load_s16};
    const Dec *dec = region_known(s->run, pc);
    unsigned each = parts_of_half(s), last_row = RESULT + 2 - HALVES * each,
             id = dec->size < 4 ? parts[dec->mem.kind] : ST_load_4;
    for (unsigned word = 0; word < body_access_rows(dec); word++) {
        VectorMap map = {0};
        if (word)
            PUT(next_row, .words = NULL);
        stencil_vectors_take(&s->vectors, &map, id);
        COPY(&s->code, id, .vectors = map.vector);
        stencil_vectors_keep(&s->vectors, &map, ((1u << HALVES * each) - 1) << last_row);
        for (unsigned half = 0; half < HALVES; half++) {
            loaded(s, pc, lane, &map, last_row + half * each, word, half);
            if (lane->some)
                PUT(turn_half, .words = NULL);
        }
        stencil_vectors_release(&s->vectors);
    }
}
static void load_items(Stencils *s, uint32_t pc, const Lane *lane) {
    const Dec *dec = region_known(s->run, pc);
    unsigned words = body_access_rows(dec), each = parts_of_half(s);
    for (unsigned half = 0; half < HALVES; half++) {
        unsigned id = (words == 2 ? ST_load_8_lower : ST_load_16_lower) + half;
        VectorMap map = {0};
        stencil_vectors_take(&s->vectors, &map, id);
        COPY(&s->code, id, .vectors = map.vector);
        stencil_vectors_keep(&s->vectors, &map, (1u << words * each) - 1);
        for (unsigned word = 0; word < words; word++)
            loaded(s, pc, lane, &map, word * each, word, half);
        stencil_vectors_release(&s->vectors);
        if (lane->some)
            PUT(turn_half, .words = NULL);
    }
}

/* Vectors from `name` on are lanes of a half of what it stores as its word number `word`. */
static void name_stored(Stencils *s, VectorMap *map, uint32_t pc, unsigned name, unsigned word,
                        unsigned half) {
    for (unsigned i = 0; i < parts_of_half(s); i++)
        stencil_vectors_source(&s->vectors, map, name + i, pc, 2, word, HALF * half + i * s->code.set->lanes);
}
static void store_rows(Stencils *s, uint32_t pc, bool some) {
    const Dec *dec = region_known(s->run, pc);
    unsigned id =
        some ? ST_store_some_4 : ST_store_1 + (unsigned)__builtin_ctz(dec->size < 4 ? dec->size : 4);
    for (unsigned word = 0; word < body_access_rows(dec); word++) {
        VectorMap map = {0};
        if (word)
            PUT(next_row, .words = NULL);
        for (unsigned half = 0; half < HALVES; half++)
            name_stored(s, &map, pc, half * parts_of_half(s), word, half);
        stencil_vectors_take(&s->vectors, &map, id);
        copy_store(s, id, &map);
        stencil_vectors_release(&s->vectors);
    }
}
static void store_items(Stencils *s, uint32_t pc, bool some) {
    const Dec *dec = region_known(s->run, pc);
    unsigned words = body_access_rows(dec), first = words == 2 ? ST_store_8_lower : ST_store_16_lower;
    for (unsigned half = 0; half < HALVES; half++) {
        unsigned id = first + (some ? ST_store_some_8_lower - ST_store_8_lower : 0) + half;
        VectorMap map = {0};
        for (unsigned word = 0; word < words; word++)
            name_stored(s, &map, pc, word * parts_of_half(s), word, half);
        stencil_vectors_take(&s->vectors, &map, id);
        copy_store(s, id, &map);
        stencil_vectors_release(&s->vectors);
    }
}
/* What comes before the store itself: it may go to `slow`. */
static void write_checks(Stencils *s, uint32_t pc, bool some, uint32_t slow) {
    const Dec *dec = region_known(s->run, pc);
    unsigned log = (unsigned)__builtin_ctz(dec->size);
    unsigned id = body_access_is_local(dec)  ? ST_writes_local
                  : dec->imm[1] == MS_SHARED ? ST_may_write
                  : some                     ? ST_writes_some_4 + log - 2
                                             : ST_writes_1 + log;
    copy_access(s, pc, id, &(VectorMap){0}, slow);
}

/* Are the store's items where the load found its own? */
static bool is_found(const Stencils *s, const Dec *dec) {
    const Dec *load = s->found == NOT_FOUND ? NULL : region_known(s->run, s->found);
    return load && stores(dec) && !body_access_is_local(dec) && load->wide == dec->wide &&
           load->imm[1] == dec->imm[1] && load->size == dec->size && load->target == dec->target &&
           load->v[0].at == dec->v[0].at && load->mem.shift == dec->mem.shift && !load->mem.uniform &&
           !dec->mem.uniform;
}
/* Behind the instruction: does p, q or n say something else now, or the registers of the address? */
static void keep_found(Stencils *s, uint32_t pc, RegionKind kind) {
    const Dec *dec = region_known(s->run, pc);
    const LaneRow *row = kind == RI_LANE ? lane_of(s->run, dec) : NULL;
    uint32_t masks = 3u << LANE_PARAM_P;
    if (s->found == NOT_FOUND)
        return;
    if (s->found != pc &&
        (!row || row->kind != LANE_DATA || lane_row_reads(row) & masks || is_some(s, dec))) {
        s->found = NOT_FOUND;
        return;
    }
    const Dec *load = region_known(s->run, s->found);
    RegionOperands operands = region_operands(s->run, pc);
    uintptr_t first = load->v[0].at / ROW_BYTES;
    if (first >= ROW_COUNT || operands.written[first] || (load->wide && operands.written[first + 1]))
        s->found = NOT_FOUND;
}

static void access_instruction(Stencils *s, uint32_t pc, uint32_t end) {
    const Dec *dec = region_known(s->run, pc);
    Lane lane = {.some = executing(s, dec)};
    bool local = body_access_is_local(dec), rows = local || dec->size <= 4, found = is_found(s, dec);
    unsigned id =
        local ? ST_place_local
              : (dec->wide ? ST_place_global_1 : ST_place_shared_1) + (unsigned)__builtin_ctz(dec->size);
    VectorMap map = {0};
    if (!found) {
        name_address(s, &map, pc);
        stencil_vectors_take(&s->vectors, &map, id);
    }
    uint32_t back = stencil_label(&s->code),
             slow = rare(s, (Rare){.kind = RARE_CALL, .back = back, .pc = pc, .end = end}),
             number = s->rare.n - 1;
    if (!found) {
        s->found = pc;
        copy_access(s, pc, id, &map, slow);
        stencil_vectors_release(&s->vectors);
    }
    if (stores(dec)) {
        write_checks(s, pc, lane.some, slow);
        rows ? store_rows(s, pc, lane.some) : store_items(s, pc, lane.some);
    } else {
        rows ? load_rows(s, pc, &lane) : load_items(s, pc, &lane);
    }
    stencil_here(&s->code, back);
    memcpy(s->rare.at[number].held, s->vectors.held, sizeof s->vectors.held);
    if (stores(dec) || local)
        s->found = NOT_FOUND;
}
static void rare_call(Stencils *s, const Rare *what) {
    const Dec *dec = region_known(s->run, what->pc);
    call_handler(s, what->pc, what->end, is_some(s, dec));
    if (!stores(dec))
        PUT(not_found, .words = NULL);
    stencil_vectors_load_again(&s->vectors, what->held);
    PUT(jump, .go = {what->back});
}

/* Special registers that stay as they are as long as the warp lives. */
static bool is_copied_sreg(const Dec *dec, SregPlace *place) {
    return machine_sreg_place(dec, place) && !dec_is_guarded(dec) && dec->dst[0] < ROW_SINK * ROW_BYTES;
}
static void sreg_instruction(Stencils *s, uint32_t pc, const SregPlace *place) {
    const Dec *dec = region_known(s->run, pc);
    Lane lane = {.some = executing(s, dec)};
    unsigned n = s->code.set->lanes, id = place->of_block ? ST_block_word : ST_warp_row;
    lane.some &= !dec->sreg.uniform;
    for (unsigned first = 0; first < 32; first += 2 * n) {
        VectorMap map = {0};
        stencil_vectors_take(&s->vectors, &map, id);
        if (place->of_block)
            COPY(&s->code, id, NUMBERS(offsetof(Warp, cta), (int64_t)place->at), .vectors = map.vector);
        else
            COPY(&s->code, id, NUMBERS((int64_t)(place->at + 4 * first)), .vectors = map.vector);
        stencil_vectors_keep(&s->vectors, &map, 3u << RESULT);
        store_part(s, &lane, map.vector[RESULT], 0, dec->dst[0] + 4 * first);
        store_part(s, &lane, map.vector[RESULT + 1], 1, dec->dst[0] + 4 * (first + n));
        stencil_vectors_release(&s->vectors);
        if (lane.some)
            turn_masks(s, false);
    }
}

/* An instruction of control by its handler. */
static void call_control(Stencils *s, uint32_t pc) {
    PUT(call_control, NUMBERS(offsetof(Run, jit), offsetof(Jit, host.control), pc, offsetof(Warp, pc),
                              offsetof(Warp, active)));
}
/* EXIT: of no lanes, of the whole warp, or its handler's. */
static void exit_instruction(Stencils *s, uint32_t pc) {
    const Dec *dec = region_known(s->run, pc);
    uint32_t none = stencil_label(&s->code);
    if (dec_is_guarded(dec)) {
        guard(s, dec);
        PUT(if_none, .go = {none});
    } else if (s->masked)
        PUT(active_g, NUMBERS(offsetof(Warp, active)));
    else
        PUT(all_g, .words = NULL);
    _Static_assert(offsetof(Warp, active) == offsetof(Warp, valid) + 4 &&
                       offsetof(Warp, sleep) == offsetof(Warp, yield) + 4 &&
                       offsetof(Warp, blocked) == offsetof(Warp, yield) + 8 &&
                       offsetof(Cta, cluster_used) == offsetof(Cta, barriers_used) + 1,
                   "exit_warp has them together");
    PUT(exit_warp,
        NUMBERS(offsetof(Warp, cta), offsetof(Warp, valid), offsetof(Cta, barriers_used),
                offsetof(Warp, yield), offsetof(Warp, state), WARP_DONE, offsetof(Cta, ndone), RUN_DONE),
        .go = {rare(s, (Rare){.kind = RARE_EXIT, .pc = pc})});
    stencil_here(&s->code, none);
    if (dec_is_guarded(dec)) {
        count_off(s, dec);
        go_behind(s, pc + 1);
    }
}
static void control_instruction(Stencils *s, uint32_t pc) {
    const Dec *dec = region_known(s->run, pc);
    bool more = dec->nq && (dec->q[0].index != REG_PT || dec->q[0].x); /* a second guard */
    if (dec->optype == OT_EXIT && !more) {
        exit_instruction(s, pc);
        return;
    }
    call_control(s, pc);
    go_behind(s, pc + 1);
}

/* Where some of the lanes go only, it is the interpreter's business; bad targets are, too. */
static void leave_before(Stencils *s, uint32_t pc) {
    count_issues(s, pc, pc + 1, true);
    PUT(leave_at, NUMBERS(offsetof(Warp, pc), pc));
}
static void branch_instruction(Stencils *s, uint32_t pc) {
    const Dec *dec = region_known(s->run, pc);
    uint32_t target = region_target(s->run, pc);
    bool guarded = dec_is_guarded(dec);
    if (!guarded && !dec->nq) {
        if (target < s->run->ncode)
            go_behind(s, target);
        else
            leave_before(s, pc);
        return;
    }
    if (guarded)
        guard(s, dec);
    else if (s->masked)
        PUT(active_g, NUMBERS(offsetof(Warp, active)));
    else
        PUT(all_g, .words = NULL);
    if (dec->nq) {
        PUT(keep_g, .words = NULL);
        PUT(get_p, NUMBERS(pred_at(dec->q[0].index), dec->q[0].x));
        PUT(g_and_p, .words = NULL);
    }
    uint32_t mixed = rare(s, (Rare){.kind = RARE_BRANCH, .pc = pc}),
             taken = target < s->run->ncode ? label_of(s, target) : mixed;
    if (s->masked)
        PUT(branch_active, NUMBERS(offsetof(Warp, active)), .go = {taken, mixed});
    else
        PUT(branch_all, .go = {taken, mixed});
    if (dec->nq) /* none of them goes; those for which it is the second guard had a true one */
        PUT(kept_g, .words = NULL);
    if (guarded)
        count_off(s, dec);
    go_behind(s, pc + 1);
}

/* A uniform operation runs for lanes that are elsewhere too, and is a finding then: its handler's business.
 */
static RegionKind kind_of(const Stencils *s, uint32_t pc) {
    RegionKind kind = region_kind(s->run, pc);
    return kind == RI_LANE && s->masked && region_known(s->run, pc)->inner_full ? RI_HANDLER : kind;
}

static void block_code(Stencils *s, const RegionBlock *block) {
    uint32_t end = block->pc + block->n;
    RegionKind kind = RI_LANE;
    SregPlace place;
    stencil_vectors_block(&s->vectors, block->pc, end);
    s->found = NOT_FOUND;
    PUT(head,
        NUMBERS(offsetof(Run, quota), block->n, (int64_t)(block->pc * sizeof(Dec) + offsetof(Dec, bound))),
        .go = {rare(s, (Rare){.kind = RARE_LEAVE, .pc = block->pc})});
    count_issues(s, block->pc, end, false);
    for (uint32_t pc = block->pc; pc < end; pc++) {
        s->vectors.pc = pc;
        kind = kind_of(s, pc);
        switch (kind) {
        case RI_LANE: lane_instruction(s, pc); break;
        case RI_HANDLER:
            if (is_copied_access(s, region_known(s->run, pc)))
                access_instruction(s, pc, end);
            else if (is_copied_sreg(region_known(s->run, pc), &place))
                sreg_instruction(s, pc, &place);
            else
                handler_instruction(s, pc, end);
            break;
        case RI_BRANCH: branch_instruction(s, pc); break;
        default: control_instruction(s, pc); break;
        }
        keep_found(s, pc, kind);
    }
    if (kind < RI_BRANCH)
        go_behind(s, end);
}

/* The blocks, each before the one behind it in the program where that is to come yet. */
static void all_blocks(Stencils *s) {
    const Region *region = s->region;
    for (uint32_t first = 0; first < region->nblocks; first++) {
        uint32_t i = first;
        while (i < region->nblocks && !s->done[i]) {
            const RegionBlock *block = &region->blocks[i];
            uint32_t next = region_block_at(region, block->pc + block->n);
            bool follows = next < region->nblocks && next != i && !s->done[next];
            s->done[i] = true;
            s->next_pc = follows ? region->blocks[next].pc : UINT32_MAX;
            stencil_here(&s->code, s->blocks[i]);
            block_code(s, block);
            if (!follows)
                break;
            i = next;
        }
    }
}

static void rare_code(Stencils *s, const Rare *what) {
    stencil_here(&s->code, what->label);
    switch (what->kind) {
    case RARE_CANON: PUT(canon, .go = {what->back}, .vectors = what->map.vector); break;
    case RARE_LEAVE: PUT(leave_at, NUMBERS(offsetof(Warp, pc), what->pc)); break;
    case RARE_BRANCH: leave_before(s, what->pc); break;
    case RARE_CALL: rare_call(s, what); break;
    case RARE_EXIT:
        call_control(s, what->pc);
        jump_to(s, what->pc + 1);
        break;
    case RARE_TRAP:
        count_issues(s, what->pc + 1, what->end, true);
        PUT(leave_with, NUMBERS(offsetof(Warp, pc), what->pc));
        break;
    }
}

void stencil_region(const StencilSet *set, const Run *run, const Region *region, ImageBytes *out) {
    Stencils all = {.run = run, .region = region, .masked = region->kind == JIT_MASKED}, *s = &all;
    stencil_begin(&s->code, set);
    stencil_vectors_begin(&s->vectors, &s->code, run);
    for (uint32_t i = 0; i < region->nblocks; i++)
        s->blocks[i] = stencil_label(&s->code);
    PUT(entry, NUMBERS(offsetof(Warp, rows), offsetof(Warp, run), offsetof(Warp, prog)));
    for (uint32_t i = 0; i < region->nblocks; i++)
        if (region->blocks[i].entry)
            PUT(at, NUMBERS(offsetof(Warp, pc), region->blocks[i].pc), .go = {s->blocks[i]});
    PUT(leave, .words = NULL);
    all_blocks(s);
    for (uint32_t i = 0; i < s->rare.n; i++) {
        Rare what = s->rare.at[i];
        rare_code(s, &what);
    }
    stencil_end(&s->code, out);
}
