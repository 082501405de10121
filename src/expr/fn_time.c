/* expr/fn_time.c: everything about dates, times, timestamps and intervals but casts.
 *
 * Idea       a time point of any type becomes microseconds (and nanoseconds below one) of local time, is worked on as civil time, and
 *            goes back to its own type. TIMESTAMP_LTZ passes through the session's zone, others have none.
 * Rules      adding months clamps the day; TIMESTAMPDIFF counts whole units toward zero; weeks of FLOOR start on Sunday, WEEK is ISO;
 *            text that is no timestamp gives NULL. The clock is the batch's now_us.                                */
#include "type/number.h"
#include "fn.h"
#include "fn_time.h"

/* ---- values ---- */
int64_t wr_time_us(wr_type t, const void *data, uint32_t row, const wr_tz *tz, bool local, int32_t *sub_nanos) {
    if (sub_nanos) *sub_nanos = 0;
    if (t.id == WR_T_DATE) return (int64_t)((uint64_t)(int64_t)((const int32_t *)data)[row] * (uint64_t)WR_US_PER_DAY);
    if (t.id == WR_T_TIME) return ((const int32_t *)data)[row] * INT64_C(1000);
    int64_t v = ((const int64_t *)data)[row];
    if (t.prec > 6) {
        if (sub_nanos) *sub_nanos = (int32_t)wr_floor_mod(v, 1000);
        v = wr_floor_div(v, 1000);
    }
    return t.id == WR_T_TIMESTAMP_LTZ && local ? wr_tz_to_local(tz, v) : v;
}

