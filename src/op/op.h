/* op/op.h: the operator interface, the ledger, and the plain options of every operator. (contract)
 *
 * Idea       an operator consumes whole batches and watermarks of its inputs and emits batches. It does no I/O, takes no lock, starts no
 *            thread, reads no clock but ctx->now_us. It knows neither SQL nor plan: plan/ fills an options struct, run/ creates one instance
 *            per worker. In debug builds every operator is wrapped by the stream checker (op/check.c).
 * Time       on_watermark gets the combined watermark (minimum over all channels of all inputs), strictly increasing; WR_TIME_MAX is the end of
 *            input. After it returns with *more = false the runtime forwards vt->output_watermark(op, wm) downstream.
 * Late rows  decided per row by batch->row_wm_us, never by the operator's clock: a row with row_wm_us >= window_end - 1 ms is late for
 *            that window. Any other row is guaranteed to arrive before the watermark that would close its window.
 * Changelog  +I and +U add a row, -U and -D remove an equal row. -U comes directly before its +U where both are in one batch.
 * Ledger     for each input: rows in = rows absorbed/out + each named reason; the operator counts drops in ctx->ledger.
 * Thread     one worker.                                                                                                       */
#pragma once
#include "expr/udf.h"
#include "op/assign_solve.h"
#include "op/detail.h"
#include "state/state.h"

/* Why a row did not come out; names for reports in op/ledger.c. */
typedef enum wr_reason {
    WR_REASON_FILTERED,        /* condition not true */
    WR_REASON_LATE,            /* behind the watermark for every window / the join */
    WR_REASON_UNMATCHED_LEFT, WR_REASON_UNMATCHED_RIGHT, /* never had a partner: counted when that is certain (also when padded) */
    WR_REASON_NULL_KEY,        /* join key is NULL */
    WR_REASON_DUPLICATE,       /* removed by deduplication */
    WR_REASON_RANKED_OUT,      /* beyond Top-N */
    WR_REASON_EXPIRED,         /* state TTL */
    WR_REASON_RETRACT_UNKNOWN, /* a retraction of a row never seen */
    WR_REASON_NO_CHANGE,       /* update that changed no output column */
    WR_REASON_BLANK, WR_REASON_MALFORMED, WR_REASON_FUTURE, WR_REASON_DEAD_LETTER, WR_REASON_TOMBSTONE, WR_REASON_REDELIVERED, WR_REASON_BEFORE_START, /* sources */
    WR_REASON_REFUSED,         /* a row that a sink's other end did not take, and that was skipped */
    WR_REASON_SHED,            /* sources: more came than could be worked on ('overload.policy') */
    WR_REASON_COUNT
} wr_reason;
const char *wr_reason_name(wr_reason reason);

typedef struct wr_ledger {      /* one per operator instance; summed by reports; part of the checkpoint */
    uint64_t in[2];             /* rows per input */
    uint64_t out;               /* rows emitted, by kind below */
    uint64_t out_kind[4];
    uint64_t dropped[WR_REASON_COUNT];
    uint64_t matched[2];        /* joins: rows of a side that had at least one partner */
    uint64_t lost[2];           /* joins, UNNEST: rows of a side that went under one of the reasons */
    uint64_t kept[2];           /* rows of an input that are held and whose fate is open. Instances exchange them with their state, so only the sum over all counts */
    uint64_t used;              /* rows that are in a result now: aggregated, ranked, applied, fed to a pattern */
    uint64_t made;              /* rows more than came: copies, the second row of a record */
    bool     stays;             /* processing time: what is held when the input ends stays held */
    bool     partial;           /* a part of it was written by a weir that did not count the last four: nothing is checked */
    bool     apart;             /* operators around it came or went with a restore (two phases and one): what its inputs gave on and what it got are not compared */
} wr_ledger;
void wr_ledger_add(wr_ledger *into, const wr_ledger *from);

/* A row that leaves a join without ever having had a partner, whether or not it comes out padded. */
typedef struct wr_lost {
    uint32_t        side;
    wr_reason       reason;     /* UNMATCHED_*, LATE, NULL_KEY, EXPIRED */
    wr_miss         why;
    bool            below;      /* WR_MISS_OUTSIDE: the closest partner is before the interval, else behind it; by so much: */
    int64_t         us;
    uint64_t        copies;     /* equal rows */
    const wr_batch *batch;      /* of the side's columns */
    uint32_t        row;
} wr_lost;

