/* Branches that ask whether all lanes of a mask are here (check/flow/question.h), as far as masks are
 * followed. SPDX-License-Identifier: MIT */
#include "check/model/internal.h"

Lanes model_lanes_of(const Stepper *stepper, uint32_t number) {
    Lanes lanes = 0;
    for (unsigned l = 0; l < stepper->nlanes; l++)
        lanes |= (Lanes)((number >> stepper->lane_number[l] & 1) << l);
    return lanes;
}

void model_answer_question(const Stepper *stepper, const Skel *skel, ModelState *state) {
    Lanes mask[MODEL_MAX_LANES] = {0}, missing = 0;
    for (unsigned i = 0; i < stepper->nlanes; i++) {
        uint8_t own = skel->mask_reg != 0xff ? state->track[i][skel->mask_reg] : 0;
        if (!(state->active >> i & 1))
            continue;
        if (!skel->mask_is_imm && !(own & TRACK_KNOWN))
            return;
        mask[i] = skel->mask_is_imm ? model_lanes_of(stepper, skel->imm) : (Lanes)(own & stepper->all);
    }
    for (unsigned i = 0; i < stepper->nlanes; i++) {
        Lanes lacks = mask[i]; /* of lanes that are elsewhere it is none */
        for (unsigned other = 0; other < stepper->nlanes; other++)
            if (state->active >> other & 1 && mask[other] == mask[i])
                lacks &= (Lanes) ~(1u << other);
        missing |= lacks;
    }
    for (unsigned i = 0; i < stepper->nlanes; i++)
        if (state->active >> i & 1) {
            state->pknown[i] |= skel->pred_defs;
            state->pvalue[i] =
                (uint8_t)((state->pvalue[i] & ~skel->pred_defs) | (missing ? skel->pred_defs : 0));
        }
}
