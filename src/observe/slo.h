/* observe/slo.h: what is promised of tables, and whether it is kept: values, breaches, burn rates, what is left of the error budget. (contract)
 *
 * Idea       each promise has a number now (freshness: event time behind the clock; latency: a percentile over the last minute; lag: what is there and not
 *            read; completeness: the share of the rows read that the ledger did not lose) and a count of what was good and bad, in minutes for the short
 *            windows and in hours for the error budget. Time is what is counted, as much as was looked at; for completeness it is rows.
 * Alerts     breach: the value is not kept for 'slo.for' (completeness: in one window). page, ticket: the budget is burnt 14.4 times as fast as it may be over
 *            5 min and 1 h, or 6 times over 30 min and 6 h; both windows, so that it is serious, and not over.
 * Memory     a minute or an hour is 24 bytes: 360 and up to 2,161 of them for a promise; nothing grows.
 * Restart    wr_slos_save gives text that wr_slos_load takes; what was counted before stays, time in between is not counted.
 * Errors     WR420: a line of the file. WR421: a table that the job does not have.
 * Thread     one at a time: serve/ has its lock around it.                                                                           */
#pragma once
#include "connect/connect.h"
#include "observe/observe.h"

typedef enum wr_slo_alert { WR_SLO_FINE, WR_SLO_BREACH, WR_SLO_TICKET, WR_SLO_PAGE } wr_slo_alert; /* the worst that holds */
const char *wr_slo_alert_name(wr_slo_alert alert);
enum { WR_SLO_WINDOWS = 4 };                                /* 5 min, 30 min, 1 h, 6 h */
extern const char *const wr_slo_window_names[WR_SLO_WINDOWS];

typedef struct wr_slo_state {
    const wr_pnode *node;                  /* the sink, or the source */
    wr_str          table;
    wr_slo_target   target;
    double          objective;             /* of completeness: its limit */
    int64_t         window_us;
    double          value;                 /* microseconds, messages or bytes, share */
    bool            known, kept;           /* there is a value; it keeps the promise */
    wr_slo_alert    alert;
    double          burn[WR_SLO_WINDOWS];  /* 1: just what the objective allows; -1: nothing was counted */
    double          budget_left;           /* of the window, 1: all; below 0: overdrawn */
    int64_t         since_us;              /* wall clock: counted since then */
} wr_slo_state;

/* Promises in a file: TABLE.slo.NAME = VALUE, a line each; # begins a comment. */
typedef struct wr_slo_file wr_slo_file;
wr_status    wr_slo_file_read(wr_str text, const char *name, wr_slo_file **out, wr_err *err);
void         wr_slo_file_free(wr_slo_file *file);           /* NULL is legal */
/* Are all tables of it in one of these jobs? */
wr_status    wr_slo_file_check(const wr_slo_file *file, const wr_job_plan *const *plans, uint32_t n, wr_err *err);

typedef struct wr_slos wr_slos;
wr_slos     *wr_slos_new(const wr_job_plan *plan, const wr_slo_file *file); /* of the tables' options and the file (NULL: none), which wins */
void         wr_slos_free(wr_slos *slos);                   /* NULL is legal */
void         wr_slos_see(wr_slos *slos, const wr_job_status *s, const wr_observer *o, bool last); /* last: the job ends: windows are closed */
uint32_t     wr_slos_count(const wr_slos *slos);
const wr_slo_state *wr_slos_at(const wr_slos *slos, uint32_t i);
void         wr_slo_value_text(const wr_slo_target *target, double value, wr_sbuf *out); /* "1.5 s", "99.95 %" */
void         wr_slos_text(const wr_slos *slos, wr_sbuf *out);
void         wr_slos_json(const wr_slos *slos, wr_sbuf *out);
void         wr_slos_save(const wr_slos *slos, wr_sbuf *out);
void         wr_slos_load(wr_slos *slos, wr_str text);      /* what cannot be read counts for nothing */