typedef struct wr_op_ctx {      /* owned by the runtime, outlives the operator */
    wr_world    *world;         /* for wr_prog_new only */
    wr_account  *acct;
    wr_ledger   *ledger;        /* runtime counts in[] and out; the operator counts the rest */
    wr_detail   *detail;        /* beside it: of sources, joins and windows; NULL: nobody wants it */
    const wr_tz *tz;
    uint32_t     worker, n_workers, n_key_groups;
    uint32_t     group_from, group_to; /* key groups of this instance */
    wr_tier     *tier;          /* for keyed maps; NULL: memory only */
    const char  *id;            /* of the operator: stable name of its tables in the tier; NULL: its vt->name */
    uint32_t     batch_rows;    /* most rows of an emitted batch, 1..WR_BATCH_MAX */
    int64_t      now_us;        /* processing time, set by the runtime before each call */
    int64_t      read_us;       /* monotonic: when the bytes were read of what is being worked on; 0: not known. An operator that emits what came earlier sets it */
    /* Said by operators with on_step: */
    bool         waiting;       /* rows are under way inside: neither the end of input nor idleness may pass them */
    bool         stalled;       /* no more rows for now */
    void       (*lost)(void *arg, const wr_lost *row); /* joins: gets the rows; NULL: they are only counted */
    void        *lost_arg;
} wr_op_ctx;

typedef struct wr_out wr_out;   /* where an operator's batches go; implemented by run/ and by tests */
struct wr_out {
    wr_status (*emit)(wr_out *out, wr_batch *batch /* (takes) */, wr_err *err);
    bool (*full)(wr_out *out);  /* downstream asks to pause: return with *more = true soon */
};
WR_INLINE wr_status wr_emit(wr_out *out, wr_batch *batch, wr_err *err) { return batch ? out->emit(out, batch, err) : WR_OK; }

typedef struct wr_op_usage {    /* what the operator remembers, for the bill, top and why */
    int64_t  state_bytes;
    uint64_t keys, rows;        /* keyed entries; buffered rows */
    int64_t  oldest_us;         /* event time of the oldest thing kept, WR_TIME_MAX if none */
    uint64_t tier_keys;         /* of keys: those that are in the tier only (or whose value is) */
    uint64_t tier_loads, tier_evictions; /* keys that came back, keys that left, since the start */
    uint64_t tier_asked, tier_read_ns, tier_write_ns; /* keys looked for in the tier; time in that, and in writing to it */
    uint64_t lookup_hits, lookup_asked, lookup_retries, lookup_reloads; /* lookup joins: keys found in the cache, keys asked for, keys and questions asked again, whole tables read */
    uint64_t greedy;            /* ASSIGN: orders of rounds that were too large, served greedily though the best was asked for; since the start */
    uint64_t lookup_questions, lookup_answer_us; /* answered; from each question's beginning to its answer, summed */
    wr_prog_cost calls;         /* of its expressions */
    int64_t  cache_bytes;       /* of state_bytes: a cache, which is no state */
    bool     spills;            /* a limit has an effect on it */
} wr_op_usage;

typedef struct wr_op wr_op;
typedef struct wr_op_vt {
    const char *name;
    /* (borrows) batch. input 0 or 1. Emits everything that this batch changes. */
    wr_status (*on_batch)(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err);
    /* May stop early with *more = true when out->full(out); it is then called again with the same wm before anything else. */
    wr_status (*on_watermark)(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err);
    int64_t   (*output_watermark)(const wr_op *op, int64_t wm_us); /* what downstream may assume; default identity */
    wr_status (*save)(wr_op *op, wr_sbuf *out, wr_err *err);       /* state of this instance, self-describing by key group; what is in the tier: staged there */
    wr_status (*load)(wr_op *op, wr_reader *in, uint32_t group_from, uint32_t group_to, wr_err *err); /* may be called for several images */
    void      (*usage)(const wr_op *op, wr_op_usage *out);
    /* What its keyed state may keep in memory, 0 = everything; what is over it leaves for the tier now. Between two calls of the operator. */
    wr_status (*limit)(wr_op *op, int64_t bytes, wr_err *err);
    void      (*close)(wr_op *op);                                 /* frees op itself */
} wr_op_vt;
struct wr_op {
    const wr_op_vt *vt;
    wr_op_ctx      *ctx;
    /* For what happens without input: processing time passes, answers come. Called once in each step of the worker, ctx->now_us is set; emits no more
     * when out->full. *moved: something did. After it the output watermark is asked for again. NULL: nothing does. */
    wr_status (*on_step)(wr_op *op, wr_out *out, bool *moved, wr_err *err);
};
/* Defaults for slots that an operator does not need; a vtable is always complete. */
wr_status wr_op_no_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err);
int64_t   wr_op_same_watermark(const wr_op *op, int64_t wm_us);
wr_status wr_op_no_save(wr_op *op, wr_sbuf *out, wr_err *err);
wr_status wr_op_no_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err);
void      wr_op_no_usage(const wr_op *op, wr_op_usage *out);
wr_status wr_op_no_limit(wr_op *op, int64_t bytes, wr_err *err);

