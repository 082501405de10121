/* api/audit_parts.h: the parts of an audit, shared by audit*.c.                                                     */
#pragma once
#include "api/audit.h"
#include "api/internal.h"
#include "api/pile.h"

/* ---- audit_plan.c: what the plan says ---- */
typedef enum audit_window { AUDIT_NO_WINDOW, AUDIT_WINDOW_START, AUDIT_WINDOW_END } audit_window; /* END: window_time, too */
enum { AUDIT_KEY_WINDOW = UINT16_MAX };
typedef struct audit_col {
    uint32_t     n_ids;
    const uint32_t *ids;        /* source node << 16 | output column of it, whose value this one is, as it stands */
    audit_window window;
    bool         session;       /* of a session window: it has no size */
    int64_t      size_us;       /* of the window */
    int64_t      least_us;      /* of the shortest window that begins with this one: CUMULATE's step */
    bool         event_time;
    uint32_t     key_of, key_no; /* it is that key, from 1, of the aggregation with this index + 1, whose rows come on one by one; 0: of none. AUDIT_KEY_WINDOW: its window */
    const char  *unsteady;      /* why its value is another one each time; NULL: it is not */
} audit_col;
typedef struct audit_node {
    audit_col  *cols;
    const char *unsteady;       /* why there may be other rows each time; NULL */
    const char *forgets;        /* what it forgets, and when; NULL */
    const char *sheds;          /* a source that may leave rows out under overload; NULL */
    bool        reached;        /* an output that is audited needs it */
    int64_t     back_us, ahead_us; /* event time before and behind the period that it needs; WR_TIME_MAX: all */
    wr_str      why;
} audit_node;
audit_node *audit_plan_look(const wr_job_plan *plan, wr_arena *arena);
/* From outputs to sources. `whole`: of the sink, everything is needed. */
void audit_plan_reach(const wr_job_plan *plan, audit_node *nodes, const wr_pnode *sink, int time_col, bool whole, wr_arena *arena);
bool audit_plan_forgets(const wr_job_plan *plan);            /* by any clock */
/* Takes all times to live out of the plan, remembering them; then puts them back. */
typedef struct audit_ttls { WR_ARR(int64_t) was; } audit_ttls;
void audit_plan_keep_all(const wr_job_plan *plan, audit_ttls *was);
void audit_plan_restore(const wr_job_plan *plan, audit_ttls *was);

/* ---- audit.c ---- */
typedef enum audit_side { SIDE_PUBLISHED, SIDE_AS_RUN, SIDE_TRUTH, SIDE_LATE_ONLY /* as run, and nothing forgotten */, SIDES } audit_side;
typedef struct audit_output {   /* an output at work; report: index in report->outputs */
    uint32_t         report;
    const wr_table  *table;
    const wr_pnode  *sink;      /* one of those that write it */
    wr_schema        schema;    /* columns compared */
    uint32_t        *column;    /* of the sink's write_schema, of each */
    uint32_t         n_key, n_value;
    uint32_t        *key, *value; /* which of the columns identify a row, and the others */
    bool             by_key;    /* the key replaces; else rows with the same key are a bag */
    int              time_col;  /* -1 */
    int64_t          from_us, to_us;
    bool            *from;      /* by plan index: nodes that its rows come from */
    audit_col       *cols;      /* of each column compared */
    const char      *unsteady, *forgets, *sheds;
} audit_output;
typedef struct audit_shown { uint32_t output; uint32_t diff; wr_str key; } audit_shown; /* a difference that is kept: index in the report's, cells of its key */
typedef struct audit {
    wr_session           *s;
    const wr_audit_opts  *o;
    wr_audit_report      *report;
    const wr_job_plan    *plan;
    audit_node           *nodes;
    WR_ARR(audit_output)  outputs;
    const char           *dir;
    pile                 *rows, *late, *refused, *joined; /* the last three: of the run at hand */
    wr_mutex             *lock;
    audit_side            side;
    wr_source_range      *ranges;      /* by plan index: what is read */
    wr_source_range      *periods;     /* by plan index: the period as the source's clock has it */
    int64_t              *most_behind; /* by plan index: of late rows of the run at hand */
    uint64_t              n_late;      /* of the run at hand */
    bool                  late_any;    /* the run as the job ran had some */
    bool                  has[SIDES];
    char                  mark[SIDES]; /* of a side's rows in the pile */
    WR_ARR(audit_shown)   shown;
    wr_sbuf               key, value;  /* of the row that is being added */
    wr_err                failed;      /* what a callback that cannot fail ran into */
} audit;
/* A row of a side into the pile. `column`: of each compared column, its column in the batch. */
wr_status audit_add(audit *a, uint32_t output, audit_side side, const wr_batch *batch, uint32_t row, const uint32_t *column, bool adds, wr_err *err);
void      audit_cells(const wr_batch *batch, uint32_t row, uint32_t n, const wr_tz *tz, wr_sbuf *out); /* the first n columns */
bool      audit_time_of(const wr_vec *vec, uint32_t row, int64_t *us); /* of a TIMESTAMP, an instant or a DATE; false: NULL */
wr_status audit_time(const audit *a, const char *option, const char *text, wr_type type, int64_t *out, wr_err *err); /* as a column of the type has it */
WR_PRINTF(2, 3) void audit_note(const audit *a, const char *fmt, ...);
void      audit_row_json(const wr_field *fields, const uint32_t *which, uint32_t n, wr_str cells, wr_sbuf *out); /* cells as audit_add wrote them: without the braces */

/* ---- audit_compare.c ---- */
wr_status audit_compare(audit *a, wr_err *err);
/* ---- audit_rows.c: late, refused, unmatched ---- */
void      audit_watch(audit *a, wr_source_watch *watch, wr_probe *probe);
wr_status audit_rows_begin(audit *a, wr_err *err);  /* of a run: those of the one before are forgotten */
void      audit_rows_end(audit *a);
wr_status audit_rows_report(audit *a, wr_err *err); /* lists, and late rows to their differences */
