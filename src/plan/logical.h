/* plan/logical.h: the logical plan and what the passes of this folder share. Private to plan/.
 *
 * Idea       binding makes a tree of lnodes over bound expressions (a tree, not a graph: a view used twice is bound twice; physical.c
 *            finds equal sub-trees again). Passes: push (predicates go down, rank bounds become Top-N), convert (window aggregation,
 *            the five joins, deduplication; properties bottom-up), prune (needed columns, calcs merged), physical.
 * Invariant  schema.fields[i].type.attr says whether column i is a time attribute; every expression of a node is over its input's schema
 *            (joins: left ++ right). push and convert change nodes in place (the tree is theirs), prune copies.
 * Memory     the arena of the plan. One thread.                                                                     */
#pragma once
#include "plan/plan.h"

typedef enum lkind {
    L_SCAN, L_VALUES, L_CALC, L_TVF, L_AGG, L_JOIN, L_RANK, L_OVER, L_LIMIT, L_SORT, L_UNION, L_UNNEST, L_CHANGELOG,
    L_WINDOW_AGG, L_INTERVAL_JOIN, L_TEMPORAL_JOIN, L_WINDOW_JOIN, L_LOOKUP_JOIN, L_TOP_N, L_DEDUP, L_TIME_SORT, /* made by convert */
    L_MATCH, L_ASSIGN,
} lkind;

typedef struct lwin { /* rows of one window: columns of its bounds, -1 = not in the row */
    bool      on;
    int32_t   start, end, time;
    wr_window window;
    bool      ltz;
} lwin;

typedef struct lprops {
    bool      updating, has_key, bounded;
    uint32_t  n_key;  /* has_key: these columns identify a row (none: at most one row) */
    uint32_t *key;
    lwin      win;
    double    rate;   /* rows a second, 0 = not known */
    double    row_bytes; /* 0 = from types */
    bool      rate_declared;
} lprops;

typedef struct lsplit { /* SPLIT hint: keys of a join in `ways` parts */
    uint32_t ways, side; /* side: the big one */
    wr_str   keys;       /* "17, 23": those that are split; empty: all */
    wr_span  at;
} lsplit;

typedef struct lnode lnode;
struct lnode {
    lkind     kind;
    wr_span   at;
    wr_str    label;  /* for messages: alias or table name, may be empty */
    wr_schema schema;
    uint32_t  n_in;   /* 0..2; UNION: any */
    lnode   **in;
    lprops    props;
    union {
        struct { const wr_table *table; uint32_t *cols; /* table column of each output */ } scan;
        struct { uint32_t n_rows; wr_value *rows; } values;
        struct { wr_expr *filter, **exprs; } calc; /* schema.n expressions */
        struct { wr_window window; uint32_t n_part, *part; const char *name; } tvf;
        struct {
            uint32_t n_keys, *keys, n_aggs;
            wr_agg  *aggs;
            bool     is_distinct;
            bool     has_window;               /* legacy GROUP BY TUMBLE(..); or converted */
            wr_window window;
            bool     out_start, out_end, out_time, windowed_input;
            int32_t  in_start, in_end;
            int64_t  ttl_us;                   /* -1 = not said */
        } agg;                                 /* AGG, WINDOW_AGG */
        struct {
            wr_join_kind kind;
            wr_expr *cond;                     /* over left ++ right, NULL = true */
            bool     temporal, null_aware, is_subquery, proctime; /* proctime: of an interval join */
            uint32_t as_of;                    /* temporal: time column of the left side */
            wr_lookup_join_opts *lookup;       /* temporal, as of processing time: what the hint says; in[1] is a scan that is never run */
            int64_t  ttl_us[2];                /* -1 = not said */
            wr_span  op_at;
            lsplit   split;                    /* ways 0: none */
            /* after convert */
            uint32_t n_keys, *left_keys, *right_keys;
            bool    *null_safe;
            wr_expr *residual;
            uint32_t left_time, right_time;
            int64_t  lower_us, upper_us;
            uint32_t left_start, left_end, right_start, right_end;
        } join;
        struct {
            wr_rank_kind rank;
            uint32_t     n_keys, *keys, n_order;
            wr_sort_key *order;
            uint64_t     first, last;
            bool         out_rank;
            int32_t      window_end;
            bool         keep_last;            /* DEDUP */
            int32_t      time_col;
            uint32_t     n_unique, *unique;
            uint32_t     n_fns;                /* TOP_N: aggregates over the rows up to each, instead of the rank */
            wr_over_fn  *fns;
            int64_t      ttl_us;               /* 0 = not said, -1 = for ever */
        } rank;                                /* RANK, TOP_N, DEDUP, SORT, TIME_SORT (order only) */
        struct { uint32_t n_keys, *keys, n_fns; wr_sort_key order; bool by_arrival; wr_over_fn *fns; int64_t ttl_us; /* as rank's */ } over; /* output: the input's columns, then one a function */
        const wr_calc_kinds *kinds;            /* CHANGELOG */
        struct { uint64_t offset, n; } limit;
        wr_match_opts match;                   /* what it points to is never changed in place */
        wr_assign_opts assign;                 /* as match; in: orders, couriers; output: opts.output */
        struct { uint32_t col, n_pass, *pass; bool outer, ordinality; } unnest; /* output: passing columns of the input, then what an element gives */
    };
};