int64_t wr_time_ticks(wr_type t, int64_t us, int32_t sub_nanos) {
    static const int64_t units[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    if (t.prec <= 6) return us - wr_floor_mod(us, units[t.prec < 0 ? 0 : t.prec]);
    int64_t ns = (int64_t)((uint64_t)us * 1000u + (uint64_t)sub_nanos);
    return ns - wr_floor_mod(ns, t.prec == 7 ? 100 : t.prec == 8 ? 10 : 1);
}

static int64_t local_us(const wr_call *c, uint32_t k, uint32_t r, int32_t *nanos) {
    return wr_time_us(arg_type(c, k), c->arg[k].vec->data, r & c->arg[k].mask, c->tz, true, nanos);
}

/* Stores local time as the result's type. */
static void put_local(wr_call *c, uint32_t r, int64_t us, int32_t nanos) {
    wr_type t = c->out->type;
    if (t.id == WR_T_DATE) OUT(c, int32_t)[r] = (int32_t)wr_floor_div(us, WR_US_PER_DAY);
    else if (t.id == WR_T_TIME) OUT(c, int32_t)[r] = (int32_t)(wr_floor_mod(us, WR_US_PER_DAY) / 1000);
    else OUT(c, int64_t)[r] = wr_time_ticks(t, t.id == WR_T_TIMESTAMP_LTZ ? wr_tz_to_utc(c->tz, us) : us, nanos);
}

/* ---- units ---- */
static wr_time_unit unit_of(wr_str name) {
    static const struct { const char *name; wr_time_unit unit; } units[] = {
        {"YEAR", U_YEAR}, {"MONTH", U_MONTH}, {"DAY", U_DAY}, {"HOUR", U_HOUR}, {"MINUTE", U_MINUTE}, {"SECOND", U_SECOND}, {"WEEK", U_WEEK},
        {"QUARTER", U_QUARTER}, {"MILLISECOND", U_MILLISECOND}, {"MICROSECOND", U_MICROSECOND}, {"NANOSECOND", U_NANOSECOND}, {"DECADE", U_DECADE},
        {"CENTURY", U_CENTURY}, {"MILLENNIUM", U_MILLENNIUM}, {"DOW", U_DOW}, {"ISODOW", U_ISODOW}, {"DOY", U_DOY}, {"ISOYEAR", U_ISOYEAR},
        {"EPOCH", U_EPOCH}, {"DAYOFYEAR", U_DOY}, {"DAYOFMONTH", U_DAY}, {"DAYOFWEEK", U_DOW},
        {"SQL_TSI_YEAR", U_YEAR}, {"SQL_TSI_QUARTER", U_QUARTER}, {"SQL_TSI_MONTH", U_MONTH}, {"SQL_TSI_WEEK", U_WEEK}, {"SQL_TSI_DAY", U_DAY},
        {"SQL_TSI_HOUR", U_HOUR}, {"SQL_TSI_MINUTE", U_MINUTE}, {"SQL_TSI_SECOND", U_SECOND}, {"FRAC_SECOND", U_MICROSECOND},
    };
    for (size_t i = 0; i < WR_COUNT_OF(units); i++)
        if (wr_str_ieq(name, wr_str_of(units[i].name))) return units[i].unit;
    return U_NONE;
}

static bool take_unit(wr_resolve *r, uint32_t i, wr_time_unit *unit) {
    wr_str name;
    if (!res_const_str(r, i, &name)) return false;
    *unit = unit_of(name);
    return *unit != U_NONE || res_error(r, "42804", "'%.*s' is not a time unit: expected YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, ...", WR_FMT(name));
}

static int64_t unit_us(wr_time_unit u) { /* of units of fixed length, else 0 */
    switch (u) {
    case U_WEEK: return 7 * WR_US_PER_DAY;
    case U_DAY: return WR_US_PER_DAY;
    case U_HOUR: return 3600 * WR_US_PER_SECOND;
    case U_MINUTE: return 60 * WR_US_PER_SECOND;
    case U_SECOND: return WR_US_PER_SECOND;
    case U_MILLISECOND: return 1000;
    case U_MICROSECOND: return 1;
    default: return 0;
    }
}
static int32_t unit_months(wr_time_unit u) {
    switch (u) {
    case U_MONTH: return 1;
    case U_QUARTER: return 3;
    case U_YEAR: return 12;
    case U_DECADE: return 120;
    case U_CENTURY: return 1200;
    case U_MILLENNIUM: return 12000;
    default: return 0;
    }
}

/* ---- time + interval ---- */
static bool in_range(int64_t us) { return us >= -62135596800 * WR_US_PER_SECOND && us <= 253402300799 * WR_US_PER_SECOND + 999999; }

static wr_status add_us(wr_call *c) { /* interval DAY TO SECOND: an instant moves by a fixed length, whatever the zone */
    int64_t sign = c->impl->extra[0];
    wr_type t = arg_type(c, 0);
    if (t.id == c->out->type.id && (t.id == WR_T_TIMESTAMP || t.id == WR_T_TIMESTAMP_LTZ)) {
        uint64_t scale = t.prec > 6 ? 1000 : 1;
        const uint64_t *a = c->arg[0].vec->data, *b = c->arg[1].vec->data;
        uint64_t       *out = c->out->data, factor = scale * (uint64_t)sign;
        uint32_t        ma = c->arg[0].mask, mb = c->arg[1].mask;
        for (uint32_t i = 0; i < c->n; i++) out[i] = a[i & ma] + b[i & mb] * factor;
        return WR_OK;
    }
    for ROWS(c, r) {
        int64_t us = local_us(c, 0, r, NULL);
        put_local(c, r, (int64_t)((uint64_t)us + (uint64_t)(sign * ARG(c, 1, int64_t, r))), 0);
    }
    return WR_OK;
}

static wr_status add_months(wr_call *c) {
    int64_t sign = c->impl->extra[0];
    for ROWS(c, r) {
        int32_t nanos;
        int64_t us = local_us(c, 0, r, &nanos), months = sign * ARG(c, 1, int32_t, r);
        if (!in_range(us) || months > 240000 || months < -240000) return call_fail(c, r, "22008", "timestamp out of range");
        put_local(c, r, wr_us_add_months(us, (int32_t)months), nanos);
    }
    return WR_OK;
}

bool wr_res_time_add(wr_resolve *r, int sign) {
    wr_type t = r->args[0]->type, i = r->args[1]->type;
    t.attr = WR_TIME_NONE;
    r->extra[0] = sign;
    if (i.id == WR_T_INTERVAL_YM) {
        if (t.id == WR_T_TIME) return false;
        return res_set(r, t, add_months, 0);
    }
    const wr_expr *e = r->args[1];
    if (t.id == WR_T_DATE && !(e->kind == WR_E_CONST && (e->value.null || e->value.i % WR_US_PER_DAY == 0))) t = wr_type_prec(WR_T_TIMESTAMP, 3);
    bool fast = t.id == r->args[0]->type.id && (t.id == WR_T_TIMESTAMP || t.id == WR_T_TIMESTAMP_LTZ);
    return res_set(r, t, add_us, fast ? FN_DENSE : 0);
}

static wr_status sub_points(wr_call *c) {
    for ROWS(c, r) {
        bool ltz = arg_type(c, 0).id == WR_T_TIMESTAMP_LTZ; /* instants: no zone involved */
        int64_t a = wr_time_us(arg_type(c, 0), c->arg[0].vec->data, r & c->arg[0].mask, c->tz, !ltz, NULL);
        int64_t b = wr_time_us(arg_type(c, 1), c->arg[1].vec->data, r & c->arg[1].mask, c->tz, !ltz, NULL);
        OUT(c, int64_t)[r] = (int64_t)((uint64_t)a - (uint64_t)b);
    }
    return WR_OK;
}
bool wr_res_time_sub(wr_resolve *r) {
    wr_type a = r->args[0]->type, b = r->args[1]->type;
    if ((a.id == WR_T_TIME) != (b.id == WR_T_TIME)) return false;
    if (a.id == WR_T_TIMESTAMP_LTZ && b.id != a.id && !res_cast(r, 1, a)) return false;
    if (b.id == WR_T_TIMESTAMP_LTZ && a.id != b.id && !res_cast(r, 0, b)) return false;
    return res_set(r, wr_type_of(WR_T_INTERVAL_DS), sub_points, 0);
}

/* ---- fields ---- */
static int64_t iso_week(int64_t days, int64_t *iso_year) {
    int64_t thursday = days - wr_floor_mod(days + 3, 7) + 3; /* 1970-01-01 was a Thursday: (days + 3) mod 7 = 0 on Monday */
    int32_t y, m, d;
    wr_civil_from_days((int32_t)thursday, &y, &m, &d);
    if (iso_year) *iso_year = y;
    return (thursday - wr_days_from_civil(y, 1, 1)) / 7 + 1;
}

static int64_t field_of(wr_time_unit u, int64_t us, int32_t nanos, int64_t utc_us) {
    int64_t days = wr_floor_div(us, WR_US_PER_DAY), rest = us - days * WR_US_PER_DAY, iso_year;
    switch (u) { /* fields of the day need no calendar */
    case U_HOUR: return rest / (3600 * WR_US_PER_SECOND);
    case U_MINUTE: return rest / (60 * WR_US_PER_SECOND) % 60;
    case U_SECOND: return rest / WR_US_PER_SECOND % 60;
    case U_MILLISECOND: return rest % WR_US_PER_SECOND / 1000; /* within the second */
    case U_MICROSECOND: return rest % WR_US_PER_SECOND;
    case U_NANOSECOND: return rest % WR_US_PER_SECOND * 1000 + nanos;
    case U_DOW: return wr_floor_mod(days + 4, 7) + 1;
    case U_ISODOW: return wr_floor_mod(days + 3, 7) + 1;
    case U_EPOCH: return wr_floor_div(utc_us, WR_US_PER_SECOND);
    case U_WEEK: return iso_week(days, NULL);
    case U_ISOYEAR: return iso_week(days, &iso_year), iso_year;
    default: break;
    }
    int32_t y, m, d;
    wr_civil_from_days((int32_t)days, &y, &m, &d);
    switch (u) {
    case U_YEAR: return y;
    case U_QUARTER: return (m + 2) / 3;
    case U_MONTH: return m;
    case U_DAY: return d;
    case U_DOY: return days - wr_days_from_civil(y, 1, 1) + 1;
    case U_DECADE: return y / 10;
    case U_CENTURY: return (y + 99) / 100;
    case U_MILLENNIUM: return (y + 999) / 1000;
    default: return 0;
    }
}

static wr_status extract(wr_call *c) {
    wr_time_unit u = (wr_time_unit)c->impl->extra[0];
    wr_type      t = arg_type(c, 0);
    for ROWS(c, r) {
        int32_t nanos;
        int64_t us = local_us(c, 0, r, &nanos);
        int64_t utc = u == U_EPOCH && t.id == WR_T_TIMESTAMP_LTZ ? wr_time_us(t, c->arg[0].vec->data, r & c->arg[0].mask, NULL, false, NULL) : us;
        OUT(c, int64_t)[r] = field_of(u, us, nanos, utc);
    }
    return WR_OK;
}
static wr_status extract_interval(wr_call *c) {
    wr_time_unit u = (wr_time_unit)c->impl->extra[0];
    bool         ym = arg_type(c, 0).id == WR_T_INTERVAL_YM;
    for ROWS(c, r) {
        int64_t v = ym ? ARG(c, 0, int32_t, r) : ARG(c, 0, int64_t, r), x;
        switch (u) {
        case U_YEAR: x = v / 12; break;
        case U_QUARTER: x = v % 12 / 3 + 1; break;
        case U_MONTH: x = v % 12; break;
        case U_DAY: x = v / WR_US_PER_DAY; break;
        case U_HOUR: x = v % WR_US_PER_DAY / (3600 * WR_US_PER_SECOND); break;
        case U_MINUTE: x = v / (60 * WR_US_PER_SECOND) % 60; break;
        case U_SECOND: x = v / WR_US_PER_SECOND % 60; break;
        case U_MILLISECOND: x = v % (60 * WR_US_PER_SECOND) / 1000; break;
        case U_EPOCH: x = v / WR_US_PER_SECOND; break;
        default: x = 0;
        }
        OUT(c, int64_t)[r] = x;
    }
    return WR_OK;
}
static bool resolve_extract(wr_resolve *r, wr_time_unit u) {
    wr_type t = r->args[0]->type;
    r->extra[0] = u;
    if (t.id == WR_T_NULL && !res_cast(r, 0, wr_type_of(WR_T_DATE))) return false;
    t = r->args[0]->type;
    if (wr_type_is_string(t)) {
        if (!res_cast(r, 0, wr_type_prec(WR_T_TIMESTAMP, 3))) return false;
        t = r->args[0]->type;
    }
    if (t.id == WR_T_INTERVAL_YM || t.id == WR_T_INTERVAL_DS) return res_set(r, wr_type_of(WR_T_BIGINT), extract_interval, 0);
    if (!wr_type_is_time_point(t)) return false;
    if (t.id == WR_T_TIME && (u < U_HOUR || u > U_NANOSECOND)) return res_error(r, "42804", "a TIME has no such field: only HOUR, MINUTE, SECOND and parts of it");
    return res_set(r, wr_type_of(WR_T_BIGINT), extract, 0);
}
bool res_extract(wr_resolve *r) {
    wr_time_unit u;
    if (r->n != 2 || !take_unit(r, 0, &u)) return false;
    wr_expr *unit = r->args[0]; /* kept as last argument: it belongs to the expression's text */
    r->args[0] = r->args[1], r->args[1] = unit;
    return resolve_extract(r, u);
}
bool res_extract_unit(wr_resolve *r) { return r->n == 1 && resolve_extract(r, unit_of(wr_str_of(r->fn->name))); }

/* ---- FLOOR, CEIL ---- */
static int64_t floor_us(wr_time_unit u, int64_t us) {
    int64_t fixed = unit_us(u);
    if (u == U_WEEK) { /* Sunday */
        int64_t days = wr_floor_div(us, WR_US_PER_DAY);
        return (days - wr_floor_mod(days + 4, 7)) * WR_US_PER_DAY;
    }
    if (fixed) return us - wr_floor_mod(us, fixed);
    int32_t y, m, d;
    wr_civil_from_days((int32_t)wr_floor_div(us, WR_US_PER_DAY), &y, &m, &d);
    switch (u) {
    case U_QUARTER: m = (m - 1) / 3 * 3 + 1; break;
    case U_YEAR: m = 1; break;
    case U_DECADE: m = 1, y = y / 10 * 10; break;
    case U_CENTURY: m = 1, y = (y + 99) / 100 * 100 - 99; break;
    case U_MILLENNIUM: m = 1, y = (y + 999) / 1000 * 1000 - 999; break;
    default: break;
    }
    return wr_days_from_civil(y, m, 1) * WR_US_PER_DAY;
}
static wr_status floor_time(wr_call *c) {
    wr_time_unit u = (wr_time_unit)c->impl->extra[0];
    bool         up = c->impl->extra[1];
    for ROWS(c, r) {
        int32_t nanos;
        int64_t us = local_us(c, 0, r, &nanos);
        if (up && u <= U_WEEK) us -= wr_floor_mod(us, WR_US_PER_DAY), nanos = 0; /* calendar units look at the date only, as Flink */
        int64_t low = floor_us(u, us);
        if (up && (low != us || nanos)) low = unit_months(u) ? wr_us_add_months(low, unit_months(u)) : low + unit_us(u);
        put_local(c, r, low, 0);
    }
    return WR_OK;
}
bool wr_res_time_floor(wr_resolve *r, bool up) {
    wr_time_unit u;
    wr_type      t = r->args[0]->type;
    if (!wr_type_is_time_point(t) || !take_unit(r, 1, &u)) return false;
    if (u > U_MICROSECOND) return res_error(r, "42804", "FLOOR and CEIL take the units MILLENNIUM to MICROSECOND");
    t.attr = WR_TIME_NONE;
    r->extra[0] = u, r->extra[1] = up;
    return res_set(r, t, floor_time, 0);
}

/* ---- TIMESTAMPADD, TIMESTAMPDIFF ---- */
static wr_status timestampadd(wr_call *c) {
    wr_time_unit u = (wr_time_unit)c->impl->extra[0];
    int64_t      fixed = unit_us(u), months = unit_months(u), add;
    for ROWS(c, r) {
        int32_t nanos;
        int64_t n = ARG(c, 0, int64_t, r);
        int64_t us = fixed ? wr_time_us(arg_type(c, 1), c->arg[1].vec->data, r & c->arg[1].mask, c->tz, c->out->type.id != WR_T_TIMESTAMP_LTZ, &nanos)
                           : local_us(c, 1, r, &nanos);
        if (__builtin_mul_overflow(n, fixed ? fixed : months, &add) || (!fixed && (add > 240000 || add < -240000)) || !in_range(us))
            return call_fail(c, r, "22008", "timestamp out of range");
        if (!fixed) put_local(c, r, wr_us_add_months(us, (int32_t)add), nanos);
        else if (c->out->type.id == WR_T_TIMESTAMP_LTZ) OUT(c, int64_t)[r] = wr_time_ticks(c->out->type, (int64_t)((uint64_t)us + (uint64_t)add), nanos);
        else put_local(c, r, (int64_t)((uint64_t)us + (uint64_t)add), nanos);
    }
    return WR_OK;
}
bool res_timestampadd(wr_resolve *r) {
    wr_time_unit u;
    if (r->n != 3 || !take_unit(r, 0, &u)) return false;
    if (!unit_us(u) && !unit_months(u)) return res_error(r, "42804", "TIMESTAMPADD does not take this unit");
    if (!wr_type_is_integer(r->args[1]->type) && r->args[1]->type.id != WR_T_NULL) return false;
    if (wr_type_is_string(r->args[2]->type) && !res_cast(r, 2, wr_type_prec(WR_T_TIMESTAMP, 3))) return false;
    wr_type t = r->args[2]->type;
    if (!wr_type_is_time_point(t) || !res_cast(r, 1, wr_type_of(WR_T_BIGINT))) return false;
    if (t.id == WR_T_DATE && u >= U_HOUR) t = wr_type_prec(WR_T_TIMESTAMP, 3);
    t.attr = WR_TIME_NONE;
    r->extra[0] = u;
    wr_expr *unit = r->args[0];
    r->args[0] = r->args[1], r->args[1] = r->args[2], r->args[2] = unit;
    return res_set(r, t, timestampadd, 0);
}

/* From a to b, toward zero. A month is over on the same day of the next one, or on its last day: 31 January to 29 February is one. */
static int64_t whole_months(int64_t a, int64_t b) {
    if (b < a) return -whole_months(b, a);
    wr_civil x = wr_civil_from_us(a), y = wr_civil_from_us(b);
    int64_t  n = ((int64_t)y.year - x.year) * 12 + y.month - x.month;
    return n - (n > 0 && wr_us_add_months(a, (int32_t)n) > b);
}
static wr_status timestampdiff(wr_call *c) {
    wr_time_unit u = (wr_time_unit)c->impl->extra[0];
    int64_t      fixed = unit_us(u), months = unit_months(u);
    for ROWS(c, r) {
        bool    instants = fixed && arg_type(c, 0).id == WR_T_TIMESTAMP_LTZ && arg_type(c, 1).id == WR_T_TIMESTAMP_LTZ;
        int64_t a = wr_time_us(arg_type(c, 0), c->arg[0].vec->data, r & c->arg[0].mask, c->tz, !instants, NULL);
        int64_t b = wr_time_us(arg_type(c, 1), c->arg[1].vec->data, r & c->arg[1].mask, c->tz, !instants, NULL);
        OUT(c, int32_t)[r] = (int32_t)(fixed ? (int64_t)((uint64_t)b - (uint64_t)a) / fixed : whole_months(a, b) / months);
    }
    return WR_OK;
}
bool res_timestampdiff(wr_resolve *r) {
    wr_time_unit u;
    if (r->n != 3 || !take_unit(r, 0, &u)) return false;
    if (!unit_us(u) && !unit_months(u)) return res_error(r, "42804", "TIMESTAMPDIFF does not take this unit");
    for (uint32_t i = 1; i < 3; i++) {
        if ((wr_type_is_string(r->args[i]->type) || r->args[i]->type.id == WR_T_NULL) && !res_cast(r, i, wr_type_prec(WR_T_TIMESTAMP, 3))) return false;
        if (!wr_type_is_time_point(r->args[i]->type)) return false;
    }
    r->extra[0] = u;
    wr_expr *unit = r->args[0];
    r->args[0] = r->args[1], r->args[1] = r->args[2], r->args[2] = unit;
    return res_set(r, wr_type_of(WR_T_INT), timestampdiff, 0);
}

/* ---- the clock ---- */
static wr_status now_kernel(wr_call *c) {
    wr_type t = c->out->type;
    int64_t local = wr_tz_to_local(c->tz, c->now_us);
    for ROWS(c, r) {
        if (t.id == WR_T_TIME) OUT(c, int32_t)[r] = (int32_t)(wr_floor_mod(local, WR_US_PER_DAY) / WR_US_PER_SECOND * 1000);
        else if (t.id == WR_T_TIMESTAMP_LTZ) OUT(c, int64_t)[r] = wr_time_ticks(t, c->now_us, 0);
        else put_local(c, r, local, 0);
    }
    return WR_OK;
}
bool res_now(wr_resolve *r) {
    const char *name = r->fn->name;
    if (r->n > 1) return false;
    r->n = 0; /* an optional precision is accepted and not used */
    wr_type t = wr_type_prec(WR_T_TIMESTAMP_LTZ, 3);
    if (strcmp(name, "CURRENT_DATE") == 0) t = wr_type_of(WR_T_DATE);
    else if (strcmp(name, "CURRENT_TIME") == 0 || strcmp(name, "LOCALTIME") == 0) t = wr_type_prec(WR_T_TIME, 0);
    else if (strcmp(name, "LOCALTIMESTAMP") == 0) t = wr_type_prec(WR_T_TIMESTAMP, 3);
    else if (strcmp(name, "PROCTIME") == 0) t.attr = WR_TIME_PROCTIME;
    return res_set(r, t, now_kernel, FN_NOT_NULL);
}

/* ---- text ---- */
static bool text_to_us(const wr_call *c, wr_str text, bool has_pattern, wr_str pattern, int64_t *us, int32_t *nanos, bool *zoned) {
    (void)c;
    *nanos = 0, *zoned = false;
    return has_pattern ? wr_parse_pattern(text, pattern, us) : wr_parse_timestamp(wr_str_trim(text), us, nanos, zoned);
}
static wr_status unix_timestamp(wr_call *c) {
    for ROWS(c, r) {
        int64_t us = c->now_us;
        int32_t nanos;
        bool    zoned = true;
        if (c->n_args && !text_to_us(c, arg_str(c, 0, r), c->n_args > 1, c->n_args > 1 ? arg_str(c, 1, r) : (wr_str){0}, &us, &nanos, &zoned)) {
            OUT(c, int64_t)[r] = INT64_MIN; /* as Flink */
            continue;
        }
        if (!zoned) { /* when clocks go back the later of both instants, as java.util.TimeZone */
            int64_t utc = wr_tz_to_utc(c->tz, us), later = utc + 3600 * WR_US_PER_SECOND;
            us = wr_tz_to_local(c->tz, later) == us ? later : utc;
        }
        OUT(c, int64_t)[r] = wr_floor_div(us, WR_US_PER_SECOND);
    }
    return WR_OK;
}
static bool text_args(wr_resolve *r, uint32_t from) {
    for (uint32_t i = from; i < r->n; i++) {
        if (r->args[i]->type.id == WR_T_NULL && !res_cast(r, i, wr_type_string())) return false;
        if (!wr_type_is_string(r->args[i]->type)) return false;
    }
    return true;
}
bool res_unix_timestamp(wr_resolve *r) {
    if (r->n > 2 || !text_args(r, 0)) return false;
    return res_set(r, wr_type_of(WR_T_BIGINT), unix_timestamp, r->n ? 0 : FN_QUERY_TIME);
}
static void put_pattern(wr_call *c, uint32_t r, int64_t us, int32_t nanos, wr_str pattern, wr_sbuf *buf) {
    wr_sbuf_clear(buf);
    if (wr_format_pattern(us, nanos, pattern, NULL, buf)) {
        wr_str s = wr_sbuf_str(buf);
        call_put(c, r, s.ptr, s.len);
    } else {
        call_null(c, r);
    }
}
wr_status fn_from_unixtime(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        int64_t s = ARG(c, 0, int64_t, r);
        if (s < -62135596800 || s > 253402300799) {
            call_null(c, r);
            continue;
        }
        put_pattern(c, r, wr_tz_to_local(c->tz, s * WR_US_PER_SECOND), 0, c->n_args > 1 ? arg_str(c, 1, r) : WR_STR("yyyy-MM-dd HH:mm:ss"), &buf);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
wr_status fn_to_date(wr_call *c) {
    for ROWS(c, r) {
        wr_str  s = arg_str(c, 0, r);
        int64_t us = 0;
        int32_t days = 0, nanos;
        bool    zoned;
        if (c->n_args == 1 && wr_parse_date(wr_str_trim(s), &days)) OUT(c, int32_t)[r] = days;
        else if (text_to_us(c, s, c->n_args > 1, c->n_args > 1 ? arg_str(c, 1, r) : (wr_str){0}, &us, &nanos, &zoned)) OUT(c, int32_t)[r] = (int32_t)wr_floor_div(us, WR_US_PER_DAY);
        else OUT(c, int32_t)[r] = 0, call_null(c, r);
    }
    return WR_OK;
}
/* yyyy-MM-dd[ HH:mm:ss[.fraction]], with fewer digits where they are not needed. */
static bool is_default_timestamp(wr_str s) {
    static const char seps[] = "-- ::";
    size_t i = 0, from = 0;
    for (int field = 0; field < 6; field++) {
        for (from = i; i < s.len && ch_digit((unsigned char)s.ptr[i]); i++) continue;
        if (i == from) return false;
        if (field == 2 && i == s.len) return true;
        if (field < 5 && (i == s.len || s.ptr[i++] != seps[field])) return false;
    }
    if (i < s.len && s.ptr[i] == '.') for (i++; i < s.len && ch_digit((unsigned char)s.ptr[i]);) i++;
    return i == s.len;
}
static wr_status to_timestamp(wr_call *c) {
    for ROWS(c, r) {
        int64_t us = 0;
        int32_t nanos;
        bool    zoned;
        bool    ok = c->n_args > 1 || is_default_timestamp(arg_str(c, 0, r));
        if (ok && text_to_us(c, arg_str(c, 0, r), c->n_args > 1, c->n_args > 1 ? arg_str(c, 1, r) : (wr_str){0}, &us, &nanos, &zoned))
            OUT(c, int64_t)[r] = wr_time_ticks(c->out->type, us, nanos);
        else OUT(c, int64_t)[r] = 0, call_null(c, r);
    }
    return WR_OK;
}
bool res_to_timestamp(wr_resolve *r) {
    if (r->n < 1 || r->n > 2 || !text_args(r, 0)) return false;
    return res_set(r, wr_type_prec(WR_T_TIMESTAMP, 3), to_timestamp, 0);
}

typedef struct wr_zone_cache { char name[64]; const wr_tz *tz; bool ok; } wr_zone_cache;
static void zone_free(void *p) { wr_free(p); }
/* A zone by name, remembered while the name stays the same. */
static bool zone_of(wr_call *c, uint32_t slot, wr_str name, const wr_tz **tz) {
    if (!*c->state) *c->state = wr_calloc(2, sizeof(wr_zone_cache)), *c->state_free = zone_free;
    wr_zone_cache *z = (wr_zone_cache *)*c->state + slot;
    if (name.len >= sizeof z->name || name.len == 0) return false;
    if (!wr_str_eq(wr_str_of(z->name), name)) {
        wr_err err;
        memcpy(z->name, name.ptr, name.len), z->name[name.len] = 0;
        z->ok = c->world && wr_tz_load(c->world, name, &z->tz, &err) == WR_OK;
    }
    *tz = z->tz;
    return z->ok;
}

static wr_status ltz_of_number(wr_call *c) {
    int64_t unit = c->impl->extra[0];
    bool    is_double = arg_type(c, 0).id == WR_T_DOUBLE;
    for ROWS(c, r) {
        double  d = is_double ? ARG(c, 0, double, r) * (double)unit : 0;
        int64_t us = 0;
        bool    ok = is_double ? d > -9e18 && d < 9e18 : !__builtin_mul_overflow(ARG(c, 0, int64_t, r), unit, &us);
        if (is_double && ok) us = (int64_t)d;
        if (ok && in_range(us)) OUT(c, int64_t)[r] = wr_time_ticks(c->out->type, us, 0);
        else OUT(c, int64_t)[r] = 0, call_null(c, r);
    }
    return WR_OK;
}
static wr_status ltz_of_text(wr_call *c) {
    for ROWS(c, r) {
        int64_t us = 0;
        int32_t nanos;
        bool    zoned;
        const wr_tz *tz = NULL; /* without a zone argument: UTC, as Flink */
        bool ok = text_to_us(c, arg_str(c, 0, r), c->n_args > 1, c->n_args > 1 ? arg_str(c, 1, r) : (wr_str){0}, &us, &nanos, &zoned);
        if (ok && c->n_args > 2) ok = zone_of(c, 0, arg_str(c, 2, r), &tz);
        if (ok) OUT(c, int64_t)[r] = wr_time_ticks(c->out->type, zoned ? us : wr_tz_to_utc(tz, us), nanos);
        else OUT(c, int64_t)[r] = 0, call_null(c, r);
    }
    return WR_OK;
}
bool res_to_timestamp_ltz(wr_resolve *r) {
    wr_type t = wr_type_prec(WR_T_TIMESTAMP_LTZ, 3);
    if (r->n < 1 || r->n > 3) return false;
    if (wr_type_is_string(r->args[0]->type)) return text_args(r, 0) && res_set(r, t, ltz_of_text, 0);
    if (r->n > 2 || (!wr_type_is_numeric(r->args[0]->type) && r->args[0]->type.id != WR_T_NULL)) return false;
    int64_t prec = 3;
    if (r->n == 2) {
        const wr_expr *p = r->args[1];
        if (p->kind != WR_E_CONST || p->value.null || !wr_type_is_integer(p->type)) return res_error(r, "42804", "the precision of TO_TIMESTAMP_LTZ must be the constant 0 or 3");
        prec = p->value.i;
    }
    if (prec != 0 && prec != 3) return res_error(r, "42804", "the precision of TO_TIMESTAMP_LTZ must be 0 (seconds) or 3 (milliseconds), not %lld", (long long)prec);
    r->extra[0] = prec == 0 ? WR_US_PER_SECOND : 1000;
    bool whole = wr_type_is_integer(r->args[0]->type) || r->args[0]->type.id == WR_T_NULL;
    if (!res_cast(r, 0, wr_type_of(whole ? WR_T_BIGINT : WR_T_DOUBLE))) return false;
    return res_set(r, t, ltz_of_number, 0);
}

/* The usual patterns (yyyy MM dd HH mm ss and up to six S, with signs between) become a list of fields of fixed width: the
 * date part is made once a day, so that a row costs a copy and a few digits. Anything else goes to wr_format_pattern. */
enum { FORMAT_FIELDS_MAX = 24 };
typedef struct wr_fast_format { uint32_t n, len; struct { char kind; uint8_t width, at; } field[FORMAT_FIELDS_MAX]; char text[FORMAT_FIELDS_MAX * 4]; } wr_fast_format;
static bool fast_format(wr_str p, wr_fast_format *f) {
    f->n = f->len = 0;
    for (size_t i = 0; i < p.len;) {
        char   ch = p.ptr[i];
        size_t w = 1;
        while (i + w < p.len && p.ptr[i + w] == ch) w++;
        bool letter = ch_alpha((unsigned char)ch);
        if (f->n == FORMAT_FIELDS_MAX || ch == '\'' || ch == '[' || ch == ']' || ch == '{' || ch == '}' || ch == '#' || (unsigned char)ch >= 0x80) return false;
        if (letter && !(ch == 'y' ? w == 4 : ch == 'S' ? w <= 6 : strchr("MdHms", ch) && w == 2)) return false;
        if (f->len + w > sizeof f->text) return false;
        f->field[f->n].kind = letter ? ch : 0, f->field[f->n].width = (uint8_t)w, f->field[f->n++].at = (uint8_t)f->len;
        memset(f->text + f->len, ch, w);
        f->len += (uint32_t)w;
        i += w;
    }
    return true;
}
static void put_digits(char *at, uint32_t v, uint32_t width) {
    for (; width > 0; v /= 10) at[--width] = (char)('0' + v % 10);
}
static void format_fields(wr_fast_format *f, bool date, const wr_civil *v) {
    for (uint32_t i = 0; i < f->n; i++) {
        char    *at = f->text + f->field[i].at;
        uint32_t w = f->field[i].width, us = (uint32_t)v->nano / 1000;
        switch (f->field[i].kind) {
        case 'y': if (date) put_digits(at, (uint32_t)v->year, w); break;
        case 'M': if (date) put_digits(at, (uint32_t)v->month, w); break;
        case 'd': if (date) put_digits(at, (uint32_t)v->day, w); break;
        case 'H': put_digits(at, (uint32_t)v->hour, w); break;
        case 'm': put_digits(at, (uint32_t)v->minute, w); break;
        case 's': put_digits(at, (uint32_t)v->second, w); break;
        case 'S':
            for (uint32_t k = w; k < 6; k++) us /= 10;
            put_digits(at, us, w);
            break;
        default: break;
        }
    }
}
static bool date_format_fast(wr_call *c) {
    wr_fast_format f;
    int64_t        day = INT64_MIN;
    if (!arg_const(c, 1) || c->n_rows == 0 || !fast_format(arg_str(c, 1, 0), &f)) return false;
    for ROWS(c, r) {
        int64_t us = local_us(c, 0, r, NULL);
        if (!in_range(us)) {
            call_null(c, r);
            continue;
        }
        int64_t  d = wr_floor_div(us, WR_US_PER_DAY), rest = us - d * WR_US_PER_DAY, second = rest / WR_US_PER_SECOND;
        wr_civil v = {.hour = (int32_t)(second / 3600), .minute = (int32_t)(second / 60 % 60), .second = (int32_t)(second % 60), .nano = (int32_t)(rest % WR_US_PER_SECOND) * 1000};
        if (d != day) wr_civil_from_days((int32_t)d, &v.year, &v.month, &v.day);
        format_fields(&f, d != day, &v);
        day = d;
        call_put(c, r, f.text, f.len);
    }
    return true;
}
static wr_status date_format(wr_call *c) {
    if (date_format_fast(c)) return WR_OK;
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        int32_t nanos;
        int64_t us = local_us(c, 0, r, &nanos);
        if (in_range(us)) put_pattern(c, r, us, nanos, arg_str(c, 1, r), &buf);
        else call_null(c, r);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
bool res_date_format(wr_resolve *r) {
    if (r->n != 2 || !text_args(r, 1)) return false;
    if (wr_type_is_string(r->args[0]->type) || r->args[0]->type.id == WR_T_NULL) {
        r->args[0] = wr_expr_calln(r->ctx, "TO_TIMESTAMP", r->at, 1, r->args[0]);
        if (!r->args[0]) return r->reported = true, false;
    }
    wr_type t = r->args[0]->type;
    if (!wr_type_is_time_point(t)) return false;
    return res_set(r, wr_type_string(), date_format, 0);
}

/* Of the two instants of a time that comes twice, the later: standard time, as java.util.TimeZone. */
static int64_t to_utc_late(const wr_tz *tz, int64_t local_us) {
    int64_t us = wr_tz_to_utc(tz, local_us), next = us + 3 * 3600 * WR_US_PER_SECOND, late = local_us - (wr_tz_to_local(tz, next) - next);
    return late > us && wr_tz_to_local(tz, late) == local_us ? late : us;
}
wr_status fn_convert_tz(wr_call *c) {
    wr_sbuf buf = {0};
    for ROWS(c, r) {
        int64_t us;
        int32_t nanos;
        bool    zoned;
        const wr_tz *from, *to;
        if (!wr_parse_timestamp(wr_str_trim(arg_str(c, 0, r)), &us, &nanos, &zoned) || !zone_of(c, 0, arg_str(c, 1, r), &from) || !zone_of(c, 1, arg_str(c, 2, r), &to)) {
            call_null(c, r);
            continue;
        }
        put_pattern(c, r, wr_tz_to_local(to, zoned ? us : to_utc_late(from, us)), nanos, WR_STR("yyyy-MM-dd HH:mm:ss"), &buf);
    }
    wr_sbuf_free(&buf);
    return WR_OK;
}
