/* run/lateness.c: how far out of order rows come: counts in buckets that a person can read. Rows in order are not looked at one by one. */
#include "run/internal.h"

static const int64_t UP_TO_US[WR_LATENESS_BUCKETS] = {0, 10000, 100000, 1000000, 2000000, 5000000, 10000000, 30000000, 60000000, 300000000, 900000000, 3600000000, WR_TIME_MAX};

int64_t wr_lateness_up_to_us(uint32_t bucket) { return UP_TO_US[bucket]; }

void lateness_add(wr_lateness *into, int64_t us) {
    uint32_t i = 0;
    while (us > UP_TO_US[i]) i++;
    into->rows[i]++;
}