/* A scalar subquery that was joined to FROM: what stands for it. */
typedef struct scalar { const wr_ast_expr *ast; const wr_ast_select *owner; wr_expr *expr; bool correlated; } scalar; /* owner: the SELECT it stands in */

/* ---- shared state of one wr_plan_script ---- */
typedef struct pcte { const wr_ast_cte *ast; struct pcte *next; /* visible before it */ bool busy; } pcte;
typedef struct pl {
    wr_plan_ctx *ctx;
    wr_arena    *arena;
    wr_diags    *diags;
    wr_expr_ctx  ec;
    const wr_tz *tz;
    WR_ARR(wr_str) broken;  /* objects whose CREATE failed: nothing more is said about them */
    uint32_t     n_bad;     /* statements of the script that did not parse */
    uint32_t     view_depth, n_views, levels; /* levels: AST depths of the views and WITH queries that are being bound, added up */
    int64_t      ttl_us;    /* table.exec.state.ttl */
    bool         accept_unbounded;
    WR_ARR(struct tinfo *) infos;
    WR_ARR(scalar) scalars;
    const wr_ast_hints *hints; /* of the SELECT being bound: STATE_TTL, SPLIT, LOOKUP */
    WR_ARR(const wr_ast_hint_arg *) splits; /* of SPLIT hints: those that a join took */
    WR_ARR(const wr_ast_hint *) lookups;    /* LOOKUP hints: those that a look-up join took */
    const wr_ast_ref *joined;  /* the right side of the join being bound: only there is FOR SYSTEM_TIME */
    bool         for_lookup;   /* the table being bound is one that is asked by key */
} pl;

/* ---- names in scope ---- */
typedef struct srel { wr_str alias; uint32_t first, n; const wr_field *fields; bool *hidden; /* by USING, may be NULL */ } srel;
typedef struct scope {
    WR_ARR(srel) rels;
    uint32_t      n;             /* columns */
    struct scope *outer;         /* enclosing query, for correlation */
    uint32_t      outer_base;    /* column c of outer is outer_base + c */
    bool          used_outer;
} scope;

typedef enum ph_kind { PH_AGG, PH_OVER, PH_WINDOW } ph_kind;
typedef struct ph { ph_kind kind; uint32_t i; wr_type type; } ph;
typedef struct agg_call { wr_agg agg; wr_expr *arg, *arg2, *filter; } agg_call;
typedef struct over_call {
    bool         is_rank, built;  /* is_rank: ROW_NUMBER and the like, which a bound turns into a Top-N */
    wr_rank_kind rank;
    wr_over_fn   fn;              /* else */
    wr_expr     *arg, *arg2, *filter, *fallback;
    wr_expr    **keys;
    uint32_t     n_keys;
    wr_expr    **order;
    wr_sort_key *sort;
    uint32_t     n_order;
    wr_span      at;
} over_call;
typedef struct agg_env { /* aggregates and OVER calls met while binding a SELECT: placeholder columns base, base + 1, ... */
    uint32_t base;
    bool     in_agg, allow_agg, allow_over;
    WR_ARR(ph) phs;
    WR_ARR(agg_call) aggs;
    WR_ARR(over_call) overs;
    const wr_ast_expr *group_window; /* legacy TUMBLE(..) of GROUP BY */
    wr_type  window_time_type;
    const wr_ast_select *select;     /* for named windows */
    wr_expr **keys, **absent;        /* GROUP BY expressions; those of other groupings only (GROUPING SETS) */
    uint32_t  n_keys, n_absent;
} agg_env;