/* ---- calc: filter and project (stateless) ---- */
typedef struct wr_calc_kinds {  /* TO_CHANGELOG, FROM_CHANGELOG (op/changelog.c): filter and expressions are not used */
    bool     to;
    uint32_t col;               /* FROM: the column that says the kind, which goes */
    wr_str   text[4];           /* TO: of each wr_kind, in a column in front of the others; ptr NULL: such rows are left out */
    uint32_t n_codes;
    struct { wr_str text; uint8_t kind; } *codes; /* FROM */
} wr_calc_kinds;
typedef struct wr_calc_opts {
    const wr_schema *input;     /* names the columns in error details; may be NULL */
    wr_expr  *filter;           /* NULL = all rows */
    uint32_t  n_exprs;
    wr_expr **exprs;            /* output columns; over the input schema */
    bool      pass;             /* output = input columns (exprs unused): a pure filter shares everything */
    const wr_calc_kinds *kinds; /* else NULL */
} wr_calc_opts;
wr_op *wr_changelog_new(const wr_calc_kinds *kinds, wr_op_ctx *ctx);
wr_op *wr_calc_new(const wr_calc_opts *opts, wr_op_ctx *ctx);

/* ---- window table function without aggregation: one copy of the row per window, adds window_start, window_end, window_time ---- */
typedef enum wr_window_kind { WR_WINDOW_TUMBLE, WR_WINDOW_HOP, WR_WINDOW_CUMULATE, WR_WINDOW_SESSION } wr_window_kind;
typedef struct wr_window {
    wr_window_kind kind;
    int64_t  size_us, slide_us, offset_us; /* TUMBLE: slide = size; CUMULATE: slide = step; SESSION: size = gap */
    uint32_t time_col;                     /* event-time column of the input */
    bool     ltz;                          /* time column is TIMESTAMP_LTZ: windows align to local time of ctx->tz */
    bool     proctime;                     /* processing time: the operator stands in a wr_proctime */
} wr_window;
wr_op *wr_window_tvf_new(const wr_window *window, const wr_schema *input, wr_op_ctx *ctx);

/* ---- UNNEST: one copy of the row per element of a list (stateless); output = passing columns, the element's columns (ROW: its fields; MAP: key and
 * value), its position from 1 (INT) ---- */
typedef struct wr_unnest_opts {
    uint32_t        col;        /* ARRAY, MULTISET or MAP column of the input; BIGINT: that many copies, no columns of an element */
    uint32_t        n_pass;
    const uint32_t *pass;       /* columns of the input that come along */
    bool            outer;      /* LEFT JOIN: a row without elements comes once, padded with NULL */
    bool            ordinality;
} wr_unnest_opts;
wr_op *wr_unnest_new(const wr_unnest_opts *opts, const wr_schema *input, wr_op_ctx *ctx);

