/* api/audit.h: is what a job published what its log says? A closed period is computed again from the retained log, compared with what stands in the outputs,
 * and each difference is explained: `weir audit`.
 *
 * Idea       the script's own plan runs over the script's own sources, its sinks' rows going to the comparison instead of the tables. First as the job ran: rows
 *            that were late then are late again, since lateness is a property of the row. If any were, or if state was forgotten (TTL), once more with
 *            watermarks so far behind that nobody is late, and nothing forgotten: that is the truth. The tables are read back by their connectors.
 *            What differs from the truth is put down to: late or expired, if the run as the job ran differs in the same way; else to a function that gives
 *            other values each time; else the row was never published, published twice, never in the log, or changed.
 * Period     by an output's time column: [from, to). Sources are read from as far before as windows, joins and aggregations need; how far, and for what, is in the
 *            report. An output without such a column is compared as a whole.
 * Memory     the sides are sorted through files (pile.h): within the session's budget whatever their size. Only differences that are shown are kept.
 * Thread     one; wr_session_stop ends it.                                                                              */
#pragma once
#include "api/session.h"

typedef enum wr_audit_reason {
    WR_AUDIT_LATE,              /* a row came behind the watermark */
    WR_AUDIT_EXPIRED,           /* state was forgotten (TTL) */
    WR_AUDIT_SHED,              /* the source may have left rows out under overload */
    WR_AUDIT_NOT_PUBLISHED,     /* the log has it, the job as it ran computes it, and it is not there */
    WR_AUDIT_REFUSED,           /* the output's other end refused it: it is a dead letter */
    WR_AUDIT_DUPLICATE,         /* published more often than computed */
    WR_AUDIT_ORPHAN,            /* published, and nothing in the log gives it */
    WR_AUDIT_CHANGED,           /* there, with other values */
    WR_AUDIT_NOT_DETERMINISTIC, /* RAND(), NOW(), processing time, a table that was asked ... */
    WR_AUDIT_REASONS
} wr_audit_reason;
const char *wr_audit_reason_name(wr_audit_reason reason); /* "late", "not-published" */

typedef enum wr_audit_kind { WR_AUDIT_MISSING, WR_AUDIT_EXTRA, WR_AUDIT_DIFFERENT, WR_AUDIT_KINDS } wr_audit_kind;
const char *wr_audit_kind_name(wr_audit_kind kind);

typedef struct wr_audit_row {   /* of a source: a row that was late, a record that was refused; of a join: a row without a partner */
    wr_str   table, partition;
    int64_t  offset, line;      /* -1: not known */
    int64_t  ts_us;             /* event time; refused: the latest one before it; WR_TIME_MIN: none */
    int64_t  behind_us;         /* late: behind its partition's watermark */
    wr_str   row;               /* late, unmatched: its columns as JSON; refused: its bytes */
    wr_str   code, reason;      /* refused; unmatched: in words */
    uint64_t number;            /* refused: it is the so-many-th of the audit, from 1 */
} wr_audit_row;
typedef WR_ARR(wr_audit_row) wr_audit_rows;

typedef struct wr_audit_diff {
    wr_audit_kind   kind;
    wr_audit_reason reason;
    wr_str key, expected, published; /* JSON objects; ptr NULL: there is none */
    uint64_t count;             /* so many equal rows of an output without key */
    wr_str because;             /* a sentence */
    uint64_t n_late;            /* late rows that belong to it, by its columns; the first ones: */
    wr_audit_rows late;
} wr_audit_diff;

typedef struct wr_audit_output {
    wr_str   name, connector;
    wr_str   time_column;       /* ptr NULL: compared as a whole */
    bool     by_key;
    wr_str   unreadable;        /* why it cannot be read back; ptr NULL: it can */
    uint64_t expected, published, equal;
    uint64_t kinds[WR_AUDIT_KINDS], reasons[WR_AUDIT_REASONS];
    WR_ARR(wr_audit_diff) diffs; /* the first `limit` */
} wr_audit_output;

typedef struct wr_audit_read { wr_str table; int64_t from_us, to_us; /* WR_TIME_MIN, WR_TIME_MAX: all; with rows of the log: */ wr_str why; } wr_audit_read;

typedef struct wr_audit_report {
    wr_arena *arena;            /* owns the rest; wr_arena_free */
    wr_str    from, to;         /* as given; ptr NULL: no period */
    int64_t   from_us, to_us;
    bool      equal;            /* no output that could be read differs, but for reasons that were accepted */
    uint32_t  n_unreadable;
    WR_ARR(wr_audit_output) outputs;
    WR_ARR(wr_audit_read) reads;
    WR_ARR(wr_str) notes;
    uint64_t  dropped[WR_REASON_COUNT]; /* by all operators, in the truth's run; BEFORE_START: outside what was to be read */
    uint64_t  n_late, n_refused, n_unmatched; /* rows of the log in the period: the first `limit` of each */
    wr_audit_rows late, refused, unmatched;
    uint32_t  runs;
    uint64_t  rows_read;        /* by the first run */
    int64_t   took_us;
} wr_audit_report;

typedef struct wr_audit_opts {
    const char *from, *to;      /* both NULL: everything, to the end of the log */
    const char *outputs;        /* names with commas; NULL: all */
    bool        only_timed;     /* outputs without a time column are left out, with a note, where a period is given */
    const char *time_column;    /* NULL: found by the plan */
    uint32_t    accepted;       /* bits by reason: such differences are shown and counted, and leave the report equal */
    uint32_t    limit;          /* of differences of an output, and of late, refused and unmatched rows, that are kept */
    void      (*say)(void *arg, wr_str line); /* what happens now; may be NULL */
    void       *arg;
} wr_audit_opts;

/* After wr_session_plan. WR_USER: what was asked for cannot be done (no time column, an input without an end, a log that does not reach back far enough).
 * A difference is WR_OK with report->equal == false. */
wr_status wr_session_audit(wr_session *session, const wr_audit_opts *opts, wr_audit_report *report, wr_err *err);
void      wr_audit_json(const wr_audit_report *report, wr_sbuf *out); /* one object */
