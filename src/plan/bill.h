/* plan/bill.h: the state bill: what an operator keeps, how much of it as time passes, what bounds it, and what it costs. Part of plan.h. (contract)
 *
 * Idea       an operator's state is a few parts (its keys, the rows of a side, the values of a group), each so many bytes times so many units. The bytes
 *            come from the arithmetic of the runtime's structs (op.h, state.h); the units are a function of time, made from hints of the tables
 *            ('stats.*'), from a sample of the sources (run/sample.c) or from the last run (run/stats.c). What is not known is said to be so.
 * Thread     any; plain data.                                                                                              */
#pragma once
#include "op/op.h"

struct wr_pnode;
struct wr_job_plan;

typedef enum wr_bound { WR_BOUND_STATELESS, WR_BOUND_KEYS, WR_BOUND_TIME, WR_BOUND_INPUT /* LIMIT and the like: constant */, WR_BOUND_NOTHING } wr_bound;
typedef enum wr_units_kind {
    WR_UNITS_UNKNOWN,            /* neither declared nor sampled */
    WR_UNITS_FIXED,              /* `now` of them, for ever */
    WR_UNITS_ROWS,               /* one more with every row */
    WR_UNITS_KEYS,               /* one for every distinct key so far */
    WR_UNITS_SPAN,               /* those of the last span_us */
} wr_units_kind;
typedef struct wr_units {
    wr_units_kind kind;
    double now;                  /* when what is there now has been read; 0 without a sample */
    double rate;                 /* rows a second that may bring one */
    double seen;                 /* KEYS: rows that brought those of now */
    double total;                /* KEYS: how many there are, INFINITY: each row brings a new one */
    double power;                /* KEYS: keys grow as rows^power, when `total` alone does not fit the sample; 0 = it does */
    double span_us, steady;      /* SPAN: kept for so long; how many at a time */
} wr_units;
typedef struct wr_bill_part {    /* one kind of thing: "a group", "a row of orders" */
    char     what[80];
    bool     is_key;
    double   bytes, bytes_now;   /* of one, from the runtime's structs; _now: with the slack of so many */
    double   saved_bytes;        /* of one in a checkpoint */
    double   slack;              /* what malloc keeps beside it, as a share of it */
    double   copies;             /* how often each is there because a join is split: 1 = once; 0 = not known */
    wr_units units;
} wr_bill_part;
enum { WR_BILL_VALUES = 16 };
typedef struct wr_input_facts {  /* of one input of a node, from a sample or from the last run; see run/sample.c */
    bool     known;
    double   rows, added, removed;         /* that came; by kind */
    double   rate;                         /* added rows a second of event time (0: no event time) */
    double   span_us;                      /* event time from the first to the last row */
    double   keys, half_rows, half_keys;   /* distinct keys after all rows; after half of them */
    double   upserts;                      /* distinct values of the input's upsert key */
    double   key_bytes, row_bytes, order_bytes; /* encoded, mean */
    double   peak_rows, busy_rows;         /* most rows held at a time while they were read; most in any span of event time of that length */
    double   all_keys;                     /* joins, in the facts of the left input: distinct keys of both */
    double   peak_keys, pane_keys, pane_rows; /* most keys (of panes) held at a time; of the fullest pane */
    double   values[WR_BILL_VALUES], peak_values[WR_BILL_VALUES], pane_values[WR_BILL_VALUES], value_bytes[WR_BILL_VALUES]; /* distinct (key, argument) by aggregate */
    double   kept_keys, kept_rows;         /* what the operator itself held at the end; with a time to live: at most */
} wr_input_facts;
typedef struct wr_bill_hot {     /* a key with a large share of the rows of an input */
    uint32_t node, input;
    double   share;
    bool     combined;           /* its rows are combined before the exchange */
    char     key[96], values[96];/* as in run/run.h: wr_hot_key */
} wr_bill_hot;
typedef struct wr_bill_facts {
    const char     *from;                  /* "sample", "last run" */
    double          share;                 /* of the input that is there, 0: not known */
    double          seconds;               /* how long it was read */
    double          error;                 /* relative, of the counts of keys */
    bool            whole;                 /* read to its end */
    char            note[160];             /* why it ended early */
    wr_input_facts *in;                    /* [node index * 2 + input] */
    double         *source_rows, *source_bytes, *source_rate; /* by node index; rate: rows a second of event time */
    double         *measured_bytes;        /* by node index: of the last run; NULL: none */
    double         *copies;                /* by node index: rows out of a spread for each row in; NULL: not known */
    uint32_t        n_hot;
    wr_bill_hot    *hot;                   /* by share, most first */
    double          checkpoint_bytes;      /* of the last run */
} wr_bill_facts;
typedef struct wr_bill_input {   /* what planning knew of an input */
    wr_str label;
    double rate, row_bytes, delay_us, keys;
    bool   rate_declared;
    int    bound;                /* join sides */
} wr_bill_input;
typedef struct wr_bill {
    wr_bound bound;
    double   key_bytes;          /* bytes kept per key, from the runtime's structs */
    double   row_bytes;          /* bytes kept per buffered row / per value */
    double   retention_us;       /* TIME: how long a row is kept */
    double   windows;            /* panes or windows open at a time, 1 if none */
    double   rate_rows, keys;    /* rows a second and distinct keys; 0 = not known (say so) */
    const char *rate_from, *keys_from; /* "hint", "sample", "last run", "assumed" */
    char     keeps[256];         /* "one counter per (restaurant_id) and minute pane" */
    char     bounded_by[256];    /* "number of distinct user_id" / "10 min of event time on each side" / "nothing" */
    char     clock[24];          /* of a time to live: "event time", "processing time"; "" without one */
    wr_bill_input in[2];
    wr_bill_part *parts;
    uint32_t n_parts;
} wr_bill;
typedef struct wr_bill_watch {   /* what to count at one input of a stateful node */
    uint32_t        n_keys, n_upsert, n_order, n_values;
    const uint32_t *keys, *upsert;
    const wr_sort_key *order;
    int32_t         value_cols[WR_BILL_VALUES], value_filters[WR_BILL_VALUES]; /* -1: none */
    int32_t         time_col;    /* when a row happened; -1: its input has no event time */
    int64_t         keep_us;     /* a row is held until the watermark has passed its time by so much; -1: it is not held by time */
    int64_t         pane_us;     /* keys are counted by stretches of so long of (time + shift), each held until the watermark has passed its end by */
    int64_t         pane_shift_us, pane_keep_us; /* keep; pane_us 0: not */
    int32_t         pane_col;    /* the end of the row's window, -1: computed */
    bool            by_watermark; /* no time of its own is left: when it comes, by the watermark */
    bool            merge;       /* a key counts once, in however many panes */
    bool            held;        /* how many keys the operator holds at most is looked at, too: it keeps by others than these */
} wr_bill_watch;
typedef struct wr_prices {       /* a month has 730 hours */
    double memory, disk, log, object, cross_zone; /* a GiB-month; cross_zone: a GiB */
    double checkpoints_kept, log_hours, cross_zone_share;
    char   currency[16];
} wr_prices;
typedef struct wr_bill_env {     /* what the bill is made out for */
    double           budget_bytes, interval_us, workers;
    double           audit_us;   /* a period that is audited while the job runs, with its lag; 0: none */
    double           tier_bytes; /* memory that the tier on disk takes under that budget once state is spilled; 0: not asked */
    const wr_prices *prices;     /* NULL: none */
    const wr_bill_facts *facts;  /* NULL: none */
} wr_bill_env;

/* What to count at an input; false: nothing. */
bool wr_bill_watch_of(const struct wr_pnode *node, uint32_t input, wr_bill_watch *out);
/* Makes the bill of every node out anew, with facts. */
void wr_bill_apply(struct wr_job_plan *job, const wr_bill_facts *facts, wr_arena *arena);
double wr_bill_bytes(const struct wr_pnode *node, double after_us);  /* -1: not known */
double wr_bill_steady(const struct wr_pnode *node);                  /* -1: not known; INFINITY: it grows for ever */
double wr_bill_base_bytes(const struct wr_job_plan *job, double workers); /* without state: buffers, queues, scratch */
double wr_bill_process_bytes(const struct wr_job_plan *job, double workers); /* growth of the process now: base and state with the allocator's slack */
/* "key = value" lines, '#' comments; see examples/prices.conf. False: *line is wrong. */
bool wr_prices_parse(wr_str text, wr_prices *out, uint32_t *line, const char **why);