/* ---- aggregates ---- */
typedef enum wr_agg_kind {
    WR_AGG_COUNT_STAR, WR_AGG_COUNT, WR_AGG_SUM, WR_AGG_SUM0, WR_AGG_AVG, WR_AGG_MIN, WR_AGG_MAX, WR_AGG_FIRST_VALUE, WR_AGG_LAST_VALUE,
    WR_AGG_STDDEV_POP, WR_AGG_STDDEV_SAMP, WR_AGG_VAR_POP, WR_AGG_VAR_SAMP, WR_AGG_LISTAGG, WR_AGG_COLLECT, WR_AGG_ARRAY_AGG,
    WR_AGG_APPROX_COUNT_DISTINCT, WR_AGG_SINGLE_VALUE,
    WR_AGG_BITMAP_BUILD, WR_AGG_BITMAP_BUILD_CARD, WR_AGG_BITMAP_AND, WR_AGG_BITMAP_AND_CARD, WR_AGG_BITMAP_OR, WR_AGG_BITMAP_OR_CARD,
    WR_AGG_BITMAP_XOR, WR_AGG_BITMAP_XOR_CARD,
    WR_AGG_KIND_COUNT,               /* of the built-in ones */
    WR_AGG_USER = WR_AGG_KIND_COUNT, /* a function of the user: wr_agg.user */
} wr_agg_kind;
typedef struct wr_agg {
    wr_agg_kind kind;
    bool     distinct;
    int32_t  arg;               /* column of the input, -1 for COUNT(*) */
    int32_t  arg2;              /* LISTAGG separator column (constant in its first row), else -1 */
    int32_t  filter;            /* BOOLEAN column: FILTER (WHERE ...), or -1 */
    wr_type  arg_type, type;    /* argument and result */
    const wr_udf_sig *user;     /* WR_AGG_USER; several arguments are the fields of one ROW column */
} wr_agg;
typedef struct wr_agg_algebra { /* what the planner may do with it */
    bool mergeable;             /* partial results can be combined: panes, two-phase */
    bool invertible;            /* a retraction needs no more state than the sum itself */
    const char *retract_cost;   /* "keeps every value of the group" etc., or "" */
} wr_agg_algebra;
/* Resolves name and argument type to a kind and result type by Flink's rules; false with a diagnostic (candidates). */
bool wr_agg_resolve(wr_expr_ctx *ctx, wr_str name, const wr_type *arg_types, uint32_t n_args, bool distinct, wr_span at, wr_agg *out);
bool wr_agg_exists(wr_str name);
wr_agg_algebra wr_agg_describe(const wr_agg *agg, bool retract_input);
const char *wr_agg_name(wr_agg_kind kind);
const char *wr_agg_title(const wr_agg *agg); /* its name in SQL, also if it is the user's */
/* What a function of the user would need and does not have: "retract", "merge"; NULL: nothing. */
const char *wr_agg_lacks(const wr_agg *agg, bool retract, bool merge);
/* Fixed bytes of the accumulators of one key, and extra bytes per distinct/retained value, for the bill. */
void wr_agg_bytes(const wr_agg *aggs, uint32_t n, bool retract_input, double *fixed, double *per_value);
/* GROUP BY without windows: an aggregate without FILTER has all values of aggregate i in its set, so they cost nothing more. */
bool wr_agg_values_kept_by_other(const wr_agg *aggs, uint32_t n, uint32_t i, bool retract_input);
double wr_agg_list_bytes(const wr_agg *aggs, uint32_t n, bool retract_input); /* of `fixed`: lists, made with the first value of a group */

/* Output columns of both aggregations: keys in order, then aggregates, then (window) start, end, time where asked. */
typedef struct wr_window_agg_opts {
    wr_window       window;
    uint32_t        n_keys;
    const uint32_t *keys;       /* input columns; the exchange hashed exactly these (none: one global key) */
    uint32_t        n_aggs;
    const wr_agg   *aggs;
    bool            retract_input;
    bool            out_start, out_end, out_time;
    bool            input_is_windowed; /* input already carries window_start/window_end (TVF applied before): group by these columns instead */
    int32_t         in_start, in_end;  /* then: their columns */
    bool            partial;           /* rows come through a local_agg: the input's last column is its */
} wr_window_agg_opts;
wr_op *wr_window_agg_new(const wr_window_agg_opts *opts, const wr_schema *input, wr_op_ctx *ctx);

typedef struct wr_group_agg_opts {
    uint32_t        n_keys;
    const uint32_t *keys;
    uint32_t        n_aggs;
    const wr_agg   *aggs;
    bool            retract_input;
    bool            emit_before;  /* emit -U as well (a downstream needs it) */
    int64_t         ttl_us;       /* 0 = for ever; event time of the operator's watermark when the input has one, else processing time */
    bool            ttl_event_time;
    bool            partial;      /* rows come through a local_agg: the input's last column is its */
    bool            row_when_empty; /* no keys: at the end of an input without rows there is one, as in a batch engine */
} wr_group_agg_opts;
/* What one key costs with index and slack, from the structs that the operator allocates; key_bytes: average encoded key. Lists of values (per_value of
 * wr_agg_bytes) come on top. Windows: one key in one pane. Row bytes: encoded row. */
double wr_group_agg_key_bytes(const wr_group_agg_opts *opts, double key_bytes);
double wr_window_agg_key_bytes(const wr_window_agg_opts *opts, double key_bytes);
wr_op *wr_group_agg_new(const wr_group_agg_opts *opts, const wr_schema *input, wr_op_ctx *ctx);

/* ---- first phase of an aggregation, before the exchange: output = input columns, then accumulators as bytes (NULL: the row stands for itself) ---- */
typedef struct wr_local_agg_opts {
    uint32_t        n_keys;
    const uint32_t *keys;
    uint32_t        n_aggs;
    const wr_agg   *aggs;
    bool            retract_input;
    bool            always;       /* also on one worker, and where it combines little */
    wr_type         partial_type; /* of the added column */
    bool            windowed;     /* rows of one pane are combined; below: as in wr_window_agg_opts. Neither SESSION nor slide > size */
    wr_window       window;
    bool            input_is_windowed;
    int32_t         in_start, in_end;
} wr_local_agg_opts;
wr_op *wr_local_agg_new(const wr_local_agg_opts *opts, wr_op_ctx *ctx);
/* Why this aggregate cannot be computed in two phases with the same result for every split of its rows; NULL: it can. */
const char *wr_agg_one_phase_reason(const wr_agg *agg, bool retract_input);

