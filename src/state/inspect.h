/* state/inspect.h: the keyed entries of an operator's image, read without the operator.
 *
 * Idea       an operator's image holds the images of its maps (state.h) between bytes of its own. Maps have a head of a known form (name, version, number
 *            of key columns) that is followed by entries that must all fit; so they are found by looking, and an image that happens to hold such
 *            bytes by chance would have to hold a whole map's worth of them. What is in the tier is read from the tier.
 * Use        `weir state`; never for a restore.                                                                                 */
#pragma once
#include "state/state.h"

typedef struct wr_state_entry {
    const char *map;         /* name of the map in the operator */
    wr_str      prefix;      /* of one of several maps of a name (a pane) that are in the tier */
    uint64_t    hash;
    wr_str      key, value;  /* encoded; valid during the call */
    uint32_t    n_key_types;
    bool        in_tier;
} wr_state_entry;
/* Calls visit for every entry until it says false. tier may be NULL: entries there are then counted in *unread. WR_CORRUPT, WR_IO from the tier. */
wr_status wr_state_walk(wr_str image, wr_tier *tier, bool (*visit)(void *arg, const wr_state_entry *entry), void *arg, uint64_t *unread, wr_err *err);
