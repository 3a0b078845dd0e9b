/* Ends what handlers.h began, and defines of a part's rows what its LaneHandler entries are.
 * SPDX-License-Identifier: MIT */
#undef LANE
#undef LANE_FLOAT
#undef LANE_CARRY
#undef LANE_LOGIC
#undef LANE_SETP
#define LANE(name, ...) {name##_f, name##_p},
#define LANE_FLOAT(name, ...) {name##_f, name##_p},
#define LANE_CARRY(name, ...) {name##_f, name##_p},
#define LANE_LOGIC(name, ...) {name##_f, name##_p},
#define LANE_SETP(name, ...) {name##_f, name##_p},