/* ---- joins: output columns = left columns, right columns (semi/anti: left only) ---- */
typedef enum wr_join_kind { WR_JOIN_INNER, WR_JOIN_LEFT, WR_JOIN_RIGHT, WR_JOIN_FULL, WR_JOIN_SEMI, WR_JOIN_ANTI } wr_join_kind;
const char *wr_join_kind_name(wr_join_kind kind);
typedef struct wr_join_keys {
    uint32_t        n;
    const uint32_t *left, *right; /* columns of each side; equal types */
    const bool     *null_safe;    /* IS NOT DISTINCT FROM; NULL pointer = none */
} wr_join_keys;
typedef struct wr_interval_join_opts {
    wr_join_kind kind;
    wr_join_keys keys;
    uint32_t     left_time, right_time;
    int64_t      lower_us, upper_us; /* right.time in [left.time + lower, left.time + upper], both inclusive */
    wr_expr     *residual;           /* over left ++ right columns, or NULL */
    bool         proctime;           /* both times are processing time: it stands in a wr_proctime */
} wr_interval_join_opts;
wr_op *wr_interval_join_new(const wr_interval_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx);
typedef struct wr_temporal_join_opts {  /* left is append-only; right is a changelog of versions by key */
    wr_join_kind kind;                  /* INNER or LEFT */
    wr_join_keys keys;
    uint32_t     left_time, right_time;
    wr_expr     *residual;
} wr_temporal_join_opts;
wr_op *wr_temporal_join_new(const wr_temporal_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx);
/* ---- lookup join: each left row with the rows that a table outside has for its key when it comes. Output as a join's ---- */
typedef struct wr_ask wr_ask;
struct wr_ask {                         /* one question: made and freed by the operator, the asker's until done */
    wr_batch    *keys;                  /* a row a key: all live, distinct, without NULLs; columns in the order of opts.keys */
    WR_ARR(wr_batch *) rows;            /* the answer in any order: right columns, at most WR_BATCH_MAX rows each */
    wr_status    status;
    wr_err       err;
    uint32_t     retries;               /* after errors that may pass */
    uint32_t     reloads;               /* the whole table was read for it */
    uint64_t     took_us;               /* the asker's own time for it */
    _Atomic bool done;
    wr_ask      *next;
};
typedef struct wr_asker wr_asker;
struct wr_asker {                       /* implemented by run/ and by tests; belongs to one operator */
    void    (*ask)(wr_asker *asker, wr_ask *ask);
    void    (*step)(wr_asker *asker);   /* where there are no threads: answers the next question */
    int64_t (*bytes)(wr_asker *asker);  /* of a table that it holds */
    void    (*close)(wr_asker *asker);  /* waits for what is under way; questions are their owner's again */
};
typedef enum wr_lookup_cache { WR_LOOKUP_CACHE_NONE, WR_LOOKUP_CACHE_PARTIAL, WR_LOOKUP_CACHE_FULL } wr_lookup_cache; /* FULL: the asker holds the table */
typedef struct wr_lookup_join_opts {
    wr_join_kind    kind;               /* INNER or LEFT */
    wr_join_keys    keys;               /* left: columns of the input; right: of the answer */
    wr_expr        *residual;           /* over left ++ right, or NULL */
    bool            kept;               /* the input takes rows back: what was found first for a row is kept until then */
    bool            ordered;            /* rows leave in the order in which they came */
    uint32_t        capacity;           /* questions under way */
    int64_t         timeout_us;         /* of a question with its retries, 0 = none */
    bool            retry_miss;         /* ask again for keys that gave nothing ... */
    uint32_t        attempts;           /* ... until so many questions */
    int64_t         retry_delay_us;
    wr_lookup_cache cache;
    int64_t         cache_rows, cache_bytes, expire_write_us, expire_access_us; /* PARTIAL; 0 = no bound */
    bool            cache_missing;      /* also that there is nothing */
    uint32_t        max_retries;        /* the asker's: after errors that may pass */
    /* FULL: when the table is read again, looked at when a question comes. Neither: when it has changed, if that can be seen */
    int64_t         reload_us, reload_at_us, check_us; /* every so often; at that time of the day, local, every reload_days; how often to look for a change */
    int64_t         reload_days;
    bool            reload_fixed_rate;
} wr_lookup_join_opts;
wr_op *wr_lookup_join_new(const wr_lookup_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_asker *asker /* (takes) */, wr_op_ctx *ctx);
double wr_lookup_cache_entry_bytes(double key_bytes, double row_bytes); /* a key with one row in the cache */
double wr_kept_row_bytes(double row_bytes, double kept_bytes);          /* an input row and what was computed for it */

