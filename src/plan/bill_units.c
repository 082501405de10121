/* plan/bill_units.c: how many keys and rows an operator keeps as time passes, and what that comes to in bytes. See bill.h.
 *
 * Keys       drawn again and again from K equally likely ones, n rows bring K (1 - e^(-n/K)) distinct ones; K is fitted to the sample. Real keys are
 *            not equally likely, so their number goes on growing, at best as a power of the rows (Heaps). If the first does not explain what half
 *            of the sample had, the answer lies between the two: their geometric mean.
 * Thread     any.                                                                                                            */
#include "plan/logical.h"
#include <math.h>

static double drawn(double total, double rows) { return isinf(total) ? rows : total * -expm1(-rows / total); }

/* The K for which so many rows bring so many distinct keys. */
double pl_fit_total(double rows, double keys) {
    if (keys <= 0) return 0;
    if (keys >= rows * 0.985) return INFINITY; /* within the error of the count: each row brings a new one */
    double low = keys, high = keys * 2;
    while (drawn(high, rows) < keys && high < 1e18) high *= 2;
    for (int i = 0; i < 80; i++) {
        double mid = (low + high) / 2;
        if (drawn(mid, rows) < keys) low = mid;
        else high = mid;
    }
    return high;
}

/* power: 0 when K alone explains half of the sample. */
double pl_fit_power(double total, double rows, double keys, double half_rows, double half_keys) {
    if (half_rows <= 0 || half_keys <= 0 || half_rows >= rows || keys <= half_keys) return 0;
    if (isinf(total) || fabs(drawn(total, half_rows) / half_keys - 1) < 0.04) return 0;
    return WR_MIN(log(keys / half_keys) / log(rows / half_rows), 1.0);
}

double pl_units_of_rows(const wr_units *u, double rows) {
    if (u->total < 0) return -1;
    double uniform = drawn(u->total, rows), base = drawn(u->total, u->seen);
    if (u->now > 0 && base > 0) uniform *= u->now / base;
    if (u->power <= 0 || u->seen <= 0) return uniform;
    return sqrt(uniform * (u->now * pow(rows / u->seen, u->power)));
}

/* Units after so long, counted from when what is there now has been read. */
double pl_units(const wr_units *u, double after_us) {
    double rows = u->rate * after_us / 1e6;
    switch (u->kind) {
    case WR_UNITS_UNKNOWN: return -1;
    case WR_UNITS_FIXED: return u->now;
    case WR_UNITS_ROWS: return u->now + rows;
    case WR_UNITS_KEYS:
        if (u->seen <= 0 && !isinf(u->total)) return WR_MIN(u->total, rows); /* declared: as if each row brought one until all are there */
        return pl_units_of_rows(u, u->seen + rows);
    case WR_UNITS_SPAN:
        if (after_us <= 0) return u->now;
        if (u->steady < 0) return -1;
        if (u->span_us <= 0 || after_us >= u->span_us) return u->steady;
        return u->now + (u->steady - u->now) * after_us / u->span_us;
    }
    return -1;
}

static double units_at_last(const wr_units *u) {
    switch (u->kind) {
    case WR_UNITS_UNKNOWN: return -1;
    case WR_UNITS_FIXED: return u->now;
    case WR_UNITS_ROWS: return u->rate > 0 ? INFINITY : u->now;
    case WR_UNITS_KEYS: return u->total < 0 ? -1 : u->power > 0 ? INFINITY : isinf(u->total) ? INFINITY : u->total;
    case WR_UNITS_SPAN: return u->steady;
    }
    return -1;
}

double wr_bill_bytes(const wr_pnode *n, double after_us) {
    double sum = 0;
    for (uint32_t i = 0; i < n->bill.n_parts; i++) {
        const wr_bill_part *p = &n->bill.parts[i];
        double              units = pl_units(&p->units, after_us);
        if (units < 0) return -1;
        sum += units * (after_us <= 0 && p->bytes_now > 0 ? p->bytes_now : p->bytes);
    }
    return sum;
}

/* All of it as the tier's files have it, before they are compressed. -1: not known. */
double pl_bill_disk(const wr_pnode *n, double after_us) {
    enum { ENTRY = 2 + 2 + 8 + 8 + 3 }; /* table, group and hash before the key; RocksDB's sequence number; a block's hash index and the filter */
    double sum = 0;
    for (uint32_t i = 0; i < n->bill.n_parts; i++) {
        const wr_bill_part *p = &n->bill.parts[i];
        double              units = pl_units(&p->units, after_us);
        if (units < 0) return -1;
        if (p->saved_bytes > 0) sum += units * (p->saved_bytes + (p->is_key ? ENTRY : 0));
    }
    return sum;
}

/* Of that, what is there more than once because a join is split. -1: not known. */
double pl_bill_copies(const wr_pnode *n, double after_us) {
    double sum = 0;
    for (uint32_t i = 0; i < n->bill.n_parts; i++) {
        const wr_bill_part *p = &n->bill.parts[i];
        double              units = pl_units(&p->units, after_us);
        if (p->copies == 0 || (p->copies > 1 && units < 0)) return -1;
        if (p->copies > 1) sum += units * (after_us <= 0 && p->bytes_now > 0 ? p->bytes_now : p->bytes) * (1 - 1 / p->copies);
    }
    return sum;
}

double wr_bill_steady(const wr_pnode *n) {
    double sum = 0;
    for (uint32_t i = 0; i < n->bill.n_parts; i++) {
        const wr_bill_part *p = &n->bill.parts[i];
        double              units = units_at_last(&p->units);
        if (units < 0) return -1;
        if (p->bytes > 0 && units > 0) sum += units * p->bytes;
    }
    return sum;
}

/* Bytes of a checkpoint: all of it, and what changes within an interval. -1: not known. */
void pl_bill_checkpoint(const wr_pnode *n, double after_us, double interval_us, double *full, double *changed) {
    *full = *changed = 0;
    for (uint32_t i = 0; i < n->bill.n_parts; i++) {
        const wr_bill_part *p = &n->bill.parts[i];
        double              units = pl_units(&p->units, after_us), rows = p->units.rate * interval_us / 1e6;
        if (units < 0) {
            *full = *changed = -1;
            return;
        }
        *full += units * p->saved_bytes;
        *changed += (p->is_key ? drawn(WR_MAX(units, 1.0), rows) : WR_MIN(rows, units)) * p->saved_bytes;
    }
}

static double total_at(const wr_job_plan *job, double after_us) {
    double sum = 0;
    for (uint32_t i = 0; i < job->nodes.n; i++) sum += WR_MAX(wr_bill_bytes(job->nodes.at[i], after_us), 0.0);
    return sum;
}

/* When state and base pass the budget: INFINITY = not within ten years. Parts that are not known do not count. */
double pl_bill_passes_us(const wr_job_plan *job, double budget_bytes, double base_bytes) {
    double low = 0, high = 3653 * 86400e6;
    if (total_at(job, 0) + base_bytes > budget_bytes) return 0;
    if (total_at(job, high) + base_bytes <= budget_bytes) return INFINITY;
    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;
        if (total_at(job, mid) + base_bytes > budget_bytes) high = mid;
        else low = mid;
    }
    return high;
}
