/* plan/plan.h: a parsed script becomes steps; each job step is a graph of physical nodes that run/ can build. (contract)
 *
 * Idea       bind (names, types, functions) -> logical plan -> rewrite (push filters and needed columns down, merge calcs, recognise window
 *            TVF aggregation, Top-N, deduplication, interval / temporal / window joins) -> infer (changelog kind, time attributes, keys, state
 *            bounds) -> physical graph -> bill. The graph is read-only afterwards; running state lives in run/ and op/.
 * Rooms      plan/ may read op/op.h: options structs and the bytes of the runtime's own structures (so that the bill cannot drift).
 * Errors     all go to diags with a span; several per script. What cannot run says so by name and place (code "0A000").            */
#pragma once
#include "catalog/catalog.h"
#include "plan/bill.h"
#include "sql/sql.h"

typedef enum wr_pnode_kind {
    WR_P_SOURCE, WR_P_VALUES, WR_P_CALC, WR_P_WINDOW_TVF, WR_P_WINDOW_AGG, WR_P_GROUP_AGG, WR_P_INTERVAL_JOIN, WR_P_TEMPORAL_JOIN, WR_P_JOIN,
    WR_P_WINDOW_JOIN, WR_P_TOP_N, WR_P_DEDUP, WR_P_NORMALIZE, WR_P_LIMIT, WR_P_TIME_SORT, WR_P_UNION, WR_P_SINK, WR_P_LOCAL_AGG, WR_P_UNNEST, WR_P_OVER, WR_P_MATCH,
    WR_P_SPREAD, WR_P_LOOKUP_JOIN, WR_P_KEEP, WR_P_VIEW, WR_P_ASSIGN,
} wr_pnode_kind;
const char *wr_pnode_kind_name(wr_pnode_kind kind); /* "window_agg" */

typedef enum wr_changes { WR_CHANGES_APPEND, WR_CHANGES_UPSERT, WR_CHANGES_RETRACT } wr_changes; /* UPSERT: no -U, rows identified by `upsert_key` */

typedef enum wr_exchange { WR_X_FORWARD, WR_X_HASH, WR_X_GATHER } wr_exchange; /* same worker; by key group of keys; all to one worker */
typedef struct wr_pnode wr_pnode;
typedef struct wr_pinput {
    wr_pnode       *node;
    wr_exchange     exchange;
    uint32_t        n_keys;      /* HASH: columns of node's output */
    const uint32_t *keys;
} wr_pinput;

typedef struct wr_p_source {
    const wr_table     *table;
    const wr_connector_ref *connector; /* name and formats only: see catalog.h */
    wr_schema           decoded;       /* physical then metadata columns of the table, all of them, in table order */
    uint32_t            n_physical;
    const wr_str       *metadata_keys; /* n = decoded.n - n_physical */
    const uint8_t      *needed;        /* per decoded column: some expression below reads it */
    uint32_t            n_exprs;       /* output columns = table columns (computed ones included), over `decoded`; only columns that someone needs */
    wr_expr           **exprs;
    wr_expr            *watermark;     /* over `decoded`, TIMESTAMP or TIMESTAMP_LTZ; NULL = none */
    wr_expr            *rowtime;       /* over `decoded`: the event-time column's expression; NULL = none */
    int32_t             rowtime_out;   /* its output column, -1 */
    int64_t             idle_timeout_us, future_guard_us, alignment_us; /* 0 = off */
    bool                late_letters;      /* rows behind the watermark become dead letters */
    bool                bounded;       /* by options */
    const wr_table     *letters;       /* where its dead letters go; NULL: to a file, or nowhere */
    const wr_connector_ref *letters_connector;
} wr_p_source;

typedef struct wr_p_lookup {
    wr_p_source         from;          /* the table that is asked: table, connector, decoded, n_physical, metadata_keys, needed, exprs */
    wr_schema           right;         /* what the exprs give */
    const uint32_t     *table_keys;    /* decoded column of each key */
    wr_lookup_join_opts opts;
} wr_p_lookup;

typedef struct wr_p_view {             /* CREATE MATERIALIZED VIEW: the end of a path, as a sink is; connect/view/view.h has its rows */
    const wr_table *table;
    wr_str          query;             /* its text */
    uint32_t        n_key;             /* 0: the whole row, equal ones counted */
    const uint32_t *key;               /* also the order of the rows */
    int32_t         time_col;          /* with retention_us: a row goes when the watermark is that far behind its time; -1 */
    int64_t         retention_us;      /* 0: rows stay */
} wr_p_view;