typedef struct match_env match_env;
typedef struct bind {
    pl      *p;
    scope   *sc;
    agg_env *agg;        /* NULL: neither aggregates nor OVER here */
    const char *clause;  /* "WHERE", for messages */
    pcte    *ctes;
    bool     quiet_time; /* keep time attributes of bare columns */
    match_env *match;    /* in DEFINE and MEASURES of MATCH_RECOGNIZE */
} bind;

/* bind_expr.c */
wr_expr *pl_bind_expr(bind *b, const wr_ast_expr *ast);
bool     pl_can_order(pl *p, wr_type type, wr_span at); /* false: said that values of the type have no order */
wr_expr *pl_bind_condition(bind *b, const wr_ast_expr *ast); /* BOOLEAN or a diagnostic */
#define pl_call(p, ...) wr_expr_calln(&(p)->ec, __VA_ARGS__) /* (pl *, name, at, n, arguments ...) */
bool     pl_interval_const(pl *p, const wr_expr *e, int64_t *us);
int      pl_resolve_column(bind *b, const wr_ast_name *name, uint32_t *used_parts, wr_type *type, bool complain);
bool     pl_is_agg_call(const pl *p, const wr_ast_expr *e);
/* agg_composed.c: PERCENTILE, JSON_ARRAYAGG, JSON_OBJECTAGG */
bool     pl_is_composed_agg(const wr_ast_expr *e);
wr_expr *pl_bind_composed_agg(bind *b, const wr_ast_expr *e);
bool     pl_const_interval(bind *b, const wr_ast_expr *ast, const char *what, int64_t *us); /* an INTERVAL literal, > 0 unless offset */
/* bind_query.c */
lnode   *pl_bind_query(pl *p, const wr_ast_query *q, pcte *ctes, bool top);
lnode   *pl_distinct(pl *p, lnode *in, wr_span at);
lnode   *pl_bind_ref(pl *p, const wr_ast_ref *ref, pcte *ctes, scope *sc);
lnode   *pl_bind_subquery_conjunct(bind *b, lnode *in, const wr_ast_expr *e, bool negated);
bool     pl_is_subquery_conjunct(const wr_ast_expr *e, bool *negated, const wr_ast_expr **inner);
typedef struct subquery {
    lnode   *node;
    scope    sc;     /* of its FROM, when it could be opened */
    bool     open;   /* FROM and WHERE only: correlation is possible */
    wr_expr *cond;   /* conjuncts that use the outer query: inner columns, then outer_base + outer column */
    const wr_ast_query *q;
} subquery;
bool     pl_open_subquery(bind *b, const wr_ast_query *q, subquery *s); /* FROM and WHERE of a query that pl_can_correlate */
bool     pl_can_correlate(const wr_ast_query *q);
void     pl_add_rel(pl *p, scope *sc, wr_str alias, const lnode *n);
scope    pl_merge_scopes(pl *p, const scope *l, const scope *r);
lnode   *pl_rename_columns(pl *p, lnode *n, const wr_ast_idents *columns, wr_span at);
/* set_all.c */
lnode   *pl_match_all(pl *p, const wr_ast_query *q, lnode *l, lnode *r); /* INTERSECT ALL, EXCEPT ALL of sides with equal types */
/* bind_lateral.c */
lnode   *pl_bind_unnest(pl *p, lnode *left, scope *l, const wr_ast_ref *ref, pcte *ctes, bool outer, scope *sc);
lnode   *pl_bind_table_function(pl *p, lnode *left, scope *l, const wr_ast_ref *ref, pcte *ctes, bool outer, scope *sc);
lnode   *pl_bind_lateral(pl *p, lnode *left, scope *l, const wr_ast_ref *ref, pcte *ctes, wr_join_kind kind, scope *sc);
lnode   *pl_one_row(pl *p, wr_span at); /* what a SELECT without FROM reads */
void     pl_join_hints(pl *p, lnode *j, const scope *l, const scope *r);
bool     pl_constant_count(pl *p, const wr_ast_expr *e, const char *what, uint64_t *out);
/* grouping.c: empty when GROUP BY is a plain list */
typedef WR_ARR(wr_ast_exprs) groupings;
bool     pl_groupings(pl *p, const wr_ast_select *s, groupings *out);
/* split.c */
void     pl_bill_split(const wr_pnode *join, const wr_bill_env *env, wr_sbuf *out); /* what the copies cost; nothing, if it is not split */
void     pl_bill_split_json(const wr_pnode *join, const wr_bill_env *env, wr_sbuf *out);
void     pl_bill_hot(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out);
void     pl_bill_hot_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out);
void     pl_split_hint(pl *p, lnode *j, uint32_t side, const wr_ast_hint_arg *arg);
void     pl_split_unused(pl *p, const wr_ast_hint_arg *arg); /* a diagnostic, if no join took it */
/* scalar.c */
enum { PL_KEYS_MAX = 16 };
bool     pl_split_equalities(pl *p, const subquery *s, const char *what, wr_expr **inner, wr_expr **outer, uint32_t *n, wr_span at);
bool     pl_join_scalars(bind *b, lnode **node, const wr_ast_expr *e, const wr_ast_select *owner);
/* bind_select.c */
lnode   *pl_build_grouped(pl *p, const wr_ast_query *q, lnode *node, const scope *sc, pcte *ctes, wr_expr **keys, uint32_t n_keys, bool *is_count);
typedef struct lateral { /* a correlated subquery in FROM, once for all values of what it is correlated by */
    bool      plain;     /* a join and a list: items, over inner columns, then PL_OUTER + outer column */
    bool      total;     /* aggregates of all its rows: node is their aggregation by the keys, items are over its columns */
    lnode    *node;      /* neither: its columns, first_key: the keys */
    uint32_t  n, first_key;
    wr_expr **items;
    wr_str   *names;
} lateral;
enum { PL_OUTER = 1 << 16 };
bool     pl_build_lateral(bind *b, const wr_ast_query *q, subquery *s, wr_expr **keys, uint32_t n_keys, lateral *out);
typedef struct sel_order { const wr_ast_orders *orders; uint32_t n_hidden; wr_sort_key *keys; } sel_order;
/* A query whose ORDER BY is taken off, for a receiver that sorts: the columns that only the order needs stay, at the end. */
typedef struct sorted_query { lnode *root; uint32_t n_hidden, n_order; const wr_sort_key *order; } sorted_query;
bool     pl_bind_sorted(pl *p, const wr_ast_query *q, sorted_query *out);
lnode   *pl_bind_select(pl *p, const wr_ast_query *q, pcte *ctes, sel_order *order);
/* changelog.c */
bool     pl_is_changelog(const wr_ast_call *c);
lnode   *pl_bind_changelog(pl *p, const wr_ast_ref *ref, pcte *ctes);
/* assign.c */
bool     pl_is_assign(const wr_ast_call *c);
lnode   *pl_bind_assign(pl *p, const wr_ast_ref *ref, pcte *ctes);
lnode   *pl_convert_assign(pl *p, lnode *n);
void     pl_assign_need(const wr_assign_opts *o, int side, bool *need);               /* the input's columns that it reads */
void     pl_assign_remap(pl *p, wr_assign_opts *o, int side, const uint32_t *map);
/* tvf.c */
lnode   *pl_bind_tvf(pl *p, const wr_ast_ref *ref, pcte *ctes);
bool     pl_group_window(bind *b, const wr_ast_expr *call, wr_window *out, wr_type *time_type, wr_expr **time);

