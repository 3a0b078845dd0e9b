/* Which collectives wait for lanes that are mostly here, and whose masks may differ among lanes: what is done
 * before stubs are made. SPDX-License-Identifier: MIT */
#include "lower/reconverge/ask.h"
#include "lower/reconverge/stub.h"

enum { MAX_ASKED = 500 };

/* ---- masks ---- */

/* Is there one division of the warp for all places that lanes of one kernel come to, this one among them:
 * each in uniform flow, with all lanes or with one and the same value as mask? Then who waits for a lane is
 * of its part, and so is whom that lane waits for. */
static bool one_division(const Stubs *stubs, uint32_t func) {
    const StubSite *first = NULL;
    for (uint32_t k = 0; k < stubs->sites.n; k++) {
        const StubSite *site = &stubs->sites.at[k];
        if (!reconv_share_root(&stubs->facts[func], &stubs->facts[site->f->index]))
            continue;
        if (!site->uniform)
            return false;
        if (site->mask.kind == OPK_IMM && site->mask.value == UINT32_MAX)
            continue;
        if (site->mask.kind != OPK_VAL ||
            (first && (first->f != site->f || !reconv_same_operand(first->mask, site->mask))))
            return false;
        first = site;
    }
    return true;
}

/* May lanes with different masks wait at this place at one time? In uniform flow a mask that is the same in
 * all lanes names them all. */
static bool masks_may_differ(const StubSite *site) {
    if (site->mask.kind == OPK_IMM || site->ballot.vote.i)
        return false;
    return !site->uniform || site->mask.kind != OPK_VAL ||
           !ir_value(site->f, (ValId){site->mask.value})->uniform;
}

/* differ: [place] of a group's leader: lanes with different masks may wait there at one time. size: [place]
 * of its group, if it leads one. Is there such a group? */
bool reconv_find_different_masks(Stubs *stubs, const uint32_t *size, bool *differ) {
    bool any = false, one = false;
    for (uint32_t k = 0; k < stubs->sites.n; k++) {
        const StubSite *site = &stubs->sites.at[k], *first = &stubs->sites.at[reconv_stub_leader(stubs, k)];
        bool alone = size[reconv_stub_leader(stubs, k)] == 1;
        if (k == 0 || stubs->sites.at[k - 1].f != site->f) /* those of a function follow each other */
            one = one_division(stubs, site->f->index);
        if (alone ? !one && masks_may_differ(site)
                  : site->mask.kind != OPK_IMM || !reconv_same_operand(site->mask, first->mask))
            any = differ[reconv_stub_leader(stubs, k)] = true;
    }
    return any;
}

/* Where lanes of several masks may vote together: behind WARPSYNC, or on a fast way. */
void reconv_mask_votes(Stubs *stubs, const bool *differ) {
    bool joins = isa_target_info(stubs->m->target)->warpsync_joins;
    for (uint32_t k = 0; k < stubs->sites.n; k++) {
        const StubSite *site = &stubs->sites.at[k];
        bool gathers = differ[reconv_stub_leader(stubs, k)]; /* so do all that share its stub */
        bool asks = gathers || (site->mask.kind == OPK_VAL && !site->uniform);
        if (asks || (joins && (gathers || masks_may_differ(site))))
            reconv_mask_vote(site->f, site->block, site->inst, site->mask);
    }
}

/* ---- the fast way ---- */

/* Would the place wait, or its lanes be called aside, where all of the mask may be here? */
static bool asks_first(const StubSite *site, bool has_stub, bool gathers) {
    const Inst *i = ir_inst(site->f, site->inst);
    if ((!(i->flags & IF_SYNC) && i->op != OT_WARPSYNC) || reconv_is_bar(i->op) ||
        (!has_stub && !gathers && site->uniform) ||
        (site->mask.kind != OPK_IMM && site->mask.kind != OPK_VAL))
        return false;
    FOR_DSTS(site->f, i, dst)
        if (dst->kind == OPK_VAL && dst->file == RF_UR)
            return false;
    return site->mask.kind == OPK_IMM || i->op == OT_SHFL || i->op == OT_WARPSYNC || i->flags & IF_MASKED;
}

/* StubSite k's block is split for it: sets the blocks of those that stand in it anew. */
static void ask_before(Stubs *stubs, uint32_t k, const bool *asks, SyncNotes *notes) {
    StubSite *site = &stubs->sites.at[k];
    Function *f = site->f;
    BlockId block = site->block;
    unsigned at = reconv_position(f, block, site->inst),
             end = reconv_ask_range(f, block, at, site->mask, asks);
    InstId last = ir_inst_at(f, block, end - 1);
    BlockId slow = reconv_put_ask(f, block, at, end, site->mask, asks);
    bool inside = true;
    for (uint32_t n = k; n < stubs->sites.n && stubs->sites.at[n].f == f; n++) {
        StubSite *other = &stubs->sites.at[n];
        if (other->block.i != block.i)
            break;
        SyncSite *note = notes ? reconv_noted(notes, f, other->inst) : NULL;
        other->block = inside ? slow : ir_block(f, slow)->succs.at[0];
        if (note)
            note->stands = other->block.i, note->block = inside ? block.i : other->block.i;
        inside = inside && other->inst.i != last.i;
    }
}

static void ask_function(Stubs *stubs, uint32_t first, const uint32_t *size, const bool *differ,
                         SyncNotes *notes) {
    Function *f = stubs->sites.at[first].f;
    uint32_t end = first;
    bool *asks = ARENA_ARRAY(&stubs->a, bool, f->insts.n);
    for (; end < stubs->sites.n && stubs->sites.at[end].f == f; end++)
        asks[stubs->sites.at[end].inst.i] =
            asks_first(&stubs->sites.at[end], size[reconv_stub_leader(stubs, end)] > 1,
                       differ[reconv_stub_leader(stubs, end)]);
    BlockId slow = {0};
    for (uint32_t k = first; k < end && stubs->asked < MAX_ASKED; k++) {
        if (!asks[stubs->sites.at[k].inst.i] || (slow.i && stubs->sites.at[k].block.i == slow.i))
            continue;
        ask_before(stubs, k, asks, notes);
        slow = stubs->sites.at[k].block;
        stubs->asked++;
    }
}

void reconv_ask_sites(Stubs *stubs, const uint32_t *size, const bool *differ, SyncNotes *notes) {
    for (uint32_t k = 0; k < stubs->sites.n; k++)
        if (k == 0 || stubs->sites.at[k - 1].f != stubs->sites.at[k].f)
            ask_function(stubs, k, size, differ, notes);
}
