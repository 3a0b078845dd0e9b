/* Memory that slots point to, in the flow of parameters: see auto_values.h.
 *
 * At first all that a buffer holds is one slot. A buffer of which that slot is a pointer, or a number and an
 * index, holds records: another pass gives each of their fields, which are told apart by their offsets, a
 * slot of its own. Records lie as far apart as the kernel's indices are multiplied by; a buffer of which only
 * constant offsets are accessed is one record.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_values.h"
#include "frontend/texture.h"

enum {
    MOST_BEFORE_CONSTANTS = 48, /* slots: parameters and buffers come first */
    MOST_RECORD = 1 << 21,      /* bytes */
    LEAST_RECORD = 8,
    FAR_ELEMENTS = 64, /* no constant index is as large */
    MOST_FIELDS = 24   /* of a record */
};

/* Of the records that a slot points to: the offset of the field that an address means. */
static uint32_t field_at(const AutoSlot *slot, Val address, bool known) {
    uint32_t size = slot->record_bytes;
    int64_t at = address.beside;
    if (!slot->record)
        return 0;
    if (!known || (size ? address.step % size != 0 : address.step != 0))
        return AUTO_ANYWHERE;
    at = size && at % size < 0 ? at % size + size : size ? at % size : at;
    return at >= 0 && at < MOST_RECORD ? (uint32_t)at : AUTO_ANYWHERE;
}

static uint32_t depth_of(const AutoFlow *flow, uint32_t slot) {
    uint32_t depth = 0;
    for (uint32_t p = slot + 1; p; p = flow->slots[p - 1].parent)
        depth++;
    return depth;
}

static uint32_t find_field(const AutoFlow *flow, uint32_t slot, uint32_t offset, uint32_t *nfields) {
    uint32_t c = flow->slots[slot].content;
    for (*nfields = 0; c && flow->slots[c - 1].offset_bytes != offset; ++*nfields)
        c = flow->slots[c - 1].next;
    return c;
}

/* The field of that offset, + 1; 0: it lies too deep. */
static uint32_t field_slot(Flow *flow, uint32_t slot, uint32_t offset, unsigned bytes) {
    uint32_t nfields, c = find_field(flow->out, slot, offset, &nfields);
    if (!c && nfields >= MOST_FIELDS)
        c = find_field(flow->out, slot, offset = AUTO_ANYWHERE, &nfields);
    if (c || depth_of(flow->out, slot) > AUTO_DEPTH)
        return c; /* a list or a tree: more of the same */
    c = auto_add_slot(flow, (AutoSlot){.parent = slot + 1,
                                       .offset_bytes = offset,
                                       .size_bytes = bytes,
                                       .next = flow->out->slots[slot].content});
    if (c)
        flow->out->slots[slot].content = c;
    return c;
}

Val auto_contents(Flow *flow, Val address, AutoSet bases, unsigned bytes) {
    Val v = {.loaded = true, .given = true};
    bool known = !(address.is & ~bases);
    for (; bases; bases &= bases - 1) {
        uint32_t i = auto_first(bases);
        uint32_t c = field_slot(flow, i, field_at(&flow->out->slots[i], address, known), bytes);
        if (!c)
            continue;
        AutoSlot *slot = &flow->out->slots[c - 1];
        slot->size_bytes = bytes > slot->size_bytes ? bytes : slot->size_bytes;
        v.is |= auto_set_of(c - 1);
    }
    v.step = !v.is;
    v.from = v.is;
    return v;
}

/* The slots that can be bases of this address: eight bytes, and certain pointers rather than others. */
static AutoSet bases_of(Flow *flow, Val address) {
    AutoSet wide = 0, sure = 0, alone = 0;
    for (AutoSet is = address.is; is; is &= is - 1) {
        AutoSet bit = is & -is;
        const AutoSlot *slot = &flow->out->slots[auto_first(is)];
        const PtxVar *var =
            slot->parent || slot->variable ? NULL : &flow->m->vars[flow->kernel->params[slot->param]];
        if (slot->size_bytes != 8)
            continue;
        wide |= bit;
        alone |= slot->alone ? bit : 0;
        if (slot->uses & AU_CVTA || (var && var->is_pointer))
            sure |= bit;
    }
    AutoSet added = wide & address.summed & ~alone;
    if (!sure && added && wide & (wide - 1)) { /* an offset is no pointer, however wide it is */
        flow->ambiguous = true;
        wide = alone & address.summed ? wide & ~added : wide;
    }
    return sure ? sure : wide;
}

/* How far apart what is accessed lies: indices times a size, and fields that are none of a smaller one's. */
static void note_spacing(AutoSlot *slot, Val address, bool known, unsigned bytes) {
    int64_t end = address.beside + bytes;
    if (!known || (address.step && (address.step < LEAST_RECORD || address.beside < 0 || end > address.step)))
        slot->dense = true;
    else if (address.step)
        slot->spacing = auto_common_divisor(slot->spacing, address.step);
    else if (address.beside > slot->far_bytes && address.beside < MOST_RECORD)
        slot->far_bytes = (uint32_t)address.beside;
}

AutoSet auto_note_access(Flow *flow, Val address, unsigned bytes) {
    AutoSet bases = bases_of(flow, address);
    bool known = !(address.is & ~bases);
    auto_use(flow, bases, AU_ADDRESS | AU_MEMORY, TY_NONE);
    auto_use(flow, address.from & ~bases, AU_INDEX, TY_NONE);
    auto_use(flow, bases ? address.strides & ~bases : 0, AU_STRIDE, TY_NONE);
    for (AutoSet s = bases ? address.strides & ~bases : 0; s; s &= s - 1) {
        AutoSlot *slot = &flow->out->slots[auto_first(s)];
        if (!slot->stride_of)
            slot->stride_of = auto_first(bases) + 1;
    }
    for (AutoSet b = bases; b; b &= b - 1) {
        AutoSlot *slot = &flow->out->slots[auto_first(b)];
        if (!slot->elem_bytes || bytes < slot->elem_bytes)
            slot->elem_bytes = (uint8_t)bytes;
        slot->alone |= !(bases & (bases - 1));
        note_spacing(slot, address, known, bytes);
    }
    return bases;
}