typedef struct wr_join_opts {           /* regular join, both sides kept; any changelog on both inputs; output retracts where needed */
    wr_join_kind kind;
    wr_join_keys keys;
    wr_expr     *residual;
    int64_t      ttl_us[2];             /* 0 = for ever */
    bool         null_aware_anti;       /* NOT IN */
} wr_join_opts;
wr_op *wr_join_new(const wr_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx);
typedef struct wr_window_join_opts {    /* both inputs append-only and windowed; fires at window end */
    wr_join_kind kind;
    wr_join_keys keys;                  /* without the window columns */
    uint32_t     left_end, right_end;   /* window_end columns */
    uint32_t     left_start, right_start;
    bool         ltz;
    wr_expr     *residual;
} wr_window_join_opts;
wr_op *wr_window_join_new(const wr_window_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_op_ctx *ctx);

/* ---- before a join whose hot keys are split: output = input columns, then which part of its key a row belongs to ---- */
enum { WR_SPREAD_WAYS_MAX = 64 };
typedef struct wr_spread_opts {
    uint32_t        ways;            /* 2..WR_SPREAD_WAYS_MAX */
    bool            replicate;       /* the small side: to every part; else to one */
    uint32_t        n_keys;
    const uint32_t *keys;            /* of the join */
    wr_expr        *hot;             /* BOOLEAN over the input: keys that are split; NULL = all */
    bool            retract_input;   /* rows may be taken back: the part follows from the columns `by`; else rows go round */
    uint32_t        n_by;
    const uint32_t *by;
} wr_spread_opts;
wr_type wr_spread_type(void);        /* of the added column */
wr_op  *wr_spread_new(const wr_spread_opts *opts, wr_op_ctx *ctx);

/* ---- ranking and keys ---- */
typedef struct wr_sort_key { uint32_t col; bool desc, nulls_last; } wr_sort_key;
typedef enum wr_rank_kind { WR_RANK_ROW_NUMBER, WR_RANK_RANK, WR_RANK_DENSE_RANK } wr_rank_kind;
typedef struct wr_top_n_opts {
    wr_rank_kind       rank;
    uint32_t           n_keys;          /* PARTITION BY */
    const uint32_t    *keys;
    uint32_t           n_order;
    const wr_sort_key *order;
    uint64_t           first, last;     /* ranks kept, 1-based, inclusive */
    bool               out_rank;        /* output = input columns, then the rank as BIGINT */
    uint32_t           n_fns;           /* aggregates OVER (... ORDER BY order) from the first row on, behind the columns; then ROW_NUMBER, all ranks, no out_rank */
    const struct wr_over_fn *fns;       /* WR_OVER_AGG; frame.rows or with peers */
    bool               retract_input, emit_before;
    uint32_t           n_unique;        /* columns that identify an input row (upsert key), for updates and as tie-break; 0 = none: ties by arrival */
    const uint32_t    *unique;
    bool               by_row;          /* the unique columns are a tie-break only: what happens to a row does not arrive in order, so a row is found by all of it */
    int32_t            window_end;      /* column: window Top-N, emitted append-only when the window closes; -1 = updating */
    bool               ltz;
    int64_t            ttl_us;
} wr_top_n_opts;
double wr_top_n_key_bytes(const wr_top_n_opts *opts, double key_bytes);
double wr_top_n_row_bytes(const wr_top_n_opts *opts, double row_bytes, double order_bytes); /* order_bytes: order and unique columns */
wr_op *wr_top_n_new(const wr_top_n_opts *opts, const wr_schema *input, wr_op_ctx *ctx);
typedef struct wr_dedup_opts {          /* ROW_NUMBER() OVER (PARTITION BY keys ORDER BY time) = 1 on an append-only input */
    uint32_t        n_keys;
    const uint32_t *keys;
    int32_t         time_col;           /* event-time column, or -1: arrival order (processing time) */
    bool            keep_last, emit_before;
    int64_t         ttl_us;
    bool            ttl_event_time;
} wr_dedup_opts;
double wr_dedup_key_bytes(const wr_dedup_opts *opts, double key_bytes, double row_bytes);
wr_op *wr_dedup_new(const wr_dedup_opts *opts, const wr_schema *input, wr_op_ctx *ctx);
/* Upsert stream (+I/+U/-D by key, -D may carry only the key) to a full changelog; same row twice emits nothing. Also what a sink
 * with a primary key needs when its key is not the query's: keeps the rows per key, emits the last one (Flink's upsert materialiser). */
