/* Values of the flow of parameters: see auto_values.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_values.h"

static uint64_t path_step(uint64_t path, uint64_t to) {
    return (path ^ (to + 1) * 0x9e3779b97f4a7c15u) * 0x2545f4914f6cdd1du;
}

static uint64_t path_of(const AutoFlow *flow, const AutoSlot *slot) {
    if (slot->parent)
        return path_step(flow->slots[slot->parent - 1].path, slot->offset_bytes);
    return path_step(path_step(slot->variable != 0, slot->variable + slot->param), slot->offset_bytes);
}

uint32_t auto_add_slot(Flow *w, AutoSlot s) {
    AutoFlow *flow = w->out;
    if (flow->nslots == AUTO_MAX_SLOTS) {
        w->full = true;
        return 0;
    }
    s.path = path_of(flow, &s);
    for (uint32_t i = 0; i < w->nknown; i++)
        if (w->known[i].path == s.path) {
            s.record = w->known[i].record;
            s.record_bytes = w->known[i].record_bytes;
            s.alone = w->known[i].alone;
        }
    flow->slots[flow->nslots] = s;
    w->changed = true;
    return ++flow->nslots;
}

uint32_t auto_param_slot(Flow *flow, uint32_t param, uint32_t offset, uint32_t size) {
    for (uint32_t i = 0; i < flow->out->nslots; i++) {
        AutoSlot *slot = &flow->out->slots[i];
        if (!slot->parent && !slot->variable && slot->param == param && slot->offset_bytes == offset) {
            slot->size_bytes = size > slot->size_bytes ? size : slot->size_bytes;
            return i + 1;
        }
    }
    const PtxVar *var = &flow->m->vars[flow->kernel->params[param]];
    bool pointer = var->is_pointer && var->pointee_space != SP_SHARED && size == 8; /* it is declared one */
    return auto_add_slot(flow, (AutoSlot){.param = param,
                                          .offset_bytes = offset,
                                          .size_bytes = size,
                                          .uses = pointer ? AU_ADDRESS : 0});
}

void auto_use(Flow *flow, AutoSet slots, uint32_t uses, PtxType float_type) {
    for (; slots; slots &= slots - 1) {
        AutoSlot *slot = &flow->out->slots[auto_first(slots)];
        flow->changed |= (slot->uses | uses) != slot->uses;
        slot->uses |= uses;
        if (float_type)
            slot->float_type = float_type;
    }
}

/* ---- constants beside slots ---- */

enum { MOST_BESIDE = 1 << 30 };

uint32_t auto_common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > MOST_BESIDE ? 1 : (uint32_t)a;
}

static void set_beside(Val *out, int64_t beside, uint32_t step) {
    bool far = beside > MOST_BESIDE || beside < -MOST_BESIDE;
    out->beside = far ? 0 : beside;
    out->step = far ? 1 : step;
}

void auto_beside_sum(Val *out, Val a, Val b) {
    set_beside(out, (int64_t)((uint64_t)a.beside + (uint64_t)b.beside), auto_common_divisor(a.step, b.step));
}

void auto_beside_either(Val *out, Val a, Val b) {
    uint64_t apart = (uint64_t)(a.beside > b.beside ? a.beside - b.beside : b.beside - a.beside);
    uint32_t step = auto_common_divisor(auto_common_divisor(a.step, b.step), apart);
    int64_t rest = step ? a.beside % step : a.beside;
    set_beside(out, rest < 0 ? rest + step : rest, step);
}

/* A slot times a factor is any multiple of it. */
Val auto_beside_product(Val v, int64_t factor) {
    uint64_t size = (uint64_t)(factor < 0 ? -factor : factor);
    Val out = {0};
    if (factor > MOST_BESIDE || factor < -MOST_BESIDE || v.step * size > MOST_BESIDE)
        out.step = 1;
    else
        set_beside(&out, v.is ? 0 : v.beside * factor, (uint32_t)(v.is ? size : v.step * size));
    return out;
}

bool auto_is_zero(Val v) { return !v.is && !v.from && !v.tid && !v.loaded && !v.var && !v.step && !v.beside; }