/* bind_match.c */
lnode   *pl_bind_match(pl *p, const wr_ast_ref *ref, pcte *ctes);
wr_expr *pl_match_column(bind *b, const wr_ast_expr *e, uint32_t *used);
bool     pl_match_call(bind *b, const wr_ast_expr *e, wr_expr **out);
void     pl_match_text(const wr_match_opts *o, wr_sbuf *out);           /* "A B* C" */
wr_schema pl_match_refs(wr_arena *arena, const wr_match_opts *o);       /* names and types of what conditions and measures are over */
bool     pl_match_endless(const wr_match_opts *o);                      /* a match may have any number of rows */

/* logical.c */
lnode   *pl_node(pl *p, lkind kind, wr_span at, uint32_t n_in, lnode *a, lnode *b);
lnode   *pl_calc(pl *p, lnode *in, wr_expr *filter, wr_expr **exprs, const wr_str *names, uint32_t n, wr_span at);
lnode   *pl_filter(pl *p, lnode *in, wr_expr *filter, wr_span at); /* identity projection */
lnode   *pl_join(pl *p, lnode *left, lnode *right, wr_join_kind kind, wr_expr *cond, wr_span at);
wr_expr *pl_col(pl *p, const lnode *in, uint32_t col, wr_span at);
wr_expr **pl_identity(pl *p, const lnode *in);
wr_str  *pl_names(pl *p, const lnode *in);
const lnode *pl_trace(const lnode *n, uint32_t *col); /* down through calcs while the column is a bare reference */
bool     pl_uses(const wr_expr *e, uint32_t from, uint32_t to); /* any column in [from, to) */
wr_expr *pl_shift(pl *p, const wr_expr *e, uint32_t n_old, int32_t by);
wr_str   pl_label(const lnode *n);
wr_str   pl_alias(wr_str label); /* "orders AS o" -> "o" */
wr_expr *pl_and(pl *p, wr_expr *a, wr_expr *b);
void     pl_push_conjuncts(pl *p, wr_expr *e, wr_expr ***list, uint32_t *n);
uint32_t pl_max_col(const wr_expr *e); /* highest column + 1 */
double   pl_row_bytes(const wr_schema *s);

