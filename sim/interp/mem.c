/* Memory of the PTX interpreter: address spaces, ld, st, atom, red, cvta, isspacep, cp.async (PTX
 * ISA 9.7.9, 9.7.13). Every access is checked for alignment and range; one is done at once, so memory is
 * sequentially consistent.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include "base/scope.h"
#include "base/word.h"
#include "isa/machine/banks.h"
#include <stdlib.h>

/* ---- spaces ---- */

static bool in_window(uint64_t address, uint64_t base) { return address - base < SIM_WINDOW_BYTES; }

/* The space of a generic address; *address becomes an address of that space. */
static unsigned generic_space(uint64_t *address) {
    static const struct {
        uint64_t base;
        unsigned space;
    } windows[] = {{SIM_LOCAL_WINDOW, SP_LOCAL}, {SIM_PARAM_WINDOW, SP_PARAM}, {SIM_CONST_WINDOW, SP_CONST}};
    if (*address - SIM_SHARED_WINDOW < SIM_CLUSTER_BYTES) {
        *address -= SIM_SHARED_WINDOW;
        return SP_SHARED_CLUSTER;
    }
    for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (in_window(*address, windows[i].base)) {
            *address -= windows[i].base;
            return windows[i].space;
        }
    }
    return SP_GLOBAL;
}

bool interp_local_reserve(PtxRun *run, PtxThread *thread, uint32_t top, uint32_t gap_bytes) {
    if (top - gap_bytes > LOCAL_MAX_BYTES)
        return false;
    if (top > thread->local_cap) {
        uint32_t cap = thread->local_cap ? thread->local_cap : 2048;
        while (cap < top)
            cap *= 2;
        thread->local = arena_grow(&run->arena, thread->local, thread->local_cap, cap);
        thread->local_cap = cap;
    }
    return true;
}

static uint8_t *global_bytes(PtxRun *run, PtxThread *t, const PtxCode *c, uint64_t address, unsigned bytes,
                             bool write) {
    SimAlloc *sim_alloc = run->last_alloc;
    if (!sim_alloc || address - sim_alloc->address >= sim_alloc->size_bytes ||
        address - sim_alloc->address > sim_alloc->size_bytes - bytes) {
        sim_alloc = simmem_find(run->mem, address, bytes);
        if (!sim_alloc) {
            interp_trap_at(run, t, c, TRAP_OUT_OF_RANGE, address, "global memory");
            return NULL;
        }
        run->last_alloc = sim_alloc;
    }
    uint64_t offset = address - sim_alloc->address;
    if (write) {
        if (sim_alloc->read_only) {
            interp_trap_at(run, t, c, TRAP_READ_ONLY, address, sim_alloc->name);
            return NULL;
        }
        simmem_mark_written(sim_alloc, offset, bytes);
        run->res->stores++;
    } else if (run->opt.report_uninitialised && !simmem_is_written(sim_alloc, offset, bytes)) {
        interp_warn(run, t, c, TRAP_UNINITIALISED, "memory that was never written");
    }
    if (run->slow) {
        run->place.alloc = sim_alloc, run->place.offset = offset, run->place.host = sim_alloc->data + offset;
        run->place.bytes = (uint8_t)bytes, run->place.write = write;
    }
    return sim_alloc->data + offset;
}