/* No input is part of it. */
static bool has_no_input(Val v) {
    return !v.from && !v.is && !v.tid && !v.loaded && !v.multiple && !v.number;
}

PtxType auto_number_of_either(Val a, Val b) {
    return a.number == b.number || has_no_input(b) ? a.number : has_no_input(a) ? b.number : TY_NONE;
}

bool auto_are_apart(Val a, Val b) { return (a.var && !b.var && b.is) || (b.var && !a.var && a.is); }

void auto_join(Flow *flow, Val *to, Val v) {
    Val old = *to;
    to->number = auto_number_of_either(old, v);
    if (auto_is_zero(old))
        set_beside(to, v.beside, v.step);
    else if (!auto_is_zero(v))
        auto_beside_either(to, old, v);
    to->summed |= v.summed;
    to->is |= v.is;
    to->from |= v.from | v.is;
    to->strides |= v.strides;
    to->tid |= v.tid;
    to->mixed |= v.mixed;
    to->loaded |= v.loaded;
    to->given |= v.given;
    if (has_no_input(old))
        to->multiple = v.multiple, to->times = v.times;
    else if (to->multiple != v.multiple || to->times != v.times)
        to->multiple = to->times = 0;
    to->apart |= v.apart || auto_are_apart(old, v);
    if (!to->var)
        to->var = v.var, to->entry_param = v.entry_param, to->offset = v.offset, to->placed = v.placed;
    else if (v.var)
        to->placed &= v.placed && v.var == to->var && v.offset == to->offset;
    to->row = v.row ? v.row : to->row;
    if (v.names)
        to->names = to->names && to->names != v.names ? NAMES_MANY : v.names;
    flow->changed |= old.is != to->is || old.from != to->from || old.strides != to->strides ||
                     old.tid != to->tid || old.loaded != to->loaded || old.var != to->var ||
                     old.names != to->names || old.placed != to->placed || old.given != to->given ||
                     old.beside != to->beside || old.step != to->step || old.summed != to->summed ||
                     old.number != to->number || old.mixed != to->mixed || old.apart != to->apart;
}

void auto_put_cell(Flow *flow, Val address, unsigned bytes, Val v) {
    enum { MOST_FIELDS = 256 };
    Cell *cell = &flow->cells[address.var - 1];
    uint32_t i = cell->fields;
    while (i &&
           (flow->fields.at[i - 1].offset != address.offset || flow->fields.at[i - 1].size_bytes != bytes))
        i = flow->fields.at[i - 1].next;
    if (!i && address.placed && cell->nfields < MOST_FIELDS) {
        VEC_ADD(flow->arena, &flow->fields,
                ((Field){.offset = address.offset, .size_bytes = bytes, .next = cell->fields}));
        i = cell->fields = flow->fields.n;
        cell->nfields++;
    }
    auto_join(flow, address.placed && i ? &flow->fields.at[i - 1].value : &cell->anywhere, v);
}

Val auto_get_cell(Flow *flow, Val address, unsigned bytes) {
    const Cell *cell = &flow->cells[address.var - 1];
    bool changed = flow->changed;
    Val v = cell->anywhere;
    for (uint32_t i = cell->fields; i; i = flow->fields.at[i - 1].next) {
        const Field *field = &flow->fields.at[i - 1];
        if (!address.placed || (address.offset < (uint64_t)field->offset + field->size_bytes &&
                                field->offset < (uint64_t)address.offset + bytes))
            auto_join(flow, &v, field->value);
    }
    flow->changed = changed;
    return v;
}

void auto_copy_cell(Flow *flow, uint32_t to, uint32_t from) {
    auto_join(flow, &flow->cells[to].anywhere, flow->cells[from].anywhere);
    for (uint32_t i = flow->cells[from].fields; i; i = flow->fields.at[i - 1].next) {
        Field field = flow->fields.at[i - 1];
        auto_put_cell(flow, (Val){.var = to + 1, .offset = field.offset, .placed = true}, field.size_bytes,
                      field.value);
    }
}
