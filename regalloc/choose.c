/* Which register a value gets that may choose: that of its web, the one beside the other members of a vector
 * that it will be in, or the best hole. SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"

/* How good a free register is for a value without a wish, best last. Whole aligned groups are kept for
 * vectors. */
enum {
    HOLE_NEW = 1,     /* beyond what the function uses so far */
    HOLE_WISHED = 2,  /* values of another web will want it */
    HOLE_IN_QUAD = 3, /* all four of its group are free, or vectors do not matter in its file */
    HOLE_IN_PAIR = 4, /* its pair is free, the rest of the group is not */
    HOLE_SINGLE = 5,  /* its pair is in use already */
    HOLE_SAFE = 8     /* added: no call that the value lives through overwrites it */
};
/* Up to here registers are in use, or may be for the sake of scheduling. */
static unsigned last_welcome(const Colour *colour, RegFile file) {
    return file == RF_R && colour->spread > colour->high_water[file] ? colour->spread
                                                                     : colour->high_water[file];
}
static unsigned hole_score(const Colour *c, RegFile file, unsigned r) {
    unsigned quad = r & ~3u;
    if (r > last_welcome(c, file))
        return HOLE_NEW;
    if (c->wished[file][r])
        return HOLE_WISHED;
    if (file != RF_R && file != RF_UR)
        return HOLE_IN_QUAD;
    if (!ra_is_free(c, file, r ^ 1))
        return HOLE_SINGLE;
    return !ra_is_free(c, file, quad) || !ra_is_free(c, file, quad + 2) ? HOLE_IN_PAIR : HOLE_IN_QUAD;
}

/* A free register; among equals the one that was released first, which leaves scheduling most freedom. */
static unsigned best_hole(const Colour *colour, uint32_t v) {
    RegFile file = (RegFile)colour->f->values.at[v].file;
    unsigned best = RA_NO_REG, best_score = 0, top = last_welcome(colour, file);
    for (unsigned r = 0; r < colour->limit[file]; r++) {
        if (!ra_is_free(colour, file, r))
            continue;
        if (r > top && best_score >= HOLE_SAFE + HOLE_NEW)
            break; /* none behind is better */
        unsigned score = hole_score(colour, file, r) + (ra_is_safe(colour, v, r) ? HOLE_SAFE : 0);
        if (best == RA_NO_REG || score > best_score ||
            (score == best_score && score % HOLE_SAFE > HOLE_NEW &&
             colour->freed_at[file][r] < colour->freed_at[file][best])) {
            best = r;
            best_score = score;
        }
    }
    return best;
}

/* Where a member of a vector is, or is likely to be. */
static unsigned member_reg(const Colour *colour, uint32_t m) {
    return colour->reg[m] != RA_NO_REG ? colour->reg[m] : colour->web_reg[ra_web(colour, m)];
}

/* Will values of other webs want one of these registers? */
static bool is_wished(const Colour *colour, RegFile file, unsigned base, unsigned count) {
    for (unsigned k = 0; k < count; k++)
        if (colour->wished[file][base + k])
            return true;
    return false;
}

/* Where value v should go so that its next vector use finds it in place; RA_NO_REG if there is no wish. */
static unsigned vector_wish(const Colour *colour, uint32_t v) {
    VecUse u = colour->vec[v];
    RegFile file = (RegFile)colour->f->values.at[v].file;
    unsigned align = ra_align(u.count);
    for (unsigned k = 0; k < u.count; k++) { /* beside a member that has its place */
        uint32_t m = colour->f->vectors.at[u.first + k];
        if (k == u.component || !m)
            continue;
        unsigned at = member_reg(colour, m);
        if (at == RA_NO_REG || at < k || (at - k) % align)
            continue;
        unsigned r = at - k + u.component;
        if (ra_is_free(colour, file, r) && ra_is_safe(colour, v, r))
            return r;
    }
    unsigned top = (colour->high_water[file] / 4 + 2) * 4;
    unsigned spread = u.count > 2 ? colour->wide_spread : colour->spread, last = RA_NO_REG;
    bool last_wished = false;
    for (unsigned base = 0; base + u.count <= colour->limit[file]; base += align) {
        if (base > top && (last != RA_NO_REG || !colour->crosses[v]))
            break; /* what a callee leaves alone may lie further up */
        unsigned k = 0;
        while (k < u.count && ra_is_free(colour, file, base + k))
            k++;
        if (k < u.count || !ra_is_safe(colour, v, base + u.component))
            continue;
        bool wished = is_wished(colour, file, base, u.count);
        if (last == RA_NO_REG ||
            (base + u.count - 1 <= spread &&
             (wished != last_wished ? last_wished
                                    : colour->freed_at[file][base] < colour->freed_at[file][last]))) {
            last = base;
            last_wished = wished;
        }
    }
    return last == RA_NO_REG ? RA_NO_REG : last + u.component;
}

unsigned ra_choose(const Colour *colour, uint32_t v) {
    const Value *val = &colour->f->values.at[v];
    RegFile file = (RegFile)val->file;
    VecUse u = colour->vec[v];
    if (val->fixed_reg >= 0)
        return (unsigned)val->fixed_reg;
    unsigned r = colour->web_reg[ra_web(colour, v)];
    bool aligned = r != RA_NO_REG && (!u.count || r % ra_align(u.count) == u.component);
    if (r != RA_NO_REG && aligned && ra_is_free(colour, file, r) && ra_is_safe(colour, v, r))
        return r;
    unsigned wish = u.count ? vector_wish(colour, v) : RA_NO_REG;
    if (wish != RA_NO_REG)
        return wish;
    if (r != RA_NO_REG && ra_is_free(colour, file, r) && ra_is_safe(colour, v, r))
        return r;
    return best_hole(colour, v);
}
