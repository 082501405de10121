/* state/sketch.c: the most frequent keys of a stream in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi 2005). See state.h.
 *
 * Idea       a fixed set of counters; a key without one takes over the least, and inherits its count as its possible error. A key that makes up more
 *            than 1 / WR_SKETCH_COUNTERS of the rows always has a counter.
 * Invariant  for every counter: count - error <= occurrences since the counts were halved (and half of those before) <= count.  */
#include "state/state.h"

uint32_t wr_sketch_add(wr_sketch *s, uint64_t hash, bool *fresh) {
    s->total++;
    *fresh = false;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->hash[i] == hash) {
            s->count[i]++;
            return i;
        }
    *fresh = true;
    uint32_t at = 0;
    if (s->n < WR_SKETCH_COUNTERS) {
        at = s->n++;
        s->count[at] = 0;
    } else {
        for (uint32_t i = 1; i < s->n; i++)
            if (s->count[i] < s->count[at]) at = i;
    }
    s->hash[at] = hash;
    s->error[at] = s->count[at]++;
    return at;
}

void wr_sketch_halve(wr_sketch *s) {
    s->total /= 2;
    for (uint32_t i = 0; i < s->n; i++) {
        s->count[i] -= s->count[i] / 2; /* up, and errors too: the bounds hold */
        s->error[i] -= s->error[i] / 2;
    }
}