typedef struct wr_normalize_opts {
    uint32_t        n_keys;
    const uint32_t *keys;
    bool            emit_before;
    bool            materialize;        /* input is a retract changelog whose rows may share a key */
    const uint64_t *unchanged;          /* not NULL: the input's last column is WR_UNCHANGED_KEY, and goes; for each other column the bits that it is made from */
} wr_normalize_opts;
wr_op *wr_normalize_new(const wr_normalize_opts *opts, const wr_schema *input, wr_op_ctx *ctx);
/* First n rows after skipping `offset`, by arrival (LIMIT without ORDER BY); single instance. */
typedef struct wr_limit_opts { uint64_t offset, n; bool retract_input; } wr_limit_opts;
wr_op *wr_limit_new(const wr_limit_opts *opts, const wr_schema *input, wr_op_ctx *ctx);
/* ORDER BY rowtime ASC: emits in time order behind the watermark; late rows dropped and counted. */
typedef struct wr_time_sort_opts { uint32_t time_col; uint32_t n_order; const wr_sort_key *order; } wr_time_sort_opts;
wr_op *wr_time_sort_new(const wr_time_sort_opts *opts, const wr_schema *input, wr_op_ctx *ctx);

/* ---- MATCH_RECOGNIZE: output = key columns, then measures ---- */
enum { WR_MATCH_VARS_MAX = 64, WR_MATCH_STATES_MAX = 4096 }; /* variables are bits of a word; {n,m} unfolds into states */
typedef enum wr_match_skip { WR_MATCH_PAST_LAST_ROW, WR_MATCH_TO_NEXT_ROW, WR_MATCH_TO_FIRST, WR_MATCH_TO_LAST } wr_match_skip;
typedef enum wr_match_ref_kind { WR_MATCH_REF_FIRST, WR_MATCH_REF_LAST, WR_MATCH_REF_AGG, WR_MATCH_REF_TIME } wr_match_ref_kind;
typedef struct wr_match_ref {   /* a value of a (partial) match; conditions and measures are expressions over these as columns */
    wr_match_ref_kind kind;
    int32_t  var;               /* -1: any variable */
    uint32_t offset, col;       /* FIRST, LAST: so many rows on, or back; column of the input */
    wr_agg   agg;
    wr_type  type;
    wr_str   name;              /* "LAST(A.price, 1)" */
} wr_match_ref;
typedef struct wr_match_var {
    wr_str   name;
    int32_t  given;             /* BOOLEAN column that says it, where the condition needs nothing but the row; -1 */
    wr_expr *cond;              /* over the refs; NULL: every row will do (or `given`) */
} wr_match_var;
typedef struct wr_match_step { uint32_t var, min, max; /* max UINT32_MAX: endless */ bool greedy; } wr_match_step;
typedef struct wr_match_opts {
    uint32_t             n_keys, n_order, n_vars, n_steps, n_refs, n_measures;
    const uint32_t      *keys;
    uint32_t             time_col;
    const wr_sort_key   *order;      /* among rows of the same time */
    const wr_match_var  *vars;
    const wr_match_step *steps;      /* one after the other, no row between */
    const wr_match_ref  *refs;
    wr_expr            **measures;   /* over the refs */
    wr_match_skip        skip;
    uint32_t             skip_var;
    int64_t              within_us;  /* a match begun at t ends before t + within; 0 = no bound */
    bool                 within_is_ttl; /* it was not in the query: the state's time to live */
} wr_match_opts;
double wr_match_key_bytes(double key_bytes);
double wr_match_row_bytes(double row_bytes); /* a row that waits or that a partial match holds */
wr_op *wr_match_new(const wr_match_opts *opts, const wr_schema *input, wr_op_ctx *ctx);

/* ---- ASSIGN: input 0 orders, input 1 couriers, both append-only, in event time; output = partition columns, order, courier, distance, waited_ms, attempt,
 * stop, rowtime. Docs: docs/dispatch.md ---- */
typedef struct wr_assign_side {
    const uint32_t *keys;            /* partition columns, n_keys of them; equal types on both sides */
    uint32_t        id, x, y, time;  /* columns; x, y DOUBLE (cast below where they are not) */
    int32_t         to_x, to_y;      /* orders only; -1: none */
    int32_t         status;          /* VARCHAR; -1: every row is a new order, or a free courier */
} wr_assign_side;
typedef struct wr_assign_opts {
    uint32_t       n_keys;
    wr_assign_side side[2];
    int64_t        every_us, max_wait_us, timeout_us, hold_us;
    uint32_t       reassign;
    wr_assign_how  how;
    wr_schema      output;
} wr_assign_opts;
double wr_assign_key_bytes(double key_bytes);                       /* state of a partition without orders and couriers */
double wr_assign_order_bytes(double id_bytes, double barred);       /* of an order that waits or may come back */
double wr_assign_courier_bytes(double id_bytes);
double wr_assign_row_bytes(double id_bytes);                         /* a row of either that waits for its round: so many as come in `every` and the watermark's delay */
wr_op *wr_assign_new(const wr_assign_opts *opts, const wr_schema *orders, const wr_schema *couriers, wr_op_ctx *ctx);

