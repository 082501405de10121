/* expr/fn_time.h: the parts of fn_time.c that arithmetic and casts use. (private) */
#pragma once
#include "fn.h"

bool wr_res_time_add(wr_resolve *r, int sign); /* args: time point, interval */
bool wr_res_time_sub(wr_resolve *r);           /* args: two time points; the result is an interval */
/* Microseconds (and nanoseconds below one) of a DATE, TIMESTAMP or TIMESTAMP_LTZ value; LTZ as local time of tz when `local`. */
int64_t wr_time_us(wr_type t, const void *data, uint32_t row, const wr_tz *tz, bool local, int32_t *sub_nanos);
int64_t wr_time_ticks(wr_type t, int64_t us, int32_t sub_nanos); /* value of a timestamp type, cut to its precision */
bool wr_res_time_floor(wr_resolve *r, bool up); /* args: time point, 'UNIT' */