/* An access stays in one variable. */
static uint8_t *const_bytes(PtxRun *run, PtxThread *thread, const PtxCode *c, uint64_t offset, unsigned bytes,
                            bool write, uint64_t shown) {
    uint32_t lo = 0, hi = run->nconstants; /* the first that starts above the offset */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (run->constants[mid].offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    const PtxConstant *constant = lo ? &run->constants[lo - 1] : NULL;
    if (constant && bytes <= constant->size_bytes &&
        offset - constant->offset <= constant->size_bytes - bytes)
        return global_bytes(run, thread, c, constant->address + (offset - constant->offset), bytes, write);
    interp_trap_at(run, thread, c, TRAP_OUT_OF_RANGE, shown, "constant memory");
    return NULL;
}

/* Does an access lie in one variable, or in dynamic memory? Asked where variables are moved. */
static bool is_in_variable(const PtxRun *run, uint64_t address, unsigned bytes) {
    if (address >= run->dynamic_shared_base)
        return true;
    for (uint32_t i = 0; i < run->shared_vars.n; i++)
        if (address >= run->shared_vars.at[i].begin && address + bytes <= run->shared_vars.at[i].end)
            return true;
    return false;
}

static uint8_t *shared_bytes(PtxRun *run, PtxThread *thread, const PtxCode *c, uint64_t address,
                             unsigned bytes, bool write, PtxBlock *b) {
    if (run->opt.moved_bytes && !is_in_variable(run, address, bytes)) {
        interp_trap_at(run, thread, c, TRAP_OUT_OF_RANGE, address,
                       "shared memory that belongs to no variable");
        return NULL;
    }
    SimAlloc shadow = {.written = b->shared_written};
    if (shadow.written && write)
        simmem_mark_written(&shadow, address, bytes);
    else if (shadow.written && !simmem_is_written(&shadow, address, bytes))
        interp_warn(run, thread, c, TRAP_UNINITIALISED, "shared memory that was never written");
    if (run->slow) {
        run->place.alloc = NULL, run->place.offset = address, run->place.host = b->shared + address;
        run->place.bytes = (uint8_t)bytes, run->place.write = write;
    }
    return b->shared + address;
}

/* Does an access of local memory stay in one variable? One that runs over the end of an array may hit
 * another, or one of a caller; what is there, PTX leaves undefined. */
static void check_local(PtxRun *run, const PtxThread *thread, const PtxCode *code, uint64_t address,
                        unsigned bytes) {
    const PtxFrame *frame = &thread->frames[thread->nframes - 1];
    while (frame > thread->frames && frame->local_base > address)
        frame--;
    const PtxProc *proc = frame->proc;
    uint64_t at = address - frame->local_base;
    if (proc->owner && at + bytes <= proc->frame_bytes &&
        (!proc->owner[at] || proc->owner[at + bytes - 1] != proc->owner[at]))
        interp_warn(run, thread, code, TRAP_OUT_OF_RANGE, "local memory that belongs to no variable");
}

uint64_t interp_address(PtxRun *run, PtxThread *thread, const PtxCode *code, unsigned space) {
    uint64_t address = interp_arg(run, thread, &code->src[0]) + code->offset;
    bool narrow = space == SP_SHARED || space == SP_SHARED_CLUSTER || space == SP_LOCAL;
    return narrow && code->src[0].kind == ARG_REG && code->src[0].bytes == 4 ? (uint32_t)address : address;
}

/* The block's own shared memory has addresses with its rank in the cluster, as that of the others has. */
static uint8_t *shared_of_cluster(PtxRun *run, PtxThread *thread, const PtxCode *c, unsigned space,
                                  uint64_t address, unsigned bytes, bool write, uint64_t shown) {
    PtxBlock *own = thread->warp->block, *owner = own;
    uint64_t rank = address / SIM_WINDOW_BYTES, offset = address % SIM_WINDOW_BYTES;
    const char *wrong = NULL;
    if (rank >= run->cluster_blocks)
        wrong = run->cluster_blocks > 1 ? "shared memory of a block that the cluster does not have"
                                        : "shared memory";
    else if (space == SP_SHARED && rank != own->rank)
        wrong = "shared memory of another block of the cluster";
    else if ((offset > run->shared_bytes || bytes > run->shared_bytes - offset) &&
             !sim_is_lent_shared(run->lent_shared, offset, bytes))
        wrong = "shared memory";
    else
        owner = own->first + rank;
    if (!wrong && owner != own && (!owner->live || !owner->nalive))
        wrong = "shared memory of a block of the cluster that has ended";
    if (wrong) {
        interp_trap_at(run, thread, c, TRAP_OUT_OF_RANGE, shown, wrong);
        return NULL;
    }
    return shared_bytes(run, thread, c, offset, bytes, write, owner);
}

/* Zeros lie behind a kernel's parameters (W0144). */
static uint8_t *past_params(PtxRun *run, uint64_t address, unsigned bytes) {
    const Launch *launch = run->launch;
    memset(run->past_params, 0, sizeof run->past_params);
    if (address < launch->param_bytes)
        memcpy(run->past_params, launch->params + address, launch->param_bytes - address);
    return bytes <= sizeof run->past_params ? run->past_params : NULL;
}

uint8_t *interp_memory(PtxRun *run, PtxThread *thread, const PtxCode *c, unsigned space, uint64_t address,
                       unsigned bytes, bool write) {
    uint64_t shown = address;
    if (address & (bytes - 1)) {
        interp_trap_at(run, thread, c, TRAP_MISALIGNED, address, NULL);
        return NULL;
    }
    if (space == SP_NONE)
        space = generic_space(&address);
    switch (space) {
    case SP_SHARED:
    case SP_SHARED_CLUSTER: return shared_of_cluster(run, thread, c, space, address, bytes, write, shown);
    case SP_LOCAL:
        if (address >= LOCAL_FIRST_BYTE && address <= thread->local_top &&
            bytes <= thread->local_top - address) {
            check_local(run, thread, c, address, bytes);
            return thread->local + address;
        }
        interp_trap_at(run, thread, c, TRAP_OUT_OF_RANGE, shown, "local memory");
        return NULL;
    case SP_CONST: return const_bytes(run, thread, c, address, bytes, write, shown);
    case SP_PARAM:
        if (write) {
            interp_trap_at(run, thread, c, TRAP_READ_ONLY, shown, "kernel parameters");
            return NULL;
        }
        if (address <= run->launch->param_bytes && bytes <= run->launch->param_bytes - address)
            return (uint8_t *)(uintptr_t)(run->launch->params + address);
        if (c->insn->op == PTX_LD && c->insn->operands[1].sym && address < CONST_BANK_BYTES)
            return past_params(run, address, bytes);
        interp_trap_at(run, thread, c, TRAP_PARAM_RANGE, shown, "kernel parameters");
        return NULL;
    default: return global_bytes(run, thread, c, address, bytes, write);
    }
}

static uint64_t load_typed(const uint8_t *p, unsigned type, unsigned bytes) {
    uint64_t v = word_load(p, bytes);
    if (ptx_type_class((PtxType)type) == TC_SIGNED) {
        unsigned shift = 64 - 8 * bytes;
        v = (uint64_t)((int64_t)(v << shift) >> shift);
    }
    return v;
}

/* For the event of this statement. */
static void note_access(PtxRun *run, unsigned kind, unsigned space, uint64_t address, unsigned bytes,
                        const uint8_t *p) {
    uint64_t within = address;
    unsigned real = space == SP_NONE ? generic_space(&within) : space;
    bool shared = real == SP_SHARED || real == SP_SHARED_CLUSTER;
    if (shared || real == SP_GLOBAL)
        run->access = (PtxAccess){.kind = (uint8_t)kind,
                                  .size_bytes = bytes,
                                  .address = shared ? within + SIM_SHARED_WINDOW : within,
                                  .data = p};
}

/* ... of one that is given n numbers. */
static void note_numbers(PtxRun *run, const PtxCode *code, uint64_t address, const uint64_t *numbers,
                         unsigned n) {
    for (unsigned i = 0; i < n; i++)
        word_store(run->numbers + (size_t)i * code->size_bytes, numbers[i], code->size_bytes);
    note_access(run, PTX_ACCESS_ATOMIC, code->space, address, (unsigned)code->size_bytes * n, run->numbers);
    run->access.element_bytes = code->size_bytes;
}

/* ---- ld, st ---- */

static PtxStep exec_ld(PtxRun *r, PtxThread *t, const PtxCode *code) {
    uint64_t address = interp_address(r, t, code, code->space);
    const uint8_t *p = interp_memory(r, t, code, code->space, address, code->size_bytes, false);
    if (!p)
        return STEP_STOP;
    interp_race_load(r, t, code);
    interp_put(t, code->dst[0], load_typed(p, code->type, code->size_bytes));
    return STEP_GO;
}

/* What others may be writing: lanes of a warp look together, here one after the other (promise.c). */
static PtxStep exec_ld_strong(PtxRun *r, PtxThread *t, const PtxCode *code) {
    uint64_t address = interp_address(r, t, code, code->space);
    const uint8_t *p = interp_memory(r, t, code, code->space, address, code->size_bytes, false);
    if (!p)
        return STEP_STOP;
    interp_race_load(r, t, code);
    t->looked = code;
    t->looked_at = address;
    t->saw = load_typed(p, code->type, code->size_bytes);
    interp_put(t, code->dst[0], t->saw);
    return STEP_GO;
}

static PtxStep exec_ld_vector(PtxRun *r, PtxThread *t, const PtxCode *code) {
    uint64_t address = interp_address(r, t, code, code->space);
    const uint8_t *p =
        interp_memory(r, t, code, code->space, address, (unsigned)code->size_bytes * code->nvec, false);
    if (!p)
        return STEP_STOP;
    interp_race_load(r, t, code);
    for (unsigned i = 0; i < code->nvec; i++)
        interp_put(t, code->vec_dst[i],
                   load_typed(p + (size_t)i * code->size_bytes, code->type, code->size_bytes));
    return STEP_GO;
}

static PtxStep exec_st(PtxRun *run, PtxThread *t, const PtxCode *code) {
    uint64_t address = interp_address(run, t, code, code->space);
    uint8_t *p =
        interp_memory(run, t, code, code->space, address, (unsigned)code->size_bytes * code->nvec, true);
    if (!p)
        return STEP_STOP;
    uint8_t now[64];
    for (unsigned i = 0; i < code->nvec; i++) {
        uint64_t v = interp_arg(run, t, code->vec ? &code->vec[i] : &code->src[1]);
        word_store(now + (size_t)i * code->size_bytes, v, code->size_bytes);
    }
    interp_race_store(run, t, code, p, now);
    memcpy(p, now, (size_t)code->size_bytes * code->nvec);
    if (run->slow)
        note_access(run, PTX_ACCESS_STORE, code->space, address, (unsigned)code->size_bytes * code->nvec, p);
    return STEP_GO;
}

/* ---- atom, red ---- */

uint64_t interp_atomic_int(const PtxCode *code, uint64_t old, uint64_t b) {
    unsigned bits = code->size_bytes * 8u;
    int64_t so = (int64_t)(old << (64 - bits)) >> (64 - bits),
            sb = (int64_t)(b << (64 - bits)) >> (64 - bits);
    bool is_signed = ptx_type_class((PtxType)code->type) == TC_SIGNED;
    uint64_t mask = width_mask(code->size_bytes);
    b &= mask;
    switch (code->atom) {
    case ATOM_ADD: return old + b;
    case ATOM_MIN: return (is_signed ? so < sb : old < b) ? old : b;
    case ATOM_MAX: return (is_signed ? so > sb : old > b) ? old : b;
    case ATOM_INC: return old >= b ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
    case ATOM_AND: return old & b;
    case ATOM_OR: return old | b;
    default: return old ^ b;
    }
}

static uint64_t atomic_float(const PtxCode *code, uint64_t old, uint64_t b, bool flush) {
    bool bf = code->type == TY_BF16 || code->type == TY_BF16X2;
    PtxFormat f = bf ? FMT_BF16 : FMT_F16;
    bool max = code->atom == ATOM_MAX, packed = code->type == TY_F16X2 || code->type == TY_BF16X2;
    unsigned one = code->type == TY_F16X2 ? TY_F16 : code->type == TY_BF16X2 ? TY_BF16 : code->type;
    if (code->atom != ATOM_ADD && packed)
        return interp_float_minmax(one, max, (uint16_t)old, (uint16_t)b, false, false) |
               interp_float_minmax(one, max, old >> 16, (uint16_t)(b >> 16), false, false) << 16;
    if (code->atom != ATOM_ADD)
        return interp_float_minmax(one, max, old, b, false, false);
    switch (code->type) {
    case TY_F64: return interp_f64_op(MATH_ADD, old, b, 0, RND_RN);
    case TY_F32:
        if (!flush)
            return interp_f32_op(MATH_ADD, (uint32_t)old, (uint32_t)b, 0, RND_RN);
        return f32_flush(
            interp_f32_op(MATH_ADD, f32_flush((uint32_t)old), f32_flush((uint32_t)b), 0, RND_RN));
    case TY_F16:
    case TY_BF16: return interp_half_op(f, MATH_ADD, (uint16_t)old, (uint16_t)b, 0);
    default:
        return interp_half_op(f, MATH_ADD, (uint16_t)old, (uint16_t)b, 0) |
               (uint64_t)interp_half_op(f, MATH_ADD, (uint16_t)(old >> 16), (uint16_t)(b >> 16), 0) << 16;
    }
}

/* What an atomic operation of floats or integers leaves of `old`. */
uint64_t interp_atomic_value(const PtxCode *code, uint64_t old, uint64_t b, bool flush) {
    if (ptx_type_class((PtxType)code->type) == TC_FLOAT)
        return atomic_float(code, old, b, flush);
    return interp_atomic_int(code, old, b);
}

/* The bytes of an atomic operation. PTX has none on local memory: ptxas lets no local variable change there.
 */
static uint8_t *atomic_bytes(PtxRun *run, PtxThread *thread, const PtxCode *code, uint64_t address,
                             unsigned size_bytes) {
    uint8_t *bytes = interp_memory(run, thread, code, code->space, address, size_bytes, true);
    if (!bytes)
        return NULL;
    if (code->space == SP_NONE && generic_space(&address) == SP_LOCAL)
        interp_warn(run, thread, code, TRAP_UNDEFINED, "atomic operation on local memory");
    interp_race_atomic(run, thread, code, bytes);
    return bytes;
}

/* Each element of a vector for itself, one behind the other. */
static PtxStep exec_atomic_vector(PtxRun *run, PtxThread *t, const PtxCode *code) {
    uint64_t address = interp_address(run, t, code, code->space);
    unsigned bytes = (unsigned)code->size_bytes * code->nvec;
    uint8_t *p = atomic_bytes(run, t, code, address, bytes);
    if (!p)
        return STEP_STOP;
    uint64_t old[8], numbers[8];
    for (unsigned i = 0; i < code->nvec; i++)
        numbers[i] = interp_arg(run, t, &code->vec[i]);
    if (run->slow)
        note_numbers(run, code, address, numbers, code->nvec);
    for (unsigned i = 0; i < code->nvec; i++, p += code->size_bytes) {
        old[i] = word_load(p, code->size_bytes);
        uint64_t value = interp_atomic_value(code, old[i], numbers[i], true);
        word_store(p, value, code->size_bytes);
    }
    for (unsigned i = 0; code->vec_dst && i < code->nvec; i++)
        interp_put(t, code->vec_dst[i], old[i]);
    return STEP_YIELD;
}

/* exch and cas of 128 bits. */
static PtxStep exec_atomic_wide(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint64_t address = interp_address(run, thread, code, code->space), old[2], value[4],
             stores = run->res->stores;
    uint8_t *bytes = atomic_bytes(run, thread, code, address, sizeof old);
    if (!bytes)
        return STEP_STOP;
    if (run->slow)
        note_access(run, PTX_ACCESS_ATOMIC, code->space, address, sizeof old, bytes);
    memcpy(old, bytes, sizeof old);
    for (unsigned i = 0; i < code->nread; i++)
        value[i] = interp_arg(run, thread, &code->vec[i]);
    if (code->atom == ATOM_EXCH)
        memcpy(bytes, value, sizeof old);
    else if (memcmp(old, value, sizeof old) == 0)
        memcpy(bytes, value + 2, sizeof old);
    else
        run->res->stores = stores;
    for (unsigned i = 0; i < 2; i++)
        interp_put(thread, code->vec_dst[i], old[i]);
    return STEP_YIELD;
}

PtxStep interp_atomic(PtxRun *run, PtxThread *t, const PtxCode *code) {
    uint64_t address = interp_address(run, t, code, code->space), b = interp_arg(run, t, &code->src[1]),
             stores = run->res->stores;
    uint8_t *p = atomic_bytes(run, t, code, address, code->size_bytes);
    if (!p)
        return STEP_STOP;
    uint64_t old = word_load(p, code->size_bytes), value;
    if (run->slow)
        note_numbers(run, code, address, &b, 1);
    bool global =
        code->space == SP_GLOBAL || (code->space == SP_NONE && generic_space(&address) == SP_GLOBAL);
    if (code->atom == ATOM_EXCH)
        value = b;
    else if (code->atom == ATOM_CAS && old == (b & width_mask(code->size_bytes)))
        value = interp_arg(run, t, &code->src[2]);
    else if (code->atom == ATOM_CAS) { /* it stores nothing */
        value = old;
        run->res->stores = stores;
    } else
        value = interp_atomic_value(code, old, b, global);
    word_store(p, value, code->size_bytes);
    if (code->ndst)
        interp_put(t, code->dst[0], old);
    return STEP_YIELD; /* the fixed schedule takes lanes in ascending order at atomics */
}

/* ---- cvta, isspacep ---- */

static uint64_t window_of(const PtxCode *code) {
    switch (code->space) {
    case SP_SHARED:
    case SP_SHARED_CLUSTER: return SIM_SHARED_WINDOW;
    case SP_LOCAL: return SIM_LOCAL_WINDOW;
    case SP_PARAM: return SIM_PARAM_WINDOW;
    case SP_CONST: return SIM_CONST_WINDOW;
    default: return 0;
    }
}
static uint64_t cvta_fn(uint64_t a, uint64_t b, uint64_t x, const PtxCode *code) {
    (void)b, (void)x;
    return code->sub == SUB_TO ? a - window_of(code) : a + window_of(code);
}

static PtxStep exec_isspacep(PtxRun *run, PtxThread *t, const PtxCode *code) {
    uint64_t a = interp_arg(run, t, &code->src[0]), address = a;
    unsigned space = generic_space(&address), want = code->space == SP_SHARED        ? SP_SHARED_CLUSTER
                                                     : code->space == SP_PARAM_ENTRY ? SP_PARAM
                                                                                     : code->space;
    bool others = code->space == SP_SHARED && address / SIM_WINDOW_BYTES != t->warp->block->rank;
    bool is = space == want && !others && (space != SP_CONST || address < run->const_bytes) &&
              (space != SP_PARAM || address < run->launch->param_bytes);
    /* the window of the parameters is a part of that of global memory (PTX ISA 6.4.1.1) */
    interp_put(t, code->dst[0], is || (want == SP_GLOBAL && space == SP_PARAM));
    return STEP_GO;
}

/* Memory is sequentially consistent: fences matter to the search for races only. */
static PtxStep exec_fence(PtxRun *r, PtxThread *t, const PtxCode *code) {
    if (!(code->insn->flags & PF_PROXY))
        interp_race_fence(r, t);
    return STEP_GO;
}

/* ---- binding ---- */

bool interp_bind_atom(PtxCode *code) {
    unsigned type = code->type;
    bool is_float = ptx_type_class((PtxType)type) == TC_FLOAT;
    if (code->size_bytes == 0 || code->size_bytes > 8)
        return false;
    if (is_float && code->atom != ATOM_ADD && code->atom != ATOM_EXCH && code->atom != ATOM_MIN &&
        code->atom != ATOM_MAX)
        return false;
    code->exec = interp_atomic;
    if (interp_is_wide(code)) {
        code->exec = exec_atomic_wide;
        return code->nwritten == 2 && code->nread == (code->atom == ATOM_CAS ? 4 : 2);
    }
    if (code->vec) {
        code->exec = exec_atomic_vector;
        return code->nvec == code->insn->vec;
    }
    return code->atom == ATOM_CAS ? code->nsrc >= 3 : code->nsrc >= 2;
}

bool interp_bind_ld(PtxCode *code) {
    code->exec = code->vec_dst ? exec_ld_vector : interp_is_strong(code->insn) ? exec_ld_strong : exec_ld;
    return code->size_bytes >= 1 && code->size_bytes <= 8 &&
           (!code->vec_dst || code->nvec == (interp_is_wide(code) ? code->nwritten : code->insn->vec));
}

bool interp_bind_st(PtxCode *code) {
    code->exec = exec_st;
    code->nvec = code->vec ? code->nvec : 1;
    return code->size_bytes >= 1 && code->size_bytes <= 8 &&
           (!code->vec || code->nvec == (interp_is_wide(code) ? code->nread : code->insn->vec));
}

BIND_PURE(cvta, code->size_bytes == 8 ? cvta_fn : NULL)
BIND_EXEC(isspacep, exec_isspacep)
BIND_EXEC(fence, exec_fence)
BIND_EXEC(nothing, interp_exec_nop)