/* ---- what joins and the like keep, in bytes, from their structs: a key without rows, and a stored row when a key has so many of them at a time.
 * key_bytes, row_bytes: encoded (type/rowcodec.h). ---- */
double wr_join_heap_slack_bytes(double used); /* of an operator that stores rows, beside them */
double wr_join_due_bytes(double n); /* one of n due times that event time works off */
double wr_interval_join_key_bytes(double key_bytes);
double wr_interval_join_row_bytes(double row_bytes, double rows_per_key);
double wr_temporal_join_key_bytes(double key_bytes, bool replaced); /* replaced: its versions are */
double wr_temporal_join_row_bytes(double row_bytes, double rows_per_key); /* a left row that waits; a version */
double wr_join_key_bytes(const wr_join_opts *opts, double key_bytes);
double wr_join_side_row_bytes(double row_bytes, double rows_per_key);
double wr_window_join_key_bytes(double key_bytes); /* a key of one window */
double wr_window_join_row_bytes(double row_bytes, double rows_per_key);
double wr_normalize_key_bytes(double key_bytes);
double wr_normalize_row_bytes(double row_bytes, double rows_per_key);
double wr_session_agg_key_bytes(const wr_window_agg_opts *opts, double key_bytes); /* with one session; a timer for each row that moved its end comes on top */
double wr_time_sort_row_bytes(double row_bytes, double order_bytes);
/* ---- OVER: output = input columns, then one column a function; one row for each input row, in time order behind the watermark. Input: inserts only ---- */
typedef enum wr_over_kind { WR_OVER_AGG, WR_OVER_LAG, WR_OVER_ROW_NUMBER, WR_OVER_RANK, WR_OVER_DENSE_RANK } wr_over_kind;
typedef struct wr_over_frame { /* ends at the current row; RANGE: with its peers */
    bool    rows, unbounded;
    int64_t preceding;          /* ROWS: rows before the current one; RANGE: microseconds */
} wr_over_frame;
typedef struct wr_over_fn {     /* also of wr_top_n_opts */
    wr_over_kind  kind;
    wr_over_frame frame;        /* AGG */
    wr_agg        agg;          /* AGG; of the others arg (LAG) and type */
    uint64_t      offset;       /* LAG: rows back */
    int32_t       fallback;     /* LAG: column that stands for rows that are not there, -1 = NULL */
} wr_over_fn;
typedef struct wr_over_opts {
    uint32_t          n_keys;   /* PARTITION BY */
    const uint32_t   *keys;
    int32_t           time_col; /* event time; -1: order of arrival, rows come out at once. Then no RANGE frames */
    uint32_t          n_fns;
    const wr_over_fn *fns;
    int64_t           ttl_us;   /* 0 = for ever. A key whose next row comes so much later than its last one starts anew: by the rows' times, by arrival by the clock */
} wr_over_opts;
double wr_over_key_bytes(const wr_over_opts *opts, double key_bytes);
double wr_over_row_bytes(double row_bytes); /* one that waits, or what one left behind */
wr_op *wr_over_new(const wr_over_opts *opts, const wr_schema *input, wr_op_ctx *ctx);

/* Runs an operator of event time (takes it) by processing time; the time column of each input. */
wr_op *wr_proctime_new(wr_op *inner, int32_t left_col, int32_t right_col);

/* ---- keep: filter and project where values are not determined by the row, over an input that takes rows back ---- */
typedef struct wr_keep_opts {
    wr_calc_opts    calc;
    bool            plain;      /* nobody needs what was there before: as calc, nothing is kept */
    uint32_t        n_keys;     /* the exchange hashed these */
    const uint32_t *keys;
} wr_keep_opts;
wr_op *wr_keep_new(const wr_keep_opts *opts, const wr_schema *input, wr_op_ctx *ctx);

/* Wraps an operator (takes it) and asserts: column count and types match `output`, watermark strictly increases, no non-late row older than
 * the watermark allows, -U directly followed by +U of the same batch or alone, nothing after the end. Debug builds only. */
wr_op *wr_op_check(wr_op *inner, const wr_schema *const *inputs, uint32_t n_inputs, const wr_schema *output, bool output_append_only);