struct wr_pnode {
    wr_pnode_kind kind;
    uint32_t      index;         /* in wr_job_plan.nodes: topological, inputs first */
    char          id[48];        /* stable, from meaning: "group_agg-3fa9c2d1" */
    char          title[160];    /* for people: "group by user_id: COUNT(*), SUM(amount)" */
    wr_span       at;
    wr_schema     schema;        /* output */
    uint32_t      n_inputs;
    wr_pinput     inputs[2];     /* UNION: see union_inputs */
    uint32_t      n_union;
    wr_pinput    *union_inputs;
    uint32_t      n_consumers;
    wr_changes    changes;       /* of the output */
    uint32_t      n_upsert_key;  /* columns that identify a row of the output; 0 = none known */
    const uint32_t *upsert_key;
    int32_t       rowtime;       /* event-time column of the output, -1 */
    bool          single;        /* runs as one instance (worker 0): LIMIT, global Top-N, sinks that are not parallel ... */
    const char   *one_phase;     /* aggregations behind an exchange: why rows are not combined before it; NULL = they are, or nothing is to say */
    wr_bill       bill;
    union {
        wr_p_source             source;
        struct { uint32_t n_rows; wr_value *rows; } values; /* n_rows x schema.n */
        wr_calc_opts            calc;
        wr_window               window_tvf;
        wr_window_agg_opts      window_agg;
        wr_group_agg_opts       group_agg;
        wr_local_agg_opts       local_agg;
        wr_interval_join_opts   interval_join;
        wr_temporal_join_opts   temporal_join;
        wr_join_opts            join;
        wr_window_join_opts     window_join;
        wr_top_n_opts           top_n;
        wr_dedup_opts           dedup;
        wr_normalize_opts       normalize;
        wr_limit_opts           limit;
        wr_time_sort_opts       time_sort;
        wr_match_opts           match;
        wr_assign_opts          assign;        /* inputs: orders, couriers */
        wr_unnest_opts          unnest;
        wr_spread_opts          spread;
        wr_over_opts            over;
        wr_keep_opts            keep;
        wr_p_view               view;
        wr_p_lookup             lookup; /* one input; output: its columns, then `right` */
        struct { const wr_table *table, *letters; const wr_connector_ref *letters_connector; bool is_result; wr_schema write_schema; const wr_connector_ref *connector; /* NULL: result */
                 uint32_t n_hidden, n_order; const wr_sort_key *order; /* ctx.batch: the last columns are there for the order only */ } sink; /* is_result: bare SELECT */
    };
};

typedef struct wr_job_plan {
    WR_ARR(wr_pnode *) nodes;
    const wr_tz *tz;
    bool         bounded;        /* every source is */
    wr_str       name;
    wr_str       unmatched_path; /* a file of letters for rows that leave a join without a partner; empty: none; */
    const wr_table *unmatched;   /* or a table; NULL: none */
    const wr_connector_ref *unmatched_connector;
} wr_job_plan;

typedef enum wr_step_kind { WR_STEP_TEXT, WR_STEP_JOB } wr_step_kind;
typedef struct wr_step {         /* of a script, in order: neighbouring INSERTs form one job; each bare SELECT is a job; SHOW, EXPLAIN ... are text */
    wr_step_kind kind;
    wr_span      at;
    wr_str       text;
    wr_job_plan *job;
} wr_step;

typedef struct wr_plan_ctx {
    wr_arena   *arena;           /* everything of the plan; outlives the run */
    wr_diags   *diags;
    wr_world   *world;
    wr_catalog *catalog;         /* filled by CREATE statements; settings by SET */
    bool        accept_unbounded;/* --set state.unbounded=accepted, or SET in the script */
    bool        tail;            /* force tail mode (test matrix) */
    bool        batch;           /* a bare SELECT whose input ends gives the rows of a batch engine: the receiver adds changes up and sorts (sink.order) */
    /* Asked for each table used; run/ or cli/ supplies the connector registry so that plan/ need not know connect/. */
    const wr_connector_ref *(*connector)(wr_str name);
    /* Validates options (did-you-mean etc.), adds diagnostics; false on error. */
    bool (*check_options)(const wr_table *table, bool as_source, wr_diags *diags);
} wr_plan_ctx;

typedef WR_ARR(wr_step) wr_steps;
/* WR_USER when any diagnostic is an error; steps planned so far are still returned for `explain`. */
wr_status wr_plan_script(wr_plan_ctx *ctx, const wr_script *script, wr_steps *out);
/* Plan tree, changelog kind per edge, time attributes, state bill. env NULL: a bill without budget, money and facts. */
void wr_plan_explain(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out);
void wr_plan_explain_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out);
/* How to split a key of a join that is hot at one of its inputs, or why that cannot be done. key: its values joined by '|'; empty: too long to write. */
void wr_plan_split_advice(const wr_pnode *join, uint32_t input, uint32_t ways, const char *key, wr_sbuf *out);
/* What holds from sources to this sink (of a named table) with a state directory, and why: the weakest link by name. */
const char *wr_plan_guarantee(const wr_pnode *sink, wr_sbuf *why);
/* What `weir check` says beyond errors: guarantees, non-determinism, unbounded or key-bounded state, order. Added as warnings/notes to diags. */
void wr_plan_check(const wr_job_plan *job, wr_diags *diags);
