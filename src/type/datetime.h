/* type/datetime.h: civil time, parsing and printing of time values, time zones from the system's TZif files. (contract)
 *
 * Source     days <-> civil: Howard Hinnant's published algorithms; TZif: RFC 8536 (versions 1-3 with the POSIX footer).
 * Range      years 0001..9999 for parsing and printing.                                                                 */
#pragma once
#include "type/type.h"
struct wr_world;
typedef struct wr_tz wr_tz;

#define WR_US_PER_SECOND INT64_C(1000000)
#define WR_US_PER_DAY (INT64_C(86400) * WR_US_PER_SECOND)

int32_t wr_days_from_civil(int32_t year, int32_t month, int32_t day);
void    wr_civil_from_days(int32_t days, int32_t *year, int32_t *month, int32_t *day);
bool    wr_civil_valid(int32_t year, int32_t month, int32_t day);
typedef struct wr_civil { int32_t year, month, day, hour, minute, second, nano; } wr_civil;
wr_civil wr_civil_from_us(int64_t us);
int64_t  wr_us_from_civil(const wr_civil *c);
int64_t  wr_us_add_months(int64_t us, int32_t months); /* clamps the day: 31 Jan + 1 month = 28/29 Feb */
WR_INLINE int64_t wr_floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
WR_INLINE int64_t wr_floor_mod(int64_t a, int64_t b) { int64_t r = a % b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; }

/* Text -> value. Accepts 'yyyy-MM-dd[ |T]HH:mm[:ss[.fffffffff]]' and a bare date; for LTZ also a trailing 'Z' or +hh[:mm] (then zoned=true
 * and the result is UTC). Result in microseconds plus nanos below a microsecond. False if the text is not that or out of range. */
bool wr_parse_timestamp(wr_str text, int64_t *us, int32_t *sub_us_nanos, bool *zoned);
bool wr_parse_date(wr_str text, int32_t *days);
bool wr_parse_time(wr_str text, int32_t *ms);
/* Value -> text. Timestamps print exactly prec fraction digits: 2026-01-01 00:00:09.999. Return the length. */
size_t wr_text_timestamp(int64_t ticks, wr_type type, char sep, char out[40]);
size_t wr_text_date(int32_t days, char out[16]);
size_t wr_text_time(int32_t ms, int prec, char out[16]);
void   wr_text_interval(int64_t value, wr_type type, wr_sbuf *out); /* Flink's: +1 02:03:04.500 / +1-02 */
/* Java-style pattern (yyyy MM dd HH hh mm ss SSS a E D ...) formatting and parsing, for DATE_FORMAT, TO_TIMESTAMP(x, fmt). */
bool wr_format_pattern(int64_t us, int32_t sub_us_nanos, wr_str pattern, const wr_tz *tz, wr_sbuf *out);
bool wr_parse_pattern(wr_str text, wr_str pattern, int64_t *us);

/* Durations as in options and hints: '5 s', '100 ms', '1 min', '2 h', '1 d', '1 day 2 hours'; bare number = milliseconds (as Flink). */
bool wr_parse_duration(wr_str text, int64_t *us);
void wr_text_duration(int64_t us, wr_sbuf *out); /* "6 d 4 h", "1.5 s": for people */
/* Sizes: '512MiB', '64 mb', '1g'; bare number = bytes. KB, KiB, k all mean 1024 (as Flink). */
bool wr_parse_size(wr_str text, int64_t *bytes);
bool wr_parse_count(wr_str text, int64_t *n); /* "200k", "1_000_000", "3M"; > 0 */
void wr_text_size(int64_t bytes, wr_sbuf *out);  /* "185.2 MiB" */

/* Time zones. NULL tz = UTC everywhere. Immutable after load; kept for the life of the process. */
wr_status wr_tz_load(struct wr_world *world, wr_str name, const wr_tz **out, wr_err *err); /* 'UTC', 'Europe/Zurich', 'GMT+02:00' */
wr_str    wr_tz_name(const wr_tz *tz);
int64_t   wr_tz_to_local(const wr_tz *tz, int64_t utc_us);
/* Local -> UTC. In a gap the time moves forward by the gap; in an overlap the earlier instant is taken (as java.time). */
int64_t   wr_tz_to_utc(const wr_tz *tz, int64_t local_us);