typedef WR_ARR(wr_expr *) wr_exprs;
/* rewrite.c, patterns.c, prune.c */
lnode   *pl_push(pl *p, lnode *n, wr_exprs preds);
lnode   *pl_convert(pl *p, lnode *n);            /* NULL after a diagnostic */
lnode   *pl_prune(pl *p, lnode *n, const bool *need, uint32_t *map);
lnode   *pl_optimize(pl *p, lnode *n);
bool     pl_is_batch(const pl *p); /* what ends is worth waiting for: execution.runtime-mode, or the caller said so */
/* tables.c: what binding knows of a table's own expressions */
typedef struct tinfo {
    const wr_table *table;
    wr_schema  decoded;          /* physical, then metadata */
    uint32_t   n_physical;
    wr_str    *metadata_keys;
    wr_expr  **exprs;            /* per table column, over decoded */
    wr_schema  schema;           /* of the table, with time attributes */
    wr_expr   *watermark;
    const wr_connector_ref *connector;
    int        changes;
    bool       bounded, bad;
    double     rate, row_bytes, delay_us; /* delay_us: WATERMARK ... AS ts - INTERVAL */
    bool       rate_declared;
    const wr_table *letters;     /* 'dead-letter.table' */
    const wr_connector_ref *letters_connector;
} tinfo;
tinfo *pl_table_info(pl *p, const wr_table *table);
/* What becomes of records that a source or a sink refuses; '' if they stop the job. *to: a file's name or a table's; *letters: that table. */
wr_str pl_refused(const wr_pnode *n, const wr_table **of, wr_str *to, const wr_table **letters);
bool   pl_letters(pl *p, tinfo *ti); /* letters.c: finds and checks ti->letters; false: a diagnostic was added */
void   pl_unmatched(pl *p, wr_job_plan *job, wr_span at); /* where rows that leave a join without a partner go */
wr_str pl_table_option(const wr_table *t, const char *key);
bool      pl_is_queue(const wr_table *table); /* of messages in partitions: contract_plan.c */
/* overload.c: sources that leave rows out when more comes than can be worked on. */
bool   pl_overload(pl *p, tinfo *ti);               /* false: a diagnostic was added */
wr_str pl_sheds(const wr_pnode *n);                 /* its policy; '' if it waits */
const wr_pnode *pl_shedding(const wr_pnode *n);     /* such a source among its inputs, or NULL */
void   pl_check_overload(const wr_pnode *n, wr_diags *diags);
void   pl_overload_text(const wr_job_plan *job, wr_sbuf *out);
void   pl_overload_json(const wr_job_plan *job, wr_sbuf *out);
/* retention.c: what is needed of the logs that are read, and what they keep */
void   pl_retention_text(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out);
void   pl_retention_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out); /* ,"logs":[...] */
void   pl_retention_check(const wr_job_plan *job, const wr_pnode *source, wr_diags *diags);