Val auto_beside_variable(Flow *flow, Val v, Val address, unsigned bytes) {
    if (!address.apart)
        return v;
    Val other = auto_contents(flow, address, auto_note_access(flow, address, bytes), bytes);
    bool changed = flow->changed; /* only what leaves a block matters */
    auto_join(flow, &v, other);
    flow->changed = changed;
    return v;
}

/* The variables that statements do anything with but load from by name: write them, or take their address. */
static void find_written(Flow *flow) {
    flow->written = ARENA_ARRAY(flow->arena, bool, flow->m->nvars + 1);
    for (uint32_t f = 0; f < flow->m->nfuncs; f++)
        for (uint32_t i = 0; i < flow->m->funcs[f].ninsns; i++) {
            const PtxInsn *in = &flow->m->funcs[f].insns[i];
            for (unsigned k = 0; k < in->noperands; k++) {
                const PtxOperand *o = &in->operands[k];
                bool names = (o->kind == PO_ADDR || o->kind == PO_SYM) && o->sym && !(o->sym & PTX_SYM_FUNC);
                if (names && !(in->op == PTX_LD && o->kind == PO_ADDR))
                    flow->written[o->sym - 1] = true;
            }
        }
}

/* A word of global memory, as wide as a pointer, that the module only reads: the host gives it. */
static bool is_given(Flow *flow, uint32_t index) {
    const PtxVar *var = &flow->m->vars[index];
    if (var->space != SP_GLOBAL || ptx_type_bytes(var->type) != 8)
        return false;
    if (!flow->written)
        find_written(flow);
    return !flow->written[index];
}

uint32_t auto_constants_slot(Flow *flow, uint32_t index) {
    AutoFlow *out = flow->out;
    const PtxVar *var = &flow->m->vars[index];
    if (var->ninits || !var->size_bytes || ptx_is_texture(var) ||
        (var->space != SP_CONST && !is_given(flow, index)))
        return 0;
    for (uint32_t i = 0; i < out->nslots; i++)
        if (out->slots[i].variable == index + 1)
            return i + 1;
    return out->nslots > MOST_BEFORE_CONSTANTS
               ? 0
               : auto_add_slot(flow, (AutoSlot){.variable = index + 1, .size_bytes = 8, .uses = AU_ADDRESS});
}

/* ---- from one pass to the next ---- */

static bool points(const AutoSlot *slot) { return slot->size_bytes == 8 && slot->uses & AU_ADDRESS; }

/* An index or a size for some, a floating-point number for others. */
static bool is_mixed(const AutoSlot *slot) {
    const uint32_t whole =
        AU_INDEX | AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_CMP | AU_DIVISOR | AU_BRANCH | AU_ADDRESS;
    return slot->uses & AU_FLOAT && slot->uses & whole;
}

static bool holds_records(const AutoFlow *flow, const AutoSlot *slot) {
    const AutoSlot *content = slot->content ? &flow->slots[slot->content - 1] : NULL;
    return content && (points(content) || (is_mixed(content) && (slot->spacing || !slot->dense)));
}

bool auto_learn(Flow *flow) {
    bool more = false;
    for (uint32_t i = 0; i < flow->out->nslots; i++) {
        const AutoSlot *slot = &flow->out->slots[i];
        uint32_t k = 0;
        while (k < flow->nknown && flow->known[k].path != slot->path)
            k++;
        if (k == AUTO_MAX_KNOWN)
            return false;
        if (k == flow->nknown)
            flow->known[flow->nknown++] = (AutoKnown){.path = slot->path};
        AutoKnown *known = &flow->known[k];
        more |= slot->alone && !known->alone && flow->ambiguous;
        known->alone |= slot->alone;
        if (!known->record && holds_records(flow->out, slot)) {
            known->record = more = true;
            /* an array, and behind it fields: one record */
            known->record_bytes = slot->far_bytes / FAR_ELEMENTS >= slot->spacing ? 0 : slot->spacing;
        }
    }
    return more;
}

void auto_finish_records(Flow *flow) {
    enum { ALIGNED = 16 };
    for (uint32_t i = 0; i < flow->out->nslots; i++) {
        AutoSlot *slot = &flow->out->slots[i];
        uint32_t end = ALIGNED;
        for (uint32_t c = slot->content; c; c = flow->out->slots[c - 1].next) {
            const AutoSlot *field = &flow->out->slots[c - 1];
            if (field->offset_bytes != AUTO_ANYWHERE && field->offset_bytes + field->size_bytes > end)
                end = field->offset_bytes + field->size_bytes;
        }
        const AutoSlot *only = slot->content ? &flow->out->slots[slot->content - 1] : NULL;
        if (only && !only->next && !only->offset_bytes && only->size_bytes == slot->record_bytes &&
            !points(only)) /* then they are elements, of that field's type */
            slot->record = false;
        if (slot->record && !slot->record_bytes && slot->variable) /* which has room for no more */
            slot->record_bytes = (uint32_t)flow->m->vars[slot->variable - 1].size_bytes;
        else if (slot->record && !slot->record_bytes)
            slot->record_bytes = (end + ALIGNED - 1) / ALIGNED * ALIGNED;
    }
}