/* ddl.c */
bool     pl_create_table(pl *p, const wr_ast_stmt *s); /* true: there is a new table */
void     pl_alter(pl *p, const wr_ast_stmt *s); /* alter.c */
const wr_table *pl_table_with(pl *p, const wr_table *t, const wr_ast_hints *hints);
bool     pl_create_view(pl *p, const wr_ast_stmt *s);
bool     pl_object_name(pl *p, const wr_ast_name *name, wr_str *out); /* what the catalog knows it by */
wr_space *pl_catalog_named(pl *p, const wr_ast_ident *name);                     /* NULL after a diagnostic */
bool      pl_has_database(const pl *p, const wr_ast_name *name);                 /* of an object's name: for IF EXISTS; a name too long is told elsewhere */
wr_space *pl_database(pl *p, const wr_ast_name *name, uint32_t behind);          /* the one before the last `behind` parts, else the current one */
/* spaces.c */
void     pl_create_space(pl *p, const wr_ast_stmt *s);
void     pl_drop_space(pl *p, const wr_ast_stmt *s);
void     pl_alter_space(pl *p, const wr_ast_alter *a);
void     pl_use(pl *p, const wr_ast_stmt *s);
bool     pl_show_spaces(pl *p, const wr_ast_show *s, wr_sbuf *out);
bool     pl_describe_space(pl *p, const wr_ast_describe *d, wr_sbuf *out);
bool     pl_is_broken(const pl *p, wr_str name);
const wr_table *pl_find_table(pl *p, const wr_ast_name *name, const char *what); /* diagnostic with the nearest name */
/* user_functions.c */
const wr_udf *pl_user_function(const pl *p, const wr_ast_name *name); /* what the name means, if it is the user's */
void     pl_user_names(pl *p);
void     pl_create_function(pl *p, const wr_ast_stmt *s); /* and ALTER */
void     pl_drop_function(pl *p, const wr_ast_drop *d);
void     pl_user_function_line(const wr_function *f, wr_sbuf *out);
bool     pl_describe_function(pl *p, const wr_ast_stmt *s, wr_sbuf *out);
/* show.c */
bool     pl_show_like(const wr_ast_show *s, wr_str name); /* LIKE of SHOW */
bool     pl_show(pl *p, const wr_ast_stmt *s, wr_sbuf *out);
bool     pl_describe(pl *p, const wr_ast_stmt *s, wr_sbuf *out);

/* lookup.c */
wr_lookup_join_opts *pl_lookup_hint(pl *p, wr_str table, wr_str alias);               /* defaults where the SELECT has none; NULL after a diagnostic */
void     pl_lookup_unused(pl *p, const wr_ast_hints *hints); /* LOOKUP hints that name no look-up table: errors */
bool     pl_lookup_table(pl *p, const lnode *scan, wr_span at, wr_lookup_join_opts *opts); /* the table's options; false after a diagnostic */

/* physical.c */
typedef struct lsink { const wr_table *table; bool is_result; lnode *root; wr_schema write_schema; wr_span at; uint32_t n_hidden, n_order; const wr_sort_key *order; } lsink;
typedef WR_ARR(lsink) lsinks;
wr_job_plan *pl_physical(pl *p, lsinks *sinks);
bool     pl_check_view_options(pl *p, const wr_table *view); /* view.c */
/* bill.c */
/* explain_bill.c */
void     pl_bill_text(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out);
void     pl_bill_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out);
void     pl_bill_node_json(const wr_pnode *n, const wr_bill_env *env, wr_sbuf *out);
/* bill_units.c */
double   pl_fit_total(double rows, double keys);
double   pl_fit_power(double total, double rows, double keys, double half_rows, double half_keys);
double   pl_units(const wr_units *u, double after_us);
double   pl_bill_disk(const wr_pnode *n, double after_us);
double   pl_bill_copies(const wr_pnode *n, double after_us);
double   pl_units_of_rows(const wr_units *u, double rows);
void     pl_bill_checkpoint(const wr_pnode *n, double after_us, double interval_us, double *full, double *changed);
double   pl_bill_passes_us(const wr_job_plan *job, double budget_bytes, double base_bytes);

/* Says that `what` is not there yet, by name, with what works instead (may be NULL). Returns NULL. */
void    *pl_unsupported(pl *p, wr_span at, const char *instead, const char *fmt, ...) WR_PRINTF(4, 5);
void    *pl_error(pl *p, const char *code, wr_span at, const char *fmt, ...) WR_PRINTF(4, 5);
wr_str   pl_printf(pl *p, const char *fmt, ...) WR_PRINTF(2, 3);
